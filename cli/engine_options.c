/* engine_options.c: the engine that an option names. */

#include "cli/engine_options.h"

pelt_engine *cli_open_engine(const cli_args *args, int *code) {
    const char *what = cli_value(args, "engine");
    pelt_engine_options options = {.workers = args->threads};
    pelt_error error;
    *code = CLI_DONE;
    if (!what) return NULL;
    if (!cli_count(args, "points", &options.points) || !cli_number(args, "cost", &options.cost) ||
        !cli_amount(args, "timeout", &options.timeout) || !cli_index(args, "engine-controls", &options.controls)) {
        *code = CLI_MISUSE;
        return NULL;
    }
    pelt_engine *engine = pelt_engine_open(what, &options, &error);
    if (!engine) *code = cli_error(&error);
    return engine;
}
