/* kept.c: examples as shapes, amounts, and what is left.

   Shapes are found greedily: the frame that is worst off gives the next one, until all are within reach. That is an SVD
   that can be continued at any time; it takes about a tenth more shapes than the best, and it bounds the worst vertex,
   where singular values bound a mean. What identical rows of numbers become is identical too, so vertices that move
   together in the examples still do so to the bit. */

#include "rig/kept.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, MOST_STEPS = 127 };

double pelt_kept_step(const pelt_kept *kept) { return 2 / sqrt(3) * 0.999 * kept->bound; }

/* -- Blocks -------------------------------------------------------------------------------------------------------- */

/* Vertices sorted by the point they are at rest; a block ends where the next point would make it too large. */
static void make_blocks(const uint32_t *point_of, uint32_t point_count, uint32_t *ends, pelt_kept *kept) {
    for (uint32_t v = 0; v < kept->vertex_count; v++) ends[point_of[v]]++;
    for (uint32_t p = 1; p < point_count; p++) ends[p] += ends[p - 1];
    for (uint32_t p = 0, begin = 0; p < point_count; p++)
        if (p + 1 == point_count || ends[p + 1] - begin > BLOCK) {
            kept->blocks[kept->block_count++] = (pelt_kept_block){.first = begin, .count = ends[p] - begin};
            begin = ends[p];
        }
    for (uint32_t v = kept->vertex_count; v-- > 0;) kept->order[--ends[point_of[v]]] = v;
}

pelt_result pelt_kept_begin(pelt_arena *arena, const pelt_bundle *bundle, pelt_kept *kept, pelt_error *error) {
    const pelt_mesh *mesh = &bundle->mesh;
    *kept = (pelt_kept){.bound = (float)(PELT_KEPT_BOUND * pelt_scene_diagonal(mesh)),
                        .vertex_count = mesh->vertex_count,
                        .joint_count = bundle->skeleton.joint_count};
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    uint32_t *point_of = PELT_NEW(work, mesh->vertex_count, uint32_t);
    uint32_t points = pelt_arena_failed(work) ? 0 : pelt_weld(work, mesh, (pelt_examples){0}, 0, point_of);
    uint32_t *ends = PELT_NEW(work, points, uint32_t);
    kept->order = PELT_NEW(arena, mesh->vertex_count, uint32_t);
    kept->blocks = PELT_NEW(arena, points, pelt_kept_block);
    if (pelt_arena_failed(work) || pelt_arena_failed(arena)) return pelt_no_memory(error);
    make_blocks(point_of, points, ends, kept);
    return PELT_OK;
}

/* -- One clip in one block ----------------------------------------------------------------------------------------- */

typedef struct growing {
    pelt_kept *kept;
    const pelt_example *run; /* frames of one clip */
    uint32_t clip;           /* its number among those kept */
    size_t frames;
    pelt_arena **arenas; /* [block] of what is found */
    bool *lost;          /* [block] not finite, or too far away to be described */
} growing;

/* What no shape has described yet, [frame][coordinate], and how far off it is. */
typedef struct remains {
    double *left;
    size_t frames, width;
    size_t worst;             /* frame */
    double farthest, largest; /* vertex, coordinate */
} remains;

static void look(remains *r) {
    double square = -1;
    bool finite = true;
    r->largest = 0, r->worst = 0;
    for (size_t f = 0; f < r->frames; f++)
        for (const double *x = r->left + f * r->width, *end = x + r->width; x < end; x += 3) {
            double here = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
            finite &= isfinite(here) != 0;
            if (here > square) square = here, r->worst = f;
            for (int i = 0; i < 3; i++) r->largest = fmax(r->largest, fabs(x[i]));
        }
    r->farthest = finite ? sqrt(square) : INFINITY;
}

/* Takes a shape away from all frames. */
static void take(remains *r, const float *shape, float *amounts) {
    for (size_t f = 0; f < r->frames; f++) {
        double *x = r->left + f * r->width, sums[3] = {0};
        for (size_t i = 0; i < r->width; i += 3)
            for (size_t k = 0; k < 3; k++) sums[k] += x[i + k] * shape[i + k];
        double amount = amounts[f] = (float)(sums[0] + sums[1] + sums[2]);
        for (size_t i = 0; i < r->width; i++) x[i] -= amount * shape[i];
    }
}

/* The direction of the worst frame. */
static float *new_shape(pelt_arena *arena, const remains *r) {
    const double *x = r->left + r->worst * r->width;
    float *shape = PELT_NEW(arena, r->width, float);
    double square = 0;
    for (size_t i = 0; i < r->width; i++) square += x[i] * x[i];
    for (size_t i = 0; shape && i < r->width; i++) shape[i] = (float)(x[i] / sqrt(square));
    return shape;
}

static int8_t *in_steps(pelt_arena *arena, const double *left, size_t count, double step) {
    int8_t *steps = PELT_NEW(arena, count, int8_t);
    for (size_t i = 0; steps && i < count; i++) steps[i] = (int8_t)lround(left[i] / step);
    return steps;
}

/* The frames of a block as they are. */
static void gather(const growing *g, const pelt_kept_block *block, remains *r) {
    const uint32_t *vertices = g->kept->order + block->first;
    for (size_t f = 0; f < r->frames; f++) {
        const float *frame = g->run[f].clip->positions + 3 * (size_t)g->kept->vertex_count * g->run[f].frame;
        for (size_t i = 0; i < r->width; i++) r->left[f * r->width + i] = frame[3 * (size_t)vertices[i / 3] + i % 3];
    }
}

/* Shapes until nothing is left; or, if that takes more room, until 8 bits are enough for the rest. */
static void grow(void *user, size_t b, pelt_arena *scratch) {
    const growing *g = user;
    pelt_kept_block *block = &g->kept->blocks[b];
    pelt_kept_part *part = &block->parts[g->clip];
    pelt_arena *arena = g->arenas[b];
    remains r = {.frames = g->frames, .width = 3 * (size_t)block->count};
    size_t size = r.frames * r.width, room = 0, most = block->shape_count + 2 * r.width, coarse = 0, n = 0;
    uint32_t before = block->shape_count;
    double *saved = NULL;
    r.left = PELT_NEW(scratch, size, double);
    const float **shapes = PELT_NEW(arena, most, const float *);
    part->amounts = PELT_NEW(arena, most, const float *);
    if (pelt_arena_failed(arena)) return;
    if (before) memcpy(shapes, block->shapes, before * sizeof(*shapes));
    block->shapes = shapes;
    gather(g, block, &r);
    for (look(&r); r.farthest > g->kept->bound; look(&r)) {
        if (!saved && r.largest <= MOST_STEPS * pelt_kept_step(g->kept)) {
            saved = memcpy(PELT_NEW(scratch, size, double), r.left, size * sizeof(double));
            coarse = n;
        }
        if (n == block->shape_count && saved) room += sizeof(float) * r.width;
        if (saved && (room += sizeof(float) * r.frames) > size) break;
        if (!isfinite(r.farthest) || n == most) {
            g->lost[b] = true;
            return;
        }
        float *amounts = PELT_NEW(arena, r.frames, float);
        const float *shape = n < block->shape_count ? shapes[n] : new_shape(arena, &r);
        if (pelt_arena_failed(arena)) return;
        if (n == block->shape_count) shapes[block->shape_count++] = shape;
        take(&r, shape, amounts);
        part->amounts[n++] = amounts;
    }
    if (saved && r.farthest > g->kept->bound) {
        part->left = in_steps(arena, saved, size, pelt_kept_step(g->kept));
        n = coarse, block->shape_count = n > before ? (uint32_t)n : before;
    }
    part->used = (uint32_t)n;
}

/* -- Adding -------------------------------------------------------------------------------------------------------- */

pelt_result pelt_kept_check(pelt_examples examples, pelt_error *error) {
    for (size_t e = 0; e < examples.count; e++)
        if (examples.list[e].clip->normals)
            return pelt_fail(error, PELT_ERROR_DATA,
                             "clip %s has true normals, and only positions can be kept: fit without keeping it, or "
                             "remove its normals",
                             examples.list[e].clip->name);
    return PELT_OK;
}

/* Names of the bundle's controls; clips that were kept with fewer have the others at rest. */
static void widen_controls(pelt_arena *arena, const pelt_controls *controls, pelt_kept *kept) {
    uint32_t count = controls->count;
    const char **names = PELT_NEW(arena, count, const char *);
    for (uint32_t i = 0; names && i < count; i++) names[i] = pelt_arena_format(arena, "%s", controls->names[i]);
    for (uint32_t c = 0; names && c < kept->clip_count; c++) {
        pelt_kept_clip *clip = &kept->clips[c];
        float *values = PELT_NEW(arena, (size_t)clip->frame_count * count, float);
        for (size_t f = 0; values && f < clip->frame_count; f++)
            for (uint32_t i = 0; i < count; i++) {
                uint32_t old = 0;
                while (old < kept->control_count && strcmp(kept->control_names[old], controls->names[i])) old++;
                values[f * count + i] =
                    old < kept->control_count ? clip->controls[f * kept->control_count + old] : controls->rest[i];
            }
        clip->controls = values;
    }
    kept->control_names = names, kept->control_count = count;
}

/* Poses, controls and weights of a run. */
static void copy_run(pelt_arena *arena, const pelt_bundle *bundle, const pelt_example *run, size_t frames,
                     pelt_kept_clip *clip) {
    size_t joints = bundle->skeleton.joint_count, controls = bundle->controls.count;
    pelt_transform *poses = PELT_NEW(arena, frames * joints, pelt_transform);
    float *values = PELT_NEW(arena, frames * controls, float), *weights = PELT_NEW(arena, frames, float);
    bool weighted = false;
    char *name = pelt_arena_format(arena, "%s", run->clip->name);
    if (pelt_arena_failed(arena)) return;
    for (size_t f = 0; f < frames; f++) {
        pelt_clip_pose(run[f].clip, &bundle->skeleton, run[f].frame, poses + f * joints);
        pelt_clip_controls(run[f].clip, &bundle->controls, run[f].frame, values + f * controls);
        weights[f] = run[f].weight != 0 ? run[f].weight : 1;
        weighted |= weights[f] != 1;
    }
    *clip = (pelt_kept_clip){name, (uint32_t)frames, poses, values, weighted ? weights : NULL};
}

static pelt_result add_run(pelt_arena *arena, const pelt_bundle *bundle, const pelt_example *run, size_t frames,
                           uint32_t threads, pelt_kept *kept, pelt_error *error) {
    uint32_t blocks = kept->block_count, clips = kept->clip_count;
    PELT_SCOPED pelt_arena *work = pelt_arena_new(0);
    growing g = {kept, run, clips, frames, PELT_NEW(work, blocks, pelt_arena *), PELT_NEW(work, blocks, bool)};
    pelt_kept_clip *list = PELT_NEW(arena, (size_t)clips + 1, pelt_kept_clip);
    pelt_kept_part *parts = PELT_NEW(arena, ((size_t)clips + 1) * blocks, pelt_kept_part);
    if (pelt_arena_failed(work) || pelt_arena_failed(arena)) return pelt_no_memory(error);
    if (clips) memcpy(list, kept->clips, clips * sizeof *list);
    copy_run(arena, bundle, run, frames, &list[clips]);
    for (uint32_t b = 0; b < blocks; b++, parts += (size_t)clips + 1) {
        if (clips) memcpy(parts, kept->blocks[b].parts, clips * sizeof *parts);
        kept->blocks[b].parts = parts;
        g.arenas[b] = pelt_arena_inside(arena);
    }
    kept->clips = list;
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    if (!pelt_parallel(work, threads, blocks, grow, &g) || pelt_arena_failed(arena)) return pelt_no_memory(error);
    kept->clip_count++;
    for (uint32_t b = 0; b < blocks; b++)
        if (g.lost[b])
            return pelt_fail(error, PELT_ERROR_NUMBER,
                             "clip %s has positions that are not finite, or so far away that they cannot be kept",
                             run->clip->name);
    return PELT_OK;
}

pelt_result pelt_kept_add(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples, uint32_t threads,
                          pelt_kept *kept, pelt_error *error) {
    pelt_result result = pelt_check_examples(bundle, examples, true, error);
    if (!result) result = pelt_kept_check(examples, error);
    if (!result) widen_controls(arena, &bundle->controls, kept);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    for (size_t begin = 0, end; begin < examples.count && !result; begin = end) {
        for (end = begin + 1; end < examples.count && examples.list[end].clip == examples.list[begin].clip;) end++;
        result = add_run(arena, bundle, examples.list + begin, end - begin, threads, kept, error);
    }
    return result;
}

/* -- Back ---------------------------------------------------------------------------------------------------------- */

typedef struct unfolding {
    const pelt_kept *kept;
    uint32_t clip;
    float *positions;
} unfolding;

static void unfold(void *user, size_t b, pelt_arena *scratch) {
    const unfolding *u = user;
    const pelt_kept_block *block = &u->kept->blocks[b];
    const pelt_kept_part *part = &block->parts[u->clip];
    const uint32_t *vertices = u->kept->order + block->first;
    size_t width = 3 * (size_t)block->count;
    double *sums = PELT_NEW(scratch, width, double), step = pelt_kept_step(u->kept);
    for (size_t f = 0; f < u->kept->clips[u->clip].frame_count; f++) {
        float *frame = u->positions + 3 * (size_t)u->kept->vertex_count * f;
        for (size_t i = 0; i < width; i++) sums[i] = part->left ? step * part->left[f * width + i] : 0;
        for (uint32_t k = 0; k < part->used; k++)
            for (size_t i = 0; i < width; i++) sums[i] += (double)part->amounts[k][f] * block->shapes[k][i];
        for (size_t i = 0; i < width; i++) frame[3 * (size_t)vertices[i / 3] + i % 3] = (float)sums[i];
    }
}

static void name_clip(const pelt_bundle *bundle, const char *name, char *free_name, size_t size) {
    snprintf(free_name, size, "%s, kept", name);
    for (uint32_t i = 0, n = 2; i < bundle->clip_count;)
        if (strcmp(bundle->clips[i]->name, free_name))
            i++;
        else
            snprintf(free_name, size, "%s, kept %u", name, n++), i = 0;
}

static pelt_result unfold_clip(const pelt_kept *kept, uint32_t c, pelt_bundle *bundle, uint32_t threads,
                               const pelt_clip **made, pelt_error *error) {
    const pelt_kept_clip *from = &kept->clips[c];
    char name[300];
    name_clip(bundle, from->name, name, sizeof name);
    *made = pelt_bundle_add_clip(
        bundle, &(pelt_clip_input){.name = name, .frame_count = from->frame_count, .poses = from->poses}, error);
    if (!*made) return error ? error->code : PELT_ERROR_DATA;
    pelt_clip *clip = (pelt_clip *)*made; /* the bundle's own */
    pelt_arena *arena = pelt_arena_inside(bundle->arena);
    size_t size;
    bool fits = !__builtin_mul_overflow(3 * (size_t)kept->vertex_count, from->frame_count, &size);
    unfolding u = {kept, c, fits ? PELT_NEW(arena, size, float) : NULL};
    float *weights = from->example_weights ? PELT_NEW(arena, from->frame_count, float) : NULL;
    if (!u.positions || pelt_arena_failed(arena)) return pelt_no_memory(error);
    if (!pelt_parallel(arena, threads, kept->block_count, unfold, &u)) return pelt_no_memory(error);
    if (weights) memcpy(weights, from->example_weights, from->frame_count * sizeof *weights);
    clip->positions = u.positions, clip->example_weights = weights;
    if (kept->source) clip->source = pelt_arena_format(arena, "%s", kept->source);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    if (!kept->control_count) return PELT_OK;
    pelt_result result = pelt_clip_set_controls(bundle, clip, kept->control_count, kept->control_names, from->controls);
    if (result == PELT_ERROR_MEMORY) return pelt_no_memory(error);
    return result ? pelt_fail(error, result, "%s: has too many controls", bundle->path) : PELT_OK;
}

pelt_result pelt_kept_clips(const pelt_kept *kept, pelt_bundle *bundle, uint32_t threads, const pelt_clip **clips,
                            pelt_error *error) {
    pelt_result result = PELT_OK;
    for (uint32_t c = 0; c < kept->clip_count && !result; c++)
        result = unfold_clip(kept, c, bundle, threads, &clips[c], error);
    return result;
}
