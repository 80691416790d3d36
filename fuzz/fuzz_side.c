/* fuzz_side.c: any bytes as the side file (.bin) of a .gltf, and as the .gltf that names one: the first byte says how many
   of the next bytes, in eighths, are the .gltf. With 0 of them a .gltf that is whole names the bytes. */

#include "io/io.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char whole[] =
    "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}],"
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}],"
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\",\"count\":3},"
    "{\"bufferView\":1,\"componentType\":5123,\"type\":\"SCALAR\",\"count\":3}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},{\"buffer\":0,\"byteOffset\":36,\"byteLength\":6}],"
    "\"buffers\":[{\"uri\":\"a.bin\",\"byteLength\":42}]}";

static void write_to(const char *folder, const char *name, const void *bytes, size_t size) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file) fwrite(bytes, 1, size, file), fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char folder[100], path[120];
    if (!size) return 0;
    if (!*folder) {
        snprintf(folder, sizeof folder, "%s/pelt-fuzz-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
                 (int)getpid());
        mkdir(folder, 0700);
        snprintf(path, sizeof path, "%s/a.gltf", folder);
    }
    size_t text = data[0] % 9 * (size - 1) / 8;
    write_to(folder, "a.bin", data + 1 + text, size - 1 - text);
    write_to(folder, "a.gltf", text ? (const void *)(data + 1) : whole, text ? text : strlen(whole));
    pelt_error error = {0};
    pelt_bundle *bundle = pelt_bundle_read(path, &error);
    if (!bundle && !*error.text) abort();
    for (size_t i = 0; bundle && i < 3 * (size_t)bundle->mesh.triangle_count; i++)
        if (bundle->mesh.triangles[i] >= bundle->mesh.vertex_count) abort();
    pelt_bundle_free(bundle);
    return 0;
}
