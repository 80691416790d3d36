/* test_rewrite.c: a glTF file with another skin in it. Only what was requested changes, everything else stays, and
   damaged files are refused or kept. (js/keeps.sh compares whole characters with other programs.) */

#include "test/gltf_maker.h"
#include "io/io.h"
#include <jansson.h>
#include <sys/stat.h>

static const char *path_of(const char *name) {
    static char paths[16][1024];
    static int next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static void save(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* -- The tree of a file, read without pelt ------------------------------------------------------------------------- */

typedef struct tree {
    uint8_t *bytes;
    json_t *json;
    const uint8_t *binary; /* of a .glb */
    size_t size;           /* of the file */
} tree;

static tree load(const char *path) {
    tree t = {malloc(1 << 20), NULL, NULL, 0};
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is not there", path);
    t.size = fread(t.bytes, 1, 1 << 20, file);
    fclose(file);
    uint32_t length = 0;
    bool glb = !memcmp(t.bytes, "glTF", 4);
    if (glb) memcpy(&length, t.bytes + 12, 4);
    t.json = json_loadb((const char *)t.bytes + (glb ? 20 : 0), glb ? length : t.size, 0, NULL);
    assert_non_null(t.json);
    if (glb) t.binary = t.bytes + 28 + length;
    return t;
}

static void drop(tree *t) { json_decref(t->json), free(t->bytes); }

/* The value at a path such as "meshes.0.name". */
static json_t *at(const tree *t, const char *path) {
    json_t *value = t->json;
    char word[64];
    for (const char *end; value && *path; path = *end ? end + 1 : end) {
        end = path + strcspn(path, ".");
        snprintf(word, sizeof word, "%.*s", (int)(end - path), path);
        value = json_is_array(value) ? json_array_get(value, (size_t)atoi(word)) : json_object_get(value, word);
    }
    return value;
}

static int integer(const tree *t, const char *path) {
    if (!json_is_integer(at(t, path))) fail_msg("no number at %s", path);
    return (int)json_integer_value(at(t, path));
}

/* The floats of an accessor that is not sparse. */
static const float *floats(const tree *t, int accessor, size_t *count) {
    static const char *const shapes[] = {"SCALAR", "", "VEC3", "VEC4"};
    char path[64];
    snprintf(path, sizeof path, "accessors.%d", accessor);
    json_t *a = at(t, path);
    snprintf(path, sizeof path, "bufferViews.%d.byteOffset", (int)json_integer_value(json_object_get(a, "bufferView")));
    size_t size = 0;
    for (size_t i = 0; i < 4; i++)
        if (!strcmp(json_string_value(json_object_get(a, "type")), shapes[i])) size = i + 1;
    *count = size * (size_t)json_integer_value(json_object_get(a, "count"));
    return (const float *)(t->binary + json_integer_value(at(t, path)) +
                           json_integer_value(json_object_get(a, "byteOffset")));
}

/* -- Changes ------------------------------------------------------------------------------------------------------- */

/* A file's content, to be changed. */
typedef struct changing {
    pelt_bundle *bundle;
    pelt_mesh mesh;
    pelt_gltf_content content;
} changing;

static changing *begin(const char *path) {
    static changing c;
    pelt_error error = {0};
    c.bundle = pelt_bundle_read(path, &error);
    if (!c.bundle) fail_msg("%s", error.text);
    c.mesh = c.bundle->mesh;
    c.mesh.target_count = 0;
    c.content = (pelt_gltf_content){.mesh = &c.mesh, .skeleton = &c.bundle->skeleton, .source = c.bundle->path};
    return &c;
}

static tree finish(changing *c, const char *path) {
    pelt_error error = {0};
    if (pelt_gltf_write(path, &c->content, &error)) fail_msg("%s", error.text);
    pelt_bundle_free(c->bundle);
    return load(path);
}

/* A target that moves vertex v by (1, 2, 3). */
static void add_target(changing *c, uint32_t v) {
    static const float delta[3] = {1, 2, 3};
    pelt_target *target = PELT_NEW(c->bundle->arena, 1, pelt_target);
    uint32_t *vertex = PELT_NEW(c->bundle->arena, 1, uint32_t);
    *vertex = v;
    *target = (pelt_target){"made", 1, vertex, delta};
    c->mesh.targets = target, c->mesh.target_count = 1;
}

/* -- Files of several pieces --------------------------------------------------------------------------------------- */

static const uint8_t picture[] = "\x89PNG\r\n\x1a\n and more";

/* A .gltf in a separate folder, with a side file, a picture, and things pelt ignores. */
static const char *write_pieces(const char *extra) {
    static char path[1024];
    maker m;
    char rest[4000];
    mkdir(path_of("in here"), 0777);
    snprintf(rest, sizeof rest,
             "%s,'images':[{'uri':'my%%20skin.png'},{'uri':'data:image/png;base64,AAAA'},{'uri':'../up.png'},"
             "{'uri':'gone.png'}],'textures':[{'source':0}],'materials':[{'name':'cloth','alphaCutoff':0.1}],"
             "'cameras':[{'type':'orthographic','orthographic':{'xmag':1,'ymag':1,'zfar':2,'znear':1}}],"
             "'extras':{'who':'me','list':[1,2.5,null,true]}%s",
             make_character(&m), extra);
    const char *json = make_json(&m, ",'uri':'side.bin'", rest);
    save(path_of("in here/side.bin"), m.binary, m.size);
    save(path_of("in here/my skin.png"), picture, sizeof picture);
    save(path_of("up.png"), picture, sizeof picture);
    snprintf(path, sizeof path, "%s", path_of("in here/body.gltf"));
    save(path, json, strlen(json));
    return path;
}

static void pieces_become_one_file_and_nothing_is_lost(void **state) {
    (void)state;
    const char *source = write_pieces("");
    tree before = load(source), after = finish(begin(source), path_of("whole.glb"));
    const char *const same[] = {"nodes",     "meshes",  "skins",  "animations", "textures",
                                "materials", "cameras", "extras", "accessors"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!json_equal(at(&before, same[i]), at(&after, same[i]))) fail_msg("%s differ", same[i]);
    assert_null(at(&after, "buffers.0.uri"));
    char view[64];
    snprintf(view, sizeof view, "bufferViews.%d", integer(&after, "images.0.bufferView"));
    const json_t *shown = at(&after, view);
    assert_int_equal(json_integer_value(json_object_get(shown, "byteLength")), sizeof picture);
    assert_memory_equal(after.binary + json_integer_value(json_object_get(shown, "byteOffset")), picture,
                        sizeof picture);
    assert_string_equal(json_string_value(at(&after, "images.0.mimeType")), "image/png");
    for (int i = 1; i < 4; i++) /* those already inside, or not available */
        assert_true(json_equal(json_array_get(at(&before, "images"), i), json_array_get(at(&after, "images"), i)));
    drop(&before), drop(&after);
}

static void a_gltf_has_its_bytes_beside_it_and_finds_its_pictures(void **state) {
    (void)state;
    const char *source = write_pieces("");
    pelt_error error = {0};
    tree near = finish(begin(source), path_of("in here/other one.gltf"));
    assert_string_equal(json_string_value(at(&near, "buffers.0.uri")), "other%20one.bin");
    assert_string_equal(json_string_value(at(&near, "images.0.uri")), "my%20skin.png");
    drop(&near);
    for (int twice = 0; twice < 2; twice++) { /* the second time over existing files */
        tree far = finish(begin(source), path_of("far.gltf"));
        assert_null(at(&far, "images.0.uri"));
        drop(&far);
        pelt_bundle *read = pelt_bundle_read(path_of("far.gltf"), &error), *own = pelt_bundle_read(source, &error);
        assert_non_null(read);
        assert_memory_equal(read->mesh.positions, own->mesh.positions, 9 * sizeof(float));
        pelt_bundle_free(read), pelt_bundle_free(own);
    }
}

static void a_pair_of_files_appears_together_or_not_at_all(void **state) {
    (void)state;
    const char *source = write_pieces("");
    changing *c = begin(source);
    pelt_error error = {0};
    mkdir(path_of("taken.gltf"), 0777);
    assert_int_not_equal(pelt_gltf_write(path_of("taken.gltf"), &c->content, &error), PELT_OK);
    assert_int_not_equal(access(path_of("taken.bin"), F_OK), 0);
    mkdir(path_of("half.bin"), 0777);
    assert_int_not_equal(pelt_gltf_write(path_of("half.gltf"), &c->content, &error), PELT_OK);
    assert_int_not_equal(access(path_of("half.gltf"), F_OK), 0);
    assert_int_equal(pelt_gltf_write(path_of("body.fbx"), &c->content, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "body.fbx: has no glTF extension"));
    pelt_bundle_free(c->bundle);
}

/* -- Arrays that go and stay --------------------------------------------------------------------------------------- */

static tree move_vertices(const char *extra, const char *path) {
    changing *c = begin(write_pieces(extra));
    c->mesh.positions[4] += 5;
    return finish(c, path);
}

static void arrays_that_nothing_uses_any_more_go(void **state) {
    (void)state;
    tree before = load(write_pieces("")), after = move_vertices("", path_of("moved.glb"));
    size_t count;
    assert_int_equal(json_array_size(at(&after, "accessors")), json_array_size(at(&before, "accessors")));
    const float *p = floats(&after, integer(&after, "meshes.0.primitives.0.attributes.POSITION"), &count);
    assert_int_equal(count, 9);
    const float moved[9] = {0, 0, 0, 1, 5, 0, 0, 1, 0};
    assert_memory_equal(p, moved, sizeof moved);
    /* Repeatedly: the file does not grow. */
    for (int i = 0; i < 3; i++) {
        changing *c = begin(path_of("moved.glb"));
        c->mesh.positions[4] += 5;
        tree next = finish(c, path_of("moved.glb"));
        assert_in_range(next.size, after.size - 16, after.size + 16);
        drop(&next);
    }
    drop(&before), drop(&after);
}

/* Painted vertices stay painted, byte for byte, whatever else changes. */
static void colours_stay_as_they_are(void **state) {
    (void)state;
    const uint8_t colors[12] = {255, 0, 0, 255, 1, 2, 3, 4, 0, 128, 255, 7};
    maker m;
    char rest[4000], view[64];
    const char *words = make_character(&m), *at_weights = strstr(words, "'WEIGHTS_0':2");
    make_array(&m, colors, sizeof colors, UBYTE, "VEC4", 3, true);
    snprintf(rest, sizeof rest, "%.*s'COLOR_0':8,%s", (int)(at_weights - words), words, at_weights);
    pelt_file file = make_glb(&m, rest);
    save(path_of("painted.glb"), file.bytes, file.size);
    tree before = load(path_of("painted.glb"));
    changing *c = begin(path_of("painted.glb"));
    assert_true(c->mesh.colors[0] == 1 && c->mesh.colors[8] == 1 && c->mesh.colors[6] == 0);
    c->mesh.positions[4] += 5;
    c->mesh.influences.weights[0] = 0.25f;
    add_target(c, 1);
    tree after = finish(c, path_of("repainted.glb"));
    char accessor[64];
    snprintf(accessor, sizeof accessor, "accessors.%d", integer(&after, "meshes.0.primitives.0.attributes.COLOR_0"));
    json_t *new = at(&after, accessor), *old = at(&before, "accessors.8");
    static const char *const same[] = {"componentType", "normalized", "type", "count"};
    for (int i = 0; i < 4; i++) assert_true(json_equal(json_object_get(new, same[i]), json_object_get(old, same[i])));
    snprintf(view, sizeof view, "bufferViews.%d.byteOffset",
             (int)json_integer_value(json_object_get(new, "bufferView")));
    assert_memory_equal(after.binary + integer(&after, view), colors, sizeof colors);
    drop(&before), drop(&after);
}

static void what_an_unknown_extension_may_mean_stays(void **state) {
    (void)state;
    static const char *const deep[] = {",'samplers':[{'extensions':{'VENDOR_any':{}}}]",
                                       ",'samplers':[{'extras':{'extensions':{'VENDOR_any':{}}}}]"};
    for (int i = 0; i < 2; i++) { /* extras are nobody's extensions */
        tree with = move_vertices(deep[i], path_of("deep.glb"));
        assert_int_equal(json_array_size(at(&with, "accessors")), i ? 8 : 9);
        drop(&with);
    }
    const char *extra = ",'extensionsUsed':['VENDOR_any'],'extensions':{'VENDOR_any':{'accessor':0,'view':0}}";
    tree before = load(write_pieces(extra)), after = move_vertices(extra, path_of("strange.glb"));
    assert_int_equal(json_array_size(at(&after, "accessors")), json_array_size(at(&before, "accessors")) + 1);
    assert_true(json_equal(at(&before, "extensions"), at(&after, "extensions")));
    for (size_t i = 0; i < json_array_size(at(&before, "accessors")); i++)
        assert_true(
            json_equal(json_array_get(at(&before, "accessors"), i), json_array_get(at(&after, "accessors"), i)));
    size_t count;
    const float old[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    assert_memory_equal(floats(&after, 0, &count), old, sizeof old);
    drop(&before), drop(&after);
}

/* -- Nodes that share a mesh --------------------------------------------------------------------------------------- */

/* A triangle shown by two nodes, one of them rotated and scaled, and by a node outside the scene; two primitives share
   its vertices. */
static const char *write_instances(void) {
    maker m = {0};
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    MAKE_FLOATS(&m, "VEC3", 3, 0, 0, 1, 0, 0, 1, 0, 0, 1);
    pelt_file file = make_glb(
        &m, "'scene':0,'scenes':[{'nodes':[0]}],'nodes':[{'name':'top','children':[1,2]},{'name':'a','mesh':0},"
            "{'name':'b','mesh':0,'translation':[10,0,0],'rotation':[0,0,0.7071067811865476,0.7071067811865476],"
            "'scale':[2,4,2]},{'mesh':0}],"
            "'meshes':[{'name':'leaf','primitives':[{'attributes':{'POSITION':0,'NORMAL':1}},"
            "{'attributes':{'POSITION':0,'NORMAL':1},'material':0}]}],'materials':[{}]");
    save(path_of("instances.glb"), file.bytes, file.size);
    return path_of("instances.glb");
}

static void a_mesh_that_changes_in_one_place_is_copied_for_it(void **state) {
    (void)state;
    changing *c = begin(write_instances());
    assert_int_equal(c->mesh.vertex_count, 6);
    c->mesh.positions[3 * 4 + 1] += 2; /* vertex 1 of the second node, which is at (10, 2, 0) */
    tree t = finish(c, path_of("copied.glb"));
    assert_int_equal(json_array_size(at(&t, "meshes")), 2);
    assert_int_equal(integer(&t, "nodes.1.mesh"), 0);
    assert_int_equal(integer(&t, "nodes.2.mesh"), 1);
    assert_int_equal(integer(&t, "nodes.3.mesh"), 0);
    assert_string_equal(json_string_value(at(&t, "meshes.1.name")), "leaf");
    int position = integer(&t, "meshes.1.primitives.0.attributes.POSITION");
    assert_int_equal(position, integer(&t, "meshes.1.primitives.1.attributes.POSITION"));
    assert_int_equal(integer(&t, "meshes.1.primitives.1.material"), 0);
    size_t count;
    const float *p = floats(&t, position, &count),
                own[9] = {0, 0, 0, 2, 0, 0, 0, 1, 0}; /* turned back, 2 along y is 1 along x */
    for (int i = 0; i < 9; i++) assert_near(p[i], own[i], 1e-6);
    drop(&t);
}

static void targets_of_a_rigid_mesh_are_in_its_own_space(void **state) {
    (void)state;
    changing *c = begin(write_instances());
    add_target(c, 4);
    c->content.target_normals = c->mesh.targets;
    tree t = finish(c, path_of("target.glb"));
    pelt_error error = {0};
    pelt_bundle *back = pelt_bundle_read(path_of("target.glb"), &error);
    assert_non_null(back);
    assert_int_equal(back->mesh.target_count, 1);
    const pelt_target *target = &back->mesh.targets[0], *normal = &back->mesh.target_normals[0];
    assert_string_equal(target->name, "made");
    assert_int_equal(target->count, 1);
    assert_int_equal(target->vertices[0], 4);
    for (int i = 0; i < 3; i++) assert_near(target->deltas[i], i + 1, 1e-5);
    for (int i = 0; i < 3; i++) assert_near(normal->deltas[i], i + 1, 1e-5);
    assert_null(at(&t, "meshes.0.primitives.0.targets"));
    assert_int_equal(json_array_size(at(&t, "meshes.1.primitives.1.targets")), 1);
    pelt_bundle_free(back);
    drop(&t);
}

/* A rigid mesh that follows two joints gets a skin, and moves as before where the weights say so. */
static void a_rigid_mesh_gets_a_skin_where_it_needs_one(void **state) {
    (void)state;
    changing *c = begin(write_instances());
    pelt_influences *in = &c->mesh.influences;
    uint32_t joints[7] = {0, 1, 2, 2, 2, 1, 2}, first[7] = {0, 1, 2, 3, 4, 6, 7};
    float weights[7] = {1, 1, 1, 1, 0.25f, 0.75f, 1};
    memcpy(joints, in->joints, 5 * sizeof *joints), joints[5] = in->joints[0], joints[6] = in->joints[5];
    in->joints = joints, in->first = first, in->weights = weights;
    tree t = finish(c, path_of("skinned.glb"));
    assert_null(at(&t, "nodes.1.skin"));
    assert_int_equal(integer(&t, "nodes.2.skin"), 0);
    assert_int_equal(json_array_size(at(&t, "skins.0.joints")), 2);
    tree before = load(path_of("instances.glb"));
    size_t count;
    assert_memory_equal(floats(&t, integer(&t, "meshes.1.primitives.0.attributes.POSITION"), &count),
                        floats(&before, 0, &count), 36);
    pelt_error error = {0};
    pelt_bundle *back = pelt_bundle_read(path_of("skinned.glb"), &error),
                *own = pelt_bundle_read(path_of("instances.glb"), &error);
    double *moved = blend_frame(back, NULL, 0), *rest = blend_frame(own, NULL, 0);
    for (int i = 0; i < 18; i++) assert_near(moved[i], rest[i], 1e-5);
    assert_int_equal(back->mesh.influences.first[6], 7);
    free(moved), free(rest), pelt_bundle_free(back), pelt_bundle_free(own);
    drop(&before), drop(&t);
}

/* -- Frames as .obj files ------------------------------------------------------------------------------------------- */

static void obj_files_keep_objects_materials_and_texture_coordinates(void **state) {
    (void)state;
    changing *c = begin(write_instances());
    pelt_error error = {0};
    float uvs[12] = {0, 0, 0.25f, 1, 0.5f, 0.75f}, positions[18] = {0};
    c->mesh.uvs = uvs;
    c->mesh.parts[1].material = "cloth\n# f 1 1 1";
    pelt_cache_writer *writer = pelt_cache_writer_open(path_of("objs/"), 1, &c->mesh, 30, &error);
    assert_non_null(writer);
    pelt_cache_writer_frame(writer, positions);
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    char text[2000] = {0};
    FILE *file = fopen(path_of("objs/frame_000000.obj"), "rb");
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    const char *const lines[] = {"v 0 0 0\nvt 0 1\nvt 0.25 0\nvt 0.5 0.25\nvt 0 1\n",
                                 "vt 0 1\no a\nf 1/1 2/2 3/3\nusemtl cloth__ f 1 1 1\nf 1/1 2/2 3/3\no b\n",
                                 "o b\nusemtl none\nf 4/4 5/5 6/6\nusemtl material0\nf 4/4 5/5 6/6\n"};
    for (int i = 0; i < 3; i++)
        if (!strstr(text, lines[i])) fail_msg("there is no\n%s in\n%s", lines[i], text);
    pelt_cache cache;
    assert_int_equal(pelt_cache_read(c->bundle->arena, path_of("objs"), &cache, &error), PELT_OK);
    assert_int_equal(cache.point_count, 6);
    pelt_bundle_free(c->bundle);
}

/* -- Tracks -------------------------------------------------------------------------------------------------------- */

static float line(float a, float b, float u) { return a + u * (b - a); }

/* Weights of a target over time: keys at 0, 1, 3 with the values 0, 1, -1; splines without slopes. */
static double file_weight(const char *kind, double t) {
    double a = t < 1 ? 0 : 1, b = t < 1 ? 1 : -1, u = t < 1 ? t : (t - 1) / 2;
    if (t >= 3) return -1;
    if (!strcmp(kind, "STEP")) return a;
    if (!strcmp(kind, "LINEAR")) return a + u * (b - a);
    return a + u * u * (3 - 2 * u) * (b - a);
}

/* The value of component i of a track of the file at a time. */
static double track_value(const tree *t, int sampler, size_t width, size_t i, float time) {
    char path[80];
    size_t keys, count;
    snprintf(path, sizeof path, "animations.0.samplers.%d.input", sampler);
    const float *times = floats(t, integer(t, path), &keys);
    snprintf(path, sizeof path, "animations.0.samplers.%d.output", sampler);
    const float *values = floats(t, integer(t, path), &count);
    assert_int_equal(count, keys * width);
    snprintf(path, sizeof path, "animations.0.samplers.%d.interpolation", sampler);
    assert_string_equal(json_string_value(at(t, path)), "LINEAR");
    size_t k = 0;
    while (k + 2 < keys && times[k + 1] <= time) k++;
    float u = fminf(fmaxf((time - times[k]) / (times[k + 1] - times[k]), 0), 1);
    return line(values[k * width + i], values[(k + 1) * width + i], u);
}

static void weights_of_the_file_and_new_ones_are_played_together(void **state) {
    (void)state;
    static const char *const kinds[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    for (int kind = 0; kind < 3; kind++) {
        maker m;
        char rest[4000], sampler[400];
        const char *good = make_character(&m), *end = strstr(good, "],'channels':[{'sampler':0");
        MAKE_FLOATS(&m, "SCALAR", 3, 0, 1, 3); /* accessor 8 */
        if (kind < 2)
            MAKE_FLOATS(&m, "SCALAR", 3, 0, 1, -1);
        else
            MAKE_FLOATS(&m, "SCALAR", 9, 0, 0, 0, 0, 1, 0, 0, -1, 0);
        snprintf(sampler, sizeof sampler,
                 ",{'input':8,'output':9,'interpolation':'%s'}],'channels':[{'sampler':2,'target':{'node':2,'path':"
                 "'weights'}},{'sampler':0",
                 kinds[kind]);
        snprintf(rest, sizeof rest, "%.*s%s%s", (int)(end - good), good, sampler,
                 end + strlen("],'channels':[{'sampler':0"));
        pelt_file file = make_glb(&m, rest);
        save(path_of("tracks.glb"), file.bytes, file.size);
        changing *c = begin(path_of("tracks.glb"));
        add_target(c, 1);
        const float new_weights[] = {0.5f, 0.25f}, *tracks[] = {new_weights};
        const pelt_clip *clip = c->bundle->clips[0];
        assert_int_equal(clip->frame_count, 2); /* 0 and 1 s */
        c->content.clips = &clip, c->content.clip_count = 1, c->content.clip_weights = tracks;
        tree t = finish(c, path_of("joined.glb"));
        assert_int_equal(json_array_size(at(&t, "animations.0.channels")), 3);
        assert_int_equal(json_array_size(at(&t, "meshes.0.primitives.0.targets")), 2);
        assert_string_equal(json_string_value(at(&t, "meshes.0.extras.targetNames.0")), "smile");
        assert_string_equal(json_string_value(at(&t, "meshes.0.extras.targetNames.1")), "made");
        int sampler_of = integer(&t, "animations.0.channels.0.sampler");
        for (float time = 0; time < 4; time += 0.0371f) {
            double tolerance = kind == 2 ? 0.01 : 1e-5; /* straight pieces of a spline */
            assert_near(track_value(&t, sampler_of, 2, 0, time), file_weight(kinds[kind], time), tolerance);
            assert_near(track_value(&t, sampler_of, 2, 1, time), time < 1 ? 0.5 - 0.25 * time : 0.25, 1e-5);
        }
        drop(&t);
    }
}

/* In a clip that has no weights, the file's targets keep those of the rest pose. */
static void targets_at_rest_stay_so_in_clips(void **state) {
    (void)state;
    maker m;
    char rest[4000];
    const char *good = make_character(&m), *where = strstr(good, "'extras':{'targetNames'");
    snprintf(rest, sizeof rest, "%.*s'weights':[0.75],%s", (int)(where - good), good, where);
    pelt_file file = make_glb(&m, rest);
    save(path_of("rest.glb"), file.bytes, file.size);
    changing *c = begin(path_of("rest.glb"));
    add_target(c, 1);
    const float new_weights[] = {0.5f, 0.25f}, *tracks[] = {new_weights};
    c->content.clips = c->bundle->clips, c->content.clip_count = 1, c->content.clip_weights = tracks;
    tree t = finish(c, path_of("rested.glb"));
    char path[80];
    size_t count;
    snprintf(path, sizeof path, "animations.0.samplers.%d.output", integer(&t, "animations.0.channels.2.sampler"));
    const float *values = floats(&t, integer(&t, path), &count), expected[4] = {0.75f, 0.5f, 0.75f, 0.25f};
    assert_int_equal(count, 4);
    assert_memory_equal(values, expected, sizeof expected);
    assert_int_equal(json_array_size(at(&t, "meshes.0.weights")), 2);
    drop(&t);
}

/* A mesh that gets targets, in a clip that is not written: the file's weights stay, the new ones are zero. */
static void other_clips_keep_their_weights(void **state) {
    (void)state;
    changing *c = begin(path_of("tracks.glb")); /* with a spline */
    add_target(c, 1);
    tree t = finish(c, path_of("longer.glb"));
    char path[80];
    size_t count;
    snprintf(path, sizeof path, "animations.0.samplers.%d.output", integer(&t, "animations.0.channels.0.sampler"));
    const float *values = floats(&t, integer(&t, path), &count), expected[18] = {[8] = 1, [14] = -1};
    assert_int_equal(count, 18);
    assert_memory_equal(values, expected, sizeof expected);
    drop(&t);
}

/* A new joint has the correct parent, and only its own channel is added. */
static void new_joints_become_nodes_with_tracks(void **state) {
    (void)state;
    changing *c = begin(write_pieces(""));
    pelt_skeleton *s = &c->bundle->skeleton;
    pelt_transform rest[3] = {s->rest[0], s->rest[1], {{0, 0, 0, 1}, {0, 0, 7}, {1, 1, 1}}};
    const char *names[3] = {s->names[0], s->names[1], "new"};
    int32_t parents[3] = {-1, 0, 1};
    double binds[3][12];
    memcpy(binds, s->inverse_bind, 2 * sizeof *binds), memcpy(binds[2], binds[1], sizeof *binds);
    binds[2][11] = -7;
    pelt_skeleton skeleton = {3, names, parents, rest, binds};
    const float values[] = {0, 0, 7, 0, 0, 8};
    pelt_clip clip = *c->bundle->clips[0];
    pelt_channel channels[3] = {
        clip.channels[0],
        clip.channels[1],
        {.joint = 2, .key_count = 2, .path = PELT_TRANSLATION, .times = clip.times, .values = values}};
    clip.channels = channels, clip.channel_count = 3;
    const pelt_clip *clips[] = {&clip};
    c->content.skeleton = &skeleton, c->content.clips = clips, c->content.clip_count = 1;
    c->mesh.influences.joints[0] = 2;
    tree t = finish(c, path_of("joint.glb"));
    assert_int_equal(json_array_size(at(&t, "nodes")), 4);
    assert_string_equal(json_string_value(at(&t, "nodes.3.name")), "new");
    assert_int_equal(integer(&t, "nodes.1.children.0"), 3);
    assert_int_equal(json_array_size(at(&t, "skins.0.joints")), 3);
    assert_int_equal(integer(&t, "skins.0.joints.2"), 3);
    assert_int_equal(json_array_size(at(&t, "animations.0.channels")), 3);
    assert_int_equal(integer(&t, "animations.0.channels.2.target.node"), 3);
    drop(&t);
    pelt_error error = {0};
    pelt_bundle *back = pelt_bundle_read(path_of("joint.glb"), &error),
                *own = pelt_bundle_read(write_pieces(""), &error);
    double *ours = blend_frame(back, back->clips[0], 1), *theirs = blend_frame(own, own->clips[0], 1);
    /* Vertex 0 follows the new joint, which is at (1, 0, 0) + the rotated knee's (0, 1, 0), and has moved by 1. */
    for (int i = 3; i < 9; i++) assert_near(ours[i], theirs[i], 1e-6);
    assert_near(ours[2], 1, 1e-6);
    free(ours), free(theirs), pelt_bundle_free(back), pelt_bundle_free(own);
}

/* -- Embedded skins ------------------------------------------------------------------------------------------------ */

static void a_skin_comes_out_of_the_file_as_it_went_in(void **state) {
    (void)state;
    static const char *const outputs[] = {"inside.glb", "inside.gltf", "inside.glb"};
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(write_pieces(""), &error);
    pelt_bytes *bytes =
        pelt_fit(bundle, (pelt_examples){0}, &(pelt_fit_options){.method = PELT_METHOD_SSD}, NULL, &error);
    assert_non_null(bytes);
    for (int i = 0; i < 3; i++) { /* the last one replaces a skin that is there */
        changing *c = begin(i == 2 ? path_of("inside.gltf") : write_pieces(""));
        c->content.embed = bytes, c->content.embed_joints = 2;
        tree t = finish(c, path_of(outputs[i]));
        pelt_skin skin;
        pelt_bytes *back = pelt_skin_read(path_of(outputs[i]), &skin, &error);
        if (!back) fail_msg("%s", error.text);
        assert_int_equal(back->size, bytes->size);
        assert_memory_equal(back->bytes, bytes->bytes, bytes->size);
        assert_int_equal(json_array_size(at(&t, "extensionsUsed")), 1);
        assert_null(at(&t, "extensionsRequired"));
        assert_int_equal(integer(&t, "extensions.PELT_skin.joints.1"), 1);
        assert_int_equal(integer(&t, "extensions.PELT_skin.parts.0.node"), 2);
        assert_int_equal(integer(&t, "extensions.PELT_skin.parts.0.vertexCount"), 3);
        pelt_bytes_free(back), drop(&t);
    }
    tree first = load(path_of("inside.glb"));
    assert_true(first.size < bytes->size + 6000); /* one skin, not two */
    drop(&first);
    pelt_bytes_free(bytes), pelt_bundle_free(bundle);
}

static void a_file_without_a_skin_says_so(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"", "contains no skin"},
        {",'extensions':{'PELT_skin':{'version':2,'bufferView':0}}", "version 2"},
        {",'extensions':{'PELT_skin':{'version':1}}", "bufferView: is missing"},
        {",'extensions':{'PELT_skin':{'version':1,'bufferView':99}}", "99, but the file has only"},
        {",'extensions':{'PELT_skin':{'version':1,'bufferView':0}}", "is not a skin that pelt can run"},
        {",'extensions':{'PELT_skin':7}", "version 0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pelt_skin skin;
        pelt_error error = {0};
        assert_null(pelt_skin_read(write_pieces(wrong[i][0]), &skin, &error));
        if (!strstr(error.text, wrong[i][1])) fail_msg("'%s' does not say '%s'", error.text, wrong[i][1]);
    }
}

/* -- Damage that the reader does not look at ----------------------------------------------------------------------- */

static void damage_is_refused_or_kept(void **state) {
    (void)state;
    static const char *const refused[] = {
        ",'skins':7", /* twice: broken JSON */
        ",'extensions':[]",
        ",'extensionsUsed':{}",
    };
    static const char *const kept[] = {
        ",'extensions':{'PELT_skin':{'bufferView':-1}}",
        ",'extensions':{'PELT_skin':[1]}",
        ",'extensionsUsed':[7,null]",
        ",'samplers':null",
        ",'x':{'extensions':5}",
        ",'x':[{'extensions':{'KHR_materials_any':{'extensions':[]}}}]",
    };
    pelt_error error = {0};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        changing *c = begin(write_pieces(""));
        assert_int_not_equal(
            pelt_gltf_write(path_of("bad.glb"),
                            &((pelt_gltf_content){.mesh = &c->mesh, .source = write_pieces(refused[i])}), &error),
            PELT_OK);
        assert_true(strlen(error.text) > 10);
        assert_int_not_equal(access(path_of("bad.glb"), F_OK), 0);
        pelt_bundle_free(c->bundle);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        changing *c = begin(write_pieces(kept[i]));
        add_target(c, 1);
        c->mesh.positions[0] = 3;
        tree t = finish(c, path_of("kept.glb"));
        pelt_bundle *back = pelt_bundle_read(path_of("kept.glb"), &error);
        assert_non_null(back);
        pelt_bundle_free(back), drop(&t);
    }
}

/* Replaces words of the character and writes it with a new target. */
static pelt_result write_damaged(const char *from, const char *to, pelt_error *error) {
    maker m;
    char rest[4000];
    const char *good = make_character(&m), *where = strstr(good, from);
    assert_non_null(where);
    snprintf(rest, sizeof rest, "%.*s%s%s", (int)(where - good), good, to, where + strlen(from));
    pelt_file file = make_glb(&m, rest);
    save(path_of("damaged.glb"), file.bytes, file.size);
    pelt_bundle *bundle = pelt_bundle_read(path_of("damaged.glb"), error);
    if (!bundle) return error->code; /* it is refused even earlier */
    pelt_bundle_free(bundle);
    changing *c = begin(path_of("damaged.glb"));
    add_target(c, 1);
    pelt_result result = pelt_gltf_write(path_of("mended.glb"), &c->content, error);
    pelt_bundle_free(c->bundle);
    return result;
}

static void tracks_of_weights_that_do_not_fit_are_refused(void **state) {
    (void)state;
    pelt_error error = {0};
    const char *channel = "'channels':[{'sampler':0";
    assert_int_equal(
        write_damaged(channel, "'channels':[{'sampler':7,'target':{'node':2,'path':'weights'}},{'sampler':0", &error),
        PELT_ERROR_INDEX);
    assert_non_null(strstr(error.text, "animations[0].channels[0].sampler: names none"));
    assert_int_not_equal(
        write_damaged(channel, "'channels':[{'sampler':0,'target':{'node':2,'path':'weights'}},{'sampler':0", &error),
        PELT_OK);
    assert_non_null(strstr(error.text, "samplers[0].output"));
    assert_int_equal(write_damaged("'scene':0", "'scene':0,'images':[{'bufferView':99}]", &error), PELT_OK);
    assert_int_equal(write_damaged("'extras':{'targetNames':['smile']}", "'extras':7", &error), PELT_OK);
    assert_int_equal(
        write_damaged("'extras':{'targetNames':['smile']}", "'extras':{'targetNames':{}},'weights':'no'", &error),
        PELT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_become_one_file_and_nothing_is_lost),
        cmocka_unit_test(a_gltf_has_its_bytes_beside_it_and_finds_its_pictures),
        cmocka_unit_test(a_pair_of_files_appears_together_or_not_at_all),
        cmocka_unit_test(arrays_that_nothing_uses_any_more_go),
        cmocka_unit_test(colours_stay_as_they_are),
        cmocka_unit_test(what_an_unknown_extension_may_mean_stays),
        cmocka_unit_test(a_mesh_that_changes_in_one_place_is_copied_for_it),
        cmocka_unit_test(targets_of_a_rigid_mesh_are_in_its_own_space),
        cmocka_unit_test(a_rigid_mesh_gets_a_skin_where_it_needs_one),
        cmocka_unit_test(obj_files_keep_objects_materials_and_texture_coordinates),
        cmocka_unit_test(weights_of_the_file_and_new_ones_are_played_together),
        cmocka_unit_test(other_clips_keep_their_weights),
        cmocka_unit_test(targets_at_rest_stay_so_in_clips),
        cmocka_unit_test(new_joints_become_nodes_with_tracks),
        cmocka_unit_test(a_skin_comes_out_of_the_file_as_it_went_in),
        cmocka_unit_test(a_file_without_a_skin_says_so),
        cmocka_unit_test(damage_is_refused_or_kept),
        cmocka_unit_test(tracks_of_weights_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
