/* pack.h: how a corrective gets into a skin file. */

#ifndef PELT_PACK_H
#define PELT_PACK_H

#include "fit/model.h"

/* Slots for the vertices of a model: blocks share joints, and displacements too where the corrective has some.
   order[vertex_count] gets the vertices in slot order. */
pelt_result pelt_model_order(pelt_arena *arena, const pelt_model *model, uint32_t *order);

/* Fills in what the skin has for its corrective; sizes are indexed like format.h's list of sections. `order` has
   16 x block_count vertices. Memory comes from the arena. */
pelt_result pelt_pack_corrective(pelt_arena *arena, const pelt_model *model, const uint32_t *order, pelt_skin *skin,
                                 uint64_t *sizes, pelt_error *error);

#endif
