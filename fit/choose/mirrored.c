/* mirrored.c: mirror images of the examples, to be tried and kept where they help.

   What is true of one side of a character is often true of the other, and then every example counts twice; but few
   characters are as symmetric as their rest pose, and then a skin learns the wrong thing. Only trying tells. */

#include "fit/choose/choose.h"
#include <string.h>

pelt_result pelt_mirror_open(pelt_mirror *mirror, pelt_bundle *bundle, pelt_examples examples, pelt_error *error) {
    *mirror = (pelt_mirror){.axis = -1, .arena = pelt_arena_new(0)};
    if (!mirror->arena) return pelt_no_memory(error);
    for (size_t e = 0; e < examples.count; e++)
        if (pelt_is_image(examples.list[e].clip, NULL)) return PELT_OK;
    pelt_result result = pelt_bundle_symmetry(bundle, &mirror->axis, error);
    if (result || mirror->axis < 0) return result;
    mirror->bundle = *bundle; /* the caller's does not change unless images are kept */
    mirror->bundle.arena = mirror->arena;
    return pelt_add_images(&mirror->bundle, mirror->axis, mirror->arena, examples, &mirror->both, error);
}

void pelt_mirror_close(pelt_mirror *mirror) {
    pelt_arena_free(mirror->arena);
    mirror->arena = NULL;
}

/* The bundle may have it from before. */
static const pelt_clip *image_of(pelt_bundle *bundle, const pelt_clip *clip, int axis, pelt_error *error) {
    for (uint32_t i = 0; i < bundle->clip_count; i++)
        if (pelt_is_image(bundle->clips[i], clip) && bundle->clips[i]->frame_count == clip->frame_count)
            return bundle->clips[i];
    return pelt_bundle_mirror(bundle, clip, axis, error);
}

pelt_result pelt_add_images(pelt_bundle *bundle, int axis, pelt_arena *arena, pelt_examples examples,
                            pelt_examples *both, pelt_error *error) {
    pelt_example *list = PELT_NEW(arena, 2 * examples.count, pelt_example);
    if (!list) return pelt_no_memory(error);
    for (size_t e = 0; e < examples.count; e++) {
        pelt_example *image = &list[examples.count + e];
        *image = list[e] = examples.list[e];
        image->clip = image_of(bundle, list[e].clip, axis, error);
        if (!image->clip) return error->code;
    }
    *both = (pelt_examples){2 * examples.count, list};
    return PELT_OK;
}

pelt_result pelt_mirror_fold(const pelt_mirror *mirror, pelt_arena *arena, const int *folds, int own,
                             pelt_examples *all, int **dealt, pelt_error *error) {
    size_t count = mirror->both.count / 2;
    *all = (pelt_examples){count, PELT_NEW(arena, 2 * count, pelt_example)};
    *dealt = PELT_NEW(arena, 2 * count, int);
    if (!all->list || !*dealt) return pelt_no_memory(error);
    memcpy(all->list, mirror->both.list, count * sizeof *all->list);
    memcpy(*dealt, folds, count * sizeof **dealt);
    for (size_t e = 0; e < count; e++) {
        if (folds[e] == own) continue;
        (*dealt)[all->count] = -1;
        all->list[all->count++] = mirror->both.list[count + e];
    }
    return PELT_OK;
}
