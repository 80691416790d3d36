/* model.h: a fitted skin before packing. */

#ifndef PELT_MODEL_H
#define PELT_MODEL_H

#include "model/corrective.h"
#include "rig/rig.h"

/* A control of the model. */
typedef struct pelt_model_control {
    uint32_t source; /* index of the bundle's control */
    const char *name;
    float rest, least, most; /* over the examples */
    float farthest;          /* largest deviation from rest */
    float scale;             /* of distances along it: 1 / farthest by default */
} pelt_model_control;

typedef struct pelt_model {
    const pelt_skeleton *skeleton;
    uint32_t vertex_count;
    const float *positions;            /* [vertex_count][3] rest positions */
    const float *normals;              /* [vertex_count][3] */
    const float *tangents;             /* [vertex_count][4]; NULL: none */
    uint64_t mesh_hash;                /* of the mesh it was made for; 0: unknown */
    pelt_influences influences;        /* joints of the skeleton, then driven ones */
    const pelt_corrective *corrective; /* NULL: none */
    const pelt_rings *rings;           /* normals are recomputed from the deformed surface; NULL: they are not */
    bool in_16_bits;                   /* storage of its displacements */
    const uint32_t *order;             /* [vertex_count] in slot order, if known; NULL: found by packing */
    uint32_t driven_count;
    const pelt_driven *driven; /* name is an index into driven_names until packing */
    const char **driven_names;
    uint32_t control_count; /* the corrective's controls */
    const pelt_model_control *controls;
} pelt_model;

/* Number and values of the blend's matrices in a pose: T_j of the skeleton's joints, then of joints that the blend
   adds. */
uint32_t pelt_model_matrix_count(const pelt_model *model);
void pelt_model_matrices(const pelt_model *model, const pelt_transform *locals, pelt_affine *matrices);

/* Joints computed from others (driven.c); `matrices` has those of the skeleton's joints, and the driven ones are
   appended. */
void pelt_driven_matrices(const pelt_model *model, pelt_affine *matrices);
/* Drops driven joints that no vertex follows. Runs in a stage. */
void pelt_drop_unused_driven(pelt_arena *arena, pelt_model *model);

/* What the vertices of a block may use: joints, then coefficients of a corrective. A joint costs a block about as much
   as PELT_JOINT_COST rows of displacements. */
enum { PELT_JOINT_COST = 4 };

typedef struct pelt_block_columns {
    uint32_t joints, count; /* number of joint columns, which come first; and of all */
} pelt_block_columns;

/* Orders vertices into blocks of 16 that use the same columns, as far as possible (pack/blocks.c); influences->joints
   are columns. order[vertex_count] gets the vertices in slot order. Runs in a stage. */
void pelt_block_order(pelt_arena *arena, const pelt_influences *influences, uint32_t vertex_count,
                      pelt_block_columns columns, uint32_t *order);

/* The arrays of a skin file, before they are laid out; NULL after an error. Owned by the arena; the model must outlive
   it. */
typedef struct pelt_arrangement pelt_arrangement;
const pelt_arrangement *pelt_model_arrange(pelt_arena *arena, const pelt_model *model, pelt_error *error);

/* What a skin file says about its fit: the JSON description; its sections FACT and CONF, or NULL. */
typedef struct pelt_account {
    const char *about;
    const pelt_bytes *facts, *confidence;
} pelt_account;

/* The bytes of a skin file (docs/format.md). Free with pelt_bytes_free. */
pelt_bytes *pelt_lay_out(const pelt_arrangement *arrangement, const pelt_account *account, pelt_error *error);

/* Arranges and lays out. */
pelt_bytes *pelt_model_pack(const pelt_model *model, const char *about, pelt_error *error);

/* Reconstructs the model of a packed skin, in the arena (unpack.c). */
pelt_result pelt_model_unpack(pelt_arena *arena, const pelt_skin *skin, pelt_model *model, pelt_error *error);

#endif
