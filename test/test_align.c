/* test_align.c: caches as other tools write them: with different axes and units, offset, starting at another frame,
   with one point for vertices that the file splits, in a different order. Reading must recover the truth the cache was
   made from. */

#include "rig/align.h"
#include "io/io.h"
#include "samples/samples.h"
#include "test/gltf_maker.h"

/* -- Spoiling a truth ---------------------------------------------------------------------------------------------- */

typedef struct spoiling {
    bool shuffled;
    int axes[3]; /* how to transform the cache; zero: not at all */
    double scale, offset[3];
    int early, more; /* frames before the clip's first, and after its last; negative: missing */
} spoiling;

typedef struct subject {
    pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_cached_part part;
    uint32_t point_count, *point_of; /* [vertex] as the truth has it */
    pelt_point_frames cache;
    float *positions;
} subject;

static subject subject_of(const char *name, const char *variant, uint32_t vertices) {
    pelt_error error;
    subject s = {0};
    s.bundle = pelt_sample_make(
        &(pelt_sample_options){.name = name, .variant = variant, .vertices = vertices, .frames = 10}, &error);
    if (!s.bundle) fail_msg("%s", error.text);
    s.clip = pelt_bundle_clip(s.bundle, "test", PELT_NEED_POSITIONS, &error);
    assert_non_null(s.clip);
    s.part = (pelt_cached_part){s.bundle, s.clip, 0, s.bundle->mesh.vertex_count};
    s.point_of = PELT_NEW(s.bundle->arena, s.part.count, uint32_t);
    s.point_count = pelt_weld(s.bundle->arena, &s.bundle->mesh, (pelt_examples){0}, 0, s.point_of);
    return s;
}

/* Writes the truth as p with scale * axes(p) + offset = truth. Frames beyond the clip's ends hold their pose. */
static void spoil(subject *s, spoiling how) {
    uint32_t points = s->point_count, frames = (uint32_t)((int)s->clip->frame_count + how.early + how.more);
    double scale = how.scale != 0 ? how.scale : 1;
    int axes[3] = {how.axes[0] ? how.axes[0] : 1, how.axes[0] ? how.axes[1] : 2, how.axes[0] ? how.axes[2] : 3};
    if (how.shuffled) {
        uint32_t *order = PELT_NEW(s->bundle->arena, points, uint32_t);
        uint64_t seed = 5;
        for (uint32_t i = 0; i < points; i++) {
            uint32_t k = (uint32_t)(test_random(&seed) * (i + 1));
            order[i] = order[k], order[k] = i;
        }
        for (uint32_t v = 0; v < s->part.count; v++) s->point_of[v] = order[s->point_of[v]];
    }
    s->positions = PELT_NEW(s->bundle->arena, 3 * (size_t)frames * points, float);
    for (uint32_t f = 0; f < frames; f++) {
        int key = (int)f - how.early, last = (int)s->clip->frame_count - 1;
        key = key < 0 ? 0 : key > last ? last : key;
        for (uint32_t v = 0; v < s->part.count; v++)
            for (int i = 0; i < 3; i++) {
                double x = s->clip->positions[3 * ((size_t)key * s->part.count + v) + (size_t)i];
                double out = (x - how.offset[i]) / scale * (axes[i] < 0 ? -1 : 1);
                s->positions[3 * ((size_t)f * points + s->point_of[v]) + (size_t)(abs(axes[i]) - 1)] = (float)out;
            }
    }
    s->cache = (pelt_point_frames){"cache.pc2", frames, points, s->positions};
}

/* The largest distance between what was read and the truth, relative to the size. */
static double distance_from_truth(const subject *s, const pelt_alignment *how) {
    uint32_t first, keys = pelt_aligned_keys(s->clip->frame_count, s->cache.frame_count, how->shift, &first);
    double worst = 0;
    assert_true(keys > 0);
    for (uint32_t k = first; k < first + keys; k++)
        for (uint32_t v = 0; v < s->part.count; v++)
            for (int i = 0; i < 3; i++) {
                uint32_t p = how->points ? how->points[v] : v;
                size_t at = 3 * ((size_t)((int64_t)k + how->shift) * s->cache.point_count + p);
                double x = s->positions[at + (size_t)(abs(how->axes[i]) - 1)] * (how->axes[i] < 0 ? -1 : 1);
                double truth = s->clip->positions[3 * ((size_t)k * s->part.count + v) + (size_t)i];
                worst = fmax(worst, fabs(how->scale * x + how->offset[i] - truth));
            }
    return worst / s->bundle->mesh.diagonal;
}

static void expect_truth(subject *s, spoiling how, double tolerance) {
    pelt_error error = {0};
    pelt_alignment found;
    spoil(s, how);
    if (pelt_align(s->bundle->arena, &s->part, &s->cache, &(pelt_cache_options){.fix = 1}, NULL, &found, &error))
        fail_msg("%s", error.text);
    assert_int_equal(found.shift, how.early);
    double off = distance_from_truth(s, &found);
    if (!(off <= tolerance)) fail_msg("off by %g of the size", off);
}

/* -- Matching ------------------------------------------------------------------------------------------------------ */

static void the_nearest_are_those_of_a_search_through_all(void **state) {
    (void)state;
    enum { N = 300, MOST = 7 };
    static double points[3 * N];
    uint64_t seed = 1;
    for (int i = 0; i < 3 * N; i++) points[i] = i % 7 ? test_random(&seed) : 0.5; /* some coordinates are equal */
    pelt_arena *arena = pelt_arena_new(0);
    const pelt_neighbours *tree = pelt_neighbours_of(arena, points, N);
    for (int trial = 0; trial < 200; trial++) {
        double at[3] = {2 * test_random(&seed) - 0.5, test_random(&seed), test_random(&seed)}, squares[MOST], all[N];
        uint32_t list[MOST];
        assert_int_equal(pelt_nearest(tree, at, MOST, list, squares), MOST);
        for (int p = 0; p < N; p++) {
            all[p] = 0;
            for (int i = 0; i < 3; i++) all[p] += pow(points[3 * p + i] - at[i], 2);
        }
        for (int k = 0; k < MOST; k++) {
            int nearer = 0;
            for (int p = 0; p < N; p++) nearer += all[p] < squares[k];
            assert_int_equal(nearer, k);
            assert_near(all[list[k]], squares[k], 1e-15);
        }
    }
    double few[5];
    uint32_t of_two[5];
    assert_int_equal(pelt_nearest(pelt_neighbours_of(arena, points, 2), (double[]){0, 0, 0}, 5, of_two, few), 2);
    pelt_arena_free(arena);
}

static void split_vertices_are_matched_in_order_and_shuffled(void **state) {
    (void)state;
    static const char *const variants[] = {"seam", "split", "mirror"};
    for (int i = 0; i < 3; i++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            subject s = subject_of(i == 2 ? "arm" : "elbow", variants[i], i == 2 ? 700 : 400);
            assert_true(s.point_count < s.part.count);
            spoil(&s, (spoiling){.shuffled = shuffled});
            pelt_alignment found;
            pelt_error error = {0};
            if (pelt_align(s.bundle->arena, &s.part, &s.cache, &(pelt_cache_options){0}, NULL, &found, &error))
                fail_msg("%s %s: %s", variants[i], shuffled ? "shuffled" : "in order", error.text);
            assert_int_equal(found.by_place, shuffled);
            for (uint32_t v = 0; v < s.part.count; v++) assert_int_equal(found.points[v], s.point_of[v]);
            pelt_bundle_free(s.bundle);
        }
}

static void a_cache_without_seams_in_another_order_is_matched_when_asked(void **state) {
    (void)state;
    subject s = subject_of("elbow", NULL, 400);
    expect_truth(&s, (spoiling){.shuffled = true, .axes = {1, 3, -2}}, 1e-6);
    pelt_bundle_free(s.bundle);
}

/* -- Axes, scale, offset, frames ----------------------------------------------------------------------------------- */

static void whatever_was_done_to_a_cache_is_undone(void **state) {
    (void)state;
    static const spoiling ways[] = {
        {.axes = {1, 3, -2}},
        {.axes = {1, 3, -2}, .shuffled = true, .scale = 0.01, .offset = {3, -1, 2}},
        {.axes = {-2, 3, -1}, .scale = 2.5},
        {.axes = {1, 2, -3}, .shuffled = true, .scale = 100},
        {.offset = {0.5, 0, -4}, .early = 3, .more = 5},
        {.axes = {3, 1, 2}, .shuffled = true, .early = 2, .more = -2},
        {.early = -2, .more = 2, .scale = 0.0254},
    };
    for (int variant = 0; variant < 2; variant++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            if (!variant && ways[i].shuffled) continue; /* that is another test */
            subject s = subject_of("elbow", variant ? "seam" : NULL, 400);
            /* Offset and scale are medians of differences from the blend, which is not the truth. */
            bool exact =
                ways[i].offset[0] == 0 && (ways[i].scale == 0 || ways[i].scale == 0.01 || ways[i].scale == 100);
            expect_truth(&s, ways[i], exact ? 1e-6 : 2e-3);
            pelt_bundle_free(s.bundle);
        }
}

static void what_is_right_is_left_as_it_is(void **state) {
    (void)state;
    static const char *const names[] = {"elbow", "arm", "box", "humanoid"};
    for (int i = 0; i < 4; i++) {
        subject s = subject_of(names[i], NULL, i == 3 ? 2000 : 800);
        pelt_alignment found;
        pelt_error error = {0};
        s.positions = (float *)s.clip->positions;
        s.cache = (pelt_point_frames){"cache.pc2", s.clip->frame_count, s.part.count, s.clip->positions};
        if (pelt_align(s.bundle->arena, &s.part, &s.cache, &(pelt_cache_options){.fix = 1}, NULL, &found, &error))
            fail_msg("%s: %s", names[i], error.text);
        assert_null(found.points);
        assert_memory_equal(found.axes, pelt_aligned.axes, sizeof found.axes);
        assert_true(found.scale == 1 && found.shift == 0);
        for (int k = 0; k < 3; k++) assert_true(found.offset[k] == 0);
        pelt_bundle_free(s.bundle);
    }
}

static void what_is_given_is_kept(void **state) {
    (void)state;
    subject s = subject_of("elbow", "seam", 400);
    spoil(&s, (spoiling){.axes = {1, 3, -2}, .scale = 7, .offset = {1, 2, 3}, .early = 1});
    pelt_cache_options given = {.axes = {1, 3, -2}, .scale = 7, .offset = {1, 2, 3}, .set_frames = 1, .frames = 1};
    for (given.fix = 0; given.fix < 2; given.fix++) {
        pelt_alignment found;
        assert_int_equal(pelt_align(s.bundle->arena, &s.part, &s.cache, &given, NULL, &found, NULL), PELT_OK);
        assert_near(distance_from_truth(&s, &found), 0, 1e-6);
        assert_true(found.scale == 7 && found.offset[1] == 2 && found.shift == 1);
    }
    pelt_bundle_free(s.bundle);
}

/* Hard edges: half of the character has a point for every vertex, so that many coincide in every frame and the centroid is
   elsewhere; in any order. */
static void points_that_always_coincide_are_one_place(void **state) {
    (void)state;
    subject s = subject_of("elbow", "flat", 300);
    uint32_t n = s.part.count, count = 0, *vertices = PELT_NEW(s.bundle->arena, n, uint32_t);
    bool *seen = PELT_NEW(s.bundle->arena, s.point_count, bool);
    uint64_t seed = 8;
    for (uint32_t v = 0; v < n; v++) {
        if (seen[s.point_of[v]] && s.bundle->mesh.positions[3 * v] < 0.5f) continue;
        uint32_t k = (uint32_t)(test_random(&seed) * (count + 1));
        vertices[count] = vertices[k], vertices[k] = v, count++;
        seen[s.point_of[v]] = true;
    }
    assert_true(count > 1.5 * s.point_count && count < 0.9 * n);
    s.positions = PELT_NEW(s.bundle->arena, 3 * (size_t)s.clip->frame_count * count, float);
    for (size_t f = 0; f < s.clip->frame_count; f++)
        for (uint32_t p = 0; p < count; p++)
            memcpy(s.positions + 3 * (f * count + p), s.clip->positions + 3 * (f * n + vertices[p]), 12);
    s.cache = (pelt_point_frames){"cache.pc2", s.clip->frame_count, count, s.positions};
    for (int fix = 0; fix < 2; fix++) {
        pelt_alignment found;
        pelt_error error = {0};
        if (pelt_align(s.bundle->arena, &s.part, &s.cache, &(pelt_cache_options){.fix = fix}, NULL, &found, &error))
            fail_msg("%s", error.text);
        assert_near(distance_from_truth(&s, &found), 0, 1e-6);
        for (uint32_t p = 0; p < count; p++) assert_int_equal(s.point_of[found.vertices[p]], s.point_of[vertices[p]]);
    }
    pelt_bundle_free(s.bundle);
}

/* Hard edges split every triangle, and smoothing shrinks each by itself: the truth of a triangle is 0.4 times as large. */
static void shrink_triangles(subject *s, float *positions) {
    const pelt_mesh *mesh = &s->bundle->mesh;
    size_t n = s->part.count;
    memcpy(positions, s->clip->positions, 12 * n * s->clip->frame_count);
    for (size_t f = 0; f < s->clip->frame_count; f++)
        for (uint32_t t = 0; t < mesh->triangle_count; t++)
            for (int i = 0; i < 3; i++) {
                float *corners[3], middle = 0;
                for (int k = 0; k < 3; k++) {
                    corners[k] = positions + 3 * (f * n + mesh->triangles[3 * t + (uint32_t)k]) + i;
                    middle += *corners[k] / 3;
                }
                for (int k = 0; k < 3; k++) *corners[k] = 0.4f * *corners[k] + 0.6f * middle;
            }
}

static void points_that_were_moved_apart_are_told_by_their_order(void **state) {
    (void)state;
    subject s = subject_of("elbow", "flat", 100);
    uint32_t n = s.part.count;
    float *shrunk = PELT_NEW(s.bundle->arena, 3 * (size_t)s.clip->frame_count * n, float);
    shrink_triangles(&s, shrunk);
    s.positions = PELT_NEW(s.bundle->arena, 3 * (size_t)s.clip->frame_count * n, float);
    for (size_t i = 0; i < s.clip->frame_count * (size_t)n; i++) { /* (x, z, -y) */
        s.positions[3 * i] = shrunk[3 * i];
        s.positions[3 * i + 1] = -shrunk[3 * i + 2], s.positions[3 * i + 2] = shrunk[3 * i + 1];
    }
    s.cache = (pelt_point_frames){"cache.pc2", s.clip->frame_count, n, s.positions};
    pelt_alignment found;
    pelt_error error = {0};
    pelt_cache_options fix = {.fix = 1};
    if (pelt_align(s.bundle->arena, &s.part, &s.cache, &fix, NULL, &found, &error)) fail_msg("%s", error.text);
    assert_true(!found.by_place && !found.points);
    assert_true(found.axes[0] == 1 && found.axes[1] == 3 && found.axes[2] == -2 && found.shift == 0);
    /* Without one of the points, nothing tells which of those of a place is which. */
    uint32_t fewer = n - 1;
    for (size_t f = 1; f < s.clip->frame_count; f++)
        memmove(s.positions + 3 * f * fewer, s.positions + 3 * f * n, 12 * (size_t)fewer);
    s.cache.point_count = fewer;
    assert_int_equal(pelt_align(s.bundle->arena, &s.part, &s.cache, &fix, NULL, &found, &error), PELT_ERROR_DATA);
    if (!strstr(error.text, "merge the vertices by distance")) fail_msg("%s", error.text);
    pelt_bundle_free(s.bundle);
}

/* -- What is refused ----------------------------------------------------------------------------------------------- */

static void expect_refusal(subject *s, const char *said) {
    for (int fix = 0; fix < 2; fix++) {
        pelt_alignment found;
        pelt_error error = {0};
        pelt_result result =
            pelt_align(s->bundle->arena, &s->part, &s->cache, &(pelt_cache_options){.fix = fix}, NULL, &found, &error);
        if (!result) fail_msg("\"%s\" was not said", said);
        if (!strstr(error.text, said) || !strstr(error.text, "cache.pc2")) fail_msg("%s", error.text);
    }
}

static void points_that_cannot_be_told_apart_are_refused(void **state) {
    (void)state;
    subject s = subject_of("elbow", "seam", 400);
    spoil(&s, (spoiling){.shuffled = true});
    /* One more point, at rest in the same place as another, moves separately: nothing says which is which. */
    uint32_t more = s.point_count + 1;
    float *positions = PELT_NEW(s.bundle->arena, 3 * (size_t)s.cache.frame_count * more, float);
    for (uint32_t f = 0; f < s.cache.frame_count; f++) {
        memcpy(positions + 3 * (size_t)f * more, s.positions + 3 * (size_t)f * s.point_count,
               12 * (size_t)s.point_count);
        memcpy(positions + 3 * ((size_t)f * more + s.point_count), s.positions + 3 * (size_t)f * s.point_count, 12);
        positions[3 * ((size_t)f * more + s.point_count) + 1] += 0.05f * (float)f;
    }
    s.cache.positions = positions, s.cache.point_count = more;
    expect_refusal(&s, "cannot be matched");
    pelt_bundle_free(s.bundle);
}

static void caches_of_other_objects_are_refused(void **state) {
    (void)state;
    subject s = subject_of("elbow", "seam", 400);
    spoil(&s, (spoiling){0});
    uint64_t seed = 3;
    for (size_t i = 0; i < 3 * (size_t)s.cache.frame_count * s.point_count; i++)
        s.positions[i] = (float)test_random(&seed);
    expect_refusal(&s, "cache.pc2"); /* in one way or the other */
    s.cache.point_count = s.point_count / 2;
    expect_refusal(&s, "positions");
    s.positions[40] = NAN;
    expect_refusal(&s, "frame 0, point 13 is not a finite number");
    pelt_bundle_free(s.bundle);
}

static void damaged_caches_are_harmless(void **state) {
    (void)state;
    subject s = subject_of("elbow", "seam", 100);
    uint64_t seed = 11;
    for (int trial = 0; trial < 12; trial++) {
        spoil(&s, (spoiling){.shuffled = trial % 2, .early = trial % 5 - 2});
        for (int i = 0; i < 1 << trial % 8; i++) {
            uint32_t bits = (uint32_t)(test_random(&seed) * 4294967295.0);
            size_t n = 3 * (size_t)s.cache.frame_count * s.point_count;
            memcpy(&s.positions[(size_t)(test_random(&seed) * (double)n)], &bits, 4);
        }
        pelt_alignment found;
        pelt_error error = {0};
        pelt_align(s.bundle->arena, &s.part, &s.cache, &(pelt_cache_options){.fix = trial % 3 > 0}, NULL, &found,
                   &error);
    }
    pelt_bundle_free(s.bundle);
}

/* -- One cache for each object ------------------------------------------------------------------------------------- */

enum { SIDE = 4, KEYS = 3 };

/* Two bent sheets, the second one on a node rotated about z; "head" is "head.mesh" in the file. */
static void write_two_objects(const char *path) {
    maker *m = calloc(1, sizeof *m);
    float positions[2][SIDE * SIDE][3];
    uint16_t triangles[6 * (SIDE - 1) * (SIDE - 1)];
    int count = 0;
    for (int o = 0; o < 2; o++)
        for (int i = 0; i < SIDE * SIDE; i++) {
            float x = (float)(i % SIDE), y = (float)(i / SIDE);
            memcpy(positions[o][i], (float[]){x + 5 * (float)o, y * (1 + (float)o), 0.1f * x * x - 0.2f * y}, 12);
        }
    for (int y = 0; y + 1 < SIDE; y++)
        for (int x = 0; x + 1 < SIDE; x++) {
            int at = y * SIDE + x, corners[6] = {at, at + 1, at + SIDE, at + 1, at + SIDE + 1, at + SIDE};
            for (int i = 0; i < 6; i++) triangles[count++] = (uint16_t)corners[i];
        }
    for (int o = 0; o < 2; o++) make_array(m, positions[o], sizeof positions[o], FLOAT, "VEC3", SIDE * SIDE, false);
    make_array(m, triangles, sizeof triangles, USHORT, "SCALAR", count, false);
    MAKE_FLOATS(m, "SCALAR", KEYS, 0, 1, 2);
    MAKE_FLOATS(m, "VEC4", KEYS, 0, 0, 0, 1, 0, 0, 0.6f, 0.8f, 0, 0, 0.8f, 0.6f);
    pelt_file glb =
        make_glb(m, "'meshes':[{'name':'body.mesh','primitives':[{'attributes':{'POSITION':0},'indices':2}]},"
                    "{'name':'head.mesh','primitives':[{'attributes':{'POSITION':1},'indices':2}]}],"
                    "'nodes':[{'name':'body','mesh':0},{'name':'head','mesh':1}],'scenes':[{'nodes':[0,1]}],"
                    "'animations':[{'name':'nod','samplers':[{'input':3,'output':4}],'channels':[{'sampler':0,"
                    "'target':{'node':1,'path':'rotation'}}]}]");
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(glb.bytes, 1, glb.size, file), glb.size);
    fclose(file);
    free(m);
}

static void write_object(const pelt_bundle *bundle, uint32_t part, const char *path, float raised) {
    pelt_error error;
    const pelt_mesh_object *p = &bundle->mesh.objects[part];
    pelt_mesh mesh = {.vertex_count = p->count};
    pelt_cache_writer *writer = pelt_cache_writer_open(path, KEYS, &mesh, 24, &error);
    assert_non_null(writer);
    for (uint32_t f = 0; f < KEYS; f++) {
        float positions[SIDE * SIDE][3];
        static const double sines[] = {0, 0.96, 0.96}, cosines[] = {1, 0.28, -0.28};
        for (uint32_t v = 0; v < p->count; v++) {
            const float *rest = bundle->mesh.positions + 3 * (size_t)(p->first + v);
            double s = part ? sines[f] : 0, c = part ? cosines[f] : 1;
            positions[v][0] = (float)(c * rest[0] - s * rest[1]), positions[v][1] = (float)(s * rest[0] + c * rest[1]);
            positions[v][2] = rest[2] + raised;
        }
        pelt_cache_writer_frame(writer, positions[0]);
    }
    assert_int_equal(pelt_cache_writer_commit(writer, &error), PELT_OK);
}

static void objects_have_caches_of_their_own(void **state) {
    (void)state;
    char glb[300], body[300], head[300];
    snprintf(glb, sizeof glb, "%s/two.glb", test_folder());
    snprintf(body, sizeof body, "%s/two.body.nod.pc2", test_folder());
    snprintf(head, sizeof head, "%s/two.head.mesh.nod.mdd", test_folder());
    write_two_objects(glb);
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(glb, &error);
    if (!bundle) fail_msg("%s", error.text);
    assert_int_equal(bundle->mesh.object_count, 2);
    assert_string_equal(bundle->mesh.objects[1].name, "head");
    assert_string_equal(bundle->mesh.objects[1].mesh_name, "head.mesh");
    assert_int_equal(bundle->mesh.objects[1].first, SIDE * SIDE);
    write_object(bundle, 0, body, 0.01f);
    assert_null(pelt_bundle_clip(bundle, "nod", PELT_NEED_POSITIONS, &error));
    assert_non_null(strstr(error.text, "two.head.nod.pc2")); /* the one that is missing */
    write_object(bundle, 1, head, 0.02f);
    const pelt_clip *clip = pelt_bundle_clip(bundle, "nod", PELT_NEED_POSITIONS, &error);
    if (!clip) fail_msg("%s", error.text);
    for (uint32_t f = 0; f < KEYS; f++)
        for (uint32_t v = 0; v < 2 * SIDE * SIDE; v++)
            assert_near(clip->positions[3 * ((size_t)f * 2 * SIDE * SIDE + v) + 2],
                        bundle->mesh.positions[3 * (size_t)v + 2] + (v < SIDE * SIDE ? 0.01 : 0.02), 1e-6);
    pelt_bundle_free(bundle);
    remove(glb), remove(body), remove(head), rmdir(test_folder());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_are_those_of_a_search_through_all),
        cmocka_unit_test(split_vertices_are_matched_in_order_and_shuffled),
        cmocka_unit_test(a_cache_without_seams_in_another_order_is_matched_when_asked),
        cmocka_unit_test(whatever_was_done_to_a_cache_is_undone),
        cmocka_unit_test(what_is_right_is_left_as_it_is),
        cmocka_unit_test(what_is_given_is_kept),
        cmocka_unit_test(points_that_always_coincide_are_one_place),
        cmocka_unit_test(points_that_were_moved_apart_are_told_by_their_order),
        cmocka_unit_test(points_that_cannot_be_told_apart_are_refused),
        cmocka_unit_test(caches_of_other_objects_are_refused),
        cmocka_unit_test(damaged_caches_are_harmless),
        cmocka_unit_test(objects_have_caches_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
