/* json.c: safe JSON values from any name or number, and their text. */

#include "rig/json.h"
#include "rig/text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *pelt_json_number(double number) { return isfinite(number) ? json_real(number) : json_null(); }

json_t *pelt_json_text(const char *text) {
    if (pelt_is_utf8(text)) return json_string(text);
    size_t size = 4 * strlen(text) + 1;
    char *escaped = malloc(size);
    if (escaped) pelt_visible_text(text, "", escaped, size);
    json_t *result = escaped ? json_string(escaped) : NULL;
    free(escaped);
    return result;
}

json_t *pelt_json_format(const char *format, ...) {
    char text[100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return pelt_json_text(text);
}

/* -- Objects and arrays --------------------------------------------------------------------------------------------- */

typedef struct packing {
    const char *at;
    va_list arguments;
} packing;

static json_t *pack_value(packing *p);

/* A part that is missing, because memory ran out, makes the whole missing. */
static json_t *whole(json_t *value, int failed) {
    if (!failed) return value;
    json_decref(value);
    return NULL;
}

static json_t *pack_object(packing *p) {
    json_t *object = json_object();
    int failed = 0;
    while (p->at += strspn(p->at, " ,"), *p->at && *p->at != '}') {
        char key[64];
        int length = (int)strcspn(p->at, ":");
        snprintf(key, sizeof key, "%.*s", length, p->at);
        p->at += length + 1;
        failed |= json_object_set_new(object, key, pack_value(p));
    }
    p->at += *p->at == '}';
    return whole(object, failed);
}

static json_t *pack_array(packing *p) {
    json_t *array = json_array();
    int failed = 0;
    while (p->at += strspn(p->at, " ,"), *p->at && *p->at != ']') failed |= json_array_append_new(array, pack_value(p));
    p->at += *p->at == ']';
    return whole(array, failed);
}

json_t *pelt_json_append(json_t *array, json_t *value) { return whole(array, json_array_append_new(array, value)); }

json_t *pelt_json_floats(const float *values, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) array = pelt_json_append(array, pelt_json_number(values[i]));
    return array;
}

json_t *pelt_json_integers(const uint32_t *values, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) array = pelt_json_append(array, json_integer(values[i]));
    return array;
}

static json_t *pack_text(const char *text) { return text ? pelt_json_text(text) : json_null(); }

static json_t *pack_value(packing *p) {
    switch (*p->at++) {
    case '{':
        return pack_object(p);
    case '[':
        return pack_array(p);
    case 's':
        return pack_text(va_arg(p->arguments, const char *));
    case 'i':
        return json_integer(va_arg(p->arguments, int));
    case 'u':
        return json_integer(va_arg(p->arguments, unsigned));
    case 'z':
        return json_integer((json_int_t)va_arg(p->arguments, size_t));
    case 'f':
        return pelt_json_number(va_arg(p->arguments, double));
    case 'v':
        return pelt_json_floats(va_arg(p->arguments, const float *), strtoul(p->at, (char **)&p->at, 10));
    case 'b':
        return json_boolean(va_arg(p->arguments, int));
    case 'o':
        return va_arg(p->arguments, json_t *);
    default:
        return NULL;
    }
}

json_t *pelt_json_pack(const char *format, ...) {
    packing p = {.at = format};
    va_start(p.arguments, format);
    json_t *value = pack_value(&p);
    va_end(p.arguments);
    return value;
}

/* -- Text ---------------------------------------------------------------------------------------------------------- */

/* Failure is sticky, because jansson ignores some return values. */
typedef struct growing {
    char *text;
    size_t used, room;
    bool failed;
} growing;

static int put(const char *piece, size_t size, void *user) {
    growing *g = user;
    if (g->used + size + 1 > g->room) {
        size_t room = 2 * (g->used + size) + 256;
        char *more = g->failed ? NULL : realloc(g->text, room);
        g->failed = !more;
        if (!more) return -1;
        g->text = more, g->room = room;
    }
    memcpy(g->text + g->used, piece, size);
    g->used += size;
    return 0;
}

char *pelt_json_dump(const json_t *value, size_t flags) {
    growing g = {0};
    if (!value || json_dump_callback(value, put, &g, flags) || g.failed || !g.text) return free(g.text), NULL;
    g.text[g.used] = 0;
    return g.text;
}
