/* dump_forms.c: skins of every form (gl_subjects.h), built-in characters with seams by every method, and real ones if
   available, each with poses and the processor's results, for comparison by other programs.

       dump_forms OUT.bin

   Little-endian words: of each skin its name's length and name (zeros up to a multiple of 4), its file's size and file,
   vertices, joints, controls, whether it has tangents, the diagonal, poses; of each pose locals [joint][10], controls, how far the processor's own
   instruction sets are apart in positions and in normals (of the surface: or positions off by a rounding), positions and normals [vertex][3] and, of skins that
   have some, tangents [vertex][4] in the order of the file, by the instructions that browsers have too
   (PELT_ISA_SIMD128). */

#include "test/gl_subjects.h"
#include <stdio.h>

static void put(FILE *out, const void *data, size_t size) {
    fwrite(data, 1, size, out);
    fwrite("\0\0\0", 1, (4 - size % 4) % 4, out);
}

static void put_u32(FILE *out, uint32_t value) { put(out, &value, sizeof value); }
static void put_f32(FILE *out, double value) { put(out, &(float){(float)value}, sizeof(float)); }

static void put_vertices(FILE *out, const pelt_skin *skin, const float *slots, size_t parts) {
    for (uint32_t v = 0; v < skin->vertex_count; v++)
        put(out, slots + parts * skin->vertex_slots[v], parts * sizeof *slots);
}

/* How far normals of the surface turn when positions are off by a rounding. Changes the positions. */
static double rounding_gap(const subject *s, const void *scratch, float *positions, const float *normals) {
    if (!pelt_needs_shading(&s->skin)) return 0;
    float *turned = aligned_alloc(64, pelt_output_size(&s->skin));
    uint64_t seed = 5;
    for (size_t i = 0; i < 48 * (size_t)s->skin.block_count; i++)
        positions[i] += (float)(2e-7 * s->diagonal * (test_random(&seed) - 0.5));
    pelt_output output = {.positions.data = positions, .normals.data = turned};
    pelt_shade(&s->skin, scratch, pelt_all_blocks(&s->skin), &output);
    double gap = largest_gap(&s->skin, turned, normals);
    free(turned);
    return gap;
}

static void put_pose(FILE *out, const subject *s, uint32_t c) {
    pelt_skin skin = s->skin;
    size_t size = pelt_output_size(&skin);
    void *scratch = aligned_alloc(64, pelt_scratch_size(&skin));
    float *positions = aligned_alloc(64, size), *normals = aligned_alloc(64, size);
    float *tangents = aligned_alloc(64, pelt_tangents_size(&skin));
    skin.isa = PELT_ISA_SIMD128;
    pelt_pose_input input = {.locals = s->locals[c], .controls = s->controls[c], .level = s->levels[c]};
    pelt_pose_from(&skin, &input, scratch);
    pelt_output output = {.positions.data = positions, .normals.data = normals, .tangents.data = tangents};
    pelt_deform_to(&skin, scratch, pelt_all_blocks(&skin), &output);
    put(out, s->locals[c], skin.joint_count * sizeof **s->locals);
    put(out, s->controls[c], skin.control_count * sizeof **s->controls);
    put_f32(out, s->levels[c]);
    put_f32(out, largest_gap(&skin, positions, s->positions[c]));
    double apart = fmax(largest_gap(&skin, normals, s->normals[c]), own_normal_gap(s, c));
    float *moved = memcpy(aligned_alloc(64, size), positions, size);
    put_f32(out, fmax(apart, rounding_gap(s, scratch, moved, normals)));
    free(moved);
    put_vertices(out, &skin, positions, 3), put_vertices(out, &skin, normals, 3);
    if (skin.rest_tangents) put_vertices(out, &skin, tangents, 4);
    free(scratch), free(positions), free(normals), free(tangents);
}

static void put_subject(FILE *out, const char *name, const subject *s) {
    const pelt_skin *skin = &s->skin;
    uint32_t most = 3, count = s->characters < most ? s->characters : most;
    put_u32(out, (uint32_t)strlen(name)), put(out, name, strlen(name));
    put_u32(out, (uint32_t)s->bytes->size), put(out, s->bytes->bytes, s->bytes->size);
    put_u32(out, skin->vertex_count), put_u32(out, skin->joint_count), put_u32(out, skin->control_count);
    put_u32(out, skin->rest_tangents != NULL);
    put_f32(out, s->diagonal), put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        put_pose(out, s, i + 1 == count ? s->characters - 1 : i); /* of those that scale, the last does not */
}

static void put_sample(FILE *out, pelt_method method, const char *method_name) {
    pelt_error error = {0};
    pelt_sample_options sample = {.name = "arm", .vertices = 300, .frames = 16, .variant = "seam"};
    pelt_bundle *bundle = pelt_sample_make(&sample, &error);
    if (!bundle) fail_msg("%s", error.text);
    subject s = {0};
    char name[64];
    subject_fit_bundle(bundle, "test", (pelt_fit_options){.method = method}, 3, &s);
    snprintf(name, sizeof name, "arm with a seam, %s", method_name);
    put_subject(out, name, &s);
    subject_free(&s);
}

/* Only methods that are quick to fit. */
static void put_real(FILE *out, int i) {
    subject s = {0};
    char name[64];
    pelt_method method = real_subjects[i].options.method;
    if (method == PELT_METHOD_JOINTS || method == PELT_METHOD_KERNEL) return;
    if (!subject_fit(real_subjects[i].file, real_subjects[i].clip, real_subjects[i].options, 2, &s)) return;
    snprintf(name, sizeof name, "%s, method %d", real_subjects[i].file, (int)method);
    put_subject(out, name, &s);
    subject_free(&s);
}

int main(int count, char **arguments) {
    FILE *out = count == 2 ? fopen(arguments[1], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "usage: dump_forms OUT.bin\n");
        return 2;
    }
    for (int i = 0; i < RECIPES + LEVELLED; i++) {
        const recipe *r = i < RECIPES ? &recipes[i] : &levelled_recipes[i - RECIPES];
        subject s = subject_of(r);
        put_subject(out, r->name, &s);
        subject_free(&s);
    }
    static const char *const methods[] = {
#define METHOD(name, text, blend, corrective) text,
        PELT_METHODS(METHOD)
#undef METHOD
    };
    for (int m = 0; m < PELT_METHOD_COUNT; m++) put_sample(out, (pelt_method)m, methods[m]);
    for (int i = 0; i < SHADED_SUBJECTS; i++) {
        subject s = subject_shaded(i);
        put_subject(out, shaded_subjects[i].name, &s);
        subject_free(&s);
    }
    for (int i = 0; i < REAL_SUBJECTS; i++) put_real(out, i);
    int failed = ferror(out) != 0;
    return (fclose(out) != 0) | failed;
}
