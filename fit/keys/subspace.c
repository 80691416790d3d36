/* subspace.c: truncated singular value decomposition of frames, read in batches.

   Randomised subspace iteration (Halko, Martinsson & Tropp 2011): a random start Y = Q G approximately spans the
   leading directions; each pass Y = Q (Q^T V), with V an orthonormal basis of Y, improves it; finally Q^T V is
   decomposed exactly. Every pass reads the frames once; memory holds V and Y, never Q. */

#include "fit/keys/subspace.h"
#include "rig/linear.h"
#include <math.h>
#include <string.h>

enum { BATCH = 64, OVERSAMPLE = 12, ITERATIONS = 2 };

/* -- Columns ------------------------------------------------------------------------------------------------------- */

struct pelt_columns {
    const pelt_frames *frames;
    uint32_t row_count, per_frame; /* columns per frame */
    float *held;                   /* all frames, or NULL */
    float *batch;                  /* [BATCH][point][component] */
    double *block;                 /* [BATCH * per_frame][row_count] */
};

static const float largest_value = 1e15f;

static pelt_result check_values(const pelt_frames *frames, uint32_t first, const float *values, size_t count,
                                pelt_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) <= largest_value)) {
            size_t point = i / frames->component_count;
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: frame %zu, point %zu has a value that is not finite%s",
                             pelt_frames_name(frames), first + point / frames->point_count, point % frames->point_count,
                             isfinite(values[i]) ? ", or beyond 1e15, and would dwarf everything else" : "");
        }
    return PELT_OK;
}

pelt_result pelt_frames_read(const pelt_frames *frames, uint32_t first, uint32_t count, float *values,
                             pelt_error *error) {
    pelt_error told = {0};
    pelt_result result = frames->read(frames->user, first, count, values, &told);
    if (!result)
        return check_values(frames, first, values, (size_t)count * frames->point_count * frames->component_count,
                            error);
    if (!*told.text) pelt_fail(&told, result, "%s: frame %u cannot be read", pelt_frames_name(frames), first);
    told.code = result;
    if (error) *error = told;
    return result;
}

pelt_result pelt_columns_open(pelt_arena *arena, const pelt_frames *frames, bool shared, size_t memory,
                              pelt_columns **columns, pelt_error *error) {
    pelt_columns *c = *columns = PELT_NEW(arena, 1, pelt_columns);
    size_t frame = (size_t)frames->point_count * frames->component_count;
    c->frames = frames;
    c->per_frame = shared ? frames->component_count : 1;
    c->row_count = (uint32_t)(frame / c->per_frame);
    c->batch = PELT_NEW(arena, BATCH * frame, float);
    c->block = PELT_NEW(arena, BATCH * frame, double);
    if (frame * sizeof(float) <= memory / frames->frame_count)
        c->held = PELT_NEW(arena, frame * frames->frame_count, float);
    for (uint32_t first = 0; c->held && first < frames->frame_count; first += BATCH) {
        uint32_t count = frames->frame_count - first < BATCH ? frames->frame_count - first : BATCH;
        pelt_result result = pelt_frames_read(frames, first, count, c->held + first * frame, error);
        if (result) return result;
    }
    return PELT_OK;
}

pelt_result pelt_columns_frame(const pelt_columns *c, uint32_t frame, float *values, pelt_error *error) {
    size_t size = (size_t)c->frames->point_count * c->frames->component_count;
    if (!c->held) return pelt_frames_read(c->frames, frame, 1, values, error);
    memcpy(values, c->held + frame * size, size * sizeof *values);
    return PELT_OK;
}

/* Columns of some frames, minus the mean (may be NULL), as c->block [columns][row_count]. */
static pelt_result read_block(pelt_columns *c, uint32_t first, uint32_t count, const double *mean, pelt_error *error) {
    const pelt_frames *frames = c->frames;
    size_t frame = (size_t)frames->point_count * frames->component_count, per = c->per_frame, rows = c->row_count;
    const float *values = c->held ? c->held + first * frame : c->batch;
    if (!c->held) {
        pelt_result result = pelt_frames_read(frames, first, count, c->batch, error);
        if (result) return result;
    }
    for (size_t f = 0; f < count; f++)
        for (size_t k = 0; k < per; k++) {
            double *out = c->block + (f * per + k) * rows;
            const float *in = values + f * frame + k;
            for (size_t r = 0; r < rows; r++) out[r] = in[r * per] - (mean ? mean[r] : 0);
        }
    return PELT_OK;
}

typedef void block_step(void *user, const double *block, size_t first_column, size_t column_count);

static pelt_result each_block(pelt_columns *c, const double *mean, block_step *step, void *user, pelt_error *error) {
    for (uint32_t first = 0; first < c->frames->frame_count; first += BATCH) {
        uint32_t left = c->frames->frame_count - first, count = left < BATCH ? left : BATCH;
        pelt_result result = read_block(c, first, count, mean, error);
        if (result) return result;
        step(user, c->block, (size_t)first * c->per_frame, (size_t)count * c->per_frame);
    }
    return PELT_OK;
}

/* -- Passes -------------------------------------------------------------------------------------------------------- */

typedef struct passes {
    pelt_subspace *s;
    size_t width;   /* of V: the rank plus some oversampling */
    double *v, *y;  /* [row_count][width] */
    double *c;      /* [column_count][width]: Q^T V, scaled by the roots of the columns' weights */
    double *energy; /* [row_count] */
    uint64_t random;
} passes;

static void add_mean(void *user, const double *block, size_t first, size_t columns) {
    const passes *p = user;
    for (size_t k = 0; k < columns; k++) {
        double w = p->s->weights[first + k] / p->s->weight;
        for (size_t r = 0; r < p->s->row_count; r++) p->s->mean[r] += w * block[k * p->s->row_count + r];
    }
}

static double random_normal(uint64_t *state) {
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 33) * 0x1p-31;
    }
    return sum;
}

static void scale_rows(const passes *p, size_t first, size_t columns) {
    for (size_t k = 0; k < columns; k++) {
        double w = sqrt(p->s->weights[first + k]), *row = p->c + (first + k) * p->width;
        for (size_t i = 0; i < p->width; i++) row[i] *= w;
    }
}

/* y += block^T c for random c, and the energy of every row. */
static void add_random(void *user, const double *block, size_t first, size_t columns) {
    passes *p = user;
    size_t rows = p->s->row_count;
    for (size_t i = 0; i < columns * p->width; i++) p->c[first * p->width + i] = random_normal(&p->random);
    scale_rows(p, first, columns);
    pelt_gemm(true, false, rows, p->width, columns, 1, block, p->c + first * p->width, 1, p->y);
    for (size_t k = 0; k < columns; k++)
        for (size_t r = 0; r < rows; r++)
            p->energy[r] += p->s->weights[first + k] * block[k * rows + r] * block[k * rows + r];
}

static void project(void *user, const double *block, size_t first, size_t columns) {
    passes *p = user;
    pelt_gemm(false, false, columns, p->width, p->s->row_count, 1, block, p->v, 0, p->c + first * p->width);
}

/* y += Q W Q^T v */
static void turn(void *user, const double *block, size_t first, size_t columns) {
    passes *p = user;
    project(p, block, first, columns);
    scale_rows(p, first, columns);
    scale_rows(p, first, columns);
    pelt_gemm(true, false, p->s->row_count, p->width, columns, 1, block, p->c + first * p->width, 1, p->y);
}

static pelt_result next_basis(passes *p, pelt_error *error) {
    double *swap = p->v;
    p->v = p->y, p->y = swap;
    if (!pelt_orthonormalize(p->s->row_count, p->width, p->v))
        return pelt_fail(error, PELT_ERROR_NUMBER, "the frames have no usable subspace");
    return PELT_OK;
}

/* -- The decomposition --------------------------------------------------------------------------------------------- */

/* Rotates V to the singular vectors: eigenvectors of C^T C, C = Q^T V weighted. */
static pelt_result rotate(passes *p, pelt_arena *arena, pelt_error *error) {
    pelt_subspace *s = p->s;
    size_t width = p->width, rank = s->rank;
    double *gram = PELT_NEW(arena, width * width, double), *values = PELT_NEW(arena, width, double),
           *turned = PELT_NEW(arena, width * rank, double),
           *weighted = PELT_NEW(arena, s->column_count * width, double);
    memcpy(weighted, p->c, (size_t)s->column_count * width * sizeof *weighted);
    double *plain = p->c;
    p->c = weighted;
    scale_rows(p, 0, s->column_count);
    p->c = plain;
    pelt_gemm(true, false, width, width, s->column_count, 1, weighted, weighted, 0, gram);
    if (!pelt_eigen(width, gram, values))
        return pelt_fail(error, PELT_ERROR_NUMBER, "the frames have no usable subspace");
    for (size_t m = 0; m < rank; m++) {
        s->values[m] = sqrt(fmax(0, values[width - 1 - m]));
        for (size_t i = 0; i < width; i++) turned[i * rank + m] = gram[i * width + width - 1 - m];
    }
    pelt_gemm(false, false, s->row_count, rank, width, 1, p->v, turned, 0, s->vectors);
    pelt_gemm(false, false, s->column_count, rank, width, 1, p->c, turned, 0, s->coordinates);
    return PELT_OK;
}

/* Drops directions in which nothing moves: they are rounding errors that would be trusted. */
static void drop_noise(pelt_subspace *s) {
    uint32_t rank = s->rank, kept = 0;
    const double noise = 1e-7; /* of the largest singular value: what floats leave */
    while (kept < rank && s->values[kept] > noise * s->values[0]) kept++;
    if (kept == 0) kept = 1;
    for (size_t r = 0; kept < rank && r < s->row_count; r++)
        memmove(s->vectors + r * kept, s->vectors + r * rank, kept * sizeof(double));
    for (size_t c = 0; kept < rank && c < s->column_count; c++)
        memmove(s->coordinates + c * kept, s->coordinates + c * rank, kept * sizeof(double));
    s->rank = kept;
}

static void find_tail(const passes *p) {
    pelt_subspace *s = p->s;
    for (size_t r = 0; r < s->row_count; r++) {
        double inside = 0;
        for (size_t m = 0; m < s->rank; m++) inside += pow(s->vectors[r * s->rank + m] * s->values[m], 2);
        s->tail[r] = fmax(0, p->energy[r] - inside) / s->weight;
    }
}

static void allocate(pelt_arena *arena, pelt_arena *work, passes *p) {
    pelt_subspace *s = p->s;
    size_t rows = s->row_count, columns = s->column_count;
    s->mean = PELT_NEW(arena, rows, double);
    s->vectors = PELT_NEW(arena, rows * s->rank, double);
    s->values = PELT_NEW(arena, s->rank, double);
    s->coordinates = PELT_NEW(arena, columns * s->rank, double);
    s->weights = PELT_NEW(arena, columns, double);
    s->tail = PELT_NEW(arena, rows, double);
    p->v = PELT_NEW(work, rows * p->width, double);
    p->y = PELT_NEW(work, rows * p->width, double);
    p->c = PELT_NEW(work, columns * p->width, double);
    p->energy = PELT_NEW(work, rows, double);
}

static pelt_result find(passes *p, pelt_columns *columns, bool centred, const pelt_progress *progress,
                        pelt_error *error) {
    pelt_subspace *s = p->s;
    pelt_result result = centred ? each_block(columns, NULL, add_mean, p, error) : PELT_OK;
    if (!result) result = each_block(columns, s->mean, add_random, p, error);
    if (!result) result = next_basis(p, error);
    /* With as many directions as frames or values, the span is already complete. */
    bool whole = p->width >= s->column_count || p->width >= s->row_count;
    for (int i = 0; i < ITERATIONS && !result && !whole; i++) {
        if (pelt_should_stop(progress, "subspace", (i + 1.0) / (ITERATIONS + 2))) return pelt_stopped(error);
        memset(p->y, 0, s->row_count * p->width * sizeof *p->y);
        result = each_block(columns, s->mean, turn, p, error);
        if (!result) result = next_basis(p, error);
    }
    return result ? result : each_block(columns, s->mean, project, p, error);
}

pelt_result pelt_subspace_find(pelt_arena *arena, pelt_columns *columns, uint32_t rank, bool centred, uint32_t seed,
                               const pelt_progress *progress, pelt_subspace *out, pelt_error *error) {
    const pelt_frames *frames = columns->frames;
    *out = (pelt_subspace){.row_count = columns->row_count,
                           .column_count = frames->frame_count * columns->per_frame,
                           .each = columns->row_count / frames->point_count};
    uint32_t most = out->row_count < out->column_count ? out->row_count : out->column_count;
    out->rank = rank < most ? rank : most;
    passes p = {.s = out, .random = 0x853c49e6748fea9bu + seed};
    p.width = out->rank + OVERSAMPLE < most ? out->rank + OVERSAMPLE : most;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    allocate(arena, work, &p);
    for (uint32_t c = 0; c < out->column_count; c++) {
        out->weights[c] = frames->weights ? frames->weights[c / columns->per_frame] : 1;
        out->weight += out->weights[c];
    }
    pelt_result result = find(&p, columns, centred, progress, error);
    if (!result) result = rotate(&p, work, error);
    if (!result) drop_noise(out), find_tail(&p), out->tail_known = true;
    return result;
}
