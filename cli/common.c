/* common.c: messages, JSON, progress, and steps that several commands take. */

#include "cli/cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- Messages ----------------------------------------------------------------------------------------------------- */

static bool bar_shown;

static void clear_bar(void) {
    if (bar_shown) fprintf(stderr, "\r\033[K");
    bar_shown = false;
}

static void print_message(const char *format, va_list arguments) {
    clear_bar();
    fflush(stdout);
    fprintf(stderr, "pelt: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
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

/* A wrong name given to an option is misuse, anything else a job that failed. */
int cli_error(const pelt_error *error) {
    cli_fail("%s", error->text);
    return error->code == PELT_ERROR_ARGUMENT ? CLI_MISUSE : CLI_FAILED;
}

void cli_say(const cli_args *args, const char *format, ...) {
    if (args->json || args->quiet) return;
    clear_bar();
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

int cli_print_json(const cli_args *args, json_t *object) {
    if (args->json) {
        clear_bar();
        json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        printf("\n");
    }
    json_decref(object);
    return CLI_DONE;
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

double cli_wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double cli_cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- Clips, findings, measures ------------------------------------------------------------------------------------- */

bool cli_clips(pelt_bundle *bundle, const char *names, pelt_need need, const pelt_clip ***clips, size_t *count) {
    pelt_error error;
    size_t words;
    char **list = cli_list(names, &words);
    *count = 0;
    *clips = list ? PELT_NEW(bundle->arena, const pelt_clip *, words) : NULL;
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

static const char *severity_name(pelt_severity severity) {
    return severity == PELT_FATAL ? "error" : severity == PELT_WARNING ? "warning" : "note";
}

bool cli_check_findings(const cli_args *args, pelt_findings findings) {
    bool fatal = false;
    for (size_t i = 0; i < findings.count; i++) {
        const pelt_finding *finding = &findings.list[i];
        fatal |= finding->severity == PELT_FATAL;
        if (finding->severity == PELT_NOTE || (args->quiet && finding->severity != PELT_FATAL)) continue;
        clear_bar();
        fprintf(stderr, "pelt: %s: %s\n", severity_name(finding->severity), finding->text);
    }
    if (!fatal || cli_value(args, "force")) return true;
    cli_fail("nothing was fitted, because the input does not fit together; --force goes on all the same");
    return false;
}

json_t *cli_findings_json(pelt_findings findings) {
    json_t *list = json_array();
    for (size_t i = 0; i < findings.count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "severity", severity_name(findings.list[i].severity),
                                              "what", findings.list[i].what, "text", findings.list[i].text));
    return list;
}

void cli_note_controls(const cli_args *args, const pelt_skin *skin, const pelt_bundle *bundle) {
    for (uint32_t i = 0; i < skin->control_count && !args->quiet; i++) {
        const char *name = skin->names + skin->controls[i].name;
        if (pelt_control_named(&bundle->controls, name) == bundle->controls.count)
            fprintf(stderr, "pelt: note: %s has no control \"%s\", which the skin depends on: it stays at rest, %g\n",
                    bundle->path, name, (double)skin->controls[i].rest);
    }
}

json_t *cli_measure_json(const pelt_measure *m, const char *skin, const char *clip, pelt_examples examples) {
    const pelt_example *worst = &examples.list[m->worst_frame];
    json_t *object =
        json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i}", "skin", skin, "clip", clip,
                  "frames", (int)m->frame_count, "vertices", (int)m->vertex_count, "rms", m->rms, "max", m->max,
                  "rms_fraction", m->rms_fraction, "max_fraction", m->max_fraction, "rel_err", m->rel_err,
                  "normal_rms_degrees", m->normal_rms_degrees, "normal_max_degrees", m->normal_max_degrees,
                  "worst_frame", (int)worst->frame, "worst_vertex", (int)m->worst_vertex);
    return object ? object : json_null(); /* numbers that are not finite have no JSON */
}

void cli_measure_text(const pelt_measure *m, char *text, size_t size) {
    snprintf(text, size, "rms %.4g (%.3f%%)  max %.4g (%.2f%%)  rel_err %.3f  normals %.2f deg", m->rms,
             100 * m->rms_fraction, m->max, 100 * m->max_fraction, m->rel_err, m->normal_rms_degrees);
}

const char *cli_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
