/* cuda.h: run a skin on NVIDIA GPUs without graphics: crowds, render farms, training data.

   The twin of gl.h: the same order of calls, the same results. The library is `libpelt-cuda`, built if nvcc is found.
   Results stay on the device; pelt_cuda_output has their addresses, for other kernels in the same process.

       pelt_cuda_options options = {.characters = 4000};
       pelt_cuda *cuda = pelt_cuda_new(&skin, &options, &error);
       for (c = 0; c < 4000; c++) pelt_pose(&skin, locals[c], scratch[c]);
       pelt_cuda_upload(cuda, 0, 4000, scratch, stream, &error);
       pelt_cuda_run(cuda, 4000, PELT_CUDA_NORMALS, stream, &error);   // does not wait
       your_kernel<<<..., stream>>>(pelt_cuda_output(cuda).positions, ...);

   A stream is a cudaStream_t, NULL the default one. Calls that take a stream do not wait for it, except
   pelt_cuda_upload if the previous poses are still in flight, and pelt_cuda_read.

   Errors. As in gl.h. An object is for one thread at a time, with its device current after pelt_cuda_new. */

#ifndef PELT_CUDA_H
#define PELT_CUDA_H

#include <pelt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pelt_cuda pelt_cuda;

/* What is computed besides positions. */
enum { PELT_CUDA_NORMALS = 1 };

typedef struct pelt_cuda_options {
    uint32_t characters; /* maximum at a time; 0: 1 */
    int device;          /* index of the CUDA device, which is made current */
    int plain;           /* 1: no tensor cores for crowds. Tensor cores (compute capability 8.0 and later) are as exact,
                            but the two sides of a seam may differ in their last bits */
} pelt_cuda_options;

/* Uploads a skin. The skin must outlive the object. NULL after a failure. */
PELT_API pelt_cuda *pelt_cuda_new(const pelt_skin *skin, const pelt_cuda_options *options, pelt_error *error);
PELT_API void pelt_cuda_free(pelt_cuda *cuda);

/* Uploads the poses of characters first .. first + count - 1: scratches[i] is what pelt_pose filled for character
   first + i; they are copied before the call returns. */
PELT_API pelt_result pelt_cuda_upload(pelt_cuda *cuda, uint32_t first, uint32_t count, const void *const *scratches,
                                      void *stream, pelt_error *error);

/* Deforms characters 0 .. count - 1. outputs: 0 or PELT_CUDA_NORMALS. */
PELT_API pelt_result pelt_cuda_run(pelt_cuda *cuda, uint32_t count, unsigned outputs, void *stream, pelt_error *error);

/* Where the results are, on the device. Character c starts c * stride bytes from there: 3 floats per slot. `normals` is
   NULL until normals have been requested. */
typedef struct pelt_cuda_pointers {
    float *positions, *normals;
    size_t stride;
} pelt_cuda_pointers;
PELT_API pelt_cuda_pointers pelt_cuda_output(const pelt_cuda *cuda);

/* Copies a character's result to the CPU, pelt_output_size bytes each; either may be NULL. Waits for the stream. */
PELT_API pelt_result pelt_cuda_read(pelt_cuda *cuda, uint32_t character, float *positions, float *normals, void *stream,
                                    pelt_error *error);

/* The device's name, and the number of devices; 0 also if there is no driver. */
PELT_API const char *pelt_cuda_name(const pelt_cuda *cuda);
PELT_API int pelt_cuda_devices(void);

#ifdef __cplusplus
}
#endif
#endif
