/* relight_picture.c: linear light as pictures to look at. */

#include "cli/relight_picture.h"
#include "io/io.h"
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* A few thousand values are enough to find it. */
float picture_white(const pelt_picture *picture) {
    enum { TAKEN = 4096 };
    float taken[TAKEN];
    size_t count = 3 * (size_t)picture->width * picture->height, used = count < TAKEN ? count : TAKEN;
    for (size_t i = 0; i < used; i++) taken[i] = picture->rgb[i * count / used];
    qsort(taken, used, sizeof *taken, by_value);
    float white = taken[used * 98 / 100];
    return white > 0 ? white : 1;
}

uint8_t picture_srgb(float value, float white) {
    double x = fmin(fmax(value / white, 0), 1);
    double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (uint8_t)(255 * coded + 0.5);
}

pelt_result picture_write_image(const char *path, const pelt_image *image, pelt_error *error) {
    uint8_t *bytes;
    size_t size;
    pelt_result result = pelt_image_png(image, &bytes, &size, error);
    if (result) return result;
    pelt_writer *writer = pelt_writer_open(path, error);
    if (writer) pelt_writer_put(writer, bytes, size);
    free(bytes);
    return writer ? pelt_writer_commit(writer, error) : error->code;
}

pelt_result picture_write_png(const char *path, const pelt_picture *picture, float white, pelt_error *error) {
    pelt_image *image = pelt_image_new(picture->width, picture->height);
    if (!image) return pelt_fail(error, PELT_ERROR_MEMORY, "%s: not enough memory", path);
    size_t count = (size_t)picture->width * picture->height;
    for (size_t i = 0; i < count; i++) {
        for (int c = 0; c < 3; c++) image->rgba[4 * i + c] = picture_srgb(picture->rgb[3 * i + c], white);
        image->rgba[4 * i + 3] = 255;
    }
    pelt_result result = picture_write_image(path, image, error);
    pelt_image_free(image);
    return result;
}
