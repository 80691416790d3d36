/* escape.h: a call that can be left from anywhere inside of it. */

#ifndef PELT_ESCAPE_H
#define PELT_ESCAPE_H

#include <stdbool.h>

#ifdef __wasm__ /* has no setjmp: whoever runs the module makes the call, and catches what is thrown */
typedef struct pelt_way_out {
    int unused;
} pelt_way_out;
#else
#include <setjmp.h>
typedef struct pelt_way_out {
    jmp_buf here;
} pelt_way_out;
#endif

/* Calls body(user). False if pelt_escape(out) ended it: whatever changed meanwhile must be behind pointers. */
bool pelt_escapable(pelt_way_out *out, void (*body)(void *user), void *user);
_Noreturn void pelt_escape(pelt_way_out *out);

#endif
