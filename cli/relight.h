/* relight.h: the verbs of `pelt relight`. Each returns the exit code. */

#ifndef PELT_CLI_RELIGHT_H
#define PELT_CLI_RELIGHT_H

#include "cli/cli.h"

int relight_train(const cli_args *args);
int relight_run(const cli_args *args);
int relight_measure(const cli_args *args);

#endif
