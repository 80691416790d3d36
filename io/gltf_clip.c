/* gltf_clip.c: animations become clips.

   A channel keeps the keys and interpolation of its sampler; channels that cannot move the mesh (nodes outside the
   skeleton) are dropped. Tracks of controls and morph target weights are sampled at the frames of their clip. */

#include "io/gltf.h"
#include <string.h>

const char *const pelt_gltf_paths[] = {"translation", "rotation", "scale"};
const char *const pelt_gltf_interpolations[] = {"LINEAR", "STEP", "CUBICSPLINE"};

/* Morph target weights of a node. */
typedef struct morph_track {
    uint32_t node;
    pelt_channel keys; /* one number per target at each key */
} morph_track;

typedef struct clip_reader {
    const gltf_scene *scene;
    const float **times;  /* [accessors] key times already read */
    uint32_t *channel_of; /* [3 joints + path] 1 + channel of this clip that moves it */
    json_t *names;        /* of the clips so far */
    uint32_t empty_count;
    uint32_t morph_count; /* weight channels of the current clip */
    morph_track *morphs;  /* [channels of the clip] */
    gltf_tracks tracks;
} clip_reader;

static bool read_times(gltf *g, const float **known, gltf_item input, pelt_channel *channel) {
    gltf_accessor a;
    if (!pelt_gltf_accessor_open(g, input, "SCALAR", &a)) return false;
    channel->key_count = a.count;
    channel->times = known ? known[a.index] : NULL;
    if (channel->times) return true;
    if (a.type != GLTF_FLOAT) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, input, "key times must be floats");
    float *times = GLTF_NEW(g, g->arena, float, a.count);
    if (!times || !pelt_gltf_accessor_floats(g, &a, times)) return false;
    for (uint32_t k = 1; k < a.count; k++)
        if (!(times[k] > times[k - 1]))
            return pelt_gltf_fail(g, PELT_ERROR_DATA, input,
                                  "key times must increase, but key %u (%.9g) is not after key %u (%.9g)", k, times[k],
                                  k - 1, times[k - 1]);
    channel->times = times;
    if (known) known[a.index] = times;
    return true;
}

static bool read_values(gltf *g, gltf_item output, uint32_t size, bool scalars, pelt_channel *channel) {
    uint32_t per_key = channel->interpolation == PELT_CUBIC ? 3 : 1;
    gltf_accessor a;
    if (!pelt_gltf_accessor_open(g, output, scalars ? "SCALAR" : size == 4 ? "VEC4" : "VEC3", &a)) return false;
    if (a.count != (uint64_t)channel->key_count * per_key * (scalars ? size : 1))
        return pelt_gltf_fail(g, PELT_ERROR_DATA, output, "%u values for %u keys of %u each", a.count,
                              channel->key_count, per_key);
    if (size == 4 || scalars) a.normalized = true; /* integers are always normalized here */
    float *values = GLTF_NEW(g, g->arena, float, (size_t)a.components *a.count);
    channel->values = values;
    return values && pelt_gltf_accessor_floats(g, &a, values);
}

static bool read_interpolation(gltf *g, gltf_item item, pelt_interpolation *interpolation) {
    const char *text = pelt_gltf_text(item, "LINEAR");
    for (*interpolation = PELT_LINEAR; *interpolation <= PELT_CUBIC; ++*interpolation)
        if (!strcmp(text, pelt_gltf_interpolations[*interpolation])) return true;
    return pelt_gltf_fail(g, PELT_ERROR_FORMAT, item, "'%.40s' is not a glTF interpolation", text);
}

/* What a channel moves; *wanted is false if nothing here needs it. */
static bool read_target(gltf *g, clip_reader *reader, gltf_item target, pelt_channel *channel, bool *wanted) {
    gltf_item node_item = pelt_gltf_member(target, "node"), path_item = pelt_gltf_member(target, "path");
    const char *path = pelt_gltf_text(path_item, "");
    uint32_t node;
    *wanted = false;
    if (!node_item.json) return true;
    if (!pelt_gltf_reference(g, node_item, "nodes", &node)) return false;
    if (!strcmp(path, "weights")) return true; /* read elsewhere */
    for (channel->path = PELT_TRANSLATION; strcmp(path, pelt_gltf_paths[channel->path]); channel->path++)
        if (channel->path == PELT_SCALE)
            return pelt_gltf_fail(g, PELT_ERROR_FORMAT, path_item, "'%.40s' cannot be animated", path);
    *wanted = reader->scene->joints[node] >= 0;
    channel->joint = *wanted ? (uint32_t)reader->scene->joints[node] : 0;
    return true;
}

bool pelt_gltf_read_sampler(gltf *g, gltf_item animation, gltf_item item, const float **known, uint32_t size,
                            bool scalars, pelt_channel *channel) {
    gltf_item reference = pelt_gltf_member(item, "sampler"), samplers = pelt_gltf_member(animation, "samplers");
    uint32_t sampler_count;
    uint64_t index;
    if (!pelt_gltf_length(g, samplers, &sampler_count) || !pelt_gltf_natural(g, reference, UINT64_MAX, &index))
        return false;
    if (index >= sampler_count)
        return pelt_gltf_fail(g, PELT_ERROR_INDEX, reference, "names none of the animation's %u samplers",
                              sampler_count);
    gltf_item sampler = pelt_gltf_element(samplers, (size_t)index);
    return read_interpolation(g, pelt_gltf_member(sampler, "interpolation"), &channel->interpolation) &&
           read_times(g, known, pelt_gltf_member(sampler, "input"), channel) &&
           read_values(g, pelt_gltf_member(sampler, "output"), size, scalars, channel);
}

static bool read_channel(gltf *g, clip_reader *reader, gltf_item animation, gltf_item item, pelt_channel *channel,
                         bool *wanted) {
    *channel = (pelt_channel){0};
    if (!read_target(g, reader, pelt_gltf_member(item, "target"), channel, wanted)) return false;
    return !*wanted || pelt_gltf_read_sampler(g, animation, item, reader->times, channel->path == PELT_ROTATION ? 4 : 3,
                                              false, channel);
}

static bool read_track(gltf *g, clip_reader *reader, gltf_item animation, gltf_item item) {
    pelt_channel keys = {0};
    uint32_t control;
    bool wanted;
    if (!pelt_gltf_track_target(g, &reader->tracks, pelt_gltf_member(item, "target"), &control, &wanted)) return false;
    if (!wanted) return true;
    return pelt_gltf_read_sampler(g, animation, item, reader->times, 1, true, &keys) &&
           pelt_gltf_add_track(g, &reader->tracks, g->bundle->clip_count, control, &keys);
}

/* Target weights: one number per key and target of the node's mesh. */
static bool read_morph(gltf *g, clip_reader *reader, gltf_item animation, gltf_item item) {
    gltf_item node = pelt_gltf_member(pelt_gltf_member(item, "target"), "node");
    morph_track *track = &reader->morphs[reader->morph_count];
    *track = (morph_track){0};
    if (!node.json) return true;
    if (!pelt_gltf_reference(g, node, "nodes", &track->node)) return false;
    uint32_t targets = reader->scene->target_counts[track->node];
    if (!targets) return true; /* the node is outside the scene, or has no targets */
    reader->morph_count++;
    return pelt_gltf_read_sampler(g, animation, item, reader->times, targets, true, &track->keys);
}

/* If two channels move the same property, the last one wins, as in three.js. */
static bool read_channels(gltf *g, clip_reader *reader, gltf_item animation, pelt_clip *clip) {
    gltf_item list = pelt_gltf_member(animation, "channels");
    uint32_t count;
    if (!pelt_gltf_length(g, list, &count)) return false;
    pelt_channel *channels = GLTF_NEW(g, g->arena, pelt_channel, count);
    reader->morphs = GLTF_NEW(g, g->scratch, morph_track, count);
    reader->morph_count = 0;
    if (g->error.code) return false;
    for (uint32_t i = 0; i < count; i++) {
        pelt_channel channel;
        bool wanted;
        gltf_item item = pelt_gltf_element(list, i);
        if (!strcmp(pelt_gltf_text(pelt_gltf_member(pelt_gltf_member(item, "target"), "path"), ""), "pointer")) {
            if (!read_track(g, reader, animation, item)) return false;
            continue;
        }
        if (!strcmp(pelt_gltf_text(pelt_gltf_member(pelt_gltf_member(item, "target"), "path"), ""), "weights") &&
            !read_morph(g, reader, animation, item))
            return false;
        if (!read_channel(g, reader, animation, item, &channel, &wanted)) return false;
        if (!wanted) continue;
        uint32_t *slot = &reader->channel_of[3 * (size_t)channel.joint + channel.path];
        if (!*slot) *slot = ++clip->channel_count;
        channels[*slot - 1] = channel;
    }
    for (uint32_t i = 0; i < clip->channel_count; i++)
        reader->channel_of[3 * (size_t)channels[i].joint + channels[i].path] = 0;
    clip->channels = channels;
    return true;
}

/* The weights of all targets in the frames of the clip. */
static bool sample_morphs(gltf *g, const clip_reader *reader, pelt_clip *clip) {
    size_t all = g->bundle->mesh.target_count, frames = clip->frame_count, total;
    if (!reader->morph_count || !frames) return true;
    if (__builtin_mul_overflow(all, frames, &total)) return pelt_gltf_out_of_memory(g);
    float *weights = GLTF_NEW(g, g->arena, float, total);
    if (!weights) return false;
    for (uint32_t m = 0; m < reader->morph_count; m++) {
        const morph_track *track = &reader->morphs[m];
        uint32_t targets = reader->scene->target_counts[track->node], first = reader->scene->first_targets[track->node];
        uint32_t count = track->keys.key_count * (track->keys.interpolation == PELT_CUBIC ? 3 : 1);
        float *values = GLTF_NEW(g, g->scratch, float, count);
        pelt_channel one = track->keys;
        if (!values) return false;
        one.values = values;
        for (uint32_t t = 0; t < targets; t++) {
            for (uint32_t k = 0; k < count; k++) values[k] = track->keys.values[(size_t)k * targets + t];
            for (size_t f = 0; f < frames; f++) weights[f * all + first + t] = pelt_track_value(&one, clip->times[f]);
        }
    }
    clip->target_weights = weights;
    return true;
}

/* The animation's name, made unique: "walk", "walk_2". */
static bool name_clip(gltf *g, clip_reader *reader, gltf_item animation, uint32_t index, pelt_clip *clip) {
    const char *name = pelt_gltf_text(pelt_gltf_member(animation, "name"), NULL);
    char *unique =
        name && *name ? pelt_arena_format(g->arena, "%s", name) : pelt_arena_format(g->arena, "clip%u", index);
    for (json_int_t number; unique && (number = json_integer_value(json_object_get(reader->names, unique))) > 0;) {
        /* A name's count only grows, so many clips of one name cost no more than many names. */
        json_object_set_new(reader->names, unique, json_integer(number + 1));
        unique = pelt_arena_format(g->arena, "%s_%lld", unique, (long long)number + 1);
    }
    if (!unique) return pelt_gltf_out_of_memory(g);
    json_object_set_new(reader->names, unique, json_integer(1));
    clip->name = unique;
    return true;
}

static bool read_animations(gltf *g, clip_reader *reader) {
    pelt_bundle *bundle = g->bundle;
    gltf_item list = pelt_gltf_member(g->root, "animations");
    uint32_t count, accessor_count;
    if (!pelt_gltf_length(g, list, &count) ||
        !pelt_gltf_length(g, pelt_gltf_member(g->root, "accessors"), &accessor_count))
        return false;
    pelt_clip *clips = GLTF_NEW(g, g->arena, pelt_clip, count);
    bundle->clips = GLTF_NEW(g, g->arena, const pelt_clip *, count);
    g->animations = GLTF_NEW(g, g->scratch, uint32_t, count);
    reader->times = GLTF_NEW(g, g->scratch, const float *, accessor_count);
    reader->channel_of = GLTF_NEW(g, g->scratch, uint32_t, 3 * (size_t)bundle->skeleton.joint_count);
    if (g->error.code) return false;
    for (uint32_t i = 0; i < count; i++) {
        gltf_item animation = pelt_gltf_element(list, i);
        pelt_clip *clip = &clips[bundle->clip_count];
        *clip = (pelt_clip){0};
        uint32_t first = reader->tracks.count;
        if (!read_channels(g, reader, animation, clip)) return false;
        if (!clip->channel_count && reader->tracks.count == first) {
            reader->empty_count++;
            continue;
        }
        if (!pelt_gltf_merge_times(g, &reader->tracks, first, clip) || !sample_morphs(g, reader, clip)) return false;
        if (!name_clip(g, reader, animation, i, clip)) return false;
        g->animations[bundle->clip_count] = i;
        bundle->clips[bundle->clip_count++] = clip;
    }
    return true;
}

bool pelt_gltf_read_clips(gltf *g, const gltf_scene *scene) {
    clip_reader reader = {.scene = scene, .names = json_object(), .tracks = {.controls = {.places = json_object()}}};
    bool done =
        reader.names && reader.tracks.controls.places ? read_animations(g, &reader) : pelt_gltf_out_of_memory(g);
    done = done && pelt_gltf_sample_tracks(g, &reader.tracks);
    json_decref(reader.names);
    json_decref(reader.tracks.controls.places);
    if (reader.empty_count)
        pelt_find(&g->bundle->notes, g->arena, PELT_NOTE, "empty-clip",
                  "%u animations move neither a joint of the skeleton nor a control; they are left out",
                  reader.empty_count);
    return done;
}
