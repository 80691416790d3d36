/* regions.c: which region a vertex belongs to (regions.h). */

#include "rig/regions.h"

uint32_t pelt_dominant_joint(const pelt_influences *in, uint32_t vertex) {
    uint32_t best = PELT_NO_REGION;
    float most = 0;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        if (in->weights[i] > most) most = in->weights[i], best = in->joints[i];
    return best;
}

pelt_color pelt_painted_color(const float rgb[3]) {
    return (pelt_color)(PELT_COLOR_BLACK + (rgb[0] >= 0.5f) + 2 * (rgb[1] >= 0.5f) + 4 * (rgb[2] >= 0.5f));
}

const char *pelt_color_name(pelt_color color) {
#define NAME(value, name) name,
    static const char *const names[] = {PELT_COLORS(NAME)};
#undef NAME
    return (unsigned)color < PELT_COLOR_COUNT ? names[color] : "";
}
