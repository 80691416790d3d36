/* corrective.c: the corrective of a skin: checks its sections once, then turns poses into what drives it. The loops are
   in drive.inc, the displacements themselves in displace.inc.

   A pose is, for every joint, its local rotation relative to rest, R = rest^-1 local, and its local translation; and
   for every control its value minus that at rest. */

#include "runtime/container.h"
#include "runtime/loops.h"
#include <math.h>
#include <string.h>

/* -- Checks -------------------------------------------------------------------------------------------------------- */

/* The section DRIV while it is checked. */
typedef struct section {
    const char *bytes;
    uint64_t size;
} section;

/* An array of a x b x c bytes at an offset, or NULL when it does not lie in the section. */
static const void *array_at(const section *s, uint64_t offset, uint64_t a, uint64_t b, uint64_t c) {
    if (offset % PELT_ALIGN || offset > s->size) return NULL;
    uint64_t room = s->size - offset;
    if (a && b && c && (a > room || b > room / a || c > room / (a * b))) return NULL;
    return s->bytes + offset;
}

static pelt_result check_floats(const section *s, uint64_t offset, uint64_t rows, uint64_t columns) {
    const void *floats = array_at(s, offset, rows, columns, sizeof(float));
    if (!floats) return PELT_ERROR_FORMAT;
    return pelt_all_finite(floats, rows * columns) ? PELT_OK : PELT_ERROR_NUMBER;
}

static pelt_result check_phi(uint32_t phi, float width) {
    if (phi >= PELT_FILE_PHI_KINDS) return PELT_ERROR_UNSUPPORTED;
    return pelt_all_finite(&width, 1) && width >= 1e-6f && width <= 1e9f ? PELT_OK : PELT_ERROR_NUMBER;
}

/* What rbfs and the weighted form have in common. A skin has at most 65536 centres: rows name them by 16 bits. */
static pelt_result check_centers(const section *s, uint32_t first_axis, uint32_t axis_count, uint32_t center_count,
                                 uint64_t centers) {
    const pelt_file_drivers *head = (const void *)s->bytes;
    if (first_axis > head->axis_count || axis_count > head->axis_count - first_axis) return PELT_ERROR_INDEX;
    if (!center_count || center_count > 65536) return PELT_ERROR_FORMAT;
    return check_floats(s, centers, 4 * (uint64_t)axis_count, pelt_padded(center_count));
}

static pelt_result check_axes(const section *s, const pelt_skin *skin) {
    const pelt_file_drivers *head = (const void *)s->bytes;
    const pelt_file_axis *axes = array_at(s, head->axes, head->axis_count, sizeof *axes, 1);
    if (!axes) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < head->axis_count; i++) {
        if (axes[i].kind >= PELT_FILE_AXIS_KINDS) return PELT_ERROR_UNSUPPORTED;
        uint32_t limit = axes[i].kind == PELT_FILE_AXIS_CONTROL ? skin->control_count : skin->joint_count;
        if (axes[i].joint >= limit) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(axes[i].direction, 4) || axes[i].weight < 0) return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

static pelt_result check_rbfs(const section *s, uint64_t *coefficients) {
    const pelt_file_drivers *head = (const void *)s->bytes;
    const pelt_file_rbf *rbfs = array_at(s, head->rbfs, head->rbf_count, sizeof *rbfs, 1);
    if (!rbfs) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < head->rbf_count; i++) {
        const pelt_file_rbf *rbf = &rbfs[i];
        if (rbf->first_coefficient != *coefficients || rbf->normalised > 1) return PELT_ERROR_FORMAT;
        *coefficients += rbf->coefficient_count;
        pelt_result result = check_phi(rbf->phi, rbf->width);
        if (!result) result = check_centers(s, rbf->first_axis, rbf->axis_count, rbf->center_count, rbf->centers);
        if (!result)
            result = check_floats(s, rbf->matrix, (uint64_t)rbf->coefficient_count + rbf->normalised,
                                  pelt_padded(rbf->center_count));
        if (!result) result = check_floats(s, rbf->bias, (uint64_t)rbf->coefficient_count + rbf->normalised, 1);
        if (result) return result;
    }
    return PELT_OK;
}

static pelt_result check_group(const section *s, const pelt_file_kernel *kernel, const pelt_file_kernel_group *group) {
    const uint32_t *units = array_at(s, group->units, group->unit_count, sizeof *units, 1);
    const uint32_t *centers = array_at(s, group->centers, group->center_count, sizeof *centers, 1);
    if (!units || !centers || !group->center_count) return PELT_ERROR_FORMAT;
    if (!pelt_all_below_u32(units, group->unit_count, kernel->unit_count) ||
        !pelt_all_below_u32(centers, group->center_count, kernel->center_count))
        return PELT_ERROR_INDEX;
    return check_floats(s, group->matrix, group->coefficient_count, pelt_padded(group->center_count));
}

static pelt_result check_kernel(const section *s, const pelt_skin *skin, uint64_t *coefficients) {
    const pelt_file_drivers *head = (const void *)s->bytes;
    const pelt_file_kernel *kernel = array_at(s, head->kernel, 1, sizeof *kernel, 1);
    if (!kernel || !kernel->center_count || kernel->center_count > 65536) return PELT_ERROR_FORMAT;
    const pelt_file_kernel_joint *joints = array_at(s, kernel->joints, kernel->joint_count, sizeof *joints, 1);
    const pelt_file_kernel_unit *units = array_at(s, kernel->units, kernel->unit_count, sizeof *units, 1);
    const pelt_file_kernel_group *groups = array_at(s, kernel->groups, kernel->group_count, sizeof *groups, 1);
    if (!joints || !units || !groups) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < kernel->joint_count; i++) {
        if (joints[i].joint >= skin->joint_count + skin->control_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&joints[i].scale, 1) || joints[i].scale < 0) return PELT_ERROR_NUMBER;
    }
    for (uint32_t i = 0; i < kernel->unit_count; i++) {
        if (units[i].first >= kernel->joint_count || units[i].second >= kernel->joint_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&units[i].gain, 1)) return PELT_ERROR_NUMBER;
    }
    pelt_result result =
        check_floats(s, kernel->centers, 4 * (uint64_t)kernel->joint_count, pelt_padded(kernel->center_count));
    for (uint32_t i = 0; i < kernel->group_count && !result; i++) {
        if (groups[i].first_coefficient != *coefficients) return PELT_ERROR_FORMAT;
        *coefficients += groups[i].coefficient_count;
        result = check_group(s, kernel, &groups[i]);
    }
    return result;
}

/* Firsts begin with 0 and never fall; *count gets the last. */
static pelt_result check_firsts(const uint32_t *first, uint32_t block_count, uint64_t *count) {
    int ordered = first[0] == 0;
    for (uint32_t b = 0; b < block_count; b++) ordered &= first[b] <= first[b + 1];
    *count = first[block_count];
    return ordered ? PELT_OK : PELT_ERROR_INDEX;
}

/* The five sections of rows, counted from the first of them. */
enum { FIRST, SOURCES, FLOATS, PAIRS, FACTORS };

static int no_rows(const pelt_rows *rows) {
    return !rows->first && !rows->sources && !rows->floats && !rows->pairs && !rows->factors;
}

/* Numbers of `count` rows with `parts` x 16 of them, as floats or in 16 bits. */
static pelt_result check_numbers(const pelt_rows *rows, const uint64_t *sizes, uint64_t count, uint32_t parts) {
    uint64_t numbers = count * PELT_BLOCK * parts;
    if (rows->pairs) return sizes[PAIRS] == numbers * sizeof *rows->pairs ? PELT_OK : PELT_ERROR_FORMAT;
    if (sizes[FLOATS] != numbers * sizeof *rows->floats) return PELT_ERROR_FORMAT;
    return pelt_all_finite(rows->floats, numbers) ? PELT_OK : PELT_ERROR_NUMBER;
}

/* Rows are floats, or pairs with factors: `wanted` of them, or, when that is 0, any even number that sources can name.
   Fills in factor_count from the size of their section. */
static pelt_result check_factors(pelt_rows *rows, uint64_t size, uint32_t coefficient_count, uint64_t wanted) {
    uint64_t count = size / sizeof *rows->factors;
    if (!rows->floats == !rows->pairs || !rows->pairs != !rows->factors) return PELT_ERROR_FORMAT;
    if (size % sizeof *rows->factors || (rows->pairs && wanted ? count != wanted : count % 2 || count > 65536))
        return PELT_ERROR_FORMAT;
    for (uint64_t i = 0; i < count; i++) {
        if (rows->factors[i].coefficient >= coefficient_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&rows->factors[i].step, 1)) return PELT_ERROR_NUMBER;
    }
    rows->factor_count = (uint32_t)count;
    return PELT_OK;
}

/* Rows of 16 bits go in twos: every block has an even number of them. */
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
    if (sizes[SOURCES] != 2 * *count) return PELT_ERROR_FORMAT;
    if (rows->pairs && !even_firsts(rows->first, skin->block_count)) return PELT_ERROR_INDEX;
    return pelt_all_below_u16(rows->sources, *count, (uint32_t)sources) ? PELT_OK : PELT_ERROR_INDEX;
}

/* In 16 bits the two rows of a pair are for factors 2 i and 2 i + 1. */
static pelt_result check_basis(const pelt_skin *skin, pelt_rows *rows, const uint64_t *sizes) {
    uint64_t coefficients = skin->drivers->coefficient_count, count = 0;
    pelt_result result = check_factors(rows, sizes[FACTORS], (uint32_t)coefficients, 0);
    if (!result) result = check_lists(skin, rows, sizes, rows->pairs ? rows->factor_count : coefficients, &count);
    uint32_t apart = 0;
    for (uint64_t r = 0; !result && rows->pairs && r < count; r += 2)
        apart |= (rows->sources[r] & 1u) | (rows->sources[r] ^ 1u ^ rows->sources[r + 1]);
    if (apart) result = PELT_ERROR_INDEX;
    return result ? result : check_numbers(rows, sizes, count, 3);
}

/* Rows and turns of the weighted form are for the same centres, and both floats or both in 16 bits. */
static pelt_result check_centered(pelt_skin *skin, const uint64_t *sizes, const pelt_file_weighted *weighted) {
    pelt_rows *turns = &skin->turns;
    uint64_t count = 0, factors = 2 * (uint64_t)skin->block_count;
    pelt_result result = check_factors(&skin->rows, sizes[PELT_SECTION_ROW_FACTORS], 1, factors);
    if (!result)
        result = check_lists(skin, &skin->rows, sizes + PELT_SECTION_ROW_FIRST, weighted->center_count, &count);
    if (!result)
        result = check_numbers(&skin->rows, sizes + PELT_SECTION_ROW_FIRST, count, weighted->normalised ? 4 : 3);
    if (result || no_rows(turns)) return result;
    if (turns->first || turns->sources || !turns->floats != !skin->rows.floats) return PELT_ERROR_FORMAT;
    result = check_factors(turns, sizes[PELT_SECTION_TURN_FACTORS], 1, factors);
    return result ? result : check_numbers(turns, sizes + PELT_SECTION_TURN_FIRST, count, 3);
}

static pelt_result check_weighted(pelt_skin *skin, const section *s, const uint64_t *sizes) {
    const pelt_file_weighted *weighted = array_at(s, skin->drivers->weighted, 1, sizeof *weighted, 1);
    if (!weighted || !skin->axis_first || !skin->axis_sources || !skin->axis_weights || skin->drivers->rbf_count ||
        skin->drivers->kernel || weighted->normalised > 1)
        return PELT_ERROR_FORMAT;
    pelt_result result = check_phi(weighted->phi, weighted->width);
    if (!result)
        result =
            check_centers(s, weighted->first_axis, weighted->axis_count, weighted->center_count, weighted->centers);
    uint64_t entries = 0;
    if (!result) result = check_firsts(skin->axis_first, skin->block_count, &entries);
    if (result) return result;
    if (sizes[PELT_SECTION_AXIS_SOURCES] != 2 * entries ||
        sizes[PELT_SECTION_AXIS_WEIGHTS] != entries * PELT_BLOCK * sizeof(float))
        return PELT_ERROR_FORMAT;
    if (!pelt_all_below_u16(skin->axis_sources, entries, weighted->axis_count)) return PELT_ERROR_INDEX;
    if (!pelt_all_finite(skin->axis_weights, entries * PELT_BLOCK)) return PELT_ERROR_NUMBER;
    return check_centered(skin, sizes, weighted);
}

pelt_result pelt_check_corrective(pelt_skin *skin, const uint64_t *sizes) {
    section s = {(const char *)skin->drivers, sizes[PELT_SECTION_DRIVERS]};
    int axes = skin->axis_first || skin->axis_sources || skin->axis_weights;
    if (!skin->drivers) return axes || !no_rows(&skin->rows) || !no_rows(&skin->turns) ? PELT_ERROR_FORMAT : PELT_OK;
    if (s.size < sizeof *skin->drivers) return PELT_ERROR_FORMAT;
    uint64_t coefficients = 0;
    pelt_result result = check_axes(&s, skin);
    if (!result) result = check_rbfs(&s, &coefficients);
    if (!result && skin->drivers->kernel) result = check_kernel(&s, skin, &coefficients);
    if (!result && (coefficients != skin->drivers->coefficient_count || coefficients > 65536))
        result = PELT_ERROR_FORMAT;
    if (result) return result;
    if (skin->drivers->weighted) return check_weighted(skin, &s, sizes);
    if (axes) return PELT_ERROR_FORMAT;
    result = check_basis(skin, &skin->rows, sizes + PELT_SECTION_ROW_FIRST);
    if (result || no_rows(&skin->turns)) return result;
    return check_basis(skin, &skin->turns, sizes + PELT_SECTION_TURN_FIRST);
}

/* -- Scratch memory ------------------------------------------------------------------------------------------------ */

static size_t take(size_t *end, uint64_t floats) {
    size_t at = *end;
    *end += ((size_t)floats * sizeof(float) + PELT_ALIGN - 1) / PELT_ALIGN * PELT_ALIGN;
    return at;
}

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

pelt_drive_offsets pelt_drive_layout(const pelt_skin *skin) {
    const pelt_file_drivers *head = skin->drivers;
    const char *bytes = (const char *)head;
    const pelt_file_rbf *rbfs = (const void *)(bytes + head->rbfs);
    const pelt_file_kernel *kernel = head->kernel ? (const void *)(bytes + head->kernel) : NULL;
    const pelt_file_weighted *weighted = head->weighted ? (const void *)(bytes + head->weighted) : NULL;
    uint64_t widest = kernel ? pelt_padded(kernel->center_count) : PELT_BLOCK, gathered = PELT_BLOCK;
    for (uint32_t i = 0; i < head->rbf_count; i++) widest = most(widest, pelt_padded(rbfs[i].center_count));
    for (uint32_t g = 0; kernel && g < kernel->group_count; g++) {
        const pelt_file_kernel_group *group = (const pelt_file_kernel_group *)(bytes + kernel->groups) + g;
        gathered = most(gathered, pelt_padded(group->center_count));
    }
    pelt_drive_offsets at;
    size_t end = 0;
    at.coefficients = take(&end, head->coefficient_count);
    at.row_factors = take(&end, weighted ? 0 : skin->rows.factor_count / 2); /* two are as large as a float */
    at.turn_factors = take(&end, weighted ? 0 : skin->turns.factor_count / 2);
    at.factor_scales = take(&end, 2);
    at.distances = take(&end, weighted ? weighted->axis_count * pelt_padded(weighted->center_count) : 0);
    at.rotations = take(&end, 4 * (uint64_t)skin->joint_count);
    at.translations = take(&end, 4 * (uint64_t)skin->joint_count);
    at.controls = take(&end, 4 * (uint64_t)skin->control_count);
    at.phi = take(&end, widest);
    at.gathered = take(&end, gathered);
    at.joint_kernels = take(&end, kernel ? kernel->joint_count * pelt_padded(kernel->center_count) : 0);
    at.size = end;
    return at;
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

/* out = rest^-1 local, made unit length; the identity when that cannot be. */
static void relative_rotation(const float *rest, const float *local, float *out) {
    float x = -rest[0], y = -rest[1], z = -rest[2], w = rest[3];
    out[0] = w * local[0] + x * local[3] + y * local[2] - z * local[1];
    out[1] = w * local[1] - x * local[2] + y * local[3] + z * local[0];
    out[2] = w * local[2] + x * local[1] - y * local[0] + z * local[3];
    out[3] = w * local[3] - x * local[0] - y * local[1] - z * local[2];
    float square = out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3];
    if (square > 1e-30f && square < 1e30f) {
        float scale = 1 / sqrtf(square);
        for (int i = 0; i < 4; i++) out[i] *= scale;
    } else {
        out[0] = out[1] = out[2] = 0, out[3] = 1;
    }
}

/* Coefficients times the steps of their rows, as whole numbers of a common scale. A pose beyond all reason displaces
   nothing. */
static void round_factors(const float *coefficients, const pelt_rows *rows, int16_t *out, float *scale) {
    const pelt_factor *factors = rows->factors;
    float most = 0;
    for (uint32_t i = 0; i < rows->factor_count; i++) {
        float size = fabsf(coefficients[factors[i].coefficient] * factors[i].step);
        most = size > most ? size : most;
    }
    float fit = most > 1e-30f && most < 1e30f ? 32767 / most : 0;
    for (uint32_t i = 0; i < rows->factor_count; i++) {
        float x = coefficients[factors[i].coefficient] * factors[i].step * fit;
        out[i] = x > -32768 && x < 32768 ? (int16_t)(x + copysignf(0.5f, x)) : 0;
    }
    *scale = fit > 0 ? most / 32767 : 0;
}

static void drive(const pelt_skin *skin, char *scratch, const pelt_drive_offsets *at) {
    pelt_drive_job job = {skin, scratch, *at};
    switch (skin->isa) {
#if defined(__x86_64__) || defined(__i386__)
    case PELT_ISA_AVX512:
        pelt_drive_avx512(&job);
        break;
    case PELT_ISA_AVX2:
        pelt_drive_avx2(&job);
        break;
#endif
    case PELT_ISA_SIMD128:
        pelt_drive_simd128(&job);
        break;
    default:
        pelt_drive_scalar(&job);
        break;
    }
    if (skin->drivers->weighted) return;
    const float *coefficients = (const float *)(scratch + at->coefficients);
    float *scales = (float *)(scratch + at->factor_scales);
    if (skin->rows.pairs) round_factors(coefficients, &skin->rows, (int16_t *)(scratch + at->row_factors), &scales[0]);
    if (skin->turns.pairs)
        round_factors(coefficients, &skin->turns, (int16_t *)(scratch + at->turn_factors), &scales[1]);
}

static void place_locals(const pelt_skin *skin, const pelt_transform *locals, float *rotations, float *translations) {
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        relative_rotation(skin->joints[j].rest.rotation, locals[j].rotation, rotations + 4 * (size_t)j);
        memcpy(translations + 4 * (size_t)j, locals[j].translation, 3 * sizeof *translations);
    }
}

/* The inverse of a row-major 3x4 map; zeros when it is flat. */
static void invert(const float *m, float *out) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            int r1 = (c + 1) % 3, r2 = (c + 2) % 3, c1 = (r + 1) % 3, c2 = (r + 2) % 3;
            out[4 * r + c] = m[4 * r1 + c1] * m[4 * r2 + c2] - m[4 * r1 + c2] * m[4 * r2 + c1];
        }
    float determinant = m[0] * out[0] + m[1] * out[4] + m[2] * out[8];
    float scale = fabsf(determinant) > 1e-30f ? 1 / determinant : 0;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) out[4 * r + c] *= scale;
        out[4 * r + 3] = -(out[4 * r] * m[3] + out[4 * r + 1] * m[7] + out[4 * r + 2] * m[11]);
    }
}

/* The quaternion of the rotation in a map that may also scale: its columns made unit length. Of four ways to take it
   from a matrix the one with the largest part is used. */
static void rotation_of(const float *m, float *q) {
    float r[9], length[3];
    for (int c = 0; c < 3; c++) length[c] = sqrtf(m[c] * m[c] + m[4 + c] * m[4 + c] + m[8 + c] * m[8 + c]);
    for (int i = 0; i < 9; i++) r[i] = length[i % 3] > 0 ? m[4 * (i / 3) + i % 3] / length[i % 3] : i % 4 == 0;
    float trace = r[0] + r[4] + r[8];
    if (trace >= r[0] && trace >= r[4] && trace >= r[8]) {
        q[0] = r[7] - r[5], q[1] = r[2] - r[6], q[2] = r[3] - r[1], q[3] = 1 + trace;
        return;
    }
    int i = r[4] > r[0] ? (r[8] > r[4] ? 2 : 1) : (r[8] > r[0] ? 2 : 0), j = (i + 1) % 3, k = (i + 2) % 3;
    q[i] = 1 + 2 * r[4 * i] - trace;
    q[j] = r[3 * i + j] + r[3 * j + i];
    q[k] = r[3 * i + k] + r[3 * k + i];
    q[3] = r[3 * k + j] - r[3 * j + k];
}

static void place_globals(const pelt_skin *skin, const float (*globals)[12], float *rotations, float *translations) {
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        float local[12], inverse[12], q[4];
        const float *m = globals[j];
        memcpy(local, m, sizeof local);
        if (skin->joints[j].parent >= 0) {
            invert(globals[skin->joints[j].parent], inverse);
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 4; c++)
                    local[4 * r + c] = inverse[4 * r] * m[c] + inverse[4 * r + 1] * m[4 + c] +
                                       inverse[4 * r + 2] * m[8 + c] + (c == 3 ? inverse[4 * r + 3] : 0);
        }
        rotation_of(local, q);
        relative_rotation(skin->joints[j].rest.rotation, q, rotations + 4 * (size_t)j);
        for (int i = 0; i < 3; i++) translations[4 * (size_t)j + (size_t)i] = local[4 * i + 3];
    }
}

/* Beyond this the square of a distance would be infinite, and of no use to anybody. */
#define FARTHEST 1e15f

static void place_controls(const pelt_skin *skin, const float *values, float *controls) {
    for (uint32_t i = 0; i < skin->control_count; i++) {
        float away = values ? values[i] - skin->controls[i].rest : 0;
        float *control = controls + 4 * (size_t)i;
        control[0] = pelt_all_finite(&away, 1) ? fminf(fmaxf(away, -FARTHEST), FARTHEST) : 0;
        control[1] = control[2] = control[3] = 0;
    }
}

void pelt_drive(const pelt_skin *skin, const pelt_pose_input *input, void *scratch) {
    char *driven = (char *)scratch + pelt_pose_layout(skin).size;
    pelt_drive_offsets at = pelt_drive_layout(skin);
    float *rotations = (float *)(driven + at.rotations), *translations = (float *)(driven + at.translations);
    if (input->locals)
        place_locals(skin, input->locals, rotations, translations);
    else
        place_globals(skin, input->globals, rotations, translations);
    place_controls(skin, input->controls, (float *)(driven + at.controls));
    drive(skin, driven, &at);
}
