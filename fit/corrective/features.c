/* features.c: neighbourhoods of joints, the numbers that describe their pose, and features computed from these
   (features.h). */

#include "fit/corrective/features.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

static const double BEND = 0.2;
static const double OTHERS = 0.1;  /* of the weights of other joints, for features that begin with one */
static const double OFFSETS = 0.3; /* of the weights: where features bend, to begin with */

/* -- Random numbers ------------------------------------------------------------------------------------------------ */

uint64_t pelt_feature_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Between 0 and 1. */
static double uniform(uint64_t *state) { return ((double)(pelt_feature_random(state) >> 11) + 0.5) * 0x1p-53; }

/* Box and Muller. */
static double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(2 * 3.14159265358979323846 * uniform(state));
}

/* -- Neighbourhoods ------------------------------------------------------------------------------------------------ */

/* Writes the numbers of a joint (6) or a control (1); returns how many. */
static uint32_t numbers_of(const pelt_poses *poses, const pelt_kernel_inputs *inputs, uint32_t example, uint32_t g,
                           double out[9]) {
    uint32_t joint = inputs->joints[g];
    if (pelt_kernel_control(inputs, g)) {
        out[0] =
            poses->controls[(size_t)example * poses->control_count + joint] * (double)poses->control_list[joint].scale;
        return 1;
    }
    const float *q = poses->rotations + 4 * ((size_t)example * poses->joint_count + joint);
    pelt_rotation_numbers(q, out);
    return 6;
}

static void list_near(pelt_arena *arena, const pelt_kernel_inputs *inputs, uint32_t g, pelt_neighbourhood *out) {
    out->inputs = PELT_NEW(arena, inputs->count, uint32_t);
    for (uint32_t k = 0; k < inputs->count; k++) {
        if (k != g && inputs->parents[g] != (int32_t)k && inputs->parents[k] != (int32_t)g) continue;
        out->inputs[out->input_count++] = k;
        out->size += pelt_kernel_control(inputs, k) ? 1 : 6;
    }
}

static void fill_numbers(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                         pelt_neighbourhood *out) {
    out->x = PELT_NEW(arena, (size_t)poses->count * out->size, double);
    for (uint32_t e = 0; e < poses->count; e++) {
        double *x = out->x + (size_t)e * out->size, numbers[9];
        for (uint32_t i = 0; i < out->input_count; i++) {
            bool still = !inputs->moved[(size_t)e * inputs->count + out->inputs[i]];
            uint32_t count = numbers_of(poses, inputs, e, out->inputs[i], numbers);
            for (uint32_t k = 0; k < count; k++) x[k] = still ? 0 : numbers[k];
            x += count;
        }
    }
}

/* A third of the features start out depending on the joint alone. */
static void draw_weights(pelt_arena *arena, const pelt_kernel_inputs *inputs, uint32_t g, uint32_t width,
                         uint64_t *state, pelt_neighbourhood *out) {
    double scale = 1 / sqrt(width), *w = out->weights = PELT_NEW(arena, (size_t)out->size * width, double);
    out->offsets = PELT_NEW(arena, width, double);
    for (uint32_t i = 0; i < out->input_count; i++) {
        uint32_t count = pelt_kernel_control(inputs, out->inputs[i]) ? 1 : 6;
        for (uint32_t k = 0; k < count * width; k++, w++)
            *w = normal(state) * scale * (out->inputs[i] != g && k % width < width / 3 ? OTHERS : 1);
    }
    for (uint32_t k = 0; k < width; k++) out->offsets[k] = normal(state) * OFFSETS * scale;
}

pelt_feature_net pelt_features_of(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                                  uint32_t width, uint64_t seed) {
    pelt_feature_net net = {.count = inputs->count,
                            .width = width,
                            .example_count = poses->count,
                            .list = PELT_NEW(arena, inputs->count, pelt_neighbourhood),
                            .moved = PELT_NEW(arena, (size_t)poses->count * inputs->count, uint8_t),
                            .log_lambda = log(1e-3),
                            .seed = seed};
    for (uint32_t g = 0; g < net.count; g++) {
        pelt_neighbourhood *near = &net.list[g];
        list_near(arena, inputs, g, near);
        fill_numbers(arena, poses, inputs, near);
        draw_weights(arena, inputs, g, width, &seed, near);
        for (uint32_t e = 0; e < poses->count; e++)
            for (uint32_t i = 0; i < near->input_count; i++)
                net.moved[(size_t)e * net.count + g] |= inputs->moved[(size_t)e * inputs->count + near->inputs[i]];
    }
    return net;
}

/* -- Features ------------------------------------------------------------------------------------------------------ */

/* Every other one is smooth. */
double pelt_feature_bend2(uint32_t k) { return k % 2 ? BEND * BEND : 0; }

void pelt_feature_bent(pelt_arena *work, const pelt_feature_net *net, uint32_t g, size_t row_count,
                       const uint32_t *rows, double *x, double *z, double *h) {
    const pelt_neighbourhood *near = &net->list[g];
    uint32_t width = net->width;
    double *bends = PELT_NEW(work, width, double), *at_rest = PELT_NEW(work, width, double);
    for (uint32_t k = 0; k < width; k++) {
        double b = near->offsets[k];
        bends[k] = pelt_feature_bend2(k);
        at_rest[k] = b + sqrt(b * b + bends[k]);
    }
    for (size_t r = 0; r < row_count; r++) {
        memcpy(x + r * near->size, near->x + (size_t)rows[r] * near->size, near->size * sizeof *x);
        memcpy(z + r * width, near->offsets, width * sizeof *z);
    }
    if (row_count) pelt_gemm(false, false, row_count, width, near->size, 1, x, near->weights, 1, z);
    for (size_t r = 0; r < row_count; r++)
        for (size_t k = 0, i = r * width; k < width; k++, i++)
            h[i] = 0.5 * (z[i] + sqrt(z[i] * z[i] + bends[k]) - at_rest[k]);
}

void pelt_feature_values(pelt_arena *work, const pelt_feature_net *net, uint32_t g, size_t row_count,
                         const uint32_t *rows, double *h) {
    PELT_SCOPED pelt_arena *inside = pelt_arena_inside(work);
    double *x = PELT_NEW(inside, row_count * net->list[g].size, double);
    double *z = PELT_NEW(inside, row_count * net->width, double);
    pelt_feature_bent(inside, net, g, row_count, rows, x, z, h);
}
