/* choose.c: the frames that tell most about all others.

   A skin is a regression on the pose, by the kernels of the joints that drive a vertex (fit/regression). Once some frames
   are examples, what is unknown of a frame i is the posterior variance of that regression, whatever the shapes are:

       C = K - K_S (K_SS + lambda I)^-1 K_S^T,   unknown = sum over groups of vertices of w tr C

   The next frame is the one that leaves least of it: s maximises sum_groups w sum_i C_is^2 / (C_ss + lambda), and then
   C loses C_s C_s^T / (C_ss + lambda), a step of pivoted Cholesky. A group is all vertices that the same joints drive;
   without shapes, those are the joints that carry them by weight, and the joints above these. */

#include "fit/examples/poses.h"
#include "fit/regression/regression.h"
#include "poses/poses.h"
#include <stdlib.h>
#include <string.h>

/* As the regression starts out. */
static const pelt_kernel_settings SETTINGS = {.form = PELT_NEAR_ARC, .width = 1, .pair = 1, .lambda = 0.001};
static const float DRIVES = 0.01f;                  /* of a vertex's weight */
static const size_t MOST_BYTES = (size_t)512 << 20; /* of covariances: above, every second frame is a candidate, ... */

typedef struct choosing {
    const pelt_bundle *bundle;
    pelt_examples all;
    size_t wanted;
    pelt_frame_choice how;
    uint32_t seed;
    size_t *chosen;
    double left;

    pelt_arena *arena;
    size_t step, count; /* candidates: every step-th of all */
    pelt_poses poses;   /* of the candidates */
    pelt_kernel_inputs inputs;
    uint32_t group_count;
    double *weights;          /* [group] vertices */
    const uint8_t **supports; /* [group] -> [input] */
    float *covariances;       /* [group][candidate][candidate] */
    double *scores;           /* [group][candidate] */
    bool *taken;              /* [candidate] */
    size_t last;              /* the candidate chosen last */
} choosing;

/* -- Groups of vertices --------------------------------------------------------------------------------------------- */

/* Joints that rotate and follow no other, with the nearest of them above. */
static void find_inputs(choosing *c) {
    const pelt_skeleton *s = &c->bundle->skeleton;
    pelt_kernel_inputs *in = &c->inputs;
    int32_t *index_of = PELT_NEW(c->arena, s->joint_count, int32_t);
    bool *member = PELT_NEW(c->arena, s->joint_count, bool);
    *in = (pelt_kernel_inputs){.joints = PELT_NEW(c->arena, s->joint_count, uint32_t),
                               .parents = PELT_NEW(c->arena, s->joint_count, int32_t)};
    for (uint32_t m = 0; m < c->poses.mover_count; m++)
        for (uint32_t i = 0; i < c->poses.movers[m].count; i++)
            member[c->poses.members[c->poses.movers[m].first + i]] = true;
    for (uint32_t j = 0; j < s->joint_count; j++) {
        index_of[j] = s->parents[j] < 0 ? -1 : index_of[s->parents[j]]; /* the nearest at or above */
        if (!member[j]) continue;
        in->parents[in->count] = index_of[j], in->joints[in->count] = j;
        index_of[j] = (int32_t)in->count++;
    }
    const pelt_mesh *mesh = &c->bundle->mesh;
    const pelt_influences *of = &mesh->influences;
    in->supports = PELT_NEW(c->arena, (size_t)mesh->vertex_count * in->count, uint8_t);
    float *carried = PELT_NEW(c->arena, in->count, float);
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        memset(carried, 0, in->count * sizeof *carried);
        for (uint32_t i = of->first[v]; i < of->first[v + 1]; i++)
            if (index_of[of->joints[i]] >= 0) carried[index_of[of->joints[i]]] += of->weights[i];
        for (uint32_t g = 0; g < in->count; g++) {
            float around = carried[g] + (in->parents[g] >= 0 ? carried[in->parents[g]] : 0);
            in->supports[v * in->count + g] = around > DRIVES;
        }
    }
    in->moved = PELT_NEW(c->arena, (size_t)c->poses.count * in->count, uint8_t);
}

static void find_groups(choosing *c) {
    uint32_t n = c->bundle->mesh.vertex_count, *group_of = PELT_NEW(c->arena, n, uint32_t);
    c->group_count = pelt_group_points(c->arena, &c->inputs, n, NULL, group_of);
    c->weights = PELT_NEW(c->arena, c->group_count, double);
    c->supports = PELT_NEW(c->arena, c->group_count, const uint8_t *);
    for (size_t v = 0; v < n; v++) {
        c->weights[group_of[v]]++;
        c->supports[group_of[v]] = c->inputs.supports + v * c->inputs.count;
    }
}

/* -- Covariances ---------------------------------------------------------------------------------------------------- */

static float *covariance(const choosing *c, size_t group) { return c->covariances + group * c->count * c->count; }

/* Sums of the kernels of each group's inputs. */
static void start(choosing *c) {
    size_t square = c->count * c->count;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(c->arena);
    pelt_kernel_inputs near = pelt_kernel_look_around(work, &c->poses, &c->inputs);
    float *table = PELT_NEW(work, square, float);
    memset(c->covariances, 0, c->group_count * square * sizeof(float));
    memset(c->taken, 0, c->count * sizeof *c->taken);
    for (uint32_t g = 0; g < near.count; g++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_inside(work);
        pelt_neighbor_table(brief, &c->poses, &near, &SETTINGS, g, table);
        for (uint32_t k = 0; k < c->group_count; k++) {
            float *to = covariance(c, k);
            for (size_t i = 0; c->supports[k][g] && i < square; i++) to[i] += table[i];
        }
    }
}

static double unknown(const choosing *c) {
    double sum = 0;
    for (size_t k = 0; k < c->group_count; k++)
        for (size_t i = 0; i < c->count; i++) sum += c->weights[k] * covariance(c, k)[i * (c->count + 1)];
    return sum;
}

/* What each candidate would take from a group. */
static void score_group(void *user, size_t k, pelt_arena *scratch) {
    (void)scratch;
    const choosing *c = user;
    const float *cov = covariance(c, k);
    double *scores = c->scores + k * c->count;
    for (size_t s = 0; s < c->count; s++) {
        double sum = 0, own = cov[s * c->count + s];
        for (size_t i = 0; i < c->count; i++) sum += (double)cov[s * c->count + i] * cov[s * c->count + i];
        scores[s] = c->weights[k] * sum / (own + SETTINGS.lambda);
    }
}

static void learn_group(void *user, size_t k, pelt_arena *scratch) {
    const choosing *c = user;
    size_t n = c->count;
    float *cov = covariance(c, k), *column = PELT_NEW(scratch, n, float);
    memcpy(column, cov + c->last * n, n * sizeof *column);
    float scale = (float)(1 / (column[c->last] + SETTINGS.lambda));
    for (size_t i = 0; i < n; i++) {
        float factor = scale * column[i];
        if (factor == 0) continue;
        for (size_t s = 0; s < n; s++) cov[i * n + s] -= factor * column[s];
    }
}

static void learn(choosing *c, size_t candidate) {
    c->last = candidate, c->taken[candidate] = true;
    pelt_parallel(c->arena, 0, c->group_count, learn_group, c);
}

/* -- Choices -------------------------------------------------------------------------------------------------------- */

static size_t most_telling(choosing *c) {
    size_t best = c->count;
    double most = -1;
    pelt_parallel(c->arena, 0, c->group_count, score_group, c);
    for (size_t s = 0; s < c->count; s++) {
        double sum = 0;
        for (size_t k = 0; k < c->group_count; k++) sum += c->scores[k * c->count + s];
        if (!c->taken[s] && sum > most) most = sum, best = s;
    }
    return best;
}

/* Draws without putting back: the first of a shuffle. */
static void draw_frames(choosing *c, size_t *places) {
    uint64_t state = c->seed;
    size_t *order = PELT_NEW(c->arena, c->count, size_t);
    for (size_t i = 0; i < c->count; i++) order[i] = i;
    for (size_t i = 0; i < c->wanted; i++) {
        size_t other = i + (size_t)(pelt_draw(&state) * (double)(c->count - i)), swap = order[i];
        order[i] = order[other], order[other] = swap;
        places[i] = order[i];
    }
}

/* Fills in places[wanted] in one way; returns what is then unknown. */
static double choose_by(choosing *c, pelt_frame_choice how, size_t *places) {
    start(c);
    if (how == PELT_CHOOSE_RANDOM) draw_frames(c, places);
    for (size_t i = 0; i < c->wanted; i++) {
        if (how == PELT_CHOOSE_EVEN) places[i] = (2 * i + 1) * c->count / (2 * c->wanted);
        if (how == PELT_CHOOSE_TELLING) places[i] = most_telling(c);
        learn(c, places[i]);
    }
    return unknown(c);
}

/* -- All ------------------------------------------------------------------------------------------------------------ */

/* Candidates: as many as their covariances have room for. */
static void find_candidates(choosing *c) {
    for (c->step = 1;; c->step *= 2) {
        c->count = (c->all.count + c->step - 1) / c->step;
        pelt_example *list = PELT_NEW(c->arena, c->count, pelt_example);
        for (size_t i = 0; i < c->count; i++) list[i] = c->all.list[i * c->step];
        pelt_poses_of(c->arena, c->bundle, (pelt_examples){c->count, list}, &(pelt_fit_options){0}, &c->poses);
        find_inputs(c);
        find_groups(c);
        size_t bytes = c->group_count * sizeof(float) * c->count;
        if (c->count <= MOST_BYTES / (bytes ? bytes : 1) ||
            (c->all.count + 2 * c->step - 1) / (2 * c->step) < c->wanted)
            return;
    }
}

/* A stage. */
static pelt_result choose(void *user, pelt_error *error) {
    (void)error;
    choosing *c = user;
    find_candidates(c);
    c->covariances = PELT_NEW(c->arena, c->group_count * c->count * c->count, float);
    c->scores = PELT_NEW(c->arena, (size_t)c->group_count * c->count, double);
    c->taken = PELT_NEW(c->arena, c->count, bool);
    size_t *places = PELT_NEW(c->arena, c->wanted, size_t), *even = PELT_NEW(c->arena, c->wanted, size_t);
    start(c);
    double all = unknown(c), left = choose_by(c, c->how, places);
    if (c->how == PELT_CHOOSE_TELLING) {
        double spaced = choose_by(c, PELT_CHOOSE_EVEN, even);
        if (spaced < left) left = spaced, places = even;
    }
    for (size_t i = 0; i < c->wanted; i++) c->chosen[i] = places[i] * c->step;
    c->left = all > 0 ? fmax(left, 0) / all : 0;
    return PELT_OK;
}

pelt_result pelt_choose_examples(const pelt_bundle *bundle, pelt_examples examples, size_t count,
                                 pelt_frame_choice choice, uint32_t seed, size_t *chosen, double *left,
                                 pelt_error *error) {
    if (PELT_MISSING(bundle, error) || PELT_MISSING(chosen, error)) return PELT_ERROR_ARGUMENT;
    pelt_result result = pelt_check_examples(bundle, examples, false, error);
    if (result) return result;
    if (choice > PELT_CHOOSE_RANDOM) return pelt_fail_option(error, "choice", "there is no choice %d", (int)choice);
    if (!examples.count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: there are no frames to choose from", bundle->path);
    if (!count || count > examples.count)
        return pelt_fail_option(error, "count", "cannot choose %zu of %zu frames; choose 1 to %zu", count,
                                examples.count, examples.count);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    choosing c = {.bundle = bundle,
                  .all = examples,
                  .wanted = count,
                  .how = choice,
                  .seed = seed,
                  .chosen = chosen,
                  .arena = arena};
    result = pelt_stage(arena, choose, &c, error);
    if (!result && left) *left = c.left;
    return result;
}

/* -- A clip of chosen frames ---------------------------------------------------------------------------------------- */

typedef struct gathering {
    const pelt_bundle *bundle;
    pelt_examples frames;
    pelt_arena *arena;
    pelt_clip_input made;
} gathering;

/* A stage. */
static pelt_result gather(void *user, pelt_error *error) {
    (void)error;
    gathering *g = user;
    const pelt_bundle *b = g->bundle;
    size_t joints = b->skeleton.joint_count, row = 3 * (size_t)b->mesh.vertex_count, n = g->frames.count;
    bool truth = true, controlled = false;
    for (size_t i = 0; i < n; i++) {
        truth &= g->frames.list[i].clip->positions != NULL;
        controlled |= g->frames.list[i].clip->controls != NULL;
    }
    pelt_transform *poses = PELT_NEW(g->arena, n * joints, pelt_transform);
    float *positions = truth ? PELT_NEW(g->arena, n * row, float) : NULL;
    float *controls = controlled ? PELT_NEW(g->arena, n * b->controls.count, float) : NULL;
    for (size_t i = 0; i < n; i++) {
        const pelt_example *from = &g->frames.list[i];
        pelt_clip_pose(from->clip, &b->skeleton, from->frame, poses + i * joints);
        if (truth) memcpy(positions + i * row, from->clip->positions + from->frame * row, row * sizeof *positions);
        if (controlled) pelt_clip_controls(from->clip, &b->controls, from->frame, controls + i * b->controls.count);
    }
    g->made.poses = poses, g->made.positions = positions, g->made.controls = controls;
    return PELT_OK;
}

const pelt_clip *pelt_bundle_pick_frames(pelt_bundle *bundle, pelt_examples frames, const char *name,
                                         pelt_error *error) {
    if (PELT_MISSING(bundle, error) || PELT_MISSING(name, error) || pelt_check_examples(bundle, frames, false, error))
        return NULL;
    if (frames.count > PELT_MOST_POSES) {
        pelt_fail_option(error, "frames", "%zu are more than the %d that a clip can have", frames.count,
                         (int)PELT_MOST_POSES);
        return NULL;
    }
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    gathering g = {bundle, frames, arena, {.name = name, .frame_count = (uint32_t)frames.count}};
    if (pelt_stage(arena, gather, &g, error)) return NULL;
    return pelt_still_keys(pelt_bundle_add_clip(bundle, &g.made, error));
}
