/* cache_options.c: the options that change caches and examples as they are read. */

#include "cli/cache_options.h"
#include "io/io.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "x,z,-y". */
static bool read_axes(const char *text, int axes[3]) {
    for (int i = 0; i < 3; i++) {
        int sign = *text == '-' ? -1 : 1;
        if (*text == '-' || *text == '+') text++;
        const char *letter = *text ? strchr("xyz", *text) : NULL;
        if (!letter || text[1] != (i < 2 ? ',' : 0)) return false;
        axes[i] = sign * (int)(letter - "xyz" + 1);
        text += 2;
    }
    return true;
}

static bool read_vector(const char *text, double vector[3]) {
    for (int i = 0; i < 3; i++) {
        char *end;
        vector[i] = strtod(text, &end);
        if (end == text || *end != (i < 2 ? ',' : 0) || !isfinite(vector[i])) return false;
        text = end + 1;
    }
    return true;
}

bool cli_cache_options(const cli_args *args, pelt_bundle *bundle) {
    const char *axes = cli_value(args, "axes"), *offset = cli_value(args, "offset"), *space = cli_value(args, "space");
    pelt_cache_options *o = &bundle->cache;
    double frames = 0;
    *o = (pelt_cache_options){.fix = cli_value(args, "fix") != NULL, .set_frames = cli_value(args, "frames") != NULL};
    if (axes && !read_axes(axes, o->axes))
        return cli_misuse(args, "--axes %s: expected three axes of the cache, each once, such as x,z,-y", axes), false;
    if (space && strcmp(space, "rest") && strcmp(space, "posed"))
        return cli_misuse(args, "--space %s: expected rest or posed", space), false;
    o->space = !space ? PELT_SPACE_SEEN : *space == 'r' ? PELT_SPACE_REST : PELT_SPACE_POSED;
    if (offset && !read_vector(offset, o->offset))
        return cli_misuse(args, "--offset %s: expected three numbers, such as 0,1.5,0", offset), false;
    if (!cli_amount(args, "scale", &o->scale) || !cli_number(args, "frames", &frames)) return false;
    if (frames != floor(frames) || fabs(frames) > INT32_MAX)
        return cli_misuse(args, "--frames %s: expected an integer", cli_value(args, "frames")), false;
    o->frames = (int)frames;
    pelt_error error;
    return !pelt_check_cache_options(o, &error) || (cli_error(&error), false);
}

/* "CLIP:FRAME=W". */
static bool weigh(const cli_args *args, pelt_bundle *bundle, const pelt_clip *const *clips, size_t count, char *word) {
    char *equals = strrchr(word, '='), *colon = NULL, *end;
    if (equals) *equals = 0, colon = strrchr(word, ':');
    if (colon) *colon = 0;
    unsigned long frame = colon ? strtoul(colon + 1, &end, 10) : 0;
    bool good = colon && colon[1] && !*end;
    double weight = good ? strtod(equals + 1, &end) : 0;
    if (!good || !equals[1] || *end) return cli_misuse(args, "--weigh %s: expected CLIP:FRAME=W", word), false;
    for (size_t c = 0; c < count; c++) {
        pelt_clip *clip = (pelt_clip *)clips[c]; /* the bundle's own */
        if (strcmp(clip->name, word) || frame >= clip->frame_count) continue;
        float *weights = (float *)clip->example_weights;
        if (!weights) weights = PELT_NEW(bundle->arena, clip->frame_count, float);
        if (!weights) return cli_fail("not enough memory"), false;
        for (uint32_t f = 0; f < clip->frame_count && !clip->example_weights; f++) weights[f] = 1;
        clip->example_weights = weights;
        weights[frame] = (float)weight;
        return true;
    }
    return cli_misuse(args, "--weigh: there is no frame %lu in a training clip named \"%s\"", frame, word), false;
}

bool cli_example_options(const cli_args *args, pelt_bundle *bundle, const pelt_clip ***clips, size_t *count) {
    const char *weights = cli_value(args, "weigh"), *axis = cli_value(args, "mirror");
    size_t words = 0, before = *count;
    char **list = weights ? cli_list(weights, &words) : NULL;
    bool good = !weights || list;
    for (size_t i = 0; i < words && good; i++) good = weigh(args, bundle, *clips, *count, list[i]);
    cli_list_free(list);
    if (!good || !axis) return good;
    if (!*axis || axis[1] || !strchr("xyz", *axis))
        return cli_misuse(args, "--mirror %s: expected x, y or z", axis), false;
    const pelt_clip **both = PELT_NEW(bundle->arena, 2 * before, const pelt_clip *);
    pelt_error error;
    for (size_t i = 0; i < before && both; i++) {
        both[i] = (*clips)[i];
        both[before + i] = pelt_bundle_mirror(bundle, both[i], *axis - 'x', &error);
        if (!both[before + i]) return cli_error(&error), false;
    }
    if (!both) return cli_fail("not enough memory"), false;
    *clips = both, *count = 2 * before;
    return true;
}

void cli_say_placed(const cli_args *args, const pelt_bundle *bundle) {
    for (size_t i = 0; i < bundle->notes.count && !args->quiet; i++) {
        const pelt_finding *note = &bundle->notes.list[i];
        if (!strcmp(note->what, "matched") || !strcmp(note->what, "placed")) cli_fail("note: %s", note->text);
    }
}

const char *cli_remedy(const cli_args *args, const pelt_finding *finding) {
    return pelt_finding_is_mended(finding) && !cli_value(args, "fix") ? "; add --fix to apply this" : "";
}
