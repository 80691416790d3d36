/* resource.c: from a name to bytes. */

#include "view/show.h"
#include <stdio.h>
#include <string.h>

typedef pelt_result (*view_prepare)(pelt_view *view, view_place place, pelt_error *error);

/* -- Prerequisites, read under the write lock ------------------------------------------------------------- */

/* With place.look nothing is read; this says that something would have to be. */
#define NOT_READ ((pelt_result)PELT_RESULT_COUNT)

static pelt_result load_truth(pelt_view *view, uint32_t character, uint32_t clip, bool look, pelt_error *error) {
    const pelt_clip *known = view_clip_at(view, character, clip);
    if (!known || !view->characters[character]->has_truth[clip]) return view_absent(error);
    if (known->positions) return PELT_OK;
    if (look) return NOT_READ;
    pelt_error own;
    if (!error) error = &own;
    const pelt_clip *loaded =
        pelt_bundle_clip(view->characters[character]->bundle, known->name, PELT_NEED_POSITIONS, error);
    if (!loaded) return error->code;
    if (known->positions) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA, "%s: it has two clips named %s, so the second cannot be requested",
                     view->characters[character]->name, known->name);
}

pelt_result view_load_truth(pelt_view *view, uint32_t character, uint32_t clip, pelt_error *error) {
    return load_truth(view, character, clip, false, error);
}

static pelt_result need_truth(pelt_view *view, view_place place, pelt_error *error) {
    return load_truth(view, place.numbers[0], place.numbers[1], place.look, error);
}

static pelt_result need_truth_of_errors(pelt_view *view, view_place place, pelt_error *error) {
    return load_truth(view, place.numbers[0], place.numbers[2], place.look, error);
}

static pelt_result need_surface(pelt_view *view, view_place place, pelt_error *error) {
    view_character *c = view_character_at(view, place.numbers[0]);
    if (!c || !c->bundle) return view_absent(error);
    if (place.look) return c->surface ? PELT_OK : NOT_READ;
    return view_read_surface(view, c, error);
}

static pelt_result need_diagnosis(pelt_view *view, view_place place, pelt_error *error) {
    const view_character *c = view_character_at(view, place.numbers[0]);
    if (!c || !c->bundle) return view_absent(error);
    if (c->diagnosis) return PELT_OK;
    return place.look ? NOT_READ : view_diagnose(view, place.numbers[0], error);
}

static pelt_result need_inside(pelt_view *view, view_place place, pelt_error *error) {
    view_skin *skin = view_skin_at(view, place.numbers[0], place.numbers[1]);
    if (place.look && skin) return skin->inside ? PELT_OK : NOT_READ;
    return skin ? view_read_inside(skin, error) : view_absent(error);
}

static pelt_result need_face_truth(pelt_view *view, view_place place, pelt_error *error) {
    const view_box *box = view_box_at(view, place.numbers[0]);
    if (!box || place.numbers[1] >= box->clip_count) return view_absent(error);
    if (box->clips[place.numbers[1]].input) return PELT_OK;
    for (uint32_t i = 0; i < view->character_count; i++)
        if (view->characters[i] == box->character)
            return load_truth(view, i, box->clips[place.numbers[1]].clip, place.look, error);
    return view_absent(error);
}

/* -- The list ---------------------------------------------------------------------------------------------------- */

/* All resources; # stands for a number. */
static const struct kind {
    const char *pattern;
    view_make make;
    view_prepare prepare; /* NULL: nothing to read first */
    bool slow;
} kinds[] = {
    {"data/show.json", view_make_show, NULL, false},
    {"data/counts.json", view_make_counts, NULL, false},
    {"data/live.bin", view_make_live, NULL, false},
    {"data/c#/mesh.bin", view_make_mesh, NULL, false},
    {"data/c#/joints.bin", view_make_joints, NULL, false},
    {"data/c#/surface.json", view_make_surface, need_surface, false},
    {"data/c#/uvs.bin", view_make_uvs, need_surface, false},
    {"data/c#/image#", view_make_image, need_surface, false},
    {"data/c#/diagnosis.json", view_make_diagnosis, need_diagnosis, true},
    {"data/c#/skin#.pelt", view_make_skin, NULL, false},
    {"data/c#/clip#/poses.bin", view_make_poses, NULL, false},
    {"data/c#/clip#/controls.bin", view_make_controls, NULL, false},
    {"data/c#/clip#/truth/#.bin", view_make_truth, need_truth, false},
    {"data/c#/skin#/figures.json", view_make_figures, NULL, true},
    {"data/c#/skin#/clip#.json", view_make_errors, need_truth_of_errors, true},
    {"data/c#/skin#/clip#/measure.json", view_make_measure, need_truth_of_errors, true},
    {"data/c#/skin#/clip#/vertices.bin", view_make_vertices, need_truth_of_errors, true},
    {"data/c#/skin#/inside.json", view_make_inside, need_inside, false},
    {"data/c#/skin#/support#.bin", view_make_support, need_inside, false},
    {"data/c#/skin#/displacement#.bin", view_make_displacement, need_inside, false},
    {"data/b#/mesh.bin", view_make_box_mesh, NULL, false},
    {"data/b#/picture.bin", view_make_picture, NULL, true},
    {"data/b#/light.keys", view_make_light_keys, NULL, false},
    {"data/b#/clip#/truth/#.bin", view_make_face_truth, need_face_truth, false},
    {"data/b#/regions.bin", view_make_regions, NULL, false},
    {"data/b#/clip#/keyed/#.bin", view_make_face_keyed, need_face_truth, false},
    {"data/b#/clip#/cached/#.bin", view_make_face_cached, need_face_truth, true},
    {"data/b#/clip#/controls.bin", view_make_face_controls, need_face_truth, false},
    {"data/b#/clip#/verdicts.json", view_make_face_verdicts, need_face_truth, true},
    {"data/b#/clip#/trust.bin", view_make_face_trust, need_face_truth, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A number as written in show.json: no sign, no leading zero, at most nine digits. */
static bool read_number(const char **text, uint32_t *number) {
    size_t digits = strspn(*text, "0123456789");
    if (!digits || digits > 9 || (digits > 1 && **text == '0')) return false;
    *number = 0;
    for (; digits; digits--) *number = 10 * *number + (uint32_t)(*(*text)++ - '0');
    return true;
}

static bool matches(const char *pattern, const char *name, view_place *place) {
    int count = 0;
    for (; *pattern; pattern++) {
        if (*pattern == '#') {
            if (!read_number(&name, &place->numbers[count++])) return false;
        } else if (*name++ != *pattern) {
            return false;
        }
    }
    return !*name;
}

static const struct kind *find_kind(const char *name, view_place *place) {
    for (int i = 0; i < KINDS; i++)
        if (matches(kinds[i].pattern, name, place)) return &kinds[i];
    return NULL;
}

bool pelt_view_is_slow(const char *name) {
    view_place place;
    const struct kind *kind = find_kind(name, &place);
    return kind && kind->slow;
}

pelt_result pelt_view_resource(pelt_view *view, const char *name, pelt_resource *resource, pelt_error *error) {
    view_place place = {{0}};
    const struct kind *kind = find_kind(name, &place);
    pelt_result result = PELT_OK;
    *resource = (pelt_resource){0};
    if (!kind) return view_absent(error);
    pthread_rwlock_rdlock(&view->lock);
    place.look = true; /* avoids the write lock, which waits for everyone else, if nothing has to be read */
    if (kind->prepare) result = kind->prepare(view, place, error);
    place.look = false;
    if (result == NOT_READ) {
        pthread_rwlock_unlock(&view->lock);
        pthread_rwlock_wrlock(&view->lock);
        result = kind->prepare(view, place, error);
        pthread_rwlock_unlock(&view->lock);
        pthread_rwlock_rdlock(&view->lock);
    }
    if (!result) result = kind->make(view, place, resource, error);
    pthread_rwlock_unlock(&view->lock);
    if (result) free(resource->bytes), *resource = (pelt_resource){0};
    return result;
}

/* -- All names --------------------------------------------------------------------------------------------------- */

typedef struct naming {
    pelt_view_name call;
    void *user;
    pelt_error *error;
    pelt_result result;
    char **names; /* collected first: making them needs the lock */
    size_t count, capacity;
} naming;

static void name_one(naming *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void name_one(naming *n, const char *format, ...) {
    char name[100];
    va_list arguments;
    if (n->result) return;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (n->count == n->capacity) {
        size_t more = n->capacity ? 2 * n->capacity : 256;
        char **grown = realloc(n->names, more * sizeof *grown);
        if (grown) n->names = grown, n->capacity = more;
    }
    char *copy = n->count < n->capacity ? strdup(name) : NULL;
    if (copy)
        n->names[n->count++] = copy;
    else
        n->result = pelt_no_memory(n->error);
}

static void name_skin(naming *n, uint32_t c, uint32_t s, const view_character *character) {
    const view_skin *skin = character->skins[s];
    name_one(n, "data/c%u/skin%u.pelt", c, s);
    name_one(n, "data/c%u/skin%u/figures.json", c, s);
    for (uint32_t i = 0; character->bundle && i < character->bundle->clip_count; i++) {
        if (!character->has_truth[i]) continue;
        name_one(n, "data/c%u/skin%u/clip%u.json", c, s, i);
        name_one(n, "data/c%u/skin%u/clip%u/measure.json", c, s, i);
        name_one(n, "data/c%u/skin%u/clip%u/vertices.bin", c, s, i);
    }
    name_one(n, "data/c%u/skin%u/inside.json", c, s);
    for (uint32_t i = 0; skin->inside && i < skin->inside->support_count; i++)
        name_one(n, "data/c%u/skin%u/support%u.bin", c, s, i);
    for (uint32_t i = 0; skin->inside && i < skin->inside->coefficient_count; i++)
        name_one(n, "data/c%u/skin%u/displacement%u.bin", c, s, i);
}

static void name_character(naming *n, uint32_t c, const view_character *character) {
    const pelt_bundle *bundle = character->bundle;
    name_one(n, "data/c%u/mesh.bin", c);
    if (bundle) name_one(n, "data/c%u/joints.bin", c);
    if (bundle) name_one(n, "data/c%u/surface.json", c);
    if (bundle) name_one(n, "data/c%u/diagnosis.json", c);
    if (character->surface && character->surface->uvs) name_one(n, "data/c%u/uvs.bin", c);
    for (uint32_t i = 0; character->surface && i < character->surface->image_count; i++)
        name_one(n, "data/c%u/image%u", c, i);
    for (uint32_t i = 0; bundle && i < bundle->clip_count; i++) {
        name_one(n, "data/c%u/clip%u/poses.bin", c, i);
        if (bundle->controls.count) name_one(n, "data/c%u/clip%u/controls.bin", c, i);
        for (uint32_t f = 0; character->has_truth[i] && f < bundle->clips[i]->frame_count; f++)
            name_one(n, "data/c%u/clip%u/truth/%u.bin", c, i, f);
    }
    for (uint32_t s = 0; s < character->skin_count; s++) name_skin(n, c, s, character);
}

static void name_box(naming *n, uint32_t b, const view_box *box, bool relights) {
    if (box->lamp) {
        name_one(n, "data/b%u/picture.bin", b);
        if (relights && view_lamp_is_whole(box->lamp)) name_one(n, "data/b%u/light.keys", b);
        return;
    }
    name_one(n, "data/b%u/mesh.bin", b);
    name_one(n, "data/b%u/regions.bin", b);
    for (uint32_t i = 0; i < box->clip_count; i++) {
        name_one(n, "data/b%u/clip%u/verdicts.json", b, i);
        name_one(n, "data/b%u/clip%u/trust.bin", b, i);
        if (view_face_controls(box, &box->clips[i], 0)) name_one(n, "data/b%u/clip%u/controls.bin", b, i);
        for (uint32_t f = 0; f < view_face_frames(box, &box->clips[i]); f++) {
            name_one(n, "data/b%u/clip%u/truth/%u.bin", b, i, f);
            name_one(n, "data/b%u/clip%u/keyed/%u.bin", b, i, f);
            name_one(n, "data/b%u/clip%u/cached/%u.bin", b, i, f);
        }
    }
}

/* What names depend on: pictures and insides not read yet. */
static void read_ahead(pelt_view *view, naming *n) {
    for (uint32_t c = 0; c < view->character_count && !n->result; c++) {
        view_character *character = view->characters[c];
        if (character->bundle) n->result = view_read_surface(view, character, n->error);
        for (uint32_t s = 0; s < character->skin_count && !n->result; s++)
            n->result = view_read_inside(character->skins[s], n->error);
        for (uint32_t i = 0; character->bundle && i < character->bundle->clip_count && !n->result; i++)
            if (character->has_truth[i]) n->result = view_load_truth(view, c, i, n->error);
    }
}

pelt_result pelt_view_names(pelt_view *view, pelt_view_name call, void *user, pelt_error *error) {
    naming n = {.call = call, .user = user, .error = error};
    pthread_rwlock_wrlock(&view->lock);
    read_ahead(view, &n);
    name_one(&n, "data/show.json");
    for (uint32_t c = 0; c < view->character_count; c++) name_character(&n, c, view->characters[c]);
    for (uint32_t b = 0; b < view->box_count; b++) name_box(&n, b, view->boxes[b], view->relights);
    pthread_rwlock_unlock(&view->lock);
    for (size_t i = 0; i < n.count && !n.result; i++) n.result = call(user, n.names[i], error);
    for (size_t i = 0; i < n.count; i++) free(n.names[i]);
    free(n.names);
    return n.result;
}

/* -- Small things ------------------------------------------------------------------------------------------------ */

pelt_result view_absent(pelt_error *error) {
    return pelt_fail(error, PELT_ERROR_ARGUMENT, "there is nothing with this name; data/show.json lists everything");
}

void *view_bytes(pelt_resource *out, size_t size, const char *type, pelt_error *error) {
    *out = (pelt_resource){malloc(size ? size : 1), size, type};
    if (!out->bytes) pelt_no_memory(error);
    return out->bytes;
}

char *view_text(json_t *object) {
    char *text = object ? pelt_json_dump(object, JSON_COMPACT | JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY) : NULL;
    json_decref(object);
    return text;
}

pelt_result view_json(pelt_resource *out, json_t *object, pelt_error *error) {
    char *text = view_text(object);
    *out = (pelt_resource){text, text ? strlen(text) : 0, "application/json"};
    return text ? PELT_OK : pelt_no_memory(error);
}

pelt_result view_stored(pelt_view *view, char **slot, pelt_resource *out, view_make make, view_place place,
                        pelt_error *error) {
    pthread_mutex_lock(&view->texts);
    char *copy = *slot ? strdup(*slot) : NULL;
    bool known = *slot != NULL;
    pthread_mutex_unlock(&view->texts);
    if (known) {
        *out = (pelt_resource){copy, copy ? strlen(copy) : 0, "application/json"};
        return copy ? PELT_OK : pelt_no_memory(error);
    }
    pelt_result result = make(view, place, out, error);
    if (result) return result;
    pthread_mutex_lock(&view->texts);
    if (!*slot) *slot = strndup(out->bytes, out->size);
    pthread_mutex_unlock(&view->texts);
    return PELT_OK;
}

static int stop_with_view(void *user, const char *task, double fraction) {
    (void)task, (void)fraction;
    return atomic_load(&((pelt_view *)user)->stop);
}

pelt_progress view_progress(pelt_view *view) { return (pelt_progress){stop_with_view, view}; }

view_character *view_character_at(pelt_view *view, uint32_t index) {
    return index < view->character_count ? view->characters[index] : NULL;
}

view_skin *view_skin_at(pelt_view *view, uint32_t character, uint32_t index) {
    view_character *c = view_character_at(view, character);
    return c && index < c->skin_count ? c->skins[index] : NULL;
}

const pelt_clip *view_clip_at(pelt_view *view, uint32_t character, uint32_t index) {
    view_character *c = view_character_at(view, character);
    return c && c->bundle && index < c->bundle->clip_count ? c->bundle->clips[index] : NULL;
}

view_box *view_box_at(pelt_view *view, uint32_t index) { return index < view->box_count ? view->boxes[index] : NULL; }
