/* cmd_bench.c: pelt bench: how fast skins run here, beside the plain loop and what memory can do.

   Machines are noisy, so all contestants of a size take turns, many times; the median and the best turn are given, and
   ratios are to the plain loop's median in the same run. */

#include "bench/plain.h"
#include "cli/bench_corrective.h"
#include "cli/cli.h"
#include "samples/samples.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 64, MOST_TURNS = 201 };

typedef struct workload {
    pelt_bundle *bundle;
    pelt_skin_bytes *bytes;
    pelt_skin skin;
    void *scratch;
    float *positions, *normals, *plain_positions, *plain_normals;
    uint16_t *joints; /* [vertex][4] */
    float *weights;   /* [vertex][4] */
    float *matrices;  /* [joint][12] */
    float *memory_to, *memory_a, *memory_b;
    size_t memory_count;
    bench_corrective correctives[BENCH_CORRECTIVES];
} workload;

/* One contestant of a size. */
typedef struct run {
    const char *method, *isa_name;
    pelt_isa isa;
    bool normals;
    uint32_t threads;
    void (*once)(workload *work, const struct run *run);
    const bench_corrective *corrective; /* NULL: none */
    double bytes;                       /* per vertex: what must be read and written */
    double turns[MOST_TURNS];
    double median, best;
} run;

/* -- Contestants -------------------------------------------------------------------------------------------------- */

typedef struct deform_part {
    workload *work;
    const run *run;
} deform_part;

static void deform_thread(void *user, size_t part, pelt_arena *unused) {
    (void)unused;
    const deform_part *d = user;
    const bench_corrective *corrective = d->run->corrective;
    const pelt_skin *skin = corrective ? &corrective->skin : &d->work->skin;
    const void *scratch = corrective ? corrective->scratch : d->work->scratch;
    uint32_t parts = d->run->threads, blocks = skin->block_count;
    uint32_t first = (uint32_t)((uint64_t)blocks * part / parts),
             end = (uint32_t)((uint64_t)blocks * (part + 1) / parts);
    pelt_deform(skin, scratch, (pelt_range){first, end - first}, d->work->positions,
                d->run->normals ? d->work->normals : NULL);
}

static void run_pelt(workload *work, const run *r) {
    if (r->corrective)
        ((bench_corrective *)r->corrective)->skin.isa = r->isa;
    else
        work->skin.isa = r->isa;
    deform_part part = {work, r};
    if (r->threads == 1)
        deform_thread(&part, 0, NULL);
    else
        pelt_parallel(NULL, r->threads, r->threads, deform_thread, &part);
}

static void run_plain(workload *work, const run *r) {
    const pelt_mesh *mesh = &work->bundle->mesh;
    plain_blend(mesh->vertex_count, mesh->positions, mesh->normals, work->joints, work->weights, work->matrices,
                work->plain_positions, r->normals ? work->plain_normals : NULL);
}

static void run_plain_corrective(workload *work, const run *r) {
    const pelt_mesh *mesh = &work->bundle->mesh;
    const bench_corrective *c = r->corrective;
    if (c->weighted)
        plain_weighted(mesh->vertex_count, mesh->positions, work->joints, work->weights, work->matrices, c->terms,
                       c->distances, c->vectors, work->plain_positions);
    else
        plain_basis(mesh->vertex_count, mesh->positions, work->joints, work->weights, work->matrices, c->terms,
                    c->sources, c->vectors, c->coefficients, work->plain_positions);
}

static void run_copy(workload *work, const run *r) {
    (void)r;
    plain_copy(work->memory_to, work->memory_a, work->memory_count);
}

static void run_triad(workload *work, const run *r) {
    (void)r;
    plain_triad(work->memory_to, work->memory_a, work->memory_b, work->memory_count);
}

/* -- The workload ------------------------------------------------------------------------------------------------- */

static void *aligned_floats(size_t count) {
    size_t size = (count * sizeof(float) + PELT_ALIGN - 1) / PELT_ALIGN * PELT_ALIGN;
    void *memory = aligned_alloc(PELT_ALIGN, size + PELT_ALIGN);
    return memory ? memset(memory, 0, size) : NULL;
}

static void free_workload(workload *work) {
    free(work->scratch), free(work->positions), free(work->normals), free(work->plain_positions);
    free(work->plain_normals), free(work->joints), free(work->weights), free(work->matrices), free(work->memory_to);
    free(work->memory_a), free(work->memory_b);
    bench_correctives_free(work->correctives);
    pelt_skin_free(work->bytes);
    pelt_bundle_free(work->bundle);
}

/* Bytes that blending a vertex must move: the rest position, the weights and joints of its block, the result. */
static double bytes_per_vertex(const pelt_skin *skin, bool normals) {
    double entries = (double)skin->entry_count / skin->block_count;
    return (normals ? 48 : 24) + entries * (4 + 2.0 / PELT_BLOCK) + 4.0 / PELT_BLOCK;
}

static bool make_workload(workload *work, uint32_t vertices, uint32_t seed, pelt_error *error) {
    *work = (workload){0};
    work->bundle = pelt_sample_make(
        &(pelt_sample_options){.name = "humanoid", .vertices = vertices, .frames = 2, .seed = seed}, error);
    if (!work->bundle) return false;
    pelt_bundle *bundle = work->bundle;
    const pelt_clip *clip = &bundle->clips[0];
    work->bytes = pelt_fit(bundle, pelt_bundle_examples(bundle, &clip, 1),
                           &(pelt_fit_options){.method = "ssd", .influences = 4}, error);
    if (!work->bytes || pelt_open(work->bytes->bytes, work->bytes->size, &work->skin)) return false;
    size_t n = bundle->mesh.vertex_count, joints = bundle->skeleton.joint_count;
    size_t output = pelt_output_size(&work->skin) / sizeof(float);
    work->memory_count = (size_t)(n * bytes_per_vertex(&work->skin, false) / 2 / sizeof(float));
    work->scratch = aligned_floats(pelt_scratch_size(&work->skin) / sizeof(float));
    work->positions = aligned_floats(output), work->normals = aligned_floats(output);
    work->plain_positions = aligned_floats(3 * n), work->plain_normals = aligned_floats(3 * n);
    work->joints = calloc(4 * n, sizeof *work->joints), work->weights = calloc(4 * n, sizeof *work->weights);
    work->matrices = calloc(12 * joints, sizeof *work->matrices);
    work->memory_to = aligned_floats(work->memory_count), work->memory_a = aligned_floats(work->memory_count);
    work->memory_b = aligned_floats(work->memory_count);
    pelt_transform *locals = PELT_NEW(bundle->arena, joints, pelt_transform);
    pelt_affine *matrices = PELT_NEW(bundle->arena, joints, pelt_affine);
    if (!work->scratch || !work->positions || !work->normals || !work->plain_positions || !work->plain_normals ||
        !work->joints || !work->weights || !work->matrices || !work->memory_to || !work->memory_a || !work->memory_b ||
        !locals || !matrices) {
        pelt_fail(error, PELT_ERROR_MEMORY, "not enough memory for %zu vertices", n);
        return false;
    }
    pelt_clip_pose(clip, &bundle->skeleton, 1, locals);
    pelt_pose(&work->skin, locals, work->scratch);
    pelt_joint_matrices(&bundle->skeleton, locals, NULL, matrices);
    for (size_t i = 0; i < 12 * joints; i++) work->matrices[i] = (float)matrices[i / 12].m[i % 12];
    const pelt_influences *in = &bundle->mesh.influences;
    for (size_t v = 0; v < n; v++)
        for (uint32_t i = in->first[v], k = 0; i < in->first[v + 1] && k < 4; i++, k++)
            work->joints[4 * v + k] = (uint16_t)in->joints[i], work->weights[4 * v + k] = in->weights[i];
    return bench_correctives_make(bundle, locals, work->correctives, error);
}

/* Both loops must have computed the same thing, or their times mean nothing. */
static double disagreement(const workload *work, const pelt_skin *skin) {
    double worst = 0;
    for (size_t v = 0; v < skin->vertex_count; v++)
        for (size_t c = 0; c < 3; c++)
            worst = fmax(worst, fabs((double)work->plain_positions[3 * v + c] -
                                     work->positions[3 * (size_t)skin->vertex_slots[v] + c]));
    return worst / work->bundle->mesh.diagonal;
}

static bool agree(workload *work) {
    run blend = {.isa = work->skin.isa, .threads = 1};
    run_plain(work, &blend), run_pelt(work, &blend);
    bool good = disagreement(work, &work->skin) < 1e-5;
    for (int i = 0; i < BENCH_CORRECTIVES; i++) { /* half floats against floats */
        run r = {.isa = work->skin.isa, .threads = 1, .corrective = &work->correctives[i]};
        run_plain_corrective(work, &r), run_pelt(work, &r);
        good = good && disagreement(work, &work->correctives[i].skin) < 1e-4;
    }
    return good;
}

/* -- Timing ------------------------------------------------------------------------------------------------------- */

static double time_turn(workload *work, const run *r, uint32_t vertices, uint32_t repeats) {
    double start = cli_wall_seconds();
    for (uint32_t i = 0; i < repeats; i++) r->once(work, r);
    return 1e9 * (cli_wall_seconds() - start) / repeats / vertices;
}

/* Contestants take turns. Those with several threads wait until the others are done, since idle threads disturb. */
static void time_runs(workload *work, run *runs, size_t count, uint32_t vertices, uint32_t turns) {
    uint32_t repeats[MOST_RUNS];
    for (size_t r = 0; r < count; r++) { /* a turn lasts about a millisecond */
        if (runs[r].threads == 1) time_turn(work, &runs[r], vertices, 1);
        double once = time_turn(work, &runs[r], vertices, 1) * vertices * 1e-9;
        repeats[r] = once < 1e-3 ? (uint32_t)(1e-3 / fmax(once, 1e-7)) + 1 : 1;
    }
    for (int threaded = 0; threaded < 2; threaded++)
        for (uint32_t t = 0; t < turns; t++)
            for (size_t r = 0; r < count; r++)
                if ((runs[r].threads > 1) == threaded)
                    runs[r].turns[t] = time_turn(work, &runs[r], vertices, repeats[r]);
    for (size_t r = 0; r < count; r++) {
        qsort(runs[r].turns, turns, sizeof(double), cli_compare_doubles);
        runs[r].best = runs[r].turns[0];
        runs[r].median = runs[r].turns[turns / 2];
    }
}

static size_t list_runs(const workload *work, run *runs, uint32_t threads) {
    size_t count = 0;
    double memory = bytes_per_vertex(&work->skin, false);
    for (int normals = 0; normals < 2; normals++) {
        double bytes = bytes_per_vertex(&work->skin, normals);
        runs[count++] = (run){"plain", "native", 0, normals, 1, run_plain, NULL, (normals ? 72 : 48), {0}, 0, 0};
        for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++)
            if (pelt_isa_works(isa))
                runs[count++] = (run){"ssd", pelt_isa_name(isa), isa, normals, 1, run_pelt, NULL, bytes, {0}, 0, 0};
        if (threads > 1)
            runs[count++] = (run){
                "ssd", pelt_isa_name(work->skin.isa), work->skin.isa, normals, threads, run_pelt, NULL, bytes, {0}, 0,
                0};
    }
    for (const bench_corrective *c = work->correctives; c < work->correctives + BENCH_CORRECTIVES; c++) {
        double terms = 2.0 * 3 * c->skin.rows.first[c->skin.block_count] / c->skin.block_count;
        runs[count++] = (run){c->name, "plain", 0, false, 1, run_plain_corrective, c, 48 + 12.0 * c->terms, {0}, 0, 0};
        for (int normals = 0; normals < 2; normals++)
            for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++)
                if (pelt_isa_works(isa) && (isa == work->skin.isa || !normals))
                    runs[count++] = (run){c->name, pelt_isa_name(isa),
                                          isa,     normals,
                                          1,       run_pelt,
                                          c,       bytes_per_vertex(&c->skin, normals) + terms,
                                          {0},     0,
                                          0};
    }
    runs[count++] = (run){"copy", "native", 0, false, 1, run_copy, NULL, memory, {0}, 0, 0};
    runs[count++] = (run){"triad", "native", 0, false, 1, run_triad, NULL, 1.5 * memory, {0}, 0, 0};
    return count;
}

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

static void print_runs(const cli_args *args, const workload *work, const run *runs, size_t count, json_t *rows) {
    uint32_t vertices = work->skin.vertex_count;
    for (size_t i = 0; i < count; i++) {
        const run *r = &runs[i];
        double plain = 0, own = 0;
        for (size_t k = 0; k < count; k++) {
            if (!strcmp(runs[k].method, "plain") && runs[k].normals == r->normals) plain = runs[k].median;
            if (runs[k].once == run_plain_corrective && runs[k].corrective == r->corrective) own = runs[k].median;
        }
        if (!r->corrective) own = plain;
        cli_say(args, "%-7s %8u  %-7s %-9s %7u  %8.2f %8.2f  %8.2f %8.2f %8.1f\n", r->method, vertices, r->isa_name,
                r->normals ? "yes" : "no", r->threads, r->median, r->best, plain / r->median, own / r->median,
                r->bytes / r->median);
        json_array_append_new(rows,
                              json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:b, s:i, s:f, s:f, s:f, s:f, s:f}", "method",
                                        r->method, "vertices", (int)vertices, "joints", (int)work->skin.joint_count,
                                        "influences", 4, "device", "cpu", "isa", r->isa_name, "normals", r->normals,
                                        "threads", (int)r->threads, "ns_per_vertex", r->median, "ns_per_vertex_best",
                                        r->best, "ratio_to_plain", plain / r->median, "ratio_to_own_plain",
                                        own / r->median, "gb_per_s", r->bytes / r->median));
    }
}

/* What a pose costs before any vertex is touched, with a corrective of 240 examples. */
static int bench_poses(const cli_args *args, workload *work, json_t **out) {
    enum { EXAMPLES = 240 };
    pelt_error error = {0};
    double psd = 0, kernel = 0;
    pelt_transform *locals = PELT_NEW(work->bundle->arena, work->skin.joint_count, pelt_transform);
    if (!locals) return cli_fail("not enough memory");
    pelt_clip_pose(&work->bundle->clips[0], &work->bundle->skeleton, 1, locals);
    if (!bench_pose_seconds(work->bundle, locals, EXAMPLES, &psd, &kernel, &error)) return cli_error(&error);
    cli_say(args, "pose of %u joints with %d examples: psd %.1f us, kernel %.1f us\n", work->skin.joint_count, EXAMPLES,
            1e6 * psd, 1e6 * kernel);
    *out = json_pack("{s:i, s:i, s:f, s:f}", "joints", (int)work->skin.joint_count, "examples", EXAMPLES, "psd_us",
                     1e6 * psd, "kernel_us", 1e6 * kernel);
    return CLI_DONE;
}

static int bench(const cli_args *args) {
    uint32_t sizes[16] = {2972, 11574, 46036, 500000}, size_count = 4, turns = 41;
    if (!cli_count(args, "turns", 3, MOST_TURNS, &turns)) return CLI_MISUSE;
    if (cli_value(args, "vertices")) {
        size_t count;
        char **list = cli_list(cli_value(args, "vertices"), &count);
        size_count = count < 16 ? (uint32_t)count : 16;
        for (uint32_t i = 0; i < size_count; i++) sizes[i] = (uint32_t)strtoul(list[i], NULL, 10);
        cli_list_free(list);
    }
    uint32_t threads = args->threads ? args->threads : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    run *runs = calloc(MOST_RUNS, sizeof *runs);
    json_t *rows = json_array(), *poses = NULL;
    int code = runs ? CLI_DONE : cli_fail("not enough memory");
    cli_say(args, "method   vertices  isa     normals   threads  ns/vertex    best  vs plain  vs own     GB/s\n");
    for (uint32_t s = 0; s < size_count && code == CLI_DONE; s++) {
        workload work;
        pelt_error error = {0};
        if (make_workload(&work, sizes[s], args->seed, &error)) {
            size_t count = list_runs(&work, runs, threads);
            time_runs(&work, runs, count, work.skin.vertex_count, turns);
            if (!agree(&work)) code = cli_fail("pelt and the plain loops disagree: this is a bug");
            print_runs(args, &work, runs, count, rows);
            if (!s && code == CLI_DONE) code = bench_poses(args, &work, &poses);
        } else {
            code = cli_error(&error);
        }
        free_workload(&work);
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
    "loop's median. Normals come out with unit length from all of them.",
    bench,
    0,
    0,
    {{"vertices", "N,...", "Sizes to run; default 2972,11574,46036,500000."},
     {"turns", "N", "Turns that each one takes; default 41."}},
};
