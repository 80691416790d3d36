/* json_values.h: shared by json.c and json_text.c. */

#ifndef PELT_JSON_VALUES_H
#define PELT_JSON_VALUES_H

#include "jansson.h"
#include <stdint.h>

typedef struct json_entry {
    char *key; /* NULL in arrays */
    json_t *value;
} json_entry;

struct json_t {
    json_type type;
    size_t references; /* true, false and null have none */
    json_int_t integer;
    double real;
    char *text;   /* of a string, which has: */
    size_t count; /* bytes, or entries */
    size_t room;
    json_entry *entries;
    uint32_t *index; /* [index_size], a power of two: entry + 1; NULL: entries are searched */
    size_t index_size;
};

bool json_is_utf8_(const char *text, size_t length);
json_t *json_string_of_(const char *text, size_t length);

#endif
