/* known.c: a known deformation on any character that has weights.

   A joint j rotates by R_j relative to rest, decomposed into a swing and a twist about its bone, which points from its
   head towards the heads of its children. The rest positions are displaced, then blended with the file's weights:

       v' = S_p( twist_j( v + bulge ) )  over the joints j that move v, with weight w_j
       bulge = BULGE w_j b(s) sin^2(swing_j / 2) r        r: from the bone to v; s: where along the bone, 0 to 1
       twist_j: turns about the bone by -w_j (1 - s) twist_j

   so a twist builds up along the limb instead of at its joint, and a bent joint swells the limb below it, following
   b(s) = 16 s^2 (1 - s)^2, by up to BULGE of its thickness. Both depend only on the rest position and the weights, so
   vertices of a seam stay together. */

#include "samples/build.h"
#include "samples/samples.h"
#include "samples/truths.h"
#include <math.h>
#include <string.h>

static const double BULGE = 0.5;
static const double SWING = 35 * DEGREE, TWIST = 45 * DEGREE; /* farthest from rest */
enum { TRAIN_ALONE = 4, TRAIN_TOGETHER = 60, TEST_FRAMES = 60 };

typedef struct bone {
    double head[3], axis[3], length; /* in the rest pose; length 0: no direction, so it deforms nothing */
    double inner[4];                 /* the axis in the space of the joint at rest: x y z 0 */
    bool moves;                      /* moves part of the skin, but not all of it */
} bone;

typedef struct known {
    pelt_bundle *bundle;
    const pelt_sample_options *options;
    pelt_arena *arena;
    bone *bones;      /* [joint] */
    uint32_t *movers; /* [mover_count] joints that move */
    uint32_t mover_count;
    const pelt_transform *poses; /* of the current clip: [frame][joint] */
    float *positions;            /* [frame][vertex][3] */
    sample_mush mush;
} known;

/* -- The rest pose ------------------------------------------------------------------------------------------------- */

/* The influence of a vertex with the lowest joint from `next` on, which advances past it; false if there is none. All
   twins use this order, so that their sums have the same bits. */
static bool next_influence(const pelt_influences *in, uint32_t v, uint32_t *next, uint32_t *entry) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        if (in->joints[i] >= *next && (best == UINT32_MAX || in->joints[i] < in->joints[best])) best = i;
    if (best == UINT32_MAX) return false;
    *entry = best, *next = in->joints[best] + 1;
    return true;
}

static void blend_point(const pelt_influences *in, uint32_t v, const pelt_affine *matrices, const double point[3],
                        double out[3]) {
    double sum[3] = {0};
    for (uint32_t next = 0, i; next_influence(in, v, &next, &i);) {
        double moved[3];
        pelt_affine_point(&matrices[in->joints[i]], point, moved);
        for (int c = 0; c < 3; c++) sum[c] += in->weights[i] * moved[c];
    }
    memcpy(out, sum, sizeof sum);
}

/* A file may be bound in a pose and size other than its rest pose: rebinds the character in its rest pose. */
static pelt_result bind_at_rest(known *k, pelt_error *error) {
    pelt_skeleton *s = &k->bundle->skeleton;
    pelt_mesh *mesh = &k->bundle->mesh;
    pelt_affine *globals = PELT_NEW(k->arena, s->joint_count, pelt_affine), inverse;
    pelt_affine *matrices = PELT_NEW(k->arena, s->joint_count, pelt_affine);
    pelt_joint_matrices(s, s->rest, globals, matrices);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        float *p = mesh->positions + 3 * (size_t)v, *n = mesh->normals + 3 * (size_t)v;
        double at[3] = {p[0], p[1], p[2]}, tips[3][3], ends[3] = {0};
        if (mesh->influences.first[v] == mesh->influences.first[v + 1]) continue;
        blend_point(&mesh->influences, v, matrices, at, at);
        /* The normal transforms by the cofactors of the blended matrix, whose columns are the images of unit steps. */
        for (int i = 0; i < 3; i++) {
            double step[3] = {p[0] + (i == 0), p[1] + (i == 1), p[2] + (i == 2)};
            blend_point(&mesh->influences, v, matrices, step, tips[i]);
            for (int c = 0; c < 3; c++) tips[i][c] -= at[c];
        }
        for (int i = 0; i < 3; i++) {
            double across[3];
            pelt_cross(tips[(i + 1) % 3], tips[(i + 2) % 3], across);
            for (int c = 0; c < 3; c++) ends[c] += n[i] * across[c];
        }
        for (int c = 0; c < 3; c++) p[c] = (float)at[c];
        double length = pelt_length(ends);
        for (int c = 0; c < 3 && length > 0; c++) n[c] = (float)(ends[c] / length);
    }
    for (uint32_t j = 0; j < s->joint_count; j++) {
        if (!pelt_affine_invert(&globals[j], &inverse))
            return pelt_fail(error, PELT_ERROR_DATA, "%s: joint \"%s\" is scaled to zero at rest", k->bundle->path,
                             s->names[j]);
        memcpy(s->inverse_bind[j], inverse.m, sizeof inverse.m);
    }
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, mesh->vertex_count);
    return PELT_OK;
}

/* -- Bones --------------------------------------------------------------------------------------------------------- */

/* From the head of a joint to the mean of its children's; for leaves, continuing from the parent. */
static void find_bone(const pelt_skeleton *s, const pelt_affine *globals, uint32_t j, bone *b) {
    double tail[3] = {0}, square = 0;
    uint32_t below = 0;
    for (int i = 0; i < 3; i++) b->head[i] = globals[j].m[4 * i + 3];
    for (uint32_t k = j + 1; k < s->joint_count; k++) {
        if (s->parents[k] != (int32_t)j) continue;
        for (int i = 0; i < 3; i++) tail[i] += globals[k].m[4 * i + 3];
        below++;
    }
    for (int i = 0; i < 3; i++) {
        double above = s->parents[j] >= 0 ? globals[s->parents[j]].m[4 * i + 3] : b->head[i];
        b->axis[i] = below ? tail[i] / below - b->head[i] : b->head[i] - above;
        square += b->axis[i] * b->axis[i];
    }
    b->length = sqrt(square);
    for (int i = 0; i < 3 && b->length > 0; i++) b->axis[i] /= b->length;
    for (int k = 0; k < 3; k++) /* onto the columns of the joint's rotation, which may be scaled */
        for (int i = 0; i < 3; i++) b->inner[k] += globals[j].m[4 * i + k] * b->axis[i];
    double inner = pelt_length(b->inner);
    for (int i = 0; i < 3 && inner > 0; i++) b->inner[i] /= inner;
    if (!(inner > 0)) b->length = 0;
}

static void find_bones(known *k) {
    const pelt_skeleton *s = &k->bundle->skeleton;
    const pelt_mesh *mesh = &k->bundle->mesh;
    pelt_affine *globals = PELT_NEW(k->arena, s->joint_count, pelt_affine);
    pelt_affine *matrices = PELT_NEW(k->arena, s->joint_count, pelt_affine);
    double *carried = PELT_NEW(k->arena, s->joint_count, double), all = 0;
    k->bones = PELT_NEW(k->arena, s->joint_count, bone);
    k->movers = PELT_NEW(k->arena, s->joint_count, uint32_t);
    pelt_joint_matrices(s, s->rest, globals, matrices);
    for (uint32_t i = 0; i < mesh->influences.first[mesh->vertex_count]; i++)
        carried[mesh->influences.joints[i]] += mesh->influences.weights[i], all += mesh->influences.weights[i];
    for (uint32_t j = s->joint_count; j-- > 0;)
        if (s->parents[j] >= 0) carried[s->parents[j]] += carried[j];
    for (uint32_t j = 0; j < s->joint_count; j++) {
        find_bone(s, globals, j, &k->bones[j]);
        k->bones[j].moves = carried[j] > 1e-3 && carried[j] < all - 1e-3;
        if (k->bones[j].moves) k->movers[k->mover_count++] = j;
    }
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

/* Any two vectors perpendicular to the bone, in joint space. */
static void across_bone(const double axis[4], double out[2][3]) {
    int least = fabs(axis[0]) < fabs(axis[1]) ? 0 : 1;
    if (fabs(axis[2]) < fabs(axis[least])) least = 2;
    double length = 0;
    for (int i = 0; i < 3; i++) out[0][i] = (i == least) - axis[least] * axis[i], length += out[0][i] * out[0][i];
    for (int i = 0; i < 3; i++) out[0][i] /= sqrt(length);
    pelt_cross(axis, out[0], out[1]);
}

/* Rotates a joint from rest: first about its bone, then across it. Angles are fractions of the range, -1 to 1. */
static void turn_joint(const known *k, pelt_transform *pose, uint32_t joint, const double parts[3]) {
    const bone *b = &k->bones[joint];
    double across[2][3], axis[3], swing[4], twist[4], both[4], rest[4], out[4], size = hypot(parts[0], parts[1]);
    across_bone(b->inner, across);
    for (int i = 0; i < 3; i++)
        axis[i] = size > 0 ? (parts[0] * across[0][i] + parts[1] * across[1][i]) / size : across[0][i];
    sample_axis_rotation(axis, SWING * size, swing);
    sample_axis_rotation(b->inner, TWIST * parts[2], twist);
    pelt_quaternion_multiply(swing, twist, both);
    for (int i = 0; i < 4; i++) rest[i] = k->bundle->skeleton.rest[joint].rotation[i];
    pelt_quaternion_multiply(rest, both, out);
    for (int i = 0; i < 4; i++) pose[joint].rotation[i] = (float)out[i];
}

/* Rest; every joint alone, bent and twisted both ways; several at once. */
static void pose_example(const known *k, uint32_t frame, sample_random *random, pelt_transform *pose) {
    static const double alone[TRAIN_ALONE][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-0.5, -0.5, -1}};
    uint32_t sweeps = TRAIN_ALONE * k->mover_count;
    if (frame > 0 && frame <= sweeps)
        turn_joint(k, pose, k->movers[(frame - 1) / TRAIN_ALONE], alone[(frame - 1) % TRAIN_ALONE]);
    for (uint32_t m = 0; frame > sweeps && m < k->mover_count; m++) {
        double parts[3];
        for (int i = 0; i < 3; i++) parts[i] = sample_uniform(random, -0.6, 0.6);
        turn_joint(k, pose, k->movers[m], parts);
    }
}

/* All joints swing back and forth, each at its own pace. */
static void pose_motion(const known *k, uint32_t frame, uint32_t frame_count, pelt_transform *pose) {
    for (uint32_t m = 0; m < k->mover_count; m++) {
        double parts[3];
        for (uint32_t i = 0; i < 3; i++)
            parts[i] = 0.5 * sin(360 * DEGREE * (1 + (m + i) % 3) * (frame + 0.5) / frame_count + 2.4 * m + 1.3 * i);
        turn_joint(k, pose, k->movers[m], parts);
    }
}

/* -- Truth --------------------------------------------------------------------------------------------------------- */

/* The rotation of a joint relative to rest, decomposed into twist and swing angle. */
static void take_apart(const known *k, uint32_t joint, const pelt_transform *pose, double *twist, double *swing) {
    const bone *b = &k->bones[joint];
    double undone[4], turned[4], both[4];
    for (int i = 0; i < 4; i++) {
        undone[i] = k->bundle->skeleton.rest[joint].rotation[i] * (i < 3 ? -1 : 1);
        turned[i] = pose[joint].rotation[i];
    }
    pelt_quaternion_multiply(undone, turned, both);
    double along = pelt_dot(both, b->inner);
    if (both[3] < 0) along = -along;
    *twist = 2 * atan2(along, fabs(both[3]));
    *swing = 2 * acos(fmin(1, hypot(along, both[3])));
}

static void deform(const known *k, uint32_t v, const double *twists, const double *swings, double point[3]) {
    const pelt_influences *in = &k->bundle->mesh.influences;
    const float *rest = k->bundle->mesh.positions + 3 * (size_t)v;
    for (int i = 0; i < 3; i++) point[i] = rest[i];
    for (uint32_t next = 0, entry; next_influence(in, v, &next, &entry);) {
        uint32_t j = in->joints[entry];
        const bone *b = &k->bones[j];
        if (!b->moves || !(b->length > 0)) continue;
        double along = 0, r[3], side[3], w = in->weights[entry];
        for (int i = 0; i < 3; i++) along += (point[i] - b->head[i]) * b->axis[i];
        double s = fmin(1, fmax(0, along / b->length)), bump = 16 * s * s * (1 - s) * (1 - s);
        double grown = 1 + BULGE * w * bump * pow(sin(swings[j] / 2), 2), angle = -w * (1 - s) * twists[j];
        for (int i = 0; i < 3; i++) r[i] = grown * (point[i] - b->head[i] - along * b->axis[i]);
        pelt_cross(b->axis, r, side);
        for (int i = 0; i < 3; i++)
            point[i] = b->head[i] + along * b->axis[i] + cos(angle) * r[i] + sin(angle) * side[i];
    }
}

static bool has_truth(const known *k, const char *name) {
    return k->options->truth && !strcmp(k->options->truth, name);
}

/* The vertex by the dual quaternions of its joints; those on the other side of the first are the same turned round. */
static void blend_dual(const pelt_influences *in, uint32_t v, const double *duals, const double point[3],
                       double out[3]) {
    double sum[8] = {0};
    for (uint32_t next = 0, i; next_influence(in, v, &next, &i);) {
        const double *q = duals + 8 * (size_t)in->joints[i];
        double same = pelt_dot(sum, q) + sum[3] * q[3] < 0 ? -1 : 1;
        for (int c = 0; c < 8; c++) sum[c] += same * in->weights[i] * q[c];
    }
    if (pelt_quaternion_length(sum) > 0) sample_dual_point(sum, point, out);
}

static void true_frame(void *user, size_t frame, pelt_arena *scratch) {
    const known *k = user;
    const pelt_mesh *mesh = &k->bundle->mesh;
    uint32_t joints = k->bundle->skeleton.joint_count;
    const pelt_transform *pose = k->poses + frame * joints;
    double *twists = PELT_NEW(scratch, joints, double), *swings = PELT_NEW(scratch, joints, double);
    double *duals = PELT_NEW(scratch, 8 * (size_t)joints, double);
    bool dual = has_truth(k, "dual"), mush = has_truth(k, "mush");
    pelt_affine *matrices = PELT_NEW(scratch, joints, pelt_affine);
    float *out = k->positions + 3 * frame * mesh->vertex_count;
    pelt_joint_matrices(&k->bundle->skeleton, pose, NULL, matrices);
    for (uint32_t m = 0; m < k->mover_count; m++)
        take_apart(k, k->movers[m], pose, &twists[k->movers[m]], &swings[k->movers[m]]);
    for (uint32_t j = 0; j < joints && dual; j++) sample_dual_quaternion(&matrices[j], duals + 8 * (size_t)j);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const float *rest = mesh->positions + 3 * (size_t)v;
        double point[3] = {rest[0], rest[1], rest[2]};
        if (!dual && !mush) deform(k, v, twists, swings, point);
        if (dual)
            blend_dual(&mesh->influences, v, duals, point, point);
        else
            blend_point(&mesh->influences, v, matrices, point, point);
        for (size_t c = 0; c < 3; c++) out[3 * (size_t)v + c] = (float)point[c];
    }
    if (mush) sample_mush_frame(&k->mush, scratch, out);
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

static pelt_result add_clip(known *k, bool training, uint32_t frames, pelt_error *error) {
    const pelt_skeleton *s = &k->bundle->skeleton;
    pelt_transform *poses = PELT_NEW(k->arena, (size_t)frames * s->joint_count, pelt_transform);
    sample_random random = {k->options->seed};
    for (uint32_t f = 0; f < frames; f++) {
        pelt_transform *pose = poses + (size_t)f * s->joint_count;
        memcpy(pose, s->rest, s->joint_count * sizeof *pose);
        if (training)
            pose_example(k, f, &random, pose);
        else
            pose_motion(k, f, frames, pose);
    }
    k->poses = poses;
    k->positions = PELT_NEW(k->arena, 3 * (size_t)frames * k->bundle->mesh.vertex_count, float);
    pelt_parallel(k->arena, 0, frames, true_frame, k);
    pelt_clip_input input = {
        .name = training ? "train" : "test", .frame_count = frames, .poses = poses, .positions = k->positions};
    return pelt_bundle_add_clip(k->bundle, &input, error) ? PELT_OK : error->code;
}

static pelt_result make_clips(void *user, pelt_error *error) {
    known *k = user;
    pelt_result result = bind_at_rest(k, error);
    if (result) return result;
    find_bones(k);
    if (!k->mover_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: no joint moves part of its skin; a known deformation needs a character with weights",
                         k->bundle->path);
    if (has_truth(k, "mush")) sample_mush_prepare(k->arena, &k->bundle->mesh, &k->mush);
    uint32_t alone = 1 + TRAIN_ALONE * k->mover_count, asked = k->options->frames;
    k->bundle->clip_count = 0;
    result = add_clip(k, true, alone + (asked ? asked : TRAIN_TOGETHER), error);
    return result ? result : add_clip(k, false, asked ? asked : TEST_FRAMES, error);
}

pelt_result pelt_sample_known(pelt_bundle *bundle, const pelt_sample_options *options, pelt_error *error) {
    pelt_error own;
    if (options->frames > SAMPLE_MOST_FRAMES)
        return pelt_fail_option(error, "frames", " must be at most %d, not %u", SAMPLE_MOST_FRAMES, options->frames);
    if (options->truth && strcmp(options->truth, "swell") && strcmp(options->truth, "dual") &&
        strcmp(options->truth, "mush"))
        return pelt_fail_option(error, "truth", "%s: there is no such truth; choose swell, dual or mush",
                                options->truth);
    known k = {.bundle = bundle, .options = options, .arena = pelt_arena_new(0)};
    pelt_result result = pelt_stage(k.arena, make_clips, &k, &own);
    if (result) pelt_fail(error, result, "%s", own.text);
    pelt_arena_free(k.arena);
    return result;
}
