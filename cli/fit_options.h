/* fit_options.h: the options of a fit, shared by `pelt fit` and `pelt compare` (fit_options.c reads them). */

#ifndef PELT_FIT_OPTIONS_H
#define PELT_FIT_OPTIONS_H

#include "cli/cli.h"

#define CLI_FIT_OPTIONS                                                                                                \
    {"influences", "K", "Maximum joints per vertex; default: all (file), 4 (others).",                                 \
     .group = "Blend weights and driven joints"},                                                                      \
        {"rest", "keep|refit", "Keep rest positions, or fit them too; default keep (fit), refit (joints)."},           \
        {"smooth", "X", "fit, joints: penalty on differences of the error across the mesh; 0: none, 1: strong."},      \
        {"prune", "X", "fit: drop weights below X and refit the others."},                                             \
        {"lock-joints", "NAME,...", "fit: joints that keep the file's weights; * matches any letters."},               \
        {"lock-vertices", "FILE", "fit, joints: vertices that keep the file's weights: their numbers, one per line.",  \
         CLI_INPUT},                                                                                                   \
        {"lock-color", "COLOUR",                                                                                       \
         "fit, joints: vertices painted red (green, blue, ..., black, white; COLOR_0) keep the file's weights."},      \
        {"drop-joints", "NAME,...", "fit, joints: joints that no vertex may follow; * matches any letters."},          \
        {"drive", "FILE.json", "joints: which driven joints to add; default: automatic.", CLI_INPUT},                  \
        {"weights-first", NULL, "fit: fit weights for the blend alone, even if a corrective follows."},                \
        {"influence-choice", "greedy|rigidity", "joints: how a vertex chooses its joints; default greedy."},           \
        {"ridge", "X", "joints: penalty on squared weights, 0: none; default 1e-7."},                                  \
        {"normal-scale", "X", "joints: weight of normals in the fit; default 0.01, 0: ignore them."},                  \
        {"poses", "N", "psd, wpsd: keep the N most important poses (wpsd: per vertex); default all.",                  \
         .group = "Pose space: psd, wpsd"},                                                                            \
        {"principal-joints", "N", "wpsd: maximum joints in a vertex's pose distance; default: all that drive it."},    \
        {"pose-choice", "forward|pca",                                                                                 \
         "psd, wpsd with --poses: those that reduce the error most, or one per principal component; default "          \
         "forward."},                                                                                                  \
        {"distance-weights", "driving|blend|equal",                                                                    \
         "psd, wpsd: weigh joints by how far they displace the skin (default), wpsd: by blend weight, psd: equally."}, \
        {"rotations", "chord|vector|euler",                                                                            \
         "psd, wpsd: distance of rotations: by chord (default), rotation vector or Euler angles."},                    \
        {"width", "X",                                                                                                 \
         "psd, wpsd, eigen: width of the function of the pose distance; default: whichever predicts best."},           \
        {"shared-width", NULL, "wpsd: one width for all vertices, even if examples are then not matched exactly."},    \
        {"rbf", "mixed|gaussian|exp",                                                                                  \
         "psd, wpsd: function of the pose distance; default mixed, mostly Gaussian, or for psd gaussian if it "        \
         "predicts better; gaussian for wpsd with --poses."},                                                          \
        {"no-norm", NULL, "psd, wpsd: do not divide the functions by their sum."},                                     \
        {"norm-floor", "X",                                                                                            \
         "psd, wpsd: the least sum to divide by, where it is 1 in the examples; below, the skin fades to the plain "   \
         "blend; default 0.03125."},                                                                                   \
        {"control-scale", "NAME=S,...",                                                                                \
         "Weight of a control in pose distances; default 1: its largest value counts like a radian."},                 \
        {"displacements", "16|32", "Bits per displacement number; default 16 if that is exact enough.",                \
         .group = "Displacements: eigen, kernel"},                                                                     \
        {"per-joint", "N", "eigen: displacements per joint, and as many changes of normals; default 5."},              \
        {"per-vertex", "N",                                                                                            \
         "kernel: mean displacements per vertex, and as many changes of its normal, default 10, or 16 if examples "    \
         "are "                                                                                                        \
         "many; eigen: the maximum, half of them for its normal."},                                                    \
        {"balance", "X",                                                                                               \
         "kernel: 0: errors count in scene units, 1: relative to how far each region is displaced, so that fingers "   \
         "count like thighs; default 0.5."},                                                                           \
        {"family", "kernel|arc|features",                                                                              \
         "kernel: what coefficients are made from: kernels of joints and pairs of joints, arc-cosine or other "        \
         "kernels of each joint with those next to it, or learned features of these; default whichever predicts "      \
         "unseen "                                                                                                     \
         "examples best."},                                                                                            \
        {"threshold", "X",                                                                                             \
         "eigen: vertices belong to a joint if displaced by more than this share of the most; default 0.04, or less "  \
         "if that predicts better."},                                                                                  \
        {"fade", "X",                                                                                                  \
         "eigen: share of the threshold, below it, over which a joint fades out; default 0.5, 0: hard cut."},          \
        {"sweeps-only", NULL, "eigen: learn only from examples that move a single joint, as in the paper."},           \
        {"levels", NULL,                                                                                               \
         "With levels of detail: fewer and fewer displacements, then none, then fewer joints, for characters that "    \
         "are far away.",                                                                                              \
         .group = "At run time"},                                                                                      \
    {                                                                                                                  \
        "normals", "surface|rows|blend|auto",                                                                          \
            "Recompute normals from the deformed surface, let correctives change them too, or leave them to the "      \
            "blend; default auto: surface or rows by held-out examples, blend without a corrective."                   \
    }

/* What to fit, in words; NULL: not given. */
typedef struct cli_method {
    const char *method, *blend, *corrective, *preset;
} cli_method;

/* The options of a fit, if the command has them; files that they name are read into the arena. With `every`, reads all
   that were given, so that those which the method does not use are refused; otherwise only those it uses. If no word is
   given, the options are for pelt_choose. False after a message. */
bool cli_fit_options(const cli_args *args, pelt_arena *arena, const cli_method *words, bool every,
                     pelt_fit_options *options);

/* Whether the method is to be chosen: none is named (fit_choice.c). */
bool cli_chooses(const cli_args *args);

/* The value of --budget; no limits if it was not given. False after a message. */
bool cli_budget(const cli_args *args, pelt_budget *budget);

/* What was chosen from, as a table, and as JSON: null if nothing was chosen. */
void cli_say_front(const cli_args *args, const pelt_front *front, uint32_t vertex_count);
json_t *cli_front_json(const pelt_front *front, uint32_t vertex_count);

/* `pelt fit` from its words, for a bundle: prints and writes nothing, and the words may not name files. NULL with an
   error. Any thread (cmd_fit.c). */
pelt_bytes *cli_fit_words(const char *path, size_t count, const char *const *words, const pelt_progress *progress,
                          pelt_error *error);

/* A fit option that was given but that none of these fits uses, or NULL. */
const char *cli_unused_option(const cli_args *args, const pelt_fit_options *const *fits, size_t count);

#endif
