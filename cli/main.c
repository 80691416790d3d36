/* main.c: the program `pelt`. */

#include "cli/cli.h"
#include "io/io.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const cli_command *const cli_commands[] = {&cli_info,   &cli_fit,  &cli_eval,    &cli_measure, &cli_compare,
                                           &cli_export, &cli_keys, &cli_relight, &cli_render,  &cli_bench,
                                           &cli_sample, &cli_demo, &cli_view,    &cli_completion, NULL};

/* Ctrl-C leaves no half-written file behind. */
static void stop(int signal_number) {
    pelt_writer_abandon_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* What is ignored stays so: `nohup pelt` goes on when its terminal is gone. */
static void stop_at(int signal_number) {
    struct sigaction before;
    if (!sigaction(signal_number, NULL, &before) && before.sa_handler == SIG_IGN) return;
    signal(signal_number, stop);
}

/* OpenBLAS starts threads of its own when it is loaded, which wait for ever for memory where the address space is
   limited. pelt does not use them: then it starts itself again without. */
static void restart_without_idle_threads(char **words) {
    struct rlimit limit;
    if (getenv("OPENBLAS_NUM_THREADS") || getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
    if (!setenv("OPENBLAS_NUM_THREADS", "1", 1)) execv("/proc/self/exe", words);
}

/* Also where the words cannot be understood. */
static bool wants_json(int count, char **words) {
    for (int i = 1; i < count && strcmp(words[i], "--"); i++)
        if (!strcmp(words[i], "--json")) return true;
    return false;
}

int main(int count, char **words) {
    restart_without_idle_threads(words);
    stop_at(SIGINT), stop_at(SIGTERM), stop_at(SIGHUP);
    cli_watch_json();
    int code = cli_main(count, (const char *const *)words);
    if (code && wants_json(count, words)) cli_print_json_error(code);
    if (fflush(stdout) || ferror(stdout)) return cli_fail("standard output cannot be written: is the disk full?");
    return code;
}
