/* collide.c: a cheap test of limbs that run through each other.

   The skin that follows a joint most is a capsule around its bone: as long as the skin reaches along it, and as thick as
   its median distance from it. Two capsules that are not near in the skeleton should not get deeper into each other
   than half the thinner one's radius, or than they are at rest. */

#include "poses/poses.h"
#include "rig/sort.h"
#include <string.h>

static const double allowed = 0.5; /* of the thinner radius */
enum { NEAR = 2, LEAST_VERTICES = 4 };

typedef struct capsule {
    uint32_t joint;
    double from[3], to[3]; /* of its axis, in the rest pose of the scene */
    double radius;
} capsule;

struct limbs {
    const body *body;
    size_t count;
    capsule *list;
    pelt_affine *back; /* [joint] from the scene at rest to the joint */
    double *at_rest;   /* [count][count] how deep at rest; negative: never compared */
};

/* The joint that a vertex follows most; helpers are part of the limb that they hang on. */
static uint32_t owner_of(const body *b, uint32_t vertex) {
    const pelt_influences *in = &b->bundle->mesh.influences;
    int32_t best = -1;
    float most = 0;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        if (in->weights[i] > most) most = in->weights[i], best = (int32_t)in->joints[i];
    while (best >= 0 && b->parts[best] == PART_STILL && b->bundle->skeleton.parents[best] >= 0)
        best = b->bundle->skeleton.parents[best];
    return (uint32_t)best;
}

/* False: too little skin. */
static bool wrap(pelt_arena *arena, const body *b, uint32_t joint, const double *at, const uint32_t *owner,
                 capsule *out) {
    uint32_t n = b->bundle->mesh.vertex_count, count = 0;
    double head[3], *along = PELT_NEW(arena, n, double), *away = PELT_NEW(arena, n, double);
    pelt_head_of(b, joint, head);
    for (uint32_t v = 0; v < n; v++) {
        if (owner[v] != joint) continue;
        double offset[3], across[3];
        for (size_t i = 0; i < 3; i++) offset[i] = at[3 * (size_t)v + i] - head[i];
        along[count] = pelt_dot(offset, b->bones[joint]);
        for (int i = 0; i < 3; i++) across[i] = offset[i] - along[count] * b->bones[joint][i];
        away[count++] = pelt_length(across);
    }
    if (count < LEAST_VERTICES) return false;
    double low = pelt_quantile(along, count, 0.1), high = pelt_quantile(along, count, 0.9);
    *out = (capsule){.joint = joint, .radius = pelt_quantile(away, count, 0.5)};
    double inset = fmin(out->radius, (high - low) / 2);
    for (int i = 0; i < 3; i++) {
        out->from[i] = head[i] + (low + inset) * b->bones[joint][i];
        out->to[i] = head[i] + (high - inset) * b->bones[joint][i];
    }
    return out->radius > 0;
}

/* The least distance of two segments: where their lines are nearest, clamped to one, then to the other and back. */
static double segment_distance(const double a0[3], const double a1[3], const double b0[3], const double b1[3]) {
    double u[3], v[3], w[3], p[3], q[3];
    for (int i = 0; i < 3; i++) u[i] = a1[i] - a0[i], v[i] = b1[i] - b0[i], w[i] = a0[i] - b0[i];
    double uu = pelt_dot(u, u), uv = pelt_dot(u, v), vv = pelt_dot(v, v), uw = pelt_dot(u, w), vw = pelt_dot(v, w);
    double det = uu * vv - uv * uv, s = det > 1e-12 * uu * vv ? (uv * vw - vv * uw) / det : 0, t;
    s = fmax(0, fmin(1, s));
    t = vv > 0 ? fmax(0, fmin(1, (uv * s + vw) / vv)) : 0;
    s = uu > 0 ? fmax(0, fmin(1, (uv * t - uw) / uu)) : 0;
    for (int i = 0; i < 3; i++) p[i] = a0[i] + s * u[i], q[i] = b0[i] + t * v[i];
    return pelt_distance(p, q);
}

static bool near_joints(const pelt_skeleton *s, uint32_t a, uint32_t b) {
    uint32_t above[2][NEAR + 1];
    for (int k = 0; k < 2; k++) {
        int32_t j = (int32_t)(k ? b : a);
        for (int i = 0; i <= NEAR; i++) above[k][i] = (uint32_t)j, j = j < 0 ? j : s->parents[j];
    }
    for (int i = 0; i <= NEAR; i++)
        for (int k = 0; i + k <= NEAR; k++)
            if (above[0][i] == above[1][k] && above[0][i] != UINT32_MAX) return true;
    return false;
}

static double depth(const capsule *a, const capsule *b) {
    return a->radius + b->radius - segment_distance(a->from, a->to, b->from, b->to);
}

const limbs *pelt_limbs_of(pelt_arena *arena, const body *b) {
    const pelt_skeleton *s = &b->bundle->skeleton;
    uint32_t n = b->bundle->mesh.vertex_count;
    limbs *l = PELT_NEW(arena, 1, limbs);
    uint32_t *owner = PELT_NEW(arena, n, uint32_t);
    const double *at = pelt_blend_frame(arena, b->bundle, NULL, 0);
    *l = (limbs){.body = b,
                 .list = PELT_NEW(arena, s->joint_count, capsule),
                 .back = PELT_NEW(arena, s->joint_count, pelt_affine)};
    for (uint32_t v = 0; v < n; v++) owner[v] = owner_of(b, v);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_inside(arena);
        pelt_affine_invert(&b->globals[j], &l->back[j]);
        if (wrap(brief, b, j, at, owner, &l->list[l->count])) l->count++;
    }
    l->at_rest = PELT_NEW(arena, l->count * l->count, double);
    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < i; k++)
            l->at_rest[i * l->count + k] =
                near_joints(s, l->list[i].joint, l->list[k].joint) ? -1 : fmax(0, depth(&l->list[i], &l->list[k]));
    return l;
}

double pelt_limbs_overlap(const limbs *l, pelt_arena *scratch, const pelt_transform *pose) {
    const pelt_skeleton *s = &l->body->bundle->skeleton;
    pelt_affine *globals = PELT_NEW(scratch, s->joint_count, pelt_affine);
    pelt_affine *matrices = PELT_NEW(scratch, s->joint_count, pelt_affine);
    capsule *moved = PELT_NEW(scratch, l->count, capsule);
    double sum = 0;
    pelt_joint_matrices(s, pose, globals, matrices);
    for (size_t i = 0; i < l->count; i++) {
        uint32_t j = l->list[i].joint;
        pelt_affine move = pelt_affine_multiply(&globals[j], &l->back[j]);
        moved[i] = l->list[i];
        pelt_affine_point(&move, l->list[i].from, moved[i].from);
        pelt_affine_point(&move, l->list[i].to, moved[i].to);
    }
    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < i; k++) {
            double rest = l->at_rest[i * l->count + k];
            if (rest < 0) continue;
            double least = fmin(moved[i].radius, moved[k].radius);
            sum += fmax(0, depth(&moved[i], &moved[k]) - fmax(rest, allowed * least));
        }
    return sum;
}
