/* face_shape.c: a procedural face, for when no real one is available: a head and neck as a grid of rings, with nose,
   eyes, and a mouth with parted lips; and the 51 shapes, each a few soft pushes. Centimetres. */

#include "samples/face_build.h"
#include <math.h>
#include <string.h>

enum { ROWS = 62, COLUMNS = 50, MOUTH_ROW = 28, MOUTH_FROM = 20, MOUTH_TO = 29 };

static const double low = -19, high = 14, mouth_y = -3.4, half_turn = 1.9;

/* A soft push: at (x, y), over (rx, ry), by (dx, dy, dz). */
typedef struct push {
    const char *shape; /* of the left side; "" in place of Left means both sides at once */
    double x, y, rx, ry, dx, dy, dz;
} push;

static const push sided[] = {
    {"browDown", 4, 6, 2.2, 1.6, -0.2, -0.6, 0.1},        {"browOuterUp", 5, 5.5, 2, 1.8, 0.1, 0.8, 0},
    {"cheekSquint", 4, 0.2, 2.2, 1.6, 0, 0.6, 0.2},       {"eyeBlink", 3.2, 4.2, 1.3, 0.7, 0, -0.95, 0.1},
    {"eyeLookDown", 3.2, 4.1, 1.2, 0.7, 0, -0.5, 0},      {"eyeLookIn", 3.2, 3.7, 1.2, 0.8, -0.2, 0, 0},
    {"eyeLookOut", 3.2, 3.7, 1.2, 0.8, 0.2, 0, 0},        {"eyeLookUp", 3.2, 4.2, 1.2, 0.7, 0, 0.35, 0},
    {"eyeSquint", 3.6, 2.4, 1.8, 0.9, 0, 0.4, 0},         {"eyeWide", 3.2, 4.3, 1.3, 0.7, 0, 0.35, 0},
    {"mouthDimple", 2.8, -3.5, 1.6, 1.5, 0.5, 0.1, -0.5}, {"mouthFrown", 2.5, -3.6, 1.6, 1.5, 0.2, -0.6, 0},
    {"mouthLowerDown", 1.3, -4.1, 1.3, 1, 0.1, -0.5, 0},  {"mouthPress", 2, -3.5, 1.5, 1, 0, 0.2, -0.3},
    {"mouthSmile", 2.8, -3.2, 2.2, 2, 0.8, 0.9, -0.6},    {"mouthStretch", 2.8, -3.8, 2, 2, 0.9, -0.3, -0.4},
    {"mouthUpperUp", 1.5, -2.4, 1.5, 1.3, 0.1, 0.8, 0.2}, {"noseSneer", 1.4, -0.2, 1.5, 1.7, 0.2, 0.9, 0.1},
};

static const push middle[] = {
    {"browInnerUp", 0, 6, 3, 1.8, 0, 0.7, 0.1},
    {"cheekPuff", 4.2, -3, 2.2, 2.2, 0.9, 0, 0.9},
    {"cheekPuff", -4.2, -3, 2.2, 2.2, -0.9, 0, 0.9},
    {"jawForward", 0, -6.5, 5, 4, 0, 0, 1.1},
    {"jawLeft", 0, -6.5, 5, 4, 0.9, 0, 0},
    {"jawRight", 0, -6.5, 5, 4, -0.9, 0, 0},
    {"mouthClose", 0, -4.4, 2.4, 1.1, 0, 1.6, 0},
    {"mouthFunnel", 0, -3.4, 2.2, 1.8, 0, 0, 1.1},
    {"mouthLeft", 0, -3.4, 3, 2.2, 1.6, 0, 0},
    {"mouthPucker", 0, -3.4, 2, 1.5, 0, 0, 1},
    {"mouthPucker", 2, -3.4, 1.2, 1.2, -0.8, 0, 0.3},
    {"mouthPucker", -2, -3.4, 1.2, 1.2, 0.8, 0, 0.3},
    {"mouthRight", 0, -3.4, 3, 2.2, -1.6, 0, 0},
    {"mouthRollLower", 0, -4.1, 2, 0.8, 0, 0.5, -0.8},
    {"mouthRollUpper", 0, -2.8, 2, 0.8, 0, -0.5, -0.8},
    {"mouthShrugLower", 0, -5, 2.4, 1.6, 0, 0.9, 0.3},
    {"mouthShrugUpper", 0, -2.4, 2, 1, 0, 0.5, 0.2},
};

static double gauss(double x, double y) { return exp(-x * x - y * y); }

/* A row's height; two rows, almost touching, are the edges of the lips. */
static double row_height(int row) {
    if (row < MOUTH_ROW) return low + (mouth_y - 0.01 - low) * row / (MOUTH_ROW - 1);
    return mouth_y + 0.01 + (high - mouth_y - 0.01) * (row - MOUTH_ROW) / (ROWS - 1 - MOUTH_ROW);
}

static void place(int row, int column, float out[3]) {
    double y = row_height(row), turn = half_turn * (2.0 * column / (COLUMNS - 1) - 1);
    double head = sqrt(fmax(0.02, 1 - pow((y - 1) / 13.5, 2))), neck = 1 / (1 + exp((y + 8.5) / 1.2));
    double wide = 8.6 * head + neck * (6.5 - 8.6 * head), deep = 10 * head + neck * (6 - 10 * head);
    double x = wide * sin(turn), z = deep * cos(turn);
    if (cos(turn) > 0) {
        z += 2.2 * gauss(x / 1.1, (y - 0.2) / 2) + 0.7 * gauss(x / 2.4, (y - mouth_y) / 1.4);
        z += 0.7 * (gauss((x - 3.2) / 1.2, (y - 3.7) / 1.1) + gauss((x + 3.2) / 1.2, (y - 3.7) / 1.1));
        z -= 0.9 * (gauss((x - 3.2) / 2.4, (y - 3.7) / 2) + gauss((x + 3.2) / 2.4, (y - 3.7) / 2));
    }
    out[0] = (float)x, out[1] = (float)y, out[2] = (float)z;
}

static void make_triangles(pelt_mesh *mesh) {
    for (int row = 0; row + 1 < ROWS; row++)
        for (int column = 0; column + 1 < COLUMNS; column++) {
            if (row + 1 == MOUTH_ROW && column >= MOUTH_FROM && column < MOUTH_TO) continue;
            uint32_t a = (uint32_t)(row * COLUMNS + column), b = a + 1, c = a + COLUMNS, d = c + 1;
            uint32_t corners[6] = {a, b, d, a, d, c};
            memcpy(mesh->triangles + 3 * (size_t)mesh->triangle_count, corners, sizeof corners);
            mesh->triangle_count += 2;
        }
}

static void add_push(const push *p, double mirror, const pelt_mesh *mesh, float *deltas) {
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const float *x = mesh->positions + 3 * (size_t)v;
        if (x[2] < 0) continue;
        bool lower = strstr(p->shape, "Lower") || strstr(p->shape, "Close"),
             upper = strstr(p->shape, "Upper") || strstr(p->shape, "Sneer");
        if ((lower && x[1] > mouth_y) || (upper && x[1] < mouth_y)) continue; /* the lips are apart */
        double w = gauss((x[0] - mirror * p->x) / p->rx, (x[1] - p->y) / p->ry);
        if (w < 1e-3) continue;
        deltas[3 * (size_t)v] += (float)(w * mirror * p->dx);
        deltas[3 * (size_t)v + 1] += (float)(w * p->dy);
        deltas[3 * (size_t)v + 2] += (float)(w * p->dz);
    }
}

/* The jaw hangs from a hinge below the ears; the lower lip follows it fully, the cheeks partly. */
static void open_jaw(const pelt_mesh *mesh, float *deltas) {
    static const float hinge[3] = {0, -1, 2};
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const float *x = mesh->positions + 3 * (size_t)v;
        double side = gauss(x[0] / 6, 0), below = x[1] < mouth_y ? 1 : exp(-pow((x[1] - mouth_y) / 1.5, 2)) * 0.5;
        if (fabs(x[0]) < 2.6 && x[1] > mouth_y) below *= 0.1 + 0.9 * pow(fabs(x[0]) / 2.6, 2);
        double weight = side * below * sample_ramp(-11, -8, x[1]) * sample_ramp(2, 5, x[2]);
        float moved[3] = {x[0], x[1], x[2]};
        face_turn(hinge, (float[3]){(float)(0.42 * weight), 0, 0}, moved);
        for (int i = 0; i < 3; i++) deltas[3 * (size_t)v + (size_t)i] = moved[i] - x[i];
    }
}

static bool is_side(const char *name, const char *shape, const char *side) {
    size_t n = strlen(shape);
    return !strncmp(name, shape, n) && !strcmp(name + n, side);
}

static void make_shape(const pelt_mesh *mesh, const char *name, float *deltas) {
    for (size_t i = 0; i < sizeof sided / sizeof *sided; i++) {
        if (is_side(name, sided[i].shape, "Left")) add_push(&sided[i], 1, mesh, deltas);
        if (is_side(name, sided[i].shape, "Right")) add_push(&sided[i], -1, mesh, deltas);
    }
    for (size_t i = 0; i < sizeof middle / sizeof *middle; i++)
        if (is_side(name, middle[i].shape, "")) add_push(&middle[i], 1, mesh, deltas);
    if (!strcmp(name, "jawOpen")) open_jaw(mesh, deltas);
}

void face_shape_make(pelt_arena *arena, pelt_mesh *mesh) {
    uint32_t n = mesh->vertex_count = ROWS * COLUMNS;
    mesh->positions = PELT_NEW(arena, 3 * (size_t)n, float);
    mesh->normals = PELT_NEW(arena, 3 * (size_t)n, float);
    mesh->triangles = PELT_NEW(arena, 6 * (size_t)n, uint32_t);
    mesh->targets = PELT_NEW(arena, FACE_SHAPES, pelt_target);
    uint32_t *all = PELT_NEW(arena, n, uint32_t);
    for (uint32_t v = 0; v < n; v++) {
        place((int)v / COLUMNS, (int)v % COLUMNS, mesh->positions + 3 * (size_t)v);
        all[v] = v;
    }
    make_triangles(mesh);
    pelt_mesh_normals(mesh->positions, n, mesh->triangles, mesh->triangle_count, mesh->normals);
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, n);
    for (uint32_t s = 0; s < FACE_SHAPES; s++) {
        float *deltas = PELT_NEW(arena, 3 * (size_t)n, float);
        mesh->targets[s] = (pelt_target){pelt_face_control_name(s), n, all, deltas};
        make_shape(mesh, mesh->targets[s].name, deltas);
    }
    mesh->target_count = FACE_SHAPES;
}
