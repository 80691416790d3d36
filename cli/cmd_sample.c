/* cmd_sample.c: pelt sample: writes a built-in character as a bundle. */

#include "cli/cli.h"
#include "io/io.h"
#include "samples/samples.h"
#include <pelt/export.h>
#include <string.h>

static int write_bundle(const cli_args *args, const pelt_bundle *bundle, const char *name, const char *folder) {
    pelt_error error;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.glb", folder, name);
    if (pelt_export_bundle(bundle, path, &error)) return cli_error(&error);
    cli_say(args, "%s: %u vertices, %u joints\n", path, bundle->mesh.vertex_count, bundle->skeleton.joint_count);
    for (uint32_t c = 0; c < bundle->clip_count; c++) {
        const pelt_clip *clip = bundle->clips[c];
        cli_say(args, "%s/%s.%s.pc2: %u frames\n", folder, name, clip->name, clip->frame_count);
        if (clip->controls)
            cli_say(args, "%s/%s.%s.csv: %u controls\n", folder, name, clip->name, bundle->controls.count);
    }
    cli_say_next(args, "fit %s --train train -o %s.pelt", path, name);
    return cli_print_json(args,
                          pelt_json_pack("{sample:s, folder:s, vertices:u, joints:u, clips:u}", name, folder,
                                         bundle->mesh.vertex_count, bundle->skeleton.joint_count, bundle->clip_count));
}

pelt_result cli_sample_files(const char *name, const char *folder, char *scene, size_t size, pelt_error *error) {
    pelt_bundle *bundle = pelt_sample_make(&(pelt_sample_options){.name = name, .vertices = 2972, .seed = 1}, error);
    pelt_result result = bundle ? PELT_OK : error->code;
    if (!result) result = pelt_folder_make(folder, error);
    snprintf(scene, size, "%s/%s.glb", folder, name);
    if (!result) result = pelt_export_bundle(bundle, scene, error);
    pelt_bundle_free(bundle);
    return result;
}

/* The user's own character, FILE.glb: DIR/FILE.glb has its mesh and skeleton, and clips with a known truth. */
static int write_known(const cli_args *args, const pelt_sample_options *options, const char *folder) {
    pelt_error error;
    char name[256], path[4096];
    snprintf(name, sizeof name, "%s", pelt_base_name(options->name));
    if (strrchr(name, '.')) *strrchr(name, '.') = 0;
    snprintf(path, sizeof path, "%s/%s.glb", folder, name);
    if (!cli_may_write(args, path, options->name)) return CLI_MISUSE;
    pelt_bundle *bundle = pelt_bundle_read(options->name, &error);
    if (!bundle) return cli_error(&error);
    for (uint32_t c = 0; c < bundle->clip_count;
         c++) /* its clips of these names would be mixed with ours: a new file */
        if (!strcmp(bundle->clips[c]->name, "train") || !strcmp(bundle->clips[c]->name, "test")) bundle->in_memory = 1;
    int code = pelt_sample_known(bundle, options, &error) || pelt_folder_make(folder, &error)
                   ? cli_error(&error)
                   : write_bundle(args, bundle, name, folder);
    pelt_bundle_free(bundle);
    return code;
}

static int run(const cli_args *args) {
    const char *folder = cli_value(args, "output");
    if (!folder) return cli_misuse(args, "-o DIR is missing: name the folder to write to");
    pelt_sample_options options = {.name = args->inputs[0],
                                   .seed = args->seed,
                                   .variant = cli_value(args, "variant"),
                                   .truth = cli_value(args, "truth")};
    if (!cli_count(args, "vertices", &options.vertices) || !cli_count(args, "frames", &options.frames))
        return CLI_MISUSE;
    bool face = !strcmp(options.name, "face"), hand = !strcmp(options.name, "hand"), file = pelt_is_gltf(options.name);
    if (options.variant && (face || file)) return cli_misuse(args, "--variant does not apply to %s", options.name);
    if (options.truth && !file)
        return cli_misuse(args, "--truth applies to FILE.glb: %s has its own true shapes", options.name);
    if (!hand && (cli_value(args, "resolution") || cli_value(args, "resume")))
        return cli_misuse(args, "--resolution and --resume apply to hand: %s is not simulated", options.name);
    if (file && options.vertices) return cli_misuse(args, "--vertices does not apply to %s", options.name);
    if (file) return write_known(args, &options, folder);
    pelt_error error;
    pelt_bundle *bundle = face ? NULL : pelt_sample_make(&options, &error);
    if (!face && !bundle) return cli_error(&error);
    int code = pelt_folder_make(folder, &error) ? cli_error(&error)
               : face                           ? sample_face(args, folder, options.vertices)
               : hand                           ? sample_simulated_hand(args, bundle, folder)
                                                : write_bundle(args, bundle, options.name, folder);
    pelt_bundle_free(bundle);
    return code;
}

const cli_command cli_sample = {
    "sample",
    "NAME|FILE.glb -o DIR",
    "Writes a built-in character, or your own with a known deformation, as a bundle of examples.",
    "NAME is box (a twisting box), elbow (a bending tube), arm (collar to hand, with muscle, twist and crease), biceps "
    "(the arm's elbow, with a control \"tension\" in .csv files), wrist (the arm's wrist, twisting by 170 degrees), "
    "humanoid (53 joints, for speed) or hand (EigenSkin's experiment: sweeps and grasps of 16 joints, simulated with "
    "finite elements as `pelt flesh` does, in about two minutes of CPU time). Their true shapes, except the hand's, "
    "follow a formula that linear blending cannot match; those of humanoid are the blend itself. face is a slow face "
    "rig for `pelt keys`: clips of points (.npy) with their controls (.csv).\n\nFILE.glb is your own character, with "
    "weights. DIR/FILE.glb keeps everything in the file and gets clips whose true shapes follow a formula: limbs twist "
    "evenly along their length and swell where joints bend. With these you can compare methods before you have "
    "examples.",
    run,
    1,
    1,
    {{"output", "DIR", "The folder to write to; created if missing."},
     {"vertices", "N", "Number of vertices, such as 2972, 11574 or 46036."},
     {"frames", "N", "Examples per clip; FILE.glb: in addition to those that rotate a single joint."},
     {"resolution", "N", "hand: approximate number of tetrahedra; default 30000."},
     {"resume", NULL, "hand: continue an interrupted run."},
     {"variant", "V",
      "Split vertices as files do: seam (along a texture seam), mirror (both sides share half a texture), split (every "
      "triangle separately), flat (also with flat shading), edges (hard edges)."},
     {"truth", "T",
      "FILE.glb: true shapes by swelling limbs (swell, the default), by dual quaternion skinning (dual), or by delta "
      "mush over the blend (mush)."},
     {"face", "FILE.glb", "face: use this face, with ARKit's 51 shapes, instead of the built-in one.", CLI_INPUT},
     {"curves", "FILE.csv", "face: captured curves under ARKit's names; a third is for training, the rest for testing.",
      CLI_INPUT},
     {"test-frames", "N", "face: frames of the test clip; default: as many as in the training clip."},
     {"range-frames", "N", "face: number of range-of-motion poses; default: a quarter of the training clip."},
     {"hold-out", "CONTROL,...", "face: also write the training clips without these controls."},
     {"controls-only", NULL, "face: write controls but no points; `pelt keys --engine face` makes them."}},
    .example = "pelt sample arm -o .",
    .first_words = "box|elbow|arm|biceps|wrist|humanoid|hand|face",
};
