/* model.h: a fitted skin before it is packed into bytes, and the stages that fill it in. */

#ifndef PELT_MODEL_H
#define PELT_MODEL_H

#include "fit/controls.h"
#include "fit/corrective.h"
#include "fit/figures.h"
#include "rig/rig.h"

typedef struct pelt_model {
    const pelt_skeleton *skeleton;
    uint32_t vertex_count;
    const float *positions;            /* [vertex_count][3] rest positions */
    const float *normals;              /* [vertex_count][3] */
    pelt_influences influences;        /* joints of the skeleton, then driven ones */
    const pelt_corrective *corrective; /* NULL: none */
    bool in_16_bits;                   /* how its displacements are stored */
    const char *about;                 /* JSON text for pelt_skin.about */
    uint32_t driven_count;
    const pelt_driven *driven; /* name is an index into driven_names until it is packed */
    const char **driven_names;
    uint32_t control_count; /* what the corrective's controls are */
    const pelt_fit_control *controls;
} pelt_model;

/* What a stage of a fit works with. */
typedef struct pelt_fitting {
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_fit_options options; /* resolved */
    pelt_arena *arena;        /* for what the model points to, until it is packed */
    pelt_model model;
    pelt_findings findings;  /* what the stages want to say to the user; in the arena */
    const char *blend_about; /* JSON text about the fit of the blend, for pelt_skin.about; NULL: nothing to say */
    const char *details;  /* JSON object: what the method of the corrective found, for pelt_skin.about; NULL: nothing */
    pelt_figures figures; /* what all methods say */
} pelt_fitting;

/* The blend S (blend.c): weights, and rest positions and joints where they are fitted. */
pelt_result pelt_fit_blend(pelt_fitting *fitting, pelt_error *error);

/* Number of matrices that the blend has in a pose, and their values: T_j of the skeleton's joints, then of joints that
   the blend adds. */
uint32_t pelt_model_matrix_count(const pelt_model *model);
void pelt_model_matrices(const pelt_model *model, const pelt_transform *locals, pelt_affine *matrices);

/* Joints computed from others (driven.c); `matrices` has those of the skeleton's joints and gets the driven ones after
   them. The set is what --drive says, or what the examples call for; it is added to the model. */
void pelt_driven_matrices(const pelt_model *model, pelt_affine *matrices);
pelt_result pelt_choose_driven(pelt_fitting *fitting, pelt_error *error);
/* Leaves out driven joints that no vertex follows. */
pelt_result pelt_drop_unused_driven(pelt_fitting *fitting, pelt_error *error);

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
