/* solids.h: boxes of tetrahedra, and their bones, for tests of flesh. */

#ifndef PELT_TEST_SOLIDS_H
#define PELT_TEST_SOLIDS_H

#include "flesh/inside.h"
#include "rig/maths.h"
#include <string.h>

/* A box of cells, six tetrahedra each; nothing is fixed. */
static inline pelt_solid_shape box_solid(pelt_arena *arena, const uint32_t cells[3], const double size[3],
                                         pelt_solid_material material) {
    uint32_t nx = cells[0] + 1, ny = cells[1] + 1, nz = cells[2] + 1, count = cells[0] * cells[1] * cells[2];
    double *nodes = PELT_NEW(arena, 3 * (size_t)nx * ny * nz, double);
    int32_t *bones = PELT_NEW(arena, (size_t)nx * ny * nz, int32_t);
    uint32_t *elements = PELT_NEW(arena, 24 * (size_t)count, uint32_t), *next = elements;
    pelt_solid_material *materials = PELT_NEW(arena, 6 * (size_t)count, pelt_solid_material);
    for (uint32_t i = 0; i < nx * ny * nz; i++) {
        uint32_t at[3] = {i % nx, i / nx % ny, i / (nx * ny)};
        for (int k = 0; k < 3; k++) nodes[3 * i + (uint32_t)k] = size[k] * at[k] / cells[k];
        bones[i] = PELT_NO_BONE;
    }
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    for (uint32_t c = 0; c < count; c++)
        for (int t = 0; t < 6; t++) {
            uint32_t at[3] = {c % cells[0], c / cells[0] % cells[1], c / (cells[0] * cells[1])}, corners[4];
            for (int k = 0; k < 4; k++) {
                corners[k] = at[0] + nx * (at[1] + ny * at[2]);
                if (k < 3) at[orders[t][k]]++;
            }
            next[0] = corners[0], next[3] = corners[3]; /* odd orders would be inside out */
            next[1] = corners[t < 3 ? 1 : 2], next[2] = corners[t < 3 ? 2 : 1];
            next += 4;
            materials[6 * c + (uint32_t)t] = material;
        }
    return (pelt_solid_shape){.node_count = nx * ny * nz,
                              .element_count = 6 * count,
                              .bone_count = 2,
                              .nodes_per_element = 4,
                              .nodes = nodes,
                              .node_bones = bones,
                              .elements = elements,
                              .materials = materials};
}

/* Fixes the nodes at both ends of x to bones 0 and 1. */
static inline void fix_ends(pelt_solid_shape *shape, double length) {
    int32_t *bones = (int32_t *)shape->node_bones;
    for (uint32_t i = 0; i < shape->node_count; i++) {
        double x = shape->nodes[3 * i];
        bones[i] = x < 1e-9 ? 0 : x > length - 1e-9 ? 1 : PELT_NO_BONE;
    }
}

static inline pelt_affine shift_by(double x, double y, double z) {
    return (pelt_affine){{1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z}};
}

/* A turn about the line through (0, y, z) along x. */
static inline pelt_affine turn_about_x(double degrees, double y, double z) {
    double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    return (pelt_affine){{1, 0, 0, 0, 0, c, -s, y - c * y + s * z, 0, s, c, z - s * y - c * z}};
}

static inline pelt_affine turn_about_z(double degrees, double x, double y) {
    double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    return (pelt_affine){{c, -s, 0, x - c * x + s * y, s, c, 0, y - s * x - c * y, 0, 0, 1, 0}};
}

#endif
