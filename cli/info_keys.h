/* info_keys.h: the contents of a .keys file. */

#ifndef PELT_INFO_KEYS_H
#define PELT_INFO_KEYS_H

#include "cli/cli.h"

/* Prints them, and returns them as JSON; NULL if the file cannot be read. */
json_t *info_keys(const cli_args *args, const char *path, pelt_error *error);

#endif
