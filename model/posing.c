/* posing.c: poses a packed skin in the frames of a bundle's clips. */

#include "model/posing.h"
#include "runtime/loops.h"

pelt_result pelt_posing_open(pelt_arena *arena, const pelt_skin *skin, const pelt_bundle *bundle, pelt_posing *out,
                             pelt_error *error) {
    uint32_t *joints = PELT_NEW(arena, skin->joint_count, uint32_t);
    uint32_t *controls = PELT_NEW(arena, skin->control_count, uint32_t);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    *out = (pelt_posing){skin, bundle, joints, controls};
    pelt_match_controls(skin, &bundle->controls, controls);
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        const char *name = skin->names + skin->joints[j].name;
        joints[j] = pelt_joint_named(&bundle->skeleton, name, j); /* usually the same */
        if (joints[j] == bundle->skeleton.joint_count)
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s has no joint \"%s\", which the skin needs; the skin was made for another skeleton",
                             bundle->path, name);
    }
    return PELT_OK;
}

void pelt_posing_frame(const pelt_posing *posing, const pelt_clip *clip, uint32_t frame, pelt_arena *arena,
                       pelt_transform *locals, void *scratch) {
    const pelt_skin *skin = posing->skin;
    const pelt_bundle *bundle = posing->bundle;
    pelt_transform *all = PELT_NEW(arena, bundle->skeleton.joint_count, pelt_transform);
    float *row = PELT_NEW(arena, bundle->controls.count, float);
    float *controls = PELT_NEW(arena, skin->control_count, float);
    if (!locals) locals = PELT_NEW(arena, skin->joint_count, pelt_transform);
    pelt_clip_pose(clip, &bundle->skeleton, frame, all);
    for (uint32_t j = 0; j < skin->joint_count; j++) locals[j] = all[posing->joints[j]];
    pelt_matched_controls(skin, &bundle->controls, posing->controls, clip, frame, row, controls);
    pelt_pose_from(skin, &(pelt_pose_input){.locals = locals, .controls = controls}, scratch);
}

void pelt_posing_unblended(const pelt_skin *skin, void *scratch, const uint32_t *slot_vertices, float *positions,
                           float *normals) {
    float *palette = (float *)((char *)scratch + pelt_pose_layout(skin).palette);
    for (uint32_t j = 0; j < pelt_matrix_count(skin); j++)
        for (int i = 0; i < 12; i++) palette[(size_t)j * PALETTE_STRIDE + (size_t)i] = i % 5 == 0;
    *(pelt_pose_head *)scratch = (pelt_pose_head){.rigid = 1, .level = ((pelt_pose_head *)scratch)->level};
    pelt_deform_to(skin, scratch, pelt_all_blocks(skin),
                   &(pelt_output){.positions.data = positions, .normals.data = normals, .vertices = slot_vertices});
}
