/* bones.c: rigid cores in the flesh. A bone is a capsule from a joint to a child of it. */

#include "flesh/volume.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

enum { ALONG = 24 };
static const double width = 0.45; /* of the least distance to the skin */

typedef struct finding {
    const pelt_bundle *bundle;
    const pelt_skin_tree *tree;
    double (*heads)[3]; /* [joint] in the space of the mesh */
    bool *weighs;       /* [joint] moves some of the skin */
    uint32_t *children; /* [joint] how many joints follow it */
    pelt_flesh_bone *list;
    pelt_flesh_bones found;
} finding;

static void between(const double a[3], const double b[3], double t, double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] + t * (b[k] - a[k]);
}

static void find_joints(finding *f) {
    const pelt_skeleton *s = &f->bundle->skeleton;
    const pelt_influences *in = &f->bundle->mesh.influences;
    for (uint32_t j = 0; j < s->joint_count; j++) {
        pelt_affine bind, back;
        memcpy(bind.m, s->inverse_bind[j], sizeof bind.m);
        pelt_affine_invert(&bind, &back);
        for (int k = 0; k < 3; k++) f->heads[j][k] = back.m[4 * k + 3];
        if (s->parents[j] >= 0) f->children[s->parents[j]]++;
    }
    for (uint32_t i = 0; i < in->first[f->bundle->mesh.vertex_count]; i++)
        if (in->weights[i] > 0.01f) f->weighs[in->joints[i]] = true;
}

/* Beyond the end of a limb the bone goes on until the skin is nearer than it is wide. */
static void lengthen(const finding *f, const double from[3], double to[3]) {
    double length = pelt_distance(from, to), d[3], x[3];
    if (length <= 0) return;
    for (int k = 0; k < 3; k++) d[k] = (to[k] - from[k]) / length;
    double room = pelt_skin_distance(f->tree, to), step = room / 8;
    if (pelt_winding_number(f->tree, to, false) <= 0.5) return;
    for (int n = 0; n < 400; n++) {
        for (int k = 0; k < 3; k++) x[k] = to[k] + step * d[k];
        if (pelt_winding_number(f->tree, x, false) <= 0.5 || pelt_skin_distance(f->tree, x) < room / 2) return;
        memcpy(to, x, sizeof x);
    }
}

/* Keeps the longest stretch that is inside; false if there is none. */
static bool clip_inside(const finding *f, double a[3], double b[3]) {
    int best = 0, start = 0, best_start = 0;
    for (int i = 0; i <= ALONG + 1; i++) {
        double x[3];
        between(a, b, (double)i / ALONG, x);
        bool inside = i <= ALONG && pelt_winding_number(f->tree, x, false) > 0.5;
        if (inside) continue;
        if (i - start > best) best = i - start, best_start = start;
        start = i + 1;
    }
    if (best < 2) return false;
    double low[3], high[3];
    between(a, b, (double)best_start / ALONG, low), between(a, b, (double)(best_start + best - 1) / ALONG, high);
    memcpy(a, low, sizeof low), memcpy(b, high, sizeof high);
    return true;
}

/* The least distance to the skin, and gaps at the ends, so that bones of a joint do not touch. */
static bool give_width(const finding *f, pelt_flesh_bone *bone) {
    double least = INFINITY, length = pelt_distance(bone->ends[0], bone->ends[1]), a[3], b[3];
    for (int i = 0; i <= ALONG; i++) {
        double x[3];
        between(bone->ends[0], bone->ends[1], (double)i / ALONG, x);
        least = fmin(least, pelt_skin_distance(f->tree, x));
    }
    bone->radius = fmin(width * least, length / 4);
    double gap = fmin(1.35 * bone->radius + 0.01 * length, 0.4 * length); /* the cap, and a third of the radius */
    between(bone->ends[0], bone->ends[1], gap / length, a), between(bone->ends[0], bone->ends[1], 1 - gap / length, b);
    memcpy(bone->ends[0], a, sizeof a), memcpy(bone->ends[1], b, sizeof b);
    return bone->radius > 0;
}

static void add(finding *f, uint32_t joint, const double from[3], const double to[3], bool last) {
    pelt_flesh_bone bone = {.joint = joint};
    memcpy(bone.ends[0], from, sizeof bone.ends[0]), memcpy(bone.ends[1], to, sizeof bone.ends[1]);
    if (pelt_distance(from, to) < 1e-4 * f->bundle->mesh.diagonal) return;
    if (last) lengthen(f, bone.ends[0], bone.ends[1]);
    if (!clip_inside(f, bone.ends[0], bone.ends[1]) || !give_width(f, &bone)) {
        f->found.outside++, f->found.missed = joint;
        return;
    }
    f->list[f->found.count++] = bone;
}

/* A limb may end with a joint that has weights but no child: its bone goes on as that before it did. */
static void add_end(finding *f, uint32_t joint) {
    int32_t parent = f->bundle->skeleton.parents[joint];
    double to[3];
    if (parent < 0) return;
    between(f->heads[parent], f->heads[joint], 1.1, to);
    add(f, joint, f->heads[joint], to, true);
}

pelt_flesh_bones pelt_flesh_bones_of(pelt_arena *arena, const pelt_bundle *bundle, const pelt_skin_tree *tree) {
    const pelt_skeleton *s = &bundle->skeleton;
    finding f = {.bundle = bundle, .tree = tree};
    f.heads = pelt_alloc(arena, s->joint_count, sizeof *f.heads);
    f.weighs = PELT_NEW(arena, s->joint_count, bool);
    f.children = PELT_NEW(arena, s->joint_count, uint32_t);
    f.list = PELT_NEW(arena, 2 * (size_t)s->joint_count, pelt_flesh_bone);
    find_joints(&f);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        int32_t p = s->parents[j];
        if (p >= 0 && f.weighs[p]) add(&f, (uint32_t)p, f.heads[p], f.heads[j], !f.children[j] && !f.weighs[j]);
        if (f.weighs[j] && !f.children[j]) add_end(&f, j);
    }
    f.found.list = f.list;
    return f.found;
}

/* -- Nodes that bones carry ------------------------------------------------------------------------------------------ */

typedef struct carrying {
    const pelt_skin_tree *tree;
    const bool *real;
    pelt_volume *volume;
} carrying;

static void nearest_on(const pelt_flesh_bone *bone, const double x[3], double out[3]) {
    const double *a = bone->ends[0], *b = bone->ends[1];
    double d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, s[3] = {x[0] - a[0], x[1] - a[1], x[2] - a[2]};
    double length = pelt_dot(d, d);
    between(a, b, length > 0 ? fmin(fmax(pelt_dot(s, d) / length, 0), 1) : 0, out);
}

/* Every point of space is within .56 of an edge of some node: a bone that is thinner carries the nodes around its axis. */
static bool is_thin(const pelt_volume *v, const pelt_flesh_bone *bone) { return bone->radius < 0.56 * v->cell; }
static double reach(const pelt_volume *v, const pelt_flesh_bone *bone) { return fmax(bone->radius, 0.56 * v->cell); }

static void carry(void *user, size_t i, pelt_arena *scratch) {
    const carrying *c = user;
    pelt_volume *v = c->volume;
    const double *x = v->nodes + 3 * i;
    double best = INFINITY, foot[3];
    (void)scratch;
    v->node_bones[i] = -1;
    for (uint32_t b = 0; b < v->bones.count && c->real[i]; b++) {
        const pelt_flesh_bone *bone = &v->bones.list[b];
        nearest_on(bone, x, foot);
        double far = pelt_distance(x, foot), part = far / reach(v, bone);
        bool held = part < 1;
        if (bone->shape) /* holds what is in it; if it is thin, what is around its axis, too */
            held = (held && is_thin(v, bone)) || pelt_winding_number(bone->shape, x, false) > 0.5;
        if (!held || part >= best || (!bone->shape && !pelt_stays_inside(c->tree, x, foot, 1))) continue;
        best = part, v->node_bones[i] = (int32_t)b;
    }
}

/* -- Pieces that hold on to nothing -------------------------------------------------------------------------------- */

static uint32_t root_of(uint32_t *parents, uint32_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

static uint32_t nearest_bone(const pelt_volume *v, const double x[3]) {
    uint32_t nearest = 0;
    double best = INFINITY, foot[3];
    for (uint32_t b = 0; b < v->bones.count; b++) {
        nearest_on(&v->bones.list[b], x, foot);
        double far = pelt_distance(x, foot) - v->bones.list[b].radius;
        if (far < best) best = far, nearest = b;
    }
    return nearest;
}

/* Elements that no bone holds, by way of others or not (buttons, eyes, crumbs of the lattice), would float: all of such a
   piece goes with the bone nearest to its first node. */
static void hold_loose_pieces(pelt_arena *arena, pelt_volume *v) {
    uint32_t *parents = PELT_NEW(arena, v->node_count, uint32_t);
    bool *held = PELT_NEW(arena, v->node_count, bool);
    for (uint32_t i = 0; i < v->node_count; i++) parents[i] = i;
    for (size_t k = 0; k < 4 * (size_t)v->element_count; k++) {
        uint32_t a = root_of(parents, v->elements[k]), b = root_of(parents, v->elements[k - k % 4]);
        parents[a > b ? a : b] = a > b ? b : a;
    }
    for (uint32_t i = 0; i < v->node_count; i++)
        if (v->node_bones[i] >= 0) held[root_of(parents, i)] = true;
    for (uint32_t i = 0; i < v->node_count; i++) {
        uint32_t root = root_of(parents, i);
        if (held[root]) continue;
        if (root == i) v->loose++;
        v->node_bones[i] = root == i ? (int32_t)nearest_bone(v, v->nodes + 3 * (size_t)i) : v->node_bones[root];
    }
}

void pelt_carry_nodes(const pelt_skin_tree *tree, const bool *real, pelt_arena *arena, uint32_t threads,
                      pelt_volume *v) {
    carrying c = {tree, real, v};
    v->node_bones = PELT_NEW(arena, v->node_count, int32_t);
    bool *carries = PELT_NEW(arena, v->bones.count, bool);
    pelt_parallel(arena, threads, v->node_count, carry, &c);
    for (uint32_t i = 0; i < v->node_count; i++)
        if (v->node_bones[i] >= 0) carries[v->node_bones[i]] = true;
    hold_loose_pieces(arena, v);
    for (uint32_t b = 0; b < v->bones.count; b++) {
        v->bare += !carries[b];
        v->thin += is_thin(v, &v->bones.list[b]);
    }
}
