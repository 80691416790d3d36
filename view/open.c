/* open.c: turns files into characters, skins and boxes, and matches those that belong together. */

#include "view/show.h"
#include "rig/text.h"
#include <string.h>

/* -- Names ------------------------------------------------------------------------------------------------------- */

/* "arm" of "work/arm.pelt"; from malloc. */
static char *stem(const char *path) {
    char *name = strdup(pelt_base_name(path)), *dot = name ? strrchr(name, '.') : NULL;
    if (dot && dot != name) *dot = 0;
    return name;
}

/* -- Skins ------------------------------------------------------------------------------------------------------- */

static void free_skin(view_skin *skin) {
    if (!skin) return;
    view_inside_free(skin->inside);
    free(skin->errors), free(skin->measures), free(skin->figures), free(skin->name);
    pelt_bytes_free(skin->bytes);
    free(skin);
}

/* Takes ownership of the bytes, even on failure. */
static view_skin *new_skin(char *name, pelt_bytes *bytes, pelt_error *error) {
    view_skin *skin = calloc(1, sizeof *skin);
    if (!skin || !name) {
        pelt_bytes_free(bytes), free(name), free(skin);
        pelt_no_memory(error);
        return NULL;
    }
    *skin = (view_skin){.name = name, .bytes = bytes};
    pelt_result result = pelt_open(bytes->bytes, bytes->size, &skin->skin);
    if (!result) return skin;
    pelt_fail(error, result, "%s: %s", name, pelt_result_text(result));
    free_skin(skin);
    return NULL;
}

static pelt_result add_to_character(view_character *c, view_skin *skin, pelt_error *error) {
    if (c->skin_count == MOST_SKINS)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: it already has %d skins, and no more can be shown", c->name,
                         MOST_SKINS);
    size_t clips = c->bundle ? c->bundle->clip_count : 0;
    skin->errors = calloc(clips + 1, sizeof *skin->errors);
    skin->measures = calloc(clips + 1, sizeof *skin->measures);
    if (!skin->errors || !skin->measures) return pelt_no_memory(error);
    c->skins[c->skin_count++] = skin;
    return PELT_OK;
}

/* -- Characters -------------------------------------------------------------------------------------------------- */

static void free_character(view_character *c) {
    if (!c) return;
    uint32_t clips = c->bundle ? c->bundle->clip_count : 0;
    for (uint32_t s = 0; s < c->skin_count; s++) {
        for (uint32_t i = 0; i < clips; i++) free(c->skins[s]->errors[i]), free(c->skins[s]->measures[i]);
        free_skin(c->skins[s]);
    }
    pelt_surface_free(c->surface);
    pelt_bundle_free(c->bundle);
    free(c->diagnosis), free(c->has_truth), free(c->file), free(c->name);
    free(c);
}

static view_character *new_character(pelt_view *view, const char *path, pelt_error *error) {
    if (view->character_count == MOST_CHARACTERS) {
        pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: more than %d characters cannot be shown at once", path,
                  MOST_CHARACTERS);
        return NULL;
    }
    view_character *c = calloc(1, sizeof *c);
    if (c) c->name = stem(path);
    if (!c || !c->name) return free(c), pelt_no_memory(error), NULL;
    return c;
}

/* The skin embedded in a file. */
static pelt_result add_embedded(view_character *c, const char *path, pelt_error *error) {
    pelt_skin opened;
    pelt_bytes *bytes = c->bundle->has_skin ? pelt_skin_read(path, &opened, error) : NULL;
    if (!c->bundle->has_skin) return PELT_OK;
    if (!bytes) return error->code;
    view_skin *skin = new_skin(strdup("embedded"), bytes, error);
    pelt_result result = skin ? add_to_character(c, skin, error) : error->code;
    if (result) free_skin(skin);
    return result;
}

static pelt_result read_bundle(view_character *c, const char *path, bool fix, pelt_error *error) {
    c->file = strdup(pelt_base_name(path));
    c->bundle = pelt_bundle_read(path, error);
    if (!c->bundle) return error->code;
    c->bundle->cache.fix = fix;
    const pelt_mesh *mesh = &c->bundle->mesh;
    c->hash = pelt_mesh_hash(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count);
    c->has_truth = calloc(c->bundle->clip_count + 1, sizeof *c->has_truth);
    if (!c->file || !c->has_truth) return pelt_no_memory(error);
    for (uint32_t i = 0; i < c->bundle->clip_count; i++) {
        /* Controls are loaded on first access: this makes the bundle know them all. */
        if (!pelt_bundle_clip(c->bundle, c->bundle->clips[i]->name, PELT_NEED_POSE, error)) return error->code;
        c->has_truth[i] = pelt_bundle_has_positions(c->bundle, c->bundle->clips[i]);
    }
    return add_embedded(c, path, error);
}

static pelt_result add_bundle(pelt_view *view, const char *path, bool fix, pelt_error *error) {
    view_character *c = new_character(view, path, error);
    if (!c) return error->code;
    pelt_result result = read_bundle(c, path, fix, error);
    if (result) return free_character(c), result;
    view->characters[view->character_count++] = c;
    return PELT_OK;
}

static pelt_result add_loose_skin(pelt_view *view, const char *path, pelt_error *error) {
    pelt_skin opened;
    if (view->loose_count == MOST_LOOSE)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: more than %d skins at once cannot be shown", path,
                         MOST_LOOSE);
    pelt_bytes *bytes = pelt_skin_read(path, &opened, error);
    view_skin *skin = bytes ? new_skin(stem(path), bytes, error) : NULL;
    if (!skin) return error->code;
    view->loose_skins[view->loose_count++] = skin;
    return PELT_OK;
}

/* -- Boxes of key points ----------------------------------------------------------------------------------------- */

static void free_face_clip(view_face_clip *clip) {
    if (clip->input) pelt_input_close(clip->input);
    free(clip->input), free(clip->path), free(clip->name), free(clip->verdicts), free(clip->trust);
    free(clip->controls), free(clip->shots);
}

static void free_box(view_box *box) {
    if (!box) return;
    for (uint32_t i = 0; i < box->clip_count; i++) free_face_clip(&box->clips[i]);
    view_player_free(box->player);
    view_rig_free(box->rig);
    view_lamp_close(box->lamp);
    pelt_bytes_free(box->bytes);
    pthread_mutex_destroy(&box->reading), pthread_mutex_destroy(&box->playing);
    free(box->name);
    free(box);
}

static pelt_result read_box(view_box *box, const char *path, pelt_error *error) {
    pelt_result result = view_lamp_open(path, &box->lamp, error);
    return result || box->lamp ? result : view_face_open(box, path, error);
}

static pelt_result add_box(pelt_view *view, const char *path, pelt_error *error) {
    if (view->box_count == MOST_BOXES)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: more than %d boxes cannot be shown at once", path,
                         MOST_BOXES);
    view_box *box = calloc(1, sizeof *box);
    if (!box) return pelt_no_memory(error);
    pthread_mutex_init(&box->reading, NULL), pthread_mutex_init(&box->playing, NULL);
    box->name = stem(path);
    pelt_result result = box->name ? read_box(box, path, error) : pelt_no_memory(error);
    if (result) return free_box(box), result;
    view->boxes[view->box_count++] = box;
    return PELT_OK;
}

static pelt_result add_cache(pelt_view *view, const char *path, pelt_error *error) {
    uint32_t i = view->loose_clip_count;
    if (i == MOST_LOOSE)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: more than %d clips at once cannot be shown", path,
                         MOST_LOOSE);
    if (!pelt_file_exists(path)) return pelt_fail(error, PELT_ERROR_FILE, "%s: does not exist", path);
    view->loose_clips[i] = strdup(path), view->loose_clip_names[i] = stem(path);
    view->loose_clip_count++;
    return view->loose_clips[i] && view->loose_clip_names[i] ? PELT_OK : pelt_no_memory(error);
}

/* -- The view ---------------------------------------------------------------------------------------------------- */

pelt_view *pelt_view_new(const pelt_view_options *options, pelt_error *error) {
    pelt_view *view = calloc(1, sizeof *view);
    if (!view) return pelt_no_memory(error), NULL;
    view->options = *options;
    pthread_rwlock_init(&view->lock, NULL);
    pthread_mutex_init(&view->texts, NULL), pthread_mutex_init(&view->engines, NULL);
    return view;
}

const pelt_view_options *pelt_view_settings(const pelt_view *view) { return &view->options; }

void pelt_view_free(pelt_view *view) {
    if (!view) return;
    view_live_end(view->live);
    for (uint32_t i = 0; i < view->box_count; i++) free_box(view->boxes[i]);
    for (uint32_t i = 0; i < view->character_count; i++) free_character(view->characters[i]);
    for (uint32_t i = 0; i < view->loose_count; i++) free_skin(view->loose_skins[i]);
    for (uint32_t i = 0; i < view->loose_clip_count; i++) free(view->loose_clips[i]), free(view->loose_clip_names[i]);
    pthread_mutex_destroy(&view->texts), pthread_mutex_destroy(&view->engines);
    pthread_rwlock_destroy(&view->lock);
    free(view);
}

static pelt_result add_file(pelt_view *view, const char *path, pelt_error *error) {
    if (pelt_is_gltf(path)) return add_bundle(view, path, false, error);
    if (pelt_ends_with(path, ".keys")) return add_box(view, path, error);
    if (pelt_ends_with(path, ".npy") || pelt_ends_with(path, ".pc2") || pelt_ends_with(path, ".mdd"))
        return add_cache(view, path, error);
    return add_loose_skin(view, path, error);
}

pelt_result pelt_view_add(pelt_view *view, const char *path, pelt_error *error) {
    pelt_error own;
    pthread_rwlock_wrlock(&view->lock);
    pelt_result result = add_file(view, path, error ? error : &own);
    pthread_rwlock_unlock(&view->lock);
    return result;
}

/* -- Matching --------------------------------------------------------------------------------------- */

/* By the mesh hash; skins without one, by their vertices and joints. Fails only for want of memory. */
static pelt_result is_made_for(const pelt_skin *skin, const view_character *c, bool *made, pelt_error *error) {
    pelt_error own;
    *made = c->bundle && skin->vertex_count == c->bundle->mesh.vertex_count;
    if (*made && skin->mesh_hash) *made = *skin->mesh_hash == c->hash;
    if (!*made || skin->mesh_hash) return PELT_OK;
    pelt_player *player = pelt_player_new(skin, c->bundle, &own);
    pelt_player_free(player);
    *made = player != NULL;
    return !player && own.code == PELT_ERROR_MEMORY ? pelt_no_memory(error) : PELT_OK;
}

/* Among several characters with the same mesh, the one whose file the skin names. */
static bool is_named_by(const pelt_skin *skin, const view_character *c) {
    return skin->facts && c->file && !strcmp(pelt_base_name(pelt_facts_text(skin->facts, PELT_FACT_BUNDLE)), c->file);
}

static pelt_result place_skin(pelt_view *view, view_skin *skin, pelt_error *error) {
    view_character *found = NULL;
    for (uint32_t i = 0; i < view->character_count; i++) {
        view_character *c = view->characters[i];
        bool made;
        if (is_made_for(&skin->skin, c, &made, error)) return PELT_ERROR_MEMORY;
        if (made && (!found || is_named_by(&skin->skin, c))) found = c;
    }
    if (found) return add_to_character(found, skin, error);
    view_character *c = new_character(view, skin->name, error); /* points only */
    if (!c) return error->code;
    free(c->name), c->name = strdup(skin->name);
    pelt_result result = c->name ? add_to_character(c, skin, error) : pelt_no_memory(error);
    if (result) return free_character(c), result;
    view->characters[view->character_count++] = c;
    return PELT_OK;
}

static pelt_result add_face_clip(view_box *box, view_face_clip clip, pelt_error *error) {
    if (clip.name && box->clip_count < MOST_FACE_CLIPS) return box->clips[box->clip_count++] = clip, PELT_OK;
    free_face_clip(&clip);
    if (box->clip_count < MOST_FACE_CLIPS) return pelt_no_memory(error);
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "%s: more than %d clips cannot be shown", box->name, MOST_FACE_CLIPS);
}

static pelt_result add_bundle_clip(view_box *box, uint32_t k, pelt_error *error) {
    view_face_clip clip = {.name = strdup(box->character->bundle->clips[k]->name), .clip = k};
    pelt_result result = view_face_take_controls(box, &clip, error);
    return result ? free_face_clip(&clip), result : add_face_clip(box, clip, error);
}

/* A box gets the mesh with the same number of vertices, and its clips. */
static pelt_result give_mesh(pelt_view *view, view_box *box, pelt_error *error) {
    pelt_result result = PELT_OK;
    for (uint32_t i = 0; i < view->character_count && !box->character; i++) {
        view_character *c = view->characters[i];
        if (c->bundle && c->bundle->mesh.vertex_count == box->keys.point_count) box->character = c;
    }
    const pelt_bundle *bundle = box->character ? box->character->bundle : NULL;
    for (uint32_t k = 0; bundle && k < bundle->clip_count && !result; k++)
        if (box->character->has_truth[k]) result = add_bundle_clip(box, k, error);
    return result;
}

/* With its controls, if there are some beside it. */
static pelt_result open_clip(const char *path, const char *name, const pelt_keys *keys, view_face_clip *clip,
                             pelt_error *error) {
    *clip = (view_face_clip){.name = strdup(name), .path = strdup(path), .input = calloc(1, sizeof *clip->input)};
    if (!clip->name || !clip->path || !clip->input) return pelt_no_memory(error);
    return pelt_input_open(clip->input, (const char *const *)&clip->path, 1, NULL, keys, NULL, error);
}

static pelt_result give_clip(pelt_view *view, uint32_t loose, pelt_error *error) {
    const char *path = view->loose_clips[loose];
    for (uint32_t i = 0; i < view->box_count; i++) {
        view_box *box = view->boxes[i];
        view_face_clip clip = {0};
        if (box->lamp) continue;
        pelt_result result = open_clip(path, view->loose_clip_names[loose], NULL, &clip, error);
        if (result) return free_face_clip(&clip), result;
        bool fits = clip.input->frames.point_count == box->keys.point_count && clip.input->frames.component_count == 3;
        free_face_clip(&clip);
        if (!fits) continue;
        result = open_clip(path, view->loose_clip_names[loose], &box->keys, &clip, error); /* in its order */
        return result ? free_face_clip(&clip), result : add_face_clip(box, clip, error);
    }
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: matches no key points by its number of points; a point cache is shown with key points that "
                     "were trained on clips like it: pelt view FACE.keys CLIP.npy",
                     path);
}

/* An engine that was named must be of use. */
static pelt_result give_engine(pelt_view *view, pelt_error *error) {
    const pelt_engine *engine = view->options.engine;
    uint32_t faces = 0, joined = 0;
    for (uint32_t i = 0; i < view->box_count; i++) {
        view_box *box = view->boxes[i];
        if (box->lamp) continue;
        pelt_result result = box->rig ? PELT_OK : view_rig_join(view, box, error);
        if (result) return result;
        faces++, joined += box->rig != NULL;
    }
    if (!engine || !faces || joined) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "engine %s: has %u points of %u values and %u controls, which match none of the key points shown",
                     view->options.engine_name, pelt_engine_points(engine), pelt_engine_components(engine),
                     pelt_engine_controls(engine));
}

static pelt_result arrange(pelt_view *view, pelt_error *error) {
    pelt_result result = PELT_OK;
    for (uint32_t i = 0; i < view->loose_count; i++) { /* after a failure none is left to those that come later */
        if (!result) result = place_skin(view, view->loose_skins[i], error);
        if (result) free_skin(view->loose_skins[i]);
    }
    view->loose_count = 0;
    for (uint32_t i = 0; i < view->box_count && !result; i++)
        if (!view->boxes[i]->lamp && !view->boxes[i]->character) result = give_mesh(view, view->boxes[i], error);
    for (uint32_t i = 0; i < view->loose_clip_count; i++) {
        if (!result) result = give_clip(view, i, error);
        free(view->loose_clips[i]), free(view->loose_clip_names[i]);
    }
    view->loose_clip_count = 0;
    return result ? result : give_engine(view, error);
}

pelt_result pelt_view_arrange(pelt_view *view, pelt_error *error) {
    pelt_error own;
    pthread_rwlock_wrlock(&view->lock);
    pelt_result result = arrange(view, error ? error : &own);
    pthread_rwlock_unlock(&view->lock);
    return result;
}

pelt_result pelt_view_add_skin(pelt_view *view, uint32_t character, const char *name, pelt_bytes *bytes,
                               uint32_t *index, pelt_error *error) {
    pelt_error own;
    view_skin *skin = new_skin(strdup(name), bytes, error ? error : &own);
    if (!skin) return error ? error->code : own.code;
    pthread_rwlock_wrlock(&view->lock);
    view_character *c = view_character_at(view, character);
    bool made = false;
    pelt_result result = c ? is_made_for(&skin->skin, c, &made, error) : view_absent(error);
    if (!result && !made)
        result =
            pelt_fail(error, PELT_ERROR_DATA, "%s: the file has changed since it was opened; open it again", c->name);
    if (!result) result = add_to_character(c, skin, error);
    if (!result) *index = c->skin_count - 1;
    pthread_rwlock_unlock(&view->lock);
    if (result) free_skin(skin);
    return result;
}

pelt_result pelt_view_fix(pelt_view *view, uint32_t character, uint32_t *fixed, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    pthread_rwlock_wrlock(&view->lock);
    const view_character *c = view_character_at(view, character);
    pelt_result result =
        c && c->bundle && c->file ? add_bundle(view, c->bundle->path, true, error) : view_absent(error);
    if (!result) *fixed = view->character_count - 1;
    pthread_rwlock_unlock(&view->lock);
    return result;
}

pelt_result pelt_view_list_skin(pelt_view *view, uint32_t character, uint32_t skin, bool listed, pelt_error *error) {
    pthread_rwlock_rdlock(&view->lock);
    view_skin *found = view_skin_at(view, character, skin);
    if (found) atomic_store(&found->unlisted, !listed);
    pthread_rwlock_unlock(&view->lock);
    return found ? PELT_OK : view_absent(error);
}

const char *pelt_view_bundle_path(pelt_view *view, uint32_t character) {
    pthread_rwlock_rdlock(&view->lock);
    const view_character *c = view_character_at(view, character);
    const char *path = c && c->bundle ? c->bundle->path : NULL; /* it does not move as long as the view lives */
    pthread_rwlock_unlock(&view->lock);
    return path;
}

static uint32_t count_of(pelt_view *view, const uint32_t *count) {
    pthread_rwlock_rdlock(&view->lock);
    uint32_t found = *count;
    pthread_rwlock_unlock(&view->lock);
    return found;
}

uint32_t pelt_view_character_count(pelt_view *view) { return count_of(view, &view->character_count); }
uint32_t pelt_view_box_count(pelt_view *view) { return count_of(view, &view->box_count); }

void pelt_view_stop(pelt_view *view) { atomic_store(&view->stop, true); }
