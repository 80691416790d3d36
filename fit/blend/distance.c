/* distance.c: blend weights from the distance of a vertex to the bones (Kry, James & Pai 2002, section 2.1), for meshes
   without weights, and as a baseline.

   A joint's bones are the segments to its children; a joint without children is a point. Joints that carry no skin in
   the file have no bones. With d_j the sorted distances of a vertex to the joints' bones, and R the radius of
   influence,

       w_j ~ ((R - d_j)+ / (R d_j))^2,     R = min(d_(k+1), REACH d_(1))

   Because R is at most the distance of the first joint left out, a weight is exactly 0 when its joint enters or leaves
   the k nearest, so the weights are continuous over the mesh; REACH keeps the middle of a limb rigid. */

#include "fit/fitting.h"
#include <math.h>
#include <string.h>

#define REACH 2.5

typedef struct bone {
    uint32_t joint;
    double a[3], b[3];
} bone;

typedef struct near_joint {
    double distance;
    uint32_t joint;
} near_joint;

typedef struct distance_job {
    const pelt_mesh *mesh;
    const bone *bones;
    uint32_t bone_count, joint_count, most;
    uint32_t *joints; /* [vertex][most] */
    float *weights;
    uint32_t *counts;
} distance_job;

static double segment_distance(const bone *s, const float *p) {
    double along = 0, length = 0, sum = 0;
    for (int i = 0; i < 3; i++) {
        double ab = s->b[i] - s->a[i];
        along += ab * (p[i] - s->a[i]);
        length += ab * ab;
    }
    double t = length > 0 ? fmin(fmax(along / length, 0), 1) : 0;
    for (int i = 0; i < 3; i++) {
        double x = p[i] - s->a[i] - t * (s->b[i] - s->a[i]);
        sum += x * x;
    }
    return sqrt(sum);
}

/* The k + 1 nearest joints, nearest first; ties go to the joint that comes first. */
static uint32_t nearest_joints(const distance_job *job, const float *p, near_joint *best, uint32_t most) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < job->bone_count;) {
        uint32_t joint = job->bones[s].joint;
        double distance = INFINITY;
        for (; s < job->bone_count && job->bones[s].joint == joint; s++)
            distance = fmin(distance, segment_distance(&job->bones[s], p));
        if (count == most && distance >= best[count - 1].distance) continue;
        uint32_t at = count < most ? count++ : count - 1;
        for (; at > 0 && best[at - 1].distance > distance; at--) best[at] = best[at - 1];
        best[at] = (near_joint){distance, joint};
    }
    return count;
}

static void weigh_vertex(void *user, size_t v, pelt_arena *scratch) {
    (void)scratch;
    distance_job *job = user;
    near_joint best[65];
    uint32_t count = nearest_joints(job, job->mesh->positions + 3 * v, best, job->most + 1);
    double tiny = 1e-6 * job->mesh->diagonal + 1e-30, first = fmax(best[0].distance, tiny), reach = REACH * first;
    if (count > job->most) reach = fmin(reach, fmax(best[job->most].distance, first * (1 + 1e-9)));
    double weights[64], sum = 0;
    uint32_t kept = count < job->most ? count : job->most;
    for (uint32_t i = 0; i < kept; i++) {
        double d = fmax(best[i].distance, tiny), w = fmax(reach - d, 0) / (reach * d);
        sum += weights[i] = w * w;
    }
    uint32_t out = 0;
    for (uint32_t i = 0; i < kept; i++) {
        if (!(weights[i] > 0)) continue;
        job->joints[v * job->most + out] = best[i].joint;
        job->weights[v * job->most + out++] = (float)(weights[i] / sum);
    }
    job->counts[v] = out;
}

/* The joints' positions in the mesh's rest pose, from their inverse bind matrices. */
static void joint_places(const pelt_skeleton *skeleton, double (*at)[3]) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        pelt_affine bind, frame;
        memcpy(bind.m, skeleton->inverse_bind[j], sizeof bind.m);
        pelt_affine_invert(&bind, &frame);
        for (int i = 0; i < 3; i++) at[j][i] = frame.m[4 * i + 3];
    }
}

/* The joint that moves the bone ending at a child: its parent, or, if the parent carries no skin, the first joint above
   that does and has the same position. -1: none, as for an upper arm whose skin is on twist joints. */
static int32_t bone_owner(const pelt_skeleton *skeleton, const bool *carries, double (*at)[3], double tolerance,
                          uint32_t child) {
    int32_t owner = skeleton->parents[child], below = owner;
    while (owner >= 0 && !carries[owner]) {
        below = owner;
        owner = skeleton->parents[owner];
        if (owner < 0 ||
            fabs(at[owner][0] - at[below][0]) + fabs(at[owner][1] - at[below][1]) + fabs(at[owner][2] - at[below][2]) >
                tolerance)
            return -1;
    }
    return owner;
}

/* Bones of the joints that carry skin in the file, or of all if none does; grouped by joint. */
static bone *make_bones(pelt_arena *arena, const pelt_mesh *mesh, const pelt_skeleton *skeleton, uint32_t *count) {
    uint32_t n = skeleton->joint_count, made = 0;
    bool *carries = PELT_NEW(arena, n, bool), *has_bone = PELT_NEW(arena, n, bool), any = false;
    double(*at)[3] = pelt_alloc(arena, n, sizeof *at);
    bone *bones = PELT_NEW(arena, 2 * (size_t)n, bone), *sorted = PELT_NEW(arena, 2 * (size_t)n, bone);
    uint32_t *place = PELT_NEW(arena, (size_t)n + 1, uint32_t);
    for (uint32_t i = 0; i < mesh->influences.first[mesh->vertex_count]; i++)
        any = carries[mesh->influences.joints[i]] = true;
    for (uint32_t j = 0; j < n; j++) carries[j] |= !any;
    const double no_bone = 1e-4; /* of the diagonal: shorter ones are no bones */
    joint_places(skeleton, at);
    for (uint32_t j = 0; j < n; j++) {
        int32_t owner = bone_owner(skeleton, carries, at, no_bone * mesh->diagonal, j);
        if (owner < 0) continue;
        bones[made] = (bone){.joint = (uint32_t)owner};
        memcpy(bones[made].a, at[owner], sizeof bones->a);
        memcpy(bones[made++].b, at[j], sizeof bones->b);
        has_bone[owner] = true;
    }
    for (uint32_t j = 0; j < n; j++) {
        if (!carries[j] || has_bone[j]) continue;
        bones[made] = (bone){.joint = j};
        memcpy(bones[made].a, at[j], sizeof bones->a);
        memcpy(bones[made++].b, at[j], sizeof bones->b);
    }
    /* Groups bones by joint, in joint order: a counting sort. */
    for (uint32_t b = 0; b < made; b++) place[bones[b].joint + 1]++;
    for (uint32_t j = 0; j < n; j++) place[j + 1] += place[j];
    for (uint32_t b = 0; b < made; b++) sorted[place[bones[b].joint]++] = bones[b];
    *count = made;
    return sorted;
}

pelt_result pelt_distance_weights(pelt_arena *arena, const pelt_mesh *mesh, const pelt_skeleton *skeleton,
                                  uint32_t influences, uint32_t threads, pelt_influences *out, pelt_error *error) {
    if (influences > 64)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%u influences per vertex are too many; at most 64 are possible",
                         influences);
    if (!skeleton->joint_count)
        return pelt_fail(error, PELT_ERROR_DATA, "the character has no joints to measure distances from");
    size_t n = mesh->vertex_count;
    distance_job job = {.mesh = mesh, .joint_count = skeleton->joint_count, .most = influences ? influences : 4};
    job.bones = make_bones(arena, mesh, skeleton, &job.bone_count);
    job.joints = PELT_NEW(arena, n * job.most, uint32_t);
    job.weights = PELT_NEW(arena, n * job.most, float);
    job.counts = PELT_NEW(arena, n, uint32_t);
    out->first = PELT_NEW(arena, n + 1, uint32_t);
    pelt_parallel(arena, threads, n, weigh_vertex, &job);
    for (size_t v = 0; v < n; v++) out->first[v + 1] = out->first[v] + job.counts[v];
    out->joints = PELT_NEW(arena, out->first[n], uint32_t);
    out->weights = PELT_NEW(arena, out->first[n], float);
    for (size_t v = 0; v < n; v++) {
        memcpy(out->joints + out->first[v], job.joints + v * job.most, job.counts[v] * sizeof(uint32_t));
        memcpy(out->weights + out->first[v], job.weights + v * job.most, job.counts[v] * sizeof(float));
    }
    return PELT_OK;
}

void pelt_limit_influences(pelt_arena *arena, const pelt_influences *in, uint32_t vertex_count, uint32_t most,
                           pelt_influences *out) {
    out->first = PELT_NEW(arena, (size_t)vertex_count + 1, uint32_t);
    out->joints = PELT_NEW(arena, in->first[vertex_count], uint32_t);
    out->weights = PELT_NEW(arena, in->first[vertex_count], float);
    for (uint32_t v = 0; v < vertex_count; v++) {
        uint32_t at = out->first[v], count = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            uint32_t k =
                count < most ? count++ : most; /* insert by size, largest first, then by joint; the last one drops
                                                  off */
            float weight = in->weights[i];
            for (; k > 0 && (out->weights[at + k - 1] < weight ||
                             (out->weights[at + k - 1] == weight && out->joints[at + k - 1] > in->joints[i]));
                 k--)
                if (k < most)
                    out->joints[at + k] = out->joints[at + k - 1], out->weights[at + k] = out->weights[at + k - 1];
            if (k < most) out->joints[at + k] = in->joints[i], out->weights[at + k] = weight;
        }
        double sum = 0;
        for (uint32_t i = 0; i < count; i++) sum += out->weights[at + i];
        for (uint32_t i = 0; i < count && sum != 0; i++) out->weights[at + i] = (float)(out->weights[at + i] / sum);
        out->first[v + 1] = at + count;
    }
}
