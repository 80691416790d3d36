/* viewed.h: a view of one small character, for fuzzers. */

#ifndef PELT_FUZZ_VIEWED_H
#define PELT_FUZZ_VIEWED_H

#include "samples/samples.h"
#include "io/io.h"
#include "view/view.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline pelt_view *open_view(pelt_view_fit fit) {
    char folder[] = "/tmp/pelt-fuzz-XXXXXX", path[100];
    pelt_error error;
    pelt_bundle *bundle =
        pelt_sample_make(&(pelt_sample_options){.name = "elbow", .vertices = 150, .frames = 6}, &error);
    pelt_view *view = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = fit != NULL, .fit = fit}, &error);
    if (!bundle || !view || !mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/a.glb", folder);
    pelt_gltf_content content = {.mesh = &bundle->mesh,
                                 .skeleton = &bundle->skeleton,
                                 .clips = bundle->clips,
                                 .clip_count = bundle->clip_count,
                                 .name = "a"};
    if (pelt_gltf_write(path, &content, &error) || pelt_view_add(view, path, &error) || pelt_view_arrange(view, &error))
        abort();
    pelt_resource surface; /* is read while the file is there */
    if (pelt_view_resource(view, "data/c0/surface.json", &surface, &error)) abort();
    free(surface.bytes);
    unlink(path), rmdir(folder);
    pelt_bundle_free(bundle);
    return view;
}

#endif
