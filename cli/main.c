/* main.c: the program `pelt`. */

#include "cli/cli.h"
#include "cli/mpi.h"
#include "io/io.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const cli_command *const cli_commands[] = {&cli_info,   &cli_fit,     &cli_eval,       &cli_measure, &cli_compare,
                                           &cli_export, &cli_levels,  &cli_carry,      &cli_poses,   &cli_flesh,
                                           &cli_keys,   &cli_relight, &cli_render,     &cli_bench,   &cli_sample,
                                           &cli_demo,   &cli_view,    &cli_completion, NULL};

static pthread_t main_thread;

/* Ctrl-C leaves no half-written file behind. The threads of OpenBLAS exist before main and cannot be kept from signals: they
   pass them on, so that what writes is what is interrupted. */
static void stop(int signal_number) {
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, signal_number);
        return;
    }
    pelt_writer_abandon_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Ignored signals stay ignored: `nohup pelt` continues after its terminal is gone. */
static void stop_at(int signal_number) {
    struct sigaction before;
    if (!sigaction(signal_number, NULL, &before) && before.sa_handler == SIG_IGN) return;
    signal(signal_number, stop);
}

/* A file that is mapped (rig/spill.h) and can no longer be read: it was cut, or its disk or network has failed. The thread
   that met it cannot go on. */
static void lose_file(int signal_number) {
    static const char sentence[] = "pelt: a file in use was truncated, or its disk has failed\n";
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told) && write(2, sentence, sizeof sentence - 1) < 0) _exit(CLI_FAILED);
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, signal_number);
        for (;;) pause();
    }
    pelt_writer_abandon_all();
    _exit(CLI_FAILED);
}

/* Nor does a library that ends the program, as libgomp does when it cannot start a thread. Children of this process, which
   leave by the same door, have no files of their own. */
static pid_t own_process;

static void leave(void) {
    if (getpid() == own_process) pelt_writer_abandon_all();
}

/* -- OpenBLAS ------------------------------------------------------------------------------------------------------
   It reads its settings from the environment when it is loaded, so the program sets them and starts itself again. */

extern char *openblas_get_corename(void) __attribute__((weak));

/* It starts its own threads, which pelt does not use, and which hang waiting for memory if the address space is
   limited. */
static bool wants_no_threads(void) {
    struct rlimit limit;
    return !getenv("OPENBLAS_NUM_THREADS") && !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

/* A CPU newer than OpenBLAS gets its oldest loops, those for SSE3, with which fits take a third longer. */
static bool wants_newer_loops(const char *command) {
    static const char *const fitting[] = {"fit", "compare", "keys", "bench", "demo", "view"};
    bool fits = false;
    for (size_t i = 0; command && i < sizeof fitting / sizeof *fitting; i++) fits |= !strcmp(command, fitting[i]);
#ifdef __x86_64__
    return fits && !getenv("OPENBLAS_CORETYPE") && openblas_get_corename &&
           !strcmp(openblas_get_corename(), "Prescott") && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
#else
    return fits && false;
#endif
}

static void tell_openblas(char **words) {
    bool threads = wants_no_threads(), loops = wants_newer_loops(words[0] ? words[1] : NULL);
    if (threads && setenv("OPENBLAS_NUM_THREADS", "1", 1)) return;
    if (loops && setenv("OPENBLAS_CORETYPE", "Haswell", 1)) return;
    if (threads || loops) execv("/proc/self/exe", words);
}

/* Also if the command line cannot be parsed. */
static bool wants_json(int count, char **words) {
    for (int i = 1; i < count && strcmp(words[i], "--"); i++)
        if (!strcmp(words[i], "--json")) return true;
    return false;
}

int main(int count, char **words) {
    tell_openblas(words);
    main_thread = pthread_self(), own_process = getpid();
    atexit(leave);
    stop_at(SIGINT), stop_at(SIGTERM), stop_at(SIGHUP);
    signal(SIGBUS, lose_file);
    signal(SIGPIPE, SIG_IGN), signal(SIGXFSZ, SIG_IGN); /* writing fails, with a message */
    cli_watch_json();
#ifdef PELT_WITH_MPI
    cli_mpi_begin(&count, &words);
#endif
    int code = cli_main(count, (const char *const *)words);
    if (code && wants_json(count, words)) cli_print_json_error(code);
    if (fflush(stdout) || ferror(stdout)) code = cli_fail("cannot write to standard output; is the disk full?");
#ifdef PELT_WITH_MPI
    code = cli_mpi_end(code);
#endif
    return code;
}
