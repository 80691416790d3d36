/* cmd_relight.c: pelt relight: indirect light from a few key points. */

#include "cli/cli.h"
#include <string.h>
#ifdef PELT_WITH_LIGHT
static int run(const cli_args *args) {
    const char *verb = args->inputs[0];
    if (!strcmp(verb, "train")) return relight_train(args);
    if (!strcmp(verb, "run")) return relight_run(args);
    if (!strcmp(verb, "measure")) return relight_measure(args);
    return cli_misuse(args, "\"%s\": expected train, run or measure", verb);
}
#else
static int run(const cli_args *args) {
    (void)args;
    return cli_fail(
        "this pelt was built without Embree, which `pelt relight` needs; install libembree-dev and build again");
}
#endif

const cli_command cli_relight = {
    "relight",
    "train SCENE -o BOX.keys | run BOX.keys -o PICTURE.png | measure BOX.keys",
    "Computes the indirect light of a scene from a few key points.",
    "SCENE is cornell, or a glTF file with diffuse and emissive colours, lights and a camera. train gathers light for "
    "a grid of light positions; it keeps finished frames in BOX.keys.frames, so you can stop and resume it. run "
    "gathers only the key points and fills in all others. measure reports the error and the speedup.",
    run,
    1,
    3,
    {{"output", "FILE", "The .keys file (train), or the picture: .png for viewing, .pfm with full precision (run)."},
     {"lights", "12x12[@A:B]",
      "Training lights: columns x rows between corners A and B (x,y,z); default: under the ceiling."},
     {"move", "NAME=A:B:N+...",
      "train: move the camera or an object from A to B in N steps (x,y,z from where it is; x,y,z,degrees turns it "
      "too); run: NAME=x,y,z moves it there."},
     {"points", "pixels|surfaces",
      "Where to compute light: at pixels (default), or on surfaces (default if something moves)."},
     {"texels", "N", "--points surfaces: approximate number of points; default: as many as pixels."},
     {"size", "400x400", "Size of the picture in pixels."},
     {"samples", "N", "Paths per point of a training frame; default 64."},
     {"keys", "K", "Key points; default 200."},
     {"basis", "M", "Basis vectors; default 32."},
     {"bounces", "N", "Most reflections per path; default 4."},
     {"light", "X,Y,Z", "Position of the light (run)."},
     {"kind", "point|spot|area", "Kind of light; default: that of the training lights."},
     {"color", "R,G,B", "Colour of the light times its intensity, linear; default 1,1,1."},
     {"falloff", "P", "The light fades with distance to the power -P; default 2."},
     {"key-samples", "N", "Paths per key point; default 256 (run), 1024 (measure)."},
     {"indirect", NULL, "Write only the indirect light, as on white surfaces (run)."},
     {"direct", NULL, "Write only the direct light, as on white surfaces (run)."},
     {"full", NULL, "Gather all points instead, without key points (run)."},
     {"no-fallback", NULL, "Never gather all points, even if the key points report a wrong result (run)."},
     {"novel", "N", "Number of lights to measure; default 24."},
     {"reference", "N", "Paths per point of each of the two references; default 512 (measure)."},
     {"at", "N", "Number of points to compare, spread over the picture; default 10000 (measure)."},
     {"pictures", "FILE.png", "Also draw the lights, keys, full gathers, results and differences (measure).",
      CLI_OUTPUT}},
    .example = "pelt relight train cornell --size 100x100 --lights 4x4 --samples 32 -o box.keys",
    .first_words = "train|run|measure",
};
