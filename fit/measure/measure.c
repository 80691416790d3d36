/* measure.c: how wrong a skin is. Runs the actual run time over the examples and compares with their true positions;
   the baseline of rel_err is the linear blend with the file's weights, in double. */

#include "fit/measure/look.h"
#include "fit/measure/measure.h"
#include "fit/measure/regions.h"
#include "model/posing.h"
#include "rig/clock.h"
#include "rig/ranks.h"
#include "rig/sort.h"
#include <math.h>
#include <string.h>

/* -- Playing a skin on a bundle's poses --------------------------------------------------------------------------- */

struct pelt_player {
    pelt_arena *arena; /* owns everything */
    const pelt_skin *skin;
    const pelt_bundle *bundle;
    const pelt_skeleton *skeleton;
    const pelt_controls *controls; /* of the bundle, which may gain more */
    uint32_t matched;              /* how many of them have been matched */
    pelt_posing posing;
    float *row, *values;     /* controls of the bundle and of the skin */
    pelt_transform *locals;  /* of the bundle's skeleton */
    pelt_transform *renamed; /* in the order of the skin's joints */
    void *scratch;
    float *positions, *normals; /* in slot order */
};

static void match_controls(pelt_player *player) {
    pelt_match_controls(player->skin, player->controls, (uint32_t *)player->posing.controls);
    player->matched = player->controls->count;
}

static pelt_result check_skin(const pelt_skin *skin, const pelt_bundle *bundle, pelt_error *error) {
    if (skin->vertex_count != bundle->mesh.vertex_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "the skin has %u vertices, but the mesh in %s has %u: it was made for another mesh",
                         skin->vertex_count, bundle->path, bundle->mesh.vertex_count);
    return pelt_check_mesh(skin->mesh_hash ? *skin->mesh_hash : 0, bundle, error);
}

static pelt_player *make_player(pelt_arena *arena, const pelt_skin *skin, const pelt_bundle *bundle,
                                pelt_error *error) {
    size_t joints = skin->joint_count, controls = skin->control_count;
    pelt_player *player = PELT_NEW(arena, 1, pelt_player);
    pelt_player made = {.arena = arena,
                        .skin = skin,
                        .bundle = bundle,
                        .skeleton = &bundle->skeleton,
                        .controls = &bundle->controls,
                        .matched = bundle->controls.count,
                        .row = PELT_NEW(arena, PELT_MOST_CONTROLS, float),
                        .values = PELT_NEW(arena, controls, float),
                        .locals = PELT_NEW(arena, bundle->skeleton.joint_count, pelt_transform),
                        .renamed = PELT_NEW(arena, joints, pelt_transform),
                        .scratch = pelt_alloc(arena, 1, pelt_scratch_size(skin)),
                        .positions = pelt_alloc(arena, 1, pelt_output_size(skin)),
                        .normals = pelt_alloc(arena, 1, pelt_output_size(skin))};
    if (pelt_arena_failed(arena)) return pelt_no_memory(error), NULL;
    *player = made;
    return pelt_posing_open(arena, skin, bundle, &player->posing, error) ? NULL : player;
}

pelt_player *pelt_player_new(const pelt_skin *skin, const pelt_bundle *bundle, pelt_error *error) {
    if (PELT_MISSING(skin, error) || PELT_MISSING(bundle, error)) return NULL;
    if (check_skin(skin, bundle, error)) return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_player *player = make_player(arena, skin, bundle, error);
    if (!player) pelt_arena_free(arena);
    return player;
}

void pelt_player_free(pelt_player *player) {
    if (player) pelt_arena_free(player->arena);
}

static void gather(const pelt_skin *skin, const float *slots, float *vertices) {
    for (size_t v = 0; v < skin->vertex_count; v++)
        memcpy(vertices + 3 * v, slots + 3 * (size_t)skin->vertex_slots[v], 3 * sizeof *vertices);
}

const void *pelt_player_pose(pelt_player *player, const pelt_clip *clip, uint32_t frame) {
    if (!player) return NULL;
    const pelt_skin *skin = player->skin;
    if (!pelt_is_own_clip(player->bundle, clip)) clip = NULL; /* its channels are of other joints */
    pelt_clip_pose(clip, player->skeleton, frame, player->locals);
    for (uint32_t j = 0; j < skin->joint_count; j++) player->renamed[j] = player->locals[player->posing.joints[j]];
    if (player->matched != player->controls->count) match_controls(player);
    pelt_matched_controls(skin, player->controls, player->posing.controls, clip, frame, player->row, player->values);
    pelt_pose_from(skin, &(pelt_pose_input){.locals = player->renamed, .controls = player->values}, player->scratch);
    return player->scratch;
}

const void *pelt_player_pose_of(pelt_player *player, const pelt_transform *locals, const float *controls) {
    if (!player) return NULL;
    const pelt_skin *skin = player->skin;
    if (!locals) locals = player->skeleton->rest;
    for (uint32_t j = 0; j < skin->joint_count; j++) player->renamed[j] = locals[player->posing.joints[j]];
    if (player->matched != player->controls->count) match_controls(player);
    for (uint32_t i = 0; i < skin->control_count; i++) {
        uint32_t source = player->posing.controls[i];
        player->values[i] = controls && source < player->controls->count ? controls[source] : skin->controls[i].rest;
    }
    pelt_pose_from(skin, &(pelt_pose_input){.locals = player->renamed, .controls = player->values}, player->scratch);
    return player->scratch;
}

void pelt_player_frame(pelt_player *player, const pelt_clip *clip, uint32_t frame, float *positions, float *normals) {
    if (!player) return;
    const pelt_skin *skin = player->skin;
    const void *pose = pelt_player_pose(player, clip, frame);
    pelt_deform(skin, pose, pelt_all_blocks(skin), player->positions, normals ? player->normals : NULL);
    if (positions) gather(skin, player->positions, positions);
    if (normals) gather(skin, player->normals, normals);
}

/* -- Measuring ---------------------------------------------------------------------------------------------------- */

/* Frames are measured in batches: each frame of a batch writes its own row of squared errors, then the rows are summed
   in order, so that the result does not depend on the number of threads. */
enum { BATCH = 16 };

struct lane {
    pelt_player *player;
    float *positions;
    double *blended; /* the baseline */
    float *normals, *true_normals;
};

/* Of one frame, besides its rows. */
typedef struct frame_sums {
    double baseline;
    double normal_sum, normal_max; /* squared angles, and the largest angle */
    uint32_t normal_count;         /* whose true normal is known */
    float expected;
    double rough_sum[PELT_LOOKS];
} frame_sums;

typedef struct measuring {
    const pelt_skin *skin;
    const pelt_bundle *bundle;
    const pelt_smoothing *smoothing;
    pelt_examples examples;
    const pelt_progress *progress;
    uint32_t threads;
    pelt_measure *measure;
    size_t first; /* example of the batch */
    struct lane lanes[BATCH];
    float *squares, *bases; /* [BATCH][vertex_count] of the skin, and of the baseline */
    frame_sums sums[BATCH];
    pelt_look look;
    float *errors, *rough;            /* [BATCH + 1][PELT_LOOKS][point][3] and [BATCH + 1][point], of `looks` */
    pelt_look_frame looks[BATCH + 1]; /* the first is the last of the previous batch */
} measuring;

/* The angle between unit vectors as 2 asin(|a - b| / 2), which is accurate for small angles, where it matters. */
static void add_normals(const struct lane *lane, const measuring *m, const pelt_example *example, frame_sums *sums) {
    const float *truth = pelt_true_normals(m->smoothing, example, lane->true_normals);
    sums->normal_sum = 0, sums->normal_max = 0, sums->normal_count = 0;
    for (size_t v = 0; v < m->skin->vertex_count; v++) {
        const float *a = lane->normals + 3 * v, *b = truth + 3 * v;
        if (b[0] == 0 && b[1] == 0 && b[2] == 0) continue; /* not known */
        double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
        double angle = 2 * asin(fmin(sqrt(x * x + y * y + z * z) / 2, 1));
        sums->normal_sum += angle * angle;
        sums->normal_count++;
        sums->normal_max = fmax(sums->normal_max, angle);
    }
}

static void measure_frame(void *user, size_t i, pelt_arena *scratch) {
    measuring *m = user;
    struct lane *lane = &m->lanes[i];
    const pelt_example *example = &m->examples.list[m->first + i];
    const pelt_clip *clip = example->clip;
    size_t n = m->skin->vertex_count;
    float *squares = m->squares + n * i, *bases = m->bases + n * i;
    frame_sums *sums = &m->sums[i];
    const float *truth = clip->positions + 3 * n * example->frame;
    const pelt_influences *in = &m->bundle->mesh.influences;
    pelt_player_frame(lane->player, clip, example->frame, lane->positions, lane->normals);
    add_normals(lane, m, example, sums);
    /* Again without normals: the run time then takes a different path, with the rounding that positions-only users
       get. */
    pelt_player_frame(lane->player, clip, example->frame, lane->positions, NULL);
    sums->expected = pelt_confidence(m->skin, lane->player->scratch, NULL);
    const pelt_affine *matrices = pelt_frame_matrices(scratch, &m->bundle->skeleton, clip, example->frame);
    pelt_blend_mesh(&m->bundle->mesh, matrices, lane->blended);
    pelt_look_at(&m->look, lane->positions, lane->blended, truth, &m->looks[i + 1]);
    memcpy(sums->rough_sum, m->looks[i + 1].rough_sum, sizeof sums->rough_sum);
    sums->baseline = 0;
    for (size_t v = 0; v < n; v++) {
        double square = 0, base = 0;
        for (size_t c = 3 * v; c < 3 * v + 3; c++) {
            double x = (double)lane->positions[c] - truth[c], y = lane->blended[c] - truth[c];
            square += x * x, base += y * y;
        }
        if (in->first[v] == in->first[v + 1]) base = 0; /* nothing blends it */
        squares[v] = (float)square, bases[v] = (float)base;
        sums->baseline += base;
    }
}

static void measure_jump(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    measuring *m = user;
    pelt_look_jump(&m->look, m->first + i, &m->looks[i], &m->looks[i + 1]);
}

/* Adds a frame's row of squared errors; returns their sum. */
static double add_frame(pelt_measure *measure, const measuring *m, size_t i, pelt_vertex_sums *sums) {
    const float *squares = m->squares + i * measure->vertex_count, *bases = m->bases + i * measure->vertex_count;
    size_t frame = m->first + i;
    double sum = 0;
    float worst = 0;
    for (uint32_t v = 0; v < measure->vertex_count; v++) {
        sum += squares[v];
        sums->squares[v] += squares[v], sums->blended[v] += bases[v];
        sums->largest[v] = fmaxf(sums->largest[v], squares[v]);
        if (squares[v] <= worst) continue;
        worst = squares[v];
        if (sqrt(worst) > measure->max) {
            measure->max = sqrt(worst);
            measure->worst_frame = (uint32_t)frame, measure->worst_vertex = v;
        }
    }
    measure->frame_rms[frame] = (float)sqrt(sum / measure->vertex_count);
    if (measure->frame_expected) measure->frame_expected[frame] = m->sums[i].expected;
    measure->frame_max[frame] = sqrtf(worst);
    return sum;
}

static pelt_result open_lane(pelt_arena *arena, const measuring *m, struct lane *lane, pelt_error *error) {
    size_t n = m->skin->vertex_count;
    lane->positions = PELT_NEW(arena, 3 * n, float);
    lane->blended = PELT_NEW(arena, 3 * n, double);
    lane->normals = PELT_NEW(arena, 3 * n, float);
    lane->true_normals = PELT_NEW(arena, 3 * n, float);
    lane->player = make_player(arena, m->skin, m->bundle, error);
    return lane->player ? PELT_OK : PELT_ERROR_DATA;
}

/* A blend this close to the truth, near the precision of files, is no basis for relative errors. */
static const double exact_blend = 1e-6;

/* Over all frames. */
typedef struct sums {
    pelt_vertex_sums of_vertices;
    double all, baseline, normals;
    size_t normal_count;
    double normal_max;
} sums;

static void finish(pelt_measure *measure, const sums *s, double diagonal) {
    const double degrees = 180 / acos(-1), frames = measure->frame_count, all = frames * measure->vertex_count;
    for (uint32_t v = 0; v < measure->vertex_count; v++)
        measure->vertex_rms[v] = (float)sqrt(s->of_vertices.squares[v] / frames);
    measure->rms = sqrt(s->all / all);
    measure->normal_rms_degrees = s->normal_count ? degrees * sqrt(s->normals / (double)s->normal_count) : 0;
    measure->normal_max_degrees = degrees * s->normal_max;
    measure->rms_fraction = measure->rms / diagonal;
    measure->max_fraction = measure->max / diagonal;
    measure->blend_fraction = sqrt(s->baseline / all) / diagonal;
    measure->rel_err = measure->blend_fraction > exact_blend ? sqrt(s->all / s->baseline) : 0;
}

static void open_looks(pelt_arena *arena, measuring *m, size_t count) {
    size_t points = m->look.points.count;
    m->errors = PELT_NEW(arena, 3 * PELT_LOOKS * points * count, float);
    m->rough = PELT_NEW(arena, points * count, float);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < PELT_LOOKS; k++) m->looks[i].errors[k] = m->errors + 3 * points * (PELT_LOOKS * i + k);
        m->looks[i].rough = m->rough + points * i;
    }
}

/* Divided over ranks. Jumps compare neighbouring frames, whose errors all ranks need then, and cost little. */
static void measure_batch(pelt_arena *work, measuring *m, size_t count) {
    size_t row = m->skin->vertex_count * sizeof(float), points = m->look.points.count * sizeof(float);
    size_t errors = 3 * PELT_LOOKS * points;
    bool jumps = false;
    for (size_t i = 0; i <= count && m->first + i < m->examples.count; i++) jumps |= m->look.follows[m->first + i];
    pelt_made rows[] = {{m->squares, row},
                        {m->bases, row},
                        {m->sums, sizeof *m->sums},
                        {(char *)m->rough + points, points},
                        {(char *)m->errors + errors, errors}};
    pelt_spread(work, m->threads, count, measure_frame, m, jumps ? 5 : 4, rows);
    pelt_parallel(work, m->threads, count, measure_jump, m);
}

/* For the next batch. */
static void keep_last(measuring *m, size_t count) {
    size_t errors = 3 * PELT_LOOKS * (size_t)m->look.points.count;
    memcpy(m->errors, m->errors + errors * count, errors * sizeof *m->errors);
}

/* A stage: results go into the measure's arena, everything else into one inside it. */
static pelt_result measure_all(void *user, pelt_error *error) {
    measuring *m = user;
    pelt_measure *measure = m->measure;
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(measure->arena);
    size_t frames = m->examples.count, n = m->skin->vertex_count, lanes = frames < BATCH ? frames : BATCH;
    pelt_result result = check_skin(m->skin, m->bundle, error);
    for (size_t i = 0; i < lanes && !result; i++) result = open_lane(work, m, &m->lanes[i], error);
    if (result) return result;
    m->smoothing = pelt_smoothing_of(work, &m->bundle->mesh, m->examples);
    measure->frame_count = (uint32_t)frames, measure->vertex_count = (uint32_t)n;
    measure->frame_rms = PELT_NEW(measure->arena, frames, float);
    measure->frame_max = PELT_NEW(measure->arena, frames, float);
    measure->frame_blend = PELT_NEW(measure->arena, frames, float);
    if (m->skin->confidence) measure->frame_expected = PELT_NEW(measure->arena, frames, float);
    measure->vertex_rms = PELT_NEW(measure->arena, n, float);
    measure->vertex_rough = PELT_NEW(measure->arena, n, float);
    m->squares = PELT_NEW(work, lanes * n, float), m->bases = PELT_NEW(work, lanes * n, float);
    pelt_look_open(work, m->bundle, m->examples, &m->look);
    open_looks(work, m, lanes + 1);
    pelt_look_sums look_sums = {.rough = PELT_NEW(work, m->look.points.count, double)};
    sums s = {.of_vertices = {PELT_NEW(work, n, double), PELT_NEW(work, n, double), PELT_NEW(work, n, float)}};
    if (pelt_should_stop(m->progress, "measuring", 0)) return pelt_stopped(error);
    for (m->first = 0; m->first < frames; m->first += BATCH) {
        size_t count = frames - m->first < BATCH ? frames - m->first : BATCH;
        measure_batch(work, m, count);
        for (size_t i = 0; i < count; i++) {
            const frame_sums *frame = &m->sums[i];
            s.all += add_frame(measure, m, i, &s.of_vertices);
            s.baseline += frame->baseline;
            measure->frame_blend[m->first + i] = (float)sqrt(frame->baseline / (double)n);
            s.normals += frame->normal_sum, s.normal_count += frame->normal_count;
            s.normal_max = fmax(s.normal_max, frame->normal_max);
            memcpy(m->looks[i + 1].rough_sum, frame->rough_sum, sizeof frame->rough_sum);
            pelt_look_add(&m->look, m->first + i, &m->looks[i + 1], &look_sums);
        }
        keep_last(m, count);
        if (pelt_should_stop(m->progress, "measuring", (double)(m->first + count) / (double)frames))
            return pelt_stopped(error);
    }
    double diagonal = pelt_scene_diagonal(&m->bundle->mesh);
    diagonal = diagonal > 0 ? diagonal : 1;
    finish(measure, &s, diagonal);
    pelt_measure_regions(m->bundle, &s.of_vertices, exact_blend * diagonal, measure);
    pelt_look_finish(&m->look, &look_sums, measure);
    pelt_measure_expectation(measure);
    if (!pelt_measure_is_relative(measure)) {
        measure->roughness = 0;
        if (isfinite(measure->jump)) measure->jump = 0;
    }
    return PELT_OK;
}

int pelt_measure_is_relative(const pelt_measure *measure) {
    return measure && (measure->rel_err > 0 || measure->blend_fraction > exact_blend);
}

static double known(double value) { return isfinite(value) ? value : -1; }

pelt_fact_measure pelt_measure_facts(const pelt_measure *m) {
    if (!m) return (pelt_fact_measure){.rms = -1, .max = -1, .rel_err = -1, .roughness = -1, .normal_rms_degrees = -1};
    bool relative = pelt_measure_is_relative(m);
    return (pelt_fact_measure){.rms = known(m->rms),
                               .max = known(m->max),
                               .rel_err = relative ? known(m->rel_err) : -1,
                               .roughness = relative ? known(m->roughness) : -1,
                               .normal_rms_degrees = known(m->normal_rms_degrees),
                               .frame_count = m->frame_count};
}

pelt_measure *pelt_measure_examples(const pelt_skin *skin, const pelt_bundle *bundle, pelt_examples examples,
                                    uint32_t threads, pelt_error *error) {
    return pelt_measure_watched(skin, bundle, examples, threads, NULL, error);
}

pelt_measure *pelt_measure_watched(const pelt_skin *skin, const pelt_bundle *bundle, pelt_examples examples,
                                   uint32_t threads, const pelt_progress *progress, pelt_error *error) {
    if (PELT_MISSING(skin, error) || PELT_MISSING(bundle, error)) return NULL;
    if (!examples.count) return pelt_fail(error, PELT_ERROR_DATA, "there are no examples to measure on"), NULL;
    if (pelt_check_examples(bundle, examples, true, error)) return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_measure *measure = PELT_NEW(arena, 1, pelt_measure);
    measuring m = {.skin = skin,
                   .bundle = bundle,
                   .examples = examples,
                   .threads = threads,
                   .progress = progress,
                   .measure = measure};
    if (measure) measure->arena = arena;
    if (pelt_stage(arena, measure_all, &m, error) == PELT_OK) return measure;
    pelt_arena_free(arena);
    return NULL;
}

void pelt_measure_free(pelt_measure *measure) {
    if (measure) pelt_arena_free(measure->arena);
}

/* -- Speed --------------------------------------------------------------------------------------------------------- */

/* The pose of a frame in the order of the skin's joints. */
static void pose_skin(const pelt_skin *skin, const pelt_skeleton *skeleton, const pelt_clip *clip, uint32_t frame,
                      pelt_transform *all, pelt_transform *locals) {
    if (clip) pelt_clip_pose(clip, skeleton, frame, all);
    for (uint32_t j = 0; j < skin->joint_count; j++) {
        uint32_t k = 0, count = clip ? skeleton->joint_count : 0;
        while (k < count && strcmp(skeleton->names[k], skin->names + skin->joints[j].name)) k++;
        locals[j] = k < count ? all[k] : skin->joints[j].rest;
    }
}

pelt_frame_times pelt_time_frames(const pelt_skin *skin, const pelt_skeleton *skeleton, const pelt_clip *clip) {
    enum { FRAMES = 200, FEWEST = 25, WARMING = 3, MOST_REPEATS = 1 << 20 };
    static const double most_seconds = 0.4, least_seconds = PELT_CLOCK_SECONDS * 20;
    double times[FRAMES], spent = 0;
    uint32_t count = 0, repeats = 1; /* of a frame, so that the clock's steps do not matter */
    pelt_arena *arena = pelt_arena_new(0);
    void *scratch = pelt_alloc(arena, 1, pelt_scratch_size(skin));
    float *positions = pelt_alloc(arena, 1, pelt_output_size(skin));
    float *normals = pelt_alloc(arena, 1, pelt_output_size(skin));
    pelt_transform *locals = PELT_NEW(arena, skin->joint_count, pelt_transform);
    pelt_transform *all = PELT_NEW(arena, clip ? skeleton->joint_count : 1, pelt_transform);
    bool ready = !pelt_arena_failed(arena);
    /* The first frames wait for memory. Steps of 37 reach all parts of a clip, however soon the time is up. */
    for (uint32_t i = 0; ready && count < FRAMES && (count < FEWEST || spent < most_seconds); i++) {
        pose_skin(skin, skeleton, clip, clip && clip->frame_count ? 37 * i % clip->frame_count : 0, all, locals);
        double start = pelt_thread_seconds();
        for (uint32_t r = 0; r < repeats; r++) {
            pelt_pose(skin, locals, scratch);
            pelt_deform(skin, scratch, pelt_all_blocks(skin), positions, normals);
        }
        double time = pelt_thread_seconds() - start;
        bool short_time = time < least_seconds && repeats < MOST_REPEATS && !count;
        spent += time;
        if (short_time) repeats *= 2;
        if (i >= WARMING && !short_time) times[count++] = time / repeats;
    }
    pelt_arena_free(arena);
    if (!count) return (pelt_frame_times){0};
    double each = 1e9 / skin->vertex_count;
    return (pelt_frame_times){.median = each * pelt_quantile(times, count, 0.5),
                              .low = each * pelt_quantile(times, count, 0.25),
                              .high = each * pelt_quantile(times, count, 0.75),
                              .count = count};
}
