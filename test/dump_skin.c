/* dump_skin.c: writes a skin's output for a clip, in the format of dump_blend.c, for comparison by another program.

       dump_skin SKIN.pelt BUNDLE.glb CLIP OUT.bin */

#include "rig/rig.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_u32(FILE *out, uint32_t value) { fwrite(&value, sizeof value, 1, out); }

static void put_name(FILE *out, const char *name) {
    size_t length = strlen(name);
    put_u32(out, (uint32_t)length);
    fwrite(name, 1, length, out);
    fwrite("\0\0\0", 1, (4 - length % 4) % 4, out);
}

/* `vectors` has room for positions and normals. */
static void put_frames(FILE *out, pelt_player *player, const pelt_clip *clip, uint32_t count, float *vectors,
                       size_t numbers) {
    put_name(out, clip->channel_count ? clip->name : "");
    put_u32(out, count);
    for (uint32_t f = 0; f < count; f++) {
        pelt_player_frame(player, clip, f, vectors, vectors + numbers);
        fwrite(&clip->times[f], sizeof(float), 1, out);
        fwrite(vectors, sizeof *vectors, 2 * numbers, out);
    }
}

int main(int count, char **arguments) {
    pelt_error error;
    pelt_skin skin;
    if (count != 5) {
        fprintf(stderr, "usage: dump_skin SKIN.pelt BUNDLE.glb CLIP OUT.bin\n");
        return 2;
    }
    pelt_bytes *bytes = pelt_skin_read(arguments[1], &skin, &error);
    pelt_bundle *bundle = bytes ? pelt_bundle_read(arguments[2], &error) : NULL;
    const pelt_clip *clip = bundle ? pelt_bundle_clip(bundle, arguments[3], PELT_NEED_POSE, &error) : NULL;
    pelt_player *player = clip ? pelt_player_new(&skin, bundle, &error) : NULL;
    if (!player) {
        fprintf(stderr, "dump_skin: %s\n", error.text);
        return 1;
    }
    size_t numbers = 3 * (size_t)skin.vertex_count;
    float *vectors = malloc(2 * numbers * sizeof *vectors);
    FILE *out = fopen(arguments[4], "wb");
    if (!vectors || !out) return 1;
    const float zero = 0;
    pelt_clip rest = {.name = "", .frame_count = 1, .times = &zero};
    put_u32(out, skin.vertex_count);
    fwrite(&bundle->mesh.diagonal, sizeof bundle->mesh.diagonal, 1, out);
    put_u32(out, 1);
    put_u32(out, 2);
    put_frames(out, player, &rest, 1, vectors, numbers);
    put_frames(out, player, clip, clip->frame_count, vectors, numbers);
    int status = ferror(out) != 0;
    status |= fclose(out) != 0;
    free(vectors);
    pelt_player_free(player);
    pelt_bundle_free(bundle);
    pelt_bytes_free(bytes);
    return status;
}
