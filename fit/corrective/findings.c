/* findings.c: what the fit of a corrective says about itself, put into words (findings.h). */
#include "fit/corrective/findings.h"
#include "fit/fitting.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *pelt_example_name(pelt_fitting *f, uint32_t example) {
    if (example == PELT_REST_EXAMPLE) return "the rest pose";
    const pelt_example *e = &f->examples.list[example];
    const char *name = pelt_arena_format(f->arena, "%s:%u", e->clip->name, e->frame);
    return name ? name : e->clip->name;
}

void pelt_note_condition(pelt_fitting *f, const pelt_condition *c) {
    f->report.condition = *c;
    if (c->value <= PELT_WORST_CONDITION) return;
    bool keeps_poses = f->options.corrective == PELT_CORRECTIVE_PSD || f->options.corrective == PELT_CORRECTIVE_WPSD;
    pelt_find(
        &f->report.findings, f->arena, PELT_WARNING, "close-poses",
        "some poses are too close together to tell their shapes apart in single precision (condition %.2g%s%s, more "
        "than %.2g); the closest are %s and %s, %.2g rad apart: remove one of them, or train on fewer frames%s",
        c->value, c->where ? " at " : "", c->where ? c->where : "", PELT_WORST_CONDITION,
        pelt_example_name(f, c->closest[0]), pelt_example_name(f, c->closest[1]), c->distance,
        keeps_poses ? ", or keep fewer poses" : "");
}
