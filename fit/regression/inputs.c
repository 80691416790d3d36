/* inputs.c: which joints drive a point of the kernel corrective, and the kernels of single joints between
   examples.

       E_g(a, b) = exp(-(3 - tr R_a^T R_b) / 2 s_g^2),    3 - tr R_a^T R_b = 4 (1 - (q_a . q_b)^2)
       k_g(a, b) = E_g(a, b) - E_g(a, rest) - E_g(rest, b) + 1:    0 whenever a or b is the rest pose of the joint

   A control is one more joint, with E_g(a, b) = exp(-(a - b)^2 / 2 s_g^2) of values in units of its range. */

#include "fit/regression/regression.h"
#include "rig/ranks.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DRIVES = 0.01; /* of the largest displacement by a joint at any point; likewise for blend weights */
static const double REPEATS = 1e-4; /* one minus the squared cosine between the angles of two joints that move as one */
static const double MOVED = 1e-4;   /* radians, or of a control's range */
static const double LEAST_RANGE = 1e-3; /* of the median one, for widths in proportion to ranges */

static const uint32_t NONE = UINT32_MAX;

static double dot4(const float *a, const float *b) {
    return (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2] + (double)a[3] * b[3];
}

static double angle_from_rest(const pelt_poses *poses, uint32_t example, uint32_t joint) {
    static const float rest[4] = {0, 0, 0, 1};
    return pelt_rotation_angle(poses->rotations + 4 * ((size_t)example * poses->joint_count + joint), rest);
}

/* Relative to its largest deviation from rest. */
static double scaled_control(const pelt_poses *poses, uint32_t example, uint32_t control) {
    return poses->controls[(size_t)example * poses->control_count + control] *
           (double)poses->control_list[control].scale;
}

/* -- Repetitions --------------------------------------------------------------------------------------------------- */

/* True when joint b rotates by a fixed multiple of joint a in all examples, so that it adds nothing as a mover. */
static bool repeats(const pelt_poses *poses, uint32_t a, uint32_t b) {
    double aa = 0, ab = 0, bb = 0;
    for (uint32_t e = 0; e < poses->count; e++) {
        double x = angle_from_rest(poses, e, a), y = angle_from_rest(poses, e, b);
        aa += x * x, ab += x * y, bb += y * y;
    }
    return aa > 0 && bb > 0 && aa * bb - ab * ab < REPEATS * aa * bb;
}

/* stands_for[joint] becomes the joint it repeats (the one that rotates most), or the joint itself. */
static void find_repetitions(const pelt_poses *poses, uint32_t *stands_for) {
    for (uint32_t d = 0; d < poses->mover_count; d++)
        for (uint32_t k = 0; k < poses->movers[d].count; k++) {
            uint32_t joint = poses->members[poses->movers[d].first + k];
            stands_for[joint] = joint;
        }
    for (uint32_t j = 0; j < poses->joint_count; j++)
        if (poses->bent[j]) stands_for[j] = j;
    for (uint32_t a = 0; a < poses->joint_count; a++)
        for (uint32_t b = 0; b < poses->joint_count; b++) {
            if (a == b || stands_for[a] != a || stands_for[b] != b || !repeats(poses, a, b)) continue;
            double turn_a = 0, turn_b = 0;
            for (uint32_t e = 0; e < poses->count; e++)
                turn_a += angle_from_rest(poses, e, a), turn_b += angle_from_rest(poses, e, b);
            if (turn_b > turn_a) continue;
            for (uint32_t j = 0; j < poses->joint_count; j++)
                if (stands_for[j] == b) stands_for[j] = a;
        }
}

/* -- Supports ------------------------------------------------------------------------------------------------------ */

/* Decided by displacement; for a mover that no example moves alone, also by the weight of its joints and those of the
   mover above. */
static bool drives(const pelt_poses *poses, const pelt_supports *s, uint32_t mover, uint32_t point) {
    float amplitude = s->amplitudes[(size_t)mover * s->point_count + point];
    if (amplitude > s->noise && amplitude > (float)DRIVES * s->peaks[mover]) return true;
    if (poses->movers[mover].swept || pelt_is_control(&poses->movers[mover])) return false;
    return pelt_carried_around(s, poses, mover, point) > (float)DRIVES;
}

static void fill_supports(const pelt_poses *poses, const pelt_supports *s, const uint32_t *stands_for,
                          const int32_t *index_of, pelt_kernel_inputs *out) {
    for (uint32_t joint = 0; joint < poses->joint_count; joint++) {
        if (stands_for[joint] == NONE) continue;
        size_t g = (size_t)index_of[stands_for[joint]];
        for (uint32_t i = 0; i < s->point_count; i++)
            if (drives(poses, s, poses->mover_of[joint], i)) out->supports[(size_t)i * out->count + g] = 1;
    }
    for (uint32_t c = 0; c < poses->control_count; c++) {
        uint32_t d = poses->mover_count - poses->control_count + c;
        size_t g = out->count - poses->control_count + c;
        for (uint32_t i = 0; i < s->point_count; i++)
            if (drives(poses, s, d, i)) out->supports[(size_t)i * out->count + g] = 1;
    }
}

/* Controls follow the joints. The first joint of its partner serves as the parent of a control. */
static void add_controls(const pelt_poses *poses, const pelt_supports *s, const uint32_t *stands_for,
                         const int32_t *index_of, pelt_kernel_inputs *out) {
    for (uint32_t c = 0; c < poses->control_count; c++) {
        uint32_t g = out->count++,
                 partner = pelt_control_partner(s, poses, poses->mover_count - poses->control_count + c);
        const pelt_mover *d = partner == PELT_NO_MOVER ? NULL : &poses->movers[partner];
        out->joints[g] = c;
        out->parents[g] = d ? index_of[stands_for[poses->members[d->first]]] : -1;
        for (uint32_t e = 0; e < poses->count; e++)
            out->ranges[g] = fmax(out->ranges[g], pow(scaled_control(poses, e, c), 2));
    }
    out->control_count = poses->control_count;
}

static double median(pelt_arena *arena, uint32_t count, const double *values) {
    double *sorted = PELT_NEW(arena, count, double);
    memcpy(sorted, values, count * sizeof *sorted);
    return pelt_quantile(sorted, count, 0.5);
}

pelt_kernel_inputs pelt_kernel_inputs_of(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_poses *poses,
                                         const pelt_supports *supports) {
    uint32_t n = poses->joint_count, *stands_for = PELT_NEW(arena, n, uint32_t);
    int32_t *index_of = PELT_NEW(arena, n, int32_t);
    size_t most = (size_t)n + poses->control_count;
    pelt_kernel_inputs out = {.joints = PELT_NEW(arena, most, uint32_t),
                              .parents = PELT_NEW(arena, most, int32_t),
                              .ranges = PELT_NEW(arena, most, double)};
    for (uint32_t j = 0; j < n; j++) stands_for[j] = NONE;
    find_repetitions(poses, stands_for);
    for (uint32_t j = 0; j < n; j++) {
        index_of[j] = -1;
        if (stands_for[j] != j) continue;
        uint32_t g = out.count++;
        index_of[j] = (int32_t)g, out.joints[g] = j, out.parents[g] = -1;
        for (int32_t above = skeleton->parents[j]; above >= 0 && out.parents[g] < 0; above = skeleton->parents[above])
            out.parents[g] = index_of[above];
        for (uint32_t e = 0; e < poses->count; e++) {
            double w = poses->rotations[4 * ((size_t)e * n + j) + 3];
            out.ranges[g] = fmax(out.ranges[g], 4 * (1 - w * w));
        }
    }
    add_controls(poses, supports, stands_for, index_of, &out);
    out.median_range = median(arena, out.count, out.ranges);
    out.supports = PELT_NEW(arena, (size_t)supports->point_count * out.count, uint8_t);
    fill_supports(poses, supports, stands_for, index_of, &out);
    out.moved = PELT_NEW(arena, (size_t)poses->count * out.count, uint8_t);
    for (uint32_t e = 0; e < poses->count; e++)
        for (uint32_t g = 0; g < out.count; g++)
            out.moved[(size_t)e * out.count + g] =
                (pelt_kernel_control(&out, g) ? fabs(scaled_control(poses, e, out.joints[g]))
                                              : angle_from_rest(poses, e, out.joints[g])) > MOVED;
    return out;
}

/* -- Kernels ------------------------------------------------------------------------------------------------------- */

/* s_g^2 = s^2 (range_g / median range)^r. */
double pelt_kernel_scale(const pelt_kernel_inputs *inputs, const pelt_kernel_settings *settings, uint32_t joint) {
    double middle = inputs->median_range, relative = middle > 0 ? fmax(inputs->ranges[joint] / middle, LEAST_RANGE) : 1;
    return 1 / (2 * settings->width * settings->width * pow(relative, settings->range));
}

static void control_table(const pelt_poses *poses, uint32_t control, double scale, float *table) {
    size_t n = poses->count;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            double x = scaled_control(poses, a, control), y = scaled_control(poses, b, control);
            table[a * n + b] = (float)(exp(-(x - y) * (x - y) * scale) - exp(-x * x * scale) - exp(-y * y * scale) + 1);
        }
}

static void joint_table(const pelt_poses *poses, const pelt_kernel_inputs *inputs, double scale, size_t g,
                        pelt_arena *scratch, float *table) {
    size_t n = poses->count, stride = 4 * (size_t)poses->joint_count;
    const float *q = poses->rotations + 4 * (size_t)inputs->joints[g];
    double *to_rest = PELT_NEW(scratch, n, double);
    for (size_t a = 0; a < n; a++) to_rest[a] = exp(-4 * (1 - (double)q[a * stride + 3] * q[a * stride + 3]) * scale);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b <= a; b++) {
            if (!inputs->moved[a * inputs->count + g] || !inputs->moved[b * inputs->count + g]) {
                table[a * n + b] = table[b * n + a] = 0;
                continue;
            }
            double ab = dot4(q + a * stride, q + b * stride);
            table[a * n + b] = table[b * n + a] =
                (float)(exp(-4 * (1 - ab * ab) * scale) - to_rest[a] - to_rest[b] + 1);
        }
    }
}

typedef struct table_work {
    const pelt_poses *poses;
    const pelt_kernel_inputs *inputs;
    const pelt_kernel_settings *settings;
    float *tables;
} table_work;

static void fill_table(void *user, size_t i, pelt_arena *scratch) {
    const table_work *w = user;
    uint32_t g = (uint32_t)i;
    double scale = pelt_kernel_scale(w->inputs, w->settings, g);
    float *table = w->tables + i * w->poses->count * w->poses->count;
    if (w->inputs->near_first)
        pelt_neighbor_table(scratch, w->poses, w->inputs, w->settings, g, table);
    else if (pelt_kernel_control(w->inputs, g))
        control_table(w->poses, w->inputs->joints[g], scale, table);
    else
        joint_table(w->poses, w->inputs, scale, g, scratch, table);
}

void pelt_kernel_tables(pelt_arena *arena, const pelt_poses *poses, const pelt_kernel_inputs *inputs,
                        const pelt_kernel_settings *settings, uint32_t threads, float *tables) {
    PELT_SPREAD(arena, threads, inputs->count, fill_table, (&(table_work){poses, inputs, settings, tables}),
                {tables, poses->count * (size_t)poses->count * sizeof *tables});
}

uint32_t pelt_group_points(pelt_arena *arena, const pelt_kernel_inputs *inputs, uint32_t count, const uint32_t *points,
                           uint32_t *group_of) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    const uint8_t **groups = PELT_NEW(work, count, const uint8_t *);
    uint32_t group_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *support = inputs->supports + (size_t)(points ? points[i] : i) * inputs->count;
        uint32_t g = 0;
        while (g < group_count && memcmp(support, groups[g], inputs->count)) g++;
        if (g == group_count) groups[group_count++] = support;
        group_of[i] = g;
    }
    return group_count;
}
