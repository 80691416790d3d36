/* jansson.h: the part of jansson's interface that libpelt-fit uses, for WebAssembly, where no distribution has jansson.
   json.c is written for pelt; test/test_web_json.c compares it with jansson itself. */

#ifndef PELT_WEB_JANSSON_H
#define PELT_WEB_JANSSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef enum {
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_INTEGER,
    JSON_REAL,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
} json_type;
typedef struct json_t json_t;
typedef long long json_int_t;
#define JSON_INTEGER_FORMAT "lld"

json_type json_typeof_(const json_t *value);
#define json_is_type_(value, type) ((value) && json_typeof_(value) == (type))
#define json_is_object(value) json_is_type_(value, JSON_OBJECT)
#define json_is_array(value) json_is_type_(value, JSON_ARRAY)
#define json_is_string(value) json_is_type_(value, JSON_STRING)
#define json_is_integer(value) json_is_type_(value, JSON_INTEGER)
#define json_is_real(value) json_is_type_(value, JSON_REAL)
#define json_is_true(value) json_is_type_(value, JSON_TRUE)
#define json_is_false(value) json_is_type_(value, JSON_FALSE)
#define json_is_null(value) json_is_type_(value, JSON_NULL)
#define json_is_number(value) (json_is_integer(value) || json_is_real(value))
#define json_is_boolean(value) (json_is_true(value) || json_is_false(value))

json_t *json_incref(json_t *value);
void json_decref(json_t *value);

json_t *json_object(void);
json_t *json_array(void);
json_t *json_string(const char *text); /* NULL if it is not UTF-8 */
json_t *json_integer(json_int_t number);
json_t *json_real(double number); /* NULL if it is not finite */
json_t *json_true(void);
json_t *json_false(void);
json_t *json_null(void);
#define json_boolean(truth) ((truth) ? json_true() : json_false())

const char *json_string_value(const json_t *value);
size_t json_string_length(const json_t *value);
json_int_t json_integer_value(const json_t *value);
double json_number_value(const json_t *value);

size_t json_object_size(const json_t *object);
json_t *json_object_get(const json_t *object, const char *key);
int json_object_set_new(json_t *object, const char *key, json_t *value);
#define json_object_set_new_nocheck json_object_set_new
int json_object_del(json_t *object, const char *key);
int json_object_update(json_t *object, json_t *other);
int json_object_update_new(json_t *object, json_t *other);
const char *json_object_key_at_(const json_t *object, size_t index);
json_t *json_object_value_at_(const json_t *object, size_t index);
size_t json_object_find_(const json_t *object, const char *key); /* its size: not there */
#define json_object_foreach(object, key, value)                                                                        \
    for (size_t at_ = 0;                                                                                               \
         ((key) = json_object_key_at_(object, at_)) && (((value) = json_object_value_at_(object, at_)), true); at_++)
/* The entry that the body stands at may be removed. */
#define json_object_foreach_safe(object, next, key, value)                                                             \
    (void)(next);                                                                                                      \
    for (size_t at_ = 0, size_ = json_object_size(object);                                                             \
         ((key) = json_object_key_at_(object, at_)) && (((value) = json_object_value_at_(object, at_)), true);         \
         at_ += json_object_size(object) == size_, size_ = json_object_size(object))

size_t json_array_size(const json_t *array);
json_t *json_array_get(const json_t *array, size_t index);
int json_array_append_new(json_t *array, json_t *value);
int json_array_insert_new(json_t *array, size_t index, json_t *value);
int json_array_remove(json_t *array, size_t index);
int json_array_clear(json_t *array);
#define json_array_foreach(array, index, value)                                                                        \
    for ((index) = 0; (index) < json_array_size(array) && ((value) = json_array_get(array, index)); (index)++)

/* {, [, s, i, I, f, b and o, as in jansson. */
json_t *json_pack(const char *format, ...);

int json_equal(const json_t *a, const json_t *b);

/* -- Text ----------------------------------------------------------------------------------------------------------- */

#define JSON_REJECT_DUPLICATES 0x1
#define JSON_INDENT(spaces) ((spaces)&0x1F)
#define JSON_COMPACT 0x20
#define JSON_ENCODE_ANY 0x200
#define JSON_REAL_PRECISION(digits) (((digits)&0x1F) << 11)

enum json_error_code { json_error_unknown, json_error_out_of_memory, json_error_invalid_syntax };
typedef struct json_error_t {
    int line, column, position;
    char source[80], text[160];
    enum json_error_code code_;
} json_error_t;
static inline enum json_error_code json_error_code(const json_error_t *error) { return error->code_; }

json_t *json_loadb(const char *text, size_t size, size_t flags, json_error_t *error);
json_t *json_loads(const char *text, size_t flags, json_error_t *error);
typedef int (*json_dump_callback_t)(const char *piece, size_t size, void *user);
int json_dump_callback(const json_t *value, json_dump_callback_t put, void *user, size_t flags);
char *json_dumps(const json_t *value, size_t flags); /* from malloc */

/* Memory is the C library's. */
#define json_set_alloc_funcs(get, give) ((void)(get), (void)(give))

#endif
