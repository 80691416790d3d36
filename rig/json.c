/* json.c: safe JSON values from any name or number, and their text. */

#include "rig/json.h"
#include "rig/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *pelt_json_number(double number) { return isfinite(number) ? json_real(number) : json_null(); }

json_t *pelt_json_text(const char *text) {
    if (pelt_is_utf8(text)) return json_string(text);
    size_t size = 4 * strlen(text) + 1;
    char *escaped = malloc(size);
    if (escaped) pelt_visible_text(text, "", escaped, size);
    json_t *result = escaped ? json_string(escaped) : NULL;
    free(escaped);
    return result;
}

/* -- Text ---------------------------------------------------------------------------------------------------------- */

/* Failure is sticky, because jansson ignores some return values. */
typedef struct growing {
    char *text;
    size_t used, room;
    bool failed;
} growing;

static int put(const char *piece, size_t size, void *user) {
    growing *g = user;
    if (g->used + size + 1 > g->room) {
        size_t room = 2 * (g->used + size) + 256;
        char *more = g->failed ? NULL : realloc(g->text, room);
        g->failed = !more;
        if (!more) return -1;
        g->text = more, g->room = room;
    }
    memcpy(g->text + g->used, piece, size);
    g->used += size;
    return 0;
}

char *pelt_json_dump(const json_t *value, size_t flags) {
    growing g = {0};
    if (!value || json_dump_callback(value, put, &g, flags) || g.failed || !g.text) return free(g.text), NULL;
    g.text[g.used] = 0;
    return g.text;
}
