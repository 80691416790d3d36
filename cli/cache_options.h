/* cache_options.h: changes to caches as they are read; shared by all commands that need true positions. */

#ifndef PELT_CACHE_OPTIONS_H
#define PELT_CACHE_OPTIONS_H

#include "cli/cli.h"

#define CLI_CACHE_OPTIONS                                                                                              \
    {"fix", NULL, "Apply axes, scale, offset, frames and order of misaligned caches; leave out bad examples.",         \
     .group = "Point caches"},                                                                                         \
        {"axes", "X,Y,Z", "Cache axes to read as x, y and z; for a cache with z up: x,z,-y."},                         \
        {"scale", "S", "Multiply caches by S: 0.01 for centimetres on a rig in metres."},                              \
        {"space", "rest|posed",                                                                                        \
         "Pose in which the shapes were made; default: detected for morph targets and .obj, posed for caches."},       \
        {"offset", "X,Y,Z", "Add this to every cache point, after axes and scale."}, {                                 \
        "frames", "N", "Cache frame, counted from 0, that matches the first key; -N if the cache starts at key N."     \
    }

/* Changes to examples before a fit. */
#define CLI_EXAMPLE_OPTIONS                                                                                            \
    {"mirror", "x|y|z", "Also train on mirror images: left and right joints by name, vertices by position."}, {        \
        "weigh", "CLIP:FRAME=W,...",                                                                                   \
            "Weight of a frame when blend weights are fitted; 0 leaves the frame out, in every method."                \
    }

/* Applies them to the clips; may replace the list. False after a message. */
bool cli_example_options(const cli_args *args, pelt_bundle *bundle, const pelt_clip ***clips, size_t *count);

/* Reads them into bundle->cache. False after a message. */
bool cli_cache_options(const cli_args *args, pelt_bundle *bundle);

/* Reports what was done to the caches. */
void cli_say_placed(const cli_args *args, const pelt_bundle *bundle);

/* The remedy for a finding, appended to its text; empty: none. */
const char *cli_remedy(const cli_args *args, const pelt_finding *finding);

#endif
