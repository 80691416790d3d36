/* law.h: the energy of a deformation gradient, its gradient and its filtered Hessian. */

#ifndef PELT_LAW_H
#define PELT_LAW_H

#include "flesh/solid.h"

/* F = U diag(s) V^T, and what the Hessian is in that frame: entries D for dF_ij with itself, `straight` for pairs
   (ii, kk), `crossed` for pairs (ij, ji). */
typedef struct pelt_law_frame {
    double u[9], v[9]; /* row-major */
    double same[9], straight[9], crossed[9];
} pelt_law_frame;

/* Energy of a unit volume, 0 at rest. Where F turns the element inside out, the volumetric law has none: INFINITY. */
double pelt_law_energy(pelt_solid_law law, const pelt_solid_material *material, const double f[9]);

/* The gradient dW/dF (row-major), with a pressure that is added to dW/dJ; returns the determinant of F. */
double pelt_law_gradient(pelt_solid_law law, const pelt_solid_material *material, const double f[9], double pressure,
                         double out[9]);

/* The Hessian in the frame of F, its negative eigenvalues replaced by 0 unless it is to be exact. det F must be positive,
   except by the stable law. */
void pelt_law_hessian(pelt_solid_law law, const pelt_solid_material *material, const double f[9], double pressure,
                      bool exact, pelt_law_frame *frame);

#endif
