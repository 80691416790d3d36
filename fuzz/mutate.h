/* mutate.h: changes that leave a file's structure in place, beside those of the fuzzer that know nothing of it. */

#ifndef PELT_FUZZ_MUTATE_H
#define PELT_FUZZ_MUTATE_H

#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static inline uint32_t mutate_next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Files of whole numbers and floats, 4 bytes each: one of them becomes another. */
static inline size_t mutate_numbers(uint8_t *data, size_t size, size_t most, unsigned seed) {
    static const uint32_t telling[] = {
        0,          1,          2,         3,          15,         16,         17,
        255,        0xffff,     0x10000,   0x7fffffff, 0x80000000, 0xffffffff, 0x7f800000 /* infinity */,
        0x7fc00000, 0x00000001, 0x7f7fffff};
    uint64_t random = seed;
    if (size < 16 || mutate_next(&random) % 4 == 0) return LLVMFuzzerMutate(data, size, most);
    for (uint32_t n = 1 + mutate_next(&random) % 3; n; n--) {
        /* The first numbers say where everything else is: half of the changes go there. */
        size_t words = size / 4, reach = mutate_next(&random) % 2 && words > 64 ? 64 : words;
        uint8_t *at = data + 4 * (mutate_next(&random) % reach);
        uint32_t value;
        memcpy(&value, at, 4);
        switch (mutate_next(&random) % 4) {
        case 0:
            value += mutate_next(&random) % 5 - 2;
            break;
        case 1:
            value = telling[mutate_next(&random) % (sizeof telling / sizeof *telling)];
            break;
        case 2:
            memcpy(&value, data + 4 * (mutate_next(&random) % words), 4);
            break;
        default:
            value ^= 1u << mutate_next(&random) % 32;
        }
        memcpy(at, &value, 4);
    }
    return size;
}

/* A .glb: its JSON or its numbers change, and the sizes in its headers follow. */
static inline size_t mutate_glb(uint8_t *data, size_t size, size_t most, unsigned seed) {
    uint64_t random = seed;
    uint32_t head[5], json;
    if (size < 28 || memcmp(data, "glTF", 4) || mutate_next(&random) % 8 == 0)
        return LLVMFuzzerMutate(data, size, most);
    memcpy(head, data, sizeof head);
    json = head[3];
    if (json > size - 20) return LLVMFuzzerMutate(data, size, most);
    size_t rest = size - 20 - json;
    if (mutate_next(&random) % 3 == 0 && rest > 12) {
        mutate_numbers(data + 20 + json + 8, rest - 8, rest - 8, mutate_next(&random));
        return size;
    }
    static uint8_t text[1 << 20];
    size_t room = most - 20 - rest < sizeof text - 4 ? most - 20 - rest : sizeof text - 4;
    if (json > room) return LLVMFuzzerMutate(data, size, most);
    memcpy(text, data + 20, json);
    size_t now = LLVMFuzzerMutate(text, json, room > 4 ? room - 4 : room);
    while (now % 4 && now < room) text[now++] = ' ';
    memmove(data + 20 + now, data + 20 + json, rest);
    memcpy(data + 20, text, now);
    head[2] = (uint32_t)(20 + now + rest), head[3] = (uint32_t)now;
    memcpy(data, head, sizeof head);
    return 20 + now + rest;
}

#endif
