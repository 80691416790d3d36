/* test_file.c: reading and writing whole files. */

#include "test/test.h"
#include "io/io.h"
#include "rig/clock.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char path_buffers[8][1024];

static const char *path_of(const char *name) {
    static int next;
    char *path = path_buffers[next++ & 7];
    snprintf(path, sizeof path_buffers[0], "%s/%s", test_folder(), name);
    return path;
}

static void write_plainly(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_plainly(const char *path, void *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

/* How many files in the folder have "tmp" in their names. */
static int temporaries_in(const char *path) {
    DIR *folder = opendir(path);
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += strstr(entry->d_name, ".tmp-") != NULL;
    closedir(folder);
    return count;
}

static pelt_result write_text(const char *path, const char *text, pelt_error *error) {
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return error->code;
    pelt_writer_put(writer, text, strlen(text));
    return pelt_writer_commit(writer, error);
}

/* -- Reading ----------------------------------------------------------------------------------------------------- */

static void a_file_is_read_aligned_and_followed_by_zero(void **state) {
    (void)state;
    for (size_t size = 0; size < 200; size += 7) {
        uint8_t bytes[200];
        for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(255 - i);
        const char *path = path_of("plain.bin");
        write_plainly(path, bytes, size);
        pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        pelt_file file;
        assert_int_equal(pelt_file_read(arena, path, &file, NULL), PELT_OK);
        assert_int_equal(file.size, size);
        assert_int_equal((uintptr_t)file.bytes % 64, 0);
        assert_memory_equal(file.bytes, bytes, size);
        assert_int_equal(file.bytes[size], 0);
        pelt_arena_free(arena);
    }
}

static void refuse_to_read(const char *path, const char *part) {
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_file file;
    pelt_error error = {0};
    assert_int_equal(pelt_file_read(arena, path, &file, &error), PELT_ERROR_FILE);
    assert_int_equal(error.code, PELT_ERROR_FILE);
    assert_int_equal(strncmp(error.text, path, strlen(path)), 0);
    assert_non_null(strstr(error.text, part));
    pelt_arena_free(arena);
}

static void what_is_not_a_file_is_refused_with_a_sentence(void **state) {
    (void)state;
    const char *fifo = path_of("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    refuse_to_read(test_folder(), "is a folder");
    refuse_to_read(fifo, "is a pipe or a device"); /* and does not hang */
    refuse_to_read("/dev/null", "is a pipe or a device");
    refuse_to_read(path_of("absent"), "No such file");
    unlink(fifo);
}

static void a_file_larger_than_the_first_limit_is_read_and_the_limit_is_64_times_its_size(void **state) {
    (void)state;
    enum { SIZE = 40 << 10, FIRST = 1 << 10 };
    static uint8_t bytes[SIZE];
    const char *path = path_of("large.bin");
    write_plainly(path, bytes, SIZE);
    pelt_arena *arena = pelt_arena_new(FIRST);
    pelt_file file;
    assert_int_equal(pelt_file_read(arena, path, &file, NULL), PELT_OK);
    size_t left = FIRST + 64 * (size_t)SIZE - pelt_arena_used(arena);
    assert_null(pelt_alloc(arena, left + 64, 1));
    pelt_arena_raise_limit(arena, 0); /* forgiven */
    assert_non_null(pelt_alloc(arena, left - left % 64, 1));
    pelt_arena_free(arena);
}

#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED /* sanitizers need more address space than the test allows */
#endif
#endif

/* 0 if a 1 GB file is properly refused by a process limited to half of that. */
static int read_beyond_memory(const char *path) {
    if (setrlimit(RLIMIT_AS, &(struct rlimit){512 << 20, 512 << 20}) != 0) return 77;
    pelt_file file;
    pelt_error error = {0};
    if (pelt_file_read(pelt_arena_new(PELT_READ_LIMIT), path, &file, &error) != PELT_ERROR_MEMORY) return 1;
    return strstr(error.text, "1073741824 bytes") ? 0 : 2;
}

static int exit_status_of(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_file_larger_than_memory_is_refused_with_a_sentence(void **state) {
    (void)state;
#if defined SANITIZED || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip();
#endif
    const char *path = path_of("sparse.bin");
    int descriptor = open(path, O_WRONLY | O_CREAT, 0600);
    int made = ftruncate(descriptor, 1 << 30);
    close(descriptor);
    if (made != 0) skip();
    pid_t child = fork();
    if (child == 0) _exit(read_beyond_memory(path));
    int status = exit_status_of(child);
    unlink(path);
    if (status == 77) skip();
    assert_int_equal(status, 0);
}

/* -- Writing ----------------------------------------------------------------------------------------------------- */

/* 5 GB that take no room on the disk: only their beginning is read. */
static void a_huge_file_is_refused_by_its_beginning(void **state) {
    static const char skin[24] = "PELTSKIN\1\0\0\0\0\0\0\0\0\0\0\1", gltf[12] = "glTF\2\0\0\0\0\0\1";
    static const struct {
        const char *name, *begin, *says;
        size_t size;
    } cases[] = {{"a.pelt", "", "does not begin", 0},     {"a.glb", "", "does not begin", 0},
                 {"a.keys", "", "does not begin", 0},     {"a.csv", "", "is not text", 0},
                 {"b.csv", "time,a\n", "is not text", 7}, {"b.pelt", skin, "claims to have", 24},
                 {"b.glb", gltf, "claims to have", 12}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        pelt_error error;
        pelt_file file;
        const char *path = path_of(cases[i].name);
        write_plainly(path, cases[i].begin, cases[i].size);
        assert_int_equal(truncate(path, (off_t)5 << 30), 0);
        double start = pelt_wall_seconds();
        assert_int_equal(pelt_file_read(arena, path, &file, &error), PELT_ERROR_FORMAT);
        assert_true(pelt_wall_seconds() - start < 1);
        if (!strstr(error.text, cases[i].says)) fail_msg("%s", error.text);
        unlink(path);
    }
}

static void a_file_appears_only_at_commit(void **state) {
    (void)state;
    const char *path = path_of("new.txt");
    pelt_writer *writer = pelt_writer_open(path, NULL);
    pelt_writer_put(writer, "hello ", 6);
    assert_int_equal(access(path, F_OK), -1);
    pelt_writer_put(writer, "world", 5);
    assert_int_equal(pelt_writer_commit(writer, NULL), PELT_OK);
    char text[64];
    assert_int_equal(read_plainly(path, text, sizeof text), 11);
    assert_memory_equal(text, "hello world", 11);
    assert_int_equal(temporaries_in(test_folder()), 0);
}

static void pieces_of_all_sizes_arrive_in_order(void **state) {
    (void)state;
    static uint8_t bytes[1 << 19], back[(1 << 19) + 1];
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(256 * test_random(&random));
    const char *path = path_of("pieces.bin");
    pelt_writer *writer = pelt_writer_open(path, NULL);
    for (size_t done = 0, size = 0; done < sizeof bytes; done += size) {
        double r = test_random(&random);
        size = (size_t)(r * r * r * r * 150000);
        if (size > sizeof bytes - done) size = sizeof bytes - done;
        pelt_writer_put(writer, bytes + done, size);
    }
    assert_int_equal(pelt_writer_commit(writer, NULL), PELT_OK);
    assert_int_equal(read_plainly(path, back, sizeof back), sizeof bytes);
    assert_memory_equal(back, bytes, sizeof bytes);
}

static void a_dropped_file_leaves_the_old_one_as_it_was(void **state) {
    (void)state;
    const char *path = path_of("kept.txt");
    write_plainly(path, "old", 3);
    pelt_writer *writer = pelt_writer_open(path, NULL);
    pelt_writer_put(writer, "new", 3);
    pelt_writer_drop(writer);
    char text[8];
    assert_int_equal(read_plainly(path, text, sizeof text), 3);
    assert_memory_equal(text, "old", 3);
    assert_int_equal(temporaries_in(test_folder()), 0);
}

static mode_t mode_of(const char *path) {
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void new_files_follow_the_umask_and_old_ones_keep_their_mode(void **state) {
    (void)state;
    mode_t before = umask(027);
    const char *fresh = path_of("fresh.txt"), *old = path_of("old.txt");
    assert_int_equal(write_text(fresh, "x", NULL), PELT_OK);
    assert_int_equal(mode_of(fresh), 0640);
    write_plainly(old, "x", 1);
    assert_int_equal(chmod(old, 0604), 0);
    assert_int_equal(write_text(old, "y", NULL), PELT_OK);
    assert_int_equal(mode_of(old), 0604);
    umask(before);
}

static void a_symbolic_link_stays_and_its_file_is_replaced(void **state) {
    (void)state;
    const char *file = path_of("behind.txt"), *link = path_of("link.txt");
    write_plainly(file, "old", 3);
    assert_int_equal(symlink("behind.txt", link), 0);
    assert_int_equal(write_text(link, "through", NULL), PELT_OK);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    char text[16];
    assert_int_equal(read_plainly(file, text, sizeof text), 7);
}

static void refuse_to_write(const char *path, const char *part) {
    pelt_error error = {0};
    assert_int_equal(write_text(path, "x", &error), PELT_ERROR_FILE);
    assert_int_equal(strncmp(error.text, path, strlen(path)), 0);
    if (!strstr(error.text, part)) fail_msg("\"%s\" does not say \"%s\"", error.text, part);
}

/* The lowest number that the next file gets. */
static int next_descriptor(void) {
    int next = dup(0);
    close(next);
    return next;
}

static void writers_close_their_files_however_they_end(void **state) {
    (void)state;
    pelt_error error;
    char path[300];
    snprintf(path, sizeof path, "%s/closed", test_folder());
    int before = next_descriptor();
    for (int end = 0; end < 2; end++) {
        pelt_writer *writer = pelt_writer_open(path, &error);
        assert_non_null(writer);
        pelt_writer_put(writer, "x", 1);
        if (end)
            assert_int_equal(pelt_writer_commit(writer, &error), PELT_OK);
        else
            pelt_writer_drop(writer);
        assert_int_equal(next_descriptor(), before);
    }
}

static void a_place_that_cannot_be_written_is_named_with_the_reason(void **state) {
    (void)state;
    const char *file = path_of("a_file");
    write_plainly(file, "x", 1);
    refuse_to_write(path_of("a_file/inside.txt"), strerror(ENOTDIR));
    refuse_to_write(path_of("no/such/folder.txt"), strerror(ENOENT));
    refuse_to_write(test_folder(), "is a folder");
    char proc[1024];
    snprintf(proc, sizeof proc, "/proc/%d/pelt.txt", (int)getpid());
    if (access("/proc/self", F_OK) == 0) refuse_to_write(proc, "cannot be written");
    pelt_error error = {0};
    assert_int_equal(write_text("", "x", &error), PELT_ERROR_FILE);
    char name[600];
    memset(name, 'n', sizeof name), name[599] = 0;
    refuse_to_write(path_of(name), strerror(ENAMETOOLONG));
    assert_int_equal(temporaries_in(test_folder()), 0);
}

static void a_full_disk_is_reported(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    static const uint8_t zeros[1 << 20];
    for (size_t size = 1; size <= sizeof zeros; size *= 1024) { /* found by commit, and by put */
        pelt_error error = {0};
        pelt_writer *writer = pelt_writer_open("/dev/full", &error);
        assert_non_null(writer);
        for (int i = 0; i < 3; i++) pelt_writer_put(writer, zeros, size);
        assert_int_equal(pelt_writer_commit(writer, &error), PELT_ERROR_FILE);
        assert_non_null(strstr(error.text, strerror(ENOSPC)));
    }
}

static void a_disk_that_fills_up_leaves_nothing_behind(void **state) {
    (void)state;
    const char *path = path_of("limited.bin");
    pid_t child = fork();
    if (child == 0) { /* a limit on the size of files is a full disk of one's own */
        signal(SIGXFSZ, SIG_IGN);
        static const uint8_t zeros[1 << 18];
        if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000}) != 0) _exit(77);
        pelt_error error = {0};
        pelt_writer *writer = pelt_writer_open(path, &error);
        if (!writer) _exit(1);
        pelt_writer_put(writer, zeros, sizeof zeros);
        _exit(pelt_writer_commit(writer, &error) == PELT_ERROR_FILE && strstr(error.text, strerror(EFBIG)) ? 0 : 2);
    }
    int status = exit_status_of(child);
    if (status == 77) skip();
    assert_int_equal(status, 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(temporaries_in(test_folder()), 0);
}

static void devices_are_written_directly(void **state) {
    (void)state;
    assert_int_equal(write_text("/dev/null", "x", NULL), PELT_OK);
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
}

static void many_writers_may_be_open_and_too_many_get_a_sentence(void **state) {
    (void)state;
    pelt_writer *writers[100];
    int count = 0;
    pelt_error error = {0};
    for (; count < 100; count++) {
        char name[32];
        snprintf(name, sizeof name, "many%d.txt", count);
        writers[count] = pelt_writer_open(path_of(name), &error);
        if (!writers[count]) break;
    }
    assert_true(count >= 8 && count < 100);
    assert_non_null(strstr(error.text, strerror(EMFILE)));
    assert_int_equal(temporaries_in(test_folder()), count);
    while (count) pelt_writer_drop(writers[--count]);
    assert_int_equal(temporaries_in(test_folder()), 0);
    assert_int_equal(write_text(path_of("again.txt"), "x", &error), PELT_OK);
}

static void abandon_and_exit(int number) {
    pelt_writer_abandon_all();
    _exit(number);
}

static void a_signal_handler_can_remove_all_unfinished_files(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, abandon_and_exit);
        float triangle[9] = {0};
        pelt_mesh mesh = {.vertex_count = 3};
        pelt_writer *writer = pelt_writer_open(path_of("signal.txt"), NULL);
        pelt_writer_put(writer, triangle, sizeof triangle);
        pelt_cache_writer *folder = pelt_cache_writer_open(path_of("signal_folder/"), 3, &mesh, 30, NULL);
        if (folder) pelt_cache_writer_frame(folder, triangle), pelt_cache_writer_frame(folder, triangle);
        if (!folder || temporaries_in(test_folder()) != 2) _exit(1);
        raise(SIGUSR1);
        _exit(2);
    }
    assert_int_equal(exit_status_of(child), SIGUSR1);
    assert_int_equal(temporaries_in(test_folder()), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_aligned_and_followed_by_zero),
        cmocka_unit_test(what_is_not_a_file_is_refused_with_a_sentence),
        cmocka_unit_test(a_file_larger_than_the_first_limit_is_read_and_the_limit_is_64_times_its_size),
        cmocka_unit_test(a_file_larger_than_memory_is_refused_with_a_sentence),
        cmocka_unit_test(a_huge_file_is_refused_by_its_beginning),
        cmocka_unit_test(a_file_appears_only_at_commit),
        cmocka_unit_test(pieces_of_all_sizes_arrive_in_order),
        cmocka_unit_test(a_dropped_file_leaves_the_old_one_as_it_was),
        cmocka_unit_test(new_files_follow_the_umask_and_old_ones_keep_their_mode),
        cmocka_unit_test(a_symbolic_link_stays_and_its_file_is_replaced),
        cmocka_unit_test(writers_close_their_files_however_they_end),
        cmocka_unit_test(a_place_that_cannot_be_written_is_named_with_the_reason),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(a_disk_that_fills_up_leaves_nothing_behind),
        cmocka_unit_test(devices_are_written_directly),
        cmocka_unit_test(many_writers_may_be_open_and_too_many_get_a_sentence),
        cmocka_unit_test(a_signal_handler_can_remove_all_unfinished_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
