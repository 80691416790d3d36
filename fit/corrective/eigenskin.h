/* eigenskin.h: EigenSkin (Kry, James & Pai 2002), in the parts that are tested apart. All of it runs within a stage. */

#ifndef PELT_EIGENSKIN_H
#define PELT_EIGENSKIN_H

#include "fit/corrective/correctives.h"
#include "fit/examples/support.h"

/* -- Joint supports and eigendisplacements, sections 2.2 and 2.3 (eigenskin_basis.c) -------------------------------- */

/* A point is in a joint's support when it is displaced by more than this part of the largest displacement. */
#define PELT_SUPPORT_THRESHOLD 0.04

/* How much of a point's displacements belongs to a mover's support: all of it above the threshold (the paper's, where
   supports have none), falling smoothly to 0 over the fade below it. */
float pelt_support_share(const pelt_supports *supports, uint32_t mover, uint32_t point);

/* One joint support (or mover of several joints): its examples, its points, its eigendisplacements. */
typedef struct pelt_eigen_joint {
    uint32_t mover;
    uint32_t pose_count, point_count;
    uint32_t *poses;  /* [pose_count] examples that move it alone: P_j */
    uint32_t *points; /* [point_count] its support: S_j */
    float *shares;    /* [point_count] above 0, to 1: at the edge of the support displacements fade */
    uint32_t rank;    /* singular values that are not zero */
    double *singular; /* [rank], falling */
    double *right;    /* [rank][pose_count] right singular vectors: example p has coordinates singular[k] right[k][p] */
    uint32_t kept;    /* eigendisplacements that are used: n_j */
} pelt_eigen_joint;

typedef struct pelt_eigen_basis {
    uint32_t joint_count;
    pelt_eigen_joint *joints;
} pelt_eigen_basis;

/* Supports and singular value decompositions of all movers that some example moves alone; n_j is per_joint, or the rank
   where that is less. */
pelt_eigen_basis pelt_eigen_basis_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                     const pelt_supports *supports, uint32_t per_joint);

/* Eigendisplacement k of a joint: u = A v_k / s_k, [point_count][3]. */
void pelt_eigendisplacement(const pelt_eigen_joint *joint, const pelt_example_displacements *u, uint32_t k, float *out);

/* -- Coordinates, section 2.4 (eigenskin_basis.c) ------------------------------------------------------------------- */

/* What drives a joint's eigendisplacements: their coordinates at some of its examples, the centres. */
typedef struct pelt_coordinates {
    uint32_t center_count;
    uint32_t *centers; /* [center_count] examples; PELT_REST_EXAMPLE, the rest pose, comes first */
    double *values;    /* [center_count][kept]; 0 at rest */
} pelt_coordinates;

enum { PELT_EIGEN_CENTERS = 64 }; /* of a joint at the most */

/* The centres of a mover: the rest pose, then one after the other the example of its own that is farthest from those
   chosen; all of them when they are few, and none twice. Values are not set. */
void pelt_eigen_centers(pelt_arena *arena, const pelt_poses *poses, uint32_t mover, pelt_coordinates *out);

/* between[center]: whether it lies on the way between two others; returns how many do. */
uint32_t pelt_eigen_between(const pelt_poses *poses, uint32_t mover, const pelt_coordinates *coordinates,
                            bool *between);

/* Centres and values of every joint, out[joint], for the width r0 of exp(-r / r0). */
void pelt_eigen_coordinates(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_basis *basis, double width,
                            pelt_coordinates *out);

/* phi[rows][columns] = exp(-r / width) between poses of some movers, each an example or PELT_REST_EXAMPLE; r is the
   root of the sum of squares over the movers. */
void pelt_eigen_functions(const pelt_poses *poses, uint32_t mover_count, const uint32_t *movers, size_t rows,
                          const uint32_t *a, size_t columns, const uint32_t *b, double width, double *phi);

/* The condition of one joint's basis functions at its centres, and the two closest of these. */
pelt_condition pelt_eigen_condition(pelt_arena *arena, const pelt_poses *poses, uint32_t mover,
                                    const pelt_coordinates *coordinates, double width);

/* The basis functions of some movers with lambda[center][coefficient]. */
pelt_rbf pelt_eigen_rbf(pelt_arena *arena, const pelt_poses *poses, uint32_t mover_count, const uint32_t *movers,
                        size_t center_count, const uint32_t *centers, double width, size_t coefficient_count,
                        const double *lambda);

/* The same of one joint, whose lambda interpolates the values at the centres. */
pelt_rbf pelt_eigen_joint_rbf(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint,
                              const pelt_coordinates *coordinates, double width);

/* -- Threshold and width by cross-validation (eigenskin_choose.c) ---------------------------------------------------- */

/* Squared displacements of examples that were left out, as far as they are missed, and all of them. */
typedef struct pelt_eigen_missed {
    double between; /* examples that lie between others of their joint */
    double beyond;  /* at the ends of its range, of joints with more than two, where there are none that ... */
    double several; /* ... move several joints */
    double all_between, all_beyond, all_several;
} pelt_eigen_missed;

/* Tries all widths with all thresholds: missed[width][threshold]. At some of the points, and some of the examples that
   move several joints, where those are many; none of the latter with sweeps_only. */
void pelt_eigen_leave_out(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                          const pelt_supports *supports, bool sweeps_only, size_t width_count, const double *widths,
                          size_t threshold_count, const double *thresholds, pelt_eigen_missed *missed);

typedef struct pelt_eigen_choice {
    double threshold, width;
    pelt_eigen_missed missed;
} pelt_eigen_choice;

/* The threshold and the width that predict left-out examples best, unless they are given (not 0). */
pelt_eigen_choice pelt_eigen_choose(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                    const pelt_supports *supports, bool sweeps_only, double threshold, double width);

/* -- Examples that move several joints, the paper's future work ----------------------------------------------------- */

/* Lists the examples that move several joints; returns how many. */
size_t pelt_examples_of_several(pelt_arena *arena, const pelt_poses *poses, uint32_t **examples);

/* Shifts the values so that they also serve those examples, where that helps unseen ones; `entries` are the
   eigendisplacements kept, with coefficients in the order of the joints (eigenskin_refine.c). */
void pelt_eigen_refine(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                       const pelt_eigen_basis *basis, const pelt_entry *entries, size_t entry_count, double width,
                       pelt_coordinates *coordinates);

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

/* Pairs that pay on examples left out, given what `corrective` explains already (eigenskin_pairs.c). */
pelt_eigen_pairs pelt_eigen_pairs_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                     const pelt_supports *supports, double width, const pelt_corrective *corrective);

/* Supports of positions with the edges that the options ask for, or that leaving out chooses; so is the width. */
pelt_eigen_choice pelt_eigen_supports(pelt_fitting *fitting, const pelt_poses *poses,
                                      const pelt_example_displacements *u, pelt_supports *supports);

/* -- Positions and normals (eigenskin.c) ---------------------------------------------------------------------------- */

/* All that corrects positions, or normals: entries, and the functions of their coefficients, one after the other. */
typedef struct pelt_eigen_part {
    uint32_t rbf_count;
    const pelt_rbf *rbfs;
    size_t entry_count;
    pelt_entry *entries;
} pelt_eigen_part;

/* Leaves every point the `most` entries that move it most in the examples. An entry of strength a is scaled by
   1 - (t / a)^4, t being that of the strongest one left out: it falls to 0 exactly where the entry drops out, so that
   supports fade instead of ending. */
void pelt_eigen_budget(pelt_arena *arena, const pelt_poses *poses, uint32_t point_count, uint32_t most,
                       pelt_eigen_part *part);

#endif
