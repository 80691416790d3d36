/* targets.c: displacements of a packed skin as morph targets, and their coefficients as tracks of weights. */

#include "pack/targets.h"
#include "runtime/loops.h"
#include <stdlib.h>
#include <string.h>

static float row_value(const pelt_rows *rows, uint32_t row, size_t component, size_t lane) {
    if (rows->floats) return rows->floats[((size_t)row * 3 + component) * PELT_BLOCK + lane];
    size_t two = ((size_t)row / 2 * 3 + component) * PELT_BLOCK + lane;
    return (float)rows->shorts[2 * two + row % 2] * rows->factors[rows->sources[row]].step;
}

static uint32_t row_coefficient(const pelt_rows *rows, uint32_t row) {
    return rows->floats ? rows->sources[row] : rows->factors[rows->sources[row]].coefficient;
}

/* Goes through all vectors that are not zero; targets [coefficient] count them, and take them where there is room. */
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

/* One target for each coefficient, empty ones too; not to be used when the arena has failed. */
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

/* Leaves out coefficients that move nothing. */
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
                         "weighted PSD gives every vertex a pose distance of its own, which morph targets cannot: fit "
                         "with the corrective psd, eigen or kernel instead");
    uint32_t n = pelt_skin_corrective(skin)->coefficient_count, *coefficients = PELT_NEW(arena, n, uint32_t);
    pelt_rows rows = pelt_skin_rows(skin), turns = pelt_skin_turns(skin);
    out->positions = targets_of(arena, skin, &rows);
    if (with_normals && turns.first) out->normals = targets_of(arena, skin, &turns);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    drop_empty(n, coefficients, out);
    return PELT_OK;
}

/* The bundle's joint with the name of the skin's joint j. */
static uint32_t find_joint(const pelt_skin *skin, const pelt_skeleton *skeleton, uint32_t j) {
    const char *name = skin->names + skin->joints[j].name;
    if (j < skeleton->joint_count && !strcmp(skeleton->names[j], name)) return j;
    uint32_t found = 0;
    while (found < skeleton->joint_count && strcmp(skeleton->names[found], name)) found++;
    return found;
}

float *pelt_skin_target_weights(pelt_arena *arena, const pelt_skin *skin, const pelt_skin_targets *targets,
                                const pelt_bundle *bundle, const pelt_clip *clip, pelt_error *error) {
    const pelt_skeleton *skeleton = &bundle->skeleton;
    uint32_t n = targets->count;
    float *weights = PELT_NEW(arena, (size_t)clip->frame_count * n, float);
    pelt_transform *all = PELT_NEW(arena, skeleton->joint_count, pelt_transform);
    pelt_transform *locals = PELT_NEW(arena, skin->joint_count, pelt_transform);
    uint32_t *source = PELT_NEW(arena, skin->joint_count, uint32_t);
    char *scratch = pelt_alloc(arena, pelt_scratch_size(skin), 1);
    uint32_t *control_source = PELT_NEW(arena, skin->control_count, uint32_t);
    float *row = PELT_NEW(arena, bundle->controls.count, float);
    float *controls = PELT_NEW(arena, skin->control_count, float);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error), NULL;
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        source[j] = find_joint(skin, skeleton, j);
        if (source[j] < skeleton->joint_count) continue;
        pelt_fail(error, PELT_ERROR_DATA, "%s has no joint \"%s\", which the skin needs", bundle->path,
                  skin->names + skin->joints[j].name);
        return NULL;
    }
    pelt_match_controls(skin, &bundle->controls, control_source);
    for (uint32_t f = 0; n && f < clip->frame_count; f++) {
        pelt_clip_pose(clip, skeleton, f, all);
        for (uint32_t j = 0; j < skin->joint_count; j++) locals[j] = all[source[j]];
        pelt_matched_controls(skin, &bundle->controls, control_source, clip, f, row, controls);
        pelt_pose_from(skin, &(pelt_pose_input){.locals = locals, .controls = controls}, scratch);
        const float *coefficients =
            (const float *)(scratch + pelt_pose_layout(skin).size + pelt_corrective_layout(skin).coefficients);
        for (uint32_t k = 0; k < n; k++) weights[(size_t)f * n + k] = coefficients[targets->coefficients[k]];
    }
    return weights;
}
