/* forecast.c: what the errors of held-out examples say of new poses. */

#include "fit/choose/choose.h"
#include "fit/examples/poses.h"
#include <math.h>
#include <stdlib.h>

static const double TRIMMED = 0.05, MOST = 0.5;

typedef struct pair {
    double square, blend;
} pair;

static int compare_pairs(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->square != y->square) return x->square < y->square ? -1 : 1;
    return x->blend < y->blend ? -1 : x->blend > y->blend;
}

double pelt_forecast(size_t count, const double *squares, const double *blend, double *relative) {
    pair *list = calloc(count + 1, sizeof *list);
    size_t kept = count - (size_t)(TRIMMED * (double)count + 0.5);
    double sum = 0, base = 0;
    *relative = 0;
    if (!list || !count) return free(list), NAN;
    for (size_t i = 0; i < count; i++) list[i] = (pair){squares[i], blend[i]};
    qsort(list, count, sizeof *list, compare_pairs);
    for (size_t i = 0; i < kept; i++) sum += list[i].square, base += list[i].blend;
    free(list);
    if (base > 0) *relative = sqrt(sum / base);
    return sqrt(sum / (double)kept);
}

pelt_measure *pelt_pool_folds(const pelt_bundle *bundle, const pelt_contender *c, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_measure *all = PELT_NEW(arena, 1, pelt_measure);
    uint32_t frames = 0, vertices = bundle->mesh.vertex_count;
    for (uint32_t i = 0; i < c->fold_count; i++) frames += c->measures[i]->frame_count;
    float *by_frame = PELT_NEW(arena, 3 * (size_t)frames, float),
          *by_vertex = PELT_NEW(arena, 2 * (size_t)vertices, float);
    if (pelt_arena_failed(arena)) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    *all = (pelt_measure){.vertex_count = vertices, .arena = arena, .jump = NAN, .jump_max = NAN};
    all->frame_rms = by_frame, all->frame_max = by_frame + frames, all->frame_blend = by_frame + 2 * (size_t)frames;
    all->vertex_rms = by_vertex, all->vertex_rough = by_vertex + vertices;
    double diagonal = bundle->mesh.diagonal > 0 ? (double)bundle->mesh.diagonal : 1, blend = 0;
    for (uint32_t i = 0; i < c->fold_count; i++) {
        const pelt_measure *m = c->measures[i];
        double part = (double)m->frame_count / frames;
        if (m->max > all->max) {
            all->max = m->max, all->worst_vertex = m->worst_vertex;
            all->worst_frame = all->frame_count + m->worst_frame;
        }
        if (m->jump_max > all->jump_max || (isnan(all->jump_max) && isfinite(m->jump_max))) {
            all->jump = m->jump, all->jump_max = m->jump_max, all->jump_vertex = m->jump_vertex;
            all->jump_frame = all->frame_count + m->jump_frame;
        }
        for (uint32_t f = 0; f < m->frame_count; f++, all->frame_count++) {
            all->frame_rms[all->frame_count] = m->frame_rms[f], all->frame_max[all->frame_count] = m->frame_max[f];
            all->frame_blend[all->frame_count] = m->frame_blend[f];
        }
        for (uint32_t v = 0; v < vertices; v++) {
            all->vertex_rms[v] += (float)part * m->vertex_rms[v] * m->vertex_rms[v];
            all->vertex_rough[v] += (float)part * m->vertex_rough[v] * m->vertex_rough[v];
        }
        all->roughness += part * m->roughness * m->roughness, blend += part * pow(m->blend_fraction, 2);
        all->normal_rms_degrees += part * pow(m->normal_rms_degrees, 2);
        all->normal_max_degrees = fmax(all->normal_max_degrees, m->normal_max_degrees);
        all->point_count = m->point_count, all->mean_edge = m->mean_edge;
    }
    for (uint32_t v = 0; v < 2 * vertices; v++) by_vertex[v] = sqrtf(by_vertex[v]);
    all->roughness = sqrt(all->roughness), all->normal_rms_degrees = sqrt(all->normal_rms_degrees);
    all->rms = c->rms, all->rms_fraction = c->rms / diagonal, all->max_fraction = all->max / diagonal;
    all->rel_err = c->measures[0]->rel_err > 0 ? c->rel_err : 0, all->blend_fraction = sqrt(blend);
    return all;
}

static int falling(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x > y ? -1 : x < y;
}

size_t pelt_few_with_most(size_t count, const float *rms, double *share) {
    float *list = calloc(count + 1, sizeof *list);
    size_t few = (size_t)(TRIMMED * (double)count), n = 0;
    double all = 0, sum = 0;
    *share = 0;
    if (!list) return 0;
    for (size_t i = 0; i < count; i++) list[i] = rms[i], all += (double)rms[i] * rms[i];
    qsort(list, count, sizeof *list, falling);
    while (n < few && !(sum > MOST * all)) sum += (double)list[n] * list[n], n++;
    free(list);
    if (!(sum > MOST * all)) return 0;
    *share = sum / all;
    return n;
}

typedef struct doubting {
    pelt_arena *arena;
    const pelt_bundle *bundle;
    pelt_examples examples;
    uint32_t movers;
    bool together; /* some example moves two things */
} doubting;

static pelt_result look_at_poses(void *user, pelt_error *error) {
    (void)error;
    doubting *d = user;
    pelt_poses poses;
    pelt_poses_of(d->arena, d->bundle, d->examples, &(pelt_fit_options){0}, &poses);
    d->movers = poses.mover_count;
    for (uint32_t e = 0; e < poses.count; e++) d->together |= !poses.rest[e] && poses.sweep_of[e] == PELT_NO_MOVER;
    return PELT_OK;
}

pelt_result pelt_move_together(const pelt_bundle *bundle, pelt_examples examples, uint32_t *movers, bool *together,
                               pelt_error *error) {
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    doubting d = {.arena = work, .bundle = bundle, .examples = examples};
    pelt_result result = work ? pelt_stage(work, look_at_poses, &d, error) : pelt_no_memory(error);
    *movers = d.movers, *together = d.together;
    return result;
}

pelt_result pelt_doubt_forecast(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                const pelt_measure *held, pelt_findings *findings, pelt_error *error) {
    uint32_t movers;
    bool together;
    pelt_result result = pelt_move_together(bundle, examples, &movers, &together, error);
    if (result) return result;
    double share = 0;
    size_t few = held ? pelt_few_with_most(held->frame_count, held->frame_rms, &share) : 0;
    if (few)
        pelt_find(findings, arena, PELT_WARNING, "few-hold-most",
                  "%zu of %u held-out examples cause %.0f%% of the squared error: they lie outside the range of the "
                  "others, so the forecast says little about new poses; add examples in between",
                  few, held->frame_count, 100 * share);
    if (movers > 1 && !together)
        pelt_find(findings, arena, PELT_WARNING, "one-joint-each",
                  "every example moves a single joint, so none shows the skin when several joints move: expect larger "
                  "errors there than in the held-out examples, and add examples that move several");
    return PELT_OK;
}
