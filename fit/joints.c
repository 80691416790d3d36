#include "fit/blend.h"
pelt_result pelt_fit_joints(pelt_fitting *f, pelt_error *error) { return pelt_fit_weights(f, error); }
