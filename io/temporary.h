/* temporary.h: unfinished files and folders. Output grows next to its target as TARGET.tmp-XXXXXX, and takes the
   target's name once it is complete. All unfinished files are listed in a small table, so that a signal handler can
   remove them (pelt_writer_abandon_all); those of killed programs are removed when the same target is written again. */

#ifndef PELT_TEMPORARY_H
#define PELT_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pelt_temporary pelt_temporary;

/* A new empty file, open for writing, or a new empty folder next to the target. NULL with errno set on failure. The
   umask decides the permissions, as for any new file. */
pelt_temporary *pelt_temporary_file(const char *target, int *descriptor);
pelt_temporary *pelt_temporary_folder(const char *target);
/* A new folder whose whole contents are pelt's; private: only its owner may look into it. */
pelt_temporary *pelt_temporary_tree(const char *target, bool private);

const char *pelt_temporary_path(const pelt_temporary *temporary);

/* The name of frame i in a folder of frames, "frame_000007.obj", without its path. */
enum { PELT_FRAME_NAME_SIZE = 24 };
void pelt_frame_name(uint32_t frame, char name[PELT_FRAME_NAME_SIZE]);
bool pelt_is_frame_name(const char *name);

/* A marker file in an unfinished folder: everything in it is pelt's, and is removed if the folder is abandoned. */
#define PELT_ALL_OURS ".pelt-unfinished"

/* Records that the folder may now hold frames 0 to count - 1, so that they are removed with it. */
void pelt_temporary_set_frames(pelt_temporary *temporary, uint32_t count);

/* Writes all bytes, also where that takes several attempts. 0, or -1 with errno set. */
int pelt_write_all(int descriptor, const void *bytes, size_t size);

/* Syncs a descriptor to disk. 0, or -1 with errno set. */
int pelt_sync(int descriptor);

/* Gives the temporary the target's name, and makes the name durable. 0, or -1 with errno set and the temporary removed;
   it leaves the table either way. */
int pelt_temporary_rename(pelt_temporary *temporary, const char *target);
/* The same for a folder that replaces another folder of frames, which is then removed: at any moment one of the two
   exists. */
int pelt_temporary_replace_folder(pelt_temporary *temporary, const char *target);

/* Removes the file, or the folder and its frames. */
void pelt_temporary_remove(pelt_temporary *temporary);

#endif
