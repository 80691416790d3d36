/* fuzz_server.c: requests as bytes, several for each connection, to the server of `pelt view`. KEY and PORT in them stand
   for the server's own, which no seed can know; a byte 0 begins another connection, beside the first. */

#include "fuzz/viewed.h"
#include "io/tree.h"
#include "view/server.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static pelt_view *view;
static pelt_server *server;
static char *folder;

static pelt_bytes *no_fit(const char *bundle, size_t count, const char *const *words, const pelt_progress *progress,
                          pelt_error *error) {
    (void)bundle, (void)words;
    for (size_t i = 0; i < count; i++)
        if (progress->step(progress->user, "fuzzing", 0.5)) break;
    pelt_fail(error, PELT_ERROR_DATA, "%zu words", count);
    return NULL;
}

static void stop(void) {
    pelt_server_stop(server);
    pelt_view_free(view);
    pelt_folder_remove(folder), free(folder);
}

static void start(void) {
    pelt_error error;
    folder = pelt_private_folder(&error);
    view = open_view(no_fit);
    server = folder ? pelt_server_start(view, &(pelt_server_options){.folder = folder}, &error) : NULL;
    if (!server) abort();
    atexit(stop);
}

static int dial(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(pelt_server_port(server))};
    struct linger at_once = {1, 0};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int line = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(line, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (connect(line, (struct sockaddr *)&to, sizeof to)) abort(); /* it has ended */
    return line;
}

/* The bytes with the server's key and port; returns how many. */
static size_t fill_in(const uint8_t *bytes, size_t size, char *out, size_t room) {
    size_t used = 0;
    for (size_t i = 0; i < size && used + 40 < room;) {
        if (i + 3 <= size && !memcmp(bytes + i, "KEY", 3))
            used += (size_t)snprintf(out + used, 40, "%s", pelt_server_key(server)), i += 3;
        else if (i + 4 <= size && !memcmp(bytes + i, "PORT", 4))
            used += (size_t)snprintf(out + used, 40, "%u", pelt_server_port(server)), i += 4;
        else
            out[used++] = (char)bytes[i++];
    }
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    enum { LINES = 4 };
    static char text[1 << 17], taken[1 << 16];
    int lines[LINES], count = 0;
    if (!server) start();
    if (size > 1 << 16) return 0;
    for (const uint8_t *end = bytes + size; bytes < end && count < LINES; count++) {
        const uint8_t *next = memchr(bytes, 0, (size_t)(end - bytes));
        if (!next) next = end;
        size_t length = fill_in(bytes, (size_t)(next - bytes), text, sizeof text);
        lines[count] = dial();
        send(lines[count], text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        bytes = next + (next < end);
    }
    for (int i = 0; i < count; i++) {
        struct pollfd ready = {lines[i], POLLIN, 0};
        while (poll(&ready, 1, 2) > 0 && recv(lines[i], taken, sizeof taken, MSG_DONTWAIT) > 0) continue;
        close(lines[i]);
    }
    return 0;
}
