/* work.h: threads for slow work, each with a queue of tasks. */

#ifndef PELT_VIEW_WORK_H
#define PELT_VIEW_WORK_H

#include <stdbool.h>
#include <stddef.h>

/* A task is embedded in its owner, and must not move until `done` was called. */
typedef struct view_task {
    void (*run)(struct view_task *task, bool stopping); /* stopping: report that and do nothing */
    struct view_task *next;
} view_task;

typedef struct view_line view_line;

/* NULL when the thread cannot be started. */
view_line *view_line_new(size_t most_tasks);
/* False: the queue is full. */
bool view_line_add(view_line *line, view_task *task);
/* Runs queued tasks with `stopping`, and ends the thread. */
void view_line_stop(view_line *line);
void view_line_free(view_line *line); /* NULL is fine */

#endif
