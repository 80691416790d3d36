/* wpsd.h: the weighted fit (wpsd.c): what drives a point (wpsd_weights.c), how it sees poses (wpsd_point.c), and the
   choice of the width (wpsd_width.c). */

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

/* -- The fit ------------------------------------------------------------------------------------------------------- */

typedef struct pelt_wpsd {
    pelt_fitting *fitting;
    pelt_arena *work;
    pelt_distinct_poses distinct;
    pelt_sources sources;
    pelt_point_weights driving;
    uint32_t *order;                  /* points in the block order of their first vertices */
    uint32_t *first_vertex, *members; /* vertices of point p: members[first_vertex[p]] to [first_vertex[p + 1] - 1] */
    pelt_distinct_tilts normals;      /* changes of the rest normals */
    pelt_phi phi;
    double norm_floor; /* of the norm that sums are divided by; 0: they are not */
    bool shared;       /* all points share one width */
    double width;
    uint32_t wanted;        /* poses per point; 0: all */
    float *folded;          /* [point][pose][4] */
    float *tilts;           /* [vertex][pose][3] the same for normals, or NULL */
    double *conditions;     /* [point] condition number: an estimate until measured; 0: not driven */
    double *bounds;         /* [point] squared upper bound of D */
    uint32_t (*closest)[2]; /* [point] the two closest poses, where measured */
    double *distances;      /* [point] their distance */
} pelt_wpsd;

/* Chooses the width. */
void pelt_wpsd_choose_width(pelt_wpsd *w);

/* -- Poses as one point sees them ---------------------------------------------------------------------------------- */

/* Scratch memory for one point after another. */
typedef struct pelt_wpsd_view {
    float *r2;       /* [pose][pose], lower triangle */
    double *phi;     /* [center][center] */
    double *values;  /* [center][4] */
    double *probe;   /* [center] */
    uint32_t *tally; /* [center] number of poses merged into it */
    uint32_t *poses; /* [center] the pose that represents it */
    uint32_t *of;    /* [pose] its center */
    float *row;      /* [center] */
    uint32_t count;  /* centers */
} pelt_wpsd_view;

/* A vector for every pose, `stride` doubles apart. */
typedef struct pelt_wpsd_series {
    const double *first;
    size_t stride;
} pelt_wpsd_series;

pelt_wpsd_view pelt_wpsd_view_new(pelt_arena *arena, size_t pose_count);

/* The weights of a point [source]; whether any is not 0. */
const float *pelt_wpsd_weights(const pelt_wpsd *w, uint32_t point);
bool pelt_wpsd_driven(const pelt_wpsd *w, uint32_t point);

/* Squared distances r2 [pose][pose] with weights [source]; lower triangle. */
void pelt_wpsd_distances(const pelt_wpsd *w, const float *weights, float *r2);

/* Computes the distances of a point, and its centres. */
void pelt_wpsd_centers(const pelt_wpsd *w, uint32_t point, pelt_wpsd_view *view);

/* The displacements of a point. */
pelt_wpsd_series pelt_wpsd_shapes(const pelt_wpsd *w, uint32_t point);

/* values [center][columns]: means over merged poses; a fourth column is 1. */
void pelt_wpsd_merge(const pelt_wpsd *w, pelt_wpsd_series vectors, size_t columns, pelt_wpsd_view *view);

/* phi of the centres. */
void pelt_wpsd_phi(const pelt_wpsd *w, double width, pelt_wpsd_view *view);

#endif
