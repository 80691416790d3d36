/* displacement.c: from examples to displacements of the rest pose.

       u = A^-1 e,    e = v - S v0,    S = (A | t) = sum_j w_j T_j

   A blend of opposite rotations flattens the vertex: A is then (nearly) singular and u would be anything. Its inverse
   is damped there,

       u = (A^T A + m I)^-1 A^T e,    m = DAMPING |A|^2 / 3 (1 - f / FLAT)^2   where f < FLAT,

   with the flatness f = |det A| / (|A| / sqrt 3)^3, which is 1 for a rotation and 0 for a flat matrix: u stays within
   about 16 times e, and the way from undamped to damped is smooth. */

#include "fit/examples/displacement.h"
#include <math.h>

static const double DAMPING = 1e-3, FLAT = 0.1;

/* -- The damped inverse -------------------------------------------------------------------------------------------- */

static pelt_affine blend_of(const pelt_influences *in, uint32_t v, const pelt_affine *matrices) {
    pelt_affine blend = {{0}};
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
        for (int k = 0; k < 12; k++) blend.m[k] += in->weights[i] * matrices[in->joints[i]].m[k];
    return blend;
}

/* Cofactors of a 3x3 matrix; returns the determinant. */
static double cofactors(const double m[9], double c[9]) {
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) {
            int r1 = (r + 1) % 3, r2 = (r + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            c[3 * r + k] = m[3 * r1 + k1] * m[3 * r2 + k2] - m[3 * r1 + k2] * m[3 * r2 + k1];
        }
    return m[0] * c[0] + m[1] * c[1] + m[2] * c[2];
}

static void solve3(const double m[9], const double b[3], double x[3]) {
    double c[9], determinant = cofactors(m, c);
    for (int k = 0; k < 3; k++)
        x[k] = determinant != 0 ? (c[k] * b[0] + c[3 + k] * b[1] + c[6 + k] * b[2]) / determinant : 0;
}

/* Solves A u = e, damped where A is flat; returns the flatness. */
static double damped_solve(const pelt_affine *blend, const double e[3], double u[3]) {
    double a[9], c[9], square = 0;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) a[3 * r + k] = blend->m[4 * r + k], square += a[3 * r + k] * a[3 * r + k];
    double size = square / 3, flatness = size > 0 ? fabs(cofactors(a, c)) / (size * sqrt(size)) : 0;
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
        uint32_t broken; /* 1 + a vertex whose displacement is not a finite number; 0: there is none */
    } * states;          /* [example] */
    _Atomic bool *flat;  /* [point] set by any example */
} displacing;

static pelt_affine *example_matrices(const pelt_fitting *f, const pelt_example *example, pelt_arena *arena) {
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
    pelt_affine *matrices = example_matrices(f, example, scratch);
    state->flattest = INFINITY;
    for (uint32_t p = 0; p < out->point_count; p++) {
        uint32_t v = out->vertex_of[p];
        const float *rest = f->model.positions + 3 * (size_t)v;
        pelt_affine blend = blend_of(&f->model.influences, v, matrices);
        double moved[3], u[3];
        pelt_affine_point(&blend, (double[3]){rest[0], rest[1], rest[2]}, moved);
        for (int i = 0; i < 3; i++) moved[i] = truth[3 * (size_t)v + (size_t)i] - moved[i];
        double flatness = damped_solve(&blend, moved, u);
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
    pelt_find(
        &f->report.findings, f->arena, PELT_WARNING, "flat-blend",
        "the blend flattens %u points in some examples (%llu times; most at vertex %u in %s): what the corrective can "
        "do there is limited; joints that turn against each other by half a turn should share no vertex",
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
                                        .positions = PELT_NEW(f->arena, 3 * points * count, float)};
    pelt_arena *work = pelt_arena_inside(f->arena);
    displacing d = {.fitting = f,
                    .out = out,
                    .states = PELT_NEW(work, count, struct example_state),
                    .flat = PELT_NEW(work, points, _Atomic bool)};
    pelt_parallel(work, f->options.threads, count, displace_example, &d);
    pelt_result result = refuse_broken(&d, error);
    if (!result) tell_damped(&d);
    pelt_arena_free(work);
    return result;
}

/* -- Normals ------------------------------------------------------------------------------------------------------- */

typedef struct turning {
    pelt_fitting *fitting;
    const float *surface; /* [vertex][3] normals of the rest surface, not those of the file */
    float *out;           /* [example][vertex][3] */
} turning;

/* sum_j w_j T_j^-T, which is what moves normals at run time; returned in the 3x3 part. */
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

/* Turns n by the smallest rotation that takes unit vector a to unit vector b:
   n + (a x b) x n + (a x b) x ((a x b) x n) / (1 + a.b). */
static void turn_with(const double a[3], const double b[3], const double n[3], double out[3]) {
    double x[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2], k = 1 / fmax(1 + cosine, 1e-3);
    double y[3] = {x[1] * n[2] - x[2] * n[1], x[2] * n[0] - x[0] * n[2], x[0] * n[1] - x[1] * n[0]};
    double z[3] = {x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]};
    for (int i = 0; i < 3; i++) out[i] = n[i] + y[i] + k * z[i];
}

static void turn_example(void *user, size_t e, pelt_arena *scratch) {
    turning *t = user;
    pelt_fitting *f = t->fitting;
    const pelt_mesh *mesh = &f->bundle->mesh;
    uint32_t n = mesh->vertex_count, joints = pelt_model_matrix_count(&f->model);
    const float *truth = f->examples.list[e].clip->positions + 3 * (size_t)n * f->examples.list[e].frame;
    float *normals = PELT_NEW(scratch, 3 * (size_t)n, float);
    pelt_affine *matrices = example_matrices(f, &f->examples.list[e], scratch);
    pelt_mesh_normals(truth, n, mesh->triangles, mesh->triangle_count, normals);
    for (uint32_t j = 0; j < joints; j++) {
        pelt_affine inverse;
        pelt_affine_invert(&matrices[j], &inverse);
        matrices[j] = inverse;
    }
    for (uint32_t v = 0; v < n; v++) {
        const float *g = normals + 3 * (size_t)v, *s = t->surface + 3 * (size_t)v,
                    *own = f->model.normals + 3 * (size_t)v;
        double rest[3] = {s[0], s[1], s[2]}, wanted[3], turned[3], file[3] = {own[0], own[1], own[2]};
        pelt_affine blend = normal_blend_of(&f->model.influences, v, matrices);
        damped_solve(&blend, (double[3]){g[0], g[1], g[2]}, wanted);
        float *to = t->out + 3 * (e * n + v);
        if (!normalise(wanted) || !normalise(rest)) continue;
        turn_with(rest, wanted, file, turned);
        for (int i = 0; i < 3; i++) to[i] = (float)(turned[i] - file[i]);
    }
}

float *pelt_normal_displacements_of(pelt_fitting *f) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    size_t n = mesh->vertex_count;
    pelt_arena *work = pelt_arena_inside(f->arena);
    float *surface = PELT_NEW(work, 3 * n, float), *out = PELT_NEW(f->arena, 3 * n * f->examples.count, float);
    pelt_mesh_normals(mesh->positions, (uint32_t)n, mesh->triangles, mesh->triangle_count, surface);
    turning t = {.fitting = f, .surface = surface, .out = out};
    pelt_parallel(work, f->options.threads, f->examples.count, turn_example, &t);
    pelt_arena_free(work);
    return out;
}

pelt_example_displacements pelt_turns_of(pelt_fitting *f) {
    uint32_t n = f->bundle->mesh.vertex_count, *same = PELT_NEW(f->arena, n, uint32_t);
    for (uint32_t v = 0; v < n; v++) same[v] = v;
    return (pelt_example_displacements){.example_count = (uint32_t)f->examples.count,
                                        .vertex_count = n,
                                        .point_count = n,
                                        .point_of = same,
                                        .vertex_of = same,
                                        .positions = pelt_normal_displacements_of(f)};
}
