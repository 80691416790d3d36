/* corrective.h: the corrective D(p) of a fitted skin, before packing: displacements in the rest pose, and their
   coefficients.

       basis (psd, eigen, kernel):    D_i(p) = sum_k a_k(p) u_ik
       weighted (wpsd):               D_i(p) = sum_q phi(r_iq(p)) c_iq[xyz] / sum_q phi(r_iq(p)) c_iq[w]

   The coefficients a_k depend only on the pose and are computed once per frame; the displacements u_ik are per vertex.
   A pose is, for every joint, its local rotation relative to rest, R_j = rest_j^-1 local_j (the identity at rest), as a
   unit quaternion; q and -q are the same rotation; and, for every control, its value relative to rest. */

#ifndef PELT_CORRECTIVE_H
#define PELT_CORRECTIVE_H

#include "rig/rig.h"
#include "runtime/format.h"

typedef struct pelt_axis {
    pelt_axis_kind kind;
    uint32_t joint; /* for PELT_AXIS_CONTROL, the model's control */
    float weight;
    float direction[3], middle, reach; /* for PELT_AXIS_HINGE, as in pelt_file_axis */
} pelt_axis;

/* Radial basis functions: phi_q = phi(r(p, center q)), a_k = sum_q matrix[q][k] phi_q. When normalised, a_k is divided
   by sum_q norm[q] phi_q, with a guard: the quotient fades to 0 where all phi are tiny, and never blows up. Centres
   store four floats per axis: a quaternion; or a translation, rotation vector or Euler angles in the first three; or a
   control value or hinge angle in the first. */
typedef struct pelt_rbf {
    uint32_t axis_count, center_count, coefficient_count;
    const pelt_axis *axes;
    const float *centers; /* [center][axis][4] */
    pelt_phi phi;
    float width;
    const float *matrix; /* [center][coefficient] */
    const float *norm;   /* [center], or NULL when not normalised */
} pelt_rbf;

/* Kernel ridge on rotations, zero at rest: with E_g(a, b) = exp(-(3 - tr R_a^T R_b) scale_g) of joint g,

       k_g(p, q) = E_g(p, q) - E_g(p, rest) - E_g(rest, q) + 1
       a_k = sum_q matrix[q][k] sum_units k_u(p, q),    k_u = gain k_g   or   gain k_g k_h for a pair of joints

   A control counts as a joint whose E_g(a, b) = exp(-(a - b)^2 scale_g). The joint tables are shared by all groups; a
   group is a set of units with its own coefficients. */
typedef struct pelt_kernel_unit {
    uint32_t first, second; /* indices into joints[]; second == first for a single joint */
    float gain;
} pelt_kernel_unit;

typedef struct pelt_kernel_group {
    uint32_t unit_count, center_count, coefficient_count;
    const uint32_t *units;   /* [unit_count] indices into pelt_kernel.units */
    const uint32_t *centers; /* [center_count] indices into the centres */
    const float *matrix;     /* [center_count][coefficient_count] */
} pelt_kernel_group;

/* k_g of joint g with its neighbours, as defined by format.h for the section NEAR. */
typedef struct pelt_neighbors {
    pelt_neighbor_form form;
    float single;
    const uint32_t *first, *list; /* [joint_count + 1], and the joints of each N(g) */
    const float (*ranges)[2];     /* [joint_count] smallest and largest value of a control, relative to rest */
} pelt_neighbors;

typedef struct pelt_kernel {
    uint32_t joint_count, center_count, unit_count, group_count;
    const uint32_t *joints; /* [joint_count] joints of the skeleton, then controls of the model */
    const float *scales;    /* [joint_count] */
    const float *centers;   /* [center_count][joint_count][4] quaternions; for controls, the value first */
    const pelt_kernel_unit *units;
    const pelt_kernel_group *groups;
    uint32_t control_count;     /* this many at the end of joints[] are controls */
    const pelt_neighbors *near; /* NULL: k_g depends on joint g alone */
} pelt_kernel;

/* Learned features of neighbourhoods of joints, zero at rest:

       h_n = f(x W_n + b_n) - f(b_n),    f_k(z) = (z + sqrt(z^2 + bend_k)) / 2,    a_k = sum over its blocks of B_kn M_n h_n

   M, if present, combines features into fewer sums, so that blocks are smaller. Blocks have eight columns: a group uses
   arbitrary eights of the sums of any sets.

   x concatenates the numbers of the neighbourhood's inputs: for a joint, the first two columns of R - I, six numbers;
   for a control, its value relative to rest, clamped to the range of the examples. */
typedef struct pelt_feature_input {
    uint32_t source;   /* a joint of the skeleton, or a control of the model */
    float least, most; /* for a control */
} pelt_feature_input;

typedef struct pelt_feature_set {
    uint32_t input_count, size; /* size: numbers in x */
    const uint32_t *inputs;     /* [input_count] indices into pelt_features.inputs */
    const float *matrix;        /* [size][width] */
    const float *offsets;       /* [width] */
    const float *mix;           /* M: [width][own rank]; NULL without a rank */
    uint32_t rank;              /* its number of sums, a multiple of 8 up to pelt_features.rank; 0 without sums */
} pelt_feature_set;

typedef struct pelt_feature_group {
    uint32_t eight_count, coefficient_count;
    const uint32_t *eights; /* [eight_count] eight i of set s is s x (rank, or width without sums) / 8 + i; sets in
                            order */
    const float *matrix;    /* [coefficient][eight_count][8] */
} pelt_feature_group;

typedef struct pelt_features {
    uint32_t width, input_count, set_count, group_count;
    uint32_t control_count; /* this many at the end of inputs[] are controls */
    uint32_t rank;          /* largest number of sums of a set, a multiple of 8; 0: groups use the features directly */
    const float *bends;     /* [width]; width is a multiple of 32 */
    const pelt_feature_input *inputs;
    const pelt_feature_set *sets;
    const pelt_feature_group *groups;
} pelt_features;

/* Vectors of the basis form; those of vertex v are entries first[v] to first[v + 1] - 1. */
typedef struct pelt_displacements {
    uint32_t *first;        /* [vertex_count + 1] */
    uint32_t *coefficients; /* index k: rbfs in order, then kernel groups, then feature groups */
    float *vectors;         /* [entry][3] */
} pelt_displacements;

typedef struct pelt_center_rows pelt_center_rows;

/* The weighted form. Every vertex has its own distance axes. */
typedef struct pelt_weighted {
    uint32_t axis_count, center_count; /* axes: rotations of joints, with weight 1 here */
    const pelt_axis *axes;             /* [axis_count] */
    const float *centers;              /* [center_count][axis_count][4] */
    pelt_phi phi;
    float width;
    const uint32_t *first;           /* [vertex_count + 1] the axes that drive a vertex ... */
    const uint32_t *vertex_axes;     /* ... */
    const float *axis_weights;       /* ... and their weights: r_v^2 = sum weight d_axis^2 */
    const float *folded;             /* [vertex][center][4]: c_iq, xyz and w */
    const float *folded_tilts;       /* [vertex][center][3] the same for normals, or NULL */
    bool unnormalised;               /* D_i = sum_q phi c_iq[xyz]: w is unused */
    float scale;                     /* the norm in the examples, of which PELT_NORM_FLOOR is a part; 0: 1 */
    const pelt_center_rows *rounded; /* cached result of packing it in 16 bits, or NULL */
} pelt_weighted;

typedef struct pelt_corrective {
    uint32_t rbf_count;
    const pelt_rbf *rbfs;
    const pelt_kernel *kernel;               /* NULL: none */
    const pelt_features *features;           /* NULL: none */
    const pelt_displacements *displacements; /* of rest positions; NULL: none */
    const pelt_displacements *tilts;         /* of rest normals; NULL: none */
    const pelt_weighted *weighted;           /* NULL: none */
} pelt_corrective;

/* -- Evaluation in double (corrective.c) -------------------------------------------------------------------------- */

/* The guarded reciprocal of a norm s: 1 / s from PELT_NORM_FLOOR up, fading to 0 with s below. */
double pelt_norm_guard(double s);

/* K of |x|^2, x . y and |y|^2. */
double pelt_neighbor_value(pelt_neighbor_form form, double xx, double xy, double yy);

double pelt_phi_value(pelt_phi phi, double width, double r2);
/* The same for many, faster, with a relative error of 1e-10. */
void pelt_phi_row(pelt_phi phi, double width, size_t count, const float *r2, double *out);

/* One pose. Anything no axis needs may be NULL. */
typedef struct pelt_pose_state {
    const float *rotations;    /* [joint][4] relative to rest */
    const float *translations; /* [joint][3] local */
    const float *controls;     /* [control of the model] relative to rest; NULL: all at rest */
} pelt_pose_state;

/* Squared distance between a pose and a centre along an axis, without the axis's weight. */
double pelt_axis_distance2(const pelt_axis *axis, const pelt_pose_state *pose, const float center[4]);
/* A pose as a centre: the four floats of one axis. */
void pelt_axis_center(const pelt_axis *axis, const pelt_pose_state *pose, float center[4]);
/* Adds the axis's weight times that squared distance to each of `count` centres, stored in planes [4][stride]. */
void pelt_add_distances2(const pelt_axis *axis, const pelt_pose_state *pose, size_t count, const float *planes,
                         size_t stride, double *out);

/* Coefficients a_k of the basis form in a pose, and their number. */
uint32_t pelt_corrective_coefficient_count(const pelt_corrective *corrective);
void pelt_corrective_coefficients(const pelt_corrective *corrective, const pelt_pose_state *pose, double *coefficients);

#endif
