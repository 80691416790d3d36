/* budget.c: what a skin may cost, as people write it, and whether one is within it. */

#include "fit/choose/choose.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A unit, its size in units of the field, and the field. */
static const struct unit {
    const char *name;
    double scale;
    size_t field;
} UNITS[] = {
    {"bytes", 1, offsetof(pelt_budget, bytes)},
    {"byte", 1, offsetof(pelt_budget, bytes)},
    {"B", 1, offsetof(pelt_budget, bytes)},
    {"kB", 1e3, offsetof(pelt_budget, bytes)},
    {"KB", 1e3, offsetof(pelt_budget, bytes)},
    {"MB", 1e6, offsetof(pelt_budget, bytes)},
    {"bytes/vertex", 1, offsetof(pelt_budget, bytes_per_vertex)},
    {"B/vertex", 1, offsetof(pelt_budget, bytes_per_vertex)},
    {"ns", 1e-9, offsetof(pelt_budget, seconds)},
    {"us", 1e-6, offsetof(pelt_budget, seconds)},
    {"ms", 1e-3, offsetof(pelt_budget, seconds)},
    {"ns/vertex", 1e-9, offsetof(pelt_budget, seconds_per_vertex)},
    {"mm", 1e-3, offsetof(pelt_budget, error)},
    {"cm", 1e-2, offsetof(pelt_budget, error)},
    {"m", 1, offsetof(pelt_budget, error)},
    {"%", 1e-2, offsetof(pelt_budget, error_fraction)},
};
enum { UNIT_COUNT = sizeof UNITS / sizeof *UNITS };

static const char KNOWN[] = "bytes, kB, MB, bytes/vertex; us, ms, ns/vertex; mm, cm, m or %";

static double *field_of(pelt_budget *budget, const struct unit *unit) {
    return (double *)(void *)((char *)budget + unit->field);
}

/* One of a list: a number and its unit. */
static pelt_result parse_limit(const char *text, int length, pelt_budget *budget, pelt_error *error) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || end > text + length || !(value > 0 && isfinite(value)))
        return pelt_fail_option(error, "budget", "\"%.*s\" does not begin with a positive number", length, text);
    while (*end == ' ') end++;
    size_t size = end < text + length ? (size_t)(text + length - end) : 0;
    while (size && end[size - 1] == ' ') size--;
    if (!size) return pelt_fail_option(error, "budget", "\"%.*s\" has no unit: add one of %s", length, text, KNOWN);
    for (const struct unit *unit = UNITS; unit < UNITS + UNIT_COUNT; unit++) {
        if (strlen(unit->name) != size || strncmp(unit->name, end, size)) continue;
        double *field = field_of(budget, unit);
        if (*field > 0)
            return pelt_fail_option(error, "budget",
                                    "\"%.*s\" limits the same thing as another entry; keep one of them", length, text);
        *field = value * unit->scale;
        return PELT_OK;
    }
    return pelt_fail_option(error, "budget", "\"%.*s\" is not a unit; use %s", (int)size, end, KNOWN);
}

/* A limit in total and one per vertex, or in scene units and in percent, are two words for one thing. */
static pelt_result check_pairs(const pelt_budget *b, pelt_error *error) {
    const char *twice = b->bytes > 0 && b->bytes_per_vertex > 0       ? "bytes, total and per vertex"
                        : b->seconds > 0 && b->seconds_per_vertex > 0 ? "time, total and per vertex"
                        : b->error > 0 && b->error_fraction > 0       ? "the error, in units and in %"
                                                                      : NULL;
    if (!twice) return PELT_OK;
    return pelt_fail_option(error, "budget", "there are two limits on %s, which may contradict each other; keep one",
                            twice);
}

pelt_result pelt_budget_check(const pelt_budget *b, pelt_error *error) {
    const double values[] = {b->bytes, b->bytes_per_vertex, b->seconds, b->seconds_per_vertex,
                             b->error, b->error_fraction};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!(values[i] >= 0 && isfinite(values[i])))
            return pelt_fail_option(error, "budget", "limits must be positive, or 0 for none, not %g", values[i]);
    return check_pairs(b, error);
}

pelt_result pelt_budget_parse(const char *text, pelt_budget *budget, pelt_error *error) {
    if (PELT_MISSING(text, error) || PELT_MISSING(budget, error)) return PELT_ERROR_ARGUMENT;
    *budget = (pelt_budget){0};
    for (const char *at = text; *at;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ",");
        pelt_result result = parse_limit(at, (int)length, budget, error);
        if (result) return result;
        at += length;
        if (!*at) break;
        at++;
        if (!at[strspn(at, " ")]) return pelt_fail_option(error, "budget", "there is nothing after the last comma");
    }
    if (!memcmp(budget, &(pelt_budget){0}, sizeof *budget))
        return pelt_fail_option(error, "budget", " is empty; give limits such as \"500 kB, 20 us, 1 mm\"");
    return pelt_budget_check(budget, error);
}

pelt_budget pelt_budget_of(const pelt_budget *budget, const pelt_mesh *mesh) {
    pelt_budget b = budget ? *budget : (pelt_budget){0};
    if (b.bytes_per_vertex > 0) b.bytes = b.bytes_per_vertex * mesh->vertex_count;
    if (b.seconds_per_vertex > 0) b.seconds = b.seconds_per_vertex * mesh->vertex_count;
    if (b.error_fraction > 0) b.error = b.error_fraction * pelt_scene_diagonal(mesh);
    return b;
}

double pelt_budget_share(const pelt_budget *b, double bytes, double seconds) {
    return fmax(b->bytes > 0 ? bytes / b->bytes : 0, b->seconds > 0 ? seconds / b->seconds : 0);
}
