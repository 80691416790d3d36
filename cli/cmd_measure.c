/* cmd_measure.c: pelt measure: the error of a skin on a clip. */

#include "cli/cli.h"
#include "fit/about.h"

static int measure(const cli_args *args, const pelt_skin *skin, pelt_bundle *bundle) {
    const char *names = cli_value(args, "clip");
    const pelt_clip **clips;
    size_t clip_count;
    pelt_error error;
    if (!cli_clips(bundle, names, PELT_NEED_POSITIONS, &clips, &clip_count)) return CLI_FAILED;
    pelt_examples examples = pelt_bundle_examples(bundle, clips, clip_count);
    cli_note_controls(args, skin, bundle);
    pelt_measure *result = pelt_measure_examples(skin, bundle, examples, args->threads, &error);
    if (!result) return cli_error(&error);
    char text[200];
    cli_measure_text(result, text, sizeof text);
    cli_say(args, "%s on %s: %s, %u frames; worst: frame %u, vertex %u\n", args->inputs[0], names, text,
            result->frame_count, examples.list[result->worst_frame].frame, result->worst_vertex);
    json_t *object = pelt_measure_json(result, args->inputs[0], names, examples);
    pelt_measure_free(result);
    return cli_print_json(args, object);
}

static int run(const cli_args *args) {
    if (!cli_value(args, "clip")) return cli_misuse(args, "--clip CLIP says what to measure on; it is missing");
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(args->inputs[0], &skin, &error);
    if (!bytes) return cli_error(&error);
    pelt_bundle *bundle = pelt_bundle_read(args->inputs[1], &error);
    int code = bundle ? measure(args, &skin, bundle) : cli_error(&error);
    pelt_bundle_free(bundle);
    pelt_bytes_free(bytes);
    return code;
}

const cli_command cli_measure = {
    "measure",
    "SKIN BUNDLE --clip CLIP,...",
    "Error of a skin against the true positions of a clip.",
    "rms is over all frames and vertices, max the largest distance, both in scene units and in percent of the rest\n"
    "bounding box's diagonal. The others are relative to a linear blend with the file's own weights, less is better:\n"
    "rel_err; roughness, how much the error differs from that of the neighbours, which the eye sees as crumples\n"
    "(meshes of other sizes do not compare); jump, the largest change of the error from a frame to the next, where\n"
    "the clip is a motion.",
    run,
    2,
    2,
    {{"clip", "CLIP,...", "The clip to measure on; several are measured together."}},
};
