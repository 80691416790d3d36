/* fewer.h: weights on fewer joints, for players that read only four. */

#ifndef PELT_FEWER_H
#define PELT_FEWER_H

#include "model/model.h"

typedef struct pelt_fewer {
    uint32_t vertices; /* that followed more joints than allowed, and were refitted */
    uint32_t frames;   /* poses of the clips that they were refitted to; 0: there are none, and it was the rest pose */
    double worst, rms; /* how far that moves them in these; over these vertices */
} pelt_fewer;

/* Replaces model->influences where a vertex has more than `most`: by the best `most` of its own joints in poses of all
   clips of the bundle; weights become negative only where some were. The arena owns the result. */
pelt_result pelt_fewer_influences(pelt_arena *arena, const pelt_skin *skin, const pelt_bundle *bundle, uint32_t most,
                                  uint32_t threads, pelt_model *model, pelt_fewer *out, pelt_error *error);

#endif
