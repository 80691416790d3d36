/* test_features.c: learned features: the definition against one written here, every instruction set against it, the
   gradient of the evidence against differences, what cross-validation chooses, and damaged skin files with features. */

#include "fit/corrective/features.h"
#include "rig/linear.h"
#include "test/corrected.h"
#include "test/corrective_maker.h"
#include "test/svd.h"
#include <pelt/pelt.h>

enum { JOINTS = 5, VERTICES = 60, GROUPS = 7, MOST = 160 };

/* -- The run time -------------------------------------------------------------------------------------------------- */

/* h and a straight from the formula, with rotations as matrices. */
static void definition(const pelt_features *f, const pelt_skeleton *skeleton, const pelt_transform *locals,
                       const float *controls, double *a) {
    for (uint32_t g = 0; g < f->group_count; g++)
        for (uint32_t c = 0; c < f->groups[g].coefficient_count; c++, a++) {
            *a = 0;
            for (uint32_t s = 0; s < f->groups[g].eight_count; s++) {
                uint32_t each = (f->rank ? f->rank : f->width) / 8, eight = f->groups[g].eights[s] % each;
                const pelt_feature_set *set = &f->sets[f->groups[g].eights[s] / each];
                const float *block = f->groups[g].matrix + ((size_t)c * f->groups[g].eight_count + s) * 8;
                for (uint32_t k = 0; k < f->width; k++) {
                    double z = set->offsets[k], b = z;
                    uint32_t row = 0;
                    for (uint32_t i = 0; i < set->input_count; i++) {
                        const pelt_feature_input *input = &f->inputs[set->inputs[i]];
                        if (set->inputs[i] >= f->input_count - f->control_count) {
                            double x = controls[input->source];
                            x = x < input->least ? input->least : x > input->most ? input->most : x;
                            z += x * set->matrix[row++ * f->width + k];
                            continue;
                        }
                        pelt_transform rest = skeleton->rest[input->source], local = locals[input->source];
                        for (int d = 0; d < 3; d++) rest.translation[d] = local.translation[d] = 0;
                        pelt_affine r = pelt_affine_of(&rest), l = pelt_affine_of(&local), inverse;
                        assert_true(pelt_affine_invert(&r, &inverse));
                        pelt_affine turn = pelt_affine_multiply(&inverse, &l);
                        for (int column = 0; column < 2; column++)
                            for (int d = 0; d < 3; d++)
                                z += (turn.m[4 * d + column] - (d == column)) * set->matrix[row++ * f->width + k];
                    }
                    double h = (z + sqrt(z * z + f->bends[k])) / 2 - (b + sqrt(b * b + f->bends[k])) / 2;
                    if (!f->rank && k / 8 == eight) *a += h * block[k % 8];
                    for (uint32_t i = 0; i < 8 && f->rank; i++)
                        *a += block[i] * set->mix[k * set->rank + 8 * eight + i] * h;
                }
            }
        }
}

/* The same function, but every eighth sum is scaled up and its weight down by the same factor; and the second does
   nothing. */
static void skew(pelt_features *f, float times) {
    for (uint32_t s = 0; s < f->set_count; s++)
        for (uint32_t i = 0; i < f->width * f->sets[s].rank; i += 8) ((float *)f->sets[s].mix)[i] *= times;
    for (uint32_t g = 0; g < f->group_count; g++)
        for (uint32_t i = 0; i < 8 * f->groups[g].coefficient_count * f->groups[g].eight_count; i += 8)
            ((float *)f->groups[g].matrix)[i] /= times, ((float *)f->groups[g].matrix)[i + 1] = 0;
}

static maker_runner open_skewed(uint32_t width, uint32_t rank, bool in_16_bits, float times) {
    uint64_t seed = 5;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_arena *arena = bundle->arena;
    pelt_corrective *corrective = PELT_NEW(arena, 1, pelt_corrective);
    pelt_features *features = maker_features(arena, &seed, JOINTS, width, rank, GROUPS, 3);
    if (times > 0) skew(features, times);
    corrective->features = features;
    uint32_t count = pelt_corrective_coefficient_count(corrective);
    corrective->displacements = maker_displacements(arena, &seed, VERTICES, count, 5, 0.05);
    corrective->tilts = maker_displacements(arena, &seed, VERTICES, count, 3, 0.3);
    return maker_open(bundle, corrective, in_16_bits);
}

static maker_runner open_runner(uint32_t width, uint32_t rank, bool in_16_bits) {
    return open_skewed(width, rank, in_16_bits, 0);
}

static void every_instruction_set_gives_the_coefficients_of_the_definition(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++) { /* of 32 and 96 features, in 32 and in 16 bits, as they are and as sums */
        maker_runner r = open_runner(kind % 2 ? 96 : 32, kind / 4 ? 8 + 16 * (uint32_t)(kind % 2) : 0, kind / 2 % 2);
        const pelt_features *f = r.corrective->features;
        uint64_t seed = 9;
        double *a = calloc(r.count, sizeof *a), *again = calloc(r.count, sizeof *again);
        pelt_transform locals[JOINTS];
        for (int pose = 0; pose < 6; pose++) {
            float away[MAKER_CONTROLS], rotations[4 * JOINTS];
            maker_pose(r.bundle, &seed, pose < 3 ? 0.4 : 2, locals);
            for (int i = 0; i < MAKER_CONTROLS; i++) away[i] = (pose < 3 ? 0.5f : 3.0f) * maker_noise(&seed);
            if (pose == 4)
                for (int j = 0; j < 3; j++) locals[j] = r.bundle->skeleton.rest[j]; /* some at rest */
            definition(f, &r.bundle->skeleton, locals, away, a);
            pelt_pose_rotations(&r.bundle->skeleton, locals, rotations);
            pelt_corrective_coefficients(r.corrective, &(pelt_pose_state){rotations, NULL, away}, again);
            for (uint32_t k = 0; k < r.count; k++) assert_near(again[k], a[k], 1e-5);
            double size = 0;
            for (uint32_t k = 0; k < r.count; k++) size = fmax(size, fabs(a[k]));
            double tolerance = 3e-5 + (kind / 2 % 2 ? (f->rank ? 1e-3 : 3e-3) * size : 0);
            for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
                if (!pelt_isa_works((pelt_isa)isa)) continue;
                maker_run(&r, (pelt_isa)isa, locals, away);
                const float *got = maker_coefficients(&r);
                for (uint32_t k = 0; k < r.count; k++) assert_near(got[k], a[k], tolerance);
                /* Products in 16 bits are exact: differences come from features whose root is rounded up on one and
                   down on the other. */
                for (uint32_t k = 0; k < r.count && kind / 2 % 2; k++) {
                    if (isa == PELT_ISA_SCALAR) again[k] = got[k];
                    assert_near(got[k], again[k], 1e-4 * size);
                }
            }
        }
        free(a), free(again), maker_close(&r);
    }
}

#ifdef __x86_64__
/* The same integer sums by different instructions: not a single bit may differ. */
static void both_kinds_of_avx512_give_the_same_bits(void **state) {
    (void)state;
    if (!pelt_isa_works(PELT_ISA_AVX512) || !__builtin_cpu_supports("avx512vnni")) return;
    for (int kind = 0; kind < 4; kind++) {
        maker_runner r = open_runner(kind % 2 ? 96 : 64, kind / 2 ? 24 : 0, true);
        uint64_t seed = 7;
        pelt_transform locals[JOINTS];
        float *kept = calloc(r.count, sizeof *kept);
        char *own = (char *)r.scratch + pelt_pose_layout(&r.skin).size;
        pelt_corrective_job job = {&r.skin, own, pelt_corrective_layout(&r.skin)};
        for (int pose = 0; pose < 4; pose++) {
            maker_pose(r.bundle, &seed, 1, locals);
            if (pose == 2) locals[1] = locals[2] = r.bundle->skeleton.rest[1];
            maker_run(&r, PELT_ISA_AVX512, locals, (float[MAKER_CONTROLS]){0.2f, -0.3f});
            job.loops = &pelt_loops_avx512;
            job.loops->pose_corrective(&job);
            memcpy(kept, maker_coefficients(&r), r.count * sizeof *kept);
            job.loops = &pelt_loops_avx512_vnni;
            job.loops->pose_corrective(&job);
            assert_memory_equal(kept, maker_coefficients(&r), r.count * sizeof *kept);
            double size = 0;
            for (uint32_t k = 0; k < r.count; k++) size = fmax(size, fabsf(kept[k]));
            assert_true(size > 0.1);
        }
        free(kept), maker_close(&r);
    }
}
#endif

/* The largest difference between coefficients in 16 and 32 bits, relative to the largest coefficient. */
static double rounding(float times) {
    maker_runner exact = open_skewed(64, 24, false, times), rounded = open_skewed(64, 24, true, times);
    uint64_t seed = 3;
    float away[MAKER_CONTROLS] = {0.3f, -0.2f};
    double gap = 0, size = 0;
    pelt_transform locals[JOINTS];
    assert_true(rounded.bytes->size < exact.bytes->size);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        maker_pose(exact.bundle, &seed, 0.5, locals);
        maker_run(&exact, (pelt_isa)isa, locals, away), maker_run(&rounded, (pelt_isa)isa, locals, away);
        for (uint32_t k = 0; k < exact.count; k++) {
            assert_true(isfinite(maker_coefficients(&rounded)[k]));
            size = fmax(size, fabsf(maker_coefficients(&exact)[k]));
            gap = fmax(gap, fabs((double)maker_coefficients(&exact)[k] - maker_coefficients(&rounded)[k]));
        }
    }
    maker_close(&exact), maker_close(&rounded);
    return gap / size;
}

/* Rounding is noticeable, and at the level of 16 bits: a thousand times finer than the values. If some sums are much
   larger than others, packing evens them out. */
static void numbers_of_16_bits_are_close_to_those_of_32(void **state) {
    (void)state;
    double alike = rounding(0), skewed = rounding(1000);
    print_message("rounding: %.1e, of sums of different size %.1e\n", alike, skewed);
    assert_true(alike > 1e-7 && alike < 5e-4);
    assert_true(skewed > 1e-7 && skewed < 5e-3);
}

static void at_rest_all_coefficients_are_zero(void **state) {
    (void)state;
    maker_runner r = open_runner(32, 8, false);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        maker_run(&r, (pelt_isa)isa, r.bundle->skeleton.rest, (float[MAKER_CONTROLS]){0});
        for (uint32_t k = 0; k < r.count; k++) assert_true(maker_coefficients(&r)[k] == 0);
    }
    maker_close(&r);
}

/* -- Damaged files ------------------------------------------------------------------------------------------------- */

static void every_field_of_features_has_its_range(void **state) {
    (void)state;
    enum {
        HEAD,
        INPUT,
        SET,
        SET_INPUTS,
        SET_MATRIX,
        SET_OFFSETS,
        SET_MIX,
        GROUP,
        GROUP_EIGHTS,
        GROUP_MATRIX,
        GROUP_STEPS
    };
    const uint32_t NOT_A_NUMBER = 0x7fc00000u, MINUS_ONE = 0xbf800000u, FINE = PELT_OK, WRONG = PELT_ERROR_FORMAT,
                   INDEX = PELT_ERROR_INDEX, NUMBER = PELT_ERROR_NUMBER;
    const struct {
        int shorts, where;
        size_t offset;
        uint32_t value, result, rank;
    } cases[] = {
        {0, HEAD, 0, 0, WRONG}, /* width */
        {0, HEAD, 0, 16, WRONG},
        {0, HEAD, 0, 33, WRONG},
        {0, HEAD, 0, 1056, WRONG},
        {0, HEAD, 4, 6, INDEX}, /* input_count: sets name the seventh */
        {0, HEAD, 4, 0xffffffffu, WRONG},
        {0, HEAD, 8, 4, INDEX}, /* set_count: groups name the fifth */
        {0, HEAD, 8, 0xffffffffu, WRONG},
        {0, HEAD, 12, 6, WRONG}, /* group_count: coefficients are missing */
        {0, HEAD, 12, 0xffffffffu, WRONG},
        {0, HEAD, 24, 0x40000000u, WRONG}, /* offsets: outside, and no multiple of 64 */
        {0, HEAD, 32, 0x40000000u, WRONG},
        {0, HEAD, 40, 0x40000000u, WRONG},
        {0, HEAD, 24, 65, WRONG},
        {0, HEAD, 48, 12, WRONG, 8}, /* rank */
        {0, HEAD, 48, 40, WRONG, 8},
        {0, HEAD, 48, 16, INDEX, 8}, /* groups name other eights then, which sets do not have */
        {0, SET, 32, 0x40000000u, WRONG, 8},
        {0, SET, 32, 0x40000000u, FINE}, /* ignored without a rank */
        {0, SET_MIX, 4 * (31 * 16 + 15), NOT_A_NUMBER, NUMBER, 8},
        {0, SET_OFFSETS, 4 * 32, 0, FINE}, /* bends */
        {0, SET_OFFSETS, 4 * 63, MINUS_ONE, NUMBER},
        {1, SET_OFFSETS, 4 * 63, MINUS_ONE, NUMBER},
        {0, SET_OFFSETS, 4 * 63, NOT_A_NUMBER, NUMBER},
        {0, SET_OFFSETS, 4 * 64, MINUS_ONE, FINE}, /* roots */
        {0, SET_OFFSETS, 4 * 95, NOT_A_NUMBER, NUMBER},
        {0, INPUT, 0, JOINTS - 1, FINE}, /* source */
        {0, INPUT, 0, JOINTS, WRONG},    /* a control has one number, not six */
        {0, INPUT, 0, JOINTS + MAKER_CONTROLS, INDEX},
        {0, INPUT, 16 * JOINTS + 4, NOT_A_NUMBER, NUMBER}, /* least */
        {0, INPUT, 16 * JOINTS + 8, NOT_A_NUMBER, NUMBER}, /* most */
        {0, INPUT, 16 * JOINTS + 8, MINUS_ONE, NUMBER},    /* below the least */
        {0, SET, 0, 3, WRONG},                             /* input_count: numbers are missing */
        {0, SET, 0, 0xffffffffu, WRONG},
        {0, SET, 4, 18, WRONG}, /* size */
        {0, SET, 8, 0x40000000u, WRONG},
        {0, SET, 16, 0x40000000u, WRONG},
        {0, SET, 24, 0x40000000u, WRONG},
        {0, SET_INPUTS, 0, JOINTS + MAKER_CONTROLS, INDEX},
        {0, SET_MATRIX, 4 * (19 * 32 - 1), NOT_A_NUMBER, NUMBER},
        {0, SET_OFFSETS, 4 * 31, NOT_A_NUMBER, NUMBER},
        {0, GROUP, 0, 0xffffffffu, WRONG}, /* eight_count */
        {0, GROUP, 4, 0xffffffffu, WRONG}, /* coefficient_count */
        {0, GROUP, 4, 3, WRONG},           /* one less: the next begins elsewhere */
        {0, GROUP, 8, 2, WRONG},           /* first_coefficient */
        {0, GROUP, 16, 0x40000000u, WRONG},
        {0, GROUP, 24, 0x40000000u, WRONG},
        {1, GROUP, 24, 0x40000000u, WRONG},
        {1, GROUP, 32, 0x40000000u, WRONG},
        {0, HEAD, 52, 2, WRONG}, /* in_16_bits */
        {1, SET, 8, 0x40000000u, WRONG},
        {1, SET, 32, 0x40000000u, WRONG, 8},
        {1, SET, 32, 0x40000000u, FINE},
        {1, SET, 40, 0x40000000u, WRONG, 8}, /* mix_steps */
        {1, SET, 40, 0x40000000u, FINE},
        {1, SET_OFFSETS, 4 * 31, NOT_A_NUMBER, NUMBER},
        {1, SET_MATRIX, 0, 0x80008000u, FINE},      /* any integer is valid */
        {0, GROUP_EIGHTS, 0, 4 * JOINTS - 1, FINE}, /* 32 features are four eights */
        {0, GROUP_EIGHTS, 0, 4 * JOINTS, INDEX},
        {1, GROUP_EIGHTS, 0, 0xffffffffu, INDEX},
        {1, GROUP_EIGHTS, 0, 2, FINE, 16}, /* the second set has only one eight of sums */
        {1, GROUP_EIGHTS, 0, 3, INDEX, 16},
        {0, SET, 56, 16, WRONG, 8}, /* its own rank */
        {0, SET, 56, 12, WRONG, 16},
        {1, SET, 56, 0, INDEX, 8},       /* groups see more */
        {0, SET, 56, 0xffffffffu, FINE}, /* ignored without a rank */
        {0, GROUP_MATRIX, 4 * (4 * 32 - 1), NOT_A_NUMBER, NUMBER},
        {1, GROUP_MATRIX, 0, 0x80008000u, FINE}, /* any integer is valid */
        {1, GROUP_STEPS, 4 * 3, NOT_A_NUMBER, NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker_runner r = open_runner(32, cases[i].rank, cases[i].shorts);
        char *bytes = (char *)pelt_skin_features(&r.skin);
        const pelt_file_features *head = (const void *)bytes;
        const pelt_file_feature_set *set = (const void *)(bytes + head->sets);
        const pelt_file_feature_group *group = (const pelt_file_feature_group *)(bytes + head->groups) + 1;
        const uint64_t at[] = {0,
                               head->inputs,
                               head->sets,
                               set->inputs,
                               set->matrix,
                               set->offsets,
                               set->mix,
                               head->groups + sizeof *group,
                               group->eights,
                               group->matrix,
                               group->steps};
        memcpy(bytes + at[cases[i].where] + cases[i].offset, &cases[i].value, 4);
        pelt_skin skin;
        pelt_result result = pelt_open(r.bytes->bytes, r.bytes->size, &skin);
        if (result != (pelt_result)cases[i].result) fail_msg("case %zu: %s", i, pelt_result_text(result));
        maker_close(&r);
    }
}

/* -- Learning ------------------------------------------------------------------------------------------------------ */

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

static corrected_parts make_parts(uint32_t more) {
    static double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = corrected_poses(JOINTS, 30, more, 5, angles[0]);
    return corrected_parts_of(bundle, corrected_clip(bundle, "train", count, angles[0], coupled));
}

static pelt_feature_targets targets_of(const corrected_parts *p, const pelt_kernel_inputs *inputs) {
    return pelt_feature_targets_of(p->f.arena, inputs, &p->u, NULL, &p->bundle->mesh, p->f.model.positions, 1);
}

static void the_gradient_of_the_evidence_is_that_of_differences(void **state) {
    (void)state;
    corrected_parts p = make_parts(30);
    pelt_arena *arena = p.f.arena;
    pelt_kernel_inputs inputs = pelt_kernel_inputs_of(arena, &p.bundle->skeleton, &p.poses, &p.supports);
    pelt_feature_net net = pelt_features_of(arena, &p.poses, &inputs, 32, 7);
    pelt_feature_targets targets = targets_of(&p, &inputs);
    uint32_t *rows = PELT_NEW(arena, p.poses.count, uint32_t);
    for (uint32_t e = 0; e < p.poses.count; e++) rows[e] = e;
    net.log_lambda = log(0.05); /* well above its floor, which counts as constant */
    pelt_feature_gradient gradient, unused;
    assert_true(targets.count > 4);
    double value = pelt_feature_evidence(arena, &net, targets, 0, 1, p.poses.count, rows, 1, &gradient), checked = 0;
    for (uint32_t g = 0; g < net.count; g++)
        for (uint32_t i = 0; i < 12; i++) {
            bool offset = i % 4 == 3;
            uint32_t at = i * 37 % (offset ? 32 : net.list[g].size * 32);
            if (!offset && at % 2 == 0) at++; /* smooth ones */
            if (offset) at |= 1;
            double *x = offset ? &net.list[g].offsets[at] : &net.list[g].weights[at], kept = *x, step = 1e-5;
            double given = (offset ? gradient.offsets : gradient.weights)[g][at];
            *x = kept + step;
            double up = pelt_feature_evidence(arena, &net, targets, 0, 1, p.poses.count, rows, 1, &unused);
            *x = kept - step;
            double down = pelt_feature_evidence(arena, &net, targets, 0, 1, p.poses.count, rows, 1, &unused);
            *x = kept;
            assert_near(given, (up - down) / (2 * step), 2e-3 * fabs(given) + 2e-4);
            checked = fmax(checked, fabs(given));
        }
    assert_true(checked > 0.01 && isfinite(value));
    net.log_lambda += 1e-5;
    double up = pelt_feature_evidence(arena, &net, targets, 0, 1, p.poses.count, rows, 1, &unused);
    net.log_lambda -= 2e-5;
    double down = pelt_feature_evidence(arena, &net, targets, 0, 1, p.poses.count, rows, 1, &unused);
    assert_near(gradient.log_lambda, (up - down) / 2e-5, 1e-4);
    corrected_parts_free(&p);
}

/* (Phi^T Phi + lambda I) c = Phi^T y, by elimination, for more rows than features and for fewer. */
static void outputs_solve_the_normal_equations(void **state) {
    (void)state;
    enum { WIDE = 9, COLUMNS = 2 };
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 2;
    for (size_t rows = 5; rows < 20; rows += 8) {
        double phi[20 * WIDE], y[20 * COLUMNS], c[WIDE * COLUMNS] = {0}, trace = 0, ridge = 0.03;
        for (size_t i = 0; i < rows * WIDE; i++) phi[i] = test_random(&seed) - 0.4, trace += phi[i] * phi[i];
        for (size_t i = 0; i < rows * COLUMNS; i++) y[i] = test_random(&seed) - 0.5;
        pelt_feature_gram gram = pelt_feature_gram_of(arena, rows, WIDE, phi);
        assert_int_equal(gram.size, rows < WIDE ? rows : WIDE);
        double solution[WIDE * COLUMNS], unit[WIDE * WIDE] = {0};
        for (size_t k = 0; k < WIDE; k++) unit[k * WIDE + k] = 1; /* features one by one: their predictions are c */
        assert_true(pelt_feature_solve(arena, &gram, ridge, COLUMNS, y, solution));
        const double *against = pelt_feature_against(arena, &gram, WIDE, unit);
        for (size_t i = 0; i < WIDE * COLUMNS; i++)
            for (size_t k = 0; k < gram.size; k++)
                c[i] += against[i / COLUMNS * gram.size + k] * solution[k * COLUMNS + i % COLUMNS];
        for (size_t k = 0; k < WIDE; k++)
            for (size_t d = 0; d < COLUMNS; d++) {
                double left = ridge * trace / (double)rows * c[k * COLUMNS + d], right = 0;
                for (size_t r = 0; r < rows; r++) {
                    right += phi[r * WIDE + k] * y[r * COLUMNS + d];
                    for (size_t l = 0; l < WIDE; l++)
                        left += phi[r * WIDE + k] * phi[r * WIDE + l] * c[l * COLUMNS + d];
                }
                assert_near(left, right, 1e-10);
            }
    }
    pelt_arena_free(arena);
}

/* Against the singular values of B H^T, where H has a row for every feature: no r sums can leave out less than those
   after the first r, and these sums leave out no more. */
static void sums_leave_out_the_least(void **state) {
    (void)state;
    enum { WIDE = 12, ROWS = 9, EXAMPLES = 30, ALL = EXAMPLES + WIDE, SUMS = 4 };
    pelt_arena *arena = pelt_arena_new(0);
    uint64_t seed = 4;
    double h[ALL * WIDE] = {0}, b[ROWS * WIDE], squares[WIDE * WIDE], image[ROWS * ALL], trace = 0, left = 0, best = 0;
    double values[WIDE], spread[WIDE * WIDE], mix[WIDE * WIDE];
    for (size_t i = 0; i < EXAMPLES * WIDE; i++) {
        h[i] = (test_random(&seed) - 0.4) / (double)(1 + i % WIDE);
        trace += h[i] * h[i];
    }
    for (size_t i = 0; i < WIDE; i++) h[(EXAMPLES + i) * WIDE + i] = sqrt(0.001 * trace / WIDE);
    for (size_t i = 0; i < ROWS * WIDE; i++) b[i] = test_random(&seed) - 0.5;
    pelt_gemm(true, false, WIDE, WIDE, ROWS, 1, b, b, 0, squares);
    assert_true(pelt_feature_sum_up(arena, WIDE, EXAMPLES, h, squares, &(pelt_feature_sums){values, spread, mix}));
    for (size_t r = 0; r < ROWS; r++)
        for (size_t e = 0; e < ALL; e++) {
            double sum = 0, kept = 0;
            for (size_t k = 0; k < WIDE; k++) sum += b[r * WIDE + k] * h[e * WIDE + k];
            for (size_t i = 0; i < SUMS; i++) {
                double p = 0, m = 0;
                for (size_t k = 0; k < WIDE; k++)
                    p += b[r * WIDE + k] * spread[k * WIDE + i], m += mix[k * WIDE + i] * h[e * WIDE + k];
                kept += p * m;
            }
            image[r * ALL + e] = sum;
            left += (sum - kept) * (sum - kept);
        }
    double u[ROWS * ROWS], sizes[ROWS], vt[ROWS * ALL];
    assert_true(test_svd(ROWS, ALL, image, u, sizes, vt));
    for (size_t i = SUMS; i < ROWS; i++) best += sizes[i] * sizes[i];
    assert_near(left, best, 1e-10 * best + 1e-14);
    for (size_t i = 0; i < ROWS; i++) assert_near(values[i], sizes[i] * sizes[i], 1e-9 * values[0]);
    pelt_arena_free(arena);
}

/* -- Fits ---------------------------------------------------------------------------------------------------------- */

/* Sweeps say nothing about joints that move together: with few other examples only kernels are allowed. */
static void features_are_chosen_where_they_predict_better_and_examples_tell(void **state) {
    (void)state;
    double left;
    assert_int_equal(corrected_family(JOINTS, VERTICES, 30, 40, coupled, &left), PELT_FAMILY_FEATURES);
    assert_true(left < 0.25);
    assert_int_equal(corrected_family(JOINTS, VERTICES, 30, 9, coupled, &left), PELT_FAMILY_ARC);
}

static void a_fit_has_the_same_bytes_with_any_number_of_threads(void **state) {
    (void)state;
    static double angles[MOST][JOINTS];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = corrected_poses(JOINTS, 30, 40, 5, angles[0]);
    pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], coupled);
    corrected_same_bytes(bundle, clip,
                         (pelt_fit_options){.method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_FEATURES});
    character_free(bundle);
}

/* In any pose, no vertex is displaced beyond the bound; and the bound is useful: not a hundred times too large. */
static void no_pose_displaces_beyond_the_bound(void **state) {
    (void)state;
    corrected_parts p = make_parts(40);
    pelt_error error = {0};
    p.f.options.kernel.family = PELT_FAMILY_FEATURES;
    assert_int_equal(pelt_fit_kernel(&p.f, &error), PELT_OK);
    uint64_t seed = 8;
    pelt_transform locals[JOINTS];
    double *d = calloc(3 * VERTICES, sizeof *d), most = 0;
    for (int pose = 0; pose < 200; pose++) {
        maker_pose(p.bundle, &seed, 3, locals);
        assert_true(pelt_corrective_eval(p.f.model.corrective, &p.bundle->skeleton, locals, NULL, VERTICES, d, NULL));
        for (int v = 0; v < VERTICES; v++) most = fmax(most, hypot(hypot(d[3 * v], d[3 * v + 1]), d[3 * v + 2]));
    }
    assert_true(most > 0 && most <= p.f.report.bound && p.f.report.bound < 100 * most);
    free(d), corrected_parts_free(&p);
}

/* Joints bend the tube, and so does something unknown. */
static uint64_t unknown_seed;
static void half_unknown(const pelt_bundle *bundle, const double *angles, double *d) {
    double unknown = test_random(&unknown_seed) - 0.5;
    coupled(bundle, angles, d);
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) d[3 * v + 2] += unknown;
}

static bool warned_of(corrected_truth *truth) {
    static double angles[MOST][JOINTS];
    pelt_error error = {0};
    pelt_fit_report report = {0};
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    bool warned = false;
    uint32_t count = corrected_poses(JOINTS, 30, 24, 5, angles[0]);
    unknown_seed = 6;
    const pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], truth);
    pelt_fit_options options = {.method = PELT_METHOD_KERNEL, .holdout = -1, .threads = 1};
    pelt_bytes *bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1), &options, &report, &error);
    if (!bytes) fail_msg("%s", error.text);
    for (size_t i = 0; i < report.findings.count; i++)
        warned |= strstr(report.findings.list[i].text, "the skin depends on something") != NULL;
    pelt_bytes_free(bytes), pelt_fit_report_free(&report), character_free(bundle);
    return warned;
}

static void what_no_joint_tells_is_warned_of(void **state) {
    (void)state;
    assert_true(warned_of(half_unknown));
    assert_false(warned_of(coupled));
}

/* Where features start from is drawn at random: seeds are other skins, and no seed is the first. */
static void a_fit_draws_by_its_seed(void **state) {
    (void)state;
    static const uint32_t seeds[] = {0, 1, 2, 2};
    static double angles[MOST][JOINTS];
    pelt_bytes *skins[4];
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    uint32_t count = corrected_poses(JOINTS, 30, 40, 5, angles[0]);
    const pelt_clip *clip = corrected_clip(bundle, "train", count, angles[0], coupled);
    for (int i = 0; i < 4; i++) {
        pelt_fit_options options = {
            .method = PELT_METHOD_KERNEL, .kernel.family = PELT_FAMILY_FEATURES, .seed = seeds[i], .threads = 1};
        skins[i] = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1), &options, NULL, NULL);
        assert_non_null(skins[i]);
    }
    for (int i = 0; i < 4; i += 2) {
        assert_int_equal(skins[i]->size, skins[i + 1]->size);
        assert_memory_equal(skins[i]->bytes, skins[i + 1]->bytes, skins[i]->size);
    }
    assert_true(skins[0]->size != skins[2]->size || memcmp(skins[0]->bytes, skins[2]->bytes, skins[0]->size));
    for (int i = 0; i < 4; i++) pelt_bytes_free(skins[i]);
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_gives_the_coefficients_of_the_definition),
#ifdef __x86_64__
        cmocka_unit_test(both_kinds_of_avx512_give_the_same_bits),
#endif
        cmocka_unit_test(numbers_of_16_bits_are_close_to_those_of_32),
        cmocka_unit_test(at_rest_all_coefficients_are_zero),
        cmocka_unit_test(every_field_of_features_has_its_range),
        cmocka_unit_test(the_gradient_of_the_evidence_is_that_of_differences),
        cmocka_unit_test(outputs_solve_the_normal_equations),
        cmocka_unit_test(sums_leave_out_the_least),
        cmocka_unit_test(features_are_chosen_where_they_predict_better_and_examples_tell),
        cmocka_unit_test(a_fit_has_the_same_bytes_with_any_number_of_threads),
        cmocka_unit_test(a_fit_draws_by_its_seed),
        cmocka_unit_test(no_pose_displaces_beyond_the_bound),
        cmocka_unit_test(what_no_joint_tells_is_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
