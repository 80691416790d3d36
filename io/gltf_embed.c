/* gltf_embed.c: a skin inside a glTF file, as the extension PELT_skin (docs/format.md).

       "extensions": {"PELT_skin": {"version": 1, "bufferView": 9, "joints": [node, ...],
                                    "parts": [{"node": n, "primitive": p, "firstVertex": v, "vertexCount": c}, ...]}}

   Joint j of the skin is the node joints[j]; a part's vertices are the skin's from firstVertex on. */

#include "io/gltf_out.h"
#include <string.h>

static const char name[] = "PELT_skin";

/* -- Writing --------------------------------------------------------------------------------------------------------- */

static void announce(gltf_output *out) {
    json_t *used = pelt_gltf_get(out, out->root, "extensionsUsed", json_array), *word;
    size_t i;
    json_array_foreach(used, i, word) if (json_is_string(word) && !strcmp(json_string_value(word), name)) return;
    pelt_gltf_append(out, used, json_string(name));
}

/* The skin's bytes. The skin records the mesh it was made for; if the edit moved the rest pose, that record is cleared,
   so that the file can be read together with its own skin. */
static const void *bytes_of(const gltf_editing *e, const pelt_bytes *skin) {
    pelt_skin opened;
    uint8_t *copy = e->reshaped ? PELT_NEW(e->out->arena, skin->size, uint8_t) : NULL;
    if (!copy) return skin->bytes;
    memcpy(copy, skin->bytes, skin->size);
    if (pelt_open(copy, skin->size, &opened) == PELT_OK && opened.mesh_hash)
        memset(copy + ((const uint8_t *)opened.mesh_hash - copy), 0, sizeof *opened.mesh_hash);
    return copy;
}

void pelt_gltf_embed(gltf_editing *e) {
    gltf_output *out = e->out;
    const pelt_bytes *skin = out->content->embed;
    json_t *extensions = pelt_gltf_get(out, out->root, "extensions", json_object);
    size_t old;
    if (pelt_gltf_is_index(json_object_get(json_object_get(extensions, name), "bufferView"), e->view_count, &old))
        e->freed_view = (int)old;
    announce(out);
    json_t *object = pelt_gltf_set(out, extensions, name, json_pack("{s:i}", "version", 1));
    int bytes = pelt_gltf_add_view(out, bytes_of(e, skin), skin->size, 0);
    pelt_gltf_set(out, object, "bufferView", json_integer(bytes));
    json_t *joints = pelt_gltf_set(out, object, "joints", json_array());
    for (uint32_t j = 0; j < out->content->embed_joints; j++)
        pelt_gltf_append(out, joints, json_integer(e->node_of[j]));
    json_t *parts = pelt_gltf_set(out, object, "parts", json_array());
    for (uint32_t i = 0; i < e->parts.count; i++) {
        const gltf_part *p = &e->parts.list[i];
        pelt_gltf_append(out, parts,
                         json_pack("{s:I, s:I, s:I, s:I}", "node", (json_int_t)e->shown_by[p->node], "primitive",
                                   (json_int_t)p->index, "firstVertex", (json_int_t)p->first, "vertexCount",
                                   (json_int_t)p->count));
    }
}

/* -- Reading --------------------------------------------------------------------------------------------------------- */

static pelt_bytes *read_embedded(gltf *g) {
    gltf_item extension = pelt_gltf_member(pelt_gltf_member(g->root, "extensions"), name);
    uint64_t version;
    gltf_item view;
    gltf_buffer found;
    if (!extension.json) {
        pelt_gltf_fail(g, PELT_ERROR_FORMAT, g->root,
                       "contains no skin; name a .pelt file, or a glTF file written by pelt export --embed");
        return NULL;
    }
    if (!pelt_gltf_natural(g, pelt_gltf_member(extension, "version"), 0, &version)) return NULL;
    if (version != 1) {
        pelt_gltf_fail(g, PELT_ERROR_UNSUPPORTED, extension,
                       "is version %llu, which this version of pelt does not know", (unsigned long long)version);
        return NULL;
    }
    if (!pelt_gltf_view(g, extension, &view, &found)) return NULL;
    pelt_bytes *bytes = pelt_bytes_new(found.size);
    if (bytes)
        memcpy(bytes->bytes, found.bytes, found.size);
    else
        pelt_gltf_out_of_memory(g);
    return bytes;
}

pelt_bytes *pelt_embedded_skin(const pelt_file *file, const char *path, pelt_error *error) {
    pelt_bundle bundle = {.arena = NULL};
    gltf g = {.path = path, .bundle = &bundle};
    pelt_bytes *bytes = pelt_gltf_begin(&g, file) ? read_embedded(&g) : NULL;
    pelt_gltf_close(&g, bytes, error);
    return bytes;
}
