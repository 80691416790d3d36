/* fit_wasm.c: libpelt-fit for JavaScript. Files are in the memory of the host (src/files.ts); answers are JSON texts, which
   stay until the next call. What fails returns 0, and `problem` says why. */

#include "fit_wasm.h"
#include "io/io.h"
#include "rig/json.h"
#include "samples/samples.h"
#include <math.h>
#include <pelt/export.h>
#include <stdlib.h>
#include <string.h>

/* The host is told how far the work is; not 0: it shall stop. */
__attribute__((import_module("pelt"), import_name("step"))) int host_step(const char *task, double fraction);

pelt_error fit_failure;
static char *answer;

EXPORT("problem") const char *problem(void) { return fit_failure.text; }
EXPORT("problem_code") int problem_code(void) { return (int)fit_failure.code; }
EXPORT("take") void *take(size_t size) { return aligned_alloc(PELT_ALIGN, (size / PELT_ALIGN + 1) * PELT_ALIGN); }
EXPORT("give") void give(void *memory) { free(memory); }

int fit_step(void *user, const char *task, double fraction) {
    (void)user;
    return host_step(task, fraction);
}

static const char *say(json_t *value) {
    free(answer);
    answer = value ? pelt_json_dump(value, JSON_COMPACT) : NULL;
    json_decref(value);
    if (!answer) pelt_no_memory(&fit_failure);
    return answer;
}

/* -- Bundles --------------------------------------------------------------------------------------------------------- */

EXPORT("bundle_read") pelt_bundle *bundle_read(const char *path) { return pelt_bundle_read(path, &fit_failure); }
EXPORT("bundle_free") void bundle_free(pelt_bundle *bundle) { pelt_bundle_free(bundle); }

EXPORT("bundle_sample") int bundle_sample(const char *name, uint32_t vertices, uint32_t frames, const char *path) {
    pelt_sample_options options = {.name = name, .vertices = vertices, .frames = frames, .seed = 1};
    pelt_bundle *bundle = pelt_sample_make(&options, &fit_failure);
    int done = bundle && !pelt_export_bundle(bundle, path, &fit_failure);
    pelt_bundle_free(bundle);
    return done;
}

/* Words of the host: [0] vertices, triangles, joints, influences of a vertex; then addresses of positions, triangles,
   joints, weights, parents, rest, and of normals and uvs, where 0 is none. Names of joints are one text, a line each. */
EXPORT("bundle_new") pelt_bundle *bundle_new(const char *name, const uint32_t *words, char *names) {
    pelt_character c = {.name = name,
                        .vertex_count = words[0],
                        .triangle_count = words[1],
                        .joint_count = words[2],
                        .influences_per_vertex = words[3],
                        .positions = (const float *)words[4],
                        .triangles = (const uint32_t *)words[5],
                        .joints = (const uint32_t *)words[6],
                        .weights = (const float *)words[7],
                        .parents = (const int32_t *)words[8],
                        .rest = (const pelt_transform *)words[9],
                        .normals = (const float *)words[10],
                        .uvs = (const float *)words[11]};
    const char **list = names ? calloc(words[2] + 1, sizeof *list) : NULL;
    if (names && !list) return pelt_no_memory(&fit_failure), NULL;
    for (uint32_t i = 0; names && i < words[2]; i++) list[i] = strsep(&names, "\n");
    c.joint_names = list && words[2] && list[words[2] - 1] ? list : NULL;
    pelt_bundle *bundle = pelt_bundle_new(&c, &fit_failure);
    free(list);
    return bundle;
}

EXPORT("bundle_add_clip")
int bundle_add_clip(pelt_bundle *bundle, const char *name, uint32_t frames, const pelt_transform *poses,
                    const float *positions) {
    pelt_clip_input input = {.name = name, .frame_count = frames, .poses = poses, .positions = positions};
    return pelt_bundle_add_clip(bundle, &input, &fit_failure) != NULL;
}

static json_t *findings_json(pelt_findings findings) {
    static const char *const severities[] = {"note", "warning", "fatal"};
    json_t *list = json_array();
    for (size_t i = 0; i < findings.count; i++) {
        const pelt_finding *f = &findings.list[i];
        list = pelt_json_append(
            list, pelt_json_pack("{severity:s, what:s, text:s}", severities[f->severity], f->what, f->text));
    }
    return list;
}

EXPORT("bundle_about") const char *bundle_about(const pelt_bundle *b) {
    json_t *clips = json_array();
    for (uint32_t i = 0; i < b->clip_count; i++)
        clips = pelt_json_append(clips,
                                 pelt_json_pack("{name:s, frames:u, examples:b}", b->clips[i]->name,
                                                b->clips[i]->frame_count, pelt_bundle_has_positions(b, b->clips[i])));
    return say(pelt_json_pack("{vertices:u, triangles:u, joints:u, diagonal:f, clips:o, notes:o}", b->mesh.vertex_count,
                              b->mesh.triangle_count, b->skeleton.joint_count, (double)b->mesh.diagonal, clips,
                              findings_json(b->notes)));
}

/* -- Clips, one name a line ------------------------------------------------------------------------------------------- */

typedef struct clip_list {
    const pelt_clip **list;
    size_t count;
} clip_list;

/* To be freed; count 0: it failed. */
static clip_list read_clips(pelt_bundle *bundle, const char *names, pelt_need need) {
    char *copy = strdup(names), *rest = copy;
    clip_list clips = {copy ? calloc(strlen(names) + 1, sizeof *clips.list) : NULL, 0};
    if (!clips.list) pelt_no_memory(&fit_failure);
    for (const char *name; clips.list && (name = strsep(&rest, "\n"));) {
        const pelt_clip *clip = pelt_bundle_clip(bundle, name, need, &fit_failure);
        if (!clip) {
            clips.count = 0;
            break;
        }
        clips.list[clips.count++] = clip;
    }
    free(copy);
    return clips;
}

static pelt_examples read_examples(pelt_bundle *bundle, const char *names) {
    clip_list clips = read_clips(bundle, names, PELT_NEED_POSITIONS);
    pelt_examples examples = {0};
    if (clips.count) examples = pelt_bundle_examples(bundle, clips.list, clips.count);
    if (clips.count && !examples.count)
        pelt_fail(&fit_failure, PELT_ERROR_DATA, "%s: these clips have no examples", bundle->path);
    free(clips.list);
    return examples;
}

EXPORT("diagnose") const char *diagnose(pelt_bundle *bundle, const char *names) {
    clip_list clips = read_clips(bundle, names, PELT_NEED_POSITIONS);
    const char *said = clips.count ? say(findings_json(pelt_diagnose(bundle, clips.list, clips.count))) : NULL;
    free(clips.list);
    return said;
}

/* -- Skins ----------------------------------------------------------------------------------------------------------- */

/* Lines of "name=value", in this order: method, blend, corrective, others. */
static bool read_options(const char *lines, pelt_fit_options *options) {
    char *copy = strdup(lines), *rest = copy;
    bool good = copy || (pelt_no_memory(&fit_failure), false);
    for (char *line; good && (line = strsep(&rest, "\n"));) {
        char *value = strchr(line, '=');
        if (value) *value++ = 0;
        if (value) good = !pelt_fit_options_set(options, line, value, &fit_failure);
        if (value && !strcmp(line, "holdout") && options->holdout == 0)
            options->holdout = -1; /* none, as for the program */
    }
    free(copy);
    return good;
}

/* `budget`: NULL: by the method of the options; otherwise the best within it is chosen, "": the best. */
EXPORT("fit") pelt_bytes *fit(pelt_bundle *bundle, const char *names, const char *lines, const char *budget_text) {
    pelt_fit_options options = {.threads = 1, .progress = {fit_step, NULL}};
    pelt_fit_report report = {0};
    pelt_budget budget = {0};
    pelt_examples examples = read_examples(bundle, names);
    if (!examples.count || !read_options(lines, &options)) return NULL;
    if (budget_text && *budget_text && pelt_budget_parse(budget_text, &budget, &fit_failure)) return NULL;
    pelt_bytes *skin = budget_text ? pelt_choose(bundle, examples, &budget, &options, &report, NULL, &fit_failure)
                                   : pelt_fit(bundle, examples, &options, &report, &fit_failure);
    if (skin) pelt_fit_report_free(&report);
    return skin;
}

EXPORT("bytes_at") const void *bytes_at(const pelt_bytes *bytes) { return bytes->bytes; }
EXPORT("bytes_size") size_t bytes_size(const pelt_bytes *bytes) { return bytes->size; }
EXPORT("bytes_free") void bytes_free(pelt_bytes *bytes) { pelt_bytes_free(bytes); }

static bool open_skin(const void *bytes, size_t size, pelt_skin *skin) {
    pelt_result result = pelt_open(bytes, size, skin);
    if (result) pelt_fail(&fit_failure, result, "the skin: %s", pelt_result_text(result));
    return !result;
}

/* What the fit wrote down about itself. */
EXPORT("skin_about") const char *skin_about(const void *bytes, size_t size) {
    pelt_skin skin;
    if (!open_skin(bytes, size, &skin)) return NULL;
    free(answer);
    answer = strdup(skin.about ? skin.about : "{}");
    return answer ? answer : (pelt_no_memory(&fit_failure), NULL);
}

EXPORT("measure") const char *measure(const void *bytes, size_t size, pelt_bundle *bundle, const char *names) {
    pelt_skin skin;
    pelt_examples examples = read_examples(bundle, names);
    if (!examples.count || !open_skin(bytes, size, &skin)) return NULL;
    pelt_measure *m = pelt_measure_examples(&skin, bundle, examples, 1, &fit_failure);
    if (!m) return NULL;
    double relative = pelt_measure_is_relative(m) ? m->rel_err : NAN;
    json_t *json = pelt_json_pack(
        "{frames:u, vertices:u, rms:f, max:f, rms_fraction:f, max_fraction:f, rel_err:f, roughness:f, "
        "normal_rms_degrees:f, worst_frame:u, worst_vertex:u, frame_rms:o}",
        m->frame_count, m->vertex_count, m->rms, m->max, m->rms_fraction, m->max_fraction, relative, m->roughness,
        m->normal_rms_degrees, m->worst_frame, m->worst_vertex, pelt_json_floats(m->frame_rms, m->frame_count));
    pelt_measure_free(m);
    return say(json);
}

EXPORT("export_plain")
int export_plain(const void *bytes, size_t size, pelt_bundle *bundle, const char *names, uint32_t influences,
                 const char *path) {
    pelt_skin skin;
    clip_list clips = {0};
    if (!open_skin(bytes, size, &skin)) return 0;
    if (*names && !(clips = read_clips(bundle, names, PELT_NEED_POSE)).count) return free(clips.list), 0;
    pelt_export_options options = {
        .clips = clips.list, .clip_count = clips.count, .influences = influences, .threads = 1};
    pelt_result result = pelt_export(&skin, bundle, &options, path, NULL, &fit_failure);
    free(clips.list);
    return !result;
}
