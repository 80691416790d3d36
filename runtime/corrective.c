/* corrective.c: the corrective of a skin: checks its sections once, then turns poses into coefficients or pose
   distances. The loops are in corrective.inc, rbf.inc and kernels.inc, the displacements
   themselves in displace.inc.

   A pose is, for every joint, its local rotation relative to rest, R = rest^-1 local, and its local translation; and
   for every control, its value relative to rest. */

#include "runtime/container.h"
#include "runtime/loops.h"
#include "runtime/rotation.h"
#include <string.h>

/* -- Checks -------------------------------------------------------------------------------------------------------- */

static pelt_result check_phi(uint32_t phi, float width) {
    if (phi >= PELT_PHI_COUNT) return PELT_ERROR_UNSUPPORTED;
    return pelt_all_finite(&width, 1) && width >= 1e-6f && width <= 1e9f ? PELT_OK : PELT_ERROR_NUMBER;
}

/* Shared by rbfs and the weighted form. A skin has at most 65536 centres: rows identify them by 16 bits. */
static pelt_result check_centers(const pelt_section *s, uint32_t first_axis, uint32_t axis_count, uint32_t center_count,
                                 uint64_t centers) {
    const pelt_file_corrective *head = (const void *)s->bytes;
    if (first_axis > head->axis_count || axis_count > head->axis_count - first_axis) return PELT_ERROR_INDEX;
    if (!center_count || center_count > 65536) return PELT_ERROR_FORMAT;
    return pelt_check_floats(s, centers, 4 * (uint64_t)axis_count, pelt_padded(center_count));
}

static int known_axis(uint32_t kind) {
    return kind == PELT_AXIS_ROTATION || kind == PELT_AXIS_TRANSLATION || kind == PELT_AXIS_CHORD ||
           kind == PELT_AXIS_CONTROL || kind == PELT_AXIS_VECTOR || kind == PELT_AXIS_EULER || kind == PELT_AXIS_HINGE;
}

static int good_hinge(const pelt_file_axis *axis) {
    float d = 0;
    if (!pelt_all_finite(axis->direction, 3) || !pelt_all_finite(&axis->middle, 2)) return 0;
    for (int i = 0; i < 3; i++) d += axis->direction[i] * axis->direction[i];
    return fabsf(d - 1) < 1e-3f && fabsf(axis->middle) < 7 && axis->reach > 0 && axis->reach < PELT_MOST_REACH;
}

static pelt_result check_axes(const pelt_section *s, const pelt_skin *skin) {
    const pelt_file_corrective *head = (const void *)s->bytes;
    const pelt_file_axis *axes = pelt_array_at(s, head->axes, head->axis_count, sizeof *axes, 1);
    if (!axes) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < head->axis_count; i++) {
        if (!known_axis(axes[i].kind)) return PELT_ERROR_UNSUPPORTED;
        uint32_t limit = axes[i].kind == PELT_AXIS_CONTROL ? skin->control_count : skin->joint_count;
        if (axes[i].joint >= limit) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&axes[i].weight, 1) || axes[i].weight < 0) return PELT_ERROR_NUMBER;
        if (axes[i].kind == PELT_AXIS_HINGE && !good_hinge(&axes[i])) return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

static pelt_result check_rbfs(const pelt_section *s, uint64_t *coefficients) {
    const pelt_file_corrective *head = (const void *)s->bytes;
    const pelt_file_rbf *rbfs = pelt_array_at(s, head->rbfs, head->rbf_count, sizeof *rbfs, 1);
    if (!rbfs) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < head->rbf_count; i++) {
        const pelt_file_rbf *rbf = &rbfs[i];
        if (rbf->first_coefficient != *coefficients || rbf->normalised > 1) return PELT_ERROR_FORMAT;
        *coefficients += rbf->coefficient_count;
        pelt_result result = check_phi(rbf->phi, rbf->width);
        if (!result) result = check_centers(s, rbf->first_axis, rbf->axis_count, rbf->center_count, rbf->centers);
        if (!result)
            result = pelt_check_floats(s, rbf->matrix, (uint64_t)rbf->coefficient_count + rbf->normalised,
                                       pelt_padded(rbf->center_count));
        if (!result) result = pelt_check_floats(s, rbf->bias, (uint64_t)rbf->coefficient_count + rbf->normalised, 1);
        if (result) return result;
    }
    return PELT_OK;
}

static pelt_result check_group(const pelt_section *s, const pelt_file_kernel *kernel,
                               const pelt_file_kernel_group *group) {
    const uint32_t *units = pelt_array_at(s, group->units, group->unit_count, sizeof *units, 1);
    const uint32_t *centers = pelt_array_at(s, group->centers, group->center_count, sizeof *centers, 1);
    if (!units || !centers || !group->center_count) return PELT_ERROR_FORMAT;
    if (!pelt_all_below_u32(units, group->unit_count, kernel->unit_count) ||
        !pelt_all_below_u32(centers, group->center_count, kernel->center_count))
        return PELT_ERROR_INDEX;
    return pelt_check_floats(s, group->matrix, group->coefficient_count, pelt_padded(group->center_count));
}

/* Centres that move one joint each. */
static pelt_result check_lone(const pelt_section *s, const pelt_file_kernel *kernel) {
    if (!kernel->lone) return PELT_OK;
    if (kernel->shared_count % PELT_BLOCK || kernel->shared_count >= kernel->center_count) return PELT_ERROR_FORMAT;
    uint32_t count = kernel->center_count - kernel->shared_count;
    const pelt_file_lone_center *lone = pelt_array_at(s, kernel->lone, count, sizeof *lone, 1);
    if (!lone) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < count; i++) {
        if (lone[i].joint >= kernel->joint_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(lone[i].pose, 4) || !pelt_all_finite(&lone[i].rest, 1)) return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

static pelt_result check_kernel(const pelt_section *s, const pelt_skin *skin, uint64_t *coefficients) {
    const pelt_file_corrective *head = (const void *)s->bytes;
    const pelt_file_kernel *kernel = pelt_array_at(s, head->kernel, 1, sizeof *kernel, 1);
    if (!kernel || !kernel->center_count || kernel->center_count > 65536) return PELT_ERROR_FORMAT;
    const pelt_file_kernel_joint *joints = pelt_array_at(s, kernel->joints, kernel->joint_count, sizeof *joints, 1);
    const pelt_file_kernel_unit *units = pelt_array_at(s, kernel->units, kernel->unit_count, sizeof *units, 1);
    const pelt_file_kernel_group *groups = pelt_array_at(s, kernel->groups, kernel->group_count, sizeof *groups, 1);
    if (!joints || !units || !groups) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < kernel->joint_count; i++) {
        if (joints[i].joint >= skin->joint_count + skin->control_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&joints[i].scale, 1) || joints[i].scale < 0) return PELT_ERROR_NUMBER;
    }
    for (uint32_t i = 0; i < kernel->unit_count; i++) {
        if (units[i].first >= kernel->joint_count || units[i].second >= kernel->joint_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&units[i].gain, 1)) return PELT_ERROR_NUMBER;
    }
    pelt_result result = check_lone(s, kernel);
    if (!result)
        result = pelt_check_floats(s, kernel->centers, 5 * (uint64_t)kernel->joint_count,
                                   pelt_padded(pelt_shared_count(kernel)));
    for (uint32_t i = 0; i < kernel->group_count && !result; i++) {
        if (groups[i].first_coefficient != *coefficients) return PELT_ERROR_FORMAT;
        *coefficients += groups[i].coefficient_count;
        result = check_group(s, kernel, &groups[i]);
    }
    return result;
}

/* Lists of neighbours, one for each kernel joint. */
static pelt_result check_near(const pelt_skin *skin, const pelt_file_kernel *kernel, uint64_t size) {
    const pelt_file_neighbors *near = pelt_skin_neighbors(skin);
    pelt_section s = {(const char *)near, size};
    if (size < sizeof *near || !kernel || near->joint_count != kernel->joint_count) return PELT_ERROR_FORMAT;
    if (near->form >= PELT_NEAR_FORM_COUNT) return PELT_ERROR_UNSUPPORTED;
    if (!pelt_all_finite(&near->single, 1) || near->single < 0) return PELT_ERROR_NUMBER;
    const uint32_t *first = pelt_array_at(&s, near->first, (uint64_t)near->joint_count + 1, sizeof *first, 1);
    if (!first || first[0]) return PELT_ERROR_FORMAT;
    for (uint32_t g = 0; g < near->joint_count; g++)
        if (first[g] > first[g + 1]) return PELT_ERROR_INDEX;
    const uint32_t *list = pelt_array_at(&s, near->list, first[near->joint_count], sizeof *list, 1);
    if (!list) return PELT_ERROR_FORMAT;
    return pelt_all_below_u32(list, first[near->joint_count], near->joint_count) ? PELT_OK : PELT_ERROR_INDEX;
}

/* Must start with 0 and never decrease; *count gets the last. */
static pelt_result check_firsts(const uint32_t *first, uint32_t block_count, uint64_t *count) {
    int ordered = first[0] == 0;
    for (uint32_t b = 0; b < block_count; b++) ordered &= first[b] <= first[b + 1];
    *count = first[block_count];
    return ordered ? PELT_OK : PELT_ERROR_INDEX;
}

static int no_rows(const pelt_rows *rows) {
    return !rows->first && !rows->sources && !rows->floats && !rows->shorts && !rows->factors;
}

/* Checks the numbers of `count` rows of `parts` x 16, as floats or in 16 bits. */
static pelt_result check_numbers(const pelt_rows *rows, const uint64_t *sizes, uint64_t count, uint32_t parts) {
    uint64_t numbers = count * PELT_BLOCK * parts;
    if (rows->shorts) return sizes[PELT_ROW_SHORTS] == numbers * sizeof *rows->shorts ? PELT_OK : PELT_ERROR_FORMAT;
    if (sizes[PELT_ROW_FLOATS] != numbers * sizeof *rows->floats) return PELT_ERROR_FORMAT;
    return pelt_all_finite(rows->floats, numbers) ? PELT_OK : PELT_ERROR_NUMBER;
}

/* Rows are floats, or in 16 bits with factors: `wanted` of them, or, if that is 0, any even number that sources can
   index. *factor_count follows from the size of their section. */
static pelt_result check_factors(const pelt_rows *rows, uint64_t size, uint32_t coefficient_count, uint64_t wanted,
                                 uint32_t *factor_count) {
    uint64_t count = size / sizeof *rows->factors;
    if (!rows->floats == !rows->shorts || !rows->shorts != !rows->factors) return PELT_ERROR_FORMAT;
    if (size % sizeof *rows->factors || (rows->shorts && wanted ? count != wanted : count % 2 || count > 65536))
        return PELT_ERROR_FORMAT;
    for (uint64_t i = 0; i < count; i++) {
        if (rows->factors[i].coefficient >= coefficient_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&rows->factors[i].step, 1)) return PELT_ERROR_NUMBER;
    }
    *factor_count = (uint32_t)count;
    return PELT_OK;
}

/* Rows of 16 bits come in pairs: every block has an even number of them. */
static int even_firsts(const uint32_t *first, uint32_t block_count) {
    uint32_t odd = 0;
    for (uint32_t b = 0; b <= block_count; b++) odd |= first[b];
    return !(odd & 1);
}

static pelt_result check_lists(const pelt_skin *skin, const pelt_rows *rows, const uint64_t *sizes, uint64_t sources,
                               uint64_t *count) {
    if (!rows->first || !rows->sources) return PELT_ERROR_FORMAT;
    pelt_result result = check_firsts(rows->first, skin->block_count, count);
    if (result) return result;
    if (sizes[PELT_ROW_SOURCES] != 2 * *count) return PELT_ERROR_FORMAT;
    if (rows->shorts && !even_firsts(rows->first, skin->block_count)) return PELT_ERROR_INDEX;
    return pelt_all_below_u16(rows->sources, *count, (uint32_t)sources) ? PELT_OK : PELT_ERROR_INDEX;
}

/* In 16 bits, two interleaved rows belong to factors 2 i and 2 i + 1. */
static pelt_result check_basis(const pelt_skin *skin, pelt_rows rows, const uint64_t *sizes, uint32_t *factor_count) {
    uint64_t coefficients = pelt_skin_corrective(skin)->coefficient_count, count = 0;
    pelt_result result = check_factors(&rows, sizes[PELT_ROW_FACTORS], (uint32_t)coefficients, 0, factor_count);
    if (!result) result = check_lists(skin, &rows, sizes, rows.shorts ? *factor_count : coefficients, &count);
    uint32_t apart = 0;
    for (uint64_t r = 0; !result && rows.shorts && r < count; r += 2)
        apart |= (rows.sources[r] & 1u) | (rows.sources[r] ^ 1u ^ rows.sources[r + 1]);
    if (apart) result = PELT_ERROR_INDEX;
    return result ? result : check_numbers(&rows, sizes, count, 3);
}

/* Rows and tilts of the weighted form use the same centres, and both are floats or both in 16 bits. */
static pelt_result check_centered(pelt_skin *skin, const uint64_t *sizes, const pelt_file_weighted *weighted) {
    pelt_rows rows = pelt_skin_rows(skin), tilts = pelt_skin_tilts(skin);
    const uint64_t *row_sizes = sizes + PELT_SECTION_ROW_FIRST, *tilt_sizes = sizes + PELT_SECTION_TILT_FIRST;
    uint64_t count = 0, factors = 2 * (uint64_t)skin->block_count;
    pelt_result result = check_factors(&rows, row_sizes[PELT_ROW_FACTORS], 1, factors, &skin->factor_counts[0]);
    if (!result) result = check_lists(skin, &rows, row_sizes, weighted->center_count, &count);
    if (!result) result = check_numbers(&rows, row_sizes, count, weighted->normalised ? 4 : 3);
    if (result || no_rows(&tilts)) return result;
    if (tilts.first || tilts.sources || !tilts.floats != !rows.floats) return PELT_ERROR_FORMAT;
    result = check_factors(&tilts, tilt_sizes[PELT_ROW_FACTORS], 1, factors, &skin->factor_counts[1]);
    return result ? result : check_numbers(&tilts, tilt_sizes, count, 3);
}

static pelt_result check_weighted(pelt_skin *skin, const pelt_section *s, const uint64_t *sizes) {
    const pelt_file_corrective *head = (const void *)s->bytes;
    const pelt_file_weighted *weighted = pelt_array_at(s, head->weighted, 1, sizeof *weighted, 1);
    pelt_block_axes axes = pelt_skin_axes(skin);
    if (!weighted || !axes.first || !axes.sources || !axes.weights || head->rbf_count || head->kernel ||
        pelt_skin_features(skin) || weighted->normalised > 1)
        return PELT_ERROR_FORMAT;
    pelt_result result = check_phi(weighted->phi, weighted->width);
    if (!result)
        result =
            check_centers(s, weighted->first_axis, weighted->axis_count, weighted->center_count, weighted->centers);
    if (!result && weighted->moving &&
        !pelt_array_at(s, weighted->moving, weighted->axis_count, pelt_moving_words(weighted->center_count), 8))
        result = PELT_ERROR_FORMAT;
    uint64_t entries = 0;
    if (!result) result = check_firsts(axes.first, skin->block_count, &entries);
    if (result) return result;
    if (sizes[PELT_SECTION_AXIS_SOURCES] != 2 * entries ||
        sizes[PELT_SECTION_AXIS_WEIGHTS] != entries * PELT_BLOCK * sizeof(float))
        return PELT_ERROR_FORMAT;
    if (!pelt_all_below_u16(axes.sources, entries, weighted->axis_count)) return PELT_ERROR_INDEX;
    if (!pelt_all_finite(axes.weights, entries * PELT_BLOCK) || !pelt_none_negative(axes.weights, entries * PELT_BLOCK))
        return PELT_ERROR_NUMBER;
    return check_centered(skin, sizes, weighted);
}

static pelt_result check_rows(pelt_skin *skin, const uint64_t *sizes) {
    pelt_rows rows = pelt_skin_rows(skin), tilts = pelt_skin_tilts(skin);
    pelt_result result = check_basis(skin, rows, sizes + PELT_SECTION_ROW_FIRST, &skin->factor_counts[0]);
    if (result || no_rows(&tilts)) return result;
    return check_basis(skin, tilts, sizes + PELT_SECTION_TILT_FIRST, &skin->factor_counts[1]);
}

pelt_result pelt_check_corrective(pelt_skin *skin, const uint64_t *sizes) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    pelt_section s = {(const char *)head, sizes[PELT_SECTION_CORRECTIVE]};
    if (!head) {
        int others = 0;
        for (int i = 0; i < PELT_CORRECTIVE_SECTIONS; i++) others |= skin->corrective[i] != NULL;
        return others ? PELT_ERROR_FORMAT : PELT_OK;
    }
    if (s.size < sizeof *head || head->retired) return PELT_ERROR_FORMAT;
    uint64_t coefficients = 0;
    pelt_result result = check_axes(&s, skin);
    if (!result) result = check_rbfs(&s, &coefficients);
    if (!result && head->kernel) result = check_kernel(&s, skin, &coefficients);
    if (!result && pelt_skin_neighbors(skin))
        result =
            check_near(skin, head->kernel ? (const void *)(s.bytes + head->kernel) : NULL, sizes[PELT_SECTION_NEAR]);
    if (!result && pelt_skin_features(skin))
        result = pelt_check_features(skin, sizes[PELT_SECTION_FEATURES], &coefficients);
    if (!result && (coefficients != head->coefficient_count || coefficients > 65536)) result = PELT_ERROR_FORMAT;
    if (result) return result;
    pelt_block_axes axes = pelt_skin_axes(skin);
    if (!head->weighted && (axes.first || axes.sources || axes.weights)) return PELT_ERROR_FORMAT;
    result = head->weighted ? check_weighted(skin, &s, sizes) : check_rows(skin, sizes);
    if (result) return result;
    /* Arrays of the section may overlap, so they can ask for more memory than the file's size. */
    return pelt_scratch_size(skin) == SIZE_MAX ? PELT_ERROR_MEMORY : PELT_OK;
}

/* -- Scratch memory ------------------------------------------------------------------------------------------------ */

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

pelt_corrective_offsets pelt_corrective_layout(const pelt_skin *skin) {
    const pelt_file_corrective *head = pelt_skin_corrective(skin);
    const char *bytes = (const char *)head;
    const pelt_file_rbf *rbfs = (const void *)(bytes + head->rbfs);
    const pelt_file_kernel *kernel = head->kernel ? (const void *)(bytes + head->kernel) : NULL;
    uint64_t centers = 0, gathered = PELT_BLOCK;
    for (uint32_t i = 0; i < head->rbf_count; i++) centers += pelt_padded(rbfs[i].center_count);
    if (kernel) centers = most(centers, pelt_padded(kernel->center_count));
    for (uint32_t g = 0; kernel && g < kernel->group_count; g++) {
        const pelt_file_kernel_group *group = (const pelt_file_kernel_group *)(bytes + kernel->groups) + g;
        gathered = most(gathered, pelt_padded(group->center_count));
    }
    const pelt_file_features *features = pelt_skin_features(skin);
    for (uint32_t g = 0; features && !features->in_16_bits && g < features->group_count; g++) {
        const pelt_file_feature_group *groups = (const void *)((const char *)features + features->groups);
        gathered = most(gathered, pelt_feature_columns(groups[g].eight_count));
    }
    for (int i = 0; i < 2; i++) gathered = most(gathered, pelt_padded(skin->factor_counts[i]));
    pelt_corrective_offsets at = pelt_corrective_outputs(skin);
    uint64_t end = at.size;
    at.rotations = pelt_take(&end, 4 * (uint64_t)skin->joint_count);
    at.translations = pelt_take(&end, 4 * (uint64_t)skin->joint_count);
    at.controls = pelt_take(&end, 4 * (uint64_t)skin->control_count);
    at.phi = pelt_take(&end, centers);
    at.gathered = pelt_take(&end, gathered);
    uint64_t columns = kernel ? pelt_kernel_columns(skin, kernel) : 0;
    at.joint_kernels = pelt_take(&end, kernel ? kernel->joint_count * columns : 0);
    at.rest_kernels = pelt_take(&end, kernel ? pelt_padded(kernel->joint_count) : 0);
    at.joint_moves = pelt_take(&end, kernel ? kernel->joint_count : 0);
    uint64_t neighbor_joints = kernel && pelt_skin_neighbors(skin) ? kernel->joint_count : 0;
    at.neighbor_joints = pelt_take(&end, neighbor_joints * (sizeof(pelt_neighbor_joint) / sizeof(float)));
    at.near = pelt_take(&end, neighbor_joints * (2 * columns + 1));
    uint64_t sets = features ? features->set_count : 0, width = features ? features->width : 0;
    uint64_t seen = features ? pelt_features_seen(features) : 0, inputs = features ? features->input_count : 0;
    int shorts = features && features->in_16_bits;
    at.numbers = pelt_take(&end, shorts ? 0 : 8 * inputs);
    at.short_numbers = pelt_take(&end, shorts ? 4 * inputs : 0);
    at.unmixed = pelt_take(&end, shorts ? 0 : sets * width);
    at.short_unmixed = pelt_take(&end, shorts ? sets * width / 2 : 0);
    at.features = pelt_take(&end, sets * pelt_padded(seen));
    at.short_features = pelt_take(&end, shorts ? sets * seen / 2 : 0);
    at.set_moves = pelt_take(&end, sets);
    at.eight_moves = pelt_take(&end, shorts ? sets * seen / 8 : 0);
    at.size = end;
    return at;
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

/* out = rest^-1 local, normalised with w >= 0; the identity when that is impossible. */
static inline void relative_rotation(const float *rest, const float *local, float *out) {
    four b, q;
    memcpy(&b, local, sizeof b);
    const four x = {-1, 1, -1, 1}, y = {-1, -1, 1, 1}, z = {1, -1, -1, 1}, identity = {0, 0, 0, 1};
    q = rest[3] * b + (rest[0] * x * __builtin_shufflevector(b, b, 3, 2, 1, 0) +
                       (rest[1] * y * __builtin_shufflevector(b, b, 2, 3, 0, 1) +
                        rest[2] * z * __builtin_shufflevector(b, b, 1, 0, 3, 2)));
    four squares = q * q;
    float square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    q = square > 1e-30f && square < 1e30f ? q * (copysignf(1, q[3]) / sqrtf(square)) : identity;
    memcpy(out, &q, sizeof q);
}

static void place_locals(const pelt_skin *skin, const pelt_transform *locals, float *rotations, float *translations) {
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        relative_rotation(skin->joints[j].rest.rotation, locals[j].rotation, rotations + 4 * (size_t)j);
        memcpy(translations + 4 * (size_t)j, locals[j].translation, 3 * sizeof *translations);
    }
}

/* The inverse of a row-major 3x4 map; zeros when it is singular. */
static void invert(const float *m, float *out) {
    matrix linear = linear_part(m), inverse;
    float determinant = adjugate(&linear, &inverse), scale = fabsf(determinant) > 1e-30f ? 1 / determinant : 0;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) out[4 * r + c] = inverse.m[r][c] * scale;
        out[4 * r + 3] = -(out[4 * r] * m[3] + out[4 * r + 1] * m[7] + out[4 * r + 2] * m[11]);
    }
}

/* The quaternion of the rotation in a map that may also scale: its columns are normalised. */
static void rotation_of(const float *m, float *q) {
    matrix r = linear_part(m);
    for (int c = 0; c < 3; c++) {
        float length = sqrtf(r.m[0][c] * r.m[0][c] + r.m[1][c] * r.m[1][c] + r.m[2][c] * r.m[2][c]);
        for (int i = 0; i < 3; i++) r.m[i][c] = length > 0 ? r.m[i][c] / length : i == c;
    }
    matrix_quaternion(&r, q);
}

/* A joint's map to its parent, out of maps that are `stride` floats apart. */
static void local_of(const pelt_skin *skin, const float *globals, size_t stride, uint32_t joint, float local[12]) {
    const float *m = globals + stride * joint;
    int32_t parent = skin->joints[joint].parent;
    float inverse[12];
    memcpy(local, m, 12 * sizeof *local);
    if (parent < 0) return;
    invert(globals + stride * (size_t)parent, inverse);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            local[4 * r + c] = inverse[4 * r] * m[c] + inverse[4 * r + 1] * m[4 + c] + inverse[4 * r + 2] * m[8 + c] +
                               (c == 3 ? inverse[4 * r + 3] : 0);
}

void pelt_joint_rotation(const pelt_skin *skin, const float *globals, size_t stride, uint32_t joint,
                         float rotation[4]) {
    float local[12], q[4];
    local_of(skin, globals, stride, joint, local);
    rotation_of(local, q);
    relative_rotation(skin->joints[joint].rest.rotation, q, rotation);
}

static void place_globals(const pelt_skin *skin, const float (*globals)[12], float *rotations, float *translations) {
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        float local[12], q[4];
        local_of(skin, globals[0], 12, j, local);
        rotation_of(local, q);
        relative_rotation(skin->joints[j].rest.rotation, q, rotations + 4 * (size_t)j);
        for (int i = 0; i < 3; i++) translations[4 * (size_t)j + (size_t)i] = local[4 * i + 3];
    }
}

/* Beyond this a squared distance would overflow, and is useless anyway. */
#define FARTHEST 1e15f

static void place_controls(const pelt_skin *skin, const float *values, float *controls) {
    for (uint32_t i = 0; i < skin->control_count; i++) {
        float away = values ? values[i] - skin->controls[i].rest : 0;
        float *control = controls + 4 * (size_t)i;
        control[0] = pelt_all_finite(&away, 1) ? fminf(fmaxf(away, -FARTHEST), FARTHEST) : 0;
        control[1] = control[2] = control[3] = 0;
    }
}

void pelt_axis_pose(const pelt_corrective_job *job, const pelt_file_axis *axis, float pose[4]) {
    size_t array = axis->kind == PELT_AXIS_TRANSLATION ? job->at.translations
                   : axis->kind == PELT_AXIS_CONTROL   ? job->at.controls
                                                       : job->at.rotations;
    const float *from = (const float *)(job->scratch + array) + 4 * (size_t)axis->joint;
    for (int i = 0; i < 4; i++) pose[i] = from[i];
    if (axis->kind == PELT_AXIS_VECTOR) rotation_vector(from, pose);
    if (axis->kind == PELT_AXIS_EULER) euler_angles(from, pose);
    if (axis->kind == PELT_AXIS_HINGE) pose[0] = hinge_angle(from, axis->direction, axis->middle, axis->reach);
}

void pelt_pose_corrective(const pelt_skin *skin, const pelt_pose_input *input, void *scratch) {
    char *own = (char *)scratch + pelt_pose_layout(skin).size;
    const float level = ((const pelt_pose_head *)scratch)->level;
    pelt_corrective_job job = {
        skin, own, pelt_corrective_layout(skin), pelt_loops_of(skin->isa), level > 0 ? pelt_last_levels(skin) : NULL,
        level};
    float *rotations = (float *)(own + job.at.rotations), *translations = (float *)(own + job.at.translations);
    if (input->locals)
        place_locals(skin, input->locals, rotations, translations);
    else
        place_globals(skin, input->globals, rotations, translations);
    place_controls(skin, input->controls, (float *)(own + job.at.controls));
    job.loops->pose_corrective(&job);
}
