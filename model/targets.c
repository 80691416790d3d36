/* targets.c: displacements of a packed skin as morph targets, and their coefficients as tracks of weights. */

#include "model/targets.h"
#include "model/posing.h"
#include "runtime/loops.h"
#include <string.h>

static float row_value(const pelt_rows *rows, uint32_t row, size_t component, size_t lane) {
    if (rows->floats) return rows->floats[((size_t)row * 3 + component) * PELT_BLOCK + lane];
    size_t two = ((size_t)row / 2 * 3 + component) * PELT_BLOCK + lane;
    return (float)rows->shorts[2 * two + row % 2] * rows->factors[rows->sources[row]].step;
}

static uint32_t row_coefficient(const pelt_rows *rows, uint32_t row) {
    return rows->floats ? rows->sources[row] : rows->factors[rows->sources[row]].coefficient;
}

/* Visits all nonzero vectors; targets [coefficient] count them, and store them if there is room. */
static void count_or_fill(const pelt_skin *skin, const pelt_rows *rows, pelt_target *targets, bool fill) {
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        uint32_t block = skin->vertex_slots[v] / PELT_BLOCK, lane = skin->vertex_slots[v] % PELT_BLOCK;
        for (uint32_t r = rows->first[block]; r < rows->first[block + 1]; r++) {
            float delta[3];
            for (size_t c = 0; c < 3; c++) delta[c] = row_value(rows, r, c, lane);
            if (delta[0] == 0 && delta[1] == 0 && delta[2] == 0) continue;
            pelt_target *target = &targets[row_coefficient(rows, r)];
            if (fill) {
                memcpy((float *)target->deltas + 3 * (size_t)target->count, delta, sizeof delta);
                ((uint32_t *)target->vertices)[target->count] = v;
            }
            target->count++;
        }
    }
}

/* One target per coefficient, including empty ones; invalid if the arena has failed. */
static pelt_target *targets_of(pelt_arena *arena, const pelt_skin *skin, const pelt_rows *rows) {
    uint32_t n = pelt_skin_corrective(skin)->coefficient_count;
    pelt_target *list = PELT_NEW(arena, n, pelt_target);
    if (pelt_arena_failed(arena)) return NULL;
    count_or_fill(skin, rows, list, false);
    for (uint32_t k = 0; k < n; k++) {
        list[k].name = pelt_arena_format(arena, "displacement %u", k);
        list[k].vertices = PELT_NEW(arena, list[k].count, uint32_t);
        list[k].deltas = PELT_NEW(arena, 3 * (size_t)list[k].count, float);
        list[k].count = 0;
    }
    if (pelt_arena_failed(arena)) return NULL;
    count_or_fill(skin, rows, list, true);
    return list;
}

/* Drops coefficients that move nothing. */
static void drop_empty(uint32_t coefficient_count, uint32_t *coefficients, pelt_skin_targets *out) {
    for (uint32_t k = 0; k < coefficient_count; k++) {
        if (!out->positions[k].count && !(out->normals && out->normals[k].count)) continue;
        coefficients[out->count] = k;
        out->positions[out->count] = out->positions[k];
        if (out->normals) out->normals[out->count] = out->normals[k];
        out->count++;
    }
    out->coefficients = coefficients;
}

pelt_result pelt_skin_targets_of(pelt_arena *arena, const pelt_skin *skin, bool with_normals, pelt_skin_targets *out,
                                 pelt_error *error) {
    *out = (pelt_skin_targets){0};
    if (!pelt_has_corrective(skin)) return PELT_OK;
    if (pelt_skin_corrective(skin)->weighted)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "weighted PSD gives every vertex its own pose distance: it is not a sum of morph targets");
    uint32_t n = pelt_skin_corrective(skin)->coefficient_count, *coefficients = PELT_NEW(arena, n, uint32_t);
    pelt_rows rows = pelt_skin_rows(skin), tilts = pelt_skin_tilts(skin);
    out->positions = targets_of(arena, skin, &rows);
    if (with_normals && tilts.first) out->normals = targets_of(arena, skin, &tilts);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    drop_empty(n, coefficients, out);
    return PELT_OK;
}

typedef struct weighing {
    const pelt_posing *posing;
    const pelt_clip *clip;
    const pelt_skin_targets *targets;
    float *weights; /* [frame][target] */
} weighing;

static void weigh_frame(void *user, size_t frame, pelt_arena *scratch) {
    const weighing *x = user;
    const pelt_skin *skin = x->posing->skin;
    char *pose = pelt_alloc(scratch, pelt_scratch_size(skin), 1);
    pelt_posing_frame(x->posing, x->clip, (uint32_t)frame, scratch, NULL, pose);
    const float *coefficients =
        (const float *)(pose + pelt_pose_layout(skin).size + pelt_corrective_outputs(skin).coefficients);
    uint32_t n = x->targets->count;
    for (uint32_t k = 0; k < n; k++) x->weights[frame * n + k] = coefficients[x->targets->coefficients[k]];
}

float *pelt_skin_target_weights(pelt_arena *arena, const pelt_skin *skin, const pelt_skin_targets *targets,
                                const pelt_bundle *bundle, const pelt_clip *clip, pelt_error *error) {
    pelt_posing posing;
    float *weights = PELT_NEW(arena, (size_t)clip->frame_count * targets->count, float);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error), NULL;
    if (pelt_posing_open(arena, skin, bundle, &posing, error)) return NULL;
    weighing x = {&posing, clip, targets, weights};
    if (!pelt_parallel(NULL, 1, targets->count ? clip->frame_count : 0, weigh_frame, &x))
        return pelt_no_memory(error), NULL;
    return weights;
}
