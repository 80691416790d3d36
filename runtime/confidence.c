/* confidence.c: the error to expect of a pose (section CONF): checked once, computed on request. The loop is in
   confidence.inc. */

#include "runtime/container.h"
#include "runtime/loops.h"
#include <math.h>

/* -- Checks ------------------------------------------------------------------------------------------------------- */

/* An exponent of all ones means infinity or NaN. */
static pelt_result check_halves(const pelt_section *s, uint64_t offset, uint64_t rows, uint64_t columns) {
    const uint16_t *halves = pelt_array_at(s, offset, rows, columns, sizeof *halves);
    int bad = 0;
    if (!halves) return PELT_ERROR_FORMAT;
    for (uint64_t i = 0; i < rows * columns; i++) bad |= (halves[i] & 0x7c00) == 0x7c00;
    return bad ? PELT_ERROR_NUMBER : PELT_OK;
}

static pelt_result check_region(const pelt_section *s, const pelt_skin *skin, const pelt_file_doubt_region *region) {
    const pelt_file_confidence *c = skin->confidence;
    const uint32_t *inputs = pelt_array_at(s, region->inputs, region->input_count, sizeof *inputs, 1);
    if (!inputs || region->input_count > c->input_count) return PELT_ERROR_FORMAT;
    if (region->joint >= skin->joint_count || region->vertex_count > skin->vertex_count ||
        !pelt_all_below_u32(inputs, region->input_count, c->input_count))
        return PELT_ERROR_INDEX;
    if (!pelt_all_finite(&region->floor, 3) || !pelt_none_negative(&region->floor, 3)) return PELT_ERROR_NUMBER;
    pelt_result result = check_halves(s, region->matrix, 3 * (uint64_t)region->input_count, PELT_DOUBT_FEATURES);
    return result ? result : check_halves(s, region->fold, PELT_DOUBT_FEATURES, PELT_DOUBT_RANK);
}

pelt_result pelt_check_confidence(const pelt_skin *skin, uint64_t size) {
    const pelt_file_confidence *c = skin->confidence;
    pelt_section s = {(const char *)c, size};
    if (!c) return PELT_OK;
    if (size < sizeof *c || !c->region_count || c->region_count > PELT_DOUBT_REGIONS ||
        c->input_count > PELT_DOUBT_INPUTS)
        return PELT_ERROR_FORMAT;
    const pelt_file_doubt_input *inputs = pelt_array_at(&s, c->inputs, c->input_count, sizeof *inputs, 1);
    const pelt_file_doubt_region *regions = pelt_array_at(&s, c->regions, c->region_count, sizeof *regions, 1);
    const uint8_t *vertices = pelt_array_at(&s, c->vertices, skin->vertex_count, 1, 1);
    if (!inputs || !regions || !vertices) return PELT_ERROR_FORMAT;
    if (!pelt_all_finite(&c->frame_margin, 2) || !(c->frame_margin > 0 && c->region_margin > 0) ||
        !pelt_all_finite(&c->correlation, 2))
        return PELT_ERROR_NUMBER;
    for (uint32_t v = 0; v < skin->vertex_count; v++)
        if (vertices[v] >= c->region_count) return PELT_ERROR_INDEX;
    for (uint32_t i = 0; i < c->input_count; i++) {
        if (inputs[i].source >= skin->joint_count + skin->control_count) return PELT_ERROR_INDEX;
        /* Only correctives leave the values of controls behind. */
        if (inputs[i].source >= skin->joint_count && !pelt_has_corrective(skin)) return PELT_ERROR_FORMAT;
        if (!pelt_all_finite(&inputs[i].scale, 1)) return PELT_ERROR_NUMBER;
    }
    pelt_result result = PELT_OK;
    for (uint32_t r = 0; r < c->region_count && !result; r++) result = check_region(&s, skin, &regions[r]);
    return result;
}

/* -- The pose ------------------------------------------------------------------------------------------------------ */

/* The three numbers of every input. Correctives have computed all rotations. */
static void place_inputs(const pelt_skin *skin, const char *scratch, float (*numbers)[3]) {
    const pelt_file_confidence *c = skin->confidence;
    const pelt_file_doubt_input *inputs = (const pelt_file_doubt_input *)((const char *)c + c->inputs);
    pelt_pose_offsets pose = pelt_pose_layout(skin);
    int ready = pelt_has_corrective(skin);
    pelt_corrective_offsets at = ready ? pelt_corrective_layout(skin) : (pelt_corrective_offsets){0};
    const float *rotations = (const float *)(scratch + pose.size + at.rotations),
                *controls = (const float *)(scratch + pose.size + at.controls);
    for (uint32_t i = 0; i < c->input_count; i++) {
        uint32_t source = inputs[i].source;
        float own[4];
        const float *from = own;
        if (source >= skin->joint_count)
            from = controls + 4 * (size_t)(source - skin->joint_count);
        else if (ready)
            from = rotations + 4 * (size_t)source;
        else
            pelt_joint_rotation(skin, (const float *)(scratch + pose.globals), PALETTE_STRIDE, source, own);
        float scale = source < skin->joint_count ? 2 : inputs[i].scale;
        for (int k = 0; k < 3; k++) numbers[i][k] = scale * from[k];
    }
}

/* The numbers of a region, side by side; returns whether any is not 0. */
static int gather_inputs(const float (*numbers)[3], const uint32_t *inputs, uint32_t count, float *x) {
    int moves = 0;
    for (uint32_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            x[3 * i + (uint32_t)k] = numbers[inputs[i]][k];
            moves |= numbers[inputs[i]][k] != 0;
        }
    return moves;
}

float pelt_confidence(const pelt_skin *skin, const void *scratch, float *errors) {
    const pelt_file_confidence *c = skin->confidence;
    const char *bytes = (const char *)c;
    float numbers[PELT_DOUBT_INPUTS][3], x[3 * PELT_DOUBT_INPUTS];
    if (!c) return -1;
    const pelt_file_doubt_region *regions = (const pelt_file_doubt_region *)(bytes + c->regions);
    float (*variance)(const pelt_variance_job *) = pelt_loops_of(skin->isa)->variance;
    float sum = 0;
    place_inputs(skin, scratch, numbers);
    for (uint32_t r = 0; r < c->region_count; r++) {
        const pelt_file_doubt_region *region = &regions[r];
        const uint32_t *inputs = (const uint32_t *)(bytes + region->inputs);
        pelt_variance_job job = {x, 3 * region->input_count, (const uint16_t *)(bytes + region->matrix),
                                 (const uint16_t *)(bytes + region->fold), region->rest};
        int moves = gather_inputs((const float(*)[3])numbers, inputs, region->input_count, x);
        float square = region->floor + (moves ? region->gain * variance(&job) : 0);
        sum += square * (float)region->vertex_count;
        if (errors) errors[r] = c->region_margin * sqrtf(square);
    }
    return c->frame_margin * sqrtf(sum / (float)skin->vertex_count);
}

/* -- Names --------------------------------------------------------------------------------------------------------- */

uint32_t pelt_confidence_region_count(const pelt_skin *skin) {
    return skin->confidence ? skin->confidence->region_count : 0;
}

const char *pelt_confidence_region_name(const pelt_skin *skin, uint32_t region) {
    const pelt_file_confidence *c = skin->confidence;
    if (!c || region >= c->region_count) return NULL;
    const pelt_file_doubt_region *regions = (const pelt_file_doubt_region *)((const char *)c + c->regions);
    return skin->names + skin->joints[regions[region].joint].name;
}

const uint8_t *pelt_confidence_vertex_regions(const pelt_skin *skin) {
    const pelt_file_confidence *c = skin->confidence;
    return c ? (const uint8_t *)c + c->vertices : NULL;
}
