/* gl.c: a skin in an OpenGL context: uploads and dispatches, and restores the context's state. */

#include "gpu/gl_functions.h"
#include "gpu/pack.h"
#include "gpu/skin_glsl.h"
#include <pelt/gl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs: positions; with normals; with normals if joints scale; normals of the deformed surface, from positions in the
   compute path, and with them in the vertex path. Shapes: one character; positions of many; normals of many; surfaces. */
enum { POSITIONS, NORMALS, SCALED_NORMALS, SURFACE_NORMALS, PROGRAM_KINDS };
enum { ONE, MANY, MANY_NORMALS, SURFACE, SHAPES };
enum { TEXTURE_WIDTH = 2048, WHOLE = 16, FEW = 4 }; /* texels; characters */
/* Bindings of the shader. */
enum { AT_NUMBERS, AT_SKIN, AT_POSES, AT_POSITIONS, AT_NORMALS };

struct pelt_gl {
    pelt_gl_functions f;
    const pelt_skin *skin;
    pelt_gpu_skin packed; /* its words are freed after upload */
    pelt_gl_path path;
    uint32_t characters;   /* requested */
    uint32_t room;         /* capacity on the device, a multiple of WHOLE */
    uint32_t slice;        /* characters per dispatch, a multiple of WHOLE */
    int es;                /* the context is OpenGL ES */
    int scaled;            /* some uploaded pose scales */
    uint32_t counted;      /* number of characters that the uniform block on the device is set for */
    uint64_t shared_limit; /* bytes of shared memory available to a work group */
    pelt_gl_shape shapes[SHAPES];
    GLuint programs[SHAPES][PROGRAM_KINDS];
    GLuint numbers, skin_buffer, poses, positions, normals,
        results;        /* buffers; in the vertex path, skin and poses are textures */
    size_t output_size; /* per character */
    float *staged;      /* poses being uploaded */
    char *source;
};

/* -- Errors -------------------------------------------------------------------------------------------------------- */

/* Clears error flags left by earlier code. A lost context would return them forever. */
static void forget_errors(pelt_gl *gl) {
    for (int i = 0; i < 32 && gl->f.GetError() != GL_NO_ERROR; i++) continue;
}

static pelt_result check(pelt_gl *gl, const char *doing, pelt_error *error) {
    GLenum code = gl->f.GetError();
    if (code == GL_NO_ERROR) return PELT_OK;
    forget_errors(gl);
    if (code == GL_OUT_OF_MEMORY)
        return pelt_fail(error, PELT_ERROR_MEMORY, "there is not enough memory on the graphics device for %s", doing);
    if (code == GL_CONTEXT_LOST)
        return pelt_fail(error, PELT_ERROR_DEVICE,
                         "the OpenGL context was lost before %s: make a new one and start again", doing);
    return pelt_fail(error, PELT_ERROR_DEVICE, "OpenGL reports error 0x%04x for %s", code, doing);
}

static pelt_result refuse_limit(pelt_error *error, const char *what, uint64_t wanted, const char *limit, int64_t has) {
    return pelt_fail(error, PELT_ERROR_DEVICE, "%s needs %llu, but %s of this context is %lld", what,
                     (unsigned long long)wanted, limit, (long long)has);
}

/* -- State that is restored ---------------------------------------------------------------------------------------- */

typedef struct range {
    GLint buffer;
    int64_t start, size;
} range;

typedef struct state {
    GLint program, storage, uniform, copy_read, copy_write;
    range ranges[5]; /* of AT_NUMBERS .. AT_NORMALS */
} state;

static range range_of(pelt_gl *gl, GLenum binding, GLenum start, GLenum size, GLuint index) {
    range r = {0};
    gl->f.GetIntegeri_v(binding, index, &r.buffer);
    if (r.buffer) gl->f.GetInteger64i_v(start, index, &r.start), gl->f.GetInteger64i_v(size, index, &r.size);
    return r;
}

static void put_range(pelt_gl *gl, GLenum target, GLuint index, const range *r) {
    if (r->size > 0)
        gl->f.BindBufferRange(target, index, (GLuint)r->buffer, (GLintptr)r->start, (GLsizeiptr)r->size);
    else
        gl->f.BindBufferBase(target, index, (GLuint)r->buffer);
}

static state keep_state(pelt_gl *gl) {
    state s = {0};
    gl->f.GetIntegerv(GL_COPY_READ_BUFFER, &s.copy_read);
    gl->f.GetIntegerv(GL_COPY_WRITE_BUFFER, &s.copy_write);
    if (gl->path != PELT_GL_COMPUTE) return s;
    gl->f.GetIntegerv(GL_CURRENT_PROGRAM, &s.program);
    gl->f.GetIntegerv(GL_UNIFORM_BUFFER_BINDING, &s.uniform);
    gl->f.GetIntegerv(GL_SHADER_STORAGE_BUFFER_BINDING, &s.storage);
    s.ranges[0] = range_of(gl, GL_UNIFORM_BUFFER_BINDING, GL_UNIFORM_BUFFER_START, GL_UNIFORM_BUFFER_SIZE, AT_NUMBERS);
    for (GLuint i = AT_SKIN; i <= AT_NORMALS; i++)
        s.ranges[i] = range_of(gl, GL_SHADER_STORAGE_BUFFER_BINDING, GL_SHADER_STORAGE_BUFFER_START,
                               GL_SHADER_STORAGE_BUFFER_SIZE, i);
    return s;
}

/* Indexed bindings change the generic one too, so that comes last. */
static void put_state(pelt_gl *gl, const state *s) {
    gl->f.BindBuffer(GL_COPY_READ_BUFFER, (GLuint)s->copy_read);
    gl->f.BindBuffer(GL_COPY_WRITE_BUFFER, (GLuint)s->copy_write);
    if (gl->path != PELT_GL_COMPUTE) return;
    put_range(gl, GL_UNIFORM_BUFFER, AT_NUMBERS, &s->ranges[0]);
    for (GLuint i = AT_SKIN; i <= AT_NORMALS; i++) put_range(gl, GL_SHADER_STORAGE_BUFFER, i, &s->ranges[i]);
    gl->f.BindBuffer(GL_UNIFORM_BUFFER, (GLuint)s->uniform);
    gl->f.BindBuffer(GL_SHADER_STORAGE_BUFFER, (GLuint)s->storage);
    gl->f.UseProgram((GLuint)s->program);
}

/* State that affects texture uploads; the names are those of glPixelStorei and glGetIntegerv. */
enum { UNPACK_NAMES = 4 };
static const GLenum unpack_names[UNPACK_NAMES] = {GL_UNPACK_ALIGNMENT, GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS,
                                                  GL_UNPACK_SKIP_PIXELS};
static const GLint unpack_plain[UNPACK_NAMES] = {4, 0, 0, 0};

typedef struct texture_state {
    GLint texture, buffer, unpack[UNPACK_NAMES];
} texture_state;

static texture_state keep_texture_state(pelt_gl *gl) {
    texture_state s;
    gl->f.GetIntegerv(GL_TEXTURE_BINDING_2D, &s.texture); /* of the active unit, which stays active */
    gl->f.GetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &s.buffer);
    gl->f.BindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    for (int i = 0; i < UNPACK_NAMES; i++) {
        gl->f.GetIntegerv(unpack_names[i], &s.unpack[i]);
        gl->f.PixelStorei(unpack_names[i], unpack_plain[i]);
    }
    return s;
}

static void put_texture_state(pelt_gl *gl, const texture_state *s) {
    for (int i = 0; i < UNPACK_NAMES; i++) gl->f.PixelStorei(unpack_names[i], s->unpack[i]);
    gl->f.BindBuffer(GL_PIXEL_UNPACK_BUFFER, (GLuint)s->buffer);
    gl->f.BindTexture(GL_TEXTURE_2D, (GLuint)s->texture);
}

/* -- The shader ---------------------------------------------------------------------------------------------------- */

/* Threads per vertex. */
static uint32_t split_of(const pelt_gl *gl, const pelt_gl_shape *s) {
    return s->split && gl->packed.form >= PELT_GPU_WEIGHTED_FLOATS ? s->split : 1;
}

static void write_defines(const pelt_gl *gl, const pelt_gl_shape *shape, int kind, char *text, size_t size) {
    const pelt_gpu_skin *p = &gl->packed;
    uint32_t stride = kind == SCALED_NORMALS ? p->numbers.pose_stride : p->own_vec4s;
    int n = snprintf(text, size,
                     "#define PELT_%s\n#define PELT_FORM %d\n#define PELT_TILTS %u\n#define PELT_NORMALS %d\n"
                     "#define PELT_SCALED %d\n#define PELT_PHI %u\n#define PELT_PARTS %u\n"
                     "#define PELT_RINGS %u\n#define PELT_BENDS %u\n",
                     gl->path == PELT_GL_COMPUTE ? "COMPUTE" : "VERTEX", (int)p->form, p->tilts,
                     kind == NORMALS || kind == SCALED_NORMALS, kind == SCALED_NORMALS, p->phi, p->parts,
                     kind == SURFACE_NORMALS ? p->rings : 0, p->bends);
    if (gl->path == PELT_GL_COMPUTE && n > 0)
        snprintf(
            text + n, size - (size_t)n,
            "%s#define PELT_THREADS %u\n#define PELT_LANES %u\n#define PELT_CHARACTERS %u\n#define PELT_SHARED %u\n"
            "#define PELT_SHARED_STRIDE %u\n#define PELT_PASSES %u\n#define PELT_SPLIT %u\n",
            kind == SURFACE_NORMALS ? "#define PELT_SHADE\n" : "", shape->threads, shape->lanes, shape->characters,
            shape->shared, stride, shape->passes, split_of(gl, shape));
}

static uint64_t shared_bytes(const pelt_gl *gl, const pelt_gl_shape *s, int kind) {
    uint32_t split = split_of(gl, s), exchanged = 2 * (s->threads - s->threads / split);
    return 16 * (exchanged + (uint64_t)s->shared *
                                 (kind == SCALED_NORMALS ? gl->packed.numbers.pose_stride : gl->packed.own_vec4s));
}

/* With matrices for normals, poses are larger and may not fit shared memory. */
static pelt_gl_shape shape_for(pelt_gl *gl, int which, int kind) {
    pelt_gl_shape shape = gl->shapes[which];
    if (kind == SCALED_NORMALS && shared_bytes(gl, &shape, kind) > gl->shared_limit) shape.shared = 0;
    return shape;
}

static int kind_of(const pelt_gl *gl, unsigned outputs) {
    if (!(outputs & PELT_GL_NORMALS)) return POSITIONS;
    return gl->packed.rings ? SURFACE_NORMALS : gl->scaled ? SCALED_NORMALS : NORMALS;
}

const char *pelt_gl_source(pelt_gl *gl, unsigned outputs) {
    enum { DEFINES = 1000 };
    char defines[DEFINES];
    if (!gl || pelt_gpu_check_outputs(outputs, NULL)) return NULL;
    int kind = kind_of(gl, outputs);
    if (gl->path == PELT_GL_VERTEX && kind == NORMALS) kind = SCALED_NORMALS; /* later poses may scale */
    pelt_gl_shape shape = shape_for(gl,
                                    kind == POSITIONS         ? MANY
                                    : kind == SURFACE_NORMALS ? SURFACE
                                                              : MANY_NORMALS,
                                    kind);
    write_defines(gl, &shape, kind, defines, sizeof defines);
    char *source = malloc(DEFINES + sizeof pelt_skin_glsl);
    if (!source) return NULL;
    snprintf(source, DEFINES + sizeof pelt_skin_glsl, "%s%s", defines, (const char *)pelt_skin_glsl);
    free(gl->source);
    return gl->source = source;
}

/* The driver's log may be long; the beginning says most. */
static pelt_result refuse_program(pelt_gl *gl, GLuint shader, GLuint program, pelt_error *error) {
    char log[800] = "";
    if (program)
        gl->f.GetProgramInfoLog(program, sizeof log, NULL, log);
    else
        gl->f.GetShaderInfoLog(shader, sizeof log, NULL, log);
    return pelt_fail(error, PELT_ERROR_DEVICE, "the driver does not %s the shader: %s", program ? "link" : "compile",
                     *log ? log : "no reason was given");
}

static pelt_result build(pelt_gl *gl, const pelt_gl_shape *shape, int kind, GLuint *out, pelt_error *error) {
    char defines[1000];
    write_defines(gl, shape, kind, defines, sizeof defines);
    const char *texts[] = {gl->es ? "#version 310 es\n" : "#version 430\n", defines, (const char *)pelt_skin_glsl};
    GLuint shader = gl->f.CreateShader(GL_COMPUTE_SHADER), program = gl->f.CreateProgram();
    GLint compiled = 0, linked = 0;
    pelt_result result = shader && program ? PELT_OK : check(gl, "making a shader", error);
    if (shader && program) {
        gl->f.ShaderSource(shader, 3, texts, NULL);
        gl->f.CompileShader(shader);
        gl->f.GetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
        if (compiled) {
            gl->f.AttachShader(program, shader);
            gl->f.LinkProgram(program);
            gl->f.GetProgramiv(program, GL_LINK_STATUS, &linked);
        }
        if (!linked) result = refuse_program(gl, shader, compiled ? program : 0, error);
    } else if (!result) {
        result = pelt_fail(error, PELT_ERROR_DEVICE, "OpenGL cannot create a shader: is the context current?");
    }
    gl->f.DeleteShader(shader);
    if (result)
        gl->f.DeleteProgram(program);
    else
        *out = program;
    return result;
}

/* -- Making -------------------------------------------------------------------------------------------------------- */

static pelt_result load(pelt_gl *gl, const pelt_gl_options *options, pelt_error *error) {
    const char *missing = NULL;
    void *address;
    pelt_gl_functions *f = &gl->f;
    PELT_GL_COMMON(PELT_GL_LOAD)
    if (gl->path == PELT_GL_COMPUTE) {
        PELT_GL_COMPUTE_ONLY(PELT_GL_LOAD)
    }
    if (missing)
        return pelt_fail(error, PELT_ERROR_DEVICE, "this OpenGL has no %s: it is too old for the %s path", missing,
                         gl->path == PELT_GL_COMPUTE ? "compute" : "vertex");
    const char *version = (const char *)gl->f.GetString(GL_VERSION);
    if (!version) return pelt_fail(error, PELT_ERROR_DEVICE, "no OpenGL context is current");
    const char *number = strpbrk(version, "0123456789");
    int major = number ? atoi(number) : 0, minor = number && number[1] == '.' ? atoi(number + 2) : 0;
    gl->es = strstr(version, "OpenGL ES") != NULL;
    int least = gl->es ? (gl->path == PELT_GL_COMPUTE ? 31 : 30) : gl->path == PELT_GL_COMPUTE ? 43 : 42;
    if (10 * major + minor < least)
        return pelt_fail(error, PELT_ERROR_DEVICE, "the context is %s, but the %s path needs %s%d.%d", version,
                         gl->path == PELT_GL_COMPUTE ? "compute" : "vertex", gl->es ? "OpenGL ES " : "OpenGL ",
                         least / 10, least % 10);
    return PELT_OK;
}

static int64_t limit(pelt_gl *gl, GLenum name) {
    int64_t value = 0;
    gl->f.GetInteger64v(name, &value);
    return value;
}

/* One character: one thread per vertex, two if weighted PSD keeps them busy. Many: a thread handles 4 vertices of
   several characters, so that what it reads of the skin serves all of them; with shared memory for poses where it pays.
   Tuned on an H200. */
static const pelt_gl_shape one_shapes[2] = {{128, 1, 1, 1, 1, 2},
                                            {128, 1, 1, 0, 1, 2}}; /* if its pose fits, and if not */
static const pelt_gl_shape surface_shape = {64, 1, 1, 0, 1, 1};
static const struct {
    pelt_gl_shape shared, plain; /* if poses fit shared memory, and if not */
} many_shapes[3][2] = {
    /* blend */
    {{{128, 4, 2, 4, 8}, {64, 4, 4, 0, 1}}, {{128, 4, 2, 0, 1}, {128, 4, 2, 0, 1}}},
    /* basis */
    {{{64, 4, 4, 0, 1}, {64, 4, 4, 0, 1}}, {{128, 1, 2, 0, 1}, {128, 1, 2, 0, 1}}},
    /* weighted */
    {{{256, 4, 4, 8, 2}, {256, 4, 4, 0, 1}}, {{256, 4, 4, 8, 2}, {256, 4, 4, 0, 1}}},
};

static void choose_shapes(pelt_gl *gl, const pelt_gl_options *options) {
    int form = gl->packed.form == PELT_GPU_BLEND ? 0 : gl->packed.form <= PELT_GPU_SHORTS ? 1 : 2;
    gl->shared_limit = (uint64_t)limit(gl, GL_MAX_COMPUTE_SHARED_MEMORY_SIZE);
    gl->shapes[ONE] = one_shapes[shared_bytes(gl, &one_shapes[0], NORMALS) > gl->shared_limit];
    if (options->shape_given) gl->shapes[ONE] = options->shape;
    gl->shapes[SURFACE] = surface_shape;
    for (int normals = 0; normals < 2; normals++) {
        pelt_gl_shape *shape = &gl->shapes[MANY + normals];
        *shape = many_shapes[form][normals].shared;
        if (shared_bytes(gl, shape, NORMALS) > gl->shared_limit) *shape = many_shapes[form][normals].plain;
        if (options->shape_given) *shape = options->shape;
    }
}

static int power_of_two(uint32_t x) { return x && !(x & (x - 1)); }

static pelt_result check_shape(pelt_gl *gl, const pelt_gl_shape *s, pelt_error *error) {
    if (!power_of_two(s->threads) || s->threads < 16 || (s->lanes != 1 && s->lanes != 4) ||
        !power_of_two(s->characters) || s->characters > 4 || s->shared % s->characters ||
        (s->shared && (!s->passes || s->passes > 64)) || (s->split > 1 && (s->lanes > 1 || s->characters > 1)) ||
        (s->split && (!power_of_two(s->split) || s->split > 4)))
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "shape: the numbers are inconsistent");
    int64_t most = limit(gl, GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
    uint64_t wanted = shared_bytes(gl, s, NORMALS);
    if (s->threads > most)
        return refuse_limit(error, "the shape", s->threads, "GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS", most);
    if (wanted > gl->shared_limit)
        return refuse_limit(error, "the shape", wanted, "GL_MAX_COMPUTE_SHARED_MEMORY_SIZE", (int64_t)gl->shared_limit);
    return PELT_OK;
}

static uint32_t groups_across(const pelt_gl *gl, const pelt_gl_shape *s) {
    uint64_t threads = (uint64_t)gl->skin->block_count * PELT_BLOCK / s->lanes,
             each = (uint64_t)s->threads / split_of(gl, s) * (s->shared ? s->passes : 1);
    return (uint32_t)((threads + each - 1) / each);
}

static uint32_t least(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

/* Refuses what exceeds the context's limits. */
static pelt_result check_compute_limits(pelt_gl *gl, pelt_error *error) {
    int64_t block = limit(gl, GL_MAX_SHADER_STORAGE_BLOCK_SIZE),
            blocks = limit(gl, GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS);
    uint64_t skin = 4 * (uint64_t)gl->packed.word_count, pose = 16 * (uint64_t)gl->packed.numbers.pose_stride;
    GLint across = 0, down = 0;
    if (blocks < 4) return refuse_limit(error, "skinning", 4, "GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS", blocks);
    if (skin > (uint64_t)block) return refuse_limit(error, "the skin", skin, "GL_MAX_SHADER_STORAGE_BLOCK_SIZE", block);
    uint64_t largest = WHOLE * (gl->output_size > pose ? gl->output_size : pose);
    if (largest > (uint64_t)block)
        return refuse_limit(error, "the output of 16 characters", largest, "GL_MAX_SHADER_STORAGE_BLOCK_SIZE", block);
    gl->f.GetIntegeri_v(GL_MAX_COMPUTE_WORK_GROUP_COUNT, 0, &across);
    gl->f.GetIntegeri_v(GL_MAX_COMPUTE_WORK_GROUP_COUNT, 1, &down);
    for (int s = 0; s < SHAPES; s++) {
        pelt_result result = check_shape(gl, &gl->shapes[s], error);
        if (result) return result;
        if (groups_across(gl, &gl->shapes[s]) > (uint32_t)across)
            return refuse_limit(error, "the skin", groups_across(gl, &gl->shapes[s]), "GL_MAX_COMPUTE_WORK_GROUP_COUNT",
                                across);
    }
    /* Slightly below 2^31 bytes, so that buffer offsets always fit signed integers. */
    uint64_t room = (uint64_t)block < 0x7fffffff ? (uint64_t)block : 0x7fffffff;
    gl->slice = least(room / largest * WHOLE, (uint32_t)down / WHOLE * WHOLE);
    return PELT_OK;
}

/* One buffer; the caller checks the total size. */
static pelt_result make_buffer(pelt_gl *gl, uint64_t bytes, const void *data, GLenum usage, const char *what,
                               GLuint *out, pelt_error *error) {
    if (bytes > PTRDIFF_MAX) return pelt_fail(error, PELT_ERROR_MEMORY, "the address space has no room for %s", what);
    gl->f.GenBuffers(1, out);
    gl->f.BindBuffer(GL_COPY_WRITE_BUFFER, *out);
    gl->f.BufferData(GL_COPY_WRITE_BUFFER, (GLsizeiptr)bytes, data, usage);
    return check(gl, what, error);
}

/* Uniform data of each slice at a multiple of 256, an offset that every context can bind. */
enum { NUMBERS_STRIDE = 256 };

static uint32_t slices(const pelt_gl *gl) { return (gl->room + gl->slice - 1) / gl->slice; }

static pelt_result make_compute(pelt_gl *gl, pelt_error *error) {
    pelt_result result = check_compute_limits(gl, error);
    if (result) return result;
    uint64_t count = gl->room, pose = 16 * (uint64_t)gl->packed.numbers.pose_stride;
    result = make_buffer(gl, 4 * (uint64_t)gl->packed.word_count, gl->packed.words, GL_STATIC_DRAW, "the skin",
                         &gl->skin_buffer, error);
    if (!result) result = make_buffer(gl, count * pose, NULL, GL_DYNAMIC_DRAW, "poses", &gl->poses, error);
    if (!result)
        result = make_buffer(gl, count * gl->output_size, NULL, GL_DYNAMIC_COPY, "positions", &gl->positions, error);
    if (!result)
        result = make_buffer(gl, (uint64_t)slices(gl) * NUMBERS_STRIDE, NULL, GL_DYNAMIC_DRAW, "numbers", &gl->numbers,
                             error);
    return result;
}

/* Whole rows of TEXTURE_WIDTH texels; data has that many. */
static pelt_result make_texture(pelt_gl *gl, uint64_t texels, GLenum format, const char *what, GLuint *out,
                                pelt_error *error) {
    uint64_t rows = (texels + TEXTURE_WIDTH - 1) / TEXTURE_WIDTH;
    int64_t most = limit(gl, GL_MAX_TEXTURE_SIZE);
    if (rows > (uint64_t)most || most < TEXTURE_WIDTH)
        return refuse_limit(error, what, rows, "GL_MAX_TEXTURE_SIZE", most);
    gl->f.GenTextures(1, out);
    gl->f.BindTexture(GL_TEXTURE_2D, *out);
    gl->f.TexStorage2D(GL_TEXTURE_2D, 1, format, TEXTURE_WIDTH, (GLsizei)rows);
    gl->f.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    gl->f.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    return check(gl, what, error);
}

/* Uploads texels from `first` on to the bound texture: a partial row, whole rows, and a partial row again. */
static void put_texels(pelt_gl *gl, uint64_t first, uint64_t count, GLenum format, GLenum type, const char *data) {
    while (count) {
        uint64_t x = first % TEXTURE_WIDTH, y = first / TEXTURE_WIDTH;
        uint64_t wide = x || count < TEXTURE_WIDTH ? least(count, TEXTURE_WIDTH - x) : TEXTURE_WIDTH;
        uint64_t high = wide == TEXTURE_WIDTH ? count / TEXTURE_WIDTH : 1;
        gl->f.TexSubImage2D(GL_TEXTURE_2D, 0, (GLint)x, (GLint)y, (GLsizei)wide, (GLsizei)high, format, type, data);
        first += wide * high, count -= wide * high, data += 16 * wide * high;
    }
}

static pelt_result make_vertex(pelt_gl *gl, pelt_error *error) {
    int64_t units = limit(gl, GL_MAX_VERTEX_TEXTURE_IMAGE_UNITS);
    if (units < 2) return refuse_limit(error, "skinning", 2, "GL_MAX_VERTEX_TEXTURE_IMAGE_UNITS", units);
    texture_state kept = keep_texture_state(gl);
    uint64_t texels = gl->packed.word_count / 4;
    pelt_result result = make_texture(gl, texels, GL_RGBA32UI, "the skin's texture", &gl->skin_buffer, error);
    if (!result) {
        put_texels(gl, 0, texels, GL_RGBA_INTEGER, GL_UNSIGNED_INT, (const char *)gl->packed.words);
        result = check(gl, "the skin's texture", error);
    }
    if (!result)
        result = make_texture(gl, (uint64_t)gl->room * gl->packed.numbers.pose_stride, GL_RGBA32F,
                              "the texture of poses", &gl->poses, error);
    put_texture_state(gl, &kept);
    if (!result)
        result = make_buffer(gl, sizeof gl->packed.numbers, &gl->packed.numbers, GL_STATIC_DRAW, "numbers",
                             &gl->numbers, error);
    return result;
}

pelt_gl *pelt_gl_new(const pelt_skin *skin, const pelt_gl_options *options, pelt_error *error) {
    if (!skin || !options || !options->load) {
        pelt_fail(error, PELT_ERROR_ARGUMENT, "a skin and a function that loads OpenGL functions are required");
        return NULL;
    }
    if (options->path != PELT_GL_COMPUTE && options->path != PELT_GL_VERTEX) {
        pelt_fail(error, PELT_ERROR_ARGUMENT, "path: there is no path %d", (int)options->path);
        return NULL;
    }
    if (pelt_gpu_check_crowd(options->characters, error)) return NULL;
    uint64_t wanted = options->characters ? options->characters : 1;
    pelt_gl *gl = calloc(1, sizeof *gl);
    if (!gl || !pelt_gpu_pack(skin, &gl->packed)) {
        free(gl);
        pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for the skin");
        return NULL;
    }
    gl->skin = skin, gl->path = options->path, gl->output_size = pelt_output_size(skin);
    gl->characters = (uint32_t)wanted, gl->room = (uint32_t)((wanted + WHOLE - 1) / WHOLE * WHOLE);
    pelt_result result = load(gl, options, error);
    int loaded = !result;
    if (loaded) {
        forget_errors(gl);
        state kept = keep_state(gl);
        if (gl->path == PELT_GL_COMPUTE) choose_shapes(gl, options);
        result = gl->path == PELT_GL_COMPUTE ? make_compute(gl, error) : make_vertex(gl, error);
        put_state(gl, &kept);
    }
    free(gl->packed.words), gl->packed.words = NULL;
    if (!result && !(gl->staged = malloc(16 * (size_t)gl->packed.numbers.pose_stride)))
        result = pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for a pose");
    if (!result) return gl;
    if (!loaded) gl->f = (pelt_gl_functions){0};
    pelt_gl_free(gl);
    return NULL;
}

/* Names that were never created are 0, which OpenGL ignores. */
void pelt_gl_free(pelt_gl *gl) {
    if (!gl) return;
    if (gl->f.GetError) {
        GLuint both[] = {gl->skin_buffer, gl->poses}, rest[] = {gl->numbers, gl->positions, gl->normals, gl->results};
        if (gl->path == PELT_GL_COMPUTE)
            gl->f.DeleteBuffers(2, both);
        else
            gl->f.DeleteTextures(2, both);
        gl->f.DeleteBuffers(4, rest);
        for (int s = 0; s < SHAPES; s++)
            for (int k = 0; k < PROGRAM_KINDS; k++)
                if (gl->programs[s][k]) gl->f.DeleteProgram(gl->programs[s][k]);
    }
    free(gl->staged);
    free(gl->source);
    free(gl);
}

/* -- Every frame --------------------------------------------------------------------------------------------------- */

static pelt_result check_range(const pelt_gl *gl, uint32_t first, uint32_t count, pelt_error *error) {
    return pelt_gpu_check_range(first, count, gl ? gl->characters : 0, error);
}

pelt_result pelt_gl_upload(pelt_gl *gl, uint32_t first, uint32_t count, const void *const *scratches,
                           pelt_error *error) {
    pelt_result result = check_range(gl, first, count, error);
    if (!result) result = pelt_gpu_check_poses(scratches, count, error);
    if (result || !count) return result;
    size_t vec4s = gl->packed.numbers.pose_stride, bytes = 16 * vec4s;
    forget_errors(gl);
    GLint bound = 0;
    texture_state kept;
    if (gl->path == PELT_GL_COMPUTE) {
        gl->f.GetIntegerv(GL_COPY_WRITE_BUFFER, &bound);
        gl->f.BindBuffer(GL_COPY_WRITE_BUFFER, gl->poses);
    } else {
        kept = keep_texture_state(gl);
        gl->f.BindTexture(GL_TEXTURE_2D, gl->poses);
    }
    for (uint32_t i = 0; i < count; i++) {
        gl->scaled |= pelt_gpu_pose(gl->skin, &gl->packed, scratches[i], gl->staged);
        if (gl->path == PELT_GL_COMPUTE)
            gl->f.BufferSubData(GL_COPY_WRITE_BUFFER, (GLintptr)((first + i) * bytes), (GLsizeiptr)bytes, gl->staged);
        else
            put_texels(gl, (uint64_t)(first + i) * vec4s, vec4s, GL_RGBA, GL_FLOAT, (const char *)gl->staged);
    }
    if (gl->path == PELT_GL_COMPUTE)
        gl->f.BindBuffer(GL_COPY_WRITE_BUFFER, (GLuint)bound);
    else
        put_texture_state(gl, &kept);
    return check(gl, "uploading poses", error);
}

static pelt_result want_path(const pelt_gl *gl, pelt_gl_path path, pelt_error *error) {
    if (gl && gl->path == path) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "this is for the %s path",
                     path == PELT_GL_COMPUTE ? "compute" : "vertex");
}

/* One slice: its part of poses and output, and its number of characters. */
static void dispatch_slice(pelt_gl *gl, const pelt_gl_shape *shape, uint32_t slice, uint32_t count, int normals) {
    uint64_t first = (uint64_t)slice * gl->slice, pose = 16 * (uint64_t)gl->packed.numbers.pose_stride;
    uint32_t here = least(gl->slice, count - first), whole = (here + WHOLE - 1) / WHOLE * WHOLE;
    uint32_t each = shape->shared ? shape->shared : shape->characters;
    if (gl->counted != count) {
        gl->packed.numbers.character_count = here;
        gl->f.BindBuffer(GL_COPY_WRITE_BUFFER, gl->numbers);
        gl->f.BufferSubData(GL_COPY_WRITE_BUFFER, slice * NUMBERS_STRIDE, sizeof gl->packed.numbers,
                            &gl->packed.numbers);
    }
    gl->f.BindBufferRange(GL_UNIFORM_BUFFER, AT_NUMBERS, gl->numbers, slice * NUMBERS_STRIDE,
                          sizeof gl->packed.numbers);
    gl->f.BindBufferRange(GL_SHADER_STORAGE_BUFFER, AT_POSES, gl->poses, (GLintptr)(first * pose),
                          (GLsizeiptr)(whole * pose));
    GLuint outputs[] = {gl->positions, gl->normals};
    for (int i = 0; i <= normals; i++)
        gl->f.BindBufferRange(GL_SHADER_STORAGE_BUFFER, (GLuint)(AT_POSITIONS + i), outputs[i],
                              (GLintptr)(first * gl->output_size), (GLsizeiptr)(whole * gl->output_size));
    gl->f.DispatchCompute(groups_across(gl, shape), (here + each - 1) / each, 1);
}

/* Dispatches one program for characters 0 .. count - 1. */
static pelt_result run_program(pelt_gl *gl, int which, int kind, uint32_t count, pelt_error *error) {
    pelt_gl_shape shape = shape_for(gl, which, kind);
    GLuint *program = &gl->programs[which][kind];
    pelt_result result = *program ? PELT_OK : build(gl, &shape, kind, program, error);
    if (result) return result;
    gl->f.UseProgram(*program);
    gl->f.BindBufferBase(GL_SHADER_STORAGE_BUFFER, AT_SKIN, gl->skin_buffer);
    for (uint32_t s = 0; s * (uint64_t)gl->slice < count; s++) dispatch_slice(gl, &shape, s, count, kind != POSITIONS);
    gl->counted = count;
    gl->f.MemoryBarrier(GL_VERTEX_ATTRIB_ARRAY_BARRIER_BIT | GL_SHADER_STORAGE_BARRIER_BIT |
                        GL_BUFFER_UPDATE_BARRIER_BIT);
    return PELT_OK;
}

pelt_result pelt_gl_dispatch(pelt_gl *gl, uint32_t count, unsigned outputs, pelt_error *error) {
    pelt_result result = want_path(gl, PELT_GL_COMPUTE, error);
    if (!result) result = check_range(gl, 0, count, error);
    if (!result) result = pelt_gpu_check_outputs(outputs, error);
    if (result || !count) return result;
    int kind = kind_of(gl, outputs), of_surface = kind == SURFACE_NORMALS;
    forget_errors(gl);
    state kept = keep_state(gl);
    if (kind != POSITIONS && !gl->normals) {
        result = make_buffer(gl, gl->room * (uint64_t)gl->output_size, NULL, GL_DYNAMIC_COPY, "normals", &gl->normals,
                             error);
        if (result) gl->f.DeleteBuffers(1, &gl->normals), gl->normals = 0;
    }
    if (of_surface) kind = POSITIONS; /* first */
    if (!result)
        result = run_program(gl, count < FEW ? ONE : kind == POSITIONS ? MANY : MANY_NORMALS, kind, count, error);
    if (!result && of_surface) result = run_program(gl, SURFACE, SURFACE_NORMALS, count, error);
    put_state(gl, &kept);
    return result ? result : check(gl, "skinning", error);
}

pelt_gl_buffers pelt_gl_output(const pelt_gl *gl) {
    return gl ? (pelt_gl_buffers){gl->positions, gl->normals, gl->output_size} : (pelt_gl_buffers){0};
}

pelt_result pelt_gl_attributes(pelt_gl *gl, uint32_t character, int positions_at, int normals_at, pelt_error *error) {
    pelt_result result = want_path(gl, PELT_GL_COMPUTE, error);
    if (!result) result = check_range(gl, character, 1, error);
    if (result) return result;
    if (normals_at >= 0 && !gl->normals)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "normals have not been computed yet");
    GLint bound = 0, at[] = {positions_at, normals_at};
    GLuint buffers[] = {gl->positions, gl->normals};
    forget_errors(gl);
    gl->f.GetIntegerv(GL_ARRAY_BUFFER_BINDING, &bound);
    for (int i = 0; i < 2; i++) {
        if (at[i] < 0) continue;
        gl->f.BindBuffer(GL_ARRAY_BUFFER, buffers[i]);
        gl->f.VertexAttribPointer((GLuint)at[i], 3, GL_FLOAT, 0, 12, (const void *)(character * gl->output_size));
        gl->f.EnableVertexAttribArray((GLuint)at[i]);
    }
    gl->f.BindBuffer(GL_ARRAY_BUFFER, (GLuint)bound);
    return check(gl, "vertex attributes", error);
}

/* Reads through a small buffer: drivers move a buffer that is mapped for reading to memory that is fast to read, which
   makes skinning into it slow from then on. */
static pelt_result read_buffer(pelt_gl *gl, GLuint buffer, uint32_t character, float *out, pelt_error *error) {
    GLsizeiptr size = (GLsizeiptr)gl->output_size;
    gl->f.BindBuffer(GL_COPY_READ_BUFFER, buffer);
    gl->f.BindBuffer(GL_COPY_WRITE_BUFFER, gl->results);
    gl->f.CopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, (GLintptr)character * size, 0, size);
    const void *from = gl->f.MapBufferRange(GL_COPY_WRITE_BUFFER, 0, size, GL_MAP_READ_BIT);
    if (from) memcpy(out, from, gl->output_size);
    int whole = from && gl->f.UnmapBuffer(GL_COPY_WRITE_BUFFER);
    pelt_result result = check(gl, "reading the result", error);
    if (!result && !whole) result = pelt_fail(error, PELT_ERROR_DEVICE, "the device lost the result; deform again");
    return result;
}

pelt_result pelt_gl_read(pelt_gl *gl, uint32_t character, float *positions, float *normals, pelt_error *error) {
    pelt_result result = want_path(gl, PELT_GL_COMPUTE, error);
    if (!result) result = check_range(gl, character, 1, error);
    if (!result && normals && !gl->normals)
        result = pelt_fail(error, PELT_ERROR_ARGUMENT, "normals have not been computed yet");
    if (result) return result;
    GLint read = 0, write = 0;
    forget_errors(gl);
    gl->f.GetIntegerv(GL_COPY_READ_BUFFER, &read);
    gl->f.GetIntegerv(GL_COPY_WRITE_BUFFER, &write);
    if (!gl->results) {
        result = make_buffer(gl, gl->output_size, NULL, GL_STREAM_READ, "a result", &gl->results, error);
        if (result) gl->f.DeleteBuffers(1, &gl->results), gl->results = 0;
    }
    if (!result && positions) result = read_buffer(gl, gl->positions, character, positions, error);
    if (!result && normals) result = read_buffer(gl, gl->normals, character, normals, error);
    gl->f.BindBuffer(GL_COPY_READ_BUFFER, (GLuint)read);
    gl->f.BindBuffer(GL_COPY_WRITE_BUFFER, (GLuint)write);
    return result;
}

pelt_result pelt_gl_bind(pelt_gl *gl, unsigned program, unsigned unit, unsigned block, pelt_error *error) {
    pelt_result result = want_path(gl, PELT_GL_VERTEX, error);
    if (result) return result;
    static const char *const names[] = {"pelt_skin", "pelt_poses"};
    GLuint textures[] = {gl->skin_buffer, gl->poses};
    GLint active = 0, uniform = 0;
    forget_errors(gl);
    GLuint index = gl->f.GetUniformBlockIndex(program, "PeltNumbers");
    if (index == GL_INVALID_INDEX)
        return forget_errors(gl),
               pelt_fail(error, PELT_ERROR_ARGUMENT, "program %u does not use pelt_vertex of pelt_gl_source", program);
    gl->f.GetIntegerv(GL_ACTIVE_TEXTURE, &active);
    gl->f.GetIntegerv(GL_UNIFORM_BUFFER_BINDING, &uniform);
    gl->f.UseProgram(program);
    gl->f.UniformBlockBinding(program, index, block);
    gl->f.BindBufferBase(GL_UNIFORM_BUFFER, block, gl->numbers);
    gl->f.BindBuffer(GL_UNIFORM_BUFFER, (GLuint)uniform);
    for (unsigned i = 0; i < 2; i++) {
        gl->f.Uniform1i(gl->f.GetUniformLocation(program, names[i]), (GLint)(unit + i));
        gl->f.ActiveTexture(GL_TEXTURE0 + unit + i);
        gl->f.BindTexture(GL_TEXTURE_2D, textures[i]);
    }
    gl->f.ActiveTexture((GLenum)active);
    return check(gl, "binding the skin", error);
}
