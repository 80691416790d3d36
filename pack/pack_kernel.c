/* pack_kernel.c: packs the kernels of a corrective: joints, centres, units and groups. */

#include "pack/builder.h"
#include <math.h>

static const float turned = 1e-6f;        /* of a quaternion: less is rounding */
static const double least_kernel = 1e-12; /* below, 1 - E is 0 */

/* The order of a kernel's centres and units in the file. */
typedef struct kernel_order {
    uint32_t *centers;     /* [new] the old index */
    uint32_t *new_centers; /* [old] */
    uint32_t *lone_joints; /* [old] the only kernel joint it moves, or UINT32_MAX */
    uint32_t shared_count; /* centres that may move several; lone ones follow */
    pelt_kernel_unit *units;
    uint32_t unit_count;
    uint32_t *new_units; /* [old] */
} kernel_order;

/* Whether a centre moves a kernel joint, beyond float rounding. */
static bool moves(const pelt_kernel *kernel, uint32_t center, uint32_t joint) {
    const float *q = kernel->centers + 4 * ((size_t)center * kernel->joint_count + joint);
    return fabsf(q[0]) + fabsf(q[1]) + fabsf(q[2]) > (joint < kernel->joint_count - kernel->control_count ? turned : 0);
}

/* Most examples move one joint alone: their kernels involve only that joint, in all groups, so no sum over units is
   needed. They come last; the first of them pad the others to a multiple of sixteen. */
static void order_centers(pelt_arena *arena, const pelt_kernel *kernel, kernel_order *order) {
    uint32_t n = kernel->center_count, placed = 0;
    order->centers = PELT_NEW(arena, n, uint32_t), order->new_centers = PELT_NEW(arena, n, uint32_t);
    order->lone_joints = PELT_NEW(arena, n, uint32_t);
    for (uint32_t c = 0; c < n; c++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < kernel->joint_count; j++)
            if (moves(kernel, c, j)) count++, order->lone_joints[c] = j;
        if (count == 1) continue;
        order->lone_joints[c] = UINT32_MAX;
        order->centers[placed++] = c;
    }
    order->shared_count = (uint32_t)pelt_padded(placed) < n ? (uint32_t)pelt_padded(placed) : n;
    for (uint32_t c = 0; c < n; c++)
        if (order->lone_joints[c] != UINT32_MAX) order->centers[placed++] = c;
    for (uint32_t c = 0; c < n; c++) order->new_centers[order->centers[c]] = c;
}

/* Groups share units: each is stored once. */
static void share_units(pelt_arena *arena, const pelt_kernel *kernel, kernel_order *order) {
    order->units = PELT_NEW(arena, kernel->unit_count, pelt_kernel_unit);
    order->new_units = PELT_NEW(arena, kernel->unit_count, uint32_t);
    for (uint32_t u = 0; u < kernel->unit_count; u++) {
        const pelt_kernel_unit *unit = &kernel->units[u];
        uint32_t same = 0;
        while (same < order->unit_count &&
               (order->units[same].first != unit->first || order->units[same].second != unit->second ||
                order->units[same].gain != unit->gain))
            same++;
        if (same == order->unit_count) order->units[order->unit_count++] = *unit;
        order->new_units[u] = same;
    }
}

static uint64_t append_indices(builder *b, const uint32_t *list, uint32_t count, const uint32_t *new_index) {
    uint64_t at = append(b, count, sizeof *list);
    for (uint32_t i = 0; i < count; i++) ((uint32_t *)(b->bytes + at))[i] = new_index[list[i]];
    return at;
}

/* A group as stored in the file. Unchanged with neighbours; without them, lone centres absorb their unit's gain, and
   those of joints the group does not use, where its kernel is 0, are dropped. */
static pelt_kernel_group own_group(pelt_arena *arena, const pelt_kernel *kernel, const pelt_kernel_group *group,
                                   const kernel_order *order) {
    uint32_t *centers = PELT_NEW(arena, (size_t)group->center_count + 1, uint32_t), columns = group->coefficient_count;
    float *matrix = PELT_NEW(arena, ((size_t)group->center_count + 1) * columns, float);
    pelt_kernel_group own = *group;
    own.center_count = 0, own.centers = centers, own.matrix = matrix;
    for (uint32_t i = 0; i < group->center_count; i++) {
        uint32_t center = group->centers[i];
        bool lone = !kernel->near && order->new_centers[center] >= order->shared_count;
        float gain = lone ? 0 : 1;
        for (uint32_t u = 0; u < group->unit_count && lone; u++) {
            const pelt_kernel_unit *unit = &kernel->units[group->units[u]];
            if (unit->first == unit->second && unit->first == order->lone_joints[center]) gain += unit->gain;
        }
        if (gain == 0) continue;
        for (uint32_t k = 0; k < columns; k++)
            matrix[(size_t)own.center_count * columns + k] = gain * group->matrix[(size_t)i * columns + k];
        centers[own.center_count++] = center;
    }
    if (!own.center_count) centers[own.center_count++] = group->centers[0]; /* without weight: a group needs one */
    return own;
}

static void append_groups(builder *b, const pelt_kernel *kernel, const kernel_order *order, uint64_t at,
                          uint32_t *coefficient) {
    for (uint32_t g = 0; g < kernel->group_count; g++) {
        pelt_kernel_group group = own_group(b->arena, kernel, &kernel->groups[g], order);
        pelt_file_kernel_group out = {.unit_count = group.unit_count,
                                      .center_count = group.center_count,
                                      .coefficient_count = group.coefficient_count,
                                      .first_coefficient = *coefficient};
        out.units = append_indices(b, group.units, group.unit_count, order->new_units);
        out.centers = append_indices(b, group.centers, group.center_count, order->new_centers);
        out.matrix = append_matrix(b, group.matrix, group.center_count, group.coefficient_count, NULL);
        memcpy(b->bytes + at + g * sizeof out, &out, sizeof out);
        *coefficient += group.coefficient_count;
    }
}

/* 1 - E(rest, center) of a kernel joint; tiny values become 0, because denormals are slow. */
static float rest_kernel(const pelt_kernel *kernel, uint32_t joint, const float *pose) {
    bool control = joint >= kernel->joint_count - kernel->control_count;
    double gap = 0;
    for (int i = 0; i < (control ? 1 : 3); i++) gap += (control ? 1.0 : 4.0) * pose[i] * pose[i];
    double rest = -expm1(-kernel->scales[joint] * gap);
    return rest > least_kernel ? (float)rest : 0;
}

static uint64_t append_shared(builder *b, const pelt_kernel *kernel, const kernel_order *order) {
    size_t stride = (size_t)pelt_padded(order->shared_count);
    uint64_t at = append(b, 5 * kernel->joint_count * stride, sizeof(float));
    for (uint32_t j = 0; j < kernel->joint_count; j++)
        for (size_t c = 0; c < order->shared_count; c++) {
            const float *pose = kernel->centers + 4 * ((size_t)order->centers[c] * kernel->joint_count + j);
            float *out = (float *)(b->bytes + at) + 5 * j * stride + c;
            for (size_t i = 0; i < 4; i++) out[i * stride] = pose[i];
            out[4 * stride] = rest_kernel(kernel, j, pose);
        }
    return at;
}

static uint64_t append_lone(builder *b, const pelt_kernel *kernel, const kernel_order *order) {
    uint32_t count = kernel->center_count - order->shared_count;
    if (!count) return 0;
    uint64_t at = append(b, count, sizeof(pelt_file_lone_center));
    pelt_file_lone_center *out = (pelt_file_lone_center *)(b->bytes + at);
    for (uint32_t i = 0; i < count; i++) {
        size_t center = order->centers[order->shared_count + i];
        out[i].joint = order->lone_joints[center];
        memcpy(out[i].pose, kernel->centers + 4 * (center * kernel->joint_count + out[i].joint), sizeof out[i].pose);
        out[i].rest = rest_kernel(kernel, out[i].joint, out[i].pose);
    }
    return at;
}

/* Controls are numbered after the joints of the skeleton. */
uint64_t pelt_append_kernel(builder *b, const pelt_kernel *kernel, uint32_t joint_count, uint32_t *coefficient) {
    kernel_order order = {0};
    order_centers(b->arena, kernel, &order);
    share_units(b->arena, kernel, &order);
    pelt_file_kernel out = {.joint_count = kernel->joint_count,
                            .center_count = kernel->center_count,
                            .unit_count = order.unit_count,
                            .group_count = kernel->group_count};
    uint64_t at = append(b, 1, sizeof out);
    out.joints = append(b, kernel->joint_count, sizeof(pelt_file_kernel_joint));
    out.units = append(b, order.unit_count, sizeof(pelt_file_kernel_unit));
    out.groups = append(b, kernel->group_count, sizeof(pelt_file_kernel_group));
    out.centers = append_shared(b, kernel, &order);
    out.lone = append_lone(b, kernel, &order);
    if (out.lone) out.shared_count = order.shared_count;
    for (uint32_t j = 0; j < kernel->joint_count; j++)
        ((pelt_file_kernel_joint *)(b->bytes + out.joints))[j] = (pelt_file_kernel_joint){
            kernel->joints[j] + (j < kernel->joint_count - kernel->control_count ? 0 : joint_count), kernel->scales[j]};
    for (uint32_t u = 0; u < order.unit_count; u++)
        ((pelt_file_kernel_unit *)(b->bytes + out.units))[u] =
            (pelt_file_kernel_unit){order.units[u].first, order.units[u].second, order.units[u].gain, 0};
    append_groups(b, kernel, &order, out.groups, coefficient);
    memcpy(b->bytes + at, &out, sizeof out);
    return at;
}

void pelt_pack_neighbors(pelt_arena *arena, const pelt_kernel *kernel, pelt_skin *skin, uint64_t *sizes) {
    builder b = {.arena = arena};
    const pelt_neighbors *near = kernel->near;
    uint32_t joints = kernel->joint_count;
    pelt_file_neighbors head = {.form = (uint32_t)near->form, .joint_count = joints, .single = near->single};
    append(&b, 1, sizeof head);
    head.first = append_copy(&b, near->first, (size_t)joints + 1, sizeof *near->first);
    head.list = append_copy(&b, near->list, near->first[joints], sizeof *near->list);
    memcpy(b.bytes, &head, sizeof head);
    skin->PELT_PRIVATE(NEAR) = b.bytes;
    sizes[PELT_SECTION_NEAR] = b.size;
}
