/* gltf_control.c: named numbers of a glTF file: the "extras" of nodes, and animations of them.

   KHR_animation_pointer lets a channel animate any number of the file, named by a JSON pointer. One that ends in
   /extras/NAME, such as /nodes/3/extras/tension, is a track of the control NAME, whose rest value is the number that
   the pointer refers to. Other pointers are ignored. */

#include "io/gltf.h"
#include <math.h>
#include <string.h>

/* -- Names --------------------------------------------------------------------------------------------------------- */

static bool grow(gltf *g, gltf_names *list) {
    uint32_t capacity = 2 * list->capacity + 16;
    const char **names = GLTF_NEW(g, g->scratch, const char *, capacity);
    float *rest = GLTF_NEW(g, g->scratch, float, capacity);
    if (g->error.code) return false;
    if (list->count) {
        memcpy(names, list->names, list->count * sizeof *names);
        memcpy(rest, list->rest, list->count * sizeof *rest);
    }
    list->names = names, list->rest = rest, list->capacity = capacity;
    return true;
}

/* The index of a name in the list, which is added if missing. */
static bool place_name(gltf *g, gltf_names *list, const char *name, float rest, uint32_t *place) {
    const json_t *known = json_object_get(list->places, name);
    *place = known ? (uint32_t)json_integer_value(known) : list->count;
    if (known) return true;
    char *copy = pelt_arena_format(g->arena, "%s", name);
    if (!copy) return pelt_gltf_out_of_memory(g);
    if (list->count == list->capacity && !grow(g, list)) return false;
    list->names[list->count] = copy;
    list->rest[list->count] = rest;
    if (json_object_set_new(list->places, name, json_integer(list->count))) return pelt_gltf_out_of_memory(g);
    list->count++;
    return true;
}

static bool keep_names(gltf *g, const gltf_names *list, pelt_controls *out) {
    *out = (pelt_controls){.names = GLTF_NEW(g, g->arena, const char *, list->count),
                           .rest = GLTF_NEW(g, g->arena, float, list->count)};
    if (g->error.code) return false;
    for (uint32_t i = 0; i < list->count; i++) out->names[i] = list->names[i], out->rest[i] = list->rest[i];
    out->count = list->count;
    return true;
}

static bool usable_number(const json_t *value, float *number) {
    double x = json_number_value(value);
    *number = (float)x;
    return json_is_number(value) && fabs(x) <= PELT_LARGEST_CONTROL;
}

/* -- Extras -------------------------------------------------------------------------------------------------------- */

static bool read_extras(gltf *g, gltf_names *list) {
    const json_t *nodes = json_object_get(g->json, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        json_t *extras = json_object_get(json_array_get(nodes, i), "extras"), *value;
        const char *name;
        json_object_foreach(extras, name, value) {
            float rest;
            uint32_t place;
            if (!*name || !usable_number(value, &rest) || list->count >= PELT_MOST_CONTROLS) continue;
            if (!place_name(g, list, name, rest, &place)) return false;
        }
    }
    return true;
}

bool pelt_gltf_read_extras(gltf *g) {
    gltf_names list = {.places = json_object()};
    bool done =
        list.places ? read_extras(g, &list) && keep_names(g, &list, &g->bundle->extras) : pelt_gltf_out_of_memory(g);
    json_decref(list.places);
    return done;
}

/* -- Pointers ------------------------------------------------------------------------------------------------------ */

enum { LONGEST_NAME = 200 };

/* One part of a JSON pointer, up to the next slash, with ~1 and ~0 unescaped; NULL if too long. */
static const char *pointer_part(const char *at, char part[LONGEST_NAME + 1]) {
    size_t length = 0;
    for (; *at && *at != '/'; at++) {
        part[length] = 0; /* the caller gets a string in any case */
        if (length == LONGEST_NAME) return NULL;
        bool escape = *at == '~' && (at[1] == '0' || at[1] == '1');
        if (escape) at++;
        part[length++] = !escape ? *at : *at == '1' ? '/' : '~';
    }
    part[length] = 0;
    return at;
}

/* Follows a pointer into the file; `name` gets its last part, *inside whether that is in "extras". */
static const json_t *follow(const json_t *root, const char *pointer, char name[LONGEST_NAME + 1], bool *inside) {
    const json_t *value = root;
    *inside = false;
    name[0] = 0;
    while (pointer && *pointer == '/') {
        *inside = !strcmp(name, "extras");
        pointer = pointer_part(pointer + 1, name);
        bool index = json_is_array(value) && *name && strspn(name, "0123456789") == strlen(name) && strlen(name) < 10;
        size_t number = 0;
        for (const char *digit = name; index && *digit; digit++) number = 10 * number + (size_t)(*digit - '0');
        value = index ? json_array_get(value, number) : json_object_get(value, name);
    }
    if (!pointer || *pointer || !*name) *inside = false;
    return value;
}

bool pelt_gltf_track_target(gltf *g, gltf_tracks *tracks, gltf_item target, uint32_t *control, bool *wanted) {
    gltf_item extension = pelt_gltf_member(pelt_gltf_member(target, "extensions"), "KHR_animation_pointer");
    char name[LONGEST_NAME + 1];
    float rest;
    const json_t *value = follow(g->json, pelt_gltf_text(pelt_gltf_member(extension, "pointer"), ""), name, wanted);
    tracks->other_count += !*wanted;
    if (!*wanted) return true;
    if (!usable_number(value, &rest)) rest = 0;
    if (!place_name(g, &tracks->controls, name, rest, control)) return false;
    if (tracks->controls.count > PELT_MOST_CONTROLS)
        return pelt_gltf_fail(g, PELT_ERROR_DATA, target, "more than the %d controls a file can have",
                              PELT_MOST_CONTROLS);
    return true;
}

bool pelt_gltf_add_track(gltf *g, gltf_tracks *tracks, uint32_t clip, uint32_t control, const pelt_channel *keys) {
    if (tracks->count == tracks->capacity) {
        uint32_t capacity = 2 * tracks->capacity + 16;
        gltf_track *list = GLTF_NEW(g, g->scratch, gltf_track, capacity);
        if (!list) return false;
        if (tracks->count) memcpy(list, tracks->list, tracks->count * sizeof *list);
        tracks->list = list, tracks->capacity = capacity;
    }
    tracks->list[tracks->count++] = (gltf_track){clip, control, *keys};
    return true;
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

bool pelt_gltf_merge_times(gltf *g, const gltf_tracks *tracks, uint32_t first, pelt_clip *clip) {
    pelt_clip all = *clip;
    uint32_t more = tracks->count - first;
    if (more) {
        pelt_channel *channels = GLTF_NEW(g, g->scratch, pelt_channel, (size_t)clip->channel_count + more);
        if (!channels) return false;
        if (clip->channel_count) memcpy(channels, clip->channels, clip->channel_count * sizeof *channels);
        for (uint32_t i = 0; i < more; i++) channels[clip->channel_count + i] = tracks->list[first + i].keys;
        all.channels = channels, all.channel_count += more;
    }
    if (pelt_clip_merge_times(g->arena, &all) != PELT_OK) return pelt_gltf_out_of_memory(g);
    clip->times = all.times, clip->frame_count = all.frame_count;
    return true;
}

static bool sample_track(gltf *g, const gltf_track *track, const pelt_controls *controls) {
    pelt_clip *clip = (pelt_clip *)g->bundle->clips[track->clip];
    if (!clip->controls) {
        float *rows = GLTF_NEW(g, g->arena, float, (size_t)clip->frame_count * controls->count);
        for (size_t f = 0; rows && f < clip->frame_count; f++)
            memcpy(rows + f * controls->count, controls->rest, controls->count * sizeof *rows);
        clip->controls = rows;
        clip->controls_source = g->bundle->path;
    }
    for (size_t f = 0; clip->controls && f < clip->frame_count; f++) {
        float value = pelt_track_value(&track->keys, clip->times[f]);
        if (!(fabsf(value) <= PELT_LARGEST_CONTROL))
            return pelt_gltf_fail(g, PELT_ERROR_NUMBER, g->root,
                                  "clip %s: control \"%.80s\" is %g in frame %zu, which is too large; use other units",
                                  clip->name, controls->names[track->control], (double)value, f);
        ((float *)clip->controls)[f * controls->count + track->control] = value;
    }
    return clip->controls != NULL;
}

bool pelt_gltf_sample_tracks(gltf *g, const gltf_tracks *tracks) {
    pelt_controls *controls = &g->bundle->controls;
    if (!keep_names(g, &tracks->controls, controls)) return false;
    for (uint32_t i = 0; i < tracks->count; i++)
        if (!sample_track(g, &tracks->list[i], controls)) return false;
    if (tracks->other_count)
        pelt_find(&g->bundle->notes, g->arena, PELT_NOTE, "other-pointer",
                  "%u channels animate properties other than controls (/nodes/N/extras/NAME); they are left "
                  "out",
                  tracks->other_count);
    return true;
}
