/* features_fit.c: the corrective of learned features.

   1. Features are trained on all examples (features_learn.c), for as long as cross-validation found best
      (features_choose.c).
   2. For points with the same supports, displacements and changes of normals are fitted by ridge regression on the
      features of the neighbourhoods that drive them, D_i(p) = sum_g C_ig h_g(p).
   3. That function is compressed: clusters of points with common displacements U_q of D in the examples
      (kernel_cluster.c). Coefficients are its coordinates, a_q = U_q^T D = sum_g B_qg h_g with B_qg = U_q^T C_g: exact,
      without a second regression.
   4. All blocks of a neighbourhood share a few sums of its features, B_qg = P_qg M_g, chosen to preserve most of their
      effect in the examples. The least important sums are dropped, eight at a time, until the loss reaches a tenth of
      the cross-validation error.
   5. Another tenth is spent on blocks: the least important groups of eight columns of P_qg are dropped.

   Bound: f is monotonic with slopes up to 1, so |h_k| <= |x W_k|, and the six numbers of a joint have a norm of at most
   2 sqrt 2. So displacements in any pose stay within a bound that is known once the fit is done. */

#include "fit/corrective/features.h"
#include "rig/linear.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_PER_CLUSTER = 6, LEAST_CLUSTERS = 8, CLUSTERS = 80 };
static const double MUCH_LOST = 0.6; /* times the error in cross-validation */
/* Relative to the cross-validation error: what dropped sums may add; likewise for dropped parts of blocks. */
static const double SPARE = 0.1;

enum { POSITIONS, NORMALS, FIELDS };

/* A block B_qg of a field. */
typedef struct block {
    uint32_t cluster, set;
    double *matrix; /* [rank][width]; with sums, [rank][sums of the set] */
    double energy;  /* relative to that of the field */
    bool *dropped;  /* [part] */
} block;

/* Displacements of points, or changes of vertex normals. */
typedef struct field {
    bool there;
    pelt_example_displacements u, fitted;
    pelt_clusters clusters; /* the same for both; shapes and ranks differ. With plain normals all ranks are 0 */
    double energy;          /* of `fitted` */
    double ridge;
    block *blocks; /* cluster by cluster */
    uint32_t block_count;
    uint32_t *group_of, *index_of; /* [point] its group, and its index in the group's list */
} field;

/* Points driven by the same neighbourhoods. */
typedef struct support_group {
    uint32_t set_count, *sets;
    uint32_t counts[FIELDS], *points[FIELDS];
    float *outputs[FIELDS]; /* C: [set][width][3 points] */
} support_group;

typedef struct pelt_feature_fit {
    pelt_fitting *f;
    const pelt_poses *poses;
    const pelt_kernel_inputs *inputs;
    const pelt_feature_settings *settings;
    pelt_feature_net net;
    uint32_t *examples; /* [example_count] all of them */
    field fields[FIELDS];
    support_group *groups;
    uint32_t group_count;
    struct sums *sums; /* [set] */
    uint32_t rank;     /* largest number of sums of a set; 0: features are used directly */
    int of;            /* the current field */
    double error;      /* expected of the whole fit, relative to the displacements */
    bool *unsolved;    /* [group] */
} feature_fit;

/* -- Support groups ------------------------------------------------------------------------------------------------ */

/* The neighbourhoods that drive a group, given one of its points. */
static void find_sets(feature_fit *k, support_group *group, uint32_t point) {
    const pelt_kernel_inputs *in = k->inputs;
    group->sets = PELT_NEW(k->f->arena, in->count, uint32_t);
    for (uint32_t g = 0; g < in->count; g++)
        if (in->supports[(size_t)point * in->count + g]) group->sets[group->set_count++] = g;
}

static void make_groups(feature_fit *k) {
    pelt_arena *arena = k->f->arena;
    const pelt_example_displacements *u = &k->fields[POSITIONS].u;
    uint32_t *point_groups = PELT_NEW(arena, u->point_count, uint32_t);
    k->group_count = pelt_group_points(arena, k->inputs, u->point_count, NULL, point_groups);
    k->groups = PELT_NEW(arena, k->group_count, support_group);
    for (uint32_t p = 0; p < u->point_count; p++)
        if (!k->groups[point_groups[p]].sets) find_sets(k, &k->groups[point_groups[p]], p);
    for (int i = 0; i < FIELDS; i++) {
        field *x = &k->fields[i];
        x->group_of = PELT_NEW(arena, x->u.point_count, uint32_t);
        x->index_of = PELT_NEW(arena, x->u.point_count, uint32_t);
        for (uint32_t p = 0; p < x->u.point_count; p++) { /* a normal is in the group of the point it belongs to */
            x->group_of[p] = point_groups[i == NORMALS ? u->point_of[x->u.vertex_of[p]] : p];
            x->index_of[p] = k->groups[x->group_of[p]].counts[i]++;
        }
        for (uint32_t s = 0; s < k->group_count; s++) {
            support_group *group = &k->groups[s];
            size_t size = 3 * (size_t)group->counts[i] * group->set_count * k->net.width;
            group->points[i] = PELT_NEW(arena, group->counts[i], uint32_t);
            group->outputs[i] = PELT_NEW(arena, size, float);
        }
        for (uint32_t p = 0; p < x->u.point_count; p++) k->groups[x->group_of[p]].points[i][x->index_of[p]] = p;
    }
}

/* -- Outputs ------------------------------------------------------------------------------------------------------- */

/* The displacements of a group's points in some examples, [row][3 points]: read or written. */
static void copy_rows(const pelt_example_displacements *u, uint32_t count, const uint32_t *points, size_t row_count,
                      const uint32_t *rows, double *values, bool write) {
    for (size_t r = 0; r < row_count; r++)
        for (uint32_t i = 0; i < count; i++)
            for (size_t d = 0; d < 3; d++, values++) {
                float *x = u->positions + 3 * ((size_t)rows[r] * u->point_count + points[i]) + d;
                if (write)
                    *x = (float)*values;
                else
                    *values = *x;
            }
}

static void fit_group(void *user, size_t s, pelt_arena *scratch) {
    feature_fit *k = user;
    support_group *group = &k->groups[s];
    size_t inner = (size_t)group->set_count * k->net.width;
    uint32_t *rows = PELT_NEW(scratch, k->net.example_count, uint32_t);
    size_t n = pelt_feature_moving(&k->net, group->set_count, group->sets, k->net.example_count, k->examples, rows);
    if (!n) return;
    double *phi = pelt_feature_rows(scratch, &k->net, group->set_count, group->sets, NULL, n, rows);
    pelt_feature_gram gram = pelt_feature_gram_of(scratch, n, inner, phi);
    for (int i = 0; i < FIELDS; i++) {
        const field *x = &k->fields[i];
        size_t columns = 3 * (size_t)group->counts[i];
        double *y = PELT_NEW(scratch, n * columns, double), *out = PELT_NEW(scratch, inner * columns, double);
        double *solution = PELT_NEW(scratch, gram.size * columns, double);
        if (!columns) continue;
        copy_rows(&x->u, group->counts[i], group->points[i], n, rows, y, false);
        if (!pelt_feature_solve(scratch, &gram, x->ridge, columns, y, solution)) k->unsolved[s] = true;
        if (gram.size == n) { /* phi phi^T b = y - lambda b */
            pelt_gemm(true, false, inner, columns, n, 1, phi, solution, 0, out);
            for (size_t j = 0; j < n * columns; j++) y[j] -= x->ridge * gram.mean * solution[j];
        } else {
            pelt_gemm(false, false, n, columns, inner, 1, phi, solution, 0, y);
        }
        copy_rows(&x->fitted, group->counts[i], group->points[i], n, rows, y, true);
        const double *c = gram.size == n ? out : solution;
        for (size_t j = 0; j < inner * columns; j++) group->outputs[i][j] = (float)c[j];
    }
}

static double energy_of(const pelt_example_displacements *u) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)u->example_count * u->point_count; i++)
        sum += (double)u->positions[i] * u->positions[i];
    return fmax(sum, 1e-300);
}

/* Error of the outputs, relative to the displacements. */
static double missed(const field *x) {
    double left = 0;
    for (size_t i = 0; i < 3 * (size_t)x->u.example_count * x->u.point_count; i++)
        left += pow((double)x->u.positions[i] - x->fitted.positions[i], 2);
    return sqrt(left / energy_of(&x->u));
}

static void fit_outputs(feature_fit *k) {
    make_groups(k);
    k->unsolved = PELT_NEW(k->f->arena, k->group_count, bool);
    for (int i = 0; i < FIELDS; i++) {
        field *x = &k->fields[i];
        x->fitted = x->u;
        x->fitted.positions = PELT_NEW(k->f->arena, 3 * (size_t)x->u.example_count * x->u.point_count, float);
    }
    pelt_parallel(k->f->arena, k->f->options.threads, k->group_count, fit_group, k);
    for (int i = 0; i < FIELDS; i++) k->fields[i].energy = energy_of(&k->fields[i].fitted);
}

/* -- Blocks -------------------------------------------------------------------------------------------------------- */

/* The blocks of a cluster: the neighbourhoods that drive any of its points. */
static void list_blocks(feature_fit *k, field *x) {
    const pelt_clusters *c = &k->fields[POSITIONS].clusters;
    const pelt_kernel_inputs *in = k->inputs;
    x->blocks = PELT_NEW(k->f->arena, (size_t)c->count * in->count, block);
    for (uint32_t q = 0; q < c->count; q++)
        for (uint32_t g = 0; g < in->count && x->clusters.ranks[q]; g++) {
            bool drives = false;
            for (uint32_t m = c->first[q]; m < c->first[q + 1]; m++)
                drives |= in->supports[(size_t)c->points[m] * in->count + g] != 0;
            if (!drives) continue;
            double *matrix = PELT_NEW(k->f->arena, (size_t)x->clusters.ranks[q] * k->net.width, double);
            x->blocks[x->block_count++] = (block){.cluster = q, .set = g, .matrix = matrix};
        }
}

static size_t place_of(const support_group *group, uint32_t set) {
    size_t at = 0;
    while (at < group->set_count && group->sets[at] != set) at++;
    return at;
}

/* Adds U^T C of a cluster's points to the rows of a block. */
static void add_outputs(const feature_fit *k, int i, const block *b, double *rows) {
    const field *x = &k->fields[i];
    const pelt_clusters *c = &x->clusters;
    uint32_t first = c->first[b->cluster], count = c->first[b->cluster + 1] - first, rank = c->ranks[b->cluster];
    size_t width = k->net.width;
    for (uint32_t m = 0; m < count; m++) {
        uint32_t point = c->points[first + m];
        const support_group *group = &k->groups[x->group_of[point]];
        size_t at = place_of(group, b->set), columns = 3 * (size_t)group->counts[i];
        for (size_t w = 0; w < width && at < group->set_count; w++) {
            const float *output = group->outputs[i] + (at * width + w) * columns + 3 * (size_t)x->index_of[point];
            for (uint32_t r = 0; r < rank; r++) {
                const double *shape = c->shapes[b->cluster] + ((size_t)r * count + m) * 3;
                rows[r * width + w] += shape[0] * output[0] + shape[1] * output[1] + shape[2] * output[2];
            }
        }
    }
}

static void make_block(void *user, size_t at, pelt_arena *scratch) {
    feature_fit *k = user;
    field *x = &k->fields[k->of];
    block *b = &x->blocks[at];
    size_t n = k->net.example_count, width = k->net.width, rank = x->clusters.ranks[b->cluster];
    uint32_t *rows = PELT_NEW(scratch, n, uint32_t);
    size_t moving = pelt_feature_moving(&k->net, 1, &b->set, n, k->examples, rows);
    double *h = PELT_NEW(scratch, moving * width, double), *image = PELT_NEW(scratch, moving * rank, double);
    add_outputs(k, k->of, b, b->matrix);
    if (!moving) return;
    pelt_feature_values(scratch, &k->net, b->set, moving, rows, h);
    pelt_gemm(false, true, moving, rank, width, 1, h, b->matrix, 0, image);
    for (size_t i = 0; i < moving * rank; i++) b->energy += image[i] * image[i] / x->energy;
}

static void make_blocks(feature_fit *k) {
    for (k->of = 0; k->of < FIELDS; k->of++) {
        field *x = &k->fields[k->of];
        if (!x->there) continue;
        list_blocks(k, x);
        pelt_parallel(k->f->arena, k->f->options.threads, x->block_count, make_block, k);
    }
}

/* -- Sums ---------------------------------------------------------------------------------------------------------- */

typedef struct sums {
    uint32_t rows; /* over all blocks */
    uint32_t rank; /* how many it has */
    bool failed;
    pelt_feature_sums of;
} sums;

/* Adds B^T B over the blocks of a set, each relative to the energy of its field. */
static void add_squares(const feature_fit *k, uint32_t set, double *squares, uint32_t *rows) {
    size_t width = k->net.width;
    for (int i = 0; i < FIELDS; i++)
        for (uint32_t n = 0; n < k->fields[i].block_count; n++) {
            const block *b = &k->fields[i].blocks[n];
            uint32_t rank = k->fields[i].clusters.ranks[b->cluster];
            if (b->set != set) continue;
            pelt_gemm(true, false, width, width, rank, 1 / k->fields[i].energy, b->matrix, b->matrix, 1, squares);
            *rows += rank;
        }
}

static void find_sums(void *user, size_t set, pelt_arena *scratch) {
    feature_fit *k = user;
    sums *out = &k->sums[set];
    size_t n = k->net.example_count, width = k->net.width;
    uint32_t own = (uint32_t)set, *rows = PELT_NEW(scratch, n, uint32_t);
    size_t moving = pelt_feature_moving(&k->net, 1, &own, n, k->examples, rows);
    double *h = PELT_NEW(scratch, moving * width, double), *squares = PELT_NEW(scratch, width * width, double);
    add_squares(k, own, squares, &out->rows);
    if (!moving || !out->rows) return;
    pelt_feature_values(scratch, &k->net, own, moving, rows, h);
    out->failed = !pelt_feature_sum_up(scratch, width, moving, h, squares, &out->of);
}

/* Candidates for dropping, least important per cost first; ties are broken by index. */
typedef struct candidate {
    double worth, energy;
    uint32_t number;
} candidate;

static int compare_candidates(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->worth != y->worth) return x->worth < y->worth ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Moves the dropped candidates to the front and returns how many there are. */
static uint32_t leave_out(const feature_fit *k, candidate *list, uint32_t count) {
    double spare = pow(SPARE * k->error, 2);
    uint32_t out = 0;
    qsort(list, count, sizeof *list, compare_candidates);
    while (out < count && (spare -= list[out].energy) > 0) out++;
    return out;
}

/* Chooses the number of sums per set: drops eights, a set's last ones first. 0 when that saves no work. */
static uint32_t choose_ranks(feature_fit *k) {
    uint32_t width = k->net.width, each = width / 8, count = k->net.count * each, most = 0;
    candidate *list = PELT_NEW(k->f->arena, count, candidate);
    double plain = 0, mixed = 0;
    for (uint32_t i = 0; i < count; i++) {
        sums *set = &k->sums[i / each];
        uint32_t eight = each - 1 - i % each;
        if (set->failed) return 0;
        for (uint32_t v = 8 * eight; v < 8 * eight + 8; v++) list[i].energy += fmax(set->of.values[v], 0);
        list[i].worth = list[i].energy / (set->rows + width);
        list[i].number = i;
        set->rank = width;
    }
    for (uint32_t i = leave_out(k, list, count); i--;) k->sums[list[i].number / each].rank -= 8;
    for (uint32_t g = 0; g < k->net.count; g++) {
        plain += (double)k->sums[g].rows * width;
        mixed += ((double)k->sums[g].rows + width) * k->sums[g].rank;
        most = k->sums[g].rank > most ? k->sums[g].rank : most;
    }
    return mixed < plain ? most : 0;
}

static void mix_block(const feature_fit *k, const field *x, block *b) {
    size_t width = k->net.width, rows = x->clusters.ranks[b->cluster], rank = k->sums[b->set].rank;
    double *mixed = PELT_NEW(k->f->arena, rows * rank, double);
    for (size_t r = 0; r < rows; r++)
        for (size_t w = 0; w < width; w++)
            for (size_t i = 0; i < rank; i++)
                mixed[r * rank + i] += b->matrix[r * width + w] * k->sums[b->set].of.spread[w * width + i];
    b->matrix = mixed;
}

static void make_sums(feature_fit *k) {
    size_t width = k->net.width;
    k->sums = PELT_NEW(k->f->arena, k->net.count, sums);
    for (uint32_t g = 0; g < k->net.count; g++)
        k->sums[g].of =
            (pelt_feature_sums){PELT_NEW(k->f->arena, width, double), PELT_NEW(k->f->arena, width * width, double),
                                PELT_NEW(k->f->arena, width * width, double)};
    pelt_parallel(k->f->arena, k->f->options.threads, k->net.count, find_sums, k);
    k->rank = choose_ranks(k);
    for (int i = 0; i < FIELDS && k->rank; i++)
        for (uint32_t b = 0; b < k->fields[i].block_count; b++) mix_block(k, &k->fields[i], &k->fields[i].blocks[b]);
}

/* -- Parts of blocks ----------------------------------------------------------------------------------------------- */

/* Columns of a block's matrix. */
static uint32_t columns_of(const feature_fit *k, const block *b) {
    return k->rank ? k->sums[b->set].rank : k->net.width;
}

/* A block is dropped in eights of sums, whose contributions do not overlap, or as a whole. */
static uint32_t parts_of(const feature_fit *k, const block *b) { return k->rank ? columns_of(k, b) / 8 : 1; }

static double energy_of_part(const feature_fit *k, const field *x, const block *b, uint32_t part) {
    uint32_t columns = columns_of(k, b);
    double sum = 0;
    if (!k->rank) return b->energy;
    for (uint32_t r = 0; r < x->clusters.ranks[b->cluster]; r++)
        for (uint32_t i = 8 * part; i < 8 * part + 8; i++) sum += pow(b->matrix[(size_t)r * columns + i], 2);
    return sum / x->energy;
}

static void drop_parts(const feature_fit *k, field *x) {
    uint32_t most = (k->rank ? k->rank : 8) / 8, count = 0;
    candidate *list = PELT_NEW(k->f->arena, (size_t)x->block_count * most, candidate);
    for (uint32_t i = 0; i < x->block_count; i++) {
        block *b = &x->blocks[i];
        b->dropped = PELT_NEW(k->f->arena, most, bool);
        for (uint32_t part = 0; part < parts_of(k, b); part++) {
            double energy = energy_of_part(k, x, b, part),
                   cost = (double)pelt_tiled_rows(x->clusters.ranks[b->cluster]);
            list[count++] = (candidate){energy / cost, energy, i * most + part};
        }
    }
    for (uint32_t i = leave_out(k, list, count); i--;)
        x->blocks[list[i].number / most].dropped[list[i].number % most] = true;
}

static float *mix_of(const feature_fit *k, uint32_t set) {
    if (!k->rank) return NULL;
    size_t width = k->net.width, rank = k->sums[set].rank;
    float *mix = PELT_NEW(k->f->arena, width * rank, float);
    for (size_t w = 0; w < width; w++)
        for (size_t i = 0; i < rank; i++) mix[w * rank + i] = (float)k->sums[set].of.mix[w * width + i];
    return mix;
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

/* The scale of an input's numbers: the model takes controls unscaled. */
static double unit_of(const feature_fit *k, uint32_t input) {
    if (!pelt_kernel_control(k->inputs, input)) return 1;
    return k->poses->control_list[k->inputs->joints[input]].scale;
}

static pelt_feature_set make_set(const feature_fit *k, uint32_t g) {
    const pelt_neighbourhood *near = &k->net.list[g];
    pelt_arena *arena = k->f->arena;
    uint32_t width = k->net.width, *inputs = PELT_NEW(arena, near->input_count, uint32_t);
    float *matrix = PELT_NEW(arena, (size_t)near->size * width, float), *offsets = PELT_NEW(arena, width, float);
    size_t at = 0;
    for (uint32_t i = 0; i < near->input_count; i++) {
        bool control = pelt_kernel_control(k->inputs, near->inputs[i]);
        double unit = unit_of(k, near->inputs[i]);
        inputs[i] = near->inputs[i];
        for (size_t end = at + (control ? 1 : 6) * (size_t)width; at < end; at++)
            matrix[at] = (float)(near->weights[at] * unit);
    }
    for (uint32_t w = 0; w < width; w++) offsets[w] = (float)near->offsets[w];
    return (pelt_feature_set){
        near->input_count, near->size, inputs, matrix, offsets, mix_of(k, g), k->rank ? k->sums[g].rank : 0};
}

/* Appends eight columns of a block to the group. */
static void add_eight(const feature_fit *k, const block *b, uint32_t eight, uint32_t most, pelt_feature_group *group,
                      uint32_t *eights, float *matrix) {
    uint32_t columns = columns_of(k, b), each = (k->rank ? k->rank : k->net.width) / 8;
    for (size_t r = 0; r < group->coefficient_count; r++)
        for (size_t i = 0; i < 8; i++)
            matrix[(r * most + group->eight_count) * 8 + i] = (float)b->matrix[r * columns + 8 * eight + i];
    eights[group->eight_count++] = b->set * each + eight;
}

static uint32_t eights_kept(const feature_fit *k, const block *b) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < columns_of(k, b) / 8; i++) kept += !b->dropped[k->rank ? i : 0];
    return kept;
}

/* The blocks of a cluster from the `at`-th on, side by side; advances `at` to the first of the next. */
static pelt_feature_group make_group(const feature_fit *k, const field *x, uint32_t q, uint32_t *at) {
    uint32_t kept = 0, size = x->clusters.ranks[q], first = *at;
    for (; *at < x->block_count && x->blocks[*at].cluster == q; (*at)++) kept += eights_kept(k, &x->blocks[*at]);
    uint32_t *eights = PELT_NEW(k->f->arena, kept, uint32_t);
    float *matrix = PELT_NEW(k->f->arena, (size_t)size * kept * 8, float);
    pelt_feature_group group = {0, size, eights, matrix};
    for (uint32_t n = first; n < *at; n++) {
        const block *b = &x->blocks[n];
        for (uint32_t i = 0; i < columns_of(k, b) / 8; i++)
            if (!b->dropped[k->rank ? i : 0]) add_eight(k, b, i, kept, &group, eights, matrix);
    }
    return group;
}

static pelt_features *make_features(const feature_fit *k) {
    pelt_arena *arena = k->f->arena;
    uint32_t clusters = k->fields[POSITIONS].clusters.count, width = k->net.width;
    pelt_features *out = PELT_NEW(arena, 1, pelt_features);
    pelt_feature_set *sets = PELT_NEW(arena, k->net.count, pelt_feature_set);
    pelt_feature_group *groups = PELT_NEW(arena, FIELDS * (size_t)clusters, pelt_feature_group);
    pelt_feature_input *inputs = PELT_NEW(arena, k->inputs->count, pelt_feature_input);
    float *bends = PELT_NEW(arena, width, float);
    for (uint32_t w = 0; w < width; w++) bends[w] = (float)pelt_feature_bend2(w);
    for (uint32_t g = 0; g < k->net.count; g++) sets[g] = make_set(k, g);
    for (uint32_t g = 0; g < k->inputs->count; g++) {
        inputs[g].source = k->inputs->joints[g];
        if (!pelt_kernel_control(k->inputs, g)) continue;
        const pelt_model_control *control = &k->poses->control_list[inputs[g].source];
        inputs[g].least = control->least - control->rest, inputs[g].most = control->most - control->rest;
    }
    *out = (pelt_features){.width = width,
                           .input_count = k->inputs->count,
                           .set_count = k->net.count,
                           .control_count = k->inputs->control_count,
                           .rank = k->rank,
                           .bends = bends,
                           .inputs = inputs,
                           .sets = sets,
                           .groups = groups};
    uint32_t at[FIELDS] = {0};
    for (uint32_t q = 0; q < clusters; q++) /* coefficients of positions, then of normals */
        for (int i = 0; i < FIELDS; i++)
            if (k->fields[i].clusters.ranks[q]) groups[out->group_count++] = make_group(k, &k->fields[i], q, &at[i]);
    return out;
}

/* -- Figures ------------------------------------------------------------------------------------------------------- */

/* Upper bound of |x W_k|. */
static double largest_feature(const pelt_features *f, const pelt_feature_set *set, uint32_t w) {
    const float *row = set->matrix + w;
    double most = 0;
    for (uint32_t i = 0; i < set->input_count; i++) {
        const pelt_feature_input *input = &f->inputs[set->inputs[i]];
        bool control = set->inputs[i] >= f->input_count - f->control_count;
        double square = 0;
        for (int n = 0; n < (control ? 1 : 6); n++, row += f->width) square += (double)*row * *row;
        most += sqrt(square) * (control ? fmax(fabs(input->least), fabs(input->most)) : 2 * sqrt(2));
    }
    return most;
}

/* Adds coefficient r's contributions from a run of eights that belong to one set, starting at `first`, to the factors
   of the set's features; returns the first eight of the next set. */
static uint32_t add_factors(const pelt_features *f, const pelt_feature_group *group, uint32_t r, uint32_t first,
                            double *factors) {
    uint32_t each = (f->rank ? f->rank : f->width) / 8, set = group->eights[first] / each, i = first;
    const pelt_feature_set *own = &f->sets[set];
    for (; i < group->eight_count && group->eights[i] / each == set; i++) {
        const float *row = group->matrix + ((size_t)r * group->eight_count + i) * 8;
        uint32_t column = 8 * (group->eights[i] % each);
        for (uint32_t n = 0; n < 8 && !f->rank; n++) factors[column + n] += row[n];
        for (uint32_t w = 0; w < f->width && f->rank; w++)
            for (uint32_t n = 0; n < 8; n++) factors[w] += (double)row[n] * own->mix[w * own->rank + column + n];
    }
    return i;
}

static void note_bound(feature_fit *k, const pelt_corrective *corrective) {
    const pelt_features *f = corrective->features;
    double *most = PELT_NEW(k->f->arena, pelt_corrective_coefficient_count(corrective), double), *at = most;
    double *features = PELT_NEW(k->f->arena, (size_t)f->set_count * f->width, double);
    double *factors = PELT_NEW(k->f->arena, f->width, double);
    uint32_t each = (f->rank ? f->rank : f->width) / 8;
    for (uint32_t g = 0; g < f->set_count; g++)
        for (uint32_t w = 0; w < f->width; w++) features[g * f->width + w] = largest_feature(f, &f->sets[g], w);
    for (uint32_t q = 0; q < f->group_count; q++) {
        const pelt_feature_group *group = &f->groups[q];
        for (uint32_t r = 0; r < group->coefficient_count; r++, at++)
            for (uint32_t i = 0; i < group->eight_count;) {
                const double *largest = features + (size_t)(group->eights[i] / each) * f->width;
                memset(factors, 0, f->width * sizeof *factors);
                i = add_factors(f, group, r, i, factors);
                for (uint32_t w = 0; w < f->width; w++) *at += fabs(factors[w]) * largest[w];
            }
    }
    k->f->report.bound = pelt_largest_displacement(corrective->displacements, k->f->model.vertex_count, most);
}

static void note_findings(feature_fit *k, const pelt_corrective *corrective) {
    pelt_kernel_findings *findings = PELT_NEW(k->f->arena, 1, pelt_kernel_findings);
    *findings = (pelt_kernel_findings){.family = PELT_FAMILY_FEATURES,
                                       .features = k->net.width,
                                       .steps = k->settings->steps,
                                       .lambda = k->settings->ridge,
                                       .validation_error = k->settings->left,
                                       .joints = k->inputs->count,
                                       .clusters = k->fields[POSITIONS].clusters.count};
    k->f->report.kernel = findings;
    pelt_note_poses(k->f, k->poses, k->inputs, &k->fields[POSITIONS].u, missed(&k->fields[POSITIONS]),
                    k->settings->left);
    note_bound(k, corrective);
}

/* -- The fit ------------------------------------------------------------------------------------------------------- */

static void learn(feature_fit *k, pelt_feature_targets targets) {
    pelt_arena *arena = k->f->arena;
    uint32_t n = k->poses->count, half = k->settings->steps / 2, threads = k->f->options.threads;
    k->examples = PELT_NEW(arena, n, uint32_t);
    for (uint32_t e = 0; e < n; e++) k->examples[e] = e;
    k->net = pelt_features_of(arena, k->poses, k->inputs, k->settings->width, k->f->options.seed);
    pelt_feature_learning learning = pelt_feature_learning_of(arena, &k->net, targets, n, k->examples);
    pelt_feature_learn(arena, &learning, half, false, threads);
    pelt_feature_learn(arena, &learning, k->settings->steps - half, true, threads);
}

/* The features and what is fitted to them; another fit may have done it. */
static void recall(feature_fit *k, pelt_feature_targets targets) {
    pelt_feature_memory *memory = pelt_features_known(k->f);
    if (memory && memory->learned) {
        feature_fit own = *memory->learned;
        own.f = k->f, own.poses = k->poses, own.inputs = k->inputs, own.settings = k->settings;
        *k = own;
        return;
    }
    learn(k, targets);
    fit_outputs(k);
    if (memory) memory->learned = PELT_NEW(k->f->arena, 1, feature_fit), *memory->learned = *k;
}

/* The part of the displacements that the clusters do not reproduce, relative to them. */
static double lost(pelt_arena *arena, const pelt_example_displacements *u, const pelt_clusters *c) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double all = 0, kept = 0;
    for (uint32_t q = 0; q < c->count; q++) {
        size_t size = 3 * (size_t)(c->first[q + 1] - c->first[q]), rank = c->ranks[q], n = u->example_count;
        double *rows = PELT_NEW(work, n * size, double), *image = PELT_NEW(work, n * rank, double);
        for (size_t e = 0; e < n; e++)
            for (size_t i = 0; i < size; i++)
                rows[e * size + i] = u->positions[3 * (e * u->point_count + c->points[c->first[q] + i / 3]) + i % 3];
        if (rank) pelt_gemm(false, true, n, rank, size, 1, rows, c->shapes[q], 0, image);
        for (size_t i = 0; i < n * size; i++) all += rows[i] * rows[i];
        for (size_t i = 0; i < n * rank; i++) kept += image[i] * image[i];
    }
    return all > 0 ? sqrt(fmax(all - kept, 0) / all) : 0;
}

static void cluster_into(feature_fit *k, uint32_t count, double per_point) {
    pelt_fitting *f = k->f;
    field *x = &k->fields[POSITIONS], *normals = &k->fields[NORMALS];
    uint32_t threads = f->options.threads, most = x->u.point_count / POINTS_PER_CLUSTER;
    count = count > most ? most : count;
    count = count < LEAST_CLUSTERS ? LEAST_CLUSTERS : count;
    x->clusters = pelt_cluster(f->arena, &x->fitted, &f->bundle->mesh, f->model.positions, count, per_point, threads);
    if (normals->there)
        normals->clusters =
            pelt_cluster_tilts(f->arena, &x->fitted, &x->clusters, &normals->fitted, per_point, threads);
    else
        normals->clusters.ranks = PELT_NEW(f->arena, x->clusters.count, uint32_t);
}

/* Sizes of a compression, from small to large, of which the first that loses little is taken: mean displacements per
   point, and the coefficients that all clusters would have if they did not overlap. */
static const struct size { double per_point, coefficients; } SIZES[] = {{10, 800}, {10, 1600}, {16, 3200}};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

/* A given budget is spent on displacements, whatever it loses: the number of clusters stays, so that bytes grow with it,
   and error falls. What is left out afterwards may add to that loss in proportion. */
static void cluster(feature_fit *k) {
    const field *x = &k->fields[POSITIONS];
    double given = k->f->options.kernel.per_vertex;
    k->error = k->settings->left;
    if (given > 0) {
        cluster_into(k, CLUSTERS, given);
        k->error = hypot(k->error, lost(k->f->arena, &x->fitted, &x->clusters));
        return;
    }
    for (int i = 0; i < SIZE_COUNT; i++) {
        uint32_t count = (uint32_t)(SIZES[i].coefficients / SIZES[i].per_point);
        if (i > 0 && (count > x->u.point_count / POINTS_PER_CLUSTER ||
                      lost(k->f->arena, &x->fitted, &x->clusters) <= MUCH_LOST * k->settings->left))
            break;
        cluster_into(k, count, SIZES[i].per_point);
    }
}

static void assemble(feature_fit *k) {
    pelt_corrective *corrective = PELT_NEW(k->f->arena, 1, pelt_corrective);
    const field *x = &k->fields[POSITIONS], *normals = &k->fields[NORMALS];
    const uint32_t *ranks = x->clusters.ranks, *tilts = normals->clusters.ranks;
    corrective->displacements = pelt_cluster_vectors(k->f->arena, &x->u, &x->clusters, ranks, tilts, false);
    if (normals->there)
        corrective->tilts = pelt_cluster_vectors(k->f->arena, &normals->u, &normals->clusters, ranks, tilts, true);
    corrective->features = make_features(k);
    k->f->model.corrective = corrective;
    note_findings(k, corrective);
}

pelt_result pelt_fit_features(pelt_fitting *f, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                              const pelt_example_displacements *u, const pelt_example_displacements *tilts,
                              pelt_feature_targets targets, const pelt_feature_settings *settings, pelt_error *error) {
    feature_fit k = {.f = f, .poses = poses, .inputs = inputs, .settings = settings};
    k.fields[POSITIONS] = (field){.there = true, .u = *u, .ridge = settings->ridge};
    if (tilts) k.fields[NORMALS] = (field){.there = true, .u = *tilts, .ridge = settings->tilt_ridge};
    recall(&k, targets);
    for (uint32_t s = 0; s < k.group_count; s++)
        if (k.unsolved[s])
            return pelt_fail(error, PELT_ERROR_DATA,
                             "the displacements around vertex %u cannot be learned from these examples: train on fewer "
                             "frames, or use the family \"kernel\"",
                             u->vertex_of[k.groups[s].points[POSITIONS][0]]);
    cluster(&k);
    make_blocks(&k);
    make_sums(&k);
    for (int i = 0; i < FIELDS; i++) drop_parts(&k, &k.fields[i]);
    assemble(&k);
    return PELT_OK;
}
