/* png.c: an image as PNG bytes in memory, by libpng. */

#include "report/palette.h"
#include <png.h>
#include <stdlib.h>
#include <string.h>

typedef struct buffer {
    uint8_t *bytes;
    size_t size, capacity;
} buffer;

static void append(png_structp png, png_bytep bytes, png_size_t size) {
    buffer *out = png_get_io_ptr(png);
    if (size > out->capacity - out->size) {
        size_t capacity = 2 * (out->capacity + size);
        uint8_t *grown = capacity > size ? realloc(out->bytes, capacity) : NULL;
        if (!grown) png_error(png, "out of memory"); /* does not return */
        out->bytes = grown;
        out->capacity = capacity;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void flush(png_structp png) { (void)png; }

/* libpng would print them. */
static void keep_quiet(png_structp png, png_const_charp text) { (void)png, (void)text; }

static void fail(png_structp png, png_const_charp text) {
    (void)text;
    png_longjmp(png, 1);
}

/* The form of the pixels: RGBA, or numbers of a palette. */
static void describe(png_structp png, png_infop info, const pelt_image *image, const pelt_palette *palette) {
    png_set_compression_level(png, palette ? 9 : 7);
    png_set_IHDR(png, info, image->width, image->height, 8, palette ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB_ALPHA,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    if (!palette) return;
    png_color colours[PELT_PALETTE_COLOURS];
    png_byte opacity[PELT_PALETTE_COLOURS];
    int seen_through = 0;
    for (uint32_t k = 0; k < palette->count; k++) {
        const uint8_t *c = palette->rgba[k];
        colours[k] = (png_color){c[0], c[1], c[2]};
        opacity[k] = c[3];
        if (c[3] < 255) seen_through = (int)k + 1;
    }
    png_set_PLTE(png, info, colours, (int)palette->count);
    if (seen_through) png_set_tRNS(png, info, opacity, seen_through, NULL);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS); /* numbers rise with lightness */
}

/* A separate function, because locals that change after setjmp are lost: *out is not a local here. `pixels` are those of
   the image, or numbers of the palette. */
static bool encode(const pelt_image *image, const uint8_t *pixels, const pelt_palette *palette, buffer *out) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, fail, keep_quiet);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_set_write_fn(png, out, append, flush);
    describe(png, info, image, palette);
    png_write_info(png, info);
    size_t row = (palette ? 1 : 4) * (size_t)image->width;
    for (uint32_t y = 0; y < image->height; y++) png_write_row(png, pixels + row * y);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return true;
}

static pelt_result finish(bool encoded, buffer *out, const pelt_image *image, pelt_bytes *png, pelt_error *error) {
    if (!encoded) {
        free(out->bytes);
        *png = (pelt_bytes){0};
        return pelt_fail(error, PELT_ERROR_MEMORY, "a picture of %u x %u pixels does not fit in memory as PNG",
                         image->width, image->height);
    }
    *png = (pelt_bytes){out->bytes, out->size};
    return PELT_OK;
}

pelt_result pelt_image_png(const pelt_image *image, pelt_bytes *png, pelt_error *error) {
    buffer out = {0};
    return finish(encode(image, image->rgba, NULL, &out), &out, image, png, error);
}

pelt_result pelt_image_small_png(const pelt_image *image, pelt_bytes *png, pelt_error *error) {
    buffer out = {0};
    pelt_palette palette;
    uint8_t *indices = malloc((size_t)image->width * image->height + 1);
    bool reduced = indices && pelt_image_palette(image, &palette, indices);
    pelt_result result = finish(reduced && encode(image, indices, &palette, &out), &out, image, png, error);
    free(indices);
    return result;
}
