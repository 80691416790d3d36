/* cmd_export.c: pelt export: a skin as plain glTF that any engine plays. */

#include "cli/cli.h"
#include <pelt/export.h>

typedef struct exporting {
    const cli_args *args;
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

/* Refits the weights without negative ones and reports the cost. */
static bool make_convex(exporting *x) {
    const pelt_clip **clips;
    size_t count;
    pelt_error error;
    if (!cli_value(x->args, "train"))
        return cli_misuse(x->args, "--convex refits the weights to examples: name them with --train CLIP,..."), false;
    if (pelt_has_corrective(&x->skin))
        return cli_fail("%s: its corrective depends on its weights, so --convex cannot refit them; fit it again with "
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

/* Distance from the skin, in diagonals, from which refitted weights are worth a warning: it shows. */
#define SHOWS 0.01

/* Reports what fewer influences cost. */
static void say_refitted(const exporting *x, uint32_t influences, const pelt_export_report *r) {
    double diagonal = pelt_scene_diagonal(&x->bundle->mesh);
    if (!r->refitted_count) return;
    cli_say(x->args, "  %u vertices followed more than %u joints and were refitted to %u: ", r->refitted_count,
            influences, influences);
    if (!r->refitted_frames)
        cli_say(x->args, "by their weights alone, since there is no clip to measure the difference on\n");
    if (!r->refitted_frames) return;
    cli_say(x->args, "they are off by rms %.4g (%.2g%%), at most %.4g (%.2g%%), over %u poses of the clips\n",
            r->refitted_rms, 100 * r->refitted_rms / diagonal, r->refitted_worst, 100 * r->refitted_worst / diagonal,
            r->refitted_frames);
    if (r->refitted_worst > SHOWS * diagonal)
        cli_fail("warning: refitting the weights to %u joints moves a vertex by %.2g%% of the diagonal; fit the skin "
                 "with --influences %u, or export with a larger --influences N for players that read more",
                 influences, 100 * r->refitted_worst / diagonal, influences);
}

/* Distance from the skin, in diagonals, that is worth a warning. */
#define WORTH_A_WARNING 1e-4

/* Reports the error of the targets. */
static void say_targets(const exporting *x, const pelt_export_options *options, const pelt_export_report *r) {
    double diagonal = pelt_scene_diagonal(&x->bundle->mesh);
    uint32_t most = options->targets ? options->targets : PELT_EXPORT_TARGETS;
    if (!options->clip_count && r->target_count > most)
        cli_say(x->args,
                "  warning: %u morph targets are more than the %u that every player supports; name clips with --clip "
                "to approximate them on their frames\n",
                r->target_count, most);
    if (!r->compressed) return;
    if (!pelt_has_corrective(&x->skin)) {
        cli_say(
            x->args,
            "  %u targets turn normals, and players turn them wrongly where joints scale: off by %.2g degrees RMS\n",
            r->target_count, r->normal_rms_degrees);
        return;
    }
    if (r->whole_count)
        cli_say(x->args,
                "  the corrective's %u targets were reduced to %u, fitted to the frames of the clips: ", r->whole_count,
                r->target_count);
    else
        cli_say(x->args, "  wpsd is not a sum of targets; these were fitted to the frames of the clips: ");
    cli_say(x->args, "off by %.2g of the diagonal at most, %.2g RMS", r->worst / diagonal, r->rms / diagonal);
    if (r->normal_rms_degrees > 0) cli_say(x->args, ", normals by %.2g degrees RMS", r->normal_rms_degrees);
    cli_say(x->args, "\n");
    if (r->has_truth)
        cli_say(x->args, "  RMS error against the truth: the skin's %.4g (%.4f%%), the targets' %.4g (%.4f%%)\n",
                r->true_rms[0], 100 * r->true_rms[0] / diagonal, r->true_rms[1], 100 * r->true_rms[1] / diagonal);
    if (r->worst > WORTH_A_WARNING * diagonal)
        cli_say(x->args,
                "  warning: that is more than %g of the diagonal; allow more with --targets N if your players can, or "
                "put fewer clips in one file\n",
                WORTH_A_WARNING);
}

static void say_export(const exporting *x, const char *path, const pelt_export_options *options,
                       const pelt_export_report *r) {
    const cli_args *args = x->args;
    cli_say(args, "%s: %u vertices, %u joints and %u driven ones as nodes, %u morph targets, %zu clips\n", path,
            x->skin.vertex_count, x->skin.joint_count, r->driven_count, r->target_count, options->clip_count);
    if (r->pair_count) cli_say(args, "  negative weights became weights on %u extra nodes\n", r->pair_count);
    say_refitted(x, options->influences, r);
    say_targets(x, options, r);
    if (x->convex)
        cli_say(args, "  --convex: rel_err on the training clips went from %.3f to %.3f\n", x->cost[0], x->cost[1]);
    if (options->embed)
        cli_say(args, "  with the skin embedded, %zu bytes, for players that support pelt\n", x->bytes->size);
    if (x->bundle->clip_count > options->clip_count && (r->driven_count || r->target_count) && !args->quiet)
        cli_fail("note: --clip does not name %u of the %u clips in %s: they are written unchanged, without what the "
                 "skin would add",
                 x->bundle->clip_count - (uint32_t)options->clip_count, x->bundle->clip_count, args->inputs[1]);
    if (r->beyond_four)
        cli_fail("warning: %u vertices follow more than 4 nodes: players that read only four deform them wrongly",
                 r->beyond_four);
    if (r->shear > 1e-4)
        cli_say(args, "  the nodes are off by up to %.2g: a joint is scaled unevenly, and glTF nodes cannot shear\n",
                r->shear);
}

static json_t *targets_json(const exporting *x, const pelt_export_report *r) {
    double diagonal = pelt_scene_diagonal(&x->bundle->mesh);
    json_t *out = pelt_json_pack("{whole:u, max_fraction:f, rms_fraction:f, normal_rms_degrees:f}", r->whole_count,
                                 r->worst / diagonal, r->rms / diagonal, r->normal_rms_degrees);
    if (r->has_truth)
        json_object_set_new(out, "truth",
                            pelt_json_pack("{rms_fraction_before:f, rms_fraction_after:f}", r->true_rms[0] / diagonal,
                                           r->true_rms[1] / diagonal));
    return out;
}

static json_t *export_json(const exporting *x, const char *path, size_t clip_count, const pelt_export_report *r) {
    json_t *object = pelt_json_pack(
        "{output:s, skin:s, vertices:u, joints:u, driven:u, targets:u, clips:z, beyond_four:u, shear:f, pairs:u}", path,
        x->args->inputs[0], x->skin.vertex_count, x->skin.joint_count, r->driven_count, r->target_count, clip_count,
        r->beyond_four, r->shear, r->pair_count);
    if (r->refitted_count)
        json_object_set_new(object, "refitted",
                            pelt_json_pack("{vertices:u, poses:u, rms:f, max:f, rms_fraction:f, max_fraction:f}",
                                           r->refitted_count, r->refitted_frames, r->refitted_rms, r->refitted_worst,
                                           r->refitted_rms / pelt_scene_diagonal(&x->bundle->mesh),
                                           r->refitted_worst / pelt_scene_diagonal(&x->bundle->mesh)));
    if (r->compressed) json_object_set_new(object, "compressed", targets_json(x, r));
    if (x->convex)
        json_object_set_new(object, "convex",
                            pelt_json_pack("{rel_err_before:f, rel_err_after:f}", x->cost[0], x->cost[1]));
    return object;
}

static int write_plain(exporting *x, pelt_export_options options, const char *path) {
    const cli_args *args = x->args;
    const pelt_clip **clips = NULL;
    pelt_error error;
    pelt_export_report report;
    if (cli_value(args, "clip") &&
        !cli_clips(x->bundle, cli_value(args, "clip"), PELT_NEED_POSE, &clips, &options.clip_count))
        return CLI_FAILED;
    options.clips = clips;
    if (options.clip_count) cli_note_controls(args, &x->skin, x->bundle);
    if (pelt_export(&x->skin, x->bundle, &options, path, &report, &error)) return cli_error(&error);
    say_export(x, path, &options, &report);
    return cli_print_json(args, export_json(x, path, options.clip_count, &report));
}

static int run(const cli_args *args) {
    const char *path = cli_value(args, "output");
    if (!path) return cli_misuse(args, "-o OUT.glb (or OUT.gltf) is missing: name the file to write");
    exporting x = {.args = args};
    pelt_export_options options = {.plain_normals = cli_value(args, "no-normals") != NULL, .threads = args->threads};
    options.influences = 4;
    if (!cli_count(args, "targets", &options.targets) || !cli_count(args, "influences", &options.influences))
        return CLI_MISUSE;
    pelt_error error;
    int code = CLI_FAILED;
    x.bytes = pelt_skin_read(args->inputs[0], &x.skin, &error);
    if (cli_value(args, "embed")) options.embed = x.bytes;
    if (x.bytes) x.bundle = cli_bundle(args, args->inputs[1], &error);
    if (!x.bundle)
        code = cli_error(&error);
    else if (!cli_value(args, "convex") || make_convex(&x))
        code = write_plain(&x, options, path);
    pelt_bundle_free(x.bundle);
    pelt_bytes_free(x.bytes), pelt_bytes_free(x.convex);
    return code;
}

const cli_command cli_export = {
    "export",
    "SKIN BUNDLE [--clip CLIP,...] -o OUT.glb",
    "Writes the character with its skin as plain glTF that any engine plays.",
    "OUT is BUNDLE with the skin in it: materials, images, nodes, cameras, extras and clips stay as they are, while "
    "weights and rest positions come from the skin. Driven joints become nodes whose motion is baked frame by frame "
    "for the named clips; so do the pairs of joints that replace negative weights. Correctives become morph targets "
    "with weight tracks from 0 to 1 and with normal deltas, which --no-normals omits. If there would be more than "
    "--targets, or if the corrective is not a sum of targets (wpsd), the targets are the best approximation over the "
    "frames of the clips, and its error is reported.",
    run,
    2,
    2,
    {{"clip", "CLIP,...", "Clips to bake driven joints and correctives into; the others stay as they are."},
     {"output", "OUT.glb", "The file to write: .glb, or .gltf with a .bin."},
     {"embed", NULL, "Also embed the skin itself in OUT, for players that support pelt; others ignore it."},
     {"no-normals", NULL, "Omit normal deltas: the file is smaller, and engines shade it like the plain blend."},
     {"targets", "N", "Most morph targets to write; default 192, which every WebGL2 device supports."},
     {"influences", "N",
      "Most nodes per vertex; default 4, because many players read no more. Vertices that follow more are refitted to "
      "the poses of all clips."},
     {"convex", NULL,
      "Refit the weights so that none is negative, on the same joints; this needs fewer nodes. Requires --train."},
     {"train", "CLIP,...", "Clips to refit to."},
     {"refitted", "SKIN.pelt", "--convex: also write the refitted skin, which moves exactly like OUT.glb.",
      CLI_OUTPUT}},
    .example = "pelt export arm.pelt arm.glb --clip test -o plain.glb",
};
