/* eigenskin.c: EigenSkin (Kry, James & Pai 2002), in the order of its section 2:

       v_i = S_i( v_i0 + sum_{j in J_i} sum_{k <= n_j} a_jk(p) u_i^jk )

   displacements of the rest pose (displacement.c), joint supports and eigendisplacements (eigenbasis.c), coordinates
   (coordinates.c), and, beyond the paper, what examples that move several joints can teach (coupling.c). */

#include "fit/eigenskin.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXAMPLES = 2000 };
static const double SUPPORT_THRESHOLD = 0.04; /* of the largest displacement, as in the paper */
static const double WIDTH = 1.4;              /* radians: where nothing in the data says more */

typedef struct eigen_fit {
    pelt_fitting *f;
    pelt_poses poses;
    pelt_example_displacements u;
    pelt_supports supports;
    pelt_eigen_basis basis;
    pelt_coordinates *coordinates; /* [joint] */
    double width;
    pelt_entry *entries;
    size_t entry_count;
    pelt_corrective *corrective;
    pelt_eigen_pairs pairs;
} eigen_fit;

static pelt_result check_examples(const pelt_fitting *f, pelt_error *error) {
    if (f->examples.count > MOST_EXAMPLES)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%zu examples are more than EigenSkin takes (%d): give fewer clips, or every n-th frame",
                         f->examples.count, MOST_EXAMPLES);
    return PELT_OK;
}

/* Entries of all joints: an eigendisplacement times the mask of its support. */
static pelt_result make_entries(eigen_fit *e) {
    pelt_arena *arena = e->f->arena;
    size_t total = 0, most = 0;
    for (uint32_t j = 0; j < e->basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &e->basis.joints[j];
        total += (size_t)joint->kept * joint->point_count;
        if (joint->point_count > most) most = joint->point_count;
    }
    e->entries = PELT_NEW(arena, pelt_entry, total);
    float *shape = malloc(3 * (most + 1) * sizeof *shape);
    if (!e->entries || !shape) return free(shape), PELT_ERROR_MEMORY;
    uint32_t coefficient = 0;
    for (uint32_t j = 0; j < e->basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &e->basis.joints[j];
        for (uint32_t k = 0; k < joint->kept; k++, coefficient++) {
            pelt_eigendisplacement(joint, &e->u, k, shape);
            for (uint32_t i = 0; i < joint->point_count; i++) {
                pelt_entry *entry = &e->entries[e->entry_count++];
                *entry = (pelt_entry){.point = joint->points[i], .coefficient = coefficient};
                for (int c = 0; c < 3; c++) entry->position[c] = joint->mask[i] * shape[3 * (size_t)i + (size_t)c];
            }
        }
    }
    free(shape);
    return PELT_OK;
}

/* The linear normal corrections of section 2: the changes of normals that go with the same coordinates, N v_k / s_k. */
static pelt_result correct_normals(eigen_fit *e) {
    uint32_t coefficient_count = pelt_corrective_coefficient_count(e->corrective);
    const float *normals = pelt_normal_displacements_of(e->f);
    double *weights = PELT_NEW(e->f->arena, double, (size_t)coefficient_count * e->u.example_count);
    if (!normals || !weights) return PELT_ERROR_MEMORY;
    size_t row = 0;
    for (uint32_t j = 0; j < e->basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &e->basis.joints[j];
        for (uint32_t k = 0; k < joint->kept; k++, row++)
            for (uint32_t p = 0; p < joint->pose_count; p++)
                weights[row * e->u.example_count + joint->poses[p]] =
                    joint->right[(size_t)k * joint->pose_count + p] / joint->singular[k];
    }
    e->corrective->turns = pelt_gather_turns(e->f->arena, e->corrective->displacements, e->u.vertex_count,
                                             e->u.example_count, normals, weights);
    return e->corrective->turns ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result assemble(eigen_fit *e) {
    pelt_arena *arena = e->f->arena;
    e->corrective = PELT_NEW(arena, pelt_corrective, 1);
    pelt_rbf *rbfs = PELT_NEW(arena, pelt_rbf, e->basis.joint_count);
    if (!e->corrective || !rbfs) return PELT_ERROR_MEMORY;
    e->corrective->rbfs = rbfs;
    for (uint32_t j = 0; j < e->basis.joint_count; j++) {
        if (!e->basis.joints[j].kept) continue;
        pelt_rbf *rbf = &rbfs[e->corrective->rbf_count++];
        if (pelt_eigen_rbf(arena, &e->poses, &e->basis.joints[j], &e->coordinates[j], e->width, rbf))
            return PELT_ERROR_MEMORY;
    }
    e->corrective->displacements = pelt_gather_displacements(arena, &e->u, e->entries, e->entry_count);
    e->f->model.corrective = e->corrective;
    return e->corrective->displacements ? PELT_OK : PELT_ERROR_MEMORY;
}

/* The same corrective with the displacements of pairs behind those of the joints. */
static pelt_result add_pairs(eigen_fit *e) {
    pelt_arena *arena = e->f->arena;
    size_t count = e->entry_count, rbf_count = e->corrective->rbf_count;
    uint32_t coefficient = pelt_corrective_coefficient_count(e->corrective);
    for (uint32_t p = 0; p < e->pairs.pair_count; p++) count += e->pairs.pairs[p].entry_count;
    pelt_entry *entries = PELT_NEW(arena, pelt_entry, count);
    pelt_rbf *rbfs = PELT_NEW(arena, pelt_rbf, rbf_count + e->pairs.pair_count);
    if (!entries || !rbfs) return PELT_ERROR_MEMORY;
    memcpy(entries, e->entries, e->entry_count * sizeof *entries);
    memcpy(rbfs, e->corrective->rbfs, rbf_count * sizeof *rbfs);
    for (uint32_t p = 0; p < e->pairs.pair_count; p++) {
        const pelt_eigen_pair *pair = &e->pairs.pairs[p];
        rbfs[rbf_count++] = pair->rbf;
        for (size_t i = 0; i < pair->entry_count; i++) {
            entries[e->entry_count] = pair->entries[i];
            entries[e->entry_count++].coefficient += coefficient;
        }
        coefficient += pair->rbf.coefficient_count;
    }
    e->entries = entries;
    e->corrective->rbfs = rbfs, e->corrective->rbf_count = (uint32_t)rbf_count;
    e->corrective->displacements = pelt_gather_displacements(arena, &e->u, entries, e->entry_count);
    return e->corrective->displacements ? PELT_OK : PELT_ERROR_MEMORY;
}

static json_t *describe_pairs(eigen_fit *e) {
    json_t *pairs = json_array();
    for (uint32_t p = 0; p < e->pairs.pair_count; p++) {
        const pelt_eigen_pair *pair = &e->pairs.pairs[p];
        const char *a = pelt_driver_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, pair->drivers[0]);
        const char *b = pelt_driver_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, pair->drivers[1]);
        json_array_append_new(pairs, json_pack("{s:s, s:s, s:i, s:i}", "joint", a, "above", b, "support",
                                               (int)(pair->entry_count / pair->rbf.coefficient_count), "kept",
                                               (int)pair->rbf.coefficient_count));
    }
    return pairs;
}

/* Joint by joint, for the report and for people: support, singular values, eigendisplacements kept. */
static pelt_result describe(eigen_fit *e) {
    json_t *joints = json_array();
    for (uint32_t j = 0; j < e->basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &e->basis.joints[j];
        json_t *singular = json_array();
        for (uint32_t k = 0; k < joint->rank && k < 12; k++)
            json_array_append_new(singular, json_real(joint->singular[k]));
        json_array_append_new(
            joints, json_pack("{s:s, s:i, s:i, s:i, s:o}", "joint",
                              pelt_driver_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, joint->driver),
                              "examples", (int)joint->pose_count, "support", (int)joint->point_count, "kept",
                              (int)joint->kept, "singular_values", singular));
    }
    json_t *object = json_pack("{s:f, s:i, s:o, s:o}", "width", e->width, "damped", (int)e->u.damped_points, "joints",
                               joints, "pairs", describe_pairs(e));
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(object);
    if (text) e->f->details = pelt_arena_format(e->f->arena, "%s", text);
    free(text);
    return e->f->details ? PELT_OK : PELT_ERROR_MEMORY;
}

/* Examples in, supports and eigendisplacements out. */
static pelt_result find_basis(eigen_fit *e, pelt_error *error) {
    pelt_fitting *f = e->f;
    pelt_result result = check_examples(f, error);
    if (!result) result = pelt_poses_of(f->arena, f->bundle, f->examples, f->options.control_scale, &e->poses, error);
    if (!result) result = pelt_displacements_of(f, &e->u, error);
    if (!result) result = pelt_supports_of(f->arena, &f->model, &e->poses, &e->u, &e->supports, error);
    if (!result)
        result = pelt_eigen_basis_of(f->arena, &e->poses, &e->u, &e->supports, SUPPORT_THRESHOLD, &e->basis, error);
    if (!result && !e->basis.joint_count)
        result = pelt_fail(error, PELT_ERROR_DATA,
                           "no example moves one joint alone and changes the skin by it, so EigenSkin has no joint "
                           "supports to learn: add such examples, or use the corrective \"kernel\"");
    return result;
}

pelt_result pelt_fit_eigenskin(pelt_fitting *f, pelt_error *error) {
    eigen_fit e = {.f = f};
    const pelt_fit_options *o = &f->options;
    pelt_result result = find_basis(&e, error);
    if (result) return result;
    e.coordinates = PELT_NEW(f->arena, pelt_coordinates, e.basis.joint_count);
    if (!e.coordinates) return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for EigenSkin");
    result = pelt_eigen_budget(f->arena, &e.supports, &e.basis, o->per_joint, o->per_vertex, error);
    if (!result) result = pelt_eigen_coordinates(f->arena, &e.poses, &e.basis, WIDTH, e.coordinates, &e.width, error);
    bool done = !result && !make_entries(&e);
    if (done && !o->sweeps_only)
        result = pelt_eigen_refine(&e.poses, &e.u, &e.basis, e.entries, e.entry_count, e.width, e.coordinates, error);
    done = done && !result && !assemble(&e);
    if (done && !o->sweeps_only && !o->per_vertex) { /* a budget for vertices leaves no room for more */
        result = pelt_eigen_pairs_of(f->arena, &e.poses, &e.u, &e.supports, e.width, e.corrective, &e.pairs, error);
        done = !result && !add_pairs(&e);
    }
    done = done && (o->plain_normals || !correct_normals(&e)) && !describe(&e);
    if (done || result) return result;
    return pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for EigenSkin");
}
