/* keys.c: key points at run time.

       b = W s,   misfit = (I - A_keys W') s,   values = mean + A b,        s = values at the keys - their mean

   W maps key values to coordinates. The misfit matrix is stored explicitly, since it uses fewer basis vectors than the
   reconstruction: with as many vectors as key values, everything would be explained. */

#include "runtime/loops.h"
#include <pelt/keys.h>
#include <math.h>
#include <string.h>

/* Columns are frames, or components of frames if they share a basis. */
static uint32_t columns_per_frame(const pelt_keys *keys) { return keys->shared ? keys->component_count : 1; }

/* -- The product --------------------------------------------------------------------------------------------------- */

static uint32_t blocks_of(uint32_t rows) { return (rows + PELT_BLOCK - 1) / PELT_BLOCK; }

/* All columns of matrix x, as [column][rows]. */
static void multiply(const pelt_keys *keys, const float *matrix, uint32_t rows, const float *x, uint32_t column_count,
                     float *out) {
    for (uint32_t done = 0, left = column_count; left;) {
        pelt_fill_job job = {.matrix = matrix,
                             .row_count = rows,
                             .inner = keys->key_row_count,
                             .end_block = blocks_of(rows),
                             .x = x + (size_t)done * keys->key_row_count,
                             .column_count = left >= 8   ? 8
                                             : left >= 4 ? 4
                                                         : left,
                             .spacing = 1};
        for (uint32_t c = 0; c < job.column_count; c++) job.columns[c] = out + (size_t)(done + c) * rows;
        pelt_loops_of(keys->isa)->fill(&job);
        done += job.column_count, left -= job.column_count;
    }
}

/* -- Scratch ------------------------------------------------------------------------------------------------------- */

typedef struct layout {
    size_t lengths;     /* [key_count] squared misfit of each key in the last frame; comes first */
    size_t coordinates; /* [columns][basis_count] */
    size_t centred;     /* [columns][key_row_count] */
    size_t residuals;   /* [columns][key_row_count] */
    uint64_t size;
} layout;

static layout scratch_layout(const pelt_keys *keys, uint64_t frame_count) {
    uint64_t columns = frame_count * columns_per_frame(keys), rows = keys->key_row_count * sizeof(float);
    uint64_t lengths = pelt_aligned(keys->key_count * sizeof(float)), values = pelt_aligned(columns * rows),
             coordinates = pelt_aligned(columns * keys->basis_count * sizeof(float));
    layout at = {.coordinates = (size_t)lengths};
    at.centred = (size_t)(lengths + coordinates);
    at.residuals = (size_t)(lengths + coordinates + values);
    at.size = lengths + coordinates + 2 * values;
    return at;
}

size_t pelt_keys_scratch_size(const pelt_keys *keys, uint32_t frame_count) {
    return pelt_memory_size(scratch_layout(keys, frame_count).size);
}

/* -- Coordinates and misfit ---------------------------------------------------------------------------------------- */

/* Key values minus their mean, one column per frame, or per component of a frame. */
static void centre(const pelt_keys *keys, const float *values, uint32_t frame_count, float *out) {
    size_t rows = keys->key_row_count, columns = columns_per_frame(keys);
    for (size_t f = 0; f < frame_count; f++)
        for (size_t c = 0; c < columns; c++)
            for (size_t i = 0; i < rows; i++) *out++ = values[(f * rows + i) * columns + c] - keys->key_mean[i];
}

/* Squared misfit of each key in a frame. */
static void measure_keys(const pelt_keys *keys, const float *residuals, float *lengths) {
    size_t rows = keys->key_row_count, each = rows / keys->key_count, columns = columns_per_frame(keys);
    memset(lengths, 0, keys->key_count * sizeof *lengths);
    for (size_t c = 0; c < columns; c++)
        for (size_t i = 0; i < rows; i++) lengths[i / each] += residuals[c * rows + i] * residuals[c * rows + i];
}

/* e of a region: keys are weighted by how much their points belong to it. */
static float region_misfit(const pelt_keys *keys, const float *lengths, uint32_t region) {
    float sum = 0, weight = 0, largest = 0;
    for (uint32_t k = 0; k < keys->key_count; k++) {
        const size_t at = (size_t)keys->key_points[k] * PELT_POINT_REGIONS;
        for (int i = 0; i < PELT_POINT_REGIONS; i++) {
            float w = keys->point_regions[at + (size_t)i] == region ? keys->point_region_weights[at + (size_t)i] : 0;
            if (!(w > 0)) continue;
            sum += w * lengths[k], weight += w;
            largest = fmaxf(largest, lengths[k]);
        }
    }
    if (!(weight > 0)) return 0;
    return fmaxf(sqrtf(sum / weight) / keys->bounds[region].rms, sqrtf(largest) / keys->bounds[region].largest);
}

void pelt_keys_region_misfits(const pelt_keys *keys, const void *scratch, float *e) {
    for (uint32_t g = 0; g < keys->region_count; g++) e[g] = region_misfit(keys, scratch, g);
}

static pelt_misfit judge(const pelt_keys *keys, const float *lengths) {
    pelt_misfit out = {0, 0, 0};
    float sum = 0;
    for (uint32_t k = 0; k < keys->key_count; k++) {
        sum += lengths[k];
        out.largest = fmaxf(out.largest, lengths[k]);
    }
    if (!isfinite(sum)) return (pelt_misfit){INFINITY, INFINITY, INFINITY};
    out.rms = sqrtf(sum / (float)keys->key_count);
    out.largest = sqrtf(out.largest);
    for (uint32_t g = 0; g < keys->region_count; g++) out.e = fmaxf(out.e, region_misfit(keys, lengths, g));
    return out;
}

void pelt_keys_solve(const pelt_keys *keys, const float *key_values, uint32_t frame_count, void *scratch,
                     pelt_misfit *misfits) {
    layout at = scratch_layout(keys, frame_count);
    float *coordinates = (float *)((char *)scratch + at.coordinates),
          *centred = (float *)((char *)scratch + at.centred);
    float *residuals = (float *)((char *)scratch + at.residuals), *lengths = scratch;
    uint32_t columns = columns_per_frame(keys);
    centre(keys, key_values, frame_count, centred);
    multiply(keys, keys->map, keys->basis_count, centred, frame_count * columns, coordinates);
    if (!misfits) return;
    multiply(keys, keys->misfit, keys->key_row_count, centred, frame_count * columns, residuals);
    for (size_t f = 0; f < frame_count; f++) {
        measure_keys(keys, residuals + f * columns * keys->key_row_count, lengths);
        misfits[f] = judge(keys, lengths);
    }
}

/* -- All points ---------------------------------------------------------------------------------------------------- */

void pelt_keys_fill(const pelt_keys *keys, const void *scratch, uint32_t frame_count, pelt_range blocks,
                    float *values) {
    layout at = scratch_layout(keys, frame_count);
    const float *coordinates = (const float *)((const char *)scratch + at.coordinates);
    uint32_t first = blocks.first < keys->block_count ? blocks.first : keys->block_count;
    uint32_t count = blocks.count < keys->block_count - first ? blocks.count : keys->block_count - first;
    uint32_t per_frame = columns_per_frame(keys);
    size_t frame_size = (size_t)keys->point_count * keys->component_count;
    for (uint32_t done = 0, left = frame_count * per_frame; left;) {
        pelt_fill_job job = {.mean = keys->mean,
                             .matrix = keys->basis,
                             .half = (int)keys->half,
                             .row_count = keys->row_count,
                             .inner = keys->basis_count,
                             .first_block = first,
                             .end_block = first + count,
                             .x = coordinates + (size_t)done * keys->basis_count,
                             .column_count = left >= 8   ? 8
                                             : left >= 4 ? 4
                                                         : left,
                             .spacing = per_frame};
        for (uint32_t c = 0; c < job.column_count; c++)
            job.columns[c] = values + (done + c) / per_frame * frame_size + (done + c) % per_frame;
        pelt_loops_of(keys->isa)->fill(&job);
        done += job.column_count, left -= job.column_count;
    }
}
