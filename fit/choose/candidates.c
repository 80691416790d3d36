/* candidates.c: the methods to choose from, and their sizes. */

#include "fit/choose/choose.h"
#include <stdio.h>

static const struct row {
    pelt_blend blend;
    pelt_corrective_kind corrective;
    pelt_family family;
} ROWS[] = {
    {PELT_BLEND_FILE, PELT_CORRECTIVE_NONE, 0},
    {PELT_BLEND_FIT, PELT_CORRECTIVE_NONE, 0},
    {PELT_BLEND_FILE, PELT_CORRECTIVE_PSD, 0},
    {PELT_BLEND_FILE, PELT_CORRECTIVE_WPSD, 0},
    {PELT_BLEND_FILE, PELT_CORRECTIVE_EIGEN, 0},
    {PELT_BLEND_FILE, PELT_CORRECTIVE_KERNEL, PELT_FAMILY_KERNEL},
    {PELT_BLEND_FILE, PELT_CORRECTIVE_KERNEL, PELT_FAMILY_ARC},
    {PELT_BLEND_FILE, PELT_CORRECTIVE_KERNEL, PELT_FAMILY_FEATURES},
    {PELT_BLEND_JOINTS, PELT_CORRECTIVE_NONE, 0}, /* last: it takes longest, and is tried only where others fail */
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

/* -- Sizes --------------------------------------------------------------------------------------------------------- */

static uint32_t *size_of(pelt_fit_options *o) {
    switch (o->corrective) {
    case PELT_CORRECTIVE_KERNEL:
        return &o->kernel.per_vertex;
    case PELT_CORRECTIVE_EIGEN:
        return &o->eigen.per_joint;
    case PELT_CORRECTIVE_PSD:
    case PELT_CORRECTIVE_WPSD:
        return &o->psd.poses;
    default:
        return NULL;
    }
}

bool pelt_resize_contender(pelt_contender *c, const pelt_fit_options *given, uint32_t size) {
    pelt_fit_options asked = *given;
    asked.corrective = c->options.corrective;
    uint32_t *field = size_of(&c->options), *own = size_of(&asked);
    if (!field || *own) return false;
    *field = c->size = size;
    return true;
}

uint32_t pelt_usual_size(const pelt_contender *c, size_t example_count) {
    enum { PER_VERTEX = 10, PER_JOINT = 5 };
    if (c->size) return c->size;
    return c->options.corrective == PELT_CORRECTIVE_KERNEL  ? PER_VERTEX
           : c->options.corrective == PELT_CORRECTIVE_EIGEN ? PER_JOINT
                                                            : (uint32_t)example_count;
}

/* -- The list ------------------------------------------------------------------------------------------------------ */

size_t pelt_list_contenders(const pelt_bundle *bundle, const pelt_fit_options *given, pelt_contender *list,
                            pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    bool has_weights = mesh->vertex_count && mesh->influences.first[mesh->vertex_count];
    size_t count = 0;
    for (uint32_t r = 0; r < ROW_COUNT; r++) {
        pelt_fit_options o = *given;
        bool other = given->kernel.family && ROWS[r].family && given->kernel.family != ROWS[r].family;
        o.blend = ROWS[r].blend, o.corrective = ROWS[r].corrective;
        if (ROWS[r].family) o.kernel.family = ROWS[r].family;
        if (o.blend == PELT_BLEND_FILE && !has_weights) o.blend = PELT_BLEND_DISTANCE;
        pelt_error own = {0};
        if (other || (o.blend == PELT_BLEND_JOINTS && !has_weights) || pelt_fit_resolve(&o, &own)) {
            if (own.code && o.corrective == PELT_CORRECTIVE_KERNEL) *error = own; /* the one that people mean */
            continue;
        }
        list[count++] = (pelt_contender){.options = o, .row = r, .is_racing = true};
    }
    if (count) *error = (pelt_error){0};
    return count;
}

const char *pelt_contender_name(pelt_arena *arena, const pelt_contender *c) {
    const pelt_fit_options *o = &c->options;
    const char *size = o->corrective == PELT_CORRECTIVE_KERNEL  ? "per-vertex"
                       : o->corrective == PELT_CORRECTIVE_EIGEN ? "per-joint"
                                                                : "poses";
    char blend[32] = "", family[32] = "", number[32] = "", mirror[32] = "";
    bool usual = o->blend == PELT_BLEND_FILE || o->method == PELT_METHOD_JOINTS;
    if (!usual) snprintf(blend, sizeof blend, " --blend %s", pelt_blend_name(o->blend));
    if (o->kernel.family) snprintf(family, sizeof family, " --family %s", pelt_family_name(o->kernel.family));
    if (c->size) snprintf(number, sizeof number, " --%s %u", size, c->size);
    if (c->mirror) snprintf(mirror, sizeof mirror, " --mirror %c", "xyz"[c->mirror - 1]);
    return pelt_arena_format(arena, "--method %s%s%s%s%s", pelt_method_name(o->method), blend, family, number, mirror);
}
