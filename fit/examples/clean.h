/* clean.h: bad examples among good ones, and noise. */

#ifndef PELT_CLEAN_H
#define PELT_CLEAN_H

#include "fit/fitting.h"

/* Looks for shapes that do not fit their poses and for noise. If there are any, the fitting gets examples without them,
   of its own copies of bundle and clips, which `arena` owns; and a warning that names them. Otherwise nothing changes. */
pelt_result pelt_clean_examples(pelt_fitting *fitting, pelt_arena *arena, pelt_error *error);

#endif
