/* gl.h: run a skin on a GPU with OpenGL.

   For programs with their own OpenGL context; the library is `libpelt-gl`, which links neither to OpenGL nor to any
   window system: functions come through your callback. The result is that of pelt_deform, up to rounding. What depends
   only on the pose is still computed by pelt_pose, on the CPU, and uploaded: a few kilobytes per character.

       pelt_gl_options options = {.load = your_loader, .characters = 100};
       pelt_gl *gl = pelt_gl_new(&skin, &options, &error);          // uploads the skin

       // every frame
       for (c = 0; c < 100; c++) pelt_pose(&skin, locals[c], scratch[c]);
       pelt_gl_upload(gl, 0, 100, scratch, &error);
       pelt_gl_dispatch(gl, 100, PELT_GL_NORMALS, &error);          // one dispatch for all of them
       pelt_gl_attributes(gl, c, 0, 1, &error);                     // character c as attributes 0 and 1; then draw

   Two paths. PELT_GL_COMPUTE skins once into vertex buffers, which any number of passes then draw; it needs OpenGL 4.3
   or OpenGL ES 3.1. PELT_GL_VERTEX needs only OpenGL ES 3.0, WebGL 2 or OpenGL 4.2: skin and poses are textures, and
   your vertex shader calls a function that pelt_gl_source provides:

       text = pelt_gl_source(gl, PELT_GL_NORMALS);                  // after "#version 300 es\n", before your own main:
                                                                    //   pelt_vertex(uint(gl_VertexID), character, p, n);
       pelt_gl_bind(gl, program, 0, 0, &error);                     // texture units 0 and 1, uniform buffer 0; then draw

   Normals. Skins whose normals are those of the deformed surface (pelt_needs_shading) take a second dispatch in the
   compute path, which pelt_gl_dispatch does by itself. A vertex shader sees no other vertex: there pelt_vertex deforms
   the neighbours of each vertex too, about seven, which costs several times as much. Where that is too slow, use the
   compute path, or skins made with `pelt fit --normals rows`.

   Slots. As with pelt_deform, vertices come in slot order (pelt.h): an index buffer is renumbered once.

   State. Calls need your context to be current. They restore its state, except as noted at pelt_gl_bind and
   pelt_gl_attributes, and except for error flags: those set before a call are lost.

   Threads. As with OpenGL: one thread at a time per context.

   Errors. As in fit.h: a code, and a sentence in the pelt_error (which may be NULL). PELT_ERROR_DEVICE: the context
   lacks something, by name and number; a shader does not compile, with the driver's message; the context is lost. After
   a failure the object can still be used or freed. */

#ifndef PELT_GL_H
#define PELT_GL_H

#include <pelt/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pelt_gl pelt_gl;

/* The address of an OpenGL function, "glUseProgram", or NULL. eglGetProcAddress and the like will do. */
typedef void *(*pelt_gl_loader)(void *user, const char *name);

typedef enum pelt_gl_path { PELT_GL_COMPUTE, PELT_GL_VERTEX } pelt_gl_path;

/* What is computed besides positions. */
enum { PELT_GL_NORMALS = 1 };

/* How compute work is divided; zeros: a good default. For tuning on other hardware. */
typedef struct pelt_gl_shape {
    uint32_t threads;    /* per work group, a power of two, at least 16 */
    uint32_t lanes;      /* vertices per thread: 1 or 4 */
    uint32_t characters; /* characters per thread: 1, 2 or 4 */
    uint32_t shared;     /* characters whose poses are kept in shared memory: a multiple of the above, or 0 */
    uint32_t passes;     /* passes over vertices of a work group with shared memory */
    uint32_t split;      /* threads per vertex for weighted PSD, 1 (or 0), 2 or 4; only with 1 lane and character */
} pelt_gl_shape;

typedef struct pelt_gl_options {
    pelt_gl_loader load;
    void *user; /* passed to load */
    pelt_gl_path path;
    uint32_t characters;  /* maximum at a time; 0: 1 */
    uint32_t shape_given; /* 1: use `shape`, otherwise it is ignored */
    pelt_gl_shape shape;
} pelt_gl_options;

/* Uploads a skin. The skin must outlive the object. NULL after a failure. */
PELT_API pelt_gl *pelt_gl_new(const pelt_skin *skin, const pelt_gl_options *options, pelt_error *error);

/* Frees everything, also on the device; the context must be current. NULL is fine. */
PELT_API void pelt_gl_free(pelt_gl *gl);

/* Uploads the poses of characters first .. first + count - 1: scratches[i] is what pelt_pose filled for character
   first + i. */
PELT_API pelt_result pelt_gl_upload(pelt_gl *gl, uint32_t first, uint32_t count, const void *const *scratches,
                                    pelt_error *error);

/* Compute path: deforms characters 0 .. count - 1. outputs: 0 or PELT_GL_NORMALS. Subsequent work may read the result
   as vertex attributes, from shaders, or with API calls. */
PELT_API pelt_result pelt_gl_dispatch(pelt_gl *gl, uint32_t count, unsigned outputs, pelt_error *error);

/* Compute path: where the results are. Character c starts c * stride bytes from the start of a buffer: 3 floats per
   slot, tightly packed. `normals` is 0 until normals have been requested. */
typedef struct pelt_gl_buffers {
    unsigned positions, normals; /* names of buffers */
    size_t stride;
} pelt_gl_buffers;
PELT_API pelt_gl_buffers pelt_gl_output(const pelt_gl *gl);

/* Compute path: points attributes of the bound vertex array at a character's positions and normals, and enables them;
   -1 skips one. This state is not restored. */
PELT_API pelt_result pelt_gl_attributes(pelt_gl *gl, uint32_t character, int positions_at, int normals_at,
                                        pelt_error *error);

/* Compute path: copies a character's result; pelt_output_size bytes each; either may be NULL. Waits for it. */
PELT_API pelt_result pelt_gl_read(pelt_gl *gl, uint32_t character, float *positions, float *normals, pelt_error *error);

/* The text of the shader, preceded by the definitions for this skin, but without a #version line. Compute path: the
   whole shader as dispatched for many characters; where pelt_needs_shading, PELT_GL_NORMALS is the second dispatch
   alone, which follows that of outputs 0 and a storage barrier. Vertex path: the function pelt_vertex. It is valid
   until the next call of this function, or until the object is freed. NULL if out of memory, or if `outputs` is
   invalid. */
PELT_API const char *pelt_gl_source(pelt_gl *gl, unsigned outputs);

/* Vertex path: makes the program current, and binds the skin's textures to units `unit` and `unit` + 1 and its numbers
   to uniform buffer `block`. This state is not restored. */
PELT_API pelt_result pelt_gl_bind(pelt_gl *gl, unsigned program, unsigned unit, unsigned block, pelt_error *error);

#ifdef __cplusplus
}
#endif
#endif
