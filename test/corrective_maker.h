/* corrective_maker.h: random correctives, with every feature a corrective can have. */

#ifndef PELT_TEST_CORRECTIVE_MAKER_H
#define PELT_TEST_CORRECTIVE_MAKER_H

#include "runtime/loops.h"
#include "test/character.h"

static inline float maker_noise(uint64_t *seed) { return (float)(2 * test_random(seed) - 1); }

static inline float *maker_floats(pelt_arena *arena, uint64_t *seed, size_t count, double scale) {
    float *out = PELT_NEW(arena, count + 1, float);
    for (size_t i = 0; i < count; i++) out[i] = (float)scale * maker_noise(seed);
    return out;
}

static inline void maker_quaternion(uint64_t *seed, double spread, float q[4]) {
    double length = 0;
    for (int i = 0; i < 4; i++) {
        q[i] = (float)(spread * maker_noise(seed) + (i == 3));
        length += (double)q[i] * q[i];
    }
    double sign = test_random(seed) < 0.5 ? -1 : 1; /* q and -q are the same rotation */
    for (int i = 0; i < 4; i++) q[i] = (float)(sign * q[i] / sqrt(length));
}

/* Controls of the skins made here; their values at rest are not 0. */
enum { MAKER_CONTROLS = 2 };
static const pelt_model_control maker_controls[MAKER_CONTROLS] = {
    {.name = "flex", .rest = 0.25f, .least = -1, .most = 2}, {.name = "smile", .rest = -3, .least = -4, .most = -2}};

/* Axes of all kinds, over all joints in turn. */
static inline pelt_axis *maker_axes(pelt_arena *arena, uint32_t joints, uint32_t count) {
    static const pelt_axis_kind kinds[] = {PELT_AXIS_ROTATION, PELT_AXIS_TRANSLATION, PELT_AXIS_CHORD,
                                           PELT_AXIS_CONTROL,  PELT_AXIS_HINGE,       PELT_AXIS_VECTOR,
                                           PELT_AXIS_EULER};
    pelt_axis *axes = PELT_NEW(arena, count, pelt_axis);
    for (uint32_t i = 0; i < count; i++) {
        axes[i] = (pelt_axis){.kind = kinds[i % 7], .joint = i % joints, .weight = 0.2f + (float)(i % 3)};
        if (axes[i].kind == PELT_AXIS_CONTROL) axes[i].joint = i / 7 % MAKER_CONTROLS;
        if (axes[i].kind == PELT_AXIS_HINGE)
            axes[i].direction[1] = 0.6f, axes[i].direction[2] = -0.8f, axes[i].middle = 1, axes[i].reach = 2;
    }
    return axes;
}

static inline float *maker_centers(pelt_arena *arena, uint64_t *seed, const pelt_axis *axes, uint32_t axis_count,
                                   uint32_t center_count) {
    float *out = PELT_NEW(arena, 4 * (size_t)axis_count * center_count, float);
    for (uint32_t c = 0; c < center_count; c++)
        for (uint32_t a = 0; a < axis_count; a++) {
            float q[4], t[3] = {maker_noise(seed), 1 + maker_noise(seed), maker_noise(seed)}, x = maker_noise(seed);
            pelt_axis first = axes[a]; /* of a skeleton of one joint */
            maker_quaternion(seed, 0.5, q);
            first.joint = 0;
            pelt_axis_center(&first, &(pelt_pose_state){q, t, &x}, out + 4 * ((size_t)c * axis_count + a));
        }
    return out;
}

static inline pelt_rbf maker_rbf(pelt_arena *arena, uint64_t *seed, uint32_t joints, uint32_t axes, uint32_t centers,
                                 uint32_t coefficients, pelt_phi phi, bool normalised) {
    pelt_rbf rbf = {.axis_count = axes,
                    .center_count = centers,
                    .coefficient_count = coefficients,
                    .axes = maker_axes(arena, joints, axes),
                    .phi = phi,
                    .width = 1.5f,
                    .matrix = maker_floats(arena, seed, (size_t)centers * coefficients, 1)};
    rbf.centers = maker_centers(arena, seed, rbf.axes, axes, centers);
    if (normalised) rbf.norm = maker_floats(arena, seed, centers, 1);
    return rbf;
}

/* Over all joints of the skeleton and all controls. */
static inline pelt_kernel *maker_kernel(pelt_arena *arena, uint64_t *seed, uint32_t skeleton_joints, uint32_t centers,
                                        uint32_t groups, uint32_t coefficients) {
    static const float still[4] = {0, 0, 0, 1}, nothing[4] = {0};
    uint32_t joints = skeleton_joints + MAKER_CONTROLS;
    pelt_kernel *k = PELT_NEW(arena, 1, pelt_kernel);
    uint32_t *list = PELT_NEW(arena, joints, uint32_t);
    float *scales = PELT_NEW(arena, joints, float), *places = PELT_NEW(arena, 4 * (size_t)joints * centers, float);
    pelt_kernel_unit *units = PELT_NEW(arena, 2 * joints, pelt_kernel_unit);
    pelt_kernel_group *all = PELT_NEW(arena, groups, pelt_kernel_group);
    for (uint32_t j = 0; j < joints; j++) {
        list[j] = j < skeleton_joints ? skeleton_joints - 1 - j : j - skeleton_joints;
        scales[j] = 0.1f + 0.1f * (float)j;
    }
    for (uint32_t i = 0; i < joints * centers; i++) maker_quaternion(seed, 0.5, places + 4 * (size_t)i);
    for (uint32_t c = 0; centers > 16 && c < centers; c++) /* with many centres, most move one joint or control alone */
        for (uint32_t j = 0; c % 3 && j < joints; j++)
            if (j != c % joints)
                memcpy(places + 4 * ((size_t)c * joints + j), j < skeleton_joints ? still : nothing, 16);
    for (uint32_t u = 0; u < 2 * joints; u++)
        units[u] = (pelt_kernel_unit){u / 2, u % 2 ? (u / 2 + 1) % joints : u / 2, 0.3f + 0.1f * (float)u};
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t *own_units = PELT_NEW(arena, joints, uint32_t), *own_centers = PELT_NEW(arena, centers, uint32_t);
        uint32_t count = centers - g % centers;
        for (uint32_t i = 0; i < joints; i++) own_units[i] = (g + i * 3) % (2 * joints);
        for (uint32_t i = 0; i < count; i++) own_centers[i] = centers - 1 - i;
        all[g] =
            (pelt_kernel_group){joints,    count,       coefficients,
                                own_units, own_centers, maker_floats(arena, seed, (size_t)count * coefficients, 0.5)};
    }
    *k = (pelt_kernel){joints, centers, 2 * joints, groups, list, scales, places, units, all, MAKER_CONTROLS, NULL};
    return k;
}

/* Neighbourhoods of three joints and a control each, and groups that use some of them. */
static inline pelt_features *maker_features(pelt_arena *arena, uint64_t *seed, uint32_t joints, uint32_t width,
                                            uint32_t rank, uint32_t groups, uint32_t coefficients) {
    uint32_t each = (rank ? rank : width) / 8;
    pelt_features *f = PELT_NEW(arena, 1, pelt_features);
    pelt_feature_input *inputs = PELT_NEW(arena, joints + MAKER_CONTROLS, pelt_feature_input);
    pelt_feature_set *sets = PELT_NEW(arena, joints, pelt_feature_set);
    pelt_feature_group *all = PELT_NEW(arena, groups, pelt_feature_group);
    float *bends = PELT_NEW(arena, width, float);
    for (uint32_t j = 0; j < joints; j++) inputs[j].source = joints - 1 - j;
    for (uint32_t c = 0; c < MAKER_CONTROLS; c++) inputs[joints + c] = (pelt_feature_input){c, -0.5f - (float)c, 0.75f};
    for (uint32_t s = 0; s < joints; s++) {
        uint32_t *list = PELT_NEW(arena, 4, uint32_t);
        for (uint32_t i = 0; i < 3; i++) list[i] = (s + i) % joints;
        list[3] = joints + s % MAKER_CONTROLS;
        sets[s] = (pelt_feature_set){4,
                                     19,
                                     list,
                                     maker_floats(arena, seed, 19 * (size_t)width, 0.5),
                                     maker_floats(arena, seed, width, 0.3),
                                     rank ? maker_floats(arena, seed, (size_t)width * rank, 0.3) : NULL,
                                     s == 1 && rank > 8 ? rank - 8 : rank};
    }
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t count = 0, *list = PELT_NEW(arena, (size_t)joints * each, uint32_t), own = coefficients + g % 3;
        for (uint32_t i = 0; i < g % joints * each; i++) { /* all of every set but the first, with some exceptions */
            uint32_t set = (g + 2 * (i / each)) % joints, eight = i % each;
            if (rank && (8 * eight >= sets[set].rank || (i > each && i % 4 == 1))) continue;
            list[count++] = set * each + eight;
        }
        all[g] = (pelt_feature_group){count, own, list, maker_floats(arena, seed, 8 * (size_t)own * count, 0.2)};
    }
    for (uint32_t k = 0; k < width; k++) bends[k] = k % 3 ? 0.1f * (float)(k % 3) : 0;
    *f =
        (pelt_features){width, joints + MAKER_CONTROLS, joints, groups, MAKER_CONTROLS, rank, bends, inputs, sets, all};
    return f;
}

/* Some of the coefficients for every vertex; none for some. */
static inline pelt_displacements *maker_displacements(pelt_arena *arena, uint64_t *seed, uint32_t vertices,
                                                      uint32_t coefficients, uint32_t most, double scale) {
    pelt_displacements *d = PELT_NEW(arena, 1, pelt_displacements);
    d->first = PELT_NEW(arena, (size_t)vertices + 1, uint32_t);
    d->coefficients = PELT_NEW(arena, (size_t)vertices * most, uint32_t);
    for (uint32_t v = 0; v < vertices; v++) {
        uint32_t count = v % (most + 1), start = (uint32_t)(test_random(seed) * coefficients);
        d->first[v + 1] = d->first[v] + count;
        for (uint32_t k = 0; k < count; k++) d->coefficients[d->first[v] + k] = (start + k * 5) % coefficients;
    }
    d->vectors = maker_floats(arena, seed, 3 * (size_t)d->first[vertices], scale);
    return d;
}

/* Radial functions of every shape, with and without norm, and kernel groups. */
static inline pelt_corrective *maker_basis(pelt_bundle *bundle, uint64_t *seed) {
    pelt_arena *arena = bundle->arena;
    uint32_t joints = bundle->skeleton.joint_count;
    pelt_rbf *rbfs = PELT_NEW(arena, 6, pelt_rbf);
    for (uint32_t i = 0; i < 6; i++)
        rbfs[i] = maker_rbf(arena, seed, joints, 1 + 2 * i, 3 + 7 * i, 1 + i, (pelt_phi)(i % 3), i % 2);
    pelt_corrective *c = PELT_NEW(arena, 1, pelt_corrective);
    *c = (pelt_corrective){.rbf_count = 6, .rbfs = rbfs, .kernel = maker_kernel(arena, seed, joints, 43, 5, 6)};
    c->displacements =
        maker_displacements(arena, seed, bundle->mesh.vertex_count, pelt_corrective_coefficient_count(c), 7, 0.05);
    c->tilts =
        maker_displacements(arena, seed, bundle->mesh.vertex_count, pelt_corrective_coefficient_count(c), 5, 0.3);
    return c;
}

static inline pelt_corrective *maker_weighted(pelt_bundle *bundle, uint64_t *seed, pelt_phi phi) {
    enum { AXES = 9, CENTERS = 21 };
    pelt_arena *arena = bundle->arena;
    uint32_t n = bundle->mesh.vertex_count;
    pelt_weighted *w = PELT_NEW(arena, 1, pelt_weighted);
    uint32_t *first = PELT_NEW(arena, (size_t)n + 1, uint32_t), *axes = PELT_NEW(arena, 3 * (size_t)n, uint32_t);
    float *weights = PELT_NEW(arena, 3 * (size_t)n, float);
    float *folded = maker_floats(arena, seed, 4 * (size_t)n * CENTERS, 0.05);
    float *turns = maker_floats(arena, seed, 3 * (size_t)n * CENTERS, 0.1);
    for (uint32_t v = 0; v < n; v++) {
        first[v + 1] = first[v] + 1 + v % 3;
        for (uint32_t i = first[v]; i < first[v + 1]; i++)
            axes[i] = (v / 7 + i - first[v]) % AXES, weights[i] = (float)test_random(seed);
        for (uint32_t q = 0; q < CENTERS; q++) {
            float *c = folded + 4 * ((size_t)v * CENTERS + q);
            c[3] = 0.2f + 4 * c[3];
            if ((v / 5 + q) % 3) continue; /* not every vertex uses every centre */
            memset(c, 0, 4 * sizeof *c);
            memset(turns + 3 * ((size_t)v * CENTERS + q), 0, 3 * sizeof *turns);
        }
    }
    *w = (pelt_weighted){.axis_count = AXES,
                         .center_count = CENTERS,
                         .axes = maker_axes(arena, bundle->skeleton.joint_count, AXES),
                         .phi = phi,
                         .width = 1.2f,
                         .first = first,
                         .vertex_axes = axes,
                         .axis_weights = weights,
                         .folded = folded,
                         .folded_tilts = turns};
    for (uint32_t a = 0; a < AXES; a++) ((pelt_axis *)w->axes)[a].weight = 1;
    float *centers = maker_centers(arena, seed, w->axes, AXES, CENTERS);
    for (uint32_t a = 1; a < AXES; a += 3) /* along some axes the last ones coincide with the first */
        for (uint32_t q = PELT_BLOCK; q < CENTERS; q++)
            memcpy(centers + 4 * (q * AXES + a), centers + 4 * a, 4 * sizeof *centers);
    w->centers = centers;
    pelt_corrective *c = PELT_NEW(arena, 1, pelt_corrective);
    c->weighted = w;
    return c;
}

static inline pelt_bytes *maker_pack_rings(const pelt_bundle *bundle, const pelt_corrective *corrective,
                                           bool in_16_bits, const pelt_rings *rings, pelt_skin *skin) {
    pelt_model model = {.skeleton = &bundle->skeleton,
                        .vertex_count = bundle->mesh.vertex_count,
                        .positions = bundle->mesh.positions,
                        .normals = bundle->mesh.normals,
                        .tangents = bundle->mesh.tangents,
                        .influences = bundle->mesh.influences,
                        .corrective = corrective,
                        .in_16_bits = in_16_bits,
                        .rings = rings,
                        .control_count = MAKER_CONTROLS,
                        .controls = maker_controls};
    pelt_error error = {0};
    pelt_bytes *bytes = pelt_model_pack(&model, "{}", &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    return bytes;
}

static inline pelt_bytes *maker_pack(const pelt_bundle *bundle, const pelt_corrective *corrective, bool in_16_bits,
                                     pelt_skin *skin) {
    return maker_pack_rings(bundle, corrective, in_16_bits, NULL, skin);
}

/* A random pose; joints also slide a little. */
static inline void maker_pose(const pelt_bundle *bundle, uint64_t *seed, double spread, pelt_transform *locals) {
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++) {
        locals[j] = bundle->skeleton.rest[j];
        maker_quaternion(seed, spread, locals[j].rotation);
        for (int i = 0; i < 3; i++) locals[j].translation[i] += 0.1f * maker_noise(seed);
    }
}

/* -- A skin of a made corrective, and what a pose of it leaves behind ----------------------------------------------- */

typedef struct maker_runner {
    pelt_bundle *bundle;
    const pelt_corrective *corrective;
    pelt_bytes *bytes;
    pelt_skin skin;
    uint32_t count; /* coefficients */
    void *scratch;
} maker_runner;

/* The bundle goes with it. */
static inline maker_runner maker_open(pelt_bundle *bundle, const pelt_corrective *corrective, bool in_16_bits) {
    maker_runner r = {.bundle = bundle, .corrective = corrective};
    r.count = pelt_corrective_coefficient_count(corrective);
    r.bytes = maker_pack(bundle, corrective, in_16_bits, &r.skin);
    r.scratch = aligned_alloc(64, pelt_scratch_size(&r.skin));
    return r;
}

static inline void maker_close(maker_runner *r) {
    free(r->scratch);
    character_free_skin(r->bytes), character_free(r->bundle);
}

/* away: controls, from rest. */
static inline void maker_run(maker_runner *r, pelt_isa isa, const pelt_transform *locals, const float *away) {
    float values[MAKER_CONTROLS];
    for (int i = 0; i < MAKER_CONTROLS; i++) values[i] = maker_controls[i].rest + away[i];
    r->skin.isa = isa;
    pelt_pose_from(&r->skin, &(pelt_pose_input){.locals = locals, .controls = values}, r->scratch);
}

static inline const float *maker_coefficients(const maker_runner *r) {
    return (const float *)((const char *)r->scratch + pelt_pose_layout(&r->skin).size +
                           pelt_corrective_layout(&r->skin).coefficients);
}

#endif
