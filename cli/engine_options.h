/* engine_options.h: the engine that an option names. */

#ifndef PELT_CLI_ENGINE_OPTIONS_H
#define PELT_CLI_ENGINE_OPTIONS_H

#include "cli/cli.h"
#include "engine/engine.h"

/* clang-format off */
#define CLI_ENGINE_OPTIONS \
    {"engine", "E", "What computes points from controls."}, \
    {"points", "N", "Number of points, if the engine does not report it; for the face: use only this many."}, \
    {"engine-controls", "N", "Number of controls of a shared object that does not export it."}, \
    {"timeout", "SECONDS", "How long an engine may take to answer; default 60."}
/* clang-format on */

/* Opens the engine that --engine names, or returns NULL with *code 0 if there is no --engine. */
pelt_engine *cli_open_engine(const cli_args *args, int *code);

#endif
