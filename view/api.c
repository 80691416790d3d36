/* api.c: the page's requests to the server: take a bundle, fit a skin, light a box, pull a face. */

#include "view/serving.h"
#include "io/io.h"
#include "io/tree.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Files ------------------------------------------------------------------------------------------------------- */

struct upload {
    pelt_writer *writer;
    uint32_t drop; /* the number of its drop */
    uint64_t size, left;
    bool arrived;
};

/* A name that stays in its folder and is printable: no path, nothing hidden, no control characters (%00 is left as it
   is). */
static bool is_plain_name(const char *name) {
    size_t length = strlen(name);
    if (!length || length > 200 || *name == '.' || strchr(name, '/') || strchr(name, '\\') || strstr(name, "%00"))
        return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < 32 || *c == 127) return false;
    return true;
}

static void drop_path(const pelt_server *s, uint32_t number, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%u%s%s", s->folder, number, name ? "/" : "", name ? name : "");
}

/* Messages refer to files by the names they were sent with. */
static void hide_folder(const char *folder, char *text) {
    char begin[4096];
    int length = snprintf(begin, sizeof begin, "%s/", folder);
    for (char *at = text; (at = strstr(at, begin));) {
        size_t skip = (size_t)length;
        skip += strspn(at + skip, "0123456789");
        skip += at[skip] == '/';
        memmove(at, at + skip, strlen(at + skip) + 1);
    }
}

static void refuse(request *r, pelt_error *error) {
    hide_folder(r->server->folder, error->text);
    answer_failure(r, error);
}

static void free_names(drop *d) {
    for (uint32_t i = 0; i < d->count; i++) free(d->names[i]);
    d->count = 0;
}

/* A drop that failed, or was never finished, makes room. Holding the mutex. */
static void discard_drop(pelt_server *s, drop *d) {
    char folder[4096];
    drop_path(s, d->number, NULL, folder, sizeof folder);
    pelt_folder_remove(folder);
    free_names(d);
    s->folder_bytes -= d->bytes;
    d->number = 0;
}

/* NULL if it was discarded. Holding the mutex. */
static drop *find_drop(pelt_server *s, uint32_t number) {
    for (int i = 0; i < MOST_DROPS; i++)
        if (s->drops[i].number == number) return &s->drops[i];
    return NULL;
}

/* The drop that a client calls by this name, or a new one, if need be in place of the oldest. Holding the mutex. */
static drop *drop_named(pelt_server *s, const char *id) {
    drop *oldest = s->drops;
    for (int i = 0; i < MOST_DROPS; i++) {
        if (s->drops[i].number && !strcmp(s->drops[i].id, id)) return &s->drops[i];
        if (s->drops[i].number < oldest->number) oldest = &s->drops[i];
    }
    if (oldest->number) discard_drop(s, oldest);
    oldest->number = ++s->drop_count, oldest->bytes = 0;
    snprintf(oldest->id, sizeof oldest->id, "%s", id);
    return oldest;
}

/* Holding the mutex: makes room for a file of a drop. False after an answer. */
static bool make_room(request *r, drop *d, uint64_t size) {
    pelt_server *s = r->server;
    char folder[4096];
    pelt_error error;
    bool known = false;
    for (uint32_t i = 0; i < d->count; i++) known |= !strcmp(d->names[i], r->name);
    if (d->count == MOST_DROPPED || s->folder_bytes + size > MOST_FOLDER_BYTES) {
        answer_error(r, STATUS_TOO_LARGE, "%s: too many files were sent, or they are too large", r->name);
        return false;
    }
    if (s->upload_count == MOST_UPLOADS) {
        answer_error(r, MHD_HTTP_TOO_MANY_REQUESTS, "%s: %d files are already being sent; send it after them", r->name,
                     MOST_UPLOADS);
        return false;
    }
    drop_path(s, d->number, NULL, folder, sizeof folder);
    char *copy = known ? NULL : strdup(r->name);
    if (copy) d->names[d->count++] = copy;
    if (!copy && !known) return answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory"), false;
    if (pelt_folder_make(folder, &error)) return refuse(r, &error), false;
    r->upload->drop = d->number;
    s->folder_bytes += size, s->upload_count++;
    return true;
}

bool api_begin_upload(request *r, uint64_t size, const char *id) {
    pelt_server *s = r->server;
    char path[4096];
    pelt_error error;
    if (!s->folder) return answer_error(r, MHD_HTTP_FORBIDDEN, "this page does not accept files"), false;
    if (!is_plain_name(r->name))
        return answer_error(r, MHD_HTTP_BAD_REQUEST, "expected the name of a file, without a folder"), false;
    r->upload = calloc(1, sizeof *r->upload);
    if (!r->upload) return answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory"), false;
    pthread_mutex_lock(&s->mutex);
    drop *d = drop_named(s, id ? id : "");
    bool room = make_room(r, d, size);
    drop_path(s, d->number, r->name, path, sizeof path);
    if (!room && r->status != MHD_HTTP_TOO_MANY_REQUESTS) discard_drop(s, d);
    pthread_mutex_unlock(&s->mutex);
    if (!room) return false;
    r->upload->size = r->upload->left = size;
    r->upload->writer = pelt_writer_open(path, &error);
    if (!r->upload->writer) refuse(r, &error);
    return r->upload->writer != NULL;
}

bool api_put_upload(request *r, const char *bytes, size_t size) {
    if (size > r->upload->left) return false;
    r->upload->left -= size;
    pelt_writer_put(r->upload->writer, bytes, size);
    return true;
}

void api_drop_upload(request *r) {
    pelt_server *s = r->server;
    struct upload *u = r->upload;
    if (!u) return;
    pelt_writer_drop(u->writer);
    pthread_mutex_lock(&s->mutex);
    if (u->drop && !u->arrived) { /* without this file the rest is of no use */
        drop *d = find_drop(s, u->drop);
        if (d) discard_drop(s, d);
        s->folder_bytes -= u->size;
    }
    if (u->drop) s->upload_count--;
    pthread_mutex_unlock(&s->mutex);
    free(u);
    r->upload = NULL;
}

/* Bundles first, so that skins find them. */
static pelt_result open_dropped(pelt_server *s, char *const *names, uint32_t count, const char *folder,
                                pelt_error *error) {
    static const char *const endings[] = {".glb", ".gltf", ".pelt", ".keys"};
    char path[4400];
    pelt_result result = PELT_OK;
    uint32_t opened = 0;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
        for (uint32_t i = 0; i < count && !result; i++) {
            if (!pelt_ends_with(names[i], endings[e])) continue;
            snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            result = pelt_view_add(s->view, path, error);
            opened++;
        }
    pelt_error other;
    pelt_result arranged = pelt_view_arrange(s->view, &other);
    if (!result && arranged) *error = other, result = arranged;
    if (!result && !opened)
        result = pelt_fail(error, PELT_ERROR_DATA,
                           "none of these files is a bundle (.glb, .gltf), a skin (.pelt) or key points (.keys)");
    return result;
}

/* The last file of a drop: opens all of them. Those that became something stay as long as the server. */
static void open_drop(request *r, drop *d) {
    pelt_server *s = r->server;
    char folder[4096];
    pelt_error error;
    drop_path(s, d->number, NULL, folder, sizeof folder);
    uint32_t characters = pelt_view_character_count(s->view), boxes = pelt_view_box_count(s->view);
    pelt_result result = open_dropped(s, d->names, d->count, folder, &error);
    bool character = pelt_view_character_count(s->view) > characters, box = pelt_view_box_count(s->view) > boxes;
    if (result) {
        if (error.code == PELT_ERROR_ARGUMENT) error.code = PELT_ERROR_DATA;
        refuse(r, &error);
    } else {
        answer_json(r, pelt_json_pack("{character:o, box:o}", character ? json_integer(characters) : json_null(),
                                      box ? json_integer(boxes) : json_null()));
    }
    pthread_mutex_lock(&s->mutex);
    if (!character && !box) discard_drop(s, d);
    pthread_mutex_unlock(&s->mutex);
    free_names(d);
}

void api_bundle(request *r) {
    pelt_error error;
    pelt_server *s = r->server;
    struct upload *u = r->upload;
    pelt_writer *writer = u->writer;
    drop own = {0};
    if (u->left) {
        answer_error(r, MHD_HTTP_BAD_REQUEST, "%s: the file is shorter than announced", r->name);
        return;
    }
    u->writer = NULL;
    if (pelt_writer_commit(writer, &error)) {
        refuse(r, &error);
        return;
    }
    pthread_mutex_lock(&s->mutex);
    drop *d = find_drop(s, u->drop);
    u->arrived = d != NULL;
    if (d) d->bytes += u->size;
    if (d && r->open) own = *d, *d = (drop){0}; /* what comes next is another drop */
    pthread_mutex_unlock(&s->mutex);
    if (!d)
        answer_error(r, MHD_HTTP_CONFLICT, "%s: another file dropped with it failed", r->name);
    else if (r->open)
        open_drop(r, &own);
    else
        answer_json(r, pelt_json_pack("{file:s}", r->name));
}

/* -- Bodies ------------------------------------------------------------------------------------------------------ */

/* The JSON object in the body; NULL after an answer. */
static json_t *read_body(request *r) {
    json_error_t why;
    json_t *object = json_loadb(r->body, r->body_size, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(object)) return object;
    if (!object && !*why.text) /* jansson's way of saying it */
        answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory");
    else
        answer_error(r, MHD_HTTP_BAD_REQUEST, "expected a JSON object: %s",
                     object ? "this is not an object" : why.text);
    json_decref(object);
    return NULL;
}

static bool read_index(const json_t *object, const char *key, uint32_t *index) {
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    *index = (uint32_t)number;
    return json_is_integer(value) && number >= 0 && number < INT32_MAX;
}

/* -- Built-in characters ----------------------------------------------------------------------------------------- */

/* Made once each, however often they are ordered: UINT32_MAX: not yet. */
static uint32_t find_sample(const pelt_server *s, const char *name) {
    for (uint32_t i = 0; i < s->sample_count; i++)
        if (!strcmp(s->samples[i].name, name)) return s->samples[i].character;
    return UINT32_MAX;
}

static pelt_result make_sample(pelt_server *s, const char *name, uint32_t *character, pelt_error *error) {
    char folder[4096], scene[4400];
    pthread_mutex_lock(&s->mutex);
    uint32_t number = ++s->drop_count;
    pthread_mutex_unlock(&s->mutex);
    drop_path(s, number, NULL, folder, sizeof folder);
    *character = pelt_view_character_count(s->view); /* only this thread adds characters */
    pelt_result result = pelt_view_settings(s->view)->sample(name, folder, scene, sizeof scene, error);
    if (!result) result = pelt_view_add(s->view, scene, error);
    if (result) return pelt_folder_remove(folder), result;
    snprintf(s->samples[s->sample_count].name, sizeof s->samples->name, "%s", name);
    s->samples[s->sample_count++].character = *character;
    return PELT_OK;
}

void api_sample(request *r) {
    pelt_server *s = r->server;
    json_t *body = read_body(r);
    if (!body) return;
    char name[sizeof s->samples->name] = "";
    const char *given = json_string_value(json_object_get(body, "sample"));
    bool good = given && *given && strlen(given) < sizeof name;
    if (good) snprintf(name, sizeof name, "%s", given);
    json_decref(body);
    if (!good) {
        answer_error(r, MHD_HTTP_BAD_REQUEST, "expected {\"sample\": \"arm\"}");
        return;
    }
    if (!s->folder || !pelt_view_settings(s->view)->sample) {
        answer_error(r, MHD_HTTP_FORBIDDEN, "this server has no built-in characters");
        return;
    }
    pelt_error error;
    uint32_t character = find_sample(s, name);
    if (character == UINT32_MAX && s->sample_count == MOST_SAMPLES)
        answer_error(r, STATUS_TOO_LARGE, "%d built-in characters are already open; no more can be made", MOST_SAMPLES);
    else if (character == UINT32_MAX && make_sample(s, name, &character, &error))
        refuse(r, &error);
    else
        answer_json(r, pelt_json_pack("{character:u}", character));
}

/* -- The same character with its caches mended --------------------------------------------------------------------- */

void api_fix(request *r) {
    json_t *body = read_body(r);
    uint32_t character = 0, fixed = 0;
    pelt_error error;
    if (!body) return;
    bool good = read_index(body, "character", &character);
    json_decref(body);
    if (!good)
        answer_error(r, MHD_HTTP_BAD_REQUEST, "expected {\"character\": 0}");
    else if (pelt_view_fix(r->server->view, character, &fixed, &error))
        refuse(r, &error);
    else
        answer_json(r, pelt_json_pack("{character:u}", fixed));
}

/* -- Light ------------------------------------------------------------------------------------------------------- */

static bool is_stale(void *user) {
    const request *r = user;
    return atomic_load(&r->server->lights) != r->light || atomic_load(&r->server->stopping) || client_gone(r);
}

static bool read_lamp(const json_t *body, pelt_view_lamp *lamp) {
    const json_t *at = json_object_get(body, "at"), *full = json_object_get(body, "full");
    if (!read_index(body, "box", &lamp->box) || json_array_size(at) != 3 || (full && !json_is_boolean(full)))
        return false;
    for (size_t i = 0; i < 3; i++) {
        double x = json_number_value(json_array_get(at, i));
        if (!json_is_number(json_array_get(at, i)) || !(fabs(x) < 1e30)) return false;
        lamp->at[i] = (float)x;
    }
    lamp->full = json_is_true(full);
    return (!json_object_get(body, "paths") || read_index(body, "paths", &lamp->paths)) &&
           (!json_object_get(body, "samples") || read_index(body, "samples", &lamp->samples)) &&
           (!json_object_get(body, "seed") || read_index(body, "seed", &lamp->seed));
}

void api_light(request *r) {
    json_t *body = read_body(r);
    pelt_view_lamp lamp = {.stop = is_stale, .user = r};
    pelt_error error;
    if (!body) return;
    bool good = read_lamp(body, &lamp);
    json_decref(body);
    if (!good) {
        answer_error(
            r, MHD_HTTP_BAD_REQUEST,
            "expected {\"box\": 0, \"at\": [x, y, z], \"full\": false, \"samples\": 64, \"paths\": 0, \"seed\": 1}");
    } else if (pelt_view_light(r->server->view, &lamp, &r->answer, &error)) {
        answer_failure(r, &error);
    } else {
        r->status = MHD_HTTP_OK;
    }
}

/* -- Faces ------------------------------------------------------------------------------------------------------- */

/* The controls of a request, to be freed; NULL: they are not numbers, or memory is short. */
static float *read_controls(const json_t *list, uint32_t *count) {
    size_t size = json_array_size(list);
    float *values = json_is_array(list) ? malloc((size + 1) * sizeof *values) : NULL;
    for (size_t i = 0; i < size && values; i++) {
        const json_t *value = json_array_get(list, i);
        values[i] = (float)json_number_value(value);
        if (!json_is_number(value) || !(fabs(json_number_value(value)) < 1e30)) free(values), values = NULL;
    }
    *count = (uint32_t)size;
    return values;
}

void api_face(request *r) {
    json_t *body = read_body(r);
    pelt_view_pull pull = {0};
    pelt_error error;
    if (!body) return;
    const json_t *cut = json_object_get(body, "cut"), *all = json_object_get(body, "all");
    float *controls = read_controls(json_object_get(body, "controls"), &pull.control_count);
    bool good = controls && read_index(body, "box", &pull.box) && (!cut || json_is_boolean(cut)) &&
                (!all || json_is_boolean(all));
    pull.controls = controls, pull.cut = json_is_true(cut), pull.all = json_is_true(all);
    json_decref(body);
    if (!good)
        answer_error(r, MHD_HTTP_BAD_REQUEST,
                     "expected {\"box\": 0, \"controls\": [0, 0.5, ...], \"cut\": false, \"all\": false}");
    else if (pelt_view_pull_face(r->server->view, &pull, &r->answer, &error))
        answer_failure(r, &error);
    else
        r->status = MHD_HTTP_OK;
    free(controls);
}

/* -- Fits -------------------------------------------------------------------------------------------------------- */

static int tell_job(void *user, const char *task, double fraction) {
    job *j = user;
    pthread_mutex_lock(&j->server->mutex);
    j->share = fmin(fmax(fraction, 0), 1);
    snprintf(j->text, sizeof j->text, "%s", task ? task : "");
    pthread_mutex_unlock(&j->server->mutex);
    return atomic_load(&j->cancel);
}

static pelt_result fit(job *j, const char *path, pelt_error *error) {
    pelt_server *s = j->server;
    const json_t *list = json_object_get(j->request, "words");
    size_t count = json_array_size(list);
    const char **words = calloc(count + 1, sizeof *words);
    if (!words) return pelt_no_memory(error);
    for (size_t i = 0; i < count; i++) words[i] = json_string_value(json_array_get(list, i));
    pelt_progress progress = {tell_job, j};
    pelt_bytes *skin = pelt_view_settings(s->view)->fit(path, count, words, &progress, error);
    free(words);
    if (!skin) return error->code ? error->code : PELT_ERROR_DATA;
    return pelt_view_add_skin(s->view, j->character, j->name, skin, &j->skin, error);
}

static void run_job(view_task *task, bool stopping) {
    job *j = (job *)task;
    pelt_server *s = j->server;
    const char *path = pelt_view_bundle_path(s->view, j->character);
    pelt_error error = {0};
    pelt_result result = PELT_ERROR_CANCELLED;
    if (!stopping && !atomic_load(&j->cancel)) result = fit(j, path, &error);
    if (atomic_load(&j->cancel)) result = result ? PELT_ERROR_CANCELLED : result;
    if (result && s->folder) hide_folder(s->folder, error.text);
    pthread_mutex_lock(&s->mutex);
    j->state = !result ? JOB_DONE : result == PELT_ERROR_CANCELLED ? JOB_CANCELLED : JOB_FAILED;
    j->error = error;
    if (!result) j->share = 1;
    json_decref(j->request);
    j->request = NULL;
    pthread_mutex_unlock(&s->mutex);
}

/* Words are strings, and not too many. */
static bool are_words(const json_t *list) {
    if (!json_is_array(list) || json_array_size(list) > 200) return false;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)) ||
            strlen(json_string_value(json_array_get(list, i))) != json_string_length(json_array_get(list, i)))
            return false;
    return true;
}

/* A slot for one more job: a free one, or that of the oldest finished one. Holding the mutex. */
static job *free_place(pelt_server *s) {
    job *oldest = NULL;
    for (int i = 0; i < MOST_JOBS; i++) {
        job *j = &s->jobs[i];
        if (!j->number) return j;
        if (j->state != JOB_RUNNING && (!oldest || j->number < oldest->number)) oldest = j;
    }
    return oldest;
}

void api_fit(request *r) {
    pelt_server *s = r->server;
    json_t *body = read_body(r);
    uint32_t character = 0, number = 0;
    if (!body) return;
    const char *name = json_string_value(json_object_get(body, "name"));
    if (!read_index(body, "character", &character) || !are_words(json_object_get(body, "words"))) {
        json_decref(body);
        answer_error(r, MHD_HTTP_BAD_REQUEST,
                     "expected {\"character\": 0, \"words\": [\"--train\", \"CLIP\", ...], \"name\": \"...\"}");
        return;
    }
    if (!pelt_view_bundle_path(s->view, character) || !pelt_view_settings(s->view)->fit) {
        json_decref(body);
        answer_error(r, MHD_HTTP_NOT_FOUND, "there is no such character");
        return;
    }
    pthread_mutex_lock(&s->mutex);
    job *j = free_place(s);
    if (j) {
        *j = (job){.task.run = run_job, .server = s, .number = ++s->job_count, .character = character, .request = body};
        snprintf(j->name, sizeof j->name, "%s", name && *name ? name : "fitted");
        snprintf(j->text, sizeof j->text, "waiting");
        number = j->number;
        if (!view_line_add(s->fits, &j->task)) j->number = 0, j->request = NULL, j = NULL;
    }
    pthread_mutex_unlock(&s->mutex);
    if (j) {
        answer_json(r, pelt_json_pack("{job:u}", number));
    } else {
        json_decref(body);
        answer_error(r, MHD_HTTP_TOO_MANY_REQUESTS, "%d fits are already waiting; cancel one, or wait",
                     MOST_WAITING_JOBS);
    }
}

/* Takes a skin off the list, or puts it back. */
void api_skin(request *r) {
    json_t *body = read_body(r);
    uint32_t character = 0, skin = 0;
    pelt_error error;
    if (!body) return;
    const json_t *listed = json_object_get(body, "listed");
    bool good = read_index(body, "character", &character) && read_index(body, "skin", &skin) && json_is_boolean(listed);
    bool on = json_is_true(listed);
    json_decref(body);
    if (!good)
        answer_error(r, MHD_HTTP_BAD_REQUEST, "expected {\"character\": 0, \"skin\": 0, \"listed\": false}");
    else if (pelt_view_list_skin(r->server->view, character, skin, on, &error))
        answer_failure(r, &error);
    else
        answer_json(r, pelt_json_pack("{character:u, skin:u, listed:b}", character, skin, on));
}

/* The job named by a request; NULL after an answer. Holding the mutex. */
static job *find_job(request *r) {
    char *end;
    unsigned long number = r->name && *r->name >= '1' && *r->name <= '9' ? strtoul(r->name, &end, 10) : 0;
    if (number && !*end)
        for (int i = 0; i < MOST_JOBS; i++)
            if (r->server->jobs[i].number == number) return &r->server->jobs[i];
    answer_error(r, MHD_HTTP_NOT_FOUND, "there is no such job");
    return NULL;
}

static void answer_job(request *r, const job *j) {
    static const char *const states[] = {"running", "done", "failed", "cancelled"};
    json_t *skin = j->state == JOB_DONE ? json_integer(j->skin) : json_null();
    const char *shape = j->state == JOB_FAILED
                            ? "{job:u, state:s, share:f, text:s, character:u, skin:o, error:{text:s}}"
                            : "{job:u, state:s, share:f, text:s, character:u, skin:o}";
    answer_json(
        r, pelt_json_pack(shape, j->number, states[j->state], j->share, j->text, j->character, skin, j->error.text));
}

void api_job(request *r) {
    pthread_mutex_lock(&r->server->mutex);
    const job *j = find_job(r);
    if (j) answer_job(r, j);
    pthread_mutex_unlock(&r->server->mutex);
}

void api_cancel(request *r) {
    pthread_mutex_lock(&r->server->mutex);
    job *j = find_job(r);
    if (j) {
        atomic_store(&j->cancel, true);
        answer_job(r, j);
    }
    pthread_mutex_unlock(&r->server->mutex);
}

/* -- The end ----------------------------------------------------------------------------------------------------- */

void api_stop(pelt_server *s) {
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < MOST_JOBS; i++) atomic_store(&s->jobs[i].cancel, true);
    pthread_mutex_unlock(&s->mutex);
}

void api_free(pelt_server *s) {
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < MOST_JOBS; i++) json_decref(s->jobs[i].request);
    for (int i = 0; i < MOST_DROPS; i++) free_names(&s->drops[i]);
    pthread_mutex_unlock(&s->mutex);
}
