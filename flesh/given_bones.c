/* given_bones.c: bones as somebody modelled them: connected pieces of a mesh, each on a joint.

   A piece also gets a capsule along its principal axis, as long as the piece and of its volume: what a lattice coarser than
   the bone holds on to. */

#include "flesh/volume.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

typedef struct gathering {
    pelt_arena *arena;
    const pelt_bone_surfaces *given;
    const pelt_skin_tree *skin;
    uint32_t *pieces; /* [vertex] the first vertex of its piece */
    bool *left_out;   /* [triangle] what is no part of the piece at hand */
    pelt_flesh_bone *list;
    pelt_flesh_bones found;
} gathering;

static uint32_t root_of(uint32_t *parents, uint32_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

/* Vertices at one place are one, since files split them where normals differ. */
static void find_pieces(gathering *g) {
    const pelt_mesh *m = g->given->mesh;
    uint32_t *points = PELT_NEW(g->arena, m->vertex_count, uint32_t);
    uint32_t *parents = PELT_NEW(g->arena, m->vertex_count, uint32_t);
    uint32_t *firsts = PELT_NEW(g->arena, m->vertex_count, uint32_t);
    pelt_weld(g->arena, m, (pelt_examples){0}, 0, points);
    for (uint32_t i = 0; i < m->vertex_count; i++) parents[i] = i, firsts[i] = UINT32_MAX;
    for (uint32_t t = 0; t < m->triangle_count; t++)
        for (int c = 1; c < 3; c++) {
            uint32_t a = root_of(parents, points[m->triangles[3 * (size_t)t]]);
            uint32_t b = root_of(parents, points[m->triangles[3 * (size_t)t + (size_t)c]]);
            parents[a > b ? a : b] = a > b ? b : a;
        }
    for (uint32_t i = 0; i < m->vertex_count; i++) {
        uint32_t root = root_of(parents, points[i]);
        if (firsts[root] == UINT32_MAX) firsts[root] = i;
        g->pieces[i] = firsts[root];
    }
}

/* The direction of the largest spread of a piece's vertices, by power iteration; its middle along it, and its length. */
static double find_axis(const gathering *g, uint32_t piece, double middle[3], double axis[3]) {
    const pelt_mesh *m = g->given->mesh;
    double mean[3] = {0}, spread[3][3] = {{0}}, count = 0, low = INFINITY, high = -INFINITY;
    for (uint32_t i = piece; i < m->vertex_count; i++)
        for (size_t k = 0; k < 3 && g->pieces[i] == piece; k++)
            mean[k] += m->positions[3 * (size_t)i + k], count += k == 0;
    for (int k = 0; k < 3; k++) mean[k] /= count;
    for (uint32_t i = piece; i < m->vertex_count; i++)
        for (size_t k = 0; k < 9 && g->pieces[i] == piece; k++)
            spread[k / 3][k % 3] += (m->positions[3 * (size_t)i + k / 3] - mean[k / 3]) *
                                    (m->positions[3 * (size_t)i + k % 3] - mean[k % 3]);
    int widest = 0;
    for (int k = 1; k < 3; k++)
        if (spread[k][k] > spread[widest][widest]) widest = k;
    for (int k = 0; k < 3; k++) axis[k] = spread[widest][k];
    for (int n = 0; n < 100; n++) {
        double next[3], length;
        for (int k = 0; k < 3; k++) next[k] = pelt_dot(spread[k], axis);
        length = pelt_length(next);
        if (!(length > 0)) return 0;
        for (int k = 0; k < 3; k++) axis[k] = next[k] / length;
    }
    for (uint32_t i = piece; i < m->vertex_count; i++) {
        if (g->pieces[i] != piece) continue;
        double along = 0;
        for (size_t k = 0; k < 3; k++) along += axis[k] * (m->positions[3 * (size_t)i + k] - mean[k]);
        low = fmin(low, along), high = fmax(high, along);
    }
    for (int k = 0; k < 3; k++) middle[k] = mean[k] + axis[k] * (low + high) / 2;
    return high - low;
}

/* The radius of the capsule of a length, caps included, and a volume: pi r^2 (length - 2/3 r), which rises until r is half of
   the length. */
static double capsule_radius(double length, double volume) {
    double low = 0, high = length / 2;
    for (int n = 0; n < 60; n++) {
        double r = (low + high) / 2;
        if (M_PI * r * r * (length - 2.0 / 3 * r) < volume)
            low = r;
        else
            high = r;
    }
    return (low + high) / 2;
}

/* Whether a corner or the axis of a bone is inside the mesh. */
static bool reaches_inside(const gathering *g, uint32_t piece, const pelt_flesh_bone *bone) {
    const pelt_mesh *m = g->given->mesh;
    for (int i = 0; i <= 4; i++) {
        double x[3];
        for (int k = 0; k < 3; k++) x[k] = bone->ends[0][k] + i / 4.0 * (bone->ends[1][k] - bone->ends[0][k]);
        if (pelt_winding_number(g->skin, x, false) > 0.5) return true;
    }
    for (uint32_t i = piece; i < m->vertex_count; i++) {
        const float *x = m->positions + 3 * (size_t)i;
        if (g->pieces[i] == piece && pelt_winding_number(g->skin, (double[3]){x[0], x[1], x[2]}, false) > 0.5)
            return true;
    }
    return false;
}

static void add_piece(gathering *g, uint32_t piece) {
    const pelt_mesh *m = g->given->mesh;
    pelt_flesh_bone bone = {.joint = g->given->joints[piece]};
    double middle[3], axis[3];
    uint32_t triangles = 0;
    for (uint32_t t = 0; t < m->triangle_count; t++) {
        g->left_out[t] = g->pieces[m->triangles[3 * (size_t)t]] != piece;
        triangles += !g->left_out[t];
    }
    if (!triangles) return; /* a loose vertex */
    double length = find_axis(g, piece, middle, axis);
    bone.shape = pelt_skin_tree_of(g->arena, m, g->left_out);
    bone.radius = capsule_radius(length, pelt_skin_volume(bone.shape));
    for (int k = 0; k < 3; k++) {
        double reach = (length / 2 - bone.radius) * axis[k];
        bone.ends[0][k] = middle[k] - reach, bone.ends[1][k] = middle[k] + reach;
    }
    if (!(length > 0) || !reaches_inside(g, piece, &bone))
        g->found.outside++, g->found.missed = bone.joint;
    else
        g->list[g->found.count++] = bone;
}

pelt_flesh_bones pelt_flesh_bones_given(pelt_arena *arena, const pelt_bone_surfaces *given,
                                        const pelt_skin_tree *skin) {
    gathering g = {.arena = arena, .given = given, .skin = skin};
    uint32_t n = given->mesh->vertex_count, pieces = 0;
    g.pieces = PELT_NEW(arena, n, uint32_t), g.left_out = PELT_NEW(arena, given->mesh->triangle_count, bool);
    find_pieces(&g);
    for (uint32_t i = 0; i < n; i++) pieces += g.pieces[i] == i;
    g.list = PELT_NEW(arena, pieces, pelt_flesh_bone);
    for (uint32_t i = 0; i < n; i++)
        if (g.pieces[i] == i) add_piece(&g, i);
    g.found.list = g.list;
    return g.found;
}
