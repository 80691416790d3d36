/* mpi.c: ranks by MPI. The first one speaks; the others keep their messages to themselves until one of them fails alone. */

#define _GNU_SOURCE /* memfd_create */
#include "cli/mpi.h"
#include "cli/cli.h"
#include "rig/clock.h"
#include "rig/ranks.h"
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const double patience = 3; /* seconds until a rank that has failed takes it that the others have not */

static MPI_Comm ends_only; /* a rank may wait here while the others exchange results */
static int rank, count, spoken = -1, heard = -1;
static double exchanging; /* CPU seconds in exchanges: they wait busily at first */

/* -- Exchanges ------------------------------------------------------------------------------------------------------- */

/* MPI alone would wait at full speed, and take the processor from ranks, or others, that have something to do. */
static void await(MPI_Request *request) {
    const double at_once = 2e-4;
    double start = pelt_wall_seconds();
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done)
        if (pelt_wall_seconds() - start > at_once) usleep(50);
}

/* MPI counts by int. */
static void send_large(char *bytes, const size_t *ends) {
    const size_t most = (size_t)1 << 30;
    MPI_Request request;
    for (int r = 0; r < count; r++)
        for (size_t at = r ? ends[r - 1] : 0; at < ends[r]; at += most) {
            size_t size = ends[r] - at < most ? ends[r] - at : most;
            MPI_Ibcast(bytes + at, (int)size, MPI_BYTE, r, MPI_COMM_WORLD, &request);
            await(&request);
        }
}

static void gather(void *user, void *bytes, const size_t *ends) {
    (void)user;
    double start = pelt_cpu_seconds();
    MPI_Request request;
    int *sizes = calloc(2 * (size_t)count, sizeof *sizes), *begins = sizes + count;
    if (ends[count - 1] > INT_MAX || !sizes) {
        send_large(bytes, ends);
    } else {
        for (int r = 0; r < count; r++) {
            begins[r] = r ? (int)ends[r - 1] : 0;
            sizes[r] = (int)ends[r] - begins[r];
        }
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, bytes, sizes, begins, MPI_BYTE, MPI_COMM_WORLD, &request);
        await(&request);
    }
    free(sizes);
    exchanging += pelt_cpu_seconds() - start;
}

static void combine(void *user, void *bytes, size_t size) {
    (void)user;
    const size_t most = (size_t)1 << 27;
    uint64_t *words = bytes;
    double start = pelt_cpu_seconds();
    MPI_Request request;
    for (size_t at = 0; at < size / 8; at += most) {
        size_t now = size / 8 - at < most ? size / 8 - at : most;
        MPI_Iallreduce(MPI_IN_PLACE, words + at, (int)now, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD, &request);
        await(&request);
    }
    if (size % 8) { /* all ranks have the same size */
        char *last = (char *)bytes + size / 8 * 8;
        MPI_Iallreduce(MPI_IN_PLACE, last, (int)(size % 8), MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD, &request);
        await(&request);
    }
    exchanging += pelt_cpu_seconds() - start;
}

/* -- The end --------------------------------------------------------------------------------------------------------- */

/* Everything that this rank has kept to itself. */
static void speak(void) {
    char text[4400], host[200] = "";
    gethostname(host, sizeof host - 1);
    int length = snprintf(text, sizeof text, "rank %d on %s: ", rank, host);
    ssize_t got = heard >= 0 ? pread(heard, text + length, sizeof text - (size_t)length, 0) : 0;
    if (got > 0 && write(spoken, text, (size_t)(length + got)) < 0) return;
}

static void refuse(void *user, const char *sentence) {
    (void)user;
    if (!rank) cli_fail("%s", sentence); /* all ranks have come to the same conclusion */
    MPI_Barrier(ends_only);
    MPI_Abort(MPI_COMM_WORLD, CLI_FAILED);
    exit(CLI_FAILED);
}

/* For bench/farm.sh: what this rank has done besides waiting for others. Wall clocks of busy machines do not say. */
static void tell_times(void) {
    char text[120];
    if (!getenv("PELT_RANK_TIMES")) return;
    int length = snprintf(text, sizeof text, "rank %d of %d: %.3f CPU seconds, and %.3f in exchanges\n", rank, count,
                          pelt_cpu_seconds() - exchanging, exchanging);
    if (write(spoken >= 0 ? spoken : 2, text, (size_t)length) < 0) return;
}

int cli_mpi_end(int code) {
    tell_times();
    if (count < 2) return MPI_Finalize(), code;
    int mine = code ? rank * 256 + code : INT_MAX, first = INT_MAX, done = 0;
    MPI_Request request;
    double start = pelt_wall_seconds(), most = patience + 0.2 * rank;
    fflush(stdout), fflush(stderr);
    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, ends_only, &request);
    while (!done && (!code || pelt_wall_seconds() - start < most)) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) usleep(1000);
    }
    if (!done || (first != INT_MAX && first / 256 == rank)) speak();
    if (!done) MPI_Abort(MPI_COMM_WORLD, code); /* it failed alone */
    MPI_Finalize();
    return first == INT_MAX ? CLI_DONE : first % 256;
}

/* -- The beginning --------------------------------------------------------------------------------------------------- */

static void keep_silent(void) {
    fflush(stdout), fflush(stderr);
    spoken = dup(2), heard = memfd_create("messages", MFD_CLOEXEC);
    if (heard >= 0) dup2(heard, 2);
    if (!freopen("/dev/null", "w", stdout)) return;
}

void cli_mpi_begin(int *words_count, char ***words) {
    int threads;
    MPI_Init_thread(words_count, words, MPI_THREAD_FUNNELED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (count < 2) return;
    MPI_Comm_dup(MPI_COMM_WORLD, &ends_only);
    if (rank) keep_silent();
    pelt_use_ranks(&(pelt_ranks){
        .rank = (uint32_t)rank, .count = (uint32_t)count, .gather = gather, .combine = combine, .refuse = refuse});
}
