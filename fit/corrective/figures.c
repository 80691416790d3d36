/* figures.c: what the fit of a corrective says about itself, computed, put into words and into the skin (figures.h).

   The 2-norm condition of a symmetric matrix is its largest over its smallest eigenvalue, by size: how many times a
   relative error of what is interpolated can grow in the coefficients. */

#include "fit/corrective/figures.h"
#include "rig/linear.h"
#include "fit/fitting.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double pelt_condition_of(size_t n, double *matrix) {
    double *values = malloc((n + 1) * sizeof *values), least = INFINITY, most = 0;
    bool done = values && pelt_eigenvalues(n, matrix, values);
    for (size_t i = 0; done && i < n; i++) least = fmin(least, fabs(values[i])), most = fmax(most, fabs(values[i]));
    free(values);
    return done && least > 0 ? most / least : INFINITY;
}

const char *pelt_example_name(pelt_fitting *f, uint32_t example) {
    if (example == PELT_REST_EXAMPLE) return "the rest pose";
    const pelt_example *e = &f->examples.list[example];
    const char *name = pelt_arena_format(f->arena, "%s:%u", e->clip->name, e->frame);
    return name ? name : e->clip->name;
}

void pelt_note_condition(pelt_fitting *f, const pelt_condition *c) {
    f->figures.condition = *c;
    if (c->value <= PELT_WORST_CONDITION) return;
    bool keeps_poses = !strcmp(f->options.corrective, "psd") || !strcmp(f->options.corrective, "wpsd");
    pelt_find(&f->findings, f->arena, PELT_WARNING, "close-poses",
              "some poses are so close together that their shapes can hardly be told apart in single precision "
              "(condition %.2g%s%s, more than %.2g); the closest are %s and %s, %.2g rad apart: remove one of them, or "
              "train on fewer frames with --every N%s",
              c->value, c->where ? " at " : "", c->where ? c->where : "", PELT_WORST_CONDITION,
              pelt_example_name(f, c->closest[0]), pelt_example_name(f, c->closest[1]), c->distance,
              keeps_poses ? ", or keep fewer poses with --poses N" : "");
}

/* JSON has no infinity. */
static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *condition_json(pelt_fitting *f, const pelt_condition *c) {
    json_t *object = json_pack("{s:o, s:s?, s:n, s:o}", "value", number(c->value), "where", c->where, "closest",
                               "distance", number(c->distance));
    if (isfinite(c->distance))
        json_object_set_new(
            object, "closest",
            json_pack("[s, s]", pelt_example_name(f, c->closest[0]), pelt_example_name(f, c->closest[1])));
    if (c->median > 0) json_object_set_new(object, "median", number(c->median));
    return object;
}

const char *pelt_figures_text(pelt_fitting *f) {
    const pelt_figures *g = &f->figures;
    double diagonal = fmax(f->bundle->mesh.diagonal, 1e-30);
    json_t *object = f->details ? json_loads(f->details, 0, NULL) : json_object();
    if (g->condition.value > 0) json_object_set_new(object, "condition", condition_json(f, &g->condition));
    json_object_set_new(
        object, "damped",
        json_pack("{s:I, s:I}", "times", (json_int_t)g->damped, "points", (json_int_t)g->damped_points));
    json_object_set_new(object, "bound", number(g->bound));
    json_object_set_new(object, "bound_fraction", number(g->bound / diagonal));
    json_object_set_new(object, "storage_error", number(g->storage_error));
    json_object_set_new(object, "storage_error_fraction", number(g->storage_error / diagonal));
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    const char *copy = text ? pelt_arena_format(f->arena, "%s", text) : NULL;
    json_decref(object);
    free(text);
    return copy;
}
