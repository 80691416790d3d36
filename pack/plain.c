/* plain.c: a skin as plain nodes, weights and tracks.

   A driven joint becomes a node whose motion is written down frame by frame. Nodes can turn, move, and scale along
   their own axes, so a node gets a frame F in which its motion is just that: the axes of the model at the joint's place
   for rotations; for bulges an axis along the direction of the bulge, where scaling across the bone is exact. With F^-1
   as its inverse bind matrix, the node is at T F; it hangs under the joint that it moves least against. */

#include "pack/plain.h"
#include <math.h>
#include <string.h>

typedef struct making {
    pelt_arena *arena;
    const pelt_model *model;
    const pelt_bundle *bundle;
    pelt_plain *plain;
    pelt_affine *frames;         /* [driven] F */
    pelt_transform *locals;      /* [bundle joint] a pose */
    pelt_transform *skin_locals; /* [joint] the same for the skin's joints */
    pelt_affine *globals, *matrices;
    uint32_t *joint_of; /* [bundle joint] joint of the skin, UINT32_MAX: none */
} making;

/* -- Nodes --------------------------------------------------------------------------------------------------------- */

static pelt_affine frame_of(const pelt_driven *d) {
    pelt_affine f = pelt_identity;
    for (int i = 0; i < 3; i++) f.m[4 * i + 3] = d->origin[i];
    if (d->kind != PELT_DRIVEN_BULGE && d->kind != PELT_DRIVEN_DENT) return f;
    double a[3] = {d->axis[0], d->axis[1], d->axis[2]}, b[3], length = 0;
    int least = fabs(a[1]) < fabs(a[0]) ? 1 : 0;
    if (fabs(a[2]) < fabs(a[least])) least = 2;
    for (int i = 0; i < 3; i++) b[i] = (i == least) - a[least] * a[i], length += b[i] * b[i];
    for (int i = 0; i < 3; i++) b[i] /= sqrt(length);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        f.m[4 * i] = a[i], f.m[4 * i + 1] = b[i], f.m[4 * i + 2] = a[j] * b[k] - a[k] * b[j];
    }
    return f;
}

/* The node's transform under its parent in the pose that `globals` and `matrices` hold. */
static pelt_transform node_transform(making *m, uint32_t driven) {
    uint32_t joints = m->model->skeleton->joint_count;
    int32_t parent = m->plain->skeleton.parents[joints + driven];
    pelt_affine node = pelt_affine_multiply(&m->matrices[joints + driven], &m->frames[driven]), inverse;
    pelt_transform out;
    if (parent >= 0 && pelt_affine_invert(&m->globals[parent], &inverse)) node = pelt_affine_multiply(&inverse, &node);
    double shear = pelt_affine_split(&node, &out);
    m->plain->worst = fmax(m->plain->worst, shear);
    return out;
}

static void pose(making *m, const pelt_transform *locals) {
    pelt_joint_matrices(m->model->skeleton, locals, m->globals, m->matrices);
    pelt_driven_matrices(m->model, m->matrices);
}

static pelt_result make_skeleton(making *m, pelt_error *error) {
    const pelt_skeleton *from = m->model->skeleton;
    pelt_skeleton *to = &m->plain->skeleton;
    uint32_t joints = from->joint_count, n = joints + m->model->driven_count;
    *to = (pelt_skeleton){.joint_count = n,
                          .names = PELT_NEW(m->arena, n, const char *),
                          .parents = PELT_NEW(m->arena, n, int32_t),
                          .rest = PELT_NEW(m->arena, n, pelt_transform),
                          .inverse_bind = pelt_alloc(m->arena, n, sizeof *to->inverse_bind)};
    m->frames = PELT_NEW(m->arena, m->model->driven_count, pelt_affine);
    m->globals = PELT_NEW(m->arena, n, pelt_affine);
    m->matrices = PELT_NEW(m->arena, n, pelt_affine);
    if (pelt_arena_failed(m->arena)) return pelt_no_memory(error);
    memcpy(to->names, from->names, joints * sizeof *to->names);
    memcpy(to->parents, from->parents, joints * sizeof *to->parents);
    memcpy(to->rest, from->rest, joints * sizeof *to->rest);
    memcpy(to->inverse_bind, from->inverse_bind, joints * sizeof *to->inverse_bind);
    pose(m, from->rest);
    for (uint32_t i = 0; i < m->model->driven_count; i++) {
        const pelt_driven *d = &m->model->driven[i];
        bool bulges = d->kind == PELT_DRIVEN_BULGE || d->kind == PELT_DRIVEN_DENT;
        pelt_affine inverse;
        m->frames[i] = frame_of(d);
        pelt_affine_invert(&m->frames[i], &inverse);
        memcpy(to->inverse_bind[joints + i], inverse.m, sizeof inverse.m);
        to->names[joints + i] = m->model->driven_names[i];
        to->parents[joints + i] = bulges ? (int32_t)d->host : d->parent;
        to->rest[joints + i] = node_transform(m, i);
    }
    return PELT_OK;
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

static void match_joints(making *m) {
    const pelt_skeleton *skin = m->model->skeleton, *bundle = &m->bundle->skeleton;
    for (uint32_t j = 0; j < bundle->joint_count; j++) {
        m->joint_of[j] = UINT32_MAX;
        for (uint32_t k = 0; k < skin->joint_count && m->joint_of[j] == UINT32_MAX; k++)
            if (!strcmp(skin->names[k], bundle->names[j])) m->joint_of[j] = k;
    }
}

/* Keys of one property of the nodes: [driven][frame][size]. */
static float *keys_of(float *all, uint32_t driven, uint32_t frames, size_t size) {
    return all + (size_t)driven * frames * size;
}

/* The transforms of all nodes in all frames; a quaternion is the one of two that is nearer to the one before. */
static void bake(making *m, const pelt_clip *clip, float *values[3]) {
    const pelt_skeleton *bundle = &m->bundle->skeleton;
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_clip_pose(clip, bundle, f, m->locals);
        for (uint32_t j = 0; j < bundle->joint_count; j++)
            if (m->joint_of[j] != UINT32_MAX) m->skin_locals[m->joint_of[j]] = m->locals[j];
        pose(m, m->skin_locals);
        for (uint32_t i = 0; i < m->model->driven_count; i++) {
            pelt_transform t = node_transform(m, i);
            float *q = keys_of(values[PELT_ROTATION], i, clip->frame_count, 4) + 4 * (size_t)f, turn = 0;
            for (int c = 0; c < 4; c++) turn += f ? t.rotation[c] * q[c - 4] : 0;
            for (int c = 0; c < 4; c++) q[c] = turn < 0 ? -t.rotation[c] : t.rotation[c];
            memcpy(keys_of(values[PELT_TRANSLATION], i, clip->frame_count, 3) + 3 * (size_t)f, t.translation,
                   sizeof t.translation);
            memcpy(keys_of(values[PELT_SCALE], i, clip->frame_count, 3) + 3 * (size_t)f, t.scale, sizeof t.scale);
        }
    }
}

/* True when all keys are what the node is at rest. */
static bool is_still(const float *keys, const float *rest, uint32_t frames, size_t size, float tolerance) {
    for (size_t i = 0; i < frames * size; i++)
        if (!(fabsf(keys[i] - rest[i % size]) <= tolerance)) return false;
    return true;
}

static pelt_result make_clip(making *m, const pelt_clip *from, pelt_clip *to, pelt_error *error) {
    uint32_t nodes = m->model->driven_count, joints = m->model->skeleton->joint_count;
    size_t frames = from->frame_count;
    pelt_channel *channels = PELT_NEW(m->arena, (size_t)from->channel_count + 3 * (size_t)nodes, pelt_channel);
    float *values[3] = {PELT_NEW(m->arena, nodes * frames * 3, float), PELT_NEW(m->arena, nodes * frames * 4, float),
                        PELT_NEW(m->arena, nodes * frames * 3, float)};
    if (pelt_arena_failed(m->arena)) return pelt_no_memory(error);
    *to = *from;
    to->channels = channels, to->channel_count = 0;
    bool steps = from->channel_count > 0;
    for (uint32_t c = 0; c < from->channel_count; c++) {
        pelt_channel channel = from->channels[c];
        steps &= channel.interpolation == PELT_STEP;
        channel.joint = m->joint_of[channel.joint];
        if (channel.joint != UINT32_MAX) channels[to->channel_count++] = channel;
    }
    bake(m, from, values);
    for (uint32_t i = 0; i < nodes; i++)
        for (int path = 0; path < 3; path++) {
            const pelt_transform *rest = &m->plain->skeleton.rest[joints + i];
            const float *still[] = {rest->translation, rest->rotation, rest->scale};
            size_t size = path == PELT_ROTATION ? 4 : 3;
            const float *keys = keys_of(values[path], i, from->frame_count, size);
            float tolerance = path == PELT_TRANSLATION ? 1e-7f * m->bundle->mesh.diagonal : 1e-7f;
            if (is_still(keys, still[path], from->frame_count, size, tolerance)) continue;
            channels[to->channel_count++] = (pelt_channel){.joint = joints + i,
                                                           .key_count = from->frame_count,
                                                           .path = (pelt_path)path,
                                                           .interpolation = steps ? PELT_STEP : PELT_LINEAR,
                                                           .times = from->times,
                                                           .values = keys};
        }
    return PELT_OK;
}

/* -- Everything ---------------------------------------------------------------------------------------------------- */

static pelt_result check_weights(const pelt_model *model, pelt_error *error) {
    uint32_t count = 0, first = 0;
    float least = 0;
    for (uint32_t v = model->vertex_count; v-- > 0;) {
        bool negative = false;
        for (uint32_t i = model->influences.first[v]; i < model->influences.first[v + 1]; i++) {
            negative |= model->influences.weights[i] < 0;
            least = fminf(least, model->influences.weights[i]);
        }
        if (negative) count++, first = v;
    }
    if (!count) return PELT_OK;
    pelt_fail(
        error, PELT_ERROR_UNSUPPORTED,
        "%u vertices have negative weights (as low as %.3g; the first is vertex %u), which glTF forbids: refit them "
        "without, on the same joints",
        count, (double)least, first);
    return pelt_advise(error, "convex", 0);
}

pelt_result pelt_plain_make(pelt_arena *arena, const pelt_model *model, const pelt_bundle *bundle,
                            const pelt_clip *const *clips, size_t clip_count, pelt_plain *plain, pelt_error *error) {
    making m = {.arena = arena, .model = model, .bundle = bundle, .plain = plain};
    *plain = (pelt_plain){.mesh = bundle->mesh};
    pelt_result result = check_weights(model, error);
    if (result) return result;
    if (model->vertex_count != bundle->mesh.vertex_count)
        return pelt_fail(error, PELT_ERROR_DATA, "the skin has %u vertices, but the mesh in %s has %u",
                         model->vertex_count, bundle->path, bundle->mesh.vertex_count);
    if ((result = pelt_check_mesh(model->mesh_hash, bundle, error))) return result;
    plain->mesh.influences = model->influences;
    plain->mesh.target_count = 0;
    plain->mesh.positions = PELT_NEW(arena, 3 * (size_t)model->vertex_count, float);
    plain->mesh.normals = PELT_NEW(arena, 3 * (size_t)model->vertex_count, float);
    plain->clips = PELT_NEW(arena, clip_count, const pelt_clip *);
    m.locals = PELT_NEW(arena, bundle->skeleton.joint_count, pelt_transform);
    m.skin_locals = PELT_NEW(arena, model->skeleton->joint_count, pelt_transform);
    m.joint_of = PELT_NEW(arena, bundle->skeleton.joint_count, uint32_t);
    result = pelt_arena_failed(arena) ? pelt_no_memory(error) : make_skeleton(&m, error);
    if (result) return result;
    memcpy(plain->mesh.positions, model->positions, 3 * (size_t)model->vertex_count * sizeof(float));
    memcpy(plain->mesh.normals, model->normals, 3 * (size_t)model->vertex_count * sizeof(float));
    memcpy(m.skin_locals, model->skeleton->rest, model->skeleton->joint_count * sizeof *m.skin_locals);
    match_joints(&m);
    for (size_t c = 0; c < clip_count && !result; c++) {
        pelt_clip *clip = PELT_NEW(arena, 1, pelt_clip);
        result = clip ? make_clip(&m, clips[c], clip, error) : pelt_no_memory(error);
        plain->clips[plain->clip_count++] = clip;
    }
    return result;
}
