/* flesh.h: shared by the files of `pelt flesh`. */

#ifndef PELT_CLI_FLESH_H
#define PELT_CLI_FLESH_H

#include "cli/cli.h"
#include "flesh/volume.h"

/* Draws the bones and the lattice of a body, cut open, as a PNG (flesh_show.c). */
pelt_result flesh_show(const pelt_bundle *bundle, const pelt_volume *volume, const char *path, pelt_error *error);

/* Bones as meshes (flesh_bones.c). The mesh of their capsules; false: out of memory. */
bool flesh_bone_mesh(pelt_arena *arena, const pelt_flesh_bones *bones, pelt_mesh *mesh);
pelt_result flesh_save_bones(const pelt_bundle *bundle, const pelt_flesh_bones *bones, const char *path,
                             pelt_error *error);
/* The surfaces of a file of bones, in the space of the character. Changes that bundle, which owns them. False after a
   message. */
bool flesh_read_bones(const pelt_bundle *character, pelt_bundle *bones, pelt_bone_surfaces *surfaces);

/* A clip to make: which of the poses are in it. */
typedef struct flesh_clip {
    const char *name;
    size_t first, count;
} flesh_clip;

typedef struct flesh_order {
    pelt_bundle *bundle; /* its clips make way for those of the flesh */
    const pelt_volume *volume;
    const char *output;
    double fat;              /* its stiffness; that of muscle is 1 */
    double poisson;          /* its ratio, below .5 */
    double skin, skin_depth; /* stiffness and thickness of a sheet on the flesh; 0: there is none */
    bool no_contact, resume;
    size_t frame_count;
    const pelt_transform *poses; /* [frame_count][joint] */
    size_t clip_count;
    const flesh_clip *clips;
    pelt_examples truth; /* of every frame, to compare with; none: there is nothing to */
} flesh_order;

/* Solves the poses and writes them as examples; the exit code (flesh_run.c). */
int flesh_run(const cli_args *args, const flesh_order *order, json_t *figures);

/* How far the shapes [frame][vertex][3] that were reached are from the truth, in words and as JSON (flesh_against.c). */
json_t *flesh_compare(const cli_args *args, const flesh_order *order, const float *shapes, const bool *reached);

#endif
