/* kernel.h: the parts of the kernel corrective other than its regression. Everything here runs within a stage. */

#ifndef PELT_KERNEL_FIT_H
#define PELT_KERNEL_FIT_H

#include "fit/corrective/correctives.h"
#include "fit/regression/regression.h"

/* Warns of joints that the examples do not tell apart; and where much is missed in training, or left in
   cross-validation, says which poses would help, or that something else drives the skin (advice.c). */
void pelt_note_poses(pelt_fitting *fitting, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                     const pelt_example_displacements *u, double missed, double left);

/* -- Clusters (kernel_cluster.c) ------------------------------------------------------------------------------------ */

typedef struct pelt_clusters {
    uint32_t count;
    uint32_t *first;  /* [count + 1] points of a cluster ... */
    uint32_t *points; /* ... a point may be in several, */
    float *weights;   /* ... and its weights sum to 1 */
    uint32_t *ranks;  /* [count] displacements that the points of a cluster have */
    double **shapes;  /* [count] -> [rank][3 x points], orthonormal rows */
} pelt_clusters;

/* Clustered principal components: points that are well described by a few common displacements are together, and
   clusters have as many as are worth most under a budget of per_point displacements, the mean over all points. */
pelt_clusters pelt_cluster(pelt_arena *arena, const pelt_example_displacements *u, const pelt_mesh *mesh,
                           const float *positions, uint32_t cluster_count, double per_point, uint32_t threads);

/* The same clusters with vectors for the changes of normals, `tilts`, under a separate budget. A vertex has its own
   normal, so the points of `tilts` and of the result are vertices. */
pelt_clusters pelt_cluster_tilts(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *clusters,
                                 const pelt_example_displacements *tilts, double per_vertex, uint32_t threads);

/* The shapes of clusters as displacements of vertices, faded at the borders. Each cluster has coefficients for its
   displacements (ranks), then for the changes of normals (tilt_ranks); `tilts`: which of them these are. */
pelt_displacements *pelt_cluster_vectors(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *c,
                                         const uint32_t *ranks, const uint32_t *tilt_ranks, bool tilts);

/* Lets clusters (first, points) overlap by up to most_rings mesh edges, as long as the number of points, counted in
   every cluster that they are in, grows by no more than the factor most_growth. */
void pelt_overlap_clusters(pelt_arena *arena, const pelt_mesh *mesh, const pelt_example_displacements *u,
                           uint32_t most_rings, double most_growth, pelt_clusters *clusters);

#endif
