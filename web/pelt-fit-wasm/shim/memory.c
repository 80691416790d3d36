/* memory.c: memset and memcpy by vectors: those of WASI's C library go word by word, and took 7% of a fit. */

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

void *memset(void *to, int value, size_t size) {
    uint8_t *at = to, *end = at + size;
    v128_t v = wasm_i8x16_splat((int8_t)value);
    for (; end - at >= 64; at += 64) {
        wasm_v128_store(at, v), wasm_v128_store(at + 16, v);
        wasm_v128_store(at + 32, v), wasm_v128_store(at + 48, v);
    }
    for (; end - at >= 16; at += 16) wasm_v128_store(at, v);
    for (; at < end; at++) *(volatile uint8_t *)at = (uint8_t)value; /* volatile: or it becomes a call of itself */
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    uint8_t *at = to, *end = at + size;
    const uint8_t *source = from;
    for (; end - at >= 64; at += 64, source += 64) {
        v128_t a = wasm_v128_load(source), b = wasm_v128_load(source + 16);
        v128_t c = wasm_v128_load(source + 32), d = wasm_v128_load(source + 48);
        wasm_v128_store(at, a), wasm_v128_store(at + 16, b);
        wasm_v128_store(at + 32, c), wasm_v128_store(at + 48, d);
    }
    for (; end - at >= 16; at += 16, source += 16) wasm_v128_store(at, wasm_v128_load(source));
    for (; at < end; at++, source++) *(volatile uint8_t *)at = *source;
    return to;
}
