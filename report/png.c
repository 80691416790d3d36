/* png.c: an image as PNG bytes in memory, by libpng. */

#include "report/report.h"
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

/* A separate function, because locals that change after setjmp are lost: *out is not a local here. */
static bool encode(const pelt_image *image, buffer *out) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, fail, keep_quiet);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_set_write_fn(png, out, append, flush);
    png_set_compression_level(png, 7);
    png_set_IHDR(png, info, image->width, image->height, 8, PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(png, info);
    for (uint32_t y = 0; y < image->height; y++) png_write_row(png, image->rgba + 4 * (size_t)image->width * y);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return true;
}

pelt_result pelt_image_png(const pelt_image *image, pelt_bytes *png, pelt_error *error) {
    buffer out = {0};
    if (!encode(image, &out)) {
        free(out.bytes);
        *png = (pelt_bytes){0};
        return pelt_fail(error, PELT_ERROR_MEMORY, "a picture of %u x %u pixels does not fit in memory as PNG",
                         image->width, image->height);
    }
    *png = (pelt_bytes){out.bytes, out.size};
    return PELT_OK;
}
