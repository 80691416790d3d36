/* api.c: the page's requests to the server: take a bundle, fit a skin, light a box. */

#include "view/serving.h"
#include "io/io.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Files ------------------------------------------------------------------------------------------------------- */

struct upload {
    pelt_writer *writer;
    uint64_t left;
};

/* A name that stays in its folder and is printable: no path, nothing hidden, no control characters. */
static bool is_plain_name(const char *name) {
    size_t length = strlen(name);
    if (!length || length > 200 || *name == '.' || strchr(name, '/') || strchr(name, '\\')) return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < 32 || *c == 127) return false;
    return true;
}

static void drop_path(const pelt_server *s, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%u%s%s", s->folder, s->drop_number, name ? "/" : "", name ? name : "");
}

/* Holding the mutex: makes room for a file of this drop. False after an answer. */
static bool make_room(request *r, uint64_t size) {
    pelt_server *s = r->server;
    char folder[4096];
    pelt_error error;
    bool known = false;
    for (uint32_t i = 0; i < s->dropped_count; i++) known |= !strcmp(s->dropped[i], r->name);
    if (s->dropped_count == MOST_DROPPED || s->folder_bytes + size > MOST_FOLDER_BYTES) {
        answer_error(r, STATUS_TOO_LARGE, "%s: too many files were sent, or they are too large", r->name);
        return false;
    }
    drop_path(s, NULL, folder, sizeof folder);
    if (pelt_folder_make(folder, &error)) return answer_failure(r, &error), false;
    char *copy = known ? NULL : strdup(r->name);
    if (copy) s->dropped[s->dropped_count++] = copy;
    if (!copy && !known) return answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory"), false;
    s->folder_bytes += size;
    return true;
}

bool api_begin_upload(request *r, uint64_t size) {
    pelt_server *s = r->server;
    char path[4096];
    pelt_error error;
    if (!s->folder) return answer_error(r, MHD_HTTP_FORBIDDEN, "files are not taken here"), false;
    if (!r->name || !is_plain_name(r->name))
        return answer_error(r, MHD_HTTP_BAD_REQUEST, "expected the name of a file, without a folder"), false;
    pthread_mutex_lock(&s->mutex);
    bool room = make_room(r, size);
    drop_path(s, r->name, path, sizeof path);
    pthread_mutex_unlock(&s->mutex);
    if (!room) return false;
    r->upload = calloc(1, sizeof *r->upload);
    if (!r->upload) return answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory"), false;
    r->upload->left = size;
    r->upload->writer = pelt_writer_open(path, &error);
    if (!r->upload->writer) return answer_failure(r, &error), false;
    return true;
}

bool api_put_upload(request *r, const char *bytes, size_t size) {
    if (size > r->upload->left) return false;
    r->upload->left -= size;
    pelt_writer_put(r->upload->writer, bytes, size);
    return true;
}

void api_drop_upload(request *r) {
    if (!r->upload) return;
    if (r->upload->writer) pelt_writer_drop(r->upload->writer);
    free(r->upload);
    r->upload = NULL;
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

/* The last file of a drop: opens all of them. */
static void open_drop(request *r) {
    pelt_server *s = r->server;
    char folder[4096], *names[MOST_DROPPED];
    pelt_error error;
    pthread_mutex_lock(&s->mutex);
    uint32_t count = s->dropped_count;
    drop_path(s, NULL, folder, sizeof folder);
    memcpy(names, s->dropped, count * sizeof *names);
    s->dropped_count = 0, s->drop_number++;
    pthread_mutex_unlock(&s->mutex);
    uint32_t characters = pelt_view_character_count(s->view), boxes = pelt_view_box_count(s->view);
    if (open_dropped(s, names, count, folder, &error)) {
        hide_folder(s->folder, error.text);
        if (error.code == PELT_ERROR_ARGUMENT) error.code = PELT_ERROR_DATA;
        answer_failure(r, &error);
    } else {
        answer_json(r,
                    json_pack("{s:o, s:o}", "character",
                              pelt_view_character_count(s->view) > characters ? json_integer(characters) : json_null(),
                              "box", pelt_view_box_count(s->view) > boxes ? json_integer(boxes) : json_null()));
    }
    for (uint32_t i = 0; i < count; i++) free(names[i]);
}

void api_bundle(request *r) {
    pelt_error error;
    pelt_writer *writer = r->upload->writer;
    bool whole = !r->upload->left;
    if (!whole) {
        answer_error(r, MHD_HTTP_BAD_REQUEST, "%s: the file is shorter than announced", r->name);
        return;
    }
    r->upload->writer = NULL;
    if (pelt_writer_commit(writer, &error)) {
        hide_folder(r->server->folder, error.text);
        answer_failure(r, &error);
    } else if (r->open) {
        open_drop(r);
    } else {
        answer_json(r, json_pack("{s:o}", "file", pelt_json_text(r->name)));
    }
}

/* -- Bodies ------------------------------------------------------------------------------------------------------ */

/* The JSON object in the body; NULL after an answer. */
static json_t *read_body(request *r) {
    json_error_t why;
    json_t *object = json_loadb(r->body, r->body_size, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(object)) return object;
    json_decref(object);
    answer_error(r, MHD_HTTP_BAD_REQUEST, "expected a JSON object: %s", object ? "this is another value" : why.text);
    return NULL;
}

static bool read_index(const json_t *object, const char *key, uint32_t *index) {
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    *index = (uint32_t)number;
    return json_is_integer(value) && number >= 0 && number < INT32_MAX;
}

/* -- Light ------------------------------------------------------------------------------------------------------- */

static bool is_stale(void *user) {
    const request *r = user;
    return atomic_load(&r->server->lights) != r->light || atomic_load(&r->server->stopping);
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
    return (!json_object_get(body, "samples") || read_index(body, "samples", &lamp->samples)) &&
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
        answer_error(r, MHD_HTTP_BAD_REQUEST,
                     "expected {\"box\": 0, \"at\": [x, y, z], \"full\": false, \"samples\": 64, \"seed\": 1}");
    } else if (pelt_view_light(r->server->view, &lamp, &r->answer, &error)) {
        answer_failure(r, &error);
    } else {
        r->status = MHD_HTTP_OK;
    }
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
        answer_error(r, MHD_HTTP_NOT_FOUND, "there is no such character to fit a skin to");
        return;
    }
    pthread_mutex_lock(&s->mutex);
    job *j = free_place(s);
    if (j) {
        *j = (job){.task.run = run_job, .server = s, .number = ++s->job_count, .character = character, .request = body};
        snprintf(j->name, sizeof j->name, "%s", name && *name ? name : "fitted");
        snprintf(j->text, sizeof j->text, "waiting");
        number = j->number;
        if (!view_line_add(s->fits, &j->task)) j->number = 0, j = NULL;
    }
    pthread_mutex_unlock(&s->mutex);
    if (j) {
        answer_json(r, json_pack("{s:i}", "job", (int)number));
    } else {
        json_decref(body);
        answer_error(r, MHD_HTTP_TOO_MANY_REQUESTS, "%d fits are waiting already; cancel one, or wait",
                     MOST_WAITING_JOBS);
    }
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
    json_t *object = json_pack("{s:i, s:s, s:f, s:o, s:i, s:o}", "job", (int)j->number, "state", states[j->state],
                               "share", j->share, "text", pelt_json_text(j->text), "character", (int)j->character,
                               "skin", j->state == JOB_DONE ? json_integer(j->skin) : json_null());
    if (j->state == JOB_FAILED)
        json_object_set_new(object, "error", json_pack("{s:o}", "text", pelt_json_text(j->error.text)));
    answer_json(r, object);
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
    atomic_fetch_add(&s->lights, 1);
}

void api_free(pelt_server *s) {
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < MOST_JOBS; i++) json_decref(s->jobs[i].request);
    for (uint32_t i = 0; i < s->dropped_count; i++) free(s->dropped[i]);
    pthread_mutex_unlock(&s->mutex);
}
