/* input.h: frames for key points from any source: clips of points along with their controls, controls that an engine
   evaluates, logs of missed frames; several of them in sequence. */

#ifndef PELT_INPUT_H
#define PELT_INPUT_H

#include "engine/engine.h"
#include <pelt/keys_fit.h>

typedef struct pelt_input {
    pelt_frames frames;     /* all clips in sequence; shots are numbered across clips */
    uint32_t second_points; /* number of points of the second mesh, which come last; or 0 */
    pelt_arena *arena;
    uint32_t part_count;
    struct input_part *parts;
} pelt_input;

/* Opens clips: .npy, .pc2, .mdd, .obj folders; a .csv of controls for the engine to evaluate; a log of missed frames
   (.misses). The controls of CLIP.npy come from CLIP.csv next to it; a column "shot" numbers the shots. `with`, if not
   NULL, is a cache whose points follow those of the only clip (cross point multiplication). Paths and engine must
   outlive the input. `input` must not move; close it in any case.

   Controls are matched by name: they come in the order of the engine if it names them, else in that of `keys` (may be
   NULL), else in that of the first clip. A clip with other names is refused. */
pelt_result pelt_input_open(pelt_input *input, const char *const *paths, uint32_t count, pelt_engine *engine,
                            const pelt_keys *keys, const char *with, pelt_error *error);

/* Puts what key points know of controls into the order of the input's, by name; refuses other names. The keys then point
   into the input. */
pelt_result pelt_input_match(pelt_input *input, pelt_keys *keys, pelt_error *error);
void pelt_input_close(pelt_input *input);

#endif
