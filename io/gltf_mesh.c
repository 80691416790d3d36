/* gltf_mesh.c: every mesh of the scene becomes part of one mesh.

   A *part* is a primitive in a node. The vertices of a skinned node are used as they are, because a skin ignores the
   transform of its node; those of an unskinned node are moved to their place in the rest pose, v' = G v, and bound to
   the node alone, whose inverse bind is G^-1. Parts of a node that use the same positions and weights share vertices.

   The file's weights are normalised to sum to 1, and any repair is noted. */

#include "io/gltf.h"
#include "rig/maths.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TRIANGLES = 4, TRIANGLE_STRIP = 5, TRIANGLE_FAN = 6 };

typedef gltf_part part;
typedef gltf_parts parts;

/* Repairs to the weights of the file. */
typedef struct weight_repairs {
    uint32_t off_count, off_vertex, bare_count, bare_vertex;
    double off_sum; /* the worst */
} weight_repairs;

/* -- Survey -------------------------------------------------------------------------------------------------------- */

static gltf_item attribute(const part *p, const char *name) {
    return pelt_gltf_member(pelt_gltf_member(p->primitive, "attributes"), name);
}

static gltf_item attribute_set(const part *p, const char *name, uint32_t set) {
    char key[32];
    snprintf(key, sizeof key, "%s_%u", name, set);
    return attribute(p, key);
}

/* Number of JOINTS_n, WEIGHTS_n sets of a primitive; 0 for an unskinned node. */
static uint32_t weight_sets(const gltf_scene *scene, const part *p) {
    uint32_t sets = 0;
    if (scene->skins_of[p->node] < 0) return 0;
    while (attribute_set(p, "JOINTS", sets).json) sets++;
    return sets;
}

static bool same_weights(const gltf_scene *scene, const part *a, const part *b) {
    uint32_t sets = weight_sets(scene, a);
    if (sets != weight_sets(scene, b)) return false;
    for (uint32_t s = 0; s < sets; s++)
        if (!json_equal(attribute_set(a, "JOINTS", s).json, attribute_set(b, "JOINTS", s).json) ||
            !json_equal(attribute_set(a, "WEIGHTS", s).json, attribute_set(b, "WEIGHTS", s).json))
            return false;
    return true;
}

static bool count_corners(gltf *g, part *p) {
    gltf_item indices = pelt_gltf_member(p->primitive, "indices");
    gltf_accessor a;
    p->corner_count = p->count;
    if (!indices.json) return true;
    if (!pelt_gltf_accessor_open(g, indices, "SCALAR", &a)) return false;
    p->corner_count = a.count;
    return true;
}

static uint32_t triangle_count(const part *p) {
    if (p->mode == TRIANGLES) return p->corner_count / 3;
    return p->corner_count < 3 ? 0 : p->corner_count - 2;
}

/* Adds one primitive. `twins` holds, per accessor, 1 + the part of this node that takes its positions from it. */
static bool survey_part(gltf *g, parts *all, part *p, uint32_t *twins) {
    gltf_accessor position;
    if (!pelt_gltf_accessor_open(g, attribute(p, "POSITION"), "VEC3", &position)) return false;
    const part *twin = twins[position.index] ? &all->list[twins[position.index] - 1] : NULL;
    p->count = position.count;
    p->has_own_vertices = !twin || twin->node != p->node || !same_weights(all->scene, p, twin);
    p->first = p->has_own_vertices ? (uint32_t)all->vertex_count : twin->first;
    if (!count_corners(g, p)) return false;
    if (p->has_own_vertices) {
        uint32_t sets = weight_sets(all->scene, p);
        all->vertex_count += p->count;
        all->influence_count += (uint64_t)p->count * (sets ? 4 * (uint64_t)sets : 1);
        twins[position.index] = all->count + 1;
    }
    all->triangle_count += triangle_count(p);
    all->list[all->count++] = *p;
    if (all->vertex_count > INT32_MAX || all->triangle_count > INT32_MAX || all->influence_count > UINT32_MAX)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, p->primitive, "brings the mesh to more than 2147483647 vertices");
    return true;
}

static bool survey(gltf *g, parts *all) {
    const gltf_scene *scene = all->scene;
    uint32_t skipped = 0, accessor_count, n;
    uint64_t capacity = 0;
    if (!pelt_gltf_length(g, pelt_gltf_member(g->root, "accessors"), &accessor_count)) return false;
    for (uint32_t i = 0; i < scene->mesh_node_count; i++) {
        gltf_item mesh = pelt_gltf_entry(g, "meshes", (size_t)scene->meshes[scene->mesh_nodes[i]]);
        if (!pelt_gltf_length(g, pelt_gltf_member(mesh, "primitives"), &n)) return false;
        capacity += n;
    }
    uint32_t *twins = GLTF_NEW(g, g->scratch, uint32_t, accessor_count);
    if (!twins || !(all->list = GLTF_NEW(g, g->scratch, part, capacity))) return false;
    for (uint32_t i = 0; i < scene->mesh_node_count; i++) {
        uint32_t node = scene->mesh_nodes[i];
        gltf_item list = pelt_gltf_member(pelt_gltf_entry(g, "meshes", (size_t)scene->meshes[node]), "primitives");
        pelt_gltf_length(g, list, &n);
        for (uint32_t k = 0; k < n; k++) {
            part p = {.primitive = pelt_gltf_element(list, k), .node = node, .index = k};
            uint64_t mode;
            if (!pelt_gltf_natural(g, pelt_gltf_member(p.primitive, "mode"), TRIANGLES, &mode)) return false;
            p.mode = mode <= TRIANGLE_FAN ? (uint32_t)mode : 0;
            if (p.mode < TRIANGLES || !attribute(&p, "POSITION").json)
                skipped++;
            else if (!survey_part(g, all, &p, twins))
                return false;
        }
    }
    if (skipped)
        pelt_find(&g->bundle->notes, g->arena, PELT_NOTE, "not-triangles",
                  "%u primitives are points or lines or have no positions; they are left out", skipped);
    return all->count ? true : pelt_gltf_fail(g, PELT_ERROR_DATA, g->root, "has no triangles in its scene");
}

/* -- Vertices and triangles ---------------------------------------------------------------------------------------- */

void pelt_gltf_part_place(const gltf_scene *scene, const part *p, pelt_affine *place) {
    pelt_affine bind;
    *place = pelt_identity;
    if (scene->skins_of[p->node] < 0) pelt_gltf_rigid_bind(scene, p->node, place, &bind);
}

static bool read_positions(gltf *g, const part *p, const pelt_affine *place) {
    float *out = g->bundle->mesh.positions + 3 * (size_t)p->first;
    gltf_item item = attribute(p, "POSITION");
    gltf_accessor a;
    if (!pelt_gltf_accessor_open(g, item, "VEC3", &a) || !pelt_gltf_accessor_floats(g, &a, out)) return false;
    if (!memcmp(place, &pelt_identity, sizeof *place)) return true;
    for (uint32_t v = 0; v < p->count; v++, out += 3) {
        double moved[3];
        pelt_affine_point(place, (double[3]){out[0], out[1], out[2]}, moved);
        for (int i = 0; i < 3; i++) out[i] = (float)moved[i];
        if (!isfinite(out[0]) || !isfinite(out[1]) || !isfinite(out[2]))
            return pelt_gltf_fail(g, PELT_ERROR_NUMBER, item, "its node moves vertex %u beyond the range of a float",
                                  v);
    }
    return true;
}

static bool read_corners(gltf *g, pelt_arena *scratch, const part *p, uint32_t **corners) {
    gltf_item indices = pelt_gltf_member(p->primitive, "indices");
    gltf_accessor a;
    if (!(*corners = GLTF_NEW(g, scratch, uint32_t, p->corner_count))) return false;
    if (!indices.json) {
        for (uint32_t i = 0; i < p->corner_count; i++) (*corners)[i] = i;
        return true;
    }
    if (!pelt_gltf_accessor_open(g, indices, "SCALAR", &a) || !pelt_gltf_accessor_integers(g, &a, *corners))
        return false;
    for (uint32_t i = 0; i < p->corner_count; i++)
        if ((*corners)[i] >= p->count)
            return pelt_gltf_fail(g, PELT_ERROR_INDEX, indices,
                                  "index %u is %u, but the primitive has only %u vertices", i, (*corners)[i], p->count);
    return true;
}

/* Strips flip every second triangle; a mirroring node flips all of them. */
static bool read_triangles(gltf *g, const part *p, const pelt_affine *place, uint32_t **out) {
    PELT_SCOPED pelt_arena *scratch = pelt_arena_new(0);
    uint32_t *corners, count = triangle_count(p), mirrored = pelt_affine_determinant(place->m) < 0;
    if (!read_corners(g, scratch, p, &corners)) return false;
    for (uint32_t t = 0; t < count; t++, *out += 3) {
        uint32_t at = p->mode == TRIANGLES ? 3 * t : t, turned = mirrored ^ (p->mode == TRIANGLE_STRIP && t % 2);
        uint32_t a = p->mode == TRIANGLE_FAN ? 0 : at;
        uint32_t triangle[3] = {corners[a], corners[at + 1 + turned], corners[at + 2 - turned]};
        for (int i = 0; i < 3; i++) (*out)[i] = p->first + triangle[i];
    }
    return true;
}

bool pelt_gltf_read_attribute(gltf *g, const part *p, gltf_item item, const char *type, float *out) {
    gltf_accessor a;
    if (!pelt_gltf_accessor_open(g, item, type, &a)) return false;
    if (a.count != p->count)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, item, "%u entries for %u vertices", a.count, p->count);
    return pelt_gltf_accessor_floats(g, &a, out);
}

/* The cofactor matrix of a place times a vector. */
static void turn(const pelt_affine *place, const float v[3], double out[3]) {
    for (int i = 0; i < 3; i++) {
        const double *b = place->m + 4 * ((i + 1) % 3), *c = place->m + 4 * ((i + 2) % 3);
        out[i] = (b[1] * c[2] - b[2] * c[1]) * v[0] + (b[2] * c[0] - b[0] * c[2]) * v[1] +
                 (b[0] * c[1] - b[1] * c[0]) * v[2];
    }
}

/* Normals transform by the cofactor matrix. Zero normals of the file are replaced by the computed ones. */
static bool read_normals(gltf *g, const part *p, const pelt_affine *place) {
    float *out = g->bundle->mesh.normals + 3 * (size_t)p->first;
    gltf_item item = attribute(p, "NORMAL");
    if (!item.json) return true;
    PELT_SCOPED pelt_arena *scratch = pelt_arena_new(0);
    float *normals = GLTF_NEW(g, scratch, float, 3 * (size_t)p->count);
    if (!normals || !pelt_gltf_read_attribute(g, p, item, "VEC3", normals)) return false;
    bool moved = memcmp(place, &pelt_identity, sizeof *place) != 0;
    double sign = pelt_affine_determinant(place->m) < 0 ? -1 : 1;
    for (uint32_t v = 0; v < p->count; v++, out += 3) {
        const float *f = normals + 3 * (size_t)v;
        double n[3] = {f[0], f[1], f[2]};
        if (moved) turn(place, f, n);
        double length = pelt_length(n);
        if (!(length > 0) || !isfinite(length)) continue;
        if (!moved && fabs(length - 1) < 1e-6) length = 1; /* already unit length to float precision: keep the bits */
        for (int i = 0; i < 3; i++) out[i] = (float)((moved ? sign : 1) * n[i] / length);
    }
    return true;
}

/* -- Texture coordinates and tangents ------------------------------------------------------------------------------ */

/* The texture coordinates that the normal map of a part uses, or would use; sets *mapped if there is one. */
static bool find_uvs(gltf *g, const part *p, gltf_item *uvs, bool *mapped) {
    gltf_item material = pelt_gltf_member(p->primitive, "material");
    uint64_t set = 0;
    uint32_t index;
    if (material.json) {
        if (!pelt_gltf_reference(g, material, "materials", &index)) return false;
        gltf_item map = pelt_gltf_member(pelt_gltf_entry(g, "materials", index), "normalTexture");
        if (!pelt_gltf_natural(g, pelt_gltf_member(map, "texCoord"), 0, &set)) return false;
        *mapped |= map.json != NULL;
    }
    *uvs = attribute_set(p, "TEXCOORD", set < UINT32_MAX ? (uint32_t)set : UINT32_MAX);
    return true;
}

/* Tangents transform by the matrix itself; a mirror flips their handedness. */
static bool read_tangents(gltf *g, const part *p, const pelt_affine *place) {
    pelt_mesh *mesh = &g->bundle->mesh;
    float *out = mesh->tangents + 4 * (size_t)p->first;
    const double *m = place->m;
    if (!pelt_gltf_read_attribute(g, p, attribute(p, "TANGENT"), "VEC4", out)) return false;
    for (uint32_t v = 0; v < p->count; v++, out += 4) {
        float t[4] = {out[0], out[1], out[2], pelt_affine_determinant(place->m) < 0 ? -out[3] : out[3]}, moved[4];
        for (int i = 0; i < 3; i++) moved[i] = (float)(m[4 * i] * t[0] + m[4 * i + 1] * t[1] + m[4 * i + 2] * t[2]);
        moved[3] = t[3];
        pelt_unit_tangent(mesh->normals + 3 * ((size_t)p->first + v), moved, out);
    }
    return true;
}

/* The file's tangents; parts without any get them from their texture coordinates. */
static bool read_all_tangents(gltf *g, const parts *all) {
    pelt_mesh *mesh = &g->bundle->mesh;
    uint32_t with_uvs = 0, with_tangents = 0, own = 0;
    bool mapped = false;
    gltf_item uvs;
    for (uint32_t i = 0; i < all->count; i++) {
        if (!all->list[i].has_own_vertices) continue;
        if (!find_uvs(g, &all->list[i], &uvs, &mapped)) return false;
        own++, with_uvs += uvs.json != NULL, with_tangents += attribute(&all->list[i], "TANGENT").json != NULL;
    }
    if (!with_uvs && !with_tangents) return true;
    mesh->uvs = GLTF_NEW(g, g->arena, float, 2 * (size_t)mesh->vertex_count);
    mesh->tangents = GLTF_NEW(g, g->arena, float, 4 * (size_t)mesh->vertex_count);
    if (g->error.code) return false;
    for (uint32_t i = 0; i < all->count; i++) {
        const part *p = &all->list[i];
        if (!p->has_own_vertices) continue;
        if (!find_uvs(g, p, &uvs, &mapped)) return false;
        if (uvs.json && !pelt_gltf_read_attribute(g, p, uvs, "VEC2", mesh->uvs + 2 * (size_t)p->first)) return false;
    }
    uint32_t torn = with_tangents < own ? pelt_mesh_tangents(g->scratch, mesh, mesh->tangents) : 0;
    if (pelt_arena_failed(g->scratch)) return pelt_gltf_out_of_memory(g);
    if (torn && mapped)
        pelt_find(&g->bundle->notes, g->arena, PELT_NOTE, "torn-texture",
                  "the texture is mirrored or torn at %u vertices that are not split there, so one of their two "
                  "tangents is lost; split them, or export tangents, to light a normal map correctly",
                  torn);
    for (uint32_t i = 0; i < all->count; i++) {
        const part *p = &all->list[i];
        pelt_affine place;
        if (!p->has_own_vertices || !attribute(p, "TANGENT").json) continue;
        pelt_gltf_part_place(all->scene, p, &place);
        if (!read_tangents(g, p, &place)) return false;
    }
    if (!with_uvs) mesh->uvs = NULL;
    return true;
}

/* -- Colours ------------------------------------------------------------------------------------------------------- */

/* COLOR_0 with or without alpha. */
static bool read_colors(gltf *g, const part *p, gltf_item item) {
    PELT_SCOPED pelt_arena *scratch = pelt_arena_new(0);
    float *out = g->bundle->mesh.colors + 3 * (size_t)p->first;
    gltf_accessor a;
    uint32_t index;
    if (!pelt_gltf_reference(g, item, "accessors", &index)) return false;
    const char *type = pelt_gltf_text(pelt_gltf_member(pelt_gltf_entry(g, "accessors", index), "type"), "");
    if (!pelt_gltf_accessor_open(g, item, strcmp(type, "VEC3") ? "VEC4" : "VEC3", &a)) return false;
    if (a.count != p->count)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, item, "%u colours for %u vertices", a.count, p->count);
    a.normalized = true; /* integers are always normalized here */
    float *values = GLTF_NEW(g, scratch, float, (size_t)a.components *a.count);
    if (!values || !pelt_gltf_accessor_floats(g, &a, values)) return false;
    for (size_t v = 0; v < a.count; v++) memcpy(out + 3 * v, values + a.components * v, 3 * sizeof *out);
    return true;
}

/* Parts without colours are white, as in players. */
static bool read_all_colors(gltf *g, const parts *all) {
    pelt_mesh *mesh = &g->bundle->mesh;
    for (uint32_t i = 0; i < all->count; i++) {
        const part *p = &all->list[i];
        gltf_item item = attribute(p, "COLOR_0");
        if (!p->has_own_vertices || !item.json) continue;
        if (!mesh->colors) {
            if (!(mesh->colors = GLTF_NEW(g, g->arena, float, 3 * (size_t)mesh->vertex_count))) return false;
            for (size_t k = 0; k < 3 * (size_t)mesh->vertex_count; k++) mesh->colors[k] = 1;
        }
        if (!read_colors(g, p, item)) return false;
    }
    return true;
}

/* -- Influences --------------------------------------------------------------------------------------------------- */

typedef struct raw_weights {
    const gltf_skin *skin;
    uint32_t sets;
    uint32_t **joints; /* [sets][count][4] */
    float **weights;
    double tolerance;  /* of the sum, given the precision of integers */
    uint32_t *slot_of; /* [joints of the skeleton] 1 + index of the joint in the current vertex */
} raw_weights;

static bool read_weight_set(gltf *g, pelt_arena *scratch, const part *p, raw_weights *raw, uint32_t set) {
    gltf_item joints = attribute_set(p, "JOINTS", set), weights = attribute_set(p, "WEIGHTS", set);
    gltf_accessor j, w;
    if (!pelt_gltf_accessor_open(g, joints, "VEC4", &j) || !pelt_gltf_accessor_open(g, weights, "VEC4", &w))
        return false;
    if (j.count != p->count || w.count != p->count)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, weights, "%u weights and %u joints for %u vertices", w.count, j.count,
                              p->count);
    w.normalized = true; /* integers are always normalized here */
    raw->tolerance += w.type == GLTF_UBYTE ? 2 / 255.0 : w.type == GLTF_USHORT ? 2 / 65535.0 : 0;
    raw->joints[set] = GLTF_NEW(g, scratch, uint32_t, 4 * (size_t)p->count);
    raw->weights[set] = GLTF_NEW(g, scratch, float, 4 * (size_t)p->count);
    return !g->error.code && pelt_gltf_accessor_integers(g, &j, raw->joints[set]) &&
           pelt_gltf_accessor_floats(g, &w, raw->weights[set]);
}

static bool read_weight_sets(gltf *g, pelt_arena *scratch, const gltf_scene *scene, const part *p, raw_weights *raw) {
    raw->skin = &scene->skins[scene->skins_of[p->node]];
    raw->sets = weight_sets(scene, p);
    raw->tolerance = 1e-3;
    raw->joints = GLTF_NEW(g, scratch, uint32_t *, raw->sets);
    raw->weights = GLTF_NEW(g, scratch, float *, raw->sets);
    raw->slot_of = GLTF_NEW(g, scratch, uint32_t, g->bundle->skeleton.joint_count);
    if (g->error.code) return false;
    if (!raw->sets)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, p->primitive,
                              "has no JOINTS_0, but its node has a skin; bind it to the skin");
    for (uint32_t s = 0; s < raw->sets; s++)
        if (!read_weight_set(g, scratch, p, raw, s)) return false;
    return true;
}

/* Adds the weight of one slot to the current vertex, whose influences end at *end; a joint is listed only once. */
static bool add_influence(gltf *g, const part *p, const raw_weights *raw, uint32_t v, uint32_t slot, float weight,
                          uint32_t *end) {
    pelt_influences *in = &g->bundle->mesh.influences;
    uint32_t joint = raw->joints[slot / 4][4 * (size_t)v + slot % 4];
    if (joint >= raw->skin->joint_count)
        return pelt_gltf_fail(g, PELT_ERROR_INDEX, attribute_set(p, "JOINTS", slot / 4),
                              "vertex %u has joint %u, but the skin has only %u", v, joint, raw->skin->joint_count);
    uint32_t *where = &raw->slot_of[raw->skin->joints[joint]];
    if (!*where) {
        in->joints[*end] = raw->skin->joints[joint];
        *where = ++*end;
    }
    in->weights[*where - 1] += weight;
    return true;
}

/* Appends the influences of one vertex to those before it. Slots with zero weight may name any joint; a vertex without
   weight follows the joint of its first slot, as in three.js. */
static bool gather_vertex(gltf *g, const part *p, const raw_weights *raw, uint32_t v, uint32_t *end, double *sum) {
    uint32_t begin = *end;
    *sum = 0;
    for (uint32_t slot = 0; slot < 4 * raw->sets; slot++) {
        float weight = raw->weights[slot / 4][4 * (size_t)v + slot % 4];
        if (weight < -1e-4f)
            return pelt_gltf_fail(g, PELT_ERROR_DATA, attribute_set(p, "WEIGHTS", slot / 4),
                                  "vertex %u has weight %g, but weights cannot be negative", v, weight);
        if (weight > 0 && !add_influence(g, p, raw, v, slot, weight, end)) return false;
        *sum += weight > 0 ? weight : 0;
    }
    if (*end == begin && !add_influence(g, p, raw, v, 0, 0, end)) return false;
    for (uint32_t i = begin; i < *end; i++) raw->slot_of[g->bundle->mesh.influences.joints[i]] = 0;
    return true;
}

static void note_repair(weight_repairs *repairs, uint32_t vertex, double sum, double tolerance) {
    if (sum <= 0) {
        if (!repairs->bare_count++) repairs->bare_vertex = vertex;
    } else if (fabs(sum - 1) > tolerance) {
        if (!repairs->off_count++ || fabs(sum - 1) > fabs(repairs->off_sum - 1)) {
            repairs->off_sum = sum;
            repairs->off_vertex = vertex;
        }
    }
}

static bool read_skinned(gltf *g, const gltf_scene *scene, const part *p, uint32_t *end, weight_repairs *repairs) {
    pelt_influences *in = &g->bundle->mesh.influences;
    PELT_SCOPED pelt_arena *scratch = pelt_arena_new(0);
    raw_weights raw;
    if (!read_weight_sets(g, scratch, scene, p, &raw)) return false;
    for (uint32_t v = 0; v < p->count; v++) {
        uint32_t begin = *end;
        double sum;
        if (!gather_vertex(g, p, &raw, v, end, &sum)) return false;
        if (pelt_normalise_weights(in->weights + begin, *end - begin) <= 0) in->weights[begin] = 1;
        note_repair(repairs, p->first + v, sum, raw.tolerance);
        in->first[p->first + v + 1] = *end;
    }
    return true;
}

static void bind_rigidly(gltf *g, const gltf_scene *scene, const part *p, uint32_t *end) {
    pelt_influences *in = &g->bundle->mesh.influences;
    for (uint32_t v = 0; v < p->count; v++) {
        in->joints[*end] = (uint32_t)scene->rigid_joints[p->node];
        in->weights[(*end)++] = 1;
        in->first[p->first + v + 1] = *end;
    }
}

/* Whether the mesh has a skeleton but no weights in any part. */
static bool has_no_weights(const parts *all) {
    for (uint32_t i = 0; i < all->count; i++)
        if (all->scene->skins_of[all->list[i].node] < 0 || weight_sets(all->scene, &all->list[i])) return false;
    return true;
}

static void note_no_weights(gltf *g) {
    pelt_mesh *mesh = &g->bundle->mesh;
    memset(mesh->influences.first, 0, ((size_t)mesh->vertex_count + 1) * sizeof *mesh->influences.first);
    pelt_find(&g->bundle->notes, g->arena, PELT_NOTE, "no-weights",
              "the mesh has a skeleton but no weights; use a blend that needs none, distance or fit");
}

static bool read_influences(gltf *g, const parts *all) {
    weight_repairs repairs = {0};
    uint32_t end = 0;
    if (has_no_weights(all)) return note_no_weights(g), true;
    for (uint32_t i = 0; i < all->count; i++) {
        const part *p = &all->list[i];
        if (!p->has_own_vertices) continue;
        if (all->scene->skins_of[p->node] < 0)
            bind_rigidly(g, all->scene, p, &end);
        else if (!read_skinned(g, all->scene, p, &end, &repairs))
            return false;
    }
    if (repairs.bare_count && repairs.bare_count == all->vertex_count) return note_no_weights(g), true;
    if (repairs.off_count)
        pelt_find(&g->bundle->notes, g->arena, PELT_WARNING, "weight-sum",
                  "the weights of %u vertices do not sum to 1 (worst: %.4g at vertex %u); they were normalised",
                  repairs.off_count, repairs.off_sum, repairs.off_vertex);
    if (repairs.bare_count)
        pelt_find(
            &g->bundle->notes, g->arena, PELT_WARNING, "unweighted",
            "%u vertices have no weight at all (the first is vertex %u); they follow the first joint that they list",
            repairs.bare_count, repairs.bare_vertex);
    return true;
}

/* -- Morph targets ------------------------------------------------------------------------------------------------ */

typedef struct displacements {
    uint32_t count, *vertices;
    float *deltas;
} displacements;

static gltf_item target_attribute(const part *p, uint32_t target, const char *name) {
    return pelt_gltf_member(pelt_gltf_element(pelt_gltf_member(p->primitive, "targets"), target), name);
}

/* A change d of a normal becomes C d / |C n|, so that its sum with the unit normal C n / |C n| points along C (n + d).
   C is the cofactor matrix, and |n / |C n|| = |C^-1 (C n / |C n|)| = |M^T (C n / |C n|)| / |det M|. */
static void move_normal(const pelt_affine *place, const float normal[3], const float from[3], float out[3]) {
    const double *m = place->m;
    double whole = pelt_affine_determinant(m), square = 0, moved[3];
    for (int i = 0; i < 3; i++) square += pow(m[i] * normal[0] + m[4 + i] * normal[1] + m[8 + i] * normal[2], 2);
    turn(place, from, moved);
    for (int i = 0; i < 3; i++) out[i] = whole != 0 ? (float)(moved[i] * sqrt(square) / whole) : 0;
}

/* The changes of one attribute, POSITION or NORMAL. */
static bool read_part_target(gltf *g, pelt_arena *scratch, const parts *all, const part *p, uint32_t target,
                             const char *name, displacements *out) {
    gltf_item item = target_attribute(p, target, name);
    gltf_accessor a;
    pelt_affine place;
    *out = (displacements){0};
    if (!item.json) return true;
    if (!pelt_gltf_accessor_open(g, item, "VEC3", &a)) return false;
    if (a.count != p->count)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, item, "%u displacements for %u vertices", a.count, p->count);
    if (!pelt_gltf_accessor_nonzero(g, scratch, &a, &out->count, &out->vertices, &out->deltas)) return false;
    pelt_gltf_part_place(all->scene, p, &place);
    bool moved = memcmp(&place, &pelt_identity, sizeof place) != 0;
    for (uint32_t i = 0; i < out->count; i++) {
        float *d = out->deltas + 3 * (size_t)i, from[3] = {d[0], d[1], d[2]};
        out->vertices[i] += p->first;
        if (moved && *name == 'N') move_normal(&place, g->bundle->mesh.normals + 3 * (size_t)out->vertices[i], from, d);
        for (int k = 0; moved && k < 3; k++) {
            if (*name == 'P')
                d[k] = (float)(place.m[4 * k] * from[0] + place.m[4 * k + 1] * from[1] + place.m[4 * k + 2] * from[2]);
            if (!isfinite(d[k]))
                return pelt_gltf_fail(g, PELT_ERROR_NUMBER, item, "is moved beyond the range of a float");
        }
    }
    return true;
}

/* One target of the parts of a node, in vertex order. */
static bool read_target(gltf *g, pelt_arena *scratch, const parts *all, uint32_t begin, uint32_t end, uint32_t index,
                        const char *attribute_name, pelt_target *target) {
    displacements *pieces = GLTF_NEW(g, scratch, displacements, end - begin);
    size_t total = 0, filled = 0;
    if (!pieces) return false;
    for (uint32_t i = begin; i < end; i++) {
        if (!all->list[i].has_own_vertices) continue;
        if (!read_part_target(g, scratch, all, &all->list[i], index, attribute_name, &pieces[i - begin])) return false;
        total += pieces[i - begin].count;
    }
    uint32_t *vertices = GLTF_NEW(g, g->arena, uint32_t, total);
    float *deltas = GLTF_NEW(g, g->arena, float, 3 * total);
    if (g->error.code) return false;
    for (uint32_t i = 0; i < end - begin; i++) {
        if (!pieces[i].count) continue;
        memcpy(vertices + filled, pieces[i].vertices, pieces[i].count * sizeof *vertices);
        memcpy(deltas + 3 * filled, pieces[i].deltas, 3 * (size_t)pieces[i].count * sizeof *deltas);
        filled += pieces[i].count;
    }
    int32_t mesh = all->scene->meshes[all->list[begin].node];
    gltf_item names =
        pelt_gltf_member(pelt_gltf_member(pelt_gltf_entry(g, "meshes", (size_t)mesh), "extras"), "targetNames");
    const char *name = pelt_gltf_text(pelt_gltf_element(names, index), NULL);
    target->name = name ? pelt_arena_format(g->arena, "%s", name) : pelt_arena_format(g->arena, "target%u", index);
    target->count = (uint32_t)total;
    target->vertices = vertices;
    target->deltas = deltas;
    return target->name ? true : pelt_gltf_out_of_memory(g);
}

/* Whether all parts with targets have normals, and normal deltas with every position delta: normals of only some
   vertices are useless. */
static bool has_target_normals(gltf *g, const parts *all) {
    bool any = false;
    for (uint32_t i = 0; i < all->count; i++) {
        const part *p = &all->list[i];
        uint32_t n = 0;
        if (!pelt_gltf_length(g, pelt_gltf_member(p->primitive, "targets"), &n)) return false;
        any |= n > 0;
        if (n && !attribute(p, "NORMAL").json) return false;
        for (uint32_t t = 0; t < n; t++)
            if (target_attribute(p, t, "POSITION").json && !target_attribute(p, t, "NORMAL").json) return false;
    }
    return any;
}

/* Visits the targets of every node; with `targets` NULL it only counts them. `normals` may be NULL. */
static bool each_target(gltf *g, const parts *all, pelt_target *targets, pelt_target *normals, uint32_t *count) {
    *count = 0;
    for (uint32_t begin = 0, end; begin < all->count; begin = end) {
        uint32_t in_node = 0, n;
        for (end = begin; end < all->count && all->list[end].node == all->list[begin].node; end++) {
            gltf_item list = pelt_gltf_member(all->list[end].primitive, "targets");
            if (!pelt_gltf_length(g, list, &n)) return false;
            if (end > begin && n != in_node)
                return pelt_gltf_fail(g, PELT_ERROR_DATA, list, "%u targets, but another primitive of the mesh has %u",
                                      n, in_node);
            in_node = n;
        }
        for (uint32_t t = 0; targets && t < in_node; t++) {
            PELT_SCOPED pelt_arena *scratch = pelt_arena_new(0);
            if (!read_target(g, scratch, all, begin, end, t, "POSITION", &targets[*count + t]) ||
                (normals && !read_target(g, scratch, all, begin, end, t, "NORMAL", &normals[*count + t])))
                return false;
        }
        all->scene->first_targets[all->list[begin].node] = *count;
        all->scene->target_counts[all->list[begin].node] = in_node;
        *count += in_node;
    }
    return true;
}

/* -- All ---------------------------------------------------------------------------------------------------------- */

static bool allocate_mesh(gltf *g, const parts *all) {
    pelt_mesh *mesh = &g->bundle->mesh;
    mesh->vertex_count = (uint32_t)all->vertex_count;
    mesh->triangle_count = (uint32_t)all->triangle_count;
    mesh->positions = GLTF_NEW(g, g->arena, float, 3 * all->vertex_count);
    mesh->normals = GLTF_NEW(g, g->arena, float, 3 * all->vertex_count);
    mesh->triangles = GLTF_NEW(g, g->arena, uint32_t, 3 * all->triangle_count);
    mesh->influences.first = GLTF_NEW(g, g->arena, uint32_t, all->vertex_count + 1);
    mesh->influences.joints = GLTF_NEW(g, g->arena, uint32_t, all->influence_count);
    mesh->influences.weights = GLTF_NEW(g, g->arena, float, all->influence_count);
    return !g->error.code;
}

/* A name from the file, or one made from its index. */
static const char *name_of(gltf *g, gltf_item item, const char *kind, uint32_t index) {
    const char *name = pelt_gltf_text(pelt_gltf_member(item, "name"), NULL);
    char *text = name ? pelt_arena_format(g->arena, "%s", name) : pelt_arena_format(g->arena, "%s%u", kind, index);
    if (!text) pelt_gltf_out_of_memory(g);
    return text;
}

static bool name_parts(gltf *g, const parts *all) {
    pelt_mesh *mesh = &g->bundle->mesh;
    if (!(mesh->parts = GLTF_NEW(g, g->arena, pelt_part, all->count))) return false;
    for (uint32_t i = 0; i < all->count; i++) {
        const part *p = &all->list[i];
        pelt_part *out = &mesh->parts[mesh->part_count++];
        gltf_item node = pelt_gltf_entry(g, "nodes", p->node), material = pelt_gltf_member(p->primitive, "material");
        uint32_t shape = (uint32_t)all->scene->meshes[p->node], index;
        out->triangle_count = triangle_count(p);
        out->name = pelt_gltf_text(pelt_gltf_member(node, "name"), NULL)
                        ? name_of(g, node, "node", p->node)
                        : name_of(g, pelt_gltf_entry(g, "meshes", shape), "mesh", shape);
        if (material.json && !pelt_gltf_reference(g, material, "materials", &index)) return false;
        if (material.json) out->material = name_of(g, pelt_gltf_entry(g, "materials", index), "material", index);
    }
    return !g->error.code;
}

static bool read_geometry(gltf *g, const parts *all) {
    pelt_mesh *mesh = &g->bundle->mesh;
    uint32_t *triangles = mesh->triangles;
    pelt_affine place;
    for (uint32_t i = 0; i < all->count; i++) {
        const part *p = &all->list[i];
        pelt_gltf_part_place(all->scene, p, &place);
        if (p->has_own_vertices && !read_positions(g, p, &place)) return false;
        if (!read_triangles(g, p, &place, &triangles)) return false;
    }
    if (!pelt_smooth_normals(mesh)) return pelt_gltf_out_of_memory(g);
    for (uint32_t i = 0; i < all->count; i++) {
        pelt_gltf_part_place(all->scene, &all->list[i], &place);
        if (all->list[i].has_own_vertices && !read_normals(g, &all->list[i], &place)) return false;
    }
    if (!read_all_tangents(g, all)) return false;
    double diagonal = pelt_diagonal(mesh->positions, mesh->vertex_count);
    mesh->diagonal = (float)diagonal;
    return isfinite(mesh->diagonal) ? true
                                    : pelt_gltf_fail(g, PELT_ERROR_NUMBER, g->root, "its mesh is too large for floats");
}

/* Objects in vertex order: each node that has vertices. */
static bool list_objects(gltf *g, const gltf_parts *all) {
    pelt_mesh_object *list = GLTF_NEW(g, g->arena, pelt_mesh_object, all->count), *last = list;
    if (!list) return false;
    for (uint32_t i = 0; i < all->count; i++) {
        const gltf_part *p = &all->list[i];
        if (!p->has_own_vertices) continue;
        if (i && p->node == all->list[i - 1].node && last > list) {
            last[-1].count = p->first + p->count - last[-1].first;
            continue;
        }
        const char *mesh = pelt_gltf_text(
            pelt_gltf_member(pelt_gltf_entry(g, "meshes", (size_t)all->scene->meshes[p->node]), "name"), "");
        const char *name = pelt_gltf_text(pelt_gltf_member(pelt_gltf_entry(g, "nodes", p->node), "name"), mesh);
        *last = (pelt_mesh_object){.first = p->first, .count = p->count};
        last->name = pelt_arena_format(g->arena, "%s", name), last->mesh_name = pelt_arena_format(g->arena, "%s", mesh);
        if (!last->name || !last->mesh_name) return pelt_gltf_out_of_memory(g);
        last++;
    }
    g->bundle->mesh.objects = list, g->bundle->mesh.object_count = (uint32_t)(last - list);
    return true;
}

bool pelt_gltf_read_mesh(gltf *g, const gltf_scene *scene, gltf_parts *all) {
    pelt_mesh *mesh = &g->bundle->mesh;
    *all = (gltf_parts){.scene = scene};
    if (!survey(g, all) || !allocate_mesh(g, all) || !read_geometry(g, all) || !read_all_colors(g, all) ||
        !read_influences(g, all) || !name_parts(g, all) || !list_objects(g, all))
        return false;
    uint32_t count;
    if (!each_target(g, all, NULL, NULL, &count)) return false;
    if (!(mesh->targets = GLTF_NEW(g, g->arena, pelt_target, count))) return false;
    if (has_target_normals(g, all) && !(mesh->target_normals = GLTF_NEW(g, g->arena, pelt_target, count))) return false;
    mesh->target_count = count;
    return each_target(g, all, mesh->targets, mesh->target_normals, &count);
}
