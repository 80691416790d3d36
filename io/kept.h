/* kept.h: kept examples (rig/kept.h) as files. */

#ifndef PELT_IO_KEPT_H
#define PELT_IO_KEPT_H

#include "rig/kept.h"

/* Examples that were kept for this character. The arena owns what is read. */
pelt_result pelt_kept_read(pelt_arena *arena, const char *path, const pelt_bundle *bundle, pelt_kept *kept,
                           pelt_error *error);
/* The same for bytes in memory, which must outlive it; `path` is only for messages. */
struct pelt_file;
pelt_result pelt_kept_parse(pelt_arena *arena, const struct pelt_file *file, const char *path,
                            const pelt_bundle *bundle, pelt_kept *kept, pelt_error *error);
pelt_result pelt_kept_write(const char *path, const pelt_bundle *bundle, const pelt_kept *kept, pelt_error *error);

#endif
