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

   Slots. Vertices come out in *slot* order: pelt groups vertices that follow the same joints into blocks of 16, which
   is why it is fast. Renumber your index buffer and the other vertex attributes once at load time, and the output
   buffers are vertex buffers:

       pelt_renumber_indices(&skin, indices, index_count, sizeof *indices);
       pelt_reorder_attribute(&skin, (pelt_stream){.data = uvs}, 8, (pelt_stream){.data = slot_uvs});

   Or let pelt_deform_to write into your own buffers, in file order.

   Memory. The caller owns all of it: the bytes of the file, which must outlive the skin; one scratch per character
   posed at a time; the output. Sizes are known after pelt_open and do not change. Sizes of scratch and output are
   multiples of 64, as aligned_alloc requires.

   Threads. A skin is read-only after pelt_open and can be shared by any number of characters and threads. pelt_pose
   writes the scratch, so one thread calls it; several threads may then deform different ranges of blocks of one
   character at once, since blocks write disjoint parts of the output. Where pelt_needs_shading, normals take a second
   round, pelt_shade.

   Numbers. Positions are in the model space and unit of length of the file that the skin was made from. Matrices are
   row-major 3x4 (the last column is the translation), points are column vectors. Quaternions are x, y, z, w. A pose
   with numbers that are not finite gives useless vertices, but does no other harm. The same skin, pose and instruction
   set give the same bits, for any split into ranges.

   Errors. Only opening a file can fail. Other misuse, such as a scratch of another skin or a buffer that is too small,
   is not checked. */

#ifndef PELT_H
#define PELT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PELT_VERSION "0.2.0"

/* Exports functions while a shared library is built; expands to nothing in programs. */
#if !defined(PELT_EXPORTS)
#define PELT_API
#elif defined(_WIN32)
#define PELT_API __declspec(dllexport)
#else
#define PELT_API __attribute__((visibility("default")))
#endif

/* Vertices in a block, and the alignment in bytes: skin files and scratch must have it, output should. */
#define PELT_BLOCK 16
#define PELT_ALIGN 64

/* Every result that a pelt function can return, with its message. PELT_OK is 0, so that `if (result)` means failure.
   pelt_open returns ARGUMENT, FORMAT, UNSUPPORTED, ALIGNMENT, TRUNCATED, VERSION, NUMBER or INDEX, and MEMORY if the
   skin needs more than a 32-bit address space; the others are for fit.h. */
#define PELT_RESULTS(X)                                                                                                \
    X(PELT_OK, "done")                                                                                                 \
    X(PELT_ERROR_ARGUMENT, "an argument is out of range")                                                              \
    X(PELT_ERROR_MEMORY, "out of memory")                                                                              \
    X(PELT_ERROR_FILE, "a file cannot be opened, read or written")                                                     \
    X(PELT_ERROR_FORMAT, "a file is damaged or breaks its format")                                                     \
    X(PELT_ERROR_UNSUPPORTED, "a file uses something that this version of pelt does not support")                      \
    X(PELT_ERROR_ALIGNMENT, "the bytes of a skin must be aligned to 64")                                               \
    X(PELT_ERROR_TRUNCATED, "a file is shorter than it claims to be")                                                  \
    X(PELT_ERROR_VERSION, "the skin file is of another version than this library")                                     \
    X(PELT_ERROR_NUMBER, "a number is not finite or not usable")                                                       \
    X(PELT_ERROR_INDEX, "an index points outside its array")                                                           \
    X(PELT_ERROR_DATA, "the data do not match")                                                                        \
    X(PELT_ERROR_CANCELLED, "stopped on request")                                                                      \
    X(PELT_ERROR_DEVICE, "a graphics device or its driver cannot do what was asked")

typedef enum pelt_result {
#define PELT_RESULT_NAME(name, text) name,
    PELT_RESULTS(PELT_RESULT_NAME)
#undef PELT_RESULT_NAME
        PELT_RESULT_COUNT
} pelt_result;

/* The message of a result, as in the list above: for people, in English, without a full stop. Never NULL, even for
   invalid numbers; the text is constant. */
PELT_API const char *pelt_result_text(pelt_result result);

/* A transform relative to the parent: scale, then rotate, then translate, like nodes of glTF. It maps points of the
   joint's own space to its parent's. */
typedef struct pelt_transform {
    float rotation[4];    /* quaternion x, y, z, w; poses need not have unit length, q and -q are the same */
    float translation[3]; /* in units of length */
    float scale[3];       /* along the joint's own axes; 1 is none, and negative numbers mirror */
} pelt_transform;

/* A joint of the skeleton. Parents come before their children, so one pass in order is enough to chain them. Match them
   to the engine's own skeleton by name:

       const char *name = skin.names + skin.joints[j].name;      // or the other way: pelt_find_joint */
typedef struct pelt_joint {
    int32_t parent;         /* index of the parent joint, -1 for a root */
    pelt_transform rest;    /* the rest pose, relative to the parent */
    float inverse_bind[12]; /* model space of the rest mesh to joint space, row-major 3x4 */
    uint32_t name;          /* offset of the name in pelt_skin.names; UTF-8, ends with a zero */
} pelt_joint;

/* A named number that the shape depends on besides the joints: the tension of a muscle, a smile. Its unit is that of
   the file that the skin was made from. */
typedef struct pelt_control {
    uint32_t name;     /* offset of the name in pelt_skin.names */
    float rest;        /* its value at rest, also used when a pose does not give one */
    float least, most; /* the range seen in training; other values are extrapolated */
} pelt_control;

/* What a driven joint does with the motion of the joint that drives it (Mohr & Gleicher 2003). */
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

/* A joint that pelt_pose computes from others: half of an elbow's turn, the twist of a forearm, a muscle that bulges.
   Callers never pose it and can ignore it; it is here for tools that show or export a skin. docs/format.md has the
   formulas. Vectors are in the model space of the rest mesh. */
typedef struct pelt_driven {
    uint32_t kind;       /* pelt_driven_kind */
    int32_t parent;      /* the joint that the driver moves relative to; -1: none, never for bulges */
    uint32_t driver;     /* the joint whose motion is used */
    uint32_t host;       /* the joint it moves with: the driver, or for a bulge the joint whose bone it is in */
    float amount;        /* the fraction; for bulges k, which is at least 0 */
    uint32_t name;       /* offset of the name in pelt_skin.names */
    float origin[3];     /* where the driver is; for bulges the middle of the bone */
    float axis[3];       /* twist, bend: along the bone; for bulges across it; unit length */
    float upstream[3];   /* bulges: from the driver to the parent */
    float downstream[3]; /* bulges: from the driver to its children, summed */
} pelt_driven;

/* Instruction sets of the loops. All give the same positions up to rounding. pelt_open chooses the best that works; set
   pelt_skin.isa to use another, for comparison or debugging. */
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

/* The name of an instruction set, as in the list above; pelt_isa_name(PELT_ISA_SIMD128) is this machine's: "sse",
   "neon" or "wasm". Never NULL; "unknown" for an invalid number. */
PELT_API const char *pelt_isa_name(pelt_isa isa);

/* 1 if this build and this machine can run the instruction set, else 0. PELT_ISA_SCALAR and PELT_ISA_SIMD128 always
   work; the others are detected at run time, so that one program serves all machines. */
PELT_API int pelt_isa_works(pelt_isa isa);

enum { PELT_CORRECTIVE_SECTIONS = 16 }; /* private */

/* The version of the library that runs, such as "0.2.0"; PELT_VERSION is that of this header. */
PELT_API const char *pelt_version(void);

/* An opened skin: counts, and pointers into the bytes given to pelt_open. It is a plain value: copy it as you like,
   there is nothing to free. Treat it as read-only, except `isa` and `least_level`.

   The blend is exposed for those who want to run it themselves, on a GPU for instance. With T_j the matrices of a pose,
   slot s in block b = s / 16 and lane l = s % 16 moves to

       sum over e = block_first[b] .. block_first[b + 1] - 1:  entry_weights[16 e + l] T_entry_joints[e] rest position

   where coordinate c of the rest position is rest_positions[(3 b + c) 16 + l]. A corrective, if there is one, changes
   the rest position first. */
typedef struct pelt_skin {
    uint32_t vertex_count; /* vertices of the mesh, at least 1 */
    uint32_t block_count;  /* blocks of 16 slots that hold them; the last one may have unused slots */
    uint32_t joint_count;  /* 1 to 65536 */
    uint32_t entry_count;  /* (block, joint) pairs, which decide the cost of the blend */

    const pelt_joint *joints; /* [joint_count], parents first */
    const char *names;        /* zero-terminated names, see pelt_joint.name */
    const uint32_t
        *vertex_slots; /* [vertex_count] slot of each vertex of the mesh; below 16 block_count, all different */

    const uint32_t *block_first;  /* [block_count + 1] first entry of each block */
    const uint16_t *entry_joints; /* [entry_count] joint of each entry, driven ones after the others */
    const float *entry_weights;   /* [entry_count][16] weight of that joint on the block's vertices; they sum to 1 */
    const float *rest_positions;  /* [block_count][3][16] */
    const float *rest_normals;    /* [block_count][3][16] unit length */
    const float *rest_tangents;   /* [block_count][4][16] x, y, z, w as in glTF; NULL: the skin has none */

    uint32_t driven_count;     /* joints computed from others; joint joint_count + i of an entry is driven joint i */
    const pelt_driven *driven; /* [driven_count], NULL when there are none */

    uint32_t control_count;       /* numbers that the corrective depends on besides the joints */
    const pelt_control *controls; /* [control_count], NULL when there are none */

    /* Private: the sections of the corrective, which only the library reads; see pelt_has_corrective. */
    const void *corrective[PELT_CORRECTIVE_SECTIONS];
    uint32_t factor_counts[2];
    uint32_t rigid_binds; /* private: no inverse_bind scales or shears */

    const uint64_t *mesh_hash; /* pelt_mesh_hash of the mesh that the skin was made for; NULL: not known */

    const struct pelt_file_rings *rings; /* private: the neighbours of each vertex; see pelt_needs_shading */

    const struct pelt_file_levels *levels;         /* private: levels of detail; see pelt_level_count */
    const struct pelt_file_confidence *confidence; /* private: expected errors; see pelt_confidence */

    const struct pelt_facts *facts; /* private: facts about the fit; NULL: unknown */

    const char *about;   /* UTF-8 JSON text: method, options, errors; for people; programs do not need it */
    uint32_t about_size; /* without the terminating zero */

    pelt_isa isa; /* what pelt_pose and pelt_deform use: the best of this machine; may be set to any that works */

    float least_level; /* poses have at least this level of detail, whatever they ask for: 0, or a setting for slow
                          machines; may be set */
} pelt_skin;

/* Checks a skin file in memory and fills in *skin. Everything is checked here (sizes, offsets, every index, every
   number), and nothing afterwards, so a hostile file is either refused by this call or safe to run. It takes about as
   long as reading the bytes once. `bytes` must be aligned to 64 and must not move while the skin is in use; nothing is
   copied, so a mapped file will do, and one copy serves all characters. After a failure *skin is zero. */
PELT_API pelt_result pelt_open(const void *bytes, size_t size, pelt_skin *skin);

/* The first joint of this name, or -1. The search is linear: call it once at load time. */
PELT_API int32_t pelt_find_joint(const pelt_skin *skin, const char *name);

/* A hash that tells meshes apart, so that a skin is never used on a mesh it was not made for: of the rest positions
   [vertex_count][3] and the triangle corners [triangle_count][3], as in the file. Several meshes of a glTF scene count
   as one, their nodes in file order.

       if (skin.mesh_hash && *skin.mesh_hash != pelt_mesh_hash(positions, vertex_count, indices, index_count / 3)) ... */
PELT_API uint64_t pelt_mesh_hash(const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                                 uint32_t triangle_count);

/* 1 if the shape depends on the pose beyond the blend: the skin has a corrective. */
static inline int pelt_has_corrective(const pelt_skin *skin) { return skin->corrective[0] != NULL; }

/* Bytes of scratch memory that pelt_pose fills and pelt_deform reads, a multiple of 64: mostly 176 per joint. Align it
   to 64; its initial content does not matter. A pose stays there until the next one, so characters in the same pose may
   share it. */
PELT_API size_t pelt_scratch_size(const pelt_skin *skin);

/* Bytes of one buffer of positions or normals, a multiple of 64: 3 floats per slot, block_count * 16 slots. */
PELT_API size_t pelt_output_size(const pelt_skin *skin);

/* Once per frame: computes everything that depends only on the pose, from the transform of each joint relative to its
   parent, locals[joint_count]. Rotations need not be exactly unit length; one of length 0 counts as no rotation.
   Controls are at rest. */
PELT_API void pelt_pose(const pelt_skin *skin, const pelt_transform *locals, void *scratch);

/* The same from matrices, for engines that have them: globals[joint_count], the transform of each joint in model space,
   row-major 3x4. These are joint transforms, not skinning matrices: the inverse bind matrices are applied here. */
PELT_API void pelt_pose_matrices(const pelt_skin *skin, const float (*globals)[12], void *scratch);

/* Everything that a pose can consist of. */
typedef struct pelt_pose_input {
    const pelt_transform *locals; /* [joint_count] as for pelt_pose; or NULL, and then: */
    const float (*globals)[12];   /* [joint_count] as for pelt_pose_matrices */
    const float *controls;        /* [control_count]; NULL: all at rest. One that is not finite is at rest too */
    float level;                  /* of detail, from pelt_level or your own rule: 0 is everything the skin has */
} pelt_pose_input;

/* The same for skins with controls; the input is not kept after the call:

       float tension[] = {0.7f};                      // for the one control of this skin
       pelt_pose_input input = {.locals = locals, .controls = tension};
       pelt_pose_from(&skin, &input, scratch); */
PELT_API void pelt_pose_from(const pelt_skin *skin, const pelt_pose_input *input, void *scratch);

/* -- Levels of detail ------------------------------------------------------------------------------------------------
   For distant characters. Level 0 is the whole skin; each further level is cheaper to deform and strays further from
   level 0: first some displacements of the corrective are left out, then all of them, then vertices follow fewer
   joints. Numbers between two levels fade from one to the other, so nothing pops when the level changes a little from
   frame to frame. The level is part of the pose, so each character of a crowd has its own, on graphics hardware too:

       pelt_level_view view = {.distance = 12, .field_of_view = 0.8f, .height = 1080};
       pelt_pose_input input = {.locals = locals, .level = pelt_level(&skin, &view)};
       pelt_pose_from(&skin, &input, scratch);                  // and deform as usual

   `pelt fit --levels` makes them, from the examples; other skins have one level. */

/* At least 1; levels are numbered from 0. */
PELT_API uint32_t pelt_level_count(const pelt_skin *skin);

typedef struct pelt_level_facts {
    float rms, p95;      /* how far vertices are from their places at level 0, in scene units, over all training
                            examples: root mean square, and 95th percentile */
    float vectors;       /* displacement vectors per block of vertices, on average */
    float joints;        /* joints per block, on average; these two decide the cost of deforming */
    uint32_t influences; /* the most joints that a vertex follows */
} pelt_level_facts;

/* Facts about a level; numbers beyond the last level mean the last one. */
PELT_API void pelt_get_level(const pelt_skin *skin, uint32_t level, pelt_level_facts *facts);

/* How a character is seen. */
typedef struct pelt_level_view {
    float distance;      /* from the camera, in scene units; for a character drawn larger by s, divided by s */
    float field_of_view; /* the vertical angle that the picture shows, in radians, above 0 and below pi */
    float height;        /* of the picture, in pixels */
    float pixels;        /* the error to allow; 0: 1 pixel */
    float zone;          /* how much of the way from one level to the next is spent fading, above 0, at most 1; 0: 0.25.
                            A smaller zone makes changes easier to see, but less time goes into fading weights, which
                            costs about as much as the finer level */
} pelt_level_view;

/* The level at which 95% of the vertices are within `pixels` pixels of their places at level 0, going by the training
   examples: p95 is at most pixels * 2 distance tan(field_of_view / 2) / height. It is continuous in the distance. Not a
   number, or values out of range: 0. */
PELT_API float pelt_level(const pelt_skin *skin, const pelt_level_view *view);

/* A range of blocks: those from `first` on, `count` of them. */
typedef struct pelt_range {
    uint32_t first, count;
} pelt_range;

static inline pelt_range pelt_all_blocks(const pelt_skin *skin) {
    pelt_range all = {0, skin->block_count};
    return all;
}

/* Deforms the vertices of a range of blocks, after pelt_pose; blocks beyond the last are ignored. Writes 3 floats per
   slot, x y z, at 48 * block floats from the start of each buffer: the buffers are those of the whole mesh, whatever
   the range. `normals` may be NULL; they come out with unit length, and if the skin needs shading (pelt_shade) only
   when the range is the whole mesh. The buffers must not overlap. They need no
   alignment, but 64 bytes is faster, and if a whole output buffer is larger than 4 MiB and aligned, it is written past
   the cache.

   One of several threads, with a few dozen blocks each, so that each call is worthwhile:

       pelt_range part = {thread * each, each};       // each = (skin.block_count + threads - 1) / threads
       pelt_deform(&skin, scratch, part, positions, NULL); */
PELT_API void pelt_deform(const pelt_skin *skin, const void *scratch, pelt_range blocks, float *positions,
                          float *normals);

/* Where to write one attribute. */
typedef struct pelt_stream {
    void *data;    /* of slot 0, or of vertex 0 of the file; NULL: not computed, and costs nothing */
    size_t stride; /* bytes from one vertex to the next; 0: tightly packed */
    int half;      /* 1: as half floats, four of them (8 bytes): positions x y z 1, normals x y z 0, tangents x y z w;
                      values out of range become 65504 or -65504 */
} pelt_stream;

/* Bounding box of some vertices. */
typedef struct pelt_box {
    float low[3], high[3];
} pelt_box;

/* What pelt_deform_to writes, and where. */
typedef struct pelt_output {
    pelt_stream positions;    /* 3 floats, x y z; required */
    pelt_stream normals;      /* 3 floats of unit length */
    pelt_stream tangents;     /* 4 floats, for normal maps; only with normals, and only for skins that have tangents
                              (pelt_skin.rest_tangents): otherwise nothing is written here */
    const uint32_t *vertices; /* from pelt_slot_vertices: output in file order; NULL: in slot order */
    pelt_box *box; /* gets the bounding box of the positions of this range, low above high for no blocks; NULL: none */
} pelt_output;

/* pelt_deform with more outputs, such as tangents,

       pelt_output output = {.positions.data = positions, .normals.data = normals, .tangents.data = tangents};
       pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin), &output);

   or the engine's own vertex buffer, here 12 floats per vertex of the file:

       pelt_output output = {.positions = {.data = buffer, .stride = 48}, .vertices = vertices, .box = &box,
                             .normals = {.data = buffer + 3, .stride = 48}};

   Only what is requested is written; the bytes in between are left alone. Tightly packed in slot order is fastest; the
   rest costs little more (docs/speed.md). In slot order buffers have 16 block_count vertices, in file order
   vertex_count. In file order, ranges deformed by different threads may share cache lines, but never a vertex; each has
   its own box, and their union is the box of all.

   Tangents are x y z w as in glTF: x y z of unit length, perpendicular to the normal that comes with them, in the
   direction of increasing u; w (normal x tangent) is the bitangent, with w = 1 or -1 as in the file. A vertex that a
   joint of negative scale mirrors has the opposite w. */
PELT_API void pelt_deform_to(const pelt_skin *skin, void *scratch, pelt_range blocks, const pelt_output *output);

/* 1 if normals are recomputed from the deformed surface once all positions are known (`pelt fit --normals surface`,
   usually the default): a range of blocks then needs its neighbours first. Deforming the whole mesh at once
   does both; deforming it by ranges gives positions alone, and pelt_shade the rest. */
static inline int pelt_needs_shading(const pelt_skin *skin) { return skin->rings != NULL; }

/* Normals and tangents of a range of blocks, for skins that need it; nothing for others. All blocks have been deformed
   before, with the same output, and their positions are where they were written:

       pelt_deform_to(&skin, scratch, part, &output);          // each thread
       wait_for_all_threads();                                 // if pelt_needs_shading(&skin)
       pelt_shade(&skin, scratch, part, &output);              // each thread */
PELT_API void pelt_shade(const pelt_skin *skin, const void *scratch, pelt_range blocks, const pelt_output *output);

/* For output in file order, once at load time: the vertex of each slot, vertices[16 block_count]; PELT_NO_VERTEX for
   unused slots. */
PELT_API void pelt_slot_vertices(const pelt_skin *skin, uint32_t *vertices);

#define PELT_NO_VERTEX UINT32_MAX

/* Once at load time, for output in slot order: replaces each index of an index buffer, all below vertex_count, by the
   slot of its vertex. `bytes` is the size of an index, 2 or 4; with 2 there are at most 65536 slots. */
PELT_API void pelt_renumber_indices(const pelt_skin *skin, void *indices, size_t count, size_t bytes);

/* The same for an attribute that pelt does not deform: copies this many bytes of each vertex to its slot. `to` has room
   for 16 block_count vertices; unused slots are left alone. The buffers must not overlap. */
PELT_API void pelt_reorder_attribute(const pelt_skin *skin, pelt_stream from, size_t bytes, pelt_stream to);

/* Bytes of a buffer of tangents, a multiple of 64: 4 floats per slot, block_count * 16 slots. */
PELT_API size_t pelt_tangents_size(const pelt_skin *skin);

/* -- How far it can be trusted -------------------------------------------------------------------------------------

   A skin is accurate near the poses that it was fitted to. Most skins can tell how far a pose is from those, and what
   that distance meant for examples held out of a fit: for each region of the mesh, and for the frame as a whole, they
   give an error that 19 of 20 such frames stay below. This needs no truth and costs a few percent of a pose:

       float errors[256];                             // of pelt_confidence_region_count(&skin) regions
       pelt_pose(&skin, locals, scratch);
       if (pelt_confidence(&skin, scratch, errors) > 0.002f) ...        // 2 mm: ask the slow rig instead */

/* The error to expect of the pose in scratch memory, in the unit of positions: the root mean square over all vertices
   is likely to be less. The same for each region goes to regions[pelt_confidence_region_count], which may be NULL.
   Negative if the skin cannot tell; then nothing is written. */
PELT_API float pelt_confidence(const pelt_skin *skin, const void *scratch, float *regions);

/* Regions are parts of the mesh that follow a joint; 0: the skin cannot predict its errors. At most 255. */
PELT_API uint32_t pelt_confidence_region_count(const pelt_skin *skin);
/* The name of the joint that a region follows; NULL beyond the last. */
PELT_API const char *pelt_confidence_region_name(const pelt_skin *skin, uint32_t region);
/* The region of each vertex of the mesh, [vertex_count], for pictures; NULL: there are none. */
PELT_API const uint8_t *pelt_confidence_vertex_regions(const pelt_skin *skin);

/* -- For other languages -------------------------------------------------------------------------------------------

   A binding need not know the layout of any struct: these functions give the size of a pelt_skin, for which the caller
   provides the memory, and its contents. Joints and controls beyond the last one are NULL, 0 or -1. Arguments passed by
   value or as arrays are simple: a pelt_transform is ten floats, a pelt_range two uint32_t. bind.h does the same for
   fit.h. */

PELT_API size_t pelt_sizeof_skin(void);
PELT_API uint32_t pelt_skin_vertex_count(const pelt_skin *skin);
PELT_API uint32_t pelt_skin_block_count(const pelt_skin *skin);
PELT_API const uint32_t *pelt_skin_vertex_slots(const pelt_skin *skin);
PELT_API uint32_t pelt_skin_joint_count(const pelt_skin *skin);
PELT_API const char *pelt_skin_joint_name(const pelt_skin *skin, uint32_t joint);
PELT_API int32_t pelt_skin_joint_parent(const pelt_skin *skin, uint32_t joint);
PELT_API const pelt_transform *pelt_skin_joint_rest(const pelt_skin *skin, uint32_t joint);
PELT_API uint32_t pelt_skin_control_count(const pelt_skin *skin);
PELT_API const char *pelt_skin_control_name(const pelt_skin *skin, uint32_t control);
PELT_API float pelt_skin_control_rest(const pelt_skin *skin, uint32_t control);
PELT_API int pelt_skin_has_corrective(const pelt_skin *skin); /* as pelt_has_corrective */
PELT_API int pelt_skin_has_tangents(const pelt_skin *skin);
PELT_API const char *pelt_skin_about(const pelt_skin *skin);

#ifdef __cplusplus
}
#endif
#endif
