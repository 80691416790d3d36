/* gl_functions.h: the part of OpenGL that pelt uses, with its names and numbers, so that building needs no OpenGL
   headers. Everything is in OpenGL 4.3 and OpenGL ES 3.1; the vertex path only uses ES 3.0. */

#ifndef PELT_GL_FUNCTIONS_H
#define PELT_GL_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned GLenum, GLuint, GLbitfield;
typedef int GLint, GLsizei;
typedef unsigned char GLboolean;
typedef ptrdiff_t GLintptr, GLsizeiptr;

enum {
    GL_NO_ERROR = 0,
    GL_OUT_OF_MEMORY = 0x0505,
    GL_CONTEXT_LOST = 0x0507,
    GL_FLOAT = 0x1406,
    GL_UNSIGNED_INT = 0x1405,
    GL_RGBA = 0x1908,
    GL_RGBA_INTEGER = 0x8D99,
    GL_RGBA32F = 0x8814,
    GL_RGBA32UI = 0x8D70,
    GL_NEAREST = 0x2600,
    GL_TEXTURE_MAG_FILTER = 0x2800,
    GL_TEXTURE_MIN_FILTER = 0x2801,
    GL_TEXTURE_MAX_LEVEL = 0x813D,
    GL_TEXTURE_2D = 0x0DE1,
    GL_TEXTURE_BINDING_2D = 0x8069,
    GL_TEXTURE0 = 0x84C0,
    GL_ACTIVE_TEXTURE = 0x84E0,
    GL_MAX_TEXTURE_SIZE = 0x0D33,
    GL_UNPACK_ALIGNMENT = 0x0CF5,
    GL_UNPACK_ROW_LENGTH = 0x0CF2,
    GL_UNPACK_SKIP_ROWS = 0x0CF3,
    GL_UNPACK_SKIP_PIXELS = 0x0CF4,
    GL_PIXEL_UNPACK_BUFFER = 0x88EC,
    GL_PIXEL_UNPACK_BUFFER_BINDING = 0x88EF,
    GL_ARRAY_BUFFER = 0x8892,
    GL_ARRAY_BUFFER_BINDING = 0x8894,
    GL_STATIC_DRAW = 0x88E4,
    GL_DYNAMIC_DRAW = 0x88E8,
    GL_STREAM_DRAW = 0x88E0,
    GL_STREAM_READ = 0x88E1,
    GL_DYNAMIC_COPY = 0x88EA,
    GL_MAP_READ_BIT = 1,
    GL_COPY_READ_BUFFER = 0x8F36,  /* also its binding */
    GL_COPY_WRITE_BUFFER = 0x8F37, /* also its binding */
    GL_UNIFORM_BUFFER = 0x8A11,
    GL_UNIFORM_BUFFER_BINDING = 0x8A28,
    GL_UNIFORM_BUFFER_START = 0x8A29,
    GL_UNIFORM_BUFFER_SIZE = 0x8A2A,
    GL_SHADER_STORAGE_BUFFER = 0x90D2,
    GL_SHADER_STORAGE_BUFFER_BINDING = 0x90D3,
    GL_SHADER_STORAGE_BUFFER_START = 0x90D4,
    GL_SHADER_STORAGE_BUFFER_SIZE = 0x90D5,
    GL_MAX_SHADER_STORAGE_BLOCK_SIZE = 0x90DE,
    GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS = 0x90DB,
    GL_MAX_COMPUTE_SHARED_MEMORY_SIZE = 0x8262,
    GL_MAX_COMPUTE_WORK_GROUP_COUNT = 0x91BE,
    GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS = 0x90EB,
    GL_MAX_VERTEX_TEXTURE_IMAGE_UNITS = 0x8B4C,
    GL_COMPUTE_SHADER = 0x91B9,
    GL_VERTEX_SHADER = 0x8B31,
    GL_FRAGMENT_SHADER = 0x8B30,
    GL_COMPILE_STATUS = 0x8B81,
    GL_LINK_STATUS = 0x8B82,
    GL_CURRENT_PROGRAM = 0x8B8D,
    GL_VERSION = 0x1F02,
    GL_RENDERER = 0x1F01,
    GL_BUFFER_UPDATE_BARRIER_BIT = 0x200,
    GL_VERTEX_ATTRIB_ARRAY_BARRIER_BIT = 1,
    GL_SHADER_STORAGE_BARRIER_BIT = 0x2000,
};
#define GL_INVALID_INDEX 0xFFFFFFFFu

/* Result, name without "gl", arguments; the second list is only needed by the compute path. */
#define PELT_GL_COMMON(X)                                                                                              \
    X(GLenum, GetError, (void))                                                                                        \
    X(const unsigned char *, GetString, (GLenum name))                                                                 \
    X(void, GetIntegerv, (GLenum name, GLint * value))                                                                 \
    X(void, GetInteger64v, (GLenum name, int64_t * value))                                                             \
    X(void, GetInteger64i_v, (GLenum name, GLuint index, int64_t * value))                                             \
    X(void, GetIntegeri_v, (GLenum name, GLuint index, GLint * value))                                                 \
    X(GLuint, CreateShader, (GLenum kind))                                                                             \
    X(void, DeleteShader, (GLuint shader))                                                                             \
    X(void, ShaderSource, (GLuint shader, GLsizei count, const char *const *texts, const GLint *lengths))              \
    X(void, CompileShader, (GLuint shader))                                                                            \
    X(void, GetShaderiv, (GLuint shader, GLenum name, GLint * value))                                                  \
    X(void, GetShaderInfoLog, (GLuint shader, GLsizei size, GLsizei * length, char *text))                             \
    X(GLuint, CreateProgram, (void))                                                                                   \
    X(void, DeleteProgram, (GLuint program))                                                                           \
    X(void, AttachShader, (GLuint program, GLuint shader))                                                             \
    X(void, LinkProgram, (GLuint program))                                                                             \
    X(void, GetProgramiv, (GLuint program, GLenum name, GLint * value))                                                \
    X(void, GetProgramInfoLog, (GLuint program, GLsizei size, GLsizei * length, char *text))                           \
    X(void, UseProgram, (GLuint program))                                                                              \
    X(GLint, GetUniformLocation, (GLuint program, const char *name))                                                   \
    X(void, Uniform1i, (GLint location, GLint value))                                                                  \
    X(GLuint, GetUniformBlockIndex, (GLuint program, const char *name))                                                \
    X(void, UniformBlockBinding, (GLuint program, GLuint block, GLuint binding))                                       \
    X(void, GenBuffers, (GLsizei count, GLuint * names))                                                               \
    X(void, DeleteBuffers, (GLsizei count, const GLuint *names))                                                       \
    X(void, BindBuffer, (GLenum target, GLuint buffer))                                                                \
    X(void, BindBufferBase, (GLenum target, GLuint index, GLuint buffer))                                              \
    X(void, BindBufferRange, (GLenum target, GLuint index, GLuint buffer, GLintptr offset, GLsizeiptr size))           \
    X(void, BufferData, (GLenum target, GLsizeiptr size, const void *data, GLenum usage))                              \
    X(void, BufferSubData, (GLenum target, GLintptr offset, GLsizeiptr size, const void *data))                        \
    X(void *, MapBufferRange, (GLenum target, GLintptr offset, GLsizeiptr size, GLbitfield access))                    \
    X(GLboolean, UnmapBuffer, (GLenum target))                                                                         \
    X(void, CopyBufferSubData, (GLenum from, GLenum to, GLintptr read_at, GLintptr write_at, GLsizeiptr size))         \
    X(void, GenTextures, (GLsizei count, GLuint * names))                                                              \
    X(void, DeleteTextures, (GLsizei count, const GLuint *names))                                                      \
    X(void, ActiveTexture, (GLenum unit))                                                                              \
    X(void, BindTexture, (GLenum target, GLuint texture))                                                              \
    X(void, TexParameteri, (GLenum target, GLenum name, GLint value))                                                  \
    X(void, TexStorage2D, (GLenum target, GLsizei levels, GLenum format, GLsizei width, GLsizei height))               \
    X(void, TexSubImage2D,                                                                                             \
      (GLenum target, GLint level, GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type,        \
       const void *pixels))                                                                                            \
    X(void, PixelStorei, (GLenum name, GLint value))                                                                   \
    X(void, VertexAttribPointer,                                                                                       \
      (GLuint index, GLint size, GLenum type, GLboolean normalized, GLsizei stride, const void *offset))               \
    X(void, EnableVertexAttribArray, (GLuint index))

#define PELT_GL_COMPUTE_ONLY(X)                                                                                        \
    X(void, DispatchCompute, (GLuint x, GLuint y, GLuint z))                                                           \
    X(void, MemoryBarrier, (GLbitfield barriers))

typedef struct pelt_gl_functions {
#define PELT_GL_MEMBER(result, name, arguments) result(*name) arguments;
    PELT_GL_COMMON(PELT_GL_MEMBER) PELT_GL_COMPUTE_ONLY(PELT_GL_MEMBER)
#undef PELT_GL_MEMBER
} pelt_gl_functions;

/* Loads a function into `f`, and says in `missing` that there is none. */
#define PELT_GL_LOAD(result, name, arguments)                                                                          \
    address = options->load(options->user, "gl" #name);                                                                \
    memcpy(&f->name, &address, sizeof address);                                                                        \
    if (!address) missing = "gl" #name;

#endif
