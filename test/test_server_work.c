/* test_server_work.c: what the server of `pelt view` does for its page: it fits skins, takes files and lights boxes; and
   when it ends, nothing of it is left. */

#include "test/client.h"
#include "test/in_use.h"
#include <dirent.h>
#include <math.h>

static void check_answer(json_t *expected) {
    json_t *got = answered();
    if (!json_equal(got, expected)) fail_msg("%s, expected %s", body(), json_dumps(expected, JSON_COMPACT));
    json_decref(got), json_decref(expected);
}

static void check_message(int status, int expected, const char *text) {
    if (status != expected || !strstr(body(), text)) fail_msg("%d %s, expected %d %s", status, answer, expected, text);
    assert_sentence();
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- Jobs -------------------------------------------------------------------------------------------------------- */

static json_t *job(int number) {
    char url[40];
    snprintf(url, sizeof url, "/api/job/%d", number);
    assert_int_equal(ask("GET", url), 200);
    return answered();
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* Until a job is no longer in a state, or no longer says a text. */
static void wait_while(int number, const char *key, const char *value) {
    for (int i = 0; i < 4000; i++) {
        json_t *now = job(number);
        bool same = !strcmp(text_of(now, key), value);
        json_decref(now);
        if (!same) return;
        pause_for(0.005);
    }
    fail_msg("job %d: %s remains %s", number, key, value);
}

/* All that is said of a job. */
static void check_job(int number, const char *state, double share, const char *text, json_t *skin, const char *error) {
    json_t *expected = json_pack("{s:i, s:s, s:f, s:s, s:i, s:o}", "job", number, "state", state, "share", share,
                                 "text", text, "character", 0, "skin", skin);
    if (error) json_object_set_new(expected, "error", json_pack("{s:s}", "text", error));
    json_decref(job(number));
    check_answer(expected);
}

static int try_job(const char *words) {
    char text[300];
    snprintf(text, sizeof text, "{\"character\":0,\"words\":%s,\"name\":\"<i>new\"}", words);
    return post("/api/fit", text);
}

static int started(void) {
    json_t *object = answered();
    int number = (int)json_integer_value(json_object_get(object, "job"));
    assert_true(number > 0);
    check_answer(json_pack("{s:i}", "job", number));
    json_decref(object);
    return number;
}

static int start_job(const char *words) {
    assert_int_equal(try_job(words), 200);
    return started();
}

static void cancel(int number) {
    char url[40];
    snprintf(url, sizeof url, "/api/job/%d", number);
    assert_int_equal(ask("DELETE", url), 200);
}

static uint32_t skin_count(void) {
    json_t *show = get_json(view, "data/show.json");
    const json_t *character = json_array_get(json_object_get(show, "characters"), 0);
    uint32_t count = (uint32_t)json_array_size(json_object_get(character, "skins"));
    json_decref(show);
    return count;
}

static void check_skin_name(uint32_t index, const char *name) {
    json_t *show = get_json(view, "data/show.json");
    const json_t *character = json_array_get(json_object_get(show, "characters"), 0);
    assert_string_equal(text_of(json_array_get(json_object_get(character, "skins"), index), "name"), name);
    json_decref(show);
}

static void fits_are_done_or_fail(void **state) {
    pelt_error error;
    (void)state;
    int number = start_job("[\"--method\",\"ssd\"]");
    wait_while(number, "state", "running");
    check_job(number, "done", 1, "waiting", json_integer(1), NULL);
    cancel(number); /* too late */
    check_job(number, "done", 1, "waiting", json_integer(1), NULL);
    assert_int_equal(ask("GET", "/data/c0/skin1.pelt"), 200);
    pelt_bytes *same = fit_box(glb, PELT_METHOD_SSD, &error);
    assert_memory_equal(body(), same->bytes, same->size);
    pelt_bytes_free(same);
    check_skin_name(1, "<i>new");
    number = start_job("[\"--method\",\"magic\"]");
    wait_while(number, "state", "running");
    check_job(number, "failed", 0, "waiting", json_null(), "--method magic: no such method");
    number = start_job("[]");
    wait_while(number, "state", "running");
    check_job(number, "failed", 0, "waiting", json_null(), "--method : no such method");
    number = start_job("[\"spoiled\"]"); /* files that were not sent by a page keep their paths */
    wait_while(number, "state", "running");
    char text[800];
    snprintf(text, sizeof text, "%s: is spoiled, says %s", glb, glb);
    check_job(number, "failed", 0, "waiting", json_null(), text);
}

/* What is taken off the list keeps its name, so that nothing else gets it; and comes back as it was. */
static void a_skin_can_leave_the_list_and_come_back(void **state) {
    (void)state;
    char before[1 << 16], text[100];
    assert_int_equal(ask("GET", "/data/show.json"), 200);
    assert_true(strlen(body()) < sizeof before);
    snprintf(before, sizeof before, "%s", body());
    uint32_t count = skin_count();
    assert_int_equal(post("/api/skin", "{\"character\":0,\"skin\":0,\"listed\":false}"), 200);
    check_answer(json_pack("{s:i, s:i, s:b}", "character", 0, "skin", 0, "listed", 0));
    assert_int_equal(skin_count(), count - 1);
    json_t *show = get_json(view, "data/show.json");
    const json_t *first =
        json_array_get(json_object_get(json_array_get(json_object_get(show, "characters"), 0), "skins"), 0);
    if (first) assert_int_equal(json_integer_value(json_object_get(first, "index")), 1);
    json_decref(show);
    assert_int_equal(ask("GET", "/data/c0/skin0.pelt"), 200);
    assert_int_equal(post("/api/skin", "{\"character\":0,\"skin\":0,\"listed\":true}"), 200);
    assert_int_equal(ask("GET", "/data/show.json"), 200);
    assert_string_equal(body(), before);
    snprintf(text, sizeof text, "{\"character\":0,\"skin\":%u,\"listed\":false}", count);
    check_message(post("/api/skin", text), 404, "there is nothing with this name");
    static const char *const bad[] = {"{\"character\":0,\"skin\":0}", "{\"character\":0,\"skin\":-1,\"listed\":true}",
                                      "{\"character\":0,\"skin\":0,\"listed\":1}", "{\"skin\":0,\"listed\":true}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_message(post("/api/skin", bad[i]), 400, "expected {\\\"character");
    assert_int_equal(post("/api/skin", "["), 400);
}

/* A page shows a share from 0 to 1, whatever the fit says. */
static void jobs_say_how_far_they_are(void **state) {
    static const struct {
        const char *words, *text;
        double share;
    } cases[] = {{"[\"endless\"]", "for ever", 0.25},     {"[\"endless\",\"0.875\"]", "for ever", 0.875},
                 {"[\"endless\",\"-3\"]", "for ever", 0}, {"[\"endless\",\"nan\"]", "for ever", 0},
                 {"[\"endless\",\"7\"]", "for ever", 1},  {"[\"nameless\",\"0.5\"]", "", 0.5}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int number = start_job(cases[i].words);
        wait_while(number, "text", "waiting");
        check_job(number, "running", cases[i].share, cases[i].text, json_null(), NULL);
        cancel(number);
        wait_while(number, "state", "running");
        check_job(number, "cancelled", cases[i].share, cases[i].text, json_null(), NULL);
    }
    /* Cancelled too late: the skin is there. */
    uint32_t before = skin_count();
    int number = start_job("[\"late\"]");
    wait_while(number, "text", "waiting");
    cancel(number);
    wait_while(number, "state", "running");
    check_job(number, "done", 1, "for ever", json_integer(before), NULL);
}

static void one_fit_runs_and_eight_wait(void **state) {
    int numbers[9];
    (void)state;
    numbers[0] = start_job("[\"endless\"]");
    wait_while(numbers[0], "text", "waiting"); /* it runs, and leaves the queue to others */
    for (int i = 1; i < 9; i++) {
        numbers[i] = start_job("[\"endless\"]");
        assert_int_equal(numbers[i], numbers[0] + i);
        check_job(numbers[i], "running", 0, "waiting", json_null(), NULL);
    }
    check_message(try_job("[\"endless\"]"), 429, "8 fits are already waiting");
    for (int i = 8; i >= 0; i--) cancel(numbers[i]);
    for (int i = 0; i < 9; i++) {
        wait_while(numbers[i], "state", "running");
        check_job(numbers[i], "cancelled", i ? 0 : 0.25, i ? "waiting" : "for ever", json_null(), NULL);
    }
}

static void the_last_64_jobs_are_remembered(void **state) {
    char url[60];
    int number = 0, first = 0;
    (void)state;
    for (int i = 0; i < 65; i++) {
        number = start_job("[\"--method\",\"magic\"]");
        if (!i) first = number;
        assert_int_equal(number, first + i);
        wait_while(number, "state", "running");
    }
    snprintf(url, sizeof url, "/api/job/%d", first);
    assert_int_equal(ask("GET", url), 404);
    for (int i = 1; i < 65; i++)
        check_job(first + i, "failed", 0, "waiting", json_null(), "--method magic: no such method");
    static const char *const none[] = {"/api/job/%d",  "/api/job/0%d", "/api/job/%d0000000000",
                                       "/api/job/%dx", "/api/job/-%d", "/api/job/%%20%d",
                                       "/api/job/",    "/api/job/0"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(url, sizeof url, none[i], i ? number : number + 1);
        check_message(ask("GET", url), 404, "there is no such job");
        check_message(ask("DELETE", url), 404, "there is no such job");
    }
    snprintf(url, sizeof url, "/api/job/%lld", 4294967296ll + number);
    assert_int_equal(ask("GET", url), 404);
}

static int post_long(const char *url, const char *begin, const char *repeated, int times, const char *end) {
    static char text[70000];
    size_t length = (size_t)snprintf(text, sizeof text, "%s", begin);
    for (int i = 0; i < times; i++) length += (size_t)snprintf(text + length, sizeof text - length, "%s", repeated);
    snprintf(text + length, sizeof text - length, "%s", end);
    char head[500];
    int size = snprintf(head, sizeof head,
                        "POST %s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", url,
                        good(), strlen(text)),
        line = dial();
    say(line, head, (size_t)size), say(line, text, strlen(text));
    return listen_to(line);
}

static void orders_are_taken_up_to_their_limits(void **state) {
    enum { MOST_BYTES = 65536 };
    static const char fit[] = "{\"character\":0,\"words\":[\"--method\",\"ssd\"]",
                      bad[] = "expected {\\\"character\\\"";
    char name[304] = "";
    (void)state;
    check_message(post("/api/fit", "{\"character\":2147483646,\"words\":[]}"), 404, "there is no such character");
    check_message(post("/api/fit", "{\"character\":1,\"words\":[]}"), 404, "there is no such character");
    check_message(post("/api/fit", "{\"character\":2147483647,\"words\":[]}"), 400, bad);
    check_message(post("/api/fit", "{\"character\":\"0\",\"words\":[]}"), 400, bad);
    check_message(post("/api/fit", "{\"character\":0,\"words\":{}}"), 400, bad);
    check_message(post("/api/fit", "{\"character\":0,\"words\":[\"a\",2]}"), 400, bad);
    check_message(post("/api/fit", "[1]"), 400, "expected a JSON object: this is not an object");
    check_message(post("/api/fit", "{\"a\":}"), 400, "expected a JSON object: ");
    /* 200 words. */
    check_message(post_long("/api/fit", "{\"character\":0,\"words\":[\"w\"", ",\"w\"", 200, "]}"), 400, bad);
    assert_int_equal(post_long("/api/fit", "{\"character\":0,\"words\":[\"w\"", ",\"w\"", 199, "]}"), 200);
    int number = started();
    wait_while(number, "state", "running");
    check_job(number, "failed", 0, "waiting", json_null(), "--method w: no such method");
    /* 64 KiB. Names are optional, and cut. */
    uint32_t index = skin_count();
    assert_int_equal(post_long("/api/fit", fit, " ", MOST_BYTES - (int)strlen(fit) - 1, "}"), 200);
    number = started();
    wait_while(number, "state", "running");
    check_skin_name(index++, "fitted");
    check_message(post_long("/api/fit", fit, " ", MOST_BYTES - (int)strlen(fit), "}"), 413, "at most 65536 bytes");
    assert_int_equal(post_long("/api/fit", fit, "", 0, ",\"name\":\"\"}"), 200);
    wait_while(started(), "state", "running");
    check_skin_name(index++, "fitted");
    assert_int_equal(post_long("/api/fit", fit, ",\"name\":\"", 1, "n\"}"), 200);
    wait_while(started(), "state", "running");
    check_skin_name(index++, "n");
    memset(name, 'x', 300), strcat(name, "\"");
    assert_int_equal(post_long("/api/fit", fit, ",\"name\":\"", 1, strcat(name, "}")), 200);
    wait_while(started(), "state", "running");
    name[199] = 0;
    check_skin_name(index++, name);
}

/* -- Files ------------------------------------------------------------------------------------------------------- */

static pelt_file read_whole(pelt_arena *arena, const char *name) {
    char path[300];
    pelt_error error;
    pelt_file file;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    if (pelt_file_read(arena, path, &file, &error)) fail_msg("%s", error.text);
    return file;
}

static json_t *opened(json_t *character, json_t *box) {
    return json_pack("{s:o, s:o}", "character", character, "box", box);
}

static void a_dropped_bundle_becomes_a_character(void **state) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file mesh = read_whole(arena, "box.glb"), cache = read_whole(arena, "box.train.pc2"),
              skin = read_whole(arena, "eigen.pelt");
    (void)state;
    /* Names that lead elsewhere. */
    char longest[202] = "";
    memset(longest, 'n', 201);
    const char *const names[] = {
        "..%2fbox.glb", "%2ftmp%2fbox.glb", "..",    ".hidden",      "",   "a%5cb.glb", "a%0ab.glb",
        "a%1fb.glb",    "a%7fb.glb",        longest, "a.glb%00.txt", "%00"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_message(send_file(names[i], "", mesh.bytes, mesh.size), 400, "expected the name of a file");
    assert_int_equal(send_file(longest + 1, "", "x", 1), 200);
    assert_int_equal(send_file("two%20words.txt", "", "", 0), 200);
    check_answer(json_pack("{s:s}", "file", "two words.txt"));
    assert_int_equal(send_file("dropped.glb", "", mesh.bytes, mesh.size), 200); /* sent again below: one character */
    assert_int_equal(send_file("dropped.train.pc2", "", cache.bytes, cache.size), 200);
    assert_int_equal(send_file("s.pelt", "&open=0", skin.bytes, skin.size), 200);
    assert_int_equal(pelt_view_character_count(view), 1);
    assert_int_equal(send_file("dropped.glb", "&open=1", mesh.bytes, mesh.size), 200);
    check_answer(opened(json_integer(1), json_null()));
    assert_int_equal(pelt_view_character_count(view), 2);
    assert_int_equal(ask("GET", "/data/c1/clip0/truth/0.bin"), 200);
    assert_memory_equal(body(), sample->clips[0]->positions, 3 * sizeof(float) * sample->mesh.vertex_count);
    /* Where it lies is nobody's business. */
    assert_int_equal(post("/api/fit", "{\"character\":1,\"words\":[\"spoiled\"]}"), 200);
    int number = started();
    wait_while(number, "state", "running");
    json_t *spoiled = job(number);
    assert_string_equal(text_of(json_object_get(spoiled, "error"), "text"),
                        "dropped.glb: is spoiled, says dropped.glb");
    assert_int_equal(json_integer_value(json_object_get(spoiled, "character")), 1);
    json_decref(spoiled);
    /* What comes next does not mix with it: the same name, and this time without its cache. */
    assert_int_equal(send_file("dropped.glb", "&open=1", mesh.bytes, mesh.size), 200);
    check_answer(opened(json_integer(2), json_null()));
    assert_int_equal(ask("GET", "/data/c2/clip0/truth/0.bin"), 404);
    assert_int_equal(ask("GET", "/data/c2/mesh.bin"), 200);
    assert_int_equal(send_file("late.pelt", "&open=1", skin.bytes, skin.size), 200); /* joins a character */
    check_answer(opened(json_null(), json_null()));
    /* A broken file: the library's message, with the file's own name. */
    check_message(send_file("broken.glb", "&open=1", mesh.bytes, mesh.size / 2), 422, "\"broken.glb: ");
    check_message(send_file("broken.pelt", "&open=1", skin.bytes, skin.size / 2), 422, "\"broken.pelt: ");
    check_message(send_file("nothing.txt", "&open=1", "x", 1), 422, "none of these files is a bundle");
    check_message(send_file("glb", "&open=1", mesh.bytes, mesh.size), 422, "none of these files is a bundle");
    assert_int_equal(pelt_view_character_count(view), 3);
    pelt_arena_free(arena);
}

/* Announces a file; the server says 100 if it would take it. Returns its line. */
static int announce(const char *length, int expected) {
    char text[600];
    int line = dial(), size = snprintf(text, sizeof text,
                                       "POST /api/bundle?name=huge%s.bin HTTP/1.1\r\n%sContent-Type: "
                                       "application/octet-stream\r\nExpect: 100-continue\r\nContent-Length: %s\r\n\r\n",
                                       length, good(), length);
    say(line, text, (size_t)size);
    ssize_t got = recv(line, answer, sizeof answer - 1, 0);
    answer[got > 0 ? got : 0] = 0;
    if (strncmp(answer, "HTTP/1.1 ", 9) || atoi(answer + 9) != expected) fail_msg("%s: %s", length, answer);
    return line;
}

/* In servers of their own: what is announced counts. */
static void files_are_taken_up_to_their_limits(void **state) {
    pelt_server *first = server;
    pelt_error error;
    char name[40];
    int lines[5];
    (void)state;
    server = pelt_server_start(view, &(pelt_server_options){.folder = NULL}, &error);
    assert_non_null(server);
    check_message(send_file("a.glb", "", "x", 1), 403, "this page does not accept files");
    pelt_server_stop(server);
    char *place = pelt_private_folder(&error);
    server = pelt_server_start(view, &(pelt_server_options){.folder = place, .request_seconds = 2}, &error);
    assert_non_null(server);
    close(announce("2147483649", 413));
    lines[0] = announce("2147483647", 100), lines[1] = announce("1", 100); /* 8 GiB, to the byte */
    for (int i = 2; i < 5; i++) lines[i] = announce("2147483648", 100);
    close(announce("1", 413));
    close(lines[0]); /* who gives up makes room */
    pause_for(0.3);
    close(announce("2147483648", 413));
    lines[0] = announce("2147483647", 100);
    for (int i = 0; i < 5; i++) close(lines[i]);
    pelt_server_stop(server);
    server = pelt_server_start(view, &(pelt_server_options){.folder = place, .request_seconds = 2}, &error);
    assert_non_null(server);
    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "%d.txt", i);
        assert_int_equal(send_file(name, "", "x", 1), 200);
    }
    check_message(send_file("one.glb", "", "x", 1), 413, "one.glb: too many files were sent");
    pelt_server_stop(server);
    pelt_folder_remove(place), free(place);
    server = first;
}

/* A slow line: longer than a request may take, as long as it is a file. */
static void files_may_arrive_slowly(void **state) {
    char text[600];
    (void)state;
    int line = dial(), size = snprintf(text, sizeof text,
                                       "POST /api/bundle?name=slow.txt HTTP/1.1\r\n%sContent-Type: "
                                       "application/octet-stream\r\nContent-Length: 4\r\n\r\n",
                                       good());
    say(line, text, (size_t)size);
    for (int i = 0; i < 4; i++) pause_for(0.3), say(line, &"slow"[i], 1);
    assert_int_equal(listen_to(line), 200);
    check_answer(json_pack("{s:s}", "file", "slow.txt"));
}

/* -- Light ------------------------------------------------------------------------------------------------------- */

#ifdef PELT_WITH_LIGHT
enum { PICTURE_HEAD = 20, TIME_AT = 16 };

static void check_picture(const char *order, pelt_view_lamp lamp) {
    pelt_error error;
    pelt_resource expected;
    assert_int_equal(post("/api/light", order), 200);
    assert_non_null(strstr(answer, "Content-Type: application/octet-stream\r\n"));
    if (pelt_view_light(view, &lamp, &expected, &error)) fail_msg("%s", error.text);
    const char *got = body(), *same = expected.bytes;
    assert_int_equal(answer_size - (size_t)(got - answer), expected.size);
    assert_memory_equal(got, same, TIME_AT);
    if (memcmp(got + PICTURE_HEAD, same + PICTURE_HEAD, expected.size - PICTURE_HEAD)) fail_msg("%s differs", order);
    free(expected.bytes);
}

static int order_light(const char *more) {
    char text[600], json[200];
    int line = dial(), length = snprintf(json, sizeof json, "{\"box\":0,\"at\":[0.2,0.4,0.2]%s}", more),
        size = snprintf(text, sizeof text,
                        "POST /api/light HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                        good(), length, json);
    say(line, text, (size_t)size);
    return line;
}

static void a_dropped_box_is_lit(void **state) {
    pelt_arena *arena = pelt_arena_new(0);
    char path[300];
    (void)state;
    snprintf(path, sizeof path, "%s/lamp.keys", test_folder());
    write_light(path);
    pelt_file file = read_whole(arena, "lamp.keys");
    assert_int_equal(send_file("lamp.keys", "&open=1", file.bytes, file.size), 200);
    check_answer(opened(json_null(), json_integer(0)));
    assert_int_equal(pelt_view_box_count(view), 1);
    check_picture("{\"box\":0,\"at\":[0.2,0.4,0.25]}", (pelt_view_lamp){.at = {0.2f, 0.4f, 0.25f}});
    check_picture("{\"box\":0,\"at\":[0,1,0.25],\"samples\":3,\"seed\":9,\"full\":false}",
                  (pelt_view_lamp){.at = {0, 1, 0.25f}, .samples = 3, .seed = 9});
    check_picture("{\"box\":0,\"at\":[0.3,0.4,0.25],\"samples\":2,\"seed\":5,\"full\":true}",
                  (pelt_view_lamp){.at = {0.3f, 0.4f, 0.25f}, .samples = 2, .seed = 5, .full = true});
    static const char *const wrong[] = {"{\"box\":0}",
                                        "{\"at\":[0,0,0]}",
                                        "{\"box\":-1,\"at\":[0,0,0]}",
                                        "{\"box\":0,\"at\":[0,0]}",
                                        "{\"box\":0,\"at\":[0,0,0,0]}",
                                        "{\"box\":0,\"at\":[0,0,\"0\"]}",
                                        "{\"box\":0,\"at\":[0,0,-1e31]}",
                                        "{\"box\":0,\"at\":[0,0,0],\"full\":1}",
                                        "{\"box\":0,\"at\":[0,0,0],\"samples\":-1}",
                                        "{\"box\":0,\"at\":[0,0,0],\"seed\":0.5}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_message(post("/api/light", wrong[i]), 400, "expected {\\\"box\\\": 0");
    check_message(post("/api/light", "{\"box\":1,\"at\":[0,0,0]}"), 404, "there is nothing with this name");
    assert_int_equal(ask("GET", "/data/b0/picture.bin"), 200);
    pelt_arena_free(arena);
}

/* An order that takes at least `seconds` on a processor of its own: as many times longer as one that was timed. */
static void slow_order(const char *kind, double seconds, char more[60]) {
    double took = 0;
    int samples = 32;
    while (samples < 1 << 20 && took < 0.2) {
        snprintf(more, 60, "%s,\"samples\":%d", kind, samples *= 2);
        double start = processor_seconds();
        assert_int_equal(listen_to(order_light(more)), 200);
        took = processor_seconds() - start;
    }
    assert_true(took >= 0.2);
    snprintf(more, 60, "%s,\"samples\":%.0f", kind, samples * ceil(seconds / took));
}

/* A dragged light: only the newest order counts. Work may take longer than a request. */
static void a_new_order_of_light_ends_the_one_before(void **state) {
    char more[60], letter;
    (void)state;
    slow_order(",\"full\":true", 60, more); /* far longer than anything here waits */
    int slow = order_light(more);
    pause_for(0.75);
    assert_int_equal(recv(slow, &letter, 1, MSG_DONTWAIT), -1); /* it is at work, and not cut off */
    int quick = order_light("");
    check_message(listen_to(slow), 409, "the light has moved on");
    assert_int_equal(listen_to(quick), 200);
    /* So does the end of the server. */
    pelt_server *first = server;
    pelt_error error;
    server = pelt_server_start(view, &(pelt_server_options){0}, &error);
    assert_non_null(server);
    slow = order_light(more);
    pause_for(0.1);
    double start = processor_seconds();
    pelt_server_stop(server);
    assert_true(processor_seconds() - start < 10);
    close(slow);
    server = first;
}

/* 16 orders may wait for one that cannot be stopped. */
static void more_orders_than_can_wait_are_refused(void **state) {
    enum { MORE = 20 };
    int lines[MORE];
    char more[60];
    (void)state;
    slow_order("", 3, more);
    int first = order_light(more);
    pause_for(0.1);
    for (int i = 0; i < MORE; i++) lines[i] = order_light("");
    for (int i = 0; i < 16; i++) assert_int_equal(listen_to(lines[i]), 200);
    for (int i = 16; i < MORE; i++) check_message(listen_to(lines[i]), 429, "too many requests at once");
    assert_int_equal(listen_to(first), 200);
}
#endif

/* -- Start and end ----------------------------------------------------------------------------------------------- */

static bool answers_at(const char *address, uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int line = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
    bool found = !connect(line, (struct sockaddr *)&to, sizeof to);
    close(line);
    return found;
}

static void a_port_is_its_own_and_can_be_used_again(void **state) {
    pelt_server *first = server;
    pelt_error error;
    uint16_t port = pelt_server_port(first);
    (void)state;
    assert_true(answers_at("127.0.0.1", port) && !answers_at("127.0.0.2", port));
    assert_null(pelt_server_start(view, &(pelt_server_options){.port = port}, &error));
    assert_int_equal(error.code, PELT_ERROR_FILE);
    assert_non_null(strstr(error.text, "is in use"));
    assert_null(pelt_server_start(view, &(pelt_server_options){.port = 65536}, &error));
    assert_non_null(strstr(error.text, "must be at most 65535, not 65536"));
    server = pelt_server_start(view, &(pelt_server_options){0}, &error);
    assert_non_null(server);
    /* Each has a key of its own. */
    assert_int_equal(strlen(pelt_server_key(server)), 32);
    assert_int_equal(strspn(pelt_server_key(server), "0123456789abcdef"), 32);
    assert_string_not_equal(pelt_server_key(server), pelt_server_key(first));
    assert_int_equal(ask("GET", "/data/show.json"), 200); /* ended by the server, whose side of it lingers */
    port = pelt_server_port(server);
    pelt_server_stop(server);
    assert_false(answers_at("127.0.0.1", port));
    server = pelt_server_start(view, &(pelt_server_options){.port = port}, &error);
    if (!server) fail_msg("%s", error.text);
    assert_int_equal(pelt_server_port(server), port);
    assert_int_equal(ask("GET", "/data/show.json"), 200);
    pelt_server_stop(server);
    server = first;
}

static void a_server_without_work_sleeps(void **state) {
    (void)state;
    int idle = dial();
    double start = processor_seconds();
    pause_for(1);
    assert_true(processor_seconds() - start < 0.2);
    close(idle);
}

/* In a view without fits there is nothing to order. */
static void a_view_that_cannot_fit_says_so(void **state) {
    pelt_server *first = server;
    pelt_view *all = view;
    pelt_error error;
    (void)state;
    view = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = true}, &error);
    add(view, glb), add(view, eigen_path);
    assert_int_equal(pelt_view_arrange(view, &error), PELT_OK);
    server = pelt_server_start(view, &(pelt_server_options){0}, &error);
    check_message(try_job("[\"--method\",\"ssd\"]"), 404, "there is no such character");
    pelt_server_stop(server), pelt_view_free(view);
    server = first, view = all;
}

static int samples_written;

static pelt_result copy(const char *name, const char *to, char *path, size_t size, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_file file = read_whole(arena, name);
    snprintf(path, size, "%s/%s", to, name);
    return pelt_bytes_write(&(pelt_bytes){(void *)file.bytes, file.size}, path, error);
}

/* A built-in character, as the program writes one. */
static pelt_result built_in(const char *name, const char *to, char *scene, size_t size, pelt_error *error) {
    char path[1000];
    samples_written++;
    if (strcmp(name, "box") && strcmp(name, "broken") && strncmp(name, "more", 4))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: there is no such sample", name);
    if (pelt_folder_make(to, error)) return error->code;
    if (!strcmp(name, "broken")) return pelt_fail(error, PELT_ERROR_DATA, "%s/broken.glb: is not to be had", to);
    if (copy("box.train.pc2", to, path, sizeof path, error)) return error->code;
    return copy("box.glb", to, scene, size, error);
}

static size_t entries(const char *path);

/* The page orders characters that the program brings along: each is made once, and only a few. */
static void built_in_characters_are_made_once(void **state) {
    pelt_server *first = server;
    pelt_view *all = view;
    char *used = folder, text[100];
    pelt_error error;
    (void)state;
    check_message(post("/api/sample", "{\"sample\":\"box\"}"), 403, "this server has no built-in characters");
    view = pelt_view_new(&(pelt_view_options){.threads = 1, .serving = true, .sample = built_in}, &error);
    serve();
    json_t *show = get_json(view, "data/show.json");
    assert_true(json_is_true(json_object_get(json_object_get(show, "can"), "sample")));
    json_decref(show);
    size_t before = entries(folder);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(post("/api/sample", "{\"sample\":\"box\"}"), 200);
        check_answer(json_pack("{s:i}", "character", 0));
    }
    assert_int_equal(samples_written, 1);
    assert_int_equal(pelt_view_character_count(view), 1);
    assert_int_equal(ask("GET", "/data/c0/clip0/truth/0.bin"), 200);
    assert_int_equal(entries(folder), before + 1);
    check_message(post("/api/sample", "{\"sample\":\"magic\"}"), 422, "magic: there is no such sample");
    check_message(post("/api/sample", "{\"sample\":\"broken\"}"), 422, "\"broken.glb: is not to be had");
    assert_int_equal(entries(folder), before + 1); /* nothing of it is left */
    static const char *const bad[] = {"{}", "{\"sample\":\"\"}", "{\"sample\":1}",
                                      "{\"sample\":\"abcdefghijklmnopqrst\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_message(post("/api/sample", bad[i]), 400, "expected {\\\"sample");
    for (int i = 0; i < 7; i++) {
        snprintf(text, sizeof text, "{\"sample\":\"more%d\"}", i);
        int status = post("/api/sample", text);
        if (status != 200) fail_msg("%d: %d %s", i, status, answer);
    }
    assert_int_equal(post("/api/fix", "{\"character\":1}"), 200); /* a character once more, mended */
    check_answer(json_pack("{s:i}", "character", 8));
    check_message(post("/api/fix", "{\"character\":99}"), 404, "there is nothing with this name");
    check_message(post("/api/fix", "{\"character\":-1}"), 400, "expected {\\\"character");
    check_message(post("/api/sample", "{\"sample\":\"more7\"}"), 413, "8 built-in characters are already open");
    assert_int_equal(post("/api/sample", "{\"sample\":\"more6\"}"), 200);
    assert_int_equal(pelt_view_character_count(view), 9);
    pelt_server_stop(server), pelt_view_free(view);
    pelt_folder_remove(folder), free(folder);
    server = first, view = all, folder = used;
}

static size_t entries(const char *path) {
    size_t count = 0;
    DIR *list = opendir(path);
    while (list && readdir(list)) count++;
    if (list) closedir(list);
    return count;
}

/* All that a server does, from beginning to end. */
static void live_once(void) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_file mesh = read_whole(arena, "box.glb"), cache = read_whole(arena, "box.train.pc2");
    view = open_box(true);
    serve();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask("GET", "/"), 200);
        assert_int_equal(ask("GET", "/data/c0/skin0/figures.json"), 200);
        assert_int_equal(ask("GET", "/data/c0/skin0/clip1.json"), 200);
        assert_int_equal(ask("GET", "/data/c7/mesh.bin"), 404);
        assert_int_equal(post("/api/fit", "{"), 400);
        assert_int_equal(post("/api/light", "{\"box\":1}"), 400);
    }
    assert_int_equal(send_file("a.train.pc2", "", cache.bytes, cache.size), 200);
    assert_int_equal(send_file("a.glb", "&open=1", mesh.bytes, mesh.size), 200);
    assert_int_equal(send_file("b.glb", "&open=1", mesh.bytes, mesh.size / 2), 422);
    assert_int_equal(send_file("c.glb", "", mesh.bytes, mesh.size), 200); /* never opened */
    wait_while(start_job("[\"--method\",\"ssd\"]"), "state", "running");
    for (int i = 0; i < 62; i++) wait_while(start_job("[\"--method\",\"magic\"]"), "state", "running");
    wait_while(start_job("[\"endless\"]"), "text", "waiting"); /* the last of 64 that are remembered */
    start_job("[\"endless\"]");                                /* never begun */
    int half = announce("5", 100), idle = dial();
    say(half, "four", 4); /* never whole */
    pelt_server_stop(server);
    close(half), close(idle);
    pelt_folder_remove(folder), free(folder);
    pelt_view_free(view);
    pelt_arena_free(arena);
}

static void nothing_is_left_when_it_ends(void **state) {
    pelt_server *first = server;
    pelt_view *all = view;
    char *place = folder;
    (void)state;
    live_once();
    size_t files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    bool nothing = leaves_nothing(live_once);
    server = first, view = all, folder = place;
    assert_true(nothing);
    assert_int_equal(entries("/proc/self/fd"), files);
    for (int i = 0; i < 100 && entries("/proc/self/task") > threads; i++)
        pause_for(0.02); /* they end in their own time */
    assert_int_equal(entries("/proc/self/task"), threads);
}

int main(int count, char **arguments) {
    (void)count;
    use_exactly(arguments);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_are_done_or_fail),
        cmocka_unit_test(a_skin_can_leave_the_list_and_come_back),
        cmocka_unit_test(built_in_characters_are_made_once),
        cmocka_unit_test(jobs_say_how_far_they_are),
        cmocka_unit_test(one_fit_runs_and_eight_wait),
        cmocka_unit_test(the_last_64_jobs_are_remembered),
        cmocka_unit_test(orders_are_taken_up_to_their_limits),
        cmocka_unit_test(a_dropped_bundle_becomes_a_character),
        cmocka_unit_test(files_are_taken_up_to_their_limits),
        cmocka_unit_test(files_may_arrive_slowly),
#ifdef PELT_WITH_LIGHT
        cmocka_unit_test(a_dropped_box_is_lit),
        cmocka_unit_test(a_new_order_of_light_ends_the_one_before),
        cmocka_unit_test(more_orders_than_can_wait_are_refused),
#endif
        cmocka_unit_test(a_server_without_work_sleeps),
        cmocka_unit_test(a_port_is_its_own_and_can_be_used_again),
        cmocka_unit_test(a_view_that_cannot_fit_says_so),
        cmocka_unit_test(nothing_is_left_when_it_ends),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
