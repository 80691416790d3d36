/* sources.c: the joints and controls behind the coefficients of a packed skin. */

#include "model/sources.h"
#include "runtime/skin.h"

/* Opening a skin has checked everything: offsets stay within their section. */
typedef struct reading {
    pelt_arena *arena;
    const pelt_skin *skin;
    const char *base;        /* base of the offsets */
    bool *joints, *controls; /* of the current source */
    pelt_sources *out;
} reading;

static const void *at(const reading *r, uint64_t offset) { return r->base + offset; }

static void note_axis(reading *r, const pelt_file_axis *axis) {
    if (axis->kind == PELT_AXIS_CONTROL)
        r->controls[axis->joint] = true;
    else
        r->joints[axis->joint] = true;
}

/* Joints come first, then controls. */
static void note_number(reading *r, uint32_t source) {
    if (source < r->skin->joint_count)
        r->joints[source] = true;
    else
        r->controls[source - r->skin->joint_count] = true;
}

/* Returns what was noted, in order, and clears the notes. */
static uint32_t *take(pelt_arena *arena, bool *noted, uint32_t size, uint32_t *count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < size; i++) n += noted[i];
    uint32_t *list = PELT_NEW(arena, n, uint32_t);
    *count = list ? n : 0;
    for (uint32_t i = 0, k = 0; i < size; i++) {
        if (noted[i] && list) list[k++] = i;
        noted[i] = false;
    }
    return list;
}

static void add(reading *r, pelt_source_kind kind, uint32_t first, uint32_t count) {
    pelt_source *s = &r->out->list[r->out->count++];
    *s = (pelt_source){.kind = kind, .first = first, .count = count};
    s->joints = take(r->arena, r->joints, r->skin->joint_count, &s->joint_count);
    s->controls = take(r->arena, r->controls, r->skin->control_count, &s->control_count);
}

static void add_rbfs(reading *r, const pelt_file_corrective *head) {
    const pelt_file_rbf *rbfs = at(r, head->rbfs);
    const pelt_file_axis *axes = at(r, head->axes);
    for (uint32_t i = 0; i < head->rbf_count; i++) {
        for (uint32_t a = 0; a < rbfs[i].axis_count; a++) note_axis(r, &axes[rbfs[i].first_axis + a]);
        add(r, PELT_SOURCE_RBF, rbfs[i].first_coefficient, rbfs[i].coefficient_count);
    }
}

/* The kernel joints that one k depends on. */
static void note_kernel_joint(reading *r, const pelt_file_kernel_joint *joints, const pelt_file_neighbors *near,
                              uint32_t g) {
    note_number(r, joints[g].joint);
    const uint32_t *first = near ? (const void *)((const char *)near + near->first) : NULL;
    const uint32_t *list = near ? (const void *)((const char *)near + near->list) : NULL;
    for (uint32_t i = near ? first[g] : 0; near && i < first[g + 1]; i++) note_number(r, joints[list[i]].joint);
}

static void add_kernel(reading *r, const pelt_file_kernel *kernel, const pelt_file_neighbors *near) {
    const pelt_file_kernel_joint *joints = at(r, kernel->joints);
    const pelt_file_kernel_unit *units = at(r, kernel->units);
    const pelt_file_kernel_group *groups = at(r, kernel->groups);
    for (uint32_t g = 0; g < kernel->group_count; g++) {
        const uint32_t *list = at(r, groups[g].units);
        for (uint32_t u = 0; u < groups[g].unit_count; u++) {
            note_kernel_joint(r, joints, near, units[list[u]].first);
            note_kernel_joint(r, joints, near, units[list[u]].second);
        }
        add(r, PELT_SOURCE_KERNEL, groups[g].first_coefficient, groups[g].coefficient_count);
    }
}

static void add_features(reading *r, const pelt_file_features *features) {
    r->base = (const char *)features;
    const pelt_file_feature_input *inputs = at(r, features->inputs);
    const pelt_file_feature_set *sets = at(r, features->sets);
    const pelt_file_feature_group *groups = at(r, features->groups);
    for (uint32_t g = 0; g < features->group_count; g++) {
        const uint32_t *list = at(r, groups[g].eights), each = pelt_features_seen(features) / 8;
        for (uint32_t s = 0; s < groups[g].eight_count; s++) {
            const pelt_file_feature_set *set = &sets[list[s] / each];
            const uint32_t *own = at(r, set->inputs);
            for (uint32_t i = 0; i < set->input_count; i++) note_number(r, inputs[own[i]].source);
        }
        add(r, PELT_SOURCE_FEATURES, groups[g].first_coefficient, groups[g].coefficient_count);
    }
}

static const pelt_file_weighted *weighted_of(const pelt_file_corrective *head) {
    return head && head->weighted ? (const void *)((const char *)head + head->weighted) : NULL;
}

static void add_weighted(reading *r, const pelt_file_corrective *head, const pelt_file_weighted *weighted) {
    const pelt_file_axis *axes = at(r, head->axes);
    for (uint32_t a = 0; a < weighted->axis_count; a++) {
        note_axis(r, &axes[weighted->first_axis + a]);
        add(r, PELT_SOURCE_WEIGHTED, 0, 0);
    }
}

pelt_sources pelt_skin_sources(pelt_arena *arena, const pelt_skin *skin) {
    pelt_sources out = {0};
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    const pelt_file_features *features = pelt_skin_features(skin);
    const pelt_file_weighted *weighted = weighted_of(head);
    if (!head) return out;
    const pelt_file_kernel *kernel = head->kernel ? (const void *)((const char *)head + head->kernel) : NULL;
    uint32_t most = head->rbf_count + (kernel ? kernel->group_count : 0) + (features ? features->group_count : 0) +
                    (weighted ? weighted->axis_count : 0);
    out.list = PELT_NEW(arena, most, pelt_source);
    reading r = {arena,
                 skin,
                 (const char *)head,
                 PELT_NEW(arena, skin->joint_count, bool),
                 PELT_NEW(arena, skin->control_count, bool),
                 &out};
    if (pelt_arena_failed(arena)) return (pelt_sources){0};
    add_rbfs(&r, head);
    if (weighted) add_weighted(&r, head, weighted);
    if (kernel) add_kernel(&r, kernel, pelt_skin_neighbors(skin));
    if (features) add_features(&r, features);
    return pelt_arena_failed(arena) ? (pelt_sources){0} : out;
}

void pelt_skin_axis_weights(const pelt_skin *skin, uint32_t axis, float *weights) {
    pelt_block_axes axes = pelt_skin_axes(skin);
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        uint32_t block = skin->vertex_slots[v] / PELT_BLOCK, lane = skin->vertex_slots[v] % PELT_BLOCK;
        weights[v] = 0;
        for (uint32_t e = axes.first[block]; e < axes.first[block + 1]; e++)
            if (axes.sources[e] == axis) weights[v] += axes.weights[(size_t)e * PELT_BLOCK + lane];
    }
}
