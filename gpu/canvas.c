/* canvas.c: draws a skin without a window. The vertex shader is skin.glsl's function and a main that also takes the true
   positions as an attribute, so that how far the skin is off is known where it is drawn. */

#include "gpu/canvas.h"
#include "gpu/gl_functions.h"
#include "gpu/headless.h"
#include "gpu/pack.h"
#include <pelt/gl.h>
#include <stdlib.h>
#include <string.h>

enum {
    GL_TRIANGLES = 4,
    GL_DEPTH_TEST = 0x0B71,
    GL_COLOR_BUFFER_BIT = 0x4000,
    GL_DEPTH_BUFFER_BIT = 0x100,
    GL_UNSIGNED_BYTE = 0x1401,
    GL_FRAMEBUFFER = 0x8D40,
    GL_READ_FRAMEBUFFER = 0x8CA8,
    GL_DRAW_FRAMEBUFFER = 0x8CA9,
    GL_FRAMEBUFFER_COMPLETE = 0x8CD5,
    GL_RENDERBUFFER = 0x8D41,
    GL_COLOR_ATTACHMENT0 = 0x8CE0,
    GL_DEPTH_ATTACHMENT = 0x8D00,
    GL_RGBA8 = 0x8058,
    GL_DEPTH_COMPONENT24 = 0x81A6,
    GL_ELEMENT_ARRAY_BUFFER = 0x8893,
    SAMPLES = 4 /* which ES 3.0 guarantees */
};

#define DRAWING(X)                                                                                                     \
    X(void, GenVertexArrays, (GLsizei count, GLuint * names))                                                          \
    X(void, BindVertexArray, (GLuint name))                                                                            \
    X(void, GenFramebuffers, (GLsizei count, GLuint * names))                                                          \
    X(void, BindFramebuffer, (GLenum target, GLuint name))                                                             \
    X(GLenum, CheckFramebufferStatus, (GLenum target))                                                                 \
    X(void, GenRenderbuffers, (GLsizei count, GLuint * names))                                                         \
    X(void, BindRenderbuffer, (GLenum target, GLuint name))                                                            \
    X(void, RenderbufferStorageMultisample,                                                                            \
      (GLenum target, GLsizei samples, GLenum format, GLsizei width, GLsizei height))                                  \
    X(void, FramebufferRenderbuffer, (GLenum target, GLenum attachment, GLenum kind, GLuint name))                     \
    X(void, BlitFramebuffer,                                                                                           \
      (GLint x0, GLint y0, GLint x1, GLint y1, GLint X0, GLint Y0, GLint X1, GLint Y1, GLbitfield mask,                \
       GLenum filter))                                                                                                 \
    X(void, ReadPixels, (GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type, void *pixels))   \
    X(void, Viewport, (GLint x, GLint y, GLsizei width, GLsizei height))                                               \
    X(void, ClearColor, (float r, float g, float b, float a))                                                          \
    X(void, Clear, (GLbitfield mask))                                                                                  \
    X(void, Enable, (GLenum what))                                                                                     \
    X(void, DrawElements, (GLenum mode, GLsizei count, GLenum type, const void *offset))                               \
    X(void, UniformMatrix4fv, (GLint location, GLsizei count, GLboolean transpose, const float *values))               \
    X(void, Uniform4f, (GLint location, float x, float y, float z, float w))

typedef struct functions {
#define MEMBER(result, name, arguments) result(*name) arguments;
    PELT_GL_COMMON(MEMBER) DRAWING(MEMBER)
#undef MEMBER
} functions;

struct pelt_canvas {
    pelt_headless *headless;
    functions f;
    pelt_gl *gl;
    const pelt_skin *skin;
    uint32_t width, height;
    GLsizei index_count;
    GLuint program, drawn, shown; /* frame buffers: the one that is drawn on, and its pixels without samples */
    GLuint truth[2];              /* true positions and normals, in slot order */
    float *slots;
    GLint clip, eye, how; /* places of uniforms */
};

/* `how`: x 1: the true mesh; y: 1 / the hottest distance, or 0. */
static const char vertex_main[] = "uniform mat4 clip; uniform vec4 eye, how;\n"
                                  "layout(location = 0) in vec3 true_position;\n"
                                  "layout(location = 1) in vec3 true_normal;\n"
                                  "out vec3 at, normal; out float heat;\n"
                                  "void main() {\n"
                                  "    vec3 p, n;\n"
                                  "    pelt_vertex(uint(gl_VertexID), 0u, p, n);\n"
                                  "    heat = min(distance(p, true_position) * how.y, 1.0);\n"
                                  "    at = how.x > 0.0 ? true_position : p;\n"
                                  "    normal = how.x > 0.0 ? true_normal : n;\n"
                                  "    gl_Position = clip * vec4(at, 1.0);\n"
                                  "}\n";
/* A lamp over the viewer's shoulder, light from the sky, and a rim; heat runs from grey over yellow to red. */
static const char fragment_text[] =
    "#version 300 es\nprecision highp float;\n"
    "uniform vec4 eye, how;\n"
    "in vec3 at, normal; in float heat; out vec4 color;\n"
    "void main() {\n"
    "    vec3 v = normalize(eye.xyz - at), n = normalize(normal);\n"
    "    if (!gl_FrontFacing) n = -n;\n"
    "    vec3 l = normalize(v + vec3(-0.45, 0.9, 0.25));\n"
    "    float lamp = max(dot(n, l), 0.0), sky = 0.5 + 0.5 * n.y, rim = pow(1.0 - max(dot(n, v), 0.0), 3.0);\n"
    "    float gloss = pow(max(dot(n, normalize(l + v)), 0.0), 40.0);\n"
    "    vec3 base = how.x > 0.0 ? vec3(0.42, 0.47, 0.55) : vec3(0.56, 0.46, 0.38);\n"
    "    if (how.y > 0.0) base = mix(mix(vec3(0.45), vec3(0.95, 0.72, 0.10), min(2.0 * heat, 1.0)), "
    "vec3(0.80, 0.04, 0.02), max(2.0 * heat - 1.0, 0.0));\n"
    "    if (!gl_FrontFacing) base *= 0.4;\n"
    "    vec3 c = base * (0.06 + 0.20 * sky + 0.72 * lamp) + 0.05 * gloss + 0.05 * rim * sky;\n"
    "    color = vec4(mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)), 1.0);\n"
    "}\n";

/* -- Making -------------------------------------------------------------------------------------------------------- */

static pelt_result load(pelt_canvas *canvas, pelt_error *error) {
    const char *missing = NULL;
    void *address;
#define LOAD(result, name, arguments)                                                                                  \
    address = pelt_headless_load(canvas->headless, "gl" #name);                                                        \
    memcpy(&canvas->f.name, &address, sizeof address);                                                                 \
    if (!address) missing = "gl" #name;
    PELT_GL_COMMON(LOAD)
    DRAWING(LOAD)
#undef LOAD
    return missing ? pelt_gpu_fail(error, PELT_ERROR_DEVICE, "OpenGL ES has no %s here", missing) : PELT_OK;
}

static pelt_result compile(pelt_canvas *canvas, GLenum kind, const char *const *texts, GLsizei count,
                           pelt_error *error) {
    functions *f = &canvas->f;
    GLuint shader = f->CreateShader(kind);
    GLint good = 0;
    char log[800] = "";
    f->ShaderSource(shader, count, texts, NULL);
    f->CompileShader(shader);
    f->GetShaderiv(shader, GL_COMPILE_STATUS, &good);
    f->GetShaderInfoLog(shader, sizeof log, NULL, log);
    f->AttachShader(canvas->program, shader);
    f->DeleteShader(shader); /* once the program is */
    return good ? PELT_OK : pelt_gpu_fail(error, PELT_ERROR_DEVICE, "the driver does not compile a shader: %s", log);
}

static pelt_result make_program(pelt_canvas *canvas, pelt_error *error) {
    functions *f = &canvas->f;
    const char *vertex[] = {"#version 300 es\n", pelt_gl_source(canvas->gl, PELT_GL_NORMALS), vertex_main};
    const char *fragment[] = {fragment_text};
    if (!vertex[1]) return pelt_gpu_fail(error, PELT_ERROR_MEMORY, "not enough memory for a shader");
    canvas->program = f->CreateProgram();
    pelt_result result = compile(canvas, GL_VERTEX_SHADER, vertex, 3, error);
    if (!result) result = compile(canvas, GL_FRAGMENT_SHADER, fragment, 1, error);
    if (result) return result;
    GLint good = 0;
    char log[800] = "";
    f->LinkProgram(canvas->program);
    f->GetProgramiv(canvas->program, GL_LINK_STATUS, &good);
    f->GetProgramInfoLog(canvas->program, sizeof log, NULL, log);
    if (!good) return pelt_gpu_fail(error, PELT_ERROR_DEVICE, "the driver does not link a shader: %s", log);
    canvas->clip = f->GetUniformLocation(canvas->program, "clip");
    canvas->eye = f->GetUniformLocation(canvas->program, "eye");
    canvas->how = f->GetUniformLocation(canvas->program, "how");
    return PELT_OK;
}

static void attach(functions *f, GLenum attachment, GLenum format, GLsizei samples, uint32_t width, uint32_t height) {
    GLuint name;
    f->GenRenderbuffers(1, &name);
    f->BindRenderbuffer(GL_RENDERBUFFER, name);
    f->RenderbufferStorageMultisample(GL_RENDERBUFFER, samples, format, (GLsizei)width, (GLsizei)height);
    f->FramebufferRenderbuffer(GL_FRAMEBUFFER, attachment, GL_RENDERBUFFER, name);
}

static pelt_result make_frames(pelt_canvas *canvas, pelt_error *error) {
    functions *f = &canvas->f;
    GLint most = 0;
    f->GetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
    if (canvas->width > (uint32_t)most || canvas->height > (uint32_t)most)
        return pelt_gpu_fail(error, PELT_ERROR_DEVICE, "a picture of %u x %u is wanted, but GL_MAX_TEXTURE_SIZE is %d",
                             canvas->width, canvas->height, most);
    f->GenFramebuffers(1, &canvas->shown), f->BindFramebuffer(GL_FRAMEBUFFER, canvas->shown);
    attach(f, GL_COLOR_ATTACHMENT0, GL_RGBA8, 0, canvas->width, canvas->height);
    f->GenFramebuffers(1, &canvas->drawn), f->BindFramebuffer(GL_FRAMEBUFFER, canvas->drawn);
    attach(f, GL_COLOR_ATTACHMENT0, GL_RGBA8, SAMPLES, canvas->width, canvas->height);
    attach(f, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT24, SAMPLES, canvas->width, canvas->height);
    if (f->CheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
        return pelt_gpu_fail(error, PELT_ERROR_DEVICE, "the device makes no picture of %u x %u", canvas->width,
                             canvas->height);
    return PELT_OK;
}

/* Triangles of slots, and room for the truth. */
static pelt_result make_mesh(pelt_canvas *canvas, const uint32_t *triangles, uint32_t triangle_count,
                             pelt_error *error) {
    functions *f = &canvas->f;
    size_t count = 3 * (size_t)triangle_count;
    uint32_t *indices = malloc((count + 1) * sizeof *indices);
    GLuint names[2];
    if (!indices) return pelt_gpu_fail(error, PELT_ERROR_MEMORY, "not enough memory for triangles");
    for (size_t i = 0; i < count; i++) indices[i] = canvas->skin->vertex_slots[triangles[i]];
    f->GenVertexArrays(1, names), f->BindVertexArray(names[0]);
    f->GenBuffers(1, names + 1), f->BindBuffer(GL_ELEMENT_ARRAY_BUFFER, names[1]);
    f->BufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)(count * sizeof *indices), indices, GL_STATIC_DRAW);
    free(indices);
    canvas->index_count = (GLsizei)count;
    f->GenBuffers(2, canvas->truth);
    for (GLuint i = 0; i < 2; i++) {
        f->BindBuffer(GL_ARRAY_BUFFER, canvas->truth[i]);
        f->BufferData(GL_ARRAY_BUFFER, (GLsizeiptr)pelt_output_size(canvas->skin), NULL, GL_STREAM_DRAW);
        f->VertexAttribPointer(i, 3, GL_FLOAT, 0, 12, NULL);
        f->EnableVertexAttribArray(i);
    }
    return PELT_OK;
}

pelt_canvas *pelt_canvas_new(const pelt_skin *skin, const uint32_t *triangles, uint32_t triangle_count, uint32_t width,
                             uint32_t height, int device, pelt_error *error) {
    pelt_canvas *canvas = calloc(1, sizeof *canvas);
    if (!canvas || !(canvas->slots = calloc(1, pelt_output_size(skin)))) {
        free(canvas);
        return pelt_gpu_fail(error, PELT_ERROR_MEMORY, "not enough memory for a picture"), NULL;
    }
    canvas->skin = skin, canvas->width = width, canvas->height = height;
    canvas->headless = pelt_headless_new(PELT_HEADLESS_ES30, device, error);
    pelt_result result = canvas->headless ? load(canvas, error) : PELT_ERROR_DEVICE;
    if (!result) {
        pelt_gl_options options = {.load = pelt_headless_load, .user = canvas->headless, .path = PELT_GL_VERTEX};
        canvas->gl = pelt_gl_new(skin, &options, error);
        if (!canvas->gl) result = PELT_ERROR_DEVICE;
    }
    if (!result) result = make_program(canvas, error);
    if (!result) result = make_frames(canvas, error);
    if (!result) result = make_mesh(canvas, triangles, triangle_count, error);
    if (!result && canvas->f.GetError() != GL_NO_ERROR)
        result = pelt_gpu_fail(error, PELT_ERROR_MEMORY, "the graphics device has not enough memory for a picture");
    if (!result) return canvas;
    pelt_canvas_free(canvas);
    return NULL;
}

/* What was made in the context goes with it. */
void pelt_canvas_free(pelt_canvas *canvas) {
    if (!canvas) return;
    pelt_gl_free(canvas->gl);
    pelt_headless_free(canvas->headless);
    free(canvas->slots);
    free(canvas);
}

const char *pelt_canvas_title(const pelt_canvas *canvas) { return pelt_headless_name(canvas->headless); }

/* -- Drawing ------------------------------------------------------------------------------------------------------- */

void pelt_canvas_clear(pelt_canvas *canvas) {
    functions *f = &canvas->f;
    f->BindFramebuffer(GL_FRAMEBUFFER, canvas->drawn);
    f->ClearColor(0, 0, 0, 0);
    f->Clear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
}

static void put_attribute(pelt_canvas *canvas, int which, const float *vertices) {
    const pelt_skin *skin = canvas->skin;
    if (!vertices) return;
    for (size_t v = 0; v < skin->vertex_count; v++)
        memcpy(canvas->slots + 3 * (size_t)skin->vertex_slots[v], vertices + 3 * v, 3 * sizeof *vertices);
    canvas->f.BindBuffer(GL_ARRAY_BUFFER, canvas->truth[which]);
    canvas->f.BufferSubData(GL_ARRAY_BUFFER, 0, (GLsizeiptr)pelt_output_size(skin), canvas->slots);
}

pelt_result pelt_canvas_draw(pelt_canvas *canvas, const pelt_canvas_picture *picture, pelt_error *error) {
    functions *f = &canvas->f;
    pelt_result result = PELT_OK;
    if (picture->scratch) result = pelt_gl_upload(canvas->gl, 0, 1, &picture->scratch, error);
    if (!result) result = pelt_gl_bind(canvas->gl, canvas->program, 0, 0, error);
    if (result) return result;
    put_attribute(canvas, 0, picture->truth);
    put_attribute(canvas, 1, picture->true_normals);
    f->BindFramebuffer(GL_FRAMEBUFFER, canvas->drawn);
    f->Viewport((GLint)picture->left, (GLint)picture->bottom, (GLsizei)picture->width, (GLsizei)picture->height);
    f->Enable(GL_DEPTH_TEST);
    f->UniformMatrix4fv(canvas->clip, 1, 0, picture->clip);
    f->Uniform4f(canvas->eye, picture->eye[0], picture->eye[1], picture->eye[2], 1);
    f->Uniform4f(canvas->how, picture->scratch ? 0 : 1, picture->hottest > 0 ? 1 / picture->hottest : 0, 0, 0);
    f->DrawElements(GL_TRIANGLES, canvas->index_count, GL_UNSIGNED_INT, NULL);
    if (f->GetError() != GL_NO_ERROR) return pelt_gpu_fail(error, PELT_ERROR_DEVICE, "OpenGL fails at drawing");
    return PELT_OK;
}

pelt_result pelt_canvas_read(pelt_canvas *canvas, uint8_t *rgba, pelt_error *error) {
    functions *f = &canvas->f;
    GLint width = (GLint)canvas->width, height = (GLint)canvas->height;
    f->BindFramebuffer(GL_READ_FRAMEBUFFER, canvas->drawn), f->BindFramebuffer(GL_DRAW_FRAMEBUFFER, canvas->shown);
    f->BlitFramebuffer(0, 0, width, height, 0, 0, width, height, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    f->BindFramebuffer(GL_FRAMEBUFFER, canvas->shown);
    for (GLint y = 0; y < height; y++) /* OpenGL's first row is the lowest */
        f->ReadPixels(0, height - 1 - y, width, 1, GL_RGBA, GL_UNSIGNED_BYTE, rgba + 4 * (size_t)y * canvas->width);
    if (f->GetError() != GL_NO_ERROR) return pelt_gpu_fail(error, PELT_ERROR_DEVICE, "OpenGL fails at reading pixels");
    return PELT_OK;
}
