/* samples.c: the names of the samples, and how a recipe becomes a bundle: mesh, skeleton, weights, clips, truth. */

#include "samples/samples.h"
#include "samples/build.h"
#include <math.h>
#include <string.h>

enum { LEAST_VERTICES = 100, MOST_VERTICES = 4000000, MOST_INFLUENCES = 4 };

static const uint64_t most_bytes = (uint64_t)4 << 30; /* of true positions */

static const sample_recipe *const recipes[] = {&sample_box,   &sample_elbow,    &sample_arm, &sample_biceps,
                                               &sample_wrist, &sample_humanoid, &sample_hand};
const char *const pelt_sample_names[] = {"box", "elbow", "arm", "biceps", "wrist", "humanoid", NULL};

double sample_uniform(sample_random *random, double low, double high) {
    uint64_t x = random->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return low + (high - low) * (double)(x >> 11) * 0x1p-53;
}

/* -- Weights ------------------------------------------------------------------------------------------------------- */

void sample_bone_weights(const sample_joint *joints, uint32_t joint_count, const double place[3], double falloff,
                         double *weights) {
    double nearest = INFINITY;
    for (uint32_t j = 0; j < joint_count; j++) {
        double t;
        weights[j] = sample_segment_distance(joints[j].head, joints[j].tail, place, &t);
        nearest = fmin(nearest, weights[j]);
    }
    for (uint32_t j = 0; j < joint_count; j++) weights[j] = pow(fmax(0, 1 - (weights[j] - nearest) / falloff), 2);
}

/* Moves the largest weights to the front of order[]; returns how many of them to keep. */
static uint32_t largest_weights(const double *weights, uint32_t joint_count, uint32_t order[SAMPLE_JOINTS]) {
    uint32_t kept = 0;
    for (uint32_t j = 0; j < joint_count; j++) order[j] = j;
    for (; kept < MOST_INFLUENCES && kept < joint_count; kept++) {
        uint32_t best = kept;
        for (uint32_t j = kept + 1; j < joint_count; j++)
            if (weights[order[j]] > weights[order[best]]) best = j;
        uint32_t swapped = order[kept];
        order[kept] = order[best];
        order[best] = swapped;
        if (!(weights[order[kept]] > 1e-9 * weights[order[0]])) break;
    }
    return kept;
}

static void weigh_mesh(pelt_arena *arena, const sample_recipe *recipe, const sample_joint *joints, uint32_t joint_count,
                       pelt_mesh *mesh) {
    pelt_influences *in = &mesh->influences;
    size_t most = (size_t)MOST_INFLUENCES * mesh->vertex_count;
    in->first = PELT_NEW(arena, (size_t)mesh->vertex_count + 1, uint32_t);
    in->joints = PELT_NEW(arena, most, uint32_t);
    in->weights = PELT_NEW(arena, most, float);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        const float *p = mesh->positions + 3 * (size_t)v;
        double weights[SAMPLE_JOINTS], sum = 0;
        uint32_t order[SAMPLE_JOINTS], begin = in->first[v];
        recipe->weights(joints, joint_count, (double[3]){p[0], p[1], p[2]}, weights);
        uint32_t kept = largest_weights(weights, joint_count, order);
        for (uint32_t k = 0; k < kept; k++) sum += weights[order[k]];
        for (uint32_t k = 0; k < kept; k++) {
            in->joints[begin + k] = order[k];
            in->weights[begin + k] = (float)(weights[order[k]] / sum);
        }
        in->first[v + 1] = begin + kept;
    }
}

/* -- Mesh and skeleton --------------------------------------------------------------------------------------------- */

static void make_mesh(pelt_arena *arena, const sample_recipe *recipe, uint32_t vertex_count, pelt_mesh *mesh) {
    mesh->vertex_count = vertex_count;
    mesh->positions = PELT_NEW(arena, 3 * (size_t)vertex_count, float);
    mesh->normals = PELT_NEW(arena, 3 * (size_t)vertex_count, float);
    mesh->triangles = PELT_NEW(arena, 6 * (size_t)vertex_count, uint32_t); /* a closed surface has fewer than 2n */
    mesh->triangle_count = 2 * vertex_count - 4;
    recipe->mesh(arena, mesh);
    vertex_count = mesh->vertex_count;
    pelt_mesh_normals(mesh->positions, vertex_count, mesh->triangles, mesh->triangle_count, mesh->normals);
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, vertex_count);
}

static void make_skeleton(pelt_arena *arena, const sample_recipe *recipe, const sample_joint *joints,
                          pelt_skeleton *skeleton) {
    uint32_t n = skeleton->joint_count;
    skeleton->names = PELT_NEW(arena, n, const char *);
    skeleton->parents = PELT_NEW(arena, n, int32_t);
    skeleton->rest = PELT_NEW(arena, n, pelt_transform);
    skeleton->inverse_bind = pelt_alloc(arena, n, sizeof *skeleton->inverse_bind);
    pelt_affine *globals = PELT_NEW(arena, n, pelt_affine);
    for (uint32_t j = 0; j < n; j++) {
        int32_t parent = joints[j].parent;
        pelt_transform *rest = &skeleton->rest[j];
        pelt_affine inverse = pelt_identity;
        double head[3];
        skeleton->names[j] = pelt_arena_format(arena, "%s", joints[j].name);
        if (parent >= 0) pelt_affine_invert(&globals[parent], &inverse);
        pelt_affine_point(&inverse, joints[j].head, head);
        *rest = (pelt_transform){{0, 0, 0, 1}, {(float)head[0], (float)head[1], (float)head[2]}, {1, 1, 1}};
        if (parent < 0)
            for (int i = 0; i < 4; i++) rest->rotation[i] = (float)recipe->root_rotation[i];
        skeleton->parents[j] = parent;
        globals[j] = pelt_affine_of(rest);
        if (parent >= 0) globals[j] = pelt_affine_multiply(&globals[parent], &globals[j]);
        pelt_affine_invert(&globals[j], &inverse);
        memcpy(skeleton->inverse_bind[j], inverse.m, sizeof inverse.m);
    }
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

/* The rotations of all frames: [frame_count][joint_count][4], relative to the parent; and the values of the control. */
static float *pose_frames(pelt_arena *arena, const sample_recipe *recipe, const pelt_skeleton *skeleton, bool training,
                          uint32_t frame_count, uint32_t seed, float *controls) {
    uint32_t n = skeleton->joint_count;
    float *out = PELT_NEW(arena, 4 * (size_t)n * frame_count, float);
    sample_random random = {seed * (uint64_t)2 + training};
    for (uint32_t f = 0; f < frame_count; f++) {
        double rotations[SAMPLE_JOINTS][4] = {{0}};
        for (uint32_t j = 0; j < n; j++) rotations[j][3] = 1;
        sample_moment moment = {training, f, frame_count};
        recipe->pose(&moment, &random, rotations);
        if (controls) controls[f] = (float)recipe->control_value(&moment, &random);
        for (uint32_t j = 0; j < n; j++) {
            double rest[4], turned[4];
            for (int i = 0; i < 4; i++) rest[i] = skeleton->rest[j].rotation[i];
            pelt_quaternion_multiply(rest, rotations[j], turned);
            for (int i = 0; i < 4; i++) out[4 * ((size_t)f * n + j) + (size_t)i] = (float)turned[i];
        }
    }
    return out;
}

static bool joint_moves(const pelt_skeleton *skeleton, const float *rotations, uint32_t frame_count, uint32_t joint) {
    for (uint32_t f = 0; f < frame_count; f++) {
        const float *rotation = rotations + 4 * ((size_t)f * skeleton->joint_count + joint);
        if (memcmp(rotation, skeleton->rest[joint].rotation, 4 * sizeof(float))) return true;
    }
    return false;
}

/* One channel per moving joint, with a key per frame. */
static void make_channels(pelt_arena *arena, const pelt_skeleton *skeleton, const float *rotations, bool training,
                          pelt_clip *clip) {
    uint32_t n = skeleton->joint_count;
    float *times = PELT_NEW(arena, clip->frame_count, float);
    pelt_channel *channels = PELT_NEW(arena, n, pelt_channel);
    for (uint32_t f = 0; f < clip->frame_count; f++) times[f] = (float)(f / 30.0);
    for (uint32_t j = 0; j < n; j++) {
        if (!joint_moves(skeleton, rotations, clip->frame_count, j)) continue;
        float *values = PELT_NEW(arena, 4 * (size_t)clip->frame_count, float);
        for (size_t f = 0; f < clip->frame_count; f++)
            memcpy(values + 4 * f, rotations + 4 * (f * n + j), 4 * sizeof(float));
        channels[clip->channel_count++] =
            (pelt_channel){j, clip->frame_count, PELT_ROTATION, training ? PELT_STEP : PELT_LINEAR, times, values};
    }
    clip->times = times;
    clip->channels = channels;
}

typedef struct truth_job {
    const sample_recipe *recipe;
    const pelt_bundle *bundle;
    const pelt_clip *clip;
    float *positions;
} truth_job;

static void true_frame(void *user, size_t frame, pelt_arena *scratch) {
    const truth_job *job = user;
    const pelt_mesh *mesh = &job->bundle->mesh;
    size_t size = 3 * (size_t)mesh->vertex_count;
    float *out = job->positions + size * frame;
    pelt_transform locals[SAMPLE_JOINTS];
    pelt_clip_pose(job->clip, &job->bundle->skeleton, (uint32_t)frame, locals);
    if (job->recipe->truth) {
        job->recipe->truth(mesh, locals, job->clip->controls ? job->clip->controls[frame] : 0, out);
        return;
    }
    pelt_affine matrices[SAMPLE_JOINTS];
    double *blended = PELT_NEW(scratch, size, double);
    pelt_joint_matrices(&job->bundle->skeleton, locals, NULL, matrices);
    pelt_blend_mesh(mesh, matrices, blended);
    for (size_t i = 0; i < size; i++) out[i] = (float)blended[i];
}

static const pelt_clip *make_clip(pelt_bundle *bundle, const sample_recipe *recipe, bool training, uint32_t frame_count,
                                  uint32_t seed) {
    pelt_arena *arena = bundle->arena;
    pelt_clip *clip = PELT_NEW(arena, 1, pelt_clip);
    *clip = (pelt_clip){.name = training ? "train" : "test", .frame_count = frame_count, .source = recipe->name};
    float *controls = recipe->control ? PELT_NEW(arena, frame_count, float) : NULL;
    float *rotations = pose_frames(arena, recipe, &bundle->skeleton, training, frame_count, seed, controls);
    make_channels(arena, &bundle->skeleton, rotations, training, clip);
    clip->controls = controls;
    truth_job job = {recipe, bundle, clip, PELT_NEW(arena, 3 * (size_t)bundle->mesh.vertex_count * frame_count, float)};
    pelt_parallel(arena, 0, frame_count, true_frame, &job);
    clip->positions = job.positions;
    return clip;
}

/* -- Bundles ------------------------------------------------------------------------------------------------------- */

typedef struct order {
    const sample_recipe *recipe;
    const char *variant;
    uint32_t vertices, frames[2], seed;
    pelt_bundle *bundle;
} order;

/* A stage: all memory comes from the bundle's arena. */
static pelt_result make_bundle(void *user, pelt_error *error) {
    const order *o = user;
    const sample_recipe *recipe = o->recipe;
    pelt_bundle *bundle = o->bundle;
    pelt_arena *arena = bundle->arena;
    sample_joint joints[SAMPLE_JOINTS] = {0};
    bundle->skeleton.joint_count = recipe->skeleton(joints);
    bundle->path = pelt_arena_format(arena, "%s.glb", recipe->name);
    bundle->in_memory = 1;
    make_skeleton(arena, recipe, joints, &bundle->skeleton);
    make_mesh(arena, recipe, o->vertices, &bundle->mesh);
    if (o->variant && !sample_split(arena, o->variant, &bundle->mesh))
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "%s: there is no such variant; choose seam, mirror, split, flat or edges", o->variant);
    weigh_mesh(arena, recipe, joints, bundle->skeleton.joint_count, &bundle->mesh);
    if (recipe->control) {
        bundle->controls = (pelt_controls){1, PELT_NEW(arena, 1, const char *), PELT_NEW(arena, 1, float)};
        bundle->controls.names[0] = recipe->control;
    }
    bundle->clips = PELT_NEW(arena, 2, const pelt_clip *);
    for (; bundle->clip_count < 2; bundle->clip_count++) {
        uint32_t c = bundle->clip_count;
        bundle->clips[c] = make_clip(bundle, recipe, c == 0, o->frames[c], o->seed);
    }
    return PELT_OK;
}

static const sample_recipe *find_recipe(const char *name, pelt_error *error) {
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (name && !strcmp(name, recipes[i]->name)) return recipes[i];
    pelt_fail(error, PELT_ERROR_ARGUMENT,
              "%s: there is no such sample; choose box, elbow, arm, biceps, wrist, humanoid, hand or face",
              name ? name : "(none)");
    return NULL;
}

pelt_bundle *pelt_sample_make(const pelt_sample_options *options, pelt_error *error) {
    const sample_recipe *recipe = find_recipe(options->name, error);
    if (!recipe) return NULL;
    uint32_t vertices = options->vertices ? options->vertices : recipe->vertices;
    uint32_t frames[2] = {options->frames ? options->frames : recipe->train_frames,
                          options->frames ? options->frames : recipe->test_frames};
    uint32_t least = recipe->least_vertices ? recipe->least_vertices : LEAST_VERTICES;
    uint32_t most = recipe->most_vertices ? recipe->most_vertices : MOST_VERTICES;
    if (vertices < least || vertices > most) {
        pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: %u vertices were requested, but it can have %u to %u", recipe->name,
                  vertices, least, most);
        return NULL;
    }
    uint64_t split = options->variant ? 6 : 1; /* triangle corners per vertex of a closed mesh */
    if (options->frames > SAMPLE_MOST_FRAMES || 12 * split * vertices * (frames[0] + frames[1]) > most_bytes) {
        pelt_fail(error, PELT_ERROR_ARGUMENT,
                  "%s: %u vertices in %u + %u frames exceed the limits of a sample (%d frames, 4 GiB); use fewer",
                  recipe->name, vertices, frames[0], frames[1], SAMPLE_MOST_FRAMES);
        return NULL;
    }
    pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *bundle = PELT_NEW(arena, 1, pelt_bundle);
    if (bundle) bundle->arena = arena;
    order o = {recipe, options->variant, vertices, {frames[0], frames[1]}, options->seed, bundle};
    pelt_result result = pelt_stage(arena, make_bundle, &o, error);
    if (result) {
        if (result == PELT_ERROR_MEMORY)
            pelt_fail(error, PELT_ERROR_MEMORY, "%s: not enough memory for %u vertices in %u + %u frames; use fewer",
                      recipe->name, vertices, frames[0], frames[1]);
        pelt_arena_free(arena);
        return NULL;
    }
    return bundle;
}
