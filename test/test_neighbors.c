/* test_neighbors.c: kernels of joints with their neighbours: the formulas against integrals and rotation matrices, every
   instruction set against these, the choice by cross-validation, the bound, and damaged skin files. */

#include "fit/corrective/kernel.h"
#include "test/corrected.h"
#include "test/corrective_maker.h"
#include <pelt/pelt.h>

enum { JOINTS = 5, VERTICES = 60, CENTERS = 43, MOST = 160 };

/* -- Formulas ------------------------------------------------------------------------------------------------------ */

/* Infinitely many ReLUs of random directions: 4 |x| |y| times the mean of max(cos a, 0) max(cos(a - t), 0) over all a. */
static void the_arc_cosine_kernel_is_that_of_infinitely_many_relus(void **state) {
    (void)state;
    for (int i = 0; i <= 12; i++) {
        double pi = acos(-1), t = pi * i / 12, xx = 0.3 + i, yy = 2.5 / (1 + i), sum = 0;
        enum { PARTS = 24000 };
        for (int k = 0; k < PARTS; k++) {
            double a = 2 * pi * (k + 0.5) / PARTS;
            sum += fmax(cos(a), 0) * fmax(cos(a - t), 0) / PARTS;
        }
        double size = sqrt(xx * yy);
        assert_near(pelt_neighbor_value(PELT_NEAR_ARC, xx, size * cos(t), yy), 4 * size * sum, 1e-7);
    }
    assert_true(pelt_neighbor_value(PELT_NEAR_ARC, 0, 0, 2) == 0 && pelt_neighbor_value(PELT_NEAR_ARC, 2, 0, 0) == 0);
}

/* x of a joint in a pose, by matrices: (R - I) / sqrt 2. */
static void numbers_of(const pelt_transform *rest, const pelt_transform *local, double x[9]) {
    pelt_transform a = *rest, b = *local;
    for (int d = 0; d < 3; d++) a.translation[d] = b.translation[d] = 0;
    pelt_affine r = pelt_affine_of(&a), l = pelt_affine_of(&b), inverse;
    assert_true(pelt_affine_invert(&r, &inverse));
    pelt_affine turn = pelt_affine_multiply(&inverse, &l);
    for (int i = 0; i < 9; i++) x[i] = (turn.m[4 * (i / 3) + i % 3] - (i / 3 == i % 3)) / sqrt(2);
}

/* K of vectors: the arc-cosine kernel by the angle, the others by differences of vectors. */
static double kernel_of(pelt_neighbor_form form, size_t n, const double *x, const double *y) {
    double xx = 0, xy = 0, yy = 0, gaps[3] = {0}, e[3];
    for (size_t i = 0; i < n; i++) {
        xx += x[i] * x[i], xy += x[i] * y[i], yy += y[i] * y[i];
        gaps[0] += (x[i] - y[i]) * (x[i] - y[i]), gaps[1] += x[i] * x[i], gaps[2] += y[i] * y[i];
    }
    if (form == PELT_NEAR_ARC) {
        if (xx * yy == 0) return 0;
        double t = acos(fmin(fmax(xy / sqrt(xx * yy), -1), 1));
        return sqrt(xx * yy) * (sin(t) + (acos(-1) - t) * cos(t)) / acos(-1);
    }
    for (int i = 0; i < 3; i++)
        e[i] = form == PELT_NEAR_GAUSSIAN ? exp(-gaps[i] / 2) : (1 + sqrt(3 * gaps[i])) * exp(-sqrt(3 * gaps[i]));
    return e[0] - e[1] - e[2] + 1;
}

static corrected_parts make_parts(uint32_t more, corrected_truth *truth) {
    static double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = corrected_poses(JOINTS, 30, more, 5, angles[0]);
    return corrected_parts_of(bundle, corrected_clip(bundle, "train", count, angles[0], truth));
}

/* The effect of joint j depends on its neighbours: a ridge that no sum of single-joint functions can represent. */
static void coupled(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *x = bundle->mesh.positions + 3 * (size_t)v;
        double sizes[JOINTS];
        corrected_sizes(bundle, v, sizes);
        for (int j = 1; j < JOINTS; j++) {
            double near = angles[j] + (j > 1 ? 0.7 * angles[j - 1] : 0) - (j + 1 < JOINTS ? 0.5 * angles[j + 1] : 0);
            double bend = sizes[j] * fmax(near, 0) / 60;
            d[3 * v] += 0.5 * bend * x[0], d[3 * v + 2] += 0.7 * bend * x[2];
        }
    }
}

/* Every joint independently, and smoothly. */
static void apart(const pelt_bundle *bundle, const double *angles, double *d) {
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        const float *x = bundle->mesh.positions + 3 * (size_t)v;
        double sizes[JOINTS];
        corrected_sizes(bundle, v, sizes);
        for (int j = 1; j < JOINTS; j++) {
            double bend = sizes[j] * (exp(-pow(angles[j] - 25, 2) / 800) - exp(-25 * 25 / 800.0));
            d[3 * v] += 0.5 * bend * x[0], d[3 * v + 2] += 0.7 * bend * x[2];
        }
    }
}

/* Of chains: joint g with g - 1 and g + 1, as far as they move. */
static void tables_hold_the_formula_of_neighbourhoods(void **state) {
    (void)state;
    corrected_parts p = make_parts(4, coupled);
    pelt_arena *arena = p.f.arena;
    pelt_kernel_inputs inputs = pelt_kernel_inputs_of(arena, &p.bundle->skeleton, &p.poses, &p.supports);
    pelt_kernel_inputs near = pelt_kernel_look_around(arena, &p.poses, &inputs);
    size_t n = p.poses.count;
    float *tables = PELT_NEW(arena, n * n * near.count, float);
    assert_true(near.count > 2);
    for (int form = 0; form < PELT_NEAR_FORM_COUNT; form++) {
        pelt_kernel_settings s = {.width = form ? 1.7 : 1, .pair = 0.6, .lambda = 1, .form = (pelt_neighbor_form)form};
        pelt_kernel_tables(arena, &p.poses, &near, &s, 1, tables);
        for (uint32_t g = 0; g < near.count; g++) {
            bool first = g == 0, last = g + 1 == near.count;
            assert_int_equal(near.near_first[g + 1] - near.near_first[g], 3 - first - last);
            for (size_t a = 0; a < n; a += 3)
                for (size_t b = 0; b < n; b += 2) {
                    double x[2][27] = {{0}}, alone[2][9];
                    for (int side = 0; side < 2; side++)
                        for (int k = 0; k < 3; k++) {
                            if ((first && k == 0) || (last && k == 2)) continue;
                            uint32_t joint = near.joints[g + (uint32_t)k - 1];
                            pelt_transform local = p.bundle->skeleton.rest[joint];
                            memcpy(local.rotation,
                                   p.poses.rotations + 4 * ((side ? b : a) * p.poses.joint_count + joint),
                                   sizeof local.rotation);
                            pelt_transform rest = local;
                            memcpy(rest.rotation, (float[4]){0, 0, 0, 1}, sizeof rest.rotation);
                            numbers_of(&rest, &local, x[side] + 9 * k);
                            for (int i = 0; i < 9; i++) x[side][9 * k + i] /= s.width;
                            if (k == 1) memcpy(alone[side], x[side] + 9, sizeof alone[side]);
                        }
                    double wanted =
                        kernel_of(s.form, 27, x[0], x[1]) + s.pair * kernel_of(s.form, 9, alone[0], alone[1]);
                    assert_near(tables[(g * n + a) * n + b], s.width * s.width / (1 + s.pair) * wanted, 2e-5);
                }
        }
    }
    corrected_parts_free(&p);
}

/* -- The run time -------------------------------------------------------------------------------------------------- */

/* Kernel joint g with the next one and a control. */
static maker_runner open_runner(pelt_neighbor_form form) {
    uint64_t seed = 5;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_arena *arena = bundle->arena;
    pelt_kernel *kernel = maker_kernel(arena, &seed, JOINTS, CENTERS, 4, 3);
    pelt_neighbors *near = PELT_NEW(arena, 1, pelt_neighbors);
    uint32_t *first = PELT_NEW(arena, (size_t)kernel->joint_count + 1, uint32_t);
    uint32_t *list = PELT_NEW(arena, 3 * (size_t)kernel->joint_count, uint32_t);
    float(*ranges)[2] = pelt_alloc(arena, kernel->joint_count, sizeof *ranges);
    for (uint32_t g = 0; g < kernel->joint_count; g++) {
        first[g + 1] = first[g];
        list[first[g + 1]++] = g;
        if (g + 1 < JOINTS) list[first[g + 1]++] = g + 1;
        if (g < JOINTS) list[first[g + 1]++] = JOINTS + g % MAKER_CONTROLS;
    }
    for (uint32_t c = 0; c < MAKER_CONTROLS; c++) {
        ranges[JOINTS + c][0] = maker_controls[c].least - maker_controls[c].rest;
        ranges[JOINTS + c][1] = maker_controls[c].most - maker_controls[c].rest;
    }
    *near = (pelt_neighbors){form, 0.7f, first, list, (const float(*)[2])ranges};
    kernel->near = near;
    pelt_corrective *corrective = PELT_NEW(arena, 1, pelt_corrective);
    corrective->kernel = kernel;
    uint32_t count = pelt_corrective_coefficient_count(corrective);
    corrective->displacements = maker_displacements(arena, &seed, VERTICES, count, 5, 0.05);
    return maker_open(bundle, corrective, false);
}

/* x of all kernel joints in a pose, or of a centre, each times the root of its scale: [kernel joint][9]. */
static void place_numbers(const maker_runner *r, const pelt_transform *locals, const float *away, uint32_t center,
                          double *x) {
    const pelt_kernel *k = r->corrective->kernel;
    memset(x, 0, 9 * k->joint_count * sizeof *x);
    for (uint32_t g = 0; g < k->joint_count; g++, x += 9) {
        const float *q = k->centers + 4 * ((size_t)center * k->joint_count + g);
        if (g >= JOINTS) {
            double value = away ? away[k->joints[g]] : q[0];
            x[0] = fmin(fmax(value, k->near->ranges[g][0]), k->near->ranges[g][1]);
        } else if (away) {
            numbers_of(&r->bundle->skeleton.rest[k->joints[g]], &locals[k->joints[g]], x);
        } else {
            pelt_transform rest = {.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}}, turned = rest;
            memcpy(turned.rotation, q, sizeof turned.rotation);
            numbers_of(&rest, &turned, x);
        }
        for (int i = 0; i < 9; i++) x[i] *= sqrt(k->scales[g]);
    }
}

/* k_g of a pose and a centre. */
static double unit_of(const pelt_kernel *k, uint32_t g, const double *x, const double *y) {
    double a[27], b[27];
    uint32_t count = 0;
    for (uint32_t i = k->near->first[g]; i < k->near->first[g + 1]; i++, count += 9) {
        memcpy(a + count, x + 9 * k->near->list[i], 9 * sizeof *a);
        memcpy(b + count, y + 9 * k->near->list[i], 9 * sizeof *b);
    }
    return kernel_of(k->near->form, count, a, b) +
           (double)k->near->single * kernel_of(k->near->form, 9, x + 9 * g, y + 9 * g);
}

static void definition(const maker_runner *r, const pelt_transform *locals, const float *away, double *a) {
    const pelt_kernel *k = r->corrective->kernel;
    double x[9 * (JOINTS + MAKER_CONTROLS)], y[9 * (JOINTS + MAKER_CONTROLS)];
    place_numbers(r, locals, away, 0, x);
    for (uint32_t g = 0; g < k->group_count; a += k->groups[g++].coefficient_count) {
        const pelt_kernel_group *group = &k->groups[g];
        for (uint32_t c = 0; c < group->coefficient_count; c++) a[c] = 0;
        for (uint32_t q = 0; q < group->center_count; q++) {
            double sum = 0;
            place_numbers(r, NULL, NULL, group->centers[q], y);
            for (uint32_t u = 0; u < group->unit_count; u++) {
                const pelt_kernel_unit *unit = &k->units[group->units[u]];
                double value = unit_of(k, unit->first, x, y);
                if (unit->second != unit->first) value *= unit_of(k, unit->second, x, y);
                sum += unit->gain * value;
            }
            for (uint32_t c = 0; c < group->coefficient_count; c++)
                a[c] += sum * group->matrix[(size_t)q * group->coefficient_count + c];
        }
    }
}

static void every_instruction_set_gives_the_coefficients_of_the_definition(void **state) {
    (void)state;
    for (int form = 0; form < PELT_NEAR_FORM_COUNT; form++) {
        maker_runner r = open_runner((pelt_neighbor_form)form);
        uint64_t seed = 9;
        double *a = calloc(r.count, sizeof *a), *again = calloc(r.count, sizeof *again), most = 0;
        pelt_transform locals[JOINTS];
        for (int pose = 0; pose < 7; pose++) {
            float away[MAKER_CONTROLS], rotations[4 * JOINTS];
            maker_pose(r.bundle, &seed, pose < 3 ? 0.01 * pow(6, pose) : 2, locals);
            for (int i = 0; i < MAKER_CONTROLS; i++) away[i] = (pose < 3 ? 0.5f : 3.0f) * maker_noise(&seed);
            for (int j = 0; j < (pose == 5 ? 3 : pose == 6 ? JOINTS : 0); j++) locals[j] = r.bundle->skeleton.rest[j];
            if (pose == 6) away[0] = away[1] = 0; /* all at rest */
            definition(&r, locals, away, a);
            pelt_pose_rotations(&r.bundle->skeleton, locals, rotations);
            pelt_corrective_coefficients(r.corrective, &(pelt_pose_state){rotations, NULL, away}, again);
            for (uint32_t k = 0; k < r.count; k++) most = fmax(most, fabs(a[k]));
            for (uint32_t k = 0; k < r.count; k++) assert_near(again[k], a[k], 1e-5);
            for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
                if (!pelt_isa_works((pelt_isa)isa)) continue;
                maker_run(&r, (pelt_isa)isa, locals, away);
                for (uint32_t k = 0; k < r.count; k++) {
                    assert_near(maker_coefficients(&r)[k], a[k], 4e-5);
                    if (pose == 6) assert_true(maker_coefficients(&r)[k] == 0);
                }
            }
        }
        assert_true(most > 0.5);
        free(a), free(again), maker_close(&r);
    }
}

/* -- Damaged files ------------------------------------------------------------------------------------------------- */

static void every_field_of_neighbourhoods_has_its_range(void **state) {
    (void)state;
    enum { HEAD, FIRST, LIST, ALL = JOINTS + MAKER_CONTROLS };
    const uint32_t NOT_A_NUMBER = 0x7fc00000u, MINUS_ONE = 0xbf800000u;
    const struct {
        int where;
        size_t offset;
        uint32_t value, result;
    } cases[] = {
        {HEAD, 0, PELT_NEAR_MATERN, PELT_OK}, /* form */
        {HEAD, 0, PELT_NEAR_FORM_COUNT, PELT_ERROR_UNSUPPORTED},
        {HEAD, 4, ALL - 1, PELT_ERROR_FORMAT}, /* joint_count */
        {HEAD, 4, ALL + 1, PELT_ERROR_FORMAT},
        {HEAD, 8, NOT_A_NUMBER, PELT_ERROR_NUMBER}, /* single */
        {HEAD, 8, MINUS_ONE, PELT_ERROR_NUMBER},
        {HEAD, 16, 65, PELT_ERROR_FORMAT}, /* first */
        {HEAD, 16, 0x40000000u, PELT_ERROR_FORMAT},
        {HEAD, 24, 0x40000000u, PELT_ERROR_FORMAT}, /* list */
        {FIRST, 0, 1, PELT_ERROR_FORMAT},
        {FIRST, 4, 0x7fffffffu, PELT_ERROR_INDEX}, /* falls behind */
        {FIRST, 4 * ALL, 0x7fffffffu, PELT_ERROR_FORMAT},
        {LIST, 4, ALL - 1, PELT_OK},
        {LIST, 4, ALL, PELT_ERROR_INDEX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker_runner r = open_runner(PELT_NEAR_ARC);
        char *bytes = (char *)pelt_skin_neighbors(&r.skin);
        const pelt_file_neighbors *head = (const void *)bytes;
        const uint64_t at[] = {0, head->first, head->list};
        memcpy(bytes + at[cases[i].where] + cases[i].offset, &cases[i].value, 4);
        pelt_skin skin;
        pelt_result result = pelt_open(r.bytes->bytes, r.bytes->size, &skin);
        if (result != (pelt_result)cases[i].result) fail_msg("case %zu: %s", i, pelt_result_text(result));
        maker_close(&r);
    }
}

/* -- Fits ---------------------------------------------------------------------------------------------------------- */

/* With fewer than ten examples of several joints, learned features are not tried. */
static pelt_family family_chosen(corrected_truth *truth, double *left) {
    return corrected_family(JOINTS, VERTICES, 10, 9, truth, left);
}

static void neighbours_count_where_they_predict_better(void **state) {
    (void)state;
    double left, again;
    assert_int_equal(family_chosen(coupled, &left), PELT_FAMILY_ARC);
    assert_int_equal(family_chosen(coupled, &again), PELT_FAMILY_ARC);
    assert_true(left == again && left < 0.3);
    assert_int_equal(family_chosen(apart, &left), PELT_FAMILY_KERNEL);
}

static void a_fit_has_the_same_bytes_with_any_number_of_threads(void **state) {
    (void)state;
    static double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = corrected_poses(JOINTS, 30, 20, 5, angles[0]);
    pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], coupled);
    corrected_same_bytes(bundle, clip,
                         (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_ARC});
    character_free(bundle);
}

/* In any pose, no vertex is displaced beyond the bound; and unseen poses of the same range are predicted. */
static void the_fit_predicts_and_stays_within_its_bound(void **state) {
    (void)state;
    static double unseen[MOST][JOINTS];
    corrected_parts p = make_parts(40, coupled);
    pelt_error error = {0};
    p.f.options.kernel.family = PELT_FAMILY_ARC;
    assert_int_equal(pelt_fit_kernel(&p.f, &error), PELT_OK);
    assert_true(p.f.model.corrective->kernel && p.f.model.corrective->kernel->near);
    uint64_t seed = 8;
    pelt_transform locals[JOINTS];
    double *d = calloc(3 * VERTICES, sizeof *d), most = 0, worst = 0;
    for (int pose = 0; pose < 200; pose++) {
        maker_pose(p.bundle, &seed, 3, locals);
        assert_true(pelt_corrective_eval(p.f.model.corrective, &p.bundle->skeleton, locals, NULL, VERTICES, d, NULL));
        for (int v = 0; v < VERTICES; v++) most = fmax(most, hypot(hypot(d[3 * v], d[3 * v + 1]), d[3 * v + 2]));
    }
    assert_true(most > 0 && most <= p.f.report.bound && p.f.report.bound < 100 * most);
    uint32_t count = corrected_poses(JOINTS, 30, 12, 77, unseen[0]);
    for (uint32_t i = count - 12; i < count; i++) worst = fmax(worst, corrected_error(&p.f, unseen[i], coupled));
    assert_true(worst < 0.35 * most);
    free(d), corrected_parts_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_arc_cosine_kernel_is_that_of_infinitely_many_relus),
        cmocka_unit_test(tables_hold_the_formula_of_neighbourhoods),
        cmocka_unit_test(every_instruction_set_gives_the_coefficients_of_the_definition),
        cmocka_unit_test(every_field_of_neighbourhoods_has_its_range),
        cmocka_unit_test(neighbours_count_where_they_predict_better),
        cmocka_unit_test(a_fit_has_the_same_bytes_with_any_number_of_threads),
        cmocka_unit_test(the_fit_predicts_and_stays_within_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
