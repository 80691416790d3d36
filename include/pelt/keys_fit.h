/* keys_fit.h: train key points.

       pelt_frames frames = {...};                 // where training frames come from: read in batches, several times
       pelt_skin_bytes *bytes = pelt_keys_train(&frames, &(pelt_keys_options){.keys = 170}, &report, &error);
       pelt_keys_write(bytes, "face.keys", &error);

   The run-time half is keys.h. As in fit.h, functions that can fail take a pelt_error, options are zero-initialised,
   and zero means the default. */

#ifndef PELT_KEYS_FIT_H
#define PELT_KEYS_FIT_H

#include <pelt/fit.h>
#include <pelt/keys.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frames of a calculation: values [frame][point][component], read in batches. */
typedef struct pelt_frames {
    uint32_t frame_count, point_count, component_count;
    pelt_result (*read)(void *user, uint32_t first, uint32_t count, float *values, pelt_error *error);
    void *user;
    const char *name;      /* for messages */
    const uint32_t *shots; /* [frame_count] frames with one number follow one another; NULL: not known */
    const float *controls; /* [frame_count][control_count] what the frames were computed from; NULL: not known */
    uint32_t control_count;
    const float *weights; /* [frame_count] how often a frame counts; NULL: once */
} pelt_frames;

typedef struct pelt_keys_options {
    const char *recipe; /* "pelt" or "paper" (Meyer & Anderson as written); NULL: "pelt" */
    uint32_t keys;      /* key points; 0: 170, or as many as `error` asks for */
    uint32_t basis;     /* basis vectors; 0: 3 per key (pelt), half a vector per key (paper) */
    double error;       /* > 0: as few keys as bring the largest error of a point under this fraction of the diagonal
                           in 99.5% of the frames, held out of training shot by shot */
    uint32_t grid;      /* of the keys, so many spread evenly, so that no large part is without */
    const uint32_t *fiducials; /* points that are keys in any case */
    uint32_t fiducial_count;
    bool uncentred;            /* do not subtract the mean (light) */
    bool shared;               /* one basis for all components, each as a frame of its own (light) */
    uint32_t engine_points;    /* keys come from the first so many points (cross point multiplication); 0: all */
    uint32_t regions;          /* parts that the soft cache judges apart; 0: 1 */
    double ridge;              /* regularisation of the map; 0: chosen by cross-validation */
    double bar;                /* the soft cache should let no point be wrong by more than this fraction; 0: 0.01 */
    const float *positions;    /* [point_count][3] at rest; NULL: the mean frame where it has three components */
    double diagonal;           /* what errors are fractions of; 0: of the positions */
    bool exact;                /* keep the basis in single precision */
    const pelt_keys *previous; /* retrain: what this file knew counts as frames, and its keys stay */
    size_t memory; /* bytes of frames that may be held; 0: 512 MiB. Beyond, frames are read again for each pass */
    uint32_t seed;
    pelt_progress progress;
} pelt_keys_options;

enum { PELT_KEYS_CURVE = 8 };

/* What training found. Errors are fractions of the diagonal. */
typedef struct pelt_keys_report {
    uint32_t frames, keys, basis;
    double error_p995;   /* largest point error that 99.5% of the frames stay under, held out shot by shot */
    double ridge;        /* as used */
    double hit_rate;     /* of held-out frames at the bounds that were set */
    double bad_caught;   /* of frames with controls held out that were worse than the bar, how many were flagged */
    uint32_t bad_frames; /* how many of those there were */
    bool by_controls;    /* bounds rest on frames with controls held out; otherwise on shots alone */
    uint32_t curve_keys[PELT_KEYS_CURVE]; /* error against number of keys, by the same measure; 0 ends it */
    double curve_error[PELT_KEYS_CURVE];
} pelt_keys_report;

/* Trains key points: bytes of a .keys file, to be freed with pelt_skin_free. `report` may be NULL. */
pelt_skin_bytes *pelt_keys_train(const pelt_frames *frames, const pelt_keys_options *options, pelt_keys_report *report,
                                 pelt_error *error);

/* Reads and writes .keys files; bytes are freed with pelt_skin_free. */
pelt_skin_bytes *pelt_keys_read(const char *path, pelt_keys *keys, pelt_error *error);
pelt_result pelt_keys_write(const pelt_skin_bytes *bytes, const char *path, pelt_error *error);

#ifdef __cplusplus
}
#endif
#endif
