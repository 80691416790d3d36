/* motion.c: joint j is at  G_j(t) = G_parent(t) B_j M_j^t,  with B_j its place at the start, which is where it is bound or a pose, M_j = B_j^-1 L_j its turn to the
   local transform L_j of the pose, and M^t that motion on a screw. */

#include "flesh/motion.h"
#include "flesh/screw.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

static const double most_stretch = 1e-3;

/* How far the columns are from unit length and right angles; infinite if the map mirrors, or is not finite. */
static double stretch_of(const pelt_affine *a) {
    const double *m = a->m;
    double worst = pelt_affine_determinant(m) > 0 ? 0 : INFINITY;
    for (int i = 0; i < 3; i++) {
        worst = isfinite(m[4 * i + 3]) ? worst : INFINITY;
        for (int j = 0; j <= i; j++)
            worst = fmax(worst, fabs(m[i] * m[j] + m[4 + i] * m[4 + j] + m[8 + i] * m[8 + j] - (i == j)));
    }
    return worst;
}

static void make_rigid(pelt_affine *a) {
    pelt_transform parts;
    double shift[3] = {a->m[3], a->m[7], a->m[11]};
    pelt_affine_split(a, &parts);
    for (int k = 0; k < 3; k++) parts.scale[k] = 1;
    *a = pelt_affine_of(&parts);
    for (int k = 0; k < 3; k++) a->m[4 * k + 3] = shift[k]; /* in double */
}

/* Joint matrices without their scale; the scale. */
static double without_scale(pelt_affine *m) {
    double scale = cbrt(pelt_affine_determinant(m->m));
    for (int k = 0; k < 12 && scale > 0; k++) m->m[k] /= scale;
    return scale;
}

static pelt_affine bone_matrix(const pelt_flesh_motion *m, uint32_t bone, const pelt_affine *joints) {
    uint32_t joint = m->bones->list[bone].joint;
    pelt_affine bind;
    memcpy(bind.m, m->skeleton->inverse_bind[joint], sizeof bind.m);
    return pelt_affine_multiply(&joints[joint], &bind);
}

/* The bones of joints, from the anchor; its own matrix and scale. */
static pelt_affine seen_from_anchor(const pelt_flesh_motion *m, const pelt_affine *joints, pelt_affine *bones,
                                    double *scale) {
    pelt_affine anchor = bone_matrix(m, m->anchor, joints), back;
    *scale = without_scale(&anchor);
    pelt_affine_invert(&anchor, &back);
    for (uint32_t b = 0; b < m->bones->count; b++) {
        pelt_affine bone = bone_matrix(m, b, joints);
        for (int k = 0; k < 12; k++) bone.m[k] /= *scale;
        bones[b] = pelt_affine_multiply(&back, &bone);
    }
    bones[m->anchor] = pelt_identity;
    return anchor;
}

static void follow_parents(const pelt_flesh_motion *m, pelt_affine *joints) {
    for (uint32_t j = 0; j < m->skeleton->joint_count; j++)
        if (m->skeleton->parents[j] >= 0)
            joints[j] = pelt_affine_multiply(&joints[m->skeleton->parents[j]], &joints[j]);
}

/* Where joints are at the start, relative to their parents, and how they turn to the pose. */
static void find_turns(pelt_flesh_motion *m, const pelt_transform *start, const pelt_transform *pose) {
    const pelt_skeleton *s = m->skeleton;
    for (uint32_t j = 0; j < s->joint_count; j++) {
        pelt_affine bind, back, local = pelt_affine_of(&pose[j]);
        memcpy(bind.m, s->inverse_bind[j], sizeof bind.m);
        pelt_affine_invert(&bind, &m->from[j]);
        if (s->parents[j] >= 0) {
            memcpy(bind.m, s->inverse_bind[s->parents[j]], sizeof bind.m);
            m->from[j] = pelt_affine_multiply(&bind, &m->from[j]);
        }
        if (start) m->from[j] = pelt_affine_of(&start[j]);
        pelt_affine_invert(&m->from[j], &back);
        m->turns[j] = pelt_affine_multiply(&back, &local);
        m->joints[j] = local;
    }
    follow_parents(m, m->joints);
}

static uint32_t find_anchor(const pelt_flesh_motion *m) {
    uint32_t best = 0, least = UINT32_MAX;
    for (uint32_t b = 0; b < m->bones->count; b++) {
        uint32_t depth = 0;
        for (int32_t j = (int32_t)m->bones->list[b].joint; m->skeleton->parents[j] >= 0; j = m->skeleton->parents[j])
            depth++;
        if (depth < least) least = depth, best = b;
    }
    return best;
}

/* Whether a motion moves a bone by rounding alone. */
static bool is_still(const pelt_flesh_bone *bone, const pelt_affine *motion) {
    const double hardly = 1e-6;
    double length = pelt_distance(bone->ends[0], bone->ends[1]) + bone->radius, moved[3];
    for (int e = 0; e < 2; e++) {
        pelt_affine_point(motion, bone->ends[e], moved);
        if (pelt_distance(moved, bone->ends[e]) > hardly * length) return false;
    }
    return pelt_rigid_angle(motion) < hardly;
}

pelt_result pelt_flesh_motion_to(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_flesh_bones *bones,
                                 const pelt_transform *start, const pelt_transform *pose, pelt_flesh_motion *m,
                                 pelt_error *error) {
    double scale;
    *m = (pelt_flesh_motion){.skeleton = skeleton, .bones = bones};
    m->from = PELT_NEW(arena, skeleton->joint_count, pelt_affine);
    m->turns = PELT_NEW(arena, skeleton->joint_count, pelt_affine);
    m->joints = PELT_NEW(arena, skeleton->joint_count, pelt_affine);
    m->target = PELT_NEW(arena, bones->count, pelt_affine);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    m->anchor = find_anchor(m);
    find_turns(m, start, pose);
    m->whole = seen_from_anchor(m, m->joints, m->target, &scale);
    for (int k = 0; k < 12; k++) m->whole.m[k] *= scale;
    m->still = true;
    for (uint32_t b = 0; b < bones->count; b++) {
        if (!(scale > 0) || !(stretch_of(&m->target[b]) < most_stretch))
            return pelt_fail(error, PELT_ERROR_DATA,
                             "joint \"%s\" stretches or is not finite, but bones keep their size",
                             skeleton->names[bones->list[b].joint]);
        make_rigid(&m->target[b]);
        m->still = m->still && is_still(&bones->list[b], &m->target[b]);
    }
    return PELT_OK;
}

double pelt_flesh_motion_turn(const pelt_flesh_bones *bones, const pelt_affine *from, const pelt_affine *to) {
    double largest = 0;
    for (uint32_t b = 0; b < bones->count; b++) {
        pelt_affine back = pelt_identity, motion;
        if (from) pelt_affine_invert(&from[b], &back);
        motion = pelt_affine_multiply(&to[b], &back);
        largest = fmax(largest, pelt_rigid_angle(&motion));
    }
    return largest;
}

void pelt_flesh_motion_at(void *motion, double part, pelt_affine *bones) {
    pelt_flesh_motion *m = motion;
    double scale;
    for (uint32_t j = 0; j < m->skeleton->joint_count; j++) {
        pelt_affine turn = m->turns[j];
        double grown = pow(fmax(without_scale(&turn), 1e-30), part);
        turn = pelt_screw(&turn, part);
        for (int k = 0; k < 12; k++) turn.m[k] *= grown;
        m->joints[j] = pelt_affine_multiply(&m->from[j], &turn);
    }
    follow_parents(m, m->joints);
    seen_from_anchor(m, m->joints, bones, &scale);
    for (uint32_t b = 0; b < m->bones->count; b++) make_rigid(&bones[b]); /* scales may differ on the way */
}
