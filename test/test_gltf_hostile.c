/* test_gltf_hostile.c: damaged and malicious files. Each is refused with a message that names the location, or is safe
   to use; nothing crashes, hangs or takes more memory than its size allows. */

#include "test/gltf_maker.h"
#include <time.h>

/* -- Sentences ----------------------------------------------------------------------------------------------------- */

/* Replaces the first `from` in the character's JSON by `to`; the reader must then fail with this message. */
static void refuse(const char *from, const char *to, const char *words) {
    maker m;
    char rest[4000];
    const char *good = make_character(&m), *at = strstr(good, from);
    pelt_error error = {0};
    if (!at) fail_msg("%s is not in the character", from);
    snprintf(rest, sizeof rest, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    if (read_bytes(make_glb(&m, rest), "body.glb", &error)) fail_msg("%s was accepted", to);
    if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
    assert_ptr_equal(strstr(error.text, "body.glb: "), error.text);
}

static void errors_name_the_place(void **state) {
    (void)state;
    refuse("'children':[1]", "'children':[9]", "nodes[0].children[0]: 9, but the file has only 3 nodes");
    refuse("'children':[1]", "'children':[-1]", "nodes[0].children[0]: must be a non-negative integer");
    refuse("'children':[1]", "'children':[1.5]", "nodes[0].children[0]: must be a non-negative integer");
    refuse("'children':[1]", "'children':7", "nodes[0].children: must be a list");
    refuse("'translation':[0,1,0]", "'translation':[0,1]", "nodes[1].translation: must be a list of 3 numbers");
    refuse("'translation':[0,1,0]", "'translation':[0,1e300,0]", "nodes[1].translation[1]: ");
    refuse("'translation':[0,1,0]", "'matrix':[1,0,0,1,0,1,0,0,0,0,1,0,0,0,0,1]", "nodes[1].matrix: its last row");
    refuse("'skin':0", "'skin':1", "nodes[2].skin: 1, but the file has only 1 skins");
    refuse("'joints':[0,1]", "'joints':[]", "skins[0].joints: a skin must have joints");
    refuse("'joints':[0,1]", "'joints':[0,1,2]", "skins[0].inverseBindMatrices: 2 matrices for 3 joints");
    refuse("'joints':[0,1],'inverseBindMatrices':3", "'joints':[0]",
           "JOINTS_0: vertex 1 has joint 1, but the skin has only 1");
    refuse("'inverseBindMatrices':3", "'inverseBindMatrices':0", "accessors[0] is VEC3, but MAT4 is needed");
    refuse("'WEIGHTS_0':2", "'WEIGHTS_0':5",
           "meshes[0].primitives[0].attributes.WEIGHTS_0: 2 weights and 3 joints for 3");
    refuse("'WEIGHTS_0':2", "'WEIGHTS_0':2,'COLOR_0':5", "attributes.COLOR_0: 2 colours for 3 vertices");
    refuse("'WEIGHTS_0':2", "'WEIGHTS_0':2,'COLOR_0':3", "COLOR_0: accessors[3] is MAT4, but VEC4 is needed");
    refuse("'WEIGHTS_0':2", "'WEIGHTS_0':2,'COLOR_0':99", "COLOR_0: 99, but the file has only 8 accessors");
    refuse(",'WEIGHTS_0':2", "", "meshes[0].primitives[0].attributes.WEIGHTS_0: is missing");
    refuse("'JOINTS_0':1,'WEIGHTS_0':2}", "'JOINTS_0':1,'WEIGHTS_0':2}},{'attributes':{'POSITION':0}",
           "primitives[1]: has no JOINTS_0, but its node has a skin");
    refuse("'output':5", "'output':6", "animations[0].samplers[0].output: accessors[6] is VEC3, but VEC4 is needed");
    refuse("'input':4", "'input':99", "animations[0].samplers[0].input: 99, but the file has only 8 accessors");
    refuse("CUBICSPLINE", "LINEAR", "animations[0].samplers[1].output: 6 values for 2 keys");
    refuse("CUBICSPLINE", "WOBBLY", "'WOBBLY' is not a glTF interpolation");
    refuse("'path':'rotation'", "'path':'colour'", "animations[0].channels[0].target.path: 'colour'");
    refuse("'sampler':1", "'sampler':2", "animations[0].channels[1].sampler: names none of the animation's 2 samplers");
    refuse("'scene':0", "'scene':1", "scene: 1, but the file has only 1 scenes");
    refuse("'scenes':[{'nodes':[0,2]}]", "'scenes':[]", "scene: 0, but the file has only 0 scenes");
    refuse("'nodes':[0,2]", "'nodes':[0]", "has no mesh in its scene");
    refuse("'nodes':[0,2]", "'nodes':[2,2]", "scenes[0].nodes[1]: node 2 is listed twice");
    refuse("'nodes':[0,2]", "'nodes':[1,2]", "scenes[0].nodes[0]: node 1 has a parent");
    refuse("'mesh':0,'skin':0", "'mesh':0,'skin':0,'children':[1]", "node 1 has two parents, nodes 0 and 2");
    refuse("'name':'knee'", "'name':'knee','children':[0]", "is its own ancestor");
    refuse("'scene':0", "'scene':0,'scene':0", "its JSON is invalid at line 1");
    refuse("'scene':0", "'scene':0,'extensionsRequired':['KHR_draco_mesh_compression']",
           "extensionsRequired[0]: the file requires the extension KHR_draco_mesh_compression");
}

static void harmless_extensions_are_accepted(void **state) {
    (void)state;
    maker m;
    char rest[4000];
    snprintf(rest, sizeof rest, "%s,'extensionsRequired':['KHR_mesh_quantization','KHR_texture_transform']",
             make_character(&m));
    pelt_bundle_free(make_bundle(&m, rest));
}

/* Overwrites 4 bytes of an accessor's array; the arrays of the character are contiguous. */
static void refuse_bytes(size_t offset, uint32_t bits, const char *words) {
    maker m;
    pelt_error error = {0};
    const char *rest = make_character(&m);
    memcpy(m.binary + offset, &bits, 4);
    assert_null(read_bytes(make_glb(&m, rest), "body.glb", &error));
    if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
}

static void numbers_that_cannot_be_are_refused(void **state) {
    (void)state;
    enum { POSITIONS = 0, WEIGHTS = 48, BINDS = 96, TIMES = 224, ROTATIONS = 232, SPLINE = 264, SPARSE = 336 };
    const uint32_t nan = 0x7fc00000, infinite = 0x7f800000;
    refuse_bytes(POSITIONS + 16, nan, "accessors[0]: element 1 is not a finite number");
    refuse_bytes(WEIGHTS + 32, infinite, "accessors[2]: element 2 is not a finite number");
    refuse_bytes(WEIGHTS + 32, 0xbf800000, "WEIGHTS_0: vertex 2 has weight -1");
    refuse_bytes(BINDS + 12, 0x3f800000, "skins[0].inverseBindMatrices: the last row of matrix 0");
    refuse_bytes(TIMES, nan, "accessors[4]: element 0 is not");
    refuse_bytes(TIMES, 0x3fc00000,
                 "animations[0].samplers[0].input: key times must increase, but key 1 (1) is not "
                 "after key 0 (1.5)");
    refuse_bytes(ROTATIONS + 20, infinite, "accessors[5]: element 1");
    refuse_bytes(SPLINE, nan, "accessors[6]: element 0");
    refuse_bytes(SPARSE, 3, "accessors[7].sparse.indices: index 0 is 3");
}

static void ranges_of_accessors_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *accessor, *words;
    } cases[] = {
        {"'bufferView':0,'componentType':5126,'type':'VEC3','count':4", "accessors[0]: has 4 elements, more than"},
        {"'bufferView':0,'componentType':5126,'type':'VEC3','count':0", "accessors[0].count: 0 is not between"},
        {"'bufferView':0,'componentType':5126,'type':'VEC3','count':4294967297", "accessors[0].count: 4294967297"},
        {"'bufferView':0,'componentType':5126,'type':'VEC3','count':1e99",
         "accessors[0].count: must be a non-negative integer"},
        {"'bufferView':0,'byteOffset':2,'componentType':5126,'type':'VEC3','count':1", "starts at byte 2"},
        {"'bufferView':0,'byteOffset':9007199254740992,'componentType':5126,'type':'VEC3','count':1", "accessors[0]"},
        {"'bufferView':1,'componentType':5126,'type':'VEC3','count':1", "accessors[0].bufferView: 1, but"},
        {"'bufferView':0,'componentType':5124,'type':'VEC3','count':1", "componentType: is not a glTF component type"},
        {"'componentType':5126,'type':'VEC3','count':2000000000", "needs more memory than a file of its size should"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker m = {0};
        pelt_error error = {0};
        make_view(&m, (const float[]){0, 0, 0, 1, 0, 0, 0, 1, 0}, 36, 0);
        make_accessor(&m, cases[i].accessor);
        pelt_file file = make_glb(&m, "'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],"
                                      "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}]");
        assert_null(read_bytes(file, NULL, &error));
        if (!strstr(error.text, cases[i].words)) fail_msg("'%s' does not say '%s'", error.text, cases[i].words);
    }
}

/* -- Damage -------------------------------------------------------------------------------------------------------- */

static void read_and_use(pelt_file file) {
    pelt_error error = {0};
    pelt_bundle *bundle = read_bytes(file, NULL, &error);
    if (!bundle) return;
    free(blend_frame(bundle, NULL, 0));
    for (uint32_t c = 0; c < bundle->clip_count; c++) free(blend_frame(bundle, bundle->clips[c], 0));
    pelt_bundle_free(bundle);
}

static void a_file_cut_anywhere_is_refused(void **state) {
    (void)state;
    maker m;
    pelt_file file = make_glb(&m, make_character(&m));
    for (size_t size = 0; size < file.size; size++) {
        pelt_error error = {0};
        assert_null(read_bytes((pelt_file){file.bytes, size}, NULL, &error));
    }
}

static void any_field_may_be_overwritten(void **state) {
    (void)state;
    const uint32_t values[] = {0, 0xffffffff, 0x7fffffff, 0x7f7fffff, 0x7fc00000, 0x39393939};
    maker m;
    pelt_file file = make_glb(&m, make_character(&m));
    uint8_t *bytes = malloc(file.size);
    for (size_t at = 0; at + 4 <= file.size; at += 4)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy(bytes, file.bytes, file.size);
            memcpy(bytes + at, &values[v], 4);
            read_and_use((pelt_file){bytes, file.size});
        }
    free(bytes);
}

/* -- Malice -------------------------------------------------------------------------------------------------------- */

/* A text of `count` copies of `piece` between `begin` and `end`, to be freed. %u in the piece becomes the number of the
   copy plus 1. */
static char *repeat(const char *begin, const char *piece, uint32_t count, const char *end) {
    char *text = malloc(strlen(begin) + strlen(end) + count * (strlen(piece) + 12) + 1), *at = text;
    at += sprintf(at, "%s", begin);
    for (uint32_t i = 0; i < count; i++) {
        if (i) *at++ = ',';
        const char *number = strstr(piece, "%u");
        if (number)
            at += sprintf(at, "%.*s%u%s", (int)(number - piece), piece, i + 1, number + 2);
        else
            at += sprintf(at, "%s", piece);
    }
    strcpy(at, end);
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    return text;
}

/* Reads the text, which must take little time and be refused with this message (NULL: be valid). */
static void finishes_soon(char *json, const char *words) {
    clock_t begin = clock();
    pelt_error error = {0};
    pelt_bundle *bundle = read_bytes((pelt_file){(const uint8_t *)json, strlen(json)}, NULL, &error);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 10);
    if (!words != !error.code || (words && !strstr(error.text, words))) fail_msg("unexpected: '%s'", error.text);
    if (bundle) pelt_bundle_free(bundle);
    free(json);
}

enum { MANY = 20000 };

static const char SCENE[] = "'nodes':[{'mesh':0}],'scenes':[{'nodes':[0]}],";
static const char MESH[] = "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],";
static const char ARRAYS[] = "'accessors':[{'componentType':5126,'type':'VEC3','count':60000},"
                             "{'componentType':5126,'type':'SCALAR','count':1},"
                             "{'componentType':5126,'type':'VEC3','count':1}],'asset':{'version':'2.0'}}";

static void a_chain_of_nodes_may_be_as_long_as_the_file(void **state) {
    (void)state;
    char end[1000];
    snprintf(end, sizeof end, ",{'mesh':0}],'scenes':[{'nodes':[0]}],%s%s", MESH, ARRAYS);
    finishes_soon(repeat("{'nodes':[", "{'children':[%u]}", MANY, end), NULL);
}

static void a_mesh_that_is_used_again_and_again_is_refused_in_time(void **state) {
    (void)state;
    char end[1000], *nodes = repeat("{'nodes':[", "{'mesh':0}", MANY + 1, "],'scenes':[{'nodes':[0,");
    snprintf(end, sizeof end, "]}],%s%s", MESH, ARRAYS);
    finishes_soon(repeat(nodes, "%u", MANY, end), "needs more memory");
    free(nodes);
    snprintf(end, sizeof end, "]}],%s%s", SCENE, ARRAYS);
    finishes_soon(repeat("{'meshes':[{'primitives':[", "{'attributes':{'POSITION':0}}", MANY, end),
                  "needs more memory");
}

/* 20000 targets that all refer to the same 20000 zeros: none of them is kept, so only time could tell. */
static void targets_that_are_read_again_and_again_are_refused_in_time(void **state) {
    (void)state;
    size_t digits = 320000;
    char *text = calloc(1, digits + 2000), end[500];
    int length = sprintf(text, "{'accessors':[{'bufferView':0,'componentType':5126,'type':'VEC3','count':20000}],"
                               "'bufferViews':[{'buffer':0,'byteLength':240000}],'buffers':[{'byteLength':240000,'uri':"
                               "'data:application/octet-stream;base64,");
    memset(text + length, 'A', digits);
    strcat(text, "'}],'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[");
    snprintf(end, sizeof end, "]}]}],%s'asset':{'version':'2.0'}}", SCENE);
    finishes_soon(repeat(text, "{'POSITION':0}", MANY, end), "references its data so often");
    free(text);
}

static void many_clips_of_one_name_finish_soon(void **state) {
    (void)state;
    char end[1000];
    snprintf(end, sizeof end, "],%s%s%s", SCENE, MESH, ARRAYS);
    finishes_soon(repeat("{'animations':[",
                         "{'name':'a','samplers':[{'input':1,'output':2}],'channels':[{'sampler':0,'target':{'node':0,"
                         "'path':'scale'}}]}",
                         MANY, end),
                  NULL);
}

static void deeply_nested_text_is_refused(void **state) {
    (void)state;
    size_t depth = 1000000;
    char *text = malloc(depth + 1);
    pelt_error error = {0};
    memset(text, '[', depth);
    memcpy(text, "{\"a\":", 5);
    text[depth] = 0;
    assert_null(read_bytes((pelt_file){(const uint8_t *)text, depth}, NULL, &error));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(harmless_extensions_are_accepted),
        cmocka_unit_test(numbers_that_cannot_be_are_refused),
        cmocka_unit_test(ranges_of_accessors_are_checked),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(any_field_may_be_overwritten),
        cmocka_unit_test(a_chain_of_nodes_may_be_as_long_as_the_file),
        cmocka_unit_test(a_mesh_that_is_used_again_and_again_is_refused_in_time),
        cmocka_unit_test(targets_that_are_read_again_and_again_are_refused_in_time),
        cmocka_unit_test(many_clips_of_one_name_finish_soon),
        cmocka_unit_test(deeply_nested_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
