/* rig.c: a face whose controls are pulled: a live engine behind its key points, with the soft cache between.

   Engines are named on the command line, or built in; clients only send numbers. */

#include "rig/clock.h"
#include "view/show.h"
#include <math.h>
#include <string.h>

struct view_rig {
    pelt_engine *engine;
    bool own;
    const char *name;
    pelt_soft_cache cache;
    void *memory;
    view_keyed keyed;
    bool heard; /* the keys of this frame were computed */
};

/* -- Joining ----------------------------------------------------------------------------------------------------- */

static bool suits(const pelt_engine *engine, const pelt_keys *keys) {
    uint32_t controls = pelt_engine_controls(engine);
    for (uint32_t c = 0; c < controls && c < keys->control_count; c++) { /* both must mean the same by control c */
        const char *one = pelt_engine_control_name(engine, c), *other = pelt_keys_control_name(keys, c);
        if (one && other && strcmp(one, other)) return false;
    }
    return pelt_engine_suits(engine, keys) && keys->component_count == 3 &&
           (!keys->control_count || keys->control_count == controls);
}

static bool has_mesh(const pelt_engine *engine, const view_box *box) {
    const pelt_mesh *mesh = pelt_engine_mesh(engine), *own = box->character ? &box->character->bundle->mesh : NULL;
    return mesh && own && mesh->vertex_count == own->vertex_count &&
           !memcmp(mesh->positions, own->positions, 3 * (size_t)own->vertex_count * sizeof *own->positions);
}

/* The soft cache asks for the keys first. */
static int compute(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values) {
    view_rig *rig = user;
    if (pelt_engine_callback(rig->engine, controls, points, count, values)) return 1;
    if (!rig->heard) memcpy(rig->keyed.at_keys, values, 3 * (size_t)rig->keyed.keys->key_count * sizeof *values);
    rig->heard = true;
    return 0;
}

void view_rig_free(view_rig *rig) {
    if (!rig) return;
    if (rig->own) pelt_engine_close(rig->engine);
    view_keyed_close(&rig->keyed);
    free(rig->memory);
    free(rig);
}

/* Without anything before. */
static pelt_result begin(view_rig *rig, const pelt_keys *keys) {
    return pelt_soft_cache_init(&rig->cache, keys, &(pelt_soft_cache_options){.step = 0.0008f},
                                (pelt_engine_call){compute, rig, pelt_engine_controls(rig->engine)}, rig->memory);
}

static pelt_result new_rig(view_box *box, pelt_engine *engine, bool own, const char *name, pelt_error *error) {
    view_rig *rig = calloc(1, sizeof *rig);
    if (!rig) return own ? pelt_engine_close(engine) : (void)0, pelt_no_memory(error);
    *rig = (view_rig){.engine = engine, .own = own, .name = name};
    rig->memory = aligned_alloc(64, pelt_soft_cache_size(&box->keys, pelt_engine_controls(engine)));
    bool ready = view_keyed_open(&rig->keyed, &box->keys) && rig->memory;
    pelt_result result = ready ? PELT_OK : pelt_no_memory(error);
    if (!result) result = begin(rig, &box->keys);
    if (result) return view_rig_free(rig), result;
    box->rig = rig;
    return PELT_OK;
}

pelt_result view_rig_join(const pelt_view *view, view_box *box, pelt_error *error) {
    pelt_engine *named = view->options.engine;
    if (named && suits(named, &box->keys)) return new_rig(box, named, false, view->options.engine_name, error);
    if (!box->character || !box->keys.control_count || !view->options.serving) return PELT_OK;
    pelt_error own;
    pelt_engine *engine = pelt_engine_open("face", NULL, &own);
    if (!engine) return own.code == PELT_ERROR_MEMORY ? pelt_no_memory(error) : PELT_OK;
    if (suits(engine, &box->keys) && has_mesh(engine, box))
        return new_rig(box, engine, true, "built-in face rig", error);
    pelt_engine_close(engine);
    return PELT_OK;
}

const char *view_rig_name(const view_rig *rig) { return rig->name; }
uint32_t view_rig_control_count(const view_rig *rig) { return pelt_engine_controls(rig->engine); }
const char *view_rig_control_name(const view_rig *rig, uint32_t control) {
    return pelt_engine_control_name(rig->engine, control);
}

/* -- Pulling ----------------------------------------------------------------------------------------------------- */

/* Precedes the numbers of an answer. */
typedef struct head {
    uint32_t verdict, evaluated, calls, all;
    float e, misfit, cache_milliseconds, engine_milliseconds;
} head;

static pelt_result engine_failed(const view_rig *rig, pelt_result result, pelt_error *error) {
    const pelt_error *why = pelt_engine_failure(rig->engine);
    if (result == PELT_ERROR_DATA && why->code) return pelt_fail(error, why->code, "%s", why->text);
    return pelt_fail(error, result, "engine %s: %s", rig->name, pelt_result_text(result));
}

/* Fills in the answer; engines are locked. */
static pelt_result pull(view_rig *rig, const pelt_view_pull *pulled, head *first, float *numbers, pelt_error *error) {
    const pelt_keys *keys = rig->keyed.keys;
    size_t row = 3 * (size_t)keys->point_count;
    float *trust = numbers, *cached = trust + keys->region_count + keys->key_count, *keyed = cached + row,
          *truth = keyed + row;
    pelt_soft_cache_frame_info info;
    double start = pelt_wall_seconds();
    rig->heard = false;
    pelt_result result = pulled->cut ? begin(rig, keys) : PELT_OK;
    if (!result) result = pelt_soft_cache_next(&rig->cache, pulled->controls, cached, &info);
    if (result) return engine_failed(rig, result, error);
    first->cache_milliseconds = (float)(1e3 * (pelt_wall_seconds() - start));
    view_keyed_fill(&rig->keyed, NULL);
    memcpy(keyed, rig->keyed.points, row * sizeof *keyed);
    pelt_soft_cache_regions(&rig->cache, trust);
    view_keyed_trust(&rig->keyed, trust + keys->region_count);
    first->verdict = info.verdict, first->evaluated = info.evaluated, first->calls = info.calls;
    first->e = info.e, first->misfit = info.misfit.e;
    if (!first->all) return PELT_OK;
    start = pelt_wall_seconds();
    result = pelt_engine_evaluate(rig->engine, pulled->controls, NULL, keys->point_count, truth, error);
    first->engine_milliseconds = (float)(1e3 * (pelt_wall_seconds() - start));
    return result;
}

pelt_result pelt_view_pull_face(pelt_view *view, const pelt_view_pull *pulled, pelt_resource *out, pelt_error *error) {
    *out = (pelt_resource){0};
    pthread_rwlock_rdlock(&view->lock);
    view_box *box = view_box_at(view, pulled->box);
    pthread_rwlock_unlock(&view->lock); /* boxes live as long as the view, and keep their engines */
    if (!box || !box->rig) return view_absent(error);
    uint32_t count = view_rig_control_count(box->rig);
    if (pulled->control_count != count)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%u controls were sent, but the engine has %u",
                         pulled->control_count, count);
    const pelt_keys *keys = &box->keys;
    head first = {.all = pulled->all && keys->engine_point_count == keys->point_count};
    size_t numbers = keys->region_count + keys->key_count + (first.all ? 3 : 2) * (3 * (size_t)keys->point_count);
    char *bytes = view_bytes(out, sizeof first + numbers * sizeof(float), "application/octet-stream", error);
    if (!bytes) return PELT_ERROR_MEMORY;
    pthread_mutex_lock(&view->engines);
    pelt_result result = pull(box->rig, pulled, &first, (float *)(void *)(bytes + sizeof first), error);
    pthread_mutex_unlock(&view->engines);
    if (result) return free(out->bytes), *out = (pelt_resource){0}, result;
    memcpy(bytes, &first, sizeof first);
    return PELT_OK;
}
