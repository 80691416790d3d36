/* builder.h: builds a section of a skin file, array by array. */

#ifndef PELT_PACK_BUILDER_H
#define PELT_PACK_BUILDER_H

#include "pack/pack.h"
#include <string.h>

/* A growing section. Arrays are identified by offset, since the memory moves. */
typedef struct builder {
    pelt_arena *arena;
    char *bytes;
    size_t size, capacity;
} builder;

/* Reserves an array; returns its offset. */
static inline uint64_t append(builder *b, size_t count, size_t each) {
    size_t at = b->size, more = (size_t)pelt_aligned(count * each);
    if (at + more > b->capacity) {
        char *bytes = PELT_NEW(b->arena, 2 * (at + more), char);
        if (at) memcpy(bytes, b->bytes, at);
        b->bytes = bytes, b->capacity = 2 * (at + more);
    }
    b->size += more;
    return at;
}

static inline uint64_t append_copy(builder *b, const void *data, size_t count, size_t each) {
    uint64_t at = append(b, count, each);
    if (count) memcpy(b->bytes + at, data, count * each);
    return at;
}

/* Transposes centres [center][axis][4] to [axis][4][center], padded. */
static inline uint64_t append_centers(builder *b, const float *centers, size_t center_count, size_t axis_count) {
    size_t stride = (size_t)pelt_padded(center_count);
    uint64_t at = append(b, 4 * axis_count * stride, sizeof(float));
    float *out = (float *)(b->bytes + at);
    for (size_t c = 0; c < center_count; c++)
        for (size_t i = 0; i < 4 * axis_count; i++) out[i * stride + c] = centers[c * 4 * axis_count + i];
    return at;
}
/* Transposes [center][column] to [column][center], padded; `extra` [center] is one more column, or NULL. */
static inline uint64_t append_matrix(builder *b, const float *matrix, size_t center_count, size_t columns,
                                     const float *extra) {
    size_t stride = (size_t)pelt_padded(center_count);
    uint64_t at = append(b, (columns + (extra != NULL)) * stride, sizeof(float));
    float *out = (float *)(b->bytes + at);
    for (size_t c = 0; c < center_count; c++) {
        for (size_t k = 0; k < columns; k++) out[k * stride + c] = matrix[c * columns + k];
        if (extra) out[columns * stride + c] = extra[c];
    }
    return at;
}

/* -- Parts of a corrective ------------------------------------------------------------------------------------------- */

/* Appends a kernel to the section DRIV (pack_kernel.c); returns its offset. *coefficient is the first of its
   coefficients, and advances past the last. */
uint64_t pelt_append_kernel(builder *b, const pelt_kernel *kernel, uint32_t joint_count, uint32_t *coefficient);

/* The section NEAR of a kernel of neighbourhoods. */
void pelt_pack_neighbors(pelt_arena *arena, const pelt_kernel *kernel, pelt_skin *skin, uint64_t *sizes);

/* The section FTSU (pack_features.c). Controls are numbered after the joints of the skeleton. */
void pelt_pack_features(pelt_arena *arena, const pelt_features *f, bool shorts, pelt_skin *skin, uint64_t *sizes,
                        uint32_t *coefficient);

#endif
