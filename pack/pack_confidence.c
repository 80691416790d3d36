/* pack_confidence.c: the section CONF: how wrong a skin is expected to be. */

#include "model/confidence.h"
#include "runtime/half.h"
#include <string.h>

/* The next array of the section, of this many bytes. */
static uint64_t take(uint64_t *end, uint64_t bytes) {
    uint64_t at = *end;
    *end += pelt_aligned(bytes);
    return at;
}

static void put_halves(uint8_t *at, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint16_t half = pelt_half_of((float)values[i]);
        memcpy(at + 2 * i, &half, sizeof half);
    }
}

/* Lays out a region from `end` on. */
static pelt_file_doubt_region place_region(const pelt_doubt_region *from, uint64_t *end) {
    pelt_file_doubt_region to = {.joint = from->joint,
                                 .input_count = from->input_count,
                                 .vertex_count = from->vertex_count,
                                 .floor = (float)from->floor,
                                 .gain = (float)from->gain,
                                 .rest = (float)from->rest};
    to.inputs = take(end, from->input_count * sizeof(uint32_t));
    to.matrix = take(end, 3 * (uint64_t)from->input_count * PELT_DOUBT_FEATURES * sizeof(uint16_t));
    to.fold = take(end, PELT_DOUBT_FEATURES * PELT_DOUBT_RANK * sizeof(uint16_t));
    return to;
}

static void fill_region(uint8_t *bytes, const pelt_doubt_region *from, const pelt_file_doubt_region *to) {
    memcpy(bytes + to->inputs, from->inputs, from->input_count * sizeof(uint32_t));
    put_halves(bytes + to->matrix, from->matrix, 3 * (size_t)from->input_count * PELT_DOUBT_FEATURES);
    put_halves(bytes + to->fold, from->fold, (size_t)PELT_DOUBT_FEATURES * PELT_DOUBT_RANK);
}

pelt_bytes *pelt_pack_confidence(const pelt_doubt_model *model, pelt_error *error) {
    pelt_file_confidence head = {.region_count = model->region_count,
                                 .input_count = model->input_count,
                                 .frame_margin = (float)model->frame_margin,
                                 .region_margin = (float)model->region_margin,
                                 .frame_count = model->frame_count,
                                 .correlation = (float)model->correlation,
                                 .median = (float)model->median};
    pelt_file_doubt_region regions[PELT_DOUBT_REGIONS];
    uint64_t end = sizeof head;
    head.inputs = take(&end, model->input_count * sizeof *model->inputs);
    head.regions = take(&end, model->region_count * sizeof *regions);
    head.vertices = take(&end, model->vertex_count);
    for (uint32_t r = 0; r < model->region_count; r++) regions[r] = place_region(&model->regions[r], &end);
    pelt_bytes *out = pelt_bytes_new((size_t)end);
    if (!out) return pelt_no_memory(error), NULL;
    uint8_t *bytes = out->bytes;
    memset(bytes, 0, out->size);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + head.inputs, model->inputs, model->input_count * sizeof *model->inputs);
    memcpy(bytes + head.regions, regions, model->region_count * sizeof *regions);
    memcpy(bytes + head.vertices, model->vertices, model->vertex_count);
    for (uint32_t r = 0; r < model->region_count; r++) fill_region(bytes, &model->regions[r], &regions[r]);
    return out;
}
