/* clock.c: the clocks of the machine. */

#include "rig/clock.h"
#include <time.h>

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double pelt_wall_seconds(void) { return seconds(CLOCK_MONOTONIC); }
double pelt_thread_seconds(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double pelt_cpu_seconds(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
