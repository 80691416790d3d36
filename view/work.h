/* work.h: threads that do what takes time, each with a line of tasks. */

#ifndef PELT_VIEW_WORK_H
#define PELT_VIEW_WORK_H

#include <stdbool.h>
#include <stddef.h>

/* A task is part of what it is for, and stays where it is until `done` was called. */
typedef struct view_task {
    void (*run)(struct view_task *task, bool stopping); /* stopping: say so and do nothing */
    struct view_task *next;
} view_task;

typedef struct view_line view_line;

/* NULL when the thread cannot be started. */
view_line *view_line_new(size_t most_tasks);
/* False: too many wait already. */
bool view_line_add(view_line *line, view_task *task);
/* Runs what waits, with `stopping`, and ends the thread. */
void view_line_stop(view_line *line);
void view_line_free(view_line *line); /* NULL is fine */

#endif
