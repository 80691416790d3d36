/* keys_speed.h: the part of `pelt keys` that measures speed. */

#ifndef PELT_KEYS_SPEED_H
#define PELT_KEYS_SPEED_H

#include "cli/cli.h"
#include <pelt/keys.h>

/* Times solving and filling for --points and --basis; returns the exit code. */
int keys_speed(const cli_args *args);

#endif
