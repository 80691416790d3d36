/* advice.c: what the poses of the examples leave open, and which poses would help. */

#include "fit/corrective/kernel.h"
#include "fit/examples/movers.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_NAMES = 10, NEAR = 4 };     /* steps along the skeleton */
static const double MUCH = 0.3;         /* of the displacements */
static const double HARDLY = 10 / 57.3; /* radians */

static double largest_turn(const pelt_poses *p, uint32_t mover) {
    static const float rest[4] = {0, 0, 0, 1};
    double most = 0;
    for (uint32_t k = 0; k < p->movers[mover].count; k++)
        for (size_t e = 0; e < p->count; e++) {
            size_t joint = p->members[p->movers[mover].first + k];
            most = fmax(most, pelt_rotation_angle(p->rotations + 4 * (e * p->joint_count + joint), rest));
        }
    return most;
}

/* The movers that no example moves alone, or that hardly move, ranked by the squared displacements where they act. */
static uint32_t list_wishes(const pelt_poses *p, const pelt_kernel_inputs *in, const pelt_example_displacements *u,
                            bool hardly, pelt_ranked *list) {
    uint32_t count = 0;
    for (uint32_t g = 0; g < p->mover_count; g++) {
        double energy = 0;
        bool small = !pelt_is_control(&p->movers[g]) && largest_turn(p, g) < HARDLY;
        if (hardly ? !small : p->movers[g].swept || small) continue;
        for (uint32_t k = 0; k < in->count; k++) {
            bool own = pelt_kernel_control(in, k) ? p->mover_count - p->control_count + in->joints[k] == g
                                                  : p->mover_of[in->joints[k]] == g;
            for (size_t i = 0; i < 3 * (size_t)u->example_count * u->point_count && own; i++)
                if (in->supports[i / 3 % u->point_count * in->count + k])
                    energy += (double)u->positions[i] * u->positions[i];
        }
        if (energy > 0) list[count++] = (pelt_ranked){energy, g};
    }
    qsort(list, count, sizeof *list, pelt_falling_ranks);
    return count;
}

static const char *names_of(pelt_fitting *f, const pelt_poses *p, uint32_t count, const pelt_ranked *list) {
    const char *out = "";
    for (uint32_t i = 0; i < count && i < MOST_NAMES; i++) {
        const pelt_mover *mover = &p->movers[list[i].index];
        const char *name = pelt_is_control(mover) ? p->control_list[mover->first].name
                                                  : f->bundle->skeleton.names[p->members[mover->first]];
        out = pelt_arena_format(f->arena, "%s%s%s", out, i ? ", " : "", name);
    }
    if (count > MOST_NAMES) out = pelt_arena_format(f->arena, "%s and %u more", out, count - MOST_NAMES);
    return out;
}

/* Joints far apart that are one mover: nothing in the examples tells them apart. */
static void note_inseparable(pelt_fitting *f, const pelt_poses *p) {
    const pelt_skeleton *skeleton = &f->bundle->skeleton;
    for (uint32_t g = 0; g < p->mover_count; g++)
        for (uint32_t k = 1; k < p->movers[g].count; k++) {
            uint32_t first = p->members[p->movers[g].first], other = p->members[p->movers[g].first + k];
            if (pelt_joint_hops(skeleton, first, other) <= NEAR) continue;
            pelt_find(&f->report.findings, f->arena, PELT_WARNING, "not-told-apart",
                      "%s and %s move together in every example, so their effects cannot be told apart; add examples "
                      "that move only one of them",
                      skeleton->names[first], skeleton->names[other]);
            break;
        }
}

void pelt_note_poses(pelt_fitting *f, const pelt_poses *p, const pelt_kernel_inputs *inputs,
                     const pelt_example_displacements *u, double missed, double left) {
    note_inseparable(f, p);
    if (!(missed > MUCH) && !(left > MUCH)) return;
    pelt_ranked *list = PELT_NEW(f->arena, p->mover_count, pelt_ranked);
    uint32_t few = list_wishes(p, inputs, u, true, list);
    const char *hardly =
        few ? pelt_arena_format(f->arena, "%s turn by less than 10 degrees; ", names_of(f, p, few, list)) : "";
    uint32_t count = list_wishes(p, inputs, u, false, list);
    if (count)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "poses",
                  "the examples show too little of what drives the skin: %.0f%% of the displacements in held-out "
                  "examples are not predicted; %sno example moves any of these alone, and poses that do, over their "
                  "full range, would help most: %s",
                  100 * fmin(left, 1), hardly, names_of(f, p, count, list));
    else if (missed > MUCH)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "not-driven",
                  "the poses explain the examples poorly: %.0f%% of the training displacements remain; %seither the "
                  "examples are noisy, or the skin depends on something that is not a joint of the file: add it as a "
                  "named control, or leave out the examples that it affects",
                  100 * missed, hardly);
}
