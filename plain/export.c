/* export.c: a character with a skin as plain glTF. */

#include "io/io.h"
#include "plain/fewer.h"
#include "plain/plain.h"
#include "plain/playable.h"
#include <pelt/export.h>

typedef struct exporting {
    pelt_arena *arena;
    const pelt_skin *skin;
    pelt_bundle *bundle;
    pelt_export_options options; /* with the defaults filled in */
    pelt_model model;
    pelt_fewer fewer;
    pelt_plain plain;
    pelt_playable targets;
} exporting;

/* The corrective as morph targets, and their weights in every frame of the clips: glTF morphs before it skins. */
static pelt_result make_targets(exporting *x, pelt_error *error) {
    const pelt_export_options *o = &x->options;
    pelt_playable_options options = {.most = o->targets, .normals = !o->plain_normals, .threads = o->threads};
    if (pelt_has_corrective(x->skin)) /* the error of the targets is measured against the truth, if there is one */
        for (size_t c = 0; c < o->clip_count; c++)
            if (!pelt_bundle_clip(x->bundle, o->clips[c]->name, PELT_NEED_POSITIONS, error) &&
                error->code == PELT_ERROR_MEMORY)
                return PELT_ERROR_MEMORY;
    return pelt_playable_of(x->arena, x->skin, &x->model, x->bundle, o->clips, o->clip_count, &options, &x->targets,
                            error);
}

static pelt_result write_plain(exporting *x, const char *path, pelt_error *error) {
    x->plain.mesh.targets = x->targets.positions, x->plain.mesh.target_count = x->targets.count;
    pelt_gltf_content content = {.mesh = &x->plain.mesh,
                                 .skeleton = &x->plain.skeleton,
                                 .clips = x->plain.clips,
                                 .clip_count = x->plain.clip_count,
                                 .clip_weights = x->targets.weights,
                                 .target_normals = x->targets.normals,
                                 .source = x->bundle->in_memory ? NULL : x->bundle->path,
                                 .name = x->bundle->path,
                                 .embed = x->options.embed,
                                 .embed_joints = x->model.skeleton->joint_count};
    return pelt_gltf_write(path, &content, error);
}

/* Vertices that follow more nodes than this. */
static uint32_t count_beyond(const pelt_mesh *mesh, uint32_t most) {
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        count += mesh->influences.first[v + 1] - mesh->influences.first[v] > most;
    return count;
}

static pelt_export_report report_of(const exporting *x) {
    const pelt_playable *t = &x->targets;
    return (pelt_export_report){.driven_count = x->model.driven_count,
                                .pair_count = x->plain.pair_count,
                                .target_count = t->count,
                                .whole_count = t->whole,
                                .beyond_four = count_beyond(&x->plain.mesh, 4),
                                .shear = x->plain.worst,
                                .refitted_count = x->fewer.vertices,
                                .refitted_frames = x->fewer.frames,
                                .refitted_worst = x->fewer.worst,
                                .refitted_rms = x->fewer.rms,
                                .compressed = t->compressed,
                                .worst = t->worst,
                                .rms = t->rms,
                                .normal_rms_degrees = t->normals_rms,
                                .has_truth = t->has_truth,
                                .true_rms = {t->truth[0], t->truth[1]}};
}

static pelt_result check(const pelt_skin *skin, const pelt_bundle *bundle, const pelt_export_options *o,
                         const char *path, pelt_error *error) {
    if (!skin || !bundle || !path)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "a skin, a bundle and a path are required, but one is NULL");
    if (o->targets < 2 || o->targets > 65535)
        return pelt_fail_option(error, "targets", " must be between 2 and 65535, not %u", o->targets);
    for (size_t c = 0; c < o->clip_count; c++)
        if (!o->clips || !pelt_is_own_clip(bundle, o->clips[c]))
            return pelt_fail_option(error, "clips", "clip %zu of the list is NULL, or belongs to another bundle", c);
    return PELT_OK;
}

pelt_result pelt_export(const pelt_skin *skin, pelt_bundle *bundle, const pelt_export_options *options,
                        const char *path, pelt_export_report *report, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    exporting x = {.skin = skin, .bundle = bundle};
    if (options) x.options = *options;
    if (!x.options.targets) x.options.targets = PELT_EXPORT_TARGETS;
    pelt_result result = check(skin, bundle, &x.options, path, error);
    if (result) return result;
    if (!(x.arena = pelt_arena_new(0))) return pelt_no_memory(error);
    result = pelt_model_unpack(x.arena, skin, &x.model, error);
    if (!result)
        result = pelt_fewer_influences(x.arena, skin, bundle, x.options.influences, x.options.threads, &x.model,
                                       &x.fewer, error);
    if (!result)
        result = pelt_plain_make(x.arena, &x.model, bundle, x.options.clips, x.options.clip_count, &x.plain, error);
    if (!result) result = make_targets(&x, error);
    if (!result) result = write_plain(&x, path, error);
    if (!result && report) *report = report_of(&x);
    pelt_arena_free(x.arena);
    return result;
}
