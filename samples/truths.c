/* truths.c: how others deform a character, as truths for pelt_sample_known.

   Dual quaternions (Kavan et al. 2007): with unit dual quaternions q_j of the joints, those of a vertex on one side,

       q = sum_j w_j q_j / |sum_j w_j q_j|,   v' = q v

   Delta mush (Mancewicz et al. 2014): the linear blend, smoothed, with the detail that smoothing takes from the rest pose
   put back in the frame of the smoothed surface:

       v' = m' + F' F^T (v0 - m),   m, m' the smoothed rest pose and blend, F, F' frames at them */

#include "rig/maths.h"
#include "samples/build.h"
#include "samples/truths.h"
#include <math.h>
#include <string.h>

/* -- Dual quaternions ---------------------------------------------------------------------------------------------- */

void sample_dual_quaternion(const pelt_affine *matrix, double out[8]) {
    pelt_transform parts;
    double real[4], moved[4] = {matrix->m[3], matrix->m[7], matrix->m[11], 0}, dual[4];
    pelt_affine_split(matrix, &parts);
    for (int i = 0; i < 4; i++) real[i] = parts.rotation[i];
    double length = pelt_quaternion_length(real);
    for (int i = 0; i < 4; i++) real[i] /= length;
    pelt_quaternion_multiply(moved, real, dual);
    for (int i = 0; i < 4; i++) out[i] = real[i], out[4 + i] = dual[i] / 2;
}

void sample_dual_point(const double sum[8], const double point[3], double out[3]) {
    double length = pelt_quaternion_length(sum), real[4], dual[4], back[4], turned[4], moved[4];
    double at[4] = {point[0], point[1], point[2], 0};
    for (int i = 0; i < 4; i++) real[i] = sum[i] / length, dual[i] = 2 * sum[4 + i] / length;
    for (int i = 0; i < 4; i++) back[i] = i < 3 ? -real[i] : real[i];
    pelt_quaternion_multiply(real, at, turned);
    pelt_quaternion_multiply(turned, back, at);
    pelt_quaternion_multiply(dual, back, moved);
    for (int i = 0; i < 3; i++) out[i] = at[i] + moved[i];
}

/* -- Delta mush ---------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 10 };

/* Every point half way to the mean of its neighbours, several times. A point that no triangle has stays. */
static void smooth(const sample_mush *m, double *points, double *sums) {
    const pelt_mesh *mesh = m->mesh;
    for (int round = 0; round < ROUNDS; round++) {
        memset(sums, 0, 4 * (size_t)m->count * sizeof *sums);
        for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
            uint32_t a = m->point_of[mesh->triangles[i]];
            uint32_t b = m->point_of[mesh->triangles[i % 3 == 2 ? i - 2 : i + 1]];
            for (int c = 0; c < 3; c++)
                sums[4 * (size_t)a + c] += points[3 * (size_t)b + c],
                    sums[4 * (size_t)b + c] += points[3 * (size_t)a + c];
            sums[4 * (size_t)a + 3]++, sums[4 * (size_t)b + 3]++;
        }
        for (size_t p = 0; p < m->count; p++)
            for (int c = 0; c < 3 && sums[4 * p + 3] > 0; c++)
                points[3 * p + c] = (points[3 * p + c] + sums[4 * p + c] / sums[4 * p + 3]) / 2;
    }
}

static bool make_unit(double v[3]) {
    double length = pelt_length(v);
    for (int c = 0; c < 3 && length > 0; c++) v[c] /= length;
    return length > 0;
}

/* Rows: the normal, an edge made orthogonal to it, and what is orthogonal to both. False: there is no area. */
static bool frame_of(const sample_mush *m, const double *points, const double *normals, size_t p, double frame[3][3]) {
    const double *at = points + 3 * p, *to = points + 3 * (size_t)m->beside[p];
    for (int c = 0; c < 3; c++) frame[0][c] = normals[3 * p + c], frame[1][c] = to[c] - at[c];
    if (!make_unit(frame[0])) return false;
    double along = pelt_dot(frame[0], frame[1]);
    for (int c = 0; c < 3; c++) frame[1][c] -= along * frame[0][c];
    if (!make_unit(frame[1])) return false;
    pelt_cross(frame[0], frame[1], frame[2]);
    return true;
}

static void find_normals(const sample_mush *m, const double *points, double *normals) {
    const pelt_mesh *mesh = m->mesh;
    memset(normals, 0, 3 * (size_t)m->count * sizeof *normals);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        double edges[2][3], normal[3];
        uint32_t at[3];
        for (int i = 0; i < 3; i++) at[i] = m->point_of[mesh->triangles[3 * t + (size_t)i]];
        for (int i = 0; i < 2; i++)
            for (int c = 0; c < 3; c++) edges[i][c] = points[3 * (size_t)at[i + 1] + c] - points[3 * (size_t)at[0] + c];
        pelt_cross(edges[0], edges[1], normal);
        for (int i = 0; i < 3; i++)
            for (int c = 0; c < 3; c++) normals[3 * (size_t)at[i] + c] += normal[c];
    }
}

void sample_mush_prepare(pelt_arena *arena, const pelt_mesh *mesh, sample_mush *m) {
    *m = (sample_mush){.mesh = mesh, .point_of = PELT_NEW(arena, mesh->vertex_count, uint32_t)};
    m->count = pelt_weld(arena, mesh, (pelt_examples){0}, 0, m->point_of);
    m->beside = PELT_NEW(arena, m->count, uint32_t);
    m->details = PELT_NEW(arena, 3 * (size_t)m->count, double);
    double *points = PELT_NEW(arena, 3 * (size_t)m->count, double),
           *rest = PELT_NEW(arena, 3 * (size_t)m->count, double);
    double *work = PELT_NEW(arena, 4 * (size_t)m->count, double), frame[3][3];
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        m->beside[m->point_of[mesh->triangles[i]]] = m->point_of[mesh->triangles[i % 3 == 2 ? i - 2 : i + 1]];
    for (size_t v = 0; v < mesh->vertex_count; v++)
        for (size_t c = 0; c < 3; c++) rest[3 * (size_t)m->point_of[v] + c] = mesh->positions[3 * v + c];
    memcpy(points, rest, 3 * (size_t)m->count * sizeof *points);
    smooth(m, points, work);
    find_normals(m, points, work);
    for (size_t p = 0; p < m->count; p++) {
        if (!frame_of(m, points, work, p, frame)) continue;
        double lost[3];
        for (size_t c = 0; c < 3; c++) lost[c] = rest[3 * p + c] - points[3 * p + c];
        for (size_t r = 0; r < 3; r++) m->details[3 * p + r] = pelt_dot(frame[r], lost);
    }
}

void sample_mush_frame(const sample_mush *m, pelt_arena *scratch, float *positions) {
    size_t count = m->count, vertices = m->mesh->vertex_count;
    double *points = PELT_NEW(scratch, 3 * count, double), *work = PELT_NEW(scratch, 4 * count, double), frame[3][3];
    for (size_t v = vertices; v-- > 0;)
        for (size_t c = 0; c < 3; c++) points[3 * (size_t)m->point_of[v] + c] = positions[3 * v + c];
    smooth(m, points, work);
    find_normals(m, points, work);
    for (size_t v = 0; v < vertices; v++) {
        size_t p = m->point_of[v];
        bool known = frame_of(m, points, work, p, frame);
        for (size_t c = 0; c < 3; c++) {
            double sum = points[3 * p + c];
            for (size_t r = 0; r < 3 && known; r++) sum += frame[r][c] * m->details[3 * p + r];
            positions[3 * v + c] = (float)sum;
        }
    }
}
