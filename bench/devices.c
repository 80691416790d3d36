/* devices.c: how fast skins run on graphics devices, compared with writing and copying the same bytes there. */

#include "bench/devices.h"
#include "gpu/device.h"
#include "gpu/pack.h"
#include "rig/clock.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct bench_crowd {
    pelt_arena *arena;
    uint32_t characters;
    void **scratches;
};

/* q times a rotation of up to about half a radian. */
static void disturb(uint32_t *state, float q[4]) {
    float x = 0.25f * bench_noise(state), y = 0.25f * bench_noise(state), z = 0.25f * bench_noise(state), w = 1;
    float p[4] = {q[3] * x + q[0] * w + q[1] * z - q[2] * y, q[3] * y - q[0] * z + q[1] * w + q[2] * x,
                  q[3] * z + q[0] * y - q[1] * x + q[2] * w, q[3] * w - q[0] * x - q[1] * y - q[2] * z};
    memcpy(q, p, sizeof p);
}

bench_crowd *bench_crowd_new(const pelt_skin *skin, uint32_t characters, uint32_t seed, pelt_error *error) {
    if (pelt_check_range("characters", characters, 1, 1000000, error)) return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    bench_crowd *crowd = PELT_NEW(arena, 1, bench_crowd);
    void **scratches = PELT_NEW(arena, characters, void *);
    pelt_transform *locals = PELT_NEW(arena, skin->joint_count, pelt_transform);
    uint32_t state = seed + 1;
    for (uint32_t c = 0; c < characters && !pelt_arena_failed(arena); c++) {
        scratches[c] = pelt_alloc(arena, pelt_scratch_size(skin), 1);
        if (!scratches[c]) break;
        for (uint32_t j = 0; j < skin->joint_count; j++)
            locals[j] = skin->joints[j].rest, disturb(&state, locals[j].rotation);
        pelt_pose(skin, locals, scratches[c]);
    }
    if (pelt_arena_failed(arena)) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    *crowd = (bench_crowd){arena, characters, scratches};
    return crowd;
}

void bench_crowd_free(bench_crowd *crowd) {
    if (crowd) pelt_arena_free(crowd->arena);
}

/* -- Correctness --------------------------------------------------------------------------------------------------- */

static double diagonal_of(const pelt_skin *skin) {
    const pelt_gpu_box box = pelt_gpu_rest_box(skin);
    double square = 0;
    for (int i = 0; i < 3; i++) square += pow((double)box.high[i] - box.low[i], 2);
    return square > 0 ? sqrt(square) : 1;
}

/* Infinite if any value is NaN. */
static double largest_difference(const pelt_skin *skin, const float *a, const float *b) {
    double worst = 0;
    for (uint32_t v = 0; v < skin->vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            size_t at = 3 * (size_t)skin->vertex_slots[v] + i;
            double d = fabs((double)a[at] - b[at]);
            worst = d <= worst ? worst : isfinite(d) ? d : INFINITY;
        }
    return worst;
}

typedef struct contest {
    pelt_device *device;
    const pelt_skin *skin;
    const bench_crowd *crowd;
    float *own[2], *theirs[2]; /* positions and normals of one character */
    double diagonal;
    double *rounds; /* seconds */
    uint32_t round_count;
} contest;

/* The first, the middle and the last character. */
static pelt_result compare(const contest *c, bench_device_row *row, pelt_error *error) {
    pelt_result result = pelt_device_run(c->device, row->characters, row->normals, error);
    for (uint32_t k = 0; k < 3 && !result; k++) {
        uint32_t which = (uint32_t)((uint64_t)(row->characters - 1) * k / 2);
        result = pelt_device_read(c->device, which, c->theirs[0], row->normals ? c->theirs[1] : NULL, error);
        pelt_deform(c->skin, c->crowd->scratches[which], pelt_all_blocks(c->skin), c->own[0], c->own[1]);
        row->gap = fmax(row->gap, largest_difference(c->skin, c->own[0], c->theirs[0]) / c->diagonal);
        /* How far a rounding of positions turns normals of the surface is up to the surface: so it is the device's. */
        pelt_output theirs = {.positions.data = c->theirs[0], .normals.data = c->own[1]};
        if (row->normals) pelt_shade(c->skin, c->crowd->scratches[which], pelt_all_blocks(c->skin), &theirs);
        if (row->normals) row->normal_gap = fmax(row->normal_gap, largest_difference(c->skin, c->own[1], c->theirs[1]));
    }
    return result;
}

/* -- Timing -------------------------------------------------------------------------------------------------------- */

static pelt_result time_work(const contest *c, pelt_device_work work, const bench_device_row *row, bench_time *out,
                             pelt_error *error) {
    pelt_result result =
        pelt_device_time(c->device, work, row->characters, row->normals, c->round_count, c->rounds, error);
    if (!result) *out = bench_time_of(c->rounds, c->round_count);
    return result;
}

/* A frame as in a game: upload poses, compute, wait. As many as requested, or as fit in a second. */
static pelt_result time_frames(const contest *c, bench_device_row *row, pelt_error *error) {
    pelt_result result = PELT_OK;
    uint32_t done = 0;
    for (double begin = pelt_wall_seconds(); done < c->round_count && !result; done++) {
        double start = pelt_wall_seconds();
        if (done >= 3 && start - begin > 1) break;
        result = pelt_device_upload(c->device, 0, row->characters, (const void *const *)c->crowd->scratches, error);
        if (!result) result = pelt_device_run(c->device, row->characters, row->normals, error);
        if (!result) result = pelt_device_wait(c->device, error);
        c->rounds[done] = pelt_wall_seconds() - start;
    }
    if (!result) row->frame = bench_time_of(c->rounds, done).median;
    return result;
}

static pelt_result run_row(const contest *c, bench_device_row *row, pelt_error *error) {
    row->bytes = (double)row->characters * (double)pelt_output_size(c->skin) * (row->normals ? 2 : 1);
    pelt_result result = time_work(c, PELT_WORK_SKIN, row, &row->skin, error);
    if (!result) result = time_work(c, PELT_WORK_FILL, row, &row->fill, error);
    if (!result) result = time_work(c, PELT_WORK_COPY, row, &row->copy, error);
    if (!result) result = time_frames(c, row, error);
    return result ? result : compare(c, row, error);
}

static pelt_result begin(contest *c, const char *device, pelt_arena *arena, pelt_error *error) {
    size_t size = pelt_output_size(c->skin);
    for (int i = 0; i < 2; i++) c->own[i] = pelt_alloc(arena, size, 1), c->theirs[i] = pelt_alloc(arena, size, 1);
    c->rounds = PELT_NEW(arena, c->round_count, double);
    c->diagonal = diagonal_of(c->skin);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    c->device = pelt_device_new(device, c->skin, c->crowd->characters, error);
    if (!c->device) return error->code;
    return pelt_device_upload(c->device, 0, c->crowd->characters, (const void *const *)c->crowd->scratches, error);
}

pelt_result bench_device(const char *device, const pelt_skin *skin, const bench_crowd *crowd, const uint32_t *sizes,
                         size_t count, uint32_t rounds, bench_device_row *rows, char title[200], pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    contest c = {.skin = skin, .crowd = crowd, .round_count = rounds};
    pelt_result result = begin(&c, device, arena, error);
    if (!result) snprintf(title, 200, "%s", pelt_device_title(c.device));
    for (size_t i = 0; i < 2 * count && !result; i++) {
        rows[i] = (bench_device_row){.characters = sizes[i / 2], .normals = i % 2};
        result = run_row(&c, &rows[i], error);
    }
    pelt_device_free(c.device);
    pelt_arena_free(arena);
    return result;
}

pelt_result bench_device_frame(const char *device, const pelt_skin *skin, const bench_crowd *crowd, uint32_t rounds,
                               bench_device_row *row, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    contest c = {.skin = skin, .crowd = crowd, .round_count = rounds};
    *row = (bench_device_row){.characters = crowd->characters, .normals = true};
    pelt_result result = begin(&c, device, arena, error);
    if (!result) result = compare(&c, row, error); /* also allocates what frames need */
    if (!result) result = time_frames(&c, row, error);
    pelt_device_free(c.device);
    pelt_arena_free(arena);
    return result;
}
