/* playable.h: the corrective of a skin as few enough morph targets, with weights that every player accepts. */

#ifndef PELT_PLAYABLE_H
#define PELT_PLAYABLE_H

#include "model/model.h"

typedef struct pelt_playable_options {
    uint32_t most;    /* targets, 2 or more */
    bool normals;     /* with changes of normals */
    uint32_t threads; /* 0: all of the machine; does not affect the result */
} pelt_playable_options;

typedef struct pelt_playable {
    uint32_t count;
    pelt_target *positions; /* [count] */
    pelt_target *normals;   /* [count]; NULL: none */
    const float **weights;  /* [clip], each [frame_count][count], all from 0 to 1; NULL: no clips */
    uint32_t whole;         /* targets that the corrective is a sum of; 0: it is not a sum (wpsd) */
    bool compressed;        /* targets were made for the frames of the clips instead. Then: */
    double worst, rms;      /* how far they move vertices from the skin; lengths */
    double normals_rms;     /* how far they turn normals, in degrees; 0 without */
    bool has_truth;         /* some of the clips have true positions: */
    double truth[2];        /* RMS error of the skin, and of the targets, in those */
} pelt_playable;

/* Empty without a corrective. If the targets are few enough they are kept, except for their scale, and without clips
   even that. The arena owns the result. */
pelt_result pelt_playable_of(pelt_arena *arena, const pelt_skin *skin, const pelt_model *model,
                             const pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count,
                             const pelt_playable_options *options, pelt_playable *out, pelt_error *error);

#endif
