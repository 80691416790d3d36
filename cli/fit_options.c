/* fit_options.c: the options of a fit, which `pelt fit` and `pelt compare` share. Words become the library's enums, files
   become lists; whether values make sense, and who uses what, the library knows. */

#include "cli/fit_options.h"
#include "io/io.h"
#include <stdlib.h>
#include <string.h>

#define NAME(value, name, ...) name,
static const char *const methods[] = {PELT_METHODS(NAME) NULL};
static const char *const blends[] = {PELT_BLENDS(NAME) NULL};
static const char *const correctives[] = {PELT_CORRECTIVES(NAME) NULL};
static const char *const rests[] = {PELT_RESTS(NAME) NULL};
static const char *const colors[] = {PELT_COLORS(NAME) NULL};
static const char *const choices[] = {PELT_CHOICES(NAME) NULL};
static const char *const rbfs[] = {PELT_RBFS(NAME) NULL};
static const char *const families[] = {PELT_FAMILIES(NAME) NULL};
static const char *const distance_weights[] = {PELT_DISTANCES(NAME) NULL};
static const char *const presets[] = {PELT_PRESETS(NAME) NULL};
static const char *const rotations[] = {PELT_ROTATIONS(NAME) NULL};
static const char *const pose_choices[] = {PELT_POSE_CHOICES(NAME) NULL};
#undef NAME

typedef struct reader {
    const cli_args *args;
    pelt_arena *arena;
    pelt_fit_options *options;
    bool every;  /* options that the method does not use are read too, so that the library can refuse them */
    bool failed; /* after a message */
} reader;

/* -- Words --------------------------------------------------------------------------------------------------------- */

/* The place of a word in a list, "" being the default that has no word; -1 after a message. */
static int find_word(const cli_args *args, const char *flag, const char *word, const char *const *names) {
    char list[200] = "";
    for (int i = 0; names[i]; i++) {
        if (*names[i] && !strcmp(names[i], word)) return i;
        if (*names[i]) strcat(strcat(list, *list ? ", " : ""), names[i]);
    }
    cli_misuse(args, "--%s %s: there is no such %s; choose from %s", flag, word, flag, list);
    return -1;
}

/* The name of the library's option for a flag. */
static void option_name(const char *flag, char name[32]) {
    snprintf(name, 32, "%s", flag);
    for (char *c = name; *c; c++)
        if (*c == '-') *c = '_';
}

/* The value of a flag, when it was given and is to be read. */
static const char *given(reader *r, const char *flag) {
    char name[32];
    option_name(flag, name);
    const char *value = r->failed ? NULL : cli_value(r->args, flag);
    return value && (r->every || pelt_option_used(name, r->options->blend, r->options->corrective)) ? value : NULL;
}

static unsigned read_word(reader *r, const char *flag, const char *const *names) {
    const char *word = given(r, flag);
    int found = word ? find_word(r->args, flag, word, names) : 0;
    if (found < 0) r->failed = true;
    return found > 0 ? (unsigned)found : 0;
}

/* -- Numbers ------------------------------------------------------------------------------------------------------- */

static uint32_t read_count(reader *r, const char *flag) {
    char name[32];
    double low = 0, high = 0;
    uint32_t value = 0;
    option_name(flag, name);
    pelt_option_range(name, &low, &high);
    if (given(r, flag) && !cli_count(r->args, flag, (uint32_t)low, (uint32_t)high, &value)) r->failed = true;
    return value;
}

/* `none` is what the library takes for a number of 0, where 0 is not the default. */
static double read_number(reader *r, const char *flag, double none) {
    char name[32];
    double low = 0, high = 0, value = 0;
    option_name(flag, name);
    pelt_option_range(name, &low, &high);
    if (!given(r, flag)) return 0;
    if (!cli_number(r->args, flag, low < 0 ? 0 : low, high, &value)) r->failed = true;
    return value == 0 ? none : value;
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
    return cli_misuse(r->args, "--control-scale %s: expected NAME=S, a control and how much more it counts", word),
           false;
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

/* A text file of vertex numbers, one a line; empty lines and lines that begin with # are skipped. */
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
                return cli_fail("%s: line %zu is not the number of a vertex", path, line), false;
            list[options->lock_vertex_count++] = (uint32_t)value;
        }
        at += length + 1;
    }
    if (options->lock_vertex_count) return true;
    return cli_fail("%s: no vertices are listed; expected one number a line", path), false;
}

static bool read_rules(reader *r, const char *path) {
    pelt_error error;
    pelt_file file;
    pelt_drive_rules *rules = PELT_NEW(r->arena, 1, pelt_drive_rules);
    r->options->joints.drive = rules;
    if (!rules) return cli_fail("not enough memory"), false;
    if (pelt_file_read(r->arena, path, &file, &error)) return cli_error(&error), false;
    if (strlen((const char *)file.bytes) != file.size) return cli_fail("%s: is not a JSON text", path), false;
    if (pelt_drive_rules_parse(r->arena, (const char *)file.bytes, path, rules, &error))
        return cli_error(&error), false;
    return true;
}

/* -- All of them --------------------------------------------------------------------------------------------------- */

static void read_blend(reader *r) {
    pelt_fit_options *o = r->options;
    o->influences = read_count(r, "influences");
    o->fitted.rest = (pelt_rest)read_word(r, "rest", rests);
    o->fitted.drop_joints = read_names(r, "drop-joints");
    o->fitted.smooth = read_number(r, "smooth", -1);
    o->convex.prune = read_number(r, "prune", 0);
    o->convex.lock_joints = read_names(r, "lock-joints");
    o->convex.lock_color = (pelt_color)read_word(r, "lock-color", colors);
    o->joints.influence_choice = (pelt_choice)read_word(r, "influence-choice", choices);
    o->joints.ridge = read_number(r, "ridge", -1);
    o->joints.normal_scale = read_number(r, "normal-scale", -1);
    const char *vertices = given(r, "lock-vertices"), *rules = given(r, "drive");
    if (vertices && !r->failed) r->failed = !read_vertices(r, vertices);
    if (rules && !r->failed) r->failed = !read_rules(r, rules);
}

static void read_corrective(reader *r) {
    pelt_fit_options *o = r->options;
    o->displacement.plain_normals = given(r, "plain-normals") != NULL;
    o->displacement.displacements = read_count(r, "displacements");
    read_scales(r);
    o->psd.poses = read_count(r, "poses");
    o->psd.rbf = (pelt_rbf_kind)read_word(r, "rbf", rbfs);
    o->psd.no_norm = given(r, "no-norm") != NULL;
    o->psd.distance_weights = (pelt_distance_kind)read_word(r, "distance-weights", distance_weights);
    o->psd.rotations = (pelt_rotations)read_word(r, "rotations", rotations);
    o->psd.pose_choice = (pelt_pose_choice)read_word(r, "pose-choice", pose_choices);
    o->wpsd.principal_joints = read_count(r, "principal-joints");
    o->wpsd.shared_width = given(r, "shared-width") != NULL;
    o->eigen.per_joint = read_count(r, "per-joint");
    o->eigen.sweeps_only = given(r, "sweeps-only") != NULL;
    o->eigen.preset = (pelt_preset)read_word(r, "preset", presets);
    o->eigen.threshold = read_number(r, "threshold", 0);
    o->eigen.fade = read_number(r, "fade", -1);
    *(o->corrective == PELT_CORRECTIVE_EIGEN ? &o->eigen.width : &o->psd.width) = read_number(r, "width", 0);
    o->kernel.family = (pelt_family)read_word(r, "family", families);
    uint32_t per_vertex = read_count(r, "per-vertex");
    *(o->corrective == PELT_CORRECTIVE_KERNEL ? &o->kernel.per_vertex : &o->eigen.per_vertex) = per_vertex;
}

bool cli_fit_options(const cli_args *args, pelt_arena *arena, const cli_method *words, bool every,
                     pelt_fit_options *options) {
    pelt_error error;
    reader r = {args, arena, options, every, false};
    int method = words->method ? find_word(args, "method", words->method, methods) : 0;
    int blend = words->blend ? find_word(args, "blend", words->blend, blends) : 0;
    int corrective = words->corrective ? find_word(args, "corrective", words->corrective, correctives) : 0;
    if (method < 0 || blend < 0 || corrective < 0) return false;
    *options = (pelt_fit_options){.method = (pelt_method)method,
                                  .blend = (pelt_blend)blend,
                                  .corrective = (pelt_corrective_kind)corrective,
                                  .threads = args->threads,
                                  .progress = cli_progress(args)};
    bool good = !pelt_fit_resolve(options, &error); /* who uses what depends on blend and corrective */
    options->fitted.rest = PELT_REST_OF_BLEND;
    read_blend(&r);
    read_corrective(&r);
    if (r.failed) return false;
    good = good && !pelt_fit_resolve(options, &error);
    if (!good) cli_error(&error);
    return good;
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
