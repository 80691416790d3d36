/* pack.h: storing a corrective in a skin file. */

#ifndef PELT_PACK_H
#define PELT_PACK_H

#include "model/model.h"
#include "runtime/skin.h"

/* Everything here runs in a stage. */

/* Slots for the vertices of a model: blocks share joints, and displacements too if the corrective has some.
   order[vertex_count] gets the vertices in slot order. */
void pelt_model_order(pelt_arena *arena, const pelt_model *model, uint32_t *order);

/* Sets the skin's arrays for its corrective; sizes are indexed like format.h's list of sections. `order` has 16 x
   block_count vertices. */
pelt_result pelt_pack_corrective(pelt_arena *arena, const pelt_model *model, const uint32_t *order, pelt_skin *skin,
                                 uint64_t *sizes, pelt_error *error);

/* The section RING (pack_rings.c); and the vertices of each block by the length of their walks, the longest first. */
void pelt_sort_walks(const pelt_model *model, uint32_t *order);
void pelt_pack_rings(pelt_arena *arena, const pelt_model *model, const uint32_t *order, pelt_skin *skin,
                     uint64_t *sizes);

/* -- Twins (twins.c): vertices with one rest position and one normal ------------------------------------------------ */

/* Moves twins into the same block, if another vertex with the same joints can take their place. */
void pelt_gather_twins(pelt_arena *arena, const pelt_model *model, uint32_t *order);

/* Blocks that share twins, directly or through others, are linked: [block] the first block it is linked with. */
uint32_t *pelt_link_blocks(pelt_arena *arena, const pelt_model *model, const uint32_t *order, uint32_t block_count);

/* -- Rows (pack_corrective.c) and their 16 bits (rows_16_bits.c) --------------------------------------------------- */

/* What each block uses. */
typedef struct pelt_row_lists {
    uint32_t *first;   /* [block + 1] */
    uint16_t *sources; /* [row], ascending within a block */
    uint32_t count;
} pelt_row_lists;

/* The displacements, without those below half a step of their coefficient in 16 bits. */
pelt_displacements pelt_visible_displacements(pelt_arena *arena, const pelt_displacements *displacements,
                                              uint32_t vertex_count, uint32_t coefficient_count);

/* Coefficients in pairs: rows of partners are interleaved, so both should be used by the same blocks. */
typedef struct pelt_partners {
    uint32_t count;       /* of factors; even */
    uint32_t *factor_of;  /* [coefficient] */
    pelt_factor *factors; /* [count] without steps; the partner of a single coefficient is a filler */
} pelt_partners;

pelt_partners pelt_choose_partners(pelt_arena *arena, const pelt_row_lists *used, uint32_t block_count,
                                   uint32_t coefficient_count);

/* The same displacements, indexed by factors instead of coefficients. */
pelt_displacements pelt_displacements_of_factors(pelt_arena *arena, const pelt_displacements *displacements,
                                                 uint32_t vertex_count, const pelt_partners *partners);

/* Rows [row][3][16] of factors in 16 bits, interleaved in pairs; sets the steps of the factors. */
int16_t *pelt_factor_shorts(pelt_arena *arena, const float *rows, const pelt_row_lists *lists, pelt_partners *partners);

/* Likewise for rows [row][parts][16] of centres, an even number of them in each block; factors [block][2] gets a step
   for vectors and one for the norm, the same for linked blocks. */
int16_t *pelt_center_shorts(pelt_arena *arena, const float *rows, const pelt_row_lists *lists, uint32_t block_count,
                            const uint32_t *links, size_t parts, pelt_factor *factors);

/* Likewise for the normalised form, where terms cancel (center_rows.c): rounded together, with some centres listed
   twice. `used` lists what the blocks use. */
struct pelt_center_rows {
    pelt_row_lists lists;
    int16_t *shorts, *tilts; /* [row][4][16]; [row][3][16] or NULL */
    pelt_factor *factors, *tilt_factors;
};

pelt_center_rows pelt_round_centers(pelt_arena *arena, uint32_t threads, const pelt_model *model, const uint32_t *order,
                                    uint32_t block_count, const uint32_t *links, const pelt_row_lists *used);

/* The same for a whole model, stored in its corrective for packing to reuse. */
const pelt_center_rows *pelt_model_center_rows(pelt_arena *arena, uint32_t threads, const pelt_model *model);

/* -- Levels of detail (pack_levels.c) ------------------------------------------------------------------------------- */

/* What the levels of a skin are. */
typedef struct pelt_level_plan {
    uint32_t level_count, displaced_count; /* as in the section LEVL; 0 and 0 without a corrective */
    const uint8_t *last;                   /* [coefficient] of the basis form */
    uint32_t influences[PELT_MOST_LEVELS]; /* most joints of a vertex; 0: as many as the skin has */
    float rms[PELT_MOST_LEVELS], p95[PELT_MOST_LEVELS];
} pelt_level_plan;

/* A copy of a skin file with these levels instead of its own. Its rows are in another order: those that the last level
   has come first. */
pelt_bytes *pelt_pack_levels(const void *bytes, const pelt_skin *skin, const pelt_level_plan *plan, pelt_error *error);

#endif
