/* controls.c: controls as fits see them (controls.h). A control is one more axis of the pose: its distance is the
   difference of values relative to its largest deviation from rest, so a control at its extreme counts like a joint
   rotated by one radian. */

#include "fit/examples/controls.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double CONSTANT = 1e-6; /* smaller ranges, of the farthest value, are rounding */

/* -- Scales -------------------------------------------------------------------------------------------------------- */

static pelt_result refuse_name(const pelt_controls *controls, const char *name, pelt_error *error) {
    char known[400] = "";
    for (uint32_t i = 0; i < controls->count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", controls->names[i]);
    }
    return pelt_fail_option(error, "control_scale", "no clip has a control \"%s\": %s%s", name,
                            *known ? "choose from " : "there are none, so leave it out", known);
}

pelt_result pelt_check_control_scales(const pelt_bundle *bundle, const pelt_fit_options *options, pelt_error *error) {
    for (size_t i = 0; i < options->displacement.control_scale_count; i++) {
        const char *name = options->displacement.control_scale[i].name;
        if (pelt_control_named(&bundle->controls, name) == bundle->controls.count)
            return refuse_name(&bundle->controls, name, error);
    }
    return PELT_OK;
}

/* The last one wins, as in a list of settings. */
static double scale_of(const pelt_fit_options *options, const char *name) {
    double scale = 1;
    for (size_t i = 0; i < options->displacement.control_scale_count; i++)
        if (!strcmp(options->displacement.control_scale[i].name, name))
            scale = options->displacement.control_scale[i].scale;
    return scale;
}

/* -- The controls that vary ---------------------------------------------------------------------------------------- */

/* Least and most of a control over the examples. */
static void find_range(const pelt_bundle *bundle, pelt_examples examples, pelt_model_control *control) {
    control->least = INFINITY, control->most = -INFINITY;
    for (size_t e = 0; e < examples.count; e++) {
        const pelt_clip *clip = examples.list[e].clip;
        float value = control->rest;
        if (clip->controls)
            value = clip->controls[(size_t)examples.list[e].frame * bundle->controls.count + control->source];
        control->least = fminf(control->least, value), control->most = fmaxf(control->most, value);
    }
}

pelt_model_control *pelt_varying_controls(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                          const pelt_fit_options *options, uint32_t *count) {
    const pelt_controls *all = &bundle->controls;
    pelt_model_control *list = PELT_NEW(arena, all->count, pelt_model_control);
    *count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        pelt_model_control control = {.source = i, .name = all->names[i], .rest = all->rest[i]};
        find_range(bundle, examples, &control);
        double farthest = fmax(fabs((double)control.most - control.rest), fabs((double)control.least - control.rest));
        if (!(control.most - control.least > CONSTANT * fmax(1, farthest))) continue;
        control.farthest = (float)farthest;
        control.scale = (float)(scale_of(options, control.name) / farthest);
        list[(*count)++] = control;
    }
    return list;
}

void pelt_control_values(const pelt_bundle *bundle, const pelt_model_control *list, uint32_t count,
                         const pelt_example *example, float *row, float *values) {
    pelt_clip_controls(example->clip, &bundle->controls, example->frame, row);
    for (uint32_t i = 0; i < count; i++) values[i] = row[list[i].source] - list[i].rest;
}
