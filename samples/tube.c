/* tube.c: even, closed meshes with an exact number of vertices.

   Rings run around the surface from pole to pole. All rings of the body have the same number n of vertices, so that it
   is a regular grid, and they are spaced so that its cells are about square: spacing(t) = girth(t) / n. In the caps,
   the spacing stays that of the rim and the rings have fewer vertices, in proportion to their girth. Two rings are
   joined by walking around both at once. Vertices missing from the exact count go to the rings of the first cap. */

#include "samples/build.h"
#include <math.h>

enum { STATIONS = 256, SPOKES = 24 };

/* The surface measured at evenly spaced t. */
typedef struct survey {
    double girth[STATIONS + 1];
    double rows[STATIONS + 1];  /* rings up to here, for one vertex per ring */
    double share[STATIONS + 1]; /* fraction of the full vertex count that a ring here gets */
    double area;                /* vertices of the whole tube, for one vertex per ring */
} survey;

typedef struct layout {
    const tube_shape *shape;
    const survey *survey;
    uint32_t around, ring_count; /* ring 0 and ring_count - 1 are the poles */
    uint32_t *first;             /* [ring_count + 1] first vertex of each ring */
    float *positions;
} layout;

static double distance(const double a[3], const double b[3]) {
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

static void survey_tube(const tube_shape *shape, survey *out) {
    double ring[2][SPOKES][3], step[STATIONS + 1] = {0};
    for (int k = 0; k <= STATIONS; k++) {
        out->girth[k] = 0;
        for (int i = 0; i < SPOKES; i++)
            shape->point(shape->user, (double)k / STATIONS, (double)i / SPOKES, ring[k % 2][i]);
        for (int i = 0; i < SPOKES; i++) {
            out->girth[k] += distance(ring[k % 2][i], ring[k % 2][(i + 1) % SPOKES]);
            if (k) step[k] += distance(ring[0][i], ring[1][i]) / SPOKES;
        }
    }
    double rim[2] = {out->girth[(int)ceil(shape->cap[0] * STATIONS)], out->girth[(int)floor(shape->cap[1] * STATIONS)]};
    out->rows[0] = out->area = 0;
    for (int k = 0; k <= STATIONS; k++) {
        double t = (double)k / STATIONS;
        double least = t < shape->cap[0] ? rim[0] : t > shape->cap[1] ? rim[1] : 0;
        out->share[k] = least > 0 ? fmin(1, out->girth[k] / least) : 1;
        if (k) {
            double rows = step[k] / fmax(least, (out->girth[k] + out->girth[k - 1]) / 2);
            out->rows[k] = out->rows[k - 1] + rows;
            out->area += rows * (out->share[k] + out->share[k - 1]) / 2;
        }
    }
}

/* Where ring i is: its station and the fraction of the way to the next. */
static double ring_station(const layout *l, uint32_t i) {
    const double *rows = l->survey->rows, wanted = rows[STATIONS] * i / (l->ring_count - 1);
    int low = 0, high = STATIONS;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (rows[middle] <= wanted)
            low = middle;
        else
            high = middle;
    }
    return low + (rows[high] > rows[low] ? (wanted - rows[low]) / (rows[high] - rows[low]) : 0);
}

static uint32_t ring_size(const layout *l, uint32_t i) {
    if (i == 0 || i + 1 == l->ring_count) return 1;
    double station = ring_station(l, i);
    int k = (int)fmin(station, STATIONS - 1);
    double share = l->survey->share[k] + (station - k) * (l->survey->share[k + 1] - l->survey->share[k]);
    return (uint32_t)fmax(fmin(4, l->around), round(share * l->around));
}

static uint32_t total_size(layout *l, uint32_t ring_count) {
    uint32_t total = 0;
    l->ring_count = ring_count;
    for (uint32_t i = 0; i < ring_count; i++) total += ring_size(l, i);
    return total;
}

/* Chooses the numbers of rings and of vertices around, and distributes what is missing from the exact count. */
static void plan_rings(pelt_arena *arena, uint32_t vertex_count, layout *l) {
    l->around = 4 * (uint32_t)fmax(1, round(sqrt(vertex_count / l->survey->area) / 4));
    while (l->around > 4 && l->around + 2 > vertex_count) l->around -= 4;
    uint32_t rings = (uint32_t)fmax(3, l->around * l->survey->rows[STATIONS]);
    while (total_size(l, rings + 1) <= vertex_count) rings++;
    while (rings > 3 && total_size(l, rings) > vertex_count) rings--;
    uint32_t missing = vertex_count - total_size(l, rings), in_cap = 1;
    l->first = PELT_NEW(arena, rings + 1, uint32_t);
    while (in_cap + 2 < rings && ring_size(l, in_cap + 1) < l->around) in_cap++;
    for (uint32_t i = 0; i < rings; i++) {
        uint32_t extra = i >= 1 && i <= in_cap ? missing / in_cap + (i <= missing % in_cap) : 0;
        l->first[i + 1] = l->first[i] + ring_size(l, i) + extra;
    }
}

static void place_ring(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    const layout *l = user;
    double t = ring_station(l, (uint32_t)i) / STATIONS, point[3];
    uint32_t begin = l->first[i], size = l->first[i + 1] - begin;
    for (uint32_t k = 0; k < size; k++) {
        l->shape->point(l->shape->user, t, (double)k / size, point);
        for (int c = 0; c < 3; c++) l->positions[3 * (size_t)(begin + k) + (size_t)c] = (float)point[c];
    }
}

/* Triangles between the ring of `a` vertices starting at `from` and the next one, of `b`: always step the ring that
   lags. */
static uint32_t *join_rings(uint32_t from, uint32_t a, uint32_t b, uint32_t *triangles) {
    uint32_t to = from + a, i = 0, k = 0;
    while ((a > 1 && i < a) || (b > 1 && k < b)) {
        bool step_first = b == 1 || k == b || (a > 1 && i < a && (uint64_t)(i + 1) * b <= (uint64_t)(k + 1) * a);
        *triangles++ = from + i % a;
        *triangles++ = step_first ? from + (i + 1) % a : to + (k + 1) % b;
        *triangles++ = to + k % b;
        if (step_first)
            i++;
        else
            k++;
    }
    return triangles;
}

void tube_mesh(pelt_arena *arena, const tube_shape *shape, uint32_t vertex_count, uint32_t base, float *positions,
               uint32_t *triangles) {
    survey measured;
    survey_tube(shape, &measured);
    layout l = {shape, &measured, 0, 0, NULL, positions};
    plan_rings(arena, vertex_count, &l);
    pelt_parallel(arena, 0, l.ring_count, place_ring, &l);
    for (uint32_t i = 0; i + 1 < l.ring_count; i++)
        triangles =
            join_rings(base + l.first[i], l.first[i + 1] - l.first[i], l.first[i + 2] - l.first[i + 1], triangles);
}
