/* keys_input.c: clips for `pelt keys`, joined into one source of frames. */

#include "cli/keys_input.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct keys_part {
    const char *path;
    pelt_frame_file *file; /* or */
    pelt_misses misses;    /* or */
    pelt_engine *engine;   /* with controls */
    pelt_frames frames;
    pelt_frame_file *second; /* points that follow those of the file */
    pelt_frames second_frames;
    uint32_t first; /* frame of the joined clip */
    const char **names;
    uint32_t control_count;
    float *controls; /* [frames][control_count], or NULL */
    uint32_t *shots; /* or NULL */
} keys_part;

/* -- Engines ------------------------------------------------------------------------------------------------------- */

pelt_engine *keys_engine(const cli_args *args, int *code) {
    const char *what = cli_value(args, "engine");
    pelt_engine_options options = {.workers = args->threads};
    pelt_error error;
    *code = CLI_DONE;
    if (!what) return NULL;
    if (!cli_count(args, "points", 1, 100000000, &options.points) || !cli_number(args, "cost", 0, 1e6, &options.cost) ||
        !cli_number(args, "timeout", 0.001, 1e6, &options.timeout) ||
        !cli_count(args, "engine-controls", 0, 1 << 20, &options.controls)) {
        *code = CLI_MISUSE;
        return NULL;
    }
    pelt_engine *engine = pelt_engine_open(what, &options, &error);
    if (!engine) *code = cli_error(&error);
    return engine;
}

/* -- Reading parts ------------------------------------------------------------------------------------------------- */

static pelt_result read_engine_frames(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const keys_part *p = user;
    size_t frame = (size_t)p->frames.point_count * p->frames.component_count;
    for (uint32_t f = 0; f < count; f++) {
        pelt_result result = pelt_engine_evaluate(p->engine, p->controls + (size_t)(first + f) * p->control_count, NULL,
                                                  p->frames.point_count, values + f * frame, error);
        if (result) return result;
    }
    return PELT_OK;
}

static pelt_result read_misses(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const keys_part *p = user;
    size_t frame = (size_t)p->frames.point_count * p->frames.component_count;
    (void)error;
    for (uint32_t f = 0; f < count; f++)
        memcpy(values + f * frame, p->misses.list[first + f].values, frame * sizeof *values);
    return PELT_OK;
}

/* Two caches side by side: the points of the first, then those of the second. */
static pelt_result read_side_by_side(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
    const keys_part *p = user;
    size_t each = p->frames.component_count, left = p->frames.point_count * each,
           right = p->second_frames.point_count * each;
    float *one = malloc((left > right ? left : right) * sizeof *one);
    pelt_result result = one ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for a frame");
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
    const keys_input *input = user;
    size_t frame = (size_t)input->frames.point_count * input->frames.component_count;
    for (uint32_t i = 0; i < input->part_count && count; i++) {
        keys_part *p = &input->parts[i];
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

/* Takes the column "shot" out of a table; the others are controls. */
static bool take_controls(keys_input *input, keys_part *p, const pelt_table *table) {
    uint32_t shot = UINT32_MAX;
    for (uint32_t c = 0; c < table->column_count; c++)
        if (!strcmp(table->names[c], "shot")) shot = c;
    p->control_count = table->column_count - (shot != UINT32_MAX);
    p->controls = PELT_NEW(input->arena, (size_t)table->row_count * p->control_count + 1, float);
    p->names = PELT_NEW(input->arena, p->control_count + 1, const char *);
    p->shots = shot == UINT32_MAX ? NULL : PELT_NEW(input->arena, table->row_count, uint32_t);
    if (!p->controls || !p->names) return false;
    for (uint32_t c = 0, k = 0; c < table->column_count; c++) {
        if (c == shot) continue;
        p->names[k] = table->names[c];
        for (size_t r = 0; r < table->row_count; r++)
            p->controls[r * p->control_count + k] = table->values[r * table->column_count + c];
        k++;
    }
    for (size_t r = 0; p->shots && r < table->row_count; r++)
        p->shots[r] = (uint32_t)table->values[r * table->column_count + shot];
    return true;
}

static bool open_controls(keys_input *input, keys_part *p, pelt_engine *engine, pelt_error *error) {
    pelt_table table;
    if (pelt_table_read(input->arena, p->path, &table, error)) return false;
    if (!take_controls(input, p, &table)) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory"), false;
    if (!engine)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: are controls; --engine says what turns them into points",
                         p->path),
               false;
    if (p->control_count != pelt_engine_controls(engine))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u controls, but the engine has %u", p->path, p->control_count,
                         pelt_engine_controls(engine)),
               false;
    p->engine = engine;
    p->frames = (pelt_frames){.frame_count = table.row_count,
                              .point_count = pelt_engine_points(engine),
                              .component_count = pelt_engine_components(engine),
                              .read = read_engine_frames,
                              .user = p,
                              .name = p->path};
    return true;
}

static bool open_misses(keys_input *input, keys_part *p, pelt_error *error) {
    if (pelt_misslog_read(input->arena, p->path, &p->misses, error)) return false;
    if (!p->misses.count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: has no missed frames; leave it out", p->path), false;
    const pelt_miss *first = p->misses.list;
    for (size_t i = 1; i < p->misses.count; i++)
        if (p->misses.list[i].point_count != first->point_count ||
            p->misses.list[i].component_count != first->component_count)
            return pelt_fail(error, PELT_ERROR_DATA, "%s: has frames of %u and of %u points; they cannot be joined",
                             p->path, first->point_count, p->misses.list[i].point_count),
                   false;
    p->frames = (pelt_frames){.frame_count = (uint32_t)p->misses.count,
                              .point_count = first->point_count,
                              .component_count = first->component_count,
                              .read = read_misses,
                              .user = p,
                              .name = p->path};
    return true;
}

static bool open_cache(keys_input *input, keys_part *p, pelt_error *error) {
    p->file = pelt_frame_file_open(p->path, &p->frames, error);
    if (!p->file) return false;
    const char *dot = strrchr(p->path, '.');
    char *beside = pelt_arena_format(input->arena, "%.*s.csv", (int)(dot ? dot - p->path : 0), p->path);
    if (!dot || !beside || access(beside, R_OK)) return true;
    pelt_table table;
    if (pelt_table_read(input->arena, beside, &table, error)) return false;
    if (table.row_count != p->frames.frame_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: %u frames, but its controls in %s have %u", p->path,
                         p->frames.frame_count, beside, table.row_count),
               false;
    return take_controls(input, p, &table);
}

static bool open_second(keys_part *p, const char *path, pelt_error *error) {
    p->second = pelt_frame_file_open(path, &p->second_frames, error);
    if (!p->second) return false;
    if (p->second_frames.frame_count == p->frames.frame_count &&
        p->second_frames.component_count == p->frames.component_count)
        return true;
    return pelt_fail(error, PELT_ERROR_DATA, "%s: %u frames of %u values, but %s has %u frames of %u", path,
                     p->second_frames.frame_count, p->second_frames.component_count, p->path, p->frames.frame_count,
                     p->frames.component_count),
           false;
}

/* -- Joining ------------------------------------------------------------------------------------------------------- */

static bool same_names(const keys_part *a, const keys_part *b) {
    if (a->control_count != b->control_count) return false;
    for (uint32_t c = 0; c < a->control_count; c++)
        if (strcmp(a->names[c], b->names[c])) return false;
    return true;
}

/* Controls are known when all parts know them, by the same names. Shots are numbered through. */
static bool join_controls(keys_input *input) {
    pelt_frames *f = &input->frames;
    bool known = true;
    for (uint32_t i = 0; i < input->part_count; i++)
        known = known && input->parts[i].controls && same_names(&input->parts[0], &input->parts[i]);
    uint32_t *shots = PELT_NEW(input->arena, f->frame_count, uint32_t), next = 0;
    float *controls = NULL;
    f->control_count = input->parts[0].control_count;
    if (known) controls = PELT_NEW(input->arena, (size_t)f->frame_count * f->control_count + 1, float);
    if (!shots || (known && !controls)) return false;
    for (uint32_t i = 0; i < input->part_count; i++) {
        const keys_part *p = &input->parts[i];
        for (uint32_t k = 0; k < p->frames.frame_count; k++) {
            bool begins = k == 0 || (p->shots ? p->shots[k] != p->shots[k - 1] : k % 60 == 0);
            next += begins;
            shots[p->first + k] = next;
        }
        if (known)
            memcpy(controls + (size_t)p->first * f->control_count, p->controls,
                   (size_t)p->frames.frame_count * f->control_count * sizeof *controls);
    }
    f->shots = shots;
    f->controls = controls;
    input->control_names = known ? input->parts[0].names : NULL;
    return true;
}

static bool open_parts(keys_input *input, const char *const *paths, int count, pelt_engine *engine, const char *with,
                       pelt_error *error) {
    for (int i = 0; i < count; i++) {
        keys_part *p = &input->parts[input->part_count++];
        p->path = paths[i];
        bool opened = pelt_ends_with(p->path, ".csv")      ? open_controls(input, p, engine, error)
                      : pelt_ends_with(p->path, ".misses") ? open_misses(input, p, error)
                                                           : open_cache(input, p, error);
        if (!opened || (with && !open_second(p, with, error))) return false;
        const keys_part *first = &input->parts[0];
        if (p->frames.point_count != first->frames.point_count ||
            p->frames.component_count != first->frames.component_count)
            return pelt_fail(error, PELT_ERROR_DATA, "%s: %u points of %u values, but %s has %u of %u", p->path,
                             p->frames.point_count, p->frames.component_count, first->path, first->frames.point_count,
                             first->frames.component_count),
                   false;
        p->first = input->frames.frame_count;
        input->frames.frame_count += p->frames.frame_count;
    }
    const keys_part *first = &input->parts[0];
    input->frames.point_count = first->frames.point_count + first->second_frames.point_count;
    input->frames.component_count = first->frames.component_count;
    input->frames.read = read_joined;
    input->frames.user = input;
    input->frames.name = first->path;
    return join_controls(input) || (pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the controls"), false);
}

bool keys_input_open(keys_input *input, const char *const *paths, int count, pelt_engine *engine, const char *with) {
    pelt_error error;
    *input = (keys_input){.arena = pelt_arena_new(0)};
    if (input->arena) input->parts = PELT_NEW(input->arena, (size_t)count, keys_part);
    if (!input->parts) return cli_fail("not enough memory"), false;
    if (with && count != 1) return cli_fail("--with joins a second mesh to one clip; %d are given", count), false;
    if (open_parts(input, paths, count, engine, with, &error)) return true;
    cli_error(&error);
    return false;
}

void keys_input_close(keys_input *input) {
    for (uint32_t i = 0; i < input->part_count; i++) {
        pelt_frame_file_close(input->parts[i].file);
        pelt_frame_file_close(input->parts[i].second);
    }
    pelt_arena_free(input->arena);
}

uint32_t keys_input_second_points(const keys_input *input) { return input->parts[0].second_frames.point_count; }
