/* relay.c: escapes the text of an engine. */

#define _GNU_SOURCE
#include "engine/relay.h"
#include "rig/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct pollfd pelt_relay_wants(const pelt_relay *r) {
    return r->ready ? (struct pollfd){r->to, POLLOUT, 0} : (struct pollfd){r->from, POLLIN, 0};
}

/* Number of trailing bytes that are the start of an incomplete character. */
static size_t unfinished(const char *text, size_t length) {
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)text[length - back];
        if (c >> 6 == 2) continue;
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return whole > back ? back : 0;
    }
    return 0;
}

/* A zero would end the text. */
static void show(pelt_relay *r, size_t length) {
    for (size_t i = 0; i <= length; i++) {
        size_t piece = strnlen(r->raw + i, length - i), room = sizeof r->shown - r->ready;
        r->raw[i + piece] = 0;
        r->ready += pelt_visible_text(r->raw + i, "\n\t", r->shown + r->ready, room);
        i += piece;
        if (i < length) r->ready += (size_t)snprintf(r->shown + r->ready, sizeof r->shown - r->ready, "\\x00");
    }
}

static void take(pelt_relay *r) {
    ssize_t got = read(r->from, r->raw + r->held, sizeof r->raw - 1 - r->held);
    if (got < 0) return;
    size_t length = r->held + (size_t)got, rest = got ? unfinished(r->raw, length) : 0;
    char held[3];
    memcpy(held, r->raw + length - rest, rest);
    show(r, length - rest);
    memcpy(r->raw, held, rest);
    r->held = rest;
    if (!got) close(r->from), r->from = -1;
}

/* At most what a pipe that has room accepts at once. */
static void give(pelt_relay *r) {
    ssize_t put = write(r->to, r->shown, r->ready);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (put <= 0) put = (ssize_t)r->ready; /* the reader is gone */
    r->ready -= (size_t)put;
    memmove(r->shown, r->shown + put, r->ready);
}

void pelt_relay_step(pelt_relay *r) {
    if (r->ready)
        give(r);
    else if (r->from >= 0)
        take(r);
}

void pelt_relay_finish(pelt_relay *r) {
    while (r->ready || r->from >= 0) {
        struct pollfd p = pelt_relay_wants(r);
        if (poll(&p, 1, r->ready ? 100 : 0) <= 0) break;
        pelt_relay_step(r);
    }
    if (r->from >= 0) close(r->from), r->from = -1;
}
