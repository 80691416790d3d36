/* bytes.h: numbers in files, assembled byte by byte so that any machine reads them alike; compilers turn this into
   single loads. */

#ifndef PELT_BYTES_H
#define PELT_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Files in this byte order may be used in place. */
#define PELT_HOST_IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static inline uint32_t pelt_u16_little(const uint8_t *b) { return b[0] | (uint32_t)b[1] << 8; }

static inline uint32_t pelt_u32_little(const uint8_t *b) {
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint32_t pelt_u32_big(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline void pelt_put_u32_little(uint8_t *b, uint32_t value) {
    for (int i = 0; i < 4; i++) b[i] = (uint8_t)(value >> (8 * i));
}

static inline void pelt_put_u32_big(uint8_t *b, uint32_t value) {
    for (int i = 0; i < 4; i++) b[i] = (uint8_t)(value >> (24 - 8 * i));
}

static inline float pelt_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t pelt_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#endif
