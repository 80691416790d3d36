/* model.h: a fitted skin before it is packed into bytes. */

#ifndef PELT_MODEL_H
#define PELT_MODEL_H

#include "rig/rig.h"

typedef struct pelt_model {
    const pelt_skeleton *skeleton;
    uint32_t vertex_count;
    const float *positions; /* [vertex_count][3] rest positions */
    const float *normals;   /* [vertex_count][3] */
    pelt_influences influences;
    const char *about; /* JSON text for pelt_skin.about */
} pelt_model;

/* Orders vertices into blocks of 16 that share joints: vertices with the same joints first, then, of what is left,
   those that add the fewest joints. order[vertex_count] gets the vertices in slot order. */
pelt_result pelt_block_order(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count,
                             uint32_t joint_count, uint32_t *order);

/* The bytes of a skin file (docs/format.md). */
pelt_skin_bytes *pelt_model_pack(const pelt_model *model, pelt_error *error);

/* Weights from the distance of a vertex to the bones (fit/distance.c). `influences` is the most joints per vertex. */
pelt_result pelt_distance_weights(pelt_arena *arena, const pelt_mesh *mesh, const pelt_skeleton *skeleton,
                                  uint32_t influences, uint32_t threads, pelt_influences *out, pelt_error *error);

/* Keeps the `most` largest weights of every vertex and makes them sum to 1. */
pelt_result pelt_limit_influences(pelt_arena *arena, const pelt_influences *in, uint32_t vertex_count, uint32_t most,
                                  pelt_influences *out);

#endif
