/* gltf_out.h: shared by the parts of the glTF writer.

       gltf_out.c     arrays, accessors and nodes of the tree under construction; the file itself
       gltf_write.c   a new file                     from mesh, skeleton, clips
       gltf_edit.c    an existing file               with another skin: meshes, weights, targets
       gltf_track.c   its animations                 with tracks for what was added
       gltf_keep.c    its bytes and images           without what is no longer used
       gltf_embed.c   a skin inside a glTF file      and out of it again

   All but the last steps work in a stage: JSON values join the tree before they grow, so that nothing leaks when memory
   runs out. */

#ifndef PELT_GLTF_OUT_H
#define PELT_GLTF_OUT_H

#include "io/gltf.h"

enum { GLTF_VERTEX_VIEW = 34962, GLTF_INDEX_VIEW = 34963 };

/* One array of the file's bytes; the list is in file order. */
typedef struct gltf_blob {
    const void *bytes;
    size_t size;
    struct gltf_blob *next;
} gltf_blob;

typedef struct gltf_output {
    const char *path;
    const pelt_gltf_content *content;
    pelt_arena *arena;
    json_t *root, *views, *accessors, *nodes;
    gltf_blob *first, *last;
    size_t size;        /* of the blobs so far */
    uint32_t buffer;    /* of new views */
    const float *times; /* written last: channels share them */
    uint32_t time_count;
    int time_accessor;
} gltf_output;

/* -- gltf_out.c ---------------------------------------------------------------------------------------------------- */

/* Add a new value to the tree and return it; jansson fails only when out of memory. Do not nest these calls: a value
   made for an argument would leak if the stage ended. */
json_t *pelt_gltf_set(gltf_output *out, json_t *object, const char *key, json_t *value);
json_t *pelt_gltf_append(gltf_output *out, json_t *list, json_t *value);

/* A member of an object; if it is missing, one from json_array or json_object. */
json_t *pelt_gltf_get(gltf_output *out, json_t *object, const char *key, json_t *make(void));

/* Whether a value is the index of one of `count` elements. */
bool pelt_gltf_is_index(const json_t *reference, size_t count, size_t *index);
/* The list element that a number refers to, or NULL. */
json_t *pelt_gltf_referred(const json_t *list, const json_t *reference);

/* Adds bytes and their bufferView; returns its index. `target` 0: none. */
void pelt_gltf_add_bytes(gltf_output *out, const void *bytes, size_t size);
int pelt_gltf_add_view(gltf_output *out, const void *bytes, size_t size, int target);
/* Return the index of the new accessor. `view` -1: all zero. */
int pelt_gltf_add_accessor(gltf_output *out, int view, int type, const char *shape, uint32_t count);
int pelt_gltf_add_array(gltf_output *out, const void *bytes, size_t size, int target, int type, const char *shape,
                        uint32_t count);

/* Vertex arrays, which live as long as the output: positions, unit normals, and joint indices in as few bytes as
   `joint_count` needs. */
int pelt_gltf_add_positions(gltf_output *out, const float *positions, uint32_t count);
int pelt_gltf_add_normals(gltf_output *out, const float *normals, uint32_t count);

/* Weights of some vertices, four per set: adds JOINTS_n and WEIGHTS_n to the attributes and returns the number of sets.
   slot_of[joint] is the joint's index in the skin, which has slot_count joints; NULL: the joint itself. */
uint32_t pelt_gltf_add_weights(gltf_output *out, const pelt_influences *in, uint32_t first, uint32_t count,
                               const uint32_t *slot_of, uint32_t slot_count, json_t *attributes);

/* A target of some vertices as sparse accessors: {"POSITION": n, "NORMAL": n}. `normals` may be NULL. */
json_t *pelt_gltf_add_target(gltf_output *out, const pelt_target *target, const pelt_target *normals,
                             uint32_t vertex_count, json_t *targets);

/* A node without children; returns its index. */
int pelt_gltf_add_node(gltf_output *out, const char *name, const pelt_transform *rest);
void pelt_gltf_append_child(gltf_output *out, json_t *node, uint32_t child);

/* Inverse bind matrices [count][12], row-major. */
int pelt_gltf_add_binds(gltf_output *out, const double (*binds)[12], uint32_t count);

/* Key times (the same array returns the same accessor), and the values of a channel. */
int pelt_gltf_add_times(gltf_output *out, const float *times, uint32_t count);
int pelt_gltf_add_channel_values(gltf_output *out, const pelt_channel *channel);
/* A sampler and a channel that plays it. */
void pelt_gltf_add_channel(gltf_output *out, json_t *animation, int node, const char *path, int input, int output,
                           const char *interpolation);

/* Writes tree and blobs as .glb, or as .gltf with a .bin. Not in a stage. */
pelt_result pelt_gltf_write_file(const gltf_output *out, pelt_error *error);

/* -- gltf_edit.c --------------------------------------------------------------------------------------------------- */

/* A mesh that gains targets. */
typedef struct gltf_morphed {
    uint32_t node;      /* shows it now */
    uint32_t file_node; /* showed it before */
    uint32_t before;    /* targets of the file */
    uint32_t count;     /* new ones */
    uint32_t *targets;  /* [count] of the content's */
    float *rest;        /* [before] rest weights of the file's targets */
} gltf_morphed;

typedef struct gltf_editing {
    gltf *g; /* the file as read; its tree becomes the output's */
    gltf_scene scene;
    gltf_parts parts;
    gltf_output *out;
    uint32_t *joint_of; /* [joint of the content] joint of the file, UINT32_MAX: none */
    uint32_t *node_of;  /* [joint of the content] */
    bool *freed;        /* [accessors of the file] some reference to it was replaced */
    uint32_t accessor_count, view_count;
    int freed_view;        /* of a previously embedded skin; -1: none */
    gltf_morphed *morphed; /* [mesh nodes] */
    uint32_t morphed_count;
    bool reshaped;      /* rest positions changed, or moved to another space */
    uint32_t *shown_by; /* [nodes of the file] the node that shows its mesh now */
} gltf_editing;

/* Records that a reference to an accessor is about to be replaced. */
void pelt_gltf_release(gltf_editing *e, const json_t *reference);

/* -- gltf_track.c, gltf_keep.c, gltf_embed.c ------------------------------------------------------------------------ */

/* Adds tracks of new joints and targets to the animations of the clips. */
bool pelt_gltf_edit_animations(gltf_editing *e);

/* Embeds images that are side files of the source. */
bool pelt_gltf_keep_images(gltf_editing *e);
/* Drops what was released and is no longer used, and merges all buffers into one, before the new blobs. */
bool pelt_gltf_keep_bytes(gltf_editing *e);

/* Adds the content's skin to the tree. */
void pelt_gltf_embed(gltf_editing *e);

#endif
