/* test_skin_file.c: the bytes of a skin: what is packed can be read back, damage is refused or harmless, and a file
   written only from docs/format.md can be opened and run. */

#include "test/character.h"
#include <pelt/pelt.h>
#include <time.h>

/* -- Bytes, written from docs/format.md --------------------------------------------------------------------------- */

typedef struct bytes {
    uint8_t data[8192];
    size_t size;
} bytes;

static void put_u8(bytes *b, unsigned value) { b->data[b->size++] = (uint8_t)value; }
static void put_u16(bytes *b, unsigned value) { put_u8(b, value), put_u8(b, value >> 8); }
static void put_u32(bytes *b, uint32_t value) { put_u16(b, value), put_u16(b, value >> 16); }
static void put_u64(bytes *b, uint64_t value) { put_u32(b, (uint32_t)value), put_u32(b, (uint32_t)(value >> 32)); }
static void put_text(bytes *b, const char *text) {
    while (*text) put_u8(b, (unsigned char)*text++);
}
static void put_f32(bytes *b, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    put_u32(b, bits);
}
static void put_floats(bytes *b, int count, const float *values) {
    for (int i = 0; i < count; i++) put_f32(b, values[i]);
}
static void pad(bytes *b) {
    while (b->size % 64) put_u8(b, 0);
}

typedef struct section {
    char kind[5];
    uint32_t flags;
    bytes content;
} section;

/* The sections of the example in docs/format.md: a joint "root" at (0, 1, 0) and a vertex at (0, 2, 0). */
static void example_sections(section *s) {
    static const char kinds[9][5] = {"JNTS", "NAME", "SLOT", "BLOK", "ENTR", "WGHT", "RPOS", "RNRM", "INFO"};
    memset(s, 0, 9 * sizeof *s);
    for (int i = 0; i < 9; i++) memcpy(s[i].kind, kinds[i], 5), s[i].flags = i < 8;
    put_u32(&s[0].content, 0xffffffffu);
    put_floats(&s[0].content, 10, (float[]){0, 0, 0, 1, 0, 1, 0, 1, 1, 1});
    put_floats(&s[0].content, 12, (float[]){1, 0, 0, 0, 0, 1, 0, -1, 0, 0, 1, 0});
    put_u32(&s[0].content, 0);
    put_text(&s[1].content, "root"), put_u8(&s[1].content, 0);
    put_u32(&s[2].content, 0);
    put_u32(&s[3].content, 0), put_u32(&s[3].content, 1);
    put_u16(&s[4].content, 0);
    for (int lane = 0; lane < 16; lane++) put_f32(&s[5].content, lane == 0);
    for (int i = 0; i < 48; i++) put_f32(&s[6].content, i == 16 ? 2 : 0);
    for (int i = 0; i < 48; i++) put_f32(&s[7].content, i == 16);
    put_text(&s[8].content, "{}"), put_u8(&s[8].content, 0);
}

/* Header, table and sections, for one vertex, one block, one joint, one entry. */
static void write_file(bytes *out, const section *sections, uint32_t count) {
    size_t start = (64 + 32 * count + 63) / 64 * 64, at = start;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < count; i++) at += (sections[i].content.size + 63) / 64 * 64;
    put_text(out, "PELTSKIN");
    put_u32(out, 1), put_u32(out, count), put_u64(out, at);
    put_u32(out, 1), put_u32(out, 1), put_u32(out, 1), put_u32(out, 1);
    pad(out);
    at = start;
    for (uint32_t i = 0; i < count; i++) {
        put_text(out, sections[i].kind), put_u32(out, sections[i].flags);
        put_u64(out, at), put_u64(out, sections[i].content.size), put_u64(out, 0);
        at += (sections[i].content.size + 63) / 64 * 64;
    }
    pad(out);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(out->data + out->size, sections[i].content.data, sections[i].content.size);
        out->size += sections[i].content.size;
        pad(out);
    }
}

/* -- Opening and running ------------------------------------------------------------------------------------------ */

/* Exactly `size` bytes at a multiple of 64, so that a sanitizer sees every out-of-bounds read. */
static uint8_t *aligned_copy(const void *from, size_t size) {
    void *copy = NULL;
    assert_int_equal(posix_memalign(&copy, 64, size ? size : 1), 0);
    return memcpy(copy, from, size);
}

/* Opens a copy of the bytes; whatever opens must also run. */
static pelt_result try_file(const void *data, size_t size) {
    uint8_t *copy = aligned_copy(data, size);
    pelt_skin skin;
    pelt_result result = pelt_open(copy, size, &skin);
    if (result == PELT_OK) {
        pelt_transform *locals = calloc(skin.joint_count, sizeof *locals);
        void *scratch = aligned_alloc(64, pelt_scratch_size(&skin));
        size_t size_of_three = 2 * pelt_output_size(&skin) + pelt_tangents_size(&skin);
        float *out = aligned_alloc(64, size_of_three), *normals = out + pelt_output_size(&skin) / 4;
        for (uint32_t j = 0; j < skin.joint_count; j++) {
            locals[j] = skin.joints[j].rest;
            assert_true(strlen(skin.names + skin.joints[j].name) < size);
        }
        assert_int_equal(strlen(skin.about) <= skin.about_size, 1);
        pelt_pose(&skin, locals, scratch);
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            skin.isa = (pelt_isa)isa;
            pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin),
                           &(pelt_output){{out}, {normals}, {normals + pelt_output_size(&skin) / 4}});
        }
        for (uint32_t v = 0; v < skin.vertex_count; v++)
            assert_true(skin.vertex_slots[v] < pelt_output_size(&skin) / 12);
        free(locals), free(scratch), free(out);
    } else {
        assert_null(skin.joints);
    }
    free(copy);
    return result;
}

static pelt_bundle *small_character(void) {
    static const int32_t parents[] = {-1, 0, 1, 0};
    pelt_bundle *bundle = character_new(4, parents);
    for (int j = 0; j < 4; j++) bundle->skeleton.rest[j].translation[0] = (float)j;
    character_bind(bundle);
    character_tube(bundle, 35, 0.3, 3);
    uint64_t seed = 5;
    character_random_weights(bundle, 2, &seed);
    character_random_tangents(bundle, &seed);
    return bundle;
}

/* -- Round trip --------------------------------------------------------------------------------------------------- */

static void check_slots(const pelt_skin *skin) {
    uint8_t *taken = calloc(skin->block_count, PELT_BLOCK);
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        assert_true(skin->vertex_slots[v] < skin->vertex_count);
        assert_false(taken[skin->vertex_slots[v]]++);
    }
    free(taken);
}

static void check_vertices(const pelt_skin *skin, const pelt_mesh *mesh) {
    double *dense = calloc(skin->joint_count, sizeof *dense);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t block = skin->vertex_slots[v] / 16, lane = skin->vertex_slots[v] % 16;
        for (uint32_t c = 0; c < 3; c++) {
            assert_float_equal(skin->rest_positions[48 * block + 16 * c + lane], mesh->positions[3 * v + c], 0);
            assert_float_equal(skin->rest_normals[48 * block + 16 * c + lane], mesh->normals[3 * v + c], 0);
        }
        for (uint32_t e = skin->block_first[block]; e < skin->block_first[block + 1]; e++)
            dense[skin->entry_joints[e]] += skin->entry_weights[16 * e + lane];
        for (uint32_t i = mesh->influences.first[v]; i < mesh->influences.first[v + 1]; i++)
            dense[mesh->influences.joints[i]] -= mesh->influences.weights[i];
        for (uint32_t j = 0; j < skin->joint_count; j++) {
            assert_float_equal(dense[j], 0, 0);
            dense[j] = 0;
        }
    }
    free(dense);
}

static void a_packed_skin_opens_with_all_that_was_packed(void **state) {
    (void)state;
    pelt_bundle *bundle = small_character();
    pelt_skin skin;
    pelt_bytes *file = character_pack(bundle, &skin);
    assert_int_equal(skin.vertex_count, 35);
    assert_int_equal(skin.block_count, 3);
    assert_int_equal(skin.joint_count, 4);
    assert_int_equal(file->size % 64, 0);
    for (uint32_t j = 0; j < 4; j++) {
        assert_string_equal(skin.names + skin.joints[j].name, bundle->skeleton.names[j]);
        assert_int_equal(skin.joints[j].parent, bundle->skeleton.parents[j]);
        assert_memory_equal(&skin.joints[j].rest, &bundle->skeleton.rest[j], sizeof(pelt_transform));
        for (int i = 0; i < 12; i++)
            assert_float_equal(skin.joints[j].inverse_bind[i], (float)bundle->skeleton.inverse_bind[j][i], 0);
    }
    assert_string_equal(skin.about, "{\"made_by\":\"a test\"}");
    assert_int_equal(skin.about_size, strlen(skin.about));
    assert_true(pelt_isa_works(skin.isa));
    check_slots(&skin);
    check_vertices(&skin, &bundle->mesh);
    character_free_skin(file), character_free(bundle);
}

static void the_same_character_packs_to_the_same_bytes(void **state) {
    (void)state;
    pelt_bundle *bundle = small_character();
    pelt_bytes *a = character_pack(bundle, NULL), *b = character_pack(bundle, NULL);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->bytes, b->bytes, a->size);
    character_free_skin(a), character_free_skin(b), character_free(bundle);
}

static void numbers_that_could_not_be_opened_are_refused_when_packing(void **state) {
    (void)state;
    pelt_error error;
    for (int what = 0; what < 5; what++) {
        pelt_bundle *bundle = small_character();
        if (what == 0) bundle->mesh.positions[7] = NAN;
        if (what == 1) bundle->mesh.influences.weights[3] = INFINITY;
        if (what == 2) bundle->skeleton.rest[2].scale[1] = NAN;
        if (what == 3) bundle->skeleton.inverse_bind[1][3] = 1e60; /* finite, but not as a float */
        if (what == 4) bundle->mesh.vertex_count = 0;
        pelt_model model = {.skeleton = &bundle->skeleton,
                            .vertex_count = bundle->mesh.vertex_count,
                            .positions = bundle->mesh.positions,
                            .normals = bundle->mesh.normals,
                            .influences = bundle->mesh.influences};
        assert_null(pelt_model_pack(&model, "{}", &error));
        assert_non_null(strstr(error.text, what == 0   ? "vertex 2 "
                                           : what == 1 ? "vertex 1 "
                                           : what == 2 ? "joint2"
                                           : what == 3 ? "joint1"
                                                       : "no vertices"));
        character_free(bundle);
    }
}

/* -- Damage ------------------------------------------------------------------------------------------------------- */

static void a_truncated_file_is_refused_at_every_length(void **state) {
    (void)state;
    pelt_bundle *bundle = small_character();
    pelt_bytes *file = character_pack(bundle, NULL);
    uint8_t *copy = aligned_copy(file->bytes, file->size);
    for (size_t size = 0; size < file->size; size++) {
        uint64_t claimed = size;
        memcpy(copy + 16, (uint8_t *)file->bytes + 16, 8);
        pelt_result result = try_file(copy, size);
        assert_int_equal(result, size < 8 ? PELT_ERROR_FORMAT : PELT_ERROR_TRUNCATED);
        memcpy(copy + 16, &claimed, 8); /* and when the file states its true length */
        result = try_file(copy, size);
        if (size + 64 <= file->size) assert_int_not_equal(result, PELT_OK);
    }
    assert_int_equal(try_file(file->bytes, file->size), PELT_OK);
    free(copy), character_free_skin(file), character_free(bundle);
}

static void any_overwritten_field_is_refused_or_harmless(void **state) {
    (void)state;
    static const uint32_t values[] = {0,           1,           0xffffffffu, 0x7fffffffu, 0x80000000u,
                                      0x7fc00000u, 0x7f800000u, 0xff7fffffu, 0x10000u,    0x40u};
    pelt_bundle *bundle = small_character();
    pelt_bytes *file = character_pack(bundle, NULL);
    uint8_t *copy = aligned_copy(file->bytes, file->size);
    for (size_t at = 0; at < file->size; at += 4)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            memcpy(copy + at, &values[i], 4);
            try_file(copy, file->size);
            memcpy(copy + at, (uint8_t *)file->bytes + at, 4);
        }
    free(copy), character_free_skin(file), character_free(bundle);
}

static void any_flipped_bit_is_refused_or_harmless(void **state) {
    (void)state;
    pelt_bundle *bundle = small_character();
    pelt_bytes *file = character_pack(bundle, NULL);
    uint8_t *copy = aligned_copy(file->bytes, file->size);
    for (size_t bit = 0; bit < 8 * file->size; bit++) {
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        try_file(copy, file->size);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(try_file(copy, file->size), PELT_OK);
    free(copy), character_free_skin(file), character_free(bundle);
}

static void each_kind_of_damage_has_its_own_result(void **state) {
    (void)state;
    section s[9];
    bytes file;
    pelt_skin skin;
    example_sections(s), write_file(&file, s, 9);
    assert_int_equal(try_file(file.data, file.size), PELT_OK);
    file.data[0] = 'p';
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_FORMAT);
    write_file(&file, s, 9), file.data[8] = 2;
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_VERSION);
    write_file(&file, s, 9);
    assert_int_equal(try_file(file.data, file.size - 1), PELT_ERROR_TRUNCATED);
    assert_int_equal(try_file(file.data, file.size + 64), PELT_ERROR_FORMAT); /* bytes that belong to nothing */
    uint8_t *copy = aligned_copy(file.data, file.size);
    assert_int_equal(pelt_open(copy + 4, file.size - 4, &skin), PELT_ERROR_ALIGNMENT);
    assert_int_equal(pelt_open(NULL, 0, &skin), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_open(copy, file.size, NULL), PELT_ERROR_ARGUMENT);
    free(copy);
    for (uint32_t missing = 0; missing < 9; missing++) { /* every section is needed */
        section fewer[8];
        for (uint32_t i = 0, k = 0; i < 9; i++)
            if (i != missing) fewer[k++] = s[i];
        write_file(&file, fewer, 8);
        assert_int_equal(try_file(file.data, file.size), PELT_ERROR_FORMAT);
    }
    section twice[10];
    memcpy(twice, s, sizeof s), twice[9] = s[0];
    write_file(&file, twice, 10);
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_FORMAT);
}

static void wrong_indices_and_numbers_are_told_apart(void **state) {
    (void)state;
    static const struct {
        int section;
        size_t offset;
        uint32_t value;
        pelt_result result;
    } cases[] = {
        {0, 0, 0, PELT_ERROR_INDEX},            /* its own parent */
        {0, 0, 0xfffffffeu, PELT_ERROR_INDEX},  /* a parent before -1 */
        {0, 92, 5, PELT_ERROR_INDEX},           /* a name beyond the names */
        {0, 4, 0x7fc00000u, PELT_ERROR_NUMBER}, /* a rotation that is not a number */
        {0, 44, 0xff800000u, PELT_ERROR_NUMBER},
        {2, 0, 16, PELT_ERROR_INDEX}, /* a slot beyond the blocks */
        {3, 0, 1, PELT_ERROR_INDEX},  /* blocks that do not begin at 0 */
        {3, 4, 0, PELT_ERROR_INDEX},  /* a block without entries */
        {3, 4, 2, PELT_ERROR_INDEX},  /* more entries than there are */
        {4, 0, 1, PELT_ERROR_INDEX},  /* a joint that does not exist */
        {5, 60, 0x7f800000u, PELT_ERROR_NUMBER},
        {6, 188, 0x7f800001u, PELT_ERROR_NUMBER},
        {7, 188, 0x7fc00000u, PELT_ERROR_NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        section s[9];
        bytes file;
        example_sections(s);
        memcpy(s[cases[i].section].content.data + cases[i].offset, &cases[i].value, 4);
        write_file(&file, s, 9);
        if (try_file(file.data, file.size) != cases[i].result) fail_msg("case %zu", i);
    }
    section s[9];
    bytes file;
    example_sections(s), s[1].content.data[4] = 'x'; /* names, then text, without a final zero */
    write_file(&file, s, 9);
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_FORMAT);
    example_sections(s), s[8].content.data[2] = ' ';
    write_file(&file, s, 9);
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_FORMAT);
}

static void blocks_that_are_empty_or_overlap_are_refused(void **state) {
    (void)state;
    pelt_bundle *bundle = small_character();
    pelt_skin skin;
    pelt_bytes *file = character_pack(bundle, &skin);
    uint32_t *first = (uint32_t *)skin.block_first, kept = first[1];
    assert_int_equal(skin.block_count, 3);
    for (uint32_t wrong = 0; wrong < 3; wrong++) { /* the first block is empty, the second is, the second runs back */
        first[1] = wrong == 0 ? 0 : first[2] + wrong - 1;
        assert_int_equal(try_file(file->bytes, file->size), PELT_ERROR_INDEX);
    }
    first[1] = kept;
    assert_int_equal(try_file(file->bytes, file->size), PELT_OK);
    character_free_skin(file), character_free(bundle);
}

/* -- Sections ----------------------------------------------------------------------------------------------------- */

static void unknown_sections_are_skipped_unless_required(void **state) {
    (void)state;
    section s[10];
    bytes file;
    example_sections(s);
    s[9] = (section){.kind = "XTRA"};
    put_text(&s[9].content, "something from the future");
    write_file(&file, s, 10);
    assert_int_equal(try_file(file.data, file.size), PELT_OK);
    s[9].flags = 1;
    write_file(&file, s, 10);
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_UNSUPPORTED);
}

/* RTAN: per block 16 x, 16 y, 16 z, 16 w. Rotated by 90 degrees about z, the normal is -x and a tangent along z stays;
   one along x becomes y. */
static void tangents_may_be_there_or_not(void **state) {
    (void)state;
    section s[10];
    bytes file;
    example_sections(s);
    s[9] = (section){.kind = "RTAN"};
    for (int i = 0; i < 64; i++) put_f32(&s[9].content, i == 0 ? 1 : i >= 48 ? -1 : 0);
    write_file(&file, s, 10);
    assert_int_equal(try_file(file.data, file.size), PELT_OK);
    pelt_skin skin;
    uint8_t *copy = aligned_copy(file.data, file.size);
    assert_int_equal(pelt_open(copy, file.size, &skin), PELT_OK);
    void *scratch = aligned_alloc(64, pelt_scratch_size(&skin));
    float positions[48], normals[48], tangents[64];
    pelt_transform pose = skin.joints[0].rest;
    pose.rotation[2] = pose.rotation[3] = (float)sqrt(0.5);
    pelt_pose(&skin, &pose, scratch);
    pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin), &(pelt_output){{positions}, {normals}, {tangents}});
    for (int i = 0; i < 4; i++) assert_near(tangents[i], i == 1 ? 1 : i == 3 ? -1 : 0, 1e-6);
    free(scratch), free(copy);
    memcpy(s[9].content.data + 60, (uint32_t[]){0x7fc00000u}, 4); /* not a number, though no vertex is there */
    write_file(&file, s, 10);
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_NUMBER);
    s[9].content.size -= 4;
    write_file(&file, s, 10);
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_FORMAT);
    write_file(&file, s, 9);
    assert_int_equal(try_file(file.data, file.size), PELT_OK);
}

/* The number is from a three-line program in another language, following the documentation. */
static void the_hash_of_a_mesh_is_that_of_the_document(void **state) {
    (void)state;
    float positions[] = {0, 1.5f, -0.0f, -2, 1e-3f, 7, 3, 4, 5};
    uint32_t triangles[] = {0, 1, 2}, turned[] = {1, 2, 0};
    uint64_t hash = pelt_mesh_hash(positions, 3, triangles, 1);
    assert_true(hash == 0x6c61138e7ce5af51u);
    assert_true(pelt_mesh_hash(positions, 3, turned, 1) != hash);
    assert_true(pelt_mesh_hash(positions, 3, triangles, 0) != hash);
    positions[2] = 0;
    assert_true(pelt_mesh_hash(positions, 3, triangles, 1) == hash);
    positions[8] = nextafterf(5, 6);
    assert_true(pelt_mesh_hash(positions, 3, triangles, 1) != hash);
    section s[10];
    bytes file;
    pelt_skin skin;
    example_sections(s);
    s[9] = (section){.kind = "HASH"};
    put_u64(&s[9].content, hash);
    write_file(&file, s, 10);
    uint8_t *copy = aligned_copy(file.data, file.size);
    assert_int_equal(pelt_open(copy, file.size, &skin), PELT_OK);
    assert_true(*skin.mesh_hash == hash);
    free(copy);
    put_u32(&s[9].content, 0);
    write_file(&file, s, 10);
    assert_int_equal(try_file(file.data, file.size), PELT_ERROR_FORMAT);
    write_file(&file, s, 9);
    copy = aligned_copy(file.data, file.size);
    assert_int_equal(pelt_open(copy, file.size, &skin), PELT_OK);
    assert_null(skin.mesh_hash);
    free(copy);
}

static void sections_may_come_in_any_order(void **state) {
    (void)state;
    section s[9], reversed[9];
    bytes file;
    example_sections(s);
    for (int i = 0; i < 9; i++) reversed[i] = s[8 - i];
    write_file(&file, reversed, 9);
    assert_int_equal(try_file(file.data, file.size), PELT_OK);
}

/* -- The document ------------------------------------------------------------------------------------------------- */

static void a_file_written_from_the_document_opens_and_runs(void **state) {
    (void)state;
    section s[9];
    bytes file;
    pelt_skin skin;
    example_sections(s), write_file(&file, s, 9);
    uint8_t *copy = aligned_copy(file.data, file.size);
    assert_int_equal(pelt_open(copy, file.size, &skin), PELT_OK);
    assert_string_equal(skin.names + skin.joints[0].name, "root");
    void *scratch = aligned_alloc(64, pelt_scratch_size(&skin));
    float *positions = aligned_alloc(64, pelt_output_size(&skin)),
          *normals = aligned_alloc(64, pelt_output_size(&skin));
    pelt_transform local = character_turn(0, 0, 1, 90);
    local.translation[1] = 1;
    pelt_pose(&skin, &local, scratch);
    pelt_deform(&skin, scratch, pelt_all_blocks(&skin), positions, normals);
    for (int i = 0; i < 3; i++) { /* the vertex, one above the joint, swings to its left */
        assert_near(positions[i], ((double[]){-1, 1, 0})[i], 1e-6);
        assert_near(normals[i], ((double[]){-1, 0, 0})[i], 1e-6);
    }
    free(copy), free(scratch), free(positions), free(normals);
}

static void the_example_in_the_document_is_this_file(void **state) {
    (void)state;
    FILE *document = fopen("docs/format.md", "r");
    if (!document) {
        print_message("skipped: docs/format.md is not here\n");
        skip();
    }
    section s[9];
    bytes file, shown = {0};
    example_sections(s), write_file(&file, s, 9);
    char line[512];
    while (fgets(line, sizeof line, document)) { /* lines such as "00c0  4e 41 4d 45 ...  | what it is" */
        unsigned at, value;
        int used = 0, next;
        if (line[0] == ' ' || sscanf(line, "%4x  %n", &at, &used) != 1 || used != 6) continue;
        while (shown.size < at) put_u8(&shown, 0); /* rows of zeros are left out */
        for (const char *p = line + used; sscanf(p, "%2x%n", &value, &next) == 1 && p[0] != '|'; p += next)
            put_u8(&shown, value), next += p[next] == ' ';
    }
    fclose(document);
    while (shown.size < file.size) put_u8(&shown, 0);
    assert_int_equal(shown.size, file.size);
    assert_memory_equal(shown.data, file.data, file.size);
}

/* -- Size --------------------------------------------------------------------------------------------------------- */

static void half_a_million_vertices_are_checked_to_the_last_byte(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(60, 500000);
    pelt_skin skin;
    pelt_bytes *file = character_pack(bundle, &skin);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    assert_int_equal(pelt_open(file->bytes, file->size, &skin), PELT_OK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    print_message("opening %u vertices, %.1f MB: %.2f ms\n", skin.vertex_count, (double)file->size / 1e6,
                  (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
    check_slots(&skin);
    pelt_skin refused;
    float *last_normal = (float *)skin.rest_normals + 48 * (size_t)skin.block_count - 1, kept = *last_normal;
    *last_normal = NAN;
    assert_int_equal(pelt_open(file->bytes, file->size, &refused), PELT_ERROR_NUMBER);
    *last_normal = kept;
    uint16_t *last_joint = (uint16_t *)skin.entry_joints + skin.entry_count - 1;
    *last_joint = 60;
    assert_int_equal(pelt_open(file->bytes, file->size, &refused), PELT_ERROR_INDEX);
    character_free_skin(file), character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_skin_opens_with_all_that_was_packed),
        cmocka_unit_test(the_same_character_packs_to_the_same_bytes),
        cmocka_unit_test(numbers_that_could_not_be_opened_are_refused_when_packing),
        cmocka_unit_test(a_truncated_file_is_refused_at_every_length),
        cmocka_unit_test(any_overwritten_field_is_refused_or_harmless),
        cmocka_unit_test(any_flipped_bit_is_refused_or_harmless),
        cmocka_unit_test(each_kind_of_damage_has_its_own_result),
        cmocka_unit_test(wrong_indices_and_numbers_are_told_apart),
        cmocka_unit_test(blocks_that_are_empty_or_overlap_are_refused),
        cmocka_unit_test(unknown_sections_are_skipped_unless_required),
        cmocka_unit_test(tangents_may_be_there_or_not),
        cmocka_unit_test(the_hash_of_a_mesh_is_that_of_the_document),
        cmocka_unit_test(sections_may_come_in_any_order),
        cmocka_unit_test(a_file_written_from_the_document_opens_and_runs),
        cmocka_unit_test(the_example_in_the_document_is_this_file),
        cmocka_unit_test(half_a_million_vertices_are_checked_to_the_last_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
