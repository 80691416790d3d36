/* carried.c: normals as players carry them. Surfaces that are scaled turn their normals by the inverse transpose of the
   matrix, and skins do so; but three.js, like most engines, moves normals by A, the matrix of positions. glTF has nothing
   to tell it otherwise, except that morph targets change normals before they are moved: so the normal n of the skin is
   shown where the rest normal is

       A^-1 n / |A^-1 n|

   which depends on the pose, and becomes targets with tracks like a corrective (playable.c). */

#include "plain/carried.h"
#include "rig/maths.h"

bool pelt_scales_normals(const pelt_model *model) {
    for (uint32_t i = 0; i < model->driven_count; i++)
        if (model->driven[i].kind == PELT_DRIVEN_BULGE || model->driven[i].kind == PELT_DRIVEN_DENT) return true;
    return false;
}

void pelt_carried_change(const double linear[9], const float posed[3], const float rest[3], float change[3]) {
    pelt_affine a = pelt_identity, inverse;
    double u[3] = {0}, length;
    for (int i = 0; i < 9; i++) a.m[4 * (i / 3) + i % 3] = linear[i];
    if (pelt_affine_invert(&a, &inverse))
        for (int i = 0; i < 9; i++) u[i / 3] += inverse.m[4 * (i / 3) + i % 3] * posed[i % 3];
    length = pelt_length(u);
    for (int c = 0; c < 3; c++) change[c] = length > 0 ? (float)(u[c] / length - rest[c]) : 0;
}
