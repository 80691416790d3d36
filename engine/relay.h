/* relay.h: what an engine writes to standard error, on its way to the user: characters that command a terminal are shown
   and not obeyed. It never waits, so that its owner can watch other things. */

#ifndef PELT_RELAY_H
#define PELT_RELAY_H

#include <poll.h>
#include <stddef.h>

typedef struct pelt_relay {
    int from, to;
    size_t held;  /* bytes of a character that is not whole yet, at the start of raw */
    size_t ready; /* bytes in shown that have not been written yet */
    char raw[256], shown[4 * 256 + 1];
} pelt_relay;

/* What to wait for: bytes to read, or room for those that were read. */
struct pollfd pelt_relay_wants(const pelt_relay *relay);
/* Does what can be done after pelt_relay_wants has come true. At the end of the input, from is -1. */
void pelt_relay_step(pelt_relay *relay);
/* Passes on what is there, when nobody writes any more; what the user does not take within a moment is dropped. */
void pelt_relay_finish(pelt_relay *relay);

#endif
