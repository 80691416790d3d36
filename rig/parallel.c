/* parallel.c: the one parallel loop. */

#include "rig/rig.h"
#ifdef _OPENMP
#include <omp.h>

/* More than this help nobody, and a machine that cannot start them would end the program. */
enum { MOST_THREADS_PER_PROCESSOR = 8 };
#endif

void pelt_parallel(uint32_t threads, size_t count, void (*body)(void *user, size_t i), void *user) {
#ifdef _OPENMP
    size_t wanted = threads ? threads : (size_t)omp_get_max_threads();
    size_t most = (size_t)omp_get_num_procs() * MOST_THREADS_PER_PROCESSOR;
    if (most > count) most = count ? count : 1;
    int team = (int)(wanted < most ? wanted : most);
#pragma omp parallel for num_threads(team) schedule(dynamic, 1) if (team > 1)
    for (size_t i = 0; i < count; i++) body(user, i);
#else
    (void)threads;
    for (size_t i = 0; i < count; i++) body(user, i);
#endif
}
