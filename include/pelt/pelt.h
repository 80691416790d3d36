/* pelt.h: run a skin.

   A skin (a .pelt file) deforms a character's mesh: give it the pose of the skeleton, it gives the positions and
   normals of the vertices. This header is the whole run time: C99, no dependency, no allocation, no global state,
   nothing printed, nothing read. The library is `libpelt`; `fit.h` is the other half, which makes skins.

   In fifteen lines:

       pelt_skin skin;                                        // bytes: the .pelt file, 64-byte aligned, kept by you
       if (pelt_open(bytes, size, &skin) != PELT_OK) ...
       void  *scratch   = aligned_alloc(64, pelt_scratch_size(&skin));
       float *positions = aligned_alloc(64, pelt_output_size(&skin));
       float *normals   = aligned_alloc(64, pelt_output_size(&skin));

       // every frame: fill locals[joint] (start from skin.joints[joint].rest), then
       pelt_pose(&skin, locals, scratch);
       pelt_deform(&skin, scratch, pelt_all_blocks(&skin), positions, normals);

       // vertex v of the mesh is at positions + 3 * skin.vertex_slots[v]

   Vertices come out in *slot* order: pelt groups vertices that follow the same joints into blocks of 16, which is why
   it is fast. Renumber your index buffer (and the other vertex attributes) once at load time with `vertex_slots`, and
   the output buffers are vertex buffers.

   Threads: a skin is read-only after pelt_open and can be shared. One scratch per character and frame; pelt_deform may
   run on several threads at once over different block ranges of the same scratch.

   Spaces: positions are in the model space of the file that the skin was made from. Matrices are row-major 3x4
   (the last column is the translation), points are column vectors. Quaternions are x, y, z, w. */

#ifndef PELT_H
#define PELT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_VERSION "0.1.0"

/* Vertices in a block, and the alignment that buffers should have. */
#define PELT_BLOCK 16
#define PELT_ALIGN 64

/* Every result that a pelt function can return, with its message. */
#define PELT_RESULTS(X)                                                                                                \
    X(PELT_OK, "done")                                                                                                 \
    X(PELT_ERROR_ARGUMENT, "an argument is out of range")                                                              \
    X(PELT_ERROR_MEMORY, "out of memory")                                                                              \
    X(PELT_ERROR_FILE, "a file cannot be opened, read or written")                                                     \
    X(PELT_ERROR_FORMAT, "a file is damaged or breaks its format")                                                     \
    X(PELT_ERROR_UNSUPPORTED, "a file uses something that this version of pelt does not know")                         \
    X(PELT_ERROR_ALIGNMENT, "the bytes of a skin must be aligned to 64")                                               \
    X(PELT_ERROR_TRUNCATED, "a file is shorter than it says")                                                          \
    X(PELT_ERROR_VERSION, "the skin file has another version than this library")                                       \
    X(PELT_ERROR_NUMBER, "a number is not finite or not usable")                                                       \
    X(PELT_ERROR_INDEX, "an index points outside its array")                                                           \
    X(PELT_ERROR_DATA, "the data do not fit together")                                                                 \
    X(PELT_ERROR_CANCELLED, "stopped on request")

typedef enum pelt_result {
#define PELT_RESULT_NAME(name, text) name,
    PELT_RESULTS(PELT_RESULT_NAME)
#undef PELT_RESULT_NAME
        PELT_RESULT_COUNT
} pelt_result;

/* The message of a result, as in the list above. Never NULL. */
const char *pelt_result_text(pelt_result result);

/* A transform relative to the parent: scale first, then rotate, then translate. */
typedef struct pelt_transform {
    float rotation[4]; /* unit quaternion x, y, z, w */
    float translation[3];
    float scale[3];
} pelt_transform;

/* A joint of the skeleton. Parents come before their children. */
typedef struct pelt_joint {
    int32_t parent;         /* index of the parent joint, -1 for a root */
    pelt_transform rest;    /* relative to the parent */
    float inverse_bind[12]; /* model space of the rest mesh to joint space, row-major 3x4 */
    uint32_t name;          /* offset of the name in pelt_skin.names */
} pelt_joint;

/* A named number beside the joints that the shape also depends on: the tension of a muscle, a smile. */
typedef struct pelt_control {
    uint32_t name;     /* offset of the name in pelt_skin.names */
    float rest;        /* its value at rest */
    float least, most; /* the values that the skin has seen; others are taken as they are */
} pelt_control;

/* What a driven joint does with the motion of the joint that drives it. */
#define PELT_DRIVEN_KINDS(X)                                                                                           \
    X(PELT_DRIVEN_TURN, "turn")   /* a fraction of its rotation, at the same place */                                  \
    X(PELT_DRIVEN_TWIST, "twist") /* a fraction of the part about the bone */                                          \
    X(PELT_DRIVEN_BEND, "bend")   /* a fraction of the rest */                                                         \
    X(PELT_DRIVEN_BULGE, "bulge") /* scales the middle of a bone up across it as the limb folds */                     \
    X(PELT_DRIVEN_DENT, "dent")   /* scales it down */

typedef enum pelt_driven_kind {
#define PELT_DRIVEN_NAME(name, text) name,
    PELT_DRIVEN_KINDS(PELT_DRIVEN_NAME)
#undef PELT_DRIVEN_NAME
        PELT_DRIVEN_KIND_COUNT
} pelt_driven_kind;

/* A joint that pelt_pose computes from others (runtime/driven.c has the formulas). Vectors are in the model space of
   the rest mesh. */
typedef struct pelt_driven {
    uint32_t kind;       /* pelt_driven_kind */
    int32_t parent;      /* the joint that the driver moves relative to; -1: none, never for bulges */
    uint32_t driver;     /* the joint whose motion is used */
    uint32_t host;       /* the joint that carries it: the driver, or for a bulge the joint whose bone it is in */
    float amount;        /* the fraction; of bulges k, which is at least 0 */
    uint32_t name;       /* offset of the name in pelt_skin.names */
    float origin[3];     /* where the driver is; of bulges the middle of the bone */
    float axis[3];       /* twist, bend: along the bone; of bulges across it; unit length */
    float upstream[3];   /* bulges: from the driver to the parent */
    float downstream[3]; /* bulges: from the driver to its children, summed */
} pelt_driven;

/* Instruction sets of the deform loop. All give the same positions to rounding. */
#define PELT_ISAS(X)                                                                                                   \
    X(PELT_ISA_SCALAR, "scalar")                                                                                       \
    X(PELT_ISA_SIMD128, "simd128") /* SSE2, NEON or WebAssembly SIMD */                                                \
    X(PELT_ISA_AVX2, "avx2")                                                                                           \
    X(PELT_ISA_AVX512, "avx512")

typedef enum pelt_isa {
#define PELT_ISA_NAME(name, text) name,
    PELT_ISAS(PELT_ISA_NAME)
#undef PELT_ISA_NAME
        PELT_ISA_COUNT
} pelt_isa;

/* The name of an instruction set, as in the list above; pelt_isa_name(PELT_ISA_SIMD128) is what it is on this machine:
   "sse", "neon" or "wasm". */
const char *pelt_isa_name(pelt_isa isa);

/* 1 when this build and this machine can run the instruction set. */
int pelt_isa_works(pelt_isa isa);

/* What rows of 16 bits are multiplied by: a coefficient, and the step that their whole numbers count. */
typedef struct pelt_factor {
    uint32_t coefficient;
    float step;
} pelt_factor;

/* Vectors in rows of 16: one row for each block and source that some vertex of the block uses. A source is a
   coefficient of the corrective, or a centre of its weighted form. */
typedef struct pelt_rows {
    const uint32_t *first;      /* [block_count + 1] first row of each block */
    const uint16_t *sources;    /* [row] */
    const float *floats;        /* [row][3][16]; with norm [row][4][16]; or in 16 bits: */
    const int16_t *pairs;       /* [row / 2][3][16][2], two rows side by side */
    const pelt_factor *factors; /* [factor_count]; the source of a row is then one of them, of two that follow each
                                   other; the weighted form has two for each block, for vectors and for the norm */
    uint32_t factor_count;
} pelt_rows;

/* An opened skin: counts, and pointers into the bytes given to pelt_open. Treat it as read-only, except `isa`. */
typedef struct pelt_skin {
    uint32_t vertex_count; /* vertices of the mesh */
    uint32_t block_count;  /* blocks of 16 slots that hold them; the last one may have unused slots */
    uint32_t joint_count;
    uint32_t entry_count; /* (block, joint) pairs: what the blend costs */

    const pelt_joint *joints;     /* [joint_count], parents first */
    const char *names;            /* zero-terminated names, see pelt_joint.name */
    const uint32_t *vertex_slots; /* [vertex_count] slot of each vertex of the mesh */

    const uint32_t *block_first;  /* [block_count + 1] first entry of each block */
    const uint16_t *entry_joints; /* [entry_count] joint of each entry, driven ones after the others */
    const float *entry_weights;   /* [entry_count][16] weight of that joint on the block's vertices */
    const float *rest_positions;  /* [block_count][3][16] */
    const float *rest_normals;    /* [block_count][3][16] */

    uint32_t driven_count;     /* joints computed from others; joint joint_count + i of an entry is driven joint i */
    const pelt_driven *driven; /* [driven_count], NULL when there are none */

    uint32_t control_count;       /* numbers beside the joints that drive the corrective */
    const pelt_control *controls; /* [control_count], NULL when there are none */

    /* The corrective, added to the rest pose before it is blended; NULL where the skin has none (docs/format.md). */
    const struct pelt_file_drivers *drivers; /* what turns a pose into coefficients or pose distances */
    pelt_rows rows;                          /* displacements of the rest positions */
    pelt_rows turns; /* changes of the rest normals; in the weighted form the rows are for the same sources */
    const uint32_t *axis_first;   /* [block_count + 1] weighted form: what drives each block */
    const uint16_t *axis_sources; /* [entry] axis of the pose distance */
    const float *axis_weights;    /* [entry][16] */

    const char *about;   /* UTF-8 JSON text: method, options, errors; for people and tools, not used at run time */
    uint32_t about_size; /* without the terminating zero */

    pelt_isa isa; /* what pelt_deform uses: the best of this machine; may be set to any that works */
} pelt_skin;

/* Checks a skin file that is in memory and fills in *skin. Everything is checked here (sizes, offsets, every index,
   every number), and nothing afterwards, so a hostile file is refused by this call or is safe to run.
   `bytes` must be aligned to 64 and must stay where it is as long as the skin is used; nothing is copied. */
pelt_result pelt_open(const void *bytes, size_t size, pelt_skin *skin);

/* Bytes of scratch memory that pelt_pose fills and pelt_deform reads. Align it to 64. */
size_t pelt_scratch_size(const pelt_skin *skin);

/* Bytes of one output buffer: 3 floats for each of block_count * 16 slots. */
size_t pelt_output_size(const pelt_skin *skin);

/* Once a frame: computes all that depends on the pose alone, from the transform of each joint relative to its parent.
   Rotations need not be exactly unit length. */
void pelt_pose(const pelt_skin *skin, const pelt_transform *locals, void *scratch);

/* The same from matrices, for engines that have them: the transform of each joint in model space, row-major 3x4. */
void pelt_pose_matrices(const pelt_skin *skin, const float (*globals)[12], void *scratch);

/* All that a pose can be given by. */
typedef struct pelt_pose_input {
    const pelt_transform *locals; /* [joint_count] as for pelt_pose; or NULL, and then: */
    const float (*globals)[12];   /* [joint_count] as for pelt_pose_matrices */
    const float *controls;        /* [control_count]; NULL: all at rest. One that is not finite is at rest too */
} pelt_pose_input;

/* The same for skins with controls. */
void pelt_pose_from(const pelt_skin *skin, const pelt_pose_input *input, void *scratch);

/* A range of blocks. */
typedef struct pelt_range {
    uint32_t first, count;
} pelt_range;

static inline pelt_range pelt_all_blocks(const pelt_skin *skin) {
    pelt_range all = {0, skin->block_count};
    return all;
}

/* Deforms the vertices of a range of blocks, after pelt_pose. Writes 3 floats per slot, at 48 * block floats from the
   start of each buffer. `normals` may be NULL; they come out with unit length. The buffers need no alignment, but with
   64 bytes they are faster, and when a whole output buffer is larger than 4 MiB and aligned, it is written past the
   cache. */
void pelt_deform(const pelt_skin *skin, const void *scratch, pelt_range blocks, float *positions, float *normals);

#ifdef __cplusplus
}
#endif
#endif
