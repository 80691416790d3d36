/* dump_tangents.c: writes pelt's tangents for a glTF file, for comparison by another program.

       dump_tangents FILE.glb OUT.bin

   OUT.bin, little-endian: uint32 vertices, uint32 triangles; then float32 positions[vertices][3], normals[vertices][3],
   uvs[vertices][2], tangents[vertices][4], and uint32 triangles[triangles][3]. Nothing follows the counts when the file
   has no texture coordinates. */

#include <pelt/fit.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read(argv[1], &error);
    FILE *out = fopen(argv[2], "wb");
    if (!bundle || !out) return puts(bundle ? "cannot write" : error.text), 1;
    const pelt_mesh *mesh = &bundle->mesh;
    size_t n = mesh->vertex_count;
    uint32_t counts[2] = {mesh->vertex_count, mesh->triangle_count};
    fwrite(counts, sizeof counts, 1, out);
    if (mesh->uvs && mesh->tangents) {
        fwrite(mesh->positions, 12, n, out), fwrite(mesh->normals, 12, n, out);
        fwrite(mesh->uvs, 8, n, out), fwrite(mesh->tangents, 16, n, out);
        fwrite(mesh->triangles, 12, mesh->triangle_count, out);
    }
    pelt_bundle_free(bundle);
    return fclose(out) ? 1 : 0;
}
