/* fold.c: part of the examples is held out, all candidates are fitted to the rest.

   Fits of the corrective "kernel" share nearly all of their work, whatever their family and size: poses, displacements,
   who drives what; the settings of a family, which the first fold finds for all; learned features. */

#include "fit/choose/choose.h"
#include "fit/corrective/correctives.h"
#include "fit/examples/clean.h"
#include "fit/measure/measure.h"
#include "pack/pack.h"
#include "rig/ranks.h"
#include <math.h>

/* -- Dealing ------------------------------------------------------------------------------------------------------- */

/* Frames of one clip: a twelfth of a motion at a time. The first, mostly the rest pose, is always kept. */
static void deal_clip(const pelt_bundle *bundle, const pelt_example *run, size_t count, size_t *turn, int *fold) {
    size_t stretch = pelt_is_motion(bundle, run, count) ? (count + 11) / 12 : 1;
    fold[0] = -1;
    for (size_t i = count > 1; i < count; i++) {
        fold[i] = (int)((*turn + *turn / PELT_CHOICE_FOLDS) % PELT_CHOICE_FOLDS);
        if (i % stretch == 0) ++*turn;
    }
}

void pelt_deal_examples(const pelt_bundle *bundle, pelt_examples all, int *fold) {
    size_t turn = 0;
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin + 1; end < all.count && all.list[end].clip == all.list[begin].clip;) end++;
        deal_clip(bundle, all.list + begin, end - begin, &turn, fold + begin);
    }
    for (size_t e = 0; e < all.count; e++)
        for (size_t o = 0; o < all.count && pelt_is_image(all.list[e].clip, NULL); o++)
            if (all.list[o].frame == all.list[e].frame && pelt_is_image(all.list[e].clip, all.list[o].clip))
                fold[e] = fold[o];
}

bool pelt_has_motion(const pelt_bundle *bundle, pelt_examples all) {
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin + 1; end < all.count && all.list[end].clip == all.list[begin].clip;) end++;
        if (pelt_is_motion(bundle, all.list + begin, end - begin)) return true;
    }
    return false;
}

/* -- A fold -------------------------------------------------------------------------------------------------------- */

pelt_result pelt_fold_open(pelt_fold *fold, pelt_bundle *bundle, pelt_examples all, const int *folds, int own,
                           bool unclean, const pelt_progress *progress, double told, pelt_error *error) {
    pelt_kernel_memory memory = fold->memory; /* settings that another fold has found */
    memory.fit = NULL, memory.features.learned = memory.narrow.learned = NULL;
    *fold = (pelt_fold){.arena = pelt_arena_new(0), .given = bundle, .memory = memory};
    fold->kept.list = PELT_NEW(fold->arena, all.count, pelt_example);
    fold->held.list = PELT_NEW(fold->arena, all.count, pelt_example);
    if (pelt_arena_failed(fold->arena)) return pelt_no_memory(error);
    for (size_t e = 0; e < all.count; e++) {
        pelt_examples *list = folds[e] == own ? &fold->held : &fold->kept;
        list->list[list->count++] = all.list[e];
    }
    fold->fitting = (pelt_fitting){.bundle = bundle, .given = bundle, .examples = fold->kept, .told = *progress};
    pelt_begin_part(&fold->fitting, told, told);
    return unclean ? pelt_clean_examples(&fold->fitting, fold->arena, error) : PELT_OK;
}

void pelt_fold_close(pelt_fold *fold) {
    pelt_arena_free(fold->kernel.arena);
    pelt_arena_free(fold->arena);
    fold->kernel.arena = fold->arena = NULL;
}

/* -- A candidate --------------------------------------------------------------------------------------------------- */

static pelt_result fit_again(void *user, pelt_error *error) {
    pelt_fitting *f = user;
    pelt_arena_watch(f->arena, &f->watch);
    return pelt_fit_corrective(f, error);
}

/* A fit of "kernel" after the first of the fold: only its corrective. */
static const pelt_arrangement *refit_kernel(pelt_fitting *f, pelt_error *error) {
    f->arrangement = NULL, f->model.corrective = NULL, f->model.order = NULL, f->model.in_16_bits = false;
    f->watch.progress = &f->options.progress;
    if (pelt_stage(f->arena, fit_again, f, error)) return NULL;
    pelt_arena_watch(f->arena, NULL);
    return f->arrangement ? f->arrangement : pelt_model_arrange(f->arena, &f->model, error);
}

static const pelt_arrangement *fit_kernel(pelt_fold *fold, const pelt_contender *c, double low, double high,
                                          pelt_error *error) {
    pelt_fitting *f = &fold->kernel;
    bool first = !f->arena;
    if (first) *f = fold->fitting;
    f->options = c->options, f->memory = &fold->memory;
    pelt_begin_part(f, low, high);
    return first ? pelt_fit_model(f, error) : refit_kernel(f, error);
}

/* Packs, opens and runs the skin. */
static pelt_result measure(pelt_fold *fold, pelt_contender *c, const pelt_arrangement *arrangement, bool timed,
                           pelt_fitting *f, pelt_error *error) {
    pelt_skin skin;
    pelt_bytes *bytes = pelt_lay_out(arrangement, &(pelt_account){.about = "{}"}, error);
    if (!bytes) return error->code;
    pelt_result result = pelt_open(bytes->bytes, bytes->size, &skin);
    if (result) pelt_fail(error, result, "the fitted skin cannot be opened: %s", pelt_result_text(result));
    pelt_measure *measured =
        result ? NULL
               : pelt_measure_watched(&skin, fold->given, fold->held, c->options.threads, &f->options.progress, error);
    if (measured) {
        c->bytes = (double)bytes->size;
        if (timed)
            c->seconds = 1e-9 * skin.vertex_count *
                         pelt_time_frames(&skin, &fold->given->skeleton, fold->held.list[0].clip).median;
        if (timed) pelt_rank_first(&c->seconds, sizeof c->seconds); /* no two machines are as fast */
        c->measures[c->fold_count++] = measured;
    }
    pelt_bytes_free(bytes);
    return measured ? PELT_OK : error->code;
}

pelt_result pelt_fold_try(pelt_fold *fold, pelt_contender *c, bool timed, double low, double high, pelt_error *error) {
    pelt_fitting own = fold->fitting, *f = &own;
    const pelt_arrangement *arrangement;
    own.options = c->options;
    own.options.holdout = -1; /* what the fold keeps is all there is to see: steps of joints need enough of it */
    own.rough = true;
    *error = (pelt_error){0};
    if (c->options.corrective == PELT_CORRECTIVE_KERNEL) {
        arrangement = fit_kernel(fold, c, low, high, error);
        f = &fold->kernel;
    } else {
        pelt_begin_part(f, low, high);
        pelt_result result = pelt_choose_steps(f, fold->arena, error);
        arrangement = result ? NULL : pelt_fit_model(f, error);
    }
    pelt_begin_part(f, high, high);
    pelt_result result = arrangement ? measure(fold, c, arrangement, timed, f, error) : error->code;
    if (f == &own) pelt_arena_free(own.arena);
    return result;
}
