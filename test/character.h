/* character.h: small handmade characters for tests: a skeleton, a tube around it, weights, clips. Everything is in one
   bundle's arena. */

#ifndef PELT_TEST_CHARACTER_H
#define PELT_TEST_CHARACTER_H

#include "test/definition.h"
#include "test/test.h"
#include "fit/fitting.h"

static const pelt_transform character_still = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};

static inline pelt_transform character_turn(double x, double y, double z, double degrees) {
    double half = degrees * acos(-1) / 360, s = sin(half) / sqrt(x * x + y * y + z * z);
    pelt_transform t = character_still;
    t.rotation[0] = (float)(s * x), t.rotation[1] = (float)(s * y), t.rotation[2] = (float)(s * z);
    t.rotation[3] = (float)cos(half);
    return t;
}

/* Methods by their usual names. */
static inline pelt_method method_named(const char *name) {
    int method = 0;
    while (method < PELT_METHOD_COUNT && strcmp(pelt_method_name((pelt_method)method), name)) method++;
    return (pelt_method)method;
}

static inline pelt_blend blend_named(const char *name) {
    int blend = 0;
    while (blend < PELT_BLEND_COUNT && strcmp(pelt_blend_name((pelt_blend)blend), name)) blend++;
    return (pelt_blend)blend;
}

/* An empty bundle with joints named "joint0", "joint1", ...; each is one unit above its parent, without rotation. */
static inline pelt_bundle *character_new(uint32_t joint_count, const int32_t *parents) {
    pelt_arena *arena = pelt_arena_new(0);
    assert_non_null(arena);
    pelt_bundle *bundle = PELT_NEW(arena, 1, pelt_bundle);
    bundle->arena = arena;
    bundle->path = "hand.glb";
    pelt_skeleton *s = &bundle->skeleton;
    s->joint_count = joint_count;
    s->names = PELT_NEW(arena, joint_count, const char *);
    s->parents = PELT_NEW(arena, joint_count, int32_t);
    s->rest = PELT_NEW(arena, joint_count, pelt_transform);
    s->inverse_bind = pelt_alloc(arena, joint_count, sizeof *s->inverse_bind);
    for (uint32_t j = 0; j < joint_count; j++) {
        s->names[j] = pelt_arena_format(arena, "joint%u", j);
        s->parents[j] = parents ? parents[j] : (int32_t)j - 1;
        s->rest[j] = character_still;
        if (s->parents[j] >= 0) s->rest[j].translation[1] = 1;
    }
    return bundle;
}

/* Inverse bind matrices from the rest pose. */
static inline void character_bind(pelt_bundle *bundle) {
    pelt_skeleton *s = &bundle->skeleton;
    pelt_affine *globals = PELT_NEW(bundle->arena, s->joint_count, pelt_affine);
    pelt_affine *unused = PELT_NEW(bundle->arena, s->joint_count, pelt_affine), inverse;
    pelt_joint_matrices(s, s->rest, globals, unused);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        assert_true(pelt_affine_invert(&globals[j], &inverse));
        memcpy(s->inverse_bind[j], inverse.m, sizeof inverse.m);
    }
}

/* A tube of 8 sides along y, from 0 to `height`, its triangles, and its outward normals. */
static inline void character_tube(pelt_bundle *bundle, uint32_t vertex_count, double radius, double height) {
    enum { SIDES = 8 };
    pelt_mesh *mesh = &bundle->mesh;
    uint32_t rings = (vertex_count + SIDES - 1) / SIDES;
    mesh->vertex_count = vertex_count, mesh->triangle_count = 0;
    mesh->positions = PELT_NEW(bundle->arena, 3 * (size_t)vertex_count, float);
    mesh->normals = PELT_NEW(bundle->arena, 3 * (size_t)vertex_count, float);
    mesh->triangles = PELT_NEW(bundle->arena, 6 * (size_t)vertex_count, uint32_t);
    for (uint32_t v = 0; v < vertex_count; v++) {
        double angle = 2 * acos(-1) * (v % SIDES) / SIDES, x = cos(angle), z = sin(angle);
        float *p = mesh->positions + 3 * (size_t)v, *n = mesh->normals + 3 * (size_t)v;
        p[0] = (float)(radius * x), p[2] = (float)(radius * z);
        p[1] = (float)(rings > 1 ? height * (v / SIDES) / (rings - 1) : 0);
        n[0] = (float)x, n[1] = 0, n[2] = (float)z;
        uint32_t side = v / SIDES * SIDES + (v + 1) % SIDES,
                 quad[] = {v, v + SIDES, side, side, v + SIDES, side + SIDES};
        if (v + SIDES >= vertex_count || side + SIDES >= vertex_count) continue;
        memcpy(mesh->triangles + 3 * (size_t)mesh->triangle_count, quad, sizeof quad);
        mesh->triangle_count += 2;
    }
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, vertex_count);
}

/* Tangents perpendicular to the normals, in random directions and of either handedness. */
static inline void character_random_tangents(pelt_bundle *bundle, uint64_t *seed) {
    pelt_mesh *mesh = &bundle->mesh;
    mesh->tangents = PELT_NEW(bundle->arena, 4 * (size_t)mesh->vertex_count, float);
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        const float *n = mesh->normals + 3 * v;
        double r[3], t[3], length = 0;
        for (int i = 0; i < 3; i++) r[i] = test_random(seed) - 0.5;
        for (int i = 0; i < 3; i++) t[i] = n[(i + 1) % 3] * r[(i + 2) % 3] - n[(i + 2) % 3] * r[(i + 1) % 3];
        for (int i = 0; i < 3; i++) length += t[i] * t[i];
        for (int i = 0; i < 3; i++) mesh->tangents[4 * v + (size_t)i] = (float)(t[i] / sqrt(length));
        mesh->tangents[4 * v + 3] = test_random(seed) < 0.5 ? -1 : 1;
    }
}

static inline void character_influences(pelt_bundle *bundle, uint32_t per_vertex) {
    pelt_mesh *mesh = &bundle->mesh;
    pelt_influences *in = &mesh->influences;
    in->first = PELT_NEW(bundle->arena, (size_t)mesh->vertex_count + 1, uint32_t);
    in->joints = PELT_NEW(bundle->arena, (size_t)mesh->vertex_count * per_vertex, uint32_t);
    in->weights = PELT_NEW(bundle->arena, (size_t)mesh->vertex_count * per_vertex, float);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) in->first[v + 1] = in->first[v] + per_vertex;
}

/* Different joints for every vertex, with random weights that sum to 1. */
static inline void character_random_weights(pelt_bundle *bundle, uint32_t per_vertex, uint64_t *seed) {
    uint32_t joint_count = bundle->skeleton.joint_count;
    character_influences(bundle, per_vertex);
    const pelt_influences *in = &bundle->mesh.influences;
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        uint32_t first = in->first[v], joint = (uint32_t)(test_random(seed) * joint_count);
        double sum = 0;
        for (uint32_t k = 0; k < per_vertex; k++) {
            in->joints[first + k] = (joint + k) % joint_count;
            sum += in->weights[first + k] = (float)(0.05 + test_random(seed));
        }
        for (uint32_t k = 0; k < per_vertex; k++) in->weights[first + k] = (float)(in->weights[first + k] / sum);
    }
}

/* For chains: a vertex at height y is on joint floor(y), blended with its neighbours over half a unit around a joint.
 */
static inline void character_chain_weights(pelt_bundle *bundle) {
    character_influences(bundle, 2);
    const pelt_influences *in = &bundle->mesh.influences;
    for (uint32_t v = 0; v < bundle->mesh.vertex_count; v++) {
        double y = bundle->mesh.positions[3 * (size_t)v + 1], joint = fmax(round(y), 1);
        uint32_t upper = (uint32_t)fmin(joint, bundle->skeleton.joint_count - 1), lower = upper ? upper - 1 : 0;
        double w = fmin(fmax(2 * (y - upper) + 0.5, 0), 1);
        in->joints[2 * (size_t)v] = lower, in->joints[2 * (size_t)v + 1] = upper;
        in->weights[2 * (size_t)v] = (float)(1 - w), in->weights[2 * (size_t)v + 1] = (float)w;
    }
}

/* A chain of joints in a tube with smooth weights: the usual subject. */
static inline pelt_bundle *character_chain(uint32_t joint_count, uint32_t vertex_count) {
    pelt_bundle *bundle = character_new(joint_count, NULL);
    character_bind(bundle);
    character_tube(bundle, vertex_count, 0.25, joint_count);
    character_chain_weights(bundle);
    return bundle;
}

static inline void character_free(pelt_bundle *bundle) {
    if (bundle) pelt_arena_free(bundle->arena);
}

/* Adds a clip to the bundle. */
static inline void character_own(pelt_bundle *bundle, const pelt_clip *clip) {
    const pelt_clip **clips = PELT_NEW(bundle->arena, (size_t)bundle->clip_count + 1, const pelt_clip *);
    for (uint32_t i = 0; i < bundle->clip_count; i++) clips[i] = bundle->clips[i];
    clips[bundle->clip_count++] = clip;
    bundle->clips = clips;
}

/* A clip from local transforms [frame][joint], with keys at 24 frames per second and without positions. */
static inline pelt_clip *character_clip(pelt_bundle *bundle, const char *name, uint32_t frame_count,
                                        const pelt_transform *locals) {
    uint32_t joints = bundle->skeleton.joint_count;
    pelt_clip *clip = PELT_NEW(bundle->arena, 1, pelt_clip);
    pelt_channel *channels = PELT_NEW(bundle->arena, 3 * (size_t)joints, pelt_channel);
    float *times = PELT_NEW(bundle->arena, frame_count, float);
    for (uint32_t f = 0; f < frame_count; f++) times[f] = (float)(f / 24.0);
    for (uint32_t c = 0; c < 3 * joints; c++) {
        size_t size = c % 3 == PELT_ROTATION ? 4 : 3;
        float *values = PELT_NEW(bundle->arena, frame_count * size, float);
        for (uint32_t f = 0; f < frame_count; f++) {
            const pelt_transform *t = &locals[(size_t)f * joints + c / 3];
            const float *from = c % 3 == PELT_ROTATION ? t->rotation : c % 3 == PELT_SCALE ? t->scale : t->translation;
            memcpy(values + f * size, from, size * sizeof *values);
        }
        channels[c] = (pelt_channel){c / 3, frame_count, (pelt_path)(c % 3), PELT_LINEAR, times, values};
    }
    *clip = (pelt_clip){.name = name,
                        .frame_count = frame_count,
                        .channel_count = 3 * joints,
                        .times = times,
                        .channels = channels,
                        .source = pelt_arena_format(bundle->arena, "hand.%s.pc2", name)};
    character_own(bundle, clip);
    return clip;
}

/* Gives a clip true positions: its own linear blend. Returns them, so that a test can modify them. */
static inline float *character_blend(pelt_bundle *bundle, pelt_clip *clip) {
    size_t n = 3 * (size_t)bundle->mesh.vertex_count;
    pelt_transform *locals = PELT_NEW(bundle->arena, bundle->skeleton.joint_count, pelt_transform);
    pelt_affine *matrices = PELT_NEW(bundle->arena, bundle->skeleton.joint_count, pelt_affine);
    double *blended = PELT_NEW(bundle->arena, n, double);
    float *positions = PELT_NEW(bundle->arena, n * clip->frame_count, float);
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        pelt_clip_pose(clip, &bundle->skeleton, f, locals);
        pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
        pelt_blend_mesh(&bundle->mesh, matrices, blended);
        for (size_t i = 0; i < n; i++) positions[n * f + i] = (float)blended[i];
    }
    clip->positions = positions;
    return positions;
}

/* The skin file of the mesh with its own weights, and its opened skin. */
static inline pelt_bytes *character_pack(const pelt_bundle *bundle, pelt_skin *skin) {
    pelt_model model = {.skeleton = &bundle->skeleton,
                        .vertex_count = bundle->mesh.vertex_count,
                        .positions = bundle->mesh.positions,
                        .normals = bundle->mesh.normals,
                        .tangents = bundle->mesh.tangents,
                        .influences = bundle->mesh.influences};
    pelt_error error = {0};
    pelt_bytes *bytes = pelt_model_pack(&model, "{\"made_by\":\"a test\"}", &error);
    if (!bytes) fail_msg("%s", error.text);
    if (skin) assert_int_equal(pelt_open(bytes->bytes, bytes->size, skin), PELT_OK);
    return bytes;
}

static inline void character_free_skin(pelt_bytes *bytes) {
    if (bytes) free(bytes->bytes);
    free(bytes);
}

#endif
