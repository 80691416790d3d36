/* test_linear.c: linear algebra against its definition, in plain loops. Built twice: with LAPACK, and with Eigen. */

#include "rig/linear.h"
#include "test/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40 };
static const size_t sizes[] = {1, 2, 3, 7, 16, 33};
enum { SIZES = sizeof sizes / sizeof *sizes };

static uint32_t state = 1;

static double draw(void) {
    state = state * 1664525u + 1013904223u;
    return (double)state / 2147483648.0 - 1;
}

static void fill(double *a, size_t count) {
    for (size_t i = 0; i < count; i++) a[i] = draw();
}

static void assert_all_near(const double *found, const double *wanted, size_t count, double most) {
    for (size_t i = 0; i < count; i++) assert_true(fabs(found[i] - wanted[i]) <= most);
}

/* c = alpha op(a) op(b) + beta c. */
static void product(bool ta, bool tb, size_t rows, size_t columns, size_t inner, double alpha, const double *a,
                    const double *b, double beta, double *c) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double sum = 0;
            for (size_t k = 0; k < inner; k++)
                sum += (ta ? a[k * rows + i] : a[i * inner + k]) * (tb ? b[j * inner + k] : b[k * columns + j]);
            c[i * columns + j] = alpha * sum + (beta != 0 ? beta * c[i * columns + j] : 0);
        }
}

/* Symmetric and positive definite, whole. */
static void definite(size_t n, double *a) {
    double root[MOST * MOST];
    fill(root, n * n);
    product(false, true, n, n, n, 1, root, root, 0, a);
    for (size_t i = 0; i < n; i++) a[i * n + i] += 0.5;
}

/* The half above the diagonal is not to be read. */
static void spoil_upper(size_t n, double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) a[i * n + j] = NAN;
}

static void multiplies(void **unused) {
    (void)unused;
    double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], wanted[MOST * MOST];
    for (size_t s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 8; kind++) {
            size_t rows = sizes[s], columns = sizes[(s + 1) % SIZES], inner = sizes[(s + 2) % SIZES];
            double beta = kind & 4 ? 0.75 : 0;
            fill(a, rows * inner), fill(b, inner * columns), fill(c, rows * columns);
            memcpy(wanted, c, sizeof c);
            product(kind & 1, kind & 2, rows, columns, inner, -1.5, a, b, beta, wanted);
            for (size_t i = 0; i < rows * columns && beta == 0; i++) c[i] = NAN; /* not read */
            pelt_gemm(kind & 1, kind & 2, rows, columns, inner, -1.5, a, b, beta, c);
            assert_all_near(c, wanted, rows * columns, 1e-12);
        }
}

static void multiplies_symmetric(void **unused) {
    (void)unused;
    double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST], wanted[MOST * MOST];
    for (size_t s = 0; s < SIZES; s++)
        for (int kind = 0; kind < 4; kind++) {
            size_t n = sizes[s], inner = sizes[(s + 3) % SIZES];
            double beta = kind & 2 ? -0.5 : 0;
            fill(a, n * inner);
            definite(n, c);
            memcpy(wanted, c, sizeof c);
            product(kind & 1, !(kind & 1), n, n, inner, 2, a, a, beta, wanted);
            spoil_upper(n, c);
            pelt_syrk(kind & 1, n, inner, 2, a, beta, c);
            for (size_t i = 0; i < n; i++) assert_all_near(c + i * n, wanted + i * n, i + 1, 1e-11);
            for (size_t i = 0; i + 1 < n; i++) assert_true(isnan(c[i * n + n - 1]));
            definite(n, a);
            fill(b, n * inner);
            product(false, false, n, inner, n, 0.25, a, b, 0, wanted);
            spoil_upper(n, a);
            pelt_symm(n, inner, 0.25, a, b, c);
            assert_all_near(c, wanted, n * inner, 1e-11);
        }
}

static void solves(void **unused) {
    (void)unused;
    double a[MOST * MOST], factor[MOST * MOST], x[MOST * MOST], b[MOST * MOST], back[MOST * MOST];
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], columns = sizes[(s + 2) % SIZES];
        definite(n, a);
        memcpy(factor, a, sizeof a);
        spoil_upper(n, factor);
        assert_true(pelt_cholesky(n, factor));
        fill(b, n * columns);
        memcpy(x, b, sizeof b);
        pelt_cholesky_solve(n, factor, columns, x);
        product(false, false, n, columns, n, 1, a, x, 0, back);
        assert_all_near(back, b, n * columns, 1e-10);
        memcpy(x, b, sizeof b);
        pelt_forward_solve(n, factor, columns, x);
        for (size_t i = 0; i < n; i++)
            for (size_t j = i + 1; j < n; j++) factor[i * n + j] = 0;
        product(false, false, n, columns, n, 1, factor, x, 0, back);
        assert_all_near(back, b, n * columns, 1e-10);
        pelt_cholesky_invert(n, factor);
        product(false, false, n, n, n, 1, a, factor, 0, back);
        for (size_t i = 0; i < n * n; i++) assert_true(fabs(back[i] - (i % (n + 1) == 0)) < 1e-10);
    }
    float small[4] = {4, NAN, 2, 5};
    assert_true(pelt_cholesky_float(2, small));
    assert_true(fabsf(small[0] - 2) < 1e-6f && fabsf(small[2] - 1) < 1e-6f && fabsf(small[3] - 2) < 1e-6f);
    double indefinite[4] = {1, 0, 2, 1};
    assert_false(pelt_cholesky(2, indefinite));
    assert_true(pelt_cholesky(0, indefinite));
}

static void decomposes(void **unused) {
    (void)unused;
    double a[MOST * MOST], vectors[MOST * MOST], values[MOST], leading[MOST], rows[MOST * MOST], copy[MOST * MOST];
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], count = n / 7 + 1;
        definite(n, a);
        memcpy(vectors, a, sizeof a);
        spoil_upper(n, vectors);
        assert_true(pelt_eigen(n, vectors, values));
        for (size_t k = 0; k < n; k++) {
            assert_true(!k || values[k] >= values[k - 1]);
            for (size_t i = 0; i < n; i++) {
                double sum = 0;
                for (size_t j = 0; j < n; j++) sum += a[i * n + j] * vectors[j * n + k];
                assert_true(fabs(sum - values[k] * vectors[i * n + k]) < 1e-10);
            }
        }
        memcpy(copy, a, sizeof a);
        spoil_upper(n, copy);
        assert_true(pelt_eigen_leading(n, copy, count, leading, rows));
        for (size_t k = 0; k < count; k++) {
            double dot = 0;
            for (size_t i = 0; i < n; i++) dot += rows[k * n + i] * vectors[i * n + n - 1 - k];
            assert_true(fabs(leading[k] - values[n - 1 - k]) < 1e-10 && fabs(fabs(dot) - 1) < 1e-9);
        }
        spoil_upper(n, a);
        assert_true(fabs(pelt_condition_of(n, a) * values[0] / values[n - 1] - 1) < 1e-9);
    }
    double singular[4] = {0, NAN, 0, 1};
    assert_true(isinf(pelt_condition_of(2, singular)));
}

static void makes_bases(void **unused) {
    (void)unused;
    double a[MOST * MOST], basis[MOST * MOST], between[MOST * MOST];
    for (size_t s = 1; s < SIZES; s++) {
        size_t rows = sizes[s], columns = sizes[s - 1];
        fill(a, rows * columns);
        memcpy(basis, a, sizeof a);
        assert_true(pelt_orthonormalize(rows, columns, basis));
        product(true, false, columns, columns, rows, 1, basis, basis, 0, between);
        for (size_t i = 0; i < columns * columns; i++) assert_true(fabs(between[i] - (i % (columns + 1) == 0)) < 1e-12);
        product(true, false, columns, columns, rows, 1, basis, a, 0,
                between); /* the span is the same: a = basis between */
        product(false, false, rows, columns, columns, -1, basis, between, 1, a);
        for (size_t i = 0; i < rows * columns; i++) assert_true(fabs(a[i]) < 1e-12);
    }
}

/* The residual is orthogonal to the columns; where columns repeat, the shortest solution shares evenly. */
static void fits_least_squares(void **unused) {
    (void)unused;
    double a[MOST * MOST], copy[MOST * MOST], b[MOST * MOST], x[MOST * MOST], left[MOST * MOST];
    size_t rows = 33, columns = 7, count = 3;
    fill(a, rows * columns), fill(b, rows * count);
    for (size_t i = 0; i < rows; i++) a[i * columns + 6] = a[i * columns];
    memcpy(copy, a, sizeof a), memcpy(x, b, sizeof b);
    assert_true(pelt_least_squares(rows, columns, copy, count, x, 1e-10));
    product(false, false, rows, count, columns, -1, a, x, 1, b);
    product(true, false, columns, count, rows, 1, a, b, 0, left);
    for (size_t i = 0; i < columns * count; i++) assert_true(fabs(left[i]) < 1e-11);
    for (size_t j = 0; j < count; j++) assert_true(fabs(x[j] - x[6 * count + j]) < 1e-11);
    double wide[6] = {3, 0, 0, 0, 4, 0}, right[3] = {6, 8, 99}; /* two rows of three */
    assert_true(pelt_least_squares(2, 3, wide, 1, right, 1e-10));
    assert_true(fabs(right[0] - 2) < 1e-12 && fabs(right[1] - 2) < 1e-12 && fabs(right[2]) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplies), cmocka_unit_test(multiplies_symmetric), cmocka_unit_test(solves),
        cmocka_unit_test(decomposes), cmocka_unit_test(makes_bases),          cmocka_unit_test(fits_least_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
