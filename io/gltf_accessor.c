/* gltf_accessor.c: typed arrays in the buffers.

   Element i of an accessor starts at buffer + view.byteOffset + accessor.byteOffset + i stride. Integers may represent
   fractions (`normalized`): c / 255, max(c / 127, -1) and so on. Sparse accessors replace some elements. Ranges are
   checked when an accessor is opened, numbers when it is decoded. */

#include "io/gltf.h"
#include <math.h>
#include <string.h>

static size_t type_size(gltf_type type) {
    switch (type) {
    case GLTF_BYTE:
    case GLTF_UBYTE:
        return 1;
    case GLTF_SHORT:
    case GLTF_USHORT:
        return 2;
    case GLTF_UINT:
    case GLTF_FLOAT:
        return 4;
    }
    return 0;
}

static uint32_t shape_components(const char *shape) {
    static const struct {
        const char *shape;
        uint32_t components;
    } known[] = {{"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4}, {"MAT2", 4}, {"MAT3", 9}, {"MAT4", 16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(shape, known[i].shape)) return known[i].components;
    return 0;
}

/* -- Opening ----------------------------------------------------------------------------------------------------- */

static bool read_type(gltf *g, gltf_item item, gltf_type *type) {
    uint64_t number;
    if (!pelt_gltf_natural(g, item, 0, &number)) return false;
    *type = (gltf_type)(number < 65536 ? number : 0);
    return type_size(*type) ? true : pelt_gltf_fail(g, PELT_ERROR_FORMAT, item, "is not a glTF component type");
}

bool pelt_gltf_view(gltf *g, gltf_item owner, gltf_item *view, gltf_buffer *bytes) {
    uint32_t view_index, buffer_index;
    uint64_t offset, length;
    if (!pelt_gltf_reference(g, pelt_gltf_member(owner, "bufferView"), "bufferViews", &view_index)) return false;
    *view = pelt_gltf_entry(g, "bufferViews", view_index);
    if (!pelt_gltf_reference(g, pelt_gltf_member(*view, "buffer"), "buffers", &buffer_index) ||
        !pelt_gltf_natural(g, pelt_gltf_member(*view, "byteOffset"), 0, &offset) ||
        !pelt_gltf_natural(g, pelt_gltf_member(*view, "byteLength"), 0, &length))
        return false;
    const gltf_buffer *buffer = &g->buffers[buffer_index];
    if (!buffer->bytes)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, pelt_gltf_entry(g, "buffers", buffer_index),
                              "has no bytes and no uri");
    if (offset > buffer->size || length > buffer->size - offset)
        return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, *view, "ends at byte %llu, but the buffer has only %zu bytes",
                              (unsigned long long)(offset + length), buffer->size);
    *bytes = (gltf_buffer){.bytes = buffer->bytes + offset, .size = (size_t)length};
    return true;
}

/* The bytes of `count` elements of `size` bytes in the view that `owner` names. *stride comes in as 0 or the minimum,
   and goes out as the actual stride. */
static bool view_bytes(gltf *g, gltf_item owner, uint32_t count, size_t size, size_t alignment, const uint8_t **bytes,
                       size_t *stride) {
    gltf_item view;
    gltf_buffer all;
    uint64_t offset, view_offset, step;
    if (!pelt_gltf_view(g, owner, &view, &all)) return false;
    gltf_item step_item = pelt_gltf_member(view, "byteStride");
    if (!pelt_gltf_natural(g, pelt_gltf_member(owner, "byteOffset"), 0, &offset) ||
        !pelt_gltf_natural(g, pelt_gltf_member(view, "byteOffset"), 0, &view_offset) ||
        !pelt_gltf_natural(g, step_item, size, &step))
        return false;
    if (step < size || step > 65536 || step % alignment)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, step_item, "%llu is not a valid stride for elements of %zu bytes",
                              (unsigned long long)step, size);
    if ((view_offset + offset) % alignment)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, owner, "starts at byte %llu, which is not a multiple of %zu",
                              (unsigned long long)(view_offset + offset), alignment);
    if (offset > all.size || (count - 1) * step + size > all.size - offset)
        return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, owner, "has %u elements, more than the %zu bytes of %s hold",
                              count, all.size, view.path);
    *bytes = all.bytes + offset;
    *stride = (size_t)step;
    return true;
}

static uint32_t read_unsigned(const uint8_t *bytes, gltf_type type) {
    uint16_t u16;
    uint32_t u32;
    switch (type) {
    case GLTF_UBYTE:
        return *bytes;
    case GLTF_USHORT:
        memcpy(&u16, bytes, sizeof u16);
        return u16;
    default:
        memcpy(&u32, bytes, sizeof u32);
        return u32;
    }
}

static bool open_sparse(gltf *g, gltf_item sparse, gltf_accessor *a) {
    gltf_item indices = pelt_gltf_member(sparse, "indices"), values = pelt_gltf_member(sparse, "values");
    gltf_item count_item = pelt_gltf_member(sparse, "count"), type = pelt_gltf_member(indices, "componentType");
    uint64_t count;
    size_t stride, value_size = type_size(a->type) * a->components;
    if (!pelt_gltf_natural(g, count_item, 0, &count)) return false;
    if (count > a->count)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, count_item, "%llu, more than the %u elements of the accessor",
                              (unsigned long long)count, a->count);
    if (count == 0) return true;
    a->sparse_count = (uint32_t)count;
    if (!read_type(g, type, &a->sparse_type)) return false;
    if (a->sparse_type != GLTF_UBYTE && a->sparse_type != GLTF_USHORT && a->sparse_type != GLTF_UINT)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, type, "must be an unsigned integer type");
    size_t index_size = type_size(a->sparse_type);
    if (!view_bytes(g, indices, a->sparse_count, index_size, index_size, &a->sparse_indices, &stride)) return false;
    if (stride != index_size)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, indices, "its bufferView must have no byteStride");
    if (!view_bytes(g, values, a->sparse_count, value_size, type_size(a->type), &a->sparse_values, &stride))
        return false;
    if (stride != value_size)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, values, "its bufferView must have no byteStride");
    for (uint32_t i = 0, previous = 0; i < a->sparse_count; i++) {
        uint32_t element = read_unsigned(a->sparse_indices + i * index_size, a->sparse_type);
        if (element >= a->count || (i && element <= previous))
            return pelt_gltf_fail(g, PELT_ERROR_INDEX, indices,
                                  "index %u is %u; indices must increase and be less than the count %u", i, element,
                                  a->count);
        previous = element;
    }
    return true;
}

/* Decoding costs time even if it takes no memory, and a hostile file can reference the same bytes over and over. */
static bool charge(gltf *g, const gltf_accessor *a) {
    uint64_t work =
        (uint64_t)(a->bytes ? a->count : 0) * a->components + (uint64_t)a->sparse_count * (a->components + 1);
    if (work > g->work_left)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, a->item,
                              "the file references its data so often that reading it would take too long");
    g->work_left -= work;
    return true;
}

bool pelt_gltf_accessor_open(gltf *g, gltf_item reference, const char *shape, gltf_accessor *a) {
    *a = (gltf_accessor){.components = shape_components(shape)};
    if (!pelt_gltf_reference(g, reference, "accessors", &a->index)) return false;
    a->item = pelt_gltf_entry(g, "accessors", a->index);
    gltf_item count_item = pelt_gltf_member(a->item, "count"), sparse = pelt_gltf_member(a->item, "sparse");
    const char *actual = pelt_gltf_text(pelt_gltf_member(a->item, "type"), "of no type");
    uint64_t count;
    if (strcmp(actual, shape) != 0)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, reference, "accessors[%u] is %.20s, but %s is needed", a->index,
                              actual, shape);
    if (!read_type(g, pelt_gltf_member(a->item, "componentType"), &a->type) ||
        !pelt_gltf_natural(g, count_item, 0, &count))
        return false;
    if (count < 1 || count > INT32_MAX)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, count_item, "%llu is not between 1 and 2147483647",
                              (unsigned long long)count);
    a->count = (uint32_t)count;
    a->normalized = json_is_true(json_object_get(a->item.json, "normalized"));
    size_t unit = type_size(a->type);
    if (json_object_get(a->item.json, "bufferView") &&
        !view_bytes(g, a->item, a->count, unit * a->components, unit, &a->bytes, &a->stride))
        return false;
    return (!sparse.json || open_sparse(g, sparse, a)) && charge(g, a);
}

/* -- Decoding ----------------------------------------------------------------------------------------------------- */

static float read_float(const uint8_t *bytes, gltf_type type, bool normalized) {
    int16_t i16;
    float f;
    switch (type) {
    case GLTF_FLOAT:
        memcpy(&f, bytes, sizeof f);
        return f;
    case GLTF_BYTE:
        f = (int8_t)*bytes;
        return normalized ? fmaxf(f / 127, -1) : f;
    case GLTF_SHORT:
        memcpy(&i16, bytes, sizeof i16);
        return normalized ? fmaxf(i16 / 32767.0f, -1) : i16;
    case GLTF_UBYTE:
        return normalized ? *bytes / 255.0f : *bytes;
    case GLTF_USHORT:
        f = (float)read_unsigned(bytes, type);
        return normalized ? f / 65535 : f;
    case GLTF_UINT:
        return (float)read_unsigned(bytes, type);
    }
    return 0;
}

static void read_element(const gltf_accessor *a, const uint8_t *bytes, float *out) {
    size_t unit = type_size(a->type);
    for (uint32_t c = 0; c < a->components; c++) out[c] = read_float(bytes + c * unit, a->type, a->normalized);
}

static bool check_finite(gltf *g, const gltf_accessor *a, const float *values, size_t count) {
    if (a->type != GLTF_FLOAT) return true;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return pelt_gltf_fail(g, PELT_ERROR_NUMBER, a->item, "element %zu is not a finite number",
                                  i / a->components);
    return true;
}

bool pelt_gltf_accessor_floats(gltf *g, const gltf_accessor *a, float *out) {
    size_t n = a->components, unit = type_size(a->type);
    if (!a->bytes) memset(out, 0, n * a->count * sizeof *out);
    for (size_t i = 0; a->bytes && i < a->count; i++) read_element(a, a->bytes + i * a->stride, out + n * i);
    for (size_t i = 0; i < a->sparse_count; i++) {
        size_t element = read_unsigned(a->sparse_indices + i * type_size(a->sparse_type), a->sparse_type);
        read_element(a, a->sparse_values + i * n * unit, out + n * element);
    }
    return check_finite(g, a, out, n * a->count);
}

bool pelt_gltf_accessor_integers(gltf *g, const gltf_accessor *a, uint32_t *out) {
    size_t n = a->components, unit = type_size(a->type);
    if (a->type != GLTF_UBYTE && a->type != GLTF_USHORT && a->type != GLTF_UINT)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, a->item, "must have an unsigned integer type here");
    if (!a->bytes) memset(out, 0, n * a->count * sizeof *out);
    for (size_t i = 0; a->bytes && i < a->count; i++)
        for (size_t c = 0; c < n; c++) out[n * i + c] = read_unsigned(a->bytes + i * a->stride + c * unit, a->type);
    for (size_t i = 0; i < a->sparse_count; i++) {
        size_t element = read_unsigned(a->sparse_indices + i * type_size(a->sparse_type), a->sparse_type);
        for (size_t c = 0; c < n; c++)
            out[n * element + c] = read_unsigned(a->sparse_values + (i * n + c) * unit, a->type);
    }
    return true;
}

/* A sparse accessor over zeros is never expanded: its count may be huge and its entries few. */
static bool list_elements(gltf *g, pelt_arena *scratch, const gltf_accessor *a, uint32_t *count, uint32_t **elements,
                          float **values) {
    *count = a->bytes ? a->count : a->sparse_count;
    *elements = GLTF_NEW(g, scratch, uint32_t, *count);
    *values = GLTF_NEW(g, scratch, float, 3 * (size_t)*count);
    if (g->error.code) return false;
    if (a->bytes) {
        for (uint32_t i = 0; i < *count; i++) (*elements)[i] = i;
        return pelt_gltf_accessor_floats(g, a, *values);
    }
    for (size_t i = 0; i < *count; i++) {
        (*elements)[i] = read_unsigned(a->sparse_indices + i * type_size(a->sparse_type), a->sparse_type);
        read_element(a, a->sparse_values + i * 3 * type_size(a->type), *values + 3 * i);
    }
    return check_finite(g, a, *values, 3 * (size_t)*count);
}

bool pelt_gltf_accessor_nonzero(gltf *g, pelt_arena *scratch, const gltf_accessor *a, uint32_t *count,
                                uint32_t **elements, float **values) {
    uint32_t listed, kept = 0;
    if (!list_elements(g, scratch, a, &listed, elements, values)) return false;
    for (uint32_t i = 0; i < listed; i++) {
        const float *v = *values + 3 * (size_t)i;
        if (v[0] == 0 && v[1] == 0 && v[2] == 0) continue;
        (*elements)[kept] = (*elements)[i];
        memmove(*values + 3 * (size_t)kept++, v, 3 * sizeof *v);
    }
    *count = kept;
    return true;
}
