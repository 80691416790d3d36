/* engine.h: slow calculations that key points replace: the built-in face rig, a shared object with one function, or
   another program at the end of a pipe.

   The last two run in separate processes: an engine that crashes, hangs or answers nonsense is an error with a message,
   never the end of the caller. docs/howto-keys.md has an example of each. */

#ifndef PELT_ENGINE_H
#define PELT_ENGINE_H

#include "rig/rig.h"
#include <pelt/keys.h>

typedef struct pelt_engine pelt_engine;

typedef struct pelt_engine_options {
    uint32_t workers;    /* processes (threads, for the face rig) that share the points; 0: 1 */
    double timeout;      /* seconds allowed per answer; 0: 60 */
    uint32_t points;     /* of a shared object that does not export it; or of the face rig (0: all) */
    uint32_t components; /* of a shared object that does not export it; 0: 3 */
    uint32_t controls;   /* of a shared object that does not export it */
    double cost;         /* of the face rig: extra microseconds per point */
} pelt_engine_options;

/* Opens an engine: "face" (procedural), "face:FILE.glb", "FILE.so", or "pipe:COMMAND" (run by the shell). */
pelt_engine *pelt_engine_open(const char *what, const pelt_engine_options *options, pelt_error *error);
void pelt_engine_close(pelt_engine *engine);

uint32_t pelt_engine_points(const pelt_engine *engine);
uint32_t pelt_engine_components(const pelt_engine *engine);
uint32_t pelt_engine_controls(const pelt_engine *engine);

/* The name of a control, or NULL if unknown. */
const char *pelt_engine_control_name(const pelt_engine *engine, uint32_t control);

/* Whether it computes the points that key points were trained on: all of them, or those of the first of two meshes. */
bool pelt_engine_suits(const pelt_engine *engine, const pelt_keys *keys);

/* The mesh of its points at rest, or NULL if unknown. */
const pelt_mesh *pelt_engine_mesh(const pelt_engine *engine);

/* Values at some points (NULL: points 0 to count - 1) for controls [pelt_engine_controls]. Fails if the engine fails or
   returns a value that is not finite. */
pelt_result pelt_engine_evaluate(pelt_engine *engine, const float *controls, const uint32_t *points, uint32_t count,
                                 float *values, pelt_error *error);

/* The cost of a call: call + point x points, in seconds. */
typedef struct pelt_engine_cost {
    double call, point;
} pelt_engine_cost;

/* Measured with all points and with some of them, at a sample of the frames' controls; zeros if the engine fails. */
pelt_engine_cost pelt_engine_measure(pelt_engine *engine, const float *controls, uint32_t frames,
                                     const uint32_t *points, uint32_t count);

/* pelt_engine_evaluate as a pelt_evaluate for soft caches: `engine` is a pelt_engine. pelt_engine_failure has the
   error. */
int pelt_engine_callback(void *engine, const float *controls, const uint32_t *points, uint32_t count, float *values);
const pelt_error *pelt_engine_failure(const pelt_engine *engine);

#endif
