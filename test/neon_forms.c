/* neon_forms.c: the run time on a 64-bit ARM processor gives what the processor that wrote FORMS.bin gives (dump_forms.c
   says what is in it), by its own instructions and by the scalar loops. Made and run by neon.sh.

       neon_forms FORMS.bin */

#include <math.h>
#include <pelt/pelt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the diagonal, and of unit normals; or so many times what the instruction sets of the other processor are apart, since
   this one rounds once where SSE rounds twice. A factor that is rounded to 16 bits may come out one step apart. */
static const double position_limit = 2e-6, normal_limit = 6e-5, times = 3;

typedef struct reader {
    const char *at, *end;
} reader;

static const void *take(reader *r, size_t size) {
    size_t padded = (size + 3) / 4 * 4;
    if ((size_t)(r->end - r->at) < padded) {
        fprintf(stderr, "neon_forms: the file ends too early\n");
        exit(2);
    }
    r->at += padded;
    return r->at - padded;
}

static uint32_t take_u32(reader *r) { return *(const uint32_t *)take(r, 4); }
static float take_f32(reader *r) { return *(const float *)take(r, 4); }
static const float *take_floats(reader *r, size_t count) { return take(r, count * sizeof(float)); }

/* One pose, and what it has to give in the order of the file. */
typedef struct truth {
    const pelt_transform *locals;
    const float *controls;
    double position_gap, normal_gap; /* between instruction sets of the other processor */
    const float *positions, *normals, *tangents;
} truth;

static truth take_pose(reader *r, const pelt_skin *skin) {
    truth t = {.locals = take(r, skin->joint_count * sizeof(pelt_transform))};
    size_t vertices = skin->vertex_count;
    t.controls = take_floats(r, skin->control_count);
    t.position_gap = take_f32(r), t.normal_gap = take_f32(r);
    t.positions = take_floats(r, 3 * vertices), t.normals = take_floats(r, 3 * vertices);
    t.tangents = skin->rest_tangents ? take_floats(r, 4 * vertices) : NULL;
    return t;
}

/* The largest difference; infinite where a number is none. */
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
    pelt_pose_from(&skin, &(pelt_pose_input){.locals = t->locals, .controls = t->controls}, scratch);
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

/* Returns how many comparisons failed, of 2 for each pose. */
static int check_skin(reader *r, int *poses) {
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
    int wrong = 0;
    for (uint32_t left = take_u32(r); left; left--, ++*poses) {
        truth t = take_pose(r, &skin);
        wrong += differs(name, skin, PELT_ISA_SIMD128, &t, diagonal);
        wrong += differs(name, skin, PELT_ISA_SCALAR, &t, diagonal);
    }
    free(bytes);
    return wrong;
}

int main(int count, char **arguments) {
    FILE *in = count == 2 ? fopen(arguments[1], "rb") : NULL;
    if (!in || fseek(in, 0, SEEK_END)) {
        fprintf(stderr, "usage: neon_forms FORMS.bin\n");
        return 2;
    }
    size_t size = (size_t)ftell(in);
    char *bytes = malloc(size);
    rewind(in);
    if (!bytes || fread(bytes, 1, size, in) != size) return 2;
    fclose(in);
    reader r = {bytes, bytes + size};
    int poses = 0, wrong = 0;
    while (r.at < r.end) wrong += check_skin(&r, &poses);
    printf("%s: %d poses by it and by scalar loops, %d differ\n", pelt_isa_name(PELT_ISA_SIMD128), poses, wrong);
    free(bytes);
    return wrong || !poses || strcmp(pelt_isa_name(PELT_ISA_SIMD128), "neon") != 0;
}
