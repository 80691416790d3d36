/* input.h: frames for key points, from where people have them: clips of points with their controls beside them,
   controls that an engine evaluates, logs of missed frames; several of them one after the other. */

#ifndef PELT_INPUT_H
#define PELT_INPUT_H

#include "engine/engine.h"
#include <pelt/keys_fit.h>

typedef struct pelt_input {
    pelt_frames frames;               /* all clips, one after the other; shots are numbered through */
    const char *const *control_names; /* [frames.control_count], or NULL */
    uint32_t second_points;           /* of the second mesh, or 0: they are the last of the points */
    pelt_arena *arena;
    uint32_t part_count;
    struct input_part *parts;
} pelt_input;

/* Opens clips: .npy, .pc2, .mdd, .obj folders; a .csv of controls to be evaluated by the engine; a log of missed frames
   (.misses). The controls of CLIP.npy are found beside it as CLIP.csv; a column "shot" numbers the shots. `with`,
   when not NULL, is a cache whose points follow those of the only clip (cross point multiplication). Paths and engine
   must outlive the input. `input` must stay where it is; close it in any case. */
pelt_result pelt_input_open(pelt_input *input, const char *const *paths, uint32_t count, pelt_engine *engine,
                            const char *with, pelt_error *error);
void pelt_input_close(pelt_input *input);

#endif
