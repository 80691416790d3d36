/* text.c: text from untrusted files. */

#include "rig/text.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The character at `text` and its size in bytes; 0 if it is not one. Overlong forms, UTF-16 surrogates and values
   beyond Unicode are invalid. */
static size_t decode(const char *text, uint32_t *character) {
    const uint8_t *b = (const uint8_t *)text;
    size_t size = b[0] < 0x80 ? 1 : b[0] >> 5 == 6 ? 2 : b[0] >> 4 == 14 ? 3 : b[0] >> 3 == 30 ? 4 : 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (!size || !b[0]) return 0;
    uint32_t c = size == 1 ? b[0] : b[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (b[i] >> 6 != 2) return 0; /* also true of a terminating zero */
        c = c << 6 | (b[i] & 0x3f);
    }
    *character = c;
    return c < least[size] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : size;
}

size_t pelt_utf8_size(const char *text) {
    uint32_t character;
    return decode(text, &character);
}

bool pelt_is_utf8(const char *text) {
    for (size_t size; *text; text += size) {
        size = pelt_utf8_size(text);
        if (!size) return false;
    }
    return true;
}

/* Control characters of ASCII and ISO 8859, and Unicode marks that change the writing direction or break lines. */
static bool is_command(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t pelt_visible_text(const char *text, const char *kept, char *out, size_t size) {
    size_t length = 0;
    if (size) *out = 0;
    while (*text) {
        uint32_t c = 0;
        size_t bytes = decode(text, &c), plain = bytes && (!is_command(c) || (c < 0x80 && strchr(kept, (int)c)));
        for (size_t i = 0; i < (bytes ? bytes : 1); i++) {
            char piece[5];
            size_t n = (size_t)snprintf(piece, sizeof piece, plain ? "%c" : "\\x%02x", (unsigned char)*text++);
            if (length + n < size) memcpy(out + length, piece, n + 1);
            length += n;
        }
    }
    return length;
}

/* -- Paths --------------------------------------------------------------------------------------------------------- */

const char *pelt_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int pelt_stem_length(const char *path) {
    const char *name = pelt_base_name(path), *dot = strrchr(name, '.');
    return (int)(dot && dot > name ? dot - path : (ptrdiff_t)strlen(path));
}

/* -- Numbers ------------------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static double times_power_of_ten(double value, int64_t exponent) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (value == 0) return value;
    for (; exponent > 22 && value < INFINITY; exponent -= 22) value *= powers[22];
    for (; exponent < -22 && value > 0; exponent += 22) value /= powers[22];
    if (exponent > 22 || exponent < -22) return value; /* infinity or zero by now */
    return exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
}

static const char *read_exponent(const char *at, int64_t *exponent) {
    const char *c = at + 1;
    bool negative = *c == '-';
    if (*c == '-' || *c == '+') c++;
    if (!is_digit(*c)) return at;
    int value = 0;
    for (; is_digit(*c); c++)
        if (value < 100000) value = 10 * value + (*c - '0');
    *exponent += negative ? -value : value;
    return c;
}

const char *pelt_read_decimal(const char *c, double *value) {
    uint64_t digits = 0;
    int64_t exponent = 0;
    int count = 0;
    bool point = false, any = false;
    for (; is_digit(*c) || (*c == '.' && !point); c++) {
        if (*c == '.') {
            point = true;
            continue;
        }
        any = true;
        if (count < 19) {
            digits = 10 * digits + (uint64_t)(*c - '0');
            count += digits != 0;
            exponent -= point;
        } else {
            exponent += !point;
        }
    }
    if (!any) return NULL;
    if (*c == 'e' || *c == 'E') c = read_exponent(c, &exponent);
    *value = times_power_of_ten((double)digits, exponent);
    return c;
}
