/* characters.c: meshes, surfaces, poses and truth of characters, as bytes. Numbers are little-endian, like all machines
   pelt runs on. */

#include "rig/regions.h"
#include "view/show.h"
#include <string.h>

static const char BINARY[] = "application/octet-stream";

/* -- Meshes ------------------------------------------------------------------------------------------------------ */

static uint8_t *put(uint8_t *to, const void *from, size_t size) {
    if (size) memcpy(to, from, size);
    return to + size;
}

pelt_result view_pack_mesh(const float *positions, const float *normals, uint32_t vertex_count,
                           const uint32_t *triangles, uint32_t triangle_count, pelt_resource *out, pelt_error *error) {
    size_t row = 3 * sizeof(float) * (size_t)vertex_count, corners = 3 * sizeof(uint32_t) * (size_t)triangle_count;
    uint8_t *bytes = view_bytes(out, 8 + 2 * row + corners, BINARY, error);
    if (!bytes) return PELT_ERROR_MEMORY;
    bytes = put(put(bytes, &vertex_count, 4), &triangle_count, 4);
    put(put(put(bytes, positions, row), normals, row), triangles, corners);
    return PELT_OK;
}

/* A skin alone has no triangles: just points with normals. */
static pelt_result pack_points(const pelt_skin *skin, pelt_resource *out, pelt_error *error) {
    size_t count = 3 * (size_t)skin->vertex_count;
    float *both = malloc(2 * count * sizeof *both);
    if (!both) return pelt_no_memory(error);
    for (uint32_t v = 0; v < skin->vertex_count; v++) {
        size_t block = skin->vertex_slots[v] / 16, lane = skin->vertex_slots[v] % 16;
        for (size_t i = 0; i < 3; i++) {
            both[3 * (size_t)v + i] = skin->rest_positions[(3 * block + i) * 16 + lane];
            both[count + 3 * (size_t)v + i] = skin->rest_normals[(3 * block + i) * 16 + lane];
        }
    }
    pelt_result result = view_pack_mesh(both, both + count, skin->vertex_count, NULL, 0, out, error);
    free(both);
    return result;
}

pelt_result view_make_mesh(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_character *c = view_character_at(view, place.numbers[0]);
    if (!c) return view_absent(error);
    if (!c->bundle) return pack_points(&c->skins[0]->skin, out, error);
    const pelt_mesh *mesh = &c->bundle->mesh;
    return view_pack_mesh(mesh->positions, mesh->normals, mesh->vertex_count, mesh->triangles, mesh->triangle_count,
                          out, error);
}

pelt_result view_make_joints(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_character *c = view_character_at(view, place.numbers[0]);
    if (!c || !c->bundle) return view_absent(error);
    const pelt_mesh *mesh = &c->bundle->mesh;
    size_t size = mesh->vertex_count * sizeof(int32_t);
    int32_t *joints = malloc(size + 1);
    if (!joints) return pelt_no_memory(error);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t joint = pelt_dominant_joint(&mesh->influences, v);
        joints[v] = joint == PELT_NO_REGION ? -1 : (int32_t)joint;
    }
    *out = (pelt_resource){joints, size, BINARY};
    return PELT_OK;
}

/* -- Surfaces ---------------------------------------------------------------------------------------------------- */

pelt_result view_read_surface(pelt_view *view, view_character *c, pelt_error *error) {
    (void)view;
    pelt_error own;
    if (!error) error = &own;
    if (!c->surface) c->surface = pelt_surface_read(c->bundle->path, error);
    return c->surface ? PELT_OK : error->code;
}

static json_t *index_or_null(int32_t index) { return index < 0 ? json_null() : json_integer(index); }

static json_t *part_json(const pelt_surface_part *p) {
    static const char *const wraps[] = {"repeat", "mirror", "clamp"};
    return pelt_json_pack("{name:s, material:s, first_triangle:u, triangles:u, color:v4, image:o, normal:o, "
                          "metallic:f, roughness:f, alpha:s, cutoff:f, two_sided:b, wrap:[s s]}",
                          p->name ? p->name : "", p->material, p->first_triangle, p->triangle_count, p->color,
                          index_or_null(p->image), index_or_null(p->normal), p->metallic, p->roughness, p->alpha,
                          p->cutoff, p->two_sided, wraps[p->wrap[0]], wraps[p->wrap[1]]);
}

pelt_result view_make_surface(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const pelt_surface *s = view->characters[place.numbers[0]]->surface;
    json_t *parts = json_array(), *images = json_array();
    for (uint32_t i = 0; i < s->part_count; i++) parts = pelt_json_append(parts, part_json(&s->parts[i]));
    for (uint32_t i = 0; i < s->image_count; i++)
        images = pelt_json_append(images, pelt_json_pack("{file:o, type:s}",
                                                         pelt_json_format("data/c%u/image%u", place.numbers[0], i),
                                                         s->images[i].type));
    json_t *uvs = s->uvs ? pelt_json_format("data/c%u/uvs.bin", place.numbers[0]) : json_null();
    return view_json(out, pelt_json_pack("{uvs:o, images:o, parts:o}", uvs, images, parts), error);
}

static pelt_result copy_bytes(const void *bytes, size_t size, const char *type, pelt_resource *out, pelt_error *error) {
    void *copy = view_bytes(out, size, type, error);
    if (!copy) return PELT_ERROR_MEMORY;
    memcpy(copy, bytes, size);
    return PELT_OK;
}

pelt_result view_make_uvs(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_character *c = view->characters[place.numbers[0]];
    if (!c->surface->uvs) return view_absent(error);
    return copy_bytes(c->surface->uvs, 2 * sizeof(float) * (size_t)c->bundle->mesh.vertex_count, BINARY, out, error);
}

pelt_result view_make_image(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const pelt_surface *s = view->characters[place.numbers[0]]->surface;
    if (place.numbers[1] >= s->image_count) return view_absent(error);
    const pelt_surface_image *image = &s->images[place.numbers[1]];
    return copy_bytes(image->bytes, image->size, image->type, out, error);
}

/* -- Skins, clips ------------------------------------------------------------------------------------------------ */

pelt_result view_make_skin(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    if (!skin) return view_absent(error);
    return copy_bytes(skin->bytes->bytes, skin->bytes->size, BINARY, out, error);
}

pelt_result view_make_poses(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const pelt_clip *clip = view_clip_at(view, place.numbers[0], place.numbers[1]);
    if (!clip) return view_absent(error);
    const pelt_skeleton *skeleton = &view->characters[place.numbers[0]]->bundle->skeleton;
    size_t joints = skeleton->joint_count;
    pelt_transform *poses = view_bytes(out, clip->frame_count * joints * sizeof *poses, BINARY, error);
    if (!poses) return PELT_ERROR_MEMORY;
    for (uint32_t f = 0; f < clip->frame_count; f++) pelt_clip_pose(clip, skeleton, f, poses + f * joints);
    return PELT_OK;
}

pelt_result view_make_controls(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const pelt_clip *clip = view_clip_at(view, place.numbers[0], place.numbers[1]);
    const pelt_controls *controls = clip ? &view->characters[place.numbers[0]]->bundle->controls : NULL;
    if (!controls || !controls->count) return view_absent(error);
    float *values = view_bytes(out, (size_t)clip->frame_count * controls->count * sizeof *values, BINARY, error);
    if (!values) return PELT_ERROR_MEMORY;
    for (size_t f = 0; f < clip->frame_count; f++)
        pelt_clip_controls(clip, controls, (uint32_t)f, values + f * controls->count);
    return PELT_OK;
}

pelt_result view_make_truth(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    const pelt_clip *clip = view_clip_at(view, place.numbers[0], place.numbers[1]);
    if (place.numbers[2] >= clip->frame_count) return view_absent(error);
    size_t row = 3 * (size_t)view->characters[place.numbers[0]]->bundle->mesh.vertex_count;
    return copy_bytes(clip->positions + place.numbers[2] * row, row * sizeof(float), BINARY, out, error);
}
