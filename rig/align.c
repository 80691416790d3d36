/* align.c: finds the axes, scale, offset and frames that map a point cache to its mesh.

   At first the order of the points is unknown. So statistics that do not depend on it are compared over time: the
   centroid of the points and their spread around it (second moments), in every frame of the cache and every key of the
   clip. That determines scale, axes and frames; the best few candidates are then compared point by point: with their
   partners if the point order makes sense, with the nearest points otherwise. */

#include "rig/align.h"
#include "rig/maths.h"
#include "rig/sort.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const pelt_alignment pelt_aligned = {.axes = {1, 2, 3}, .scale = 1};

enum { CHOICES = 48, MOST_KEYS = 64, MOMENTS = 5, SHORTLIST = 8, MOST_SAMPLES = 400 };

/* Smaller differences in size come from the deformation itself: bellies are larger than bones. */
static const double same_size = 1.25;

/* Points that are this near their partners, of the size of the cloud, are in the right order and place. */
static const double in_place = 0.1;
static const double smooth_along = 0.5; /* of an edge: neighbours differ by less in where they are off */
/* Where positions do not tell, the order of the file does if points are this near, and this smooth. */
static const double near_in_order = 0.3, smooth_in_order = 0.8;
static const double clearly_smoother = 0.9; /* points by position replace the order of the file at this roughness */

/* A scale or an offset is real if it stands out from rounding, and if most vertices agree on it, since a deformation
   moves and stretches them too. */
static const double stands_out = 1e-4, rounding = 1e-5;
static const double agreed_scale = 0.1, agreed_offset = 0.2; /* the deviation, of what it deviates from */
static const double large_offset = 0.05;                     /* of the diagonal: real even if they disagree */
static const double power_of_ten = 1e-3;                     /* a scale this close to one means other units */
static const double far_apart = 0.01;                        /* of the squared size: such pairs show a scale */

/* One candidate alignment of a cache. */
typedef struct choice {
    int axes[3];
    int64_t shift;
    double scale, badness;
} choice;

typedef struct aligning {
    const pelt_cached_part *part;
    uint32_t point_count;             /* of the file */
    const pelt_point_frames *cache;   /* without points that always coincide with another */
    pelt_point_frames distinct;       /* its storage, where there are such */
    uint32_t *distinct_of, *point_of; /* [point of the file] its number in `cache`, and back; NULL: there are none */
    const pelt_cache_options *wanted;
    const pelt_alignment *hint;
    bool in_order; /* positions have not told: as many points as vertices are in the order of these */
    pelt_alignment *found;
    pelt_arena *arena, *keep;
    uint32_t key_count, keys[MOST_KEYS];
    pelt_cloud of_keys[MOST_KEYS], *of_frames;
    double size;                         /* RMS distance of the blend from its centroid */
    uint32_t place_count;                /* vertices that share a rest position and move together are one place */
    uint32_t blend_place_count;          /* the same, by the blend; place_count may become that of all vertices */
    uint32_t *rest_of_vertex, *place_of; /* [vertex] */
    uint32_t *first_of;                  /* [place] a vertex there */
    uint32_t *rest_of;                   /* [place] index of its rest position */
    pelt_edges edges;                    /* of places */
    pelt_moments blend;                  /* of places, in the keys compared point by point */
    uint32_t moments[MOMENTS];
    const pelt_neighbours *trees[MOMENTS];
    pelt_moments truth; /* of points in the same frames, as stored in the cache */
} aligning;

/* -- Keys and frames ----------------------------------------------------------------------------------------------- */

uint32_t pelt_aligned_keys(uint32_t key_count, uint32_t frame_count, int64_t shift, uint32_t *first) {
    int64_t begin = shift < 0 ? -shift : 0, end = (int64_t)frame_count - shift;
    if (end > key_count) end = key_count;
    *first = begin < end ? (uint32_t)begin : 0;
    return begin < end ? (uint32_t)(end - begin) : 0;
}

uint32_t pelt_calmest_key(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, uint32_t first,
                          uint32_t count) {
    const pelt_skeleton *skeleton = &bundle->skeleton;
    pelt_transform *locals = PELT_NEW(arena, skeleton->joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(arena, skeleton->joint_count, pelt_affine);
    uint32_t calmest = first;
    double least = INFINITY;
    for (uint32_t f = first; f < first + count; f++) {
        pelt_clip_pose(clip, skeleton, f, locals);
        pelt_joint_matrices(skeleton, locals, NULL, matrices);
        double sum = 0;
        for (uint32_t j = 0; j < skeleton->joint_count; j++) {
            const double *m = matrices[j].m,
                         *parent = matrices[skeleton->parents[j] < 0 ? (int32_t)j : skeleton->parents[j]].m;
            for (int i = 0; i < 12; i++) sum += i % 4 == 3 ? 0 : (m[i] - parent[i]) * (m[i] - parent[i]);
        }
        if (sum < least) least = sum, calmest = f;
    }
    return calmest;
}

/* Evenly spaced picks from a range, including both ends. */
static uint32_t pick_evenly(uint32_t first, uint32_t count, uint32_t most, uint32_t *picked) {
    uint32_t n = count < most ? count : most;
    for (uint32_t i = 0; i < n; i++) picked[i] = first + (n > 1 ? (uint32_t)((uint64_t)i * (count - 1) / (n - 1)) : 0);
    return n;
}

/* -- The blend ----------------------------------------------------------------------------------------------------- */

/* Blended positions of the part's vertices; without joints there is no blend, but the clip's own positions. */
static const double *blend_key(const aligning *a, pelt_arena *arena, uint32_t key) {
    const pelt_bundle *bundle = a->part->bundle;
    const pelt_clip *clip = a->part->clip;
    size_t numbers = 3 * (size_t)bundle->mesh.vertex_count;
    const float *given = a->part->at_rest               ? bundle->mesh.positions
                         : bundle->skeleton.joint_count ? NULL
                                                        : clip->positions + key * numbers;
    double *out = given ? PELT_NEW(arena, numbers, double) : pelt_blend_frame(arena, bundle, clip, key);
    for (size_t i = 0; given && i < numbers; i++) out[i] = given[i];
    return out + 3 * (size_t)a->part->first;
}

static pelt_moments blend_places(aligning *a, const uint32_t *keys, uint32_t count) {
    pelt_moments m = {count, a->place_count, PELT_NEW(a->arena, 3 * (size_t)count * a->place_count, double)};
    for (uint32_t k = 0; k < count; k++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_inside(a->arena);
        const double *blend = blend_key(a, brief, keys[k]);
        for (uint32_t u = 0; u < a->place_count; u++)
            memcpy(m.positions + 3 * ((size_t)k * a->place_count + u), blend + 3 * (size_t)a->first_of[u],
                   3 * sizeof *blend);
    }
    return m;
}

/* -- Places -------------------------------------------------------------------------------------------------------- */

static int compare_edges(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

static void find_edges(aligning *a) {
    const pelt_mesh *mesh = &a->part->bundle->mesh;
    uint32_t(*pairs)[2] = pelt_alloc(a->arena, 6 * (size_t)mesh->triangle_count, sizeof *pairs);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        uint32_t from = mesh->triangles[i] - a->part->first, to = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
        to -= a->part->first;
        if (from >= a->part->count || to >= a->part->count || a->place_of[from] == a->place_of[to]) continue;
        pairs[count][0] = a->place_of[from], pairs[count++][1] = a->place_of[to];
        pairs[count][0] = a->place_of[to], pairs[count++][1] = a->place_of[from];
    }
    qsort(pairs, count, sizeof *pairs, compare_edges);
    a->edges.first = PELT_NEW(a->arena, (size_t)a->place_count + 1, uint32_t);
    a->edges.list = PELT_NEW(a->arena, count, uint32_t);
    for (size_t i = 0; i < count; i++) {
        if (i && !compare_edges(pairs[i], pairs[i - 1])) continue;
        a->edges.list[kept++] = pairs[i][1];
        a->edges.first[pairs[i][0] + 1] = (uint32_t)kept;
    }
    for (uint32_t u = 0; u < a->place_count; u++)
        if (a->edges.first[u + 1] < a->edges.first[u]) a->edges.first[u + 1] = a->edges.first[u];
}

static void know_places(aligning *a) {
    uint32_t n = a->part->count;
    a->first_of = PELT_NEW(a->arena, n, uint32_t), a->rest_of = PELT_NEW(a->arena, n, uint32_t);
    for (uint32_t v = n; v-- > 0;) a->first_of[a->place_of[v]] = v, a->rest_of[a->place_of[v]] = a->rest_of_vertex[v];
    find_edges(a);
}

/* Groups vertices that share a rest position and that the blend moves together in a sample of keys. */
static void find_places(aligning *a) {
    const pelt_mesh *mesh = &a->part->bundle->mesh;
    uint32_t n = a->part->count, keys[MOMENTS], count = pick_evenly(0, a->part->clip->frame_count, MOMENTS, keys);
    pelt_mesh part = {.vertex_count = n, .positions = mesh->positions + 3 * (size_t)a->part->first};
    float *positions = PELT_NEW(a->arena, 3 * (size_t)count * n, float);
    pelt_clip moved = {.frame_count = count, .positions = positions};
    pelt_example *list = PELT_NEW(a->arena, count, pelt_example);
    for (uint32_t k = 0; k < count; k++) {
        const double *blend = blend_key(a, a->arena, keys[k]);
        for (size_t i = 0; i < 3 * (size_t)n; i++) positions[3 * (size_t)k * n + i] = (float)blend[i];
        list[k] = (pelt_example){&moved, k};
    }
    a->place_of = PELT_NEW(a->arena, n, uint32_t);
    a->place_count = pelt_weld(a->arena, &part, (pelt_examples){count, list},
                               PELT_STILL_TOGETHER * pelt_scene_diagonal(mesh), a->place_of);
    a->blend_place_count = a->place_count;
    know_places(a);
}

/* The blend moves twins together, but what came after it (smoothing, a solver) may not: then they have points of their own. */
static void part_twins(aligning *a) {
    a->place_count = a->part->count;
    for (uint32_t v = 0; v < a->part->count; v++) a->place_of[v] = v;
    know_places(a);
}

/* -- Points ---------------------------------------------------------------------------------------------------------- */

/* Leaves out points that coincide with another in every frame, as those of hard edges do: they are one place of the mesh,
   and would only pull the centroids. */
static void find_distinct(aligning *a) {
    const pelt_point_frames *all = a->cache;
    uint32_t n = all->point_count, frames = all->frame_count;
    pelt_mesh first = {.vertex_count = n, .positions = (float *)all->positions};
    pelt_clip clip = {.frame_count = frames, .positions = all->positions};
    pelt_example *list = PELT_NEW(a->arena, frames, pelt_example);
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (size_t i = 0; i < 3 * (size_t)n; i++)
        low[i % 3] = fmin(low[i % 3], all->positions[i]), high[i % 3] = fmax(high[i % 3], all->positions[i]);
    for (int i = 0; i < 3; i++) square += (high[i] - low[i]) * (high[i] - low[i]);
    for (uint32_t f = 0; f < frames; f++) list[f] = (pelt_example){&clip, f};
    uint32_t *groups = PELT_NEW(a->arena, n, uint32_t);
    uint32_t count =
        pelt_weld(a->arena, &first, (pelt_examples){frames, list}, PELT_STILL_TOGETHER * sqrt(square), groups);
    if (count == n) return;
    a->distinct_of = groups, a->point_of = PELT_NEW(a->arena, count, uint32_t);
    for (uint32_t p = n; p-- > 0;) a->point_of[groups[p]] = p;
    float *positions = PELT_NEW(a->arena, 3 * (size_t)frames * count, float);
    for (size_t f = 0; f < frames; f++)
        for (size_t p = 0; p < count; p++)
            memcpy(positions + 3 * (f * count + p), all->positions + 3 * (f * n + a->point_of[p]),
                   3 * sizeof *positions);
    a->distinct = (pelt_point_frames){all->path, frames, count, positions};
    a->cache = &a->distinct;
}

/* -- Clouds -------------------------------------------------------------------------------------------------------- */

pelt_cloud pelt_cloud_of(const double *p, size_t count) {
    pelt_cloud c = {0};
    for (size_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++) c.middle[i] += p[3 * v + (size_t)i] / (double)count;
    for (size_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                c.spread[i][k] +=
                    (p[3 * v + (size_t)i] - c.middle[i]) * (p[3 * v + (size_t)k] - c.middle[k]) / (double)count;
    return c;
}

double pelt_square_size(const pelt_cloud *c) { return c->spread[0][0] + c->spread[1][1] + c->spread[2][2]; }

static void cloud_of_frame(void *user, size_t frame, pelt_arena *scratch) {
    aligning *a = user;
    size_t n = 3 * (size_t)a->cache->point_count;
    double *points = PELT_NEW(scratch, n, double);
    for (size_t i = 0; i < n; i++) points[i] = a->cache->positions[frame * n + i];
    a->of_frames[frame] = pelt_cloud_of(points, a->cache->point_count);
}

static void find_clouds(aligning *a) {
    a->key_count = pick_evenly(0, a->part->clip->frame_count, MOST_KEYS, a->keys);
    double sum = 0;
    for (uint32_t k = 0; k < a->key_count; k++) {
        pelt_arena *all = a->arena;
        PELT_SCOPED pelt_arena *brief = pelt_arena_inside(all);
        a->arena = brief;
        pelt_moments blend = blend_places(a, a->keys + k, 1);
        a->of_keys[k] = pelt_cloud_of(blend.positions, blend.count);
        sum += pelt_square_size(&a->of_keys[k]) / a->key_count;
        a->arena = all;
    }
    a->size = sqrt(sum);
    a->of_frames = PELT_NEW(a->arena, a->cache->frame_count, pelt_cloud);
    size_t work = (size_t)a->cache->frame_count * a->cache->point_count;
    pelt_parallel(a->arena, work < 1000000 ? 1 : 0, a->cache->frame_count, cloud_of_frame, a);
}

/* -- Candidates ---------------------------------------------------------------------------------------------------- */

static void turn(const int axes[3], const double from[3], double to[3]) {
    for (int i = 0; i < 3; i++) to[i] = axes[i] > 0 ? from[axes[i] - 1] : -from[-axes[i] - 1];
}

static void turn_back(const int axes[3], const double from[3], double to[3]) {
    for (int i = 0; i < 3; i++) to[abs(axes[i]) - 1] = axes[i] > 0 ? from[i] : -from[i];
}

static bool is_mirrored(const int axes[3]) {
    int sign = 1;
    for (int i = 0; i < 3; i++) {
        sign *= axes[i] < 0 ? -1 : 1;
        for (int k = i + 1; k < 3; k++) sign *= abs(axes[k]) < abs(axes[i]) ? -1 : 1;
    }
    return sign < 0;
}

static bool is_identity(const int axes[3]) { return axes[0] == 1 && axes[1] == 2 && axes[2] == 3; }

/* All 48 signed permutations of the axes, the identity first. */
static void axes_of(int number, int axes[3]) {
    static const int orders[6][3] = {{1, 2, 3}, {2, 3, 1}, {3, 1, 2}, {1, 3, 2}, {3, 2, 1}, {2, 1, 3}};
    for (int i = 0; i < 3; i++) axes[i] = (number >> i & 1 ? -1 : 1) * orders[number / 8][i];
}

/* Size of the blend over that of the cache; 1 if they are about equal. */
static double scale_of(const aligning *a, int64_t shift) {
    double blend = 0, truth = 0;
    if (a->wanted->scale != 0) return a->wanted->scale;
    for (uint32_t k = 0; k < a->key_count; k++) {
        int64_t frame = a->keys[k] + shift;
        if (frame < 0 || frame >= a->cache->frame_count) continue;
        blend += pelt_square_size(&a->of_keys[k]), truth += pelt_square_size(&a->of_frames[frame]);
    }
    double ratio = truth > 0 ? sqrt(blend / truth) : 1;
    return fabs(log(ratio)) <= log(same_size) || !isfinite(ratio) || !(ratio > 0) ? 1 : ratio;
}

/* How much the clouds differ over time, relative to the size of the character. */
static double cloud_badness(const aligning *a, const int axes[3], int64_t shift, double scale) {
    double sum = 0, mean[3] = {0}, apart[MOST_KEYS][3];
    uint32_t n = 0;
    for (uint32_t k = 0; k < a->key_count; k++) {
        int64_t frame = a->keys[k] + shift;
        if (frame < 0 || frame >= a->cache->frame_count) continue;
        const pelt_cloud *b = &a->of_keys[k], *t = &a->of_frames[frame];
        double middle[3];
        turn(axes, t->middle, middle);
        for (int i = 0; i < 3; i++) {
            apart[n][i] = scale * middle[i] - b->middle[i];
            mean[i] += apart[n][i];
            for (int m = 0; m < 3; m++) {
                double sign = (axes[i] > 0) == (axes[m] > 0) ? 1 : -1;
                double x = sign * scale * scale * t->spread[abs(axes[i]) - 1][abs(axes[m]) - 1] - b->spread[i][m];
                sum += x * x / pow(a->size, 4);
            }
        }
        n++;
    }
    if (!n) return INFINITY;
    for (uint32_t k = 0; k < n; k++)
        for (int i = 0; i < 3; i++) sum += pow((apart[k][i] - mean[i] / n) / a->size, 2);
    return sqrt(sum / n);
}

/* The best frame shift for some axes. The expected shift is kept unless another is clearly better. */
static choice best_shift(const aligning *a, const int axes[3]) {
    int64_t keys = a->part->clip->frame_count, frames = a->cache->frame_count;
    bool fixed = a->wanted->set_frames || a->hint || !a->wanted->fix || keys < 2 || frames < 2;
    int64_t usual = a->wanted->set_frames ? a->wanted->frames : a->hint ? a->hint->shift : 0;
    int64_t least = (keys < frames ? keys : frames) / 2 < 2 ? 2 : (keys < frames ? keys : frames) / 2;
    choice best = {.shift = usual, .scale = scale_of(a, usual)};
    memcpy(best.axes, axes, sizeof best.axes);
    best.badness = cloud_badness(a, axes, usual, best.scale);
    if (fixed) return best;
    choice first = best;
    for (int64_t shift = least - keys; shift <= frames - least; shift++) {
        double scale = scale_of(a, shift), badness = cloud_badness(a, axes, shift, scale);
        if (badness < best.badness) best.shift = shift, best.scale = scale, best.badness = badness;
    }
    return keys == frames && first.badness <= 2 * best.badness ? first : best;
}

static int compare_choices(const void *a, const void *b) {
    const choice *x = a, *y = b;
    return (x->badness > y->badness) - (x->badness < y->badness);
}

/* The plausible candidates, best first, judged by their clouds alone. */
static uint32_t list_choices(const aligning *a, choice list[CHOICES]) {
    if (a->wanted->axes[0]) return list[0] = best_shift(a, a->wanted->axes), 1;
    for (int c = 0; c < CHOICES; c++) {
        int axes[3];
        axes_of(c, axes);
        list[c] = best_shift(a, axes);
    }
    qsort(list, CHOICES, sizeof *list, compare_choices);
    return CHOICES;
}

/* -- Point by point ------------------------------------------------------------------------------------------------ */

/* The keys compared point by point, the calmest first, and their frames. */
static void take_moments(aligning *a, int64_t shift) {
    uint32_t first, points = a->cache->point_count;
    uint32_t count = pelt_aligned_keys(a->part->clip->frame_count, a->cache->frame_count, shift, &first);
    uint32_t n = pick_evenly(first, count, MOMENTS, a->moments), calm = 0;
    uint32_t calmest = pelt_calmest_key(a->arena, a->part->bundle, a->part->clip, first, count);
    for (uint32_t k = 1; k < n; k++)
        if (llabs((long long)a->moments[k] - calmest) < llabs((long long)a->moments[calm] - calmest)) calm = k;
    a->moments[calm] = a->moments[0], a->moments[0] = calmest;
    a->blend = blend_places(a, a->moments, n);
    a->truth = (pelt_moments){n, points, PELT_NEW(a->arena, 3 * (size_t)n * points, double)};
    for (uint32_t k = 0; k < n; k++) {
        const float *frame = a->cache->positions + 3 * (size_t)((int64_t)a->moments[k] + shift) * points;
        for (size_t i = 0; i < 3 * (size_t)points; i++) a->truth.positions[3 * (size_t)k * points + i] = frame[i];
        a->trees[k] = NULL;
    }
}

static const double *of_moment(const pelt_moments *m, uint32_t k) { return m->positions + 3 * (size_t)k * m->count; }

/* RMS distance of places from their points, or from the nearest points, with the centroids aligned. */
static double point_badness(aligning *a, const choice *c, const uint32_t *points) {
    double sum = 0;
    size_t step = a->place_count / MOST_SAMPLES + 1, looked = 0;
    for (uint32_t k = 0; k < a->blend.moment_count; k++) {
        const double *blend = of_moment(&a->blend, k), *truth = of_moment(&a->truth, k);
        pelt_cloud b = pelt_cloud_of(blend, a->place_count), t = pelt_cloud_of(truth, a->truth.count);
        if (!points && !a->trees[k]) a->trees[k] = pelt_neighbours_of(a->arena, truth, a->truth.count);
        for (size_t u = 0; u < a->place_count; u += step, looked++) {
            double from[3], at[3], square;
            uint32_t nearest;
            for (size_t i = 0; i < 3; i++) from[i] = (blend[3 * u + i] - b.middle[i]) / c->scale;
            turn_back(c->axes, from, at);
            for (size_t i = 0; i < 3; i++) at[i] += t.middle[i];
            if (points) {
                const double *p = truth + 3 * (size_t)points[u];
                square = pow(p[0] - at[0], 2) + pow(p[1] - at[1], 2) + pow(p[2] - at[2], 2);
            } else {
                pelt_nearest(a->trees[k], at, 1, &nearest, &square);
            }
            sum += square;
        }
    }
    return looked ? c->scale * sqrt(sum / (double)looked) : INFINITY;
}

/* The best candidate, point by point. A mirrored one must be clearly better than the others, one that changes axes
   better than one that does not, and any better than the alignment of another part of the character. */
static choice best_choice(aligning *a, const choice *list, uint32_t count, const uint32_t *points) {
    choice best = {.badness = INFINITY};
    double least = INFINITY;
    for (uint32_t c = 0; c < count; c++) {
        choice trial = list[c];
        bool known = a->hint && !memcmp(trial.axes, a->hint->axes, sizeof trial.axes);
        if (!points && c >= SHORTLIST && !is_identity(trial.axes) && !known) continue;
        if (trial.shift != list[0].shift) continue; /* the clouds determine the shift well */
        trial.badness = point_badness(a, &trial, points);
        double handicap = trial.badness * (known                     ? 0.25
                                           : is_identity(trial.axes) ? 0.5
                                           : is_mirrored(trial.axes) ? 2
                                                                     : 1);
        if (handicap < least) least = handicap, best = trial;
    }
    return best;
}

/* -- Order --------------------------------------------------------------------------------------------------------- */

/* The points as the candidate maps them onto the blend. */
static pelt_moments place_points(const aligning *a, const choice *c) {
    pelt_moments m = {a->truth.moment_count, a->truth.count, NULL};
    m.positions = PELT_NEW(a->arena, 3 * (size_t)m.moment_count * m.count, double);
    for (uint32_t k = 0; k < m.moment_count; k++) {
        pelt_cloud b = pelt_cloud_of(of_moment(&a->blend, k), a->place_count),
                   t = pelt_cloud_of(of_moment(&a->truth, k), m.count);
        for (size_t p = 0; p < m.count; p++) {
            const double *from = of_moment(&a->truth, k) + 3 * p;
            double *to = m.positions + 3 * ((size_t)k * m.count + p), centred[3], turned[3];
            for (size_t i = 0; i < 3; i++) centred[i] = from[i] - t.middle[i];
            turn(c->axes, centred, turned);
            for (size_t i = 0; i < 3; i++) to[i] = c->scale * turned[i] + b.middle[i];
        }
    }
    return m;
}

static double edge_length(const aligning *a) {
    double sum = 0;
    const double *p = a->blend.positions;
    for (size_t u = 0; u < a->place_count; u++)
        for (uint32_t e = a->edges.first[u]; e < a->edges.first[u + 1]; e++)
            for (size_t i = 0; i < 3; i++) sum += pow(p[3 * u + i] - p[3 * (size_t)a->edges.list[e] + i], 2);
    uint32_t count = a->edges.first[a->place_count];
    return count ? sqrt(sum / count) : 0;
}

/* Frames at the wrong keys are another possible cause, so suggest searching for them. */
static pelt_result advise_fix(const aligning *a, pelt_error *error) {
    return a->wanted->fix || !error ? PELT_ERROR_DATA : pelt_advise(error, "fix", 0);
}

static pelt_result cannot_match(const aligning *a, uint32_t unclear, pelt_error *error) {
    uint32_t places = a->blend_place_count;
    if (a->cache->point_count > places + places / 20) /* not just a few loose ones */
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: its %u points are more than the %u places of the mesh in %s: hard edges or seams are "
                         "split there, and modifiers after the skeleton (smoothing, cloth) moved their points apart, "
                         "so %u cannot be told from others; merge the vertices by distance before such modifiers, or "
                         "export the cache from the same mesh as the file (%u points, in its order)",
                         a->cache->path, a->point_count, places, a->part->bundle->path, unclear, a->part->count);
    pelt_fail(error, PELT_ERROR_DATA,
              "%s: %u of its %u points coincide with others or belong to no vertex, so they cannot be matched to "
              "vertices of %s; delete loose vertices, start the clip and the cache at the rest pose, or export the "
              "mesh without splitting its vertices",
              a->cache->path, unclear, a->point_count, a->part->bundle->path);
    return advise_fix(a, error);
}

/* Moves the points by the median of what separates them from their places, moment by moment: centroids are pulled by
   places that have several points. */
static void settle(aligning *a, pelt_moments *truth, const uint32_t *points) {
    double *list = PELT_NEW(a->arena, a->place_count, double);
    for (uint32_t k = 0; k < truth->moment_count; k++)
        for (size_t i = 0; i < 3; i++) {
            const double *blend = of_moment(&a->blend, k);
            double *at = truth->positions + 3 * (size_t)k * truth->count;
            for (size_t u = 0; u < a->place_count; u++) list[u] = blend[3 * u + i] - at[3 * (size_t)points[u] + i];
            double middle = pelt_quantile(list, a->place_count, 0.5);
            for (size_t p = 0; p < truth->count; p++) at[3 * p + i] += middle;
        }
}

/* The point of every place by position: places as the blend has them, or every vertex by itself where there are more points. */
static uint32_t match_by_place(aligning *a, pelt_moments *truth, uint32_t *points) {
    uint32_t unclear = pelt_match_points(a->arena, &a->blend, truth, &a->edges, a->rest_of, points);
    if (unclear) {
        settle(a, truth, points);
        unclear = pelt_match_points(a->arena, &a->blend, truth, &a->edges, a->rest_of, points);
    }
    if (!unclear || a->cache->point_count <= a->place_count) return unclear;
    part_twins(a);
    a->blend = blend_places(a, a->moments, a->blend.moment_count);
    return pelt_match_points(a->arena, &a->blend, truth, &a->edges, a->rest_of, points);
}

/* Whether points in the file's order, which are far from their places, differ from these as their neighbours do: a wrong
   order does not. */
static bool is_smooth_in_order(aligning *a, const choice *c) {
    if (!(c->badness < near_in_order * a->size)) return false;
    pelt_moments truth = place_points(a, c);
    return pelt_match_roughness(&a->blend, &truth, &a->edges, a->first_of) <= smooth_in_order * edge_length(a);
}

/* The point of every place: in file order if that fits, otherwise by position. */
static pelt_result find_points(aligning *a, const choice *list, uint32_t count, choice *chosen, uint32_t *points,
                               bool *by_place, pelt_error *error) {
    uint32_t *ordered = PELT_NEW(a->arena, a->place_count, uint32_t), n = a->place_count;
    bool one_each = a->cache->point_count == n;
    for (uint32_t u = 0; u < n; u++) ordered[u] = u;
    choice in_order = one_each ? best_choice(a, list, count, ordered) : (choice){.badness = INFINITY};
    *chosen = best_choice(a, list, count, NULL);
    if (in_order.badness < in_place * a->size)
        *chosen = in_order; /* partners determine the axes better than neighbours */
    pelt_moments truth = place_points(a, chosen);
    uint32_t unclear = match_by_place(a, &truth, points);
    double matched = pelt_match_roughness(&a->blend, &truth, &a->edges, points);
    if (in_order.badness < in_place * a->size) {
        double kept = pelt_match_roughness(&a->blend, &truth, &a->edges, ordered);
        *by_place = !unclear && matched < clearly_smoother * kept;
        if (!*by_place) memcpy(points, ordered, n * sizeof *points);
        return PELT_OK;
    }
    *by_place = true;
    if (unclear) return cannot_match(a, unclear, error);
    if (matched <= smooth_along * edge_length(a)) return PELT_OK;
    pelt_fail(error, PELT_ERROR_DATA,
              "%s: its %u points do not match the mesh in %s with any axes or order; check that both come from the "
              "same object, and that clip \"%s\" has the motion of the cache",
              a->cache->path, a->cache->point_count, a->part->bundle->path, a->part->clip->name);
    return advise_fix(a, error);
}

/* -- Scale and offset ---------------------------------------------------------------------------------------------- */

/* The median of a list, which gets reordered, and the median distance from it: parts of the character that follow the
   blend make it exact, however far off the others are. */
static double centre_of(double *list, size_t count, double *deviation) {
    double middle = pelt_quantile(list, count, 0.5);
    for (size_t i = 0; i < count; i++) list[i] = fabs(list[i] - middle);
    *deviation = pelt_quantile(list, count, 0.5);
    return middle;
}

/* The scale from distances between vertices, which neither axes nor offset change. */
static double exact_scale(aligning *a, const choice *c, const uint32_t *points) {
    size_t n = a->place_count, count = 0;
    double *ratios = PELT_NEW(a->arena, n, double), deviation;
    if (a->wanted->scale != 0 || !a->wanted->fix) return c->scale;
    for (size_t u = 0; u < n; u++) {
        size_t v = (u + n / 2) % n;
        const double *b = a->blend.positions, *t = a->truth.positions;
        double blend = 0, truth = 0;
        for (size_t i = 0; i < 3; i++) {
            blend += pow(b[3 * u + i] - b[3 * v + i], 2);
            truth += pow(t[3 * (size_t)points[u] + i] - t[3 * (size_t)points[v] + i], 2);
        }
        if (blend > far_apart * a->size * a->size && truth > 0) ratios[count++] = sqrt(blend / truth);
    }
    if (!count) return c->scale;
    double scale = centre_of(ratios, count, &deviation), round = pow(10, rint(log10(scale)));
    if (fabs(scale / round - 1) < fmax(power_of_ten, 3 * deviation / scale) && round != 1)
        return round; /* other units */
    bool clear = fabs(scale - 1) > stands_out && deviation < agreed_scale * fabs(scale - 1);
    return c->scale == 1 && !clear ? 1 : scale;
}

/* The remaining offset, if it exceeds what the deformation itself causes: large, or the same for most vertices. */
static void exact_offset(aligning *a, const choice *c, const uint32_t *points, double offset[3]) {
    const double *given = a->wanted->offset;
    double *list = PELT_NEW(a->arena, a->place_count, double), deviation = 0, part, square = 0;
    memcpy(offset, given, 3 * sizeof *offset);
    if (!a->wanted->fix || given[0] != 0 || given[1] != 0 || given[2] != 0) return;
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t u = 0; u < a->place_count; u++) {
            double turned[3];
            turn(c->axes, a->truth.positions + 3 * (size_t)points[u], turned);
            list[u] = a->blend.positions[3 * (size_t)u + i] - c->scale * turned[i];
        }
        offset[i] = centre_of(list, a->place_count, &part);
        square += offset[i] * offset[i], deviation += part * part;
    }
    double length = sqrt(square), diagonal = pelt_scene_diagonal(&a->part->bundle->mesh);
    bool clear = length > stands_out * diagonal && sqrt(deviation) < agreed_offset * length;
    for (int i = 0; i < 3; i++)
        if ((!clear && length <= large_offset * diagonal) || fabs(offset[i]) < rounding * length) offset[i] = 0;
}

/* -- All of it ----------------------------------------------------------------------------------------------------- */

static pelt_result check_numbers(const aligning *a, pelt_error *error) {
    size_t row = 3 * (size_t)a->cache->point_count;
    for (size_t i = 0; i < a->cache->frame_count * row; i++)
        if (!isfinite(a->cache->positions[i]))
            return pelt_fail(
                error, PELT_ERROR_NUMBER,
                "%s: frame %zu, point %zu is not a finite number: the simulation or export failed there; redo it",
                a->cache->path, i / row, i % row / 3);
    return PELT_OK;
}

/* At least one point per rest position, at most one per vertex. */
static pelt_result check_counts(aligning *a, pelt_error *error) {
    uint32_t points = a->cache->point_count, vertices = a->part->count, rests;
    pelt_mesh part = {.vertex_count = vertices,
                      .positions = a->part->bundle->mesh.positions + 3 * (size_t)a->part->first};
    a->rest_of_vertex = PELT_NEW(a->arena, vertices, uint32_t);
    rests = pelt_weld(a->arena, &part, (pelt_examples){0}, 0, a->rest_of_vertex);
    if (points <= vertices && points >= rests) return PELT_OK;
    return pelt_fail(
        error, PELT_ERROR_DATA,
        "%s: %u points, but the mesh in %s has %u vertices at %u positions; export the cache and the mesh from the "
        "same object; if there are several objects, export one cache per object, as NAME.OBJECT.CLIP.pc2",
        a->cache->path, points, a->part->bundle->path, vertices, rests);
}

/* The candidates, judged by clouds, and the frames in which they will be compared point by point. */
static pelt_result look(aligning *a, choice list[CHOICES], uint32_t *count, pelt_error *error) {
    uint32_t first;
    find_clouds(a);
    if (!(a->size > 0)) return PELT_OK;
    *count = list_choices(a, list);
    if (!pelt_aligned_keys(a->part->clip->frame_count, a->cache->frame_count, list[0].shift, &first))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: none of its %u frames matches a key of clip \"%s\"",
                         a->cache->path, a->cache->frame_count, a->part->clip->name);
    take_moments(a, list[0].shift);
    return PELT_OK;
}

/* Points and vertices of each other, by the numbers of the file. */
static pelt_result keep_points(aligning *a, const uint32_t *points, pelt_error *error) {
    uint32_t *of_vertex = PELT_NEW(a->keep, a->part->count, uint32_t);
    uint32_t *of_point = PELT_NEW(a->keep, a->point_count, uint32_t);
    uint32_t *of_distinct = PELT_NEW(a->arena, a->cache->point_count, uint32_t);
    if (!of_vertex || !of_point) return pelt_no_memory(error);
    for (uint32_t v = a->part->count; v-- > 0;) {
        uint32_t point = points[a->place_of[v]];
        of_distinct[point] = v, of_vertex[v] = a->point_of ? a->point_of[point] : point;
    }
    for (uint32_t p = 0; p < a->point_count; p++) of_point[p] = of_distinct[a->distinct_of ? a->distinct_of[p] : p];
    a->found->points = of_vertex, a->found->vertices = of_point;
    return PELT_OK;
}

/* Finds the point order, and the rest of the alignment if requested. A stage. */
static pelt_result align(void *user, pelt_error *error) {
    aligning *a = user;
    pelt_alignment *out = a->found;
    choice list[CHOICES], chosen;
    uint32_t count = 0;
    pelt_result result = check_counts(a, error);
    if (result) return result;
    find_places(a);
    result = look(a, list, &count, error);
    if (result || !(a->size > 0)) return result; /* a single point has no axes */
    uint32_t *points = PELT_NEW(a->arena, a->part->count, uint32_t);
    bool same = a->point_count == a->part->count, by_place = false;
    if (same) { /* the file order is plausible */
        chosen = best_choice(a, list, count, a->first_of);
        same = chosen.badness < in_place * a->size || !a->wanted->fix;
        if (!same && a->in_order && !(same = is_smooth_in_order(a, &chosen))) return PELT_ERROR_DATA;
        if (same) memcpy(points, a->first_of, a->place_count * sizeof *points);
    }
    if (!same) {
        find_distinct(a);
        result = a->distinct_of ? look(a, list, &count, error) : PELT_OK;
        if (!result) result = find_points(a, list, count, &chosen, points, &by_place, error);
        if (!result) result = keep_points(a, points, error);
        if (result) return result;
    }
    chosen.scale = exact_scale(a, &chosen, points);
    out->scale = chosen.scale, out->shift = chosen.shift, out->by_place = by_place;
    memcpy(out->axes, chosen.axes, sizeof out->axes);
    exact_offset(a, &chosen, points, out->offset);
    return PELT_OK;
}

/* Vertices that were split, and that something after the skeleton has moved apart, have points that only the order tells.
   The error of the first attempt stays. */
static pelt_result align_in_order(const aligning *first, const pelt_point_frames *cache) {
    aligning a = {.part = first->part, .cache = cache, .wanted = first->wanted, .hint = first->hint, .in_order = true};
    a.found = first->found, a.keep = first->keep, a.point_count = cache->point_count;
    PELT_SCOPED pelt_arena *work = a.arena = pelt_arena_new(0);
    return pelt_stage(work, align, &a, NULL) ? PELT_ERROR_DATA : PELT_OK;
}

/* The alignment as requested, if there is nothing to find. */
static void take_as_given(const pelt_cache_options *wanted, pelt_alignment *out) {
    if (wanted->axes[0]) memcpy(out->axes, wanted->axes, sizeof out->axes);
    if (!wanted->axes[0]) memcpy(out->axes, pelt_aligned.axes, sizeof out->axes);
    out->scale = wanted->scale != 0 ? wanted->scale : 1;
    memcpy(out->offset, wanted->offset, sizeof out->offset);
    out->shift = wanted->set_frames ? wanted->frames : 0;
}

pelt_result pelt_align(pelt_arena *arena, const pelt_cached_part *part, const pelt_point_frames *cache,
                       const pelt_cache_options *wanted, const pelt_alignment *hint, pelt_alignment *found,
                       pelt_error *error) {
    aligning a = {.part = part, .cache = cache, .wanted = wanted, .hint = hint, .found = found, .keep = arena};
    a.point_count = cache->point_count;
    *found = pelt_aligned;
    take_as_given(wanted, found);
    if (!wanted->fix && cache->point_count == part->count) return PELT_OK;
    pelt_result result = check_numbers(&a, error);
    if (result) return result;
    PELT_SCOPED pelt_arena *work = a.arena = pelt_arena_new(0);
    result = pelt_stage(work, align, &a, error);
    if (result == PELT_ERROR_DATA && cache->point_count == part->count) result = align_in_order(&a, cache);
    if (!result && !wanted->fix) take_as_given(wanted, found);
    return result;
}

void pelt_alignment_text(const pelt_alignment *a, char *text, size_t size) {
    size_t at = 0;
    *text = 0;
    if (!is_identity(a->axes)) {
        for (int i = 0; i < 3 && at < size; i++)
            at += (size_t)snprintf(text + at, size - at, "%s%s%c", i ? ", " : "its (", a->axes[i] < 0 ? "-" : "",
                                   "xyz"[abs(a->axes[i]) - 1]);
        if (at < size) at += (size_t)snprintf(text + at, size - at, ") are (x, y, z)");
    }
    if (a->scale != 1 && at < size)
        at += (size_t)snprintf(text + at, size - at, "%stimes %.6g", at ? ", " : "", a->scale);
    if ((a->offset[0] != 0 || a->offset[1] != 0 || a->offset[2] != 0) && at < size)
        at += (size_t)snprintf(text + at, size - at, "%smoved by (%.6g, %.6g, %.6g)", at ? ", " : "", a->offset[0],
                               a->offset[1], a->offset[2]);
    if (a->shift > 0 && at < size)
        snprintf(text + at, size - at, "%sits frame %lld is the first key", at ? ", " : "", (long long)a->shift);
    if (a->shift < 0 && at < size)
        snprintf(text + at, size - at, "%sits first frame is key %lld", at ? ", " : "", (long long)-a->shift);
}
