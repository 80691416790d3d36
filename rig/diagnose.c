/* diagnose.c: what is wrong with a set of examples, said before anything is fitted to it.

   Nearly all bad results come from input that does not fit together: a cache in centimetres on a rig in metres, z-up on
   y-up, vertices in another order. The true positions are compared with the linear blend of the same frame; where the
   two are far apart, the simplest change of the cache that brings them together is named. */

#include "rig/rig.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct diagnosis {
    pelt_bundle *bundle;
    pelt_arena *scratch;
    pelt_findings findings;
} diagnosis;

#define FIND(d, severity, what, ...) pelt_find(&(d)->findings, (d)->bundle->arena, severity, what, __VA_ARGS__)

static const float *frame_positions(const diagnosis *d, const pelt_clip *clip, uint32_t frame) {
    return clip->positions + 3 * (size_t)frame * d->bundle->mesh.vertex_count;
}

/* Linear blend of a frame; NULL locals means the rest pose of the skeleton. */
static double *blend_frame(diagnosis *d, const pelt_clip *clip, uint32_t frame) {
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    pelt_transform *locals = PELT_NEW(d->scratch, pelt_transform, skeleton->joint_count);
    pelt_affine *matrices = PELT_NEW(d->scratch, pelt_affine, skeleton->joint_count);
    double *blended = PELT_NEW(d->scratch, double, 3 * (size_t)d->bundle->mesh.vertex_count);
    if (!locals || !matrices || !blended) return NULL;
    if (clip)
        pelt_clip_pose(clip, skeleton, frame, locals);
    else
        memcpy(locals, skeleton->rest, skeleton->joint_count * sizeof *locals);
    pelt_joint_matrices(skeleton, locals, NULL, matrices);
    pelt_blend_mesh(&d->bundle->mesh, matrices, blended);
    return blended;
}

/* -- Numbers ------------------------------------------------------------------------------------------------------ */

static bool check_numbers(diagnosis *d, const pelt_clip *clip) {
    const pelt_mesh *mesh = &d->bundle->mesh;
    size_t count = 3 * (size_t)mesh->vertex_count;
    double huge = 1e4 * fmax(mesh->diagonal, 1e-30);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        const float *p = frame_positions(d, clip, f);
        for (size_t i = 0; i < count; i++) {
            if (isfinite(p[i]) && fabs(p[i]) <= huge) continue;
            if (isfinite(p[i]))
                FIND(d, PELT_FATAL, "huge-value",
                     "%s: frame %u, vertex %zu is at %g, more than 10000 times the size of the character: the cache is "
                     "damaged, or in other units; export it again",
                     clip->source, f, i / 3, p[i]);
            else
                FIND(d, PELT_FATAL, "not-finite",
                     "%s: frame %u, vertex %zu is not a finite number: the simulation failed there; leave out that "
                     "frame",
                     clip->source, f, i / 3);
            return false;
        }
    }
    return true;
}

/* -- Scale, axes, order ------------------------------------------------------------------------------------------- */

typedef struct cloud {
    double center[3], spread; /* root mean square distance from the centre */
} cloud;

static cloud cloud_of(const double *p, size_t count) {
    cloud c = {{0}, 0};
    for (size_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++) c.center[i] += p[3 * v + (size_t)i] / (double)count;
    for (size_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++) {
            double x = p[3 * v + (size_t)i] - c.center[i];
            c.spread += x * x / (double)count;
        }
    c.spread = sqrt(c.spread);
    return c;
}

/* Root mean square distance of two centred sets of points, the second one with axes swapped and scaled. */
static double misfit(const double *a, const cloud *ca, const double *b, const cloud *cb, size_t count,
                     const int axis[3], const int sign[3], double scale) {
    double sum = 0;
    for (size_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++) {
            double moved = sign[i] * scale * (b[3 * v + (size_t)axis[i]] - cb->center[axis[i]]);
            double x = a[3 * v + (size_t)i] - ca->center[i] - moved;
            sum += x * x;
        }
    return sqrt(sum / (double)count);
}

/* The best of the 24 turns that carry axes to axes. */
static double best_axes(const double *a, const cloud *ca, const double *b, const cloud *cb, size_t count, double scale,
                        int axis[3], int sign[3]) {
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    double best = INFINITY;
    for (int o = 0; o < 6; o++)
        for (int s = 0; s < 8; s++) {
            int trial[3] = {s & 1 ? -1 : 1, s & 2 ? -1 : 1, s & 4 ? -1 : 1};
            if (trial[0] * trial[1] * trial[2] != (o < 3 ? 1 : -1)) continue; /* turns, no mirrors */
            double e = misfit(a, ca, b, cb, count, orders[o], trial, scale);
            if (e >= best) continue;
            best = e;
            memcpy(axis, orders[o], 3 * sizeof *axis);
            memcpy(sign, trial, sizeof trial);
        }
    return best;
}

static const char *unit_hint(double ratio) {
    static const struct {
        double ratio;
        const char *text;
    } units[] = {{100, " (centimetres against metres)"},      {0.01, " (metres against centimetres)"},
                 {1000, " (millimetres against metres)"},     {0.001, " (metres against millimetres)"},
                 {39.3701, " (inches against metres)"},       {2.54, " (centimetres against inches)"},
                 {0.393701, " (inches against centimetres)"}, {3.28084, " (feet against metres)"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (fabs(ratio / units[i].ratio - 1) < 0.02) return units[i].text;
    return "";
}

/* Typical distance from a point of `a` to the nearest of `b`: small when both are the same points in any order. */
static double nearest_distance(const double *a, const double *b, size_t count) {
    size_t step = count / 200 + 1, looked = 0;
    double sum = 0;
    for (size_t v = 0; v < count; v += step, looked++) {
        double best = INFINITY;
        for (size_t u = 0; u < count; u++) {
            double x = a[3 * v] - b[3 * u], y = a[3 * v + 1] - b[3 * u + 1], z = a[3 * v + 2] - b[3 * u + 2];
            best = fmin(best, x * x + y * y + z * z);
        }
        sum += best;
    }
    return sqrt(sum / (double)looked);
}

static void describe_axes(char *text, size_t size, const int axis[3], const int sign[3]) {
    const char letters[] = "xyz";
    size_t at = 0;
    for (int i = 0; i < 3 && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s%c", i ? ", " : "", sign[i] < 0 ? "-" : "", letters[axis[i]]);
}

/* Compares one frame of a cache with the linear blend of the same frame, and names what sets them apart. */
static void check_placement(diagnosis *d, const pelt_clip *clip) {
    size_t n = d->bundle->mesh.vertex_count;
    double diagonal = d->bundle->mesh.diagonal;
    double *blended = blend_frame(d, clip, 0), *truth = PELT_NEW(d->scratch, double, 3 * n);
    if (!blended || !truth || !(diagonal > 0)) return;
    for (size_t i = 0; i < 3 * n; i++) truth[i] = frame_positions(d, clip, 0)[i];
    cloud a = cloud_of(blended, n), b = cloud_of(truth, n);
    if (!(a.spread > 0) || !(b.spread > 0)) {
        FIND(d, PELT_FATAL, "collapsed", "%s: all points of frame 0 are in one place; export the cache again",
             clip->source);
        return;
    }
    static const int same_axis[3] = {0, 1, 2}, same_sign[3] = {1, 1, 1};
    double ratio = b.spread / a.spread, limit = 0.1 * a.spread;
    bool scaled = fabs(log(ratio)) > log(1.25);
    double scale = scaled ? 1 / ratio : 1;
    double direct = misfit(blended, &a, truth, &b, n, same_axis, same_sign, scale);
    int axis[3], sign[3];
    double turned = best_axes(blended, &a, truth, &b, n, scale, axis, sign);
    bool other_axes = direct > limit && turned < 0.5 * direct && turned < 0.5 * a.spread;
    if (scaled)
        FIND(d, PELT_FATAL, "scale",
             "%s: the points are %.4g times as large as the character in %s%s; scale the cache by %.4g", clip->source,
             ratio, d->bundle->path, unit_hint(ratio), 1 / ratio);
    if (other_axes) {
        char text[32];
        describe_axes(text, sizeof text, axis, sign);
        FIND(d, PELT_FATAL, "axes",
             "%s: other axes than %s%s; export with the rig's axes, or write (%s) of the cache as (x, y, z)",
             clip->source, d->bundle->path,
             axis[1] == 2 && axis[2] == 1 ? " (the cache is z-up, the rig y-up, or the other way round)" : "", text);
    }
    double offset = 0;
    for (int i = 0; i < 3; i++) offset += (a.center[i] - b.center[i]) * (a.center[i] - b.center[i]);
    if (!scaled && !other_axes && direct <= limit && sqrt(offset) > 0.05 * diagonal)
        FIND(
            d, PELT_WARNING, "offset",
            "%s: frame 0 stands %.4g away from the skeleton in %s; if that is not meant, the cache is in another space "
            "(the mesh object's own?)",
            clip->source, sqrt(offset), d->bundle->path);
    if (!scaled && !other_axes && direct > limit) {
        if (nearest_distance(blended, truth, n) < 0.25 * direct)
            FIND(d, PELT_FATAL, "vertex-order",
                 "%s: the points lie on the character in %s, but in another order; export cache and mesh from the same "
                 "object, with its vertex order kept",
                 clip->source, d->bundle->path);
        else
            FIND(d, PELT_WARNING, "far-from-blend",
                 "%s: frame 0 is %.2g of the character's size away from its linear blend; check that frame i of the "
                 "cache is key i of the clip \"%s\"",
                 clip->source, direct / diagonal, clip->name);
    }
}

/* -- The rest pose ------------------------------------------------------------------------------------------------ */

static void check_rest(diagnosis *d) {
    const pelt_mesh *mesh = &d->bundle->mesh;
    double *blended = blend_frame(d, NULL, 0), worst = 0;
    uint32_t where = 0;
    for (uint32_t v = 0; blended && v < mesh->vertex_count; v++) {
        double sum = 0;
        for (size_t i = 0; i < 3; i++) {
            double x = blended[3 * (size_t)v + i] - mesh->positions[3 * (size_t)v + i];
            sum += x * x;
        }
        if (sum > worst) worst = sum, where = v;
    }
    if (sqrt(worst) > 1e-3 * mesh->diagonal)
        FIND(d, PELT_WARNING, "rest-pose",
             "%s: the skeleton at rest does not give the mesh: vertex %u is off by %.3g (%.2g%% of the size); the mesh "
             "was bound in another pose, which is then the rest pose of the skin",
             d->bundle->path, where, sqrt(worst), 100 * sqrt(worst) / mesh->diagonal);
}

/* -- Poses -------------------------------------------------------------------------------------------------------- */

typedef struct pose_key {
    double key; /* a fixed mix of all numbers of the pose: equal poses have equal keys */
    const pelt_clip *clip;
    uint32_t frame;
} pose_key;

static int compare_keys(const void *a, const void *b) {
    const pose_key *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key ? 1 : -1) : (x->frame > y->frame) - (x->frame < y->frame);
}

/* Local matrices of a pose; matrices do not know that q and -q are one rotation, so they compare well. */
static void local_matrices(const diagnosis *d, const pelt_clip *clip, uint32_t frame, pelt_transform *locals,
                           pelt_affine *out) {
    pelt_clip_pose(clip, &d->bundle->skeleton, frame, locals);
    for (uint32_t j = 0; j < d->bundle->skeleton.joint_count; j++) out[j] = pelt_affine_of(&locals[j]);
}

static double pose_distance(const diagnosis *d, const pelt_affine *a, const pelt_affine *b) {
    double worst = 0, size = fmax(d->bundle->mesh.diagonal, 1e-30);
    for (uint32_t j = 0; j < d->bundle->skeleton.joint_count; j++)
        for (int i = 0; i < 12; i++) worst = fmax(worst, fabs(a[j].m[i] - b[j].m[i]) / (i % 4 == 3 ? size : 1));
    return worst;
}

static double shape_distance(const diagnosis *d, const pose_key *a, const pose_key *b) {
    if (!a->clip->positions || !b->clip->positions) return 0;
    const float *p = frame_positions(d, a->clip, a->frame), *q = frame_positions(d, b->clip, b->frame);
    double worst = 0;
    for (size_t i = 0; i < 3 * (size_t)d->bundle->mesh.vertex_count; i++)
        worst = fmax(worst, fabs((double)p[i] - q[i]));
    return worst;
}

/* Pairs of frames in the same pose. Sorted by key, equal poses are neighbours. */
static void check_duplicates(diagnosis *d, const pelt_clip *const *clips, size_t clip_count) {
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    size_t total = 0, filled = 0, alike = 0;
    for (size_t c = 0; c < clip_count; c++) total += clips[c]->frame_count;
    pose_key *keys = PELT_NEW(d->scratch, pose_key, total);
    pelt_transform *locals = PELT_NEW(d->scratch, pelt_transform, skeleton->joint_count);
    pelt_affine *a = PELT_NEW(d->scratch, pelt_affine, skeleton->joint_count);
    pelt_affine *b = PELT_NEW(d->scratch, pelt_affine, skeleton->joint_count);
    if (!keys || !locals || !a || !b) return;
    double size = fmax(d->bundle->mesh.diagonal, 1e-30);
    for (size_t c = 0; c < clip_count; c++)
        for (uint32_t f = 0; f < clips[c]->frame_count; f++) {
            local_matrices(d, clips[c], f, locals, a);
            double key = 0;
            for (uint32_t j = 0; j < skeleton->joint_count; j++)
                for (int i = 0; i < 12; i++) key += sin(12.9898 * j + 4.1414 * i) * a[j].m[i] / (i % 4 == 3 ? size : 1);
            keys[filled++] = (pose_key){key, clips[c], f};
        }
    qsort(keys, total, sizeof *keys, compare_keys);
    double worst = 0;
    pose_key first[2] = {{0}}, differ[2] = {{0}};
    for (size_t i = 0; i + 1 < total; i++) {
        if (keys[i + 1].key - keys[i].key > 1e-4) continue;
        local_matrices(d, keys[i].clip, keys[i].frame, locals, a);
        local_matrices(d, keys[i + 1].clip, keys[i + 1].frame, locals, b);
        if (pose_distance(d, a, b) > 1e-5) continue;
        if (!alike++) memcpy(first, keys + i, sizeof first);
        double distance = shape_distance(d, &keys[i], &keys[i + 1]);
        if (distance > worst) worst = distance, memcpy(differ, keys + i, sizeof differ);
    }
    if (worst > 1e-3 * size)
        FIND(
            d, PELT_WARNING, "duplicate-pose-different-shape",
            "%s: frames %u of \"%s\" and %u of \"%s\" have the same pose but shapes that differ by %.3g (%.2g%% of the "
            "size): the shape depends on something that the skeleton does not show; a skin can only give their mean",
            d->bundle->path, differ[0].frame, differ[0].clip->name, differ[1].frame, differ[1].clip->name, worst,
            100 * worst / size);
    if (alike)
        FIND(d, PELT_NOTE, "duplicate-pose",
             "%s: %zu of %zu poses occur twice, first frames %u of \"%s\" and %u of \"%s\"", d->bundle->path, alike,
             total, first[0].frame, first[0].clip->name, first[1].frame, first[1].clip->name);
}

/* Joints that carry skin but keep their local transform in all frames teach nothing about themselves. */
static void check_still_joints(diagnosis *d, const pelt_clip *const *clips, size_t clip_count) {
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    const pelt_influences *in = &d->bundle->mesh.influences;
    bool *moves = PELT_NEW(d->scratch, bool, skeleton->joint_count);
    bool *carries = PELT_NEW(d->scratch, bool, skeleton->joint_count);
    pelt_transform *locals = PELT_NEW(d->scratch, pelt_transform, skeleton->joint_count);
    pelt_affine *a = PELT_NEW(d->scratch, pelt_affine, skeleton->joint_count);
    pelt_affine *b = PELT_NEW(d->scratch, pelt_affine, skeleton->joint_count);
    if (!moves || !carries || !locals || !a || !b) return;
    for (uint32_t i = 0; i < in->first[d->bundle->mesh.vertex_count]; i++) carries[in->joints[i]] = true;
    local_matrices(d, clips[0], 0, locals, a);
    for (size_t c = 0; c < clip_count; c++)
        for (uint32_t f = 0; f < clips[c]->frame_count; f++) {
            local_matrices(d, clips[c], f, locals, b);
            for (uint32_t j = 0; j < skeleton->joint_count; j++)
                for (int i = 0; i < 12 && !moves[j]; i++) moves[j] = fabs(a[j].m[i] - b[j].m[i]) > 1e-6;
        }
    char names[300] = "";
    size_t at = 0, still = 0, total = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        total += carries[j];
        if (!carries[j] || moves[j]) continue;
        if (still++ < 6 && at < sizeof names - 1)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", still > 1 ? ", " : "", skeleton->names[j]);
    }
    if (still)
        FIND(d, PELT_NOTE, "still-joints",
             "%s: %zu of the %zu joints that carry skin never move in these clips: %.280s%s", d->bundle->path, still,
             total, names, still > 6 ? ", ..." : "");
}

/* -- All of it ---------------------------------------------------------------------------------------------------- */

static int compare_severity(const void *a, const void *b) {
    const pelt_finding *x = a, *y = b;
    return x->severity != y->severity ? (int)y->severity - (int)x->severity : 0;
}

pelt_findings pelt_diagnose(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count) {
    diagnosis d = {bundle, pelt_arena_new(0), {0}};
    if (!d.scratch) return d.findings;
    for (size_t i = 0; i < bundle->notes.count; i++)
        FIND(&d, bundle->notes.list[i].severity, bundle->notes.list[i].what, "%s", bundle->notes.list[i].text);
    check_rest(&d);
    for (size_t c = 0; c < clip_count; c++)
        if (clips[c]->positions && clips[c]->frame_count && check_numbers(&d, clips[c])) check_placement(&d, clips[c]);
    if (clip_count && clips[0]->frame_count) {
        check_duplicates(&d, clips, clip_count);
        check_still_joints(&d, clips, clip_count);
    }
    pelt_arena_free(d.scratch);
    /* Worst first; insertion keeps findings of one severity in the order in which they were made. */
    pelt_finding *list = (pelt_finding *)d.findings.list;
    for (size_t i = 1; i < d.findings.count; i++)
        for (size_t k = i; k > 0 && compare_severity(&list[k - 1], &list[k]) > 0; k--) {
            pelt_finding swap = list[k];
            list[k] = list[k - 1], list[k - 1] = swap;
        }
    return d.findings;
}
