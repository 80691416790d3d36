/* sharing.c: makes points that will be in the same block of 16 share joints.

   At run time, the cost of a block is the number of joints that any of its 16 vertices follow. Among many candidates
   some are always nearly as good as the best, so points that choose independently fill blocks with joints that only one
   or two of them follow. In rounds, points are grouped as the skin's vertices will be (pack/blocks.c); then each may
   drop a joint that few points of its block follow, or swap it for one that more do, if its error grows by less than
   that is worth. The blends define the error; this file tracks the blocks. */

#include "fit/blend/sharing.h"
#include "model/model.h"
#include <math.h>
#include <stdlib.h>

/* The price of a joint in a block, in mean errors of a point: on bodies and hands this halves the joints per block and
   raises the hold-out error by 0.2% (bench/settings.sh). */
static const double price = 0.05;

/* Rounds end when several in a row have not lowered the total number of joints by this fraction. */
static const double converged = 0.005;
enum { MOST_IDLE = 3 };

pelt_sharing pelt_sharing_new(pelt_arena *arena, const pelt_blend_result *result, uint32_t point_count,
                              uint32_t candidate_count, double mean_error) {
    uint32_t blocks = (point_count + PELT_BLOCK - 1) / PELT_BLOCK;
    return (pelt_sharing){
        .result = result,
        .point_count = point_count,
        .candidate_count = candidate_count,
        .block_of = PELT_NEW(arena, point_count, uint32_t),
        .counts = PELT_NEW(arena, blocks, uint32_t),
        .lists = PELT_NEW(arena, (size_t)blocks * PELT_BLOCK * result->most, pelt_shared_joint),
        .price = price * mean_error,
    };
}

static int most_users_first(const void *a, const void *b) {
    const pelt_shared_joint *x = a, *y = b;
    if (x->users != y->users) return x->users > y->users ? -1 : 1;
    return (x->joint > y->joint) - (x->joint < y->joint);
}

static pelt_influences influences_of(pelt_arena *arena, const pelt_sharing *s) {
    const pelt_blend_result *r = s->result;
    size_t room = (size_t)s->point_count * r->most;
    pelt_influences in = {PELT_NEW(arena, (size_t)s->point_count + 1, uint32_t), PELT_NEW(arena, room, uint32_t),
                          PELT_NEW(arena, room, float)};
    uint32_t at = 0;
    for (uint32_t p = 0; p < s->point_count; p++) {
        for (uint32_t k = 0; k < r->counts[p]; k++, at++)
            in.joints[at] = r->joints[(size_t)p * r->most + k], in.weights[at] = 1;
        in.first[p + 1] = at;
    }
    return in;
}

/* One task of a parallel loop, just for its scratch memory. */
static void group(void *user, size_t task, pelt_arena *scratch) {
    (void)task;
    pelt_sharing *s = user;
    uint32_t n = s->point_count, *order = PELT_NEW(scratch, n, uint32_t);
    uint32_t *places = PELT_NEW(scratch, s->candidate_count, uint32_t); /* position in the block's list; only valid for
                                                                           joints in it */
    pelt_influences in = influences_of(scratch, s);
    pelt_block_order(scratch, &in, n, (pelt_block_columns){s->candidate_count, s->candidate_count}, order);
    s->total = 0;
    for (uint32_t first = 0; first < n; first += PELT_BLOCK) {
        uint32_t block = first / PELT_BLOCK, count = 0;
        pelt_shared_joint *list = s->lists + (size_t)first * s->result->most;
        for (uint32_t slot = first; slot < n && slot < first + PELT_BLOCK; slot++) {
            uint32_t point = order[slot];
            s->block_of[point] = block;
            for (uint32_t i = in.first[point]; i < in.first[point + 1]; i++) {
                uint32_t *place = &places[in.joints[i]];
                if (*place >= count || list[*place].joint != in.joints[i])
                    *place = count, list[count++] = (pelt_shared_joint){in.joints[i], 0};
                list[*place].users++;
            }
        }
        qsort(list, count, sizeof *list, most_users_first);
        s->counts[block] = count, s->total += count;
    }
}

bool pelt_sharing_group(pelt_sharing *s, pelt_arena *arena) {
    pelt_parallel(arena, 1, 1, group, s);
    if (s->least && (double)s->total > (1 - converged) * (double)s->least) return ++s->idle < MOST_IDLE;
    s->least = s->total, s->idle = 0;
    return true;
}

pelt_shared_list pelt_sharing_list(const pelt_sharing *s, uint32_t point) {
    uint32_t block = s->block_of[point];
    return (pelt_shared_list){s->counts[block], s->lists + (size_t)block * PELT_BLOCK * s->result->most};
}

uint32_t pelt_sharing_users(pelt_shared_list list, uint32_t joint) {
    uint32_t k = 0;
    while (k < list.count && list.joints[k].joint != joint) k++;
    return k < list.count ? list.joints[k].users : 1;
}

bool pelt_sharing_allows(pelt_shared_joint from, pelt_shared_joint to) { return most_users_first(&to, &from) < 0; }

double pelt_sharing_worth(const pelt_sharing *s, uint32_t users) { return s->price / users; }

/* -- Changes ------------------------------------------------------------------------------------------------------- */

bool pelt_factor_row(double *factor, uint32_t stride, uint32_t row, const double *entries) {
    double *l = factor + (size_t)row * stride;
    for (uint32_t j = 0; j <= row; j++) {
        double sum = entries[j];
        for (uint32_t k = 0; k < j; k++) sum -= l[k] * factor[(size_t)j * stride + k];
        if (j == row) {
            if (!(sum > 0)) return false;
            l[j] = sqrt(sum);
        } else {
            l[j] = sum / factor[(size_t)j * stride + j];
        }
    }
    return true;
}

/* With C factored for the joints that stay, z = L^-1 1, and u = L^-1 c for a new joint, 1 / E = 1^T C^-1 1 is z.z, and
   grows by (1 - u.z)^2 / (C_jj - u.u). */
bool pelt_best_change(const double *c, uint32_t count, uint32_t own, const double *bars,
                      const pelt_shared_joint *joints, double *factor, pelt_change *out) {
    uint32_t n = count, stay[PELT_MOST_WEIGHTS];
    double row[PELT_MOST_WEIGHTS], z[PELT_MOST_WEIGHTS], u[PELT_MOST_WEIGHTS], most = 0;
    for (uint32_t gone = 0; gone < own; gone++) {
        uint32_t kept = 0;
        double sum = 0;
        bool sound = true;
        for (uint32_t k = 0; k < own && sound; k++) {
            if (k == gone) continue;
            stay[kept] = k;
            for (uint32_t m = 0; m <= kept; m++) row[m] = c[k * n + stay[m]];
            sound = pelt_factor_row(factor, own, kept, row);
            if (!sound) break;
            z[kept] = 1;
            for (uint32_t m = 0; m < kept; m++) z[kept] -= factor[kept * own + m] * z[m];
            z[kept] /= factor[kept * own + kept];
            sum += z[kept] * z[kept], kept++;
        }
        if (sound && kept && bars[gone] - 1 / sum > most) most = bars[gone] - 1 / sum, *out = (pelt_change){gone, n};
        for (uint32_t j = own; j < n && sound; j++) {
            if (joints && !pelt_sharing_allows(joints[gone], joints[j])) continue;
            double rest = c[j * n + j], along = 1;
            for (uint32_t k = 0; k < kept; k++) {
                u[k] = c[j * n + stay[k]];
                for (uint32_t m = 0; m < k; m++) u[k] -= factor[k * own + m] * u[m];
                u[k] /= factor[k * own + k];
                rest -= u[k] * u[k], along -= u[k] * z[k];
            }
            double total = rest > 0 ? sum + along * along / rest : 0;
            if (bars[gone] - 1 / total > most) most = bars[gone] - 1 / total, *out = (pelt_change){gone, j};
        }
    }
    return most > 0;
}
