/* viewed.h: a small character in files, a skin fitted to it, and a view of both. */

#ifndef PELT_TEST_VIEWED_H
#define PELT_TEST_VIEWED_H

#include "io/io.h"
#include "test/sampled.h"
#include "view/view.h"
#include <jansson.h>
#include <pelt/keys_fit.h>
#include <signal.h>
#include <time.h>
#ifdef PELT_WITH_LIGHT
#include "light/live.h"
#endif

/* -- A character in files ---------------------------------------------------------------------------------------- */

static pelt_bundle *sample;            /* as it was made */
static char glb[300], eigen_path[300]; /* as it is in files */
static pelt_view *view;

static inline void write_sample(void) {
    char path[300];
    pelt_error error;
    pelt_gltf_content content = {.mesh = &sample->mesh,
                                 .skeleton = &sample->skeleton,
                                 .clips = sample->clips,
                                 .clip_count = sample->clip_count,
                                 .name = "box"};
    snprintf(glb, sizeof glb, "%s/box.glb", test_folder());
    if (pelt_gltf_write(glb, &content, &error)) fail_msg("%s", error.text);
    for (uint32_t c = 0; c < sample->clip_count; c++) {
        const pelt_clip *clip = sample->clips[c];
        snprintf(path, sizeof path, "%s/box.%s.pc2", test_folder(), clip->name);
        pelt_cache_writer *writer = pelt_cache_writer_open(path, clip->frame_count, &sample->mesh, 30, &error);
        assert_non_null(writer);
        for (size_t f = 0; f < clip->frame_count; f++)
            pelt_cache_writer_frame(writer, clip->positions + 3 * f * sample->mesh.vertex_count);
        assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    }
}

static inline pelt_bytes *fit_box(const char *path, pelt_method method, pelt_error *error) {
    pelt_bundle *bundle = pelt_bundle_read(path, error);
    const pelt_clip *train = bundle ? pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, error) : NULL;
    pelt_bytes *skin = NULL;
    pelt_fit_report report;
    if (train)
        skin = pelt_fit(bundle, pelt_bundle_examples(bundle, &train, 1),
                        &(pelt_fit_options){.method = method, .holdout = -1}, &report, error);
    if (skin) pelt_fit_report_free(&report);
    pelt_bundle_free(bundle);
    return skin;
}

/* Replaces `pelt fit`: "endless [SHARE]" works until it is cancelled, "late" then fits all the same, "nameless" does not
   say what it does, "spoiled" blames the file; otherwise the arguments must be --method ssd. */
static inline pelt_bytes *test_fit(const char *path, size_t count, const char *const *words,
                                   const pelt_progress *progress, pelt_error *error) {
    const char *first = count ? words[0] : "";
    bool endless = !strcmp(first, "endless"), late = !strcmp(first, "late"), nameless = !strcmp(first, "nameless");
    if (endless || late || nameless) {
        struct timespec pause = {0, 1000000};
        double share = count > 1 ? strtod(words[1], NULL) : 0.25;
        while (!progress->step(progress->user, nameless ? NULL : "for ever", share)) nanosleep(&pause, NULL);
        if (late) return fit_box(path, PELT_METHOD_SSD, error);
        pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        return NULL;
    }
    if (!strcmp(first, "spoiled")) {
        pelt_fail(error, PELT_ERROR_DATA, "%s: is spoiled, says %s", path, path);
        return NULL;
    }
    if (count != 2 || strcmp(first, "--method") || strcmp(words[1], "ssd")) {
        pelt_fail(error, PELT_ERROR_DATA, "--method %s: no such method", count > 1 ? words[1] : "");
        return NULL;
    }
    return fit_box(path, PELT_METHOD_SSD, error);
}

static inline void add(pelt_view *to, const char *path) {
    pelt_error error;
    if (pelt_view_add(to, path, &error)) fail_msg("%s", error.text);
}

static inline pelt_view *open_box(bool serving) {
    pelt_error error;
    pelt_view *made = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = serving, .fit = test_fit}, &error);
    assert_non_null(made);
    add(made, eigen_path); /* before the character that it is for */
    add(made, glb);
    if (pelt_view_arrange(made, &error)) fail_msg("%s", error.text);
    return made;
}

static inline int open_all(void **state) {
    pelt_error error;
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    sample = pelt_sample_make(&(pelt_sample_options){.name = "elbow", .vertices = 150, .frames = 6}, &error);
    if (!sample) fail_msg("%s", error.text);
    write_sample();
    pelt_bytes *skin = fit_box(glb, PELT_METHOD_EIGEN, &error);
    if (!skin) fail_msg("%s", error.text);
    snprintf(eigen_path, sizeof eigen_path, "%s/eigen.pelt", test_folder());
    assert_int_equal(pelt_bytes_write(skin, eigen_path, &error), PELT_OK);
    pelt_bytes_free(skin);
    view = open_box(true);
    return 0;
}

static inline int close_all(void **state) {
    (void)state;
    pelt_view_free(view);
    pelt_bundle_free(sample);
    return 0;
}

/* -- Boxes in files ---------------------------------------------------------------------------------------------- */

typedef struct clip_source {
    const pelt_clip *clip;
    size_t row;
} clip_source;

static inline pelt_result read_clip(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const clip_source *from = user;
    (void)error;
    memcpy(values, from->clip->positions + first * from->row, count * from->row * sizeof *values);
    return PELT_OK;
}

/* Eight key points trained on a clip whose positions are known. */
static inline void write_points(const char *path, const pelt_bundle *bundle, uint32_t clip) {
    pelt_error error;
    pelt_keys_report report;
    clip_source source = {bundle->clips[clip], 3 * (size_t)bundle->mesh.vertex_count};
    pelt_frames frames = {.frame_count = source.clip->frame_count,
                          .point_count = bundle->mesh.vertex_count,
                          .component_count = 3,
                          .read = read_clip,
                          .user = &source};
    pelt_bytes *bytes = pelt_keys_train(
        &frames, &(pelt_keys_options){.keys = 8, .basis = 2, .positions = bundle->mesh.positions}, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_bytes_write(bytes, path, &error), PELT_OK);
    pelt_bytes_free(bytes);
}

#ifdef PELT_WITH_LIGHT
/* A small box of light. */
static inline void write_light(const char *path) {
    pelt_error error;
    pelt_light_view box;
    pelt_relight_training training;
    pelt_relight_report report;
    char frames[320];
    snprintf(frames, sizeof frames, "%s.frames", path);
    assert_int_equal(pelt_light_view_open(&box, "cornell", 45, 43, 2, &error), PELT_OK);
    pelt_relight_options options = {
        .grid = pelt_light_grid_default(&box), .samples = 32, .keys = 8, .basis = 3, .threads = 1};
    options.grid.columns = options.grid.rows = 2;
    if (pelt_relight_begin(&training, &box, &options, frames, &error) || pelt_relight_gather(&training, &error))
        fail_msg("%s", error.text);
    pelt_bytes *bytes = pelt_relight_train(&training, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_bytes_write(bytes, path, &error), PELT_OK);
    pelt_bytes_free(bytes);
    pelt_light_view_close(&box);
}
#endif

/* -- Resources --------------------------------------------------------------------------------------------------- */

static inline pelt_resource get(pelt_view *from, const char *format, ...) {
    char name[200];
    pelt_error error;
    pelt_resource resource;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (pelt_view_resource(from, name, &resource, &error)) fail_msg("%s: %s", name, error.text);
    return resource;
}

static inline json_t *get_json(pelt_view *from, const char *name) {
    pelt_resource resource = get(from, "%s", name);
    json_t *object = json_loadb(resource.bytes, resource.size, JSON_DECODE_ANY, NULL);
    assert_non_null(object);
    free(resource.bytes);
    return object;
}

static inline double number_in(const json_t *list, size_t i) {
    assert_true(json_is_number(json_array_get(list, i)));
    return json_number_value(json_array_get(list, i));
}

#endif
