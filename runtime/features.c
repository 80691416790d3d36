/* features.c: checks the learned features of a corrective once. The loops are in features.inc. */

#include "runtime/container.h"
#include "runtime/loops.h"

static pelt_result check_inputs(const pelt_section *s, const pelt_skin *skin, const pelt_file_features *f) {
    const pelt_file_feature_input *inputs = pelt_array_at(s, f->inputs, f->input_count, sizeof *inputs, 1);
    if (!inputs) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < f->input_count; i++) {
        if (inputs[i].source >= skin->joint_count + skin->control_count) return PELT_ERROR_INDEX;
        if (!pelt_all_finite(&inputs[i].least, 2) || inputs[i].least > inputs[i].most) return PELT_ERROR_NUMBER;
    }
    return PELT_OK;
}

static pelt_result check_mix(const pelt_section *s, const pelt_file_features *f, const pelt_file_feature_set *set) {
    if (!f->rank) return PELT_OK;
    if (set->rank % 8 || set->rank > f->rank) return PELT_ERROR_FORMAT;
    if (!f->in_16_bits) return pelt_check_floats(s, set->mix, f->width, pelt_padded(set->rank));
    if (!pelt_array_at(s, set->mix, set->rank, f->width, sizeof(int16_t))) return PELT_ERROR_FORMAT;
    return pelt_check_floats(s, set->mix_steps, 1, set->rank);
}

static pelt_result check_offsets(const pelt_section *s, const pelt_file_features *f, const pelt_file_feature_set *set) {
    pelt_result result = pelt_check_floats(s, set->offsets, 3, f->width);
    if (result) return result;
    const float *bends = (const float *)(s->bytes + set->offsets) + f->width;
    for (uint32_t k = 0; k < f->width; k++)
        if (bends[k] < 0) return PELT_ERROR_NUMBER;
    return PELT_OK;
}

static pelt_result check_set(const pelt_section *s, const pelt_skin *skin, const pelt_file_features *f,
                             const pelt_file_feature_set *set) {
    const pelt_file_feature_input *all = (const pelt_file_feature_input *)(s->bytes + f->inputs);
    const uint32_t *inputs = pelt_array_at(s, set->inputs, set->input_count, sizeof *inputs, 1);
    uint64_t joints = 0;
    if (!inputs) return PELT_ERROR_FORMAT;
    if (!pelt_all_below_u32(inputs, set->input_count, f->input_count)) return PELT_ERROR_INDEX;
    for (uint32_t i = 0; i < set->input_count; i++) joints += all[inputs[i]].source < skin->joint_count;
    uint64_t pairs = set->input_count + 2 * joints;
    if (set->size != set->input_count + 5 * joints) return PELT_ERROR_FORMAT;
    pelt_result result = check_offsets(s, f, set);
    if (!result && !f->in_16_bits) result = pelt_check_floats(s, set->matrix, set->size, f->width);
    if (f->in_16_bits && !pelt_array_at(s, set->matrix, pairs, f->width, 2 * sizeof(int16_t))) return PELT_ERROR_FORMAT;
    return result ? result : check_mix(s, f, set);
}

static pelt_result check_group(const pelt_section *s, const pelt_file_features *f,
                               const pelt_file_feature_group *group) {
    const pelt_file_feature_set *sets = (const pelt_file_feature_set *)(s->bytes + f->sets);
    const uint32_t *eights = pelt_array_at(s, group->eights, group->eight_count, sizeof *eights, 1);
    uint32_t each = pelt_features_seen(f) / 8;
    if (!eights) return PELT_ERROR_FORMAT;
    for (uint32_t i = 0; i < group->eight_count; i++) {
        uint32_t set = eights[i] / each, eight = eights[i] % each;
        if (set >= f->set_count || (f->rank && 8 * eight >= sets[set].rank)) return PELT_ERROR_INDEX;
    }
    uint64_t rows = pelt_tiled_rows(group->coefficient_count);
    if (!f->in_16_bits)
        return pelt_check_floats(s, group->matrix, group->coefficient_count, pelt_feature_columns(group->eight_count));
    if (!pelt_array_at(s, group->matrix, rows, 8 * (uint64_t)group->eight_count, sizeof(int16_t)))
        return PELT_ERROR_FORMAT;
    return pelt_check_floats(s, group->steps, 1, rows);
}

pelt_result pelt_check_features(const pelt_skin *skin, uint64_t size, uint64_t *coefficients) {
    const pelt_file_features *f = pelt_skin_features(skin);
    pelt_section s = {(const char *)f, size};
    if (size < sizeof *f || !f->width || f->width % PELT_FEATURES_AT_ONCE || f->width > PELT_MOST_FEATURES)
        return PELT_ERROR_FORMAT;
    if (f->rank % 8 || f->rank > f->width || f->in_16_bits > 1) return PELT_ERROR_FORMAT;
    const pelt_file_feature_set *sets = pelt_array_at(&s, f->sets, f->set_count, sizeof *sets, 1);
    const pelt_file_feature_group *groups = pelt_array_at(&s, f->groups, f->group_count, sizeof *groups, 1);
    if (!sets || !groups) return PELT_ERROR_FORMAT;
    pelt_result result = check_inputs(&s, skin, f);
    for (uint32_t i = 0; i < f->set_count && !result; i++) result = check_set(&s, skin, f, &sets[i]);
    for (uint32_t i = 0; i < f->group_count && !result; i++) {
        if (groups[i].first_coefficient != *coefficients) return PELT_ERROR_FORMAT;
        *coefficients += groups[i].coefficient_count;
        result = check_group(&s, f, &groups[i]);
    }
    return result;
}
