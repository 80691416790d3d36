/* export_frames.c: a clip deformed by a skin: a point cache, or glTF with one morph target per frame. */

#include "io/io.h"
#include "io/like.h"
#include "rig/maths.h"
#include <math.h>
#include <pelt/export.h>
#include <string.h>

typedef struct deforming {
    const pelt_skin *skin;
    const pelt_bundle *bundle;
    const pelt_clip *clip;
    pelt_export_frames_options options;
    pelt_arena *arena;
    pelt_player *player;
    float *slots;
} deforming;

/* Positions of a frame in the file's order. A pose may exceed the range of floats; such a file would be useless. */
static pelt_result deform(deforming *d, uint32_t frame, float *positions, pelt_error *error) {
    const void *pose = pelt_player_pose(d->player, d->clip, frame);
    if (pelt_should_stop(&d->options.progress, "deforming", (double)frame / d->clip->frame_count))
        return pelt_stopped(error);
    if (d->options.deform) {
        pelt_result result = d->options.deform(d->options.user, pose, d->slots, error);
        if (result) return result;
    } else {
        pelt_deform(d->skin, pose, pelt_all_blocks(d->skin), d->slots, NULL);
    }
    for (size_t v = 0; v < d->skin->vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            positions[3 * v + i] = d->slots[3 * (size_t)d->skin->vertex_slots[v] + i];
            if (!isfinite(positions[3 * v + i]))
                return pelt_fail(error, PELT_ERROR_NUMBER,
                                 "clip \"%s\", frame %u: vertex %zu has a position that is not finite; check the clip "
                                 "with `pelt info`",
                                 d->clip->name, frame, v);
        }
    return PELT_OK;
}

/* -- A cache -------------------------------------------------------------------------------------------------------- */

/* Frames per second of a clip, for formats that store it. */
static double frame_rate(const pelt_clip *clip) {
    if (clip->frame_count < 2) return 30;
    double span = (double)clip->times[clip->frame_count - 1] - clip->times[0];
    return span > 0 ? (clip->frame_count - 1) / span : 30;
}

static pelt_result write_cache(deforming *d, const char *path, pelt_error *error) {
    const pelt_export_frames_options *o = &d->options;
    pelt_cache_form as;
    float *positions = PELT_NEW(d->arena, 3 * (size_t)d->bundle->mesh.vertex_count, float);
    if (!positions) return pelt_no_memory(error);
    if (pelt_cache_form_find(d->arena, d->bundle, d->clip, o->like, o->like_clip, &as, error)) return error->code;
    pelt_cache_writer *writer = pelt_cache_writer_open(path, as.frame_count, &as.mesh, frame_rate(d->clip), error);
    if (!writer) return error->code;
    pelt_result result = PELT_OK;
    for (uint32_t f = 0; !result && f < as.frame_count; f++) {
        result = deform(d, pelt_cache_form_key(&as, f), positions, error);
        if (!result) pelt_cache_writer_frame(writer, pelt_cache_form_points(&as, positions));
    }
    if (!result) return pelt_cache_writer_commit(writer, error);
    pelt_cache_writer_drop(writer);
    return result;
}

/* -- glTF that any viewer plays: frame i is a morph target that is switched on at its time, while the skeleton rests
   - */

/* The inverses of the file's own blend of each vertex in the rest pose; *flat counts the singular ones, which get
   zeros. A bundle from memory has no file: the new one has no skin. */
static pelt_affine *unblend_rest(pelt_arena *arena, const pelt_bundle *bundle, uint32_t *flat) {
    const pelt_influences *in = &bundle->mesh.influences;
    uint32_t n = bundle->mesh.vertex_count;
    const pelt_affine *matrices = pelt_frame_matrices(arena, &bundle->skeleton, NULL, 0);
    pelt_affine *inverses = PELT_NEW(arena, n, pelt_affine);
    if (pelt_arena_failed(arena)) return NULL;
    *flat = 0;
    for (uint32_t v = 0; v < n; v++) {
        pelt_affine blend = bundle->in_memory ? pelt_identity : pelt_blend_matrix(in, v, matrices);
        if (pelt_affine_invert(&blend, &inverses[v])) continue;
        inverses[v] = (pelt_affine){{0}};
        ++*flat;
    }
    return inverses;
}

/* Targets that the file's own skin, at rest, maps to the positions of every frame. */
static pelt_result make_targets(deforming *d, pelt_mesh *mesh, pelt_error *error) {
    uint32_t n = mesh->vertex_count, flat;
    mesh->targets = PELT_NEW(d->arena, d->clip->frame_count, pelt_target);
    uint32_t *all = PELT_NEW(d->arena, n, uint32_t);
    const pelt_affine *inverses = unblend_rest(d->arena, d->bundle, &flat);
    if (!mesh->targets || !all || !inverses) return pelt_no_memory(error);
    mesh->target_count = d->clip->frame_count;
    for (uint32_t v = 0; v < n; v++) all[v] = v;
    for (uint32_t f = 0; f < d->clip->frame_count; f++) {
        float *deltas = PELT_NEW(d->arena, 3 * (size_t)n, float);
        char *name = pelt_arena_format(d->arena, "%s.%u", d->clip->name, f);
        if (!deltas || !name) return pelt_no_memory(error);
        if (deform(d, f, deltas, error)) return error->code;
        for (uint32_t v = 0; v < n; v++) {
            float *delta = deltas + 3 * (size_t)v;
            const float *rest = mesh->positions + 3 * (size_t)v;
            double back[3];
            pelt_affine_point(&inverses[v], (double[3]){delta[0], delta[1], delta[2]}, back);
            bool flattened = inverses[v].m[0] == 0 && !memcmp(inverses[v].m, inverses[v].m + 4, 8 * sizeof(double));
            for (int i = 0; i < 3; i++) delta[i] = flattened ? 0 : (float)(back[i] - rest[i]);
        }
        mesh->targets[f] = (pelt_target){name, n, all, deltas};
    }
    if (d->options.flattened) *d->options.flattened = flat;
    return PELT_OK;
}

static pelt_result write_gltf(deforming *d, const char *path, pelt_error *error) {
    pelt_mesh mesh = d->bundle->mesh;
    pelt_gltf_content content = {
        .mesh = &mesh, .play_targets = d->clip, .source = d->bundle->in_memory ? NULL : d->bundle->path};
    pelt_result result = make_targets(d, &mesh, error);
    return result ? result : pelt_gltf_write(path, &content, error);
}

pelt_result pelt_export_frames(const pelt_skin *skin, const pelt_bundle *bundle, const pelt_clip *clip,
                               const pelt_export_frames_options *options, const char *path, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    deforming d = {.skin = skin, .bundle = bundle, .clip = clip};
    if (options) d.options = *options;
    if (d.options.flattened) *d.options.flattened = 0;
    if (!skin || !bundle || !clip || !path)
        return pelt_fail(error, PELT_ERROR_ARGUMENT,
                         "a skin, a bundle, a clip and a path are required, but one is NULL");
    bool gltf = pelt_ends_with(path, ".glb") || pelt_ends_with(path, ".gltf");
    if (d.options.like && (gltf || pelt_ends_with(path, ".poses")))
        return pelt_fail_option(error, "like", "%s is not a cache, so it cannot match the layout of one", path);
    if (pelt_ends_with(path, ".poses")) return pelt_poses_write(path, bundle, clip, error);
    if (!(d.player = pelt_player_new(skin, bundle, error))) return error->code;
    d.arena = pelt_arena_new(0);
    d.slots = pelt_alloc(d.arena, pelt_output_size(skin), 1);
    pelt_result result = !d.slots ? pelt_no_memory(error)
                         : gltf   ? write_gltf(&d, path, error)
                                  : write_cache(&d, path, error);
    pelt_arena_free(d.arena);
    pelt_player_free(d.player);
    return result;
}
