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

static json_t *append(json_t *array, json_t *value) { return whole(array, json_array_append_new(array, value)); }

static json_t *join(json_t *object, json_t *more) { return whole(object, json_object_update_new(object, more)); }

/* -- Measures ------------------------------------------------------------------------------------------------------ */

/* Relative figures are unknown if the blend is exact or there is none. */
static json_t *relative_json(const pelt_measure *m, double value) {
    return pelt_measure_is_relative(m) ? pelt_json_number(value) : json_null();
}

/* Without jumps there is no place where they occur. */
static json_t *look_json(const pelt_measure *m, pelt_examples examples) {
    bool jumps = m->jump_max > 0;
    return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "roughness", relative_json(m, m->roughness), "points",
                     (int)m->point_count, "mean_edge", pelt_json_number(m->mean_edge), "jump",
                     relative_json(m, m->jump), "jump_max", pelt_json_number(m->jump_max), "jump_frame",
                     jumps ? json_integer(examples.list[m->jump_frame].frame) : json_null(), "jump_vertex",
                     jumps ? json_integer(m->jump_vertex) : json_null());
}

json_t *pelt_measure_json(const pelt_measure *m, const char *skin, const char *clip, pelt_examples examples) {
    json_t *object =
        json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i}", "skin", pelt_json_text(skin),
                  "clip", pelt_json_text(clip), "frames", (int)m->frame_count, "vertices", (int)m->vertex_count, "rms",
                  pelt_json_number(m->rms), "max", pelt_json_number(m->max), "rms_fraction",
                  pelt_json_number(m->rms_fraction), "max_fraction", pelt_json_number(m->max_fraction), "rel_err",
                  relative_json(m, m->rel_err), "normal_rms_degrees", pelt_json_number(m->normal_rms_degrees),
                  "normal_max_degrees", pelt_json_number(m->normal_max_degrees), "worst_frame",
                  (int)examples.list[m->worst_frame].frame, "worst_vertex", (int)m->worst_vertex);
    return join(object, look_json(m, examples));
}

/* -- The blend ----------------------------------------------------------------------------------------------------- */

static json_t *blend_json(const pelt_blend_findings *b, const pelt_fit_options *options) {
    json_t *rounds = json_array(), *deficient = json_array(), *rest = json_array();
    for (uint32_t i = 0; i < b->round_count; i++) rounds = append(rounds, pelt_json_number(b->round_rms[i]));
    for (uint32_t i = 0; i < b->deficient_count; i++) deficient = append(deficient, json_integer(b->deficient[i]));
    for (uint32_t i = 0; i < b->rest_deficient_count; i++) rest = append(rest, json_integer(b->rest_deficient[i]));
    bool rigid = options->joints.influence_choice == PELT_CHOICE_RIGIDITY;
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "influence_choice", rigid ? "rigidity" : "greedy",
                     "candidates", (int)b->candidate_count, "driven", (int)b->driven_count, "rms", rounds,
                     "largest_weight", pelt_json_number(b->largest_weight), "ridge", pelt_json_number(b->ridge),
                     "rank_deficient", deficient, "rest_rank_deficient", rest);
}

/* Weights that a corrective follows: the error, relative to that of the file's weights, and which weights were kept. */
static json_t *ahead_json(const pelt_blend_findings *b) {
    return json_pack("{s:o, s:o, s:o, s:b}", "missed", pelt_json_number(b->missed), "pull", pelt_json_number(b->pull),
                     "held_out", b->held_out > 0 ? pelt_json_number(b->held_out) : json_null(), "file_weights",
                     b->pull == 0);
}

/* -- The corrective ------------------------------------------------------------------------------------------------ */

static json_t *example_json(pelt_examples examples, uint32_t example) {
    char name[300];
    if (example == PELT_REST_EXAMPLE) return json_string("the rest pose");
    snprintf(name, sizeof name, "%.250s:%u", examples.list[example].clip->name, examples.list[example].frame);
    return pelt_json_text(name);
}

static json_t *condition_json(const pelt_condition *c, pelt_examples examples) {
    json_t *object = json_pack("{s:o, s:o, s:n, s:o}", "value", pelt_json_number(c->value), "where",
                               c->where ? pelt_json_text(c->where) : json_null(), "closest", "distance",
                               pelt_json_number(c->distance));
    if (isfinite(c->distance))
        object = put(object, "closest",
                     json_pack("[o, o]", example_json(examples, c->closest[0]), example_json(examples, c->closest[1])));
    if (c->median > 0) object = put(object, "median", pelt_json_number(c->median));
    return object;
}

json_t *pelt_corrective_json(const pelt_fit_report *r, const pelt_bundle *bundle, pelt_examples examples) {
    double diagonal = fmax(bundle->mesh.diagonal, 1e-30);
    json_t *object = json_object();
    if (!r->has_corrective) return object;
    if (r->condition.value > 0) object = put(object, "condition", condition_json(&r->condition, examples));
    object = put(object, "damped",
                 json_pack("{s:I, s:I}", "times", (json_int_t)r->damped, "points", (json_int_t)r->damped_points));
    object = put(object, "bound", pelt_json_number(r->bound));
    object = put(object, "bound_fraction", pelt_json_number(r->bound / diagonal));
    object = put(object, "storage_error", pelt_json_number(r->storage_error));
    object = put(object, "storage_error_fraction", pelt_json_number(r->storage_error / diagonal));
    return object;
}

enum { MOST_SINGULAR = 12 };

static json_t *eigen_json(const pelt_eigen_field_findings *e) {
    json_t *joints = json_array(), *pairs = json_array();
    for (uint32_t j = 0; j < e->joint_count; j++) {
        const pelt_eigen_joint_findings *joint = &e->joints[j];
        json_t *singular = json_array();
        for (uint32_t k = 0; k < joint->rank && k < MOST_SINGULAR; k++)
            singular = append(singular, pelt_json_number(joint->singular[k]));
        joints = append(joints, json_pack("{s:o, s:i, s:i, s:i, s:o}", "joint", pelt_json_text(joint->name), "examples",
                                          (int)joint->examples, "support", (int)joint->support, "kept",
                                          (int)joint->kept, "singular_values", singular));
    }
    for (uint32_t p = 0; p < e->pair_count; p++)
        pairs = append(pairs, json_pack("{s:o, s:o, s:i, s:i}", "joint", pelt_json_text(e->pairs[p].name), "above",
                                        pelt_json_text(e->pairs[p].above), "support", (int)e->pairs[p].support, "kept",
                                        (int)e->pairs[p].kept));
    return json_pack("{s:o, s:o, s:o, s:o}", "threshold", pelt_json_number(e->threshold), "width",
                     pelt_json_number(e->width), "joints", joints, "pairs", pairs);
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
    return json_pack("{s:i, s:i, s:o, s:o, s:i, s:i, s:i}", "most_displacements", (int)e->most_displacements,
                     "most_turns", (int)e->most_tilts, "mean_displacements", pelt_json_number(e->mean_displacements),
                     "mean_turns", pelt_json_number(e->mean_tilts), "tuples", (int)e->tuples, "tuple_bytes",
                     (int)(16 * e->tuples), "constants", (int)e->constants);
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
        object = join(object,
                      json_pack("{s:s, s:o, s:o, s:i, s:i}", "family", pelt_family_name(k->family), "lambda",
                                pelt_json_number(k->lambda), "validation_error", pelt_json_number(k->validation_error),
                                "joints", (int)k->joints, "clusters", (int)k->clusters));
    if (k && k->family == PELT_FAMILY_FEATURES)
        object = join(object, json_pack("{s:i, s:i}", "features", (int)k->features, "steps", (int)k->steps));
    else if (k)
        object = join(object, json_pack("{s:o, s:o, s:o}", "width", pelt_json_number(k->width), "range",
                                        pelt_json_number(k->range), "pair", pelt_json_number(k->pair)));
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

char *pelt_about_text(const pelt_fit_report *r, const pelt_bundle *bundle, pelt_examples examples, pelt_error *error) {
    json_t *about = json_pack("{s:s, s:o, s:s, s:s, s:s, s:i}", "made_by", "pelt " PELT_VERSION, "bundle",
                              pelt_json_text(bundle->path), "method", pelt_method_name(r->options.method), "blend",
                              pelt_blend_name(r->options.blend), "corrective",
                              pelt_corrective_name(r->options.corrective), "examples", (int)examples.count);
    json_t *warnings = json_array();
    if (r->blend_fit.round_count) about = put(about, "blend_fit", blend_json(&r->blend_fit, &r->options));
    if (r->blend_fit.missed > 0) about = put(about, "blend_fit", ahead_json(&r->blend_fit));
    for (size_t i = 0; i < r->findings.count; i++)
        warnings = append(warnings, pelt_json_text(r->findings.list[i].text));
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
