/* eval_live.c: pelt eval --live: a skin that follows poses as they arrive, line by line (io/pose_stream.c), as the hand
   in the EigenSkin paper follows a glove. */

#include "cli/eval.h"
#include "io/io.h"
#include "rig/clock.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAID = 5 }; /* bad lines reported individually */

void cli_skip_line(uint64_t *skipped, const char *sentence) {
    if ((*skipped)++ < SAID) cli_fail("%s", sentence);
    if (*skipped == SAID) cli_fail("further skipped lines are only counted");
}

/* -- Stopping ------------------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t stopping;

/* The first signal still writes the frames that arrived; the second ends at once. */
static void stop_soon(int signal_number) {
    stopping = 1;
    signal(signal_number, SIG_DFL);
}

static void catch_signals(struct sigaction before[3]) {
    struct sigaction action = {.sa_handler = stop_soon}; /* without SA_RESTART, so that waits are interrupted */
    struct sigaction ignore = {.sa_handler = SIG_IGN};   /* a closed reader is an error like any other */
    sigaction(SIGINT, &action, &before[0]);
    sigaction(SIGTERM, &action, &before[1]);
    sigaction(SIGPIPE, &ignore, &before[2]);
}

static void give_signals_back(const struct sigaction before[3]) {
    static const int numbers[3] = {SIGINT, SIGTERM, SIGPIPE};
    for (int i = 0; i < 3; i++) sigaction(numbers[i], &before[i], NULL);
}

/* -- Time ---------------------------------------------------------------------------------------------------------- */

static void wait_until(double time) {
    struct timespec t = {(time_t)time, (long)(1e9 * (time - floor(time)))};
    while (!stopping && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* A histogram of latencies in steps of 2% from a microsecond, so that memory does not grow with the stream. */
enum { STEPS = 1200 };

typedef struct latencies {
    uint64_t counts[STEPS], count, late;
    double worst;
} latencies;

static void note_latency(latencies *l, double seconds, double most) {
    double step = log(fmax(seconds, 1e-6) / 1e-6) / log(1.02);
    l->counts[step < STEPS - 1 ? (size_t)step : STEPS - 1]++;
    l->count++, l->late += seconds > most;
    l->worst = fmax(l->worst, seconds);
}

static double median_latency(const latencies *l) {
    uint64_t below = 0;
    size_t step = 0;
    while (step < STEPS - 1 && below + l->counts[step] < (l->count + 1) / 2) below += l->counts[step++];
    return fmin(1e-6 * pow(1.02, (double)step + 0.5), l->worst);
}

/* -- Frames -------------------------------------------------------------------------------------------------------- */

/* The output: an array of frames, or plain floats. */
typedef struct sink {
    pelt_cache_writer *cache;
    pelt_writer *plain;
} sink;

static bool open_sink(sink *out, const char *path, const pelt_bundle *bundle, pelt_error *error) {
    if (pelt_ends_with(path, ".npy"))
        out->cache = pelt_cache_writer_open(path, 0, &bundle->mesh, 0, error);
    else
        out->plain = strcmp(path, "-") ? pelt_writer_open(path, error) : pelt_writer_standard(error);
    return out->cache || out->plain;
}

static pelt_result put_frame(sink *out, const float *positions, size_t vertex_count, pelt_error *error) {
    if (out->cache) return pelt_cache_writer_frame(out->cache, positions), PELT_OK;
    pelt_put_floats_little(out->plain, positions, 3 * vertex_count);
    return pelt_writer_flush(out->plain, error);
}

static pelt_result close_sink(sink *out, pelt_error *error) {
    return out->cache ? pelt_cache_writer_commit(out->cache, error) : pelt_writer_commit(out->plain, error);
}

static void drop_sink(sink *out) {
    if (out->cache)
        pelt_cache_writer_drop(out->cache);
    else
        pelt_writer_drop(out->plain);
}

typedef struct live {
    const cli_args *args;
    cli_deformer *by;
    pelt_pose_stream *stream;
    sink out;
    pelt_transform *locals;
    float *controls, *positions;
    double rate, begun, ended; /* times of the first pose and the last frame */
    latencies latencies;
    uint64_t skipped;
} live;

/* One pose; recorded ones are played at their time. */
static pelt_result play(live *l, double arrived, pelt_error *error) {
    if (!l->latencies.count) l->begun = pelt_wall_seconds();
    if (pelt_pose_stream_is_recorded(l->stream)) {
        arrived = l->begun + (double)l->latencies.count / l->rate;
        wait_until(arrived);
        if (stopping) return PELT_OK;
    }
    const void *pose = pelt_player_pose_of(l->by->player, l->locals, l->controls);
    pelt_result result = cli_deform(l->by, pose, l->positions, error);
    if (!result) result = put_frame(&l->out, l->positions, l->by->skin->vertex_count, error);
    l->ended = pelt_wall_seconds();
    if (!result) note_latency(&l->latencies, l->ended - arrived, 1 / l->rate);
    return result;
}

/* Until the stream ends. */
static pelt_result follow(live *l, pelt_error *error) {
    double arrived = 0;
    while (!stopping) {
        pelt_stream_event event = pelt_pose_stream_next(l->stream, l->locals, l->controls, &arrived, error);
        if (event == PELT_STREAM_FAILED) return error->code;
        if (event == PELT_STREAM_END) return PELT_OK;
        if (event == PELT_STREAM_BAD)
            cli_skip_line(&l->skipped, error->text);
        else if (play(l, arrived, error))
            return error->code;
    }
    return PELT_OK;
}

/* -- What was done --------------------------------------------------------------------------------------------------- */

static int report(const live *l) {
    const latencies *t = &l->latencies;
    double span = t->count > 1 ? l->ended - l->begun : 0, median = t->count ? 1e3 * median_latency(t) : 0;
    double a_second = span > 0 ? (double)(t->count - 1) / span : 0;
    if (!l->args->quiet && !l->args->json)
        fprintf(stderr,
                "live: %llu frames of %u vertices in %.2f s, %.1f per second; %llu late (more than %.1f ms); latency "
                "%.3f ms (median), %.3f ms (worst); %llu lines skipped\n",
                (unsigned long long)t->count, l->by->skin->vertex_count, span, a_second, (unsigned long long)t->late,
                1e3 / l->rate, median, 1e3 * t->worst, (unsigned long long)l->skipped);
    return cli_print_json(l->args, pelt_json_pack("{output:s, frames:z, vertices:u, seconds:f, frames_per_second:f, "
                                                  "late:z, latency_median_ms:f, latency_worst_ms:f, skipped:z}",
                                                  cli_value(l->args, "output"), t->count, l->by->skin->vertex_count,
                                                  span, a_second, t->late, median, 1e3 * t->worst, l->skipped));
}

static int run_live(live *l, const pelt_bundle *bundle, pelt_error *error) {
    const char *from = cli_value(l->args, "live");
    l->stream = pelt_pose_stream_open(from, bundle, &stopping, error);
    if (!l->stream || !open_sink(&l->out, cli_value(l->args, "output"), bundle, error)) return cli_error(error);
    pelt_result result = follow(l, error);
    if (result)
        drop_sink(&l->out);
    else
        result = close_sink(&l->out, error);
    if (result) cli_error(error);
    int code = result && l->args->json ? CLI_FAILED : report(l);
    return result ? CLI_FAILED : code;
}

int cli_eval_live(const cli_args *args, cli_deformer *by, const pelt_bundle *bundle) {
    pelt_error error = {0};
    struct sigaction before[3];
    live l = {.args = args, .by = by, .rate = 60};
    if (!cli_amount(args, "rate", &l.rate)) return CLI_MISUSE;
    if (l.rate < 0) return cli_misuse(args, "--rate: expected frames per second");
    pelt_arena *arena = pelt_arena_new(0);
    l.locals = PELT_NEW(arena, bundle->skeleton.joint_count, pelt_transform);
    l.controls = PELT_NEW(arena, bundle->controls.count + 1, float);
    l.positions = PELT_NEW(arena, 3 * (size_t)bundle->mesh.vertex_count, float);
    int code = CLI_FAILED;
    stopping = 0;
    catch_signals(before);
    if (pelt_arena_failed(arena))
        cli_fail("not enough memory for a frame");
    else
        code = run_live(&l, bundle, &error);
    give_signals_back(before);
    pelt_pose_stream_close(l.stream);
    pelt_arena_free(arena);
    return code;
}
