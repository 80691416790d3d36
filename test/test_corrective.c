/* test_corrective.c: correctives at run time: every instruction set, in 32 and in 16 bits, against the definition
   evaluated in double; and damaged skin files with correctives. */

#include "fit/examples/displacement.h"
#include "pack/pack.h"
#include "runtime/container.h"
#include "runtime/loops.h"
#include "test/corrective_maker.h"
#include <pelt/pelt.h>

typedef struct runner {
    pelt_bundle *bundle;
    pelt_skin skin;
    pelt_bytes *bytes;
    pelt_transform *locals;
    float controls[MAKER_CONTROLS]; /* minus the values at rest */
    void *scratch;
    float *positions, *normals, *tangents;
} runner;

static runner open_runner(pelt_bundle *bundle, const pelt_corrective *corrective, bool in_16_bits) {
    runner r = {.bundle = bundle};
    uint64_t seed = 4;
    character_random_tangents(bundle, &seed);
    r.bytes = maker_pack(bundle, corrective, in_16_bits, &r.skin);
    r.locals = PELT_NEW(bundle->arena, bundle->skeleton.joint_count, pelt_transform);
    r.scratch = aligned_alloc(64, pelt_scratch_size(&r.skin));
    r.positions = aligned_alloc(64, pelt_output_size(&r.skin));
    r.normals = aligned_alloc(64, pelt_output_size(&r.skin));
    r.tangents = aligned_alloc(64, pelt_tangents_size(&r.skin));
    return r;
}

static void close_runner(runner *r) {
    free(r->scratch), free(r->positions), free(r->normals), free(r->tangents);
    character_free_skin(r->bytes);
}

static void run(runner *r, pelt_isa isa) {
    r->skin.isa = isa;
    float values[MAKER_CONTROLS];
    for (int i = 0; i < MAKER_CONTROLS; i++) values[i] = maker_controls[i].rest + r->controls[i];
    pelt_pose_from(&r->skin, &(pelt_pose_input){.locals = r->locals, .controls = values}, r->scratch);
    pelt_deform_to(&r->skin, r->scratch, pelt_all_blocks(&r->skin),
                   &(pelt_output){{r->positions}, {r->normals}, {r->tangents}});
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Positions, normals and tangents straight from the equations: blend (v0 + D), blend (n0 + N), and the tangent slid
   along n0 into the plane of n0 + N, blended and orthogonalised. Joints do not scale here. */
static void reference(const runner *r, const pelt_corrective *c, double *positions, double *normals, double *tangents) {
    const pelt_mesh *mesh = &r->bundle->mesh;
    const pelt_influences *in = &mesh->influences;
    pelt_affine *matrices = calloc(r->bundle->skeleton.joint_count, sizeof *matrices);
    assert_true(
        pelt_corrective_eval(c, &r->bundle->skeleton, r->locals, r->controls, mesh->vertex_count, positions, normals));
    pelt_joint_matrices(&r->bundle->skeleton, r->locals, NULL, matrices);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double p[3], n[3], t[3], at_rest[3], length = 0;
        for (uint32_t i = 0; i < 3; i++) {
            at_rest[i] = mesh->normals[3 * v + i], t[i] = mesh->tangents[4 * v + i];
            p[i] = mesh->positions[3 * v + i] + positions[3 * v + i];
            n[i] = at_rest[i] + normals[3 * v + i];
        }
        double slide = dot(n, t) / fmax(dot(n, at_rest), 0.25);
        for (uint32_t i = 0; i < 3; i++) t[i] -= slide * at_rest[i];
        for (uint32_t row = 0; row < 3; row++) {
            double x = 0, y = 0, z = 0;
            for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
                const double *m = matrices[in->joints[i]].m + 4 * row;
                x += in->weights[i] * (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]);
                y += in->weights[i] * (m[0] * n[0] + m[1] * n[1] + m[2] * n[2]);
                z += in->weights[i] * (m[0] * t[0] + m[1] * t[1] + m[2] * t[2]);
            }
            positions[3 * v + row] = x, normals[3 * v + row] = y, length += y * y;
            tangents[3 * v + row] = z;
        }
        for (uint32_t i = 0; i < 3; i++) normals[3 * v + i] /= sqrt(length);
        double *out = tangents + 3 * (size_t)v, depth = dot(out, normals + 3 * (size_t)v);
        for (uint32_t i = 0; i < 3; i++) out[i] -= depth * normals[3 * v + i];
        length = sqrt(dot(out, out));
        for (uint32_t i = 0; i < 3; i++) out[i] /= length;
    }
    free(matrices);
}

/* In the file's order, and with a box, the output has the same bytes as without. */
static void check_order(const runner *r) {
    uint32_t n = r->skin.vertex_count, *vertices = malloc((size_t)r->skin.block_count * 64);
    float(*out)[10] = malloc(n * sizeof *out), (*alone)[3] = malloc(n * sizeof *alone);
    pelt_box box[2];
    pelt_slot_vertices(&r->skin, vertices);
    pelt_output all = {{out, 40}, {out[0] + 3, 40}, {out[0] + 6, 40}, vertices, &box[0]};
    pelt_output positions = {.positions = {alone}, .vertices = vertices, .box = &box[1]};
    pelt_deform_to(&r->skin, r->scratch, pelt_all_blocks(&r->skin), &all);
    pelt_deform_to(&r->skin, r->scratch, pelt_all_blocks(&r->skin), &positions);
    float low = INFINITY, low_alone = INFINITY;
    for (uint32_t v = 0; v < n; v++) {
        size_t slot = r->skin.vertex_slots[v];
        assert_memory_equal(out[v], r->positions + 3 * slot, 12);
        assert_memory_equal(out[v] + 3, r->normals + 3 * slot, 12);
        assert_memory_equal(out[v] + 6, r->tangents + 4 * slot, 16);
        low = fminf(low, out[v][1]), low_alone = fminf(low_alone, alone[v][1]);
        for (int i = 0; i < 3; i++) assert_near(alone[v][i], out[v][i], 1e-5);
    }
    assert_true(box[0].low[1] == low && box[1].low[1] == low_alone);
    free(vertices), free(out), free(alone);
}

static void check_against_reference(runner *r, const pelt_corrective *c, double tolerance, uint64_t *seed) {
    uint32_t n = r->bundle->mesh.vertex_count;
    double *positions = calloc(3 * n, sizeof *positions), *normals = calloc(3 * n, sizeof *normals);
    double *tangents = calloc(3 * n, sizeof *tangents);
    for (int pose = 0; pose < 6; pose++) {
        maker_pose(r->bundle, seed, pose < 3 ? 0.4 : 2, r->locals);
        for (int i = 0; i < MAKER_CONTROLS; i++) r->controls[i] = (pose < 3 ? 1.0f : 3.0f) * maker_noise(seed);
        reference(r, c, positions, normals, tangents);
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!pelt_isa_works((pelt_isa)isa)) continue;
            run(r, (pelt_isa)isa);
            check_order(r);
            for (uint32_t v = 0; v < n; v++)
                for (uint32_t i = 0; i < 3; i++) {
                    size_t at = 3 * (size_t)r->skin.vertex_slots[v] + i;
                    assert_near(r->positions[at], positions[3 * v + i], tolerance);
                    assert_near(r->normals[at], normals[3 * v + i], 10 * tolerance);
                    at += r->skin.vertex_slots[v];
                    assert_near(r->tangents[at], tangents[3 * v + i], 20 * tolerance);
                }
        }
    }
    free(positions), free(normals), free(tangents);
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
        if (i >= 12) ((pelt_weighted *)c->weighted)->folded_tilts = NULL;
        runner r = open_runner(bundle, c, i / 6 % 2);
        check_against_reference(&r, c, 2e-5, &seed);
        close_runner(&r), character_free(bundle);
    }
}

/* A number is off by at most half a step of its coefficient's rows, and a coefficient by at most half a 32767th of the
   largest term. */
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

/* -- Radial functions ---------------------------------------------------------------------------------------------- */

enum {
    TURNS = 150
}; /* of joint 1: enough that vectors of centres are worked on several at once, with some left over */

/* phi - 1 of a turn by an angle, the closed form. */
static double phi_of_turn(const pelt_rbf *rbf, double angle) {
    double r = rbf->axes->kind == PELT_AXIS_CHORD ? 2 * sin(angle / 2) : angle, x = r / rbf->width;
    double gaussian = expm1(-x * x / 2), exponential = expm1(-x);
    return rbf->phi == PELT_PHI_EXP        ? exponential
           : rbf->phi == PELT_PHI_GAUSSIAN ? gaussian
                                           : (1 - PELT_MIXED_SHARE) * gaussian + PELT_MIXED_SHARE * exponential;
}

/* Every other centre is the same rotation by the other quaternion. Returns the angle of the rounded numbers. */
static double make_turn(double angle, int i, float q[4]) {
    double length = 0, side = i % 2 ? -1 : 1, axis[3] = {0.48, -0.6, 0.64};
    for (int k = 0; k < 3; k++) q[k] = (float)(side * sin(angle / 2) * axis[k]), length += (double)q[k] * q[k];
    q[3] = (float)(side * cos(angle / 2));
    length += pow(fabs(q[3]) - 1, 2);
    return 4 * asin(sqrt(length) / 2);
}

/* Coefficient k is the difference between phi of turn k and phi of the rest pose, in which the character is. */
static void check_phi(pelt_bundle *bundle, pelt_axis_kind kind, pelt_phi phi, float width) {
    uint64_t seed = 3;
    pelt_axis axis = {.kind = kind, .joint = 1, .weight = 1};
    float *centers = PELT_NEW(bundle->arena, 4 * (TURNS + 1), float);
    float *matrix = PELT_NEW(bundle->arena, (size_t)(TURNS + 1) * TURNS, float);
    double angles[TURNS];
    centers[3] = 1;
    for (int i = 0; i < TURNS; i++) {
        angles[i] = make_turn(3.1415 * pow(10, -4 * (double)i / TURNS), i, centers + 4 * (i + 1));
        matrix[i] = -1, matrix[(i + 1) * TURNS + i] = 1;
    }
    pelt_rbf rbf = {1, TURNS + 1, TURNS, &axis, centers, phi, width, matrix, NULL};
    pelt_corrective c = {.rbf_count = 1, .rbfs = &rbf};
    c.displacements = maker_displacements(bundle->arena, &seed, bundle->mesh.vertex_count, TURNS, 7, 0.05);
    runner r = open_runner(bundle, &c, false);
    const char *own = (const char *)r.scratch + pelt_pose_layout(&r.skin).size;
    const float *a = (const float *)(own + pelt_corrective_layout(&r.skin).coefficients);
    memcpy(r.locals, bundle->skeleton.rest, bundle->skeleton.joint_count * sizeof *r.locals);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        run(&r, (pelt_isa)isa);
        for (int i = 0; i < TURNS; i++) {
            double exact = phi_of_turn(&rbf, angles[i]);
            assert_near(a[i], exact, 5e-7 * fabs(exact) + 1e-14);
        }
    }
    close_runner(&r);
}

/* However wide they are: sums of wide ones consist of how little they differ from 1. */
static void radial_functions_differ_from_1_by_what_they_should_to_half_a_millionth(void **state) {
    (void)state;
    static const float widths[] = {0.03f, 0.7f, 3, 25, 4000};
    for (int phi = 0; phi < PELT_PHI_COUNT; phi++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (int chord = 0; chord < 2; chord++) {
                pelt_bundle *bundle = character_chain(2, 40);
                check_phi(bundle, chord ? PELT_AXIS_CHORD : PELT_AXIS_ROTATION, (pelt_phi)phi, widths[w]);
                character_free(bundle);
            }
}

/* Coefficients in double fill their own range and no more, whatever comes last. */
static void coefficients_are_as_many_as_their_count_says(void **state) {
    (void)state;
    uint64_t seed = 20;
    pelt_bundle *bundle = character_chain(3, 17);
    float rotations[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, translations[9] = {0};
    for (int kernel = 0; kernel < 2; kernel++) {
        pelt_rbf rbf = maker_rbf(bundle->arena, &seed, 3, 3, 3, 2, PELT_PHI_MIXED, true);
        pelt_corrective c = {.rbf_count = 1, .rbfs = &rbf};
        if (kernel) c.kernel = maker_kernel(bundle->arena, &seed, 3, 4, 2, 3);
        double a[10] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
        assert_int_equal(pelt_corrective_coefficient_count(&c), kernel ? 8 : 2);
        pelt_corrective_coefficients(&c, &(pelt_pose_state){rotations, translations, NULL}, a);
        assert_true(a[1] != 7 && (a[7] == 7) == !kernel && (a[2] == 7) == !kernel && a[8] == 7);
    }
    character_free(bundle);
}

/* Of many centres, three differ from the first along one axis, and one along another. */
static void distances_are_computed_of_centres_that_are_not_where_the_first_is(void **state) {
    (void)state;
    enum { CENTERS = 2100, AXES = 2, VERTICES = 16, JOINTS = 3 };
    static const struct { uint32_t center, axis; } away[] = {{530, 0}, {1030, 0}, {2099, 0}, {1600, 1}};
    uint64_t seed = 29;
    pelt_bundle *bundle = character_chain(JOINTS, VERTICES);
    pelt_arena *arena = bundle->arena;
    pelt_axis axes[AXES] = {{.kind = PELT_AXIS_ROTATION, .joint = 1, .weight = 1},
                            {.kind = PELT_AXIS_CHORD, .joint = 2, .weight = 1}};
    uint32_t first[VERTICES + 1], vertex_axes[AXES * VERTICES];
    float weights[AXES * VERTICES], *centers = PELT_NEW(arena, 4 * AXES * CENTERS, float);
    for (uint32_t v = 0; v <= VERTICES; v++) first[v] = AXES * v;
    for (uint32_t i = 0; i < AXES * VERTICES; i++) vertex_axes[i] = i % AXES, weights[i] = 1;
    for (uint32_t i = 0; i < AXES * CENTERS; i++) centers[4 * i + 3] = 1;
    for (size_t i = 0; i < sizeof away / sizeof *away; i++)
        memcpy(centers + 4 * (AXES * away[i].center + away[i].axis), (float[4]){0.6f, 0, 0, 0.8f}, 4 * sizeof *centers);
    pelt_weighted w = {.axis_count = AXES,
                       .center_count = CENTERS,
                       .axes = axes,
                       .centers = centers,
                       .phi = PELT_PHI_GAUSSIAN,
                       .width = 1,
                       .first = first,
                       .vertex_axes = vertex_axes,
                       .axis_weights = weights,
                       .folded = maker_floats(arena, &seed, 4 * VERTICES * CENTERS, 0.01)};
    runner r = open_runner(bundle, &(pelt_corrective){.weighted = &w}, false);
    const float *distances = (const float *)((const char *)r.scratch + pelt_pose_layout(&r.skin).size +
                                             pelt_corrective_layout(&r.skin).distances);
    memcpy(r.locals, bundle->skeleton.rest, JOINTS * sizeof *r.locals);
    for (int j = 1; j < JOINTS; j++) r.locals[j] = character_turn(1, 0, 0, 50);
    const double angles[2] = {50 * acos(-1) / 180, 2 * asin(0.6) - 50 * acos(-1) / 180};
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!pelt_isa_works((pelt_isa)isa)) continue;
        run(&r, (pelt_isa)isa);
        for (uint32_t i = 0; i < AXES * CENTERS; i++) {
            uint32_t axis = i / CENTERS, center = i % CENTERS, there = 0;
            for (size_t k = 0; k < sizeof away / sizeof *away; k++)
                there |= away[k].center == center && away[k].axis == axis;
            double d = axis ? 2 * sin(angles[there] / 2) : angles[there];
            assert_near(distances[axis * pelt_padded(CENTERS) + center], -d * d / 2 / log(2), 1e-6);
        }
    }
    close_runner(&r), character_free(bundle);
}

/* Factors of the rows: coefficient times step, as an integer multiple of a scale for which the largest is 32767. */
static void coefficients_are_rounded_to_the_nearest_of_16_bits(void **state) {
    (void)state;
    uint64_t seed = 18;
    pelt_bundle *bundle = character_chain(5, 120);
    pelt_corrective *c = maker_basis(bundle, &seed);
    runner r = open_runner(bundle, c, true);
    pelt_corrective_offsets at = pelt_corrective_layout(&r.skin);
    const char *own = (const char *)r.scratch + pelt_pose_layout(&r.skin).size;
    for (int pose = 0; pose < 5; pose++) {
        maker_pose(bundle, &seed, 0.5, r.locals);
        run(&r, PELT_ISA_SCALAR);
        for (int turns = 0; turns < 2; turns++) {
            pelt_rows rows = turns ? pelt_skin_tilts(&r.skin) : pelt_skin_rows(&r.skin);
            const int16_t *factors = (const int16_t *)(own + (turns ? at.tilt_factors : at.row_factors));
            double scale = ((const float *)(own + at.factor_scales))[turns];
            int most = 0;
            assert_true(rows.factor_count > 10);
            for (uint32_t i = 0; i < rows.factor_count; i++) {
                float a = ((const float *)(own + at.coefficients))[rows.factors[i].coefficient];
                assert_near(factors[i] * scale, (double)a * rows.factors[i].step, 0.501 * scale);
                most = abs(factors[i]) > most ? abs(factors[i]) : most;
            }
            assert_int_equal(most, 32767);
        }
    }
    close_runner(&r), character_free(bundle);
}

/* Reading two interleaved numbers as described in docs/format.md recovers the input to half a step; the norm has its
   own step. */
static void centres_of_16_bits_are_read_as_intended(void **state) {
    (void)state;
    enum { BLOCKS = 3, ROWS = 8 };
    uint64_t seed = 19;
    pelt_arena *arena = pelt_arena_new(0);
    uint32_t first[BLOCKS + 1] = {0, 2, 2, ROWS};
    uint16_t sources[ROWS] = {0};
    pelt_row_lists lists = {first, sources, ROWS};
    for (size_t parts = 3; parts <= 4; parts++) {
        float rows[ROWS * 4 * PELT_BLOCK];
        pelt_factor factors[2 * BLOCKS] = {{0, 0}};
        for (size_t i = 0; i < ROWS * parts * PELT_BLOCK; i++)
            rows[i] = (float)((test_random(&seed) - 0.5) * (i / PELT_BLOCK % parts == 3 ? 100 : 1));
        const int16_t *shorts = pelt_center_shorts(arena, rows, &lists, BLOCKS, (uint32_t[]){0, 1, 2}, parts, factors);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < parts * PELT_BLOCK; i++) {
                const int16_t *two = shorts + r / 2 * 2 * parts * PELT_BLOCK + 2 * i;
                double n = r % 2 ? 65536.0 * two[1] + (uint16_t)two[0] : 65536.0 * two[0];
                float step = factors[(r < 2 ? 0 : 4) + (i / PELT_BLOCK == 3)].step;
                double half = r % 2 && two[1] == -32767 ? 1 : 0.5; /* the end of the range, with the first taken off */
                assert_near(n * step, rows[r * parts * PELT_BLOCK + i], 1.0001 * half * 65536 * step);
                assert_true(65536.0 * step < (i / PELT_BLOCK == 3 ? 51 : 0.51) / 32767); /* and the step is small */
            }
        assert_true(factors[2].step == 0); /* of the block without rows */
    }
    pelt_arena_free(arena);
}

/* All vertices follow one joint, and alternate between two coefficients: ordered by joints alone, every block would
   have rows for both. If joints differ instead, with the same coefficient, blocks are sorted by joints. */
static void blocks_share_displacements_where_joints_leave_a_choice(void **state) {
    (void)state;
    enum { VERTICES = 96 };
    uint64_t seed = 22;
    for (int by_joint = 0; by_joint < 2; by_joint++) {
        pelt_bundle *bundle = character_chain(3, VERTICES);
        pelt_influences *in = &bundle->mesh.influences;
        for (uint32_t v = 0; v < VERTICES; v++)
            for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
                in->joints[i] = by_joint ? v % 3 : 1;
                in->weights[i] = i == in->first[v];
            }
        pelt_rbf rbf = maker_rbf(bundle->arena, &seed, 3, 3, 3, 2, PELT_PHI_MIXED, true);
        uint32_t first[VERTICES + 1], coefficients[VERTICES];
        float vectors[3 * VERTICES];
        for (uint32_t v = 0; v <= VERTICES; v++) first[v] = v;
        for (uint32_t v = 0; v < VERTICES; v++) coefficients[v] = by_joint ? v / 48 : v % 2;
        for (int i = 0; i < 3 * VERTICES; i++) vectors[i] = 1;
        pelt_displacements d = {first, coefficients, vectors};
        pelt_corrective c = {.rbf_count = 1, .rbfs = &rbf, .displacements = &d};
        pelt_skin skin;
        pelt_bytes *file = maker_pack(bundle, &c, false, &skin);
        assert_int_equal(skin.entry_count, VERTICES / 16);
        assert_int_equal(pelt_skin_rows(&skin).first[VERTICES / 16], VERTICES / 16);
        character_free_skin(file), character_free(bundle);
    }
}

/* Blocks use coefficients in threes, 0 3 6, 1 4 7, 2 5 8, for which neighbours would be poor partners. */
static void coefficients_of_the_same_blocks_are_partners(void **state) {
    (void)state;
    enum { BLOCKS = 30, COEFFICIENTS = 9 };
    pelt_arena *arena = pelt_arena_new(0);
    uint32_t first[BLOCKS + 1];
    uint16_t sources[3 * BLOCKS];
    for (uint32_t b = 0; b <= BLOCKS; b++) first[b] = 3 * b;
    for (uint32_t r = 0; r < 3 * BLOCKS; r++) sources[r] = (uint16_t)(r / 3 % 3 + r % 3 * 3);
    pelt_row_lists used = {first, sources, 3 * BLOCKS};
    pelt_partners p = pelt_choose_partners(arena, &used, BLOCKS, COEFFICIENTS);
    assert_int_equal(p.count, COEFFICIENTS + 1);
    uint32_t together = 0;
    for (uint32_t i = 0; i < p.count; i += 2)
        together += p.factors[i].coefficient % 3 == p.factors[i + 1].coefficient % 3;
    assert_true(together >= 4); /* two of each three, and the odd one with its filler */
    for (uint32_t k = 0; k < COEFFICIENTS; k++) assert_int_equal(p.factors[p.factor_of[k]].coefficient, k);
    pelt_arena_free(arena);
}

/* In a chain 0 1 2 3 the middle pair is used together most, but would leave the ends over. Which comes first depends on
   usage. */
static void partners_are_exchanged_where_all_pairs_together_gain(void **state) {
    (void)state;
    enum { PAIRS = 7, BLOCKS = PAIRS + 2 };
    pelt_arena *arena = pelt_arena_new(0);
    for (uint16_t more = 0; more < 4; more += 3) {
        uint32_t first[BLOCKS + 1];
        uint16_t sources[] = {1, 2, 1, 2, 1, 2, 0, 1, 0, 1, 2, 3, 2, 3, more, more};
        for (uint32_t b = 0; b <= BLOCKS; b++) first[b] = b < PAIRS ? 2 * b : b + PAIRS;
        pelt_row_lists used = {first, sources, BLOCKS + PAIRS};
        pelt_partners p = pelt_choose_partners(arena, &used, BLOCKS, 4);
        assert_int_equal(p.count, 4);
        for (uint32_t k = 0; k < 4; k++) {
            assert_int_equal(p.factors[p.factor_of[k]].coefficient, k);
            assert_int_equal(p.factors[p.factor_of[k] ^ 1].coefficient, k ^ 1);
        }
    }
    pelt_arena_free(arena);
}

/* Half of the vertices are displaced by 32767 steps, the others by slightly less or more than half a step. */
static void vectors_below_half_a_step_have_no_rows(void **state) {
    (void)state;
    enum { VERTICES = 32 };
    uint64_t seed = 23;
    for (int more = 0; more < 2; more++) {
        pelt_bundle *bundle = character_chain(3, VERTICES);
        pelt_influences *in = &bundle->mesh.influences;
        for (uint32_t i = 0; i < in->first[VERTICES]; i++) in->joints[i] = 1;
        pelt_rbf rbf = maker_rbf(bundle->arena, &seed, 3, 3, 3, 2, PELT_PHI_MIXED, true);
        uint32_t first[VERTICES + 1], coefficients[VERTICES] = {0};
        float vectors[3 * VERTICES];
        for (uint32_t v = 0; v <= VERTICES; v++) first[v] = v;
        for (int i = 0; i < 3 * VERTICES; i++) vectors[i] = i / 3 % 2 ? 1 : (more ? -0.51f : -0.49f) / 32767;
        pelt_displacements d = {first, coefficients, vectors};
        pelt_corrective c = {.rbf_count = 1, .rbfs = &rbf, .displacements = &d};
        pelt_skin skin;
        pelt_bytes *file = maker_pack(bundle, &c, true, &skin);
        assert_int_equal(pelt_skin_rows(&skin).first[VERTICES / 16], more ? 4 : 2); /* two rows are interleaved */
        character_free_skin(file), character_free(bundle);
    }
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
        for (int j = 0; j < 5 && pose % 2; j++) /* joints that scale also rotate */
            for (int i = 0; i < 3; i++) r.locals[j].scale[i] = 0.7f + 0.15f * (float)j;
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

/* |D_i| <= sum_q |c_iq| / floor for any pose; here with joints rotated and moved far beyond any centre. */
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

/* Opens a copy that ends where the file ends; whatever opens must also run. */
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

static pelt_bytes *small_file(int kind, pelt_bundle **bundle, pelt_skin *skin) {
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
        if (kind == 3) c->kernel = maker_kernel((*bundle)->arena, &seed, 3, 36, 2, 2);
        uint32_t count = pelt_corrective_coefficient_count(c);
        c->displacements = maker_displacements((*bundle)->arena, &seed, 17, count, 2, 0.1);
        c->tilts = maker_displacements((*bundle)->arena, &seed, 17, count, 2, 0.1);
    }
    return maker_pack(*bundle, c, kind == 1, skin);
}

static void any_overwritten_field_is_refused_or_harmless(void **state) {
    (void)state;
    static const uint32_t values[] = {0, 1, 0xffffffffu, 0x7fc00000u, 0x80000000u, 0x10000u, 0x40u, 3};
    for (int kind = 0; kind < 3; kind++) {
        pelt_bundle *bundle;
        pelt_skin skin;
        pelt_bytes *file = small_file(kind, &bundle, &skin);
        uint8_t *copy = malloc(file->size);
        memcpy(copy, file->bytes, file->size);
        size_t head = (size_t)((const char *)pelt_skin_corrective(&skin) - (const char *)file->bytes);
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
            pelt_bytes *file = small_file(kind, &bundle, &skin);
            uint8_t *entry = table_entry(file->bytes, needed[kind][i]);
            assert_non_null(entry);
            entry[0] = 'x', entry[4] = 0; /* someone else's section, not required */
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
        pelt_bytes *file = small_file(what == 6 ? 2 : !has_rbf, &bundle, &skin);
        uint32_t *head = (uint32_t *)pelt_skin_corrective(&skin);
        char *section = (char *)head;
        uint64_t axes, rbfs;
        memcpy(&rbfs, section + 16, 8), memcpy(&axes, section + 24, 8);
        pelt_result expected = what == 5 || what == 13                ? PELT_ERROR_NUMBER
                               : what == 3 || what == 4 || what == 14 ? PELT_ERROR_FORMAT
                                                                      : PELT_ERROR_INDEX;
        pelt_control *control = (pelt_control *)skin.controls;
        pelt_rows rows = pelt_skin_rows(&skin), turns = pelt_skin_tilts(&skin);
        if (what == 0) ((uint16_t *)rows.sources)[0] = (uint16_t)head[0];      /* a coefficient that does not exist */
        if (what == 1) memcpy(section + axes + 4, &(uint32_t){3}, 4);          /* a joint that does not exist */
        if (what == 2) ((uint32_t *)rows.first)[0] = 1;                        /* rows that do not begin at 0 */
        if (what == 3) head[0]++;                                              /* a coefficient that nothing drives */
        if (what == 4) memcpy(section + rbfs + 8, &(uint32_t){0x10000000}, 4); /* more centres than there are */
        if (what == 5) ((pelt_factor *)turns.factors)[0].step = INFINITY;      /* steps of no size */
        if (what == 6) ((uint16_t *)pelt_skin_axes(&skin).sources)[0] = 9;     /* an axis that does not exist */
        if (what == 7) ((uint16_t *)turns.sources)[1] ^= 3;                    /* two rows of no partners */
        if (what == 8) ((uint32_t *)rows.first)[1]--;                          /* half of two rows */
        if (what == 9) ((pelt_factor *)rows.factors)[1].coefficient = head[0]; /* of no coefficient */
        if (what == 10) memcpy(section + axes + 32 * 3 + 4, &(uint32_t){MAKER_CONTROLS}, 4); /* a control likewise */
        if (what == 11) { /* a kernel joint beyond joints and controls */
            uint64_t kernel, joints;
            memcpy(&kernel, section + 48, 8), memcpy(&joints, section + kernel + 16, 8);
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

/* -- Every field of DRIV ------------------------------------------------------------------------------------------- */

typedef enum place {
    HEAD,
    AXIS,
    RBF,
    RBF_CENTERS,
    RBF_MATRIX,
    RBF_BIAS,
    KERNEL,
    KERNEL_JOINT,
    KERNEL_CENTERS,
    LONE,
    UNIT,
    GROUP,
    GROUP_UNITS,
    GROUP_CENTERS,
    GROUP_MATRIX,
    WEIGHED,
    WEIGHED_CENTERS,
    AXIS_WEIGHTS
} place;

static char *place_of(const pelt_skin *skin, place what) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    char *bytes = (char *)head;
    const pelt_file_rbf *rbf = (const void *)(bytes + head->rbfs);
    const pelt_file_kernel *kernel = (const void *)(bytes + head->kernel);
    const pelt_file_weighted *weighted = (const void *)(bytes + head->weighted);
    if (what == AXIS_WEIGHTS) return (char *)pelt_skin_axes(skin).weights;
    if (what <= AXIS) return bytes + (what == HEAD ? 0 : head->axes);
    if (what <= RBF_BIAS) {
        const uint64_t at[] = {head->rbfs, rbf->centers, rbf->matrix, rbf->bias};
        return bytes + at[what - RBF];
    }
    if (what >= WEIGHED) return bytes + (what == WEIGHED ? head->weighted : weighted->centers);
    const pelt_file_kernel_group *group = (const void *)(bytes + kernel->groups);
    const uint64_t at[] = {head->kernel,   kernel->joints, kernel->centers, kernel->lone, kernel->units,
                           kernel->groups, group->units,   group->centers,  group->matrix};
    return bytes + at[what - KERNEL];
}

static void every_field_of_a_corrective_has_its_range(void **state) {
    (void)state;
    const uint32_t NOT_A_NUMBER = 0x7fc00000u, MINUS_ONE = 0xbf800000u, TINY = 0x358637bdu, /* 1e-6 */
        HUGE_WIDTH = 0x4e6e6b28u /* 1e9 */, FINE = PELT_OK, WRONG = PELT_ERROR_FORMAT, INDEX = PELT_ERROR_INDEX,
                   NUMBER = PELT_ERROR_NUMBER, UNKNOWN = PELT_ERROR_UNSUPPORTED;
    const struct {
        int kind; /* of small_file: 0 has an rbf of 5 axes, 3 centres, 2 coefficients and a norm; 1 a kernel of 5 joints, 4
                     centres, 10 units, 2 groups of 2 coefficients; 2 the weighted form of 9 axes and 21 centres; 3 the
                     kernel with 36 centres, of which 16 are shared and 20 lone */
        place where;
        size_t offset;
        uint32_t value, result;
    } cases[] = {
        {0, HEAD, 0, 3, WRONG},            /* coefficient_count */
        {0, HEAD, 4, 0, WRONG},            /* rbf_count */
        {0, HEAD, 4, 0xffffffffu, WRONG},  /* more rbfs than there is room for */
        {0, HEAD, 8, 4, INDEX},            /* axis_count: the rbf has 5 */
        {0, HEAD, 8, 0xffffffffu, WRONG},  /* more axes than there is room for */
        {0, HEAD, 16, 96, WRONG},          /* an offset that is no multiple of 64 */
        {0, HEAD, 16, 0x40000000u, WRONG}, /* outside */
        {0, HEAD, 32, 64, WRONG},          /* where kernels of another form were */
        {0, AXIS, 0, 0, FINE},             /* kinds */
        {0, AXIS, 0, 1, UNKNOWN},          /* the hinge that once was */
        {0, AXIS, 0, 2, FINE},
        {0, AXIS, 0, 3, FINE},
        {0, AXIS, 0, 4, FINE},
        {0, AXIS, 0, 5, FINE},
        {0, AXIS, 0, 6, FINE},
        {0, AXIS, 0, 7, NUMBER}, /* a hinge without a direction */
        {0, AXIS, 0, 8, UNKNOWN},
        {0, AXIS, 4 * 32 + 12, 0, NUMBER}, /* the fifth is a hinge: direction, of unit length */
        {0, AXIS, 4 * 32 + 16, NOT_A_NUMBER, NUMBER},
        {0, AXIS, 4 * 32 + 24, 0, FINE}, /* middle */
        {0, AXIS, 4 * 32 + 24, 0x41000000u, NUMBER},
        {0, AXIS, 4 * 32 + 28, 0, NUMBER},           /* reach */
        {0, AXIS, 4 * 32 + 28, 0x4048f5c2u, FINE},   /* just below 3.14 */
        {0, AXIS, 4 * 32 + 28, 0x40490fdbu, NUMBER}, /* pi */
        {0, AXIS, 4, 2, FINE},                       /* the last joint */
        {0, AXIS, 4, 3, INDEX},
        {0, AXIS, 3 * 32 + 4, MAKER_CONTROLS - 1, FINE},
        {0, AXIS, 3 * 32 + 4, MAKER_CONTROLS, INDEX},
        {0, AXIS, 20, 0, FINE}, /* weight */
        {0, AXIS, 20, MINUS_ONE, NUMBER},
        {0, AXIS, 20, NOT_A_NUMBER, NUMBER},
        {0, RBF, 0, 1, INDEX}, /* first_axis */
        {0, RBF, 0, 6, INDEX},
        {0, RBF, 4, 4, FINE}, /* axis_count */
        {0, RBF, 4, 6, INDEX},
        {0, RBF, 8, 0, WRONG}, /* center_count */
        {0, RBF, 8, 16, FINE}, /* there is padding to 16 */
        {0, RBF, 8, 65537, WRONG},
        {0, RBF, 12, 1, WRONG}, /* coefficient_count */
        {0, RBF, 16, 1, WRONG}, /* first_coefficient */
        {0, RBF, 20, 2, FINE},  /* phi */
        {0, RBF, 20, 3, UNKNOWN},
        {0, RBF, 24, 0, FINE}, /* normalised */
        {0, RBF, 24, 2, WRONG},
        {0, RBF, 28, TINY, FINE}, /* width */
        {0, RBF, 28, TINY - 1, NUMBER},
        {0, RBF, 28, HUGE_WIDTH, FINE},
        {0, RBF, 28, HUGE_WIDTH + 1, NUMBER},
        {0, RBF, 28, NOT_A_NUMBER, NUMBER},
        {0, RBF, 32, 0x40000000u, WRONG}, /* centers, matrix, bias: offsets */
        {0, RBF, 40, 0x40000000u, WRONG},
        {0, RBF, 48, 0x40000000u, WRONG},
        {0, RBF_CENTERS, 0, NOT_A_NUMBER, NUMBER},
        {0, RBF_CENTERS, 4 * (4 * 5 * 16 - 1), NOT_A_NUMBER, NUMBER},
        {0, RBF_MATRIX, 0, NOT_A_NUMBER, NUMBER},
        {0, RBF_MATRIX, 4 * (3 * 16 - 1), NOT_A_NUMBER, NUMBER}, /* the last of the norm */
        {0, RBF_BIAS, 4 * 2, NOT_A_NUMBER, NUMBER},              /* that of the norm */
        {1, KERNEL, 48, 96, WRONG},                              /* lone centres: an offset that is no multiple of 64 */
        {1, KERNEL, 48, 0x40000000u, WRONG},                     /* outside */
        {1, KERNEL, 56, 7, FINE},                                /* shared_count, when there are none */
        {1, KERNEL, 0, 0xffffffffu, WRONG},                      /* joint_count */
        {1, KERNEL, 0, 4, INDEX},                                /* units name the fifth */
        {1, KERNEL, 4, 0, WRONG},                                /* center_count */
        {1, KERNEL, 4, 3, INDEX},                                /* groups name the fourth */
        {1, KERNEL, 4, 16, FINE},
        {1, KERNEL, 4, 65537, WRONG},
        {1, KERNEL, 8, 9, INDEX}, /* unit_count */
        {1, KERNEL, 8, 0xffffffffu, WRONG},
        {1, KERNEL, 12, 1, WRONG}, /* group_count: fewer coefficients than there are */
        {1, KERNEL, 12, 0xffffffffu, WRONG},
        {1, KERNEL_JOINT, 0, 3 + MAKER_CONTROLS - 1, FINE},
        {1, KERNEL_JOINT, 0, 3 + MAKER_CONTROLS, INDEX},
        {1, KERNEL_JOINT, 4, 0, FINE}, /* scale */
        {1, KERNEL_JOINT, 4, MINUS_ONE, NUMBER},
        {1, KERNEL_JOINT, 4, NOT_A_NUMBER, NUMBER},
        {1, KERNEL_CENTERS, 4 * (5 * 5 * 16 - 1), NOT_A_NUMBER, NUMBER},
        {1, UNIT, 0, 4, FINE}, /* first, second */
        {1, UNIT, 0, 5, INDEX},
        {1, UNIT, 4, 5, INDEX},
        {1, UNIT, 16 * 9 + 4, 5, INDEX},    /* of the last unit */
        {1, UNIT, 8, NOT_A_NUMBER, NUMBER}, /* gain */
        {1, GROUP, 0, 0xffffffffu, WRONG},  /* unit_count */
        {1, GROUP, 4, 0, WRONG},            /* center_count */
        {1, GROUP, 4, 0x10000000u, WRONG},
        {1, GROUP, 8, 1, WRONG},       /* coefficient_count */
        {1, GROUP, 12, 1, WRONG},      /* first_coefficient */
        {1, GROUP, 64 + 12, 1, WRONG}, /* of the second group */
        {1, GROUP_UNITS, 0, 9, FINE},
        {1, GROUP_UNITS, 0, 10, INDEX},
        {1, GROUP_CENTERS, 0, 3, FINE},
        {1, GROUP_CENTERS, 0, 4, INDEX},
        {1, GROUP_MATRIX, 4 * (2 * 16 - 1), NOT_A_NUMBER, NUMBER},
        {3, KERNEL, 56, 8, WRONG},  /* shared_count: a multiple of 16 */
        {3, KERNEL, 56, 48, WRONG}, /* and below center_count */
        {3, KERNEL, 4, 16, WRONG},
        {3, LONE, 0, NOT_A_NUMBER, NUMBER}, /* pose */
        {3, LONE, 32 + 12, NOT_A_NUMBER, NUMBER},
        {3, LONE, 16, 4, FINE}, /* joint */
        {3, LONE, 16, 5, INDEX},
        {3, LONE, 19 * 32 + 16, 5, INDEX},   /* of the last one */
        {3, LONE, 20, NOT_A_NUMBER, NUMBER}, /* rest */
        {2, WEIGHED, 0, 1, INDEX},           /* first_axis */
        {2, WEIGHED, 4, 10, INDEX},          /* axis_count */
        {2, WEIGHED, 8, 0, WRONG},           /* center_count */
        {2, WEIGHED, 8, 32, FINE},
        {2, WEIGHED, 12, 3, UNKNOWN},       /* phi */
        {2, WEIGHED, 16, TINY - 1, NUMBER}, /* width */
        {2, WEIGHED, 20, 2, WRONG},         /* normalised */
        {2, WEIGHED, 20, 0, WRONG},         /* the rows have a norm */
        {2, WEIGHED_CENTERS, 4 * (4 * 9 * 32 - 1), NOT_A_NUMBER, NUMBER},
        {2, AXIS_WEIGHTS, 0, NOT_A_NUMBER, NUMBER},
        {2, AXIS_WEIGHTS, 0, MINUS_ONE, NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_bundle *bundle;
        pelt_skin skin;
        pelt_bytes *file = small_file(cases[i].kind, &bundle, &skin);
        memcpy(place_of(&skin, cases[i].where) + cases[i].offset, &cases[i].value, 4);
        pelt_result result = try_file(file->bytes, file->size);
        if (result != (pelt_result)cases[i].result)
            fail_msg("case %zu (place %d, offset %zu, value %u): %s", i, (int)cases[i].where, cases[i].offset,
                     cases[i].value, pelt_result_text(result));
        character_free_skin(file), character_free(bundle);
    }
}

static void arrays_lie_inside_their_section(void **state) {
    (void)state;
    static const char bytes[192];
    const pelt_section s = {bytes, sizeof bytes};
    assert_ptr_equal(pelt_array_at(&s, 0, 6, 8, 4), bytes);
    assert_ptr_equal(pelt_array_at(&s, 128, 4, 4, 4), bytes + 128);
    assert_ptr_equal(pelt_array_at(&s, 192, 0, 4, 4), bytes + 192); /* of nothing */
    assert_null(pelt_array_at(&s, 128, 65, 1, 1));
    assert_null(pelt_array_at(&s, 128, 13, 5, 1));
    assert_null(pelt_array_at(&s, 128, 4, 4, 5));
    assert_null(pelt_array_at(&s, 192, 1, 1, 1));
    assert_null(pelt_array_at(&s, 256, 0, 1, 1));
    assert_null(pelt_array_at(&s, 32, 1, 1, 1));
    assert_null(pelt_array_at(&s, 0, UINT64_C(1) << 33, UINT64_C(1) << 31, 4)); /* 2^66 bytes */
    assert_null(pelt_array_at(&s, 0, 2, UINT64_C(1) << 63, 1));
}

/* Section sizes follow from their contents: one number fewer or more is refused. */
static void sections_of_a_corrective_have_exactly_their_size(void **state) {
    (void)state;
    static const char *const kinds[3][11] = {{"CBLK", "CSRC", "CF32", "TBLK", "TSRC", "TF32"},
                                             {"CBLK", "CSRC", "CI16", "CFAC", "TBLK", "TSRC", "TI16", "TFAC"},
                                             {"CBLK", "CSRC", "CF32", "TF32", "ABLK", "ASRC", "AWGT"}};
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; kinds[kind][i]; i++)
            for (int more = -1; more <= 1; more += 2) {
                pelt_bundle *bundle;
                pelt_skin skin;
                pelt_bytes *file = small_file(kind, &bundle, &skin);
                uint8_t *entry = table_entry(file->bytes, kinds[kind][i]);
                uint64_t size;
                memcpy(&size, table_entry(file->bytes, "NAME") + 16, 8);
                assert_int_equal(size, 3 * sizeof "joint0" + sizeof "flex" + sizeof "smile");
                memcpy(&size, entry + 16, 8);
                size += (uint64_t)(more * (strstr("CSRC TSRC ASRC CI16 TI16", kinds[kind][i]) ? 2 : 4));
                memcpy(entry + 16, &size, 8);
                if (try_file(file->bytes, file->size) == PELT_OK) fail_msg("%s %+d", kinds[kind][i], more);
                character_free_skin(file), character_free(bundle);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_gives_the_basis_form_of_the_definition),
        cmocka_unit_test(every_instruction_set_gives_the_weighted_form_of_the_definition),
        cmocka_unit_test(numbers_of_16_bits_stay_within_their_bound_on_every_instruction_set),
        cmocka_unit_test(radial_functions_differ_from_1_by_what_they_should_to_half_a_millionth),
        cmocka_unit_test(coefficients_are_as_many_as_their_count_says),
        cmocka_unit_test(distances_are_computed_of_centres_that_are_not_where_the_first_is),
        cmocka_unit_test(coefficients_are_rounded_to_the_nearest_of_16_bits),
        cmocka_unit_test(centres_of_16_bits_are_read_as_intended),
        cmocka_unit_test(blocks_share_displacements_where_joints_leave_a_choice),
        cmocka_unit_test(coefficients_of_the_same_blocks_are_partners),
        cmocka_unit_test(partners_are_exchanged_where_all_pairs_together_gain),
        cmocka_unit_test(vectors_below_half_a_step_have_no_rows),
        cmocka_unit_test(poses_given_as_matrices_drive_it_like_poses_given_as_transforms),
        cmocka_unit_test(any_range_of_blocks_gives_the_same_bytes),
        cmocka_unit_test(no_pose_takes_the_weighted_form_beyond_its_bound),
        cmocka_unit_test(any_overwritten_field_is_refused_or_harmless),
        cmocka_unit_test(a_corrective_that_lacks_a_section_is_refused),
        cmocka_unit_test(wrong_indices_and_numbers_of_a_corrective_are_told_apart),
        cmocka_unit_test(every_field_of_a_corrective_has_its_range),
        cmocka_unit_test(arrays_lie_inside_their_section),
        cmocka_unit_test(sections_of_a_corrective_have_exactly_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
