/* json.c: the output of --json. Every name and number can be represented, and running out of memory makes the command
   fail instead of dropping something. */

#include "cli/cli.h"
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

/* -- Printing -------------------------------------------------------------------------------------------------------- */

static bool printed;

static int print_object(json_t *object) {
    char *text = pelt_json_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    bool whole = text && !out_of_memory;
    if (whole) cli_put(text), printf("\n"), printed = true;
    free(text);
    return whole ? CLI_DONE : cli_fail("not enough memory to print the result as JSON");
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
    json_t *object = pelt_json_pack("{error:{kind:s, status:i, text:s, more:o}}",
                                    code == CLI_MISUSE ? "misuse" : "failed", code, sentences[0], more);
    print_object(object);
    json_decref(object);
}
