#include "cli/relight.h"
int relight_measure(const cli_args *args) { return cli_misuse(args, "not yet"); }
