/* info_keys.h: what is in a .keys file. */

#ifndef PELT_INFO_KEYS_H
#define PELT_INFO_KEYS_H

#include "cli/cli.h"

/* Says it, and gives it as JSON; NULL when the file cannot be read. */
json_t *info_keys(const cli_args *args, const char *path, pelt_error *error);

#endif
