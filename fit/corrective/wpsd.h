/* wpsd.h: per-point pose distances, for the weighted fit (wpsd.c). */

#ifndef PELT_WPSD_H
#define PELT_WPSD_H

#include "fit/corrective/rbf.h"

/* Poses closer than this are merged for a point; radians, times the root of the weight. */
#define PELT_SAME_POSE 1e-4

/* Adds share times the squared distances of a source to r2 [pose][pose]; only the lower triangle is used. */
void pelt_add_distances(const pelt_sources *sources, size_t pose_count, uint32_t source, float share, float *r2);

/* Merges poses that a point cannot distinguish: `centers` gets the first of each set of poses less than sqrt(same2)
   apart, `of` [pose] the index of its centre. Returns the number of centres. */
uint32_t pelt_merge_poses(size_t pose_count, const float *r2, float same2, uint32_t *centers, uint32_t *of);

/* What drives the points: weights [point][source], which sum to 1 at a point or are all 0. */
typedef struct pelt_point_weights {
    float *weights;
    float *left; /* [point] the largest difference between displacements that no weight distinguishes, relative to the
                    diagonal */
} pelt_point_weights;

/* With `apart`, weak sources also count wherever they are needed to distinguish examples with different displacements
   or normals. */
pelt_point_weights pelt_weigh_points(const pelt_fitting *fitting, const pelt_distinct_poses *distinct,
                                     const pelt_sources *sources, const pelt_distinct_tilts *normals, bool apart,
                                     pelt_arena *arena);

#endif
