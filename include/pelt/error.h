/* error.h: why a call failed, in a sentence. Part of the headers that need it. */

#ifndef PELT_ERROR_H
#define PELT_ERROR_H

#include <pelt/pelt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call failed. Intended for the stack; no need to clear it first, or to free anything. */
typedef struct pelt_error {
    pelt_result code;
    char text[1000]; /* one sentence: "body.pc2: 2460 points, but the mesh in body.glb has 2461 vertices" */
    /* If code is PELT_ERROR_ARGUMENT, the invalid option, by the name of its field, with which the text then begins. With
       another code, an option that would help, and the value to give it. "": none. */
    char option[32];
    double advice;
} pelt_error;

/* For other languages, as in pelt.h: the size of a pelt_error, and what is in it. */
PELT_API size_t pelt_sizeof_error(void);
PELT_API const char *pelt_error_text(const pelt_error *error);
PELT_API const char *pelt_error_option(const pelt_error *error);

#ifdef __cplusplus
}
#endif
#endif
