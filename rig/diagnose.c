/* diagnose.c: finds what is wrong with a set of examples before anything is fitted to it.

   Nearly all bad results come from mismatched input: a cache in centimetres on a rig in metres, z-up on y-up, vertices
   in another order. The true positions are compared with the linear blend of the same frame; if the two are far apart,
   the simplest change to the cache that brings them together is reported. */

#include "rig/diagnose.h"
#include "rig/align.h"
#include "rig/maths.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double insane = 1e4;                /* of the size: a coordinate that no sane export has */
static const double unit_length = 0.01;          /* quaternions may be off by this much: players normalise them */
static const double same_unit = 0.03;            /* ratios of sizes this close to one of units hint at it */
static const double same_size = 1.25;            /* a smaller ratio may be the deformation itself */
static const double in_place = 0.1, away = 0.05; /* of the spread, and of the diagonal */
static const double rounding = 1e-5;             /* of poses, controls and offsets: differences below are none */
static const double key_rounding = 1e-4;         /* of the sums that poses are sorted by */
static const double same_shape = 1e-3;           /* of the size */
static const double no_size = 1e-30;             /* stands in for the diagonal of a mesh that has none */
enum { LOOKED_AT = 200 };                        /* points, to find out whether two clouds are the same */

static const float *frame_positions(const diagnosis *d, const pelt_clip *clip, uint32_t frame) {
    return clip->positions + 3 * (size_t)frame * d->bundle->mesh.vertex_count;
}

/* -- Numbers ------------------------------------------------------------------------------------------------------ */

/* A coordinate that no sane export of this character has. */
static double huge_coordinate(const pelt_mesh *mesh) {
    double size = pelt_scene_diagonal(mesh);
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++) size = fmax(size, fabsf(mesh->positions[i]));
    return size > 0 ? insane * size : INFINITY;
}

/* Reports the first bad coordinate of a frame; true if there is one. */
static bool find_bad_number(diagnosis *d, const pelt_clip *clip, uint32_t frame, double huge) {
    const float *p = frame_positions(d, clip, frame);
    size_t count = 3 * (size_t)d->bundle->mesh.vertex_count, i = 0;
    while (i < count && isfinite(p[i]) && fabsf(p[i]) <= huge) i++;
    if (i == count) return false;
    if (isfinite(p[i]))
        FIND(d, PELT_FATAL, "huge-value",
             "%s: frame %u, vertex %zu is at %c = %g, more than 10000 times the size of the character: the cache is "
             "damaged, or in other units; export it again",
             clip->source, frame, i / 3, "xyz"[i % 3], p[i]);
    else
        FIND(d, PELT_FATAL, "not-finite",
             "%s: frame %u, vertex %zu is not a finite number: the simulation or export failed there; leave out that "
             "frame or redo it",
             clip->source, frame, i / 3);
    return true;
}

static bool find_collapse(diagnosis *d, const pelt_clip *clip, uint32_t frame) {
    const float *p = frame_positions(d, clip, frame);
    size_t count = 3 * (size_t)d->bundle->mesh.vertex_count, i = 3;
    while (i < count && p[i] == p[i % 3]) i++;
    if (i < count || count <= 3 || !(d->bundle->mesh.diagonal > 0)) return false;
    FIND(d, PELT_FATAL, "collapsed",
         "%s: frame %u: all points are at one position, (%g, %g, %g); export the cache again, or leave out that frame",
         clip->source, frame, p[0], p[1], p[2]);
    return true;
}

/* One finding of a kind is enough: the first frame that has it. */
static bool check_numbers(diagnosis *d, const pelt_clip *clip) {
    double huge = huge_coordinate(&d->bundle->mesh);
    for (uint32_t f = 0; f < clip->frame_count; f++)
        if (find_bad_number(d, clip, f, huge) || find_collapse(d, clip, f)) return false;
    return true;
}

/* Rotations of poses: a zero quaternion is meaningless, and one that is not unit length hints at a broken exporter. */
static void check_rotations(diagnosis *d, const pelt_clip *clip) {
    for (uint32_t c = 0; c < clip->channel_count; c++) {
        const pelt_channel *channel = &clip->channels[c];
        uint32_t step = channel->interpolation == PELT_CUBIC ? 12 : 4, odd = 0, first = 0;
        if (channel->path != PELT_ROTATION) continue;
        double worst = 1;
        for (uint32_t k = 0; k < channel->key_count; k++) {
            const float *q = channel->values + (size_t)k * step + (step == 12 ? 4 : 0);
            double length = hypot(hypot(q[0], q[1]), hypot(q[2], q[3]));
            if (fabs(length - 1) <= unit_length) continue;
            if (!odd++) first = k;
            if (!(fabs(length - 1) <= fabs(worst - 1)) || length == 0) worst = length;
            if (length == 0) break;
        }
        if (!odd) continue;
        FIND(d, worst > 0 ? PELT_WARNING : PELT_FATAL, "rotations",
             worst > 0
                 ? "%s: clip \"%s\" rotates %s by quaternions whose length is not 1 (key %u; one has length %.3g); "
                   "they are normalised; export the animation again"
                 : "%s: clip \"%s\" rotates %s by a zero quaternion (key %u; length %.3g), which is not a rotation; "
                   "export the animation again",
             d->bundle->path, clip->name, d->bundle->skeleton.names[channel->joint], first, worst);
        return;
    }
}

/* -- Scale, axes, order ------------------------------------------------------------------------------------------- */

/* RMS distance of two centred sets of points, the second one with axes swapped and scaled. */
static double misfit(const double *a, const pelt_cloud *ca, const double *b, const pelt_cloud *cb, size_t count,
                     const int axis[3], const int sign[3], double scale) {
    double sum = 0;
    for (size_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++) {
            double moved = sign[i] * scale * (b[3 * v + (size_t)axis[i]] - cb->middle[axis[i]]);
            double x = a[3 * v + (size_t)i] - ca->middle[i] - moved;
            sum += x * x;
        }
    return sqrt(sum / (double)count);
}

/* The best of the 24 rotations that map axes to axes, or of the 24 mirrored ones. */
static double best_axes(const double *a, const pelt_cloud *ca, const double *b, const pelt_cloud *cb, size_t count,
                        double scale, bool mirrored, int axis[3], int sign[3]) {
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    double best = INFINITY;
    for (int o = 0; o < 6; o++)
        for (int s = 0; s < 8; s++) {
            int trial[3] = {s & 1 ? -1 : 1, s & 2 ? -1 : 1, s & 4 ? -1 : 1};
            if ((trial[0] * trial[1] * trial[2] != (o < 3 ? 1 : -1)) != mirrored) continue;
            double e = misfit(a, ca, b, cb, count, orders[o], trial, scale);
            if (e >= best) continue;
            best = e;
            memcpy(axis, orders[o], 3 * sizeof *axis);
            memcpy(sign, trial, sizeof trial);
        }
    return best;
}

/* Names the units that differ by this ratio, if there are any. */
static void unit_hint(double ratio, char *text, size_t size) {
    static const struct {
        double metres;
        const char *name;
    } units[] = {{1, "metres"}, {0.01, "centimetres"}, {0.001, "millimetres"}, {0.0254, "inches"}, {0.3048, "feet"}};
    text[0] = 0;
    for (size_t cache = 0; cache < 5; cache++)
        for (size_t rig = 0; rig < 5 && !text[0]; rig++)
            if (cache != rig && fabs(ratio * units[cache].metres / units[rig].metres - 1) < same_unit)
                snprintf(text, size, " (%s against %s)", units[cache].name, units[rig].name);
}

static void describe_axes(char *text, size_t size, const int axis[3], const int sign[3]) {
    const char letters[] = "xyz";
    size_t at = 0;
    for (int i = 0; i < 3 && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s%c", i ? ", " : "", sign[i] < 0 ? "-" : "", letters[axis[i]]);
}

/* One frame of a cache and the linear blend of the same frame. */
typedef struct placement {
    const pelt_clip *clip;
    uint32_t frame;
    size_t count;
    double *blend, *truth;
    pelt_cloud a, b; /* of blend and truth */
    double size;     /* of the blend: RMS distance from its middle */
    double ratio;    /* size of the truth over that of the blend */
    double direct;   /* misfit with sizes and centres equalised */
} placement;

static bool place(diagnosis *d, const pelt_clip *clip, placement *p) {
    static const int same_axis[3] = {0, 1, 2}, same_sign[3] = {1, 1, 1};
    *p = (placement){.clip = clip, .count = d->bundle->mesh.vertex_count};
    /* Not simply the first: a clip that starts in an extreme pose must not raise a false alarm. */
    p->frame = pelt_calmest_key(d->scratch, d->bundle, clip, 0, clip->frame_count);
    p->blend = pelt_blend_frame(d->scratch, d->bundle, clip, p->frame);
    p->truth = PELT_NEW(d->scratch, 3 * p->count, double);
    for (size_t i = 0; i < 3 * p->count; i++) p->truth[i] = frame_positions(d, clip, p->frame)[i];
    p->a = pelt_cloud_of(p->blend, p->count), p->b = pelt_cloud_of(p->truth, p->count);
    p->size = sqrt(pelt_square_size(&p->a)), p->ratio = sqrt(pelt_square_size(&p->b)) / p->size;
    if (!(p->size > 0) || !(p->ratio > 0)) return false; /* a single point has no size */
    if (fabs(log(p->ratio)) <= log(same_size)) p->ratio = 1;
    p->direct = misfit(p->blend, &p->a, p->truth, &p->b, p->count, same_axis, same_sign, 1 / p->ratio);
    return true;
}

/* Finds the change of axes that brings the cache onto the blend; true if there is a clear one. */
static bool find_axes(diagnosis *d, const placement *p) {
    int axis[3], sign[3], mirror_axis[3], mirror_sign[3];
    if (p->count < 4) return false; /* so few points match in many ways */
    double turned = best_axes(p->blend, &p->a, p->truth, &p->b, p->count, 1 / p->ratio, false, axis, sign);
    double mirrored =
        best_axes(p->blend, &p->a, p->truth, &p->b, p->count, 1 / p->ratio, true, mirror_axis, mirror_sign);
    bool mirror = mirrored < 0.5 * turned;
    if (mirror) {
        turned = mirrored;
        memcpy(axis, mirror_axis, sizeof axis), memcpy(sign, mirror_sign, sizeof sign);
    }
    if (turned >= 0.5 * p->direct || turned >= 0.5 * p->size) return false;
    bool tilted = axis[0] == 0 && axis[1] == 2 && !mirror;
    char text[32];
    describe_axes(text, sizeof text, axis, sign);
    FIND(d, PELT_FATAL, "axes",
         "%s: its axes differ from those of %s%s; export the cache with the rig's axes, or write its (%s) as (x, y, z)",
         p->clip->source, d->bundle->path,
         mirror        ? " (the cache is mirrored: left-handed axes?)"
         : !tilted     ? ""
         : sign[1] > 0 ? " (the cache is z-up, the rig y-up)"
                       : " (the cache is y-up, the rig z-up)",
         text);
    return true;
}

/* Typical distance from a point of the blend to the nearest one of the truth, both centred: small if both are the same
   points in any order. */
static double nearest_distance(const placement *p) {
    size_t step = p->count / LOOKED_AT + 1, looked = 0;
    double sum = 0;
    for (size_t v = 0; v < p->count; v += step, looked++) {
        double at[3], best = INFINITY;
        for (size_t i = 0; i < 3; i++) at[i] = p->blend[3 * v + i] - p->a.middle[i] + p->b.middle[i];
        for (size_t u = 0; u < p->count; u++) best = fmin(best, pelt_distance(at, p->truth + 3 * u));
        sum += best * best;
    }
    return sqrt(sum / (double)looked);
}

/* Total edge length. Vertices in another order tear the mesh into long edges; no movement of a skin does. */
static double edge_length(const pelt_mesh *mesh, const double *positions) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        uint32_t from = mesh->triangles[i], to = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
        sum += pelt_distance(positions + 3 * (size_t)from, positions + 3 * (size_t)to);
    }
    return sum;
}

static bool other_order(const pelt_mesh *mesh, const placement *p) {
    if (p->count < 4 || nearest_distance(p) >= 0.25 * p->direct) return false;
    return !mesh->triangle_count || edge_length(mesh, p->truth) > 1.5 * edge_length(mesh, p->blend);
}

/* Compares one frame of a cache with the linear blend of the same frame, and reports how they differ. */
static void check_placement(diagnosis *d, const pelt_clip *clip) {
    placement p;
    if (!place(d, clip, &p)) return;
    double diagonal = pelt_scene_diagonal(&d->bundle->mesh), limit = in_place * p.size;
    bool scaled = p.ratio != 1, turned = p.direct > limit && find_axes(d, &p);
    if (scaled) {
        char hint[64];
        unit_hint(p.ratio, hint, sizeof hint);
        FIND(d, PELT_FATAL, "scale",
             "%s: the points are %.4g times as large as the character in %s%s; scale the cache by %.4g", clip->source,
             p.ratio, d->bundle->path, hint, 1 / p.ratio);
    }
    if (scaled || turned) return;
    double offset = pelt_distance(p.a.middle, p.b.middle), by[3];
    for (int i = 0; i < 3; i++) {
        by[i] = p.b.middle[i] - p.a.middle[i];
        if (fabs(by[i]) < rounding * offset) by[i] = 0;
    }
    if (p.direct <= limit && offset > away * diagonal)
        FIND(d, PELT_WARNING, "offset",
             "%s: frame %u is %.4g away from the skeleton in %s, by (%.4g, %.4g, %.4g); if that is not intended, "
             "the "
             "cache is in another space: export it in world space, or move it back",
             clip->source, p.frame, offset, d->bundle->path, by[0], by[1], by[2]);
    if (p.direct <= limit) return;
    if (other_order(&d->bundle->mesh, &p))
        FIND(d, PELT_FATAL, "vertex-order",
             "%s: the points match the character in %s, but in another order; export the cache and the mesh from the "
             "same object, keeping its vertex order",
             clip->source, d->bundle->path);
    else
        FIND(d, PELT_WARNING, "far-from-blend",
             "%s: frame %u is %.2g%% of the character's size away from where its skeleton puts it; check that frame i "
             "of the cache is key i of clip \"%s\", and that both show the same character",
             clip->source, p.frame, 100 * p.direct / diagonal, clip->name);
}

/* -- Poses -------------------------------------------------------------------------------------------------------- */

typedef struct pose_key {
    double key; /* a fixed mix of the pose's numbers: equal poses have equal keys */
    const pelt_clip *clip;
    uint32_t frame;
    size_t place; /* index in the list of all frames */
} pose_key;

static int compare_keys(const void *a, const void *b) {
    const pose_key *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key ? 1 : -1) : (x->place > y->place) - (x->place < y->place);
}

static size_t frame_total(const diagnosis *d) {
    size_t total = 0;
    for (size_t c = 0; c < d->clip_count; c++) total += d->clips[c]->frame_count;
    return total;
}

/* Local matrices of a pose, which compare well because q and -q give the same one. */
static void local_matrices(const diagnosis *d, const pelt_clip *clip, uint32_t frame, pelt_transform *locals,
                           pelt_affine *out) {
    pelt_clip_pose(clip, &d->bundle->skeleton, frame, locals);
    for (uint32_t j = 0; j < d->bundle->skeleton.joint_count; j++) out[j] = pelt_affine_of(&locals[j]);
}

static double pose_distance(const diagnosis *d, const pelt_affine *a, const pelt_affine *b) {
    double worst = 0, size = fmax(d->bundle->mesh.diagonal, no_size);
    for (uint32_t j = 0; j < d->bundle->skeleton.joint_count; j++)
        for (int i = 0; i < 12; i++) worst = fmax(worst, fabs(a[j].m[i] - b[j].m[i]) / (i % 4 == 3 ? size : 1));
    return worst;
}

/* Controls in units of their largest distance from rest in any clip. */
static double control_of(const diagnosis *d, const pelt_clip *clip, uint32_t frame, uint32_t control) {
    const pelt_controls *all = &d->bundle->controls;
    double value = clip->controls ? clip->controls[(size_t)frame * all->count + control] : all->rest[control];
    return d->control_ranges[control] > 0 ? (value - all->rest[control]) / d->control_ranges[control] : 0;
}

static bool same_controls(const diagnosis *d, const pose_key *a, const pose_key *b) {
    for (uint32_t i = 0; i < d->bundle->controls.count; i++)
        if (fabs(control_of(d, a->clip, a->frame, i) - control_of(d, b->clip, b->frame, i)) > rounding) return false;
    return true;
}

/* Largest distance of a vertex between two frames; 0 if there are no shapes to compare. */
static double shape_distance(const diagnosis *d, const pose_key *a, const pose_key *b) {
    if (!a->clip->positions || !b->clip->positions) return 0;
    const float *p = frame_positions(d, a->clip, a->frame), *q = frame_positions(d, b->clip, b->frame);
    double worst = 0;
    for (size_t v = 0; v < d->bundle->mesh.vertex_count; v++, p += 3, q += 3) {
        double apart = pelt_distance((double[]){p[0], p[1], p[2]}, (double[]){q[0], q[1], q[2]});
        if (isfinite(apart)) worst = fmax(worst, apart);
    }
    return worst;
}

/* Pairs of frames in the same pose, the earlier one first. */
typedef struct duplicates {
    size_t total, alike;
    pose_key first[2];  /* the first pair */
    pose_key differ[2]; /* the pair whose shapes differ most */
    double worst;       /* by how much */
} duplicates;

static pose_key *sorted_poses(diagnosis *d, size_t *total) {
    const pelt_clip *const *clips = d->clips;
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    *total = frame_total(d);
    pose_key *keys = PELT_NEW(d->scratch, *total, pose_key);
    pelt_transform *locals = PELT_NEW(d->scratch, skeleton->joint_count, pelt_transform);
    pelt_affine *pose = PELT_NEW(d->scratch, skeleton->joint_count, pelt_affine);
    double size = fmax(d->bundle->mesh.diagonal, no_size);
    size_t filled = 0;
    for (size_t c = 0; c < d->clip_count; c++)
        for (uint32_t f = 0; f < clips[c]->frame_count; f++) {
            local_matrices(d, clips[c], f, locals, pose);
            double key = 0;
            for (uint32_t j = 0; j < skeleton->joint_count; j++)
                for (int i = 0; i < 12; i++)
                    key += sin(12.9898 * j + 4.1414 * i) * pose[j].m[i] / (i % 4 == 3 ? size : 1);
            for (uint32_t i = 0; i < d->bundle->controls.count; i++)
                key += sin(7.233 * i + 1) * control_of(d, clips[c], f, i);
            keys[filled] = (pose_key){key, clips[c], f, filled};
            filled++;
        }
    qsort(keys, *total, sizeof *keys, compare_keys);
    return keys;
}

/* Sorted by key, equal poses are adjacent, except for the few whose keys collide. */
static duplicates find_duplicates(diagnosis *d) {
    enum { LOOK_AHEAD = 8 };
    uint32_t joints = d->bundle->skeleton.joint_count;
    duplicates found = {0};
    const pose_key *keys = sorted_poses(d, &found.total);
    pelt_transform *locals = PELT_NEW(d->scratch, joints, pelt_transform);
    pelt_affine *a = PELT_NEW(d->scratch, joints, pelt_affine), *b = PELT_NEW(d->scratch, joints, pelt_affine);
    for (size_t i = 0; i + 1 < found.total; i++) {
        local_matrices(d, keys[i].clip, keys[i].frame, locals, a);
        for (size_t k = i + 1; k < found.total && k <= i + LOOK_AHEAD && keys[k].key - keys[i].key < key_rounding;
             k++) {
            local_matrices(d, keys[k].clip, keys[k].frame, locals, b);
            if (pose_distance(d, a, b) > rounding || !same_controls(d, &keys[i], &keys[k])) continue;
            bool ordered = keys[i].place < keys[k].place;
            pose_key pair[2] = {keys[ordered ? i : k], keys[ordered ? k : i]};
            if (!found.alike++ || pair[0].place < found.first[0].place) memcpy(found.first, pair, sizeof pair);
            double apart = shape_distance(d, &pair[0], &pair[1]);
            if (apart > found.worst) found.worst = apart, memcpy(found.differ, pair, sizeof pair);
            break; /* one partner each: a pose that occurs three times is two pairs */
        }
    }
    return found;
}

static void check_duplicates(diagnosis *d) {
    double size = fmax(pelt_scene_diagonal(&d->bundle->mesh), no_size);
    duplicates found = find_duplicates(d);
    if (found.worst > same_shape * size)
        FIND(d, PELT_WARNING, "duplicate-pose-different-shape",
             "%s: frame %u of \"%s\" and frame %u of \"%s\" have the same pose but shapes that differ by %.3g (%.2g%% "
             "of the size): the shape depends on something outside the skeleton, such as time or muscle tension; a "
             "skin can only give their mean, unless a named control distinguishes them: a column of a table "
             "BUNDLE.CLIP.csv, one row per frame",
             d->bundle->path, found.differ[0].frame, found.differ[0].clip->name, found.differ[1].frame,
             found.differ[1].clip->name, found.worst, 100 * found.worst / size);
    else if (found.alike)
        FIND(d, PELT_NOTE, "duplicate-pose",
             "%s: %zu of %zu frames repeat the pose of another; the first are frame %u of \"%s\" and frame %u of "
             "\"%s\"",
             d->bundle->path, found.alike, found.total, found.first[0].frame, found.first[0].clip->name,
             found.first[1].frame, found.first[1].clip->name);
}

static void range_controls(diagnosis *d) {
    const pelt_controls *all = &d->bundle->controls;
    d->control_ranges = PELT_NEW(d->scratch, all->count, double);
    for (size_t c = 0; c < d->clip_count; c++) {
        const pelt_clip *clip = d->clips[c];
        for (size_t i = 0; clip->controls && i < (size_t)clip->frame_count * all->count; i++) {
            double *range = &d->control_ranges[i % all->count];
            *range = fmax(*range, fabs((double)clip->controls[i] - all->rest[i % all->count]));
        }
    }
}

/* A clip without values for a control that others have is assumed to leave it at rest. */
static void check_controls(diagnosis *d, const pelt_clip *clip) {
    char names[300] = "";
    size_t at = 0, still = 0;
    for (uint32_t i = 0; i < d->bundle->controls.count; i++) {
        bool moves = !(d->control_ranges[i] > 0);
        for (uint32_t f = 0; f < clip->frame_count && !moves; f++) moves = control_of(d, clip, f, i) != 0;
        if (moves) continue;
        if (still++ < 6 && at < sizeof names - 1)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", still > 1 ? ", " : "",
                                   d->bundle->controls.names[i]);
    }
    if (still)
        FIND(d, PELT_NOTE, "still-controls",
             "%s: clip \"%s\" has no values for, or never moves, %zu of the controls that other clips move: %.280s%s",
             d->bundle->path, clip->name, still, names, still > 6 ? ", ..." : "");
}

/* -- All of it ---------------------------------------------------------------------------------------------------- */

/* Worst first; insertion sort is stable, so findings of one severity keep their order. */
static void sort_findings(pelt_findings *findings) {
    pelt_finding *list = (pelt_finding *)findings->list;
    for (size_t i = 1; i < findings->count; i++)
        for (size_t k = i; k > 0 && list[k - 1].severity < list[k].severity; k--) {
            pelt_finding swap = list[k];
            list[k] = list[k - 1], list[k - 1] = swap;
        }
}

/* A stage, in the scratch. A character without weights has no blend to compare its clips with. */
static pelt_result look(void *user, pelt_error *error) {
    diagnosis *d = user;
    const pelt_mesh *mesh = &d->bundle->mesh;
    const pelt_findings *notes = &d->bundle->notes;
    bool weighed = mesh->influences.first[mesh->vertex_count] > 0;
    for (size_t i = 0; i < notes->count; i++)
        FIND(d, notes->list[i].severity, notes->list[i].what, "%s", notes->list[i].text);
    range_controls(d);
    pelt_diagnose_rest(d);
    for (size_t c = 0; c < d->clip_count; c++)
        if (d->clips[c]->positions && d->clips[c]->frame_count && check_numbers(d, d->clips[c]) && weighed &&
            pelt_diagnose_timing(d, d->clips[c]))
            check_placement(d, d->clips[c]);
    for (size_t c = 0; c < d->clip_count; c++) check_rotations(d, d->clips[c]), check_controls(d, d->clips[c]);
    if (frame_total(d) > 1) { /* a single pose can neither repeat nor move */
        check_duplicates(d);
        pelt_diagnose_still_joints(d);
    }
    sort_findings(&d->findings);
    return pelt_arena_failed(d->bundle->arena) ? pelt_no_memory(error) : PELT_OK;
}

pelt_findings pelt_diagnose(pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count) {
    static const pelt_finding no_memory = {PELT_FATAL, "memory", "not enough memory to check the examples"};
    static const pelt_finding no_clip = {PELT_FATAL, "clip", "a clip to check is NULL or belongs to another bundle"};
    for (size_t c = 0; c < clip_count; c++)
        if (!bundle || !clips || !pelt_is_own_clip(bundle, clips[c])) return (pelt_findings){1, &no_clip};
    if (!bundle) return (pelt_findings){0};
    PELT_SCOPED pelt_arena *scratch = pelt_arena_new(0);
    diagnosis d = {.bundle = bundle, .clips = clips, .clip_count = clip_count, .scratch = scratch};
    return pelt_stage(scratch, look, &d, NULL) ? (pelt_findings){1, &no_memory} : d.findings;
}
