/* findings.c: the list of findings, and the caller's progress. */

#include "rig/rig.h"
#include <stdio.h>
#include <string.h>

void pelt_find(pelt_findings *findings, pelt_arena *arena, pelt_severity severity, const char *what, const char *format,
               ...) {
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Findings are few: copying the list keeps it a plain array. */
    pelt_finding *list = PELT_NEW(arena, findings->count + 1, pelt_finding);
    char *copy = pelt_arena_format(arena, "%s", text);
    if (!list || !copy) return;
    if (findings->count) memcpy(list, findings->list, findings->count * sizeof *list);
    list[findings->count] = (pelt_finding){severity, what, copy};
    findings->list = list;
    findings->count++;
}

bool pelt_should_stop(const pelt_progress *progress, const char *task, double fraction) {
    return progress && progress->step && progress->step(progress->user, task, fraction) != 0;
}

bool pelt_finding_is_mended(const pelt_finding *finding) {
    static const char *const mended[] = {"axes", "scale", "offset", "vertex-order", "shifted"};
    for (size_t i = 0; i < sizeof mended / sizeof *mended; i++)
        if (!strcmp(finding->what, mended[i])) return true;
    return false;
}
