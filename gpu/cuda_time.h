/* cuda_time.h: times skinning, writing and copying by the device's clock. */

#ifndef PELT_CUDA_TIME_H
#define PELT_CUDA_TIME_H

#include "gpu/device.h"
#include <pelt/cuda.h>

#ifdef __cplusplus
extern "C" {
#endif
pelt_result pelt_cuda_time(pelt_cuda *cuda, pelt_device_work work, uint32_t count, int normals, uint32_t rounds,
                           double *seconds, pelt_error *error);
pelt_result pelt_cuda_wait(pelt_error *error);
#ifdef __cplusplus
}
#endif
#endif
