/* test_faults.c: calls of the system that fail. After each there is the old file or the new one, whole, and nothing else;
   what killed programs left is collected, what living ones write is not. */

#define _GNU_SOURCE
#include "io/io.h"
#include "test/test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* -- Faults -------------------------------------------------------------------------------------------------------- */

enum { NONE, WRITE, FSYNC, CLOSE, RENAME, EXCHANGE };
static int faulty, fault_errno, countdown; /* the call number `countdown` of this kind fails */
static bool struck, only_short;
static char calls[4000];   /* a letter for each */
static int die_at, die_by; /* the signal comes at this moment; there are two for each call, before and after */

static void moment(void) {
    if (die_at && --die_at == 0) raise(die_by);
}

static bool strikes(int kind, char letter) {
    size_t length = strlen(calls);
    if (length + 1 < sizeof calls) calls[length] = letter, calls[length + 1] = 0;
    if (kind != faulty || countdown-- != 1) return false;
    errno = fault_errno;
    return struck = true;
}

int __real_close(int), __real_rename(const char *, const char *);
int __real_renameat2(int, const char *, int, const char *, unsigned), __real_unlinkat(int, const char *, int);
int __wrap_fsync(int), __wrap_close(int), __wrap_rename(const char *, const char *);
int __wrap_renameat2(int, const char *, int, const char *, unsigned), __wrap_unlinkat(int, const char *, int);
ssize_t __real_write(int, const void *, size_t), __wrap_write(int, const void *, size_t);

ssize_t __wrap_write(int descriptor, const void *bytes, size_t size) {
    moment();
    ssize_t put = !strikes(WRITE, 'w') ? __real_write(descriptor, bytes, size)
                  : only_short         ? __real_write(descriptor, bytes, (size + 1) / 2)
                                       : -1;
    moment();
    return put;
}

int __wrap_fsync(int descriptor) {
    struct stat status;
    bool folder = !fstat(descriptor, &status) && S_ISDIR(status.st_mode);
    moment();
    return strikes(FSYNC, folder ? 'S' : 's') ? -1 : 0; /* the disk itself is not tested, and slow */
}

int __wrap_close(int descriptor) {
    int closed = __real_close(descriptor);
    moment();
    return strikes(CLOSE, 'c') ? -1 : closed;
}

int __wrap_rename(const char *from, const char *to) {
    moment();
    int renamed = strikes(RENAME, 'r') ? -1 : __real_rename(from, to);
    moment();
    return renamed;
}

int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    moment();
    int renamed = strikes(EXCHANGE, 'x') ? -1 : __real_renameat2(a, from, b, to, flags);
    moment();
    return renamed;
}

int __wrap_unlinkat(int folder, const char *name, int flags) {
    moment();
    return __real_unlinkat(folder, name, flags);
}

static void set_fault(int kind, int reason, int number) {
    faulty = kind, fault_errno = reason, countdown = number, struck = only_short = false;
    *calls = 0;
}

/* -- Files --------------------------------------------------------------------------------------------------------- */

static const char *path_of(const char *name) {
    static char paths[8][1200];
    static int next;
    char *path = paths[next++ & 7];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static int entries_like(const char *part) {
    DIR *folder = opendir(test_folder());
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += strstr(entry->d_name, part) != NULL;
    closedir(folder);
    return count;
}

/* Every byte is the letter; 0 when it is not so, -1 when there is none. */
static int letter_of(const char *path) {
    static char bytes[200001];
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t i = 1; i < size; i++)
        if (bytes[i] != bytes[0]) return 0;
    return size == 200000 ? bytes[0] : 0;
}

static pelt_result write_letter(const char *path, char letter, pelt_error *error) {
    static char bytes[100000];
    memset(bytes, letter, sizeof bytes);
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return error->code;
    pelt_writer_put(writer, bytes, 50000);
    pelt_writer_put(writer, bytes, 50000);
    pelt_writer_put(writer, bytes, 100000);
    return pelt_writer_commit(writer, error);
}

static void a_file_is_old_or_new_whatever_fails(void **state) {
    (void)state;
    const char *path = path_of("file.bin");
    assert_int_equal(write_letter(path, 'a', NULL), PELT_OK);
    static const int reasons[] = {[WRITE] = ENOSPC, [FSYNC] = EIO, [CLOSE] = EDQUOT, [RENAME] = EACCES};
    for (int kind = WRITE; kind <= RENAME; kind++) {
        int failures = 0;
        for (int n = 1;; n++) {
            pelt_error error = {0};
            set_fault(kind, reasons[kind], n);
            pelt_result result = write_letter(path, 'b', &error);
            bool hit = struck;
            set_fault(NONE, 0, 0);
            int there = letter_of(path);
            if (there != 'a' && there != 'b') fail_msg("fault %d, call %d: half a file", kind, n);
            if (result == PELT_OK && there != 'b') fail_msg("fault %d, call %d: success without the file", kind, n);
            if (result && !strstr(error.text, strerror(reasons[kind]))) fail_msg("%s", error.text);
            assert_int_equal(entries_like(".tmp-"), 0);
            failures += result != PELT_OK;
            assert_int_equal(write_letter(path, 'a', NULL), PELT_OK);
            if (!hit) break;
            assert_true(n < 20);
        }
        assert_true(failures >= (kind == FSYNC ? 2 : 1)); /* of the file, and of its folder */
    }
    set_fault(WRITE, 0, 2), only_short = true; /* a short write is no failure */
    assert_int_equal(write_letter(path, 'b', NULL), PELT_OK);
    assert_true(struck);
    assert_int_equal(letter_of(path), 'b');
    set_fault(WRITE, EINTR, 1);
    assert_int_equal(write_letter(path, 'a', NULL), PELT_OK);
    assert_true(struck);
    set_fault(NONE, 0, 0);
}

static void a_file_is_synced_before_it_has_its_name_and_its_folder_after(void **state) {
    (void)state;
    set_fault(NONE, 0, 0);
    assert_int_equal(write_letter(path_of("synced.bin"), 'a', NULL), PELT_OK);
    char *last_write = strrchr(calls, 'w'), *file = strchr(calls, 's'), *name = strchr(calls, 'r'),
         *folder = strrchr(calls, 'S');
    if (!last_write || !file || !name || !folder || !(last_write < file && file < name && name < folder))
        fail_msg("the order of calls is %s", calls);
}

/* -- Folders ------------------------------------------------------------------------------------------------------- */

static pelt_result write_folder(const char *path, uint32_t frames, float value, pelt_error *error) {
    pelt_mesh mesh = {.vertex_count = 3};
    float positions[9];
    for (int i = 0; i < 9; i++) positions[i] = value;
    pelt_cache_writer *writer = pelt_cache_writer_open(path, frames, &mesh, 30, error);
    if (!writer) return error->code;
    for (uint32_t f = 0; f < frames; f++) pelt_cache_writer_frame(writer, positions);
    return pelt_cache_writer_commit(writer, error);
}

/* The value of a folder's frames, all of which must have it; 0 when the folder is not there, -1 when it is not whole. */
static double value_of(const char *path) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_cache cache;
    double value = 0;
    if (access(path, F_OK) == 0) {
        value = pelt_cache_read(arena, path, &cache, NULL) ? -1 : cache.positions[0];
        if (value > 0 && cache.frame_count != (uint32_t)value + 2) value = -1;
        for (uint32_t i = 0; value > 0 && i < 9 * cache.frame_count; i++)
            if (cache.positions[i] != cache.positions[0]) value = -1;
    }
    pelt_arena_free(arena);
    return value;
}

static void a_folder_is_old_or_new_whatever_fails(void **state) {
    (void)state;
    const char *path = path_of("folder");
    static const int reasons[] = {
        [WRITE] = ENOSPC, [FSYNC] = EIO, [CLOSE] = EDQUOT, [RENAME] = EACCES, [EXCHANGE] = ENOSYS};
    for (int kind = WRITE; kind <= EXCHANGE; kind++)
        for (int n = 1;; n++) {
            set_fault(NONE, 0, 0);
            assert_int_equal(write_folder(path, 5, 3, NULL), PELT_OK);
            pelt_error error = {0};
            set_fault(kind, reasons[kind], n);
            pelt_result result = write_folder(path, 3, 1, &error);
            bool hit = struck;
            set_fault(NONE, 0, 0);
            double there = value_of(path);
            if (there != 3 && there != 1) fail_msg("fault %d, call %d: the folder has %g", kind, n, there);
            if (result == PELT_OK && there != 1) fail_msg("fault %d, call %d: success without the folder", kind, n);
            if (kind == EXCHANGE && result) fail_msg("%s", error.text); /* there is another way */
            assert_int_equal(entries_like(".tmp-") + entries_like(".old-"), 0);
            if (!hit) break;
            assert_true(n < 60);
        }
}

/* -- Deaths -------------------------------------------------------------------------------------------------------- */

static void clean_up_and_die(int number) {
    pelt_writer_abandon_all();
    signal(number, SIG_DFL);
    raise(number);
}

static int wait_for(pid_t child) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

/* At every call that writes, renames, syncs, closes or removes: before it and after it. */
static void a_folder_is_never_lost_by_dying_while_it_is_replaced(void **state) {
    (void)state;
    const char *path = path_of("killed");
    static const int signals[] = {SIGKILL, SIGINT};
    for (int exchange = 0; exchange < 2; exchange++)
        for (int s = 0; s < 2; s++)
            for (int at = 1, died = 1; died; at++) {
                set_fault(NONE, 0, 0);
                assert_int_equal(write_folder(path, 5, 3, NULL), PELT_OK);
                pid_t child = fork();
                if (child == 0) {
                    signal(SIGINT, clean_up_and_die);
                    if (!exchange) set_fault(EXCHANGE, ENOSYS, 1);
                    die_at = at, die_by = signals[s];
                    _exit(write_folder(path, 3, 1, NULL) != PELT_OK);
                }
                int end = wait_for(child);
                died = end == signals[s];
                if (!died) assert_int_equal(end, 0);
                double there = value_of(path);
                /* Where folders cannot be exchanged the old one may stand aside: the next writer puts it back. */
                if (!exchange && there == 0) {
                    assert_int_equal(entries_like("killed.old-"), 1);
                    pelt_cache_writer *writer =
                        pelt_cache_writer_open(path, 1, &(pelt_mesh){.vertex_count = 3}, 30, NULL);
                    pelt_cache_writer_drop(writer);
                    there = value_of(path);
                }
                if (there != 3 && there != 1)
                    fail_msg("signal %d at call %d: the folder has %g", signals[s], at, there);
                if (signals[s] == SIGINT && exchange) assert_int_equal(entries_like("killed.tmp-"), 0);
                assert_int_equal(write_folder(path, 5, 3, NULL), PELT_OK); /* which also collects */
                assert_int_equal(entries_like("killed.tmp-") + entries_like("killed.old-"), 0);
                assert_true(at < 400);
            }
}

static void a_file_is_old_or_new_wherever_its_writer_dies(void **state) {
    (void)state;
    const char *path = path_of("killed.bin");
    for (int at = 1, died = 1; died; at++) {
        assert_int_equal(write_letter(path, 'a', NULL), PELT_OK);
        assert_int_equal(entries_like("killed.bin.tmp-"), 0);
        pid_t child = fork();
        if (child == 0) {
            die_at = at, die_by = SIGKILL;
            _exit(write_letter(path, 'b', NULL) != PELT_OK);
        }
        died = wait_for(child) == SIGKILL;
        int there = letter_of(path);
        if (there != 'a' && there != 'b') fail_msg("killed at call %d: half a file", at);
    }
}

/* Two files of which the second names the first: the second is there only with the first of its own letter. */
static pelt_result write_pair(char letter, pelt_error *error) {
    static char bytes[200000];
    memset(bytes, letter, sizeof bytes);
    pelt_writer *first = pelt_writer_open(path_of("pair.bin"), error);
    pelt_writer *second = first ? pelt_writer_open(path_of("pair.gltf"), error) : NULL;
    if (!second) return pelt_writer_drop(first), PELT_ERROR_FILE;
    pelt_writer_put(first, bytes, sizeof bytes), pelt_writer_put(second, bytes, sizeof bytes);
    return pelt_writer_commit_pair(first, second, error);
}

static void check_pair(const char *when, int number, bool missing_is_allowed) {
    int first = letter_of(path_of("pair.bin")), second = letter_of(path_of("pair.gltf"));
    if (second != -1 ? second != first || !first : !missing_is_allowed)
        fail_msg("%s, call %d: %d beside %d", when, number, first, second);
}

static void two_files_fit_together_whatever_fails_and_wherever_their_writer_dies(void **state) {
    (void)state;
    static const int reasons[] = {[WRITE] = ENOSPC, [FSYNC] = EIO, [CLOSE] = EDQUOT, [RENAME] = EACCES};
    for (int kind = WRITE; kind <= RENAME; kind++)
        for (int n = 1, hit = 1; hit; n++) {
            pelt_error error = {0};
            assert_int_equal(write_pair('a', NULL), PELT_OK);
            set_fault(kind, reasons[kind], n);
            pelt_result result = write_pair('b', &error);
            hit = struck;
            set_fault(NONE, 0, 0);
            check_pair("a fault", n, kind == RENAME || (kind == FSYNC && n > 2)); /* 2: both are on the disk */
            if (!result) assert_int_equal(letter_of(path_of("pair.gltf")), 'b');
            if (result && !strstr(error.text, strerror(reasons[kind]))) fail_msg("%s", error.text);
            assert_int_equal(entries_like("pair.bin.tmp-") + entries_like("pair.gltf.tmp-"), 0);
        }
    for (int at = 1, died = 1; died; at++) {
        assert_int_equal(write_pair('a', NULL), PELT_OK);
        pid_t child = fork();
        if (child == 0) {
            die_at = at, die_by = SIGKILL;
            _exit(write_pair('b', NULL) != PELT_OK);
        }
        died = wait_for(child) == SIGKILL;
        check_pair("killed", at, true);
    }
}

static void what_living_programs_write_is_not_collected(void **state) {
    (void)state;
    const char *path = path_of("shared.bin");
    int ends[2];
    char letter;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        pelt_writer *writer = pelt_writer_open(path, NULL);
        pelt_writer_put(writer, "child", 5);
        if (__real_write(ends[1], "x", 1) != 1) _exit(1);
        raise(SIGSTOP);
        _exit(pelt_writer_commit(writer, NULL) != PELT_OK);
    }
    assert_int_equal(read(ends[0], &letter, 1), 1);
    assert_int_equal(entries_like("shared.bin.tmp-"), 1);
    assert_int_equal(write_letter(path, 'p', NULL), PELT_OK);
    assert_int_equal(entries_like("shared.bin.tmp-"), 1);
    int status;
    waitpid(child, &status, WUNTRACED);
    kill(child, SIGCONT);
    assert_int_equal(wait_for(child), 0);
    struct stat there;
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_size, 5);
    __real_close(ends[0]), __real_close(ends[1]);
}

static void only_our_own_leavings_are_collected(void **state) {
    (void)state;
    static const char *const others[] = {"mine.txt.tmp-",       "mine.txt.tmp-abcde", "mine.txt.tmp-abcdefg",
                                         "mine.txt.tmp-ABCDEF", "mine.txt.tmp",       "amine.txt.tmp-abcdef"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        __real_close(open(path_of(others[i]), O_CREAT | O_WRONLY, 0666));
    __real_close(open(path_of("mine.txt.tmp-abcdef"), O_CREAT | O_WRONLY, 0666));
    assert_int_equal(mkdir(path_of("mine.txt.tmp-fedcba"), 0777), 0);
    __real_close(open(path_of("mine.txt.tmp-fedcba/frame_000000.obj"), O_CREAT | O_WRONLY, 0666));
    __real_close(open(path_of("mine.txt.tmp-fedcba/frame_000001.obj.tmp-abcdef"), O_CREAT | O_WRONLY, 0666));
    assert_int_equal(mkdir(path_of("mine.txt.tmp-ffffff"), 0777), 0);
    __real_close(open(path_of("mine.txt.tmp-ffffff/sculpt.obj"), O_CREAT | O_WRONLY, 0666));
    assert_int_equal(write_letter(path_of("mine.txt"), 'a', NULL), PELT_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (access(path_of(others[i]), F_OK)) fail_msg("%s was removed", others[i]);
    assert_int_equal(access(path_of("mine.txt.tmp-abcdef"), F_OK), -1);
    assert_int_equal(access(path_of("mine.txt.tmp-fedcba"), F_OK), -1);
    assert_int_equal(access(path_of("mine.txt.tmp-ffffff/sculpt.obj"), F_OK), 0);
}

static void a_name_may_be_as_long_as_the_system_allows(void **state) {
    (void)state;
    char name[300];
    for (int length = 240; length <= 255; length++) {
        memset(name, 'n', sizeof name);
        strcpy(name + length - 4, ".bin");
        assert_int_equal(write_letter(path_of(name), 'a', NULL), PELT_OK);
        name[length - 4] = 'n', name[length - 3] = 0;
        pelt_error error = {0};
        if (write_folder(path_of(name), 3, 1, &error)) fail_msg("%d letters: %s", length, error.text);
        assert_int_equal(write_folder(path_of(name), 5, 3, NULL), PELT_OK);
        assert_near(value_of(path_of(name)), 3, 0);
    }
    assert_int_equal(entries_like(".tmp-n"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_old_or_new_whatever_fails),
        cmocka_unit_test(a_file_is_synced_before_it_has_its_name_and_its_folder_after),
        cmocka_unit_test(a_folder_is_old_or_new_whatever_fails),
        cmocka_unit_test(a_folder_is_never_lost_by_dying_while_it_is_replaced),
        cmocka_unit_test(a_file_is_old_or_new_wherever_its_writer_dies),
        cmocka_unit_test(two_files_fit_together_whatever_fails_and_wherever_their_writer_dies),
        cmocka_unit_test(what_living_programs_write_is_not_collected),
        cmocka_unit_test(only_our_own_leavings_are_collected),
        cmocka_unit_test(a_name_may_be_as_long_as_the_system_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
