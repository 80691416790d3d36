/* cmd_bench.c: pelt bench: how fast skins run here, compared with the plain loop and memory bandwidth. */

#include "bench/devices.h"
#include "bench/frame.h"
#include "bench/skins.h"
#include "bench/table.h"
#include "cli/cli.h"
#include "io/io.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Output ------------------------------------------------------------------------------------------------------- */

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
    static const char compiler[] =
#ifdef __clang__
        "clang " __clang_version__;
#else
        "gcc " __VERSION__;
#endif
    return pelt_json_pack("{cpu:s, cores:i, compiler:s, pelt:s}", cpu, (int)sysconf(_SC_NPROCESSORS_ONLN), compiler,
                          PELT_VERSION);
}

static void print_runs(const cli_args *args, const pelt_skin *skin, const bench_run *runs, size_t count, json_t *rows) {
    for (const bench_run *r = runs; r < runs + count; r++) {
        double plain = r->plain->time.median / r->time.median, own = r->own_plain->time.median / r->time.median;
        cli_say(args, "%-7s %8u  %-7s %-9s %7u  %8.2f %8.2f  %8.2f %8.2f %8.1f\n", r->method, skin->vertex_count,
                r->isa_name, r->output, r->threads, r->time.median, r->time.best, plain, own,
                r->bytes / r->time.median);
        json_array_append_new(
            rows, pelt_json_pack(
                      "{method:s, vertices:u, joints:u, influences:i, device:s, isa:s, normals:b, output:s, threads:u, "
                      "ns_per_vertex:f, ns_per_vertex_best:f, ratio_to_plain:f, ratio_to_own_plain:f, gb_per_s:f}",
                      r->method, skin->vertex_count, skin->joint_count, 4, "cpu", r->isa_name, r->normals, r->output,
                      r->threads, r->time.median, r->time.best, plain, own, r->bytes / r->time.median));
    }
}

/* "N,..." as at most so many numbers from 1 on; they keep their defaults if the option was not given. False after a
   message. */
static bool read_numbers(const cli_args *args, const char *name, uint32_t *out, uint32_t most, uint32_t *count) {
    if (!cli_value(args, name)) return true;
    size_t words;
    char **list = cli_list(cli_value(args, name), &words);
    bool good = words > 0 && words <= most;
    for (size_t i = 0; good && i < words; i++) {
        char *end;
        unsigned long value = strtoul(list[i], &end, 10);
        good = end != list[i] && !*end && value > 0 && value <= UINT32_MAX;
        out[i] = (uint32_t)value;
    }
    *count = (uint32_t)words;
    cli_list_free(list);
    if (!good) cli_misuse(args, "--%s: expected 1 to %u positive integers, separated by commas", name, most);
    return good;
}

/* The cost of a pose before any vertex is touched, with a corrective of 240 examples. */
static int bench_poses(const cli_args *args, const bench_skins *work, json_t **out) {
    enum { EXAMPLES = 240 };
    pelt_error error = {0};
    double psd = 0, kernel = 0;
    uint32_t joints = work->skin.joint_count;
    if (bench_pose_seconds(work->bundle, work->locals, EXAMPLES, &psd, &kernel, &error)) return cli_error(&error);
    cli_say(args, "pose of %u joints with %d examples: psd %.1f us, kernel %.1f us\n", joints, EXAMPLES, 1e6 * psd,
            1e6 * kernel);
    *out = pelt_json_pack("{joints:u, examples:i, psd_us:f, kernel_us:f}", joints, EXAMPLES, 1e6 * psd, 1e6 * kernel);
    return CLI_DONE;
}

/* -- Whole frames -------------------------------------------------------------------------------------------------- */

static int bench_skin_frames(const cli_args *args, const char *method, const pelt_skin *skin, uint32_t rounds,
                             json_t *rows) {
    bench_frame frames[PELT_ISA_COUNT];
    pelt_error error = {0};
    size_t count = bench_frames(skin, args->seed, rounds, frames, &error);
    if (!count) return cli_error(&error);
    for (const bench_frame *f = frames; f < frames + count; f++) {
        double whole = f->pose.median + f->deform.median, best = f->pose.best + f->deform.best, n = skin->vertex_count;
        cli_say(args, "%-12s %8u %7u  %-7s %8.2f %8.2f  %9.2f %8.2f  %10.2f %8.2f\n", method, skin->vertex_count,
                skin->joint_count, f->isa_name, 1e6 * f->pose.median, 1e6 * f->pose.best, 1e6 * f->deform.median,
                1e6 * f->deform.best, 1e9 * whole / n, 1e9 * best / n);
        json_array_append_new(
            rows, pelt_json_pack("{method:s, vertices:u, joints:u, isa:s, pose_us:f, pose_us_best:f, deform_us:f, "
                                 "deform_us_best:f, frame_ns_per_vertex:f, frame_ns_per_vertex_best:f}",
                                 method, skin->vertex_count, skin->joint_count, f->isa_name, 1e6 * f->pose.median,
                                 1e6 * f->pose.best, 1e6 * f->deform.median, 1e6 * f->deform.best, 1e9 * whole / n,
                                 1e9 * best / n));
    }
    return CLI_DONE;
}

/* What each level of detail costs, on the best instruction set, and how far it is from level 0. */
static int bench_levels(const cli_args *args, const char *name, pelt_skin skin, uint32_t rounds, json_t *rows) {
    double n = skin.vertex_count;
    cli_say(args, "level of %-12s  pose us  deform us  ns/vertex     best        rms        95%%  vectors  joints\n",
            name);
    for (uint32_t l = 0; l < pelt_level_count(&skin); l++) {
        bench_frame frames[PELT_ISA_COUNT], *best = frames;
        pelt_level_facts facts;
        pelt_error error = {0};
        skin.least_level = (float)l;
        pelt_get_level(&skin, l, &facts);
        size_t count = bench_frames(&skin, args->seed, rounds, frames, &error);
        if (!count) return cli_error(&error);
        for (size_t i = 0; i < count; i++)
            if (!strcmp(frames[i].isa_name, pelt_isa_name(skin.isa))) best = &frames[i];
        double whole = best->pose.median + best->deform.median, least = best->pose.best + best->deform.best;
        cli_say(args, "%-21u  %7.2f  %9.2f  %9.2f  %7.2f  %9.3g  %9.3g  %7.2f  %6.2f\n", l, 1e6 * best->pose.median,
                1e6 * best->deform.median, 1e9 * whole / n, 1e9 * least / n, (double)facts.rms, (double)facts.p95,
                (double)facts.vectors, (double)facts.joints);
        json_array_append_new(
            rows, pelt_json_pack("{method:s, level:u, isa:s, pose_us:f, deform_us:f, "
                                 "frame_ns_per_vertex:f, frame_ns_per_vertex_best:f, rms:f, p95:f, vectors:f, "
                                 "joints:f}",
                                 name, l, best->isa_name, 1e6 * best->pose.median, 1e6 * best->deform.median,
                                 1e9 * whole / n, 1e9 * least / n, facts.rms, facts.p95, facts.vectors, facts.joints));
    }
    return CLI_DONE;
}

static void say_frame_head(const cli_args *args) {
    cli_say(args,
            "frame        vertices  joints  isa      pose us     best  deform us     best   ns/vertex     best\n");
}

/* The methods of the first size. */
static int bench_all_frames(const cli_args *args, const bench_skins *work, uint32_t rounds, json_t *rows) {
    const bench_corrective *made = work->correctives;
    bench_corrective kernel = {0};
    pelt_error error = {0};
    say_frame_head(args);
    int code = bench_skin_frames(args, "ssd", &work->skin, rounds, rows);
    for (int i = 0; i < BENCH_CORRECTIVES && code == CLI_DONE; i++)
        code = bench_skin_frames(args, made[i].name, &made[i].skin, rounds, rows);
    if (code == CLI_DONE && bench_kernel_make(work->bundle, work->locals, &kernel, &error)) code = cli_error(&error);
    if (code == CLI_DONE) code = bench_skin_frames(args, kernel.name, &kernel.skin, rounds, rows);
    pelt_bytes_free(kernel.bytes), pelt_arena_free(kernel.arena);
    return code;
}

/* The user's skins. */
static int bench_given(const cli_args *args, uint32_t rounds) {
    json_t *rows = json_array(), *levels = json_array();
    int code = CLI_DONE;
    say_frame_head(args);
    for (int i = 0; i < args->input_count && code == CLI_DONE; i++) {
        pelt_error error = {0};
        pelt_skin skin;
        pelt_bytes *bytes = pelt_skin_read(args->inputs[i], &skin, &error);
        code =
            bytes ? bench_skin_frames(args, pelt_base_name(args->inputs[i]), &skin, rounds, rows) : cli_error(&error);
        if (code == CLI_DONE && pelt_level_count(&skin) > 1)
            code = bench_levels(args, pelt_base_name(args->inputs[i]), skin, rounds, levels);
        pelt_bytes_free(bytes);
    }
    if (code) return json_decref(rows), json_decref(levels), code;
    return cli_print_json(args, pelt_json_pack("{machine:o, frames:o, levels:o}", machine_json(), rows, levels));
}

/* -- Devices ------------------------------------------------------------------------------------------------------- */

typedef struct device_bench {
    const cli_args *args;
    const char *device;
    uint32_t crowds[BENCH_MOST_CROWDS], crowd_count, rounds;
    json_t *rows;
    char title[200]; /* of the device, once it is known */
} device_bench;

static void print_device_row(device_bench *b, const char *method, const pelt_skin *skin, const bench_device_row *r) {
    double vertices = (double)r->characters * skin->vertex_count, share = r->fill.median / r->skin.median;
    cli_say(b->args, "%-10s %8u %10u  %-7s %10.2f %9.5f %8.1f %8.1f %8.1f %7.1f%% %10.1f %9.1e %9.1e\n", method,
            skin->vertex_count, r->characters, r->normals ? "yes" : "no", 1e6 * r->skin.median,
            1e9 * r->skin.median / vertices, 1e-9 * r->bytes / r->skin.median, 1e-9 * r->bytes / r->fill.median,
            1e-9 * r->bytes / r->copy.median, 100 * share, 1e6 * r->frame, r->gap, r->normal_gap);
    json_array_append_new(
        b->rows,
        pelt_json_pack(
            "{device:s, title:s, method:s, vertices:u, characters:u, normals:b, us:f, us_best:f, ns_per_vertex:f, "
            "gb_per_s:f, fill_gb_per_s:f, copy_gb_per_s:f, frame_us:f, gap:f, normal_gap:f}",
            b->device, b->title, method, skin->vertex_count, r->characters, r->normals, 1e6 * r->skin.median,
            1e6 * r->skin.best, 1e9 * r->skin.median / vertices, 1e-9 * r->bytes / r->skin.median,
            1e-9 * r->bytes / r->fill.median, 1e-9 * r->bytes / r->copy.median, 1e6 * r->frame, r->gap, r->normal_gap));
}

static int bench_device_skin(device_bench *b, const char *method, const pelt_skin *skin) {
    enum { ROWS = 2 * BENCH_MOST_CROWDS };
    bench_device_row rows[ROWS];
    pelt_error error = {0};
    uint32_t most = 1;
    for (uint32_t i = 0; i < b->crowd_count; i++) most = b->crowds[i] > most ? b->crowds[i] : most;
    bench_crowd *crowd = bench_crowd_new(skin, most, b->args->seed, &error);
    bool first = !*b->title;
    pelt_result result =
        crowd ? bench_device(b->device, skin, crowd, b->crowds, b->crowd_count, b->rounds, rows, b->title, &error)
              : error.code;
    bench_crowd_free(crowd);
    if (result) return cli_error(&error);
    if (first)
        cli_say(b->args,
                "%s: %s\nmethod     vertices characters  normals         us ns/vertex     GB/s     fill     copy  of "
                "fill   frame us       gap   normals\n",
                b->device, b->title);
    for (size_t i = 0; i < 2 * b->crowd_count; i++) {
        print_device_row(b, method, skin, &rows[i]);
        if (!bench_device_agrees(&rows[i]))
            return cli_fail("%s and the processor disagree: this is a bug, please report it", b->device);
    }
    return CLI_DONE;
}

/* All methods at several sizes, or the given skin. */
static int bench_device_skins(device_bench *b, const uint32_t *sizes, uint32_t size_count) {
    int code = CLI_DONE;
    pelt_error error = {0};
    if (b->args->input_count) {
        pelt_skin skin;
        pelt_bytes *bytes = pelt_skin_read(b->args->inputs[0], &skin, &error);
        if (!bytes) return cli_error(&error);
        code = bench_device_skin(b, pelt_base_name(b->args->inputs[0]), &skin);
        pelt_bytes_free(bytes);
        return code;
    }
    for (uint32_t s = 0; s < size_count && code == CLI_DONE; s++) {
        bench_skins *work = bench_skins_new(sizes[s], b->args->seed, &error);
        if (!work) return cli_error(&error);
        const bench_corrective *correctives = work->correctives;
        code = bench_device_skin(b, "ssd", &work->skin);
        for (int i = 0; i < BENCH_CORRECTIVES && code == CLI_DONE; i++)
            code = bench_device_skin(b, correctives[i].name, &correctives[i].skin);
        bench_skins_free(work);
    }
    return code;
}

static int bench_devices(const cli_args *args, const uint32_t *sizes, uint32_t size_count, uint32_t rounds) {
    device_bench b = {.args = args, .crowds = {1, 100}, .crowd_count = 2, .rounds = rounds, .rows = json_array()};
    if (!read_numbers(args, "characters", b.crowds, BENCH_MOST_CROWDS, &b.crowd_count)) return CLI_MISUSE;
    const char *wanted = cli_value(args, "device"), *all[] = {"gl", "cuda"};
    int code = CLI_DONE, every = !strcmp(wanted, "all"), ran = 0;
    for (int i = 0; i < (every ? 2 : 1) && code == CLI_DONE; i++) {
        b.device = every ? all[i] : wanted, *b.title = 0;
        code = bench_device_skins(&b, sizes, size_count);
        ran += code == CLI_DONE;
        if (every && code == CLI_FAILED && !*b.title) code = CLI_DONE; /* no such device here, as already reported */
    }
    if (code == CLI_DONE && !ran) code = CLI_FAILED;
    if (code) return json_decref(b.rows), code;
    return cli_print_json(args, pelt_json_pack("{machine:o, rows:o}", machine_json(), b.rows));
}

/* -- The papers' tables -------------------------------------------------------------------------------------------- */

static void say_frames(const cli_args *args, double seconds) {
    if (seconds > 0)
        cli_say(args, " %9.0f |", 1 / seconds);
    else
        cli_say(args, "         - |");
}

static int bench_tables(const cli_args *args, const uint32_t *sizes, uint32_t size_count, uint32_t rounds) {
    json_t *rows = json_array();
    cli_say(args, "Frames per second for one character (pose, positions and normals) on one core, OpenGL and CUDA, and "
                  "memory in MB.\n\n| vertices | method   |      core |    OpenGL |      CUDA | skin file | on device "
                  "|      pose |    output "
                  "|\n|---------:|----------|----------:|----------:|----------:|----------:|----------:|----------:|--"
                  "--------:|\n");
    for (uint32_t s = 0; s < size_count; s++) {
        bench_table_row table[BENCH_TABLE_METHODS];
        pelt_error error = {0};
        if (bench_table(sizes[s], args->seed, rounds, cli_value(args, "device"), table, &error))
            return json_decref(rows), cli_error(&error);
        for (int m = 0; m < BENCH_TABLE_METHODS; m++) {
            const bench_table_row *r = &table[m];
            cli_say(args, "| %8u | %-8s |", sizes[s], r->method);
            say_frames(args, r->cpu_frame), say_frames(args, r->device_frame[0]), say_frames(args, r->device_frame[1]);
            cli_say(args, " %9.3f | %9.3f | %9.3f | %9.3f |\n", 1e-6 * (double)r->file_bytes,
                    1e-6 * (double)r->device_bytes, 1e-6 * (double)r->pose_bytes, 1e-6 * (double)r->output_bytes);
            json_array_append_new(rows, pelt_json_pack("{vertices:u, method:s, cpu_us:f, gl_us:f, cuda_us:f, "
                                                       "file_bytes:z, device_bytes:z, pose_bytes:z, output_bytes:z}",
                                                       sizes[s], r->method, 1e6 * r->cpu_frame,
                                                       1e6 * r->device_frame[0], 1e6 * r->device_frame[1],
                                                       r->file_bytes, r->device_bytes, r->pose_bytes, r->output_bytes));
        }
    }
    return cli_print_json(args, pelt_json_pack("{machine:o, rows:o}", machine_json(), rows));
}

static int bench(const cli_args *args) {
    uint32_t sizes[16] = {2972, 11574, 46036, 500000}, size_count = 4, rounds = 41;
    if (!cli_count(args, "turns", &rounds) || !read_numbers(args, "vertices", sizes, 16, &size_count))
        return CLI_MISUSE;
    pelt_error wrong;
    if (pelt_check_range("turns", rounds, BENCH_LEAST_ROUNDS, BENCH_MOST_ROUNDS, &wrong)) return cli_error(&wrong);
    if (cli_value(args, "table")) {
        if (args->input_count) return cli_misuse(args, "--table makes its own skins; remove %s", args->inputs[0]);
        return bench_tables(args, sizes, cli_value(args, "vertices") ? size_count : 3, rounds);
    }
    if (cli_value(args, "device")) {
        if (args->input_count > 1) return cli_misuse(args, "--device takes one skin; remove %s", args->inputs[1]);
        if (!cli_value(args, "vertices")) sizes[0] = 46036, size_count = 1;
        return bench_devices(args, sizes, size_count, rounds);
    }
    if (args->input_count) return bench_given(args, rounds);
    uint32_t threads = args->threads ? args->threads : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    bench_run *runs = calloc(BENCH_MOST_RUNS, sizeof *runs);
    json_t *rows = json_array(), *frames = json_array(), *poses = NULL;
    int code = runs ? CLI_DONE : cli_fail("not enough memory");
    cli_say(args, "method   vertices  isa     beside    threads  ns/vertex    best  vs plain  vs own     GB/s\n");
    for (uint32_t s = 0; s < size_count && code == CLI_DONE; s++) {
        pelt_error error = {0};
        bench_skins *work = bench_skins_new(sizes[s], args->seed, &error);
        if (work) {
            size_t count = bench_skins_list(work, threads, runs);
            bench_skins_time(work, runs, count, rounds);
            if (!bench_skins_agree(work))
                code = cli_fail("pelt and the plain loops disagree: this is a bug, please report it");
            print_runs(args, &work->skin, runs, count, rows);
            if (!s && code == CLI_DONE) code = bench_poses(args, work, &poses);
            if (!s && code == CLI_DONE) code = bench_all_frames(args, work, rounds, frames);
        } else {
            code = cli_error(&error);
        }
        bench_skins_free(work);
    }
    free(runs);
    if (code) return json_decref(rows), json_decref(frames), json_decref(poses), code;
    return cli_print_json(args, pelt_json_pack("{machine:o, rows:o, frames:o, pose:o}", machine_json(), rows, frames,
                                               poses ? poses : json_null()));
}

const cli_command cli_bench = {
    "bench",
    "[SKIN...] [--vertices N,...] [--device gl|cuda|all]",
    "Times every method at several sizes, on every instruction set.",
    "The character has 53 joints and 4 influences per vertex. \"plain\" is the obvious loop (4 indices and weights per "
    "vertex, 3x4 matrices), built by the same compiler for this machine; copy and triad move as many bytes as blending "
    "positions reads and writes. All of them take turns; the table shows the median and the best run, and ratios are "
    "to the plain loop's median. All of them output unit normals. \"beside\" lists what is written besides positions: "
    "nothing, normals, or tangents with normals; box: the bounding box; order: in file order; gather: put into file "
    "order by a separate loop; halves: as half floats; +n: the same for normals. Single-threaded runs are timed by the "
    "thread's own clock.\n\nA frame is pelt_pose and pelt_deform of positions and normals, in poses that rotate every "
    "joint: for all methods at the first size, or for every SKIN. If a SKIN has levels of detail, each level is timed "
    "and listed with its distance from level 0.\n\n--device runs the methods, or SKIN, on a graphics device, for "
    "crowds of characters in different poses. Times come from the device's own clock; GB/s counts the output, 12 bytes "
    "per vertex or 24 with normals, beside the rates at which the device fills and copies as many bytes. \"frame\" is "
    "how long the program waits for poses to be uploaded and processed. \"gap\" is the largest difference from the "
    "CPU's result, in mesh diagonals; after it comes the same for unit normals.",
    bench,
    0,
    CLI_MAX_INPUTS,
    {{"vertices", "N,...", "Vertex counts to run; default 2972,11574,46036,500000."},
     {"turns", "N", "Number of runs of each; default 41."},
     {"device", "D", "Run on gl, cuda or all instead of the CPU; gl:1 picks one of several devices."},
     {"table", NULL,
      "Print the tables of Rhee, Lewis & Neumann 2006 as Markdown: frames per second and MB of memory, on every device "
      "or only on --device."},
     {"characters", "N,...", "With --device: crowd sizes to run; default 1,100."}},
    .example = "pelt bench --vertices 2972 --turns 5",
};
