/* kept.h: examples in less room than their caches, so that new ones are added to a fit without the old caches.

   Vertices are in blocks, in the order of the file. In a block every frame is a sum of a few *shapes*, which all frames
   share, and of what is *left*, in steps of 8 bits where that takes less room than more shapes. A new frame that this does
   not give within the bound adds a shape; frames that are there already do not change, so their error does not grow with
   what is added. Nothing depends on the blend: weights may be painted anew between two fits. */

#ifndef PELT_KEPT_H
#define PELT_KEPT_H

#include "rig/rig.h"

/* No vertex is off by more than this fraction of the diagonal, or by the rounding of a float. */
#define PELT_KEPT_BOUND 1e-5

/* The frames of a clip in a block. */
typedef struct pelt_kept_part {
    uint32_t used;         /* the first so many shapes of the block */
    const float **amounts; /* [used][frame_count] */
    const int8_t *left;    /* [frame_count][3 * count] steps; NULL: nothing */
} pelt_kept_part;

typedef struct pelt_kept_block {
    uint32_t first, count; /* vertices, in the list `order` */
    uint32_t shape_count;
    const float **shapes;  /* [shape_count][3 * count] */
    pelt_kept_part *parts; /* [clip_count] */
} pelt_kept_block;

typedef struct pelt_kept_clip {
    const char *name;
    uint32_t frame_count;
    const pelt_transform *poses;  /* [frame_count][joint_count] */
    const float *controls;        /* [frame_count][control_count]; NULL: there are no controls */
    const float *example_weights; /* [frame_count]; NULL: all 1 */
} pelt_kept_clip;

typedef struct pelt_kept {
    double bound; /* a length; a float, as in files */
    uint32_t vertex_count, joint_count, control_count, clip_count, block_count;
    const char **control_names;
    pelt_kept_clip *clips;
    uint32_t *order; /* [vertex_count] vertices by block, those at one rest position in the same */
    pelt_kept_block *blocks;
    const char *source; /* the file it was read from; NULL: none */
} pelt_kept;

/* A step of `left`, a length: three coordinates that are off by half a step are within the bound. */
double pelt_kept_step(const pelt_kept *kept);

/* No clips yet, but the blocks of a mesh. */
pelt_result pelt_kept_begin(pelt_arena *arena, const pelt_bundle *bundle, pelt_kept *kept, pelt_error *error);

/* Whether examples can be kept: PELT_ERROR_DATA if they have normals of their own, which are not. */
pelt_result pelt_kept_check(pelt_examples examples, pelt_error *error);

/* Adds examples of the bundle, each run of frames of one clip as a clip. After an error it is of no use. */
pelt_result pelt_kept_add(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples, uint32_t threads,
                          pelt_kept *kept, pelt_error *error);

/* Adds all of it to the bundle as clips of its own, "NAME, kept": clips[clip_count]. */
pelt_result pelt_kept_clips(const pelt_kept *kept, pelt_bundle *bundle, uint32_t threads, const pelt_clip **clips,
                            pelt_error *error);

#endif
