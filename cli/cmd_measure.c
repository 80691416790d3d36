/* cmd_measure.c: pelt measure: the error of a skin on a clip. */

#include "cli/cache_options.h"
#include "fit/about.h"
#include "fit/measure/measure.h"
#include "runtime/format.h"
#include <math.h>
#include <string.h>

/* Findings about the clips; the figures are printed regardless. */
static void warn_of_clips(const cli_args *args, pelt_bundle *bundle, const pelt_clip *const *clips, size_t count) {
    pelt_findings found = pelt_diagnose(bundle, clips, count);
    for (size_t i = 0; i < found.count; i++)
        for (size_t c = 0; c < count; c++)
            if (found.list[i].severity != PELT_NOTE && clips[c]->source && clips[c]->source != bundle->path &&
                !strncmp(found.list[i].text, clips[c]->source, strlen(clips[c]->source))) {
                cli_warn(args, "%s", found.list[i].text);
                break;
            }
}

/* Warns of a skin that is worse than none, with a likely reason. */
static void warn_if_worse(const cli_args *args, const pelt_skin *skin, const pelt_measure *m) {
    if (!cli_is_worse(m)) return;
    bool learned_nothing = skin->facts && skin->facts->train.rel_err > 1.01;
    cli_warn(args, "%s is worse here than plain blending with the file's weights (rel_err %.3f): %s", args->inputs[0],
             m->rel_err,
             learned_nothing && skin->facts->blend == PELT_BLEND_DISTANCE
                 ? "its weights come from distances and ignore how the character moves"
             : learned_nothing ? "it already was on the examples that it was fitted to"
                               : "the clip is unlike the examples that the skin was fitted to; add examples like it");
}

/* Errors of each clip, if there are several; returns the one with the largest rms. */
static const pelt_clip *say_clips(const cli_args *args, const pelt_clip *const *clips, size_t count,
                                  const pelt_measure *m, json_t *list) {
    double worst = -1;
    const pelt_clip *which = NULL;
    const float *rms = m->frame_rms, *most = m->frame_max;
    for (size_t c = 0; c < count; c++) {
        double sum = 0, largest = 0;
        uint32_t frames = clips[c]->frame_count;
        for (uint32_t f = 0; f < frames; f++, rms++, most++) {
            sum += (double)*rms * *rms / frames;
            largest = fmax(largest, *most);
        }
        if (sqrt(sum) > worst) worst = sqrt(sum), which = clips[c];
        json_array_append_new(
            list, pelt_json_pack("{clip:s, frames:u, rms:f, max:f}", clips[c]->name, frames, sqrt(sum), largest));
        if (count > 1)
            cli_say(args, "  \"%s\": rms %.4g  max %.4g, %u frames\n", clips[c]->name, sqrt(sum), largest, frames);
    }
    if (count > 1) cli_say(args, "  worst overall: \"%s\"\n", which->name);
    return which;
}

/* The skin's own opinion beside the truth. */
static json_t *say_expectation(const cli_args *args, const pelt_measure *m) {
    static const char *const names[2] = {"median", "90th percentile"};
    const pelt_expectation *e = &m->expectation;
    json_t *bars = json_array();
    if (!m->frame_expected) return json_decref(bars), json_null();
    cli_say(args, "  confidence: correlation %.2f with the true error of each frame (logarithms)", e->correlation);
    for (int i = 0; i < 2; i++) {
        double worse = e->at[i].called ? 100.0 * e->at[i].worse / e->at[i].called : 0;
        if (e->at[i].called)
            cli_say(args, "; of %u frames forecast to be better than %.4g (%s), %.1f%% are worse", e->at[i].called,
                    e->at[i].bar, names[i], worse);
        else
            cli_say(args, "; no frame is forecast to be better than %.4g (%s)", e->at[i].bar, names[i]);
        bars = pelt_json_append(
            bars, pelt_json_pack("{bar:f, called:u, worse:u}", e->at[i].bar, e->at[i].called, e->at[i].worse));
    }
    cli_say(args, "\n");
    return pelt_json_pack("{correlation:f, bars:o}", e->correlation, bars);
}

static int measure(const cli_args *args, const pelt_skin *skin, pelt_bundle *bundle) {
    const char *names = cli_value(args, "clip");
    const pelt_clip **clips;
    size_t clip_count;
    pelt_error error;
    if (!cli_clips(bundle, names, PELT_NEED_POSITIONS, &clips, &clip_count)) return CLI_FAILED;
    pelt_examples examples = pelt_bundle_examples(bundle, clips, clip_count);
    cli_say_placed(args, bundle);
    cli_note_controls(args, skin, bundle);
    warn_of_clips(args, bundle, clips, clip_count);
    pelt_progress progress = cli_progress(args);
    pelt_measure *m = pelt_measure_watched(skin, bundle, examples, args->threads, &progress, &error);
    if (!m) return cli_error(&error);
    char text[200];
    const pelt_example *worst = &examples.list[m->worst_frame];
    cli_measure_text(m, text, sizeof text);
    cli_say(args, "%s on %s: %s, %u frames; worst: clip \"%s\", frame %u, vertex %u\n", args->inputs[0], names, text,
            m->frame_count, worst->clip->name, worst->frame, m->worst_vertex);
    if (!pelt_measure_is_relative(m) && bundle->mesh.influences.first[bundle->mesh.vertex_count])
        cli_say(args, "  plain blending with the file's weights is exact here, so there are no relative errors\n");
    json_t *object = pelt_measure_json(m, args->inputs[0], names, examples), *list = json_array();
    const pelt_clip *as_a_whole = say_clips(args, clips, clip_count, m, list);
    json_t *more =
        pelt_json_pack("{worst_clip:s, worst_clip_by_rms:s, clips:o}", worst->clip->name, as_a_whole->name, list);
    json_object_update_new(object, more);
    cli_say_regions(args, m);
    json_object_set_new(object, "regions", pelt_regions_json(m));
    json_object_set_new(object, "confidence", say_expectation(args, m));
    cli_add_frames(object, m);
    warn_if_worse(args, skin, m);
    bool written = cli_write_errors(args, (const pelt_measure *const *)&m, 1, false);
    pelt_measure_free(m);
    if (!written) return json_decref(object), CLI_FAILED;
    return cli_print_json(args, object);
}

static int run(const cli_args *args) {
    if (!cli_value(args, "clip")) return cli_misuse(args, "--clip CLIP is missing: name the clip to measure on");
    pelt_error error;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_skin_read(args->inputs[0], &skin, &error);
    if (!bytes) return cli_error(&error);
    if (!cli_level(args, &skin)) return pelt_bytes_free(bytes), CLI_MISUSE;
    pelt_bundle *bundle = cli_bundle(args, args->inputs[1], &error);
    int code = !bundle                           ? cli_error(&error)
               : cli_cache_options(args, bundle) ? measure(args, &skin, bundle)
                                                 : CLI_MISUSE;
    pelt_bundle_free(bundle);
    pelt_bytes_free(bytes);
    return code;
}

const cli_command cli_measure = {
    "measure",
    "SKIN BUNDLE --clip CLIP,...",
    "Measures a skin against the true positions of a clip.",
    "rms is over all frames and vertices, max the largest distance, both in scene units and in percent of the rest "
    "pose's bounding-box diagonal. The others are relative to linear blending with the file's weights, and lower is "
    "better: rel_err is the error; roughness is how much the error differs between neighbouring vertices, which shows "
    "as crumpling (do not compare it between meshes of different sizes); jump is the largest change of the error from "
    "one frame to the next, if the clip is a motion. A region is the vertices that one joint moves most by the file's "
    "weights, or those painted in one colour (COLOR_0).",
    run,
    2,
    2,
    {{"clip", "CLIP,...", "Clip to measure on; several are measured together."},
     CLI_LEVEL_OPTION,
     CLI_ERROR_FILES,
     CLI_CACHE_OPTIONS},
    .example = "pelt measure arm.pelt arm.glb --clip test",
};
