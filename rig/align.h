/* align.h: aligning a point cache with its mesh.

   Caches are written by other tools than meshes, with other conventions: other axes and units, the space of an object
   that is elsewhere, another first frame, and one point for all vertices that a file splits at a seam. But roughly what
   a cache should look like is known: in every frame the linear blend puts the vertices about where the truth is. A mesh
   without joints, such as that of key points, comes with a clip of positions instead. */

#ifndef PELT_ALIGN_H
#define PELT_ALIGN_H

#include "rig/rig.h"

/* Frames of points as stored in a cache. */
typedef struct pelt_point_frames {
    const char *path; /* for messages */
    uint32_t frame_count, point_count;
    const float *positions; /* [frame_count][point_count][3] */
} pelt_point_frames;

/* What a cache covers: a clip, and the whole mesh or the part of one node. */
typedef struct pelt_cached_part {
    const pelt_bundle *bundle;
    const pelt_clip *clip;
    uint32_t first, count;
    bool at_rest; /* the cache holds shapes in the rest pose, regardless of the clip's poses */
} pelt_cached_part;

/* A point p of the cache is at scale * axes(p) + offset, and its frame k + shift is key k of the clip. */
typedef struct pelt_alignment {
    int axes[3]; /* 1, 2, 3 for x, y, z, negative if flipped: {1, 3, -2} for a cache with z up */
    double scale, offset[3];
    int64_t shift;
    const uint32_t *points;   /* [count] the point of each vertex; NULL: in the same order */
    const uint32_t *vertices; /* [point_count] a vertex of each point, for writing such a cache; NULL likewise */
    bool by_place;            /* points were matched by position, not by order */
} pelt_alignment;

extern const pelt_alignment pelt_aligned; /* the identity */

/* Finds what is not given: with wanted->fix everything, otherwise only which point is which vertex, if there are fewer
   points than vertices. `hint`, the alignment of another part, is tried first. The arena owns the list of points. */
pelt_result pelt_align(pelt_arena *arena, const pelt_cached_part *part, const pelt_point_frames *cache,
                       const pelt_cache_options *wanted, const pelt_alignment *hint, pelt_alignment *found,
                       pelt_error *error);

/* "its (x, z, -y) are (x, y, z), times 0.01, moved by (0, 1, 0)"; empty for the identity. */
void pelt_alignment_text(const pelt_alignment *alignment, char *text, size_t size);

/* Whether a cache is that of a rigid object in the object's own space: it stands still while its node moves, so that the
   truth is the rest shape on its node (ride.c). Fails if it stands still in another shape. */
pelt_result pelt_cache_rides(const pelt_cached_part *part, const pelt_point_frames *cache, bool *rides,
                             pelt_error *error);

/* The number of keys of a clip that the cache has frames for, starting at *first. */
uint32_t pelt_aligned_keys(uint32_t key_count, uint32_t frame_count, int64_t shift, uint32_t *first);

/* Of `count` keys from `first` on, the one in which neighbouring joints move most alike: there the linear blend is most
   reliable. */
uint32_t pelt_calmest_key(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, uint32_t first,
                          uint32_t count);

/* Centroid and second moments of some points. */
typedef struct pelt_cloud {
    double middle[3], spread[3][3];
} pelt_cloud;
pelt_cloud pelt_cloud_of(const double *points, size_t count);
/* The mean square of the distances from the middle. */
double pelt_square_size(const pelt_cloud *cloud);

/* -- Which point is which vertex (match.c) ------------------------------------------------------------------------- */

/* Sets of points at several moments. */
typedef struct pelt_moments {
    uint32_t moment_count, count;
    double *positions; /* [moment_count][count][3] */
} pelt_moments;

/* The nearest of a set of points (a k-d tree over the first moment). */
typedef struct pelt_neighbours pelt_neighbours;
const pelt_neighbours *pelt_neighbours_of(pelt_arena *arena, const double *points, uint32_t count);
/* Writes up to `most` (at most 32) points to `list`, nearest first, with their squared distances; returns how many. */
uint32_t pelt_nearest(const pelt_neighbours *neighbours, const double at[3], uint32_t most, uint32_t *list,
                      double *squares);

/* Edges of the mesh: the neighbours of point i are list[first[i]] to list[first[i + 1] - 1]. */
typedef struct pelt_edges {
    uint32_t *first, *list;
} pelt_edges;

/* Matches points to places so that their differences vary smoothly over the mesh. `rest` are indices of rest positions:
   places that share one may share a point. Returns the number of points without a clear partner; 0: done. */
uint32_t pelt_match_points(pelt_arena *arena, const pelt_moments *places, const pelt_moments *points,
                           const pelt_edges *edges, const uint32_t *rest, uint32_t *matches);

/* How much the differences vary: RMS over the edges. Small if the match is right. */
double pelt_match_roughness(const pelt_moments *places, const pelt_moments *points, const pelt_edges *edges,
                            const uint32_t *matches);

#endif
