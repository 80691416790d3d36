/* embed.c: the skin in the lattice: every vertex gets the element of the flesh that it bounds, and barycentric coordinates
   there. A vertex may lie a little outside of its element; linear maps are followed exactly all the same. */

#include "flesh/volume.h"
#include "rig/maths.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct embedding {
    const pelt_mesh *mesh;
    const pelt_lattice *lattice;
    pelt_volume *volume;
    const uint32_t *leaders; /* [skin] the first at its place, so that seams cannot open */
    const uint32_t *first;   /* [cube + 1] cells around it, in `cells` */
    const uint32_t *cells;
} embedding;

static void barycentrics(const double x[4][3], const double p[3], double out[4]) {
    double m[9], cofactors[9], b[3];
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) m[3 * r + c] = x[c + 1][r] - x[0][r];
        b[r] = p[r] - x[0][r];
    }
    double determinant = pelt_cofactors(m, cofactors);
    pelt_cramer(cofactors, determinant, b, out + 1);
    out[0] = 1 - out[1] - out[2] - out[3];
}

/* The group of a cell whose flesh a point is part of; -1: none. Nearer samples are asked first. */
static int group_at(const pelt_lattice *l, const pelt_cell *cell, const double x[4][3], const double p[3]) {
    bool asked[PELT_CELL_SAMPLES] = {0};
    for (int n = 0; n < PELT_CELL_SAMPLES; n++) {
        double best = INFINITY, at[3];
        int nearest = -1;
        for (int s = 0; s < PELT_CELL_SAMPLES; s++) {
            if (asked[s] || cell->group[s] < 0) continue;
            pelt_cell_sample(x, (uint32_t)s, at);
            double far = pelt_distance(at, p);
            if (far < best) best = far, nearest = s;
        }
        if (nearest < 0) return -1;
        asked[nearest] = true;
        pelt_cell_sample(x, (uint32_t)nearest, at);
        if (pelt_stays_inside(l->tree, at, p, pelt_winding_number(l->tree, at, false))) return cell->group[nearest];
    }
    return -1;
}

/* A little below the skin: vertices lie on it, where neither in nor out is sure. */
static void below_skin(const embedding *e, uint32_t vertex, double out[3]) {
    const float *at = e->mesh->positions + 3 * (size_t)vertex, *n = e->mesh->normals + 3 * (size_t)vertex;
    double small = 0.02 * e->lattice->cell, depth = small;
    for (int side = 1; side >= -1; side -= 2) /* the file's normal may point inwards */
        for (depth = small; depth > small / 64; depth /= 4) {
            for (int k = 0; k < 3; k++) out[k] = at[k] - side * depth * n[k];
            if (pelt_winding_number(e->lattice->tree, out, false) > 0.5) return;
        }
    for (int k = 0; k < 3; k++) out[k] = at[k];
}

typedef struct choice {
    double worst; /* the least barycentric coordinate: the larger, the more inside */
    uint32_t element;
    double weights[4];
} choice;

static void try_cell(const embedding *e, const pelt_cell *cell, const double p[3], const double inner[3], bool joined,
                     choice *best) {
    double x[4][3], w[4];
    pelt_cell_corners(e->lattice, cell, x);
    barycentrics(x, p, w);
    double worst = fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
    if (worst <= best->worst) return;
    int group = joined ? group_at(e->lattice, cell, x, inner) : 0;
    if (group < 0) return;
    best->worst = worst, best->element = cell->first + (uint32_t)group;
    memcpy(best->weights, w, sizeof w);
}

/* Among the cells around: first those whose flesh reaches the vertex, then any. */
static void embed(void *user, size_t i, pelt_arena *scratch) {
    const embedding *e = user;
    const pelt_lattice *l = e->lattice;
    uint32_t vertex = e->volume->skin[i];
    double p[3], inner[3];
    choice best = {.worst = -INFINITY, .element = UINT32_MAX};
    (void)scratch;
    if (e->leaders[i] != i) return;
    for (int k = 0; k < 3; k++) p[k] = e->mesh->positions[3 * (size_t)vertex + (size_t)k];
    below_skin(e, vertex, inner);
    for (int reach = 1; best.element == UINT32_MAX && reach < 64; reach *= 2)
        for (int joined = 1; joined >= 0 && best.element == UINT32_MAX; joined--) {
            int64_t low[3], high[3], at[3];
            for (int k = 0; k < 3; k++) {
                int64_t c = (int64_t)((p[k] - l->origin[k]) / l->cell), most = l->size[k] - 1;
                low[k] = c - reach < 0 ? 0 : c - reach, high[k] = c + reach > most ? most : c + reach;
            }
            for (at[2] = low[2]; at[2] <= high[2]; at[2]++)
                for (at[1] = low[1]; at[1] <= high[1]; at[1]++)
                    for (at[0] = low[0]; at[0] <= high[0]; at[0]++) {
                        size_t cube = ((size_t)at[2] * l->size[1] + (size_t)at[1]) * l->size[0] + (size_t)at[0];
                        for (uint32_t n = e->first[cube]; n < e->first[cube + 1]; n++)
                            try_cell(e, &l->cells[e->cells[n]], p, inner, joined, &best);
                    }
        }
    e->volume->skin_elements[i] = best.element;
    memcpy(e->volume->skin_barycentrics + 4 * i, best.weights, sizeof best.weights);
}

/* Cells by the cube of their first corner, which is a centre. */
static void list_by_cube(pelt_arena *arena, embedding *e) {
    const pelt_lattice *l = e->lattice;
    size_t cubes = (size_t)l->size[0] * l->size[1] * l->size[2];
    uint32_t corners = (l->size[0] + 1) * (l->size[1] + 1) * (l->size[2] + 1);
    uint32_t *first = PELT_NEW(arena, cubes + 2, uint32_t), *cells = PELT_NEW(arena, l->cell_count, uint32_t);
    for (uint32_t i = 0; i < l->cell_count; i++) first[l->cells[i].corners[0] - corners + 2]++;
    for (size_t c = 0; c < cubes; c++) first[c + 2] += first[c + 1];
    for (uint32_t i = 0; i < l->cell_count; i++) cells[first[l->cells[i].corners[0] - corners + 1]++] = i;
    e->first = first, e->cells = cells;
}

/* The vertices of flesh, and its triangles by their places among them. */
static uint32_t *list_skin(pelt_arena *arena, const pelt_mesh *mesh, const bool *left_out, pelt_volume *v) {
    uint32_t *place = PELT_NEW(arena, mesh->vertex_count, uint32_t),
             *points = PELT_NEW(arena, mesh->vertex_count, uint32_t);
    uint32_t *firsts = PELT_NEW(arena, mesh->vertex_count, uint32_t);
    v->skin = PELT_NEW(arena, mesh->vertex_count, uint32_t);
    v->triangles = PELT_NEW(arena, 3 * (size_t)mesh->triangle_count, uint32_t);
    memset(place, 0xff, mesh->vertex_count * sizeof *place), memset(firsts, 0xff, mesh->vertex_count * sizeof *firsts);
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        if (left_out && left_out[t]) continue;
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t vertex = mesh->triangles[3 * (size_t)t + c];
            if (place[vertex] == UINT32_MAX) place[vertex] = v->skin_count, v->skin[v->skin_count++] = vertex;
            v->triangles[3 * (size_t)v->triangle_count + c] = place[vertex];
        }
        v->triangle_count++;
    }
    pelt_weld(arena, mesh, (pelt_examples){0}, 0, points);
    uint32_t *leaders = PELT_NEW(arena, v->skin_count, uint32_t);
    for (uint32_t i = 0; i < v->skin_count; i++) {
        uint32_t point = points[v->skin[i]];
        if (firsts[point] == UINT32_MAX) firsts[point] = i;
        leaders[i] = firsts[point];
    }
    return leaders;
}

void pelt_embed_skin(pelt_arena *arena, const pelt_mesh *mesh, const bool *left_out, const pelt_lattice *lattice,
                     uint32_t threads, pelt_volume *v) {
    embedding e = {.mesh = mesh, .lattice = lattice, .volume = v};
    if (!v->element_count) return;
    uint32_t *leaders = list_skin(arena, mesh, left_out, v);
    e.leaders = leaders;
    list_by_cube(arena, &e);
    v->skin_elements = PELT_NEW(arena, v->skin_count, uint32_t);
    v->skin_barycentrics = PELT_NEW(arena, 4 * (size_t)v->skin_count, double);
    pelt_parallel(arena, threads, v->skin_count, embed, &e);
    for (uint32_t i = 0; i < v->skin_count; i++) {
        v->skin_elements[i] = v->skin_elements[leaders[i]];
        memcpy(v->skin_barycentrics + 4 * (size_t)i, v->skin_barycentrics + 4 * (size_t)leaders[i], 4 * sizeof(double));
    }
}
