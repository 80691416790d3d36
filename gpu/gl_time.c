/* gl_time.c: times skinning, and writing and copying the same number of bytes, by the device's clock. */

#include "gpu/gl_time.h"
#include "gpu/gl_functions.h"
#include "gpu/pack.h"
#include "rig/clock.h"
#include <stdlib.h>
#include <string.h>

enum { GL_TIMESTAMP = 0x8E28, GL_QUERY_RESULT = 0x8866 };

#define TIMING(X)                                                                                                      \
    X(void, GenQueries, (GLsizei count, GLuint * names))                                                               \
    X(void, DeleteQueries, (GLsizei count, const GLuint *names))                                                       \
    X(void, QueryCounter, (GLuint query, GLenum what))                                                                 \
    X(void, GetQueryObjectui64v, (GLuint query, GLenum what, uint64_t * value))                                        \
    X(void, Finish, (void))

typedef struct functions {
#define MEMBER(result, name, arguments) result(*name) arguments;
    PELT_GL_COMMON(MEMBER) PELT_GL_COMPUTE_ONLY(MEMBER) TIMING(MEMBER)
#undef MEMBER
} functions;

static pelt_result load(const pelt_gl_options *options, functions *f, pelt_error *error) {
    const char *missing = NULL;
    void *address;
    PELT_GL_COMMON(PELT_GL_LOAD)
    PELT_GL_COMPUTE_ONLY(PELT_GL_LOAD)
    TIMING(PELT_GL_LOAD)
    return missing ? pelt_fail(error, PELT_ERROR_DEVICE, "OpenGL has no %s here", missing) : PELT_OK;
}

pelt_result pelt_gl_wait(const pelt_gl_options *options, pelt_error *error) {
    void (*finish)(void);
    void *address = options->load(options->user, "glFinish");
    memcpy(&finish, &address, sizeof finish);
    if (!finish) return pelt_fail(error, PELT_ERROR_DEVICE, "OpenGL has no glFinish here");
    finish();
    return PELT_OK;
}

static const char fill_text[] = "#version 430\n"
                                "layout(local_size_x = 256) in;\n"
                                "layout(std430, binding = 0) writeonly buffer To { vec4 to[]; };\n"
                                "void main() {\n"
                                "    uint at = gl_WorkGroupID.x * 1024u + gl_LocalInvocationID.x;\n"
                                "    for (int i = 0; i < 4; i++, at += 256u)\n"
                                "        if (at < uint(to.length())) to[at] = vec4(1.0, 2.0, 3.0, 4.0);\n"
                                "}\n";
static const char copy_text[] =
    "#version 430\n"
    "layout(local_size_x = 256) in;\n"
    "layout(std430, binding = 0) writeonly buffer To { vec4 to[]; };\n"
    "layout(std430, binding = 1) readonly buffer From { vec4 from[]; };\n"
    "void main() {\n"
    "    uint at = gl_WorkGroupID.x * 1024u + gl_LocalInvocationID.x, n = uint(to.length());\n"
    "    vec4 kept[4];\n"
    "    for (uint i = 0u; i < 4u; i++) if (at + 256u * i < n) kept[i] = from[at + 256u * i];\n"
    "    for (uint i = 0u; i < 4u; i++) if (at + 256u * i < n) to[at + 256u * i] = kept[i];\n"
    "}\n";

typedef struct timing {
    functions f;
    pelt_gl *gl;
    pelt_device_work work;
    uint32_t count;
    int normals;
    GLuint program, from;
    size_t part; /* bytes that can be bound at once */
} timing;

static GLuint build(const functions *f, const char *text) {
    GLuint shader = f->CreateShader(GL_COMPUTE_SHADER), program = f->CreateProgram();
    f->ShaderSource(shader, 1, &text, NULL);
    f->CompileShader(shader);
    f->AttachShader(program, shader);
    f->LinkProgram(program);
    f->DeleteShader(shader);
    return program;
}

static pelt_result once(timing *t, pelt_error *error) {
    if (t->work == PELT_WORK_SKIN) return pelt_gl_dispatch(t->gl, t->count, t->normals ? PELT_GL_NORMALS : 0, error);
    pelt_gl_buffers out = pelt_gl_output(t->gl);
    size_t bytes = t->count * out.stride;
    GLuint to[] = {out.positions, out.normals};
    t->f.UseProgram(t->program);
    for (int i = 0; i <= t->normals; i++)
        for (size_t at = 0; at < bytes; at += t->part) {
            size_t here = bytes - at < t->part ? bytes - at : t->part;
            t->f.BindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, to[i], (GLintptr)at, (GLsizeiptr)here);
            if (t->from) t->f.BindBufferRange(GL_SHADER_STORAGE_BUFFER, 1, t->from, 0, (GLsizeiptr)here);
            t->f.DispatchCompute((GLuint)((here / 16 + 1023) / 1024), 1, 1);
        }
    t->f.MemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
    t->f.UseProgram(0);
    return PELT_OK;
}

/* Characters per part: below 2^30 bytes, the context's limit, and 65535 work groups. */
static size_t part_of(const timing *t) {
    int64_t limit = 0;
    t->f.GetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &limit);
    size_t most = limit < 1 << 30 ? (size_t)limit : (size_t)1 << 30;
    if (most > (size_t)65535 * 16384) most = (size_t)65535 * 16384;
    return most / 256 * 256;
}

static pelt_result run_rounds(timing *t, uint32_t rounds, double *seconds, pelt_error *error) {
    GLuint *queries = calloc(2 * (size_t)rounds, sizeof *queries);
    pelt_result result = queries ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory");
    uint32_t row = t->count < PELT_WORK_FEW ? PELT_WORK_ROW : 1;
    if (result) return result;
    t->f.GenQueries((GLsizei)(2 * rounds), queries);
    for (double begin = pelt_wall_seconds(); !result && pelt_wall_seconds() - begin < 1e-3 * PELT_WORK_WARM;) {
        for (uint32_t k = 0; k < row && !result; k++)
            result = once(t, error); /* until the device's clock has ramped up */
        t->f.Finish();
    }
    for (uint32_t i = 0; i < rounds && !result; i++) {
        t->f.QueryCounter(queries[2 * i], GL_TIMESTAMP);
        for (uint32_t k = 0; k < row && !result; k++) result = once(t, error);
        t->f.QueryCounter(queries[2 * i + 1], GL_TIMESTAMP);
    }
    t->f.Finish();
    for (uint32_t i = 0; i < rounds && !result; i++) {
        uint64_t begin = 0, end = 0;
        t->f.GetQueryObjectui64v(queries[2 * i], GL_QUERY_RESULT, &begin);
        t->f.GetQueryObjectui64v(queries[2 * i + 1], GL_QUERY_RESULT, &end);
        seconds[i] = 1e-9 * (double)(end - begin) / row;
    }
    t->f.DeleteQueries((GLsizei)(2 * rounds), queries);
    free(queries);
    if (!result && t->f.GetError() != GL_NO_ERROR)
        result = pelt_fail(error, PELT_ERROR_DEVICE, "OpenGL reports an error while timing");
    return result;
}

pelt_result pelt_gl_time(pelt_gl *gl, const pelt_gl_options *options, pelt_device_work work, uint32_t count,
                         int normals, uint32_t rounds, double *seconds, pelt_error *error) {
    timing t = {.gl = gl, .work = work, .count = count, .normals = normals};
    pelt_result result = load(options, &t.f, error);
    if (!result) result = pelt_gl_dispatch(gl, count, normals ? PELT_GL_NORMALS : 0, error); /* buffers exist */
    if (result) return result;
    t.part = part_of(&t);
    if (work == PELT_WORK_COPY) {
        size_t bytes = count * pelt_gl_output(gl).stride;
        t.f.GenBuffers(1, &t.from);
        t.f.BindBuffer(GL_COPY_WRITE_BUFFER, t.from);
        t.f.BufferData(GL_COPY_WRITE_BUFFER, (GLsizeiptr)(bytes < t.part ? bytes : t.part), NULL, GL_STATIC_DRAW);
    }
    if (work != PELT_WORK_SKIN) t.program = build(&t.f, work == PELT_WORK_FILL ? fill_text : copy_text);
    result = run_rounds(&t, rounds, seconds, error);
    if (t.program) t.f.DeleteProgram(t.program);
    t.f.DeleteBuffers(1, &t.from);
    return result;
}
