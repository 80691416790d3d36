/* blind.c: fits to some examples of the training clips and measures the skin on the others. bench/settings.sh builds
   it, once per value of a constant.

       blind BUNDLE CLIP,... FOLD [method=M] [blend=B] [family=F] [per-vertex=N] [influences=N] [ridge=X]
             [sweeps=N coupled=N]

   FOLD is 0 to 4. Clips are cut into stretches like pelt_hold_out does (a twelfth of a motion, single examples
   otherwise), which are dealt out to the folds; the first example is in none. With sweeps=N the first N examples are
   always seen, and only coupled=N of the others, different ones in every fold.

   Prints one line: held-out examples, sum of squared errors, the same for the file's blend, jump, joints per block,
   bytes per vertex, CPU seconds of the fit, family, and the fit's own cross-validation error. */

#include "fit/fitting.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 5, MOST_CLIPS = 8 };

typedef struct split {
    unsigned fold, sweeps, coupled;
    pelt_examples kept, held;
} split;

static int stop(const char *what) {
    fprintf(stderr, "blind: %s\n", what);
    return 1;
}

static void put(pelt_examples *list, pelt_example example) { list->list[list->count++] = example; }

/* Stretches of a clip, dealt out to the folds. */
static void deal(const pelt_bundle *bundle, const pelt_example *run, size_t count, split *s) {
    size_t stretch = pelt_is_motion(bundle, run, count) ? (count + 11) / 12 : 1;
    for (size_t i = 0; i < count; i++) put(i && i / stretch % FOLDS == s->fold ? &s->held : &s->kept, run[i]);
}

/* All of the sweeps, and `coupled` of the n examples after them, spread evenly and shifted from fold to fold. */
static void deal_coupled(const pelt_example *run, size_t count, split *s) {
    size_t n = count - s->sweeps;
    for (size_t i = 0; i < count; i++) {
        size_t place = i < s->sweeps ? 0 : (i - s->sweeps + s->fold * n / (FOLDS * (s->coupled + 1))) % n * s->coupled;
        bool seen = i < s->sweeps || place / n != (place + s->coupled) / n;
        put(seen ? &s->kept : &s->held, run[i]);
    }
}

static pelt_examples read_examples(pelt_bundle *bundle, char *names, pelt_error *error) {
    const pelt_clip *clips[MOST_CLIPS];
    size_t count = 0;
    for (char *name = strtok(names, ","); name && count < MOST_CLIPS; name = strtok(NULL, ","))
        if (!(clips[count++] = pelt_bundle_clip(bundle, name, PELT_NEED_POSITIONS, error))) return (pelt_examples){0};
    return pelt_bundle_examples(bundle, clips, count);
}

static int by_name(const char *name, const char *(*names)(int), int count) {
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names(i))) return i;
    exit(stop(name));
}

static const char *method_name(int i) { return pelt_method_name((pelt_method)i); }
static const char *blend_name(int i) { return pelt_blend_name((pelt_blend)i); }
static const char *family_name(int i) { return pelt_family_name((pelt_family)i); }

static void read_option(const char *text, pelt_fit_options *o, split *s) {
    const char *value = strchr(text, '=') ? strchr(text, '=') + 1 : "";
    unsigned number = (unsigned)strtoul(value, NULL, 10);
    if (!strncmp(text, "method=", 7))
        o->method = (pelt_method)by_name(value, method_name, PELT_METHOD_COUNT);
    else if (!strncmp(text, "blend=", 6))
        o->blend = (pelt_blend)by_name(value, blend_name, PELT_BLEND_COUNT);
    else if (!strncmp(text, "family=", 7))
        o->kernel.family = (pelt_family)by_name(value, family_name, PELT_FAMILY_COUNT);
    else if (!strncmp(text, "per-vertex=", 11))
        o->kernel.per_vertex = number;
    else if (!strncmp(text, "influences=", 11))
        o->influences = number;
    else if (!strncmp(text, "ridge=", 6))
        o->joints.ridge = strtod(value, NULL);
    else if (!strncmp(text, "sweeps=", 7))
        s->sweeps = number;
    else if (!strncmp(text, "coupled=", 8))
        s->coupled = number;
    else
        exit(stop(text));
}

static void print(const pelt_skin *skin, size_t bytes, const pelt_fit_report *r, const pelt_measure *m) {
    const pelt_kernel_findings *kernel = r->kernel;
    double n = m->frame_count;
    char jump[32] = "-";
    if (isfinite(m->jump)) snprintf(jump, sizeof jump, "%.4f", m->jump);
    printf("%u %.6e %.6e %s %.3f %.1f %.2f %s %u %.4f\n", m->frame_count, n * m->rms_fraction * m->rms_fraction,
           n * m->blend_fraction * m->blend_fraction, jump, (double)skin->entry_count / skin->block_count,
           (double)bytes / skin->vertex_count, r->cpu_seconds, kernel ? pelt_family_name(kernel->family) : "-",
           kernel ? kernel->features : 0, kernel ? kernel->validation_error : 0);
}

int main(int count, char **words) {
    pelt_error error = {0};
    split s = {0};
    pelt_fit_options options = {.method = PELT_METHOD_KERNEL, .holdout = -1, .threads = 1};
    if (count < 4) return stop("BUNDLE CLIP,... FOLD [method=M] [blend=B] [family=F] [per-vertex=N] ...");
    s.fold = (unsigned)strtoul(words[3], NULL, 10);
    for (int i = 4; i < count; i++) read_option(words[i], &options, &s);
    pelt_bundle *bundle = pelt_bundle_read(words[1], &error);
    pelt_examples all = bundle ? read_examples(bundle, words[2], &error) : (pelt_examples){0};
    if (!all.count) return stop(error.text);
    s.kept.list = calloc(all.count, sizeof *s.kept.list), s.held.list = calloc(all.count, sizeof *s.held.list);
    if (!s.kept.list || !s.held.list) return stop("not enough memory");
    for (size_t begin = 0, end; begin < all.count; begin = end) {
        for (end = begin + 1; end < all.count && all.list[end].clip == all.list[begin].clip;) end++;
        if (s.sweeps)
            deal_coupled(all.list + begin, end - begin, &s);
        else
            deal(bundle, all.list + begin, end - begin, &s);
    }
    pelt_fit_report report;
    pelt_skin skin;
    pelt_bytes *bytes = pelt_fit(bundle, s.kept, &options, &report, &error);
    if (!bytes) return stop(error.text);
    if (pelt_open(bytes->bytes, bytes->size, &skin)) return stop("the skin cannot be opened");
    pelt_measure *measured = pelt_measure_examples(&skin, bundle, s.held, 1, &error);
    if (!measured) return stop(error.text);
    print(&skin, bytes->size, &report, measured);
    pelt_measure_free(measured);
    pelt_fit_report_free(&report);
    pelt_bytes_free(bytes);
    pelt_bundle_free(bundle);
    free(s.kept.list), free(s.held.list);
    return 0;
}
