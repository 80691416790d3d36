/* fit_options.h: the options of a fit, shared by `pelt fit` and `pelt compare` (fit_options.c reads them). */

#ifndef PELT_FIT_OPTIONS_H
#define PELT_FIT_OPTIONS_H

#include "cli/cli.h"

#define CLI_FIT_OPTIONS                                                                                                \
    {"influences", "K", "Most joints per vertex; default: all (file), 4 (others).",                                    \
     .group = "Blend weights and driven joints"},                                                                      \
        {"rest", "keep|refit", "Keep rest positions, or fit them too; default keep (fit), refit (joints)."},           \
        {"smooth", "X",                                                                                                \
         "fit, joints: penalty on how much the error differs between neighbouring vertices; 0: none, 1: strong."},     \
        {"prune", "X", "fit: drop weights below X and refit the others."},                                             \
        {"lock-joints", "NAME,...", "fit: joints that keep the file's weights; * matches any letters."},               \
        {"lock-vertices", "FILE", "fit, joints: vertices that keep the file's weights: their numbers, one per line.",  \
         CLI_INPUT},                                                                                                   \
        {"lock-color", "COLOUR",                                                                                       \
         "fit, joints: vertices painted red (green, blue, ..., black, white; COLOR_0) keep the file's weights."},      \
        {"drop-joints", "NAME,...", "fit, joints: joints that no vertex may follow; * matches any letters."},          \
        {"drive", "FILE.json", "joints: which driven joints to add; default: automatic.", CLI_INPUT},                  \
        {"weights-first", NULL, "fit: fit the weights as if there were no corrective."},                               \
        {"influence-choice", "greedy|rigidity", "joints: how a vertex chooses its joints; default greedy."},           \
        {"ridge", "X", "joints: penalty on squared weights, 0: none; default 1e-7."},                                  \
        {"normal-scale", "X", "joints: weight of normals in the fit; default 0.01, 0: ignore them."},                  \
        {"poses", "N", "psd, wpsd: keep the N most important poses (wpsd: for each vertex); default all.",             \
         .group = "Pose space: psd, wpsd"},                                                                            \
        {"principal-joints", "N", "wpsd: most joints in a vertex's pose distance; default: all that drive it."},       \
        {"pose-choice", "forward|pca",                                                                                 \
         "psd, wpsd with --poses: keep the poses that reduce the error most (forward, the default), or one per "       \
         "principal component (pca)."},                                                                                \
        {"distance-weights", "driving|blend|equal",                                                                    \
         "psd, wpsd: weigh joints by how far they displace the skin (driving, the default), by blend weight (wpsd), "  \
         "or equally (psd)."},                                                                                         \
        {"rotations", "chord|vector|euler",                                                                            \
         "psd, wpsd: how to measure the distance between rotations: by chord (default), rotation vector or Euler "     \
         "angles."},                                                                                                   \
        {"width", "X",                                                                                                 \
         "psd, wpsd, eigen: width of the function of the pose distance; default: the one that predicts best."},        \
        {"shared-width", NULL,                                                                                         \
         "wpsd: one width for all vertices, even if the examples are then not matched exactly."},                      \
        {"rbf", "mixed|gaussian|exp",                                                                                  \
         "psd, wpsd: function of the pose distance; default: mixed (mostly Gaussian), but gaussian for psd if it "     \
         "predicts better, and for wpsd with --poses."},                                                               \
        {"no-norm", NULL, "psd, wpsd: do not divide the functions by their sum."},                                     \
        {"norm-floor", "X",                                                                                            \
         "psd, wpsd: smallest sum to divide by, relative to the examples, where it is 1; below it the skin fades to "  \
         "the plain blend. Default 0.03125."},                                                                         \
        {"control-scale", "NAME=S,...",                                                                                \
         "Weight of a control in pose distances; default 1: its largest value counts as one radian."},                 \
        {"displacements", "16|32",                                                                                     \
         "Bits per stored displacement value; default 16 if that is accurate enough, else 32.",                        \
         .group = "Displacements: eigen, kernel"},                                                                     \
        {"per-joint", "N", "eigen: displacements per joint, with as many normal deltas; default 5."},                  \
        {"per-vertex", "N",                                                                                            \
         "kernel: mean displacements per vertex, with as many normal deltas; default 10, or 16 if there are many "     \
         "examples. eigen: the most per vertex, half of them for its normal."},                                        \
        {"balance", "X",                                                                                               \
         "kernel: 0 counts errors in scene units; 1 counts them relative to how far each region is displaced, so "     \
         "that fingers matter as much as thighs; default 0.5."},                                                       \
        {"family", "kernel|arc|features",                                                                              \
         "kernel: what computes the coefficients: kernels of joints and pairs of joints (kernel), arc-cosine or "      \
         "other kernels of each joint with its neighbours (arc), or features learned from these (features); default: " \
         "the one that predicts held-out examples best."},                                                             \
        {"threshold", "X",                                                                                             \
         "eigen: a vertex belongs to a joint that displaces it by more than this fraction of the joint's largest "     \
         "displacement; default 0.04, or less if that predicts better."},                                              \
        {"fade", "X",                                                                                                  \
         "eigen: fraction of the threshold over which a joint's influence fades out below it; default 0.5, 0: a hard " \
         "cut."},                                                                                                      \
        {"sweeps-only", NULL, "eigen: learn only from examples that move a single joint, as in the paper."},           \
        {"levels", NULL,                                                                                               \
         "Add levels of detail for distant characters: fewer displacements, then none, then fewer joints.",            \
         .group = "At run time"},                                                                                      \
    {                                                                                                                  \
        "normals", "surface|rows|blend|auto",                                                                          \
            "Recompute normals from the deformed surface (surface), let the corrective turn them (rows), or leave "    \
            "them to the blend (blend); default auto: surface or rows, whichever held-out examples favour, and blend " \
            "without a corrective."                                                                                    \
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
