/* regions.c: errors by region: the vertices that a joint moves most by the file's weights, so that regions are the same
   for every skin of a character; and those painted in one colour, if there are several colours. */

#include "fit/measure/regions.h"
#include "rig/regions.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Worst first; equal ones by name. */
static int compare_regions(const void *a, const void *b) {
    const pelt_region *x = a, *y = b;
    if (x->rms != y->rms) return x->rms > y->rms ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sums of a region. */
typedef struct region_sums {
    uint32_t vertices;
    double squares, blended, largest;
} region_sums;

static void add_vertex(const pelt_vertex_sums *sums, uint32_t v, region_sums *to) {
    to->vertices++;
    to->squares += sums->squares[v], to->blended += sums->blended[v];
    to->largest = fmax(to->largest, sums->largest[v]);
}

static pelt_region region_of(const region_sums *sums, const char *name, int painted, double frames, double exact) {
    double all = frames * sums->vertices, blend = sqrt(sums->blended / all);
    return (pelt_region){.name = name,
                         .painted = painted,
                         .vertex_count = sums->vertices,
                         .rms = sqrt(sums->squares / all),
                         .max = sqrt(sums->largest),
                         .rel_err = blend > exact ? sqrt(sums->squares / sums->blended) : NAN};
}

/* Appends the regions that have vertices. */
static void add_regions(const region_sums *all, uint32_t count, const char *(*name_of)(const pelt_bundle *, uint32_t),
                        const pelt_bundle *bundle, int painted, double exact, pelt_measure *m) {
    pelt_region *first = m->regions + m->region_count;
    for (uint32_t i = 0; i < count; i++)
        if (all[i].vertices)
            m->regions[m->region_count++] = region_of(&all[i], pelt_arena_format(m->arena, "%s", name_of(bundle, i)),
                                                      painted, m->frame_count, exact);
    qsort(first, (size_t)(m->regions + m->region_count - first), sizeof *first, compare_regions);
}

static const char *joint_name(const pelt_bundle *bundle, uint32_t joint) { return bundle->skeleton.names[joint]; }
static const char *color_name(const pelt_bundle *bundle, uint32_t color) {
    (void)bundle;
    return pelt_color_name((pelt_color)color);
}

void pelt_measure_regions(const pelt_bundle *bundle, const pelt_vertex_sums *sums, double exact, pelt_measure *m) {
    const pelt_mesh *mesh = &bundle->mesh;
    uint32_t joints = bundle->skeleton.joint_count, colors = 0;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(m->arena);
    region_sums *by_joint = PELT_NEW(work, joints, region_sums), by_color[PELT_COLOR_COUNT] = {0};
    m->regions = PELT_NEW(m->arena, (size_t)joints + PELT_COLOR_COUNT, pelt_region);
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        uint32_t joint = pelt_dominant_joint(&mesh->influences, v);
        if (joint != PELT_NO_REGION) add_vertex(sums, v, &by_joint[joint]);
        if (mesh->colors) add_vertex(sums, v, &by_color[pelt_painted_color(mesh->colors + 3 * (size_t)v)]);
    }
    for (int i = 0; i < PELT_COLOR_COUNT; i++) colors += by_color[i].vertices > 0;
    add_regions(by_joint, joints, joint_name, bundle, 0, exact, m);
    if (colors > 1) add_regions(by_color, PELT_COLOR_COUNT, color_name, bundle, 1, exact, m);
}
