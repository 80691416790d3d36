/* followers.c: joints that move with another in all clips, such as twist helpers and the joints of a spine that one
   control bends.

       angles_j = G angles_k,   G = (sum a_j a_k^T) (sum a_k a_k^T + eps)^-1

   j follows k if that explains nearly all of its squares. Only near joints are tried: in a walk, the arm of one side and
   the leg of the other are nearly functions of each other too. */

#include "poses/poses.h"
#include <string.h>

static const double explained = 0.995, explained_helper = 0.95;
enum { NEAR = 3, ENOUGH_FRAMES = 12 };

float *pelt_clip_rotations(pelt_arena *arena, const pelt_bundle *bundle, size_t *frame_count) {
    size_t joints = bundle->skeleton.joint_count, total = 0, frame = 0;
    for (uint32_t c = 0; c < bundle->clip_count; c++) total += bundle->clips[c]->frame_count;
    *frame_count = total;
    if (!total) return NULL;
    float *rotations = PELT_NEW(arena, 4 * joints * total, float);
    pelt_transform *locals = PELT_NEW(arena, joints, pelt_transform);
    for (uint32_t c = 0; c < bundle->clip_count; c++)
        for (uint32_t f = 0; f < bundle->clips[c]->frame_count; f++, frame++) {
            pelt_clip_pose(bundle->clips[c], &bundle->skeleton, f, locals);
            pelt_pose_rotations(&bundle->skeleton, locals, rotations + 4 * joints * frame);
        }
    return rotations;
}

static uint32_t depth_of(const pelt_skeleton *s, uint32_t joint) {
    uint32_t depth = 0;
    for (int32_t j = s->parents[joint]; j >= 0; j = s->parents[j]) depth++;
    return depth;
}

/* Joints from one to the other along the skeleton. */
static uint32_t steps_between(const pelt_skeleton *s, uint32_t a, uint32_t b) {
    uint32_t da = depth_of(s, a), db = depth_of(s, b), steps = 0;
    for (int32_t x = (int32_t)a, y = (int32_t)b; x != y; steps++) {
        bool up = da >= db;
        if (up)
            x = s->parents[x], da--;
        else
            y = s->parents[y], db--;
        if (x < 0 || y < 0) return UINT32_MAX;
    }
    return steps;
}

/* The share of j's squares that a linear map of k's angles explains. */
static double regress(const double *angles, size_t frames, size_t count, size_t j, size_t k, double gain[3][3]) {
    double moments[9] = {0}, mixed[3][3] = {{0}}, cofactors[9], whole = 0, kept = 0;
    for (size_t f = 0; f < frames; f++) {
        const double *a = angles + 3 * (f * count + k), *b = angles + 3 * (f * count + j);
        for (int r = 0; r < 3; r++) {
            whole += b[r] * b[r];
            for (int c = 0; c < 3; c++) moments[3 * r + c] += a[r] * a[c], mixed[r][c] += b[r] * a[c];
        }
    }
    double ridge = 1e-6 * (moments[0] + moments[4] + moments[8]) + 1e-12;
    for (int i = 0; i < 3; i++) moments[4 * i] += ridge;
    double determinant = pelt_cofactors(moments, cofactors);
    if (!(determinant > 0) || !(whole > 0)) return 0;
    for (int r = 0; r < 3; r++) {
        pelt_cramer(cofactors, determinant, mixed[r], gain[r]);
        kept += pelt_dot(gain[r], mixed[r]);
    }
    return kept / whole;
}

static bool may_lead(const body *b, const pelt_joint_range *list, size_t j, size_t k) {
    bool helper = b->parts[list[j].joint] == PART_STILL;
    if (k == j || list[k].leader != UINT32_MAX || list[k].from != PELT_LIMITS_CLIPS) return false;
    if (b->parts[list[k].joint] == PART_STILL || (!helper && k > j)) return false;
    return steps_between(&b->bundle->skeleton, list[j].joint, list[k].joint) <= NEAR;
}

void pelt_find_followers(pelt_arena *arena, const body *b, size_t frame_count, const double *angles, size_t count,
                         pelt_joint_range *list) {
    bool *leads = PELT_NEW(arena, count, bool);
    for (size_t j = 0; j < count && frame_count >= ENOUGH_FRAMES; j++) {
        if (list[j].from != PELT_LIMITS_CLIPS || leads[j]) continue;
        double best = b->parts[list[j].joint] == PART_STILL ? explained_helper : explained, gain[3][3];
        for (size_t k = 0; k < count; k++) {
            if (!may_lead(b, list, j, k)) continue;
            double share = regress(angles, frame_count, count, j, k, gain);
            if (share <= best) continue;
            best = share, list[j].leader = (uint32_t)k;
            memcpy(list[j].gain, gain, sizeof gain);
        }
        if (list[j].leader != UINT32_MAX) leads[list[j].leader] = true;
    }
}
