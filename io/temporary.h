/* temporary.h: unfinished files and folders. What is written grows beside its target under a name of its own,
   TARGET.tmp-XXXXXX, and takes the target's name when it is whole. All unfinished ones stand in a small table, so that
   a signal handler can remove them (pelt_writer_abandon_all); those of programs that were killed are removed when the
   same target is written again. */

#ifndef PELT_TEMPORARY_H
#define PELT_TEMPORARY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pelt_temporary pelt_temporary;

/* A new empty file, open for writing, or a new empty folder beside the target. NULL, with errno set, when it cannot be
   made. Permissions are those of any new file: what the umask allows. */
pelt_temporary *pelt_temporary_file(const char *target, int *descriptor);
pelt_temporary *pelt_temporary_folder(const char *target);

const char *pelt_temporary_path(const pelt_temporary *temporary);

/* The name of frame i in a folder of frames, "frame_000007.obj", without its path. */
enum { PELT_FRAME_NAME_SIZE = 24 };
void pelt_frame_name(uint32_t frame, char name[PELT_FRAME_NAME_SIZE]);
bool pelt_is_frame_name(const char *name);
/* Removes the frames in a folder, and the folder if nothing else is in it. */
void pelt_frames_remove(const char *path);

/* A file in an unfinished folder that says: whatever else is in here, it is pelt's, and goes when the folder is left behind. */
#define PELT_ALL_OURS ".pelt-unfinished"

/* Tells that the folder may now hold the frames 0 to count - 1, so that they are removed with it. */
void pelt_temporary_set_frames(pelt_temporary *temporary, uint32_t count);

/* What was written through a descriptor is on the disk. 0, or -1 with errno set. */
int pelt_sync(int descriptor);

/* Gives the temporary the target's name, and makes the name durable. 0, or -1 with errno set and no temporary left; it
   is forgotten either way. */
int pelt_temporary_rename(pelt_temporary *temporary, const char *target);
/* The same for a folder in the place of another one with frames, which is then removed: at any moment one of the two is
   there. */
int pelt_temporary_replace_folder(pelt_temporary *temporary, const char *target);

/* Removes the file, or the folder and its frames. */
void pelt_temporary_remove(pelt_temporary *temporary);

/* Leaves the file or folder where it is, and forgets it. */
void pelt_temporary_forget(pelt_temporary *temporary);

#endif
