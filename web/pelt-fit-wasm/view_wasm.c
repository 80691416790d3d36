/* view_wasm.c: what `pelt view` serves, for a page without a server: characters and skins as resources (view/), and fits by
   the words of `pelt fit` (cli/). As in fit_wasm.c, what fails returns 0 or NULL, and `problem` says why. */

#include "fit_wasm.h"
#include "cli/fit_options.h"
#include "view/view.h"
#include <stdlib.h>
#include <string.h>

const cli_command *const cli_commands[] = {&cli_fit, NULL};

static pelt_resource resource;

EXPORT("view_new") pelt_view *view_new(void) {
    return pelt_view_new(
        &(pelt_view_options){.threads = 1, .serving = true, .fit = cli_fit_words, .sample = cli_sample_files},
        &fit_failure);
}

/* Adds a file; call view_arrange after the last. */
EXPORT("view_add") int view_add(pelt_view *view, const char *path) { return !pelt_view_add(view, path, &fit_failure); }
EXPORT("view_arrange") int view_arrange(pelt_view *view) { return !pelt_view_arrange(view, &fit_failure); }
EXPORT("view_boxes") uint32_t view_boxes(pelt_view *view) { return pelt_view_box_count(view); }
EXPORT("view_characters") uint32_t view_characters(pelt_view *view) { return pelt_view_character_count(view); }

EXPORT("view_sample") int view_sample(pelt_view *view, const char *name, const char *folder) {
    char scene[4400];
    return !cli_sample_files(name, folder, scene, sizeof scene, &fit_failure) && view_add(view, scene);
}

/* Indices are returned plus 1. */
EXPORT("view_fix") uint32_t view_fix(pelt_view *view, uint32_t character) {
    uint32_t fixed;
    return pelt_view_fix(view, character, &fixed, &fit_failure) ? 0 : fixed + 1;
}

EXPORT("view_add_skin")
uint32_t view_add_skin(pelt_view *view, uint32_t character, const char *name, const void *bytes, size_t size) {
    uint32_t index;
    pelt_bytes *copy = pelt_bytes_new(size);
    if (!copy) return pelt_no_memory(&fit_failure), 0;
    memcpy(copy->bytes, bytes, size);
    return pelt_view_add_skin(view, character, name, copy, &index, &fit_failure) ? 0 : index + 1;
}

EXPORT("view_list_skin") int view_list_skin(pelt_view *view, uint32_t character, uint32_t skin, int listed) {
    return !pelt_view_list_skin(view, character, skin, listed, &fit_failure);
}

EXPORT("view_path") const char *view_path(pelt_view *view, uint32_t character) {
    const char *path = pelt_view_bundle_path(view, character);
    if (!path) pelt_fail(&fit_failure, PELT_ERROR_ARGUMENT, "there is no such character");
    return path;
}

static void forget(void) {
    free(resource.bytes);
    resource = (pelt_resource){0};
}

/* A box with its light elsewhere, as a resource. Samples and paths: as in pelt_view_lamp. */
EXPORT("view_light")
const void *view_light(pelt_view *view, uint32_t box, float x, float y, float z, int full, uint32_t samples,
                       uint32_t paths) {
    forget();
    const pelt_view_lamp lamp = {.box = box, .at = {x, y, z}, .full = full, .samples = samples, .paths = paths};
    return pelt_view_light(view, &lamp, &resource, &fit_failure) ? NULL : resource.bytes;
}

/* A resource stays until the next is made. */
EXPORT("view_resource") const void *view_resource(pelt_view *view, const char *name) {
    forget();
    return pelt_view_resource(view, name, &resource, &fit_failure) ? NULL : resource.bytes;
}
EXPORT("view_resource_size") size_t view_resource_size(void) { return resource.size; }

/* One word a line. */
EXPORT("fit_words") pelt_bytes *fit_words(const char *path, const char *lines) {
    const char *words[200];
    size_t count = 0;
    char *copy = strdup(lines), *rest = copy;
    if (!copy) return pelt_no_memory(&fit_failure), NULL;
    for (const char *word; rest && count < 200 && (word = strsep(&rest, "\n"));) words[count++] = word;
    pelt_progress progress = {fit_step, NULL};
    pelt_bytes *skin = cli_fit_words(path, count, words, &progress, &fit_failure);
    free(copy);
    return skin;
}
