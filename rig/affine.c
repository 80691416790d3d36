/* affine.c: affine maps as row-major 3x4 matrices, in double. */

#include "rig/maths.h"
#include "rig/rig.h"

static const double singular = 1e-12; /* a determinant, of the cube of the largest entry */

const pelt_affine pelt_identity = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};

pelt_affine pelt_affine_of(const pelt_transform *t) {
    double x = t->rotation[0], y = t->rotation[1], z = t->rotation[2], w = t->rotation[3];
    double n = x * x + y * y + z * z + w * w;
    double s = n > 0 ? 2 / n : 0; /* any multiple of q is the same rotation */
    const float *k = t->scale;
    return (pelt_affine){{
        (1 - s * (y * y + z * z)) * k[0],
        s * (x * y - w * z) * k[1],
        s * (x * z + w * y) * k[2],
        t->translation[0],
        s * (x * y + w * z) * k[0],
        (1 - s * (x * x + z * z)) * k[1],
        s * (y * z - w * x) * k[2],
        t->translation[1],
        s * (x * z - w * y) * k[0],
        s * (y * z + w * x) * k[1],
        (1 - s * (x * x + y * y)) * k[2],
        t->translation[2],
    }};
}

pelt_affine pelt_affine_multiply(const pelt_affine *a, const pelt_affine *b) {
    pelt_affine out;
    for (int r = 0; r < 3; r++) {
        const double *p = a->m + 4 * r;
        for (int c = 0; c < 4; c++)
            out.m[4 * r + c] = p[0] * b->m[c] + p[1] * b->m[4 + c] + p[2] * b->m[8 + c] + (c == 3 ? p[3] : 0);
    }
    return out;
}

bool pelt_affine_invert(const pelt_affine *a, pelt_affine *inverse) {
    const double *m = a->m;
    double c0 = m[5] * m[10] - m[6] * m[9], c1 = m[6] * m[8] - m[4] * m[10], c2 = m[4] * m[9] - m[5] * m[8];
    double determinant = m[0] * c0 + m[1] * c1 + m[2] * c2, scale = 0;
    for (int i = 0; i < 12; i++)
        if (i % 4 < 3) scale = fmax(scale, fabs(m[i]));
    if (!(fabs(determinant) > singular * scale * scale * scale) || !isfinite(determinant)) {
        *inverse = pelt_identity;
        return false;
    }
    double d = 1 / determinant, *o = inverse->m;
    double n[12] = {c0 * d, (m[2] * m[9] - m[1] * m[10]) * d, (m[1] * m[6] - m[2] * m[5]) * d, 0,
                    c1 * d, (m[0] * m[10] - m[2] * m[8]) * d, (m[2] * m[4] - m[0] * m[6]) * d, 0,
                    c2 * d, (m[1] * m[8] - m[0] * m[9]) * d,  (m[0] * m[5] - m[1] * m[4]) * d, 0};
    for (int r = 0; r < 3; r++) n[4 * r + 3] = -(n[4 * r] * m[3] + n[4 * r + 1] * m[7] + n[4 * r + 2] * m[11]);
    for (int i = 0; i < 12; i++) o[i] = n[i];
    return true;
}

void pelt_affine_point(const pelt_affine *a, const double p[3], double out[3]) {
    double x = p[0], y = p[1], z = p[2];
    for (int r = 0; r < 3; r++) out[r] = a->m[4 * r] * x + a->m[4 * r + 1] * y + a->m[4 * r + 2] * z + a->m[4 * r + 3];
}

/* Quaternion of a rotation matrix, from its largest component. */
static void rotation_quaternion(const double r[3][3], double q[4]) {
    double trace = r[0][0] + r[1][1] + r[2][2];
    int largest = 3;
    double best = trace;
    for (int i = 0; i < 3; i++)
        if (r[i][i] > best) best = r[i][i], largest = i;
    if (largest == 3) {
        q[0] = r[2][1] - r[1][2], q[1] = r[0][2] - r[2][0], q[2] = r[1][0] - r[0][1], q[3] = 1 + trace;
    } else {
        int i = largest, j = (i + 1) % 3, k = (i + 2) % 3;
        q[i] = 1 + r[i][i] - r[j][j] - r[k][k];
        q[j] = r[j][i] + r[i][j], q[k] = r[k][i] + r[i][k], q[3] = r[k][j] - r[j][k];
    }
    double n = pelt_quaternion_length(q);
    for (int i = 0; i < 4; i++) q[i] /= n;
}

/* Fills in columns that are scaled to zero: any that complete the others to a rotation will do. */
static void complete_rotation(double r[3][3], const bool known[3]) {
    int count = known[0] + known[1] + known[2];
    for (int c = 0; c < 3; c++) {
        int j = (c + 1) % 3, k = (c + 2) % 3;
        if (count == 0) r[0][c] = c == 0, r[1][c] = c == 1, r[2][c] = c == 2;
        if (count == 1 && known[c]) { /* the axis farthest from column c, made perpendicular to it */
            int axis = 0;
            for (int i = 1; i < 3; i++)
                if (fabs(r[i][c]) < fabs(r[axis][c])) axis = i;
            double length = sqrt(1 - r[axis][c] * r[axis][c]);
            for (int i = 0; i < 3; i++) r[i][j] = ((i == axis) - r[axis][c] * r[i][c]) / length;
            for (int i = 0; i < 3; i++) {
                int a = (i + 1) % 3, b = (i + 2) % 3;
                r[i][k] = r[a][c] * r[b][j] - r[b][c] * r[a][j];
            }
        }
        if (count == 2 && !known[c])
            for (int i = 0; i < 3; i++) {
                int a = (i + 1) % 3, b = (i + 2) % 3;
                r[i][c] = r[a][j] * r[b][k] - r[b][j] * r[a][k];
            }
    }
}

double pelt_affine_split(const pelt_affine *a, pelt_transform *t) {
    const double *m = a->m;
    double scale[3], r[3][3], q[4];
    for (int c = 0; c < 3; c++) scale[c] = sqrt(m[c] * m[c] + m[4 + c] * m[4 + c] + m[8 + c] * m[8 + c]);
    if (pelt_affine_determinant(m) < 0) scale[0] = -scale[0];
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++) r[i][c] = scale[c] != 0 ? m[4 * i + c] / scale[c] : 0;
    complete_rotation(r, (bool[3]){scale[0] != 0, scale[1] != 0, scale[2] != 0});
    rotation_quaternion((const double(*)[3])r, q);
    for (int i = 0; i < 4; i++) t->rotation[i] = (float)q[i];
    for (int i = 0; i < 3; i++) t->translation[i] = (float)m[4 * i + 3], t->scale[i] = (float)scale[i];
    pelt_affine back = pelt_affine_of(t);
    double worst = 0;
    for (int i = 0; i < 12; i++) worst = fmax(worst, fabs(back.m[i] - m[i]));
    return worst;
}
