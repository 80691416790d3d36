/* volume.h: what flesh is made of: a lattice of tetrahedra around a surface, rigid bones in it, and the skin embedded in it.

   Whether a point is inside is decided by the winding number of the surface around it (Jacobson et al. 2013; the tree of
   dipoles is Barill et al. 2018), so surfaces may be open, cut through themselves and have many parts. A lattice cell holds
   flesh if some of it is inside. Where separate flesh lies in one cell (two fingers side by side), the cell is there once
   for each, with nodes of its own (virtual nodes: Molino et al. 2004), so that nothing sticks together across a gap. */

#ifndef PELT_VOLUME_H
#define PELT_VOLUME_H

#include "rig/rig.h"

/* -- A surface to ask (winding.c) ---------------------------------------------------------------------------------- */

typedef struct pelt_skin_tree pelt_skin_tree;

/* Of the triangles of a mesh except those that are left out (NULL: none is). A surface that is inside out counts as
   turned the right way. Works in a stage. */
const pelt_skin_tree *pelt_skin_tree_of(pelt_arena *arena, const pelt_mesh *mesh, const bool *left_out);

/* Of the surface around a point: 1 inside, 0 outside of a closed one. Off by less than .02; `exact` sums all solid angles. */
double pelt_winding_number(const pelt_skin_tree *tree, const double point[3], bool exact);
/* The distance to the surface. */
double pelt_skin_distance(const pelt_skin_tree *tree, const double point[3]);
/* Whether a straight line stays inside. `winding` is that of p. */
bool pelt_stays_inside(const pelt_skin_tree *tree, const double p[3], const double q[3], double winding);
/* Whether a triangle may reach into a tetrahedron: never false if one does. */
bool pelt_skin_reaches(const pelt_skin_tree *tree, const double corners[4][3]);
/* The volume within, by the divergence theorem: of an open surface, roughly. */
double pelt_skin_volume(const pelt_skin_tree *tree);

/* -- Bones (bones.c) ------------------------------------------------------------------------------------------------- */

/* A capsule that moves with a joint, or a surface with a capsule of its length and volume. */
typedef struct pelt_flesh_bone {
    uint32_t joint;
    double ends[2][3], radius;
    const pelt_skin_tree *shape; /* NULL: a capsule */
} pelt_flesh_bone;

/* Surfaces of bones that somebody made: every connected piece is one. In the space of the character's mesh. */
typedef struct pelt_bone_surfaces {
    const pelt_mesh *mesh;
    const uint32_t *joints; /* [vertex_count] of the character */
} pelt_bone_surfaces;

typedef struct pelt_flesh_bones {
    uint32_t count;
    const pelt_flesh_bone *list;
    uint32_t outside; /* bones that lie outside of the mesh, and are left out */
    uint32_t missed;  /* the joint of one of them */
} pelt_flesh_bones;

/* One from every joint with weights to each of its children, with a radius of .45 of the least distance to the skin and a gap
   at both ends; bones that lead to the end of a limb are lengthened until the skin is near. In the space of the mesh. Works
   in a stage. */
pelt_flesh_bones pelt_flesh_bones_of(pelt_arena *arena, const pelt_bundle *bundle, const pelt_skin_tree *tree);

/* Bones from their surfaces; those that have no corner inside the mesh are left out (given_bones.c). Works in a stage. */
pelt_flesh_bones pelt_flesh_bones_given(pelt_arena *arena, const pelt_bone_surfaces *given, const pelt_skin_tree *tree);

/* -- The lattice (lattice.c, embed.c) -------------------------------------------------------------------------------- */

typedef struct pelt_volume_options {
    double cell;                     /* edge of the lattice's cubes; 0: so that there are about 30,000 tetrahedra */
    const bool *left_out;            /* [triangle_count] what is no flesh: clothes, eyes; NULL: nothing is left out */
    double fat_depth;                /* below the skin, flesh is this deep fat; 0: none is */
    const float *stiffness;          /* [vertex_count] of the flesh below, above 0; NULL: 1 */
    const pelt_bone_surfaces *bones; /* NULL: as pelt_flesh_bones_of finds them */
    uint32_t threads;                /* 0: all */
} pelt_volume_options;

typedef struct pelt_volume {
    double cell;
    uint32_t node_count, element_count;
    double *nodes;       /* [node_count][3] at rest */
    int32_t *node_bones; /* [node_count] which bone carries it; -1: none does */
    uint32_t *elements;  /* [element_count][4], of positive volume */
    double *fractions;   /* [element_count] how much of it is inside, above 0, up to 1 */
    double *fat;         /* [element_count] share of it that is fat, 0 to 1 */
    double *stiffness;   /* [element_count] that of the nearest vertex */
    pelt_flesh_bones bones;
    uint32_t skin_count, triangle_count; /* without what is left out */
    uint32_t *skin;                      /* [skin_count] vertices of the mesh */
    uint32_t *triangles;                 /* [triangle_count][3] places in `skin` */
    uint32_t *skin_elements;             /* [skin_count] */
    double *skin_barycentrics;           /* [skin_count][4], of the element's corners; a vertex may lie outside of it */
    uint32_t cut, copies;                /* cells that the surface cuts; elements that are there for a second time */
    uint32_t thin;                       /* bones thinner than the lattice, which are wider in it than they are */
    uint32_t bare;                       /* bones that carry no node */
    uint32_t loose;                      /* pieces that no bone lies in: they go with the nearest */
    double volume, mesh_volume;
} pelt_volume;

/* Bytes that building it takes, roughly. */
size_t pelt_volume_memory(const pelt_bundle *bundle, double cell);

/* The edge of cubes that gives about so many tetrahedra. */
double pelt_volume_cell(const pelt_mesh *mesh, double tetrahedra);

/* Builds it. PELT_ERROR_DATA: no skeleton, no triangles, positions that are not finite, no bone inside the mesh;
   PELT_ERROR_MEMORY: the lattice is too fine. The arena owns it. */
pelt_result pelt_volume_build(pelt_arena *arena, const pelt_bundle *bundle, const pelt_volume_options *options,
                              pelt_volume *volume, pelt_error *error);

/* -- Between the files of this room ---------------------------------------------------------------------------------- */

enum { PELT_CELL_SAMPLES = 20 };

/* Cells of the lattice, each with its flesh: samples of the cell in groups that are connected. */
typedef struct pelt_cell {
    uint32_t corners[4];             /* places in the lattice */
    uint8_t groups;                  /* separate pieces of flesh; 0: empty */
    int8_t group[PELT_CELL_SAMPLES]; /* of each sample; -1: outside */
    uint32_t first;                  /* element of its first group */
} pelt_cell;

typedef struct pelt_lattice {
    const pelt_skin_tree *tree;
    double origin[3], cell;
    uint32_t size[3]; /* cubes */
    uint32_t cell_count;
    pelt_cell *cells;
} pelt_lattice;

void pelt_lattice_place(const pelt_lattice *lattice, uint32_t corner, double out[3]);
void pelt_cell_sample(const double corners[4][3], uint32_t sample, double out[3]);
void pelt_cell_corners(const pelt_lattice *lattice, const pelt_cell *cell, double out[4][3]);
void pelt_embed_skin(pelt_arena *arena, const pelt_mesh *mesh, const bool *left_out, const pelt_lattice *lattice,
                     uint32_t threads, pelt_volume *volume);
/* Which bone carries which node: `real` [node_count] are those that lie in flesh themselves. */
void pelt_carry_nodes(const pelt_skin_tree *tree, const bool *real, pelt_arena *arena, uint32_t threads,
                      pelt_volume *volume);

#endif
