/* format.h: the bytes of a skin file, as docs/format.md describes them.

   A header, a table of sections, and the sections, each at a multiple of 64 bytes. All numbers are little-endian; the
   arrays are used in place. Unknown sections are skipped unless they are marked as required: then the skin needs
   something the reader cannot do, and opening fails. */

#ifndef PELT_FORMAT_H
#define PELT_FORMAT_H

#include <pelt/pelt.h>

#define PELT_MAGIC "PELTSKIN"
#define PELT_FORMAT_VERSION 1u

typedef struct pelt_file_header {
    char magic[8];
    uint32_t version;
    uint32_t section_count;
    uint64_t file_size;
    uint32_t vertex_count;
    uint32_t block_count;
    uint32_t joint_count;
    uint32_t entry_count;
    uint8_t reserved[24]; /* zero */
} pelt_file_header;

typedef struct pelt_file_section {
    uint32_t kind;  /* PELT_SECTION_... */
    uint32_t flags; /* PELT_SECTION_REQUIRED */
    uint64_t offset;
    uint64_t size;     /* bytes, without the padding to the next section */
    uint64_t reserved; /* zero */
} pelt_file_section;

#define PELT_SECTION_REQUIRED 1u
#define PELT_FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* The private field of a corrective's section (skin.h has typed views). */
#define PELT_PRIVATE(name) corrective[PELT_SECTION_##name - PELT_SECTION_CORRECTIVE]

/* Section, its four letters, the field of pelt_skin that points to it, its size in bytes (0: any), and whether every
   skin has it: the field of an absent section is NULL. */
#define PELT_SECTIONS(X)                                                                                               \
    X(JOINTS, PELT_FOURCC('J', 'N', 'T', 'S'), joints, (uint64_t)skin->joint_count * sizeof(pelt_joint), 1)            \
    X(NAMES, PELT_FOURCC('N', 'A', 'M', 'E'), names, 0, 1)                                                             \
    X(SLOTS, PELT_FOURCC('S', 'L', 'O', 'T'), vertex_slots, (uint64_t)skin->vertex_count * 4, 1)                       \
    X(BLOCKS, PELT_FOURCC('B', 'L', 'O', 'K'), block_first, ((uint64_t)skin->block_count + 1) * 4, 1)                  \
    X(ENTRIES, PELT_FOURCC('E', 'N', 'T', 'R'), entry_joints, (uint64_t)skin->entry_count * 2, 1)                      \
    X(WEIGHTS, PELT_FOURCC('W', 'G', 'H', 'T'), entry_weights, (uint64_t)skin->entry_count * 4 * PELT_BLOCK, 1)        \
    X(POSITIONS, PELT_FOURCC('R', 'P', 'O', 'S'), rest_positions, (uint64_t)skin->block_count * 12 * PELT_BLOCK, 1)    \
    X(NORMALS, PELT_FOURCC('R', 'N', 'R', 'M'), rest_normals, (uint64_t)skin->block_count * 12 * PELT_BLOCK, 1)        \
    X(TANGENTS, PELT_FOURCC('R', 'T', 'A', 'N'), rest_tangents, (uint64_t)skin->block_count * 16 * PELT_BLOCK, 0)      \
    X(MESH_HASH, PELT_FOURCC('H', 'A', 'S', 'H'), mesh_hash, sizeof(uint64_t), 0)                                      \
    X(DRIVEN, PELT_FOURCC('D', 'R', 'V', 'N'), driven, 0, 0)                                                           \
    X(CONTROLS, PELT_FOURCC('C', 'T', 'R', 'L'), controls, 0, 0)                                                       \
    X(CORRECTIVE, PELT_FOURCC('D', 'R', 'I', 'V'), PELT_PRIVATE(CORRECTIVE), 0, 0)                                     \
    X(ROW_FIRST, PELT_FOURCC('C', 'B', 'L', 'K'), PELT_PRIVATE(ROW_FIRST), ((uint64_t)skin->block_count + 1) * 4, 0)   \
    X(ROW_SOURCES, PELT_FOURCC('C', 'S', 'R', 'C'), PELT_PRIVATE(ROW_SOURCES), 0, 0)                                   \
    X(ROW_FLOATS, PELT_FOURCC('C', 'F', '3', '2'), PELT_PRIVATE(ROW_FLOATS), 0, 0)                                     \
    X(ROW_SHORTS, PELT_FOURCC('C', 'I', '1', '6'), PELT_PRIVATE(ROW_SHORTS), 0, 0)                                     \
    X(ROW_FACTORS, PELT_FOURCC('C', 'F', 'A', 'C'), PELT_PRIVATE(ROW_FACTORS), 0, 0)                                   \
    X(TILT_FIRST, PELT_FOURCC('T', 'B', 'L', 'K'), PELT_PRIVATE(TILT_FIRST), ((uint64_t)skin->block_count + 1) * 4, 0) \
    X(TILT_SOURCES, PELT_FOURCC('T', 'S', 'R', 'C'), PELT_PRIVATE(TILT_SOURCES), 0, 0)                                 \
    X(TILT_FLOATS, PELT_FOURCC('T', 'F', '3', '2'), PELT_PRIVATE(TILT_FLOATS), 0, 0)                                   \
    X(TILT_SHORTS, PELT_FOURCC('T', 'I', '1', '6'), PELT_PRIVATE(TILT_SHORTS), 0, 0)                                   \
    X(TILT_FACTORS, PELT_FOURCC('T', 'F', 'A', 'C'), PELT_PRIVATE(TILT_FACTORS), 0, 0)                                 \
    X(AXIS_FIRST, PELT_FOURCC('A', 'B', 'L', 'K'), PELT_PRIVATE(AXIS_FIRST), ((uint64_t)skin->block_count + 1) * 4, 0) \
    X(AXIS_SOURCES, PELT_FOURCC('A', 'S', 'R', 'C'), PELT_PRIVATE(AXIS_SOURCES), 0, 0)                                 \
    X(AXIS_WEIGHTS, PELT_FOURCC('A', 'W', 'G', 'T'), PELT_PRIVATE(AXIS_WEIGHTS), 0, 0)                                 \
    X(FEATURES, PELT_FOURCC('F', 'T', 'S', 'U'), PELT_PRIVATE(FEATURES), 0, 0)                                         \
    X(NEAR, PELT_FOURCC('N', 'E', 'A', 'R'), PELT_PRIVATE(NEAR), 0, 0)                                                 \
    X(RINGS, PELT_FOURCC('R', 'I', 'N', 'G'), rings, 0, 0)                                                             \
    X(LEVELS, PELT_FOURCC('L', 'E', 'V', 'L'), levels, 0, 0)                                                           \
    X(CONFIDENCE, PELT_FOURCC('C', 'O', 'N', 'F'), confidence, 0, 0)                                                   \
    X(FACTS, PELT_FOURCC('F', 'A', 'C', 'T'), facts, 0, 0)                                                             \
    X(ABOUT, PELT_FOURCC('I', 'N', 'F', 'O'), about, 0, 1)

enum {
#define PELT_SECTION_ENUM(name, code, field, size, always) PELT_SECTION_##name,
    PELT_SECTIONS(PELT_SECTION_ENUM)
#undef PELT_SECTION_ENUM
        PELT_SECTION_COUNT
};

/* The five sections of rows, relative to the first of them. */
enum { PELT_ROW_FIRST, PELT_ROW_SOURCES, PELT_ROW_FLOATS, PELT_ROW_SHORTS, PELT_ROW_FACTORS };

/* -- Facts about the fit: the section FACT ---------------------------------------------------------------------------
   For tools; not needed at run time. The struct is followed by f64 [value_count], the singular values of EigenSkin's
   movers, mover by mover; u32 [mover_count], how many each has; and zero-terminated texts: those of pelt_fact_text,
   with one for every clip, and the names of the movers. */

/* Numbers are as in pelt_measure (pelt/fit.h); negative: unknown. */
typedef struct pelt_fact_measure {
    double rms, max, rel_err, roughness, normal_rms_degrees;
    uint32_t frame_count; /* 0: not measured */
    uint32_t reserved;
} pelt_fact_measure;

struct pelt_facts {
    uint32_t method, blend, corrective; /* enums of pelt/fit.h; unknown values are no error */
    uint32_t example_count;
    pelt_fact_measure train, holdout;
    uint32_t clip_count, mover_count, value_count, reserved;
};

typedef struct pelt_facts pelt_facts;

enum pelt_fact_text { PELT_FACT_MADE_BY, PELT_FACT_BUNDLE, PELT_FACT_CLIPS };

/* -- From poses to coefficients or pose distances: the section DRIV --------------------------------------------------
   Offsets are bytes from the start of the section, multiples of 64. Arrays over centres are padded with zeros to a
   multiple of 16 centres. */

typedef struct pelt_file_corrective {
    uint32_t coefficient_count; /* of all rbfs in order, then of all kernel groups, then of all feature groups */
    uint32_t rbf_count, axis_count, reserved;
    uint64_t rbfs, axes; /* pelt_file_rbf[rbf_count], pelt_file_axis[axis_count] */
    uint64_t retired;    /* 0: formerly a different kind of kernel */
    uint64_t weighted;   /* pelt_file_weighted, or 0 */
    uint64_t kernel;     /* pelt_file_kernel, or 0 */
    uint64_t unused;
} pelt_file_corrective;

/* The terms of a pose distance: r^2 = sum over axes of weight * d^2. */
typedef enum pelt_axis_kind {
    PELT_AXIS_ROTATION = 0,    /* d = angle between the two rotations of a joint, radians, 0 to pi */
    PELT_AXIS_TRANSLATION = 2, /* d = distance between the two local translations; 1 was a hinge, and is refused */
    PELT_AXIS_CHORD = 3,       /* d = 2 sin(angle / 2): like the angle when close, smooth past half a turn, and a
                                  Euclidean distance, so that Gaussians of it are positive definite (those of the angle
                                  are not) */
    PELT_AXIS_CONTROL = 4,     /* d = difference of the values of a control */
    PELT_AXIS_VECTOR = 5,      /* d = distance between the rotation vectors, axis times angle, 0 to pi */
    PELT_AXIS_EULER = 6,       /* d = distance between the Euler angles a, b, c of R = Rz(c) Ry(b) Rx(a) */
    PELT_AXIS_HINGE = 7,       /* d = difference of the angles about `direction`, of a joint that the examples turn
                                  about one axis and further than half a turn in all (pelt_file_axis) */
} pelt_axis_kind;

/* Shapes of phi. */
typedef enum pelt_phi {
    PELT_PHI_EXP,      /* exp(-r / width) */
    PELT_PHI_GAUSSIAN, /* exp(-r^2 / (2 width^2)) */
    PELT_PHI_MIXED,    /* the Gaussian and a little of the exponential: as smooth as the one between examples, as well
                          conditioned as the other where they are close */
    PELT_PHI_COUNT
} pelt_phi;

/* The exponential's share in the mixed phi. */
#define PELT_MIXED_SHARE 0.03

/* A normalised sum is divided by its norm s; where all centres are far away that would be 0 / 0. Below this value the
   quotient fades to 0 instead. */
#define PELT_NORM_FLOOR 0.25

/* The angle of a hinge is measured from the middle of the examples' range, -pi to pi, so that it is continuous where it
   passes half a turn from rest. It is used as it is up to `reach`, a third of the way from the end of the range to the
   other end around the back; beyond that it returns to 0 at pi, and on to -reach, so that it is continuous
   everywhere. */
typedef struct pelt_file_axis {
    uint32_t kind, joint; /* for PELT_AXIS_CONTROL, the control */
    float direction[3];   /* for PELT_AXIS_HINGE, unit; otherwise this and the last two are 0 */
    float weight;
    float middle, reach; /* radians; reach is less than PELT_MOST_REACH */
} pelt_file_axis;

#define PELT_MOST_REACH 3.14f

typedef struct pelt_file_rbf {
    uint32_t first_axis, axis_count, center_count, coefficient_count, first_coefficient;
    uint32_t phi, normalised;
    float width;
    uint64_t centers; /* f32 [axis][4][center]; controls relative to rest, then zeros */
    uint64_t matrix;  /* f32 [coefficient][center]; one more row when normalised: the norm */
    uint64_t bias;    /* f32 per row of the matrix: the row's sum */
    uint64_t unused;
} pelt_file_rbf;

/* The first shared_count centres may move any joints. Each of the others moves one kernel joint and is not in
   `centers`; if there are any, shared_count is a multiple of 16. */
typedef struct pelt_file_kernel {
    uint32_t joint_count, center_count, unit_count, group_count;
    uint64_t joints;       /* pelt_file_kernel_joint[joint_count] */
    uint64_t centers;      /* f32 [joint][5][shared center]: four for its pose, and 1 - E(rest, center) */
    uint64_t units;        /* pelt_file_kernel_unit[unit_count] */
    uint64_t groups;       /* pelt_file_kernel_group[group_count] */
    uint64_t lone;         /* pelt_file_lone_center[center_count - shared_count]; 0: all centres are shared */
    uint32_t shared_count; /* 0 where lone is */
    uint32_t unused;
} pelt_file_kernel;

typedef struct pelt_file_lone_center {
    float pose[4]; /* of its joint, as in `centers` */
    uint32_t joint;
    float rest; /* 1 - E(rest, center) */
    uint32_t reserved[2];
} pelt_file_lone_center;

typedef struct pelt_file_kernel_joint {
    uint32_t joint; /* from joint_count on: a control */
    float scale;
} pelt_file_kernel_joint;

typedef struct pelt_file_kernel_unit {
    uint32_t first, second; /* kernel joints; equal for a single joint */
    float gain;
    uint32_t reserved;
} pelt_file_kernel_unit;

typedef struct pelt_file_kernel_group {
    uint32_t unit_count, center_count, coefficient_count, first_coefficient;
    uint64_t units;   /* u32 [unit_count] */
    uint64_t centers; /* u32 [center_count] */
    uint64_t matrix;  /* f32 [coefficient][center], for the group's own centres */
    uint64_t unused[3];
} pelt_file_kernel_group;

typedef struct pelt_file_weighted {
    uint32_t first_axis, axis_count, center_count, phi;
    float width;
    uint32_t normalised; /* 0: rows have no norm, [row][3][16] */
    uint32_t reserved[2];
    uint64_t centers; /* f32 [axis][4][center] */
    uint64_t
        moving; /* u64 [axis][pelt_moving_words]: bit s of an axis is set unless centres 16 s to 16 s + 15 are where
                         centre 0 is; 0: anything may be anywhere */
    uint64_t unused[2];
} pelt_file_weighted;

/* -- Kernels of neighbourhoods: the section NEAR ----------------------------------------------------------------------
   If present, k_g of the kernel in DRIV depends on kernel joint g with its neighbours, N(g), for all centres; in lone
   centres the other joints are at rest:

       k_g = K(N(g)) + single K(g),    x . y = sum over the joints of a set of scale_g x_g . y_g

   x_g is R - I of a joint divided by the root of 2, nine numbers, or the value of a control clamped to its training
   range. Offsets are bytes from the start of the section, multiples of 64. */

typedef enum pelt_neighbor_form {
    PELT_NEAR_ARC,      /* K = |x| |y| (sin t + (pi - t) cos t) / pi, t the angle between x and y */
    PELT_NEAR_GAUSSIAN, /* K = E(x, y) - E(x, 0) - E(0, y) + 1, E(x, y) = exp(-|x - y|^2 / 2) */
    PELT_NEAR_MATERN,   /* the same with E(x, y) = (1 + r) exp(-r), r = sqrt(3) |x - y| */
    PELT_NEAR_FORM_COUNT
} pelt_neighbor_form;

typedef struct pelt_file_neighbors {
    uint32_t form, joint_count; /* joint_count: that of the kernel */
    float single;
    uint32_t reserved;
    uint64_t first; /* u32 [joint_count + 1] */
    uint64_t list;  /* u32 [first[joint_count]] the kernel joints of each N(g) */
    uint64_t unused[4];
} pelt_file_neighbors;

/* -- Learned features: the section FTSU -------------------------------------------------------------------------------
   h = z - b + sqrt(z^2 + bend) - sqrt(b^2 + bend) with z = b + s x W; b, bend and the root at rest are in the file.
   Offsets are bytes from the start of the section, multiples of 64. Matrices are floats, and s is 1/2; or they are all
   16-bit integers, and so are x, h and sums of h: each number of x is scaled so that its maximum is PELT_SHORT_MOST,
   and s W so that no h exceeds that. Integer rows that are summed to one result have absolute sums of at most
   PELT_ROW_MOST, so that sums fit 32 bits. */

enum { PELT_FEATURES_AT_ONCE = 32, PELT_MOST_FEATURES = 1024 };

#define PELT_SHORT_MOST 32767.0f
#define PELT_ROW_MOST 65535.0f
#define PELT_MOST_TURN 2.0f        /* numbers of a joint */
#define PELT_FEATURE_STEP 0x1p-17f /* s in 16 bits: h is up to twice s x W */

typedef struct pelt_file_features {
    uint32_t width; /* features per set, a multiple of PELT_FEATURES_AT_ONCE up to PELT_MOST_FEATURES */
    uint32_t input_count, set_count, group_count;
    uint64_t unused;
    uint64_t inputs;     /* pelt_file_feature_input[input_count] */
    uint64_t sets;       /* pelt_file_feature_set[set_count] */
    uint64_t groups;     /* pelt_file_feature_group[group_count] */
    uint32_t rank;       /* largest number of sums per set, a multiple of 8; 0: groups use the features */
    uint32_t in_16_bits; /* 1, or 0 */
    uint64_t reserved;
} pelt_file_features;

typedef struct pelt_file_feature_input {
    uint32_t source;   /* from joint_count on: a control */
    float least, most; /* of a control, relative to rest; 0 for a joint */
    uint32_t reserved;
} pelt_file_feature_input;

typedef struct pelt_file_feature_set {
    uint32_t input_count, size; /* size: six numbers per joint, one per control */
    uint64_t inputs;            /* u32 [input_count] */
    uint64_t matrix;            /* f32 [size][width]; or i16 [three pairs for a joint, one for a control][width][2] */
    uint64_t offsets;           /* f32 [3][width] b; bends, not negative; the roots at rest */
    uint64_t mix;               /* f32 [width][rank16], or i16 [own rank / 4][width / 8][4][8]; 0 without a rank */
    uint64_t mix_steps;         /* f32 [own rank] of the mix in 16 bits, or 0 */
    uint64_t unused;
    uint32_t rank, reserved; /* rank: its own sums, a multiple of 8 */
} pelt_file_feature_set;

typedef struct pelt_file_feature_group {
    uint32_t eight_count, coefficient_count, first_coefficient, reserved;
    uint64_t eights; /* u32 [eight_count] the eights it uses: set x (seen / 8) + eight */
    uint64_t
        matrix;     /* f32 [coefficient][8 eight_count, padded to a multiple of 32]; or in 16 bits, padded with zeros to
                        a multiple of four coefficients, i16 [coefficient / 4][own eight][4][8] */
    uint64_t steps; /* f32 [coefficient], padded to a multiple of four, in 16 bits, or 0 */
    uint64_t unused[3];
} pelt_file_feature_group;

/* -- Normals of the deformed surface: the section RING ----------------------------------------------------------------
   Offsets are from the start of the section. Rows walk around the 16 vertices of a block, a step each. */

typedef struct pelt_file_walks {
    uint32_t first_row;
    uint32_t careful;    /* 1: the last slot of all is among its own or its rows, behind which nothing may be read */
    uint32_t lengths[4]; /* how many rows are for the first, second, third, last four vertices; odd, and never more
                            than for those before */
} pelt_file_walks;

typedef struct pelt_file_rings {
    uint32_t by_angle; /* triangles count by their angle at the vertex; 0: by their area */
    float scale;       /* of the sums: near 1 over the square of an edge, so that their squares are in range */
    uint32_t unused[2];
    uint64_t walks;  /* pelt_file_walks [block_count + 1] */
    uint64_t rows;   /* u32 [row][16] three times a slot: where its position is in an array of floats */
    uint64_t bends;  /* f32 [block][3][16] the normal in the frame of the surface, or 0 */
    uint64_t across; /* u32 [block][16] the slot that the first axis of that frame points to, or 0 */
} pelt_file_rings;

/* -- Levels of detail: the section LEVL ------------------------------------------------------------------------------
   Level 0 is the whole skin. The next ones lack more and more displacements, then all of them, then have fewer joints.
   Rows of a block that a level lacks come last, so a level is the beginning of each list. Offsets as in DRIV. */

typedef struct pelt_file_level {
    float rms, p95;               /* distance of vertices from their places at level 0, over the training examples */
    uint64_t row_ends, tilt_ends; /* u32 [block] the end of the block's rows; 0: as at the level before */
    uint64_t block_first, entry_joints, entry_weights; /* its blend, like BLOK, ENTR and WGHT; 0: as before */
    uint64_t reserved[2];
} pelt_file_level;

struct pelt_file_levels {
    uint32_t level_count;     /* 2 to PELT_MOST_LEVELS */
    uint32_t displaced_count; /* levels from this one on have no displacements */
    uint64_t levels;          /* pelt_file_level[level_count] */
    uint64_t last;            /* u8 [coefficient] the last level that has it; 0: weighted form, or no corrective */
    uint64_t reserved[5];
};

typedef struct pelt_file_levels pelt_file_levels;

enum {
    PELT_MOST_LEVELS = 64,
    PELT_MOST_MERGED = 128, /* joints of a block whose weights fade to those of another level */
};

/* -- How wrong the skin is expected to be: the section CONF -----------------------------------------------------------
   The squared error of a region, from the posterior variance of a regression on the rotations x of its inputs:

       e^2 = floor + gain (rest |h|^2 + |h F|^2),   h = max(0, x W)

   x has three numbers per input: twice the vector part of a joint's rotation relative to rest, w >= 0; or a control's
   value relative to rest, times its scale, and two zeros. A region says region_margin e; the frame says frame_margin
   times the root of the mean of e^2 over all vertices. Offsets are from the start of the section, multiples of 64. */

enum { PELT_DOUBT_FEATURES = 32, PELT_DOUBT_RANK = 16, PELT_DOUBT_INPUTS = 256, PELT_DOUBT_REGIONS = 255 };

struct pelt_file_confidence {
    uint32_t region_count, input_count; /* at most PELT_DOUBT_REGIONS and PELT_DOUBT_INPUTS; at least one region */
    float frame_margin, region_margin;  /* above 0: of 20 held-out frames, 19 stay below what is said */
    uint32_t frame_count;               /* the held-out examples that these are from */
    float correlation;                  /* of the logarithms of said and true errors on them */
    float median;                       /* of said over true errors on them */
    uint32_t reserved;
    uint64_t inputs;   /* pelt_file_doubt_input[input_count] */
    uint64_t regions;  /* pelt_file_doubt_region[region_count] */
    uint64_t vertices; /* u8 [vertex_count] the region of each vertex */
    uint64_t unused;
};

typedef struct pelt_file_confidence pelt_file_confidence;

typedef struct pelt_file_doubt_input {
    uint32_t source; /* a joint; from joint_count on: a control */
    float scale;     /* of a control; 1 for a joint */
} pelt_file_doubt_input;

typedef struct pelt_file_doubt_region {
    uint32_t joint; /* whose name it has */
    uint32_t input_count, vertex_count, reserved;
    float floor, gain, rest; /* not negative */
    float unused;
    uint64_t inputs; /* u32 [input_count] */
    uint64_t matrix; /* W, half [3 input_count][PELT_DOUBT_FEATURES] */
    uint64_t fold;   /* F, half [PELT_DOUBT_FEATURES][PELT_DOUBT_RANK] */
    uint64_t zero;
} pelt_file_doubt_region;

/* Centres are processed sixteen at a time. */
static inline uint64_t pelt_padded(uint64_t count) { return (count + PELT_BLOCK - 1) / PELT_BLOCK * PELT_BLOCK; }

/* 64-bit words that hold one bit for every sixteen centres. */
static inline uint64_t pelt_moving_words(uint64_t center_count) { return (center_count + 1023) / 1024; }

/* Rows of a matrix in tiles of four rows and eight columns. */
static inline uint64_t pelt_tiled_rows(uint64_t count) { return (count + 3) / 4 * 4; }

/* What groups can use of a set; and all that a group uses, padded like its float matrix. */
static inline uint32_t pelt_features_seen(const pelt_file_features *f) { return f->rank ? f->rank : f->width; }
static inline uint64_t pelt_feature_columns(uint32_t eight_count) {
    return (8 * (uint64_t)eight_count + PELT_FEATURES_AT_ONCE - 1) / PELT_FEATURES_AT_ONCE * PELT_FEATURES_AT_ONCE;
}

static inline uint32_t pelt_shared_count(const pelt_file_kernel *kernel) {
    return kernel->lone ? kernel->shared_count : kernel->center_count;
}

/* Bytes rounded up to where the next section or scratch array may start. */
static inline uint64_t pelt_aligned(uint64_t bytes) { return (bytes + PELT_ALIGN - 1) / PELT_ALIGN * PELT_ALIGN; }

/* As a size_t: what exceeds the address space becomes a size that no allocation can satisfy. */
static inline size_t pelt_memory_size(uint64_t bytes) { return bytes == (size_t)bytes ? (size_t)bytes : SIZE_MAX; }

_Static_assert(sizeof(pelt_file_corrective) == 64 && sizeof(pelt_file_axis) == 32 && sizeof(pelt_file_rbf) == 64 &&
                   sizeof(pelt_file_kernel) == 64 && sizeof(pelt_file_kernel_joint) == 8 &&
                   sizeof(pelt_file_lone_center) == 32 && sizeof(pelt_file_kernel_unit) == 16 &&
                   sizeof(pelt_file_kernel_group) == 64 && sizeof(pelt_file_weighted) == 64 &&
                   sizeof(pelt_file_neighbors) == 64,
               "the structures of DRIV and NEAR have no hidden padding");
_Static_assert(sizeof(pelt_file_features) == 64 && sizeof(pelt_file_feature_input) == 16 &&
                   sizeof(pelt_file_feature_set) == 64 && sizeof(pelt_file_feature_group) == 64,
               "the structures of FTSU have no hidden padding");
_Static_assert(sizeof(pelt_file_rings) == 48 && sizeof(pelt_file_walks) == 24, "RING has no hidden padding");
_Static_assert(sizeof(pelt_file_levels) == 64 && sizeof(pelt_file_level) == 64, "LEVL has no hidden padding");
_Static_assert(sizeof(pelt_file_confidence) == 64 && sizeof(pelt_file_doubt_input) == 8 &&
                   sizeof(pelt_file_doubt_region) == 64,
               "CONF has no hidden padding");
_Static_assert(sizeof(pelt_facts) == 128 && sizeof(pelt_fact_measure) == 48, "FACT has no hidden padding");
_Static_assert(sizeof(pelt_file_header) == 64, "the header is 64 bytes");
_Static_assert(sizeof(pelt_file_section) == 32, "a table entry is 32 bytes");
_Static_assert(sizeof(pelt_joint) == 96, "a joint is 96 bytes");
_Static_assert(sizeof(pelt_driven) == 72, "a driven joint is 72 bytes");
_Static_assert(sizeof(pelt_control) == 16, "a control is 16 bytes");

#endif
