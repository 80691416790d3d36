/* elastic.c: energy, forces and the matrix of the elements,

       E = sum_e V_e / points * sum_q W(F_q),    F_q = sum_a x_a (x) slope_a(q).

   Stretches of elements that have one colour share no free node, so they can add to forces and matrix side by side; colours
   go one after the other, and every sum has one order for any number of threads. Elements of a stretch are neighbours, and
   what they add to is at hand. */

#include "flesh/inside.h"
#include "flesh/law.h"
#include "rig/maths.h"
#include <string.h>

enum { CHUNK = 32 }; /* elements for one call of a loop */

void pelt_elastic_begin(pelt_elastic *e, const pelt_solid *solid, pelt_arena *arena, uint32_t threads) {
    *e = (pelt_elastic){.solid = solid, .arena = arena, .threads = threads};
    e->energies = PELT_NEW(arena, solid->shape.element_count, double);
    e->least = PELT_NEW(arena, solid->shape.element_count, double);
    e->blocks = PELT_NEW(arena, (size_t)solid->row_starts[solid->free_count] * 9, double);
    pelt_average_begin(e);
    pelt_sheet_begin(e);
}

static void deformation(const pelt_solid *solid, uint32_t element, double slopes[][3], const double *nodes,
                        double f[9]) {
    uint32_t n = solid->shape.nodes_per_element;
    const uint32_t *corners = solid->shape.elements + (size_t)element * n;
    memset(f, 0, 9 * sizeof *f);
    for (uint32_t a = 0; a < n; a++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) f[3 * r + c] += nodes[3 * (size_t)corners[a] + (size_t)r] * slopes[a][c];
}

typedef struct pass {
    pelt_elastic *e;
    const double *nodes;
    double *gradient;
    const uint32_t *stretches;
} pass;

/* -- Energy -------------------------------------------------------------------------------------------------------- */

static void add_energies(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    pass *p = user;
    const pelt_solid *solid = p->e->solid;
    uint32_t points = pelt_solid_points(&solid->shape), end = solid->shape.element_count;
    if (end > (chunk + 1) * CHUNK) end = (uint32_t)(chunk + 1) * CHUNK;
    for (uint32_t element = (uint32_t)chunk * CHUNK; element < end; element++) {
        double sum = 0, least = INFINITY, slopes[PELT_QUADRATIC_NODES][3], f[9], cofactors[9];
        for (uint32_t q = 0; q < points; q++) {
            pelt_solid_slopes(solid, element, q, slopes);
            deformation(solid, element, slopes, p->nodes, f);
            sum += pelt_law_energy(solid->shape.law, &solid->materials[element], f);
            least = fmin(least, pelt_cofactors(f, cofactors));
        }
        p->e->energies[element] = sum * solid->volumes[element] / points;
        p->e->least[element] = least;
    }
}

double pelt_elastic_energy(pelt_elastic *e, const double *nodes) {
    uint32_t count = e->solid->shape.element_count;
    pelt_parallel(e->arena, e->threads, (count + CHUNK - 1) / CHUNK, add_energies, &(pass){.e = e, .nodes = nodes});
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += e->energies[i];
    return sum + pelt_average_energy(e) + pelt_sheet_energy(e, nodes);
}

double pelt_elastic_least(const pelt_elastic *e) {
    double least = INFINITY;
    for (uint32_t i = 0; i < e->solid->shape.element_count; i++) least = fmin(least, e->least[i]);
    return least;
}

/* -- Forces and matrix --------------------------------------------------------------------------------------------- */

static void add_forces(const pass *p, uint32_t element, double slopes[][3], const double f[9], double weight,
                       double pressure) {
    const pelt_solid *solid = p->e->solid;
    uint32_t n = solid->shape.nodes_per_element;
    const uint32_t *corners = solid->shape.elements + (size_t)element * n;
    double stress[9];
    pelt_law_gradient(solid->shape.law, &solid->materials[element], f, pressure, stress);
    for (uint32_t a = 0; a < n; a++) {
        uint32_t row = solid->unknowns[corners[a]];
        if (row == PELT_NOWHERE) continue;
        for (int i = 0; i < 3; i++)
            p->gradient[3 * (size_t)row + (size_t)i] += weight * pelt_dot(stress + 3 * i, slopes[a]);
    }
}

/* u (what a pair of slopes makes of the Hessian in its frame) u^T. */
static void make_block(const pelt_law_frame *h, double weight, const double a[3], const double b[3], double *block) {
    double m[9], half[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            m[3 * i + k] = i == k ? h->same[3 * i] * a[0] * b[0] + h->same[3 * i + 1] * a[1] * b[1] +
                                        h->same[3 * i + 2] * a[2] * b[2]
                                  : h->straight[3 * i + k] * a[i] * b[k] + h->crossed[3 * i + k] * a[k] * b[i];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            half[3 * i + k] = weight * (h->u[3 * i] * m[k] + h->u[3 * i + 1] * m[3 + k] + h->u[3 * i + 2] * m[6 + k]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) block[3 * i + k] = pelt_dot(half + 3 * i, h->u + 3 * k);
}

static void add_block(const pass *p, uint32_t place, const double block[9]) {
    for (size_t i = 0; i < 9 && place != PELT_NOWHERE; i++) p->e->blocks[9 * (size_t)place + i] += block[i];
}

/* Slopes of linear nodes sum to 0, and so do the blocks of a row: those of the first node follow from the others'. */
static void add_linear(const pass *p, const uint32_t *places, const pelt_law_frame *h, double weight,
                       double turned[][3]) {
    double blocks[4][4][9];
    for (int a = 1; a < 4; a++)
        for (int b = a; b < 4; b++) {
            make_block(h, weight, turned[a], turned[b], blocks[a][b]);
            for (int i = 0; i < 9 && b > a; i++) blocks[b][a][i] = blocks[a][b][3 * (i % 3) + i / 3];
        }
    for (int b = 1; b < 4; b++)
        for (int i = 0; i < 9; i++) blocks[0][b][i] = -(blocks[1][b][i] + blocks[2][b][i] + blocks[3][b][i]);
    for (int i = 0; i < 9; i++) {
        int other = 3 * (i % 3) + i / 3;
        blocks[0][0][i] = -(blocks[0][1][other] + blocks[0][2][other] + blocks[0][3][other]);
    }
    for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++) add_block(p, places[4 * a + b], blocks[a][b]);
}

static void add_matrix(const pass *p, uint32_t element, double slopes[][3], const double f[9], double weight,
                       double pressure) {
    const pelt_solid *solid = p->e->solid;
    uint32_t n = solid->shape.nodes_per_element;
    const uint32_t *places = solid->places + (size_t)element * n * n;
    pelt_law_frame frame;
    pelt_law_hessian(solid->shape.law, &solid->materials[element], f, pressure, p->e->exact, &frame);
    double turned[PELT_QUADRATIC_NODES][3];
    for (uint32_t a = 0; a < n; a++)
        for (int c = 0; c < 3; c++)
            turned[a][c] = frame.v[c] * slopes[a][0] + frame.v[3 + c] * slopes[a][1] + frame.v[6 + c] * slopes[a][2];
    if (n == PELT_LINEAR_NODES) {
        add_linear(p, places, &frame, weight, turned);
        return;
    }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a; b < n; b++) {
            double block[9];
            if (places[a * n + b] == PELT_NOWHERE) continue;
            make_block(&frame, weight, turned[a], turned[b], block);
            add_block(p, places[a * n + b], block);
        }
}

static void note_swell(pelt_elastic *e, uint32_t element, double slopes[][3], const double f[9]) {
    double cofactors[9], *out = e->swells + 12 * (size_t)element;
    pelt_cofactors(f, cofactors);
    for (int a = 0; a < PELT_LINEAR_NODES; a++)
        for (int i = 0; i < 3; i++)
            out[3 * a + i] = e->solid->volumes[element] * pelt_dot(cofactors + 3 * i, slopes[a]);
}

static void add_derivatives(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    pass *p = user;
    const pelt_solid *solid = p->e->solid;
    uint32_t points = pelt_solid_points(&solid->shape);
    size_t first = (size_t)PELT_STRETCH * p->stretches[chunk], end = first + PELT_STRETCH;
    if (end > solid->shape.element_count) end = solid->shape.element_count;
    for (uint32_t element = (uint32_t)first; element < end; element++) {
        double weight = solid->volumes[element] / points, slopes[PELT_QUADRATIC_NODES][3], f[9];
        double pressure = pelt_average_pressure(p->e, element);
        for (uint32_t q = 0; q < points; q++) {
            pelt_solid_slopes(solid, element, q, slopes);
            deformation(solid, element, slopes, p->nodes, f);
            if (p->e->means.count) note_swell(p->e, element, slopes, f);
            add_forces(p, element, slopes, f, weight, pressure);
            add_matrix(p, element, slopes, f, weight, pressure);
        }
    }
}

/* Blocks are made on one side of the pair (a, b) with a <= b of an element, which may be either side of the diagonal. */
static void mirror_blocks(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    pelt_elastic *e = ((pass *)user)->e;
    const pelt_solid *s = e->solid;
    uint32_t end = (uint32_t)(chunk + 1) * CHUNK < s->free_count ? (uint32_t)(chunk + 1) * CHUNK : s->free_count;
    for (uint32_t row = (uint32_t)chunk * CHUNK; row < end; row++)
        for (uint32_t k = s->row_starts[row]; k < s->row_starts[row + 1]; k++) {
            if (s->columns[k] <= row) continue;
            double *a = e->blocks + 9 * (size_t)k, *b = e->blocks + 9 * (size_t)s->mirrors[k];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) a[3 * i + j] += b[3 * j + i];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) b[3 * j + i] = a[3 * i + j];
        }
}

void pelt_elastic_derivatives(pelt_elastic *e, const double *nodes, double *gradient) {
    const pelt_solid *s = e->solid;
    if (e->means.count) pelt_elastic_energy(e, nodes); /* for the pressures */
    memset(e->blocks, 0, (size_t)s->row_starts[s->free_count] * 9 * sizeof *e->blocks);
    for (uint32_t colour = 0; colour < s->colour_count; colour++) {
        size_t count = s->colour_starts[colour + 1] - s->colour_starts[colour];
        pass p = {e, nodes, gradient, s->by_colour + s->colour_starts[colour]};
        pelt_parallel(e->arena, e->threads, count, add_derivatives, &p);
    }
    pelt_parallel(e->arena, e->threads, (s->free_count + CHUNK - 1) / CHUNK, mirror_blocks, &(pass){.e = e});
    pelt_average_ties(e);
    pelt_sheet_derivatives(e, nodes, gradient);
}
