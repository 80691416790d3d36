/* patches.c: patches of neighbouring points that one joint moves most. */

#include "fit/examples/patches.h"
#include <math.h>
#include <stdlib.h>

typedef struct place {
    uint64_t key; /* the main joint, then the place on a curve that visits neighbours one after another (Morton) */
    uint32_t point;
} place;

static int compare_places(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

enum { CURVE_BITS = 14, JOINT_SHIFT = 3 * CURVE_BITS };

static uint64_t curve_place(const float *at, const float *low, float range) {
    uint64_t key = 0;
    for (int c = 0; c < 3; c++) {
        uint64_t cell = range > 0 ? (uint64_t)((at[c] - low[c]) / range * ((1 << CURVE_BITS) - 1)) : 0;
        for (int bit = 0; bit < CURVE_BITS; bit++) key |= (cell >> bit & 1) << (3 * bit + c);
    }
    return key;
}

static uint32_t main_joint(const pelt_influences *in, uint32_t vertex) {
    uint32_t best = in->first[vertex];
    for (uint32_t k = best; k < in->first[vertex + 1]; k++)
        if (in->weights[k] > in->weights[best]) best = k;
    return best < in->first[vertex + 1] ? in->joints[best] : 0;
}

pelt_patches pelt_patches_of(pelt_arena *arena, const pelt_model *model, const pelt_example_displacements *u,
                             uint32_t least, uint32_t most) {
    uint32_t n = u->point_count, size = n / most > least ? n / most : least;
    pelt_patches out = {.points = PELT_NEW(arena, n, uint32_t),
                        .starts = PELT_NEW(arena, (size_t)n + 1, uint32_t),
                        .joints = PELT_NEW(arena, n, uint32_t)};
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    place *places = PELT_NEW(work, n, place);
    float low[3] = {INFINITY, INFINITY, INFINITY}, range = 0;
    for (uint32_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) low[c] = fminf(low[c], model->positions[3 * (size_t)u->vertex_of[i] + (size_t)c]);
    for (uint32_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            range = fmaxf(range, model->positions[3 * (size_t)u->vertex_of[i] + (size_t)c] - low[c]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = u->vertex_of[i];
        uint64_t key = curve_place(model->positions + 3 * (size_t)v, low, range);
        places[i] = (place){(uint64_t)main_joint(&model->influences, v) << JOINT_SHIFT | key, i};
    }
    qsort(places, n, sizeof *places, compare_places);
    for (uint32_t i = 0; i < n; i++) {
        out.points[i] = places[i].point;
        bool other = i == 0 || places[i].key >> JOINT_SHIFT != places[i - 1].key >> JOINT_SHIFT;
        if (!other && i - out.starts[out.count - 1] < size) continue;
        out.joints[out.count] = (uint32_t)(places[i].key >> JOINT_SHIFT);
        out.starts[out.count++] = i;
    }
    out.starts[out.count] = n;
    return out;
}
