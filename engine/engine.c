/* engine.c: all kinds of engines behind one call. Points are split among workers, each of which computes its own share,
   so the values are the same for any number of them. */

#include "engine/engine.h"
#include "engine/process.h"
#include "io/io.h"
#include "rig/clock.h"
#include "samples/face.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORKERS = 64 };

struct pelt_engine {
    pelt_arena *arena;
    uint32_t points, components, controls, worker_count;
    pelt_face *face; /* or processes */
    pelt_process processes[MOST_WORKERS];
    uint32_t *all; /* [points] 0, 1, 2, ... */
    pelt_error failure;
};

/* -- Opening ------------------------------------------------------------------------------------------------------- */

static pelt_result open_face(pelt_engine *e, const char *path, const pelt_engine_options *o, pelt_error *error) {
    pelt_bundle *bundle = path ? pelt_bundle_read(path, error) : NULL;
    if (path && !bundle) return error ? error->code : PELT_ERROR_FILE;
    e->face = pelt_face_new(&(pelt_face_options){bundle ? &bundle->mesh : NULL, o->points, o->cost}, error);
    pelt_bundle_free(bundle);
    if (!e->face) return error ? error->code : PELT_ERROR_DATA;
    e->points = pelt_face_mesh(e->face)->vertex_count;
    e->components = 3;
    e->controls = FACE_CONTROLS;
    return PELT_OK;
}

static pelt_result open_processes(pelt_engine *e, const char *what, const pelt_engine_options *o, pelt_error *error) {
    bool pipe = !strncmp(what, "pipe:", 5);
    char *name = pelt_arena_format(e->arena, "%s", pipe ? what + 5 : what);
    char *path = !name || pipe || strchr(name, '/') ? name : pelt_arena_format(e->arena, "./%s", name);
    if (pelt_arena_failed(e->arena)) return pelt_no_memory(error);
    pelt_shared_object object = {path, o->points, o->components ? o->components : 3, o->controls};
    pelt_result result = PELT_OK;
    for (uint32_t w = 0; w < e->worker_count && !result; w++) {
        pelt_process *p = &e->processes[w];
        *p = (pelt_process){.name = name, .timeout = o->timeout > 0 ? o->timeout : 60, .channel = -1, .lifeline = -1};
        result = pelt_process_start(p, pipe ? pelt_child_command : pelt_child_object,
                                    pipe ? (void *)name : (void *)&object, error);
    }
    double deadline = pelt_process_deadline(&e->processes[0]); /* one deadline for all of them */
    for (uint32_t w = 0; w < e->worker_count && !result; w++) {
        pelt_process *p = &e->processes[w];
        result = pelt_process_hello(p, deadline, error);
        if (!result && w && (p->points != e->points || p->components != e->components || p->controls != e->controls))
            result = pelt_fail(error, PELT_ERROR_DATA, "engine %s: its processes report different sizes", name);
        if (!w) e->points = p->points, e->components = p->components, e->controls = p->controls;
    }
    return result;
}

static pelt_result open_any(pelt_engine *e, const char *what, const pelt_engine_options *o, pelt_error *error) {
    if (!strcmp(what, "face")) return open_face(e, NULL, o, error);
    if (!strncmp(what, "face:", 5)) return open_face(e, what + 5, o, error);
    if (!strncmp(what, "pipe:", 5) || pelt_ends_with(what, ".so")) return open_processes(e, what, o, error);
    return pelt_fail(error, PELT_ERROR_ARGUMENT,
                     "engine: %s is not an engine; expected face, face:FILE.glb, FILE.so or pipe:COMMAND", what);
}

static pelt_result check_options(const pelt_engine_options *o, pelt_error *error) {
    const uint32_t most_points = 100000000, most_controls = 1 << 20;
    if (o->points > most_points)
        return pelt_fail_option(error, "points", " must be at most %u, not %u", most_points, o->points);
    if (o->controls > most_controls)
        return pelt_fail_option(error, "engine_controls", " must be at most %u, not %u", most_controls, o->controls);
    if (!(o->cost >= 0 && o->cost <= 1e6))
        return pelt_fail_option(error, "cost", " must be between 0 and 1e6 microseconds, not %g", o->cost);
    if (!(o->timeout == 0 || (o->timeout >= 1e-3 && o->timeout <= 1e6)))
        return pelt_fail_option(error, "timeout", " must be between 0.001 and 1e6 seconds, not %g", o->timeout);
    return PELT_OK;
}

pelt_engine *pelt_engine_open(const char *what, const pelt_engine_options *given, pelt_error *error) {
    pelt_engine_options options = given ? *given : (pelt_engine_options){0};
    if (check_options(&options, error)) return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_engine *e = PELT_NEW(arena, 1, pelt_engine);
    if (!e) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    e->arena = arena;
    e->worker_count = options.workers < 1 ? 1 : options.workers > MOST_WORKERS ? MOST_WORKERS : options.workers;
    for (uint32_t w = 0; w < MOST_WORKERS; w++) e->processes[w].channel = e->processes[w].lifeline = -1;
    pelt_result result = open_any(e, what, &options, error);
    e->all = result ? NULL : PELT_NEW(arena, e->points, uint32_t);
    if (!result && pelt_arena_failed(arena)) result = pelt_no_memory(error);
    for (uint32_t p = 0; !result && p < e->points; p++) e->all[p] = p;
    if (!result) return e;
    pelt_engine_close(e);
    return NULL;
}

void pelt_engine_close(pelt_engine *e) {
    if (!e) return;
    for (uint32_t w = 0; w < MOST_WORKERS; w++) pelt_process_leave(&e->processes[w]);
    double deadline = pelt_process_grace();
    for (uint32_t w = 0; w < MOST_WORKERS; w++) pelt_process_end(&e->processes[w], deadline);
    pelt_face_free(e->face);
    pelt_arena_free(e->arena);
}

uint32_t pelt_engine_points(const pelt_engine *e) { return e->points; }
uint32_t pelt_engine_components(const pelt_engine *e) { return e->components; }
uint32_t pelt_engine_controls(const pelt_engine *e) { return e->controls; }
bool pelt_engine_suits(const pelt_engine *e, const pelt_keys *keys) {
    return (e->points == keys->engine_point_count || e->points == keys->point_count) &&
           e->components == keys->component_count;
}
const char *pelt_engine_control_name(const pelt_engine *e, uint32_t control) {
    return e->face ? pelt_face_control_name(control) : NULL;
}
const pelt_mesh *pelt_engine_mesh(const pelt_engine *e) { return e->face ? pelt_face_mesh(e->face) : NULL; }
const pelt_error *pelt_engine_failure(const pelt_engine *e) { return &e->failure; }

/* -- Evaluating ---------------------------------------------------------------------------------------------------- */

typedef struct call {
    pelt_engine *engine;
    const float *controls;
    const uint32_t *points;
    uint32_t count;
    float *values;
    pelt_error errors[MOST_WORKERS];
} call;

static void evaluate_part(void *user, size_t w, pelt_arena *scratch) {
    (void)scratch;
    call *c = user;
    pelt_engine *e = c->engine;
    uint32_t first = (uint32_t)((uint64_t)c->count * w / e->worker_count);
    uint32_t count = (uint32_t)((uint64_t)c->count * (w + 1) / e->worker_count) - first;
    float *values = c->values + (size_t)first * e->components;
    if (!count) return;
    if (e->face)
        pelt_face_evaluate(e->face, c->controls, c->points + first, count, values);
    else
        pelt_process_ask(&e->processes[w], c->controls, c->points + first, count, values, &c->errors[w]);
}

pelt_result pelt_engine_evaluate(pelt_engine *e, const float *controls, const uint32_t *points, uint32_t count,
                                 float *values, pelt_error *error) {
    call c = {e, controls, points ? points : e->all, count, values, {{0}}};
    if (count > e->points)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%u points were requested, but the engine has %u", count,
                         e->points);
    if (!pelt_parallel(NULL, e->worker_count, e->worker_count, evaluate_part, &c)) return pelt_no_memory(error);
    for (uint32_t w = 0; w < e->worker_count; w++)
        if (c.errors[w].code) return pelt_fail(error, c.errors[w].code, "%s", c.errors[w].text);
    for (size_t i = 0; i < (size_t)count * e->components; i++)
        if (!isfinite(values[i]))
            return pelt_fail(error, PELT_ERROR_NUMBER, "the engine returned a value at point %u that is not finite",
                             c.points[i / e->components]);
    return PELT_OK;
}

int pelt_engine_callback(void *engine, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    pelt_engine *e = engine;
    return pelt_engine_evaluate(e, controls, points, count, values, &e->failure) != PELT_OK;
}

/* Seconds of one call: the minimum over a few runs. */
static double call_seconds(pelt_engine *e, const float *controls, uint32_t frames, const uint32_t *points,
                           uint32_t count, uint64_t turns, float *values) {
    double best = INFINITY;
    for (uint64_t i = 0; i < turns; i++) {
        double start = pelt_wall_seconds();
        if (pelt_engine_evaluate(e, controls + frames * i / turns * e->controls, points, count, values, NULL)) break;
        best = fmin(best, pelt_wall_seconds() - start);
    }
    return best;
}

pelt_engine_cost pelt_engine_measure(pelt_engine *e, const float *controls, uint32_t frames, const uint32_t *points,
                                     uint32_t count) {
    float *values = malloc((size_t)e->points * e->components * sizeof *values);
    pelt_engine_cost cost = {0};
    if (values && frames) {
        double all = call_seconds(e, controls, frames, NULL, e->points, 5, values),
               few = call_seconds(e, controls, frames, points, count, 25, values);
        if (isfinite(all) && isfinite(few)) {
            cost.point = count < e->points ? fmax(0, (all - few) / (e->points - count)) : all / e->points;
            cost.call = fmax(0, all - cost.point * e->points);
        }
    }
    free(values);
    return cost;
}
