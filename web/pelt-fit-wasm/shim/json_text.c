/* json_text.c: values of JSON from text, and their text. */

#include "json_values.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 2048 };

/* The length of the UTF-8 sequence that begins here; 0: there is none. */
static size_t sequence(const unsigned char *at, size_t left) {
    size_t length = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
    if (!length || length > left) return 0;
    uint32_t code = length == 1 ? *at : *at & (0x7F >> length);
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2) return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    return code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : length;
}

bool json_is_utf8_(const char *text, size_t length) {
    for (size_t at = 0, step; at < length; at += step)
        if (!(step = sequence((const unsigned char *)text + at, length - at))) return false;
    return true;
}

/* -- Reading --------------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const char *start, *at, *end;
    size_t flags;
    json_error_t *error;
    bool failed;
    int depth;
} reading;

/* The first failure counts. Always NULL. */
static json_t *fail(reading *r, enum json_error_code code, const char *format, ...) {
    if (r->failed) return NULL;
    r->failed = true;
    json_error_t *error = r->error;
    if (!error) return NULL;
    *error = (json_error_t){.line = 1, .code_ = code, .position = (int)(r->at - r->start)};
    for (const char *c = r->start; c < r->at; c++)
        error->column++, error->line += *c == '\n', error->column *= *c != '\n';
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return NULL;
}

static json_t *no_memory(reading *r) { return fail(r, json_error_out_of_memory, "out of memory"); }
static json_t *wrong(reading *r, const char *what) { return fail(r, json_error_invalid_syntax, "%s", what); }

static void skip_space(reading *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static bool take(reading *r, char c) {
    skip_space(r);
    bool there = r->at < r->end && *r->at == c;
    r->at += there;
    return there;
}

static json_t *read_value(reading *r);

/* Four hexadecimal digits; -1: there are none. */
static long read_hex(reading *r) {
    long code = 0;
    if (r->end - r->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = *r->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* \uXXXX, or two of them; returns the bytes written; 0: it is no character. */
static size_t read_code(reading *r, char *out) {
    long code = read_hex(r);
    if (code >= 0xD800 && code < 0xDC00) {
        if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u') return 0;
        r->at += 2;
        long low = read_hex(r);
        if (low < 0xDC00 || low > 0xDFFF) return 0;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code <= 0 || (code >= 0xDC00 && code < 0xE000)) { /* no NUL in strings of C */
        return 0;
    }
    if (code < 0x80) return out[0] = (char)code, 1;
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(0xF0 << (4 - length) | code);
    return length;
}

/* A string after its quote, from malloc; *length its bytes. */
static char *read_text(reading *r, size_t *length) {
    static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *end = r->at;
    while (end < r->end && *end != '"') end += *end == '\\' && end + 1 < r->end ? 2 : 1;
    char *text = malloc((size_t)(end - r->at) + 1), *to = text;
    if (!text) return no_memory(r), NULL;
    while (r->at < r->end && *r->at != '"') {
        unsigned char c = (unsigned char)*r->at;
        size_t step = sequence((const unsigned char *)r->at, (size_t)(r->end - r->at));
        if (c < 32) return wrong(r, "control character in a string"), free(text), NULL;
        if (!step) return wrong(r, "bytes that are not UTF-8"), free(text), NULL;
        if (c != '\\') {
            memcpy(to, r->at, step);
            to += step, r->at += step;
            continue;
        }
        char kind = ++r->at < r->end ? *r->at++ : 0;
        const char *known = kind ? strchr(escaped, kind) : NULL;
        size_t wide = 1;
        if (known) *to = meant[known - escaped];
        if (kind == 'u') wide = read_code(r, to);
        if ((!known && kind != 'u') || !wide) return wrong(r, "invalid escape in a string"), free(text), NULL;
        to += wide;
    }
    if (r->at == r->end) return wrong(r, "a string does not end"), free(text), NULL;
    r->at++;
    *to = 0;
    *length = (size_t)(to - text);
    return text;
}

static json_t *read_string(reading *r) {
    size_t length;
    char *text = read_text(r, &length);
    json_t *value = text ? json_string_of_(text, length) : NULL;
    free(text);
    return value ? value : no_memory(r);
}

static bool take_digits(reading *r) {
    const char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > from;
}

static json_t *read_number(reading *r) {
    char text[400];
    const char *from = r->at;
    bool real = false;
    r->at += *r->at == '-';
    bool zero = r->at < r->end && *r->at == '0';
    const char *digits = r->at;
    bool good = take_digits(r) && !(zero && r->at - digits > 1);
    if (good && r->at < r->end && *r->at == '.') r->at++, real = true, good = take_digits(r);
    if (good && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++, real = true;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        good = take_digits(r);
    }
    size_t length = (size_t)(r->at - from);
    if (!good || length >= sizeof text) return wrong(r, good ? "a number has too many digits" : "invalid token");
    memcpy(text, from, length);
    text[length] = 0;
    errno = 0;
    json_int_t whole = real ? 0 : strtoll(text, NULL, 10);
    double number = real ? strtod(text, NULL) : 0;
    if ((!real && errno) || !isfinite(number)) return wrong(r, real ? "real number overflow" : "too big integer");
    json_t *value = real ? json_real(number) : json_integer(whole);
    return value ? value : no_memory(r);
}

static bool read_entry(reading *r, json_t *object) {
    size_t length;
    if (!take(r, '"')) return wrong(r, "string or '}' expected"), false;
    char *key = read_text(r, &length);
    bool known = key && (r->flags & JSON_REJECT_DUPLICATES) && json_object_get(object, key);
    if (known) wrong(r, "duplicate object key");
    if (key && !known && !take(r, ':')) wrong(r, "':' expected");
    json_t *value = r->failed ? NULL : read_value(r);
    if (value && json_object_set_new(object, key, value)) no_memory(r);
    free(key);
    return !r->failed;
}

static json_t *read_list(reading *r, json_t *list, char end) {
    if (!list) return no_memory(r);
    bool more = !take(r, end);
    while (more && !r->failed) {
        json_t *value = NULL;
        if (end == '}')
            read_entry(r, list);
        else if ((value = read_value(r)) && json_array_append_new(list, value))
            no_memory(r);
        more = !r->failed && take(r, ',');
        if (!more && !r->failed && !take(r, end)) wrong(r, end == '}' ? "'}' expected" : "']' expected");
    }
    if (!r->failed) return list;
    json_decref(list);
    return NULL;
}

static json_t *read_word(reading *r) {
    static const struct {
        const char *word;
        json_t *(*make)(void);
    } words[] = {{"true", json_true}, {"false", json_false}, {"null", json_null}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(r->end - r->at) < length || memcmp(r->at, words[i].word, length)) continue;
        r->at += length;
        return words[i].make();
    }
    return wrong(r, r->at == r->end ? "unexpected end" : "invalid token");
}

static json_t *read_value(reading *r) {
    json_t *value;
    if (++r->depth > DEEPEST) return wrong(r, "maximum parsing depth reached");
    if (take(r, '{'))
        value = read_list(r, json_object(), '}');
    else if (take(r, '['))
        value = read_list(r, json_array(), ']');
    else if (take(r, '"'))
        value = read_string(r);
    else if (r->at < r->end && (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')))
        value = read_number(r);
    else
        value = read_word(r);
    r->depth--;
    return value;
}

json_t *json_loadb(const char *text, size_t size, size_t flags, json_error_t *error) {
    reading r = {.start = text, .at = text, .end = text + size, .flags = flags, .error = error};
    if (error) *error = (json_error_t){0};
    skip_space(&r);
    if (r.at == r.end || (*r.at != '{' && *r.at != '[')) return wrong(&r, "'[' or '{' expected");
    json_t *value = read_value(&r);
    skip_space(&r);
    if (!value || r.at == r.end) return value;
    json_decref(value);
    return wrong(&r, "end of file expected");
}

json_t *json_loads(const char *text, size_t flags, json_error_t *error) {
    return json_loadb(text, strlen(text), flags, error);
}

/* -- Writing --------------------------------------------------------------------------------------------------------- */

typedef struct writing {
    json_dump_callback_t put;
    void *user;
    size_t flags;
} writing;

static int put(const writing *w, const char *text) { return w->put(text, strlen(text), w->user); }

static int put_string(const writing *w, const char *text, size_t length) {
    int failed = put(w, "\"");
    for (size_t at = 0, step; at < length && !failed; at += step) {
        step = sequence((const unsigned char *)text + at, length - at);
        char c = text[at], escape[8] = {'\\', c};
        const char *found = c ? strchr("\b\f\n\r\t", c) : NULL;
        if (found) escape[1] = "bfnrt"[found - strchr("\b\f\n\r\t", '\b')];
        if ((unsigned char)c < 32 && !found) snprintf(escape, sizeof escape, "\\u%04X", (unsigned)c);
        bool plain = c != '"' && c != '\\' && (unsigned char)c >= 32;
        failed = plain ? w->put(text + at, step, w->user) : put(w, escape);
    }
    return failed ? failed : put(w, "\"");
}

/* A real stays one when it is read again: it has a point or an exponent, and the latter no plus and no zeros in front. */
static int put_real(const writing *w, double number) {
    char text[64];
    int digits = (int)(w->flags >> 11 & 0x1F);
    snprintf(text, sizeof text - 3, "%.*g", digits ? digits : 17, number);
    char *e = strchr(text, 'e');
    if (!e && !strchr(text, '.')) strcat(text, ".0");
    if (e) {
        char *from = e + 1, *to = e + 1;
        if (*from == '-') to++;
        from++;
        while (*from == '0') from++;
        memmove(to, from, strlen(from) + 1);
    }
    return put(w, text);
}

static int put_line(const writing *w, int depth, const char *otherwise) {
    int spaces = (int)(w->flags & 0x1F) * depth, failed = w->flags & 0x1F ? put(w, "\n") : put(w, otherwise);
    for (; spaces > 0 && !failed && (w->flags & 0x1F); spaces--) failed = put(w, " ");
    return failed;
}

static int put_value(const writing *w, const json_t *value, int depth);

static int put_list(const writing *w, const json_t *list, int depth) {
    bool object = json_is_object(list), compact = w->flags & JSON_COMPACT;
    int failed = put(w, object ? "{" : "[");
    for (size_t i = 0; i < list->count && !failed; i++) {
        if (i) failed = put(w, ",");
        if (!failed) failed = put_line(w, depth + 1, i && !compact ? " " : "");
        if (object && !failed) failed = put_string(w, list->entries[i].key, strlen(list->entries[i].key));
        if (object && !failed) failed = put(w, compact ? ":" : ": ");
        if (!failed) failed = put_value(w, list->entries[i].value, depth + 1);
    }
    if (!failed && list->count) failed = put_line(w, depth, "");
    return failed ? failed : put(w, object ? "}" : "]");
}

static int put_value(const writing *w, const json_t *value, int depth) {
    char number[24];
    if (depth > DEEPEST) return -1;
    switch (value->type) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        return put_list(w, value, depth);
    case JSON_STRING:
        return put_string(w, value->text, value->count);
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, value->integer);
        return put(w, number);
    case JSON_REAL:
        return put_real(w, value->real);
    default:
        return put(w, value->type == JSON_TRUE ? "true" : value->type == JSON_FALSE ? "false" : "null");
    }
}

int json_dump_callback(const json_t *value, json_dump_callback_t call, void *user, size_t flags) {
    writing w = {call, user, flags};
    bool whole = value && (flags & JSON_ENCODE_ANY || json_is_object(value) || json_is_array(value));
    return whole ? put_value(&w, value, 0) : -1;
}

typedef struct growing {
    char *text;
    size_t used, room;
} growing;

static int grow(const char *piece, size_t size, void *user) {
    growing *g = user;
    if (g->room - g->used <= size) {
        size_t room = g->room + g->room / 2 + size + 1;
        char *more = realloc(g->text, room);
        if (!more) return -1;
        g->text = more, g->room = room;
    }
    memcpy(g->text + g->used, piece, size);
    g->text[g->used += size] = 0;
    return 0;
}

char *json_dumps(const json_t *value, size_t flags) {
    growing g = {0};
    if (!json_dump_callback(value, grow, &g, flags)) return g.text;
    free(g.text);
    return NULL;
}
