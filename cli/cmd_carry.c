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
    cli_say(args, "%s: %u vertices, from a skin of %u\n", path, vertices, skin.vertex_count);
    return cli_print_json(args, pelt_json_pack("{output:s, skin:s, from:s, to:s, vertices:u, bytes:z}", path,
                                               args->inputs[0], args->inputs[1], args->inputs[2], vertices, size));
}

const cli_command cli_carry = {
    "carry",
    "SKIN BUNDLE OTHER -o OUT.pelt",
    "Makes the skin of another mesh of the same character, such as a simplified one.",
    "SKIN was made for the mesh of BUNDLE; OTHER has another mesh in the same rest pose, and the same joints. Each of "
    "its "
    "vertices gets the weights and displacements of the nearest point of BUNDLE's rest surface, mixed from the corners "
    "of its triangle, so both meshes run on the same poses. Levels of detail come along. Skins of wpsd cannot be "
    "carried.",
    run,
    3,
    3,
    {{"output", "OUT.pelt", "The skin to write."}},
    .example = "pelt carry arm.pelt arm.glb arm-low.glb -o arm-low.pelt",
};
