/* fuzz_engine.c: any bytes as what an engine says: its hello, and the answer to a question. */

#include "engine/process.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int ends[2];
    if (size > 1 << 16 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 0;
    pelt_process p = {.name = "fuzz", .timeout = 1, .channel = ends[0], .lifeline = -1};
    if (write(ends[1], data, size) == (ssize_t)size && !shutdown(ends[1], SHUT_WR)) {
        pelt_error error = {0};
        pelt_result result = pelt_process_hello(&p, pelt_process_deadline(&p), &error);
        enum { MOST = 64 };
        static float controls[PELT_ENGINE_MOST_CONTROLS], values[MOST * PELT_ENGINE_MOST_COMPONENTS];
        uint32_t points[MOST] = {0}, count = p.points < MOST ? p.points : MOST;
        if (!result && p.controls < 1000) result = pelt_process_ask(&p, controls, points, count, values, &error);
        if (result && !*error.text) abort();
    }
    pelt_process_end(&p, 0);
    close(ends[1]);
    return 0;
}
