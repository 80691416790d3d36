/* fit_options.h: the options of a fit that `pelt fit` and `pelt compare` share (fit_options.c reads them). */

#ifndef PELT_FIT_OPTIONS_H
#define PELT_FIT_OPTIONS_H

#include "cli/cli.h"

#define CLI_FIT_OPTIONS                                                                                                \
    {"influences", "K", "Most joints per vertex; default: as many as there are (file), 4 (others)."},                  \
        {"rest", "keep|refit", "Rest positions as they are, or fitted too; default keep (fit), refit (joints)."},      \
        {"smooth", "X", "fit, joints: what differences of the error across the mesh cost; 0: nothing, 1 is much."},    \
        {"prune", "X", "fit: drops weights below X and refits the others."},                                           \
        {"lock-joints", "NAME,...", "fit: joints that keep the file's weights; * stands for any letters."},            \
        {"lock-vertices", "FILE", "fit, joints: vertices that keep the file's weights: their numbers, one a line.",    \
         CLI_INPUT},                                                                                                   \
        {"lock-color", "COLOUR",                                                                                       \
         "fit, joints: vertices painted red (green, blue, ..., black, white; COLOR_0) keep the file's weights."},      \
        {"drop-joints", "NAME,...", "fit, joints: joints that no vertex may follow; * stands for any letters."},       \
        {"drive", "FILE.json", "joints: which driven joints to add; default: automatic.", CLI_INPUT},                  \
        {"influence-choice", "greedy|rigidity", "joints: how a vertex chooses its joints; default greedy."},           \
        {"ridge", "X",                                                                                                 \
         "joints: what a squared weight costs, 0: nothing; default 1e-7, or 0 where that predicts better."},           \
        {"normal-scale", "X", "joints: how much normals count in the fit; default 0.01, 0 for not at all."},           \
        {"poses", "N", "psd, wpsd: keep the N most important poses (wpsd: per vertex); default all."},                 \
        {"principal-joints", "N", "wpsd: most joints in a vertex's pose distance; default: all that drive it."},       \
        {"pose-choice", "forward|pca",                                                                                 \
         "psd, wpsd with --poses: those that lower the error most, or one for each principal component; default "      \
         "forward."},                                                                                                  \
        {"distance-weights", "driving|blend|equal",                                                                    \
         "psd, wpsd: joints count by how far they displace the skin (default), wpsd: by blend weight, psd: alike."},   \
        {"rotations", "chord|vector|euler",                                                                            \
         "psd, wpsd: how far apart rotations are: by chord (default), rotation vector or Euler angles."},              \
        {"width", "X", "psd, wpsd, eigen: width of the function of the pose distance; default: what predicts best."},  \
        {"shared-width", NULL, "wpsd: one width for all vertices, also where examples are then not quite met."},       \
        {"rbf", "mixed|gaussian|exp",                                                                                  \
         "psd, wpsd: function of the pose distance; default mixed, mostly Gaussian, or for psd gaussian where it "     \
         "predicts better; gaussian for wpsd with --poses."},                                                          \
        {"no-norm", NULL, "psd, wpsd: do not divide the functions by their sum."},                                     \
        {"control-scale", "NAME=S,...",                                                                                \
         "How much more a control counts in pose distances; default 1: at its farthest from rest like a radian."},     \
        {"displacements", "16|32", "Bits of the numbers of displacements; default 16 where that is exact enough."},    \
        {"per-joint", "N", "eigen: displacements of every joint, and as many changes of normals; default 5."},         \
        {"per-vertex", "N",                                                                                            \
         "kernel: mean displacements of a vertex, and as many changes of its normal, default 10; eigen: the most of "  \
         "any "                                                                                                        \
         "vertex, half of them for its normal."},                                                                      \
        {"family", "kernel|arc|features",                                                                              \
         "kernel: what coefficients are made of: kernels of joints and pairs of joints, arc-cosine or other kernels "  \
         "of each joint with those next to it, or learned features of these; default whichever predicts unseen "       \
         "examples best."},                                                                                            \
        {"threshold", "X",                                                                                             \
         "eigen: who belongs to a joint: displaced by more than this part of the most; default 0.04, or less where "   \
         "that predicts better."},                                                                                     \
        {"fade", "X", "eigen: over which part of the threshold, below it, that fades out; default 0.5, 0: at once."},  \
        {"preset", "vertex-program",                                                                                   \
         "eigen: the limits of the paper's graphics card: --per-vertex 10 --influences 4 --sweeps-only."},             \
        {"sweeps-only", NULL, "eigen: learn only from examples that move one joint alone, as the paper does."}, {      \
        "plain-normals", NULL,                                                                                         \
            "psd, wpsd, eigen, kernel: leave normals as the blend turns them; smaller, and normals are worse."         \
    }

/* What to fit, in words; NULL: not said. */
typedef struct cli_method {
    const char *method, *blend, *corrective;
} cli_method;

/* The options of a fit, where the command has them; what files they name is read into the arena. With `every`, all that
   were given, so that those which the method does not use are refused; otherwise only those that it uses. False after a
   message. */
bool cli_fit_options(const cli_args *args, pelt_arena *arena, const cli_method *words, bool every,
                     pelt_fit_options *options);

/* `pelt fit` by its words alone, for a bundle: nothing is printed or written, and words may name no files. NULL with a
   sentence. Any thread (cmd_fit.c). */
pelt_bytes *cli_fit_words(const char *path, size_t count, const char *const *words, const pelt_progress *progress,
                          pelt_error *error);

/* An option of a fit that was given but that none of these fits uses; NULL: there is none. */
const char *cli_unused_option(const cli_args *args, const pelt_fit_options *const *fits, size_t count);

#endif
