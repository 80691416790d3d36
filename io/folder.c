/* folder.c: what is there, and folders. */

#include "io/io.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool pelt_file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

pelt_result pelt_folder_make(const char *path, pelt_error *error) {
    if (!mkdir(path, 0777) || errno == EEXIST) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_FILE, "%s: the folder cannot be made: %s", path, strerror(errno));
}
