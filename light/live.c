/* live.c: a box that is relit repeatedly.

   Direct light of a point or spot at x with normal n, from L with d = |L - x| and cosine c = n (L - x) / d:

       power fade(direction) falloff(d) c / pi        if unoccluded

   the same as the first step of gather.c's paths. */

#include "light/live.h"
#include "light/edges.h"
#include "light/refine.h"
#include "light/tracer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 4, TABLE = 4096, CHUNK = 4096 };

struct pelt_relight_live {
    pelt_relight_file *file;
    pelt_relight_keys keys;
    float *values;                  /* [point_count][3] of points on surfaces, from which pixels are mixed */
    float *indirect, *direct, *own; /* [pixel_count][3]; own: of the fixed lights, NULL: there are none */
    uint32_t *points;               /* [height][width] index into the view's pixels; NO_POINT: sees nothing */
    uint8_t *seen;                  /* [pixel_count] whether it sees the light: SEEN, HIDDEN, or not traced yet */
    uint8_t *lit;                   /* [pixel_count] how many of its parts see it, of EDGE_PARTS */
    float *colors;                  /* [pixel_count][3] linear, relative to white, at most 1 */
    pelt_light_edges edges;
    pelt_light_refine *refine;
    pelt_relight_place gathered; /* what `refine` gathers */
    float white;
    uint8_t coded[TABLE + 1]; /* linear light to sRGB */
};

enum { NOT_ASKED, SEEN, HIDDEN };

/* -- Whether points see the light -------------------------------------------------------------------------------- */

typedef struct asking {
    const pelt_relight_live *live;
    v3 light;
    packet packet;
    uint32_t lanes[LANES];
    int count;
    uint64_t rays;
} asking;

static void ask_all(asking *a) {
    bool blocked[LANES];
    if (!a->count) return;
    for (int i = a->count; i < LANES; i++) a->packet.active[i] = 0;
    rays_blocked(a->live->file->view.tracer->rays, &a->packet, blocked);
    for (int i = 0; i < a->count; i++) a->live->seen[a->lanes[i]] = blocked[i] ? HIDDEN : SEEN;
    a->rays += (uint64_t)a->count;
    a->count = 0;
}

/* Points facing away from the light are dark; no ray is needed. */
static void ask(asking *a, uint32_t point) {
    const pelt_light_point *p = &a->live->file->view.pixels[point];
    if (a->live->seen[point] != NOT_ASKED) return;
    v3 x = v3_of(p->position), way = v3_sub(a->light, x);
    if (!(v3_dot(v3_of(p->normal), way) > 0)) {
        a->live->seen[point] = HIDDEN;
        return;
    }
    int lane = a->count++;
    packet *r = &a->packet;
    r->origin[0][lane] = x.x, r->origin[1][lane] = x.y, r->origin[2][lane] = x.z;
    r->direction[0][lane] = way.x, r->direction[1][lane] = way.y, r->direction[2][lane] = way.z;
    r->length[lane] = 1, r->active[lane] = 1;
    a->lanes[lane] = point;
    if (a->count == LANES) ask_all(a);
}

static uint32_t point_at(const pelt_relight_live *live, uint32_t x, uint32_t y) {
    const pelt_light_view *v = &live->file->view;
    return live->points[(size_t)(y < v->height ? y : v->height - 1) * v->width + (x < v->width ? x : v->width - 1)];
}

/* Whether the corners of a cell agree and are coplanar. */
static bool is_even(const pelt_relight_live *live, const uint32_t corners[4]) {
    const pelt_light_point *points = live->file->view.pixels, *a = &points[corners[0]];
    for (int i = 1; i < 4; i++)
        if (live->seen[corners[i]] != live->seen[corners[0]] ||
            !pelt_light_coplanar(&live->file->view, a, &points[corners[i]]))
            return false;
    return true;
}

/* A row of cells, starting at pixel row y; the corners are known. */
static void ask_inside(asking *a, uint32_t y) {
    const pelt_light_view *v = &a->live->file->view;
    for (uint32_t x = 0; x < v->width; x += CELL) {
        uint32_t corners[4] = {point_at(a->live, x, y), point_at(a->live, x + CELL, y), point_at(a->live, x, y + CELL),
                               point_at(a->live, x + CELL, y + CELL)};
        bool whole = true;
        for (int i = 0; i < 4; i++) whole = whole && corners[i] != NO_POINT;
        bool even = whole && is_even(a->live, corners);
        uint8_t all = even ? a->live->seen[corners[0]] : NOT_ASKED;
        for (uint32_t j = y; j < y + CELL && j < v->height; j++)
            for (uint32_t i = x; i < x + CELL && i < v->width; i++) {
                uint32_t point = a->live->points[(size_t)j * v->width + i];
                if (point == NO_POINT) continue;
                if (even && a->live->seen[point] == NOT_ASKED)
                    a->live->seen[point] = all;
                else
                    ask(a, point);
            }
    }
}

typedef struct looking {
    pelt_relight_live *live;
    v3 light;
    uint64_t *rays; /* [rows of cells] */
    bool smooth;
} looking;

static void look_at_corners(void *user, size_t row, pelt_arena *scratch) {
    const looking *l = user;
    (void)scratch;
    asking a = {.live = l->live, .light = l->light};
    const pelt_light_view *v = &l->live->file->view;
    uint32_t y = (uint32_t)row * CELL, last = v->height - 1;
    if (y > last && last % CELL == 0) return; /* already done by the previous row */
    y = y < last ? y : last;
    for (uint32_t x = 0; x < v->width + CELL; x += CELL) {
        uint32_t point = point_at(l->live, x, y);
        if (point != NO_POINT) ask(&a, point);
    }
    ask_all(&a);
    l->rays[row] += a.rays;
}

static void look_inside(void *user, size_t row, pelt_arena *scratch) {
    const looking *l = user;
    (void)scratch;
    asking a = {.live = l->live, .light = l->light};
    ask_inside(&a, (uint32_t)row * CELL);
    ask_all(&a);
    l->rays[row] += a.rays;
}

/* -- Edges of shadows -------------------------------------------------------------------------------------------- */

/* Whether a pixel beside it, on the same plane, is on the other side of a shadow's edge. */
static bool at_shadow_edge(const pelt_relight_live *live, uint32_t x, uint32_t y, uint32_t point) {
    const pelt_light_view *v = &live->file->view;
    const uint32_t columns[4] = {x ? x - 1 : x, x + 1, x, x}, rows[4] = {y, y, y ? y - 1 : y, y + 1};
    for (int k = 0; k < 4; k++) {
        uint32_t other = point_at(live, columns[k], rows[k]);
        if (other != NO_POINT && live->seen[other] != live->seen[point] &&
            pelt_light_coplanar(v, &v->pixels[point], &v->pixels[other]))
            return true;
    }
    return false;
}

static uint8_t count_lit(const pelt_relight_live *live, uint32_t point, v3 light) {
    float places[EDGE_PARTS][3];
    packet p = {0};
    bool blocked[LANES];
    uint8_t count = 0;
    pelt_light_parts(&live->file->view, &live->file->view.pixels[point], places);
    for (int i = 0; i < EDGE_PARTS; i++) {
        v3 x = v3_of(places[i]), way = v3_sub(light, x);
        p.origin[0][i] = x.x, p.origin[1][i] = x.y, p.origin[2][i] = x.z;
        p.direction[0][i] = way.x, p.direction[1][i] = way.y, p.direction[2][i] = way.z;
        p.length[i] = 1, p.active[i] = 1;
    }
    rays_blocked(live->file->view.tracer->rays, &p, blocked);
    for (int i = 0; i < EDGE_PARTS; i++) count = (uint8_t)(count + !blocked[i]);
    return count;
}

static void soften_row(void *user, size_t row, pelt_arena *scratch) {
    const looking *l = user;
    pelt_relight_live *live = l->live;
    (void)scratch;
    for (uint32_t x = 0; x < live->file->view.width; x++) {
        uint32_t point = point_at(live, x, (uint32_t)row);
        if (point == NO_POINT) continue;
        bool edge = l->smooth && at_shadow_edge(live, x, (uint32_t)row, point);
        live->lit[point] = edge ? count_lit(live, point, l->light) : live->seen[point] == SEEN ? EDGE_PARTS : 0;
    }
}

/* -- Direct light ------------------------------------------------------------------------------------------------ */

typedef struct shining {
    const pelt_relight_live *live;
    const emitter *e;
    float *direct;
} shining;

static float fade(const emitter *e, v3 from_light) {
    if (!(e->cos_inner > -1)) return 1;
    float cosine = v3_dot(e->normal, from_light), range = fmaxf(e->cos_inner - e->cos_outer, 1e-6f);
    float share = fminf(fmaxf((cosine - e->cos_outer) / range, 0), 1);
    return share * share;
}

static void shine(void *user, size_t chunk, pelt_arena *scratch) {
    const shining *s = user;
    const pelt_relight_live *live = s->live;
    const pelt_light_view *v = &live->file->view;
    (void)scratch;
    size_t end = (chunk + 1) * CHUNK < v->pixel_count ? (chunk + 1) * CHUNK : v->pixel_count;
    for (size_t i = chunk * CHUNK; i < end; i++) {
        const pelt_light_point *p = &v->pixels[i];
        float *out = s->direct + 3 * i, light = 0;
        if (live->lit[i]) {
            v3 way = v3_sub(s->e->position, v3_of(p->position));
            float square = v3_dot(way, way), distance = sqrtf(square),
                  cosine = v3_dot(v3_of(p->normal), way) / distance;
            float fall = s->e->falloff == 2 ? 1 / square : s->e->falloff_scale * powf(distance, -s->e->falloff);
            float lit = (float)live->lit[i] / EDGE_PARTS;
            light = cosine > 0 ? lit * fade(s->e, v3_scale(way, -1 / distance)) * fall * cosine / LIGHT_PI : 0;
        }
        out[0] = light * s->e->power.x, out[1] = light * s->e->power.y, out[2] = light * s->e->power.z;
        for (int c = 0; live->own && c < 3; c++) out[c] += live->own[3 * i + c];
    }
}

/* The moving light is the tracer's last. */
static pelt_result light_directly(pelt_relight_live *live, uint32_t threads, bool smooth, float *direct,
                                  uint64_t *traced, pelt_error *error) {
    const pelt_tracer *t = live->file->view.tracer;
    const pelt_light_view *v = &live->file->view;
    const emitter *e = &t->emitters[t->emitter_count - 1];
    size_t rows = (v->height + CELL - 1) / CELL, chunks = (v->pixel_count + CHUNK - 1) / CHUNK;
    looking l = {live, e->position, calloc(rows + 1, sizeof(uint64_t)), smooth};
    shining s = {live, e, direct};
    if (!l.rays) return pelt_no_memory(error);
    memset(live->seen, NOT_ASKED, v->pixel_count);
    /* Rows of corners are independent, and rows of cells only trace pixels inside them. */
    bool done = pelt_parallel(NULL, threads, rows + 1, look_at_corners, &l) &&
                pelt_parallel(NULL, threads, rows, look_inside, &l) &&
                pelt_parallel(NULL, threads, v->height, soften_row, &l) &&
                pelt_parallel(NULL, threads, chunks, shine, &s);
    for (size_t i = 0; traced && i <= rows; i++) *traced += l.rays[i];
    free(l.rays);
    return done ? PELT_OK : pelt_no_memory(error);
}

pelt_result pelt_relight_live_direct(pelt_relight_live *live, const float at[3], uint32_t threads, float *direct,
                                     uint64_t *shadow_rays, pelt_error *error) {
    pelt_light light = live->file->view.light;
    memcpy(light.position, at, sizeof light.position);
    if (shadow_rays) *shadow_rays = 0;
    pelt_result result = pelt_tracer_set_light(live->file->view.tracer, &light, error);
    return result ? result : light_directly(live, threads, false, direct, shadow_rays, error);
}

/* -- All points -------------------------------------------------------------------------------------------------- */

/* Continues the last gather, if it was for the same light. */
static pelt_result gather(pelt_relight_live *live, const pelt_relight_place *place, double *share, pelt_error *error) {
    const pelt_relight_place *last = &live->gathered;
    bool same = last->full && !memcmp(last->at, place->at, sizeof place->at) && last->samples == place->samples &&
                last->seed == place->seed;
    if (!same) pelt_light_refine_start(live->refine, place->samples ? place->samples : 64, 0x60000000u + place->seed);
    live->gathered = *place;
    pelt_light_step step = {place->paths, place->threads, place->stop, place->user};
    pelt_result result = pelt_light_refine_continue(live->refine, &step, error);
    *share = pelt_light_refine_share(live->refine);
    if (!result) pelt_light_refine_show(live->refine, live->indirect, live->indirect);
    return result;
}

static pelt_result light_from_keys(pelt_relight_live *live, const pelt_light *light, const pelt_relight_place *place,
                                   double *misfit, pelt_error *error) {
    pelt_relight_frame frame = {.light = *light,
                                .samples = place->samples ? place->samples : 256,
                                .seed = place->seed,
                                .threads = place->threads};
    if (frame.samples < 32) frame.samples = 32;
    pelt_result result = pelt_relight_solve(&live->keys, &frame, error);
    if (!result) result = pelt_relight_fill(&live->keys, place->threads, live->values, error);
    if (!result && live->values != live->indirect)
        pelt_light_view_show(&live->file->view, live->values, live->indirect);
    *misfit = frame.misfit / live->file->facts.trust;
    return result;
}

/* -- Colours ----------------------------------------------------------------------------------------------------- */

static void encode(const pelt_relight_live *live, const float color[3], uint8_t out[3]) {
    for (int c = 0; c < 3; c++) out[c] = live->coded[(int)(color[c] * TABLE + 0.5f)];
}

static void color_points(const pelt_relight_live *live, bool smooth, uint8_t *colors) {
    const pelt_light_view *v = &live->file->view;
    memset(colors, 0, 3 * (size_t)v->width * v->height);
    for (size_t i = 0; i < v->pixel_count; i++) {
        const pelt_light_point *p = &v->pixels[i];
        for (size_t c = 0; c < 3; c++) {
            float light = p->albedo[c] * (live->indirect[3 * i + c] + live->direct[3 * i + c]) + p->emission[c];
            live->colors[3 * i + c] = fminf(light / live->white, 1);
        }
        encode(live, live->colors + 3 * i, colors + 3 * (size_t)p->id);
    }
    for (size_t i = 0; i < live->edges.count && smooth; i++) {
        const pelt_light_edge *e = &live->edges.list[i];
        float mixed[3] = {0};
        for (int k = 0; k < 9; k++)
            for (size_t c = 0; c < 3 && e->weights[k] && e->points[k] != NO_POINT; c++)
                mixed[c] += (float)e->weights[k] / EDGE_PARTS * live->colors[3 * (size_t)e->points[k] + c];
        encode(live, mixed, colors + 3 * (size_t)e->pixel);
    }
}

pelt_result pelt_relight_live_draw(pelt_relight_live *live, const pelt_relight_place *place, uint8_t *colors,
                                   pelt_relight_drawn *drawn, pelt_error *error) {
    pelt_light light = live->file->view.light;
    memcpy(light.position, place->at, sizeof light.position);
    *drawn = (pelt_relight_drawn){0, 1};
    if (place->samples > 1u << 20) return pelt_fail_option(error, "samples", " must be at most %u", 1u << 20);
    pelt_result result = pelt_tracer_set_light(live->file->view.tracer, &light, error);
    if (result) return result;
    result = place->full ? gather(live, place, &drawn->share, error)
                         : light_from_keys(live, &light, place, &drawn->misfit, error);
    if (!result) result = light_directly(live, place->threads, place->smooth, live->direct, NULL, error);
    if (!result) color_points(live, place->smooth, colors);
    return result;
}

/* -- Begin ------------------------------------------------------------------------------------------------------- */

/* The fixed lights, once. */
static pelt_result light_own(pelt_relight_live *live, pelt_error *error) {
    const pelt_light_view *v = &live->file->view;
    if (!v->tracer->own_count) return PELT_OK;
    live->own = malloc(3 * v->pixel_count * sizeof *live->own);
    if (!live->own) return pelt_no_memory(error);
    pelt_result result = pelt_tracer_set_light(v->tracer, NULL, error);
    if (result) return result;
    return pelt_gather(v->tracer, v->pixels, v->pixel_count, &(pelt_gather_options){.samples = 16}, live->own, NULL,
                       NULL, error);
}

/* The white point with the light in the middle, so that dragging it makes the picture brighter and darker. */
static pelt_result find_white(pelt_relight_live *live, pelt_error *error) {
    const pelt_light_view *v = &live->file->view;
    pelt_light light = pelt_light_grid_at(v, &live->file->facts.grid, 0.5, 0.5);
    pelt_relight_place place = {.threads = 1};
    double misfit;
    memcpy(place.at, light.position, sizeof place.at);
    pelt_result result = pelt_tracer_set_light(v->tracer, &light, error);
    if (!result) result = light_from_keys(live, &light, &place, &misfit, error);
    if (!result) result = light_directly(live, 1, false, live->direct, NULL, error);
    if (result) return result;
    for (size_t i = 0; i < 3 * v->pixel_count; i++)
        live->direct[i] = v->pixels[i / 3].albedo[i % 3] * (live->indirect[i] + live->direct[i]);
    live->white = pelt_light_white(live->direct, v->pixel_count);
    return PELT_OK;
}

pelt_relight_live *pelt_relight_live_new(pelt_relight_file *file, pelt_error *error) {
    const pelt_light_view *v = &file->view;
    size_t pixels = (size_t)v->width * v->height;
    pelt_relight_live *live = calloc(1, sizeof *live);
    if (!live) return pelt_no_memory(error), NULL;
    live->file = file;
    live->indirect = malloc(3 * v->pixel_count * sizeof(float)),
    live->direct = malloc(3 * v->pixel_count * sizeof(float));
    live->points = malloc(pixels * sizeof *live->points), live->seen = malloc(v->pixel_count);
    live->lit = malloc(v->pixel_count), live->colors = malloc(3 * v->pixel_count * sizeof(float));
    live->values = v->surfaces ? malloc(3 * v->point_count * sizeof(float)) : live->indirect;
    pelt_result result =
        live->indirect && live->values && live->direct && live->points && live->seen && live->lit && live->colors
            ? PELT_OK
            : pelt_no_memory(error);
    for (size_t i = 0; !result && i < pixels; i++) live->points[i] = NO_POINT;
    for (size_t i = 0; !result && i < v->pixel_count; i++) live->points[v->pixels[i].id] = (uint32_t)i;
    for (int i = 0; i <= TABLE; i++) live->coded[i] = pelt_light_srgb((float)i, TABLE);
    if (!result) result = pelt_light_edges_find(v, live->points, &live->edges, error);
    if (!result && !(live->refine = pelt_light_refine_new(v, live->points, error))) result = PELT_ERROR_MEMORY;
    if (!result) result = pelt_relight_keys_open(&live->keys, &file->view, &file->keys, error);
    if (!result) result = light_own(live, error);
    if (!result) result = find_white(live, error);
    if (!result) return live;
    pelt_relight_live_free(live);
    return NULL;
}

void pelt_relight_live_free(pelt_relight_live *live) {
    if (!live) return;
    if (live->values != live->indirect) free(live->values);
    free(live->indirect), free(live->direct), free(live->own), free(live->points), free(live->seen);
    free(live->lit), free(live->colors), free(live->edges.list);
    pelt_light_refine_free(live->refine);
    free(live);
}
