/* device.c: a skin on a named device. */

#include "gpu/device.h"
#include "gpu/gl_time.h"
#include "gpu/headless.h"
#include "gpu/pack.h"
#ifdef PELT_WITH_CUDA
#include "gpu/cuda_time.h"
#endif
#include <stdlib.h>
#include <string.h>

struct pelt_device {
    pelt_headless *headless; /* of OpenGL; NULL: CUDA */
    pelt_gl_options options;
    pelt_gl *gl;
#ifdef PELT_WITH_CUDA
    pelt_cuda *cuda;
#endif
};

/* -1: no number was given, -2: it is invalid. */
static int number_of(const char *name, const char *kind) {
    const char *rest = name + strlen(kind);
    if (!*rest) return -1;
    char *end;
    long number = strtol(rest + 1, &end, 10);
    return *rest == ':' && end != rest + 1 && !*end && number >= 0 && number < 1000 ? (int)number : -2;
}

static pelt_result open_gl(pelt_device *device, int number, const pelt_skin *skin, uint32_t characters,
                           pelt_error *error) {
    device->headless = pelt_headless_new(PELT_HEADLESS_GL, number, error);
    if (!device->headless) return PELT_ERROR_DEVICE;
    device->options = (pelt_gl_options){.load = pelt_headless_load, .user = device->headless, .characters = characters};
    device->gl = pelt_gl_new(skin, &device->options, error);
    return device->gl ? PELT_OK : PELT_ERROR_DEVICE;
}

static pelt_result open_cuda(pelt_device *device, int number, const pelt_skin *skin, uint32_t characters,
                             pelt_error *error) {
#ifdef PELT_WITH_CUDA
    pelt_cuda_options options = {.characters = characters, .device = number < 0 ? 0 : number};
    device->cuda = pelt_cuda_new(skin, &options, error);
    return device->cuda ? PELT_OK : PELT_ERROR_DEVICE;
#else
    (void)device, (void)number, (void)skin, (void)characters;
    return pelt_fail(error, PELT_ERROR_DEVICE, "this pelt was built without CUDA; install nvcc and build again");
#endif
}

pelt_device *pelt_device_new(const char *name, const pelt_skin *skin, uint32_t characters, pelt_error *error) {
    int gl = !strncmp(name, "gl", 2), number = gl ? number_of(name, "gl") : -2;
    if (!strncmp(name, "cuda", 4)) number = number_of(name, "cuda");
    if (number == -2) {
        pelt_fail(error, PELT_ERROR_ARGUMENT,
                  "\"%s\" is not a device; use gl or cuda, or one of several by number, such as gl:1", name);
        return NULL;
    }
    pelt_device *device = calloc(1, sizeof *device);
    if (!device) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory"), NULL;
    pelt_result result = (gl ? open_gl : open_cuda)(device, number, skin, characters, error);
    if (!result) return device;
    pelt_device_free(device);
    return NULL;
}

void pelt_device_free(pelt_device *device) {
    if (!device) return;
    pelt_gl_free(device->gl);
    pelt_headless_free(device->headless);
#ifdef PELT_WITH_CUDA
    pelt_cuda_free(device->cuda);
#endif
    free(device);
}

#ifdef PELT_WITH_CUDA
#define EITHER(of_gl, of_cuda) return device->gl ? of_gl : of_cuda
#else
#define EITHER(of_gl, of_cuda) return of_gl
#endif

const char *pelt_device_title(const pelt_device *device) {
    EITHER(pelt_headless_name(device->headless), pelt_cuda_name(device->cuda));
}

pelt_result pelt_device_upload(pelt_device *device, uint32_t first, uint32_t count, const void *const *scratches,
                               pelt_error *error) {
    EITHER(pelt_gl_upload(device->gl, first, count, scratches, error),
           pelt_cuda_upload(device->cuda, first, count, scratches, NULL, error));
}

pelt_result pelt_device_run(pelt_device *device, uint32_t count, int normals, pelt_error *error) {
    EITHER(pelt_gl_dispatch(device->gl, count, normals ? PELT_GL_NORMALS : 0, error),
           pelt_cuda_run(device->cuda, count, normals ? PELT_CUDA_NORMALS : 0, NULL, error));
}

pelt_result pelt_device_read(pelt_device *device, uint32_t character, float *positions, float *normals,
                             pelt_error *error) {
    EITHER(pelt_gl_read(device->gl, character, positions, normals, error),
           pelt_cuda_read(device->cuda, character, positions, normals, NULL, error));
}

pelt_result pelt_device_wait(pelt_device *device, pelt_error *error) {
    EITHER(pelt_gl_wait(&device->options, error), pelt_cuda_wait(error));
}

pelt_result pelt_device_time(pelt_device *device, pelt_device_work work, uint32_t count, int normals, uint32_t rounds,
                             double *seconds, pelt_error *error) {
    EITHER(pelt_gl_time(device->gl, &device->options, work, count, normals, rounds, seconds, error),
           pelt_cuda_time(device->cuda, work, count, normals, rounds, seconds, error));
}
