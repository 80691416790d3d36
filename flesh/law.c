/* law.c: W as a function of I = |F|^2 and J = det F, by its derivatives in both.

   With the singular values s of F the Hessian falls apart (Smith, de Goes & Kim 2019): for each pair i, j the shear
   e_i e_j^T + e_j e_i^T has the eigenvalue 2 W_I - W_J s_k, the turn e_i e_j^T - e_j e_i^T 2 W_I + W_J s_k, and the three
   stretches share
       A_ij = 2 W_I d_ij + 4 W_II s_i s_j + 2 W_IJ (s_i g_j + s_j g_i) + W_JJ g_i g_j + W_J J_ij,
   where g_i = dJ/ds_i = s_j s_k and J_ij = s_k (0 for i = j). Both are filtered one by one. */

#include "flesh/law.h"
#include "rig/maths.h"
#include <string.h>

typedef struct derivatives {
    double w, i, j, ii, ij, jj;
} derivatives;

/* A wall before J = 0, none above `far`: -kappa (J - far)^2 log(J / far), and the parabola that continues it below `near`,
   so that an element that is inside out still has a finite energy that turns it back. */
static void add_wall(double kappa, double j, derivatives *d) {
    const double far = 0.3, near = 0.03;
    if (j >= far) return;
    double at = fmax(j, near), off = at - far, logarithm = log(at / far), more = j - at;
    double w = -kappa * off * off * logarithm;
    double first = -kappa * (2 * off * logarithm + off * off / at);
    double second = -kappa * (2 * logarithm + 4 * off / at - off * off / (at * at));
    d->w += w + first * more + second / 2 * more * more;
    d->j += first + second * more;
    d->jj += second;
}

static derivatives stable(const pelt_solid_material *material, double i, double j) {
    double mu = 4.0 / 3 * material->mu, lambda = material->lambda + 5.0 / 6 * material->mu;
    double alpha = 1 + 0.75 * mu / lambda, off = 1 - alpha;
    double at_rest = lambda / 2 * off * off - mu / 2 * log(4);
    derivatives d = {
        .w = mu / 2 * (i - 3 - log(i + 1)) + lambda / 2 * (j - alpha) * (j - alpha) - at_rest,
        .i = mu / 2 * (1 - 1 / (i + 1)),
        .j = lambda * (j - alpha),
        .ii = mu / 2 / ((i + 1) * (i + 1)),
        .jj = lambda,
    };
    add_wall(8 * mu / material->fraction, j, &d); /* it is there for the lattice, not for the flesh */
    return d;
}

static derivatives volumetric(const pelt_solid_material *material, double i, double j) {
    double mu = material->mu, bulk = material->lambda + 2.0 / 3 * mu, root = 1 / cbrt(j * j);
    return (derivatives){
        .w = mu / 2 * (root * i - 3) + bulk / 2 * (j - 1) * (j - 1),
        .i = mu / 2 * root,
        .j = -mu / 3 * root / j * i + bulk * (j - 1),
        .ij = -mu / 3 * root / j,
        .jj = 5.0 / 9 * mu * root / (j * j) * i + bulk,
    };
}

static derivatives derive(pelt_solid_law law, const pelt_solid_material *material, double i, double j) {
    return law == PELT_LAW_STABLE ? stable(material, i, j) : volumetric(material, i, j);
}

static double square_norm(const double f[9]) {
    return pelt_dot(f, f) + pelt_dot(f + 3, f + 3) + pelt_dot(f + 6, f + 6);
}

double pelt_law_energy(pelt_solid_law law, const pelt_solid_material *material, const double f[9]) {
    double cofactors[9], j = pelt_cofactors(f, cofactors);
    return j > 0 || law == PELT_LAW_STABLE ? derive(law, material, square_norm(f), j).w : INFINITY;
}

double pelt_law_gradient(pelt_solid_law law, const pelt_solid_material *material, const double f[9], double pressure,
                         double out[9]) {
    double cofactors[9], j = pelt_cofactors(f, cofactors);
    derivatives d = derive(law, material, square_norm(f), j);
    d.j += pressure;
    for (int k = 0; k < 9; k++) out[k] = 2 * d.i * f[k] + d.j * cofactors[k];
    return j;
}

/* One Jacobi rotation of the symmetric a, in the plane of p and q; the columns of v turn along. */
static void rotate(double a[9], double v[9], int p, int q) {
    double off = a[3 * p + q];
    if (off == 0) return;
    double theta = (a[4 * q] - a[4 * p]) / (2 * off);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 3; k++) {
        double x = a[3 * k + p], y = a[3 * k + q];
        a[3 * k + p] = c * x - s * y, a[3 * k + q] = s * x + c * y;
    }
    for (int k = 0; k < 3; k++) {
        double x = a[3 * p + k], y = a[3 * q + k];
        a[3 * p + k] = c * x - s * y, a[3 * q + k] = s * x + c * y;
        x = v[3 * k + p], y = v[3 * k + q];
        v[3 * k + p] = c * x - s * y, v[3 * k + q] = s * x + c * y;
    }
}

/* Eigenvalues on the diagonal of a, eigenvectors in the columns of v. */
static void eigen(double a[9], double v[9]) {
    memcpy(v, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 9 * sizeof *v);
    const int most_sweeps = 20; /* five suffice */
    for (int sweep = 0; sweep < most_sweeps; sweep++) {
        double off = a[1] * a[1] + a[2] * a[2] + a[5] * a[5];
        if (off <= 1e-24 * (a[0] * a[0] + a[4] * a[4] + a[8] * a[8])) return;
        rotate(a, v, 0, 1), rotate(a, v, 0, 2), rotate(a, v, 1, 2);
    }
}

static void unit_or(double a[3], const double otherwise[3]) {
    double length = pelt_length(a), least = 1e-150;
    const double *from = length > least ? a : otherwise;
    length = pelt_length(from);
    for (int k = 0; k < 3; k++) a[k] = from[k] / length;
}

/* F = U diag(s) V^T with rotations U and V: where F turns space inside out, the least s is negative. */
static void singular_values(const double f[9], double u[9], double s[3], double v[9]) {
    double a[9], order[9], columns[3][3];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) a[3 * r + c] = f[r] * f[c] + f[3 + r] * f[3 + c] + f[6 + r] * f[6 + c];
    eigen(a, v);
    int first = 0, last = 0;
    for (int k = 1; k < 3; k++) first = a[4 * k] > a[4 * first] ? k : first, last = a[4 * k] <= a[4 * last] ? k : last;
    int middle = 3 - first - last, from[3] = {first, middle, last};
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) order[3 * r + k] = v[3 * r + from[k]];
    memcpy(v, order, sizeof order);
    double right[3] = {v[0], v[3], v[6]}, next[3] = {v[1], v[4], v[7]}, third[3];
    pelt_cross(right, next, third);
    for (int k = 0; k < 3; k++) v[3 * k + 2] = third[k];
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3; r++) columns[k][r] = f[3 * r] * v[k] + f[3 * r + 1] * v[3 + k] + f[3 * r + 2] * v[6 + k];
    unit_or(columns[0], (const double[3]){1, 0, 0});
    double along = pelt_dot(columns[1], columns[0]), across[3] = {0};
    for (int r = 0; r < 3; r++) columns[1][r] -= along * columns[0][r];
    across[fabs(columns[0][0]) < 0.6 ? 0 : 1] = 1;
    double other[3];
    pelt_cross(columns[0], across, other);
    unit_or(columns[1], other);
    pelt_cross(columns[0], columns[1], third);
    s[2] = pelt_dot(third, columns[2]);
    memcpy(columns[2], third, sizeof third);
    for (int k = 0; k < 2; k++) s[k] = sqrt(fmax(a[4 * from[k]], 0));
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3; r++) u[3 * r + k] = columns[k][r];
}

/* The stretches' share of the Hessian without its negative eigenvalues. */
static void filter(double a[9]) {
    double values[9], vectors[9], minor = a[0] * a[4] - a[1] * a[3];
    if (a[0] > 0 && minor > 0 && pelt_cofactors(a, values) > 0) return; /* by its minors it has none */
    memcpy(values, a, sizeof values);
    eigen(values, vectors);
    if (values[0] >= 0 && values[4] >= 0 && values[8] >= 0) return;
    memset(a, 0, 9 * sizeof *a);
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3 && values[4 * k] > 0; r++)
            for (int c = 0; c < 3; c++) a[3 * r + c] += values[4 * k] * vectors[3 * r + k] * vectors[3 * c + k];
}

void pelt_law_hessian(pelt_solid_law law, const pelt_solid_material *material, const double f[9], double pressure,
                      bool exact, pelt_law_frame *frame) {
    double s[3];
    singular_values(f, frame->u, s, frame->v);
    double g[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]};
    derivatives d = derive(law, material, pelt_dot(s, s), s[0] * g[0]);
    d.j += pressure;
    double *a = frame->straight;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a[3 * i + j] = 4 * d.ii * s[i] * s[j] + 2 * d.ij * (s[i] * g[j] + s[j] * g[i]) + d.jj * g[i] * g[j] +
                           (i == j ? 2 * d.i : d.j * s[3 - i - j]);
    if (!exact) filter(a);
    for (int i = 0; i < 3; i++) frame->same[4 * i] = a[4 * i], frame->crossed[4 * i] = 0;
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        double least = exact ? -INFINITY : 0;
        double shear = fmax(2 * d.i - d.j * s[k], least), turn = fmax(2 * d.i + d.j * s[k], least);
        frame->same[3 * i + j] = frame->same[3 * j + i] = (shear + turn) / 2;
        frame->crossed[3 * i + j] = frame->crossed[3 * j + i] = (shear - turn) / 2;
    }
}
