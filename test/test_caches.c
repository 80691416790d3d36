/* test_caches.c: point caches. The bytes for the readers are assembled by hand from the formats' descriptions, not by
   pelt's writers. */

#include "test/test.h"
#include "io/io.h"
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

/* -- Bytes made by hand ------------------------------------------------------------------------------------------ */

typedef struct bytes {
    uint8_t data[4096];
    size_t size;
} bytes;

static void add(bytes *b, const void *data, size_t size) {
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void add_text(bytes *b, const char *text) { add(b, text, strlen(text)); }

/* The lowest `size` bytes of a number, in either order. */
static void add_number(bytes *b, uint64_t value, int size, bool big_endian) {
    for (int i = 0; i < size; i++) add(b, &(uint8_t){(uint8_t)(value >> 8 * (big_endian ? size - 1 - i : i))}, 1);
}

static void add_float(bytes *b, float value, bool big_endian) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    add_number(b, bits, 4, big_endian);
}

/* A value that identifies its frame, point and coordinate. */
static float value_of(uint32_t frame, uint32_t point, uint32_t k) {
    return (float)(100 * frame + 10 * point + k) + 0.25f;
}

enum { FRAMES = 3, POINTS = 2 };

static bytes pc2_bytes(int32_t frames, int32_t points) {
    bytes b = {.size = 0};
    add(&b, "POINTCACHE2", 12);
    add_number(&b, 1, 4, false);
    add_number(&b, (uint32_t)points, 4, false);
    add_float(&b, 1, false);
    add_float(&b, 0.5f, false);
    add_number(&b, (uint32_t)frames, 4, false);
    for (uint32_t i = 0; i < FRAMES * POINTS * 3; i++) add_float(&b, value_of(i / 6, i / 3 % 2, i % 3), false);
    return b;
}

static bytes mdd_bytes(int32_t frames, int32_t points) {
    bytes b = {.size = 0};
    add_number(&b, (uint32_t)frames, 4, true);
    add_number(&b, (uint32_t)points, 4, true);
    for (int i = 0; i < FRAMES; i++) add_float(&b, (float)i / 24, true);
    for (uint32_t i = 0; i < FRAMES * POINTS * 3; i++) add_float(&b, value_of(i / 6, i / 3 % 2, i % 3), true);
    return b;
}

static void begin_npy(bytes *b, int version, const char *header) {
    add(b, "\x93NUMPY", 6);
    add_number(b, (uint32_t)version, 1, false);
    add_number(b, 0, 1, false);
    add_number(b, strlen(header), version == 1 ? 2 : 4, false);
    add_text(b, header);
}

static bytes npy_bytes(int version, const char *header) {
    bytes b = {.size = 0};
    begin_npy(&b, version, header);
    for (uint32_t i = 0; i < FRAMES * POINTS * 3; i++) add_float(&b, value_of(i / 6, i / 3 % 2, i % 3), false);
    return b;
}

static const char plain_header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 3), }\n";

/* -- Parsing them ------------------------------------------------------------------------------------------------ */

typedef pelt_result parse_function(pelt_arena *, const pelt_file *, const char *path, pelt_cache *, pelt_error *);

/* Uses memory of exactly their size plus the zero byte, so that a sanitizer sees reads beyond it. */
static pelt_result parse(parse_function *parser, pelt_arena *arena, const uint8_t *data, size_t size, pelt_cache *cache,
                         pelt_error *error) {
    static uint8_t *copy;
    free(copy);
    copy = NULL;
    assert_int_equal(posix_memalign((void **)&copy, 64, size + 1), 0);
    memcpy(copy, data, size);
    copy[size] = 0;
    memset(cache, 0, sizeof *cache);
    pelt_result result = parser(arena, &(pelt_file){copy, size}, "x.cache", cache, error);
    if (result) {
        assert_int_equal(error->code, result);
        assert_int_equal(strncmp(error->text, "x.cache: ", 9), 0);
        free(copy), copy = NULL;
    }
    return result;
}

static void expect_values(parse_function *parser, const bytes *b, uint32_t frames, uint32_t points) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_cache cache;
    pelt_error error = {0};
    if (parse(parser, arena, b->data, b->size, &cache, &error)) fail_msg("%s", error.text);
    assert_int_equal(cache.frame_count, frames);
    assert_int_equal(cache.point_count, points);
    for (uint32_t f = 0; f < frames; f++)
        for (uint32_t p = 0; p < points; p++)
            for (uint32_t k = 0; k < 3; k++)
                assert_true(cache.positions[(f * points + p) * 3 + k] == value_of(f, p, k));
    pelt_arena_free(arena);
}

static void expect_failure(parse_function *parser, const bytes *b, pelt_result code, const char *part) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_cache cache;
    pelt_error error = {0};
    pelt_result result = parse(parser, arena, b->data, b->size, &cache, &error);
    if (result != code || !strstr(error.text, part))
        fail_msg("%d, not %d: \"%s\" does not say \"%s\"", result, code, error.text, part);
    pelt_arena_free(arena);
}

static void expect_failure_at_every_length(parse_function *parser, const bytes *whole) {
    for (size_t size = 0; size < whole->size; size++) {
        bytes b = *whole;
        b.size = size;
        pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        pelt_cache cache;
        pelt_error error = {0};
        assert_int_not_equal(parse(parser, arena, b.data, b.size, &cache, &error), PELT_OK);
        pelt_arena_free(arena);
    }
}

static volatile float values_sum; /* so that the values are really read */

/* Overwrites four bytes at a time with nasty numbers; may succeed or fail, but safely. */
static void survive_nasty_fields(parse_function *parser, const bytes *whole, size_t header) {
    static const uint32_t nasty[] = {0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x7fc00000, 0x0000c07f, 0x55555556};
    for (size_t at = 0; at + 4 <= header; at++)
        for (size_t n = 0; n < 8; n++) {
            bytes b = *whole;
            memcpy(b.data + at, &nasty[n], 4);
            pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT + 64 * b.size);
            pelt_cache cache;
            pelt_error error = {0};
            if (parse(parser, arena, b.data, b.size, &cache, &error) == PELT_OK)
                for (size_t i = 0; i < 3 * (size_t)cache.frame_count * cache.point_count; i++)
                    values_sum += cache.positions[i];
            pelt_arena_free(arena);
        }
}

/* -- PC2 and MDD ------------------------------------------------------------------------------------------------- */

static void pc2_is_read_in_place(void **state) {
    (void)state;
    bytes b = pc2_bytes(FRAMES, POINTS);
    expect_values(pelt_pc2_parse, &b, FRAMES, POINTS);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_cache cache;
    pelt_error error;
    assert_int_equal(parse(pelt_pc2_parse, arena, b.data, b.size, &cache, &error), PELT_OK);
    assert_int_equal(pelt_arena_used(arena), 0);
    pelt_arena_free(arena);
}

static void pc2_with_wrong_counts_is_refused_with_the_numbers(void **state) {
    (void)state;
    bytes b = pc2_bytes(5, POINTS);
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_TRUNCATED,
                   "5 frames of 2 points, but only 72 bytes follow, enough for 3");
    b = pc2_bytes(2, POINTS);
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_FORMAT, "2 frames of 2 points, which need 48 bytes, but 72 follow");
    b = pc2_bytes(0, POINTS);
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_FORMAT, "0 frames of 2 points");
    b = pc2_bytes(FRAMES, -1);
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_FORMAT, "3 frames of -1 points");
    b = pc2_bytes(INT32_MAX, INT32_MAX); /* times 12 is beyond 64 bits */
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_TRUNCATED, "2147483647 frames of 2147483647 points");
    b = pc2_bytes(1 << 30, 1 << 30); /* times 12 is 3 * 2^62, 2^62 in 64 bits */
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_TRUNCATED, "1073741824 points");
    b = pc2_bytes(FRAMES, POINTS);
    b.data[12] = 2;
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_UNSUPPORTED, "version 2");
    b.data[3] = 'X';
    expect_failure(pelt_pc2_parse, &b, PELT_ERROR_FORMAT, "is not a PC2 file");
}

static void mdd_is_read(void **state) {
    (void)state;
    bytes b = mdd_bytes(FRAMES, POINTS);
    expect_values(pelt_mdd_parse, &b, FRAMES, POINTS);
}

static void mdd_with_wrong_counts_is_refused_with_the_numbers(void **state) {
    (void)state;
    bytes b = mdd_bytes(4, POINTS);
    expect_failure(pelt_mdd_parse, &b, PELT_ERROR_TRUNCATED, "4 frames of 2 points, but only 68 bytes follow");
    b = mdd_bytes(1000, POINTS);
    expect_failure(pelt_mdd_parse, &b, PELT_ERROR_TRUNCATED, "1000 frames, but only 84 bytes follow");
    b = mdd_bytes(FRAMES, 1);
    expect_failure(pelt_mdd_parse, &b, PELT_ERROR_FORMAT, "need 36 bytes, but 72 follow");
    b = mdd_bytes(-1, POINTS);
    expect_failure(pelt_mdd_parse, &b, PELT_ERROR_FORMAT, "-1 frames");
    b = mdd_bytes(FRAMES, 0);
    expect_failure(pelt_mdd_parse, &b, PELT_ERROR_FORMAT, "0 points");
}

static void values_that_are_not_finite_are_the_diagnosis_affair(void **state) {
    (void)state;
    bytes b = pc2_bytes(FRAMES, POINTS);
    b.size -= 8;
    add_number(&b, 0x7fc00000, 4, false);
    add_number(&b, 0xff800000, 4, false);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_cache cache;
    pelt_error error;
    assert_int_equal(parse(pelt_pc2_parse, arena, b.data, b.size, &cache, &error), PELT_OK);
    assert_true(isnan(cache.positions[16]) && cache.positions[17] == -INFINITY);
    pelt_arena_free(arena);
}

/* -- NumPy ------------------------------------------------------------------------------------------------------- */

static void npy_versions_and_spellings_are_read(void **state) {
    (void)state;
    static const char *const headers[] = {
        plain_header,
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 3)}", /* and so the values are not aligned */
        "{\"shape\":(3L,2L,3L),\"fortran_order\":False,\"descr\":\"<f4\"}                ",
        "  { 'fortran_order' : False ,\n 'descr' : '<f4' ,\t'shape' : ( 3 , 2 , 3 ) , }   ",
    };
    for (int version = 1; version <= 3; version++)
        for (int i = 0; i < 4; i++) {
            bytes b = npy_bytes(version, headers[i]);
            expect_values(pelt_npy_parse, &b, FRAMES, POINTS);
        }
    bytes b = {.size = 0};
    begin_npy(&b, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    for (uint32_t i = 0; i < 6; i++) add_float(&b, value_of(0, i / 3, i % 3), false);
    expect_values(pelt_npy_parse, &b, 1, 2);
}

/* Every value of value_of below 100 with .25 is exact in half precision. */
static uint64_t half_bits(float value) {
    int exponent;
    float fraction = frexpf(value, &exponent); /* value = fraction * 2^exponent, 0.5 <= fraction < 1 */
    return (uint64_t)(exponent + 14) << 10 | ((uint64_t)(fraction * 2048) & 1023);
}

static void add_precision(bytes *b, float value, int size, bool big_endian) {
    double wide = value;
    uint64_t bits;
    memcpy(&bits, &wide, 8);
    if (size == 2)
        add_number(b, half_bits(value), 2, big_endian);
    else if (size == 4)
        add_float(b, value, big_endian);
    else
        add_number(b, bits, 8, big_endian);
}

static void npy_precisions_byte_orders_and_index_orders_are_converted(void **state) {
    (void)state;
    for (int size = 2; size <= 8; size *= 2)
        for (int big = 0; big < 2; big++)
            for (int fortran = 0; fortran < 2; fortran++) {
                char header[100];
                snprintf(header, sizeof header, "{'descr': '%cf%d', 'fortran_order': %s, 'shape': (2, 20, 3), }",
                         big ? '>' : '<', size, fortran ? "True" : "False");
                bytes b = {.size = 0};
                begin_npy(&b, 1, header);
                for (uint32_t i = 0; i < 120; i++)
                    if (fortran)
                        add_precision(&b, value_of(i % 2, i / 2 % 20, i / 40), size, big);
                    else
                        add_precision(&b, value_of(i / 60, i / 3 % 20, i % 3), size, big);
                expect_values(pelt_npy_parse, &b, 2, 20);
            }
}

static void npy_half_precision_has_all_kinds_of_numbers(void **state) {
    (void)state;
    bytes b = {.size = 0};
    begin_npy(&b, 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }");
    static const uint16_t halves[6] = {0x0001, 0x83ff, 0x7bff, 0xfc00, 0x7e00, 0x8000};
    for (int i = 0; i < 6; i++) add_number(&b, halves[i], 2, false);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_cache cache;
    pelt_error error;
    assert_int_equal(parse(pelt_npy_parse, arena, b.data, b.size, &cache, &error), PELT_OK);
    const float *p = cache.positions;
    assert_true(p[0] == 0x1p-24f && p[1] == -1023 * 0x1p-24f && p[2] == 65504 && p[3] == -INFINITY && isnan(p[4]));
    assert_true(p[5] == 0 && signbit(p[5]));
    pelt_arena_free(arena);
}

static void npy_that_is_something_else_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *header, *part;
        pelt_result code;
    } cases[] = {
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2, 3), }", "'<i4'", PELT_ERROR_UNSUPPORTED},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2, 3), }", "'|O'", PELT_ERROR_UNSUPPORTED},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3, 2, 3), }", "plain array", PELT_ERROR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 4), }", "shape (3, 2, 4)", PELT_ERROR_UNSUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "shape ()", PELT_ERROR_UNSUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18,), }", "shape (18)", PELT_ERROR_UNSUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 2, 3), }", "(1, 3, 2, 3)", PELT_ERROR_UNSUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2, 3), }", "0 frames", PELT_ERROR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2, 3), }", "header", PELT_ERROR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 2, 3), }", "truncated",
         PELT_ERROR_TRUNCATED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2, 3), }", "only 72 bytes", PELT_ERROR_TRUNCATED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3), }", "but 72 follow", PELT_ERROR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3, 2, 3), }", "header", PELT_ERROR_FORMAT},
        {"{'descr': '<f4', 'shape': (3, 2, 3), }", "header", PELT_ERROR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 3), 'shape': (3, 2, 3)}", "header",
         PELT_ERROR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 2 3)}", "header", PELT_ERROR_FORMAT},
        {"", "header", PELT_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = npy_bytes(1, cases[i].header);
        expect_failure(pelt_npy_parse, &b, cases[i].code, cases[i].part);
    }
    bytes b = npy_bytes(4, plain_header);
    expect_failure(pelt_npy_parse, &b, PELT_ERROR_UNSUPPORTED, "version 4");
}

/* -- OBJ --------------------------------------------------------------------------------------------------------- */

static pelt_result parse_obj_text(pelt_arena *arena, const char *text, uint32_t *points, float **positions,
                                  uint32_t *triangle_count, uint32_t **triangles, pelt_error *error) {
    size_t size = strlen(text);
    uint8_t *copy = pelt_alloc(arena, size + 1, 1);
    memcpy(copy, text, size);
    return pelt_obj_parse(arena, &(pelt_file){copy, size}, "x.obj", points, positions, NULL, triangle_count, triangles,
                          error);
}

static void obj_is_read_as_people_write_it(void **state) {
    (void)state;
    static const char text[] = "# a comment with v 9 9 9\r\n"
                               "mtllib x.mtl\r\n"
                               "o thing\n"
                               "v 1 2 3\r\n"
                               "  v\t-1.5e+0   +.25 \\\n 3. # behind a vertex\n"
                               "v 1 0 0 0.5 0.5 0.5\n"
                               "vt 0 0\nvn 0 0 1\nvp 1\n"
                               "v 0 1 0 1.0\n"
                               "s off\n"
                               "f 1 2 3\n"
                               "f 1/1/1 2//2 3/3 -1\n"
                               "f -4 -3 \\\r\n -2 # fan\n"
                               "f 4 3 5\n"
                               "l 1 2\n"
                               "\n"
                               "v 7 8 9";
    static const float expected[] = {1, 2, 3, -1.5f, 0.25f, 3, 1, 0, 0, 0, 1, 0, 7, 8, 9};
    static const uint32_t faces[] = {0, 1, 2, 0, 1, 2, 0, 2, 3, 0, 1, 2, 3, 2, 4};
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    uint32_t points, triangle_count, *triangles;
    float *positions;
    pelt_error error = {0};
    if (parse_obj_text(arena, text, &points, &positions, &triangle_count, &triangles, &error))
        fail_msg("%s", error.text);
    assert_int_equal(points, 5);
    assert_memory_equal(positions, expected, sizeof expected);
    assert_int_equal(triangle_count, 5);
    assert_memory_equal(triangles, faces, sizeof faces);
    assert_int_equal(parse_obj_text(arena, text, &points, &positions, NULL, NULL, &error), PELT_OK);
    assert_memory_equal(positions, expected, sizeof expected);
    pelt_arena_free(arena);
}

static void obj_faults_are_named_with_their_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "no vertices"},
        {"# nothing\nf 1 2 3\n", "no vertices"},
        {"v 1 2 3\nv 1 2\n", "line 2: a vertex needs three numbers"},
        {"v 1 2 3\nv 1,5 2 3\n", "line 2: a vertex"},
        {"v 1 2 x\n", "line 1: a vertex"},
        {"v 1 2 3e\n", "line 1: a vertex"},
        {"v 1 2 - 3\n", "line 1: a vertex"},
        {"v 1 2 .\n", "line 1: a vertex"},
        {"v 1 \\\n 2 \\\n\nv 1 2 3\n", "line 3: a vertex"},
        {"v 0 0 0\nf 1 1 2\n", "line 2: a face names vertex 2, but there are 1"},
        {"v 0 0 0\n\nf 1 1 -2\n", "line 3: a face names vertex -2"},
        {"v 0 0 0\nf 1 1 99999999999999999999\n", "line 2: a face names vertex"},
        {"v 0 0 0\nf 1 0 1\n", "line 2: a corner"},
        {"v 0 0 0\nf 1 1 a\n", "line 2: a corner"},
        {"v 0 0 0\nf 1 1\n", "line 2: a face needs three corners"},
        {"v 0 0 0\nf \n", "line 2: a face needs three corners"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        uint32_t points, triangle_count, *triangles;
        float *positions;
        pelt_error error = {0};
        assert_int_not_equal(
            parse_obj_text(arena, cases[i].text, &points, &positions, &triangle_count, &triangles, &error), PELT_OK);
        if (!strstr(error.text, cases[i].part))
            fail_msg("%zu: \"%s\" does not say \"%s\"", i, error.text, cases[i].part);
        pelt_arena_free(arena);
    }
}

static void expect_number(const char *text, float expected) {
    char line[600];
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    uint32_t points;
    float *positions;
    pelt_error error = {0};
    snprintf(line, sizeof line, "v 0 %s 0", text);
    if (parse_obj_text(arena, line, &points, &positions, NULL, NULL, &error)) fail_msg("%s: %s", line, error.text);
    bool same = isnan(expected) ? isnan(positions[1]) : !memcmp(&positions[1], &expected, 4);
    if (!same) fail_msg("%s is read as %.9g, not %.9g", text, positions[1], expected);
    pelt_arena_free(arena);
}

static void obj_numbers_are_read_as_the_c_library_reads_them(void **state) {
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "00012",
        "1e10",
        "1E-10",
        "3.4028235e38",
        "1e39",
        "-1e400",
        "1e-45",
        "1.4e-45",
        "1e-400",
        "1e999999999999",
        "0.1",
        "16777217",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000011754944",
        "1.17549435082228750796873653722224567781866555677208752150875170627841725945472717285156250",
        "000000000000000000000000000000000000000001.5",
        "1e+0005",
        "9007199254740993",
        "INF",
        "-infinity",
        "8388608.5",
        "100000000000000000000000000000000000000000000000000e-50",
        "0e999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_number(texts[i], strtof(texts[i], NULL));
    expect_number("nan", NAN);
    expect_number("-NaN(ind)", NAN);
    uint64_t random = 3;
    for (int i = 0; i < 20000; i++) { /* any float, with 9 digits and with more */
        uint32_t bits = (uint32_t)(test_random(&random) * 4294967296.0) ^ (uint32_t)(test_random(&random) * 65536);
        float value;
        memcpy(&value, &bits, 4);
        if (isnan(value)) continue;
        char text[64];
        snprintf(text, sizeof text, i % 2 ? "%.9g" : "%.17g", value);
        expect_number(text, value);
    }
}

/* -- Damage ------------------------------------------------------------------------------------------------------ */

static void a_file_cut_anywhere_is_refused(void **state) {
    (void)state;
    bytes b = pc2_bytes(FRAMES, POINTS);
    expect_failure_at_every_length(pelt_pc2_parse, &b);
    b = mdd_bytes(FRAMES, POINTS);
    expect_failure_at_every_length(pelt_mdd_parse, &b);
    for (int version = 1; version <= 3; version++) {
        b = npy_bytes(version, plain_header);
        expect_failure_at_every_length(pelt_npy_parse, &b);
    }
}

static void nasty_numbers_in_the_header_do_no_harm(void **state) {
    (void)state;
    bytes b = pc2_bytes(FRAMES, POINTS);
    survive_nasty_fields(pelt_pc2_parse, &b, 32);
    b = mdd_bytes(FRAMES, POINTS);
    survive_nasty_fields(pelt_mdd_parse, &b, 20);
    for (int version = 1; version <= 3; version++) {
        b = npy_bytes(version, plain_header);
        survive_nasty_fields(pelt_npy_parse, &b, 80);
    }
}

/* -- Files and folders ------------------------------------------------------------------------------------------- */

static const char *path_of(const char *name) {
    static char paths[8][1024];
    static int next;
    char *path = paths[next++ & 7];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static int entries_in(const char *path, const char *part) {
    DIR *folder = opendir(path);
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += strstr(entry->d_name, part) != NULL;
    closedir(folder);
    return count;
}

static void refuse_to_read(const char *path, pelt_result code, const char *part) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_cache cache;
    pelt_error error = {0};
    assert_int_equal(pelt_cache_read(arena, path, &cache, &error), code);
    if (!strstr(error.text, part)) fail_msg("\"%s\" does not say \"%s\"", error.text, part);
    pelt_arena_free(arena);
}

static void the_ending_chooses_the_format(void **state) {
    (void)state;
    bytes b[3] = {pc2_bytes(FRAMES, POINTS), mdd_bytes(FRAMES, POINTS), npy_bytes(1, plain_header)};
    static const char *const names[] = {"a.pc2", "a.MDD", "a.b.npy"}, *const formats[] = {"pc2", "mdd", "npy"};
    for (int i = 0; i < 3; i++) {
        write_file(path_of(names[i]), b[i].data, b[i].size);
        pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        pelt_cache cache;
        assert_int_equal(pelt_cache_read(arena, path_of(names[i]), &cache, NULL), PELT_OK);
        assert_string_equal(cache.format, formats[i]);
        assert_true(cache.positions[17] == value_of(2, 1, 2));
        pelt_arena_free(arena);
    }
    refuse_to_read("x.abc", PELT_ERROR_UNSUPPORTED, "pelt cannot read Alembic yet; convert it to .pc2");
    refuse_to_read("x.txt", PELT_ERROR_UNSUPPORTED, ".pc2, .mdd, .npy");
    refuse_to_read(path_of("absent.pc2"), PELT_ERROR_FILE, "absent.pc2: cannot be opened");
}

static void a_folder_of_obj_is_read_in_the_order_of_its_numbers(void **state) {
    (void)state;
    static const char *const names[] = {"pose10.obj", "pose9.OBJ", "pose010b.obj", "pose1.obj", "pose100.obj"};
    static const float order[] = {1, 9, 10, 11, 100};
    const float values[] = {10, 9, 11, 1, 100};
    assert_int_equal(mkdir(path_of("poses"), 0777), 0);
    refuse_to_read(path_of("poses"), PELT_ERROR_FORMAT, "no .obj files");
    for (int i = 0; i < 5; i++) {
        char name[64], text[64];
        snprintf(name, sizeof name, "poses/%s", names[i]);
        int size = snprintf(text, sizeof text, "v %g 0 0\nv 0 %g 0\n", values[i], values[i]);
        write_file(path_of(name), text, (size_t)size);
    }
    write_file(path_of("poses/notes.txt"), "x", 1);
    write_file(path_of("poses/._pose3.obj"), "x", 1);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_cache cache;
    pelt_error error = {0};
    if (pelt_cache_read(arena, path_of("poses"), &cache, &error)) fail_msg("%s", error.text);
    assert_int_equal(cache.frame_count, 5);
    assert_int_equal(cache.point_count, 2);
    assert_string_equal(cache.format, "obj");
    for (int i = 0; i < 5; i++)
        assert_true(cache.positions[6 * i] == order[i] && cache.positions[6 * i + 4] == order[i]);
    pelt_arena_free(arena);
    write_file(path_of("poses/pose50.obj"), "v 1 2 3\n", 8);
    refuse_to_read(path_of("poses"), PELT_ERROR_DATA, "poses/pose50.obj: 1 points, but pose1.obj has 2");
}

static void a_folder_that_would_need_too_much_memory_is_refused(void **state) {
    (void)state;
    /* One frame of many points, and many empty names: their product is what a hostile folder would allocate. */
    assert_int_equal(mkdir(path_of("greedy"), 0777), 0);
    enum { POINT_LINES = 20000, FILES = 400 };
    char *text = malloc(POINT_LINES * 8);
    for (int i = 0; i < POINT_LINES; i++) memcpy(text + 8 * i, "v 0 0 0\n", 8);
    for (int i = 0; i < FILES; i++) {
        char name[64];
        snprintf(name, sizeof name, "greedy/%d.obj", i);
        write_file(path_of(name), text, i ? 0 : POINT_LINES * 8);
    }
    free(text);
    refuse_to_read(path_of("greedy"), PELT_ERROR_MEMORY, "400 frames of 20000 points need 96 MB");
}

/* -- Writing ----------------------------------------------------------------------------------------------------- */

/* Frames of awkward numbers: tiny, huge, negative zero, many digits; in the binary formats also NaN and infinity. */
static void fill(float *positions, size_t count, uint32_t frame, bool finite) {
    static const float awkward[] = {-0.0f, 1e-45f, 3.4028235e38f, -1.1754942e-38f, 0.1f, 16777216, INFINITY, NAN};
    uint64_t random = frame + 1;
    for (size_t i = 0; i < count; i++)
        positions[i] = i % 5 ? (float)(20 * test_random(&random) - 10) : awkward[(i / 5 + frame) % (finite ? 6 : 8)];
}

static pelt_result write_cache(const char *path, uint32_t frames, pelt_mesh *mesh, pelt_error *error) {
    float *positions = malloc(3 * sizeof(float) * mesh->vertex_count);
    pelt_cache_writer *writer = pelt_cache_writer_open(path, frames, mesh, 25, error);
    for (uint32_t f = 0; writer && f < frames; f++) {
        fill(positions, 3 * (size_t)mesh->vertex_count, f, path[strlen(path) - 1] == '/');
        pelt_cache_writer_frame(writer, positions);
    }
    free(positions);
    return writer ? pelt_cache_writer_commit(writer, error) : error->code;
}

static uint32_t two_triangles[] = {0, 1, 2, 2, 1, 3};
static pelt_mesh test_mesh(uint32_t vertices) {
    return (pelt_mesh){.vertex_count = vertices, .triangle_count = 2, .triangles = two_triangles};
}

static void every_format_comes_back_bit_by_bit(void **state) {
    (void)state;
    static const char *const names[] = {"round.pc2", "round.mdd", "round.npy", "round_folder/"};
    enum { VERTICES = 1357, COUNT = 12 };
    static float expected[3 * VERTICES];
    pelt_mesh mesh = test_mesh(VERTICES);
    for (int i = 0; i < 4; i++)
        for (int again = 0; again < 2; again++) { /* also over existing files */
            pelt_error error = {0};
            pelt_cache cache;
            pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
            uint32_t frames = again ? COUNT : COUNT + 1;
            if (write_cache(path_of(names[i]), frames, &mesh, &error)) fail_msg("%s", error.text);
            if (pelt_cache_read(arena, path_of(names[i]), &cache, &error)) fail_msg("%s", error.text);
            assert_int_equal(cache.frame_count, frames);
            assert_int_equal(cache.point_count, VERTICES);
            for (uint32_t f = 0; f < frames; f++) {
                fill(expected, 3 * VERTICES, f, i == 3);
                assert_memory_equal(cache.positions + f * 3 * (size_t)VERTICES, expected, sizeof expected);
            }
            pelt_arena_free(arena);
        }
    assert_int_equal(entries_in(test_folder(), ".tmp-"), 0);
}

static void written_files_have_the_bytes_that_the_formats_say(void **state) {
    (void)state;
    pelt_mesh mesh = test_mesh(POINTS);
    mesh.triangle_count = 0;
    static const char *const names[] = {"same.pc2", "same.mdd", "same.npy"};
    bytes b[3] = {pc2_bytes(FRAMES, POINTS), mdd_bytes(FRAMES, POINTS), {.size = 0}};
    memcpy(b[0].data + 20, "\0\0\0\0\0\0\x80\x3f", 8); /* from 0, by 1 */
    char header[119];
    snprintf(header, sizeof header, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 3), }");
    b[2] = npy_bytes(1, header);
    for (int i = 0; i < 3; i++) {
        pelt_cache_writer *writer = pelt_cache_writer_open(path_of(names[i]), FRAMES, &mesh, 24, NULL);
        for (uint32_t f = 0; f < FRAMES; f++) {
            float frame[6];
            for (uint32_t k = 0; k < 6; k++) frame[k] = value_of(f, k / 3, k % 3);
            pelt_cache_writer_frame(writer, frame);
        }
        assert_int_equal(pelt_cache_writer_commit(writer, NULL), PELT_OK);
        uint8_t back[4096];
        FILE *file = fopen(path_of(names[i]), "rb");
        assert_int_equal(fread(back, 1, sizeof back, file), b[i].size);
        fclose(file);
        assert_memory_equal(back, b[i].data, b[i].size);
    }
}

static void a_written_obj_has_the_faces_of_the_mesh(void **state) {
    (void)state;
    pelt_mesh mesh = test_mesh(4);
    pelt_error error = {0};
    assert_int_equal(write_cache(path_of("faces/"), 2, &mesh, &error), PELT_OK);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_file file;
    uint32_t points, triangle_count, *triangles;
    float *positions;
    assert_int_equal(pelt_file_read(arena, path_of("faces/frame_000001.obj"), &file, &error), PELT_OK);
    assert_int_equal(
        pelt_obj_parse(arena, &file, "x.obj", &points, &positions, NULL, &triangle_count, &triangles, &error), PELT_OK);
    assert_int_equal(triangle_count, 2);
    assert_memory_equal(triangles, two_triangles, sizeof two_triangles);
    pelt_arena_free(arena);
}

static void refuse_to_write(const char *path, pelt_result code, const char *part) {
    pelt_mesh mesh = test_mesh(4);
    pelt_error error = {0};
    assert_int_equal(write_cache(path, 2, &mesh, &error), code);
    if (!strstr(error.text, part)) fail_msg("\"%s\" does not say \"%s\"", error.text, part);
}

static void a_folder_with_other_things_in_it_is_never_replaced(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("sculpts"), 0777), 0);
    pelt_mesh mesh = test_mesh(4);
    pelt_error error = {0};
    assert_int_equal(write_cache(path_of("sculpts"), 2, &mesh, &error), PELT_OK); /* an empty folder is a place */
    write_file(path_of("sculpts/smile.obj"), "v 1 2 3\n", 8);
    refuse_to_write(path_of("sculpts/"), PELT_ERROR_FILE, "other files in it (smile.obj)");
    assert_int_equal(entries_in(path_of("sculpts"), ".obj"), 3);
    assert_int_equal(entries_in(test_folder(), ".tmp-"), 0);
}

static void failures_of_writing_leave_nothing_behind(void **state) {
    (void)state;
    write_file(path_of("a_file"), "x", 1);
    refuse_to_write(path_of("x.abc"), PELT_ERROR_ARGUMENT, ".pc2, .mdd, .npy");
    refuse_to_write("", PELT_ERROR_ARGUMENT, ".pc2");
    refuse_to_write(path_of("a_file/x.pc2"), PELT_ERROR_FILE, strerror(ENOTDIR));
    refuse_to_write(path_of("a_file/x/"), PELT_ERROR_FILE, strerror(ENOTDIR));
    refuse_to_write(path_of("a_file"), PELT_ERROR_FILE, strerror(ENOTDIR));
    refuse_to_write(path_of("no/such/x.npy"), PELT_ERROR_FILE, strerror(ENOENT));
    refuse_to_write(path_of("no/such/x/"), PELT_ERROR_FILE, strerror(ENOENT));
    if (access("/dev/full", W_OK) == 0 && symlink("/dev/full", path_of("full.pc2")) == 0)
        refuse_to_write(path_of("full.pc2"), PELT_ERROR_FILE, strerror(ENOSPC));
    assert_int_equal(entries_in(test_folder(), ".tmp-"), 0);
}

static void the_number_of_frames_must_be_what_was_said(void **state) {
    (void)state;
    static const char *const names[] = {"few.pc2", "few/"};
    pelt_mesh mesh = test_mesh(4);
    float frame[12] = {0};
    for (int i = 0; i < 4; i++) {
        pelt_error error = {0};
        pelt_cache_writer *writer = pelt_cache_writer_open(path_of(names[i % 2]), 2, &mesh, 30, &error);
        for (int f = 0; f < (i < 2 ? 1 : 3); f++) pelt_cache_writer_frame(writer, frame);
        assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_ERROR_ARGUMENT);
        assert_int_equal(access(path_of(names[i % 2]), F_OK), -1);
    }
    pelt_cache_writer_drop(pelt_cache_writer_open(path_of("few/"), 2, &mesh, 30, NULL));
    assert_int_equal(entries_in(test_folder(), "few"), 0);
}

/* Streams trust a header only if the file is large enough, and only up to the limits of the formats' ints. */
static void streams_refuse_headers_that_cannot_be(void **state) {
    (void)state;
    static const struct {
        int32_t points, frames;
        size_t size;
        bool good;
    } cases[] = {{2, 3, 72, true},   {0, 3, 0, false},  {2, 0, 0, false},  {-2, 3, 72, false},
                 {2, -3, 72, false}, {2, 3, 71, false}, {2, 3, 73, false}, {INT32_MAX, INT32_MAX, 72, false},
                 {1, 1, 12, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t head[32 + 80] = "POINTCACHE2";
        int32_t version = 1;
        memcpy(head + 12, &version, 4), memcpy(head + 16, &cases[i].points, 4), memcpy(head + 28, &cases[i].frames, 4);
        write_file(path_of("stream.pc2"), head, 32 + cases[i].size);
        pelt_frames frames;
        pelt_error error = {0};
        pelt_frame_file *file = pelt_frame_file_open(path_of("stream.pc2"), &frames, &error);
        if ((file != NULL) != cases[i].good)
            fail_msg("%d points, %d frames: %s", cases[i].points, cases[i].frames, error.text);
        pelt_frame_file_close(file);
    }
    char text[129]; /* points of no values */
    memcpy(text, "\x93NUMPY\x01\x00\x76\x00", 10);
    snprintf(text + 10, sizeof text - 10, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 0), }");
    write_file(path_of("stream.npy"), text, 128);
    pelt_frames frames;
    pelt_error error = {0};
    assert_null(pelt_frame_file_open(path_of("stream.npy"), &frames, &error));
    assert_non_null(strstr(error.text, "of 0 values"));
}

/* The first line alone determines the separator. */
static void tables_are_separated_as_their_first_line_is(void **state) {
    (void)state;
    static const char *const good[] = {"a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n"};
    static const char *const bad[] = {"a\n1;2\n", "a\n1\t2\n", "a,b\n1;2\n"};
    for (int i = 0; i < 6; i++) {
        const char *text = i < 3 ? good[i] : bad[i - 3];
        write_file(path_of("table.csv"), text, strlen(text));
        pelt_arena *arena = pelt_arena_new(0);
        pelt_table table;
        pelt_result result = pelt_table_read(arena, path_of("table.csv"), &table, NULL);
        assert_true((result == PELT_OK) == (i < 3));
        if (!result) assert_int_equal(table.column_count, 2);
        pelt_arena_free(arena);
    }
}

/* -- Others' files ----------------------------------------------------------------------------------------------- */

static void arrays_that_numpy_wrote_are_read_and_ours_by_numpy(void **state) {
    (void)state;
    char command[2048];
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) {
        print_message("skipped: no numpy here\n");
        skip();
    }
    pelt_mesh mesh = test_mesh(7);
    pelt_error error = {0};
    assert_int_equal(write_cache(path_of("ours.npy"), 4, &mesh, &error), PELT_OK);
    snprintf(command, sizeof command,
             "cd %s && /usr/bin/python3 -c \"import numpy as n; a = n.load('ours.npy'); assert a.shape == (4, 7, 3); "
             "n.save('c.npy', a); n.save('f.npy', n.asfortranarray(a)); n.save('b.npy', a.astype('>f8'))\"",
             test_folder());
    assert_int_equal(system(command), 0);
    static const char *const names[] = {"c.npy", "f.npy", "b.npy"};
    for (int i = 0; i < 3; i++) {
        pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        pelt_cache ours, theirs;
        assert_int_equal(pelt_cache_read(arena, path_of("ours.npy"), &ours, &error), PELT_OK);
        if (pelt_cache_read(arena, path_of(names[i]), &theirs, &error)) fail_msg("%s", error.text);
        assert_memory_equal(ours.positions, theirs.positions, 4 * 7 * 3 * sizeof(float));
        pelt_arena_free(arena);
    }
}

static void the_caches_of_the_real_characters_have_their_counts(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t frames, points;
    } caches[] = {
        {"bone/bone.train.pc2", 400, 754},
        {"fem_hand/fem_hand.train.pc2", 121, 1159},
        {"fem_hand/fem_hand.test.pc2", 25, 1159},
        {"fem_hand_hi/fem_hand_hi.train.pc2", 121, 4630},
        {"fem_hand_hi/fem_hand_hi.test.pc2", 25, 4630},
        {"limbs_M/limbs_M.train.pc2", 100, 10000},
        {"limbs_S/limbs_S.train.pc2", 50, 5000},
        {"mhr_body/mhr_body.train.pc2", 240, 2461},
        {"mhr_body/mhr_body.walk.pc2", 86, 2461},
        {"mhr_body/mhr_body.punch.pc2", 120, 2461},
        {"mhr_body/mhr_body.jump.pc2", 120, 2461},
        {"mhr_hand/mhr_hand.train.pc2", 235, 501},
        {"mhr_hand/mhr_hand.test.pc2", 60, 501},
    };
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        const char *path = test_data(caches[i].name);
        if (!path) continue;
        pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        pelt_cache cache;
        pelt_error error = {0};
        if (pelt_cache_read(arena, path, &cache, &error)) fail_msg("%s", error.text);
        assert_int_equal(cache.frame_count, caches[i].frames);
        assert_int_equal(cache.point_count, caches[i].points);
        for (size_t k = 0; k < 3 * (size_t)cache.frame_count * cache.point_count; k++)
            if (!isfinite(cache.positions[k])) fail_msg("%s: value %zu is not finite", path, k);
        pelt_arena_free(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pc2_is_read_in_place),
        cmocka_unit_test(pc2_with_wrong_counts_is_refused_with_the_numbers),
        cmocka_unit_test(mdd_is_read),
        cmocka_unit_test(mdd_with_wrong_counts_is_refused_with_the_numbers),
        cmocka_unit_test(values_that_are_not_finite_are_the_diagnosis_affair),
        cmocka_unit_test(npy_versions_and_spellings_are_read),
        cmocka_unit_test(npy_precisions_byte_orders_and_index_orders_are_converted),
        cmocka_unit_test(npy_half_precision_has_all_kinds_of_numbers),
        cmocka_unit_test(npy_that_is_something_else_is_refused_by_name),
        cmocka_unit_test(obj_is_read_as_people_write_it),
        cmocka_unit_test(obj_faults_are_named_with_their_line),
        cmocka_unit_test(obj_numbers_are_read_as_the_c_library_reads_them),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(nasty_numbers_in_the_header_do_no_harm),
        cmocka_unit_test(the_ending_chooses_the_format),
        cmocka_unit_test(a_folder_of_obj_is_read_in_the_order_of_its_numbers),
        cmocka_unit_test(a_folder_that_would_need_too_much_memory_is_refused),
        cmocka_unit_test(every_format_comes_back_bit_by_bit),
        cmocka_unit_test(written_files_have_the_bytes_that_the_formats_say),
        cmocka_unit_test(a_written_obj_has_the_faces_of_the_mesh),
        cmocka_unit_test(a_folder_with_other_things_in_it_is_never_replaced),
        cmocka_unit_test(failures_of_writing_leave_nothing_behind),
        cmocka_unit_test(the_number_of_frames_must_be_what_was_said),
        cmocka_unit_test(arrays_that_numpy_wrote_are_read_and_ours_by_numpy),
        cmocka_unit_test(the_caches_of_the_real_characters_have_their_counts),
        cmocka_unit_test(streams_refuse_headers_that_cannot_be),
        cmocka_unit_test(tables_are_separated_as_their_first_line_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
