/* client.h: the server of `pelt view` on a small character, and a client whose requests are handmade, byte by byte, so
   that they can be malformed. */

#ifndef PELT_TEST_CLIENT_H
#define PELT_TEST_CLIENT_H

#include "io/tree.h"
#include "test/viewed.h"
#include "view/server.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* -- The server -------------------------------------------------------------------------------------------------- */

static pelt_server *server;
static char *folder;
static char answer[1 << 20];
static size_t answer_size;

static inline void serve(void) {
    pelt_error error;
    folder = pelt_private_folder(&error);
    assert_non_null(folder);
    server = pelt_server_start(view, &(pelt_server_options){.folder = folder, .request_seconds = 0.4}, &error);
    if (!server) fail_msg("%s", error.text);
}

static inline int start_server(void **state) {
    open_all(state);
    serve();
    return 0;
}

static inline int stop_server(void **state) {
    pelt_server_stop(server);
    pelt_folder_remove(folder);
    assert_int_not_equal(access(folder, F_OK), 0);
    free(folder);
    return close_all(state);
}

static inline int dial(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(pelt_server_port(server))};
    struct timeval limit = {30, 0};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int line = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
    return line;
}

static inline void say(int line, const char *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(line, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return; /* refused before the end */
        bytes += sent, size -= (size_t)sent;
    }
}

/* Receives everything until the other side closes; returns the status. */
static inline int listen_to(int line) {
    answer_size = 0;
    for (ssize_t got; answer_size + 1 < sizeof answer &&
                      (got = recv(line, answer + answer_size, sizeof answer - 1 - answer_size, 0)) > 0;)
        answer_size += (size_t)got;
    answer[answer_size] = 0;
    close(line);
    return answer_size > 12 && !strncmp(answer, "HTTP/1.1 ", 9) ? atoi(answer + 9) : 0;
}

static inline int request(const char *format, ...) {
    static char text[50000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int line = dial();
    say(line, text, (size_t)length);
    return listen_to(line);
}

static inline const char *body(void) {
    const char *at = strstr(answer, "\r\n\r\n");
    return at ? at + 4 : "";
}

static char good_headers[300];
static inline const char *good(void) {
    snprintf(good_headers, sizeof good_headers, "Host: 127.0.0.1:%u\r\nConnection: close\r\nX-Pelt-Key: %s\r\n",
             pelt_server_port(server), pelt_server_key(server));
    return good_headers;
}

static inline int ask(const char *method, const char *url) {
    return request("%s %s HTTP/1.1\r\n%s\r\n", method, url, good());
}

static inline int post(const char *url, const char *json) {
    return request("POST %s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", url, good(),
                   strlen(json), json);
}

static inline json_t *answered(void) {
    json_t *object = json_loads(body(), 0, NULL);
    if (!object) fail_msg("%s", answer);
    return object;
}

/* Every failure has a message. */
static inline void assert_sentence(void) {
    json_t *object = answered();
    assert_true(strlen(json_string_value(json_object_get(json_object_get(object, "error"), "text"))) > 10);
    json_decref(object);
}

static inline int send_file(const char *name, const char *more, const void *bytes, size_t size) {
    char head[600];
    int length = snprintf(head, sizeof head,
                          "POST /api/bundle?name=%s%s HTTP/1.1\r\n%sContent-Type: "
                          "application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
                          name, more, good(), size),
        line = dial();
    say(line, head, (size_t)length), say(line, bytes, size);
    return listen_to(line);
}

static inline void pause_for(double seconds) {
    struct timespec length = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&length, NULL);
}

#endif
