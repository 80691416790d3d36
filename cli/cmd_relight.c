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
    return cli_fail("this pelt was built without Embree, which relight needs; install libembree-dev and build again");
}
#endif

const cli_command cli_relight = {
    "relight",
    "train SCENE -o BOX.keys | run BOX.keys -o PICTURE.png | measure BOX.keys",
    "Indirect light of a scene from a few key points.",
    "SCENE is cornell, or a glTF file with diffuse and emissive colours, lights and a camera. train gathers light for "
    "a grid of lights (finished frames are kept in BOX.keys.frames, so that it can be stopped and resumed), run "
    "gathers only the key points and fills in all others, measure reports the error and the speedup.",
    run,
    1,
    3,
    {{"output", "FILE", "The .keys file (train), or the picture: .png for viewing, .pfm with full precision (run)."},
     {"lights", "12x12[@A:B]",
      "Training lights: columns x rows between corners A and B (x,y,z); default: under the ceiling."},
     {"move", "NAME=A:B:N+...",
      "The camera, or an object of the scene: from A to B (x,y,z from where it is; x,y,z,degrees turns it too) in N "
      "places (train); where it is, NAME=x,y,z (run)."},
     {"points", "pixels|surfaces",
      "Where light is computed: at pixels, or on surfaces; default: pixels, surfaces if something moves."},
     {"texels", "N", "Approximate number of points on surfaces; default: as many as pixels."},
     {"size", "400x400", "Pixels of the picture."},
     {"samples", "N", "Paths per point of a training frame; default 64."},
     {"keys", "K", "Key points; default 200."},
     {"basis", "M", "Basis vectors; default 32."},
     {"bounces", "N", "Maximum reflections of a path; default 4."},
     {"light", "X,Y,Z", "Where the light is (run)."},
     {"kind", "point|spot|area", "Its kind; default: that of the training light."},
     {"color", "R,G,B", "Its colour times its intensity, linear; default 1,1,1."},
     {"falloff", "P", "It fades with distance to the power -P; default 2."},
     {"key-samples", "N", "Paths per key point; default 256 (run), 1024 (measure)."},
     {"indirect", NULL, "Write only the indirect light, as on white surfaces (run)."},
     {"direct", NULL, "Write only the direct light, as on white surfaces (run)."},
     {"full", NULL, "Gather all points instead, without key points (run)."},
     {"no-fallback", NULL, "Do not gather all points even if the key points report a wrong result (run)."},
     {"novel", "N", "Lights to measure at; default 24."},
     {"reference", "N", "Paths per point of each of the two references; default 512 (measure)."},
     {"at", "N", "Points to compare at, spread over the picture; default 10000 (measure)."},
     {"pictures", "FILE.png", "Also draw lights, keys, full gathers, results and differences (measure).", CLI_OUTPUT}},
    .example = "pelt relight train cornell --size 100x100 --lights 4x4 --samples 32 -o box.keys",
    .first_words = "train|run|measure",
};
