/* keypoints.c: the choice of key points.

   The paper's method (section 4), in batches: a few leading directions of the residual, rotated by varimax; from each,
   the point that moves most and the point that moves most against it; then the keys reconstruct the frames, which
   yields the next residual.

   The better method: first *A-optimal* keys. Frames are modelled as samples of the training covariance, and key values
   as observed with the noise that the subspace leaves out; greedily, the next key is the one that reduces the expected
   squared error of all points most. Then keys where errors peak: leave shots out, reconstruct them, and put keys where
   the worst frames are worst. */

#include "fit/keys/keypoints.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

static const double least_turn = 1e-7, settled_turn = 1e-4; /* radians: of a pair of columns, and of a whole sweep */
static const double well_conditioned = 1e-4; /* the smallest pivot, of the largest, for normal equations */
static const double cut = 1e-10;             /* of singular values, elsewhere */
static const double trial_ridge = 1e-5;      /* where errors only choose points; the map has one of its own */
static const double usual_spacing = 0.012;   /* of the diagonal: no two keys are closer */
static const double peak_reach = 0.032;      /* of the diagonal: peaks of errors lie this far apart */

/* -- Varimax ------------------------------------------------------------------------------------------------------- */

/* Rotates two columns by the angle that raises the criterion most; returns the angle. */
static double turn_pair(size_t rows, size_t columns, double *a, size_t p, size_t q) {
    double su = 0, sv = 0, cc = 0, dd = 0, n = (double)rows;
    for (size_t r = 0; r < rows; r++) {
        double x = a[r * columns + p], y = a[r * columns + q], u = x * x - y * y, v = 2 * x * y;
        su += u, sv += v, cc += u * u - v * v, dd += 2 * u * v;
    }
    double angle = atan2(dd - 2 * su * sv / n, cc - (su * su - sv * sv) / n) / 4, c = cos(angle), s = sin(angle);
    if (fabs(angle) < least_turn) return 0;
    for (size_t r = 0; r < rows; r++) {
        double x = a[r * columns + p], y = a[r * columns + q];
        a[r * columns + p] = c * x + s * y;
        a[r * columns + q] = -s * x + c * y;
    }
    return fabs(angle);
}

uint32_t pelt_varimax(size_t rows, size_t columns, double *a, uint32_t most_sweeps) {
    for (uint32_t sweep = 0; sweep < most_sweeps; sweep++) {
        double largest = 0;
        for (size_t p = 0; p < columns; p++)
            for (size_t q = p + 1; q < columns; q++) largest = fmax(largest, turn_pair(rows, columns, a, p, q));
        if (largest < settled_turn) return sweep + 1;
    }
    return most_sweeps;
}

/* -- The map from keys to coordinates ------------------------------------------------------------------------------ */

void pelt_key_rows(const pelt_keys_training *t, const uint32_t *keys, uint32_t key_count, double *rows) {
    size_t rank = t->s.rank, each = t->s.each;
    for (size_t k = 0; k < key_count; k++)
        memcpy(rows + k * each * rank, t->s.vectors + keys[k] * each * rank, each * rank * sizeof *rows);
}

double pelt_fold_covariance(const pelt_keys_training *t, const uint32_t *fold, uint32_t left_out, double *covariance) {
    const pelt_subspace *s = &t->s;
    size_t rank = s->rank, out = 0;
    double weight = s->weight;
    memset(covariance, 0, rank * rank * sizeof *covariance);
    for (size_t m = 0; m < rank; m++) covariance[m * rank + m] = s->values[m] * s->values[m];
    if (!fold) return weight;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    double *held = PELT_NEW(work, s->column_count * rank, double);
    for (size_t c = 0; c < s->column_count; c++) {
        if (fold[c] != left_out) continue;
        double root = sqrt(s->weights[c]);
        for (size_t m = 0; m < rank; m++) held[out * rank + m] = root * s->coordinates[c * rank + m];
        weight -= s->weights[c];
        out++;
    }
    if (out) pelt_gemm(true, false, rank, rank, out, -1, held, held, 1, covariance);
    return weight;
}

static bool is_diagonal(size_t n, const double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (i != k && a[i * n + k] != 0) return false;
    return true;
}

/* The leading directions of a covariance: [rank][basis]. For the covariance of all frames these are the axes
   themselves. */
static bool leading_directions(size_t rank, size_t basis, const double *covariance, pelt_arena *arena, double *lead) {
    if (is_diagonal(rank, covariance)) {
        for (size_t m = 0; m < basis; m++) lead[m * basis + m] = 1;
        return true;
    }
    double *turned = PELT_NEW(arena, rank * rank, double), *values = PELT_NEW(arena, rank, double);
    memcpy(turned, covariance, rank * rank * sizeof *turned);
    if (!pelt_eigen(rank, turned, values)) return false;
    for (size_t i = 0; i < rank; i++)
        for (size_t m = 0; m < basis; m++) lead[i * basis + m] = turned[i * rank + rank - 1 - m];
    return true;
}

/* The pseudo-inverse [basis][n] of system [n][basis]: by normal equations if they are well conditioned, otherwise by
   SVD. */
static bool pseudo_inverse(size_t n, size_t basis, const double *system, pelt_arena *arena, double *inverse) {
    double *gram = PELT_NEW(arena, basis * basis, double), least = INFINITY, most = 0;
    pelt_gemm(true, false, basis, basis, n, 1, system, system, 0, gram);
    bool sound = n >= basis && pelt_cholesky(basis, gram);
    for (size_t i = 0; sound && i < basis; i++)
        least = fmin(least, gram[i * basis + i]), most = fmax(most, gram[i * basis + i]);
    if (sound && least > well_conditioned * most) {
        for (size_t i = 0; i < basis; i++)
            for (size_t k = 0; k < n; k++) inverse[i * n + k] = system[k * basis + i];
        pelt_cholesky_solve(basis, gram, n, inverse);
        return true;
    }
    size_t larger = n > basis ? n : basis;
    double *copy = PELT_NEW(arena, n * basis, double), *right = PELT_NEW(arena, larger * n, double);
    memcpy(copy, system, n * basis * sizeof *copy);
    for (size_t i = 0; i < n; i++) right[i * n + i] = 1;
    if (!pelt_least_squares(n, basis, copy, n, right, cut)) return false;
    memcpy(inverse, right, basis * n * sizeof *inverse);
    return true;
}

/* Least squares on the leading directions E of the covariance: b = E pinv(U E) s. */
static pelt_result fit_least_squares(const pelt_keys_training *t, const pelt_map *map, const double *covariance,
                                     const double *rows, pelt_arena *arena, double *p, pelt_error *error) {
    size_t rank = t->s.rank, n = (size_t)map->key_count * t->s.each, basis = map->basis < rank ? map->basis : rank;
    double *lead = PELT_NEW(arena, rank * basis, double), *system = PELT_NEW(arena, n * basis, double),
           *inverse = PELT_NEW(arena, basis * n, double);
    bool solved = leading_directions(rank, basis, covariance, arena, lead);
    pelt_gemm(false, false, n, basis, rank, 1, rows, lead, 0, system);
    if (!solved || !pseudo_inverse(n, basis, system, arena, inverse))
        return pelt_fail(error, PELT_ERROR_NUMBER, "the keys do not determine the subspace");
    pelt_gemm(false, false, rank, n, basis, 1, lead, inverse, 0, p);
    return PELT_OK;
}

static pelt_result fit_ridge(const pelt_keys_training *t, const pelt_map *map, const double *covariance, double weight,
                             const double *rows, pelt_arena *arena, double *p, pelt_error *error) {
    size_t rank = t->s.rank, each = t->s.each, n = (size_t)map->key_count * each;
    double *cross = PELT_NEW(arena, n * rank, double), *gram = PELT_NEW(arena, n * n, double), trace = 0;
    pelt_gemm(false, false, n, rank, rank, 1, rows, covariance, 0, cross);
    pelt_gemm(false, true, n, n, rank, 1, cross, rows, 0, gram);
    for (size_t i = 0; i < n; i++) trace += gram[i * n + i];
    for (size_t i = 0; i < n; i++) {
        size_t row = map->keys[i / each] * each + i % each;
        gram[i * n + i] += weight * t->s.tail[row] + map->ridge * trace / (double)n + 1e-14 * (trace + 1e-300);
    }
    if (!pelt_cholesky(n, gram)) return pelt_fail(error, PELT_ERROR_NUMBER, "the keys do not determine the subspace");
    pelt_cholesky_solve(n, gram, rank, cross);
    for (size_t m = 0; m < rank; m++)
        for (size_t i = 0; i < n; i++) p[m * n + i] = cross[i * rank + m];
    return PELT_OK;
}

pelt_result pelt_map_fit(const pelt_keys_training *t, const pelt_map *map, const double *covariance, double weight,
                         double *p, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    double *rows = PELT_NEW(work, (size_t)map->key_count * t->s.each * t->s.rank, double);
    pelt_key_rows(t, map->keys, map->key_count, rows);
    return map->ridge > 0 ? fit_ridge(t, map, covariance, weight, rows, work, p, error)
                          : fit_least_squares(t, map, covariance, rows, work, p, error);
}

/* -- Choosing ------------------------------------------------------------------------------------------------------ */

enum { FREE, NEXT_TO_A_KEY, TAKEN };

/* The keys so far. */
typedef struct choice {
    const pelt_keys_training *t;
    pelt_arena *arena;
    uint32_t *keys, count, wanted;
    double spacing; /* of the diagonal */
    uint8_t *taken; /* [point_count] */
} choice;

static double square_distance(const float *a, const float *b) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

/* Takes a point as a key. Those closer to it than the spacing are its neighbours: they know nearly what it knows. */
static void take(choice *c, uint32_t point) {
    if (c->count == c->wanted || c->taken[point] == TAKEN) return;
    c->taken[point] = TAKEN;
    c->keys[c->count++] = point;
    double square = pow(c->spacing * c->t->diagonal, 2);
    for (uint32_t p = 0; square > 0 && c->t->positions && p < c->t->candidates; p++)
        if (!c->taken[p] &&
            square_distance(c->t->positions + 3 * (size_t)p, c->t->positions + 3 * (size_t)point) < square)
            c->taken[p] = NEXT_TO_A_KEY;
}

/* The free candidate with the largest score, the first one in case of a tie; next to a key only if none is left
   elsewhere. */
static uint32_t best_candidate(const choice *c, const double *score) {
    uint32_t best = UINT32_MAX;
    for (uint32_t p = 0; p < c->t->candidates; p++) {
        bool better = best == UINT32_MAX || c->taken[p] < c->taken[best] ||
                      (c->taken[p] == c->taken[best] && score[p] > score[best]);
        if (c->taken[p] != TAKEN && better) best = p;
    }
    return best;
}

/* -- A-optimal ----------------------------------------------------------------------------------------------------- */

enum { MOST_EACH = 64 };

typedef struct optimal {
    choice *c;
    size_t rank, each;
    double *u;          /* [rows][rank] whitened by the noise of each point */
    double *t;          /* [rows][rank] u times the remaining covariance */
    double *a;          /* [rank][rank] the remaining covariance */
    double *z;          /* [each][rank] of the last key */
    double *gain;       /* [points] error reduction by each point */
    const double *last; /* [each][rank] rows of u of the last key, divided by its own covariance; NULL: none yet */
} optimal;

/* Solves m x = right, m [n][n] positive definite and small, in place. */
static void solve_small(size_t n, double *m, size_t columns, double *right) {
    for (size_t k = 0; k < n; k++)
        for (size_t r = 0; r < n; r++) {
            if (r == k) continue;
            double f = m[r * n + k] / m[k * n + k];
            for (size_t i = k; i < n; i++) m[r * n + i] -= f * m[k * n + i];
            for (size_t i = 0; i < columns; i++) right[r * columns + i] -= f * right[k * columns + i];
        }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < columns; i++) right[k * columns + i] /= m[k * n + k];
}

/* In eight partial sums, to break the dependency between additions. */
static double dot(const double *a, const double *b, size_t n) {
    double part[8] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) part[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum += a[i] * b[i];
    for (size_t k = 0; k < 8; k++) sum += part[k];
    return sum;
}

/* Updates t of one point after the last key, and its gain tr[(I + t u^T)^-1 t t^T]. */
static void update_point(void *user, size_t point, pelt_arena *scratch) {
    (void)scratch;
    optimal *o = user;
    size_t each = o->each, rank = o->rank;
    double *t = o->t + point * each * rank;
    const double *u = o->u + point * each * rank;
    for (size_t i = 0; o->last && i < each; i++) {
        double against[MOST_EACH];
        for (size_t k = 0; k < each; k++) against[k] = dot(t + i * rank, o->last + k * rank, rank);
        for (size_t k = 0; k < each; k++)
            for (size_t m = 0; m < rank; m++) t[i * rank + m] -= against[k] * o->z[k * rank + m];
    }
    double inside[MOST_EACH * MOST_EACH], square[MOST_EACH * MOST_EACH];
    for (size_t i = 0; i < each; i++)
        for (size_t k = 0; k < each; k++) {
            inside[i * each + k] = (i == k) + dot(t + i * rank, u + k * rank, rank);
            square[i * each + k] = dot(t + i * rank, t + k * rank, rank);
        }
    solve_small(each, inside, each, square);
    double gain = 0;
    for (size_t i = 0; i < each; i++) gain += square[i * each + i];
    o->gain[point] = gain;
}

static void prepare_optimal(optimal *o, uint32_t wanted) {
    const pelt_subspace *s = &o->c->t->s;
    size_t points = o->c->t->point_count, rank = wanted * o->each / 2 + 1;
    o->rank = rank = rank < s->rank ? rank : s->rank;
    o->u = PELT_NEW(o->c->arena, s->row_count * rank, double);
    o->t = PELT_NEW(o->c->arena, s->row_count * rank, double);
    o->a = PELT_NEW(o->c->arena, rank * rank, double);
    o->z = PELT_NEW(o->c->arena, o->each * rank, double);
    o->gain = PELT_NEW(o->c->arena, points, double);
    double *noise = PELT_NEW(o->c->arena, points, double), mean = 0;
    for (size_t r = 0; r < s->row_count; r++) {
        double tail = s->tail[r];
        for (size_t m = rank; m < s->rank; m++) tail += pow(s->vectors[r * s->rank + m] * s->values[m], 2) / s->weight;
        noise[r / o->each] += tail / (double)o->each;
        mean += tail / s->row_count;
    }
    for (size_t r = 0; r < s->row_count; r++) {
        double white = 1 / sqrt(noise[r / o->each] + 1e-3 * mean +
                                1e-9 * s->values[0] * s->values[0] / s->weight / s->row_count + 1e-300);
        for (size_t m = 0; m < rank; m++) {
            o->u[r * rank + m] = white * s->vectors[r * s->rank + m];
            o->t[r * rank + m] = o->u[r * rank + m] * s->values[m] * s->values[m] / s->weight;
        }
    }
    for (size_t m = 0; m < rank; m++) o->a[m * rank + m] = s->values[m] * s->values[m] / s->weight;
}

/* The remaining covariance after a key: a - z^T (I + u z^T)^-1 z, z = u a. */
static const double *absorb_key(optimal *o, uint32_t key, double *divided) {
    size_t each = o->each, rank = o->rank;
    const double *u = o->u + (size_t)key * each * rank;
    double inside[MOST_EACH * MOST_EACH];
    pelt_gemm(false, false, each, rank, rank, 1, u, o->a, 0, o->z);
    for (size_t i = 0; i < each; i++)
        for (size_t k = 0; k < each; k++) inside[i * each + k] = (i == k) + dot(o->z + i * rank, u + k * rank, rank);
    double *work = divided + each * rank;
    memcpy(work, o->z, each * rank * sizeof *work);
    memcpy(divided, u, each * rank * sizeof *divided);
    double copy[MOST_EACH * MOST_EACH];
    memcpy(copy, inside, sizeof(double) * each * each);
    solve_small(each, copy, rank, work);
    solve_small(each, inside, rank, divided);
    pelt_gemm(true, false, rank, rank, each, -1, o->z, work, 1, o->a);
    return divided;
}

/* A-optimal keys up to `until`; those already taken count as observed. */
static void choose_optimal(choice *c, uint32_t until) {
    optimal o = {.c = c, .each = c->t->s.each};
    prepare_optimal(&o, c->wanted);
    double *divided = PELT_NEW(c->arena, 2 * o.each * o.rank, double);
    uint32_t given = c->count;
    pelt_parallel(c->arena, 0, c->t->point_count, update_point, &o);
    for (uint32_t k = 0; k < given || c->count < until; k++) {
        if (k >= given) take(c, best_candidate(c, o.gain));
        o.last = absorb_key(&o, c->keys[k], divided);
        pelt_parallel(c->arena, 0, c->t->point_count, update_point, &o);
    }
}

/* -- Where errors peak --------------------------------------------------------------------------------------------- */

/* Coordinates of what the keys do not explain in the frames of a fold, b - P U b, [count][rank], worst first; returns
   how many are kept: a fraction of all. */
static size_t worst_of_fold(choice *c, uint32_t fold, const double *p, pelt_arena *arena, double *left) {
    const pelt_subspace *s = &c->t->s;
    size_t rank = s->rank, n = c->count * s->each, count = 0;
    double *rows = PELT_NEW(arena, n * rank, double), *keep = PELT_NEW(arena, rank * rank, double),
           *held = PELT_NEW(arena, s->column_count * rank, double);
    for (size_t k = 0; k < s->column_count; k++)
        if (c->t->fold[k] == fold) memcpy(held + rank * count++, s->coordinates + k * rank, rank * sizeof *held);
    pelt_key_rows(c->t, c->keys, c->count, rows);
    pelt_gemm(false, false, rank, rank, n, -1, p, rows, 0, keep);
    for (size_t m = 0; m < rank; m++) keep[m * rank + m] += 1;
    pelt_gemm(false, true, count, rank, rank, 1, held, keep, 0, left);
    size_t worst = count / 20 > 5 ? count / 20 : count < 5 ? count : 5;
    for (size_t w = 0; w < worst; w++) { /* the largest remaining one comes next */
        size_t best = w;
        double most = -1;
        for (size_t k = w; k < count; k++) {
            double size = dot(left + k * rank, left + k * rank, rank);
            if (size > most) most = size, best = k;
        }
        memcpy(held, left + w * rank, rank * sizeof *held);
        memcpy(left + w * rank, left + best * rank, rank * sizeof *left);
        memcpy(left + best * rank, held, rank * sizeof *left);
    }
    return worst;
}

static bool has_frames(const pelt_keys_training *t, uint32_t fold) {
    for (uint32_t c = 0; c < t->s.column_count; c++)
        if (t->fold[c] == fold) return true;
    return false;
}

/* Errors of the worst frames of a left-out fold, raised to the fourth power and summed at each point. */
static pelt_result add_fold_errors(choice *c, uint32_t fold, const double *covariance, double weight, double *score,
                                   pelt_error *error) {
    const pelt_subspace *s = &c->t->s;
    size_t rank = s->rank, each = s->each;
    pelt_map map = {c->keys, c->count, 0, trial_ridge};
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(c->arena);
    double *p = PELT_NEW(work, rank * c->count * each, double), *left = PELT_NEW(work, s->column_count * rank, double);
    if (!has_frames(c->t, fold)) return PELT_OK;
    pelt_result result = pelt_map_fit(c->t, &map, covariance, weight, p, error);
    size_t worst = result ? 0 : worst_of_fold(c, fold, p, work, left);
    double *errors = PELT_NEW(work, s->row_count * worst, double);
    if (worst) pelt_gemm(false, true, s->row_count, worst, rank, 1, s->vectors, left, 0, errors);
    for (size_t q = 0; q < c->t->point_count; q++)
        for (size_t w = 0; w < worst; w++) {
            double square = 0;
            for (size_t i = 0; i < each; i++) square += pow(errors[(q * each + i) * worst + w], 2);
            score[q] += square * square;
        }
    return result;
}

/* Adds batches of points where errors peak until there are enough, updating the errors after each batch. */
static pelt_result choose_at_peaks(choice *c, uint32_t until, uint32_t batch, pelt_error *error) {
    size_t rank = c->t->s.rank, points = c->t->point_count;
    double *covariances = PELT_NEW(c->arena, PELT_FOLDS * rank * rank, double), weights[PELT_FOLDS];
    double *score = PELT_NEW(c->arena, points, double), reach = peak_reach * c->t->diagonal;
    for (uint32_t f = 0; f < PELT_FOLDS; f++)
        weights[f] = pelt_fold_covariance(c->t, c->t->fold, f, covariances + f * rank * rank);
    while (c->count < until) {
        memset(score, 0, points * sizeof *score);
        for (uint32_t f = 0; f < PELT_FOLDS; f++) {
            pelt_result result = add_fold_errors(c, f, covariances + f * rank * rank, weights[f], score, error);
            if (result) return result;
        }
        for (uint32_t k = 0; k < batch && c->count < until; k++) {
            uint32_t best = best_candidate(c, score);
            take(c, best);
            for (size_t q = 0; q < points; q++) /* the next one must be elsewhere */
                if (c->t->positions)
                    score[q] *= 1 - exp(-square_distance(c->t->positions + 3 * q, c->t->positions + 3 * (size_t)best) /
                                        (reach * reach));
        }
        if (pelt_should_stop(&c->t->options->progress, "keys", (double)c->count / c->wanted))
            return pelt_stopped(error);
    }
    return PELT_OK;
}

pelt_result pelt_peak_points(const pelt_keys_training *t, const uint32_t *given, uint32_t given_count, uint32_t count,
                             uint32_t *points, pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    choice c = {.t = t, .arena = work, .wanted = given_count + count};
    c.keys = PELT_NEW(c.arena, c.wanted, uint32_t);
    c.taken = PELT_NEW(c.arena, t->point_count, uint8_t);
    for (uint32_t k = 0; k < given_count; k++) take(&c, given[k]);
    uint32_t first = c.count;
    pelt_result result =
        choose_at_peaks(&c, first + count, count, error); /* all at once: the map stays that of the keys */
    if (!result) memcpy(points, c.keys + first, count * sizeof *points);
    return result;
}

/* -- The paper's method
   ----------------------------------------------------------------------------------------------- */

/* What the keys do not explain: I - P U, [rank][rank]; needs at least one key. */
static pelt_result unexplained(choice *c, const double *all, double *keep, pelt_error *error) {
    const pelt_subspace *s = &c->t->s;
    size_t rank = s->rank, n = c->count * s->each;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(c->arena);
    double *p = PELT_NEW(work, rank * n, double), *rows = PELT_NEW(work, n * rank, double);
    uint32_t keys = c->t->options->residual > 0 ? c->count : c->wanted; /* final count, as far as known */
    pelt_map map = {c->keys, c->count, keys / 2 > 0 ? keys / 2 : 1, 0};
    if (map.basis > n) map.basis = (uint32_t)n;
    pelt_result result = pelt_map_fit(c->t, &map, all, s->weight, p, error);
    if (result) return result;
    pelt_key_rows(c->t, c->keys, c->count, rows);
    pelt_gemm(false, false, rank, rank, n, -1, p, rows, 0, keep);
    for (size_t m = 0; m < rank; m++) keep[m * rank + m] += 1;
    return PELT_OK;
}

/* Coordinates of the residual's covariance: (I - P U) C (I - P U)^T. */
static void residual_covariance(choice *c, const double *all, const double *keep, double *out) {
    size_t rank = c->t->s.rank;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(c->arena);
    double *half = PELT_NEW(work, rank * rank, double);
    pelt_gemm(false, false, rank, rank, rank, 1, keep, all, 0, half);
    pelt_gemm(false, true, rank, rank, rank, 1, half, keep, 0, out);
}

/* The largest residual of a point in any training frame, in units of the values. */
static double largest_residual(choice *c, const double *keep) {
    enum { AT_ONCE = 32 };
    const pelt_subspace *s = &c->t->s;
    size_t rank = s->rank, each = s->each;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(c->arena);
    double *left = PELT_NEW(work, AT_ONCE * rank, double), *values = PELT_NEW(work, s->row_count * AT_ONCE, double);
    double most = 0;
    for (size_t first = 0; first < s->column_count; first += AT_ONCE) {
        size_t now = s->column_count - first < AT_ONCE ? s->column_count - first : AT_ONCE;
        pelt_gemm(false, true, now, rank, rank, 1, s->coordinates + first * rank, keep, 0, left);
        pelt_gemm(false, true, s->row_count, now, rank, 1, s->vectors, left, 0, values);
        for (size_t p = 0; p < c->t->point_count; p++)
            for (size_t k = 0; k < now; k++) {
                double square = 0;
                for (size_t i = 0; i < each; i++) square += pow(values[(p * each + i) * now + k], 2);
                most = fmax(most, square);
            }
    }
    return sqrt(most);
}

/* Takes the point that moves most in a rotated vector, then the one that moves most against it over the frames. */
static void take_pair(choice *c, const double *vectors, size_t width, size_t column, const double *covariance,
                      double *score, double *with) {
    const pelt_subspace *s = &c->t->s;
    size_t each = s->each, rank = s->rank;
    for (size_t p = 0; p < c->t->point_count; p++) {
        score[p] = 0;
        for (size_t i = 0; i < each; i++) score[p] += pow(vectors[(p * each + i) * width + column], 2);
    }
    uint32_t first = best_candidate(c, score);
    if (first == UINT32_MAX) return;
    take(c, first);
    memset(score, 0, c->t->point_count * sizeof *score);
    for (size_t i = 0; i < each; i++) {
        pelt_gemm(false, false, rank, 1, rank, 1, covariance, s->vectors + (first * each + i) * rank, 0, with);
        for (size_t p = 0; p < c->t->point_count; p++) score[p] -= dot(s->vectors + (p * each + i) * rank, with, rank);
    }
    uint32_t second = best_candidate(c, score);
    if (second != UINT32_MAX) take(c, second);
}

static pelt_result choose_by_paper(choice *c, uint32_t until, pelt_error *error) {
    const pelt_subspace *s = &c->t->s;
    size_t rank = s->rank, points = c->t->point_count, batch = c->t->options->batch;
    if (!batch || batch > rank) batch = batch ? rank : 20;
    double *all = PELT_NEW(c->arena, rank * rank, double), *left = PELT_NEW(c->arena, rank * rank, double),
           *turned = PELT_NEW(c->arena, rank * rank, double), *values = PELT_NEW(c->arena, rank, double),
           *lead = PELT_NEW(c->arena, rank * batch, double), *with = PELT_NEW(c->arena, rank, double),
           *vectors = PELT_NEW(c->arena, s->row_count * batch, double), *score = PELT_NEW(c->arena, points, double);
    double *keep = PELT_NEW(c->arena, rank * rank, double);
    pelt_fold_covariance(c->t, NULL, 0, all);
    memcpy(left, all, rank * rank * sizeof *left);
    while (c->count < until) {
        size_t width = (until - c->count + 1) / 2;
        width = width < batch ? width : batch;
        width = width < rank ? width : rank;
        if (c->count) {
            pelt_result result = unexplained(c, all, keep, error);
            if (result) return result;
            double enough = c->t->options->residual * c->t->diagonal;
            if (enough > 0 && largest_residual(c, keep) <= enough) break;
            residual_covariance(c, all, keep, left);
        }
        memcpy(turned, left, rank * rank * sizeof *turned);
        if (!pelt_eigen(rank, turned, values)) return pelt_fail(error, PELT_ERROR_NUMBER, "the residual has no basis");
        for (size_t i = 0; i < rank; i++)
            for (size_t m = 0; m < width; m++) lead[i * width + m] = turned[i * rank + rank - 1 - m];
        pelt_gemm(false, false, s->row_count, width, rank, 1, s->vectors, lead, 0, vectors);
        pelt_varimax(s->row_count, width, vectors, 50);
        for (size_t m = 0; m < width && c->count < until; m++) take_pair(c, vectors, width, m, left, score, with);
        if (pelt_should_stop(&c->t->options->progress, "keys", (double)c->count / c->wanted))
            return pelt_stopped(error);
    }
    return PELT_OK;
}

/* -- All together -------------------------------------------------------------------------------------------------- */

/* Places of the possible keys in a space where points are far apart if they are, or if they moved differently in
   training: position, and motion times deviations along the leading directions. */
typedef struct places {
    size_t size; /* numbers per point */
    float *at;   /* [candidates][size] */
} places;

static places find_places(const pelt_keys_training *t, double motion, pelt_arena *arena) {
    enum { LEADING = 32 };
    const pelt_subspace *s = &t->s;
    size_t lead = !(motion > 0) ? 0 : s->rank < LEADING ? s->rank : LEADING;
    places out = {.size = 3 + s->each * lead};
    out.at = PELT_NEW(arena, t->candidates * out.size, float);
    for (size_t p = 0; p < t->candidates; p++) {
        float *to = out.at + p * out.size;
        for (size_t i = 0; i < 3; i++) *to++ = t->positions[3 * p + i];
        for (size_t r = p * s->each; r < (p + 1) * s->each; r++)
            for (size_t m = 0; m < lead; m++)
                *to++ = (float)(motion * s->vectors[r * s->rank + m] * s->values[m] / sqrt(s->weight));
    }
    return out;
}

static float place_distance(const places *p, size_t a, size_t b) {
    float sum = 0;
    for (size_t i = 0; i < p->size; i++) {
        float d = p->at[a * p->size + i] - p->at[b * p->size + i];
        sum += d * d;
    }
    return sum;
}

uint32_t pelt_farthest_points(const pelt_keys_training *t, const uint32_t *given, uint32_t given_count, double motion,
                              double gap, uint32_t most, uint32_t *points) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    double *distance = PELT_NEW(work, t->candidates, double);
    places at = find_places(t, motion, work);
    uint32_t chosen = 0;
    for (uint32_t p = 0; p < t->candidates; p++) distance[p] = INFINITY;
    for (uint32_t k = 0; k < given_count || chosen < most; k++) {
        uint32_t next = k < given_count ? given[k] : 0;
        for (uint32_t p = 0; p < t->candidates && k >= given_count; p++)
            if (distance[p] > distance[next]) next = p;
        if (k >= given_count && distance[next] <= (gap > 0 ? gap * gap : -1)) break;
        if (k >= given_count) points[chosen++] = next;
        for (uint32_t p = 0; p < t->candidates; p++)
            if (distance[p] >= 0) distance[p] = fmin(distance[p], place_distance(&at, p, next));
        distance[next] = -1; /* never again, even if points coincide */
    }
    return chosen;
}

/* Puts keys in the largest gaps, up to `until`. */
static void choose_grid(choice *c, uint32_t until) {
    uint32_t first = c->count;
    if (first >= until) return;
    pelt_farthest_points(c->t, c->keys, first, 0, 0, until - first, c->keys + first);
    while (c->count < until) take(c, c->keys[c->count]);
}

pelt_result pelt_choose_keys(pelt_keys_training *t, uint32_t count, uint32_t *keys, uint32_t *chosen,
                             pelt_error *error) {
    const pelt_keys_options *o = t->options;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(t->arena);
    choice c = {.t = t, .arena = work, .keys = keys, .wanted = count};
    if (o->recipe != PELT_KEYS_PAPER) c.spacing = o->spacing > 0 ? o->spacing : usual_spacing;
    c.taken = PELT_NEW(c.arena, t->point_count, uint8_t);
    for (uint32_t i = 0; i < o->fiducial_count; i++) take(&c, o->fiducials[i]);
    uint32_t free_keys = count - c.count, grid = o->grid < free_keys && t->positions ? o->grid : 0;
    bool paper = o->recipe == PELT_KEYS_PAPER;
    if (paper) choose_grid(&c, c.count + grid), grid = 0;
    uint32_t until = count - grid, until_peaks = c.count + (until - c.count) * 3 / 5;
    pelt_result result = PELT_OK;
    if (paper) {
        result = choose_by_paper(&c, until, error);
    } else {
        choose_optimal(&c, until_peaks);
        result = choose_at_peaks(&c, until, count / 24 > 6 ? count / 24 : 6, error);
    }
    if (!result && !paper) choose_grid(&c, count);
    if (chosen) *chosen = c.count;
    return result;
}
