/* loops.h: what pelt_pose leaves in scratch memory, and the loops that are written once for all instruction sets. */

#ifndef PELT_LOOPS_H
#define PELT_LOOPS_H

#include "runtime/skin.h"

/* A joint matrix fills a cache line: row-major 3x4; then, for skins with tangents, -1 if it mirrors, else 1; then 0 if
   it scales or shears, else 1; and two unused floats. */
#define PALETTE_STRIDE 16
#define PALETTE_HAND 12
#define PALETTE_RIGID 13

/* The head of the scratch memory. */
typedef struct pelt_pose_head {
    uint32_t rigid;    /* no joint scales or shears: normals move by the same matrices as positions */
    uint32_t mirrored; /* some joint mirrors; only set for skins with tangents */
    float level;       /* of detail */
} pelt_pose_head;

/* Byte offsets of what follows it. */
typedef struct pelt_pose_offsets {
    size_t palette;        /* T_j = global_j inverse_bind_j, [joint][PALETTE_STRIDE] */
    size_t normal_palette; /* T_j^-T, the same shape; only filled in when not rigid, or when joints are driven */
    size_t globals;        /* [joint][PALETTE_STRIDE] */
    size_t size;
} pelt_pose_offsets;

/* Matrices of the palette: the joints', then those of driven joints. */
static inline uint32_t pelt_matrix_count(const pelt_skin *skin) { return skin->joint_count + skin->driven_count; }

static inline pelt_pose_offsets pelt_pose_layout(const pelt_skin *skin) {
    pelt_pose_offsets at;
    size_t matrices = (size_t)pelt_matrix_count(skin) * PALETTE_STRIDE * sizeof(float);
    at.palette = PELT_ALIGN;
    at.normal_palette = at.palette + matrices;
    at.globals = at.normal_palette + matrices;
    at.size = at.globals + (size_t)skin->joint_count * PALETTE_STRIDE * sizeof(float);
    return at;
}

/* Input of the loops' pose_joints: everything but the palettes is read, including the globals if there are no
   locals. */
typedef struct pelt_joints_job {
    const pelt_skin *skin;
    const pelt_transform *locals; /* NULL: globals are given */
    float *globals, *palette, *normals;
} pelt_joints_job;

/* Of the 3x3 part of a joint matrix. */
void pelt_inverse_transpose(const float *m, float *out);

/* The matrix of a turn, twist or bend, in full generality; `out` is part of the palette. */
void pelt_pose_turn(const pelt_driven *d, const float *palette, float *out);

/* -- Correctives -------------------------------------------------------------------------------------------------- */

/* What pelt_pose_corrective uses and leaves behind, after pelt_pose_layout's part of the scratch memory; byte offsets
   from its start. Arrays over centres are padded to a multiple of 16. */
typedef struct pelt_corrective_offsets {
    size_t coefficients;  /* [coefficient] of the basis form */
    size_t row_factors;   /* [factor] the same in 16 bits, for 16-bit rows, */
    size_t tilt_factors;  /* and for tilts; */
    size_t factor_scales; /* their two scales */
    size_t distances; /* [axis][center] of the weighted form: negative squares, scaled so that phi is a power of two */
    size_t rotations; /* [joint][4] relative to rest */
    size_t translations;    /* [joint][4] */
    size_t controls;        /* [control][4] relative to rest, and zeros */
    size_t phi, gathered;   /* [center]; the second also [factor] */
    size_t joint_kernels;   /* [kernel joint][shared center] */
    size_t rest_kernels;    /* [kernel joint] E(pose, rest) - 1 */
    size_t joint_moves;     /* [kernel joint] nonzero if it is not at rest, in 32 bits */
    size_t neighbor_joints; /* [kernel joint] pelt_neighbor_joint */
    size_t near;    /* for kernels with neighbours, [kernel joint][2][center] x . y, |y|^2, then [kernel joint] |x|^2 */
    size_t numbers; /* [feature input][8] six numbers, and one that is 0 if they all are */
    size_t short_numbers;  /* the same in 16 bits, and the input's number of pairs */
    size_t unmixed;        /* [feature set][width] the features, if groups use sums of them */
    size_t short_unmixed;  /* the same in 16 bits */
    size_t features;       /* [feature set][what groups can use, padded to 16] */
    size_t short_features; /* [feature set][what groups can use] */
    size_t set_moves;      /* [feature set] nonzero if it is not at rest, in 32 bits */
    size_t eight_moves;    /* [feature set][what groups can use / 8] the same */
    uint64_t size;
} pelt_corrective_offsets;

/* Factors in 16 bits with a common scale. None is below -32767, so that the sum of two products fits 32 bits. */
typedef struct pelt_factors {
    const int16_t *list;
    float scale;
} pelt_factors;

/* A kernel joint in the pose, for kernels with neighbours. */
typedef struct pelt_neighbor_joint {
    float pose[4], scale, square; /* |v|^2 */
    uint32_t control;
    uint32_t first_lone, end_lone; /* range of its lone centres, in multiples of 16; end_lone 0: none */
} pelt_neighbor_joint;

static inline size_t pelt_take(uint64_t *end, uint64_t floats) {
    uint64_t at = *end;
    *end += pelt_aligned(floats * sizeof(float));
    return (size_t)at;
}

/* The first of them, up to the distances: what a pose leaves for others, possibly in another library. */
static inline pelt_corrective_offsets pelt_corrective_outputs(const pelt_skin *skin) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    const pelt_file_weighted *weighted =
        head->weighted ? (const pelt_file_weighted *)((const char *)head + head->weighted) : NULL;
    pelt_corrective_offsets at = {0};
    at.coefficients = pelt_take(&at.size, (uint64_t)head->coefficient_count + 3);    /* some are written in fours */
    at.row_factors = pelt_take(&at.size, weighted ? 0 : skin->factor_counts[0] / 2); /* two are as large as a float */
    at.tilt_factors = pelt_take(&at.size, weighted ? 0 : skin->factor_counts[1] / 2);
    at.factor_scales = pelt_take(&at.size, 2);
    at.distances = pelt_take(&at.size, weighted ? weighted->axis_count * pelt_padded(weighted->center_count) : 0);
    return at;
}
pelt_corrective_offsets pelt_corrective_layout(const pelt_skin *skin);

/* The end of scratch memory: positions and tangents of all slots, between the two passes of skins with rings, if the
   caller's buffers are not like that. */
typedef struct pelt_surface_offsets {
    uint64_t positions; /* [slot][3] */
    uint64_t tangents;  /* [slot][4] */
    uint64_t size;      /* of all scratch memory */
} pelt_surface_offsets;

static inline pelt_surface_offsets pelt_surface_layout(const pelt_skin *skin) {
    uint64_t slots = skin->rings ? (uint64_t)skin->block_count * PELT_BLOCK : 0;
    pelt_surface_offsets at;
    at.positions = pelt_pose_layout(skin).size + (pelt_has_corrective(skin) ? pelt_corrective_layout(skin).size : 0);
    /* One more line, since code that copies three floats may read a fourth. */
    at.tangents = at.positions + (slots ? slots * 3 * sizeof(float) + PELT_ALIGN : 0);
    at.size = at.tangents + (skin->rest_tangents ? slots * 4 * sizeof(float) : 0);
    return at;
}

/* Computes coefficients or distances from the joints' rotations and translations, and from the controls. */
void pelt_pose_corrective(const pelt_skin *skin, const pelt_pose_input *input, void *scratch);

/* Checks the section of learned features; its coefficients are added to *coefficients (features.c). */
pelt_result pelt_check_features(const pelt_skin *skin, uint64_t size, uint64_t *coefficients);

/* Checks the sections of a corrective and counts its factors; sizes are those of format.h's list. */
pelt_result pelt_check_corrective(pelt_skin *skin, const uint64_t *sizes);

/* Checks the section of expected errors (confidence.c). */
pelt_result pelt_check_confidence(const pelt_skin *skin, uint64_t size);

/* The rotation of a joint relative to rest, unit with w >= 0, out of joint matrices that are `stride` floats apart
   (corrective.c). */
void pelt_joint_rotation(const pelt_skin *skin, const float *globals, size_t stride, uint32_t joint, float rotation[4]);

#define NORM_FLOOR ((float)PELT_NORM_FLOOR)
/* How far the changed normal may lean from the rest normal, as a cosine, before tangents stop sliding further. */
#define LEAN_FLOOR 0.25f
#define MIXED_SHARE ((float)PELT_MIXED_SHARE)
/* sqrt(2 log2 e): the root of a squared distance scaled for a Gaussian, times this, is scaled for an exponential. */
#define GAUSSIAN_TO_EXP 1.6986436f

/* Adding and subtracting this number rounds to integers. */
#define ROUND_MAGIC 12582912.0f
/* 2^f for |f| <= 1/2, relative error 2e-9 before rounding. */
#define POWER_POLYNOMIAL(f) (POWER_SLOPE(f) * (f) + 1.0f)
#define POWER_SLOPE(f)                                                                                                 \
    ((((((f)*0.000153533615f + 0.0013398875f) * (f) + 0.00961843736f) * (f) + 0.0555033247f) * (f) + 0.240226479f) *   \
         (f) +                                                                                                         \
     0.693147203f)

/* One call of pelt_pose_corrective: everything is in scratch memory at `at`. */
typedef struct pelt_corrective_job {
    const pelt_skin *skin;
    char *scratch; /* base of `at` */
    pelt_corrective_offsets at;
    const struct pelt_loops *loops;
    const uint8_t *last; /* pelt_last_levels; NULL: all coefficients count */
    float level;
} pelt_corrective_job;

/* How many of some coefficients have to be computed at the job's level, the others being at the end. */
static inline uint32_t pelt_coefficients_needed(const pelt_corrective_job *job, uint32_t first, uint32_t count) {
    while (job->last && count && (float)job->last[first + count - 1] + 1 <= job->level) count--;
    return count;
}

/* The pose as seen by an axis: a rotation, or the coordinates whose differences are distances. */
void pelt_axis_pose(const pelt_corrective_job *job, const pelt_file_axis *axis, float pose[4]);

/* -- The loops ----------------------------------------------------------------------------------------------------- */

/* One call of pelt_deform, resolved. */
typedef struct pelt_deform_job {
    const pelt_skin *skin;
    pelt_rows rows, tilts; /* of its corrective */
    pelt_entries entries;
    pelt_entries fade_to; /* weights fade to these, by this much; 0: they do not */
    float fade;
    pelt_block_axes axes;
    const float *palette;
    const float *normal_palette;
    uint32_t first_scaled;     /* matrices from this one on have a different one in normal_palette */
    const float *coefficients; /* of the corrective's basis form, or NULL */
    pelt_factors row_factors;  /* the same in 16 bits */
    pelt_factors tilt_factors;
    const float *distances;   /* of its weighted form, or NULL */
    uint32_t distance_stride; /* floats from axis to axis */
    float weighted_share;     /* how much of its displacements counts: 1, or less while they fade */
    pelt_phi phi;             /* of the weighted form */
    int parts;                /* rows per centre of the weighted form: 4, or 3 without norm */
    uint32_t first_block, end_block;
    uint32_t origin; /* the first block of the outputs */
    float *box;      /* [6][16] low and high x, y, z of every lane, updated; NULL: not requested */
    float *positions;
    float *normals;  /* NULL: not requested */
    float *tangents; /* NULL: not requested; never without normals */
    int mirrored;    /* tangents may change handedness */
    int stream;      /* use non-temporal stores; then buffers are aligned to 64 */
} pelt_deform_job;

/* The second pass of skins with rings: normals of the deformed surface, and tangents across them. */
typedef struct pelt_shade_job {
    const pelt_skin *skin;
    const float *positions; /* [slot][3] of the whole mesh */
    uint32_t first_block, end_block;
    uint32_t origin;             /* the first block of what follows */
    const float *tangents_given; /* [slot][4] as the first pass leaves them */
    float *normals;
    float *tangents; /* NULL: not requested; may be tangents_given */
    int stream;      /* as in pelt_deform_job */
} pelt_shade_job;

/* Some vertices of one attribute, on their way from a buffer to the caller. */
typedef struct pelt_delivery {
    const float *from; /* [count][parts], plus four more readable floats */
    size_t parts;      /* 3 or 4 */
    size_t first, count;
    const uint32_t *vertices; /* [count] the caller's index of each; NULL: first, first + 1, ... */
    char *data;               /* the caller's vertex 0 */
    size_t stride;
    int half;   /* as four half floats */
    float last; /* the fourth of three */
} pelt_delivery;

typedef float four __attribute__((vector_size(16)));

#define LARGEST_HALF 65504.0f

/* Key points: out = mean + matrix x, for some blocks of 16 rows and some columns x. The matrix is stored as
   [block][inner][16]. */
enum { PELT_FILL_COLUMNS = 8 };

typedef struct pelt_fill_job {
    const float *mean; /* [block][16]; NULL: 0 */
    const void *matrix;
    int half; /* the matrix consists of half floats */
    uint32_t row_count, inner;
    uint32_t first_block, end_block;
    const float *x;                    /* [column][inner] */
    uint32_t column_count;             /* 1, 2, 3, 4 or 8 */
    float *columns[PELT_FILL_COLUMNS]; /* destination of each column's values... */
    size_t spacing;                    /* ...with this many floats from row to row */
} pelt_fill_job;

/* The variance of a region of the section CONF, rest |h|^2 + |h F|^2 of h = max(0, x W). */
typedef struct pelt_variance_job {
    const float *x;
    uint32_t count;                /* of x */
    const uint16_t *matrix, *fold; /* half floats */
    float rest;
} pelt_variance_job;

/* The loops of one instruction set. */
typedef struct pelt_loops {
    void (*deform)(const pelt_deform_job *job);
    void (*shade)(const pelt_shade_job *job);
    void (*deliver)(const pelt_delivery *delivery);
    int (*pose_joints)(const pelt_joints_job *job); /* returns whether all matrices are rigid */
    void (*pose_corrective)(const pelt_corrective_job *job);
    void (*short_features)(const pelt_corrective_job *job, const pelt_file_features *f); /* a part of pose_corrective */
    void (*fill)(const pelt_fill_job *job);
    float (*variance)(const pelt_variance_job *job);
} pelt_loops;

extern const pelt_loops pelt_loops_scalar, pelt_loops_simd128, pelt_loops_avx2, pelt_loops_avx512,
    pelt_loops_avx512_vnni;

/* The part that is specific to pelt_loops_avx512_vnni. */
void pelt_short_features_vnni(const pelt_corrective_job *job, const pelt_file_features *f);

/* The loops of a working instruction set; the scalar ones if this build lacks it. */
const pelt_loops *pelt_loops_of(pelt_isa isa);

#endif
