/* surface.c: points on surfaces.

   Coplanar triangles that share edges form a *piece*. A visible side of a piece is a *chart*: a rectangle in its plane,
   divided into squares of nearly equal size, with a point at the centre of each square that is on the piece. Charts are
   packed into one picture, the *map*. Light between points is bilinear. */

#include "light/surface.h"
#include "light/tracer.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ON_A_SIDE = 8192, MIXED_AT_ONCE = LANES / 4, PART = 1024 };

#define NONE UINT32_MAX

typedef struct chart {
    uint32_t piece, object;
    bool back;
    double origin[3], axes[3][3]; /* of the rectangle, at rest: along its sides, and the normal of the visible side */
    double step[2];               /* sides of a square */
    uint32_t columns, rows, x, y; /* in the map */
    double placed_origin[3], placed_axes[3][3]; /* where the object is now */
} chart;

struct pelt_light_surfaces {
    pelt_arena *arena;
    const pelt_scene *scene;
    const float *positions;
    uint32_t piece_count;
    uint32_t *pieces;            /* [triangle_count] */
    uint32_t *first, *triangles; /* triangles[first[p]] to triangles[first[p + 1] - 1] are those of piece p */
    bool *seen;                  /* [piece_count][2] front and back */
    uint32_t *charts_of;         /* [piece_count][2] or NONE */
    chart *charts;
    uint32_t chart_count, map_width, map_height;
    uint32_t *map; /* [map_height][map_width] points, or NONE */
    size_t point_count;
    pelt_light_point *rest; /* [point_count] */
    float lift;
};

/* -- Vectors ------------------------------------------------------------------------------------------------------- */

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross3(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* False if there is no direction. */
static bool unit3(double a[3]) {
    double length = sqrt(dot3(a, a));
    if (!(length > 0) || !isfinite(length)) return false;
    for (int c = 0; c < 3; c++) a[c] /= length;
    return true;
}

static const float *corner(const pelt_light_surfaces *s, uint32_t triangle, int k) {
    return s->positions + 3 * (size_t)s->scene->triangles[3 * (size_t)triangle + k];
}

static void edge(const pelt_light_surfaces *s, uint32_t triangle, int from, int to, double out[3]) {
    const float *a = corner(s, triangle, from), *b = corner(s, triangle, to);
    for (int c = 0; c < 3; c++) out[c] = (double)b[c] - a[c];
}

/* The normal; its length is twice the triangle's area. */
static void triangle_normal(const pelt_light_surfaces *s, uint32_t triangle, double out[3]) {
    double u[3], v[3];
    edge(s, triangle, 0, 1, u);
    edge(s, triangle, 0, 2, v);
    cross3(u, v, out);
}

/* -- Pieces -------------------------------------------------------------------------------------------------------- */

typedef struct side {
    uint32_t low, high, triangle; /* the vertices of an edge */
} side;

static int compare_sides(const void *a, const void *b) {
    const side *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return x->triangle < y->triangle ? -1 : x->triangle > y->triangle;
}

static uint32_t root_of(uint32_t *parents, uint32_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

static bool same_plane(const pelt_light_surfaces *s, uint32_t a, uint32_t b) {
    double n[3], m[3], way[3], size[3];
    triangle_normal(s, a, n);
    triangle_normal(s, b, m);
    if (!unit3(n) || !unit3(m) || dot3(n, m) < 0.99999) return false;
    edge(s, b, 0, 1, size);
    for (int k = 0; k < 3; k++) {
        for (int c = 0; c < 3; c++) way[c] = (double)corner(s, b, k)[c] - corner(s, a, 0)[c];
        if (fabs(dot3(n, way)) > 1e-4 * sqrt(dot3(size, size))) return false;
    }
    return true;
}

/* Joins coplanar neighbours, then numbers the pieces in the order of their first triangles. */
static void find_pieces(pelt_light_surfaces *s, side *sides, uint32_t *parents) {
    size_t count = 3 * (size_t)s->scene->triangle_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t t = (uint32_t)(i / 3), a = s->scene->triangles[i], b = s->scene->triangles[3 * t + (i + 1) % 3];
        sides[i] = (side){a < b ? a : b, a < b ? b : a, t};
        parents[t] = t;
    }
    qsort(sides, count, sizeof *sides, compare_sides);
    for (size_t i = 1; i < count; i++) {
        if (sides[i].low != sides[i - 1].low || sides[i].high != sides[i - 1].high) continue;
        uint32_t a = root_of(parents, sides[i - 1].triangle), b = root_of(parents, sides[i].triangle);
        if (a != b && same_plane(s, sides[i - 1].triangle, sides[i].triangle)) parents[a > b ? a : b] = a < b ? a : b;
    }
    for (uint32_t t = 0; t < s->scene->triangle_count; t++) {
        uint32_t root = root_of(parents, t);
        s->pieces[t] = root == t ? s->piece_count++ : s->pieces[root];
    }
}

static void list_triangles(pelt_light_surfaces *s) {
    for (uint32_t t = 0; t < s->scene->triangle_count; t++) s->first[s->pieces[t] + 1]++;
    for (uint32_t p = 0; p < s->piece_count; p++) s->first[p + 1] += s->first[p];
    for (uint32_t t = s->scene->triangle_count; t-- > 0;) /* backwards: `first` is counted down and up again */
        s->triangles[--s->first[s->pieces[t] + 1]] = t;
    memmove(s->first, s->first + 1, s->piece_count * sizeof *s->first);
    s->first[s->piece_count] = s->scene->triangle_count;
}

pelt_light_surfaces *pelt_light_surfaces_new(pelt_arena *arena, const pelt_scene *scene, const float *positions,
                                             pelt_error *error) {
    size_t n = scene->triangle_count;
    pelt_light_surfaces *s = PELT_NEW(arena, 1, pelt_light_surfaces);
    uint32_t *parents = PELT_NEW(arena, n, uint32_t), *pieces = PELT_NEW(arena, n, uint32_t);
    side *sides = PELT_NEW(arena, 3 * n, side);
    uint32_t *first = PELT_NEW(arena, n + 2, uint32_t), *triangles = PELT_NEW(arena, n, uint32_t);
    bool *seen = PELT_NEW(arena, 2 * n, bool);
    uint32_t *charts_of = PELT_NEW(arena, 2 * n, uint32_t);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error), NULL;
    *s = (pelt_light_surfaces){.arena = arena, .scene = scene, .positions = positions, .pieces = pieces};
    s->first = first, s->triangles = triangles, s->seen = seen, s->charts_of = charts_of;
    find_pieces(s, sides, parents);
    list_triangles(s);
    return s;
}

/* -- Visibility ---------------------------------------------------------------------------------------------------- */

void pelt_light_surfaces_see(pelt_light_surfaces *s, const pelt_light_point *pixels, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (pixels[i].hit) s->seen[2 * (size_t)s->pieces[pixels[i].triangle] + pixels[i].back] = true;
}

/* Two pieces make a letter of four bits, starting with @ for none. */
char *pelt_light_surfaces_seen(const pelt_light_surfaces *s) {
    size_t letters = (s->piece_count + 1) / 2;
    char *text = PELT_NEW(s->arena, letters + 1, char);
    for (size_t i = 0; text && i < letters; i++) {
        text[i] = '@';
        for (size_t k = 0; k < 4 && 4 * i + k < 2 * (size_t)s->piece_count; k++)
            text[i] = (char)(text[i] + (s->seen[4 * i + k] << k));
    }
    return text;
}

bool pelt_light_surfaces_set_seen(pelt_light_surfaces *s, const char *text) {
    size_t letters = (s->piece_count + 1) / 2;
    if (strlen(text) != letters) return false;
    for (size_t i = 0; i < 2 * (size_t)s->piece_count; i++) {
        int letter = text[i / 4] - '@';
        if (letter < 0 || letter > 15) return false;
        s->seen[i] = letter >> i % 4 & 1;
    }
    return true;
}

/* -- Charts -------------------------------------------------------------------------------------------------------- */

static double piece_area(const pelt_light_surfaces *s, uint32_t piece) {
    double area = 0, n[3];
    for (uint32_t i = s->first[piece]; i < s->first[piece + 1]; i++) {
        triangle_normal(s, s->triangles[i], n);
        area += sqrt(dot3(n, n)) / 2;
    }
    return area;
}

/* A corner of a triangle in the rectangle of a chart. */
static void flatten(const pelt_light_surfaces *s, const chart *c, uint32_t triangle, int k, double out[2]) {
    double way[3];
    for (int i = 0; i < 3; i++) way[i] = corner(s, triangle, k)[i] - c->origin[i];
    out[0] = dot3(way, c->axes[0]), out[1] = dot3(way, c->axes[1]);
}

/* Aligns the rectangle with the longest edge of the piece. False for a piece without area, which no ray hits. */
static bool frame_chart(const pelt_light_surfaces *s, chart *c) {
    double longest = 0, largest = 0, low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, at[2], u[3];
    for (uint32_t i = s->first[c->piece]; i < s->first[c->piece + 1]; i++) {
        triangle_normal(s, s->triangles[i], u);
        if (dot3(u, u) > largest) largest = dot3(u, u), memcpy(c->axes[2], u, sizeof u);
        for (int k = 0; k < 3; k++) {
            edge(s, s->triangles[i], k, (k + 1) % 3, u);
            if (dot3(u, u) > longest) longest = dot3(u, u), memcpy(c->axes[0], u, sizeof u);
        }
    }
    const float *start = corner(s, s->triangles[s->first[c->piece]], 0);
    for (int i = 0; i < 3; i++) c->origin[i] = start[i];
    cross3(c->axes[2], c->axes[0], c->axes[1]);
    if (!unit3(c->axes[0]) || !unit3(c->axes[1]) || !unit3(c->axes[2])) return false;
    for (uint32_t i = s->first[c->piece]; i < s->first[c->piece + 1]; i++)
        for (int k = 0; k < 3; k++) {
            flatten(s, c, s->triangles[i], k, at);
            for (int d = 0; d < 2; d++) low[d] = fmin(low[d], at[d]), high[d] = fmax(high[d], at[d]);
        }
    for (int d = 0; d < 2; d++) c->step[d] = high[d] - low[d];
    for (int i = 0; i < 3; i++) c->origin[i] += low[0] * c->axes[0][i] + low[1] * c->axes[1][i];
    if (c->back)
        for (int i = 0; i < 3; i++) c->axes[2][i] = -c->axes[2][i];
    return c->step[0] > 0 && c->step[1] > 0;
}

static uint32_t squares(double length, double size) {
    double count = ceil(length / size - 1e-6);
    return count < 1 ? 1 : count > MOST_ON_A_SIDE ? MOST_ON_A_SIDE : (uint32_t)count;
}

/* Packs charts side by side, in rows as high as their tallest. */
static pelt_result place_charts(pelt_light_surfaces *s, pelt_error *error) {
    double area = 0;
    uint32_t width = 1, x = 0, y = 0, row = 0;
    for (uint32_t i = 0; i < s->chart_count; i++) {
        area += (double)s->charts[i].columns * s->charts[i].rows;
        width = s->charts[i].columns > width ? s->charts[i].columns : width;
    }
    width = (uint32_t)fmax(width, fmin(ceil(1.1 * sqrt(area)), MOST_ON_A_SIDE));
    for (uint32_t i = 0; i < s->chart_count; i++) {
        chart *c = &s->charts[i];
        if (x + c->columns > width) x = 0, y += row, row = 0;
        c->x = x, c->y = y;
        x += c->columns;
        row = c->rows > row ? c->rows : row;
        if (y + row > MOST_ON_A_SIDE)
            return pelt_fail(error, PELT_ERROR_ARGUMENT,
                             "texels: the points of %s do not fit into a map of %d x %d; use fewer", s->scene->name,
                             MOST_ON_A_SIDE, MOST_ON_A_SIDE);
    }
    s->map_width = width, s->map_height = y + row;
    return PELT_OK;
}

/* -- Points -------------------------------------------------------------------------------------------------------- */

/* The nearest point to p; returns the squared distance. */
static double nearest_on_edge(const double p[2], const double a[2], const double b[2], double out[2]) {
    double u = b[0] - a[0], v = b[1] - a[1], square = u * u + v * v;
    double t = square > 0 ? fmin(fmax(((p[0] - a[0]) * u + (p[1] - a[1]) * v) / square, 0), 1) : 0;
    out[0] = a[0] + t * u, out[1] = a[1] + t * v;
    return (p[0] - out[0]) * (p[0] - out[0]) + (p[1] - out[1]) * (p[1] - out[1]);
}

static double nearest_in_triangle(const double p[2], double corners[3][2], double out[2]) {
    double least = INFINITY, at[2];
    bool inside = true;
    double turn = (corners[1][0] - corners[0][0]) * (corners[2][1] - corners[0][1]) -
                  (corners[1][1] - corners[0][1]) * (corners[2][0] - corners[0][0]);
    for (int k = 0; k < 3; k++) {
        const double *a = corners[k], *b = corners[(k + 1) % 3];
        inside &= turn * ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])) >= 0;
        double square = nearest_on_edge(p, a, b, at);
        if (square < least) least = square, out[0] = at[0], out[1] = at[1];
    }
    if (!inside) {
        for (int d = 0; d < 2; d++) /* a little inwards: an edge may touch another surface */
            out[d] += 0.02 * ((corners[0][d] + corners[1][d] + corners[2][d]) / 3 - out[d]);
        return least;
    }
    out[0] = p[0], out[1] = p[1];
    return 0;
}

/* The point of a square: its centre, or the nearest point of the piece. False if that is too far. */
static bool find_point(const pelt_light_surfaces *s, const chart *c, uint32_t column, uint32_t row, double at[2]) {
    double middle[2] = {(column + 0.5) * c->step[0], (row + 0.5) * c->step[1]}, least = INFINITY, corners[3][2],
           near[2] = {0};
    for (uint32_t i = s->first[c->piece]; i < s->first[c->piece + 1] && least > 0; i++) {
        for (int k = 0; k < 3; k++) flatten(s, c, s->triangles[i], k, corners[k]);
        double square = nearest_in_triangle(middle, corners, near);
        if (square < least) least = square, at[0] = near[0], at[1] = near[1];
    }
    bool only = c->columns == 1 && c->rows == 1;
    return only || least <= (c->step[0] * c->step[0] + c->step[1] * c->step[1]) / 2;
}

static void lay_chart(pelt_light_surfaces *s, uint32_t number) {
    const chart *c = &s->charts[number];
    double at[2] = {0};
    for (uint32_t row = 0; row < c->rows; row++)
        for (uint32_t column = 0; column < c->columns; column++) {
            uint32_t id = (c->y + row) * s->map_width + c->x + column;
            if (!find_point(s, c, column, row, at)) continue;
            pelt_light_point *point = &s->rest[s->point_count];
            *point = (pelt_light_point){.id = id, .surface = number + 1, .hit = true, .back = c->back};
            point->triangle = s->triangles[s->first[c->piece]];
            for (int i = 0; i < 3; i++) {
                double on = c->origin[i] + at[0] * c->axes[0][i] + at[1] * c->axes[1][i];
                point->position[i] = (float)(on + s->lift * c->axes[2][i]);
                point->normal[i] = (float)c->axes[2][i];
            }
            s->map[id] = (uint32_t)s->point_count++;
        }
}

static uint32_t object_of(const pelt_light_surfaces *s, uint32_t triangle) {
    return s->scene->vertex_objects ? s->scene->vertex_objects[s->scene->triangles[3 * (size_t)triangle]] : 0;
}

pelt_result pelt_light_surfaces_lay(pelt_light_surfaces *s, uint32_t wanted, float lift, pelt_error *error) {
    double area = 0;
    s->lift = lift;
    s->charts = PELT_NEW(s->arena, 2 * (size_t)s->piece_count, chart);
    if (!s->charts) return pelt_no_memory(error);
    for (size_t i = 0; i < 2 * (size_t)s->piece_count; i++) {
        chart *c = &s->charts[s->chart_count];
        s->charts_of[i] = NONE;
        if (!s->seen[i]) continue;
        *c = (chart){.piece = (uint32_t)(i / 2), .back = i % 2};
        c->object = object_of(s, s->triangles[s->first[c->piece]]);
        if (!frame_chart(s, c)) continue;
        area += piece_area(s, c->piece);
        s->charts_of[i] = s->chart_count++;
    }
    double size = sqrt(area / wanted);
    for (uint32_t i = 0; i < s->chart_count; i++) {
        chart *c = &s->charts[i];
        c->columns = squares(c->step[0], size), c->rows = squares(c->step[1], size);
        c->step[0] /= c->columns, c->step[1] /= c->rows;
    }
    pelt_result result = place_charts(s, error);
    if (result) return result;
    size_t pixels = (size_t)s->map_width * s->map_height;
    s->map = PELT_NEW(s->arena, pixels, uint32_t);
    s->rest = PELT_NEW(s->arena, pixels, pelt_light_point);
    if (pelt_arena_failed(s->arena)) return pelt_no_memory(error);
    memset(s->map, 0xFF, pixels * sizeof *s->map);
    for (uint32_t i = 0; i < s->chart_count; i++) lay_chart(s, i);
    return PELT_OK;
}

size_t pelt_light_surfaces_count(const pelt_light_surfaces *s) { return s->point_count; }

void pelt_light_surfaces_map(const pelt_light_surfaces *s, uint32_t *width, uint32_t *height) {
    *width = s->map_width, *height = s->map_height;
}

/* -- Moving -------------------------------------------------------------------------------------------------------- */

static void turn_vector(const pelt_affine *a, const double in[3], double out[3]) {
    for (int r = 0; r < 3; r++) out[r] = dot3(a->m + 4 * r, in);
}

void pelt_light_surfaces_move(pelt_light_surfaces *s, const pelt_affine *transforms, pelt_light_point *points) {
    for (uint32_t i = 0; i < s->chart_count; i++) {
        chart *c = &s->charts[i];
        pelt_affine_point(&transforms[c->object], c->origin, c->placed_origin);
        for (int k = 0; k < 3; k++) turn_vector(&transforms[c->object], c->axes[k], c->placed_axes[k]);
    }
    for (size_t i = 0; i < s->point_count; i++) {
        const pelt_light_point *rest = &s->rest[i];
        const chart *c = &s->charts[rest->surface - 1];
        double at[3];
        points[i] = *rest;
        pelt_affine_point(&transforms[c->object], (double[3]){rest->position[0], rest->position[1], rest->position[2]},
                          at);
        for (int k = 0; k < 3; k++)
            points[i].position[k] = (float)at[k], points[i].normal[k] = (float)c->placed_axes[2][k];
    }
}

/* -- Pixels from points -------------------------------------------------------------------------------------------- */

typedef struct mixing {
    const pelt_light_surfaces *surfaces;
    const pelt_tracer *tracer;
    const pelt_light_point *points, *pixels;
    size_t count;
    pelt_light_mix *mixes;
} mixing;

/* The four points around a pixel, and their bilinear weights. */
static pelt_light_mix points_around(const pelt_light_surfaces *s, const pelt_light_point *pixel) {
    pelt_light_mix mix = {{0}, {0}};
    uint32_t number = s->charts_of[2 * (size_t)s->pieces[pixel->triangle] + pixel->back];
    if (!pixel->hit || number == NONE) return mix;
    const chart *c = &s->charts[number];
    double way[3], share[2];
    uint32_t at[2], count[2] = {c->columns, c->rows};
    for (int i = 0; i < 3; i++) way[i] = pixel->position[i] - c->placed_origin[i];
    for (int d = 0; d < 2; d++) {
        double place = fmin(fmax(dot3(way, c->placed_axes[d]) / c->step[d] - 0.5, 0), count[d] - 1.0);
        at[d] = (uint32_t)place;
        share[d] = place - at[d];
    }
    for (int k = 0; k < 4; k++) {
        uint32_t column = at[0] + (k & 1), row = at[1] + (k >> 1);
        double weight = (k & 1 ? share[0] : 1 - share[0]) * (k >> 1 ? share[1] : 1 - share[1]);
        if (column >= count[0] || row >= count[1]) continue;
        uint32_t point = s->map[(size_t)(c->y + row) * s->map_width + c->x + column];
        if (point != NONE) mix.points[k] = point, mix.weights[k] = (float)weight;
    }
    return mix;
}

static void set_segment(packet *p, int lane, const float from[3], const float to[3]) {
    for (int c = 0; c < 3; c++) p->origin[c][lane] = from[c], p->direction[c][lane] = to[c] - from[c];
    p->length[lane] = 1;
    p->active[lane] = 1;
}

/* One packet of rays. */
static void mix_packet(const mixing *m, size_t first) {
    size_t count = m->count - first < MIXED_AT_ONCE ? m->count - first : MIXED_AT_ONCE;
    pelt_light_mix *mixes = m->mixes + first;
    packet p = {0};
    bool blocked[LANES];
    for (size_t i = 0; i < count; i++) {
        mixes[i] = points_around(m->surfaces, &m->pixels[first + i]);
        for (int k = 0; k < 4; k++)
            if (mixes[i].weights[k] > 0)
                set_segment(&p, 4 * (int)i + k, m->pixels[first + i].position, m->points[mixes[i].points[k]].position);
    }
    rays_blocked(m->tracer->rays, &p, blocked);
    for (size_t i = 0; i < count; i++) {
        float *weights = mixes[i].weights, sum = 0;
        for (int k = 0; k < 4; k++) {
            if (p.active[4 * i + k] && blocked[4 * i + k]) weights[k] = 0;
            sum += weights[k];
        }
        for (int k = 0; k < 4; k++) weights[k] = sum > 1e-3f ? weights[k] / sum : 0;
    }
}

static void mix_part(void *user, size_t part, pelt_arena *scratch) {
    (void)scratch;
    const mixing *m = user;
    for (size_t i = part * PART; i < (part + 1) * PART && i < m->count; i += MIXED_AT_ONCE) mix_packet(m, i);
}

pelt_result pelt_light_surfaces_mix(const pelt_light_surfaces *s, const pelt_tracer *tracer,
                                    const pelt_light_point *points, const pelt_light_point *pixels, size_t count,
                                    uint32_t threads, pelt_light_mix *mixes, pelt_error *error) {
    mixing m = {s, tracer, points, pixels, count, mixes};
    bool done = pelt_parallel(NULL, threads, (count + PART - 1) / PART, mix_part, &m);
    return done ? PELT_OK : pelt_no_memory(error);
}
