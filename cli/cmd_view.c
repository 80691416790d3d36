/* cmd_view.c: pelt view: a page to inspect skins, pose their joints, and fit new ones. */

#include "cli/engine_options.h"
#include "cli/eval.h"
#include "cli/fit_options.h"
#include "io/io.h"
#include "io/tree.h"
#include "view/view.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef PELT_WITH_SERVER
#include "view/server.h"
#endif

/* -- What is shown ----------------------------------------------------------------------------------------------- */

static pelt_view *open_view(const cli_args *args, bool serving, pelt_engine *engine, pelt_error *error) {
    pelt_view_options options = {.threads = args->threads,
                                 .serving = serving,
                                 .with_fit = cli_value(args, "with-fit") != NULL,
                                 .fit = cli_fit_words,
                                 .sample = cli_sample_files,
                                 .engine = engine,
                                 .engine_name = cli_value(args, "engine")};
    pelt_view *view = pelt_view_new(&options, error);
    pelt_result result = view ? PELT_OK : PELT_ERROR_MEMORY;
    for (int i = 0; i < args->input_count && !result; i++) result = pelt_view_add(view, args->inputs[i], error);
    if (!result) result = pelt_view_arrange(view, error);
    if (!result) return view;
    pelt_view_free(view);
    return NULL;
}

static int no_page(void) {
    return cli_fail("this pelt was built without its page; install nodejs, npm, clang, lld, wasi-libc and "
                    "libclang-rt-dev-wasm32, then run cmake --preset release && ninja -C build");
}

/* -- Export ------------------------------------------------------------------------------------------------------ */

static int export_view(const cli_args *args, const char *folder) {
    pelt_error error;
    pelt_progress progress = cli_progress(args);
    size_t count = 0;
    bool with_fit = cli_value(args, "with-fit") != NULL;
    if (!args->input_count && !with_fit)
        return cli_misuse(
            args,
            "name what to export: a bundle, skins or key points; only a page that fits (--with-fit) can do without");
    if (!pelt_page_count()) return no_page();
    if (with_fit && !pelt_page_has_fitter())
        return cli_fail("this pelt was built without the fitter for WebAssembly; install libc++-dev-wasm32 and "
                        "libeigen3-dev, then run cmake --preset release && ninja -C build");
    pelt_view *view = open_view(args, false, NULL, &error);
    pelt_result result = view ? pelt_view_export(view, folder, &progress, &count, &error) : error.code;
    pelt_view_free(view);
    if (result) return cli_error(&error);
    cli_say(args, "%s: %zu files; any web server can show them\n", folder, count);
    return cli_print_json(args, pelt_json_pack("{folder:s, files:z}", folder, count));
}

/* -- Server ------------------------------------------------------------------------------------------------------ */

#ifdef PELT_WITH_SERVER
/* What ends the server, unless it is ignored: `nohup pelt view` goes on when its terminal is gone. */
static sigset_t ends(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < 3; i++)
        if (!sigaction(numbers[i], NULL, &now) && now.sa_handler != SIG_IGN) sigaddset(&set, numbers[i]);
    return set;
}

/* A page that redirects to the address: all users of a machine can read command lines, but not private files. */
static bool write_way_in(const char *folder, const char *url, char *path, size_t size) {
    pelt_error error;
    char html[400];
    snprintf(path, size, "%s/open.html", folder);
    int length = snprintf(html, sizeof html,
                          "<!doctype html><meta charset=\"utf-8\"><title>pelt view</title>"
                          "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><a href=\"%s\">pelt view</a>\n",
                          url, url);
    return !pelt_bytes_write(&(pelt_bytes){html, (size_t)length}, path, &error);
}

/* Only if there is a display; the browser's output is discarded. */
static void open_browser(const char *folder, const char *url) {
    extern char **environ;
    char path[4200];
    posix_spawn_file_actions_t quiet;
    posix_spawnattr_t apart;
    sigset_t none, pipes;
    pid_t child;
    bool display =
        (getenv("DISPLAY") && *getenv("DISPLAY")) || (getenv("WAYLAND_DISPLAY") && *getenv("WAYLAND_DISPLAY"));
    if (!display || !write_way_in(folder, url, path, sizeof path)) return;
    char *words[] = {"xdg-open", path, NULL};
    sigemptyset(&none), sigemptyset(&pipes), sigaddset(&pipes, SIGPIPE), sigaddset(&pipes, SIGXFSZ);
    posix_spawn_file_actions_init(&quiet);
    posix_spawnattr_init(&apart);
    posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&apart, &none), posix_spawnattr_setsigdefault(&apart, &pipes);
    posix_spawnattr_setpgroup(&apart, 0); /* Ctrl-C is for pelt alone */
    posix_spawnattr_setflags(&apart, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    signal(SIGCHLD, SIG_IGN);
    posix_spawnp(&child, words[0], &quiet, &apart, words, environ);
    posix_spawn_file_actions_destroy(&quiet);
    posix_spawnattr_destroy(&apart);
}

static int serve(const cli_args *args, pelt_view *view, const char *folder, uint32_t port, const sigset_t *set) {
    pelt_error error;
    char url[100];
    int got;
    pelt_server *server = pelt_server_start(view, &(pelt_server_options){.port = port, .folder = folder}, &error);
    if (!server) return cli_error(&error);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/#%s", pelt_server_port(server), pelt_server_key(server));
    cli_say(args, "%s\n", url);
    cli_say(args, "Ctrl-C ends it\n");
    int code = cli_print_json(
        args, pelt_json_pack("{url:s, port:u, key:s}", url, pelt_server_port(server), pelt_server_key(server)));
    fflush(stdout);
    if (!cli_value(args, "no-browser")) open_browser(folder, url);
    if (!code) sigwait(set, &got);
    sigprocmask(SIG_UNBLOCK, set, NULL); /* whoever presses Ctrl-C again does not want to wait */
    pelt_server_stop(server);
    return code;
}

/* Sentences about a stream of poses come from its own thread alone. */
static void say_skipped(void *user, const char *sentence) { cli_skip_line(user, sentence); }

static pelt_result follow(const cli_args *args, pelt_view *view, double rate, uint64_t *skipped, pelt_error *error) {
    pelt_view_stream stream = {cli_value(args, "live"), rate, say_skipped, skipped};
    return stream.path ? pelt_view_follow(view, &stream, error) : PELT_OK;
}

static int serve_with(const cli_args *args, pelt_engine *engine, uint32_t port, double rate) {
    pelt_error error;
    sigset_t set = ends(), before;
    uint64_t skipped = 0;
    pelt_view *view = open_view(args, true, engine, &error);
    if (!view) return cli_error(&error);
    sigprocmask(SIG_BLOCK, &set, &before); /* also in the threads of the server and the stream */
    char *folder = pelt_private_folder(&error);
    bool ready = folder && !follow(args, view, rate, &skipped, &error);
    int code = ready ? serve(args, view, folder, port, &set) : cli_error(&error);
    pelt_view_free(view);
    if (folder) pelt_folder_remove(folder);
    free(folder);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

static int serve_view(const cli_args *args) {
    uint32_t port = 0;
    double rate = 60;
    int code;
    if (!cli_count(args, "port", &port) || !cli_amount(args, "rate", &rate)) return CLI_MISUSE;
    if (rate < 0) return cli_misuse(args, "--rate: expected lines per second");
    if (cli_value(args, "rate") && !cli_value(args, "live")) return cli_misuse(args, "--rate needs --live");
    if (!pelt_page_count()) return no_page();
    pelt_engine *engine = cli_open_engine(args, &code);
    if (engine || !code) code = serve_with(args, engine, port, rate);
    pelt_engine_close(engine);
    return code;
}
#else
static int serve_view(const cli_args *args) {
    (void)args;
    return cli_fail(
        "this pelt was built without a server; install libmicrohttpd-dev and build again, or write the page "
        "with --export DIR");
}
#endif

static int run(const cli_args *args) {
    const char *folder = cli_value(args, "export");
    if (folder && (cli_value(args, "port") || cli_value(args, "no-browser")))
        return cli_misuse(args, "--export writes files and starts no server: remove --port and --no-browser");
    if (!folder && cli_value(args, "with-fit")) return cli_misuse(args, "--with-fit needs --export DIR");
    if (folder && cli_value(args, "engine"))
        return cli_misuse(args, "--export writes plain files, which no engine can move: remove --engine");
    if (folder && cli_value(args, "live"))
        return cli_misuse(args, "--export writes plain files, which no stream can move: remove --live");
    return folder ? export_view(args, folder) : serve_view(args);
}

const cli_command cli_view = {
    "view",
    "[SKIN|BUNDLE|BOX.keys|CLIP.npy...]",
    "Opens a page to inspect skins, pose their joints and fit new ones.",
    "Serves the page to this machine only (127.0.0.1), prints its address, and opens it if there is a display. The "
    "address contains a key, without which nothing is shown. Ctrl-C ends it.\n\nSkins (.pelt) are shown on the bundle "
    "(.glb, .gltf) they were made for; without inputs, drop bundles onto the page. BOX.keys are key points: of light "
    "(pelt relight), which you can then drag, or of a face (pelt keys), shown on the bundle with as many vertices and "
    "on the point caches with as many points. --engine (face, face:FILE.glb, FILE.so or pipe:COMMAND, as for pelt "
    "keys) computes such a face as you move its controls; the built-in face needs none. --live STREAM lets the first "
    "character follow poses as they arrive, one per line, as for pelt eval --live.\n\n--export DIR writes everything "
    "as files for any web server, frame by frame, except fitting. Of light, only the built-in box can be dragged "
    "there. "
    "With --with-fit the page can also fit in the browser: visitors drop a character there, and nothing leaves their "
    "machine.",
    run,
    0,
    CLI_MAX_INPUTS,
    {{"port", "N", "Port to serve on; default: a free one."},
     {"no-browser", NULL, "Only print the address."},
     {"live", "STREAM", "Poses to follow, line by line, from a pipe, a file, or - for standard input.", CLI_INPUT},
     {"rate", "N", "--live: poses per second, played from a recording; default 60."},
     CLI_ENGINE_OPTIONS,
     {"cost", "MICROSECONDS", "Extra work per point of the face."},
     {"export", "DIR", "Write the page and everything it shows to a new folder instead.", CLI_OUTPUT},
     {"with-fit", NULL,
      "--export: write a page that can also fit, with WebAssembly in the browser; inputs may be left out."}},
    .example = "pelt view arm.pelt arm.glb",
};
