/* relay.h: passes an engine's standard error on to the user, with terminal control characters escaped. It never blocks,
   so that its owner can watch other things. */

#ifndef PELT_RELAY_H
#define PELT_RELAY_H

#include <poll.h>
#include <stddef.h>

typedef struct pelt_relay {
    int from, to;
    size_t held;  /* bytes of an incomplete character, at the start of raw */
    size_t ready; /* bytes in shown not yet written */
    char raw[256], shown[4 * 256 + 1];
} pelt_relay;

/* What to poll for: bytes to read, or room to write those already read. */
struct pollfd pelt_relay_wants(const pelt_relay *relay);
/* Reads or writes what it can once the poll succeeds. At the end of the input, from is -1. */
void pelt_relay_step(pelt_relay *relay);
/* Flushes the rest once nobody writes any more; whatever the user does not accept promptly is dropped. */
void pelt_relay_finish(pelt_relay *relay);

#endif
