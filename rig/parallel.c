/* parallel.c: the one parallel loop. */

#include "rig/rig.h"
#ifdef _OPENMP
#include <omp.h>

/* More threads than this help nobody, and a machine that cannot start them would end the program. */
enum { MOST_THREADS = 256 };
#endif

void pelt_parallel(uint32_t threads, size_t count, void (*body)(void *user, size_t i), void *user) {
#ifdef _OPENMP
    size_t team_size = threads ? threads : (size_t)omp_get_max_threads();
    if (team_size > count) team_size = count;
    int team = team_size < 1 ? 1 : team_size > MOST_THREADS ? MOST_THREADS : (int)team_size;
#pragma omp parallel for num_threads(team) schedule(dynamic, 1) if (team > 1)
    for (size_t i = 0; i < count; i++) body(user, i);
#else
    (void)threads;
    for (size_t i = 0; i < count; i++) body(user, i);
#endif
}
