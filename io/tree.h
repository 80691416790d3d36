/* tree.h: folder trees: one that appears whole or not at all, and a private temporary one. */

#ifndef PELT_TREE_H
#define PELT_TREE_H

#include "rig/rig.h"

/* Grows next to its target as TARGET.tmp-XXXXXX. The target must not exist, or must be an empty folder. */
typedef struct pelt_tree pelt_tree;
pelt_tree *pelt_tree_open(const char *target, pelt_error *error);
/* A file with this name, "data/c0/mesh.bin"; creates its folders. */
pelt_result pelt_tree_put(pelt_tree *tree, const char *name, const void *bytes, size_t size, pelt_error *error);
/* Both end the tree. */
pelt_result pelt_tree_commit(pelt_tree *tree, pelt_error *error);
void pelt_tree_drop(pelt_tree *tree);

/* A new folder in TMPDIR that only its owner can access; its path is from malloc. NULL after an error. */
char *pelt_private_folder(pelt_error *error);
/* Removes a folder and everything in it; links are not followed. */
void pelt_folder_remove(const char *path);

#endif
