/* hand_shape.c: the skin of the hand, as the zero set of a distance-like function.

   The palm is a smooth union of its metacarpals, the ball of the thumb and the wrist; each finger is a smooth union of
   round cones around its bones; and the hand is a smooth union of the palm and of the nearest finger, so that fingers
   grow out of the palm and never into each other. The smooth union of a and b within k is

       min(a, b) - h^2 k / 4,    h = max(0, 1 - |a - b| / k).

   The surface is meshed by surface nets: one vertex in every cell of a grid that the surface passes through, one
   quadrilateral for every edge of the grid that it crosses. Vertices are then evened out along the surface. */

#include "samples/build.h"
#include "samples/hand.h"
#include <math.h>
#include <string.h>

/* -- The function -------------------------------------------------------------------------------------------------- */

/* A ball that moves from a to b while its radius changes: exact where it matters, between the two ends. */
typedef struct cone {
    double a[3], b[3], radius[2];
} cone;

enum { PALM_CONES = 7, FINGER_CONES = 3 };

typedef struct hand_shape {
    cone palm[PALM_CONES], fingers[HAND_FINGERS][FINGER_CONES];
} hand_shape;

static double cone_distance(const cone *c, const double place[3]) {
    double t, distance = sample_segment_distance(c->a, c->b, place, &t);
    return distance - c->radius[0] - t * (c->radius[1] - c->radius[0]);
}

static double smooth_union(double a, double b, double k) {
    double h = fmax(0, 1 - fabs(a - b) / k);
    return fmin(a, b) - h * h * k / 4;
}

/* Negative inside. */
static double field(const hand_shape *s, const double place[3]) {
    double palm = cone_distance(&s->palm[0], place), thumb = INFINITY, nearest = INFINITY;
    for (int i = 1; i < PALM_CONES; i++) palm = smooth_union(palm, cone_distance(&s->palm[i], place), 0.016);
    for (int f = 0; f < HAND_FINGERS; f++) {
        double finger = cone_distance(&s->fingers[f][0], place);
        for (int k = 1; k < FINGER_CONES; k++)
            finger = smooth_union(finger, cone_distance(&s->fingers[f][k], place), 0.003);
        if (f == HAND_THUMB)
            thumb = finger;
        else
            nearest = fmin(nearest, finger);
    }
    return smooth_union(smooth_union(palm, nearest, 0.007), thumb, 0.015);
}

static void gradient(const hand_shape *s, const double place[3], double out[3]) {
    const double step = 1e-5;
    for (int i = 0; i < 3; i++) {
        double low[3], high[3];
        for (int c = 0; c < 3; c++) low[c] = high[c] = place[c];
        low[i] -= step, high[i] += step;
        out[i] = (field(s, high) - field(s, low)) / (2 * step);
    }
}

void hand_wrist_point(int finger, double point[3]) {
    double points[4][3];
    hand_finger_points(finger, points);
    point[0] = 0.004, point[1] = 0, point[2] = 0.45 * points[0][2];
}

static cone cone_of(const double a[3], const double b[3], double first, double last) {
    return (cone){{a[0], a[1], a[2]}, {b[0], b[1], b[2]}, {first, last}};
}

static hand_shape make_shape(void) {
    static const double radii[HAND_FINGERS][4] = {{0.0100, 0.0090, 0.0081, 0.0067},
                                                  {0.0102, 0.0092, 0.0083, 0.0069},
                                                  {0.0098, 0.0088, 0.0079, 0.0066},
                                                  {0.0087, 0.0077, 0.0069, 0.0059},
                                                  {0.0150, 0.0117, 0.0106, 0.0083}};
    static const double palm_radii[HAND_THUMB][2] = {
        {0.0135, 0.0112}, {0.0145, 0.0115}, {0.0140, 0.0110}, {0.0135, 0.0100}};
    hand_shape s;
    for (int f = 0; f < HAND_FINGERS; f++) {
        double points[4][3], start[3];
        hand_finger_points(f, points);
        for (int k = 0; k < 3; k++) /* fingertips end where their ball does */
            s.fingers[f][k] = cone_of(points[k], points[k + 1], radii[f][k], radii[f][k + 1]);
        if (f == HAND_THUMB) continue;
        hand_wrist_point(f, start);
        s.palm[f] = cone_of(start, points[0], palm_radii[f][0], palm_radii[f][1]);
    }
    s.palm[4] = cone_of((double[3]){-0.055, 0, 0.011}, (double[3]){0.004, 0, 0.012}, 0.0195, 0.0165);
    s.palm[5] = cone_of((double[3]){-0.055, 0, -0.011}, (double[3]){0.004, 0, -0.012}, 0.0195, 0.0165);
    /* The heel of the hand, below the little finger. */
    s.palm[6] = cone_of((double[3]){0.018, -0.006, -0.024}, (double[3]){0.060, -0.005, -0.032}, 0.0125, 0.0105);
    return s;
}

/* -- Surface nets -------------------------------------------------------------------------------------------------- */

static const double box_low[3] = {-0.085, -0.075, -0.068}, box_high[3] = {0.215, 0.040, 0.125};

typedef struct net {
    double step;
    size_t size[3];   /* points of the grid */
    float *values;    /* at its points */
    uint32_t *vertex; /* of its cells, by their first point; UINT32_MAX: none */
    const hand_shape *shape;
} net;

static size_t grid_index(const net *n, size_t x, size_t y, size_t z) { return (z * n->size[1] + y) * n->size[0] + x; }

static void fill_layer(void *user, size_t z, pelt_arena *scratch) {
    (void)scratch;
    const net *n = user;
    for (size_t y = 0; y < n->size[1]; y++)
        for (size_t x = 0; x < n->size[0]; x++) {
            double place[3] = {box_low[0] + n->step * (double)x, box_low[1] + n->step * (double)y,
                               box_low[2] + n->step * (double)z};
            n->values[grid_index(n, x, y, z)] = (float)field(n->shape, place);
        }
}

/* The middle of the points at which the surface crosses the edges of a cell; false: it does not. */
static bool cell_point(const net *n, const size_t cell[3], double out[3]) {
    double value[8], sum[3] = {0};
    int crossings = 0;
    for (int c = 0; c < 8; c++)
        value[c] = n->values[grid_index(n, cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2 & 1))];
    for (int c = 0; c < 8; c++)
        for (int axis = 0; axis < 3; axis++) {
            int other = c | 1 << axis;
            if (other == c || (value[c] < 0) == (value[other] < 0)) continue;
            double along = value[c] / (value[c] - value[other]);
            for (int i = 0; i < 3; i++) sum[i] += (c >> i & 1) + (i == axis ? along : 0);
            crossings++;
        }
    for (int i = 0; i < 3 && crossings; i++) out[i] = box_low[i] + n->step * ((double)cell[i] + sum[i] / crossings);
    return crossings > 0;
}

/* Vertices of all cells that the surface passes through; writes their positions if there are no more than `most`. */
static uint32_t place_vertices(net *n, uint32_t most, float *positions) {
    uint32_t count = 0;
    for (size_t z = 0; z + 1 < n->size[2]; z++)
        for (size_t y = 0; y + 1 < n->size[1]; y++)
            for (size_t x = 0; x + 1 < n->size[0]; x++) {
                double point[3];
                n->vertex[grid_index(n, x, y, z)] = UINT32_MAX;
                if (!cell_point(n, (size_t[3]){x, y, z}, point)) continue;
                for (int i = 0; i < 3 && count < most; i++) positions[3 * (size_t)count + (size_t)i] = (float)point[i];
                n->vertex[grid_index(n, x, y, z)] = count++;
            }
    return count;
}

static double squared_distance(const float *positions, uint32_t a, uint32_t b) {
    double sum = 0;
    for (size_t i = 0; i < 3; i++) sum += pow((double)positions[3 * (size_t)a + i] - positions[3 * (size_t)b + i], 2);
    return sum;
}

/* Two triangles, divided by the shorter diagonal. */
static uint32_t *add_quadrilateral(const float *positions, const uint32_t q[4], uint32_t *out) {
    int shift = squared_distance(positions, q[0], q[2]) <= squared_distance(positions, q[1], q[3]) ? 0 : 1;
    uint32_t corners[6] = {q[shift], q[shift + 1], q[shift + 2], q[shift], q[shift + 2], q[(shift + 3) % 4]};
    memcpy(out, corners, sizeof corners);
    return out + 6;
}

/* Every edge of the grid that the surface crosses is between four cells. */
static void join_cells(const net *n, pelt_mesh *mesh) {
    uint32_t *out = mesh->triangles;
    for (size_t z = 1; z + 1 < n->size[2]; z++)
        for (size_t y = 1; y + 1 < n->size[1]; y++)
            for (size_t x = 1; x + 1 < n->size[0]; x++)
                for (int axis = 0; axis < 3; axis++) {
                    size_t here[3] = {x, y, z}, next[3] = {x, y, z}, cells[4][3];
                    next[axis]++;
                    bool inside = n->values[grid_index(n, x, y, z)] < 0;
                    if (inside == (n->values[grid_index(n, next[0], next[1], next[2])] < 0)) continue;
                    uint32_t q[4];
                    for (int k = 0; k < 4; k++) { /* counter-clockwise about the axis */
                        memcpy(cells[k], here, sizeof here);
                        if (k == 0 || k == 3) cells[k][(axis + 1) % 3]--;
                        if (k < 2) cells[k][(axis + 2) % 3]--;
                        q[inside ? k : 3 - k] = n->vertex[grid_index(n, cells[k][0], cells[k][1], cells[k][2])];
                    }
                    out = add_quadrilateral(mesh->positions, q, out);
                }
    mesh->triangle_count = (uint32_t)((out - mesh->triangles) / 3);
}

/* Between fingers two sheets of the surface can share a cell, and then its vertex: edges of the surface have four
   triangles. Whether every edge has two. Sorting would do as well, but a vertex has few triangles: they are chained. */
static bool is_closed(pelt_arena *arena, const pelt_mesh *mesh) {
    size_t count = 3 * (size_t)mesh->triangle_count;
    uint32_t *first = PELT_NEW(arena, mesh->vertex_count, uint32_t), *next = PELT_NEW(arena, count, uint32_t);
    for (size_t i = 0; i < count; i++) {
        uint32_t from = mesh->triangles[i], to = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
        for (uint32_t e = first[from]; e; e = next[e - 1])
            if (mesh->triangles[e % 3 == 0 ? e - 3 : e] == to) return false;
        next[i] = first[from], first[from] = (uint32_t)i + 1;
    }
    return true;
}

/* -- Evening out --------------------------------------------------------------------------------------------------- */

typedef struct relaxing {
    const hand_shape *shape;
    const float *from;
    float *to;
    double (*sums)[3]; /* of neighbours */
    uint32_t *counts;
} relaxing;

/* Half way to the middle of its neighbours, along the surface, and back onto it. */
static void relax_vertex(void *user, size_t v, pelt_arena *scratch) {
    (void)scratch;
    const relaxing *r = user;
    double place[3], slope[3], move[3], square = 0, across = 0;
    for (size_t i = 0; i < 3; i++) place[i] = r->from[3 * v + i];
    gradient(r->shape, place, slope);
    for (int i = 0; i < 3; i++) {
        move[i] = 0.5 * (r->sums[v][i] / r->counts[v] - place[i]);
        square += slope[i] * slope[i], across += slope[i] * move[i];
    }
    for (int i = 0; i < 3; i++) place[i] += move[i] - slope[i] * across / square;
    for (int round = 0; round < 2; round++) {
        double value = field(r->shape, place);
        gradient(r->shape, place, slope);
        square = slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2];
        for (int i = 0; i < 3; i++) place[i] -= value * slope[i] / square;
    }
    for (size_t i = 0; i < 3; i++) r->to[3 * v + i] = (float)place[i];
}

static void relax(pelt_arena *arena, const hand_shape *shape, pelt_mesh *mesh) {
    size_t n = mesh->vertex_count;
    relaxing r = {shape, mesh->positions, PELT_NEW(arena, 3 * n, float), pelt_alloc(arena, n, sizeof *r.sums),
                  PELT_NEW(arena, n, uint32_t)};
    for (int round = 0; round < 8; round++) {
        memset(r.sums, 0, n * sizeof *r.sums), memset(r.counts, 0, n * sizeof *r.counts);
        for (size_t t = 0; t < 3 * (size_t)mesh->triangle_count; t++) {
            uint32_t a = mesh->triangles[t], b = mesh->triangles[t % 3 == 2 ? t - 2 : t + 1];
            for (size_t i = 0; i < 3; i++) r.sums[a][i] += mesh->positions[3 * (size_t)b + i];
            r.counts[a]++;
        }
        pelt_parallel(arena, 0, n, relax_vertex, &r);
        memcpy(mesh->positions, r.to, 3 * n * sizeof *r.to);
    }
}

/* The grid of a given fineness, and the vertices that it gives. */
static uint32_t make_net(pelt_arena *arena, double step, uint32_t most, net *n, float *positions) {
    size_t points = 1;
    n->step = step;
    for (int i = 0; i < 3; i++) {
        n->size[i] = (size_t)ceil((box_high[i] - box_low[i]) / step) + 1;
        points *= n->size[i];
    }
    n->values = PELT_NEW(arena, points, float);
    n->vertex = PELT_NEW(arena, points, uint32_t);
    pelt_parallel(arena, 0, n->size[2], fill_layer, n);
    return place_vertices(n, most, positions);
}

/* The number of vertices is in proportion to the square of the fineness, as a coarse grid tells; nearly. */
void hand_mesh(pelt_arena *arena, pelt_mesh *mesh) {
    PELT_SCOPED pelt_arena *own = pelt_arena_inside(arena);
    const double coarse = 0.004;
    hand_shape shape = make_shape();
    net n = {.shape = &shape};
    uint32_t most = mesh->vertex_count, count = make_net(own, coarse, most, &n, mesh->positions);
    double step = coarse * sqrt(1.01 * count / most);
    for (bool fits = false; !fits; step *= 1.003) {
        count = mesh->vertex_count = make_net(own, step, most, &n, mesh->positions);
        if (count > most) continue;
        join_cells(&n, mesh);
        fits = is_closed(own, mesh);
    }
    relax(own, &shape, mesh);
}
