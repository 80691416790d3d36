/* diagnose_joints.c: joints at rest, and joints that no clip moves.

   Joints that move parts of one surface form a group. A group may be anywhere: a z-up mesh under a node that rotates
   it, or one in centimetres under a node that scales it, is moved as a whole by its skeleton at rest. Only if the
   joints of a group disagree was the mesh bound in another pose. A group of a single joint is a rigid part, a mesh on a
   node. */

#include "rig/diagnose.h"
#include <math.h>
#include <stdio.h>

static const double misplaced = 1e-3; /* of the diagonal: a rest pose that is off by more is worth a warning */
static const double moved = 1e-4;     /* of a matrix entry, or of the size: less is rounding */
static const double no_size = 1e-30;  /* stands in for the diagonal of a mesh that has none */

/* -- Groups -------------------------------------------------------------------------------------------------------- */

static uint32_t leader(uint32_t *groups, uint32_t joint) {
    while (groups[joint] != joint) joint = groups[joint] = groups[groups[joint]];
    return joint;
}

/* The first joint of a group is its leader: parents come before children. */
static void unite(uint32_t *groups, uint32_t a, uint32_t b) {
    a = leader(groups, a), b = leader(groups, b);
    groups[a > b ? a : b] = a < b ? a : b;
}

/* [joint] the leader of its group. */
static uint32_t *joint_groups(diagnosis *d) {
    const pelt_mesh *mesh = &d->bundle->mesh;
    const pelt_influences *in = &mesh->influences;
    uint32_t joints = d->bundle->skeleton.joint_count, *groups = PELT_NEW(d->scratch, joints, uint32_t);
    for (uint32_t j = 0; j < joints; j++) groups[j] = j;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        for (uint32_t i = in->first[v]; i + 1 < in->first[v + 1]; i++)
            if (in->weights[i] != 0 && in->weights[i + 1] != 0) unite(groups, in->joints[i], in->joints[i + 1]);
    for (size_t t = 0; t < 3 * (size_t)mesh->triangle_count; t++) {
        uint32_t a = mesh->triangles[t], b = mesh->triangles[t % 3 == 2 ? t - 2 : t + 1];
        if (in->first[a] < in->first[a + 1] && in->first[b] < in->first[b + 1])
            unite(groups, in->joints[in->first[a]], in->joints[in->first[b]]);
    }
    for (uint32_t j = 0; j < joints; j++) groups[j] = leader(groups, j);
    return groups;
}

/* -- The rest pose ------------------------------------------------------------------------------------------------- */

/* How far a vertex is from where the leader of its group puts it, in the space of the mesh. */
static double rest_error(const pelt_mesh *mesh, uint32_t vertex, const double *blended, const pelt_affine *back) {
    double at[3], sum = 0;
    pelt_affine_point(back, blended + 3 * (size_t)vertex, at);
    for (size_t i = 0; i < 3; i++) sum += pow(at[i] - mesh->positions[3 * (size_t)vertex + i], 2);
    return sqrt(sum);
}

/* Files may bind a mesh in other units than the scene's, under a node that scales it. */
static void compare_sizes(diagnosis *d) {
    const pelt_mesh *mesh = &d->bundle->mesh;
    const double much = 2;
    double ratio = mesh->diagonal / pelt_scene_diagonal(mesh);
    if (!(ratio > 0) || !isfinite(ratio) || (ratio < much && ratio > 1 / much)) return;
    FIND(d, PELT_WARNING, "bind-size",
         "%s: the mesh is bound at %.4g times its size in the scene; errors and percentages refer to the scene, where "
         "the diagonal is %.4g, and caches must be in scene units too",
         d->bundle->path, ratio, pelt_scene_diagonal(mesh));
}

void pelt_diagnose_rest(diagnosis *d) {
    const pelt_mesh *mesh = &d->bundle->mesh;
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    const uint32_t *groups = joint_groups(d), *first = mesh->influences.first;
    const pelt_affine *matrices = pelt_frame_matrices(d->scratch, skeleton, NULL, 0);
    pelt_affine *back = PELT_NEW(d->scratch, skeleton->joint_count, pelt_affine);
    double *blended = PELT_NEW(d->scratch, 3 * (size_t)mesh->vertex_count, double), worst = 0;
    uint32_t where = 0;
    pelt_blend_mesh(mesh, matrices, blended);
    compare_sizes(d);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) pelt_affine_invert(&matrices[j], &back[j]);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        if (first[v] == first[v + 1]) continue;
        double error = rest_error(mesh, v, blended, &back[groups[mesh->influences.joints[first[v]]]]);
        if (error > worst) worst = error, where = v;
    }
    if (mesh->diagonal > 0 && worst > misplaced * mesh->diagonal)
        FIND(d, PELT_WARNING, "rest-pose",
             "%s: the skeleton at rest does not reproduce the mesh: vertex %u is off by %.3g (%.2g%% of the size); "
             "this is harmless if the mesh was bound in a pose other than the file's; otherwise bind it again",
             d->bundle->path, where, worst, 100 * worst / mesh->diagonal);
}

/* -- Joints that never move ---------------------------------------------------------------------------------------- */

/* Joints that share a surface with others: those that a skin can learn about. */
static bool *blended_joints(diagnosis *d) {
    const pelt_influences *in = &d->bundle->mesh.influences;
    uint32_t joints = d->bundle->skeleton.joint_count, *sizes = PELT_NEW(d->scratch, joints, uint32_t);
    const uint32_t *groups = joint_groups(d);
    bool *blended = PELT_NEW(d->scratch, joints, bool);
    for (uint32_t i = 0; i < in->first[d->bundle->mesh.vertex_count]; i++)
        blended[in->joints[i]] |= in->weights[i] != 0;
    for (uint32_t j = 0; j < joints; j++) sizes[groups[j]] += blended[j];
    for (uint32_t j = 0; j < joints; j++) blended[j] = blended[j] && sizes[groups[j]] > 1;
    return blended;
}

/* A joint that always coincides with its parent stands in for it: a second skin binds the same node. */
static bool stands_for_parent(const pelt_skeleton *skeleton, uint32_t joint) {
    if (skeleton->parents[joint] < 0) return false;
    pelt_affine local = pelt_affine_of(&skeleton->rest[joint]);
    for (int i = 0; i < 12; i++)
        if (local.m[i] != pelt_identity.m[i]) return false;
    return true;
}

/* Where some clips have true positions, the others are no examples. */
static bool is_example(const diagnosis *d, size_t clip) {
    bool any = false;
    for (size_t c = 0; c < d->clip_count; c++) any |= d->clips[c]->positions != NULL;
    return !any || d->clips[clip]->positions;
}

/* [joint] whether any example moves it relative to its parent. */
static bool *moving_joints(diagnosis *d) {
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    uint32_t joints = skeleton->joint_count;
    bool *moves = PELT_NEW(d->scratch, joints, bool), first = true;
    pelt_transform *locals = PELT_NEW(d->scratch, joints, pelt_transform);
    pelt_affine *start = PELT_NEW(d->scratch, joints, pelt_affine);
    double size = fmax(d->bundle->mesh.diagonal, no_size);
    for (size_t c = 0; c < d->clip_count; c++)
        for (uint32_t f = 0; is_example(d, c) && f < d->clips[c]->frame_count; f++, first = false) {
            pelt_clip_pose(d->clips[c], skeleton, f, locals);
            for (uint32_t j = 0; j < joints; j++) {
                pelt_affine local = pelt_affine_of(&locals[j]);
                if (first) start[j] = local;
                for (int i = 0; i < 12 && !moves[j]; i++) /* not just rounding */
                    moves[j] = fabs(start[j].m[i] - local.m[i]) > moved * (i % 4 == 3 ? size : 1);
            }
        }
    for (uint32_t j = 0; j < joints; j++)
        if (!moves[j] && stands_for_parent(skeleton, j)) moves[j] = moves[skeleton->parents[j]];
    return moves;
}

void pelt_diagnose_still_joints(diagnosis *d) {
    const pelt_skeleton *skeleton = &d->bundle->skeleton;
    const bool *blended = blended_joints(d), *moves = moving_joints(d);
    enum { MOST_NAMES = 24 };
    char names[1200] = "";
    size_t at = 0, still = 0, total = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        total += blended[j];
        if (!blended[j] || moves[j]) continue;
        if (still++ < MOST_NAMES && at < sizeof names - 1)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", still > 1 ? ", " : "", skeleton->names[j]);
    }
    if (still)
        FIND(d, PELT_NOTE, "still-joints",
             "%s: %zu of the %zu joints that carry skin never move in these clips, so nothing can be learned about "
             "them: %s%s; add poses that move them if the character is going to",
             d->bundle->path, still, total, names, still > MOST_NAMES ? ", ..." : "");
}
