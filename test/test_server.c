/* test_server.c: the server of `pelt view`: it sends the resources, and only to those allowed. Requests are handmade,
   byte by byte, so that they can be malformed. */

#include "io/tree.h"
#include "test/viewed.h"
#include "view/server.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* -- The server -------------------------------------------------------------------------------------------------- */

static pelt_server *server;
static char *folder;
static char answer[1 << 20];
static size_t answer_size;

static int start_server(void **state) {
    pelt_error error;
    open_all(state);
    folder = pelt_private_folder(&error);
    assert_non_null(folder);
    server = pelt_server_start(view, &(pelt_server_options){.folder = folder, .request_seconds = 0.4}, &error);
    if (!server) fail_msg("%s", error.text);
    return 0;
}

static int stop_server(void **state) {
    pelt_server_stop(server);
    pelt_folder_remove(folder);
    assert_int_not_equal(access(folder, F_OK), 0);
    free(folder);
    return close_all(state);
}

static int dial(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(pelt_server_port(server))};
    struct timeval limit = {10, 0};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int line = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
    return line;
}

static void say(int line, const char *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(line, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return; /* refused before the end */
        bytes += sent, size -= (size_t)sent;
    }
}

/* Receives everything until the other side closes; returns the status. */
static int listen_to(int line) {
    answer_size = 0;
    for (ssize_t got; answer_size + 1 < sizeof answer &&
                      (got = recv(line, answer + answer_size, sizeof answer - 1 - answer_size, 0)) > 0;)
        answer_size += (size_t)got;
    answer[answer_size] = 0;
    close(line);
    return answer_size > 12 && !strncmp(answer, "HTTP/1.1 ", 9) ? atoi(answer + 9) : 0;
}

static int request(const char *format, ...) {
    char text[20000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int line = dial();
    say(line, text, (size_t)length);
    return listen_to(line);
}

static const char *body(void) {
    const char *at = strstr(answer, "\r\n\r\n");
    return at ? at + 4 : "";
}

static char good_headers[300];
static const char *good(void) {
    snprintf(good_headers, sizeof good_headers, "Host: 127.0.0.1:%u\r\nConnection: close\r\nX-Pelt-Key: %s\r\n",
             pelt_server_port(server), pelt_server_key(server));
    return good_headers;
}

static int ask(const char *method, const char *url) { return request("%s %s HTTP/1.1\r\n%s\r\n", method, url, good()); }

static int post(const char *url, const char *json) {
    return request("POST %s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", url, good(),
                   strlen(json), json);
}

static json_t *answered(void) {
    json_t *object = json_loads(body(), 0, NULL);
    if (!object) fail_msg("%s", answer);
    return object;
}

/* Every failure has a message. */
static void assert_sentence(void) {
    json_t *object = answered();
    assert_true(strlen(json_string_value(json_object_get(json_object_get(object, "error"), "text"))) > 10);
    json_decref(object);
}

static void what_is_served_is_the_resource(void **state) {
    static const char *const names[] = {
        "data/show.json",           "data/c0/mesh.bin",           "data/c0/clip1/truth/2.bin",
        "data/c0/skin0.pelt",       "data/c0/skin0/figures.json", "data/c0/skin0/clip0.json",
        "data/c0/skin0/inside.json"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char url[100];
        snprintf(url, sizeof url, "/%s", names[i]);
        assert_int_equal(ask("GET", url), 200);
        pelt_resource resource = get(view, "%s", names[i]);
        size_t head = (size_t)(body() - answer);
        assert_int_equal(answer_size - head, resource.size);
        assert_memory_equal(body(), resource.bytes, resource.size);
        free(resource.bytes);
        assert_non_null(strstr(answer, "Cache-Control: no-store"));
        assert_non_null(strstr(answer, "X-Content-Type-Options: nosniff"));
        assert_non_null(strstr(answer, "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"));
        assert_null(strstr(answer, "Access-Control-Allow"));
    }
    if (!pelt_page_count()) return;
    assert_int_equal(
        request("GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", pelt_server_port(server)), 200);
    assert_non_null(strstr(body(), "<!doctype html>"));
    assert_non_null(strstr(answer, "frame-ancestors 'none'"));
    assert_null(strstr(answer, pelt_server_key(server)));
}

static void others_are_refused(void **state) {
    const char *key = pelt_server_key(server);
    unsigned port = pelt_server_port(server);
    (void)state;
    /* Without the key, with a wrong one, with an almost correct one. */
    assert_int_equal(request("GET /data/show.json HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", port),
                     403);
    assert_sentence();
    char near[64];
    snprintf(near, sizeof near, "%s", key), near[31] = near[31] == '0' ? '1' : '0';
    const char *const forms[] = {near, "", "%.1s", "%.31s", "%s0", "%s\r\nX-Pelt-Key: %s"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char wrong[200];
        snprintf(wrong, sizeof wrong, forms[i], key, key);
        int status = request("GET /data/show.json HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Pelt-Key: %s\r\nConnection: "
                             "close\r\n\r\n",
                             port, wrong);
        if (status != 403) fail_msg("key %s: %d", wrong, status);
    }
    assert_int_equal(
        request("GET /data/show.json?key=%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", key, port),
        403);
    /* Under another name: a foreign page whose name now resolves to this machine. Also for the page itself. */
    static const char *const hosts[] = {"evil.example",
                                        "evil.example:%u",
                                        "127.0.0.1",
                                        "127.0.0.1:1",
                                        "127.0.0.1:%u.evil.example",
                                        "localhost.evil.example:%u",
                                        "",
                                        "127.0.0.1:%u\r\nHost: 127.0.0.1:%u",
                                        "127.0.0.1:%u\r\nHost: evil.example"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char host[200];
        snprintf(host, sizeof host, hosts[i], port, port);
        int status = request("GET /data/show.json HTTP/1.1\r\nHost: %s\r\nX-Pelt-Key: %s\r\nConnection: close\r\n\r\n",
                             host, key);
        if (status != 403 && status != 400) fail_msg("Host %s: %d", host, status);
        status = request("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
        if (status != 403 && status != 400) fail_msg("Host %s: %d", host, status);
    }
    assert_int_equal(
        request("GET /data/show.json HTTP/1.1\r\nHost: localhost:%u\r\nX-Pelt-Key: %s\r\nConnection: close\r\n\r\n",
                port, key),
        200);
    /* From another page. */
    static const char *const origins[] = {"Origin: http://evil.example",
                                          "Origin: null",
                                          "Origin: http://127.0.0.1:1",
                                          "Origin: https://127.0.0.1:%u",
                                          "Sec-Fetch-Site: cross-site",
                                          "Sec-Fetch-Site: same-site",
                                          "Origin: http://127.0.0.1:%u\r\nOrigin: http://evil.example"};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        char origin[200];
        snprintf(origin, sizeof origin, origins[i], port);
        int status = request("GET /data/show.json HTTP/1.1\r\n%s%s\r\n\r\n", good(), origin);
        if (status != 403) fail_msg("%s: %d", origin, status);
    }
    assert_int_equal(
        request("GET /data/show.json HTTP/1.1\r\n%sOrigin: http://127.0.0.1:%u\r\nSec-Fetch-Site: same-origin\r\n\r\n",
                good(), port),
        200);
}

static void only_its_own_methods_and_names(void **state) {
    static const char *const methods[] = {"PUT", "HEAD", "OPTIONS", "DELETE", "POST", "PATCH", "TRACE", "BREW"};
    static const char *const urls[] = {"/data/../../etc/passwd",
                                       "/data/%2e%2e/%2e%2e/etc/passwd",
                                       "/../etc/passwd",
                                       "/%2e%2e/%2e%2e/etc/passwd",
                                       "/data/c0/mesh.bin%00.png",
                                       "/data//etc/passwd",
                                       "/data/c0/skin0.pelt/",
                                       "//data/show.json",
                                       "/api",
                                       "/api/",
                                       "/api/job/1x",
                                       "/api/job/-1",
                                       "/api/job/99999999999999999999",
                                       "/assets/../data/show.json",
                                       "/api/nothing",
                                       "/data/%ff%fe",
                                       "/index.htm",
                                       "/.git/config"};
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        int status = ask(methods[i], "/data/show.json");
        if (status != 405 && status != 400 && status != 501) fail_msg("%s: %d", methods[i], status);
        assert_null(strstr(answer, "characters"));
    }
    assert_int_equal(ask("GET", "/api/fit"), 405);
    assert_non_null(strstr(answer, "Allow: "));
    assert_int_equal(ask("PUT", "/"), pelt_page_count() ? 405 : 404);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        int status = ask("GET", urls[i]);
        if (status != 404 && status != 405 && status != 400 && !(status == 200 && strstr(urls[i], "%00")))
            fail_msg("%s: %d", urls[i], status);
        assert_null(strstr(answer, "root:"));
    }
}

static void too_much_is_refused(void **state) {
    static char huge[200000];
    (void)state;
    /* A header, a name, a body. */
    memset(huge, 'a', sizeof huge - 1);
    int line = dial();
    say(line, "GET / HTTP/1.1\r\nX: ", 19), say(line, huge, sizeof huge - 1), say(line, "\r\n\r\n", 4);
    int status = listen_to(line);
    assert_true(status == 0 || (status >= 400 && status < 500));
    line = dial();
    say(line, "GET /data/", 10), say(line, huge, sizeof huge - 1), say(line, " HTTP/1.1\r\n\r\n", 13);
    status = listen_to(line);
    assert_true(status == 0 || (status >= 400 && status < 500));
    assert_int_equal(
        request("POST /api/fit HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: 70000\r\n\r\n{}",
                good()),
        413);
    assert_sentence();
    assert_int_equal(request("POST /api/fit HTTP/1.1\r\n%sContent-Type: application/json\r\nTransfer-Encoding: "
                             "chunked\r\n\r\nffffffff\r\n",
                             good()),
                     411);
    status =
        request("POST /api/fit HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: -1\r\n\r\n", good());
    assert_true(status == 400 || status == 413 || status == 0);
    status = request("POST /api/bundle?name=a.glb HTTP/1.1\r\n%sContent-Type: "
                     "application/octet-stream\r\nContent-Length: 999999999999\r\n\r\n",
                     good());
    assert_int_equal(status, 413);
    /* Invalid or wrong JSON gets a message; foreign pages can send forms without asking, so these are refused. */
    static const char *const bodies[] = {"",
                                         "{",
                                         "[]",
                                         "1",
                                         "{\"a\":1,\"a\":2}",
                                         "{\"character\":0}",
                                         "{\"character\":-1,\"words\":[]}",
                                         "{\"character\":0,\"words\":[1]}",
                                         "{\"character\":0.5,\"words\":[]}",
                                         "{\"character\":7,\"words\":[]}",
                                         "{\"character\":0,\"words\":[\"\\u0000\"]}",
                                         "\xff\xfe"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        status = post("/api/fit", bodies[i]);
        if (status != 400 && status != 404) fail_msg("%s: %d", bodies[i], status);
        assert_sentence();
        status = post("/api/light", bodies[i]);
        if (status != 400 && status != 404) fail_msg("%s: %d", bodies[i], status);
    }
    assert_int_equal(
        request("POST /api/fit HTTP/1.1\r\n%sContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", good()), 415);
    static const struct {
        const char *type;
        int status;
    } types[] = {{"application/json5", 415},
                 {"application/jso", 415},
                 {"APPLICATION/JSON; charset=utf-8", 400},
                 {"application/json ;a=b", 400}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) /* {} is no order for a fit */
        assert_int_equal(request("POST /api/fit HTTP/1.1\r\n%sContent-Type: %s\r\nContent-Length: 2\r\n\r\n{}", good(),
                                 types[i].type),
                         types[i].status);
    assert_int_equal(post("/api/light", "{\"box\":0,\"at\":[0,0,0]}"), 404);
    assert_int_equal(ask("GET", "/data/show.json"), 200);
}

/* Clients that send half a request, none at all, or do not read the answer: others are served meanwhile, and they are
   cut off. */
static void slow_clients_hold_nothing(void **state) {
    enum { SLOW = 100 };
    int lines[SLOW];
    struct timespec pause = {0, 50000000};
    (void)state;
    for (int i = 0; i < SLOW; i++) {
        char half[300];
        lines[i] = dial();
        int length = snprintf(half, sizeof half, "GET /data/c0/skin0.pelt HTTP/1.1\r\n%s\r\n", good());
        if (i % 4 == 0) say(lines[i], "G", 1);
        if (i % 4 == 1) say(lines[i], half, (size_t)length - 3);
        if (i % 4 == 2) say(lines[i], "POST /api/fit HTTP/1.1\r\n", 24);
    }
    for (int i = 0; i < 5; i++) assert_int_equal(ask("GET", "/data/c0/mesh.bin"), 200);
    /* One that sends a byte now and then is cut off too. */
    bool cut = false;
    for (int i = 0; i < 60 && !cut; i++) {
        char letter;
        nanosleep(&pause, NULL);
        send(lines[1], "a", 1, MSG_NOSIGNAL);
        cut = recv(lines[1], &letter, 1, MSG_DONTWAIT) == 0;
    }
    assert_true(cut);
    for (int i = 0; i < SLOW; i++) {
        char letter[4096];
        if (i != 1)
            while (recv(lines[i], letter, sizeof letter, 0) > 0) continue; /* all are closed by now, or soon */
        close(lines[i]);
    }
}

/* Far more answers than the system buffers for a connection, none of them read. */
static void who_stops_reading_is_cut_off(void **state) {
    enum { REQUESTS = 2000 };
    static char many[REQUESTS * 200], taken[1 << 16];
    struct timespec pause = {0, 100000000};
    size_t length = 0, got = 0;
    int small = 4096, line = dial();
    (void)state;
    setsockopt(line, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < REQUESTS; i++)
        length += (size_t)snprintf(many + length, 200,
                                   "GET /data/c0/skin0.pelt HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Pelt-Key: %s\r\n\r\n",
                                   pelt_server_port(server), pelt_server_key(server));
    say(line, many, length);
    for (int i = 0; i < 10; i++) {
        nanosleep(&pause, NULL);
        if (i % 3 == 0) assert_int_equal(ask("GET", "/data/show.json"), 200);
    }
    for (ssize_t n; (n = recv(line, taken, sizeof taken, 0)) > 0;) got += (size_t)n;
    close(line);
    pelt_resource skin = get(view, "data/c0/skin0.pelt");
    assert_true(got > 0 && got < REQUESTS * skin.size / 2);
    free(skin.bytes);
}

static void a_hundred_clients_at_once_are_served(void **state) {
    enum { CLIENTS = 100 };
    int lines[CLIENTS];
    char text[400];
    (void)state;
    pelt_resource truth = get(view, "data/c0/clip0/truth/1.bin");
    int length = snprintf(text, sizeof text, "GET /data/c0/clip0/truth/1.bin HTTP/1.1\r\n%s\r\n", good());
    for (int i = 0; i < CLIENTS; i++) lines[i] = dial();
    for (int i = 0; i < CLIENTS; i++) say(lines[i], text, (size_t)length);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(listen_to(lines[i]), 200);
        assert_memory_equal(body(), truth.bytes, truth.size);
    }
    free(truth.bytes);
}

/* -- Jobs -------------------------------------------------------------------------------------------------------- */

static void wait_for_job(int number, char state[20], json_t **last) {
    struct timespec pause = {0, 5000000};
    char url[40];
    snprintf(url, sizeof url, "/api/job/%d", number);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(ask("GET", url), 200);
        *last = answered();
        snprintf(state, 20, "%s", json_string_value(json_object_get(*last, "state")));
        if (strcmp(state, "running")) return;
        json_decref(*last);
        nanosleep(&pause, NULL);
    }
    fail_msg("job %d does not end", number);
}

static int start_job(const char *words) {
    char text[300];
    snprintf(text, sizeof text, "{\"character\":0,\"words\":%s,\"name\":\"<i>new\"}", words);
    if (post("/api/fit", text) != 200) return 0;
    json_t *object = answered();
    int number = (int)json_integer_value(json_object_get(object, "job"));
    json_decref(object);
    return number;
}

/* The page shows the progress of a job, as reported by the fit. */
static void wait_for_share(int number) {
    struct timespec pause = {0, 5000000};
    char url[40];
    double share = 0;
    snprintf(url, sizeof url, "/api/job/%d", number);
    for (int i = 0; i < 400 && share == 0; i++) {
        assert_int_equal(ask("GET", url), 200);
        json_t *object = answered();
        share = json_number_value(json_object_get(object, "share"));
        if (share > 0) assert_string_equal(json_string_value(json_object_get(object, "text")), "for ever");
        json_decref(object);
        nanosleep(&pause, NULL);
    }
    assert_true(share == 0.25);
}

static void fits_end_fail_and_are_cancelled(void **state) {
    char how[20];
    json_t *last;
    (void)state;
    wait_for_job(start_job("[\"--method\",\"ssd\"]"), how, &last);
    assert_string_equal(how, "done");
    assert_int_equal(json_integer_value(json_object_get(last, "skin")), 1);
    assert_true(json_number_value(json_object_get(last, "share")) == 1);
    json_decref(last);
    assert_int_equal(ask("GET", "/data/c0/skin1.pelt"), 200);
    pelt_error error;
    pelt_bytes *same = fit_box(glb, PELT_METHOD_SSD, &error);
    assert_memory_equal(body(), same->bytes, same->size);
    pelt_bytes_free(same);
    json_t *show = get_json(view, "data/show.json");
    json_t *skins = json_object_get(json_array_get(json_object_get(show, "characters"), 0), "skins");
    assert_string_equal(json_string_value(json_object_get(json_array_get(skins, 1), "name")), "<i>new");
    json_decref(show);
    wait_for_job(start_job("[\"--method\",\"magic\"]"), how, &last);
    assert_string_equal(how, "failed");
    assert_string_equal(json_string_value(json_object_get(json_object_get(last, "error"), "text")),
                        "--method magic: no such method");
    json_decref(last);
    /* The oldest of more than 64 are forgotten. */
    int first = 0, number = 0;
    for (int i = 0; i < 70; i++) {
        number = start_job("[\"--method\",\"magic\"]");
        if (!i) first = number;
        wait_for_job(number, how, &last);
        json_decref(last);
    }
    assert_true(first > 0 && number == first + 69);
    char forgotten[40], known[40];
    snprintf(forgotten, sizeof forgotten, "/api/job/%d", first),
        snprintf(known, sizeof known, "/api/job/%d", number - 60);
    assert_int_equal(ask("GET", forgotten), 404);
    assert_int_equal(ask("GET", known), 200);
    /* One that runs, and all those queued behind it; more are refused. */
    int numbers[12], refused = 0;
    for (int i = 0; i < 12; i++) refused += !(numbers[i] = start_job("[\"endless\"]"));
    assert_true(refused > 0 && refused < 12 && numbers[0]);
    wait_for_share(numbers[0]);
    for (int i = 0; i < 12; i++) {
        char url[40];
        if (!numbers[i]) continue;
        snprintf(url, sizeof url, "/api/job/%d", numbers[i]);
        assert_int_equal(ask("DELETE", url), 200);
    }
    for (int i = 0; i < 12; i++) {
        if (!numbers[i]) continue;
        wait_for_job(numbers[i], how, &last);
        assert_string_equal(how, "cancelled");
        json_decref(last);
    }
    assert_true(start_job("[\"endless\"]") > 0); /* is ended with the server */
}

/* -- Files ------------------------------------------------------------------------------------------------------- */

static int send_file(const char *name, const char *more, const void *bytes, size_t size) {
    char head[600];
    int length = snprintf(head, sizeof head,
                          "POST /api/bundle?name=%s%s HTTP/1.1\r\n%sContent-Type: "
                          "application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
                          name, more, good(), size),
        line = dial();
    say(line, head, (size_t)length), say(line, bytes, size);
    return listen_to(line);
}

static pelt_file read_whole(pelt_arena *arena, const char *name) {
    char path[300];
    pelt_error error;
    pelt_file file;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    if (pelt_file_read(arena, path, &file, &error)) fail_msg("%s", error.text);
    return file;
}

static void a_dropped_bundle_becomes_a_character(void **state) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file mesh = read_whole(arena, "box.glb"), cache = read_whole(arena, "box.train.pc2"),
              skin = read_whole(arena, "eigen.pelt");
    (void)state;
    /* Names that lead elsewhere. */
    char longest[202] = "";
    memset(longest, 'n', 201);
    const char *const names[] = {"..%2fbox.glb", "%2ftmp%2fbox.glb", "..",        ".hidden",   "",
                                 "a%5cb.glb",    "a%0ab.glb",        "a%1fb.glb", "a%7fb.glb", longest};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int status = send_file(names[i], "", mesh.bytes, mesh.size);
        if (status != 400) fail_msg("%s: %d", names[i], status);
    }
    assert_int_equal(send_file(longest + 1, "", "x", 1), 200);
    assert_int_equal(send_file("two%20words.txt", "", "x", 1), 200);
    assert_int_equal(send_file("dropped.glb", "", mesh.bytes, mesh.size), 200); /* sent again below: one character */
    assert_int_equal(send_file("dropped.train.pc2", "", cache.bytes, cache.size), 200);
    assert_int_equal(send_file("s.pelt", "", skin.bytes, skin.size), 200);
    assert_int_equal(send_file("dropped.glb", "&open=1", mesh.bytes, mesh.size), 200);
    json_t *object = answered();
    assert_int_equal(json_integer_value(json_object_get(object, "character")), 1);
    json_decref(object);
    assert_int_equal(pelt_view_character_count(view), 2);
    assert_int_equal(ask("GET", "/data/c1/clip0/truth/0.bin"), 200);
    assert_memory_equal(body(), sample->clips[0]->positions, 3 * sizeof(float) * sample->mesh.vertex_count);
    /* A broken file: the library's message, with the file's own name. */
    assert_int_equal(send_file("broken.glb", "&open=1", mesh.bytes, mesh.size / 2), 422);
    assert_non_null(strstr(body(), "\"broken.glb: "));
    assert_int_equal(send_file("nothing.txt", "&open=1", "x", 1), 422);
    assert_sentence();
    pelt_arena_free(arena);
}

/* -- The program ------------------------------------------------------------------------------------------------- */

/* The same arguments as on the command line, and a clean exit. */
static void the_program_serves_fits_and_ends(void **state) {
    const char *program = getenv("PELT_PROGRAM");
    int out[2], status;
    char text[1000] = "", words[1200];
    size_t size = 0;
    (void)state;
    if (!program) program = "build/pelt";
    if (access(program, X_OK)) skip();
    char *absolute = realpath(program, NULL);
    assert_int_equal(pipe(out), 0);
    pid_t child = fork();
    if (!child) {
        dup2(out[1], 1), close(out[0]), close(out[1]);
        setenv("TMPDIR", test_folder(), 1);
        execl(absolute, "pelt", "view", glb, "--json", "--no-browser", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    for (ssize_t got; size + 1 < sizeof text && (got = read(out[0], text + size, sizeof text - 1 - size)) > 0;) {
        size += (size_t)got, text[size] = 0;
        if (strchr(text, '}')) break;
    }
    json_t *printed = json_loads(text, 0, NULL);
    if (!printed) { /* without the page it says so */
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        close(out[0]), free(absolute);
        skip();
    }
    json_t *error = json_object_get(printed, "error");
    if (!error) {
        static const char *const refused[][2] = {
            {"[\"--train\",\"nothing\"]", "has no clip"},
            {"[\"--train\",\"train=/etc/passwd\"]", "has no clip"},
            {"[\"--train\",\"train\",\"-o\",\"x.pelt\"]", "names a file"},
            {"[\"--train\",\"train\",\"--method\",\"magic\"]", "there is no choice"},
            {"[\"box.glb\"]", "options of pelt fit"},
            {"[\"--trian\",\"train\"]", "did you mean --train?"}};
        struct sockaddr_in to = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)json_integer_value(json_object_get(printed, "port")))};
        const char *key = json_string_value(json_object_get(printed, "key"));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (size_t i = 0; i <= sizeof refused / sizeof *refused; i++) {
            bool last = i == sizeof refused / sizeof *refused;
            char json[300];
            snprintf(json, sizeof json, "{\"character\":0,\"words\":%s}",
                     last ? "[\"--train\",\"train\",\"--method\",\"ssd\"]" : refused[i][0]);
            snprintf(words, sizeof words,
                     "POST /api/fit HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nX-Pelt-Key: "
                     "%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     ntohs(to.sin_port), key, strlen(json), json);
            int line = socket(AF_INET, SOCK_STREAM, 0);
            assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
            say(line, words, strlen(words));
            assert_int_equal(listen_to(line), 200);
            bool ended = false;
            for (int wait = 0; wait < 1000 && !ended; wait++) {
                struct timespec pause = {0, 5000000};
                nanosleep(&pause, NULL);
                snprintf(
                    words, sizeof words,
                    "GET /api/job/%zu HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\nX-Pelt-Key: %s\r\n\r\n",
                    i + 1, ntohs(to.sin_port), key);
                line = socket(AF_INET, SOCK_STREAM, 0);
                assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
                say(line, words, strlen(words));
                assert_int_equal(listen_to(line), 200);
                ended = !strstr(body(), "\"running\"");
            }
            if (!strstr(body(), last ? "\"done\"" : refused[i][1])) fail_msg("%s: %s", json, body());
        }
    }
    kill(child, SIGINT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == (json_object_get(printed, "error") ? 1 : 0));
    DIR *left = opendir(test_folder());
    for (struct dirent *entry; (entry = readdir(left));) assert_true(strncmp(entry->d_name, "pelt-view-", 10));
    closedir(left);
    json_decref(printed);
    close(out[0]), free(absolute);
    (void)words;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_served_is_the_resource),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(only_its_own_methods_and_names),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(slow_clients_hold_nothing),
        cmocka_unit_test(who_stops_reading_is_cut_off),
        cmocka_unit_test(a_hundred_clients_at_once_are_served),
        cmocka_unit_test(fits_end_fail_and_are_cancelled),
        cmocka_unit_test(a_dropped_bundle_becomes_a_character),
        cmocka_unit_test(the_program_serves_fits_and_ends),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
