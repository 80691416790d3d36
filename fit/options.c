/* options.c: the options of a fit: what a method consists of, which method uses which option, and which values are
   valid. */

#include "fit/blend/convex.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME(value, name, ...) name,
static const char *const blend_names[] = {PELT_BLENDS(NAME)};
static const char *const corrective_names[] = {PELT_CORRECTIVES(NAME)};
static const char *const method_names[] = {PELT_METHODS(NAME)};
static const char *const family_names[] = {PELT_FAMILIES(NAME)};
static const char *const rest_names[] = {PELT_RESTS(NAME)};
static const char *const color_names[] = {PELT_COLORS(NAME)};
static const char *const choice_names[] = {PELT_CHOICES(NAME)};
static const char *const rbf_names[] = {PELT_RBFS(NAME)};
static const char *const distance_names[] = {PELT_DISTANCES(NAME)};
static const char *const rotation_names[] = {PELT_ROTATIONS(NAME)};
static const char *const pose_choice_names[] = {PELT_POSE_CHOICES(NAME)};
static const char *const normals_names[] = {PELT_NORMALS(NAME)};
static const char *const preset_names[] = {PELT_PRESETS(NAME)};
#undef NAME

static const struct parts {
    pelt_blend blend;
    pelt_corrective_kind corrective;
} method_parts[] = {
#define PARTS(value, name, blend, corrective) {blend, corrective},
    PELT_METHODS(PARTS)
#undef PARTS
};

const char *pelt_blend_name(pelt_blend blend) { return (unsigned)blend < PELT_BLEND_COUNT ? blend_names[blend] : ""; }

const char *pelt_corrective_name(pelt_corrective_kind corrective) {
    return (unsigned)corrective < PELT_CORRECTIVE_COUNT ? corrective_names[corrective] : "";
}

const char *pelt_method_name(pelt_method method) {
    return (unsigned)method < PELT_METHOD_COUNT ? method_names[method] : "";
}

const char *pelt_family_name(pelt_family family) {
    return (unsigned)family < PELT_FAMILY_COUNT ? family_names[family] : "";
}

const char *pelt_normals_name(pelt_normals normals) {
    return (unsigned)normals < PELT_NORMALS_COUNT ? normals_names[normals] : "";
}

const char *pelt_preset_name(pelt_preset preset) {
    return (unsigned)preset < PELT_PRESET_COUNT ? preset_names[preset] : "";
}

/* A method is named after its corrective; without one, by whether it has driven joints. */
static pelt_method method_of(pelt_blend blend, pelt_corrective_kind corrective) {
    if (corrective == PELT_CORRECTIVE_NONE) return blend == PELT_BLEND_JOINTS ? PELT_METHOD_JOINTS : PELT_METHOD_SSD;
    int method = 0;
    while (method_parts[method].corrective != corrective) method++;
    return (pelt_method)method;
}

/* -- Who uses what ------------------------------------------------------------------------------------------------- */

#define BLEND(name) (1u << PELT_BLEND_##name)
#define CORRECTIVE(name) (1u << PELT_CORRECTIVE_##name)
#define ANY_BLEND (BLEND(FILE) | BLEND(DISTANCE) | BLEND(FIT) | BLEND(JOINTS))
#define ANY_CORRECTIVE (CORRECTIVE(PSD) | CORRECTIVE(WPSD) | CORRECTIVE(EIGEN) | CORRECTIVE(KERNEL))

typedef enum kind {
    COUNT,
    NUMBER,
    SWITCH,
    CHOICE,
    LIST
} kind; /* uint32_t, double, int, an enum, a size_t and a pointer */

typedef struct option {
    const char *name;
    kind kind;
    size_t offset;
    double low, high; /* of a nonzero value; 0 is the default */
    unsigned blends, correctives;
    const char *const *words; /* of a choice, in order; "": the default, which has no word */
} option;

#define AT(field) offsetof(pelt_fit_options, field)

static const option options_list[] = {
    {"influences", COUNT, AT(influences), 1, PELT_MOST_WEIGHTS, ANY_BLEND, 0},
    {"normals", CHOICE, AT(normals), 0, PELT_NORMALS_COUNT - 1, ANY_BLEND, ANY_CORRECTIVE, normals_names},
    {"levels", SWITCH, AT(levels), 0, 1, ANY_BLEND, ANY_CORRECTIVE},
    {"rest", CHOICE, AT(fitted.rest), 0, PELT_REST_COUNT - 1, BLEND(FIT) | BLEND(JOINTS), 0, rest_names},
    {"drop_joints", LIST, AT(fitted.drop_joints.count), 0, 0, BLEND(FIT) | BLEND(JOINTS), 0},
    {"smooth", NUMBER, AT(fitted.smooth), -INFINITY, 1e6, BLEND(FIT) | BLEND(JOINTS), 0},
    {"prune", NUMBER, AT(convex.prune), 0, 0.5, BLEND(FIT), 0},
    {"lock_joints", LIST, AT(convex.lock_joints.count), 0, 0, BLEND(FIT), 0},
    {"lock_vertices", LIST, AT(convex.lock_vertex_count), 0, 0, BLEND(FIT) | BLEND(JOINTS), 0},
    {"lock_color", CHOICE, AT(convex.lock_color), 0, PELT_COLOR_COUNT - 1, BLEND(FIT) | BLEND(JOINTS), 0, color_names},
    {"weights_first", SWITCH, AT(convex.weights_first), 0, 1, BLEND(FIT), 0},
    {"influence_choice", CHOICE, AT(joints.influence_choice), 0, PELT_CHOICE_COUNT - 1, BLEND(JOINTS), 0, choice_names},
    {"drive", LIST, AT(joints.drive), 0, 0, BLEND(JOINTS), 0},
    {"ridge", NUMBER, AT(joints.ridge), -INFINITY, 1e6, BLEND(JOINTS), 0},
    {"normal_scale", NUMBER, AT(joints.normal_scale), -INFINITY, 1e6, BLEND(JOINTS), 0},
    {"displacements", COUNT, AT(displacement.displacements), 16, 32, 0, ANY_CORRECTIVE},
    {"control_scale", LIST, AT(displacement.control_scale_count), 0, 0, 0, ANY_CORRECTIVE},
    {"poses", COUNT, AT(psd.poses), 1, 2048, 0, CORRECTIVE(PSD) | CORRECTIVE(WPSD)},
    {"rbf", CHOICE, AT(psd.rbf), 0, PELT_RBF_COUNT - 1, 0, CORRECTIVE(PSD) | CORRECTIVE(WPSD), rbf_names},
    {"no_norm", SWITCH, AT(psd.no_norm), 0, 1, 0, CORRECTIVE(PSD) | CORRECTIVE(WPSD)},
    {"norm_floor", NUMBER, AT(psd.norm_floor), 1e-3, 1, 0, CORRECTIVE(PSD) | CORRECTIVE(WPSD)},
    {"distance_weights", CHOICE, AT(psd.distance_weights), 0, PELT_DISTANCE_COUNT - 1, 0,
     CORRECTIVE(PSD) | CORRECTIVE(WPSD), distance_names},
    {"rotations", CHOICE, AT(psd.rotations), 0, PELT_ROTATIONS_COUNT - 1, 0, CORRECTIVE(PSD) | CORRECTIVE(WPSD),
     rotation_names},
    {"pose_choice", CHOICE, AT(psd.pose_choice), 0, PELT_POSE_CHOICE_COUNT - 1, 0, CORRECTIVE(PSD) | CORRECTIVE(WPSD),
     pose_choice_names},
    {"width", NUMBER, AT(psd.width), 1e-3, 1e3, 0, CORRECTIVE(PSD) | CORRECTIVE(WPSD)},
    {"principal_joints", COUNT, AT(wpsd.principal_joints), 1, 64, 0, CORRECTIVE(WPSD)},
    {"shared_width", SWITCH, AT(wpsd.shared_width), 0, 1, 0, CORRECTIVE(WPSD)},
    {"per_joint", COUNT, AT(eigen.per_joint), 1, 64, 0, CORRECTIVE(EIGEN)},
    {"per_vertex", COUNT, AT(eigen.per_vertex), 1, 64, 0, CORRECTIVE(EIGEN)},
    {"sweeps_only", SWITCH, AT(eigen.sweeps_only), 0, 1, 0, CORRECTIVE(EIGEN)},
    {"threshold", NUMBER, AT(eigen.threshold), 1e-3, 0.5, 0, CORRECTIVE(EIGEN)},
    {"fade", NUMBER, AT(eigen.fade), -INFINITY, 0.95, 0, CORRECTIVE(EIGEN)},
    {"width", NUMBER, AT(eigen.width), 1e-3, 1e3, 0, CORRECTIVE(EIGEN)},
    {"per_vertex", COUNT, AT(kernel.per_vertex), 1, 64, 0, CORRECTIVE(KERNEL)},
    {"family", CHOICE, AT(kernel.family), 0, PELT_FAMILY_COUNT - 1, 0, CORRECTIVE(KERNEL), family_names},
    {"balance", NUMBER, AT(kernel.balance), -INFINITY, 1, 0, CORRECTIVE(KERNEL)},
};
enum { OPTIONS = sizeof options_list / sizeof *options_list };

static bool used(const option *o, pelt_blend blend, pelt_corrective_kind corrective) {
    return (o->blends >> blend & 1) || (o->correctives >> corrective & 1);
}

int pelt_option_used(const char *name, pelt_blend blend, pelt_corrective_kind corrective) {
    bool known = name && (unsigned)blend < PELT_BLEND_COUNT && (unsigned)corrective < PELT_CORRECTIVE_COUNT;
    for (size_t i = 0; i < OPTIONS && known; i++)
        if (!strcmp(options_list[i].name, name) && used(&options_list[i], blend, corrective)) return 1;
    return 0;
}

int pelt_option_range(const char *name, double *low, double *high) {
    for (size_t i = 0; i < OPTIONS && name && low && high; i++)
        if (!strcmp(options_list[i].name, name)) return *low = options_list[i].low, *high = options_list[i].high, 1;
    return 0;
}

/* -- By name ------------------------------------------------------------------------------------------------------- */

/* The place of a word among `count`; -1 with a sentence. */
static int find_word(const char *name, const char *text, const char *const *words, size_t count, pelt_error *error) {
    char list[200] = "";
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        if (*words[i] && !strcmp(words[i], text)) return (int)i;
        if (*words[i])
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "", words[i]);
    }
    pelt_fail_option(error, name, "there is no choice \"%s\"; choose from %s", text, list);
    return -1;
}

static pelt_result read_number(const char *name, const char *text, double low, double high, bool whole, double *value,
                               pelt_error *error) {
    char *end;
    *value = strtod(text, &end);
    if (!*text || *end || !(*value >= low && *value <= high))
        return pelt_fail_option(error, name, " must be between %g and %g, not %s", low, high, text);
    if (whole && *value != floor(*value)) return pelt_fail_option(error, name, " must be an integer, not %s", text);
    return PELT_OK;
}

/* Of several options with a name the one that is used, or the first. */
static const option *find_option(const pelt_fit_options *o, const char *name) {
    const option *found = NULL;
    pelt_blend blend = o->blend ? o->blend : method_parts[o->method].blend;
    pelt_corrective_kind corrective = o->corrective ? o->corrective : method_parts[o->method].corrective;
    for (size_t i = OPTIONS; i--;)
        if (!strcmp(options_list[i].name, name) &&
            (!found || !used(found, blend, corrective) || used(&options_list[i], blend, corrective)))
            found = &options_list[i];
    return found;
}

static pelt_result set_option(pelt_fit_options *options, const option *o, const char *text, pelt_error *error) {
    char *at = (char *)options + o->offset;
    double number = 0;
    pelt_result result = PELT_OK;
    if (o->kind == LIST)
        return pelt_fail_option(error, o->name, " is a list and cannot be set from text: set it in the struct");
    if (o->kind == CHOICE) {
        int found = find_word(o->name, text, o->words, (size_t)o->high + 1, error);
        if (found < 0) return PELT_ERROR_ARGUMENT;
        number = found;
    } else {
        result = read_number(o->name, text, o->low < 0 ? 0 : o->low, o->high, o->kind != NUMBER, &number, error);
    }
    if (o->kind == NUMBER && number == 0 && o->low < 0) number = -1; /* 0 would be the default */
    uint32_t count = number > 0 ? (uint32_t)number : 0;
    if (!result)
        memcpy(at, o->kind == NUMBER ? (void *)&number : (void *)&count,
               o->kind == NUMBER ? sizeof number : sizeof count);
    return result;
}

/* Those that say what is used, or that all fits use. */
static const option general[] = {
    {"method", CHOICE, AT(method), 0, PELT_METHOD_COUNT - 1, 0, 0, method_names},
    {"blend", CHOICE, AT(blend), 0, PELT_BLEND_COUNT - 1, 0, 0, blend_names},
    {"corrective", CHOICE, AT(corrective), 0, PELT_CORRECTIVE_COUNT - 1, 0, 0, corrective_names},
    {"preset", CHOICE, AT(preset), 0, PELT_PRESET_COUNT - 1, 0, 0, preset_names},
    {"holdout", NUMBER, AT(holdout), -INFINITY, 0.9, 0, 0, NULL},
    {"no_confidence", SWITCH, AT(no_confidence), 0, 1, 0, 0, NULL},
    {"threads", COUNT, AT(threads), 1, 1024, 0, 0, NULL},
};

pelt_result pelt_fit_options_set(pelt_fit_options *options, const char *name, const char *text, pelt_error *error) {
    if (pelt_check_given("options", options, error) || pelt_check_given("name", name, error) ||
        pelt_check_given("text", text, error))
        return PELT_ERROR_ARGUMENT;
    if ((unsigned)options->method >= PELT_METHOD_COUNT || (unsigned)options->blend >= PELT_BLEND_COUNT ||
        (unsigned)options->corrective >= PELT_CORRECTIVE_COUNT)
        return pelt_fail_option(error, "options", "the method, blend or corrective is invalid");
    const option *o = find_option(options, name);
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (!strcmp(name, general[i].name)) o = &general[i];
    if (!o) return pelt_fail_option(error, "name", "there is no option called \"%s\"", name);
    return set_option(options, o, text, error);
}

/* -- Who uses what, in words ----------------------------------------------------------------------------------------- */

/* "the blends fit and joints", from a set of bits. */
static void list_users(const char *what, unsigned users, const char *const *names, size_t count, char *text,
                       size_t size) {
    int left = __builtin_popcount(users);
    size_t length = (size_t)snprintf(text, size, "the %s%s ", what, left > 1 ? "s" : "");
    for (size_t i = 0; i < count; i++) {
        if (!(users >> i & 1)) continue;
        left--;
        length += (size_t)snprintf(text + length, size - length, "%s%s", names[i],
                                   left > 1 ? ", "
                                   : left   ? " and "
                                            : "");
    }
}

static pelt_result refuse_unused(const option *o, const pelt_fit_options *options, pelt_error *error) {
    char users[200];
    if (o->blends) {
        list_users("blend", o->blends, blend_names, PELT_BLEND_COUNT, users, sizeof users);
        return pelt_fail_option(error, o->name, " applies to %s; the blend %s does not use it", users,
                                blend_names[options->blend]);
    }
    unsigned all = 0; /* over all options with this name */
    for (size_t i = 0; i < OPTIONS; i++)
        if (!strcmp(options_list[i].name, o->name)) all |= options_list[i].correctives;
    list_users("corrective", all, corrective_names, PELT_CORRECTIVE_COUNT, users, sizeof users);
    if (options->corrective == PELT_CORRECTIVE_NONE)
        return pelt_fail_option(error, o->name, " applies to %s, and there is no corrective", users);
    return pelt_fail_option(error, o->name, " applies to %s; %s does not use it", users,
                            corrective_names[options->corrective]);
}

/* -- Checking ------------------------------------------------------------------------------------------------------ */

/* The value of an option as a number; for a list, whether it is given. */
static double value_of(const option *o, const pelt_fit_options *options) {
    const char *at = (const char *)options + o->offset;
    size_t list;
    uint32_t count;
    double number;
    switch (o->kind) {
    case NUMBER:
        return memcpy(&number, at, sizeof number), number;
    case LIST:
        return memcpy(&list, at, sizeof list), list != 0;
    default:
        return memcpy(&count, at, sizeof count), (int32_t)count < 0 && o->kind != COUNT ? -1.0 : count;
    }
}

static pelt_result check_option(const option *o, const pelt_fit_options *options, pelt_error *error) {
    double value = value_of(o, options);
    if (value == 0) return PELT_OK;
    if (!used(o, options->blend, options->corrective)) return refuse_unused(o, options, error);
    if (o->kind == LIST || (value >= o->low && value <= o->high)) return PELT_OK;
    if (o->kind == CHOICE) return pelt_fail_option(error, o->name, "there is no choice %g", value);
    if (o->kind == SWITCH) return pelt_fail_option(error, o->name, " must be 0 or 1, not %g", value);
    if (o->low < 0) return pelt_fail_option(error, o->name, " must be at most %g, not %g", o->high, value);
    return pelt_fail_option(error, o->name, " must be between %g and %g, not %.10g", o->low, o->high, value);
}

static pelt_result check_names(pelt_names names, const char *option_name, pelt_error *error) {
    for (size_t i = 0; i < names.count; i++)
        if (!names.list || !names.list[i]) return pelt_fail_option(error, option_name, "name %zu is missing", i);
    return PELT_OK;
}

static pelt_result check_drive(const pelt_drive_rules *rules, pelt_error *error) {
    if (!rules || !rules->count) return PELT_OK;
    if (!rules->list)
        return pelt_fail_option(error, "drive", "there should be %zu rules, but their list is NULL", rules->count);
    for (size_t i = 0; i < rules->count; i++) {
        const pelt_drive_rule *r = &rules->list[i];
        if ((r->turn_count && !r->turns) || (r->twist_count && !r->twists) || (r->bend_count && !r->bends))
            return pelt_fail_option(error, "drive", "rule %zu: there should be fractions, but their list is NULL",
                                    i + 1);
    }
    return PELT_OK;
}

static pelt_result check_lists(const pelt_fit_options *o, pelt_error *error) {
    pelt_result result = check_drive(o->joints.drive, error);
    if (!result) result = check_names(o->fitted.drop_joints, "drop_joints", error);
    if (!result) result = check_names(o->convex.lock_joints, "lock_joints", error);
    if (!result && o->convex.lock_vertex_count && !o->convex.lock_vertices)
        result = pelt_fail_option(error, "lock_vertices", "the list is missing");
    for (size_t i = 0; i < o->displacement.control_scale_count && !result; i++) {
        const pelt_control_scale *list = o->displacement.control_scale;
        if (!list || !list[i].name)
            result = pelt_fail_option(error, "control_scale", "name %zu is missing", i);
        else if (!(list[i].scale >= 1e-3 && list[i].scale <= 1e3))
            result = pelt_fail_option(error, "control_scale", "%s must be between 0.001 and 1000, not %g", list[i].name,
                                      list[i].scale);
    }
    return result;
}

/* Options of pose distances that require or exclude each other. */
static pelt_result check_distances(const pelt_fit_options *o, pelt_error *error) {
    const pelt_psd_options *p = &o->psd;
    if (o->corrective == PELT_CORRECTIVE_PSD && p->distance_weights == PELT_DISTANCE_BLEND)
        return pelt_fail_option(error, "distance_weights",
                                "blend weights differ by vertex, but psd has one distance for all vertices: use wpsd");
    if (o->corrective == PELT_CORRECTIVE_WPSD && p->distance_weights == PELT_DISTANCE_EQUAL)
        return pelt_fail_option(error, "distance_weights",
                                "if all joints count alike, all vertices share one distance: use psd");
    if (p->norm_floor > 0 && p->no_norm)
        return pelt_fail_option(error, "norm_floor", "without a norm there is nothing to divide by: remove no_norm");
    if (p->norm_floor > 0 && p->poses && o->corrective == PELT_CORRECTIVE_WPSD)
        return pelt_fail_option(error, "norm_floor", "wpsd with a limited number of poses has no norm: remove poses");
    if (p->pose_choice && !p->poses)
        return pelt_fail_option(error, "pose_choice", "all poses are kept unless poses sets a number: set it");
    if (o->wpsd.shared_width && (p->poses || p->width > 0))
        return pelt_fail_option(error, "shared_width", "with %s all vertices share one width anyway",
                                p->poses ? "few poses" : "a fixed width");
    return PELT_OK;
}

/* -- Presets ------------------------------------------------------------------------------------------------------- */

/* What the papers say; docs/methods.md says where, and what it costs. */
static const struct setting {
    pelt_preset preset;
    const char *option, *value;
} settings[] = {
    {PELT_PRESET_VERTEX_PROGRAM, "method", "eigen"},
    {PELT_PRESET_VERTEX_PROGRAM, "sweeps_only", "1"},
    {PELT_PRESET_KRY, "method", "eigen"},
    {PELT_PRESET_KRY, "blend", "file"},
    {PELT_PRESET_KRY, "sweeps_only", "1"},
    {PELT_PRESET_KRY, "threshold", "0.04"},
    {PELT_PRESET_KRY, "fade", "0"},
    {PELT_PRESET_LEWIS, "method", "psd"},
    {PELT_PRESET_LEWIS, "blend", "file"},
    {PELT_PRESET_LEWIS, "distance_weights", "equal"},
    {PELT_PRESET_LEWIS, "rotations", "euler"},
    {PELT_PRESET_LEWIS, "rbf", "gaussian"},
    {PELT_PRESET_LEWIS, "no_norm", "1"},
    {PELT_PRESET_RHEE, "method", "wpsd"},
    {PELT_PRESET_RHEE, "blend", "fit"},
    {PELT_PRESET_RHEE, "weights_first", "1"},
    {PELT_PRESET_RHEE, "influences", "4"},
    {PELT_PRESET_RHEE, "principal_joints", "4"},
    {PELT_PRESET_RHEE, "distance_weights", "blend"},
    {PELT_PRESET_RHEE, "rotations", "euler"},
    {PELT_PRESET_RHEE, "rbf", "gaussian"},
    {PELT_PRESET_RHEE, "norm_floor", "0.001"},
    {PELT_PRESET_RHEE, "shared_width", "1"},
};

/* With few poses weighted PSD has no norm, and with those or a given width all vertices share one anyway. */
static bool has_no_meaning(const struct setting *s, const pelt_fit_options *o) {
    return (o->psd.poses && !strcmp(s->option, "norm_floor")) ||
           ((o->psd.poses || o->psd.width > 0) && !strcmp(s->option, "shared_width"));
}

static pelt_result apply_setting(const struct setting *s, pelt_fit_options *o, pelt_error *error) {
    pelt_fit_options preset = *o;
    const option *which = find_option(o, s->option);
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (!strcmp(s->option, general[i].name)) which = &general[i];
    pelt_result result = set_option(&preset, which, s->value, error);
    if (result) return result;
    double given = value_of(which, o), wanted = value_of(which, &preset);
    if (given != 0 && given != wanted)
        return pelt_fail_option(error, s->option, "the preset %s sets it to %s; remove one of the two",
                                preset_names[o->preset], s->value);
    *o = preset;
    return PELT_OK;
}

/* Limits of the vertex program: less may be asked for. */
static pelt_result apply_limits(pelt_fit_options *o, pelt_error *error) {
    enum { PER_VERTEX = 10, INFLUENCES = 4 };
    if (o->eigen.per_vertex > PER_VERTEX)
        return pelt_fail_option(error, "per_vertex", "%u are more than the %d that the preset allows",
                                o->eigen.per_vertex, PER_VERTEX);
    if (o->influences > INFLUENCES)
        return pelt_fail_option(error, "influences", "%u are more than the %d that the preset allows", o->influences,
                                INFLUENCES);
    if (!o->eigen.per_vertex) o->eigen.per_vertex = PER_VERTEX;
    if (!o->influences) o->influences = INFLUENCES;
    return PELT_OK;
}

static pelt_result apply_preset(pelt_fit_options *o, pelt_error *error) {
    if ((unsigned)o->preset >= PELT_PRESET_COUNT)
        return pelt_fail_option(error, "preset", "there is no preset %d", o->preset);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (settings[i].preset != o->preset || has_no_meaning(&settings[i], o)) continue;
        pelt_result result = apply_setting(&settings[i], o, error);
        if (result) return result;
    }
    if (o->preset && o->corrective && o->corrective != method_parts[o->method].corrective)
        return pelt_fail_option(error, "corrective", "the preset %s sets it to %s; remove one of the two",
                                preset_names[o->preset], corrective_names[method_parts[o->method].corrective]);
    return o->preset == PELT_PRESET_VERTEX_PROGRAM ? apply_limits(o, error) : PELT_OK;
}

pelt_result pelt_fit_resolve(pelt_fit_options *o, pelt_error *error) {
    if (pelt_check_given("options", o, error)) return PELT_ERROR_ARGUMENT;
    if ((unsigned)o->method >= PELT_METHOD_COUNT)
        return pelt_fail_option(error, "method", "there is no method %d", o->method);
    if ((unsigned)o->blend >= PELT_BLEND_COUNT)
        return pelt_fail_option(error, "blend", "there is no blend %d", o->blend);
    if ((unsigned)o->corrective >= PELT_CORRECTIVE_COUNT)
        return pelt_fail_option(error, "corrective", "there is no corrective %d", o->corrective);
    pelt_result preset = apply_preset(o, error);
    if (preset) return preset;
    if (!o->seed) o->seed = 1;
    if (!o->blend) o->blend = method_parts[o->method].blend;
    if (!o->corrective) o->corrective = method_parts[o->method].corrective;
    o->method = method_of(o->blend, o->corrective);
    for (size_t i = 0; i < OPTIONS; i++) {
        pelt_result result = check_option(&options_list[i], o, error);
        if (result) return result;
    }
    pelt_result together = check_distances(o, error);
    if (together) return together;
    if (o->normals == PELT_NORMALS_ROWS && o->corrective == PELT_CORRECTIVE_NONE)
        return pelt_fail_option(error, "normals", "rows need a corrective, and there is none: use surface or blend");
    if (o->displacement.displacements % 16)
        return pelt_fail_option(error, "displacements", " must be 16 or 32 (bits), not %u",
                                o->displacement.displacements);
    if (!(o->holdout <= 0.9)) return pelt_fail_option(error, "holdout", " must be at most 0.9, not %g", o->holdout);
    if (!o->fitted.rest && o->blend == PELT_BLEND_FIT) o->fitted.rest = PELT_REST_KEEP;
    if (!o->fitted.rest && o->blend == PELT_BLEND_JOINTS) o->fitted.rest = PELT_REST_REFIT;
    return check_lists(o, error);
}
