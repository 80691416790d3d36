/* json.h: safe JSON values from any name or number, and their text. */

#ifndef PELT_JSON_H
#define PELT_JSON_H

#include <jansson.h>
#include <stdint.h>

/* A number; null if it is not finite, which JSON cannot express. */
json_t *pelt_json_number(double number);

/* A string as printf makes it, of at most 99 bytes. */
json_t *pelt_json_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A string; bytes that are not UTF-8, which JSON cannot express, become \xNN. */
json_t *pelt_json_text(const char *text);

/* A value by its shape, "{name:s, size:[u u], more:{rms:f}}": a letter for each argument, which is a text (s; NULL: null),
   int (i), unsigned (u), size_t (z), double (f), bool (b), const float * (v3: three of
   them) or a value, whose reference is taken (o). Texts and numbers are
   as above. NULL if anything is missing, because memory ran out. */
json_t *pelt_json_pack(const char *format, ...);

/* Adds to an array, takes the reference of the value, and returns the array: NULL once any of its parts is missing. */
json_t *pelt_json_append(json_t *array, json_t *value);
json_t *pelt_json_floats(const float *values, size_t count);
json_t *pelt_json_integers(const uint32_t *values, size_t count);

/* The text of a value, from malloc; NULL if out of memory, where jansson's own json_dumps may drop keys. */
char *pelt_json_dump(const json_t *value, size_t flags);

#endif
