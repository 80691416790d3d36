/* displacement.h: the examples as correctives see them: poses as rotations from rest, and displacements of the rest
   pose.

   u_i^e = S_e^-1 v_i^e - v_i^0 is what must be added to rest position i so that the blend carries it to where example e
   has it. Vertices of a seam (one rest position, one motion, one blend) are one *point*, so that a seam cannot crack.
 */

#ifndef PELT_DISPLACEMENT_H
#define PELT_DISPLACEMENT_H

#include "fit/examples/controls.h"
#include "fit/fitting.h"

#define PELT_NO_MOVER UINT32_MAX

/* Joints that the examples always turn together: one joint, or several that share a movement (a spine), with the
   helpers that follow them (twist joints). Or a control: then count is 0, and first is its index. */
typedef struct pelt_mover {
    uint32_t first, count; /* members: pelt_poses.members[first] to [first + count - 1], without followers */
    uint32_t parent;       /* the nearest mover above in the skeleton, or PELT_NO_MOVER */
    bool swept;            /* some examples move it alone */
} pelt_mover;

static inline bool pelt_is_control(const pelt_mover *mover) { return mover->count == 0; }

typedef struct pelt_poses {
    uint32_t count, joint_count;
    double size;         /* of the character: what translations are small or large by */
    float *rotations;    /* [pose][joint][4] local rotation relative to rest, unit, w >= 0 */
    float *translations; /* [pose][joint][3] local translation minus that at rest */
    bool *moves;         /* [joint] turns in some pose */
    bool *slides;        /* [joint] its local translation changes in some pose */
    bool *rest;          /* [pose] nothing moves */

    uint32_t control_count; /* that take more than one value in the poses */
    pelt_model_control *control_list;
    float *controls; /* [pose][control] value minus that at rest */

    uint32_t mover_count;
    pelt_mover *movers; /* of joints, then one for each control */
    uint32_t *members;  /* [member_count] joints, mover by mover */
    uint32_t *mover_of; /* [joint] its mover, also of followers; PELT_NO_MOVER for joints that do not turn */
    uint32_t *sweep_of; /* [pose] the only mover that moves, or PELT_NO_MOVER */
} pelt_poses;

/* Poses of the examples; control_scale is the option of that name. The arena owns the result. */
pelt_result pelt_poses_of(pelt_arena *arena, const pelt_bundle *bundle, pelt_examples examples,
                          const char *control_scale, pelt_poses *poses, pelt_error *error);

/* first_of[pose] gets the first pose that is the same, or PELT_REST_EXAMPLE when it is the rest pose, to within a
   thousandth of a radian; translations count as parts of the size. */
pelt_result pelt_same_poses(const pelt_poses *poses, uint32_t *first_of);

typedef struct pelt_example_displacements {
    uint32_t example_count, vertex_count, point_count;
    uint32_t *point_of;                   /* [vertex] */
    uint32_t *vertex_of;                  /* [point] its first vertex */
    float *positions;                     /* [example][point][3] */
    uint32_t worst_example, worst_vertex; /* where the blend is closest to singular */
} pelt_example_displacements;

/* Displacements of all examples for the blend of fitting->model; fitting->figures gets how often the inverse had to be
   damped. The fitting's arena owns the result. */
pelt_result pelt_displacements_of(pelt_fitting *fitting, pelt_example_displacements *out, pelt_error *error);

/* Change of the rest normals that makes the blend carry them to the normals of the examples: [example][vertex][3],
   owned by the arena; NULL when memory is out. The normals of an example are those of its surface, turned as the rest
   normals of the file are turned from the rest surface, so that hard edges stay hard. */
float *pelt_normal_displacements_of(pelt_fitting *fitting);
/* The same as displacements of points, where a point is a vertex: the two sides of a hard edge have a normal each. */
pelt_result pelt_turns_of(pelt_fitting *fitting, pelt_example_displacements *out);

#endif
