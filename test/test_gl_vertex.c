/* test_gl_vertex.c: a vertex shader of OpenGL ES 3.0 reproduces the processor's results; read back by transform
   feedback. */

#include "gpu/gl_functions.h"
#include "test/gl_subjects.h"

static pelt_headless *context;

static int open_context(void **state) {
    (void)state;
    pelt_error error;
    context = pelt_headless_new(PELT_HEADLESS_ES30, -1, &error);
    if (!context) print_message("skipped: %s\n", error.text);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    pelt_headless_free(context);
    return 0;
}

enum {
    GL_POINTS = 0,
    GL_RASTERIZER_DISCARD = 0x8C89,
    GL_TRANSFORM_FEEDBACK_BUFFER = 0x8C8E,
    GL_INTERLEAVED_ATTRIBS = 0x8C8C,
    GL_FRAMEBUFFER = 0x8D40,
    GL_RENDERBUFFER = 0x8D41,
    GL_COLOR_ATTACHMENT0 = 0x8CE0,
    GL_RGBA8 = 0x8058
};

/* Additional functions for drawing. */
#define DRAWING(X)                                                                                                     \
    X(void, GenVertexArrays, (GLsizei count, GLuint * names))                                                          \
    X(void, BindVertexArray, (GLuint name))                                                                            \
    X(void, TransformFeedbackVaryings, (GLuint program, GLsizei count, const char *const *names, GLenum mode))         \
    X(void, BeginTransformFeedback, (GLenum mode))                                                                     \
    X(void, EndTransformFeedback, (void))                                                                              \
    X(void, DrawArraysInstanced, (GLenum mode, GLint first, GLsizei count, GLsizei instances))                         \
    X(void, Enable, (GLenum what))                                                                                     \
    X(void, GenFramebuffers, (GLsizei count, GLuint * names))                                                          \
    X(void, BindFramebuffer, (GLenum target, GLuint name))                                                             \
    X(void, GenRenderbuffers, (GLsizei count, GLuint * names))                                                         \
    X(void, BindRenderbuffer, (GLenum target, GLuint name))                                                            \
    X(void, RenderbufferStorage, (GLenum target, GLenum format, GLsizei width, GLsizei height))                        \
    X(void, FramebufferRenderbuffer, (GLenum target, GLenum attachment, GLenum kind, GLuint name))

typedef struct functions {
#define MEMBER(result, name, arguments) result(*name) arguments;
    PELT_GL_COMMON(MEMBER) DRAWING(MEMBER)
#undef MEMBER
} functions;

static functions load_functions(void) {
    functions f;
    void *address;
#define LOAD(result, name, arguments)                                                                                  \
    address = pelt_headless_load(context, "gl" #name);                                                                 \
    assert_non_null(address);                                                                                          \
    memcpy(&f.name, &address, sizeof address);
    PELT_GL_COMMON(LOAD)
    DRAWING(LOAD)
#undef LOAD
    return f;
}

/* There is no window, and drawing needs a render target. */
static void make_canvas(const functions *f) {
    GLuint frame, render;
    f->GenRenderbuffers(1, &render), f->BindRenderbuffer(GL_RENDERBUFFER, render);
    f->RenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, 4, 4);
    f->GenFramebuffers(1, &frame), f->BindFramebuffer(GL_FRAMEBUFFER, frame);
    f->FramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, render);
}

static GLuint compile(const functions *f, GLenum kind, const char *const *texts, GLsizei count) {
    GLuint shader = f->CreateShader(kind);
    GLint good = 0;
    char log[2000] = "";
    f->ShaderSource(shader, count, texts, NULL);
    f->CompileShader(shader);
    f->GetShaderiv(shader, GL_COMPILE_STATUS, &good);
    f->GetShaderInfoLog(shader, sizeof log, NULL, log);
    if (!good) fail_msg("%s", log);
    return shader;
}

static GLuint make_program(const functions *f, pelt_gl *gl) {
    static const char main_text[] = "out vec3 position; out vec3 normal;\n"
                                    "void main() {\n"
                                    "    pelt_vertex(uint(gl_VertexID), uint(gl_InstanceID), position, normal);\n"
                                    "    gl_Position = vec4(position, 1.0);\n"
                                    "}\n";
    const char *vertex[] = {"#version 300 es\n", pelt_gl_source(gl, PELT_GL_NORMALS), main_text};
    const char *fragment[] = {"#version 300 es\nprecision highp float; out vec4 c; void main() { c = vec4(1.0); }\n"};
    const char *const outputs[] = {"position", "normal"};
    GLuint program = f->CreateProgram();
    f->AttachShader(program, compile(f, GL_VERTEX_SHADER, vertex, 3));
    f->AttachShader(program, compile(f, GL_FRAGMENT_SHADER, fragment, 1));
    f->TransformFeedbackVaryings(program, 2, outputs, GL_INTERLEAVED_ATTRIBS);
    f->LinkProgram(program);
    GLint good = 0;
    f->GetProgramiv(program, GL_LINK_STATUS, &good);
    assert_true(good);
    return program;
}

static void compare(const subject *s, const char *name) {
    functions f = load_functions();
    pelt_gl_options options = {
        .load = pelt_headless_load, .user = context, .path = PELT_GL_VERTEX, .characters = s->characters};
    pelt_error error = {0};
    pelt_gl *gl = pelt_gl_new(&s->skin, &options, &error);
    if (!gl) fail_msg("%s: %s", name, error.text);
    GLuint program = make_program(&f, gl), array, buffer;
    size_t slots = 16 * (size_t)s->skin.block_count, bytes = 24 * slots * s->characters;
    if (pelt_gl_upload(gl, 0, s->characters, (const void *const *)s->scratches, &error)) fail_msg("%s", error.text);
    if (pelt_gl_bind(gl, program, 4, 2, &error)) fail_msg("%s", error.text);
    make_canvas(&f);
    f.GenVertexArrays(1, &array), f.BindVertexArray(array);
    f.GenBuffers(1, &buffer), f.BindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, buffer);
    f.BufferData(GL_TRANSFORM_FEEDBACK_BUFFER, (GLsizeiptr)bytes, NULL, GL_DYNAMIC_COPY);
    f.BindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, buffer);
    f.Enable(GL_RASTERIZER_DISCARD);
    f.BeginTransformFeedback(GL_POINTS);
    f.DrawArraysInstanced(GL_POINTS, 0, (GLsizei)slots, (GLsizei)s->characters);
    f.EndTransformFeedback();
    const float *got = f.MapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, (GLsizeiptr)bytes, GL_MAP_READ_BIT);
    assert_non_null(got);
    float *positions = malloc(12 * slots), *normals = malloc(12 * slots);
    for (uint32_t c = 0; c < s->characters; c++) {
        for (size_t i = 0; i < slots; i++, got += 6)
            memcpy(positions + 3 * i, got, 12), memcpy(normals + 3 * i, got + 3, 12);
        assert_same(s, name, c, positions, normals);
    }
    f.UnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
    assert_int_equal(f.GetError(), GL_NO_ERROR);
    f.DeleteBuffers(1, &buffer), f.DeleteProgram(program);
    free(positions), free(normals);
    pelt_gl_free(gl);
}

static void every_form_equals_the_processor(void **state) {
    (void)state;
    if (!context) skip();
    for (int i = 0; i < RECIPES; i++) {
        subject s = subject_of(&recipes[i]);
        compare(&s, recipes[i].name);
        subject_free(&s);
    }
}

static void every_character_has_its_own_level(void **state) {
    (void)state;
    if (!context) skip();
    for (int i = 0; i < LEVELLED; i++) {
        subject s = subject_of(&levelled_recipes[i]);
        compare(&s, levelled_recipes[i].name);
        subject_free(&s);
    }
}

static void normals_of_the_surface_equal_the_processors(void **state) {
    (void)state;
    if (!context) skip();
    for (int i = 0; i < SHADED_SUBJECTS; i++) {
        subject s = subject_shaded(i);
        compare(&s, shaded_subjects[i].name);
        subject_free(&s);
    }
}

static void real_characters_equal_the_processor(void **state) {
    (void)state;
    if (!context) skip();
    for (int i = 0; i < REAL_SUBJECTS; i++) {
        subject s = {0};
        if (!subject_fit(real_subjects[i].file, real_subjects[i].clip, real_subjects[i].options,
                         real_subjects[i].characters, &s))
            continue;
        compare(&s, real_subjects[i].file);
        subject_free(&s);
    }
}

/* Features of the compute path are refused, and so is an invalid program. */
static void misuse_is_refused(void **state) {
    (void)state;
    if (!context) skip();
    subject s = subject_of(&recipes[1]);
    pelt_gl_options options = {.load = pelt_headless_load, .user = context, .path = PELT_GL_VERTEX};
    pelt_error error = {0};
    pelt_gl *gl = pelt_gl_new(&s.skin, &options, &error);
    assert_non_null(gl);
    float *positions = malloc(pelt_output_size(&s.skin));
    assert_int_equal(pelt_gl_dispatch(gl, 1, 0, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_read(gl, 0, positions, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_attributes(gl, 0, 0, 1, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_bind(gl, 12345, 0, 0, &error), PELT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.text, "12345"));
    free(positions);
    pelt_gl_free(gl);
    subject_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_equals_the_processor),
        cmocka_unit_test(every_character_has_its_own_level),
        cmocka_unit_test(normals_of_the_surface_equal_the_processors),
        cmocka_unit_test(real_characters_equal_the_processor),
        cmocka_unit_test(misuse_is_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
