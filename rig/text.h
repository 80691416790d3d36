/* text.h: untrusted text: names from files, messages from engines. */

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

#endif
