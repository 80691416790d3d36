/* device.h: a skin on a device by name, whichever library runs it, for the program: `eval --device`, `bench --device`. */

#ifndef PELT_DEVICE_H
#define PELT_DEVICE_H

#include <pelt/error.h>

typedef struct pelt_device pelt_device;

/* name: "gl", "cuda", or with the number of one of several: "gl:1". Room for so many characters. NULL after a failure,
   with a sentence: no such device, no driver, left out of this build. */
pelt_device *pelt_device_new(const char *name, const pelt_skin *skin, uint32_t characters, pelt_error *error);
void pelt_device_free(pelt_device *device);

/* What the driver calls it. */
const char *pelt_device_title(const pelt_device *device);

pelt_result pelt_device_upload(pelt_device *device, uint32_t first, uint32_t count, const void *const *scratches,
                               pelt_error *error);
pelt_result pelt_device_run(pelt_device *device, uint32_t count, int normals, pelt_error *error);
/* Waits, and copies; NULL where not wanted. */
pelt_result pelt_device_read(pelt_device *device, uint32_t character, float *positions, float *normals,
                             pelt_error *error);
/* Waits until all is done. */
pelt_result pelt_device_wait(pelt_device *device, pelt_error *error);

/* What is timed: skinning, or writing and copying as many bytes as it puts out by the same library. */
typedef enum pelt_device_work { PELT_WORK_SKIN, PELT_WORK_FILL, PELT_WORK_COPY } pelt_device_work;

/* Seconds on the device, by its own clock, of each of `turns` turns. The work of a few characters is shorter than the
   clock's own work: there a turn is PELT_WORK_ROW of them in a row, and the seconds are those of one. */
enum { PELT_WORK_FEW = 4, PELT_WORK_ROW = 64, PELT_WORK_WARM = 100 /* milliseconds before it counts */ };
pelt_result pelt_device_time(pelt_device *device, pelt_device_work work, uint32_t count, int normals, uint32_t turns,
                             double *seconds, pelt_error *error);

#endif
