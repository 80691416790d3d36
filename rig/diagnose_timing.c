/* diagnose_timing.c: caches whose frames do not match the keys of their clip.

   A cache that is s frames late has the shape of key f in its frame f + s. The mean squared distance of the truth from
   the linear blend, over some vertices, is computed for every small shift:

       E(s) = mean over f of |truth(f + s) - blend(f)|^2

   and if a shift other than 0 explains most of E(0) and brings the two together, it is reported. Flesh that lags
   slightly behind the skeleton does not trigger this: all of the character would have to lag. */

#include "rig/diagnose.h"
#include <math.h>

enum { MOST_SHIFT = 8, MOST_POINTS = 200, MOST_FRAMES = 2000, FEWEST_FRAMES = 4 };

/* Of the size: a blend moves, frames are all the same, a shift shows, and a shifted cache lies on the blend. */
static const double moving = 1e-3, frozen = 1e-6, shift_shows = 1e-4, on_the_blend = 0.05;

/* A shift must leave at most this of the squared error without it, and this of the best one so far. */
static const double much_better = 0.25, better = 0.9;

typedef struct timing {
    const pelt_clip *clip;
    size_t vertex_count;
    uint32_t frames, points, *vertices; /* the sample */
    double *blend;                      /* [frames][points][3] */
} timing;

/* Samples weighted vertices, spread over the mesh. */
static void choose_points(diagnosis *d, timing *t) {
    const pelt_mesh *mesh = &d->bundle->mesh;
    const uint32_t *first = mesh->influences.first;
    uint32_t step = mesh->vertex_count / MOST_POINTS + 1;
    t->vertices = PELT_NEW(d->scratch, MOST_POINTS, uint32_t);
    for (uint32_t v = 0; v < mesh->vertex_count && t->points < MOST_POINTS; v += step)
        if (first[v] < first[v + 1]) t->vertices[t->points++] = v;
}

static void blend_points(diagnosis *d, timing *t) {
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    const pelt_mesh *mesh = &d->bundle->mesh;
    pelt_transform *locals = PELT_NEW(d->scratch, skeleton->joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(d->scratch, skeleton->joint_count, pelt_affine);
    t->blend = PELT_NEW(d->scratch, 3 * (size_t)t->frames * t->points, double);
    double *out = t->blend;
    for (uint32_t f = 0; f < t->frames; f++) {
        pelt_clip_pose(t->clip, skeleton, f, locals);
        pelt_joint_matrices(skeleton, locals, NULL, matrices);
        for (uint32_t p = 0; p < t->points; p++, out += 3) {
            const float *rest = mesh->positions + 3 * (size_t)t->vertices[p];
            const pelt_influences *in = &mesh->influences;
            for (uint32_t i = in->first[t->vertices[p]]; i < in->first[t->vertices[p] + 1]; i++) {
                double moved[3];
                pelt_affine_point(&matrices[in->joints[i]], (double[]){rest[0], rest[1], rest[2]}, moved);
                for (int k = 0; k < 3; k++) out[k] += (double)in->weights[i] * moved[k];
            }
        }
    }
}

/* E(s). */
static double shifted_error(const timing *t, int shift) {
    double sum = 0;
    size_t count = 0;
    for (int f = 0; f < (int)t->frames; f++) {
        if (f + shift < 0 || f + shift >= (int)t->frames) continue;
        const float *truth = t->clip->positions + 3 * t->vertex_count * (size_t)(f + shift);
        const double *blend = t->blend + 3 * (size_t)f * t->points;
        for (uint32_t p = 0; p < t->points; p++, count++)
            for (size_t i = 0; i < 3; i++) {
                double x = truth[3 * (size_t)t->vertices[p] + i] - blend[3 * (size_t)p + i];
                sum += x * x;
            }
    }
    return count ? sum / (double)count : INFINITY;
}

/* The largest distance of a blended vertex from its position in the first frame. */
static double blend_motion(const timing *t) {
    double most = 0;
    for (size_t f = 0; f < t->frames; f++)
        for (size_t p = 0; p < t->points; p++) {
            const double *a = t->blend + 3 * p, *b = t->blend + 3 * (f * t->points + p);
            most = fmax(most, hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]));
        }
    return most;
}

static bool all_frames_alike(const pelt_clip *clip, size_t vertex_count, double tolerance) {
    for (size_t i = 3 * vertex_count; i < 3 * vertex_count * clip->frame_count; i++)
        if (!(fabs((double)clip->positions[i] - clip->positions[i % (3 * vertex_count)]) <= tolerance)) return false;
    return true;
}

static bool find_frozen(diagnosis *d, const timing *t) {
    double size = pelt_scene_diagonal(&d->bundle->mesh), motion = blend_motion(t);
    if (!(motion > moving * size) || !all_frames_alike(t->clip, t->vertex_count, frozen * size)) return false;
    FIND(
        d, PELT_FATAL, "frozen",
        "%s: all %u frames have the same shape, but clip \"%s\" moves the skin by up to %.3g (%.2g%% of the size): the "
        "export did not follow the animation; export it again, frame by frame",
        t->clip->source, t->clip->frame_count, t->clip->name, motion, 100 * motion / size);
    return true;
}

static bool find_shift(diagnosis *d, const timing *t) {
    double size = pelt_scene_diagonal(&d->bundle->mesh), still = shifted_error(t, 0), least = still;
    int most = (int)t->frames / 3 < MOST_SHIFT ? (int)t->frames / 3 : MOST_SHIFT, best = 0;
    for (int s = 1; s <= most; s++)
        for (int way = -1; way <= 1; way += 2) {
            double error = shifted_error(t, way * s);
            if (error < much_better * still && error < better * least) least = error, best = way * s;
        }
    if (!best || !(sqrt(still) > shift_shows * size && sqrt(least) < on_the_blend * size)) return false;
    int by = best > 0 ? best : -best;
    FIND(d, PELT_WARNING, "shifted",
         "%s: is %d frame%s %s: its frame %d has the shape of key %d of clip \"%s\" (shifting it reduces the distance "
         "from the blend from %.2g%% to %.2g%% of the size); export it starting %d frame%s %s",
         t->clip->source, by, by > 1 ? "s" : "", best > 0 ? "late" : "early", best > 0 ? by : 0, best > 0 ? 0 : by,
         t->clip->name, 100 * sqrt(still) / size, 100 * sqrt(least) / size, by, by > 1 ? "s" : "",
         best > 0 ? "later" : "earlier");
    return true;
}

bool pelt_diagnose_timing(diagnosis *d, const pelt_clip *clip) {
    timing t = {.clip = clip, .vertex_count = d->bundle->mesh.vertex_count};
    t.frames = clip->frame_count < MOST_FRAMES ? clip->frame_count : MOST_FRAMES;
    if (t.frames < 2 || !(d->bundle->mesh.diagonal > 0)) return true;
    choose_points(d, &t);
    blend_points(d, &t);
    return !find_frozen(d, &t) && (t.frames < FEWEST_FRAMES || !find_shift(d, &t));
}
