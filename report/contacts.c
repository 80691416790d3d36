/* contacts.c: a contact sheet: many shapes of one mesh, small, in rows, all at one scale. */

#include "report/report.h"
#include <math.h>
#include <string.h>

enum { GAP = 4 };

typedef struct contacts {
    const pelt_mesh *mesh;
    const float *const *shapes;
    uint32_t columns, width, height; /* of one picture */
    pelt_view view;
    pelt_image *sheet;
    atomic_bool failed;
} contacts;

/* Pictures do not overlap, so threads may paste at once. */
static void draw_one(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    contacts *c = user;
    pelt_image *image = pelt_image_new(c->width, c->height);
    pelt_look look = {.positions = c->shapes[i]};
    pelt_result result = image ? pelt_draw_mesh(image, &c->view, c->mesh, &look) : PELT_ERROR_MEMORY;
    if (!result || result == PELT_ERROR_ARGUMENT) /* a view of nothing is an empty picture */
        pelt_image_paste(c->sheet, image, (uint32_t)(i % c->columns) * (c->width + GAP),
                         (uint32_t)(i / c->columns) * (c->height + GAP));
    else
        atomic_store(&c->failed, true);
    pelt_image_free(image);
}

pelt_result pelt_contact_sheet(const pelt_mesh *mesh, const float *const *shapes, size_t count, uint32_t columns,
                               uint32_t height, double azimuth, uint32_t threads, pelt_bytes *png, pelt_error *error) {
    uint32_t n = mesh->vertex_count;
    double aspect;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    float *all = PELT_NEW(arena, 3 * count * n, float);
    if (!all || !count || !columns || count * n > UINT32_MAX) return pelt_no_memory(error);
    for (size_t i = 0; i < count; i++) memcpy(all + 3 * i * n, shapes[i], 3 * (size_t)n * sizeof *all);
    contacts c = {.mesh = mesh, .shapes = shapes, .columns = columns, .height = height};
    c.view = pelt_view_fit(all, (uint32_t)(count * n), azimuth, 8);
    pelt_view_tighten(&c.view, all, (uint32_t)(count * n), &aspect);
    c.width = (uint32_t)fmax(8, height * aspect);
    uint32_t rows = (uint32_t)((count + columns - 1) / columns);
    c.sheet = pelt_image_new(columns * (c.width + GAP) - GAP, rows * (height + GAP) - GAP);
    if (c.sheet) memset(c.sheet->rgba, 255, 4 * (size_t)c.sheet->width * c.sheet->height);
    bool drawn = c.sheet && pelt_parallel(NULL, threads, count, draw_one, &c) && !atomic_load(&c.failed);
    pelt_result result = drawn ? pelt_image_small_png(c.sheet, png, error) : pelt_no_memory(error);
    pelt_image_free(c.sheet);
    return result;
}
