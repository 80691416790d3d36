/* eigen_join.c: the corrections of positions and of normals within a budget, and as one corrective.

   An eigendisplacement u_k contributes a_k(p) u_ik at point i. Under a budget a point keeps those whose contribution is
   largest over the examples, |u_ik| sqrt(sum_p a_k(p)^2), be they of joints or of pairs of joints. Joints have the same
   centres for positions and for normals, so exp(-r / r0) is computed once for both. */

#include "fit/corrective/eigenskin.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t pelt_eigen_coefficient_count(const pelt_eigen_part *part) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->rbf_count; i++) count += part->rbfs[i].coefficient_count;
    return count;
}

/* -- Budget -------------------------------------------------------------------------------------------------------- */

/* sizes[coefficient]: root of the sum of squares over the examples; there is room for as many numbers behind it. */
static void measure_sizes(const pelt_poses *poses, const pelt_eigen_part *part, uint32_t count, double *sizes) {
    pelt_corrective corrective = {.rbf_count = part->rbf_count, .rbfs = part->rbfs};
    double *a = sizes + count;
    for (uint32_t e = 0; e < poses->count; e++) {
        pelt_pose_state pose = {poses->rotations + 4 * (size_t)e * poses->joint_count,
                                poses->translations + 3 * (size_t)e * poses->joint_count,
                                poses->controls + (size_t)e * poses->control_count};
        pelt_corrective_coefficients(&corrective, &pose, a);
        for (uint32_t k = 0; k < count; k++) sizes[k] = hypot(sizes[k], a[k]);
    }
}

static float strength(const pelt_entry *entry, const double *sizes) {
    const float *u = entry->position;
    return (float)(sizes[entry->coefficient] * sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
}

/* Puts a value into a falling list if it is among its largest. */
static void insert(float *list, size_t count, float value) {
    for (size_t at = 0; at < count; at++)
        if (value > list[at]) {
            float pushed = list[at];
            list[at] = value, value = pushed;
        }
}

/* Drops and fades entries; `strongest` [point][most + 1] is all 0 yet. */
static void limit(const double *sizes, uint32_t most, float *strongest, pelt_eigen_part *part) {
    size_t length = (size_t)most + 1, kept = 0;
    for (size_t e = 0; e < part->entry_count; e++)
        insert(strongest + length * part->entries[e].point, length, strength(&part->entries[e], sizes));
    for (size_t e = 0; e < part->entry_count; e++) {
        pelt_entry entry = part->entries[e];
        float a = strength(&entry, sizes), t = strongest[length * entry.point + most];
        if (!(a > t)) continue;
        float square = (t / a) * (t / a);
        for (int c = 0; c < 3; c++) entry.position[c] *= 1 - square * square;
        part->entries[kept++] = entry;
    }
    part->entry_count = kept;
}

pelt_result pelt_eigen_budget(const pelt_poses *poses, uint32_t point_count, uint32_t most, pelt_eigen_part *part) {
    uint32_t count = pelt_eigen_coefficient_count(part);
    if (most > count) return PELT_OK;
    double *sizes = calloc(2 * (size_t)count + 1, sizeof *sizes);
    float *strongest = calloc(((size_t)most + 1) * point_count, sizeof *strongest);
    bool ready = sizes && strongest;
    if (ready) {
        measure_sizes(poses, part, count, sizes);
        limit(sizes, most, strongest, part);
    }
    free(sizes), free(strongest);
    return ready ? PELT_OK : PELT_ERROR_MEMORY;
}

/* -- One corrective ------------------------------------------------------------------------------------------------ */

static const uint32_t UNUSED = UINT32_MAX;

/* Basis functions of a part, and the new numbers of their coefficients. */
typedef struct functions {
    const pelt_rbf *rbf;
    uint32_t *numbers; /* [coefficient] */
    bool joined;
} functions;

/* One for each of the part's rbfs, their numbers one after the other; NULL when memory is out. */
static functions *list_functions(pelt_arena *arena, const pelt_eigen_part *part) {
    uint32_t count = pelt_eigen_coefficient_count(part), *numbers = PELT_NEW(arena, (size_t)count + 1, uint32_t);
    functions *list = PELT_NEW(arena, (size_t)part->rbf_count + 1, functions);
    if (!numbers || !list) return NULL;
    list->numbers = numbers;
    for (uint32_t k = 0; k < count; k++) numbers[k] = UNUSED;
    for (size_t e = 0; e < part->entry_count; e++) numbers[part->entries[e].coefficient] = 0;
    for (uint32_t i = 0; i < part->rbf_count; i++) {
        list[i] = (functions){.rbf = &part->rbfs[i], .numbers = numbers};
        numbers += part->rbfs[i].coefficient_count;
    }
    return list;
}

static bool same_centers(const pelt_rbf *a, const pelt_rbf *b) {
    return a->axis_count == b->axis_count && a->center_count == b->center_count && a->width == b->width &&
           !memcmp(a->axes, b->axes, a->axis_count * sizeof *a->axes) &&
           !memcmp(a->centers, b->centers, 4 * (size_t)a->axis_count * a->center_count * sizeof *a->centers);
}

static uint32_t count_used(const functions *f) {
    uint32_t count = 0;
    for (uint32_t k = 0; f && k < f->rbf->coefficient_count; k++) count += f->numbers[k] != UNUSED;
    return count;
}

/* Copies the columns that are used, from `column` on, and numbers them; returns where the next one goes. */
static uint32_t take_columns(functions *f, uint32_t first_number, uint32_t column, uint32_t column_count,
                             float *matrix) {
    for (uint32_t k = 0; f && k < f->rbf->coefficient_count; k++) {
        if (f->numbers[k] == UNUSED) continue;
        for (size_t q = 0; q < f->rbf->center_count; q++)
            matrix[q * column_count + column] = f->rbf->matrix[q * f->rbf->coefficient_count + k];
        f->numbers[k] = first_number + column++;
    }
    return column;
}

/* Appends the functions of a, and of b, which has the same centres or is NULL. */
static pelt_result append(pelt_arena *arena, functions *a, functions *b, uint32_t *number, pelt_rbf *rbfs,
                          uint32_t *rbf_count) {
    uint32_t count = count_used(a) + count_used(b);
    if (!count) return PELT_OK;
    float *matrix = PELT_NEW(arena, (size_t)count * a->rbf->center_count, float);
    if (!matrix) return PELT_ERROR_MEMORY;
    take_columns(b, *number, take_columns(a, *number, 0, count, matrix), count, matrix);
    pelt_rbf *rbf = &rbfs[(*rbf_count)++];
    *rbf = *a->rbf;
    rbf->coefficient_count = count, rbf->matrix = matrix;
    *number += count;
    return PELT_OK;
}

static void renumber(pelt_eigen_part *part, const functions *list) {
    for (size_t e = 0; e < part->entry_count; e++)
        part->entries[e].coefficient = list->numbers[part->entries[e].coefficient];
}

pelt_result pelt_eigen_join(pelt_arena *arena, pelt_eigen_part *positions, pelt_eigen_part *normals,
                            pelt_corrective *out) {
    functions *a = list_functions(arena, positions), *b = list_functions(arena, normals);
    pelt_rbf *rbfs = PELT_NEW(arena, (size_t)positions->rbf_count + normals->rbf_count, pelt_rbf);
    if (!a || !b || !rbfs) return PELT_ERROR_MEMORY;
    uint32_t number = 0;
    pelt_result result = PELT_OK;
    for (uint32_t i = 0; i < positions->rbf_count && !result; i++) {
        uint32_t k = 0;
        while (k < normals->rbf_count && (b[k].joined || !same_centers(a[i].rbf, b[k].rbf))) k++;
        functions *twin = k < normals->rbf_count ? &b[k] : NULL;
        if (twin) twin->joined = true;
        result = append(arena, &a[i], twin, &number, rbfs, &out->rbf_count);
    }
    for (uint32_t k = 0; k < normals->rbf_count && !result; k++)
        if (!b[k].joined) result = append(arena, &b[k], NULL, &number, rbfs, &out->rbf_count);
    out->rbfs = rbfs;
    renumber(positions, a), renumber(normals, b);
    return result;
}
