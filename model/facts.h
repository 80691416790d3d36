/* facts.h: a skin's facts about its fit: the section FACT (runtime/format.h), which pelt_open has checked. The counts
   and measures are members of pelt_facts. */

#ifndef PELT_MODEL_FACTS_H
#define PELT_MODEL_FACTS_H

#include "runtime/format.h"

/* A string of the section: PELT_FACT_MADE_BY, PELT_FACT_BUNDLE, PELT_FACT_CLIPS + i. */
const char *pelt_facts_text(const pelt_facts *facts, uint32_t index);

/* The more telling measure: on held-out examples, else on training; NULL: there is none, or `facts` is NULL. */
const pelt_fact_measure *pelt_facts_measure(const pelt_facts *facts);

/* The singular values EigenSkin found for a mover, descending, by its name ("spine0+spine1"). NULL: unknown, or `facts`
   is NULL. */
const double *pelt_facts_singular(const pelt_facts *facts, const char *mover, uint32_t *count);

#endif
