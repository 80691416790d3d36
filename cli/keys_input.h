/* keys_input.h: what `pelt keys` reads: clips of frames, with their controls, from files or from an engine. */

#ifndef PELT_KEYS_INPUT_H
#define PELT_KEYS_INPUT_H

#include "cli/cli.h"
#include "engine/engine.h"
#include "io/io.h"

typedef struct keys_input {
    pelt_arena *arena;
    pelt_frames frames; /* all parts, one after the other */
    uint32_t part_count;
    struct keys_part *parts;
    const char **control_names; /* [frames.control_count], or NULL */
} keys_input;

/* Opens the engine that --engine names, or returns NULL with *code 0 when none was asked for. */
pelt_engine *keys_engine(const cli_args *args, int *code);

/* Opens clips: .npy, .pc2, .mdd, .obj folders; a .csv of controls to be evaluated by the engine; a log of missed frames
   (.misses). The controls of CLIP.npy are found beside it as CLIP.csv; a column "shot" numbers the shots. `with`, when
   not NULL, is a second cache whose points follow those of the only clip (cross point multiplication).
   False after a message. */
bool keys_input_open(keys_input *input, const char *const *paths, int count, pelt_engine *engine, const char *with);
void keys_input_close(keys_input *input);
/* Points of the second mesh, or 0. */
uint32_t keys_input_second_points(const keys_input *input);

#endif
