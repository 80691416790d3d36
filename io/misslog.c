/* misslog.c: the log of frames that the soft cache missed.

   A file of self-contained records:

       "PELTMISS"  u32 controls  u32 points  u32 components  f32 e  u64 stamp  u64 0  u32 checksum of these 40 bytes
       f32 controls...  f32 values...  u32 checksum of the numbers  u32 0x21444e45 ("END!")

   little-endian. A record is appended by a single write. If that is cut short, the next record follows the fragment;
   the reader resynchronises at the next magic whose checksum holds. Hence logs can also be joined by `cat`.

   A hostile log may have a header every 44 bytes, each claiming everything that follows. To read it in linear time, the
   checksum of any range is derived from those of the file's prefixes: with C(n) the register after n bytes, that of the
   bytes from a to b is C(b) + (C(a) + 1...1) x^(8 (b - a)) modulo the polynomial, where + is exclusive or. */

#include "io/bytes.h"
#include "io/io.h"
#include "io/temporary.h"
#include "rig/maths.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_SIZE = 44, CHECKED = 40, TAIL_SIZE = 8, MOST_CONTROLS = 1 << 20, MOST_COMPONENTS = 64 };
static const char letters[8] = "PELTMISS";
static const uint32_t end_mark = 0x21444e45;

/* -- Checksums (CRC-32, its bits reversed: the highest power is bit 0) ---------------------------------------------- */

static uint32_t crc_byte(uint32_t crc, uint8_t byte) {
    static const uint32_t nibbles[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                         0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    crc ^= byte;
    crc = crc >> 4 ^ nibbles[crc & 15];
    return crc >> 4 ^ nibbles[crc & 15];
}

static uint32_t checksum(const uint8_t *bytes, size_t size) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) crc = crc_byte(crc, bytes[i]);
    return ~crc;
}

/* Product of two polynomials. */
static uint32_t crc_multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit) product ^= b;
        b = b >> 1 ^ (b & 1 ? 0xedb88320 : 0);
    }
    return product;
}

/* Registers of all prefixes of a file, starting from 0: sums[n] is the one after n bytes. */
static uint32_t *crc_of_beginnings(pelt_arena *arena, const pelt_file *file) {
    uint32_t *sums = PELT_NEW(arena, file->size + 1, uint32_t);
    for (size_t i = 0; sums && i < file->size; i++) sums[i + 1] = crc_byte(sums[i], file->bytes[i]);
    return sums;
}

static uint32_t checksum_between(const uint32_t *sums, size_t from, size_t to) {
    uint32_t shift = 1u << 31, power = 1u << 23; /* 1 and x^8 */
    for (size_t n = to - from; n; n >>= 1) {
        if (n & 1) shift = crc_multiply(shift, power);
        power = crc_multiply(power, power);
    }
    return ~(sums[to] ^ crc_multiply(sums[from] ^ ~0u, shift));
}

/* -- Writing ------------------------------------------------------------------------------------------------------- */

struct pelt_misslog {
    char *path;
    int descriptor;
    uint64_t stamp; /* tells records of several programs apart */
};

pelt_misslog *pelt_misslog_open(const char *path, pelt_error *error) {
    pelt_misslog *log = calloc(1, sizeof *log);
    char *copy = strdup(path);
    int descriptor = log && copy ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (descriptor < 0) {
        pelt_fail(error, log && copy ? PELT_ERROR_FILE : PELT_ERROR_MEMORY, "%s: cannot be opened: %s", path,
                  strerror(errno));
        free(log), free(copy);
        return NULL;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *log = (pelt_misslog){copy, descriptor, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec};
    log->stamp ^= (uint64_t)getpid() << 48;
    return log;
}

static void put_floats(uint8_t *out, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) pelt_put_u32_little(out + 4 * i, pelt_bits_of_float(values[i]));
}

static void fill_record(uint8_t *out, const pelt_miss *miss, uint64_t stamp, size_t values) {
    memcpy(out, letters, 8);
    pelt_put_u32_little(out + 8, miss->control_count);
    pelt_put_u32_little(out + 12, miss->point_count);
    pelt_put_u32_little(out + 16, miss->component_count);
    pelt_put_u32_little(out + 20, pelt_bits_of_float(miss->e));
    pelt_put_u32_little(out + 24, (uint32_t)stamp);
    pelt_put_u32_little(out + 28, (uint32_t)(stamp >> 32));
    memset(out + 32, 0, 8);
    pelt_put_u32_little(out + CHECKED, checksum(out, CHECKED));
    uint8_t *numbers = out + HEAD_SIZE;
    put_floats(numbers, miss->controls, miss->control_count);
    put_floats(numbers + 4 * (size_t)miss->control_count, miss->values, values);
    size_t size = 4 * (miss->control_count + values);
    pelt_put_u32_little(numbers + size, checksum(numbers, size));
    pelt_put_u32_little(numbers + size + 4, end_mark);
}

pelt_result pelt_misslog_put(pelt_misslog *log, const pelt_miss *miss, pelt_error *error) {
    size_t values = (size_t)miss->point_count * miss->component_count;
    size_t size = HEAD_SIZE + 4 * (miss->control_count + values) + TAIL_SIZE;
    if (!values || miss->control_count > MOST_CONTROLS || miss->component_count > MOST_COMPONENTS)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: a frame of %u points cannot be logged", log->path,
                         miss->point_count);
    uint8_t *record = malloc(size);
    if (!record) return pelt_no_memory(error);
    fill_record(record, miss, log->stamp++, values);
    int failure = pelt_write_all(log->descriptor, record, size) ? errno : 0;
    free(record);
    return failure ? pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be written: %s", log->path, strerror(failure))
                   : PELT_OK;
}

pelt_result pelt_misslog_close(pelt_misslog *log, pelt_error *error) {
    if (!log) return PELT_OK;
    int failure = fsync(log->descriptor) && errno != EINVAL && errno != EROFS ? errno : 0;
    if (close(log->descriptor) && !failure) failure = errno;
    pelt_result result = PELT_OK;
    if (failure) result = pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be written: %s", log->path, strerror(failure));
    free(log->path);
    free(log);
    return result;
}

/* -- Reading ------------------------------------------------------------------------------------------------------- */

typedef struct record {
    pelt_miss miss;
    uint64_t stamp;
    uint32_t sum;
    size_t size;
} record;

typedef struct log_bytes {
    const uint8_t *bytes;
    size_t size;
    const uint32_t *sums; /* of the prefixes */
} log_bytes;

/* Whether there is a whole record at `from`. */
static bool find_record(const log_bytes *log, size_t from, record *out) {
    const uint8_t *at = log->bytes + from;
    size_t left = log->size - from;
    if (left < HEAD_SIZE + TAIL_SIZE || memcmp(at, letters, 8) ||
        pelt_u32_little(at + CHECKED) != checksum(at, CHECKED))
        return false;
    uint64_t controls = pelt_u32_little(at + 8), points = pelt_u32_little(at + 12), each = pelt_u32_little(at + 16);
    if (controls > MOST_CONTROLS || !points || !each || each > MOST_COMPONENTS) return false;
    uint64_t numbers = 4 * (controls + points * each);
    if (numbers > left - HEAD_SIZE - TAIL_SIZE) return false;
    const uint8_t *tail = at + HEAD_SIZE + numbers;
    size_t first = from + HEAD_SIZE;
    out->sum = pelt_u32_little(tail);
    if (pelt_u32_little(tail + 4) != end_mark ||
        out->sum != checksum_between(log->sums, first, first + (size_t)numbers))
        return false;
    out->miss = (pelt_miss){
        (uint32_t)controls, (uint32_t)points, (uint32_t)each, pelt_float_of_bits(pelt_u32_little(at + 20)), NULL, NULL};
    out->stamp = pelt_u32_little(at + 24) | (uint64_t)pelt_u32_little(at + 28) << 32;
    out->size = HEAD_SIZE + (size_t)numbers + TAIL_SIZE;
    return true;
}

/* Moves *at to the next record; false if there is none. Counts the bytes it skips. */
static bool next_record(const log_bytes *log, size_t *at, record *out, size_t *skipped) {
    while (*at < log->size) {
        if (find_record(log, *at, out)) return true;
        const uint8_t *next = memchr(log->bytes + *at + 1, letters[0], log->size - *at - 1);
        size_t to = next ? (size_t)(next - log->bytes) : log->size;
        *skipped += to - *at;
        *at = to;
    }
    return false;
}

/* -- Duplicates, as from joining logs that were already joined ------------------------------------------------------- */

typedef struct seen_records {
    struct seen_record {
        uint64_t stamp, mark; /* sum + 1; 0: free */
    } * slots;                /* open addressing */
    size_t mask;
} seen_records;

static bool seen_new(pelt_arena *arena, size_t count, seen_records *seen) {
    size_t size = 4;
    while (size < 2 * count) size *= 2;
    *seen = (seen_records){PELT_NEW(arena, size, struct seen_record), size - 1};
    return seen->slots != NULL;
}

static bool seen_before(seen_records *seen, const record *r) {
    uint64_t mark = (uint64_t)r->sum + 1, hash = (r->stamp ^ mark << 32) * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(hash >> 20) & seen->mask;; i = (i + 1) & seen->mask) {
        struct seen_record *s = &seen->slots[i];
        if (!s->mark) return *s = (struct seen_record){r->stamp, mark}, false;
        if (s->stamp == r->stamp && s->mark == mark) return true;
    }
}

static float *copy_floats(pelt_arena *arena, const uint8_t *bytes, size_t count) {
    float *out = PELT_NEW(arena, count + 1, float);
    for (size_t i = 0; out && i < count; i++) out[i] = pelt_float_of_bits(pelt_u32_little(bytes + 4 * i));
    return out;
}

pelt_result pelt_misslog_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_misses *misses,
                               pelt_error *error) {
    log_bytes log = {file->bytes, file->size, crc_of_beginnings(arena, file)};
    size_t at = 0, count = 0, counted = 0;
    record r;
    seen_records seen;
    *misses = (pelt_misses){0};
    if (!log.sums) return pelt_file_no_memory(path, error);
    for (; next_record(&log, &at, &r, &counted); at += r.size) count++;
    pelt_miss *list = PELT_NEW(arena, count + 1, pelt_miss);
    if (!seen_new(arena, count, &seen) || !list) return pelt_file_no_memory(path, error);
    for (at = 0; next_record(&log, &at, &r, &misses->damaged); at += r.size) {
        size_t values = (size_t)r.miss.point_count * r.miss.component_count;
        const uint8_t *numbers = file->bytes + at + HEAD_SIZE;
        float *first = copy_floats(arena, numbers, r.miss.control_count);
        float *second = copy_floats(arena, numbers + 4 * (size_t)r.miss.control_count, values);
        if (pelt_arena_failed(arena)) return pelt_file_no_memory(path, error);
        if (pelt_first_not_finite(first, r.miss.control_count) < r.miss.control_count ||
            pelt_first_not_finite(second, values) < values || seen_before(&seen, &r))
            continue;
        r.miss.controls = first, r.miss.values = second;
        list[misses->count++] = r.miss;
    }
    misses->list = list;
    return PELT_OK;
}

pelt_result pelt_misslog_read(pelt_arena *arena, const char *path, pelt_misses *misses, pelt_error *error) {
    pelt_file file;
    pelt_result result = pelt_file_read(arena, path, &file, error);
    return result ? result : pelt_misslog_parse(arena, &file, path, misses, error);
}
