/* cmd_carry.c: pelt carry: a skin for another mesh of the same character. */

#include "cli/cli.h"

static int run(const cli_args *args) {
    const char *path = cli_value(args, "output");
    pelt_error error = {0};
    pelt_skin skin;
    if (!path) return cli_misuse(args, "-o OUT.pelt is missing: name the file to write");
    pelt_bytes *bytes = pelt_skin_read(args->inputs[0], &skin, &error), *made = NULL;
    pelt_bundle *from = bytes ? cli_bundle(args, args->inputs[1], &error) : NULL;
    pelt_bundle *to = from ? cli_bundle(args, args->inputs[2], &error) : NULL;
    if (to) made = pelt_carry_skin(bytes, from, to, &error);
    uint32_t vertices = to ? to->mesh.vertex_count : 0;
    size_t size = made ? made->size : 0;
    pelt_result result = cli_write_made(made ? PELT_OK : error.code, made, path, &error);
    pelt_bundle_free(from), pelt_bundle_free(to), pelt_bytes_free(bytes);
    if (result) return cli_error(&error);
    cli_say(args, "%s: %u vertices, carried from a skin with %u\n", path, vertices, skin.vertex_count);
    return cli_print_json(args, pelt_json_pack("{output:s, skin:s, from:s, to:s, vertices:u, bytes:z}", path,
                                               args->inputs[0], args->inputs[1], args->inputs[2], vertices, size));
}

const cli_command cli_carry = {
    "carry",
    "SKIN BUNDLE OTHER -o OUT.pelt",
    "Transfers a skin to another mesh of the same character, such as a simplified one.",
    "SKIN was made for the mesh in BUNDLE; OTHER has a different mesh with the same joints and rest pose. Each vertex "
    "of OTHER takes its weights and displacements from the nearest point on BUNDLE's rest surface, interpolated "
    "between the corners of the triangle there, so both meshes play the same poses. Levels of detail are carried over. "
    "Skins fitted with wpsd cannot be carried.",
    run,
    3,
    3,
    {{"output", "OUT.pelt", "The skin to write."}},
    .example = "pelt carry arm.pelt arm.glb arm-low.glb -o arm-low.pelt",
};
