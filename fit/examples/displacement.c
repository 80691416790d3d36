/* displacement.c: from examples to displacements in the rest pose.

       u = A^-1 e,    e = v - S v0,    S = (A | t) = sum_j w_j T_j

   A blend of opposite rotations flattens the vertex: A is then (nearly) singular and u would be arbitrary. Its inverse
   is damped there,

       u = (A^T A + m I)^-1 A^T e,    m = DAMPING |A|^2 / 3 (1 - f / FLAT)^2   where f < FLAT,

   with the flatness f = |det A| / (|A| / sqrt 3)^3, which is 1 for a rotation and 0 for a singular matrix: |u| stays
   within about 16 |e|, and the transition from undamped to damped is smooth. */

#include "fit/examples/displacement.h"
#include "rig/maths.h"
#include "rig/ranks.h"
#include "rig/regions.h"
#include <math.h>
#include <string.h>

static const double DAMPING = 1e-3, FLAT = 0.1;

/* -- The damped inverse -------------------------------------------------------------------------------------------- */

static void solve3(const double m[9], const double b[3], double x[3]) {
    double c[9], determinant = pelt_cofactors(m, c);
    x[0] = x[1] = x[2] = 0;
    if (determinant != 0) pelt_cramer(c, determinant, b, x);
}

double pelt_damped_solve(const pelt_affine *blend, const double e[3], double u[3]) {
    double a[9], c[9], square = 0;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) a[3 * r + k] = blend->m[4 * r + k], square += a[3 * r + k] * a[3 * r + k];
    double size = square / 3, flatness = size > 0 ? fabs(pelt_cofactors(a, c)) / (size * sqrt(size)) : 0;
    if (flatness >= FLAT) {
        solve3(a, e, u);
        return flatness;
    }
    double normal[9], right[3], damping = DAMPING * size * (1 - flatness / FLAT) * (1 - flatness / FLAT);
    for (int i = 0; i < 3; i++) {
        right[i] = a[i] * e[0] + a[3 + i] * e[1] + a[6 + i] * e[2];
        for (int k = 0; k < 3; k++)
            normal[3 * i + k] = a[i] * a[k] + a[3 + i] * a[3 + k] + a[6 + i] * a[6 + k] + (i == k ? damping : 0);
    }
    solve3(normal, right, u);
    return flatness;
}

/* -- All examples -------------------------------------------------------------------------------------------------- */

typedef struct displacing {
    pelt_fitting *fitting;
    pelt_example_displacements *out;
    struct example_state {
        uint64_t damped;
        double flattest;
        uint32_t flattest_vertex;
        uint32_t broken; /* 1 + a vertex whose displacement is not finite; 0: none */
    } * states;          /* [example] */
    _Atomic bool *flat;  /* [point] set by any example */
} displacing;

pelt_affine *pelt_matrices_in(const pelt_fitting *f, const pelt_example *example, pelt_arena *arena) {
    pelt_transform *locals = PELT_NEW(arena, f->bundle->skeleton.joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(arena, pelt_model_matrix_count(&f->model), pelt_affine);
    pelt_clip_pose(example->clip, &f->bundle->skeleton, example->frame, locals);
    pelt_model_matrices(&f->model, locals, matrices);
    return matrices;
}

static void displace_example(void *user, size_t e, pelt_arena *scratch) {
    displacing *d = user;
    pelt_fitting *f = d->fitting;
    pelt_example_displacements *out = d->out;
    const pelt_example *example = &f->examples.list[e];
    const float *truth = example->clip->positions + 3 * (size_t)out->vertex_count * example->frame;
    struct example_state *state = &d->states[e];
    pelt_affine *matrices = pelt_matrices_in(f, example, scratch);
    state->flattest = INFINITY;
    for (uint32_t p = 0; p < out->point_count; p++) {
        uint32_t v = out->vertex_of[p];
        const float *rest = f->model.positions + 3 * (size_t)v;
        pelt_affine blend = pelt_blend_matrix(&f->model.influences, v, matrices);
        double moved[3], u[3];
        pelt_affine_point(&blend, (double[3]){rest[0], rest[1], rest[2]}, moved);
        for (int i = 0; i < 3; i++) moved[i] = truth[3 * (size_t)v + (size_t)i] - moved[i];
        double flatness = pelt_damped_solve(&blend, moved, u);
        if (flatness < FLAT) state->damped++, d->flat[p] = true;
        if (flatness < state->flattest) state->flattest = flatness, state->flattest_vertex = v;
        float *to = out->positions + 3 * (e * out->point_count + p);
        for (int i = 0; i < 3; i++) to[i] = (float)u[i];
        if (!isfinite(to[0]) || !isfinite(to[1]) || !isfinite(to[2])) state->broken = v + 1;
    }
}

static pelt_result refuse_broken(const displacing *d, pelt_error *error) {
    for (uint32_t e = 0; e < d->out->example_count; e++)
        if (d->states[e].broken)
            return pelt_fail(error, PELT_ERROR_NUMBER,
                             "example %s: vertex %u is not a finite number: leave out that frame or make it again",
                             pelt_example_name(d->fitting, e), d->states[e].broken - 1);
    return PELT_OK;
}

static void tell_damped(const displacing *d) {
    pelt_fitting *f = d->fitting;
    pelt_fit_report *figures = &f->report;
    uint32_t worst = 0;
    figures->damped = figures->damped_points = 0;
    for (uint32_t e = 0; e < d->out->example_count; e++) {
        figures->damped += d->states[e].damped;
        if (d->states[e].flattest < d->states[worst].flattest) worst = e;
    }
    for (uint32_t p = 0; p < d->out->point_count; p++) figures->damped_points += d->flat[p];
    if (!figures->damped) return;
    pelt_find(&f->report.findings, f->arena, PELT_WARNING, "flat-blend",
              "the blend flattens %u points in some examples (%llu times; most at vertex %u in %s), which limits what "
              "the corrective can do there; joints that twist half a turn against each other should not share vertices",
              figures->damped_points, (unsigned long long)figures->damped, d->states[worst].flattest_vertex,
              pelt_example_name(f, worst));
}

pelt_result pelt_displacements_of(pelt_fitting *f, pelt_example_displacements *out, pelt_error *error) {
    size_t count = f->examples.count, points = f->points.count;
    *out = (pelt_example_displacements){.example_count = (uint32_t)count,
                                        .vertex_count = f->model.vertex_count,
                                        .point_count = f->points.count,
                                        .point_of = f->points.of_vertex,
                                        .vertex_of = f->points.vertex,
                                        .noise = f->noise,
                                        .positions = PELT_NEW(f->arena, 3 * points * count, float)};
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(f->arena);
    displacing d = {.fitting = f,
                    .out = out,
                    .states = PELT_NEW(work, count, struct example_state),
                    .flat = PELT_NEW(work, points, _Atomic bool)};
    PELT_SPREAD(work, f->options.threads, count, displace_example, &d,
                {out->positions, 3 * points * sizeof *out->positions}, {d.states, sizeof *d.states},
                {d.flat, .total = points * sizeof *d.flat});
    pelt_result result = refuse_broken(&d, error);
    if (!result) tell_damped(&d);
    return result;
}

/* -- Regions ------------------------------------------------------------------------------------------------------- */

static const double MOST_SCALE = 32; /* what is so nearly rigid may stay wrong */

/* The factor of every joint's region, whose points are those that it moves most. */
static double *region_scales(const pelt_fitting *f, double balance, const pelt_example_displacements *u,
                             pelt_arena *work) {
    uint32_t joints = f->bundle->skeleton.joint_count;
    double *energies = PELT_NEW(work, joints, double), *counts = PELT_NEW(work, joints, double), all = 0;
    for (uint32_t p = 0; p < u->point_count; p++) {
        uint32_t joint = pelt_dominant_joint(&f->bundle->mesh.influences, u->vertex_of[p]);
        double energy = 0;
        for (size_t e = 0; e < u->example_count; e++) energy += pelt_square_length(pelt_displacement(u, e, p));
        all += energy / u->point_count;
        if (joint != PELT_NO_REGION) energies[joint] += energy, counts[joint]++;
    }
    for (uint32_t j = 0; j < joints; j++) {
        double own = counts[j] > 0 ? energies[j] / counts[j] : all;
        energies[j] = own > 0 ? fmin(pow(all / own, balance / 2), MOST_SCALE) : 1;
    }
    return energies;
}

void pelt_balance_regions(pelt_fitting *f, double balance, pelt_example_displacements *u) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(f->arena);
    const pelt_influences *in = &f->bundle->mesh.influences;
    const double *of_joint = region_scales(f, balance, u, work);
    float *scales = PELT_NEW(f->arena, u->point_count, float);
    for (uint32_t p = 0; p < u->point_count; p++) { /* between two regions as the weights are */
        double sum = 0, weights = 0;
        for (uint32_t i = in->first[u->vertex_of[p]]; i < in->first[u->vertex_of[p] + 1]; i++)
            sum += fabsf(in->weights[i]) * of_joint[in->joints[i]], weights += fabsf(in->weights[i]);
        scales[p] = weights > 0 ? (float)(sum / weights) : 1;
    }
    for (size_t i = 0; i < 3 * (size_t)u->example_count * u->point_count; i++)
        u->positions[i] *= scales[i / 3 % u->point_count];
    u->scales = scales;
}

/* -- Normals ------------------------------------------------------------------------------------------------------- */

typedef struct turning {
    pelt_fitting *fitting;
    const pelt_smoothing *smoothing;
    pelt_example_displacements *out;
} turning;

/* sum_j w_j T_j^-T, which moves normals at run time; returned in the 3x3 part. */
static pelt_affine normal_blend_of(const pelt_influences *in, uint32_t v, const pelt_affine *inverses) {
    pelt_affine blend = {{0}};
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) blend.m[4 * r + c] += in->weights[i] * inverses[in->joints[i]].m[4 * c + r];
    return blend;
}

static bool normalise(double n[3]) {
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int i = 0; i < 3 && length > 0; i++) n[i] /= length;
    return length > 0 && isfinite(length);
}

static void tilt_example(void *user, size_t e, pelt_arena *scratch) {
    turning *t = user;
    pelt_fitting *f = t->fitting;
    pelt_example_displacements *out = t->out;
    float *space = PELT_NEW(scratch, 3 * (size_t)out->vertex_count, float);
    pelt_affine *matrices = pelt_matrices_in(f, &f->examples.list[e], scratch);
    const float *normals = pelt_true_normals(t->smoothing, &f->examples.list[e], space);
    for (uint32_t j = 0; j < pelt_model_matrix_count(&f->model); j++) {
        pelt_affine inverse;
        pelt_affine_invert(&matrices[j], &inverse);
        matrices[j] = inverse;
    }
    for (uint32_t p = 0; p < out->point_count; p++) {
        uint32_t v = out->vertex_of[p];
        const float *n = normals + 3 * (size_t)v, *rest = f->model.normals + 3 * (size_t)v;
        float *to = out->positions + 3 * (e * out->point_count + p);
        pelt_affine blend = normal_blend_of(&f->model.influences, v, matrices);
        double wanted[3];
        pelt_damped_solve(&blend, (double[3]){n[0], n[1], n[2]}, wanted);
        if (!normalise(wanted)) continue;
        for (int i = 0; i < 3; i++) to[i] = (float)(wanted[i] - rest[i]);
    }
}

/* Vertices of a point that shade as one and have the same normal to turn are merged here too. */
static pelt_points shading_points(pelt_fitting *f, const pelt_smoothing *smoothing) {
    uint32_t n = f->bundle->mesh.vertex_count, count = 0;
    uint32_t *of_vertex = PELT_NEW(f->arena, n, uint32_t), *vertex = PELT_NEW(f->arena, n, uint32_t);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(f->arena);
    uint32_t *newest = PELT_NEW(work, n, uint32_t); /* chains of the first vertices of a point's parts, by index + 1 */
    uint32_t *older = PELT_NEW(work, n, uint32_t);
    const size_t size = 3 * sizeof(float);
    for (uint32_t v = 0; v < n; v++) {
        uint32_t *chain = &newest[f->points.of_vertex[v]], found = *chain;
        for (; found; found = older[found - 1]) {
            size_t a = 3 * (size_t)v, b = 3 * (size_t)(found - 1);
            if (pelt_shading_leader(smoothing, v) == pelt_shading_leader(smoothing, found - 1) &&
                !memcmp(f->model.normals + a, f->model.normals + b, size))
                break;
        }
        if (!found) older[v] = *chain, *chain = v + 1, vertex[count] = v;
        of_vertex[v] = found ? of_vertex[found - 1] : count++;
    }
    return (pelt_points){count, of_vertex, vertex};
}

pelt_example_displacements pelt_tilts_of(pelt_fitting *f) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(f->arena);
    const pelt_smoothing *smoothing = pelt_smoothing_of(work, &f->bundle->mesh, f->examples);
    pelt_points points = shading_points(f, smoothing);
    pelt_example_displacements out = {.example_count = (uint32_t)f->examples.count,
                                      .vertex_count = f->bundle->mesh.vertex_count,
                                      .point_count = points.count,
                                      .point_of = points.of_vertex,
                                      .vertex_of = points.vertex,
                                      .positions = PELT_NEW(f->arena, 3 * points.count * f->examples.count, float)};
    turning t = {.fitting = f, .smoothing = smoothing, .out = &out};
    PELT_SPREAD(work, f->options.threads, f->examples.count, tilt_example, &t,
                {out.positions, 3 * (size_t)points.count * sizeof *out.positions});
    return out;
}
