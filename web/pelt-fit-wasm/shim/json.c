/* json.c: values of JSON, with the names and habits of jansson. Objects keep the order in which keys came. */

#include "jansson.h"
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "json_values.h"

json_type json_typeof_(const json_t *value) { return value->type; }

static json_t *new_value(json_type type) {
    json_t *value = calloc(1, sizeof *value);
    if (value) value->type = type, value->references = 1;
    return value;
}

static json_t *constant(json_type type) {
    static json_t constants[] = {{.type = JSON_TRUE}, {.type = JSON_FALSE}, {.type = JSON_NULL}};
    return &constants[type - JSON_TRUE];
}

json_t *json_true(void) { return constant(JSON_TRUE); }
json_t *json_false(void) { return constant(JSON_FALSE); }
json_t *json_null(void) { return constant(JSON_NULL); }
json_t *json_object(void) { return new_value(JSON_OBJECT); }
json_t *json_array(void) { return new_value(JSON_ARRAY); }

json_t *json_integer(json_int_t number) {
    json_t *value = new_value(JSON_INTEGER);
    if (value) value->integer = number;
    return value;
}

json_t *json_real(double number) {
    json_t *value = isfinite(number) ? new_value(JSON_REAL) : NULL;
    if (value) value->real = number;
    return value;
}

json_t *json_string_of_(const char *text, size_t length) {
    json_t *value = json_is_utf8_(text, length) ? new_value(JSON_STRING) : NULL;
    char *copy = value ? malloc(length + 1) : NULL;
    if (!copy) return free(value), NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    value->text = copy, value->count = length;
    return value;
}

json_t *json_string(const char *text) { return text ? json_string_of_(text, strlen(text)) : NULL; }

/* -- References ------------------------------------------------------------------------------------------------------ */

json_t *json_incref(json_t *value) {
    if (value && value->type < JSON_TRUE) value->references++;
    return value;
}

static void forget(json_t *value) {
    for (size_t i = 0; i < value->count && value->entries; i++) {
        json_decref(value->entries[i].value);
        free(value->entries[i].key);
    }
    free(value->entries), free(value->index);
    value->entries = NULL, value->index = NULL;
    value->count = value->room = value->index_size = 0;
}

void json_decref(json_t *value) {
    if (!value || value->type >= JSON_TRUE || --value->references) return;
    free(value->text);
    value->text = NULL;
    if (value->type == JSON_STRING) value->count = 0;
    forget(value);
    free(value);
}

/* -- Entries of objects and arrays ----------------------------------------------------------------------------------- */

static bool make_room(json_t *value) {
    if (value->count < value->room) return true;
    size_t room = value->room ? 2 * value->room : 4;
    json_entry *more = room < SIZE_MAX / sizeof *more ? realloc(value->entries, room * sizeof *more) : NULL;
    if (more) value->entries = more, value->room = room;
    return more != NULL;
}

static void remove_entry(json_t *value, size_t at) {
    json_decref(value->entries[at].value);
    free(value->entries[at].key);
    memmove(value->entries + at, value->entries + at + 1, (--value->count - at) * sizeof *value->entries);
}

/* -- Objects --------------------------------------------------------------------------------------------------------- */

/* Small objects are searched from the front. Larger ones have an index: places by the hash of the key, so that a file
   with a million keys takes no time in proportion to its square. */
enum { SEARCHED = 16 };

static size_t hash_of(const char *key) {
    uint32_t hash = 2166136261u;
    for (; *key; key++) hash = (hash ^ (unsigned char)*key) * 16777619u;
    return hash;
}

static void put_in_index(json_t *object, size_t entry) {
    size_t at = hash_of(object->entries[entry].key) & (object->index_size - 1);
    while (object->index[at]) at = (at + 1) & (object->index_size - 1);
    object->index[at] = (uint32_t)entry + 1;
}

/* After a change of places, or when it gets full. Without memory there is none, and objects are searched. */
static void make_index(json_t *object) {
    free(object->index);
    object->index = NULL, object->index_size = 0;
    if (object->count <= SEARCHED) return;
    size_t size = 64;
    while (size < 3 * object->count) size *= 2;
    object->index = calloc(size, sizeof *object->index);
    if (!object->index) return;
    object->index_size = size;
    for (size_t i = 0; i < object->count; i++) put_in_index(object, i);
}

size_t json_object_find_(const json_t *object, const char *key) {
    if (object->index) {
        size_t at = hash_of(key) & (object->index_size - 1);
        for (; object->index[at]; at = (at + 1) & (object->index_size - 1))
            if (!strcmp(object->entries[object->index[at] - 1].key, key)) return object->index[at] - 1;
        return object->count;
    }
    size_t i = 0;
    while (i < object->count && strcmp(object->entries[i].key, key)) i++;
    return i;
}

size_t json_object_size(const json_t *object) { return json_is_object(object) ? object->count : 0; }

const char *json_object_key_at_(const json_t *object, size_t index) {
    return index < json_object_size(object) ? object->entries[index].key : NULL;
}

json_t *json_object_value_at_(const json_t *object, size_t index) {
    return index < json_object_size(object) ? object->entries[index].value : NULL;
}

json_t *json_object_get(const json_t *object, const char *key) {
    return json_is_object(object) && key ? json_object_value_at_(object, json_object_find_(object, key)) : NULL;
}

int json_object_set_new(json_t *object, const char *key, json_t *value) {
    bool good = value && json_is_object(object) && key && value != object && json_is_utf8_(key, strlen(key));
    size_t at = good ? json_object_find_(object, key) : 0;
    if (good && at < object->count) {
        json_decref(object->entries[at].value);
        object->entries[at].value = value;
        return 0;
    }
    char *copy = good && make_room(object) ? strdup(key) : NULL;
    if (!copy) return json_decref(value), -1;
    object->entries[object->count++] = (json_entry){copy, value};
    if (object->index && 2 * object->count < object->index_size)
        put_in_index(object, object->count - 1);
    else if (object->count > SEARCHED)
        make_index(object);
    return 0;
}

int json_object_del(json_t *object, const char *key) {
    size_t at = json_is_object(object) && key ? json_object_find_(object, key) : 0;
    if (at >= json_object_size(object)) return -1;
    remove_entry(object, at);
    make_index(object);
    return 0;
}

int json_object_update(json_t *object, json_t *other) {
    if (!json_is_object(object) || !json_is_object(other)) return -1;
    for (size_t i = 0; i < other->count; i++)
        if (json_object_set_new(object, other->entries[i].key, json_incref(other->entries[i].value))) return -1;
    return 0;
}

int json_object_update_new(json_t *object, json_t *other) {
    int failed = json_object_update(object, other);
    json_decref(other);
    return failed;
}

/* -- Arrays ---------------------------------------------------------------------------------------------------------- */

size_t json_array_size(const json_t *array) { return json_is_array(array) ? array->count : 0; }

json_t *json_array_get(const json_t *array, size_t index) {
    return index < json_array_size(array) ? array->entries[index].value : NULL;
}

int json_array_insert_new(json_t *array, size_t index, json_t *value) {
    if (!value || !json_is_array(array) || value == array || index > array->count || !make_room(array))
        return json_decref(value), -1;
    memmove(array->entries + index + 1, array->entries + index, (array->count++ - index) * sizeof *array->entries);
    array->entries[index] = (json_entry){NULL, value};
    return 0;
}

int json_array_append_new(json_t *array, json_t *value) {
    return json_array_insert_new(array, json_array_size(array), value);
}

int json_array_remove(json_t *array, size_t index) {
    if (index >= json_array_size(array)) return -1;
    remove_entry(array, index);
    return 0;
}

int json_array_clear(json_t *array) {
    if (!json_is_array(array)) return -1;
    forget(array);
    return 0;
}

/* -- Others ---------------------------------------------------------------------------------------------------------- */

const char *json_string_value(const json_t *value) { return json_is_string(value) ? value->text : NULL; }
size_t json_string_length(const json_t *value) { return json_is_string(value) ? value->count : 0; }
json_int_t json_integer_value(const json_t *value) { return json_is_integer(value) ? value->integer : 0; }

double json_number_value(const json_t *value) {
    return json_is_real(value) ? value->real : json_is_integer(value) ? (double)value->integer : 0;
}

int json_equal(const json_t *a, const json_t *b) {
    if (!a || !b || a->type != b->type) return 0;
    if (a == b) return 1;
    if (a->type == JSON_INTEGER) return a->integer == b->integer;
    if (a->type == JSON_REAL) return a->real == b->real;
    if (a->count != b->count) return 0;
    if (a->type == JSON_STRING) return !memcmp(a->text, b->text, a->count);
    for (size_t i = 0; i < a->count; i++) {
        const json_t *other = a->type == JSON_ARRAY ? b->entries[i].value : json_object_get(b, a->entries[i].key);
        if (!json_equal(a->entries[i].value, other)) return 0;
    }
    return 1;
}

/* -- By shape -------------------------------------------------------------------------------------------------------- */

typedef struct packing {
    const char *at;
    va_list arguments;
} packing;

static json_t *pack_value(packing *p);

static json_t *pack_list(packing *p, json_t *list, char end) {
    int failed = !list;
    while (p->at += strspn(p->at, " ,:"), *p->at && *p->at != end) {
        const char *key = NULL;
        if (end == '}') key = va_arg(p->arguments, const char *), p->at++, p->at += strspn(p->at, " :");
        json_t *value = pack_value(p);
        failed |= key ? json_object_set_new(list, key, value) : json_array_append_new(list, value);
    }
    p->at += *p->at == end;
    if (!failed) return list;
    json_decref(list);
    return NULL;
}

static json_t *pack_value(packing *p) {
    switch (*p->at++) {
    case '{':
        return pack_list(p, json_object(), '}');
    case '[':
        return pack_list(p, json_array(), ']');
    case 's':
        return json_string(va_arg(p->arguments, const char *));
    case 'i':
        return json_integer(va_arg(p->arguments, int));
    case 'I':
        return json_integer(va_arg(p->arguments, json_int_t));
    case 'f':
        return json_real(va_arg(p->arguments, double));
    case 'b':
        return json_boolean(va_arg(p->arguments, int));
    case 'o':
        return va_arg(p->arguments, json_t *);
    default:
        return NULL;
    }
}

json_t *json_pack(const char *format, ...) {
    packing p = {.at = format};
    va_start(p.arguments, format);
    json_t *value = pack_value(&p);
    va_end(p.arguments);
    return value;
}
