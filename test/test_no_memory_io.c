/* test_no_memory_io.c: when memory runs out anywhere in reading, writing, making, measuring or drawing characters, the
   call fails with a message, or its result is identical. */

#include "io/io.h"
#include "io/kept.h"
#include "report/report.h"
#include "test/allocations.h"
#include "test/sampled.h"
#include <jansson.h>
#include <limits.h>

/* A call with ever more memory. It returns a number that identifies its result, and 0 with an error when it fails. */
typedef uint64_t call(pelt_bundle *bundle, pelt_error *error);

static void with_ever_more_memory(call *what, pelt_bundle *bundle) {
    pelt_error error = {0};
    uint64_t whole = what(bundle, &error);
    if (!whole) fail_msg("%s", error.text);
    long failures = 0;
    for (int once = 0; once < 2; once++)
        for (long allowed = 0, short_of = 1; short_of; allowed++) {
            error = (pelt_error){0};
            allocations_begin(allowed, once);
            uint64_t result = what(bundle, &error);
            short_of = allocations_end();
            if (!result) {
                if (error.code != PELT_ERROR_MEMORY) fail_msg("without allocation %ld: %s", allowed, error.text);
                assert_true(strlen(error.text) > 10);
                failures++;
            } else if (result != whole) {
                fail_msg("without allocation %ld the result is another", allowed);
            }
        }
    assert_true(failures > 0);
}

static uint64_t hash(uint64_t h, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h | 1;
}

static uint64_t hash_bundle(const pelt_bundle *b) {
    const pelt_mesh *mesh = &b->mesh;
    uint64_t h = hash(1, mesh->positions, 12 * (size_t)mesh->vertex_count);
    h = hash(h, mesh->normals, 12 * (size_t)mesh->vertex_count);
    h = hash(h, mesh->influences.weights, 4 * (size_t)mesh->influences.first[mesh->vertex_count]);
    h = hash(h, b->skeleton.inverse_bind, b->skeleton.joint_count * sizeof *b->skeleton.inverse_bind);
    for (uint32_t c = 0; c < b->clip_count; c++) {
        const pelt_clip *clip = b->clips[c];
        h = hash(h, clip->name, strlen(clip->name));
        if (clip->positions) h = hash(h, clip->positions, 12 * (size_t)mesh->vertex_count * clip->frame_count);
        if (clip->controls) h = hash(h, clip->controls, 4 * (size_t)b->controls.count * clip->frame_count);
    }
    return hash(h, &b->clip_count, sizeof b->clip_count);
}

static const char *path_of(const char *name) {
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

/* -- Calls ---------------------------------------------------------------------------------------------------------- */

static uint64_t make_sample(pelt_bundle *bundle, pelt_error *error) {
    (void)bundle;
    pelt_bundle *b = pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 200, .frames = 3}, error);
    uint64_t h = b ? hash_bundle(b) : 0;
    pelt_bundle_free(b);
    return h;
}

static uint64_t build(pelt_bundle *from, pelt_error *error) {
    const pelt_mesh *mesh = &from->mesh;
    pelt_transform poses[3][8];
    for (uint32_t f = 0; f < 3; f++) {
        assert_true(from->skeleton.joint_count <= 8);
        pelt_clip_pose(from->clips[0], &from->skeleton, f, &poses[0][0] + f * from->skeleton.joint_count);
    }
    pelt_character character = {.vertex_count = mesh->vertex_count,
                                .triangle_count = mesh->triangle_count,
                                .joint_count = from->skeleton.joint_count,
                                .control_count = 1,
                                .positions = mesh->positions,
                                .triangles = mesh->triangles,
                                .parents = from->skeleton.parents,
                                .rest = from->skeleton.rest,
                                .control_names = (const char *const[]){"tension"}};
    pelt_bundle *b = pelt_bundle_new(&character, error);
    pelt_clip_input input = {"train", 3, &poses[0][0], from->clips[0]->positions, from->clips[0]->controls};
    uint64_t h = b && pelt_bundle_add_clip(b, &input, error) ? hash_bundle(b) : 0;
    pelt_bundle_free(b);
    return h;
}

/* Hashes an existing file, with enough memory. */
static uint64_t hash_file(const char *path, pelt_error *error) {
    long allowed = allocations_left;
    allocations_left = -1;
    uint64_t h = 0;
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_file file;
    if (pelt_file_read(arena, path, &file, error) == PELT_OK) h = hash(1, file.bytes, file.size);
    pelt_arena_free(arena);
    allocations_left = allowed;
    return h;
}

/* The writer's JSON is memory too; the reader's fails as broken text. */
static uint64_t write_gltf(pelt_bundle *bundle, pelt_error *error) {
    const char *path = path_of("written.glb");
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &bundle->skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    unlink(path);
    json_set_alloc_funcs(__wrap_malloc, free);
    pelt_result result = pelt_gltf_write(path, &content, error);
    json_set_alloc_funcs(__real_malloc, free);
    return result ? (assert_int_equal(access(path, F_OK), -1), 0) : hash_file(path, error);
}

/* JSON that is made after so much of it was read. */
static long json_of_reader, json_so_far;
static void *late_malloc(size_t size) {
    return json_so_far++ < json_of_reader ? __real_malloc(size) : __wrap_malloc(size);
}

/* The same for a file that is rewritten with other positions and a skin inside. */
static uint64_t rewrite_gltf(pelt_bundle *bundle, pelt_error *error) {
    char source[300];
    pelt_mesh mesh = bundle->mesh;
    float positions[600];
    pelt_bytes inside = {"skin", 4};
    snprintf(source, sizeof source, "%s", path_of("biceps.glb"));
    const char *path = path_of("written.glb");
    memcpy(positions, mesh.positions, sizeof positions);
    positions[0] += 1, mesh.positions = positions, mesh.target_count = 0;
    pelt_gltf_content content = {.mesh = &mesh,
                                 .skeleton = &bundle->skeleton,
                                 .clips = bundle->clips,
                                 .clip_count = bundle->clip_count,
                                 .source = source,
                                 .embed = &inside,
                                 .embed_joints = bundle->skeleton.joint_count};
    unlink(path);
    json_set_alloc_funcs(late_malloc, free);
    if (!json_of_reader) {
        json_of_reader = LONG_MAX;
        pelt_bundle_free(pelt_bundle_read(source, error));
        json_of_reader = json_so_far;
    }
    json_so_far = 0;
    pelt_result result = pelt_gltf_write(path, &content, error);
    json_set_alloc_funcs(__real_malloc, free);
    return result ? (assert_int_equal(access(path, F_OK), -1), 0) : hash_file(path, error);
}

static uint64_t read_all(pelt_bundle *bundle, pelt_error *error) {
    (void)bundle;
    pelt_bundle *b = pelt_bundle_read(path_of("biceps.glb"), error);
    uint64_t h = b && pelt_bundle_clip(b, "train", PELT_NEED_POSITIONS, error) ? hash_bundle(b) : 0;
    pelt_bundle_free(b);
    return h;
}

static uint64_t diagnose(pelt_bundle *bundle, pelt_error *error) {
    pelt_findings findings = pelt_diagnose(bundle, bundle->clips, bundle->clip_count);
    uint64_t h = hash(1, &findings.count, sizeof findings.count);
    for (size_t i = 0; i < findings.count; i++) {
        if (!strcmp(findings.list[i].what, "memory")) return pelt_no_memory(error), 0;
        h = hash(h, findings.list[i].text, strlen(findings.list[i].text));
    }
    return h;
}

static pelt_skin skin; /* of the bundle, by distance */

static uint64_t measure(pelt_bundle *bundle, pelt_error *error) {
    pelt_example list[2] = {{bundle->clips[0], 0}, {bundle->clips[0], 2}};
    pelt_measure *m = pelt_measure_examples(&skin, bundle, (pelt_examples){2, list}, 1, error);
    uint64_t h = m ? hash(hash(1, &m->rms, sizeof m->rms), m->vertex_rms, 4 * (size_t)m->vertex_count) : 0;
    pelt_measure_free(m);
    return h;
}

static uint64_t draw(pelt_bundle *bundle, pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    pelt_view view = pelt_view_fit(mesh->positions, mesh->vertex_count, 30, 10);
    const float *shape = mesh->normals; /* any positions but those at rest, so that their normals are computed */
    pelt_image *image = pelt_image_new(40, 30);
    pelt_result result =
        image ? pelt_draw_mesh(image, &view, mesh, &(pelt_look){.positions = shape}) : PELT_ERROR_MEMORY;
    uint64_t h = result ? 0 : hash(1, image->rgba, 4 * 40 * 30);
    if (result == PELT_ERROR_MEMORY) pelt_no_memory(error);
    pelt_image_free(image);
    return h;
}

static uint64_t keep(pelt_bundle *bundle, pelt_error *error) {
    const char *path = path_of("written.examples");
    pelt_example list[2] = {{bundle->clips[0], 0}, {bundle->clips[0], 2}};
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_kept kept;
    unlink(path);
    if (!arena) return pelt_no_memory(error), 0;
    pelt_result result = pelt_kept_begin(arena, bundle, &kept, error);
    if (!result) result = pelt_kept_add(arena, bundle, (pelt_examples){2, list}, 1, &kept, error);
    if (!result) result = pelt_kept_write(path, bundle, &kept, error);
    return result ? (assert_int_equal(access(path, F_OK), -1), 0) : hash_file(path, error);
}

static bool rename_written(const char *name) {
    char from[300];
    snprintf(from, sizeof from, "%s", path_of("written.examples"));
    return !rename(from, path_of(name));
}

static uint64_t read_kept(pelt_bundle *unused, pelt_error *error) {
    (void)unused;
    const pelt_clip *clips[1];
    pelt_kept kept;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    if (!arena) return pelt_no_memory(error), 0;
    pelt_bundle *b = pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 200, .frames = 3}, error);
    pelt_result result = b ? pelt_kept_read(arena, path_of("kept.examples"), b, &kept, error) : PELT_ERROR_MEMORY;
    if (!result) result = pelt_kept_clips(&kept, b, 1, clips, error);
    uint64_t h = result ? 0 : hash_bundle(b);
    pelt_bundle_free(b);
    return h;
}

static void everything_fails_or_gives_the_same(void **state) {
    (void)state;
    pelt_error error = {0};
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 200, .frames = 3}, &error);
    assert_non_null(bundle);
    pelt_gltf_content content = {
        .mesh = &bundle->mesh, .skeleton = &bundle->skeleton, .clips = bundle->clips, .clip_count = bundle->clip_count};
    assert_int_equal(pelt_gltf_write(path_of("biceps.glb"), &content, &error), PELT_OK);
    pelt_cache_writer *writer = pelt_cache_writer_open(path_of("biceps.train.mdd"), 3, &bundle->mesh, 30, &error);
    assert_non_null(writer);
    for (int f = 0; f < 3; f++) pelt_cache_writer_frame(writer, bundle->clips[0]->positions + 600 * f);
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
    pelt_table table = {3, 1, bundle->controls.names, (float *)bundle->clips[0]->controls, 0};
    assert_int_equal(pelt_table_write(path_of("biceps.train.csv"), &table, &error), PELT_OK);
    pelt_examples train = all_of(bundle, "train");
    pelt_bytes *bytes = pelt_fit(
        bundle, train, &(pelt_fit_options){.method = PELT_METHOD_SSD, .blend = PELT_BLEND_DISTANCE}, NULL, &error);
    assert_non_null(bytes);
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    assert_true(keep(bundle, &error) && rename_written("kept.examples"));
    call *const calls[] = {make_sample, build,   write_gltf, rewrite_gltf, read_all,
                           diagnose,    measure, draw,       keep,         read_kept};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) with_ever_more_memory(calls[i], bundle);
    pelt_bytes_free(bytes), pelt_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_fails_or_gives_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
