/* choose.h: which method suits the examples and the budget best, split into separately tested parts. */

#ifndef PELT_CHOOSE_H
#define PELT_CHOOSE_H

#include "fit/corrective/features.h"
#include "fit/fitting.h"

/* -- Budgets (budget.c) --------------------------------------------------------------------------------------------- */

/* Refuses limits that are no numbers, or that limit one thing twice. */
pelt_result pelt_budget_check(const pelt_budget *budget, pelt_error *error);

/* With bytes, seconds and error in total, for this mesh. NULL: no limits. */
pelt_budget pelt_budget_of(const pelt_budget *budget, const pelt_mesh *mesh);

/* The part of the bytes or of the time that is used, whichever is larger: above 1 is too much. */
double pelt_budget_share(const pelt_budget *budget, double bytes, double seconds);

/* -- Forecasts (forecast.c) ----------------------------------------------------------------------------------------- */

/* What to expect of new poses, from the mean squared errors of held-out examples: their root mean square without the
   worst twentieth, since a few that lie beyond all others, which no method can know, would outweigh the rest. `blend` are
   those of the blend with the file's weights; *relative is 0 if that is exact. */
double pelt_forecast(size_t count, const double *squares, const double *blend, double *relative);

/* Whether some example moves two things, of how many that move. */
pelt_result pelt_move_together(const pelt_bundle *bundle, pelt_examples examples, uint32_t *movers, bool *together,
                               pelt_error *error);

/* How many examples, at most a twentieth of all, have more than half of the squared error; 0: not so few. *share is
   theirs. */
size_t pelt_few_with_most(size_t count, const float *rms, double *share);

/* Adds what makes a forecast doubtful: few examples with most of the error, examples that move one joint each. */
pelt_result pelt_doubt_forecast(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                                const pelt_measure *held_out, pelt_findings *findings, pelt_error *error);

/* -- Candidates (candidates.c) --------------------------------------------------------------------------------------- */

enum { PELT_CHOICE_FOLDS = 5, PELT_MOST_FOLDS = 32, PELT_MOST_CONTENDERS = 64 };

/* A candidate while it is tried. Its size is what a budget can change: displacements per vertex (kernel) or per joint
   (eigen), poses (psd, wpsd); 0: the default. */
typedef struct pelt_contender {
    pelt_fit_options options; /* resolved, with its size */
    uint32_t row;             /* of the table of methods: those of one row differ in size */
    uint32_t size;
    int mirror;            /* 1, 2, 3: with mirror images of the examples along x, y, z; 0: without */
    double bytes, seconds; /* of a frame */
    uint32_t fold_count;
    pelt_measure *measures[PELT_MOST_FOLDS];
    double rms, rel_err; /* over these */
    bool is_racing;
    const char *remark;
} pelt_contender;

/* One of every method that can use the given options, at its largest size; returns how many. 0 with an error. */
size_t pelt_list_contenders(const pelt_bundle *bundle, const pelt_fit_options *given, pelt_contender *list,
                            pelt_error *error);

/* Changes the size; false if the method has none, or it was given. */
bool pelt_resize_contender(pelt_contender *contender, const pelt_fit_options *given, uint32_t size);

/* The size of the default. */
uint32_t pelt_usual_size(const pelt_contender *contender, size_t example_count);

/* As options of `pelt fit`. */
const char *pelt_contender_name(pelt_arena *arena, const pelt_contender *contender);

/* The measures of a candidate's folds as one (forecast.c), with its forecast as the error. The caller frees it. */
pelt_measure *pelt_pool_folds(const pelt_bundle *bundle, const pelt_contender *contender, pelt_error *error);

/* -- Folds (fold.c) --------------------------------------------------------------------------------------------------- */

/* Deals examples to folds, 0 to PELT_CHOICE_FOLDS - 1, -1: always kept (a clip's first frame). Stretches of a motion stay
   together. Others are dealt in turns that shift after every round: every fifth example of sweeps of five values would be
   the same value of each, and a fold would lose all of them. Mirror images go where their examples go: the image of a
   symmetric pose is the pose itself. */
void pelt_deal_examples(const pelt_bundle *bundle, pelt_examples all, int *fold);

/* Whether some clip is a motion. */
bool pelt_has_motion(const pelt_bundle *bundle, pelt_examples all);

/* The examples without a fold, which all candidates share, and what fits of "kernel" share among them. */
typedef struct pelt_fold {
    pelt_arena *arena;
    pelt_bundle *given;
    pelt_examples kept, held;
    pelt_fitting fitting; /* examples as cleaned */
    pelt_fitting kernel;  /* its arena is NULL before the first */
    pelt_kernel_memory memory;
} pelt_fold;

/* Everything but the fold `own`. What fold->memory has of another fold's settings stays. `unclean`: some examples do not
   fit their poses. `told`: the progress so far. */
pelt_result pelt_fold_open(pelt_fold *fold, pelt_bundle *bundle, pelt_examples all, const int *folds, int own,
                           bool unclean, const pelt_progress *progress, double told, pelt_error *error);
void pelt_fold_close(pelt_fold *fold);

/* Fits a candidate and measures it on what the fold holds out; with `timed`, also its speed. Progress from low to
   high. */
pelt_result pelt_fold_try(pelt_fold *fold, pelt_contender *contender, bool timed, double low, double high,
                          pelt_error *error);

/* -- Mirror images (mirrored.c) -------------------------------------------------------------------------------------- */

typedef struct pelt_mirror {
    int axis;           /* -1: the character has no two sides, or its examples have images already */
    pelt_arena *arena;  /* of the following */
    pelt_bundle bundle; /* the caller's, with images of its clips */
    pelt_examples both; /* the examples, and their images in the same order */
} pelt_mirror;

pelt_result pelt_mirror_open(pelt_mirror *mirror, pelt_bundle *bundle, pelt_examples examples, pelt_error *error);
void pelt_mirror_close(pelt_mirror *mirror);

/* Adds images of the examples' clips to the bundle. */
pelt_result pelt_add_images(pelt_bundle *bundle, int axis, pelt_arena *arena, pelt_examples examples,
                            pelt_examples *both, pelt_error *error);

/* For pelt_fold_open: what a fold holds out has no images among what it keeps, since the image of a symmetric pose is the
   pose itself. */
pelt_result pelt_mirror_fold(const pelt_mirror *mirror, pelt_arena *arena, const int *folds, int own,
                             pelt_examples *all, int **dealt, pelt_error *error);

#endif
