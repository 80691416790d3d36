/* linear_eigen.cpp: linear.h by Eigen, for machines without LAPACK (PELT_LINEAR=eigen) and for WebAssembly. Eigen is under
   the Mozilla Public License 2.0 (https://eigen.tuxfamily.org); it is included from the system and stays as it is. */

#define EIGEN_DONT_PARALLELIZE /* loops around it are parallel */
#define EIGEN_MPL2_ONLY
#if defined __wasm_simd128__ || defined PELT_WASM_VECTORS /* the latter for tests */
#define EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS 16
#include <Eigen/Core>
#include "rig/eigen_wasm.h"
#endif
#include <Eigen/Dense>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

extern "C" {
#include "rig/linear.h"
void pelt_poll(void); /* of rig/rig.h, which C++ cannot read */
}

typedef Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> matrix;
typedef Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> matrix_float;
typedef Eigen::Map<matrix> view;
typedef Eigen::Map<const matrix> const_view;
using Eigen::Index;
using Eigen::Lower;

/* -- Memory --------------------------------------------------------------------------------------------------------- */

/* Eigen allocates its own memory, and throws where there is none. */
static thread_local bool no_memory;

extern "C" bool pelt_blas_enter(void) { return true; }
extern "C" void pelt_blas_leave(void) {}
extern "C" int pelt_blas_reserve(int wanted) { return wanted; }

extern "C" bool pelt_blas_failed(void) {
    bool failed = no_memory;
    no_memory = false;
    return failed;
}

#ifdef __cpp_exceptions
template <typename work> static bool guarded(work body) {
    pelt_poll();
    try {
        return body();
    } catch (const std::bad_alloc &) {
        no_memory = true;
        return false;
    }
}
#else
/* Without exceptions the stage ends on the spot, by rig/arena.c. */
extern "C" void pelt_fail_stage(void);

void *operator new(size_t size) {
    void *memory = std::malloc(size);
    if (!memory) pelt_fail_stage();
    return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }

template <typename work> static bool guarded(work body) {
    pelt_poll();
    return body();
}
#endif

static Index of(size_t n) { return static_cast<Index>(n); }

/* -- Products ------------------------------------------------------------------------------------------------------- */

/* c = beta c, without reading what may be nothing yet. */
template <typename target> static void scale(target c, double beta) {
    if (beta == 0)
        c.setZero();
    else if (beta != 1)
        c *= beta;
}

extern "C" void pelt_gemm(bool transpose_a, bool transpose_b, size_t rows, size_t columns, size_t inner, double alpha,
                          const double *a, const double *b, double beta, double *c) {
    guarded([&] {
        view out(c, of(rows), of(columns));
        const_view left(a, of(transpose_a ? inner : rows), of(transpose_a ? rows : inner));
        const_view right(b, of(transpose_b ? columns : inner), of(transpose_b ? inner : columns));
        scale<view &>(out, beta);
        if (transpose_a && transpose_b)
            out.noalias() += alpha * left.transpose() * right.transpose();
        else if (transpose_a)
            out.noalias() += alpha * left.transpose() * right;
        else if (transpose_b)
            out.noalias() += alpha * left * right.transpose();
        else
            out.noalias() += alpha * left * right;
        return true;
    });
}

extern "C" void pelt_syrk(bool transpose, size_t n, size_t inner, double alpha, const double *a, double beta,
                          double *c) {
    guarded([&] {
        view out(c, of(n), of(n));
        const_view in(a, of(transpose ? inner : n), of(transpose ? n : inner));
        for (Index i = 0; i < of(n); i++) scale(out.row(i).head(i + 1), beta);
        if (transpose)
            out.selfadjointView<Lower>().rankUpdate(in.transpose(), alpha);
        else
            out.selfadjointView<Lower>().rankUpdate(in, alpha);
        return true;
    });
}

extern "C" void pelt_symm(size_t n, size_t columns, double alpha, const double *a, const double *b, double *c) {
    guarded([&] {
        const_view left(a, of(n), of(n)), right(b, of(n), of(columns));
        view(c, of(n), of(columns)).noalias() = alpha * left.selfadjointView<Lower>() * right;
        return true;
    });
}

/* -- Cholesky ------------------------------------------------------------------------------------------------------- */

template <typename kind, typename number> static bool factor(size_t n, number *a) {
    return guarded([&] {
        Eigen::Map<kind> in(a, of(n), of(n));
        return !n || Eigen::LLT<Eigen::Ref<kind>, Lower>(in).info() == Eigen::Success;
    });
}

extern "C" bool pelt_cholesky(size_t n, double *a) { return factor<matrix>(n, a); }
extern "C" bool pelt_cholesky_float(size_t n, float *a) { return factor<matrix_float>(n, a); }

extern "C" void pelt_forward_solve(size_t n, const double *f, size_t columns, double *b) {
    guarded([&] {
        view out(b, of(n), of(columns));
        if (n && columns) const_view(f, of(n), of(n)).triangularView<Lower>().solveInPlace(out);
        return true;
    });
}

extern "C" void pelt_cholesky_solve(size_t n, const double *f, size_t columns, double *b) {
    pelt_forward_solve(n, f, columns, b);
    guarded([&] {
        view out(b, of(n), of(columns));
        if (n && columns) const_view(f, of(n), of(n)).transpose().triangularView<Eigen::Upper>().solveInPlace(out);
        return true;
    });
}

/* The inverse is t^T t with t the inverse of the factor. */
extern "C" void pelt_cholesky_invert(size_t n, double *f) {
    guarded([&] {
        view in(f, of(n), of(n));
        matrix t = matrix::Identity(of(n), of(n));
        in.triangularView<Lower>().solveInPlace(t);
        in.triangularView<Lower>().setZero();
        in.selfadjointView<Lower>().rankUpdate(t.transpose());
        in.triangularView<Eigen::StrictlyUpper>() = in.transpose();
        return true;
    });
}

/* -- Decompositions ------------------------------------------------------------------------------------------------- */

extern "C" bool pelt_orthonormalize(size_t rows, size_t columns, double *a) {
    return guarded([&] {
        view in(a, of(rows), of(columns));
        Eigen::HouseholderQR<matrix> qr(in);
        in = qr.householderQ() * matrix::Identity(of(rows), of(columns));
        return true;
    });
}

typedef Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> symmetric;

/* A symmetric matrix of which the lower half by rows, the upper by columns, is given. */
static symmetric decompose(size_t n, const double *a, int what) {
    Eigen::Map<const Eigen::MatrixXd> by_columns(a, of(n), of(n));
    Eigen::MatrixXd whole = by_columns.selfadjointView<Eigen::Upper>();
    return symmetric(whole, what);
}

extern "C" bool pelt_eigen(size_t n, double *a, double *values) {
    return guarded([&] {
        if (!n) return true;
        symmetric found = decompose(n, a, Eigen::ComputeEigenvectors);
        if (found.info() != Eigen::Success) return false;
        view(a, of(n), of(n)) = found.eigenvectors();
        view(values, of(n), 1) = found.eigenvalues();
        return true;
    });
}

extern "C" bool pelt_eigen_leading(size_t n, double *a, size_t count, double *values, double *vectors) {
    return guarded([&] {
        if (!n) return true;
        symmetric found = decompose(n, a, Eigen::ComputeEigenvectors);
        if (found.info() != Eigen::Success) return false;
        for (size_t k = 0; k < count; k++) {
            values[k] = found.eigenvalues()[of(n - 1 - k)];
            view(vectors + k * n, 1, of(n)) = found.eigenvectors().col(of(n - 1 - k)).transpose();
        }
        return true;
    });
}

extern "C" double pelt_condition_of(size_t n, double *a) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    bool done = guarded([&] {
        if (!n) return true;
        symmetric found = decompose(n, a, Eigen::EigenvaluesOnly);
        least = found.eigenvalues().cwiseAbs().minCoeff(), most = found.eigenvalues().cwiseAbs().maxCoeff();
        return found.info() == Eigen::Success;
    });
    return done && least > 0 ? most / least : std::numeric_limits<double>::infinity();
}

extern "C" bool pelt_least_squares(size_t rows, size_t columns, double *a, size_t columns_b, double *b, double cut) {
    return guarded([&] {
        Eigen::BDCSVD<Eigen::MatrixXd> svd(const_view(a, of(rows), of(columns)),
                                           Eigen::ComputeThinU | Eigen::ComputeThinV);
        svd.setThreshold(cut);
        Eigen::MatrixXd x = svd.solve(const_view(b, of(rows), of(columns_b)));
        view(b, of(columns), of(columns_b)) = x;
        return svd.info() == Eigen::Success;
    });
}
