/* lattice.c: a body-centred cubic lattice of tetrahedra around a surface.

   Nodes are the corners and the centres of cubes. Two cubes that share a face have four tetrahedra: both centres and an edge
   of the face. Every cell that the surface reaches has 20 samples; those inside are its share of flesh, and samples that
   a straight line joins within the flesh are one group. A cell becomes an element for each of its groups. Elements on both
   sides of a face share its nodes where a line from one sample to its mirror image stays inside. */

#include "flesh/volume.h"
#include "rig/maths.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_SUM = 3 };

/* Barycentric steps of the samples: four counts that sum to 3. */
static const uint8_t steps[PELT_CELL_SAMPLES][4] = {
    {3, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 3}, {2, 1, 0, 0}, {2, 0, 1, 0}, {2, 0, 0, 1},
    {1, 2, 0, 0}, {0, 2, 1, 0}, {0, 2, 0, 1}, {1, 0, 2, 0}, {0, 1, 2, 0}, {0, 0, 2, 1}, {1, 0, 0, 2},
    {0, 1, 0, 2}, {0, 0, 1, 2}, {1, 1, 1, 0}, {1, 1, 0, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}};

enum { CUBE_OUTSIDE, CUBE_INSIDE, CUBE_CUT };

typedef struct making {
    pelt_arena *arena;
    const pelt_volume_options *options;
    pelt_lattice lattice;
    size_t cube_count;
    uint8_t *cubes; /* [cube_count] */
} making;

/* -- Places -------------------------------------------------------------------------------------------------------- */

static size_t cube_at(const pelt_lattice *l, const uint32_t at[3]) {
    return ((size_t)at[2] * l->size[1] + at[1]) * l->size[0] + at[0];
}

static void cube_place(const pelt_lattice *l, size_t cube, uint32_t at[3]) {
    at[0] = (uint32_t)(cube % l->size[0]), at[1] = (uint32_t)(cube / l->size[0] % l->size[1]);
    at[2] = (uint32_t)(cube / l->size[0] / l->size[1]);
}

/* Corners of cubes come first, then their centres. */
static uint32_t corner_count(const pelt_lattice *l) { return (l->size[0] + 1) * (l->size[1] + 1) * (l->size[2] + 1); }

void pelt_lattice_place(const pelt_lattice *l, uint32_t corner, double out[3]) {
    uint32_t corners = corner_count(l), w = l->size[0] + 1, h = l->size[1] + 1, at[3];
    double more = 0;
    if (corner >= corners)
        cube_place(l, corner - corners, at), more = 0.5;
    else
        at[0] = corner % w, at[1] = corner / w % h, at[2] = corner / w / h;
    for (int k = 0; k < 3; k++) out[k] = l->origin[k] + l->cell * (at[k] + more);
}

void pelt_cell_corners(const pelt_lattice *l, const pelt_cell *cell, double out[4][3]) {
    for (int c = 0; c < 4; c++) pelt_lattice_place(l, cell->corners[c], out[c]);
}

void pelt_cell_sample(const double corners[4][3], uint32_t sample, double out[3]) {
    for (int k = 0; k < 3; k++) {
        out[k] = 0;
        for (int c = 0; c < 4; c++) out[k] += (steps[sample][c] + 0.25) / (SAMPLE_SUM + 1) * corners[c][k];
    }
}

/* The four cells between a cube and the next one along an axis. */
static void cell_of(const pelt_lattice *l, const uint32_t at[3], int axis, int edge, uint32_t corners[4]) {
    static const uint32_t around[5][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
    uint32_t next[3] = {at[0], at[1], at[2]};
    next[axis]++;
    corners[0] = corner_count(l) + (uint32_t)cube_at(l, at);
    corners[1] = corner_count(l) + (uint32_t)cube_at(l, next);
    for (int i = 0; i < 2; i++) {
        uint32_t c[3] = {next[0], next[1], next[2]};
        c[(axis + 1) % 3] += around[edge + i][0], c[(axis + 2) % 3] += around[edge + i][1];
        corners[2 + i] = (c[2] * (l->size[1] + 1) + c[1]) * (l->size[0] + 1) + c[0];
    }
}

/* -- Cubes --------------------------------------------------------------------------------------------------------- */

static void extent(const pelt_mesh *mesh, double low[3], double high[3]) {
    for (int k = 0; k < 3; k++) low[k] = INFINITY, high[k] = -INFINITY;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        for (int k = 0; k < 3; k++) {
            double x = mesh->positions[3 * (size_t)mesh->triangles[i] + (size_t)k];
            low[k] = fmin(low[k], x), high[k] = fmax(high[k], x);
        }
}

/* A cube to spare on every side; shifted so that no plane of a tidy mesh falls on one of the lattice. */
static double set_up(pelt_lattice *l, const pelt_mesh *mesh, double cell) {
    static const double shift[3] = {1.3719, 1.4142, 1.3247};
    double low[3], high[3], cubes = 1;
    extent(mesh, low, high);
    l->cell = cell;
    for (int k = 0; k < 3; k++) {
        l->origin[k] = low[k] - shift[k] * cell;
        double n = ceil((high[k] - l->origin[k]) / cell) + 1;
        cubes *= n;
        l->size[k] = n < 1e6 ? (uint32_t)n : 1000000;
    }
    return cubes;
}

/* As if a third of the box were flesh, with the lists that join cells. */
size_t pelt_volume_memory(const pelt_bundle *bundle, double cell) {
    pelt_lattice l;
    double cubes = set_up(&l, &bundle->mesh, cell), cells = 12 * cubes / 3;
    return (size_t)fmin(cubes * 8 + cells * (sizeof(pelt_cell) + 4 * 40), 1e18);
}

double pelt_volume_cell(const pelt_mesh *mesh, double tetrahedra) {
    double volume = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        double x[3][3], n[3];
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                x[c][k] = mesh->positions[3 * (size_t)mesh->triangles[3 * (size_t)t + (size_t)c] + (size_t)k];
        pelt_cross(x[1], x[2], n);
        volume += pelt_dot(x[0], n) / 6;
    }
    /* Cut cells are about half of a body's again. */
    return fmax(cbrt(12 * 1.5 * fabs(volume) / tetrahedra), 1e-6 * mesh->diagonal);
}

static void mark_cut(making *m, const pelt_mesh *mesh) {
    const pelt_lattice *l = &m->lattice;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t from[3], to[3], at[3];
        if (m->options->left_out && m->options->left_out[t]) continue;
        for (int k = 0; k < 3; k++) {
            double low = INFINITY, high = -INFINITY;
            for (int c = 0; c < 3; c++) {
                double x = mesh->positions[3 * (size_t)mesh->triangles[3 * (size_t)t + (size_t)c] + (size_t)k];
                low = fmin(low, x), high = fmax(high, x);
            }
            from[k] = (uint32_t)((low - l->origin[k]) / l->cell), to[k] = (uint32_t)((high - l->origin[k]) / l->cell);
        }
        for (at[2] = from[2]; at[2] <= to[2]; at[2]++)
            for (at[1] = from[1]; at[1] <= to[1]; at[1]++)
                for (at[0] = from[0]; at[0] <= to[0]; at[0]++) m->cubes[cube_at(l, at)] = CUBE_CUT;
    }
}

/* The winding number of an open surface differs from cube to cube, so each is asked. */
static void ask_cube(void *user, size_t i, pelt_arena *scratch) {
    making *m = user;
    double middle[3];
    (void)scratch;
    if (m->cubes[i] == CUBE_CUT) return;
    pelt_lattice_place(&m->lattice, corner_count(&m->lattice) + (uint32_t)i, middle);
    m->cubes[i] = pelt_winding_number(m->lattice.tree, middle, false) > 0.5 ? CUBE_INSIDE : CUBE_OUTSIDE;
}

/* -- Cells --------------------------------------------------------------------------------------------------------- */

static size_t list_cells(making *m, pelt_cell *cells) {
    size_t count = 0;
    for (size_t i = 0; i < m->cube_count; i++) {
        uint32_t at[3];
        cube_place(&m->lattice, i, at);
        for (int axis = 0; axis < 3; axis++) {
            uint32_t next[3] = {at[0], at[1], at[2]};
            if (++next[axis] >= m->lattice.size[axis]) continue;
            uint8_t a = m->cubes[i], b = m->cubes[cube_at(&m->lattice, next)];
            if (a == CUBE_OUTSIDE && b == CUBE_OUTSIDE) continue;
            for (int edge = 0; edge < 4; edge++, count++)
                if (cells) cell_of(&m->lattice, at, axis, edge, cells[count].corners);
        }
    }
    return count;
}

static uint32_t root_of(uint32_t *parents, uint32_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

static void unite(uint32_t *parents, uint32_t a, uint32_t b) {
    a = root_of(parents, a), b = root_of(parents, b);
    if (a < b)
        parents[b] = a;
    else
        parents[a] = b;
}

/* Samples are next to each other if one step leads from one to the other. */
static bool side_by_side(uint32_t a, uint32_t b) {
    int differ = 0;
    for (int c = 0; c < 4; c++) differ += abs(steps[a][c] - steps[b][c]);
    return differ == 2;
}

static void group_samples(const pelt_skin_tree *tree, const double corners[4][3], pelt_cell *cell) {
    double at[PELT_CELL_SAMPLES][3], winding[PELT_CELL_SAMPLES];
    uint32_t parents[PELT_CELL_SAMPLES];
    for (uint32_t s = 0; s < PELT_CELL_SAMPLES; s++) {
        parents[s] = s;
        pelt_cell_sample(corners, s, at[s]);
        winding[s] = pelt_winding_number(tree, at[s], false);
    }
    for (uint32_t a = 0; a < PELT_CELL_SAMPLES; a++)
        for (uint32_t b = 0; b < a; b++)
            if (winding[a] > 0.5 && winding[b] > 0.5 && side_by_side(a, b) &&
                root_of(parents, a) != root_of(parents, b) && pelt_stays_inside(tree, at[a], at[b], winding[a]))
                unite(parents, a, b);
    for (uint32_t s = 0; s < PELT_CELL_SAMPLES; s++) {
        uint32_t root = root_of(parents, s);
        cell->group[s] = winding[s] <= 0.5 ? -1 : root == s ? (int8_t)cell->groups++ : cell->group[root];
    }
}

static void fill_cell(void *user, size_t i, pelt_arena *scratch) {
    making *m = user;
    pelt_cell *cell = &m->lattice.cells[i];
    double corners[4][3], middle[3] = {0};
    (void)scratch;
    pelt_cell_corners(&m->lattice, cell, corners);
    if (pelt_skin_reaches(m->lattice.tree, corners)) {
        cell->first = 1;
        group_samples(m->lattice.tree, corners, cell);
        return;
    }
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++) middle[k] += corners[c][k] / 4;
    if (pelt_winding_number(m->lattice.tree, middle, false) > 0.5)
        cell->groups = 1;
    else
        memset(cell->group, -1, sizeof cell->group);
}

/* Drops empty cells and numbers the elements. */
static void number_elements(making *m, pelt_volume *v) {
    pelt_lattice *l = &m->lattice;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->cell_count; i++) {
        if (!l->cells[i].groups) continue;
        v->cut += l->cells[i].first;
        l->cells[kept] = l->cells[i];
        l->cells[kept].first = v->element_count;
        v->element_count += l->cells[kept].groups;
        v->copies += l->cells[kept++].groups - 1u;
    }
    l->cell_count = kept;
}

/* -- Faces --------------------------------------------------------------------------------------------------------- */

typedef struct face {
    uint32_t corners[3]; /* rising */
    uint32_t cell;
    uint32_t across; /* the corner that is not on it */
} face;

static int by_corners(const void *a, const void *b) {
    const face *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x->corners[k] != y->corners[k]) return x->corners[k] < y->corners[k] ? -1 : 1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static face face_of(const pelt_cell *cell, uint32_t number, uint32_t across) {
    face f = {.cell = number, .across = across};
    for (uint32_t c = 0, n = 0; c < 4; c++)
        if (c != across) f.corners[n++] = cell->corners[c];
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (f.corners[k] > f.corners[k + 1]) {
                uint32_t swap = f.corners[k];
                f.corners[k] = f.corners[k + 1], f.corners[k + 1] = swap;
            }
    return f;
}

/* Where the corners of cell a are in cell b; 4: they are not. */
static void match_corners(const pelt_cell *a, const pelt_cell *b, uint32_t place[4]) {
    for (int c = 0; c < 4; c++) {
        place[c] = 0;
        while (place[c] < 4 && b->corners[place[c]] != a->corners[c]) place[c]++;
    }
}

static uint32_t mirrored(uint32_t sample, const uint32_t place[4]) {
    uint8_t want[4] = {0};
    uint32_t s = 0;
    for (int c = 0; c < 4; c++)
        if (place[c] < 4) want[place[c]] = steps[sample][c];
    while (memcmp(steps[s], want, 4)) s++;
    return s;
}

typedef struct joining {
    making *m;
    const face *faces;  /* pairs that share a face: this one and the next */
    const uint32_t *at; /* [pair] */
    uint64_t *joined;   /* [pair] bit 8 a + b: group a of the first cell and b of the second are one */
} joining;

/* Groups beyond the eighth, which a cell of 20 samples hardly has, share nothing with others. */
static void join_face(void *user, size_t i, pelt_arena *scratch) {
    joining *j = user;
    const face *f = &j->faces[j->at[i]];
    const pelt_lattice *l = &j->m->lattice;
    const pelt_cell *a = &l->cells[f[0].cell], *b = &l->cells[f[1].cell];
    double x[4][3], y[4][3], p[3], q[3];
    uint32_t place[4];
    (void)scratch;
    pelt_cell_corners(l, a, x), pelt_cell_corners(l, b, y);
    match_corners(a, b, place);
    for (uint32_t s = 0; s < PELT_CELL_SAMPLES; s++) {
        if (steps[s][f[0].across]) continue;
        uint32_t other = mirrored(s, place);
        int g = a->group[s], h = b->group[other];
        if (g < 0 || h < 0 || g > 7 || h > 7 || j->joined[i] >> (8 * g + h) & 1) continue;
        pelt_cell_sample(x, s, p), pelt_cell_sample(y, other, q);
        if (pelt_stays_inside(l->tree, p, q, pelt_winding_number(l->tree, p, false)))
            j->joined[i] |= (uint64_t)1 << (8 * g + h);
    }
}

static void share_nodes(const joining *j, size_t i, uint32_t *parents) {
    const face *f = &j->faces[j->at[i]];
    const pelt_cell *a = &j->m->lattice.cells[f[0].cell], *b = &j->m->lattice.cells[f[1].cell];
    uint32_t place[4];
    match_corners(a, b, place);
    for (uint32_t bit = 0; bit < 64; bit++)
        for (uint32_t c = 0; c < 4 && j->joined[i] >> bit & 1; c++)
            if (place[c] < 4) unite(parents, 4 * (a->first + bit / 8) + c, 4 * (b->first + bit % 8) + place[c]);
}

static void join_cells(making *m, uint32_t *parents) {
    const pelt_lattice *l = &m->lattice;
    face *faces = PELT_NEW(m->arena, 4 * (size_t)l->cell_count, face);
    uint32_t *at = PELT_NEW(m->arena, 4 * (size_t)l->cell_count, uint32_t);
    size_t count = 4 * (size_t)l->cell_count, pairs = 0;
    for (size_t i = 0; i < count; i++) faces[i] = face_of(&l->cells[i / 4], (uint32_t)(i / 4), (uint32_t)(i % 4));
    qsort(faces, count, sizeof *faces, by_corners);
    for (size_t i = 0; i + 1 < count; i++)
        if (!memcmp(faces[i].corners, faces[i + 1].corners, sizeof faces[i].corners)) at[pairs++] = (uint32_t)i;
    joining j = {m, faces, at, PELT_NEW(m->arena, pairs, uint64_t)};
    pelt_parallel(m->arena, m->options->threads, pairs, join_face, &j);
    for (size_t i = 0; i < pairs; i++) share_nodes(&j, i, parents);
}

/* -- Elements ------------------------------------------------------------------------------------------------------ */

/* Numbers the nodes, and says which of them lie in flesh of their own: a line leads there from the nearest sample. */
static bool *number_nodes(making *m, uint32_t *parents, pelt_volume *v) {
    const pelt_lattice *l = &m->lattice;
    size_t all = 4 * (size_t)v->element_count;
    uint32_t *number = PELT_NEW(m->arena, all, uint32_t);
    for (size_t i = 0; i < all; i++)
        number[i] = parents[i] == i ? v->node_count++ : number[root_of(parents, (uint32_t)i)];
    v->nodes = PELT_NEW(m->arena, 3 * (size_t)v->node_count, double);
    v->elements = PELT_NEW(m->arena, all, uint32_t);
    bool *real = PELT_NEW(m->arena, v->node_count, bool);
    for (uint32_t i = 0; i < l->cell_count; i++) {
        const pelt_cell *cell = &l->cells[i];
        double x[4][3], p[3];
        pelt_cell_corners(l, cell, x);
        for (uint32_t g = 0; g < cell->groups; g++)
            for (uint32_t c = 0; c < 4; c++) {
                uint32_t node = number[root_of(parents, 4 * (cell->first + g) + c)];
                v->elements[4 * (size_t)(cell->first + g) + c] = node;
                memcpy(v->nodes + 3 * (size_t)node, x[c], sizeof x[c]);
                if (real[node] || cell->group[c] != (int)g) continue; /* the first four samples are those at corners */
                pelt_cell_sample(x, c, p);
                real[node] = pelt_winding_number(l->tree, x[c], false) > 0.5 &&
                             pelt_stays_inside(l->tree, p, x[c], pelt_winding_number(l->tree, p, false));
            }
    }
    return real;
}

/* All tetrahedra of the lattice have the same volume, a twelfth of a cube. */
static void share_out(making *m, pelt_volume *v) {
    const pelt_lattice *l = &m->lattice;
    double one = l->cell * l->cell * l->cell / 12, depth = m->options->fat_depth;
    v->fractions = PELT_NEW(m->arena, v->element_count, double);
    v->fat = PELT_NEW(m->arena, v->element_count, double);
    for (uint32_t i = 0; i < l->cell_count; i++) {
        const pelt_cell *cell = &l->cells[i];
        double x[4][3], p[3];
        pelt_cell_corners(l, cell, x);
        for (uint32_t s = 0; s < PELT_CELL_SAMPLES; s++) {
            if (cell->group[s] < 0) continue;
            uint32_t element = cell->first + (uint32_t)cell->group[s];
            v->fractions[element] += 1.0 / PELT_CELL_SAMPLES;
            if (depth > 0) {
                pelt_cell_sample(x, s, p);
                v->fat[element] += pelt_skin_distance(l->tree, p) < depth ? 1.0 / PELT_CELL_SAMPLES : 0;
            }
        }
    }
    for (uint32_t e = 0; e < v->element_count; e++) {
        v->fat[e] /= v->fractions[e];
        v->fractions[e] = fmin(v->fractions[e], 1);
        v->volume += one * v->fractions[e];
    }
}

/* -- Stiffness ------------------------------------------------------------------------------------------------------- */

typedef struct stiffening {
    const pelt_mesh *mesh;
    const float *stiffness;
    pelt_volume *volume;
} stiffening;

/* That of the nearest vertex of the skin, wherever in the body the element is. */
static void stiffen(void *user, size_t e, pelt_arena *scratch) {
    const stiffening *s = user;
    const pelt_volume *v = s->volume;
    double middle[3] = {0}, best = INFINITY;
    (void)scratch;
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++) middle[k] += v->nodes[3 * (size_t)v->elements[4 * e + (size_t)c] + (size_t)k] / 4;
    for (uint32_t i = 0; i < v->skin_count; i++) {
        const float *at = s->mesh->positions + 3 * (size_t)v->skin[i];
        double d[3] = {at[0] - middle[0], at[1] - middle[1], at[2] - middle[2]}, far = pelt_dot(d, d);
        if (far < best) best = far, v->stiffness[e] = s->stiffness[v->skin[i]];
    }
}

static void give_stiffness(making *m, const pelt_mesh *mesh, pelt_volume *v) {
    stiffening s = {mesh, m->options->stiffness, v};
    v->stiffness = PELT_NEW(m->arena, v->element_count, double);
    for (uint32_t e = 0; e < v->element_count; e++) v->stiffness[e] = 1;
    if (s.stiffness) pelt_parallel(m->arena, m->options->threads, v->element_count, stiffen, &s);
}

static void make_lattice(making *m, const pelt_bundle *bundle, pelt_volume *v) {
    pelt_lattice *l = &m->lattice;
    m->cube_count = (size_t)l->size[0] * l->size[1] * l->size[2];
    m->cubes = PELT_NEW(m->arena, m->cube_count, uint8_t);
    mark_cut(m, &bundle->mesh);
    pelt_parallel(m->arena, m->options->threads, m->cube_count, ask_cube, m);
    l->cell_count = (uint32_t)list_cells(m, NULL);
    l->cells = PELT_NEW(m->arena, l->cell_count, pelt_cell);
    list_cells(m, l->cells);
    pelt_parallel(m->arena, m->options->threads, l->cell_count, fill_cell, m);
    number_elements(m, v);
    uint32_t *parents = PELT_NEW(m->arena, 4 * (size_t)v->element_count, uint32_t);
    for (uint32_t i = 0; i < 4 * v->element_count; i++) parents[i] = i;
    join_cells(m, parents);
    bool *real = number_nodes(m, parents, v);
    share_out(m, v);
    pelt_carry_nodes(l->tree, real, m->arena, m->options->threads, v);
    pelt_embed_skin(m->arena, &bundle->mesh, m->options->left_out, l, m->options->threads, v);
    give_stiffness(m, &bundle->mesh, v);
}

/* -- All of it ------------------------------------------------------------------------------------------------------- */

typedef struct order {
    pelt_arena *arena;
    const pelt_bundle *bundle;
    const pelt_volume_options *options;
    pelt_volume *volume;
} order;

static pelt_result build(void *user, pelt_error *error) {
    order *o = user;
    pelt_volume *v = o->volume;
    making m = {.arena = o->arena, .options = o->options};
    m.lattice.tree = pelt_skin_tree_of(o->arena, &o->bundle->mesh, o->options->left_out);
    set_up(&m.lattice, &o->bundle->mesh, v->cell);
    v->mesh_volume = pelt_skin_volume(m.lattice.tree);
    v->bones = o->options->bones ? pelt_flesh_bones_given(o->arena, o->options->bones, m.lattice.tree)
                                 : pelt_flesh_bones_of(o->arena, o->bundle, m.lattice.tree);
    if (!v->bones.count)
        return pelt_fail(
            error, PELT_ERROR_DATA,
            "%s: no bone %s lies inside the mesh; move %s into the mesh, or check the scale of the armature",
            o->bundle->path, o->options->bones ? "that was given" : "of the skeleton",
            o->options->bones ? "them" : "the joints");
    make_lattice(&m, o->bundle, v);
    if (!v->element_count)
        return pelt_fail(
            error, PELT_ERROR_DATA,
            "%s: the mesh encloses no volume that a lattice with cubes of %.3g can resolve; use a finer one",
            o->bundle->path, v->cell);
    return PELT_OK;
}

static pelt_result check(const pelt_bundle *b, const pelt_volume_options *o, double cell, pelt_error *error) {
    pelt_lattice l;
    if (!b->mesh.triangle_count) return pelt_fail(error, PELT_ERROR_DATA, "%s: has no triangles", b->path);
    if (!b->skeleton.joint_count || !b->mesh.influences.first || !b->mesh.influences.first[b->mesh.vertex_count])
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: has no skeleton with weights; flesh needs bones, so bind the mesh to an armature",
                         b->path);
    size_t bad = pelt_first_not_finite(b->mesh.positions, 3 * (size_t)b->mesh.vertex_count);
    if (bad < 3 * (size_t)b->mesh.vertex_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: vertex %zu is not finite", b->path, bad / 3);
    const pelt_bone_surfaces *bones = o->bones;
    for (uint32_t i = 0; bones && i < bones->mesh->vertex_count; i++)
        if (pelt_first_not_finite(bones->mesh->positions + 3 * (size_t)i, 3) < 3 ||
            bones->joints[i] >= b->skeleton.joint_count)
            return pelt_fail_option(error, "bones",
                                    "vertex %u is not finite, or belongs to a joint that does not exist", i);
    for (uint32_t i = 0; o->stiffness && i < b->mesh.vertex_count; i++)
        if (!(o->stiffness[i] > 0) || !isfinite(o->stiffness[i]))
            return pelt_fail_option(error, "stiffness", " must be above 0, not %g", (double)o->stiffness[i]);
    if (!(o->cell >= 0) || !(cell > 0) || !isfinite(cell))
        return pelt_fail_option(error, "cell", " must be above 0, not %g", cell);
    double cubes = set_up(&l, &b->mesh, cell);
    if (cubes > 1e8 || !pelt_memory_is_there(pelt_volume_memory(b, cell)))
        return pelt_fail(
            error, PELT_ERROR_MEMORY,
            "%s: cubes of %.3g make a lattice of %.3g cubes, too many for this machine's memory; use larger ones",
            b->path, cell, cubes);
    return PELT_OK;
}

pelt_result pelt_volume_build(pelt_arena *arena, const pelt_bundle *bundle, const pelt_volume_options *options,
                              pelt_volume *volume, pelt_error *error) {
    const double usual = 30000;
    *volume = (pelt_volume){.cell = options->cell};
    if (options->cell == 0 && bundle->mesh.triangle_count) volume->cell = pelt_volume_cell(&bundle->mesh, usual);
    pelt_result result = check(bundle, options, volume->cell, error);
    order o = {arena, bundle, options, volume};
    return result ? result : pelt_stage(arena, build, &o, error);
}
