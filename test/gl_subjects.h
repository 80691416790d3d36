/* gl_subjects.h: skins with everything the graphics side must get right, each with characters in different poses, and
   the processor's results. */

#ifndef PELT_TEST_GL_SUBJECTS_H
#define PELT_TEST_GL_SUBJECTS_H

#include "gpu/headless.h"
#include "pack/pack.h"
#include "samples/samples.h"
#include "test/corrective_maker.h"
#include <pelt/gl.h>

typedef struct subject {
    pelt_bundle *bundle; /* NULL: the skin was not made here */
    pelt_bytes *bytes;
    pelt_skin skin;
    double diagonal;
    uint32_t characters;
    pelt_transform **locals; /* the poses, */
    float **controls;
    float *levels; /* of detail */
    void **scratches;
    float **positions, **normals; /* of the processor */
} subject;

static inline double skin_diagonal(const pelt_skin *skin) {
    float low[3] = {1e30f, 1e30f, 1e30f}, high[3] = {-1e30f, -1e30f, -1e30f};
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        uint32_t slot = skin->vertex_slots[v];
        for (uint32_t i = 0; i < 3; i++) {
            float x = skin->rest_positions[(slot / 16 * 3 + i) * 16 + slot % 16];
            low[i] = fminf(low[i], x), high[i] = fmaxf(high[i], x);
        }
    }
    double square = 0;
    for (int i = 0; i < 3; i++) square += pow(high[i] - low[i], 2);
    return sqrt(square);
}

/* Allocates characters, whose poses are set later. */
static inline void subject_room(subject *s, uint32_t characters) {
    s->characters = characters, s->diagonal = fmax(skin_diagonal(&s->skin), 1e-3);
    s->scratches = calloc(characters, sizeof *s->scratches);
    s->levels = calloc(characters, sizeof *s->levels);
    s->locals = calloc(characters, sizeof *s->locals), s->controls = calloc(characters, sizeof *s->controls);
    s->positions = calloc(characters, sizeof *s->positions), s->normals = calloc(characters, sizeof *s->normals);
    for (uint32_t c = 0; c < characters; c++) {
        s->scratches[c] = aligned_alloc(64, pelt_scratch_size(&s->skin));
        s->locals[c] = calloc(s->skin.joint_count, sizeof **s->locals);
        s->controls[c] = calloc(s->skin.control_count + 1, sizeof **s->controls);
        s->positions[c] = aligned_alloc(64, pelt_output_size(&s->skin));
        s->normals[c] = aligned_alloc(64, pelt_output_size(&s->skin));
    }
}

static inline void subject_pose(subject *s, uint32_t c, const pelt_transform *locals, const float *controls) {
    memcpy(s->locals[c], locals, s->skin.joint_count * sizeof *locals);
    for (uint32_t k = 0; k < s->skin.control_count; k++)
        s->controls[c][k] = controls ? controls[k] : s->skin.controls[k].rest;
    pelt_pose_input input = {.locals = locals, .controls = controls, .level = s->levels[c]};
    pelt_pose_from(&s->skin, &input, s->scratches[c]);
    pelt_deform(&s->skin, s->scratches[c], pelt_all_blocks(&s->skin), s->positions[c], s->normals[c]);
}

static inline void subject_free(subject *s) {
    for (uint32_t c = 0; c < s->characters; c++) {
        free(s->scratches[c]), free(s->positions[c]), free(s->normals[c]);
        free(s->locals[c]), free(s->controls[c]);
    }
    free(s->scratches), free(s->positions), free(s->normals), free(s->locals), free(s->controls), free(s->levels);
    if (s->bundle)
        character_free_skin(s->bytes), character_free(s->bundle);
    else
        pelt_bytes_free(s->bytes);
}

/* The recipe for a tube with a skin. spread: how far joints rotate; scales: joints also scale. */
typedef struct recipe {
    const char *name;
    uint32_t joints, vertices, influences;
    int corrective; /* 0 none, 1 basis, 2 weighted, 3 a basis that displaces nothing, 4 weighted without some centres */
    pelt_phi phi;
    bool unnormalised, in_16_bits, scales, tangents;
    bool without_turns; /* the corrective does not change normals */
    uint32_t characters;
    int rings;       /* normals of the deformed surface: 1 by area, 2 by angle */
    bool bent;       /* they deviate from it */
    bool fan;        /* all triangles meet in the first vertex, whose walk takes several patches */
    uint32_t levels; /* levels of detail with displacements: characters have levels from 0 to none */
} recipe;

static const recipe recipes[] = {
    {"one vertex", 2, 1, 1, .characters = 3},
    {"15 vertices", 2, 15, 2, .characters = 9},
    {"17 vertices", 3, 17, 2, .characters = 1},
    {"blend", 5, 3001, 4, .characters = 100},
    {"300 joints", 300, 2000, 6, .characters = 9},
    {"scaled", 4, 500, 3, .scales = true, .characters = 6},
    {"no correctives", 3, 100, 2, 3, .characters = 9},
    {"basis", 6, 700, 3, 1, .characters = 10},
    {"basis in 16 bits", 6, 700, 3, 1, .in_16_bits = true, .characters = 10},
    {"basis, one vertex", 2, 1, 1, 1, .in_16_bits = true, .characters = 9},
    {"basis with tangents", 6, 300, 3, 1, .in_16_bits = true, .tangents = true, .characters = 2},
    {"basis, scaled", 6, 170, 3, 1, .in_16_bits = true, .scales = true, .characters = 9},
    {"weighted, exponential", 6, 333, 3, 2, PELT_PHI_EXP, .characters = 3},
    {"weighted, Gaussian", 6, 333, 3, 2, PELT_PHI_GAUSSIAN, .characters = 10},
    {"weighted, mixed", 6, 333, 3, 2, PELT_PHI_MIXED, .characters = 3},
    {"weighted in 16 bits, exponential", 6, 333, 3, 2, PELT_PHI_EXP, .in_16_bits = true, .characters = 3},
    {"weighted in 16 bits, Gaussian", 6, 333, 3, 2, PELT_PHI_GAUSSIAN, .in_16_bits = true, .characters = 10},
    {"weighted in 16 bits without norm", 6, 333, 3, 2, PELT_PHI_GAUSSIAN, true, true, .characters = 10},
    {"weighted without some centres", 6, 100, 3, 4, PELT_PHI_GAUSSIAN, .characters = 4},
    {"weighted in 16 bits without some centres", 6, 180, 3, 4, PELT_PHI_EXP, .in_16_bits = true, .characters = 9},
    {"weighted without norm, scaled", 6, 333, 3, 2, PELT_PHI_GAUSSIAN, true, false, true, .characters = 9},
    {"basis in 16 bits without turns", 6, 700, 3, 1, .in_16_bits = true, .without_turns = true, .characters = 10},
    {"weighted in 16 bits without turns", 6, 333, 3, 2, PELT_PHI_MIXED, .in_16_bits = true, .without_turns = true,
     .characters = 27},
    {"rings", 5, 700, 3, .characters = 10, .rings = 1},
    {"rings by angle, basis in 16 bits", 6, 700, 3, 1, .in_16_bits = true, .without_turns = true, .characters = 9,
     .rings = 2},
    {"rings, bent, basis, scaled", 6, 170, 3, 1, .scales = true, .characters = 3, .rings = 1, .bent = true},
    {"rings by angle, bent, weighted", 6, 333, 3, 2, PELT_PHI_GAUSSIAN, .in_16_bits = true, .without_turns = true,
     .characters = 10, .rings = 2, .bent = true},
    {"a fan", 3, 500, 2, .characters = 5, .rings = 1, .fan = true},
    {"a fan by angle", 3, 301, 2, .characters = 2, .rings = 2, .bent = true, .fan = true},
};
enum { RECIPES = sizeof recipes / sizeof *recipes };

static const recipe levelled_recipes[] = {
    {"basis with levels", 6, 700, 3, 1, .characters = 10, .levels = 3},
    {"basis in 16 bits with levels", 6, 700, 3, 1, .in_16_bits = true, .characters = 11, .levels = 3},
    {"weighted with levels", 6, 333, 3, 2, PELT_PHI_MIXED, .characters = 5, .levels = 1},
    {"weighted in 16 bits without norm, with levels", 6, 333, 3, 2, PELT_PHI_GAUSSIAN, true, true, .characters = 10,
     .levels = 1},
    {"rings, basis in 16 bits with levels", 6, 700, 3, 1, .in_16_bits = true, .without_turns = true, .characters = 9,
     .rings = 1, .levels = 3},
};
enum { LEVELLED = sizeof levelled_recipes / sizeof *levelled_recipes };

/* The skin with levels: the last one has no displacements. Coefficients last by any rule. */
static inline void recipe_levels(const recipe *r, subject *s) {
    pelt_error error = {0};
    uint8_t last[256];
    for (uint32_t k = 0; k < sizeof last; k++) last[k] = (uint8_t)(k * 7 / 2 % r->levels);
    pelt_level_plan plan = {.level_count = r->levels + 1, .displaced_count = r->levels};
    if (r->levels > 1) plan.last = last;
    pelt_bytes *bytes = pelt_pack_levels(s->bytes->bytes, &s->skin, &plan, &error);
    if (!bytes) fail_msg("%s", error.text);
    character_free_skin(s->bytes);
    s->bytes = bytes;
    assert_int_equal(pelt_open(bytes->bytes, bytes->size, &s->skin), PELT_OK);
}

static inline pelt_corrective *recipe_corrective(const recipe *r, pelt_bundle *bundle, uint64_t *seed) {
    if (!r->corrective) return NULL;
    if (r->corrective == 2 || r->corrective == 4) {
        pelt_corrective *c = maker_weighted(bundle, seed, r->phi);
        pelt_weighted *w = (pelt_weighted *)c->weighted;
        for (size_t i = 0; r->corrective == 4 && i < (size_t)r->vertices * w->center_count; i++)
            if (i % w->center_count % 5 == 3) { /* 0 1 2 4, 5 6 7 9, ...: fours that are nearly side by side */
                memset((float *)w->folded + 4 * i, 0, 4 * sizeof(float));
                memset((float *)w->folded_tilts + 3 * i, 0, 3 * sizeof(float));
            }
        for (size_t i = 0; r->rings && i < 4 * (size_t)r->vertices * w->center_count; i++)
            if (i % 4 < 3) ((float *)w->folded)[i] *= 0.1f;
        w->unnormalised = r->unnormalised;
        if (r->without_turns) w->folded_tilts = NULL;
        return c;
    }
    pelt_corrective *c = maker_basis(bundle, seed);
    if (r->corrective == 3) {
        pelt_arena *arena = bundle->arena;
        uint32_t n = bundle->mesh.vertex_count, count = pelt_corrective_coefficient_count(c);
        c->displacements = maker_displacements(arena, seed, n, count, 0, 1);
        c->tilts = maker_displacements(arena, seed, n, count, 0, 1);
    }
    if (r->without_turns) c->tilts = NULL;
    return c;
}

/* The rings of the bundle's mesh. */
static inline const pelt_rings *recipe_rings(const recipe *r, pelt_bundle *bundle, uint64_t *seed) {
    pelt_mesh *mesh = &bundle->mesh;
    if (!r->rings) return NULL;
    uint32_t *points = PELT_NEW(bundle->arena, mesh->vertex_count, uint32_t);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) points[v] = v;
    if (r->fan) mesh->triangle_count = mesh->vertex_count - 2;
    for (uint32_t i = 0; r->fan && i < mesh->triangle_count; i++)
        mesh->triangles[3 * (size_t)i] = 0, mesh->triangles[3 * (size_t)i + 1] = i + 1,
                            mesh->triangles[3 * (size_t)i + 2] = i + 2;
    for (size_t i = 0; r->bent && i < 3 * (size_t)mesh->vertex_count; i++) mesh->normals[i] += 0.3f * maker_noise(seed);
    const pelt_smoothing *smoothing = pelt_smoothing_of(bundle->arena, mesh, (pelt_examples){0});
    pelt_rings *rings = smoothing ? (pelt_rings *)pelt_rings_of(bundle->arena, smoothing, points) : NULL;
    assert_non_null(rings);
    rings->by_angle = r->rings == 2;
    if (!r->bent) rings->bends = NULL, rings->across = NULL;
    assert_true(!r->bent == !rings->bends);
    return rings;
}

static inline subject subject_of(const recipe *r) {
    uint64_t seed = 11;
    int32_t *parents = calloc(r->joints, sizeof *parents); /* a tree, so that many joints do not extend far */
    for (uint32_t j = 0; j < r->joints; j++) parents[j] = (int32_t)(j + 1) / 2 - 1;
    subject s = {.bundle = character_new(r->joints, parents)};
    free(parents);
    character_bind(s.bundle);
    character_tube(s.bundle, r->vertices, 0.5, 6);
    if (r->rings)
        character_chain_weights(s.bundle); /* a surface that crumples has no normals to speak of */
    else
        character_random_weights(s.bundle, r->influences, &seed);
    if (r->tangents) character_random_tangents(s.bundle, &seed);
    const pelt_corrective *corrective = recipe_corrective(r, s.bundle, &seed);
    s.bytes = maker_pack_rings(s.bundle, corrective, r->in_16_bits, recipe_rings(r, s.bundle, &seed), &s.skin);
    assert_int_equal(pelt_needs_shading(&s.skin), r->rings != 0);
    if (r->levels) recipe_levels(r, &s);
    subject_room(&s, r->characters);
    pelt_transform *locals = calloc(r->joints, sizeof *locals);
    for (uint32_t c = 0; c < r->characters; c++) {
        float controls[MAKER_CONTROLS];
        maker_pose(s.bundle, &seed, 0.3, locals);
        /* The last of several does not scale: both kinds go into one dispatch. */
        for (uint32_t j = 0; r->scales && c + 1 < r->characters && j < r->joints; j++)
            for (int i = 0; i < 3; i++) locals[j].scale[i] = (float)(0.8 + 0.4 * test_random(&seed));
        for (int i = 0; i < MAKER_CONTROLS; i++) controls[i] = maker_controls[i].rest + maker_noise(&seed);
        s.levels[c] = r->levels ? 0.375f * (float)((1 + c * 3) % (8 * r->levels / 3 + 2)) : 0;
        subject_pose(&s, c, locals, controls);
    }
    free(locals);
    return s;
}

/* Fits the clip "train" of a bundle and plays frames of an unseen clip. Frees the bundle. */
static inline void subject_fit_bundle(pelt_bundle *bundle, const char *clip_name, pelt_fit_options options,
                                      uint32_t characters, subject *s) {
    pelt_error error = {0};
    const pelt_clip *train = pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error);
    const pelt_clip *clip = train ? pelt_bundle_clip(bundle, clip_name, PELT_NEED_POSE, &error) : NULL;
    if (!clip) fail_msg("%s", error.text);
    pelt_examples examples = pelt_bundle_examples(bundle, &train, 1);
    if (examples.count > 24) examples.count = 24;
    s->bytes = pelt_fit(bundle, examples, &options, NULL, &error);
    if (!s->bytes) fail_msg("%s", error.text);
    assert_int_equal(pelt_open(s->bytes->bytes, s->bytes->size, &s->skin), PELT_OK);
    subject_room(s, characters);
    pelt_transform *locals = calloc(s->skin.joint_count, sizeof *locals);
    for (uint32_t c = 0; c < characters; c++) {
        pelt_clip_pose(clip, &bundle->skeleton, c * 7 % clip->frame_count, locals);
        subject_pose(s, c, locals, NULL);
    }
    free(locals);
    pelt_bundle_free(bundle);
}

/* Characters with seams and hard edges, and normals of the deformed surface. */
static const struct {
    const char *name, *variant;
    pelt_method method;
} shaded_subjects[] = {
    {"arm with a seam and rings", "seam", PELT_METHOD_PSD},
    {"arm with hard edges and rings", "edges", PELT_METHOD_EIGEN},
    {"arm in single triangles with rings", "split", PELT_METHOD_WPSD},
};
enum { SHADED_SUBJECTS = sizeof shaded_subjects / sizeof *shaded_subjects };

static inline subject subject_shaded(int i) {
    pelt_error error = {0};
    pelt_sample_options sample = {.name = "arm", .vertices = 300, .frames = 16, .variant = shaded_subjects[i].variant};
    pelt_bundle *bundle = pelt_sample_make(&sample, &error);
    if (!bundle) fail_msg("%s", error.text);
    subject s = {0};
    pelt_fit_options options = {.method = shaded_subjects[i].method, .normals = PELT_NORMALS_SURFACE};
    subject_fit_bundle(bundle, "test", options, 9, &s);
    assert_true(pelt_needs_shading(&s.skin));
    return s;
}

/* The same for a real character. False if its file is missing. */
static inline bool subject_fit(const char *file, const char *clip_name, pelt_fit_options options, uint32_t characters,
                               subject *s) {
    const char *path = test_data(file);
    if (!path) return false;
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    if (!bundle) fail_msg("%s", error.text);
    subject_fit_bundle(bundle, clip_name, options, characters, s);
    return true;
}

/* Real characters, and the fits made from them. */
static const struct {
    const char *file, *clip;
    pelt_fit_options options;
    uint32_t characters;
} real_subjects[] = {
    {"mhr_hand/mhr_hand.glb", "test", {.method = PELT_METHOD_JOINTS}, 3},
    {"mhr_hand/mhr_hand.glb", "test", {.method = PELT_METHOD_PSD}, 9},
    {"mhr_hand/mhr_hand.glb", "test", {.method = PELT_METHOD_WPSD}, 3},
    {"mhr_body/mhr_body.glb", "walk", {.method = PELT_METHOD_EIGEN}, 9},
    {"mhr_body/mhr_body.glb", "walk", {.method = PELT_METHOD_KERNEL}, 3},
};
enum { REAL_SUBJECTS = sizeof real_subjects / sizeof *real_subjects };

/* The largest difference; infinite if any value is NaN. */
static inline double largest_gap(const pelt_skin *skin, const float *a, const float *b) {
    double worst = 0;
    for (uint32_t v = 0; v < skin->vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            double d =
                fabs((double)a[3 * (size_t)skin->vertex_slots[v] + i] - b[3 * (size_t)skin->vertex_slots[v] + i]);
            worst = d <= worst ? worst : isfinite(d) ? d : INFINITY;
        }
    return worst;
}

/* How far the processor's own instruction sets differ: where changes of normals are sums of large terms that cancel
   (weighted, in 16 bits), this exceeds rounding. */
static inline double own_normal_gap(const subject *s, uint32_t c) {
    float *positions = aligned_alloc(64, pelt_output_size(&s->skin)),
          *normals = aligned_alloc(64, pelt_output_size(&s->skin));
    pelt_skin scalar = s->skin;
    scalar.isa = PELT_ISA_SCALAR;
    pelt_deform(&scalar, s->scratches[c], pelt_all_blocks(&scalar), positions, normals);
    double gap = largest_gap(&s->skin, normals, s->normals[c]);
    free(positions), free(normals);
    return gap;
}

/* Normals of the surface are compared with those that the processor finds on the device's own positions: how far a
   rounding of positions turns them depends on the surface. */
static inline double normal_gap(const subject *s, uint32_t c, const float *positions, const float *normals) {
    if (!pelt_needs_shading(&s->skin)) return largest_gap(&s->skin, normals, s->normals[c]);
    float *own = aligned_alloc(64, pelt_output_size(&s->skin));
    pelt_output output = {.positions.data = (float *)positions, .normals.data = own};
    pelt_shade(&s->skin, s->scratches[c], pelt_all_blocks(&s->skin), &output);
    double gap = largest_gap(&s->skin, normals, own);
    free(own);
    return gap;
}

static inline void assert_same(const subject *s, const char *name, uint32_t c, const float *positions,
                               const float *normals) {
    double p = largest_gap(&s->skin, positions, s->positions[c]) / s->diagonal;
    double n = normals ? normal_gap(s, c, positions, normals) : 0;
    if (!(p <= 2e-6) || !(n <= 2e-6 || n <= 5 * own_normal_gap(s, c)))
        fail_msg("%s, character %u: positions differ by %.3g of the diagonal, normals by %.3g", name, c, p, n);
}

#endif
