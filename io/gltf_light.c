/* gltf_light.c: a glTF file as a scene to light.

   Geometry is the rest pose, flattened by the character reader; this file adds what that reader ignores: the material
   of each triangle (base colour as albedo, emissive colour and strength), the lights of KHR_lights_punctual (candela
   and lux are taken as radiant units) and the first perspective camera. Textures are not read. */

#include "io/gltf_light.h"
#include "io/gltf.h"
#include <math.h>
#include <string.h>

static bool read_number(gltf *g, gltf_item item, double fallback, double low, double high, double *value) {
    *value = fallback;
    if (!item.json) return true;
    *value = json_number_value(item.json);
    if (json_is_number(item.json) && *value >= low && *value <= high) return true;
    return pelt_gltf_fail(g, PELT_ERROR_NUMBER, item, "must be a number from %g to %g", low, high);
}

/* -- Materials ---------------------------------------------------------------------------------------------------- */

static bool read_material(gltf *g, gltf_item item, pelt_material *out) {
    double color[4] = {1, 1, 1, 1}, emission[3] = {0, 0, 0}, strength;
    gltf_item extension = pelt_gltf_member(pelt_gltf_member(item, "extensions"), "KHR_materials_emissive_strength");
    if (!pelt_gltf_numbers(g, pelt_gltf_member(pelt_gltf_member(item, "pbrMetallicRoughness"), "baseColorFactor"), 4,
                           color) ||
        !pelt_gltf_numbers(g, pelt_gltf_member(item, "emissiveFactor"), 3, emission) ||
        !read_number(g, pelt_gltf_member(extension, "emissiveStrength"), 1, 0, 1e30, &strength))
        return false;
    for (int c = 0; c < 3; c++) {
        out->albedo[c] = (float)fmin(fmax(color[c], 0), 1);
        out->emission[c] = (float)fmax(emission[c] * strength, 0);
    }
    return true;
}

/* The last material is for primitives without one. */
static bool read_materials(gltf *g, pelt_scene *scene) {
    uint32_t count;
    if (!pelt_gltf_length(g, pelt_gltf_member(g->root, "materials"), &count)) return false;
    scene->materials = GLTF_NEW(g, g->arena, pelt_material, count + 1);
    if (!scene->materials) return false;
    scene->material_count = count + 1;
    scene->materials[count] = (pelt_material){.albedo = {1, 1, 1}};
    for (uint32_t i = 0; i < count; i++)
        if (!read_material(g, pelt_gltf_entry(g, "materials", i), &scene->materials[i])) return false;
    return true;
}

static bool assign_materials(gltf *g, const gltf_parts *parts, pelt_scene *scene) {
    uint32_t done = 0, material;
    for (uint32_t i = 0; i < parts->count; i++) {
        gltf_item named = pelt_gltf_member(parts->list[i].primitive, "material");
        material = scene->material_count - 1;
        if (named.json && !pelt_gltf_reference(g, named, "materials", &material)) return false;
        for (uint32_t t = 0; t < g->bundle->mesh.parts[i].triangle_count; t++)
            scene->triangle_materials[done++] = material;
    }
    return true;
}

/* -- Objects ------------------------------------------------------------------------------------------------------ */

/* Every node is an object, so that its children move along. */
static bool read_objects(gltf *g, const gltf_scene *nodes, const gltf_parts *parts, pelt_scene *scene) {
    scene->object_names = GLTF_NEW(g, g->arena, const char *, nodes->node_count);
    scene->object_parents = GLTF_NEW(g, g->arena, int32_t, nodes->node_count);
    scene->vertex_objects = GLTF_NEW(g, g->arena, uint32_t, scene->vertex_count);
    if (!scene->object_names || !scene->object_parents || !scene->vertex_objects) return false;
    scene->object_count = nodes->node_count;
    for (uint32_t i = 0; i < nodes->node_count; i++) {
        const char *name = pelt_gltf_text(pelt_gltf_member(pelt_gltf_entry(g, "nodes", i), "name"), "");
        scene->object_names[i] = pelt_arena_format(g->arena, "%s", name);
        scene->object_parents[i] = nodes->parents[i];
        if (!scene->object_names[i]) return pelt_gltf_out_of_memory(g);
    }
    for (uint32_t i = 0; i < parts->count; i++)
        for (uint32_t v = 0; v < parts->list[i].count; v++)
            scene->vertex_objects[parts->list[i].first + v] = parts->list[i].node;
    return true;
}

/* -- Lights and camera --------------------------------------------------------------------------------------------- */

/* Column c of a node's matrix, normalised. */
static void axis_of(const pelt_affine *place, int column, double axis[3]) {
    double length = 0;
    for (int r = 0; r < 3; r++) axis[r] = place->m[4 * r + column], length += axis[r] * axis[r];
    for (int r = 0; r < 3; r++) axis[r] = length > 0 ? axis[r] / sqrt(length) : r == column;
}

static bool read_light(gltf *g, gltf_item item, const pelt_affine *place, pelt_light *out) {
    double color[3] = {1, 1, 1}, axis[3], intensity, inner, outer;
    const char *type = pelt_gltf_text(pelt_gltf_member(item, "type"), "");
    gltf_item spot = pelt_gltf_member(item, "spot");
    if (!pelt_gltf_numbers(g, pelt_gltf_member(item, "color"), 3, color) ||
        !read_number(g, pelt_gltf_member(item, "intensity"), 1, 0, 1e30, &intensity) ||
        !read_number(g, pelt_gltf_member(spot, "innerConeAngle"), 0, 0, M_PI / 2, &inner) ||
        !read_number(g, pelt_gltf_member(spot, "outerConeAngle"), M_PI / 4, 0, M_PI / 2 + 1e-6, &outer))
        return false;
    if (!strcmp(type, "point"))
        out->kind = PELT_LIGHT_POINT;
    else if (!strcmp(type, "spot"))
        out->kind = PELT_LIGHT_SPOT;
    else if (!strcmp(type, "directional"))
        out->kind = PELT_LIGHT_FAR;
    else
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, pelt_gltf_member(item, "type"),
                              "is not point, spot or directional");
    axis_of(place, 2, axis);
    out->intensity = (float)intensity, out->inner_cone = (float)inner, out->outer_cone = (float)outer;
    for (int c = 0; c < 3; c++) {
        out->position[c] = (float)place->m[4 * c + 3];
        out->direction[c] = (float)-axis[c];
        out->color[c] = (float)fmax(color[c], 0);
    }
    return true;
}

static bool read_lights(gltf *g, const gltf_scene *nodes, pelt_scene *scene) {
    gltf_item all = pelt_gltf_member(pelt_gltf_member(g->root, "extensions"), "KHR_lights_punctual");
    gltf_item list = pelt_gltf_member(all, "lights");
    uint32_t known;
    if (!pelt_gltf_length(g, list, &known)) return false;
    scene->lights = GLTF_NEW(g, g->arena, pelt_light, nodes->node_count);
    if (!scene->lights) return false;
    for (uint32_t i = 0; i < nodes->node_count; i++) {
        gltf_item extensions = pelt_gltf_member(pelt_gltf_entry(g, "nodes", i), "extensions");
        gltf_item named = pelt_gltf_member(pelt_gltf_member(extensions, "KHR_lights_punctual"), "light");
        uint64_t index;
        if (!named.json) continue;
        if (!pelt_gltf_natural(g, named, 0, &index)) return false;
        if (index >= known) return pelt_gltf_fail(g, PELT_ERROR_INDEX, named, "the file has only %u lights", known);
        if (!read_light(g, pelt_gltf_element(list, index), &nodes->globals[i], &scene->lights[scene->light_count++]))
            return false;
    }
    return true;
}

static bool read_camera(gltf *g, const gltf_scene *nodes, pelt_scene *scene) {
    for (uint32_t i = 0; i < nodes->node_count && !scene->has_camera; i++) {
        gltf_item named = pelt_gltf_member(pelt_gltf_entry(g, "nodes", i), "camera");
        uint32_t index;
        if (!named.json) continue;
        if (!pelt_gltf_reference(g, named, "cameras", &index)) return false;
        gltf_item lens = pelt_gltf_member(pelt_gltf_entry(g, "cameras", index), "perspective");
        if (!lens.json) continue;
        if (!read_number(g, pelt_gltf_member(lens, "yfov"), 0.8, 1e-3, 3.1, &scene->camera.field_of_view)) return false;
        for (int c = 0; c < 3; c++) {
            scene->camera.eye[c] = nodes->globals[i].m[4 * c + 3];
            axis_of(&nodes->globals[i], c, scene->camera.axes[c]);
        }
        scene->has_camera = true;
    }
    return true;
}

/* -- All ---------------------------------------------------------------------------------------------------------- */

static bool take_mesh(gltf *g, pelt_scene *scene) {
    const pelt_mesh *mesh = &g->bundle->mesh;
    scene->vertex_count = mesh->vertex_count;
    scene->triangle_count = mesh->triangle_count;
    scene->positions = mesh->positions;
    scene->triangles = mesh->triangles;
    scene->triangle_materials = GLTF_NEW(g, g->arena, uint32_t, mesh->triangle_count);
    return scene->triangle_materials != NULL;
}

static bool read_all(gltf *g, const pelt_file *file, pelt_scene *scene) {
    gltf_scene nodes;
    gltf_parts parts;
    return pelt_gltf_begin(g, file) && pelt_gltf_read_scene(g, &nodes) && pelt_gltf_read_mesh(g, &nodes, &parts) &&
           take_mesh(g, scene) && read_materials(g, scene) && assign_materials(g, &parts, scene) &&
           read_objects(g, &nodes, &parts, scene) && read_lights(g, &nodes, scene) && read_camera(g, &nodes, scene);
}

pelt_result pelt_light_scene_parse(pelt_scene *scene, const pelt_file *file, const char *path, pelt_error *error) {
    pelt_bundle bundle = {.arena = scene->arena};
    gltf g = {.path = path, .bundle = &bundle, .arena = scene->arena};
    scene->name = path ? pelt_arena_format(scene->arena, "%s", path) : "glTF";
    return pelt_gltf_close(&g, scene->name ? read_all(&g, file, scene) : pelt_gltf_out_of_memory(&g), error);
}

pelt_scene *pelt_light_scene_read(const char *path, pelt_error *error) {
    PELT_SCOPED pelt_arena *file_arena = pelt_arena_new(0);
    pelt_file file;
    if (pelt_file_read(file_arena, path, &file, error)) return NULL;
    pelt_arena *arena = pelt_arena_new(PELT_READ_FACTOR / 2 * file.size + PELT_READ_LIMIT / 2);
    pelt_scene *scene = PELT_NEW(arena, 1, pelt_scene);
    if (scene) scene->arena = arena;
    if (!(scene ? pelt_light_scene_parse(scene, &file, path, error) : pelt_no_memory(error))) return scene;
    pelt_arena_free(arena);
    return NULL;
}
