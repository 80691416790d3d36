/* clean.c: a fit's own copy of the examples, without what is wrong with them: shapes that do not fit their poses (doubt.c)
   and noise (low_rank.c).

   Both are found with the file's weights, before any fit. Everything after this works on examples that are as they
   should have been; where nothing is wrong, on the caller's own. */

#include "fit/examples/clean.h"
#include "fit/examples/doubt.h"
#include "fit/examples/low_rank.h"
#include <math.h>
#include <string.h>

enum { LEAST_EXAMPLES = 24, MOST_EXAMPLES = 512, NAMED = 10 };

/* As many examples as can be looked at together: time grows with the square of their number. Frames of a motion are
   dealt in turn, since they resemble their neighbours; other examples are in all batches, as long as there is room. */
typedef struct batch {
    pelt_fitting *to; /* whose examples get clean, once its bundle is a copy of */
    pelt_bundle *from;
    pelt_arena *arena;
    uint32_t *members;  /* [example of the batch] among all */
    uint8_t *verdicts;  /* [example of all] */
    uint32_t *vertices; /* [example of all] that are out of place */
    pelt_fitting look;  /* at this batch */
    pelt_example_displacements u;
    pelt_doubts doubts;
    double noise;
    bool only_look; /* nothing is fitted afterwards */
    pelt_watch watch;
} batch;

/* -- The copy ------------------------------------------------------------------------------------------------------ */

static float *copy_vectors(pelt_arena *arena, const float *vectors, size_t count) {
    float *copy = PELT_NEW(arena, 3 * count, float);
    memcpy(copy, vectors, 3 * count * sizeof *copy);
    return copy;
}

static pelt_clip *copy_clip(pelt_arena *arena, const pelt_clip *clip, size_t vertex_count) {
    pelt_clip *copy = PELT_NEW(arena, 1, pelt_clip);
    *copy = *clip;
    copy->positions = copy_vectors(arena, clip->positions, vertex_count * clip->frame_count);
    if (clip->normals) copy->normals = copy_vectors(arena, clip->normals, vertex_count * clip->frame_count);
    return copy;
}

static void copy_bundle(pelt_fitting *f, pelt_arena *arena) {
    pelt_bundle *bundle = PELT_NEW(arena, 1, pelt_bundle);
    const pelt_clip **clips = PELT_NEW(arena, f->bundle->clip_count, const pelt_clip *);
    pelt_example *list = PELT_NEW(arena, f->examples.count, pelt_example);
    memcpy(list, f->examples.list, f->examples.count * sizeof *list);
    for (uint32_t i = 0; i < f->bundle->clip_count; i++) {
        const pelt_clip *clip = clips[i] = f->bundle->clips[i];
        for (size_t e = 0; e < f->examples.count; e++) {
            if (list[e].clip != clip) continue;
            if (clips[i] == clip) clips[i] = copy_clip(arena, clip, f->bundle->mesh.vertex_count);
            list[e].clip = clips[i];
        }
    }
    *bundle = *f->bundle;
    bundle->clips = clips;
    f->bundle = bundle, f->examples.list = list;
}

/* Where all points have moved, normals are those of the clean surface. */
static void forget_normals(batch *b) {
    for (uint32_t i = 0; i < b->from->clip_count; i++)
        if (b->to->bundle->clips[i] != b->from->clips[i]) ((pelt_clip *)b->to->bundle->clips[i])->normals = NULL;
}

static void write_example(void *user, size_t e, pelt_arena *scratch) {
    const batch *b = user;
    const pelt_example *to = &b->to->examples.list[b->members[e]];
    size_t frame = 3 * (size_t)b->u.vertex_count * to->frame;
    float *positions = (float *)to->clip->positions + frame; /* our copy */
    float *normals = to->clip->normals ? (float *)to->clip->normals + frame : NULL;
    const pelt_affine *matrices = pelt_matrices_in(&b->look, to, scratch);
    for (uint32_t v = 0; v < b->u.vertex_count; v++) {
        uint32_t p = b->u.point_of[v];
        if (!(b->noise > 0) && !b->doubts.marks[e * b->u.point_count + p]) continue;
        const float *rest = b->look.model.positions + 3 * (size_t)v, *d = pelt_displacement(&b->u, e, p);
        pelt_affine blend = pelt_blend_matrix(&b->look.model.influences, v, matrices);
        double at[3] = {(double)rest[0] + d[0], (double)rest[1] + d[1], (double)rest[2] + d[2]}, moved[3];
        pelt_affine_point(&blend, at, moved);
        for (int i = 0; i < 3; i++) positions[3 * (size_t)v + (size_t)i] = (float)moved[i];
        if (normals) memset(normals + 3 * (size_t)v, 0, 3 * sizeof *normals); /* nobody knows it any more */
    }
}

static pelt_result clean_batch(batch *b, pelt_error *error) {
    pelt_fitting *f = &b->look;
    pelt_poses poses;
    pelt_poses_of(f->arena, f->bundle, f->examples, &f->options, &poses);
    if (!poses.mover_count) return PELT_OK;
    pelt_result result = pelt_fit_blend(f, error);
    if (!result) result = pelt_displacements_of(f, &b->u, error);
    if (result) return result;
    bool mended = pelt_mend_examples(f->arena, f, &poses, &b->u, &b->doubts);
    b->noise = pelt_remove_noise(f->arena, &f->model, &b->u, f->options.threads);
    if (!mended && !(b->noise > 0)) return PELT_OK;
    if (b->to->bundle == b->from) copy_bundle(b->to, b->arena);
    pelt_parallel(f->arena, f->options.threads, f->examples.count, write_example, b);
    for (size_t e = 0; e < f->examples.count; e++) {
        if (b->doubts.examples[e] < b->verdicts[b->members[e]]) continue; /* worse by another batch */
        b->verdicts[b->members[e]] = b->doubts.examples[e];
        b->vertices[b->members[e]] = b->doubts.vertices[e];
    }
    b->to->noise = fmax(b->to->noise, b->noise);
    return PELT_OK;
}

/* -- What is said -------------------------------------------------------------------------------------------------- */

/* "train:12, train:40 and 3 more"; returns how many. */
static size_t name_examples(const batch *b, uint8_t verdict, const char **names) {
    size_t count = 0;
    *names = "";
    for (size_t e = 0; e < b->to->examples.count; e++) {
        const pelt_example *example = &b->to->examples.list[e];
        if (b->verdicts[e] != verdict || count++ >= NAMED) continue;
        *names = pelt_arena_format(b->arena, "%s%s%s:%u", *names, count > 1 ? ", " : "", example->clip->name,
                                   example->frame);
        if (verdict == PELT_BAD_POINT) *names = pelt_arena_format(b->arena, "%s (vertex %u)", *names, b->vertices[e]);
    }
    if (count > NAMED) *names = pelt_arena_format(b->arena, "%s and %zu more", *names, count - NAMED);
    return count;
}

static void tell(batch *b) {
    pelt_findings *to = &b->to->report.findings;
    size_t all = b->to->examples.count, count;
    const char *names, *whole = b->only_look ? "fits leave them out" : "they were left out";
    const char *part = b->only_look ? "fits use what the other examples predict there, or leave them out with --fix"
                       : b->from->cache.fix
                           ? "they were left out"
                           : "there the other examples' prediction is used; add --fix to leave them out";
    if ((count = name_examples(b, PELT_BAD_WHOLE, &names)))
        pelt_find(to, b->arena, PELT_WARNING, "bad-examples",
                  "the shapes of %zu of %zu examples do not match their poses, judging by the others: %s; %s: make "
                  "them again",
                  count, all, names, whole);
    if ((count = name_examples(b, PELT_BAD_PATCH, &names)))
        pelt_find(to, b->arena, PELT_WARNING, "bad-regions",
                  "parts of %zu of %zu examples do not match their poses, judging by the others: %s; %s", count, all,
                  names, part);
    if ((count = name_examples(b, PELT_BAD_POINT, &names)))
        pelt_find(to, b->arena, PELT_WARNING, "bad-vertices",
                  "single vertices are out of place in %zu of %zu examples: %s; %s", count, all, names, part);
    if (b->to->noise > 0)
        pelt_find(to, b->arena, PELT_WARNING, "noise",
                  "the shapes have noise of about %.2g in every coordinate, %.2g%% of the diagonal: whatever "
                  "neighbouring vertices and other examples do not confirm %s removed",
                  b->to->noise, 100 * b->to->noise / pelt_scene_diagonal(&b->from->mesh), b->only_look ? "is" : "was");
}

/* -- All of it ----------------------------------------------------------------------------------------------------- */

static void leave_out(batch *b) {
    pelt_examples *all = &b->to->examples;
    uint8_t worst = b->from->cache.fix ? PELT_FITS : PELT_BAD_PATCH;
    size_t kept = 0;
    for (size_t e = 0; e < all->count; e++)
        if (b->verdicts[e] <= worst) all->list[kept++] = all->list[e];
    all->count = kept;
}

/* dealt[example]: is in one batch only. Returns how many batches there are. */
static uint32_t deal(const pelt_bundle *bundle, pelt_examples all, bool *dealt) {
    size_t others = 0, count = 0;
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin + 1; end < all.count && all.list[end].clip == all.list[begin].clip;) end++;
        bool motion = pelt_is_motion(bundle, all.list + begin, end - begin);
        for (size_t e = begin; e < end; e++) dealt[e] = motion;
        *(motion ? &count : &others) += end - begin;
    }
    if (all.count <= MOST_EXAMPLES) return 1;
    if (2 * others > MOST_EXAMPLES) {
        for (size_t e = 0; e < all.count; e++) dealt[e] = true;
        others = 0, count = all.count;
    }
    return (uint32_t)((count + MOST_EXAMPLES - others - 1) / (MOST_EXAMPLES - others));
}

static pelt_result clean(void *user, pelt_error *error) {
    enum { LOOPS = 7 }; /* of a batch, about */
    batch *b = user;
    pelt_examples all = b->to->examples;
    bool *dealt = PELT_NEW(b->arena, all.count, bool);
    uint32_t count = deal(b->from, all, dealt);
    b->verdicts = PELT_NEW(b->arena, all.count, uint8_t);
    b->vertices = PELT_NEW(b->arena, all.count, uint32_t);
    b->watch.progress = &b->to->options.progress;
    pelt_arena_watch(b->arena, &b->watch);
    if (pelt_next_task(b->arena, "checking examples", 0, b->only_look ? 1 : 0.05, LOOPS * count))
        return pelt_stopped(error);
    for (uint32_t i = 0; i < count; i++) {
        PELT_SCOPED pelt_arena *work = pelt_arena_inside(b->arena);
        b->look = (pelt_fitting){.bundle = b->from, .options = b->to->options, .arena = work};
        b->look.options.blend = PELT_BLEND_FILE, b->look.options.influences = 0;
        pelt_examples *some = &b->look.examples;
        some->list = PELT_NEW(work, all.count, pelt_example), b->members = PELT_NEW(work, all.count, uint32_t);
        for (uint32_t e = 0, turn = 0; e < all.count; e++)
            if (!dealt[e] || turn++ % count == i) b->members[some->count] = e, some->list[some->count++] = all.list[e];
        pelt_result result = clean_batch(b, error);
        if (result) return result;
    }
    if (b->to->noise > 0) forget_normals(b);
    if (b->to->bundle != b->from) tell(b), leave_out(b);
    return PELT_OK;
}

/* Without repetitions, which prove nothing. */
static size_t count_distinct(pelt_examples examples) {
    size_t count = 0;
    for (size_t e = 0; e < examples.count && count < LEAST_EXAMPLES; e++) {
        size_t same = 0;
        while (examples.list[same].clip != examples.list[e].clip || examples.list[same].frame != examples.list[e].frame)
            same++;
        count += same == e;
    }
    return count;
}

static pelt_result look_at(pelt_fitting *f, pelt_arena *arena, bool only_look, pelt_error *error) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    if (count_distinct(f->examples) < LEAST_EXAMPLES || !mesh->influences.first[mesh->vertex_count]) return PELT_OK;
    batch b = {.to = f, .from = f->bundle, .arena = arena, .only_look = only_look};
    pelt_result result = pelt_stage(arena, clean, &b, error);
    pelt_arena_watch(arena, NULL);
    return result;
}

pelt_result pelt_clean_examples(pelt_fitting *f, pelt_arena *arena, pelt_error *error) {
    return look_at(f, arena, false, error);
}

pelt_result pelt_doubt_examples(pelt_bundle *bundle, pelt_examples examples, const pelt_progress *progress,
                                pelt_findings *findings, pelt_error *error) {
    pelt_error unwanted;
    if (!error) error = &unwanted;
    if (PELT_MISSING(bundle, error) || PELT_MISSING(findings, error)) return PELT_ERROR_ARGUMENT;
    pelt_result result = pelt_check_examples(bundle, examples, true, error);
    if (result) return result;
    pelt_fitting f = {.bundle = bundle, .given = bundle, .examples = examples};
    if (progress) f.options.progress = *progress;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    result = arena ? pelt_fit_resolve(&f.options, error) : pelt_no_memory(error);
    if (!result) result = look_at(&f, arena, true, error);
    for (size_t i = 0; i < f.report.findings.count && !result; i++) {
        const pelt_finding *found = &f.report.findings.list[i];
        pelt_find(findings, bundle->arena, found->severity, found->what, "%s", found->text);
    }
    return result;
}
