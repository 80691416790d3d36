/* make_seeds.c: files of every kind that pelt writes, small, as seeds for the fuzzers: FOLDER/NAME/... for fuzz_NAME.
   Each must open, or the program fails, so that fuzzing never starts from files that are rejected at the first byte. */

#include "io/io.h"
#include "io/journal.h"
#include "io/kept.h"
#include "io/pfm.h"
#ifdef PELT_WITH_LIGHT
#include "light/facts.h"
#endif
#include "rig/ranks.h"
#include "samples/samples.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;
static int made;

static char *path_of(const char *target, const char *name) {
    static char path[4000];
    pelt_error error;
    snprintf(path, sizeof path, "%s/%s", folder, target);
    if (pelt_folder_make(path, &error)) exit((fprintf(stderr, "%s\n", error.text), 1));
    snprintf(path, sizeof path, "%s/%s/%s", folder, target, name);
    made++;
    return path;
}

static void need(bool good, const char *what, const pelt_error *error) {
    if (good) return;
    fprintf(stderr, "make_seeds: %s: %s\n", what, error->text);
    exit(1);
}

static void put(const char *path, const void *head, size_t head_size, const void *bytes, size_t size) {
    pelt_error error;
    pelt_writer *writer = pelt_writer_open(path, &error);
    need(writer != NULL, path, &error);
    pelt_writer_put(writer, head, head_size);
    pelt_writer_put(writer, bytes, size);
    need(pelt_writer_commit(writer, &error) == PELT_OK, path, &error);
}

/* -- Skins --------------------------------------------------------------------------------------------------------- */

static void make_skin(const char *name, pelt_bundle *bundle, pelt_fit_options options) {
    pelt_error error = {0};
    char file[100];
    pelt_skin skin;
    const pelt_clip *clip = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    need(clip != NULL, name, &error);
    options.threads = 1;
    pelt_fit_report report = {0};
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1), &options,
                                 options.holdout > 0 ? &report : NULL, &error);
    need(bytes != NULL, name, &error);
    pelt_fit_report_free(&report);
    snprintf(file, sizeof file, "%s.pelt", name);
    put(path_of("skin", file), bytes->bytes, bytes->size, NULL, 0);
    put(path_of("offline", file), bytes->bytes, bytes->size, NULL, 0);
    pelt_bytes *read = pelt_skin_read(path_of("skin", file), &skin, &error);
    need(read != NULL, name, &error);
    pelt_bytes_free(read), pelt_bytes_free(bytes);
}

static void make_skins(void) {
    pelt_error error = {0};
    pelt_bundle *arm = pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 100, .frames = 8}, &error);
    pelt_bundle *biceps =
        pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 100, .frames = 8}, &error);
    pelt_bundle *elbow =
        pelt_sample_make(&(pelt_sample_options){.name = "elbow", .vertices = 100, .frames = 12}, &error);
    need(arm && biceps && elbow, "samples", &error);
    make_skin("eigen", elbow, (pelt_fit_options){.method = PELT_METHOD_EIGEN});
    make_skin("ssd", arm, (pelt_fit_options){.method = PELT_METHOD_SSD});
    make_skin("confidence", arm, (pelt_fit_options){.method = PELT_METHOD_SSD, .holdout = 0.5});
    make_skin("confidence_controls", biceps, (pelt_fit_options){.method = PELT_METHOD_PSD, .holdout = 0.5});
    make_skin("distance", arm, (pelt_fit_options){.blend = PELT_BLEND_DISTANCE});
    make_skin("fit", arm, (pelt_fit_options){.blend = PELT_BLEND_FIT});
    make_skin("joints", arm, (pelt_fit_options){.method = PELT_METHOD_JOINTS});
    make_skin("psd", arm, (pelt_fit_options){.method = PELT_METHOD_PSD});
    make_skin("psd_floats", arm, (pelt_fit_options){.method = PELT_METHOD_PSD, .displacement.displacements = 32});
    make_skin("wpsd", arm, (pelt_fit_options){.method = PELT_METHOD_WPSD});
    make_skin("wpsd_floats", arm, (pelt_fit_options){.method = PELT_METHOD_WPSD, .displacement.displacements = 32});
    make_skin("kernel", arm, (pelt_fit_options){.method = PELT_METHOD_KERNEL});
    make_skin("kernel_controls", biceps, (pelt_fit_options){.method = PELT_METHOD_KERNEL});
    pelt_kernel_options features = {.per_vertex = 2, .family = PELT_FAMILY_FEATURES};
    make_skin("arc", arm, (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_ARC});
    make_skin("arc_controls", biceps,
              (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_ARC});
    make_skin("features", arm, (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel = features});
    make_skin("features_controls", biceps,
              (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel = features, .displacement.displacements = 32});
    make_skin("psd_controls", biceps, (pelt_fit_options){.method = PELT_METHOD_PSD});
    pelt_gltf_content content = {
        .mesh = &arm->mesh, .skeleton = &arm->skeleton, .clips = arm->clips, .clip_count = arm->clip_count};
    need(!pelt_gltf_write(path_of("gltf", "arm.glb"), &content, &error), "arm.glb", &error);
    pelt_bundle *again = pelt_bundle_read(path_of("gltf", "arm.glb"), &error);
    need(again != NULL, "arm.glb", &error);
    pelt_bundle_free(again);
    content = (pelt_gltf_content){.mesh = &arm->mesh};
    need(!pelt_gltf_write(path_of("gltf", "mesh.glb"), &content, &error), "mesh.glb", &error);
    again = pelt_bundle_read(path_of("gltf", "mesh.glb"), &error);
    need(again != NULL, "mesh.glb", &error);
    pelt_bundle_free(again), pelt_bundle_free(arm), pelt_bundle_free(biceps), pelt_bundle_free(elbow);
}

/* -- Caches, tables, pictures, logs -------------------------------------------------------------------------------- */

static void make_caches(void) {
    static const char *const names[] = {"pc2", "mdd", "npy"};
    static const uint8_t kinds[] = {1, 2, 0};
    pelt_error error = {0};
    float positions[30];
    for (int i = 0; i < 30; i++) positions[i] = (float)i / 7;
    for (int i = 0; i < 3; i++) {
        char file[20];
        snprintf(file, sizeof file, "small.%s", names[i]);
        char *path = path_of(names[i], file);
        pelt_cache_writer *writer = pelt_cache_writer_open(path, 3, &(pelt_mesh){.vertex_count = 10}, 24, &error);
        need(writer != NULL, path, &error);
        for (int f = 0; f < 3; f++) pelt_cache_writer_frame(writer, positions);
        need(!pelt_cache_writer_commit(writer, &error), path, &error);
        pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
        pelt_cache cache;
        pelt_file bytes;
        need(!pelt_cache_read(arena, path, &cache, &error), path, &error);
        need(!pelt_file_read(arena, path, &bytes, &error), path, &error);
        put(path_of("stream", file), &kinds[i], 1, bytes.bytes, bytes.size);
        pelt_arena_free(arena);
    }
    pelt_table table = {3, 2, (const char *[]){"jaw", "shot"}, (float[]){0, 1, 0.5f, 1, 1, 2}, 0};
    need(!pelt_table_write(path_of("table", "small.csv"), &table, &error), "small.csv", &error);
    need(!pelt_pfm_write(path_of("pfm", "small.pfm"), &(pelt_picture){3, 3, positions}, &error), "small.pfm", &error);
    char *path = path_of("misslog", "small.misses");
    remove(path);
    pelt_misslog *log = pelt_misslog_open(path, &error);
    need(log != NULL, path, &error);
    for (int i = 0; i < 3; i++)
        need(!pelt_misslog_put(log, &(pelt_miss){2, 10, 3, 0.5f, positions + i, positions}, &error), path, &error);
    need(!pelt_misslog_close(log, &error), path, &error);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_misses misses;
    pelt_picture picture;
    need(!pelt_misslog_read(arena, path, &misses, &error) && misses.count == 3, path, &error);
    need(!pelt_table_read(arena, path_of("table", "small.csv"), &table, &error), "small.csv", &error);
    need(!pelt_pfm_read(arena, path_of("pfm", "small.pfm"), &picture, &error), "small.pfm", &error);
    pelt_arena_free(arena);
    put(path_of("obj", "small.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", 32, NULL, 0);
}

/* -- Key points, engines, side files ------------------------------------------------------------------------------- */

static pelt_result read_waves(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    (void)user, (void)error;
    for (uint32_t f = 0; f < count; f++)
        for (uint32_t i = 0; i < 60; i++) values[60 * f + i] = (float)((first + f) * (i + 3) % 17) / 17;
    return PELT_OK;
}

/* Facts of a box that was never gathered. */
static pelt_result describe(void *user, const pelt_keys *keys, pelt_keys_words *words, pelt_error *error) {
    (void)user, (void)keys;
#ifdef PELT_WITH_LIGHT
    pelt_relight_facts facts = {.width = 5, .height = 4, .bounces = 2, .samples = 32, .trust = 1, .grid = {2, 2}};
    facts.arrangement = (pelt_light_arrangement){
        .move_count = 1, .moves = {{.name = "short", .count = 2}}, .surfaces = true, .seen = "AB"};
    memcpy(facts.scene, "cornell", 8);
    return pelt_relight_describe(&facts, words, error);
#else
    (void)words, (void)error;
    return PELT_OK;
#endif
}

static void make_keys(void) {
    static const pelt_keys_options options[] = {
        {.keys = 6}, {.keys = 6, .exact = true}, {.keys = 6, .shared = true, .uncentred = true, .describe = describe}};
    static const char *const names[] = {"plain.keys", "exact.keys", "light.keys"};
    for (int i = 0; i < 3; i++) {
        pelt_frames frames = {
            .frame_count = 30, .point_count = 20, .component_count = 3, .read = read_waves, .name = "waves"};
        pelt_error error = {0};
        pelt_keys keys;
        pelt_keys_report report;
        float controls[30];
        for (int f = 0; f < 30; f++) controls[f] = (float)(f % 7) / 7;
        if (options[i].exact) frames.controls = controls, frames.control_count = 1;
        pelt_bytes *bytes = pelt_keys_train(&frames, &options[i], &report, &error);
        need(bytes != NULL, names[i], &error);
        put(path_of("keys", names[i]), bytes->bytes, bytes->size, NULL, 0);
        pelt_bytes *read = pelt_keys_read(path_of("keys", names[i]), &keys, &error);
        need(read != NULL && (keys.control_count == 1) == options[i].exact, names[i], &error);
        pelt_bytes_free(read), pelt_bytes_free(bytes);
    }
}

static void make_words(void) {
    static const char hello[] = "pelt-engine 1 4 3 2\n";
    uint32_t answer[2 + 12] = {0x534e4150, 4};
    static const char complaint[] = "PERR\x0a\0\0\0no licence";
    put(path_of("engine", "answer"), hello, strlen(hello), answer, sizeof answer);
    put(path_of("engine", "complaint"), complaint, sizeof complaint - 1, NULL, 0);
    float triangle[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    uint8_t side[1 + 36 + 6] = {0};
    memcpy(side + 1, triangle, 36), side[1 + 38] = 1, side[1 + 40] = 2;
    put(path_of("side", "triangle"), side, sizeof side, NULL, 0);
}

/* -- Kept examples, checkpoints ------------------------------------------------------------------------------------ */

static void make_kept(void) {
    pelt_error error = {0};
    pelt_bundle *biceps =
        pelt_sample_make(&(pelt_sample_options){.name = "biceps", .vertices = 100, .frames = 4}, &error);
    need(biceps != NULL, "biceps", &error);
    pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pelt_kept kept, read;
    char *path = path_of("kept", "biceps.examples");
    need(!pelt_kept_begin(arena, biceps, &kept, &error), path, &error);
    need(!pelt_kept_add(arena, biceps, pelt_bundle_examples(biceps, biceps->clips, 2), 1, &kept, &error), path, &error);
    need(!pelt_kept_write(path, biceps, &kept, &error), path, &error);
    need(!pelt_kept_read(arena, path, biceps, &read, &error) && read.clip_count == 2, path, &error);
    pelt_arena_free(arena), pelt_bundle_free(biceps);
}

/* As fuzz_journal keeps them. */
static void make_checkpoint(void) {
    pelt_error error = {0};
    pelt_arena *arena = pelt_arena_new(0);
    char *path = path_of("journal", "figures.checkpoint"), figure[24];
    remove(path);
    pelt_journal_file *file = pelt_journal_open(arena, path, &error);
    need(file != NULL, path, &error);
    for (int i = 0; i < 4; i++) {
        memset(figure, 'a' + i, sizeof figure);
        pelt_rank_first(figure, sizeof figure);
    }
    pelt_journal_close(file), pelt_arena_free(arena);
}

int main(int count, char **words) {
    pelt_error error;
    folder = count == 2 ? words[1] : NULL;
    if (!folder) return fprintf(stderr, "usage: make_seeds FOLDER\n"), 2;
    if (pelt_folder_make(folder, &error)) return fprintf(stderr, "%s\n", error.text), 1;
    make_skins();
    make_caches();
    make_keys();
    make_words();
    make_kept();
    make_checkpoint();
    printf("%d seeds\n", made);
    return 0;
}
