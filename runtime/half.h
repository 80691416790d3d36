/* half.h: half floats on machines without instructions for them. */

#ifndef PELT_HALF_H
#define PELT_HALF_H

#include <stdint.h>
#include <string.h>

/* The bits of a finite half, shifted into a float's position, are the value times 2^-112, including subnormals. */
static inline float pelt_half_value(uint16_t half) {
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13, sign = (uint32_t)(half & 0x8000) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The nearest half, ties to even; saturates at the largest half. */
static inline uint16_t pelt_half_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffffu;
    if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7bff);
    if (size < 0x38800000u) { /* subnormal: adding 0.5 makes the float unit round to multiples of 2^-24 */
        float small;
        memcpy(&small, &size, sizeof small);
        small += 0.5f;
        memcpy(&size, &small, sizeof size);
        return (uint16_t)(sign | (size - 0x3f000000u));
    }
    size += 0xfffu + (size >> 13 & 1);
    return (uint16_t)(sign | ((size - 0x38000000u) >> 13));
}

#endif
