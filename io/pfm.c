/* pfm.c: float images as .pfm: "PF", width and height, a scale whose sign gives the byte order, then RGB rows from the
   bottom up. */

#include "io/pfm.h"
#include "io/bytes.h"
#include "io/io.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS_ON_A_SIDE = 65536 };

/* Parses the header and finds where the numbers begin. */
static bool parse_header(const pelt_file *file, pelt_picture *picture, double *scale, size_t *start) {
    char text[128] = {0}, magic[3];
    int taken = 0;
    size_t size = file->size < sizeof text - 1 ? file->size : sizeof text - 1;
    memcpy(text, file->bytes, size);
    if (sscanf(text, "%2s %u %u %lf%n", magic, &picture->width, &picture->height, scale, &taken) != 4) return false;
    if (strcmp(magic, "PF") != 0 || !isfinite(*scale) || *scale == 0) return false;
    *start = (size_t)taken + 1; /* one white space ends the header */
    return picture->width && picture->height && picture->width <= MOST_PIXELS_ON_A_SIDE &&
           picture->height <= MOST_PIXELS_ON_A_SIDE;
}

static float read_float(const uint8_t *bytes, bool little) {
    return pelt_float_of_bits(little ? pelt_u32_little(bytes) : pelt_u32_big(bytes));
}

pelt_result pelt_pfm_parse(pelt_arena *arena, const pelt_file *file, const char *path, pelt_picture *picture,
                           pelt_error *error) {
    double scale;
    size_t start;
    if (!parse_header(file, picture, &scale, &start))
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: is not a colour PFM picture", path);
    size_t row = 3 * (size_t)picture->width, count = row * picture->height;
    if (file->size < start || file->size - start != 4 * count)
        return pelt_fail(error, PELT_ERROR_TRUNCATED, "%s: a picture of %u x %u pixels has %zu bytes, but %zu are here",
                         path, picture->width, picture->height, 4 * count, file->size < start ? 0 : file->size - start);
    picture->rgb = PELT_NEW(arena, count, float);
    if (!picture->rgb) return pelt_file_no_memory(path, error);
    for (size_t i = 0; i < count; i++) {
        size_t from = (picture->height - 1 - i / row) * row + i % row;
        picture->rgb[i] = read_float(file->bytes + start + 4 * from, scale < 0);
        if (!isfinite(picture->rgb[i]))
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: pixel %zu is not finite", path, i / 3);
    }
    return PELT_OK;
}

pelt_result pelt_pfm_read(pelt_arena *arena, const char *path, pelt_picture *picture, pelt_error *error) {
    PELT_SCOPED pelt_arena *scratch = pelt_arena_new(0);
    pelt_file file;
    pelt_result result = pelt_file_read(scratch, path, &file, error);
    return result ? result : pelt_pfm_parse(arena, &file, path, picture, error);
}

pelt_result pelt_pfm_write(const char *path, const pelt_picture *picture, pelt_error *error) {
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return error ? error->code : PELT_ERROR_FILE;
    char header[64];
    size_t row = 3 * (size_t)picture->width;
    pelt_writer_put(writer, header,
                    (size_t)snprintf(header, sizeof header, "PF\n%u %u\n-1.0\n", picture->width, picture->height));
    for (uint32_t y = picture->height; y-- > 0;)
        pelt_writer_put(writer, picture->rgb + row * y, row * sizeof *picture->rgb);
    return pelt_writer_commit(writer, error);
}
