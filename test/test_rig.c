/* test_rig.c: the basis of the offline rooms: memory, findings, loops, affine maps, clips, normals, seams. */

#include "test/character.h"

/* -- Arena, errors, findings -------------------------------------------------------------------------------------- */

static void arena_memory_is_zeroed_aligned_and_never_shared(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    uint8_t *pieces[200];
    size_t sizes[200];
    uint64_t seed = 1;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 200; i++) {
            sizes[i] = (size_t)(test_random(&seed) * (i % 7 ? 500 : 50000));
            pieces[i] = pelt_alloc(arena, sizes[i], 1);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % 64, 0);
            for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(pieces[i][k], 0);
            memset(pieces[i], i, sizes[i]);
        }
        for (int i = 0; i < 200; i++)
            for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(pieces[i][k], (uint8_t)i);
    }
    pelt_arena_free(arena);
    pelt_arena_free(NULL);
}

/* A refusal allocates nothing; the arena refuses everything else too, until its limit is raised. */
static void refuses(pelt_arena *arena, size_t count, size_t size) {
    size_t used = pelt_arena_used(arena);
    assert_false(pelt_arena_failed(arena));
    assert_null(pelt_alloc(arena, count, size));
    assert_true(pelt_arena_failed(arena));
    assert_null(pelt_alloc(arena, 1, 1));
    assert_null(pelt_arena_format(arena, "x"));
    assert_int_equal(pelt_arena_used(arena), used);
    pelt_arena_raise_limit(arena, 0);
}

static void an_arena_refuses_what_passes_its_limit_or_overflows(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(1024);
    refuses(arena, SIZE_MAX, 1);
    refuses(arena, SIZE_MAX / 2 + 1, 2);
    refuses(arena, SIZE_MAX - 100, 1);
    refuses(arena, 1025, 1);
    assert_non_null(pelt_alloc(arena, 900, 1));
    refuses(arena, 128, 1);
    assert_non_null(pelt_alloc(arena, 64, 1));
    assert_int_equal(pelt_arena_used(arena), 1024);
    pelt_arena_raise_limit(arena, 64);
    assert_non_null(pelt_alloc(arena, 0, 8));
    refuses(arena, 0, 8);
    pelt_arena_raise_limit(arena, SIZE_MAX);
    assert_non_null(pelt_alloc(arena, 100000, 1));
    assert_string_equal(pelt_arena_format(arena, "%s-%d", "joint", 7), "joint-7");
    pelt_arena_free(arena);
    assert_true(pelt_arena_failed(NULL));
    assert_null(pelt_alloc(NULL, 1, 1));
}

static void arenas_inside_are_freed_with_their_parent_and_fail_with_it(void **state) {
    (void)state;
    pelt_arena *parent = pelt_arena_new(0);
    pelt_arena *children[3];
    for (int i = 0; i < 3; i++) assert_non_null(PELT_NEW(children[i] = pelt_arena_inside(parent), 100000, double));
    pelt_arena_free(children[1]); /* the others: with the parent; the address sanitizer counts */
    assert_null(pelt_alloc(children[2], SIZE_MAX, 1));
    assert_true(pelt_arena_failed(children[2]));
    assert_true(pelt_arena_failed(parent));
    assert_false(pelt_arena_failed(children[0]));
    pelt_arena_free(parent);
}

/* -- Stages -------------------------------------------------------------------------------------------------------- */

typedef struct staged {
    pelt_arena *arena;
    int steps;
    size_t bad; /* call of the loop that asks for too much */
    int threads_of_blas;
} staged;

extern int openblas_get_num_threads(void);
extern void openblas_set_num_threads(int count);

static void greedy_body(void *user, size_t i, pelt_arena *scratch) {
    const staged *s = user;
    memset(PELT_NEW(scratch, 1000 + 100000 * (i % 3), char), (int)i, 1000);
    assert_int_equal(PELT_NEW(scratch, 50000, char)[49999], 0); /* zero, although the memory was used before */
    memset(PELT_NEW(scratch, 50000, char), 1, 50000);
    if (i == s->bad) *PELT_NEW(pelt_arena_inside(scratch), SIZE_MAX, char) = 1; /* never reached */
}

static pelt_result staged_body(void *user, pelt_error *error) {
    staged *s = user;
    s->steps = 1;
    s->threads_of_blas = openblas_get_num_threads();
    PELT_NEW(pelt_arena_inside(s->arena), 1000, int)[999] = 1;
    pelt_parallel(s->arena, 2, 100, greedy_body, s);
    s->steps = 2;
    if (s->bad == 1000) *PELT_NEW(pelt_arena_inside(s->arena), SIZE_MAX, char) = 1;
    s->steps = 3;
    return s->bad == 1001 ? pelt_fail(error, PELT_ERROR_DATA, "told") : PELT_OK;
}

static void a_stage_ends_where_memory_does(void **state) {
    (void)state;
    const struct {
        size_t bad;
        int steps;
        pelt_result result;
    } cases[] = {
        {SIZE_MAX, 3, PELT_OK}, {57, 1, PELT_ERROR_MEMORY}, {1000, 2, PELT_ERROR_MEMORY}, {1001, 3, PELT_ERROR_DATA}};
    openblas_set_num_threads(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_error error = {0};
        staged s = {.arena = pelt_arena_new(0), .bad = cases[i].bad};
        assert_int_equal(pelt_stage(s.arena, staged_body, &s, &error), cases[i].result);
        assert_int_equal(error.code, cases[i].result);
        assert_int_equal(s.steps, cases[i].steps);
        assert_int_equal(s.threads_of_blas, 1);
        assert_int_equal(openblas_get_num_threads(), 2); /* as it was */
        pelt_arena_free(s.arena);
    }
    assert_int_equal(pelt_stage(NULL, staged_body, NULL, NULL), PELT_ERROR_MEMORY);
    assert_false(pelt_parallel(NULL, 2, 100, greedy_body, &(staged){.bad = 3}));
    assert_true(pelt_parallel(NULL, 2, 100, greedy_body, &(staged){.bad = SIZE_MAX}));
}

static void findings_keep_their_order_and_long_texts_are_cut(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_findings findings = {0};
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int i = 0; i < 20; i++) pelt_find(&findings, arena, PELT_NOTE, "number", "this is %d", i);
    pelt_find(&findings, arena, PELT_FATAL, "long", "%s", text);
    assert_int_equal(findings.count, 21);
    assert_string_equal(findings.list[0].text, "this is 0");
    assert_string_equal(findings.list[19].text, "this is 19");
    assert_string_equal(findings.list[20].what, "long");
    assert_int_equal(findings.list[20].severity, PELT_FATAL);
    assert_int_equal(strlen(findings.list[20].text), 999);
    pelt_error error;
    assert_int_equal(pelt_fail(&error, PELT_ERROR_DATA, "%s", text), PELT_ERROR_DATA);
    assert_int_equal(strlen(error.text), 999);
    assert_int_equal(pelt_fail(NULL, PELT_ERROR_FILE, "nobody listens"), PELT_ERROR_FILE);
    pelt_arena_free(arena);
}

/* -- Loops -------------------------------------------------------------------------------------------------------- */

/* Read by the leak sanitizer: what the OpenMP library keeps of a large team until the program ends is its own affair.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libomp"; }

typedef struct loop {
    double *out;
    uint32_t *calls;
} loop;

static void loop_body(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    loop *l = user;
    double x = (double)i;
    for (int k = 0; k < 50; k++) x = sin(x + k);
    l->out[i] = x;
    l->calls[i]++;
}

static int stop_at_half(void *user, const char *task, double fraction) {
    return *(int *)user += task && fraction > 0.5;
}

static void a_parallel_loop_gives_the_same_bytes_for_any_number_of_threads(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    static double one[COUNT], many[COUNT];
    static const uint32_t threads[] = {1, 2, 7, 0, 5000000, UINT32_MAX};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        uint32_t calls[COUNT] = {0};
        pelt_parallel(NULL, threads[t], COUNT, loop_body, &(loop){t ? many : one, calls});
        for (int i = 0; i < COUNT; i++) assert_int_equal(calls[i], 1);
        if (t) assert_memory_equal(one, many, sizeof one);
    }
    pelt_parallel(NULL, 3, 0, loop_body, NULL); /* nothing to do */
    int stops = 0;
    pelt_progress progress = {stop_at_half, &stops};
    assert_false(pelt_should_stop(&progress, "work", 0.4));
    assert_true(pelt_should_stop(&progress, "work", 0.6));
    assert_false(pelt_should_stop(NULL, "work", 1));
    assert_false(pelt_should_stop(&(pelt_progress){0}, "work", 1));
}

/* -- Affine maps -------------------------------------------------------------------------------------------------- */

static void an_inverse_undoes_its_map_and_singular_maps_have_none(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int trial = 0; trial < 300; trial++) {
        pelt_affine a, inverse;
        double unit = pow(10, trial % 13 - 6); /* any unit of length */
        for (int i = 0; i < 12; i++) a.m[i] = unit * (test_random(&seed) - 0.5);
        a.m[0] += unit, a.m[5] -= unit, a.m[10] += unit; /* well away from singular; mirrored and sheared */
        assert_true(pelt_affine_invert(&a, &inverse));
        pelt_affine both = pelt_affine_multiply(&inverse, &a), also = pelt_affine_multiply(&a, &inverse);
        for (int i = 0; i < 12; i++) {
            assert_near(both.m[i], pelt_identity.m[i], 1e-12);
            assert_near(also.m[i], pelt_identity.m[i], 1e-12 * fmax(1, unit));
        }
    }
    /* Closed form: scale (2, 4, -5) and move (1, 2, 3). */
    pelt_affine a = {{2, 0, 0, 1, 0, 4, 0, 2, 0, 0, -5, 3}}, inverse;
    static const double expected[12] = {0.5, 0, 0, -0.5, 0, 0.25, 0, -0.5, 0, 0, -0.2, 0.6};
    assert_true(pelt_affine_invert(&a, &inverse));
    for (int i = 0; i < 12; i++) assert_near(inverse.m[i], expected[i], 1e-15);
    static const pelt_affine singular[] = {{{0}},
                                           {{1, 2, 3, 0, 2, 4, 6, 0, 1, 1, 1, 0}},
                                           {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, NAN, 0}},
                                           {{1, 0, 0, 0, 0, INFINITY, 0, 0, 0, 0, 1, 0}}};
    for (size_t i = 0; i < sizeof singular / sizeof *singular; i++) {
        assert_false(pelt_affine_invert(&singular[i], &inverse));
        assert_memory_equal(&inverse, &pelt_identity, sizeof inverse);
    }
}

/* Splits the matrix of a transform and compares the recomposed matrix. */
static void check_split(const pelt_transform *t) {
    pelt_affine a = pelt_affine_of(t), back;
    pelt_transform split;
    double size = 0;
    for (int i = 0; i < 12; i++) size = fmax(size, fabs(a.m[i]));
    assert_true(pelt_affine_split(&a, &split) < 1e-6 * size);
    back = pelt_affine_of(&split);
    for (int i = 0; i < 12; i++) assert_near(back.m[i], a.m[i], 1e-6 * size);
    double length = 0;
    for (int i = 0; i < 4; i++) length += (double)split.rotation[i] * split.rotation[i];
    assert_near(length, 1, 1e-6);
}

static void every_rotation_is_found_again_whichever_component_is_largest(void **state) {
    (void)state;
    static const double axes[][3] = {{1, 0, 0},      {0, 1, 0},      {0, 0, 1}, {1, 1, 0},
                                     {-1, 0.3, 0.2}, {0.1, -1, 0.1}, {1, 1, 1}};
    for (size_t a = 0; a < sizeof axes / sizeof *axes; a++)
        for (int degrees = -180; degrees <= 360; degrees += 15) { /* 180 makes x, y or z the largest, 0 makes w */
            pelt_transform t = character_turn(axes[a][0], axes[a][1], axes[a][2], degrees);
            t.translation[0] = 3, t.translation[1] = -2, t.translation[2] = 0.5f;
            for (int mirror = 0; mirror < 8; mirror++) {
                for (int i = 0; i < 3; i++) t.scale[i] = (mirror >> i & 1 ? -1 : 1) * (1.0f + (float)i);
                check_split(&t);
            }
        }
}

static void columns_scaled_to_nothing_do_not_lose_the_rotation_of_the_others(void **state) {
    (void)state;
    for (int zero = 0; zero < 8; zero++)
        for (int degrees = 0; degrees < 360; degrees += 40) {
            pelt_transform t = character_turn(0.3, 1, -0.4, degrees);
            for (int i = 0; i < 3; i++) t.scale[i] = zero >> i & 1 ? 0 : 2;
            t.translation[1] = 4;
            check_split(&t);
        }
}

static void shear_is_what_the_split_returns(void **state) {
    (void)state;
    pelt_transform split;
    pelt_affine sheared = {{1, 0.5, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};
    double difference = pelt_affine_split(&sheared, &split);
    assert_true(difference > 0.1 && difference < 0.5);
    assert_near(split.scale[1], sqrt(1.25), 1e-6);
    assert_near(pelt_affine_split(&pelt_identity, &split), 0, 0);
    assert_memory_equal(&split, &character_still, sizeof split);
}

static void a_transform_scales_then_rotates_then_translates(void **state) {
    (void)state;
    pelt_transform t = character_turn(0, 0, 1, 90);
    memcpy(t.scale, (float[]){2, 3, 4}, 12), memcpy(t.translation, (float[]){10, 20, 30}, 12);
    for (int i = 0; i < 4; i++) t.rotation[i] *= 3; /* any length */
    pelt_affine a = pelt_affine_of(&t);
    double out[3];
    pelt_affine_point(&a, (double[]){1, 1, 1}, out);
    assert_near(out[0], 7, 1e-6);
    assert_near(out[1], 22, 1e-6);
    assert_near(out[2], 34, 1e-6);
}

/* -- Clips -------------------------------------------------------------------------------------------------------- */

/* The value of one channel of one joint at some times. */
static void sample(pelt_channel channel, uint32_t count, const float *times, pelt_transform *out) {
    pelt_bundle *bundle = character_new(1, NULL);
    pelt_clip clip = {.frame_count = count, .channel_count = 1, .times = times, .channels = &channel};
    for (uint32_t f = 0; f < count; f++) pelt_clip_pose(&clip, &bundle->skeleton, f, &out[f]);
    character_free(bundle);
}

static void steps_and_lines_hold_before_the_first_and_after_the_last_key(void **state) {
    (void)state;
    static const float keys[] = {1, 2, 4}, values[] = {0, 10, 100, 2, 20, 200, 6, 40, 500};
    static const float times[] = {0, 1, 1.5, 2, 3, 4, 9};
    static const float steps[] = {0, 0, 0, 2, 2, 6, 6}, lines[] = {0, 0, 1, 2, 4, 6, 6};
    pelt_transform out[7];
    pelt_channel channel = {0, 3, PELT_TRANSLATION, PELT_STEP, keys, values};
    sample(channel, 7, times, out);
    for (int i = 0; i < 7; i++) assert_near(out[i].translation[0], steps[i], 0);
    channel.interpolation = PELT_LINEAR;
    sample(channel, 7, times, out);
    for (int i = 0; i < 7; i++) assert_near(out[i].translation[0], lines[i], 1e-6);
    channel.key_count = 1, channel.path = PELT_SCALE; /* a single key is a constant */
    sample(channel, 7, times, out);
    for (int i = 0; i < 7; i++) assert_near(out[i].scale[2], 100, 0);
    channel.key_count = 0; /* none at all: the rest pose */
    sample(channel, 7, times, out);
    for (int i = 0; i < 7; i++) assert_memory_equal(&out[i], &character_still, sizeof *out);
}

static void rotations_turn_evenly_along_the_shorter_way(void **state) {
    (void)state;
    enum { N = 21 };
    float times[N];
    for (int i = 0; i < N; i++) times[i] = (float)i / (N - 1);
    static const double angles[] = {0.001, 1, 30, 90, 179};
    for (size_t a = 0; a < sizeof angles / sizeof *angles; a++)
        for (int variant = 0; variant < 4; variant++) { /* the far key negated, or of another length */
            pelt_transform from = character_turn(1, 2, -1, 20), to = character_turn(1, 2, -1, 20 + angles[a]), out[N];
            float values[8];
            memcpy(values, from.rotation, 16);
            for (int i = 0; i < 4; i++)
                values[4 + i] = to.rotation[i] * (variant & 1 ? -1.0f : 1.0f) * (variant & 2 ? 3.0f : 1.0f);
            sample((pelt_channel){0, 2, PELT_ROTATION, PELT_LINEAR, (float[]){0, 1}, values}, N, times, out);
            for (int i = 0; i < N; i++) {
                pelt_transform exact = character_turn(1, 2, -1, 20 + angles[a] * times[i]);
                double dot = 0, length = 0;
                for (int k = 0; k < 4; k++) {
                    dot += (double)out[i].rotation[k] * exact.rotation[k];
                    length += (double)out[i].rotation[k] * out[i].rotation[k];
                }
                assert_near(length, 1, 1e-6);
                for (int k = 0; k < 4; k++)
                    assert_near(out[i].rotation[k], (dot < 0 ? -1 : 1) * exact.rotation[k], 1e-6);
            }
        }
}

static void cubic_keys_follow_the_polynomial_that_they_were_taken_from(void **state) {
    (void)state;
    /* A cubic Hermite spline through the values and slopes of a cubic is that cubic. */
    enum { N = 31 };
    static const double c[3][4] = {{1, -2, 0.5, 0.25}, {0, 1, 0, -1}, {3, 0, 2, 0}};
    static const float keys[] = {0.5f, 1.25f, 3};
    float values[3 * 9], times[N];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) {
            double t = keys[k], slope = c[i][1] + 2 * c[i][2] * t + 3 * c[i][3] * t * t;
            values[9 * k + i] = values[9 * k + 6 + i] = (float)slope;
            values[9 * k + 3 + i] = (float)(c[i][0] + t * (c[i][1] + t * (c[i][2] + t * c[i][3])));
        }
    for (int i = 0; i < N; i++) times[i] = (float)(0.1 * i);
    pelt_transform out[N];
    sample((pelt_channel){0, 3, PELT_TRANSLATION, PELT_CUBIC, keys, values}, N, times, out);
    for (int f = 0; f < N; f++) {
        double t = fmin(fmax(times[f], keys[0]), keys[2]);
        for (int i = 0; i < 3; i++)
            assert_near(out[f].translation[i], c[i][0] + t * (c[i][1] + t * (c[i][2] + t * c[i][3])), 1e-5);
    }
    /* Rotations are normalised again. */
    static const float turn[24] = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    sample((pelt_channel){0, 2, PELT_ROTATION, PELT_CUBIC, (float[]){0, 1}, turn}, 1, (float[]){0.5f}, out);
    assert_near(out[0].rotation[0], sqrt(0.5), 1e-6);
    assert_near(out[0].rotation[3], sqrt(0.5), 1e-6);
}

static void times_of_all_channels_are_merged_and_rounding_makes_no_frames(void **state) {
    (void)state;
    pelt_arena *arena = pelt_arena_new(0);
    float nearly = nextafterf(nextafterf(0.5f, 1), 1);
    const float a[] = {0, 0.25f, 0.5f}, b[] = {0.1f, nearly, 2}, shared[] = {0, 1};
    pelt_channel channels[] = {{0, 3, PELT_TRANSLATION, PELT_LINEAR, a, NULL}, {0, 3, PELT_SCALE, PELT_STEP, b, NULL}};
    pelt_clip clip = {.channel_count = 2, .channels = channels};
    assert_int_equal(pelt_clip_merge_times(arena, &clip), PELT_OK);
    static const double merged[] = {0, 0.1, 0.25, 0.5, 2};
    assert_int_equal(clip.frame_count, 5);
    for (int i = 0; i < 5; i++) assert_near(clip.times[i], merged[i], 1e-6);
    assert_true(clip.times[3] >= nearly); /* the stepping channel has reached its key */
    pelt_channel same[] = {{0, 2, PELT_TRANSLATION, PELT_LINEAR, shared, NULL},
                           {1, 2, PELT_SCALE, PELT_STEP, shared, NULL}};
    clip = (pelt_clip){.channel_count = 2, .channels = same};
    assert_int_equal(pelt_clip_merge_times(arena, &clip), PELT_OK);
    assert_int_equal(clip.frame_count, 2);
    clip = (pelt_clip){0};
    assert_int_equal(pelt_clip_merge_times(arena, &clip), PELT_OK);
    assert_int_equal(clip.frame_count, 0);
    pelt_arena_free(arena);
}

static void joint_matrices_are_the_same_with_and_without_a_place_for_globals(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(3, 16);
    pelt_transform locals[3] = {character_turn(0, 0, 1, 90), character_turn(0, 0, 1, 0), character_turn(0, 0, 1, 90)};
    locals[1].translation[1] = locals[2].translation[1] = 1;
    pelt_affine globals[3], a[3], b[3];
    pelt_joint_matrices(&bundle->skeleton, locals, globals, a);
    pelt_joint_matrices(&bundle->skeleton, locals, NULL, b);
    assert_memory_equal(a, b, sizeof a);
    double tip[3]; /* the chain lies along -x; its last joint, at (-2, 0, 0), points down */
    pelt_affine_point(&a[2], (double[]){0, 3, 0}, tip);
    assert_near(tip[0], -2, 1e-6);
    assert_near(tip[1], -1, 1e-6);
    assert_near(tip[2], 0, 1e-6);
    assert_near(globals[2].m[3], -2, 1e-6);
    character_free(bundle);
}

/* -- Meshes ------------------------------------------------------------------------------------------------------- */

/* The rotation from a to b is the product of b and the conjugate of a, whose real part is the dot product. */
static void the_angle_between_rotations_is_that_of_their_dot_product(void **state) {
    (void)state;
    uint64_t seed = 6;
    for (int k = 0; k < 500; k++) {
        float q[2][4];
        for (int i = 0; i < 2; i++) {
            double square = 0;
            for (int c = 0; c < 4; c++) {
                q[i][c] = (float)(2 * test_random(&seed) - 1);
                square += (double)q[i][c] * q[i][c];
            }
            for (int c = 0; c < 4; c++) q[i][c] = (float)(q[i][c] / sqrt(square));
        }
        double dot = 0;
        for (int c = 0; c < 4; c++) dot += (double)q[0][c] * q[1][c];
        assert_near(pelt_rotation_angle(q[0], q[1]), 2 * acos(fmin(fabs(dot), 1)), 1e-6);
        assert_near(pelt_rotation_chord(q[0], q[1]), 2 * sin(acos(fmin(fabs(dot), 1))), 1e-6);
    }
}

static void weights_are_made_to_sum_to_one_and_rounding_is_left(void **state) {
    (void)state;
    float rounded[3] = {0.1f, 0.2f, 0.7f}, before[3], half[2] = {0.25f, 0.25f}, none[2] = {0, 0};
    memcpy(before, rounded, sizeof before);
    assert_near(pelt_normalise_weights(rounded, 3), 1, 1e-7);
    assert_memory_equal(rounded, before, sizeof before);
    assert_near(pelt_normalise_weights(half, 2), 0.5, 0);
    assert_true(half[0] == 0.5f && half[1] == 0.5f);
    assert_near(pelt_normalise_weights(none, 2), 0, 0);
    assert_true(none[0] == 0 && none[1] == 0);
}

static void normals_of_a_cube_point_along_its_diagonals(void **state) {
    (void)state;
    static const double sizes[] = {1, 1e-8, 1e6};
    for (int k = 0; k < 3; k++) {
        float p[24], n[24];
        for (int i = 0; i < 24; i++) p[i] = (float)((i / 3 >> i % 3 & 1 ? 1 : -1) * sizes[k]);
        /* Every face as four triangles, one around each corner, so that all corners are equivalent. */
        static const uint32_t quads[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                             {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
        uint32_t triangles[6 * 12], count = 0;
        for (int q = 0; q < 6; q++)
            for (int c = 0; c < 4; c++)
                for (int i = 0; i < 3; i++) triangles[count++] = quads[q][(c + i) % 4];
        pelt_mesh_normals(p, 8, triangles, count / 3, n);
        for (int i = 0; i < 24; i++) assert_near(n[i], (i / 3 >> i % 3 & 1 ? 1 : -1) / sqrt(3), 1e-6);
        assert_near(pelt_diagonal(p, 8), 2 * sqrt(3) * sizes[k], 1e-6 * sizes[k]);
    }
    float lone[6] = {1, 2, 3, 4, 5, 6}, n[6];
    pelt_mesh_normals(lone, 2, (uint32_t[]){0, 0, 1}, 1, n); /* no area */
    for (int i = 0; i < 6; i++) assert_near(n[i], i % 3 == 2, 0);
    assert_near(pelt_diagonal(lone, 0), 0, 0);
}

static void normals_of_a_sphere_point_away_from_its_centre(void **state) {
    (void)state;
    enum { RINGS = 40, SIDES = 60, N = (RINGS - 1) * SIDES };
    static float p[3 * N], n[3 * N];
    static uint32_t triangles[6 * N];
    uint32_t count = 0;
    for (uint32_t v = 0; v < N; v++) {
        double latitude = acos(-1) * (v / SIDES + 1) / RINGS, longitude = 2 * acos(-1) * (v % SIDES) / SIDES;
        p[3 * v] = (float)(sin(latitude) * cos(longitude)), p[3 * v + 1] = (float)cos(latitude);
        p[3 * v + 2] = (float)(sin(latitude) * sin(longitude));
        uint32_t right = v / SIDES * SIDES + (v + 1) % SIDES;
        if (right + SIDES >= N || v + SIDES >= N) continue;
        uint32_t quad[] = {v, right, v + SIDES, right, right + SIDES, v + SIDES};
        memcpy(triangles + count, quad, sizeof quad), count += 6;
    }
    pelt_mesh_normals(p, N, triangles, count / 3, n);
    for (uint32_t v = SIDES; v < N - SIDES; v++)
        assert_true(n[3 * v] * p[3 * v] + n[3 * v + 1] * p[3 * v + 1] + n[3 * v + 2] * p[3 * v + 2] > 0.998);
}

static void seams_are_one_point_unless_they_come_apart(void **state) {
    (void)state;
    pelt_bundle *bundle = character_chain(1, 6);
    static const float rest[18] = {0, 0, 0, 1, 0, 0, -0.0f, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0};
    memcpy(bundle->mesh.positions, rest, sizeof rest);
    float frames[36];
    memcpy(frames, rest, sizeof rest), memcpy(frames + 18, rest, sizeof rest);
    frames[18 + 3 * 3 + 1] = 1;       /* vertex 3 leaves vertices 1 and 4 in the second frame */
    frames[18 + 2 * 3 + 2] = 0.0005f; /* vertex 2 leaves vertex 0 by less than the tolerance */
    pelt_clip moving = {.frame_count = 2, .positions = frames}, still = {.frame_count = 9};
    pelt_example list[] = {{&still, 8}, {&moving, 0}, {&moving, 1}};
    pelt_examples all = {3, list}, first = {2, list};
    uint32_t point_of[6];
    static const uint32_t apart[] = {0, 1, 0, 2, 1, 3}, together[] = {0, 1, 0, 1, 1, 2}, strict[] = {0, 1, 2, 3, 1, 4};
    assert_int_equal(pelt_weld(bundle->arena, &bundle->mesh, all, 0.001, point_of), 4);
    assert_memory_equal(point_of, apart, sizeof apart);
    for (int some = 0; some < 2; some++) { /* no examples, or only some: frames that are not among them do not matter */
        memset(point_of, 0, sizeof point_of);
        assert_int_equal(pelt_weld(bundle->arena, &bundle->mesh, some ? first : (pelt_examples){0}, 0.001, point_of),
                         3);
        assert_memory_equal(point_of, together, sizeof together);
    }
    assert_int_equal(pelt_weld(bundle->arena, &bundle->mesh, all, 0.0001, point_of), 5);
    assert_memory_equal(point_of, strict, sizeof strict);
    character_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_never_shared),
        cmocka_unit_test(an_arena_refuses_what_passes_its_limit_or_overflows),
        cmocka_unit_test(arenas_inside_are_freed_with_their_parent_and_fail_with_it),
        cmocka_unit_test(a_stage_ends_where_memory_does),
        cmocka_unit_test(findings_keep_their_order_and_long_texts_are_cut),
        cmocka_unit_test(a_parallel_loop_gives_the_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(an_inverse_undoes_its_map_and_singular_maps_have_none),
        cmocka_unit_test(every_rotation_is_found_again_whichever_component_is_largest),
        cmocka_unit_test(columns_scaled_to_nothing_do_not_lose_the_rotation_of_the_others),
        cmocka_unit_test(shear_is_what_the_split_returns),
        cmocka_unit_test(a_transform_scales_then_rotates_then_translates),
        cmocka_unit_test(steps_and_lines_hold_before_the_first_and_after_the_last_key),
        cmocka_unit_test(rotations_turn_evenly_along_the_shorter_way),
        cmocka_unit_test(cubic_keys_follow_the_polynomial_that_they_were_taken_from),
        cmocka_unit_test(times_of_all_channels_are_merged_and_rounding_makes_no_frames),
        cmocka_unit_test(joint_matrices_are_the_same_with_and_without_a_place_for_globals),
        cmocka_unit_test(the_angle_between_rotations_is_that_of_their_dot_product),
        cmocka_unit_test(weights_are_made_to_sum_to_one_and_rounding_is_left),
        cmocka_unit_test(normals_of_a_cube_point_along_its_diagonals),
        cmocka_unit_test(normals_of_a_sphere_point_away_from_its_centre),
        cmocka_unit_test(seams_are_one_point_unless_they_come_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
