/* fuzz_sculpts.c: any text at all is a list of sculpts of a small character, or is refused with a sentence. */

#include "io/io.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static pelt_bundle *make_bundle(void) {
    static const pelt_transform rest[2] = {{{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}}, {{0, 0, 0, 1}, {0, 1, 0}, {1, 1, 1}}};
    pelt_character c = {.vertex_count = 3,
                        .triangle_count = 1,
                        .joint_count = 2,
                        .influences_per_vertex = 1,
                        .positions = (const float[]){0, 0, 0, 1, 0, 0, 0, 2, 0},
                        .triangles = (const uint32_t[]){0, 1, 2},
                        .joints = (const uint32_t[]){0, 0, 1},
                        .weights = (const float[]){1, 1, 1},
                        .joint_names = (const char *const[]){"a", "b"},
                        .parents = (const int32_t[]){-1, 0},
                        .rest = rest};
    pelt_bundle *bundle = pelt_bundle_new(&c, NULL);
    static const uint32_t vertices[] = {2};
    static const float deltas[] = {1, 0, 0};
    static pelt_target target = {"t", 1, vertices, deltas};
    if (!bundle) return NULL;
    bundle->mesh.targets = &target, bundle->mesh.target_count = 1;
    pelt_bundle_add_clip(bundle, &(pelt_clip_input){.name = "c", .frame_count = 1, .poses = rest}, NULL);
    return bundle;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pelt_bundle *bundle = make_bundle();
    char *text = malloc(size + 1);
    pelt_error error = {0};
    if (bundle && text) {
        memcpy(text, data, size);
        text[size] = 0;
        const pelt_clip *clip = pelt_sculpts_parse(bundle, text, "fuzz/none/sculpts.json", &error);
        if (!clip && !error.text[0]) abort();
        for (uint32_t i = 0; clip && i < 9 * clip->frame_count; i++)
            if (!isfinite(clip->positions[i])) abort();
    }
    free(text);
    pelt_bundle_free(bundle);
    return 0;
}
