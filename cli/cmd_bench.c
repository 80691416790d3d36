/* cmd_bench.c: pelt bench: how fast skins run here, beside the plain loop and what memory can do. */

#include "bench/skins.h"
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Telling ------------------------------------------------------------------------------------------------------ */

static json_t *machine_json(void) {
    char cpu[200] = "unknown", line[300];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            snprintf(cpu, sizeof cpu, "%s", strchr(line, ':') + 2);
            cpu[strcspn(cpu, "\n")] = 0;
            break;
        }
    if (file) fclose(file);
    return json_pack("{s:s, s:i, s:s, s:s}", "cpu", cpu, "cores", (int)sysconf(_SC_NPROCESSORS_ONLN), "compiler",
#ifdef __clang__
                     "clang " __clang_version__,
#else
                     "gcc " __VERSION__,
#endif
                     "pelt", PELT_VERSION);
}

static void print_runs(const cli_args *args, const pelt_skin *skin, const bench_run *runs, size_t count, json_t *rows) {
    for (const bench_run *r = runs; r < runs + count; r++) {
        double plain = r->plain->time.median / r->time.median, own = r->own_plain->time.median / r->time.median;
        cli_say(args, "%-7s %8u  %-7s %-9s %7u  %8.2f %8.2f  %8.2f %8.2f %8.1f\n", r->method, skin->vertex_count,
                r->isa_name, r->output, r->threads, r->time.median, r->time.best, plain, own,
                r->bytes / r->time.median);
        json_array_append_new(rows, json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:b, s:s, s:i, s:f, s:f, s:f, s:f, s:f}",
                                              "method", r->method, "vertices", (int)skin->vertex_count, "joints",
                                              (int)skin->joint_count, "influences", 4, "device", "cpu", "isa",
                                              r->isa_name, "normals", r->normals, "output", r->output, "threads",
                                              (int)r->threads, "ns_per_vertex", r->time.median, "ns_per_vertex_best",
                                              r->time.best, "ratio_to_plain", plain, "ratio_to_own_plain", own,
                                              "gb_per_s", r->bytes / r->time.median));
    }
}

/* What a pose costs before any vertex is touched, with a corrective of 240 examples. */
static int bench_poses(const cli_args *args, const bench_skins *work, json_t **out) {
    enum { EXAMPLES = 240 };
    pelt_error error = {0};
    double psd = 0, kernel = 0;
    uint32_t joints = bench_skins_skin(work)->joint_count;
    if (bench_skins_pose_seconds(work, EXAMPLES, &psd, &kernel, &error)) return cli_error(&error);
    cli_say(args, "pose of %u joints with %d examples: psd %.1f us, kernel %.1f us\n", joints, EXAMPLES, 1e6 * psd,
            1e6 * kernel);
    *out = json_pack("{s:i, s:i, s:f, s:f}", "joints", (int)joints, "examples", EXAMPLES, "psd_us", 1e6 * psd,
                     "kernel_us", 1e6 * kernel);
    return CLI_DONE;
}

static int bench(const cli_args *args) {
    uint32_t sizes[16] = {2972, 11574, 46036, 500000}, size_count = 4, turns = 41;
    if (!cli_count(args, "turns", 3, BENCH_MOST_TURNS, &turns)) return CLI_MISUSE;
    if (cli_value(args, "vertices")) {
        size_t count;
        char **list = cli_list(cli_value(args, "vertices"), &count);
        size_count = count < 16 ? (uint32_t)count : 16;
        for (uint32_t i = 0; i < size_count; i++) sizes[i] = (uint32_t)strtoul(list[i], NULL, 10);
        cli_list_free(list);
    }
    uint32_t threads = args->threads ? args->threads : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    bench_run *runs = calloc(BENCH_MOST_RUNS, sizeof *runs);
    json_t *rows = json_array(), *poses = NULL;
    int code = runs ? CLI_DONE : cli_fail("not enough memory");
    cli_say(args, "method   vertices  isa     beside    threads  ns/vertex    best  vs plain  vs own     GB/s\n");
    for (uint32_t s = 0; s < size_count && code == CLI_DONE; s++) {
        pelt_error error = {0};
        bench_skins *work = bench_skins_new(sizes[s], args->seed, &error);
        if (work) {
            size_t count = bench_skins_list(work, threads, runs);
            bench_skins_time(work, runs, count, turns);
            if (!bench_skins_agree(work)) code = cli_fail("pelt and the plain loops disagree: this is a bug");
            print_runs(args, bench_skins_skin(work), runs, count, rows);
            if (!s && code == CLI_DONE) code = bench_poses(args, work, &poses);
        } else {
            code = cli_error(&error);
        }
        bench_skins_free(work);
    }
    free(runs);
    if (code) return json_decref(rows), json_decref(poses), code;
    return cli_print_json(args, json_pack("{s:o, s:o, s:o}", "machine", machine_json(), "rows", rows, "pose",
                                          poses ? poses : json_null()));
}

const cli_command cli_bench = {
    "bench",
    "[--vertices N,...]",
    "Speed of every method at several sizes, on every instruction set.",
    "The character has 53 joints and 4 influences per vertex. \"plain\" is the obvious loop (4 indices and weights "
    "per\n"
    "vertex, 3x4 matrices), built by the same compiler for this machine; copy and triad move as many bytes as the "
    "blend\n"
    "of positions reads and writes. All take turns; the median and the best turn are given, ratios are to the plain\n"
    "loop's median. Normals come out with unit length from all of them. \"beside\" says what comes beside positions:\n"
    "nothing, normals, or tangents with normals; box: the box around them; order: they are written in the order of "
    "the\n"
    "file; gather: a loop afterwards brings them into it; halves: they are half floats; +n: and normals likewise.",
    bench,
    0,
    0,
    {{"vertices", "N,...", "Sizes to run; default 2972,11574,46036,500000."},
     {"turns", "N", "Turns that each one takes; default 41."}},
};
