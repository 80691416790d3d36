/* gltf_track.c: animations of a file whose skin has changed.

   A clip's animation keeps its channels and gains those of new joints, and weights for every mesh with new targets. A
   weight channel has one value per target of its mesh, the file's first and then the new ones; so the file's own
   channels of such meshes get wider, in all animations. In clips that are written, a file's channel and the new weights
   are merged, at the keys of both. */

#include "io/gltf_out.h"
#include "rig/json.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights over time. */
typedef struct track {
    pelt_interpolation interpolation;
    uint32_t key_count, width;
    const float *times;
    const float *values; /* [key_count][width]; PELT_CUBIC: [key_count][in-tangent, value, out-tangent][width] */
} track;

/* What to add to an animation: a clip of the content. */
typedef struct addition {
    const pelt_clip *clip;
    const float *weights; /* [frame_count][target_count]; NULL: none, unless `plays` */
    bool plays;           /* frame i shows target i alone */
} addition;

/* -- The file's weights ---------------------------------------------------------------------------------------------- */

static bool read_track(gltf_editing *e, gltf_item animation, gltf_item channel, uint32_t width, track *t) {
    pelt_channel keys = {0};
    if (!pelt_gltf_read_sampler(e->g, animation, channel, NULL, width, true, &keys)) return false;
    *t = (track){keys.interpolation, keys.key_count, width, keys.times, keys.values};
    return true;
}

/* -- Sampling -------------------------------------------------------------------------------------------------------- */

static const float *key_values(const track *t, size_t key) {
    return t->interpolation == PELT_CUBIC ? t->values + (3 * key + 1) * t->width : t->values + key * t->width;
}

/* Values of a track at a time, as glTF defines them; constant before the first and after the last key. */
static void sample(const track *t, float time, float *out) {
    uint32_t last = t->key_count - 1, low = 0, high = last;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (t->times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    if (time >= t->times[high]) low = high;
    float span = t->times[high] - t->times[low],
          u = low < high && time > t->times[low] ? (time - t->times[low]) / span : 0;
    const float *a = key_values(t, low), *b = key_values(t, high);
    for (uint32_t i = 0; i < t->width; i++) {
        if (t->interpolation == PELT_STEP || u == 0)
            out[i] = a[i];
        else if (t->interpolation == PELT_LINEAR)
            out[i] = a[i] + u * (b[i] - a[i]);
        else {
            float leaving = span * a[i + t->width], arriving = span * b[(ptrdiff_t)i - (ptrdiff_t)t->width];
            out[i] = (2 * u * u * u - 3 * u * u + 1) * a[i] + (u * u * u - 2 * u * u + u) * leaving +
                     (3 * u * u - 2 * u * u * u) * b[i] + (u * u * u - u * u) * arriving;
        }
    }
}

/* Keys of two tracks, increasing; where one of them steps, also the instant before, so that linear interpolation steps
   too. A spline gets extra keys between its own. */
static float *merge_times(pelt_arena *arena, const track *a, const track *b, uint32_t *count) {
    enum { BETWEEN = 16 };
    const track *both[] = {a, b};
    size_t most = 0;
    for (int i = 0; i < 2; i++)
        most += both[i]->key_count * (both[i]->interpolation == PELT_CUBIC ? BETWEEN : (size_t)2);
    float *list = PELT_NEW(arena, most, float);
    size_t n = 0;
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < both[i]->key_count; k++) {
            float at = both[i]->times[k], before = k ? both[i]->times[k - 1] : at;
            list[n++] = at;
            if (k && both[i]->interpolation == PELT_STEP) list[n++] = fmaxf(nextafterf(at, -1), before);
            for (int s = 1; k && both[i]->interpolation == PELT_CUBIC && s < BETWEEN; s++)
                list[n++] = before + (at - before) * (float)s / BETWEEN;
        }
    qsort(list, n, sizeof *list, pelt_rising_floats);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (!*count || list[i] > list[*count - 1]) list[(*count)++] = list[i];
    return list;
}

/* -- Writing --------------------------------------------------------------------------------------------------------- */

static void write_track(gltf_editing *e, json_t *animation, json_t *channel, uint32_t node, const track *t) {
    gltf_output *out = e->out;
    size_t count = (size_t)t->key_count * t->width * (t->interpolation == PELT_CUBIC ? 3 : 1);
    int times = pelt_gltf_add_times(out, t->times, t->key_count);
    int values = pelt_gltf_add_array(out, t->values, count * sizeof(float), 0, GLTF_FLOAT, "SCALAR", (uint32_t)count);
    if (!channel) {
        pelt_gltf_add_channel(out, animation, (int)node, "weights", times, values,
                              pelt_gltf_interpolations[t->interpolation]);
        return;
    }
    pelt_gltf_set(out, json_object_get(channel, "target"), "node", json_integer(node));
    json_t *samplers = json_object_get(animation, "samplers"); /* other channels may use the old one */
    pelt_gltf_set(out, channel, "sampler", json_integer((json_int_t)json_array_size(samplers)));
    pelt_gltf_append(out, samplers,
                     json_pack("{s:i, s:i, s:s}", "input", times, "output", values, "interpolation",
                               pelt_gltf_interpolations[t->interpolation]));
}

/* The file's weights, padded with zeros for the new targets. */
static track lengthen(pelt_arena *arena, const track *from, uint32_t more) {
    track t = *from;
    size_t rows = (size_t)t.key_count * (t.interpolation == PELT_CUBIC ? 3 : 1);
    t.width += more;
    float *values = PELT_NEW(arena, rows * t.width, float);
    for (size_t r = 0; r < rows; r++)
        memcpy(values + r * t.width, from->values + r * from->width, from->width * sizeof *values);
    t.values = values;
    return t;
}

/* The weights of a mesh's new targets in a clip. */
static track new_weights(gltf_editing *e, const gltf_morphed *m, const addition *a) {
    uint32_t all = e->out->content->mesh->target_count;
    bool step = a->plays || (a->clip->channel_count && a->clip->channels[0].interpolation == PELT_STEP);
    track t = {step ? PELT_STEP : PELT_LINEAR, a->clip->frame_count, m->count, a->clip->times, NULL};
    float *values = PELT_NEW(e->out->arena, (size_t)t.key_count * t.width, float);
    for (size_t f = 0; f < t.key_count; f++)
        for (uint32_t i = 0; i < t.width; i++)
            values[f * t.width + i] = a->plays ? m->targets[i] == f : a->weights[f * all + m->targets[i]];
    t.values = values;
    return t;
}

/* Both in one track: the file's targets first. */
static track join(gltf_editing *e, const gltf_morphed *m, const track *file, const track *ours) {
    pelt_arena *arena = e->out->arena;
    track t = *ours;
    t.width = m->before + m->count;
    if (file) t.interpolation = PELT_LINEAR, t.times = merge_times(arena, file, ours, &t.key_count);
    float *values = PELT_NEW(arena, (size_t)t.key_count * t.width, float);
    for (uint32_t k = 0; k < t.key_count; k++) {
        float *row = values + (size_t)k * t.width;
        if (file)
            sample(file, t.times[k], row);
        else
            memcpy(row, m->rest, m->before * sizeof *row);
        sample(ours, t.times[k], row + m->before);
    }
    t.values = values;
    return t;
}

/* -- Channels -------------------------------------------------------------------------------------------------------- */

static bool targets_node(const json_t *channel, uint32_t node, const char *path) {
    const json_t *target = json_object_get(channel, "target"), *number = json_object_get(target, "node");
    const char *word = json_string_value(json_object_get(target, "path"));
    return word && !strcmp(word, path) && json_is_number(number) && json_number_value(number) == node;
}

/* The last channel that moves a property wins. */
static json_t *find_channel(const json_t *animation, uint32_t node, size_t *index) {
    const json_t *channels = json_object_get(animation, "channels");
    for (*index = json_array_size(channels); (*index)-- > 0;)
        if (targets_node(json_array_get(channels, *index), node, "weights")) return json_array_get(channels, *index);
    return NULL;
}

static bool edit_weights(gltf_editing *e, uint32_t index, json_t *animation, const gltf_morphed *m, const addition *a) {
    gltf_item item = pelt_gltf_entry(e->g, "animations", index);
    size_t at;
    json_t *channel = find_channel(animation, m->file_node, &at);
    track file, ours;
    bool baked = a && a->clip->frame_count && (a->plays || a->weights);
    if (channel && !read_track(e, item, pelt_gltf_element(pelt_gltf_member(item, "channels"), at), m->before, &file))
        return false;
    if (!channel && !baked) return true;
    if (baked) ours = new_weights(e, m, a);
    if (channel) {
        const json_t *sampler =
            pelt_gltf_referred(json_object_get(animation, "samplers"), json_object_get(channel, "sampler"));
        pelt_gltf_release(e, json_object_get(sampler, "input")),
            pelt_gltf_release(e, json_object_get(sampler, "output"));
    }
    track t = baked ? join(e, m, channel ? &file : NULL, &ours) : lengthen(e->out->arena, &file, m->count);
    write_track(e, animation, channel, m->node, &t);
    return true;
}

/* Channels of joints that the file does not have. */
static void add_joint_channels(gltf_editing *e, json_t *animation, const pelt_clip *clip, bool all) {
    gltf_output *out = e->out;
    for (uint32_t c = 0; c < clip->channel_count; c++) {
        const pelt_channel *channel = &clip->channels[c];
        if (!all && e->joint_of[channel->joint] != UINT32_MAX) continue;
        int input = pelt_gltf_add_times(out, channel->times, channel->key_count);
        int output = pelt_gltf_add_channel_values(out, channel);
        pelt_gltf_add_channel(out, animation, (int)e->node_of[channel->joint], pelt_gltf_paths[channel->path], input,
                              output, pelt_gltf_interpolations[channel->interpolation]);
    }
}

/* Removes the skeleton's motion from an animation: the targets already contain it. */
static void hold_joints_still(gltf_editing *e, json_t *animation) {
    json_t *channels = json_object_get(animation, "channels");
    const json_t *samplers = json_object_get(animation, "samplers");
    for (size_t i = json_array_size(channels); i-- > 0;) {
        const json_t *channel = json_array_get(channels, i), *target = json_object_get(channel, "target");
        const json_t *node = json_object_get(target, "node"), *path = json_object_get(target, "path");
        size_t number;
        if (!json_is_string(path) || !strcmp(json_string_value(path), "weights")) continue;
        if (!pelt_gltf_is_index(node, e->scene.node_count, &number) || e->scene.joints[number] < 0) continue;
        const json_t *sampler = pelt_gltf_referred(samplers, json_object_get(channel, "sampler"));
        pelt_gltf_release(e, json_object_get(sampler, "input")),
            pelt_gltf_release(e, json_object_get(sampler, "output"));
        if (json_array_remove(channels, i)) pelt_arena_fail(e->out->arena);
    }
}

/* Drops samplers that no channel plays any more. */
static void drop_samplers(gltf_editing *e, json_t *animation) {
    json_t *channels = json_object_get(animation, "channels"), *samplers = json_object_get(animation, "samplers");
    size_t n = json_array_size(samplers), kept = 0, channel_count = json_array_size(channels);
    size_t *place = PELT_NEW(e->out->arena, n, size_t);
    for (size_t c = 0; c < channel_count; c++) {
        size_t index;
        if (pelt_gltf_is_index(json_object_get(json_array_get(channels, c), "sampler"), n, &index)) place[index] = 1;
    }
    for (size_t s = 0; s < n; s++) place[s] = place[s] ? ++kept : 0;
    if (kept == n) return;
    for (size_t c = 0; c < channel_count; c++) {
        json_t *channel = json_array_get(channels, c);
        size_t index;
        if (pelt_gltf_is_index(json_object_get(channel, "sampler"), n, &index))
            pelt_gltf_set(e->out, channel, "sampler", json_integer((json_int_t)place[index] - 1));
    }
    for (size_t s = n; s-- > 0;)
        if (!place[s] && json_array_remove(samplers, s)) pelt_arena_fail(e->out->arena);
}

/* -- All ------------------------------------------------------------------------------------------------------------- */

/* What the content adds to an animation of the file; false if nothing. */
static bool find_addition(gltf_editing *e, uint32_t animation, addition *a) {
    const pelt_gltf_content *content = e->out->content;
    const pelt_bundle *bundle = e->g->bundle;
    const char *name = NULL;
    for (uint32_t c = 0; c < bundle->clip_count; c++)
        if (e->g->animations[c] == animation) name = bundle->clips[c]->name;
    if (!name) return false;
    if (content->play_targets && !strcmp(content->play_targets->name, name)) {
        *a = (addition){content->play_targets, NULL, true};
        return true;
    }
    for (uint32_t c = 0; c < content->clip_count; c++)
        if (!strcmp(content->clips[c]->name, name)) {
            *a = (addition){content->clips[c], content->clip_weights ? content->clip_weights[c] : NULL, false};
            return true;
        }
    return false;
}

static bool edit_animation(gltf_editing *e, uint32_t index, json_t *animation, const addition *a, bool is_new) {
    size_t before = json_array_size(json_object_get(animation, "samplers"));
    if (a && a->plays) hold_joints_still(e, animation);
    if (a && !a->plays) add_joint_channels(e, animation, a->clip, is_new);
    for (uint32_t m = 0; m < e->morphed_count; m++)
        if (!edit_weights(e, index, animation, &e->morphed[m], a)) return false;
    if (json_array_size(json_object_get(animation, "samplers")) != before || (a && a->plays))
        drop_samplers(e, animation);
    return true;
}

static bool is_in_file(const gltf_editing *e, const pelt_clip *clip) {
    if (e->out->content->only_clips) return false;
    for (uint32_t c = 0; c < e->g->bundle->clip_count; c++)
        if (!strcmp(e->g->bundle->clips[c]->name, clip->name)) return true;
    return false;
}

/* A clip that the file does not have, with all its channels. */
static bool add_animation(gltf_editing *e, const addition *a) {
    gltf_output *out = e->out;
    if (is_in_file(e, a->clip) || !(a->plays || a->weights || a->clip->channel_count)) return true;
    json_t *animations = pelt_gltf_get(out, out->root, "animations", json_array);
    uint32_t index = (uint32_t)json_array_size(animations);
    json_t *animation = pelt_gltf_append(out, animations, json_pack("{s:o}", "name", pelt_json_text(a->clip->name)));
    return edit_animation(e, index, animation, a, true);
}

static void drop_animations(gltf_editing *e) {
    size_t i, k;
    json_t *animation, *sampler;
    json_array_foreach(json_object_get(e->out->root, "animations"), i, animation)
        json_array_foreach(json_object_get(animation, "samplers"), k, sampler) {
        pelt_gltf_release(e, json_object_get(sampler, "input"));
        pelt_gltf_release(e, json_object_get(sampler, "output"));
    }
    json_object_del(e->out->root, "animations");
}

bool pelt_gltf_edit_animations(gltf_editing *e) {
    const pelt_gltf_content *content = e->out->content;
    if (content->only_clips) drop_animations(e);
    json_t *animations = json_object_get(e->out->root, "animations");
    uint32_t count = (uint32_t)json_array_size(animations);
    for (uint32_t i = 0; i < count; i++) {
        addition a;
        bool found = find_addition(e, i, &a);
        if (!edit_animation(e, i, json_array_get(animations, i), found ? &a : NULL, false)) return false;
    }
    for (uint32_t c = 0; c < content->clip_count; c++) {
        addition a = {content->clips[c], content->clip_weights ? content->clip_weights[c] : NULL, false};
        if (!add_animation(e, &a)) return false;
    }
    addition play = {content->play_targets, NULL, true};
    return !content->play_targets || add_animation(e, &play);
}
