/* near.c: which candidates a point may follow, and whose sums it needs. Points that the file binds to the same joint
   share their candidates and are processed together. */

#include "fit/blend/joints.h"
#include <string.h>

enum { REACH = 3 };

/* The joint that a matrix belongs to. */
static uint32_t owner_of(const pelt_model *model, uint32_t matrix) {
    uint32_t joints = model->skeleton->joint_count;
    return matrix < joints ? matrix : model->driven[matrix - joints].driver;
}

/* Steps between two joints along the skeleton, via a common ancestor. */
static uint32_t steps_between(const pelt_skeleton *skeleton, uint32_t a, uint32_t b) {
    uint32_t steps = 0;
    while (a != b) { /* parents come first, so the later one is not an ancestor of the other */
        uint32_t *later = a > b ? &a : &b;
        if (skeleton->parents[*later] < 0) return UINT32_MAX;
        *later = (uint32_t)skeleton->parents[*later], steps++;
    }
    return steps;
}

/* A candidate is as near as its nearest twin. With rigidity, everything is near. */
static bool is_near(const pelt_joining *w, uint32_t joint, uint32_t candidate) {
    const pelt_model *model = &w->f->model;
    for (uint32_t m = w->candidates.first[candidate]; m < w->candidates.first[candidate + 1]; m++)
        if (w->rigid || steps_between(model->skeleton, joint, owner_of(model, w->candidates.members[m])) <= REACH)
            return true;
    return false;
}

static void know(pelt_homes *homes, uint32_t home, uint32_t candidate) {
    if (homes->place[home][candidate] != UINT32_MAX) return;
    homes->place[home][candidate] = homes->known_count[home];
    homes->known[home][homes->known_count[home]++] = candidate;
}

static void list_near(pelt_joining *w, uint32_t home) {
    pelt_homes *homes = &w->homes;
    uint32_t n = w->candidates.count;
    homes->known[home] = PELT_NEW(w->f->arena, n, uint32_t);
    homes->place[home] = PELT_NEW(w->f->arena, n, uint32_t);
    memset(homes->place[home], 0xff, n * sizeof(uint32_t));
    for (uint32_t c = 0; c < n; c++)
        if (is_near(w, home, c)) know(homes, home, c);
    for (uint32_t c = 0; c < n && !homes->known_count[home]; c++)
        know(homes, home, c); /* if nothing is near, use
                                                                                           all */
    homes->near_count[home] = homes->known_count[home];
}

static uint32_t home_of(const pelt_joining *w, uint32_t point) {
    const pelt_influences *in = &w->f->bundle->mesh.influences;
    uint32_t vertex = w->f->points.vertex[point], home = 0;
    float most = 0;
    for (uint32_t i = in->first[vertex]; i < in->first[vertex + 1]; i++)
        if (in->weights[i] > most) most = in->weights[i], home = in->joints[i];
    return home;
}

void pelt_find_homes(pelt_joining *w) {
    pelt_arena *arena = w->f->arena;
    uint32_t joints = w->f->model.skeleton->joint_count, n = w->f->points.count;
    pelt_homes *homes = &w->homes;
    *homes = (pelt_homes){.count = joints,
                          .home = PELT_NEW(arena, n, uint32_t),
                          .known = PELT_NEW(arena, joints, uint32_t *),
                          .known_count = PELT_NEW(arena, joints, uint32_t),
                          .near_count = PELT_NEW(arena, joints, uint32_t),
                          .place = PELT_NEW(arena, joints, uint32_t *),
                          .order = PELT_NEW(arena, n, uint32_t),
                          .first = PELT_NEW(arena, (size_t)joints + 2, uint32_t)};
    for (uint32_t p = 0; p < n; p++) {
        homes->home[p] = home_of(w, p);
        homes->first[homes->home[p] + 2]++;
    }
    for (uint32_t j = 0; j < joints; j++) {
        if (homes->first[j + 2]) list_near(w, j);
        homes->first[j + 2] += homes->first[j + 1];
    }
    for (uint32_t p = 0; p < n; p++) homes->order[homes->first[homes->home[p] + 1]++] = p;
    pelt_cut_homes(arena, homes);
}

void pelt_know_neighbours(pelt_homes *homes, const pelt_neighbours *neighbours, uint32_t point_count) {
    for (uint32_t p = 0; p < point_count; p++)
        for (uint32_t i = neighbours->first[p]; i < neighbours->first[p + 1]; i++) {
            uint32_t home = homes->home[p], other = homes->home[neighbours->list[i]];
            for (uint32_t k = 0; k < homes->near_count[other] && home != other; k++)
                know(homes, home, homes->known[other][k]);
        }
}
