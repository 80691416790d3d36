/* journal.h: checkpoints of work that takes long. */

#ifndef PELT_IO_JOURNAL_H
#define PELT_IO_JOURNAL_H

#include "rig/rig.h"

typedef struct pelt_journal_file pelt_journal_file;

/* From now on results of divided loops (rig/ranks.h) are kept in this file, and taken from it if it exists. NULL with an
   error, also if it belongs to other work: options or files were noted that are not the same. The arena owns it. */
pelt_journal_file *pelt_journal_open(pelt_arena *arena, const char *path, pelt_error *error);
/* The file stays. */
void pelt_journal_close(pelt_journal_file *file);
/* Removes the file, which was closed: its work is done. */
void pelt_journal_remove(const pelt_journal_file *file);

#endif
