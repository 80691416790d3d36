/* bundle.c: a character and its clips from the caller's arrays, as if read from a file. Everything is checked and
   copied. Poses become channels with a key per frame, for the joint properties that leave their rest value. */

#include "rig/maths.h"
#include "rig/rig.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void pelt_bundle_free(pelt_bundle *bundle) {
    if (bundle) pelt_arena_free(bundle->arena);
}

/* -- Checks -------------------------------------------------------------------------------------------------------- */

enum { MOST_JOINTS = 65536, MOST_FRAMES = 1 << 24 }; /* limits of glTF indices and of times in floats */

static double quaternion_square(const float q[4]) {
    return (double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3];
}

/* What is wrong with a transform, or NULL. */
static const char *transform_problem(const pelt_transform *t) {
    if (pelt_first_not_finite(t->rotation, 4) < 4 || pelt_first_not_finite(t->translation, 3) < 3 ||
        pelt_first_not_finite(t->scale, 3) < 3)
        return "has a number that is not finite";
    return quaternion_square(t->rotation) > 0 ? NULL : "has the rotation 0 0 0 0; write the identity as 0 0 0 1";
}

static pelt_result check_counts(const pelt_character *c, const char *name, pelt_error *error) {
    if (!c->positions || !c->triangles || !c->parents || !c->rest || (c->control_count && !c->control_names))
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "%s: positions, triangles, parents, rest and the names of controls must be given", name);
    if (!c->vertex_count || !c->triangle_count || c->vertex_count > INT32_MAX || c->triangle_count > INT32_MAX)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: a mesh of %u vertices and %u triangles is not supported",
                         name, c->vertex_count, c->triangle_count);
    if (!c->joint_count || c->joint_count > MOST_JOINTS)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: has %u joints; a character has 1 to %d", name, c->joint_count,
                         MOST_JOINTS);
    if (!c->joints != !c->weights || !c->joints != !c->influences_per_vertex)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "%s: joints, weights and influences_per_vertex belong together; give all of them, or none",
                         name);
    if ((uint64_t)c->vertex_count * c->influences_per_vertex > UINT32_MAX)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: %u influences for each of %u vertices is too many", name,
                         c->influences_per_vertex, c->vertex_count);
    if (c->control_count > PELT_MOST_CONTROLS)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: has %u controls, but a character can have at most %d", name,
                         c->control_count, PELT_MOST_CONTROLS);
    return PELT_OK;
}

static pelt_result check_mesh(const pelt_character *c, const char *name, pelt_error *error) {
    size_t n = 3 * (size_t)c->vertex_count, bad = pelt_first_not_finite(c->positions, n);
    if (bad < n)
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the position of vertex %zu is not finite", name, bad / 3);
    if (c->normals && (bad = pelt_first_not_finite(c->normals, n)) < n)
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the normal of vertex %zu is not finite", name, bad / 3);
    n = 2 * (size_t)c->vertex_count;
    if (c->uvs && (bad = pelt_first_not_finite(c->uvs, n)) < n)
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the texture coordinates of vertex %zu are not finite", name,
                         bad / 2);
    n = 4 * (size_t)c->vertex_count;
    if (c->tangents && (bad = pelt_first_not_finite(c->tangents, n)) < n)
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the tangent of vertex %zu is not finite", name, bad / 4);
    for (size_t i = 0; i < 3 * (size_t)c->triangle_count; i++)
        if (c->triangles[i] >= c->vertex_count)
            return pelt_fail(error, PELT_ERROR_INDEX, "%s: triangle %zu has corner %u, but there are %u vertices", name,
                             i / 3, c->triangles[i], c->vertex_count);
    if (!isfinite((float)pelt_diagonal(c->positions, c->vertex_count)))
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: its mesh is too large for floats", name);
    return PELT_OK;
}

static pelt_result check_weights(const pelt_character *c, const char *name, pelt_error *error) {
    for (size_t i = 0, each = c->influences_per_vertex; c->joints && i < each * c->vertex_count; i++) {
        if (!isfinite(c->weights[i]) || c->weights[i] < 0)
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: vertex %zu has weight %g; weights must be 0 or more", name,
                             i / each, (double)c->weights[i]);
        if (c->weights[i] > 0 && c->joints[i] >= c->joint_count)
            return pelt_fail(error, PELT_ERROR_INDEX, "%s: vertex %zu follows joint %u, but there are %u joints", name,
                             i / each, c->joints[i], c->joint_count);
    }
    return PELT_OK;
}

static pelt_result check_skeleton(const pelt_character *c, const char *name, pelt_error *error) {
    for (uint32_t j = 0; j < c->joint_count; j++) {
        const char *problem = transform_problem(&c->rest[j]);
        if (problem) return pelt_fail(error, PELT_ERROR_NUMBER, "%s: joint %u at rest %s", name, j, problem);
        if (c->parents[j] < -1 || c->parents[j] >= (int64_t)j)
            return pelt_fail(error, PELT_ERROR_INDEX,
                             "%s: joint %u has parent %d; parents come before their children, and roots have -1", name,
                             j, c->parents[j]);
        if (c->inverse_bind && pelt_first_not_finite(c->inverse_bind + 12 * (size_t)j, 12) < 12)
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the inverse bind matrix of joint %u is not finite", name,
                             j);
    }
    return PELT_OK;
}

static pelt_result check_control_values(const float *values, size_t count, const pelt_controls *controls,
                                        const char *where, pelt_error *error) {
    for (size_t i = 0; values && i < count; i++)
        if (!(fabsf(values[i]) <= PELT_LARGEST_CONTROL))
            return pelt_fail(error, PELT_ERROR_NUMBER,
                             "%s: control \"%s\" is %g in frame %zu, which is not finite or too large", where,
                             controls->names[i % controls->count], (double)values[i], i / controls->count);
    return PELT_OK;
}

static pelt_result check_controls(const pelt_character *c, const char *name, pelt_error *error) {
    pelt_controls before = {.names = (const char **)c->control_names};
    for (; before.count < c->control_count; before.count++) {
        const char *control = c->control_names[before.count];
        if (!control || !*control)
            return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: control %u has no name", name, before.count);
        if (pelt_control_named(&before, control) < before.count)
            return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: two controls are called \"%s\"", name, control);
    }
    return check_control_values(c->control_rest, c->control_count, &before, name, error);
}

/* -- The character -------------------------------------------------------------------------------------------------- */

static void *copy(pelt_arena *arena, const void *from, size_t count, size_t size) {
    void *to = pelt_alloc(arena, count, size);
    if (to && count) memcpy(to, from, count * size);
    return to;
}

static void copy_mesh(pelt_arena *arena, const pelt_character *c, pelt_mesh *mesh) {
    size_t n = c->vertex_count, triangles = c->triangle_count;
    *mesh = (pelt_mesh){.vertex_count = c->vertex_count, .triangle_count = c->triangle_count};
    mesh->positions = copy(arena, c->positions, 3 * n, sizeof(float));
    mesh->triangles = copy(arena, c->triangles, 3 * triangles, sizeof(uint32_t));
    mesh->normals = PELT_NEW(arena, 3 * n, float);
    if (pelt_arena_failed(arena)) return;
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, c->vertex_count);
    if (!pelt_smooth_normals(mesh)) pelt_arena_fail(arena);
    for (size_t v = 0; c->normals && v < n; v++) pelt_unit_normal(c->normals + 3 * v, mesh->normals + 3 * v);
}

static void copy_tangents(pelt_arena *arena, const pelt_character *c, pelt_mesh *mesh) {
    size_t n = c->vertex_count;
    if (c->uvs) mesh->uvs = copy(arena, c->uvs, 2 * n, sizeof(float));
    if (!c->uvs && !c->tangents) return;
    mesh->tangents = PELT_NEW(arena, 4 * n, float);
    if (pelt_arena_failed(arena)) return;
    for (size_t v = 0; c->tangents && v < n; v++)
        pelt_unit_tangent(mesh->normals + 3 * v, c->tangents + 4 * v, mesh->tangents + 4 * v);
    if (c->tangents) return;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    pelt_mesh_tangents(work, mesh, mesh->tangents);
}

/* Appends the influences of a vertex, each joint once. */
static uint32_t copy_influences(const pelt_character *c, uint32_t v, pelt_influences *in) {
    uint32_t begin = in->first[v], end = begin;
    for (size_t i = (size_t)v * c->influences_per_vertex, k = 0; k < c->influences_per_vertex; i++, k++) {
        if (!(c->weights[i] > 0)) continue;
        uint32_t at = begin;
        while (at < end && in->joints[at] != c->joints[i]) at++;
        if (at == end) in->joints[end++] = c->joints[i];
        in->weights[at] += c->weights[i];
    }
    return end;
}

static pelt_result copy_weights(pelt_arena *arena, const pelt_character *c, const char *name, pelt_influences *in,
                                pelt_error *error) {
    size_t most = (size_t)c->vertex_count * c->influences_per_vertex;
    in->first = PELT_NEW(arena, (size_t)c->vertex_count + 1, uint32_t);
    in->joints = PELT_NEW(arena, most, uint32_t);
    in->weights = PELT_NEW(arena, most, float);
    if (pelt_arena_failed(arena)) return PELT_OK;
    for (uint32_t v = 0; c->joints && v < c->vertex_count; v++) {
        in->first[v + 1] = copy_influences(c, v, in);
        double sum = pelt_normalise_weights(in->weights + in->first[v], in->first[v + 1] - in->first[v]);
        if (!(sum > 0) || !isfinite(sum))
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s: the weights of vertex %u sum to %g; give it a joint to follow", name, v, sum);
    }
    return PELT_OK;
}

static void copy_skeleton(pelt_arena *arena, const pelt_character *c, pelt_skeleton *s) {
    uint32_t n = s->joint_count = c->joint_count;
    s->names = PELT_NEW(arena, n, const char *);
    s->parents = copy(arena, c->parents, n, sizeof *s->parents);
    s->rest = copy(arena, c->rest, n, sizeof *s->rest);
    s->inverse_bind = pelt_alloc(arena, n, sizeof *s->inverse_bind);
    for (uint32_t j = 0; j < n && !pelt_arena_failed(arena); j++) {
        const char *given = c->joint_names ? c->joint_names[j] : NULL;
        s->names[j] = given ? pelt_arena_format(arena, "%s", given) : pelt_arena_format(arena, "joint%u", j);
        double length = sqrt(quaternion_square(s->rest[j].rotation));
        for (int i = 0; i < 4 && fabs(length - 1) >= 1e-6; i++) /* else unit length to float precision: keep the bits */
            s->rest[j].rotation[i] = (float)(s->rest[j].rotation[i] / length);
        for (size_t i = 0; c->inverse_bind && i < 12; i++) s->inverse_bind[j][i] = c->inverse_bind[12 * (size_t)j + i];
    }
}

/* Without inverse bind matrices the mesh is bound in the rest pose. */
static pelt_result bind_at_rest(pelt_arena *arena, const char *name, pelt_skeleton *s, pelt_error *error) {
    pelt_affine *globals = PELT_NEW(arena, s->joint_count, pelt_affine), *unused;
    unused = PELT_NEW(arena, s->joint_count, pelt_affine);
    if (pelt_arena_failed(arena)) return PELT_OK;
    pelt_joint_matrices(s, s->rest, globals, unused);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        pelt_affine inverse;
        if (!pelt_affine_invert(&globals[j], &inverse))
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s: joint %u is scaled to zero at rest; give the inverse bind matrices", name, j);
        memcpy(s->inverse_bind[j], inverse.m, sizeof inverse.m);
    }
    return PELT_OK;
}

static void copy_controls(pelt_arena *arena, const pelt_character *c, pelt_controls *controls) {
    controls->count = c->control_count;
    controls->names = PELT_NEW(arena, c->control_count, const char *);
    controls->rest = c->control_rest ? copy(arena, c->control_rest, c->control_count, sizeof(float))
                                     : PELT_NEW(arena, c->control_count, float);
    for (uint32_t i = 0; i < c->control_count && !pelt_arena_failed(arena); i++)
        controls->names[i] = pelt_arena_format(arena, "%s", c->control_names[i]);
}

static pelt_result fill_bundle(pelt_bundle *bundle, const pelt_character *c, const char *name, pelt_error *error) {
    pelt_arena *arena = bundle->arena;
    bundle->path = pelt_arena_format(arena, "%s", name);
    bundle->in_memory = 1;
    copy_mesh(arena, c, &bundle->mesh);
    if (!pelt_arena_failed(arena)) copy_tangents(arena, c, &bundle->mesh);
    copy_skeleton(arena, c, &bundle->skeleton);
    copy_controls(arena, c, &bundle->controls);
    pelt_result result = copy_weights(arena, c, name, &bundle->mesh.influences, error);
    if (!result && !c->inverse_bind) result = bind_at_rest(arena, name, &bundle->skeleton, error);
    if (!result && !pelt_arena_failed(arena)) pelt_find_scene_diagonal(bundle);
    return pelt_arena_failed(arena) ? pelt_no_memory(error) : result;
}

pelt_bundle *pelt_bundle_new(const pelt_character *c, pelt_error *error) {
    if (pelt_check_given("character", c, error)) return NULL;
    const char *name = c->name ? c->name : "character";
    if (check_counts(c, name, error) || check_mesh(c, name, error) || check_skeleton(c, name, error) ||
        check_weights(c, name, error) || check_controls(c, name, error))
        return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_bundle *bundle = PELT_NEW(arena, 1, pelt_bundle);
    if (bundle) bundle->arena = arena;
    if (!(bundle ? fill_bundle(bundle, c, name, error) : pelt_no_memory(error))) return bundle;
    pelt_arena_free(arena);
    return NULL;
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

static pelt_result check_clip(const pelt_bundle *bundle, const pelt_clip_input *input, pelt_error *error) {
    const pelt_controls *controls = &bundle->controls;
    size_t joints = bundle->skeleton.joint_count, frames = input->frame_count;
    size_t row = 3 * (size_t)bundle->mesh.vertex_count;
    char where[200];
    if (!input->name || !*input->name) return pelt_fail(error, PELT_ERROR_ARGUMENT, "a clip must have a name");
    snprintf(where, sizeof where, "clip %.150s", input->name);
    for (uint32_t i = 0; i < bundle->clip_count; i++)
        if (!strcmp(bundle->clips[i]->name, input->name))
            return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: there already is a clip of this name", where);
    if (!frames || frames > MOST_FRAMES || !input->poses)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "%s: has %zu frames and %s poses; a clip has 1 to %d frames, each with a pose", where, frames,
                         input->poses ? "their" : "no", MOST_FRAMES);
    double rate = input->frames_per_second;
    if (rate != 0 && !(rate >= 1e-3 && rate <= 1e4))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: has %g frames per second; use 0.001 to 10000", where, rate);
    for (size_t i = 0; i < frames * joints; i++) {
        const char *problem = transform_problem(&input->poses[i]);
        if (problem)
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: joint \"%s\" in frame %zu %s", where,
                             bundle->skeleton.names[i % joints], i / joints, problem);
    }
    size_t bad = input->positions ? pelt_first_not_finite(input->positions, frames * row) : frames * row;
    if (bad < frames * row)
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the position of vertex %zu in frame %zu is not finite", where,
                         bad % row / 3, bad / row);
    if (input->normals && !input->positions)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: has true normals but no true positions", where);
    bad = input->normals ? pelt_first_not_finite(input->normals, frames * row) : frames * row;
    if (bad < frames * row)
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the normal of vertex %zu in frame %zu is not finite", where,
                         bad % row / 3, bad / row);
    return check_control_values(input->controls, frames * controls->count, controls, where, error);
}

static const float *copy_normals(pelt_arena *arena, const float *from, size_t count) {
    float *to = PELT_NEW(arena, 3 * count, float);
    for (size_t i = 0; to && i < count; i++) pelt_unit_normal(from + 3 * i, to + 3 * i);
    return to;
}

static const float *part_of(const pelt_transform *t, pelt_path path) {
    return path == PELT_ROTATION ? t->rotation : path == PELT_TRANSLATION ? t->translation : t->scale;
}

/* One property of one joint over all frames; no channel if it stays at rest. */
static void add_channel(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_clip_input *input, uint32_t joint,
                        pelt_path path, pelt_clip *clip) {
    size_t size = path == PELT_ROTATION ? 4 : 3, frame = 0;
    const pelt_transform *pose = input->poses + joint;
    const float *rest = part_of(&skeleton->rest[joint], path);
    while (frame < input->frame_count &&
           !memcmp(part_of(&pose[frame * skeleton->joint_count], path), rest, size * sizeof *rest))
        frame++;
    float *values = frame < input->frame_count ? PELT_NEW(arena, size * input->frame_count, float) : NULL;
    if (!values) return;
    for (frame = 0; frame < input->frame_count; frame++)
        memcpy(values + size * frame, part_of(&pose[frame * skeleton->joint_count], path), size * sizeof *values);
    ((pelt_channel *)clip->channels)[clip->channel_count++] =
        (pelt_channel){joint, input->frame_count, path, PELT_LINEAR, clip->times, values};
}

const pelt_clip *pelt_bundle_add_clip(pelt_bundle *bundle, const pelt_clip_input *input, pelt_error *error) {
    if (PELT_MISSING(bundle, error) || PELT_MISSING(input, error) || check_clip(bundle, input, error)) return NULL;
    const pelt_skeleton *skeleton = &bundle->skeleton;
    size_t frames = input->frame_count;
    /* A separate arena: a caller's data is not bounded by the size of the file that the bundle may come from. */
    pelt_arena *arena = pelt_arena_inside(bundle->arena);
    pelt_clip *clip = PELT_NEW(arena, 1, pelt_clip);
    const pelt_clip **clips = PELT_NEW(arena, (size_t)bundle->clip_count + 1, const pelt_clip *);
    pelt_channel *channels = PELT_NEW(arena, 3 * (size_t)skeleton->joint_count, pelt_channel);
    float *times = PELT_NEW(arena, frames, float);
    if (!pelt_arena_failed(arena)) {
        *clip = (pelt_clip){.frame_count = input->frame_count, .times = times, .channels = channels};
        clip->name = pelt_arena_format(arena, "%s", input->name);
        clip->source = pelt_arena_format(arena, "%s, clip %s", bundle->path ? bundle->path : "memory", input->name);
        double rate = input->frames_per_second > 0 ? input->frames_per_second : 30;
        for (size_t f = 0; f < frames; f++) times[f] = (float)((double)f / rate);
        for (uint32_t j = 0; j < skeleton->joint_count; j++)
            for (int path = PELT_TRANSLATION; path <= PELT_SCALE; path++)
                add_channel(arena, skeleton, input, j, (pelt_path)path, clip);
        if (input->positions)
            clip->positions = copy(arena, input->positions, frames * bundle->mesh.vertex_count, 3 * sizeof(float));
        if (input->normals) clip->normals = copy_normals(arena, input->normals, frames * bundle->mesh.vertex_count);
        if (input->controls && bundle->controls.count)
            clip->controls = copy(arena, input->controls, frames * bundle->controls.count, sizeof(float));
    }
    if (pelt_arena_failed(arena)) return pelt_no_memory(error), NULL;
    if (bundle->clip_count) memcpy(clips, bundle->clips, bundle->clip_count * sizeof(*clips));
    clips[bundle->clip_count] = clip;
    bundle->clips = clips;
    bundle->clip_count++;
    return clip;
}

/* -- Examples ------------------------------------------------------------------------------------------------------ */

bool pelt_is_own_clip(const pelt_bundle *bundle, const pelt_clip *clip) {
    for (uint32_t i = 0; i < bundle->clip_count; i++)
        if (bundle->clips[i] == clip) return true;
    return false;
}

pelt_result pelt_check_examples(const pelt_bundle *bundle, pelt_examples examples, bool truth, pelt_error *error) {
    const pelt_clip *known = NULL;
    if (examples.count && !examples.list)
        return pelt_fail_option(error, "examples", "the count is %zu, but the list is NULL", examples.count);
    for (size_t i = 0; i < examples.count; i++) {
        const pelt_clip *clip = examples.list[i].clip;
        if (!clip) return pelt_fail_option(error, "examples", "clip %zu is NULL", i);
        if (clip != known && !pelt_is_own_clip(bundle, clip))
            return pelt_fail(
                error, PELT_ERROR_DATA,
                "example %zu is from a clip that %s does not have; take examples from the bundle's own clips", i,
                bundle->path ? bundle->path : "this bundle");
        known = clip;
        if (truth && !clip->positions)
            return pelt_fail(error, PELT_ERROR_DATA,
                             "clip \"%s\" has no true positions, so it can be played but not used as examples",
                             clip->name);
        if (examples.list[i].frame >= clip->frame_count)
            return pelt_fail(error, PELT_ERROR_INDEX, "example %zu is frame %u of clip \"%s\", which has %u", i,
                             examples.list[i].frame, clip->name, clip->frame_count);
    }
    return PELT_OK;
}
