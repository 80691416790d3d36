/* rbf.c: distinct poses, what drives a vertex, and kernels over poses (rbf.h).

   The closed form of leave-one-out: with c = phi^-1 y and p = diag(phi^-1), the interpolation error at a left-out pose
   e is c_e / p_e; for normalised interpolation, the same is applied to a column of ones and the two are divided. */

#include "fit/corrective/rbf.h"
#include "fit/examples/support.h"
#include "fit/corrective/correctives.h"
#include "fit/examples/support.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include "rig/text.h"
#include <math.h>
#include <string.h>

/* Lengths, of the diagonal. */
static const double same_shape = 1e-3;  /* equal poses whose shapes differ by more contradict each other */
static const double undriven = 1e-6;    /* all sources of a point together: none drives it */
static const double undisplaced = 1e-5; /* a point that no source needs to explain */
static const double blamed = 1e-4;      /* how far each source without a sweep moves such a point, else */
static const double least_guess = 2e-4, most_guess = 1e-3; /* of such a source, where the blend follows it */
static const double guessed_share = 0.5;                   /* of what known sources do there */
static const double farther = 1.01;              /* a pose lies inside a sweep that goes beyond it by this factor */
static const double usual_norm_floor = 1.0 / 32; /* below, floats would not know the norm */
static const double gaussian_ridge = 1e-3;       /* wide Gaussians are nearly dependent */
static const double least_strength = 1e-12, least_column = 1e-8; /* of the largest, and of a row: else rounding */

/* -- Distinct poses ------------------------------------------------------------------------------------------------ */

/* Where a clip's controls are expected: body.CLIP.csv. */
static const char *table_name(pelt_arena *arena, const char *bundle, const char *clip) {
    const char *name = bundle ? pelt_base_name(bundle) : "BUNDLE";
    return pelt_arena_format(arena, "%.*s.%s.csv", pelt_stem_length(name), name, clip);
}

static double shape_gap(const pelt_example_displacements *d, size_t a, size_t b) {
    double worst = 0;
    for (size_t p = 0; p < 3 * (size_t)d->point_count; p += 3) {
        const float *x = d->positions + a * 3 * d->point_count + p, *y = d->positions + b * 3 * d->point_count + p;
        double u = (double)x[0] - y[0], v = (double)x[1] - y[1], w = (double)x[2] - y[2];
        worst = fmax(worst, u * u + v * v + w * w);
    }
    return sqrt(worst);
}

static pelt_result refuse_duplicates(pelt_fitting *f, const pelt_distinct_poses *t, pelt_error *error) {
    double most = same_shape * f->bundle->mesh.diagonal;
    for (uint32_t e = 0; e < t->poses.count; e++) {
        uint32_t first = pelt_pose_example(t, t->pose_of[e]);
        double gap = shape_gap(&t->displacements, e, first);
        if (gap <= most) continue;
        return pelt_fail(
            error, PELT_ERROR_DATA,
            "examples %s and %s have the same pose, but their shapes differ by up to %.3g, and no function of the pose "
            "can give both; remove one, or add what distinguishes them: a joint, or a named control as a column of %s",
            pelt_example_name(f, first), pelt_example_name(f, e), gap,
            table_name(f->arena, f->bundle->path, f->examples.list[e].clip->name));
    }
    return PELT_OK;
}

/* Numbers the distinct poses; the rest pose is 0. */
static void number_poses(pelt_distinct_poses *t, const uint32_t *first_of) {
    t->count = 1;
    for (uint32_t e = 0; e < t->poses.count; e++)
        t->pose_of[e] = first_of[e] == PELT_REST_EXAMPLE ? 0 : first_of[e] == e ? t->count++ : t->pose_of[first_of[e]];
}

/* Copies the poses and shapes of the distinct ones; tally [pose] counts examples. */
static void gather_poses(pelt_distinct_poses *t, const pelt_skeleton *skeleton, uint32_t *tally) {
    size_t joints = t->poses.joint_count, controls = t->poses.control_count;
    size_t size = 3 * (size_t)t->displacements.point_count;
    for (size_t p = 0; p < t->count; p++)
        for (size_t j = 0; j < joints; j++) {
            t->rotations[4 * (p * joints + j) + 3] = 1;
            memcpy(t->translations + 3 * (p * joints + j), skeleton->rest[j].translation, 3 * sizeof(float));
        }
    for (uint32_t e = 0; e < t->poses.count; e++) {
        uint32_t pose = t->pose_of[e];
        if (!tally[pose]++ && pose) {
            memcpy(t->rotations + 4 * pose * joints, t->poses.rotations + 4 * e * joints, 4 * joints * sizeof(float));
            for (size_t i = 0; i < 3 * joints; i++)
                t->translations[3 * pose * joints + i] += t->poses.translations[3 * e * joints + i];
            memcpy(t->controls + pose * controls, t->poses.controls + e * controls, controls * sizeof(float));
        }
        for (size_t i = 0; i < size; i++) t->shapes[pose * size + i] += t->displacements.positions[e * size + i];
    }
    for (uint32_t p = 0; p < t->count; p++)
        for (size_t i = 0; i < size && tally[p] > 1; i++) t->shapes[p * size + i] /= tally[p];
}

/* The position of a mover in an example: a vector that grows with its movement. */
static void mover_vector(const pelt_poses *p, uint32_t mover, uint32_t example, double out[3]) {
    const pelt_mover *d = &p->movers[mover];
    out[1] = out[2] = 0;
    if (pelt_is_control(d)) {
        out[0] = p->controls[(size_t)example * p->control_count + d->first];
        return;
    }
    const float *q = p->rotations + 4 * ((size_t)example * p->joint_count + p->members[d->first]);
    for (int i = 0; i < 3; i++) out[i] = q[i];
}

/* A pose of several movers is assumed to be between others; a pose of one mover is if another pose goes further in the
   same direction. */
static void mark_interior(pelt_distinct_poses *t) {
    const pelt_poses *p = &t->poses;
    for (uint32_t e = 0; e < p->count; e++) {
        uint32_t g = p->sweep_of[e];
        if (p->rest[e]) continue;
        if (g == PELT_NO_MOVER) {
            t->interior[t->pose_of[e]] = true;
            continue;
        }
        double q[3], r[3];
        mover_vector(p, g, e, q);
        for (uint32_t o = 0; o < p->count && !t->interior[t->pose_of[e]]; o++) {
            if (p->sweep_of[o] != g || o == e) continue;
            mover_vector(p, g, o, r);
            double dot = q[0] * r[0] + q[1] * r[1] + q[2] * r[2], own = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
            if (dot > farther * own) t->interior[t->pose_of[e]] = true;
        }
    }
}

/* Counts poses first, so that too many are rejected before any work proportional to the mesh. */
static pelt_result find_poses(pelt_fitting *f, pelt_distinct_poses *t, pelt_error *error) {
    pelt_poses_of(f->arena, f->bundle, f->examples, &f->options, &t->poses);
    uint32_t *first_of = PELT_NEW(f->arena, t->poses.count, uint32_t);
    t->pose_of = PELT_NEW(f->arena, t->poses.count, uint32_t);
    pelt_same_poses(f->arena, &t->poses, first_of);
    number_poses(t, first_of);
    if (t->count - 1 <= PELT_MOST_POSES) return PELT_OK; /* the rest pose is extra */
    return pelt_refuse_count(f, t->count, "different poses", PELT_MOST_POSES, error);
}

pelt_result pelt_distinct_poses_of(pelt_fitting *f, pelt_distinct_poses *t, pelt_error *error) {
    *t = (pelt_distinct_poses){0};
    pelt_result result = find_poses(f, t, error);
    if (!result) result = pelt_displacements_of(f, &t->displacements, error);
    if (!result) result = refuse_duplicates(f, t, error);
    if (result) return result;
    size_t n = t->count, joints = t->poses.joint_count, points = t->displacements.point_count;
    t->rotations = PELT_NEW(f->arena, 4 * joints * n, float);
    t->translations = PELT_NEW(f->arena, 3 * joints * n, float);
    t->controls = PELT_NEW(f->arena, t->poses.control_count * n, float);
    t->shapes = PELT_NEW(f->arena, 3 * points * n, double);
    t->interior = PELT_NEW(f->arena, n, bool);
    gather_poses(t, &f->bundle->skeleton, PELT_NEW(f->arena, n, uint32_t));
    mark_interior(t);
    return PELT_OK;
}

uint32_t pelt_pose_example(const pelt_distinct_poses *t, uint32_t pose) {
    for (uint32_t e = 0; e < t->poses.count; e++)
        if (t->pose_of[e] == pose) return e;
    return PELT_REST_EXAMPLE;
}

pelt_distinct_tilts pelt_distinct_tilts_of(pelt_fitting *f, const pelt_distinct_poses *t, pelt_arena *arena) {
    pelt_example_displacements tilts = pelt_tilts_of(f);
    size_t size = 3 * (size_t)tilts.point_count;
    double *out = PELT_NEW(arena, size * t->count, double);
    uint32_t *tally = PELT_NEW(arena, t->count, uint32_t);
    for (uint32_t e = 0; e < t->poses.count; e++) tally[t->pose_of[e]]++;
    for (uint32_t e = 0; e < t->poses.count; e++) {
        double *to = out + t->pose_of[e] * size;
        for (size_t i = 0; i < size; i++) to[i] += tilts.positions[e * size + i] / tally[t->pose_of[e]];
    }
    memset(out, 0, size * sizeof *out);
    return (pelt_distinct_tilts){tilts.point_count, tilts.point_of, out};
}

/* -- Sources of movement ------------------------------------------------------------------------------------------- */

static void add_source(pelt_sources *s, pelt_axis_kind kind, const uint32_t *joints, uint32_t count, float weight) {
    s->list[s->count++] = (pelt_source){s->axis_count, count};
    for (uint32_t i = 0; i < count; i++)
        s->axes[s->axis_count++] = (pelt_axis){.kind = kind, .joint = joints[i], .weight = weight};
}

static void list_sources(const pelt_poses *p, pelt_rotations rotations, pelt_sources *s) {
    static const pelt_axis_kind kinds[] = {[PELT_ROTATIONS_CHORD] = PELT_AXIS_CHORD,
                                           [PELT_ROTATIONS_VECTOR] = PELT_AXIS_VECTOR,
                                           [PELT_ROTATIONS_EULER] = PELT_AXIS_EULER};
    for (uint32_t g = 0; g < p->mover_count; g++) {
        const pelt_mover *d = &p->movers[g];
        if (pelt_is_control(d))
            add_source(s, PELT_AXIS_CONTROL, &d->first, 1,
                       p->control_list[d->first].scale * p->control_list[d->first].scale);
        else
            add_source(s, kinds[rotations], p->members + d->first, d->count, 1);
    }
    for (uint32_t j = 0; j < p->joint_count; j++) {
        if (!p->slides[j]) continue;
        double range = 0;
        for (uint32_t e = 0; e < p->count; e++) {
            const float *t = p->translations + 3 * ((size_t)e * p->joint_count + j);
            range = fmax(range, pelt_square_length(t));
        }
        add_source(s, PELT_AXIS_TRANSLATION, &j, 1, (float)(1 / range));
    }
}

static pelt_pose_state training_pose(const pelt_distinct_poses *t, size_t pose) {
    size_t joints = t->poses.joint_count;
    return (pelt_pose_state){t->rotations + 4 * pose * joints, t->translations + 3 * pose * joints,
                             t->controls + pose * t->poses.control_count};
}

static void fill_centers(const pelt_distinct_poses *t, pelt_sources *s) {
    for (size_t i = 0; i < t->count; i++) {
        pelt_pose_state pose = training_pose(t, i);
        for (uint32_t a = 0; a < s->axis_count; a++)
            pelt_axis_center(&s->axes[a], &pose, s->centers + 4 * (i * s->axis_count + a));
    }
}

/* The centres of each axis in planes: [axis][4][pose]. */
static float *centers_in_planes(pelt_arena *arena, size_t n, const pelt_sources *s) {
    float *planes = PELT_NEW(arena, 4 * n * s->axis_count, float);
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < 4 * (size_t)s->axis_count; a++)
            planes[a * n + i] = s->centers[i * 4 * s->axis_count + a];
    return planes;
}

/* Squared distances, as one source measures them, between a pose and all previous ones. */
static void source_distances(const pelt_distinct_poses *t, const pelt_sources *s, const float *planes, uint32_t source,
                             size_t pose, double *out) {
    pelt_pose_state state = training_pose(t, pose);
    uint32_t first = s->list[source].first_axis, count = s->list[source].axis_count;
    memset(out, 0, pose * sizeof *out);
    for (uint32_t a = first; a < first + count; a++)
        pelt_add_distances2(&s->axes[a], &state, pose, planes + 4 * (size_t)a * t->count, t->count, out);
}

void pelt_distances_apart(pelt_arena *arena, const pelt_distinct_poses *t, pelt_sources *s) {
    size_t n = t->count;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    float *planes = centers_in_planes(work, n, s);
    double *row = PELT_NEW(work, n, double);
    s->distances = PELT_NEW(arena, n * n * s->count, float);
    for (uint32_t k = 0; k < s->count; k++)
        for (size_t i = 0; i < n; i++) {
            source_distances(t, s, planes, k, i, row);
            for (size_t o = 0; o < i; o++)
                s->distances[(k * n + i) * n + o] = s->distances[(k * n + o) * n + i] = (float)row[o];
        }
}

double *pelt_distances_together(pelt_arena *arena, const pelt_distinct_poses *t, const pelt_sources *s,
                                const double *weights) {
    size_t n = t->count;
    double *distances = PELT_NEW(arena, n * n, double);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    float *planes = centers_in_planes(work, n, s);
    double *row = PELT_NEW(work, n, double);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < s->count; k++) {
            source_distances(t, s, planes, k, i, row);
            for (size_t o = 0; o < i; o++) distances[i * n + o] += weights[k] * row[o];
        }
        for (size_t o = 0; o < i; o++) distances[o * n + i] = distances[i * n + o];
    }
    return distances;
}

/* The vertex's blend weight on the joints that a mover carries: its members, joints driven by them, and descendants
   that do not move by themselves. */
static void owned_weights(const pelt_fitting *f, const pelt_poses *p, uint32_t v, const uint32_t *owner,
                          double *owned) {
    const pelt_influences *in = &f->model.influences;
    for (uint32_t g = 0; g < p->mover_count; g++) owned[g] = 0;
    for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
        uint32_t joint = in->joints[i], g = joint < p->joint_count ? owner[joint] : PELT_NO_MOVER;
        if (g != PELT_NO_MOVER) owned[g] += in->weights[i];
    }
}

/* For a source that no example moves alone: estimated from the blend, as a fraction of what known sources do there. */
static double guess_driving(const pelt_poses *p, uint32_t g, const double *owned, double known, double diagonal) {
    uint32_t parent = p->movers[g].parent;
    double share = fmin(owned[g] + (parent != PELT_NO_MOVER ? owned[parent] : 0), 1);
    return share * fmin(guessed_share * known + least_guess * diagonal, most_guess * diagonal);
}

static double largest_displacement(const pelt_example_displacements *d, uint32_t point) {
    double most = 0;
    for (uint32_t e = 0; e < d->example_count; e++) {
        const float *u = pelt_displacement(d, e, point);
        most = fmax(most, pelt_square_length(u));
    }
    return sqrt(most);
}

/* True if no source is known to displace a point and the blend names none. If it is displaced anyway, any source that
   no example moves alone may be the cause. */
static bool nothing_drives(const pelt_poses *p, const float *row, double diagonal) {
    double sum = 0;
    for (uint32_t g = 0; g < p->mover_count; g++) sum += row[g];
    return !(sum > undriven * diagonal);
}

static void fill_driving(const pelt_fitting *f, const pelt_distinct_poses *t, pelt_sources *s) {
    const pelt_poses *p = &t->poses;
    const pelt_example_displacements *d = &t->displacements;
    double diagonal = f->bundle->mesh.diagonal, *owned = PELT_NEW(f->arena, p->mover_count, double);
    uint32_t *owner = PELT_NEW(f->arena, p->joint_count, uint32_t);
    pelt_supports supports;
    for (uint32_t j = 0; j < p->joint_count; j++) {
        int32_t parent = f->bundle->skeleton.parents[j];
        owner[j] = p->mover_of[j] != PELT_NO_MOVER ? p->mover_of[j] : parent >= 0 ? owner[parent] : PELT_NO_MOVER;
    }
    pelt_supports_of(f->arena, &f->model, p, d, f->options.threads, &supports);
    for (uint32_t point = 0; point < d->point_count; point++) {
        float *row = s->driving + (size_t)point * s->count;
        double known = 0;
        for (uint32_t g = 0; g < p->mover_count; g++) {
            row[g] = supports.amplitudes[(size_t)g * d->point_count + point];
            if (p->movers[g].swept) known = fmax(known, row[g]);
        }
        owned_weights(f, p, d->vertex_of[point], owner, owned);
        for (uint32_t g = 0; g < p->mover_count; g++)
            if (!p->movers[g].swept && !pelt_is_control(&p->movers[g]))
                row[g] = fmaxf(row[g], (float)guess_driving(p, g, owned, known, diagonal));
        if (nothing_drives(p, row, diagonal) && largest_displacement(d, point) > undisplaced * diagonal)
            for (uint32_t g = 0; g < p->mover_count; g++) row[g] = (float)(p->movers[g].swept ? 0 : blamed * diagonal);
        for (uint32_t k = p->mover_count; k < s->count; k++) { /* translations */
            uint32_t g = owner[s->axes[s->list[k].first_axis].joint];
            row[k] = (float)(g == PELT_NO_MOVER ? most_guess * diagonal : guess_driving(p, g, owned, known, diagonal));
        }
    }
}

void pelt_sources_of(pelt_fitting *f, const pelt_distinct_poses *t, pelt_sources *s) {
    const pelt_poses *p = &t->poses;
    size_t n = t->count, most = 2 * (size_t)p->joint_count + p->control_count;
    *s = (pelt_sources){.list = PELT_NEW(f->arena, most, pelt_source), .axes = PELT_NEW(f->arena, most, pelt_axis)};
    list_sources(p, f->options.psd.rotations, s);
    s->centers = PELT_NEW(f->arena, 4 * n * s->axis_count, float);
    s->driving = PELT_NEW(f->arena, (size_t)t->displacements.point_count * s->count, float);
    fill_centers(t, s);
    fill_driving(f, t, s);
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

pelt_phi pelt_chosen_phi(const pelt_fit_options *options, pelt_phi usual) {
    static const pelt_phi functions[] = {
        [PELT_RBF_MIXED] = PELT_PHI_MIXED, [PELT_RBF_GAUSSIAN] = PELT_PHI_GAUSSIAN, [PELT_RBF_EXP] = PELT_PHI_EXP};
    return options->psd.rbf ? functions[options->psd.rbf] : usual;
}

double pelt_norm_floor_of(const pelt_psd_options *options) {
    return options->no_norm ? 0 : options->norm_floor > 0 ? options->norm_floor : usual_norm_floor;
}

double pelt_norm_scale(double norm_floor) { return norm_floor > 0 ? PELT_NORM_FLOOR / norm_floor : 1; }

double pelt_guard_norm(double norm_floor, double norm) {
    double scale = pelt_norm_scale(norm_floor);
    return norm_floor > 0 ? scale * pelt_norm_guard(scale * norm) : 1;
}

double pelt_phi_ridge(pelt_phi phi) { return phi == PELT_PHI_GAUSSIAN ? gaussian_ridge : 0; }

double pelt_leave_one_out(pelt_arena *arena, size_t n, double *phi, size_t columns, const double *values,
                          const bool *marked, double norm_floor, double *growth) {
    *growth = INFINITY;
    if (!pelt_cholesky(n, phi)) return INFINITY;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *inverse = phi, *c = PELT_NEW(work, n * columns, double), sum = 0;
    pelt_cholesky_invert(n, phi);
    pelt_gemm(false, false, n, columns, n, 1, inverse, values, 0, c);
    *growth = 0;
    for (size_t e = 0; e < n; e++) {
        double ones = 0, size = 0, own = inverse[e * n + e];
        for (size_t k = 0; k < n; k++) ones += inverse[e * n + k], size += fabs(inverse[e * n + k]);
        *growth = fmax(*growth, size);
        double guard = pelt_guard_norm(norm_floor, 1 - ones / own);
        for (size_t k = 0; k < columns && marked[e]; k++) {
            double y = values[e * columns + k], error = (y - c[e * columns + k] / own) * guard - y;
            sum += error * error;
        }
    }
    return sum;
}

/* Projects the direction of column q out of all columns and values. */
static void deflate(size_t rows, size_t columns, double *phi, size_t m, double *values, size_t q, double *unit,
                    double *along) {
    double length = 0;
    for (size_t r = 0; r < rows; r++) unit[r] = phi[r * columns + q], length += unit[r] * unit[r];
    length = sqrt(length);
    for (size_t r = 0; r < rows; r++) unit[r] = length > 0 ? unit[r] / length : 0;
    for (int which = 0; which < 2; which++) {
        double *a = which ? values : phi;
        size_t width = which ? m : columns;
        for (size_t k = 0; k < width; k++) along[k] = 0;
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < width; k++) along[k] += unit[r] * a[r * width + k];
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < width; k++) a[r * width + k] -= unit[r] * along[k];
    }
}

static bool listed(const uint32_t *list, uint32_t count, uint32_t value) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == value) return true;
    return false;
}

/* Principal components of values [rows][m], the strongest first: out [rows][returned], each times its singular value.
   Decomposes the smaller of V V^T and V^T V. */
static size_t principal_components(pelt_arena *work, size_t rows, size_t m, const double *values, double **out) {
    size_t n = rows < m ? rows : m, count = 0;
    double *gram = PELT_NEW(work, n * n, double), *strengths = PELT_NEW(work, n, double);
    double *vectors = PELT_NEW(work, n * n, double);
    *out = PELT_NEW(work, rows * n, double);
    pelt_gemm(rows >= m, rows < m, n, n, rows < m ? m : rows, 1, values, values, 0, gram);
    if (!pelt_eigen(n, gram, strengths)) return 0;
    while (count < n && strengths[n - 1 - count] > least_strength * strengths[n - 1]) count++;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < count; k++)
            vectors[i * count + k] = gram[i * n + n - 1 - k] * (rows < m ? sqrt(strengths[n - 1 - k]) : 1);
    if (rows < m)
        memcpy(*out, vectors, rows * count * sizeof **out);
    else
        pelt_gemm(false, false, rows, count, m, 1, values, vectors, 0, *out);
    return count;
}

void pelt_choose_by_components(pelt_arena *arena, size_t rows, size_t m, const double *values, uint32_t given,
                               uint32_t count, uint32_t *chosen) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *components;
    size_t rank = principal_components(work, rows, m, values, &components);
    for (uint32_t k = given; k < count; k++) {
        double best = -1;
        for (uint32_t q = 0; q < rows; q++) {
            double share = rank ? fabs(components[q * rank + (k - given) % rank]) : 0;
            if (share > best && !listed(chosen, k, q)) best = share, chosen[k] = q;
        }
    }
}

void pelt_choose_columns(pelt_arena *arena, size_t rows, size_t columns, double *phi, size_t m, double *values,
                         uint32_t given, uint32_t count, uint32_t *chosen) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *unit = PELT_NEW(work, rows, double), *along = PELT_NEW(work, columns > m ? columns : m, double);
    double *gain = PELT_NEW(work, columns * m, double), *size = PELT_NEW(work, columns, double);
    for (uint32_t k = 0; k < given; k++) deflate(rows, columns, phi, m, values, chosen[k], unit, along);
    for (uint32_t k = given; k < count; k++) {
        pelt_gemm(true, false, columns, m, rows, 1, phi, values, 0, gain);
        for (size_t q = 0; q < columns; q++) size[q] = 0;
        for (size_t r = 0; r < rows; r++)
            for (size_t q = 0; q < columns; q++) size[q] += phi[r * columns + q] * phi[r * columns + q];
        double best = -1;
        for (size_t q = 0; q < columns; q++) {
            double score = 0;
            for (size_t i = 0; i < m; i++) score += gain[q * m + i] * gain[q * m + i];
            score = size[q] > least_column * (double)rows ? score / size[q] : 0;
            if (score > best && !listed(chosen, k, (uint32_t)q)) best = score, chosen[k] = (uint32_t)q;
        }
        deflate(rows, columns, phi, m, values, chosen[k], unit, along);
    }
}
