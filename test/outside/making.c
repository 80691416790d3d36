/* making.c: an external program that makes a skin from box.glb. */

#include <pelt/fit.h>
#include <stdio.h>
int main(void) {
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read("box.glb", &error);
    const pelt_clip *clip = bundle ? pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error) : NULL;
    if (!clip) return puts(error.text), 1;
    pelt_examples examples = pelt_bundle_examples(bundle, &clip, 1);
    pelt_bytes *skin = pelt_fit(bundle, examples, &(pelt_fit_options){.method = PELT_METHOD_SSD}, NULL, &error);
    if (!skin || pelt_bytes_write(skin, "again.pelt", &error)) return puts(error.text), 1;
    return 0;
}
