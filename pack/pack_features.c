/* pack_features.c: packs the learned features of a corrective, in 32 or 16 bits. */

#include "pack/builder.h"
#include <math.h>

/* The step with which numbers, of largest size `most` and total `sum`, fit 16 bits, and their rounded sum fits
   PELT_ROW_MOST. */
static double step_of(double most, double sum, size_t count) {
    return fmax(most / PELT_SHORT_MOST, sum / fmax(PELT_ROW_MOST - 0.5 * (double)count, 1));
}

static int16_t steps_in(double x, double step) {
    return step > 0 ? (int16_t)fmin(fmax(rint(x / step), -PELT_SHORT_MOST), PELT_SHORT_MOST) : 0;
}

/* An integer matrix in tiles of four rows and eight columns, and the steps of its rows; both are zero-padded. Number r,
   c is at rows[r * next_row + c * next_column]. */
static void append_tiles(builder *b, const double *rows, size_t row_count, size_t column_count, size_t next_row,
                         size_t next_column, uint64_t *tiles, uint64_t *steps) {
    size_t padded_rows = (size_t)pelt_tiled_rows(row_count), eights = (column_count + 7) / 8;
    *tiles = append(b, padded_rows * eights * 8, sizeof(int16_t));
    *steps = append(b, padded_rows, sizeof(float));
    int16_t *out = (int16_t *)(b->bytes + *tiles);
    for (size_t r = 0; r < row_count; r++) {
        const double *row = rows + r * next_row;
        double most = 0, sum = 0;
        for (size_t c = 0; c < column_count; c++) {
            double size = fabs(row[c * next_column]);
            most = fmax(most, size), sum += size;
        }
        double step = step_of(most, sum, column_count);
        ((float *)(b->bytes + *steps))[r] = (float)step;
        for (size_t c = 0; c < column_count; c++)
            out[((r / 4 * eights + c / 8) * 4 + r % 4) * 8 + c % 8] = steps_in(row[c * next_column], step);
    }
}

/* Rows of floats, each zero-padded. */
static uint64_t append_rows(builder *b, const float *rows, size_t count, size_t own, size_t columns) {
    uint64_t at = append(b, count * columns, sizeof(float));
    for (size_t r = 0; r < count && own; r++)
        memcpy((float *)(b->bytes + at) + r * columns, rows + r * own, own * sizeof(float));
    return at;
}

/* Upper bound of an input's numbers. */
static double most_of_input(const pelt_features *f, uint32_t input) {
    const pelt_feature_input *in = &f->inputs[input];
    return input < f->input_count - f->control_count ? PELT_MOST_TURN : fmax(in->most, -in->least);
}

static uint32_t numbers_of_input(const pelt_features *f, uint32_t input) {
    return input < f->input_count - f->control_count ? 6 : 1;
}

/* The integer step of W for a feature: |x W| is bounded by most[]. Offsets much larger than that leave W fewer bits,
   since the float rounding of offsets must not exceed a step. */
static double matrix_step(const pelt_features *f, const pelt_feature_set *set, uint32_t k) {
    const float *row = set->matrix + k;
    double most = 0, sum = 0, offset = hypot(set->offsets[k], sqrt(f->bends[k]));
    for (uint32_t i = 0; i < set->input_count; i++)
        for (uint32_t n = 0; n < numbers_of_input(f, set->inputs[i]); n++, row += f->width) {
            double size = fabs(*row) * most_of_input(f, set->inputs[i]);
            most = fmax(most, size), sum += size;
        }
    return step_of(most, fmax(sum, offset / 64), set->size);
}

/* The divisors of z and similar values in the file, [width]: 2, or in 16 bits their steps. */
static double *units_of(builder *b, const pelt_features *f, const pelt_feature_set *set, bool shorts) {
    double *units = PELT_NEW(b->arena, f->width, double);
    for (uint32_t k = 0; k < f->width; k++)
        units[k] = shorts ? matrix_step(f, set, k) / (PELT_FEATURE_STEP * PELT_SHORT_MOST) : 2;
    return units;
}

static uint64_t append_offsets(builder *b, const pelt_features *f, const pelt_feature_set *set, const double *units) {
    uint64_t at = append(b, 3 * (size_t)f->width, sizeof(float));
    float *out = (float *)(b->bytes + at);
    for (uint32_t k = 0; k < f->width; k++) {
        if (!(units[k] > 0)) continue; /* a feature that is always 0 */
        double offset = set->offsets[k] / units[k], bend = f->bends[k] / (units[k] * units[k]);
        out[k] = (float)offset, out[f->width + k] = (float)bend;
        out[2 * f->width + k] = (float)sqrt(offset * offset + bend);
    }
    return at;
}

/* The rows of a set's inputs, interleaved in pairs: six for a joint, one for a control padded with zeros. */
static uint64_t append_pairs(builder *b, const pelt_features *f, const pelt_feature_set *set) {
    uint64_t at = append(b, (size_t)(set->size + set->input_count) * f->width, sizeof(int16_t));
    uint32_t row = 0, pair = 0;
    int16_t *out = (int16_t *)(b->bytes + at);
    for (uint32_t i = 0; i < set->input_count; i++) {
        uint32_t numbers = numbers_of_input(f, set->inputs[i]);
        double most = most_of_input(f, set->inputs[i]);
        for (uint32_t k = 0; k < f->width; k++) {
            double step = matrix_step(f, set, k);
            for (uint32_t n = 0; n < numbers; n++)
                out[((pair + n / 2) * (size_t)f->width + k) * 2 + n % 2] =
                    steps_in(set->matrix[(row + n) * (size_t)f->width + k] * most, step);
        }
        row += numbers, pair += (numbers + 1) / 2;
    }
    return at;
}

/* The unit of what groups see, [set][feature or sum]: a step of a feature; or for sums, which share a step in 16 bits,
   a scale that enlarges the more important ones. Half of the scale goes into the sum and half into the groups, since
   both are rounded. */
static double *worths_of(builder *b, const pelt_features *f) {
    size_t seen = f->rank ? f->rank : f->width;
    double *worths = PELT_NEW(b->arena, f->set_count * seen, double);
    for (uint32_t g = 0; g < f->group_count && f->rank; g++)
        for (size_t i = 0; i < 8 * (size_t)f->groups[g].coefficient_count * f->groups[g].eight_count; i++)
            worths[8 * (size_t)f->groups[g].eights[i / 8 % f->groups[g].eight_count] + i % 8] +=
                pow(f->groups[g].matrix[i], 2);
    for (size_t i = 0; i < f->set_count * seen && f->rank; i++) worths[i] = worths[i] > 0 ? pow(worths[i], -0.25) : 1;
    for (uint32_t s = 0; s < f->set_count && !f->rank; s++) {
        const double *units = units_of(b, f, &f->sets[s], true);
        for (size_t k = 0; k < seen; k++) worths[s * seen + k] = units[k] / 2;
    }
    return worths;
}

/* M in 16 bits, including the value of a feature's step. */
static void append_mix(builder *b, const pelt_features *f, const pelt_feature_set *set, const double *units,
                       const double *worths, pelt_file_feature_set *out) {
    double *mix = PELT_NEW(b->arena, (size_t)f->width * set->rank, double);
    for (size_t k = 0; k < f->width; k++)
        for (size_t r = 0; r < set->rank; r++)
            mix[k * set->rank + r] = set->mix[k * set->rank + r] * units[k] / 2 / worths[r];
    append_tiles(b, mix, set->rank, f->width, 1, set->rank, &out->mix, &out->mix_steps);
}

static void append_sets(builder *b, const pelt_features *f, bool shorts, const double *worths, uint64_t at) {
    for (uint32_t s = 0; s < f->set_count; s++) {
        const pelt_feature_set *set = &f->sets[s];
        const double *units = units_of(b, f, set, shorts);
        pelt_file_feature_set out = {.input_count = set->input_count, .size = set->size, .rank = set->rank};
        out.inputs = append_copy(b, set->inputs, set->input_count, sizeof *set->inputs);
        out.offsets = append_offsets(b, f, set, units);
        if (shorts) {
            out.matrix = append_pairs(b, f, set);
            if (f->rank) append_mix(b, f, set, units, worths + (size_t)s * f->rank, &out);
        } else {
            out.matrix = append_copy(b, set->matrix, (size_t)set->size * f->width, sizeof(float));
            if (f->rank) out.mix = append_rows(b, set->mix, f->width, set->rank, (size_t)pelt_padded(set->rank));
        }
        memcpy(b->bytes + at + s * sizeof out, &out, sizeof out);
    }
}

static void append_group_tiles(builder *b, const pelt_feature_group *group, const double *worths,
                               pelt_file_feature_group *out) {
    size_t rows = group->coefficient_count, columns = 8 * (size_t)group->eight_count;
    double *matrix = PELT_NEW(b->arena, rows * columns, double);
    for (size_t i = 0; i < rows * columns; i++)
        matrix[i] = group->matrix[i] * worths[8 * (size_t)group->eights[i % columns / 8] + i % 8];
    append_tiles(b, matrix, rows, columns, columns, 1, &out->matrix, &out->steps);
}

static void append_feature_groups(builder *b, const pelt_features *f, bool shorts, const double *worths, uint64_t at,
                                  uint32_t *coefficient) {
    for (uint32_t g = 0; g < f->group_count; g++) {
        const pelt_feature_group *group = &f->groups[g];
        size_t own = 8 * (size_t)group->eight_count, columns = (size_t)pelt_feature_columns(group->eight_count);
        pelt_file_feature_group out = {.eight_count = group->eight_count,
                                       .coefficient_count = group->coefficient_count,
                                       .first_coefficient = *coefficient};
        out.eights = append_copy(b, group->eights, group->eight_count, sizeof *group->eights);
        if (shorts)
            append_group_tiles(b, group, worths, &out);
        else
            out.matrix = append_rows(b, group->matrix, group->coefficient_count, own, columns);
        memcpy(b->bytes + at + g * sizeof out, &out, sizeof out);
        *coefficient += group->coefficient_count;
    }
}

void pelt_pack_features(pelt_arena *arena, const pelt_features *f, bool shorts, pelt_skin *skin, uint64_t *sizes,
                        uint32_t *coefficient) {
    builder b = {.arena = arena};
    pelt_file_features head = {.width = f->width,
                               .input_count = f->input_count,
                               .set_count = f->set_count,
                               .group_count = f->group_count,
                               .rank = f->rank,
                               .in_16_bits = shorts};
    append(&b, 1, sizeof head);
    head.inputs = append(&b, f->input_count, sizeof(pelt_file_feature_input));
    head.sets = append(&b, f->set_count, sizeof(pelt_file_feature_set));
    head.groups = append(&b, f->group_count, sizeof(pelt_file_feature_group));
    for (uint32_t i = 0; i < f->input_count; i++) {
        uint32_t first = i < f->input_count - f->control_count ? 0 : skin->joint_count;
        ((pelt_file_feature_input *)(b.bytes + head.inputs))[i] =
            (pelt_file_feature_input){first + f->inputs[i].source, f->inputs[i].least, f->inputs[i].most, 0};
    }
    const double *worths = shorts ? worths_of(&b, f) : NULL;
    append_sets(&b, f, shorts, worths, head.sets);
    append_feature_groups(&b, f, shorts, worths, head.groups, coefficient);
    memcpy(b.bytes, &head, sizeof head);
    skin->PELT_PRIVATE(FEATURES) = b.bytes;
    sizes[PELT_SECTION_FEATURES] = b.size;
}
