/* test_runtime.c: poses and the deform loops, against a blend in double written here with plain matrices. */

#include "test/allocations.h"
#include "test/character.h"
#include <pelt/pelt.h>

/* -- The reference ------------------------------------------------------------------------------------------------ */

typedef struct matrix {
    double m[3][4];
} matrix;

/* Columns are the images of the axes: v + 2 w (u x v) + 2 u x (u x v) with q = (u, w). */
static matrix reference_local(const pelt_transform *t) {
    double q[4], norm = 0;
    for (int i = 0; i < 4; i++) norm += (double)t->rotation[i] * t->rotation[i];
    for (int i = 0; i < 4; i++) q[i] = t->rotation[i] / sqrt(norm);
    matrix out;
    for (int c = 0; c < 3; c++) {
        double v[3] = {c == 0, c == 1, c == 2};
        double a[3] = {q[1] * v[2] - q[2] * v[1], q[2] * v[0] - q[0] * v[2], q[0] * v[1] - q[1] * v[0]};
        double b[3] = {q[1] * a[2] - q[2] * a[1], q[2] * a[0] - q[0] * a[2], q[0] * a[1] - q[1] * a[0]};
        for (int r = 0; r < 3; r++) out.m[r][c] = t->scale[c] * (v[r] + 2 * q[3] * a[r] + 2 * b[r]);
    }
    for (int r = 0; r < 3; r++) out.m[r][3] = t->translation[r];
    return out;
}

static matrix reference_product(const matrix *a, const matrix *b) {
    matrix out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) {
            out.m[r][c] = c == 3 ? a->m[r][3] : 0;
            for (int k = 0; k < 3; k++) out.m[r][c] += a->m[r][k] * b->m[k][c];
        }
    return out;
}

/* The inverse transpose of the 3x3 part, by elimination; false when there is none. */
static bool reference_inverse_transpose(const matrix *a, matrix *out) {
    double w[3][6];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 6; c++) w[r][c] = c < 3 ? a->m[r][c] : c - 3 == r;
    for (int k = 0; k < 3; k++) {
        int pivot = k;
        for (int r = k; r < 3; r++)
            if (fabs(w[r][k]) > fabs(w[pivot][k])) pivot = r;
        if (w[pivot][k] == 0) return false;
        for (int c = 0; c < 6; c++) {
            double swap = w[k][c];
            w[k][c] = w[pivot][c], w[pivot][c] = swap;
        }
        for (int c = 5; c >= 0; c--) w[k][c] /= w[k][k];
        for (int r = 0; r < 3; r++)
            for (int c = 5; c >= 0 && r != k; c--) w[r][c] -= w[r][k] * w[k][c];
    }
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) out->m[r][c] = c < 3 ? w[c][3 + r] : 0;
    return true;
}

static bool reference_mirrors(const matrix *a) {
    double volume = 0; /* of the images of the axes */
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        volume += a->m[i][0] * (a->m[j][1] * a->m[k][2] - a->m[k][1] * a->m[j][2]);
    }
    return volume < 0;
}

static matrix *reference_globals(const pelt_skeleton *skeleton, const pelt_transform *locals) {
    matrix *globals = calloc(skeleton->joint_count, sizeof *globals);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        matrix local = reference_local(&locals[j]);
        globals[j] = skeleton->parents[j] < 0 ? local : reference_product(&globals[skeleton->parents[j]], &local);
    }
    return globals;
}

typedef struct reference {
    double *positions, *normals; /* [vertex][3]; normals not yet of unit length */
    double *tangents;            /* [vertex][4] moved by the blend, not yet orthogonal to the normals */
    double size;                 /* of the posed mesh, and at least of the mesh at rest */
} reference;

static reference reference_blend(const pelt_bundle *bundle, const pelt_transform *locals) {
    const pelt_mesh *mesh = &bundle->mesh;
    uint32_t joints = bundle->skeleton.joint_count;
    matrix *globals = reference_globals(&bundle->skeleton, locals), *turns = calloc(joints, sizeof *turns);
    for (uint32_t j = 0; j < joints; j++) {
        matrix bind;
        memcpy(bind.m, bundle->skeleton.inverse_bind[j], sizeof bind.m);
        globals[j] = reference_product(&globals[j], &bind);
        reference_inverse_transpose(&globals[j], &turns[j]);
    }
    reference out = {calloc(mesh->vertex_count, 24), calloc(mesh->vertex_count, 24), calloc(mesh->vertex_count, 32),
                     mesh->diagonal};
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        const float *p = mesh->positions + 3 * v, *n = mesh->normals + 3 * v;
        static const float none[4] = {1, 0, 0, 1};
        const float *a = mesh->tangents ? mesh->tangents + 4 * v : none;
        double hand = 0;
        for (uint32_t i = mesh->influences.first[v]; i < mesh->influences.first[v + 1]; i++) {
            hand += mesh->influences.weights[i] * (reference_mirrors(&globals[mesh->influences.joints[i]]) ? -1 : 1);
            for (size_t r = 0; r < 3; r++) {
                const double *t = globals[mesh->influences.joints[i]].m[r], *u = turns[mesh->influences.joints[i]].m[r];
                double w = mesh->influences.weights[i];
                out.positions[3 * v + r] += w * (t[0] * p[0] + t[1] * p[1] + t[2] * p[2] + t[3]);
                out.normals[3 * v + r] += w * (u[0] * n[0] + u[1] * n[1] + u[2] * n[2]);
                out.tangents[4 * v + r] += w * (t[0] * a[0] + t[1] * a[1] + t[2] * a[2]);
            }
        }
        out.tangents[4 * v + 3] = hand < 0 ? -a[3] : a[3];
        for (size_t r = 0; r < 3; r++) out.size = fmax(out.size, fabs(out.positions[3 * v + r]));
    }
    free(globals), free(turns);
    return out;
}

static void reference_free(reference *r) { free(r->positions), free(r->normals), free(r->tangents); }

/* -- Subjects ----------------------------------------------------------------------------------------------------- */

enum { JOINTS = 48 };

/* A tree of joints, rotated and moved at rest, in a tube with random weights and normals. */
static pelt_bundle *tangle(uint32_t vertex_count, uint32_t influences, uint64_t seed) {
    int32_t parents[JOINTS];
    for (int j = 0; j < JOINTS; j++) parents[j] = j ? (j - 1) / 2 : -1;
    pelt_bundle *bundle = character_new(JOINTS, parents);
    for (int j = 0; j < JOINTS; j++) {
        pelt_transform *rest = &bundle->skeleton.rest[j];
        *rest = character_turn(test_random(&seed) - 0.5, 1, test_random(&seed) - 0.5, 60 * test_random(&seed));
        for (int i = 0; i < 3; i++) rest->translation[i] = (float)(test_random(&seed) - 0.5);
    }
    character_bind(bundle);
    character_tube(bundle, vertex_count, 0.5, 2);
    for (uint32_t v = 0; v < vertex_count; v++) {
        double n[3], length = 0;
        for (int i = 0; i < 3; i++) n[i] = test_random(&seed) - 0.5, length += n[i] * n[i];
        for (int i = 0; i < 3; i++) bundle->mesh.normals[3 * (size_t)v + (size_t)i] = (float)(n[i] / sqrt(length));
    }
    character_random_tangents(bundle, &seed);
    if (bundle->mesh.diagonal < 1) bundle->mesh.diagonal = 1;
    character_random_weights(bundle, influences, &seed);
    return bundle;
}

typedef enum posing { RIGID, EVEN_SCALE, UNEVEN_SCALE, MIRRORED, MIRRORED_AND_SCALED, SQUASHED } posing;

static void make_pose(const pelt_bundle *bundle, posing how, uint64_t seed, pelt_transform *locals) {
    for (uint32_t j = 0; j < bundle->skeleton.joint_count; j++) {
        locals[j] = character_turn(test_random(&seed) - 0.5, test_random(&seed) - 0.5, test_random(&seed) - 0.5,
                                   90 * test_random(&seed));
        for (int i = 0; i < 4; i++) locals[j].rotation[i] *= 1.7f; /* need not be of unit length */
        memcpy(locals[j].translation, bundle->skeleton.rest[j].translation, sizeof locals[j].translation);
        double even = 0.8 + 0.5 * test_random(&seed);
        for (int i = 0; i < 3; i++) {
            double uneven = 0.7 + 0.7 * test_random(&seed);
            if (how == EVEN_SCALE) locals[j].scale[i] = (float)even;
            if (how == UNEVEN_SCALE || how == MIRRORED_AND_SCALED) locals[j].scale[i] = (float)uneven;
            if ((how == MIRRORED || how == MIRRORED_AND_SCALED) && j % 3 == 1 && i == 0) locals[j].scale[i] *= -1;
            if (how == SQUASHED && j % 5 == 2) locals[j].scale[i] = j % 2 || i == 1 ? 0.0f : 1e-9f;
        }
    }
}

typedef struct output {
    float *positions, *normals, *tangents; /* in slot order, aligned to 64 */
    size_t count;                          /* floats of positions, and of normals */
} output;

static output output_new(const pelt_skin *skin) {
    size_t size = pelt_output_size(skin);
    return (output){aligned_alloc(64, size), aligned_alloc(64, size), aligned_alloc(64, pelt_tangents_size(skin)),
                    size / 4};
}

static void output_free(output *out) { free(out->positions), free(out->normals), free(out->tangents); }

/* All of it. */
static void deform(const pelt_skin *skin, void *scratch, output *out) {
    pelt_deform_to(skin, scratch, pelt_all_blocks(skin),
                   &(pelt_output){{out->positions}, {out->normals}, {out->tangents}});
}

static void *scratch_new(const pelt_skin *skin) { return aligned_alloc(64, pelt_scratch_size(skin)); }

/* -- Tests -------------------------------------------------------------------------------------------------------- */

static int isas_work[PELT_ISA_COUNT];

static int list_isas(void **state) {
    (void)state;
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        isas_work[isa] = pelt_isa_works((pelt_isa)isa);
        if (!isas_work[isa]) print_message("skipped: this machine has no %s\n", pelt_isa_name((pelt_isa)isa));
    }
    return 0;
}

static void compare_with_reference(const pelt_skin *skin, const reference *truth, const output *out) {
    for (size_t v = 0; v < skin->vertex_count; v++) {
        const float *p = out->positions + 3 * (size_t)skin->vertex_slots[v];
        const float *n = out->normals + 3 * (size_t)skin->vertex_slots[v];
        const double *q = truth->positions + 3 * v, *m = truth->normals + 3 * v;
        double length = sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]), unit = 0;
        double rounding = 1e-5 / fmin(length, 1); /* a normal that the blend shortened has fewer digits */
        for (int i = 0; i < 3; i++) {
            assert_near(p[i], q[i], 1e-6 * truth->size);
            assert_near(n[i], m[i] / length, rounding);
            unit += (double)n[i] * n[i];
        }
        assert_near(sqrt(unit), 1, 1e-6);
        if (!skin->rest_tangents) continue;
        const float *t = out->tangents + 4 * (size_t)skin->vertex_slots[v];
        const double *s = truth->tangents + 4 * v;
        double depth = 0, left = 0, across = 0, own = 0;
        for (int i = 0; i < 3; i++) depth += s[i] * m[i] / length;
        for (int i = 0; i < 3; i++) left += pow(s[i] - depth * m[i] / length, 2);
        left = sqrt(left);
        for (int i = 0; i < 3; i++) {
            assert_near(t[i], (s[i] - depth * m[i] / length) / left,
                        2 * rounding * fmax(fabs(depth), 1) / fmin(left, 1));
            across += (double)t[i] * n[i], own += (double)t[i] * t[i];
        }
        assert_near(across, 0, 3e-6 * fmax(fabs(depth), 1) / fmin(left, 1));
        assert_near(sqrt(own), 1, 1e-6);
        assert_true(t[3] == s[3]);
    }
}

static void check_pose(const pelt_bundle *bundle, posing how, uint64_t seed) {
    pelt_transform locals[JOINTS];
    make_pose(bundle, how, seed, locals);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    reference truth = reference_blend(bundle, locals);
    void *scratch = scratch_new(&skin);
    output plain = output_new(&skin), out = output_new(&skin);
    pelt_pose(&skin, locals, scratch);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!isas_work[isa]) continue;
        skin.isa = (pelt_isa)isa;
        deform(&skin, scratch, &out);
        compare_with_reference(&skin, &truth, &out);
        if (isa == PELT_ISA_SCALAR) memcpy(plain.positions, out.positions, plain.count * 4);
        for (size_t i = 0; i < out.count; i++) assert_near(out.positions[i], plain.positions[i], 1e-6 * truth.size);
        /* Positions alone are the same as positions with normals. */
        float *alone = plain.normals;
        pelt_deform(&skin, scratch, pelt_all_blocks(&skin), alone, NULL);
        for (size_t i = 0; i < out.count; i++) assert_near(alone[i], out.positions[i], 1e-6 * truth.size);
        /* And normals are the same without tangents. */
        pelt_deform(&skin, scratch, pelt_all_blocks(&skin), plain.tangents, alone);
        assert_memory_equal(alone, out.normals, out.count * 4);
    }
    reference_free(&truth);
    output_free(&plain), output_free(&out);
    free(scratch);
    character_free_skin(bytes);
}

static void check_poses(posing how) {
    static const uint32_t counts[] = {1, 15, 16, 17, 1000}, influences[] = {1, 2, 3, 4, 5, 8, 17, 40};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t k = 0; k < sizeof influences / sizeof *influences; k++) {
            uint64_t seed = 100 * c + k;
            pelt_bundle *bundle = tangle(counts[c], influences[k], seed);
            check_pose(bundle, how, seed + 7);
            character_free(bundle);
        }
}

static void rigid_poses_equal_the_blend_in_double(void **state) { (void)state, check_poses(RIGID); }
static void evenly_scaled_joints_equal_the_blend_in_double(void **state) { (void)state, check_poses(EVEN_SCALE); }
static void unevenly_scaled_joints_turn_normals_by_the_inverse_transpose(void **state) {
    (void)state, check_poses(UNEVEN_SCALE);
}
static void mirrored_joints_equal_the_blend_in_double(void **state) { (void)state, check_poses(MIRRORED); }
static void mirrored_and_scaled_joints_keep_the_sign_of_normals(void **state) {
    (void)state, check_poses(MIRRORED_AND_SCALED);
}

static void every_influence_count_to_40_is_blended(void **state) {
    (void)state;
    for (uint32_t k = 1; k <= 40; k++) {
        pelt_bundle *bundle = tangle(33, k, k);
        check_pose(bundle, UNEVEN_SCALE, k);
        character_free(bundle);
    }
}

/* Seventeen coinciding vertices: sixteen are a block with two joints, and one is in a block with forty or more. */
static void a_vertex_has_the_same_bits_in_blocks_of_few_and_of_many_joints(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(32, 40, 5);
    const pelt_influences *in = &bundle->mesh.influences;
    for (size_t v = 0; v < 17; v++) {
        memcpy(bundle->mesh.positions + 3 * v, (float[3]){0.3f, -0.7f, 0.45f}, 3 * sizeof(float));
        for (uint32_t k = 0; k < 40; k++) {
            in->joints[in->first[v] + k] = 3 + k;
            in->weights[in->first[v] + k] = k < 2 ? 0.3f + 0.4f * (float)k : 0;
        }
    }
    pelt_transform locals[JOINTS];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    uint32_t few = skin.block_first[1], many = skin.block_first[2] - few;
    assert_true((few < many ? few : many) == 2 && (few < many ? many : few) >= 40);
    for (int turn = 0; turn < 20 * PELT_ISA_COUNT; turn++) { /* different sums can round to the same value in one
                                                                pose */
        skin.isa = (pelt_isa)(turn % PELT_ISA_COUNT);
        if (!isas_work[skin.isa]) continue;
        make_pose(bundle, RIGID, (uint64_t)turn, locals);
        pelt_pose(&skin, locals, scratch);
        for (int normals = 0; normals < 2; normals++) {
            pelt_deform(&skin, scratch, pelt_all_blocks(&skin), out.positions, normals ? out.normals : NULL);
            for (size_t v = 1; v < 17; v++)
                assert_memory_equal(out.positions + 3 * skin.vertex_slots[v], out.positions + 3 * skin.vertex_slots[0],
                                    3 * sizeof(float));
        }
    }
    output_free(&out);
    free(scratch);
    character_free_skin(bytes);
    character_free(bundle);
}

static void joints_scaled_to_nothing_give_finite_output(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(200, 2, 3);
    pelt_transform locals[JOINTS];
    make_pose(bundle, SQUASHED, 4, locals);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    pelt_pose(&skin, locals, scratch);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!isas_work[isa]) continue;
        skin.isa = (pelt_isa)isa;
        deform(&skin, scratch, &out);
        for (size_t i = 0; i < out.count; i++) {
            assert_true(isfinite(out.positions[i]));
            assert_true(fabsf(out.normals[i]) <= 1 + 1e-6);
        }
        for (size_t i = 0; i < out.count / 3 * 4; i++) assert_true(fabsf(out.tangents[i]) <= 1 + 1e-6);
    }
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

/* One joint, one vertex with normal (1, 1, 0) / sqrt(2); the normal after a scale, at this distance. */
static void far_scaled_normal(float far, float x, float y, float z, float normal[3]) {
    pelt_bundle *bundle = character_new(1, NULL);
    character_bind(bundle);
    character_tube(bundle, 1, 1, 1);
    uint64_t seed = 1;
    character_random_weights(bundle, 1, &seed);
    bundle->mesh.normals[0] = bundle->mesh.normals[1] = (float)sqrt(0.5);
    pelt_transform local = character_still;
    local.scale[0] = x, local.scale[1] = y, local.scale[2] = z;
    for (int i = 0; i < 3; i++) local.translation[i] = far;
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    pelt_pose(&skin, &local, scratch);
    pelt_deform(&skin, scratch, pelt_all_blocks(&skin), out.positions, out.normals);
    memcpy(normal, out.normals + 3 * skin.vertex_slots[0], 12);
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

static void scaled_normal(float x, float y, float z, float normal[3]) { far_scaled_normal(0, x, y, z, normal); }

static void where_a_mirrored_joint_is_does_not_matter_to_normals(void **state) {
    (void)state;
    float n[3];
    for (float far = 0; far < 1e6f; far = 10 * far + 1) {
        far_scaled_normal(far, -1.2f, 1.2f, 1.2f, n);
        for (int i = 0; i < 3; i++) assert_near(n[i], i ? i < 2 ? sqrt(0.5) : 0 : -sqrt(0.5), 1e-6);
    }
}

static void normals_keep_unit_length_at_any_size_of_a_joint(void **state) {
    (void)state;
    float n[3];
    for (double scale = 1e-11; scale < 1e11; scale *= 10) {
        scaled_normal((float)scale, (float)scale, (float)scale, n);
        for (int i = 0; i < 3; i++) assert_near(n[i], i < 2 ? sqrt(0.5) : 0, 1e-6);
    }
    /* Flattened along x, the remaining surface faces along x. */
    scaled_normal(0, 1, 1, n);
    assert_near(n[0], 1, 1e-6);
    scaled_normal(0, 1e-7f, 1e-7f, n);
    assert_near(n[0], 1, 1e-6);
    scaled_normal(0, 1e9f, 1e9f, n);
    assert_near(n[0], 1, 1e-6);
    scaled_normal(1e-20f, 1e10f, 1e3f, n);
    assert_near(n[0], 1, 1e-6);
}

/* A texture on a wall facing z, with u to the right and up in the image along y; then the wall is scaled. */
static void scaled_wall(float x, float y, float z, float normal[3], float tangent[4]) {
    pelt_bundle *bundle = character_new(1, NULL);
    character_bind(bundle);
    character_tube(bundle, 1, 1, 1);
    uint64_t seed = 1;
    character_random_weights(bundle, 1, &seed);
    memcpy(bundle->mesh.normals, (float[]){0, 0, 1}, 12);
    bundle->mesh.tangents = (float[]){1, 0, 0, 1};
    pelt_transform local = character_still;
    local.scale[0] = x, local.scale[1] = y, local.scale[2] = z;
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    pelt_pose(&skin, &local, scratch);
    deform(&skin, scratch, &out);
    memcpy(normal, out.normals + 3 * skin.vertex_slots[0], 12);
    memcpy(tangent, out.tangents + 4 * skin.vertex_slots[0], 16);
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

/* However the wall is mirrored, w (n x t) points up in the image. */
static void mirrored_joints_change_the_hand_of_tangents(void **state) {
    (void)state;
    for (int mirrored = 0; mirrored < 8; mirrored++)
        for (float size = 0.01f; size < 200; size *= 10) {
            float x = mirrored & 1 ? -size : size, y = mirrored & 2 ? -2 * size : 2 * size, z = mirrored & 4 ? -1 : 1;
            float n[3], t[4];
            scaled_wall(x, y, z, n, t);
            assert_near(n[2], z, 1e-6);
            assert_near(t[0], x < 0 ? -1 : 1, 1e-6);
            assert_near(t[3] * (n[2] * t[0] - n[0] * t[2]), y < 0 ? -1 : 1, 1e-6);
        }
}

static void skins_without_tangents_write_none(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(40, 3, 8);
    bundle->mesh.tangents = NULL;
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    assert_null(skin.rest_tangents);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    pelt_pose(&skin, bundle->skeleton.rest, scratch);
    memset(out.tangents, 0x5a, pelt_tangents_size(&skin));
    deform(&skin, scratch, &out);
    for (size_t i = 0; i < pelt_tangents_size(&skin); i++) assert_int_equal(((uint8_t *)out.tangents)[i], 0x5a);
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

static void an_arm_bent_at_a_right_angle_is_where_it_is_drawn(void **state) {
    (void)state;
    /* Shoulder at the origin, elbow at (1, 0, 0); tip on the forearm, elbow skin shared half and half. */
    pelt_bundle *bundle = character_new(2, NULL);
    memcpy(bundle->skeleton.rest[1].translation, (float[]){1, 0, 0}, 12);
    character_bind(bundle);
    character_tube(bundle, 3, 1, 1);
    memcpy(bundle->mesh.positions, (float[]){2, 0, 0, 1.5, 0, 0, 0.5, 0, 0}, 36);
    character_influences(bundle, 2);
    memcpy(bundle->mesh.influences.joints, (uint32_t[]){0, 1, 0, 1, 0, 1}, 24);
    memcpy(bundle->mesh.influences.weights, (float[]){0, 1, 0.5, 0.5, 1, 0}, 24);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    pelt_transform locals[2] = {character_turn(0, 0, 1, 90), character_turn(0, 0, 1, 90)};
    memcpy(locals[1].translation, (float[]){1, 0, 0}, 12);
    static const double drawn[3][3] = {{-1, 1, 0}, {-0.25, 1.25, 0}, {0, 0.5, 0}};
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!isas_work[isa]) continue;
        skin.isa = (pelt_isa)isa;
        pelt_pose(&skin, locals, scratch);
        pelt_deform(&skin, scratch, pelt_all_blocks(&skin), out.positions, out.normals);
        for (int v = 0; v < 3; v++)
            for (int i = 0; i < 3; i++) assert_near(out.positions[3 * skin.vertex_slots[v] + i], drawn[v][i], 1e-6);
    }
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

static void a_pose_from_matrices_equals_a_pose_from_transforms(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(100, 4, 9);
    pelt_transform locals[JOINTS];
    make_pose(bundle, UNEVEN_SCALE, 10, locals);
    matrix *exact = reference_globals(&bundle->skeleton, locals);
    float globals[JOINTS][12];
    for (int j = 0; j < JOINTS; j++)
        for (int i = 0; i < 12; i++) globals[j][i] = (float)exact[j].m[i / 4][i % 4];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output a = output_new(&skin), b = output_new(&skin);
    pelt_pose(&skin, locals, scratch);
    pelt_deform(&skin, scratch, pelt_all_blocks(&skin), a.positions, a.normals);
    pelt_pose_matrices(&skin, (const float(*)[12])globals, scratch);
    pelt_deform(&skin, scratch, pelt_all_blocks(&skin), b.positions, b.normals);
    for (size_t i = 0; i < a.count; i++) {
        assert_near(a.positions[i], b.positions[i], 5e-6);
        assert_near(a.normals[i], b.normals[i], 2e-5);
    }
    output_free(&a), output_free(&b), free(scratch), free(exact), character_free_skin(bytes), character_free(bundle);
}

/* -- Ranges and buffers ------------------------------------------------------------------------------------------- */

enum { GUARD = 0x5a };

/* Deforms one range into buffers full of guard bytes, `shift` floats off alignment, and checks that the range matches
   `whole` and that the guards are intact. */
static void check_range(const pelt_skin *skin, void *scratch, pelt_range range, size_t shift, const output *whole) {
    size_t margin = 64, total = whole->count / 3 * 4 + 2 * margin + shift;
    float *buffers[3];
    for (int k = 0; k < 3; k++) {
        buffers[k] = aligned_alloc(64, (total * 4 + 63) / 64 * 64);
        memset(buffers[k], GUARD, total * 4);
    }
    pelt_deform_to(skin, scratch, range,
                   &(pelt_output){.positions = {buffers[0] + margin + shift},
                                  .normals = {buffers[1] + margin + shift},
                                  .tangents = {buffers[2] + margin + shift}});
    uint64_t end = (uint64_t)range.first + range.count;
    for (int k = 0; k < 3; k++) {
        const float *expected = k == 2 ? whole->tangents : k ? whole->normals : whole->positions;
        size_t size = k == 2 ? 4 : 3, count = whole->count / 3 * size;
        float guard;
        memset(&guard, GUARD, sizeof guard);
        for (size_t i = 0; i < total; i++) {
            size_t at = i - margin - shift, block = at / (16 * size);
            bool inside = i >= margin + shift && at < count && block >= range.first && block < end;
            assert_memory_equal(&buffers[k][i], inside ? &expected[at] : &guard, 4);
        }
        free(buffers[k]);
    }
}

static void any_range_of_blocks_writes_the_bytes_of_one_call_and_nothing_else(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(203, 5, 21);
    pelt_transform locals[JOINTS];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output whole = output_new(&skin);
    assert_int_equal(skin.block_count, 13);
    static const pelt_range ranges[] = {{0, 13},
                                        {0, 1},
                                        {12, 1},
                                        {3, 7},
                                        {5, 0},
                                        {12, 2},
                                        {13, 1},
                                        {14, 5},
                                        {0, UINT32_MAX},
                                        {7, UINT32_MAX},
                                        {UINT32_MAX, UINT32_MAX}};
    for (int how = RIGID; how <= UNEVEN_SCALE; how += UNEVEN_SCALE)
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!isas_work[isa]) continue;
            make_pose(bundle, (posing)how, 5, locals);
            pelt_pose(&skin, locals, scratch);
            skin.isa = (pelt_isa)isa;
            deform(&skin, scratch, &whole);
            for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
                for (size_t shift = 0; shift < 4; shift++) check_range(&skin, scratch, ranges[r], shift, &whole);
        }
    output_free(&whole), free(scratch), character_free_skin(bytes), character_free(bundle);
}

typedef struct halves {
    const pelt_skin *skin;
    void *scratch;
    output *out;
} halves;

static void deform_half(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    const halves *h = user;
    uint32_t middle = h->skin->block_count / 2;
    pelt_range range = i ? (pelt_range){middle, UINT32_MAX} : (pelt_range){0, middle};
    pelt_deform_to(h->skin, h->scratch, range,
                   &(pelt_output){{h->out->positions}, {h->out->normals}, {h->out->tangents}});
}

static void outputs_beyond_the_cache_have_the_same_bytes_streamed_split_and_unaligned(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(12, 350001);
    uint64_t seed = 1;
    character_random_tangents(bundle, &seed);
    pelt_transform locals[12];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    assert_true(pelt_output_size(&skin) > (size_t)4 << 20);
    void *scratch = scratch_new(&skin);
    output whole = output_new(&skin), split = output_new(&skin);
    size_t tangents = pelt_tangents_size(&skin);
    float *loose[3] = {malloc(4 * whole.count + 4), malloc(4 * whole.count + 4), malloc(tangents + 4)};
    for (int how = RIGID; how <= UNEVEN_SCALE; how += UNEVEN_SCALE)
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!isas_work[isa]) continue;
            make_pose(bundle, (posing)how, 77, locals);
            pelt_pose(&skin, locals, scratch);
            skin.isa = (pelt_isa)isa;
            deform(&skin, scratch, &whole);
            pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin),
                           &(pelt_output){{loose[0] + 1}, {loose[1] + 1}, {loose[2] + 1}});
            assert_memory_equal(whole.positions, loose[0] + 1, 4 * whole.count);
            assert_memory_equal(whole.normals, loose[1] + 1, 4 * whole.count);
            assert_memory_equal(whole.tangents, loose[2] + 1, tangents);
            pelt_parallel(NULL, 2, 2, deform_half, &(halves){&skin, scratch, &split});
            assert_memory_equal(whole.positions, split.positions, 4 * whole.count);
            assert_memory_equal(whole.normals, split.normals, 4 * whole.count);
            assert_memory_equal(whole.tangents, split.tangents, tangents);
        }
    free(loose[0]), free(loose[1]), free(loose[2]);
    output_free(&whole), output_free(&split), free(scratch), character_free_skin(bytes), character_free(bundle);
}

/* -- Streams ------------------------------------------------------------------------------------------------------- */

/* One buffer for all three attributes: positions, normals and tangents at given offsets of every vertex. */
typedef struct layout {
    size_t stride, normals, tangents;
    bool in_order; /* of the file */
} layout;

/* Whether an attribute is stored correctly in the buffer, for the vertices of a range; marks what it covers. */
static void check_attribute(const pelt_skin *skin, pelt_range range, const layout *l, const uint8_t *buffer, size_t at,
                            const float *slots, size_t bytes, uint8_t *covered) {
    for (size_t v = 0; v < skin->vertex_count; v++) {
        size_t slot = skin->vertex_slots[v], place = l->stride * (l->in_order ? v : slot) + at;
        if (slot / 16 < range.first || slot / 16 >= (uint64_t)range.first + range.count) continue;
        assert_memory_equal(buffer + place, (const uint8_t *)slots + bytes * slot, bytes);
        memset(covered + place, 1, bytes);
    }
}

static void check_layout(const pelt_skin *skin, void *scratch, const output *whole, const layout *l, pelt_range range) {
    size_t slots = (size_t)skin->block_count * 16, size = l->stride * slots;
    uint8_t *buffer = malloc(size), *covered = calloc(size, 1);
    uint32_t *vertices = malloc(slots * sizeof *vertices);
    memset(buffer, GUARD, size);
    pelt_slot_vertices(skin, vertices);
    pelt_deform_to(skin, scratch, range,
                   &(pelt_output){.positions = {buffer, l->stride},
                                  .normals = {buffer + l->normals, l->stride},
                                  .tangents = {buffer + l->tangents, l->stride},
                                  .vertices = l->in_order ? vertices : NULL});
    check_attribute(skin, range, l, buffer, 0, whole->positions, 12, covered);
    check_attribute(skin, range, l, buffer, l->normals, whole->normals, 12, covered);
    check_attribute(skin, range, l, buffer, l->tangents, whole->tangents, 16, covered);
    size_t end = l->stride * skin->vertex_count; /* slots without a vertex may contain anything */
    for (size_t i = 0; i < (l->in_order ? size : end); i++)
        if (!covered[i]) assert_int_equal(buffer[i], GUARD);
    free(buffer), free(covered), free(vertices);
}

static void any_stride_and_order_has_the_bytes_of_the_plain_output(void **state) {
    (void)state;
    static const layout layouts[] = {{40, 12, 24, true}, {40, 12, 24, false}, {64, 20, 40, true}, {53, 13, 30, true}};
    static const pelt_range ranges[] = {{0, 20}, {0, 1}, {3, 9}, {12, UINT32_MAX}, {5, 0}};
    pelt_bundle *bundle = tangle(310, 4, 31);
    pelt_transform locals[JOINTS];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output whole = output_new(&skin);
    assert_int_equal(skin.block_count, 20);
    for (int how = RIGID; how <= UNEVEN_SCALE; how += UNEVEN_SCALE)
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!isas_work[isa]) continue;
            make_pose(bundle, (posing)how, 5, locals);
            pelt_pose(&skin, locals, scratch);
            skin.isa = (pelt_isa)isa;
            deform(&skin, scratch, &whole);
            for (size_t i = 0; i < 20; i++) check_layout(&skin, scratch, &whole, &layouts[i % 4], ranges[i / 4]);
        }
    output_free(&whole), free(scratch), character_free_skin(bytes), character_free(bundle);
}

static void check_box(const pelt_skin *skin, pelt_range range, const float *positions, const pelt_box *box) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t v = 0; v < skin->vertex_count; v++) {
        size_t slot = skin->vertex_slots[v];
        if (slot / 16 < range.first || slot / 16 >= (uint64_t)range.first + range.count) continue;
        for (size_t i = 0; i < 3; i++) {
            low[i] = fminf(low[i], positions[3 * slot + i]);
            high[i] = fmaxf(high[i], positions[3 * slot + i]);
        }
    }
    assert_memory_equal(box->low, low, sizeof low);
    assert_memory_equal(box->high, high, sizeof high);
}

static void the_box_is_that_of_the_positions_of_its_range(void **state) {
    (void)state;
    static const pelt_range ranges[] = {{0, 20}, {0, 1}, {19, 1}, {3, 9}, {12, UINT32_MAX}, {5, 0}, {99, 1}};
    pelt_bundle *bundle = tangle(310, 4, 32);
    pelt_transform locals[JOINTS];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    uint32_t vertices[320];
    float spread[320][6];
    pelt_slot_vertices(&skin, vertices);
    for (int pose = 0; pose < 8; pose++)
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!isas_work[isa]) continue;
            make_pose(bundle, pose % 2 ? UNEVEN_SCALE : RIGID, (uint64_t)pose, locals);
            pelt_pose(&skin, locals, scratch);
            skin.isa = (pelt_isa)isa;
            for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
                for (int with = 0; with < 3; with++) { /* positions alone, all, all somewhere else */
                    pelt_box box;
                    pelt_output to = {.positions = {out.positions}, .box = &box};
                    if (with) to.normals.data = out.normals, to.tangents.data = out.tangents;
                    pelt_deform_to(&skin, scratch, ranges[r], &to);
                    if (with == 2) {
                        to.positions = (pelt_stream){spread, 24}, to.normals = (pelt_stream){spread[0] + 3, 24};
                        to.tangents.data = NULL, to.vertices = vertices;
                        pelt_deform_to(&skin, scratch, ranges[r], &to);
                    }
                    check_box(&skin, ranges[r], out.positions, &box);
                }
        }
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

/* The value of a half float, from its definition. */
static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

/* No other half float is closer; in a tie it is the even one. */
static void check_half(uint16_t bits, float value) {
    double gap = fabs(half_value(bits) - value);
    assert_true((bits & 0x7fff) <= 0x7bff);
    if (fabsf(value) >= 65504) {
        assert_int_equal(bits, value < 0 ? 0xfbff : 0x7bff);
        return;
    }
    assert_int_equal(bits >> 15, signbit(value) != 0);
    for (int step = -1; step <= 1; step += 2) {
        if (step < 0 && !(bits & 0x7fff)) continue;
        double other = fabs(half_value((uint16_t)(bits + step)) - value);
        assert_true(gap < other || (gap == other && bits % 2 == 0));
    }
}

static void half_floats_are_the_nearest_to_the_floats(void **state) {
    (void)state;
    static const float sizes[] = {1, 1e-7f, 1e-4f, 3e4f, 1e7f};
    pelt_bundle *bundle = tangle(310, 4, 33);
    pelt_transform locals[JOINTS];
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    uint32_t vertices[320];
    uint16_t positions[310][4], normals[310][4], tangents[320][6];
    pelt_slot_vertices(&skin, vertices);
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++)
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
            if (!isas_work[isa]) continue;
            make_pose(bundle, RIGID, size, locals);
            for (int i = 0; i < 3; i++) locals[0].scale[i] = sizes[size], locals[0].translation[i] *= sizes[size];
            pelt_pose(&skin, locals, scratch);
            skin.isa = (pelt_isa)isa;
            deform(&skin, scratch, &out);
            pelt_deform_to(
                &skin, scratch, pelt_all_blocks(&skin),
                &(pelt_output){.positions = {positions, 0, 1}, .normals = {normals, 0, 1}, .vertices = vertices});
            memset(tangents, GUARD, sizeof tangents);
            pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin),
                           &(pelt_output){{out.positions}, {out.normals}, {tangents, 12, 1}});
            for (uint32_t v = 0; v < skin.vertex_count; v++) {
                size_t slot = skin.vertex_slots[v];
                for (size_t i = 0; i < 3; i++) check_half(positions[v][i], out.positions[3 * slot + i]);
                for (size_t i = 0; i < 3; i++) check_half(normals[v][i], out.normals[3 * slot + i]);
                for (size_t i = 0; i < 4; i++) check_half(tangents[slot][i], out.tangents[4 * slot + i]);
                assert_int_equal(positions[v][3], 0x3c00), assert_int_equal(normals[v][3], 0);
                assert_int_equal(tangents[slot][4], 0x5a5a);
            }
        }
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

/* Positions between two half floats, including the smallest, on a joint that does not move. */
static void half_floats_are_even_where_two_are_as_near(void **state) {
    (void)state;
    enum { VERTICES = 64 };
    pelt_bundle *bundle = character_new(1, NULL);
    character_bind(bundle);
    character_tube(bundle, VERTICES, 1, 1);
    uint64_t seed = 1;
    character_random_weights(bundle, 1, &seed);
    float *x = bundle->mesh.positions;
    for (int i = 0; i < 3 * VERTICES; i++)
        x[i] = (float)(ldexp(i % 4 ? 1024 + i + 0.5 : i + 0.5, i % 4 ? i % 27 - 24 : -24) * (i % 5 ? 1 : -1));
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    uint16_t written[VERTICES][4];
    pelt_pose(&skin, &character_still, scratch);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!isas_work[isa]) continue;
        skin.isa = (pelt_isa)isa;
        pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin), &(pelt_output){.positions = {written, 0, 1}});
        for (size_t v = 0; v < VERTICES; v++)
            for (size_t i = 0; i < 3; i++) check_half(written[skin.vertex_slots[v]][i], x[3 * v + i]);
    }
    free(scratch), character_free_skin(bytes), character_free(bundle);
}

/* -- What an engine asks once -------------------------------------------------------------------------------------- */

static void joints_are_found_by_their_names(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(40, 3, 8);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    for (int32_t j = 0; j < JOINTS; j++) assert_int_equal(pelt_find_joint(&skin, bundle->skeleton.names[j]), j);
    assert_int_equal(pelt_find_joint(&skin, "joint"), -1);
    assert_int_equal(pelt_find_joint(&skin, ""), -1);
    assert_int_equal(pelt_find_joint(&skin, "joint470"), -1);
    assert_string_equal(pelt_version(), PELT_VERSION);
    character_free_skin(bytes), character_free(bundle);
}

/* A triangle has the same corners after renumbering as before, and texture coordinates go along. */
static void index_buffers_and_attributes_follow_their_vertices(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(203, 3, 8);
    pelt_mesh *mesh = &bundle->mesh;
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    size_t count = 3 * (size_t)mesh->triangle_count, slots = (size_t)skin.block_count * 16;
    uint32_t *four = malloc(count * 4);
    uint16_t *two = malloc(count * 2), (*uvs)[3] = malloc(203 * sizeof *uvs),
             (*moved)[5] = malloc(slots * sizeof *moved);
    memset(moved, GUARD, slots * sizeof *moved);
    for (size_t i = 0; i < count; i++) two[i] = (uint16_t)(four[i] = mesh->triangles[i]);
    for (uint16_t v = 0; v < 203; v++) uvs[v][0] = v, uvs[v][1] = (uint16_t)(1000 + v), uvs[v][2] = 9;
    pelt_renumber_indices(&skin, four, count, 4), pelt_renumber_indices(&skin, two, count, 2);
    pelt_reorder_attribute(&skin, (pelt_stream){uvs, 6}, 4, (pelt_stream){moved[0] + 1, 10});
    for (size_t i = 0; i < count; i++) {
        uint32_t v = mesh->triangles[i];
        assert_int_equal(four[i], two[i]);
        assert_int_equal(moved[four[i]][1], v), assert_int_equal(moved[four[i]][2], 1000 + v);
        assert_int_equal(moved[four[i]][0], 0x5a5a), assert_int_equal(moved[four[i]][3], 0x5a5a);
        for (size_t c = 0; c < 3; c++) {
            size_t place = (four[i] / 16 * 3 + c) * 16 + four[i] % 16;
            assert_true(skin.rest_positions[place] == mesh->positions[3 * (size_t)v + c]);
        }
    }
    uint16_t tight[208][2];
    pelt_reorder_attribute(&skin, (pelt_stream){uvs, 6}, 4, (pelt_stream){tight});
    for (uint32_t v = 0; v < 203; v++) assert_int_equal(tight[skin.vertex_slots[v]][0], v);
    free(four), free(two), free(uvs), free(moved), character_free_skin(bytes), character_free(bundle);
}

static void nothing_is_allocated_while_a_skin_runs(void **state) {
    (void)state;
    pelt_bundle *bundle = tangle(100, 4, 5);
    pelt_transform locals[JOINTS];
    make_pose(bundle, UNEVEN_SCALE, 6, locals);
    pelt_skin skin;
    pelt_bytes *bytes = character_pack(bundle, &skin);
    void *scratch = scratch_new(&skin);
    output out = output_new(&skin);
    uint32_t vertices[112];
    allocations = 0;
    void *volatile kept = (malloc)(1); /* the function itself, where there is a macro (posix.h) */
    (free)(kept);
    assert_int_equal(allocations, 1); /* the counter counts */
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &skin), PELT_OK);
    pelt_pose(&skin, locals, scratch);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
        if (!isas_work[isa]) continue;
        skin.isa = (pelt_isa)isa;
        deform(&skin, scratch, &out);
        pelt_box box;
        pelt_slot_vertices(&skin, vertices);
        pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin),
                       &(pelt_output){.positions = {out.positions}, .vertices = vertices, .box = &box});
    }
    assert_int_equal(allocations, 1);
    output_free(&out), free(scratch), character_free_skin(bytes), character_free(bundle);
}

static void every_result_and_instruction_set_has_a_name(void **state) {
    (void)state;
    assert_string_equal(pelt_result_text(PELT_OK), "done");
    assert_string_equal(pelt_result_text((pelt_result)999), "unknown result");
    for (int r = 0; r < PELT_RESULT_COUNT; r++) assert_true(strlen(pelt_result_text((pelt_result)r)) > 0);
    assert_string_equal(pelt_isa_name(PELT_ISA_SCALAR), "scalar");
    assert_string_equal(pelt_isa_name(PELT_ISA_AVX512), "avx512");
    assert_string_equal(pelt_isa_name((pelt_isa)99), "unknown");
    assert_false(pelt_isa_works((pelt_isa)99));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rigid_poses_equal_the_blend_in_double),
        cmocka_unit_test(evenly_scaled_joints_equal_the_blend_in_double),
        cmocka_unit_test(unevenly_scaled_joints_turn_normals_by_the_inverse_transpose),
        cmocka_unit_test(mirrored_joints_equal_the_blend_in_double),
        cmocka_unit_test(mirrored_and_scaled_joints_keep_the_sign_of_normals),
        cmocka_unit_test(every_influence_count_to_40_is_blended),
        cmocka_unit_test(a_vertex_has_the_same_bits_in_blocks_of_few_and_of_many_joints),
        cmocka_unit_test(joints_scaled_to_nothing_give_finite_output),
        cmocka_unit_test(where_a_mirrored_joint_is_does_not_matter_to_normals),
        cmocka_unit_test(normals_keep_unit_length_at_any_size_of_a_joint),
        cmocka_unit_test(mirrored_joints_change_the_hand_of_tangents),
        cmocka_unit_test(skins_without_tangents_write_none),
        cmocka_unit_test(an_arm_bent_at_a_right_angle_is_where_it_is_drawn),
        cmocka_unit_test(a_pose_from_matrices_equals_a_pose_from_transforms),
        cmocka_unit_test(any_range_of_blocks_writes_the_bytes_of_one_call_and_nothing_else),
        cmocka_unit_test(outputs_beyond_the_cache_have_the_same_bytes_streamed_split_and_unaligned),
        cmocka_unit_test(any_stride_and_order_has_the_bytes_of_the_plain_output),
        cmocka_unit_test(the_box_is_that_of_the_positions_of_its_range),
        cmocka_unit_test(half_floats_are_the_nearest_to_the_floats),
        cmocka_unit_test(half_floats_are_even_where_two_are_as_near),
        cmocka_unit_test(joints_are_found_by_their_names),
        cmocka_unit_test(index_buffers_and_attributes_follow_their_vertices),
        cmocka_unit_test(nothing_is_allocated_while_a_skin_runs),
        cmocka_unit_test(every_result_and_instruction_set_has_a_name),
    };
    return cmocka_run_group_tests(tests, list_isas, NULL);
}
