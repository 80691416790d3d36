/* fit_wasm.h: shared by fit_wasm.c and view_wasm.c. */

#ifndef PELT_FIT_WASM_H
#define PELT_FIT_WASM_H

#include <pelt/fit.h>

#define EXPORT(name) __attribute__((export_name(name)))

extern pelt_error fit_failure;

/* Tells the host how far the work is. */
int fit_step(void *user, const char *task, double fraction);

#endif
