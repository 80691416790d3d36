/* gltf_scene.c: nodes and skins become one skeleton.

   Its joints are the joints of all skins in the scene, the nodes with unskinned meshes, and all their ancestors, in the
   file's node order as long as parents come first. A joint has one inverse bind matrix: a node that two skins bind
   differently gets a fixed child for the second one. A joint that no skin binds gets the inverse of its rest transform.
   */

#include "io/gltf.h"
#include <math.h>
#include <string.h>

/* -- Nodes ------------------------------------------------------------------------------------------------------- */

typedef struct shear {
    uint32_t count, first;
    double worst;
} shear;

static bool read_matrix(gltf *g, gltf_item matrix, uint32_t node, pelt_transform *local, shear *found) {
    double m[16], scale = 0;
    if (!pelt_gltf_numbers(g, matrix, 16, m)) return false;
    if (fabs(m[3]) + fabs(m[7]) + fabs(m[11]) + fabs(m[15] - 1) > 1e-4)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, matrix, "its last row must be 0 0 0 1");
    pelt_affine linear = {{0}};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            linear.m[4 * r + c] = m[4 * c + r];
            scale = fmax(scale, fabs(m[4 * c + r]));
        }
    double rest = pelt_affine_split(&linear, local);
    for (int i = 0; i < 3; i++) local->translation[i] = (float)m[12 + i];
    if (rest > 1e-4 * scale) {
        if (!found->count++) found->first = node;
        found->worst = fmax(found->worst, rest / scale);
    }
    return true;
}

static bool read_transform(gltf *g, gltf_item node, uint32_t index, pelt_transform *local, shear *found) {
    double r[4] = {0, 0, 0, 1}, t[3] = {0, 0, 0}, s[3] = {1, 1, 1};
    gltf_item matrix = pelt_gltf_member(node, "matrix");
    if (matrix.json) return read_matrix(g, matrix, index, local, found);
    if (!pelt_gltf_numbers(g, pelt_gltf_member(node, "rotation"), 4, r) ||
        !pelt_gltf_numbers(g, pelt_gltf_member(node, "translation"), 3, t) ||
        !pelt_gltf_numbers(g, pelt_gltf_member(node, "scale"), 3, s))
        return false;
    double length = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
    if (length == 0) r[3] = length = 1;
    if (fabs(length - 1) < 1e-6) length = 1; /* already unit length to float precision: keep the bits */
    for (int i = 0; i < 4; i++) local->rotation[i] = (float)(r[i] / length);
    for (int i = 0; i < 3; i++) local->translation[i] = (float)t[i], local->scale[i] = (float)s[i];
    return true;
}

static bool read_optional(gltf *g, gltf_item item, const char *list, int32_t *index) {
    uint32_t value;
    *index = -1;
    if (!item.json) return true;
    if (!pelt_gltf_reference(g, item, list, &value)) return false;
    *index = (int32_t)value;
    return true;
}

static bool read_children(gltf *g, gltf_scene *scene, uint32_t node) {
    gltf_item list = pelt_gltf_member(pelt_gltf_entry(g, "nodes", node), "children");
    uint32_t count, child;
    if (!pelt_gltf_length(g, list, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        gltf_item item = pelt_gltf_element(list, i);
        if (!pelt_gltf_reference(g, item, "nodes", &child)) return false;
        if (scene->parents[child] >= 0)
            return pelt_gltf_fail(g, PELT_ERROR_DATA, item, "node %u has two parents, nodes %d and %u", child,
                                  scene->parents[child], node);
        scene->parents[child] = (int32_t)node;
    }
    return true;
}

static bool read_nodes(gltf *g, gltf_scene *scene) {
    shear found = {0};
    if (!pelt_gltf_length(g, pelt_gltf_member(g->root, "nodes"), &scene->node_count)) return false;
    uint32_t n = scene->node_count;
    scene->parents = GLTF_NEW(g, g->scratch, int32_t, n);
    scene->meshes = GLTF_NEW(g, g->scratch, int32_t, n);
    scene->skins_of = GLTF_NEW(g, g->scratch, int32_t, n);
    scene->locals = GLTF_NEW(g, g->scratch, pelt_transform, n);
    scene->first_targets = GLTF_NEW(g, g->scratch, uint32_t, n);
    scene->target_counts = GLTF_NEW(g, g->scratch, uint32_t, n);
    if (g->error.code) return false;
    memset(scene->parents, -1, n * sizeof *scene->parents);
    for (uint32_t i = 0; i < n; i++) {
        gltf_item node = pelt_gltf_entry(g, "nodes", i);
        if (!json_is_object(node.json)) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, node, "must be an object");
        if (!read_transform(g, node, i, &scene->locals[i], &found) || !read_children(g, scene, i) ||
            !read_optional(g, pelt_gltf_member(node, "mesh"), "meshes", &scene->meshes[i]) ||
            !read_optional(g, pelt_gltf_member(node, "skin"), "skins", &scene->skins_of[i]))
            return false;
    }
    if (found.count)
        pelt_find(&g->bundle->notes, g->arena, PELT_WARNING, "shear",
                  "%u nodes have matrices with shear (%.2g of their scale), which is dropped; the first is nodes[%u]. "
                  "Give them translation, rotation and scale",
                  found.count, found.worst, found.first);
    return true;
}

/* Sorts all nodes parents first, by climbing from each node to the first ancestor already sorted. */
static bool order_nodes(gltf *g, gltf_scene *scene) {
    enum { UNSEEN, CLIMBED, PLACED };
    uint32_t n = scene->node_count, placed = 0;
    uint8_t *state = GLTF_NEW(g, g->scratch, uint8_t, n);
    uint32_t *climb = GLTF_NEW(g, g->scratch, uint32_t, n);
    scene->parents_first = GLTF_NEW(g, g->scratch, uint32_t, n);
    scene->globals = GLTF_NEW(g, g->scratch, pelt_affine, n);
    if (g->error.code) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t height = 0;
        int32_t node = (int32_t)i;
        for (; node >= 0 && state[node] == UNSEEN; node = scene->parents[node]) {
            state[node] = CLIMBED;
            climb[height++] = (uint32_t)node;
        }
        if (node >= 0 && state[node] == CLIMBED)
            return pelt_gltf_fail(g, PELT_ERROR_DATA, pelt_gltf_entry(g, "nodes", (size_t)node), "is its own ancestor");
        while (height) {
            uint32_t next = climb[--height];
            int32_t parent = scene->parents[next];
            pelt_affine local = pelt_affine_of(&scene->locals[next]);
            scene->globals[next] = parent < 0 ? local : pelt_affine_multiply(&scene->globals[parent], &local);
            state[next] = PLACED;
            scene->parents_first[placed++] = next;
        }
    }
    return true;
}

/* -- The scene ---------------------------------------------------------------------------------------------------- */

/* Pushes the nodes of a list so that the first is popped first. */
static bool push_nodes(gltf *g, gltf_item list, uint32_t *stack, uint32_t *height) {
    uint32_t count;
    if (!pelt_gltf_length(g, list, &count)) return false;
    for (uint32_t i = count; i-- > 0;)
        if (!pelt_gltf_reference(g, pelt_gltf_element(list, i), "nodes", &stack[(*height)++])) return false;
    return true;
}

/* Roots must be distinct and have no parents; then every node is visited once. */
static bool check_roots(gltf *g, const gltf_scene *scene, gltf_item roots) {
    uint32_t count, root;
    uint8_t *seen = GLTF_NEW(g, g->scratch, uint8_t, scene->node_count);
    if (!seen || !pelt_gltf_length(g, roots, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        gltf_item item = pelt_gltf_element(roots, i);
        if (!pelt_gltf_reference(g, item, "nodes", &root)) return false;
        if (scene->parents[root] >= 0 || seen[root])
            return pelt_gltf_fail(g, PELT_ERROR_DATA, item, "node %u %s", root,
                                  seen[root] ? "is listed twice" : "has a parent, so it cannot be a root of the scene");
        seen[root] = 1;
    }
    return true;
}

static bool find_mesh_nodes(gltf *g, gltf_scene *scene) {
    uint32_t scene_count, index = 0, height = 0;
    gltf_item chosen = pelt_gltf_member(g->root, "scene");
    if (!pelt_gltf_length(g, pelt_gltf_member(g->root, "scenes"), &scene_count)) return false;
    if (chosen.json && !pelt_gltf_reference(g, chosen, "scenes", &index)) return false;
    if (!scene_count)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, g->root, "has no scene; export the character in a scene");
    gltf_item roots = pelt_gltf_member(pelt_gltf_entry(g, "scenes", index), "nodes");
    uint32_t *stack = GLTF_NEW(g, g->scratch, uint32_t, scene->node_count);
    scene->mesh_nodes = GLTF_NEW(g, g->scratch, uint32_t, scene->node_count);
    if (!stack || !scene->mesh_nodes || !check_roots(g, scene, roots) || !push_nodes(g, roots, stack, &height))
        return false;
    while (height) {
        uint32_t node = stack[--height];
        if (scene->meshes[node] >= 0) scene->mesh_nodes[scene->mesh_node_count++] = node;
        if (!push_nodes(g, pelt_gltf_member(pelt_gltf_entry(g, "nodes", node), "children"), stack, &height))
            return false;
    }
    if (!scene->mesh_node_count) return pelt_gltf_fail(g, PELT_ERROR_DATA, g->root, "has no mesh in its scene");
    return true;
}

bool pelt_gltf_rigid_bind(const gltf_scene *scene, uint32_t node, pelt_affine *place, pelt_affine *bind) {
    bool invertible = pelt_affine_invert(&scene->globals[node], bind);
    *place = invertible ? scene->globals[node] : pelt_identity;
    return invertible;
}

/* -- Joints ------------------------------------------------------------------------------------------------------- */

typedef struct joint {
    uint32_t node;
    int32_t parent, next; /* next: another joint for the same node, or -1 */
    bool bound;
    pelt_affine inverse_bind;
} joint;

typedef struct joints {
    uint32_t count, capacity;
    joint *list;
} joints;

static void mark_with_ancestors(const gltf_scene *scene, uint8_t *needed, uint32_t node) {
    for (int32_t i = (int32_t)node; i >= 0 && !needed[i]; i = scene->parents[i]) needed[i] = 1;
}

static bool mark_skin(gltf *g, const gltf_scene *scene, uint32_t skin, uint8_t *needed, uint32_t *wishes) {
    gltf_item list = pelt_gltf_member(pelt_gltf_entry(g, "skins", skin), "joints");
    gltf_skin *s = &scene->skins[skin];
    uint32_t node;
    if (s->used) return true;
    s->used = true;
    if (!pelt_gltf_length(g, list, &s->joint_count)) return false;
    if (!s->joint_count) return pelt_gltf_fail(g, PELT_ERROR_DATA, list, "a skin must have joints");
    *wishes += s->joint_count;
    for (uint32_t i = 0; i < s->joint_count; i++) {
        if (!pelt_gltf_reference(g, pelt_gltf_element(list, i), "nodes", &node)) return false;
        mark_with_ancestors(scene, needed, node);
    }
    return true;
}

/* Numbers the nodes that are joints, and reserves room for joints bound more than once. */
static bool number_joints(gltf *g, gltf_scene *scene, joints *all) {
    uint8_t *needed = GLTF_NEW(g, g->scratch, uint8_t, scene->node_count);
    scene->joints = GLTF_NEW(g, g->scratch, int32_t, scene->node_count);
    if (!pelt_gltf_length(g, pelt_gltf_member(g->root, "skins"), &scene->skin_count)) return false;
    scene->skins = GLTF_NEW(g, g->scratch, gltf_skin, scene->skin_count);
    if (g->error.code) return false;
    for (uint32_t i = 0; i < scene->mesh_node_count; i++) {
        uint32_t node = scene->mesh_nodes[i];
        int32_t skin = scene->skins_of[node];
        if (skin < 0) {
            mark_with_ancestors(scene, needed, node);
            all->capacity++;
        } else if (!mark_skin(g, scene, (uint32_t)skin, needed, &all->capacity)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < scene->node_count; i++) all->capacity += needed[i];
    if (!(all->list = GLTF_NEW(g, g->scratch, joint, all->capacity))) return false;
    for (uint32_t i = 0; i < scene->node_count; i++) {
        uint32_t node = scene->parents_first[i];
        int32_t parent = scene->parents[node];
        scene->joints[node] = needed[node] ? (int32_t)all->count : -1;
        if (needed[node])
            all->list[all->count++] = (joint){node, parent < 0 ? -1 : scene->joints[parent], -1, false, {{0}}};
    }
    return true;
}

/* The joint of a node that has this inverse bind matrix. */
static uint32_t bind_joint(const gltf_scene *scene, joints *all, uint32_t node, const pelt_affine *inverse_bind) {
    int32_t first = scene->joints[node], last = first;
    for (int32_t j = first; j >= 0; j = all->list[j].next) {
        joint *candidate = &all->list[j];
        if (!candidate->bound) {
            candidate->bound = true;
            candidate->inverse_bind = *inverse_bind;
        }
        if (!memcmp(&candidate->inverse_bind, inverse_bind, sizeof *inverse_bind)) return (uint32_t)j;
        last = j;
    }
    uint32_t extra = all->count++;
    all->list[extra] = (joint){node, first, -1, true, *inverse_bind};
    all->list[last].next = (int32_t)extra;
    return extra;
}

static bool read_inverse_binds(gltf *g, gltf_item item, uint32_t count, float *matrices) {
    gltf_accessor a;
    if (!item.json) return true; /* identities */
    if (!pelt_gltf_accessor_open(g, item, "MAT4", &a)) return false;
    if (a.count < count) return pelt_gltf_fail(g, PELT_ERROR_DATA, item, "%u matrices for %u joints", a.count, count);
    float *all = GLTF_NEW(g, g->scratch, float, 16 * (size_t)a.count);
    if (!all || !pelt_gltf_accessor_floats(g, &a, all)) return false;
    memcpy(matrices, all, 16 * (size_t)count * sizeof *all);
    for (uint32_t i = 0; i < count; i++) {
        const float *m = matrices + 16 * (size_t)i;
        if (fabsf(m[3]) + fabsf(m[7]) + fabsf(m[11]) + fabsf(m[15] - 1) > 1e-4f)
            return pelt_gltf_fail(g, PELT_ERROR_DATA, item, "the last row of matrix %u must be 0 0 0 1", i);
    }
    return true;
}

static bool bind_skin(gltf *g, const gltf_scene *scene, joints *all, uint32_t index) {
    gltf_item item = pelt_gltf_entry(g, "skins", index), list = pelt_gltf_member(item, "joints");
    gltf_skin *skin = &scene->skins[index];
    float *matrices = GLTF_NEW(g, g->scratch, float, 16 * (size_t)skin->joint_count);
    skin->joints = GLTF_NEW(g, g->scratch, uint32_t, skin->joint_count);
    if (g->error.code) return false;
    for (size_t i = 0; i < 16 * (size_t)skin->joint_count; i++) matrices[i] = i % 16 % 5 == 0; /* identity */
    if (!read_inverse_binds(g, pelt_gltf_member(item, "inverseBindMatrices"), skin->joint_count, matrices))
        return false;
    for (uint32_t i = 0; i < skin->joint_count; i++) {
        uint32_t node = (uint32_t)json_number_value(json_array_get(list.json, i));
        pelt_affine bind;
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++) bind.m[4 * r + c] = matrices[16 * (size_t)i + 4 * c + r];
        skin->joints[i] = bind_joint(scene, all, node, &bind);
    }
    return true;
}

static bool bind_joints(gltf *g, gltf_scene *scene, joints *all) {
    uint32_t flat = 0;
    scene->rigid_joints = GLTF_NEW(g, g->scratch, int32_t, scene->node_count);
    if (!scene->rigid_joints) return false;
    for (uint32_t s = 0; s < scene->skin_count; s++)
        if (scene->skins[s].used && !bind_skin(g, scene, all, s)) return false;
    for (uint32_t i = 0; i < scene->mesh_node_count; i++) {
        uint32_t node = scene->mesh_nodes[i];
        pelt_affine place, bind;
        scene->rigid_joints[node] = -1;
        if (scene->skins_of[node] >= 0) continue;
        flat += !pelt_gltf_rigid_bind(scene, node, &place, &bind);
        scene->rigid_joints[node] = (int32_t)bind_joint(scene, all, node, &bind);
    }
    if (flat)
        pelt_find(&g->bundle->notes, g->arena, PELT_WARNING, "flat-node",
                  "%u unskinned meshes are scaled to zero in the rest pose; their rest positions are kept in local "
                  "space",
                  flat);
    for (uint32_t j = 0; j < all->count; j++)
        if (!all->list[j].bound) pelt_affine_invert(&scene->globals[all->list[j].node], &all->list[j].inverse_bind);
    return true;
}

/* -- Skeleton ----------------------------------------------------------------------------------------------------- */

static const char *joint_name(gltf *g, const gltf_scene *scene, const joints *all, uint32_t j) {
    uint32_t node = all->list[j].node;
    const char *name = pelt_gltf_text(pelt_gltf_member(pelt_gltf_entry(g, "nodes", node), "name"), NULL);
    bool extra = scene->joints[node] != (int32_t)j;
    char *text = name ? pelt_arena_format(g->arena, "%s%s", name, extra ? " (second bind)" : "")
                      : pelt_arena_format(g->arena, "node%u%s", node, extra ? " (second bind)" : "");
    if (!text) pelt_gltf_out_of_memory(g);
    return text;
}

static bool make_skeleton(gltf *g, gltf_scene *scene, const joints *all) {
    pelt_skeleton *skeleton = &g->bundle->skeleton;
    uint32_t n = skeleton->joint_count = all->count;
    scene->joint_nodes = GLTF_NEW(g, g->scratch, uint32_t, n);
    skeleton->names = GLTF_NEW(g, g->arena, const char *, n);
    skeleton->parents = GLTF_NEW(g, g->arena, int32_t, n);
    skeleton->rest = GLTF_NEW(g, g->arena, pelt_transform, n);
    skeleton->inverse_bind = pelt_gltf_alloc(g, g->arena, n, sizeof *skeleton->inverse_bind);
    if (g->error.code) return false;
    for (uint32_t j = 0; j < n; j++) {
        const joint *source = &all->list[j];
        bool extra = scene->joints[source->node] != (int32_t)j;
        scene->joint_nodes[j] = source->node;
        skeleton->parents[j] = source->parent;
        skeleton->rest[j] = scene->locals[source->node];
        if (extra) skeleton->rest[j] = (pelt_transform){{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
        memcpy(skeleton->inverse_bind[j], source->inverse_bind.m, sizeof source->inverse_bind.m);
        if (!(skeleton->names[j] = joint_name(g, scene, all, j))) return false;
    }
    return true;
}

bool pelt_gltf_read_scene(gltf *g, gltf_scene *scene) {
    joints all = {0};
    *scene = (gltf_scene){0};
    return read_nodes(g, scene) && order_nodes(g, scene) && find_mesh_nodes(g, scene) &&
           number_joints(g, scene, &all) && bind_joints(g, scene, &all) && make_skeleton(g, scene, &all);
}
