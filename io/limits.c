/* limits.c: how far joints may rotate, as JSON: an object with the joints by name, in degrees.

       {"l_knee": {"bend": [0, 140], "side": [0, 0], "twist": [-5, 5], "axis": [1, 0, 0]}}

   Whatever is left out is found from clips or names. */

#include "io/io.h"
#include "rig/json.h"
#include <math.h>
#include <pelt/poses.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PELT_ANGLE_COUNT] = {"bend", "side", "twist"};

/* -- Reading -------------------------------------------------------------------------------------------------------- */

static bool read_numbers(const json_t *value, size_t count, double *out) {
    if (json_array_size(value) != count) return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(value, i);
        if (!json_is_number(number) || !isfinite(json_number_value(number))) return false;
        out[i] = json_number_value(number);
    }
    return true;
}

/* What is wrong with a member of a joint; NULL if nothing is. */
static const char *read_member(const char *key, const json_t *value, pelt_joint_limit *limit) {
    double range[2];
    if (!strcmp(key, "axis")) return read_numbers(value, 3, limit->axis) ? NULL : "takes three numbers, [x, y, z]";
    if (!strcmp(key, "part")) return NULL; /* written for people */
    for (int a = 0; a < PELT_ANGLE_COUNT; a++) {
        if (strcmp(key, names[a]) != 0) continue;
        if (!read_numbers(value, 2, range)) return "takes two numbers, [low, high], in degrees";
        limit->given[a] = 1, limit->low[a] = range[0] * M_PI / 180, limit->high[a] = range[1] * M_PI / 180;
        return NULL;
    }
    return "is not known; a joint has bend, side, twist and axis";
}

static pelt_result read_joints(pelt_arena *arena, const json_t *root, const char *path, const pelt_joint_limit **limits,
                               size_t *count, pelt_error *error) {
    const char *joint, *key, *problem;
    json_t *members, *value;
    if (!json_is_object(root))
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: expected joints by name, {\"knee\": {\"bend\": [0, 140]}}",
                         path);
    pelt_joint_limit *list = PELT_NEW(arena, json_object_size(root) + 1, pelt_joint_limit), *limit = list;
    if (!list) return pelt_no_memory(error);
    json_object_foreach((json_t *)root, joint, members) {
        if (!json_is_object(members))
            return pelt_fail(error, PELT_ERROR_FORMAT, "%s: joint \"%.100s\": expected {\"bend\": [low, high], ...}",
                             path, joint);
        limit->joint = pelt_arena_format(arena, "%s", joint);
        json_object_foreach(members, key, value) if ((problem = read_member(key, value, limit))) return pelt_fail(
            error, PELT_ERROR_FORMAT, "%s: joint \"%.100s\": \"%.60s\" %s", path, joint, key, problem);
        limit++;
    }
    *limits = list, *count = (size_t)(limit - list);
    return pelt_arena_failed(arena) ? pelt_no_memory(error) : PELT_OK;
}

pelt_result pelt_limits_parse(pelt_arena *arena, const char *text, const char *path, const pelt_joint_limit **limits,
                              size_t *count, pelt_error *error) {
    json_error_t broken;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &broken);
    if (!root) return pelt_fail(error, PELT_ERROR_FORMAT, "%s: line %d: %s", path, broken.line, broken.text);
    pelt_result result = read_joints(arena, root, path, limits, count, error);
    json_decref(root);
    return result;
}

pelt_result pelt_limits_read(pelt_bundle *bundle, const char *path, const pelt_joint_limit **limits, size_t *count,
                             pelt_error *error) {
    pelt_file file;
    if (PELT_MISSING(bundle, error) || PELT_MISSING(path, error) || PELT_MISSING(limits, error) ||
        PELT_MISSING(count, error))
        return PELT_ERROR_ARGUMENT;
    pelt_result result = pelt_file_read(bundle->arena, path, &file, error);
    if (!result && memchr(file.bytes, 0, file.size))
        result = pelt_fail(error, PELT_ERROR_FORMAT, "%s: is not JSON: it contains a zero byte", path);
    if (!result) result = pelt_limits_parse(bundle->arena, (const char *)file.bytes, path, limits, count, error);
    for (size_t i = 0; !result && i < *count; i++)
        if (pelt_joint_named(&bundle->skeleton, (*limits)[i].joint, 0) == bundle->skeleton.joint_count)
            result = pelt_fail(error, PELT_ERROR_DATA, "%s: %s has no joint \"%.100s\"", path, bundle->path,
                               (*limits)[i].joint);
    return result;
}

/* -- Writing -------------------------------------------------------------------------------------------------------- */

static double degrees(double radians) { return round(radians * 180 / M_PI * 100) / 100; }

static json_t *joint_json(const pelt_joint_range *r) {
    const double *axis = r->axes[PELT_BEND];
    return pelt_json_pack("{part:s, bend:[f f], side:[f f], twist:[f f], axis:[f f f]}", r->part, degrees(r->low[0]),
                          degrees(r->high[0]), degrees(r->low[1]), degrees(r->high[1]), degrees(r->low[2]),
                          degrees(r->high[2]), axis[0], axis[1], axis[2]);
}

pelt_result pelt_limits_write(const pelt_bundle *bundle, const pelt_motion_range *range, const char *path,
                              pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    if (PELT_MISSING(bundle, error) || PELT_MISSING(range, error) || PELT_MISSING(path, error))
        return PELT_ERROR_ARGUMENT;
    json_t *root = json_object();
    bool whole = root != NULL;
    for (size_t i = 0; i < range->count && whole; i++) {
        json_t *joint = joint_json(&range->list[i]);
        const char *name = bundle->skeleton.names[range->list[i].joint];
        whole = joint && !json_object_set_new_nocheck(root, name, joint);
    }
    char *text = whole ? pelt_json_dump(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text) return pelt_no_memory(error);
    pelt_writer *writer = pelt_writer_open(path, error);
    if (writer) {
        pelt_writer_put(writer, text, strlen(text));
        pelt_writer_put(writer, "\n", 1);
    }
    free(text);
    return writer ? pelt_writer_commit(writer, error) : error->code;
}
