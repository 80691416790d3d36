/* loops.c: the instruction sets: which are available here, and their loops. */

#include "runtime/loops.h"

int pelt_isa_works(pelt_isa isa) {
    switch (isa) {
#ifndef PELT_ONLY_SIMD128
    case PELT_ISA_SCALAR:
#endif
    case PELT_ISA_SIMD128:
        return 1;
#ifdef __x86_64__
    case PELT_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); /* and f16c, which all of those have */
    case PELT_ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
    default:
        return 0;
    }
}

const char *pelt_isa_name(pelt_isa isa) {
    static const char *const names[] = {
#define NAME(name, text) text,
        PELT_ISAS(NAME)
#undef NAME
    };
    if (isa == PELT_ISA_SIMD128) {
#if defined(__SSE2__)
        return "sse";
#elif defined(__ARM_NEON)
        return "neon";
#elif defined(__wasm_simd128__)
        return "wasm";
#endif
    }
    return (unsigned)isa < PELT_ISA_COUNT ? names[isa] : "unknown";
}

const pelt_loops *pelt_loops_of(pelt_isa isa) {
    switch (isa) {
#ifdef __x86_64__
    case PELT_ISA_AVX512:
        return __builtin_cpu_supports("avx512vnni") ? &pelt_loops_avx512_vnni : &pelt_loops_avx512;
    case PELT_ISA_AVX2:
        return &pelt_loops_avx2;
#endif
#ifdef PELT_ONLY_SIMD128 /* where nothing else is ever chosen, portable C is left out */
    default:
        return &pelt_loops_simd128;
#else
    case PELT_ISA_SIMD128:
        return &pelt_loops_simd128;
    default:
        return &pelt_loops_scalar;
#endif
    }
}
