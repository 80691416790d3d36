/* files.c: catches mistakes with files: an output that is one of the inputs, or the truth of a clip; a skin in place of
   a bundle. Files are compared by identity, not by name. */

#include "cli/cli.h"
#include "io/io.h"
#include "runtime/format.h"
#include <stdlib.h>
#include <string.h>

/* Iterates over the outputs of a call: the next option that names one, from *index on; NULL at the end. */
static const char *next_output(const cli_args *args, int *index) {
    for (; args->command->options[*index].name; (*index)++)
        if (args->values[*index] && cli_kind_of(&args->command->options[*index]) == CLI_OUTPUT)
            return args->values[(*index)++];
    return NULL;
}

bool cli_may_write(const cli_args *args, const char *path, const char *input) {
    if (cli_value(args, "overwrite") || !input || !pelt_same_file(path, input)) return true;
    cli_misuse(args, "%s would be overwritten: it is the input %s; name another output, or use --overwrite", path,
               input);
    return false;
}

static bool is_input(const cli_args *args, const char *input) {
    int index = 0;
    for (const char *output; (output = next_output(args, &index));)
        if (!cli_may_write(args, output, input)) return true;
    return false;
}

/* Files of "CLIP=FILE,...": clip and file names may contain a =. */
static bool any_is_input(const cli_args *args, const char *clips) {
    size_t count;
    char **list = cli_list(clips, &count);
    bool found = false;
    for (size_t i = 0; list && i < count; i++)
        for (const char *equals = strchr(list[i], '='); equals && !found; equals = strchr(equals + 1, '='))
            found = is_input(args, equals + 1);
    cli_list_free(list);
    return found;
}

/* A clip of points and its table belong together: face.test.npy and face.test.csv. */
static bool partner_is_input(const cli_args *args, const char *path) {
    static const char *const endings[] = {".csv", ".npy", ".pc2", ".mdd"};
    char partner[4096];
    for (size_t i = 0; i < 4; i++) {
        if (!pelt_ends_with(path, endings[i])) continue;
        for (size_t k = 0; k < 4; k++) {
            snprintf(partner, sizeof partner, "%.*s%s", (int)strlen(path) - 4, path, endings[k]);
            if (is_input(args, partner)) return true;
        }
    }
    return false;
}

bool cli_caches_as_inputs(const cli_args *args) {
    static const char *const endings[] = {".pc2", ".mdd", ".npy", ".abc"};
    const char *cache = NULL, *character = NULL;
    for (int i = 0; i < args->input_count; i++) {
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
            if (pelt_ends_with(args->inputs[i], endings[k])) cache = args->inputs[i];
        if (pelt_is_gltf(args->inputs[i])) character = args->inputs[i];
    }
    if (!cache || !character || !strstr(args->command->arguments, "BUNDLE")) return false;
    cli_misuse(args, "%s is a point cache, not an input: name it together with its clip, as in pelt %s %s ... CLIP=%s",
               cache, args->command->name, character, cache);
    return true;
}

bool cli_check_files(const cli_args *args) {
    const cli_command *command = args->command;
    if (!strncmp(command->arguments, "SKIN BUNDLE", 11) &&
        (pelt_is_gltf(args->inputs[0]) || pelt_file_begins(args->inputs[0], "glTF")) &&
        pelt_file_begins(args->inputs[1], PELT_MAGIC)) {
        cli_misuse(args, "%s is a skin and %s a glTF file; the skin comes first: pelt %s %s %s ...", args->inputs[1],
                   args->inputs[0], command->name, args->inputs[1], args->inputs[0]);
        return false;
    }
    for (int i = 0; i < args->input_count; i++) {
        if (!strcmp(command->name, "sample") && !pelt_is_gltf(args->inputs[i])) continue; /* built in */
        if (is_input(args, args->inputs[i]) || partner_is_input(args, args->inputs[i])) return false;
    }
    for (int i = 0; command->options[i].name; i++) {
        cli_kind kind = cli_kind_of(&command->options[i]);
        if (!args->values[i]) continue;
        if ((kind == CLI_INPUT && is_input(args, args->values[i])) ||
            ((kind == CLI_INPUT || kind == CLI_CLIPS) && any_is_input(args, args->values[i])))
            return false;
    }
    return true;
}

pelt_bundle *cli_bundle(const cli_args *args, const char *path, pelt_error *error) {
    int index = 0;
    pelt_bundle *bundle = pelt_bundle_read(path, error);
    if (!bundle || cli_value(args, "overwrite")) return bundle;
    for (const char *output; (output = next_output(args, &index));) {
        const pelt_clip *clip = pelt_bundle_claims(bundle, output);
        if (!clip) continue;
        pelt_fail(error, PELT_ERROR_ARGUMENT, "%s %s of clip \"%s\" of %s; name another output, or use --overwrite",
                  output,
                  pelt_file_exists(output) ? "would be overwritten; it is the truth or the table"
                                           : "would be mistaken for the truth or the table",
                  clip->name, path);
        pelt_bundle_free(bundle);
        return NULL;
    }
    return bundle;
}

pelt_result cli_write_made(pelt_result made, pelt_bytes *bytes, const char *path, pelt_error *error) {
    pelt_result result = made ? made : pelt_bytes_write(bytes, path, error);
    free(bytes->bytes);
    return result;
}
