/* eigenskin.h: EigenSkin (Kry, James & Pai 2002), in the parts that are tested apart. */

#ifndef PELT_EIGENSKIN_H
#define PELT_EIGENSKIN_H

#include "fit/corrective/correctives.h"
#include "fit/examples/support.h"

/* A point is in a joint's support when it is displaced by more than this part of the largest displacement. */
#define PELT_SUPPORT_THRESHOLD 0.04

/* One joint support (or mover of several joints): its examples, its points, its eigendisplacements. */
typedef struct pelt_eigen_joint {
    uint32_t mover;
    uint32_t pose_count, point_count;
    uint32_t *poses;  /* [pose_count] examples that move it alone: P_j */
    uint32_t *points; /* [point_count] its support: S_j */
    uint32_t rank;    /* singular values that are not zero */
    double *singular; /* [rank], falling */
    double *
        right; /* [rank][pose_count] right singular vectors: the coordinates of example p are singular[k] right[k][p] */
    uint32_t kept; /* eigendisplacements that are used: n_j */
} pelt_eigen_joint;

typedef struct pelt_eigen_basis {
    uint32_t joint_count;
    pelt_eigen_joint *joints;
} pelt_eigen_basis;

/* Supports and singular value decompositions of all movers that some example moves alone; a point is in a support when
   it is displaced by more than `threshold` of the largest displacement. */
pelt_result pelt_eigen_basis_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                const pelt_supports *supports, double threshold, pelt_eigen_basis *out,
                                pelt_error *error);

/* Eigendisplacement k of a joint: u = A v_k / s_k, [point_count][3]. */
void pelt_eigendisplacement(const pelt_eigen_joint *joint, const pelt_example_displacements *u, uint32_t k, float *out);

/* n_j of every joint is per_joint, or its rank. */
void pelt_eigen_keep(pelt_eigen_basis *basis, uint32_t per_joint);

/* What drives a joint's eigendisplacements: their coordinates at some of its examples, the centres. */
typedef struct pelt_coordinates {
    uint32_t center_count;
    uint32_t *centers; /* [center_count] examples; PELT_REST_CENTER is the rest pose, which comes first */
    double *values;    /* [center_count][kept]; 0 at rest */
} pelt_coordinates;

#define PELT_REST_CENTER PELT_REST_EXAMPLE

/* Chooses the centres of every joint, and the width r0 of exp(-r / r0), unless *width is one already: by leaving out
   examples one by one, those that lie between two others; `fallback` when there is none. */
pelt_result pelt_eigen_coordinates(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_basis *basis,
                                   double fallback, pelt_coordinates *out, double *width, pelt_error *error);

/* Distance of two poses of a mover; each is an example or PELT_REST_CENTER. */
double pelt_eigen_distance(const pelt_poses *poses, uint32_t mover, uint32_t a, uint32_t b);

/* The axes along which that is measured, and their number; `axes` may be NULL. And an example, or PELT_REST_CENTER, as
   a centre on one of them. */
uint32_t pelt_mover_axes(const pelt_poses *poses, uint32_t mover, pelt_axis *axes);
void pelt_mover_center(const pelt_poses *poses, const pelt_axis *axis, uint32_t example, float center[4]);

/* exp(-r / width) between poses of a mover: phi[rows][columns]. */
void pelt_eigen_functions(const pelt_poses *poses, uint32_t mover, size_t rows, const uint32_t *a, size_t columns,
                          const uint32_t *b, double width, double *phi);

/* The condition of one joint's basis functions at its centres, and the two closest of these. INFINITY when memory is
   out. */
pelt_condition pelt_eigen_condition(const pelt_poses *poses, uint32_t mover, const pelt_coordinates *coordinates,
                                    double width);

/* Shifts the values so that they also serve examples that move several joints, where that helps unseen ones; `entries`
   are the eigendisplacements kept, with coefficients in the order of the joints. */
pelt_result pelt_eigen_refine(const pelt_poses *poses, const pelt_example_displacements *u,
                              const pelt_eigen_basis *basis, const pelt_entry *entries, size_t entry_count,
                              double width, pelt_coordinates *coordinates, pelt_error *error);

/* The basis functions of one joint; matrix[center][kept] solves for the values at the centres. */
pelt_result pelt_eigen_rbf(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint,
                           const pelt_coordinates *coordinates, double width, pelt_rbf *out);

/* Displacements of two neighbouring movers that move together (or of one that no example moves alone). */
typedef struct pelt_eigen_pair {
    uint32_t movers[2]; /* the same twice: one mover */
    pelt_rbf rbf;
    size_t entry_count;
    pelt_entry *entries; /* coefficients count from 0 within the pair */
} pelt_eigen_pair;

typedef struct pelt_eigen_pairs {
    uint32_t pair_count;
    pelt_eigen_pair *pairs;
} pelt_eigen_pairs;

/* Pairs that pay on examples left out, given what `corrective` explains already. */
pelt_result pelt_eigen_pairs_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                const pelt_supports *supports, double width, const pelt_corrective *corrective,
                                pelt_eigen_pairs *out, pelt_error *error);

/* -- Positions and normals (eigen_join.c) ------------------------------------------------------------------------- */

/* All that corrects positions, or normals: entries, and the functions of their coefficients, one after the other. */
typedef struct pelt_eigen_part {
    uint32_t rbf_count;
    const pelt_rbf *rbfs;
    size_t entry_count;
    pelt_entry *entries;
} pelt_eigen_part;

uint32_t pelt_eigen_coefficient_count(const pelt_eigen_part *part);

/* Leaves every point the `most` entries that move it most in the examples. An entry of strength a is scaled by
   1 - (t / a)^4, t being that of the strongest one left out: it falls to 0 exactly where the entry drops out, so that
   supports fade instead of ending. */
pelt_result pelt_eigen_budget(const pelt_poses *poses, uint32_t point_count, uint32_t most, pelt_eigen_part *part);

/* The functions of both parts, in out->rbfs: those with the same centres are one, and coefficients without entries are
   left out. Entries are renumbered. */
pelt_result pelt_eigen_join(pelt_arena *arena, pelt_eigen_part *positions, pelt_eigen_part *normals,
                            pelt_corrective *out);

/* -- For people (eigen_study.c) ------------------------------------------------------------------------------------ */

enum { PELT_STUDY_SHAPES = 4, PELT_STUDY_COUNTS = 6 };

typedef struct pelt_joint_study {
    const char *name;
    uint32_t example_count, support_count, shape_count;
    float *support; /* [vertex] largest displacement, relative to the most of any */
    double singular[PELT_STUDY_SHAPES];
    float *shapes[PELT_STUDY_SHAPES]; /* [vertex][3] eigendisplacements */
    double errors[PELT_STUDY_COUNTS]; /* left of the displacements in the joint's examples with 0, 1, ... of them */
} pelt_joint_study;

/* Looks at the joints with the largest singular values, at most *count, which gets how many there are. The arena owns
   what the studies point to. */
pelt_result pelt_eigen_study(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                             pelt_arena *arena, pelt_joint_study *out, size_t *count, pelt_error *error);

#endif
