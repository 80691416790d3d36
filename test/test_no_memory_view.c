/* test_no_memory_view.c: when memory runs out anywhere in the server of `pelt view` or in its export, the answer and the
   files are the same, or there is a message and no file; and the server lives on. */

#include "test/allocations.h"
#include "test/client.h"
#include <dirent.h>
#include <microhttpd.h>

/* -- The C library and libmicrohttpd have no memory either --------------------------------------------------------- */

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = __wrap_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

#define LIBRARY(type, failed, name, parameters, arguments)                                                             \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters { return runs_out() ? failed : __real_##name arguments; }

LIBRARY(struct MHD_Response *, NULL, MHD_create_response_from_buffer,
        (size_t size, void *bytes, enum MHD_ResponseMemoryMode mode), (size, bytes, mode))
LIBRARY(enum MHD_Result, MHD_NO, MHD_add_response_header,
        (struct MHD_Response * response, const char *header, const char *content), (response, header, content))
LIBRARY(enum MHD_Result, MHD_NO, MHD_queue_response,
        (struct MHD_Connection * connection, unsigned int status, struct MHD_Response *response),
        (connection, status, response))

/* -- The server ---------------------------------------------------------------------------------------------------- */

static pelt_file box_file, skin_file;
static pelt_arena *files;

static int ask_show(void) { return ask("GET", "/data/show.json"); }
static int ask_page(void) { return ask("GET", "/"); }
static int ask_surface(void) { return ask("GET", "/data/c0/surface.json"); }
static int ask_figures(void) { return ask("GET", "/data/c0/skin0/figures.json"); }
static int ask_errors(void) { return ask("GET", "/data/c0/skin0/clip0.json"); }
static int ask_measure(void) { return ask("GET", "/data/c0/skin0/clip0/measure.json"); }
static int ask_vertices(void) { return ask("GET", "/data/c0/skin0/clip0/vertices.bin"); }
static int ask_counts(void) { return ask("GET", "/data/counts.json"); }
static int ask_inside(void) { return ask("GET", "/data/c0/skin0/inside.json"); }
static int ask_truth(void) { return ask("GET", "/data/c0/clip0/truth/1.bin"); }
static int ask_for_nothing(void) { return ask("GET", "/data/none"); }
static int order_wrong(void) { return post("/api/fit", "{\"character\":0}"); }
static int order_nowhere(void) { return post("/api/light", "{\"box\":0,\"at\":[0,0,0]}"); }
static int pull_nowhere(void) { return post("/api/face", "{\"box\":0,\"controls\":[0.5]}"); }
static int list_skin(void) { return post("/api/skin", "{\"character\":0,\"skin\":0,\"listed\":true}"); }
static int ask_job(void) { return ask("GET", "/api/job/1"); }
static int send_part(void) { return send_file("part.bin", "", "four", 4); }
static int send_broken(void) { return send_file("broken.glb", "&open=1", box_file.bytes, box_file.size / 2); }

/* The headers but the date, and the body; 0: none. */
static uint64_t hash_answer(void) {
    uint64_t h = 1;
    const char *date = strstr(answer, "Date: ");
    for (size_t i = 0; i < answer_size; i++)
        if (!date || answer + i < date || answer + i > date + 40) h = (h ^ (uint8_t)answer[i]) * 1099511628211u;
    return answer_size ? h : 0;
}

/* The same bytes, a message, or a closed connection. */
static void serve_with_ever_more_memory(const char *name, int (*call)(void), int expected) {
    long others = 0;
    int status = call();
    if (status != expected) fail_msg("%s: %d %s", name, status, answer);
    uint64_t whole = hash_answer();
    for (int once = 0; once < 2; once++)
        for (long allowed = 0, short_of = 1; short_of; allowed++) {
            allocations_begin(allowed, once);
            status = call();
            short_of = allocations_end();
            if (status == expected && hash_answer() == whole) continue;
            others++;
            if (status && status < 400) fail_msg("%s without allocation %ld: %s", name, allowed, answer);
            if (status) assert_sentence();
        }
    assert_true(others > 0);
    assert_int_equal(call(), expected);
    assert_true(hash_answer() == whole);
}

static void answers_are_the_same_or_a_sentence(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int (*call)(void);
        int status;
    } calls[] = {{"show", ask_show, 200},           {"surface", ask_surface, 200}, {"figures", ask_figures, 200},
                 {"errors", ask_errors, 200},       {"measure", ask_measure, 200}, {"vertices", ask_vertices, 200},
                 {"counts", ask_counts, 200},       {"inside", ask_inside, 200},   {"truth", ask_truth, 200},
                 {"nothing", ask_for_nothing, 404}, {"wrong", order_wrong, 400},   {"nowhere", order_nowhere, 404},
                 {"face", pull_nowhere, 404},       {"skin", list_skin, 200},      {"job", ask_job, 200},
                 {"part", send_part, 200},          {"broken", send_broken, 422},  {"page", ask_page, 200}};
    assert_int_equal(post("/api/fit", "{\"character\":0,\"words\":[\"--method\",\"magic\"]}"), 200);
    for (int i = 0; i < 100 && (ask_job(), strstr(body(), "\"running\"")); i++) pause_for(0.01);
    size_t count = sizeof calls / sizeof *calls - !pelt_page_count();
    for (size_t i = 0; i < count; i++) serve_with_ever_more_memory(calls[i].name, calls[i].call, calls[i].status);
}

/* A drop and a fit change the server: each is done or refused with a message, and the next works. */
static void orders_are_done_or_refused(void **state) {
    pelt_server *first = server;
    pelt_view *all = view;
    pelt_error error;
    (void)state;
    for (int once = 0; once < 2; once++)
        for (long allowed = 0, short_of = 1; short_of; allowed += 1 + allowed / 20) {
            int fitted = 0, number = 1;
            view = open_box(true);
            allocations_begin(allowed, once);
            server = pelt_server_start(view, &(pelt_server_options){.folder = folder}, &error);
            if (server) {
                int sent = send_file("s.pelt", "", skin_file.bytes, skin_file.size);
                if (sent != 200 && sent != 503 && sent != 0) fail_msg("without %ld: %d %s", allowed, sent, answer);
                int opened = send_file("b.glb", "&open=1", box_file.bytes, box_file.size);
                if (opened != 200 && opened != 503 && opened != 0 && opened != 422) fail_msg("%d %s", opened, answer);
                fitted = post("/api/fit", "{\"character\":0,\"words\":[\"--method\",\"ssd\"]}");
            } else {
                assert_int_equal(error.code, PELT_ERROR_MEMORY);
            }
            short_of = allocations_end();
            if (server && fitted == 200) {
                char url[40];
                assert_true(sscanf(body(), "{\"job\":%d}", &number) == 1);
                snprintf(url, sizeof url, "/api/job/%d", number);
                for (int i = 0; i < 1000 && (ask("GET", url), strstr(body(), "\"running\"")); i++) pause_for(0.005);
                if (!strstr(body(), "\"done\"")) assert_non_null(strstr(body(), "\"error\":{\"text\":\""));
            }
            if (server) assert_int_equal(ask_show(), 200);
            pelt_server_stop(server);
            pelt_view_free(view);
        }
    server = first, view = all;
}

/* -- The export ------------------------------------------------------------------------------------------------------ */

static uint64_t hash_folder(const char *path, uint64_t h) {
    struct dirent **list;
    int count = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char name[600];
        snprintf(name, sizeof name, "%s/%s", path, list[i]->d_name);
        FILE *file = *list[i]->d_name == '.' || list[i]->d_type == DT_DIR ? NULL : fopen(name, "rb");
        if (list[i]->d_type == DT_DIR && *list[i]->d_name != '.') h = hash_folder(name, h);
        /* How long a frame takes is measured anew. */
        for (int c; file && strcmp(list[i]->d_name, "figures.json") && (c = fgetc(file)) != EOF;)
            h = (h ^ (uint8_t)c) * 1099511628211u;
        if (file) fclose(file);
        h = (h ^ (uint8_t)*list[i]->d_name) * 1099511628211u;
        free(list[i]);
    }
    if (count >= 0) free(list);
    return h;
}

static pelt_result export_all(const char *to, pelt_error *error) {
    char keys[300];
    snprintf(keys, sizeof keys, "%s/face.keys", test_folder());
    const char *const inputs[] = {eigen_path, glb, keys};
    pelt_view *shown = pelt_view_new(&(pelt_view_options){.threads = 1}, error);
    pelt_result result = shown ? PELT_OK : error->code;
    for (int i = 0; i < 3 && !result; i++) result = pelt_view_add(shown, inputs[i], error);
    if (!result) result = pelt_view_arrange(shown, error);
    if (!result) result = pelt_view_export(shown, to, NULL, NULL, error);
    pelt_view_free(shown);
    return result;
}

static void exports_are_the_same_or_not_there(void **state) {
    char keys[300], to[300];
    pelt_error error;
    long failures = 0;
    (void)state;
    snprintf(keys, sizeof keys, "%s/face.keys", test_folder());
    snprintf(to, sizeof to, "%s/exported", test_folder());
    write_points(keys, sample, 0);
    if (export_all(to, &error)) fail_msg("%s", error.text);
    uint64_t whole = hash_folder(to, 1);
    pelt_folder_remove(to);
    for (int once = 0; once < 2; once++)
        for (long allowed = 0, short_of = 1; short_of; allowed += 1 + allowed / (once ? 400 : 100)) {
            error = (pelt_error){0};
            allocations_begin(allowed, once);
            pelt_result result = export_all(to, &error);
            short_of = allocations_end();
            if (result) {
                assert_true(strlen(error.text) > 10);
                assert_int_not_equal(access(to, F_OK), 0);
                failures++;
            } else {
                if (hash_folder(to, 1) != whole) fail_msg("without allocation %ld it is another export", allowed);
                pelt_folder_remove(to);
            }
        }
    assert_true(failures > 100);
    DIR *left = opendir(test_folder());
    for (struct dirent *entry; (entry = readdir(left));) assert_null(strstr(entry->d_name, ".tmp-"));
    closedir(left);
}

static int begin(void **state) {
    pelt_error error;
    char path[300];
    start_server(state);
    json_set_alloc_funcs(__wrap_malloc, free);
    files = pelt_arena_new(0);
    snprintf(path, sizeof path, "%s/box.glb", test_folder());
    return pelt_file_read(files, path, &box_file, &error) || pelt_file_read(files, eigen_path, &skin_file, &error);
}

static int end(void **state) {
    pelt_arena_free(files);
    return stop_server(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_the_same_or_a_sentence),
                                       cmocka_unit_test(orders_are_done_or_refused),
                                       cmocka_unit_test(exports_are_the_same_or_not_there)};
    return cmocka_run_group_tests(tests, begin, end);
}
