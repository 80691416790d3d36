/* cmd_eval.c: pelt eval: deform a clip and write it. */

#include "cli/eval.h"
#include "io/io.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frames per second of a clip, for formats that store it. */
static double frame_rate(const pelt_clip *clip) {
    if (clip->frame_count < 2) return 30;
    double span = (double)clip->times[clip->frame_count - 1] - clip->times[0];
    return span > 0 ? (clip->frame_count - 1) / span : 30;
}

/* A pose may be beyond what floats hold; nobody wants such a file. */
static pelt_result check_frame(const pelt_clip *clip, uint32_t frame, const float *positions, size_t count,
                               pelt_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(positions[i]))
            return pelt_fail(
                error, PELT_ERROR_NUMBER,
                "clip \"%s\", frame %u: vertex %zu comes to a place that is not finite; look at the pose with "
                "pelt info",
                clip->name, frame, i / 3);
    return PELT_OK;
}

pelt_result cli_deform(cli_deformer *d, const void *pose, float *positions, pelt_error *error) {
    pelt_result result = PELT_OK;
    if (d->device) {
        result = pelt_device_upload(d->device, 0, 1, &pose, error);
        if (!result) result = pelt_device_run(d->device, 1, 0, error);
        if (!result) result = pelt_device_read(d->device, 0, d->slots, NULL, error);
    } else {
        pelt_deform(d->skin, pose, pelt_all_blocks(d->skin), d->slots, NULL);
    }
    for (size_t v = 0; v < d->skin->vertex_count && !result; v++)
        memcpy(positions + 3 * v, d->slots + 3 * (size_t)d->skin->vertex_slots[v], 3 * sizeof *positions);
    return result;
}

static pelt_result deform_frame(cli_deformer *d, const pelt_clip *clip, uint32_t frame, float *positions,
                                pelt_error *error) {
    return cli_deform(d, pelt_player_pose(d->player, clip, frame), positions, error);
}

static pelt_result write_cache(const cli_args *args, cli_deformer *by, const pelt_bundle *bundle, const pelt_clip *clip,
                               const char *path, pelt_error *error) {
    float *positions = malloc(3 * (size_t)bundle->mesh.vertex_count * sizeof *positions);
    if (!positions) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for a frame");
    pelt_cache_writer *writer = pelt_cache_writer_open(path, clip->frame_count, &bundle->mesh, frame_rate(clip), error);
    pelt_progress progress = cli_progress(args);
    pelt_result result = writer ? PELT_OK : error->code;
    for (uint32_t f = 0; !result && f < clip->frame_count; f++) {
        pelt_should_stop(&progress, "deforming", (double)f / clip->frame_count);
        result = deform_frame(by, clip, f, positions, error);
        if (!result) result = check_frame(clip, f, positions, 3 * (size_t)bundle->mesh.vertex_count, error);
        if (!result) pelt_cache_writer_frame(writer, positions);
    }
    free(positions);
    if (!result) return pelt_cache_writer_commit(writer, error);
    pelt_cache_writer_drop(writer);
    return result;
}

/* The inverses of the blends that the file's own skin makes of each vertex in the rest pose; *flat counts those that
   have none, which get zeros. */
static pelt_affine *unblend_rest(pelt_arena *arena, const pelt_bundle *bundle, uint32_t *flat) {
    const pelt_influences *in = &bundle->mesh.influences;
    uint32_t n = bundle->mesh.vertex_count;
    pelt_affine *matrices = PELT_NEW(arena, bundle->skeleton.joint_count, pelt_affine);
    pelt_affine *inverses = PELT_NEW(arena, n, pelt_affine);
    if (pelt_arena_failed(arena)) return NULL;
    pelt_joint_matrices(&bundle->skeleton, bundle->skeleton.rest, NULL, matrices);
    *flat = 0;
    for (uint32_t v = 0; v < n; v++) {
        pelt_affine blend = {{0}};
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
            for (int k = 0; k < 12; k++) blend.m[k] += in->weights[i] * matrices[in->joints[i]].m[k];
        if (pelt_affine_invert(&blend, &inverses[v])) continue;
        inverses[v] = (pelt_affine){{0}};
        ++*flat;
    }
    return inverses;
}

/* Targets that the file's own skin, at rest, takes to the positions of every frame. */
static pelt_result make_targets(const cli_args *args, pelt_arena *arena, cli_deformer *by, const pelt_bundle *bundle,
                                pelt_mesh *mesh, const pelt_clip *clip, pelt_error *error) {
    uint32_t n = mesh->vertex_count, flat;
    mesh->targets = PELT_NEW(arena, clip->frame_count, pelt_target);
    uint32_t *all = PELT_NEW(arena, n, uint32_t);
    const pelt_affine *inverses = unblend_rest(arena, bundle, &flat);
    if (!mesh->targets || !all || !inverses) return pelt_no_memory(error);
    mesh->target_count = clip->frame_count;
    for (uint32_t v = 0; v < n; v++) all[v] = v;
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        float *deltas = PELT_NEW(arena, 3 * (size_t)n, float);
        char *name = pelt_arena_format(arena, "%s.%u", clip->name, f);
        if (!deltas || !name) return pelt_no_memory(error);
        if (deform_frame(by, clip, f, deltas, error)) return error->code;
        for (uint32_t v = 0; v < n; v++) {
            float *d = deltas + 3 * (size_t)v;
            const float *rest = mesh->positions + 3 * (size_t)v;
            double back[3];
            pelt_affine_point(&inverses[v], (double[3]){d[0], d[1], d[2]}, back);
            bool flattened = inverses[v].m[0] == 0 && !memcmp(inverses[v].m, inverses[v].m + 4, 8 * sizeof(double));
            for (int i = 0; i < 3; i++) d[i] = flattened ? 0 : (float)(back[i] - rest[i]);
        }
        mesh->targets[f] = (pelt_target){name, n, all, deltas};
    }
    if (flat && !args->quiet)
        cli_fail("note: %u vertices are flattened by joints of scale 0 in the rest pose of %s; they stay there", flat,
                 bundle->path);
    return PELT_OK;
}

/* A glTF file that any viewer plays: the file itself, where frame i is a morph target that is switched on at its time,
   while the skeleton rests. */
static pelt_result write_gltf(const cli_args *args, cli_deformer *by, const pelt_bundle *bundle, const pelt_clip *clip,
                              const char *path, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_mesh mesh = bundle->mesh;
    pelt_gltf_content content = {.mesh = &mesh, .play_targets = clip, .source = bundle->path};
    pelt_result result = arena ? make_targets(args, arena, by, bundle, &mesh, clip, error) : pelt_no_memory(error);
    if (!result) result = pelt_gltf_write(path, &content, error);
    pelt_arena_free(arena);
    return result;
}

static bool is_gltf(const char *path) { return pelt_ends_with(path, ".glb") || pelt_ends_with(path, ".gltf"); }

/* --device: opens it. False after a failure. */
static bool choose_deformer(const cli_args *args, cli_deformer *by, pelt_error *error) {
    const char *name = cli_value(args, "device");
    by->slots = aligned_alloc(PELT_ALIGN, pelt_output_size(by->skin));
    if (!by->slots) return pelt_no_memory(error), false;
    if (!name || !strcmp(name, "cpu")) return true;
    by->device = pelt_device_new(name, by->skin, 1, error);
    return by->device != NULL;
}

/* Deforms a clip, or writes its poses as they are. */
static int eval_clip(const cli_args *args, cli_deformer *by, const pelt_bundle *bundle, const pelt_clip *clip) {
    const char *path = cli_value(args, "output");
    pelt_error error;
    if (pelt_ends_with(path, ".poses") ? pelt_poses_write(path, bundle, clip, &error)
        : is_gltf(path)                ? write_gltf(args, by, bundle, clip, path, &error)
                                       : write_cache(args, by, bundle, clip, path, &error))
        return cli_error(&error), CLI_FAILED;
    cli_say(args, "%s: %u frames of %u vertices\n", path, clip->frame_count, by->skin->vertex_count);
    return cli_print_json(args, cli_pack("{s:s, s:s, s:s, s:i, s:i}", "output", path, "skin", args->inputs[0], "clip",
                                         clip->name, "frames", (int)clip->frame_count, "vertices",
                                         (int)by->skin->vertex_count));
}

static int check_words(const cli_args *args) {
    const char *clip = cli_value(args, "clip"), *live = cli_value(args, "live");
    if (!cli_value(args, "output")) return cli_misuse(args, "-o OUT says where the result goes; it is missing");
    if (!clip && !live) return cli_misuse(args, "--clip CLIP says what to deform, or --live STREAM; both are missing");
    if (clip && live) return cli_misuse(args, "--clip and --live are two things to deform: choose one");
    if (cli_value(args, "rate") && !live) return cli_misuse(args, "--rate is for --live");
    if (args->json && !strcmp(cli_value(args, "output"), "-"))
        return cli_misuse(args, "--json and positions cannot both go to standard output: name a file with -o");
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
    pelt_bundle *bundle = cli_bundle(args, args->inputs[1], &error);
    const pelt_clip *clip = bundle && name ? pelt_bundle_clip(bundle, name, PELT_NEED_POSE, &error) : NULL;
    pelt_player *player = clip || (bundle && !name) ? pelt_player_new(&skin, bundle, &error) : NULL;
    cli_deformer by = {.player = player, .skin = &skin};
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
    "Deforms a clip, or poses as they come, with a skin and writes the positions.",
    "OUT is a point cache (.pc2, .mdd, .npy), a folder of .obj files, or BUNDLE as a .glb or .gltf that plays in any\n"
    "viewer: all of the file stays, and the clip becomes one morph target per frame. OUT.poses are the clip's poses, "
    "as\n"
    "lines for --live.\n"
    "\n"
    "With --live a line is a pose: x y z w for every joint of BUNDLE in its order, or for those that a first line "
    "names.\n"
    "STREAM is a pipe, - for standard input, or a recorded file, which is played at --rate. OUT is an .npy file, or\n"
    "anything else (- is standard output) for plain little-endian floats, x y z of each vertex, frame after frame. It "
    "ends\n"
    "with the stream or by Ctrl-C, and says how late frames were.",
    run,
    2,
    2,
    {{"clip", "CLIP", "The clip to deform."},
     {"live", "STREAM", "Poses line by line, from a pipe, a file, or - for standard input.", CLI_INPUT},
     {"rate", "N", "--live: frames a second that are expected, and of recorded ones played; default 60."},
     {"output", "OUT", ".pc2 .mdd .npy .glb .gltf .poses, or a folder for .obj."},
     {"device", "D", "Who deforms: cpu (default), gl, cuda; one of several as gl:1."}},
    .example = "pelt eval arm.pelt arm.glb --clip test -o deformed.pc2",
};
