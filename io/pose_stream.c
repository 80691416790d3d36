/* pose_stream.c: poses that arrive line by line, from a pipe, standard input, or a recorded file.

       # a comment; empty lines are ignored
       wrist thumb1 index1                            <- optional: whose numbers follow
       0 0 0 1  0.1 0 0 0.995  0 0.2 0 0.98           <- one pose: x y z w for each of them

   Without a line of names there are four numbers per joint of the skeleton, in order. A name may also be a control,
   which has one number. Rotations are relative to the parent, as in glTF; joints that are not named stay at rest.
   Numbers and names are separated by spaces, tabs or commas; a line of names with tabs or commas is split at those
   alone. */

#include "io/io.h"
#include "rig/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINE = 1 << 20, PATIENCE = 100 }; /* bytes; milliseconds between checks of *stop */

/* What the next numbers of a line set. */
typedef struct column {
    bool is_control;
    uint32_t index;
} column;

struct pelt_pose_stream {
    const pelt_bundle *bundle;
    const volatile sig_atomic_t *stop;
    const char *name; /* for messages */
    int descriptor;
    bool recorded, named, begun, ended;
    bool cut; /* skipping a line that is too long */
    uint32_t column_count, number_count;
    column *columns; /* [column_count] */
    float *numbers;  /* [number_count] */
    size_t line;     /* number of the last line taken */
    size_t taken, filled;
    double arrived; /* when the last bytes arrived */
    char *bytes;    /* [MOST_LINE + 1]: `taken` to `filled` are still unread */
    pelt_arena *arena;
};

/* -- Opening ------------------------------------------------------------------------------------------------------- */

static void all_joints(pelt_pose_stream *s) {
    s->column_count = s->bundle->skeleton.joint_count, s->number_count = 4 * s->column_count;
    for (uint32_t j = 0; j < s->column_count; j++) s->columns[j] = (column){false, j};
}

static pelt_result open_source(pelt_pose_stream *s, const char *path, pelt_error *error) {
    struct stat status;
    bool standard = !strcmp(path, "-");
    s->name = standard ? "standard input" : pelt_arena_format(s->arena, "%s", path);
    s->descriptor = standard ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
    if (s->descriptor < 0 && errno == EINTR && *s->stop) return s->ended = true, PELT_OK;
    if (s->descriptor < 0 || fstat(s->descriptor, &status))
        return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be read: %s", s->name, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return pelt_fail(error, PELT_ERROR_FILE,
                         "%s: is a folder; name a pipe, a file of poses, or - for standard input", s->name);
    s->recorded = S_ISREG(status.st_mode);
    return PELT_OK;
}

/* A pipe has readers as soon as one waits for a writer. */
void pelt_pose_stream_wake(const char *path) {
    struct stat status;
    if (!strcmp(path, "-") || stat(path, &status) || !S_ISFIFO(status.st_mode)) return;
    int descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0) close(descriptor);
}

pelt_pose_stream *pelt_pose_stream_open(const char *path, const pelt_bundle *bundle, const volatile sig_atomic_t *stop,
                                        pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    size_t most = (size_t)bundle->skeleton.joint_count + bundle->controls.count;
    pelt_pose_stream *s = PELT_NEW(arena, 1, pelt_pose_stream);
    column *columns = PELT_NEW(arena, most, column);
    float *numbers = PELT_NEW(arena, 4 * most, float);
    char *bytes = PELT_NEW(arena, MOST_LINE + 1, char);
    if (pelt_arena_failed(arena)) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    *s = (pelt_pose_stream){.bundle = bundle,
                            .stop = stop,
                            .descriptor = -1,
                            .columns = columns,
                            .numbers = numbers,
                            .bytes = bytes,
                            .arena = arena};
    all_joints(s);
    if (!open_source(s, path, error)) return s;
    pelt_pose_stream_close(s);
    return NULL;
}

void pelt_pose_stream_close(pelt_pose_stream *s) {
    if (!s) return;
    if (s->descriptor >= 0) close(s->descriptor);
    pelt_arena_free(s->arena);
}

bool pelt_pose_stream_is_recorded(const pelt_pose_stream *s) { return s->recorded; }

/* -- Lines --------------------------------------------------------------------------------------------------------- */

static void make_room(pelt_pose_stream *s) {
    memmove(s->bytes, s->bytes + s->taken, s->filled - s->taken);
    s->filled -= s->taken, s->taken = 0;
    if (s->filled < MOST_LINE) return;
    s->filled = 0, s->cut = true; /* drop the rest of the line too */
}

/* Waits for more bytes; false at the end, when asked to stop, or after a failure. */
static bool read_more(pelt_pose_stream *s, pelt_error *error) {
    make_room(s);
    while (!*s->stop && !s->ended) {
        struct pollfd wait = {.fd = s->descriptor, .events = POLLIN};
        int ready = poll(&wait, 1, PATIENCE);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        ssize_t got = ready < 0 ? -1 : read(s->descriptor, s->bytes + s->filled, MOST_LINE - s->filled);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be read: %s", s->name, strerror(errno));
        if (got <= 0) return s->ended = true, false;
        s->filled += (size_t)got, s->arrived = pelt_wall_seconds();
        return true;
    }
    return false;
}

/* The next line, zero-terminated; NULL if there is none. *whole: it ended with a newline, within the size limit. */
static char *next_line(pelt_pose_stream *s, bool *whole, pelt_error *error) {
    for (size_t looked = s->taken;;) {
        char *end = memchr(s->bytes + looked, '\n', s->filled - looked);
        if (end) {
            char *line = s->bytes + s->taken;
            s->taken = (size_t)(end - s->bytes) + 1, s->line++;
            *end = 0, *whole = !s->cut, s->cut = false;
            if (end > line && end[-1] == '\r') end[-1] = 0;
            return line;
        }
        size_t left = s->filled - s->taken;
        bool more = read_more(s, error);
        looked = s->cut ? 0 : left;
        if (more) continue;
        if (error->code || *s->stop || s->filled == s->taken) return NULL;
        char *line = s->bytes + s->taken;
        s->bytes[s->filled] = 0, s->taken = s->filled, s->line++;
        *whole = false;
        return line;
    }
}

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t,\r"); }

/* -- Names --------------------------------------------------------------------------------------------------------- */

static bool begins_with_number(const char *at) {
    char *end;
    strtod(at, &end);
    return end != at && (!*end || strchr(" \t,\r", *end));
}

static bool find_column(const pelt_pose_stream *s, const char *name, size_t length, column *out) {
    const pelt_skeleton *skeleton = &s->bundle->skeleton;
    const pelt_controls *controls = &s->bundle->controls;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        if (strlen(skeleton->names[j]) == length && !strncmp(skeleton->names[j], name, length))
            return *out = (column){false, j}, true;
    for (uint32_t c = 0; c < controls->count; c++)
        if (strlen(controls->names[c]) == length && !strncmp(controls->names[c], name, length))
            return *out = (column){true, c}, true;
    return false;
}

static bool has_column(const pelt_pose_stream *s, column wanted) {
    for (uint32_t i = 0; i < s->column_count; i++)
        if (s->columns[i].is_control == wanted.is_control && s->columns[i].index == wanted.index) return true;
    return false;
}

static pelt_result read_names(pelt_pose_stream *s, const char *line, pelt_error *error) {
    const char *separators = strpbrk(line, ",\t") ? ",\t" : " ";
    s->column_count = s->number_count = 0, s->named = true;
    for (const char *at = line; *at;) {
        at += strspn(at, separators), at += strspn(at, " ");
        size_t length = strcspn(at, separators), next = length;
        while (length && at[length - 1] == ' ') length--;
        column found;
        if (!length) continue;
        if (!find_column(s, at, length, &found))
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s: line %zu names \"%.*s\", and %s has no such joint or control; pelt info lists them",
                             s->name, s->line, length < 80 ? (int)length : 80, at, s->bundle->path);
        if (has_column(s, found))
            return pelt_fail(error, PELT_ERROR_DATA, "%s: line %zu names \"%.*s\" twice", s->name, s->line,
                             length < 80 ? (int)length : 80, at);
        s->columns[s->column_count++] = found, s->number_count += found.is_control ? 1 : 4;
        at += next;
    }
    return PELT_OK;
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static pelt_result read_numbers(pelt_pose_stream *s, const char *line, pelt_error *error) {
    uint32_t count = 0;
    for (const char *at = skip_blanks(line); *at; at = skip_blanks(at)) {
        char *end;
        float value = strtof(at, &end);
        if (end == at || (*end && !strchr(" \t,\r", *end)) || !isfinite(value))
            return pelt_fail(error, PELT_ERROR_DATA, "%s: line %zu: \"%.*s\" is not a number; the line is skipped",
                             s->name, s->line, (int)strcspn(at, " \t,\r") < 40 ? (int)strcspn(at, " \t,\r") : 40, at);
        if (count < s->number_count) s->numbers[count] = value;
        at = end, count++;
    }
    if (count == s->number_count) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: line %zu has %u numbers, expected %u (4 per joint for %u joints%s); the line is skipped",
                     s->name, s->line, count, s->number_count, s->number_count / 4,
                     s->number_count % 4 ? ", and 1 per control" : "");
}

static pelt_result set_pose(const pelt_pose_stream *s, pelt_transform *locals, float *controls, pelt_error *error) {
    const float *at = s->numbers;
    for (uint32_t i = 0; i < s->column_count; i++) {
        const column *c = &s->columns[i];
        if (c->is_control) {
            controls[c->index] = *at++;
            continue;
        }
        double length =
            sqrt((double)at[0] * at[0] + (double)at[1] * at[1] + (double)at[2] * at[2] + (double)at[3] * at[3]);
        if (!(length > 1e-6 && length < 1e6))
            return pelt_fail(error, PELT_ERROR_DATA,
                             "%s: line %zu: the quaternion of \"%s\" is zero; the line is skipped", s->name, s->line,
                             s->bundle->skeleton.names[c->index]);
        for (int k = 0; k < 4; k++) locals[c->index].rotation[k] = (float)(at[k] / length);
        at += 4;
    }
    return PELT_OK;
}

pelt_stream_event pelt_pose_stream_next(pelt_pose_stream *s, pelt_transform *locals, float *controls, double *arrived,
                                        pelt_error *error) {
    bool whole;
    *error = (pelt_error){0};
    for (char *line; (line = next_line(s, &whole, error));) {
        const char *first = skip_blanks(line);
        if (!whole && !s->ended)
            return pelt_fail(error, PELT_ERROR_DATA, "%s: line %zu is longer than a megabyte; it is skipped", s->name,
                             s->line),
                   PELT_STREAM_BAD;
        if (!*first || *first == '#') continue;
        if (!whole)
            return pelt_fail(error, PELT_ERROR_TRUNCATED, "%s: ends within line %zu; the line is skipped", s->name,
                             s->line),
                   PELT_STREAM_BAD;
        if (!s->named && !s->begun && !begins_with_number(first)) {
            if (read_names(s, line, error)) return PELT_STREAM_FAILED;
            continue;
        }
        s->begun = true, *arrived = s->arrived;
        memcpy(locals, s->bundle->skeleton.rest, s->bundle->skeleton.joint_count * sizeof *locals);
        for (uint32_t c = 0; c < s->bundle->controls.count; c++) controls[c] = s->bundle->controls.rest[c];
        if (read_numbers(s, line, error) || set_pose(s, locals, controls, error)) return PELT_STREAM_BAD;
        return PELT_STREAM_POSE;
    }
    return error->code ? PELT_STREAM_FAILED : PELT_STREAM_END;
}

/* -- Recording ----------------------------------------------------------------------------------------------------- */

static void put_text(pelt_writer *writer, const char *text) { pelt_writer_put(writer, text, strlen(text)); }

pelt_result pelt_poses_write(const char *path, const pelt_bundle *bundle, const pelt_clip *clip, pelt_error *error) {
    const pelt_skeleton *skeleton = &bundle->skeleton;
    pelt_transform *locals = malloc(skeleton->joint_count * sizeof *locals);
    if (!locals) return pelt_no_memory(error);
    pelt_writer *writer = pelt_writer_open(path, error);
    for (uint32_t j = 0; j < skeleton->joint_count && writer; j++) {
        put_text(writer, skeleton->names[j]);
        put_text(writer, j + 1 < skeleton->joint_count ? "\t" : "\n");
    }
    for (uint32_t f = 0; f < clip->frame_count && writer; f++) {
        pelt_clip_pose(clip, skeleton, f, locals);
        for (uint32_t j = 0; j < skeleton->joint_count; j++) {
            const float *q = locals[j].rotation;
            char text[80];
            snprintf(text, sizeof text, "%.9g %.9g %.9g %.9g%s", q[0], q[1], q[2], q[3],
                     j + 1 < skeleton->joint_count ? "  " : "\n");
            put_text(writer, text);
        }
    }
    free(locals);
    return writer ? pelt_writer_commit(writer, error) : error->code;
}
