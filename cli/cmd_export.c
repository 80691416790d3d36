/* cmd_export.c: pelt export: a skin as plain glTF that any engine plays. */

#include "cli/cli.h"
#include "pack/targets.h"
#include "pack/plain.h"
#include "io/io.h"
#include <string.h>

typedef struct exporting {
    const cli_args *args;
    pelt_arena *arena;
    pelt_bundle *bundle;
    pelt_bytes *bytes, *convex;
    pelt_skin skin;
    double cost[2]; /* rel_err on the training clips before and after --convex */
} exporting;

static bool measure_cost(exporting *x, pelt_examples examples, int which) {
    pelt_error error;
    pelt_measure *measure = pelt_measure_examples(&x->skin, x->bundle, examples, x->args->threads, &error);
    if (measure) x->cost[which] = measure->rel_err;
    if (!measure) cli_error(&error);
    pelt_measure_free(measure);
    return measure != NULL;
}

/* Refits the weights without negative ones and tells what that costs. */
static bool make_convex(exporting *x) {
    const pelt_clip **clips;
    size_t count;
    pelt_error error;
    if (!cli_value(x->args, "train"))
        return cli_misuse(x->args, "--convex refits weights to examples: --train CLIP,... says which"), false;
    if (pelt_has_corrective(&x->skin))
        return cli_fail("%s: its corrective belongs to its weights, so --convex cannot refit them; fit it again with "
                        "--blend file or --blend fit, which have no negative weights",
                        x->args->inputs[0]),
               false;
    if (!cli_clips(x->bundle, cli_value(x->args, "train"), PELT_NEED_POSITIONS, &clips, &count)) return false;
    pelt_examples examples = pelt_bundle_examples(x->bundle, clips, count);
    if (!measure_cost(x, examples, 0)) return false;
    x->convex = pelt_fit_convex(&x->skin, x->bundle, examples, x->args->threads, &error);
    if (!x->convex) return cli_error(&error), false;
    pelt_result result = pelt_open(x->convex->bytes, x->convex->size, &x->skin);
    if (result) return cli_fail("the refitted skin cannot be opened: %s", pelt_result_text(result)), false;
    const char *refitted = cli_value(x->args, "refitted");
    if (refitted && pelt_bytes_write(x->convex, refitted, &error)) return cli_error(&error), false;
    return measure_cost(x, examples, 1);
}

static uint32_t beyond_four(const pelt_mesh *mesh) {
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        count += mesh->influences.first[v + 1] - mesh->influences.first[v] > 4;
    return count;
}

/* The corrective as morph targets, and their weights in every frame of the clips: glTF morphs before it skins. */
static bool add_targets(exporting *x, const pelt_clip *const *clips, size_t clip_count, pelt_skin_targets *targets,
                        const float ***weights, pelt_error *error) {
    *weights = NULL;
    if (pelt_skin_targets_of(x->arena, &x->skin, !cli_value(x->args, "no-normals"), targets, error)) return false;
    if (!targets->count) return true;
    *weights = PELT_NEW(x->arena, clip_count + 1, const float *);
    if (!*weights) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the weights of targets"), false;
    for (size_t c = 0; c < clip_count; c++) {
        (*weights)[c] = pelt_skin_target_weights(x->arena, &x->skin, targets, x->bundle, clips[c], error);
        if (!(*weights)[c]) return false;
    }
    return true;
}

static int write_plain(exporting *x, const char *path) {
    const cli_args *args = x->args;
    const pelt_clip **clips = NULL;
    size_t count = 0;
    pelt_error error;
    pelt_model model;
    pelt_plain plain;
    pelt_skin_targets targets;
    const float **weights;
    if (cli_value(args, "clip") && !cli_clips(x->bundle, cli_value(args, "clip"), PELT_NEED_POSE, &clips, &count))
        return CLI_FAILED;
    if (count) cli_note_controls(args, &x->skin, x->bundle);
    if (pelt_model_unpack(x->arena, &x->skin, &model, &error) ||
        pelt_plain_make(x->arena, &model, x->bundle, clips, count, &plain, &error) ||
        !add_targets(x, clips, count, &targets, &weights, &error))
        return cli_fail("%s: %s", args->inputs[0], error.text);
    plain.mesh.targets = targets.positions, plain.mesh.target_count = targets.count;
    pelt_gltf_content content = {.mesh = &plain.mesh,
                                 .skeleton = &plain.skeleton,
                                 .clips = plain.clips,
                                 .clip_count = plain.clip_count,
                                 .clip_weights = weights,
                                 .target_normals = targets.normals,
                                 .source = x->bundle->path};
    if (cli_value(args, "embed")) content.embed = x->bytes, content.embed_joints = model.skeleton->joint_count;
    if (pelt_gltf_write(path, &content, &error)) return cli_error(&error);
    uint32_t many = beyond_four(&plain.mesh);
    cli_say(args, "%s: %u vertices, %u joints and %u driven ones as nodes, %u morph targets, %zu clips\n", path,
            model.vertex_count, model.skeleton->joint_count, model.driven_count, plain.mesh.target_count, count);
    if (x->convex)
        cli_say(args, "  --convex: rel_err on the training clips went from %.3f to %.3f\n", x->cost[0], x->cost[1]);
    if (content.embed) cli_say(args, "  with the skin inside, %zu bytes, for players that know pelt\n", x->bytes->size);
    if (x->bundle->clip_count > count && (model.driven_count || targets.count) && !args->quiet)
        cli_fail("note: %u of the %u clips in %s were not named by --clip: they are written as they are, without what "
                 "the skin adds to them",
                 x->bundle->clip_count - (uint32_t)count, x->bundle->clip_count, args->inputs[1]);
    if (many)
        cli_say(args, "  %u vertices follow more than 4 joints: engines that read only four will show them wrong\n",
                many);
    if (plain.worst > 1e-4)
        cli_say(args, "  the nodes are off by up to %.2g: a joint is scaled unevenly, and nodes cannot shear\n",
                plain.worst);
    json_t *object = cli_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:f}", "output", path, "skin", args->inputs[0],
                              "vertices", (int)model.vertex_count, "joints", (int)model.skeleton->joint_count, "driven",
                              (int)model.driven_count, "targets", (int)plain.mesh.target_count, "clips", (int)count,
                              "beyond_four", (int)many, "shear", plain.worst);
    if (x->convex)
        json_object_set_new(object, "convex",
                            cli_pack("{s:f, s:f}", "rel_err_before", x->cost[0], "rel_err_after", x->cost[1]));
    return cli_print_json(args, object);
}

static int run(const cli_args *args) {
    const char *path = cli_value(args, "output");
    if (!path) return cli_misuse(args, "-o OUT.glb (or OUT.gltf) says where the result goes; it is missing");
    exporting x = {.args = args, .arena = pelt_arena_new(0)};
    if (!x.arena) return cli_fail("not enough memory");
    pelt_error error;
    int code = CLI_FAILED;
    x.bytes = pelt_skin_read(args->inputs[0], &x.skin, &error);
    if (x.bytes) x.bundle = pelt_bundle_read(args->inputs[1], &error);
    if (!x.bundle)
        code = cli_error(&error);
    else if (!cli_value(args, "convex") || make_convex(&x))
        code = write_plain(&x, path);
    pelt_bundle_free(x.bundle);
    pelt_bytes_free(x.bytes), pelt_bytes_free(x.convex);
    pelt_arena_free(x.arena);
    return code;
}

const cli_command cli_export = {
    "export",
    "SKIN BUNDLE [--clip CLIP,...] -o OUT.glb",
    "Writes the character with a skin as plain glTF that any engine plays.",
    "OUT is BUNDLE with the skin in it: meshes, materials, pictures, nodes, cameras, extras and clips stay as they "
    "are.\n"
    "Weights and rest positions are those of the skin; driven joints become nodes whose motion is written down frame "
    "by\n"
    "frame for the clips that are named. Correctives (psd, eigen, kernel) become morph targets with tracks of "
    "weights, and\n"
    "with changes of normals, which --no-normals leaves out; wpsd has no such form and is refused. glTF forbids "
    "negative\n"
    "weights: --convex refits them.",
    run,
    2,
    2,
    {{"clip", "CLIP,...", "Clips to write driven joints and correctives into; the others stay as they are."},
     {"output", "OUT.glb", "The file to write: .glb, or .gltf with a .bin beside it."},
     {"embed", NULL, "Put the skin itself into OUT too, for players that know pelt; others do not see it."},
     {"no-normals", NULL, "Leave out what correctives do to normals: smaller, and engines shade it as the blend does."},
     {"convex", NULL, "Refit the weights without negative ones, on the same joints; needs --train."},
     {"train", "CLIP,...", "Clips to refit to."},
     {"refitted", "SKIN.pelt", "With --convex: also write the refitted skin, which moves just like OUT.glb."}},
};
