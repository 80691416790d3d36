/* error.c: one sentence per failure. */

#include "rig/error.h"
#include <stdarg.h>
#include <stdio.h>

pelt_result pelt_fail(pelt_error *error, pelt_result code, const char *format, ...) {
    if (!error) return code;
    *error = (pelt_error){.code = code};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return code;
}

pelt_result pelt_fail_option(pelt_error *error, const char *option, const char *format, ...) {
    if (!error) return PELT_ERROR_ARGUMENT;
    *error = (pelt_error){.code = PELT_ERROR_ARGUMENT};
    snprintf(error->option, sizeof error->option, "%s", option);
    int length = snprintf(error->text, sizeof error->text, "%s%s", error->option, *format == ' ' ? "" : ": ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + length, sizeof error->text - (size_t)length, format, arguments);
    va_end(arguments);
    return PELT_ERROR_ARGUMENT;
}

pelt_result pelt_check_range(const char *option, uint32_t value, uint32_t low, uint32_t high, pelt_error *error) {
    if (value >= low && value <= high) return PELT_OK;
    return pelt_fail_option(error, option, " must be between %u and %u, not %u", low, high, value);
}

pelt_result pelt_check_given(const char *name, const void *argument, pelt_error *error) {
    return argument ? PELT_OK : pelt_fail_option(error, name, " must not be NULL");
}

pelt_result pelt_advise(pelt_error *error, const char *option, double value) {
    if (!error) return PELT_ERROR_DATA;
    snprintf(error->option, sizeof error->option, "%s", option);
    error->advice = value;
    return error->code;
}
