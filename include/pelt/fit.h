/* fit.h: make and measure skins.

   The offline half of pelt (`libpelt-fit`): read examples from files, look for what is wrong with them, fit a skin,
   measure it. The run-time half is pelt.h.

       pelt_error error;
       pelt_bundle *body = pelt_bundle_read("body.glb", &error);
       const pelt_clip *train = pelt_bundle_clip(body, "train", PELT_NEED_POSITIONS, &error);
       pelt_examples examples = pelt_bundle_examples(body, &train, 1);
       pelt_skin_bytes *skin = pelt_fit(body, examples, &(pelt_fit_options){.method = "ssd"}, &error);
       pelt_skin_write(skin, "body.pelt", &error);

   Functions that can fail take a pelt_error: they return NULL (or a pelt_result other than PELT_OK) and say in
   error->text which file, what is wrong and what to do. Nothing prints. Option structs are zero-initialised; zero means
   the default. Everything read from a file is owned by its bundle and freed with it. */

#ifndef PELT_FIT_H
#define PELT_FIT_H

#include <pelt/pelt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- Errors, progress, findings -------------------------------------------------------------------------------- */

typedef struct pelt_error {
    pelt_result code;
    char text[1000]; /* one sentence: "body.pc2: 2460 points, but the mesh in body.glb has 2461 vertices" */
} pelt_error;

/* Told about long work. Return non-zero to stop it: the work then fails with PELT_ERROR_CANCELLED. */
typedef struct pelt_progress {
    int (*report)(void *user, const char *task, double fraction);
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

/* A shape that the file carries beside the mesh: displacements of some vertices. */
typedef struct pelt_target {
    const char *name;
    uint32_t count;
    const uint32_t *vertices; /* [count], increasing */
    const float *deltas;      /* [count][3] */
} pelt_target;

typedef struct pelt_mesh {
    uint32_t vertex_count, triangle_count, target_count;
    float *positions;    /* [vertex_count][3] rest positions */
    float *normals;      /* [vertex_count][3], the file's, or area-weighted where it has none */
    uint32_t *triangles; /* [triangle_count][3], counter-clockwise from outside */
    pelt_influences influences;
    pelt_target *targets; /* [target_count] */
    float diagonal;       /* of the bounding box of the rest positions; errors are given as fractions of it */
} pelt_mesh;

/* Joints are the file's joints, the nodes above them, and nodes that carry rigid parts of the mesh. */
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
    const float *positions;      /* [frame_count][vertex_count][3] true positions, or NULL when not loaded */
    const char *source;          /* the file that the positions came from */
    const float *controls;       /* [frame_count][count of the bundle's controls]; NULL: all at rest */
    const char *controls_source; /* the file that the controls came from; NULL: no file */
} pelt_clip;

/* Named numbers that ride along with the clips, and that the shape depends on beside the joints: the tension of a
   muscle, a smile, an age. */
typedef struct pelt_controls {
    uint32_t count;
    const char **names;
    float *rest; /* [count] values in the rest pose */
} pelt_controls;

/* One example: a frame of a clip that has positions. What fits and measures are made of. */
typedef struct pelt_example {
    const pelt_clip *clip;
    uint32_t frame;
} pelt_example;

typedef struct pelt_examples {
    size_t count;
    pelt_example *list;
} pelt_examples;

/* The pose of a frame: one transform per joint, relative to its parent. */
void pelt_clip_pose(const pelt_clip *clip, const pelt_skeleton *skeleton, uint32_t frame, pelt_transform *locals);

/* The values of the controls in a frame, [controls->count]. */
void pelt_clip_controls(const pelt_clip *clip, const pelt_controls *controls, uint32_t frame, float *values);

/* -- Reading ------------------------------------------------------------------------------------------------------ */

/* A character and its examples: a glTF file, and the caches beside it. */
typedef struct pelt_bundle {
    const char *path;
    pelt_mesh mesh;
    pelt_skeleton skeleton;
    pelt_controls controls; /* of the file, and of all clips asked for so far: a clip can add some */
    pelt_controls extras;   /* numbers that nodes of the file carry as "extras": rest values of controls named so */
    uint32_t clip_count;
    pelt_clip *clips;
    pelt_findings notes;      /* what the reader noticed and mended: weights that did not sum to 1, ... */
    struct pelt_arena *arena; /* owns all of it */
} pelt_bundle;

/* Reads a .glb or .gltf file. Clips come without positions until pelt_bundle_clip asks for them. */
pelt_bundle *pelt_bundle_read(const char *path, pelt_error *error);
void pelt_bundle_free(pelt_bundle *bundle);

typedef enum pelt_need {
    PELT_NEED_POSE,      /* the skeleton's motion is enough */
    PELT_NEED_POSITIONS, /* and the true positions, or it is an error */
} pelt_need;

/* A clip by name. Its true positions are in `body.CLIP.pc2` (or .mdd, .npy, a folder of .obj)
   beside `body.glb`, or morph targets of the file itself; or in a named file: "CLIP=FILE". Its controls are tracks of
   the file, and columns of `body.CLIP.csv` beside it, one row per frame. */
const pelt_clip *pelt_bundle_clip(pelt_bundle *bundle, const char *name, pelt_need need, pelt_error *error);

/* All frames of some clips. Owned by the bundle; a list of NULL when memory is out. */
pelt_examples pelt_bundle_examples(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count);

/* Everything that looks wrong with the bundle and the clips given (with positions, where they are loaded), worst first.
   Owned by the bundle. */
pelt_findings pelt_diagnose(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count);

/* -- Fitting ------------------------------------------------------------------------------------------------------ */

typedef struct pelt_fit_options {
    const char *method; /* a preset of blend and corrective: "ssd", "joints", "psd", "wpsd", "eigen", "kernel" */
    const char *blend;  /* where the weights come from: "file", "distance", "fit" (convex, fitted to the examples) or
                           "joints" (fitted, with driven joints); NULL: what the method says */
    const char *corrective; /* "none", "psd", "wpsd", "eigen", "kernel"; NULL: what the method says */
    uint32_t influences;    /* most joints per vertex; 0: as many as there are (file), 4 (others) */
    uint32_t threads;       /* 0: as many as the machine has */

    /* The fitted blends. Lists of joints are names with commas between them; * in a name stands for any letters. */
    const char *rest;              /* rest positions: "keep" or "refit"; NULL: keep (fit), refit (joints) */
    const char *influence_choice;  /* joints: "greedy" or "rigidity"; NULL: greedy */
    const char *drive;             /* joints: JSON text that says which driven joints to add; NULL: automatic */
    const char *drop_joints;       /* joints that no vertex may follow; NULL: none */
    const char *lock_joints;       /* fit: joints that keep the file's weights; NULL: none */
    const uint32_t *lock_vertices; /* fit: vertices that keep the file's weights */
    size_t lock_vertex_count;
    double smooth;       /* fit: cost of the squared difference of weights along an edge; 0: none */
    double prune;        /* fit: weights below this are dropped and the others refitted */
    double ridge;        /* joints: cost of a squared weight; 0: the default, negative: none */
    double normal_scale; /* joints: how much normals count in the fit; 0: the default, negative: not at all */

    /* The correctives. */
    uint32_t poses;               /* psd, wpsd: most important poses kept; 0: all */
    uint32_t principal_joints;    /* wpsd: most sources of movement per vertex; 0: all that matter */
    const char *distance_weights; /* wpsd: "driving" (NULL) or "blend" */
    const char *rbf;     /* psd, wpsd: function of the distance: "exp", "gaussian", "mixed"; NULL: mixed, for wpsd
                            with few poses gaussian */
    int unnormalised;    /* psd, wpsd: functions are not divided by their sum */
    uint32_t per_joint;  /* eigen: displacements of every joint, and as many changes of normals; 0: 5 */
    uint32_t per_vertex; /* kernel: mean displacements of a vertex, and as many changes of its normal, 0: 10; eigen:
                            the most of any, half of them for its normal unless plain_normals, 0: no limit */
    int sweeps_only;     /* eigen: learn from examples that move one joint alone, as the paper does */
    int plain_normals;   /* displacements come without changes of the rest normals */
    const char *control_scale; /* "NAME=S,...": how much more than by default a control counts in distances; NULL: 1 */
    const char *displacements; /* bits of their numbers: "16", "32"; NULL: 16 where that moves no vertex by more
                                  than a hundred-thousandth of the size */
    pelt_progress progress;
} pelt_fit_options;

/* Names of all methods, NULL at the end: what `pelt compare` runs through. */
extern const char *const pelt_methods[];

/* Fills in what the method implies (blend, corrective) and refuses names that do not exist. */
pelt_result pelt_fit_resolve(pelt_fit_options *options, pelt_error *error);

/* A skin file in memory: bytes are aligned for pelt_open. */
typedef struct pelt_skin_bytes {
    void *bytes;
    size_t size;
} pelt_skin_bytes;

/* Fits a skin to examples. */
pelt_skin_bytes *pelt_fit(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                          pelt_error *error);
void pelt_skin_free(pelt_skin_bytes *skin);

/* Refits the weights of a skin so that none is negative, on the joints that each vertex has, with its rest positions.
 */
pelt_skin_bytes *pelt_fit_convex(const pelt_skin *skin, pelt_bundle *bundle, pelt_examples examples, uint32_t threads,
                                 pelt_error *error);

/* Replaces the text that the skin carries about itself (pelt_skin.about): a JSON object, as text. */
pelt_result pelt_skin_set_about(pelt_skin_bytes *skin, const char *about, pelt_error *error);

/* Chooses a fraction of the examples to hold out: whole stretches where frames follow one another in time, single ones
   where they do not; never a clip's first frame. Both lists are owned by the bundle. */
pelt_result pelt_hold_out(pelt_bundle *bundle, pelt_examples all, double fraction, pelt_examples *kept,
                          pelt_examples *held, pelt_error *error);

/* Reads and writes skin files. A file appears whole or not at all. pelt_skin_read checks it with pelt_open. */
pelt_skin_bytes *pelt_skin_read(const char *path, pelt_skin *skin, pelt_error *error);
pelt_result pelt_skin_write(const pelt_skin_bytes *skin, const char *path, pelt_error *error);

/* -- Measuring ---------------------------------------------------------------------------------------------------- */

/* How far a skin is from the truth. Errors are distances in scene units. */
typedef struct pelt_measure {
    uint32_t frame_count, vertex_count;
    double rms;          /* sqrt(sum |error|^2 / (frames x vertices)) */
    double max;          /* largest |error| */
    double rms_fraction; /* of the rest bounding-box diagonal */
    double max_fraction;
    double rel_err; /* ||model - truth|| / ||blend with the file's weights - truth||; 0 where that is exact */
    double normal_rms_degrees; /* angles between normals of the skin and area-weighted normals of the true positions */
    double normal_max_degrees;
    uint32_t worst_frame, worst_vertex; /* where max is; the frame is an index into the examples */
    float *frame_rms;                   /* [frame_count] */
    float *frame_max;                   /* [frame_count] */
    float *vertex_rms;                  /* [vertex_count] over the frames */
} pelt_measure;

/* Runs a skin over examples and compares with their true positions. Free with pelt_measure_free. */
pelt_measure *pelt_measure_examples(const pelt_skin *skin, const pelt_bundle *bundle, pelt_examples examples,
                                    uint32_t threads, pelt_error *error);
void pelt_measure_free(pelt_measure *measure);

/* A skin made ready for the poses of a bundle: its joints are found in the bundle's skeleton by name. One per thread.
 */
typedef struct pelt_player pelt_player;
pelt_player *pelt_player_new(const pelt_skin *skin, const pelt_bundle *bundle, pelt_error *error);
void pelt_player_free(pelt_player *player);

/* Runs the skin in the pose of a frame; positions [vertex_count][3] (and normals, may be NULL) in the mesh's order. */
void pelt_player_frame(pelt_player *player, const pelt_clip *clip, uint32_t frame, float *positions, float *normals);

#ifdef __cplusplus
}
#endif
#endif
