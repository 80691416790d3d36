/* vertices.c: names and indices: what an engine asks once, when it loads a skin. */

#include <pelt/pelt.h>
#include <string.h>

int32_t pelt_find_joint(const pelt_skin *skin, const char *name) {
    for (uint32_t j = 0; j < skin->joint_count; j++)
        if (!strcmp(skin->names + skin->joints[j].name, name)) return (int32_t)j;
    return -1;
}

void pelt_slot_vertices(const pelt_skin *skin, uint32_t *vertices) {
    for (size_t s = 0; s < (size_t)skin->block_count * PELT_BLOCK; s++) vertices[s] = PELT_NO_VERTEX;
    for (uint32_t v = 0; v < skin->vertex_count; v++) vertices[skin->vertex_slots[v]] = v;
}

void pelt_renumber_indices(const pelt_skin *skin, void *indices, size_t count, size_t bytes) {
    uint16_t *two = indices;
    uint32_t *four = indices;
    for (size_t i = 0; bytes == 2 && i < count; i++) two[i] = (uint16_t)skin->vertex_slots[two[i]];
    for (size_t i = 0; bytes == 4 && i < count; i++) four[i] = skin->vertex_slots[four[i]];
}

void pelt_reorder_attribute(const pelt_skin *skin, pelt_stream from, size_t bytes, pelt_stream to) {
    size_t step = from.stride ? from.stride : bytes, stride = to.stride ? to.stride : bytes;
    for (size_t v = 0; v < skin->vertex_count; v++)
        memcpy((char *)to.data + stride * skin->vertex_slots[v], (const char *)from.data + step * v, bytes);
}

/* Every step is invertible, so meshes that differ in a single number never have the same hash. */
static uint64_t add_word(uint64_t hash, uint32_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

uint64_t pelt_mesh_hash(const float *positions, uint32_t vertex_count, const uint32_t *triangles,
                        uint32_t triangle_count) {
    uint64_t hash = add_word(add_word(0, vertex_count), triangle_count);
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++) {
        float number = positions[i] + 0.0f; /* -0 is 0 */
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        hash = add_word(hash, bits);
    }
    for (size_t i = 0; i < 3 * (size_t)triangle_count; i++) hash = add_word(hash, triangles[i]);
    return hash;
}
