/* clock.h: timing, in seconds since an arbitrary moment. */

#ifndef PELT_CLOCK_H
#define PELT_CLOCK_H

double pelt_wall_seconds(void);
double pelt_cpu_seconds(void);    /* of all threads of this program */
double pelt_thread_seconds(void); /* of the calling thread alone */

/* How finely clocks tell the time: pages get it in steps, so that they cannot spy on each other. */
#ifdef __wasm__
#define PELT_CLOCK_SECONDS 1e-4
#else
#define PELT_CLOCK_SECONDS 0.
#endif

#endif
