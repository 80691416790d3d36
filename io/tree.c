/* tree.c: folders with files below them. */

#define _GNU_SOURCE /* nftw */
#include "io/tree.h"
#include "io/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pelt_tree {
    char *target; /* without a trailing slash */
    pelt_temporary *temporary;
};

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    remove(path);
    return 0;
}

void pelt_folder_remove(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

char *pelt_private_folder(pelt_error *error) {
    const char *root = getenv("TMPDIR");
    size_t size = strlen(root && *root ? root : "/tmp") + 32;
    char *path = malloc(size);
    if (!path) return pelt_no_memory(error), NULL;
    snprintf(path, size, "%s/pelt-view-XXXXXX", root && *root ? root : "/tmp");
    if (mkdtemp(path)) return path; /* accessible to its owner only */
    pelt_fail(error, PELT_ERROR_FILE, "%s: cannot create a temporary folder: %s", path, strerror(errno));
    free(path);
    return NULL;
}

static pelt_result fail(const char *path, pelt_error *error) {
    return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be written: %s", path, strerror(errno));
}

pelt_tree *pelt_tree_open(const char *target, pelt_error *error) {
    struct stat status;
    pelt_tree *tree = calloc(1, sizeof *tree);
    if (tree) tree->target = strdup(target);
    if (!tree || !tree->target) return free(tree), pelt_no_memory(error), NULL;
    for (size_t n = strlen(target); n > 1 && target[n - 1] == '/'; n--) tree->target[n - 1] = 0;
    if (!lstat(tree->target, &status) && (!S_ISDIR(status.st_mode) || rmdir(tree->target))) {
        pelt_fail(error, PELT_ERROR_FILE, "%s: already exists; name a new folder, or remove it first", target);
    } else {
        tree->temporary = pelt_temporary_folder(tree->target);
        if (!tree->temporary)
            fail(target, error);
        else if (pelt_tree_put(tree, PELT_ALL_OURS, "", 0, error))
            return pelt_tree_drop(tree), NULL;
        else
            return tree;
    }
    free(tree->target), free(tree);
    return NULL;
}

/* Creates the folders of a name in turn. */
static int make_folders(char *path, size_t from) {
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int made = mkdir(path, 0777) && errno != EEXIST ? -1 : 0;
        *slash = '/';
        if (made) return -1;
    }
    return 0;
}

static int write_all(int descriptor, const char *bytes, size_t size) {
    while (size) {
        ssize_t written = write(descriptor, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return -1;
        bytes += written, size -= (size_t)written;
    }
    return 0;
}

pelt_result pelt_tree_put(pelt_tree *tree, const char *name, const void *bytes, size_t size, pelt_error *error) {
    const char *root = pelt_temporary_path(tree->temporary);
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", root, name) >= PATH_MAX)
        return pelt_fail(error, PELT_ERROR_FILE, "%s/%s: the name is too long", tree->target, name);
    if (make_folders(path, strlen(root) + 1)) return fail(path, error);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return fail(path, error);
    int failed = write_all(descriptor, bytes, size), reason = errno;
    if (!failed && pelt_sync(descriptor)) failed = -1, reason = errno;
    if (close(descriptor) && !failed) failed = -1, reason = errno;
    errno = reason;
    return failed ? fail(path, error) : PELT_OK;
}

static void end(pelt_tree *tree) { free(tree->target), free(tree); }

pelt_result pelt_tree_commit(pelt_tree *tree, pelt_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" PELT_ALL_OURS, pelt_temporary_path(tree->temporary));
    unlink(path);
    *strrchr(path, '/') = 0;
    pelt_result result = PELT_OK;
    if (pelt_temporary_rename(tree->temporary, tree->target)) {
        result = fail(tree->target, error);
        pelt_folder_remove(path);
    }
    end(tree);
    return result;
}

void pelt_tree_drop(pelt_tree *tree) {
    if (!tree) return;
    pelt_folder_remove(pelt_temporary_path(tree->temporary));
    pelt_temporary_remove(tree->temporary);
    end(tree);
}
