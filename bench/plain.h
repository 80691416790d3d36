/* plain.h: the baselines: the loops anybody would write first, and the speed of memory. */

#ifndef PELT_PLAIN_H
#define PELT_PLAIN_H

#include <stddef.h>
#include <stdint.h>

/* Linear blending with four indices and weights per vertex and row-major 3x4 matrices. normals_out may be NULL. */
void plain_blend(size_t vertex_count, const float *positions, const float *normals, const uint16_t *joints,
                 const float *weights, const float *matrices, float *positions_out, float *normals_out);

/* The same after adding displacements to the rest positions: `terms` per vertex, each with its coefficient. */
void plain_basis(size_t vertex_count, const float *positions, const uint16_t *joints, const float *weights,
                 const float *matrices, size_t terms, const uint16_t *sources, const float *vectors,
                 const float *coefficients, float *positions_out);

/* The same with weighted pose space deformation: Gaussians of distances over the vertex's own four joints. distances
   [joint][term] are squared and scaled; vectors are [vertex][term][3]. */
void plain_weighted(size_t vertex_count, const float *positions, const uint16_t *joints, const float *weights,
                    const float *matrices, size_t terms, const float *distances, const float *vectors,
                    float *positions_out);

/* to[i] = from[i]. */
void plain_copy(float *to, const float *from, size_t count);

/* to[i] = a[i] + 3 b[i]: the loop commonly used to measure memory bandwidth. */
void plain_triad(float *to, const float *a, const float *b, size_t count);

#endif
