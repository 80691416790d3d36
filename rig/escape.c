/* escape.c: by setjmp, or by exceptions of the host. */

#include "rig/escape.h"

#ifdef __wasm__

/* The host calls body(user), and returns 0, or 1 if `escape` was called with the same way out. */
__attribute__((import_module("pelt"), import_name("call"))) int pelt_host_call(void (*body)(void *user), void *user,
                                                                               pelt_way_out *out);
__attribute__((import_module("pelt"), import_name("escape"))) _Noreturn void pelt_host_escape(pelt_way_out *out);

bool pelt_escapable(pelt_way_out *out, void (*body)(void *user), void *user) {
    return !pelt_host_call(body, user, out);
}

void pelt_escape(pelt_way_out *out) { pelt_host_escape(out); }

#else

bool pelt_escapable(pelt_way_out *out, void (*body)(void *user), void *user) {
    if (setjmp(out->here)) return false;
    body(user);
    return true;
}

void pelt_escape(pelt_way_out *out) { longjmp(out->here, 1); }

#endif
