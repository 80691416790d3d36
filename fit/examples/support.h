/* support.h: which mover moves which part of the skin. */

#ifndef PELT_SUPPORT_H
#define PELT_SUPPORT_H

#include "fit/examples/lone.h"

typedef struct pelt_supports {
    uint32_t mover_count, point_count;
    float *amplitudes; /* [mover][point] largest displacement by this mover: in the examples that move it alone, or by
                          regression (drivers.c) if there are none; with controls, also between examples that differ
                          in it alone */
    float *peaks;      /* [mover] the largest of them */
    float noise;      /* smaller displacements are rounding: 1e-5 of the diagonal; or noise, if there is more of that */
    float *carried;   /* [mover + 1][point] blend weight of the joints that the mover carries: its own, those that
                          follow it, and those below it that nothing else drives; the last row: of joints that no
                          mover moves */
    double threshold; /* of EigenSkin's supports, relative to the peaks, */
    double fade;      /* and the fraction below it over which they fade: pelt_support_share */
} pelt_supports;

/* The arena owns the result. */
void pelt_supports_of(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                      const pelt_example_displacements *displacements, uint32_t threads, pelt_supports *out);
/* The same, and lone[pose][point][3]: what movers without sweeps do alone. */
void pelt_supports_alone(pelt_arena *arena, const pelt_model *model, const pelt_poses *poses,
                         const pelt_example_displacements *displacements, uint32_t threads,
                         const pelt_lone_poses *wanted, float *lone, pelt_supports *out);

/* The joint mover that moves most of what a control moves: their interaction is fitted as a pair. PELT_NO_MOVER:
   none. */
uint32_t pelt_control_partner(const pelt_supports *supports, const pelt_poses *poses, uint32_t mover);

/* Blend weight at a point of a mover and the one above it: where to look for its effect if no example shows it
   alone. */
float pelt_carried_around(const pelt_supports *supports, const pelt_poses *poses, uint32_t mover, uint32_t point);

/* A mover's name for messages: its joints, "c_spine0+c_spine1", or its control. */
const char *pelt_mover_name(pelt_arena *arena, const pelt_skeleton *skeleton, const pelt_poses *poses, uint32_t mover);

/* A displacement of a point, and the coefficient that scales it. */
typedef struct pelt_entry {
    uint32_t point, coefficient;
    float position[3];
} pelt_entry;

/* Converts entries of points to displacements of all vertices; those of a point keep their order. */
pelt_displacements *pelt_gather_displacements(pelt_arena *arena, const pelt_example_displacements *displacements,
                                              const pelt_entry *entries, size_t count);

/* The largest displacement of any vertex if coefficient k is at most `most`[k]. */
double pelt_largest_displacement(const pelt_displacements *displacements, uint32_t vertex_count, const double *most);

#endif
