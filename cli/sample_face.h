/* sample_face.h: the part of `pelt sample` that writes the face. */

#ifndef PELT_SAMPLE_FACE_H
#define PELT_SAMPLE_FACE_H

#include "cli/cli.h"

/* Writes the face rig's mesh and clips to an existing folder; returns the exit code. */
int sample_face(const cli_args *args, const char *folder, uint32_t points);

#endif
