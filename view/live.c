/* live.c: a character that follows poses as they come, line by line (io/pose_stream.c).

   A thread reads the stream as fast as it comes and keeps the latest pose; pages ask for that whenever they have drawn
   the one before. So a slow page skips poses instead of falling behind, and never slows down whoever writes them. */

#include "rig/clock.h"
#include "view/show.h"
#include <math.h>
#include <string.h>
#include <time.h>

enum { CHECKS = 20 }; /* a second, of whether to stop */

struct view_live {
    pelt_view_stream options;
    char *path;
    uint32_t character;
    const pelt_bundle *bundle;
    volatile sig_atomic_t stop;
    atomic_bool finished;
    pthread_t thread;
    pelt_arena *arena;
    pelt_transform *next; /* where the thread reads a pose to */
    float *next_controls;
    pthread_mutex_t mutex; /* protects: */
    pelt_view_stream_state state;
    uint32_t count; /* poses so far */
    uint32_t skipped;
    pelt_transform *locals; /* [joint] the latest pose */
    float *controls;        /* [control] */
};

/* -- Following --------------------------------------------------------------------------------------------------- */

static void set_state(struct view_live *l, pelt_view_stream_state state) {
    pthread_mutex_lock(&l->mutex);
    l->state = state;
    pthread_mutex_unlock(&l->mutex);
}

static void take_pose(struct view_live *l) {
    pthread_mutex_lock(&l->mutex);
    memcpy(l->locals, l->next, l->bundle->skeleton.joint_count * sizeof *l->locals);
    if (l->bundle->controls.count) memcpy(l->controls, l->next_controls, l->bundle->controls.count * sizeof(float));
    l->count++;
    l->state = PELT_STREAM_LIVE;
    pthread_mutex_unlock(&l->mutex);
}

static void skip_line(struct view_live *l, const pelt_error *error) {
    pthread_mutex_lock(&l->mutex);
    l->skipped++;
    pthread_mutex_unlock(&l->mutex);
    if (l->options.say) l->options.say(l->options.user, error->text);
}

/* Waits until a recorded pose is due, but no longer than until it should stop. */
static void wait_until(const struct view_live *l, double time) {
    for (double left; !l->stop && (left = time - pelt_wall_seconds()) > 0;) {
        double step = fmin(left, 1.0 / CHECKS);
        nanosleep(&(struct timespec){0, (long)(1e9 * step)}, NULL);
    }
}

static void follow(struct view_live *l, pelt_pose_stream *stream) {
    pelt_error error;
    double arrived, begun = pelt_wall_seconds();
    while (!l->stop) {
        pelt_stream_event event = pelt_pose_stream_next(stream, l->next, l->next_controls, &arrived, &error);
        if (event == PELT_STREAM_END) return set_state(l, PELT_STREAM_OVER);
        if (event == PELT_STREAM_FAILED) {
            if (l->options.say) l->options.say(l->options.user, error.text);
            return set_state(l, PELT_STREAM_BROKEN);
        }
        if (event == PELT_STREAM_BAD) {
            skip_line(l, &error);
            continue;
        }
        if (pelt_pose_stream_is_recorded(stream)) wait_until(l, begun + l->count / l->options.rate);
        take_pose(l);
    }
}

/* Opening a named pipe waits for whoever writes to it, so it is done here. */
static void *run(void *user) {
    struct view_live *l = user;
    pelt_error error;
    pelt_pose_stream *stream = pelt_pose_stream_open(l->path, l->bundle, &l->stop, &error);
    if (stream) {
        follow(l, stream);
    } else {
        if (l->options.say) l->options.say(l->options.user, error.text);
        set_state(l, PELT_STREAM_BROKEN);
    }
    pelt_pose_stream_close(stream);
    atomic_store(&l->finished, true);
    return NULL;
}

/* -- Start and end ------------------------------------------------------------------------------------------------- */

/* The first character that has a skeleton. */
static const pelt_bundle *find_character(const pelt_view *view, uint32_t *character) {
    for (uint32_t c = 0; c < view->character_count; c++)
        if (view->characters[c]->bundle) return *character = c, view->characters[c]->bundle;
    return NULL;
}

static pelt_result make_room(struct view_live *l, const char *path, pelt_error *error) {
    size_t joints = l->bundle->skeleton.joint_count, controls = l->bundle->controls.count;
    l->arena = pelt_arena_new(0);
    l->path = pelt_arena_format(l->arena, "%s", path);
    l->next = PELT_NEW(l->arena, joints, pelt_transform), l->locals = PELT_NEW(l->arena, joints, pelt_transform);
    l->next_controls = PELT_NEW(l->arena, controls + 1, float), l->controls = PELT_NEW(l->arena, controls + 1, float);
    return pelt_arena_failed(l->arena) ? pelt_no_memory(error) : PELT_OK;
}

pelt_result pelt_view_follow(pelt_view *view, const pelt_view_stream *options, pelt_error *error) {
    uint32_t character;
    const pelt_bundle *bundle = find_character(view, &character);
    if (!bundle)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "live poses need a character: name its bundle, such as body.glb, along with its skin");
    struct view_live *l = calloc(1, sizeof *l);
    if (!l) return pelt_no_memory(error);
    *l = (struct view_live){.options = *options, .character = character, .bundle = bundle};
    if (!(l->options.rate > 0)) l->options.rate = 60;
    pthread_mutex_init(&l->mutex, NULL);
    pelt_result result = make_room(l, options->path, error);
    if (!result && pthread_create(&l->thread, NULL, run, l))
        result = pelt_fail(error, PELT_ERROR_MEMORY, "cannot start the thread that reads %s", options->path);
    if (!result) return view->live = l, PELT_OK;
    pthread_mutex_destroy(&l->mutex);
    pelt_arena_free(l->arena);
    free(l);
    return result;
}

void view_live_end(struct view_live *l) {
    if (!l) return;
    l->stop = 1;
    while (!atomic_load(&l->finished)) {
        pelt_pose_stream_wake(l->path); /* it may come to the pipe only now */
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->mutex);
    pelt_arena_free(l->arena);
    free(l);
}

/* -- For the page ------------------------------------------------------------------------------------------------ */

json_t *view_live_json(const struct view_live *l) {
    return l ? pelt_json_pack("{character:u, pose:s}", l->character, "data/live.bin") : json_null();
}

/* u32 state, poses so far, lines skipped, 0; then the latest pose: pelt_transform of every joint, f32 of every control. */
pelt_result view_make_live(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    struct view_live *l = view->live;
    (void)place;
    if (!l) return view_absent(error);
    size_t joints = l->bundle->skeleton.joint_count * sizeof *l->locals;
    size_t controls = l->bundle->controls.count * sizeof *l->controls;
    uint32_t head[4] = {0};
    char *bytes = view_bytes(out, sizeof head + joints + controls, "application/octet-stream", error);
    if (!bytes) return PELT_ERROR_MEMORY;
    pthread_mutex_lock(&l->mutex);
    head[0] = l->state, head[1] = l->count, head[2] = l->skipped;
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, l->locals, joints);
    memcpy(bytes + sizeof head + joints, l->controls, controls);
    pthread_mutex_unlock(&l->mutex);
    return PELT_OK;
}
