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

/* -- Arena ------------------------------------------------------------------------------------------------------- */

/* Memory that is freed all at once. Allocation is zeroed and aligned to 64 bytes; it returns NULL when the arena's
   limit would be passed or the machine has no more, so that a hostile file fails politely. */
typedef struct pelt_arena pelt_arena;

pelt_arena *pelt_arena_new(size_t limit); /* limit 0: none */
void pelt_arena_free(pelt_arena *arena);
void *pelt_alloc(pelt_arena *arena, size_t count, size_t size);
char *pelt_arena_format(pelt_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t pelt_arena_used(const pelt_arena *arena);
void pelt_arena_raise_limit(pelt_arena *arena, size_t more);

#define PELT_NEW(arena, type, count) ((type *)pelt_alloc((arena), (count), sizeof(type)))

/* -- Findings ---------------------------------------------------------------------------------------------------- */

/* Appends a finding; text and list live in the arena. */
void pelt_find(pelt_findings *findings, pelt_arena *arena, pelt_severity severity, const char *what, const char *format,
               ...) __attribute__((format(printf, 5, 6)));

/* -- Parallel loops ---------------------------------------------------------------------------------------------- */

/* Calls body(user, i) for i = 0 .. count - 1 on some threads (0: all of the machine). Each i must write only its own
   results; then the outcome is the same bytes for any number of threads. */
void pelt_parallel(uint32_t threads, size_t count, void (*body)(void *user, size_t i), void *user);

/* -- Progress ---------------------------------------------------------------------------------------------------- */

/* True when the work should stop. */
bool pelt_report(const pelt_progress *progress, const char *task, double fraction);

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

/* The value of a track of single numbers at a time; its path and joint do not matter. */
float pelt_track_value(const pelt_channel *track, double time);

/* -- Meshes ------------------------------------------------------------------------------------------------------ */

/* Area-weighted vertex normals; (0, 0, 1) where there is no area. */
void pelt_mesh_normals(const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                       uint32_t triangle_count, float *normals);

/* Length of the diagonal of the bounding box. */
double pelt_diagonal(const float *positions, uint32_t vertex_count);

/* Seams: vertices that share a rest position and move together in all examples are one point to the fit.
   point_of[vertex_count] gets the point of each vertex, numbered in order of first appearance; returns their number.
   Rest positions are compared exactly, examples within tolerance (a length). */
uint32_t pelt_weld(pelt_arena *arena, const pelt_mesh *mesh, const pelt_clip *const *clips, size_t clip_count,
                   double tolerance, uint32_t *point_of);

#endif
