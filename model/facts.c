/* facts.c: lookup in the section FACT (facts.h). */

#include "model/facts.h"
#include <string.h>

static const double *values_of(const pelt_facts *f) { return (const double *)(f + 1); }
static const uint32_t *ranks_of(const pelt_facts *f) { return (const uint32_t *)(values_of(f) + f->value_count); }

const char *pelt_facts_text(const pelt_facts *f, uint32_t index) {
    const char *text = (const char *)(ranks_of(f) + f->mover_count);
    while (index--) text += strlen(text) + 1;
    return text;
}

const pelt_fact_measure *pelt_facts_measure(const pelt_facts *f) {
    if (!f) return NULL;
    return f->holdout.frame_count ? &f->holdout : f->train.frame_count ? &f->train : NULL;
}

const double *pelt_facts_singular(const pelt_facts *f, const char *mover, uint32_t *count) {
    *count = 0;
    if (!f || !f->mover_count) return NULL;
    const char *name = pelt_facts_text(f, PELT_FACT_CLIPS + f->clip_count);
    const double *values = values_of(f);
    for (uint32_t i = 0; i < f->mover_count; i++) {
        *count = ranks_of(f)[i];
        if (!strcmp(name, mover)) return values;
        values += *count, name += strlen(name) + 1;
    }
    return *count = 0, NULL;
}
