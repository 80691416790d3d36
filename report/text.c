/* text.c: text that grows, HTML escaping, and numbers as people like to read them. */

#include "report/page.h"
#include "rig/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *reserve(text *out, size_t more) {
    if (out->failed) return NULL;
    if (more >= out->capacity - out->size) { /* one byte is for the zero */
        size_t capacity = out->capacity + out->capacity / 2 + more + 4096;
        char *grown = capacity > more ? realloc(out->bytes, capacity) : NULL;
        if (!grown) {
            out->failed = true;
            return NULL;
        }
        out->bytes = grown;
        out->capacity = capacity;
    }
    return out->bytes + out->size;
}

static void put_bytes(text *out, const char *bytes, size_t size) {
    char *end = reserve(out, size);
    if (!end) return;
    memcpy(end, bytes, size);
    end[size] = 0;
    out->size += size;
}

void text_put(text *out, const char *html) { put_bytes(out, html, strlen(html)); }

void text_escape(text *out, const char *plain) {
    const unsigned char *s = (const unsigned char *)(plain ? plain : "");
    while (*s) {
        size_t length = pelt_utf8_size((const char *)s);
        if (*s == '<')
            text_put(out, "&lt;");
        else if (*s == '>')
            text_put(out, "&gt;");
        else if (*s == '&')
            text_put(out, "&amp;");
        else if (*s == '"')
            text_put(out, "&quot;");
        else if (*s == '\'')
            text_put(out, "&#39;");
        else if (length == 0 || (*s < 0x20 && *s != '\n' && *s != '\t') || *s == 0x7f)
            text_put(out, "&#xFFFD;");
        else
            put_bytes(out, (const char *)s, length);
        s += length ? length : 1;
    }
}

void text_base64(text *out, const uint8_t *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t b = (uint32_t)bytes[i] << 16 | (i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0) |
                     (i + 2 < size ? bytes[i + 2] : 0);
        char four[4] = {digits[b >> 18], digits[b >> 12 & 63], i + 1 < size ? digits[b >> 6 & 63] : '=',
                        i + 2 < size ? digits[b & 63] : '='};
        put_bytes(out, four, 4);
    }
}

/* -- Numbers ------------------------------------------------------------------------------------------------------- */

void text_fixed(text *out, double value, int decimals) {
    char line[400];
    snprintf(line, sizeof line, "%.*f", decimals, value);
    text_put(out, line);
}

void text_digits(text *out, double value, int digits) {
    double size = fabs(value), rounded = size * (1 + 0.5 * pow(10, -digits)); /* 0.9996 is printed as 1.00 */
    int power = size > 0 && isfinite(size) ? (int)floor(log10(rounded)) : 0;
    if (!isfinite(value))
        text_put(out, "–");
    else if (size < 1e-300)
        text_put(out, "0");
    else if (power < -4 || power > 5)
        text_fixed(out, value / pow(10, power), digits - 1),
            text_format(out, "&middot;10<sup>%s%d</sup>", power < 0 ? "&minus;" : "", abs(power));
    else
        text_fixed(out, value, power < digits - 1 ? digits - 1 - power : 0);
}

static void put_count(text *out, size_t count) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%zu", count);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && length > 4) text_put(out, "&#8239;");
        put_bytes(out, digits + i, 1);
    }
}

static void put_seconds(text *out, double seconds) {
    if (seconds >= 120 && seconds < 1e9) {
        text_format(out, "%.0f&#8239;min %.0f&#8239;s", floor(seconds / 60), floor(fmod(seconds, 60)));
    } else {
        text_format(out, seconds >= 0.01 && seconds < 10 ? "%.2f" : "%n", seconds);
        if (isfinite(seconds)) text_put(out, "&#8239;s");
    }
}

static void put_number(text *out, char kind, double value) {
    if (kind == 't') return put_seconds(out, value);
    text_digits(out, kind == 'n' ? value : 100 * value, kind == 'r' ? 2 : 3);
    if (kind != 'n' && isfinite(value)) text_put(out, "&#8239;%");
}

/* -- Formats ------------------------------------------------------------------------------------------------------- */

/* One value, as the last letter of its specification says. */
static void put_value(text *out, const char *spec, size_t length, va_list *values) {
    char kind = spec[length - 1], one[16], line[400] = "%";
    snprintf(one, sizeof one, "%.*s", (int)length, spec);
    if (strchr("nprt", kind))
        put_number(out, kind, va_arg(*values, double));
    else if (kind == 'k')
        put_count(out, va_arg(*values, size_t));
    else if (kind == 'h')
        text_escape(out, va_arg(*values, const char *));
    else if (kind == 's')
        text_put(out, va_arg(*values, const char *));
    else if (strchr("fg", kind))
        snprintf(line, sizeof line, one, va_arg(*values, double)), text_put(out, line);
    else if (kind != '%')
        snprintf(line, sizeof line, one, va_arg(*values, int)), text_put(out, line);
    else
        text_put(out, line);
}

void text_format(text *out, const char *format, ...) {
    va_list values;
    va_start(values, format);
    for (const char *at = format; *at;) {
        bool value = *at == '%';
        size_t length = value ? 2 + strspn(at + 1, ".0123456789") : strcspn(at, "%");
        if (value)
            put_value(out, at, length, &values);
        else
            put_bytes(out, at, length);
        at += length;
    }
    va_end(values);
}
