/* sample_hand.c: pelt sample hand: the experiment of EigenSkin (Kry, James & Pai 2002, 4): a hand by formula, with a bone in
   each segment, in the poses of its sweeps ("train") and in grasps ("test"), by the flesh within its skin. */

#include "cli/flesh.h"
#include "io/io.h"
#include <string.h>

/* All frames of all clips, one after the other. */
static bool take_poses(pelt_bundle *bundle, flesh_order *o) {
    size_t joints = bundle->skeleton.joint_count, at = 0;
    flesh_clip *clips = PELT_NEW(bundle->arena, bundle->clip_count, flesh_clip);
    for (uint32_t c = 0; c < bundle->clip_count; c++) o->frame_count += bundle->clips[c]->frame_count;
    pelt_transform *poses = PELT_NEW(bundle->arena, o->frame_count * joints, pelt_transform);
    if (!clips || !poses) return cli_fail("not enough memory"), false;
    for (uint32_t c = 0; c < bundle->clip_count; c++) {
        clips[c] = (flesh_clip){bundle->clips[c]->name, at, bundle->clips[c]->frame_count};
        for (uint32_t f = 0; f < bundle->clips[c]->frame_count; f++, at++)
            pelt_clip_pose(bundle->clips[c], &bundle->skeleton, f, poses + at * joints);
    }
    o->poses = poses, o->clips = clips, o->clip_count = bundle->clip_count;
    return true;
}

int sample_simulated_hand(const cli_args *args, pelt_bundle *bundle, const char *folder) {
    pelt_error error;
    pelt_volume volume;
    char path[4096];
    uint32_t tetrahedra = 0;
    pelt_volume_options options = {.threads = args->threads};
    flesh_order order = {
        .bundle = bundle, .volume = &volume, .output = path, .fat = 1, .poisson = 0.45, .no_contact = true};
    if (!cli_count(args, "resolution", &tetrahedra)) return CLI_MISUSE;
    if (tetrahedra) options.cell = pelt_volume_cell(&bundle->mesh, tetrahedra);
    snprintf(path, sizeof path, "%s/hand.glb", folder);
    order.resume = cli_value(args, "resume") != NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    if (pelt_volume_build(arena, bundle, &options, &volume, &error)) return cli_error(&error);
    if (!take_poses(bundle, &order)) return CLI_FAILED;
    cli_say(args, "%s: %u vertices, %u joints, %u bones, %u tetrahedra, %zu poses\n", path, bundle->mesh.vertex_count,
            bundle->skeleton.joint_count, volume.bones.count, volume.element_count, order.frame_count);
    json_t *figures = pelt_json_pack("{vertices:u, joints:u, bones:u, tetrahedra:u}", bundle->mesh.vertex_count,
                                     bundle->skeleton.joint_count, volume.bones.count, volume.element_count);
    int code = flesh_run(args, &order, figures);
    json_decref(figures);
    return code;
}
