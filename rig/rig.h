/* rig.h: what every offline room shares: errors, memory, parallel loops, progress, and the mathematics of poses.
   The nouns themselves (mesh, skeleton, clip, bundle) are in <pelt/fit.h>. */

#ifndef PELT_RIG_H
#define PELT_RIG_H

#include <pelt/fit.h>
#include <stdarg.h>
#include <stdbool.h>

/* -- Errors ------------------------------------------------------------------------------------------------------ */

/* Fills in the error (which may be NULL) and returns its code, so that `return pelt_fail(...)` reads well. */
pelt_result pelt_fail(pelt_error *error, pelt_result code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an option that is wrong: the text begins with its name and a colon. */
pelt_result pelt_fail_option(pelt_error *error, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* After pelt_fail: names an option that would help, and its value. Returns the error's code. */
pelt_result pelt_advise(pelt_error *error, const char *option, double value);

/* -- Memory ------------------------------------------------------------------------------------------------------ */

/* Memory that is freed all at once. Allocation is zeroed and aligned to 64 bytes. It fails when the arena's limit would
   be passed or the machine has no more; failure is *sticky*: from then on every allocation of the arena fails, so that
   a group of them is checked once, with pelt_arena_failed.

   Inside pelt_stage there is nothing to check: an allocation that fails ends the stage. */
typedef struct pelt_arena pelt_arena;

pelt_arena *pelt_arena_new(size_t limit); /* limit 0: none. NULL counts as an arena that has failed */
/* For passing needs within a stage: freed with its parent, or before. A failure is its parent's too. */
pelt_arena *pelt_arena_inside(pelt_arena *parent);
/* The same from now on of an arena that was on its own. */
void pelt_arena_adopt(pelt_arena *parent, pelt_arena *arena);
void pelt_arena_free(pelt_arena *arena);
void *pelt_alloc(pelt_arena *arena, size_t count, size_t size);
char *pelt_arena_format(pelt_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t pelt_arena_used(const pelt_arena *arena);
/* Also makes a failed arena usable again: what it could not hold before it may hold now. */
void pelt_arena_raise_limit(pelt_arena *arena, size_t more);
bool pelt_arena_failed(const pelt_arena *arena);
/* As an allocation that fails; ends the stage, if there is one. */
void pelt_arena_fail(pelt_arena *arena);

#define PELT_NEW(arena, count, type) ((type *)pelt_alloc((arena), (count), sizeof(type)))

/* Runs a stage of offline work that takes its memory from the arena, from arenas inside it and from the scratch of
   parallel loops, and from nowhere else. When memory is out the stage is left on the spot, wherever it is, and
   PELT_ERROR_MEMORY is returned with a sentence; so the stage must hold nothing open that an arena does not own. While
   it runs, BLAS keeps to the calling thread: sums in another order have other bits. */
typedef pelt_result (*pelt_stage_body)(void *user, pelt_error *error);
pelt_result pelt_stage(pelt_arena *arena, pelt_stage_body body, void *user, pelt_error *error);

/* So many zero bytes, aligned to 64; NULL when memory is out. */
pelt_bytes *pelt_bytes_new(size_t size);

/* "not enough memory", for those who do not work in stages. */
pelt_result pelt_no_memory(pelt_error *error);

/* True when the last allocation that failed in this thread was beyond its arena's limit, and not for want of memory. */
bool pelt_memory_was_limited(void);
/* True when the system would give so many bytes now; they are not taken. */
bool pelt_memory_is_there(size_t bytes);

/* -- Findings ---------------------------------------------------------------------------------------------------- */

/* Appends a finding; text and list live in the arena. */
void pelt_find(pelt_findings *findings, pelt_arena *arena, pelt_severity severity, const char *what, const char *format,
               ...) __attribute__((format(printf, 5, 6)));

/* -- Parallel loops ---------------------------------------------------------------------------------------------- */

/* Calls body(user, i, scratch) for i = 0 .. count - 1 on some threads (0: all of the machine). Each i must write only
   its own results; then the outcome is the same bytes for any number of threads. `scratch` is memory for one call: it
   is emptied before the next. When it runs out the body is left on the spot, and the loop fails as an allocation from
   `arena` would (NULL: none): it ends the stage, or false is returned. */
typedef void (*pelt_loop_body)(void *user, size_t i, pelt_arena *scratch);
bool pelt_parallel(pelt_arena *arena, uint32_t threads, size_t count, pelt_loop_body body, void *user);

/* -- Progress ---------------------------------------------------------------------------------------------------- */

/* Tells how far the work is; true when it should stop. */
bool pelt_should_stop(const pelt_progress *progress, const char *task, double fraction);

/* A stage that is watched: parallel loops on its arena, and on arenas inside it, tell how far they are, so that the
   mathematics need not. */
typedef struct pelt_watch {
    const pelt_progress *progress;
    const char *task;         /* NULL: nothing is told */
    double low, high, told;   /* its part of the whole; the most that was told of it */
    uint32_t loops, finished; /* loops that it takes, about, and has had */
} pelt_watch;

/* The watch must outlive the arena's loops. */
void pelt_arena_watch(pelt_arena *arena, pelt_watch *watch);

/* What an arena's loops do from now on, if it is watched: a task that brings the work from `low` to `high` in about so
   many loops. True when it should stop. */
bool pelt_next_task(pelt_arena *arena, const char *task, double low, double high, uint32_t loops);

/* -- Affine maps, row-major 3x4, in double ------------------------------------------------------------------------ */

typedef struct pelt_affine {
    double m[12];
} pelt_affine;

extern const pelt_affine pelt_identity;

pelt_affine pelt_affine_of(const pelt_transform *transform);
pelt_affine pelt_affine_multiply(const pelt_affine *a, const pelt_affine *b); /* a after b */
/* False, and the identity, when the matrix is singular. */
bool pelt_affine_invert(const pelt_affine *a, pelt_affine *inverse);
void pelt_affine_point(const pelt_affine *a, const double point[3], double out[3]);

/* Splits an affine map into translation, rotation, scale; returns the largest element of the difference (shear). */
double pelt_affine_split(const pelt_affine *a, pelt_transform *transform);

/* -- Poses ------------------------------------------------------------------------------------------------------- */

/* Joint matrices T_j = global_j x inverse_bind_j of a pose: what moves rest positions. globals may be NULL. */
void pelt_joint_matrices(const pelt_skeleton *skeleton, const pelt_transform *locals, pelt_affine *globals,
                         pelt_affine *matrices);

/* Linear blend in double with the mesh's own weights: the baseline of rel_err. out[vertex_count][3]. */
void pelt_blend_mesh(const pelt_mesh *mesh, const pelt_affine *joint_matrices, double *out);

/* Rotations of one pose relative to rest: [joint][4], unit, w >= 0. */
void pelt_pose_rotations(const pelt_skeleton *skeleton, const pelt_transform *locals, float *rotations);

/* Angle between two rotations, 0 to pi; q and -q are one rotation. */
double pelt_rotation_angle(const float a[4], const float b[4]);
double pelt_rotation_chord(const float a[4], const float b[4]); /* 2 sin(angle / 2) */

/* Fills in frame_count and times of a clip from its channels. */
pelt_result pelt_clip_merge_times(pelt_arena *arena, pelt_clip *clip);

/* -- Controls (controls.c) ---------------------------------------------------------------------------------------- */

enum { PELT_MOST_CONTROLS = 4096 };
/* Larger values have squares that floats cannot work with. */
#define PELT_LARGEST_CONTROL 1e9f

/* The control with this name; the number of controls when there is none. */
uint32_t pelt_control_named(const pelt_controls *controls, const char *name);

/* Gives a clip controls: values[frame_count][count], for controls by name; other controls of the clip stay as they are.
   Names that the bundle does not know yet are added to it; their rest value is that of its extras, or 0. The clip is
   one of the bundle's, or has no controls yet. PELT_ERROR_DATA: too many controls. */
pelt_result pelt_clip_set_controls(pelt_bundle *bundle, pelt_clip *clip, uint32_t count, const char *const *names,
                                   const float *values);

/* The bundle's control for each of the skin's, by name; the number of the bundle's controls where it has none. */
void pelt_match_controls(const pelt_skin *skin, const pelt_controls *controls, uint32_t *sources);

/* The values of a skin's controls in a frame; those that the clip does not have are at rest. `row` has room for all of
   the bundle's. */
void pelt_matched_controls(const pelt_skin *skin, const pelt_controls *controls, const uint32_t *sources,
                           const pelt_clip *clip, uint32_t frame, float *row, float *values);

/* The value of a track of single numbers at a time; its path and joint do not matter. */
float pelt_track_value(const pelt_channel *track, double time);

/* -- Examples (bundle.c) ------------------------------------------------------------------------------------------ */

/* That every example is a frame of its clip and has true positions. */
pelt_result pelt_check_examples(pelt_examples examples, pelt_error *error);

/* -- Meshes ------------------------------------------------------------------------------------------------------ */

/* That the bundle's mesh is the one with this hash, which a skin was made for; 0: not known, any will do. */
pelt_result pelt_check_mesh(uint64_t hash, const pelt_bundle *bundle, pelt_error *error);

/* Tangents [vertex_count][4] of a mesh that has texture coordinates, as MikkTSpace and glTF define them: unit length,
   across the normal, and the handedness (tangents.c). Returns how many vertices would need two, because the texture is
   mirrored or torn there and the mesh is not split; those get one of them. Works in the arena, and writes nothing when
   it fails. */
uint32_t pelt_mesh_tangents(pelt_arena *arena, const pelt_mesh *mesh, float *tangents);

/* Makes the tangent that a file or caller gives one of unit length across the normal, with handedness 1 or -1. */
void pelt_unit_tangent(const float normal[3], const float tangent[4], float out[4]);

/* Makes weights sum to 1; sums that differ from it by rounding alone are left. Returns the sum before; where it is 0
   nothing is changed. */
double pelt_normalise_weights(float *weights, uint32_t count);

/* Length of the diagonal of the bounding box. */
double pelt_diagonal(const float *positions, uint32_t vertex_count);

/* Seams: vertices that share a rest position and move together in the examples (which may be none, or lack positions)
   are one point. point_of[vertex_count] gets the point of each vertex, numbered in order of first appearance; returns
   their number. Rest positions are compared exactly, examples within tolerance (a length). Nothing is written when the
   arena fails. */
uint32_t pelt_weld(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples, double tolerance,
                   uint32_t *point_of);

/* Vertices that are nearer than this part of the diagonal have not moved apart: positions in files are rounded. */
#define PELT_STILL_TOGETHER 1e-6

/* -- Normals (normals.c) ------------------------------------------------------------------------------------------ */

/* Normals of a surface, each vertex by its own triangles, weighted by their angles; (0, 0, 1) where there is no area. */
void pelt_mesh_normals(const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                       uint32_t triangle_count, float *normals);

/* Fills in mesh->normals where the file has none: as above, and smooth across seams: vertices at one rest position
   share their normal unless they face more than 45 degrees apart. False: memory is out. */
bool pelt_smooth_normals(pelt_mesh *mesh);

/* Makes the normal that a file or caller gives one of unit length; `out` stays as it is where it has no direction. */
void pelt_unit_normal(const float normal[3], float out[3]);

/* How a mesh shades: which vertices shade as one (they share a rest position, move together in the examples, and their
   normals in the file agree), and how the file's normals lean from the rest surface. The arena owns it; NULL when that
   fails. The mesh must outlive it. */
typedef struct pelt_smoothing pelt_smoothing;
const pelt_smoothing *pelt_smoothing_of(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples);

/* The first vertex of those that shade as one with this one. */
uint32_t pelt_shading_leader(const pelt_smoothing *smoothing, uint32_t vertex);

/* The file's normals, the same bits for all that shade as one. The arena owns them. */
const float *pelt_shading_normals(pelt_arena *arena, const pelt_smoothing *smoothing);

/* Normals of another shape of the mesh, smooth where the file's are and leaning as they do: those of the rest positions
   are the file's. Zero where there is no area. */
void pelt_surface_normals(const pelt_smoothing *smoothing, const float *positions, float *normals);

/* The true normals of an example: its own, or those of its surface, written to `space` [vertex_count][3]. */
const float *pelt_true_normals(const pelt_smoothing *smoothing, const pelt_example *example, float *space);

#endif
