/* sculpt.h: shapes sculpted by hand: in their target pose or, as in most tools, in the rest pose before the blend,
   v = S_p(v0 + d); and shapes of one side mirrored to the other. */

#ifndef PELT_SCULPT_H
#define PELT_SCULPT_H

#include "rig/rig.h"

/* S_p of a shape [vertex_count][3] in the rest pose; vertices without weights stay in place. `out` may be the shape. */
void pelt_pose_shape(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *shape, float *out);

/* Squared distances of a shape from the rest mesh and from its blend in a pose: the smaller one tells in which it was
   sculpted. */
void pelt_shape_distances(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *shape, double *rest,
                          double *posed);

/* Masks a shape in a pose: where mask[vertex_count] is 1 the shape stays, where it is 0 the blend replaces it. */
void pelt_mask_shape(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *mask, float *shape);

#endif
