/* view.h: what `pelt view` shows: characters with their skins, and boxes of key points, as resources.

   A *resource* is bytes with a name. "data/show.json" lists the contents and names all the others; they are made on
   request. The server (server.h) sends them, an export writes them as files: both are made the same way.

       pelt_view *view = pelt_view_new(&options, &error);
       pelt_view_add(view, "arm.glb", &error);
       pelt_view_add(view, "arm.pelt", &error);
       pelt_view_arrange(view, &error);
       pelt_view_resource(view, "data/show.json", &resource, &error);

   Names of resources are looked up and never become paths. */

#ifndef PELT_VIEW_H
#define PELT_VIEW_H

#include "rig/rig.h"

typedef struct pelt_view pelt_view;

/* Fits a skin to a bundle with the arguments of `pelt fit`; NULL with a message. */
typedef pelt_bytes *(*pelt_view_fit)(const char *bundle, size_t word_count, const char *const *words,
                                     const pelt_progress *progress, pelt_error *error);

/* Writes a built-in character to a new folder; *scene: the file to open. */
typedef pelt_result (*pelt_view_sample)(const char *name, const char *folder, char *scene, size_t size,
                                        pelt_error *error);

typedef struct pelt_view_options {
    uint32_t threads;        /* 0: as many as the machine has */
    bool serving;            /* show.json says that there is a server for further requests */
    bool with_fit;           /* an export contains the fitter, and show.json says so */
    pelt_view_fit fit;       /* NULL: fitting is not available */
    pelt_view_sample sample; /* NULL: there are no built-in characters */
    /* What computes the points of faces, and its name; it must outlive the view. NULL: only the built-in rig. */
    struct pelt_engine *engine;
    const char *engine_name;
} pelt_view_options;

pelt_view *pelt_view_new(const pelt_view_options *options, pelt_error *error);
void pelt_view_free(pelt_view *view);
const pelt_view_options *pelt_view_settings(const pelt_view *view);

/* Adds a file: a bundle (.glb, .gltf), a skin, a file of key points, or a point cache as a clip for key points. */
pelt_result pelt_view_add(pelt_view *view, const char *path, pelt_error *error);

/* Call after adding files: skins join the characters they were made for, caches the key points. */
pelt_result pelt_view_arrange(pelt_view *view, pelt_error *error);

/* -- Resources (resource.c). Any thread. ------------------------------------------------------------------------- */

typedef struct pelt_resource {
    void *bytes; /* from malloc, freed by the caller */
    size_t size;
    const char *type; /* "application/json" */
} pelt_resource;

/* Makes a resource. PELT_ERROR_ARGUMENT: unknown name. */
pelt_result pelt_view_resource(pelt_view *view, const char *name, pelt_resource *resource, pelt_error *error);

/* Whether making it can take long, so that others must not wait for it. */
bool pelt_view_is_slow(const char *name);

/* Calls back with the names of all resources, until it returns something other than PELT_OK. */
typedef pelt_result (*pelt_view_name)(void *user, const char *name, pelt_error *error);
pelt_result pelt_view_names(pelt_view *view, pelt_view_name call, void *user, pelt_error *error);

/* -- Adding while others read. Any thread. ------------------------------------------------------------- */

/* Adds a skin in memory to a character; takes ownership even on failure. *index: its index. */
pelt_result pelt_view_add_skin(pelt_view *view, uint32_t character, const char *name, pelt_bytes *bytes,
                               uint32_t *index, pelt_error *error);
/* Adds a character once more, with its caches mended as by `pelt fit --fix`: placed on the mesh, bad examples left out.
   *fixed: its index. */
pelt_result pelt_view_fix(pelt_view *view, uint32_t character, uint32_t *fixed, pelt_error *error);
/* Takes a skin off the list, or puts it back; its bytes stay, so that nothing else changes its name. */
pelt_result pelt_view_list_skin(pelt_view *view, uint32_t character, uint32_t skin, bool listed, pelt_error *error);
/* The file of a character, or NULL. */
const char *pelt_view_bundle_path(pelt_view *view, uint32_t character);
uint32_t pelt_view_character_count(pelt_view *view);
uint32_t pelt_view_box_count(pelt_view *view);

/* Soon stops pending work. */
void pelt_view_stop(pelt_view *view);

/* -- Live poses (live.c) ----------------------------------------------------------------------------------------- */

typedef enum pelt_view_stream_state {
    PELT_STREAM_WAITING, /* no pose has come yet */
    PELT_STREAM_LIVE,
    PELT_STREAM_OVER,   /* it has ended; the last pose stays */
    PELT_STREAM_BROKEN, /* with a sentence */
} pelt_view_stream_state;

typedef struct pelt_view_stream {
    const char *path; /* of lines of poses: a named pipe, a device, a file, or - for standard input */
    double rate;      /* lines of a file that are played in a second; 0: 60 */
    void (*say)(void *user, const char *sentence); /* why lines are skipped, or the stream ends early; any thread */
    void *user;
} pelt_view_stream;

/* The first character follows a stream of poses until the view is freed. Call it once, after pelt_view_arrange. */
pelt_result pelt_view_follow(pelt_view *view, const pelt_view_stream *stream, pelt_error *error);

/* -- Light (lamp.c) ---------------------------------------------------------------------------------------------- */

/* A request to light a box; the answer is a resource. */
typedef struct pelt_view_lamp {
    uint32_t box;
    float at[3];
    bool full;        /* gather all points */
    uint32_t samples; /* paths per key, or per point; 0: the default */
    uint32_t paths;   /* of all points: so many more than were gathered for this light before; 0: all */
    uint32_t seed;
    bool (*stop)(void *user); /* polled while all points are gathered; NULL: never */
    void *user;
} pelt_view_lamp;
pelt_result pelt_view_light(pelt_view *view, const pelt_view_lamp *lamp, pelt_resource *resource, pelt_error *error);

/* -- Faces (rig.c) ----------------------------------------------------------------------------------------------- */

/* A request to pull the controls of a face with a live engine. The answer is a resource: u32 verdict, points computed,
   calls of the engine, 1 if there is a truth; f32 e, misfit, milliseconds of the soft cache, and of the engine for the
   truth; then f32 e of [regions] and [keys], and positions: of the soft cache, from the keys alone, the truth. */
typedef struct pelt_view_pull {
    uint32_t box, control_count;
    const float *controls; /* [control_count] */
    bool cut;              /* nothing comes before it: all witnesses are heard, and nothing is blended over time */
    bool all;              /* compute the truth too */
} pelt_view_pull;
pelt_result pelt_view_pull_face(pelt_view *view, const pelt_view_pull *pull, pelt_resource *resource,
                                pelt_error *error);

/* -- The page (page.c) ------------------------------------------------------------------------------------------- */

/* A file of the page, as it was built: "index.html", "assets/index-1a2b.js". */
typedef struct pelt_page_file {
    const char *name, *type;
    const unsigned char *gzip; /* its bytes, compressed */
    size_t gzip_size, size;
} pelt_page_file;

/* Number of files; 0: this pelt was built without the page. */
size_t pelt_page_count(void);
const pelt_page_file *pelt_page_at(size_t i);
const pelt_page_file *pelt_page_find(const char *name);
/* Its bytes, from malloc; NULL when out of memory. */
unsigned char *pelt_page_bytes(const pelt_page_file *file);

/* -- Export (export.c) ------------------------------------------------------------------------------------------- */

/* Whether this pelt has the fitter as WebAssembly, for exports with_fit. */
bool pelt_page_has_fitter(void);
/* Whether a file of the page is needed by exports with_fit alone. */
bool pelt_page_is_fitter(const pelt_page_file *file);
/* Writes the page and all resources to a new folder, which appears completely or not at all. */
pelt_result pelt_view_export(pelt_view *view, const char *folder, const pelt_progress *progress, size_t *file_count,
                             pelt_error *error);

#endif
