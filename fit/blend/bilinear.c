/* bilinear.c: weights and rest position of one vertex, each with the other fixed (Mohr & Gleicher 5.2).

   With w_1 = 1 - (w_2 + ... + w_n) the weights are a plain least squares problem whose columns are (T_i - T_1) v. Its
   normal matrix and right-hand side are

       G_ij = C_ij - C_1i - C_1j + C_11,   c_i = C_11 - C_1i,

   and its squared singular values are the eigenvalues of G. The rest position solves (sum_jk w_j w_k K_jk) (v, 1) =
   sum_j w_j m_j, three equations, where m are the moments. */

#include "fit/blend/bilinear.h"
#include "rig/linear.h"
#include "rig/maths.h"
#include <string.h>

enum { MOST = PELT_MOST_WEIGHTS };
static const double singular = 1e-13; /* of a pivot's own entry */
static const double flat = 1e-15;     /* a determinant, of the cube of the largest entry */
/* Of the trace, and of the examples: pulls rest positions to where they were, which decides what nothing else does. */
static const double held = 1e-9, always_held = 1e-12;

/* Solves by Cholesky if no singular value can be below the cut: the condition number of G is at most tr G tr G^-1. */
static bool solve_well_conditioned(uint32_t n, const double *g, double cut, double *x) {
    double l[MOST * MOST], inverse_trace = 0, trace = 0;
    for (uint32_t i = 0; i < n; i++) {
        trace += g[i * n + i];
        for (uint32_t j = 0; j <= i; j++) {
            double sum = g[i * n + j];
            for (uint32_t k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
            if (i == j && !(sum > singular * g[i * n + i])) return false;
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
        }
    }
    for (uint32_t c = 0; c < n; c++) { /* sum of the squared columns of L^-1 */
        double column[MOST] = {0};
        for (uint32_t i = c; i < n; i++) {
            double sum = i == c;
            for (uint32_t k = c; k < i; k++) sum -= l[i * n + k] * column[k];
            column[i] = sum / l[i * n + i];
            inverse_trace += column[i] * column[i];
        }
    }
    if (!(trace * inverse_trace * cut * cut < 1)) return false;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++) x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
    return true;
}

/* The same with small singular values zeroed; returns how many. */
static uint32_t solve_cut(uint32_t n, double *g, double ridge, double cut, double *x) {
    double values[MOST], part[MOST] = {0}, out[MOST] = {0};
    uint32_t zeroed = 0;
    if (!pelt_eigen(n, g, values)) memset(values, 0, sizeof values);
    for (uint32_t m = 0; m < n; m++) {
        bool kept = values[m] > 0 && values[m] - ridge > cut * cut * (values[n - 1] - ridge);
        zeroed += !kept;
        for (uint32_t i = 0; i < n && kept; i++) part[m] += g[i * n + m] * x[i];
        for (uint32_t i = 0; i < n && kept; i++) out[i] += g[i * n + m] * part[m] / values[m];
    }
    memcpy(x, out, n * sizeof *x);
    return zeroed;
}

uint32_t pelt_affine_weights(pelt_problem *p, double ridge, double cut, pelt_weights *set) {
    uint32_t m = set->count, n = m - 1, zeroed = 0;
    double c[MOST * MOST], g[MOST * MOST], x[MOST], sum = 0;
    ridge *= p->gram ? (double)p->gram->examples : 1;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j <= i; j++)
            c[i * m + j] = c[j * m + i] =
                pelt_problem_entry(p, set->joints[i], set->joints[j]) - (i == j ? p->diagonal : 0);
    for (uint32_t i = 0; i < n; i++) {
        x[i] = c[0] - c[i + 1];
        for (uint32_t j = 0; j < n; j++)
            g[i * n + j] = c[(i + 1) * m + j + 1] - c[i + 1] - c[j + 1] + c[0] + (i == j ? ridge + p->diagonal : 0);
    }
    if (n && !solve_well_conditioned(n, g, cut, x)) zeroed = solve_cut(n, g, ridge, cut, x);
    for (uint32_t i = 0; i < n; i++) sum += set->weights[i + 1] = x[i];
    set->weights[0] = 1 - sum;
    set->error = 0;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < m; j++) set->error += set->weights[i] * set->weights[j] * c[i * m + j];
    return zeroed;
}

/* False when the system is singular. */
static bool solve3(const double a[9], const double b[3], double x[3]) {
    double c[9], determinant = pelt_cofactors(a, c), size = 0;
    for (int i = 0; i < 9; i++) size = fmax(size, fabs(a[i]));
    if (!(fabs(determinant) > flat * size * size * size)) return false;
    pelt_cramer(c, determinant, b, x);
    return true;
}

/* (sum_jk w_j w_k K_jk) as a quadratic form. */
static void rest_products(const pelt_gram *g, const pelt_weights *set, double q[PELT_MONOMIALS]) {
    memset(q, 0, PELT_MONOMIALS * sizeof *q);
    for (uint32_t i = 0; i < set->count; i++) {
        const double *products = g->products + (size_t)set->joints[i] * g->count * PELT_MONOMIALS;
        for (uint32_t k = 0; k < set->count; k++)
            for (size_t a = 0; a < PELT_MONOMIALS; a++)
                q[a] += set->weights[i] * set->weights[k] * products[set->joints[k] * PELT_MONOMIALS + a];
    }
}

bool pelt_rest_is_deficient(const pelt_gram *g, const pelt_weights *set, double cut) {
    double q[PELT_MONOMIALS], values[3];
    rest_products(g, set, q);
    double a[9] = {q[0], q[1] / 2, q[2] / 2, q[1] / 2, q[4], q[5] / 2, q[2] / 2, q[5] / 2, q[7]};
    return !pelt_eigen(3, a, values) || !(values[0] > cut * cut * values[2]);
}

void pelt_rest_fit(const pelt_gram *g, const pelt_weights *set, const double *moments, bool affine, double rest[3]) {
    double q[PELT_MONOMIALS], m[3] = {0}, x[3];
    rest_products(g, set, q);
    for (uint32_t i = 0; i < set->count; i++)
        for (int c = 0; c < 3; c++) m[c] += set->weights[i] * moments[4 * i + (uint32_t)c];
    double hold = held * (q[0] + q[4] + q[7]) + always_held * (double)g->examples;
    double half = affine ? 0.5 : 0;
    const double a[9] = {q[0] + hold, q[1] / 2, q[2] / 2, q[1] / 2,   q[4] + hold,
                         q[5] / 2,    q[2] / 2, q[5] / 2, q[7] + hold};
    const double b[3] = {m[0] - half * q[3] + hold * rest[0], m[1] - half * q[6] + hold * rest[1],
                         m[2] - half * q[8] + hold * rest[2]};
    if (solve3(a, b, x) && isfinite(x[0] + x[1] + x[2])) memcpy(rest, x, sizeof x);
}
