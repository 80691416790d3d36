/* plain_skin.c: the skin of a glTF file as it is: its weights and nothing else.

       plain_skin FILE.glb SKIN.pelt */

#include <pelt/fit.h>
#include <stdio.h>

int main(int count, char **arguments) {
    pelt_error error = {0};
    if (count < 3) return fputs("usage: plain_skin FILE.glb SKIN.pelt\n", stderr), 2;
    pelt_bundle *bundle = pelt_bundle_read(arguments[1], &error);
    pelt_fit_options options = {.method = PELT_METHOD_SSD};
    pelt_bytes *skin = bundle ? pelt_fit(bundle, (pelt_examples){0}, &options, NULL, &error) : NULL;
    int status = !skin || pelt_bytes_write(skin, arguments[2], &error);
    if (status) fprintf(stderr, "plain_skin: %s\n", error.text);
    pelt_bytes_free(skin);
    pelt_bundle_free(bundle);
    return status;
}
