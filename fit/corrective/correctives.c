/* correctives.c: the stage of a fit that makes the corrective D: which method, and at what precision it is stored.

   Whether 16 bits are enough depends on how much the terms of D cancel, so it is measured: the skin is packed both ways
   and run on some of the examples. */

#include "fit/corrective/correctives.h"
#include "fit/examples/controls.h"
#include "fit/examples/poses.h"
#include "pack/pack.h"
#include <math.h>
#include <stdlib.h>

static pelt_result (*const ways[PELT_CORRECTIVE_COUNT])(pelt_fitting *fitting, pelt_error *error) = {
    [PELT_CORRECTIVE_PSD] = pelt_fit_psd,
    [PELT_CORRECTIVE_WPSD] = pelt_fit_wpsd,
    [PELT_CORRECTIVE_EIGEN] = pelt_fit_eigenskin,
    [PELT_CORRECTIVE_KERNEL] = pelt_fit_kernel,
};

/* -- 16 bits ------------------------------------------------------------------------------------------------------- */

static const double MOST_ROUNDING = 1e-5; /* of the diagonal */
enum { TRIED = 12 };

/* The model packed and ready to run, in an arena that outlives a failed stage: out of memory, a fit must still close
   its trials. */
typedef struct trial {
    pelt_arena *arena;
    const pelt_arrangement *arrangement;
    pelt_bytes *bytes;
    pelt_skin skin;
    void *scratch;
    float *positions;
} trial;

/* Everything belongs to the trial until close_trial: no allocation here may end the stage early. */
static bool open_trial(pelt_fitting *f, bool in_16_bits, trial *t) {
    f->model.in_16_bits = in_16_bits;
    t->arena = pelt_arena_new(0);
    pelt_arena_watch(t->arena, &f->watch);
    t->arrangement = pelt_model_arrange(t->arena, &f->model, NULL);
    t->bytes = t->arrangement ? pelt_lay_out(t->arrangement, &(pelt_account){.about = "{}"}, NULL) : NULL;
    if (!t->bytes || pelt_open(t->bytes->bytes, t->bytes->size, &t->skin)) return false;
    t->scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(&t->skin));
    t->positions = aligned_alloc(PELT_ALIGN, pelt_output_size(&t->skin));
    return t->scratch && t->positions;
}

static void forget_arrangement(trial *t) {
    pelt_arena_free(t->arena);
    t->arena = NULL, t->arrangement = NULL;
}

static void run_trial(trial *t, const pelt_pose_input *pose) {
    pelt_pose_from(&t->skin, pose, t->scratch);
    pelt_deform(&t->skin, t->scratch, pelt_all_blocks(&t->skin), t->positions, NULL);
}

static void close_trial(trial *t) {
    free(t->scratch), free(t->positions);
    pelt_bytes_free(t->bytes);
    forget_arrangement(t);
}

static double largest_gap(const trial *a, const trial *b) {
    double worst = 0;
    for (uint32_t v = 0; v < a->skin.vertex_count; v++) {
        const float *p = a->positions + 3 * (size_t)a->skin.vertex_slots[v];
        const float *q = b->positions + 3 * (size_t)b->skin.vertex_slots[v];
        worst = fmax(worst, hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]));
    }
    return worst;
}

/* Computed once, for every later packing of the model. */
static void find_order(pelt_fitting *f) {
    uint32_t *order = PELT_NEW(f->arena, f->model.vertex_count, uint32_t);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(f->arena);
    pelt_model_order(work, &f->model, order);
    f->model.order = order;
}

/* How far 16 bits move a vertex at most, over some of the examples. The fit keeps this arrangement if 16 bits were
   `wanted` or the error is within `most`. */
static double try_rounding(pelt_fitting *f, bool wanted, double most) {
    trial exact = {0}, rounded = {0};
    pelt_transform *locals = PELT_NEW(f->arena, f->bundle->skeleton.joint_count, pelt_transform);
    float *row = PELT_NEW(f->arena, f->bundle->controls.count, float);
    float *controls = PELT_NEW(f->arena, f->model.control_count, float);
    find_order(f);
    bool ready = open_trial(f, false, &exact);
    forget_arrangement(&exact);
    ready = ready && open_trial(f, true, &rounded);
    size_t tried = f->examples.count < TRIED ? f->examples.count : TRIED;
    double worst = 0;
    for (size_t i = 0; i < tried && ready; i++) {
        const pelt_example *example = &f->examples.list[(2 * i + 1) * f->examples.count / (2 * tried)];
        pelt_clip_pose(example->clip, &f->bundle->skeleton, example->frame, locals);
        pelt_clip_controls(example->clip, &f->bundle->controls, example->frame, row);
        for (uint32_t k = 0; k < f->model.control_count; k++) controls[k] = row[f->model.controls[k].source];
        pelt_pose_input pose = {.locals = locals, .controls = controls};
        run_trial(&exact, &pose), run_trial(&rounded, &pose);
        worst = fmax(worst, largest_gap(&exact, &rounded));
    }
    f->model.in_16_bits = wanted || worst <= most;
    if (ready && f->model.in_16_bits) {
        f->arrangement = rounded.arrangement;
        pelt_arena_adopt(f->arena, rounded.arena);
        rounded.arena = NULL;
    }
    close_trial(&exact), close_trial(&rounded);
    if (!ready) pelt_arena_fail(f->arena);
    return worst;
}

static void choose_precision(pelt_fitting *f) {
    uint32_t wanted = f->options.displacement.displacements;
    const pelt_weighted *w = f->model.corrective ? f->model.corrective->weighted : NULL;
    if (!f->model.corrective || wanted == 32 || (w && !w->unnormalised && !w->rounded)) return;
    double worst = try_rounding(f, wanted != 0, MOST_ROUNDING * pelt_scene_diagonal(&f->bundle->mesh));
    if (f->model.in_16_bits) f->report.storage_error = worst;
}

/* -- Too much ------------------------------------------------------------------------------------------------------ */

/* Counts all frames of the clips, not just those passed in, so the advice also holds for a fit to a subset, such as the
   hold-out fit. */
pelt_result pelt_refuse_count(const pelt_fitting *f, size_t count, const char *what, uint32_t most, pelt_error *error) {
    size_t frames = 0;
    const pelt_clip *last = NULL;
    for (size_t e = 0; e < f->examples.count; e++) {
        const pelt_clip *clip = f->examples.list[e].clip;
        if (clip != last) frames += clip->frame_count;
        last = clip;
    }
    if (frames < count) frames = count;
    size_t every = (frames + most - 1) / most;
    pelt_fail(error, PELT_ERROR_DATA,
              "%zu %s are more than the %u that the corrective \"%s\" can take: train on every n-th frame of the "
              "clips, n = %zu, or on fewer clips",
              count, what, most, pelt_corrective_name(f->options.corrective), every);
    return pelt_advise(error, "every", (double)every);
}

/* -- Controls ------------------------------------------------------------------------------------------------------ */

/* The model's controls are those that the poses had: the same examples give the same list. */
static void name_controls(pelt_fitting *f) {
    if (f->model.corrective)
        f->model.controls =
            pelt_varying_controls(f->arena, f->bundle, f->examples, &f->options, &f->model.control_count);
}

/* -- Many examples ------------------------------------------------------------------------------------------------- */

/* What a fit can handle in seconds to minutes, given how its time and skin size grow. */
static const uint32_t most_examples[PELT_CORRECTIVE_COUNT] = {[PELT_CORRECTIVE_PSD] = 800,
                                                              [PELT_CORRECTIVE_WPSD] = 300,
                                                              [PELT_CORRECTIVE_EIGEN] = 2000,
                                                              [PELT_CORRECTIVE_KERNEL] = 1000};

/* If there are more, keeps the examples whose poses are farthest apart, and says so. */
static pelt_examples fewer_examples(pelt_fitting *f) {
    uint32_t most = most_examples[f->options.corrective];
    pelt_examples kept = pelt_fewer_examples(f->arena, f->bundle, f->examples, &f->options, most);
    if (f->examples.count > most)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "many-examples",
                  "%zu examples are more than the %u that the corrective \"%s\" can take: it was fitted to the %zu "
                  "whose poses lie farthest apart; the error is measured on all of them",
                  f->examples.count, most, pelt_corrective_name(f->options.corrective), kept.count);
    return kept;
}

/* -- The stage ----------------------------------------------------------------------------------------------------- */

pelt_result pelt_fit_corrective(pelt_fitting *f, pelt_error *error) {
    if (!ways[f->options.corrective]) return PELT_OK;
    double begun = f->options.corrective == PELT_CORRECTIVE_PSD ? 1 : 0.05; /* the others report several tasks */
    if (pelt_next_task(f->arena, pelt_corrective_name(f->options.corrective), 0, begun, 3)) return pelt_stopped(error);
    pelt_examples all = f->examples;
    f->examples = fewer_examples(f);
    pelt_result result = ways[f->options.corrective](f, error);
    if (!result) name_controls(f);
    if (!result) choose_precision(f);
    f->examples = all;
    f->report.has_corrective = f->model.corrective != NULL;
    return result;
}
