/* viewed.h: a small character in files, a skin fitted to it, and a view of both. */

#ifndef PELT_TEST_VIEWED_H
#define PELT_TEST_VIEWED_H

#include "io/io.h"
#include "test/sampled.h"
#include "view/view.h"
#include <jansson.h>
#include <signal.h>
#include <time.h>

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

/* Replaces `pelt fit`: its arguments are checked, one of them never ends. */
static inline pelt_bytes *test_fit(const char *path, size_t count, const char *const *words,
                                   const pelt_progress *progress, pelt_error *error) {
    if (count == 1 && !strcmp(words[0], "endless")) {
        struct timespec pause = {0, 1000000};
        while (!progress->step(progress->user, "for ever", 0.25)) nanosleep(&pause, NULL);
        pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        return NULL;
    }
    if (count != 2 || strcmp(words[0], "--method") || strcmp(words[1], "ssd")) {
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
