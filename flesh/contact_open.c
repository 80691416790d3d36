/* contact_open.c: what contact knows beforehand: which vertices are near one another through the flesh, and how near skin
   is to skin at rest. Lengths are in edges of the lattice, as nothing finer is seen by it. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <stdlib.h>
#include <string.h>

/* Contact begins at a distance of `from`; deeper than `reach` a vertex is lost. Vertices that are nearer than `near` through
   the flesh do not see each other: both sides of a limb, or of a crease, are one piece. */
static const double from = 0.2, reach = 1, near = 4;
/* Of Young's modulus over an edge. */
static const double stiffness = 20;

/* -- Triangles by place ------------------------------------------------------------------------------------------------- */

static uint32_t hash(const int64_t at[3], uint32_t mask) {
    uint64_t h = (uint64_t)at[0] * 0x9e3779b97f4a7c15u ^ (uint64_t)at[1] * 0xc2b2ae3d27d4eb4fu ^
                 (uint64_t)at[2] * 0x165667b19e3779f9u;
    return (uint32_t)(h >> 32) & mask;
}

uint32_t pelt_skin_grid_bucket(const pelt_skin_grid *grid, const double point[3]) {
    int64_t at[3];
    for (int k = 0; k < 3; k++) at[k] = (int64_t)floor(point[k] / grid->cell);
    return hash(at, grid->mask);
}

static void box_of(const pelt_solid_shape *s, const double *skin, uint32_t t, double more, double low[3],
                   double high[3]) {
    for (int k = 0; k < 3; k++) low[k] = INFINITY, high[k] = -INFINITY;
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) {
            double x = skin[3 * (size_t)s->triangles[3 * (size_t)t + (size_t)j] + (size_t)k];
            low[k] = fmin(low[k], x - more), high[k] = fmax(high[k], x + more);
        }
}

/* Calls for every cell that the box of a triangle reaches: counts, or lists. */
static void enter(pelt_skin_grid *grid, uint32_t t, const double low[3], const double high[3], bool listing) {
    int64_t first[3], last[3], at[3];
    for (int k = 0; k < 3; k++)
        first[k] = (int64_t)floor(low[k] / grid->cell), last[k] = (int64_t)floor(high[k] / grid->cell);
    for (at[2] = first[2]; at[2] <= last[2]; at[2]++)
        for (at[1] = first[1]; at[1] <= last[1]; at[1]++)
            for (at[0] = first[0]; at[0] <= last[0]; at[0]++) {
                uint32_t bucket = hash(at, grid->mask);
                if (listing)
                    grid->triangles[grid->starts[bucket + 1]++] = t;
                else
                    grid->starts[bucket + 2]++;
            }
}

pelt_skin_grid pelt_skin_grid_of(pelt_arena *arena, const pelt_solid_shape *s, const double *skin, double within) {
    double low[3], high[3], longest = 0, sum = 0;
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        box_of(s, skin, t, 0, low, high);
        double extent = fmax(fmax(high[0] - low[0], high[1] - low[1]), high[2] - low[2]);
        longest = fmax(longest, extent), sum += extent;
    }
    const double most_cells = 8; /* along a triangle */
    pelt_skin_grid grid = {.cell = fmax(2 * within + sum / s->triangle_count, longest / most_cells), .mask = 1};
    while (grid.mask < 2 * (uint64_t)s->triangle_count && grid.mask < UINT32_MAX / 4) grid.mask = 2 * grid.mask + 1;
    grid.starts = PELT_NEW(arena, (size_t)grid.mask + 3, uint32_t);
    for (int listing = 0; listing < 2; listing++) {
        if (listing) {
            for (size_t i = 0; i <= grid.mask; i++) grid.starts[i + 2] += grid.starts[i + 1];
            grid.triangles = PELT_NEW(arena, (size_t)grid.starts[grid.mask + 2] + 1, uint32_t);
        }
        for (uint32_t t = 0; t < s->triangle_count; t++) {
            box_of(s, skin, t, within, low, high);
            enter(&grid, t, low, high, listing);
        }
    }
    return grid;
}

/* -- Near through the flesh ---------------------------------------------------------------------------------------------- */

typedef struct opening {
    pelt_solid *solid;
    const pelt_contact *rest;
    const pelt_skin_grid *grid;
    uint32_t *node_starts, *neighbours; /* corners of elements that share one */
    uint32_t most;                      /* corners of triangles in a bucket */
    uint32_t *apart;                    /* the lists; NULL: they are counted */
} opening;

typedef struct ball {
    double *distances; /* [node_count] through the flesh; INFINITY: not reached */
    bool *waiting;     /* [node_count] */
    uint32_t *queue;   /* a ring of node_count + 1 */
    uint32_t *reached, reached_count;
} ball;

static void reach_node(const pelt_solid_shape *s, ball *b, uint32_t node, double distance, uint32_t *tail) {
    if (b->distances[node] == INFINITY) b->reached[b->reached_count++] = node;
    b->distances[node] = distance;
    if (b->waiting[node]) return;
    b->waiting[node] = true;
    b->queue[*tail] = node, *tail = (*tail + 1) % (s->node_count + 1);
}

/* Distances through the flesh from a vertex, as far as `near`. */
static void fill_ball(const opening *o, uint32_t vertex, ball *b) {
    const pelt_solid_shape *s = &o->solid->shape;
    const uint32_t *corners = s->elements + (size_t)s->vertex_elements[vertex] * s->nodes_per_element;
    uint32_t head = 0, tail = 0;
    while (b->reached_count) b->distances[b->reached[--b->reached_count]] = INFINITY;
    for (int k = 0; k < 4; k++)
        reach_node(s, b, corners[k],
                   pelt_distance(o->solid->skin_rest + 3 * (size_t)vertex, s->nodes + 3 * (size_t)corners[k]), &tail);
    while (head != tail) {
        uint32_t node = b->queue[head];
        head = (head + 1) % (s->node_count + 1);
        b->waiting[node] = false;
        for (uint32_t i = o->node_starts[node]; i < o->node_starts[node + 1]; i++) {
            uint32_t next = o->neighbours[i];
            double further =
                b->distances[node] + pelt_distance(s->nodes + 3 * (size_t)node, s->nodes + 3 * (size_t)next);
            if (further < b->distances[next] && further < o->solid->contact_near)
                reach_node(s, b, next, further, &tail);
        }
    }
}

static bool in_ball(const pelt_solid_shape *s, const ball *b, uint32_t vertex) {
    const uint32_t *corners = s->elements + (size_t)s->vertex_elements[vertex] * s->nodes_per_element;
    for (int k = 0; k < 4; k++)
        if (b->distances[corners[k]] < INFINITY) return true;
    return false;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Vertices within `near` of a vertex through the air, in front of it and facing it; returns how many. */
static uint32_t list_facing(const opening *o, uint32_t vertex, uint32_t *out) {
    const pelt_solid_shape *s = &o->solid->shape;
    const double *x = o->solid->skin_rest + 3 * (size_t)vertex, *n = o->rest->normals + 3 * (size_t)vertex;
    uint32_t bucket = pelt_skin_grid_bucket(o->grid, x), count = 0, kept = 0;
    for (uint32_t i = o->grid->starts[bucket]; i < o->grid->starts[bucket + 1]; i++)
        for (int j = 0; j < 3; j++) {
            uint32_t other = s->triangles[3 * (size_t)o->grid->triangles[i] + (size_t)j];
            const double *y = o->solid->skin_rest + 3 * (size_t)other;
            double d[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]};
            const double behind = -0.5; /* edges: skin may lie in skin at rest */
            if (pelt_length(d) < o->solid->contact_near && pelt_dot(d, n) > behind * o->solid->edge * pelt_length(n) &&
                pelt_dot(n, o->rest->normals + 3 * (size_t)other) < 0)
                out[count++] = other;
        }
    qsort(out, count, sizeof *out, ascending);
    for (uint32_t i = 0; i < count; i++)
        if (!i || out[i] != out[i - 1]) out[kept++] = out[i];
    return kept;
}

enum { CHUNK = 64 };

/* Of a chunk of vertices: those that are near through the air but not through the flesh. Counted, then listed. */
static void find_apart(void *user, size_t chunk, pelt_arena *scratch) {
    const opening *o = user;
    const pelt_solid_shape *s = &o->solid->shape;
    uint32_t *facing = PELT_NEW(scratch, (size_t)o->most + 1, uint32_t), end = (uint32_t)(chunk + 1) * CHUNK;
    ball b = {0};
    for (uint32_t v = (uint32_t)chunk * CHUNK; v < end && v < s->vertex_count; v++) {
        uint32_t count = list_facing(o, v, facing), kept = 0;
        if (count && !b.distances) {
            b.distances = PELT_NEW(scratch, s->node_count, double), b.waiting = PELT_NEW(scratch, s->node_count, bool);
            b.queue = PELT_NEW(scratch, (size_t)s->node_count + 1, uint32_t);
            b.reached = PELT_NEW(scratch, s->node_count, uint32_t);
            for (uint32_t i = 0; i < s->node_count; i++) b.distances[i] = INFINITY;
        }
        if (count) fill_ball(o, v, &b);
        for (uint32_t i = 0; i < count; i++)
            if (!in_ball(s, &b, facing[i])) facing[kept++] = facing[i];
        if (o->apart)
            memcpy(o->apart + o->solid->apart_starts[v], facing, kept * sizeof *facing);
        else
            o->solid->apart_starts[v + 1] = kept;
    }
}

/* Corners of elements that share one: by elements, so some are listed several times. */
static void list_neighbours(pelt_arena *arena, opening *o) {
    const pelt_solid_shape *s = &o->solid->shape;
    o->node_starts = PELT_NEW(arena, (size_t)s->node_count + 2, uint32_t);
    o->neighbours = PELT_NEW(arena, 12 * (size_t)s->element_count, uint32_t);
    for (int listing = 0; listing < 2; listing++) {
        for (uint32_t i = 0; listing && i < s->node_count; i++) o->node_starts[i + 2] += o->node_starts[i + 1];
        for (size_t i = 0; i < 12 * (size_t)s->element_count; i++) {
            const uint32_t *corners = s->elements + i / 12 * s->nodes_per_element;
            uint32_t a = corners[i % 12 / 3], b = corners[(i % 12 / 3 + 1 + i % 3) % 4];
            if (listing)
                o->neighbours[o->node_starts[a + 1]++] = b;
            else
                o->node_starts[a + 2]++;
        }
    }
}

static void list_apart(pelt_arena *arena, pelt_arena *inside, pelt_solid *solid, pelt_contact *rest) {
    const pelt_solid_shape *s = &solid->shape;
    pelt_skin_grid grid = pelt_skin_grid_of(inside, s, solid->skin_rest, solid->contact_near);
    opening o = {.solid = solid, .rest = rest, .grid = &grid};
    size_t chunks = (s->vertex_count + CHUNK - 1) / CHUNK;
    for (size_t i = 0; i <= grid.mask; i++) {
        uint32_t count = 3 * (grid.starts[i + 1] - grid.starts[i]);
        o.most = count > o.most ? count : o.most;
    }
    list_neighbours(inside, &o);
    solid->apart_starts = PELT_NEW(arena, (size_t)s->vertex_count + 1, uint32_t);
    pelt_parallel(arena, 0, chunks, find_apart, &o);
    for (uint32_t v = 0; v < s->vertex_count; v++) solid->apart_starts[v + 1] += solid->apart_starts[v];
    o.apart = solid->apart = PELT_NEW(arena, (size_t)solid->apart_starts[s->vertex_count] + 1, uint32_t);
    pelt_parallel(arena, 0, chunks, find_apart, &o);
}

/* -- Opening ------------------------------------------------------------------------------------------------------------- */

static void share_areas(pelt_solid *solid) {
    const pelt_solid_shape *s = &solid->shape;
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        const uint32_t *corners = s->triangles + 3 * (size_t)t;
        const double *p = solid->skin_rest + 3 * (size_t)corners[0];
        double u[3], v[3], n[3];
        for (int k = 0; k < 3; k++)
            u[k] = solid->skin_rest[3 * (size_t)corners[1] + (size_t)k] - p[k],
            v[k] = solid->skin_rest[3 * (size_t)corners[2] + (size_t)k] - p[k];
        pelt_cross(u, v, n);
        for (int j = 0; j < 3; j++) solid->vertex_areas[corners[j]] += pelt_length(n) / 6;
    }
}

/* Young's modulus of the flesh on average. */
static double mean_young(const pelt_solid *solid) {
    double sum = 0, volume = 0;
    for (uint32_t e = 0; e < solid->shape.element_count; e++) {
        const pelt_solid_material *m = &solid->shape.materials[e];
        sum += solid->volumes[e] * m->mu * (3 * m->lambda + 2 * m->mu) / (m->lambda + m->mu);
        volume += solid->volumes[e];
    }
    return sum / volume;
}

void pelt_contact_open(pelt_arena *arena, pelt_solid *solid) {
    const pelt_solid_shape *s = &solid->shape;
    if (!s->triangle_count) return;
    pelt_arena *inside = pelt_arena_inside(arena);
    pelt_contact rest;
    solid->skin_rest = PELT_NEW(arena, 3 * (size_t)s->vertex_count, double);
    solid->vertex_areas = PELT_NEW(arena, s->vertex_count, double);
    solid->contact_from = PELT_NEW(arena, s->vertex_count, double);
    pelt_solid_skin(solid, &(pelt_solid_state){.nodes = (double *)s->nodes}, solid->skin_rest);
    share_areas(solid);
    solid->contact_stiffness = stiffness * mean_young(solid) / solid->edge;
    solid->contact_reach = reach * solid->edge, solid->contact_near = near * solid->edge;
    for (uint32_t v = 0; v < s->vertex_count; v++)
        solid->contact_from[v] = -solid->contact_reach; /* as deep as it may */
    pelt_contact_begin(&rest, solid, inside, 0);
    pelt_contact_normals(&rest, s->nodes);
    list_apart(arena, inside, solid, &rest);
    /* Nothing pushes at rest: where skin is nearer than that, or in skin, contact begins when it comes nearer still. */
    pelt_contact_look(&rest, s->nodes);
    for (uint32_t v = 0; v < s->vertex_count; v++) {
        double gap = rest.touches[v].triangle == PELT_NOWHERE ? solid->contact_reach : rest.touches[v].gap;
        solid->contact_from[v] = fmin(from * solid->edge, gap > 0 ? gap / 2 : gap);
    }
    pelt_arena_free(inside);
}
