/* options.c: validates the frames and options of key-point training. Everything a caller can get wrong is refused here,
   with a message that starts with the name of the option; training itself trusts its input. */

#include "fit/keys/model.h"
#include "rig/spill.h"
#include "runtime/keys_format.h"
#include <math.h>

/* The limits of the file format; the default is for a face. */
enum { MOST_ROWS = 1 << 20, MOST_COLUMNS = INT32_MAX, MOST_REGIONS = 65536, USUAL_KEYS = 170 };

static const char *const recipe_names[PELT_KEYS_RECIPE_COUNT] = {
#define NAME(code, name) [code] = name,
    PELT_KEYS_RECIPES(NAME)
#undef NAME
};

const char *pelt_keys_recipe_name(pelt_keys_recipe recipe) {
    return (unsigned)recipe < PELT_KEYS_RECIPE_COUNT ? recipe_names[recipe] : NULL;
}

/* -- Frames -------------------------------------------------------------------------------------------------------- */

static pelt_result check_frames(const pelt_frames *f, bool shared, pelt_error *error) {
    const char *name = pelt_frames_name(f);
    if (!f->frame_count || !f->point_count || !f->component_count || !f->read)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: there are no frames to train on", name);
    if (f->component_count > PELT_KEYS_MOST_COMPONENTS)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u values per point; at most %d are possible", name,
                         f->component_count, PELT_KEYS_MOST_COMPONENTS);
    uint64_t each = shared ? 1 : f->component_count, per_frame = shared ? f->component_count : 1;
    if (f->point_count * each > UINT32_MAX - PELT_BLOCK || f->frame_count * per_frame > MOST_COLUMNS)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u points of %u values in %u frames are too many to count", name,
                         f->point_count, f->component_count, f->frame_count);
    for (size_t i = 0; f->controls && i < (size_t)f->frame_count * f->control_count; i++)
        if (!isfinite(f->controls[i]))
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: control %zu of frame %zu is not finite", name,
                             i % f->control_count, i / f->control_count);
    for (uint32_t c = 0; f->controls && f->control_names && c < f->control_count; c++)
        if (!f->control_names[c])
            return pelt_fail(error, PELT_ERROR_DATA, "%s: control %u has no name, but others have", name, c);
    for (uint32_t i = 0; f->shots && i < f->frame_count; i++)
        if (f->shots[i] == UINT32_MAX)
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s: frame %u belongs to shot %u, which is not a valid shot number", name, i, UINT32_MAX);
    double sum = 0;
    for (uint32_t i = 0; f->weights && i < f->frame_count; i++) {
        if (!(f->weights[i] >= 0 && isfinite(f->weights[i])))
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: frame %u has weight %g; weights must be 0 or more", name, i,
                             (double)f->weights[i]);
        sum += f->weights[i];
    }
    if (f->weights && !(sum > 0))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: all frames have weight 0; there is nothing to train on", name);
    return PELT_OK;
}

static pelt_result check_previous(const pelt_frames *f, const pelt_keys_options *o, pelt_error *error) {
    const pelt_keys *keys = o->previous;
    if (2 * (uint64_t)keys->basis_count + f->frame_count > MOST_COLUMNS)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u frames and those behind %u vectors are too many to count",
                         pelt_frames_name(f), f->frame_count, keys->basis_count);
    if (keys->point_count != f->point_count || keys->component_count != f->component_count)
        return pelt_fail(
            error, PELT_ERROR_DATA, "%s: %u points of %u values, but the key points to retrain have %u points of %u",
            pelt_frames_name(f), f->point_count, f->component_count, keys->point_count, keys->component_count);
    return PELT_OK;
}

/* -- Options ------------------------------------------------------------------------------------------------------- */

/* A fraction of the diagonal; 0 if not given. */
static pelt_result check_share(const char *name, double value, pelt_error *error) {
    if (value >= 0 && value < 1) return PELT_OK;
    return pelt_fail_option(error, name, " must be a fraction of the diagonal between 0 and 1, not %g", value);
}

/* Counts that are limited by the frames. */
static pelt_result check_counts(const pelt_frames *f, const pelt_keys_options *o, pelt_error *error) {
    uint32_t each = o->shared ? 1 : f->component_count;
    uint32_t columns = f->frame_count * (o->shared ? f->component_count : 1), most = MOST_ROWS / each;
    if (o->engine_points > f->point_count)
        return pelt_fail_option(error, "engine_points", "keys must be among the first %u points, but there are only %u",
                                o->engine_points, f->point_count);
    if (o->keys > o->engine_points)
        return pelt_fail_option(error, "keys", "%u keys were requested, but there are only %u points", o->keys,
                                o->engine_points);
    if (o->keys > most)
        return pelt_fail_option(error, "keys", "at most %u keys of %u values are possible, not %u", most, each,
                                o->keys);
    if (o->basis > columns)
        return pelt_fail_option(
            error, "basis",
            "%u basis vectors were requested, but there are only %u frames; add frames, or use fewer vectors", o->basis,
            columns);
    if (o->regions > MOST_REGIONS)
        return pelt_fail_option(error, "regions", "at most %d are possible, not %u", MOST_REGIONS, o->regions);
    if (o->fiducial_count && !o->fiducials)
        return pelt_fail_option(error, "fiducials", "the count is %u, but the list is NULL", o->fiducial_count);
    for (uint32_t i = 0; i < o->fiducial_count; i++)
        if (o->fiducials[i] >= o->engine_points)
            return pelt_fail_option(error, "fiducials", "point %u does not exist; there are %u", o->fiducials[i],
                                    o->engine_points);
    return PELT_OK;
}

static pelt_result check_numbers(const pelt_frames *f, const pelt_keys_options *o, pelt_error *error) {
    pelt_result result = check_share("error", o->error, error);
    if (!result) result = check_share("bar", o->bar, error);
    if (!result) result = check_share("residual", o->residual, error);
    if (!result) result = check_share("spacing", o->spacing, error);
    if (result) return result;
    if (!(o->ridge >= 0 && o->ridge <= 1))
        return pelt_fail_option(error, "ridge", " must be between 0 and 1, not %g", o->ridge);
    if (!(o->diagonal >= 0 && isfinite(o->diagonal)))
        return pelt_fail_option(error, "diagonal", " must be a length, not %g", o->diagonal);
    for (size_t i = 0; o->positions && i < 3 * (size_t)f->point_count; i++)
        if (!isfinite(o->positions[i]))
            return pelt_fail_option(error, "positions", "point %zu has a position that is not finite", i / 3);
    return PELT_OK;
}

/* Options that exclude each other. */
static pelt_result check_together(const pelt_frames *f, const pelt_keys_options *o, pelt_error *error) {
    if (o->error > 0 && o->keys)
        return pelt_fail_option(error, "keys",
                                "the number of keys follows from the requested error; give one or the other");
    if (o->recipe == PELT_KEYS_PAPER && o->ridge > 0)
        return pelt_fail_option(error, "ridge",
                                "the recipe paper has no regularisation; leave it out, or use the recipe pelt");
    if (o->recipe == PELT_KEYS_PAPER && o->spacing > 0)
        return pelt_fail_option(error, "spacing",
                                "the recipe paper does not keep keys apart; leave it out, or use the recipe pelt");
    if (o->recipe != PELT_KEYS_PAPER && (o->residual > 0 || o->batch))
        return pelt_fail_option(error, o->batch ? "batch" : "residual",
                                "only the recipe paper uses it; choose that recipe, or leave it out");
    if (o->error > 0 && o->residual > 0)
        return pelt_fail_option(error, "residual",
                                "the number of keys follows from it or from the error; give one or the other");
    if (o->grid && !o->positions && (f->component_count != 3 || o->shared || o->uncentred))
        return pelt_fail_option(error, "grid", " needs the positions of the points; give them, or leave it out");
    if (o->grid && o->keys && o->grid >= o->keys)
        return pelt_fail_option(error, "grid",
                                "%u of %u keys would be spread evenly; at least one must be chosen by motion", o->grid,
                                o->keys);
    return PELT_OK;
}

pelt_result pelt_check_soft_cache(const pelt_soft_cache_options *o, pelt_error *error) {
    const char *field = pelt_soft_cache_problem(o);
    if (!field) return PELT_OK;
    return pelt_fail_option(
        error, field,
        "out of range; e_min and e_max must be between 1e-6 and 1e6, e_min at most e_max, and step between 0 and 1");
}

/* Frames that are read again give the same result. */
static size_t usual_memory(void) {
    const size_t usual = (size_t)512 << 20;
    size_t share = pelt_memory_limit() / 4;
    return share && share < usual ? share : usual;
}

pelt_result pelt_keys_resolve(const pelt_frames *f, pelt_keys_options *o, pelt_error *error) {
    pelt_result result = check_frames(f, o->shared, error);
    if (result) return result;
    if (!pelt_keys_recipe_name(o->recipe))
        return pelt_fail_option(error, "recipe", "there is no recipe %d", (int)o->recipe);
    if (!o->engine_points) o->engine_points = f->point_count;
    result = check_counts(f, o, error);
    if (!result) result = check_numbers(f, o, error);
    if (!result) result = check_together(f, o, error);
    if (!result && o->previous) result = check_previous(f, o, error);
    if (result) return result;
    uint32_t least =
        o->previous && o->previous->key_count > o->fiducial_count ? o->previous->key_count : o->fiducial_count;
    if (!o->keys) o->keys = o->engine_points < USUAL_KEYS ? o->engine_points : USUAL_KEYS;
    if (o->keys < least) o->keys = least < o->engine_points ? least : o->engine_points;
    bool plain =
        o->recipe == PELT_KEYS_PAPER || o->shared || (!o->positions && (f->component_count != 3 || o->uncentred));
    if (!o->regions) o->regions = plain ? 1 : o->keys / 3 > 0 ? o->keys / 3 : 1;
    if (o->regions > MOST_REGIONS) o->regions = MOST_REGIONS;
    if (plain && !o->witnesses) o->witnesses = PELT_KEYS_NO_WITNESSES;
    if (!o->batch) o->batch = 20;
    if (!(o->bar > 0)) o->bar = 0.01;
    if (!o->memory) o->memory = usual_memory();
    return PELT_OK;
}
