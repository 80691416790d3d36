/* json.h: JSON of any name and any number, and its text. */

#ifndef PELT_JSON_H
#define PELT_JSON_H

#include <jansson.h>

/* A number; null where it is not finite, which JSON does not have. */
json_t *pelt_json_number(double number);

/* A text; bytes that are not UTF-8, which JSON does not have, come as \xNN. */
json_t *pelt_json_text(const char *text);

/* The text of a value, from malloc; NULL when there is no memory. jansson's own json_dumps may then leave out keys. */
char *pelt_json_dump(const json_t *value, size_t flags);

#endif
