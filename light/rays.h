/* rays.h: packets of rays through triangles. The only file that knows Embree, version 3 or 4, is rays.c. */

#ifndef PELT_RAYS_H
#define PELT_RAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rays in a packet. */
enum { LANES = 16 };

typedef struct rays rays;

/* Rays to be traced together: those whose `active` is not zero, from origin along direction, up to length times it. */
typedef struct packet {
    _Alignas(64) float origin[3][LANES];
    float direction[3][LANES];
    float length[LANES];
    int active[LANES];
} packet;

/* What the rays of a packet met first. `normal` has any length and points to the side the triangle is wound for. */
typedef struct hits {
    _Alignas(64) float distance[LANES]; /* in lengths of the ray's direction */
    float normal[3][LANES];
    uint32_t triangle[LANES]; /* RAYS_MISS: nothing */
} hits;

#define RAYS_MISS UINT32_MAX

/* Copies the triangles. NULL when Embree cannot start or memory is out. */
rays *rays_new(const float *positions, uint32_t vertex_count, const uint32_t *triangles, uint32_t triangle_count);
void rays_free(rays *scene);

void rays_first_hits(const rays *scene, const packet *in, hits *out);
/* blocked[i] is set where something is in the way. */
void rays_blocked(const rays *scene, const packet *in, bool blocked[LANES]);

#endif
