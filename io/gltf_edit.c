/* gltf_edit.c: a glTF file with another skin.

   The file is read and checked like any other, and its tree is changed where the content differs from it: a primitive
   gets new positions, normals or weights, a skin more joints, a mesh more targets. Everything else stays as it is, in
   order, and so do the indices that other files and programs may rely on.

   Vertices of an unskinned mesh are in the space of its node, and stay there: with v' = G v the rest vertex in the
   scene, p = G^-1 p', d = G^-1 d', and normals transform by the transpose of G's matrix. If such a mesh now follows
   several joints, it gets its own skin, with inverse binds B_j G; its look at rest and its place in the tree do not
   change.

   three.js plays no target weights on a node that is a joint, and older versions play them on all meshes below a node.
   So if a node with new targets is a joint, or has other meshes with targets below it, its mesh moves to a new node,
   the first child of the old one. */

#include "io/gltf_out.h"
#include "rig/json.h"
#include "rig/maths.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NONE = -1 };

/* A skin that gets joints. */
typedef struct skin_edit {
    bool begun;
    uint32_t *slot_of; /* [joint of the content] index in the skin; UINT32_MAX: not in it */
    uint32_t before;   /* joints of the file */
    uint32_t count;
    uint32_t *added;   /* [count - before] joints of the content */
    uint32_t *rebound; /* [before] joint of the content whose bind replaces the file's; UINT32_MAX: none */
} skin_edit;

/* A node with a mesh that changes. */
typedef struct node_edit {
    uint32_t node, begin, end; /* its parts */
    uint32_t first, last;      /* its vertices */
    pelt_affine place, bind;
    bool moved;            /* place is not the identity */
    bool skinned;          /* has a skin in the file */
    bool reweighted;       /* the weights of some part change */
    bool changed;          /* the positions or normals of some part change */
    gltf_morphed *morphed; /* NULL: gets no targets */
    json_t *mesh;
    skin_edit *skin;
} node_edit;

typedef struct edit {
    gltf_editing base;
    const pelt_gltf_content *content;
    const pelt_mesh *mesh, *file_mesh;
    uint32_t *twin_of;    /* [joint of the content] joint of the file with the same bind, UINT32_MAX: none */
    uint32_t *mesh_users; /* [meshes] number of nodes that show it */
    bool *branch;         /* [nodes] is a joint of a skin, or some mesh below has targets */
    skin_edit *skins;     /* [skins of the file] */
    int32_t common_root;  /* a node added above all joints; NONE: not needed */
} edit;

/* -- Joints and nodes ------------------------------------------------------------------------------------------------ */

static bool same_bind(const double *a, const double *b) {
    for (int i = 0; i < 12; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-6 * (1 + fabs(b[i])))) return false;
    return true;
}

/* Joints are matched to the file's by name; among several of one name, by index. Driven joints are new, also where the
   file has nodes of their names: another export, say. */
static void match_joints(edit *e) {
    gltf_editing *b = &e->base;
    const pelt_skeleton *skeleton = e->content->skeleton, *file = &b->g->bundle->skeleton;
    uint32_t known = e->content->embed_joints ? e->content->embed_joints : skeleton->joint_count;
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        uint32_t found = j < known ? pelt_joint_named(file, skeleton->names[j], j) : file->joint_count;
        b->joint_of[j] = e->twin_of[j] = UINT32_MAX;
        if (found == file->joint_count) continue;
        b->joint_of[j] = found;
        b->node_of[j] = b->scene.joint_nodes[found];
        if (same_bind(skeleton->inverse_bind[j], file->inverse_bind[found])) e->twin_of[j] = found;
    }
}

/* glTF requires a common ancestor of all joints of a skin: new joints without a parent get one together with the roots
   of the others, in every scene that contains those. */
static void add_common_root(edit *e, const uint32_t *roots, uint32_t root_count) {
    static const pelt_transform none = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    gltf_editing *b = &e->base;
    gltf_output *out = b->out;
    uint32_t common = (uint32_t)pelt_gltf_add_node(out, "root", &none);
    e->common_root = (int32_t)common;
    json_t *node = json_array_get(out->nodes, common), *scenes = json_object_get(out->root, "scenes");
    for (uint32_t i = 0; i < b->scene.node_count; i++)
        if (b->scene.parents[i] < 0 && b->scene.joints[i] >= 0) pelt_gltf_append_child(out, node, i);
    for (uint32_t i = 0; i < root_count; i++) pelt_gltf_append_child(out, node, roots[i]);
    for (size_t s = 0; s < json_array_size(scenes); s++) {
        json_t *list = json_object_get(json_array_get(scenes, s), "nodes");
        bool taken = false;
        for (size_t i = json_array_size(list); i-- > 0;) {
            size_t root;
            if (!pelt_gltf_is_index(json_array_get(list, i), b->scene.node_count, &root)) continue;
            if (b->scene.joints[root] < 0) continue;
            if (json_array_remove(list, i)) pelt_arena_fail(out->arena);
            taken = true;
        }
        if (taken) pelt_gltf_append(out, list, json_integer(common));
    }
}

static void add_nodes(edit *e) {
    gltf_editing *b = &e->base;
    const pelt_skeleton *skeleton = e->content->skeleton;
    uint32_t *roots = PELT_NEW(b->out->arena, skeleton->joint_count, uint32_t), root_count = 0;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (b->joint_of[j] == UINT32_MAX)
            b->node_of[j] = (uint32_t)pelt_gltf_add_node(b->out, skeleton->names[j], &skeleton->rest[j]);
    for (uint32_t j = 0; j < skeleton->joint_count; j++) {
        if (b->joint_of[j] != UINT32_MAX) continue;
        int32_t parent = skeleton->parents[j];
        if (parent >= 0)
            pelt_gltf_append_child(b->out, json_array_get(b->out->nodes, b->node_of[parent]), b->node_of[j]);
        else
            roots[root_count++] = b->node_of[j];
    }
    if (root_count) add_common_root(e, roots, root_count);
}

/* -- Skins ----------------------------------------------------------------------------------------------------------- */

static bool weights_differ(const edit *e, uint32_t first, uint32_t count);

/* True if no primitive keeps the weights that refer to a skin of the file. */
static bool is_left(const edit *e, int32_t skin) {
    const gltf_editing *b = &e->base;
    for (uint32_t node = 0; node < b->scene.node_count; node++) {
        if (b->scene.skins_of[node] != skin || b->scene.meshes[node] < 0) continue;
        const json_t *mesh = json_array_get(json_object_get(b->out->root, "meshes"), (size_t)b->scene.meshes[node]);
        size_t changed = 0;
        for (uint32_t i = 0; i < b->parts.count; i++)
            changed +=
                b->parts.list[i].node == node && weights_differ(e, b->parts.list[i].first, b->parts.list[i].count);
        if (changed != json_array_size(json_object_get(mesh, "primitives"))) return false;
    }
    return true;
}

static void begin_skin(edit *e, skin_edit *skin, const gltf_skin *from, int32_t index) {
    uint32_t n = e->content->skeleton->joint_count;
    if (skin->begun) return;
    *skin = (skin_edit){.begun = true,
                        .slot_of = PELT_NEW(e->base.out->arena, n, uint32_t),
                        .added = PELT_NEW(e->base.out->arena, n, uint32_t)};
    for (uint32_t j = 0; j < n; j++) skin->slot_of[j] = UINT32_MAX;
    if (!from) return;
    uint32_t file_joints = e->base.g->bundle->skeleton.joint_count;
    uint32_t *slots = PELT_NEW(e->base.out->arena, file_joints, uint32_t);
    for (uint32_t i = from->joint_count; i-- > 0;) slots[from->joints[i]] = i + 1;
    for (uint32_t j = 0; j < n; j++)
        if (e->twin_of[j] != UINT32_MAX && slots[e->twin_of[j]]) skin->slot_of[j] = slots[e->twin_of[j]] - 1;
    skin->before = skin->count = from->joint_count;
    skin->rebound = PELT_NEW(e->base.out->arena, from->joint_count, uint32_t);
    for (uint32_t i = 0; i < from->joint_count; i++) skin->rebound[i] = UINT32_MAX;
    if (!is_left(e, index)) return;
    /* Nothing needs the old binds of a skin that is left: its joints keep their slots, and readers find one bind. */
    for (uint32_t j = 0; j < n; j++) {
        uint32_t joint = e->base.joint_of[j];
        if (skin->slot_of[j] != UINT32_MAX || joint == UINT32_MAX || !slots[joint]) continue;
        if (skin->rebound[slots[joint] - 1] != UINT32_MAX) continue;
        skin->slot_of[j] = slots[joint] - 1;
        skin->rebound[slots[joint] - 1] = j;
    }
}

static void want_joint(skin_edit *skin, uint32_t joint) {
    if (skin->slot_of[joint] != UINT32_MAX) return;
    skin->added[skin->count - skin->before] = joint;
    skin->slot_of[joint] = skin->count++;
}

static int32_t parent_of(const edit *e, uint32_t node) {
    const gltf_editing *b = &e->base;
    const pelt_skeleton *skeleton = e->content->skeleton;
    if (node < b->scene.node_count) return b->scene.parents[node] < 0 ? e->common_root : b->scene.parents[node];
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (b->node_of[j] == node)
            return skeleton->parents[j] < 0 ? e->common_root : (int32_t)b->node_of[skeleton->parents[j]];
    return NONE;
}

static bool is_under(const edit *e, uint32_t node, int32_t above) {
    int32_t i = (int32_t)node;
    while (i >= 0 && i != above) i = parent_of(e, (uint32_t)i);
    return i >= 0;
}

/* A skin may name a node above all its joints; it must remain above them. */
static void raise_root(edit *e, const skin_edit *skin, json_t *object) {
    size_t number;
    if (!pelt_gltf_is_index(json_object_get(object, "skeleton"), e->base.scene.node_count, &number)) return;
    int32_t root = (int32_t)number;
    for (uint32_t i = 0; i < skin->count - skin->before; i++)
        while (root >= 0 && !is_under(e, e->base.node_of[skin->added[i]], root)) root = parent_of(e, (uint32_t)root);
    if (root < 0)
        json_object_del(object, "skeleton");
    else if (root != (int32_t)number)
        pelt_gltf_set(e->base.out, object, "skeleton", json_integer(root));
}

/* Writes a skin with added joints. Its matrices map from the mesh's space, which is `place` in the scene. */
static void finish_skin(edit *e, skin_edit *skin, const gltf_skin *from, const pelt_affine *place, json_t *object) {
    gltf_output *out = e->base.out;
    bool same = skin->count == skin->before;
    for (uint32_t i = 0; i < skin->before; i++) same &= skin->rebound[i] == UINT32_MAX;
    if (same) return;
    double(*binds)[12] = pelt_alloc(out->arena, skin->count, sizeof *binds);
    json_t *joints = pelt_gltf_get(out, object, "joints", json_array);
    for (uint32_t i = 0; i < skin->before; i++)
        memcpy(binds[i],
               skin->rebound[i] == UINT32_MAX ? e->base.g->bundle->skeleton.inverse_bind[from->joints[i]]
                                              : e->content->skeleton->inverse_bind[skin->rebound[i]],
               sizeof *binds);
    for (uint32_t i = skin->before; i < skin->count; i++) {
        uint32_t joint = skin->added[i - skin->before];
        pelt_affine bind;
        memcpy(bind.m, e->content->skeleton->inverse_bind[joint], sizeof bind.m);
        bind = pelt_affine_multiply(&bind, place);
        memcpy(binds[i], bind.m, sizeof bind.m);
        pelt_gltf_append(out, joints, json_integer(e->base.node_of[joint]));
    }
    raise_root(e, skin, object);
    pelt_gltf_release(&e->base, json_object_get(object, "inverseBindMatrices"));
    int accessor = pelt_gltf_add_binds(out, (const double(*)[12])binds, skin->count);
    pelt_gltf_set(out, object, "inverseBindMatrices", json_integer(accessor));
}

/* A skin for a mesh that had none. The node's own joint comes first, for primitives that pelt does not move. */
static void make_skin(edit *e, node_edit *n) {
    gltf_output *out = e->base.out;
    json_t *skins = pelt_gltf_get(out, out->root, "skins", json_array);
    json_t *node = json_array_get(out->nodes, n->node);
    pelt_gltf_set(out, node, "skin", json_integer((json_int_t)json_array_size(skins)));
    finish_skin(e, n->skin, NULL, &n->place, pelt_gltf_append(out, skins, json_object()));
}

/* -- What differs ---------------------------------------------------------------------------------------------------- */

static bool has_weight(const edit *e, uint32_t vertex, uint32_t joint, float weight) {
    const pelt_influences *in = &e->file_mesh->influences;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        if (in->joints[i] == joint) return fabsf(in->weights[i] - weight) <= 1e-6f;
    return fabsf(weight) <= 1e-6f;
}

static bool same_weights(const edit *e, uint32_t vertex) {
    const pelt_influences *in = &e->mesh->influences, *file = &e->file_mesh->influences;
    double shared = 0, whole = 0;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++) {
        uint32_t joint = e->twin_of[in->joints[i]];
        if (in->weights[i] == 0) continue;
        if (joint == UINT32_MAX || !has_weight(e, vertex, joint, in->weights[i])) return false;
        shared += in->weights[i];
    }
    for (uint32_t i = file->first[vertex]; i < file->first[vertex + 1]; i++) whole += file->weights[i];
    return fabs(shared - whole) <= 1e-5;
}

static bool weights_differ(const edit *e, uint32_t first, uint32_t count) {
    for (uint32_t v = first; v < first + count; v++)
        if (!same_weights(e, v)) return true;
    return false;
}

/* Tolerant, because a skin gives one normal to vertices that shade as one; that alone is no reason to replace the
   file's. */
static bool normals_differ(const edit *e, const gltf_part *p) {
    const float *a = e->mesh->normals + 3 * (size_t)p->first, *b = e->file_mesh->normals + 3 * (size_t)p->first;
    for (size_t i = 0; i < 3 * (size_t)p->count; i += 3) {
        float x = a[i] - b[i], y = a[i + 1] - b[i + 1], z = a[i + 2] - b[i + 2];
        if (!(x * x + y * y + z * z <= 4e-6f)) return true; /* 0.1 degrees */
    }
    return false;
}

static bool positions_differ(const edit *e, const gltf_part *p) {
    size_t at = 3 * (size_t)p->first, count = 3 * (size_t)p->count;
    return memcmp(e->mesh->positions + at, e->file_mesh->positions + at, count * sizeof(float)) != 0;
}

/* The first entry of a target at or after a vertex. */
static uint32_t target_from(const pelt_target *target, uint32_t vertex) {
    uint32_t low = 0, high = target->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (target->vertices[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool touches(const pelt_target *target, uint32_t first, uint32_t last) {
    uint32_t i = target_from(target, first);
    return i < target->count && target->vertices[i] < last;
}

/* The targets that move vertices of a node. */
static gltf_morphed *list_targets(edit *e, const node_edit *n) {
    gltf_morphed *m = &e->base.morphed[e->base.morphed_count];
    const pelt_target *normals = e->content->target_normals;
    m->targets = PELT_NEW(e->base.out->arena, e->mesh->target_count, uint32_t);
    m->node = m->file_node = n->node, m->count = 0;
    for (uint32_t t = 0; t < e->mesh->target_count; t++)
        if (touches(&e->mesh->targets[t], n->first, n->last) || (normals && touches(&normals[t], n->first, n->last)))
            m->targets[m->count++] = t;
    if (!m->count) return NULL;
    e->base.morphed_count++;
    return m;
}

/* -- Copying shared meshes ------------------------------------------------------------------------------------------- */

static void copy_members(gltf_output *out, const json_t *from, json_t *to);

/* Adds a copy of a value under a key, or to a list. Numbers and strings are shared: nobody changes them in place. */
static json_t *hang_copy(gltf_output *out, json_t *value, json_t *owner, const char *key) {
    json_t *copy = json_is_object(value) ? json_object() : json_is_array(value) ? json_array() : json_incref(value);
    if (key)
        pelt_gltf_set(out, owner, key, copy);
    else
        pelt_gltf_append(out, owner, copy);
    copy_members(out, value, copy);
    return copy;
}

static void copy_members(gltf_output *out, const json_t *from, json_t *to) {
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_object(from)) json_object_foreach((json_t *)from, key, value) hang_copy(out, value, to, key);
    if (json_is_array(from)) json_array_foreach(from, i, value) hang_copy(out, value, to, NULL);
}

/* The mesh of a node, copied if other nodes show it too. */
static json_t *own_mesh(edit *e, uint32_t node) {
    gltf_output *out = e->base.out;
    json_t *meshes = json_object_get(out->root, "meshes");
    uint32_t mesh = (uint32_t)e->base.scene.meshes[node];
    json_t *object = json_array_get(meshes, mesh);
    if (e->mesh_users[mesh] < 2) return object;
    e->mesh_users[mesh]--;
    pelt_gltf_set(out, json_array_get(out->nodes, node), "mesh", json_integer((json_int_t)json_array_size(meshes)));
    return hang_copy(out, object, meshes, NULL);
}

/* -- Vertices -------------------------------------------------------------------------------------------------------- */

void pelt_gltf_release(gltf_editing *e, const json_t *reference) {
    size_t index;
    if (pelt_gltf_is_index(reference, e->accessor_count, &index)) e->freed[index] = true;
}

static void replace(edit *e, json_t *attributes, const char *name, int accessor) {
    pelt_gltf_release(&e->base, json_object_get(attributes, name));
    pelt_gltf_set(e->base.out, attributes, name, json_integer(accessor));
}

/* The transpose of the place's matrix times a vector. */
static void turn_back(const pelt_affine *place, const float v[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = place->m[i] * v[0] + place->m[4 + i] * v[1] + place->m[8 + i] * v[2];
}

/* Replaces a part's positions or normals, brought back to the space of its node where that moves it. */
static void replace_vectors(edit *e, const node_edit *n, const gltf_part *p, bool normals, json_t *attributes) {
    float *own = PELT_NEW(e->base.out->arena, 3 * (size_t)p->count, float);
    const float *from = (normals ? e->mesh->normals : e->mesh->positions) + 3 * (size_t)p->first;
    memcpy(own, from, 3 * (size_t)p->count * sizeof *own);
    for (size_t v = 0; n->moved && v < p->count; v++, from += 3) {
        double back[3], length = 1;
        if (normals)
            turn_back(&n->place, from, back), length = pelt_length(back);
        else
            pelt_affine_point(&n->bind, (double[3]){from[0], from[1], from[2]}, back);
        for (size_t i = 0; i < 3; i++) own[3 * v + i] = (float)(back[i] / length);
    }
    replace(e, attributes, normals ? "NORMAL" : "POSITION",
            (normals ? pelt_gltf_add_normals : pelt_gltf_add_positions)(e->base.out, own, p->count));
}

/* Removes all weight sets. */
static void drop_weights(edit *e, json_t *attributes) {
    static const char *const names[] = {"JOINTS", "WEIGHTS"};
    for (int i = 0; i < 2; i++) {
        char key[32];
        for (uint32_t s = 0; snprintf(key, sizeof key, "%s_%u", names[i], s), json_object_get(attributes, key); s++) {
            pelt_gltf_release(&e->base, json_object_get(attributes, key));
            json_object_del(attributes, key);
        }
    }
}

static void replace_weights(edit *e, const node_edit *n, const gltf_part *p, json_t *attributes) {
    drop_weights(e, attributes);
    pelt_gltf_add_weights(e->base.out, &e->mesh->influences, p->first, p->count, n->skin->slot_of, n->skin->count,
                          attributes);
}

/* -- Targets --------------------------------------------------------------------------------------------------------- */

/* A target restricted to the vertices of a part, in their space and numbering. */
static pelt_target slice(edit *e, const node_edit *n, const gltf_part *p, const pelt_target *target, bool of_normals) {
    uint32_t begin = target_from(target, p->first), end = target_from(target, p->first + p->count);
    uint32_t *vertices = PELT_NEW(e->base.out->arena, end - begin, uint32_t);
    float *deltas = PELT_NEW(e->base.out->arena, 3 * (size_t)(end - begin), float);
    for (uint32_t i = begin; i < end; i++) {
        const float *d = target->deltas + 3 * (size_t)i;
        float *own = deltas + 3 * (size_t)(i - begin);
        vertices[i - begin] = target->vertices[i] - p->first;
        memcpy(own, d, 3 * sizeof *own);
        if (!n->moved) continue;
        if (of_normals) { /* the sum with the unit normal M^T n / |M^T n| points where M^T (n + d) does */
            double turned[3], normal[3];
            turn_back(&n->place, d, turned);
            turn_back(&n->place, e->mesh->normals + 3 * (size_t)target->vertices[i], normal);
            for (int k = 0; k < 3; k++) own[k] = (float)(turned[k] / pelt_length(normal));
        } else {
            for (int k = 0; k < 3; k++)
                own[k] = (float)(n->bind.m[4 * k] * d[0] + n->bind.m[4 * k + 1] * d[1] + n->bind.m[4 * k + 2] * d[2]);
        }
    }
    return (pelt_target){target->name, end - begin, vertices, deltas};
}

/* An accessor of zeros, shaped like another. */
static int zeros_like(edit *e, const json_t *reference) {
    gltf_output *out = e->base.out;
    const json_t *like = pelt_gltf_referred(out->accessors, reference);
    const char *shape = json_string_value(json_object_get(like, "type"));
    double count = json_number_value(json_object_get(like, "count"));
    return pelt_gltf_add_accessor(out, NONE, GLTF_FLOAT, shape ? shape : "VEC3",
                                  count > 0 && count < INT32_MAX ? (uint32_t)count : 1);
}

/* Every attribute that one target has, all get, as zeros: where only some targets have an attribute, players use the
   mesh's own for the others. */
static void fill_up_targets(edit *e, json_t *targets) {
    enum { MOST = 8 };
    const char *names[MOST], *key;
    const json_t *like[MOST];
    json_t *reference;
    int count = 0, k;
    for (size_t t = 0; t < json_array_size(targets); t++)
        json_object_foreach(json_array_get(targets, t), key, reference) {
            for (k = 0; k < count && strcmp(names[k], key) != 0;) k++;
            if (k == count && count < MOST && json_is_number(reference)) names[k] = key, like[k] = reference, count++;
        }
    for (k = 0; k < count; k++) {
        int zeros = NONE;
        for (size_t t = 0; t < json_array_size(targets); t++) {
            json_t *target = json_array_get(targets, t);
            if (!json_is_object(target) || json_object_get(target, names[k])) continue;
            if (zeros == NONE) zeros = zeros_like(e, like[k]);
            pelt_gltf_set(e->base.out, target, names[k], json_integer(zeros));
        }
    }
}

static void add_targets(edit *e, const node_edit *n, const gltf_morphed *m, const gltf_part *p, json_t *primitive) {
    gltf_output *out = e->base.out;
    bool normals = e->content->target_normals && json_object_get(json_object_get(primitive, "attributes"), "NORMAL");
    json_t *targets = pelt_gltf_get(out, primitive, "targets", json_array);
    for (uint32_t i = 0; i < m->count; i++) {
        pelt_target *own = PELT_NEW(out->arena, 2, pelt_target);
        own[0] = slice(e, n, p, &e->mesh->targets[m->targets[i]], false);
        if (normals) own[1] = slice(e, n, p, &e->content->target_normals[m->targets[i]], true);
        pelt_gltf_add_target(out, &own[0], normals ? &own[1] : NULL, p->count, targets);
    }
    fill_up_targets(e, targets);
}

/* Names and rest weights of the new targets. */
static void describe_targets(edit *e, const node_edit *n, gltf_morphed *m) {
    gltf_output *out = e->base.out;
    json_t *node = json_array_get(out->nodes, m->node), *extras = pelt_gltf_get(out, n->mesh, "extras", json_object);
    json_t *of_node = json_object_get(node, "weights"), *of_mesh = json_object_get(n->mesh, "weights");
    m->rest = PELT_NEW(out->arena, m->before + 1, float);
    for (uint32_t i = 0; i < m->before; i++)
        m->rest[i] = (float)json_number_value(json_array_get(of_node ? of_node : of_mesh, i));
    for (uint32_t i = 0; i < m->count; i++) {
        if (json_is_array(of_node)) pelt_gltf_append(out, of_node, json_real(0));
        if (json_is_array(of_mesh)) pelt_gltf_append(out, of_mesh, json_real(0));
    }
    json_t *names = json_object_get(extras, "targetNames");
    if (!names && json_is_object(extras)) {
        names = pelt_gltf_set(out, extras, "targetNames", json_array());
        for (uint32_t i = 0; i < m->before; i++)
            pelt_gltf_append(out, names, pelt_json_text(pelt_arena_format(out->arena, "target%u", i)));
    }
    if (json_array_size(names) != m->before || !json_is_array(names)) return; /* not of these targets */
    for (uint32_t i = 0; i < m->count; i++)
        pelt_gltf_append(out, names, pelt_json_text(e->mesh->targets[m->targets[i]].name));
}

/* -- Nodes with meshes ----------------------------------------------------------------------------------------------- */

/* A part that shares its vertices with an earlier one shares its new accessors too. */
static void follow(edit *e, const json_t *owner, double owner_normal, json_t *primitive, uint32_t before,
                   bool reweighted) {
    gltf_output *out = e->base.out;
    json_t *from = json_object_get(owner, "attributes"), *to = json_object_get(primitive, "attributes"), *value;
    const char *key;
    bool same_normal =
        json_object_get(to, "NORMAL") && json_number_value(json_object_get(to, "NORMAL")) == owner_normal;
    if (reweighted) drop_weights(e, to);
    json_object_foreach(from, key, value) {
        bool weights = reweighted && (!strncmp(key, "JOINTS_", 7) || !strncmp(key, "WEIGHTS_", 8));
        if (!weights && strcmp(key, "POSITION") != 0 && !(same_normal && !strcmp(key, "NORMAL"))) continue;
        pelt_gltf_set(out, to, key, json_incref(value));
    }
    json_t *all = json_object_get(owner, "targets");
    if (json_array_size(all) <= before) return;
    json_t *targets = pelt_gltf_get(out, primitive, "targets", json_array);
    for (size_t t = before; t < json_array_size(all); t++) hang_copy(out, json_array_get(all, t), targets, NULL);
    fill_up_targets(e, targets);
}

/* Points and lines of a mesh stay where they are, but need targets and weights if the other primitives have them. */
static void follow_along(edit *e, json_t *primitive, uint32_t target_count, bool weighted) {
    gltf_output *out = e->base.out;
    json_t *attributes = json_object_get(primitive, "attributes"), *position = json_object_get(attributes, "POSITION");
    double count = json_number_value(json_object_get(pelt_gltf_referred(out->accessors, position), "count"));
    if (!(count >= 1 && count < 1 << 24)) return;
    if (target_count) {
        json_t *targets = pelt_gltf_get(out, primitive, "targets", json_array);
        pelt_target still = {.name = ""};
        for (uint32_t t = 0; json_is_array(targets) && t < target_count; t++)
            pelt_gltf_add_target(out, &still, NULL, (uint32_t)count, targets);
    }
    if (weighted) {
        float *weights = PELT_NEW(out->arena, 4 * (size_t)count, float);
        for (size_t v = 0; v < (size_t)count; v++) weights[4 * v] = 1;
        drop_weights(e, attributes);
        int joints = pelt_gltf_add_accessor(out, NONE, GLTF_UBYTE, "VEC4", (uint32_t)count);
        pelt_gltf_set(out, attributes, "JOINTS_0", json_integer(joints));
        int array = pelt_gltf_add_array(out, weights, 16 * (size_t)count, GLTF_VERTEX_VIEW, GLTF_FLOAT, "VEC4",
                                        (uint32_t)count);
        pelt_gltf_set(out, attributes, "WEIGHTS_0", json_integer(array));
    }
}

static void edit_primitives(edit *e, const node_edit *n, gltf_morphed *m) {
    json_t *primitives = json_object_get(n->mesh, "primitives");
    bool *done = PELT_NEW(e->base.out->arena, json_array_size(primitives), bool);
    double *normals = PELT_NEW(e->base.out->arena, json_array_size(primitives), double); /* accessors of the file */
    for (uint32_t i = n->begin; i < n->end; i++) {
        const gltf_part *p = &e->base.parts.list[i], *owner = p;
        json_t *primitive = json_array_get(primitives, p->index);
        json_t *attributes = json_object_get(primitive, "attributes");
        bool reweighted = n->reweighted && (!n->skinned || weights_differ(e, p->first, p->count));
        done[p->index] = true;
        if (!p->has_own_vertices) {
            for (uint32_t k = n->begin; k < i; k++)
                if (e->base.parts.list[k].has_own_vertices && e->base.parts.list[k].first == p->first)
                    owner = &e->base.parts.list[k];
            follow(e, json_array_get(primitives, owner->index), normals[owner->index], primitive,
                   m ? m->before : UINT32_MAX, reweighted);
            continue;
        }
        json_t *normal = json_object_get(attributes, "NORMAL");
        normals[p->index] = normal ? json_number_value(normal) : -1;
        if (positions_differ(e, p)) replace_vectors(e, n, p, false, attributes);
        if (normal && normals_differ(e, p)) replace_vectors(e, n, p, true, attributes);
        if (reweighted) replace_weights(e, n, p, attributes);
        if (m) add_targets(e, n, m, p, primitive);
    }
    for (size_t i = 0; i < json_array_size(primitives); i++)
        if (!done[i]) follow_along(e, json_array_get(primitives, i), m ? m->count : 0, n->reweighted && !n->skinned);
}

/* Joints of the content that some vertices follow. */
static void want_joints(edit *e, skin_edit *skin, uint32_t first, uint32_t count) {
    const pelt_influences *in = &e->mesh->influences;
    for (uint32_t i = in->first[first]; i < in->first[first + count]; i++)
        if (in->weights[i] != 0) want_joint(skin, in->joints[i]);
}

/* Finds the skin for the new weights of a node, and adds the joints they need. */
static bool prepare_skin(edit *e, node_edit *n) {
    gltf_editing *b = &e->base;
    int32_t index = b->scene.skins_of[n->node];
    n->skin = n->skinned ? &e->skins[index] : PELT_NEW(b->out->arena, 1, skin_edit);
    begin_skin(e, n->skin, n->skinned ? &b->scene.skins[index] : NULL, index);
    for (uint32_t j = 0; !n->skinned && j < e->content->skeleton->joint_count; j++)
        if (e->twin_of[j] == (uint32_t)b->scene.rigid_joints[n->node]) want_joint(n->skin, j);
    for (uint32_t i = n->begin; i < n->end; i++) {
        const gltf_part *p = &b->parts.list[i];
        if (p->has_own_vertices && (!n->skinned || weights_differ(e, p->first, p->count)))
            want_joints(e, n->skin, p->first, p->count);
    }
    if (n->skin->count > 65536)
        return pelt_gltf_fail(b->g, PELT_ERROR_UNSUPPORTED, pelt_gltf_entry(b->g, "nodes", n->node),
                              "its skin would need %u joints; glTF can bind to 65536 at most", n->skin->count);
    if (!n->skinned) make_skin(e, n);
    return true;
}

/* What changes in the node of some parts. */
static void survey_node(edit *e, uint32_t begin, uint32_t end, node_edit *n) {
    const gltf_part *list = e->base.parts.list;
    *n = (node_edit){.node = list[begin].node, .begin = begin, .end = end, .first = UINT32_MAX};
    for (uint32_t i = begin; i < end; i++) {
        const gltf_part *p = &list[i];
        if (!p->has_own_vertices) continue;
        if (p->first < n->first) n->first = p->first;
        if (p->first + p->count > n->last) n->last = p->first + p->count;
        n->reweighted |= e->content->skeleton && weights_differ(e, p->first, p->count);
        bool has_normals = json_object_get(json_object_get(p->primitive.json, "attributes"), "NORMAL") != NULL;
        n->changed |= positions_differ(e, p) || (has_normals && normals_differ(e, p));
    }
    n->morphed = list_targets(e, n);
    uint32_t before = (uint32_t)json_array_size(json_object_get(list[begin].primitive.json, "targets"));
    if (n->morphed) n->morphed->before = before;
    if (!n->morphed && !before) return;
    for (int32_t i = e->base.scene.parents[n->node]; i >= 0 && !e->branch[i]; i = e->base.scene.parents[i])
        e->branch[i] = true;
}

/* Moves the mesh of a node to a new first child: first, so that vertices keep their order. */
static void move_to_leaf(edit *e, node_edit *n) {
    static const char *const moving[] = {"mesh", "skin", "weights"};
    gltf_output *out = e->base.out;
    json_t *node = json_array_get(out->nodes, n->node), *children = pelt_gltf_get(out, node, "children", json_array);
    json_t *leaf = pelt_gltf_append(out, out->nodes, json_object());
    uint32_t index = (uint32_t)json_array_size(out->nodes) - 1;
    const char *name = json_string_value(json_object_get(node, "name"));
    if (name) pelt_gltf_set(out, leaf, "name", pelt_json_text(pelt_arena_format(out->arena, "%s mesh", name)));
    for (int i = 0; i < 3; i++) {
        json_t *value = json_object_get(node, moving[i]);
        if (value) pelt_gltf_set(out, leaf, moving[i], json_incref(value));
        json_object_del(node, moving[i]);
    }
    if (json_array_insert_new(children, 0, json_integer(index))) pelt_arena_fail(out->arena);
    n->morphed->node = e->base.shown_by[n->node] = index;
}

static bool differs(const node_edit *n) { return n->changed || n->reweighted || n->morphed; }

/* Gives a node its own copy of a shared mesh, and finds the skin for its new weights. */
static bool begin_node(edit *e, node_edit *n) {
    gltf_editing *b = &e->base;
    pelt_gltf_part_place(&b->scene, &b->parts.list[n->begin], &n->place);
    n->moved = memcmp(&n->place, &pelt_identity, sizeof n->place) != 0;
    n->skinned = b->scene.skins_of[n->node] >= 0;
    pelt_affine_invert(&n->place, &n->bind);
    n->mesh = own_mesh(e, n->node);
    b->reshaped |= n->changed || (n->reweighted && !n->skinned);
    return !n->reweighted || prepare_skin(e, n);
}

static void finish_skins(edit *e) {
    json_t *skins = json_object_get(e->base.out->root, "skins");
    for (uint32_t s = 0; s < e->base.scene.skin_count; s++)
        if (e->skins[s].begun)
            finish_skin(e, &e->skins[s], &e->base.scene.skins[s], &pelt_identity, json_array_get(skins, s));
    for (size_t s = 0; s < json_array_size(skins); s++) {
        const json_t *joints = json_object_get(json_array_get(skins, s), "joints");
        for (size_t i = 0; i < json_array_size(joints); i++) {
            size_t node;
            if (pelt_gltf_is_index(json_array_get(joints, i), e->base.scene.node_count, &node)) e->branch[node] = true;
        }
    }
}

static bool edit_nodes(edit *e) {
    const gltf_parts *parts = &e->base.parts;
    node_edit *list = PELT_NEW(e->base.out->arena, parts->count, node_edit);
    uint32_t count = 0;
    for (uint32_t begin = 0, end; begin < parts->count; begin = end) {
        for (end = begin; end < parts->count && parts->list[end].node == parts->list[begin].node;) end++;
        survey_node(e, begin, end, &list[count++]);
    }
    for (uint32_t i = 0; i < count; i++)
        if (differs(&list[i]) && !begin_node(e, &list[i])) return false;
    finish_skins(e);
    for (uint32_t i = 0; i < count; i++) {
        node_edit *n = &list[i];
        if (!differs(n)) continue;
        if (n->morphed && e->branch[n->node]) move_to_leaf(e, n);
        if (n->morphed) describe_targets(e, n, n->morphed);
        edit_primitives(e, n, n->morphed);
    }
    return true;
}

/* -- All ------------------------------------------------------------------------------------------------------------- */

/* Lists that are changed must be lists, even those the reader did not need. */
static bool check_lists(gltf *g) {
    static const char *const names[] = {"nodes",       "meshes",  "skins",  "animations",     "accessors",
                                        "bufferViews", "buffers", "images", "extensionsUsed", "scenes"};
    uint32_t length;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!pelt_gltf_length(g, pelt_gltf_member(g->root, names[i]), &length)) return false;
    gltf_item extensions = pelt_gltf_member(g->root, "extensions");
    if (extensions.json && !json_is_object(extensions.json))
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, extensions, "must be an object");
    return true;
}

static void begin_edit(edit *e) {
    gltf_editing *b = &e->base;
    gltf_output *out = b->out;
    uint32_t joints = e->content->skeleton ? e->content->skeleton->joint_count : 0;
    b->accessor_count = (uint32_t)json_array_size(json_object_get(out->root, "accessors"));
    b->view_count = (uint32_t)json_array_size(json_object_get(out->root, "bufferViews"));
    out->nodes = pelt_gltf_get(out, out->root, "nodes", json_array);
    out->accessors = pelt_gltf_get(out, out->root, "accessors", json_array);
    out->views = pelt_gltf_get(out, out->root, "bufferViews", json_array);
    out->buffer = b->g->buffer_count;
    b->freed = PELT_NEW(out->arena, b->accessor_count, bool);
    b->joint_of = PELT_NEW(out->arena, joints, uint32_t), b->node_of = PELT_NEW(out->arena, joints, uint32_t);
    b->morphed = PELT_NEW(out->arena, b->scene.mesh_node_count, gltf_morphed);
    e->twin_of = PELT_NEW(out->arena, joints, uint32_t);
    e->skins = PELT_NEW(out->arena, b->scene.skin_count, skin_edit);
    e->mesh_users = PELT_NEW(out->arena, json_array_size(json_object_get(out->root, "meshes")), uint32_t);
    e->branch = PELT_NEW(out->arena, b->scene.node_count, bool);
    b->shown_by = PELT_NEW(out->arena, b->scene.node_count, uint32_t);
    for (uint32_t i = 0; i < b->scene.node_count; i++) b->shown_by[i] = i;
    for (uint32_t i = 0; i < b->scene.node_count; i++)
        if (b->scene.meshes[i] >= 0) e->mesh_users[b->scene.meshes[i]]++;
}

static pelt_result edit_tree(void *user, pelt_error *error) {
    (void)error;
    edit *e = user;
    gltf_editing *b = &e->base;
    gltf *g = b->g;
    begin_edit(e);
    if (e->content->skeleton) match_joints(e), add_nodes(e);
    if (!edit_nodes(e)) return g->error.code;
    if (!pelt_gltf_edit_animations(b)) return g->error.code;
    if (e->content->embed) pelt_gltf_embed(b);
    return pelt_gltf_keep_images(b) && pelt_gltf_keep_bytes(b) ? PELT_OK : g->error.code;
}

/* Checks that the content was made from this file. */
static bool check_source(gltf *g, const pelt_mesh *mesh) {
    const pelt_mesh *file = &g->bundle->mesh;
    if (file->vertex_count == mesh->vertex_count && file->triangle_count == mesh->triangle_count) return true;
    return pelt_gltf_fail(
        g, PELT_ERROR_DATA, g->root,
        "has %u vertices and %u triangles, but %u and %u were to be written; the file may have changed meanwhile",
        file->vertex_count, file->triangle_count, mesh->vertex_count, mesh->triangle_count);
}

pelt_result pelt_gltf_rewrite(const char *path, const pelt_gltf_content *content, const pelt_file *file,
                              const char *source, pelt_error *error) {
    pelt_bundle bundle = {.arena = pelt_arena_new(0)};
    gltf g = {.path = source, .bundle = &bundle, .arena = bundle.arena};
    gltf_output out = {.path = path, .content = content, .arena = pelt_arena_new(0)};
    edit e = {.base = {.g = &g, .out = &out, .freed_view = NONE}, .content = content, .common_root = NONE};
    e.mesh = content->mesh, e.file_mesh = &bundle.mesh;
    pelt_result result = PELT_OK;
    bool done = bundle.arena ? pelt_gltf_read(&g, file, &e.base.scene, &e.base.parts) : pelt_gltf_out_of_memory(&g);
    out.root = g.json;
    done = done && check_lists(&g) && check_source(&g, content->mesh);
    if (done) result = pelt_stage(out.arena, edit_tree, &e, error);
    bool refused = !done || (result && g.error.code);
    if (!refused && !result) result = pelt_gltf_write_file(&out, error);
    pelt_result refusal = pelt_gltf_close(&g, !refused, error);
    pelt_arena_free(out.arena);
    pelt_arena_free(bundle.arena);
    return refused ? refusal : result;
}
