/* inside.h: what the files of a solid share. Free nodes are the unknowns; the matrix has a block of 3x3 for every pair
   of free nodes that share an element. */

#ifndef PELT_FLESH_INSIDE_H
#define PELT_FLESH_INSIDE_H

#include "flesh/solid.h"

#define PELT_NOWHERE UINT32_MAX

extern const uint8_t pelt_tetrahedron_edges[6][2]; /* corners; in the order of the nodes in their middles */

/* Terms weight g g^T of the matrix, each over some rows (ties.c). */
typedef struct pelt_ties {
    uint32_t count, *starts, *rows;          /* rows[starts[t] .. starts[t + 1]] of a tie */
    double *vectors, *weights;               /* g, three numbers a row; [count] */
    double *pulls;                           /* [count] weight g p */
    uint32_t *owners, *row_starts, *entries; /* the tie of a place in rows; places of a row */
} pelt_ties;

struct pelt_solid {
    pelt_solid_shape shape;
    uint32_t free_count;
    uint32_t *unknowns;   /* [node_count]: the number of a free node, or PELT_NOWHERE */
    uint32_t *free_nodes; /* [free_count] */
    double *slopes;       /* [element_count][4][3]: gradients of barycentric coordinates */
    double *volumes;      /* [element_count], times the fraction that is flesh */
    double edge;          /* the mean length of the elements' edges */

    uint32_t *row_starts, *columns; /* blocks of the matrix, row by row; columns ascend */
    uint32_t *mirrors;              /* [blocks] the block on the other side of the diagonal */
    uint32_t *places;               /* [element_count][n][n]: blocks that an element adds to, or PELT_NOWHERE */
    uint32_t colour_count, *colour_starts, *by_colour; /* stretches of elements; those of a colour share no free node */

    /* What keeps its volume on average (average.c); none: means.count is 0. */
    pelt_solid_material *materials;   /* [element_count] with what is left of lambda */
    uint32_t *around_starts, *around; /* elements around a node */
    double *hold, *node_volumes;      /* [node_count] Lambda, and a quarter of the elements' volumes */
    pelt_ties means;                  /* of every node; vectors are a state's; rows of a free node are its columns */
    uint8_t *mean_places;             /* [around][4] where corners are in the tie of the node */

    /* Skin as a sheet (sheet.c); none: sheet.count is 0. */
    uint32_t *wings;                    /* [triangle_count][PELT_SHEET_WINGS] */
    struct pelt_sheet_rest *sheet_rest; /* [triangle_count] */
    uint8_t *sheet_places;              /* [triangle_count][PELT_SHEET_WINGS][n] where nodes are in the ties */
    pelt_ties sheet;                    /* vectors are a state's */

    /* For contact (contact_open.c); without triangles there is none of it. */
    double *skin_rest, *vertex_areas;                      /* [vertex_count][3], [vertex_count] */
    double *contact_from;                                  /* [vertex_count] the gap at which it begins */
    double contact_reach, contact_near, contact_stiffness; /* lengths, and force for a length and an area */
    uint32_t *apart_starts, *apart; /* vertices that are near through the air, not through the flesh, ascending */

    uint32_t *carriers;      /* [free_count][PELT_CARRIERS]: the bones that carry a node's first guess */
    double *carrier_weights; /* they sum to 1 */
};

enum { PELT_CARRIERS = 4, PELT_MOST_POINTS = 4, PELT_STRETCH = 32 /* elements of a colour, one after the other */ };

/* Quadrature points of an element: 1 or 4, all of the same weight; gradients of the shape functions there. */
uint32_t pelt_solid_points(const pelt_solid_shape *shape);
void pelt_solid_slopes(const pelt_solid *solid, uint32_t element, uint32_t point,
                       double slopes[PELT_QUADRATIC_NODES][3]);
/* The weights of an element's nodes at barycentric coordinates. */
void pelt_solid_shape_functions(uint32_t nodes_per_element, const double barycentrics[4],
                                double weights[PELT_QUADRATIC_NODES]);

/* The bones that carry the first guess (carry.c). */
void pelt_solid_carry(pelt_arena *arena, pelt_solid *solid);

/* -- Elastic forces (elastic.c) ----------------------------------------------------------------------------------- */

typedef struct pelt_elastic {
    const pelt_solid *solid;
    pelt_arena *arena;
    uint32_t threads;
    bool exact;               /* whether the matrix is left unfiltered */
    double *energies, *least; /* [element_count] */
    double *blocks;           /* [blocks][9] */
    pelt_ties means;          /* what is kept on average */
    double *pressures;        /* [node_count] */
    double *swells;           /* [element_count][4][3]: how moving corners changes volumes */
    pelt_ties sheet;          /* of skin as a sheet */
    double *skin;             /* [vertex_count][3] for it */
} pelt_elastic;

void pelt_elastic_begin(pelt_elastic *e, const pelt_solid *solid, pelt_arena *arena, uint32_t threads);
/* INFINITY if an element is inside out and the law has no energy for that. */
double pelt_elastic_energy(pelt_elastic *e, const double *nodes);
/* Adds to the gradient [free_count][3] and fills in the matrix, filtered unless it is to be exact. */
void pelt_elastic_derivatives(pelt_elastic *e, const double *nodes, double *gradient);
/* The least det F of the last energy. */
double pelt_elastic_least(const pelt_elastic *e);

/* -- Mean dilatation (average.c) ------------------------------------------------------------------------------------- */

void pelt_average_open(pelt_arena *arena, pelt_solid *solid);
void pelt_average_begin(pelt_elastic *e);
/* Of elements whose determinants are in e->least; fills in the pressures. */
double pelt_average_energy(pelt_elastic *e);
/* What is to be added to dW/dJ of an element. */
double pelt_average_pressure(const pelt_elastic *e, uint32_t element);
/* Fills in e->means, from the swells. */
void pelt_average_ties(pelt_elastic *e);

/* -- Skin as a sheet (sheet.c) ---------------------------------------------------------------------------------------- */

enum { PELT_SHEET_WINGS = 6 }; /* corners of a triangle, and those of the triangles beside it */

/* Of a triangle at rest: squares of its sides, angles at them; how the terms of the energy follow from both. */
typedef struct pelt_sheet_rest {
    double squares[3], angles[3], strain[3][3], bend[3][3];
    double weights[6]; /* of the terms; 0: the triangle is flat and left out */
} pelt_sheet_rest;

/* Needs the skin at rest, which contact has. */
void pelt_sheet_open(pelt_arena *arena, pelt_solid *solid);
void pelt_sheet_begin(pelt_elastic *e);
double pelt_sheet_energy(pelt_elastic *e, const double *nodes);
/* Adds to the gradient and fills in e->sheet. */
void pelt_sheet_derivatives(pelt_elastic *e, const double *nodes, double *gradient);

/* -- Ties (ties.c) ---------------------------------------------------------------------------------------------------- */

/* From starts and rows: owners, places by row, memory for pulls. */
void pelt_ties_index(pelt_arena *arena, pelt_ties *ties, uint32_t free_count);
/* The pulls of p; then what they add to a row of the product. */
void pelt_ties_pull(pelt_arena *arena, uint32_t threads, pelt_ties *ties, const double *p);
void pelt_ties_add(const pelt_ties *ties, uint32_t row, double out[3]);
void pelt_ties_add_diagonal(const pelt_ties *ties, uint32_t row, double block[9]);

/* -- Contact (contact.c, contact_open.c) ------------------------------------------------------------------------------ */

/* The triangle that a vertex is nearest to: the gap to it, negative behind it, along a direction from its closest point. */
typedef struct pelt_touch {
    uint32_t triangle; /* PELT_NOWHERE: none is in reach */
    double gap, weight, direction[3], corners[3];
} pelt_touch;

typedef struct pelt_contact {
    const pelt_solid *solid;
    pelt_arena *arena, *indices;
    uint32_t threads, vertex_count;    /* 0: there is no contact */
    double *skin, *normals, *faces;    /* vertices, normals of vertices (not of unit length) and of triangles */
    double *held_normals, *held_faces; /* those that weights are from */
    double *held_skin, *depths;        /* of the last look: vertices, and how deep they were in skin that they touch */
    pelt_touch *touches;               /* [vertex_count] */
    pelt_ties ties;
} pelt_contact;

/* Triangles by the cells that they reach, `within` wider than they are; cells share buckets. */
typedef struct pelt_skin_grid {
    double cell;
    uint32_t mask, *starts, *triangles;
} pelt_skin_grid;

pelt_skin_grid pelt_skin_grid_of(pelt_arena *arena, const pelt_solid_shape *shape, const double *skin, double within);
/* The bucket that has all triangles within that distance of a point. */
uint32_t pelt_skin_grid_bucket(const pelt_skin_grid *grid, const double point[3]);

void pelt_contact_open(pelt_arena *arena, pelt_solid *solid);
void pelt_contact_begin(pelt_contact *c, const pelt_solid *solid, pelt_arena *arena, uint32_t threads);
void pelt_contact_normals(pelt_contact *c, const double *nodes);
/* Begins from a state in balance, where nothing is deep in skin. */
void pelt_contact_start(pelt_contact *c, const double *nodes);
/* Finds what every vertex touches, and holds the weights. */
void pelt_contact_look(pelt_contact *c, const double *nodes);
/* By the weights of the last look. */
double pelt_contact_energy(pelt_contact *c, const double *nodes);
/* Looks, adds to the gradient and fills in the ties; the energy. */
double pelt_contact_derivatives(pelt_contact *c, const double *nodes, double *gradient);
/* Of the last look: how deep skin is in skin, deeper than at rest, and how many vertices push. */
double pelt_contact_depth(const pelt_contact *c, uint32_t *count);

/* -- Linear systems (conjugate.c) ---------------------------------------------------------------------------------- */

typedef struct pelt_conjugate {
    pelt_elastic *elastic;
    pelt_ties *contacts;
    double *x;                       /* the solution: [free_count][3] */
    double *r, *z, *p, *q, *inverse; /* inverse: of the diagonal blocks */
    double *parts;                   /* sums over stretches of rows */
    float *rows, *swells;            /* [blocks][3][4]: of the matrix and of means; [blocks][4]: of means */
    float *single, *pulled;          /* [free_count][4]: p; p and the pull of the node's mean */
    pelt_ties anchored;              /* the means of nodes on bones */
    bool indefinite;                 /* the last matrix was */
} pelt_conjugate;

void pelt_conjugate_begin(pelt_conjugate *c, pelt_elastic *elastic, pelt_ties *contacts);
/* Solves H x = -gradient until the residual is this part of the gradient; returns the number of iterations. Where H turns out
   to curve down along a direction, x goes on along it and that is all. */
uint32_t pelt_conjugate_solve(pelt_conjugate *c, const double *gradient, double tolerance);

#endif
