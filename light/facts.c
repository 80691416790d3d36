/* facts.c: the description of a .keys file of light: binary for programs (docs/keys-format.md), JSON for people. */

#include "light/facts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A name in a file must not escape its folder: no absolute path, no "..". */
bool pelt_light_stays_below(const char *path) {
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (*part == '/' || (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))) return false;
    return *path != 0;
}

/* -- For people --------------------------------------------------------------------------------------------------------- */

json_t *pelt_light_moves_json(const pelt_light_arrangement *a) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < a->move_count; i++) {
        const pelt_light_move *m = &a->moves[i];
        list = pelt_json_append(
            list, pelt_json_pack("{name:s, places:u, from:v4, to:v4}", m->name, m->count, m->ends[0], m->ends[1]));
    }
    return list;
}

static char *text_of(const pelt_relight_facts *f) {
    const pelt_light_grid *g = &f->grid;
    json_t *json = pelt_json_pack("{relight:{scene:s, width:u, height:u, bounces:u, samples:u, noise:f, trust:f, "
                                  "grid:[u u], low:v3, high:v3, moves:o}}",
                                  f->scene, f->width, f->height, f->bounces, f->samples, f->noise, f->trust, g->columns,
                                  g->rows, g->low, g->high,
                                  f->arrangement.move_count ? pelt_light_moves_json(&f->arrangement) : json_null());
    char *text = json ? pelt_json_dump(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

/* -- The scene ----------------------------------------------------------------------------------------------------- */

/* A number that changes with any of the values, by much more than rounding; and a bound on the rounding. */
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

/* Machines round differently, so this compares a sum, not a hash. */
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

/* -- For programs -------------------------------------------------------------------------------------------------- */

enum { TAG = 'L' | 'I' << 8 | 'T' << 16 | 'E' << 24, VERSION = 1 };

/* Followed by two zero-terminated texts: the scene, and the visible surfaces (surface.c), empty if points are pixels. */
typedef struct light_bytes {
    uint32_t tag, version, width, height, bounces, samples;
    pelt_light_grid grid;
    uint32_t move_count, texels;
    double noise, trust;
    pelt_camera camera;
    double marks[PELT_LIGHT_MARKS];
    pelt_light_move moves[PELT_LIGHT_MOVES];
} light_bytes;

_Static_assert(sizeof(light_bytes) == 864 && sizeof(pelt_light_grid) == 32 && sizeof(pelt_camera) == 104 &&
                   sizeof(pelt_light_move) == 164,
               "docs/keys-format.md says so");

pelt_result pelt_relight_describe(const pelt_relight_facts *f, pelt_keys_words *words, pelt_error *error) {
    const pelt_light_arrangement *a = &f->arrangement;
    const char *seen = a->surfaces ? a->seen : "";
    size_t scene_size = strlen(f->scene) + 1, seen_size = strlen(seen) + 1, size = sizeof(light_bytes);
    light_bytes bytes = {TAG,     VERSION,       f->width,  f->height, f->bounces, f->samples,
                         f->grid, a->move_count, a->texels, f->noise,  f->trust,   f->camera};
    memcpy(bytes.marks, f->marks, sizeof bytes.marks);
    memcpy(bytes.moves, a->moves, a->move_count * sizeof *a->moves);
    words->text = text_of(f);
    char *data = words->data = malloc(size + scene_size + seen_size);
    if (!words->text || !data) return pelt_no_memory(error);
    words->size = (uint32_t)(size + scene_size + seen_size);
    memcpy(data, &bytes, size);
    memcpy(data + size, f->scene, scene_size);
    memcpy(data + size + scene_size, seen, seen_size);
    return PELT_OK;
}

bool pelt_relight_is_light(const pelt_keys *keys) {
    const light_bytes *b = keys->user_data;
    return keys->component_count == 3 && keys->user_size > sizeof *b && b->tag == TAG && b->version == VERSION;
}

static bool all_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static bool is_sound(const light_bytes *b) {
    bool good = b->width && b->height && b->width <= 8192 && b->height <= 8192 && b->bounces && b->bounces <= 100 &&
                b->samples && b->samples <= INT32_MAX && b->move_count <= PELT_LIGHT_MOVES &&
                !pelt_light_grid_check(&b->grid, NULL) && isfinite(b->noise) && isfinite(b->trust) && b->trust >= 0 &&
                all_finite(b->camera.eye, sizeof b->camera / sizeof(double)) && all_finite(b->marks, PELT_LIGHT_MARKS);
    for (uint32_t i = 0; good && i < b->move_count; i++) {
        const pelt_light_move *m = &b->moves[i];
        good = memchr(m->name, 0, sizeof m->name) && m->count;
        for (int k = 0; k < 8; k++) good = good && isfinite(m->ends[k / 4][k % 4]);
    }
    return good;
}

bool pelt_relight_read_facts(const pelt_keys *keys, pelt_relight_facts *f) {
    const light_bytes *b = keys->user_data;
    if (!pelt_relight_is_light(keys) || !is_sound(b)) return false;
    const char *scene = (const char *)(b + 1), *seen = memchr(scene, 0, keys->user_size - sizeof *b);
    size_t length = seen ? (size_t)(seen++ - scene) : sizeof f->scene, rest = keys->user_size - sizeof *b - length - 1;
    if (length >= sizeof f->scene || !rest || memchr(seen, 0, rest) != seen + rest - 1) return false;
    *f = (pelt_relight_facts){b->width, b->height, b->bounces, b->samples, b->noise, b->trust, b->grid, b->camera};
    memcpy(f->marks, b->marks, sizeof f->marks);
    memcpy(f->scene, scene, length + 1);
    f->arrangement = (pelt_light_arrangement){
        .move_count = b->move_count, .surfaces = *seen, .texels = b->texels, .seen = *seen ? seen : NULL};
    memcpy(f->arrangement.moves, b->moves, b->move_count * sizeof *b->moves);
    return true;
}
