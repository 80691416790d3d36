/* table.c: the tables of Rhee, Lewis & Neumann 2006. Their character is a surface of 2,972, 11,574 or 46,036 vertices;
   ours is the humanoid at the same sizes. SSD and driven joints are fitted, correctives are synthetic
   (corrective.h). */

#include "bench/table.h"
#include "bench/devices.h"
#include "bench/skins.h"
#include "gpu/pack.h"
#include "rig/clock.h"
#include "samples/samples.h"
#include <string.h>

const char *const bench_table_devices[BENCH_TABLE_DEVICES] = {"gl", "cuda"};

/* Driven joints fitted to a few poses. */
static pelt_bytes *fit_joints(uint32_t vertices, uint32_t seed, pelt_error *error) {
    pelt_sample_options sample = {.name = "humanoid", .vertices = vertices, .frames = 12, .seed = seed};
    pelt_bundle *bundle = pelt_sample_make(&sample, error);
    if (!bundle) return NULL;
    const pelt_clip *clip = bundle->clips[0];
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1),
                                 &(pelt_fit_options){.method = PELT_METHOD_JOINTS, .influences = 4}, NULL, error);
    pelt_bundle_free(bundle);
    return bytes;
}

/* Seconds of pelt_pose, and of a whole frame with positions and normals. */
static pelt_result time_processor(const pelt_skin *skin, uint32_t rounds, double *pose, double *frame,
                                  pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_transform *locals = PELT_NEW(arena, skin->joint_count, pelt_transform);
    void *scratch = pelt_alloc(arena, pelt_scratch_size(skin), 1);
    float *positions = pelt_alloc(arena, pelt_output_size(skin), 1),
          *normals = pelt_alloc(arena, pelt_output_size(skin), 1);
    double *poses = PELT_NEW(arena, rounds, double), *frames = PELT_NEW(arena, rounds, double);
    if (pelt_arena_failed(arena)) return pelt_arena_free(arena), pelt_no_memory(error);
    for (uint32_t j = 0; j < skin->joint_count; j++) locals[j] = skin->joints[j].rest;
    for (uint32_t t = 0; t < rounds; t++) {
        double start = pelt_thread_seconds();
        pelt_pose(skin, locals, scratch);
        poses[t] = pelt_thread_seconds() - start;
        pelt_deform(skin, scratch, pelt_all_blocks(skin), positions, normals);
        frames[t] = pelt_thread_seconds() - start;
    }
    *pose = bench_time_of(poses, rounds).median, *frame = bench_time_of(frames, rounds).median;
    pelt_arena_free(arena);
    return PELT_OK;
}

/* A device that fails, or computes something else, counts as absent. */
static double time_device(const char *device, const pelt_skin *skin, uint32_t seed, uint32_t rounds) {
    bench_device_row row;
    pelt_error ignored;
    bench_crowd *crowd = bench_crowd_new(skin, 1, seed, &ignored);
    pelt_result result = crowd ? bench_device_frame(device, skin, crowd, rounds, &row, &ignored) : PELT_ERROR_MEMORY;
    bench_crowd_free(crowd);
    return result || !bench_device_agrees(&row) ? 0 : row.frame;
}

/* The name of the column's device, or NULL if not requested. */
static const char *device_of(int column, const char *wanted) {
    const char *name = bench_table_devices[column];
    if (!wanted || !strcmp(wanted, "all")) return name;
    return strncmp(wanted, name, strlen(name)) ? NULL : wanted;
}

static pelt_result fill_row(const char *method, const pelt_skin *skin, size_t file_bytes, uint32_t seed,
                            uint32_t rounds, const char *device, bench_table_row *row, pelt_error *error) {
    pelt_gpu_skin packed;
    double pose = 0;
    *row = (bench_table_row){.method = method, .file_bytes = file_bytes, .output_bytes = 2 * pelt_output_size(skin)};
    pelt_result result = time_processor(skin, rounds, &pose, &row->cpu_frame, error);
    if (result) return result;
    if (!pelt_gpu_pack(skin, &packed)) return pelt_no_memory(error);
    row->device_bytes = packed.word_count * sizeof *packed.words;
    row->pose_bytes = 16 * (size_t)packed.numbers.pose_stride;
    pelt_gpu_unpack(&packed);
    for (int d = 0; d < BENCH_TABLE_DEVICES; d++) {
        const char *name = device_of(d, device);
        double seconds = name ? time_device(name, skin, seed, rounds) : 0;
        row->device_frame[d] = seconds > 0 ? seconds + pose : 0;
    }
    return PELT_OK;
}

typedef struct table_method {
    const char *name;
    const pelt_skin *skin;
    const pelt_bytes *bytes;
} table_method;

static pelt_result fill_rows(const bench_skins *work, const pelt_bytes *joints, const bench_corrective *kernel,
                             uint32_t seed, uint32_t rounds, const char *device, bench_table_row *rows,
                             pelt_error *error) {
    const bench_corrective *made = work->correctives;
    pelt_skin driven;
    pelt_result result = pelt_open(joints->bytes, joints->size, &driven);
    if (result) return pelt_fail(error, result, "the skin with driven joints: %s", pelt_result_text(result));
    const table_method methods[BENCH_TABLE_METHODS] = {
        {"ssd", &work->skin, work->bytes},         {"psd-8", &made[1].skin, made[1].bytes},
        {"wpsd-8", &made[2].skin, made[2].bytes},  {"joints", &driven, joints},
        {"eigen-5", &made[0].skin, made[0].bytes}, {"kernel-5", &kernel->skin, kernel->bytes}};
    for (int m = 0; m < BENCH_TABLE_METHODS && !result; m++)
        result =
            fill_row(methods[m].name, methods[m].skin, methods[m].bytes->size, seed, rounds, device, &rows[m], error);
    return result;
}

pelt_result bench_table(uint32_t vertices, uint32_t seed, uint32_t rounds, const char *device, bench_table_row *rows,
                        pelt_error *error) {
    bench_skins *work = bench_skins_new(vertices, seed, error);
    if (!work) return error->code;
    bench_corrective kernel = {0};
    pelt_bytes *joints = fit_joints(vertices, seed, error);
    pelt_result result = joints ? bench_kernel_make(work->bundle, work->locals, &kernel, error) : error->code;
    if (!result) result = fill_rows(work, joints, &kernel, seed, rounds, device, rows, error);
    pelt_bytes_free(kernel.bytes), pelt_arena_free(kernel.arena);
    pelt_bytes_free(joints);
    bench_skins_free(work);
    return result;
}
