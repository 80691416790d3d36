/* lone.c: see lone.h. */

#include "fit/examples/lone.h"
#include <math.h>
#include <string.h>

enum { MOST_POSES = 12 };         /* per mover */
static const double CLOSE = 0.01; /* radians, or of a control's range: such poses add nothing */
static const uint32_t NONE = UINT32_MAX;

/* -- The choice ---------------------------------------------------------------------------------------------------- */

/* Between the poses of a mover in two examples; PELT_REST_EXAMPLE: rest. */
static double gap_of(const pelt_poses *p, const pelt_mover *mover, uint32_t a, uint32_t b) {
    static const float identity[4] = {0, 0, 0, 1};
    if (pelt_is_control(mover)) {
        double x = p->controls[(size_t)a * p->control_count + mover->first];
        double y = b == PELT_REST_EXAMPLE ? 0 : p->controls[(size_t)b * p->control_count + mover->first];
        return fabs(x - y) * p->control_list[mover->first].scale;
    }
    double most = 0;
    for (uint32_t k = 0; k < mover->count; k++) {
        size_t joint = p->members[mover->first + k];
        const float *x = p->rotations + 4 * ((size_t)a * p->joint_count + joint);
        const float *y = b == PELT_REST_EXAMPLE ? identity : p->rotations + 4 * ((size_t)b * p->joint_count + joint);
        most = fmax(most, pelt_rotation_angle(x, y));
    }
    return most;
}

pelt_lone_poses pelt_choose_lone_poses(pelt_arena *arena, const pelt_poses *p) {
    size_t most = (size_t)MOST_POSES * p->mover_count;
    pelt_lone_poses out = {.movers = PELT_NEW(arena, most, uint32_t), .examples = PELT_NEW(arena, most, uint32_t)};
    double *nearest = PELT_NEW(arena, p->count, double);
    for (uint32_t g = 0; g < p->mover_count; g++) {
        if (p->movers[g].swept) continue;
        uint32_t last = PELT_REST_EXAMPLE;
        for (uint32_t e = 0; e < p->count; e++) nearest[e] = INFINITY;
        for (int k = 0; k < MOST_POSES; k++) {
            uint32_t far = NONE;
            for (uint32_t e = 0; e < p->count; e++) {
                nearest[e] = fmin(nearest[e], gap_of(p, &p->movers[g], e, last));
                if (far == NONE || nearest[e] > nearest[far]) far = e;
            }
            if (far == NONE || !(nearest[far] > CLOSE)) break;
            out.movers[out.count] = g, out.examples[out.count++] = last = far;
        }
    }
    return out;
}

void pelt_drop_still_movers(pelt_lone_poses *lone, const float *peaks, float least, uint32_t point_count,
                            float *displacements) {
    size_t size = 3 * (size_t)point_count;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < lone->count; k++) {
        if (!(peaks[lone->movers[k]] > least)) continue;
        lone->movers[kept] = lone->movers[k], lone->examples[kept] = lone->examples[k];
        memmove(displacements + size * kept++, displacements + size * k, size * sizeof *displacements);
    }
    lone->count = kept;
}

/* -- As examples --------------------------------------------------------------------------------------------------- */

/* A copy of `count` rows with room for `more`, which are 0. */
static void *with_room(pelt_arena *arena, const void *rows, size_t size, uint32_t count, uint32_t more) {
    char *out = pelt_alloc(arena, (size_t)count + more, size ? size : 1);
    if (size) memcpy(out, rows, count * size);
    return out;
}

void pelt_add_lone_poses(pelt_arena *arena, const pelt_lone_poses *lone, pelt_poses *p) {
    uint32_t n = p->count, more = lone->count;
    size_t joints = p->joint_count;
    p->rotations = with_room(arena, p->rotations, 4 * joints * sizeof(float), n, more);
    p->translations = with_room(arena, p->translations, 3 * joints * sizeof(float), n, more);
    p->controls = with_room(arena, p->controls, p->control_count * sizeof(float), n, more);
    p->rest = with_room(arena, p->rest, sizeof *p->rest, n, more);
    p->sweep_of = with_room(arena, p->sweep_of, sizeof *p->sweep_of, n, more);
    p->motion = with_room(arena, p->motion, sizeof *p->motion, n, more);
    p->movers = with_room(arena, p->movers, sizeof *p->movers, p->mover_count, 0);
    p->count += more;
    for (uint32_t k = 0; k < more; k++) {
        size_t from = lone->examples[k], to = n + k;
        pelt_mover *mover = &p->movers[lone->movers[k]];
        for (size_t j = 0; j < joints; j++) {
            float *q = p->rotations + 4 * (to * joints + j);
            q[3] = 1;
            if (p->mover_of[j] == lone->movers[k]) memcpy(q, p->rotations + 4 * (from * joints + j), 4 * sizeof *q);
        }
        if (pelt_is_control(mover))
            p->controls[to * p->control_count + mover->first] = p->controls[from * p->control_count + mover->first];
        p->sweep_of[to] = lone->movers[k], mover->swept = true;
    }
}

void pelt_add_lone_displacements(pelt_arena *arena, const pelt_lone_poses *lone, const float *displacements,
                                 pelt_example_displacements *u) {
    size_t size = 3 * (size_t)u->point_count;
    if (!lone->count) return;
    u->positions = with_room(arena, u->positions, size * sizeof(float), u->example_count, lone->count);
    memcpy(u->positions + size * u->example_count, displacements, size * lone->count * sizeof(float));
    u->example_count += lone->count;
}
