/* about.c: what a .keys file of light says of itself, as JSON. */

#include "light/about.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAMERA_NUMBERS = 13 };

/* A name in a file must not lead anywhere: no path from the root, none upwards. */
bool pelt_light_stays_below(const char *path) {
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (*part == '/' || (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))) return false;
    return *path != 0;
}

/* -- The camera ---------------------------------------------------------------------------------------------------- */

static json_t *camera_json(const pelt_camera *c) {
    json_t *list = json_array();
    const double *parts[] = {c->eye, c->axes[0], c->axes[1], c->axes[2]};
    for (int i = 0; i < 12; i++) json_array_append_new(list, json_real(parts[i / 3][i % 3]));
    json_array_append_new(list, json_real(c->field_of_view));
    if (json_array_size(list) == CAMERA_NUMBERS) return list;
    json_decref(list);
    return NULL;
}

static bool read_camera(const json_t *list, pelt_camera *c) {
    double *parts[] = {c->eye, c->axes[0], c->axes[1], c->axes[2]};
    *c = (pelt_camera){0};
    if (!list) return true; /* an older file */
    if (json_array_size(list) != CAMERA_NUMBERS) return false;
    for (size_t i = 0; i < 12; i++) parts[i / 3][i % 3] = json_number_value(json_array_get(list, i));
    c->field_of_view = json_number_value(json_array_get(list, 12));
    return true;
}

/* -- Moves --------------------------------------------------------------------------------------------------------- */

json_t *pelt_light_moves_json(const pelt_light_arrangement *a) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < a->move_count; i++) {
        const pelt_light_move *m = &a->moves[i];
        const float *from = m->ends[0], *to = m->ends[1];
        json_array_append_new(list, json_pack("{s:o, s:i, s:[ffff], s:[ffff]}", "name", pelt_json_text(m->name),
                                              "places", (int)m->count, "from", from[0], from[1], from[2], from[3], "to",
                                              to[0], to[1], to[2], to[3]));
    }
    if (json_array_size(list) == a->move_count) return list;
    json_decref(list);
    return NULL;
}

static bool read_moves(const json_t *list, pelt_light_arrangement *a) {
    a->move_count = (uint32_t)json_array_size(list);
    if (a->move_count > PELT_LIGHT_MOVES) return false;
    for (uint32_t i = 0; i < a->move_count; i++) {
        pelt_light_move *m = &a->moves[i];
        const char *name;
        int count;
        double from[4], to[4];
        if (json_unpack(json_array_get(list, i), "{s:s, s:i, s:[FFFF], s:[FFFF]}", "name", &name, "places", &count,
                        "from", from, from + 1, from + 2, from + 3, "to", to, to + 1, to + 2, to + 3) ||
            strlen(name) >= sizeof m->name || count < 1)
            return false;
        memcpy(m->name, name, strlen(name) + 1);
        m->count = (uint32_t)count;
        for (int c = 0; c < 4; c++) m->ends[0][c] = (float)from[c], m->ends[1][c] = (float)to[c];
    }
    return true;
}

/* Only where something moves, or points lie on surfaces. */
static bool add_arrangement(const pelt_light_arrangement *a, json_t *about) {
    if (!a->move_count) return true;
    bool good = !json_object_set_new(about, "moves", pelt_light_moves_json(a));
    if (!a->surfaces) return good;
    return good && !json_object_set_new(about, "texels", json_integer(a->texels)) &&
           !json_object_set_new(about, "seen", json_string(a->seen));
}

static bool read_arrangement(const json_t *about, pelt_relight_about *a) {
    const char *seen = json_string_value(json_object_get(about, "seen"));
    json_int_t texels = json_integer_value(json_object_get(about, "texels"));
    if (!read_moves(json_object_get(about, "moves"), &a->arrangement) || texels < 0 || texels > UINT32_MAX)
        return false;
    a->arrangement.surfaces = seen != NULL;
    a->arrangement.texels = (uint32_t)texels;
    a->arrangement.seen = a->seen = seen ? strdup(seen) : NULL;
    return !seen || a->seen;
}

/* -- The scene ----------------------------------------------------------------------------------------------------- */

/* A number that changes with any of the values, by much more than rounding does; and how much that may be. */
static void mark_values(const float *values, size_t count, double *mark, double *slack) {
    double sum = 0, most = 0;
    uint64_t random = 1;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        sum += values[i] * (0.5 + (double)(random >> 40) * 0x1p-25);
        most = fmax(most, fabs((double)values[i]));
    }
    *mark = sum;
    *slack = 1e-6 * most * sqrt((double)count + 1);
}

/* Machines round differently, so a sum is compared and not a hash. */
void pelt_light_marks(const pelt_light_view *s, double marks[PELT_LIGHT_MARKS], double slack[PELT_LIGHT_MARKS]) {
    const pelt_scene *scene = s->scene;
    mark_values(s->rest, 3 * (size_t)scene->vertex_count, &marks[0], &slack[0]);
    mark_values((const float *)scene->materials, 6 * (size_t)scene->material_count, &marks[1], &slack[1]);
    marks[2] = slack[2] = 0;
    for (uint32_t i = 0; i < scene->light_count; i++) {
        double mark, room;
        const pelt_light *light = &scene->lights[i];
        mark_values(light->position, (sizeof *light - offsetof(pelt_light, position)) / sizeof(float), &mark, &room);
        marks[2] += mark * (i + 1) + light->kind, slack[2] += room * (i + 1);
    }
}

/* -- All ----------------------------------------------------------------------------------------------------------- */

char *pelt_relight_text(const char *scene, const pelt_relight_about *a) {
    const pelt_light_grid *g = &a->grid;
    const char *slash = strrchr(scene, '/');
    if (!pelt_light_stays_below(scene)) scene = slash ? slash + 1 : "";
    json_t *about =
        json_pack("{s:o, s:o, s:[fff], s:i, s:i, s:i, s:i, s:f, s:f, s:[ii], s:[fff], s:[fff]}", "scene",
                  pelt_json_text(scene), "camera", camera_json(&a->camera), "marks", a->marks[0], a->marks[1],
                  a->marks[2], "width", (int)a->width, "height", (int)a->height, "bounces", (int)a->bounces, "samples",
                  (int)a->samples, "noise", a->noise, "trust", a->trust, "grid", (int)g->columns, (int)g->rows, "low",
                  g->low[0], g->low[1], g->low[2], "high", g->high[0], g->high[1], g->high[2]);
    bool good = about && add_arrangement(&a->arrangement, about);
    json_t *whole = json_pack("{s:o}", "relight", about);
    char *text = good && whole ? pelt_json_dump(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    return text;
}

bool pelt_relight_read_about(const pelt_keys *keys, pelt_relight_about *a) {
    json_t *text = json_loads(keys->about, 0, NULL), *about = json_object_get(text, "relight");
    int width, height, bounces, samples, columns, rows;
    double low[3], high[3];
    const char *scene;
    bool good = about && !json_unpack(about, "{s:s, s:i, s:i, s:i, s:i, s:F, s:F, s:[ii], s:[FFF], s:[FFF]}", "scene",
                                      &scene, "width", &width, "height", &height, "bounces", &bounces, "samples",
                                      &samples, "noise", &a->noise, "trust", &a->trust, "grid", &columns, &rows, "low",
                                      low, low + 1, low + 2, "high", high, high + 1, high + 2);
    good = good && width > 0 && height > 0 && width <= 8192 && height <= 8192 && bounces > 0 && bounces <= 100 &&
           samples > 0 && columns > 0 && rows > 0 && columns <= 1000 && rows <= 1000 &&
           read_camera(json_object_get(about, "camera"), &a->camera) && read_arrangement(about, a);
    if (good) {
        json_t *marks = json_object_get(about, "marks"); /* older files have none */
        a->marked = json_array_size(marks) == PELT_LIGHT_MARKS;
        for (size_t i = 0; i < PELT_LIGHT_MARKS; i++) a->marks[i] = json_number_value(json_array_get(marks, i));
        snprintf(a->scene, sizeof a->scene, "%s", scene);
        a->width = (uint32_t)width, a->height = (uint32_t)height, a->bounces = (uint32_t)bounces;
        a->samples = (uint32_t)samples, a->grid.columns = (uint32_t)columns, a->grid.rows = (uint32_t)rows;
        for (int c = 0; c < 3; c++) a->grid.low[c] = (float)low[c], a->grid.high[c] = (float)high[c];
    }
    json_decref(text);
    return good;
}
