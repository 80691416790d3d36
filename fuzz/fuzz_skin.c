/* fuzz_skin.c: any bytes at all are refused by pelt_open, or can be posed and deformed on every instruction set. */

#include "fuzz/mutate.h"
#include "model/facts.h"
#include <pelt/pelt.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* At rest, where much is passed over, or with every joint and control away from it. */
static void place_joints(const pelt_skin *skin, int away, pelt_transform *locals, float *controls) {
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        locals[j] = skin->joints[j].rest;
        if (away) memcpy(locals[j].rotation, (float[4]){0.5f, -0.3f, 0.2f, 0.8f}, sizeof locals[j].rotation);
    }
    for (uint32_t c = 0; c < skin->control_count; c++) controls[c] = skin->controls[c].rest + (away ? 0.7f : 0);
}

static void run(pelt_skin *skin) {
    /* A small file can ask for tables of many kernel joints; a user would see malloc fail. */
    if (pelt_scratch_size(skin) > (size_t)1 << 28) return;
    pelt_transform *locals = calloc(skin->joint_count, sizeof *locals);
    float *controls = calloc((size_t)skin->control_count + 1, sizeof *controls);
    void *scratch = aligned_alloc(PELT_ALIGN, pelt_scratch_size(skin));
    float *positions = aligned_alloc(PELT_ALIGN, pelt_output_size(skin));
    float *normals = aligned_alloc(PELT_ALIGN, pelt_output_size(skin));
    float *tangents = aligned_alloc(PELT_ALIGN, pelt_tangents_size(skin));
    uint32_t *vertices = malloc((size_t)skin->block_count * PELT_BLOCK * sizeof *vertices);
    pelt_box box;
    float errors[PELT_DOUBT_REGIONS];
    float(*globals)[12] = calloc(skin->joint_count, sizeof *globals);
    if (globals && locals && controls && scratch && positions && normals && tangents && vertices) {
        for (uint32_t j = 0; j < skin->joint_count; j++) globals[j][0] = globals[j][5] = globals[j][10] = 1;
        for (int turn = 0; turn < 2 * PELT_ISA_COUNT; turn++) {
            skin->isa = (pelt_isa)(turn / 2);
            if (!pelt_isa_works(skin->isa)) continue;
            place_joints(skin, turn % 2, locals, controls);
            pelt_pose_from(skin,
                           &(pelt_pose_input){.locals = locals, .controls = controls, .level = 0.75f * (float)turn},
                           scratch);
            pelt_deform(skin, scratch, pelt_all_blocks(skin), positions, NULL);
            pelt_deform(skin, scratch, pelt_all_blocks(skin), positions, normals);
            pelt_deform_to(skin, scratch, pelt_all_blocks(skin), &(pelt_output){{positions}, {normals}, {tangents}});
            pelt_slot_vertices(skin, vertices);
            pelt_deform_to(skin, scratch, pelt_all_blocks(skin),
                           &(pelt_output){{positions}, {normals, 0, 1}, {tangents}, vertices, &box});
            pelt_confidence(skin, scratch, errors);
            pelt_pose_matrices(skin, (const float(*)[12])globals, scratch);
            pelt_confidence(skin, scratch, NULL);
            pelt_deform(skin, scratch, pelt_all_blocks(skin), positions, NULL);
        }
        /* What a user does next: names, text, and a look at every vertex. */
        volatile size_t text = strlen(skin->about);
        for (uint32_t j = 0; j < skin->joint_count; j++) text += strlen(skin->names + skin->joints[j].name);
        text += (size_t)pelt_find_joint(skin, "no such joint");
        for (uint32_t c = 0; c < skin->control_count; c++) text += strlen(skin->names + skin->controls[c].name);
        for (uint32_t r = 0; r < pelt_confidence_region_count(skin); r++)
            text += strlen(pelt_confidence_region_name(skin, r));
        const pelt_facts *facts = skin->facts;
        for (uint32_t i = 0; facts && i < PELT_FACT_CLIPS + facts->clip_count && i < 100; i++)
            text += strlen(pelt_facts_text(facts, i));
        uint32_t count;
        volatile float sum = 0;
        const double *values = pelt_facts_singular(facts, "elbow", &count);
        for (uint32_t i = 0; i < count; i++) sum += (float)values[i];
        for (uint32_t v = 0; v < skin->vertex_count; v++) sum += positions[3 * (size_t)skin->vertex_slots[v]];
        (void)text, (void)sum;
    }
    free(locals), free(controls), free(scratch), free(positions), free(normals), free(tangents), free(vertices);
    free(globals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *bytes = NULL;
    if (posix_memalign(&bytes, PELT_ALIGN, size ? size : 1)) return 0;
    memcpy(bytes, data, size);
    pelt_skin skin;
    if (pelt_open(bytes, size, &skin) == PELT_OK) run(&skin);
    free(bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return mutate_numbers(data, size, most, seed);
}
