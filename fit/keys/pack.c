/* pack.c: packs trained key points into a .keys file.

   Coordinates are scaled to a standard deviation of 1 over the training frames, in units of the diagonal: then half
   floats are precise enough in A, for large and small vectors alike. */

#include "fit/keys/model.h"
#include "pack/sections.h"
#include "runtime/half.h"
#include "runtime/keys_format.h"
#include <float.h>
#include <math.h>

static const double half_is_enough = 2e-4; /* of the diagonal, RMS: an error nobody sees */

typedef struct packing {
    const pelt_keys_model *m;
    pelt_arena *arena;
    pelt_keys keys;
} packing;

/* One unit of coordinate m, in units of the values. */
static double unit_of(const packing *p, size_t m) {
    const pelt_subspace *s = &p->m->t->s;
    double deviation = s->values[m] / sqrt(s->weight);
    return deviation > 0 ? deviation / p->keys.diagonal : 1;
}

/* A matrix of floats as [block of 16 rows][column][16]. */
static float *to_blocks(packing *p, const double *matrix, size_t rows, size_t columns, const double *row_scales) {
    size_t blocks = (rows + PELT_BLOCK - 1) / PELT_BLOCK;
    float *out = PELT_NEW(p->arena, blocks * columns * PELT_BLOCK, float);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            out[(r / PELT_BLOCK * columns + c) * PELT_BLOCK + r % PELT_BLOCK] =
                (float)(matrix[r * columns + c] * (row_scales ? row_scales[r] : 1));
    return out;
}

static double basis_entry(const packing *p, size_t row, size_t m) {
    const pelt_subspace *s = &p->m->t->s;
    return row < s->row_count ? s->vectors[row * s->rank + m] * unit_of(p, m) : 0;
}

/* The error of half floats: RMS at the worst row, as a fraction of the diagonal. */
static double half_error(const packing *p) {
    double worst = 0;
    for (size_t r = 0; r < p->keys.row_count; r++) {
        double square = 0;
        for (size_t m = 0; m < p->keys.basis_count; m++) {
            float exact = (float)basis_entry(p, r, m);
            square += pow((double)pelt_half_value(pelt_half_of(exact)) - exact, 2);
        }
        worst = fmax(worst, square);
    }
    return sqrt(worst);
}

/* The tail, the directions of the subspace that the file has no room for, and what rounding takes of the others. */
static const float *pack_left_out(packing *p) {
    const pelt_subspace *s = &p->m->t->s;
    float *out = PELT_NEW(p->arena, (size_t)p->keys.block_count * PELT_BLOCK, float);
    for (size_t r = 0; r < s->row_count; r++) {
        double sum = s->tail[r];
        for (size_t m = 0; m < s->rank; m++) {
            double value = basis_entry(p, r, m), stored = 0;
            if (m < p->keys.basis_count)
                stored = p->keys.half ? pelt_half_value(pelt_half_of((float)value)) : (float)value;
            sum += pow((value - stored) * s->values[m] / unit_of(p, m), 2) / s->weight;
        }
        out[r] = (float)fmin(sum, FLT_MAX);
    }
    return s->tail_known ? out : NULL;
}

static void *pack_basis(packing *p) {
    size_t count = (size_t)p->keys.block_count * p->keys.basis_count * PELT_BLOCK;
    void *out = pelt_alloc(p->arena, count, p->keys.half ? 2 : 4);
    for (size_t b = 0; b < p->keys.block_count; b++)
        for (size_t m = 0; m < p->keys.basis_count; m++)
            for (size_t lane = 0; lane < PELT_BLOCK; lane++) {
                float value = (float)basis_entry(p, b * PELT_BLOCK + lane, m);
                size_t at = (b * p->keys.basis_count + m) * PELT_BLOCK + lane;
                if (p->keys.half)
                    ((uint16_t *)out)[at] = pelt_half_of(value);
                else
                    ((float *)out)[at] = value;
            }
    return out;
}

static void pack_arrays(packing *p) {
    const pelt_keys_model *m = p->m;
    const pelt_subspace *s = &m->t->s;
    pelt_keys *keys = &p->keys;
    float *mean = PELT_NEW(p->arena, (size_t)keys->block_count * PELT_BLOCK, float),
          *key_mean = PELT_NEW(p->arena, keys->key_row_count, float);
    double *scales = PELT_NEW(p->arena, keys->basis_count, double);
    for (size_t r = 0; r < keys->row_count; r++) mean[r] = (float)s->mean[r];
    for (size_t i = 0; i < keys->key_row_count; i++)
        key_mean[i] = (float)s->mean[m->keys[i / s->each] * s->each + i % s->each];
    for (size_t k = 0; k < keys->basis_count; k++) scales[k] = 1 / unit_of(p, k);
    keys->key_points = m->keys;
    keys->mean = mean;
    keys->key_mean = key_mean;
    keys->basis = pack_basis(p);
    keys->left_out = pack_left_out(p);
    keys->map = to_blocks(p, m->map, keys->basis_count, keys->key_row_count, scales);
    keys->misfit = to_blocks(p, m->misfit, keys->key_row_count, keys->key_row_count, NULL);
    keys->bounds = m->bounds;
    keys->point_regions = m->point_regions;
    keys->point_region_weights = m->point_region_weights;
    keys->witness_points = m->witnesses;
    keys->witness_rule = m->witness_rule;
    keys->witness_count = m->witness_count;
    keys->control_ranges = m->control_ranges;
    keys->control_count = m->control_count;
    keys->control_names = m->control_names, keys->control_names_size = (uint32_t)m->control_names_size;
}

pelt_result pelt_keys_form(const pelt_keys_model *m, pelt_keys *keys, pelt_error *error) {
    const pelt_keys_training *t = m->t;
    packing p = {.m = m, .arena = t->arena};
    pelt_keys_header header = {.point_count = t->point_count,
                               .component_count = m->component_count,
                               .key_count = m->key_count,
                               .basis_count = m->basis,
                               .region_count = m->region_count,
                               .engine_point_count = t->candidates,
                               .flags = t->options->shared ? PELT_KEYS_SHARED : 0,
                               .diagonal = (float)t->diagonal,
                               .frame_count = m->frame_count};
    if (!pelt_keys_counts(&header, &p.keys))
        return pelt_fail(error, PELT_ERROR_DATA, "%u key points of %u values are more than a file can hold",
                         m->key_count, m->component_count);
    p.keys.half = !t->options->exact && half_error(&p) < half_is_enough;
    pack_arrays(&p);
    p.keys.about = "";
    p.keys.isa = pelt_best_isa();
    *keys = p.keys;
    return PELT_OK;
}

/* -- The file ------------------------------------------------------------------------------------------------------ */

static pelt_keys_header header_of(const pelt_keys *keys) {
    return (pelt_keys_header){.magic = PELT_KEYS_MAGIC,
                              .version = PELT_KEYS_VERSION,
                              .point_count = keys->point_count,
                              .component_count = keys->component_count,
                              .key_count = keys->key_count,
                              .basis_count = keys->basis_count,
                              .region_count = keys->region_count,
                              .engine_point_count = keys->engine_point_count,
                              .flags = (keys->shared ? PELT_KEYS_SHARED : 0) | (keys->half ? PELT_KEYS_HALF : 0),
                              .diagonal = keys->diagonal,
                              .frame_count = keys->frame_count};
}

pelt_bytes *pelt_keys_pack(const pelt_keys *keys, pelt_error *error) {
    pelt_packed_section sections[] = {
#define SECTION(name, code, field, size, always) {code, always ? PELT_SECTION_REQUIRED : 0, size, keys->field},
        PELT_KEYS_SECTIONS(SECTION)
#undef SECTION
    };
    pelt_keys_header header = header_of(keys);
    sections[PELT_KEYS_SECTION_WITNESSES].size = 4 * (uint64_t)keys->witness_count;
    sections[PELT_KEYS_SECTION_CONTROLS].size = keys->control_count * sizeof(pelt_control_range);
    sections[PELT_KEYS_SECTION_CONTROL_NAMES].size = keys->control_names_size;
    sections[PELT_KEYS_SECTION_CURVE].size = keys->curve_count * sizeof(pelt_keys_error);
    sections[PELT_KEYS_SECTION_USER].size = keys->user_size;
    sections[PELT_KEYS_SECTION_ABOUT].flags = 0, sections[PELT_KEYS_SECTION_ABOUT].size = keys->about_size + 1;
    pelt_bytes *out = pelt_pack_sections(&header, sections, PELT_KEYS_SECTION_COUNT, error);
    if (!out) return NULL;
    pelt_keys opened;
    pelt_result result = pelt_keys_open(out->bytes, out->size, &opened);
    if (!result) return out;
    pelt_fail(error, result, "the trained key points cannot be used: %s", pelt_result_text(result));
    pelt_bytes_free(out);
    return NULL;
}
