/* headless.h: an OpenGL context without a window, through EGL, which is loaded on demand: programs that never ask do
   not need it. */

#ifndef PELT_HEADLESS_H
#define PELT_HEADLESS_H

#include <pelt/error.h>

typedef struct pelt_headless pelt_headless;

typedef enum pelt_headless_api {
    PELT_HEADLESS_GL,  /* OpenGL 4.3 core or later */
    PELT_HEADLESS_ES30 /* OpenGL ES 3.0 */
} pelt_headless_api;

/* Creates a context and makes it current in this thread. device: an index among EGL's devices, or -1: the first that
   works. NULL on failure, with a message. */
pelt_headless *pelt_headless_new(pelt_headless_api api, int device, pelt_error *error);
void pelt_headless_free(pelt_headless *headless);

/* The driver's name for the device. */
const char *pelt_headless_name(const pelt_headless *headless);

/* For pelt_gl_options: user is the pelt_headless. */
void *pelt_headless_load(void *user, const char *name);

#endif
