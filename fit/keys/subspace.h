/* subspace.h: the subspace of the frames: the leading singular vectors of many frames, without holding all in
   memory. */

#ifndef PELT_SUBSPACE_H
#define PELT_SUBSPACE_H

#include "rig/rig.h"
#include <pelt/keys_fit.h>

/* Frames as columns of Q: a row for each value of a point (or for each point, if components share the basis), a column
   for each frame (or for each component of a frame). Q = mean + U B^T. */
typedef struct pelt_subspace {
    uint32_t row_count, column_count, rank;
    uint32_t each;       /* rows per point */
    double *mean;        /* [row_count] */
    double *vectors;     /* U: [row_count][rank], orthonormal columns */
    double *values;      /* [rank] singular values of the weighted, centred frames, descending */
    double *coordinates; /* B: [column_count][rank], unweighted */
    double *weights;     /* [column_count] */
    double weight;       /* their sum */
    double *tail;        /* [row_count] mean square of what the subspace leaves out */
    bool tail_known;     /* false: some frames stand for others, of which nobody knows what was left out before */
} pelt_subspace;

/* Their name in messages. */
static inline const char *pelt_frames_name(const pelt_frames *frames) {
    return frames->name ? frames->name : "training frames";
}

/* Reads frames with the caller's function and refuses values that are not finite or too large. A failure always has a
   sentence, even if that function leaves none. */
pelt_result pelt_frames_read(const pelt_frames *frames, uint32_t first, uint32_t count, float *values,
                             pelt_error *error);

/* Frames as a source of columns, kept in memory if they fit. */
typedef struct pelt_columns pelt_columns;
pelt_result pelt_columns_open(pelt_arena *arena, const pelt_frames *frames, bool shared, size_t memory,
                              pelt_columns **columns, pelt_error *error);

/* The values of one frame [point_count][component_count]. */
pelt_result pelt_columns_frame(const pelt_columns *columns, uint32_t frame, float *values, pelt_error *error);

/* The subspace of at most `rank` vectors. */
pelt_result pelt_subspace_find(pelt_arena *arena, pelt_columns *columns, uint32_t rank, bool centred, uint32_t seed,
                               const pelt_progress *progress, pelt_subspace *out, pelt_error *error);

#endif
