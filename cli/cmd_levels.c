/* cmd_levels.c: pelt levels: adds levels of detail to a skin. */

#include "cli/cli.h"

static int add_levels(const cli_args *args, const pelt_bytes *skin, pelt_bundle *bundle) {
    const char *path = cli_value(args, "output");
    const pelt_clip **clips;
    size_t clip_count;
    pelt_examples examples;
    pelt_error error = {0};
    if (!cli_clips(bundle, cli_value(args, "clip"), PELT_NEED_POSE, &clips, &clip_count) ||
        !cli_examples(args, bundle, clips, clip_count, &examples))
        return CLI_FAILED;
    pelt_bytes *made = pelt_fit_levels(skin, bundle, examples, &error);
    pelt_skin opened;
    json_t *levels = NULL;
    if (made && !pelt_open(made->bytes, made->size, &opened)) {
        cli_say(args, "%s: %u levels\n", path, pelt_level_count(&opened));
        levels = cli_say_levels(args, &opened);
    }
    size_t size = made ? made->size : 0;
    if (cli_write_made(made ? PELT_OK : error.code, made, path, &error)) return json_decref(levels), cli_error(&error);
    return cli_print_json(args, pelt_json_pack("{output:s, skin:s, bytes:z, levels:o}", path, args->inputs[0], size,
                                               levels ? levels : json_array()));
}

static int run(const cli_args *args) {
    pelt_error error;
    pelt_skin skin;
    if (!cli_value(args, "output")) return cli_misuse(args, "-o OUT.pelt is missing: name the file to write");
    if (!cli_value(args, "clip"))
        return cli_misuse(args,
                          "--clip CLIP is missing: name example clips, preferably those that the skin was fitted to");
    pelt_bytes *bytes = pelt_skin_read(args->inputs[0], &skin, &error);
    if (!bytes) return cli_error(&error);
    pelt_bundle *bundle = cli_bundle(args, args->inputs[1], &error);
    int code = bundle ? add_levels(args, bytes, bundle) : cli_error(&error);
    pelt_bundle_free(bundle);
    pelt_bytes_free(bytes);
    return code;
}

const cli_command cli_levels = {
    "levels",
    "SKIN BUNDLE --clip CLIP,... -o OUT.pelt",
    "Adds levels of detail to a skin, for distant characters.",
    "Level 0 is the whole skin. Levels 1 and 2 keep the half and the quarter of the displacements that matter most in "
    "the clips; level 3 has none, and the last two levels have two joints per vertex and one. A level that is less "
    "accurate than a cheaper one is left out. The skin records how far each level strays from level 0 in the clips, so "
    "that players can choose by it. `pelt fit --levels` does the same in one step.",
    run,
    2,
    2,
    {{"clip", "CLIP,...",
      "Clips that decide which displacements matter; preferably those that the skin was fitted to."},
     {"every", "N", "Use only every N-th frame of the clips."},
     {"output", "OUT.pelt", "The skin to write."}},
    .example = "pelt levels arm.pelt arm.glb --clip train -o arm-levels.pelt",
};
