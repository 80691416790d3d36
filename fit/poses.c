/* poses.c: a skin in many poses at once, for callers that have whole motions as arrays. */

#include "rig/rig.h"
#include <pelt/bind.h>

typedef struct posing {
    const pelt_skin *skin;
    const pelt_transform *locals;
    const float (*globals)[12];
    const float *controls;
    const uint32_t *vertices; /* of the slots: output is in the order of the mesh */
    float *positions, *normals;
} posing;

static void deform_frame(void *user, size_t frame, pelt_arena *scratch) {
    const posing *p = user;
    const pelt_skin *skin = p->skin;
    size_t joint = frame * skin->joint_count, vertex = 3 * frame * skin->vertex_count;
    pelt_pose_input input = {.locals = p->locals ? p->locals + joint : NULL,
                             .globals = p->globals ? p->globals + joint : NULL,
                             .controls = p->controls ? p->controls + frame * skin->control_count : NULL};
    pelt_output output = {.positions.data = p->positions + vertex,
                          .normals.data = p->normals ? p->normals + vertex : NULL,
                          .vertices = p->vertices};
    void *memory = pelt_alloc(scratch, pelt_scratch_size(skin), 1);
    pelt_pose_from(skin, &input, memory);
    pelt_deform_to(skin, memory, pelt_all_blocks(skin), &output);
}

pelt_result pelt_deform_poses(const pelt_skin *skin, uint32_t frame_count, const pelt_transform *locals,
                              const float (*globals)[12], const float *controls, uint32_t threads, float *positions,
                              float *normals, pelt_error *error) {
    if (PELT_MISSING(skin, error) || PELT_MISSING(positions, error)) return PELT_ERROR_ARGUMENT;
    if (!locals == !globals)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "a pose is either locals or globals; give exactly one of them");
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    uint32_t *vertices = PELT_NEW(arena, (size_t)skin->block_count * PELT_BLOCK, uint32_t);
    if (!vertices) return pelt_no_memory(error);
    pelt_slot_vertices(skin, vertices);
    posing p = {skin, locals, globals, controls, vertices, positions, normals};
    return pelt_parallel(arena, threads, frame_count, deform_frame, &p) ? PELT_OK : pelt_no_memory(error);
}
