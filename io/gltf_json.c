/* gltf_json.c: items of the JSON text. Every item carries its path, so that errors can name it:

       body.glb: animations[2].samplers[5].input: 99, but the file has only 12 accessors */

#include "io/gltf.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

bool pelt_gltf_fail(gltf *g, pelt_result code, gltf_item where, const char *format, ...) {
    char sentence[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    pelt_fail(&g->error, code, "%s: %s%s%s", g->path ? g->path : "glTF", where.path, *where.path ? ": " : "", sentence);
    return false;
}

bool pelt_gltf_out_of_memory(gltf *g) {
    pelt_file_no_memory(g->path ? g->path : "glTF", &g->error);
    return false;
}

void *pelt_gltf_alloc(gltf *g, pelt_arena *arena, size_t count, size_t size) {
    void *memory = pelt_alloc(arena, count, size);
    if (!memory) pelt_gltf_out_of_memory(g);
    return memory;
}

/* -- Descending the tree ----------------------------------------------------------------------------------------- */

/* Every item gets a path, but few are ever shown, so they are assembled by hand rather than with printf. Paths that are
   too long, which takes hostile keys, are cut off. */
static char *append_text(char *at, const char *end, const char *text) {
    while (at < end && *text) *at++ = *text++;
    *at = 0;
    return at;
}

static char *append_index(char *at, const char *end, size_t index) {
    char digits[24], *first = digits + sizeof digits - 1;
    *first = 0;
    *--first = ']';
    do *--first = (char)('0' + index % 10);
    while (index /= 10);
    *--first = '[';
    return append_text(at, end, first);
}

gltf_item pelt_gltf_member(gltf_item object, const char *key) {
    gltf_item member = {.json = json_object_get(object.json, key)};
    const char *end = member.path + sizeof member.path - 1;
    char *at = append_text(member.path, end, object.path);
    if (*object.path) at = append_text(at, end, ".");
    append_text(at, end, key);
    return member;
}

gltf_item pelt_gltf_element(gltf_item list, size_t index) {
    gltf_item element = {.json = json_array_get(list.json, index)};
    const char *end = element.path + sizeof element.path - 1;
    append_index(append_text(element.path, end, list.path), end, index);
    return element;
}

gltf_item pelt_gltf_entry(const gltf *g, const char *list, size_t index) {
    gltf_item entry = {.json = json_array_get(json_object_get(g->json, list), index)};
    const char *end = entry.path + sizeof entry.path - 1;
    append_index(append_text(entry.path, end, list), end, index);
    return entry;
}

/* -- Values ------------------------------------------------------------------------------------------------------- */

bool pelt_gltf_length(gltf *g, gltf_item list, uint32_t *length) {
    *length = 0;
    if (!list.json) return true;
    if (!json_is_array(list.json)) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, list, "must be a list");
    size_t size = json_array_size(list.json);
    if (size > INT32_MAX) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, list, "%zu entries are too many", size);
    *length = (uint32_t)size;
    return true;
}

bool pelt_gltf_natural(gltf *g, gltf_item item, uint64_t fallback, uint64_t *number) {
    *number = fallback;
    if (!item.json) return true;
    double value = json_number_value(item.json);
    if (!json_is_number(item.json) || value < 0 || value > 9007199254740992.0 || value != floor(value))
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, item, "must be a non-negative integer");
    *number = (uint64_t)value;
    return true;
}

bool pelt_gltf_reference(gltf *g, gltf_item item, const char *list, uint32_t *index) {
    uint64_t number;
    size_t length = json_array_size(json_object_get(g->json, list));
    *index = 0;
    if (!item.json) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, item, "is missing");
    if (!pelt_gltf_natural(g, item, 0, &number)) return false;
    if (number >= length)
        return pelt_gltf_fail(g, PELT_ERROR_INDEX, item, "%llu, but the file has only %zu %s",
                              (unsigned long long)number, length, list);
    *index = (uint32_t)number;
    return true;
}

bool pelt_gltf_numbers(gltf *g, gltf_item list, size_t count, double *numbers) {
    if (!list.json) return true;
    if (!json_is_array(list.json) || json_array_size(list.json) != count)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, list, "must be a list of %zu numbers", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *element = json_array_get(list.json, i);
        numbers[i] = json_number_value(element);
        if (!json_is_number(element) || fabs(numbers[i]) > FLT_MAX)
            return pelt_gltf_fail(g, PELT_ERROR_NUMBER, pelt_gltf_element(list, i),
                                  "must be a number that fits a float");
    }
    return true;
}

const char *pelt_gltf_text(gltf_item item, const char *fallback) {
    const char *text = json_string_value(item.json);
    return text ? text : fallback;
}
