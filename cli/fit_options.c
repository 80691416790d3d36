/* fit_options.c: the options of a fit, shared by `pelt fit` and `pelt compare`. Words become the library's enums, files
   become lists; the library checks values and knows which method uses which option. */

#include "cli/fit_options.h"
#include "io/io.h"
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const cli_args *args;
    pelt_arena *arena;
    pelt_fit_options *options;
    bool every;  /* also read options that the method does not use, so that the library can refuse them */
    bool none;   /* a preset among several methods: the options are for the others */
    bool failed; /* after a message */
} reader;

/* The name of the library's option for a flag. */
static void option_name(const char *flag, char name[32]) {
    snprintf(name, 32, "%s", flag);
    for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
}

/* The value of a flag, if it was given and should be read. */
static const char *given(reader *r, const char *flag) {
    char name[32];
    option_name(flag, name);
    const char *value = r->failed || r->none ? NULL : cli_value(r->args, flag);
    return value && (r->every || pelt_option_used(name, r->options->blend, r->options->corrective)) ? value : NULL;
}

/* -- Lists --------------------------------------------------------------------------------------------------------- */

static pelt_names read_names(reader *r, const char *flag) {
    const char *text = given(r, flag);
    size_t count = 0;
    char **words = text ? cli_list(text, &count) : NULL;
    const char **list = PELT_NEW(r->arena, count, const char *);
    for (size_t i = 0; i < count && list; i++) list[i] = pelt_arena_format(r->arena, "%s", words[i]);
    if (text && (!words || pelt_arena_failed(r->arena))) r->failed = true, cli_fail("not enough memory");
    cli_list_free(words);
    return (pelt_names){count, list};
}

static bool bad_scale(reader *r, const char *word) {
    r->failed = true;
    return cli_misuse(r->args, "--control-scale %s: expected a control and its factor, NAME=S", word), false;
}

/* "NAME=S,...". */
static void read_scales(reader *r) {
    pelt_names words = read_names(r, "control-scale");
    pelt_control_scale *list = PELT_NEW(r->arena, words.count, pelt_control_scale);
    for (size_t i = 0; i < words.count && !r->failed; i++) {
        char *equals = strrchr(words.list[i], '='), *end = NULL;
        double scale = equals ? strtod(equals + 1, &end) : 0;
        if (!equals || end == equals + 1 || *end) {
            bad_scale(r, words.list[i]);
            return;
        }
        list[i] = (pelt_control_scale){words.list[i], scale};
        *equals = 0;
    }
    r->options->displacement.control_scale = list;
    r->options->displacement.control_scale_count = words.count;
}

/* A text file of vertex numbers, one per line; skips empty lines and lines starting with #. */
static bool read_vertices(reader *r, const char *path) {
    pelt_error error;
    pelt_file file;
    pelt_convex_options *options = &r->options->convex;
    if (pelt_file_read(r->arena, path, &file, &error)) return cli_error(&error), false;
    const char *text = (const char *)file.bytes; /* ends with a zero */
    size_t lines = 1, line = 1;
    for (size_t i = 0; i < file.size; i++) lines += text[i] == '\n';
    uint32_t *list = PELT_NEW(r->arena, lines, uint32_t);
    if (!list) return cli_fail("not enough memory for %s", path), false;
    options->lock_vertices = list;
    for (const char *at = text; at < text + file.size; line++) {
        size_t length = strcspn(at, "\n");
        if (length && *at != '#' && *at != '\r') {
            char *end;
            unsigned long value = strtoul(at, &end, 10);
            end += strspn(end, " \t\r");
            if (end == at || (*end && *end != '\n') || value >= UINT32_MAX || *at == '-')
                return cli_fail("%s: line %zu is not a vertex number", path, line), false;
            list[options->lock_vertex_count++] = (uint32_t)value;
        }
        at += length + 1;
    }
    if (options->lock_vertex_count) return true;
    return cli_fail("%s: lists no vertices; write one vertex number per line", path), false;
}

static bool read_rules(reader *r, const char *path) {
    pelt_error error;
    pelt_file file;
    pelt_drive_rules *rules = PELT_NEW(r->arena, 1, pelt_drive_rules);
    r->options->joints.drive = rules;
    if (!rules) return cli_fail("not enough memory"), false;
    if (pelt_file_read(r->arena, path, &file, &error)) return cli_error(&error), false;
    if (strlen((const char *)file.bytes) != file.size) return cli_fail("%s: is not JSON", path), false;
    if (pelt_drive_rules_parse(r->arena, (const char *)file.bytes, path, rules, &error))
        return cli_error(&error), false;
    return true;
}

/* -- All of them --------------------------------------------------------------------------------------------------- */

static void read_lists(reader *r) {
    r->options->fitted.drop_joints = read_names(r, "drop-joints");
    r->options->convex.lock_joints = read_names(r, "lock-joints");
    read_scales(r);
    const char *vertices = given(r, "lock-vertices"), *rules = given(r, "drive");
    if (vertices && !r->failed) r->failed = !read_vertices(r, vertices);
    if (rules && !r->failed) r->failed = !read_rules(r, rules);
}

static bool is_list(const char *name) {
    double low, high;
    return !pelt_option_range(name, &low, &high) || low == high;
}

static bool set(pelt_fit_options *options, const char *name, const char *text) {
    pelt_error error;
    return !text || !pelt_fit_options_set(options, name, *text ? text : "1", &error) || (cli_error(&error), false);
}

/* Whether a word would change nothing. The library cannot tell a default that was asked for from one that was not. */
static bool changes_nothing(const pelt_fit_options *options, const char *name, const char *text) {
    pelt_fit_options changed = *options;
    return !text || !set(&changed, name, text) || !memcmp(&changed, options, sizeof changed);
}

static bool agrees_with_preset(const reader *r, const cli_method *words) {
    const char *const names[] = {"method", "blend", "corrective"}, *const texts[] = {words->method, words->blend,
                                                                                     words->corrective};
    const char *other = NULL;
    for (int i = 0; i < 3 && words->preset && !other; i++)
        if (!changes_nothing(r->options, names[i], texts[i])) other = names[i];
    for (int i = 0; r->args->command->options[i].name && words->preset && !other; i++) {
        char name[32];
        option_name(r->args->command->options[i].name, name);
        if (!is_list(name) && !changes_nothing(r->options, name, cli_value(r->args, r->args->command->options[i].name)))
            other = r->args->command->options[i].name;
    }
    if (other) cli_fail("--%s: the preset %s sets it to something else; remove one of the two", other, words->preset);
    return !other;
}

bool cli_fit_options(const cli_args *args, pelt_arena *arena, const cli_method *words, bool every,
                     pelt_fit_options *options) {
    pelt_error error;
    reader r = {.args = args, .arena = arena, .options = options, .every = every, .none = words->preset && !every};
    bool chosen = !words->method && !words->blend && !words->corrective && !words->preset;
    *options = (pelt_fit_options){.seed = args->seed, .threads = args->threads, .progress = cli_progress(args)};
    if (chosen) options->method = PELT_METHOD_KERNEL; /* of options with one name, those of kernel are set */
    if (!set(options, "preset", words->preset) || !set(options, "method", words->method) ||
        !set(options, "blend", words->blend) || !set(options, "corrective", words->corrective))
        return false;
    pelt_fit_options asked = *options;
    bool good = !pelt_fit_resolve(options, &error); /* which options apply depends on blend and corrective */
    asked.method = options->method, asked.blend = options->blend, asked.corrective = options->corrective;
    *options = asked; /* without what a preset sets */
    read_lists(&r);
    for (int i = 0; args->command->options[i].name && !r.failed; i++) {
        char name[32];
        option_name(args->command->options[i].name, name);
        if (!is_list(name)) r.failed = !set(options, name, given(&r, args->command->options[i].name));
    }
    if (r.failed) return false;
    if (chosen) return options->method = 0, options->blend = 0, options->corrective = 0, true;
    good = good && !pelt_fit_resolve(options, &error);
    if (!good) cli_error(&error);
    return good && (r.none || agrees_with_preset(&r, words));
}

const char *cli_unused_option(const cli_args *args, const pelt_fit_options *const *fits, size_t count) {
    for (int i = 0; args->command->options[i].name; i++) {
        char name[32];
        double low, high;
        option_name(args->command->options[i].name, name);
        bool is_used = !args->values[i] || !pelt_option_range(name, &low, &high);
        for (size_t k = 0; k < count && !is_used; k++)
            is_used = pelt_option_used(name, fits[k]->blend, fits[k]->corrective);
        if (!is_used) return args->command->options[i].name;
    }
    return NULL;
}
