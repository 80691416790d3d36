/* Skin as a sheet: against differences, the closed forms of plates, and turns. */

#include "test/solids.h"
#include "test/test.h"

/* A sheet of x by y rectangles, each cut along a diagonal (or the other), in a box of tetrahedra that its vertices are nodes
   of: the box' lower side. `seam`: the vertices on a line across are there twice. */
static pelt_solid_shape sheet_on_box(pelt_arena *arena, const uint32_t cells[3], const double size[3], bool other,
                                     bool seam) {
    pelt_solid_shape s = box_solid(arena, cells, size, pelt_solid_material_of(1, 0.3, 1));
    uint32_t nx = cells[0] + 1, ny = cells[1] + 1, count = nx * ny, twins = seam ? ny : 0, middle = cells[0] / 2;
    uint32_t *in = PELT_NEW(arena, (size_t)count + twins, uint32_t), *triangles, *next;
    double *places = PELT_NEW(arena, 4 * ((size_t)count + twins), double);
    next = triangles = PELT_NEW(arena, 6 * (size_t)cells[0] * cells[1], uint32_t);
    ((int32_t *)s.node_bones)[s.node_count - 1] = 0;
    for (uint32_t v = 0; v < count + twins; v++) {
        uint32_t node = v < count ? v : middle + nx * (v - count), e = 0;
        while (s.elements[e] != node) e++;
        in[v] = e / 4, places[4 * (size_t)v + e % 4] = 1;
    }
    for (uint32_t c = 0; c < cells[0] * cells[1]; c++) {
        uint32_t x = c % cells[0], y = c / cells[0], q[4];
        for (uint32_t k = 0; k < 4; k++) {
            q[k] = x + k % 2 + nx * (y + k / 2);
            if (seam && x >= middle && x + k % 2 == middle) q[k] = count + y + k / 2; /* of the half beyond the seam */
        }
        const uint32_t cut[2][6] = {{0, 1, 3, 0, 3, 2}, {0, 1, 2, 1, 3, 2}};
        for (int k = 0; k < 6; k++) *next++ = q[cut[other][k]];
    }
    s.vertex_count = count + twins, s.triangle_count = 2 * cells[0] * cells[1], s.triangles = triangles;
    s.vertex_elements = in, s.vertex_barycentrics = places;
    s.skin_young = 3, s.skin_thickness = 0.07;
    return s;
}

static const pelt_solid *opened(pelt_arena *arena, const pelt_solid_shape *shape) {
    const pelt_solid *solid;
    pelt_error error = {0};
    if (pelt_solid_open(arena, shape, &solid, &error)) fail_msg("%s", error.text);
    return solid;
}

static pelt_elastic begun(pelt_arena *arena, const pelt_solid *solid) {
    pelt_elastic e = {.solid = solid, .arena = arena, .threads = 1};
    pelt_sheet_begin(&e);
    return e;
}

/* -- Closed forms --------------------------------------------------------------------------------------------------------- */

/* A flat strip on a cylinder: half of Y h^3 / 12 (1 - v^2) times the square of the curvature, on the area that bends. A seam
   makes no difference. */
static void a_strip_bends_like_a_plate(void **state) {
    (void)state;
    for (int other = 0; other < 2; other++)
        for (int seam = 0; seam < 2; seam++) {
            PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
            const uint32_t cells[3] = {8, 3, 1};
            const double size[3] = {4, 0.9, 0.5}, turn = 0.3, step = 0.5; /* chords keep their length */
            pelt_solid_shape shape = sheet_on_box(arena, cells, size, other, seam);
            const pelt_solid *solid = opened(arena, &shape);
            pelt_elastic e = begun(arena, solid);
            double *nodes = PELT_NEW(arena, 3 * (size_t)shape.node_count, double), at[2] = {0, 0}, along = 0;
            memcpy(nodes, shape.nodes, 3 * (size_t)shape.node_count * sizeof *nodes);
            assert_float_equal(pelt_sheet_energy(&e, nodes), 0, 1e-15); /* rest is at rest */
            for (uint32_t x = 0; x <= cells[0]; x++) {
                for (uint32_t y = 0; y <= cells[1]; y++) {
                    double *node = nodes + 3 * (size_t)(x + (cells[0] + 1) * y);
                    node[0] = at[0], node[2] = at[1];
                }
                at[0] += step * cos(along), at[1] += step * sin(along), along += turn;
            }
            double plate = 3 * pow(0.07, 3) / (12 * (1 - 0.3 * 0.3)), curvature = turn / step;
            double bent = 4 * 0.9 - 0.9 * step; /* a triangle in each cell at the ends has its side on the border */
            assert_float_equal(pelt_sheet_energy(&e, nodes) / (plate / 2 * curvature * curvature * bent), 1, 1e-9);
        }
}

/* What a square sheet of n by n cells has of a plate's energy as a shallow surface with these z_xx, z_yy, z_xy: half of
   D ((z_xx + z_yy)^2 - 2 (1 - v) (z_xx z_yy - z_xy^2)). */
static double part_of_plate(uint32_t n, const double h[3], bool other) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const double much = 1e-3;
    pelt_solid_shape shape =
        sheet_on_box(arena, (const uint32_t[3]){n, n, 1}, (const double[3]){1, 1, 0.1}, other, false);
    pelt_elastic e = begun(arena, opened(arena, &shape));
    double *nodes = PELT_NEW(arena, 3 * (size_t)shape.node_count, double);
    memcpy(nodes, shape.nodes, 3 * (size_t)shape.node_count * sizeof *nodes);
    for (uint32_t v = 0; v < (n + 1) * (n + 1); v++) {
        double x = nodes[3 * v] - 0.5, y = nodes[3 * v + 1] - 0.5;
        nodes[3 * v + 2] = much * (h[0] * x * x / 2 + h[1] * y * y / 2 + h[2] * x * y);
    }
    double plate = 3 * pow(0.07, 3) / (12 * (1 - 0.3 * 0.3)), mean = h[0] + h[1];
    return pelt_sheet_energy(&e, nodes) /
           (plate / 2 * much * much * (mean * mean - 2 * 0.7 * (h[0] * h[1] - h[2] * h[2])));
}

/* A bowl, two saddles and a trough askew. Borders bend otherwise, which goes with the size of cells: twice as fine leaves half. */
static void bowls_and_saddles_bend_like_plates(void **state) {
    (void)state;
    const double kinds[4][3] = {{1, 1, 0}, {1, -1, 0}, {0, 0, 1}, {0.5, 0.5, 0.5}};
    for (int kind = 0; kind < 8; kind++) {
        double coarse = part_of_plate(10, kinds[kind / 2], kind % 2),
               fine = part_of_plate(20, kinds[kind / 2], kind % 2);
        if (!(fabs(2 * fine - coarse - 1) < 0.01 && fabs(fine - 1) < 0.12))
            fail_msg("kind %d: %g, %g of the plate's energy", kind, coarse, fine);
    }
}

/* Stretch in a direction between the edges, with free and with held sides, is that of plane stress. */
static void small_stretch_is_plane_stress(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_solid_shape shape =
        sheet_on_box(arena, (const uint32_t[3]){3, 2, 1}, (const double[3]){1.3, 0.7, 0.5}, false, false);
    pelt_elastic e = begun(arena, opened(arena, &shape));
    double *nodes = PELT_NEW(arena, 3 * (size_t)shape.node_count, double);
    const double strain = 1e-5, c = cos(0.4), s = sin(0.4), sides[2] = {-0.3, 0};
    const double exact[2] = {3.0 / 2, 3.0 / 2 / (1 - 0.3 * 0.3)};
    for (int held = 0; held < 2; held++) {
        for (uint32_t i = 0; i < shape.node_count; i++) {
            const double *x = shape.nodes + 3 * (size_t)i;
            double along = strain * (c * x[0] + s * x[1]), across = sides[held] * strain * (c * x[1] - s * x[0]);
            nodes[3 * i] = x[0] + c * along - s * across, nodes[3 * i + 1] = x[1] + s * along + c * across;
            nodes[3 * i + 2] = x[2];
        }
        double found = pelt_sheet_energy(&e, nodes) / (1.3 * 0.7 * 0.07 * strain * strain);
        assert_float_equal(found / exact[held], 1, 1e-4);
    }
}

/* -- Derivatives ---------------------------------------------------------------------------------------------------------- */

static double *crumpled(pelt_arena *arena, const pelt_solid_shape *s, double much) {
    double *nodes = PELT_NEW(arena, 3 * (size_t)s->node_count, double);
    srand(7);
    for (size_t i = 0; i < 3 * (size_t)s->node_count; i++) nodes[i] = s->nodes[i] + much * rand() / RAND_MAX;
    return nodes;
}

/* A curved rest shape, as skin has. */
static pelt_solid_shape curved(pelt_arena *arena, bool quadratic) {
    pelt_solid_shape s = sheet_on_box(arena, (const uint32_t[3]){4, 2, 1}, (const double[3]){2, 1, 0.5}, false, true),
                     q;
    double *nodes = (double *)s.nodes;
    for (uint32_t i = 0; i < s.node_count; i++) nodes[3 * i + 2] += 0.15 * nodes[3 * i] * nodes[3 * i];
    if (!quadratic) return s;
    assert_true(pelt_solid_make_quadratic(arena, &s, &q));
    return q;
}

static void forces_are_the_slopes_of_energy(void **state) {
    (void)state;
    for (int quadratic = 0; quadratic < 2; quadratic++) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        pelt_solid_shape shape = curved(arena, quadratic);
        const pelt_solid *solid = opened(arena, &shape);
        pelt_elastic e = begun(arena, solid);
        double *nodes = crumpled(arena, &shape, 0.2), *gradient = PELT_NEW(arena, 3 * solid->free_count, double);
        pelt_sheet_derivatives(&e, nodes, gradient);
        for (size_t i = 0; i < 3 * (size_t)solid->free_count; i++) {
            double *x = &nodes[3 * (size_t)solid->free_nodes[i / 3] + i % 3], before = *x;
            *x = before + 1e-6;
            double more = pelt_sheet_energy(&e, nodes);
            *x = before - 1e-6;
            double less = pelt_sheet_energy(&e, nodes);
            *x = before;
            assert_float_equal(gradient[i], (more - less) / 2e-6, 1e-7);
        }
    }
}

/* The largest difference between the matrix and differences of forces, as part of the largest entry. */
static double matrix_error(double much) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_solid_shape shape = curved(arena, false);
    const pelt_solid *solid = opened(arena, &shape);
    pelt_elastic e = begun(arena, solid);
    size_t n = 3 * (size_t)solid->free_count;
    double *nodes = crumpled(arena, &shape, much), *matrix = PELT_NEW(arena, n * n, double), worst = 0, largest = 0;
    double *more = PELT_NEW(arena, n, double), *less = PELT_NEW(arena, n, double);
    const pelt_ties *t = &e.sheet;
    pelt_sheet_derivatives(&e, nodes, more);
    for (uint32_t i = 0; i < t->count; i++) {
        assert_true(t->weights[i] > 0); /* so no eigenvalue is negative */
        for (uint32_t a = t->starts[i]; a < t->starts[i + 1]; a++)
            for (uint32_t b = t->starts[i]; b < t->starts[i + 1]; b++)
                for (size_t k = 0; k < 9; k++)
                    matrix[(3 * t->rows[a] + k / 3) * n + 3 * t->rows[b] + k % 3] +=
                        t->weights[i] * t->vectors[3 * a + k / 3] * t->vectors[3 * b + k % 3];
    }
    for (size_t i = 0; i < n; i++) {
        double *x = &nodes[3 * (size_t)solid->free_nodes[i / 3] + i % 3], before = *x;
        memset(more, 0, n * sizeof *more), memset(less, 0, n * sizeof *less);
        *x = before + 1e-6;
        pelt_sheet_derivatives(&e, nodes, more);
        *x = before - 1e-6;
        pelt_sheet_derivatives(&e, nodes, less);
        *x = before;
        for (size_t j = 0; j < n; j++) {
            worst = fmax(worst, fabs(matrix[i * n + j] - (more[j] - less[j]) / 2e-6));
            largest = fmax(largest, fabs(matrix[i * n + j]));
        }
    }
    return worst / largest;
}

/* At rest the matrix is exact; what it leaves out goes with the deformation. */
static void the_matrix_is_exact_at_rest(void **state) {
    (void)state;
    double rest = matrix_error(0), half = matrix_error(0.01), all = matrix_error(0.02);
    if (!(rest < 1e-6 && half < 0.1 && all / half > 1.7 && all / half < 2.3)) fail_msg("%g, %g, %g", rest, half, all);
}

static void turns_cost_nothing(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_solid_shape shape = curved(arena, false);
    pelt_elastic e = begun(arena, opened(arena, &shape));
    double *nodes = crumpled(arena, &shape, 0.1), *turned = PELT_NEW(arena, 3 * (size_t)shape.node_count, double);
    pelt_affine a = turn_about_x(130, 1, 2), b = turn_about_z(-70, 0.3, 1), both = pelt_affine_multiply(&a, &b);
    double before = pelt_sheet_energy(&e, nodes);
    for (size_t i = 0; i < shape.node_count; i++) pelt_affine_point(&both, nodes + 3 * i, turned + 3 * i);
    assert_true(before > 1e-4);
    assert_float_equal(pelt_sheet_energy(&e, turned) / before, 1, 1e-12);
    for (size_t i = 0; i < shape.node_count; i++) pelt_affine_point(&both, shape.nodes + 3 * i, turned + 3 * i);
    assert_float_equal(pelt_sheet_energy(&e, turned), 0, 1e-12 * before);
}

/* -- On flesh ------------------------------------------------------------------------------------------------------------- */

/* A bar that is pressed together bends its upper side less where skin lies on it; any number of threads gives the same. */
static void skin_on_flesh_is_stiffer(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    double energies[2];
    pelt_solid_state states[3];
    for (int k = 0; k < 3; k++) {
        pelt_solid_shape shape =
            sheet_on_box(arena, (const uint32_t[3]){8, 2, 2}, (const double[3]){4, 1, 1}, false, false);
        fix_ends(&shape, 4);
        if (!k) shape.skin_young = 0;
        const pelt_solid *solid = opened(arena, &shape);
        pelt_solid_report report;
        pelt_error error = {0};
        assert_true(pelt_solid_rest(arena, solid, &states[k]));
        const pelt_affine bones[2] = {pelt_identity, turn_about_z(60, 2, -1)};
        pelt_solid_options options = {.no_contact = true, .threads = k == 2 ? 3 : 1};
        if (pelt_solid_solve(solid, bones, &options, &states[k], &report, &error)) fail_msg("%s", error.text);
        assert_float_equal(report.reached, 1, 0);
        if (k < 2) energies[k] = report.energy;
        if (k == 2)
            assert_memory_equal(states[1].nodes, states[2].nodes, 3 * (size_t)shape.node_count * sizeof(double));
    }
    if (!(energies[1] > 1.05 * energies[0])) fail_msg("%g, %g", energies[0], energies[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strip_bends_like_a_plate),    cmocka_unit_test(bowls_and_saddles_bend_like_plates),
        cmocka_unit_test(small_stretch_is_plane_stress), cmocka_unit_test(forces_are_the_slopes_of_energy),
        cmocka_unit_test(the_matrix_is_exact_at_rest),   cmocka_unit_test(turns_cost_nothing),
        cmocka_unit_test(skin_on_flesh_is_stiffer),
    };
    return cmocka_run_group_tests_name("flesh_sheet", tests, NULL, NULL);
}
