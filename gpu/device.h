/* device.h: a skin on a named device, whichever library runs it, for the program: `eval --device`, `bench --device`. */

#ifndef PELT_DEVICE_H
#define PELT_DEVICE_H

#include <pelt/error.h>

typedef struct pelt_device pelt_device;

/* name: "gl", "cuda", or with a number if there are several: "gl:1". Room for this many characters. NULL on failure,
   with a message: no such device, no driver, or left out of this build. */
pelt_device *pelt_device_new(const char *name, const pelt_skin *skin, uint32_t characters, pelt_error *error);
void pelt_device_free(pelt_device *device);

/* The driver's name for it. */
const char *pelt_device_title(const pelt_device *device);

pelt_result pelt_device_upload(pelt_device *device, uint32_t first, uint32_t count, const void *const *scratches,
                               pelt_error *error);
pelt_result pelt_device_run(pelt_device *device, uint32_t count, int normals, pelt_error *error);
/* Waits, and copies; outputs may be NULL. */
pelt_result pelt_device_read(pelt_device *device, uint32_t character, float *positions, float *normals,
                             pelt_error *error);
/* Waits until everything is done. */
pelt_result pelt_device_wait(pelt_device *device, pelt_error *error);

/* What to time: skinning, or writing or copying the same number of bytes with the same library. */
typedef enum pelt_device_work { PELT_WORK_SKIN, PELT_WORK_FILL, PELT_WORK_COPY } pelt_device_work;

/* Seconds of each of `rounds` rounds, by the device's clock. The work of a few characters is shorter than the clock's
   overhead: then a round repeats it PELT_WORK_ROW times, and reports the seconds of one. */
enum { PELT_WORK_FEW = 4, PELT_WORK_ROW = 64, PELT_WORK_WARM = 100 /* milliseconds of warm-up */ };
pelt_result pelt_device_time(pelt_device *device, pelt_device_work work, uint32_t count, int normals, uint32_t rounds,
                             double *seconds, pelt_error *error);

#endif
