/* refine.c: gathering from coarse to fine. */

#include "light/refine.h"
#include "light/edges.h"
#include "light/rays.h"
#include <stdlib.h>
#include <string.h>

enum { COARSEST = 8, CHUNK = 2048 }; /* pixels between the first ones; pixels gathered between two polls */

struct pelt_light_refine {
    const pelt_light_view *view;
    const uint32_t *points;  /* [height][width] */
    uint32_t *order;         /* [pixel_count] coarse to fine */
    float *sums;             /* [pixel_count][3] */
    uint32_t *counts;        /* [pixel_count] passes */
    pelt_light_point *chunk; /* [CHUNK] */
    float *light;            /* [CHUNK][3] */
    uint32_t passes, seed;
    uint64_t done; /* pixels, over all passes */
};

static void put_in_order(pelt_light_refine *r) {
    const pelt_light_view *v = r->view;
    size_t count = 0;
    for (uint32_t step = COARSEST; step; step /= 2)
        for (uint32_t y = 0; y < v->height; y += step)
            for (uint32_t x = 0; x < v->width; x += step) {
                bool earlier = step < COARSEST && x % (2 * step) == 0 && y % (2 * step) == 0;
                uint32_t point = r->points[(size_t)y * v->width + x];
                if (!earlier && point != NO_POINT) r->order[count++] = point;
            }
}

pelt_light_refine *pelt_light_refine_new(const pelt_light_view *view, const uint32_t *points, pelt_error *error) {
    pelt_light_refine *r = calloc(1, sizeof *r);
    if (!r) return pelt_no_memory(error), NULL;
    r->view = view, r->points = points;
    r->order = malloc(view->pixel_count * sizeof *r->order);
    r->sums = malloc(3 * view->pixel_count * sizeof *r->sums);
    r->counts = malloc(view->pixel_count * sizeof *r->counts);
    r->chunk = malloc(CHUNK * sizeof *r->chunk);
    r->light = malloc((size_t)3 * CHUNK * sizeof *r->light);
    if (!r->order || !r->sums || !r->counts || !r->chunk || !r->light)
        return pelt_light_refine_free(r), pelt_no_memory(error), NULL;
    put_in_order(r);
    pelt_light_refine_start(r, 0, 0);
    return r;
}

void pelt_light_refine_free(pelt_light_refine *r) {
    if (!r) return;
    free(r->order), free(r->sums), free(r->counts), free(r->chunk), free(r->light);
    free(r);
}

void pelt_light_refine_start(pelt_light_refine *r, uint32_t samples, uint32_t seed) {
    r->passes = (samples + LANES - 1) / LANES, r->seed = seed, r->done = 0;
    memset(r->sums, 0, 3 * r->view->pixel_count * sizeof *r->sums);
    memset(r->counts, 0, r->view->pixel_count * sizeof *r->counts);
}

/* The next pixels of the current pass. */
static pelt_result gather_chunk(pelt_light_refine *r, size_t count, uint32_t threads, pelt_error *error) {
    const pelt_light_view *v = r->view;
    const uint32_t *order = r->order + r->done % v->pixel_count;
    uint32_t pass = (uint32_t)(r->done / v->pixel_count);
    for (size_t i = 0; i < count; i++) r->chunk[i] = v->pixels[order[i]];
    pelt_gather_options options = {.samples = LANES,
                                   .first = LANES * pass,
                                   .sequence = LANES * r->passes,
                                   .bounces = v->bounces,
                                   .seed = r->seed,
                                   .threads = threads};
    pelt_result result = pelt_gather(v->tracer, r->chunk, count, &options, NULL, r->light, NULL, error);
    for (size_t i = 0; i < count && !result; i++) {
        for (size_t c = 0; c < 3; c++) r->sums[3 * (size_t)order[i] + c] += r->light[3 * i + c];
        r->counts[order[i]]++;
    }
    if (!result) r->done += count;
    return result;
}

pelt_result pelt_light_refine_continue(pelt_light_refine *r, const pelt_light_step *step, pelt_error *error) {
    size_t each = r->view->pixel_count;
    uint64_t all = (uint64_t)r->passes * each, end = all;
    if (step->paths && (step->paths + LANES - 1) / LANES < all - r->done)
        end = r->done + (step->paths + LANES - 1) / LANES;
    while (r->done < end) {
        size_t count = each - r->done % each; /* up to the end of the pass */
        if (count > CHUNK) count = CHUNK;
        if (count > end - r->done) count = end - r->done;
        if (step->stop && step->stop(step->user))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "the light has moved on");
        pelt_result result = gather_chunk(r, count, step->threads, error);
        if (result) return result;
    }
    return PELT_OK;
}

double pelt_light_refine_share(const pelt_light_refine *r) {
    uint64_t all = (uint64_t)r->passes * r->view->pixel_count;
    return all ? (double)r->done / (double)all : 0;
}

/* Bilinear between the corners, on the surface of this pixel, of the finest square that has light at all of them; of the
   coarsest, at some. */
static bool mix_corners(const pelt_light_refine *r, size_t index, float out[3]) {
    const pelt_light_view *v = r->view;
    const pelt_light_point *p = &v->pixels[index];
    uint32_t x = p->id % v->width, y = p->id / v->width;
    for (uint32_t step = 2; step <= COARSEST; step *= 2) {
        float weights = 0, sum[3] = {0};
        bool whole = true;
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t column = x / step * step + k % 2 * step, row = y / step * step + k / 2 * step;
            uint32_t point =
                column < v->width && row < v->height ? r->points[(size_t)row * v->width + column] : NO_POINT;
            if (point == NO_POINT || !pelt_light_coplanar(v, p, &v->pixels[point])) continue;
            whole = whole && r->counts[point];
            if (!r->counts[point]) continue;
            float across = (float)(x % step) / (float)step, down = (float)(y % step) / (float)step;
            float weight = (k % 2 ? across : 1 - across) * (k / 2 ? down : 1 - down) + 1e-3f;
            for (size_t c = 0; c < 3; c++) sum[c] += weight * r->sums[3 * (size_t)point + c] / (float)r->counts[point];
            weights += weight;
        }
        if (!(weights > 0) || (!whole && step < COARSEST)) continue;
        for (int c = 0; c < 3; c++) out[c] = sum[c] / weights;
        return true;
    }
    return false;
}

void pelt_light_refine_show(const pelt_light_refine *r, const float *otherwise, float *indirect) {
    for (size_t i = 0; i < r->view->pixel_count; i++) {
        float light[3] = {otherwise[3 * i], otherwise[3 * i + 1], otherwise[3 * i + 2]};
        for (size_t c = 0; c < 3 && r->counts[i]; c++) light[c] = r->sums[3 * i + c] / (float)r->counts[i];
        if (!r->counts[i]) mix_corners(r, i, light);
        memcpy(indirect + 3 * i, light, sizeof light);
    }
}
