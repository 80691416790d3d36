/* Skin that touches skin: against differences, against one bar in the place of two blocks, and what it must leave alone. */

#include "test/solids.h"
#include "test/test.h"

/* Two blocks of size 1 x 1 x `height` above each other, `gap` apart; the lowest nodes are on bone 0, the highest on
   bone 1. Every node is a vertex of the skin. */
static pelt_solid_shape two_blocks(pelt_arena *arena, uint32_t across, uint32_t along, double height, double gap,
                                   double poisson) {
    const uint32_t cells[3] = {across, across, along};
    pelt_solid_shape one =
        box_solid(arena, cells, (const double[3]){1, 1, height}, pelt_solid_material_of(1, poisson, 1));
    uint32_t n = one.node_count, e = one.element_count;
    double *nodes = PELT_NEW(arena, 6 * (size_t)n, double);
    int32_t *bones = PELT_NEW(arena, 2 * (size_t)n, int32_t);
    uint32_t *elements = PELT_NEW(arena, 8 * (size_t)e, uint32_t);
    pelt_solid_material *materials = PELT_NEW(arena, 2 * (size_t)e, pelt_solid_material);
    for (uint32_t i = 0; i < 2 * n; i++) {
        bool upper = i >= n;
        const double *from = one.nodes + 3 * (size_t)(i % n);
        for (int k = 0; k < 3; k++) nodes[3 * (size_t)i + (size_t)k] = from[k];
        if (upper) nodes[3 * (size_t)i + 2] = 2 * height + gap - from[2], nodes[3 * (size_t)i] = 1 - from[0];
        bones[i] = from[2] < 1e-9 ? upper : PELT_NO_BONE;
    }
    for (uint32_t i = 0; i < 8 * e; i++) elements[i] = one.elements[i % (4 * e)] + (i < 4 * e ? 0 : n);
    for (uint32_t i = 0; i < 2 * e; i++) materials[i] = one.materials[0];
    one.node_count = 2 * n, one.element_count = 2 * e;
    one.nodes = nodes, one.node_bones = bones, one.elements = elements, one.materials = materials;
    return one;
}

static const uint8_t faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}}; /* from outside */

static bool has(const uint32_t *element, uint32_t node) {
    return element[0] == node || element[1] == node || element[2] == node || element[3] == node;
}

/* The skin: faces that one element alone has. */
static void add_skin(pelt_arena *arena, pelt_solid_shape *s) {
    uint32_t *triangles = PELT_NEW(arena, 12 * (size_t)s->element_count, uint32_t), count = 0;
    uint32_t *in = PELT_NEW(arena, s->node_count, uint32_t);
    double *places = PELT_NEW(arena, 4 * (size_t)s->node_count, double);
    for (uint32_t e = 0; e < s->element_count; e++)
        for (int f = 0; f < 4; f++) {
            uint32_t corners[3], others = 0;
            for (int k = 0; k < 3; k++) corners[k] = s->elements[4 * e + faces[f][k]];
            for (uint32_t o = 0; o < s->element_count; o++) {
                const uint32_t *other = s->elements + 4 * (size_t)o;
                others += o != e && has(other, corners[0]) && has(other, corners[1]) && has(other, corners[2]);
            }
            if (!others) memcpy(triangles + 3 * (size_t)count++, corners, sizeof corners);
        }
    for (uint32_t i = 0; i < 4 * s->element_count; i++) in[s->elements[i]] = i / 4;
    for (uint32_t i = 0; i < s->node_count; i++)
        for (uint32_t k = 0; k < 4; k++) places[4 * (size_t)i + k] = s->elements[4 * (size_t)in[i] + k] == i;
    s->vertex_count = s->node_count, s->triangle_count = count, s->triangles = triangles;
    s->vertex_elements = in, s->vertex_barycentrics = places;
}

static const pelt_solid *opened(pelt_arena *arena, const pelt_solid_shape *shape) {
    const pelt_solid *solid;
    pelt_error error = {0};
    if (pelt_solid_open(arena, shape, &solid, &error)) fail_msg("%s", error.text);
    return solid;
}

static const pelt_solid *blocks(pelt_arena *arena, uint32_t across, uint32_t along, double height, double gap,
                                double poisson, bool quadratic) {
    pelt_solid_shape shape = two_blocks(arena, across, along, height, gap, poisson), fine;
    add_skin(arena, &shape);
    if (!quadratic) return opened(arena, &shape);
    assert_true(pelt_solid_make_quadratic(arena, &shape, &fine));
    return opened(arena, &fine);
}

static pelt_solid_report posed(pelt_arena *arena, const pelt_solid *solid, pelt_affine upper, pelt_solid_state *state,
                               pelt_solid_options options) {
    pelt_solid_report report;
    pelt_error error = {0};
    const pelt_affine bones[2] = {pelt_identity, upper};
    assert_true(pelt_solid_rest(arena, solid, state));
    if (pelt_solid_solve(solid, bones, &options, state, &report, &error)) fail_msg("%s", error.text);
    return report;
}

/* -- Forces --------------------------------------------------------------------------------------------------------------- */

/* Blocks of which the upper is turned and lies `deep` in the lower. */
static double *pushed_together(pelt_arena *arena, const pelt_solid *solid, double deep) {
    size_t nodes = solid->shape.node_count;
    double *out = PELT_NEW(arena, 3 * nodes, double);
    srand(4);
    for (size_t i = 0; i < nodes; i++) {
        const double *x = solid->shape.nodes + 3 * i;
        bool upper = x[2] > 1.5;
        for (size_t k = 0; k < 3; k++) out[3 * i + k] = x[k] + 0.004 * rand() / RAND_MAX;
        if (upper) out[3 * i] += 0.11 - 0.1 * x[1], out[3 * i + 1] += 0.07 + 0.1 * x[0], out[3 * i + 2] -= 1 + deep;
    }
    return out;
}

static void forces_are_the_slopes_of_energy(void **state) {
    (void)state;
    for (int quadratic = 0; quadratic < 2; quadratic++) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        const pelt_solid *solid = blocks(arena, 2, 2, 1, 1, 0.3, quadratic);
        double *nodes = pushed_together(arena, solid, 0.05), *gradient = PELT_NEW(arena, 3 * solid->free_count, double);
        pelt_contact c;
        uint32_t touching;
        pelt_contact_begin(&c, solid, arena, 1);
        pelt_contact_derivatives(&c, nodes, gradient);
        assert_true(pelt_contact_depth(&c, &touching) > 0.03 && touching >= 10);
        for (size_t i = 0; i < 3 * (size_t)solid->free_count; i++) {
            double *x = &nodes[3 * (size_t)solid->free_nodes[i / 3] + i % 3], before = *x;
            *x = before + 1e-6;
            double more = pelt_contact_energy(&c, nodes);
            *x = before - 1e-6;
            double less = pelt_contact_energy(&c, nodes);
            *x = before;
            assert_float_equal(gradient[i], (more - less) / 2e-6, 1e-6);
        }
    }
}

/* The largest difference between the matrix and differences of forces, as part of the largest entry. */
static double matrix_error(double deep) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = blocks(arena, 2, 2, 1, 1, 0.3, false);
    size_t n = 3 * (size_t)solid->free_count;
    double *nodes = pushed_together(arena, solid, deep), worst = 0, largest = 0;
    pelt_contact c;
    pelt_contact_begin(&c, solid, arena, 1);
    double *matrix = PELT_NEW(arena, n * n, double), *more = PELT_NEW(arena, n, double),
           *less = PELT_NEW(arena, n, double);
    pelt_contact_derivatives(&c, nodes, more);
    for (uint32_t t = 0; t < c.ties.count; t++)
        for (uint32_t a = c.ties.starts[t]; a < c.ties.starts[t + 1]; a++)
            for (uint32_t b = c.ties.starts[t]; b < c.ties.starts[t + 1]; b++)
                for (size_t k = 0; k < 9; k++)
                    matrix[(3 * c.ties.rows[a] + k / 3) * n + 3 * c.ties.rows[b] + k % 3] +=
                        c.ties.weights[t] * c.ties.vectors[3 * a + k / 3] * c.ties.vectors[3 * b + k % 3];
    for (size_t i = 0; i < n; i++) {
        double *x = &nodes[3 * (size_t)solid->free_nodes[i / 3] + i % 3], before = *x;
        memset(more, 0, n * sizeof *more), memset(less, 0, n * sizeof *less);
        *x = before + 1e-6;
        pelt_contact_derivatives(&c, nodes, more);
        *x = before - 1e-6;
        pelt_contact_derivatives(&c, nodes, less);
        *x = before;
        for (size_t j = 0; j < n; j++) {
            worst = fmax(worst, fabs(matrix[i * n + j] - (more[j] - less[j]) / 2e-6));
            largest = fmax(largest, fabs(matrix[i * n + j]));
        }
    }
    return worst / largest;
}

/* What the matrix leaves out goes with the push: a push half as strong leaves out half. */
static void the_matrix_is_that_of_the_gap(void **state) {
    (void)state;
    double near = matrix_error(0.002 - 0.1), deeper = matrix_error(0.05 - 0.1);
    if (!(near < 0.1 && near < 0.75 * deeper)) fail_msg("%g, %g", near, deeper);
}

static void action_is_reaction(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = blocks(arena, 3, 3, 1, 1, 0.3, false);
    double *nodes = pushed_together(arena, solid, 0.05), *gradient = PELT_NEW(arena, 3 * solid->free_count, double);
    double force[3] = {0}, moment[3] = {0}, all = 0, lower = 0;
    pelt_contact c;
    pelt_contact_begin(&c, solid, arena, 1);
    pelt_contact_derivatives(&c, nodes, gradient);
    for (uint32_t row = 0; row < solid->free_count; row++) {
        double turn[3], *g = gradient + 3 * (size_t)row;
        pelt_cross(nodes + 3 * (size_t)solid->free_nodes[row], g, turn);
        for (int k = 0; k < 3; k++) force[k] += g[k], moment[k] += turn[k], all += fabs(g[k]);
        if (solid->shape.nodes[3 * (size_t)solid->free_nodes[row] + 2] < 1.5) lower -= g[2];
    }
    assert_true(lower < -0.01); /* downwards */
    for (int k = 0; k < 3; k++) {
        assert_float_equal(force[k], 0, 1e-12 * all);
        assert_float_equal(moment[k], 0, 1e-12 * all);
    }
}

/* -- Blocks that are pressed together ------------------------------------------------------------------------------------- */

/* With a Poisson ratio of 0 two blocks of height 1 that are pushed .3 into each other are one bar of height 2 that is .3
   shorter, and shorter by the gap that contact keeps. They come from afar, past where they would be through each other. */
static void blocks_that_are_pressed_are_one_bar(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = blocks(arena, 3, 3, 1, 2, 0, false);
    pelt_solid_state pressed, through;
    pelt_solid_report report = posed(arena, solid, shift_by(0, 0, -2.3), &pressed, (pelt_solid_options){0});
    assert_float_equal(report.reached, 1, 0);
    assert_true(report.touching >= 24 && report.penetration < 0.01);
    double highest = 0, lowest = 9, gap = 0;
    for (uint32_t i = 0; i < solid->shape.node_count; i++) {
        double z = solid->shape.nodes[3 * i + 2];
        if (fabs(z - 1) < 1e-9) gap -= pressed.nodes[3 * i + 2] / 16;
        if (fabs(z - 3) < 1e-9) gap += pressed.nodes[3 * i + 2] / 16;
        if (fabs(z - 1) < 1e-9) highest = fmax(highest, pressed.nodes[3 * i + 2]);
        if (fabs(z - 3) < 1e-9) lowest = fmin(lowest, pressed.nodes[3 * i + 2]);
    }
    assert_true(lowest > highest - 0.01);
    assert_float_equal((lowest + highest) / 2, 0.85, 0.005); /* half way, as both are as stiff */
    pelt_solid_shape bar =
        box_solid(arena, (const uint32_t[3]){3, 3, 6}, (const double[3]){1, 1, 2}, pelt_solid_material_of(1, 0, 1));
    for (uint32_t i = 0; i < bar.node_count; i++)
        ((int32_t *)bar.node_bones)[i] = bar.nodes[3 * i + 2] < 1e-9       ? 0
                                         : bar.nodes[3 * i + 2] > 2 - 1e-9 ? 1
                                                                           : PELT_NO_BONE;
    pelt_solid_state whole;
    double one = posed(arena, opened(arena, &bar), shift_by(0, 0, -0.3 - gap), &whole, (pelt_solid_options){0}).energy;
    if (!(report.energy > 0.98 * one && report.energy < 1.08 * one))
        fail_msg("%g, one bar %g, gap %g", report.energy, one, gap);
    report = posed(arena, solid, shift_by(0, 0, -2.3), &through, (pelt_solid_options){.no_contact = true});
    assert_true(report.penetration > 0.25 && report.energy < 1e-9); /* it is said what is left */
}

/* A block that is driven sideways through another pushes it aside, and does not jump over it. */
static void nothing_is_jumped_over(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = blocks(arena, 2, 4, 2, 0.2, 0.3, false);
    pelt_solid_state s;
    pelt_affine beside = shift_by(1.3, 0, 0), there = shift_by(0.6, 0, -1);
    pelt_solid_report report = posed(arena, solid, beside, &s, (pelt_solid_options){0});
    pelt_error error = {0};
    const pelt_affine down[2] = {pelt_identity, shift_by(1.3, 0, -1)}, across[2] = {pelt_identity, there};
    if (pelt_solid_solve(solid, down, &(pelt_solid_options){0}, &s, &report, &error)) fail_msg("%s", error.text);
    assert_int_equal(report.touching, 0);
    if (pelt_solid_solve(solid, across, &(pelt_solid_options){0}, &s, &report, &error)) fail_msg("%s", error.text);
    assert_float_equal(report.reached, 1, 0);
    assert_true(report.touching > 0 && report.penetration < 0.05);
    double left = 0, right = 0;
    for (uint32_t i = 0; i < solid->shape.node_count; i++) {
        const double *x = solid->shape.nodes + 3 * (size_t)i;
        if (fabs(x[2] - 2) < 1e-9) left += s.nodes[3 * i] - x[0];          /* the lower block's end bends away */
        if (fabs(x[2] - 2.2) < 1e-9) right += s.nodes[3 * i] - x[0] - 0.6; /* the upper one's the other way */
    }
    if (!(left < -0.5 && right > 0.5)) fail_msg("%g, %g", left, right);
}

/* A bar with a bone in each half that is folded until its halves would lie in each other. Both sides mirror each other, so
   the plane between them is where they meet; the crease itself is one piece and is left alone. */
static void a_fold_ends_at_its_plane_of_symmetry(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_solid_shape shape = box_solid(arena, (const uint32_t[3]){24, 4, 2}, (const double[3]){6, 1, 0.5},
                                       pelt_solid_material_of(1, 0.45, 1));
    int32_t *bones = (int32_t *)shape.node_bones;
    for (uint32_t i = 0; i < shape.node_count; i++) {
        const double *x = shape.nodes + 3 * (size_t)i;
        bool core = fabs(x[1] - 0.5) < 1e-9;
        bones[i] = core && x[0] < 2.3 ? 0 : core && x[0] > 3.7 ? 1 : PELT_NO_BONE;
    }
    add_skin(arena, &shape);
    const pelt_solid *solid = opened(arena, &shape);
    const pelt_affine fold[2] = {turn_about_z(-88, 3, 0.85), turn_about_z(88, 3, 0.85)};
    for (int contact = 0; contact < 2; contact++) {
        pelt_solid_state s;
        pelt_solid_report report;
        pelt_error error = {0};
        assert_true(pelt_solid_rest(arena, solid, &s));
        if (pelt_solid_solve(solid, fold, &(pelt_solid_options){.no_contact = !contact}, &s, &report, &error))
            fail_msg("%s", error.text);
        assert_float_equal(report.reached, 1, 0);
        double across = 0;
        for (uint32_t i = 0; i < shape.node_count; i++) {
            double x = shape.nodes[3 * (size_t)i];
            if (fabs(x - 3) > 1) across = fmax(across, (x < 3 ? 1 : -1) * (s.nodes[3 * (size_t)i] - 3));
        }
        /* Each side is as deep in the plane as the report says, half of it. */
        if (contact &&
            !(report.touching > 20 && across < 0.02 * solid->edge && report.penetration < 0.05 * solid->edge))
            fail_msg("%u touch, %g across, %g deep, edges of %g", report.touching, across, report.penetration,
                     solid->edge);
        if (!contact && !(across > 0.1 && report.penetration > 1.5 * across && report.penetration < 3 * across))
            fail_msg("%g across, %g deep", across, report.penetration);
    }
}

/* -- What contact leaves alone ---------------------------------------------------------------------------------------------- */

static void what_does_not_touch_is_not_changed_by_a_bit(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = blocks(arena, 2, 3, 1, 0.5, 0.45, false);
    pelt_solid_state with, without;
    pelt_affine turned = turn_about_x(25, 0.5, 2);
    pelt_solid_report report = posed(arena, solid, turned, &with, (pelt_solid_options){0});
    assert_int_equal(report.touching, 0);
    posed(arena, solid, turned, &without, (pelt_solid_options){.no_contact = true});
    assert_memory_equal(with.nodes, without.nodes, 3 * solid->shape.node_count * sizeof(double));
}

/* Blocks that are near at rest, or lie in each other, stay as they are there. */
static void rest_is_left_alone(void **state) {
    (void)state;
    const double gaps[2] = {0.01, -0.1};
    for (int k = 0; k < 2; k++) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        const pelt_solid *solid = blocks(arena, 2, 2, 1, gaps[k], 0.45, false);
        pelt_solid_state s;
        pelt_solid_report report = posed(arena, solid, shift_by(0, 0, 0), &s, (pelt_solid_options){0});
        assert_true(report.energy == 0 && report.touching == 0 && report.penetration == 0);
        report = posed(arena, solid, shift_by(0, 0, -0.1), &s, (pelt_solid_options){0});
        assert_true(report.energy > 1e-4 && report.touching > 0); /* but what comes nearer pushes */
    }
}

/* Both sides of a limb, and of its crease, are one piece. */
static void a_limb_does_not_push_itself(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_solid_shape shape =
        box_solid(arena, (const uint32_t[3]){8, 2, 2}, (const double[3]){4, 1, 1}, pelt_solid_material_of(1, 0.45, 1));
    fix_ends(&shape, 4);
    add_skin(arena, &shape);
    const pelt_solid *solid = opened(arena, &shape);
    pelt_solid_state s;
    pelt_solid_report report = posed(arena, solid, turn_about_z(80, 2, 0.5), &s, (pelt_solid_options){0});
    assert_float_equal(report.reached, 1, 0);
    assert_int_equal(report.touching, 0);
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const pelt_solid *solid = blocks(arena, 3, 3, 1, 0.2, 0.45, false);
    pelt_solid_state one, three;
    posed(arena, solid, shift_by(0.1, 0, -0.4), &one, (pelt_solid_options){.threads = 1, .tolerance = 0.02});
    posed(arena, solid, shift_by(0.1, 0, -0.4), &three, (pelt_solid_options){.threads = 3, .tolerance = 0.02});
    assert_memory_equal(one.nodes, three.nodes, 3 * solid->shape.node_count * sizeof(double));
}

static void bad_skins_are_refused(void **state) {
    (void)state;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_solid_shape shape = two_blocks(arena, 1, 1, 1, 1, 0.3);
    const pelt_solid *solid;
    pelt_error error = {0};
    add_skin(arena, &shape);
    ((uint32_t *)shape.triangles)[4] = shape.vertex_count;
    assert_int_equal(pelt_solid_open(arena, &shape, &solid, &error), PELT_ERROR_DATA);
    assert_non_null(strstr(error.text, "triangle 1: there is no vertex"));
    ((uint32_t *)shape.triangles)[4] = 0;
    ((double *)shape.vertex_barycentrics)[5] = NAN;
    assert_int_equal(pelt_solid_open(arena, &shape, &solid, &error), PELT_ERROR_DATA);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces_are_the_slopes_of_energy),
        cmocka_unit_test(the_matrix_is_that_of_the_gap),
        cmocka_unit_test(action_is_reaction),
        cmocka_unit_test(blocks_that_are_pressed_are_one_bar),
        cmocka_unit_test(nothing_is_jumped_over),
        cmocka_unit_test(a_fold_ends_at_its_plane_of_symmetry),
        cmocka_unit_test(what_does_not_touch_is_not_changed_by_a_bit),
        cmocka_unit_test(rest_is_left_alone),
        cmocka_unit_test(a_limb_does_not_push_itself),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(bad_skins_are_refused),
    };
    return cmocka_run_group_tests_name("flesh_contact", tests, NULL, NULL);
}
