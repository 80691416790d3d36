/* rays.h: ray packets against triangles. Only rays.c knows Embree, version 3 or 4. */

#ifndef PELT_RAYS_H
#define PELT_RAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rays in a packet. */
enum { LANES = 16 };

typedef struct rays rays;

/* Rays traced together: those with `active` not zero, from origin along direction, up to length times it. */
typedef struct packet {
    _Alignas(64) float origin[3][LANES];
    float direction[3][LANES];
    float length[LANES];
    int active[LANES];
} packet;

/* The first hits of a packet. `normal` has any length and points to the front of the triangle. */
typedef struct hits {
    _Alignas(64) float distance[LANES]; /* in units of the ray's direction */
    float normal[3][LANES];
    uint32_t triangle[LANES]; /* RAYS_MISS: nothing */
} hits;

#define RAYS_MISS UINT32_MAX

/* Copies the triangles. NULL if Embree cannot start or memory runs out. */
rays *rays_new(const float *positions, uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count);
void rays_free(rays *scene);

void rays_first_hits(const rays *scene, const packet *in, hits *out);
/* Sets blocked[i] for occluded rays. */
void rays_blocked(const rays *scene, const packet *in, bool blocked[LANES]);

#endif
