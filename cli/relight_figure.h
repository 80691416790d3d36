/* relight_figure.h: the picture that shows what key points of light do. */

#ifndef PELT_CLI_RELIGHT_FIGURE_H
#define PELT_CLI_RELIGHT_FIGURE_H

#include "cli/relight_keys.h"

/* Writes FILE.png: training lights and keys; then for three new lights the full gather, the key points' result, and ten
   times their difference (Meyer & Anderson, figure 5). */
int relight_figure(const cli_args *args, relight_gatherer *g, const relight_about *about, const char *path);

#endif
