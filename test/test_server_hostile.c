/* test_server_hostile.c: attacks on the server of `pelt view`. Each is refused with a message, and everybody else is served
   meanwhile and afterwards. Memory errors show under the address sanitizer. */

#include "rig/clock.h"
#include "test/client.h"
#include <dirent.h>

static void check_message(int status, int expected, const char *text) {
    if (status != expected || !strstr(body(), text)) fail_msg("%d %s, expected %d %s", status, answer, expected, text);
    assert_sentence();
}

/* With time for all that should not depend on it. */
static int start_patiently(void **state) {
    pelt_error error;
    start_server(state);
    pelt_server_stop(server);
    pelt_view_free(view);
    view = open_box(true);
    server = pelt_server_start(view, &(pelt_server_options){.folder = folder, .request_seconds = 20}, &error);
    return server ? 0 : -1;
}

/* -- Requests -------------------------------------------------------------------------------------------------------- */

/* A chunked body is as long as it likes, whatever Content-Length has said. */
static void a_length_and_chunks_contradict_each_other(void **state) {
    static char text[40000];
    static const char *const lengths[] = {
        "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
        "Content-Length: 4\r\nTransfer-Encoding: Chunked", "Content-Length: 4\r\nContent-Length: 9000"};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int file = 0; file < 2; file++) {
            int size = snprintf(text, sizeof text, "POST %s HTTP/1.1\r\n%sContent-Type: %s\r\n%s\r\n\r\n%x\r\n",
                                file ? "/api/bundle?name=a.bin" : "/api/fit", good(),
                                file ? "application/octet-stream" : "application/json", lengths[i], 30000);
            memset(text + size, ' ', 30000);
            size += 30000 + snprintf(text + size + 30000, 10, "\r\n0\r\n\r\n");
            int line = dial();
            say(line, text, (size_t)size);
            check_message(listen_to(line), 400, "the length of the body was sent twice");
        }
    assert_int_equal(ask("GET", "/data/show.json"), 200);
}

/* Half a request, none at all, a wrong key: more of them than may be connected, and they stay. */
static void half_open_connections_shut_nobody_out(void **state) {
    enum { HALF = 450 };
    static int lines[HALF];
    pelt_server *first = server;
    pelt_error error;
    char text[300];
    (void)state;
    server = pelt_server_start(view, &(pelt_server_options){.request_seconds = 20}, &error);
    assert_non_null(server);
    int length =
        snprintf(text, sizeof text, "GET /data/show.json HTTP/1.1\r\nHost: localhost:%u\r\nX-Pelt-Key: 0\r\n\r\n",
                 pelt_server_port(server));
    for (int i = 0; i < HALF; i++) {
        lines[i] = dial();
        say(lines[i], text, i % 3 ? (size_t)(i % 3 == 1 ? length : length - 2) : 0);
    }
    double start = pelt_wall_seconds();
    for (int i = 0; i < 10; i++) assert_int_equal(ask("GET", "/data/show.json"), 200);
    assert_true(pelt_wall_seconds() - start < 5);
    assert_true(recv(lines[HALF - 1], text, 1, MSG_DONTWAIT) != 0);   /* the last may still hope, */
    while (recv(lines[HALF - 1], text, sizeof text, 0) > 0) continue; /* but not as long as those with the key */
    assert_true(pelt_wall_seconds() - start < 10);
    for (int i = 0; i < HALF; i++) close(lines[i]);
    pelt_server_stop(server);
    server = first;
}

/* How many of the server's connections are in a state of TCP. */
static int connections_in(unsigned state) {
    FILE *file = fopen("/proc/net/tcp", "r");
    char line[400];
    unsigned port, in;
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count +=
            sscanf(line, "%*d: %*x:%x %*x:%*x %x", &port, &in) == 2 && port == pelt_server_port(server) && in == state;
    if (file) fclose(file);
    return count;
}

/* Clients that go at any moment are not kept. */
static void closed_connections_are_closed(void **state) {
    enum { CLOSE_WAIT = 8, CLIENTS = 60 };
    char text[600];
    (void)state;
    int length = snprintf(text, sizeof text,
                          "POST /api/bundle?name=a.bin HTTP/1.1\r\n%sContent-Type: "
                          "application/octet-stream\r\nContent-Length: 9\r\n\r\nfour",
                          good());
    for (int i = 0; i < CLIENTS; i++) {
        int line = dial();
        say(line, text, (size_t)(length * i / CLIENTS));
        close(line);
    }
    length = snprintf(text, sizeof text, "GET /data/c0/skin0/clip0.json HTTP/1.1\r\n%s\r\n", good());
    for (int i = 0; i < CLIENTS; i++) {
        int line = dial();
        say(line, text, (size_t)length);
        close(line);
    }
    for (int i = 0; i < 300 && connections_in(CLOSE_WAIT); i++) pause_for(0.01);
    assert_int_equal(connections_in(CLOSE_WAIT), 0);
}

/* -- Files ----------------------------------------------------------------------------------------------------------- */

static size_t folders(void) {
    size_t count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; (entry = readdir(list));) count += *entry->d_name != '.';
    closedir(list);
    return count;
}

/* Too many, too large, or broken off: what was sent so far goes, and the next drop works. */
static void a_failed_drop_leaves_nothing_to_the_next(void **state) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_error error;
    pelt_file mesh;
    char name[40], text[600];
    (void)state;
    if (pelt_file_read(arena, glb, &mesh, &error)) fail_msg("%s", error.text);
    size_t before = folders();
    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "%d.txt", i);
        assert_int_equal(send_file(name, "", "x", 1), 200);
    }
    /* without a body, which would be refused before it has arrived, and the answer lost with it */
    check_message(send_file("256.txt", "", "", 0), 413, "256.txt: too many files were sent");
    assert_int_equal(folders(), before);
    assert_int_equal(send_file("box.train.pc2", "", "broken", 6), 200); /* which would spoil the next */
    int line = dial(), length = snprintf(text, sizeof text,
                                         "POST /api/bundle?name=a.bin HTTP/1.1\r\n%sContent-Type: "
                                         "application/octet-stream\r\nContent-Length: 9\r\n\r\nfour",
                                         good());
    say(line, text, (size_t)length), close(line);
    for (int i = 0; i < 200 && folders() > before; i++) pause_for(0.01);
    assert_int_equal(folders(), before);
    assert_int_equal(send_file("box.glb", "&drop=a", mesh.bytes, mesh.size / 2), 200);
    assert_int_equal(send_file("bad.pelt", "&open=1&drop=b", "x", 1), 422); /* one drop does not see the other, */
    assert_int_equal(folders(), before + 1);                                /* and is gone when it became nothing */
    assert_int_equal(send_file("box.glb", "&open=1&drop=c", mesh.bytes, mesh.size), 200);
    assert_non_null(strstr(body(), "{\"character\":1,\"box\":null}"));
    for (int i = 0; i < 20; i++) { /* those that are never finished make room for others */
        snprintf(name, sizeof name, "&drop=%d", i);
        assert_int_equal(send_file("a.txt", name, "x", 1), 200);
    }
    assert_int_equal(folders(), before + 1 + 8);
    pelt_arena_free(arena);
}

static void files_sent_at_once_are_refused_kindly(void **state) {
    enum { FILES = 17 };
    int lines[FILES], taken = 0;
    char text[600];
    (void)state;
    for (int i = 0; i < FILES; i++) {
        int length = snprintf(text, sizeof text,
                              "POST /api/bundle?name=%d.bin HTTP/1.1\r\n%sContent-Type: "
                              "application/octet-stream\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
                              i, good());
        lines[i] = dial();
        say(lines[i], text, (size_t)length);
        assert_true(recv(lines[i], text, 12, MSG_WAITALL) == 12);
        taken += !memcmp(text, "HTTP/1.1 100", 12);
        if (i == FILES - 1) {
            memcpy(answer, text, 12);
            size_t got = 12;
            for (ssize_t n; (n = recv(lines[i], answer + got, sizeof answer - 1 - got, 0)) > 0;) got += (size_t)n;
            answer[got] = 0;
            check_message((int)strtol(answer + 9, NULL, 10), 429, "16.bin: 12 files are already being sent");
            assert_null(strstr(answer, folder));
        }
    }
    assert_int_equal(taken, 12);
    for (int i = 0; i < FILES; i++) close(lines[i]);
}

static void the_ninth_waiting_fit_leaves_nothing_behind(void **state) {
    (void)state;
    pelt_error error;
    const char order[] = "{\"character\":0,\"words\":[\"endless\"],\"name\":\"a name that is freed with its order\"}";
    int refused = 0;
    for (int i = 0; i < 12; i++) refused += post("/api/fit", order) == 429;
    assert_true(refused >= 3);
    pelt_server_stop(server); /* frees each order once */
    server = pelt_server_start(view, &(pelt_server_options){.folder = folder}, &error);
    assert_non_null(server);
    assert_int_equal(ask("GET", "/data/show.json"), 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_and_chunks_contradict_each_other),
        cmocka_unit_test(half_open_connections_shut_nobody_out),
        cmocka_unit_test(closed_connections_are_closed),
        cmocka_unit_test(a_failed_drop_leaves_nothing_to_the_next),
        cmocka_unit_test(files_sent_at_once_are_refused_kindly),
        cmocka_unit_test(the_ninth_waiting_fit_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, start_patiently, stop_server);
}
