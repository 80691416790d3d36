/* skins.c: how fast skins run here, compared with the plain loop and memory bandwidth. */

#include "runtime/skin.h"
#include "bench/skins.h"
#include "bench/plain.h"
#include "rig/clock.h"
#include "samples/samples.h"
#include <math.h>
#include <string.h>

typedef bench_skins workload;
typedef bench_run run;

/* -- Contestants -------------------------------------------------------------------------------------------------- */

typedef struct deform_part {
    workload *work;
    const run *run;
    int shading; /* the second pass */
} deform_part;

static void deform_thread(void *user, size_t part, pelt_arena *unused) {
    (void)unused;
    const deform_part *d = user;
    const bench_corrective *corrective = d->run->corrective;
    const pelt_skin *skin = corrective ? &corrective->skin : &d->work->skin;
    void *scratch = corrective ? corrective->scratch : d->work->scratch;
    uint32_t parts = d->run->threads, blocks = skin->block_count;
    uint32_t first = (uint32_t)((uint64_t)blocks * part / parts),
             end = (uint32_t)((uint64_t)blocks * (part + 1) / parts);
    pelt_output out = {.positions = {d->work->positions}};
    if (d->run->normals) out.normals.data = d->work->normals;
    if (!strcmp(d->run->output, "tangents")) out.tangents.data = d->work->tangents;
    if (!strncmp(d->run->output, "order", 5)) out.vertices = d->work->vertices;
    if (!strncmp(d->run->output, "halves", 6)) out.positions.half = out.normals.half = 1;
    pelt_box box;
    if (!strcmp(d->run->output, "box")) out.box = &box;
    if (d->shading)
        pelt_shade(skin, scratch, (pelt_range){first, end - first}, &out);
    else
        pelt_deform_to(skin, scratch, (pelt_range){first, end - first}, &out);
}

static void run_pelt(workload *work, const run *r) {
    if (r->corrective)
        ((bench_corrective *)r->corrective)->skin.isa = r->isa;
    else
        work->skin.isa = r->isa;
    deform_part part = {work, r, 0}, second = {work, r, 1};
    if (r->threads == 1) {
        deform_thread(&part, 0, NULL);
        return;
    }
    pelt_parallel(NULL, r->threads, r->threads, deform_thread, &part);
    pelt_parallel(NULL, r->threads, r->threads, deform_thread, &second);
}

static void gather(const pelt_skin *skin, const float *slots, float *vertices) {
    for (size_t v = 0; v < skin->vertex_count; v++)
        memcpy(vertices + 3 * v, slots + 3 * (size_t)skin->vertex_slots[v], 3 * sizeof *vertices);
}

/* For callers who have slots but need the file's order. */
static void run_gather(workload *work, const run *r) {
    run_pelt(work, r);
    gather(&work->skin, work->positions, work->plain_positions);
    if (r->normals) gather(&work->skin, work->normals, work->plain_normals);
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

/* Bytes that blending a vertex must move: the rest position, the weights and joints of its block, the result. */
static double bytes_per_vertex(const pelt_skin *skin, bool normals) {
    double entries = (double)skin->entry_count / skin->block_count;
    return (normals ? 48 : 24) + entries * (4 + 2.0 / PELT_BLOCK) + 4.0 / PELT_BLOCK;
}

static bool allocate(workload *work) {
    size_t n = work->bundle->mesh.vertex_count, joints = work->bundle->skeleton.joint_count;
    size_t output = pelt_output_size(&work->skin) / sizeof(float);
    pelt_arena *arena = work->arena;
    work->memory_count = (size_t)(n * bytes_per_vertex(&work->skin, false) / 2 / sizeof(float));
    work->scratch = pelt_alloc(arena, pelt_scratch_size(&work->skin), 1);
    float **arrays[] = {&work->positions, &work->normals,  &work->plain_positions, &work->plain_normals,
                        &work->weights,   &work->matrices, &work->memory_to,       &work->memory_a,
                        &work->memory_b,  &work->tangents};
    size_t counts[] = {output,
                       output,
                       3 * n,
                       3 * n,
                       4 * n,
                       12 * joints,
                       work->memory_count,
                       work->memory_count,
                       work->memory_count,
                       pelt_tangents_size(&work->skin) / sizeof(float)};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *arrays[i] = PELT_NEW(arena, counts[i], float);
    work->joints = PELT_NEW(arena, 4 * n, uint16_t);
    work->vertices = PELT_NEW(arena, (size_t)work->skin.block_count * PELT_BLOCK, uint32_t);
    work->locals = PELT_NEW(arena, joints, pelt_transform);
    return !pelt_arena_failed(arena);
}

/* The character in a pose, and the same data in the plain loops' layout. */
static void fill_arrays(workload *work) {
    const pelt_bundle *bundle = work->bundle;
    const pelt_influences *in = &bundle->mesh.influences;
    size_t n = bundle->mesh.vertex_count, joints = bundle->skeleton.joint_count;
    pelt_clip_pose(bundle->clips[0], &bundle->skeleton, 1, work->locals);
    pelt_pose(&work->skin, work->locals, work->scratch);
    pelt_slot_vertices(&work->skin, work->vertices);
    pelt_affine *matrices = PELT_NEW(work->arena, joints, pelt_affine);
    if (matrices) pelt_joint_matrices(&bundle->skeleton, work->locals, NULL, matrices);
    for (size_t i = 0; matrices && i < 12 * joints; i++) work->matrices[i] = (float)matrices[i / 12].m[i % 12];
    for (size_t v = 0; v < n; v++)
        for (uint32_t i = in->first[v], k = 0; i < in->first[v + 1] && k < 4; i++, k++)
            work->joints[4 * v + k] = (uint16_t)in->joints[i], work->weights[4 * v + k] = in->weights[i];
    float *memory[] = {work->memory_to, work->memory_a, work->memory_b}; /* pages are not allocated until written */
    for (int i = 0; i < 3; i++) memset(memory[i], 0, work->memory_count * sizeof(float));
}

/* Arbitrary tangents: their values do not affect speed. */
static void add_tangents(pelt_bundle *bundle) {
    pelt_mesh *mesh = &bundle->mesh;
    mesh->tangents = PELT_NEW(bundle->arena, 4 * (size_t)mesh->vertex_count, float);
    for (size_t v = 0; mesh->tangents && v < mesh->vertex_count; v++)
        pelt_unit_tangent(mesh->normals + 3 * v, (const float[4]){1, 0, 0, 1}, mesh->tangents + 4 * v);
}

static pelt_result make(workload *work, uint32_t vertices, uint32_t seed, pelt_error *error) {
    work->bundle = pelt_sample_make(
        &(pelt_sample_options){.name = "humanoid", .vertices = vertices, .frames = 2, .seed = seed}, error);
    if (!work->bundle) return error->code;
    add_tangents(work->bundle);
    const pelt_clip *clip = work->bundle->clips[0];
    work->bytes = pelt_fit(work->bundle, pelt_bundle_examples(work->bundle, &clip, 1),
                           &(pelt_fit_options){.method = PELT_METHOD_SSD, .influences = 4}, NULL, error);
    if (!work->bytes) return error->code;
    pelt_result result = pelt_open(work->bytes->bytes, work->bytes->size, &work->skin);
    if (result) return pelt_fail(error, result, "the humanoid's skin: %s", pelt_result_text(result));
    if (!allocate(work)) return pelt_no_memory(error);
    fill_arrays(work);
    if (pelt_arena_failed(work->arena)) return pelt_no_memory(error);
    return bench_correctives_make(work->bundle, work->locals, work->correctives, error);
}

bench_skins *bench_skins_new(uint32_t vertices, uint32_t seed, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    workload *work = PELT_NEW(arena, 1, workload);
    if (!work) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    work->arena = arena;
    if (make(work, vertices, seed, error) == PELT_OK) return work;
    bench_skins_free(work);
    return NULL;
}

void bench_skins_free(bench_skins *work) {
    if (!work) return;
    bench_correctives_free(work->correctives);
    pelt_bytes_free(work->bytes);
    pelt_bundle_free(work->bundle);
    pelt_arena_free(work->arena);
}

/* Both loops must compute the same thing, or their times mean nothing. */
static double disagreement(const workload *work, const pelt_skin *skin) {
    double worst = 0;
    for (size_t v = 0; v < skin->vertex_count; v++)
        for (size_t c = 0; c < 3; c++)
            worst = fmax(worst, fabs((double)work->plain_positions[3 * v + c] -
                                     work->positions[3 * (size_t)skin->vertex_slots[v] + c]));
    return worst / pelt_scene_diagonal(&work->bundle->mesh);
}

bool bench_skins_agree(bench_skins *work) {
    run blend = {.isa = work->skin.isa, .threads = 1, .output = "none"};
    run_plain(work, &blend), run_pelt(work, &blend);
    bool good = disagreement(work, &work->skin) < 1e-5;
    for (int i = 0; i < BENCH_CORRECTIVES; i++) { /* half floats against floats */
        run r = {.isa = work->skin.isa, .threads = 1, .output = "none", .corrective = &work->correctives[i]};
        run_plain_corrective(work, &r), run_pelt(work, &r);
        good = good && disagreement(work, &work->correctives[i].skin) < 1e-4;
    }
    return good;
}

/* -- Timing ------------------------------------------------------------------------------------------------------- */

static double time_round(workload *work, const run *r, uint32_t vertices, uint32_t repeats) {
    double (*clock)(void) = r->threads == 1 ? pelt_thread_seconds : pelt_wall_seconds;
    double start = clock();
    for (uint32_t i = 0; i < repeats; i++) r->once(work, r);
    return 1e9 * (clock() - start) / repeats / vertices;
}

/* Contestants alternate. Multithreaded ones run after the others, since idle threads disturb. */
void bench_skins_time(bench_skins *work, bench_run *runs, size_t count, uint32_t rounds) {
    uint32_t repeats[BENCH_MOST_RUNS], vertices = work->skin.vertex_count;
    for (size_t r = 0; r < count; r++) { /* a round takes about a millisecond */
        if (runs[r].threads == 1) time_round(work, &runs[r], vertices, 1);
        double once = time_round(work, &runs[r], vertices, 1) * vertices * 1e-9;
        repeats[r] = once < 1e-3 ? (uint32_t)(1e-3 / fmax(once, 1e-7)) + 1 : 1;
    }
    for (int threaded = 0; threaded < 2; threaded++)
        for (uint32_t t = 0; t < rounds; t++)
            for (size_t r = 0; r < count; r++)
                if ((runs[r].threads > 1) == threaded)
                    runs[r].rounds[t] = time_round(work, &runs[r], vertices, repeats[r]);
    for (size_t r = 0; r < count; r++) runs[r].time = bench_time_of(runs[r].rounds, rounds);
}

/* One contestant per instruction set, or only for the best. */
static size_t list_isas(const bench_skins *work, run r, bool best_alone, bench_run *runs) {
    size_t count = 0;
    for (pelt_isa isa = 0; isa < PELT_ISA_COUNT; isa++)
        if (pelt_isa_works(isa) && (isa == work->skin.isa || !best_alone))
            r.isa = isa, r.isa_name = pelt_isa_name(isa), runs[count++] = r;
    return count;
}

size_t bench_skins_list(const bench_skins *work, uint32_t threads, bench_run *runs) {
    static const char *const outputs[] = {"none", "normals"};
    size_t count = 0;
    double memory = bytes_per_vertex(&work->skin, false);
    for (int normals = 0; normals < 2; normals++) {
        run ssd = {.method = "ssd", .normals = normals, .output = outputs[normals], .threads = 1, .once = run_pelt};
        ssd.bytes = bytes_per_vertex(&work->skin, normals);
        runs[count++] = (run){"plain",      "native",          .normals = normals,        .output = outputs[normals],
                              .threads = 1, .once = run_plain, .bytes = normals ? 72 : 48};
        count += list_isas(work, ssd, false, runs + count);
        ssd.isa = work->skin.isa, ssd.isa_name = pelt_isa_name(ssd.isa), ssd.threads = threads;
        if (threads > 1) runs[count++] = ssd;
        ssd.threads = 1, ssd.output = "box";
        if (!normals) count += list_isas(work, ssd, true, runs + count);
        ssd.output = normals ? "order+n" : "order", count += list_isas(work, ssd, true, runs + count);
        ssd.output = normals ? "gather+n" : "gather", ssd.once = run_gather,
        count += list_isas(work, ssd, true, runs + count);
        ssd.output = normals ? "halves+n" : "halves", ssd.once = run_pelt,
        count += list_isas(work, ssd, true, runs + count);
        ssd.output = "tangents", ssd.bytes += 32;
        if (normals) count += list_isas(work, ssd, false, runs + count);
    }
    for (const bench_corrective *c = work->correctives; c < work->correctives + BENCH_CORRECTIVES; c++) {
        double terms = 2.0 * 3 * pelt_skin_rows(&c->skin).first[c->skin.block_count] / c->skin.block_count;
        run plain = {c->name, "plain", .output = "none", .threads = 1, .once = run_plain_corrective, .corrective = c};
        plain.bytes = 48 + 12.0 * c->terms;
        runs[count++] = plain;
        for (int normals = 0; normals < 2; normals++) {
            run r = {.method = c->name, .normals = normals, .output = outputs[normals], .threads = 1, .once = run_pelt};
            r.corrective = c, r.bytes = bytes_per_vertex(&c->skin, normals) + terms;
            count += list_isas(work, r, normals, runs + count);
        }
    }
    runs[count++] = (run){"copy", "native", .output = "none", .threads = 1, .once = run_copy, .bytes = memory};
    runs[count++] = (run){"triad", "native", .output = "none", .threads = 1, .once = run_triad, .bytes = 1.5 * memory};
    for (size_t i = 0; i < count; i++) runs[i].plain = &runs[0];
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            if (runs[k].once == run_plain && runs[k].normals == runs[i].normals) runs[i].plain = &runs[k];
            if (runs[k].once == run_plain_corrective && runs[k].corrective == runs[i].corrective)
                runs[i].own_plain = &runs[k];
        }
    for (size_t i = 0; i < count; i++)
        if (!runs[i].own_plain) runs[i].own_plain = runs[i].plain;
    return count;
}
