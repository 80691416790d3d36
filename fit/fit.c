/* fit.c: examples in, skin and report out.

       v(p) = S_p( v0 + D(p) ),   S_p = sum_j w_j T_j(p)

   First the blend S, then the corrective D; then the skin is packed and measured on its own examples, and a second fit
   to some of them is measured on the held-out ones. */

#include "fit/about.h"
#include "fit/confidence/confidence.h"
#include "fit/corrective/correctives.h"
#include "fit/examples/clean.h"
#include "fit/examples/controls.h"
#include "fit/measure/measure.h"
#include "pack/pack.h"
#include "rig/clock.h"
#include "rig/spill.h"
#include <math.h>
#include <stdlib.h>

static const double usual_holdout = 0.2;
static const double largest_weight = 1e6; /* of an example */
static const double worthwhile = 0.99;    /* fitted weights must reduce the error below this ratio */

/* -- Preconditions -------------------------------------------------------------------------------------------- */

/* Blends used as they are need no true positions; everything else does. */
static bool is_fitted(const pelt_fit_options *o) {
    return o->blend == PELT_BLEND_FIT || o->blend == PELT_BLEND_JOINTS || o->corrective != PELT_CORRECTIVE_NONE;
}

/* Least squares can weight its rows; correctives meet every example, as far as they can. */
static pelt_result check_weights(const pelt_fitting *f, pelt_error *error) {
    for (size_t e = 0; e < f->examples.count; e++) {
        const pelt_example *example = &f->examples.list[e];
        double weight = pelt_example_weight(example);
        if (!(weight > 0 && weight <= largest_weight))
            return pelt_fail(error, PELT_ERROR_ARGUMENT,
                             "example %zu, frame %u of clip \"%s\", has weight %g; weights must be above 0 and at most "
                             "%g: leave the example out if it should not count",
                             e, example->frame, example->clip->name, weight, largest_weight);
        if (weight != pelt_example_weight(&f->examples.list[0]) && f->options.corrective != PELT_CORRECTIVE_NONE)
            return pelt_fail(
                error, PELT_ERROR_DATA,
                "frame %u of clip \"%s\" has weight %g, but the corrective \"%s\" treats all examples alike, and only "
                "the blends fit and joints use weights: leave out the example, or its weight",
                example->frame, example->clip->name, weight, pelt_corrective_name(f->options.corrective));
    }
    return PELT_OK;
}

static pelt_result check_input(const pelt_fitting *f, const pelt_fit_report *report, pelt_error *error) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    bool own =
        f->options.blend == PELT_BLEND_FILE || f->options.blend == PELT_BLEND_JOINTS; /* joints start from them */
    if (own && mesh->vertex_count && !mesh->influences.first[mesh->vertex_count])
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s has no weights for the blend \"%s\": use \"distance\" or \"fit\", which need none",
                         f->bundle->path, pelt_blend_name(f->options.blend));
    if (is_fitted(&f->options) && !f->examples.count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: has no examples to fit to; name clips that have frames and true positions",
                         f->bundle->path);
    pelt_result result = pelt_check_examples(f->bundle, f->examples, report || is_fitted(&f->options), error);
    return result ? result : check_weights(f, error);
}

/* The memory a fit needs, in bytes: some per vertex, and some per vertex and example. Measured, and rather too low than
   too high; test_memory_limit compares. */
static double bytes_of_fit(const pelt_fit_options *o, double vertices, double examples) {
    static const double of_joints[2] = {9000, 60}, of_other_blends[2] = {2000, 10};
    static const double of_correctives[][2] = {[PELT_CORRECTIVE_NONE] = {0, 0},
                                               [PELT_CORRECTIVE_PSD] = {0, 180},
                                               [PELT_CORRECTIVE_WPSD] = {0, 180},
                                               [PELT_CORRECTIVE_EIGEN] = {0, 90},
                                               [PELT_CORRECTIVE_KERNEL] = {13000, 50}};
    const double *blend = o->blend == PELT_BLEND_JOINTS ? of_joints : of_other_blends,
                 *corrective = of_correctives[o->corrective];
    return vertices * (blend[0] + corrective[0] + (blend[1] + corrective[1]) * examples);
}

/* CPU seconds of one core, from those of built-in characters at four sizes (docs/howto-farm.md): per vertex, per vertex and
   example, and per vertex and square of the examples, in microseconds. A hold-out fit sees four fifths of the examples. */
static double seconds_of_fit(const pelt_fit_options *o, double vertices, double examples) {
    static const double of_file[3] = {0, 0.1, 0}, of_fit[3] = {0, 0.8, 0}, of_joints[3] = {592, 3.24, 0};
    static const double of_correctives[][3] = {[PELT_CORRECTIVE_NONE] = {0, 0, 0},
                                               [PELT_CORRECTIVE_PSD] = {0, 1.36, 0.003},
                                               [PELT_CORRECTIVE_WPSD] = {-478, 9.75, 0},
                                               [PELT_CORRECTIVE_EIGEN] = {0, 1.54, 0},
                                               [PELT_CORRECTIVE_KERNEL] = {0, 2.77, 0}};
    const double *blend = o->blend == PELT_BLEND_JOINTS ? of_joints
                          : o->blend == PELT_BLEND_FIT  ? of_fit
                                                        : of_file,
                 *corrective = of_correctives[o->corrective];
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (blend[i] + corrective[i]) * pow(examples, i);
    return 1e-6 * vertices * fmax(sum, examples / 10) * (o->holdout < 0 ? 1 : 1.8);
}

pelt_fit_needs pelt_fit_needs_of(const pelt_fit_options *o, double vertices, double examples) {
    double bytes = bytes_of_fit(o, vertices, examples), share = (double)pelt_spill_share();
    bool limited = pelt_memory_limit() > 0 && bytes > share;
    return (pelt_fit_needs){.seconds = seconds_of_fit(o, vertices, examples),
                            .memory = limited ? fmin(bytes, (double)pelt_memory_limit()) : bytes,
                            .disk = limited ? bytes - share : 0};
}

/* A fit that cannot succeed should fail before it starts. */
static pelt_result check_memory(const pelt_fitting *f, pelt_error *error) {
    double points = f->bundle->mesh.vertex_count, bytes = bytes_of_fit(&f->options, points, (double)f->examples.count);
    if (bytes < 1e6 || (bytes < 0.9 * (double)SIZE_MAX && pelt_memory_is_there((size_t)bytes))) return PELT_OK;
    pelt_fail(
        error, PELT_ERROR_MEMORY,
        "not enough memory: %zu examples of %.0f vertices take about %.0f MB, which is not available; train on every "
        "second frame or on fewer clips, or " PELT_MORE_MEMORY,
        f->examples.count, points, bytes * 1e-6);
    return pelt_advise(error, "every", 2);
}

/* -- Progress ------------------------------------------------------------------------------------------------------ */

static int tell_part(void *user, const char *task, double fraction) {
    const pelt_fitting *f = user;
    return pelt_should_stop(&f->told, task, f->low + (f->high - f->low) * fraction);
}

void pelt_begin_part(pelt_fitting *f, double low, double high) {
    f->low = low, f->high = high;
    if (f->told.step) f->options.progress = (pelt_progress){tell_part, f};
}

/* The approximate fraction of a fit's time that goes into its blend. */
static double blend_share(const pelt_fit_options *o) {
    bool fitted = o->blend == PELT_BLEND_FIT || o->blend == PELT_BLEND_JOINTS;
    return o->corrective == PELT_CORRECTIVE_NONE ? 1 : fitted ? 0.6 : 0.05;
}

/* The progress at the end of each part: fit, measure, hold-out fit, measure. A blend that is used as it is takes no
   time. */
static void share_time(const pelt_fit_options *o, double ends[4]) {
    bool quick =
        o->corrective == PELT_CORRECTIVE_NONE && (o->blend == PELT_BLEND_FILE || o->blend == PELT_BLEND_DISTANCE);
    double fit = quick ? 0.1 : 0.9, again = o->holdout < 0 ? 0 : 0.8, all = 1 + again;
    ends[0] = fit / all, ends[1] = 1 / all, ends[2] = (1 + again * fit) / all, ends[3] = 1;
}

/* -- One fit ------------------------------------------------------------------------------------------------------- */

static pelt_result fit_blend(void *user, pelt_error *error) {
    pelt_fitting *f = user;
    f->watch.progress = &f->options.progress;
    pelt_arena_watch(f->arena, &f->watch);
    if (pelt_next_task(f->arena, "blend", 0, 0.1, 4)) return pelt_stopped(error);
    return pelt_fit_blend(f, error);
}

static pelt_result fit_corrective(void *user, pelt_error *error) { return pelt_fit_corrective(user, error); }

static pelt_result choose_blend(pelt_fitting *f, pelt_error *error);

/* For normals of the deformed surface. */
static pelt_result find_rings(pelt_fitting *f, pelt_error *error) {
    const pelt_smoothing *smoothing = pelt_smoothing_of(f->arena, &f->bundle->mesh, f->examples);
    f->model.rings = smoothing ? pelt_rings_of(f->arena, smoothing, f->points.of_vertex) : NULL;
    if (!f->model.rings) return pelt_no_memory(error);
    if (!f->model.rings->bare) return PELT_OK;
    return pelt_fail_option(
        error, "normals",
        "no triangle of the mesh has an area, so there is no surface to take normals from: use rows or blend");
}

const pelt_arrangement *pelt_fit_model(pelt_fitting *f, pelt_error *error) {
    double low = f->low, high = f->high, middle = low + (high - low) * blend_share(&f->options);
    f->arena = pelt_arena_new(0);
    pelt_begin_part(f, low, (low + middle) / 2);
    if (pelt_stage(f->arena, fit_blend, f, error)) return NULL;
    pelt_begin_part(f, (low + middle) / 2, middle);
    if (choose_blend(f, error)) return NULL;
    if (f->options.normals == PELT_NORMALS_SURFACE && find_rings(f, error)) return NULL;
    pelt_begin_part(f, middle, high);
    if (pelt_stage(f->arena, fit_corrective, f, error)) return NULL;
    pelt_arena_watch(f->arena, NULL);
    const pelt_arrangement *arrangement =
        f->arrangement ? f->arrangement : pelt_model_arrange(f->arena, &f->model, error);
    f->report.options = f->options;
    f->report.options.progress = f->told;
    return arrangement;
}

/* The report names the caller's clips, whichever the fit has used. */
static void name_own_clips(const pelt_bundle *used, const pelt_bundle *own, pelt_examples list) {
    for (size_t e = 0; e < list.count; e++)
        for (uint32_t i = 0; i < own->clip_count; i++)
            if (list.list[e].clip == used->clips[i]) list.list[e].clip = own->clips[i];
}

/* -- How wrong it is ----------------------------------------------------------------------------------------------- */

static pelt_measure *measure(pelt_fitting *f, double low, double high, const pelt_arrangement *arrangement,
                             pelt_examples examples, pelt_error *error) {
    pelt_bytes *bytes = pelt_lay_out(arrangement, &(pelt_account){.about = "{}"}, error);
    pelt_skin skin;
    if (!bytes) return NULL;
    pelt_begin_part(f, low, high);
    pelt_result result = pelt_open(bytes->bytes, bytes->size, &skin);
    pelt_measure *measured = NULL;
    if (result)
        pelt_fail(error, result, "the fitted skin cannot be opened: %s", pelt_result_text(result));
    else
        measured = pelt_measure_watched(&skin, f->bundle, examples, f->options.threads, &f->options.progress, error);
    pelt_bytes_free(bytes);
    return measured;
}

/* The same against what the caller gave, where the fit works on a clean copy. */
static pelt_measure *measure_given(pelt_fitting *f, double low, double high, const pelt_arrangement *arrangement,
                                   pelt_examples examples, pelt_error *error) {
    pelt_fitting own = *f;
    pelt_examples given = {examples.count, calloc(examples.count + 1, sizeof *given.list)};
    if (!given.list) return pelt_no_memory(error), NULL;
    for (size_t e = 0; e < given.count; e++) given.list[e] = examples.list[e];
    name_own_clips(f->bundle, f->given, given);
    own.bundle = f->given;
    pelt_measure *measured = measure(&own, low, high, arrangement, given, error);
    free(given.list);
    return measured;
}

/* -- Trials: fits to some of the examples, which are measured on others -------------------------------------------- */

/* A fit like another one; its progress covers `low` to `high`. */
static void begin_trial(const pelt_fitting *f, pelt_examples kept, double low, double high, pelt_fitting *trial) {
    *trial = (pelt_fitting){.bundle = f->bundle,
                            .given = f->given,
                            .examples = kept,
                            .options = f->options,
                            .told = f->told,
                            .noise = f->noise,
                            .steps = f->steps};
    pelt_begin_part(trial, low, high);
}

/* NULL after an error, in the fit too. */
static pelt_measure *measure_trial(pelt_fitting *trial, const pelt_arrangement *arrangement, pelt_examples held,
                                   pelt_error *error) {
    return arrangement ? measure(trial, trial->high, trial->high, arrangement, held, error) : NULL;
}

/* -- Which blend --------------------------------------------------------------------------------------------------- */

/* The hold-out error of a blend with its corrective; negative: unknown. */
static double try_blend(const pelt_fitting *f, pelt_blend blend, pelt_examples kept, pelt_examples held, double low,
                        double high, pelt_error *error) {
    pelt_fitting trial;
    begin_trial(f, kept, low, high, &trial);
    trial.pull = f->report.blend_fit.pull;
    trial.options.blend = blend;
    if (!trial.options.kernel.family && f->options.corrective == PELT_CORRECTIVE_KERNEL)
        trial.options.kernel.family = PELT_FAMILY_KERNEL; /* takes a tenth of the time */
    pelt_measure *measured = measure_trial(&trial, pelt_fit_model(&trial, error), held, error);
    double rms = measured ? measured->rms : -1;
    pelt_measure_free(measured);
    pelt_arena_free(trial.arena);
    return rms;
}

/* Fitted weights must beat the file's with the very corrective that follows; otherwise the file's are kept. */
static pelt_result choose_blend(pelt_fitting *f, pelt_error *error) {
    pelt_examples kept, held;
    double low = f->low, middle = (f->low + f->high) / 2, high = f->high;
    bool has_weights = f->model.vertex_count && f->bundle->mesh.influences.first[f->model.vertex_count];
    if (f->pull > 0 || f->report.blend_fit.pull == 0 || !has_weights) return PELT_OK;
    pelt_result result = pelt_split_examples(f->arena, f->bundle, f->examples, usual_holdout, &kept, &held, error);
    if (result || !held.count || !kept.count) return result;
    double file = try_blend(f, PELT_BLEND_FILE, kept, held, low, middle, error);
    double fitted = file < 0 ? -1 : try_blend(f, PELT_BLEND_FIT, kept, held, middle, high, error);
    if (error->code == PELT_ERROR_CANCELLED || error->code == PELT_ERROR_MEMORY) return error->code;
    if (file < 0 || fitted < 0) return *error = (pelt_error){0}, PELT_OK;
    f->report.blend_fit.held_out = file > 0 ? fitted / file : 1;
    if (fitted < worthwhile * file) return PELT_OK;
    f->options.blend = PELT_BLEND_FILE;
    result = pelt_stage(f->arena, fit_blend, f, error);
    f->options.blend = PELT_BLEND_FIT, f->report.blend_fit.pull = 0;
    return result;
}

/* -- Which steps --------------------------------------------------------------------------------------------------- */

/* A rough fit of driven joints with these steps, NULL: half turns only, and its errors on the held-out examples; NULL
   after an error. */
static pelt_measure *try_steps(const pelt_fitting *f, pelt_examples kept, pelt_examples held, const pelt_steps *steps,
                               double low, double high, pelt_fitting *trial, pelt_error *error) {
    begin_trial(f, kept, low, high, trial);
    trial->rough = true, trial->steps = steps;
    trial->options.corrective = PELT_CORRECTIVE_NONE;
    return measure_trial(trial, pelt_fit_model(trial, error), held, error);
}

/* Takes the time until `end`. */
static pelt_result compare_steps(const pelt_fitting *f, pelt_examples kept, pelt_examples held, double end,
                                 pelt_steps *steps, pelt_error *error) {
    double middle = (f->low + end) / 2;
    pelt_fitting fine, plain = {0};
    pelt_measure *without = NULL, *with = try_steps(f, kept, held, steps, f->low, middle, &fine, error);
    if (with) without = try_steps(f, kept, held, NULL, middle, end, &plain, error);
    pelt_result result = without ? pelt_weigh_steps(&fine.model, with, without, steps, error) : error->code;
    pelt_measure_free(with), pelt_measure_free(without);
    pelt_arena_free(fine.arena), pelt_arena_free(plain.arena);
    return result;
}

typedef struct stepping {
    pelt_fitting f;
    pelt_steps *steps;
} stepping;

static pelt_result find_steps(void *user, pelt_error *error) {
    stepping *s = user;
    s->f.model.skeleton = &s->f.bundle->skeleton;
    return pelt_find_steps(&s->f, s->steps, error);
}

/* The steps of the blend "joints", if no rules say: those that pay on held-out examples. The examples of the hold-out
   figure must not influence it. Takes some of the time until f->high. */
pelt_result pelt_choose_steps(pelt_fitting *f, pelt_arena *arena, pelt_error *error) {
    enum { LEAST_EXAMPLES = 10 };
    double end = f->low + 0.3 * (f->high - f->low);
    double fraction = f->options.holdout == 0 ? usual_holdout : fmax(f->options.holdout, 0);
    if (f->options.blend != PELT_BLEND_JOINTS || f->options.joints.drive ||
        f->options.joints.influence_choice == PELT_CHOICE_RIGIDITY)
        return PELT_OK;
    pelt_examples seen, unseen, kept, held;
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    uint32_t joints = f->bundle->skeleton.joint_count, tried = 0;
    pelt_steps *steps = PELT_NEW(arena, joints, pelt_steps);
    if (!work || pelt_arena_failed(arena)) return pelt_no_memory(error);
    pelt_result result = pelt_split_examples(work, f->bundle, f->examples, fraction, &seen, &unseen, error);
    if (!result) result = pelt_split_examples(work, f->bundle, seen, 1.0 / 3, &kept, &held, error);
    if (result || seen.count < LEAST_EXAMPLES || !held.count) return result;
    stepping all = {{.bundle = f->bundle, .examples = seen, .options = f->options, .arena = work}, steps};
    result = pelt_stage(work, find_steps, &all, error);
    for (uint32_t j = 0; j < joints; j++) tried += steps[j] != PELT_STEPS_HALF;
    if (result || !tried) return result;
    result = compare_steps(f, kept, held, end, steps, error);
    f->low = end;
    if (!result) f->steps = steps;
    if (result != PELT_ERROR_CANCELLED && result != PELT_ERROR_MEMORY) *error = (pelt_error){0};
    return error->code;
}

/* -- Which normals ------------------------------------------------------------------------------------------------- */

static double normal_error(pelt_fitting *f, const pelt_arrangement *arrangement, pelt_examples held,
                           pelt_error *error) {
    pelt_measure *measured = measure_trial(f, arrangement, held, error);
    double degrees = measured ? measured->normal_rms_degrees : -1;
    pelt_measure_free(measured);
    return degrees;
}

/* One fit with rows for normals: their error, and that of the surface of the same positions. */
static void try_normals(const pelt_fitting *f, pelt_examples kept, pelt_examples held, double high, double *rows,
                        double *surface, pelt_error *error) {
    pelt_fitting trial;
    begin_trial(f, kept, f->low, high, &trial);
    trial.options.normals = PELT_NORMALS_ROWS;
    if (f->options.corrective == PELT_CORRECTIVE_KERNEL) trial.options.kernel.family = PELT_FAMILY_KERNEL; /* quick */
    *rows = normal_error(&trial, pelt_fit_model(&trial, error), held, error);
    if (*rows >= 0 && trial.model.corrective && !find_rings(&trial, error)) {
        pelt_corrective without = *trial.model.corrective;
        without.tilts = NULL;
        trial.model.corrective = &without;
        *surface = normal_error(&trial, pelt_model_arrange(trial.arena, &trial.model, error), held, error);
    }
    pelt_arena_free(trial.arena);
}

/* Rows or the surface, by examples that are held out of a quick fit; like steps, never by those of the hold-out
   figure. Takes some of the time until f->high. */
pelt_result pelt_choose_normals(pelt_fitting *f, pelt_error *error) {
    double end = f->low + 0.2 * (f->high - f->low);
    double fraction = f->options.holdout == 0 ? usual_holdout : fmax(f->options.holdout, 0);
    if (f->options.normals != PELT_NORMALS_AUTO) return PELT_OK;
    f->options.normals = f->options.corrective == PELT_CORRECTIVE_NONE ? PELT_NORMALS_BLEND : PELT_NORMALS_ROWS;
    if (f->options.corrective == PELT_CORRECTIVE_NONE || f->options.preset) return PELT_OK;
    pelt_examples seen, unseen, kept, held;
    double rows = -1, surface = -1;
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    pelt_result result = pelt_split_examples(work, f->bundle, f->examples, fraction, &seen, &unseen, error);
    if (!result) result = pelt_split_examples(work, f->bundle, seen, usual_holdout, &kept, &held, error);
    if (result) return result;
    if (!held.count || !kept.count) kept = held = f->examples; /* there are too few */
    try_normals(f, kept, held, end, &rows, &surface, error);
    f->low = end;
    if (error->code == PELT_ERROR_CANCELLED || error->code == PELT_ERROR_MEMORY) return error->code;
    *error = (pelt_error){0};
    if (surface >= 0 && surface < rows) f->options.normals = PELT_NORMALS_SURFACE;
    return PELT_OK;
}

/* The figure comes from other fits. */
static pelt_result take_forecast(pelt_fitting *f, pelt_error *error) {
    pelt_examples held = {f->forecast_on.count, PELT_NEW(f->arena, f->forecast_on.count, pelt_example)};
    if (pelt_arena_failed(f->arena)) return pelt_no_memory(error);
    for (size_t e = 0; e < held.count; e++) held.list[e] = f->forecast_on.list[e];
    f->report.kept = f->report.held = held;
    f->report.holdout = f->forecast, f->forecast = NULL;
    return PELT_OK;
}

/* -- Confidence ---------------------------------------------------------------------------------------------------- */

/* What the skin will say about its own errors, by those of a fit that has not seen some examples. */
static pelt_result know_errors(pelt_fitting *f, const pelt_blind_fit *blind, pelt_error *error) {
    double wall = pelt_wall_seconds(), cpu = pelt_cpu_seconds();
    if (f->options.no_confidence) return PELT_OK;
    f->confidence = pelt_fit_confidence(f, blind, error);
    f->report.seconds += pelt_wall_seconds() - wall;
    f->report.cpu_seconds += pelt_cpu_seconds() - cpu;
    return error->code;
}

/* The hold-out figure comes from a fit that has not seen those examples; the skin that is written has seen all. */
static pelt_result measure_held_out(pelt_fitting *f, const double ends[4], pelt_error *error) {
    double fraction = f->options.holdout == 0 ? usual_holdout : f->options.holdout;
    if (fraction < 0) return PELT_OK;
    pelt_fit_report *r = &f->report;
    if (f->forecast) return take_forecast(f, error);
    pelt_result result = pelt_split_examples(f->arena, f->bundle, f->examples, fraction, &r->kept, &r->held, error);
    if (result || !r->held.count || !r->kept.count) return result;
    name_own_clips(f->bundle, f->given, r->kept), name_own_clips(f->bundle, f->given, r->held);
    pelt_fitting blind = {.bundle = f->given,
                          .given = f->given,
                          .examples = r->kept,
                          .options = f->options,
                          .told = f->told,
                          .steps = f->steps};
    PELT_SCOPED pelt_arena *clean = pelt_arena_new(0);
    if (!clean) return pelt_no_memory(error);
    pelt_begin_part(&blind, ends[1], ends[2]);
    if (f->bundle != f->given) result = pelt_clean_examples(&blind, clean, error); /* these must not help either */
    const pelt_arrangement *arrangement = result ? NULL : pelt_fit_model(&blind, error);
    if (arrangement) r->holdout = measure_given(&blind, ends[2], ends[3], arrangement, r->held, error);
    if (r->holdout) result = know_errors(f, &(pelt_blind_fit){arrangement, f->given, r->kept, r->held, 1}, error);
    pelt_arena_free(blind.arena);
    return r->holdout ? result : error->code;
}

/* A quick fit to most examples, for its errors on the others: with the choices of the fit itself, and without what
   does not concern positions. Learned features take ten times as long as kernels, so kernels stand in for them; how
   much smaller the errors of features are is known from the cross-validation of both. */
static pelt_result calibrate_quickly(pelt_fitting *f, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    pelt_blind_fit blind = {.bundle = f->bundle, .scale = 1};
    if (!work) return pelt_no_memory(error);
    pelt_result result =
        pelt_split_examples(work, f->bundle, f->examples, usual_holdout, &blind.kept, &blind.held, error);
    if (result || !blind.held.count || !blind.kept.count) return result;
    pelt_fitting quick = {.bundle = f->bundle,
                          .examples = blind.kept,
                          .options = f->options,
                          .told = f->told,
                          .noise = f->noise,
                          .steps = f->steps,
                          .rough = true,
                          .pull = f->report.blend_fit.pull};
    pelt_fit_options *o = &quick.options;
    if (f->report.blend_fit.missed > 0 && quick.pull == 0) o->blend = PELT_BLEND_FILE;
    o->normals = PELT_NORMALS_BLEND;
    if (o->corrective != PELT_CORRECTIVE_NONE) o->displacement.displacements = 32;
    if (o->corrective == PELT_CORRECTIVE_PSD) o->psd.width = f->report.poses.width;
    if (f->report.kernel) o->kernel.family = PELT_FAMILY_KERNEL;
    if (f->report.eigen) {
        o->eigen.width = f->report.eigen->positions.width, o->eigen.threshold = f->report.eigen->positions.threshold;
    }
    pelt_begin_part(&quick, f->high, f->high);
    blind.arrangement = pelt_fit_model(&quick, error);
    if (f->report.kernel && quick.report.kernel && quick.report.kernel->validation_error > 0)
        blind.scale = fmin(f->report.kernel->validation_error / quick.report.kernel->validation_error, 1);
    result = blind.arrangement ? know_errors(f, &blind, error) : error->code;
    pelt_arena_free(quick.arena);
    return result;
}

/* -- The call ------------------------------------------------------------------------------------------------------ */

void pelt_fit_report_free(pelt_fit_report *report) {
    if (!report) return;
    pelt_measure_free(report->train);
    pelt_measure_free(report->holdout);
    pelt_arena_free(report->arena);
    *report = (pelt_fit_report){0};
}

static pelt_bytes *fit(pelt_fitting *f, bool measured, pelt_arena *clean, pelt_error *error) {
    double ends[4] = {1, 1, 1, 1};
    *error = (pelt_error){0};
    if (measured && f->forecast)
        ends[0] = 0.95;
    else if (measured)
        share_time(&f->options, ends);
    for (int i = 0; i < 4; i++) ends[i] = f->begun + (1 - f->begun) * ends[i];
    pelt_begin_part(f, f->begun, ends[0]);
    if (is_fitted(&f->options) && pelt_clean_examples(f, clean, error)) return NULL;
    if (f->examples.count && (pelt_choose_steps(f, clean, error) || pelt_choose_normals(f, error))) return NULL;
    const pelt_arrangement *arrangement = pelt_fit_model(f, error);
    if (!arrangement) return NULL;
    if (measured) {
        bool told = f->options.holdout >= 0 && !f->forecast; /* the hold-out fit tells what errors to expect */
        f->report.train = measure_given(f, ends[0], ends[1], arrangement, f->examples, error);
        if (!f->report.train || measure_held_out(f, ends, error)) return NULL;
        if (!told && !f->options.no_confidence && calibrate_quickly(f, error)) return NULL;
    }
    char *about = pelt_about_text(&f->report, f->front, f->bundle, f->examples, error);
    pelt_bytes *facts = about ? pelt_fit_facts(f->arena, &f->report, f->bundle, f->examples, error) : NULL;
    pelt_account account = {about, facts, f->confidence};
    pelt_bytes *bytes = facts ? pelt_lay_out(arrangement, &account, error) : NULL;
    free(about), pelt_bytes_free(facts);
    if (!bytes || !f->options.levels) return bytes;
    pelt_bytes *levels = pelt_fit_levels(bytes, f->bundle, f->examples, error);
    pelt_bytes_free(bytes);
    return levels;
}

pelt_bytes *pelt_fit_forecast(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                              const pelt_forecasted *known, pelt_fit_report *report, pelt_error *error) {
    pelt_error unwanted;
    double wall = pelt_wall_seconds(), cpu = pelt_cpu_seconds();
    if (!error) error = &unwanted;
    pelt_fitting f = {.bundle = bundle,
                      .given = bundle,
                      .examples = examples,
                      .forecast = known->measure,
                      .forecast_on = known->held,
                      .front = known->front,
                      .begun = known->begun};
    if (options) f.options = *options, f.told = options->progress;
    if (report) *report = (pelt_fit_report){0};
    if (PELT_MISSING(bundle, error) || pelt_fit_resolve(&f.options, error) ||
        pelt_check_control_scales(bundle, &f.options, error) || check_input(&f, report, error) ||
        check_memory(&f, error))
        return pelt_measure_free(f.forecast), NULL;
    pelt_arena *clean = pelt_arena_new(0);
    if (!clean) return pelt_measure_free(f.forecast), pelt_no_memory(error), NULL;
    pelt_bytes *bytes = fit(&f, report != NULL && examples.count, clean, error);
    pelt_bytes_free(f.confidence);
    if (f.arena)
        pelt_arena_adopt(f.arena, clean); /* findings */
    else
        pelt_arena_free(clean);
    pelt_measure_free(f.forecast);
    f.report.arena = f.arena;
    f.report.seconds = pelt_wall_seconds() - wall, f.report.cpu_seconds = pelt_cpu_seconds() - cpu;
    if (bytes && report)
        *report = f.report;
    else
        pelt_fit_report_free(&f.report);
    return bytes;
}

pelt_bytes *pelt_fit(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *options,
                     pelt_fit_report *report, pelt_error *error) {
    return pelt_fit_forecast(bundle, examples, options, &(pelt_forecasted){0}, report, error);
}
