/* test_view_many.c: several characters in one view, one of them a skin alone, one with controls, one with pictures, one
   whose truth is known for one of its clips, one with its skin inside; and boxes. Each is shown with its own numbers,
   and everything that is named can be fetched. */

#include "model/facts.h"
#include "model/sources.h"
#include "model/targets.h"
#include "test/in_use.h"
#include "test/program.h"
#include "test/viewed.h"

enum { ELBOW, BICEPS, LEAF, HALF, INNER, POINTS, CHARACTERS };
static const char *const bundles[CHARACTERS] = {"elbow.glb", "biceps.glb", "leaf.gltf", "half.glb", "inner.glb", NULL};
static const char *const skins[CHARACTERS][2] = {{"e.pelt", "f.pelt"}, {"k.pelt", "b.pelt"}, {NULL},
                                                 {"h.pelt"},           {"inner.glb"},        {"w.pelt"}};
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

static pelt_view *view_all(void) {
    pelt_error error;
    pelt_view *all = pelt_view_new(&(pelt_view_options){.threads = 1}, &error);
    assert_non_null(all);
    for (int c = 0; c < CHARACTERS; c++) {
        if (bundles[c]) add(all, path_of(bundles[c]));
        for (int s = 0; s < 2 && skins[c][s] && c != INNER; s++) add(all, path_of(skins[c][s]));
    }
    add(all, path_of("face.keys")), add(all, path_of("lone.keys")), add(all, path_of("small/biceps.train.pc2"));
#ifdef PELT_WITH_LIGHT
    add(all, path_of("lamp.keys"));
#endif
    if (pelt_view_arrange(all, &error)) fail_msg("%s", error.text);
    return all;
}

static int open_many(void **state) {
    (void)state;
    pelt_error error;
    write_leaf();
    assert_int_equal(pelt("sample elbow --vertices 150 --frames 6 -o . --quiet"), 0);
    assert_int_equal(pelt("sample biceps --vertices 200 --frames 20 -o . --quiet"), 0);
    /* A second control, with numbers of its own. */
    shell("for f in biceps.*.csv; do "
          "awk 'NR == 1 { print $0 \",flush\" } NR > 1 { print $0 \",\" NR / 7 - 1 }' $f > new && mv new $f; done");
    assert_int_equal(pelt("sample biceps --vertices 100 --frames 12 -o small --quiet"), 0);
    assert_int_equal(pelt("fit elbow.glb --train train --method eigen --holdout 0 -o e.pelt --quiet"), 0);
    assert_int_equal(pelt("fit biceps.glb --train train --method kernel -o k.pelt --quiet"), 0);
    assert_int_equal(pelt("fit biceps.glb --train train --method eigen --holdout 0 -o b.pelt --quiet"), 0);
    assert_int_equal(pelt("fit small/biceps.glb --train train --method wpsd --holdout 0 -o w.pelt --quiet"), 0);
    assert_int_equal(
        pelt("fit elbow.glb --train train --method kernel --family features --holdout 0 -o f.pelt --quiet"), 0);
    assert_int_equal(pelt("export e.pelt elbow.glb --clip train --embed -o inner.glb --quiet"), 0);
    shell("cp elbow.glb half.glb; cp elbow.train.pc2 half.train.pc2");
    assert_int_equal(pelt("fit half.glb --train train --method ssd --holdout 0 -o h.pelt --quiet"), 0);
    for (int c = 0; c < CHARACTERS; c++) {
        if (bundles[c]) assert_non_null(opened[c] = pelt_bundle_read(path_of(bundles[c]), &error));
        for (int s = 0; s < 2 && skins[c][s]; s++)
            assert_non_null(files[c][s] = pelt_skin_read(path_of(skins[c][s]), &known[c][s], &error));
        for (uint32_t i = 0; opened[c] && i < opened[c]->clip_count; i++)
            pelt_bundle_clip(opened[c], opened[c]->clips[i]->name, PELT_NEED_POSITIONS, &error);
    }
    write_points(path_of("face.keys"), opened[ELBOW], 0);
    pelt_bundle *small = pelt_bundle_read(path_of("small/biceps.glb"), &error);
    pelt_bundle_clip(small, small->clips[0]->name, PELT_NEED_POSITIONS, &error);
    write_points(path_of("lone.keys"), small, 0);
    pelt_bundle_free(small);
#ifdef PELT_WITH_LIGHT
    write_light(path_of("lamp.keys"));
#endif
    view = view_all();
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
    assert_true(b->controls.count == 2 && json_array_size(list) == 2);
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

static void check_fact_measure(const json_t *told, const pelt_fact_measure *m) {
    assert_int_equal(json_is_null(told), m->frame_count == 0);
    if (json_is_null(told)) return;
    assert_near(value_of(told, "rms"), m->rms, 1e-9);
    assert_near(value_of(told, "max"), m->max, 1e-9);
    assert_int_equal(value_of(told, "frames"), m->frame_count);
}

static void what_a_skin_knows_of_itself_is_told(void **state) {
    (void)state;
    json_t *show = get_json(view, "data/show.json");
    for (size_t c = 0; c < CHARACTERS; c++)
        for (size_t s = 0; s < 2 && skins[c][s]; s++) {
            const json_t *skin = json_array_get(json_object_get(character_at(show, c), "skins"), s),
                         *facts = json_object_get(skin, "facts");
            const pelt_facts *f = known[c][s].facts;
            if (c == INNER)
                assert_string_equal(text_of(skin, "name"), "embedded");
            else
                assert_true(text_of(skin, "name")[0] == skins[c][s][0] && text_of(skin, "name")[1] == 0);
            assert_int_equal(value_of(skin, "bytes"), files[c][s]->size);
            assert_int_equal(value_of(facts, "examples"), f->example_count);
            assert_string_equal(text_of(facts, "method"), pelt_method_name((pelt_method)f->method));
            check_fact_measure(json_object_get(facts, "train"), &f->train);
            check_fact_measure(json_object_get(facts, "holdout"), &f->holdout);
        }
    assert_true(known[BICEPS][0].facts->holdout.frame_count && !known[BICEPS][1].facts->holdout.frame_count);
    /* A page asks for these counts to learn whether there is more than it knows of. */
    json_t *counts = get_json(view, "data/counts.json");
    size_t count = 0;
    for (size_t c = 0; c < json_array_size(json_object_get(show, "characters")); c++)
        count += json_array_size(json_object_get(character_at(show, c), "skins"));
    assert_int_equal(value_of(counts, "characters"), json_array_size(json_object_get(show, "characters")));
    assert_int_equal(value_of(counts, "skins"), count);
    assert_int_equal(value_of(counts, "boxes"), json_array_size(json_object_get(show, "boxes")));
    json_decref(counts), json_decref(show);
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
    if (!strcmp(text_of(support, "kind"), "weighted")) { /* no displacements of its own: the weights of an axis */
        memset(most, 0, n * sizeof *most);
        pelt_skin_axis_weights(&known[c][s], index, most);
        for (uint32_t v = 0; v < n; v++) largest = fmaxf(largest, most[v]), moved += most[v] > 0;
        for (uint32_t v = 0; v < n; v++) assert_near(((float *)weights.bytes)[v], most[v] / largest, 1e-6);
    }
    assert_true(largest > 0);
    assert_int_equal(value_of(support, "points"), moved);
    free(weights.bytes), free(most);
}

/* "spine0+spine1", joints before controls; by number where that would be long. */
static void check_source(int c, int s, size_t index, const json_t *support) {
    const json_t *joints = json_object_get(support, "joints"), *controls = json_object_get(support, "controls");
    const pelt_skin *skin = &known[c][s];
    char name[400] = "";
    for (size_t i = 0; i < json_array_size(joints); i++)
        sprintf(name + strlen(name), "%s%s", i ? "+" : "", skin->names + skin->joints[(int)number_in(joints, i)].name);
    for (size_t i = 0; i < json_array_size(controls); i++)
        sprintf(name + strlen(name), "%s%s", *name ? "+" : "",
                skin->names + skin->controls[(int)number_in(controls, i)].name);
    if (json_array_size(joints) + json_array_size(controls) > 4) sprintf(name, "part %zu", index + 1);
    assert_string_equal(text_of(support, "name"), name);
    if (json_array_size(joints))
        assert_true(value_of(support, "joint") == number_in(joints, 0));
    else
        assert_true(json_is_null(json_object_get(support, "joint")));
}

static void supports_are_where_their_displacements_are(void **state) {
    static const char *const kinds[CHARACTERS][2] = {
        {"eigen", "features"}, {"kernel", "eigen"}, {NULL}, {NULL}, {"eigen"}, {"weighted"}};
    (void)state;
    uint32_t by_control = 0;
    for (int c = 0; c < CHARACTERS; c++)
        for (int s = 0; s < 2 && skins[c][s]; s++) {
            char name[60];
            snprintf(name, sizeof name, "data/c%d/skin%d/inside.json", c, s);
            json_t *inside = get_json(view, name), *support;
            size_t i;
            assert_true((length_of(inside, "supports") > 0) == (kinds[c][s] != NULL));
            snprintf(name, sizeof name, "data/c%d/skin%d/displacement%%d.bin", c, s);
            if (value_of(inside, "coefficients") > 0)
                assert_string_equal(text_of(inside, "displacements"), name);
            else
                assert_true(json_is_null(json_object_get(inside, "displacements")));
            json_array_foreach(json_object_get(inside, "supports"), i, support) {
                snprintf(name, sizeof name, "data/c%d/skin%d/support%zu.bin", c, s, i);
                assert_string_equal(text_of(support, "weights"), name);
                assert_string_equal(text_of(support, "kind"), kinds[c][s]);
                check_source(c, s, i, support);
                by_control += length_of(support, "controls") > 0;
                check_support(c, s, (uint32_t)i, support);
            }
            json_decref(inside);
        }
    assert_true(by_control > 0);
}

/* -- Names ------------------------------------------------------------------------------------------------------- */

typedef struct names {
    char (*list)[60];
    size_t count;
} names;

static void note(names *all, const char *format, ...) {
    va_list arguments;
    all->list = realloc(all->list, (all->count + 1) * sizeof *all->list);
    va_start(arguments, format);
    vsnprintf(all->list[all->count++], sizeof *all->list, format, arguments);
    va_end(arguments);
}

/* "data/c0/clip0/truth/%d.bin" stands for many, null for none. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void note_text(names *all, const json_t *object, const char *key, size_t count) {
    const char *text = text_of(object, key);
    for (size_t i = 0; text && i < count; i++) note(all, text, (int)i);
}

/* Everything that show.json leads to. */
static void note_character(names *all, const json_t *character) {
    json_t *item, *part;
    size_t i, k;
    note_text(all, character, "mesh", 1), note_text(all, character, "regions", 1);
    note_text(all, character, "surface", 1), note_text(all, character, "diagnosis", 1);
    if (text_of(character, "surface")) {
        json_t *surface = get_json(view, text_of(character, "surface"));
        note_text(all, surface, "uvs", 1);
        json_array_foreach(json_object_get(surface, "images"), k, part) note_text(all, part, "file", 1);
        json_decref(surface);
    }
    json_array_foreach(json_object_get(character, "clips"), i, item) {
        note_text(all, item, "poses", 1), note_text(all, item, "controls", 1);
        note_text(all, item, "truth", (size_t)value_of(item, "frames"));
    }
    json_array_foreach(json_object_get(character, "skins"), i, item) {
        note_text(all, item, "file", 1), note_text(all, item, "figures", 1), note_text(all, item, "inside", 1);
        json_array_foreach(json_object_get(character, "clips"), k, part) {
            static const char *const kinds[] = {"errors", "measure", "vertices"};
            for (int m = 0; m < 3 && text_of(part, "truth"); m++) note(all, text_of(item, kinds[m]), (int)k);
        }
        json_t *inside = get_json(view, text_of(item, "inside"));
        json_array_foreach(json_object_get(inside, "supports"), k, part) note_text(all, part, "weights", 1);
        note_text(all, inside, "displacements", (size_t)value_of(inside, "coefficients"));
        json_decref(inside);
    }
}

static void note_box(names *all, const json_t *box) {
    json_t *clip;
    size_t i;
    note_text(all, box, "mesh", 1), note_text(all, box, "picture", 1);
    note_text(all, json_object_get(box, "regions"), "file", 1);
    json_array_foreach(json_object_get(box, "clips"), i, clip) {
        note_text(all, clip, "verdicts", 1), note_text(all, clip, "trust", 1), note_text(all, clip, "controls", 1);
        note_text(all, clip, "cached", (size_t)value_of(clip, "frames"));
        note_text(all, clip, "truth", (size_t)value_of(clip, "frames"));
        note_text(all, clip, "keyed", (size_t)value_of(clip, "frames"));
    }
}

static bool ends_with(const char *name, const char *end) {
    return strlen(name) > strlen(end) && !strcmp(name + strlen(name) - strlen(end), end);
}

/* Of which kind it is, and that it is there. */
static pelt_result note_name(void *user, const char *name, pelt_error *error) {
    pelt_resource resource = get(view, "%s", name), again = get(view, "%s", name);
    (void)error;
    note(user, "%s", name);
    if (!resource.size) fail_msg("%s is empty", name);
    assert_string_equal(resource.type, ends_with(name, ".json") ? "application/json"
                                       : strstr(name, "/image") ? "image/png"
                                                                : "application/octet-stream");
    /* What takes long is made once (a time that was measured again would differ), and by those who may take long. */
    assert_int_equal(resource.size, again.size);
    assert_memory_equal(resource.bytes, again.bytes, again.size);
    bool slow = ends_with(name, "diagnosis.json") || ends_with(name, "figures.json") ||
                ends_with(name, "verdicts.json") || ends_with(name, "picture.bin") || ends_with(name, "trust.bin") ||
                strstr(name, "/cached/") || (strstr(name, "/skin") && strstr(name, "/clip"));
    if (pelt_view_is_slow(name) != slow) fail_msg("%s", name);
    free(resource.bytes), free(again.bytes);
    return PELT_OK;
}

static int in_order(const void *a, const void *b) { return strcmp(a, b); }

static void everything_that_is_named_is_there_and_nothing_is_left_out(void **state) {
    (void)state;
    pelt_error error;
    names expected = {0}, got = {0};
    json_t *show = get_json(view, "data/show.json"), *item;
    size_t i;
    note(&expected, "data/show.json");
    json_array_foreach(json_object_get(show, "characters"), i, item) note_character(&expected, item);
    json_array_foreach(json_object_get(show, "boxes"), i, item) note_box(&expected, item);
    if (pelt_view_names(view, note_name, &got, &error)) fail_msg("%s", error.text);
    qsort(expected.list, expected.count, sizeof *expected.list, in_order);
    qsort(got.list, got.count, sizeof *got.list, in_order);
    for (i = 0; i < expected.count && i < got.count; i++) assert_string_equal(got.list[i], expected.list[i]);
    assert_int_equal(got.count, expected.count);
    json_decref(show), free(expected.list), free(got.list);
    pelt_resource none; /* a skin alone has no surface and no clips */
    static const char *const absent[] = {"data/c5/surface.json", "data/c5/clip0/poses.bin", "data/c5/skin0/clip0.json",
                                         "data/c3/clip1/truth/0.bin", "data/c3/skin0/clip1.json"};
    for (i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_int_equal(pelt_view_resource(view, absent[i], &none, &error), PELT_ERROR_ARGUMENT);
    assert_false(pelt_view_is_slow("data/nothing"));
}

static pelt_result stop_at_third(void *user, const char *name, pelt_error *error) {
    (void)name;
    return ++*(int *)user == 3 ? pelt_fail(error, PELT_ERROR_DATA, "enough") : PELT_OK;
}

static void names_end_when_the_caller_has_enough(void **state) {
    (void)state;
    int called = 0;
    pelt_error error;
    assert_int_equal(pelt_view_names(view, stop_at_third, &called, &error), PELT_ERROR_DATA);
    assert_int_equal(called, 3);
    assert_string_equal(error.text, "enough");
}

/* All that is listed of clips, skins and faces. */
static void clips_and_faces_are_listed_with_their_names(void **state) {
    (void)state;
    char name[3][60];
    json_t *show = get_json(view, "data/show.json"), *expected;
    assert_string_equal(text_of(show, "pelt"), PELT_VERSION);
    for (size_t c = 0; c < CHARACTERS; c++) {
        const pelt_bundle *b = opened[c];
        const json_t *clips = json_object_get(character_at(show, c), "clips"), *times;
        bool any_truth = false;
        assert_int_equal(json_array_size(clips), b ? b->clip_count : 0);
        for (uint32_t i = 0; b && i < b->clip_count; i++) {
            json_t *clip = json_array_get(clips, i);
            snprintf(name[0], sizeof *name, "data/c%zu/clip%u/poses.bin", c, i);
            snprintf(name[1], sizeof *name, "data/c%zu/clip%u/controls.bin", c, i);
            snprintf(name[2], sizeof *name, "data/c%zu/clip%u/truth/%%d.bin", c, i);
            times = json_object_get(clip, "seconds");
            assert_int_equal(json_array_size(times), b->clips[i]->times ? b->clips[i]->frame_count : 0);
            for (uint32_t f = 0; f < json_array_size(times); f++)
                assert_near(number_in(times, f), b->clips[i]->times[f], 1e-6);
            json_object_del(clip, "seconds");
            expected = json_pack("{s:s, s:i, s:s, s:s?, s:s?}", "name", b->clips[i]->name, "frames",
                                 (int)b->clips[i]->frame_count, "poses", name[0], "controls",
                                 b->controls.count ? name[1] : NULL, "truth", b->clips[i]->positions ? name[2] : NULL);
            assert_true(json_equal(clip, expected));
            any_truth |= b->clips[i]->positions != NULL;
            json_decref(expected);
        }
        for (size_t s = 0; s < length_of(character_at(show, c), "skins"); s++) {
            json_t *skin = json_array_get(json_object_get(character_at(show, c), "skins"), s);
            snprintf(name[0], sizeof *name, "data/c%zu/skin%zu/clip%%d.json", c, s);
            if (text_of(skin, "errors")) assert_string_equal(text_of(skin, "errors"), name[0]);
            assert_true((text_of(skin, "errors") != NULL) == any_truth);
        }
    }
    const json_t *face = json_array_get(json_object_get(show, "boxes"), 0),
                 *lone = json_array_get(json_object_get(show, "boxes"), 1);
    assert_string_equal(text_of(face, "name"), "face");
    assert_string_equal(text_of(lone, "name"), "lone");
    assert_int_equal(length_of(face, "clips"), 2);
    assert_int_equal(length_of(lone, "clips"), 1);
    json_decref(show);
}

static void show_and_export(void) {
    names got = {0};
    char site[300];
    pelt_error error;
    view = view_all();
    if (pelt_view_names(view, note_name, &got, &error)) fail_msg("%s", error.text);
    snprintf(site, sizeof site, "%s", path_of("site"));
    assert_int_equal(pelt_view_export(view, site, NULL, NULL, &error), PELT_OK);
    assert_int_equal(pelt_view_export(view, site, NULL, NULL, NULL), PELT_ERROR_FILE);
    shell("rm -r site");
    pelt_view_free(view), free(got.list);
}

static void nothing_is_left_of_a_view(void **state) {
    pelt_view *all = view;
    (void)state;
    bool nothing = leaves_nothing(show_and_export);
    view = all;
    assert_true(nothing);
}

int main(int count, char **arguments) {
    (void)count;
    use_exactly(arguments);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_are_those_of_the_bundle_or_of_the_skin),
        cmocka_unit_test(controls_reach_as_far_as_in_the_clips),
        cmocka_unit_test(meshes_and_skins_are_those_of_their_character),
        cmocka_unit_test(clips_and_faces_are_listed_with_their_names),
        cmocka_unit_test(what_a_skin_knows_of_itself_is_told),
        cmocka_unit_test(supports_are_where_their_displacements_are),
        cmocka_unit_test(everything_that_is_named_is_there_and_nothing_is_left_out),
        cmocka_unit_test(names_end_when_the_caller_has_enough),
        cmocka_unit_test(nothing_is_left_of_a_view),
    };
    return cmocka_run_group_tests(tests, open_many, close_many);
}
