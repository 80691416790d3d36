/* common.c: messages, JSON, progress, and steps shared by several commands. */

#include "cli/cache_options.h"
#include "io/io.h"
#include "rig/clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Messages ----------------------------------------------------------------------------------------------------- */

static bool bar_shown;

static void clear_bar(void) {
    if (bar_shown) fprintf(stderr, "\r\033[K");
    bar_shown = false;
}

/* Untrusted text must not control the terminal: such characters are shown as \x1b and the like. */
static void print_visibly(FILE *out, const char *kept, const char *format, va_list arguments) {
    char text[4096], visible[4 * sizeof text];
    vsnprintf(text, sizeof text, format, arguments);
    pelt_visible_text(text, kept, visible, sizeof visible);
    fputs(visible, out);
}

/* Where this thread's messages go instead; NULL: to standard error. */
static _Thread_local pelt_error *listener;

void cli_listen(pelt_error *error) { listener = error; }

/* The first message says what is wrong. */
static bool overhear(const char *format, va_list arguments) {
    if (listener && !listener->code && strncmp(format, "note: ", 6)) {
        listener->code = PELT_ERROR_DATA;
        vsnprintf(listener->text, sizeof listener->text, format, arguments);
    }
    return listener != NULL;
}

static void print_message(const char *begin, const char *format, va_list arguments) {
    if (overhear(format, arguments)) return;
    clear_bar();
    fflush(stdout);
    fputs(begin, stderr);
    print_visibly(stderr, "", format, arguments);
    fputs("\n", stderr);
}

/* Also kept for --json, which reports the program's own failures. */
static void print_failure(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    if (!listener) cli_note_error(format, again);
    va_end(again);
    print_message("pelt: ", format, arguments);
}

int cli_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_failure(format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

void cli_warn(const cli_args *args, const char *format, ...) {
    va_list arguments;
    if (args->quiet) return;
    va_start(arguments, format);
    print_message("pelt: warning: ", format, arguments);
    va_end(arguments);
}

int cli_misuse(const cli_args *args, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_failure(format, arguments);
    va_end(arguments);
    if (!listener) fprintf(stderr, "see `pelt %s --help`\n", args->command->name);
    return CLI_MISUSE;
}

/* The library refers to options by name: here they become flags. An invalid option is misuse, anything else a failed
   job. */
int cli_error(const pelt_error *error) {
    char flag[40] = "";
    const char *text = error->text;
    if (*error->option) snprintf(flag, sizeof flag, "--%s", error->option);
    for (char *c = flag; *c; c++)
        if (*c == '_') *c = '-';
    if (*flag && error->code == PELT_ERROR_ARGUMENT)
        cli_fail("%s%s", flag, text + strlen(error->option));
    else if (*flag && error->advice != 0)
        cli_fail("%s (%s %g)", text, flag, error->advice);
    else if (*flag)
        cli_fail("%s (%s)", text, flag);
    else
        cli_fail("%s", text);
    return error->code == PELT_ERROR_ARGUMENT ? CLI_MISUSE : CLI_FAILED;
}

void cli_say(const cli_args *args, const char *format, ...) {
    if (args->json || args->quiet) return;
    clear_bar();
    va_list arguments;
    va_start(arguments, format);
    print_visibly(stdout, "\n", format, arguments);
    va_end(arguments);
}

bool cli_in_tour;

void cli_say_next(const cli_args *args, const char *format, ...) {
    if (cli_in_tour) return;
    cli_say(args, "next: %s ", args->program);
    if (args->json || args->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    print_visibly(stdout, "", format, arguments);
    va_end(arguments);
    cli_say(args, "\n");
}

void cli_put(const char *text) {
    clear_bar();
    fputs(text, stdout);
}

/* -- Progress ----------------------------------------------------------------------------------------------------- */

static struct {
    char about[100];
    double start, from, shown, fraction; /* start time and fraction; time last drawn */
} bar;

void cli_progress_about(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(bar.about, sizeof bar.about, format, arguments);
    va_end(arguments);
    bar.start = 0;
}

/* "12 s", "3 min 05 s"; nothing while it is too early to estimate. */
static void time_left(double now, double fraction, char *text, size_t size) {
    double elapsed = now - bar.start, left = elapsed * (1 - fraction) / (fraction - bar.from);
    *text = 0;
    if (!(fraction > bar.from + 0.005 && elapsed > 0.5 && left < 360000)) return;
    if (left < 100)
        snprintf(text, size, "  %.0f s left", ceil(left));
    else
        snprintf(text, size, "  %d min %02d s left", (int)(left / 60), (int)left % 60);
}

static int show_progress(void *user, const char *task, double fraction) {
    (void)user;
    enum { WIDTH = 30 };
    double now = pelt_wall_seconds();
    char left[40], about[120], visible[4 * sizeof about];
    fraction = fmin(fmax(fraction, 0), 1);
    if (!(bar.start > 0) || fraction < bar.fraction) bar.start = now, bar.from = fraction, bar.shown = 0;
    bar.fraction = fraction;
    if (now - bar.shown < 0.1) return 0;
    bar.shown = now;
    time_left(now, fraction, left, sizeof left);
    snprintf(about, sizeof about, "%s%s", bar.about, task);
    pelt_visible_text(about, "", visible, sizeof visible);
    int filled = (int)(WIDTH * fraction + 0.5);
    fprintf(stderr, "\r\033[K%-16s [%.*s%*s] %3.0f%%%s", visible, filled, "##############################",
            WIDTH - filled, "", 100 * fraction, left);
    bar_shown = true;
    return 0;
}

pelt_progress cli_progress(const cli_args *args) {
    if (args->quiet || !isatty(STDERR_FILENO)) return (pelt_progress){0};
    return (pelt_progress){show_progress, NULL};
}

/* -- Clips, findings, measures ------------------------------------------------------------------------------------- */

static bool has_commas(const pelt_bundle *bundle) {
    for (uint32_t c = 0; c < bundle->clip_count; c++)
        if (strchr(bundle->clips[c]->name, ',')) return true;
    return false;
}

bool cli_clips(pelt_bundle *bundle, const char *names, pelt_need need, const pelt_clip ***clips, size_t *count) {
    pelt_error error;
    size_t words;
    bool whole = false; /* the entire text is the name of one clip, commas included */
    for (uint32_t c = 0; c < bundle->clip_count; c++) whole |= !strcmp(bundle->clips[c]->name, names);
    char **list = cli_list(names, &words);
    if (list && whole) list[0] = (char *)names, words = 1;
    *count = 0;
    *clips = list ? PELT_NEW(bundle->arena, words, const pelt_clip *) : NULL;
    if (!*clips) return cli_fail("not enough memory"), cli_list_free(list), false;
    bool found = words > 0;
    if (!found) cli_fail("no clip was named");
    for (size_t i = 0; i < words && found; i++) {
        const pelt_clip *clip = pelt_bundle_clip(bundle, list[i], need, &error);
        found = clip != NULL;
        if (found) (*clips)[(*count)++] = clip;
        if (!found) cli_error(&error);
        if (!found && strchr(names, ',') && has_commas(bundle)) cli_fail("write a comma in a clip's name as \\,");
    }
    cli_list_free(list);
    return found;
}

bool cli_examples(const cli_args *args, pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count,
                  pelt_examples *examples) {
    uint32_t every = 1;
    if (!cli_count(args, "every", &every)) return false;
    *examples = pelt_bundle_examples(bundle, clips, clip_count);
    size_t count = 0;
    for (size_t i = 0; i < examples->count; i += every) examples->list[count++] = examples->list[i];
    examples->count = count;
    return true;
}

const char *const cli_severities[] = {"note", "warning", "error"};

bool cli_check_findings(const cli_args *args, pelt_findings findings) {
    bool fatal = false;
    for (size_t i = 0; i < findings.count; i++) {
        const pelt_finding *finding = &findings.list[i];
        if (!strcmp(finding->what, "memory")) return cli_fail("%s", finding->text), false;
        fatal |= finding->severity == PELT_FATAL;
        if (finding->severity == PELT_FATAL) cli_fail("error: %s%s", finding->text, cli_remedy(args, finding));
        if (finding->severity == PELT_WARNING) cli_warn(args, "%s%s", finding->text, cli_remedy(args, finding));
    }
    if (!fatal || cli_value(args, "force")) return true;
    cli_fail("nothing was fitted because the input is inconsistent; correct it, or fit anyway with --force");
    return false;
}

json_t *cli_findings_json(pelt_findings findings) {
    json_t *list = json_array();
    for (size_t i = 0; i < findings.count; i++)
        json_array_append_new(list,
                              pelt_json_pack("{severity:s, what:s, text:s}", cli_severities[findings.list[i].severity],
                                             findings.list[i].what, findings.list[i].text));
    return list;
}

void cli_note_controls(const cli_args *args, const pelt_skin *skin, const pelt_bundle *bundle) {
    for (uint32_t i = 0; i < skin->control_count; i++) {
        const char *name = skin->names + skin->controls[i].name;
        if (pelt_control_named(&bundle->controls, name) == bundle->controls.count)
            cli_warn(args, "%s has no control \"%s\", which the skin depends on; it stays at its rest value, %g",
                     bundle->path, name, (double)skin->controls[i].rest);
    }
}

void cli_measure_text(const pelt_measure *m, char *text, size_t size) {
    char jump[40] = "";
    if (isfinite(m->jump)) snprintf(jump, sizeof jump, "  jump %.2f", m->jump);
    if (pelt_measure_is_relative(m))
        snprintf(text, size,
                 "rms %.4g (%.3f%%)  max %.4g (%.2f%%)  rel_err %.3f  roughness %.2f (%u points)  normals %.2f deg%s",
                 m->rms, 100 * m->rms_fraction, m->max, 100 * m->max_fraction, m->rel_err, m->roughness, m->point_count,
                 m->normal_rms_degrees, jump);
    else /* only the absolute error is defined */
        snprintf(text, size, "rms %.4g (%.2g%%)  max %.4g (%.2g%%)  normals %.2f deg", m->rms, 100 * m->rms_fraction,
                 m->max, 100 * m->max_fraction, m->normal_rms_degrees);
}

void cli_add_frames(json_t *object, const pelt_measure *measure) {
    json_object_update_new(object, pelt_json_pack("{frame_rms:o, frame_max:o}",
                                                  pelt_json_floats(measure->frame_rms, measure->frame_count),
                                                  pelt_json_floats(measure->frame_max, measure->frame_count)));
}

void cli_say_regions(const cli_args *args, const pelt_measure *m) {
    enum { SHOWN = 6 };
    bool relatively = pelt_measure_is_relative(m); /* to a blend that is not exact */
    for (int painted = 0; painted < 2; painted++) {
        uint32_t count = 0;
        for (const pelt_region *r = m->regions; r < m->regions + m->region_count; r++) {
            char relative[16] = "";
            if (r->painted != painted || count++ >= SHOWN) continue;
            if (count == 1)
                cli_say(args, "  %-24s vertices        rms        max%s\n",
                        painted ? "by colour, worst first:" : "by joint, worst first:", relatively ? "  rel_err" : "");
            if (relatively)
                snprintf(relative, sizeof relative, isfinite(r->rel_err) ? "%9.3f" : "        -", r->rel_err);
            cli_say(args, "    %-22s %8u %10.4g %10.4g%s\n", r->name, r->vertex_count, r->rms, r->max, relative);
        }
        if (count > SHOWN) cli_say(args, "    and %u more (--json lists all)\n", count - SHOWN);
    }
}

bool cli_write_errors(const cli_args *args, const pelt_measure *const *measures, size_t count, bool several) {
    const char *frame_path = cli_value(args, "frame-errors"), *vertex_path = cli_value(args, "vertex-errors");
    size_t frames = measures[0]->frame_count, vertices = measures[0]->vertex_count;
    pelt_error error = {0};
    float *by_frame = malloc((2 * count * frames + 1) * sizeof(float));
    float *by_vertex = malloc((count * vertices + 1) * sizeof(float));
    bool good = by_frame && by_vertex;
    if (!good) cli_fail("not enough memory");
    for (size_t m = 0; good && m < count; m++) {
        for (size_t f = 0; f < frames; f++) {
            by_frame[2 * (m * frames + f)] = measures[m]->frame_rms[f];
            by_frame[2 * (m * frames + f) + 1] = measures[m]->frame_max[f];
        }
        memcpy(by_vertex + m * vertices, measures[m]->vertex_rms, vertices * sizeof(float));
    }
    uint32_t n = (uint32_t)count, f = (uint32_t)frames, v = (uint32_t)vertices;
    const uint32_t one_frames[3] = {f, 2}, all_frames[3] = {n, f, 2}, one_vertices[3] = {v}, all_vertices[3] = {n, v};
    if (good &&
        ((frame_path && pelt_npy_write(frame_path, several ? all_frames : one_frames, by_frame, &error)) ||
         (vertex_path && pelt_npy_write(vertex_path, several ? all_vertices : one_vertices, by_vertex, &error))))
        good = false, cli_error(&error);
    free(by_frame), free(by_vertex);
    return good;
}

bool cli_is_worse(const pelt_measure *m) { return pelt_measure_is_relative(m) && m->rel_err > 1.01; }

/* -- Correctives --------------------------------------------------------------------------------------------------- */

static double part(const json_t *object, const char *key) { return json_number_value(json_object_get(object, key)); }

static void say_condition(const cli_args *args, const json_t *condition) {
    const json_t *closest = json_object_get(condition, "closest"), *value = json_object_get(condition, "value");
    const char *where = json_string_value(json_object_get(condition, "where"));
    if (!condition) return;
    cli_say(args, json_is_number(value) ? "  condition %.1e" : "  condition infinite", json_number_value(value));
    if (where) cli_say(args, " at %s", where);
    if (part(condition, "median") > 0) cli_say(args, " (median %.1e)", part(condition, "median"));
    if (json_is_array(closest))
        cli_say(args, "; closest examples %s and %s, %.2g rad apart", json_string_value(json_array_get(closest, 0)),
                json_string_value(json_array_get(closest, 1)), part(condition, "distance"));
    cli_say(args, "\n");
}

/* What EigenSkin chose, and how well that predicts held-out examples. */
static void say_choice(const cli_args *args, const json_t *figures) {
    static const char *const kinds[][2] = {
        {"between", "between others"}, {"beyond", "at the ends of ranges"}, {"several", "of several joints"}};
    const json_t *missed = json_object_get(figures, "missed");
    if (!missed) return;
    cli_say(args, "  supports: displacements above %.3g%% of the largest; width %.3g rad",
            100 * part(figures, "threshold"), part(figures, "width"));
    for (size_t k = 0, told = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (json_object_get(missed, kinds[k][0]))
            cli_say(args, "%s %.3g%% of examples %s", told++ ? "," : "; when held out, the fit misses",
                    100 * part(missed, kinds[k][0]), kinds[k][1]);
    cli_say(args, "\n");
}

void cli_say_corrective(const cli_args *args, const json_t *figures) {
    const json_t *damped = json_object_get(figures, "damped");
    if (!json_object_get(figures, "bound")) return;
    say_condition(args, json_object_get(figures, "condition"));
    if (part(figures, "storage_error") > 0)
        cli_say(args, "  rounding displacements to 16 bits moves a vertex by at most %.2g (%.2g%%)\n",
                part(figures, "storage_error"), 100 * part(figures, "storage_error_fraction"));
    if (part(damped, "times") > 0)
        cli_say(args, "  the blend was too flat to invert %.0f times, at %.0f points\n", part(damped, "times"),
                part(damped, "points"));
    say_choice(args, figures);
    const json_t *memory = json_object_get(figures, "memory");
    if (memory)
        cli_say(
            args,
            "  as the EigenSkin paper counts: at most %.0f displacements and %.0f turns of normals per vertex (mean "
            "%.1f, %.1f), %.0f 4-tuples, %.0f constant registers\n",
            part(memory, "most_displacements"), part(memory, "most_turns"), part(memory, "mean_displacements"),
            part(memory, "mean_turns"), part(memory, "tuples"), part(memory, "constants"));
}

/* -- Levels of detail ---------------------------------------------------------------------------------------------- */

bool cli_level(const cli_args *args, pelt_skin *skin) {
    double level = 0, last = pelt_level_count(skin) - 1;
    if (!cli_number(args, "level", &level)) return false;
    if (level >= 0 && level <= last) return skin->least_level = (float)level, true;
    if (last > 0) return cli_misuse(args, "--level %g: %s has levels 0 to %.0f", level, args->inputs[0], last), false;
    return cli_misuse(args, "--level %g: %s has no levels of detail; `pelt levels` adds them", level, args->inputs[0]),
           false;
}

json_t *cli_say_levels(const cli_args *args, const pelt_skin *skin) {
    json_t *list = json_array();
    uint32_t count = pelt_level_count(skin);
    for (uint32_t l = 0; l < count; l++) {
        pelt_level_facts f;
        pelt_get_level(skin, l, &f);
        if (count > 1)
            cli_say(
                args,
                "  level %u: %.1f vectors and %.2f joints per block, %u influences; off by rms %.3g, 95%% below %.3g\n",
                l, (double)f.vectors, (double)f.joints, f.influences, (double)f.rms, (double)f.p95);
        json_array_append_new(list, pelt_json_pack("{vectors:f, joints:f, influences:u, rms:f, p95:f}", f.vectors,
                                                   f.joints, f.influences, f.rms, f.p95));
    }
    return list;
}
