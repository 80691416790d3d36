/* fit.c: examples in, skin out: what the methods are made of, and the order of the work.

       v(p) = S_p( v0 + D(p) ),   S_p = sum_j w_j T_j(p)

   A method names where the blend S gets its weights and how the corrective D is stored and driven. */

#include "fit/corrective/correctives.h"
#include "fit/fitting.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct method {
    const char *name, *blend, *corrective;
} methods[] = {
    {"ssd", "file", "none"},  {"joints", "joints", "none"}, {"psd", "file", "psd"},
    {"wpsd", "file", "wpsd"}, {"eigen", "file", "eigen"},   {"kernel", "file", "kernel"},
};

const char *const pelt_methods[] = {"ssd", "joints", "psd", "wpsd", "eigen", "kernel", NULL};

static const char *const blends[] = {"file", "distance", "fit", "joints", NULL};
static const char *const rests[] = {"keep", "refit", NULL};
static const char *const choices[] = {"greedy", "rigidity", NULL};

/* Refuses a name that is not in a list, and says what is. */
static pelt_result check_name(const char *option, const char *name, const char *const *names, pelt_error *error) {
    char list[200] = "";
    for (size_t i = 0; names[i]; i++) {
        if (!strcmp(names[i], name)) return PELT_OK;
        strcat(strcat(list, i ? ", " : ""), names[i]);
    }
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "--%s %s: there is no such %s; choose from %s", option, name, option,
                     list);
}

pelt_result pelt_fit_resolve(pelt_fit_options *options, pelt_error *error) {
    if (!options->method) options->method = "ssd";
    if (check_name("method", options->method, pelt_methods, error)) return error ? error->code : PELT_ERROR_ARGUMENT;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, options->method)) continue;
        if (!options->blend) options->blend = methods[i].blend;
        if (!options->corrective) options->corrective = methods[i].corrective;
    }
    pelt_result result = check_name("blend", options->blend, blends, error);
    if (!result) result = check_name("corrective", options->corrective, pelt_correctives, error);
    if (!result && !options->rest) options->rest = strcmp(options->blend, "joints") ? "keep" : "refit";
    if (!result && !options->influence_choice) options->influence_choice = "greedy";
    if (!result) result = check_name("rest", options->rest, rests, error);
    if (!result) result = check_name("influence-choice", options->influence_choice, choices, error);
    return result;
}

/* What the skin says about itself; `pelt fit` adds the errors it measured. */
static char *describe(pelt_fitting *f) {
    const pelt_fit_options *options = &f->options;
    json_t *about = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "made_by", "pelt " PELT_VERSION, "bundle",
                              f->bundle->path, "method", options->method, "blend", options->blend, "corrective",
                              options->corrective, "examples", (int)f->examples.count);
    json_t *warnings = json_array(), *blend = f->blend_about ? json_loads(f->blend_about, 0, NULL) : NULL;
    for (size_t i = 0; i < f->findings.count; i++)
        json_array_append_new(warnings, json_string(f->findings.list[i].text));
    if (blend) json_object_set_new(about, "blend_fit", blend);
    if (json_array_size(warnings)) json_object_set(about, "warnings", warnings);
    json_decref(warnings);
    const char *details = f->model.corrective ? pelt_figures_text(f) : f->details;
    if (details) json_object_set_new(about, "details", json_loads(details, 0, NULL));
    char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
    json_decref(about);
    return text;
}

static pelt_result fit_model(void *user, pelt_error *error) {
    pelt_fitting *f = user;
    if (pelt_should_stop(&f->options.progress, "blend", 0))
        return pelt_fail(error, PELT_ERROR_CANCELLED, "stopped on request");
    pelt_result result = pelt_fit_blend(f, error);
    return result ? result : pelt_fit_corrective(f, error);
}

pelt_skin_bytes *pelt_fit(pelt_bundle *bundle, pelt_examples examples, const pelt_fit_options *given,
                          pelt_error *error) {
    pelt_fitting f = {.bundle = bundle, .examples = examples, .options = *given};
    if (pelt_fit_resolve(&f.options, error)) return NULL;
    f.arena = pelt_arena_new(0);
    pelt_result result = pelt_stage(f.arena, fit_model, &f, error);
    char *about = result ? NULL : describe(&f);
    f.model.about = about;
    pelt_skin_bytes *skin = result ? NULL : pelt_model_pack(&f.model, error);
    free(about);
    pelt_arena_free(f.arena);
    return skin;
}
