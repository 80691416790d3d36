/* play_forms.c: the run time on this machine reproduces the results in FORMS.bin from another machine (see
   dump_forms.c), with every instruction set; and its graphics side packs skins of every form, and reports what is
   missing.

       play_forms FORMS.bin

   It prints a checksum of the packed words, which must be the same on all machines. */

#include "gpu/pack.h"
#include <math.h>
#include <pelt/gl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative to the diagonal, and for unit normals; or this many times the difference between instruction sets on the
   other processor, since this one rounds once where SSE rounds twice. A factor rounded to 16 bits may be off by one
   step. */
static const double position_limit = 3e-6, normal_limit = 6e-5, times = 3;

typedef struct reader {
    const char *at, *end;
} reader;

static const void *take(reader *r, size_t size) {
    size_t padded = (size + 3) / 4 * 4;
    if ((size_t)(r->end - r->at) < padded) {
        fprintf(stderr, "play_forms: the file ends too early\n");
        exit(2);
    }
    r->at += padded;
    return r->at - padded;
}

static uint32_t take_u32(reader *r) { return *(const uint32_t *)take(r, 4); }
static float take_f32(reader *r) { return *(const float *)take(r, 4); }
static const float *take_floats(reader *r, size_t count) { return take(r, count * sizeof(float)); }

/* One pose, and its expected output in the file's order. */
typedef struct truth {
    const pelt_transform *locals;
    const float *controls;
    float level;
    double position_gap, normal_gap; /* between instruction sets on the other processor */
    const float *positions, *normals, *tangents;
} truth;

static truth take_pose(reader *r, const pelt_skin *skin) {
    truth t = {.locals = take(r, skin->joint_count * sizeof(pelt_transform))};
    size_t vertices = skin->vertex_count;
    t.controls = take_floats(r, skin->control_count);
    t.level = *take_floats(r, 1);
    t.position_gap = take_f32(r), t.normal_gap = take_f32(r);
    t.positions = take_floats(r, 3 * vertices), t.normals = take_floats(r, 3 * vertices);
    t.tangents = skin->rest_tangents ? take_floats(r, 4 * vertices) : NULL;
    return t;
}

/* The largest difference; infinite if any value is NaN. */
static double gap(const pelt_skin *skin, const float *slots, const float *expected, size_t parts) {
    double worst = 0;
    for (uint32_t v = 0; expected && v < skin->vertex_count; v++)
        for (size_t i = 0; i < parts; i++) {
            double d = fabs((double)slots[parts * skin->vertex_slots[v] + i] - (double)expected[parts * v + i]);
            worst = isfinite(d) ? fmax(worst, d) : INFINITY;
        }
    return worst;
}

static int differs(const char *name, pelt_skin skin, pelt_isa isa, const truth *t, double diagonal) {
    size_t size = pelt_output_size(&skin);
    void *scratch = aligned_alloc(64, pelt_scratch_size(&skin));
    float *positions = aligned_alloc(64, size), *normals = aligned_alloc(64, size), *alone = aligned_alloc(64, size);
    float *tangents = aligned_alloc(64, pelt_tangents_size(&skin));
    skin.isa = isa;
    pelt_pose_from(&skin, &(pelt_pose_input){.locals = t->locals, .controls = t->controls, .level = t->level}, scratch);
    pelt_output output = {.positions.data = positions, .normals.data = normals, .tangents.data = tangents};
    pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin), &output);
    pelt_deform(&skin, scratch, pelt_all_blocks(&skin), alone, NULL);
    double p = gap(&skin, positions, t->positions, 3) / diagonal, a = gap(&skin, alone, t->positions, 3) / diagonal;
    double n = gap(&skin, normals, t->normals, 3), u = gap(&skin, tangents, t->tangents, 4);
    double most = fmax(position_limit, times * t->position_gap / diagonal);
    double most_normal = fmax(normal_limit, times * t->normal_gap);
    int bad = !(p <= most && a <= most && n <= most_normal && u <= most_normal);
    if (bad)
        printf("%s, %s: positions differ by %.1e of the diagonal, alone by %.1e, normals by %.1e, tangents by %.1e "
               "(most: %.1e, %.1e)\n",
               name, pelt_isa_name(isa), p, a, n, u, most, most_normal);
    free(scratch), free(positions), free(normals), free(alone), free(tangents);
    return bad;
}

static void *no_function(void *user, const char *name) { return (void)user, (void)name, NULL; }

/* Adds the skin's words for graphics hardware to the checksum; without OpenGL, expects a message. Returns the number of
   failures. */
static int check_graphics(const char *name, const pelt_skin *skin, uint64_t *sum) {
    pelt_gpu_skin packed;
    pelt_error error = {0};
    if (!pelt_gpu_pack(skin, &packed)) return printf("%s: cannot be packed\n", name), 1;
    for (size_t i = 0; i < packed.word_count; i++) *sum = (*sum ^ packed.words[i]) * 0x100000001b3u;
    pelt_gpu_unpack(&packed);
    pelt_gl *gl = pelt_gl_new(skin, &(pelt_gl_options){.load = no_function}, &error);
    if (gl || error.code != PELT_ERROR_DEVICE || !*error.text)
        return printf("%s: OpenGL where there is none\n", name), 1;
    return 0;
}

/* Returns the number of failed comparisons. */
static int check_skin(reader *r, int *poses, uint64_t *sum) {
    uint32_t length = take_u32(r);
    char name[128] = {0};
    memcpy(name, take(r, length), length < sizeof name ? length : sizeof name - 1);
    uint32_t size = take_u32(r);
    char *bytes = aligned_alloc(64, (size + 63) / 64 * 64);
    memcpy(bytes, take(r, size), size);
    pelt_skin skin;
    pelt_result result = pelt_open(bytes, size, &skin);
    if (result != PELT_OK) {
        printf("%s: %s\n", name, pelt_result_text(result));
        exit(1);
    }
    take(r, 16);
    double diagonal = take_f32(r);
    int wrong = check_graphics(name, &skin, sum);
    for (uint32_t left = take_u32(r); left; left--, ++*poses) {
        truth t = take_pose(r, &skin);
        for (int isa = 0; isa < PELT_ISA_COUNT; isa++)
            if (pelt_isa_works((pelt_isa)isa)) wrong += differs(name, skin, (pelt_isa)isa, &t, diagonal);
    }
    free(bytes);
    return wrong;
}

int main(int count, char **arguments) {
    FILE *in = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (!in || fseek(in, 0, SEEK_END)) {
        fprintf(stderr, "usage: play_forms FORMS.bin\n");
        return 2;
    }
    size_t size = (size_t)ftell(in);
    char *bytes = malloc(size);
    rewind(in);
    if (!bytes || fread(bytes, 1, size, in) != size) return 2;
    fclose(in);
    reader r = {bytes, bytes + size};
    uint64_t sum = 0xcbf29ce484222325u;
    int poses = 0, wrong = 0;
    while (r.at < r.end) wrong += check_skin(&r, &poses, &sum);
    printf("%d poses by", poses);
    for (int isa = 0; isa < PELT_ISA_COUNT; isa++)
        if (pelt_isa_works((pelt_isa)isa)) printf(" %s", pelt_isa_name((pelt_isa)isa));
    printf(": %d differ; packed words sum to %08x%08x\n", wrong, (unsigned)(sum >> 32), (unsigned)sum);
    free(bytes);
    return wrong || !poses;
}
