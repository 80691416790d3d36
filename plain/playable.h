/* playable.h: the corrective of a skin as so few morph targets, and such weights, as every player plays. */

#ifndef PELT_PLAYABLE_H
#define PELT_PLAYABLE_H

#include "model/model.h"

/* What every player plays. three.js and Babylon.js keep targets in layers of a texture, of which WebGL2 promises 256,
   and their weights in an array of uniforms, of which it promises 256 for everything: 64 are left for matrices, lights
   and materials. */
enum { PELT_PLAYABLE_TARGETS = 192 };

typedef struct pelt_playable_options {
    uint32_t most;    /* targets, 2 or more */
    bool normals;     /* changes of normals too */
    uint32_t threads; /* 0: all of the machine; the result is the same */
} pelt_playable_options;

typedef struct pelt_playable {
    uint32_t count;
    pelt_target *positions; /* [count] */
    pelt_target *normals;   /* [count]; NULL: none */
    const float **weights;  /* [clip], each [frame_count][count], all from 0 to 1; NULL: there are no clips */
    uint32_t whole;         /* targets that the corrective is a sum of; 0: it is not a sum (wpsd) */
    bool compressed;        /* there are other targets than those, made for the frames of the clips. Then: */
    double worst, rms;      /* how far they move vertices from where the skin has them; lengths */
    double normals_rms;     /* how far they turn normals, in degrees; 0 without */
    bool has_truth;         /* some of the clips have true positions: */
    double truth[2];        /* RMS error of the skin, and of the targets, in those */
} pelt_playable;

/* Nothing when there is no corrective. Targets that are few enough are left as they are, but for their scale; without
   clips they are left altogether. The arena owns the result. */
pelt_result pelt_playable_of(pelt_arena *arena, const pelt_skin *skin, const pelt_model *model,
                             const pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count,
                             const pelt_playable_options *options, pelt_playable *out, pelt_error *error);

#endif
