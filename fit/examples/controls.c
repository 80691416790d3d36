/* controls.c: controls as fits see them (controls.h). A control is one more axis of the pose: its distance is the
   difference of values in units of how far it goes from rest, so that a control at its end counts like a joint that is
   turned by a radian. */

#include "fit/examples/controls.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- Scales -------------------------------------------------------------------------------------------------------- */

static pelt_result bad_scale(const char *part, size_t length, const char *what, pelt_error *error) {
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "--control-scale %.*s: %s", length < 200 ? (int)length : 200, part,
                     what);
}

/* One "NAME=S" of the option. */
static pelt_result read_scale(const char *part, size_t length, const pelt_controls *controls, double *scales,
                              pelt_error *error) {
    const char *equals = NULL;
    for (size_t i = 0; i < length; i++)
        if (part[i] == '=') equals = part + i;
    if (!equals) return bad_scale(part, length, "NAME=S is meant, a control and how much more it counts", error);
    char *end, number[32] = "";
    size_t digits = (size_t)(part + length - equals - 1), i = 0;
    if (digits < sizeof number) memcpy(number, equals + 1, digits);
    double scale = strtod(number, &end);
    if (end == number || *end || !(scale >= 1e-3 && scale <= 1e3))
        return bad_scale(part, length, "a number from 0.001 to 1000 is meant", error);
    while (i < controls->count && (strlen(controls->names[i]) != (size_t)(equals - part) ||
                                   memcmp(controls->names[i], part, (size_t)(equals - part))))
        i++;
    if (i == controls->count)
        return bad_scale(part, length, "no clip has such a control; `pelt info` lists those that there are", error);
    scales[i] = scale;
    return PELT_OK;
}

static pelt_result read_scales(const char *text, const pelt_controls *controls, double *scales, pelt_error *error) {
    pelt_result result = PELT_OK;
    for (uint32_t i = 0; i < controls->count; i++) scales[i] = 1;
    while (text && *text && !result) {
        size_t length = strcspn(text, ",");
        result = read_scale(text, length, controls, scales, error);
        text += length + (text[length] == ',');
    }
    return result;
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

pelt_result pelt_varying_controls(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                  const char *scale, pelt_model_control **list, uint32_t *count, pelt_error *error) {
    const pelt_controls *all = &bundle->controls;
    double *scales = PELT_NEW(arena, all->count + 1, double);
    *list = PELT_NEW(arena, all->count + 1, pelt_model_control);
    *count = 0;
    if (!scales || !*list) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for %u controls", all->count);
    pelt_result result = read_scales(scale, all, scales, error);
    for (uint32_t i = 0; i < all->count && !result; i++) {
        pelt_model_control control = {.source = i, .name = all->names[i], .rest = all->rest[i]};
        find_range(bundle, examples, &control);
        double farthest = fmax(fabs((double)control.most - control.rest), fabs((double)control.least - control.rest));
        if (!(control.most - control.least > 1e-6 * fmax(1, farthest))) continue;
        control.farthest = (float)farthest;
        control.scale = (float)(scales[i] / farthest);
        (*list)[(*count)++] = control;
    }
    return result;
}

void pelt_control_values(const pelt_bundle *bundle, const pelt_model_control *list, uint32_t count,
                         const pelt_example *example, float *row, float *values) {
    pelt_clip_controls(example->clip, &bundle->controls, example->frame, row);
    for (uint32_t i = 0; i < count; i++) values[i] = row[list[i].source] - list[i].rest;
}
