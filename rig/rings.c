/* rings.c: the walks around the vertices of a mesh, from which normals are recomputed at run time.

   The triangles of a shading group are edges from one neighbour to the next, seen from the group's vertex. They are
   joined into as few walks as possible: a closed ring ends where it began, an open fan is one walk, and what is left,
   where surfaces touch or triangles overlap, makes further ones. */

#include "rig/smoothing.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An edge seen from a vertex: two corners of one of its triangles. */
typedef struct edge {
    uint32_t from, to;
} edge;

static int by_start(const void *a, const void *b) {
    const edge *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* The edges around one vertex, while they are joined. */
typedef struct around {
    edge *edges; /* sorted by start */
    bool *used;
    uint32_t count;
} around;

/* The first unused edge from a corner, or `count`. */
static uint32_t edge_from(const around *a, uint32_t corner) {
    uint32_t low = 0, high = a->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (a->edges[middle].from < corner)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < a->count && a->edges[low].from == corner && a->used[low]) low++;
    return low < a->count && a->edges[low].from == corner ? low : a->count;
}

/* Follows unused edges from one on; returns the end of the walk. */
static uint32_t *follow(around *a, uint32_t next, uint32_t *walk) {
    *walk++ = a->edges[next].from;
    while (next < a->count) {
        a->used[next] = true;
        *walk++ = a->edges[next].to;
        next = edge_from(a, a->edges[next].to);
    }
    return walk;
}

/* Walks start where more edges leave than arrive; then what is left is closed. `walk` has room for three corners an
   edge; returns how many it got. */
static uint32_t join_edges(around *a, int32_t *surplus, uint32_t *walk) {
    uint32_t *end = walk;
    for (uint32_t i = 0; i < a->count; i++) surplus[a->edges[i].from]++, surplus[a->edges[i].to]--;
    for (int closed = 0; closed < 2; closed++)
        for (uint32_t i = 0; i < a->count; i++) {
            if (a->used[i] || (!closed && surplus[a->edges[i].from] <= 0)) continue;
            surplus[a->edges[i].from]--;
            if (end > walk) *end++ = PELT_SELF;
            end = follow(a, i, end);
        }
    for (uint32_t i = 0; i < a->count; i++) surplus[a->edges[i].from] = surplus[a->edges[i].to] = 0;
    return (uint32_t)(end - walk);
}

/* Lists the edges around each leader, in the order of first[leader]. Triangles with two corners at one point have no
   area, whatever the shape. */
static edge *list_edges(pelt_arena *arena, const pelt_smoothing *s, const uint32_t *standing, uint32_t *first) {
    const pelt_mesh *mesh = s->mesh;
    uint32_t *next = PELT_NEW(arena, mesh->vertex_count, uint32_t);
    edge *edges = NULL;
    for (int listing = 0; listing < 2 && !pelt_arena_failed(arena); listing++) {
        for (size_t k = 0; k < 3 * (size_t)mesh->triangle_count; k++) {
            const uint32_t *corners = mesh->triangles + k / 3 * 3;
            uint32_t leader = s->leaders[corners[k % 3]], a = standing[corners[k % 3]];
            uint32_t b = standing[corners[(k + 1) % 3]], c = standing[corners[(k + 2) % 3]];
            if (a == b || b == c || c == a) continue;
            if (listing)
                edges[next[leader]++] = (edge){b, c};
            else
                first[leader + 1]++;
        }
        if (listing) break;
        for (uint32_t v = 0; v < mesh->vertex_count; v++) first[v + 1] += first[v], next[v] = first[v];
        edges = PELT_NEW(arena, first[mesh->vertex_count], edge);
    }
    return edges;
}

static bool has_surface(const pelt_smoothing *s, uint32_t leader) {
    const float *bend = s->bends + 3 * (size_t)leader;
    return bend[0] != 0 || bend[1] != 0 || bend[2] != 0;
}

/* The leader with a surface that is nearest to a vertex; the vertex itself if there is none. */
static uint32_t nearest_surface(const pelt_smoothing *s, uint32_t vertex) {
    const float *own = s->mesh->positions + 3 * (size_t)vertex;
    uint32_t found = vertex;
    double least = INFINITY;
    for (uint32_t v = 0; v < s->mesh->vertex_count; v++) {
        const float *p = s->mesh->positions + 3 * (size_t)v;
        double x = (double)p[0] - own[0], y = (double)p[1] - own[1], z = (double)p[2] - own[2],
               square = x * x + y * y + z * z;
        if (s->leaders[v] == v && square < least && has_surface(s, v)) least = square, found = v;
    }
    return found;
}

/* Whose walk each vertex shares: that of its group; or, where triangles have no area at rest or there are none, that of
   the nearest vertex which has a surface. */
static const uint32_t *walking_leaders(pelt_arena *arena, const pelt_smoothing *s, uint32_t *bare) {
    uint32_t n = s->mesh->vertex_count, *leaders = PELT_NEW(arena, n, uint32_t);
    for (uint32_t v = 0; leaders && v < n; v++) {
        uint32_t leader = s->leaders[v];
        leaders[v] = leader < v ? leaders[leader] : has_surface(s, v) ? v : nearest_surface(s, v);
        *bare += !has_surface(s, leaders[v]);
    }
    return leaders;
}

/* Deviations of less than a tenth of a degree, on average, are rounding. */
static bool leans(const pelt_smoothing *s) {
    double sum = 0, most = 0;
    for (size_t v = 0; v < s->mesh->vertex_count; v++) {
        const float *bend = s->bends + 3 * (size_t)s->leaders[v];
        double square = (double)bend[0] * bend[0] + (double)bend[1] * bend[1];
        sum += square, most = fmax(most, square);
    }
    return sqrt(sum / s->mesh->vertex_count) > 0.0017 || sqrt(most) > 0.017;
}

const pelt_rings *pelt_rings_of(pelt_arena *arena, const pelt_smoothing *s, const uint32_t *point_of) {
    const pelt_mesh *mesh = s->mesh;
    uint32_t n = mesh->vertex_count, end = 0;
    pelt_rings *rings = PELT_NEW(arena, 1, pelt_rings);
    uint32_t *standing = PELT_NEW(arena, n, uint32_t), *seen = PELT_NEW(arena, n, uint32_t);
    uint32_t *edge_first = PELT_NEW(arena, (size_t)n + 1, uint32_t), *first = PELT_NEW(arena, (size_t)n + 1, uint32_t);
    int32_t *surplus = PELT_NEW(arena, n, int32_t);
    if (pelt_arena_failed(arena)) return NULL;
    for (uint32_t v = 0; v < n; v++) { /* the first vertex of each point stands for all */
        if (!seen[point_of[v]]) seen[point_of[v]] = v + 1;
        standing[v] = seen[point_of[v]] - 1;
    }
    edge *edges = list_edges(arena, s, standing, edge_first);
    uint32_t *walks = PELT_NEW(arena, 3 * (size_t)edge_first[n], uint32_t);
    bool *used = PELT_NEW(arena, edge_first[n], bool);
    if (pelt_arena_failed(arena)) return NULL;
    for (uint32_t v = 0; v < n; v++) {
        around a = {edges + edge_first[v], used + edge_first[v], edge_first[v + 1] - edge_first[v]};
        qsort(a.edges, a.count, sizeof *a.edges, by_start);
        first[v] = end;
        end += join_edges(&a, surplus, walks + end);
    }
    first[n] = end;
    uint32_t bare = 0;
    const uint32_t *leaders = walking_leaders(arena, s, &bare);
    if (!leaders) return NULL;
    *rings = (pelt_rings){
        .by_angle = s->by == PELT_BY_ANGLE, .leaders = leaders, .first = first, .walks = walks, .bare = bare};
    if (leans(s)) rings->bends = s->bends, rings->across = s->across;
    return rings;
}
