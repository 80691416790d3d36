/* correctives.c: the stage of a fit that makes the corrective D: which way, and how finely it is stored.

   Whether 16 bits are enough depends on how much the terms of D cancel, so it is tried: the skin is packed both ways
   and run at some of the examples. */

#include "fit/corrective/correctives.h"
#include "fit/examples/displacement.h"
#include "pack/pack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct way {
    const char *name;
    pelt_result (*fit)(pelt_fitting *fitting, pelt_error *error);
} ways[] = {
    {"none", NULL},
    {"psd", pelt_fit_psd},
    {"wpsd", pelt_fit_wpsd},
    {"eigen", pelt_fit_eigenskin},
    {"kernel", pelt_fit_kernel},
};

const char *const pelt_correctives[] = {"none", "psd", "wpsd", "eigen", "kernel", NULL};

/* -- 16 bits ------------------------------------------------------------------------------------------------------- */

static const double MOST_ROUNDING = 1e-5; /* of the diagonal */
enum { TRIED = 12 };

/* A model packed and ready to run. */
typedef struct trial {
    pelt_skin_bytes *bytes;
    pelt_skin skin;
    void *scratch;
    float *positions;
} trial;

static bool open_trial(const pelt_model *model, bool in_16_bits, trial *t) {
    pelt_model copy = *model;
    copy.in_16_bits = in_16_bits, copy.about = "{}";
    t->bytes = pelt_model_pack(&copy, NULL);
    if (!t->bytes || pelt_open(t->bytes->bytes, t->bytes->size, &t->skin)) return false;
    t->scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(&t->skin));
    t->positions = aligned_alloc(PELT_ALIGN, pelt_output_size(&t->skin));
    return t->scratch && t->positions;
}

static void run_trial(trial *t, const pelt_pose_input *pose) {
    pelt_pose_from(&t->skin, pose, t->scratch);
    pelt_deform(&t->skin, t->scratch, pelt_all_blocks(&t->skin), t->positions, NULL);
}

static void close_trial(trial *t) {
    free(t->scratch), free(t->positions);
    pelt_skin_free(t->bytes);
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

/* How far 16 bits move a vertex at most, at some of the examples; INFINITY when that cannot be told. */
static double rounding(const pelt_fitting *f) {
    trial exact = {0}, rounded = {0};
    pelt_transform *locals = malloc(f->bundle->skeleton.joint_count * sizeof *locals);
    float *row = malloc(((size_t)f->bundle->controls.count + 1) * sizeof *row);
    float *controls = malloc(((size_t)f->model.control_count + 1) * sizeof *controls);
    bool ready =
        locals && row && controls && open_trial(&f->model, false, &exact) && open_trial(&f->model, true, &rounded);
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
    close_trial(&exact), close_trial(&rounded), free(locals), free(row), free(controls);
    return ready ? worst : INFINITY;
}

static void choose_precision(pelt_fitting *f) {
    const char *wanted = f->options.displacements;
    if (!f->model.corrective || (wanted && strcmp(wanted, "16"))) return;
    double worst = rounding(f);
    f->model.in_16_bits = wanted || worst <= MOST_ROUNDING * f->bundle->mesh.diagonal;
    if (f->model.in_16_bits) f->figures.storage_error = worst;
}

/* -- Too much ------------------------------------------------------------------------------------------------------ */

/* Every n-th of all frames of the clips, whatever part of them was given here: then the advice holds for a fit to some
   of them too, such as the one that holds examples out. */
pelt_result pelt_refuse_count(const pelt_fitting *f, size_t count, const char *what, uint32_t most, pelt_error *error) {
    size_t frames = 0;
    const pelt_clip *last = NULL;
    for (size_t e = 0; e < f->examples.count; e++) {
        const pelt_clip *clip = f->examples.list[e].clip;
        if (clip != last) frames += clip->frame_count;
        last = clip;
    }
    if (frames < count) frames = count;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%zu %s are more than the %u that the corrective \"%s\" takes: train on every n-th frame, with "
                     "--every %zu, or on fewer clips",
                     count, what, most, f->options.corrective, (frames + most - 1) / most);
}

/* -- Controls ------------------------------------------------------------------------------------------------------ */

/* The model's controls are those that the poses had: the same examples give the same list. */
static pelt_result name_controls(pelt_fitting *f, pelt_error *error) {
    pelt_model_control *list;
    if (!f->model.corrective) return PELT_OK;
    pelt_result result = pelt_varying_controls(f->arena, f->bundle, f->examples, f->options.control_scale, &list,
                                               &f->model.control_count, error);
    f->model.controls = list;
    return result;
}

/* -- The stage ----------------------------------------------------------------------------------------------------- */

pelt_result pelt_fit_corrective(pelt_fitting *f, pelt_error *error) {
    const char *precision = f->options.displacements, *weights = f->options.distance_weights, *rbf = f->options.rbf;
    if (precision && strcmp(precision, "16") && strcmp(precision, "32"))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "--displacements %s: choose from 16, 32 (bits)", precision);
    if (rbf && strcmp(rbf, "exp") && strcmp(rbf, "gaussian") && strcmp(rbf, "mixed"))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "--rbf %s: choose from mixed, gaussian, exp", rbf);
    if (weights && strcmp(weights, "driving") && strcmp(weights, "blend"))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "--distance-weights %s: choose from driving, blend", weights);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(ways[i].name, f->options.corrective) || !ways[i].fit) continue;
        if (pelt_should_stop(&f->options.progress, f->options.corrective, 0))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        pelt_result result = ways[i].fit(f, error);
        if (!result) result = name_controls(f, error);
        if (!result) choose_precision(f);
        return result;
    }
    return PELT_OK;
}
