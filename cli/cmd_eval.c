/* cmd_eval.c: pelt eval: deform a clip and write it. */

#include "cli/eval.h"
#include <pelt/export.h>
#include <stdlib.h>
#include <string.h>

/* The device as pelt_export_frames calls it. */
static pelt_result run_device(void *user, const void *pose, float *slots, pelt_error *error) {
    pelt_device *device = user;
    pelt_result result = pelt_device_upload(device, 0, 1, &pose, error);
    if (!result) result = pelt_device_run(device, 1, 0, error);
    return result ? result : pelt_device_read(device, 0, slots, NULL, error);
}

pelt_result cli_deform(cli_deformer *d, const void *pose, float *positions, pelt_error *error) {
    pelt_result result = PELT_OK;
    if (d->device)
        result = run_device(d->device, pose, d->slots, error);
    else
        pelt_deform(d->skin, pose, pelt_all_blocks(d->skin), d->slots, NULL);
    for (size_t v = 0; v < d->skin->vertex_count && !result; v++)
        memcpy(positions + 3 * v, d->slots + 3 * (size_t)d->skin->vertex_slots[v], 3 * sizeof *positions);
    return result;
}

/* --device: opens it. False after a failure. */
static bool choose_deformer(const cli_args *args, cli_deformer *by, pelt_error *error) {
    const char *name = cli_value(args, "device");
    by->slots = aligned_alloc(PELT_ALIGN, pelt_output_size(by->skin));
    if (!by->slots) return pelt_no_memory(error), false;
    if (!name || !strcmp(name, "cpu")) return true;
    by->device = pelt_device_new(name, by->skin, 1, error);
    return by->device != NULL;
}

/* --like CACHE, or CLIP=CACHE for a cache of another clip. */
static void choose_form(const cli_args *args, pelt_bundle *bundle, pelt_export_frames_options *options) {
    const char *like = cli_value(args, "like"), *equals = like ? strchr(like, '=') : NULL;
    options->like = like;
    for (uint32_t c = 0; equals && c < bundle->clip_count; c++) {
        const char *name = bundle->clips[c]->name;
        if (strncmp(like, name, strlen(name)) || like[strlen(name)] != '=') continue;
        options->like_clip = bundle->clips[c], options->like = like + strlen(name) + 1;
    }
}

/* Deforms a clip, or writes just its poses. */
static int eval_clip(const cli_args *args, cli_deformer *by, pelt_bundle *bundle, const pelt_clip *clip) {
    const char *path = cli_value(args, "output");
    pelt_error error;
    uint32_t flat;
    pelt_export_frames_options options = {.deform = by->device ? run_device : NULL,
                                          .user = by->device,
                                          .progress = cli_progress(args),
                                          .flattened = &flat};
    choose_form(args, bundle, &options);
    if (pelt_export_frames(by->skin, bundle, clip, &options, path, &error)) return cli_error(&error), CLI_FAILED;
    if (flat && !args->quiet)
        cli_fail(
            "note: joints with a scale of 0 flatten %u vertices in the rest pose of %s; these vertices are left there",
            flat, bundle->path);
    int code = cli_value(args, "confidence") ? cli_write_confidence(args, by, clip) : CLI_DONE;
    if (code) return code;
    if (options.like)
        cli_say(args, "%s: clip %s, in the layout of %s\n", path, clip->name, options.like);
    else
        cli_say(args, "%s: %u frames of %u vertices\n", path, clip->frame_count, by->skin->vertex_count);
    return cli_print_json(args, pelt_json_pack("{output:s, skin:s, clip:s, frames:u, vertices:u}", path,
                                               args->inputs[0], clip->name, clip->frame_count, by->skin->vertex_count));
}

static int check_words(const cli_args *args) {
    const char *clip = cli_value(args, "clip"), *live = cli_value(args, "live");
    if (!cli_value(args, "output")) return cli_misuse(args, "-o OUT is missing: name the file to write");
    if (!clip && !live) return cli_misuse(args, "--clip CLIP or --live STREAM is missing: name the motion to deform");
    if (clip && live) return cli_misuse(args, "--clip and --live cannot be used together: choose one");
    if (cli_value(args, "like") && live) return cli_misuse(args, "--like needs --clip: a stream has no frame numbers");
    const char *confidence = cli_value(args, "confidence");
    if (confidence && live) return cli_misuse(args, "--confidence needs --clip: a stream may never end");
    if (confidence && !cli_is_confidence_file(confidence))
        return cli_misuse(args, "--confidence %s: the file must be a .csv, .json or .npy", confidence);
    if (cli_value(args, "rate") && !live) return cli_misuse(args, "--rate needs --live");
    if (args->json && !strcmp(cli_value(args, "output"), "-"))
        return cli_misuse(args, "--json and the positions cannot both go to standard output: name a file with -o");
    return CLI_DONE;
}

static int run(const cli_args *args) {
    const char *name = cli_value(args, "clip");
    int code = check_words(args);
    if (code) return code;
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(args->inputs[0], &skin, &error);
    if (!bytes) return cli_error(&error);
    if (!cli_level(args, &skin)) return pelt_bytes_free(bytes), CLI_MISUSE;
    pelt_bundle *bundle = cli_bundle(args, args->inputs[1], &error);
    const pelt_clip *clip = bundle && name ? pelt_bundle_clip(bundle, name, PELT_NEED_POSE, &error) : NULL;
    pelt_player *player = clip || (bundle && !name) ? pelt_player_new(&skin, bundle, &error) : NULL;
    cli_deformer by = {.player = player, .skin = &skin};
    if (cli_value(args, "confidence") && !skin.confidence) {
        pelt_bytes_free(bytes), pelt_bundle_free(bundle), pelt_player_free(player);
        return cli_fail(
            "%s cannot predict its own errors: fit it again with more examples, and without --no-confidence",
            args->inputs[0]);
    }
    if (player) cli_note_controls(args, &skin, bundle);
    if (!bundle) {
        code = cli_error(&error);
    } else if (!player || !choose_deformer(args, &by, &error)) {
        cli_error(&error), code = CLI_FAILED;
    } else {
        code = clip ? eval_clip(args, &by, bundle, clip) : cli_eval_live(args, &by, bundle);
    }
    pelt_device_free(by.device);
    free(by.slots);
    pelt_player_free(player);
    pelt_bundle_free(bundle);
    pelt_bytes_free(bytes);
    return code;
}

const cli_command cli_eval = {
    "eval",
    "SKIN BUNDLE --clip CLIP|--live STREAM -o OUT",
    "Deforms a clip or a stream of poses with a skin and writes the positions.",
    "OUT is a point cache (.pc2, .mdd, .npy), a folder of .obj files, or BUNDLE as a .glb or .gltf that plays in any "
    "viewer: everything in the file is kept, and the clip becomes one morph target per frame. OUT.poses holds the "
    "clip's poses as lines for --live.\n\nWith --live, each line is a pose: a quaternion x y z w for every joint of "
    "BUNDLE in order, or for the joints that the first line names. STREAM is a pipe, - for standard input, or a "
    "recorded file, which is played at --rate. If OUT is not an .npy file, it gets plain little-endian floats, x y z "
    "of each vertex, frame by frame; - is standard output. The command ends with the stream or on Ctrl-C, and reports "
    "how late frames were.",
    run,
    2,
    2,
    {{"clip", "CLIP", "The clip to deform."},
     {"live", "STREAM", "Poses line by line, from a pipe, a file, or - for standard input.", CLI_INPUT},
     {"rate", "N", "--live: frames per second, expected or played from a recording; default 60."},
     {"output", "OUT", ".pc2 .mdd .npy .glb .gltf .poses, or a folder for .obj."},
     {"like", "CACHE",
      "Match the layout of this cache of the character: its point order, axes, scale and frame numbers. CLIP=CACHE if "
      "it is of another clip.",
      CLI_INPUT},
     CLI_LEVEL_OPTION,
     {"confidence", "FILE",
      "Also write the expected error of every frame, overall and by region, as .csv, .json or .npy.", CLI_OUTPUT},
     {"device", "D", "Where to deform: cpu (default), gl or cuda; gl:1 picks one of several devices."}},
    .example = "pelt eval arm.pelt arm.glb --clip test -o deformed.pc2",
};
