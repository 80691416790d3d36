/* parallel.c: the one parallel loop. */

#include "rig/rig.h"
#ifdef _OPENMP
#include <omp.h>
#endif

void pelt_parallel(uint32_t threads, size_t count, void (*body)(void *user, size_t i), void *user) {
#ifdef _OPENMP
    int team = threads ? (int)threads : omp_get_max_threads();
#pragma omp parallel for num_threads(team) schedule(dynamic, 1) if (team > 1 && count > 1)
    for (size_t i = 0; i < count; i++) body(user, i);
#else
    (void)threads;
    for (size_t i = 0; i < count; i++) body(user, i);
#endif
}
