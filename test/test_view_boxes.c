/* test_view_boxes.c: boxes of key points in `pelt view`: light that is dragged, and faces that are judged. */

#include "engine/engine.h"
#include "test/viewed.h"

/* -- Light ------------------------------------------------------------------------------------------------------- */

#ifdef PELT_WITH_LIGHT
static bool never(void *user) { return (void)user, true; }

static void dragged_light_is_as_the_gathers_say(void **state) {
    char path[300];
    pelt_error error;
    pelt_relight_file file;
    pelt_relight_drawn drawn;
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    write_light(path);
    if (pelt_relight_open(&file, path, NULL, &error)) fail_msg("%s", error.text);
    pelt_light_view *v = &file.view;
    pelt_relight_live *live = pelt_relight_live_new(&file, &error);
    assert_non_null(live);
    size_t count = 3 * v->point_count, different = 0, pixels = (size_t)v->width * v->height;
    float *direct = malloc(count * sizeof *direct), *truth = malloc(count * sizeof *truth),
          *picture = malloc(3 * pixels * sizeof *picture);
    uint8_t *colors = malloc(3 * pixels), *again = malloc(3 * pixels);
    pelt_light light = pelt_light_grid_at(v, &file.facts.grid, 0.2, 0.7);
    /* Direct light, point by point. */
    uint64_t rays;
    assert_int_equal(pelt_relight_live_direct(live, light.position, 1, direct, &rays, &error), PELT_OK);
    assert_int_equal(pelt_tracer_set_light(v->tracer, &light, &error), PELT_OK);
    assert_int_equal(pelt_gather(v->tracer, v->points, v->point_count,
                                 &(pelt_gather_options){.samples = 16, .threads = 1}, truth, NULL, NULL, &error),
                     PELT_OK);
    for (size_t i = 0; i < count; i++) different += fabs(direct[i] - truth[i]) > 1e-5 * (1 + fabs(truth[i]));
    assert_true(different <= count / 400);
    assert_true(rays > 0 && rays < v->point_count);
    /* The picture, against the one written by `pelt relight run`: the same except for the white point. */
    pelt_relight_place place = {.samples = 64, .seed = 5, .threads = 1};
    pelt_relight_shot shot = {.light = light, .key_samples = 64, .seed = 5, .threads = 1, .no_fallback = true};
    pelt_relight_result result;
    memcpy(place.at, light.position, sizeof place.at);
    assert_int_equal(pelt_relight_live_draw(live, &place, colors, &drawn, &error), PELT_OK);
    assert_int_equal(pelt_relight_picture(v, &file, &shot, picture, &result, &error), PELT_OK);
    assert_near(drawn.misfit, result.misfit / file.facts.trust, 1e-6);
    double top = 0, white = 0;
    for (size_t i = 0; i < 3 * pixels; i++) /* the white that makes the brightest colour below white what it is */
        if (colors[i] < 255 && colors[i] > top)
            top = colors[i], white = picture[i] / pow((colors[i] / 255.0 + 0.055) / 1.055, 2.4);
    different = 0;
    for (size_t i = 0; i < 3 * pixels; i++) different += abs(colors[i] - pelt_light_srgb(picture[i], (float)white)) > 2;
    assert_true(top > 100 && different <= 3 * pixels / 100);
    /* A full gather can be stopped. */
    place.full = true, place.stop = never;
    assert_int_equal(pelt_relight_live_draw(live, &place, again, &drawn, &error), PELT_ERROR_CANCELLED);
    place.stop = NULL;
    assert_int_equal(pelt_relight_live_draw(live, &place, again, &drawn, &error), PELT_OK);
    shot.full = true, shot.samples = 64, shot.no_fallback = false;
    assert_int_equal(pelt_relight_picture(v, &file, &shot, picture, &result, &error), PELT_OK);
    different = 0;
    for (size_t i = 0; i < 3 * pixels; i++) different += abs(again[i] - pelt_light_srgb(picture[i], (float)white)) > 2;
    assert_true(different <= 3 * pixels / 100);
    /* In steps it becomes the same, by fewer and fewer wrong pixels. */
    size_t before = SIZE_MAX;
    double last = 0;
    place.seed = 6; /* anything but the gather that is already complete */
    assert_int_equal(pelt_relight_live_draw(live, &place, again, &drawn, &error), PELT_OK);
    place.at[0] += 0.01f;
    assert_int_equal(pelt_relight_live_draw(live, &place, colors, &drawn, &error), PELT_OK);
    place.at[0] = light.position[0], place.paths = 30000;
    for (int steps = 0; last < 1; steps++) {
        assert_true(steps < 10);
        assert_int_equal(pelt_relight_live_draw(live, &place, colors, &drawn, &error), PELT_OK);
        different = 0;
        for (size_t i = 0; i < 3 * pixels; i++) different += abs(colors[i] - again[i]) > 3;
        assert_true(drawn.share > last && drawn.share <= 1 && (different <= before || different < pixels / 50));
        last = drawn.share, before = different;
        if (!steps) assert_true(drawn.share < 0.5 && different > 0);
    }
    assert_memory_equal(colors, again, 3 * pixels);
    free(direct), free(truth), free(picture), free(colors), free(again);
    pelt_relight_live_free(live);
    pelt_relight_close(&file);
}

/* What smoothing changes is where something else is next to it, and becomes something between. */
static void smooth_edges_mix_what_is_around_them(void **state) {
    char path[300];
    pelt_error error;
    pelt_relight_file file;
    pelt_relight_drawn drawn;
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    if (pelt_relight_open(&file, path, NULL, &error)) fail_msg("%s", error.text);
    pelt_relight_live *live = pelt_relight_live_new(&file, &error);
    assert_non_null(live);
    uint32_t width = file.view.width, height = file.view.height, changed = 0, between = 0;
    uint8_t *raw = malloc(3 * (size_t)width * height), *smooth = malloc(3 * (size_t)width * height);
    pelt_light light = pelt_light_grid_at(&file.view, &file.facts.grid, 0.3, 0.6);
    pelt_relight_place place = {.samples = 64, .threads = 1};
    memcpy(place.at, light.position, sizeof place.at);
    assert_int_equal(pelt_relight_live_draw(live, &place, raw, &drawn, &error), PELT_OK);
    place.smooth = true;
    assert_int_equal(pelt_relight_live_draw(live, &place, smooth, &drawn, &error), PELT_OK);
    for (uint32_t y = 1; y + 1 < height; y++)
        for (uint32_t x = 1; x + 1 < width; x++)
            for (size_t c = 0; c < 3; c++) {
                size_t at = 3 * ((size_t)y * width + x) + c;
                int low = 255, high = 0;
                for (int k = 0; k < 9; k++) {
                    int value = raw[3 * (((size_t)y + (size_t)k / 3 - 1) * width + x + (size_t)k % 3 - 1) + c];
                    low = value < low ? value : low, high = value > high ? value : high;
                }
                if (abs(smooth[at] - raw[at]) <= 1) continue;
                changed++, between += smooth[at] >= low && smooth[at] <= high;
            }
    assert_true(changed > 100 && changed < width * height && between >= 0.98 * changed);
    free(raw), free(smooth);
    pelt_relight_live_free(live);
    pelt_relight_close(&file);
}

static void assert_three(const json_t *object, const char *key, double x, double y, double z) {
    const double expected[] = {x, y, z};
    for (size_t i = 0; i < 3; i++) assert_near(number_in(json_object_get(object, key), i), expected[i], 1e-6);
}

static void a_box_of_light_is_shown_with_its_camera_and_its_room(void **state) {
    char path[300];
    pelt_error error;
    pelt_relight_file file;
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    if (pelt_relight_open(&file, path, NULL, &error)) fail_msg("%s", error.text);
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = true}, &error);
    add(own, path);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    json_t *show = get_json(own, "data/show.json"), *box = json_array_get(json_object_get(show, "boxes"), 0);
    const json_t *light = json_object_get(box, "light"), *camera = json_object_get(box, "camera"),
                 *extent = json_object_get(box, "extent"), *axes = json_object_get(camera, "axes");
    const pelt_light_grid *grid = &file.facts.grid;
    const pelt_camera *c = &file.view.camera;
    assert_string_equal(json_string_value(json_object_get(box, "name")), "lamp");
    size_t seen = 0;
    for (uint32_t k = 0; k < file.keys.key_count; k++) {
        uint32_t pixel = pelt_light_view_pixel_of(&file.view, file.keys.key_points[k]);
        if (pixel != UINT32_MAX) assert_true(number_in(json_object_get(box, "keys"), seen++) == pixel);
    }
    assert_true(seen > 0 && seen == json_array_size(json_object_get(box, "keys")));
    pelt_extent room = pelt_tracer_extent(file.view.tracer);
    pelt_light middle = pelt_light_grid_at(&file.view, grid, 0.5, 0.5);
    assert_true(json_is_true(json_object_get(json_object_get(show, "can"), "light")));
    assert_int_equal(json_integer_value(json_object_get(box, "width")), 45);
    assert_int_equal(json_integer_value(json_object_get(box, "height")), 43);
    assert_three(light, "at", middle.position[0], middle.position[1], middle.position[2]);
    assert_three(light, "least", grid->low[0], grid->low[1], grid->low[2]);
    assert_three(light, "most", grid->high[0], grid->high[1], grid->high[2]);
    assert_three(extent, "low", room.low[0], room.low[1], room.low[2]);
    assert_three(extent, "high", room.high[0], room.high[1], room.high[2]);
    assert_three(camera, "eye", c->eye[0], c->eye[1], c->eye[2]);
    for (size_t a = 0; a < 3; a++)
        for (size_t i = 0; i < 3; i++) assert_near(number_in(json_array_get(axes, a), i), c->axes[a][i], 1e-6);
    assert_near(json_number_value(json_object_get(camera, "field_of_view")), c->field_of_view, 1e-6);
    json_decref(show);
    pelt_view_free(own);
    pelt_relight_close(&file);
}

/* In a view: what comes before the colours, for lights all over the box. */
static void a_box_of_light_says_how_far_to_trust_it(void **state) {
    char path[300];
    pelt_error error;
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = true}, &error);
    add(own, path);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    json_t *show = get_json(own, "data/show.json"), *box = json_array_get(json_object_get(show, "boxes"), 0);
    assert_string_equal(json_string_value(json_object_get(box, "kind")), "light");
    assert_true(json_is_true(json_object_get(json_object_get(show, "can"), "light")));
    assert_true(json_is_false(json_object_get(json_object_get(show, "can"), "fit")));
    uint32_t head[3], trusted = 0, doubted = 0;
    float misfit;
    for (int i = 0; i <= 27; i++) {
        pelt_view_lamp lamp = {
            .samples = 64,
            .at = {0.05f + 0.22f * (float)(i % 3), 0.04f + 0.22f * (float)(i / 3 % 3), 0.05f + 0.22f * (float)(i / 9)}};
        pelt_resource picture;
        if (i == 27)
            picture = get(own, "data/b0/picture.bin");
        else
            assert_int_equal(pelt_view_light(own, &lamp, &picture, &error), PELT_OK);
        memcpy(head, picture.bytes, sizeof head), memcpy(&misfit, (char *)picture.bytes + 12, sizeof misfit);
        assert_int_equal(head[0], json_integer_value(json_object_get(box, "width")));
        assert_int_equal(head[1], json_integer_value(json_object_get(box, "height")));
        assert_int_equal(picture.size, 24 + 3 * (size_t)head[0] * head[1]);
        assert_int_equal(head[2], misfit <= 1 ? 0 : misfit < 1.5f ? 1 : 2);
        trusted += misfit <= 1, doubted += misfit > 1;
        float milliseconds; /* those of the picture that is exported would differ each time */
        memcpy(&milliseconds, (char *)picture.bytes + 16, sizeof milliseconds);
        assert_true(i == 27 ? milliseconds == 0 : milliseconds > 0);
        free(picture.bytes);
    }
    assert_true(trusted && doubted);
    /* The picture that is exported has its light in the middle. */
    const json_t *at = json_object_get(json_object_get(box, "light"), "at");
    pelt_view_lamp middle = {.at = {(float)number_in(at, 0), (float)number_in(at, 1), (float)number_in(at, 2)}};
    pelt_resource picture = get(own, "data/b0/picture.bin"), lit, none;
    assert_int_equal(pelt_view_light(own, &middle, &lit, &error), PELT_OK);
    assert_int_equal(picture.size, lit.size);
    assert_memory_equal((char *)picture.bytes + 24, (char *)lit.bytes + 24, lit.size - 24);
    assert_string_equal(lit.type, "application/octet-stream");
    free(picture.bytes), free(lit.bytes);
    static const char *const absent[] = {"data/b0/mesh.bin", "data/b0/clip0/truth/0.bin", "data/b0/clip0/keyed/0.bin",
                                         "data/b0/clip0/verdicts.json", "data/b1/picture.bin"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_int_equal(pelt_view_resource(own, absent[i], &none, &error), PELT_ERROR_ARGUMENT);
    middle.samples = (1 << 20) + 1; /* more than the library allows */
    assert_int_equal(pelt_view_light(own, &middle, &none, &error), PELT_ERROR_ARGUMENT);
    assert_null(none.bytes);
    middle.box = 1, middle.samples = 0;
    assert_int_equal(pelt_view_light(own, &middle, &none, &error), PELT_ERROR_ARGUMENT);
    json_decref(show);
    pelt_view_free(own);
}
#endif

/* -- Faces ------------------------------------------------------------------------------------------------------- */

/* What the soft cache asks of: the frame whose number is the control. */
static int frame_of(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    const float *frame = sample->clips[1]->positions + (size_t)controls[0] * 3 * sample->mesh.vertex_count;
    (void)user;
    for (uint32_t i = 0; i < count; i++)
        memcpy(values + 3 * (size_t)i, frame + 3 * (size_t)points[i], 3 * sizeof(float));
    return 0;
}

/* Largest and mean distance of two frames. */
static void check_distances(const json_t *told, uint32_t frame, const float *a, const float *b, size_t points) {
    double most = 0, sum = 0;
    for (size_t p = 0; p < 3 * points; p += 3) {
        double square = pow(a[p] - b[p], 2) + pow(a[p + 1] - b[p + 1], 2) + pow(a[p + 2] - b[p + 2], 2);
        most = fmax(most, square), sum += square;
    }
    assert_near(number_in(json_object_get(told, "max"), frame), sqrt(most), 1e-6);
    assert_near(number_in(json_object_get(told, "rms"), frame), sqrt(sum / (double)points), 1e-6);
}

/* The misfits of regions and keys in a row of trust.bin, by their definition. */
static void check_trust(const pelt_keys *keys, const float *row, const pelt_soft_cache_frame_info *info,
                        const float *truth, const float *keyed) {
    float worst = 0;
    for (uint32_t g = 0; g < keys->region_count; g++) worst = fmaxf(worst, row[g]);
    assert_near(worst, info->e, 1e-5 * (1 + info->e));
    for (uint32_t k = 0; k < keys->key_count; k++) {
        size_t at = 3 * (size_t)keys->key_points[k];
        double length = sqrt(pow(truth[at] - keyed[at], 2) + pow(truth[at + 1] - keyed[at + 1], 2) +
                             pow(truth[at + 2] - keyed[at + 2], 2)),
               allowed = INFINITY;
        for (size_t r = 0; r < PELT_POINT_REGIONS; r++)
            if (keys->point_region_weights[PELT_POINT_REGIONS * keys->key_points[k] + r] > 0)
                allowed = fmin(allowed,
                               keys->bounds[keys->point_regions[PELT_POINT_REGIONS * keys->key_points[k] + r]].largest);
        assert_near(row[keys->region_count + k], length / allowed, 1e-3 * (1 + length / allowed));
    }
}

static void check_verdicts(pelt_view *own, const pelt_keys *keys, const json_t *verdicts) {
    static const char *const names[] = {[PELT_CACHE_HIT] = "hit",
                                        [PELT_CACHE_PART] = "part",
                                        [PELT_CACHE_BLEND] = "blend",
                                        [PELT_CACHE_MISS] = "miss",
                                        [PELT_CACHE_DOUBT] = "doubt"};
    pelt_soft_cache cache;
    pelt_soft_cache_frame_info info;
    void *memory = aligned_alloc(64, pelt_soft_cache_size(keys, 1));
    float *values = malloc(3 * (size_t)keys->point_count * sizeof *values);
    assert_int_equal(pelt_soft_cache_init(&cache, keys, &(pelt_soft_cache_options){.step = 0.0008f},
                                          (pelt_engine_call){frame_of, NULL, 1}, memory),
                     PELT_OK);
    for (uint32_t f = 0; f < sample->clips[1]->frame_count; f++) {
        float number = (float)f;
        assert_int_equal(pelt_soft_cache_next(&cache, &number, values, &info), PELT_OK);
        assert_string_equal(json_string_value(json_array_get(json_object_get(verdicts, "verdict"), f)),
                            names[info.verdict]);
        assert_near(number_in(json_object_get(verdicts, "e"), f), info.e, 1e-4 * (1 + info.e));
        assert_true(number_in(json_object_get(verdicts, "evaluated"), f) == info.evaluated);
        pelt_resource cached = get(own, "data/b0/clip1/cached/%u.bin", f),
                      keyed = get(own, "data/b0/clip1/keyed/%u.bin", f), trust = get(own, "data/b0/clip1/trust.bin");
        const float *truth = sample->clips[1]->positions + (size_t)f * 3 * keys->point_count;
        size_t each = keys->region_count + keys->key_count;
        assert_int_equal(cached.size, 3 * (size_t)keys->point_count * sizeof *values);
        assert_memory_equal(cached.bytes, values, cached.size);
        assert_int_equal(trust.size, each * sample->clips[1]->frame_count * sizeof(float));
        check_trust(keys, (const float *)trust.bytes + f * each, &info, truth, keyed.bytes);
        check_distances(json_object_get(verdicts, "cached"), f, values, truth, keys->point_count);
        check_distances(json_object_get(verdicts, "keyed"), f, keyed.bytes, truth, keys->point_count);
        free(cached.bytes), free(keyed.bytes), free(trust.bytes);
    }
    pelt_resource last =
                      get(own, "data/b0/clip1/cached/%u.bin", sample->clips[1]->frame_count - 1), /* and back again */
        first = get(own, "data/b0/clip1/cached/0.bin"),
                  again = get(own, "data/b0/clip1/cached/%u.bin", sample->clips[1]->frame_count - 1);
    assert_memory_equal(last.bytes, values, last.size);
    assert_memory_equal(again.bytes, values, last.size);
    assert_memory_not_equal(first.bytes, values, last.size);
    free(last.bytes), free(first.bytes), free(again.bytes);
    free(memory), free(values);
}

/* Key points trained on one clip: their reconstruction of another, and its error. */
static void key_points_are_judged_against_the_truth(void **state) {
    char path[300];
    pelt_error error;
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    (void)state;
    snprintf(path, sizeof path, "%s/points.keys", test_folder());
    write_points(path, sample, 0);
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    add(own, path);
    add(own, glb);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_OK);
    json_t *show = get_json(own, "data/show.json"), *box = json_array_get(json_object_get(show, "boxes"), 0);
    assert_string_equal(json_string_value(json_object_get(box, "kind")), "face");
    assert_int_equal(json_array_size(json_object_get(box, "keys")), 8);
    assert_int_equal(json_array_size(json_object_get(box, "clips")), 2);
    assert_int_equal(json_integer_value(json_object_get(box, "points")), sample->mesh.vertex_count);
    assert_int_equal(json_integer_value(json_object_get(box, "basis")), 2);
    for (uint32_t c = 0; c < 2; c++) {
        const json_t *shown = json_array_get(json_object_get(box, "clips"), c);
        char name[60];
        assert_string_equal(json_string_value(json_object_get(shown, "name")), sample->clips[c]->name);
        assert_int_equal(json_integer_value(json_object_get(shown, "frames")), sample->clips[c]->frame_count);
        static const char *const kinds[] = {"truth", "keyed", "verdicts"}, *const ends[] = {"truth/%d.bin",
                                                                                            "keyed/%d.bin",
                                                                                            "verdicts.json"};
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "data/b0/clip%u/%s", c, ends[k]);
            assert_string_equal(json_string_value(json_object_get(shown, kinds[k])), name);
        }
    }
    json_t *verdicts = get_json(own, "data/b0/clip1/verdicts.json"), *misfits = json_object_get(verdicts, "misfit");
    const pelt_clip *clip = sample->clips[1];
    assert_int_equal(json_array_size(misfits), clip->frame_count);
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_read(path, &keys, &error);
    void *scratch = aligned_alloc(64, pelt_keys_scratch_size(&keys, 1));
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        float at_keys[8][3];
        pelt_misfit misfit;
        for (int k = 0; k < 8; k++)
            memcpy(at_keys[k], clip->positions + f * row + 3 * (size_t)keys.key_points[k], sizeof at_keys[k]);
        pelt_keys_solve(&keys, at_keys[0], 1, scratch, &misfit);
        assert_near(number_in(misfits, f), misfit.e, 1e-4 * misfit.e);
    }
    check_verdicts(own, &keys, verdicts);
    for (size_t k = 0; k < 8; k++) assert_true(number_in(json_object_get(box, "keys"), k) == keys.key_points[k]);
    assert_near(json_number_value(json_object_get(box, "diagonal")), keys.diagonal, 1e-6);
    assert_string_equal(json_string_value(json_object_get(box, "mesh")), "data/b0/mesh.bin");
    pelt_resource mesh = get(own, "data/b0/mesh.bin"), same = get(own, "data/c0/mesh.bin"), none;
    assert_int_equal(mesh.size, same.size);
    assert_memory_equal(mesh.bytes, same.bytes, same.size);
    free(mesh.bytes), free(same.bytes);
    static const char *const absent[] = {"data/b0/clip1/cached/6.bin",  "data/b0/clip2/trust.bin",
                                         "data/b0/clip1/controls.bin",  "data/b1/regions.bin",
                                         "data/b0/clip2/verdicts.json", "data/b0/clip2/keyed/0.bin",
                                         "data/b0/clip1/keyed/6.bin",   "data/b0/clip1/truth/6.bin",
                                         "data/b1/clip0/truth/0.bin",   "data/b1/mesh.bin"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_int_equal(pelt_view_resource(own, absent[i], &none, &error), PELT_ERROR_ARGUMENT);
    free(scratch), pelt_bytes_free(bytes);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_resource keyed = get(own, "data/b0/clip1/keyed/%u.bin", f),
                      truth = get(own, "data/b0/clip1/truth/%u.bin", f);
        const float *a = keyed.bytes, *b = clip->positions + f * row;
        double most = 0;
        assert_int_equal(keyed.size, row * sizeof(float));
        assert_int_equal(truth.size, row * sizeof(float));
        assert_memory_equal(truth.bytes, b, row * sizeof(float));
        for (size_t p = 0; p < row; p += 3)
            most = fmax(most, sqrt(pow(a[p] - b[p], 2) + pow(a[p + 1] - b[p + 1], 2) + pow(a[p + 2] - b[p + 2], 2)));
        assert_near(number_in(json_object_get(json_object_get(verdicts, "keyed"), "max"), f), most, 1e-6);
        free(keyed.bytes), free(truth.bytes);
    }
    json_decref(verdicts), json_decref(show);
    /* What is known is still told by a view that stops; the other clip is no longer judged. */
    pelt_view_stop(own);
    free(get(own, "data/b0/clip1/verdicts.json").bytes);
    assert_int_equal(pelt_view_resource(own, "data/b0/clip0/verdicts.json", &none, NULL), PELT_ERROR_CANCELLED);
    assert_null(none.bytes);
    pelt_view_free(own);
}

/* A live engine: what the page gets is what the engine and the soft cache give. */
static void a_face_can_be_pulled_by_its_engine(void **state) {
    char path[300];
    pelt_error error;
    pelt_keys keys;
    pelt_resource answer;
    (void)state;
    snprintf(path, sizeof path, "%s/points.keys", test_folder());
    pelt_bytes *bytes = pelt_keys_read(path, &keys, &error);
    pelt_engine *engine = pelt_engine_open("face", &(pelt_engine_options){.points = keys.point_count}, &error),
                *small = pelt_engine_open("face", &(pelt_engine_options){.points = keys.point_count - 1}, &error);
    uint32_t count = pelt_engine_controls(engine);
    pelt_view_options options = {.threads = 1, .serving = true, .engine = small, .engine_name = "face"};
    pelt_view *own = pelt_view_new(&options, &error);
    add(own, path);
    assert_int_equal(pelt_view_arrange(own, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "engine face: has 149 points"));
    pelt_view_free(own);
    options.engine = engine;
    own = pelt_view_new(&options, &error);
    add(own, path);
    if (pelt_view_arrange(own, &error)) fail_msg("%s", error.text);
    json_t *show = get_json(own, "data/show.json"), *box = json_array_get(json_object_get(show, "boxes"), 0),
           *controls = json_object_get(box, "controls");
    assert_string_equal(json_string_value(json_object_get(box, "engine")), "face");
    assert_int_equal(json_array_size(controls), count);
    assert_string_equal(json_string_value(json_object_get(json_array_get(controls, 24), "name")), "jawOpen");
    json_decref(show);
    float *pulled = calloc(count, sizeof *pulled), *values = malloc(3 * (size_t)keys.point_count * sizeof *values),
          *truth = malloc(3 * (size_t)keys.point_count * sizeof *truth), at_keys[8][3];
    size_t row = 3 * (size_t)keys.point_count, each = keys.region_count + keys.key_count;
    void *memory = aligned_alloc(64, pelt_soft_cache_size(&keys, count)),
         *scratch = aligned_alloc(64, pelt_keys_scratch_size(&keys, 1));
    pelt_soft_cache cache;
    pelt_soft_cache_frame_info info;
    pelt_view_pull pull = {.controls = pulled, .control_count = count};
    for (int i = 0; i < 4; i++) { /* anew, one after another, and anew with the truth */
        uint32_t head[4];
        float e;
        pulled[24] = 0.3f * (float)i;
        pull.cut = i != 1, pull.all = i == 3;
        if (pull.cut)
            pelt_soft_cache_init(&cache, &keys, &(pelt_soft_cache_options){.step = 0.0008f},
                                 (pelt_engine_call){pelt_engine_callback, engine, count}, memory);
        assert_int_equal(pelt_soft_cache_next(&cache, pulled, values, &info), PELT_OK);
        assert_int_equal(pelt_engine_evaluate(engine, pulled, NULL, keys.point_count, truth, &error), PELT_OK);
        for (int k = 0; k < 8; k++) memcpy(at_keys[k], truth + 3 * (size_t)keys.key_points[k], sizeof at_keys[k]);
        if (pelt_view_pull_face(own, &pull, &answer, &error)) fail_msg("%s", error.text);
        const float *numbers = (const float *)((const char *)answer.bytes + 32);
        memcpy(head, answer.bytes, sizeof head), memcpy(&e, (char *)answer.bytes + 16, sizeof e);
        assert_int_equal(answer.size, 32 + (each + (pull.all ? 3 : 2) * row) * sizeof(float));
        assert_int_equal(head[0], info.verdict);
        assert_int_equal(head[1], info.evaluated);
        assert_int_equal(head[2], info.calls);
        assert_int_equal(head[3], pull.all);
        assert_near(e, info.e, 1e-4 * (1 + info.e));
        assert_memory_equal(numbers + each, values, row * sizeof *values);
        pelt_keys_solve(&keys, at_keys[0], 1, scratch, NULL);
        pelt_keys_fill(&keys, scratch, 1, pelt_keys_all_blocks(&keys), values);
        for (size_t n = 0; n < row; n++) assert_near(numbers[each + row + n], values[n], 1e-4 * (1 + fabsf(values[n])));
        if (pull.all) assert_memory_equal(numbers + each + 2 * row, truth, row * sizeof *truth);
        check_trust(&keys, numbers, &info, truth, numbers + each + row);
        free(answer.bytes);
    }
    pull.control_count--;
    assert_int_equal(pelt_view_pull_face(own, &pull, &answer, &error), PELT_ERROR_ARGUMENT);
    pull.control_count++, pull.box = 1;
    assert_int_equal(pelt_view_pull_face(own, &pull, &answer, &error), PELT_ERROR_ARGUMENT);
    assert_null(answer.bytes);
    pulled[24] = NAN, pull.box = 0;
    assert_int_not_equal(pelt_view_pull_face(own, &pull, &answer, &error), PELT_OK);
    assert_null(answer.bytes);
    free(pulled), free(values), free(truth), free(memory), free(scratch);
    pelt_view_free(own), pelt_bytes_free(bytes);
    pelt_engine_close(engine), pelt_engine_close(small);
}

/* Key points and a cache without a character: the mesh is the mean of the points, and the truth is in the cache. */
static void key_points_alone_show_their_mean(void **state) {
    char path[300];
    pelt_error error;
    pelt_keys keys;
    size_t row = 3 * (size_t)sample->mesh.vertex_count;
    (void)state;
    pelt_view *own = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    snprintf(path, sizeof path, "%s/points.keys", test_folder());
    add(own, path);
    pelt_bytes *bytes = pelt_keys_read(path, &keys, &error);
    snprintf(path, sizeof path, "%s/box.test.pc2", test_folder());
    add(own, path);
    if (pelt_view_arrange(own, &error)) fail_msg("%s", error.text);
    pelt_resource mesh = get(own, "data/b0/mesh.bin");
    const float *positions = (const float *)((char *)mesh.bytes + 8);
    assert_int_equal(mesh.size, 8 + 2 * row * sizeof(float));
    for (size_t i = 0; i < row; i++) {
        assert_near(positions[i], keys.mean[i], 1e-6);
        assert_true(positions[row + i] == (i % 3 == 2));
    }
    free(mesh.bytes);
    for (uint32_t f = 0; f < sample->clips[1]->frame_count; f++) {
        pelt_resource truth = get(own, "data/b0/clip0/truth/%u.bin", f);
        assert_memory_equal(truth.bytes, sample->clips[1]->positions + f * row, row * sizeof(float));
        free(truth.bytes);
    }
    pelt_resource none;
    assert_int_equal(pelt_view_resource(own, "data/b0/clip1/truth/0.bin", &none, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_view_resource(own, "data/b1/mesh.bin", &none, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_view_resource(own, "data/b0/picture.bin", &none, &error), PELT_ERROR_ARGUMENT);
    pelt_bytes_free(bytes), pelt_view_free(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef PELT_WITH_LIGHT
        cmocka_unit_test(dragged_light_is_as_the_gathers_say),
        cmocka_unit_test(smooth_edges_mix_what_is_around_them),
        cmocka_unit_test(a_box_of_light_is_shown_with_its_camera_and_its_room),
        cmocka_unit_test(a_box_of_light_says_how_far_to_trust_it),
#endif
        cmocka_unit_test(key_points_are_judged_against_the_truth),
        cmocka_unit_test(a_face_can_be_pulled_by_its_engine),
        cmocka_unit_test(key_points_alone_show_their_mean),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
