/* export.c: everything the server would serve, as files for any web server. */

#include "io/tree.h"
#include "view/show.h"

typedef struct exporting {
    pelt_view *view;
    pelt_tree *tree;
    const pelt_progress *progress;
    size_t done, count, page_files;
} exporting;

static pelt_result count_name(void *user, const char *name, pelt_error *error) {
    (void)name, (void)error;
    ((exporting *)user)->count++;
    return PELT_OK;
}

static pelt_result write_resource(void *user, const char *name, pelt_error *error) {
    exporting *e = user;
    pelt_resource resource;
    if (pelt_should_stop(e->progress, "writing", (double)e->done / (double)e->count))
        return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
    pelt_result result = pelt_view_resource(e->view, name, &resource, error);
    if (result) return result;
    result = pelt_tree_put(e->tree, name, resource.bytes, resource.size, error);
    free(resource.bytes);
    e->done++;
    return result;
}

/* Whether the page lights a box itself: with the module of the fitter, which can, where nothing but its file is needed. */
static bool relights(const pelt_view *view) {
    bool any = false;
    for (uint32_t b = 0; b < view->box_count; b++)
        any |= view->boxes[b]->lamp && view_lamp_is_whole(view->boxes[b]->lamp);
    return any && pelt_page_has_fitter();
}

static pelt_result write_page(exporting *e, pelt_error *error) {
    pelt_result result = PELT_OK;
    for (size_t i = 0; i < pelt_page_count() && !result; i++) {
        const pelt_page_file *file = pelt_page_at(i);
        if (pelt_page_is_fitter(file) && !e->view->options.with_fit && !e->view->relights) continue;
        unsigned char *bytes = pelt_page_bytes(file);
        result = bytes ? pelt_tree_put(e->tree, file->name, bytes, file->size, error) : pelt_no_memory(error);
        free(bytes);
        e->page_files++;
    }
    return result;
}

pelt_result pelt_view_export(pelt_view *view, const char *folder, const pelt_progress *progress, size_t *file_count,
                             pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    exporting e = {.view = view, .progress = progress};
    view->relights = relights(view);
    pelt_result result = pelt_view_names(view, count_name, &e, error);
    if (result) return result;
    e.tree = pelt_tree_open(folder, error);
    if (!e.tree) return error->code;
    result = write_page(&e, error);
    if (!result) result = pelt_view_names(view, write_resource, &e, error);
    if (result) return pelt_tree_drop(e.tree), result;
    if (file_count) *file_count = e.done + e.page_files;
    return pelt_tree_commit(e.tree, error);
}
