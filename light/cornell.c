/* cornell.c: the Cornell box as measured (cornell.edu, "The Cornell Box", data of 1998), in millimetres in the tables
   and metres in the scene. Its spectral reflectances are given as the linear RGB in common use. The camera is the
   original one, narrowed by 4% and raised by 1.4 mm so that every pixel of a square picture sees the box. */

#include "light/light.h"
#include <math.h>
#include <string.h>

enum { WHITE, RED, GREEN, MATERIALS };

static const pelt_material materials[MATERIALS] = {
    [WHITE] = {.albedo = {0.73f, 0.73f, 0.73f}},
    [RED] = {.albedo = {0.63f, 0.065f, 0.05f}},
    [GREEN] = {.albedo = {0.14f, 0.45f, 0.091f}},
};

typedef struct quad {
    uint32_t material;
    float corners[4][3];
} quad;

static const quad walls[] = {
    {WHITE, {{552.8f, 0, 0}, {0, 0, 0}, {0, 0, 559.2f}, {549.6f, 0, 559.2f}}},
    {WHITE, {{556, 548.8f, 0}, {556, 548.8f, 559.2f}, {0, 548.8f, 559.2f}, {0, 548.8f, 0}}},
    {WHITE, {{549.6f, 0, 559.2f}, {0, 0, 559.2f}, {0, 548.8f, 559.2f}, {556, 548.8f, 559.2f}}},
    {GREEN, {{0, 0, 559.2f}, {0, 0, 0}, {0, 548.8f, 0}, {0, 548.8f, 559.2f}}},
    {RED, {{552.8f, 0, 0}, {549.6f, 0, 559.2f}, {556, 548.8f, 559.2f}, {556, 548.8f, 0}}},
};

/* Movable objects: the room, then the blocks. */
static const char *const names[] = {"room", "short", "tall"};

/* Blocks stand on the floor: the corners of their tops, x and z, and their height. */
typedef struct block {
    float height, corners[4][2];
} block;

static const block blocks[] = {
    {165, {{130, 65}, {82, 225}, {240, 272}, {290, 114}}},
    {330, {{423, 247}, {265, 296}, {314, 456}, {472, 406}}},
};

enum {
    WALLS = sizeof walls / sizeof *walls,
    BLOCKS = sizeof blocks / sizeof *blocks,
    QUADS = WALLS + 5 * BLOCKS,
};

static void add_quad(pelt_scene *scene, const quad *q, uint32_t object) {
    static const uint32_t halves[6] = {0, 1, 2, 0, 2, 3};
    for (int i = 0; i < 6; i++)
        scene->triangles[3 * (size_t)scene->triangle_count + i] = scene->vertex_count + halves[i];
    for (int i = 0; i < 2; i++) scene->triangle_materials[scene->triangle_count++] = q->material;
    for (int i = 0; i < 4; i++, scene->vertex_count++) {
        scene->vertex_objects[scene->vertex_count] = object;
        for (int c = 0; c < 3; c++) scene->positions[3 * scene->vertex_count + c] = 0.001f * q->corners[i][c];
    }
}

static void add_block(pelt_scene *scene, const block *b, uint32_t object) {
    quad top = {WHITE, {{0}}};
    for (int i = 0; i < 4; i++) {
        const float *from = b->corners[i], *to = b->corners[(i + 1) % 4];
        quad side = {
            WHITE,
            {{from[0], b->height, from[1]}, {from[0], 0, from[1]}, {to[0], 0, to[1]}, {to[0], b->height, to[1]}}};
        memcpy(top.corners[i], side.corners[0], sizeof side.corners[0]);
        add_quad(scene, &side, object);
    }
    add_quad(scene, &top, object);
}

pelt_scene *pelt_cornell_box(pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_scene *scene = PELT_NEW(arena, 1, pelt_scene);
    float *positions = PELT_NEW(arena, 12 * QUADS, float);
    uint32_t *triangles = PELT_NEW(arena, 6 * QUADS, uint32_t), *of = PELT_NEW(arena, 2 * QUADS, uint32_t);
    pelt_material *kinds = PELT_NEW(arena, MATERIALS, pelt_material);
    const char **objects = PELT_NEW(arena, 1 + BLOCKS, const char *);
    int32_t *parents = PELT_NEW(arena, 1 + BLOCKS, int32_t);
    uint32_t *vertex_objects = PELT_NEW(arena, 4 * QUADS, uint32_t);
    if (pelt_arena_failed(arena)) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    *scene = (pelt_scene){.arena = arena, .name = "cornell", .positions = positions, .triangles = triangles};
    scene->triangle_materials = of, scene->materials = kinds;
    scene->material_count = MATERIALS;
    scene->object_count = 1 + BLOCKS, scene->object_names = objects;
    scene->object_parents = parents, scene->vertex_objects = vertex_objects;
    for (int i = 0; i < 1 + BLOCKS; i++) objects[i] = names[i], parents[i] = -1;
    memcpy(scene->materials, materials, sizeof materials);
    for (int i = 0; i < WALLS; i++) add_quad(scene, &walls[i], 0);
    for (int i = 0; i < BLOCKS; i++) add_block(scene, &blocks[i], 1 + (uint32_t)i);
    scene->has_camera = true;
    scene->camera = (pelt_camera){.eye = {0.278, 0.2744, -0.8},
                                  .axes = {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}},
                                  .field_of_view = 2 * atan(0.01195 / 0.035)};
    return scene;
}
