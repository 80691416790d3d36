/* facts.c: the facts of a fit, as the section FACT of its skin (runtime/format.h). */

#include "fit/about.h"
#include "fit/measure/measure.h"
#include <string.h>

_Static_assert(PELT_METHOD_KERNEL == 5 && PELT_BLEND_JOINTS == 4 && PELT_CORRECTIVE_KERNEL == 5,
               "files store these values (docs/format.md): append to the enums only");

/* Names of the examples' clips, without duplicates. */
static uint32_t list_clips(pelt_examples examples, const char **names) {
    uint32_t count = 0;
    for (size_t i = 0; i < examples.count; i++) {
        const char *name = examples.list[i].clip->name;
        uint32_t c = 0;
        if (i && examples.list[i].clip == examples.list[i - 1].clip) continue;
        while (c < count && strcmp(names[c], name)) c++;
        if (c == count) names[count++] = name;
    }
    return count;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t size) {
    if (size) memcpy(at, bytes, size);
    return at + size;
}

pelt_bytes *pelt_fit_facts(pelt_arena *arena, const pelt_fit_report *r, const pelt_bundle *bundle,
                           pelt_examples examples, pelt_error *error) {
    uint32_t mover_count = r->eigen ? r->eigen->positions.joint_count : 0;
    const pelt_eigen_joint_findings *movers = mover_count ? r->eigen->positions.joints : NULL;
    const char **texts = PELT_NEW(arena, PELT_FACT_CLIPS + examples.count + mover_count, const char *);
    if (!texts) return pelt_no_memory(error), NULL;
    texts[PELT_FACT_MADE_BY] = "pelt " PELT_VERSION, texts[PELT_FACT_BUNDLE] = bundle->path;
    pelt_facts facts = {.method = r->options.method,
                        .blend = r->options.blend,
                        .corrective = r->options.corrective,
                        .example_count = (uint32_t)examples.count,
                        .train = pelt_measure_facts(r->train),
                        .holdout = pelt_measure_facts(r->holdout),
                        .clip_count = list_clips(examples, texts + PELT_FACT_CLIPS),
                        .mover_count = mover_count};
    uint32_t text_count = PELT_FACT_CLIPS + facts.clip_count + mover_count;
    size_t size = sizeof facts + mover_count * sizeof(uint32_t);
    for (uint32_t i = 0; i < mover_count; i++) {
        texts[PELT_FACT_CLIPS + facts.clip_count + i] = movers[i].name;
        facts.value_count += movers[i].rank, size += movers[i].rank * sizeof(double);
    }
    for (uint32_t i = 0; i < text_count; i++) size += strlen(texts[i]) + 1;
    pelt_bytes *out = pelt_bytes_new(size);
    if (!out) return pelt_no_memory(error), NULL;
    uint8_t *at = put(out->bytes, &facts, sizeof facts);
    for (uint32_t i = 0; i < mover_count; i++) at = put(at, movers[i].singular, movers[i].rank * sizeof(double));
    for (uint32_t i = 0; i < mover_count; i++) at = put(at, &movers[i].rank, sizeof(uint32_t));
    for (uint32_t i = 0; i < text_count; i++) at = put(at, texts[i], strlen(texts[i]) + 1);
    return out;
}
