/* eigenskin.c: EigenSkin (Kry, James & Pai 2002), in the order of its section 2:

       v_i = S_i( v_i0 + sum_{j in J_i} sum_{k <= n_j} a_jk(p) u_i^jk )

   displacements of the rest pose (displacement.c), joint supports and eigendisplacements (eigenbasis.c), coordinates
   (coordinates.c), and, beyond the paper, what examples that move several joints can teach (coupling.c, pairs.c). The
   same is then done for the changes of rest normals, and both become one corrective (eigen_join.c). */

#include "fit/corrective/eigenskin.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXAMPLES = 2000 };
static const double LEAST_TURN = 1e-3; /* changes of normals below this are rounding */
static const double WIDTH = 1.4;       /* radians: where nothing in the data says more */

enum { PER_JOINT = 5 };

/* One of the two things that EigenSkin corrects: rest positions, or rest normals. */
typedef struct eigen_field {
    pelt_example_displacements u;
    pelt_supports supports;
    pelt_eigen_basis basis;
    pelt_coordinates *coordinates; /* [joint] */
    double width;
    pelt_eigen_pairs pairs;
    pelt_eigen_part part;
} eigen_field;

typedef struct eigen_fit {
    pelt_fitting *f;
    pelt_poses poses;
    eigen_field positions, normals;
} eigen_fit;

/* -- One field ----------------------------------------------------------------------------------------------------- */

/* Entries of all joints: their eigendisplacements. */
static pelt_result make_entries(pelt_arena *arena, eigen_field *x) {
    size_t total = 0, most = 0;
    for (uint32_t j = 0; j < x->basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &x->basis.joints[j];
        total += (size_t)joint->kept * joint->point_count;
        if (joint->point_count > most) most = joint->point_count;
    }
    pelt_entry *entry = x->part.entries = PELT_NEW(arena, total, pelt_entry);
    float *shape = malloc(3 * (most + 1) * sizeof *shape);
    if (!entry || !shape) return free(shape), PELT_ERROR_MEMORY;
    uint32_t coefficient = 0;
    for (uint32_t j = 0; j < x->basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &x->basis.joints[j];
        for (uint32_t k = 0; k < joint->kept; k++, coefficient++) {
            pelt_eigendisplacement(joint, &x->u, k, shape);
            for (uint32_t i = 0; i < joint->point_count; i++, entry++) {
                *entry = (pelt_entry){.point = joint->points[i], .coefficient = coefficient};
                memcpy(entry->position, shape + 3 * (size_t)i, sizeof entry->position);
            }
        }
    }
    x->part.entry_count = total;
    free(shape);
    return PELT_OK;
}

static pelt_result make_rbfs(pelt_arena *arena, const pelt_poses *poses, eigen_field *x) {
    uint32_t count = x->basis.joint_count;
    pelt_rbf *rbfs = PELT_NEW(arena, count, pelt_rbf);
    pelt_result result = rbfs ? PELT_OK : PELT_ERROR_MEMORY;
    for (uint32_t j = 0; j < count && !result; j++)
        result = pelt_eigen_rbf(arena, poses, &x->basis.joints[j], &x->coordinates[j], x->width, &rbfs[j]);
    x->part.rbfs = rbfs, x->part.rbf_count = count;
    return result;
}

/* Displacements of pairs come behind those of the joints. */
static pelt_result add_pairs(pelt_arena *arena, eigen_field *x) {
    pelt_eigen_part *part = &x->part;
    size_t count = part->entry_count;
    uint32_t coefficient = pelt_eigen_coefficient_count(part);
    for (uint32_t p = 0; p < x->pairs.pair_count; p++) count += x->pairs.pairs[p].entry_count;
    pelt_entry *entries = PELT_NEW(arena, count, pelt_entry);
    pelt_rbf *rbfs = PELT_NEW(arena, part->rbf_count + x->pairs.pair_count, pelt_rbf);
    if (!entries || !rbfs) return PELT_ERROR_MEMORY;
    memcpy(entries, part->entries, part->entry_count * sizeof *entries);
    memcpy(rbfs, part->rbfs, part->rbf_count * sizeof *rbfs);
    part->entries = entries, part->rbfs = rbfs;
    for (uint32_t p = 0; p < x->pairs.pair_count; p++) {
        const pelt_eigen_pair *pair = &x->pairs.pairs[p];
        rbfs[part->rbf_count++] = pair->rbf;
        for (size_t i = 0; i < pair->entry_count; i++) {
            entries[part->entry_count] = pair->entries[i];
            entries[part->entry_count++].coefficient += coefficient;
        }
        coefficient += pair->rbf.coefficient_count;
    }
    return PELT_OK;
}

/* What joints that move together leave, given what the joints do by themselves. */
static pelt_result couple_neighbours(const eigen_fit *e, eigen_field *x, pelt_error *error) {
    pelt_arena *arena = e->f->arena;
    pelt_corrective alone = {.rbf_count = x->part.rbf_count, .rbfs = x->part.rbfs};
    alone.displacements = pelt_gather_displacements(arena, &x->u, x->part.entries, x->part.entry_count);
    if (!alone.displacements) return PELT_ERROR_MEMORY;
    pelt_result result = pelt_eigen_pairs_of(arena, &e->poses, &x->u, &x->supports, x->width, &alone, &x->pairs, error);
    return result ? result : add_pairs(arena, x);
}

/* From supports to entries and their basis functions; per_vertex 0: no limit. */
static pelt_result fit_field(const eigen_fit *e, uint32_t per_vertex, eigen_field *x, pelt_error *error) {
    pelt_arena *arena = e->f->arena;
    const pelt_fit_options *o = &e->f->options;
    uint32_t per_joint = o->per_joint ? o->per_joint : PER_JOINT;
    bool room_for_pairs = !per_vertex || per_vertex >= 2 * per_joint; /* when two joints fill it there is none */
    pelt_result result =
        pelt_eigen_basis_of(arena, &e->poses, &x->u, &x->supports, PELT_SUPPORT_THRESHOLD, &x->basis, error);
    if (result || !x->basis.joint_count) return result;
    x->coordinates = PELT_NEW(arena, x->basis.joint_count, pelt_coordinates);
    if (!x->coordinates) return PELT_ERROR_MEMORY;
    pelt_eigen_keep(&x->basis, per_joint);
    result = pelt_eigen_coordinates(arena, &e->poses, &x->basis, WIDTH, x->coordinates, &x->width, error);
    if (!result) result = make_entries(arena, x);
    if (!result && !o->sweeps_only)
        result = pelt_eigen_refine(&e->poses, &x->u, &x->basis, x->part.entries, x->part.entry_count, x->width,
                                   x->coordinates, error);
    if (!result) result = make_rbfs(arena, &e->poses, x);
    if (!result && !o->sweeps_only && room_for_pairs) result = couple_neighbours(e, x, error);
    if (!result && per_vertex) result = pelt_eigen_budget(&e->poses, x->u.point_count, per_vertex, &x->part);
    return result;
}

/* -- Both fields --------------------------------------------------------------------------------------------------- */

/* With phi between f and 1, |sum_q c_q phi_q| <= |sum_q c_q| (1 + f) / 2 + sum_q |c_q| (1 - f) / 2; f is phi of half a
   turn of all joints. (Distances are angles, of which exponentials are not always positive definite: the sharper bound
   of psd.c does not hold here.) */
static pelt_result note_bound(eigen_fit *e) {
    const pelt_corrective *c = e->f->model.corrective;
    double *most = calloc((size_t)pelt_corrective_coefficient_count(c) + 1, sizeof *most), *to = most;
    if (!most) return PELT_ERROR_MEMORY;
    for (uint32_t i = 0; i < c->rbf_count; i++) {
        const pelt_rbf *rbf = &c->rbfs[i];
        double least = pelt_phi_value(rbf->phi, rbf->width, acos(-1) * acos(-1) * rbf->axis_count);
        for (uint32_t a = 0; a < rbf->axis_count; a++)
            if (rbf->axes[a].kind == PELT_AXIS_CONTROL) least = 0; /* which can be any distance away */
        for (uint32_t k = 0; k < rbf->coefficient_count; k++, to++) {
            double sum = 0, sizes = 0;
            for (size_t q = 0; q < rbf->center_count; q++) {
                double x = rbf->matrix[q * rbf->coefficient_count + k];
                sum += x, sizes += fabs(x);
            }
            *to = 0.5 * (fabs(sum) * (1 + least) + sizes * (1 - least));
        }
    }
    e->f->figures.bound = pelt_largest_displacement(c->displacements, e->positions.u.vertex_count, most);
    free(most);
    return PELT_OK;
}

/* The condition of the worst joint. Pairs have a ridge, which keeps theirs small. */
static void note_condition(eigen_fit *e) {
    const eigen_field *x = &e->positions;
    pelt_condition worst = {0};
    for (uint32_t j = 0; j < x->basis.joint_count; j++) {
        uint32_t mover = x->basis.joints[j].mover;
        if (!x->basis.joints[j].kept) continue;
        pelt_condition c = pelt_eigen_condition(&e->poses, mover, &x->coordinates[j], x->width);
        c.where = pelt_mover_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, mover);
        if (c.value > worst.value) worst = c;
    }
    pelt_note_condition(e->f, &worst);
}

static json_t *describe_pairs(const eigen_fit *e, const eigen_field *x) {
    json_t *pairs = json_array();
    for (uint32_t p = 0; p < x->pairs.pair_count; p++) {
        const pelt_eigen_pair *pair = &x->pairs.pairs[p];
        const char *a = pelt_mover_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, pair->movers[0]);
        const char *b = pelt_mover_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, pair->movers[1]);
        json_array_append_new(pairs, json_pack("{s:s, s:s, s:i, s:i}", "joint", a, "above", b, "support",
                                               (int)(pair->entry_count / pair->rbf.coefficient_count), "kept",
                                               (int)pair->rbf.coefficient_count));
    }
    return pairs;
}

/* Joint by joint, for the report and for people: support, singular values, eigendisplacements kept. */
static json_t *describe_field(const eigen_fit *e, const eigen_field *x) {
    json_t *joints = json_array();
    for (uint32_t j = 0; j < x->basis.joint_count; j++) {
        const pelt_eigen_joint *joint = &x->basis.joints[j];
        json_t *singular = json_array();
        for (uint32_t k = 0; k < joint->rank && k < 12; k++)
            json_array_append_new(singular, json_real(joint->singular[k]));
        json_array_append_new(joints,
                              json_pack("{s:s, s:i, s:i, s:i, s:o}", "joint",
                                        pelt_mover_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, joint->mover),
                                        "examples", (int)joint->pose_count, "support", (int)joint->point_count, "kept",
                                        (int)joint->kept, "singular_values", singular));
    }
    return json_pack("{s:f, s:o, s:o}", "width", x->width, "joints", joints, "pairs", describe_pairs(e, x));
}

static pelt_result describe(eigen_fit *e) {
    json_t *object = describe_field(e, &e->positions);
    if (e->normals.part.entry_count) json_object_set_new(object, "normals", describe_field(e, &e->normals));
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(object);
    if (text) e->f->details = pelt_arena_format(e->f->arena, "%s", text);
    free(text);
    return e->f->details ? PELT_OK : PELT_ERROR_MEMORY;
}

static pelt_result fit_positions(eigen_fit *e, uint32_t per_vertex, pelt_error *error) {
    pelt_fitting *f = e->f;
    if (f->examples.count > MOST_EXAMPLES)
        return pelt_refuse_count(f, f->examples.count, "examples", MOST_EXAMPLES, error);
    pelt_result result = pelt_poses_of(f->arena, f->bundle, f->examples, f->options.control_scale, &e->poses, error);
    if (!result) result = pelt_displacements_of(f, &e->positions.u, error);
    if (!result)
        result = pelt_supports_of(f->arena, &f->model, &e->poses, &e->positions.u, &e->positions.supports, error);
    if (!result) result = fit_field(e, per_vertex, &e->positions, error);
    if (!result && !e->positions.basis.joint_count)
        result = pelt_fail(error, PELT_ERROR_DATA,
                           "no example moves one joint alone and changes the skin by it, so EigenSkin has no joint "
                           "supports to learn: add such examples, or use the corrective \"kernel\"");
    return result;
}

/* The linear normal corrections of section 2, with bases of their own; they share the width of positions, and with it
   the basis functions. */
static pelt_result fit_normals(eigen_fit *e, uint32_t per_vertex, pelt_error *error) {
    pelt_example_displacements *u = &e->normals.u;
    if (pelt_turns_of(e->f, u)) return PELT_ERROR_MEMORY;
    pelt_result result = pelt_supports_of(e->f->arena, &e->f->model, &e->poses, u, &e->normals.supports, error);
    e->normals.supports.noise = (float)LEAST_TURN;
    e->normals.width = e->positions.width;
    return result ? result : fit_field(e, per_vertex, &e->normals, error);
}

static pelt_result assemble(eigen_fit *e) {
    pelt_arena *arena = e->f->arena;
    pelt_eigen_part *positions = &e->positions.part, *normals = &e->normals.part;
    pelt_corrective *corrective = PELT_NEW(arena, 1, pelt_corrective);
    if (!corrective || pelt_eigen_join(arena, positions, normals, corrective)) return PELT_ERROR_MEMORY;
    corrective->displacements =
        pelt_gather_displacements(arena, &e->positions.u, positions->entries, positions->entry_count);
    if (normals->entry_count)
        corrective->turns = pelt_gather_displacements(arena, &e->normals.u, normals->entries, normals->entry_count);
    e->f->model.corrective = corrective;
    bool done = corrective->displacements && (corrective->turns || !normals->entry_count);
    return done ? PELT_OK : PELT_ERROR_MEMORY;
}

/* A budget is for positions and normals together, half of it for each: nothing says what an angle is worth in units of
   length. */
pelt_result pelt_fit_eigenskin(pelt_fitting *f, pelt_error *error) {
    eigen_fit e = {.f = f};
    uint32_t budget = f->options.per_vertex, for_normals = f->options.plain_normals ? 0 : budget / 2;
    bool plain = f->options.plain_normals || budget == 1;
    pelt_result result = fit_positions(&e, budget - for_normals, error);
    if (!result && !plain) result = fit_normals(&e, for_normals, error);
    if (!result) result = assemble(&e);
    if (!result) result = note_bound(&e);
    if (!result) result = describe(&e);
    if (!result) note_condition(&e);
    return result == PELT_ERROR_MEMORY ? pelt_fail(error, result, "not enough memory for EigenSkin") : result;
}
