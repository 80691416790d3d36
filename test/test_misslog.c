/* test_misslog.c: the log of missed frames: what is put can be read back, and a write that is cut short anywhere loses
   only itself. */

#include "io/io.h"
#include "rig/clock.h"
#include "test/test.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { CONTROLS = 5, POINTS = 40, VALUES = 3 * POINTS };

static void make_miss(uint32_t number, float *controls, float *values, pelt_miss *miss) {
    for (uint32_t i = 0; i < CONTROLS; i++) controls[i] = (float)(number * 10 + i);
    for (uint32_t i = 0; i < VALUES; i++) values[i] = (float)number + (float)i / 1000;
    *miss = (pelt_miss){CONTROLS, POINTS, 3, (float)number / 7, controls, values};
}

static const char *path_of(const char *name) {
    static char paths[4][200];
    static int next;
    char *path = paths[next++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static void put(const char *path, uint32_t first, uint32_t count) {
    float controls[CONTROLS], values[VALUES];
    pelt_miss miss;
    pelt_error error;
    pelt_misslog *log = pelt_misslog_open(path, &error);
    assert_non_null(log);
    for (uint32_t i = first; i < first + count; i++) {
        make_miss(i, controls, values, &miss);
        assert_int_equal(pelt_misslog_put(log, &miss, &error), PELT_OK);
    }
    assert_int_equal(pelt_misslog_close(log, &error), PELT_OK);
}

static void check_miss(const pelt_miss *found, uint32_t number) {
    float controls[CONTROLS], values[VALUES];
    pelt_miss wanted;
    make_miss(number, controls, values, &wanted);
    assert_int_equal(found->control_count, CONTROLS);
    assert_int_equal(found->point_count, POINTS);
    assert_true(found->e == wanted.e);
    assert_memory_equal(found->controls, controls, sizeof controls);
    assert_memory_equal(found->values, values, sizeof values);
}

static pelt_misses read_log(pelt_arena *arena, const char *path) {
    pelt_error error;
    pelt_misses misses;
    assert_int_equal(pelt_misslog_read(arena, path, &misses, &error), PELT_OK);
    return misses;
}

static void what_is_put_comes_back_also_over_several_sessions(void **state) {
    (void)state;
    const char *path = path_of("sessions.misses");
    put(path, 0, 3), put(path, 3, 4);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_misses misses = read_log(arena, path);
    assert_int_equal(misses.count, 7);
    assert_int_equal(misses.damaged, 0);
    for (uint32_t i = 0; i < 7; i++) check_miss(&misses.list[i], i);
    pelt_arena_free(arena);
}

static void logs_joined_by_cat_merge_and_twins_count_once(void **state) {
    (void)state;
    const char *a = path_of("a.misses"), *b = path_of("b.misses"), *both = path_of("both.misses");
    char command[800];
    put(a, 0, 3), put(b, 10, 2);
    snprintf(command, sizeof command, "cat %s %s %s > %s", a, b, a, both);
    assert_int_equal(system(command), 0);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_misses misses = read_log(arena, both);
    assert_int_equal(misses.count, 5);
    check_miss(&misses.list[3], 10);
    pelt_arena_free(arena);
}

/* A child writes the first bytes of a record, then kills itself: kill -9 in the middle of a write. */
static void die_while_writing(const char *path, const uint8_t *bytes, size_t size) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
        if (file >= 0 && write(file, bytes, size) >= 0) kill(getpid(), SIGKILL);
        _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void the_log_survives_200_kills_at_random_bytes(void **state) {
    (void)state;
    const char *path = path_of("killed.misses"), *source = path_of("source.misses");
    put(source, 900, 4);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    pelt_error error;
    assert_int_equal(pelt_file_read(arena, source, &file, &error), PELT_OK);
    uint64_t seed = 99;
    for (uint32_t round = 0; round < 200; round++) {
        put(path, round, 1); /* what came before the crash */
        die_while_writing(path, file.bytes, (size_t)(test_random(&seed) * (double)file.size));
    }
    put(path, 200, 1); /* and what comes after the last */
    pelt_misses misses = read_log(arena, path);
    uint32_t next = 0;
    for (size_t i = 0; i < misses.count; i++) {
        uint32_t number = (uint32_t)(misses.list[i].controls[0] / 10);
        check_miss(&misses.list[i], number);
        if (number < 900) assert_int_equal(number, next++);
    }
    assert_int_equal(next, 201);
    assert_true(misses.damaged > 0);
    pelt_arena_free(arena);
}

static void a_log_cut_at_any_byte_keeps_all_records_before(void **state) {
    (void)state;
    const char *path = path_of("cut.misses");
    put(path, 0, 3);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    pelt_error error;
    assert_int_equal(pelt_file_read(arena, path, &file, &error), PELT_OK);
    size_t record = file.size / 3;
    for (size_t size = 0; size <= file.size; size += 13) {
        pelt_arena *own = pelt_arena_new(0);
        pelt_misses misses;
        pelt_file part = {file.bytes, size};
        assert_int_equal(pelt_misslog_parse(own, &part, "cut", &misses, &error), PELT_OK);
        assert_int_equal(misses.count, size / record);
        assert_int_equal(misses.damaged, size % record);
        pelt_arena_free(own);
    }
    pelt_arena_free(arena);
}

static void any_damaged_byte_costs_at_most_its_record(void **state) {
    (void)state;
    const char *path = path_of("damaged.misses");
    put(path, 0, 3);
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    pelt_error error;
    assert_int_equal(pelt_file_read(arena, path, &file, &error), PELT_OK);
    uint8_t *bytes = malloc(file.size);
    for (size_t at = 0; at < file.size; at += 5) {
        memcpy(bytes, file.bytes, file.size);
        bytes[at] ^= 0x41;
        pelt_arena *own = pelt_arena_new(0);
        pelt_misses misses;
        assert_int_equal(pelt_misslog_parse(own, &(pelt_file){bytes, file.size}, "x", &misses, &error), PELT_OK);
        assert_int_equal(misses.count, 2);
        pelt_arena_free(own);
    }
    free(bytes);
    pelt_arena_free(arena);
}

/* CRC-32 as PNG, zip and Ethernet have it, bit by bit. */
static uint32_t crc(const uint8_t *bytes, size_t size) {
    uint32_t sum = 0xffffffff;
    for (size_t i = 0; i < 8 * size; i++) {
        uint32_t bit = (sum ^ (uint32_t)bytes[i / 8] >> i % 8) & 1;
        sum = sum >> 1 ^ (bit ? 0xedb88320 : 0);
    }
    return ~sum;
}

static void checksums_are_those_that_everybody_knows(void **state) {
    (void)state;
    const char *path = path_of("sums.misses");
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_error error;
    pelt_file file;
    assert_int_equal(crc((const uint8_t *)"123456789", 9), 0xcbf43926);
    put(path, 3, 1);
    assert_int_equal(pelt_file_read(arena, path, &file, &error), PELT_OK);
    uint32_t head, numbers, size = 4 * (CONTROLS + VALUES);
    assert_int_equal(file.size, 44 + size + 8);
    memcpy(&head, file.bytes + 40, 4), memcpy(&numbers, file.bytes + 44 + size, 4);
    assert_int_equal(head, crc(file.bytes, 40));
    assert_int_equal(numbers, crc(file.bytes + 44, size));
    pelt_arena_free(arena);
}

static void frames_that_are_not_finite_are_left_out(void **state) {
    (void)state;
    const char *path = path_of("infinite.misses");
    float controls[CONTROLS], values[VALUES];
    pelt_miss miss;
    pelt_misslog *log = pelt_misslog_open(path, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        make_miss(i, controls, values, &miss);
        if (i == 1) controls[CONTROLS - 1] = NAN;
        if (i == 2) values[VALUES - 1] = INFINITY;
        assert_int_equal(pelt_misslog_put(log, &miss, NULL), PELT_OK);
    }
    assert_int_equal(pelt_misslog_close(log, NULL), PELT_OK);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_misses misses = read_log(arena, path);
    assert_int_equal(misses.count, 2);
    check_miss(&misses.list[0], 0), check_miss(&misses.list[1], 3);
    pelt_arena_free(arena);
}

/* Headers every 44 bytes, each claiming everything up to a common end; and many small records. */
static void hostile_logs_take_time_in_proportion_to_their_size(void **state) {
    (void)state;
    enum { HEAD = 44, HEADS = 24000 };
    const char *one = path_of("one.misses"), *path = path_of("hostile.misses");
    put(one, 0, 1);
    static uint8_t record[4000], bytes[HEADS * HEAD + 8];
    FILE *file = fopen(one, "rb");
    assert_true(fread(record, 1, sizeof record, file) > HEAD);
    fclose(file);
    for (uint32_t i = 0; i < HEADS; i++) {
        uint32_t numbers = (HEADS - 1 - i) * HEAD / 4;
        uint8_t *head = bytes + (size_t)i * HEAD;
        memcpy(head, record, HEAD);
        uint32_t fields[3] = {0, numbers, 1}, crc = ~0u;
        memcpy(head + 8, fields, sizeof fields);
        for (int b = 0; b < 8 * 40; b++) { /* the checksum bit by bit, as CRC-32 is defined */
            uint32_t bit = (head[b / 8] >> (b % 8) & 1) ^ (crc & 1);
            crc = crc >> 1 ^ (bit ? 0xedb88320 : 0);
        }
        crc = ~crc;
        memcpy(head + 40, &crc, 4);
    }
    memcpy(bytes + sizeof bytes - 4, "END!", 4);
    file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
    fclose(file);
    pelt_arena *arena = pelt_arena_new(0);
    double start = pelt_cpu_seconds();
    pelt_misses misses = read_log(arena, path);
    assert_int_equal(misses.count, 0);
    assert_int_equal(misses.damaged, sizeof bytes);
    double heads = pelt_cpu_seconds() - start;
    /* 100,000 records. */
    path = path_of("many.misses");
    float control = 1, value = 2;
    pelt_misslog *log = pelt_misslog_open(path, NULL);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(pelt_misslog_put(log, &(pelt_miss){1, 1, 1, 0, &control, &value}, NULL), PELT_OK);
    assert_int_equal(pelt_misslog_close(log, NULL), PELT_OK);
    start = pelt_cpu_seconds();
    misses = read_log(arena, path);
    double records = pelt_cpu_seconds() - start;
    assert_int_equal(misses.count, 100000);
    if (heads > 2 || records > 2) fail_msg("%.1f s and %.1f s", heads, records);
    pelt_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_that_everybody_knows),
        cmocka_unit_test(what_is_put_comes_back_also_over_several_sessions),
        cmocka_unit_test(logs_joined_by_cat_merge_and_twins_count_once),
        cmocka_unit_test(the_log_survives_200_kills_at_random_bytes),
        cmocka_unit_test(a_log_cut_at_any_byte_keeps_all_records_before),
        cmocka_unit_test(any_damaged_byte_costs_at_most_its_record),
        cmocka_unit_test(frames_that_are_not_finite_are_left_out),
        cmocka_unit_test(hostile_logs_take_time_in_proportion_to_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
