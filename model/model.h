/* model.h: a fitted skin before it is packed into bytes. */

#ifndef PELT_MODEL_H
#define PELT_MODEL_H

#include "model/corrective.h"
#include "rig/rig.h"

/* A control of a skin in the making. */
typedef struct pelt_model_control {
    uint32_t source; /* of the bundle's controls */
    const char *name;
    float rest, least, most; /* least and most over the examples */
    float farthest;          /* from rest */
    float scale;             /* distances along it are differences times this: 1 / farthest, by default */
} pelt_model_control;

typedef struct pelt_model {
    const pelt_skeleton *skeleton;
    uint32_t vertex_count;
    const float *positions;            /* [vertex_count][3] rest positions */
    const float *normals;              /* [vertex_count][3] */
    const float *tangents;             /* [vertex_count][4]; NULL: none */
    uint64_t mesh_hash;                /* of the mesh that it was made for; 0: not known */
    pelt_influences influences;        /* joints of the skeleton, then driven ones */
    const pelt_corrective *corrective; /* NULL: none */
    bool in_16_bits;                   /* how its displacements are stored */
    const uint32_t *order;             /* [vertex_count] in slot order, if that is known; NULL: packing finds it */
    uint32_t driven_count;
    const pelt_driven *driven; /* name is an index into driven_names until it is packed */
    const char **driven_names;
    uint32_t control_count; /* what the corrective's controls are */
    const pelt_model_control *controls;
} pelt_model;

/* Number of matrices that the blend has in a pose, and their values: T_j of the skeleton's joints, then of joints that
   the blend adds. */
uint32_t pelt_model_matrix_count(const pelt_model *model);
void pelt_model_matrices(const pelt_model *model, const pelt_transform *locals, pelt_affine *matrices);

/* Joints computed from others (driven.c); `matrices` has those of the skeleton's joints and gets the driven ones after
   them. */
void pelt_driven_matrices(const pelt_model *model, pelt_affine *matrices);
/* Leaves out driven joints that no vertex follows. In a stage. */
void pelt_drop_unused_driven(pelt_arena *arena, pelt_model *model);

/* What the vertices of a block may use: joints, then coefficients of a corrective. Per block, a joint is about as much
   work as PELT_JOINT_COST rows of displacements. */
enum { PELT_JOINT_COST = 4 };

typedef struct pelt_block_columns {
    uint32_t joints, count; /* the first so many columns are joints; all of them */
} pelt_block_columns;

/* Orders vertices into blocks of 16 that use the same columns, as far as that can be (blocks.c); influences->joints are
   columns. order[vertex_count] gets the vertices in slot order. In a stage. */
void pelt_block_order(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count,
                      pelt_block_columns columns, uint32_t *order);

/* The arrays of a skin file, before they are laid out one after the other; NULL after an error. The arena owns it, and
   the model must outlive it. */
typedef struct pelt_arrangement pelt_arrangement;
const pelt_arrangement *pelt_model_arrange(pelt_arena *arena, const pelt_model *model, pelt_error *error);

/* The bytes of a skin file (docs/format.md) with a text about it, JSON. To be freed with pelt_bytes_free. */
pelt_bytes *pelt_lay_out(const pelt_arrangement *arrangement, const char *about, pelt_error *error);

/* Both. */
pelt_bytes *pelt_model_pack(const pelt_model *model, const char *about, pelt_error *error);

/* The model that a skin was packed from, in the arena (unpack.c). */
pelt_result pelt_model_unpack(pelt_arena *arena, const pelt_skin *skin, pelt_model *model, pelt_error *error);

#endif
