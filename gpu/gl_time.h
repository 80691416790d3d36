/* gl_time.h: times skinning, writing and copying by the device's clock. */

#ifndef PELT_GL_TIME_H
#define PELT_GL_TIME_H

#include "gpu/device.h"
#include <pelt/gl.h>

pelt_result pelt_gl_time(pelt_gl *gl, const pelt_gl_options *options, pelt_device_work work, uint32_t count,
                         int normals, uint32_t rounds, double *seconds, pelt_error *error);
pelt_result pelt_gl_wait(const pelt_gl_options *options, pelt_error *error);

#endif
