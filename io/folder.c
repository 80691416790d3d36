/* folder.c: existence checks, making folders, removing files. */

#include "io/io.h"
#include "rig/ranks.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pelt_file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

pelt_result pelt_folder_make(const char *path, pelt_error *error) {
    if (!mkdir(path, 0777) || errno == EEXIST) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot create the folder: %s", path, strerror(errno));
}

pelt_result pelt_file_remove(const char *path, pelt_error *error) {
    if (!pelt_rank_writes() || !unlink(path) || errno == ENOENT) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be removed: %s", path, strerror(errno));
}
