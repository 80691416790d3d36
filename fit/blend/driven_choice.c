/* drive.c: which driven joints are added to a skeleton (Mohr & Gleicher 2003, section 4.1).

   Automatically: half a turn for every joint that turns in the examples, and bulges and dents for every one of them
   that has a bone before and behind it. Or as a text says, a list of rules, each for the joints that its pattern names:

       [{"joints": "*elbow", "turn": [0.5], "twist": 3, "bend": [0.25, 0.5], "bulge": {"k": 8, "downstream": false}}]

   A number n instead of a list of fractions means n evenly spaced ones, 1/(n+1), 2/(n+1), ...; "bulge": 8 means k = 8
   on both sides. Bones are measured in the pose in which the mesh is bound. A child or parent at the very same place
   has no bone; the next one along the chain stands in. */

#include "fit/blend/blend.h"
#include "pack/driven.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

enum { MOST_FRACTIONS = 16 };

static const double usual_k = 8;             /* the paper's */
static const double least_angle = 0.0174533; /* a degree: joints that turn less are not driven automatically */

/* What one joint gets. */
typedef struct rule {
    uint32_t counts[3]; /* of turn, twist, bend */
    double fractions[3][MOST_FRACTIONS];
    bool upstream, downstream;
    double k;
} rule;

typedef struct set {
    pelt_fitting *f;
    pelt_affine *bind; /* [joint] where each joint is when the mesh is bound */
    bool *singular;    /* [joint] it has no such place */
    pelt_driven *list;
    const char **names;
    uint32_t count, room;
    double shortest; /* a bone */
    bool failed;
} set;

static void place_of(const set *s, uint32_t joint, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = s->bind[joint].m[4 * i + 3];
}

static double bone_between(const set *s, uint32_t from, uint32_t to, double bone[3]) {
    double a[3], b[3];
    place_of(s, from, a), place_of(s, to, b);
    for (int i = 0; i < 3; i++) bone[i] = b[i] - a[i];
    return sqrt(bone[0] * bone[0] + bone[1] * bone[1] + bone[2] * bone[2]);
}

/* The nearest ancestor at another place; -1 when there is none. */
static int32_t upstream_joint(const set *s, uint32_t joint) {
    const int32_t *parents = s->f->model.skeleton->parents;
    double bone[3];
    int32_t p = parents[joint];
    while (p >= 0 && (s->singular[p] || bone_between(s, joint, (uint32_t)p, bone) <= s->shortest)) p = parents[p];
    return p;
}

/* True when `child` ends a bone that begins at `joint`: it is at another place, and all between them are not. */
static bool ends_bone(const set *s, uint32_t joint, uint32_t child) {
    double bone[3];
    if (s->singular[child] || bone_between(s, joint, child, bone) <= s->shortest) return false;
    int32_t p = s->f->model.skeleton->parents[child];
    while (p > (int32_t)joint && bone_between(s, joint, (uint32_t)p, bone) <= s->shortest)
        p = s->f->model.skeleton->parents[p];
    return p == (int32_t)joint;
}

/* -- Adding -------------------------------------------------------------------------------------------------------- */

static void add(set *s, const pelt_driven *driven, const char *name) {
    if (s->count == s->room || !name) {
        uint32_t room = 2 * s->room + 64;
        pelt_driven *list = PELT_NEW(s->f->arena, room, pelt_driven);
        const char **names = PELT_NEW(s->f->arena, room, const char *);
        s->failed |= !list || !names || !name;
        if (s->failed) return;
        if (s->count) memcpy(list, s->list, s->count * sizeof *list), memcpy(names, s->names, s->count * sizeof *names);
        s->list = list, s->names = names, s->room = room;
    }
    s->names[s->count] = name;
    s->list[s->count++] = *driven;
}

static void set_vector(float out[3], const double v[3], double scale) {
    for (int i = 0; i < 3; i++) out[i] = (float)(v[i] * scale);
}

/* Along the bones behind the joint, or for one at the end, before it; false when it has no bone at all. */
static bool bone_axis(const set *s, uint32_t joint, float axis[3]) {
    double sum[3] = {0}, bone[3], length;
    for (uint32_t c = joint + 1; c < s->f->model.skeleton->joint_count; c++)
        if (ends_bone(s, joint, c)) {
            bone_between(s, joint, c, bone);
            for (int i = 0; i < 3; i++) sum[i] += bone[i];
        }
    length = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    int32_t before = upstream_joint(s, joint);
    if (length <= s->shortest && before >= 0) length = bone_between(s, (uint32_t)before, joint, sum);
    if (length <= s->shortest) return false;
    set_vector(axis, sum, 1 / length);
    return true;
}

static void add_turns(set *s, uint32_t joint, const rule *r) {
    static const char *const words[] = {"turn", "twist", "bend"};
    const pelt_skeleton *skeleton = s->f->model.skeleton;
    pelt_driven d = {.parent = skeleton->parents[joint], .driver = joint, .host = joint};
    double place[3];
    place_of(s, joint, place);
    set_vector(d.origin, place, 1);
    bool has_bone = bone_axis(s, joint, d.axis);
    for (int kind = 0; kind < 3; kind++)
        for (uint32_t i = 0; i < r->counts[kind] && (has_bone || kind == PELT_DRIVEN_TURN); i++) {
            d.kind = (uint32_t)kind;
            d.amount = (float)r->fractions[kind][i];
            add(s, &d,
                pelt_arena_format(s->f->arena, "%s.%s%g", skeleton->names[joint], words[kind], r->fractions[kind][i]));
        }
}

/* Two directions across a bone. */
static void across(const double bone[3], double first[3], double second[3]) {
    double length = sqrt(bone[0] * bone[0] + bone[1] * bone[1] + bone[2] * bone[2]), b[3];
    for (int i = 0; i < 3; i++) b[i] = bone[i] / length;
    int axis = b[0] * b[0] + b[1] * b[1] > 0.09 ? 2 : 1; /* z, or y for bones along z */
    double size = sqrt(1 - b[axis] * b[axis]);
    for (int i = 0; i < 3; i++) first[i] = ((i == axis) - b[axis] * b[i]) / size;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        second[i] = b[j] * first[k] - b[k] * first[j];
    }
}

/* Two bulges and two dents in the middle of a bone, which starts at the host. */
static void add_bulges(set *s, pelt_driven d, uint32_t from, uint32_t to) {
    static const char *const words[] = {"bulge", "dent"};
    const char *const *names = s->f->model.skeleton->names;
    double bone[3], start[3], directions[2][3];
    bone_between(s, from, to, bone);
    place_of(s, from, start);
    for (int i = 0; i < 3; i++) d.origin[i] = (float)(start[i] + bone[i] / 2);
    across(bone, directions[0], directions[1]);
    for (int i = 0; i < 4; i++) {
        d.kind = i % 2 ? PELT_DRIVEN_DENT : PELT_DRIVEN_BULGE;
        set_vector(d.axis, directions[i / 2], 1);
        add(s, &d,
            pelt_arena_format(s->f->arena, "%s.%s%d.%s", names[d.driver], words[i % 2], i / 2 + 1,
                              names[from == d.driver ? to : from]));
    }
}

static void add_bulges_of(set *s, uint32_t joint, const rule *r) {
    uint32_t joints = s->f->model.skeleton->joint_count;
    int32_t before = upstream_joint(s, joint);
    double bone[3], sum[3] = {0};
    if (before < 0 || !(r->upstream || r->downstream)) return;
    for (uint32_t c = joint + 1; c < joints; c++)
        if (ends_bone(s, joint, c)) {
            bone_between(s, joint, c, bone);
            for (int i = 0; i < 3; i++) sum[i] += bone[i];
        }
    if (sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) <= s->shortest) return;
    pelt_driven d = {.parent = before, .driver = joint, .amount = (float)r->k};
    bone_between(s, joint, (uint32_t)before, bone);
    set_vector(d.upstream, bone, 1);
    set_vector(d.downstream, sum, 1);
    d.host = (uint32_t)before;
    if (r->upstream) add_bulges(s, d, (uint32_t)before, joint);
    d.host = joint;
    for (uint32_t c = joint + 1; r->downstream && c < joints; c++)
        if (ends_bone(s, joint, c)) add_bulges(s, d, joint, c);
}

static void apply(set *s, uint32_t joint, const rule *r) {
    if (s->singular[joint]) return;
    add_turns(s, joint, r);
    add_bulges_of(s, joint, r);
}

/* -- Rules from a text --------------------------------------------------------------------------------------------- */

static const char *read_fractions(const json_t *value, uint32_t *count, double *fractions) {
    if (!value) return NULL;
    if (json_is_integer(value)) {
        json_int_t n = json_integer_value(value);
        if (n < 0 || n > MOST_FRACTIONS) return "takes 0 to 16 fractions";
        *count = (uint32_t)n;
        for (uint32_t i = 0; i < *count; i++) fractions[i] = (i + 1.0) / (*count + 1.0);
        return NULL;
    }
    if (!json_is_array(value) || json_array_size(value) > MOST_FRACTIONS)
        return "takes a list of at most 16 fractions, or their number";
    *count = (uint32_t)json_array_size(value);
    for (uint32_t i = 0; i < *count; i++) {
        const json_t *number = json_array_get(value, i);
        fractions[i] = json_number_value(number);
        if (!json_is_number(number) || !(fabs(fractions[i]) <= 4)) return "has a fraction that is not from -4 to 4";
    }
    return NULL;
}

static const char *read_bulge(const json_t *value, rule *r) {
    if (!value || json_is_false(value)) return NULL;
    r->upstream = r->downstream = true;
    r->k = usual_k;
    if (json_is_number(value)) r->k = json_number_value(value);
    if (json_is_object(value)) {
        const json_t *k = json_object_get(value, "k");
        if (k) r->k = json_is_number(k) ? json_number_value(k) : -1;
        r->upstream = !json_is_false(json_object_get(value, "upstream"));
        r->downstream = !json_is_false(json_object_get(value, "downstream"));
    } else if (!json_is_number(value) && !json_is_true(value)) {
        return "takes true, a number k, or {\"k\": ..., \"upstream\": ..., \"downstream\": ...}";
    }
    return r->k >= 0 && r->k <= 1e4 ? NULL : "has a k that is not from 0 to 10000";
}

static const char *read_rule(const json_t *object, rule *r, const char **where) {
    static const char *const known[] = {"turn", "twist", "bend", "bulge", "joints"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        bool found = false;
        for (int i = 0; i < 5; i++) found |= !strcmp(key, known[i]);
        *where = key;
        if (!found) return "is not a word that a rule knows: joints, turn, twist, bend, bulge";
    }
    for (int kind = 0; kind < 3; kind++) {
        *where = known[kind];
        const char *problem =
            read_fractions(json_object_get(object, known[kind]), &r->counts[kind], r->fractions[kind]);
        if (problem) return problem;
    }
    *where = "bulge";
    return read_bulge(json_object_get(object, "bulge"), r);
}

static pelt_result apply_text(set *s, const char *text, pelt_error *error) {
    const pelt_skeleton *skeleton = s->f->model.skeleton;
    json_error_t broken;
    json_t *rules = json_loads(text, JSON_REJECT_DUPLICATES, &broken);
    pelt_result result = PELT_OK;
    if (!rules || !json_is_array(rules)) {
        result = rules ? pelt_fail(error, PELT_ERROR_FORMAT, "--drive: a list of rules is meant, [{\"joints\": ...}]")
                       : pelt_fail(error, PELT_ERROR_FORMAT, "--drive: line %d: %s", broken.line, broken.text);
        json_decref(rules);
        return result;
    }
    for (size_t i = 0; i < json_array_size(rules) && !result; i++) {
        const json_t *object = json_array_get(rules, i);
        const char *names = json_string_value(json_object_get(object, "joints")), *where = "joints";
        rule r = {0};
        const char *problem = names ? read_rule(object, &r, &where) : "is missing: it names the joints of a rule";
        if (problem)
            result = pelt_fail(error, PELT_ERROR_FORMAT, "--drive: rule %zu: \"%s\" %s", i + 1, where, problem);
        if (!result) result = pelt_check_names(names, "drive", skeleton, error);
        for (uint32_t j = 0; j < skeleton->joint_count && !result; j++)
            if (pelt_name_listed(names, skeleton->names[j])) apply(s, j, &r);
    }
    json_decref(rules);
    return result;
}

/* -- Automatic ----------------------------------------------------------------------------------------------------- */

/* The largest angle by which a joint turns relative to its parent in the examples. */
static void largest_angles(pelt_fitting *f, const pelt_affine *matrices, double *angles) {
    const pelt_skeleton *skeleton = f->model.skeleton;
    for (size_t e = 0; e < f->examples.count; e++)
        for (uint32_t j = 0; j < skeleton->joint_count; j++) {
            const pelt_affine *all = matrices + e * skeleton->joint_count;
            pelt_affine motion, r;
            const pelt_affine *parent = skeleton->parents[j] < 0 ? NULL : &all[skeleton->parents[j]];
            if (!pelt_relative_rotation(parent, &all[j], &motion, &r)) continue;
            double cosine = (r.m[0] + r.m[5] + r.m[10] - 1) / 2;
            angles[j] = fmax(angles[j], acos(fmin(fmax(cosine, -1), 1)));
        }
}

/* Correctives are put into the rest pose through the inverse of the blended matrix, which bulges make nearly singular
   in places: with a corrective there are none. */
static pelt_result apply_automatic(set *s, pelt_error *error) {
    pelt_fitting *f = s->f;
    uint32_t joints = f->model.skeleton->joint_count;
    bool bulges = !strcmp(f->options.corrective, "none");
    rule r = {.counts = {1}, .fractions = {{0.5}}, .upstream = bulges, .downstream = bulges, .k = usual_k};
    pelt_affine *matrices = NULL;
    double *angles = PELT_NEW(f->arena, joints, double);
    pelt_result result = angles ? pelt_example_matrices(f, &matrices, error)
                                : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for driven joints");
    if (result) return result;
    largest_angles(f, matrices, angles);
    for (uint32_t j = 0; j < joints; j++) {
        bool dropped = f->options.drop_joints && pelt_name_listed(f->options.drop_joints, f->model.skeleton->names[j]);
        if (angles[j] > least_angle && !dropped) apply(s, j, &r);
    }
    return PELT_OK;
}

pelt_result pelt_choose_driven(pelt_fitting *f, pelt_error *error) {
    const pelt_skeleton *skeleton = f->model.skeleton;
    set s = {.f = f, .shortest = 1e-5 * f->bundle->mesh.diagonal};
    s.bind = PELT_NEW(f->arena, skeleton->joint_count, pelt_affine);
    s.singular = PELT_NEW(f->arena, skeleton->joint_count, bool);
    if (!s.bind || !s.singular) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for driven joints");
    uint32_t singular = 0, first = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        pelt_affine inverse;
        memcpy(inverse.m, skeleton->inverse_bind[j], sizeof inverse.m);
        s.singular[j] = !pelt_affine_invert(&inverse, &s.bind[j]);
        if (s.singular[j] && !singular++) first = j;
    }
    if (singular)
        pelt_find(&f->findings, f->arena, PELT_WARNING, "singular-bind",
                  "%u joints are bound by a matrix that has no inverse and drive nothing, the first is \"%s\"",
                  singular, skeleton->names[first]);
    pelt_result result = f->options.drive ? apply_text(&s, f->options.drive, error) : apply_automatic(&s, error);
    if (!result && s.failed) result = pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for driven joints");
    if (!result && (uint64_t)skeleton->joint_count + s.count > 65536)
        result = pelt_fail(error, PELT_ERROR_DATA, "%u driven joints are more than a skin can hold: drive fewer joints",
                           s.count);
    f->model.driven = s.list, f->model.driven_names = s.names;
    f->model.driven_count = result ? 0 : s.count;
    return result;
}
