/* deform.c: resolves a call of pelt_deform_to into a job for the loops. */

#include "runtime/loops.h"

/* Output beyond this does not stay in a core's own cache; writing past the cache saves reading it first. */
#define STREAM_BYTES ((size_t)4 << 20)

static int aligned(const void *buffer) { return (uintptr_t)buffer % PELT_ALIGN == 0; }

static void add_corrective(const pelt_skin *skin, const char *scratch, pelt_deform_job *job) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    pelt_corrective_offsets at = pelt_corrective_layout(skin);
    job->rows = pelt_skin_rows(skin), job->turns = pelt_skin_turns(skin);
    if (!head->weighted) {
        job->coefficients = (const float *)(scratch + at.coefficients);
        const float *scales = (const float *)(scratch + at.factor_scales);
        job->row_factors = (pelt_factors){(const int16_t *)(scratch + at.row_factors), scales[0]};
        job->turn_factors = (pelt_factors){(const int16_t *)(scratch + at.turn_factors), scales[1]};
        return;
    }
    const pelt_file_weighted *weighted = (const void *)((const char *)head + head->weighted);
    job->axes = pelt_skin_axes(skin);
    job->distances = (const float *)(scratch + at.distances);
    job->distance_stride = (uint32_t)pelt_padded(weighted->center_count);
    job->phi = (pelt_phi)weighted->phi;
    job->parts = weighted->normalised ? 4 : 3;
}

void pelt_deform_to(const pelt_skin *skin, const void *scratch, pelt_range blocks, const pelt_output *out) {
    pelt_pose_offsets at = pelt_pose_layout(skin);
    const pelt_pose_head *head = scratch;
    uint32_t first = blocks.first < skin->block_count ? blocks.first : skin->block_count;
    uint32_t count = blocks.count < skin->block_count - first ? blocks.count : skin->block_count - first;
    float *tangents = out->normals && skin->rest_tangents ? out->tangents : NULL;
    pelt_deform_job job = {
        .skin = skin,
        .palette = (const float *)((const char *)scratch + at.palette),
        .normal_palette = head->rigid ? NULL : (const float *)((const char *)scratch + at.normal_palette),
        .first_block = first,
        .end_block = first + count,
        .positions = out->positions,
        .normals = out->normals,
        .tangents = tangents,
        .mirrored = head->mirrored != 0,
        .stream = pelt_output_size(skin) > STREAM_BYTES && aligned(out->positions) && aligned(out->normals) &&
                  aligned(tangents),
    };
    if (pelt_has_corrective(skin)) add_corrective(skin, (const char *)scratch + at.size, &job);
    pelt_loops_of(skin->isa)->deform(&job);
}

void pelt_deform(const pelt_skin *skin, const void *scratch, pelt_range blocks, float *positions, float *normals) {
    pelt_deform_to(skin, scratch, blocks, &(pelt_output){.positions = positions, .normals = normals});
}
