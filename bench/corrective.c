/* corrective.c: synthetic correctives.

   eigen-5: five displacements per vertex, driven by the joint with the largest weight. psd-8: eight principal poses.
   wpsd-8: eight poses, with each vertex's distance over its own four joints. */

#include "bench/corrective.h"
#include "fit/examples/displacement.h"
#include "model/model.h"
#include "rig/clock.h"
#include <math.h>
#include <string.h>

/* -- Random numbers ------------------------------------------------------------------------------------------------ */

static void random_rotation(uint32_t *state, float q[4]) {
    float length = 0;
    for (int i = 0; i < 4; i++) q[i] = 0.4f * bench_noise(state) + (i == 3), length += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrtf(length);
}

static float *random_floats(pelt_arena *arena, uint32_t *state, size_t count, float scale) {
    float *out = PELT_NEW(arena, count, float);
    for (size_t i = 0; i < count; i++) out[i] = scale * bench_noise(state);
    return out;
}

/* Centres for `axes` rotations. */
static float *random_centers(pelt_arena *arena, uint32_t *state, size_t centers, size_t axes) {
    float *out = PELT_NEW(arena, 4 * centers * axes, float);
    for (size_t i = 0; i < centers * axes; i++) random_rotation(state, out + 4 * i);
    return out;
}

static pelt_axis *joint_axes(pelt_arena *arena, uint32_t first, uint32_t count) {
    pelt_axis *axes = PELT_NEW(arena, count, pelt_axis);
    for (uint32_t i = 0; i < count; i++)
        axes[i] = (pelt_axis){.kind = PELT_AXIS_CHORD, .joint = first + i, .weight = 1};
    return axes;
}

static void make_rbf(pelt_arena *arena, uint32_t *state, uint32_t first_joint, uint32_t axes, uint32_t centers,
                     uint32_t coefficients, pelt_rbf *out) {
    *out = (pelt_rbf){.axis_count = axes,
                      .center_count = centers,
                      .coefficient_count = coefficients,
                      .axes = joint_axes(arena, first_joint, axes),
                      .centers = random_centers(arena, state, centers, axes),
                      .phi = PELT_PHI_MIXED,
                      .width = 2,
                      .matrix = random_floats(arena, state, (size_t)centers * coefficients, 0.5f)};
}

/* -- Correctives --------------------------------------------------------------------------------------------------- */

static uint32_t main_joint(const pelt_influences *in, uint32_t v) {
    uint32_t best = in->first[v];
    for (uint32_t i = best; i < in->first[v + 1]; i++)
        if (in->weights[i] > in->weights[best]) best = i;
    return in->joints[best];
}

/* `terms` displacements per vertex; with coefficients of the joint that carries it, or the same for all. */
static pelt_displacements *make_displacements(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state,
                                              uint32_t terms, bool by_joint) {
    uint32_t n = bundle->mesh.vertex_count;
    pelt_displacements *d = PELT_NEW(arena, 1, pelt_displacements);
    d->first = PELT_NEW(arena, (size_t)n + 1, uint32_t);
    d->coefficients = PELT_NEW(arena, (size_t)n * terms, uint32_t);
    d->vectors = random_floats(arena, state, 3 * (size_t)n * terms, 0.005f * bundle->mesh.diagonal);
    for (uint32_t v = 0; v < n; v++) {
        uint32_t base = by_joint ? main_joint(&bundle->mesh.influences, v) * terms : 0;
        for (uint32_t k = 0; k < terms; k++) d->coefficients[(size_t)v * terms + k] = base + k;
        d->first[v + 1] = (v + 1) * terms;
    }
    return d;
}

static void make_eigen(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state, uint32_t terms,
                       pelt_corrective *out) {
    uint32_t joints = bundle->skeleton.joint_count;
    pelt_rbf *rbfs = PELT_NEW(arena, joints, pelt_rbf);
    for (uint32_t j = 0; j < joints; j++) make_rbf(arena, state, j, 1, 6, terms, &rbfs[j]);
    *out = (pelt_corrective){
        .rbf_count = joints, .rbfs = rbfs, .displacements = make_displacements(bundle, arena, state, terms, true)};
}

static void make_psd(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state, uint32_t terms,
                     pelt_corrective *out) {
    pelt_rbf *rbf = PELT_NEW(arena, 1, pelt_rbf);
    make_rbf(arena, state, 0, bundle->skeleton.joint_count, terms, terms, rbf);
    *out = (pelt_corrective){
        .rbf_count = 1, .rbfs = rbf, .displacements = make_displacements(bundle, arena, state, terms, false)};
}

static void make_wpsd(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state, uint32_t terms,
                      pelt_corrective *out) {
    uint32_t joints = bundle->skeleton.joint_count, n = bundle->mesh.vertex_count;
    const pelt_influences *in = &bundle->mesh.influences;
    pelt_weighted *w = PELT_NEW(arena, 1, pelt_weighted);
    float *folded = random_floats(arena, state, 4 * (size_t)n * terms, 0.005f * bundle->mesh.diagonal);
    *w = (pelt_weighted){.axis_count = joints,
                         .center_count = terms,
                         .axes = joint_axes(arena, 0, joints),
                         .centers = random_centers(arena, state, terms, joints),
                         .phi = PELT_PHI_GAUSSIAN,
                         .width = 1,
                         .first = in->first,
                         .vertex_axes = in->joints,
                         .axis_weights = in->weights,
                         .folded = folded,
                         .unnormalised = true};
    *out = (pelt_corrective){.weighted = w};
}

static pelt_bytes *pack(const pelt_bundle *bundle, const pelt_corrective *corrective, pelt_error *error) {
    pelt_model model = {.skeleton = &bundle->skeleton,
                        .vertex_count = bundle->mesh.vertex_count,
                        .positions = bundle->mesh.positions,
                        .normals = bundle->mesh.normals,
                        .influences = bundle->mesh.influences,
                        .corrective = corrective,
                        .in_16_bits = true};
    return pelt_model_pack(&model, "{}", error);
}

/* -- Preparing runs ------------------------------------------------------------------------------------------------ */

/* The pose as input for the plain loops: like pelt_deform, they are timed on vertices alone. */
static void pose_plain(const pelt_bundle *bundle, const pelt_transform *locals, const pelt_corrective *c,
                       bench_corrective *out) {
    uint32_t joints = bundle->skeleton.joint_count, count = pelt_corrective_coefficient_count(c);
    float *rotations = PELT_NEW(out->arena, 4 * (size_t)joints, float);
    float *translations = PELT_NEW(out->arena, 3 * (size_t)joints, float);
    double *a = PELT_NEW(out->arena, count, double);
    out->coefficients = PELT_NEW(out->arena, count, float);
    out->distances = PELT_NEW(out->arena, (size_t)joints * out->terms, float);
    pelt_pose_rotations(&bundle->skeleton, locals, rotations);
    pelt_pose_state pose = {rotations, translations, NULL};
    pelt_corrective_coefficients(c, &pose, a);
    for (uint32_t k = 0; k < count; k++) out->coefficients[k] = (float)a[k];
    const pelt_weighted *w = c->weighted;
    for (uint32_t j = 0; w && j < joints; j++)
        for (uint32_t q = 0; q < out->terms; q++)
            out->distances[j * out->terms + q] =
                (float)(pelt_axis_distance2(&w->axes[j], &pose, w->centers + 4 * ((size_t)q * joints + j)) /
                        (2 * w->width * w->width));
}

static void copy_terms(const pelt_bundle *bundle, const pelt_corrective *c, bench_corrective *out) {
    size_t count = (size_t)bundle->mesh.vertex_count * out->terms, stride = out->weighted ? 4 : 3;
    out->sources = PELT_NEW(out->arena, count, uint16_t);
    out->vectors = PELT_NEW(out->arena, 3 * count, float);
    for (size_t i = 0; i < count && c->displacements; i++)
        out->sources[i] = (uint16_t)c->displacements->coefficients[i];
    const float *vectors = out->weighted ? c->weighted->folded : c->displacements->vectors;
    for (size_t i = 0; i < count; i++) memcpy(out->vectors + 3 * i, vectors + stride * i, 3 * sizeof *vectors);
}

typedef void make_corrective(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state, uint32_t terms,
                             pelt_corrective *out);

typedef struct making {
    const pelt_bundle *bundle;
    const pelt_transform *locals;
    make_corrective *make;
    bool with_plain; /* including what the plain loops need */
    bench_corrective *out;
    pelt_corrective corrective;
} making;

static pelt_result make_numbers(void *user, pelt_error *error) {
    making *g = user;
    uint32_t state = 7;
    (void)error;
    g->make(g->bundle, g->out->arena, &state, g->out->terms, &g->corrective);
    if (g->with_plain) {
        copy_terms(g->bundle, &g->corrective, g->out);
        pose_plain(g->bundle, g->locals, &g->corrective, g->out);
    }
    return PELT_OK;
}

static pelt_result make_one(const pelt_bundle *bundle, const pelt_transform *locals, make_corrective *make,
                            bool with_plain, bench_corrective *out, pelt_error *error) {
    making g = {bundle, locals, make, with_plain, out, {0}};
    out->arena = pelt_arena_new(0);
    pelt_result result = pelt_stage(out->arena, make_numbers, &g, error);
    if (result) return result;
    out->bytes = pack(bundle, &g.corrective, error);
    if (!out->bytes) return error->code;
    result = pelt_open(out->bytes->bytes, out->bytes->size, &out->skin);
    if (result) return pelt_fail(error, result, "the corrective %s: %s", out->name, pelt_result_text(result));
    out->scratch = pelt_alloc(out->arena, pelt_scratch_size(&out->skin), 1);
    if (!out->scratch) return pelt_no_memory(error);
    pelt_pose(&out->skin, locals, out->scratch);
    return PELT_OK;
}

pelt_result bench_correctives_make(const pelt_bundle *bundle, const pelt_transform *locals, bench_corrective *list,
                                   pelt_error *error) {
    list[0] = (bench_corrective){.name = "eigen-5", .terms = 5};
    list[1] = (bench_corrective){.name = "psd-8", .terms = 8};
    list[2] = (bench_corrective){.name = "wpsd-8", .terms = 8, .weighted = true};
    static make_corrective *const makers[] = {make_eigen, make_psd, make_wpsd};
    pelt_result result = PELT_OK;
    for (int i = 0; i < BENCH_CORRECTIVES && !result; i++)
        result = make_one(bundle, locals, makers[i], true, &list[i], error);
    return result;
}

void bench_correctives_free(bench_corrective *list) {
    for (int i = 0; i < BENCH_CORRECTIVES; i++) pelt_bytes_free(list[i].bytes), pelt_arena_free(list[i].arena);
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static void make_psd_all(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state, uint32_t terms,
                         pelt_corrective *out) {
    make_psd(bundle, arena, state, terms, out);
    ((pelt_rbf *)out->rbfs)->norm = random_floats(arena, state, terms, 1);
}

/* 64 groups of 10 coefficients, each with 12 joints and 8 pairs. */
static void make_kernel(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state, uint32_t terms,
                        pelt_corrective *out) {
    enum { GROUPS = 64, UNITS = 20, COEFFICIENTS = 10 };
    uint32_t joints = bundle->skeleton.joint_count;
    pelt_kernel *k = PELT_NEW(arena, 1, pelt_kernel);
    uint32_t *list = PELT_NEW(arena, joints, uint32_t), *chosen = PELT_NEW(arena, UNITS * GROUPS, uint32_t),
             *centers = PELT_NEW(arena, terms, uint32_t);
    float *scales = PELT_NEW(arena, joints, float);
    pelt_kernel_unit *units = PELT_NEW(arena, 2 * (size_t)joints, pelt_kernel_unit);
    pelt_kernel_group *groups = PELT_NEW(arena, GROUPS, pelt_kernel_group);
    for (uint32_t j = 0; j < joints; j++) list[j] = j, scales[j] = 0.125f;
    for (uint32_t u = 0; u < 2 * joints; u++)
        units[u] = (pelt_kernel_unit){u / 2, u % 2 ? (u / 2 + 1) % joints : u / 2, u % 2 ? 0.5f : 1};
    for (uint32_t i = 0; i < UNITS * GROUPS; i++) chosen[i] = i * 7 % (2 * joints);
    for (uint32_t c = 0; c < terms; c++) centers[c] = c;
    for (uint32_t g = 0; g < GROUPS; g++) {
        groups[g] = (pelt_kernel_group){UNITS,        terms,
                                        COEFFICIENTS, chosen + g * UNITS,
                                        centers,      random_floats(arena, state, (size_t)terms * COEFFICIENTS, 0.1f)};
    }
    *k = (pelt_kernel){joints, terms, 2 * joints, GROUPS, list, scales, random_centers(arena, state, terms, joints),
                       units,  groups};
    *out = (pelt_corrective){.kernel = k, .displacements = make_displacements(bundle, arena, state, 1, false)};
}

/* The same with displacements like those of a fit: five per vertex, from its joint's group. */
static void make_kernel_displacements(const pelt_bundle *bundle, pelt_arena *arena, uint32_t *state, uint32_t terms,
                                      pelt_corrective *out) {
    enum { EACH = 5, GROUP = 10 };
    make_kernel(bundle, arena, state, terms, out);
    pelt_displacements *d = make_displacements(bundle, arena, state, EACH, true);
    for (uint32_t i = 0; i < bundle->mesh.vertex_count * EACH; i++)
        d->coefficients[i] = d->coefficients[i] / EACH * GROUP + d->coefficients[i] % EACH;
    out->displacements = d;
}

pelt_result bench_kernel_make(const pelt_bundle *bundle, const pelt_transform *locals, bench_corrective *out,
                              pelt_error *error) {
    *out = (bench_corrective){.name = "kernel-5", .terms = 240};
    return make_one(bundle, locals, make_kernel_displacements, false, out, error);
}

/* The median of many poses. */
static double time_pose(const bench_corrective *c, const pelt_transform *locals) {
    enum { TIMES = 101 };
    double times[TIMES];
    for (int i = 0; i < TIMES; i++) {
        double start = pelt_thread_seconds();
        pelt_pose(&c->skin, locals, c->scratch);
        times[i] = pelt_thread_seconds() - start;
    }
    return bench_time_of(times, TIMES).median;
}

pelt_result bench_pose_seconds(const pelt_bundle *bundle, const pelt_transform *locals, uint32_t examples, double *psd,
                               double *kernel, pelt_error *error) {
    bench_corrective list[BENCH_CORRECTIVES] = {{.name = "psd", .terms = examples},
                                                {.name = "kernel", .terms = examples}};
    pelt_result result = make_one(bundle, locals, make_psd_all, false, &list[0], error);
    if (!result) result = make_one(bundle, locals, make_kernel, false, &list[1], error);
    if (!result) *psd = time_pose(&list[0], locals), *kernel = time_pose(&list[1], locals);
    bench_correctives_free(list);
    return result;
}
