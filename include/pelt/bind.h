/* bind.h: pelt for other languages. Part of `libpelt-fit`.

   Functions for everything that fit.h keeps in structs: a binding loads the shared library and needs no struct layouts,
   except that pelt_transform is ten floats and that pelt_examples, which is passed by value, is a size_t and a
   pointer. In Python, after restype and argtypes have been set:

       error = create_string_buffer(lib.pelt_sizeof_error())
       body = lib.pelt_bundle_read(b"body.glb", error)
       train = c_void_p(lib.pelt_bundle_clip(body, b"train", 1, error))           # PELT_NEED_POSITIONS
       options = create_string_buffer(lib.pelt_sizeof_fit_options())              # zeros: the defaults
       lib.pelt_fit_options_set(options, b"method", b"kernel", error)
       report = create_string_buffer(lib.pelt_sizeof_fit_report())
       examples = lib.pelt_bundle_examples(body, byref(train), 1)
       skin = lib.pelt_fit(body, examples, options, report, error) or sys.exit(lib.pelt_error_text(error))
       print(lib.pelt_measure_number(lib.pelt_fit_report_holdout(report), b"rel_err"))

   Pointers that these functions return belong to the object queried. Beyond the end of a list, and for a NULL object, the
   result is NULL or 0. pelt.h and error.h have such functions for skins and errors. `python/` is a complete binding. */

#ifndef PELT_BIND_H
#define PELT_BIND_H

#include <pelt/export.h>
#include <pelt/keys_fit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The size of a struct that callers fill in, by its name, such as "pelt_character"; 0 for other names. A binding that
   lays out such a struct itself should compare sizes, so that it never passes a struct of another version. */
PELT_API size_t pelt_sizeof(const char *name);

/* -- Characters and clips ------------------------------------------------------------------------------------------- */

PELT_API const char *pelt_bundle_path(const pelt_bundle *bundle); /* for a character from memory: its name */
PELT_API int pelt_bundle_in_memory(const pelt_bundle *bundle);
PELT_API uint32_t pelt_bundle_vertex_count(const pelt_bundle *bundle);
PELT_API uint32_t pelt_bundle_triangle_count(const pelt_bundle *bundle);
PELT_API const float *pelt_bundle_positions(const pelt_bundle *bundle);    /* [vertex_count][3] at rest */
PELT_API const uint32_t *pelt_bundle_triangles(const pelt_bundle *bundle); /* [triangle_count][3] */
PELT_API const float *pelt_bundle_normals(const pelt_bundle *bundle);      /* [vertex_count][3] at rest */
PELT_API const float *pelt_bundle_uvs(const pelt_bundle *bundle);          /* [vertex_count][2]; NULL: none */
PELT_API double pelt_bundle_diagonal(const pelt_bundle *bundle);           /* in the scene, at rest */
PELT_API uint32_t pelt_bundle_joint_count(const pelt_bundle *bundle);
PELT_API const char *pelt_bundle_joint_name(const pelt_bundle *bundle, uint32_t joint);
PELT_API int32_t pelt_bundle_joint_parent(const pelt_bundle *bundle, uint32_t joint); /* -1: a root */
PELT_API const pelt_transform *pelt_bundle_rest_pose(const pelt_bundle *bundle);      /* [joint_count] */
PELT_API const double *pelt_bundle_inverse_bind(const pelt_bundle *bundle);           /* [joint_count][12] */
PELT_API const pelt_influences *pelt_bundle_influences(const pelt_bundle *bundle);    /* three pointers */
PELT_API uint32_t pelt_bundle_object_count(const pelt_bundle *bundle);
PELT_API const pelt_mesh_object *pelt_bundle_object_at(const pelt_bundle *bundle, uint32_t object);
PELT_API uint32_t pelt_bundle_control_count(const pelt_bundle *bundle);
PELT_API const char *pelt_bundle_control_name(const pelt_bundle *bundle, uint32_t control);
PELT_API float pelt_bundle_control_rest(const pelt_bundle *bundle, uint32_t control);
PELT_API uint32_t pelt_bundle_clip_count(const pelt_bundle *bundle);
PELT_API const pelt_clip *pelt_bundle_clip_at(const pelt_bundle *bundle, uint32_t clip);

PELT_API const char *pelt_clip_name(const pelt_clip *clip);
PELT_API uint32_t pelt_clip_frame_count(const pelt_clip *clip);
PELT_API const float *pelt_clip_times(const pelt_clip *clip);     /* [frame_count] */
PELT_API const float *pelt_clip_positions(const pelt_clip *clip); /* [frame_count][vertex_count][3]; NULL: not loaded */
PELT_API const float *pelt_clip_normals(const pelt_clip *clip);   /* the same; NULL: those of the surface */
PELT_API const float *pelt_clip_example_weights(const pelt_clip *clip); /* [frame_count]; NULL: all 1 */
/* Sets how to change the caches of clips requested from now on (pelt_bundle.cache); NULL: not at all. */
PELT_API void pelt_bundle_set_cache(pelt_bundle *bundle, const pelt_cache_options *options);
/* A frame of one of the bundle's clips: the pose [joint_count], and the controls [control_count], which may be NULL. */
PELT_API void pelt_bundle_pose(const pelt_bundle *bundle, const pelt_clip *clip, uint32_t frame, pelt_transform *locals,
                               float *controls);

/* pelt_bundle_new with what most characters have; see pelt_character for each argument. */
PELT_API pelt_bundle *pelt_bundle_of_arrays(const char *name, uint32_t vertex_count, const float *positions,
                                            uint32_t triangle_count, const uint32_t *triangles, uint32_t joint_count,
                                            const char *const *joint_names, const int32_t *parents,
                                            const pelt_transform *rest, uint32_t influences_per_vertex,
                                            const uint32_t *joints, const float *weights, pelt_error *error);
/* The same for pelt_bundle_add_clip. */
PELT_API const pelt_clip *pelt_bundle_add_frames(pelt_bundle *bundle, const char *name, uint32_t frame_count,
                                                 const pelt_transform *poses, const float *positions,
                                                 pelt_error *error);

/* -- What was found wrong: notes of a reader, findings of a report --------------------------------------------------- */

PELT_API const pelt_findings *pelt_bundle_notes(const pelt_bundle *bundle);
PELT_API const pelt_findings *pelt_fit_report_findings(const pelt_fit_report *report);
PELT_API size_t pelt_finding_count(const pelt_findings *findings);
PELT_API pelt_severity pelt_finding_severity(const pelt_findings *findings, size_t finding);
PELT_API const char *pelt_finding_what(const pelt_findings *findings, size_t finding);
PELT_API const char *pelt_finding_text(const pelt_findings *findings, size_t finding);

/* -- Fits and measures: pelt_fit_options_set (fit.h) takes options by name ------------------------------------------- */

PELT_API size_t pelt_sizeof_fit_options(void);
PELT_API size_t pelt_sizeof_fit_report(void);
/* The lists among the options, by name: "drop_joints" and "lock_joints" (const char *const *), "lock_vertices"
   (const uint32_t *), "control_scale" (const pelt_control_scale *) and "drive" (const pelt_drive_rule *). They are not
   copied: they and, for "drive", `rules` must stay until the fit is done. */
PELT_API pelt_result pelt_fit_options_set_list(pelt_fit_options *options, const char *name, size_t count,
                                               const void *list, pelt_drive_rules *rules, pelt_error *error);
PELT_API void pelt_fit_options_set_progress(pelt_fit_options *options,
                                            int (*step)(void *user, const char *task, double fraction), void *user);

/* Numbers of a report by the names of their fields: "seconds", "cpu_seconds", "bound", "storage_error", "damped",
   "has_corrective"; "condition" is that of pelt_condition. NAN for other names. */
PELT_API double pelt_fit_report_number(const pelt_fit_report *report, const char *name);
/* The "method", "blend" or "corrective" that was fitted; NULL for other names. */
PELT_API const char *pelt_fit_report_choice(const pelt_fit_report *report, const char *name);
/* The examples that `holdout` is measured on, in its order; and those of the second fit. */
PELT_API pelt_examples pelt_fit_report_held(const pelt_fit_report *report);
PELT_API pelt_examples pelt_fit_report_kept(const pelt_fit_report *report);
PELT_API const pelt_measure *pelt_fit_report_train(const pelt_fit_report *report);
PELT_API const pelt_measure *pelt_fit_report_holdout(const pelt_fit_report *report); /* NULL: none */

/* A number of a measure by the name of its field in fit.h, such as "rel_err" or "worst_vertex"; NAN for other names. */
PELT_API double pelt_measure_number(const pelt_measure *measure, const char *name);
/* An array by its name, "frame_rms", "frame_max", "vertex_rms" or "vertex_rough"; NULL for others. */
PELT_API const float *pelt_measure_array(const pelt_measure *measure, const char *name, size_t *count);
/* Errors by region, as in pelt_measure.regions. Numbers are "rms", "max", "rel_err", "painted" and "vertex_count". */
PELT_API size_t pelt_measure_region_count(const pelt_measure *measure);
PELT_API const char *pelt_measure_region_name(const pelt_measure *measure, size_t i);
PELT_API double pelt_measure_region_number(const pelt_measure *measure, size_t i, const char *name); /* NAN: unknown */

/* Runs a skin in many poses on several threads (0: as many as the machine has): either `locals`
   [frame_count][joint_count], as for pelt_pose, or `globals` [frame_count][joint_count][12], as for pelt_pose_matrices;
   `controls` [frame_count][control_count] may be NULL: at rest. Writes positions [frame_count][vertex_count][3] in the
   mesh's order, and normals, which may be NULL. */
PELT_API pelt_result pelt_deform_poses(const pelt_skin *skin, uint32_t frame_count, const pelt_transform *locals,
                                       const float (*globals)[12], const float *controls, uint32_t threads,
                                       float *positions, float *normals, pelt_error *error);

PELT_API const void *pelt_bytes_data(const pelt_bytes *bytes); /* aligned for pelt_open */
PELT_API size_t pelt_bytes_size(const pelt_bytes *bytes);

/* -- Export ---------------------------------------------------------------------------------------------------------- */

/* pelt_export with the defaults. */
PELT_API pelt_result pelt_export_clips(const pelt_skin *skin, pelt_bundle *bundle, const pelt_clip *const *clips,
                                       size_t clip_count, const char *path, pelt_error *error);

#ifdef __cplusplus
}
#endif
#endif
