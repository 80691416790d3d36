/* show.h: shared by the files of this room: the things that are shown. */

#ifndef PELT_VIEW_SHOW_H
#define PELT_VIEW_SHOW_H

#include "engine/input.h"
#include "io/io.h"
#include "io/surface.h"
#include "model/facts.h"
#include "model/sources.h"
#include "model/targets.h"
#include "rig/json.h"
#include "view/view.h"
#include <pelt/keys.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Limits per kind, including what clients add. */
enum { MOST_CHARACTERS = 64, MOST_SKINS = 256, MOST_BOXES = 64, MOST_FACE_CLIPS = 256, MOST_LOOSE = 256 };

typedef struct view_singular {
    const double *values; /* [count] from the skin; NULL: unknown */
    uint32_t count;
} view_singular;

/* The contents of a skin's corrective (inside.c). */
typedef struct view_inside {
    pelt_sources sources;
    pelt_skin_targets targets;  /* displacements of coefficients; none in the weighted form */
    uint32_t coefficient_count; /* of the basis form */
    uint32_t *target_of;        /* [coefficient] UINT32_MAX: it moves nothing */
    uint32_t support_count;     /* sources that move something: */
    uint32_t *supports;         /* [support_count] their indices */
    view_singular *singular;    /* [support_count] what EigenSkin found for each */
    pelt_arena *arena;
} view_inside;

typedef struct view_skin {
    char *name;
    pelt_bytes *bytes;
    pelt_skin skin;
    char *figures;             /* JSON, once known */
    char **errors, **measures; /* [clip_count] likewise */
    view_inside *inside;
    atomic_bool unlisted; /* taken off the list by the user */
} view_skin;

typedef struct view_character {
    char *name;
    pelt_bundle *bundle; /* NULL: a skin alone */
    char *file;          /* its name; NULL: none */
    uint64_t hash;
    bool *has_truth;       /* [clip_count] as far as can be seen without reading them */
    pelt_surface *surface; /* NULL: not read yet */
    char *diagnosis;       /* JSON; NULL: not made yet */
    uint32_t skin_count;
    view_skin *skins[MOST_SKINS];
} view_character;

/* Frames for key points: from a file, or from a clip of the bundle that provides the mesh. */
typedef struct view_face_clip {
    char *name;
    char *path; /* NULL: */
    uint32_t clip;
    pelt_input *input;      /* of the file */
    float *controls;        /* of the bundle's clip, [frame][control_count] in the order of the keys; NULL: unknown */
    uint32_t control_count; /* and [frame] its shots */
    uint32_t *shots;
    char *verdicts; /* JSON, once known, */
    float *trust;   /* and then [frame][region_count + key_count] */
} view_face_clip;

/* All points from those at the keys. */
typedef struct view_keyed {
    const pelt_keys *keys;
    float *at_keys; /* [key_count][3] */
    float *points;  /* [point_count][3] */
    void *scratch;
} view_keyed;

/* The soft cache along a clip of a face (judge.c). */
typedef struct view_player view_player;
/* A live engine behind the key points of a face (rig.c). */
typedef struct view_rig view_rig;

typedef struct view_box {
    char *name;
    pelt_bytes *bytes; /* of a face */
    pelt_keys keys;
    view_character *character; /* with the same number of vertices; NULL: only points */
    uint32_t clip_count;
    view_face_clip clips[MOST_FACE_CLIPS];
    pthread_mutex_t reading; /* frames are read one at a time */
    pthread_mutex_t playing; /* protects: */
    view_player *player;     /* of the frame that was asked for last; NULL: none yet */
    view_rig *rig;           /* NULL: only recorded frames */
    struct view_lamp *lamp;  /* NULL: a face */
} view_box;

struct pelt_view {
    pelt_view_options options;
    pthread_rwlock_t lock;   /* reading: nothing below changes; writing: files are read into it */
    pthread_mutex_t texts;   /* protects what is filled in once */
    pthread_mutex_t engines; /* one call at a time */
    atomic_bool stop;
    uint32_t character_count, box_count, loose_count;
    view_character *characters[MOST_CHARACTERS];
    view_box *boxes[MOST_BOXES];
    view_skin *loose_skins[MOST_LOOSE]; /* until they are matched */
    uint32_t loose_clip_count;
    char *loose_clips[MOST_LOOSE]; /* paths of caches */
    char *loose_clip_names[MOST_LOOSE];
    struct view_live *live; /* NULL: nobody follows a stream */
    bool relights;          /* an export whose page lights boxes itself */
};

/* -- Making resources -------------------------------------------------------------------------------------------- */

/* The numbers in a resource's name. */
typedef struct view_place {
    uint32_t numbers[3];
    bool look; /* only check whether everything it needs is loaded */
} view_place;

typedef pelt_result (*view_make)(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);

pelt_result view_absent(pelt_error *error);
/* Allocates this many bytes; NULL after an error. */
void *view_bytes(pelt_resource *out, size_t size, const char *type, pelt_error *error);
/* JSON as a resource; takes the reference, and fails if it is incomplete. */
pelt_result view_json(pelt_resource *out, json_t *object, pelt_error *error);
/* The text of JSON, from malloc; takes the reference; NULL when out of memory. */
char *view_text(json_t *object);
/* A stored text, or one made now by `make`, without holding a lock, and stored in *slot. */
pelt_result view_stored(pelt_view *view, char **slot, pelt_resource *out, view_make make, view_place place,
                        pelt_error *error);

/* A progress that stops when the view does. */
pelt_progress view_progress(pelt_view *view);

/* NULL: none. */
view_character *view_character_at(pelt_view *view, uint32_t index);
view_skin *view_skin_at(pelt_view *view, uint32_t character, uint32_t index);
const pelt_clip *view_clip_at(pelt_view *view, uint32_t character, uint32_t index);
view_box *view_box_at(pelt_view *view, uint32_t index);

/* Reads the true positions of a clip; needs the write lock. */
pelt_result view_load_truth(pelt_view *view, uint32_t character, uint32_t clip, pelt_error *error);

/* show.c */
pelt_result view_make_show(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_counts(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_live(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);

/* characters.c */
pelt_result view_make_mesh(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
/* i32 [vertex_count]: the joint whose weight in the file is largest, which is the region of `pelt measure`; -1: none. */
pelt_result view_make_joints(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_surface(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_uvs(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_image(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_skin(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_poses(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_controls(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_truth(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_read_surface(pelt_view *view, view_character *character, pelt_error *error);
/* u32 vertices, u32 triangles, positions, normals, indices. */
pelt_result view_pack_mesh(const float *positions, const float *normals, uint32_t vertex_count,
                           const uint32_t *triangles, uint32_t triangle_count, pelt_resource *out, pelt_error *error);

/* diagnosis.c */
/* Needs the write lock, because it reads all true positions. */
pelt_result view_diagnose(pelt_view *view, uint32_t character, pelt_error *error);
pelt_result view_make_diagnosis(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);

/* figures.c */
/* Unknown values are null. */
json_t *view_measure_json(const pelt_fact_measure *measure);
pelt_result view_make_figures(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_errors(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_vertices(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_measure(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);

/* inside.c */
pelt_result view_read_inside(view_skin *skin, pelt_error *error);
void view_inside_free(view_inside *inside);
pelt_result view_make_inside(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_support(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_displacement(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);

/* face.c */
/* Reads the key points of a face into a box. */
pelt_result view_face_open(view_box *box, const char *path, pelt_error *error);
json_t *view_face_json(const pelt_view *view, view_box *box, uint32_t index);
pelt_result view_make_box_mesh(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_face_truth(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_face_keyed(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_face_controls(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
/* u32 [point_count][4] regions, f32 [point_count][4] weights. */
pelt_result view_make_regions(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
uint32_t view_face_frames(const view_box *box, const view_face_clip *clip);
/* What its frames were computed from, if there is one for each control of the box; NULL: unknown. */
const float *view_face_controls(const view_box *box, const view_face_clip *clip, uint32_t frame);
/* Controls and shots of a clip of the bundle, in the order in which the key points know them. */
pelt_result view_face_take_controls(const view_box *box, view_face_clip *clip, pelt_error *error);
/* Whether a frame follows the one before, and is not the first of a shot. */
bool view_face_follows(const view_box *box, const view_face_clip *clip, uint32_t frame);
/* The true points of a frame, [point_count][3]. */
pelt_result view_face_read(view_box *box, const view_face_clip *clip, uint32_t frame, float *values, pelt_error *error);
view_face_clip *view_face_clip_at(pelt_view *view, view_place place, view_box **box);
uint32_t view_face_control_count(const view_box *box);

bool view_keyed_open(view_keyed *keyed, const pelt_keys *keys);
void view_keyed_close(view_keyed *keyed);
/* From the values at the keys; misfit may be NULL. */
void view_keyed_fill(view_keyed *keyed, pelt_misfit *misfit);
/* e of every key: the length of its misfit, relative to what its regions allow. */
void view_keyed_trust(const view_keyed *keyed, float *e);

/* judge.c */
extern const char *const view_verdicts[PELT_CACHE_VERDICTS];
void view_player_free(view_player *player);
pelt_result view_make_face_cached(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_face_verdicts(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_face_trust(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);

/* rig.c */
/* Gives a face the engine of the options, or the built-in rig if it has its mesh; box->rig stays NULL if neither fits. */
pelt_result view_rig_join(const pelt_view *view, view_box *box, pelt_error *error);
void view_rig_free(view_rig *rig);
const char *view_rig_name(const view_rig *rig);
const char *view_rig_control_name(const view_rig *rig, uint32_t control);
uint32_t view_rig_control_count(const view_rig *rig);

/* lamp.c */
/* A box of light, if the file is one (otherwise *lamp is NULL). */
pelt_result view_lamp_open(const char *path, struct view_lamp **lamp, pelt_error *error);
void view_lamp_close(struct view_lamp *lamp);
/* Whether its file is all that lighting it needs: its scene is built in. */
bool view_lamp_is_whole(const struct view_lamp *lamp);
/* Live poses (live.c): null without; ends them. NULL is fine. */
json_t *view_live_json(const struct view_live *live);
void view_live_end(struct view_live *live);
/* `file`: an export has the key points, for a page that lights the box itself. */
json_t *view_lamp_json(view_box *box, uint32_t index, bool file);
pelt_result view_make_light_keys(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);
pelt_result view_make_picture(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error);

#endif
