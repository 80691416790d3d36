/* rig.h: shared by all offline rooms: errors, memory, parallel loops, progress, and the maths of poses. The types
   themselves (mesh, skeleton, clip, bundle) are in <pelt/fit.h>. */

#ifndef PELT_RIG_H
#define PELT_RIG_H

#include "rig/error.h"
#include <pelt/fit.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

/* -- Memory ------------------------------------------------------------------------------------------------------ */

/* Memory that is freed all at once. Allocations are zeroed and aligned to 64 bytes. They fail if the arena's limit
   would be exceeded or the machine is out of memory; failure is *sticky*: from then on every allocation of the arena
   fails, so that a group of them is checked once, with pelt_arena_failed.

   Inside pelt_stage there is nothing to check: a failed allocation ends the stage. */
typedef struct pelt_arena pelt_arena;

pelt_arena *pelt_arena_new(size_t limit); /* limit 0: none. NULL counts as a failed arena */
/* For temporary memory within a stage: freed with its parent, or earlier. Its failure is its parent's too. */
pelt_arena *pelt_arena_inside(pelt_arena *parent);
/* Makes an independent arena such a child. */
void pelt_arena_adopt(pelt_arena *parent, pelt_arena *arena);
void pelt_arena_free(pelt_arena *arena);
void *pelt_alloc(pelt_arena *arena, size_t count, size_t size);
char *pelt_arena_format(pelt_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t pelt_arena_used(const pelt_arena *arena);
/* Also makes a failed arena usable again. */
void pelt_arena_raise_limit(pelt_arena *arena, size_t more);
bool pelt_arena_failed(const pelt_arena *arena);
/* Acts like a failed allocation; ends the stage, if there is one. */
void pelt_arena_fail(pelt_arena *arena);

#define PELT_NEW(arena, count, type) ((type *)pelt_alloc((arena), (count), sizeof(type)))

/* Before the declaration of an arena: frees it where its block is left. */
#define PELT_SCOPED __attribute__((cleanup(pelt_arena_leave)))
static inline void pelt_arena_leave(pelt_arena **arena) { pelt_arena_free(*arena); }

/* Runs a stage of offline work that takes its memory from the arena, from arenas inside it and from the scratch of
   parallel loops, and from nowhere else. When memory runs out, the stage is abandoned on the spot and PELT_ERROR_MEMORY
   is returned with a message; so a stage must own nothing that an arena does not. While it runs, BLAS stays on the
   calling thread: sums in another order have other bits. */
typedef pelt_result (*pelt_stage_body)(void *user, pelt_error *error);
pelt_result pelt_stage(pelt_arena *arena, pelt_stage_body body, void *user, pelt_error *error);

/* Zeroed bytes, aligned to 64; NULL if out of memory. */
pelt_bytes *pelt_bytes_new(size_t size);

/* "not enough memory", for code that does not work in stages. */
pelt_result pelt_no_memory(pelt_error *error);

/* Whether the last failed allocation in this thread exceeded its arena's limit, rather than the machine's memory. */
bool pelt_memory_was_limited(void);
/* Whether the system could provide this many bytes now; they are not allocated. */
bool pelt_memory_is_there(size_t bytes);
/* What to do where it is not. */
#ifdef __wasm__
#define PELT_MORE_MEMORY "use the program pelt"
#else
#define PELT_MORE_MEMORY "raise the limit (ulimit -v)"
#endif

/* -- Findings ---------------------------------------------------------------------------------------------------- */

/* Appends a finding; text and list live in the arena. */
void pelt_find(pelt_findings *findings, pelt_arena *arena, pelt_severity severity, const char *what, const char *format,
               ...) __attribute__((format(printf, 5, 6)));
/* Whether reading caches with `fix` does away with it. */
bool pelt_finding_is_mended(const pelt_finding *finding);

/* -- Parallel loops ---------------------------------------------------------------------------------------------- */

/* Calls body(user, i, scratch) for i = 0 .. count - 1 on several threads (0: all of the machine). Each i must write
   only its own results; then the outcome is the same bytes for any number of threads. `scratch` is memory for one call:
   it is emptied before the next. When it runs out, the body is abandoned on the spot, and the loop fails as an
   allocation from `arena` would (NULL: none): it ends the stage, or returns false. */
typedef void (*pelt_loop_body)(void *user, size_t i, pelt_arena *scratch);
bool pelt_parallel(pelt_arena *arena, uint32_t threads, size_t count, pelt_loop_body body, void *user);

/* -- Progress ---------------------------------------------------------------------------------------------------- */

/* Reports how far the work has got; true if it should stop. */
bool pelt_should_stop(const pelt_progress *progress, const char *task, double fraction);

/* The error of work that stopped. */
pelt_result pelt_stopped(pelt_error *error);

/* Progress of a stage: parallel loops on its arena, and on arenas inside it, report how far they have got, so that the
   maths need not. */
typedef struct pelt_watch {
    const pelt_progress *progress;
    const char *task;         /* NULL: nothing is reported */
    double low, high, told;   /* its share of the whole; the most reported so far */
    uint32_t loops, finished; /* loops expected, roughly, and done */
    double asked;             /* when the progress was last asked */
    atomic_bool stopped;      /* it said so: the stage ends as soon as one of its threads notices */
} pelt_watch;

/* The watch must outlive the arena's loops. */
void pelt_arena_watch(pelt_arena *arena, pelt_watch *watch);

/* Names what an arena's loops do from now on, if it is watched: a task that takes the work from `low` to `high` in
   about this many loops. True if it should stop. */
bool pelt_next_task(pelt_arena *arena, const char *task, double low, double high, uint32_t loops);

/* Ends a watched stage on the spot if it should stop, as an allocation that fails would. Loops and linear algebra call it;
   so should whatever else takes a tenth of a second. */
void pelt_poll(void);

/* -- Affine maps, row-major 3x4, in double ------------------------------------------------------------------------ */

typedef struct pelt_affine {
    double m[12];
} pelt_affine;

extern const pelt_affine pelt_identity;

pelt_affine pelt_affine_of(const pelt_transform *transform);
pelt_affine pelt_affine_multiply(const pelt_affine *a, const pelt_affine *b); /* a after b */
/* False, and the identity, if the matrix is singular. */
bool pelt_affine_invert(const pelt_affine *a, pelt_affine *inverse);
void pelt_affine_point(const pelt_affine *a, const double point[3], double out[3]);

/* Splits an affine map into translation, rotation, scale; returns the largest element of the difference (shear). */
double pelt_affine_split(const pelt_affine *a, pelt_transform *transform);

/* -- Poses ------------------------------------------------------------------------------------------------------- */

/* Joint matrices T_j = global_j x inverse_bind_j of a pose, which move rest positions. globals may be NULL. */
void pelt_joint_matrices(const pelt_skeleton *skeleton, const pelt_transform *locals, pelt_affine *globals,
                         pelt_affine *matrices);

/* The matrices of a frame of a clip; NULL if the arena fails, as below. */
const pelt_affine *pelt_frame_matrices(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_clip *clip,
                                       uint32_t frame);

/* The weighted sum of matrices that moves a vertex. */
pelt_affine pelt_blend_matrix(const pelt_influences *influences, size_t vertex, const pelt_affine *matrices);

/* Linear blend in double with the mesh's weights: the baseline of rel_err. out[vertex_count][3]. */
void pelt_blend_mesh(const pelt_mesh *mesh, const pelt_affine *joint_matrices, double *out);

/* The blend of a frame (clip NULL: the rest pose), where vertices without weights stay in place: [vertex_count][3]. */
double *pelt_blend_frame(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame);

/* The joint with this name: number `likely` if that has it, else the first; the number of joints if there is none. */
uint32_t pelt_joint_named(const pelt_skeleton *skeleton, const char *name, uint32_t likely);

/* Rotations of one pose relative to rest: [joint][4], unit, w >= 0. */
void pelt_pose_rotations(const pelt_skeleton *skeleton, const pelt_transform *locals, float *rotations);

/* Angle between two rotations, 0 to pi; q and -q are one rotation. */
double pelt_rotation_angle(const float a[4], const float b[4]);
double pelt_rotation_chord(const float a[4], const float b[4]); /* 2 sin(angle / 2) */

/* Fills in frame_count and times of a clip from its channels. */
pelt_result pelt_clip_merge_times(pelt_arena *arena, pelt_clip *clip);

/* -- Controls (controls.c) ---------------------------------------------------------------------------------------- */

enum { PELT_MOST_CONTROLS = 4096 };
/* The squares of larger values overflow floats. */
#define PELT_LARGEST_CONTROL 1e9f

/* The index of the control with this name; the number of controls if there is none. */
uint32_t pelt_control_named(const pelt_controls *controls, const char *name);

/* Gives a clip controls: values[frame_count][count], for controls by name; its other controls stay unchanged. Names
   that are new to the bundle are added to it; their rest value comes from its extras, or is 0. The clip is one of the
   bundle's, or has no controls yet. PELT_ERROR_DATA: too many controls. */
pelt_result pelt_clip_set_controls(pelt_bundle *bundle, pelt_clip *clip, uint32_t count, const char *const *names,
                                   const float *values);

/* The bundle's control for each of the skin's, by name; the number of the bundle's controls if it has none. */
void pelt_match_controls(const pelt_skin *skin, const pelt_controls *controls, uint32_t *sources);

/* The values of a skin's controls in a frame; those that the clip lacks are at rest. `row` has room for all of the
   bundle's. */
void pelt_matched_controls(const pelt_skin *skin, const pelt_controls *controls, const uint32_t *sources,
                           const pelt_clip *clip, uint32_t frame, float *row, float *values);

/* The value of a scalar track at a time; its path and joint do not matter. */
float pelt_track_value(const pelt_channel *track, double time);

/* -- Examples (bundle.c) ------------------------------------------------------------------------------------------ */

/* Whether a clip belongs to the bundle. Only the pointer is compared, so it may be anything. */
bool pelt_is_own_clip(const pelt_bundle *bundle, const pelt_clip *clip);

/* The axis along which mesh and joints are symmetric, if the names of joints tell two sides; -1: none. Fails only for
   lack of memory. */
pelt_result pelt_bundle_symmetry(pelt_bundle *bundle, int *axis, pelt_error *error);

/* Whether pelt_bundle_mirror has made the clip, of this one; NULL: of any. */
bool pelt_is_image(const pelt_clip *clip, const pelt_clip *of);

/* Checks that every example is a frame of one of the bundle's clips and, with `truth`, that it has true positions. */
pelt_result pelt_check_examples(const pelt_bundle *bundle, pelt_examples examples, bool truth, pelt_error *error);

/* -- Meshes ------------------------------------------------------------------------------------------------------ */

/* Checks that the bundle's mesh has this hash, the one a skin was made for; 0: unknown, any mesh will do. */
pelt_result pelt_check_mesh(uint64_t hash, const pelt_bundle *bundle, pelt_error *error);

/* Tangents [vertex_count][4] of a mesh with texture coordinates, as MikkTSpace and glTF define them: unit length,
   perpendicular to the normal, and the handedness (tangents.c). Returns how many vertices would need two, because the
   texture is mirrored or torn there and the mesh is not split; those get one of them. Works in the arena, and writes
   nothing if that fails. */
uint32_t pelt_mesh_tangents(pelt_arena *arena, const pelt_mesh *mesh, float *tangents);

/* Makes the tangent given by a file or caller unit length and perpendicular to the normal, with handedness 1 or -1. */
void pelt_unit_tangent(const float normal[3], const float tangent[4], float out[4]);

/* Normalises weights to sum to 1; sums that are off by rounding alone are left as they are. Returns the previous sum;
   if it is 0, nothing changes. */
double pelt_normalise_weights(float *weights, uint32_t count);

/* Bounding-box diagonal. */
double pelt_diagonal(const float *positions, uint32_t vertex_count);

/* What errors are fractions of: mesh->scene_diagonal, or mesh->diagonal if that is 0. */
double pelt_scene_diagonal(const pelt_mesh *mesh);

/* Sets mesh.scene_diagonal once mesh and skeleton are known. It is mesh.diagonal to the bit where both agree within
   rounding, and where the skeleton at rest gives the mesh no size. False: out of memory. */
bool pelt_find_scene_diagonal(pelt_bundle *bundle);

/* Welds seams: vertices that share a rest position and move together in the examples (which may be empty, or lack
   positions) are one point. point_of[vertex_count] gets the point of each vertex, numbered in order of first
   appearance; returns their number. Rest positions are compared exactly, examples within a tolerance (a length).
   Nothing is written if the arena fails. */
uint32_t pelt_weld(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples, double tolerance,
                   uint32_t *point_of);

/* Vertices closer than this fraction of the bounding-box diagonal have not moved apart: positions in files are rounded.
   */
#define PELT_STILL_TOGETHER 1e-6

/* -- Normals (normals.c) ------------------------------------------------------------------------------------------ */

/* Angle-weighted vertex normals of a surface, seams not welded; (0, 0, 1) where there is no area. */
void pelt_mesh_normals(const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                       uint32_t triangle_count, float *normals);

/* Fills in mesh->normals if the file has none: as above, but smooth across seams: vertices at one rest position share
   their normal unless they face more than 45 degrees apart. False: out of memory. */
bool pelt_smooth_normals(pelt_mesh *mesh);

/* Normalises a normal given by a file or caller; `out` is left unchanged if it has no direction. */
void pelt_unit_normal(const float normal[3], float out[3]);

/* How a mesh shades: which vertices shade as one (they share a rest position, move together in the examples, and their
   normals in the file agree), and how the file's normals deviate from the rest surface. The arena owns it; NULL if that
   fails. The mesh must outlive it. */
typedef struct pelt_smoothing pelt_smoothing;
const pelt_smoothing *pelt_smoothing_of(pelt_arena *arena, const pelt_mesh *mesh, pelt_examples examples);

/* The first vertex that shades as one with this one. */
uint32_t pelt_shading_leader(const pelt_smoothing *smoothing, uint32_t vertex);

/* The file's normals, bit-identical for vertices that shade as one. The arena owns them. */
const float *pelt_shading_normals(pelt_arena *arena, const pelt_smoothing *smoothing);

/* Normals of another shape of the mesh, smooth where the file's are and deviating as they do: at rest they are the
   file's own. Zero where there is no area. */
void pelt_surface_normals(const pelt_smoothing *smoothing, const float *positions, float *normals);

/* The walks around the vertices of a mesh, from which its normals can be recomputed in any shape (rings.c). Each two
   corners in a row span a triangle with the vertex. */
#define PELT_SELF UINT32_MAX
typedef struct pelt_rings {
    bool by_angle;           /* triangles count by their angles at the vertex; otherwise by their areas */
    const uint32_t *leaders; /* [vertex] whose walk it shares */
    const uint32_t *first;   /* [vertex + 1] its walk begins here; only leaders have one */
    const uint32_t *walks;   /* vertices, one for all at a place; PELT_SELF separates walks */
    const float *bends;      /* [leader][3] the file's normal in the frame of the surface; NULL: they agree */
    const uint32_t *across;  /* [leader] the vertex that the first axis of that frame points to */
    uint32_t bare;           /* vertices that have no walk: all, if no triangle has an area */
} pelt_rings;

/* point_of [vertex]: vertices that never part. The arena owns it; NULL if that fails. The smoothing must outlive it. */
const pelt_rings *pelt_rings_of(pelt_arena *arena, const pelt_smoothing *smoothing, const uint32_t *point_of);

/* The true normals of an example: its own, or those of its surface, written to `space` [vertex_count][3]. */
const float *pelt_true_normals(const pelt_smoothing *smoothing, const pelt_example *example, float *space);

#endif
