/* sculpt.h: shapes that people make by hand: in the pose that they are for, or, as most tools do, in the rest pose before
   the blend, v = S_p(v0 + d); and shapes of one side that serve the other. */

#ifndef PELT_SCULPT_H
#define PELT_SCULPT_H

#include "rig/rig.h"

/* S_p of a shape [vertex_count][3] in the rest pose; vertices without weights stay where they are. `out` may be the
   shape. */
void pelt_pose_shape(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *shape, float *out);

/* Squared distances of a shape from the rest mesh, and from its blend in a pose: the smaller one says where it was
   sculpted. */
void pelt_shape_distances(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *shape, double *rest,
                          double *posed);

/* Takes back what a shape in a pose does to some vertices: mask[vertex_count] is 1 where it stays, 0 where the blend
   takes its place. */
void pelt_mask_shape(const pelt_mesh *mesh, const pelt_affine *joint_matrices, const float *mask, float *shape);

#endif
