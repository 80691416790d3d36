/* test_view_many.c: several characters in one view, one of them a skin alone, one with controls, one with pictures:
   each is shown with its own numbers, and everything that is named can be fetched. */

#include "model/facts.h"
#include "model/targets.h"
#include "test/program.h"
#include "test/viewed.h"

enum { ELBOW, BICEPS, LEAF, POINTS, CHARACTERS };
static const char *const bundles[CHARACTERS] = {"elbow.glb", "biceps.glb", "leaf.gltf", NULL};
static const char *const skins[CHARACTERS][2] = {{"e.pelt"}, {"k.pelt", "b.pelt"}, {NULL}, {"w.pelt"}};
static pelt_bundle *opened[CHARACTERS];
static pelt_bytes *files[CHARACTERS][2];
static pelt_skin known[CHARACTERS][2];

static const char *path_of(const char *name) {
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

/* A triangle with texture coordinates and a picture, without skeleton and clips. */
static void write_leaf(void) {
    static const char text[] =
        "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":1},\"material\":0}]}],"
        "\"materials\":[{\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}}}],\"textures\":[{\"source\":0}],"
        "\"images\":[{\"uri\":\"data:image/"
        "png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAE"
        "hQGAhKmMIQAAAABJRU5ErkJggg==\"}],"
        "\"buffers\":[{\"byteLength\":60,\"uri\":\"data:application/"
        "octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAA"
        "AAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAAAAIA/\"}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":60}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
        "{\"bufferView\":0,\"byteOffset\":36,\"componentType\":5126,\"count\":3,\"type\":\"VEC2\"}]}";
    FILE *file = fopen(path_of("leaf.gltf"), "w");
    assert_true(file && fwrite(text, 1, sizeof text - 1, file) == sizeof text - 1 && !fclose(file));
}

static int open_many(void **state) {
    (void)state;
    pelt_error error;
    write_leaf();
    assert_int_equal(pelt("sample elbow --vertices 150 --frames 6 -o . --quiet"), 0);
    assert_int_equal(pelt("sample biceps --vertices 200 --frames 20 -o . --quiet"), 0);
    assert_int_equal(pelt("sample biceps --vertices 100 --frames 12 -o small --quiet"), 0);
    assert_int_equal(pelt("fit elbow.glb --train train --method eigen --holdout 0 -o e.pelt --quiet"), 0);
    assert_int_equal(pelt("fit biceps.glb --train train --method kernel -o k.pelt --quiet"), 0);
    assert_int_equal(pelt("fit biceps.glb --train train --method eigen --holdout 0 -o b.pelt --quiet"), 0);
    assert_int_equal(pelt("fit small/biceps.glb --train train --method wpsd --holdout 0 -o w.pelt --quiet"), 0);
    view = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    assert_non_null(view);
    for (int c = 0; c < CHARACTERS; c++) {
        if (bundles[c]) add(view, path_of(bundles[c])), opened[c] = pelt_bundle_read(path_of(bundles[c]), &error);
        for (int s = 0; s < 2 && skins[c][s]; s++) {
            add(view, path_of(skins[c][s]));
            assert_non_null(files[c][s] = pelt_skin_read(path_of(skins[c][s]), &known[c][s], &error));
        }
        for (uint32_t i = 0; opened[c] && i < opened[c]->clip_count; i++)
            assert_non_null(pelt_bundle_clip(opened[c], opened[c]->clips[i]->name, PELT_NEED_POSITIONS, &error));
    }
    if (pelt_view_arrange(view, &error)) fail_msg("%s", error.text);
    return 0;
}

static int close_many(void **state) {
    (void)state;
    for (int c = 0; c < CHARACTERS; c++) {
        pelt_bundle_free(opened[c]);
        for (int s = 0; s < 2; s++) pelt_bytes_free(files[c][s]);
    }
    pelt_view_free(view);
    return 0;
}

/* -- What there is ----------------------------------------------------------------------------------------------- */

static json_t *character_at(json_t *show, size_t c) { return json_array_get(json_object_get(show, "characters"), c); }
static size_t length_of(const json_t *object, const char *key) { return json_array_size(json_object_get(object, key)); }
static double value_of(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}
static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void check_joint(const json_t *joint, const char *name, int32_t parent, const pelt_transform *rest,
                        const double *bind) {
    assert_string_equal(text_of(joint, "name"), name);
    assert_int_equal((int)value_of(joint, "parent"), parent);
    const json_t *shown = json_object_get(joint, "rest");
    for (size_t i = 0; i < 4; i++)
        assert_near(number_in(json_object_get(shown, "rotation"), i), rest->rotation[i], 1e-6);
    for (size_t i = 0; i < 3; i++) {
        assert_near(number_in(json_object_get(shown, "translation"), i), rest->translation[i], 1e-6);
        assert_near(number_in(json_object_get(shown, "scale"), i), rest->scale[i], 1e-6);
    }
    for (size_t i = 0; i < 12; i++) assert_near(number_in(json_object_get(joint, "inverse_bind"), i), bind[i], 1e-6);
}

static void joints_are_those_of_the_bundle_or_of_the_skin(void **state) {
    (void)state;
    json_t *show = get_json(view, "data/show.json");
    assert_int_equal(length_of(show, "characters"), CHARACTERS);
    assert_true(json_is_false(json_object_get(show, "server")) &&
                json_is_false(json_object_get(json_object_get(show, "can"), "fit")));
    for (size_t c = 0; c < CHARACTERS; c++) {
        const json_t *character = character_at(show, c), *joints = json_object_get(character, "joints");
        const pelt_skin *skin = &known[c][0];
        const pelt_skeleton *skeleton = opened[c] ? &opened[c]->skeleton : NULL;
        assert_int_equal(json_array_size(joints), skeleton ? skeleton->joint_count : skin->joint_count);
        for (uint32_t j = 0; j < json_array_size(joints); j++) {
            double bind[12];
            for (int i = 0; i < 12; i++)
                bind[i] = skeleton ? skeleton->inverse_bind[j][i] : (double)skin->joints[j].inverse_bind[i];
            check_joint(json_array_get(joints, j), skeleton ? skeleton->names[j] : skin->names + skin->joints[j].name,
                        skeleton ? skeleton->parents[j] : skin->joints[j].parent,
                        skeleton ? &skeleton->rest[j] : &skin->joints[j].rest, bind);
        }
        uint32_t vertices = opened[c] ? opened[c]->mesh.vertex_count : skin->vertex_count;
        assert_int_equal(value_of(character, "vertices"), vertices);
        assert_int_equal(value_of(character, "triangles"), opened[c] ? opened[c]->mesh.triangle_count : 0);
        pelt_resource mesh = get(view, "data/c%zu/mesh.bin", c);
        assert_near(value_of(character, "diagonal"), pelt_diagonal((const float *)mesh.bytes + 2, vertices), 1e-5);
        free(mesh.bytes);
    }
    assert_string_equal(text_of(character_at(show, POINTS), "name"), "w");
    assert_string_equal(text_of(character_at(show, ELBOW), "name"), "elbow");
    assert_true(json_is_null(json_object_get(character_at(show, POINTS), "file")));
    json_decref(show);
}

static void controls_reach_as_far_as_in_the_clips(void **state) {
    (void)state;
    json_t *show = get_json(view, "data/show.json");
    const json_t *list = json_object_get(character_at(show, BICEPS), "controls");
    const pelt_bundle *b = opened[BICEPS];
    assert_true(b->controls.count > 0 && json_array_size(list) == b->controls.count);
    for (uint32_t k = 0; k < b->controls.count; k++) {
        double least = b->controls.rest[k], most = least;
        for (uint32_t i = 0; i < b->clip_count; i++) {
            pelt_resource values = get(view, "data/c%d/clip%u/controls.bin", BICEPS, i);
            assert_int_equal(values.size, b->clips[i]->frame_count * b->controls.count * sizeof(float));
            for (uint32_t f = 0; f < b->clips[i]->frame_count; f++) {
                double x = b->clips[i]->controls[f * b->controls.count + k];
                assert_near(((float *)values.bytes)[f * b->controls.count + k], x, 1e-6);
                least = fmin(least, x), most = fmax(most, x);
            }
            free(values.bytes);
        }
        const json_t *control = json_array_get(list, k);
        assert_string_equal(text_of(control, "name"), b->controls.names[k]);
        assert_near(value_of(control, "rest"), b->controls.rest[k], 1e-6);
        assert_near(value_of(control, "least"), least, 1e-6);
        assert_near(value_of(control, "most"), most, 1e-6);
        assert_true(most > least);
    }
    assert_int_equal(length_of(character_at(show, ELBOW), "controls"), 0);
    list = json_object_get(character_at(show, POINTS), "controls"); /* of a skin alone those of the skin */
    const pelt_skin *skin = &known[POINTS][0];
    assert_true(skin->control_count > 0 && json_array_size(list) == skin->control_count);
    for (uint32_t k = 0; k < skin->control_count; k++) {
        const json_t *control = json_array_get(list, k);
        assert_string_equal(text_of(control, "name"), skin->names + skin->controls[k].name);
        assert_near(value_of(control, "rest"), skin->controls[k].rest, 1e-6);
        assert_near(value_of(control, "least"), skin->controls[k].least, 1e-6);
        assert_near(value_of(control, "most"), skin->controls[k].most, 1e-6);
    }
    json_decref(show);
}

static void meshes_and_skins_are_those_of_their_character(void **state) {
    (void)state;
    for (int c = 0; c < CHARACTERS; c++) {
        pelt_resource mesh = get(view, "data/c%d/mesh.bin", c);
        const float *positions = (const float *)((char *)mesh.bytes + 8);
        for (uint32_t v = 0; opened[c] && v < 3 * opened[c]->mesh.vertex_count; v++) {
            assert_true(positions[v] == opened[c]->mesh.positions[v]);
            assert_true(positions[3 * opened[c]->mesh.vertex_count + v] == opened[c]->mesh.normals[v]);
        }
        for (uint32_t v = 0; !opened[c] && v < known[c][0].vertex_count; v++)
            for (uint32_t i = 0; i < 3; i++) {
                uint32_t slot = known[c][0].vertex_slots[v], at = (3 * (slot / 16) + i) * 16 + slot % 16;
                assert_true(positions[3 * v + i] == known[c][0].rest_positions[at]);
                assert_true(positions[3 * (known[c][0].vertex_count + v) + i] == known[c][0].rest_normals[at]);
            }
        free(mesh.bytes);
        for (int s = 0; s < 2 && skins[c][s]; s++) {
            pelt_resource bytes = get(view, "data/c%d/skin%d.pelt", c, s);
            assert_int_equal(bytes.size, files[c][s]->size);
            assert_memory_equal(bytes.bytes, files[c][s]->bytes, bytes.size);
            free(bytes.bytes);
        }
    }
}

static void what_a_skin_knows_of_itself_is_told(void **state) {
    (void)state;
    json_t *show = get_json(view, "data/show.json");
    for (size_t c = 0; c < CHARACTERS; c++)
        for (size_t s = 0; s < 2 && skins[c][s]; s++) {
            char name[60];
            const json_t *skin = json_array_get(json_object_get(character_at(show, c), "skins"), s),
                         *facts = json_object_get(skin, "facts");
            const pelt_facts *f = known[c][s].facts;
            assert_true(text_of(skin, "name")[0] == skins[c][s][0] && text_of(skin, "name")[1] == 0);
            assert_int_equal(value_of(skin, "bytes"), files[c][s]->size);
            assert_int_equal(value_of(facts, "examples"), f->example_count);
            assert_string_equal(text_of(facts, "method"), pelt_method_name((pelt_method)f->method));
            snprintf(name, sizeof name, "data/c%zu/skin%zu/figures.json", c, s);
            json_t *figures = get_json(view, name);
            const pelt_fact_measure *m = pelt_facts_measure(f);
            assert_string_equal(text_of(figures, "on"), m == &f->holdout ? "held out" : "training");
            assert_near(value_of(figures, "rms"), m->rms, 1e-9);
            assert_near(value_of(figures, "max"), m->max, 1e-9);
            assert_int_equal(value_of(figures, "frames"), m->frame_count);
            json_decref(figures);
        }
    assert_true(known[BICEPS][0].facts->holdout.frame_count && !known[BICEPS][1].facts->holdout.frame_count);
    json_decref(show);
}

/* A support shows the largest of its displacements at each vertex, scaled by its singular value, relative to the
   maximum. */
static void check_support(int c, int s, uint32_t index, const json_t *support) {
    uint32_t n = known[c][s].vertex_count;
    float *most = calloc(n, sizeof *most), largest = 0;
    const json_t *list = json_object_get(support, "coefficients"),
                 *singular = json_object_get(support, "singular_values");
    uint32_t moved = 0;
    for (size_t k = 0; k < json_array_size(list); k++) {
        pelt_resource d = get(view, "data/c%d/skin%d/displacement%d.bin", c, s, (int)number_in(list, k));
        const float *u = d.bytes;
        double size = json_is_null(singular) ? 1 : k < json_array_size(singular) ? number_in(singular, k) : 0;
        assert_int_equal(d.size, 3 * n * sizeof *u);
        for (uint32_t v = 0; v < n; v++)
            most[v] =
                fmaxf(most[v], (float)(size * sqrt((double)u[3 * v] * u[3 * v] + (double)u[3 * v + 1] * u[3 * v + 1] +
                                                   (double)u[3 * v + 2] * u[3 * v + 2])));
        free(d.bytes);
    }
    for (uint32_t v = 0; v < n; v++) largest = fmaxf(largest, most[v]), moved += most[v] > 0;
    pelt_resource weights = get(view, "data/c%d/skin%d/support%u.bin", c, s, index);
    assert_int_equal(weights.size, n * sizeof(float));
    for (uint32_t v = 0; v < n && json_array_size(list); v++)
        assert_near(((float *)weights.bytes)[v], most[v] / largest, 1e-5);
    if (json_array_size(list)) assert_int_equal(value_of(support, "points"), moved);
    free(weights.bytes), free(most);
}

static void supports_are_where_their_displacements_are(void **state) {
    (void)state;
    uint32_t by_control = 0;
    for (int c = 0; c < CHARACTERS; c++)
        for (int s = 0; s < 2 && skins[c][s]; s++) {
            char name[60];
            snprintf(name, sizeof name, "data/c%d/skin%d/inside.json", c, s);
            json_t *inside = get_json(view, name), *support;
            size_t i;
            assert_true(length_of(inside, "supports") > 0);
            snprintf(name, sizeof name, "data/c%d/skin%d/displacement%%d.bin", c, s);
            if (value_of(inside, "coefficients") > 0) assert_string_equal(text_of(inside, "displacements"), name);
            json_array_foreach(json_object_get(inside, "supports"), i, support) {
                const json_t *joints = json_object_get(support, "joints");
                snprintf(name, sizeof name, "data/c%d/skin%d/support%zu.bin", c, s, i);
                assert_string_equal(text_of(support, "weights"), name);
                if (json_array_size(joints) == 1 && !length_of(support, "controls"))
                    assert_string_equal(text_of(support, "name"),
                                        known[c][s].names + known[c][s].joints[(int)number_in(joints, 0)].name);
                by_control += length_of(support, "controls") > 0;
                check_support(c, s, (uint32_t)i, support);
            }
            json_decref(inside);
        }
    assert_true(by_control > 0);
}

/* -- Names ------------------------------------------------------------------------------------------------------- */

static uint32_t named;

static pelt_result note_name(void *user, const char *name, pelt_error *error) {
    pelt_resource resource = get(view, "%s", name);
    (void)user, (void)error;
    if (!resource.size) fail_msg("%s is empty", name);
    free(resource.bytes);
    named++;
    return PELT_OK;
}

static void everything_that_is_named_is_there_and_nothing_is_left_out(void **state) {
    (void)state;
    uint32_t expected = 1; /* show.json */
    pelt_error error;
    for (int c = 0; c < CHARACTERS; c++) {
        const pelt_bundle *b = opened[c];
        expected += b ? 2 : 1;                            /* mesh.bin, surface.json */
        expected += c == LEAF ? 2 : 0;                    /* uvs.bin, image0 */
        for (uint32_t i = 0; b && i < b->clip_count; i++) /* poses.bin, controls.bin, truth */
            expected += 1 + (b->controls.count > 0) + b->clips[i]->frame_count;
        for (int s = 0; s < 2 && skins[c][s]; s++) {
            char name[60];
            snprintf(name, sizeof name, "data/c%d/skin%d/inside.json", c, s);
            json_t *inside = get_json(view, name);
            expected += 3 + (b ? b->clip_count : 0); /* the skin, figures.json, inside.json; errors of clips */
            expected += (uint32_t)length_of(inside, "supports") + (uint32_t)value_of(inside, "coefficients");
            json_decref(inside);
        }
    }
    pelt_resource none; /* a skin alone has no surface and no clips */
    assert_int_equal(pelt_view_resource(view, "data/c3/surface.json", &none, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_view_resource(view, "data/c3/clip0/poses.bin", &none, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_view_resource(view, "data/c3/skin0/clip0.json", &none, &error), PELT_ERROR_ARGUMENT);
    if (pelt_view_names(view, note_name, NULL, &error)) fail_msg("%s", error.text);
    assert_int_equal(named, expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_are_those_of_the_bundle_or_of_the_skin),
        cmocka_unit_test(controls_reach_as_far_as_in_the_clips),
        cmocka_unit_test(meshes_and_skins_are_those_of_their_character),
        cmocka_unit_test(what_a_skin_knows_of_itself_is_told),
        cmocka_unit_test(supports_are_where_their_displacements_are),
        cmocka_unit_test(everything_that_is_named_is_there_and_nothing_is_left_out),
    };
    return cmocka_run_group_tests(tests, open_many, close_many);
}
