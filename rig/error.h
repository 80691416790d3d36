/* error.h: one sentence per failure. The graphics libraries, which have nothing else of rig/, have a copy of error.c. */

#ifndef PELT_RIG_ERROR_H
#define PELT_RIG_ERROR_H

#include <pelt/error.h>

/* Fills in the error (which may be NULL) and returns its code, so that `return pelt_fail(...)` reads well. */
pelt_result pelt_fail(pelt_error *error, pelt_result code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an invalid option: the text begins with its name and a colon, or, if the format begins with a space, continues
   from the name: " must be above 0". */
pelt_result pelt_fail_option(pelt_error *error, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails unless low <= value <= high. */
pelt_result pelt_check_range(const char *option, uint32_t value, uint32_t low, uint32_t high, pelt_error *error);

/* Fails unless an argument is there; the sentence names it. */
pelt_result pelt_check_given(const char *name, const void *argument, pelt_error *error);
#define PELT_MISSING(argument, error) pelt_check_given(#argument, (argument), (error))

/* After pelt_fail: names an option that would help, and its value. Returns the error's code. */
pelt_result pelt_advise(pelt_error *error, const char *option, double value);

#endif
