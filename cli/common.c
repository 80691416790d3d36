/* common.c: messages, JSON, progress, and steps that several commands take. */

#include "cli/cli.h"
#include "rig/text.h"
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

/* Names and words of others do nothing to the terminal: what would is shown as \x1b and the like. */
static void print_visibly(FILE *out, const char *kept, const char *format, va_list arguments) {
    char text[4096], visible[4 * sizeof text];
    vsnprintf(text, sizeof text, format, arguments);
    pelt_visible_text(text, kept, visible, sizeof visible);
    fputs(visible, out);
}

static void print_message(const char *format, va_list arguments) {
    clear_bar();
    fflush(stdout);
    fputs("pelt: ", stderr);
    print_visibly(stderr, "", format, arguments);
    fputs("\n", stderr);
}

int cli_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_misuse(const cli_args *args, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    fprintf(stderr, "`pelt %s --help` says more\n", args->command->name);
    return CLI_MISUSE;
}

/* The library speaks of its options by name: here they are flags. A wrong option is misuse, anything else a job that
   failed. */
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

void cli_put(const char *text) {
    clear_bar();
    fputs(text, stdout);
}

/* -- Progress ----------------------------------------------------------------------------------------------------- */

static int show_progress(void *user, const char *task, double fraction) {
    (void)user;
    int filled = (int)(30 * fraction + 0.5);
    fprintf(stderr, "\r\033[K%-12s [%.*s%*s] %3.0f%%", task, filled, "##############################", 30 - filled, "",
            100 * fraction);
    bar_shown = true;
    return 0;
}

pelt_progress cli_progress(const cli_args *args) {
    if (args->quiet || !isatty(STDERR_FILENO)) return (pelt_progress){0};
    return (pelt_progress){show_progress, NULL};
}

/* -- Clips, findings, measures ------------------------------------------------------------------------------------- */

bool cli_clips(pelt_bundle *bundle, const char *names, pelt_need need, const pelt_clip ***clips, size_t *count) {
    pelt_error error;
    size_t words;
    char **list = cli_list(names, &words);
    *count = 0;
    *clips = list ? PELT_NEW(bundle->arena, words, const pelt_clip *) : NULL;
    if (!*clips) return cli_fail("not enough memory"), cli_list_free(list), false;
    bool found = words > 0;
    if (!found) cli_fail("no clip is named");
    for (size_t i = 0; i < words && found; i++) {
        const pelt_clip *clip = pelt_bundle_clip(bundle, list[i], need, &error);
        found = clip != NULL;
        if (found)
            (*clips)[(*count)++] = clip;
        else
            cli_error(&error);
    }
    cli_list_free(list);
    return found;
}

bool cli_examples(const cli_args *args, pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count,
                  pelt_examples *examples) {
    uint32_t every = 1;
    if (!cli_count(args, "every", 1, 1000000, &every)) return false;
    *examples = pelt_bundle_examples(bundle, clips, clip_count);
    size_t count = 0;
    for (size_t i = 0; i < examples->count; i += every) examples->list[count++] = examples->list[i];
    examples->count = count;
    return true;
}

static const char *severity_name(pelt_severity severity) {
    return severity == PELT_FATAL ? "error" : severity == PELT_WARNING ? "warning" : "note";
}

bool cli_check_findings(const cli_args *args, pelt_findings findings) {
    bool fatal = false;
    for (size_t i = 0; i < findings.count; i++) {
        const pelt_finding *finding = &findings.list[i];
        if (!strcmp(finding->what, "memory")) return cli_fail("%s", finding->text), false;
        fatal |= finding->severity == PELT_FATAL;
        if (finding->severity == PELT_NOTE || (args->quiet && finding->severity != PELT_FATAL)) continue;
        cli_fail("%s: %s", severity_name(finding->severity), finding->text);
    }
    if (!fatal || cli_value(args, "force")) return true;
    cli_fail("nothing was fitted, because the input does not fit together; --force goes on all the same");
    return false;
}

json_t *cli_findings_json(pelt_findings findings) {
    json_t *list = json_array();
    for (size_t i = 0; i < findings.count; i++)
        json_array_append_new(list, cli_pack("{s:s, s:s, s:s}", "severity", severity_name(findings.list[i].severity),
                                             "what", findings.list[i].what, "text", findings.list[i].text));
    return list;
}

void cli_note_controls(const cli_args *args, const pelt_skin *skin, const pelt_bundle *bundle) {
    for (uint32_t i = 0; i < skin->control_count && !args->quiet; i++) {
        const char *name = skin->names + skin->controls[i].name;
        if (pelt_control_named(&bundle->controls, name) == bundle->controls.count)
            cli_fail("note: %s has no control \"%s\", which the skin depends on: it stays at rest, %g", bundle->path,
                     name, (double)skin->controls[i].rest);
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
    else /* the absolute error is all there is to say */
        snprintf(text, size, "rms %.4g (%.2g%%)  max %.4g (%.2g%%)  normals %.2f deg", m->rms, 100 * m->rms_fraction,
                 m->max, 100 * m->max_fraction, m->normal_rms_degrees);
}

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

void cli_say_corrective(const cli_args *args, const json_t *figures) {
    const json_t *damped = json_object_get(figures, "damped");
    if (!json_object_get(figures, "bound")) return;
    say_condition(args, json_object_get(figures, "condition"));
    cli_say(args, "  displacements are below %.3g (%.3g%%) in any pose; storage error %.2g (%.2g%%)\n",
            part(figures, "bound"), 100 * part(figures, "bound_fraction"), part(figures, "storage_error"),
            100 * part(figures, "storage_error_fraction"));
    if (part(damped, "times") > 0)
        cli_say(args, "  blend too flat to invert %.0f times, at %.0f points\n", part(damped, "times"),
                part(damped, "points"));
}

/* -- Small things -------------------------------------------------------------------------------------------------- */

const char *cli_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
