/* test_gl.c: compute shaders reproduce the processor's results, restore the OpenGL state, and fail with messages. Runs
   on any OpenGL 4.3, usually Mesa's software renderer. */

#include "gpu/gl_functions.h"
#include "test/gl_subjects.h"

static pelt_headless *context;

static int open_context(void **state) {
    (void)state;
    pelt_error error;
    context = pelt_headless_new(PELT_HEADLESS_GL, -1, &error);
    if (!context) print_message("skipped: %s\n", error.text);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    pelt_headless_free(context);
    return 0;
}

static void *gl_function(const char *name) {
    void *address = pelt_headless_load(context, name);
    assert_non_null(address);
    return address;
}

#define NEED_CONTEXT()                                                                                                 \
    (void)state;                                                                                                       \
    if (!context) skip()

static pelt_gl_options options_for(uint32_t characters) {
    return (pelt_gl_options){.load = pelt_headless_load, .user = context, .characters = characters};
}

static pelt_gl *make(const subject *s, const pelt_gl_options *options) {
    pelt_error error = {0};
    pelt_gl *gl = pelt_gl_new(&s->skin, options, &error);
    if (!gl) fail_msg("%s", error.text);
    return gl;
}

/* -- Results ------------------------------------------------------------------------------------------------------- */

static void dispatch_and_compare(pelt_gl *gl, const subject *s, const char *name, uint32_t count, unsigned outputs) {
    pelt_error error = {0};
    float *positions = malloc(pelt_output_size(&s->skin)), *normals = malloc(pelt_output_size(&s->skin));
    if (pelt_gl_dispatch(gl, count, outputs, &error)) fail_msg("%s: %s", name, error.text);
    for (uint32_t c = 0; c < count; c++) {
        if (pelt_gl_read(gl, c, positions, outputs ? normals : NULL, &error)) fail_msg("%s: %s", name, error.text);
        assert_same(s, name, c, positions, outputs ? normals : NULL);
    }
    free(positions), free(normals);
}

/* Positions of one character alone, then all of them with normals. */
static void compare(const subject *s, const char *name, const pelt_gl_options *options) {
    pelt_error error = {0};
    pelt_gl *gl = make(s, options);
    if (pelt_gl_upload(gl, 0, s->characters, (const void *const *)s->scratches, &error)) fail_msg("%s", error.text);
    dispatch_and_compare(gl, s, name, 1, 0);
    dispatch_and_compare(gl, s, name, s->characters, PELT_GL_NORMALS);
    pelt_gl_free(gl);
}

static void every_form_equals_the_processor(void **state) {
    NEED_CONTEXT();
    for (int i = 0; i < RECIPES; i++) {
        subject s = subject_of(&recipes[i]);
        pelt_gl_options options = options_for(s.characters);
        compare(&s, recipes[i].name, &options);
        subject_free(&s);
    }
}

static void every_character_has_its_own_level(void **state) {
    NEED_CONTEXT();
    for (int i = 0; i < LEVELLED; i++) {
        subject s = subject_of(&levelled_recipes[i]);
        pelt_gl_options options = options_for(s.characters);
        compare(&s, levelled_recipes[i].name, &options);
        options.shape_given = 1, options.shape = (pelt_gl_shape){.threads = 32, .lanes = 1, .characters = 2};
        options.shape.shared = 4, options.shape.passes = 3;
        compare(&s, levelled_recipes[i].name, &options);
        subject_free(&s);
    }
}

static void every_shape_equals_the_processor(void **state) {
    NEED_CONTEXT();
    static const pelt_gl_shape shapes[] = {
        {.threads = 64, .lanes = 4, .characters = 1},
        {.threads = 32, .lanes = 1, .characters = 2, .shared = 4, .passes = 3},
        {.threads = 16, .lanes = 4, .characters = 2, .shared = 2, .passes = 2},
        {.threads = 64, .lanes = 1, .characters = 1, .split = 4},
        {.threads = 32, .lanes = 1, .characters = 1, .shared = 3, .passes = 2, .split = 2}};
    static const int chosen[] = {5, 8, 16};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        recipe r = recipes[chosen[i]];
        r.characters = 7, r.vertices = 333;
        subject s = subject_of(&r);
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            pelt_gl_options options = options_for(s.characters);
            options.shape_given = 1, options.shape = shapes[k];
            compare(&s, r.name, &options);
        }
        subject_free(&s);
    }
}

static void normals_of_the_surface_equal_the_processors(void **state) {
    NEED_CONTEXT();
    for (int i = 0; i < SHADED_SUBJECTS; i++) {
        subject s = subject_shaded(i);
        pelt_gl_options options = options_for(s.characters);
        compare(&s, shaded_subjects[i].name, &options);
        subject_free(&s);
    }
}

static void real_characters_equal_the_processor(void **state) {
    NEED_CONTEXT();
    for (int i = 0; i < REAL_SUBJECTS; i++) {
        subject s = {0};
        if (!subject_fit(real_subjects[i].file, real_subjects[i].clip, real_subjects[i].options,
                         real_subjects[i].characters, &s))
            continue;
        pelt_gl_options options = options_for(s.characters);
        compare(&s, real_subjects[i].file, &options);
        subject_free(&s);
    }
}

/* Poses are replaced, including those of only some characters. */
static void later_poses_replace_earlier_ones(void **state) {
    NEED_CONTEXT();
    subject s = subject_of(&recipes[8]);
    pelt_gl_options options = options_for(4);
    pelt_error error = {0};
    pelt_gl *gl = make(&s, &options);
    float *positions = malloc(pelt_output_size(&s.skin));
    assert_int_equal(pelt_gl_upload(gl, 0, 4, (const void *const *)s.scratches, &error), PELT_OK);
    assert_int_equal(pelt_gl_upload(gl, 2, 1, (const void *const *)s.scratches + 7, &error), PELT_OK);
    assert_int_equal(pelt_gl_dispatch(gl, 4, 0, &error), PELT_OK);
    for (uint32_t c = 0; c < 4; c++) {
        assert_int_equal(pelt_gl_read(gl, c, positions, NULL, &error), PELT_OK);
        assert_same(&s, "replaced", c == 2 ? 7 : c, positions, NULL);
    }
    free(positions);
    pelt_gl_free(gl);
    subject_free(&s);
}

/* -- State --------------------------------------------------------------------------------------------------------- */

typedef struct seen_state {
    GLint values[16];
    GLint indexed[10];
    int64_t ranges[20];
} seen_state;

static seen_state look(void) {
    void (*get)(GLenum, GLint *) = (void (*)(GLenum, GLint *))gl_function("glGetIntegerv");
    void (*geti)(GLenum, GLuint, GLint *) = (void (*)(GLenum, GLuint, GLint *))gl_function("glGetIntegeri_v");
    void (*get64)(GLenum, GLuint, int64_t *) = (void (*)(GLenum, GLuint, int64_t *))gl_function("glGetInteger64i_v");
    static const GLenum names[] = {GL_CURRENT_PROGRAM,
                                   GL_UNIFORM_BUFFER_BINDING,
                                   GL_COPY_READ_BUFFER,
                                   GL_SHADER_STORAGE_BUFFER_BINDING,
                                   GL_COPY_WRITE_BUFFER,
                                   GL_ARRAY_BUFFER_BINDING,
                                   GL_ACTIVE_TEXTURE,
                                   GL_TEXTURE_BINDING_2D,
                                   GL_UNPACK_ALIGNMENT,
                                   GL_UNPACK_ROW_LENGTH,
                                   GL_UNPACK_SKIP_ROWS,
                                   GL_UNPACK_SKIP_PIXELS,
                                   GL_PIXEL_UNPACK_BUFFER_BINDING};
    seen_state s;
    memset(&s, 0, sizeof s);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) get(names[i], &s.values[i]);
    for (GLuint i = 0; i < 5; i++) {
        geti(GL_UNIFORM_BUFFER_BINDING, i, &s.indexed[i]);
        geti(GL_SHADER_STORAGE_BUFFER_BINDING, i, &s.indexed[5 + i]);
        get64(GL_UNIFORM_BUFFER_START, i, &s.ranges[i]), get64(GL_UNIFORM_BUFFER_SIZE, i, &s.ranges[5 + i]);
        get64(GL_SHADER_STORAGE_BUFFER_START, i, &s.ranges[10 + i]);
        get64(GL_SHADER_STORAGE_BUFFER_SIZE, i, &s.ranges[15 + i]);
    }
    return s;
}

/* Binds something of the caller's to every binding the library uses; a generic binding always differs from the last
   indexed one. */
static void make_state(GLuint names[4]) {
    pelt_gl_functions f;
#define LOAD(result, name, arguments)                                                                                  \
    void *name##_ = gl_function("gl" #name);                                                                           \
    memcpy(&f.name, &name##_, sizeof name##_);
    PELT_GL_COMMON(LOAD)
    PELT_GL_COMPUTE_ONLY(LOAD)
#undef LOAD
    f.GenBuffers(3, names);
    f.GenTextures(1, names + 3);
    for (int i = 0; i < 3; i++) {
        f.BindBuffer(GL_COPY_READ_BUFFER, names[i]);
        f.BufferData(GL_COPY_READ_BUFFER, 4096, NULL, GL_STATIC_DRAW);
    }
    for (GLuint i = 0; i < 5; i++) {
        f.BindBufferRange(GL_UNIFORM_BUFFER, i, names[1 + i % 2], 256 * (GLintptr)i, 512);
        f.BindBufferRange(GL_SHADER_STORAGE_BUFFER, i, names[2 - i % 2], 256, 1024);
    }
    f.BindBufferBase(GL_SHADER_STORAGE_BUFFER, 2, names[0]);
    static const GLenum targets[] = {GL_UNIFORM_BUFFER, GL_SHADER_STORAGE_BUFFER, GL_COPY_WRITE_BUFFER, GL_ARRAY_BUFFER,
                                     GL_PIXEL_UNPACK_BUFFER};
    for (size_t i = 0; i < 5; i++) f.BindBuffer(targets[i], names[i % 3]);
    f.ActiveTexture(GL_TEXTURE0 + 3);
    f.BindTexture(GL_TEXTURE_2D, names[3]);
    f.PixelStorei(GL_UNPACK_ALIGNMENT, 2), f.PixelStorei(GL_UNPACK_ROW_LENGTH, 77);
    f.PixelStorei(GL_UNPACK_SKIP_ROWS, 3), f.PixelStorei(GL_UNPACK_SKIP_PIXELS, 5);
}

static void the_state_of_the_context_stays(void **state) {
    NEED_CONTEXT();
    subject s = subject_of(&recipes[8]);
    for (int path = 0; path < 2; path++) {
        GLuint names[4];
        make_state(names);
        seen_state before = look(), after;
        pelt_gl_options options = options_for(10);
        options.path = (pelt_gl_path)path;
        pelt_gl *gl = make(&s, &options);
        after = look();
        assert_memory_equal(&before, &after, sizeof before);
        assert_int_equal(pelt_gl_upload(gl, 0, 10, (const void *const *)s.scratches, NULL), PELT_OK);
        after = look();
        assert_memory_equal(&before, &after, sizeof before);
        float *positions = malloc(pelt_output_size(&s.skin));
        if (path == PELT_GL_COMPUTE) {
            assert_int_equal(pelt_gl_dispatch(gl, 10, PELT_GL_NORMALS, NULL), PELT_OK);
            after = look();
            assert_memory_equal(&before, &after, sizeof before);
            assert_int_equal(pelt_gl_read(gl, 9, positions, NULL, NULL), PELT_OK);
            assert_same(&s, "state", 9, positions, NULL);
            after = look();
            assert_memory_equal(&before, &after, sizeof before);
        }
        pelt_gl_free(gl);
        after = look();
        assert_memory_equal(&before, &after, sizeof before);
        free(positions);
    }
    subject_free(&s);
}

/* -- Failures ------------------------------------------------------------------------------------------------------ */

/* A driver that fails on demand. */
static GLenum planted_error;
static int spoil_source, spoil_link, errors_until_planted;
static int64_t planted_limit;
static GLenum limited;

static GLenum failing_get_error(void) {
    if (planted_error && errors_until_planted-- <= 0) {
        GLenum code = planted_error;
        if (code != GL_CONTEXT_LOST) planted_error = 0; /* a lost context stays lost */
        return code;
    }
    return ((GLenum(*)(void))gl_function("glGetError"))();
}

static void failing_shader_source(GLuint shader, GLsizei count, const char *const *texts, const GLint *lengths) {
    void (*real)(GLuint, GLsizei, const char *const *, const GLint *) =
        (void (*)(GLuint, GLsizei, const char *const *, const GLint *))gl_function("glShaderSource");
    const char *spoiled[] = {texts[0], "void main() { nonsense; }"};
    if (spoil_source)
        real(shader, 2, spoiled, NULL);
    else
        real(shader, count, texts, lengths);
}

static void failing_get_programiv(GLuint program, GLenum name, GLint *value) {
    ((void (*)(GLuint, GLenum, GLint *))gl_function("glGetProgramiv"))(program, name, value);
    if (spoil_link && name == GL_LINK_STATUS) *value = 0;
}

static void failing_get_integer64v(GLenum name, int64_t *value) {
    ((void (*)(GLenum, int64_t *))gl_function("glGetInteger64v"))(name, value);
    if (name == limited) *value = planted_limit;
}

static const char *absent;

static void *failing_load(void *user, const char *name) {
    (void)user;
    if (absent && !strcmp(name, absent)) return NULL;
    if (!strcmp(name, "glGetError")) return (void *)failing_get_error;
    if (!strcmp(name, "glShaderSource")) return (void *)failing_shader_source;
    if (!strcmp(name, "glGetProgramiv")) return (void *)failing_get_programiv;
    if (!strcmp(name, "glGetInteger64v")) return (void *)failing_get_integer64v;
    return gl_function(name);
}

static void assert_says(const pelt_error *error, pelt_result code, const char *words) {
    if (error->code != code || !strstr(error->text, words))
        fail_msg("\"%s\" (%d) does not say \"%s\"", error->text, error->code, words);
}

static void failures_come_with_words_and_the_program_lives(void **state) {
    NEED_CONTEXT();
    subject s = subject_of(&recipes[7]);
    pelt_gl_options options = options_for(10);
    pelt_error error = {0};
    options.load = failing_load;

    absent = "glDispatchCompute";
    assert_null(pelt_gl_new(&s.skin, &options, &error));
    assert_says(&error, PELT_ERROR_DEVICE, "glDispatchCompute");
    absent = NULL;

    planted_error = GL_OUT_OF_MEMORY, errors_until_planted = 2;
    assert_null(pelt_gl_new(&s.skin, &options, &error));
    assert_says(&error, PELT_ERROR_MEMORY, "enough memory");

    pelt_gl *gl = make(&s, &options);
    assert_int_equal(pelt_gl_upload(gl, 0, 10, (const void *const *)s.scratches, &error), PELT_OK);
    spoil_source = 1;
    assert_int_equal(pelt_gl_dispatch(gl, 10, 0, &error), PELT_ERROR_DEVICE);
    assert_says(&error, PELT_ERROR_DEVICE, "nonsense"); /* the driver's own log */
    spoil_source = 0, spoil_link = 1;
    assert_int_equal(pelt_gl_dispatch(gl, 10, 0, &error), PELT_ERROR_DEVICE);
    assert_says(&error, PELT_ERROR_DEVICE, "link");
    spoil_link = 0;
    planted_error = GL_OUT_OF_MEMORY, errors_until_planted = 1; /* the buffer of normals */
    assert_int_equal(pelt_gl_dispatch(gl, 10, PELT_GL_NORMALS, &error), PELT_ERROR_MEMORY);
    assert_says(&error, PELT_ERROR_MEMORY, "normals");
    planted_error = GL_CONTEXT_LOST, errors_until_planted = 1;
    assert_int_equal(pelt_gl_dispatch(gl, 10, 0, &error), PELT_ERROR_DEVICE);
    assert_says(&error, PELT_ERROR_DEVICE, "lost");
    planted_error = 0;
    dispatch_and_compare(gl, &s, "after failures", 10, PELT_GL_NORMALS); /* nothing of it lasts */

    assert_int_equal(pelt_gl_bind(gl, 1, 0, 0, &error), PELT_ERROR_ARGUMENT);
    pelt_gl_free(gl);
    subject_free(&s);
}

/* Buffers are sized for whole groups of 16: the padding is off limits. */
static void characters_outputs_and_paths_that_were_not_asked_for_are_refused(void **state) {
    NEED_CONTEXT();
    subject s = subject_of(&recipes[7]);
    pelt_gl_options options = options_for(3), strange = options_for(3), crowd = options_for(UINT32_MAX);
    pelt_error error = {0};
    strange.path = (pelt_gl_path)9;
    assert_null(pelt_gl_new(&s.skin, &strange, &error));
    assert_says(&error, PELT_ERROR_ARGUMENT, "path: there is no path 9");
    assert_null(pelt_gl_new(&s.skin, &crowd, &error));
    assert_says(&error, PELT_ERROR_ARGUMENT, "characters: 4294967295");
    pelt_gl *gl = make(&s, &options);
    const void *const *poses = (const void *const *)s.scratches, *gap[] = {poses[0], NULL, poses[1]};
    float *out = malloc(pelt_output_size(&s.skin));
    assert_int_equal(pelt_gl_upload(gl, 0, 4, poses, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_upload(gl, 3, 1, poses, &error), PELT_ERROR_ARGUMENT);
    assert_says(&error, PELT_ERROR_ARGUMENT, "room for 3");
    assert_int_equal(pelt_gl_upload(gl, 0, 3, gap, &error), PELT_ERROR_ARGUMENT);
    assert_says(&error, PELT_ERROR_ARGUMENT, "scratches: the pose of character 1");
    assert_int_equal(pelt_gl_upload(gl, 0, 3, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_upload(gl, 0, 3, poses, &error), PELT_OK);
    assert_int_equal(pelt_gl_dispatch(gl, 4, 0, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_dispatch(gl, 3, 99, &error), PELT_ERROR_ARGUMENT);
    assert_says(&error, PELT_ERROR_ARGUMENT, "outputs: expected 0, or 1 for normals, not 99");
    assert_null(pelt_gl_source(gl, 2));
    assert_int_equal(pelt_gl_dispatch(gl, 3, 0, &error), PELT_OK);
    assert_int_equal(pelt_gl_read(gl, 9, out, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_read(gl, 3, out, NULL, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_read(gl, 2, out, NULL, &error), PELT_OK);
    assert_int_equal(pelt_gl_attributes(gl, 3, 0, -1, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_dispatch(NULL, 1, 0, &error), PELT_ERROR_ARGUMENT);
    assert_int_equal(pelt_gl_upload(NULL, 0, 1, poses, &error), PELT_ERROR_ARGUMENT);
    pelt_gl_free(gl), pelt_gl_free(NULL), free(out), subject_free(&s);
}

static void skins_beyond_a_limit_are_refused_by_its_name(void **state) {
    NEED_CONTEXT();
    subject s = subject_of(&recipes[7]);
    static const struct {
        GLenum name;
        int64_t value;
        pelt_gl_path path;
        const char *words, *number;
    } cases[] = {
        {GL_MAX_SHADER_STORAGE_BLOCK_SIZE, 5000, PELT_GL_COMPUTE, "GL_MAX_SHADER_STORAGE_BLOCK_SIZE", "5000"},
        {GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS, 3, PELT_GL_COMPUTE, "GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS", "3"},
        {GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS, 64, PELT_GL_COMPUTE, "GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS", "64"},
        {GL_MAX_TEXTURE_SIZE, 5, PELT_GL_VERTEX, "GL_MAX_TEXTURE_SIZE", "5"},
        {GL_MAX_VERTEX_TEXTURE_IMAGE_UNITS, 1, PELT_GL_VERTEX, "GL_MAX_VERTEX_TEXTURE_IMAGE_UNITS", "1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pelt_gl_options options = options_for(10);
        pelt_error error = {0};
        options.load = failing_load, options.path = cases[i].path;
        limited = cases[i].name, planted_limit = cases[i].value;
        assert_null(pelt_gl_new(&s.skin, &options, &error));
        assert_says(&error, PELT_ERROR_DEVICE, cases[i].words);
        assert_says(&error, PELT_ERROR_DEVICE, cases[i].number);
    }
    limited = 0;
    subject_free(&s);
}

/* With a small limit for a storage block, characters go in slices. */
static void crowds_larger_than_a_storage_block_go_in_slices(void **state) {
    NEED_CONTEXT();
    recipe r = recipes[8];
    r.characters = 53, r.rings = 1; /* the second pass goes in slices too */
    subject s = subject_of(&r);
    pelt_gl_options options = options_for(53);
    options.load = failing_load;
    limited = GL_MAX_SHADER_STORAGE_BLOCK_SIZE, planted_limit = 250000; /* room for the skin and 29 characters */
    compare(&s, "slices", &options);
    limited = 0;
    subject_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_equals_the_processor),
        cmocka_unit_test(every_character_has_its_own_level),
        cmocka_unit_test(every_shape_equals_the_processor),
        cmocka_unit_test(later_poses_replace_earlier_ones),
        cmocka_unit_test(crowds_larger_than_a_storage_block_go_in_slices),
        cmocka_unit_test(normals_of_the_surface_equal_the_processors),
        cmocka_unit_test(real_characters_equal_the_processor),
        cmocka_unit_test(the_state_of_the_context_stays),
        cmocka_unit_test(failures_come_with_words_and_the_program_lives),
        cmocka_unit_test(characters_outputs_and_paths_that_were_not_asked_for_are_refused),
        cmocka_unit_test(skins_beyond_a_limit_are_refused_by_its_name),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
