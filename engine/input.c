/* input.c: joins clips of frames from files and engines. */

#include "engine/input.h"
#include "io/io.h"
#include "rig/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct input_part {
    const char *path;
    pelt_frame_file *file; /* or */
    pelt_misses misses;    /* or */
    pelt_engine *engine;   /* with controls */
    pelt_frames frames;
    pelt_frame_file *second; /* its points follow those of the file */
    pelt_frames second_frames;
    uint32_t first; /* frame of the joined clip */
    const char **names;
    uint32_t control_count;
    float *controls; /* [frames][control_count], or NULL */
    uint32_t *shots; /* or NULL */
} input_part;

/* -- Reading parts ------------------------------------------------------------------------------------------------- */

static pelt_result read_engine_frames(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const input_part *p = user;
    size_t frame = (size_t)p->frames.point_count * p->frames.component_count, begin, end;
    pelt_rank_share(count, &begin, &end);
    for (size_t f = begin; f < end; f++) {
        pelt_result result = pelt_engine_evaluate(p->engine, p->controls + (first + f) * p->control_count, NULL,
                                                  p->frames.point_count, values + f * frame, error);
        if (result) return result;
    }
    pelt_rank_exchange(count, 1, &(pelt_made){values, frame * sizeof *values});
    return PELT_OK;
}

static pelt_result read_misses(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const input_part *p = user;
    size_t frame = (size_t)p->frames.point_count * p->frames.component_count;
    (void)error;
    for (uint32_t f = 0; f < count; f++)
        memcpy(values + f * frame, p->misses.list[first + f].values, frame * sizeof *values);
    return PELT_OK;
}

/* Two caches side by side: the points of the first, then those of the second. */
static pelt_result read_side_by_side(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const input_part *p = user;
    size_t each = p->frames.component_count, left = p->frames.point_count * each,
           right = p->second_frames.point_count * each;
    float *one = malloc((left > right ? left : right) * sizeof *one);
    pelt_result result = one ? PELT_OK : pelt_no_memory(error);
    for (uint32_t f = 0; f < count && !result; f++) {
        float *to = values + f * (left + right);
        result = p->frames.read(p->frames.user, first + f, 1, one, error);
        if (!result) memcpy(to, one, left * sizeof *one);
        if (!result) result = p->second_frames.read(p->second_frames.user, first + f, 1, one, error);
        if (!result) memcpy(to + left, one, right * sizeof *one);
    }
    free(one);
    return result;
}

static pelt_result read_joined(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const pelt_input *input = user;
    size_t frame = (size_t)input->frames.point_count * input->frames.component_count;
    for (uint32_t i = 0; i < input->part_count && count; i++) {
        input_part *p = &input->parts[i];
        if (first >= p->first + p->frames.frame_count) continue;
        uint32_t left = p->first + p->frames.frame_count - first, now = count < left ? count : left;
        pelt_result result = p->second ? read_side_by_side(p, first - p->first, now, values, error)
                                       : p->frames.read(p->frames.user, first - p->first, now, values, error);
        if (result) return result;
        first += now, count -= now, values += now * frame;
    }
    return PELT_OK;
}

/* -- Opening parts ------------------------------------------------------------------------------------------------- */

/* Removes the column "shot" from a table; the others are controls. */
static pelt_result take_controls(pelt_input *input, input_part *p, const pelt_table *table, pelt_error *error) {
    uint32_t shot = UINT32_MAX, rows = table->row_count, columns = table->column_count;
    for (uint32_t c = 0; c < columns; c++)
        if (!strcmp(table->names[c], "shot")) shot = c;
    p->control_count = columns - (shot != UINT32_MAX);
    p->controls = PELT_NEW(input->arena, (size_t)rows * p->control_count, float);
    p->names = PELT_NEW(input->arena, p->control_count, const char *);
    p->shots = shot == UINT32_MAX ? NULL : PELT_NEW(input->arena, rows, uint32_t);
    if (pelt_arena_failed(input->arena)) return pelt_no_memory(error);
    for (uint32_t c = 0, k = 0; c < columns; c++) {
        if (c == shot) continue;
        p->names[k] = table->names[c];
        for (size_t r = 0; r < rows; r++) p->controls[r * p->control_count + k] = table->values[r * columns + c];
        k++;
    }
    for (size_t r = 0; p->shots && r < rows; r++) {
        float number = table->values[r * columns + shot];
        if (!(number >= 0 && number < 4294967296.0f && number == truncf(number)))
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s: the shot of frame %zu is %g; shots must be non-negative integers", p->path, r,
                             (double)number);
        p->shots[r] = (uint32_t)number;
    }
    return PELT_OK;
}

static pelt_result open_controls(pelt_input *input, input_part *p, pelt_engine *engine, pelt_error *error) {
    pelt_table table;
    pelt_result result = pelt_table_read(input->arena, p->path, &table, error);
    if (!result) result = take_controls(input, p, &table, error);
    if (result) return result;
    if (!engine)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "engine: is missing; name an engine to turn the controls in %s into points", p->path);
    if (p->control_count != pelt_engine_controls(engine) && !pelt_engine_control_name(engine, 0))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u controls, but the engine has %u", p->path, p->control_count,
                         pelt_engine_controls(engine));
    p->engine = engine;
    p->frames = (pelt_frames){.frame_count = table.row_count,
                              .point_count = pelt_engine_points(engine),
                              .component_count = pelt_engine_components(engine),
                              .read = read_engine_frames,
                              .user = p,
                              .name = p->path};
    return PELT_OK;
}

/* The controls that a log has, in the order of whatever computed its frames; unknown if their number changes. */
static pelt_result take_missed_controls(pelt_input *input, input_part *p, pelt_error *error) {
    uint32_t each = p->misses.list[0].control_count;
    for (size_t i = 0; i < p->misses.count; i++)
        if (!each || p->misses.list[i].control_count != each) return PELT_OK;
    p->controls = PELT_NEW(input->arena, p->misses.count * each, float);
    if (!p->controls) return pelt_no_memory(error);
    p->control_count = each;
    for (size_t i = 0; i < p->misses.count; i++)
        memcpy(p->controls + i * each, p->misses.list[i].controls, each * sizeof *p->controls);
    return PELT_OK;
}

static pelt_result open_misses(pelt_input *input, input_part *p, pelt_error *error) {
    pelt_result result = pelt_misslog_read(input->arena, p->path, &p->misses, error);
    if (result) return result;
    if (!p->misses.count) return pelt_fail(error, PELT_ERROR_DATA, "%s: has no missed frames; leave it out", p->path);
    const pelt_miss *first = p->misses.list;
    for (size_t i = 1; i < p->misses.count; i++)
        if (p->misses.list[i].point_count != first->point_count ||
            p->misses.list[i].component_count != first->component_count)
            return pelt_fail(error, PELT_ERROR_DATA, "%s: has frames of %u and %u points, which cannot be joined",
                             p->path, first->point_count, p->misses.list[i].point_count);
    p->frames = (pelt_frames){.frame_count = (uint32_t)p->misses.count,
                              .point_count = first->point_count,
                              .component_count = first->component_count,
                              .read = read_misses,
                              .user = p,
                              .name = p->path};
    return take_missed_controls(input, p, error);
}

static pelt_result open_cache(pelt_input *input, input_part *p, pelt_error *error) {
    p->file = pelt_frame_file_open(p->path, &p->frames, error);
    if (!p->file) return error->code;
    const char *dot = strrchr(p->path, '.');
    char *beside = dot ? pelt_arena_format(input->arena, "%.*s.csv", (int)(dot - p->path), p->path) : NULL;
    if (pelt_arena_failed(input->arena)) return pelt_no_memory(error);
    if (!beside || !pelt_file_exists(beside)) return PELT_OK;
    pelt_table table;
    pelt_result result = pelt_table_read(input->arena, beside, &table, error);
    if (result) return result;
    if (table.row_count != p->frames.frame_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u frames, but its controls in %s have %u", p->path,
                         p->frames.frame_count, beside, table.row_count);
    return take_controls(input, p, &table, error);
}

static pelt_result open_second(input_part *p, const char *path, pelt_error *error) {
    p->second = pelt_frame_file_open(path, &p->second_frames, error);
    if (!p->second) return error->code;
    if (p->second_frames.frame_count == p->frames.frame_count &&
        p->second_frames.component_count == p->frames.component_count)
        return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA, "%s: %u frames of %u values, but %s has %u frames of %u", path,
                     p->second_frames.frame_count, p->second_frames.component_count, p->path, p->frames.frame_count,
                     p->frames.component_count);
}

/* -- Joining ------------------------------------------------------------------------------------------------------- */

/* Names that controls are matched with. */
typedef struct name_list {
    const char *whose; /* for messages */
    const char **names;
    uint32_t count;
} name_list;

static pelt_result list_names(pelt_input *input, const pelt_engine *engine, const pelt_keys *keys, name_list *list,
                              pelt_error *error) {
    uint32_t count = engine ? pelt_engine_controls(engine) : 0;
    *list = (name_list){0};
    bool named = count && pelt_engine_control_name(engine, 0);
    if (!named) count = keys && keys->control_names ? keys->control_count : 0;
    if (!count) return PELT_OK;
    *list = (name_list){named ? "the engine" : "the training data", PELT_NEW(input->arena, count, const char *), count};
    if (!list->names) return pelt_no_memory(error);
    for (uint32_t c = 0; c < count; c++)
        list->names[c] = named ? pelt_engine_control_name(engine, c) : pelt_keys_control_name(keys, c);
    return PELT_OK;
}

/* Where `name` is among others; `count` if nowhere. */
static uint32_t find_name(const char *const *names, uint32_t count, const char *name) {
    uint32_t c = 0;
    while (c < count && strcmp(names[c], name)) c++;
    return c;
}

/* order[c]: where control c of the list is among `names`. Each must be there, and nothing else. */
static pelt_result match_names(const char *who, const char *const *names, uint32_t count, const name_list *list,
                               uint32_t *order, pelt_error *error) {
    for (uint32_t c = 0; c < count; c++) {
        if (find_name(names, c, names[c]) < c)
            return pelt_fail(error, PELT_ERROR_DATA, "%s: two controls are called \"%.80s\"; rename one", who,
                             names[c]);
        if (find_name(list->names, list->count, names[c]) == list->count)
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s: has a control \"%.80s\", which %s does not have; controls are matched by name: "
                             "rename the column, or leave it out",
                             who, names[c], list->whose);
    }
    for (uint32_t c = 0; c < list->count; c++) {
        order[c] = find_name(names, count, list->names[c]);
        if (order[c] == count)
            return pelt_fail(
                error, PELT_ERROR_DATA,
                "%s: has no control \"%.80s\", which %s has; controls are matched by name: add a column for it", who,
                list->names[c], list->whose);
    }
    return PELT_OK;
}

/* Brings the controls of a part into the order of a list. Those without names are taken to be in it. */
static pelt_result order_controls(pelt_input *input, input_part *p, const name_list *list, pelt_error *error) {
    if (!p->controls || !p->names || !list->count) return PELT_OK;
    uint32_t rows = p->frames.frame_count, count = list->count, *order = PELT_NEW(input->arena, count, uint32_t);
    float *ordered = PELT_NEW(input->arena, (size_t)rows * count, float);
    if (pelt_arena_failed(input->arena)) return pelt_no_memory(error);
    pelt_result result = match_names(p->path, p->names, p->control_count, list, order, error);
    for (size_t i = 0; i < (size_t)rows * count && !result; i++)
        ordered[i] = p->controls[i / count * count + order[i % count]];
    p->controls = ordered, p->names = list->names;
    return result;
}

pelt_result pelt_input_match(pelt_input *input, pelt_keys *keys, pelt_error *error) {
    const pelt_frames *f = &input->frames;
    if (!keys->control_names || !f->controls || !f->control_names) return PELT_OK;
    uint32_t count = keys->control_count, *order = PELT_NEW(input->arena, count, uint32_t);
    name_list training;
    pelt_control_range *ranges = PELT_NEW(input->arena, count, pelt_control_range);
    pelt_result result = list_names(input, NULL, keys, &training, error);
    if (!result && pelt_arena_failed(input->arena)) result = pelt_no_memory(error);
    if (!result) result = match_names(f->name, f->control_names, f->control_count, &training, order, error);
    for (uint32_t c = 0; c < count && !result; c++) ranges[order[c]] = keys->control_ranges[c];
    if (!result) keys->control_ranges = ranges, keys->control_names = NULL, keys->control_names_size = 0;
    return result;
}

/* Controls are known if all parts have them, as many as each other. Shots are numbered across parts; if unknown, a shot
   ends after 60 frames. */
static pelt_result join_controls(pelt_input *input, pelt_error *error) {
    pelt_frames *f = &input->frames;
    bool known = true;
    for (uint32_t i = 0; i < input->part_count; i++)
        known = known && input->parts[i].controls && input->parts[i].control_count == input->parts[0].control_count;
    uint32_t *shots = PELT_NEW(input->arena, f->frame_count, uint32_t), next = 0;
    f->control_count = known ? input->parts[0].control_count : 0;
    float *controls = known ? PELT_NEW(input->arena, (size_t)f->frame_count * f->control_count, float) : NULL;
    if (pelt_arena_failed(input->arena)) return pelt_no_memory(error);
    for (uint32_t i = 0; i < input->part_count; i++) {
        const input_part *p = &input->parts[i];
        for (uint32_t k = 0; k < p->frames.frame_count; k++) {
            next += k == 0 || (p->shots ? p->shots[k] != p->shots[k - 1] : k % 60 == 0);
            shots[p->first + k] = next;
        }
        if (known)
            memcpy(controls + (size_t)p->first * f->control_count, p->controls,
                   (size_t)p->frames.frame_count * f->control_count * sizeof *controls);
    }
    f->shots = shots;
    f->controls = controls;
    for (uint32_t i = 0; known && i < input->part_count && !f->control_names; i++)
        f->control_names = input->parts[i].names;
    return PELT_OK;
}

static pelt_result open_part(pelt_input *input, input_part *p, pelt_engine *engine, pelt_error *error) {
    const input_part *first = &input->parts[0];
    pelt_result result = pelt_ends_with(p->path, ".csv")      ? open_controls(input, p, engine, error)
                         : pelt_ends_with(p->path, ".misses") ? open_misses(input, p, error)
                                                              : open_cache(input, p, error);
    if (result) return result;
    if (p->frames.point_count != first->frames.point_count ||
        p->frames.component_count != first->frames.component_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u points of %u values, but %s has %u of %u", p->path,
                         p->frames.point_count, p->frames.component_count, first->path, first->frames.point_count,
                         first->frames.component_count);
    if (p->frames.frame_count > UINT32_MAX - input->frames.frame_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: brings the clips to more than 2^32 frames", p->path);
    p->first = input->frames.frame_count;
    input->frames.frame_count += p->frames.frame_count;
    return PELT_OK;
}

/* The first clip's names, where neither an engine nor key points have some. */
static void follow_first(const input_part *p, name_list *list) {
    if (!list->count && p->controls && p->names) *list = (name_list){p->path, p->names, p->control_count};
}

pelt_result pelt_input_open(pelt_input *input, const char *const *paths, uint32_t count, pelt_engine *engine,
                            const pelt_keys *keys, const char *with, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    *input = (pelt_input){.arena = pelt_arena_new(0)};
    input->parts = PELT_NEW(input->arena, count, input_part);
    if (pelt_arena_failed(input->arena)) return pelt_no_memory(error);
    if (!count) return pelt_fail(error, PELT_ERROR_ARGUMENT, "there are no clips to read");
    if (with && count != 1)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "with: a second mesh can be joined to a single clip only, not to %u", count);
    name_list names;
    pelt_result result = list_names(input, engine, keys, &names, error);
    for (uint32_t i = 0; i < count && !result; i++) {
        input_part *p = &input->parts[input->part_count++];
        p->path = paths[i];
        result = open_part(input, p, engine, error);
        if (!result) result = order_controls(input, p, &names, error);
        if (!result && with) result = open_second(p, with, error);
        follow_first(p, &names);
    }
    if (result) return result;
    const pelt_frames *first = &input->parts[0].frames;
    input->second_points = input->parts[0].second_frames.point_count;
    if (first->point_count > UINT32_MAX - input->second_points)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: brings the clip to more than 2^32 points", with);
    input->frames.point_count = first->point_count + input->second_points;
    input->frames.component_count = first->component_count;
    input->frames.read = read_joined;
    input->frames.user = input;
    input->frames.name = first->name;
    return join_controls(input, error);
}

void pelt_input_close(pelt_input *input) {
    for (uint32_t i = 0; i < input->part_count; i++) {
        pelt_frame_file_close(input->parts[i].file);
        pelt_frame_file_close(input->parts[i].second);
    }
    pelt_arena_free(input->arena);
}
