/* eval.h: what the two ways of `pelt eval` share: clips (cmd_eval.c), and poses that come live (eval_live.c). */

#ifndef PELT_EVAL_H
#define PELT_EVAL_H

#include "cli/cli.h"
#include "gpu/device.h"

/* Who deforms: the processor, or a device. */
typedef struct cli_deformer {
    pelt_player *player;
    const pelt_skin *skin;
    pelt_device *device; /* NULL: the processor */
    float *slots;        /* what comes from either */
} cli_deformer;

/* Positions in the order of the mesh, of a pose that the player has made. */
pelt_result cli_deform(cli_deformer *by, const void *pose, float *positions, pelt_error *error);

/* --live: deforms poses as they come, until the stream ends or the user stops it. Returns the exit code. */
int cli_eval_live(const cli_args *args, cli_deformer *by, const pelt_bundle *bundle);

#endif
