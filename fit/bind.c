/* bind.c: access to the structs of fit.h, for languages that do not know their layout. */

#include "rig/rig.h"
#include <math.h>
#include <pelt/bind.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

size_t pelt_sizeof(const char *name) {
#define OF(type)                                                                                                       \
    { #type, sizeof(type) }
    static const struct type {
        const char *name;
        size_t size;
    } types[] = {OF(pelt_transform),
                 OF(pelt_progress),
                 OF(pelt_pose_input),
                 OF(pelt_stream),
                 OF(pelt_output),
                 OF(pelt_character),
                 OF(pelt_clip_input),
                 OF(pelt_cache_options),
                 OF(pelt_example),
                 OF(pelt_examples),
                 OF(pelt_findings),
                 OF(pelt_influences),
                 OF(pelt_mesh_object),
                 OF(pelt_control_scale),
                 OF(pelt_drive_rule),
                 OF(pelt_drive_rules),
                 OF(pelt_export_options),
                 OF(pelt_export_report),
                 OF(pelt_export_frames_options),
                 OF(pelt_frames),
                 OF(pelt_misfit),
                 OF(pelt_keys_options),
                 OF(pelt_forecast),
                 OF(pelt_keys_forecast),
                 OF(pelt_keys_report),
                 OF(pelt_keys_frame),
                 OF(pelt_keys_measure_options),
                 OF(pelt_keys_measure),
                 OF(pelt_engine_call),
                 OF(pelt_soft_cache_options),
                 OF(pelt_soft_cache_frame_info),
                 OF(pelt_soft_cache)};
#undef OF
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (!strcmp(name, types[i].name)) return types[i].size;
    return 0;
}

/* -- Characters and clips -------------------------------------------------------------------------------------------- */

const char *pelt_bundle_path(const pelt_bundle *b) { return b ? b->path : NULL; }
int pelt_bundle_in_memory(const pelt_bundle *b) { return b && b->in_memory; }
uint32_t pelt_bundle_vertex_count(const pelt_bundle *b) { return b ? b->mesh.vertex_count : 0; }
uint32_t pelt_bundle_triangle_count(const pelt_bundle *b) { return b ? b->mesh.triangle_count : 0; }
const float *pelt_bundle_positions(const pelt_bundle *b) { return b ? b->mesh.positions : NULL; }
const uint32_t *pelt_bundle_triangles(const pelt_bundle *b) { return b ? b->mesh.triangles : NULL; }
const float *pelt_bundle_normals(const pelt_bundle *b) { return b ? b->mesh.normals : NULL; }
const float *pelt_bundle_uvs(const pelt_bundle *b) { return b ? b->mesh.uvs : NULL; }
const pelt_influences *pelt_bundle_influences(const pelt_bundle *b) { return b ? &b->mesh.influences : NULL; }
uint32_t pelt_bundle_object_count(const pelt_bundle *b) { return b ? b->mesh.object_count : 0; }
double pelt_bundle_diagonal(const pelt_bundle *b) { return b ? pelt_scene_diagonal(&b->mesh) : 0; }
uint32_t pelt_bundle_joint_count(const pelt_bundle *b) { return b ? b->skeleton.joint_count : 0; }
const pelt_transform *pelt_bundle_rest_pose(const pelt_bundle *b) { return b ? b->skeleton.rest : NULL; }
const double *pelt_bundle_inverse_bind(const pelt_bundle *b) { return b ? *b->skeleton.inverse_bind : NULL; }
uint32_t pelt_bundle_control_count(const pelt_bundle *b) { return b ? b->controls.count : 0; }
uint32_t pelt_bundle_clip_count(const pelt_bundle *b) { return b ? b->clip_count : 0; }
const pelt_findings *pelt_bundle_notes(const pelt_bundle *b) { return b ? &b->notes : NULL; }

const char *pelt_bundle_joint_name(const pelt_bundle *b, uint32_t joint) {
    return joint < pelt_bundle_joint_count(b) ? b->skeleton.names[joint] : NULL;
}

int32_t pelt_bundle_joint_parent(const pelt_bundle *b, uint32_t joint) {
    return joint < pelt_bundle_joint_count(b) ? b->skeleton.parents[joint] : -1;
}

const char *pelt_bundle_control_name(const pelt_bundle *b, uint32_t control) {
    return control < pelt_bundle_control_count(b) ? b->controls.names[control] : NULL;
}

float pelt_bundle_control_rest(const pelt_bundle *b, uint32_t control) {
    return control < pelt_bundle_control_count(b) ? b->controls.rest[control] : 0;
}

const pelt_mesh_object *pelt_bundle_object_at(const pelt_bundle *b, uint32_t object) {
    return object < pelt_bundle_object_count(b) ? &b->mesh.objects[object] : NULL;
}

void pelt_bundle_set_cache(pelt_bundle *b, const pelt_cache_options *options) {
    if (b) b->cache = options ? *options : (pelt_cache_options){0};
}

const pelt_clip *pelt_bundle_clip_at(const pelt_bundle *b, uint32_t clip) {
    return clip < pelt_bundle_clip_count(b) ? b->clips[clip] : NULL;
}

const char *pelt_clip_name(const pelt_clip *clip) { return clip ? clip->name : NULL; }
uint32_t pelt_clip_frame_count(const pelt_clip *clip) { return clip ? clip->frame_count : 0; }
const float *pelt_clip_times(const pelt_clip *clip) { return clip ? clip->times : NULL; }
const float *pelt_clip_positions(const pelt_clip *clip) { return clip ? clip->positions : NULL; }
const float *pelt_clip_normals(const pelt_clip *clip) { return clip ? clip->normals : NULL; }
const float *pelt_clip_example_weights(const pelt_clip *clip) { return clip ? clip->example_weights : NULL; }

void pelt_bundle_pose(const pelt_bundle *b, const pelt_clip *clip, uint32_t frame, pelt_transform *locals,
                      float *controls) {
    if (b && clip && locals) pelt_clip_pose(clip, &b->skeleton, frame, locals);
    if (b && clip && controls) pelt_clip_controls(clip, &b->controls, frame, controls);
}

pelt_bundle *pelt_bundle_of_arrays(const char *name, uint32_t vertex_count, const float *positions,
                                   uint32_t triangle_count, const uint32_t *triangles, uint32_t joint_count,
                                   const char *const *joint_names, const int32_t *parents, const pelt_transform *rest,
                                   uint32_t influences_per_vertex, const uint32_t *joints, const float *weights,
                                   pelt_error *error) {
    pelt_character character = {.name = name,
                                .vertex_count = vertex_count,
                                .positions = positions,
                                .triangle_count = triangle_count,
                                .triangles = triangles,
                                .joint_count = joint_count,
                                .joint_names = joint_names,
                                .parents = parents,
                                .rest = rest,
                                .influences_per_vertex = influences_per_vertex,
                                .joints = joints,
                                .weights = weights};
    return pelt_bundle_new(&character, error);
}

const pelt_clip *pelt_bundle_add_frames(pelt_bundle *bundle, const char *name, uint32_t frame_count,
                                        const pelt_transform *poses, const float *positions, pelt_error *error) {
    pelt_clip_input input = {.name = name, .frame_count = frame_count, .poses = poses, .positions = positions};
    return pelt_bundle_add_clip(bundle, &input, error);
}

/* -- Findings -------------------------------------------------------------------------------------------------------- */

size_t pelt_finding_count(const pelt_findings *findings) { return findings ? findings->count : 0; }

static pelt_finding finding_at(const pelt_findings *findings, size_t i) {
    return i < pelt_finding_count(findings) ? findings->list[i] : (pelt_finding){0};
}

pelt_severity pelt_finding_severity(const pelt_findings *f, size_t i) { return finding_at(f, i).severity; }
const char *pelt_finding_what(const pelt_findings *f, size_t i) { return finding_at(f, i).what; }
const char *pelt_finding_text(const pelt_findings *f, size_t i) { return finding_at(f, i).text; }

/* -- Fits and measures ----------------------------------------------------------------------------------------------- */

size_t pelt_sizeof_fit_options(void) { return sizeof(pelt_fit_options); }
size_t pelt_sizeof_fit_report(void) { return sizeof(pelt_fit_report); }
const pelt_findings *pelt_fit_report_findings(const pelt_fit_report *report) {
    return report ? &report->findings : NULL;
}
const pelt_measure *pelt_fit_report_train(const pelt_fit_report *report) { return report ? report->train : NULL; }
const pelt_measure *pelt_fit_report_holdout(const pelt_fit_report *report) { return report ? report->holdout : NULL; }

pelt_result pelt_fit_options_set_list(pelt_fit_options *o, const char *name, size_t count, const void *list,
                                      pelt_drive_rules *rules, pelt_error *error) {
    if (pelt_check_given("options", o, error) || PELT_MISSING(name, error)) return PELT_ERROR_ARGUMENT;
    if (count && PELT_MISSING(list, error)) return PELT_ERROR_ARGUMENT;
    if (!strcmp(name, "drop_joints"))
        o->fitted.drop_joints = (pelt_names){count, list};
    else if (!strcmp(name, "lock_joints"))
        o->convex.lock_joints = (pelt_names){count, list};
    else if (!strcmp(name, "lock_vertices"))
        o->convex.lock_vertices = list, o->convex.lock_vertex_count = count;
    else if (!strcmp(name, "control_scale"))
        o->displacement.control_scale = list, o->displacement.control_scale_count = count;
    else if (!strcmp(name, "drive")) {
        if (PELT_MISSING(rules, error)) return PELT_ERROR_ARGUMENT;
        *rules = (pelt_drive_rules){count, list}, o->joints.drive = rules;
    } else
        return pelt_fail_option(error, "name", "there is no list called \"%s\"", name);
    return PELT_OK;
}

void pelt_fit_options_set_progress(pelt_fit_options *options, int (*step)(void *, const char *, double), void *user) {
    if (options) options->progress = (pelt_progress){step, user};
}

double pelt_fit_report_number(const pelt_fit_report *r, const char *name) {
    if (!r || !name) return NAN;
    const struct number {
        const char *name;
        double value;
    } numbers[] = {{"seconds", r->seconds},
                   {"cpu_seconds", r->cpu_seconds},
                   {"bound", r->bound},
                   {"storage_error", r->storage_error},
                   {"damped", (double)r->damped},
                   {"has_corrective", r->has_corrective},
                   {"condition", r->condition.value}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(name, numbers[i].name)) return numbers[i].value;
    return NAN;
}

const char *pelt_fit_report_choice(const pelt_fit_report *r, const char *name) {
    return !r || !name                   ? NULL
           : !strcmp(name, "method")     ? pelt_method_name(r->options.method)
           : !strcmp(name, "blend")      ? pelt_blend_name(r->options.blend)
           : !strcmp(name, "corrective") ? pelt_corrective_name(r->options.corrective)
                                         : NULL;
}

pelt_examples pelt_fit_report_held(const pelt_fit_report *r) { return r ? r->held : (pelt_examples){0}; }
pelt_examples pelt_fit_report_kept(const pelt_fit_report *r) { return r ? r->kept : (pelt_examples){0}; }

double pelt_measure_number(const pelt_measure *measure, const char *name) {
#define AT(field)                                                                                                      \
    { #field, offsetof(pelt_measure, field) }
    static const struct field {
        const char *name;
        size_t offset;
    } doubles[] =
        {AT(rms),       AT(max),       AT(rms_fraction),       AT(max_fraction),       AT(rel_err), AT(blend_fraction),
         AT(roughness), AT(mean_edge), AT(normal_rms_degrees), AT(normal_max_degrees), AT(jump),    AT(jump_max)},
      counts[] = {AT(frame_count),  AT(vertex_count), AT(point_count), AT(worst_frame),
                  AT(worst_vertex), AT(jump_frame),   AT(jump_vertex)};
#undef AT
    double value = NAN;
    uint32_t count;
    for (size_t i = 0; measure && name && i < sizeof doubles / sizeof *doubles; i++)
        if (!strcmp(name, doubles[i].name)) memcpy(&value, (const char *)measure + doubles[i].offset, sizeof value);
    for (size_t i = 0; measure && name && i < sizeof counts / sizeof *counts; i++)
        if (!strcmp(name, counts[i].name))
            memcpy(&count, (const char *)measure + counts[i].offset, sizeof count), value = count;
    return value;
}

const float *pelt_measure_array(const pelt_measure *m, const char *name, size_t *count) {
    bool frames = name && !strncmp(name, "frame_", 6);
    const float *array = !m || !name                     ? NULL
                         : !strcmp(name, "frame_rms")    ? m->frame_rms
                         : !strcmp(name, "frame_max")    ? m->frame_max
                         : !strcmp(name, "vertex_rms")   ? m->vertex_rms
                         : !strcmp(name, "vertex_rough") ? m->vertex_rough
                                                         : NULL;
    if (count) *count = !array ? 0 : frames ? m->frame_count : m->vertex_count;
    return array;
}

static const pelt_region *region_at(const pelt_measure *m, size_t i) {
    return m && i < m->region_count ? &m->regions[i] : NULL;
}

size_t pelt_measure_region_count(const pelt_measure *measure) { return measure ? measure->region_count : 0; }

const char *pelt_measure_region_name(const pelt_measure *measure, size_t i) {
    const pelt_region *region = region_at(measure, i);
    return region ? region->name : NULL;
}

double pelt_measure_region_number(const pelt_measure *measure, size_t i, const char *name) {
    const pelt_region *r = region_at(measure, i);
    return !r || !name                     ? NAN
           : !strcmp(name, "rms")          ? r->rms
           : !strcmp(name, "max")          ? r->max
           : !strcmp(name, "rel_err")      ? r->rel_err
           : !strcmp(name, "painted")      ? r->painted
           : !strcmp(name, "vertex_count") ? r->vertex_count
                                           : NAN;
}

const void *pelt_bytes_data(const pelt_bytes *bytes) { return bytes ? bytes->bytes : NULL; }
size_t pelt_bytes_size(const pelt_bytes *bytes) { return bytes ? bytes->size : 0; }

pelt_result pelt_export_clips(const pelt_skin *skin, pelt_bundle *bundle, const pelt_clip *const *clips,
                              size_t clip_count, const char *path, pelt_error *error) {
    pelt_export_options options = {.clips = clips, .clip_count = clip_count};
    return pelt_export(skin, bundle, &options, path, NULL, error);
}
