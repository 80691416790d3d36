/* test_corrective.c: correctives at run time: every instruction set, in 32 and in 16 bits, against the definition
   evaluated in double; and skin files with correctives that are damaged. */

#include "fit/examples/displacement.h"
#include "pack/pack.h"
#include "test/corrective_maker.h"
#include <pelt/pelt.h>

typedef struct runner {
    pelt_bundle *bundle;
    pelt_skin skin;
    pelt_skin_bytes *bytes;
    pelt_transform *locals;
    float controls[MAKER_CONTROLS]; /* minus the values at rest */
    void *scratch;
    float *positions, *normals;
} runner;

static runner open_runner(pelt_bundle *bundle, const pelt_corrective *corrective, bool in_16_bits) {
    runner r = {.bundle = bundle};
    r.bytes = maker_pack(bundle, corrective, in_16_bits, &r.skin);
    r.locals = PELT_NEW(bundle->arena, bundle->skeleton.joint_count, pelt_transform);
    r.scratch = aligned_alloc(64, pelt_scratch_size(&r.skin));
    r.positions = aligned_alloc(64, pelt_output_size(&r.skin));
    r.normals = aligned_alloc(64, pelt_output_size(&r.skin));
    return r;
}

static void close_runner(runner *r) {
    free(r->scratch), free(r->positions), free(r->normals);
    character_free_skin(r->bytes);
}

static void run(runner *r, pelt_isa isa) {
    r->skin.isa = isa;
    float values[MAKER_CONTROLS];
    for (int i = 0; i < MAKER_CONTROLS; i++) values[i] = maker_controls[i].rest + r->controls[i];
    pelt_pose_from(&r->skin, &(pelt_pose_input){.locals = r->locals, .controls = values}, r->scratch);
    pelt_deform(&r->skin, r->scratch, pelt_all_blocks(&r->skin), r->positions, r->normals);
}

/* Positions and normals straight from the equation: blend (v0 + D), blend (n0 + N). Joints do not scale here. */
static void reference(const runner *r, const pelt_corrective *c, double *positions, double *normals) {
    const pelt_mesh *mesh = &r->bundle->mesh;
    const pelt_influences *in = &mesh->influences;
    pelt_affine *matrices = calloc(r->bundle->skeleton.joint_count, sizeof *matrices);
    assert_true(
        pelt_corrective_eval(c, &r->bundle->skeleton, r->locals, r->controls, mesh->vertex_count, positions, normals));
    pelt_joint_matrices(&r->bundle->skeleton, r->locals, NULL, matrices);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double p[3], n[3], length = 0;
        for (uint32_t i = 0; i < 3; i++) {
            p[i] = mesh->positions[3 * v + i] + positions[3 * v + i];
            n[i] = mesh->normals[3 * v + i] + normals[3 * v + i];
        }
        for (uint32_t row = 0; row < 3; row++) {
            double x = 0, y = 0;
            for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
                const double *m = matrices[in->joints[i]].m + 4 * row;
                x += in->weights[i] * (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]);
                y += in->weights[i] * (m[0] * n[0] + m[1] * n[1] + m[2] * n[2]);
            }
            positions[3 * v + row] = x, normals[3 * v + row] = y, length += y * y;
        }
        for (uint32_t i = 0; i < 3; i++) normals[3 * v + i] /= sqrt(length);
    }
    free(matrices);
}

static void check_against_reference(runner *r, const pelt_corrective *c, double tolerance, uint64_t *seed) {
    uint32_t n = r->bundle->mesh.vertex_count;
    double *positions = calloc(3 * n, sizeof *positions), *normals = calloc(3 * n, sizeof *normals);
    for (int pose = 0; pose < 6; pose++) {
        maker_pose(r->bundle, seed, pose < 3 ? 0.4 : 2, r->locals);
        for (int i = 0; i < MAKER_CONTROLS; i++) r->controls[i] = (pose < 3 ? 1.0f : 3.0f) * maker_noise(seed);
        reference(r, c, positions, normals);
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            run(r, (pelt_isa)isa);
            for (uint32_t v = 0; v < n; v++)
                for (uint32_t i = 0; i < 3; i++) {
                    size_t at = 3 * (size_t)r->skin.vertex_slots[v] + i;
                    assert_near(r->positions[at], positions[3 * v + i], tolerance);
                    assert_near(r->normals[at], normals[3 * v + i], 10 * tolerance);
                }
        }
    }
    free(positions), free(normals);
}

static void every_instruction_set_gives_the_basis_form_of_the_definition(void **state) {
    (void)state;
    uint64_t seed = 11;
    pelt_bundle *bundle = character_chain(5, 203);
    pelt_corrective *c = maker_basis(bundle, &seed);
    runner r = open_runner(bundle, c, false);
    check_against_reference(&r, c, 2e-5, &seed);
    close_runner(&r), character_free(bundle);
}

static void every_instruction_set_gives_the_weighted_form_of_the_definition(void **state) {
    (void)state;
    for (int i = 0; i < 24; i++) { /* every phi, with norm and without, in 32 and in 16 bits, with turns and without */
        uint64_t seed = 12;
        pelt_bundle *bundle = character_chain(5, 203);
        pelt_corrective *c = maker_weighted(bundle, &seed, (pelt_phi)(i % 3));
        ((pelt_weighted *)c->weighted)->unnormalised = i / 3 % 2;
        if (i >= 12) ((pelt_weighted *)c->weighted)->folded_turns = NULL;
        runner r = open_runner(bundle, c, i / 6 % 2);
        check_against_reference(&r, c, 2e-5, &seed);
        close_runner(&r), character_free(bundle);
    }
}

/* A number is off by at most half a step of its coefficient's rows, and a coefficient by half a 32767th of the largest
   term of all. */
static double rounding_bound(const pelt_corrective *c, const double *a, uint32_t v) {
    const pelt_displacements *d = c->displacements;
    double largest = 0, bound = 1e-6, sizes[64] = {0};
    for (uint32_t i = 0; i < 3 * d->first[120]; i++)
        sizes[d->coefficients[i / 3]] = fmax(sizes[d->coefficients[i / 3]], fabs(d->vectors[i]));
    for (uint32_t k = 0; k < pelt_corrective_coefficient_count(c); k++) largest = fmax(largest, fabs(a[k]) * sizes[k]);
    for (uint32_t i = d->first[v]; i < d->first[v + 1]; i++)
        bound += 0.5 / 32767 * (fabs(a[d->coefficients[i]]) * sizes[d->coefficients[i]] + largest);
    return bound;
}

static void numbers_of_16_bits_stay_within_their_bound_on_every_instruction_set(void **state) {
    (void)state;
    uint64_t seed = 13;
    pelt_bundle *bundle = character_chain(5, 120);
    pelt_corrective *c = maker_basis(bundle, &seed);
    runner exact = open_runner(bundle, c, false), rounded = open_runner(bundle, c, true);
    float rotations[20], translations[15];
    double *a = calloc(pelt_corrective_coefficient_count(c), sizeof *a), widest = 0;
    assert_true(rounded.bytes->size < exact.bytes->size);
    for (int pose = 0; pose < 4; pose++) {
        maker_pose(bundle, &seed, 0.5, exact.locals);
        memcpy(rounded.locals, exact.locals, 5 * sizeof *rounded.locals);
        pelt_pose_rotations(&bundle->skeleton, exact.locals, rotations);
        for (int i = 0; i < 15; i++) translations[i] = exact.locals[i / 3].translation[i % 3];
        pelt_corrective_coefficients(c, &(pelt_pose_state){rotations, translations, NULL}, a);
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            run(&exact, (pelt_isa)isa), run(&rounded, (pelt_isa)isa);
            for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
                double bound = sqrt(3) * rounding_bound(c, a, v), gap = 0;
                for (uint32_t i = 0; i < 3; i++) {
                    double e = exact.positions[3 * (size_t)exact.skin.vertex_slots[v] + i] -
                               rounded.positions[3 * (size_t)rounded.skin.vertex_slots[v] + i];
                    gap += e * e;
                }
                assert_true(sqrt(gap) <= bound);
                widest = fmax(widest, sqrt(gap));
            }
        }
    }
    assert_true(widest > 1e-7); /* they really were rounded */
    free(a), close_runner(&exact), close_runner(&rounded), character_free(bundle);
}

/* Blocks use coefficients in threes, 0 3 6, 1 4 7, 2 5 8, which no pairing of neighbours would serve. */
static void coefficients_of_the_same_blocks_are_paired(void **state) {
    (void)state;
    enum { BLOCKS = 30, COEFFICIENTS = 9 };
    pelt_arena *arena = pelt_arena_new(0);
    uint32_t first[BLOCKS + 1];
    uint16_t sources[3 * BLOCKS];
    for (uint32_t b = 0; b <= BLOCKS; b++) first[b] = 3 * b;
    for (uint32_t r = 0; r < 3 * BLOCKS; r++) sources[r] = (uint16_t)(r / 3 % 3 + r % 3 * 3);
    pelt_pairing p;
    pelt_row_lists used = {first, sources, 3 * BLOCKS};
    assert_int_equal(pelt_pair_coefficients(arena, &used, BLOCKS, COEFFICIENTS, &p), PELT_OK);
    assert_int_equal(p.count, COEFFICIENTS + 1);
    uint32_t together = 0;
    for (uint32_t i = 0; i < p.count; i += 2)
        together += p.factors[i].coefficient % 3 == p.factors[i + 1].coefficient % 3;
    assert_true(together >= 4); /* a pair in each three, and the odd one with its filler */
    for (uint32_t k = 0; k < COEFFICIENTS; k++) assert_int_equal(p.factors[p.factor_of[k]].coefficient, k);
    pelt_arena_free(arena);
}

static void poses_given_as_matrices_drive_it_like_poses_given_as_transforms(void **state) {
    (void)state;
    uint64_t seed = 14;
    pelt_bundle *bundle = character_chain(5, 64);
    for (uint32_t j = 0; j < 5; j++) maker_quaternion(&seed, 0.3, bundle->skeleton.rest[j].rotation);
    pelt_corrective *c = maker_basis(bundle, &seed);
    runner r = open_runner(bundle, c, false);
    float globals[5][12], *first = malloc(pelt_output_size(&r.skin));
    pelt_affine affine[5], unused[5];
    for (int pose = 0; pose < 20; pose++) {
        maker_pose(bundle, &seed, pose < 10 ? 0.5 : 3, r.locals);
        run(&r, PELT_ISA_SCALAR);
        memcpy(first, r.positions, pelt_output_size(&r.skin));
        pelt_joint_matrices(&bundle->skeleton, r.locals, affine, unused);
        for (int j = 0; j < 5; j++)
            for (int i = 0; i < 12; i++) globals[j][i] = (float)affine[j].m[i];
        pelt_pose_matrices(&r.skin, (const float(*)[12])globals, r.scratch);
        pelt_deform(&r.skin, r.scratch, pelt_all_blocks(&r.skin), r.positions, NULL);
        for (size_t i = 0; i < 3 * 64; i++) assert_near(r.positions[i], first[i], 1e-4);
    }
    free(first), close_runner(&r), character_free(bundle);
}

static void any_range_of_blocks_gives_the_same_bytes(void **state) {
    (void)state;
    uint64_t seed = 15;
    pelt_bundle *bundle = character_chain(4, 150);
    for (int weighted = 0; weighted < 2; weighted++) {
        pelt_corrective *c = weighted ? maker_weighted(bundle, &seed, PELT_PHI_GAUSSIAN) : maker_basis(bundle, &seed);
        runner r = open_runner(bundle, c, true);
        maker_pose(bundle, &seed, 0.5, r.locals);
        run(&r, r.skin.isa);
        float *pieces = calloc(1, pelt_output_size(&r.skin));
        for (uint32_t b = 0; b < r.skin.block_count; b++)
            pelt_deform(&r.skin, r.scratch, (pelt_range){b, 1}, pieces, NULL);
        for (size_t i = 0; i < 3 * 150; i++) assert_near(pieces[i], r.positions[i], 1e-6);
        free(pieces), close_runner(&r);
    }
    character_free(bundle);
}

/* |D_i| <= sum_q |c_iq| / floor whatever the pose; here with joints turned and moved far beyond any centre. */
static void no_pose_takes_the_weighted_form_beyond_its_bound(void **state) {
    (void)state;
    uint64_t seed = 16;
    pelt_bundle *bundle = character_chain(5, 80);
    for (uint32_t v = 0; v < 80; v++) /* one joint each, so that |blend D| is |D| */
        for (uint32_t i = bundle->mesh.influences.first[v], k = 0; i < bundle->mesh.influences.first[v + 1]; i++, k++)
            bundle->mesh.influences.weights[i] = k == 0;
    pelt_corrective *c = maker_weighted(bundle, &seed, PELT_PHI_MIXED);
    runner with = open_runner(bundle, c, false), without = open_runner(bundle, NULL, false);
    for (int pose = 0; pose < 50; pose++) {
        maker_pose(bundle, &seed, 5, with.locals);
        for (int j = 0; j < 5; j++) with.locals[j].translation[pose % 3] += (float)(pose * pose);
        memcpy(without.locals, with.locals, 5 * sizeof *with.locals);
        run(&with, with.skin.isa), run(&without, with.skin.isa);
        for (uint32_t v = 0; v < 80; v++) {
            double bound = 0.5, moved = 0; /* floats of large coordinates round */
            for (uint32_t q = 0; q < c->weighted->center_count; q++)
                for (int i = 0; i < 3; i++)
                    bound += fabs(c->weighted->folded[4 * (v * c->weighted->center_count + q) + (uint32_t)i]) / 0.25;
            for (uint32_t i = 0; i < 3; i++)
                moved = fmax(moved, fabs(with.positions[3 * with.skin.vertex_slots[v] + i] -
                                         without.positions[3 * without.skin.vertex_slots[v] + i]));
            assert_true(moved <= bound);
        }
    }
    close_runner(&with), close_runner(&without), character_free(bundle);
}

/* -- Damaged files ------------------------------------------------------------------------------------------------- */

/* Opens a copy that ends where the file ends; what opens must also run. */
static pelt_result try_file(const uint8_t *data, size_t size) {
    void *copy = NULL;
    pelt_skin skin;
    assert_int_equal(posix_memalign(&copy, 64, size), 0);
    memcpy(copy, data, size);
    pelt_result result = pelt_open(copy, size, &skin);
    if (result == PELT_OK && pelt_scratch_size(&skin) < (size_t)1 << 30) {
        pelt_transform *locals = calloc(skin.joint_count, sizeof *locals);
        void *scratch = aligned_alloc(64, pelt_scratch_size(&skin));
        float *out = aligned_alloc(64, 2 * pelt_output_size(&skin));
        for (uint32_t j = 0; j < skin.joint_count; j++) locals[j] = skin.joints[j].rest;
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            skin.isa = (pelt_isa)isa;
            pelt_pose(&skin, locals, scratch);
            pelt_deform(&skin, scratch, pelt_all_blocks(&skin), out, out + pelt_output_size(&skin) / 4);
        }
        free(locals), free(scratch), free(out);
    }
    free(copy);
    return result;
}

static pelt_skin_bytes *small_file(int kind, pelt_bundle **bundle, pelt_skin *skin) {
    uint64_t seed = 17;
    *bundle = character_chain(3, 17);
    pelt_corrective *c = PELT_NEW((*bundle)->arena, 1, pelt_corrective);
    if (kind == 2) {
        c = maker_weighted(*bundle, &seed, PELT_PHI_GAUSSIAN);
    } else {
        pelt_rbf *rbf = PELT_NEW((*bundle)->arena, 1, pelt_rbf);
        *rbf = maker_rbf((*bundle)->arena, &seed, 3, 5, 3, 2, PELT_PHI_MIXED, true);
        if (kind == 0) c->rbf_count = 1, c->rbfs = rbf;
        if (kind == 1) c->kernel = maker_kernel((*bundle)->arena, &seed, 3, 4, 2, 2);
        uint32_t count = pelt_corrective_coefficient_count(c);
        c->displacements = maker_displacements((*bundle)->arena, &seed, 17, count, 2, 0.1);
        c->turns = maker_displacements((*bundle)->arena, &seed, 17, count, 2, 0.1);
    }
    return maker_pack(*bundle, c, kind == 1, skin);
}

static void any_overwritten_field_is_refused_or_harmless(void **state) {
    (void)state;
    static const uint32_t values[] = {0, 1, 0xffffffffu, 0x7fc00000u, 0x80000000u, 0x10000u, 0x40u, 3};
    for (int kind = 0; kind < 3; kind++) {
        pelt_bundle *bundle;
        pelt_skin skin;
        pelt_skin_bytes *file = small_file(kind, &bundle, &skin);
        uint8_t *copy = malloc(file->size);
        memcpy(copy, file->bytes, file->size);
        size_t head = (size_t)((const char *)skin.drivers - (const char *)file->bytes);
        for (size_t at = 0; at < file->size; at += at < 1024 || (at >= head && at < head + 1024) ? 4 : 28)
            for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                memcpy(copy + at, &values[i], 4);
                try_file(copy, file->size);
                memcpy(copy + at, (uint8_t *)file->bytes + at, 4);
            }
        assert_int_equal(try_file(copy, file->size), PELT_OK);
        free(copy), character_free_skin(file), character_free(bundle);
    }
}

/* Finds the table entry of a section. */
static uint8_t *table_entry(uint8_t *file, const char *kind) {
    uint32_t count;
    memcpy(&count, file + 12, 4);
    for (uint32_t i = 0; i < count; i++)
        if (!memcmp(file + 64 + 32 * i, kind, 4)) return file + 64 + 32 * i;
    return NULL;
}

static void a_corrective_that_lacks_a_section_is_refused(void **state) {
    (void)state;
    static const char *const needed[3][10] = {{"DRIV", "CBLK", "CSRC", "CF32", "TBLK", "TSRC", "TF32"},
                                              {"DRIV", "CBLK", "CSRC", "CI16", "CFAC", "TBLK", "TSRC", "TI16", "TFAC"},
                                              {"DRIV", "CBLK", "CSRC", "CF32", "ABLK", "ASRC", "AWGT"}};
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; needed[kind][i]; i++) {
            pelt_bundle *bundle;
            pelt_skin skin;
            pelt_skin_bytes *file = small_file(kind, &bundle, &skin);
            uint8_t *entry = table_entry(file->bytes, needed[kind][i]);
            assert_non_null(entry);
            entry[0] = 'x', entry[4] = 0; /* a section of somebody else's, not required */
            assert_int_equal(try_file(file->bytes, file->size), PELT_ERROR_FORMAT);
            character_free_skin(file), character_free(bundle);
        }
}

static void wrong_indices_and_numbers_of_a_corrective_are_told_apart(void **state) {
    (void)state;
    for (int what = 0; what < 15; what++) {
        pelt_bundle *bundle;
        pelt_skin skin;
        bool has_rbf = what < 5 || what == 10 || what > 11;
        pelt_skin_bytes *file = small_file(what == 6 ? 2 : !has_rbf, &bundle, &skin);
        uint32_t *head = (uint32_t *)skin.drivers;
        char *section = (char *)head;
        uint64_t axes, rbfs;
        memcpy(&rbfs, section + 16, 8), memcpy(&axes, section + 24, 8);
        pelt_result expected = what == 5 || what == 13                ? PELT_ERROR_NUMBER
                               : what == 3 || what == 4 || what == 14 ? PELT_ERROR_FORMAT
                                                                      : PELT_ERROR_INDEX;
        pelt_control *control = (pelt_control *)skin.controls;
        if (what == 0) ((uint16_t *)skin.rows.sources)[0] = (uint16_t)head[0]; /* a coefficient that does not exist */
        if (what == 1) memcpy(section + axes + 4, &(uint32_t){3}, 4);          /* a joint that does not exist */
        if (what == 2) ((uint32_t *)skin.rows.first)[0] = 1;                   /* rows that do not begin at 0 */
        if (what == 3) head[0]++;                                              /* a coefficient that nothing drives */
        if (what == 4) memcpy(section + rbfs + 8, &(uint32_t){0x10000000}, 4); /* more centres than there are */
        if (what == 5) ((pelt_factor *)skin.turns.factors)[0].step = INFINITY; /* steps of no size */
        if (what == 6) ((uint16_t *)skin.axis_sources)[0] = 9;                 /* an axis that does not exist */
        if (what == 7) ((uint16_t *)skin.turns.sources)[1] ^= 3;               /* two rows that are no pair */
        if (what == 8) ((uint32_t *)skin.rows.first)[1]--;                     /* half a pair */
        if (what == 9) ((pelt_factor *)skin.rows.factors)[1].coefficient = head[0];          /* of no coefficient */
        if (what == 10) memcpy(section + axes + 32 * 4 + 4, &(uint32_t){MAKER_CONTROLS}, 4); /* a control likewise */
        if (what == 11) { /* a kernel joint beyond joints and controls */
            uint64_t kernel, joints;
            memcpy(&kernel, section + 32, 8), memcpy(&joints, section + kernel + 16, 8);
            memcpy(section + joints, &(uint32_t){3 + MAKER_CONTROLS}, 4);
        }
        if (what == 12) control[1].name = 1u << 20;                                        /* a name outside of NAME */
        if (what == 13) control[1].most = NAN;                                             /* a range without an end */
        if (what == 14) memcpy(table_entry(file->bytes, "CTRL") + 16, &(uint64_t){24}, 8); /* one control and a half */
        pelt_result result = try_file(file->bytes, file->size);
        if (result != expected) fail_msg("case %d: %s", what, pelt_result_text(result));
        character_free_skin(file), character_free(bundle);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_gives_the_basis_form_of_the_definition),
        cmocka_unit_test(every_instruction_set_gives_the_weighted_form_of_the_definition),
        cmocka_unit_test(numbers_of_16_bits_stay_within_their_bound_on_every_instruction_set),
        cmocka_unit_test(coefficients_of_the_same_blocks_are_paired),
        cmocka_unit_test(poses_given_as_matrices_drive_it_like_poses_given_as_transforms),
        cmocka_unit_test(any_range_of_blocks_gives_the_same_bytes),
        cmocka_unit_test(no_pose_takes_the_weighted_form_beyond_its_bound),
        cmocka_unit_test(any_overwritten_field_is_refused_or_harmless),
        cmocka_unit_test(a_corrective_that_lacks_a_section_is_refused),
        cmocka_unit_test(wrong_indices_and_numbers_of_a_corrective_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
