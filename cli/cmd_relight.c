/* cmd_relight.c: pelt relight: indirect light from a few key points. */

#include "cli/cli.h"
#include <string.h>
#ifdef PELT_WITH_LIGHT
#include "cli/relight.h"

static int run(const cli_args *args) {
    const char *verb = args->inputs[0];
    if (!strcmp(verb, "train")) return relight_train(args);
    if (!strcmp(verb, "run")) return relight_run(args);
    if (!strcmp(verb, "measure")) return relight_measure(args);
    return cli_misuse(args, "\"%s\" is not train, run or measure", verb);
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
    "SCENE is cornell, or a glTF file with diffuse and emissive colours, lights and a camera. train gathers the light "
    "of\n"
    "a grid of lights (finished frames are kept in BOX.keys.frames, so that it can be stopped and goes on), run "
    "gathers\n"
    "the key points alone and fills in all others, measure says how wrong that is and how much faster.",
    run,
    1,
    3,
    {{"output", "FILE", "The .keys file (train), or the picture: .png to look at, .pfm with all numbers (run)."},
     {"lights", "12x12[@A:B]",
      "Training lights: columns x rows between corners A and B (x,y,z); default: under the ceiling."},
     {"move", "NAME=A:B:N+...",
      "The camera, or an object of the scene: from A to B (x,y,z from where it is; x,y,z,degrees turns it too) in N "
      "places "
      "(train); where it is, NAME=x,y,z (run)."},
     {"points", "pixels|surfaces",
      "Where light is computed: in the picture, or on what it shows; default: pixels, surfaces where something moves."},
     {"texels", "N", "About so many points on surfaces; default: as many as pixels."},
     {"size", "400x400", "Pixels of the picture."},
     {"samples", "N", "Paths per point of a training frame; default 64."},
     {"keys", "K", "Key points; default 200."},
     {"basis", "M", "Basis vectors; default 32."},
     {"bounces", "N", "Most reflections of a path; default 4."},
     {"light", "X,Y,Z", "Where the light is (run)."},
     {"kind", "point|spot|area", "What it is; default: what the training light was."},
     {"color", "R,G,B", "Its colour times its intensity, linear; default 1,1,1."},
     {"falloff", "P", "It fades with distance to the power -P; default 2."},
     {"key-samples", "N", "Paths per key point; default 256 (run), 1024 (measure)."},
     {"indirect", NULL, "Write the indirect light alone, as on white surfaces (run)."},
     {"direct", NULL, "Write the direct light alone likewise (run)."},
     {"full", NULL, "Gather all points instead, without key points (run)."},
     {"no-fallback", NULL, "Do not gather all points where the key points say that the result is wrong (run)."},
     {"novel", "N", "Lights to measure at; default 24."},
     {"reference", "N", "Paths per point of each of the two references; default 512 (measure)."},
     {"at", "N", "Points to compare at, spread over the picture; default 10000 (measure)."},
     {"pictures", "FILE.png", "Also draw lights, keys, full gathers, results and differences (measure).", CLI_OUTPUT}},
    .example = "pelt relight train cornell --size 100x100 --lights 4x4 --samples 16 -o box.keys",
    .first_words = "train|run|measure",
};
