/* correctives.h: the ways to fit a corrective, and what they share. */

#ifndef PELT_CORRECTIVES_H
#define PELT_CORRECTIVES_H

#include "fit/fitting.h"

/* The stage of a fit: fills in fitting->model.corrective as options.corrective says (correctives.c). */
pelt_result pelt_fit_corrective(pelt_fitting *fitting, pelt_error *error);

/* The ways. Each leaves model.corrective NULL when there is nothing to correct. */
pelt_result pelt_fit_psd(pelt_fitting *fitting, pelt_error *error);
pelt_result pelt_fit_wpsd(pelt_fitting *fitting, pelt_error *error);
pelt_result pelt_fit_eigenskin(pelt_fitting *fitting, pelt_error *error);
pelt_result pelt_fit_kernel(pelt_fitting *fitting, pelt_error *error);

/* Refuses more examples than a corrective takes, and says which of them to take instead. */
pelt_result pelt_refuse_count(const pelt_fitting *fitting, size_t count, const char *what, uint32_t most,
                              pelt_error *error);

#endif
