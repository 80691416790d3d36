/* server.c: authorisation and routing; answers and their headers; and the timer that closes connections that take too
   long. */

#include "view/serving.h"
#include "rig/clock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* -- Answers ----------------------------------------------------------------------------------------------------- */

void answer_json(request *r, json_t *object) {
    char *text = object ? pelt_json_dump(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (!r->status) r->status = MHD_HTTP_OK;
    if (!text) r->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    r->answer = (pelt_resource){text, text ? strlen(text) : 0, "application/json"};
}

void answer_error(request *r, unsigned status, const char *format, ...) {
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->status = status;
    answer_json(r, pelt_json_pack("{error:{text:s}}", text));
}

void answer_failure(request *r, const pelt_error *error) {
    unsigned status = error->code == PELT_ERROR_ARGUMENT    ? MHD_HTTP_NOT_FOUND
                      : error->code == PELT_ERROR_CANCELLED ? MHD_HTTP_CONFLICT
                      : error->code == PELT_ERROR_MEMORY    ? MHD_HTTP_SERVICE_UNAVAILABLE
                                                            : STATUS_UNPROCESSABLE;
    answer_error(r, status, "%s", error->text);
}

static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob: data:; font-src "
     "'self'; connect-src 'self' blob:; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors "
     "'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Embedder-Policy", "require-corp"},
    {"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
    {"Cache-Control", "no-store"},
};

static connection *own_of(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void set_phase(struct MHD_Connection *c, phase now) {
    connection *own = own_of(c);
    if (own) own->phase = now, own->since = pelt_wall_seconds();
}

static void change_phase(request *r, phase now) {
    pthread_mutex_lock(&r->server->mutex);
    set_phase(r->connection, now);
    pthread_mutex_unlock(&r->server->mutex);
}

/* With all of its headers or not at all: closing the connection is better than leaving one out. */
static enum MHD_Result send_response(request *r, struct MHD_Response *response, const char *type) {
    if (!response) return MHD_NO;
    bool whole = MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        whole &= MHD_add_response_header(response, headers[i].name, headers[i].value);
    if (r->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        whole &= MHD_add_response_header(response, "Allow", "GET, POST, DELETE");
    change_phase(r, PHASE_ANSWERING);
    enum MHD_Result queued = whole ? MHD_queue_response(r->connection, r->status, response) : MHD_NO;
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_answer(request *r) {
    static char no_memory[] = "{\"error\":{\"text\":\"not enough memory\"}}";
    bool made = r->answer.bytes != NULL;
    struct MHD_Response *response =
        made ? MHD_create_response_from_buffer(r->answer.size, r->answer.bytes, MHD_RESPMEM_MUST_FREE)
             : MHD_create_response_from_buffer(strlen(no_memory), no_memory, MHD_RESPMEM_PERSISTENT);
    if (response) r->answer.bytes = NULL; /* now owned by the response */
    return send_response(r, response, made && r->answer.type ? r->answer.type : "application/json");
}

/* -- The page ---------------------------------------------------------------------------------------------------- */

static bool takes_gzip(const request *r) {
    const char *accepted = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Accept-Encoding");
    return accepted && strstr(accepted, "gzip");
}

static enum MHD_Result send_page(request *r, const pelt_page_file *file) {
    bool zipped = takes_gzip(r);
    unsigned char *bytes = zipped ? (unsigned char *)file->gzip : pelt_page_bytes(file);
    struct MHD_Response *response =
        bytes ? MHD_create_response_from_buffer(zipped ? file->gzip_size : file->size, bytes,
                                                zipped ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE)
              : NULL;
    if (!response && !zipped) free(bytes);
    if (!response || !MHD_add_response_header(response, "Vary", "Accept-Encoding") ||
        (zipped && !MHD_add_response_header(response, "Content-Encoding", "gzip"))) {
        if (response) MHD_destroy_response(response);
        return answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory"), send_answer(r);
    }
    r->status = MHD_HTTP_OK;
    return send_response(r, response, file->type);
}

/* -- Routes ------------------------------------------------------------------------------------ */

typedef enum line_name { AT_ONCE, BY_RESOURCE, SLOW, LIVE } line_name;

typedef struct route {
    const char *method, *path; /* a path that ends with / is followed by a name */
    line_name line;
    request_handler handle;
    bool file; /* the body is a file */
} route;

static void make_resource(request *r) {
    pelt_error error;
    if (pelt_view_resource(r->server->view, r->name, &r->answer, &error))
        answer_failure(r, &error);
    else
        r->status = MHD_HTTP_OK;
}

static const route routes[] = {
    {"GET", "/data/", BY_RESOURCE, make_resource, false}, {"POST", "/api/bundle", SLOW, api_bundle, true},
    {"POST", "/api/fit", AT_ONCE, api_fit, false},        {"GET", "/api/job/", AT_ONCE, api_job, false},
    {"DELETE", "/api/job/", AT_ONCE, api_cancel, false},  {"POST", "/api/light", LIVE, api_light, false},
    {"POST", "/api/sample", SLOW, api_sample, false},     {"POST", "/api/fix", SLOW, api_fix, false},
    {"POST", "/api/skin", AT_ONCE, api_skin, false},      {"POST", "/api/face", LIVE, api_face, false},
};

static bool path_fits(const char *path, const char *url) {
    size_t length = strlen(path);
    return path[length - 1] == '/' ? !strncmp(url, path, length) : !strcmp(url, path);
}

/* NULL, with the status that says why. */
static const route *find_route(const char *method, const char *url, unsigned *status) {
    *status = MHD_HTTP_NOT_FOUND;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!path_fits(routes[i].path, url)) continue;
        if (!strcmp(routes[i].method, method)) return &routes[i];
        *status = MHD_HTTP_METHOD_NOT_ALLOWED;
    }
    return NULL;
}

/* -- Authorisation ------------------------------------------------------------------------------------------------- */

/* A header that may occur at most once; counts occurrences. */
typedef struct header {
    const char *name, *value;
    int count;
} header;

static enum MHD_Result note_header(void *user, enum MHD_ValueKind kind, const char *name, const char *value) {
    header *h = user;
    (void)kind;
    for (; h->name; h++)
        if (!strcasecmp(h->name, name)) h->value = value, h->count++;
    return MHD_YES;
}

/* "127.0.0.1:PORT" or "localhost:PORT", after a prefix. */
static bool names_us(const pelt_server *s, const char *text, const char *prefix) {
    char own[2][60];
    if (!text) return false;
    snprintf(own[0], sizeof own[0], "%s127.0.0.1:%u", prefix, s->port);
    snprintf(own[1], sizeof own[1], "%slocalhost:%u", prefix, s->port);
    return !strcmp(text, own[0]) || !strcmp(text, own[1]);
}

/* Constant time for any key of the right length. */
static bool is_key(const pelt_server *s, const char *key) {
    volatile unsigned char different = 0;
    if (!key || strlen(key) != KEY_LETTERS) return false;
    for (int i = 0; i < KEY_LETTERS; i++) different = (unsigned char)(different | (key[i] ^ s->key[i]));
    return !different;
}

static void meet(request *r) {
    pthread_mutex_lock(&r->server->mutex);
    connection *own = own_of(r->connection);
    if (own) own->stranger = false;
    pthread_mutex_unlock(&r->server->mutex);
}

/* Rejects pages of other sites that found the port, or that reach this machine under their own name (DNS rebinding). */
static bool may_ask(request *r, const char *url) {
    const pelt_server *s = r->server;
    header given[] = {{"Host"}, {"Origin"}, {"Sec-Fetch-Site"}, {"X-Pelt-Key"}, {NULL}};
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, note_header, given);
    const header *host = &given[0], *origin = &given[1], *site = &given[2], *key = &given[3];
    if (host->count != 1 || !names_us(s, host->value, "")) {
        answer_error(r, MHD_HTTP_FORBIDDEN, "pelt view answers only to 127.0.0.1:%u", s->port);
        return false;
    }
    bool foreign = origin->count > 1 || (origin->count && !names_us(s, origin->value, "http://")) || site->count > 1 ||
                   (site->count && strcmp(site->value ? site->value : "", "same-origin") &&
                    strcmp(site->value ? site->value : "", "none"));
    if (foreign && strcmp(url, "/")) { /* links to the page may be anywhere */
        answer_error(r, MHD_HTTP_FORBIDDEN, "pelt view answers only its own page");
        return false;
    }
    bool page = strncmp(url, "/data/", 6) && strncmp(url, "/api/", 5);
    bool known = key->count == 1 && is_key(s, key->value);
    if (known) meet(r);
    if (page || known) return true;
    answer_error(r, MHD_HTTP_FORBIDDEN, "the key is missing or wrong; open the address that pelt view printed");
    return false;
}

/* -- Requests ---------------------------------------------------------------------------------------------------- */

bool client_gone(const request *r) {
    const connection *own = own_of(r->connection);
    return own && atomic_load(&own->gone);
}

static void finish_task(view_task *task, bool stopping) {
    request *r = (request *)task;
    if (client_gone(r))
        answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "nothing is waiting for this any more");
    else if (stopping)
        answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "pelt view is ending");
    else
        r->route->handle(r);
    r->state = REQUEST_MADE;
    MHD_resume_connection(r->connection);
}

static view_line *line_of(request *r) {
    pelt_server *s = r->server;
    switch (r->route->line) {
    case SLOW:
        return s->slow;
    case LIVE:
        return s->live;
    default:
        return pelt_view_is_slow(r->name) ? s->slow : s->quick;
    }
}

static enum MHD_Result start_work(request *r) {
    if (r->route->line == AT_ONCE) {
        r->route->handle(r);
        r->state = REQUEST_MADE;
        return send_answer(r);
    }
    if (r->route->handle == api_light) r->light = atomic_fetch_add(&r->server->lights, 1) + 1;
    r->state = REQUEST_WORKING;
    r->task.run = finish_task;
    change_phase(r, PHASE_WORKING);
    MHD_suspend_connection(r->connection);
    if (view_line_add(line_of(r), &r->task)) return MHD_YES;
    answer_error(r, MHD_HTTP_TOO_MANY_REQUESTS, "too many requests at once; try again later");
    r->state = REQUEST_MADE;
    MHD_resume_connection(r->connection);
    return MHD_YES;
}

/* The announced length of the body; false: more than `most`, not given, or contradicted by another header. */
static bool body_length(request *r, uint64_t most, uint64_t *length) {
    header given[] = {{"Content-Length"}, {"Transfer-Encoding"}, {NULL}};
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, note_header, given);
    const char *text = given[0].value;
    char *end;
    *length = 0;
    if (given[0].count > 1 || (given[0].count && given[1].count))
        return answer_error(r, MHD_HTTP_BAD_REQUEST, "the length of the body was sent twice"), false;
    if (!text) return answer_error(r, MHD_HTTP_LENGTH_REQUIRED, "the length of the body is missing"), false;
    errno = 0;
    *length = strtoull(text, &end, 10);
    if (!errno && !*end && end != text && *text >= '0' && *text <= '9' && *length <= most) return true;
    answer_error(r, STATUS_TOO_LARGE, "a body of at most %llu bytes is accepted here", (unsigned long long)most);
    return false;
}

static bool content_is(request *r, const char *type) {
    const char *given = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Content-Type");
    size_t length = strlen(type);
    if (given && !strncasecmp(given, type, length) && (!given[length] || given[length] == ';' || given[length] == ' '))
        return true;
    answer_error(r, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "expected a body of type %s", type);
    return false;
}

static bool named(request *r) {
    if (!r->name) answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory");
    return r->name != NULL;
}

static bool begin_body(request *r) {
    const char *name = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "name");
    const char *open = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "open");
    const char *together = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "drop");
    uint64_t length;
    if (r->route->file) {
        r->name = strdup(name ? name : ""), r->open = open && !strcmp(open, "1");
        return named(r) && content_is(r, "application/octet-stream") && body_length(r, MOST_FILE_BYTES, &length) &&
               api_begin_upload(r, length, together);
    }
    if (!content_is(r, "application/json") || !body_length(r, MOST_JSON_BYTES, &length)) return false;
    r->body = malloc((size_t)length + 1), r->body_room = (size_t)length;
    if (!r->body) answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "not enough memory");
    return r->body != NULL;
}

/* The page itself: nothing in it is secret. */
static enum MHD_Result ask_for_page(request *r, const char *method, const char *url) {
    const pelt_page_file *file = pelt_page_find(strcmp(url, "/") ? url + 1 : "index.html");
    bool gets = !strcmp(method, "GET");
    if (file && gets) { /* on the next call: answering before the request has ended would close the connection */
        r->page = file, r->state = REQUEST_MADE;
        return MHD_YES;
    }
    if (file)
        answer_error(r, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is allowed here");
    else
        answer_error(r, MHD_HTTP_NOT_FOUND, "there is nothing with this name");
    return send_answer(r);
}

static enum MHD_Result begin_request(request *r, const char *method, const char *url) {
    unsigned status;
    if (*url != '/' || !may_ask(r, url)) {
        if (!r->status) answer_error(r, MHD_HTTP_BAD_REQUEST, "this is not an address of pelt view");
        return send_answer(r);
    }
    if (strncmp(url, "/data/", 6) && strncmp(url, "/api/", 5)) return ask_for_page(r, method, url);
    r->route = find_route(method, url, &status);
    if (!r->route) {
        answer_error(r, status,
                     status == MHD_HTTP_NOT_FOUND ? "there is nothing with this name" : "%s is not allowed here",
                     method);
        return send_answer(r);
    }
    /* "data/show.json" of "/data/show.json"; "7" of "/api/job/7" */
    const char *path = r->route->path;
    bool resource = r->route->line == BY_RESOURCE;
    if (path[strlen(path) - 1] == '/') {
        r->name = strdup(resource ? url + 1 : url + strlen(path));
        if (!named(r)) return send_answer(r);
    }
    if (!strcmp(method, "POST") && !begin_body(r)) return send_answer(r);
    r->state = REQUEST_RECEIVING;
    change_phase(r, PHASE_RECEIVING);
    return MHD_YES;
}

/* More of the body; false: more than announced, or none was expected. */
static bool take_body(request *r, const char *bytes, size_t size) {
    if (r->upload) return api_put_upload(r, bytes, size);
    if (!r->body || size > r->body_room - r->body_size) return false;
    memcpy(r->body + r->body_size, bytes, size);
    r->body_size += size;
    return true;
}

static enum MHD_Result ask(void *user, struct MHD_Connection *c, const char *url, const char *method,
                           const char *version, const char *bytes, size_t *size, void **own) {
    pelt_server *s = user;
    request *r = *own;
    (void)version;
    if (!r) {
        r = calloc(1, sizeof *r);
        if (!r) return MHD_NO;
        *own = r;
        r->server = s, r->connection = c;
        return begin_request(r, method, url);
    }
    if (r->state == REQUEST_MADE) return *size ? MHD_NO : r->page ? send_page(r, r->page) : send_answer(r);
    if (r->state != REQUEST_RECEIVING) return MHD_NO;
    if (*size) {
        if (!take_body(r, bytes, *size)) return MHD_NO;
        *size = 0;
        return MHD_YES;
    }
    return start_work(r);
}

static void end_request(void *user, struct MHD_Connection *c, void **own, enum MHD_RequestTerminationCode why) {
    pelt_server *s = user;
    request *r = *own;
    (void)why;
    pthread_mutex_lock(&s->mutex);
    set_phase(c, PHASE_ASKING);
    pthread_mutex_unlock(&s->mutex);
    if (!r) return;
    api_drop_upload(r);
    free(r->answer.bytes), free(r->body), free(r->name);
    free(r);
    *own = NULL;
}

/* -- Connections and their timer ----------------------------------------------------------------------------------- */

/* Whoever connects without asking holds up nobody: the oldest strangers have to go. */
static void make_room(pelt_server *s) {
    int strangers = 0;
    for (connection *c = s->connections; c; c = c->next)
        if (c->stranger && ++strangers > MOST_STRANGERS) shutdown(c->descriptor, SHUT_RDWR);
}

static void note_connection(void *user, struct MHD_Connection *c, void **own,
                            enum MHD_ConnectionNotificationCode what) {
    pelt_server *s = user;
    pthread_mutex_lock(&s->mutex);
    connection *known = *own;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        known = info ? calloc(1, sizeof *known) : NULL;
        if (known) {
            *known = (connection){.descriptor = info->connect_fd,
                                  .since = pelt_wall_seconds(),
                                  .stranger = true,
                                  .next = s->connections,
                                  .link = &s->connections};
            if (s->connections) s->connections->link = &known->next;
            s->connections = known;
            make_room(s);
        }
        *own = known;
    } else if (known) { /* its descriptor is closed after this */
        *known->link = known->next;
        if (known->next) known->next->link = known->link;
        free(known);
        *own = NULL;
    }
    pthread_mutex_unlock(&s->mutex);
}

/* Files may take longer, and strangers should hurry. */
static double allowed(const pelt_server *s, const connection *c) {
    if (c->phase == PHASE_RECEIVING) return 10 * s->request_seconds;
    return c->stranger && c->phase == PHASE_ASKING ? fmin(s->request_seconds, STRANGER_SECONDS) : s->request_seconds;
}

/* That a client has gone is looked for here: nobody listens to a connection that is being worked for, and libmicrohttpd
   may miss an end that comes together with the last bytes. */
static void check_connection(const pelt_server *s, connection *c, double now) {
    char byte;
    bool closed = c->phase != PHASE_ANSWERING && !recv(c->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (c->phase == PHASE_WORKING)
        c->gone |= closed;
    else if (closed || now - c->since > allowed(s, c))
        shutdown(c->descriptor, SHUT_RDWR);
}

static void *watch_clock(void *user) {
    pelt_server *s = user;
    pthread_mutex_lock(&s->mutex);
    while (s->clock_runs) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 250000000;
        if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
        pthread_cond_timedwait(&s->clock_change, &s->mutex, &until);
        double now = pelt_wall_seconds();
        for (connection *c = s->connections; c; c = c->next) check_connection(s, c, now);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* -- Start and end ----------------------------------------------------------------------------------------------- */

static pelt_result open_listener(pelt_server *s, uint16_t port, pelt_error *error) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener >= 0) setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&address, sizeof address) || listen(s->listener, 256) ||
        getsockname(s->listener, (struct sockaddr *)&address, &size)) {
        if (errno == EADDRINUSE)
            return pelt_fail(error, PELT_ERROR_FILE,
                             "port %u is in use; choose another, or leave out --port to take a free one", port);
        return pelt_fail(error, PELT_ERROR_FILE, "port %u of 127.0.0.1 cannot be opened: %s", port, strerror(errno));
    }
    s->port = ntohs(address.sin_port);
    return PELT_OK;
}

static bool make_key(char key[KEY_LETTERS + 1]) {
    unsigned char bytes[KEY_LETTERS / 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* %00 would end names early: a text that has one remains as it is, and fits nothing. */
static size_t unescape(void *user, struct MHD_Connection *c, char *text) {
    (void)user, (void)c;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static pelt_result start_threads(pelt_server *s, pelt_error *error) {
    s->quick = view_line_new(1024), s->slow = view_line_new(256);
    s->live = view_line_new(16), s->fits = view_line_new(MOST_WAITING_JOBS);
    s->clock_runs = true; /* before the thread reads it */
    s->clock_started = s->quick && s->slow && s->live && s->fits && !pthread_create(&s->clock, NULL, watch_clock, s);
    if (!s->clock_started) return pelt_fail(error, PELT_ERROR_MEMORY, "the server's threads cannot be started");
    s->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, s->port, NULL, NULL, ask, s, MHD_OPTION_LISTEN_SOCKET,
        s->listener, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MOST_HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(2 * s->request_seconds + 1),
        MHD_OPTION_NOTIFY_COMPLETED, end_request, s, MHD_OPTION_NOTIFY_CONNECTION, note_connection, s,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    return s->daemon ? PELT_OK : pelt_fail(error, PELT_ERROR_MEMORY, "the server cannot be started");
}

pelt_server *pelt_server_start(pelt_view *view, const pelt_server_options *options, pelt_error *error) {
    if (options->port > UINT16_MAX)
        return pelt_fail_option(error, "port", " must be at most %u, not %u", UINT16_MAX, options->port), NULL;
    pelt_server *s = calloc(1, sizeof *s);
    if (!s) return pelt_no_memory(error), NULL;
    s->view = view, s->folder = options->folder, s->listener = -1;
    s->request_seconds = options->request_seconds > 0 ? options->request_seconds : 30;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->clock_change, NULL);
    if (!make_key(s->key))
        pelt_fail(error, PELT_ERROR_FILE, "the system provides no random numbers for the key");
    else if (!open_listener(s, (uint16_t)options->port, error) && !start_threads(s, error))
        return s;
    pelt_server_stop(s);
    return NULL;
}

void pelt_server_stop(pelt_server *s) {
    if (!s) return;
    atomic_store(&s->stopping, true);
    pelt_view_stop(s->view);
    api_stop(s);
    int listener = s->daemon ? MHD_quiesce_daemon(s->daemon) : -1;
    view_line *lines[] = {s->live, s->quick, s->slow, s->fits};
    for (int i = 0; i < 4; i++) view_line_stop(lines[i]); /* nothing sleeps any more */
    if (s->daemon) MHD_stop_daemon(s->daemon);
    if (listener >= 0 || s->listener >= 0) close(s->listener);
    if (s->clock_started) {
        pthread_mutex_lock(&s->mutex);
        s->clock_runs = false;
        pthread_cond_signal(&s->clock_change);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->clock, NULL);
    }
    for (int i = 0; i < 4; i++) view_line_free(lines[i]);
    api_free(s);
    pthread_cond_destroy(&s->clock_change);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

uint16_t pelt_server_port(const pelt_server *server) { return server->port; }
const char *pelt_server_key(const pelt_server *server) { return server->key; }
