/* lamp.c: a box of light, relit from its key points wherever the light is dragged. */

#include "view/show.h"
#include <string.h>
#ifdef PELT_WITH_LIGHT
#include "light/live.h"
#include "rig/clock.h"

struct view_lamp {
    pelt_relight_file file;
    pelt_relight_live *live;
    pthread_mutex_t mutex; /* one picture at a time */
};

/* -- Files ------------------------------------------------------------------------------------------------------- */

static pelt_result find_light(const char *path, bool *found, pelt_error *error) {
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_read(path, &keys, error);
    *found = bytes && pelt_relight_is_light(&keys);
    pelt_bytes_free(bytes);
    return bytes ? PELT_OK : error->code;
}

pelt_result view_lamp_open(const char *path, struct view_lamp **lamp, pelt_error *error) {
    bool found;
    *lamp = NULL;
    pelt_result result = find_light(path, &found, error);
    if (result || !found) return result;
    struct view_lamp *l = calloc(1, sizeof *l);
    if (!l) return pelt_no_memory(error);
    pthread_mutex_init(&l->mutex, NULL);
    result = pelt_relight_open(&l->file, path, NULL, error);
    if (!result) {
        l->live = pelt_relight_live_new(&l->file, error);
        if (!l->live) result = error->code;
    }
    if (result)
        view_lamp_close(l);
    else
        *lamp = l;
    return result;
}

void view_lamp_close(struct view_lamp *lamp) {
    if (!lamp) return;
    pelt_relight_live_free(lamp->live);
    pelt_relight_close(&lamp->file);
    pthread_mutex_destroy(&lamp->mutex);
    free(lamp);
}

bool view_lamp_is_whole(const struct view_lamp *lamp) { return !strcmp(lamp->file.facts.scene, "cornell"); }

/* -- Show -------------------------------------------------------------------------------------------------------- */

static json_t *three(const double v[3]) { return pelt_json_pack("[f f f]", v[0], v[1], v[2]); }

static void middle(const struct view_lamp *lamp, float at[3]) {
    pelt_light light = pelt_light_grid_at(&lamp->file.view, &lamp->file.facts.grid, 0.5, 0.5);
    memcpy(at, light.position, sizeof light.position);
}

json_t *view_lamp_json(view_box *box, uint32_t index, bool file) {
    const struct view_lamp *lamp = box->lamp;
    const pelt_light_view *v = &lamp->file.view;
    const pelt_light_grid *grid = &lamp->file.facts.grid;
    pelt_extent extent = pelt_tracer_extent(v->tracer);
    json_t *keys = json_array();
    float at[3];
    for (uint32_t k = 0; k < lamp->file.keys.key_count; k++) {
        uint32_t pixel = pelt_light_view_pixel_of(v, lamp->file.keys.key_points[k]);
        if (pixel != UINT32_MAX) keys = pelt_json_append(keys, json_integer(pixel));
    }
    middle(lamp, at);
    return pelt_json_pack(
        "{kind:s, name:s, width:u, height:u, keys:o, light:{at:v3, least:v3, most:v3}, camera:{eye:o, "
        "axes:[o o o], field_of_view:f}, extent:{low:v3, high:v3}, picture:o, file:o}",
        "light", box->name, v->width, v->height, keys, at, grid->low, grid->high, three(v->camera.eye),
        three(v->camera.axes[0]), three(v->camera.axes[1]), three(v->camera.axes[2]), v->camera.field_of_view,
        extent.low, extent.high, pelt_json_format("data/b%u/picture.bin", index),
        file ? pelt_json_format("data/b%u/light.keys", index) : json_null());
}

/* -- Pictures ---------------------------------------------------------------------------------------------------- */

/* Precedes the colours of a picture. */
typedef struct head {
    uint32_t width, height, verdict;
    float misfit, milliseconds;
    float share; /* of a full gather, done so far */
} head;

static pelt_result draw(struct view_lamp *lamp, const pelt_relight_place *place, pelt_resource *out,
                        pelt_error *error) {
    const pelt_light_view *v = &lamp->file.view;
    pelt_relight_drawn drawn;
    head first = {.width = v->width, .height = v->height};
    uint8_t *bytes =
        view_bytes(out, sizeof first + 3 * (size_t)v->width * v->height, "application/octet-stream", error);
    if (!bytes) return PELT_ERROR_MEMORY;
    pthread_mutex_lock(&lamp->mutex);
    double start = pelt_wall_seconds();
    pelt_result result = pelt_relight_live_draw(lamp->live, place, bytes + sizeof first, &drawn, error);
    double seconds = pelt_wall_seconds() - start;
    pthread_mutex_unlock(&lamp->mutex);
    if (result) return free(out->bytes), out->bytes = NULL, result;
    float trust = pelt_soft_cache_trust(&(pelt_soft_cache_options){.e_min = 1, .e_max = 1.5f}, (float)drawn.misfit);
    first.verdict = trust >= 1 ? 0 : trust > 0 ? 1 : 2;
    first.misfit = (float)drawn.misfit, first.milliseconds = (float)(1e3 * seconds);
    first.share = (float)drawn.share;
    memcpy(bytes, &first, sizeof first);
    return PELT_OK;
}

/* With the light in the middle; without its timing, so that it is reproducible. */
pelt_result view_make_picture(pelt_view *view, view_place at, pelt_resource *out, pelt_error *error) {
    view_box *box = view_box_at(view, at.numbers[0]);
    pelt_relight_place place = {.threads = view->options.threads, .smooth = true};
    if (!box || !box->lamp) return view_absent(error);
    middle(box->lamp, place.at);
    pelt_result result = draw(box->lamp, &place, out, error);
    if (!result) memset((char *)out->bytes + offsetof(head, milliseconds), 0, sizeof(float));
    return result;
}

pelt_result view_make_light_keys(pelt_view *view, view_place at, pelt_resource *out, pelt_error *error) {
    const view_box *box = view_box_at(view, at.numbers[0]);
    if (!box || !box->lamp) return view_absent(error);
    const pelt_bytes *bytes = box->lamp->file.bytes;
    void *copy = view_bytes(out, bytes->size, "application/octet-stream", error);
    if (!copy) return PELT_ERROR_MEMORY;
    memcpy(copy, bytes->bytes, bytes->size);
    return PELT_OK;
}

pelt_result pelt_view_light(pelt_view *view, const pelt_view_lamp *lamp, pelt_resource *out, pelt_error *error) {
    *out = (pelt_resource){0};
    pthread_rwlock_rdlock(&view->lock);
    view_box *box = view_box_at(view, lamp->box);
    pthread_rwlock_unlock(&view->lock); /* boxes live as long as the view */
    if (!box || !box->lamp) return view_absent(error);
    pelt_relight_place place = {.samples = lamp->samples,
                                .seed = lamp->seed,
                                .threads = lamp->full ? view->options.threads : 1,
                                .full = lamp->full,
                                .paths = lamp->paths,
                                .smooth = true,
                                .stop = lamp->stop,
                                .user = lamp->user};
    memcpy(place.at, lamp->at, sizeof place.at);
    return draw(box->lamp, &place, out, error);
}
#else
pelt_result view_lamp_open(const char *path, struct view_lamp **lamp, pelt_error *error) {
    (void)path, (void)error;
    *lamp = NULL;
    return PELT_OK;
}
void view_lamp_close(struct view_lamp *lamp) { (void)lamp; }
bool view_lamp_is_whole(const struct view_lamp *lamp) { return (void)lamp, false; }
json_t *view_lamp_json(view_box *box, uint32_t index, bool file) {
    return (void)box, (void)index, (void)file, json_null();
}

pelt_result view_make_light_keys(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    (void)view, (void)place, (void)out;
    return view_absent(error);
}

pelt_result view_make_picture(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    (void)view, (void)place, (void)out;
    return view_absent(error);
}

pelt_result pelt_view_light(pelt_view *view, const pelt_view_lamp *lamp, pelt_resource *out, pelt_error *error) {
    (void)view, (void)lamp, (void)out;
    return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                     "this pelt was built without Embree, which light needs; install "
                     "libembree-dev and build again");
}
#endif
