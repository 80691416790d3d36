/* fuzz_view.c: names of resources that clients ask for, on a view of one small character. */

#include "fuzz/viewed.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static pelt_view *view;
    pelt_error error;
    pelt_resource resource;
    char name[300] = "data/";
    if (!view) view = open_view(NULL);
    if (size > 200) return 0;
    memcpy(name + 5, bytes, size);
    pelt_view_is_slow(name);
    if (pelt_view_resource(view, name, &resource, &error)) resource.bytes ? abort() : (void)0;
    free(resource.bytes);
    return 0;
}
