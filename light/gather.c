/* gather.c: light at points, by path tracing.

   A path x0, x1, ..., xk, L starts at the gathered point, is reflected k times and ends on a light. The integral over
   all paths is estimated by Monte Carlo: a path's contribution divided by its sampling density is unbiased. Its end can
   be found in three ways, each good where the others are noisy:

       ask      xk sampled from x(k-1); L sampled on the lights            noisy where xk is close to the light
       meet     L sampled; xk where a ray from L lands; joined to x(k-1)   noisy where xk is close to x(k-1)
       run into xk sampled; L where a ray from xk happens to land          only lights that are surfaces

   All three are used, each weighted by its share of the three densities (Veach's balance heuristic), so a path is never
   bright only because it was unlikely. Densities are per area at xk and L. With
       a  that of xk from x(k-1)     e  that of xk from L     b  that of L from xk     l  that of L itself
   and q = e / a, s = b / l the weights are 1, q and s, each over 1 + q + s. Without a bounce (k = 0) q is 0.

   Directions at a surface have density cosine / pi, so a reflection just multiplies by the albedo. */

#include "light/sampling.h"
#include "light/tracer.h"
#include <float.h>
#include <stdatomic.h>

/* Indices of the pairs of random numbers. */
enum { PAIR_EMITTER, PAIR_PLACE, PAIR_EMISSION, PAIR_BOUNCE };

/* L: the light's point of a path. */
typedef struct source {
    const emitter *emitter;
    v3 position;
    float density; /* l */
} source;

/* Where a ray from L landed. */
typedef struct landing {
    bool alive;
    v3 position, normal;
    v3 light;   /* reflected light, for a connection of density 1 */
    float e, s; /* as above */
} landing;

/* xk: the current end of a path. */
typedef struct walker {
    bool alive;
    v3 position, normal, throughput;
    float density; /* a; not used at x0 */
} walker;

/* Samples of one point that are traced together. */
typedef struct bundle {
    const pelt_tracer *tracer;
    uint32_t seed, first, mask, bounces;
    source sources[LANES];
    landing landings[LANES];
    walker walkers[LANES];
    uint64_t ray_count;
    v3 direct, indirect; /* sums */
} bundle;

/* -- Lights ------------------------------------------------------------------------------------------------------- */

static const emitter *choose_emitter(const pelt_tracer *t, float u) {
    uint32_t low = 0, high = t->emitter_count - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (u >= t->emitters[middle].chance_below)
            low = middle;
        else
            high = middle - 1;
    }
    return &t->emitters[low];
}

static float source_density(const emitter *e) { return e->kind == EMITTER_PATCH ? e->chance / e->area : e->chance; }

static source choose_source(const emitter *e, pair p) {
    source s = {e, e->position, source_density(e)};
    if (e->kind != EMITTER_PATCH) return s;
    if (e->triangle) { /* fold the square onto the triangle, preserving areas */
        float root = sqrtf(p.u);
        p = (pair){1 - root, root * p.v};
    }
    s.position = v3_along(v3_along(e->position, e->edges[0], p.u), e->edges[1], p.v);
    return s;
}

static void choose_sources(bundle *b) {
    const pelt_tracer *t = b->tracer;
    pair choices[LANES], places[LANES];
    if (t->emitter_count == 1 && t->emitters[0].kind == EMITTER_POINT) {
        for (int i = 0; i < LANES; i++) b->sources[i] = choose_source(&t->emitters[0], (pair){0});
        return;
    }
    sample_pairs(b->first, b->mask, b->seed + PAIR_EMITTER, choices, LANES);
    sample_pairs(b->first, b->mask, b->seed + PAIR_PLACE, places, LANES);
    for (int i = 0; i < LANES; i++) b->sources[i] = choose_source(choose_emitter(t, choices[i].u), places[i]);
}

/* A patch's point, offset to the side of `direction`, because the patch may coincide with a surface. */
static v3 lifted(const bundle *b, const source *s, v3 direction) {
    const emitter *e = s->emitter;
    if (e->kind == EMITTER_POINT) return s->position;
    float side = e->two_sided && v3_dot(e->normal, direction) < 0 ? -1 : 1;
    return v3_along(s->position, e->normal, side * b->tracer->offset);
}

/* Cosine at the light: of a patch, towards `direction`; 1 for a point. */
static float source_cosine(const emitter *e, v3 direction) {
    if (e->kind == EMITTER_POINT) return 1;
    float cosine = v3_dot(e->normal, direction);
    return e->two_sided ? fabsf(cosine) : fmaxf(cosine, 0);
}

/* Fraction of its power that a light sends in a direction: radiant intensity / (density of L * power). */
static float source_intensity(const source *s, v3 direction) {
    const emitter *e = s->emitter;
    float intensity = source_cosine(e, direction) / s->density;
    if (e->cos_inner > -1) {
        float cosine = v3_dot(e->normal, direction), range = fmaxf(e->cos_inner - e->cos_outer, 1e-6f);
        float fade = fminf(fmaxf((cosine - e->cos_outer) / range, 0), 1);
        intensity *= fade * fade;
    }
    return intensity;
}

static float falloff(const emitter *e, float distance) {
    if (e->falloff == 2) return 1 / (distance * distance);
    return e->falloff_scale * powf(distance, -e->falloff);
}

/* Density over directions of rays leaving a light. */
static float emission_density(const emitter *e, v3 direction) {
    if (e->kind == EMITTER_POINT) return 1 / (2 * LIGHT_PI * e->cap);
    return source_cosine(e, direction) / (e->two_sided ? 2 * LIGHT_PI : LIGHT_PI);
}

static v3 choose_emission(const emitter *e, pair p) {
    if (e->kind == EMITTER_POINT) {
        float height = p.u * e->cap; /* on a sphere, equal heights have equal areas */
        return v3_around(e->normal, 1 - height, sqrtf(height * (2 - height)), p.v);
    }
    v3 axis = e->normal;
    if (e->two_sided) {
        if (p.u >= 0.5f) axis = v3_scale(axis, -1);
        p.u = p.u >= 0.5f ? 2 * p.u - 1 : 2 * p.u;
    }
    return v3_around(axis, sqrtf(1 - p.u), sqrtf(p.u), p.v);
}

/* -- Rays --------------------------------------------------------------------------------------------------------- */

static void set_ray(packet *p, int lane, v3 origin, v3 direction, float length) {
    p->origin[0][lane] = origin.x, p->origin[1][lane] = origin.y, p->origin[2][lane] = origin.z;
    p->direction[0][lane] = direction.x, p->direction[1][lane] = direction.y, p->direction[2][lane] = direction.z;
    p->length[lane] = length;
    p->active[lane] = 1;
}

/* A surface hit by a ray. */
typedef struct surface {
    v3 position, normal; /* on the side of the ray, offset from the surface */
    float distance;
    const pelt_material *material;
    const emitter *emitter; /* NULL: it does not emit */
} surface;

static bool met_surface(const pelt_tracer *t, const packet *p, const hits *h, int lane, surface *out) {
    uint32_t triangle = h->triangle[lane];
    if (triangle == RAYS_MISS) return false;
    v3 origin = {p->origin[0][lane], p->origin[1][lane], p->origin[2][lane]};
    v3 direction = {p->direction[0][lane], p->direction[1][lane], p->direction[2][lane]};
    v3 normal = v3_unit((v3){h->normal[0][lane], h->normal[1][lane], h->normal[2][lane]});
    if (v3_dot(normal, direction) > 0) normal = v3_scale(normal, -1);
    out->position = v3_along(v3_along(origin, direction, h->distance[lane]), normal, t->offset);
    out->normal = normal;
    out->distance = h->distance[lane];
    out->material = &t->scene->materials[t->materials[triangle]];
    out->emitter = t->emitters_of[triangle] == NO_EMITTER ? NULL : &t->emitters[t->emitters_of[triangle]];
    return true;
}

static int trace(bundle *b, const packet *p, hits *h) {
    int count = 0;
    for (int i = 0; i < LANES; i++) count += p->active[i] != 0;
    if (count) rays_first_hits(b->tracer->rays, p, h);
    b->ray_count += (uint64_t)count;
    return count;
}

/* Adds the contribution of each unoccluded segment to *sum. */
static void add_unblocked(bundle *b, const packet *p, const v3 values[LANES], v3 *sum) {
    bool blocked[LANES];
    int count = 0;
    for (int i = 0; i < LANES; i++) count += p->active[i] != 0;
    if (!count) return;
    b->ray_count += (uint64_t)count;
    rays_blocked(b->tracer->rays, p, blocked);
    for (int i = 0; i < LANES; i++)
        if (p->active[i] && !blocked[i]) *sum = v3_add(*sum, values[i]);
}

/* -- The light's side of paths ------------------------------------------------------------------------------------- */

static void set_landing(landing *z, const source *s, const surface *met, v3 direction) {
    const emitter *e = s->emitter;
    float d = met->distance, cosine = -v3_dot(met->normal, direction), density = emission_density(e, direction);
    if (!(density > 0) || !(cosine > 0)) return;
    float brought = source_intensity(s, direction) * falloff(e, d) * d * d / (density * LIGHT_PI);
    z->alive = true;
    z->position = met->position;
    z->normal = met->normal;
    z->light = v3_scale(v3_mul(e->power, v3_of(met->material->albedo)), brought);
    z->e = density * cosine / (d * d);
    z->s = e->hittable ? cosine * source_cosine(e, direction) / (LIGHT_PI * d * d * s->density) : 0;
}

static void start_from_lights(bundle *b) {
    packet p = {0};
    hits h;
    surface met;
    pair pairs[LANES];
    v3 directions[LANES];
    sample_pairs(b->first, b->mask, b->seed + PAIR_EMISSION, pairs, LANES);
    for (int i = 0; i < LANES; i++) {
        const source *s = &b->sources[i];
        directions[i] = choose_emission(s->emitter, pairs[i]);
        b->landings[i].alive = false;
        set_ray(&p, i, lifted(b, s, directions[i]), directions[i], FLT_MAX);
    }
    trace(b, &p, &h);
    for (int i = 0; i < LANES; i++)
        if (met_surface(b->tracer, &p, &h, i, &met)) set_landing(&b->landings[i], &b->sources[i], &met, directions[i]);
}

/* -- Three ways to end a path -------------------------------------------------------------------------------------- */

/* q of a path that ends xk, L. */
static float emission_ratio(const walker *x, uint32_t k, const emitter *e, v3 to_light, float cosine, float distance) {
    if (k == 0) return 0;
    return emission_density(e, v3_scale(to_light, -1)) * cosine / (distance * distance * x->density);
}

static void ask(bundle *b, uint32_t k, v3 *sum) {
    packet p = {0};
    v3 values[LANES];
    for (int i = 0; i < LANES; i++) {
        const walker *x = &b->walkers[i];
        const source *s = &b->sources[i];
        if (!x->alive) continue;
        v3 way = v3_sub(lifted(b, s, v3_sub(x->position, s->position)), x->position);
        float distance = v3_length(way), cosine = v3_dot(x->normal, way) / distance;
        if (!(cosine > 0)) continue;
        v3 to_light = v3_scale(way, 1 / distance), from_light = v3_scale(to_light, -1);
        float intensity = source_intensity(s, from_light);
        if (!(intensity > 0)) continue;
        float q = emission_ratio(x, k, s->emitter, to_light, cosine, distance), near = 0;
        if (s->emitter->hittable)
            near = cosine * source_cosine(s->emitter, from_light) / (LIGHT_PI * distance * distance * s->density);
        float brought = intensity * falloff(s->emitter, distance) * cosine / (LIGHT_PI * (1 + q + near));
        values[i] = v3_scale(v3_mul(x->throughput, s->emitter->power), brought);
        set_ray(&p, i, x->position, way, 1);
    }
    add_unblocked(b, &p, values, sum);
}

/* Joins xk to the landing, which becomes x(k+1). */
static void meet(bundle *b) {
    packet p = {0};
    v3 values[LANES];
    for (int i = 0; i < LANES; i++) {
        const walker *x = &b->walkers[i];
        const landing *z = &b->landings[i];
        if (!x->alive || !z->alive) continue;
        v3 way = v3_sub(z->position, x->position);
        float square = v3_dot(way, way), cosine_x = v3_dot(x->normal, way), cosine_z = -v3_dot(z->normal, way);
        if (!(cosine_x > 0) || !(cosine_z > 0)) continue; /* both times the distance */
        float a = cosine_x * cosine_z / (LIGHT_PI * square * square);
        float weighted = a * z->e / (z->e + a * (1 + z->s));
        values[i] = v3_scale(v3_mul(x->throughput, z->light), weighted);
        set_ray(&p, i, x->position, way, 1);
    }
    add_unblocked(b, &p, values, &b->indirect);
}

/* The contribution of a path that ran into an emitting surface. */
static v3 run_into(const walker *x, uint32_t k, const surface *met, v3 direction) {
    const emitter *e = met->emitter;
    float d = met->distance, cosine = v3_dot(x->normal, direction), l = source_density(e);
    float near = cosine * source_cosine(e, v3_scale(direction, -1)) / (LIGHT_PI * d * d);
    float q = emission_ratio(x, k, e, direction, cosine, d), total = near + l * (1 + q);
    return total > 0 ? v3_scale(v3_mul(x->throughput, e->power), near / total) : (v3){0};
}

/* -- Paths -------------------------------------------------------------------------------------------------------- */

/* From xk to x(k+1). */
static void bounce(bundle *b, uint32_t k, v3 *sum) {
    packet p = {0};
    hits h;
    pair pairs[LANES];
    sample_pairs(b->first, b->mask, b->seed + PAIR_BOUNCE + k, pairs, LANES);
    for (int i = 0; i < LANES; i++) {
        const walker *x = &b->walkers[i];
        pair r = pairs[i];
        if (x->alive) set_ray(&p, i, x->position, v3_around(x->normal, sqrtf(1 - r.u), sqrtf(r.u), r.v), FLT_MAX);
    }
    if (!trace(b, &p, &h)) return;
    for (int i = 0; i < LANES; i++) {
        walker *x = &b->walkers[i];
        surface met;
        v3 direction = {p.direction[0][i], p.direction[1][i], p.direction[2][i]};
        if (!x->alive) continue;
        x->alive = met_surface(b->tracer, &p, &h, i, &met);
        if (!x->alive) continue;
        if (met.emitter && sum) *sum = v3_add(*sum, run_into(x, k, &met, direction));
        float cosine = v3_dot(x->normal, direction), arrival = -v3_dot(met.normal, direction);
        v3 throughput = v3_mul(x->throughput, v3_of(met.material->albedo));
        *x = (walker){true, met.position, met.normal, throughput,
                      cosine * arrival / (LIGHT_PI * met.distance * met.distance)};
        x->alive = throughput.x + throughput.y + throughput.z > 0 && x->density > 0;
    }
}

static void trace_bundle(bundle *b, const pelt_light_point *point, bool direct, bool indirect, bool hittable) {
    choose_sources(b);
    for (int i = 0; i < LANES; i++)
        b->walkers[i] = (walker){.alive = true, v3_of(point->position), v3_of(point->normal), .throughput = {1, 1, 1}};
    if (direct) ask(b, 0, &b->direct);
    if (!indirect) {
        if (hittable) bounce(b, 0, &b->direct);
        return;
    }
    start_from_lights(b);
    for (uint32_t k = 0; k <= b->bounces; k++) {
        if (k) ask(b, k, &b->indirect);
        if (k < b->bounces) meet(b);
        if (k < b->bounces || hittable) bounce(b, k, k ? &b->indirect : direct ? &b->direct : NULL);
    }
}

/* -- Points ------------------------------------------------------------------------------------------------------- */

/* Points per call of the loop body: the maximum, and the desired number of calls. */
enum { MOST_IN_CHUNK = 64, CALLS = 256 };

typedef struct gathering {
    const pelt_tracer *tracer;
    const pelt_light_point *points;
    size_t count, chunk;
    uint32_t samples, first, bounces, seed, mask;
    bool hittable;
    float *direct, *indirect;
    atomic_uint_fast64_t ray_count;
} gathering;

static void gather_point(gathering *g, size_t index) {
    const pelt_light_point *point = &g->points[index];
    double sums[2][3] = {{0}};
    bundle b = {.tracer = g->tracer,
                .seed = hash_pair(g->seed, point->id) & ~0xFFu, /* leaves room for the pair indices */
                .first = g->first,
                .mask = g->mask,
                .bounces = g->bounces};
    for (; point->hit && g->tracer->emitter_count && b.first < g->first + g->samples; b.first += LANES) {
        b.direct = b.indirect = (v3){0};
        trace_bundle(&b, point, g->direct != NULL, g->indirect != NULL, g->hittable);
        sums[0][0] += b.direct.x, sums[0][1] += b.direct.y, sums[0][2] += b.direct.z;
        sums[1][0] += b.indirect.x, sums[1][1] += b.indirect.y, sums[1][2] += b.indirect.z;
    }
    for (int c = 0; c < 3; c++) {
        if (g->direct) g->direct[3 * index + c] = (float)(sums[0][c] / g->samples);
        if (g->indirect) g->indirect[3 * index + c] = (float)(sums[1][c] / g->samples);
    }
    atomic_fetch_add_explicit(&g->ray_count, b.ray_count, memory_order_relaxed);
}

static void gather_chunk(void *user, size_t chunk, pelt_arena *scratch) {
    (void)scratch;
    gathering *g = user;
    for (size_t i = chunk * g->chunk; i < (chunk + 1) * g->chunk && i < g->count; i++) gather_point(g, i);
}

pelt_result pelt_gather(const pelt_tracer *tracer, const pelt_light_point *points, size_t count,
                        const pelt_gather_options *options, float *direct, float *indirect, uint64_t *ray_count,
                        pelt_error *error) {
    uint32_t wanted = options->samples ? options->samples : 64, mask = LANES - 1;
    uint32_t samples = (wanted + LANES - 1) / LANES * LANES;
    uint32_t last = options->first + samples - 1;
    if (last + 1 < options->sequence) last = options->sequence - 1;
    while (mask < last) mask = 2 * mask + 1;
    size_t chunk = count / CALLS < 1 ? 1 : count / CALLS > MOST_IN_CHUNK ? MOST_IN_CHUNK : count / CALLS;
    gathering g = {.tracer = tracer,
                   .points = points,
                   .count = count,
                   .chunk = chunk,
                   .samples = samples,
                   .first = options->first,
                   .bounces = options->bounces ? options->bounces : 4,
                   .seed = options->seed,
                   .mask = mask,
                   .direct = direct,
                   .indirect = indirect};
    for (uint32_t i = 0; i < tracer->own_count; i++) g.hittable |= tracer->emitters[i].hittable;
    if (!pelt_parallel(NULL, options->threads, (count + chunk - 1) / chunk, gather_chunk, &g))
        return pelt_no_memory(error);
    if (ray_count) *ray_count = g.ray_count;
    return PELT_OK;
}
