/* surface.c: the materials and textures of a character in a glTF file.

   The file is read again like any bundle, which gives its parts in triangle order. This adds what fits do not need:
   material factors, colour and normal textures, and the colour's texture coordinates with KHR_texture_transform
   applied: uv' = offset + R(rotation) scale uv. */

#include "io/surface.h"
#include "io/gltf.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CLAMP = 33071, MIRROR = 33648 };
/* Hostile files reference one image over and over. */
#define MOST_PICTURE_BYTES ((size_t)256 << 20)

typedef struct reading {
    gltf *g;
    const gltf_parts *parts;
    pelt_surface *out;
    size_t picture_bytes;
    int32_t *taken; /* [images of the file] its index here; -1: not examined yet, -2: unusable */
} reading;

/* -- Pictures ---------------------------------------------------------------------------------------------------- */

static int32_t keep_image(reading *r, uint32_t index) {
    gltf_buffer found;
    pelt_error before = r->g->error;
    if (r->taken[index] != -1) return r->taken[index] < 0 ? -1 : r->taken[index];
    r->taken[index] = -2;
    bool there = r->picture_bytes < MOST_PICTURE_BYTES &&
                 pelt_gltf_image_bytes(r->g, pelt_gltf_entry(r->g, "images", index), &found);
    r->g->error = before; /* missing images are skipped */
    const char *type = there ? pelt_gltf_picture_type(&found) : NULL;
    bool shown = type && strcmp(type, "image/ktx2"); /* by browsers */
    uint8_t *copy = shown ? PELT_NEW(r->out->arena, found.size, uint8_t) : NULL;
    if (!copy) return -1;
    memcpy(copy, found.bytes, found.size);
    r->picture_bytes += found.size;
    r->out->images[r->out->image_count] = (pelt_surface_image){copy, found.size, type};
    return r->taken[index] = (int32_t)r->out->image_count++;
}

static pelt_wrap wrap_of(const gltf *g, uint32_t sampler, const char *key) {
    json_int_t mode = json_integer_value(pelt_gltf_member(pelt_gltf_entry(g, "samplers", sampler), key).json);
    return mode == CLAMP ? PELT_WRAP_CLAMP : mode == MIRROR ? PELT_WRAP_MIRROR : PELT_WRAP_REPEAT;
}

/* The image of a texture; -1 if there is none that can be shown. */
static bool read_texture(reading *r, gltf_item info, int32_t *image, pelt_wrap wrap[2]) {
    gltf *g = r->g;
    uint32_t texture, source, sampler;
    *image = -1;
    if (!info.json) return true;
    if (!pelt_gltf_reference(g, pelt_gltf_member(info, "index"), "textures", &texture)) return false;
    gltf_item item = pelt_gltf_entry(g, "textures", texture), from = pelt_gltf_member(item, "source");
    gltf_item webp =
        pelt_gltf_member(pelt_gltf_member(pelt_gltf_member(item, "extensions"), "EXT_texture_webp"), "source");
    if (webp.json) from = webp;
    if (from.json && !pelt_gltf_reference(g, from, "images", &source)) return false;
    if (from.json) *image = keep_image(r, source);
    gltf_item sampled = pelt_gltf_member(item, "sampler");
    if (!sampled.json) return true;
    if (!pelt_gltf_reference(g, sampled, "samplers", &sampler)) return false;
    wrap[0] = wrap_of(g, sampler, "wrapS"), wrap[1] = wrap_of(g, sampler, "wrapT");
    return true;
}

/* -- Texture coordinates ----------------------------------------------------------------------------------------- */

typedef struct transform {
    uint64_t set;
    double offset[2], scale[2], rotation;
} transform;

static bool read_transform(gltf *g, gltf_item info, transform *t) {
    gltf_item extension = pelt_gltf_member(pelt_gltf_member(info, "extensions"), "KHR_texture_transform");
    *t = (transform){.scale = {1, 1}};
    t->rotation = json_number_value(pelt_gltf_member(extension, "rotation").json);
    if (!isfinite(t->rotation)) t->rotation = 0;
    if (!pelt_gltf_natural(g, pelt_gltf_member(info, "texCoord"), 0, &t->set)) return false;
    return pelt_gltf_natural(g, pelt_gltf_member(extension, "texCoord"), t->set, &t->set) &&
           pelt_gltf_numbers(g, pelt_gltf_member(extension, "offset"), 2, t->offset) &&
           pelt_gltf_numbers(g, pelt_gltf_member(extension, "scale"), 2, t->scale);
}

static bool read_uvs(reading *r, const gltf_part *p, gltf_item info) {
    gltf *g = r->g;
    transform t;
    char key[40];
    if (!read_transform(g, info, &t)) return false;
    snprintf(key, sizeof key, "TEXCOORD_%llu", (unsigned long long)t.set);
    gltf_item item = pelt_gltf_member(pelt_gltf_member(p->primitive, "attributes"), key);
    if (!item.json || !p->has_own_vertices) return true;
    if (!r->out->uvs) r->out->uvs = PELT_NEW(r->out->arena, 2 * (size_t)g->bundle->mesh.vertex_count, float);
    if (!r->out->uvs) return pelt_gltf_out_of_memory(g);
    float *uvs = r->out->uvs + 2 * (size_t)p->first;
    if (!pelt_gltf_read_attribute(g, p, item, "VEC2", uvs)) return false;
    double c = cos(t.rotation), s = sin(t.rotation);
    for (uint32_t v = 0; v < p->count; v++, uvs += 2) {
        double x = t.scale[0] * uvs[0], y = t.scale[1] * uvs[1];
        uvs[0] = (float)(c * x + s * y + t.offset[0]), uvs[1] = (float)(c * y - s * x + t.offset[1]);
    }
    return true;
}

/* -- Parts ------------------------------------------------------------------------------------------------------- */

static float number(gltf_item item, double fallback, double low, double high) {
    double value = json_is_number(item.json) ? json_number_value(item.json) : fallback;
    return (float)fmin(fmax(value, low), high);
}

static bool read_material(reading *r, const gltf_part *p, gltf_item material, pelt_surface_part *out) {
    gltf *g = r->g;
    gltf_item metal = pelt_gltf_member(material, "pbrMetallicRoughness"),
              base = pelt_gltf_member(metal, "baseColorTexture");
    gltf_item bumps = pelt_gltf_member(material, "normalTexture");
    double color[4] = {1, 1, 1, 1};
    transform of_color, of_normals;
    pelt_wrap ignored[2];
    if (!pelt_gltf_numbers(g, pelt_gltf_member(metal, "baseColorFactor"), 4, color)) return false;
    for (int i = 0; i < 4; i++) out->color[i] = (float)fmin(fmax(color[i], 0), 1);
    out->metallic = number(pelt_gltf_member(metal, "metallicFactor"), 1, 0, 1);
    out->roughness = number(pelt_gltf_member(metal, "roughnessFactor"), 1, 0, 1);
    out->cutoff = number(pelt_gltf_member(material, "alphaCutoff"), 0.5, 0, 1);
    out->two_sided = json_is_true(pelt_gltf_member(material, "doubleSided").json);
    const char *alpha = pelt_gltf_text(pelt_gltf_member(material, "alphaMode"), "OPAQUE");
    out->alpha = !strcmp(alpha, "MASK") ? "MASK" : !strcmp(alpha, "BLEND") ? "BLEND" : "OPAQUE";
    if (!read_texture(r, base, &out->image, out->wrap) || !read_texture(r, bumps, &out->normal, ignored) ||
        !read_transform(g, base, &of_color) || !read_transform(g, bumps, &of_normals))
        return false;
    /* Only one set of coordinates is kept: a normal map that uses another is dropped. */
    if (out->image >= 0 && memcmp(&of_color, &of_normals, sizeof of_color)) out->normal = -1;
    return read_uvs(r, p, out->image >= 0 ? base : bumps);
}

static bool read_parts(reading *r) {
    gltf *g = r->g;
    const pelt_mesh *mesh = &g->bundle->mesh;
    uint32_t triangles = 0;
    for (uint32_t i = 0; i < r->parts->count; i++) {
        const gltf_part *p = &r->parts->list[i];
        const pelt_part *known = &mesh->parts[i];
        pelt_surface_part *out = &r->out->parts[r->out->part_count++];
        *out = (pelt_surface_part){.name = pelt_arena_format(r->out->arena, "%s", known->name ? known->name : ""),
                                   .first_triangle = triangles,
                                   .triangle_count = known->triangle_count,
                                   .color = {1, 1, 1, 1},
                                   .roughness = 1,
                                   .cutoff = 0.5f,
                                   .image = -1,
                                   .normal = -1,
                                   .alpha = "OPAQUE"};
        triangles += known->triangle_count;
        gltf_item material = pelt_gltf_member(p->primitive, "material");
        uint32_t index;
        if (!material.json) continue;
        if (known->material) out->material = pelt_arena_format(r->out->arena, "%s", known->material);
        if (!pelt_gltf_reference(g, material, "materials", &index) ||
            !read_material(r, p, pelt_gltf_entry(g, "materials", index), out))
            return false;
    }
    return true;
}

static bool read_surface(gltf *g, const pelt_file *file, pelt_surface *out) {
    gltf_scene scene;
    gltf_parts parts;
    uint32_t images;
    if (!pelt_gltf_read(g, file, &scene, &parts) || !pelt_gltf_length(g, pelt_gltf_member(g->root, "images"), &images))
        return false;
    reading r = {g, &parts, out, 0, PELT_NEW(g->scratch, images, int32_t)};
    out->parts = PELT_NEW(out->arena, parts.count, pelt_surface_part);
    out->images = PELT_NEW(out->arena, images, pelt_surface_image);
    if (!r.taken || !out->parts || !out->images) return pelt_gltf_out_of_memory(g);
    for (uint32_t i = 0; i < images; i++) r.taken[i] = -1;
    return read_parts(&r) && (!pelt_arena_failed(out->arena) || pelt_gltf_out_of_memory(g));
}

pelt_surface *pelt_surface_parse(const pelt_file *file, const char *path, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    PELT_SCOPED pelt_arena *read_into = pelt_arena_new(PELT_READ_LIMIT + PELT_READ_FACTOR * file->size);
    pelt_surface *out = PELT_NEW(arena, 1, pelt_surface);
    pelt_bundle bundle = {.arena = read_into};
    gltf g = {.path = path, .bundle = &bundle, .arena = read_into};
    if (out) out->arena = arena;
    bool done = out && read_into ? read_surface(&g, file, out) : pelt_gltf_out_of_memory(&g);
    if (!pelt_gltf_close(&g, done, error)) return out;
    pelt_arena_free(arena);
    return NULL;
}

pelt_surface *pelt_surface_read(const char *path, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_file file;
    return pelt_file_read(arena, path, &file, error) ? NULL : pelt_surface_parse(&file, path, error);
}

void pelt_surface_free(pelt_surface *surface) {
    if (surface) pelt_arena_free(surface->arena);
}
