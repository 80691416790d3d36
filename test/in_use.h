/* in_use.h: how many bytes malloc has given out, so that a round of work that leaves something is noticed. Sanitizers
   replace malloc and have their own means: with them it is always the same number. */

#ifndef PELT_TEST_IN_USE_H
#define PELT_TEST_IN_USE_H

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Freed blocks that a thread keeps for itself would count: starts the program again without them. */
static inline void use_exactly(char **arguments) {
    if (getenv("GLIBC_TUNABLES")) return;
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
    execv("/proc/self/exe", arguments);
}

static inline size_t bytes_in_use(void) {
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* What a round of work leaves, it leaves every time; what libraries keep, or the few bytes by which blocks differ, comes
   and goes. */
static inline bool leaves_nothing(void (*round)(void)) {
    size_t before = 0;
    for (int i = 0; i < 8; i++) {
        round();
        size_t now = bytes_in_use();
        if (i > 1 && now <= before) return true;
        before = now;
    }
    return false;
}

#endif
