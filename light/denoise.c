/* denoise.c: denoises many frames of the same points, before a subspace is learned from them.

   Frames of one scene have few degrees of freedom, noise has as many as there are numbers. So frames (each colour
   channel separately) are first expressed in the principal components of all of them: Q = C V^T, V the leading
   eigenvectors of Q^T Q. The first pictures of C are averages over all frames and nearly clean; the later ones hold
   little light and much noise, and are smoothed by averaging over neighbours on the same surface. The radius is
   measured, not assumed: frames come in two halves A, B with independent noise, and of several radii r the one is
   chosen that minimises

       |smooth_r(A) - B|^2 + |smooth_r(B) - A|^2

   around each point and for each picture: up to a constant, this is the error of smoothing against the truth. */

#include "light/denoise.h"
#include "light/vector.h"
#include "rig/linear.h"
#include <string.h>

enum {
    MOST_PICTURES = 64, /* kept by default */
    GROUP = 16,         /* pictures smoothed at once */
    STRIPS = 16,        /* parts of the points, whose sums are added in order for any number of threads */
    CHUNK = 512,        /* points per product */
    ERROR_RADIUS = 4,   /* the error of a radius is averaged over this neighbourhood */
};

static const int radii[] = {1, 2, 4, 8};

typedef struct work {
    const pelt_halves *halves;
    const pelt_denoise_options *options;
    pelt_clean_frames *out;
    pelt_arena *kept, *arena; /* for the result; for temporary memory */
    size_t n, columns;        /* points; channels of all frames */
    float *all[2];            /* [frame_count][n][3] the halves */
    double *grams;            /* [STRIPS][columns][columns] */
    float *half[2];           /* [n][rank] the pictures, from each half */
    int32_t *pixels;          /* [height][width] point of each pixel, or -1 */
    const float *from;        /* of a parallel step */
    float *to;
    const float *mix_rows;
    int radius;
} work;

/* -- Principal components ------------------------------------------------------------------------------------------ */

static pelt_result read_halves(work *w, double *difference, double *product, pelt_error *error) {
    size_t values = 3 * w->n;
    for (uint32_t f = 0; f < w->halves->frame_count; f++) {
        float *a = w->all[0] + f * values, *b = w->all[1] + f * values;
        pelt_result result = w->halves->read(w->halves->user, f, 0, a, error);
        if (!result) result = w->halves->read(w->halves->user, f, 1, b, error);
        if (result) return result;
        double sum = 0;
        for (size_t i = 0; i < values; i++) {
            *difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]) / 4;
            *product += (double)a[i] * b[i];
            sum += (double)a[i] + b[i];
        }
        w->out->dark += sum <= 0;
    }
    return PELT_OK;
}

/* Some points of one half as rows [count][columns]. */
static void take_rows(const work *w, int half, size_t first, size_t count, double *rows) {
    for (size_t f = 0; f < w->columns / 3; f++)
        for (size_t p = 0; p < count; p++)
            for (size_t c = 0; c < 3; c++)
                rows[p * w->columns + 3 * f + c] = w->all[half][3 * (f * w->n + first + p) + c];
}

/* A^T B over the points of one strip. */
static void add_gram(void *user, size_t strip, pelt_arena *scratch) {
    const work *w = user;
    size_t begin = w->n * strip / STRIPS, end = w->n * (strip + 1) / STRIPS, columns = w->columns;
    double *a = PELT_NEW(scratch, CHUNK * columns, double), *b = PELT_NEW(scratch, CHUNK * columns, double);
    for (size_t first = begin; first < end; first += CHUNK) {
        size_t count = end - first < CHUNK ? end - first : CHUNK;
        take_rows(w, 0, first, count, a);
        take_rows(w, 1, first, count, b);
        pelt_gemm(true, false, columns, columns, count, 1, a, b, 1, w->grams + strip * columns * columns);
    }
}

static pelt_result find_mix(work *w, pelt_error *error) {
    size_t columns = w->columns, rank = w->out->rank;
    double *values = PELT_NEW(w->arena, columns, double),
           *sum = w->grams = PELT_NEW(w->arena, STRIPS * columns * columns, double);
    pelt_parallel(w->arena, w->options->threads, STRIPS, add_gram, w);
    for (size_t s = 1; s < STRIPS; s++)
        for (size_t i = 0; i < columns * columns; i++) sum[i] += sum[s * columns * columns + i];
    for (size_t i = 0; i < columns; i++)
        for (size_t k = 0; k < i; k++) {
            double both = (sum[i * columns + k] + sum[k * columns + i]) / 2;
            sum[i * columns + k] = sum[k * columns + i] = both;
        }
    if (!isfinite(sum[0]) || !pelt_eigen(columns, sum, values))
        return pelt_fail(error, PELT_ERROR_NUMBER, "the training frames have no usable components");
    for (size_t c = 0; c < columns; c++)
        for (size_t k = 0; k < rank; k++) w->out->mix[c * rank + k] = (float)sum[c * columns + columns - 1 - k];
    return PELT_OK;
}

/* Adds the contribution of one frame to the pictures. */
static void add_frame(void *user, size_t strip, pelt_arena *scratch) {
    (void)scratch;
    const work *w = user;
    size_t rank = w->out->rank;
    for (size_t p = w->n * strip / STRIPS; p < w->n * (strip + 1) / STRIPS; p++)
        for (size_t c = 0; c < 3; c++) {
            float value = w->from[3 * p + c], *to = w->to + p * rank;
            const float *row = w->mix_rows + c * rank;
            for (size_t k = 0; k < rank; k++) to[k] += value * row[k];
        }
}

static void project_halves(work *w) {
    for (uint32_t f = 0; f < w->halves->frame_count; f++)
        for (uint32_t half = 0; half < 2; half++) {
            w->from = w->all[half] + 3 * f * w->n, w->to = w->half[half];
            w->mix_rows = w->out->mix + 3 * (size_t)f * w->out->rank;
            pelt_parallel(w->arena, w->options->threads, STRIPS, add_frame, w);
        }
}

/* -- Smoothing ----------------------------------------------------------------------------------------------------- */

/* Points are neighbours if they are in nearly the same plane. */
static bool same_surface(const pelt_light_point *a, const pelt_light_point *b) {
    v3 way = v3_sub(v3_of(b->position), v3_of(a->position)), normal = v3_of(a->normal);
    float off = v3_dot(way, normal);
    return a->surface == b->surface && v3_dot(normal, v3_of(b->normal)) > 0.9f &&
           off * off < 0.01f * v3_dot(way, way) + 1e-12f;
}

static void smooth_point(const work *w, size_t p) {
    const pelt_light_point *point = &w->options->points[p];
    int width = (int)w->options->width, height = (int)w->options->height, r = w->radius;
    int x0 = (int)point->id % width, y0 = (int)point->id / width;
    float sums[GROUP] = {0}, total = 0, scale = -2.0f / (float)(r * r);
    for (int y = y0 - r < 0 ? 0 : y0 - r; y <= y0 + r && y < height; y++)
        for (int x = x0 - r < 0 ? 0 : x0 - r; x <= x0 + r && x < width; x++) {
            int32_t q = w->pixels[y * width + x];
            if (q < 0 || (q != (int32_t)p && !same_surface(point, &w->options->points[q]))) continue;
            float weight = expf(scale * (float)((x - x0) * (x - x0) + (y - y0) * (y - y0)));
            const float *from = w->from + GROUP * (size_t)q;
            for (int k = 0; k < GROUP; k++) sums[k] += weight * from[k];
            total += weight;
        }
    for (int k = 0; k < GROUP; k++) w->to[GROUP * p + k] = sums[k] / total;
}

static void smooth_strip(void *user, size_t strip, pelt_arena *scratch) {
    (void)scratch;
    const work *w = user;
    size_t strips = 8 * STRIPS;
    for (size_t p = w->n * strip / strips; p < w->n * (strip + 1) / strips; p++) smooth_point(w, p);
}

static void smooth(work *w, int radius, const float *from, float *to) {
    w->radius = radius, w->from = from, w->to = to;
    pelt_parallel(w->arena, w->options->threads, 8 * STRIPS, smooth_strip, w);
}

/* Room for a group of pictures: the halves, smoothed, and errors. */
typedef struct group {
    float *half[2], *smoothed[2], *error, *around, *least, *best;
} group;

static void allocate_group(pelt_arena *arena, size_t n, group *g) {
    float **all[] = {&g->half[0], &g->half[1], &g->smoothed[0], &g->smoothed[1],
                     &g->error,   &g->around,  &g->least,       &g->best};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = PELT_NEW(arena, GROUP * n, float);
}

static void load_group(const work *w, group *g, size_t first) {
    for (size_t p = 0; p < w->n; p++)
        for (size_t k = 0; k < GROUP; k++)
            for (int h = 0; h < 2; h++)
                g->half[h][GROUP * p + k] = first + k < w->out->rank ? w->half[h][p * w->out->rank + first + k] : 0;
}

/* Takes a candidate where it beats the best so far around a point. */
static void try_candidate(work *w, group *g, const float *a, const float *b, bool first) {
    size_t count = GROUP * w->n;
    for (size_t i = 0; i < count; i++) {
        float da = a[i] - g->half[1][i], db = b[i] - g->half[0][i];
        g->error[i] = da * da + db * db;
    }
    smooth(w, ERROR_RADIUS, g->error, g->around);
    for (size_t i = 0; i < count; i++)
        if (first || g->around[i] < g->least[i]) {
            g->least[i] = g->around[i];
            g->best[i] = (a[i] + b[i]) / 2;
        }
}

static pelt_result smooth_pictures(work *w, pelt_error *error) {
    group g;
    size_t rank = w->out->rank;
    allocate_group(w->arena, w->n, &g);
    for (size_t first = 0; first < rank; first += GROUP) {
        if (pelt_should_stop(&w->options->progress, "noise", (double)first / (double)rank))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
        load_group(w, &g, first);
        try_candidate(w, &g, g.half[0], g.half[1], true);
        for (size_t r = 0; r < sizeof radii / sizeof *radii && !w->options->no_smoothing; r++) {
            smooth(w, radii[r], g.half[0], g.smoothed[0]);
            smooth(w, radii[r], g.half[1], g.smoothed[1]);
            try_candidate(w, &g, g.smoothed[0], g.smoothed[1], false);
        }
        for (size_t p = 0; p < w->n; p++)
            for (size_t k = 0; k < GROUP && first + k < rank; k++)
                w->out->pictures[p * rank + first + k] = g.best[GROUP * p + k];
    }
    return PELT_OK;
}

/* -- All ---------------------------------------------------------------------------------------------------------- */

static void allocate(work *w) {
    const pelt_denoise_options *o = w->options;
    size_t pixels = (size_t)o->width * o->height, rank = w->out->rank;
    w->out->pictures = PELT_NEW(w->kept, w->n * rank, float);
    w->out->mix = PELT_NEW(w->kept, w->columns * rank, float);
    w->pixels = PELT_NEW(w->arena, pixels, int32_t);
    for (int h = 0; h < 2; h++) {
        w->all[h] = PELT_NEW(w->arena, w->columns * w->n, float);
        w->half[h] = PELT_NEW(w->arena, w->n * rank, float);
    }
    memset(w->pixels, -1, pixels * sizeof *w->pixels);
    for (size_t p = 0; p < w->n; p++) w->pixels[o->points[p].id] = (int32_t)p;
}

static pelt_result denoise(void *user, pelt_error *error) {
    work *w = user;
    double difference = 0, product = 0;
    w->arena = pelt_arena_inside(w->kept);
    allocate(w);
    pelt_result result = read_halves(w, &difference, &product, error);
    if (result) return result;
    if (!(product > 0))
        return pelt_fail(error, PELT_ERROR_DATA,
                         "no light reaches anything the camera sees: the lights may be inside objects, or the camera "
                         "inside a wall");
    w->out->noise = sqrt(difference / product);
    result = find_mix(w, error);
    if (result) return result;
    project_halves(w);
    result = smooth_pictures(w, error);
    pelt_arena_free(w->arena);
    return result;
}

pelt_result pelt_denoise(pelt_arena *arena, const pelt_halves *halves, const pelt_denoise_options *options,
                         pelt_clean_frames *out, pelt_error *error) {
    size_t columns = 3 * (size_t)halves->frame_count, most = options->pictures ? options->pictures : MOST_PICTURES;
    *out = (pelt_clean_frames){.frame_count = halves->frame_count,
                               .point_count = options->point_count,
                               .rank = (uint32_t)(columns < most ? columns : most)};
    work w = {
        .halves = halves, .options = options, .out = out, .kept = arena, .n = options->point_count, .columns = columns};
    return pelt_stage(arena, denoise, &w, error);
}

void pelt_clean_frame(const pelt_clean_frames *clean, uint32_t frame, float *values) {
    size_t rank = clean->rank;
    for (size_t p = 0; p < clean->point_count; p++)
        for (size_t c = 0; c < 3; c++) {
            const float *picture = clean->pictures + p * rank, *mix = clean->mix + (3 * (size_t)frame + c) * rank;
            float sum = 0;
            for (size_t k = 0; k < rank; k++) sum += picture[k] * mix[k];
            values[3 * p + c] = sum;
        }
}
