/* outside.c: an external program that runs the skin box.pelt at rest. */

#include <pelt/pelt.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    FILE *file = fopen("box.pelt", "rb");
    char *bytes = aligned_alloc(64, 1 << 20);
    size_t size = fread(bytes, 1, 1 << 20, file);
    pelt_skin skin;
    pelt_result result = pelt_open(bytes, size, &skin);
    if (result != PELT_OK) return puts(pelt_result_text(result)), 1;
    void *scratch = aligned_alloc(64, pelt_scratch_size(&skin));
    float *positions = aligned_alloc(64, pelt_output_size(&skin));
    pelt_transform *locals = malloc(skin.joint_count * sizeof *locals);
    for (uint32_t j = 0; j < skin.joint_count; j++) locals[j] = skin.joints[j].rest;
    pelt_pose(&skin, locals, scratch);
    pelt_deform(&skin, scratch, pelt_all_blocks(&skin), positions, NULL);
    float error = positions[0] - skin.rest_positions[0];
    return printf("%u vertices\n", skin.vertex_count), error < -1e-5f || error > 1e-5f;
}
