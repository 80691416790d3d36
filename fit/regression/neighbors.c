/* near.c: kernels of a joint together with those next to it, and their settings by cross-validation.

       k_g(a, b) = s^2 [K(N(g)) + single K(g)] / (1 + single),    N(g): joint g, the one above and those below

   What a joint does depends on how its neighbours are rotated. A kernel over the neighbourhood captures that; sums and
   products of single-joint kernels do not. K is the arc-cosine kernel (infinitely many ReLUs of x), a Gaussian or a
   Matern kernel; format.h has the formulas and defines x. The last two divide x by a width s; the factor s^2 keeps the
   meaning of a ridge independent of the settings. */

#include "fit/regression/regression.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

/* Starting points of the searches. */
static const pelt_kernel_settings STARTS[PELT_NEAR_FORM_COUNT] = {
    [PELT_NEAR_ARC] = {.width = 1, .pair = 1, .lambda = 0.001},
    [PELT_NEAR_GAUSSIAN] = {.width = 1.4, .pair = 1.5, .lambda = 0.001},
    [PELT_NEAR_MATERN] = {.width = 4, .pair = 1.5, .lambda = 0.001}};
static const double HOPELESS = 1.1; /* times the best error so far: a form that starts out worse is not searched */

/* -- Neighbourhoods ------------------------------------------------------------------------------------------------ */

static bool next_to(const pelt_kernel_inputs *inputs, uint32_t g, uint32_t k) {
    return k == g || inputs->parents[g] == (int32_t)k || inputs->parents[k] == (int32_t)g;
}

/* Pairs belong to single-joint kernels: clearing the parents disables them. */
pelt_kernel_inputs pelt_kernel_look_around(pelt_arena *arena, const pelt_poses *poses,
                                           const pelt_kernel_inputs *inputs) {
    pelt_kernel_inputs out = *inputs;
    uint32_t count = inputs->count, at = 0;
    uint32_t *first = PELT_NEW(arena, (size_t)count + 1, uint32_t),
             *list = PELT_NEW(arena, 3 * (size_t)count, uint32_t);
    out.near_first = first, out.near = list;
    out.parents = PELT_NEW(arena, count, int32_t);
    out.moved = PELT_NEW(arena, (size_t)poses->count * count, uint8_t);
    for (uint32_t g = 0; g < count; g++, first[g] = at) /* each joint has one parent: at most three times as many in
                                                           total */
        for (uint32_t k = 0; k < count; k++)
            if (next_to(inputs, g, k)) list[at++] = k;
    for (uint32_t g = 0; g < count; g++) {
        out.parents[g] = -1;
        for (uint32_t e = 0; e < poses->count; e++)
            for (uint32_t i = first[g]; i < first[g + 1]; i++)
                out.moved[(size_t)e * count + g] |= inputs->moved[(size_t)e * count + list[i]];
    }
    return out;
}

/* -- Tables -------------------------------------------------------------------------------------------------------- */

double pelt_neighbor_gain(const pelt_kernel_settings *settings) {
    return settings->width * settings->width / (1 + settings->pair);
}

double pelt_neighbor_scale(const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                           const pelt_kernel_settings *settings, uint32_t g) {
    double unit = pelt_kernel_control(inputs, g) ? poses->control_list[inputs->joints[g]].scale : 1;
    return unit * unit / (settings->width * settings->width);
}

/* x of a joint in all examples, [example][9]; the kernel is a function of its dot products. */
static void place_numbers(const pelt_poses *poses, const pelt_kernel_inputs *inputs, double scale, uint32_t g,
                          double *x) {
    uint32_t joint = inputs->joints[g];
    double root = sqrt(scale);
    for (size_t e = 0; e < poses->count; e++, x += 9) {
        if (pelt_kernel_control(inputs, g)) {
            x[0] = root * poses->controls[e * poses->control_count + joint];
            continue;
        }
        const float *q = poses->rotations + 4 * (e * poses->joint_count + joint);
        double a = q[0], b = q[1], c = q[2], w = q[3], half = root * sqrt(2);
        x[0] = -half * (b * b + c * c), x[1] = half * (a * b + w * c), x[2] = half * (a * c - w * b);
        x[3] = half * (a * b - w * c), x[4] = -half * (a * a + c * c), x[5] = half * (b * c + w * a);
        x[6] = half * (a * c + w * b), x[7] = half * (b * c - w * a), x[8] = -half * (a * a + b * b);
    }
}

/* Adds `gain` K to a table, for x [example][size]. */
static void add_kernels(pelt_arena *scratch, pelt_neighbor_form form, double gain, size_t n, size_t size,
                        const double *x, float *table) {
    double *products = PELT_NEW(scratch, n * n, double);
    pelt_gemm(false, true, n, n, size, 1, x, x, 0, products);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) {
            double xx = products[a * n + a], yy = products[b * n + b];
            if (!(xx > 0) || !(yy > 0)) continue;
            float k = (float)(gain * pelt_neighbor_value(form, xx, products[a * n + b], yy));
            table[a * n + b] += k;
            if (b < a) table[b * n + a] += k;
        }
}

void pelt_neighbor_table(pelt_arena *scratch, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                         const pelt_kernel_settings *settings, uint32_t g, float *table) {
    size_t n = poses->count, size = 9 * (size_t)(inputs->near_first[g + 1] - inputs->near_first[g]), place = 0;
    double *x = PELT_NEW(scratch, n * size, double), *own = PELT_NEW(scratch, 9 * n, double),
           gain = pelt_neighbor_gain(settings);
    memset(table, 0, n * n * sizeof *table);
    for (uint32_t i = inputs->near_first[g]; i < inputs->near_first[g + 1]; i++, place += 9) {
        uint32_t joint = inputs->near[i];
        memset(own, 0, 9 * n * sizeof *own);
        place_numbers(poses, inputs, pelt_neighbor_scale(poses, inputs, settings, joint), joint, own);
        for (size_t e = 0; e < n; e++) memcpy(x + e * size + place, own + 9 * e, 9 * sizeof *x);
        if (joint == g) add_kernels(scratch, settings->form, gain * settings->pair, n, 9, own, table);
    }
    add_kernels(scratch, settings->form, gain, n, size, x, table);
}

/* -- The choice ---------------------------------------------------------------------------------------------------- */

double pelt_neighbor_validate(pelt_arena *arena, const pelt_poses *poses, const pelt_example_displacements *u,
                              const pelt_kernel_inputs *near, uint32_t threads, pelt_kernel_settings *settings) {
    double least = INFINITY;
    for (int form = 0; form < PELT_NEAR_FORM_COUNT; form++) {
        pelt_kernel_settings trial = STARTS[form];
        trial.form = (pelt_neighbor_form)form, trial.goal = HOPELESS * least;
        double left = pelt_kernel_validate(arena, poses, u, near, threads, &trial);
        if (left < least) least = left, *settings = trial;
    }
    return least;
}
