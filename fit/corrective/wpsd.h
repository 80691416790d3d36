/* wpsd.h: pose distances of single points, for the weighted fit (wpsd.c). */

#ifndef PELT_WPSD_H
#define PELT_WPSD_H

#include "fit/corrective/rbf.h"

/* Poses nearer than this are one to a point; radians, times the root of the weight. */
#define PELT_SAME_POSE 1e-4

/* r2 [pose][pose], of which only the lower triangle is used, gets share times the squared distances of a source. */
void pelt_add_distances(const pelt_sources *sources, size_t pose_count, uint32_t source, float share, float *r2);

/* Numbers the poses that differ to a point: centers gets the first of those that are less than the root of same2 apart
   from it, `of` [pose] the number of its centre. Returns how many there are. */
uint32_t pelt_merge_poses(size_t pose_count, const float *r2, float same2, uint32_t *centers, uint32_t *of);

/* What drives the points: weights [point][source], which sum to 1 or are all 0 at a point. */
typedef struct pelt_point_weights {
    float *weights;
    float *left; /* [point] the largest difference of displacements that no weight tells apart, of the diagonal */
} pelt_point_weights;

/* With `apart`, weak sources count too wherever examples would be one without them, but have different displacements or
   different normals. */
pelt_point_weights pelt_weigh_points(const pelt_fitting *fitting, const pelt_distinct_poses *distinct,
                                     const pelt_sources *sources, const pelt_distinct_turns *normals, bool apart,
                                     pelt_arena *arena);

#endif
