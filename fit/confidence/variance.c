/* variance.c: how far a pose is from the examples of a region: the posterior variance of a Gaussian process on features
   h = max(0, x W) of the rotations x near it, with random directions W (which approximates the arc-cosine kernel):

       v = h^T A h,   A = l (H^T H + l I)^-1,   l = NOISE mean |h|^2 over the examples H

   A has an eigenvalue near 1 for directions that no example shows and near 0 for those that many do. The largest
   PELT_DOUBT_RANK are kept, and the mean of the others stands for them: A = rest I + F F^T. */

#include "fit/confidence/confidence.h"
#include "fit/corrective/features.h"
#include "fit/examples/controls.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include "runtime/half.h"
#include <math.h>

enum { N = PELT_DOUBT_FEATURES };

static const double NOISE = 0.01;

/* -- Numbers of a pose --------------------------------------------------------------------------------------------- */

/* Twice the vector part of the rotation relative to rest, w >= 0. */
static void joint_numbers(const pelt_transform *rest, const pelt_transform *local, double out[3]) {
    double inverse[4], b[4], q[4];
    for (int i = 0; i < 4; i++) inverse[i] = i < 3 ? -rest->rotation[i] : rest->rotation[i], b[i] = local->rotation[i];
    pelt_quaternion_multiply(inverse, b, q);
    double length = pelt_quaternion_length(q), scale = length > 1e-15 ? copysign(2 / length, q[3]) : 0;
    for (int i = 0; i < 3; i++) out[i] = scale * q[i];
}

double *pelt_doubt_numbers(const pelt_fitting *f, pelt_arena *arena, const pelt_doubt_model *model,
                           pelt_examples examples) {
    const pelt_skeleton *skeleton = &f->bundle->skeleton;
    double *numbers = PELT_NEW(arena, examples.count * 3 * model->input_count, double), *out = numbers;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    pelt_transform *locals = PELT_NEW(work, skeleton->joint_count, pelt_transform);
    float *row = PELT_NEW(work, f->bundle->controls.count, float);
    float *controls = PELT_NEW(work, f->model.control_count, float);
    for (size_t e = 0; e < examples.count; e++) {
        pelt_clip_pose(examples.list[e].clip, skeleton, examples.list[e].frame, locals);
        pelt_control_values(f->bundle, f->model.controls, f->model.control_count, &examples.list[e], row, controls);
        for (uint32_t i = 0; i < model->input_count; i++, out += 3) {
            uint32_t source = model->inputs[i].source;
            if (source < skeleton->joint_count)
                joint_numbers(&skeleton->rest[source], &locals[source], out);
            else
                out[0] = (double)model->inputs[i].scale * controls[source - skeleton->joint_count];
        }
    }
    return numbers;
}

static void region_numbers(const pelt_doubt_region *region, const double *numbers, double *x) {
    for (uint32_t i = 0; i < region->input_count; i++)
        for (int k = 0; k < 3; k++) x[3 * i + (uint32_t)k] = numbers[3 * (size_t)region->inputs[i] + (size_t)k];
}

/* -- Features ------------------------------------------------------------------------------------------------------ */

static double as_half(double value) { return pelt_half_value(pelt_half_of((float)value)); }

/* Nearly normal: a sum of twelve uniform numbers. */
static double normal_number(uint64_t *state) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += (double)(pelt_feature_random(state) >> 11) * 0x1p-53;
    return sum;
}

/* Random directions of unit length. */
void pelt_doubt_directions(pelt_arena *arena, pelt_doubt_model *model) {
    for (uint32_t r = 0; r < model->region_count; r++) {
        pelt_doubt_region *region = &model->regions[r];
        size_t size = 3 * (size_t)region->input_count;
        uint64_t state = r + 1;
        region->matrix = PELT_NEW(arena, size * N, double);
        for (size_t k = 0; k < N; k++) {
            double square = 0;
            for (size_t i = 0; i < size; i++) {
                double x = normal_number(&state);
                region->matrix[i * N + k] = x, square += x * x;
            }
            for (size_t i = 0; i < size; i++)
                region->matrix[i * N + k] = as_half(region->matrix[i * N + k] / sqrt(fmax(square, 1e-30)));
        }
    }
}

/* -- Variances ----------------------------------------------------------------------------------------------------- */

/* From gram = H^T H of `count` examples, which is destroyed. */
static void fold_region(pelt_doubt_region *region, double *gram, size_t count) {
    double values[N], trace = 0, energy = 0, left = 0;
    region->rest = 1;
    if (!count) return;
    for (size_t k = 0; k < N; k++) trace += gram[k * N + k];
    double noise = fmax(NOISE * trace / (double)count, 1e-9);
    if (!pelt_eigen(N, gram, values)) return;
    /* Ascending: the first directions are those that the fewest examples show. */
    for (size_t k = 0; k < N; k++) values[k] = fmax(values[k], 0);
    for (size_t k = PELT_DOUBT_RANK; k < N; k++) energy += values[k], left += values[k] * noise / (values[k] + noise);
    region->rest = energy > 0 ? left / energy : noise / (values[N - 1] + noise);
    for (size_t r = 0; r < PELT_DOUBT_RANK; r++) {
        double more = sqrt(fmax(noise / (values[r] + noise) - region->rest, 0));
        for (size_t k = 0; k < N; k++) region->fold[k * PELT_DOUBT_RANK + r] = as_half(more * gram[k * N + r]);
    }
}

void pelt_doubt_fold(pelt_arena *arena, pelt_doubt_model *model, const double *numbers, size_t count) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *x = PELT_NEW(work, 3 * (size_t)PELT_DOUBT_INPUTS, double);
    double *features = PELT_NEW(work, count * N, double), *gram = PELT_NEW(work, (size_t)N * N, double);
    for (uint32_t r = 0; r < model->region_count; r++) {
        pelt_doubt_region *region = &model->regions[r];
        region->fold = PELT_NEW(arena, (size_t)N * PELT_DOUBT_RANK, double);
        for (size_t e = 0; e < count; e++) {
            region_numbers(region, numbers + e * 3 * model->input_count, x);
            pelt_doubt_features(region, x, features + e * N);
        }
        pelt_gemm(true, false, N, N, count, 1, features, features, 0, gram);
        fold_region(region, gram, count);
    }
}

double *pelt_doubt_variances(pelt_arena *arena, const pelt_doubt_model *model, const double *numbers, size_t count) {
    double *variances = PELT_NEW(arena, count * model->region_count, double);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *x = PELT_NEW(work, 3 * (size_t)PELT_DOUBT_INPUTS, double);
    for (size_t e = 0; e < count; e++)
        for (uint32_t r = 0; r < model->region_count; r++) {
            region_numbers(&model->regions[r], numbers + e * 3 * model->input_count, x);
            variances[e * model->region_count + r] = pelt_doubt_variance(&model->regions[r], x);
        }
    return variances;
}
