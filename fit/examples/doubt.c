/* doubt.c: examples whose shape does not fit their pose.

   It does if the other examples predict it. Patch by patch, the displacements u are a Gaussian process of the pose:
   with K the arc-cosine kernel of the joints around the patch, the nearer the more, and M = (K + l I)^-1,

       r_B = C_B (M u)_B,    C_B = (M_BB)^-1

   are the errors of predicting examples B from all others, and their covariance. An error counts relative to its
   standard deviation, so that a pose unlike all others may have any shape, and to the errors of examples that move the
   same joints. The worst example joins B until none is bad, and those that the good ones predict after all leave it
   again: so bad examples do not hide each other, and good ones are not blamed for them. Then single points that stand
   out in their patch are examined in the same way. What is bad is replaced by its prediction. */

#include "fit/examples/doubt.h"
#include "fit/examples/movers.h"
#include "fit/examples/patches.h"
#include "fit/regression/regression.h"
#include "rig/linear.h"
#include "rig/ranks.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATCH = 32, MOST_PATCHES = 200, MOST_HOPS = 8, ATTEMPTS = 6, COMPANY = 2 };
static const pelt_kernel_settings settings = {.width = 1, .pair = 1, .lambda = 1e-3, .form = PELT_NEAR_ARC};
static const double DECAY = 4;          /* of what a joint does, with every joint between */
static const double LEAST_GAIN = 1e-2;  /* joints with less do not excuse an example */
static const double MOVED = 1e-3;       /* half the radians that count, or of a control */
static const double LIKE = 0.5;         /* cosine of rotations, and ratio of their sizes */
static const double TYPICAL = 0.75;     /* the quantile of errors that others are compared with */
static const double SLIGHT = 3e-4;      /* of the diagonal: smaller errors harm nobody */
static const double BAD = 8;            /* times typical and slight errors together; clean examples here reach 4 */
static const double WORTH_A_LOOK = 0.1; /* of that */
static const double SUSPECT = 0.05;     /* of the points of an example: if so many are bad, */
static const double DOUBTED = 2;        /* this is enough for the others */
static const double ALONE = 4;          /* times the error of its patch: a point stands out */
static const double MOST_POINTS = 0.75; /* the quantile of the errors of points that stands for a patch */
static const double MOST_BAD = 0.2;     /* of the examples; if there are more, nobody knows which are good */
static const double WHOLE = 0.25;       /* of the points of an example: it is bad altogether */

typedef struct doubting {
    const pelt_fitting *f;
    const pelt_poses *poses;
    pelt_example_displacements *u;
    pelt_kernel_inputs inputs;
    const float *tables;
    pelt_patches patches;
    uint32_t *groups; /* [group_count + 1] patches of a joint */
    uint32_t group_count;
    double slight;
    bool *lonely; /* [input][example] moves it as hardly any other does */
    pelt_doubts *doubts;
    bool *suspect; /* [example] */
    bool mends;    /* replaces what is marked; otherwise marks it */
} doubting;

/* -- Prediction ---------------------------------------------------------------------------------------------------- */

/* What the examples say of some points. */
typedef struct opinion {
    size_t n, columns;
    const double *alike, *inverse; /* [n][n] how much alike poses are, 0 to 1; M */
    const double *products;        /* [n][columns] M u */
    const bool *suspect, *exempt;  /* [n] */
    size_t bad_count;
    uint32_t *bad;                    /* [bad_count] B */
    bool *is_bad;                     /* [n] */
    double *left;                     /* [n][columns] error of the prediction from the good ones */
    double *sizes;                    /* [n] that of most points, */
    double *sure;                     /* [n] and its standard deviation */
    double *first_sizes, *first_sure; /* [n] the same before any was bad: those who predict each other are not */
    double *ratio;                    /* [n] to what is tolerable */
} opinion;

typedef struct patch {
    const doubting *c;
    uint32_t count;
    const uint32_t *points;
    const double *alike, *inverse;
    const bool *exempt; /* [example] */
    double *products;   /* [example][count][3] */
} patch;

static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static double length3(const double *d) { return sqrt(dot3(d, d)); }

static double gain_of(const doubting *c, uint32_t joint, uint32_t g) {
    if (pelt_kernel_control(&c->inputs, g)) return 1 / DECAY;
    uint32_t hops = pelt_joint_hops(&c->f->bundle->skeleton, joint, c->inputs.joints[g]);
    return hops > MOST_HOPS ? 0 : pow(DECAY, -(double)hops);
}

/* What a joint does to a patch is known from the examples that turn it. Those who turn it as hardly any other does, in
   direction and angle, cannot be judged by the others. */
static void find_lonely(void *user, size_t g, pelt_arena *scratch) {
    doubting *c = user;
    size_t n = c->poses->count, joint = c->inputs.joints[g];
    double *x = PELT_NEW(scratch, 3 * n, double), *sizes = PELT_NEW(scratch, n, double);
    for (size_t e = 0; e < n; e++) {
        const float *q = c->poses->rotations + 4 * (e * c->poses->joint_count + joint);
        if (pelt_kernel_control(&c->inputs, (uint32_t)g))
            x[3 * e] = c->poses->controls[e * c->poses->control_count + joint];
        else
            for (size_t i = 0; i < 3; i++) x[3 * e + i] = q[i];
        sizes[e] = length3(x + 3 * e);
    }
    for (size_t e = 0; e < n; e++) {
        uint32_t company = 0;
        for (size_t o = 0; o < n && company < COMPANY; o++)
            company += o != e && sizes[o] > LIKE * sizes[e] && dot3(x + 3 * e, x + 3 * o) > LIKE * sizes[e] * sizes[o];
        c->lonely[g * n + e] = company < COMPANY && sizes[e] > MOVED;
    }
}

static bool *exempt_from(pelt_arena *scratch, const doubting *c, uint32_t joint) {
    size_t n = c->poses->count;
    bool *exempt = PELT_NEW(scratch, n, bool);
    for (uint32_t g = 0; g < c->inputs.count; g++)
        for (size_t e = 0; e < n && gain_of(c, joint, g) > LEAST_GAIN; e++) exempt[e] |= c->lonely[g * n + e];
    return exempt;
}

static double *kernel_of(pelt_arena *scratch, const doubting *c, uint32_t joint) {
    size_t n = c->poses->count;
    double *k = PELT_NEW(scratch, n * n, double);
    for (uint32_t g = 0; g < c->inputs.count; g++) {
        double gain = gain_of(c, joint, g);
        const float *table = c->tables + g * n * n;
        for (size_t i = 0; i < n * n && gain > 0; i++) k[i] += gain * table[i];
    }
    return k;
}

static opinion new_opinion(pelt_arena *work, const patch *p, size_t columns, const double *products) {
    size_t n = p->c->poses->count;
    return (opinion){.n = n,
                     .columns = columns,
                     .alike = p->alike,
                     .inverse = p->inverse,
                     .products = products,
                     .suspect = p->c->suspect,
                     .exempt = p->exempt,
                     .bad = PELT_NEW(work, n, uint32_t),
                     .is_bad = PELT_NEW(work, n, bool),
                     .left = PELT_NEW(work, n * columns, double),
                     .sizes = PELT_NEW(work, n, double),
                     .sure = PELT_NEW(work, n, double),
                     .first_sizes = PELT_NEW(work, n, double),
                     .first_sure = PELT_NEW(work, n, double),
                     .ratio = PELT_NEW(work, n, double)};
}

static void count_bad(opinion *o) {
    o->bad_count = 0;
    for (uint32_t i = 0; i < o->n; i++)
        if (o->is_bad[i]) o->bad[o->bad_count++] = i;
}

static void set_bad(opinion *o, uint32_t e, bool bad) {
    o->is_bad[e] = bad;
    count_bad(o);
}

/* Errors and their deviations: of the bad ones from the good ones, of the good ones from the others of these. */
static void predict(pelt_arena *scratch, opinion *o) {
    size_t n = o->n, b = o->bad_count, c = o->columns;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
    double *block = PELT_NEW(work, b * b, double), *share = PELT_NEW(work, b * n, double);
    double *right = PELT_NEW(work, b * c, double);
    for (size_t i = 0; i < b; i++) {
        for (size_t k = 0; k < b; k++) block[i * b + k] = o->inverse[o->bad[i] * n + o->bad[k]];
        memcpy(share + i * n, o->inverse + o->bad[i] * n, n * sizeof *share);
        memcpy(right + i * c, o->products + o->bad[i] * c, c * sizeof *right);
    }
    if (b && pelt_cholesky(b, block)) {
        pelt_cholesky_solve(b, block, n, share), pelt_cholesky_solve(b, block, c, right);
        pelt_cholesky_invert(b, block);
    }
    memcpy(o->left, o->products, n * c * sizeof *o->left);
    for (size_t e = 0; e < n; e++) {
        double own = o->inverse[e * n + e], *left = o->left + e * c;
        for (size_t i = 0; i < b && !o->is_bad[e]; i++) {
            double part = share[i * n + e];
            own -= part * o->inverse[o->bad[i] * n + e];
            for (size_t k = 0; k < c; k++) left[k] -= part * o->products[o->bad[i] * c + k];
        }
        for (size_t k = 0; k < c; k++) left[k] /= own;
        o->sure[e] = own;
    }
    for (size_t i = 0; i < b; i++) {
        memcpy(o->left + o->bad[i] * c, right + i * c, c * sizeof *right);
        o->sure[o->bad[i]] = 1 / block[i * b + i];
    }
    double *sizes = PELT_NEW(work, c / 3, double);
    for (size_t e = 0; e < n; e++) {
        for (size_t k = 0; k < c / 3; k++) sizes[k] = length3(o->left + e * c + 3 * k);
        o->sizes[e] = pelt_quantile(sizes, c / 3, MOST_POINTS);
        o->sure[e] = o->sure[e] > 0 ? 1 / sqrt(o->sure[e]) : INFINITY;
    }
}

static void compare(pelt_arena *scratch, opinion *o, double slight) {
    size_t count = 0;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
    pelt_ranked *order = PELT_NEW(work, o->n, pelt_ranked);
    for (uint32_t e = 0; e < o->n; e++)
        if (!o->is_bad[e]) order[count++] = (pelt_ranked){o->sizes[e] / o->sure[e], e};
    qsort(order, count, sizeof *order, pelt_rising_ranks);
    for (size_t e = 0; e < o->n; e++) {
        double all = 0, sum = 0, typical = 0;
        const double *alike = o->alike + e * o->n;
        for (size_t i = 0; i < count; i++) all += alike[order[i].index];
        if (!(all > 0)) typical = order[(size_t)(TYPICAL * (double)(count - 1))].value; /* at rest: all are */
        for (size_t i = 0; i < count && sum < TYPICAL * all; i++)
            if (alike[order[i].index] > 0) sum += alike[order[i].index], typical = order[i].value;
        double limit = o->suspect[e] ? DOUBTED : BAD, first = o->first_sizes[e] / (typical * o->first_sure[e] + slight);
        o->ratio[e] = o->sizes[e] / (typical * o->sure[e] + slight) / limit;
        if (o->is_bad[e]) o->ratio[e] = fmin(o->ratio[e], first / limit);
        if (o->exempt[e]) o->ratio[e] = 0;
    }
}

static void look(pelt_arena *scratch, opinion *o, double slight) {
    predict(scratch, o);
    compare(scratch, o, slight);
}

/* The worst of the good ones is bad if it looks so to the others: together, it and those like it look all the same. The
   worst is that with the largest error for its kind, or for all. */
static bool add_worst(pelt_arena *scratch, opinion *o, double slight) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
    double *scores[2] = {PELT_NEW(work, o->n, double), PELT_NEW(work, o->n, double)};
    bool *tried = PELT_NEW(work, o->n, bool);
    for (size_t e = 0; e < o->n; e++) {
        tried[e] = o->is_bad[e] || !(o->ratio[e] > WORTH_A_LOOK);
        scores[0][e] = o->ratio[e], scores[1][e] = o->sizes[e] / o->sure[e];
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        const double *score = scores[attempt % 2];
        uint32_t worst = 0;
        for (uint32_t e = 0; e < o->n; e++)
            if (tried[worst] || (!tried[e] && score[e] > score[worst])) worst = e;
        if (tried[worst]) break;
        tried[worst] = true;
        set_bad(o, worst, true);
        look(work, o, slight);
        if (o->ratio[worst] > 1) return true;
        set_bad(o, worst, false);
    }
    look(work, o, slight);
    return false;
}

/* Begins with the examples of the largest errors, as many as may be bad, and takes back those that the others predict.
   So even many bad ones do not make each other look typical. */
static void begin(pelt_arena *scratch, opinion *o, double slight) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
    pelt_ranked *order = PELT_NEW(work, o->n, pelt_ranked);
    predict(work, o);
    memcpy(o->first_sizes, o->sizes, o->n * sizeof *o->sizes);
    memcpy(o->first_sure, o->sure, o->n * sizeof *o->sure);
    for (uint32_t e = 0; e < o->n; e++) order[e] = (pelt_ranked){o->sizes[e] / o->sure[e], e};
    qsort(order, o->n, sizeof *order, pelt_falling_ranks);
    for (size_t i = 0; i < (size_t)(MOST_BAD * (double)o->n); i++) o->is_bad[order[i].index] = true;
    for (bool changed = true; changed;) {
        changed = false;
        count_bad(o);
        look(work, o, slight);
        for (size_t i = 0; i < o->bad_count; i++)
            if (o->ratio[o->bad[i]] <= 1) o->is_bad[o->bad[i]] = false, changed = true;
    }
}

/* Finds the bad ones; false if there are too many. */
static bool judge(pelt_arena *scratch, opinion *o, double slight) {
    begin(scratch, o, slight);
    while (add_worst(scratch, o, slight))
        if (o->bad_count > MOST_BAD * (double)o->n) return false;
    while (o->bad_count) {
        uint32_t best = o->bad[0];
        for (size_t i = 1; i < o->bad_count; i++)
            if (o->ratio[o->bad[i]] < o->ratio[best]) best = o->bad[i];
        if (o->ratio[best] > 1) break;
        set_bad(o, best, false);
        look(scratch, o, slight);
    }
    return true;
}

/* -- Patches and points -------------------------------------------------------------------------------------------- */

static void mark(const patch *p, const opinion *o, uint32_t first, uint32_t count, uint8_t as) {
    for (size_t i = 0; i < o->bad_count; i++)
        for (uint32_t k = first; k < first + count; k++) {
            uint8_t *at = p->c->doubts->marks + (size_t)o->bad[i] * p->c->u->point_count + p->points[k];
            if (*at < as) *at = as;
        }
}

/* Of a point, or of how it differs from its patch. */
static opinion of_point(pelt_arena *work, const patch *p, uint32_t k, bool differs) {
    size_t n = p->c->poses->count, columns = 3 * (size_t)p->count;
    double *products = PELT_NEW(work, 3 * n, double);
    for (size_t e = 0; e < n; e++) {
        const double *all = p->products + e * columns;
        memcpy(products + 3 * e, all + 3 * k, 3 * sizeof *products);
        for (size_t i = 0; i < columns && differs; i++) products[3 * e + i % 3] -= all[i] / p->count;
    }
    return new_opinion(work, p, 3, products);
}

/* Whether the error of a point stands out in its patch, in some example. */
static bool stands_out(const opinion *all, double slight, uint32_t k) {
    for (size_t e = 0; e < all->n; e++)
        if (!all->is_bad[e] && length3(all->left + e * all->columns + 3 * k) > ALONE * (all->sizes[e] + slight))
            return true;
    return false;
}

static void look_at(pelt_arena *scratch, const patch *p) {
    opinion all = new_opinion(scratch, p, 3 * (size_t)p->count, p->products);
    if (!judge(scratch, &all, p->c->slight)) return;
    mark(p, &all, 0, p->count, PELT_BAD_PATCH);
    for (uint32_t k = 0; k < p->count; k++) {
        if (!stands_out(&all, p->c->slight, k)) continue;
        PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
        opinion one = of_point(work, p, k, true);
        for (size_t i = 0; i < all.bad_count; i++) set_bad(&one, all.bad[i], true);
        if (judge(work, &one, ALONE * p->c->slight)) mark(p, &one, k, 1, PELT_BAD_POINT);
    }
}

/* Replaces what is marked by its prediction. */
static void mend(pelt_arena *scratch, const patch *p) {
    const doubting *c = p->c;
    for (uint32_t k = 0; k < p->count; k++) {
        PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
        opinion one = of_point(work, p, k, false);
        for (uint32_t e = 0; e < one.n; e++)
            if (c->doubts->marks[(size_t)e * c->u->point_count + p->points[k]] ||
                c->doubts->examples[e] == PELT_BAD_WHOLE)
                set_bad(&one, e, true);
        if (one.bad_count) predict(work, &one);
        for (size_t i = 0; i < one.bad_count; i++) {
            if (c->doubts->examples[one.bad[i]] == PELT_BAD_WHOLE) continue;
            float *to = c->u->positions + 3 * ((size_t)one.bad[i] * c->u->point_count + p->points[k]);
            for (int d = 0; d < 3; d++) to[d] -= (float)one.left[3 * one.bad[i] + (size_t)d];
        }
    }
}

/* The kernel becomes how much alike poses are: the squared cosine of their features. */
static void find_alike(size_t n, double *kernel) {
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            double k = kernel[a * n + b], both = kernel[a * n + a] * kernel[b * n + b];
            kernel[a * n + b] = kernel[b * n + a] = both > 0 ? k * k / both : 0;
        }
    for (size_t a = 0; a < n; a++) kernel[a * n + a] = 0;
}

static void look_around(void *user, size_t group, pelt_arena *scratch) {
    const doubting *c = user;
    size_t n = c->poses->count;
    double *kernel = kernel_of(scratch, c, c->patches.joints[c->groups[group]]);
    double *inverse = PELT_NEW(scratch, n * n, double);
    memcpy(inverse, kernel, n * n * sizeof *kernel);
    for (size_t e = 0; e < n; e++) inverse[e * n + e] += settings.lambda;
    if (!pelt_cholesky(n, inverse)) return;
    pelt_cholesky_invert(n, inverse);
    find_alike(n, kernel);
    const bool *exempt = exempt_from(scratch, c, c->patches.joints[c->groups[group]]);
    for (uint32_t at = c->groups[group]; at < c->groups[group + 1]; at++) {
        PELT_SCOPED pelt_arena *work = pelt_arena_inside(scratch);
        patch p = {.c = c,
                   .count = c->patches.starts[at + 1] - c->patches.starts[at],
                   .points = c->patches.points + c->patches.starts[at],
                   .alike = kernel,
                   .inverse = inverse,
                   .exempt = exempt};
        size_t columns = 3 * (size_t)p.count;
        double *u = PELT_NEW(work, n * columns, double);
        p.products = PELT_NEW(work, n * columns, double);
        for (size_t e = 0; e < n; e++)
            for (size_t k = 0; k < columns; k++)
                u[e * columns + k] = c->u->positions[3 * (e * c->u->point_count + p.points[k / 3]) + k % 3];
        pelt_gemm(false, false, n, columns, n, 1, inverse, u, 0, p.products);
        if (c->mends)
            mend(work, &p);
        else
            look_at(work, &p);
    }
}

/* -- All of it ----------------------------------------------------------------------------------------------------- */

static void prepare(doubting *c, pelt_arena *work) {
    const pelt_fitting *f = c->f;
    size_t n = c->poses->count;
    pelt_supports none = {.mover_count = c->poses->mover_count,
                          .amplitudes = PELT_NEW(work, 1, float),
                          .carried = PELT_NEW(work, 1, float),
                          .peaks = PELT_NEW(work, c->poses->mover_count, float)};
    pelt_kernel_inputs inputs = pelt_kernel_inputs_of(work, &f->bundle->skeleton, c->poses, &none);
    c->inputs = pelt_kernel_look_around(work, c->poses, &inputs);
    float *tables = PELT_NEW(work, n * n * c->inputs.count, float);
    pelt_kernel_tables(work, c->poses, &c->inputs, &settings, f->options.threads, tables);
    c->tables = tables;
    c->patches = pelt_patches_of(work, &f->model, c->u, PATCH, MOST_PATCHES);
    c->groups = PELT_NEW(work, (size_t)c->patches.count + 1, uint32_t);
    for (uint32_t p = 0; p < c->patches.count; p++)
        if (!p || c->patches.joints[p] != c->patches.joints[p - 1]) c->groups[c->group_count++] = p;
    c->groups[c->group_count] = c->patches.count;
    c->slight = SLIGHT * f->bundle->mesh.diagonal;
    c->suspect = PELT_NEW(work, n, bool);
    c->lonely = PELT_NEW(work, n * c->inputs.count, bool);
    pelt_parallel(work, f->options.threads, c->inputs.count, find_lonely, c);
}

/* Marks what does not fit; or mends it. */
static void look_everywhere(doubting *c, pelt_arena *work) {
    size_t count = (size_t)c->poses->count * c->u->point_count;
    pelt_made marks = {c->doubts->marks, .total = count},
              shapes = {c->u->positions, .total = 3 * count * sizeof(float)};
    pelt_spread(work, c->f->options.threads, c->group_count, look_around, c, 1, c->mends ? &shapes : &marks);
}

/* Looks again at examples of which much is bad. */
static void find_suspects(doubting *c, pelt_arena *work) {
    bool any = false;
    size_t points = c->u->point_count;
    for (size_t e = 0; e < c->poses->count; e++) {
        uint32_t bad = 0;
        for (size_t p = 0; p < points; p++) bad += c->doubts->marks[e * points + p] != PELT_FITS;
        any |= c->suspect[e] = bad > SUSPECT * (double)points;
    }
    if (!any) return;
    memset(c->doubts->marks, PELT_FITS, c->poses->count * points);
    look_everywhere(c, work);
}

static bool sum_up(doubting *c) {
    bool any = false;
    size_t points = c->u->point_count;
    for (size_t e = 0; e < c->poses->count; e++) {
        uint32_t bad = 0;
        uint8_t *example = &c->doubts->examples[e];
        for (uint32_t p = 0; p < points; p++) {
            uint8_t mark = c->doubts->marks[e * points + p];
            bad += mark != PELT_FITS;
            if (mark > *example) *example = mark;
            if (mark == PELT_BAD_POINT) c->doubts->vertices[e] = c->u->vertex_of[p];
        }
        if (bad > WHOLE * (double)points) *example = PELT_BAD_WHOLE;
        any |= bad > 0;
    }
    return any;
}

bool pelt_mend_examples(pelt_arena *arena, const pelt_fitting *f, const pelt_poses *poses,
                        pelt_example_displacements *u, pelt_doubts *out) {
    *out = (pelt_doubts){.marks = PELT_NEW(arena, (size_t)poses->count * u->point_count, uint8_t),
                         .examples = PELT_NEW(arena, poses->count, uint8_t),
                         .vertices = PELT_NEW(arena, poses->count, uint32_t)};
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    doubting c = {.f = f, .poses = poses, .u = u, .doubts = out};
    prepare(&c, work);
    look_everywhere(&c, work);
    find_suspects(&c, work);
    c.mends = sum_up(&c);
    if (c.mends) look_everywhere(&c, work);
    return c.mends;
}
