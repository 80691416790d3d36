/* correctives.h: the corrective methods, and what they share. */

#ifndef PELT_CORRECTIVES_H
#define PELT_CORRECTIVES_H

#include "fit/fitting.h"

/* The corrective stage of a fit: sets fitting->model.corrective according to options.corrective (correctives.c). */
pelt_result pelt_fit_corrective(pelt_fitting *fitting, pelt_error *error);

/* The methods. Each leaves model.corrective NULL when there is nothing to correct. */
pelt_result pelt_fit_psd(pelt_fitting *fitting, pelt_error *error);
pelt_result pelt_fit_wpsd(pelt_fitting *fitting, pelt_error *error);
pelt_result pelt_fit_eigenskin(pelt_fitting *fitting, pelt_error *error);
pelt_result pelt_fit_kernel(pelt_fitting *fitting, pelt_error *error);

/* Refuses more examples than a corrective can take, and suggests a subset. */
pelt_result pelt_refuse_count(const pelt_fitting *fitting, size_t count, const char *what, uint32_t most,
                              pelt_error *error);

#endif
