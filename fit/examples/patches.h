/* patches.h: the points of a character in patches: neighbours that the same joint moves most. */

#ifndef PELT_PATCHES_H
#define PELT_PATCHES_H

#include "fit/examples/displacement.h"

typedef struct pelt_patches {
    uint32_t count;
    uint32_t *points; /* [point_count] patch by patch */
    uint32_t *starts; /* [count + 1] */
    uint32_t *joints; /* [count] that moves it; patches of a joint are adjacent */
} pelt_patches;

/* Patches of `least` points, or larger ones if there would be more than `most`, and what is left over at every joint.
   The arena owns the result. */
pelt_patches pelt_patches_of(pelt_arena *arena, const pelt_model *model,
                             const pelt_example_displacements *displacements, uint32_t least, uint32_t most);

#endif
