/* flesh_bones.c: pelt flesh --bones and --save-bones: bones as meshes in a glTF file, bound to joints of the same names. */

#include "cli/flesh.h"
#include "io/io.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

/* -- Capsules as triangles ------------------------------------------------------------------------------------------- */

enum { SIDES = 12, CAPS = 4 };

/* A point of a capsule: ring 0 to 2 CAPS + 1 from pole to pole. */
static void capsule_point(const pelt_flesh_bone *bone, int ring, int side, double out[3]) {
    double along[3], u[3] = {0}, v[3], turn = 2 * M_PI * side / SIDES;
    int least = 0, half = ring > CAPS, step = half ? ring - 1 : ring;
    double length = pelt_distance(bone->ends[0], bone->ends[1]), angle = M_PI * step / (2 * CAPS);
    for (int k = 0; k < 3; k++) along[k] = length > 0 ? (bone->ends[1][k] - bone->ends[0][k]) / length : k == 0;
    for (int k = 1; k < 3; k++)
        if (fabs(along[k]) < fabs(along[least])) least = k;
    u[least] = 1;
    pelt_cross(along, u, v);
    double scale = pelt_length(v);
    for (int k = 0; k < 3; k++) v[k] /= scale;
    pelt_cross(v, along, u);
    for (int k = 0; k < 3; k++)
        out[k] = bone->ends[half][k] +
                 bone->radius * (-cos(angle) * along[k] + sin(angle) * (cos(turn) * u[k] + sin(turn) * v[k]));
}

enum { RINGS = 2 * CAPS + 2, BONE_VERTICES = RINGS * SIDES, BONE_TRIANGLES = 2 * SIDES * (RINGS - 1) };

bool flesh_bone_mesh(pelt_arena *arena, const pelt_flesh_bones *bones, pelt_mesh *mesh) {
    size_t n = bones->count * (size_t)BONE_VERTICES;
    *mesh = (pelt_mesh){.vertex_count = (uint32_t)n, .triangle_count = bones->count * BONE_TRIANGLES};
    mesh->positions = PELT_NEW(arena, 3 * n, float), mesh->normals = PELT_NEW(arena, 3 * n, float);
    mesh->triangles = PELT_NEW(arena, 3 * (size_t)mesh->triangle_count, uint32_t);
    mesh->influences.first = PELT_NEW(arena, n + 1, uint32_t), mesh->influences.joints = PELT_NEW(arena, n, uint32_t);
    mesh->influences.weights = PELT_NEW(arena, n, float);
    if (pelt_arena_failed(arena)) return false;
    uint32_t *t = mesh->triangles;
    for (uint32_t i = 0; i < n; i++) {
        const pelt_flesh_bone *bone = &bones->list[i / BONE_VERTICES];
        int ring = (int)(i % BONE_VERTICES) / SIDES, side = (int)i % SIDES;
        double p[3];
        capsule_point(bone, ring, side, p);
        for (size_t k = 0; k < 3; k++) {
            const double *end = bone->ends[ring > CAPS];
            mesh->positions[3 * (size_t)i + k] = (float)p[k];
            mesh->normals[3 * (size_t)i + k] = (float)((p[k] - end[k]) / bone->radius);
        }
        mesh->influences.first[i + 1] = i + 1, mesh->influences.joints[i] = bone->joint,
                                   mesh->influences.weights[i] = 1;
        uint32_t next = side + 1 < SIDES ? i + 1 : i + 1 - SIDES;
        if (ring == RINGS - 1) continue;
        *t++ = i, *t++ = i + SIDES, *t++ = next;
        *t++ = next, *t++ = i + SIDES, *t++ = next + SIDES;
    }
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, mesh->vertex_count);
    return true;
}

pelt_result flesh_save_bones(const pelt_bundle *bundle, const pelt_flesh_bones *bones, const char *path,
                             pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_mesh mesh;
    if (!flesh_bone_mesh(arena, bones, &mesh)) return pelt_no_memory(error);
    pelt_gltf_content content = {
        .mesh = &mesh, .skeleton = &bundle->skeleton, .name = "bones", .color = {0.9f, 0.86f, 0.75f, 1}};
    return pelt_gltf_write(path, &content, error);
}

/* -- Bones from a file ------------------------------------------------------------------------------------------------ */

static uint32_t heaviest(const pelt_influences *in, uint32_t vertex) {
    uint32_t best = in->first[vertex];
    for (uint32_t i = best; i < in->first[vertex + 1]; i++)
        if (in->weights[i] > in->weights[best]) best = i;
    return in->joints[best];
}

/* The character's joint for a joint of the bones' file, or for the nearest above it that it has; their number: none. */
static uint32_t joint_for(const pelt_bundle *character, const pelt_bundle *bones, uint32_t joint, int32_t *found) {
    uint32_t none = character->skeleton.joint_count;
    for (*found = (int32_t)joint; *found >= 0; *found = bones->skeleton.parents[*found]) {
        uint32_t j = pelt_joint_named(&character->skeleton, bones->skeleton.names[*found], (uint32_t)*found);
        if (j < none) return j;
    }
    return none;
}

/* Places in one file's joint are the same in the other's. */
static pelt_affine between_files(const pelt_bundle *character, const pelt_bundle *bones, uint32_t joint,
                                 int32_t theirs) {
    pelt_affine in, out;
    memcpy(in.m, character->skeleton.inverse_bind[joint], sizeof in.m);
    pelt_affine_invert(&in, &out);
    memcpy(in.m, bones->skeleton.inverse_bind[theirs], sizeof in.m);
    return pelt_affine_multiply(&out, &in);
}

bool flesh_read_bones(const pelt_bundle *character, pelt_bundle *bones, pelt_bone_surfaces *surfaces) {
    pelt_mesh *mesh = &bones->mesh;
    if (!mesh->triangle_count)
        return cli_fail("%s: has no mesh; --bones needs a mesh for each bone", bones->path), false;
    if (!mesh->influences.first || !bones->skeleton.joint_count)
        return cli_fail("%s: its meshes belong to no joint; parent each bone to a joint of %s", bones->path,
                        character->path),
               false;
    uint32_t *joints = PELT_NEW(bones->arena, mesh->vertex_count, uint32_t);
    if (!joints) return cli_fail("not enough memory"), false;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        int32_t theirs;
        double p[3];
        float *x = mesh->positions + 3 * (size_t)v;
        if (mesh->influences.first[v] == mesh->influences.first[v + 1])
            return cli_fail("%s: vertex %u has no weights; parent each bone to a joint", bones->path, v), false;
        uint32_t own = heaviest(&mesh->influences, v), joint = joint_for(character, bones, own, &theirs);
        if (joint == character->skeleton.joint_count)
            return cli_fail(
                       "%s: a bone belongs to joint \"%s\", but %s has no joint of that name or of any name above it",
                       bones->path, bones->skeleton.names[own], character->path),
                   false;
        pelt_affine map = between_files(character, bones, joint, theirs);
        pelt_affine_point(&map, (double[3]){x[0], x[1], x[2]}, p);
        for (int k = 0; k < 3; k++) x[k] = (float)p[k];
        joints[v] = joint;
    }
    *surfaces = (pelt_bone_surfaces){mesh, joints};
    return true;
}
