/* eval.h: shared by the two modes of `pelt eval`: clips (cmd_eval.c) and live poses (eval_live.c). */

#ifndef PELT_EVAL_H
#define PELT_EVAL_H

#include "cli/cli.h"
#include "gpu/device.h"

/* Where to deform: on the CPU, or on a device. */
typedef struct cli_deformer {
    pelt_player *player;
    const pelt_skin *skin;
    pelt_device *device; /* NULL: the CPU */
    float *slots;        /* output of either */
} cli_deformer;

/* Positions in mesh order, for the player's current pose. */
pelt_result cli_deform(cli_deformer *by, const void *pose, float *positions, pelt_error *error);

/* --live: deforms poses as they arrive, until the stream ends or the user stops it. Returns the exit code. */
int cli_eval_live(const cli_args *args, cli_deformer *by, const pelt_bundle *bundle);

/* --confidence: writes the error to expect of every frame (eval_confidence.c). Returns the exit code. */
bool cli_is_confidence_file(const char *path);
int cli_write_confidence(const cli_args *args, cli_deformer *by, const pelt_clip *clip);

/* Says why a line of poses was skipped, the first few times, and counts. */
void cli_skip_line(uint64_t *skipped, const char *sentence);

#endif
