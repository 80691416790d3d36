/* skin.h: the private part of a pelt_skin, the sections of its corrective, for its readers and writers. */

#ifndef PELT_SKIN_H
#define PELT_SKIN_H

#include "runtime/format.h"

/* The factor of 16-bit rows: a coefficient, and the step of their integers. */
typedef struct pelt_factor {
    uint32_t coefficient;
    float step;
} pelt_factor;

/* Vectors in rows of 16: one row for each block and source that some vertex of the block uses. A source is a
   coefficient of the corrective, or a centre of its weighted form. */
typedef struct pelt_rows {
    const uint32_t *first;      /* [block_count + 1] first row of each block */
    const uint32_t *ends;       /* [block_count] end of its rows: first + 1, except at a level that has fewer */
    const uint16_t *sources;    /* [row] */
    const float *floats;        /* [row][3][16]; with norm [row][4][16]; or in 16 bits: */
    const int16_t *shorts;      /* [row / 2][3][16][2], two rows interleaved */
    const pelt_factor *factors; /* [factor_count]; the source of a row is then one of them, of two that follow each
                                   other; the weighted form has two for each block, for vectors and for the norm */
    uint32_t factor_count;
} pelt_rows;

/* The weighted form: the axes of the pose distances of a block's vertices. */
typedef struct pelt_block_axes {
    const uint32_t *first;   /* [block_count + 1] */
    const uint16_t *sources; /* [entry] axis */
    const float *weights;    /* [entry][16] */
} pelt_block_axes;

_Static_assert(PELT_SECTION_NEAR - PELT_SECTION_CORRECTIVE + 1 == PELT_CORRECTIVE_SECTIONS,
               "pelt_skin has a pointer for each section of the corrective");

/* NULL: the skin has no corrective. */
static inline const pelt_file_corrective *pelt_skin_corrective(const pelt_skin *skin) {
    return (const pelt_file_corrective *)skin->PELT_PRIVATE(CORRECTIVE);
}

/* NULL: it has no learned features. */
static inline const pelt_file_features *pelt_skin_features(const pelt_skin *skin) {
    return (const pelt_file_features *)skin->PELT_PRIVATE(FEATURES);
}

/* NULL: its kernels are of single joints and pairs. */
static inline const pelt_file_neighbors *pelt_skin_neighbors(const pelt_skin *skin) {
    return (const pelt_file_neighbors *)skin->PELT_PRIVATE(NEAR);
}

/* Length of kernel tables: all centres with neighbours, otherwise those that are not lone. */
static inline uint64_t pelt_kernel_columns(const pelt_skin *skin, const pelt_file_kernel *kernel) {
    return pelt_padded(pelt_skin_neighbors(skin) ? kernel->center_count : pelt_shared_count(kernel));
}

static inline pelt_rows pelt_rows_of(const void *const sections[5], uint32_t factor_count) {
    const uint32_t *first = (const uint32_t *)sections[PELT_ROW_FIRST];
    pelt_rows rows = {first,
                      first ? first + 1 : NULL,
                      (const uint16_t *)sections[PELT_ROW_SOURCES],
                      (const float *)sections[PELT_ROW_FLOATS],
                      (const int16_t *)sections[PELT_ROW_SHORTS],
                      (const pelt_factor *)sections[PELT_ROW_FACTORS],
                      factor_count};
    return rows;
}

/* Displacements of the rest positions. */
static inline pelt_rows pelt_skin_rows(const pelt_skin *skin) {
    return pelt_rows_of(&skin->PELT_PRIVATE(ROW_FIRST), skin->factor_counts[0]);
}

/* Changes of the rest normals; in the weighted form without `first` and `sources`: they share those of the rows. */
static inline pelt_rows pelt_skin_tilts(const pelt_skin *skin) {
    return pelt_rows_of(&skin->PELT_PRIVATE(TILT_FIRST), skin->factor_counts[1]);
}

static inline pelt_block_axes pelt_skin_axes(const pelt_skin *skin) {
    pelt_block_axes axes = {(const uint32_t *)skin->PELT_PRIVATE(AXIS_FIRST),
                            (const uint16_t *)skin->PELT_PRIVATE(AXIS_SOURCES),
                            (const float *)skin->PELT_PRIVATE(AXIS_WEIGHTS)};
    return axes;
}

/* The joints of blocks, and their weights. */
typedef struct pelt_entries {
    const uint32_t *first;  /* [block_count + 1] */
    const uint16_t *joints; /* [entry] */
    const float *weights;   /* [entry - origin][16] */
    uint32_t origin;
} pelt_entries;

/* -- Levels of detail: inline, since other libraries use them too --------------------------------------------------- */

/* A whole level, and how far it has faded to the next. */
typedef struct pelt_detail {
    uint32_t level;
    float fade; /* at least 0, less than 1 */
} pelt_detail;

static inline const void *pelt_levels_array(const pelt_skin *skin, uint64_t offset) {
    return (const char *)skin->levels + offset;
}

/* Of a skin that has levels. */
static inline const pelt_file_level *pelt_levels_of(const pelt_skin *skin) {
    return (const pelt_file_level *)pelt_levels_array(skin, skin->levels->levels);
}

/* Of a skin's own levels the nearest; level 0 for what is not a number. */
static inline pelt_detail pelt_detail_of(const pelt_skin *skin, float level) {
    float most = skin->levels ? (float)(skin->levels->level_count - 1) : 0;
    float inside = !(level > 0) ? 0 : level < most ? level : most;
    pelt_detail detail = {(uint32_t)inside, inside - (float)(uint32_t)inside};
    return detail;
}

/* 1 if the corrective counts at this level. */
static inline int pelt_is_displaced(const pelt_skin *skin, uint32_t level) {
    return pelt_has_corrective(skin) && (!skin->levels || level < skin->levels->displaced_count);
}

/* How much of the displacements of the weighted form is left. */
static inline float pelt_weighted_share(const pelt_skin *skin, pelt_detail detail) {
    return skin->levels && detail.level + 1 == skin->levels->displaced_count ? 1 - detail.fade : 1;
}

/* The last level that has each coefficient; NULL: all levels have all of them. */
static inline const uint8_t *pelt_last_levels(const pelt_skin *skin) {
    return skin->levels && skin->levels->last ? (const uint8_t *)pelt_levels_array(skin, skin->levels->last) : NULL;
}

/* The rows and tilts, and the joints, of a level. */
static inline pelt_rows pelt_level_rows(const pelt_skin *skin, uint32_t level) {
    pelt_rows rows = pelt_skin_rows(skin);
    uint64_t ends = level ? pelt_levels_of(skin)[level].row_ends : 0;
    if (ends) rows.ends = (const uint32_t *)pelt_levels_array(skin, ends);
    return rows;
}

static inline pelt_rows pelt_level_tilts(const pelt_skin *skin, uint32_t level) {
    pelt_rows tilts = pelt_skin_tilts(skin);
    uint64_t ends = level ? pelt_levels_of(skin)[level].tilt_ends : 0;
    if (ends) tilts.ends = (const uint32_t *)pelt_levels_array(skin, ends);
    return tilts;
}

static inline pelt_entries pelt_level_entries(const pelt_skin *skin, uint32_t level) {
    pelt_entries entries = {skin->block_first, skin->entry_joints, skin->entry_weights, 0};
    while (level && !pelt_levels_of(skin)[level].block_first) level--;
    if (!level) return entries;
    const pelt_file_level *own = &pelt_levels_of(skin)[level];
    entries.first = (const uint32_t *)pelt_levels_array(skin, own->block_first);
    entries.joints = (const uint16_t *)pelt_levels_array(skin, own->entry_joints);
    entries.weights = (const float *)pelt_levels_array(skin, own->entry_weights);
    return entries;
}

/* Checks the section LEVL; the others have been checked. */
pelt_result pelt_check_levels(const pelt_skin *skin, uint64_t size);

#endif
