/* json.h: failure messages, kept for --json. */

#ifndef PELT_CLI_JSON_H
#define PELT_CLI_JSON_H

#include <stdarg.h>

void cli_note_error(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
