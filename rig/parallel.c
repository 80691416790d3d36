/* parallel.c: the one parallel loop. Every thread has its own arena. */

#include "rig/linear.h"
#include "rig/memory.h"
#include "rig/spill.h"
#ifdef _OPENMP
#include <omp.h>

/* More threads do not help, and OpenMP ends the program if the machine cannot start them. */
enum { MOST_THREADS_PER_PROCESSOR = 8 };

static int team_size(uint32_t threads, size_t count) {
    size_t wanted = threads ? threads : (size_t)omp_get_max_threads();
    size_t most = (size_t)omp_get_num_procs() * MOST_THREADS_PER_PROCESSOR;
    if (most > count) most = count ? count : 1;
    int team = (int)(wanted < most ? wanted : most);
    if (team > 1) team = pelt_blas_reserve(pelt_memory_threads(team)); /* the result does not depend on it */
    return team > 1 ? team : 1;
}
#endif

/* Reports how many of a loop's calls are done. Never goes backwards, even with more loops than expected. */
static void tell(pelt_watch *watch, size_t finished, size_t count) {
    uint32_t before = watch->finished < watch->loops ? watch->finished : watch->loops - 1;
    double part = (before + (double)finished / (double)count) / watch->loops;
    double fraction = watch->low + (watch->high - watch->low) * part;
    const double step = 0.002; /* finer than any bar shows */
    if (fraction < watch->told + step) return;
    watch->told = fraction;
    pelt_watch_ask(watch);
}

bool pelt_parallel(pelt_arena *arena, uint32_t threads, size_t count, pelt_loop_body body, void *user) {
    bool done = true;
    pelt_watch *watch = pelt_arena_watched(arena);
    size_t finished = 0;
#ifdef _OPENMP
    int team = team_size(threads, count);
    if (omp_in_parallel()) watch = NULL; /* the thread of the outermost loop reports */
#pragma omp parallel num_threads(team) if (team > 1) reduction(&& : done)
    {
        pelt_arena *scratch = pelt_arena_new(0);
        bool entered = watch && pelt_watch_loop(watch, !omp_get_thread_num());
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < count; i++) {
            done = pelt_arena_call(scratch, body, user, i) && done;
            if (!watch) continue;
            size_t now;
#pragma omp atomic capture
            now = ++finished;
            if (!omp_get_thread_num()) tell(watch, now, count);
        }
        if (entered) pelt_watch_loop(NULL, false);
        pelt_arena_free(scratch);
    }
#else
    (void)threads;
    pelt_arena *scratch = pelt_arena_new(0);
    for (size_t i = 0; i < count; i++) {
        done = pelt_arena_call(scratch, body, user, i) && done;
        if (watch) tell(watch, ++finished, count);
    }
    pelt_arena_free(scratch);
#endif
    if (watch) watch->finished++;
    if (!done) pelt_arena_fail(arena);
    return done;
}
