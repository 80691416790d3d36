/* deform.c: turns a call of pelt_deform_to into a job for the loops. */

#include "runtime/loops.h"
#include <math.h>
#include <string.h>

/* Larger outputs do not stay in a core's own cache; non-temporal stores avoid reading it first. */
#define STREAM_BYTES ((size_t)4 << 20)

static int aligned(const void *buffer) { return (uintptr_t)buffer % PELT_ALIGN == 0; }

static void add_corrective(const pelt_skin *skin, const char *scratch, pelt_deform_job *job) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    pelt_corrective_offsets at = pelt_corrective_layout(skin);
    job->rows = pelt_skin_rows(skin), job->tilts = pelt_skin_tilts(skin);
    if (!head->weighted) {
        job->coefficients = (const float *)(scratch + at.coefficients);
        const float *scales = (const float *)(scratch + at.factor_scales);
        job->row_factors = (pelt_factors){(const int16_t *)(scratch + at.row_factors), scales[0]};
        job->tilt_factors = (pelt_factors){(const int16_t *)(scratch + at.tilt_factors), scales[1]};
        return;
    }
    const pelt_file_weighted *weighted = (const void *)((const char *)head + head->weighted);
    job->axes = pelt_skin_axes(skin);
    job->distances = (const float *)(scratch + at.distances);
    job->distance_stride = (uint32_t)pelt_padded(weighted->center_count);
    job->phi = (pelt_phi)weighted->phi;
    job->parts = weighted->normalised ? 4 : 3;
}

/* -- Streams ------------------------------------------------------------------------------------------------------
   Output in any other layout than the loops write (packed floats in slot order) goes through a buffer that stays in the
   L1 cache, a few blocks at a time. */

enum { CHUNK = 8, CHUNK_SLOTS = CHUNK * PELT_BLOCK };

static int is_plain(const pelt_stream *stream, size_t parts) {
    size_t bytes = parts * sizeof(float);
    return !stream->data || (!stream->half && (!stream->stride || stream->stride == bytes));
}

static void deform_in_chunks(pelt_deform_job job, const pelt_output *out) {
    /* One more vertex than needed, since code that copies three floats may read a fourth. */
    float positions[3 * (CHUNK_SLOTS + 2)] __attribute__((aligned(PELT_ALIGN)));
    float normals[3 * (CHUNK_SLOTS + 2)] __attribute__((aligned(PELT_ALIGN)));
    float tangents[4 * CHUNK_SLOTS] __attribute__((aligned(PELT_ALIGN)));
    const pelt_loops *loops = pelt_loops_of(job.skin->isa);
    const struct {
        const pelt_stream *stream;
        float *buffer;
        size_t parts;
        float last;
    } all[] = {{&out->positions, job.positions ? positions : NULL, 3, 1},
               {&out->normals, job.normals ? normals : NULL, 3, 0},
               {&out->tangents, job.tangents ? tangents : NULL, 4, 0}};
    uint32_t end = job.end_block;
    memset(positions + 3 * CHUNK_SLOTS, 0, 6 * sizeof *positions);
    memset(normals + 3 * CHUNK_SLOTS, 0, 6 * sizeof *normals);
    job.positions = all[0].buffer, job.normals = all[1].buffer, job.tangents = all[2].buffer;
    for (uint32_t b = job.first_block; b < end; b = job.end_block) {
        job.origin = job.first_block = b;
        job.end_block = end - b < CHUNK ? end : b + CHUNK;
        loops->deform(&job);
        size_t first = (size_t)b * PELT_BLOCK, count = (size_t)(job.end_block - b) * PELT_BLOCK;
        for (int k = 0; k < 3; k++) {
            const pelt_stream *to = all[k].stream;
            size_t tight = to->half ? 8 : all[k].parts * sizeof(float), stride = to->stride ? to->stride : tight;
            const uint32_t *vertices = out->vertices ? out->vertices + first : NULL;
            pelt_delivery d = {all[k].buffer, all[k].parts, first,    count,      vertices,
                               to->data,      stride,       to->half, all[k].last};
            if (all[k].buffer) loops->deliver(&d);
        }
    }
}

/* -- Boxes --------------------------------------------------------------------------------------------------------- */

typedef struct lane_boxes {
    float low[3][PELT_BLOCK], high[3][PELT_BLOCK];
} lane_boxes;

static void empty_boxes(lane_boxes *boxes) {
    for (int i = 0; i < 3 * PELT_BLOCK; i++)
        boxes->low[i / PELT_BLOCK][i % PELT_BLOCK] = INFINITY, boxes->high[i / PELT_BLOCK][i % PELT_BLOCK] = -INFINITY;
}

static void join_boxes(const lane_boxes *boxes, pelt_box *box) {
    for (int c = 0; c < 3; c++) {
        box->low[c] = boxes->low[c][0], box->high[c] = boxes->high[c][0];
        for (int lane = 1; lane < PELT_BLOCK; lane++) {
            box->low[c] = boxes->low[c][lane] < box->low[c] ? boxes->low[c][lane] : box->low[c];
            box->high[c] = boxes->high[c][lane] > box->high[c] ? boxes->high[c][lane] : box->high[c];
        }
    }
}

/* -- The call ------------------------------------------------------------------------------------------------------ */

static uint32_t first_scaled(const pelt_skin *skin, const float *palette) {
    uint32_t j = 0;
    while (j < pelt_matrix_count(skin) && palette[(size_t)j * PALETTE_STRIDE + PALETTE_RIGID] > 0) j++;
    return j;
}

void pelt_deform_to(const pelt_skin *skin, const void *scratch, pelt_range blocks, const pelt_output *out) {
    pelt_pose_offsets at = pelt_pose_layout(skin);
    const pelt_pose_head *head = scratch;
    uint32_t first = blocks.first < skin->block_count ? blocks.first : skin->block_count;
    uint32_t count = blocks.count < skin->block_count - first ? blocks.count : skin->block_count - first;
    lane_boxes boxes __attribute__((aligned(PELT_ALIGN)));
    pelt_deform_job job = {
        .skin = skin,
        .palette = (const float *)((const char *)scratch + at.palette),
        .normal_palette = (const float *)((const char *)scratch + at.normal_palette),
        .first_scaled = UINT32_MAX,
        .first_block = first,
        .end_block = first + count,
        .box = out->box ? boxes.low[0] : NULL,
        .positions = out->positions.data,
        .normals = out->normals.data,
        .tangents = out->normals.data && skin->rest_tangents ? out->tangents.data : NULL,
        .mirrored = head->mirrored != 0,
    };
    if (out->normals.data && !head->rigid) job.first_scaled = first_scaled(skin, job.palette);
    if (pelt_has_corrective(skin)) add_corrective(skin, (const char *)scratch + at.size, &job);
    if (out->box) empty_boxes(&boxes);
    if (out->vertices || !is_plain(&out->positions, 3) || !is_plain(&out->normals, 3) || !is_plain(&out->tangents, 4)) {
        deform_in_chunks(job, out);
    } else {
        job.stream = pelt_output_size(skin) > STREAM_BYTES && aligned(job.positions) && aligned(job.normals) &&
                     aligned(job.tangents);
        pelt_loops_of(skin->isa)->deform(&job);
    }
    if (out->box) join_boxes(&boxes, out->box);
}

void pelt_deform(const pelt_skin *skin, const void *scratch, pelt_range blocks, float *positions, float *normals) {
    pelt_deform_to(skin, scratch, blocks, &(pelt_output){.positions = {positions}, .normals = {normals}});
}
