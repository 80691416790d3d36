/* keys_run.h: pelt keys run. */

#ifndef PELT_CLI_KEYS_RUN_H
#define PELT_CLI_KEYS_RUN_H

#include "cli/cli.h"
#include "engine/input.h"

/* The options of the soft cache. False after a message. */
bool cli_read_soft_cache(const cli_args *args, pelt_soft_cache_options *options);

/* Plays controls with the keys, and writes what comes of it. `keys` has its controls in the order of the input,
   `as_trained` still in that of the training. */
int cli_run_keys(const cli_args *args, const pelt_keys *keys, const pelt_keys *as_trained, const pelt_input *input,
                 pelt_engine *engine);

#endif
