/* contact.c: skin that pushes skin.

   Every vertex looks for the nearest triangle that faces it and is far from it through the flesh. With the gap g to it,
   negative behind it, and the vertex' share a of the skin's area at rest, it adds

       k a w / 2 (h - g)^2   where g < h

   to the energy: nothing beyond h. A vertex is behind a triangle only if it went through it, from one look to the next: where an
   arm leaves the body, skin folds within a cell of the lattice, and what comes to lie behind the arm there must not
   be pushed all the way through it. The weight w goes from 0 to 1 as the two come to face each other, and is held for a
   Newton step, so that no step meets a jump. The gap is the distance x - c to the closest point c = sum_j b_j t_j, so dg is n at the
   vertex and -b_j n at the corners, n = (x - c) / g: forces and their moments cancel. The matrix gets k a w dg dg^T, which
   has no negative eigenvalue; what is left out of it is in proportion to h - g. */

#include "flesh/inside.h"
#include "rig/maths.h"
#include <string.h>

enum { CHUNK = 64 };

void pelt_contact_begin(pelt_contact *c, const pelt_solid *solid, pelt_arena *arena, uint32_t threads) {
    size_t vertices = solid->shape.vertex_count, triangles = solid->shape.triangle_count;
    size_t most = 4 * (size_t)solid->shape.nodes_per_element;
    *c = (pelt_contact){.solid = solid, .arena = arena, .threads = threads};
    if (!triangles) return;
    c->skin = PELT_NEW(arena, 3 * vertices, double);
    c->normals = PELT_NEW(arena, 3 * vertices, double);
    c->faces = PELT_NEW(arena, 3 * triangles, double);
    c->held_normals = PELT_NEW(arena, 3 * vertices, double);
    c->held_faces = PELT_NEW(arena, 3 * triangles, double);
    c->held_skin = PELT_NEW(arena, 3 * vertices, double);
    c->depths = PELT_NEW(arena, vertices, double);
    c->touches = PELT_NEW(arena, vertices, pelt_touch);
    c->ties.starts = PELT_NEW(arena, vertices + 1, uint32_t);
    c->ties.rows = PELT_NEW(arena, most * vertices + 1, uint32_t);
    c->ties.vectors = PELT_NEW(arena, 3 * most * vertices + 1, double);
    c->ties.weights = PELT_NEW(arena, vertices, double);
    c->vertex_count = (uint32_t)vertices;
    memcpy(c->held_skin, solid->skin_rest, 3 * vertices * sizeof *c->held_skin);
    for (size_t v = 0; v < vertices; v++) c->depths[v] = fmax(-solid->contact_from[v], 0);
}

/* -- The closest point of a triangle ------------------------------------------------------------------------------------ */

static double part_of(double a, double b) { return a > 0 ? a / (a + b) : 0; }

/* Barycentric coordinates of the point closest to p (Ericson, Real-Time Collision Detection, 5.1.5). */
static void closest_point(const double p[3], const double *const t[3], double b[3]) {
    double ab[3], ac[3], ap[3], bp[3], cp[3];
    for (int k = 0; k < 3; k++) {
        ab[k] = t[1][k] - t[0][k], ac[k] = t[2][k] - t[0][k];
        ap[k] = p[k] - t[0][k], bp[k] = p[k] - t[1][k], cp[k] = p[k] - t[2][k];
    }
    double d1 = pelt_dot(ab, ap), d2 = pelt_dot(ac, ap), d3 = pelt_dot(ab, bp), d4 = pelt_dot(ac, bp);
    double d5 = pelt_dot(ab, cp), d6 = pelt_dot(ac, cp);
    double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    b[0] = b[1] = b[2] = 0;
    if (d1 <= 0 && d2 <= 0)
        b[0] = 1;
    else if (d3 >= 0 && d4 <= d3)
        b[1] = 1;
    else if (d6 >= 0 && d5 <= d6)
        b[2] = 1;
    else if (vc <= 0 && d1 >= 0 && d3 <= 0)
        b[1] = part_of(d1, -d3), b[0] = 1 - b[1];
    else if (vb <= 0 && d2 >= 0 && d6 <= 0)
        b[2] = part_of(d2, -d6), b[0] = 1 - b[2];
    else if (va <= 0 && d4 >= d3 && d5 >= d6)
        b[2] = part_of(d4 - d3, d5 - d6), b[1] = 1 - b[2];
    else
        b[1] = vb / (va + vb + vc), b[2] = vc / (va + vb + vc), b[0] = 1 - b[1] - b[2];
}

/* -- What touches what -------------------------------------------------------------------------------------------------- */

static bool may_touch(const pelt_solid *s, uint32_t vertex, const uint32_t corners[3]) {
    for (int j = 0; j < 3; j++) {
        uint32_t other = corners[j];
        if (pelt_distance(s->skin_rest + 3 * (size_t)vertex, s->skin_rest + 3 * (size_t)other) >= s->contact_near)
            continue;
        uint32_t low = s->apart_starts[vertex], high = s->apart_starts[vertex + 1];
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (s->apart[middle] < other)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == s->apart_starts[vertex + 1] || s->apart[low] != other) return false;
    }
    return true;
}

/* The normal that says on which side of the skin a point is: on an edge or a corner it is that of the skin around it, as
   triangles on both sides disagree. */
static void side_normal(const pelt_contact *c, uint32_t triangle, const double b[3], double out[3]) {
    memcpy(out, c->faces + 3 * (size_t)triangle, 3 * sizeof *out);
    if (b[0] > 0 && b[1] > 0 && b[2] > 0) return;
    double sum[3] = {0};
    for (int j = 0; j < 3; j++) {
        const double *n = c->normals + 3 * (size_t)c->solid->shape.triangles[3 * (size_t)triangle + (size_t)j];
        double length = pelt_length(n);
        for (int k = 0; k < 3 && length > 0; k++) sum[k] += b[j] * n[k] / length;
    }
    if (pelt_length(sum) > 0) memcpy(out, sum, sizeof sum);
}

/* 0 where skins do not face each other, 1 where they are less than 60 degrees from it. */
static double facing(const pelt_contact *c, uint32_t vertex, uint32_t triangle) {
    const double *n = c->held_normals + 3 * (size_t)vertex;
    double length = pelt_length(n),
           part = length > 0 ? -2 * pelt_dot(n, c->held_faces + 3 * (size_t)triangle) / length : 0;
    return part <= 0 ? 0 : part >= 1 ? 1 : part * part * (3 - 2 * part);
}

/* How deep behind a triangle a vertex can be: as deep as it was at the last look, and as far as they have moved since, seen
   from each other. What lies deeper came into the flesh elsewhere. */
static double deepest(const pelt_contact *c, uint32_t vertex, const uint32_t corners[3], const double b[3]) {
    const double rounding = 1e-3; /* edges */
    double moved[3];
    for (size_t k = 0; k < 3; k++) {
        size_t at = 3 * (size_t)vertex + k;
        moved[k] = c->skin[at] - c->held_skin[at];
        for (int j = 0; j < 3; j++)
            at = 3 * (size_t)corners[j] + k, moved[k] -= b[j] * (c->skin[at] - c->held_skin[at]);
    }
    return c->depths[vertex] + pelt_length(moved) + rounding * c->solid->edge;
}

/* Replaces the touch if the triangle is nearer. */
static void try_triangle(const pelt_contact *c, uint32_t vertex, uint32_t triangle, pelt_touch *touch) {
    const uint32_t *corners = c->solid->shape.triangles + 3 * (size_t)triangle;
    const double *x = c->skin + 3 * (size_t)vertex, *face = c->faces + 3 * (size_t)triangle;
    double weight = facing(c, vertex, triangle);
    if (weight == 0 || !may_touch(c->solid, vertex, corners)) return;
    const double *const t[3] = {c->skin + 3 * (size_t)corners[0], c->skin + 3 * (size_t)corners[1],
                                c->skin + 3 * (size_t)corners[2]};
    double b[3], away[3], outwards[3];
    closest_point(x, t, b);
    for (int k = 0; k < 3; k++) away[k] = x[k] - b[0] * t[0][k] - b[1] * t[1][k] - b[2] * t[2][k];
    double distance = pelt_length(away);
    if (!(distance < fabs(touch->gap))) return;
    side_normal(c, triangle, b, outwards);
    bool behind = pelt_dot(away, outwards) < 0;
    if (behind && distance > deepest(c, vertex, corners, b)) return;
    touch->triangle = triangle, touch->weight = weight, touch->gap = behind ? -distance : distance;
    bool at_it = distance < 1e-9 * c->solid->edge;
    for (int k = 0; k < 3; k++) {
        touch->direction[k] = at_it ? face[k] : away[k] / touch->gap;
        touch->corners[k] = b[k];
    }
}

typedef struct looking {
    pelt_contact *c;
    const pelt_skin_grid *grid;
    double within;
} looking;

static void look(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    const looking *l = user;
    size_t end = (chunk + 1) * CHUNK < l->c->vertex_count ? (chunk + 1) * CHUNK : l->c->vertex_count;
    for (uint32_t v = (uint32_t)chunk * CHUNK; v < end; v++) {
        pelt_touch touch = {.triangle = PELT_NOWHERE, .gap = l->within};
        uint32_t bucket = pelt_skin_grid_bucket(l->grid, l->c->skin + 3 * (size_t)v);
        for (uint32_t i = l->grid->starts[bucket]; i < l->grid->starts[bucket + 1]; i++)
            try_triangle(l->c, v, l->grid->triangles[i], &touch);
        l->c->touches[v] = touch;
    }
}

void pelt_contact_normals(pelt_contact *c, const double *nodes) {
    const pelt_solid_shape *s = &c->solid->shape;
    pelt_solid_skin(c->solid, &(pelt_solid_state){.nodes = (double *)nodes}, c->skin);
    memset(c->normals, 0, 3 * (size_t)s->vertex_count * sizeof *c->normals);
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        const uint32_t *corners = s->triangles + 3 * (size_t)t;
        const double *p = c->skin + 3 * (size_t)corners[0], *q = c->skin + 3 * (size_t)corners[1],
                     *r = c->skin + 3 * (size_t)corners[2];
        double u[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]}, v[3] = {r[0] - p[0], r[1] - p[1], r[2] - p[2]}, n[3];
        pelt_cross(u, v, n);
        double length = pelt_length(n);
        for (size_t k = 0; k < 3; k++) {
            for (int j = 0; j < 3; j++) c->normals[3 * (size_t)corners[j] + k] += n[k];
            c->faces[3 * (size_t)t + k] = length > 0 ? n[k] / length : 0;
        }
    }
}

/* What every vertex touches, by the weights that are held. */
static void look_around(pelt_contact *c) {
    double within = c->solid->contact_reach;
    pelt_arena *inside = pelt_arena_inside(c->arena);
    pelt_skin_grid grid = pelt_skin_grid_of(inside, &c->solid->shape, c->skin, within);
    pelt_parallel(c->arena, c->threads, (c->vertex_count + CHUNK - 1) / CHUNK, look, &(looking){c, &grid, within});
    pelt_arena_free(inside);
}

void pelt_contact_look(pelt_contact *c, const double *nodes) {
    if (!c->vertex_count) return;
    pelt_contact_normals(c, nodes);
    memcpy(c->held_normals, c->normals, 3 * (size_t)c->vertex_count * sizeof *c->normals);
    memcpy(c->held_faces, c->faces, 3 * (size_t)c->solid->shape.triangle_count * sizeof *c->faces);
    look_around(c);
    memcpy(c->held_skin, c->skin, 3 * (size_t)c->vertex_count * sizeof *c->skin);
    for (uint32_t v = 0; v < c->vertex_count; v++)
        c->depths[v] = c->touches[v].triangle == PELT_NOWHERE ? 0 : fmax(-c->touches[v].gap, 0);
}

void pelt_contact_start(pelt_contact *c, const double *nodes) {
    const double most = 0.1; /* edges that balance leaves */
    if (!c->vertex_count) return;
    pelt_contact_normals(c, nodes);
    memcpy(c->held_skin, c->skin, 3 * (size_t)c->vertex_count * sizeof *c->skin);
    for (uint32_t v = 0; v < c->vertex_count; v++)
        c->depths[v] = fmax(-c->solid->contact_from[v], 0) + most * c->solid->edge;
    pelt_contact_look(c, nodes);
}

/* -- Energy, forces, matrix --------------------------------------------------------------------------------------------- */

static bool pushes(const pelt_contact *c, uint32_t v) {
    return c->touches[v].triangle != PELT_NOWHERE && c->touches[v].gap < c->solid->contact_from[v];
}

/* Force for a length. */
static double stiffness_of(const pelt_contact *c, uint32_t v) {
    return c->solid->contact_stiffness * c->solid->vertex_areas[v] * c->touches[v].weight;
}

static double sum_energies(const pelt_contact *c) {
    double sum = 0;
    for (uint32_t v = 0; v < c->vertex_count; v++) {
        double off = c->solid->contact_from[v] - c->touches[v].gap;
        if (pushes(c, v)) sum += stiffness_of(c, v) / 2 * off * off;
    }
    return sum;
}

double pelt_contact_energy(pelt_contact *c, const double *nodes) {
    if (!c->vertex_count) return 0;
    pelt_contact_normals(c, nodes);
    look_around(c);
    return sum_energies(c);
}

/* Adds a vertex, times a factor of the direction, to the last tie; nodes that are in it already are not there twice. */
static void tie_vertex(const pelt_contact *c, pelt_ties *ties, uint32_t vertex, const double direction[3],
                       double factor) {
    const pelt_solid_shape *s = &c->solid->shape;
    uint32_t n = s->nodes_per_element, first = ties->starts[ties->count], *end = &ties->starts[ties->count + 1];
    double weights[PELT_QUADRATIC_NODES];
    const uint32_t *nodes = s->elements + (size_t)s->vertex_elements[vertex] * n;
    pelt_solid_shape_functions(n, s->vertex_barycentrics + 4 * (size_t)vertex, weights);
    for (uint32_t a = 0; a < n; a++) {
        uint32_t row = c->solid->unknowns[nodes[a]], k = first;
        if (row == PELT_NOWHERE) continue;
        while (k < *end && ties->rows[k] != row) k++;
        double *g = ties->vectors + 3 * (size_t)k;
        if (k == *end) ties->rows[(*end)++] = row, g[0] = g[1] = g[2] = 0;
        for (int i = 0; i < 3; i++) g[i] += factor * weights[a] * direction[i];
    }
}

double pelt_contact_derivatives(pelt_contact *c, const double *nodes, double *gradient) {
    pelt_ties *t = &c->ties;
    const pelt_solid *s = c->solid;
    t->count = 0;
    pelt_contact_look(c, nodes);
    for (uint32_t v = 0; v < c->vertex_count; v++) {
        const pelt_touch *touch = &c->touches[v];
        if (!pushes(c, v)) continue;
        double stiffness = stiffness_of(c, v), force = stiffness * (s->contact_from[v] - touch->gap);
        t->starts[t->count + 1] = t->starts[t->count];
        tie_vertex(c, t, v, touch->direction, 1);
        for (int j = 0; j < 3; j++)
            tie_vertex(c, t, s->shape.triangles[3 * (size_t)touch->triangle + (size_t)j], touch->direction,
                       -touch->corners[j]);
        for (uint32_t k = t->starts[t->count]; k < t->starts[t->count + 1]; k++)
            for (size_t i = 0; i < 3; i++)
                gradient[3 * (size_t)t->rows[k] + i] -= force * t->vectors[3 * (size_t)k + i];
        t->weights[t->count++] = stiffness;
    }
    if (!t->count) return 0;
    pelt_arena_free(c->indices);
    c->indices = pelt_arena_inside(c->arena);
    pelt_ties_index(c->indices, t, s->free_count);
    return sum_energies(c);
}

double pelt_contact_depth(const pelt_contact *c, uint32_t *count) {
    double deepest = 0;
    *count = 0;
    for (uint32_t v = 0; v < c->vertex_count; v++) {
        if (!pushes(c, v)) continue;
        if (c->touches[v].weight == 1) deepest = fmax(deepest, fmin(c->solid->contact_from[v], 0) - c->touches[v].gap);
        ++*count;
    }
    return deepest;
}
