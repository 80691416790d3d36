/* relight_picture.h: linear light as pictures to look at. */

#ifndef PELT_CLI_RELIGHT_PICTURE_H
#define PELT_CLI_RELIGHT_PICTURE_H

#include "io/pfm.h"
#include "report/report.h"

/* The value that should be white: 98 of 100 channel values are darker. */
float picture_white(const pelt_picture *picture);
/* Linear to sRGB, 0 to 255; `white` becomes 255. */
uint8_t picture_srgb(float value, float white);
pelt_result picture_write_png(const char *path, const pelt_picture *picture, float white, pelt_error *error);
pelt_result picture_write_image(const char *path, const pelt_image *image, pelt_error *error);

#endif
