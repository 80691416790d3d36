/* tracer.h: prepared by tracer.c, used by gather.c. */

#ifndef PELT_TRACER_H
#define PELT_TRACER_H

#include "light/light.h"
#include "light/rays.h"
#include "light/vector.h"

typedef enum emitter_kind { EMITTER_POINT, EMITTER_PATCH } emitter_kind;

/* A light as paths sample it: a point (maybe with a cone), or a flat patch. */
typedef struct emitter {
    emitter_kind kind;
    bool triangle, two_sided; /* a patch: half of the parallelogram; emits on both sides */
    bool hittable;            /* a triangle of the scene: paths can also run into it */
    v3 position, edges[2];
    v3 normal; /* of a patch; the axis of a cone */
    v3 power;  /* intensity of a point, radiance of a patch */
    float area;
    float cos_inner, cos_outer;   /* a point fades between them */
    float cap;                    /* 1 - cosine of the cone that contains all its light */
    float falloff, falloff_scale; /* point: irradiance = power cos falloff_scale / distance^falloff */
    float chance, chance_below;   /* probability of being sampled; summed over the emitters before it */
} emitter;

struct pelt_tracer {
    const pelt_scene *scene;
    rays *rays;
    uint32_t triangle_count;           /* without degenerate ones */
    uint32_t *materials;               /* of each */
    uint32_t *scene_triangles;         /* index of each in the scene */
    uint32_t *emitters_of;             /* of each triangle: its emitter, or NO_EMITTER */
    uint32_t emitter_count, own_count; /* own: those of the scene; one more may follow */
    emitter *emitters;
    pelt_extent extent;
    float offset; /* how far a ray starts from its surface */
    pelt_arena *arena;
};

#define NO_EMITTER UINT32_MAX

#endif
