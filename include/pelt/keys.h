/* keys.h: run key points and the soft cache (Meyer & Anderson 2007).

   A calculation gives values at many points (a slow face rig: positions; a lighting gather: colours). pelt has learned
   (`pelt keys train`, keys_fit.h) a subspace of its results, and a few *key points* that determine the coordinates in
   it:

       b = W (values at the keys - their mean),        all points = mean + A b

   so that only the keys need to be computed. A b at the keys themselves is compared with their true values: this
   *misfit* tells when not to trust the result. A few *witnesses*, different points each frame, are computed and
   compared too, since something never trained may not affect the keys. The *soft cache* computes points where either
   disagrees, and blends, so that nothing pops.

   In a dozen lines:

       pelt_keys keys;                                    // bytes: the .keys file, 64-byte aligned, kept by you
       if (pelt_keys_open(bytes, size, &keys) != PELT_OK) ...
       void *scratch = aligned_alloc(64, pelt_keys_scratch_size(&keys, 1));

       my_rig(controls, keys.key_points, keys.key_count, key_values);        // your slow calculation, at a few points
       pelt_misfit misfit;
       pelt_keys_solve(&keys, key_values, 1, scratch, &misfit);
       pelt_keys_fill(&keys, scratch, 1, pelt_keys_all_blocks(&keys), points);   // point p at points + 3 * p

   or with the soft cache, which calls your calculation itself:

       pelt_engine_call engine = {my_evaluate, my_rig, control_count};
       void *memory = aligned_alloc(64, pelt_soft_cache_size(&keys, control_count));
       pelt_soft_cache cache;
       pelt_soft_cache_init(&cache, &keys, NULL, engine, memory);
       pelt_soft_cache_next(&cache, controls, points, NULL);                      // every frame

   Memory. As in pelt.h the caller owns all of it: the bytes of the file, which must outlive the pelt_keys, scratch,
   values. Threads. A pelt_keys is read-only and can be shared; a scratch is written by pelt_keys_solve and only read by
   pelt_keys_fill, so that threads may fill different ranges of blocks at once; a soft cache belongs to one thread at a
   time. Numbers. Values are floats in the unit of the calculation; misfits are in the same unit, and e is a misfit
   relative to the tolerance found in training. C99, no dependency, no allocation, no global state. */

#ifndef PELT_KEYS_H
#define PELT_KEYS_H

#include <pelt/pelt.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PELT_POINT_REGIONS = 4 }; /* maximum regions of a point */

/* The misfit in a region, in units of the values, at which e = 1; both are greater than 0. Training chose them so that
   the error of the points stays within the requested bound. */
typedef struct pelt_misfit_bound {
    float rms, largest; /* RMS over the keys of the region, and of one key */
} pelt_misfit_bound;

#define PELT_WITNESS_WEIGHT 1.5f

/* Points checked besides the keys: in every frame the next few of a list, a third of it if a control is out of its
   range, all of it at the start of a shot. */
typedef struct pelt_witness_rule {
    float bound; /* distance between reconstruction and truth at which e = 1 for a computed point, in units of the
                            values; > 0. For a witness it counts PELT_WITNESS_WEIGHT times */
    uint32_t each_frame; /* witnesses checked in an ordinary frame; at least 1, at most witness_count */
} pelt_witness_rule;

/* The range of a control in the training frames, with a small margin. */
typedef struct pelt_control_range {
    float low, high; /* low <= high */
} pelt_control_range;

/* The error that training measured with another number of keys. */
typedef struct pelt_keys_error {
    uint32_t keys; /* at least 1 */
    float error;   /* largest point error in 99.5% of held-out frames, as a fraction of the diagonal; >= 0 */
} pelt_keys_error;

/* An opened .keys file: counts, and pointers into the bytes given to pelt_keys_open. A plain value with nothing to
   free; read-only, except `isa`. docs/keys-format.md describes each array. */
typedef struct pelt_keys {
    uint32_t point_count;        /* at least 1 */
    uint32_t component_count;    /* values per point, 1 to 64: 3 for positions or colours */
    uint32_t key_count;          /* points computed every frame; at least 1 */
    uint32_t basis_count;        /* vectors of A */
    uint32_t region_count;       /* parts that the soft cache judges separately; at least 1 */
    uint32_t engine_point_count; /* points that the engine computes: all, or, if keys on one mesh drive another (cross
                                    point multiplication), only the first */
    uint32_t shared;             /* 1: all components share one basis, as if each were a separate frame (colours) */
    uint32_t half;               /* 1: the basis is stored as half floats */
    float diagonal;              /* size of the character; errors are given as fractions of it */
    uint32_t frame_count;        /* training frames */

    uint32_t row_count;     /* rows of A: points, times components unless shared */
    uint32_t key_row_count; /* the same for the keys */
    uint32_t block_count;   /* blocks of 16 rows */

    const uint32_t *key_points;            /* [key_count], not necessarily increasing */
    const float *mean;                     /* [block_count][16] */
    const float *key_mean;                 /* [key_row_count] */
    const void *basis;                     /* [block_count][basis_count][16] float or half */
    const float *map;                      /* W: basis_count rows in blocks of 16, [block][key_row_count][16] */
    const float *misfit;                   /* misfit = this times the centred key values; key_row_count rows likewise */
    const pelt_misfit_bound *bounds;       /* [region_count] */
    const uint16_t *point_regions;         /* [point_count][4] regions of each point */
    const float *point_region_weights;     /* [point_count][4], they sum to 1 */
    const uint32_t *witness_points;        /* [witness_count], below engine_point_count; NULL: there are none */
    const pelt_witness_rule *witness_rule; /* NULL: there are none */
    uint32_t witness_count;
    const pelt_control_range *control_ranges; /* [control_count]; NULL: not known */
    uint32_t control_count;
    const char *control_names; /* [control_names_size] control_count names, each ended by a zero; NULL: not known.
                                    Controls must come in this order; pelt_keys_control_name finds one */
    uint32_t control_names_size;
    const pelt_keys_error *curve; /* [curve_count] error against number of keys; NULL: unknown */
    uint32_t curve_count;
    const float *left_out; /* [block_count][16] mean square over the training frames of what A cannot show of a row; at
                              least 0. For training from this file; NULL: not known */
    const void *user_data; /* [user_size] the training program's own data, unchecked; NULL: none */
    uint32_t user_size;
    const char *about; /* UTF-8 JSON text for people; programs do not need it */
    uint32_t about_size;

    pelt_isa isa; /* as in pelt_skin */
} pelt_keys;

/* Checks a .keys file in memory and fills in *keys, as pelt_open does for skins: everything is checked here, `bytes` is
   aligned to 64 and must not move. The results are those of pelt_open. */
PELT_API pelt_result pelt_keys_open(const void *bytes, size_t size, pelt_keys *keys);

/* Bytes of scratch for a batch of frames, a multiple of 64. Align it to 64; its initial content does not matter.
   SIZE_MAX if that exceeds the address space. */
PELT_API size_t pelt_keys_scratch_size(const pelt_keys *keys, uint32_t frame_count);

/* How badly the subspace explains the keys of a frame. Infinite if a key value is not finite. */
typedef struct pelt_misfit {
    float rms;     /* RMS length over the keys */
    float largest; /* of one key */
    float e;       /* the worst region's max(rms / bound, largest / bound): trusted up to 1 */
} pelt_misfit;

/* From values at the keys [frame_count][key_count][component_count], in the order of key_points, to subspace
   coordinates, kept in the scratch. misfits [frame_count] may be NULL, which saves their cost, about that of the
   coordinates times key rows over basis vectors. */
PELT_API void pelt_keys_solve(const pelt_keys *keys, const float *key_values, uint32_t frame_count, void *scratch,
                              pelt_misfit *misfits);

/* After pelt_keys_solve of one frame with misfits: e of each region [region_count], 0 if a region has no keys. For a
   batch it is that of the last frame. */
PELT_API void pelt_keys_region_misfits(const pelt_keys *keys, const void *scratch, float *e);

static inline pelt_range pelt_keys_all_blocks(const pelt_keys *keys) {
    pelt_range all = {0, keys->block_count};
    return all;
}

/* After pelt_keys_solve: values of all points [frame_count][point_count][component_count], for a range of blocks of 16
   rows (split it over threads); blocks beyond the last are ignored. frame_count is that of the solve. Frames of a batch
   share the reading of A, which is most of the cost: eight at once cost far less than eight separately. */
PELT_API void pelt_keys_fill(const pelt_keys *keys, const void *scratch, uint32_t frame_count, pelt_range blocks,
                             float *values);

/* -- The soft cache ------------------------------------------------------------------------------------------------ */

/* The slow calculation: values [count][component_count] at some points, for a frame's controls [control_count]. Points
   are below engine_point_count and in no particular order; it is called several times per frame, and again for the
   controls of the previous frame, so it must depend on nothing but these. Returns 0, or non-zero on failure. */
typedef int (*pelt_evaluate)(void *user, const float *controls, const uint32_t *points, uint32_t count, float *values);

typedef struct pelt_engine_call {
    pelt_evaluate evaluate;
    void *user;             /* passed to it */
    uint32_t control_count; /* numbers that define a frame; may be 0 */
} pelt_engine_call;

/* What became of a frame. */
typedef enum pelt_soft_cache_verdict {
    PELT_CACHE_HIT,   /* keys alone */
    PELT_CACHE_PART,  /* some regions were computed */
    PELT_CACHE_BLEND, /* everything was computed, and blended with the reconstruction */
    PELT_CACHE_MISS,  /* everything was computed and used directly */
    PELT_CACHE_DOUBT, /* not trusted, but nothing can compute all points (cross point multiplication): keys alone */
    PELT_CACHE_VERDICTS
} pelt_soft_cache_verdict;

/* All zeros are good defaults. */
typedef struct pelt_soft_cache_options {
    float e_min, e_max; /* trusted up to e_min, not at all from e_max; 0: 1 and 1.5, in units of the bounds */
    float step;         /* limit on how much switching between reconstruction and computation may change the distance of
                           any point to the truth per frame, as a fraction of the diagonal; 0: blend by e alone */
    int whole;          /* 1: one decision for all points, even if the file has regions */
    int new_each_frame; /* 1: frames are not consecutive in time */
    int no_witnesses;   /* 1: use the keys alone, even if the file has witnesses */
    int absolute;       /* 1: e is the paper's: the RMS misfit of all keys in units of the values; one decision, and no
                           witnesses. e_min and e_max then default to 0.1 and 0.15 */
} pelt_soft_cache_options;

/* What pelt_soft_cache_next did. */
typedef struct pelt_soft_cache_frame_info {
    pelt_soft_cache_verdict verdict;
    pelt_misfit misfit; /* of the whole frame, at the keys */
    float e;            /* of the worst region, including witnesses and computed points */
    uint32_t evaluated; /* points computed, keys and witnesses included */
    uint32_t witnesses; /* of these, witnesses */
    uint32_t calls;     /* of the engine */
} pelt_soft_cache_frame_info;

/* The soft cache of one character: its state is in memory that the caller provides and owns; there is nothing to free.
   The counts may be read at any time, and set to 0. */
typedef struct pelt_soft_cache {
    const pelt_keys *keys;           /* must outlive the cache */
    pelt_soft_cache_options options; /* with the defaults filled in */
    pelt_engine_call engine;
    uint64_t hits, parts, blends, misses, doubts; /* frames, by verdict */
    uint64_t evaluated, witnesses, calls;         /* points computed in all, of these witnesses; calls of the engine */
    void *private_memory;
    int private_started;      /* there was a previous frame */
    uint32_t private_witness; /* the next in turn */
} pelt_soft_cache;

/* Bytes of memory for a soft cache, a multiple of 64: about five frames of values. Align it to 64. SIZE_MAX if that
   exceeds the address space. */
PELT_API size_t pelt_soft_cache_size(const pelt_keys *keys, uint32_t control_count);

/* The name of the first option that is out of range: "e_min" (1e-6 to 1e6), "e_max" (at least e_min), "step" (0 to 1);
   NULL: none. */
PELT_API const char *pelt_soft_cache_problem(const pelt_soft_cache_options *options);

/* Makes a soft cache in the given memory. `options` may be NULL: the defaults. PELT_ERROR_ARGUMENT if something
   required is NULL or pelt_soft_cache_problem finds a problem, PELT_ERROR_ALIGNMENT if memory is not aligned to 64; the
   cache must then not be used, and pelt_soft_cache_next returns PELT_ERROR_ARGUMENT. */
PELT_API pelt_result pelt_soft_cache_init(pelt_soft_cache *cache, const pelt_keys *keys,
                                          const pelt_soft_cache_options *options, pelt_engine_call engine,
                                          void *memory);

/* Marks a cut: the next frame does not follow the last one (another shot, another take). Everything before it is
   forgotten, as after pelt_soft_cache_init, so that a shot gets the same verdicts wherever it is played. */
PELT_API void pelt_soft_cache_cut(pelt_soft_cache *cache);

/* One frame: evaluates keys and witnesses, decides, evaluates what is needed, blends. Where points are computed, the
   error of the reconstruction is known: a region whose points exceed the witnesses' bound is computed in the next frame
   too, and so are its neighbours if the error reaches their border. values [point_count][component_count]; `info` may
   be NULL. PELT_ERROR_NUMBER if the engine returned something that is not finite, PELT_ERROR_DATA if it failed: the
   values are then invalid, and the cache is unchanged. */
PELT_API pelt_result pelt_soft_cache_next(pelt_soft_cache *cache, const float *controls, float *values,
                                          pelt_soft_cache_frame_info *info);

/* After pelt_soft_cache_next: e of each region [region_count], including witnesses and computed points. */
PELT_API void pelt_soft_cache_regions(const pelt_soft_cache *cache, float *e);

/* The weight of the reconstruction for a misfit e: 1 up to e_min, 0 from e_max, linear between. */
PELT_API float pelt_soft_cache_trust(const pelt_soft_cache_options *options, float e);

/* -- For other languages, as in pelt.h ----------------------------------------------------------------------------- */

PELT_API size_t pelt_sizeof_keys(void);
PELT_API uint32_t pelt_keys_point_count(const pelt_keys *keys);
PELT_API uint32_t pelt_keys_component_count(const pelt_keys *keys);
PELT_API uint32_t pelt_keys_block_count(const pelt_keys *keys);
PELT_API uint32_t pelt_keys_key_count(const pelt_keys *keys);
PELT_API const uint32_t *pelt_keys_key_points(const pelt_keys *keys);
/* The name of a control of the training, or NULL if it is not known. */
PELT_API const char *pelt_keys_control_name(const pelt_keys *keys, uint32_t control);
PELT_API uint32_t pelt_keys_basis_count(const pelt_keys *keys);
PELT_API uint32_t pelt_keys_region_count(const pelt_keys *keys);
PELT_API uint32_t pelt_keys_engine_point_count(const pelt_keys *keys);
PELT_API uint32_t pelt_keys_control_count(const pelt_keys *keys);
PELT_API float pelt_keys_diagonal(const pelt_keys *keys);
PELT_API const char *pelt_keys_about(const pelt_keys *keys);

#ifdef __cplusplus
}
#endif
#endif
