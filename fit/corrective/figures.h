/* figures.h: what the fit of a corrective says about itself, whatever the method: how well conditioned it was, how
   often the blend was too flat to invert, how far it can ever displace a vertex, what storing it costs. */

#ifndef PELT_FIGURES_H
#define PELT_FIGURES_H

#include "rig/rig.h"

struct pelt_fitting;

#define PELT_REST_EXAMPLE UINT32_MAX

/* The condition of the matrix that was inverted, or of the worst one where there are several. */
typedef struct pelt_condition {
    double value;        /* largest over smallest eigenvalue; 0: nothing was inverted */
    double median;       /* over the vertices, where each has a matrix of its own; otherwise 0 */
    const char *where;   /* "vertex 12", the name of a joint; NULL: there is one matrix */
    uint32_t closest[2]; /* the two closest examples in it; PELT_REST_EXAMPLE: the rest pose */
    double distance;     /* between them, as the method measures it: radians, joints weighted by what they move;
                            INFINITY when there are no two */
} pelt_condition;

typedef struct pelt_figures {
    pelt_condition condition;
    uint64_t damped;        /* (example, point) pairs whose blend is nearly singular */
    uint32_t damped_points; /* points of these pairs */
    double bound;           /* no pose displaces a vertex further than this */
    double storage_error;   /* the largest error that 16-bit storage makes at the examples; 0 when it is not used */
} pelt_figures;

/* Above 2^22 a condition is bad. The run time computes the rows of the matrix in floats, which keep 24 bits: what they
   lose is then more than a quarter of the smallest eigenvalue, and so much of what tells the closest examples apart. */
#define PELT_WORST_CONDITION 4194304.0

/* The 2-norm condition of a symmetric matrix, which is destroyed; INFINITY when it is singular or memory is out. */
double pelt_condition_of(size_t n, double *matrix);

/* Notes the condition, and warns where it is bad. */
void pelt_note_condition(struct pelt_fitting *fitting, const pelt_condition *condition);

/* "train:12", or "the rest pose". */
const char *pelt_example_name(struct pelt_fitting *fitting, uint32_t example);

/* All that the fit of the corrective found, its method's details and these figures: a JSON object as text, in the
   arena. NULL when memory is out. */
const char *pelt_figures_text(struct pelt_fitting *fitting);

#endif
