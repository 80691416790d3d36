/* text.h: untrusted text: names and numbers from files, messages from engines; and paths. */

#ifndef PELT_TEXT_H
#define PELT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Size in bytes of the character at `text`, 1 to 4; 0 if it is not UTF-8 (or at the end). */
size_t pelt_utf8_size(const char *text);
bool pelt_is_utf8(const char *text);

/* Escapes text for display: bytes that are not UTF-8, and characters that control a terminal or change the writing
   direction, become \x1b and the like, except those in `kept` ("\n"). Returns the full length, like snprintf; `out` is
   always terminated. */
size_t pelt_visible_text(const char *text, const char *kept, char *out, size_t size);

/* The name at the end of a path, and the length of a path without the ending of that name. */
const char *pelt_base_name(const char *path);
int pelt_stem_length(const char *path);

/* Reads a decimal number without a sign ("12", ".5", "1e-3") and returns its end; NULL if there is none. strtod follows
   the locale of the host program, and is slow. Up to 19 digits are kept as an integer m, and m * 10^e is formed in
   double, within 4e-16 of the text: the nearest float, also for the 9 digits that pelt writes. */
const char *pelt_read_decimal(const char *text, double *value);

#endif
