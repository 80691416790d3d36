/* solid.h: soft tissue as an elastic solid that rigid bones carry along.

   The solid is made of tetrahedra with 4 nodes (linear) or 10 (quadratic). Some nodes are fixed to bones and move rigidly
   with them; the others find the place where the energy

       E(x) = sum_elements fraction * volume * W(F)

   is least; F is the deformation gradient. The skin's vertices lie inside elements and move with them.

   Linear tetrahedra lock when each keeps its volume: above a Poisson ratio of .25 they keep the mean around every node
   instead (average.c). Quadratic ones (pelt_solid_make_quadratic) need no such help and are more exact for the same number
   of nodes, at several times the cost.

   Skin that touches skin pushes it, from a fifth of an edge on (contact.c). Vertices that are near one another through the
   flesh do not see each other (4 edges), so creases are left alone, and where skin lies near or in skin at rest nothing
   pushes before it comes nearer. Where balance with contact is not found, the way goes on without it, and what is left of penetration is reported. */

#ifndef PELT_SOLID_H
#define PELT_SOLID_H

#include "rig/rig.h"

/* How energy depends on deformation; F has the invariants I = |F|^2 and J = det F.
   stable: Smith, de Goes & Kim 2018, mu/2 (I - 3) + lambda/2 (J - alpha)^2 - mu/2 log(I + 1), its constants chosen so that
   small strains behave as mu and lambda say; below J = .3 a wall is added, so that nothing ends inside out, while a first
   guess may. Volumetric: mu/2 (J^-2/3 I - 3) + (lambda + 2/3 mu)/2 (J - 1)^2. */
typedef enum pelt_solid_law { PELT_LAW_STABLE, PELT_LAW_VOLUMETRIC } pelt_solid_law;

/* Lame's constants of an element, and how much of it is flesh: cells that the surface cuts are partly empty. */
typedef struct pelt_solid_material {
    double mu, lambda;
    double fraction; /* above 0, up to 1 */
} pelt_solid_material;

/* Of Young's modulus and Poisson's ratio (above -1, below 1/2). */
pelt_solid_material pelt_solid_material_of(double young, double poisson, double fraction);

enum { PELT_LINEAR_NODES = 4, PELT_QUADRATIC_NODES = 10, PELT_NO_BONE = -1 };

/* What a solid is made of. Arrays are the caller's and must outlive the solid. */
typedef struct pelt_solid_shape {
    uint32_t node_count, element_count, bone_count;
    uint32_t nodes_per_element; /* 4 or 10 */
    const double *nodes;        /* [node_count][3], at rest */
    const int32_t *node_bones;  /* [node_count]: the bone that carries the node, or PELT_NO_BONE */
    const uint32_t *elements;   /* [element_count][nodes_per_element]; corners first, of positive volume, that is
                                             det(x1 - x0, x2 - x0, x3 - x0) > 0; then the middles of the edges
                                             01 12 20 03 13 23, on straight edges */
    const pelt_solid_material *materials; /* [element_count] */
    pelt_solid_law law;

    /* The skin: vertices inside elements, by barycentric coordinates of the four corners. May be absent. */
    uint32_t vertex_count, triangle_count;
    const uint32_t *vertex_elements;   /* [vertex_count] */
    const double *vertex_barycentrics; /* [vertex_count][4] */
    const uint32_t *triangles;         /* [triangle_count][3]: for the sheet and contact */
    double skin_young, skin_thickness; /* of the skin as a sheet that stretches and bends (sheet.c); 0: it is none */
} pelt_solid_shape;

/* Turns a shape of linear tetrahedra into one of quadratic ones: nodes in the middles of edges, fixed to a bone where both
   ends are fixed to the same. Memory comes from the arena; fails as its allocations do. */
bool pelt_solid_make_quadratic(pelt_arena *arena, const pelt_solid_shape *linear, pelt_solid_shape *quadratic);

/* Zero is the default everywhere. */
typedef struct pelt_solid_options {
    double tolerance;     /* done when a Newton step moves no node further than this part of the mean edge: 1e-3 */
    uint32_t most_newton; /* Newton steps of one increment before it is halved: 30 */
    double least_step;    /* the least increment, as a fraction of the path: 1/256. Then the pose is out of reach */
    double turn;          /* the largest rotation of a bone in one increment, in degrees: 60 */
    /* The bones on the way, from 0 (where the state is) to 1 (the pose). NULL: every bone on a screw of its own, which
       pulls chains of bones apart when they turn far; who has a skeleton interpolates its local rotations. */
    void (*path)(void *user, double part, pelt_affine *bones);
    void *path_user;
    bool no_contact;        /* skin does not push skin; what is left of penetration is reported all the same */
    uint32_t threads;       /* 0: all */
    pelt_progress progress; /* "flesh"; returning non-zero ends the work: PELT_ERROR_CANCELLED */
} pelt_solid_options;

typedef struct pelt_solid_report {
    double reached;      /* of the path from the start to the pose: 1 is all of it */
    uint32_t worst_bone; /* if not reached: the bone that has most of its turn left */
    uint32_t increments, newton_steps, cg_iterations;
    double residual;  /* the norm of the forces before the last step, of that at the beginning of the last increment */
    double least_det; /* the least det F of all quadrature points */
    double energy;
    uint32_t touching;  /* vertices of the skin that push, or would without no_contact */
    double penetration; /* how deep skin lies in skin that it went through, deeper than at rest; not in creases */
} pelt_solid_report;

/* A solid with all that its poses share: the pattern of the matrix, colours of elements, what contact may ignore. */
typedef struct pelt_solid pelt_solid;

/* Checks the shape and analyses it. Memory is the arena's. PELT_ERROR_DATA: an element is flat or turned inside out, an
   index leads nowhere, a number is not finite, no node is fixed. */
pelt_result pelt_solid_open(pelt_arena *arena, const pelt_solid_shape *shape, const pelt_solid **solid,
                            pelt_error *error);

/* Bytes that pelt_solid_open and one pelt_solid_solve take, roughly; from counts alone, so before there is a lattice.
   sheet_triangles: of skin as a sheet. */
size_t pelt_solid_memory(uint32_t node_count, uint32_t element_count, uint32_t nodes_per_element, uint32_t vertex_count,
                         uint32_t sheet_triangles);

/* A state: where every node is, and where the bones were then. Begins at rest. Belongs to one pose at a time. */
typedef struct pelt_solid_state {
    double *nodes;      /* [node_count][3] */
    pelt_affine *bones; /* [bone_count]: rest to posed, rigid */
} pelt_solid_state;

bool pelt_solid_rest(pelt_arena *arena, const pelt_solid *solid, pelt_solid_state *state);

/* Brings a state to a pose, along options->path. A state that was brought to a
   neighbouring pose is a good start. PELT_OK also where the pose was out of reach: then `reached` is below 1 and the state
   is the last that was in balance. Poses on states of their own may be solved side by side. Bones that are not
   rigid, or not finite, are PELT_ERROR_DATA. On failure the state is what it was. */
pelt_result pelt_solid_solve(const pelt_solid *solid, const pelt_affine *bones, const pelt_solid_options *options,
                             pelt_solid_state *state, pelt_solid_report *report, pelt_error *error);

/* The skin's vertices in a state: [vertex_count][3]. */
void pelt_solid_skin(const pelt_solid *solid, const pelt_solid_state *state, double *positions);

#endif
