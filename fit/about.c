/* about.c: fits and measures described as JSON (about.h). The only place where a fit writes JSON. */

#include "fit/about.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Failure is sticky: once a part is missing, everything built from it is NULL, including the text. */

static json_t *whole(json_t *value, int failed) {
    if (!failed) return value;
    json_decref(value);
    return NULL;
}

static json_t *put(json_t *object, const char *key, json_t *value) {
    return whole(object, json_object_set_new(object, key, value));
}

static json_t *join(json_t *object, json_t *more) { return whole(object, json_object_update_new(object, more)); }

/* -- Measures ------------------------------------------------------------------------------------------------------ */

/* Relative figures are unknown if the blend is exact or there is none. */
static json_t *relative_json(const pelt_measure *m, double value) {
    return pelt_measure_is_relative(m) ? pelt_json_number(value) : json_null();
}

/* Without jumps there is no place where they occur. */
static json_t *look_json(const pelt_measure *m, pelt_examples examples) {
    bool jumps = m->jump_max > 0;
    return pelt_json_pack("{roughness:o, points:u, mean_edge:f, jump:o, jump_max:f, jump_frame:o, jump_vertex:o}",
                          relative_json(m, m->roughness), m->point_count, m->mean_edge, relative_json(m, m->jump),
                          m->jump_max, jumps ? json_integer(examples.list[m->jump_frame].frame) : json_null(),
                          jumps ? json_integer(m->jump_vertex) : json_null());
}

json_t *pelt_measure_json(const pelt_measure *m, const char *skin, const char *clip, pelt_examples examples) {
    json_t *object =
        pelt_json_pack("{skin:s, clip:s, frames:u, vertices:u, rms:f, max:f, rms_fraction:f, max_fraction:f, "
                       "rel_err:o, normal_rms_degrees:f, normal_max_degrees:f, worst_frame:u, worst_vertex:u}",
                       skin, clip, m->frame_count, m->vertex_count, m->rms, m->max, m->rms_fraction, m->max_fraction,
                       relative_json(m, m->rel_err), m->normal_rms_degrees, m->normal_max_degrees,
                       examples.list[m->worst_frame].frame, m->worst_vertex);
    return join(object, look_json(m, examples));
}

json_t *pelt_regions_json(const pelt_measure *m) {
    json_t *list = json_array();
    for (const pelt_region *r = m->regions; r < m->regions + m->region_count; r++)
        list = pelt_json_append(list, pelt_json_pack("{name:s, by:s, vertices:u, rms:f, max:f, rel_err:o}", r->name,
                                                     r->painted ? "colour" : "joint", r->vertex_count, r->rms, r->max,
                                                     pelt_json_number(r->rel_err)));
    return list;
}

/* -- The blend ----------------------------------------------------------------------------------------------------- */

static json_t *blend_json(const pelt_blend_findings *b, const pelt_fit_options *options) {
    json_t *rounds = json_array();
    for (uint32_t i = 0; i < b->round_count; i++) rounds = pelt_json_append(rounds, pelt_json_number(b->round_rms[i]));
    bool rigid = options->joints.influence_choice == PELT_CHOICE_RIGIDITY;
    return pelt_json_pack("{influence_choice:s, candidates:u, driven:u, rms:o, largest_weight:f, ridge:f, "
                          "rank_deficient:o, rest_rank_deficient:o}",
                          rigid ? "rigidity" : "greedy", b->candidate_count, b->driven_count, rounds, b->largest_weight,
                          b->ridge, pelt_json_integers(b->deficient, b->deficient_count),
                          pelt_json_integers(b->rest_deficient, b->rest_deficient_count));
}

/* Weights that a corrective follows: the error, relative to that of the file's weights, and which weights were kept. */
static json_t *ahead_json(const pelt_blend_findings *b) {
    return pelt_json_pack("{missed:f, pull:f, held_out:o, file_weights:b}", b->missed, b->pull,
                          b->held_out > 0 ? pelt_json_number(b->held_out) : json_null(), b->pull == 0);
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

static json_t *example_json(pelt_examples examples, uint32_t example) {
    char name[300];
    if (example == PELT_REST_EXAMPLE) return json_string("the rest pose");
    snprintf(name, sizeof name, "%.250s:%u", examples.list[example].clip->name, examples.list[example].frame);
    return pelt_json_text(name);
}

static json_t *condition_json(const pelt_condition *c, pelt_examples examples) {
    json_t *closest = isfinite(c->distance) ? pelt_json_pack("[o o]", example_json(examples, c->closest[0]),
                                                             example_json(examples, c->closest[1]))
                                            : json_null();
    json_t *object =
        pelt_json_pack("{value:f, where:s, closest:o, distance:f}", c->value, c->where, closest, c->distance);
    if (c->median > 0) object = put(object, "median", pelt_json_number(c->median));
    return object;
}

json_t *pelt_corrective_json(const pelt_fit_report *r, const pelt_bundle *bundle, pelt_examples examples) {
    /* The bound is of displacements of the rest pose, the error of storage is in the scene. */
    double rest = fmax(bundle->mesh.diagonal, 1e-30), scene = fmax(pelt_scene_diagonal(&bundle->mesh), 1e-30);
    json_t *object = json_object();
    if (!r->has_corrective) return object;
    if (r->condition.value > 0) object = put(object, "condition", condition_json(&r->condition, examples));
    return join(object, pelt_json_pack("{damped:{times:z, points:u}, bound:f, bound_fraction:f, storage_error:f, "
                                       "storage_error_fraction:f}",
                                       (size_t)r->damped, r->damped_points, r->bound, r->bound / rest, r->storage_error,
                                       r->storage_error / scene));
}

enum { MOST_SINGULAR = 12 };

static json_t *eigen_json(const pelt_eigen_field_findings *e) {
    json_t *joints = json_array(), *pairs = json_array();
    for (uint32_t j = 0; j < e->joint_count; j++) {
        const pelt_eigen_joint_findings *joint = &e->joints[j];
        json_t *singular = json_array();
        for (uint32_t k = 0; k < joint->rank && k < MOST_SINGULAR; k++)
            singular = pelt_json_append(singular, pelt_json_number(joint->singular[k]));
        joints = pelt_json_append(joints,
                                  pelt_json_pack("{joint:s, examples:u, support:u, kept:u, singular_values:o}",
                                                 joint->name, joint->examples, joint->support, joint->kept, singular));
    }
    for (uint32_t p = 0; p < e->pair_count; p++)
        pairs = pelt_json_append(pairs, pelt_json_pack("{joint:s, above:s, support:u, kept:u}", e->pairs[p].name,
                                                       e->pairs[p].above, e->pairs[p].support, e->pairs[p].kept));
    return pelt_json_pack("{threshold:f, width:f, joints:o, pairs:o}", e->threshold, e->width, joints, pairs);
}

/* Errors on left-out examples; kinds that do not occur are omitted. */
static json_t *eigen_missed_json(const pelt_eigen_findings *e) {
    json_t *object = json_object();
    if (e->missed_between >= 0) object = put(object, "between", pelt_json_number(e->missed_between));
    if (e->missed_beyond >= 0) object = put(object, "beyond", pelt_json_number(e->missed_beyond));
    if (e->missed_several >= 0) object = put(object, "several", pelt_json_number(e->missed_several));
    return object;
}

/* As the paper counts it; a 4-tuple of floats has 16 bytes. */
static json_t *eigen_memory_json(const pelt_eigen_findings *e) {
    return pelt_json_pack("{most_displacements:u, most_turns:u, mean_displacements:f, mean_turns:f, tuples:u, "
                          "tuple_bytes:u, constants:u}",
                          e->most_displacements, e->most_tilts, e->mean_displacements, e->mean_tilts, e->tuples,
                          16 * e->tuples, e->constants);
}

/* Specific to one method. */
static json_t *method_json(const pelt_fit_report *r) {
    const pelt_pose_findings *p = &r->poses;
    const pelt_kernel_findings *k = r->kernel;
    json_t *object = json_object();
    if (p->poses) {
        object = put(object, "poses", json_integer(p->poses));
        object = put(object, "width", pelt_json_number(p->width));
        if (p->growth > 0) object = put(object, "growth", pelt_json_number(p->growth));
        if (p->not_told_apart >= 0) object = put(object, "not_told_apart", pelt_json_number(p->not_told_apart));
        if (p->drivers > 0) object = put(object, "drivers", pelt_json_number(p->drivers));
        if (p->drivers > 0 && p->unseen >= 0) object = put(object, "unseen", pelt_json_number(p->unseen));
    }
    if (k)
        object = join(object, pelt_json_pack("{family:s, lambda:f, validation_error:f, joints:u, clusters:u}",
                                             pelt_family_name(k->family), k->lambda, k->validation_error, k->joints,
                                             k->clusters));
    if (k && k->family == PELT_FAMILY_FEATURES)
        object = join(object, pelt_json_pack("{features:u, steps:u}", k->features, k->steps));
    else if (k)
        object = join(object, pelt_json_pack("{width:f, range:f, pair:f}", k->width, k->range, k->pair));
    if (k && k->form) object = put(object, "form", json_string(k->form));
    if (r->eigen) object = join(object, eigen_json(&r->eigen->positions));
    if (r->eigen) object = put(object, "missed", eigen_missed_json(r->eigen));
    if (r->eigen) object = put(object, "memory", eigen_memory_json(r->eigen));
    if (r->eigen && r->eigen->normals.joint_count) object = put(object, "normals", eigen_json(&r->eigen->normals));
    return object;
}

/* -- The text of a skin -------------------------------------------------------------------------------------------- */

/* "train,more": the clips of the examples. */
static json_t *clips_json(pelt_examples examples) {
    char names[1000] = "";
    size_t length = 0;
    for (size_t i = 0; i < examples.count && length + 260 < sizeof names; i++)
        if (!i || examples.list[i].clip != examples.list[i - 1].clip)
            length += (size_t)snprintf(names + length, 256, "%s%.250s", i ? "," : "", examples.list[i].clip->name);
    return pelt_json_text(names);
}

static json_t *measured_json(const pelt_measure *m, json_t *clip, pelt_examples examples) {
    json_t *object = pelt_measure_json(m, "", "", examples);
    object = put(object, "clip", clip);
    return object;
}

/* Those that were tried. */
static json_t *front_json(const pelt_front *front) {
    json_t *list = json_array();
    for (const pelt_candidate *c = front->list; c < front->list + front->count; c++)
        if (c->fold_count)
            list = pelt_json_append(list,
                                    pelt_json_pack("{options:s, rms:f, rel_err:o, bytes:f, front:b, taken:b}", c->name,
                                                   c->rms, c->rel_err > 0 ? pelt_json_number(c->rel_err) : json_null(),
                                                   c->bytes, c->is_front, c == front->list + front->chosen));
    return pelt_json_pack("{why:s, candidates:o}", front->why, list);
}

char *pelt_about_text(const pelt_fit_report *r, const pelt_front *front, const pelt_bundle *bundle,
                      pelt_examples examples, pelt_error *error) {
    json_t *about =
        pelt_json_pack("{made_by:s, bundle:s, method:s, blend:s, corrective:s, examples:z}", "pelt " PELT_VERSION,
                       bundle->path, pelt_method_name(r->options.method), pelt_blend_name(r->options.blend),
                       pelt_corrective_name(r->options.corrective), examples.count);
    json_t *warnings = json_array();
    if (front) about = put(about, "choice", front_json(front));
    if (r->options.preset) about = put(about, "preset", json_string(pelt_preset_name(r->options.preset)));
    if (r->blend_fit.round_count) about = put(about, "blend_fit", blend_json(&r->blend_fit, &r->options));
    if (r->blend_fit.missed > 0) about = put(about, "blend_fit", ahead_json(&r->blend_fit));
    for (size_t i = 0; i < r->findings.count; i++)
        warnings = pelt_json_append(warnings, pelt_json_text(r->findings.list[i].text));
    if (r->findings.count)
        about = put(about, "warnings", warnings);
    else
        json_decref(warnings);
    if (r->has_corrective) {
        json_t *details = method_json(r);
        details = join(details, pelt_corrective_json(r, bundle, examples));
        about = put(about, "details", details);
    }
    if (r->train) about = put(about, "train", measured_json(r->train, clips_json(examples), examples));
    if (r->holdout) about = put(about, "holdout", measured_json(r->holdout, json_string("held out"), r->held));
    char *text = about ? pelt_json_dump(about, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(about);
    if (!text) pelt_no_memory(error);
    return text;
}
