/* gltf.h: shared by the parts of the glTF reader; the writer's header is gltf_out.h. In the order of the work:

       gltf_buffer.c     the container: .glb chunks, base64, side files
       gltf_json.c       items of the JSON text, which know their path in it
       gltf_accessor.c   typed arrays in the buffers
       gltf_scene.c      nodes and skins        -> skeleton
       gltf_mesh.c       all meshes of a scene  -> one mesh
       gltf_clip.c       animations             -> clips
       gltf_read.c       all of it              -> bundle
       gltf_light.c      geometry, materials, lights, camera -> a scene to light
       surface.c         colours, pictures, texture coordinates -> how a character looks

   Functions that return bool return false after pelt_gltf_fail, which keeps the message for the reader's caller. */

#ifndef PELT_GLTF_H
#define PELT_GLTF_H

#include "io/io.h"
#include <jansson.h>

/* A value of the JSON text and its path, such as "meshes[0].primitives[1].mode". Absent values have json NULL. */
typedef struct gltf_item {
    const json_t *json;
    char path[120];
} gltf_item;

typedef struct gltf_buffer {
    const uint8_t *bytes; /* NULL if the file does not say where they are */
    size_t size;
    const char *side_file; /* where they were read from, or NULL */
} gltf_buffer;

typedef struct gltf {
    const char *path;    /* of the file; NULL: no folder to find side files in */
    pelt_bundle *bundle; /* the result */
    pelt_arena *arena;   /* the bundle's */
    pelt_arena *scratch; /* only needed while reading */
    pelt_arena *files;   /* side files */
    pelt_error error;
    json_t *json;
    gltf_item root;
    gltf_buffer *buffers;
    uint32_t buffer_count;
    uint32_t *animations; /* [clips of the bundle] index in the file */
    uint64_t work_left;   /* numbers that may still be decoded; hostile files reference one array over and over */
} gltf;

/* -- gltf_json.c ------------------------------------------------------------------------------------------------- */

/* Keeps "FILE: PATH: sentence" as the error and returns false. */
bool pelt_gltf_fail(gltf *g, pelt_result code, gltf_item where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

bool pelt_gltf_out_of_memory(gltf *g);

/* Memory from one of the arenas; NULL after pelt_gltf_fail. */
void *pelt_gltf_alloc(gltf *g, pelt_arena *arena, size_t count, size_t size);
#define GLTF_NEW(g, arena, type, count) ((type *)pelt_gltf_alloc((g), (arena), (count), sizeof(type)))

gltf_item pelt_gltf_member(gltf_item object, const char *key);
gltf_item pelt_gltf_element(gltf_item list, size_t index);
/* One element of a top-level list: pelt_gltf_entry(g, "nodes", 3). */
gltf_item pelt_gltf_entry(const gltf *g, const char *list, size_t index);

/* Length of a list; 0 if absent. */
bool pelt_gltf_length(gltf *g, gltf_item list, uint32_t *length);
/* A non-negative integer; `fallback` if absent. */
bool pelt_gltf_natural(gltf *g, gltf_item item, uint64_t fallback, uint64_t *number);
/* A required reference to an element of a top-level list, checked against its length. */
bool pelt_gltf_reference(gltf *g, gltf_item item, const char *list, uint32_t *index);
/* A list of exactly `count` numbers that fit a float; an absent list leaves them unchanged. */
bool pelt_gltf_numbers(gltf *g, gltf_item list, size_t count, double *numbers);
/* A string; `fallback` if absent. */
const char *pelt_gltf_text(gltf_item item, const char *fallback);

/* -- gltf_buffer.c ----------------------------------------------------------------------------------------------- */

/* Parses container and JSON text (g->json, g->root), then finds the bytes of all buffers. */
bool pelt_gltf_open(gltf *g, const pelt_file *file);

/* The bytes of a picture, an element of "images": in a buffer, a data: URI, or a file in the folder. */
bool pelt_gltf_image_bytes(gltf *g, gltf_item image, gltf_buffer *buffer);

/* The MIME type of a picture by its bytes: the file's own claim is ignored. NULL: not one that glTF allows. */
const char *pelt_gltf_picture_type(const gltf_buffer *picture);

/* -- gltf_read.c ------------------------------------------------------------------------------------------------- */

/* Extensions that affect no vertex position and reference no array, or that the reader understands. */
bool pelt_gltf_extension_is_known(const char *name);

/* -- gltf_accessor.c --------------------------------------------------------------------------------------------- */

typedef enum gltf_type {
    GLTF_BYTE = 5120,
    GLTF_UBYTE,
    GLTF_SHORT,
    GLTF_USHORT,
    GLTF_UINT = 5125,
    GLTF_FLOAT
} gltf_type;

typedef struct gltf_accessor {
    gltf_item item;
    uint32_t index; /* in "accessors" */
    uint32_t count, components;
    gltf_type type;
    bool normalized;
    const uint8_t *bytes; /* NULL: all zero */
    size_t stride;
    uint32_t sparse_count; /* elements that replace some of those above */
    gltf_type sparse_type;
    const uint8_t *sparse_indices; /* checked: increasing, within count */
    const uint8_t *sparse_values;
} gltf_accessor;

/* The bufferView that an item names, and its bytes. */
bool pelt_gltf_view(gltf *g, gltf_item owner, gltf_item *view, gltf_buffer *bytes);

/* Opens the accessor that an item references and checks that all its bytes are present. `shape` is the type the item
   needs: "SCALAR", "VEC3", "VEC4" or "MAT4". */
bool pelt_gltf_accessor_open(gltf *g, gltf_item reference, const char *shape, gltf_accessor *accessor);
/* All elements as floats, checked to be finite. */
bool pelt_gltf_accessor_floats(gltf *g, const gltf_accessor *accessor, float *out);
/* All elements of an unsigned integer accessor. */
bool pelt_gltf_accessor_integers(gltf *g, const gltf_accessor *accessor, uint32_t *out);
/* Indices and values of the nonzero elements of a VEC3 accessor, in scratch. */
bool pelt_gltf_accessor_nonzero(gltf *g, pelt_arena *scratch, const gltf_accessor *accessor, uint32_t *count,
                                uint32_t **elements, float **values);

/* -- gltf_scene.c ------------------------------------------------------------------------------------------------ */

typedef struct gltf_skin {
    bool used;
    uint32_t joint_count;
    uint32_t *joints; /* [joint_count] joint of the skeleton of each joint of the skin */
} gltf_skin;

typedef struct gltf_scene {
    uint32_t node_count;
    int32_t *parents;           /* of each node, -1: none */
    int32_t *meshes, *skins_of; /* of each node, -1: none */
    pelt_transform *locals;     /* of each node at rest */
    pelt_affine *globals;       /* of each node at rest */
    uint32_t *parents_first;    /* all nodes, parents before children */
    uint32_t mesh_node_count;
    uint32_t *mesh_nodes; /* scene nodes with a mesh, depth first */
    uint32_t skin_count;
    gltf_skin *skins;
    uint32_t *joint_nodes;                   /* [joints of the skeleton] the node of each */
    uint32_t *first_targets, *target_counts; /* per node, filled in with the mesh: its morph targets in the bundle */
    int32_t *joints;                         /* joint of each node, -1: none */
    int32_t *rigid_joints;                   /* joint that moves the unskinned mesh of each node, -1: none */
} gltf_scene;

/* Reads nodes and skins and fills in the bundle's skeleton. */
bool pelt_gltf_read_scene(gltf *g, gltf_scene *scene);
/* The transform of an unskinned node's mesh to its place in the rest pose; `bind` is the inverse. A node flattened in
   the rest pose has no inverse: its mesh stays in its local space, and the result is false. */
bool pelt_gltf_rigid_bind(const gltf_scene *scene, uint32_t node, pelt_affine *place, pelt_affine *bind);

/* -- gltf_control.c ---------------------------------------------------------------------------------------------- */

/* Distinct names of numbers and their rest values; in scratch, except for the names themselves. */
typedef struct gltf_names {
    uint32_t count, capacity;
    const char **names;
    float *rest;
    json_t *places; /* index of each name in the list */
} gltf_names;

typedef struct gltf_track {
    uint32_t clip, control;
    pelt_channel keys; /* single numbers */
} gltf_track;

typedef struct gltf_tracks {
    gltf_names controls;
    uint32_t count, capacity;
    gltf_track *list;     /* clip by clip */
    uint32_t other_count; /* channels that animate something else */
} gltf_tracks;

/* Fills in the bundle's extras. */
bool pelt_gltf_read_extras(gltf *g);
/* The control that a channel with the path "pointer" animates; *wanted is false if it animates none. */
bool pelt_gltf_track_target(gltf *g, gltf_tracks *tracks, gltf_item target, uint32_t *control, bool *wanted);
bool pelt_gltf_add_track(gltf *g, gltf_tracks *tracks, uint32_t clip, uint32_t control, const pelt_channel *keys);
/* Times of a clip: the keys of its channels and of its tracks, from `first` on. */
bool pelt_gltf_merge_times(gltf *g, const gltf_tracks *tracks, uint32_t first, pelt_clip *clip);
/* Fills in the controls of the bundle and its clips, once all clips are read. */
bool pelt_gltf_sample_tracks(gltf *g, const gltf_tracks *tracks);

/* -- gltf_mesh.c, gltf_clip.c, gltf_read.c -------------------------------------------------------------------------- */

/* A primitive in a node. */
typedef struct gltf_part {
    gltf_item primitive;
    uint32_t node, index; /* index: within the mesh's primitives */
    uint32_t mode;
    bool has_own_vertices; /* false: shares an earlier part's */
    uint32_t first, count; /* its vertices */
    uint32_t corner_count; /* indices, or vertices if not indexed */
} gltf_part;

/* All parts of a scene, node by node, in scratch. */
typedef struct gltf_parts {
    const gltf_scene *scene;
    uint32_t count;
    gltf_part *list;
    uint64_t vertex_count, triangle_count, influence_count;
} gltf_parts;

bool pelt_gltf_read_mesh(gltf *g, const gltf_scene *scene, gltf_parts *parts);
bool pelt_gltf_read_clips(gltf *g, const gltf_scene *scene);

/* The words of glTF, by pelt_path and pelt_interpolation. */
extern const char *const pelt_gltf_paths[], *const pelt_gltf_interpolations[];
/* The keys of a channel, `size` numbers each: 4 for rotations, 1 for controls; `scalars`: stored as SCALAR, like
   weights. known[accessor] has key times that were read before; NULL: none. */
bool pelt_gltf_read_sampler(gltf *g, gltf_item animation, gltf_item channel, const float **known, uint32_t size,
                            bool scalars, pelt_channel *keys);

/* An attribute of all vertices of a part. */
bool pelt_gltf_read_attribute(gltf *g, const gltf_part *part, gltf_item item, const char *type, float *out);

/* The transform of a part's vertices from node space to the scene; identity if the node has a skin. */
void pelt_gltf_part_place(const gltf_scene *scene, const gltf_part *part, pelt_affine *place);

/* All of the above: from the bytes of a file to g->bundle. The caller sets g->path, g->bundle and g->arena, and closes
   g even after a failure. */
bool pelt_gltf_read(gltf *g, const pelt_file *file, gltf_scene *scene, gltf_parts *parts);
/* Only opens the file and checks that it is glTF 2.0 and requires no extension that changes vertex positions. */
bool pelt_gltf_begin(gltf *g, const pelt_file *file);
/* Frees what reading needed. PELT_OK if it is done, or the reader's error, which is passed on. */
pelt_result pelt_gltf_close(gltf *g, bool done, pelt_error *error);

#endif
