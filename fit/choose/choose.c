/* choose.c: which method suits the examples and the budget best.

   1. The examples are dealt to five folds (fold.c). One of every method is fitted without the first, as large as the
      budget allows, and measured on it: its error, its bytes by packing, its time by running it.
   2. Those far behind the best are out. The others are tried on the next fold, and so on; the less they differ, the more
      folds it takes. Errors are pooled, without each method's worst examples (forecast.c).
   3. The best is fitted to all examples. If it has become too large for the budget by that, its method is known to grow
      so much, and the choice is made again: the next smaller size may be worse than another method.

   4. If the character has two sides, mirror images of the examples are tried with the method that was taken, or first
      with a quick one; they are kept where they help.

   Sizes are not compared: error falls as a method grows, and what a fold of few examples says of two sizes is mostly
   chance. So each method stands for the choice with the largest size within the budget. Only where an error is to be
   reached, or for the report, smaller sizes are tried, on the first fold. */

#include "fit/choose/choose.h"
#include "fit/examples/clean.h"
#include "fit/fitting.h"
#include "rig/clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_EXAMPLES = 4, LEAST_FOLDS = 2, FEW_HELD = 90, MOST_TRIES = 5 };
/* A method whose error is larger than that of the best by this is out after one, two, ... folds. */
static const double BEHIND[PELT_CHOICE_FOLDS] = {1.25, 1.15, 1.1, 1.06, 1};
/* The same while few examples, FEW_HELD, have been held out. */
static const double FAR_BEHIND[PELT_CHOICE_FOLDS] = {1.5, 1.35, 1.25, 1.15, 1};
static const double LITTLE_LEFT = 0.2; /* relative error below which driven joints, which take long, are not tried */
static const double EXACT = 2e-6;      /* of the diagonal: errors below are all the same */
static const double MARGIN = 0.98;     /* of a budget: a fit to all examples is a little larger than one to most */
static const double GAIN = 0.97;       /* of the error: mirror images must leave less */
static const double TEXTS = 3000;      /* bytes in which a skin describes itself, about */

typedef struct choosing {
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_fit_options given;
    pelt_budget budget; /* in total */
    pelt_progress progress;
    pelt_arena *arena;
    int *folds; /* [example] */
    pelt_fold fold;
    bool unclean;
    pelt_contender list[PELT_MOST_CONTENDERS];
    size_t count;
    double growth[PELT_MOST_CONTENDERS]; /* [row of the table of methods] 0: unknown */
    double base;                         /* bytes of the plain blend */
    double told;                         /* progress so far */
    pelt_mirror mirror;
    pelt_contender imaged; /* with mirror images, if that was tried: */
    double imaged_left;    /* of the error without */
    pelt_contender *plain; /* the same without, if images are kept; NULL: they are not */
    pelt_contender alone;  /* the one taken, on examples that are left out one at a time */
    bool has_motion;       /* of several joints */
} choosing;

static void forget(pelt_contender *c) {
    for (uint32_t k = 0; k < c->fold_count; k++) pelt_measure_free(c->measures[k]);
    c->fold_count = 0;
}

/* -- Errors -------------------------------------------------------------------------------------------------------- */

/* Of a candidate over its first folds. */
static double error_over(const pelt_contender *c, uint32_t folds, double *relative) {
    size_t count = 0, n = 0;
    for (uint32_t i = 0; i < folds; i++) count += c->measures[i]->frame_count;
    double *squares = calloc(2 * count + 1, sizeof *squares), *blend = squares + count;
    *relative = 0;
    if (!squares) return NAN;
    for (uint32_t i = 0; i < folds; i++)
        for (uint32_t f = 0; f < c->measures[i]->frame_count; f++, n++) {
            squares[n] = pow(c->measures[i]->frame_rms[f], 2);
            blend[n] = pow(c->measures[i]->frame_blend[f], 2);
        }
    double rms = pelt_forecast(count, squares, blend, relative);
    free(squares);
    return rms;
}

/* Errors below what files can hold are equal. */
static double judged(const choosing *s, double rms) { return fmax(rms, EXACT * (double)s->bundle->mesh.diagonal); }

/* The candidate that is ahead: the most folds, then the least error, then the fewest bytes. */
static pelt_contender *leader(choosing *s) {
    pelt_contender *best = NULL;
    for (pelt_contender *c = s->list; c < s->list + s->count; c++) {
        if (!c->is_racing || !c->fold_count) continue;
        double a = judged(s, c->rms), b = best ? judged(s, best->rms) : 0;
        if (!best || c->fold_count > best->fold_count ||
            (c->fold_count == best->fold_count && (a < b || (a == b && c->bytes < best->bytes))))
            best = c;
    }
    return best;
}

/* A candidate that was tried on fewer folds than the one ahead is expected to differ from it as it did on these. */
static void forecast(pelt_contender *c, const pelt_contender *ahead) {
    double relative, before, own = error_over(c, c->fold_count, &relative);
    c->rms = own, c->rel_err = relative;
    if (!ahead || ahead == c || ahead->fold_count <= c->fold_count) return;
    double rms = error_over(ahead, c->fold_count, &before);
    if (rms > 0) c->rms *= ahead->rms / rms;
    if (before > 0) c->rel_err *= ahead->rel_err / before;
}

/* Of the methods by the one ahead, of other sizes by that of their method which was tried most. */
static void forecast_all(choosing *s) {
    const pelt_contender *ahead = leader(s);
    for (int other_sizes = 0; other_sizes < 2; other_sizes++)
        for (pelt_contender *c = s->list; c < s->list + s->count; c++) {
            const pelt_contender *most = c;
            for (const pelt_contender *o = s->list; o < s->list + s->count; o++)
                if (o->row == c->row && o->fold_count > most->fold_count) most = o;
            if (c->fold_count && (most != c) == other_sizes) forecast(c, other_sizes ? most : ahead);
        }
}

/* -- One fold ------------------------------------------------------------------------------------------------------ */

static pelt_result open_fold(choosing *s, int own, pelt_error *error) {
    pelt_fold_close(&s->fold);
    return pelt_fold_open(&s->fold, s->bundle, s->examples, s->folds, own, s->unclean, &s->progress, s->told, error);
}

static bool is_final(const pelt_error *error) {
    return error->code == PELT_ERROR_CANCELLED || error->code == PELT_ERROR_MEMORY;
}

/* How much larger a fit to all examples has turned out than those to folds; 1 before there was one. */
static double growth(const choosing *s, const pelt_contender *c) { return fmax(s->growth[c->row], 1); }

/* Tries a candidate; one that cannot be fitted is out, with the reason. */
static pelt_result try_one(choosing *s, pelt_contender *c, double high, pelt_error *error) {
    double before = c->bytes;
    pelt_result result = pelt_fold_try(&s->fold, c, c->fold_count == 0, s->told, high, error);
    s->told = fmax(high, s->told);
    if (result && is_final(error)) return result;
    if (result) {
        c->is_racing = false;
        c->remark = pelt_arena_format(s->arena, "%s", error->text);
        return PELT_OK;
    }
    c->rms = error_over(c, c->fold_count, &c->rel_err);
    if (c->fold_count > 1) return c->bytes = before, PELT_OK; /* some folds take floats where others take 16 bits */
    bool all_poses = c->options.corrective == PELT_CORRECTIVE_PSD || c->options.corrective == PELT_CORRECTIVE_WPSD;
    double more = (c->mirror ? 2 : 1) * (double)s->examples.count / (double)s->fold.kept.count;
    if (all_poses && !c->options.psd.poses) c->bytes = s->base + (c->bytes - s->base) * more;
    c->bytes = (c->bytes + TEXTS) * growth(s, c);
    return PELT_OK;
}

static double share(const choosing *s, const pelt_contender *c) {
    return pelt_budget_share(&s->budget, c->bytes, c->seconds);
}

/* Room for another size of a candidate, or NULL. */
static pelt_contender *add_size(choosing *s, const pelt_contender *c, uint32_t size) {
    if (s->count == PELT_MOST_CONTENDERS) return NULL;
    pelt_contender *other = &s->list[s->count];
    *other = (pelt_contender){.options = c->options, .row = c->row, .is_racing = true};
    if (!pelt_resize_contender(other, &s->given, size)) return NULL;
    s->count++;
    return other;
}

/* The size between two whose share of the budget is just below 1, if shares grow evenly. */
static uint32_t fitting_size(double small, double share_small, double large, double share_large) {
    double at = small + (large - small) * (MARGIN - share_small) / fmax(share_large - share_small, 1e-9);
    return (uint32_t)fmax(fmin(floor(at), large - 1), 1);
}

/* Makes a candidate that is too large smaller until it is within the budget. Those that are not do not race. */
static pelt_result shrink(choosing *s, pelt_contender *c, double high, pelt_error *error) {
    double small = 0, share_small = pelt_budget_share(&s->budget, s->base, 0);
    for (int i = 0; i < MOST_TRIES && c->fold_count && share(s, c) > MARGIN; i++) {
        uint32_t large = pelt_usual_size(c, s->fold.kept.count);
        c->is_racing = false;
        c->remark = "too large";
        if (large <= small + 1) return PELT_OK;
        pelt_contender *next = add_size(s, c, fitting_size(small, share_small, large, share(s, c)));
        if (!next) return PELT_OK;
        pelt_result result = try_one(s, next, high, error);
        if (result) return result;
        c = next;
    }
    return PELT_OK;
}

/* The largest size within the budget may lie above the last that was tried. */
static pelt_result grow(choosing *s, size_t first, double high, pelt_error *error) {
    pelt_contender *below = NULL, *above = NULL;
    for (pelt_contender *c = s->list + first; c < s->list + s->count; c++) {
        if (c->row != s->list[first].row || !c->fold_count) continue;
        if (share(s, c) <= MARGIN)
            below = !below || c->size > below->size ? c : below;
        else
            above = !above || share(s, c) < share(s, above) ? c : above;
    }
    if (!below || !above) return PELT_OK;
    double large = pelt_usual_size(above, s->fold.kept.count);
    uint32_t size = fitting_size(below->size, share(s, below), large, share(s, above));
    if (size <= below->size) return PELT_OK;
    pelt_contender *next = add_size(s, below, size);
    pelt_result result = next ? try_one(s, next, high, error) : PELT_OK;
    if (result || !next || !next->fold_count) return result;
    pelt_contender *loser = share(s, next) <= MARGIN ? below : next;
    loser->is_racing = false;
    loser->remark = loser == below ? "a larger one is within the budget" : "too large";
    return PELT_OK;
}

/* The first fold: one of every method. Driven joints only if nothing else leaves little. */
static pelt_result screen(choosing *s, double high, pelt_error *error) {
    size_t rows = s->count;
    double begin = s->told;
    for (size_t i = 0; i < rows; i++) {
        double end = begin + (high - begin) * (double)(i + 1) / (double)rows;
        const pelt_contender *best = leader(s);
        if (s->list[i].options.blend == PELT_BLEND_JOINTS && best && best->rel_err < LITTLE_LEFT) {
            s->list[i].is_racing = false;
            s->list[i].remark = "not tried: little error is left";
            continue;
        }
        pelt_result result = try_one(s, &s->list[i], end, error);
        if (!result && !i) s->base = s->list[0].bytes;
        if (!result) result = shrink(s, &s->list[i], end, error);
        if (!result) result = grow(s, i, end, error);
        if (result) return result;
    }
    return PELT_OK;
}

/* Smaller sizes of what may be taken: to reach an error with few bytes, and for the report. */
static pelt_result try_smaller(choosing *s, double high, pelt_error *error) {
    static const uint32_t SIZES[] = {7, 5, 3, 2, 1}, SHOWN[] = {5, 2};
    bool all = s->budget.error > 0;
    size_t rows = s->count;
    const pelt_contender *best = leader(s);
    for (size_t i = 0; i < rows; i++) {
        const pelt_contender *c = &s->list[i];
        if (!c->is_racing || !c->fold_count || c->options.corrective != PELT_CORRECTIVE_KERNEL) continue;
        if (!all && (c != best || c->options.kernel.family == PELT_FAMILY_FEATURES)) continue; /* these train anew */
        for (size_t k = 0; k < (all ? sizeof SIZES : sizeof SHOWN) / sizeof *SIZES; k++) {
            uint32_t size = (all ? SIZES : SHOWN)[k];
            pelt_contender *other = size < pelt_usual_size(c, 0) ? add_size(s, c, size) : NULL;
            pelt_result result = other ? try_one(s, other, high, error) : PELT_OK;
            if (result) return result;
            if (other && other->fold_count) other->is_racing = false;
        }
    }
    return PELT_OK;
}

/* -- The race ------------------------------------------------------------------------------------------------------ */

static bool has_held_few(const pelt_contender *c) {
    size_t count = 0;
    for (uint32_t i = 0; c && i < c->fold_count; i++) count += c->measures[i]->frame_count;
    return count < FEW_HELD;
}

/* Who is far behind is out; returns how many are left. */
static size_t drop_slow(choosing *s, uint32_t folds) {
    const pelt_contender *best = leader(s);
    double behind = (has_held_few(best) ? FAR_BEHIND : BEHIND)[folds - 1];
    size_t left = 0;
    for (pelt_contender *c = s->list; c < s->list + s->count && best; c++) {
        if (!c->is_racing) continue;
        if (c != best && !(c->fold_count == best->fold_count && judged(s, c->rms) <= behind * judged(s, best->rms))) {
            c->is_racing = false;
            if (!c->remark)
                c->remark = pelt_arena_format(s->arena, "behind after %u fold%s", folds, folds > 1 ? "s" : "");
        }
        left += c->is_racing;
    }
    return left;
}

/* Whether further folds would tell more. */
static bool is_settled(choosing *s, size_t left, uint32_t folds) {
    return left <= 1 && folds >= LEAST_FOLDS && !has_held_few(leader(s));
}

static pelt_result race(choosing *s, double high, pelt_error *error) {
    double begin = s->told;
    size_t left = drop_slow(s, 1);
    for (int own = 1; own < PELT_CHOICE_FOLDS && !is_settled(s, left, (uint32_t)own); own++) {
        double end = begin + (high - begin) * own / (PELT_CHOICE_FOLDS - 1);
        pelt_result result = open_fold(s, own, error);
        if (!result && !s->fold.held.count) continue;
        size_t racing = left, done = 0;
        for (size_t i = 0; i < s->count && !result; i++) {
            if (!s->list[i].is_racing) continue;
            double part = begin + (end - begin) * (double)++done / (double)racing;
            result = try_one(s, &s->list[i], fmax(part, s->told), error);
        }
        if (result) return result;
        left = drop_slow(s, (uint32_t)own + 1);
    }
    return PELT_OK;
}

/* -- The choice ---------------------------------------------------------------------------------------------------- */

static bool is_within(const choosing *s, const pelt_contender *c) {
    return c->fold_count && share(s, c) <= 1 && !(s->budget.error > 0 && c->rms > s->budget.error);
}

/* Whether a larger size of the same method is within the budget too: then that one stands for the method. */
static bool is_surpassed(const choosing *s, const pelt_contender *c) {
    uint32_t size = pelt_usual_size(c, s->examples.count);
    for (const pelt_contender *o = s->list; o < s->list + s->count; o++)
        if (o->row == c->row && is_within(s, o) && pelt_usual_size(o, s->examples.count) > size) return true;
    return false;
}

/* Of those within the budget: the most accurate, or, to reach an error, the smallest. */
static pelt_contender *take(choosing *s) {
    pelt_contender *best = NULL;
    bool smallest = s->budget.error > 0;
    for (pelt_contender *c = s->list; c < s->list + s->count; c++) {
        if (!is_within(s, c) || (!smallest && is_surpassed(s, c))) continue;
        double a = judged(s, c->rms), b = best ? judged(s, best->rms) : 0;
        bool better = best && (smallest ? c->bytes < best->bytes : a < b || (a == b && c->bytes < best->bytes));
        if (!best || better) best = c;
    }
    return best;
}

/* -- Out of reach -------------------------------------------------------------------------------------------------- */

static const char *cost_text(const choosing *s, const pelt_contender *c) {
    const pelt_mesh *mesh = &s->bundle->mesh;
    return pelt_arena_format(s->arena, "%.0f kB (%.0f bytes/vertex), %.3g us, an error of %.3g (%.3g%%)",
                             c->bytes / 1e3, c->bytes / mesh->vertex_count, 1e6 * c->seconds, c->rms,
                             100 * c->rms / fmax((double)mesh->diagonal, 1e-30));
}

/* The best that was tried without one of the limits. */
static const pelt_contender *best_without(choosing *s, pelt_budget without) {
    pelt_budget budget = s->budget;
    s->budget = without;
    const pelt_contender *best = take(s);
    s->budget = budget;
    return best;
}

/* What could be reached, and what to relax for it. */
static pelt_result refuse(choosing *s, pelt_error *error) {
    pelt_budget no_error = s->budget, no_cost = s->budget;
    no_error.error = 0, no_cost.bytes = no_cost.seconds = 0;
    const pelt_contender *small = NULL, *accurate = s->budget.error > 0 ? best_without(s, no_error) : NULL;
    for (const pelt_contender *c = s->list; c < s->list + s->count; c++)
        if (c->fold_count && (!small || share(s, c) < share(s, small))) small = c;
    const pelt_contender *reaching = s->budget.error > 0 ? best_without(s, no_cost) : NULL;
    if (!small) return pelt_fail(error, PELT_ERROR_DATA, "no method could be fitted: %s", s->list[0].remark);
    if (accurate && reaching)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "budget: no method is within it; the most accurate within its size and time has %s (%s): "
                         "allow that error, or %s (%s)",
                         cost_text(s, accurate), pelt_contender_name(s->arena, accurate), cost_text(s, reaching),
                         pelt_contender_name(s->arena, reaching));
    if (accurate)
        return pelt_fail(
            error, PELT_ERROR_DATA,
            "budget: no method reaches the error; the most accurate has %s (%s): allow more, or add examples",
            cost_text(s, accurate), pelt_contender_name(s->arena, accurate));
    return pelt_fail(error, PELT_ERROR_DATA,
                     "budget: no method is within it; the cheapest has %s (%s): allow at least %.2g times as much%s",
                     cost_text(s, small), pelt_contender_name(s->arena, small), share(s, small) + 0.005,
                     s->budget.bytes > 0 && s->budget.seconds > 0 ? " of both" : "");
}

/* -- Sizes between ------------------------------------------------------------------------------------------------- */

/* A size of a method that may be within the budget, between the largest that is and the smallest that is not; 0: none. */
static uint32_t size_between(const choosing *s, uint32_t row) {
    const pelt_contender *below = NULL, *above = NULL;
    size_t all = s->examples.count;
    for (const pelt_contender *c = s->list; c < s->list + s->count; c++) {
        if (c->row != row || !c->fold_count) continue;
        const pelt_contender **end = is_within(s, c) ? &below : &above;
        bool nearer = *end && (pelt_usual_size(c, all) > pelt_usual_size(*end, all)) == (end == &below);
        if (!*end || nearer) *end = c;
    }
    if (!above) return 0;
    uint32_t small = below ? pelt_usual_size(below, all) : 0, large = pelt_usual_size(above, all);
    double least = below ? share(s, below) : pelt_budget_share(&s->budget, s->base, 0);
    if (large <= small + 1) return 0;
    uint32_t size = fitting_size(small, least, large, share(s, above));
    return size > small ? size : small + 1;
}

/* The most accurate that is too large and better than what could be taken, if there is a size below it to try. */
static const pelt_contender *best_beyond(choosing *s, const pelt_contender *taken) {
    const pelt_contender *best = NULL;
    for (const pelt_contender *c = s->list; c < s->list + s->count; c++)
        if (c->fold_count && !is_within(s, c) && (!taken || judged(s, c->rms) < judged(s, taken->rms)) &&
            (!best || c->rms < best->rms) && size_between(s, c->row))
            best = c;
    return best;
}

/* Takes the best, once sizes between have been tried of all methods that could win by them. */
static pelt_result decide(choosing *s, pelt_contender **chosen, pelt_error *error) {
    bool sizes_matter = share(s, &s->list[0]) > 0 && !(s->budget.error > 0);
    for (int i = 0;; i++) {
        forecast_all(s);
        *chosen = take(s);
        const pelt_contender *beyond = sizes_matter && i < MOST_TRIES ? best_beyond(s, *chosen) : NULL;
        pelt_contender *next = beyond ? add_size(s, beyond, size_between(s, beyond->row)) : NULL;
        if (!next) return *chosen ? PELT_OK : refuse(s, error);
        pelt_result result = open_fold(s, 0, error);
        if (!result) result = try_one(s, next, s->told, error);
        if (result) return result;
        if (!is_within(s, next)) next->remark = "too large";
    }
}

/* -- Mirror images ------------------------------------------------------------------------------------------------- */

static pelt_result open_imaged_fold(choosing *s, int own, pelt_error *error) {
    pelt_examples all;
    int *dealt;
    pelt_fold_close(&s->fold);
    pelt_result result = pelt_mirror_fold(&s->mirror, s->mirror.arena, s->folds, own, &all, &dealt, error);
    return result
               ? result
               : pelt_fold_open(&s->fold, &s->mirror.bundle, all, dealt, own, s->unclean, &s->progress, s->told, error);
}

/* Tries a candidate with images on its own first folds, as long as that helps. */
static pelt_result try_images(choosing *s, const pelt_contender *c, uint32_t folds, pelt_error *error) {
    forget(&s->imaged);
    s->imaged = (pelt_contender){.options = c->options, .row = c->row, .size = c->size, .mirror = s->mirror.axis + 1};
    s->imaged_left = 0;
    for (int own = 0; own < PELT_CHOICE_FOLDS && s->imaged.fold_count < folds && s->imaged_left <= GAIN; own++) {
        double unused;
        pelt_result result = open_imaged_fold(s, own, error);
        if (!result && !s->fold.held.count) continue;
        if (!result) result = try_one(s, &s->imaged, s->told, error);
        if (result) return result;
        if (s->imaged.remark) return s->imaged_left = INFINITY, PELT_OK; /* it cannot be fitted */
        s->imaged_left = s->imaged.rms / fmax(error_over(c, s->imaged.fold_count, &unused), 1e-300);
    }
    return PELT_OK;
}

/* A method that learns quickly, to see whether images are worth trying with one that does not. */
static const pelt_contender *quick(choosing *s, const pelt_contender *chosen) {
    bool slow = chosen->options.kernel.family == PELT_FAMILY_FEATURES || chosen->options.blend == PELT_BLEND_JOINTS;
    for (const pelt_contender *c = s->list; slow && c < s->list + s->count; c++)
        if (c->options.kernel.family == PELT_FAMILY_KERNEL && c->fold_count) return c;
    return chosen;
}

/* Replaces the candidate by one with mirror images, if these help. */
static pelt_result mirror(choosing *s, pelt_contender **chosen, pelt_error *error) {
    pelt_contender *c = *chosen;
    bool learns = c->options.corrective != PELT_CORRECTIVE_NONE || c->options.blend == PELT_BLEND_FIT ||
                  c->options.blend == PELT_BLEND_JOINTS;
    if (!learns || !c->fold_count || s->budget.error > 0 || c->rms < EXACT * (double)s->bundle->mesh.diagonal)
        return PELT_OK;
    pelt_result result = pelt_mirror_open(&s->mirror, s->bundle, s->examples, error);
    if (result || s->mirror.axis < 0) return result;
    const pelt_contender *first = quick(s, c);
    if (first != c) result = try_images(s, first, 1, error);
    if (!result && s->imaged_left <= GAIN) result = try_images(s, c, c->fold_count, error);
    if (result || s->imaged.remark) return result;
    if (s->imaged_left > GAIN)
        s->imaged.remark = "mirror images do not help";
    else if (share(s, &s->imaged) > 1)
        s->imaged.remark = "with mirror images it is too large";
    else
        s->plain = c, *chosen = &s->imaged;
    return PELT_OK;
}

/* -- What to expect ------------------------------------------------------------------------------------------------ */

/* With few examples a fit without a fifth of them is far worse than the skin will be: then what to expect of the one
   taken is found by leaving out one at a time. Not of a motion: between its own frames there is nothing new. */
static pelt_result leave_one_out(choosing *s, const pelt_contender *c, pelt_error *error) {
    pelt_result result = PELT_OK;
    int own = 0, *folds = s->folds;
    forget(&s->alone);
    if (s->examples.count > PELT_MOST_FOLDS || !c->fold_count || s->has_motion) return PELT_OK;
    s->alone = (pelt_contender){.options = c->options, .row = c->row, .size = c->size, .mirror = c->mirror};
    s->folds = PELT_NEW(s->arena, s->examples.count, int);
    if (!s->folds) return s->folds = folds, pelt_no_memory(error);
    for (size_t e = 0; e < s->examples.count; e++) s->folds[e] = folds[e] < 0 ? -1 : own++;
    for (int i = 0; i < own && !result && !s->alone.remark; i++) {
        result = c->mirror ? open_imaged_fold(s, i, error) : open_fold(s, i, error);
        if (!result) result = try_one(s, &s->alone, s->told, error);
    }
    s->folds = folds;
    if (s->alone.remark) forget(&s->alone); /* it cannot be fitted so: the other figure stays */
    return result;
}

/* The examples that a candidate was tried on, fold by fold. */
static pelt_examples list_held(choosing *s, const pelt_contender *c) {
    pelt_examples held = {.list = PELT_NEW(s->arena, s->examples.count, pelt_example)};
    bool alone = c == &s->alone;
    uint32_t done = 0;
    for (int own = 0; own < PELT_CHOICE_FOLDS && done < c->fold_count && held.list; own++) {
        size_t before = held.count;
        for (size_t e = 0; e < s->examples.count; e++) {
            if (alone ? own > 0 || s->folds[e] < 0 : s->folds[e] != own) continue;
            held.list[held.count++] = s->examples.list[e];
        }
        done += held.count > before;
    }
    return held;
}

/* What is known of errors in new poses. */
typedef struct expected {
    pelt_measure *measure; /* NULL: nothing */
    pelt_examples held;
} expected;

static pelt_result expect(choosing *s, const pelt_contender *c, expected *e, pelt_error *error) {
    *e = (expected){0};
    if (!c->fold_count) return PELT_OK;
    pelt_result result = leave_one_out(s, c, error);
    if (result) return result;
    if (s->alone.fold_count) c = &s->alone;
    e->held = list_held(s, c);
    if (pelt_arena_failed(s->arena)) return pelt_no_memory(error);
    e->measure = pelt_pool_folds(s->bundle, c, error);
    return e->measure ? PELT_OK : error->code;
}

/* -- What is told -------------------------------------------------------------------------------------------------- */

static const char *explain(choosing *s, const pelt_contender *c) {
    const pelt_contender *next = NULL;
    for (const pelt_contender *o = s->list; o < s->list + s->count; o++)
        if (o->row != c->row && is_within(s, o) && (!next || o->rms < next->rms)) next = o;
    if (!c->fold_count) return "there are too few examples to hold some out, so nothing was compared";
    if (s->budget.error > 0) return "the smallest within the budget that reaches the error";
    if (!next) return "the only one within the budget";
    const char *images =
        !s->imaged.fold_count ? ""
        : s->plain ? pelt_arena_format(s->arena, "; mirror images reduce its error to %.2f of that", s->imaged_left)
                   : pelt_arena_format(s->arena, "; %s", s->imaged.remark);
    return pelt_arena_format(s->arena, "the most accurate%s on held-out examples; %s has %.2f times its error%s",
                             s->budget.bytes > 0 || s->budget.seconds > 0 ? " within the budget" : "",
                             pelt_contender_name(s->arena, next), next->rms / fmax(c->rms, 1e-300), images);
}

static int by_error(const void *a, const void *b) {
    const pelt_candidate *x = a, *y = b;
    if (!x->fold_count != !y->fold_count) return x->fold_count ? -1 : 1;
    if (x->fold_count && x->rms != y->rms) return x->rms < y->rms ? -1 : 1;
    return strcmp(x->name, y->name);
}

static pelt_result tell(choosing *s, const pelt_contender *chosen, pelt_front *front, pelt_error *error) {
    size_t count = s->count + (s->imaged.fold_count > 0);
    pelt_candidate *list = PELT_NEW(s->arena, count, pelt_candidate);
    const char *why = explain(s, chosen);
    if (pelt_arena_failed(s->arena)) return pelt_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const pelt_contender *c = i < s->count ? &s->list[i] : &s->imaged;
        bool beaten = false;
        for (const pelt_contender *o = s->list; o < s->list + s->count; o++)
            beaten |= o->fold_count &&
                      ((o->bytes < c->bytes && o->rms <= c->rms) || (o->bytes <= c->bytes && o->rms < c->rms));
        list[i] = (pelt_candidate){.name = pelt_contender_name(s->arena, c),
                                   .options = c->options,
                                   .fold_count = c->fold_count,
                                   .rms = c->rms,
                                   .rel_err = c->rel_err,
                                   .bytes = c->bytes,
                                   .seconds = c->seconds,
                                   .is_front = c->fold_count && !beaten && (!c->mirror || s->plain),
                                   .is_within = is_within(s, c),
                                   .remark = c->remark};
    }
    const char *name = pelt_contender_name(s->arena, chosen);
    if (pelt_arena_failed(s->arena)) return pelt_no_memory(error);
    qsort(list, count, sizeof *list, by_error);
    *front = (pelt_front){.count = count, .list = list, .why = why, .mirror = chosen->mirror};
    while (strcmp(list[front->chosen].name, name)) front->chosen++;
    return PELT_OK;
}

/* -- The final fit ------------------------------------------------------------------------------------------------- */

/* Fits to all examples; if that is too large, chooses again. */
static pelt_bytes *fit_all(choosing *s, pelt_contender *c, pelt_fit_report *report, pelt_front *front,
                           pelt_error *error) {
    for (int i = 0;; i++) {
        pelt_fit_options options = c->options;
        pelt_examples examples = s->examples;
        if (tell(s, c, front, error)) return NULL;
        if (c->mirror && pelt_add_images(s->bundle, c->mirror - 1, s->arena, s->examples, &examples, error))
            return NULL;
        front->examples = examples;
        expected known_errors;
        if (expect(s, c, &known_errors, error)) return NULL;
        pelt_fold_close(&s->fold);
        pelt_mirror_close(&s->mirror);
        options.progress = s->progress;
        if (s->budget.bytes > 0) options.no_confidence = 1; /* bytes that are counted go into the skin itself */
        pelt_forecasted known = {known_errors.measure, known_errors.held, front, s->told};
        pelt_bytes *bytes = pelt_fit_forecast(s->bundle, examples, &options, &known, report, error);
        if (!bytes || !(s->budget.bytes > 0) || (double)bytes->size <= s->budget.bytes) {
            if (bytes) ((pelt_candidate *)front->list)[front->chosen].bytes = (double)bytes->size;
            return bytes;
        }
        double more = (double)bytes->size / fmax(c->bytes, 1);
        pelt_bytes_free(bytes);
        pelt_fit_report_free(report);
        if (s->plain) {
            c = s->plain, s->plain = NULL, s->imaged.remark = "with mirror images it is too large";
            continue;
        }
        s->growth[c->row] = growth(s, c) * more;
        for (pelt_contender *o = s->list; o < s->list + s->count; o++)
            if (o->row == c->row) o->bytes *= more;
        c->remark = "too large";
        if (i == 2 * MOST_TRIES ? refuse(s, error) : decide(s, &c, error)) return NULL;
    }
}

void pelt_front_free(pelt_front *front) {
    if (!front) return;
    pelt_arena_free(front->arena);
    *front = (pelt_front){0};
}

/* -- The call ------------------------------------------------------------------------------------------------------ */

static pelt_result check(const choosing *s, const pelt_fit_options *o, pelt_error *error) {
    if (o && (o->blend || o->corrective || o->preset || o->method))
        return pelt_fail_option(error,
                                o->method   ? "method"
                                : o->blend  ? "blend"
                                : o->preset ? "preset"
                                            : "corrective",
                                " must be 0, since pelt_choose chooses it; or call pelt_fit");
    if (o && o->holdout != 0)
        return pelt_fail_option(error, "holdout", " applies to a single method; choosing holds examples out by itself");
    if (!s->examples.count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: has no examples to choose by; name clips that have frames and true positions",
                         s->bundle->path);
    return pelt_check_examples(s->bundle, s->examples, true, error);
}

/* Whether all examples fit their poses: then folds need no second look. And where normals come from. */
static pelt_result prepare(choosing *s, pelt_error *error) {
    pelt_fitting f = {.bundle = s->bundle, .given = s->bundle, .examples = s->examples, .told = s->progress};
    const pelt_contender *corrected = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].options.corrective != PELT_CORRECTIVE_NONE) corrected = &s->list[i];
    if (corrected) f.options = corrected->options;
    pelt_begin_part(&f, 0, 0.05);
    pelt_result result = pelt_clean_examples(&f, s->arena, error);
    s->unclean = f.bundle != s->bundle;
    if (f.options.normals == PELT_NORMALS_AUTO && s->budget.bytes > 0) f.options.normals = PELT_NORMALS_SURFACE;
    if (!result && corrected) result = pelt_choose_normals(&f, error);
    for (size_t i = 0; i < s->count && corrected; i++)
        if (s->list[i].options.corrective != PELT_CORRECTIVE_NONE) s->list[i].options.normals = f.options.normals;
    s->told = 0.05;
    return result;
}

/* With so few examples that none can be held out there is nothing to go by: the method that suits most. */
static pelt_contender *usual(choosing *s) {
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].options.kernel.family == PELT_FAMILY_KERNEL) return &s->list[i];
    return &s->list[s->count - 1];
}

static pelt_result compare(choosing *s, pelt_contender **chosen, pelt_error *error) {
    s->folds = PELT_NEW(s->arena, s->examples.count, int);
    if (!s->folds) return pelt_no_memory(error);
    pelt_deal_examples(s->bundle, s->examples, s->folds);
    bool together = false; /* what moves one joint alone is a sweep, however evenly */
    uint32_t movers;
    pelt_result result = pelt_move_together(s->bundle, s->examples, &movers, &together, error);
    s->has_motion = together && pelt_has_motion(s->bundle, s->examples);
    if (!result) result = open_fold(s, 0, error);
    if (!result && !s->fold.held.count) return *chosen = usual(s), PELT_OK;
    if (!result) result = screen(s, 0.35, error);
    if (!result) result = try_smaller(s, 0.4, error);
    if (!result) result = race(s, 0.7, error);
    return result ? result : decide(s, chosen, error);
}

static pelt_bytes *choose(choosing *s, pelt_fit_report *report, pelt_front *front, pelt_error *error) {
    pelt_contender *chosen = NULL;
    s->count = pelt_list_contenders(s->bundle, &s->given, s->list, error);
    if (!s->count || prepare(s, error)) return NULL;
    if (s->examples.count < LEAST_EXAMPLES)
        chosen = usual(s);
    else if (compare(s, &chosen, error) || mirror(s, &chosen, error))
        return NULL;
    return fit_all(s, chosen, report, front, error);
}

pelt_bytes *pelt_choose(pelt_bundle *bundle, pelt_examples examples, const pelt_budget *budget,
                        const pelt_fit_options *options, pelt_fit_report *report, pelt_front *front,
                        pelt_error *error) {
    pelt_error unwanted;
    double wall = pelt_wall_seconds(), cpu = pelt_cpu_seconds();
    if (!error) error = &unwanted;
    *error = (pelt_error){0};
    if (front) *front = (pelt_front){0};
    if (report) *report = (pelt_fit_report){0};
    if (PELT_MISSING(bundle, error) || (budget && pelt_budget_check(budget, error))) return NULL;
    choosing *s = calloc(1, sizeof *s);
    if (!s || !(s->arena = pelt_arena_new(0))) return free(s), pelt_no_memory(error), NULL;
    s->bundle = bundle, s->examples = examples;
    if (options) s->given = *options, s->progress = options->progress;
    s->given.progress = (pelt_progress){0};
    s->budget = pelt_budget_of(budget, &bundle->mesh);
    pelt_front told = {0};
    pelt_bytes *bytes = check(s, options, error) ? NULL : choose(s, report, &told, error);
    if (bytes && front) *front = told;
    pelt_fold_close(&s->fold);
    pelt_mirror_close(&s->mirror);
    for (size_t i = 0; i < s->count; i++) forget(&s->list[i]);
    forget(&s->imaged), forget(&s->alone);
    if (bytes && front)
        front->arena = s->arena, front->seconds = pelt_wall_seconds() - wall,
        front->cpu_seconds = pelt_cpu_seconds() - cpu;
    else
        pelt_arena_free(s->arena);
    if (!bytes) pelt_fit_report_free(report);
    free(s);
    return bytes;
}
