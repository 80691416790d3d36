/* drive_rules.c: which driven joints to add, as JSON: a list of rules, each for the joints it names.

       [{"joints": "*elbow", "turn": [0.5], "twist": 3, "bend": [0.25, 0.5], "bulge": {"k": 8, "downstream": false}}]

   A number n instead of a list of fractions means n evenly spaced ones, 1/(n+1), 2/(n+1), ...; "bulge": 8 means k = 8
   on both sides, "bulge": true the paper's k. Comma-separated names make one rule each. */

#include "io/io.h"
#include <jansson.h>
#include <string.h>

static const double usual_k = 8; /* the paper's */

static const char *const known[] = {"turn", "twist", "bend", "bulge", "joints"};

static const char *read_fractions(pelt_arena *arena, const json_t *value, uint32_t *count, const float **fractions) {
    if (!value) return NULL;
    bool spaced = json_is_integer(value);
    json_int_t n = spaced ? json_integer_value(value) : (json_int_t)json_array_size(value);
    if (spaced && (n < 0 || n > PELT_MOST_FRACTIONS)) return "takes 0 to 16 fractions";
    if (!spaced && (!json_is_array(value) || n > PELT_MOST_FRACTIONS))
        return "takes a list of at most 16 fractions, or their number";
    float *list = PELT_NEW(arena, (size_t)n, float);
    for (json_int_t i = 0; i < n && list; i++) {
        const json_t *number = json_array_get(value, (size_t)i);
        if (!spaced && !json_is_number(number)) return "has a fraction that is not a number";
        list[i] = (float)(spaced ? ((double)i + 1) / ((double)n + 1) : json_number_value(number));
    }
    *count = (uint32_t)n, *fractions = list;
    return NULL;
}

static const char *read_bulge(const json_t *value, pelt_drive_rule *rule) {
    if (!value || json_is_false(value)) return NULL;
    const json_t *k = json_is_object(value) ? json_object_get(value, "k") : value;
    if (!json_is_object(value) && !json_is_number(value) && !json_is_true(value))
        return "takes true, a number k, or {\"k\": ..., \"upstream\": ..., \"downstream\": ...}";
    if (json_is_object(value) && k && !json_is_number(k)) return "has a k that is not a number";
    rule->k = json_is_number(k) ? json_number_value(k) : usual_k;
    rule->upstream = !json_is_false(json_object_get(value, "upstream"));
    rule->downstream = !json_is_false(json_object_get(value, "downstream"));
    return NULL;
}

/* Returns what is wrong, and `where`; NULL if nothing is. */
static const char *read_rule(pelt_arena *arena, const json_t *object, pelt_drive_rule *rule, const char **where) {
    const char *key;
    json_t *value;
    *where = "joints";
    if (!json_is_string(json_object_get(object, "joints"))) return "is missing: it names the joints of a rule";
    json_object_foreach((json_t *)object, key, value) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) found |= !strcmp(key, known[i]);
        *where = key;
        if (!found) return "is not a key of a rule; use joints, turn, twist, bend or bulge";
    }
    uint32_t *counts[] = {&rule->turn_count, &rule->twist_count, &rule->bend_count};
    const float **lists[] = {&rule->turns, &rule->twists, &rule->bends};
    for (int kind = 0; kind < 3; kind++) {
        *where = known[kind];
        const char *problem = read_fractions(arena, json_object_get(object, known[kind]), counts[kind], lists[kind]);
        if (problem) return problem;
    }
    *where = "bulge";
    return read_bulge(json_object_get(object, "bulge"), rule);
}

static size_t count_words(const char *text) {
    size_t count = 1;
    for (; *text; text++) count += *text == ',';
    return count;
}

static pelt_result read_rules(pelt_arena *arena, const json_t *array, const char *path, pelt_drive_rules *rules,
                              pelt_error *error) {
    size_t room = 0;
    if (!json_is_array(array))
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: expected a list of rules, [{\"joints\": ...}]", path);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *names = json_string_value(json_object_get(json_array_get(array, i), "joints"));
        room += names ? count_words(names) : 0;
    }
    pelt_drive_rule *list = PELT_NEW(arena, room, pelt_drive_rule);
    *rules = (pelt_drive_rules){0, list};
    for (size_t i = 0; i < json_array_size(array) && list; i++) {
        const json_t *object = json_array_get(array, i);
        const char *where, *problem;
        pelt_drive_rule rule = {0};
        if ((problem = read_rule(arena, object, &rule, &where)))
            return pelt_fail(error, PELT_ERROR_FORMAT, "%s: rule %zu: \"%.200s\" %s", path, i + 1, where, problem);
        for (const char *word = json_string_value(json_object_get(object, "joints")); *word;) {
            int length = (int)strcspn(word, ",");
            rule.joints = pelt_arena_format(arena, "%.*s", length, word);
            if (length) list[rules->count++] = rule;
            word += length + (word[length] == ',');
        }
    }
    return pelt_arena_failed(arena) ? pelt_no_memory(error) : PELT_OK;
}

pelt_result pelt_drive_rules_parse(pelt_arena *arena, const char *text, const char *path, pelt_drive_rules *rules,
                                   pelt_error *error) {
    json_error_t broken;
    json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, &broken);
    if (!array) return pelt_fail(error, PELT_ERROR_FORMAT, "%s: line %d: %s", path, broken.line, broken.text);
    pelt_result result = read_rules(arena, array, path, rules, error);
    json_decref(array);
    return result;
}
