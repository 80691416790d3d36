/* test_levels.c: levels of detail: every instruction set against the definition in double, at whole levels and between
   them; which level a distance asks for; what levels fits make; damaged sections. */

#include "fit/examples/displacement.h"
#include "pack/pack.h"
#include "runtime/loops.h"
#include "samples/samples.h"
#include "test/corrective_maker.h"
#include "test/definition.h"

/* -- A skin with levels --------------------------------------------------------------------------------------------- */

typedef struct levelled {
    pelt_bundle *bundle;
    const pelt_corrective *corrective; /* NULL: none */
    pelt_bytes *plain, *bytes;
    pelt_skin without, skin;
    uint8_t last[256];
    pelt_level_plan plan;
    pelt_transform *locals;
    float controls[MAKER_CONTROLS]; /* minus the values at rest */
    void *scratch;
    float *positions, *normals, *tangents;
} levelled;

enum { DISPLACED = 3, INFLUENCES = 4 };

/* Coefficients last by a rule that has nothing to do with their order: three levels with displacements, then none, two
   joints, one joint. */
static levelled open_levels(pelt_corrective *(*make)(pelt_bundle *, uint64_t *), bool in_16_bits) {
    levelled x = {.bundle = character_chain(6, 203)};
    uint64_t seed = 21;
    character_random_weights(x.bundle, INFLUENCES, &seed);
    character_random_tangents(x.bundle, &seed);
    x.corrective = make ? make(x.bundle, &seed) : NULL;
    x.plain = x.corrective ? maker_pack(x.bundle, x.corrective, in_16_bits, &x.without)
                           : character_pack(x.bundle, &x.without);
    bool weighted = x.corrective && x.corrective->weighted;
    uint32_t displaced = weighted ? 1 : x.corrective ? DISPLACED : 0, none = x.corrective ? displaced + 1 : 1;
    for (uint32_t k = 0; k < sizeof x.last; k++) x.last[k] = (uint8_t)(k * 7 / 2 % DISPLACED);
    x.plan = (pelt_level_plan){.level_count = none + 2, .displaced_count = displaced};
    if (displaced > 1) x.plan.last = x.last;
    x.plan.influences[none] = 2, x.plan.influences[none + 1] = 1;
    for (uint32_t l = 1; l < x.plan.level_count; l++)
        x.plan.rms[l] = 0.01f * (float)l, x.plan.p95[l] = 0.1f * (float)(l * l);
    pelt_error error = {0};
    x.bytes = pelt_pack_levels(x.plain->bytes, &x.without, &x.plan, &error);
    if (!x.bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(x.bytes->bytes, x.bytes->size, &x.skin), PELT_OK);
    assert_int_equal(pelt_level_count(&x.skin), x.plan.level_count);
    x.locals = PELT_NEW(x.bundle->arena, x.bundle->skeleton.joint_count, pelt_transform);
    x.scratch = aligned_alloc(64, pelt_scratch_size(&x.skin));
    x.positions = aligned_alloc(64, pelt_output_size(&x.skin));
    x.normals = aligned_alloc(64, pelt_output_size(&x.skin));
    x.tangents = aligned_alloc(64, pelt_tangents_size(&x.skin));
    return x;
}

static void close_levels(levelled *x) {
    free(x->scratch), free(x->positions), free(x->normals), free(x->tangents);
    character_free_skin(x->plain), character_free_skin(x->bytes), character_free(x->bundle);
}

static pelt_corrective *gaussian(pelt_bundle *bundle, uint64_t *seed) {
    return maker_weighted(bundle, seed, PELT_PHI_GAUSSIAN);
}

static pelt_corrective *with_features(pelt_bundle *bundle, uint64_t *seed) {
    pelt_corrective *c = PELT_NEW(bundle->arena, 1, pelt_corrective);
    uint32_t n = bundle->mesh.vertex_count;
    c->features = maker_features(bundle->arena, seed, bundle->skeleton.joint_count, 32, 16, 5, 6);
    c->displacements = maker_displacements(bundle->arena, seed, n, pelt_corrective_coefficient_count(c), 7, 0.05);
    c->tilts = maker_displacements(bundle->arena, seed, n, pelt_corrective_coefficient_count(c), 5, 0.1);
    return c;
}

static void pose_levels(levelled *x, uint64_t *seed) {
    maker_pose(x->bundle, seed, 0.4, x->locals);
    for (int i = 0; i < MAKER_CONTROLS; i++) x->controls[i] = 0.5f * maker_noise(seed);
}

static void run_skin(levelled *x, pelt_skin *skin, float level) {
    float values[MAKER_CONTROLS];
    for (int i = 0; i < MAKER_CONTROLS; i++) values[i] = maker_controls[i].rest + x->controls[i];
    pelt_pose_from(skin, &(pelt_pose_input){.locals = x->locals, .controls = values, .level = level}, x->scratch);
    pelt_deform_to(skin, x->scratch, pelt_all_blocks(skin),
                   &(pelt_output){{x->positions}, {x->normals}, {x->tangents}});
}

/* -- The definition ------------------------------------------------------------------------------------------------- */

static double share_of(uint32_t last, double level) { return fmin(fmax(last + 1 - level, 0), 1); }

/* The vectors, times how much their coefficients count. */
static pelt_displacements *faded(pelt_arena *arena, const pelt_displacements *d, uint32_t n, const uint8_t *last,
                                 double level) {
    if (!d) return NULL;
    pelt_displacements *out = PELT_NEW(arena, 1, pelt_displacements);
    *out = *d;
    out->vectors = PELT_NEW(arena, 3 * (size_t)d->first[n], float);
    for (size_t i = 0; i < 3 * (size_t)d->first[n]; i++)
        out->vectors[i] = (float)(share_of(last[d->coefficients[i / 3]], level) * d->vectors[i]);
    return out;
}

/* Weights of a vertex, all joints: the largest `most`, which sum to 1; 0: all. */
static void weights_of(const pelt_influences *in, uint32_t v, uint32_t most, double *out, uint32_t joints) {
    double sum = 0, all = 0;
    for (uint32_t j = 0; j < joints; j++) out[j] = 0;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        out[in->joints[i]] += in->weights[i], all += in->weights[i];
    for (uint32_t left = joints; most && left > most; left--) {
        uint32_t smallest = joints;
        for (uint32_t j = 0; j < joints; j++)
            if (out[j] >= 0 && (smallest == joints || out[j] <= out[smallest])) smallest = j;
        out[smallest] = -1;
    }
    for (uint32_t j = 0; j < joints; j++) out[j] = fmax(out[j], 0), sum += out[j];
    for (uint32_t j = 0; j < joints; j++) out[j] *= all / sum;
}

static void blend_rows(const pelt_affine *matrices, const double *weights, uint32_t joints, const double p[4],
                       double *out) {
    for (int row = 0; row < 3; row++) {
        out[row] = 0;
        for (uint32_t j = 0; j < joints; j++)
            for (int i = 0; i < 4; i++) out[row] += weights[j] * matrices[j].m[4 * row + i] * p[i];
    }
}

static void define(const levelled *x, double level, double *positions, double *normals) {
    const pelt_mesh *mesh = &x->bundle->mesh;
    uint32_t n = mesh->vertex_count, joints = x->bundle->skeleton.joint_count, whole = (uint32_t)level;
    pelt_corrective c = {0};
    if (x->corrective) c = *x->corrective;
    if (x->plan.last) {
        c.displacements = faded(x->bundle->arena, c.displacements, n, x->last, level);
        c.tilts = faded(x->bundle->arena, c.tilts, n, x->last, level);
    }
    assert_true(pelt_corrective_eval(&c, &x->bundle->skeleton, x->locals, x->controls, n, positions, normals));
    double weighted = c.weighted ? share_of(0, level) : 1, fade = level - whole;
    pelt_affine *matrices = calloc(joints, sizeof *matrices);
    pelt_joint_matrices(&x->bundle->skeleton, x->locals, NULL, matrices);
    for (uint32_t v = 0; v < n; v++) {
        double p[4] = {0, 0, 0, 1}, normal[4] = {0}, mixed[16], next[16], length = 0;
        for (uint32_t i = 0; i < 3; i++) {
            p[i] = mesh->positions[3 * v + i] + weighted * positions[3 * v + i];
            normal[i] = mesh->normals[3 * v + i] + weighted * normals[3 * v + i];
        }
        weights_of(&mesh->influences, v, x->plan.influences[whole], mixed, joints);
        if (fade > 0) weights_of(&mesh->influences, v, x->plan.influences[whole + 1], next, joints);
        for (uint32_t j = 0; fade > 0 && j < joints; j++) mixed[j] += fade * (next[j] - mixed[j]);
        blend_rows(matrices, mixed, joints, p, positions + 3 * v);
        blend_rows(matrices, mixed, joints, normal, normals + 3 * v);
        for (uint32_t i = 0; i < 3; i++) length += pow(normals[3 * v + i], 2);
        for (uint32_t i = 0; i < 3; i++) normals[3 * v + i] /= sqrt(length);
    }
    free(matrices);
}

static void check_levels(pelt_corrective *(*make)(pelt_bundle *, uint64_t *), bool in_16_bits, double tolerance) {
    levelled x = open_levels(make, in_16_bits);
    uint32_t n = x.bundle->mesh.vertex_count;
    double *positions = calloc(3 * n, sizeof *positions), *normals = calloc(3 * n, sizeof *normals);
    uint64_t seed = 5;
    for (int pose = 0; pose < 2; pose++) {
        pose_levels(&x, &seed);
        for (double level = 0; level < x.plan.level_count; level += level == floor(level) ? 0.375 : 0.625) {
            if (level > x.plan.level_count - 1) break;
            define(&x, level, positions, normals);
            for (int isa = 0; isa < PELT_ISA_COUNT; isa++) {
                if (!pelt_isa_works((pelt_isa)isa)) continue;
                x.skin.isa = (pelt_isa)isa;
                run_skin(&x, &x.skin, (float)level);
                for (uint32_t v = 0; v < n; v++)
                    for (uint32_t i = 0; i < 3; i++) {
                        size_t at = 3 * (size_t)x.skin.vertex_slots[v] + i;
                        assert_near(x.positions[at], positions[3 * v + i], tolerance);
                        assert_near(x.normals[at], normals[3 * v + i], 10 * tolerance);
                    }
            }
        }
    }
    free(positions), free(normals), close_levels(&x);
}

static void levels_of_every_instruction_set_are_those_of_the_definition(void **state) {
    (void)state;
    check_levels(maker_basis, false, 2e-5), check_levels(maker_basis, true, 1e-4);
    check_levels(with_features, false, 2e-5), check_levels(with_features, true, 2e-3);
    check_levels(gaussian, false, 2e-5), check_levels(gaussian, true, 2e-5);
    check_levels(NULL, false, 2e-5);
}

/* -- What the caller sees ------------------------------------------------------------------------------------------- */

/* In floats the order of a sum changes, by which it is rounded; in 16 bits sums of whole numbers do too. */
static void level_0_is_the_skin_without_levels(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++) {
        levelled x = open_levels(form < 2 ? maker_basis : gaussian, form % 2);
        size_t size = pelt_output_size(&x.skin);
        float *positions = malloc(size), *normals = malloc(size);
        uint64_t seed = 6;
        pose_levels(&x, &seed);
        run_skin(&x, &x.without, 0);
        memcpy(positions, x.positions, size), memcpy(normals, x.normals, size);
        run_skin(&x, &x.skin, 0);
        for (size_t i = 0; i < 3 * (size_t)x.skin.block_count * 16; i++) {
            assert_near(x.positions[i], positions[i], 1e-6);
            assert_near(x.normals[i], normals[i], 1e-6);
        }
        if (form >= 2) assert_memory_equal(x.positions, positions, size); /* nothing is sorted */
        memcpy(positions, x.positions, size);
        float odd[] = {-1, -INFINITY, NAN};
        for (int i = 0; i < 3; i++) { /* what is no level is level 0, bit for bit */
            run_skin(&x, &x.skin, odd[i]);
            assert_memory_equal(x.positions, positions, size);
        }
        run_skin(&x, &x.skin, (float)x.plan.level_count - 1);
        memcpy(positions, x.positions, size);
        run_skin(&x, &x.skin, INFINITY);
        assert_memory_equal(x.positions, positions, size);
        x.skin.least_level = 1e9f;
        run_skin(&x, &x.skin, 0);
        assert_memory_equal(x.positions, positions, size);
        run_skin(&x, &x.without, 3.5f); /* has one level */
        free(positions), free(normals), close_levels(&x);
    }
}

static void nothing_pops(void **state) {
    (void)state;
    for (int form = 0; form < 3; form++) {
        levelled x = open_levels(form == 0 ? maker_basis : form == 1 ? gaussian : NULL, form == 0);
        size_t count = 3 * (size_t)x.skin.block_count * 16;
        float *before = malloc(count * sizeof *before);
        const double step = 1.0 / 64;
        uint64_t seed = 7;
        pose_levels(&x, &seed);
        run_skin(&x, &x.skin, 0);
        double widest = 0;
        for (double level = step; level <= x.plan.level_count - 1; level += step) {
            memcpy(before, x.positions, count * sizeof *before);
            run_skin(&x, &x.skin, (float)level);
            for (size_t i = 0; i < count; i++) widest = fmax(widest, fabs(x.positions[i] - before[i]));
        }
        /* Between two levels positions go straight from one to the other. Here no two are further apart than 4. */
        assert_true(widest < 4 * step && widest > 1e-4);
        free(before), close_levels(&x);
    }
}

/* Any range, order and output has what the whole has. */
static void ranges_and_streams_have_the_same_bytes_at_a_level(void **state) {
    (void)state;
    levelled x = open_levels(maker_basis, true);
    uint64_t seed = 8;
    pose_levels(&x, &seed);
    uint32_t *vertices = malloc((size_t)x.skin.block_count * 64);
    float(*out)[3] = malloc(x.skin.vertex_count * sizeof *out), *parts = malloc(pelt_output_size(&x.skin));
    pelt_slot_vertices(&x.skin, vertices);
    for (float level = 0.5f; level < 5; level++) {
        run_skin(&x, &x.skin, level);
        pelt_deform_to(&x.skin, x.scratch, pelt_all_blocks(&x.skin), &(pelt_output){.positions = {x.positions}});
        pelt_deform_to(&x.skin, x.scratch, pelt_all_blocks(&x.skin), &(pelt_output){{out}, .vertices = vertices});
        for (uint32_t b = 0; b < x.skin.block_count; b++)
            pelt_deform(&x.skin, x.scratch, (pelt_range){b, 1}, parts, NULL);
        assert_memory_equal(parts, x.positions, pelt_output_size(&x.skin));
        for (uint32_t v = 0; v < x.skin.vertex_count; v++)
            assert_memory_equal(out[v], x.positions + 3 * (size_t)x.skin.vertex_slots[v], 12);
    }
    free(vertices), free(out), free(parts), close_levels(&x);
}

static void a_level_is_chosen_by_its_error_in_pixels(void **state) {
    (void)state;
    levelled x = open_levels(maker_basis, false); /* p95 is 0, .1, .4, .9, 1.6, 2.5 */
    pelt_level_view view = {.field_of_view = (float)(2 * atan(0.5)), .height = 1000, .pixels = 2, .zone = 1};
    /* A picture 1 high at distance 1: 1000 pixels for 1 unit at a distance of 1, so 2 pixels are distance / 500. */
    const double expected[][2] = {{0, 0},     {-5, 0},   {25, 0.5}, {50, 1},
                                  {125, 1.5}, {200, 2},  {450, 3},  {450 + 0.25 * 350, 3.25},
                                  {800, 4},   {1250, 5}, {1e6, 5}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        view.distance = (float)expected[i][0];
        assert_near(pelt_level(&x.skin, &view), expected[i][1], 1e-4);
    }
    view.zone = 0.5f; /* fading begins half way */
    const double zones[][2] = {{75, 1}, {125, 1}, {125 + 37.5, 1.5}, {200, 2}};
    for (size_t i = 0; i < 4; i++) {
        view.distance = (float)zones[i][0];
        assert_near(pelt_level(&x.skin, &view), zones[i][1], 1e-4);
    }
    float before = 0;
    view.zone = 0; /* continuous, and never back */
    for (view.distance = 1; view.distance < 1300; view.distance += 0.125f) {
        float level = pelt_level(&x.skin, &view);
        assert_true(level >= before && level < before + 0.1f);
        before = level;
    }
    assert_near(pelt_level(&x.without, &view), 0, 0);
    pelt_level_view bad[] = {view, view, view};
    bad[0].field_of_view = 4, bad[1].height = 0, bad[2].distance = NAN;
    for (int i = 0; i < 3; i++) assert_near(pelt_level(&x.skin, &bad[i]), 0, 0);
    pelt_level_facts facts[6];
    for (uint32_t l = 0; l < 6; l++) pelt_get_level(&x.skin, l, &facts[l]);
    assert_near(facts[4].p95, 1.6, 1e-6);
    assert_near(facts[2].rms, 0.02, 1e-6);
    for (int l = 0; l < 3; l++) assert_true(facts[l].vectors > facts[l + 1].vectors);
    assert_true(facts[3].vectors == 0 && facts[3].joints >= facts[4].joints && facts[4].joints >= facts[5].joints);
    assert_true(facts[3].influences == INFLUENCES && facts[4].influences == 2 && facts[5].influences == 1);
    close_levels(&x);
}

/* -- Levels that a fit makes ---------------------------------------------------------------------------------------- */

typedef struct fitted {
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_bytes *bytes;
    pelt_skin skin;
} fitted;

static fitted fit_arm(pelt_method method) {
    fitted f = {0};
    pelt_error error = {0};
    f.bundle = pelt_sample_make(&(pelt_sample_options){.name = "arm", .vertices = 500, .frames = 30}, &error);
    if (!f.bundle) fail_msg("%s", error.text);
    const pelt_clip *clip = f.bundle->clips[0];
    f.examples = pelt_bundle_examples(f.bundle, &clip, 1);
    f.bytes =
        pelt_fit(f.bundle, f.examples, &(pelt_fit_options){.method = method, .levels = 1, .threads = 1}, NULL, &error);
    if (!f.bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(f.bytes->bytes, f.bytes->size, &f.skin), PELT_OK);
    return f;
}

/* The distance from level 0, by the player. */
static double distance_of(const fitted *f, uint32_t level) {
    pelt_error error;
    pelt_skin skin = f->skin;
    pelt_player *player = pelt_player_new(&skin, f->bundle, &error);
    size_t n = 3 * (size_t)skin.vertex_count;
    float *whole = malloc(n * sizeof *whole), *other = malloc(n * sizeof *other);
    double sum = 0;
    for (size_t e = 0; e < f->examples.count; e++) {
        skin.least_level = 0;
        pelt_player_frame(player, f->examples.list[e].clip, f->examples.list[e].frame, whole, NULL);
        skin.least_level = (float)level;
        pelt_player_frame(player, f->examples.list[e].clip, f->examples.list[e].frame, other, NULL);
        for (size_t i = 0; i < n; i++) sum += pow((double)whole[i] - other[i], 2);
    }
    free(whole), free(other), pelt_player_free(player);
    return sqrt(sum / (double)(f->examples.count * skin.vertex_count));
}

static void fits_make_levels_whose_errors_rise_and_are_true(void **state) {
    (void)state;
    const pelt_method methods[] = {PELT_METHOD_SSD, PELT_METHOD_EIGEN, PELT_METHOD_WPSD, PELT_METHOD_PSD};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        fitted f = fit_arm(methods[i]);
        uint32_t count = pelt_level_count(&f.skin);
        assert_true(count >= 2);
        pelt_level_facts before = {0}, facts;
        for (uint32_t l = 0; l < count; l++) {
            pelt_get_level(&f.skin, l, &facts);
            assert_true(facts.rms >= before.rms && facts.p95 >= before.p95);
            if (l) assert_true(facts.vectors <= before.vectors && facts.joints <= before.joints);
            double distance = distance_of(&f, l), tolerance = 1e-5 * (1 + facts.rms);
            if (facts.joints < before.joints) /* tears the surface, and counts no less than the level before */
                assert_near(facts.rms, fmax(distance, before.rms), tolerance);
            else
                assert_near(facts.rms, distance, tolerance);
            before = facts;
        }
        pelt_error error = {0};
        pelt_bytes *again = pelt_fit_levels(f.bytes, f.bundle, f.examples, &error); /* replaces them by the same */
        assert_int_equal(again->size, f.bytes->size);
        assert_null(pelt_fit_levels(f.bytes, f.bundle, (pelt_examples){0}, &error));
        assert_non_null(strstr(error.text, "no examples"));
        pelt_bytes_free(again), pelt_bytes_free(f.bytes), pelt_bundle_free(f.bundle);
    }
}

/* -- Damaged files -------------------------------------------------------------------------------------------------- */

static void damaged_sections_are_refused(void **state) {
    (void)state;
    levelled x = open_levels(maker_basis, true);
    pelt_file_levels *head = (pelt_file_levels *)x.skin.levels;
    pelt_file_level *levels = (pelt_file_level *)((char *)head + head->levels);
    uint32_t *ends = (uint32_t *)((char *)head + levels[1].row_ends);
    uint16_t *joints = (uint16_t *)((char *)head + levels[5].entry_joints);
    float *weights = (float *)((char *)head + levels[5].entry_weights);
    uint8_t *last = (uint8_t *)head + head->last;
    pelt_skin skin;
#define REFUSED(place, value, code)                                                                                    \
    do {                                                                                                               \
        __typeof__(place) was = place;                                                                                 \
        place = value;                                                                                                 \
        assert_int_equal(pelt_open(x.bytes->bytes, x.bytes->size, &skin), code);                                       \
        place = was;                                                                                                   \
    } while (0)
    REFUSED(head->level_count, 1, PELT_ERROR_FORMAT);
    REFUSED(head->level_count, 65, PELT_ERROR_FORMAT);
    REFUSED(head->displaced_count, 0, PELT_ERROR_FORMAT);
    REFUSED(head->displaced_count, 7, PELT_ERROR_FORMAT);
    REFUSED(head->last, 0, PELT_ERROR_FORMAT);
    REFUSED(last[3], DISPLACED, PELT_ERROR_INDEX);
    REFUSED(levels[2].p95, 0.05f, PELT_ERROR_NUMBER);
    REFUSED(levels[2].rms, NAN, PELT_ERROR_NUMBER);
    REFUSED(levels[0].rms, 1, PELT_ERROR_NUMBER);
    REFUSED(levels[1].row_ends, 0, PELT_ERROR_FORMAT);
    REFUSED(levels[1].row_ends, 1ull << 40, PELT_ERROR_FORMAT);
    REFUSED(levels[4].row_ends, levels[1].row_ends, PELT_ERROR_FORMAT);
    REFUSED(ends[2], ends[2] + 1, PELT_ERROR_INDEX); /* an odd number of rows */
    REFUSED(ends[2], 1u << 20, PELT_ERROR_INDEX);
    REFUSED(joints[0], 5000, PELT_ERROR_INDEX);
    REFUSED(weights[0], INFINITY, PELT_ERROR_NUMBER);
    REFUSED(levels[5].entry_joints, 0, PELT_ERROR_FORMAT);
    REFUSED(levels[0].block_first, levels[5].block_first, PELT_ERROR_FORMAT);
    assert_int_equal(pelt_open(x.bytes->bytes, x.bytes->size, &skin), PELT_OK);
    close_levels(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_of_every_instruction_set_are_those_of_the_definition),
        cmocka_unit_test(level_0_is_the_skin_without_levels),
        cmocka_unit_test(nothing_pops),
        cmocka_unit_test(ranges_and_streams_have_the_same_bytes_at_a_level),
        cmocka_unit_test(a_level_is_chosen_by_its_error_in_pixels),
        cmocka_unit_test(fits_make_levels_whose_errors_rise_and_are_true),
        cmocka_unit_test(damaged_sections_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
