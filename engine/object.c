/* object.c: a shared object as an engine. It has one function,

       int pelt_evaluate_points(const float *controls, unsigned control_count,
                                const unsigned *points, unsigned count, float *values);

   which returns 0, and may export the constants pelt_points, pelt_components and pelt_controls (unsigned). It is loaded
   in a separate process, which speaks the protocol of process.h: if it crashes, it crashes there. */

#include "engine/process.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int evaluate_points(const float *, unsigned, const unsigned *, unsigned, float *);

typedef struct server {
    int channel;
    evaluate_points *evaluate;
    uint32_t points, components, controls;
} server;

static bool read_all(int channel, void *bytes, size_t size) {
    for (char *at = bytes; size;) {
        ssize_t got = read(channel, at, size);
        if (got <= 0) return false;
        at += got, size -= (size_t)got;
    }
    return true;
}

static bool write_all(int channel, const void *bytes, size_t size) {
    for (const char *at = bytes; size;) {
        ssize_t put = write(channel, at, size);
        if (put <= 0) return false;
        at += put, size -= (size_t)put;
    }
    return true;
}

static int complain(int channel, const char *sentence) {
    uint32_t head[2] = {0x52524550, (uint32_t)strlen(sentence)};
    write_all(channel, head, sizeof head);
    write_all(channel, sentence, head[1]);
    return 1;
}

static uint32_t constant(void *object, const char *name, uint32_t otherwise) {
    const unsigned *value = dlsym(object, name);
    return value ? *value : otherwise;
}

/* Answers requests until the channel closes. */
static int serve(const server *s) {
    uint32_t head[3];
    float *controls = calloc((size_t)s->controls + 1, sizeof *controls);
    uint32_t *points = calloc(s->points, sizeof *points);
    float *values = calloc((size_t)s->points * s->components, sizeof *values);
    if (!controls || !points || !values) return complain(s->channel, "not enough memory");
    while (read_all(s->channel, head, sizeof head)) {
        if (head[1] != s->controls || head[2] > s->points) return 1;
        if (!read_all(s->channel, controls, head[1] * sizeof *controls) ||
            !read_all(s->channel, points, head[2] * sizeof *points))
            break;
        if (s->evaluate(controls, head[1], points, head[2], values))
            return complain(s->channel, "its function pelt_evaluate_points reported a failure");
        uint32_t answer[2] = {0x534e4150, head[2]};
        if (!write_all(s->channel, answer, sizeof answer) ||
            !write_all(s->channel, values, (size_t)head[2] * s->components * sizeof *values))
            break;
    }
    return 0;
}

int pelt_child_object(void *user, int channel) {
    const pelt_shared_object *what = user;
    char hello[200];
    void *object = dlopen(what->path, RTLD_NOW | RTLD_LOCAL);
    void *found = object ? dlsym(object, "pelt_evaluate_points") : NULL;
    if (!found) return complain(channel, dlerror());
    server s = {.channel = channel};
    memcpy(&s.evaluate, &found, sizeof found); /* ISO C has no cast from data to function pointers */
    s.points = constant(object, "pelt_points", what->points);
    s.components = constant(object, "pelt_components", what->components);
    s.controls = constant(object, "pelt_controls", what->controls);
    int length = snprintf(hello, sizeof hello, "pelt-engine 1 %u %u %u\n", s.points, s.components, s.controls);
    if (!write_all(channel, hello, (size_t)length) || !s.points || !s.components) return 1;
    return serve(&s);
}
