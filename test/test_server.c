/* test_server.c: the server of `pelt view`: it sends the resources, and only to those allowed. */

#include "test/client.h"
#include <dirent.h>
#include <sys/wait.h>

/* The headers of the answer, all but its date: what browsers must not do with it. */
static void check_headers(const char *type, const char *more) {
    char expected[3000], *end = strstr(answer, "\r\n\r\n"), *date = strstr(answer, "Date: ");
    snprintf(expected, sizeof expected,
             "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\nContent-Type: %s\r\n%s"
             "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
             "img-src 'self' blob: data:; font-src 'self'; connect-src 'self' blob:; worker-src 'self' blob:; base-uri "
             "'none'; form-action 'none'; frame-ancestors 'none'\r\n"
             "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
             "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"
             "Cross-Origin-Embedder-Policy: require-corp\r\n"
             "Permissions-Policy: camera=(), microphone=(), geolocation=()\r\nCache-Control: no-store\r\n",
             answer_size - (size_t)(body() - answer), type, more);
    size_t lines = 0;
    assert_true(end && date);
    for (const char *at = expected, *next; (next = strstr(at, "\r\n")); at = next + 2, lines++) {
        char line[1000];
        snprintf(line, sizeof line, "%.*s\r\n", (int)(next - at), at);
        if (!strstr(answer, line) || strstr(answer, line) > end) fail_msg("no %s in %s", line, answer);
    }
    for (const char *at = answer; (at = strstr(at, "\r\n")) && at <= end; at += 2) lines--;
    assert_int_equal(lines, (size_t)-1); /* the date */
}

static void what_is_served_is_the_resource(void **state) {
    (void)state;
    static const char *const names[] = {
        "data/show.json",           "data/c0/mesh.bin",           "data/c0/clip1/truth/2.bin",
        "data/c0/skin0.pelt",       "data/c0/skin0/figures.json", "data/c0/skin0/clip0.json",
        "data/c0/skin0/inside.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char url[100];
        snprintf(url, sizeof url, "/%s", names[i]);
        assert_int_equal(ask("GET", url), 200);
        pelt_resource resource = get(view, "%s", names[i]);
        assert_int_equal(answer_size - (size_t)(body() - answer), resource.size);
        assert_memory_equal(body(), resource.bytes, resource.size);
        check_headers(strstr(url, ".json") ? "application/json" : "application/octet-stream", "");
        free(resource.bytes);
    }
}

/* The page needs no key, and travels compressed where the browser allows it. */
static void the_page_is_there_for_all(void **state) {
    (void)state;
    const pelt_page_file *page = pelt_page_find("index.html");
    if (!page) skip();
    unsigned char *bytes = pelt_page_bytes(page);
    static const char *const asked[] = {"/", "/index.html"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(request("GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", asked[i],
                                 pelt_server_port(server)),
                         200);
        check_headers(page->type, "Vary: Accept-Encoding\r\n");
        assert_int_equal(answer_size - (size_t)(body() - answer), page->size);
        assert_memory_equal(body(), bytes, page->size);
        assert_non_null(strstr(body(), "<!doctype html>"));
        assert_int_equal(request("GET %s HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\nAccept-Encoding: br, "
                                 "gzip\r\n\r\n",
                                 asked[i], pelt_server_port(server)),
                         200);
        check_headers(page->type, "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n");
        assert_int_equal(answer_size - (size_t)(body() - answer), page->gzip_size);
        assert_memory_equal(body(), page->gzip, page->gzip_size);
    }
    /* A link to it may be anywhere, but no other page gets at its parts. */
    assert_int_equal(request("GET / HTTP/1.1\r\n%sSec-Fetch-Site: cross-site\r\n\r\n", good()), 200);
    assert_int_equal(request("GET /index.html HTTP/1.1\r\n%sSec-Fetch-Site: cross-site\r\n\r\n", good()), 403);
    assert_int_equal(ask("GET", "/index.htm"), 404);
    assert_int_equal(ask("POST", "/"), 405);
    assert_non_null(strstr(answer, "Allow: GET, POST, DELETE\r\n"));
    free(bytes);
}

/* One line, one question after the other, as browsers do. */
static void a_connection_serves_more_than_once(void **state) {
    char text[300], url[2][60] = {"/", "/data/c0/clip0/truth/0.bin"};
    int line = dial();
    (void)state;
    for (int i = 0; i < 6; i++) {
        int size = snprintf(
            text, sizeof text,
            "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nX-Pelt-Key: %s\r\nAccept-Encoding: gzip\r\n%s\r\n", url[i % 2],
            pelt_server_port(server), pelt_server_key(server), i == 5 ? "Connection: close\r\n" : "");
        say(line, text, (size_t)size);
        if (i < 5) pause_for(0.12); /* together longer than one request may take */
    }
    assert_int_equal(listen_to(line), 200);
    size_t answers = 0, row = 3 * sizeof(float) * sample->mesh.vertex_count;
    for (size_t at = 0; at + 15 < answer_size; at++) answers += !memcmp(answer + at, "HTTP/1.1 200 OK", 15);
    assert_int_equal(answers, 6);
    assert_memory_equal(answer + answer_size - row, sample->clips[0]->positions, row);
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
                                          "Sec-Fetch-Site: ",
                                          "Sec-Fetch-Site: none\r\nSec-Fetch-Site: none",
                                          "Origin: http://localhost:%u\r\nOrigin: http://localhost:%u",
                                          "Origin: http://127.0.0.1:%u\r\nOrigin: http://evil.example"};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        char origin[200];
        snprintf(origin, sizeof origin, origins[i], port, port);
        int status = request("GET /data/show.json HTTP/1.1\r\n%s%s\r\n\r\n", good(), origin);
        if (status != 403) fail_msg("%s: %d", origin, status);
    }
    assert_int_equal(
        request("GET /data/show.json HTTP/1.1\r\n%sOrigin: http://127.0.0.1:%u\r\nSec-Fetch-Site: same-origin\r\n\r\n",
                good(), port),
        200);
    assert_int_equal(
        request("GET /data/show.json HTTP/1.1\r\n%sOrigin: http://localhost:%u\r\nSec-Fetch-Site: none\r\n\r\n", good(),
                port),
        200);
    /* Jobs, files and light need the key as well. */
    static const char *const others[] = {
        "GET /data/c0/mesh.bin", "POST /api/bundle?name=a", "POST /api/fit", "GET /api/job/1",
        "DELETE /api/job/1",     "POST /api/light",         "GET /api/"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(request("%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", others[i], port),
                         403);
        assert_non_null(strstr(body(), "the key is missing or wrong"));
    }
}

static void only_its_own_methods_and_names(void **state) {
    static const struct {
        const char *method, *url;
        int status;
    } cases[] = {{"PUT", "/data/show.json", 405},
                 {"HEAD", "/data/show.json", 405},
                 {"OPTIONS", "/data/show.json", 405},
                 {"DELETE", "/data/show.json", 405},
                 {"POST", "/data/show.json", 405},
                 {"BREW", "/data/show.json", 405},
                 {"GET", "/api/fit", 405},
                 {"GET", "/api/bundle", 405},
                 {"GET", "/api/light", 405},
                 {"DELETE", "/api/fit", 405},
                 {"POST", "/api/job/1", 405},
                 {"GET", "/api/fit/", 404},
                 {"POST", "/api/fits", 404},
                 {"GET", "/data", 404},
                 {"GET", "/data/", 404},
                 {"GET", "/data/../../etc/passwd", 404},
                 {"GET", "/data/%2e%2e/%2e%2e/etc/passwd", 404},
                 {"GET", "/../etc/passwd", 404},
                 {"GET", "/%2e%2e/%2e%2e/etc/passwd", 404},
                 {"GET", "/data//etc/passwd", 404},
                 {"GET", "/data/c0/skin0.pelt/", 404},
                 {"GET", "//data/show.json", 404},
                 {"GET", "/api", 404},
                 {"GET", "/api/", 404},
                 {"GET", "/assets/../data/show.json", 404},
                 {"GET", "/api/nothing", 404},
                 {"GET", "/data/%ff%fe", 404},
                 {"GET", "/.git/config", 404}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = ask(cases[i].method, cases[i].url);
        if (status != cases[i].status) fail_msg("%s %s: %d", cases[i].method, cases[i].url, status);
        if (strcmp(cases[i].method, "HEAD")) assert_sentence();
        assert_true((status == 405) == (strstr(answer, "Allow: GET, POST, DELETE\r\n") != NULL));
    }
    assert_int_equal(ask("GET", "/data/c0/mesh.bin%00.png"), 404); /* not cut */
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

/* Of 401 clients with the key the last waits until another has gone. */
static void four_hundred_may_be_connected(void **state) {
    enum { MOST = 400 };
    int lines[MOST + 1];
    char text[400], letter[10000];
    pelt_server *first = server;
    pelt_error error;
    (void)state;
    server = pelt_server_start(view, &(pelt_server_options){.request_seconds = 20}, &error);
    assert_non_null(server);
    int length =
        snprintf(text, sizeof text, "GET /data/show.json HTTP/1.1\r\nHost: localhost:%u\r\nX-Pelt-Key: %s\r\n\r\n",
                 pelt_server_port(server), pelt_server_key(server));
    for (int i = 0; i <= MOST; i++) {
        lines[i] = dial();
        say(lines[i], text, (size_t)length);
        if (i < MOST) assert_true(recv(lines[i], letter, sizeof letter, 0) > 0);
    }
    pause_for(0.3);
    assert_int_equal(recv(lines[MOST], letter, 1, MSG_DONTWAIT), -1);
    close(lines[0]);
    assert_int_equal(recv(lines[MOST], letter, 1, 0), 1);
    for (int i = 1; i <= MOST; i++) close(lines[i]);
    pelt_server_stop(server);
    server = first;
}

static void headers_have_32_kilobytes(void **state) {
    static char longest[20000];
    (void)state;
    memset(longest, 'a', 12000);
    assert_int_equal(request("GET /data/show.json HTTP/1.1\r\n%sX-Other: %s\r\n\r\n", good(), longest), 200);
    memset(longest, 'a', 17000);
    assert_int_equal(
        request("GET /data/show.json HTTP/1.1\r\n%sX-Other: %s\r\nX-More: %s\r\n\r\n", good(), longest, longest), 431);
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
    for (struct dirent *entry; (entry = readdir(left));) assert_true(strncmp(entry->d_name, "pelt-view.", 10));
    closedir(left);
    json_decref(printed);
    close(out[0]), free(absolute);
    (void)words;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_served_is_the_resource),     cmocka_unit_test(the_page_is_there_for_all),
        cmocka_unit_test(a_connection_serves_more_than_once), cmocka_unit_test(others_are_refused),
        cmocka_unit_test(only_its_own_methods_and_names),     cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(slow_clients_hold_nothing),          cmocka_unit_test(who_stops_reading_is_cut_off),
        cmocka_unit_test(headers_have_32_kilobytes),          cmocka_unit_test(a_hundred_clients_at_once_are_served),
        cmocka_unit_test(four_hundred_may_be_connected), /* the view is stopped after this */
        cmocka_unit_test(the_program_serves_fits_and_ends),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
