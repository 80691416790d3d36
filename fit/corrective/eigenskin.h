/* eigenskin.h: EigenSkin (Kry, James & Pai 2002), split into separately tested parts. Everything runs within a
   stage. */

#ifndef PELT_EIGENSKIN_H
#define PELT_EIGENSKIN_H

#include "fit/corrective/correctives.h"
#include "fit/examples/support.h"

/* -- Joint supports and eigendisplacements, sections 2.2 and 2.3 (eigenskin_basis.c) -------------------------------- */

/* A point is in a joint's support when it is displaced by more than this fraction of the largest displacement. */
#define PELT_SUPPORT_THRESHOLD 0.04

/* How much of a point's displacement belongs to a mover's support: all of it above the threshold (the paper's, unless
   the supports set one), falling smoothly to 0 over the fade below it. */
float pelt_support_share(const pelt_supports *supports, uint32_t mover, uint32_t point);

/* One joint's support (or that of a mover of several joints): its examples, points and eigendisplacements. */
typedef struct pelt_eigen_joint {
    uint32_t mover;
    uint32_t pose_count, point_count;
    uint32_t *poses;  /* [pose_count] examples that move it alone: P_j */
    uint32_t *points; /* [point_count] its support: S_j */
    float *shares;    /* [point_count] in (0, 1]: displacements fade at the edge of the support */
    uint32_t rank;    /* nonzero singular values */
    double *singular; /* [rank], descending */
    double *right;    /* [rank][pose_count] right singular vectors: example p has coordinates singular[k] right[k][p] */
    uint32_t kept;    /* eigendisplacements in use: n_j */
} pelt_eigen_joint;

typedef struct pelt_eigen_basis {
    uint32_t joint_count;
    pelt_eigen_joint *joints;
} pelt_eigen_basis;

/* Supports and singular value decompositions of all movers that some example moves alone; n_j is per_joint or the rank,
   whichever is less. */
pelt_eigen_basis pelt_eigen_basis_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                     const pelt_supports *supports, uint32_t threads, uint32_t per_joint);

/* Eigendisplacement k of a joint: u = A v_k / s_k, [point_count][3]. */
void pelt_eigendisplacement(const pelt_eigen_joint *joint, const pelt_example_displacements *u, uint32_t k, float *out);

/* -- Coordinates, section 2.4 (eigenskin_basis.c) ------------------------------------------------------------------- */

/* What drives a joint's eigendisplacements: their coordinates at some of its examples, the centres. */
typedef struct pelt_coordinates {
    uint32_t center_count;
    uint32_t *centers; /* [center_count] examples; PELT_REST_EXAMPLE, the rest pose, comes first */
    double *values;    /* [center_count][kept]; 0 at rest */
} pelt_coordinates;

enum { PELT_EIGEN_CENTERS = 64 }; /* at most, per joint */

/* The centres of a mover: the rest pose, then greedily the mover's example farthest from those chosen; all of them if
   they are few, without duplicates. Values are not set. */
void pelt_eigen_centers(pelt_arena *arena, const pelt_poses *poses, uint32_t mover, pelt_coordinates *out);

/* between[center]: whether it is between two others; returns how many are. */
uint32_t pelt_eigen_between(const pelt_poses *poses, uint32_t mover, const pelt_coordinates *coordinates,
                            bool *between);

/* Centres and values for every joint, out[joint], with the width r0 of exp(-r / r0). */
void pelt_eigen_coordinates(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_basis *basis, double width,
                            pelt_coordinates *out);

/* phi[rows][columns] = exp(-r / width) between poses of some movers, each an example or PELT_REST_EXAMPLE; r is the
   root of the sum of squares over the movers. */
void pelt_eigen_functions(const pelt_poses *poses, uint32_t mover_count, const uint32_t *movers, size_t rows,
                          const uint32_t *a, size_t columns, const uint32_t *b, double width, double *phi);
/* The inverse of phi between the centres of one mover; NULL if there is none. */
double *pelt_eigen_inverse(pelt_arena *arena, const pelt_poses *poses, uint32_t mover, const pelt_coordinates *c,
                           double width);

/* The condition number of a joint's basis functions at its centres, and the two closest centres. */
pelt_condition pelt_eigen_condition(pelt_arena *arena, const pelt_poses *poses, uint32_t mover,
                                    const pelt_coordinates *coordinates, double width);

/* The basis functions of some movers with lambda[center][coefficient]. */
pelt_rbf pelt_eigen_rbf(pelt_arena *arena, const pelt_poses *poses, uint32_t mover_count, const uint32_t *movers,
                        size_t center_count, const uint32_t *centers, double width, size_t coefficient_count,
                        const double *lambda);

/* The same for one joint, with lambda interpolating the values at the centres. */
pelt_rbf pelt_eigen_joint_rbf(pelt_arena *arena, const pelt_poses *poses, const pelt_eigen_joint *joint,
                              const pelt_coordinates *coordinates, double width);

/* -- Threshold and width by cross-validation (eigenskin_choose.c) ---------------------------------------------------- */

/* Squared errors of predicting left-out examples, and their squared displacements. */
typedef struct pelt_eigen_missed {
    double between; /* examples between others of their joint */
    double beyond;  /* ends of the ranges of joints with more than two examples, if no example ... */
    double several; /* ... moves several joints */
    double all_between, all_beyond, all_several;
} pelt_eigen_missed;

/* Tries all widths with all thresholds: missed[width][threshold]. Uses a subset of the points, and of the examples that
   move several joints if there are many; none of those with sweeps_only. */
void pelt_eigen_leave_out(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                          const pelt_supports *supports, uint32_t threads, bool sweeps_only, size_t width_count,
                          const double *widths, size_t threshold_count, const double *thresholds,
                          pelt_eigen_missed *missed);

typedef struct pelt_eigen_choice {
    double threshold, width;
    pelt_eigen_missed missed;
} pelt_eigen_choice;

/* The threshold and width that predict left-out examples best, unless given (not 0). */
pelt_eigen_choice pelt_eigen_choose(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                    const pelt_supports *supports, uint32_t threads, bool sweeps_only, double threshold,
                                    double width);

/* -- Examples that move several joints, the paper's future work
   ----------------------------------------------------- */

/* Lists the examples that move several joints; returns how many. */
size_t pelt_examples_of_several(pelt_arena *arena, const pelt_poses *poses, uint32_t **examples);

/* Shifts the values to fit those examples too, if that helps unseen ones; `entries` are the eigendisplacements kept,
   with coefficients in joint order (eigenskin_refine.c). */
void pelt_eigen_refine(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                       const pelt_eigen_basis *basis, const pelt_entry *entries, size_t entry_count, double width,
                       uint32_t threads, pelt_coordinates *coordinates);

/* Displacements of two neighbouring movers that move together (or of one that no example moves alone). */
typedef struct pelt_eigen_pair {
    uint32_t movers[2]; /* equal for a single mover */
    pelt_rbf rbf;
    size_t entry_count;
    pelt_entry *entries; /* coefficients are relative to the pair's first */
} pelt_eigen_pair;

typedef struct pelt_eigen_pairs {
    uint32_t pair_count;
    pelt_eigen_pair *pairs;
} pelt_eigen_pairs;

/* Pairs that pay off on left-out examples, given what `corrective` already explains (eigenskin_pairs.c). */
pelt_eigen_pairs pelt_eigen_pairs_of(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                                     const pelt_supports *supports, double width, const pelt_corrective *corrective);

/* Supports of positions, with threshold, fade and width from the options or by leave-one-out. Adds the lone poses of
   movers without sweeps to the poses and displacements. */
pelt_eigen_choice pelt_eigen_supports(pelt_fitting *fitting, pelt_poses *poses, pelt_example_displacements *u,
                                      pelt_supports *supports, pelt_lone_poses *lone);

/* -- Positions and normals (eigenskin.c) ---------------------------------------------------------------------------- */

/* Everything that corrects positions, or normals: entries, and the functions of their coefficients in order. */
typedef struct pelt_eigen_part {
    uint32_t rbf_count;
    const pelt_rbf *rbfs;
    size_t entry_count;
    pelt_entry *entries;
} pelt_eigen_part;

/* Keeps for every point the `most` entries that move it most over the examples. An entry of strength a is scaled by 1 -
   (t / a)^4, where t is the strength of the strongest dropped entry: that is 0 exactly where the entry drops out, so
   that supports fade out instead of ending abruptly. */
void pelt_eigen_budget(pelt_arena *arena, const pelt_poses *poses, uint32_t point_count, uint32_t most,
                       pelt_eigen_part *part);

#endif
