/* tree.c: folders with files below them. */

#include "io/tree.h"
#include "io/temporary.h"
#include <errno.h>
#include <fcntl.h>
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

char *pelt_private_folder(pelt_error *error) {
    const char *root = getenv("TMPDIR");
    char target[PATH_MAX];
    snprintf(target, sizeof target, "%s/pelt-view", root && *root ? root : "/tmp");
    const pelt_temporary *made = pelt_temporary_tree(target, true);
    if (!made)
        return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot create a temporary folder: %s", target, strerror(errno)),
               NULL;
    char *path = strdup(pelt_temporary_path(made));
    if (path) return path;
    pelt_folder_remove(pelt_temporary_path(made));
    return pelt_no_memory(error), NULL;
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
        tree->temporary = pelt_temporary_tree(tree->target, false);
        if (tree->temporary) return tree;
        fail(target, error);
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

pelt_result pelt_tree_put(pelt_tree *tree, const char *name, const void *bytes, size_t size, pelt_error *error) {
    const char *root = pelt_temporary_path(tree->temporary);
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", root, name) >= PATH_MAX)
        return pelt_fail(error, PELT_ERROR_FILE, "%s/%s: the name is too long", tree->target, name);
    if (make_folders(path, strlen(root) + 1)) return fail(path, error);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return fail(path, error);
    int failed = pelt_write_all(descriptor, bytes, size), reason = errno;
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
    pelt_result result = pelt_temporary_rename(tree->temporary, tree->target) ? fail(tree->target, error) : PELT_OK;
    end(tree);
    return result;
}

void pelt_tree_drop(pelt_tree *tree) {
    if (!tree) return;
    pelt_temporary_remove(tree->temporary);
    end(tree);
}
