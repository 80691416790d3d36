/* keys_fit.h: train key points, and measure them.

   Key points (keys.h, the run-time half) replace a slow calculation that gives values at many points. Training learns
   the subspace of its results, which points determine the coordinates in it, and how far to trust that. All it needs
   are results, frame by frame, from any source: they are read in batches, several times, so that frames of any number
   and size can be trained on in little memory.

       static pelt_result read(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error) {
           const my_clip *clip = user;                  // values[count][point_count][component_count]
           memcpy(values, clip->frames[first], count * clip->points * 3 * sizeof *values);
           return PELT_OK;
       }

       pelt_error error;
       pelt_keys_report report;
       pelt_frames frames = {.frame_count = 5000, .point_count = 3000, .component_count = 3, .read = read,
                             .user = &clip, .shots = shots};
       pelt_keys_options options = {.keys = 170, .regions = 8};
       pelt_bytes *bytes = pelt_keys_train(&frames, &options, &report, &error);
       if (!bytes) return fprintf(stderr, "%s\n", error.text), 1;
       printf("99.5%% of the held-out frames are accurate to %.2f%%\n", 100 * report.error_p995);
       pelt_bytes_write(bytes, "face.keys", &error);
       pelt_bytes_free(bytes);

   As in fit.h: functions that can fail take a pelt_error (which may be NULL), return NULL or a code, and put one
   sentence into it. If an option is invalid, the code is PELT_ERROR_ARGUMENT and the sentence begins with the option's
   name and a colon. Options are zero-initialised structs; zero means the default. Input structs and arrays are only
   read during the call. Functions may be called from several threads at once, each with its own arguments; they use the
   machine's threads themselves. The same frames, options and seed give the same bytes, whatever the number of threads
   and however the frames are read.

   Lengths and errors are in units of the values or, where noted, fractions of the *diagonal*: the size of the
   character. */

#ifndef PELT_KEYS_FIT_H
#define PELT_KEYS_FIT_H

#include <pelt/fit.h>
#include <pelt/keys.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- Frames -------------------------------------------------------------------------------------------------------- */

/* Frames of a calculation: values [frame][point][component], read in batches. All counts are at least 1; there are at
   most 64 components, and at most 2^32 - 17 values in a frame. */
typedef struct pelt_frames {
    uint32_t frame_count, point_count, component_count;
    /* Fills in values [count][point_count][component_count] of frames first to first + count - 1. It is called by the
       training thread, in any order, and several times for the same frame; it must return the same values each time,
       and they must be finite. Anything but PELT_OK ends the training with that code and its message. It must not
       longjmp out, and must close what it opens. */
    pelt_result (*read)(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error);
    void *user;
    const char *name;      /* for messages, such as a path; NULL: "training frames" */
    const uint32_t *shots; /* [frame_count] consecutive frames share a number; any number but UINT32_MAX. NULL: not
                              known. Frames of one shot are similar: shots are held out of training as a whole, or
                              errors would be too optimistic */
    const float *controls; /* [frame_count][control_count] what the frames were computed from; NULL: not known. They
                              improve the bounds: frames with unseen controls can be tried, and the soft cache checks
                              more witnesses when controls leave their ranges */
    uint32_t control_count;
    const char *const
        *control_names;   /* [control_count] kept in the file, so that controls can be matched by name; NULL:
                                         not known */
    const float *weights; /* [frame_count] weight of a frame, 0 or more; NULL: 1 */
} pelt_frames;

/* -- Training ------------------------------------------------------------------------------------------------------ */

/* How keys are chosen and mapped. */
#define PELT_KEYS_RECIPES(X)                                                                                           \
    X(PELT_KEYS_PELT, "pelt")   /* A-optimal keys, then keys where held-out errors peak; a regularised map */          \
    X(PELT_KEYS_PAPER, "paper") /* as Meyer & Anderson wrote it: varimax, least squares */

typedef enum pelt_keys_recipe {
#define PELT_KEYS_RECIPE_ENUM(code, name) code,
    PELT_KEYS_RECIPES(PELT_KEYS_RECIPE_ENUM)
#undef PELT_KEYS_RECIPE_ENUM
        PELT_KEYS_RECIPE_COUNT
} pelt_keys_recipe;

/* "pelt", "paper"; NULL for an invalid number. */
PELT_API const char *pelt_keys_recipe_name(pelt_keys_recipe recipe);

#define PELT_KEYS_NO_WITNESSES UINT32_MAX

/* A program's own description of the file it trains. Both parts come from malloc and are freed by the training; either
   may be NULL. */
typedef struct pelt_keys_words {
    char *text; /* for people: a JSON object, whose members are added to pelt_keys.about */
    void *data; /* for programs: [size] pelt_keys.user_data */
    uint32_t size;
} pelt_keys_words;

typedef struct pelt_keys_options {
    pelt_keys_recipe recipe;
    uint32_t keys;   /* key points, up to the number of points; more keys, less error, more to compute. 0: 170, or as
                       many as `error` needs; not together with it */
    uint32_t basis;  /* basis vectors, up to the number of frames; 0: as many as the keys have values (pelt), half a
                       vector per key (paper) */
    double error;    /* 0 to 1; > 0: the fewest keys that bring the largest error of a point under this fraction of the
                       diagonal in 99.5% of the frames, held out shot by shot. Fails if 350 keys are not enough */
    double residual; /* 0 to 1; > 0, with the recipe paper: its stopping criterion: batches are added until the largest
                        residual of any point and training frame is under this fraction of the diagonal; `keys` is then
                        the maximum */
    uint32_t batch;  /* vectors per batch of the recipe paper, each of which gives two keys; 0: 20 */
    uint32_t grid;   /* fewer than the keys: this many are spread evenly, so that no large part has none; the recipe
                       paper seeds them into its first batch, pelt adds them last */
    double spacing;  /* 0 to 1: no two keys are closer than this fraction of the diagonal, while there are other points;
                        0: 0.012. The recipe paper has none */
    const uint32_t *fiducials; /* [fiducial_count] points that are always keys, such as the corners of the mouth */
    uint32_t fiducial_count;
    bool uncentred;         /* do not subtract the mean: if no signal means 0 (light) */
    bool shared;            /* one basis for all components, each treated as a separate frame (light) */
    uint32_t engine_points; /* keys come only from the first this many points, which drive the others (cross point
                                  multiplication); 0: all */
    uint32_t regions;       /* parts that the soft cache judges separately, up to 65536 and the number of keys; 0: one
                                  per three keys; 1 with the recipe paper or if positions are not known */
    uint32_t witnesses;     /* points that the soft cache checks per frame besides the keys; 0: one in 25 of all
                                  witnesses, fewer if held-out frames were very accurate; one in three if controls leave
                                  their training ranges; none with the recipe paper or if positions are not known; or
                                  PELT_KEYS_NO_WITNESSES */
    double ridge;           /* 0 to 1: regularisation of the map, relative to the keys' variance; 0: chosen by
                                  cross-validation. The recipe paper has none */
    double bar;             /* 0 to 1: the soft cache should allow no error above this fraction of the diagonal; 0:
                                  0.01 */
    const float *positions; /* [point_count][3] at rest; NULL: the mean frame if it has three components */
    double diagonal;        /* what errors are fractions of, in units of the values; 0: of the positions */
    bool exact;             /* keep the basis in single precision; otherwise half, if that is precise enough */
    const pelt_keys *previous; /* retrain: the knowledge in this file counts as frames. Keys are chosen anew, since old
                                  ones are where the old frames needed them */
    size_t
        memory; /* bytes of frames that may be held; 0: 512 MiB, or less under a memory limit. Beyond, frames are read again for each
                                  of five passes, and those left out for the forecast once more. Training itself needs about 100 bytes for each value of a frame and each key */
    uint32_t seed;
    /* Describes the file further: called once, with the keys as they will run (but without text). NULL: nothing to
       add. */
    pelt_result (*describe)(void *user, const pelt_keys *keys, pelt_keys_words *words, pelt_error *error);
    void *describe_user;
    pelt_progress progress; /* "subspace", then "keys"; returning non-zero ends the training: PELT_ERROR_CANCELLED */
} pelt_keys_options;

enum { PELT_KEYS_CURVE = 8 };

/* What to expect of a figure on a clip of ten shots that nobody trained on: a middle, and a range that 9 in 10 such
   clips should be in. */
typedef struct pelt_forecast {
    double expected, low, high;
} pelt_forecast;

/* How the trained key points will do, by rehearsal: stretches of frames are left out, and frames in which some control
   is active; key points are trained on the rest, including the choice of keys; and the soft cache plays what was left
   out. Training on all frames is a little better. All zeros if there is too little to leave out, if colours share a
   basis, and with `previous`: missed frames are harder than others. */
typedef struct pelt_keys_forecast {
    uint32_t rehearsals, frames;     /* trainings, and frames that were played */
    pelt_forecast hit_rate;          /* fraction of the frames that need keys and witnesses alone */
    pelt_forecast error_p995;        /* largest error of a point that 99.5% of the frames stay under, keys alone */
    pelt_forecast evaluated;         /* points computed per frame */
    uint32_t bad_frames, missed_bad; /* frames above the bar, and of those, trusted by the soft cache where bad */
} pelt_keys_forecast;

/* What training found. Errors are fractions of the diagonal. */
typedef struct pelt_keys_report {
    uint32_t frames, keys, basis, regions;
    uint32_t witnesses, witnesses_each_frame;
    double error_p995;   /* 99.5% of the frames, held out shot by shot, have a largest point error below this; infinite
                            if there is nothing to hold out. For comparison: the keys were chosen with all frames in
                            sight, so that new frames err by more (see `forecast`) */
    double ridge;        /* as used */
    double hit_rate;     /* of held-out frames at the bounds that were set, by the misfit of the keys alone */
    double bad_caught;   /* likewise: fraction of the frames with held-out controls above the bar that were flagged */
    uint32_t bad_frames; /* number of those frames */
    bool by_controls;    /* bounds are based on frames with held-out controls; otherwise only on shots */
    uint32_t curve_keys[PELT_KEYS_CURVE]; /* error against number of keys, by the same measure; 0 ends it */
    double curve_error[PELT_KEYS_CURVE];
    double forgotten; /* with `previous`: the RMS over its frames of what its subspace left out, a fraction of its
                         diagonal; -1: the file does not say. A subspace of all frames, of as many vectors, leaves out
                         less than the new one by at most twice this */
    pelt_keys_forecast forecast;
} pelt_keys_report;

/* Trains key points: bytes of a .keys file, aligned for pelt_keys_open; free them with pelt_bytes_free. `options` and
   `report` may be NULL. Time grows with points times keys squared, and with frames times values times keys. */
PELT_API pelt_bytes *pelt_keys_train(const pelt_frames *frames, const pelt_keys_options *options,
                                     pelt_keys_report *report, pelt_error *error);

/* Reads a .keys file and checks it with pelt_keys_open; *keys points into the bytes. Free them with pelt_bytes_free
   when it is no longer used. pelt_bytes_write writes one. */
PELT_API pelt_bytes *pelt_keys_read(const char *path, pelt_keys *keys, pelt_error *error);

/* -- Measuring ----------------------------------------------------------------------------------------------------- */

/* One frame. Errors and jumps are fractions of the diagonal. */
typedef struct pelt_keys_frame {
    uint32_t shot, worst_point;
    float error;       /* largest of a point, keys alone */
    float final;       /* the same with the soft cache */
    float e;           /* misfit at keys and witnesses, 1 is the bound */
    bool trusted_bad;  /* keys alone are above the bar at a point that the soft cache did not compute, and the frame is
                          not in doubt */
    float jump;        /* largest change of a point's error since the previous frame, keys alone */
    float switch_jump; /* the same with the soft cache, for points that it moves between keys and truth */
    float still;       /* how much farther than in truth a point moved since the previous frame, with the soft cache */
    uint32_t evaluated;
    pelt_soft_cache_verdict verdict;
} pelt_keys_frame;

typedef struct pelt_keys_measure_options {
    pelt_soft_cache_options soft_cache;
    double bar;        /* 0 to 1: errors above this fraction of the diagonal are bad; 0: 0.01 */
    double point_cost; /* seconds that the calculation takes per point; 0: not known, and neither is the speedup */
    double call_cost;  /* and per call, regardless of the number of points */
    /* Called with every frame as it is played: its values [point_count][component_count] in truth, from the keys alone,
       and with the soft cache, valid only during the call. NULL: none. */
    void (*look)(void *user, uint32_t frame, const pelt_keys_frame *figures, const float *truth, const float *keys,
                 const float *final);
    void *look_user;
    pelt_progress progress;
} pelt_keys_measure_options;

/* How key points and the soft cache do on frames whose truth is known, preferably not training frames. */
typedef struct pelt_keys_measure {
    uint32_t frame_count, shot_count;
    pelt_keys_frame *frames;        /* [frame_count] */
    double p50, p99, p995, largest; /* of the largest error of a frame, keys alone */
    double rms;                     /* over all frames and points, keys alone */
    double hit_rate;                /* frames that needed the keys alone */
    double final_p999, final_largest;
    double under_bar, final_under_bar;      /* fractions of the frames */
    uint32_t good_shots;                    /* without any frame above the bar, keys alone */
    uint32_t bad_frames, missed_bad;        /* above the bar, and of those, trusted by the soft cache where bad */
    uint32_t verdicts[PELT_CACHE_VERDICTS]; /* frames by verdict */
    double recall, precision;               /* of bad frames by the misfit, when it flags 5% of the good ones */
    double correlation;                     /* of misfit and error, of their logarithms */
    double jump, switch_jump;               /* the largest of each */
    double still_jump;                      /* the largest `still` of a frame */
    uint32_t still_frames;                  /* frames where it is more than 0.1% of the diagonal */
    double evaluated, witnesses;            /* mean points computed per frame, and of those, witnesses */
    double fill_seconds;                    /* median of a frame: solve and fill, one thread */
    double point_cost, call_cost;           /* as given */
    double calls;                           /* mean calls of the calculation per frame */
    double speedup;                         /* of the soft cache over the calculation alone; 0: the cost is not known */
    struct pelt_arena *arena;               /* owns all of it */
} pelt_keys_measure;

/* Plays frames through key points and the soft cache, with the frames' own values in place of the calculation, and
   compares. Frames without shots are consecutive. `options` may be NULL. Free with pelt_keys_measure_free. */
PELT_API pelt_keys_measure *pelt_keys_measure_frames(const pelt_keys *keys, const pelt_frames *frames,
                                                     const pelt_keys_measure_options *options, pelt_error *error);
PELT_API void pelt_keys_measure_free(pelt_keys_measure *measure);

#ifdef __cplusplus
}
#endif
#endif
