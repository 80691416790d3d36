/* fit.h: make and measure skins.

   The offline half of pelt (`libpelt-fit`): read examples from files or take them from memory, diagnose them, fit a
   skin, measure it. The run-time half is pelt.h.

       pelt_error error;
       pelt_bundle *body = pelt_bundle_read("body.glb", &error);
       const pelt_clip *train = pelt_bundle_clip(body, "train", PELT_NEED_POSITIONS, &error);
       pelt_examples examples = pelt_bundle_examples(body, &train, 1);
       pelt_fit_report report;
       pelt_fit_options options = {.method = PELT_METHOD_KERNEL};
       pelt_bytes *skin = pelt_fit(body, examples, &options, &report, &error);
       printf("%.4f of the blend's error is left on examples it has not seen\n", report.holdout->rel_err);
       pelt_bytes_write(skin, "body.pelt", &error);

   **Errors.** Functions that can fail take a pelt_error (NULL: not wanted): they return NULL, or a pelt_result other
   than PELT_OK, and error->text says which file, what is wrong and what to do. Nothing prints, nothing exits. Arguments
   that are missing (NULL, a list with a count but no pointer), out of range or not a number give PELT_ERROR_ARGUMENT,
   and clips of another bundle PELT_ERROR_DATA: mistakes of the caller are refused, not read. Functions that free accept
   NULL.

   **Options** are structs that are zero-initialised; zero means the default. Names of fields are the names that errors
   use; flags are ints, 0 or 1.

   **Units.** Lengths are in scene units, those of the file or the arrays; angles are in radians unless a name says
   degrees; errors are also given as fractions of the *diagonal*, that of the bounding box of the mesh at rest in the scene.

   **Lifetime.** Everything read from a file or made from arrays is owned by its bundle and freed with it; pointers
   that the caller must free say so. Input arrays are copied, or used only until the call returns.

   **Threads.** Different bundles may be used by different threads at once. One bundle may be read by several threads
   (pelt_fit, pelt_measure_examples, players), as long as none of them reads clips into it or makes lists of examples.
   Results are the same bytes for any number of threads. While a fit runs, OpenBLAS uses one thread in the whole
   process; its setting is restored when the last fit ends. */

#ifndef PELT_FIT_H
#define PELT_FIT_H

#include <pelt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- Progress, findings -------------------------------------------------------------------------------- */

/* Called during long work. Return non-zero to stop it: the work then fails with PELT_ERROR_CANCELLED. */
typedef struct pelt_progress {
    int (*step)(void *user, const char *task, double fraction);
    void *user;
} pelt_progress;

/* Something that the diagnosis found in the input. */
typedef enum pelt_severity { PELT_NOTE, PELT_WARNING, PELT_FATAL } pelt_severity;

typedef struct pelt_finding {
    pelt_severity severity;
    const char *what; /* a stable word for programs, such as "point-count" */
    const char *text; /* a sentence for people: what, where, what to do */
} pelt_finding;

typedef struct pelt_findings {
    size_t count;
    const pelt_finding *list;
} pelt_findings;

/* -- The nouns --------------------------------------------------------------------------------------------------- */

/* Influences of joints on vertices: those of vertex v are entries first[v] to first[v + 1] - 1. */
typedef struct pelt_influences {
    uint32_t *first;  /* [vertex_count + 1] */
    uint32_t *joints; /* [first[vertex_count]] */
    float *weights;   /* affine: they sum to 1 over a vertex */
} pelt_influences;

/* A morph target of the file: displacements of some vertices. */
typedef struct pelt_target {
    const char *name;
    uint32_t count;
    const uint32_t *vertices; /* [count], increasing */
    const float *deltas;      /* [count][3] */
} pelt_target;

/* A part of the surface, as in the file: a primitive in a node. */
typedef struct pelt_part {
    const char *name;     /* of the node, or of its mesh */
    const char *material; /* its name; NULL: none */
    uint32_t triangle_count;
} pelt_part;

/* The vertices of one object of the file: a node with a mesh. */
typedef struct pelt_mesh_object {
    const char *name;      /* of the node */
    const char *mesh_name; /* of its mesh */
    uint32_t first, count; /* vertices first to first + count - 1 */
} pelt_mesh_object;

typedef struct pelt_mesh {
    uint32_t vertex_count, triangle_count, target_count;
    float *positions;    /* [vertex_count][3] rest positions */
    float *normals;      /* [vertex_count][3], the file's; if it has none, smooth across seams */
    uint32_t *triangles; /* [triangle_count][3], counter-clockwise from outside */
    pelt_influences influences;
    pelt_target *targets;        /* [target_count] */
    pelt_target *target_normals; /* [target_count] their normal deltas; NULL: the file has none */
    float diagonal;              /* of the bounding box of the rest positions */
    float *uvs;                  /* [vertex_count][2] texture coordinates of the normal map, v downwards; NULL: none */
    float *tangents; /* [vertex_count][4] as in glTF, the file's, or by MikkTSpace from `uvs`; NULL: neither */
    uint32_t part_count;
    pelt_part *parts;                /* [part_count] in triangle order; NULL: not from a file */
    uint32_t object_count;           /* 0: not from a file */
    const pelt_mesh_object *objects; /* [object_count] in vertex order */
    float *colors;        /* [vertex_count][3] vertex colours, red, green, blue, 0 to 1; NULL: the file has none */
    float scene_diagonal; /* of the bounding box in the scene, posed by the skeleton at rest: errors are given as
                             fractions of it. 0: as `diagonal` */
} pelt_mesh;

/* Joints are the file's joints, their ancestors, and nodes with rigid parts of the mesh. */
typedef struct pelt_skeleton {
    uint32_t joint_count;
    const char **names;
    int32_t *parents;           /* -1 for roots; parents come before children */
    pelt_transform *rest;       /* relative to the parent */
    double (*inverse_bind)[12]; /* row-major 3x4 */
} pelt_skeleton;

typedef enum pelt_path { PELT_TRANSLATION, PELT_ROTATION, PELT_SCALE } pelt_path;
typedef enum pelt_interpolation { PELT_LINEAR, PELT_STEP, PELT_CUBIC } pelt_interpolation;

/* One animated property of one joint. */
typedef struct pelt_channel {
    uint32_t joint, key_count;
    pelt_path path;
    pelt_interpolation interpolation;
    const float *times;  /* [key_count], increasing */
    const float *values; /* [key_count][3 or 4]; PELT_CUBIC: [key_count][in-tangent, value, out-tangent][3 or 4] */
} pelt_channel;

/* A motion, or a set of examples: frame i is the pose at the i-th key time. */
typedef struct pelt_clip {
    const char *name;
    uint32_t frame_count, channel_count;
    const float *times; /* [frame_count]: all key times of all channels, merged */
    const pelt_channel *channels;
    const float *positions;      /* [frame_count][vertex_count][3] true positions, or NULL if not loaded */
    const float *normals;        /* the same for true normals, unit length; NULL: those of the true surface */
    const char *source;          /* the file that the positions came from */
    const float *controls;       /* [frame_count][count of the bundle's controls]; NULL: all at rest */
    const char *controls_source; /* the file that the controls came from; NULL: no file */
    const float
        *target_weights; /* [frame_count][target_count] tracks of the mesh's morph targets; NULL: there are none */
    const float *example_weights; /* [frame_count] weight of a frame as an example, 0: not used; NULL: 1 */
} pelt_clip;

/* Named numbers that accompany the clips, and that the shape depends on besides the joints: the tension of a muscle, a
   smile, an age. */
typedef struct pelt_controls {
    uint32_t count;
    const char **names;
    float *rest; /* [count] values in the rest pose */
} pelt_controls;

/* One example: a frame of a clip that has positions. The input of fits and measures. */
typedef struct pelt_example {
    const pelt_clip *clip;
    uint32_t frame;
    float weight; /* how many examples it counts as in a fit; 0: 1. Fitted blends (fit, joints) take any weight, other
                     methods treat all examples alike and refuse it */
} pelt_example;

/* Frames of clips of one bundle, the one they are passed with. */
typedef struct pelt_examples {
    size_t count;
    pelt_example *list;
} pelt_examples;

/* The pose of a frame: one transform per joint, relative to its parent. Clip and skeleton belong to one bundle. These
   two cannot fail: a frame beyond the last is the last, a clip without frames or NULL is at rest, and so are joints
   that a clip of another skeleton lacks. */
PELT_API void pelt_clip_pose(const pelt_clip *clip, const pelt_skeleton *skeleton, uint32_t frame,
                             pelt_transform *locals);

/* The values of the controls in a frame, [controls->count]. */
PELT_API void pelt_clip_controls(const pelt_clip *clip, const pelt_controls *controls, uint32_t frame, float *values);

/* -- Reading ------------------------------------------------------------------------------------------------------ */

/* Where a shape was sculpted: in its target pose, or in the rest pose, before the blend: v = S_p(v0 + d). */
typedef enum pelt_space {
    PELT_SPACE_SEEN, /* detected for morph targets and .obj files: rest if they are nearer to the rest mesh than to the
                        posed one; caches are posed */
    PELT_SPACE_POSED,
    PELT_SPACE_REST,
} pelt_space;

/* How the true positions of caches (.pc2, .mdd, .npy, .obj) are changed when they are read, so that they match the
   character. A point p maps to scale * axes(p) + offset. All zero: unchanged. */
typedef struct pelt_cache_options {
    int fix;      /* 1: find what is not given below by comparing with the blend of the file's weights; and fits leave
                     out examples of which a part does not fit the pose */
    int axes[3];  /* which axis of the cache is x, y, z of the character: 1, 2, 3 for its x, y, z, negative if flipped:
                         {1, 3, -2} for a cache with z up. All 0: unchanged */
    double scale; /* 0: 1 */
    double offset[3]; /* in scene units */
    int set_frames;   /* 1: `frames` applies; otherwise a cache has one frame per key of its clip */
    int frames; /* the frame of the cache that is the first key of the clip; negative: the cache starts that many keys
                         later. Keys without a frame are removed from the clip */
    pelt_space space;
} pelt_cache_options;

/* A character and its examples: a glTF file and the caches next to it, or the caller's arrays. */
typedef struct pelt_bundle {
    const char *path; /* of the file; for a character from memory: its name. Errors begin with it */
    int in_memory;    /* made by pelt_bundle_new: no files are looked for next to `path` */
    int has_skin;     /* a skin is embedded in the file: pelt_skin_read reads it */
    pelt_mesh mesh;
    pelt_skeleton skeleton;
    pelt_controls controls; /* of the file, and of all clips requested so far: a clip can add some */
    pelt_controls extras;   /* numbers in the "extras" of nodes: rest values of the controls of these names */
    uint32_t clip_count;
    const pelt_clip **clips;  /* [clip_count]; a clip does not move when others are added */
    pelt_findings notes;      /* what the reader noticed and repaired: weights that did not sum to 1, ... */
    pelt_cache_options cache; /* set by the caller, for the caches of clips requested from now on */
    struct pelt_arena *arena; /* owns all of it */
} pelt_bundle;

/* Reads a .glb or .gltf file. Clips have no positions until pelt_bundle_clip requests them. */
PELT_API pelt_bundle *pelt_bundle_read(const char *path, pelt_error *error);
PELT_API void pelt_bundle_free(pelt_bundle *bundle);

typedef enum pelt_need {
    PELT_NEED_POSE,      /* only the skeleton's motion */
    PELT_NEED_POSITIONS, /* also the true positions; an error if there are none */
} pelt_need;

/* A clip by name. Its true positions are in `body.CLIP.pc2` (or .mdd, .npy, a folder of .obj) next to `body.glb`, or,
   for several objects, in one `body.OBJECT.CLIP.pc2` for each of mesh.objects, or in morph targets of the file, driven
   by the clip's own weight tracks or one per key of the clip; or in a named file: "CLIP=FILE". A cache with one point
   for all vertices that the file splits at a seam is matched to them; bundle->cache holds further changes to caches,
   and bundle->notes reports what was done. The clip's controls are tracks of the file, and columns of `body.CLIP.csv`
   next to it, one row per frame.

   A name that ends with .json is a file of sculpts: shapes made by hand, each with its pose (docs/howto-examples.md).
   They become a clip of that name, one frame each. */
PELT_API const pelt_clip *pelt_bundle_clip(pelt_bundle *bundle, const char *name, pelt_need need, pelt_error *error);

/* A character from the caller's arrays instead of a file: from a modelling program, an engine, a script. Everything is
   checked and copied, so the arrays may be freed as soon as pelt_bundle_new returns. Lengths are in any unit, used
   consistently; rotations are quaternions x y z w of any length but 0. A joint's pose is relative to its parent.

       pelt_character body = {.name = "body", .vertex_count = n, .triangle_count = t, .joint_count = 2,
                              .influences_per_vertex = 2, .positions = rest_positions, .triangles = triangles,
                              .joints = joints, .weights = weights, .parents = (int32_t[]){-1, 0}, .rest = rest};
       pelt_bundle *bundle = pelt_bundle_new(&body, &error);
       const pelt_clip *train = pelt_bundle_add_clip(
           bundle, &(pelt_clip_input){.name = "train", .frame_count = 40, .poses = poses, .positions = shapes}, &error);
       pelt_examples examples = pelt_bundle_examples(bundle, &train, 1);

   NULL means the default given at each field. */
typedef struct pelt_character {
    const char *name; /* for messages; NULL: "character" */
    uint32_t vertex_count, triangle_count, joint_count;
    uint32_t influences_per_vertex; /* columns of `joints` and `weights` */
    uint32_t control_count;

    const float *positions;    /* [vertex_count][3] at rest */
    const float *normals;      /* [vertex_count][3]; NULL: smooth. Twins at a seam with equal normals shade as one,
                                  those of a hard edge differ */
    const float *uvs;          /* [vertex_count][2] texture coordinates, v downwards; NULL: none */
    const float *tangents;     /* [vertex_count][4] for normal maps, as in glTF; NULL: by MikkTSpace from `uvs` */
    const uint32_t *triangles; /* [triangle_count][3], counter-clockwise from outside */

    /* [vertex_count][influences_per_vertex]: the joints a vertex follows, and their weights. Weights are 0 or more;
       zeros are ignored (their joint may be any number), the others are normalised to sum to 1. Both NULL: the
       character has no weights yet, and only blends that find their own can be fitted. */
    const uint32_t *joints;
    const float *weights;

    const char *const *joint_names; /* [joint_count]; NULL: "joint0", "joint1", ... A skin finds its joints by name */
    const int32_t *parents;         /* [joint_count] -1: a root; parents come before their children */
    const pelt_transform *rest;     /* [joint_count] the pose in which the mesh has its rest positions */
    const float *inverse_bind;      /* [joint_count][12] row-major 3x4, from the scene to the joint at rest; NULL: the
                                       inverse of the rest pose */

    const char *const *control_names; /* [control_count], all different */
    const float *control_rest;        /* [control_count] their values at rest, at most 1e9; NULL: 0 */
} pelt_character;

PELT_API pelt_bundle *pelt_bundle_new(const pelt_character *character, pelt_error *error);

/* Frames of a character: poses, and the shape of the mesh in each. */
typedef struct pelt_clip_input {
    const char *name; /* unique within the bundle */
    uint32_t frame_count;
    const pelt_transform *poses; /* [frame_count][joint_count] */
    const float *positions;   /* [frame_count][vertex_count][3] true positions; NULL: a motion to play, not examples */
    const float *controls;    /* [frame_count][count of the bundle's controls]; NULL: all at rest */
    const float *normals;     /* [frame_count][vertex_count][3] true normals of any length; NULL: those of the surface
                               through the true positions, smooth and hard where the character's normals are. Length 0
                               means unknown: neither fitted nor measured */
    double frames_per_second; /* for files that players play; 0: 30 */
} pelt_clip_input;

/* Adds a clip, also to a bundle read from a file. pelt_clip_pose returns the poses, with unit quaternions. The bundle
   owns the clip; pointers to other clips stay valid. Not for several threads at once. */
PELT_API const pelt_clip *pelt_bundle_add_clip(pelt_bundle *bundle, const pelt_clip_input *input, pelt_error *error);

/* Adds the mirror image of a clip along an axis (0, 1, 2 for x, y, z), as "CLIP, mirrored": sides of joints are told by
   their names (Left and Right, .L and .R, _l and _r, L_ and R_), those of vertices by their rest positions. Fails, with
   their number, if vertices have no partner. */
PELT_API const pelt_clip *pelt_bundle_mirror(pelt_bundle *bundle, const pelt_clip *clip, int axis, pelt_error *error);

/* All frames of some clips, with their weights, except those of weight 0. Owned by the bundle; a NULL list if out of
   memory. A NULL clip becomes an example without a clip, which functions that take the list refuse. */
PELT_API pelt_examples pelt_bundle_examples(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count);

/* Everything that looks wrong with the bundle and the given clips (with positions, if loaded), worst first. Owned by
   the bundle. Clips that are not the bundle's are one finding, "clip", and fatal. */
PELT_API pelt_findings pelt_diagnose(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count);

/* Adds findings about noise, and about examples whose shapes do not match their poses, judging by the other examples:
   what pelt_fit would remove, replace or leave out. Takes about a second for 240 examples of 2,500 vertices, and finds
   nothing among fewer than 24. The bundle owns the findings. */
PELT_API pelt_result pelt_doubt_examples(pelt_bundle *bundle, pelt_examples examples, const pelt_progress *progress,
                                         pelt_findings *findings, pelt_error *error);

/* -- Fitting ------------------------------------------------------------------------------------------------------ */

/* Where the weights of the blend S come from. */
#define PELT_BLENDS(X)                                                                                                 \
    X(PELT_BLEND_OF_METHOD, "")        /* the method's */                                                              \
    X(PELT_BLEND_FILE, "file")         /* the character's own */                                                       \
    X(PELT_BLEND_DISTANCE, "distance") /* the distance of a vertex to the bones */                                     \
    X(PELT_BLEND_FIT, "fit")           /* convex (none negative, sum 1), fitted to the examples */                     \
    X(PELT_BLEND_JOINTS, "joints")     /* of any sign, fitted, with driven joints (Mohr & Gleicher 2003) */

/* How the corrective D, a displacement of the rest pose that depends on the pose, is stored and driven. */
#define PELT_CORRECTIVES(X)                                                                                            \
    X(PELT_CORRECTIVE_OF_METHOD, "") /* the method's */                                                                \
    X(PELT_CORRECTIVE_NONE, "none")                                                                                    \
    X(PELT_CORRECTIVE_PSD, "psd")       /* one displacement per example pose, by distance of the whole pose */         \
    X(PELT_CORRECTIVE_WPSD, "wpsd")     /* the same, with a pose distance of its own at every vertex */                \
    X(PELT_CORRECTIVE_EIGEN, "eigen")   /* a few eigendisplacements per joint (Kry, James & Pai 2002) */               \
    X(PELT_CORRECTIVE_KERNEL, "kernel") /* a few displacements per vertex, by kernel ridge regression */

/* What coefficients of the corrective "kernel" are made from. */
#define PELT_FAMILIES(X)                                                                                               \
    X(PELT_FAMILY_CHOSEN, "")           /* whichever predicts examples best that it has not seen */                    \
    X(PELT_FAMILY_KERNEL, "kernel")     /* kernels of joints and of pairs of joints */                                 \
    X(PELT_FAMILY_ARC, "arc")           /* arc-cosine or other kernels of each joint with those next to it */          \
    X(PELT_FAMILY_FEATURES, "features") /* learned features of each joint with those next to it */

/* Presets of both: the method, its name, its blend, its corrective. */
#define PELT_METHODS(X)                                                                                                \
    X(PELT_METHOD_SSD, "ssd", PELT_BLEND_FILE, PELT_CORRECTIVE_NONE)                                                   \
    X(PELT_METHOD_JOINTS, "joints", PELT_BLEND_JOINTS, PELT_CORRECTIVE_NONE)                                           \
    X(PELT_METHOD_PSD, "psd", PELT_BLEND_FILE, PELT_CORRECTIVE_PSD)                                                    \
    X(PELT_METHOD_WPSD, "wpsd", PELT_BLEND_FILE, PELT_CORRECTIVE_WPSD)                                                 \
    X(PELT_METHOD_EIGEN, "eigen", PELT_BLEND_FILE, PELT_CORRECTIVE_EIGEN)                                              \
    X(PELT_METHOD_KERNEL, "kernel", PELT_BLEND_FILE, PELT_CORRECTIVE_KERNEL)

/* Rest positions of fitted blends. */
#define PELT_RESTS(X)                                                                                                  \
    X(PELT_REST_OF_BLEND, "")   /* keep (fit), refit (joints) */                                                       \
    X(PELT_REST_KEEP, "keep")   /* as they are */                                                                      \
    X(PELT_REST_REFIT, "refit") /* fitted too, in turn with the weights */

/* Vertex colours, rounded to eight: each channel counts as on if it is at least one half, so it does not matter how
   pure the paint is. The order is that of these bits. */
#define PELT_COLORS(X)                                                                                                 \
    X(PELT_COLOR_NONE, "")                                                                                             \
    X(PELT_COLOR_BLACK, "black")                                                                                       \
    X(PELT_COLOR_RED, "red")                                                                                           \
    X(PELT_COLOR_GREEN, "green")                                                                                       \
    X(PELT_COLOR_YELLOW, "yellow")                                                                                     \
    X(PELT_COLOR_BLUE, "blue")                                                                                         \
    X(PELT_COLOR_MAGENTA, "magenta")                                                                                   \
    X(PELT_COLOR_CYAN, "cyan")                                                                                         \
    X(PELT_COLOR_WHITE, "white")

/* How a vertex chooses its joints, for the blend "joints". */
#define PELT_CHOICES(X)                                                                                                \
    X(PELT_CHOICE_GREEDY, "greedy")     /* each time the joint that lowers the error most */                           \
    X(PELT_CHOICE_RIGIDITY, "rigidity") /* those in whose frame it moves least, as the paper does */

/* Function of the pose distance. */
#define PELT_RBFS(X)                                                                                                   \
    X(PELT_RBF_OF_METHOD, "")        /* psd: what predicts best; wpsd: mixed, gaussian with few poses */               \
    X(PELT_RBF_MIXED, "mixed")       /* mostly Gaussian, with a share of the exponential */                            \
    X(PELT_RBF_GAUSSIAN, "gaussian") /* smooth; meets the examples closely, not exactly */                             \
    X(PELT_RBF_EXP, "exp")           /* as in the EigenSkin paper */

/* How joints are weighted in pose distances. */
#define PELT_DISTANCES(X)                                                                                              \
    X(PELT_DISTANCE_DRIVING, "driving") /* how far they displace the vertex (wpsd), the mesh as a whole (psd) */       \
    X(PELT_DISTANCE_BLEND, "blend")     /* wpsd: their blend weights, as the papers do: equation 8 of Rhee et al. */   \
    X(PELT_DISTANCE_EQUAL, "equal")     /* psd: all alike: equation 7 of Rhee et al. */

/* The distance of two rotations of a joint, in pose distances. */
#define PELT_ROTATIONS(X)                                                                                              \
    X(PELT_ROTATIONS_CHORD, "chord") /* 2 sin(angle / 2): no way of turning is cut anywhere */                         \
    X(PELT_ROTATIONS_VECTOR,                                                                                           \
      "vector")                      /* the difference of rotation vectors, axis times angle: jumps at half a turn */  \
    X(PELT_ROTATIONS_EULER, "euler") /* that of Euler angles, about x, then y, then z: jumps there too, and where y  \
                                          is turned by a quarter x and z are one */

/* How principal poses are chosen. */
#define PELT_POSE_CHOICES(X)                                                                                           \
    X(PELT_POSE_CHOICE_FORWARD, "forward") /* each time the pose that lowers the error most */                         \
    X(PELT_POSE_CHOICE_PCA, "pca")         /* for each principal component of the displacements the pose that has      \
                                              most of it */

/* Where normals come from. */
#define PELT_NORMALS(X)                                                                                                \
    X(PELT_NORMALS_AUTO, "auto") /* of surface and rows what is nearer to examples that are held out; without a  \
                                          corrective those of the blend */     \
    X(PELT_NORMALS_SURFACE, "surface") /* recomputed from the deformed surface, in a second pass */                    \
    X(PELT_NORMALS_ROWS, "rows")       /* correctives change the rest normals too, and the blend moves them */         \
    X(PELT_NORMALS_BLEND, "blend")     /* the blend moves the rest normals */

/* The recipe of a paper, with its method: a preset sets all options that the recipe names, and contradicting options
   are refused (docs/methods.md lists them). */
#define PELT_PRESETS(X)                                                                                                \
    X(PELT_PRESET_NONE, "")                                                                                            \
    X(PELT_PRESET_LEWIS, "lewis")                   /* PSD: Lewis, Cordner & Fong 2000 */                              \
    X(PELT_PRESET_RHEE, "rhee")                     /* weighted PSD: Rhee, Lewis & Neumann 2006 */                     \
    X(PELT_PRESET_KRY, "kry")                       /* EigenSkin: Kry, James & Pai 2002 */                             \
    X(PELT_PRESET_VERTEX_PROGRAM, "vertex-program") /* EigenSkin within the limits of that paper's graphics card */

#define PELT_ENUM_VALUE(value, ...) value,
typedef enum pelt_blend { PELT_BLENDS(PELT_ENUM_VALUE) PELT_BLEND_COUNT } pelt_blend;
typedef enum pelt_corrective_kind { PELT_CORRECTIVES(PELT_ENUM_VALUE) PELT_CORRECTIVE_COUNT } pelt_corrective_kind;
typedef enum pelt_method { PELT_METHODS(PELT_ENUM_VALUE) PELT_METHOD_COUNT } pelt_method;
typedef enum pelt_rest { PELT_RESTS(PELT_ENUM_VALUE) PELT_REST_COUNT } pelt_rest;
typedef enum pelt_color { PELT_COLORS(PELT_ENUM_VALUE) PELT_COLOR_COUNT } pelt_color;
typedef enum pelt_choice { PELT_CHOICES(PELT_ENUM_VALUE) PELT_CHOICE_COUNT } pelt_choice;
typedef enum pelt_rbf_kind { PELT_RBFS(PELT_ENUM_VALUE) PELT_RBF_COUNT } pelt_rbf_kind;
typedef enum pelt_family { PELT_FAMILIES(PELT_ENUM_VALUE) PELT_FAMILY_COUNT } pelt_family;
typedef enum pelt_distance_kind { PELT_DISTANCES(PELT_ENUM_VALUE) PELT_DISTANCE_COUNT } pelt_distance_kind;
typedef enum pelt_rotations { PELT_ROTATIONS(PELT_ENUM_VALUE) PELT_ROTATIONS_COUNT } pelt_rotations;
typedef enum pelt_normals { PELT_NORMALS(PELT_ENUM_VALUE) PELT_NORMALS_COUNT } pelt_normals;
typedef enum pelt_preset { PELT_PRESETS(PELT_ENUM_VALUE) PELT_PRESET_COUNT } pelt_preset;
typedef enum pelt_pose_choice { PELT_POSE_CHOICES(PELT_ENUM_VALUE) PELT_POSE_CHOICE_COUNT } pelt_pose_choice;
#undef PELT_ENUM_VALUE

/* The names above. Never NULL. */
PELT_API const char *pelt_blend_name(pelt_blend blend);
PELT_API const char *pelt_corrective_name(pelt_corrective_kind corrective);
PELT_API const char *pelt_method_name(pelt_method method);
PELT_API const char *pelt_family_name(pelt_family family);
PELT_API const char *pelt_normals_name(pelt_normals normals);
PELT_API const char *pelt_preset_name(pelt_preset preset);

/* Names of joints; * in a name matches any letters. */
typedef struct pelt_names {
    size_t count;
    const char *const *list;
} pelt_names;

enum { PELT_MOST_FRACTIONS = 16 }; /* of each kind in a rule */

/* Which driven joints to add for some joints (Mohr & Gleicher 2003, section 4.1). */
typedef struct pelt_drive_rule {
    const char *joints; /* a name; * matches any letters */
    uint32_t turn_count, twist_count, bend_count;
    const float *turns, *twists, *bends; /* fractions of the rotation, of its part about the bone, and of the rest;
                                            -4 to 4, at most 16 each */
    int upstream, downstream;            /* 1: bulges and dents in the bones before, after the joint */
    double k;                            /* their strength, 0 to 10000; the paper's is 8 */
} pelt_drive_rule;

typedef struct pelt_drive_rules {
    size_t count;
    const pelt_drive_rule *list;
} pelt_drive_rules;

/* The weight of a control in pose distances, relative to the default: 0.001 to 1000. */
typedef struct pelt_control_scale {
    const char *name;
    double scale;
} pelt_control_scale;

/* Blends that are fitted: fit, joints. */
typedef struct pelt_fitted_options {
    pelt_rest rest;
    pelt_names drop_joints; /* joints that no vertex may follow */
    double smooth;          /* penalty on the squared difference of the error along a mesh edge, up to 1e6, where 1 is
                               that of a squared error; 0: found in training (joints), none (fit, and the paper's
                               choice of influences); negative: none */
} pelt_fitted_options;

/* The blend "fit"; locked vertices are for "joints" too. */
typedef struct pelt_convex_options {
    double prune;                  /* weights below this are dropped and the others refitted, 0 to 0.5; 0: none */
    pelt_names lock_joints;        /* joints that keep the character's weights */
    const uint32_t *lock_vertices; /* vertices that keep them */
    size_t lock_vertex_count;
    pelt_color lock_color; /* vertices of this colour keep them too (pelt_mesh.colors) */
    int weights_first;     /* 1: fitted for the blend alone, as if no corrective followed (Rhee et al., section 4) */
} pelt_convex_options;

/* The blend "joints". */
typedef struct pelt_joints_options {
    pelt_choice influence_choice;
    const pelt_drive_rules *drive; /* the driven joints to add; NULL: automatic */
    double ridge;                  /* penalty on squared weights, up to 1e6; negative: none; 0: 1e-7 */
    double normal_scale;           /* weight of normals in the fit, up to 1e6; 0: 0.01, negative: ignore them */
} pelt_joints_options;

/* All correctives. */
typedef struct pelt_displacement_options {
    uint32_t displacements;                  /* bits per number, 16 or 32; 0: 16 if that moves no vertex by more than a
                                                hundred-thousandth of the size */
    const pelt_control_scale *control_scale; /* controls that count more or less than by default: at its farthest from
                                                rest, a control counts like a joint rotated by a radian */
    size_t control_scale_count;
} pelt_displacement_options;

/* The correctives "psd" and "wpsd". */
typedef struct pelt_psd_options {
    uint32_t poses; /* most important poses kept (wpsd: per vertex), 1 to 2048; 0: all */
    pelt_rbf_kind rbf;
    int no_norm; /* 1: functions are not divided by their sum */
    pelt_distance_kind distance_weights;
    pelt_rotations rotations;
    pelt_pose_choice pose_choice; /* of `poses` */
    double
        width; /* of the function, for all vertices, in the unit of distances: radians where joints count alike; 0.001
                     to 1000; 0: what predicts left-out poses best */
    double
        norm_floor; /* the least sum that functions are divided by: it is 1 in the examples, and small far from all of
                          them; where it is less, displacements fade to 0 with it. 0.001 to 1; 0: 1/32 */
} pelt_psd_options;

/* The corrective "wpsd" alone. */
typedef struct pelt_wpsd_options {
    uint32_t principal_joints; /* maximum movers in a vertex's pose distance, 1 to 64; 0: all that matter */
    int shared_width;          /* 1: all vertices share one width, even where floats then do not quite reproduce the
                                  examples. With `poses` or `width` they share one anyway */
} pelt_wpsd_options;

/* The corrective "eigen". */
typedef struct pelt_eigen_options {
    uint32_t per_joint;  /* displacements per joint, and as many changes of normals, 1 to 64; 0: 5 */
    uint32_t per_vertex; /* maximum displacements per vertex, half of them for its normal if normals are rows, 1 to 64;
                            0: no limit */
    int sweeps_only;     /* 1: learn only from examples that move a single joint, as in the paper */
    double threshold;    /* a point is in a joint's support if it is displaced by more than this fraction of the most
                            that the joint displaces any point, 0.001 to 0.5; 0: 0.04 for positions, as in the paper, or
                            less if that improves held-out examples; 0.04 for normals */
    double fade;         /* below the threshold supports fade out, over this fraction of it, up to 0.95; 0: 0.5,
                            negative: they end at the threshold */
    double width;        /* r0 of exp(-r / r0), radians, 0.001 to 1000; 0: what predicts held-out examples best */
} pelt_eigen_options;

/* The corrective "kernel". */
typedef struct pelt_kernel_options {
    uint32_t per_vertex; /* mean displacements per vertex, and as many changes of its normal, 1 to 64; 0: 10, or 16
                            where learned features have so many examples that fewer would lose much */
    pelt_family family;
    double balance; /* how far regions count by the error relative to their own displacements rather than in scene
                       units, up to 1; 0: 0.5, negative: not at all. Without it small regions such as fingers keep most
                       of their error, since that is small beside a body's */
} pelt_kernel_options;

/* What to fit, and how. All zero is a plain blend with the character's own weights. Options that the chosen blend and
   corrective do not use must be left zero: setting one is an error that says what uses it. */
typedef struct pelt_fit_options {
    pelt_method method;
    pelt_blend blend;                /* instead of the method's */
    pelt_corrective_kind corrective; /* instead of the method's */
    pelt_preset preset;              /* sets the method too */
    uint32_t influences;             /* maximum joints per vertex, 1 to 64; 0: all (file), 4 (others) */
    pelt_normals normals;
    int levels; /* 1: with levels of detail (pelt_fit_levels) */
    pelt_fitted_options fitted;
    pelt_convex_options convex;
    pelt_joints_options joints;
    pelt_displacement_options displacement;
    pelt_psd_options psd;
    pelt_wpsd_options wpsd;
    pelt_eigen_options eigen;
    pelt_kernel_options kernel;
    double holdout;    /* fraction of the examples held out of a second fit, for the report: up to 0.9; 0: 0.2,
                         negative: none */
    int no_confidence; /* 1: leave out the skin's forecast of its own errors (pelt_confidence). It is learned from the
                          hold-out fit, or without one from a quick fit to most examples; never without a report */
    uint32_t seed;     /* of random numbers: initial values of learned features (corrective kernel), and the order in
                         which they see the examples; 0: 1 */
    uint32_t threads;  /* 0: as many as the machine has. The bytes are the same for any number */
    pelt_progress progress;
} pelt_fit_options;

/* Fills in blend, corrective, and the method that they amount to (a psd with another corrective is not called psd), and
   checks every number, every choice, and that no unused option is set. pelt_fit calls it too. */
PELT_API pelt_result pelt_fit_resolve(pelt_fit_options *options, pelt_error *error);

/* Sets an option by the name of its field and a text, as people write them, after method, blend and corrective have
   been set: ("method", "kernel"), ("per_vertex", "20"), ("rbf", "gaussian"), ("normals", "rows"). "0" stands for
   none also where a field of 0 is the default (smooth, ridge, normal_scale, fade). Lists are set in the struct. */
PELT_API pelt_result pelt_fit_options_set(pelt_fit_options *options, const char *name, const char *text,
                                          pelt_error *error);

/* 1 if the blend or the corrective uses the option of this name, such as "per_vertex". */
PELT_API int pelt_option_used(const char *option, pelt_blend blend, pelt_corrective_kind corrective);

/* The range of a numeric option, for user interfaces; 0, the default, is always allowed. Returns 0 if no option of a
   method has this name. Lists and choices have the range 0 to 0, or to the last choice. */
PELT_API int pelt_option_range(const char *option, double *low, double *high);

/* A file in memory, a skin or key points. `bytes` are aligned for pelt_open and pelt_keys_open. */
typedef struct pelt_bytes {
    void *bytes;
    size_t size;
} pelt_bytes;

PELT_API void pelt_bytes_free(pelt_bytes *bytes); /* NULL is fine */

/* Writes them to a file, which appears whole or not at all. */
PELT_API pelt_result pelt_bytes_write(const pelt_bytes *bytes, const char *path, pelt_error *error);

/* Chooses a fraction of the examples to hold out: runs of frames where they are consecutive in time, single frames
   where they are not; never a clip's first frame. The bundle owns both lists. */
PELT_API pelt_result pelt_hold_out(pelt_bundle *bundle, pelt_examples all, double fraction, pelt_examples *kept,
                                   pelt_examples *held, pelt_error *error);

/* Reads a skin file, or the skin in a glTF file (`pelt export --embed`), and checks it with pelt_open. Free the bytes
   with pelt_bytes_free when the skin is no longer used. */
PELT_API pelt_bytes *pelt_skin_read(const char *path, pelt_skin *skin, pelt_error *error);

/* -- Measuring ---------------------------------------------------------------------------------------------------- */

/* The error of a part of the mesh: the vertices that a joint moves most by the file's weights, or those painted in one
   colour (pelt_mesh.colors), to the nearest of the eight named ones. */
typedef struct pelt_region {
    const char *name; /* of the joint or the colour */
    int painted;      /* 1: by colour */
    uint32_t vertex_count;
    double rms, max; /* as in pelt_measure, over these vertices */
    double rel_err;  /* likewise; NAN if the blend with the file's weights is exact here, or if there is none */
} pelt_region;

/* How a skin's forecast of its errors (pelt_confidence) compares with the truth, frame by frame. */
typedef struct pelt_expectation {
    double correlation; /* of the logarithms of expected and true errors */
    struct {
        double bar;             /* a true error: */
        uint32_t called, worse; /* frames forecast to be better than this, and those of them that are worse */
    } at[2];                    /* the median and the 90th percentile of the true errors */
} pelt_expectation;

/* How far a skin is from the truth. Errors are distances in scene units. */
typedef struct pelt_measure {
    uint32_t frame_count, vertex_count;
    double rms;          /* sqrt(sum |error|^2 / (frames x vertices)) */
    double max;          /* largest |error| */
    double rms_fraction; /* of mesh.scene_diagonal */
    double max_fraction;
    double rel_err;        /* ||model - truth|| / ||blend with the file's weights - truth||; 0 if that blend is exact to
                         a millionth of the diagonal, or if the character has no weights: then only rms is
                         meaningful */
    double blend_fraction; /* rms of that blend, of the diagonal; 0: no weights */
    double roughness; /* ||L(model - truth)|| / ||L(blend with the file's weights - truth)||, L the uniform Laplacian of
                         the mesh: a point's error minus the mean over its neighbours. Vertices with the same rest
                         position are one point, with the mean of their errors. 1 is as rough as the blend, less is
                         smoother; 0 as for rel_err. It depends on the resolution of the mesh, given by: */
    uint32_t point_count;
    double mean_edge;          /* mean length, at rest, of the edges between points; 0: there are none */
    double normal_rms_degrees; /* angles between normals of the skin and the true ones: the clip's own, or those
                                  of the true positions, smooth and hard where the character's are. Over known
                                  normals; 0: none is known */
    double normal_max_degrees;
    double jump;     /* jump_max relative to the same of the blend with the file's weights: above 1 the skin pops more;
                        0 as for rel_err */
    double jump_max; /* largest |change of a point's error| from one frame to the next. NAN, like jump, if no frames are
                        consecutive: sparse frames, clips that are lists of poses */
    uint32_t worst_frame, worst_vertex; /* where max is; the frame is an index into the examples */
    uint32_t jump_frame, jump_vertex;   /* where jump_max is: from the frame before to this one */
    float *frame_rms;                   /* [frame_count] */
    float *frame_max;                   /* [frame_count] */
    float *frame_blend;                 /* [frame_count] rms of the blend with the file's weights; 0: no weights */
    float *frame_expected;        /* [frame_count] what pelt_confidence says; NULL: the skin cannot predict them */
    pelt_expectation expectation; /* then 0 */
    float *vertex_rms;            /* [vertex_count] over the frames */
    float *vertex_rough;          /* [vertex_count] RMS of the Laplacian of the error over the frames */
    uint32_t region_count;
    pelt_region *regions;     /* [region_count] by joint, the worst rms first; then by colour, if several are painted */
    struct pelt_arena *arena; /* owns all of it */
} pelt_measure;

/* Runs a skin over examples and compares with their true positions. Free with pelt_measure_free. */
PELT_API pelt_measure *pelt_measure_examples(const pelt_skin *skin, const pelt_bundle *bundle, pelt_examples examples,
                                             uint32_t threads, pelt_error *error);
PELT_API void pelt_measure_free(pelt_measure *measure);

/* Whether rel_err, roughness and jump are meaningful. */
PELT_API int pelt_measure_is_relative(const pelt_measure *measure);

/* -- The report ----------------------------------------------------------------------------------------------------

   What a fit found, for programs; the skin contains the same as JSON text (pelt_skin.about). */

#define PELT_REST_EXAMPLE UINT32_MAX /* in place of an example's number: the rest pose */

/* The condition number of the matrix that a corrective inverted, or of the worst one if there are several. */
typedef struct pelt_condition {
    double value;        /* largest over smallest eigenvalue, may be infinite; 0: nothing was inverted */
    double median;       /* over the vertices, if each has its own matrix; otherwise 0 */
    const char *where;   /* "vertex 12", the name of a joint; NULL: there is one matrix */
    uint32_t closest[2]; /* the two closest examples in it: indices into the examples, or PELT_REST_EXAMPLE */
    double distance;     /* between them, as the method measures it: radians, joints weighted by what they move;
                            INFINITY if there are not two */
} pelt_condition;

/* What the fit of driven joints found; round_count 0: another blend. */
typedef struct pelt_blend_findings {
    uint32_t candidate_count, driven_count; /* joints that vertices chose from, and how many of them are driven */
    uint32_t round_count;
    const double *round_rms; /* [round_count] error after each round of weights and rest positions, of the diagonal */
    double largest_weight;   /* in magnitude */
    double ridge;            /* penalty on squared weights */
    uint32_t deficient_count;
    const uint32_t *deficient; /* vertices whose joints move too similarly to separate their weights */
    uint32_t rest_deficient_count;
    const uint32_t *rest_deficient; /* vertices whose rest position the examples do not determine in all directions */
    double missed;   /* weights fitted for a corrective: error of a regression on the pose on held-out examples, over
                        that with the file's weights; 0: not fitted this way */
    double pull;     /* how strongly they were pulled; 0: the file's weights stay */
    double held_out; /* error of the corrective itself on held-out examples, over that with the file's weights; 0: not
                        tried */
} pelt_blend_findings;

/* What psd and wpsd found. */
typedef struct pelt_pose_findings {
    uint32_t poses;        /* interpolated poses; wpsd with few: per vertex; 0: another method */
    double width;          /* of the function of the pose distance */
    double growth;         /* psd: by how much rounding grows; 0: unknown */
    double not_told_apart; /* wpsd with all poses: the largest difference of displacements that no source of movement
                              tells apart, of the diagonal; negative: not told */
    double
        unseen; /* wpsd: how much of the squared displacements in examples that move one thing alone is at vertices in
                       whose distance that thing does not count; negative: there are no such examples */
    double
        drivers; /* wpsd: how many things drive a vertex, 1 / sum of the squares of their weights, the mean; 0: not told */
} pelt_pose_findings;

/* What EigenSkin found, joint by joint. A name is that of a mover: joints that the examples always rotate together,
   "spine0+spine1", or a control. */
typedef struct pelt_eigen_joint_findings {
    const char *name;
    uint32_t examples, support; /* examples that move only it, points that they displace */
    uint32_t kept, rank;        /* eigendisplacements kept, and in total */
    const double *singular;     /* [rank] singular values, descending */
} pelt_eigen_joint_findings;

typedef struct pelt_eigen_pair_findings {
    const char *name, *above; /* two that move together; equal for one that no example moves alone */
    uint32_t support, kept;
} pelt_eigen_pair_findings;

typedef struct pelt_eigen_field_findings {
    double threshold; /* of supports, a fraction of the largest displacement */
    double width;     /* r0 of exp(-r / r0), in radians */
    uint32_t joint_count;
    const pelt_eigen_joint_findings *joints;
    uint32_t pair_count;
    const pelt_eigen_pair_findings *pairs;
} pelt_eigen_field_findings;

/* What the paper's graphics card had: 4-tuples of floats per vertex, and constant registers. */
enum { PELT_TUPLES_2002 = 16, PELT_CONSTANTS_2002 = 96 };

typedef struct pelt_eigen_findings {
    pelt_eigen_field_findings positions, normals; /* for plain normals joint_count is 0 */

    /* With this threshold and width, the error of displacements in held-out examples, RMS over RMS: for those between
       others of their joint, at the ends of its range, and that move several joints; negative: there are none. */
    double missed_between, missed_beyond, missed_several;

    /* Memory as the paper counts it (section 2.5). */
    uint32_t most_displacements, most_tilts; /* per vertex: n_j |J_i|, for its position and its normal */
    double mean_displacements, mean_tilts;
    uint32_t tuples; /* per vertex, four floats each: position, normal, colour, bone weights, texture coordinates, and
                           the maximum displacements and turns */
    uint32_t constants; /* registers per frame: 4 for the projection, 3 per joint with skin, and one for every four
                           coordinates */
} pelt_eigen_findings;

/* What kernel found: the settings that cross-validation chose. */
typedef struct pelt_kernel_findings {
    pelt_family family;
    const char *form;          /* of neighbourhood kernels, which the family "arc" chooses from; or NULL */
    double width, range, pair; /* of kernels */
    double lambda;             /* the ridge; for features a fraction of their mean square */
    uint32_t features, steps;  /* of each neighbourhood, and of learning them */
    double validation_error;   /* remaining fraction of the displacements in held-out examples */
    uint32_t joints, clusters;
} pelt_kernel_findings;

/* What the skin knows of its own errors (pelt_confidence), by examples that a fit has not seen. */
typedef struct pelt_confidence_findings {
    uint32_t regions;   /* 0: it knows nothing */
    uint32_t frames;    /* held-out examples that it was calibrated on, or that were too few for it */
    double correlation; /* of the logarithms of expected and true errors on these, frame by frame */
    double median;      /* of what it says over the true error, on these */
} pelt_confidence_findings;

typedef struct pelt_fit_report {
    pelt_fit_options options;    /* as resolved: method, blend, corrective; the caller still owns its lists */
    int has_corrective;          /* 0: none was requested, or there was nothing to correct */
    double seconds, cpu_seconds; /* of all that the call did */
    pelt_findings findings;      /* notes and warnings for people */
    pelt_blend_findings blend_fit;

    /* The corrective; zero if there is none, or nothing to correct. */
    pelt_condition condition;
    uint64_t damped;        /* (example, point) pairs whose blend is nearly singular, so that its inverse was damped */
    uint32_t damped_points; /* points of these pairs */
    double bound;           /* no pose displaces a vertex farther than this */
    double storage_error;   /* largest error of 16-bit storage at the examples; 0 if not used */
    pelt_pose_findings poses;
    const pelt_eigen_findings *eigen;   /* NULL: another method */
    const pelt_kernel_findings *kernel; /* NULL: another method */

    pelt_confidence_findings confidence;

    pelt_examples kept, held; /* examples seen by the second fit, and held out; empty if nothing was held out */
    pelt_measure *train;      /* error of the skin on the examples it was fitted to */
    pelt_measure *holdout;    /* error of a fit to `kept` on `held`: what to expect in new poses. NULL: none */
    struct pelt_arena *arena; /* owns all of it */
} pelt_fit_report;

/* Frees the contents of a report, not the struct itself. NULL is fine. */
PELT_API void pelt_fit_report_free(pelt_fit_report *report);

/* Fits a skin to examples. Free the bytes with pelt_bytes_free. All examples need true positions, unless the blend is
   not fitted (file, distance), there is no corrective and no report is requested; such a blend needs no examples at
   all, and its report without examples has no measures. `options` may be NULL: the defaults. `report` may be NULL: then
   nothing is measured or held out, which saves most of the second half of the time; otherwise it is filled in if the
   fit succeeds; free it with pelt_fit_report_free. It can take seconds to minutes: options->progress is called, and can
   stop it. */
PELT_API pelt_bytes *pelt_fit(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                              pelt_fit_report *report, pelt_error *error);

/* The same skin with levels of detail (pelt.h). Which displacements are left out first is decided by how much they do in
   these examples, which are best those that the skin was fitted to, and need no true positions; the errors of the levels
   are measured on them. Levels that the skin already has are replaced. */
PELT_API pelt_bytes *pelt_fit_levels(const pelt_bytes *skin, pelt_bundle *bundle, pelt_examples examples,
                                     pelt_error *error);

/* The skin of another mesh of the same character, such as a simplified one: `skin` was made for the mesh of `from`, and
   the result is for that of `to`. Each vertex of `to` takes the weights, displacements and changes of normals of the
   nearest point of the rest surface, mixed from the corners of its triangle by barycentric coordinates, so that both
   meshes run on the same poses; its own rest position and normal stay as they are. Levels of detail come along, with
   the errors that they have on `from`. Skins of wpsd are refused. */
PELT_API pelt_bytes *pelt_carry_skin(const pelt_bytes *skin, const pelt_bundle *from, const pelt_bundle *to,
                                     pelt_error *error);

/* Refits the weights of a skin so that none is negative, keeping its rest positions and the joints of each vertex. */
PELT_API pelt_bytes *pelt_fit_convex(const pelt_skin *skin, pelt_bundle *bundle, pelt_examples examples,
                                     uint32_t threads, pelt_error *error);

/* -- Choosing a method ---------------------------------------------------------------------------------------------

   Which method is best depends on the character, its examples and what the skin may cost. pelt_choose tries all of them
   on examples that they have not seen, and fits the best. */

/* What a skin may cost at most, and how wrong it may be; 0: no limit. */
typedef struct pelt_budget {
    double bytes;              /* of the skin file */
    double bytes_per_vertex;   /* the same */
    double seconds;            /* of a frame on one core of this machine: pose, positions and normals */
    double seconds_per_vertex; /* the same */
    double error;              /* RMS in new poses, in scene units */
    double error_fraction;     /* the same, of the diagonal */
} pelt_budget;

/* Reads a budget as people write it: "500 kB, 20 us, 1 mm", in any order, any of them: bytes, kB, MB, bytes/vertex; us,
   ms, ns/vertex; mm, cm, m (a scene unit is a metre, as in glTF), % of the diagonal. */
PELT_API pelt_result pelt_budget_parse(const char *text, pelt_budget *budget, pelt_error *error);

/* A way to make the skin, and what it is expected to cost. */
typedef struct pelt_candidate {
    const char *name;         /* as options of `pelt fit`: "--method kernel --family arc --per-vertex 5" */
    pelt_fit_options options; /* resolved */
    uint32_t fold_count;      /* held-out parts of the examples that it was tried on; 0: none, `remark` says why */
    double rms, rel_err;      /* expected in new poses: over held-out examples without the worst twentieth of them */
    double bytes;             /* of the skin file, by packing */
    double seconds;           /* of a frame, by running it here: varies from run to run */
    int is_front;             /* 1: no other is smaller and more accurate */
    int is_within;            /* 1: within the budget */
    const char *remark;       /* why it was not tried further; NULL: it was */
} pelt_candidate;

/* All that were tried, the most accurate first. */
typedef struct pelt_front {
    size_t count, chosen;
    const pelt_candidate *list;
    const char *why;             /* a sentence: why the chosen one was taken */
    double seconds, cpu_seconds; /* of choosing and fitting */
    int mirror;                  /* 1, 2, 3: mirror images along x, y, z were kept; 0: not */
    pelt_examples examples;      /* what the skin was fitted to: those given, and images if they were kept */
    struct pelt_arena *arena;    /* owns all of it */
} pelt_front;

PELT_API void pelt_front_free(pelt_front *front); /* frees the contents; NULL is fine */

/* Chooses a method by cross-validation on the examples, and fits it to all of them. Of the methods within the budget
   (NULL: none) the most accurate is taken; if an error is named, the smallest that reaches it. What `options` say holds
   for all: methods that do not use a given option are not tried; method, blend, corrective, preset and holdout must be
   0. The report is that of pelt_fit, with the error over the held-out examples as `holdout`. `report` and `front` may be
   NULL. If nothing is within the budget it fails with PELT_ERROR_DATA, and says what could be reached.

   If the character has two sides (pelt_bundle_mirror), the method is also tried with mirror images of the examples. They
   are kept only where held-out examples gain; then the bundle has their clips too, and front->examples lists them all.

   The choice is the same for any number of threads, and on any machine unless the budget names a time. */
PELT_API pelt_bytes *pelt_choose(pelt_bundle *bundle, pelt_examples examples, const pelt_budget *budget,
                                 const pelt_fit_options *options, pelt_fit_report *report, pelt_front *front,
                                 pelt_error *error);

/* -- Playing a skin on the clips of a bundle ---------------------------------------------------------------------- */

/* A skin prepared for the poses of a bundle: its joints are matched to the bundle's skeleton by name. One per thread.
   */
typedef struct pelt_player pelt_player;
PELT_API pelt_player *pelt_player_new(const pelt_skin *skin, const pelt_bundle *bundle, pelt_error *error);
PELT_API void pelt_player_free(pelt_player *player);

/* Poses the skin as in a frame: returns scratch memory for pelt_deform or a graphics device, valid until the next call.
   A frame beyond the last is the last; NULL, or a clip of another bundle, is the rest pose. */
PELT_API const void *pelt_player_pose(pelt_player *player, const pelt_clip *clip, uint32_t frame);

/* The same for a free pose: a transform per joint of the bundle, and a value per control. Either may be NULL: at rest.
   */
PELT_API const void *pelt_player_pose_of(pelt_player *player, const pelt_transform *locals, const float *controls);

/* Runs the skin in the pose of a frame; positions [vertex_count][3] (and normals, may be NULL) in mesh order. */
PELT_API void pelt_player_frame(pelt_player *player, const pelt_clip *clip, uint32_t frame, float *positions,
                                float *normals);

/* -- Looking into a fit ------------------------------------------------------------------------------------------- */

/* How many eigendisplacements of a joint are given, and the number of counts, from 0 on, with an error. */
enum { PELT_STUDY_SHAPES = 4, PELT_STUDY_COUNTS = 6 };

/* What EigenSkin finds at one joint, or at several that the examples always rotate together, as in the figures of its
   paper: the support (figure 3), eigendisplacements (figure 5) and the error against their number (figure 7). */
typedef struct pelt_joint_study {
    const char *name;       /* "c_spine0+c_spine1" if there are several */
    uint32_t example_count; /* examples that move only it */
    uint32_t support_count; /* points that they displace by more than 4% of the most; a seam is one point */
    uint32_t shape_count;   /* eigendisplacements below: as many as there are, at most PELT_STUDY_SHAPES */
    const float *support;   /* [vertex_count] the largest displacement relative to the most of any vertex, 0 to 1;
                               0 outside the support */
    double singular[PELT_STUDY_SHAPES];     /* [shape_count] singular values, descending: lengths in scene units */
    const float *shapes[PELT_STUDY_SHAPES]; /* [shape_count] -> [vertex_count][3] eigendisplacements: each has unit
                                               length over the points of the support */
    double errors[PELT_STUDY_COUNTS];       /* the remainder of all displacements in the joint's examples with 0, 1, ...
                                         eigendisplacements: sqrt(sum of squares), relative to that with 0 */
} pelt_joint_study;

typedef struct pelt_eigen_study {
    size_t joint_count;
    const pelt_joint_study *joints; /* [joint_count] largest singular values first */
    struct pelt_arena *arena;       /* owns all of it */
} pelt_eigen_study;

/* Analyses the joints of the examples as EigenSkin would with these options; at most `most` of them, 0: all. The study
   outlives bundle and examples. Free with pelt_eigen_study_free. */
PELT_API pelt_eigen_study *pelt_study_joints(pelt_bundle *bundle, pelt_examples examples,
                                             const pelt_fit_options *options, size_t most, pelt_error *error);
PELT_API void pelt_eigen_study_free(pelt_eigen_study *study); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
