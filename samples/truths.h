/* truths.h: dual quaternions and delta mush, as truths for pelt_sample_known. */

#ifndef PELT_TRUTHS_H
#define PELT_TRUTHS_H

#include "rig/rig.h"

/* A joint's matrix without its scale: real part x y z w, then dual part. */
void sample_dual_quaternion(const pelt_affine *matrix, double out[8]);

/* Moves a point by a weighted sum of dual quaternions, whatever its length. */
void sample_dual_point(const double sum[8], const double point[3], double out[3]);

/* What delta mush knows of the rest pose. The arena owns it. */
typedef struct sample_mush {
    const pelt_mesh *mesh;
    uint32_t count;     /* points: vertices at one place are one */
    uint32_t *point_of; /* [vertex] */
    uint32_t *beside;   /* [point] a neighbour */
    double *details;    /* [point][3] what smoothing takes away, in the frame of the smoothed surface */
} sample_mush;

void sample_mush_prepare(pelt_arena *arena, const pelt_mesh *mesh, sample_mush *mush);

/* Turns positions of the linear blend, [vertex][3], into those of delta mush. */
void sample_mush_frame(const sample_mush *mush, pelt_arena *scratch, float *positions);

#endif
