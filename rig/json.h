/* json.h: safe JSON values from any name or number, and their text. */

#ifndef PELT_JSON_H
#define PELT_JSON_H

#include <jansson.h>

/* A number; null if it is not finite, which JSON cannot express. */
json_t *pelt_json_number(double number);

/* A string; bytes that are not UTF-8, which JSON cannot express, become \xNN. */
json_t *pelt_json_text(const char *text);

/* The text of a value, from malloc; NULL if out of memory, where jansson's own json_dumps may drop keys. */
char *pelt_json_dump(const json_t *value, size_t flags);

#endif
