/* doubt.h: examples whose shape does not fit their pose. */

#ifndef PELT_DOUBT_H
#define PELT_DOUBT_H

#include "fit/examples/displacement.h"
#include "fit/examples/poses.h"

enum { PELT_FITS, PELT_BAD_POINT, PELT_BAD_PATCH, PELT_BAD_WHOLE };

typedef struct pelt_doubts {
    uint8_t *marks;     /* [example][point] fits, is out of place alone, or with those around it */
    uint8_t *examples;  /* [example] the worst of that; or whole: so much is bad that nothing of it should be trusted */
    uint32_t *vertices; /* [example] one that is out of place alone */
} pelt_doubts;

/* Finds points that are not where the other examples predict them, and puts them there; not in examples that are bad as
   a whole. Returns whether there are any. The arena owns the doubts. */
bool pelt_mend_examples(pelt_arena *arena, const pelt_fitting *fitting, const pelt_poses *poses,
                        pelt_example_displacements *displacements, pelt_doubts *doubts);

#endif
