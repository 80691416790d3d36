/* text.h: untrusted text: names in files, messages of engines. */

#ifndef PELT_TEXT_H
#define PELT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at `text`, 1 to 4; 0 when these bytes are no UTF-8 (or at the end). */
size_t pelt_utf8_size(const char *text);
bool pelt_is_utf8(const char *text);

/* Writes text so that it does nothing but be read: bytes that are no UTF-8, and characters that command a terminal or
   turn the direction of writing, become \x1b and the like; those in `kept` stay ("\n"). Returns the length that the
   whole has, as snprintf does; `out` is always ended. */
size_t pelt_visible_text(const char *text, const char *kept, char *out, size_t size);

#endif
