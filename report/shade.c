/* shade.c: the colour of a surface: light, openness, and the heat map.

   All light is linear. Lights are attached to the camera, so every view is lit the same: a warm key light from the
   upper left and a cool fill from the right, a sky that is brighter above than below, and a rim light that separates
   the outline from the background. Key and fill are grazing, with a satin highlight: frontal light would hide dents and
   crumples. The sky is weighted by openness: folds and armpits are darker, which is how the eye reads shape. */

#include "report/raster.h"
#include <math.h>

/* -- Colour -------------------------------------------------------------------------------------------------------- */

uint8_t shade_encode(float linear) {
    double v = linear <= 0.0031308f ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
    return v >= 1 ? 255 : v > 0 ? (uint8_t)(255 * v + 0.5) : 0; /* also for NaN */
}

static const uint32_t heat_map[] = {
#include "report/heat.inc"
};

/* sRGB, 0 to 1. */
static void heat_at(double value, double rgb[3]) {
    enum { STEPS = sizeof heat_map / sizeof heat_map[0] - 1 };
    double v = value > 0 ? fmin(value, 1) : 0; /* also for NaN */
    int step = (int)fmin(v * STEPS, STEPS - 1);
    for (int i = 0; i < 3; i++) {
        double low = heat_map[step] >> (16 - 8 * i) & 255, high = heat_map[step + 1] >> (16 - 8 * i) & 255;
        rgb[i] = (low + (high - low) * (v * STEPS - step)) / 255;
    }
}

void pelt_heat_color(double value, uint8_t rgb[3]) {
    double srgb[3];
    heat_at(value, srgb);
    for (int i = 0; i < 3; i++) rgb[i] = (uint8_t)(255 * srgb[i] + 0.5);
}

static double decode(double srgb) { return srgb <= 0.04045 ? srgb / 12.92 : pow((srgb + 0.055) / 1.055, 2.4); }

/* -- Light --------------------------------------------------------------------------------------------------------- */

/* Unit directions towards the lights in camera space. */
static const float KEY[3] = {-0.7000f, 0.6600f, 0.2728f}, FILL[3] = {0.9600f, -0.1200f, 0.2530f};
static const float KEY_COLOR[3] = {2.05f, 1.83f, 1.55f}, FILL_COLOR[3] = {0.28f, 0.37f, 0.50f};
static const float SKY_COLOR[3] = {0.27f, 0.28f, 0.30f}, GROUND_COLOR[3] = {0.14f, 0.12f, 0.11f};

static float dot(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void normalize(float v[3]) {
    float length = sqrtf(dot(v, v));
    for (int i = 0; i < 3 && length > 0; i++) v[i] /= length;
}

/* Incident light at a surface, by colour. */
static void light_diffuse(const float normal[3], float openness, float out[3]) {
    float wrap = 0.06f; /* a soft edge between light and shade, as on skin */
    float key = fmaxf(0, (dot(normal, KEY) + wrap) / (1 + wrap)), fill = fmaxf(0, dot(normal, FILL));
    float up = 0.5f + 0.5f * normal[1], direct = 0.55f + 0.45f * openness;
    for (int i = 0; i < 3; i++)
        out[i] = direct * (key * KEY_COLOR[i] + fill * FILL_COLOR[i]) +
                 openness * (up * SKY_COLOR[i] + (1 - up) * GROUND_COLOR[i]);
}

/* The satin highlight of a light. */
static float highlight(const float normal[3], const float light[3], const float toward_eye[3]) {
    float half[3];
    for (int i = 0; i < 3; i++) half[i] = light[i] + toward_eye[i];
    normalize(half);
    return powf(fmaxf(0, dot(normal, half)), 30);
}

void shade_surface(const surface *at, bool heat, float openness, float rgb[3]) {
    float toward_eye[3] = {-at->position[0], -at->position[1], -at->position[2]}, light[3];
    normalize(toward_eye);
    light_diffuse(at->normal, openness, light);
    float facing = fmaxf(0, dot(at->normal, toward_eye)), grazing = 1 - facing;
    float rim = grazing * grazing * grazing * openness * (0.6f + 0.4f * at->normal[1]);
    float gloss = openness * highlight(at->normal, KEY, toward_eye);
    float cool = openness * highlight(at->normal, FILL, toward_eye);
    if (heat) { /* keep the colours of the scale: white light, and less shading */
        double base[3];
        heat_at(at->heat, base);
        float level = 0.44f + 0.53f * (0.30f * light[0] + 0.59f * light[1] + 0.11f * light[2]);
        for (int i = 0; i < 3; i++) rgb[i] = (float)decode(base[i]) * level + 0.03f * gloss + 0.06f * rim;
    } else {
        for (int i = 0; i < 3; i++)
            rgb[i] = at->color[i] * light[i] + 0.15f * gloss * KEY_COLOR[i] + 0.20f * cool * FILL_COLOR[i] +
                     0.25f * rim * SKY_COLOR[i];
    }
    for (int i = 0; i < 3 && !at->front; i++) rgb[i] *= 0.35f;
}

/* -- Openness ------------------------------------------------------------------------------------------------------ */

enum { TAPS = 48 };

/* The mean, over points around a pixel, of how high the surface there rises above the tangent plane here: the sine of
   its elevation, fading with distance. */
static float occlusion(const surface *surfaces, const uint32_t *seen, uint32_t width, uint32_t height, uint32_t x,
                       uint32_t y, const float taps[TAPS][2], float reach) {
    const surface *here = surfaces + (size_t)y * width + x;
    float sum = 0;
    for (int k = 0; k < TAPS; k++) {
        float px = (float)x + taps[k][0], py = (float)y + taps[k][1];
        if (px < 0 || py < 0 || px >= (float)width || py >= (float)height) continue;
        size_t there = (size_t)py * width + (size_t)px;
        if (!seen[there]) continue;
        float v[3];
        for (int i = 0; i < 3; i++) v[i] = surfaces[there].position[i] - here->position[i];
        float square = dot(v, v), near = 1 - square / (reach * reach);
        if (square > 0 && near > 0) sum += near * fmaxf(0, dot(v, here->normal) / sqrtf(square) - 0.08f);
    }
    return sum / TAPS;
}

/* The mean over a pixel's covered neighbours, so that pixels just outside the outline have a value too. */
static void spread(const float *sharp, const uint32_t *seen, uint32_t width, uint32_t height, float *out) {
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            float sum = 0, count = 0;
            for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < height; j++)
                for (uint32_t i = x ? x - 1 : 0; i <= x + 1 && i < width; i++)
                    if (seen[(size_t)j * width + i]) sum += sharp[(size_t)j * width + i], count++;
            out[(size_t)y * width + x] = count > 0 ? sum / count : 1;
        }
}

const float *shade_openness(pelt_arena *arena, const scene *s, const uint32_t *seen, uint32_t width, uint32_t height) {
    size_t pixels = (size_t)width * height;
    surface *surfaces = PELT_NEW(arena, pixels, surface);
    float *sharp = PELT_NEW(arena, pixels, float), *openness = PELT_NEW(arena, pixels, float), taps[TAPS][2];
    float reach = (float)(0.22 * s->camera.radius), reach_pixels = 0.22f * (float)fmin(width, height) / 2;
    for (int k = 0; k < TAPS; k++) { /* a sunflower pattern: uniform over a disc */
        float r = reach_pixels * sqrtf(((float)k + 0.5f) / TAPS), angle = 2.3999632f * (float)k;
        taps[k][0] = r * cosf(angle), taps[k][1] = r * sinf(angle);
    }
    for (size_t i = 0; i < pixels; i++)
        if (seen[i]) surfaces[i] = scene_surface(s, seen[i] - 1, (double)(i % width) + 0.5, (double)(i / width) + 0.5);
    for (size_t i = 0; i < pixels; i++) {
        float hidden = 0;
        if (seen[i])
            hidden = occlusion(surfaces, seen, width, height, (uint32_t)(i % width), (uint32_t)(i / width),
                               (const float(*)[2])taps, reach);
        sharp[i] = fmaxf(0.15f, 1 - 3.2f * hidden);
    }
    spread(sharp, seen, width, height, openness);
    return openness;
}
