/* gltf_write.c: mesh, skeleton and clips as a glTF file that any engine plays.

   Node j is joint j, all nodes are joints of one skin, and the skinned mesh is a separate node at the root of the
   scene; so reading the file gives back what was written. Joints without a common ancestor get one, as glTF requires.
   Without a skeleton the file is a plain mesh; its targets can be played in turn, which shows any motion in any viewer.

   Content that has a source is written into that file instead (gltf_edit.c). What glTF cannot hold is refused first, in
   either case. */

#include "io/gltf_out.h"
#include "rig/json.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* -- Mesh ---------------------------------------------------------------------------------------------------------- */

static void write_targets(gltf_output *out, json_t *mesh_object, json_t *primitive) {
    const pelt_mesh *mesh = out->content->mesh;
    const pelt_target *normals = out->content->target_normals;
    if (!mesh->target_count) return;
    json_t *targets = pelt_gltf_set(out, primitive, "targets", json_array());
    json_t *weights = pelt_gltf_set(out, mesh_object, "weights", json_array());
    json_t *extras = pelt_gltf_set(out, mesh_object, "extras", json_object());
    json_t *names = pelt_gltf_set(out, extras, "targetNames", json_array());
    for (uint32_t t = 0; t < mesh->target_count; t++) {
        pelt_gltf_add_target(out, &mesh->targets[t], normals ? &normals[t] : NULL, mesh->vertex_count, targets);
        pelt_gltf_append(out, names, pelt_json_text(mesh->targets[t].name));
        pelt_gltf_append(out, weights, json_real(0));
    }
}

static void write_mesh(gltf_output *out) {
    const pelt_gltf_content *content = out->content;
    const pelt_mesh *mesh = content->mesh;
    json_t *meshes = pelt_gltf_set(out, out->root, "meshes", json_array());
    json_t *object = pelt_gltf_append(
        out, meshes, json_pack("{s:o}", "name", pelt_json_text(content->name ? content->name : "skin")));
    json_t *primitives = pelt_gltf_set(out, object, "primitives", json_array());
    json_t *primitive = pelt_gltf_append(out, primitives, json_object());
    json_t *attributes = pelt_gltf_set(out, primitive, "attributes", json_object());
    pelt_gltf_set(out, primitive, "material", json_integer(0));
    int positions = pelt_gltf_add_positions(out, mesh->positions, mesh->vertex_count);
    pelt_gltf_set(out, attributes, "POSITION", json_integer(positions));
    int normals = pelt_gltf_add_normals(out, mesh->normals, mesh->vertex_count);
    pelt_gltf_set(out, attributes, "NORMAL", json_integer(normals));
    if (content->skeleton)
        pelt_gltf_add_weights(out, &mesh->influences, 0, mesh->vertex_count, NULL, content->skeleton->joint_count,
                              attributes);
    int indices = pelt_gltf_add_array(out, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(uint32_t),
                                      GLTF_INDEX_VIEW, GLTF_UINT, "SCALAR", 3 * mesh->triangle_count);
    pelt_gltf_set(out, primitive, "indices", json_integer(indices));
    const float *c = content->color;
    bool plain = c[0] == 0 && c[1] == 0 && c[2] == 0 && c[3] == 0;
    pelt_gltf_set(out, out->root, "materials",
                  json_pack("[{s:s, s:{s:[f,f,f,f], s:f, s:f}}]", "name", "skin", "pbrMetallicRoughness",
                            "baseColorFactor", plain ? 0.8 : (double)c[0], plain ? 0.55 : (double)c[1],
                            plain ? 0.42 : (double)c[2], plain ? 1.0 : (double)c[3], "metallicFactor", 0.0,
                            "roughnessFactor", 0.7));
    write_targets(out, object, primitive);
}

/* -- Skeleton ------------------------------------------------------------------------------------------------------ */

/* Nodes of the joints, and a common root if they have none. */
static void write_joint_nodes(gltf_output *out, json_t *scene_nodes) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    static const pelt_transform none = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    uint32_t n = skeleton->joint_count, roots = 0;
    json_t *common = NULL;
    for (uint32_t j = 0; j < n; j++) {
        pelt_gltf_add_node(out, skeleton->names[j], &skeleton->rest[j]);
        roots += skeleton->parents[j] < 0;
    }
    if (roots > 1) {
        common = json_array_get(out->nodes, (size_t)pelt_gltf_add_node(out, "root", &none));
        pelt_gltf_append(out, scene_nodes, json_integer(n));
    }
    for (uint32_t j = 0; j < n; j++) {
        int32_t parent = skeleton->parents[j];
        if (parent >= 0)
            pelt_gltf_append_child(out, json_array_get(out->nodes, (size_t)parent), j);
        else if (common)
            pelt_gltf_append_child(out, common, j);
        else
            pelt_gltf_append(out, scene_nodes, json_integer(j));
    }
}

static void write_nodes(gltf_output *out) {
    pelt_gltf_set(out, out->root, "scene", json_integer(0));
    json_t *scenes = pelt_gltf_set(out, out->root, "scenes", json_array());
    json_t *scene = pelt_gltf_append(out, scenes, json_object());
    json_t *scene_nodes = pelt_gltf_set(out, scene, "nodes", json_array());
    if (out->content->skeleton) write_joint_nodes(out, scene_nodes);
    pelt_gltf_append(out, scene_nodes, json_integer((json_int_t)json_array_size(out->nodes)));
    json_t *mesh = pelt_gltf_append(out, out->nodes, json_pack("{s:s, s:i}", "name", "mesh", "mesh", 0));
    if (out->content->skeleton) pelt_gltf_set(out, mesh, "skin", json_integer(0));
}

static void write_skin(gltf_output *out) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    json_t *skins = pelt_gltf_set(out, out->root, "skins", json_array());
    json_t *skin = pelt_gltf_append(out, skins, json_object());
    json_t *joints = pelt_gltf_set(out, skin, "joints", json_array());
    for (uint32_t j = 0; j < skeleton->joint_count; j++) pelt_gltf_append(out, joints, json_integer(j));
    int binds = pelt_gltf_add_binds(out, (const double(*)[12])skeleton->inverse_bind, skeleton->joint_count);
    pelt_gltf_set(out, skin, "inverseBindMatrices", json_integer(binds));
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

/* The mesh comes after the joints and their common root, if any. */
static int mesh_node(const gltf_output *out) {
    const pelt_skeleton *skeleton = out->content->skeleton;
    uint32_t roots = 0;
    for (uint32_t j = 0; skeleton && j < skeleton->joint_count; j++) roots += skeleton->parents[j] < 0;
    return skeleton ? (int)(skeleton->joint_count + (roots > 1)) : 0;
}

/* Target weights at each frame of a clip, alongside the joints' motion. */
static void write_clip_weights(gltf_output *out, const pelt_clip *clip, const float *weights, json_t *animation) {
    size_t count = (size_t)clip->frame_count * out->content->mesh->target_count;
    bool step = clip->channel_count && clip->channels[0].interpolation == PELT_STEP;
    int times = pelt_gltf_add_times(out, clip->times, clip->frame_count);
    int values = pelt_gltf_add_array(out, weights, count * sizeof *weights, 0, GLTF_FLOAT, "SCALAR", (uint32_t)count);
    pelt_gltf_add_channel(out, animation, mesh_node(out), "weights", times, values, step ? "STEP" : "LINEAR");
}

static void write_clip(gltf_output *out, const pelt_clip *clip, const float *weights, json_t *animations) {
    json_t *animation = pelt_gltf_append(out, animations, json_pack("{s:o}", "name", pelt_json_text(clip->name)));
    int *inputs = PELT_NEW(out->arena, clip->channel_count, int);
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        const pelt_channel *channel = &clip->channels[i];
        uint32_t twin = 0;
        while (twin < i &&
               (clip->channels[twin].times != channel->times || clip->channels[twin].key_count != channel->key_count))
            twin++;
        inputs[i] = twin < i ? inputs[twin] : pelt_gltf_add_times(out, channel->times, channel->key_count);
        int values = pelt_gltf_add_channel_values(out, channel);
        pelt_gltf_add_channel(out, animation, (int)channel->joint, pelt_gltf_paths[channel->path], inputs[i], values,
                              pelt_gltf_interpolations[channel->interpolation]);
    }
    if (weights) write_clip_weights(out, clip, weights, animation);
}

/* An animation that shows target i at time i of a clip: weights step from one target to the next. */
static void write_play(gltf_output *out, json_t *animations) {
    const pelt_clip *clip = out->content->play_targets;
    size_t n = out->content->mesh->target_count;
    float *weights = PELT_NEW(out->arena, n * n, float);
    for (size_t i = 0; i < n; i++) weights[i * n + i] = 1;
    json_t *animation = pelt_gltf_append(out, animations, json_pack("{s:o}", "name", pelt_json_text(clip->name)));
    int times = pelt_gltf_add_times(out, clip->times, (uint32_t)n);
    int values = pelt_gltf_add_array(out, weights, n * n * sizeof *weights, 0, GLTF_FLOAT, "SCALAR", (uint32_t)(n * n));
    pelt_gltf_add_channel(out, animation, 0, "weights", times, values, "STEP");
}

/* glTF has no empty animations: clips that move nothing are left out. */
static void write_clips(gltf_output *out) {
    const pelt_gltf_content *content = out->content;
    json_t *animations = pelt_gltf_set(out, out->root, "animations", json_array());
    if (content->play_targets) write_play(out, animations);
    for (uint32_t i = 0; i < content->clip_count; i++)
        if (content->clips[i]->channel_count || content->clip_weights)
            write_clip(out, content->clips[i], content->clip_weights ? content->clip_weights[i] : NULL, animations);
    if (!json_array_size(animations)) json_object_del(out->root, "animations");
}

/* -- What glTF cannot hold ----------------------------------------------------------------------------------------- */

static pelt_result check_weights(const char *path, const pelt_mesh *mesh, pelt_error *error) {
    const pelt_influences *in = &mesh->influences;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        double sum = 0;
        float least = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            sum += in->weights[i];
            least = fminf(least, in->weights[i]);
        }
        if (least < 0 || !(sum > 0) || !isfinite(sum))
            return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                             "%s: glTF cannot hold the weights of vertex %u: they %s; fit with non-negative weights",
                             path, v, least < 0 ? "include a negative one" : "do not sum to 1");
    }
    return PELT_OK;
}

static pelt_result check_times(const char *path, const pelt_clip *clip, float first, pelt_error *error) {
    if (!(first < 0)) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: clip %s starts at %g s, but glTF has no negative times", path,
                     clip->name, (double)first);
}

static pelt_result check_clip(const char *path, const pelt_clip *clip, pelt_error *error) {
    pelt_result result = clip->frame_count ? check_times(path, clip, clip->times[0], error) : PELT_OK;
    for (uint32_t i = 0; i < clip->channel_count && !result; i++)
        result = check_times(path, clip, clip->channels[i].times[0], error);
    return result;
}

/* By extension; anything but a regular file (/dev/stdout) gets a .glb. */
static pelt_result check_name(const char *path, pelt_error *error) {
    struct stat status;
    if (pelt_is_gltf(path)) return PELT_OK;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: has no glTF extension; use .glb, or .gltf for JSON with a .bin",
                     path);
}

static pelt_result check_content(const char *path, const pelt_gltf_content *content, pelt_error *error) {
    const pelt_mesh *mesh = content->mesh;
    const char *problem = NULL;
    pelt_result result = check_name(path, error);
    if (result) return result;
    if (!mesh->triangle_count || !mesh->vertex_count)
        problem = "the mesh has no triangles";
    else if (mesh->triangle_count > UINT32_MAX / 3)
        problem = "the mesh has too many triangles";
    else if (content->play_targets && (content->skeleton || content->play_targets->frame_count != mesh->target_count))
        problem = "playing targets needs a mesh without a skeleton and one target per frame";
    else if (content->embed && !content->source)
        problem = "a skin can only be embedded in an existing file";
    else if (content->skeleton && !content->skeleton->joint_count)
        problem = "the skeleton has no joints";
    else if (content->skeleton && content->skeleton->joint_count > 65536)
        problem = "glTF can bind to 65536 joints at most";
    if (problem) return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: cannot be written: %s", path, problem);
    if (pelt_first_not_finite(mesh->positions, 3 * (size_t)mesh->vertex_count) < 3 * (size_t)mesh->vertex_count)
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: cannot be written: a vertex position is not finite", path);
    for (uint32_t t = 0; t < mesh->target_count; t++) {
        const pelt_target *target = &mesh->targets[t], *normals = content->target_normals;
        if (pelt_first_not_finite(target->deltas, 3 * (size_t)target->count) < 3 * (size_t)target->count ||
            (normals &&
             pelt_first_not_finite(normals[t].deltas, 3 * (size_t)normals[t].count) < 3 * (size_t)normals[t].count))
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: cannot be written: the target %s is not finite", path,
                             target->name);
    }
    result = content->skeleton ? check_weights(path, mesh, error) : PELT_OK;
    for (uint32_t i = 0; i < content->clip_count && !result; i++) result = check_clip(path, content->clips[i], error);
    if (!result && content->play_targets) result = check_clip(path, content->play_targets, error);
    return result;
}

/* -- All ----------------------------------------------------------------------------------------------------------- */

static pelt_result make_tree(void *user, pelt_error *error) {
    (void)error;
    gltf_output *out = user;
    pelt_gltf_set(out, out->root, "asset",
                  json_pack("{s:s, s:s}", "version", "2.0", "generator", "pelt " PELT_VERSION));
    out->nodes = pelt_gltf_set(out, out->root, "nodes", json_array());
    out->accessors = pelt_gltf_set(out, out->root, "accessors", json_array());
    out->views = pelt_gltf_set(out, out->root, "bufferViews", json_array());
    pelt_gltf_set(out, out->root, "buffers", json_pack("[{}]"));
    write_mesh(out);
    if (out->content->skeleton) write_skin(out);
    write_clips(out);
    write_nodes(out);
    return PELT_OK;
}

static pelt_result write_new(const char *path, const pelt_gltf_content *content, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    gltf_output out = {.path = path, .content = content, .arena = arena, .root = json_object()};
    pelt_result result = pelt_stage(arena, make_tree, &out, error);
    if (!result) result = pelt_gltf_write_file(&out, error);
    json_decref(out.root);
    return result;
}

pelt_result pelt_gltf_write(const char *path, const pelt_gltf_content *content, pelt_error *error) {
    pelt_result result = check_content(path, content, error);
    if (result) return result;
    if (!content->source) return write_new(path, content, error);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    result = pelt_file_read(arena, content->source, &file, error);
    return result ? result : pelt_gltf_rewrite(path, content, &file, content->source, error);
}
