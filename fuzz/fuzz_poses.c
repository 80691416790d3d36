/* fuzz_poses.c: any text at all, as a stream of poses: every line is a pose of unit quaternions and finite controls, or is
   skipped with a sentence, or ends it with one; and it comes to an end. */

#define _GNU_SOURCE /* memfd_create */
#include "io/io.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pose(const pelt_transform *locals, const float *controls) {
    for (int j = 0; j < 2; j++) {
        double square = 0;
        for (int i = 0; i < 4; i++) square += (double)locals[j].rotation[i] * locals[j].rotation[i];
        if (!(fabs(square - 1) < 1e-5)) abort();
    }
    if (!isfinite(controls[0])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static volatile sig_atomic_t never;
    const char *joints[] = {"upper", "lower arm"}, *controls[] = {"flex"};
    pelt_transform rest[2] = {{.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}}, {.rotation = {0, 0, 0, 1}}}, locals[2];
    float at_rest = 0.5f, values[1];
    pelt_bundle bundle = {.path = "fuzz.glb",
                          .skeleton = {.joint_count = 2, .names = joints, .rest = rest},
                          .controls = {.count = 1, .names = controls, .rest = &at_rest}};
    char path[40];
    int file = memfd_create("poses", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size) return close(file), 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    pelt_error error = {0};
    pelt_pose_stream *stream = pelt_pose_stream_open(path, &bundle, &never, &error);
    if (!stream) abort();
    for (size_t events = 0;; events++) {
        double arrived = 0;
        pelt_stream_event event = pelt_pose_stream_next(stream, locals, values, &arrived, &error);
        if (event == PELT_STREAM_END) break;
        if (event == PELT_STREAM_POSE)
            check_pose(locals, values);
        else if (!error.text[0] || events > size)
            abort();
        if (event == PELT_STREAM_FAILED) break;
    }
    pelt_pose_stream_close(stream);
    close(file);
    return 0;
}
