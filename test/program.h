/* program.h: the program as users see it: arguments in, text and files out, exit codes. */

#ifndef PELT_TEST_PROGRAM_H
#define PELT_TEST_PROGRAM_H

#include "test/test.h"
#include <jansson.h>
#include <sys/wait.h>

static char program_output[1 << 20], program_errors[1 << 16];

/* The path of a file in the test's folder; valid for the next three calls. */
static inline const char *file_path(const char *name) {
    static char paths[4][400];
    static int next;
    char *path = paths[next++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

/* Runs shell commands in the test's folder, which must succeed. */
static inline void shell(const char *format, ...) {
    char words[2000], line[2200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "cd %s && { %s; }", test_folder(), words);
    if (system(line)) fail_msg("%s", line);
}

/* The text of a file in the test's folder; empty if it does not exist. */
static inline void program_read(const char *name, char *text, size_t size) {
    FILE *file = fopen(file_path(name), "rb");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = 0;
    if (file) fclose(file);
}

/* Runs `pelt WORDS` in the test's folder; returns the exit code. Its output goes to program_output and
   program_errors. */
static inline int pelt(const char *format, ...) {
    char words[3000], line[6000], here[1000] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    const char *program = getenv("PELT_PROGRAM");
    if (!program) assert_non_null(getcwd(here, sizeof here));
    snprintf(line, sizeof line, "cd %s && %s%s %s >out.txt 2>err.txt", test_folder(), here,
             program ? program : "/build/pelt", words);
    int status = system(line);
    program_read("out.txt", program_output, sizeof program_output);
    program_read("err.txt", program_errors, sizeof program_errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The object printed by `pelt WORDS --json`, which must succeed. */
static inline json_t *pelt_json(const char *format, ...) {
    char words[3000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    if (pelt("%s --json", words)) fail_msg("pelt %s: %s", words, program_errors);
    json_t *object = json_loads(program_output, 0, NULL);
    if (!object) fail_msg("pelt %s: no JSON in %s", words, program_output);
    return object;
}

static inline double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number \"%s\" in %s", key, program_output);
    return json_number_value(value);
}

#endif
