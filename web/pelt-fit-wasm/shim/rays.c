/* rays.c: ray packets in place of light/rays.c, whose Embree no page has: a tree of boxes, walked by all rays of a packet
   together. Enough for scenes of some thousand triangles.

   Corners are seen along the ray, as points (x, y) of a plane that it crosses at 0. The triangle is met if 0 is on the same
   side of its edges, where an edge from a to b has the sign of

       ax by - ay bx

   A corner has the same x and y in all triangles around it, and the difference of two rounded products has the right sign or
   is 0, which counts for both: so no light gets through between triangles. */

#include "light/rays.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 4, DEEPEST = 64 };

typedef struct triangle {
    float corners[3][3], normal[3];
    uint32_t index;
} triangle;

typedef struct node {
    float low[3], high[3];
    uint32_t first, count; /* of its triangles; 0: its two children are at `first` */
} node;

struct rays {
    uint32_t node_count;
    node *nodes;
    triangle *triangles;
};

/* -- Building ----------------------------------------------------------------------------------------------------- */

static int later(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static triangle triangle_of(const float *positions, const uint32_t *corners, uint32_t index) {
    triangle t = {.index = index};
    for (int k = 0; k < 3; k++) memcpy(t.corners[k], positions + 3 * (size_t)corners[k], sizeof t.corners[k]);
    const float(*at)[3] = t.corners;
    for (int c = 0; c < 3; c++) {
        int d = (c + 1) % 3, e = (c + 2) % 3;
        t.normal[c] = (at[1][d] - at[0][d]) * (at[2][e] - at[0][e]) - (at[1][e] - at[0][e]) * (at[2][d] - at[0][d]);
    }
    return t;
}

static void grow(node *n, const triangle *t) {
    for (int k = 0; k < 9; k++) {
        float x = t->corners[k / 3][k % 3];
        n->low[k % 3] = x < n->low[k % 3] ? x : n->low[k % 3];
        n->high[k % 3] = x > n->high[k % 3] ? x : n->high[k % 3];
    }
}

/* A triangle, and where its middle is along the side that is being halved. */
typedef struct keyed {
    float key;
    triangle triangle;
} keyed;

/* Halves a node's triangles along its longest side, down to leaves. */
static void halve(rays *r, uint32_t at, keyed *list) {
    node *n = &r->nodes[at];
    int side = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        const triangle *t = &r->triangles[n->first + i];
        if (!i) memcpy(n->low, t->corners[0], sizeof n->low), memcpy(n->high, t->corners[0], sizeof n->high);
        grow(n, t);
    }
    if (n->count <= LEAF) return;
    for (int c = 1; c < 3; c++)
        if (n->high[c] - n->low[c] > n->high[side] - n->low[side]) side = c;
    for (uint32_t i = 0; i < n->count; i++) {
        list[i].triangle = r->triangles[n->first + i];
        list[i].key = 0;
        for (int k = 0; k < 3; k++) list[i].key += list[i].triangle.corners[k][side];
    }
    qsort(list, n->count, sizeof *list, later);
    for (uint32_t i = 0; i < n->count; i++) r->triangles[n->first + i] = list[i].triangle;
    uint32_t half = n->count / 2, child = r->node_count;
    r->node_count += 2;
    r->nodes[child] = (node){.first = n->first, .count = half};
    r->nodes[child + 1] = (node){.first = n->first + half, .count = n->count - half};
    n->first = child, n->count = 0;
    halve(r, child, list), halve(r, child + 1, list);
}

rays *rays_new(const float *positions, uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count) {
    rays *r = calloc(1, sizeof *r);
    keyed *list = malloc(triangle_count * sizeof *list);
    (void)vertex_count;
    if (r) r->nodes = calloc(2 * (size_t)triangle_count + 1, sizeof *r->nodes);
    if (r) r->triangles = calloc(triangle_count, sizeof *r->triangles);
    if (!list || !r || !r->nodes || !r->triangles) return free(list), rays_free(r), NULL;
    for (uint32_t i = 0; i < triangle_count; i++)
        r->triangles[i] = triangle_of(positions, triangles + 3 * (size_t)i, i);
    r->nodes[0].count = triangle_count, r->node_count = 1;
    halve(r, 0, list);
    free(list);
    return r;
}

void rays_free(rays *r) {
    if (!r) return;
    free(r->nodes), free(r->triangles);
    free(r);
}

/* -- Tracing ------------------------------------------------------------------------------------------------------ */

/* A packet on its way. Loops over lanes have no branches, so that they become vectors. */
typedef struct way {
    const packet *in;
    float inverse[3][LANES]; /* of the direction; huge instead of infinite */
    float axes[3][3][LANES]; /* of x and y, and of the distance along the ray */
    float length[LANES];     /* up to what was hit; negative: done */
    const triangle *hit[LANES];
    bool any; /* the first hit that is found will do */
} way;

static void begin_lane(way *w, const packet *in, int i) {
    const float d[3] = {in->direction[0][i], in->direction[1][i], in->direction[2][i]};
    float square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    int long_one = 0;
    w->length[i] = in->active[i] && square > 0 ? in->length[i] : -1;
    w->hit[i] = NULL;
    for (int c = 1; c < 3; c++)
        if (fabsf(d[c]) > fabsf(d[long_one])) long_one = c;
    for (int c = 0; c < 3; c++) {
        w->inverse[c][i] = 1 / (fabsf(d[c]) < 1e-20f ? 1e-20f : d[c]);
        w->axes[2][c][i] = square > 0 ? d[c] / square : 0;
        for (int k = 0; k < 2; k++) { /* perpendicular to the ray */
            int across = (long_one + 1 + k) % 3;
            w->axes[k][c][i] = c == across ? 1 : c == long_one && square > 0 ? -d[across] / d[long_one] : 0;
        }
    }
}

static void begin(way *w, const packet *in, bool any) {
    w->in = in, w->any = any;
    for (int i = 0; i < LANES; i++) begin_lane(w, in, i);
}

/* Whether any ray meets a box; the factor makes up for rounding. */
static bool meets(const way *w, const node *n) {
    float near[LANES], far[LANES];
    int count = 0;
    for (int i = 0; i < LANES; i++) near[i] = 0, far[i] = w->length[i];
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < LANES; i++) {
            float a = (n->low[c] - w->in->origin[c][i]) * w->inverse[c][i];
            float b = (n->high[c] - w->in->origin[c][i]) * w->inverse[c][i];
            float first = a < b ? a : b, last = (a < b ? b : a) * 1.000001f;
            near[i] = first > near[i] ? first : near[i];
            far[i] = last < far[i] ? last : far[i];
        }
    for (int i = 0; i < LANES; i++) count += near[i] <= far[i];
    return count > 0;
}

static void meet(way *w, const triangle *t) {
    const packet *in = w->in;
    float at[3][3][LANES]; /* [corner][axis] */
    float distance[LANES];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < LANES; i++) {
            float x = t->corners[k][0] - in->origin[0][i], y = t->corners[k][1] - in->origin[1][i];
            float z = t->corners[k][2] - in->origin[2][i];
            for (int a = 0; a < 3; a++)
                at[k][a][i] = w->axes[a][0][i] * x + w->axes[a][1][i] * y + w->axes[a][2][i] * z;
        }
    for (int i = 0; i < LANES; i++) {
        float a = at[1][0][i] * at[2][1][i] - at[1][1][i] * at[2][0][i]; /* shares of the corners, times their sum */
        float b = at[2][0][i] * at[0][1][i] - at[2][1][i] * at[0][0][i];
        float c = at[0][0][i] * at[1][1][i] - at[0][1][i] * at[1][0][i], sum = a + b + c;
        float least = a < b ? a : b, most = a > b ? a : b;
        least = c < least ? c : least, most = c > most ? c : most;
        float along = (a * at[0][2][i] + b * at[1][2][i] + c * at[2][2][i]) / sum;
        distance[i] = (least >= 0 || most <= 0) && sum != 0 ? along : -1;
    }
    for (int i = 0; i < LANES; i++) {
        if (!(distance[i] >= 0 && distance[i] < w->length[i])) continue;
        w->hit[i] = t;
        w->length[i] = w->any ? -1 : distance[i];
    }
}

static void walk(const rays *r, way *w) {
    uint32_t waiting[DEEPEST] = {0}, count = 1;
    while (count) {
        const node *n = &r->nodes[waiting[--count]];
        if (!meets(w, n)) continue;
        for (uint32_t i = 0; i < n->count; i++) meet(w, &r->triangles[n->first + i]);
        if (!n->count) waiting[count++] = n->first, waiting[count++] = n->first + 1;
    }
}

void rays_first_hits(const rays *r, const packet *in, hits *out) {
    way w;
    begin(&w, in, false);
    walk(r, &w);
    for (int i = 0; i < LANES; i++) {
        const triangle *t = w.hit[i];
        out->triangle[i] = t ? t->index : RAYS_MISS;
        out->distance[i] = w.length[i];
        for (int c = 0; c < 3; c++) out->normal[c][i] = t ? t->normal[c] : 0;
    }
}

void rays_blocked(const rays *r, const packet *in, bool blocked[LANES]) {
    way w;
    begin(&w, in, true);
    walk(r, &w);
    for (int i = 0; i < LANES; i++) blocked[i] = w.hit[i] != NULL;
}
