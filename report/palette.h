/* palette.h: an image in few colours. */

#ifndef PELT_PALETTE_H
#define PELT_PALETTE_H

#include "report/report.h"

enum { PELT_PALETTE_COLOURS = 256 };

typedef struct pelt_palette {
    uint32_t count; /* those that are not opaque come first */
    uint8_t rgba[PELT_PALETTE_COLOURS][4];
} pelt_palette;

/* The palette that suits an image, and each pixel's index, [width * height]; false when out of memory. */
bool pelt_image_palette(const pelt_image *image, pelt_palette *palette, uint8_t *indices);

#endif
