/* work.c: a thread with a queue of tasks. */

#include "view/work.h"
#include <pthread.h>
#include <stdlib.h>

struct view_line {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    view_task *first, **end;
    size_t count, most;
    bool stopping, joined;
};

static void *work(void *user) {
    view_line *line = user;
    pthread_mutex_lock(&line->mutex);
    for (;;) {
        while (!line->first && !line->stopping) pthread_cond_wait(&line->change, &line->mutex);
        view_task *task = line->first;
        if (!task) break;
        line->first = task->next;
        if (!line->first) line->end = &line->first;
        line->count--;
        bool stopping = line->stopping;
        pthread_mutex_unlock(&line->mutex);
        task->run(task, stopping);
        pthread_mutex_lock(&line->mutex);
    }
    pthread_mutex_unlock(&line->mutex);
    return NULL;
}

view_line *view_line_new(size_t most_tasks) {
    view_line *line = calloc(1, sizeof *line);
    if (!line) return NULL;
    line->most = most_tasks, line->end = &line->first;
    pthread_mutex_init(&line->mutex, NULL);
    pthread_cond_init(&line->change, NULL);
    if (!pthread_create(&line->thread, NULL, work, line)) return line;
    line->joined = true;
    view_line_free(line);
    return NULL;
}

bool view_line_add(view_line *line, view_task *task) {
    pthread_mutex_lock(&line->mutex);
    bool room = line->count < line->most && !line->stopping;
    if (room) {
        task->next = NULL;
        *line->end = task, line->end = &task->next, line->count++;
        pthread_cond_signal(&line->change);
    }
    pthread_mutex_unlock(&line->mutex);
    return room;
}

void view_line_stop(view_line *line) {
    if (!line || line->joined) return;
    pthread_mutex_lock(&line->mutex);
    line->stopping = true;
    pthread_cond_signal(&line->change);
    pthread_mutex_unlock(&line->mutex);
    pthread_join(line->thread, NULL);
    line->joined = true;
}

void view_line_free(view_line *line) {
    if (!line) return;
    view_line_stop(line);
    pthread_cond_destroy(&line->change);
    pthread_mutex_destroy(&line->mutex);
    free(line);
}
