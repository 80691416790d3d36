/* fuzz_stream.c: any bytes as a cache that is read a few frames at a time from where it lies. The first byte chooses the
   format. */

#include "io/io.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *path_of(int format) {
    static char paths[3][100];
    static const char *const endings[] = {"npy", "pc2", "mdd"};
    if (!*paths[0])
        for (int i = 0; i < 3; i++)
            snprintf(paths[i], sizeof paths[i], "%s/pelt-fuzz-%d.%s", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
                     (int)getpid(), endings[i]);
    return paths[format];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    const char *path = path_of(data[0] % 3);
    FILE *file = fopen(path, "wb");
    if (!file) return 0;
    fwrite(data + 1, 1, size - 1, file);
    fclose(file);
    pelt_frames frames;
    pelt_error error = {0};
    pelt_frame_file *stream = pelt_frame_file_open(path, &frames, &error);
    if (!stream && !*error.text) abort();
    size_t each = stream ? (size_t)frames.point_count * frames.component_count : 0;
    float *values = stream && each < 1 << 24 ? malloc(2 * each * sizeof *values) : NULL;
    for (uint32_t f = 0; values && f < frames.frame_count && f < 100; f++) {
        uint32_t count = frames.frame_count - f > 1 ? 2 : 1;
        if (frames.read(frames.user, f, count, values, &error)) break;
        volatile float last = values[count * each - 1];
        (void)last;
    }
    free(values);
    pelt_frame_file_close(stream);
    unlink(path);
    return 0;
}
