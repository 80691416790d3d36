/* deform.c: turns a call of pelt_deform_to into a job for the loops. */

#include "runtime/loops.h"
#include <math.h>
#include <string.h>

/* Larger outputs do not stay in a core's own cache; non-temporal stores avoid reading it first. */
#define STREAM_BYTES ((size_t)4 << 20)

static int aligned(const void *buffer) { return (uintptr_t)buffer % PELT_ALIGN == 0; }

static void add_corrective(const pelt_skin *skin, const char *scratch, pelt_detail detail, pelt_deform_job *job) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    pelt_corrective_offsets at = pelt_corrective_layout(skin);
    job->rows = pelt_level_rows(skin, detail.level), job->tilts = pelt_level_tilts(skin, detail.level);
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
    job->weighted_share = pelt_weighted_share(skin, detail);
    job->phi = (pelt_phi)weighted->phi;
    job->parts = weighted->normalised ? 4 : 3;
}

/* -- Fading weights --------------------------------------------------------------------------------------------------
   Between two levels with different joints the weights are mixed, block by block. The joints of the coarser level are
   some of the finer one's. */

typedef float merged_weights[PELT_MOST_MERGED][PELT_BLOCK];

static void merge_weights(const pelt_entries *from, const pelt_entries *to, float fade, uint32_t b,
                          merged_weights out) {
    uint32_t next = to->first[b];
    for (uint32_t e = from->first[b]; e < from->first[b + 1]; e++) {
        const float *own = from->weights + (size_t)e * PELT_BLOCK;
        float *w = out[e - from->first[b]];
        for (int lane = 0; lane < PELT_BLOCK; lane++) w[lane] = (1 - fade) * own[lane];
        if (next == to->first[b + 1] || to->joints[next] != from->joints[e]) continue;
        for (int lane = 0; lane < PELT_BLOCK; lane++) w[lane] += fade * to->weights[(size_t)next * PELT_BLOCK + lane];
        next++;
    }
}

static void run_merged(pelt_deform_job job) {
    merged_weights weights __attribute__((aligned(PELT_ALIGN)));
    const pelt_entries from = job.entries;
    for (uint32_t b = job.first_block, end = job.end_block; b < end; b++) {
        merge_weights(&from, &job.fade_to, job.fade, b, weights);
        job.entries.weights = weights[0], job.entries.origin = from.first[b];
        job.first_block = b, job.end_block = b + 1;
        pelt_loops_of(job.skin->isa)->deform(&job);
    }
}

static void run_loops(const pelt_deform_job *job) {
    if (job->fade > 0)
        run_merged(*job);
    else
        pelt_loops_of(job->skin->isa)->deform(job);
}

/* -- Streams ------------------------------------------------------------------------------------------------------
   Output in any other layout than the loops write (packed floats in slot order) goes through buffers that stay in the
   L1 cache, a few blocks at a time. */

enum { CHUNK = 8, CHUNK_SLOTS = CHUNK * PELT_BLOCK };

static int is_plain(const pelt_stream *stream, size_t parts) {
    size_t bytes = parts * sizeof(float);
    return !stream->data || (!stream->half && (!stream->stride || stream->stride == bytes));
}

static int is_plain_output(const pelt_output *out) {
    return !out->vertices && is_plain(&out->positions, 3) && is_plain(&out->normals, 3) && is_plain(&out->tangents, 4);
}

/* One more vertex than needed, since code that copies three floats may read a fourth. */
typedef struct chunk {
    float positions[3 * (CHUNK_SLOTS + 2)] __attribute__((aligned(PELT_ALIGN)));
    float normals[3 * (CHUNK_SLOTS + 2)] __attribute__((aligned(PELT_ALIGN)));
    float tangents[4 * CHUNK_SLOTS] __attribute__((aligned(PELT_ALIGN)));
} chunk;

static void clear_ends(chunk *c) {
    memset(c->positions + 3 * CHUNK_SLOTS, 0, 6 * sizeof *c->positions);
    memset(c->normals + 3 * CHUNK_SLOTS, 0, 6 * sizeof *c->normals);
}

/* What to deliver of some blocks; NULL: not requested. */
typedef struct parcel {
    const float *positions, *normals, *tangents;
} parcel;

static void deliver_blocks(const pelt_skin *skin, const pelt_output *out, uint32_t first_block, uint32_t end_block,
                           parcel from) {
    const struct {
        const pelt_stream *to;
        const float *from;
        size_t parts;
        float last;
    } all[] = {{&out->positions, from.positions, 3, 1},
               {&out->normals, from.normals, 3, 0},
               {&out->tangents, from.tangents, 4, 0}};
    size_t first = (size_t)first_block * PELT_BLOCK, count = (size_t)(end_block - first_block) * PELT_BLOCK;
    const uint32_t *vertices = out->vertices ? out->vertices + first : NULL;
    for (int k = 0; k < 3; k++) {
        const pelt_stream *to = all[k].to;
        size_t tight = to->half ? 8 : all[k].parts * sizeof(float), stride = to->stride ? to->stride : tight;
        pelt_delivery d = {all[k].from, all[k].parts, first, count, vertices, to->data, stride, to->half, all[k].last};
        if (all[k].from) pelt_loops_of(skin->isa)->deliver(&d);
    }
}

static uint32_t end_of_chunk(uint32_t first, uint32_t end) { return end - first < CHUNK ? end : first + CHUNK; }

static void deform_in_chunks(pelt_deform_job job, const pelt_output *out) {
    chunk buffer;
    parcel filled = {job.positions ? buffer.positions : NULL, job.normals ? buffer.normals : NULL,
                     job.tangents ? buffer.tangents : NULL};
    uint32_t end = job.end_block;
    clear_ends(&buffer);
    job.positions = buffer.positions;
    if (job.normals) job.normals = buffer.normals;
    if (job.tangents) job.tangents = buffer.tangents;
    for (uint32_t b = job.first_block; b < end; b = job.end_block) {
        job.origin = job.first_block = b, job.end_block = end_of_chunk(b, end);
        run_loops(&job);
        deliver_blocks(job.skin, out, b, job.end_block, filled);
    }
}

/* -- Two passes ------------------------------------------------------------------------------------------------------
   Skins with rings: positions of the whole mesh first, then normals from them. The first pass leaves tangents across
   the blend's normals; the second turns them across the surface's. Buffers that the second pass cannot read from, such
   as half floats, are filled from copies that are kept in scratch memory. */

typedef struct kept {
    float *positions, *tangents;
} kept;

static kept kept_in(const pelt_skin *skin, char *scratch) {
    pelt_surface_offsets at = pelt_surface_layout(skin);
    return (kept){(float *)(scratch + at.positions), (float *)(scratch + at.tangents)};
}

static void deform_and_keep(pelt_deform_job job, const pelt_output *out, kept keep) {
    float unused[3 * CHUNK_SLOTS] __attribute__((aligned(PELT_ALIGN))); /* normals of the blend */
    uint32_t end = job.end_block;
    job.normals = job.tangents ? unused : NULL;
    for (uint32_t b = job.first_block; b < end; b = job.end_block) {
        job.origin = job.first_block = b, job.end_block = end_of_chunk(b, end);
        job.positions = keep.positions + (size_t)b * 3 * PELT_BLOCK;
        if (job.tangents) job.tangents = keep.tangents + (size_t)b * 4 * PELT_BLOCK;
        run_loops(&job);
        deliver_blocks(job.skin, out, b, job.end_block, (parcel){job.positions, NULL, NULL});
    }
}

static void shade_in_chunks(pelt_shade_job job, const pelt_output *out, kept keep) {
    chunk buffer;
    uint32_t end = job.end_block;
    clear_ends(&buffer);
    job.positions = keep.positions, job.normals = buffer.normals;
    if (job.tangents) job.tangents = buffer.tangents;
    for (uint32_t b = job.first_block; b < end; b = job.end_block) {
        job.origin = job.first_block = b, job.end_block = end_of_chunk(b, end);
        job.tangents_given = keep.tangents + (size_t)b * 4 * PELT_BLOCK;
        pelt_loops_of(job.skin->isa)->shade(&job);
        deliver_blocks(job.skin, out, b, job.end_block, (parcel){NULL, job.normals, job.tangents});
    }
}

/* The part of a range that the skin has. */
static pelt_range inside(const pelt_skin *skin, pelt_range blocks) {
    uint32_t first = blocks.first < skin->block_count ? blocks.first : skin->block_count,
             most = skin->block_count - first;
    return (pelt_range){first, blocks.count < most ? blocks.count : most};
}

/* `scratch` is not written. */
static void shade(const pelt_skin *skin, const void *scratch, pelt_range blocks, const pelt_output *out) {
    blocks = inside(skin, blocks);
    pelt_shade_job job = {
        .skin = skin,
        .positions = out->positions.data,
        .first_block = blocks.first,
        .end_block = blocks.first + blocks.count,
        .normals = out->normals.data,
        .tangents = skin->rest_tangents ? out->tangents.data : NULL,
    };
    if (!is_plain_output(out)) {
        shade_in_chunks(job, out, kept_in(skin, (char *)scratch));
        return;
    }
    job.tangents_given = job.tangents;
    job.stream = pelt_output_size(skin) > STREAM_BYTES && aligned(job.normals);
    pelt_loops_of(skin->isa)->shade(&job);
}

void pelt_shade(const pelt_skin *skin, const void *scratch, pelt_range blocks, const pelt_output *out) {
    if (skin->rings && out->normals.data) shade(skin, scratch, blocks, out);
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

static void deform(pelt_deform_job job, const pelt_output *out) {
    if (!is_plain_output(out)) {
        deform_in_chunks(job, out);
        return;
    }
    job.stream = pelt_output_size(job.skin) > STREAM_BYTES && aligned(job.positions) && aligned(job.normals) &&
                 aligned(job.tangents);
    run_loops(&job);
}

static void deform_and_shade(pelt_deform_job job, char *scratch, const pelt_output *out) {
    const pelt_skin *skin = job.skin;
    if (!is_plain_output(out)) {
        deform_and_keep(job, out, kept_in(skin, scratch));
    } else {
        if (!job.tangents) job.normals = NULL;
        run_loops(&job);
    }
    if (job.first_block == 0 && job.end_block == skin->block_count) shade(skin, scratch, pelt_all_blocks(skin), out);
}

void pelt_deform_to(const pelt_skin *skin, void *scratch, pelt_range blocks, const pelt_output *out) {
    pelt_pose_offsets at = pelt_pose_layout(skin);
    const pelt_pose_head *head = scratch;
    lane_boxes boxes __attribute__((aligned(PELT_ALIGN)));
    blocks = inside(skin, blocks);
    pelt_detail detail = pelt_detail_of(skin, head->level);
    pelt_deform_job job = {
        .skin = skin,
        .entries = pelt_level_entries(skin, detail.level),
        .palette = (const float *)((const char *)scratch + at.palette),
        .normal_palette = (const float *)((const char *)scratch + at.normal_palette),
        .first_scaled = UINT32_MAX,
        .first_block = blocks.first,
        .end_block = blocks.first + blocks.count,
        .box = out->box ? boxes.low[0] : NULL,
        .positions = out->positions.data,
        .normals = out->normals.data,
        .tangents = out->normals.data && skin->rest_tangents ? out->tangents.data : NULL,
        .mirrored = head->mirrored != 0,
    };
    if (out->normals.data && !head->rigid) job.first_scaled = first_scaled(skin, job.palette);
    if (pelt_is_displaced(skin, detail.level)) add_corrective(skin, (const char *)scratch + at.size, detail, &job);
    if (detail.fade > 0) {
        job.fade_to = pelt_level_entries(skin, detail.level + 1);
        job.fade = job.fade_to.first == job.entries.first ? 0 : detail.fade;
    }
    if (out->box) empty_boxes(&boxes);
    if (skin->rings && job.normals)
        deform_and_shade(job, scratch, out);
    else
        deform(job, out);
    if (out->box) join_boxes(&boxes, out->box);
}

/* The scratch memory is only written for outputs that are not plain. */
void pelt_deform(const pelt_skin *skin, const void *scratch, pelt_range blocks, float *positions, float *normals) {
    pelt_deform_to(skin, (void *)scratch, blocks, &(pelt_output){.positions = {positions}, .normals = {normals}});
}
