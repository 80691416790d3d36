/* pose.c: from clips to joint matrices to blended positions, in double: the offline truth about linear blending.

       T_j = global_j inverse_bind_j,   v = (sum_j w_j T_j) v0 */

#include "rig/maths.h"
#include "rig/rig.h"
#include "rig/sort.h"
#include <stdlib.h>
#include <string.h>

static const double smallest_arc = 1e-6; /* radians: below, a slerp is a straight line */
static const float same_time = 1e-6f;    /* of a time: what floats of it may differ by */

/* -- Clips ------------------------------------------------------------------------------------------------------- */

static double key_length(const float *q) {
    double sum = 0;
    for (int i = 0; i < 4; i++) sum += (double)q[i] * q[i];
    return sum > 0 ? sqrt(sum) : 1;
}

/* Slerp along the shorter arc. Keys need not be exactly unit length. */
static void slerp(const float *a, const float *b, double t, double out[4]) {
    double length_a = key_length(a), length_b = key_length(b), dot = 0;
    for (int i = 0; i < 4; i++) dot += (double)a[i] * b[i] / (length_a * length_b);
    double ka = 1 - t, kb = t, angle = acos(fmin(fabs(dot), 1));
    if (angle > smallest_arc) ka = sin(ka * angle) / sin(angle), kb = sin(kb * angle) / sin(angle);
    if (dot < 0) kb = -kb;
    for (int i = 0; i < 4; i++) out[i] = ka / length_a * a[i] + kb / length_b * b[i];
}

/* glTF's cubic Hermite spline; keys hold in-tangent, value, out-tangent. */
static void cubic(const float *key, int size, double span, double t, double *out) {
    const float *v0 = key + size, *out0 = key + 2 * size, *in1 = key + 3 * size, *v1 = key + 4 * size;
    double t2 = t * t, t3 = t2 * t;
    for (int i = 0; i < size; i++)
        out[i] = (2 * t3 - 3 * t2 + 1) * v0[i] + span * (t3 - 2 * t2 + t) * out0[i] + (-2 * t3 + 3 * t2) * v1[i] +
                 span * (t3 - t2) * in1[i];
}

static void channel_value(const pelt_channel *channel, int size, double time, double *out) {
    size_t stride = channel->interpolation == PELT_CUBIC ? 3 * (size_t)size : (size_t)size;
    const float *times = channel->times;
    size_t low = 0, high = channel->key_count - 1; /* the last key at or before `time` */
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (times[middle] <= time)
            low = middle;
        else
            high = middle - 1;
    }
    const float *key = channel->values + low * stride;
    const float *value = channel->interpolation == PELT_CUBIC ? key + size : key;
    double span = low + 1 < channel->key_count ? (double)times[low + 1] - times[low] : 0;
    double t = span > 0 ? (time - times[low]) / span : 0;
    if (t <= 0 || channel->interpolation == PELT_STEP) {
        for (int i = 0; i < size; i++) out[i] = value[i];
    } else if (channel->interpolation == PELT_CUBIC) {
        cubic(key, size, span, t, out);
    } else if (size == 4) {
        slerp(key, key + stride, t, out);
    } else {
        for (int i = 0; i < size; i++) out[i] = (1 - t) * key[i] + t * key[stride + (size_t)i];
    }
    double norm = size == 4 ? pelt_quaternion_length(out) : 0;
    if (norm > 0)
        for (int i = 0; i < 4; i++) out[i] /= norm;
}

void pelt_clip_pose(const pelt_clip *clip, const pelt_skeleton *skeleton, uint32_t frame, pelt_transform *locals) {
    memcpy(locals, skeleton->rest, skeleton->joint_count * sizeof *locals);
    if (!clip || !clip->frame_count) return;
    if (frame >= clip->frame_count) frame = clip->frame_count - 1;
    for (uint32_t c = 0; c < clip->channel_count; c++) {
        const pelt_channel *channel = &clip->channels[c];
        if (channel->joint >= skeleton->joint_count) continue; /* of another skeleton */
        pelt_transform *local = &locals[channel->joint];
        double value[4];
        int size = channel->path == PELT_ROTATION ? 4 : 3;
        if (!channel->key_count) continue;
        channel_value(channel, size, clip->times[frame], value);
        float *target = channel->path == PELT_ROTATION      ? local->rotation
                        : channel->path == PELT_TRANSLATION ? local->translation
                                                            : local->scale;
        for (int i = 0; i < size; i++) target[i] = (float)value[i];
    }
}

float pelt_track_value(const pelt_channel *track, double time) {
    double value = 0;
    if (track->key_count) channel_value(track, 1, time, &value);
    return (float)value;
}

pelt_result pelt_clip_merge_times(pelt_arena *arena, pelt_clip *clip) {
    size_t total = 0;
    bool shared = true; /* the usual case: all channels share one array of keys */
    for (uint32_t c = 0; c < clip->channel_count; c++) {
        const pelt_channel *channel = &clip->channels[c], *first = &clip->channels[0];
        total += channel->key_count;
        shared &= channel->key_count == first->key_count &&
                  (channel->times == first->times ||
                   !memcmp(channel->times, first->times, channel->key_count * sizeof(float)));
    }
    if (shared && clip->channel_count) {
        clip->times = clip->channels[0].times;
        clip->frame_count = clip->channels[0].key_count;
        return PELT_OK;
    }
    float *times = PELT_NEW(arena, total, float);
    if (!times) return PELT_ERROR_MEMORY;
    size_t filled = 0;
    for (uint32_t c = 0; c < clip->channel_count; c++) {
        memcpy(times + filled, clip->channels[c].times, clip->channels[c].key_count * sizeof(float));
        filled += clip->channels[c].key_count;
    }
    qsort(times, total, sizeof *times, pelt_rising_floats);
    /* Times that differ by rounding are one frame, at the last of them: by then every channel has reached its key,
       which matters for stepped ones. */
    size_t kept = 0;
    float first = 0;
    for (size_t i = 0; i < total; i++) {
        bool same = kept && times[i] - first <= same_time * fmaxf(1, fabsf(times[i]));
        if (!same) first = times[i], kept++;
        times[kept - 1] = times[i];
    }
    clip->times = times;
    clip->frame_count = (uint32_t)kept;
    return PELT_OK;
}

/* -- Rotations ---------------------------------------------------------------------------------------------------- */

void pelt_pose_rotations(const pelt_skeleton *skeleton, const pelt_transform *locals, float *rotations) {
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        const float *r = skeleton->rest[j].rotation, *l = locals[j].rotation;
        double a[4] = {-r[0], -r[1], -r[2], r[3]}, b[4] = {l[0], l[1], l[2], l[3]}, q[4];
        pelt_quaternion_multiply(a, b, q);
        double length = pelt_quaternion_length(q);
        float *out = rotations + 4 * (size_t)j;
        if (length > 0 && isfinite(length)) {
            for (int i = 0; i < 4; i++) out[i] = (float)(q[3] < 0 ? -q[i] / length : q[i] / length);
        } else {
            out[0] = out[1] = out[2] = 0, out[3] = 1;
        }
    }
}

/* The rotation from a to b; q and -q give the same up to sign. */
static void quaternion_between(const float a[4], const float b[4], double out[4]) {
    out[0] = (double)a[3] * b[0] - (double)a[0] * b[3] - (double)a[1] * b[2] + (double)a[2] * b[1];
    out[1] = (double)a[3] * b[1] + (double)a[0] * b[2] - (double)a[1] * b[3] - (double)a[2] * b[0];
    out[2] = (double)a[3] * b[2] - (double)a[0] * b[1] + (double)a[1] * b[0] - (double)a[2] * b[3];
    out[3] = (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2] + (double)a[3] * b[3];
}

/* From the sine of the half angle, which is accurate where the cosine is not. */
double pelt_rotation_angle(const float a[4], const float b[4]) {
    double q[4];
    quaternion_between(a, b, q);
    return 2 * atan2(sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]), fabs(q[3]));
}

double pelt_rotation_chord(const float a[4], const float b[4]) {
    double q[4];
    quaternion_between(a, b, q);
    return 2 * sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
}

/* -- Blending ---------------------------------------------------------------------------------------------------- */

void pelt_joint_matrices(const pelt_skeleton *skeleton, const pelt_transform *locals, pelt_affine *globals,
                         pelt_affine *matrices) {
    /* Without a separate buffer the globals are stored in `matrices`: children need their parent's global, so the
       product with the inverse bind must wait until all are known. */
    pelt_affine *g = globals ? globals : matrices;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        pelt_affine local = pelt_affine_of(&locals[j]);
        int32_t parent = skeleton->parents[j];
        g[j] = parent < 0 ? local : pelt_affine_multiply(&g[parent], &local);
    }
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        pelt_affine bind;
        memcpy(bind.m, skeleton->inverse_bind[j], sizeof bind.m);
        matrices[j] = pelt_affine_multiply(&g[j], &bind);
    }
}

const pelt_affine *pelt_frame_matrices(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_clip *clip,
                                       uint32_t frame) {
    pelt_transform *locals = PELT_NEW(arena, skeleton->joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(arena, skeleton->joint_count, pelt_affine);
    if (!locals || !matrices) return NULL;
    pelt_clip_pose(clip, skeleton, frame, locals);
    pelt_joint_matrices(skeleton, locals, NULL, matrices);
    return matrices;
}

pelt_affine pelt_blend_matrix(const pelt_influences *in, size_t vertex, const pelt_affine *matrices) {
    pelt_affine blend = {{0}};
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        for (int k = 0; k < 12; k++) blend.m[k] += in->weights[i] * matrices[in->joints[i]].m[k];
    return blend;
}

void pelt_blend_mesh(const pelt_mesh *mesh, const pelt_affine *joint_matrices, double *out) {
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        pelt_affine blend = pelt_blend_matrix(&mesh->influences, v, joint_matrices);
        const float *p = mesh->positions + 3 * v;
        pelt_affine_point(&blend, (double[3]){p[0], p[1], p[2]}, out + 3 * v);
    }
}

double *pelt_blend_frame(pelt_arena *arena, const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame) {
    const pelt_mesh *mesh = &bundle->mesh;
    const pelt_affine *matrices = pelt_frame_matrices(arena, &bundle->skeleton, clip, frame);
    double *out = PELT_NEW(arena, 3 * (size_t)mesh->vertex_count, double);
    if (!out) return NULL;
    pelt_blend_mesh(mesh, matrices, out);
    for (size_t v = 0; v < mesh->vertex_count; v++)
        for (size_t i = 3 * v; mesh->influences.first[v] == mesh->influences.first[v + 1] && i < 3 * v + 3; i++)
            out[i] = mesh->positions[i];
    return out;
}

uint32_t pelt_joint_named(const pelt_skeleton *skeleton, const char *name, uint32_t likely) {
    if (likely < skeleton->joint_count && !strcmp(skeleton->names[likely], name)) return likely;
    uint32_t joint = 0;
    while (joint < skeleton->joint_count && strcmp(skeleton->names[joint], name)) joint++;
    return joint;
}
