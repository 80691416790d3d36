/* cache_options.h: how caches are changed when they are read; the same for all commands that need true positions. */

#ifndef PELT_CACHE_OPTIONS_H
#define PELT_CACHE_OPTIONS_H

#include "cli/cli.h"

#define CLI_CACHE_OPTIONS                                                                                              \
    {"fix", NULL, "Find axes, scale, offset, frames and order of caches that lie elsewhere, and apply them."},         \
        {"axes", "X,Y,Z", "Which axes of caches are x, y, z: x,z,-y for caches with z up."},                           \
        {"scale", "S", "What caches are multiplied by: 0.01 for centimetres on a rig in metres."},                     \
        {"space", "rest|posed",                                                                                        \
         "Where shapes were made; default: morph targets and .obj are looked at, caches are posed."},                  \
        {"offset", "X,Y,Z", "What is added to points of caches, after axes and scale."}, {                             \
        "frames", "N", "The frame of caches, from 0, that is the first key; -N: they begin at key N."                  \
    }

/* What is done to examples before a fit. */
#define CLI_EXAMPLE_OPTIONS                                                                                            \
    {"mirror", "x|y|z", "Train on mirror images too: left and right joints by name, vertices by where they are."}, {   \
        "weigh", "CLIP:FRAME=W,...", "How much frames count in fitted blends; 0 leaves them out, for all methods."     \
    }

/* Applies them to the clips; the list may become another. False after a message. */
bool cli_example_options(const cli_args *args, pelt_bundle *bundle, const pelt_clip ***clips, size_t *count);

/* Reads them into bundle->cache. False after a message. */
bool cli_cache_options(const cli_args *args, pelt_bundle *bundle);

/* Says what was done to the caches that were read. */
void cli_say_placed(const cli_args *args, const pelt_bundle *bundle);

/* What helps against a finding, to be put after its text; empty: nothing. */
const char *cli_remedy(const cli_args *args, const pelt_finding *finding);

#endif
