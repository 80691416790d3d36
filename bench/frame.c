/* frame.c: whole frames. Poses change every time, as in a game; instruction sets alternate, so that any disturbance
   affects all. */

#include "bench/frame.h"
#include "rig/clock.h"
#include <math.h>

enum { POSES = 32, REPEATS = 4 };

typedef struct frame_work {
    pelt_skin skin;
    pelt_transform *locals; /* [POSES][joint] */
    void *scratch;
    float *positions, *normals;
    double *poses[PELT_ISA_COUNT], *deforms[PELT_ISA_COUNT]; /* [round] */
} frame_work;

/* Every joint rotates by up to half a radian from rest. */
static void make_poses(frame_work *w, uint32_t seed) {
    uint32_t state = seed + 1;
    for (uint32_t p = 0; p < POSES; p++)
        for (uint32_t j = 0; j < w->skin.joint_count; j++) {
            pelt_transform *local = &w->locals[(size_t)p * w->skin.joint_count + j];
            *local = w->skin.joints[j].rest;
            float *q = local->rotation, length = 0;
            for (int i = 0; i < 4; i++) q[i] += 0.15f * bench_noise(&state), length += q[i] * q[i];
            for (int i = 0; i < 4; i++) q[i] /= sqrtf(length);
        }
}

static void take_round(frame_work *w, pelt_isa isa, uint32_t round) {
    w->skin.isa = isa;
    double start = pelt_thread_seconds();
    for (uint32_t i = 0; i < REPEATS; i++)
        pelt_pose(&w->skin, w->locals + (size_t)((round * REPEATS + i) % POSES) * w->skin.joint_count, w->scratch);
    double posed = pelt_thread_seconds();
    for (uint32_t i = 0; i < REPEATS; i++)
        pelt_deform(&w->skin, w->scratch, pelt_all_blocks(&w->skin), w->positions, w->normals);
    w->poses[isa][round] = (posed - start) / REPEATS;
    w->deforms[isa][round] = (pelt_thread_seconds() - posed) / REPEATS;
}

size_t bench_frames(const pelt_skin *skin, uint32_t seed, uint32_t rounds, bench_frame *frames, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    frame_work w = {*skin, PELT_NEW(arena, (size_t)POSES * skin->joint_count, pelt_transform),
                    pelt_alloc(arena, pelt_scratch_size(skin), 1), pelt_alloc(arena, pelt_output_size(skin), 1),
                    pelt_alloc(arena, pelt_output_size(skin), 1)};
    size_t count = 0;
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++)
        w.poses[isa] = PELT_NEW(arena, rounds, double), w.deforms[isa] = PELT_NEW(arena, rounds, double);
    if (pelt_arena_failed(arena)) return pelt_arena_free(arena), pelt_no_memory(error), 0;
    make_poses(&w, seed);
    for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++)
        if (pelt_isa_works(isa)) take_round(&w, isa, 0); /* to warm up */
    for (uint32_t t = 0; t < rounds; t++)
        for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++)
            if (pelt_isa_works(isa)) take_round(&w, isa, t);
    for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++)
        if (pelt_isa_works(isa))
            frames[count++] = (bench_frame){pelt_isa_name(isa), bench_time_of(w.poses[isa], rounds),
                                            bench_time_of(w.deforms[isa], rounds)};
    pelt_arena_free(arena);
    return count;
}
