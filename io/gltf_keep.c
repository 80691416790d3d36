/* gltf_keep.c: the bytes of an edited file.

   All buffers of the file become one, with the new arrays at its end. Whatever the edit released and nothing else
   references is dropped: accessors, views, and byte ranges that no view covers. The rest moves up, and references to it
   are updated. Extensions that pelt does not know may reference anything; if a file has one, nothing is dropped or
   renumbered.

   Images in side files are copied in as bytes, unless the new file is where it will find them too. URIs that cannot be
   read (a remote image, a missing file) stay as they are. */

#include "io/gltf_out.h"
#include "rig/text.h"
#include <stdlib.h>
#include <string.h>

/* -- References ------------------------------------------------------------------------------------------------------ */

/* Called for every reference that glTF defines: the number under a key of an object. */
typedef void visitor(void *user, json_t *owner, const char *key);

static void visit_members(json_t *object, visitor *visit, void *user) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value) visit(user, object, key);
}

static void visit_accessors(const json_t *root, visitor *visit, void *user) {
    size_t i, k, t;
    json_t *item, *primitive, *target, *sampler;
    json_array_foreach(json_object_get(root, "meshes"), i, item)
        json_array_foreach(json_object_get(item, "primitives"), k, primitive) {
        visit_members(json_object_get(primitive, "attributes"), visit, user);
        visit(user, primitive, "indices");
        json_array_foreach(json_object_get(primitive, "targets"), t, target) visit_members(target, visit, user);
    }
    json_array_foreach(json_object_get(root, "skins"), i, item) visit(user, item, "inverseBindMatrices");
    json_array_foreach(json_object_get(root, "animations"), i, item)
        json_array_foreach(json_object_get(item, "samplers"), k, sampler) {
        visit(user, sampler, "input");
        visit(user, sampler, "output");
    }
}

static void visit_views_of(json_t *accessor, visitor *visit, void *user) {
    json_t *sparse = json_object_get(accessor, "sparse");
    visit(user, accessor, "bufferView");
    visit(user, json_object_get(sparse, "indices"), "bufferView");
    visit(user, json_object_get(sparse, "values"), "bufferView");
}

static void visit_views(const json_t *root, visitor *visit, void *user) {
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(root, "accessors"), i, item) visit_views_of(item, visit, user);
    json_array_foreach(json_object_get(root, "images"), i, item) visit(user, item, "bufferView");
    visit(user, json_object_get(json_object_get(root, "extensions"), "PELT_skin"), "bufferView");
}

typedef struct numbering {
    gltf_output *out;
    size_t count;
    size_t *number; /* [count] while marking: 1 if used; then the new number */
} numbering;

static void mark(void *user, json_t *owner, const char *key) {
    numbering *n = user;
    size_t index;
    if (pelt_gltf_is_index(json_object_get(owner, key), n->count, &index)) n->number[index] = 1;
}

static void renumber(void *user, json_t *owner, const char *key) {
    numbering *n = user;
    size_t index;
    if (pelt_gltf_is_index(json_object_get(owner, key), n->count, &index) && n->number[index] != index)
        pelt_gltf_set(n->out, owner, key, json_integer((json_int_t)n->number[index]));
}

/* -- Dropping -------------------------------------------------------------------------------------------------------- */

/* Whether the tree uses an extension that pelt does not know. */
static bool has_strange_extension(const json_t *value) {
    const char *key, *name;
    json_t *member, *extension;
    size_t i;
    if (json_is_array(value)) json_array_foreach(value, i, member) if (has_strange_extension(member)) return true;
    if (json_is_object(value)) json_object_foreach((json_t *)value, key, member) {
            if (!strcmp(key, "extensions"))
                json_object_foreach(member, name, extension) if (!pelt_gltf_extension_is_known(name)) return true;
            if (strcmp(key, "extras") != 0 && has_strange_extension(member)) return true;
        }
    return false;
}

/* Removes the elements of a list that are released and unused; the others move up to `number`. Returns whether any were
   removed. */
static bool squeeze(numbering *n, json_t *list, const bool *freed, size_t freed_count) {
    size_t kept = 0;
    for (size_t i = 0; i < n->count; i++) n->number[i] = n->number[i] || i >= freed_count || !freed[i] ? 1 + kept++ : 0;
    if (kept == n->count) return false;
    for (size_t i = n->count; i-- > 0;)
        if (!n->number[i] && json_array_remove(list, i)) pelt_arena_fail(n->out->arena);
    for (size_t i = 0; i < n->count; i++)
        if (n->number[i]) n->number[i]--;
    return true;
}

static void drop_unused(gltf_editing *e) {
    gltf_output *out = e->out;
    size_t accessors = json_array_size(out->accessors), views = json_array_size(out->views);
    numbering of_accessors = {out, accessors, PELT_NEW(out->arena, accessors, size_t)};
    numbering of_views = {out, views, PELT_NEW(out->arena, views, size_t)}, before = of_views;
    bool *freed = PELT_NEW(out->arena, views, bool);
    before.number = PELT_NEW(out->arena, views, size_t);
    if (has_strange_extension(out->root)) return;
    visit_accessors(out->root, mark, &of_accessors);
    for (size_t i = 0; i < accessors; i++) /* views of dropped accessors */
        if (i < e->accessor_count && e->freed[i] && !of_accessors.number[i])
            visit_views_of(json_array_get(out->accessors, i), mark, &before);
    for (size_t i = 0; i < views; i++) freed[i] = before.number[i] || (int)i == e->freed_view;
    if (squeeze(&of_accessors, out->accessors, e->freed, e->accessor_count))
        visit_accessors(out->root, renumber, &of_accessors);
    visit_views(out->root, mark, &of_views);
    if (squeeze(&of_views, out->views, freed, views)) visit_views(out->root, renumber, &of_views);
}

/* -- Buffers --------------------------------------------------------------------------------------------------------- */

/* A range of one of the file's buffers that some view covers. */
typedef struct stretch {
    uint32_t buffer;
    size_t begin, end; /* begin is a multiple of 4, so that numbers stay aligned */
    size_t place;      /* offset in the new buffer */
} stretch;

static int compare_stretches(const void *x, const void *y) {
    const stretch *a = x, *b = y;
    if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
    return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1) : 0;
}

/* The range of a view of the file; false after pelt_gltf_fail. New views are in the buffer after the file's. */
static bool locate(gltf_editing *e, gltf_item view, stretch *at, size_t *offset, bool *is_new) {
    gltf *g = e->g;
    uint64_t buffer, begin, length;
    gltf_item reference = pelt_gltf_member(view, "buffer");
    if (!pelt_gltf_natural(g, reference, 0, &buffer) ||
        !pelt_gltf_natural(g, pelt_gltf_member(view, "byteOffset"), 0, &begin) ||
        !pelt_gltf_natural(g, pelt_gltf_member(view, "byteLength"), 0, &length))
        return false;
    *offset = (size_t)begin;
    *is_new = buffer == g->buffer_count;
    if (*is_new) return true;
    if (buffer > g->buffer_count)
        return pelt_gltf_fail(g, PELT_ERROR_INDEX, reference, "%llu, but the file has only %u buffers",
                              (unsigned long long)buffer, g->buffer_count);
    const gltf_buffer *from = &g->buffers[buffer];
    if (!from->bytes)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, pelt_gltf_entry(g, "buffers", (size_t)buffer),
                              "has no bytes and no uri");
    if (begin > from->size || length > from->size - begin)
        return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, view, "ends at byte %llu, but the buffer has only %zu bytes",
                              (unsigned long long)(begin + length), from->size);
    *at = (stretch){(uint32_t)buffer, (size_t)begin / 4 * 4, (size_t)(begin + length), 0};
    return true;
}

/* A view gives its range once, and a second time in the extension that compresses it. */
static gltf_item compressed(gltf_item view) {
    return pelt_gltf_member(pelt_gltf_member(view, "extensions"), "EXT_meshopt_compression");
}

/* All ranges in use, merged where they touch, with their new offsets; *list is sorted. */
static bool collect(gltf_editing *e, bool all, stretch **list, size_t *count, size_t *size) {
    size_t views = json_array_size(e->out->views), n = 0, offset;
    bool is_new;
    *list = PELT_NEW(e->out->arena, 2 * views + e->g->buffer_count, stretch);
    for (uint32_t b = 0; all && b < e->g->buffer_count; b++)
        if (e->g->buffers[b].bytes) (*list)[n++] = (stretch){b, 0, e->g->buffers[b].size, 0};
    for (size_t i = 0; i < views; i++) {
        gltf_item view = pelt_gltf_entry(e->g, "bufferViews", i), extension = compressed(view);
        if (!locate(e, view, &(*list)[n], &offset, &is_new)) return false;
        n += !is_new;
        if (extension.json && !locate(e, extension, &(*list)[n], &offset, &is_new)) return false;
        n += extension.json && !is_new;
    }
    qsort(*list, n, sizeof **list, compare_stretches);
    *count = *size = 0;
    for (size_t i = 0; i < n; i++) {
        stretch *last = *count ? &(*list)[*count - 1] : NULL, next = (*list)[i];
        if (last && last->buffer == next.buffer && next.begin <= last->end) {
            if (next.end > last->end) last->end = next.end;
        } else {
            (*list)[(*count)++] = next;
        }
    }
    for (size_t i = 0; i < *count; i++) {
        (*list)[i].place = *size;
        *size += ((*list)[i].end - (*list)[i].begin + 3) / 4 * 4;
    }
    return true;
}

static size_t place_of(const stretch *list, size_t count, const stretch *at, size_t offset) {
    size_t low = 0, high = count; /* the last range that begins no later */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (compare_stretches(&list[middle], at) <= 0)
            low = middle;
        else
            high = middle;
    }
    return list[low].place + (offset - list[low].begin);
}

static bool move_view(gltf_editing *e, gltf_item view, const stretch *list, size_t count, size_t before) {
    stretch at;
    size_t offset;
    bool is_new;
    if (!locate(e, view, &at, &offset, &is_new)) return false;
    size_t place = is_new ? before + offset : place_of(list, count, &at, offset);
    json_t *object = (json_t *)view.json;
    pelt_gltf_set(e->out, object, "buffer", json_integer(0));
    if (place || json_object_get(object, "byteOffset"))
        pelt_gltf_set(e->out, object, "byteOffset", json_integer((json_int_t)place));
    return true;
}

/* One buffer, which keeps the properties of the file's first. */
static void join_buffers(gltf_editing *e) {
    gltf_output *out = e->out;
    json_t *buffers = pelt_gltf_get(out, out->root, "buffers", json_array);
    if (!json_is_object(json_array_get(buffers, 0))) json_array_clear(buffers);
    if (!json_array_size(buffers)) pelt_gltf_append(out, buffers, json_object());
    for (size_t i = json_array_size(buffers); i-- > 1;)
        if (json_array_remove(buffers, i)) pelt_arena_fail(out->arena);
}

bool pelt_gltf_keep_bytes(gltf_editing *e) {
    gltf_output *out = e->out;
    gltf_blob *added = out->first;
    stretch *list;
    size_t count, size, added_size = out->size;
    bool strange = has_strange_extension(out->root);
    drop_unused(e);
    if (!collect(e, strange, &list, &count, &size)) return false;
    for (size_t i = 0; i < json_array_size(out->views); i++) {
        gltf_item view = pelt_gltf_entry(e->g, "bufferViews", i), extension = compressed(view);
        if (!move_view(e, view, list, count, size)) return false;
        if (extension.json && !move_view(e, extension, list, count, size)) return false;
    }
    out->first = out->last = NULL, out->size = 0;
    for (size_t i = 0; i < count; i++)
        pelt_gltf_add_bytes(out, e->g->buffers[list[i].buffer].bytes + list[i].begin, list[i].end - list[i].begin);
    if (out->last)
        out->last->next = added;
    else
        out->first = added;
    out->size += added_size;
    join_buffers(e);
    if (!json_array_size(out->views)) json_object_del(out->root, "bufferViews");
    return true;
}

/* -- Pictures -------------------------------------------------------------------------------------------------------- */

/* Whether the new file is a .gltf in the source's folder, so that the source's URIs still resolve. */
static bool is_beside(const char *path, const char *source) {
    size_t length = (size_t)(pelt_base_name(path) - path), folder = (size_t)(pelt_base_name(source) - source);
    return pelt_ends_with(path, ".gltf") && length == folder && !memcmp(path, source, length);
}

static void keep_image(gltf_editing *e, json_t *image) {
    gltf_buffer bytes;
    const char *text = json_string_value(json_object_get(image, "uri"));
    if (!text || !strncmp(text, "data:", 5)) return;
    bool found = pelt_gltf_image_bytes(e->g, (gltf_item){.json = image}, &bytes);
    e->g->error = (pelt_error){0};
    const char *type = found ? pelt_gltf_picture_type(&bytes) : NULL;
    if (!type) return;
    int view = pelt_gltf_add_view(e->out, bytes.bytes, bytes.size, 0);
    json_object_del(image, "uri");
    pelt_gltf_set(e->out, image, "mimeType", json_string(type));
    pelt_gltf_set(e->out, image, "bufferView", json_integer(view));
}

bool pelt_gltf_keep_images(gltf_editing *e) {
    size_t i;
    json_t *image;
    if (!e->g->path || is_beside(e->out->path, e->g->path)) return true;
    json_array_foreach(json_object_get(e->out->root, "images"), i, image) keep_image(e, image);
    return true;
}
