/* Elastic solids against finite differences, closed forms of beams and bars, and themselves. */

#include "flesh/law.h"
#include "flesh/screw.h"
#include "test/allocations.h"
#include "test/solids.h"
#include "test/test.h"

static const pelt_solid *opened(pelt_arena *arena, const pelt_solid_shape *shape) {
    const pelt_solid *solid;
    pelt_error error = {0};
    if (pelt_solid_open(arena, shape, &solid, &error)) fail_msg("%s", error.text);
    return solid;
}

/* A bar along x whose ends are bones 0 and 1. */
static const pelt_solid *bar(pelt_arena *arena, const uint32_t cells[3], const double size[3], double poisson,
                             bool quadratic, pelt_solid_law law) {
    pelt_solid_shape shape = box_solid(arena, cells, size, pelt_solid_material_of(1, poisson, 1)), fine;
    shape.law = law;
    fix_ends(&shape, size[0]);
    if (!quadratic) return opened(arena, &shape);
    assert_true(pelt_solid_make_quadratic(arena, &shape, &fine));
    return opened(arena, &fine);
}

static pelt_solid_report posed(pelt_arena *arena, const pelt_solid *solid, const pelt_affine *bones,
                               pelt_solid_state *state, pelt_solid_options options) {
    pelt_solid_report report;
    pelt_error error = {0};
    if (!state->nodes) assert_true(pelt_solid_rest(arena, solid, state));
    if (pelt_solid_solve(solid, bones, &options, state, &report, &error)) fail_msg("%s", error.text);
    return report;
}

/* -- Derivatives ------------------------------------------------------------------------------------------------------- */

/* Near enough to rest that nothing is filtered. */
static const double stretched[9] = {1.1, 0.08, -0.05, 0.03, 0.97, 0.11, -0.06, 0.02, 1.05};

static void stress_is_the_gradient_of_energy(void **state) {
    (void)state;
    pelt_solid_material m = pelt_solid_material_of(2, 0.4, 1);
    for (pelt_solid_law law = PELT_LAW_STABLE; law <= PELT_LAW_VOLUMETRIC; law++) {
        double stress[9], f[9];
        pelt_law_gradient(law, &m, stretched, 0, stress);
        for (int k = 0; k < 9; k++) {
            memcpy(f, stretched, sizeof f);
            f[k] += 1e-5;
            double more = pelt_law_energy(law, &m, f);
            f[k] -= 2e-5;
            assert_float_equal(stress[k], (more - pelt_law_energy(law, &m, f)) / 2e-5, 1e-8);
        }
        pelt_law_gradient(law, &m, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 0, stress);
        for (int k = 0; k < 9; k++) assert_float_equal(stress[k], 0, 1e-14); /* rest is at rest */
    }
}

/* Small strains: W = mu |e|^2 + lambda/2 tr(e)^2 for both laws. */
static void small_strains_follow_lame(void **state) {
    (void)state;
    pelt_solid_material m = pelt_solid_material_of(3, 0.35, 1);
    double t = 1e-4, stretch[9] = {1 + t, 0, 0, 0, 1, 0, 0, 0, 1}, shear[9] = {1, t, 0, t, 1, 0, 0, 0, 1};
    for (pelt_solid_law law = PELT_LAW_STABLE; law <= PELT_LAW_VOLUMETRIC; law++) {
        assert_float_equal(pelt_law_energy(law, &m, stretch) / (t * t), m.mu + m.lambda / 2, 2e-3);
        assert_float_equal(pelt_law_energy(law, &m, shear) / (t * t), 2 * m.mu, 2e-3);
    }
}

/* An entry of the matrix: blocks of elements, and what ties add. */
static double entry(const pelt_elastic *e, size_t row, size_t column) {
    const pelt_solid *s = e->solid;
    double sum = 0;
    for (uint32_t b = s->row_starts[row / 3]; b < s->row_starts[row / 3 + 1]; b++)
        if (s->columns[b] == column / 3) sum += e->blocks[9 * (size_t)b + 3 * (row % 3) + column % 3];
    for (uint32_t t = 0; t < e->means.count; t++) {
        double left = 0, right = 0;
        for (uint32_t k = e->means.starts[t]; k < e->means.starts[t + 1]; k++) {
            if (e->means.rows[k] == row / 3) left = e->means.vectors[3 * (size_t)k + row % 3];
            if (e->means.rows[k] == column / 3) right = e->means.vectors[3 * (size_t)k + column % 3];
        }
        sum += e->means.weights[t] * left * right;
    }
    return sum;
}

/* The matrix of a small solid, moved at random, against differences of its forces. */
static void check_matrix(bool quadratic, pelt_solid_law law, double poisson) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid =
        bar(arena, (const uint32_t[3]){2, 1, 1}, (const double[3]){2, 1, 1}, poisson, quadratic, law);
    pelt_elastic e;
    pelt_elastic_begin(&e, solid, arena, 1);
    assert_int_equal(e.means.count, quadratic || poisson <= 0.25 ? 0 : solid->shape.node_count);
    size_t n = 3 * (size_t)solid->free_count, size = 3 * (size_t)solid->shape.node_count;
    double *nodes = PELT_NEW(arena, size, double), *more = PELT_NEW(arena, n, double),
           *less = PELT_NEW(arena, n, double), *gradient = PELT_NEW(arena, n, double);
    srand(1);
    double far = poisson < 0.4 ? 0.01 : 0.0005; /* so near to rest that nothing is filtered */
    for (size_t i = 0; i < size; i++) nodes[i] = solid->shape.nodes[i] * (1 + 2 * far) + far * rand() / RAND_MAX;
    for (size_t k = 0; k < n; k++) {
        double *x = &nodes[3 * (size_t)solid->free_nodes[k / 3] + k % 3], before = *x, step = 1e-5;
        memset(more, 0, n * sizeof *more), memset(less, 0, n * sizeof *less), memset(gradient, 0, n * sizeof *gradient);
        *x = before + step;
        double high = pelt_elastic_energy(&e, nodes);
        pelt_elastic_derivatives(&e, nodes, more);
        *x = before - step;
        double low = pelt_elastic_energy(&e, nodes);
        pelt_elastic_derivatives(&e, nodes, less);
        *x = before;
        pelt_elastic_derivatives(&e, nodes, gradient);
        assert_float_equal(gradient[k], (high - low) / (2 * step), 1e-8);
        for (size_t row = 0; row < n; row++)
            assert_float_equal(entry(&e, row, k), (more[row] - less[row]) / (2 * step), 1e-6);
    }
}

static void forces_and_matrix_agree_with_differences(void **state) {
    (void)state;
    const double ratios[3] = {0.2, 0.3, 0.49};
    for (int i = 0; i < 12; i++) check_matrix(i & 1, i & 2 ? PELT_LAW_VOLUMETRIC : PELT_LAW_STABLE, ratios[i / 4]);
}

/* What conjugate gradients multiply with is that matrix too, means and all: the residual is as small as was asked. */
static void systems_are_solved_with_all_of_the_matrix(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = bar(arena, (const uint32_t[3]){4, 2, 2}, (const double[3]){2, 1, 1}, 0.49, false, 0);
    pelt_elastic e;
    pelt_conjugate c;
    pelt_elastic_begin(&e, solid, arena, 2);
    pelt_conjugate_begin(&c, &e, &(pelt_ties){0});
    size_t n = 3 * (size_t)solid->free_count, size = 3 * (size_t)solid->shape.node_count;
    double *nodes = PELT_NEW(arena, size, double), *gradient = PELT_NEW(arena, n, double), left = 0, all = 0;
    srand(3);
    for (size_t i = 0; i < size; i++) nodes[i] = solid->shape.nodes[i] + 0.02 * rand() / RAND_MAX;
    pelt_elastic_derivatives(&e, nodes, gradient);
    assert_true(pelt_conjugate_solve(&c, gradient, 1e-5) > 5);
    for (size_t row = 0; row < n; row++) {
        double sum = gradient[row];
        for (size_t k = 0; k < n; k++) sum += entry(&e, row, k) * c.x[k];
        left += sum * sum, all += gradient[row] * gradient[row];
    }
    assert_true(left < 1.2e-10 * all); /* products are in single precision */
}

/* The energy of an element that is inside out is finite, and its filtered matrix still has the slopes of its forces. */
static void the_stable_law_goes_on_inside_out(void **state) {
    (void)state;
    pelt_solid_material m = pelt_solid_material_of(2, 0.4, 0.5);
    const double cases[4][9] = {{-0.4, 0.1, 0, 0.1, 1.1, 0.2, 0, 0.1, 0.9},
                                {0.1, 0, 0, 0, 1, 0, 0, 0, 1},
                                {0.01, 0, 0, 0, 1, 0, 0, 0, 1},
                                {0, 0, 0, 0, 1, 0.2, 0, -0.1, 1}};
    for (int k = 0; k < 4; k++) {
        double stress[9], f[9];
        pelt_law_gradient(PELT_LAW_STABLE, &m, cases[k], 0, stress);
        for (int i = 0; i < 9; i++) {
            memcpy(f, cases[k], sizeof f);
            f[i] += 1e-6;
            double more = pelt_law_energy(PELT_LAW_STABLE, &m, f);
            f[i] -= 2e-6;
            double slope = (more - pelt_law_energy(PELT_LAW_STABLE, &m, f)) / 2e-6;
            assert_float_equal(stress[i], slope, 1e-5 * (1 + fabs(slope)));
        }
        pelt_law_frame h; /* F comes back from its frame, and both sides of it are rotations */
        pelt_law_hessian(PELT_LAW_STABLE, &m, cases[k], 0, false, &h);
        double determinant = pelt_cofactors(h.u, f);
        assert_float_equal(determinant, 1, 1e-9);
        determinant = pelt_cofactors(h.v, f);
        assert_float_equal(determinant, 1, 1e-9);
        for (int i = 0; i < 9; i++) { /* U^T F V is diagonal */
            double sum = 0;
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) sum += h.u[3 * r + i / 3] * cases[k][3 * r + c] * h.v[3 * c + i % 3];
            if (i % 4) assert_float_equal(sum, 0, 1e-9);
        }
    }
    assert_true(pelt_law_energy(PELT_LAW_VOLUMETRIC, &m, cases[0]) == INFINITY);
}

/* Far from rest the exact Hessian has negative eigenvalues; what is used has none. */
static void filtered_matrices_have_no_negative_eigenvalue(void **state) {
    (void)state;
    pelt_solid_material m = pelt_solid_material_of(1, 0.45, 1);
    double squeezed[9] = {0.4, 0, 0, 0, 0.5, 0.1, 0, 0, 0.6};
    for (pelt_solid_law law = PELT_LAW_STABLE; law <= PELT_LAW_VOLUMETRIC; law++) {
        pelt_law_frame h;
        pelt_law_hessian(law, &m, squeezed, 0, false, &h);
        srand(2);
        for (int t = 0; t < 1000; t++) {
            double d[9], sum = 0;
            for (int k = 0; k < 9; k++) d[k] = rand() / (double)RAND_MAX - 0.5;
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 3; k++) {
                    sum += h.same[3 * i + k] * d[3 * i + k] * d[3 * i + k];
                    if (i != k) sum += h.straight[3 * i + k] * d[4 * i] * d[4 * k];
                    if (i != k) sum += h.crossed[3 * i + k] * d[3 * i + k] * d[3 * k + i];
                }
            assert_true(sum >= -1e-12);
        }
    }
}

/* -- Exact solutions --------------------------------------------------------------------------------------------------- */

/* Every node of the boundary is a bone of its own, moved as an affine map says: so are the nodes inside. */
static void an_affine_boundary_gives_an_affine_inside(void **state) {
    (void)state;
    for (int quadratic = 0; quadratic < 2; quadratic++) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        pelt_solid_shape shape = box_solid(arena, (const uint32_t[3]){3, 3, 3}, (const double[3]){3, 3, 3},
                                           pelt_solid_material_of(1, 0.45, 1)),
                         fine = shape;
        double *nodes = (double *)shape.nodes;
        for (uint32_t i = 0; i < shape.node_count; i++) /* nodes inside out of line */
            if (i % 4 % 3 && i / 4 % 4 % 3 && i / 16 % 3) nodes[3 * i] += 0.1, nodes[3 * i + 1] -= 0.15;
        if (quadratic) assert_true(pelt_solid_make_quadratic(arena, &shape, &fine));
        int32_t *bones = (int32_t *)fine.node_bones;
        pelt_affine *moved = PELT_NEW(arena, fine.node_count, pelt_affine);
        fine.bone_count = 0;
        for (uint32_t i = 0; i < fine.node_count; i++) {
            const double *x = fine.nodes + 3 * (size_t)i;
            bool inside = true;
            for (int k = 0; k < 3; k++) inside &= x[k] > 1e-9 && x[k] < 3 - 1e-9;
            bones[i] = inside ? PELT_NO_BONE : (int32_t)fine.bone_count;
            if (!inside)
                moved[fine.bone_count++] =
                    shift_by(0.2 * x[0] + 0.1 * x[1], -0.1 * x[1] + 0.05 * x[2], 0.1 * x[0] + 0.05 * x[2]);
        }
        const pelt_solid *solid = opened(arena, &fine);
        pelt_solid_state s = {0};
        pelt_solid_report report = posed(arena, solid, moved, &s, (pelt_solid_options){.tolerance = 1e-6});
        assert_float_equal(report.reached, 1, 0);
        for (uint32_t i = 0; i < fine.node_count; i++) {
            const double *x = fine.nodes + 3 * (size_t)i, *y = s.nodes + 3 * (size_t)i;
            assert_float_equal(y[0], 1.2 * x[0] + 0.1 * x[1], 1e-5);
            assert_float_equal(y[1], 0.9 * x[1] + 0.05 * x[2], 1e-5);
            assert_float_equal(y[2], 1.05 * x[2] + 0.1 * x[0], 1e-5);
        }
    }
}

static void turning_all_bones_turns_the_solid(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = bar(arena, (const uint32_t[3]){4, 2, 2}, (const double[3]){2, 1, 1}, 0.45, true, 0);
    pelt_affine bones[2] = {turn_about_z(170, 3, 1), turn_about_z(170, 3, 1)};
    pelt_solid_state s = {0};
    pelt_solid_report report = posed(arena, solid, bones, &s, (pelt_solid_options){0});
    assert_float_equal(report.reached, 1, 0);
    assert_true(fabs(report.energy) < 1e-10);
    for (uint32_t i = 0; i < solid->shape.node_count; i++) {
        double expected[3];
        pelt_affine_point(&bones[0], solid->shape.nodes + 3 * (size_t)i, expected);
        assert_true(pelt_distance(expected, s.nodes + 3 * (size_t)i) < 1e-6);
    }
}

/* A beam with both ends held straight, one of them shifted by d: energy d^2 / 2 / (L^3 / 12 E I + L / k G A). */
static double beam_energy(uint32_t across, double poisson, bool quadratic, double shift) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = bar(arena, (const uint32_t[3]){10 * across, across, across}, (const double[3]){10, 1, 1},
                                  poisson, quadratic, 0);
    pelt_solid_state s = {0};
    return posed(arena, solid, (const pelt_affine[2]){pelt_identity, shift_by(0, shift, 0)}, &s,
                 (pelt_solid_options){.tolerance = 1e-4})
        .energy;
}

static double beam_theory(double poisson, double shift) {
    double shear = 1 / (2 * (1 + poisson)), compliance = 1000 / (12 * (1.0 / 12)) + 10 / (5.0 / 6 * shear);
    return shift * shift / 2 / compliance;
}

static void a_beam_bends_as_timoshenko_says(void **state) {
    (void)state;
    double ratio = beam_energy(2, 0.3, true, 0.01) / beam_theory(0.3, 0.01);
    if (fabs(ratio - 1) > 0.03) fail_msg("%g times the energy of theory", ratio);
}

/* Linear elements are too stiff, less so the finer they are, quadratic ones hardly; neither locks where volume is kept. */
static void finer_elements_converge_and_none_lock(void **state) {
    (void)state;
    double coarse = beam_energy(1, 0.3, false, 0.01), fine = beam_energy(2, 0.3, false, 0.01),
           finer = beam_energy(4, 0.3, false, 0.01), theory = beam_theory(0.3, 0.01);
    assert_true(coarse > fine && fine > finer && finer > theory);
    assert_in_range((uint64_t)(100 * (coarse - theory) / (fine - theory)), 250, 550); /* second order: 4 */
    assert_in_range((uint64_t)(100 * (fine - theory) / (finer - theory)), 250, 550);
    /* ends that cannot grow thinner add a tenth there */
    double kept = beam_energy(2, 0.49, true, 0.01) / beam_theory(0.49, 0.01);
    if (fabs(kept - 1) > 0.12) fail_msg("%g times the energy of theory", kept);
    /* elements that keep their volumes one by one are 9.2, 3.8 times too stiff there */
    double linear = beam_energy(2, 0.49, false, 0.01) / beam_theory(0.49, 0.01),
           better = beam_energy(4, 0.49, false, 0.01) / beam_theory(0.49, 0.01);
    if (linear > 1.2 * fine / theory || better > 1.1 * finer / theory) fail_msg("%g, %g", linear, better);
}

/* Saint-Venant: G J a^2 / 2 L with J = .1406 for a square of side 1. */
static void a_square_bar_twists_as_saint_venant_says(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = bar(arena, (const uint32_t[3]){16, 4, 4}, (const double[3]){8, 1, 1}, 0.3, true, 0);
    pelt_solid_state s = {0};
    double angle = 2 * M_PI / 180;
    pelt_solid_report report = posed(arena, solid, (const pelt_affine[2]){pelt_identity, turn_about_x(2, 0.5, 0.5)}, &s,
                                     (pelt_solid_options){0});
    double ratio = report.energy / (0.1406 / 2.6 * angle * angle / 16);
    if (!(ratio > 1 && ratio < 1.05)) fail_msg("%g times the energy of theory", ratio); /* ends cannot warp */
}

/* -- Long ways --------------------------------------------------------------------------------------------------------- */

static void half_turns_are_reached(void **state) {
    (void)state;
    for (int bent = 0; bent < 2; bent++) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        const pelt_solid *solid =
            bar(arena, (const uint32_t[3]){12, 2, 2}, (const double[3]){6, 1, 1}, 0.45, true, bent);
        pelt_affine bones[2] = {pelt_identity, bent ? turn_about_z(180, 3, 2.2) : turn_about_x(180, 0.5, 0.5)};
        pelt_solid_state s = {0};
        pelt_solid_report report = posed(arena, solid, bones, &s, (pelt_solid_options){0});
        assert_float_equal(report.reached, 1, 0);
        assert_true(report.least_det > 0.3);
        assert_true(report.increments >= 3 && report.residual < 1e-2);
    }
}

/* A column between ends that are held, pushed together by 4.2%: Euler's strain, 4 pi^2 I / (A L^2), is 2.3%, and from there on the
   load hardly grows. The straight balance takes 1.26 times the energy, and forces alone hardly lead away from that: ends that are not quite
   straight say which way. Steps that are not stretched are 13. */
static void a_column_buckles_as_euler_says(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = bar(arena, (const uint32_t[3]){12, 2, 2}, (const double[3]){12, 1, 1}, 0, true, 0);
    pelt_solid_state s = {0};
    const double strain = 4 * M_PI * M_PI / 12 / 144, shift = 0.5;
    pelt_affine bones[2] = {turn_about_z(0.2, 0, 0.5), turn_about_z(-0.2, 12, 0.5)}; /* which way */
    bones[1].m[3] -= shift;
    pelt_solid_report report = posed(arena, solid, bones, &s, (pelt_solid_options){0});
    assert_float_equal(report.reached, 1, 0);
    double ratio = report.energy / (strain * (shift - 12 * strain / 2));
    if (!(fabs(ratio - 1) < 0.05)) fail_msg("%g times the energy of theory", ratio);
    if (report.newton_steps > 11) fail_msg("%u Newton steps", report.newton_steps);
}

/* One end pushed through the other. */
static void a_pose_out_of_reach_says_how_far_it_got(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid =
        bar(arena, (const uint32_t[3]){4, 2, 2}, (const double[3]){2, 1, 1}, 0.45, false, PELT_LAW_VOLUMETRIC);
    pelt_solid_state s = {0};
    pelt_solid_report report = posed(arena, solid, (const pelt_affine[2]){pelt_identity, shift_by(-4, 0, 0)}, &s,
                                     (pelt_solid_options){.least_step = 1.0 / 16});
    assert_true(report.reached > 0 && report.reached < 0.5);
    assert_true(report.least_det > 0);
    assert_float_equal(s.bones[1].m[3], -4 * report.reached, 1e-12); /* the state is that balance */
}

static void screws_go_part_of_the_way(void **state) {
    (void)state;
    pelt_affine whole = turn_about_z(180, 3, 1), half = pelt_screw(&whole, 0.5), expected = turn_about_z(90, 3, 1);
    pelt_affine other = turn_about_z(-90, 3, 1);
    double same = 0, turned = 0;
    for (int k = 0; k < 12; k++)
        same = fmax(same, fabs(half.m[k] - expected.m[k])), turned = fmax(turned, fabs(half.m[k] - other.m[k]));
    assert_true(fmin(same, turned) < 1e-12); /* a half turn goes either way */
    whole = turn_about_x(100, 2, -1), whole.m[3] = 0.7;
    half = pelt_screw(&whole, 0.5), expected = turn_about_x(50, 2, -1), expected.m[3] = 0.35;
    for (int k = 0; k < 12; k++) assert_float_equal(half.m[k], expected.m[k], 1e-12);
    assert_float_equal(pelt_rigid_angle(&whole), 100 * M_PI / 180, 1e-12);
}

/* -- Bad input, memory, threads, cancelling ---------------------------------------------------------------------------- */

static void bad_shapes_are_refused(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_solid_shape shape =
        box_solid(arena, (const uint32_t[3]){1, 1, 1}, (const double[3]){1, 1, 1}, pelt_solid_material_of(1, 0.3, 1));
    const pelt_solid *solid;
    pelt_error error = {0};
    assert_int_equal(pelt_solid_open(arena, &shape, &solid, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "no node is attached"));
    fix_ends(&shape, 1);
    uint32_t *elements = (uint32_t *)shape.elements, first = elements[0];
    elements[0] = elements[1], elements[1] = first;
    assert_int_equal(pelt_solid_open(arena, &shape, &solid, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "element 0 is flat or inside out"));
    elements[1] = elements[0], elements[0] = shape.node_count;
    assert_int_equal(pelt_solid_open(arena, &shape, &solid, &error), PELT_ERROR_DATA);
    elements[0] = first;
    ((double *)shape.nodes)[4] = NAN;
    assert_int_equal(pelt_solid_open(arena, &shape, &solid, &error), PELT_ERROR_DATA);
    ((double *)shape.nodes)[4] = shape.nodes[1];
    ((pelt_solid_material *)shape.materials)[3].mu = 0;
    assert_int_equal(pelt_solid_open(arena, &shape, &solid, &error), PELT_ERROR_DATA);
    ((pelt_solid_material *)shape.materials)[3] = shape.materials[0];
    pelt_solid_state s;
    pelt_solid_report report;
    assert_true(pelt_solid_rest(arena, opened(arena, &shape), &s));
    pelt_affine bones[2] = {pelt_identity, shift_by(NAN, 0, 0)};
    solid = opened(arena, &shape);
    assert_int_equal(pelt_solid_solve(solid, bones, &(pelt_solid_options){0}, &s, &report, &error), PELT_ERROR_DATA);
    bones[1] = shift_by(0, 0, 0), bones[1].m[0] = 1.2;
    assert_int_equal(pelt_solid_solve(solid, bones, &(pelt_solid_options){0}, &s, &report, &error), PELT_ERROR_DATA);
}

static const pelt_affine bend[2] = {{{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}, {{0, -1, 0, 3, 1, 0, 0, 0, 0, 0, 1, 0}}};

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = bar(arena, (const uint32_t[3]){10, 4, 4}, (const double[3]){3, 1, 1}, 0.45, true, 0);
    pelt_solid_state one = {0}, three = {0};
    posed(arena, solid, bend, &one, (pelt_solid_options){.threads = 1, .turn = 90, .tolerance = 0.05});
    posed(arena, solid, bend, &three, (pelt_solid_options){.threads = 3, .turn = 90, .tolerance = 0.05});
    assert_memory_equal(one.nodes, three.nodes, 3 * solid->shape.node_count * sizeof(double));
}

static int stop_later(void *user, const char *task, double fraction) {
    (void)task, (void)fraction;
    return ++*(int *)user > 3;
}

static void a_cancelled_pose_leaves_the_state(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = bar(arena, (const uint32_t[3]){10, 4, 4}, (const double[3]){3, 1, 1}, 0.45, true, 0);
    int calls = 0;
    pelt_solid_state s;
    pelt_solid_report report;
    pelt_error error = {0};
    assert_true(pelt_solid_rest(arena, solid, &s));
    pelt_solid_options options = {.progress = {stop_later, &calls}};
    assert_int_equal(pelt_solid_solve(solid, bend, &options, &s, &report, &error), PELT_ERROR_CANCELLED);
    assert_memory_equal(s.nodes, solid->shape.nodes, 3 * solid->shape.node_count * sizeof(double));
}

static void memory_that_runs_out_is_an_error(void **state) {
    (void)state;
    long failures = 0;
    for (long allowed = 0, short_of = 1; short_of; allowed += 1 + allowed / 20) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        pelt_solid_shape shape = box_solid(arena, (const uint32_t[3]){3, 1, 1}, (const double[3]){3, 1, 1},
                                           pelt_solid_material_of(1, 0.3, 1)),
                         fine;
        fix_ends(&shape, 3);
        pelt_solid_state s;
        pelt_solid_report report;
        const pelt_solid *solid;
        pelt_error error = {0};
        allocations_begin(allowed, false);
        bool made = pelt_solid_make_quadratic(arena, &shape, &fine);
        pelt_result result = made ? pelt_solid_open(arena, &fine, &solid, &error) : PELT_ERROR_MEMORY;
        if (!result && !pelt_solid_rest(arena, solid, &s)) result = PELT_ERROR_MEMORY;
        pelt_solid_options options = {.threads = 1, .turn = 90, .tolerance = 0.1};
        if (!result) result = pelt_solid_solve(solid, bend, &options, &s, &report, &error);
        short_of = allocations_end();
        if (short_of)
            assert_int_equal(result, PELT_ERROR_MEMORY), failures++;
        else
            assert_int_equal(result, PELT_OK);
    }
    assert_true(failures > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stress_is_the_gradient_of_energy),
        cmocka_unit_test(small_strains_follow_lame),
        cmocka_unit_test(forces_and_matrix_agree_with_differences),
        cmocka_unit_test(systems_are_solved_with_all_of_the_matrix),
        cmocka_unit_test(the_stable_law_goes_on_inside_out),
        cmocka_unit_test(filtered_matrices_have_no_negative_eigenvalue),
        cmocka_unit_test(an_affine_boundary_gives_an_affine_inside),
        cmocka_unit_test(turning_all_bones_turns_the_solid),
        cmocka_unit_test(a_beam_bends_as_timoshenko_says),
        cmocka_unit_test(finer_elements_converge_and_none_lock),
        cmocka_unit_test(a_square_bar_twists_as_saint_venant_says),
        cmocka_unit_test(half_turns_are_reached),
        cmocka_unit_test(a_column_buckles_as_euler_says),
        cmocka_unit_test(a_pose_out_of_reach_says_how_far_it_got),
        cmocka_unit_test(screws_go_part_of_the_way),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(a_cancelled_pose_leaves_the_state),
        cmocka_unit_test(memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests_name("flesh_solid", tests, NULL, NULL);
}
