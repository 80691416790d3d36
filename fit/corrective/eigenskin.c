/* eigenskin.c: EigenSkin (Kry, James & Pai 2002), in the order of its section 2:

       v_i = S_i( v_i0 + sum_{j in J_i} sum_{k <= n_j} a_jk(p) u_i^jk )

   displacements in the rest pose (fit/examples/displacement.c); the reach of supports and basis functions
   (eigenskin_choose.c); joint supports, eigendisplacements and their coordinates (eigenskin_basis.c); and, beyond the
   paper, what can be learned from examples that move several joints (eigenskin_refine.c, eigenskin_pairs.c). The same
   is done for rest normals, and both become one corrective. A joint's centres are the same for positions and normals,
   so exp(-r / r0) is computed once for both. */

#include "fit/corrective/eigenskin.h"
#include <math.h>
#include <string.h>

enum { MOST_EXAMPLES = 2000, PER_JOINT = 5 };
static const double LEAST_TILT = 1e-3; /* smaller changes of normals are rounding */
static const double FADE = 0.5;        /* of the threshold of supports */

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
    pelt_poses shown; /* by the examples, */
    pelt_poses poses; /* and with lone poses of movers that no example moves alone */
    pelt_lone_poses lone;
    pelt_eigen_choice choice;
    eigen_field positions, normals;
} eigen_fit;

/* -- One field ----------------------------------------------------------------------------------------------------- */

static uint32_t coefficient_count(const pelt_eigen_part *part) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->rbf_count; i++) count += part->rbfs[i].coefficient_count;
    return count;
}

/* Entries of all joints: their eigendisplacements. */
static void make_entries(pelt_arena *arena, eigen_field *x) {
    size_t total = 0;
    for (uint32_t j = 0; j < x->basis.joint_count; j++)
        total += (size_t)x->basis.joints[j].kept * x->basis.joints[j].point_count;
    pelt_entry *entry = x->part.entries = PELT_NEW(arena, total, pelt_entry);
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    float *shape = PELT_NEW(work, 3 * (size_t)x->u.point_count, float);
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
}

static void make_rbfs(pelt_arena *arena, const pelt_poses *poses, eigen_field *x) {
    uint32_t count = x->basis.joint_count;
    pelt_rbf *rbfs = PELT_NEW(arena, count, pelt_rbf);
    for (uint32_t j = 0; j < count; j++)
        rbfs[j] = pelt_eigen_joint_rbf(arena, poses, &x->basis.joints[j], &x->coordinates[j], x->width);
    x->part.rbfs = rbfs, x->part.rbf_count = count;
}

/* Displacements of pairs follow those of the joints. */
static void append_pairs(pelt_arena *arena, eigen_field *x) {
    pelt_eigen_part *part = &x->part;
    size_t count = part->entry_count;
    uint32_t coefficient = coefficient_count(part);
    for (uint32_t p = 0; p < x->pairs.pair_count; p++) count += x->pairs.pairs[p].entry_count;
    pelt_entry *entries = PELT_NEW(arena, count, pelt_entry);
    pelt_rbf *rbfs = PELT_NEW(arena, part->rbf_count + x->pairs.pair_count, pelt_rbf);
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
}

/* Fits what remains when joints move together, after each joint's individual contribution. */
static void add_pairs(const eigen_fit *e, eigen_field *x) {
    pelt_arena *arena = e->f->arena;
    pelt_corrective alone = {.rbf_count = x->part.rbf_count, .rbfs = x->part.rbfs};
    alone.displacements = pelt_gather_displacements(arena, &x->u, x->part.entries, x->part.entry_count);
    x->pairs = pelt_eigen_pairs_of(arena, &e->poses, &x->u, &x->supports, x->width, &alone);
    append_pairs(arena, x);
}

/* Supports that end, or fade out, at a threshold. */
static float *edge_supports(pelt_fitting *f, const pelt_poses *poses, const pelt_example_displacements *u,
                            double threshold, const pelt_lone_poses *wanted, pelt_supports *supports) {
    double fade = f->options.eigen.fade;
    float *lone = PELT_NEW(f->arena, 3 * (size_t)wanted->count * u->point_count, float);
    pelt_supports_alone(f->arena, &f->model, poses, u, f->options.threads, wanted, lone, supports);
    supports->threshold = threshold > 0 ? threshold : PELT_SUPPORT_THRESHOLD;
    supports->fade = fade == 0 ? FADE : fmax(fade, 0);
    return lone;
}

pelt_eigen_choice pelt_eigen_supports(pelt_fitting *f, pelt_poses *poses, pelt_example_displacements *u,
                                      pelt_supports *supports, pelt_lone_poses *wanted) {
    const pelt_eigen_options *o = &f->options.eigen;
    *wanted = o->sweeps_only ? (pelt_lone_poses){0} : pelt_choose_lone_poses(f->arena, poses);
    float *lone = edge_supports(f, poses, u, o->threshold, wanted, supports);
    pelt_drop_still_movers(wanted, supports->peaks, supports->noise, u->point_count, lone);
    pelt_add_lone_poses(f->arena, wanted, poses);
    pelt_add_lone_displacements(f->arena, wanted, lone, u);
    pelt_eigen_choice choice =
        pelt_eigen_choose(f->arena, poses, u, supports, f->options.threads, o->sweeps_only, o->threshold, o->width);
    supports->threshold = choice.threshold;
    return choice;
}

/* From supports to entries and basis functions; per_vertex 0: no limit. */
static void fit_field(const eigen_fit *e, uint32_t per_vertex, eigen_field *x) {
    pelt_arena *arena = e->f->arena;
    const pelt_fit_options *o = &e->f->options;
    uint32_t per_joint = o->eigen.per_joint ? o->eigen.per_joint : PER_JOINT;
    bool room_for_pairs = !per_vertex || per_vertex >= 2 * per_joint; /* two joints already fill it: no room */
    x->basis = pelt_eigen_basis_of(arena, &e->poses, &x->u, &x->supports, o->threads, per_joint);
    if (!x->basis.joint_count) return;
    x->coordinates = PELT_NEW(arena, x->basis.joint_count, pelt_coordinates);
    pelt_eigen_coordinates(arena, &e->poses, &x->basis, x->width, x->coordinates);
    make_entries(arena, x);
    if (!o->eigen.sweeps_only)
        pelt_eigen_refine(arena, &e->poses, &x->u, &x->basis, x->part.entries, x->part.entry_count, x->width,
                          o->threads, x->coordinates);
    make_rbfs(arena, &e->poses, x);
    if (!o->eigen.sweeps_only && room_for_pairs) add_pairs(e, x);
    if (per_vertex) pelt_eigen_budget(arena, &e->poses, x->u.point_count, per_vertex, &x->part);
}

/* -- Budget -------------------------------------------------------------------------------------------------------- */

/* An eigendisplacement u_k contributes a_k(p) u_ik at point i. A point keeps those whose contribution is largest over
   the examples, |u_ik| sqrt(sum_p a_k(p)^2), whether from joints or from pairs. */

/* sizes[coefficient]: root of the sum of squares over the examples; must have room for twice as many values. */
static void measure_sizes(const pelt_poses *poses, const pelt_eigen_part *part, uint32_t count, double *sizes) {
    pelt_corrective corrective = {.rbf_count = part->rbf_count, .rbfs = part->rbfs};
    double *a = sizes + count;
    for (uint32_t e = 0; e < poses->count; e++) {
        pelt_pose_state pose = {poses->rotations + 4 * (size_t)e * poses->joint_count,
                                poses->translations + 3 * (size_t)e * poses->joint_count,
                                poses->controls + (size_t)e * poses->control_count};
        pelt_corrective_coefficients(&corrective, &pose, a);
        for (uint32_t k = 0; k < count; k++) sizes[k] = hypot(sizes[k], a[k]);
    }
}

static float strength(const pelt_entry *entry, const double *sizes) {
    const float *u = entry->position;
    return (float)(sizes[entry->coefficient] * sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
}

/* Inserts a value into a descending list if it is among the largest. */
static void insert(float *list, size_t count, float value) {
    for (size_t at = 0; at < count; at++)
        if (value > list[at]) {
            float pushed = list[at];
            list[at] = value, value = pushed;
        }
}

/* Drops and fades entries; `strongest` [point][most + 1] starts out as 0. */
static void limit(const double *sizes, uint32_t most, float *strongest, pelt_eigen_part *part) {
    size_t length = (size_t)most + 1, kept = 0;
    for (size_t e = 0; e < part->entry_count; e++)
        insert(strongest + length * part->entries[e].point, length, strength(&part->entries[e], sizes));
    for (size_t e = 0; e < part->entry_count; e++) {
        pelt_entry entry = part->entries[e];
        float a = strength(&entry, sizes), t = strongest[length * entry.point + most];
        if (!(a > t)) continue;
        float square = (t / a) * (t / a);
        for (int c = 0; c < 3; c++) entry.position[c] *= 1 - square * square;
        part->entries[kept++] = entry;
    }
    part->entry_count = kept;
}

void pelt_eigen_budget(pelt_arena *arena, const pelt_poses *poses, uint32_t point_count, uint32_t most,
                       pelt_eigen_part *part) {
    uint32_t count = coefficient_count(part);
    if (most > count) return;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    double *sizes = PELT_NEW(work, 2 * (size_t)count, double);
    measure_sizes(poses, part, count, sizes);
    limit(sizes, most, PELT_NEW(work, ((size_t)most + 1) * point_count, float), part);
}

/* -- One corrective ------------------------------------------------------------------------------------------------ */

static const uint32_t UNUSED = UINT32_MAX;

/* Basis functions of a part, and the new indices of their coefficients. */
typedef struct functions {
    const pelt_rbf *rbf;
    uint32_t *numbers; /* [coefficient] */
    bool joined;
} functions;

/* One per rbf of the part, with their indices stored consecutively. */
static functions *list_functions(pelt_arena *arena, const pelt_eigen_part *part) {
    uint32_t count = coefficient_count(part), *numbers = PELT_NEW(arena, count, uint32_t);
    functions *list = PELT_NEW(arena, (size_t)part->rbf_count + 1, functions);
    list->numbers = numbers;
    for (uint32_t k = 0; k < count; k++) numbers[k] = UNUSED;
    for (size_t e = 0; e < part->entry_count; e++) numbers[part->entries[e].coefficient] = 0;
    for (uint32_t i = 0; i < part->rbf_count; i++) {
        list[i] = (functions){.rbf = &part->rbfs[i], .numbers = numbers};
        numbers += part->rbfs[i].coefficient_count;
    }
    return list;
}

static bool same_centers(const pelt_rbf *a, const pelt_rbf *b) {
    return a->axis_count == b->axis_count && a->center_count == b->center_count && a->width == b->width &&
           !memcmp(a->axes, b->axes, a->axis_count * sizeof *a->axes) &&
           !memcmp(a->centers, b->centers, 4 * (size_t)a->axis_count * a->center_count * sizeof *a->centers);
}

static uint32_t count_used(const functions *f) {
    uint32_t count = 0;
    for (uint32_t k = 0; f && k < f->rbf->coefficient_count; k++) count += f->numbers[k] != UNUSED;
    return count;
}

/* Copies the columns in use, starting at `column`, and numbers them; returns the next free column. */
static uint32_t take_columns(functions *f, uint32_t first_number, uint32_t column, uint32_t column_count,
                             float *matrix) {
    for (uint32_t k = 0; f && k < f->rbf->coefficient_count; k++) {
        if (f->numbers[k] == UNUSED) continue;
        for (size_t q = 0; q < f->rbf->center_count; q++)
            matrix[q * column_count + column] = f->rbf->matrix[q * f->rbf->coefficient_count + k];
        f->numbers[k] = first_number + column++;
    }
    return column;
}

/* Appends the functions of a, and those of b, which has the same centres or is NULL. */
static void append(pelt_arena *arena, functions *a, functions *b, uint32_t *number, pelt_rbf *rbfs,
                   uint32_t *rbf_count) {
    uint32_t count = count_used(a) + count_used(b);
    if (!count) return;
    float *matrix = PELT_NEW(arena, (size_t)count * a->rbf->center_count, float);
    take_columns(b, *number, take_columns(a, *number, 0, count, matrix), count, matrix);
    pelt_rbf *rbf = &rbfs[(*rbf_count)++];
    *rbf = *a->rbf;
    rbf->coefficient_count = count, rbf->matrix = matrix;
    *number += count;
}

static void renumber(pelt_eigen_part *part, const functions *list) {
    for (size_t e = 0; e < part->entry_count; e++)
        part->entries[e].coefficient = list->numbers[part->entries[e].coefficient];
}

/* Merges the functions of both parts into out->rbfs: those with the same centres become one, coefficients without
   entries are dropped, and entries are renumbered. */
static void join(pelt_arena *arena, pelt_eigen_part *positions, pelt_eigen_part *normals, pelt_corrective *out) {
    functions *a = list_functions(arena, positions), *b = list_functions(arena, normals);
    pelt_rbf *rbfs = PELT_NEW(arena, (size_t)positions->rbf_count + normals->rbf_count, pelt_rbf);
    uint32_t number = 0;
    for (uint32_t i = 0; i < positions->rbf_count; i++) {
        uint32_t k = 0;
        while (k < normals->rbf_count && (b[k].joined || !same_centers(a[i].rbf, b[k].rbf))) k++;
        functions *twin = k < normals->rbf_count ? &b[k] : NULL;
        if (twin) twin->joined = true;
        append(arena, &a[i], twin, &number, rbfs, &out->rbf_count);
    }
    for (uint32_t k = 0; k < normals->rbf_count; k++)
        if (!b[k].joined) append(arena, &b[k], NULL, &number, rbfs, &out->rbf_count);
    out->rbfs = rbfs;
    renumber(positions, a), renumber(normals, b);
}

static void assemble(eigen_fit *e) {
    pelt_arena *arena = e->f->arena;
    pelt_eigen_part *positions = &e->positions.part, *normals = &e->normals.part;
    pelt_corrective *corrective = PELT_NEW(arena, 1, pelt_corrective);
    join(arena, positions, normals, corrective);
    corrective->displacements =
        pelt_gather_displacements(arena, &e->positions.u, positions->entries, positions->entry_count);
    if (normals->entry_count)
        corrective->tilts = pelt_gather_displacements(arena, &e->normals.u, normals->entries, normals->entry_count);
    e->f->model.corrective = corrective;
}

/* -- Figures ------------------------------------------------------------------------------------------------------- */

/* With phi between f and 1, |sum_q c_q phi_q| <= |sum_q c_q| (1 + f) / 2 + sum_q |c_q| (1 - f) / 2; f is phi of half a
   turn of all joints. (Exponentials of angles are not always positive definite, so the sharper bound of psd.c does not
   hold here.) */
static void note_bound(eigen_fit *e) {
    const pelt_corrective *c = e->f->model.corrective;
    double *most = PELT_NEW(e->f->arena, pelt_corrective_coefficient_count(c), double), *to = most;
    for (uint32_t i = 0; i < c->rbf_count; i++) {
        const pelt_rbf *rbf = &c->rbfs[i];
        double farthest = 0; /* squared: half a turn of every joint; a control can be any distance away */
        for (uint32_t a = 0; a < rbf->axis_count; a++) {
            const pelt_axis *axis = &rbf->axes[a];
            farthest += axis->kind == PELT_AXIS_HINGE     ? 4.0 * axis->reach * axis->reach
                        : axis->kind == PELT_AXIS_CONTROL ? INFINITY
                                                          : acos(-1) * acos(-1);
        }
        double least = isinf(farthest) ? 0 : pelt_phi_value(rbf->phi, rbf->width, farthest);
        for (uint32_t k = 0; k < rbf->coefficient_count; k++, to++) {
            double sum = 0, sizes = 0;
            for (size_t q = 0; q < rbf->center_count; q++) {
                double x = rbf->matrix[q * rbf->coefficient_count + k];
                sum += x, sizes += fabs(x);
            }
            *to = 0.5 * (fabs(sum) * (1 + least) + sizes * (1 - least));
        }
    }
    e->f->report.bound = pelt_largest_displacement(c->displacements, e->positions.u.vertex_count, most);
}

static const char *name_of(const eigen_fit *e, uint32_t mover) {
    return pelt_mover_name(e->f->arena, &e->f->bundle->skeleton, &e->poses, mover);
}

/* The condition number of the worst joint. The ridge of pairs keeps theirs small. */
static void note_condition(eigen_fit *e) {
    const eigen_field *x = &e->positions;
    pelt_condition worst = {0};
    for (uint32_t j = 0; j < x->basis.joint_count; j++) {
        uint32_t mover = x->basis.joints[j].mover;
        if (!x->basis.joints[j].kept) continue;
        pelt_condition c = pelt_eigen_condition(e->f->arena, &e->poses, mover, &x->coordinates[j], x->width);
        c.where = name_of(e, mover);
        for (int i = 0; i < 2; i++)
            if (c.closest[i] != PELT_REST_EXAMPLE && c.closest[i] >= e->shown.count)
                c.closest[i] = e->lone.examples[c.closest[i] - e->shown.count];
        if (c.value > worst.value) worst = c;
    }
    pelt_note_condition(e->f, &worst);
}

static pelt_eigen_field_findings field_findings(const eigen_fit *e, const eigen_field *x) {
    uint32_t joint_count = x->basis.joint_count, pair_count = x->pairs.pair_count;
    pelt_eigen_joint_findings *joints = PELT_NEW(e->f->arena, joint_count, pelt_eigen_joint_findings);
    pelt_eigen_pair_findings *pairs = PELT_NEW(e->f->arena, pair_count, pelt_eigen_pair_findings);
    for (uint32_t j = 0; j < joint_count; j++) {
        const pelt_eigen_joint *joint = &x->basis.joints[j];
        joints[j] = (pelt_eigen_joint_findings){.name = name_of(e, joint->mover),
                                                .examples = joint->pose_count,
                                                .support = joint->point_count,
                                                .kept = joint->kept,
                                                .rank = joint->rank,
                                                .singular = joint->singular};
    }
    for (uint32_t p = 0; p < pair_count; p++) {
        const pelt_eigen_pair *pair = &x->pairs.pairs[p];
        uint32_t kept = pair->rbf.coefficient_count;
        pairs[p] = (pelt_eigen_pair_findings){.name = name_of(e, pair->movers[0]),
                                              .above = name_of(e, pair->movers[1]),
                                              .support = (uint32_t)(pair->entry_count / kept),
                                              .kept = kept};
    }
    return (pelt_eigen_field_findings){x->supports.threshold, x->width, joint_count, joints, pair_count, pairs};
}

/* Largest and mean number of entries per vertex. */
static void count_entries(const pelt_displacements *d, uint32_t vertex_count, uint32_t *most, double *mean) {
    for (uint32_t v = 0; d && v < vertex_count; v++) {
        uint32_t count = d->first[v + 1] - d->first[v];
        *most = count > *most ? count : *most;
        *mean += (double)count / vertex_count;
    }
}

static uint32_t count_bones(const pelt_model *model, pelt_arena *arena) {
    const pelt_influences *in = &model->influences;
    uint32_t count = 0, most = 0;
    for (uint32_t i = 0; i < in->first[model->vertex_count]; i++) most = in->joints[i] > most ? in->joints[i] : most;
    bool *carries = PELT_NEW(arena, (size_t)most + 1, bool);
    for (uint32_t i = 0; i < in->first[model->vertex_count]; i++)
        if (!carries[in->joints[i]]) carries[in->joints[i]] = true, count++;
    return count;
}

/* Memory as counted in section 2.5; warns when the preset's limits are exceeded. */
static void note_memory(eigen_fit *e, pelt_eigen_findings *findings) {
    enum { OWN_TUPLES = 5, OWN_CONSTANTS = 4 };
    pelt_fitting *f = e->f;
    const pelt_corrective *c = f->model.corrective;
    uint32_t bones = count_bones(&f->model, f->arena), coordinates = pelt_corrective_coefficient_count(c);
    count_entries(c->displacements, f->model.vertex_count, &findings->most_displacements,
                  &findings->mean_displacements);
    count_entries(c->tilts, f->model.vertex_count, &findings->most_tilts, &findings->mean_tilts);
    findings->tuples = OWN_TUPLES + findings->most_displacements + findings->most_tilts;
    findings->constants = OWN_CONSTANTS + 3 * bones + (coordinates + 3) / 4;
    if (f->options.preset == PELT_PRESET_VERTEX_PROGRAM && findings->constants > PELT_CONSTANTS_2002)
        pelt_find(&f->report.findings, f->arena, PELT_WARNING, "constants",
                  "%u joints and %u coordinates take %u constant registers, but the preset's graphics cards have %d: "
                  "such a card must draw the character in parts",
                  bones, coordinates, findings->constants, PELT_CONSTANTS_2002);
}

static double part_missed(double missed, double all) { return all > 0 ? sqrt(missed / all) : -1; }

static void note_findings(eigen_fit *e) {
    pelt_eigen_findings *findings = PELT_NEW(e->f->arena, 1, pelt_eigen_findings);
    const pelt_eigen_missed *m = &e->choice.missed;
    findings->missed_between = part_missed(m->between, m->all_between);
    findings->missed_beyond = part_missed(m->beyond, m->all_beyond);
    findings->missed_several = part_missed(m->several, m->all_several);
    note_memory(e, findings);
    findings->positions = field_findings(e, &e->positions);
    if (e->normals.part.entry_count) findings->normals = field_findings(e, &e->normals);
    e->f->report.eigen = findings;
    note_bound(e);
    note_condition(e);
}

/* -- Both fields --------------------------------------------------------------------------------------------------- */

static pelt_result fit_positions(eigen_fit *e, uint32_t per_vertex, pelt_error *error) {
    pelt_fitting *f = e->f;
    if (f->examples.count > MOST_EXAMPLES)
        return pelt_refuse_count(f, f->examples.count, "examples", MOST_EXAMPLES, error);
    pelt_poses_of(f->arena, f->bundle, f->examples, &f->options, &e->shown);
    pelt_result result = pelt_displacements_of(f, &e->positions.u, error);
    if (result) return result;
    e->poses = e->shown;
    e->choice = pelt_eigen_supports(f, &e->poses, &e->positions.u, &e->positions.supports, &e->lone);
    e->positions.width = e->choice.width;
    fit_field(e, per_vertex, &e->positions);
    if (e->positions.basis.joint_count) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "no example moves a joint alone, so EigenSkin cannot learn joint supports: add such examples, or "
                     "use the corrective \"kernel\"");
}

/* The linear normal corrections of section 2, with separate bases; they share the width, and so the basis functions,
   with positions. Larger supports for positions say nothing about normals, so those use the paper's threshold. */
static void fit_normals(eigen_fit *e, uint32_t per_vertex) {
    e->normals.u = pelt_tilts_of(e->f);
    float *lone =
        edge_supports(e->f, &e->shown, &e->normals.u, e->f->options.eigen.threshold, &e->lone, &e->normals.supports);
    pelt_add_lone_displacements(e->f->arena, &e->lone, lone, &e->normals.u);
    e->normals.supports.noise = (float)LEAST_TILT;
    e->normals.width = e->positions.width;
    fit_field(e, per_vertex, &e->normals);
}

/* A budget is split evenly between positions and normals: nothing relates an angle to a length. */
pelt_result pelt_fit_eigenskin(pelt_fitting *f, pelt_error *error) {
    eigen_fit e = {.f = f};
    uint32_t budget = f->options.eigen.per_vertex, for_normals = pelt_has_tilts(f) ? budget / 2 : 0;
    bool plain = !pelt_has_tilts(f) || budget == 1;
    pelt_next_task(f->arena, "eigen: positions", 0.05, 0.5, 2);
    pelt_result result = fit_positions(&e, budget - for_normals, error);
    if (result) return result;
    if (pelt_next_task(f->arena, "eigen: normals", 0.5, 1, 2)) return pelt_stopped(error);
    if (!plain) fit_normals(&e, for_normals);
    assemble(&e);
    note_findings(&e);
    return PELT_OK;
}
