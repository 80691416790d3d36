/* npy.c: NumPy arrays, versions 1 to 3: "\x93NUMPY", version, the length of a header, and the header, which is a Python
   dictionary as text:

       {'descr': '<f4', 'fortran_order': False, 'shape': (121, 1159, 3), }

   then the values. Shapes [frames, points, 3] and [points, 3] (one frame) are read, in half, single or double
   precision, either byte order, either index order. Little-endian single precision in C order is used in place. */

#include "io/bytes.h"
#include "io/cache.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { MOST_DIMENSIONS = 32 }; /* NumPy's own limit */
static const char magic[6] = "\x93NUMPY";

typedef struct header {
    char descr[16];
    bool has_descr, has_order, has_shape, fortran_order;
    uint32_t dimension_count;
    int64_t shape[MOST_DIMENSIONS];
} header;

/* -- The header's text ------------------------------------------------------------------------------------------- */

typedef struct text {
    const char *at, *end;
} text;

static void skip_blanks(text *t) {
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t' || *t->at == '\r')) t->at++;
}

static bool accept(text *t, char wanted) {
    skip_blanks(t);
    if (t->at == t->end || *t->at != wanted) return false;
    t->at++;
    return true;
}

static bool accept_word(text *t, const char *word) {
    size_t length = strlen(word);
    skip_blanks(t);
    if ((size_t)(t->end - t->at) < length || memcmp(t->at, word, length) != 0) return false;
    t->at += length;
    return true;
}

static bool read_string(text *t, char *out, size_t size) {
    char quote = accept(t, '\'') ? '\'' : '"';
    if (quote == '"' && !accept(t, '"')) return false;
    const char *close = memchr(t->at, quote, (size_t)(t->end - t->at));
    if (!close || (size_t)(close - t->at) >= size) return false;
    memcpy(out, t->at, (size_t)(close - t->at));
    out[close - t->at] = 0;
    t->at = close + 1;
    return true;
}

static bool read_integer(text *t, int64_t *value) {
    skip_blanks(t);
    const char *begin = t->at;
    *value = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (*value < INT64_MAX / 10 - 1)
            *value = 10 * *value + (*t->at - '0');
        else
            *value = INT64_MAX / 10; /* too large for any file, and refused later */
    bool found = t->at > begin;
    if (found) accept(t, 'L'); /* Python 2's long integers */
    return found;
}

static bool read_shape(text *t, header *h) {
    if (!accept(t, '(')) return false;
    while (!accept(t, ')')) {
        if (h->dimension_count == MOST_DIMENSIONS || !read_integer(t, &h->shape[h->dimension_count])) return false;
        h->dimension_count++;
        if (!accept(t, ',') && !(t->at < t->end && *t->at == ')')) return false;
    }
    return true;
}

/* A key may appear only once. */
static bool once(bool *seen) {
    bool first = !*seen;
    *seen = true;
    return first;
}

static bool read_entry(text *t, header *h) {
    char key[16];
    if (!read_string(t, key, sizeof key) || !accept(t, ':')) return false;
    if (!strcmp(key, "descr")) return once(&h->has_descr) && read_string(t, h->descr, sizeof h->descr);
    if (!strcmp(key, "shape")) return once(&h->has_shape) && read_shape(t, h);
    if (strcmp(key, "fortran_order") != 0 || !once(&h->has_order)) return false;
    h->fortran_order = accept_word(t, "True");
    return h->fortran_order || accept_word(t, "False");
}

static bool read_header(text t, header *h) {
    if (!accept(&t, '{')) return false;
    while (!accept(&t, '}')) {
        if (!read_entry(&t, h)) return false;
        if (!accept(&t, ',') && !(t.at < t.end && *t.at == '}')) return false;
    }
    return h->has_descr && h->has_order && h->has_shape;
}

static bool locate_header(const pelt_file *file, text *t) {
    const uint8_t *bytes = file->bytes;
    size_t begin = bytes[6] == 1 ? 10 : 12;
    if (file->size < begin) return false;
    size_t length = bytes[6] == 1 ? pelt_u16_little(bytes + 8) : pelt_u32_little(bytes + 8);
    if (length > file->size - begin) return false;
    t->at = (const char *)bytes + begin;
    t->end = t->at + length;
    return true;
}

/* -- Values ------------------------------------------------------------------------------------------------------ */

typedef struct number {
    size_t size;
    bool big_endian;
} number;

static bool number_of(const char *descr, number *type) {
    static const char *const known[] = {"<f2", ">f2", "<f4", ">f4", "<f8", ">f8"};
    for (size_t i = 0; i < 6; i++)
        if (!strcmp(descr, known[i])) {
            *type = (number){(size_t)2 << i / 2, i % 2};
            return true;
        }
    return false;
}

static float half_value(uint32_t h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    uint32_t sign = (h & 0x8000) << 16;
    if (exponent == 31) return pelt_float_of_bits(sign | 0x7f800000 | (uint32_t)fraction << 13);
    float magnitude = exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    return sign ? -magnitude : magnitude;
}

static float value_at(const uint8_t *b, number type) {
    if (type.size == 4) return pelt_float_of_bits(type.big_endian ? pelt_u32_big(b) : pelt_u32_little(b));
    if (type.size == 2) return half_value(type.big_endian ? (uint32_t)b[0] << 8 | b[1] : pelt_u16_little(b));
    uint64_t bits = type.big_endian ? (uint64_t)pelt_u32_big(b) << 32 | pelt_u32_big(b + 4)
                                    : (uint64_t)pelt_u32_little(b + 4) << 32 | pelt_u32_little(b);
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

static void convert(const uint8_t *values, number type, size_t count, float *out) {
    for (size_t i = 0; i < count; i++) out[i] = value_at(values + i * type.size, type);
}

/* In Fortran order the first index varies fastest. Tiled, so that both reads and writes stay in cache. */
static void convert_transposed(const uint8_t *values, number type, size_t frames, size_t row, size_t points,
                               float *out) {
    enum { TILE = 16 };
    for (size_t r0 = 0; r0 < row; r0 += TILE)
        for (size_t f0 = 0; f0 < frames; f0 += TILE)
            for (size_t r = r0; r < row && r < r0 + TILE; r++) /* r = point + points * coordinate */
                for (size_t f = f0; f < frames && f < f0 + TILE; f++)
                    out[f * row + r % points * 3 + r / points] = value_at(values + (f + frames * r) * type.size, type);
}

/* -- The file ---------------------------------------------------------------------------------------------------- */

static pelt_result check_shape(const header *h, const char *path, pelt_error *error) {
    uint32_t n = h->dimension_count;
    if ((n == 2 || n == 3) && h->shape[n - 1] == 3) return PELT_OK;
    char shape[128];
    size_t used = 0;
    for (uint32_t i = 0; i < n && used < sizeof shape; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, i ? ", %" PRId64 : "%" PRId64, h->shape[i]);
    return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                     "%s: is an array of shape (%s); pelt reads (frames, points, 3) and (points, 3)", path,
                     n ? shape : "");
}

static pelt_result read_values(pelt_arena *arena, const header *h, const uint8_t *values, number type, const char *path,
                               pelt_cache *cache, pelt_error *error) {
    size_t row = 3 * (size_t)cache->point_count, count = cache->frame_count * row;
    bool in_place = PELT_HOST_IS_LITTLE_ENDIAN && type.size == 4 && !type.big_endian && !h->fortran_order &&
                    (uintptr_t)values % sizeof(float) == 0;
    if (in_place) {
        cache->positions = (const float *)(const void *)values;
        return PELT_OK;
    }
    float *positions = pelt_cache_positions(arena, path, cache->frame_count, cache->point_count, error);
    if (!positions) return PELT_ERROR_MEMORY;
    if (h->fortran_order)
        convert_transposed(values, type, cache->frame_count, row, cache->point_count, positions);
    else
        convert(values, type, count, positions);
    cache->positions = positions;
    return PELT_OK;
}

/* Reads the header alone. */
static pelt_result read_array_header(const pelt_file *file, const char *path, header *h, number *type, size_t *offset,
                                     pelt_error *error) {
    if (file->size < 8 || memcmp(file->bytes, magic, sizeof magic) != 0)
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: is not a NumPy array: it does not begin with \\x93NUMPY", path);
    if (file->bytes[6] < 1 || file->bytes[6] > 3)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: is a NumPy array of version %d; pelt reads 1 to 3", path,
                         file->bytes[6]);
    text t;
    if (!locate_header(file, &t))
        return pelt_fail(error, PELT_ERROR_TRUNCATED, "%s: ends within its header; save it again", path);
    if (!read_header(t, h))
        return pelt_fail(error, PELT_ERROR_FORMAT,
                         "%s: its header cannot be parsed; save one plain array with numpy.save", path);
    if (!number_of(h->descr, type))
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "%s: holds numbers of type '%s'; pelt reads f2, f4 and f8: save array.astype('float32')", path,
                         h->descr);
    *offset = (size_t)((const uint8_t *)t.end - file->bytes);
    return PELT_OK;
}

pelt_result pelt_npy_locate(const pelt_file *head, const char *path, pelt_npy_layout *layout, pelt_error *error) {
    header h = {0};
    number type;
    pelt_result result = read_array_header(head, path, &h, &type, &layout->offset, error);
    if (result) return result;
    uint32_t n = h.dimension_count;
    layout->plain = type.size == 4 && !type.big_endian && !h.fortran_order && PELT_HOST_IS_LITTLE_ENDIAN;
    layout->frames = n == 3 ? h.shape[0] : 1;
    layout->points = n >= 2 ? h.shape[n - 2] : 0;
    layout->components = n >= 2 ? h.shape[n - 1] : 0;
    return n == 2 || n == 3 ? PELT_OK
                            : pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                                        "%s: is an array of %u dimensions; expected (frames, points, values)", path, n);
}

pelt_result pelt_npy_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_cache *cache,
                           pelt_error *error) {
    header h = {0};
    number type;
    size_t offset;
    pelt_result result = read_array_header(file, path, &h, &type, &offset, error);
    if (!result) result = check_shape(&h, path, error);
    if (result) return result;
    int64_t frames = h.dimension_count == 3 ? h.shape[0] : 1, points = h.shape[h.dimension_count - 2];
    result = pelt_cache_check(path, frames, points, type.size, file->size - offset, error);
    if (result) return result;
    *cache = (pelt_cache){(uint32_t)frames, (uint32_t)points, NULL, "npy"};
    return read_values(arena, &h, file->bytes + offset, type, path, cache, error);
}

/* The header is padded with spaces to 128 bytes, so that the values are 64-byte aligned; it ends with a newline. */
static void make_header(const char *shape, char bytes[129]) {
    char entries[118];
    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    snprintf(entries, sizeof entries, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape);
    snprintf(bytes + 10, 119, "%-117s\n", entries);
}

static void put_header(pelt_writer *writer, const char *shape) {
    char bytes[129];
    make_header(shape, bytes);
    pelt_writer_put(writer, bytes, 128);
}

void pelt_npy_complete(pelt_writer *writer, uint32_t frame_count, uint32_t point_count) {
    char shape[40], bytes[129];
    snprintf(shape, sizeof shape, "%u, %u, 3", frame_count, point_count);
    make_header(shape, bytes);
    pelt_writer_put_first(writer, bytes, 128);
}

void pelt_npy_begin(pelt_writer *writer, uint32_t frame_count, uint32_t point_count, double frames_per_second) {
    (void)frames_per_second; /* an array has no times */
    char shape[40];
    snprintf(shape, sizeof shape, "%u, %u, 3", frame_count, point_count);
    put_header(writer, shape);
}

pelt_result pelt_npy_write(const char *path, const uint32_t sizes[3], const float *values, pelt_error *error) {
    char shape[60] = "";
    size_t used = 0, count = 1;
    for (int i = 0; i < 3; i++)
        if (sizes[i]) {
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%u", i ? ", " : "", sizes[i]);
            count *= sizes[i];
        }
    if (!sizes[1]) snprintf(shape + used, sizeof shape - used, ","); /* a Python tuple of one */
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return error->code;
    put_header(writer, shape);
    pelt_put_floats_little(writer, values, count);
    return pelt_writer_commit(writer, error);
}
