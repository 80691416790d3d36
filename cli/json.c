/* json.c: the output of --json. Every name and number can be represented, and running out of memory makes the command
   fail instead of dropping something. */

#include "cli/cli.h"
#include "cli/json.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* -- Memory --------------------------------------------------------------------------------------------------------- */

static atomic_bool out_of_memory; /* or something is missing because of that */

static void *json_memory(size_t size) {
    void *memory = malloc(size);
    if (!memory) out_of_memory = true;
    return memory;
}

void cli_watch_json(void) { json_set_alloc_funcs(json_memory, free); }

/* -- Values --------------------------------------------------------------------------------------------------------- */

/* The subset of json_pack's format used here: s s? i I f b o O n in { } and [ ]. */
typedef struct packing {
    const char *at;
    va_list arguments;
} packing;

static json_t *pack_value(packing *p);

static char next(packing *p) {
    p->at += strspn(p->at, " ,:");
    return *p->at ? *p->at++ : 0;
}

static json_t *pack_text(packing *p) {
    const char *text = va_arg(p->arguments, const char *);
    if (*p->at == '?') p->at++;
    return text ? pelt_json_text(text) : json_null();
}

static json_t *pack_object(packing *p) {
    json_t *object = json_object();
    for (char c = next(p); c == 's'; c = next(p)) {
        const char *key = va_arg(p->arguments, const char *);
        if (json_object_set_new(object, key, pack_value(p))) out_of_memory = true;
    }
    return object;
}

static json_t *pack_array(packing *p) {
    json_t *array = json_array();
    for (; p->at += strspn(p->at, " ,"), *p->at && *p->at != ']';)
        if (json_array_append_new(array, pack_value(p))) out_of_memory = true;
    if (*p->at) p->at++;
    return array;
}

static json_t *pack_value(packing *p) {
    switch (next(p)) {
    case '{':
        return pack_object(p);
    case '[':
        return pack_array(p);
    case 's':
        return pack_text(p);
    case 'i':
        return json_integer(va_arg(p->arguments, int));
    case 'I':
        return json_integer(va_arg(p->arguments, json_int_t));
    case 'f':
        return pelt_json_number(va_arg(p->arguments, double));
    case 'b':
        return json_boolean(va_arg(p->arguments, int));
    case 'o':
        return va_arg(p->arguments, json_t *);
    case 'O':
        return json_incref(va_arg(p->arguments, json_t *));
    default:
        return json_null();
    }
}

json_t *cli_pack(const char *format, ...) {
    packing p = {.at = format};
    va_start(p.arguments, format);
    json_t *value = pack_value(&p);
    va_end(p.arguments);
    return value;
}

/* -- Printing -------------------------------------------------------------------------------------------------------- */

static bool printed;

static int print_object(json_t *object) {
    char *text = pelt_json_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    bool whole = text && !out_of_memory;
    if (whole) cli_put(text), printf("\n"), printed = true;
    free(text);
    return whole ? CLI_DONE : cli_fail("not enough memory for what --json should print");
}

int cli_print_json(const cli_args *args, json_t *object) {
    int code = args->json ? print_object(object) : CLI_DONE;
    json_decref(object);
    return code;
}

/* -- Failures -------------------------------------------------------------------------------------------------------- */

/* The first messages of a failure, kept in static memory. */
enum { MOST_SENTENCES = 8, LONGEST_SENTENCE = 2000 };
static char sentences[MOST_SENTENCES][LONGEST_SENTENCE];
static int sentence_count;

void cli_note_error(const char *format, va_list arguments) {
    if (!strncmp(format, "note: ", 6)) return; /* notes are not failures */
    if (sentence_count < MOST_SENTENCES) vsnprintf(sentences[sentence_count++], LONGEST_SENTENCE, format, arguments);
}

void cli_print_json_error(int code) {
    if (printed || !sentence_count) return;
    json_t *more = json_array();
    for (int i = 1; i < sentence_count; i++) json_array_append_new(more, pelt_json_text(sentences[i]));
    json_t *object = cli_pack("{s:{s:s, s:i, s:s, s:o}}", "error", "kind", code == CLI_MISUSE ? "misuse" : "failed",
                              "status", code, "text", sentences[0], "more", more);
    print_object(object);
    json_decref(object);
}
