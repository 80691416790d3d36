/* flesh_run.c: poses of a character's flesh, in stretches of a few, which are solved side by side. A pose is solved from the rest
   pose, or from one before it in its stretch that is nearer, and kept in a file of its own as soon as it is done, named by
   all that it depends on: so work that was interrupted goes on where it stopped, and ends with the same bytes. */

#include "cli/flesh.h"
#include "flesh/motion.h"
#include "flesh/solid.h"
#include "io/io.h"
#include "plain/plain.h"
#include "rig/clock.h"
#include "rig/maths.h"
#include "rig/ranks.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Less flesh than this in a cell would leave its nodes without a hold. */
static const double least_fraction = 0.05;
/* Of an edge: skin that is left deeper in skin is no start for another pose. */
static const double most_left = 0.1;

/* Poses whose way may begin at one another. Few, so that there are many to solve side by side. */
enum { STRETCH = 4 };

typedef struct running {
    const flesh_order *order;
    const pelt_solid *solid;
    pelt_solid_options options;
    char folder[4096];
    uint64_t hash; /* of all that is the same for all poses */
    size_t row;    /* numbers of a shape */
    float *shapes; /* [frame][row] */
    pelt_error *errors;
    pelt_solid_report *reports;
    double *seconds; /* [frame] of a core */
} running;

/* -- Kept poses -------------------------------------------------------------------------------------------------------- */

/* 64-bit FNV hash. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

/* Of all that a pose depends on: those before it in its stretch, too. */
static void pose_path(const running *r, size_t frame, char *path, size_t size) {
    size_t joints = r->order->bundle->skeleton.joint_count, first = frame - frame % STRETCH;
    uint64_t hash =
        mix(r->hash, r->order->poses + first * joints, (frame + 1 - first) * joints * sizeof *r->order->poses);
    snprintf(path, size, "%s/pose-%016llx.npy", r->folder, (unsigned long long)hash);
}

/* -- One pose ---------------------------------------------------------------------------------------------------------- */

static void place_skin(const running *r, const pelt_solid_state *state, const pelt_affine *whole, pelt_arena *scratch,
                       const pelt_affine *matrices, float *shape) {
    const pelt_volume *v = r->order->volume;
    double *skin = PELT_NEW(scratch, 3 * (size_t)v->skin_count, double);
    double *all = PELT_NEW(scratch, r->row, double); /* what is no flesh follows the linear blend */
    pelt_blend_mesh(&r->order->bundle->mesh, matrices, all);
    pelt_solid_skin(r->solid, state, skin);
    for (size_t k = 0; k < r->row; k++) shape[k] = (float)all[k];
    for (uint32_t i = 0; i < v->skin_count; i++) {
        double out[3];
        pelt_affine_point(whole, skin + 3 * (size_t)i, out);
        for (size_t k = 0; k < 3; k++) shape[3 * (size_t)v->skin[i] + k] = (float)out[k];
    }
}

/* A pose that was reached: its nodes as they are kept, in floats, and behind them how deep skin is left in skin and how much of
   it touches. */
typedef struct reached_pose {
    bool there;
    float *nodes; /* [node_count + 1][3] */
    pelt_affine *bones;
} reached_pose;

static bool read_kept(running *r, size_t i, reached_pose *out) {
    char path[4200];
    pelt_cache cache;
    pelt_error error;
    size_t numbers = 3 * ((size_t)r->order->volume->node_count + 1);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(PELT_READ_LIMIT);
    pose_path(r, i, path, sizeof path);
    if (!r->order->resume || !pelt_file_exists(path) || pelt_cache_read(arena, path, &cache, &error)) return false;
    if (3 * (size_t)cache.frame_count * cache.point_count != numbers) return false;
    memcpy(out->nodes, cache.positions, numbers * sizeof *out->nodes);
    return true;
}

static void keep(running *r, size_t i, const reached_pose *pose) {
    char path[4200];
    const uint32_t sizes[3] = {1, r->order->volume->node_count + 1, 3};
    pose_path(r, i, path, sizeof path);
    if (pelt_npy_write(path, sizes, pose->nodes, &r->errors[i])) r->reports[i].reached = 0;
}

/* Solves a pose from where another was reached, or from rest; false: it is out of reach from there. */
static bool solve_from(running *r, size_t i, const reached_pose *from, const pelt_transform *start, pelt_arena *scratch,
                       reached_pose *out) {
    const flesh_order *o = r->order;
    const pelt_skeleton *s = &o->bundle->skeleton;
    pelt_flesh_motion motion;
    pelt_solid_state state;
    pelt_solid_report *report = &r->reports[i], before = *report;
    pelt_solid_options options = r->options;
    size_t nodes = o->volume->node_count;
    pelt_solid_rest(scratch, r->solid, &state);
    if (pelt_flesh_motion_to(scratch, s, &o->volume->bones, start, o->poses + i * s->joint_count, &motion,
                             &r->errors[i]))
        return false;
    if (from) {
        for (size_t k = 0; k < 3 * nodes; k++) state.nodes[k] = from->nodes[k];
        memcpy(state.bones, from->bones, o->volume->bones.count * sizeof *state.bones);
    }
    options.path = pelt_flesh_motion_at, options.path_user = &motion;
    if (motion.still && !from)
        report->reached = 1;
    else if (pelt_solid_solve(r->solid, motion.target, &options, &state, report, &r->errors[i]))
        return false;
    report->newton_steps += before.newton_steps;
    for (size_t k = 0; k < 3 * nodes; k++) out->nodes[k] = (float)state.nodes[k];
    out->nodes[3 * nodes] = (float)report->penetration, out->nodes[3 * nodes + 1] = (float)report->touching;
    return report->reached == 1;
}

/* The pose before in the stretch that is nearest, if any is nearer than rest. */
static const reached_pose *nearest(const running *r, const reached_pose *poses, size_t count,
                                   const pelt_affine *bones) {
    const pelt_flesh_bones *b = &r->order->volume->bones;
    double least = pelt_flesh_motion_turn(b, NULL, bones);
    const reached_pose *best = NULL;
    for (size_t k = 0; k < count; k++) {
        if (!poses[k].there ||
            poses[k].nodes[3 * (size_t)r->order->volume->node_count] > most_left * r->order->volume->cell)
            continue;
        double turn = pelt_flesh_motion_turn(b, poses[k].bones, bones);
        if (turn < least) least = turn, best = &poses[k];
    }
    return best;
}

static void solve_stretch(void *user, size_t stretch, pelt_arena *scratch) {
    running *r = user;
    const flesh_order *o = r->order;
    const pelt_skeleton *s = &o->bundle->skeleton;
    reached_pose poses[STRETCH] = {0};
    size_t first = stretch * STRETCH, nodes = o->volume->node_count;
    pelt_affine *matrices = PELT_NEW(scratch, s->joint_count, pelt_affine);
    for (size_t i = first; i < first + STRETCH && i < o->frame_count; i++) {
        double start = pelt_thread_seconds();
        pelt_flesh_motion motion;
        pelt_solid_state state = {.nodes = PELT_NEW(scratch, 3 * nodes, double)};
        reached_pose *pose = &poses[i - first];
        const pelt_transform *transforms = o->poses + i * s->joint_count;
        pose->nodes = PELT_NEW(scratch, 3 * (nodes + 1), float);
        if (pelt_flesh_motion_to(scratch, s, &o->volume->bones, NULL, transforms, &motion, &r->errors[i])) continue;
        pose->bones = motion.target;
        bool kept = read_kept(r, i, pose);
        if (kept) {
            r->reports[i].reached = 1, r->reports[i].penetration = pose->nodes[3 * nodes];
            r->reports[i].touching = (uint32_t)pose->nodes[3 * nodes + 1];
        }
        const reached_pose *from = nearest(r, poses, i - first, motion.target);
        pose->there =
            kept || (from && solve_from(r, i, from, o->poses + (first + (size_t)(from - poses)) * s->joint_count,
                                        scratch, pose));
        if (!pose->there && !r->errors[i].code) pose->there = solve_from(r, i, NULL, NULL, scratch, pose);
        if (!pose->there) continue;
        for (size_t k = 0; k < 3 * nodes; k++) state.nodes[k] = pose->nodes[k];
        pelt_joint_matrices(s, transforms, NULL, matrices);
        place_skin(r, &state, &motion.whole, scratch, matrices, r->shapes + i * r->row);
        if (!kept) keep(r, i, pose), r->seconds[i] = pelt_thread_seconds() - start;
    }
}

/* -- All of them ------------------------------------------------------------------------------------------------------- */

static pelt_result open_solid(running *r, pelt_arena *arena, pelt_error *error) {
    const pelt_volume *v = r->order->volume;
    pelt_solid_material *materials = PELT_NEW(arena, v->element_count, pelt_solid_material);
    pelt_solid_shape *shape = PELT_NEW(arena, 1, pelt_solid_shape);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    for (uint32_t e = 0; e < v->element_count; e++)
        materials[e] = pelt_solid_material_of(v->stiffness[e] * (1 + v->fat[e] * (r->order->fat - 1)),
                                              r->order->poisson, fmax(v->fractions[e], least_fraction));
    *shape = (pelt_solid_shape){.node_count = v->node_count,
                                .element_count = v->element_count,
                                .bone_count = v->bones.count,
                                .nodes_per_element = PELT_LINEAR_NODES,
                                .nodes = v->nodes,
                                .node_bones = v->node_bones,
                                .elements = v->elements,
                                .materials = materials,
                                .vertex_count = v->skin_count,
                                .triangle_count = v->triangle_count,
                                .vertex_elements = v->skin_elements,
                                .vertex_barycentrics = v->skin_barycentrics,
                                .triangles = v->triangles,
                                .skin_young = r->order->skin,
                                .skin_thickness = r->order->skin_depth};
    r->hash = mix(0xcbf29ce484222325u, v->nodes, 3 * (size_t)v->node_count * sizeof *v->nodes);
    r->hash = mix(r->hash, v->elements, 4 * (size_t)v->element_count * sizeof *v->elements);
    r->hash = mix(r->hash, &r->options.no_contact, sizeof r->options.no_contact);
    r->hash = mix(r->hash, materials, v->element_count * sizeof *materials);
    r->hash = mix(r->hash, (double[2]){shape->skin_young, shape->skin_thickness}, 2 * sizeof(double));
    r->hash = mix(r->hash, v->node_bones, v->node_count * sizeof *v->node_bones);
    r->hash = mix(r->hash, v->skin_barycentrics, 4 * (size_t)v->skin_count * sizeof *v->skin_barycentrics);
    return pelt_solid_open(arena, shape, &r->solid, error);
}

/* Says which poses failed; the others stay. */
static void name_failures(const running *r, const cli_args *args) {
    const pelt_skeleton *s = &r->order->bundle->skeleton;
    for (size_t i = 0; i < r->order->frame_count; i++) {
        if (r->errors[i].code)
            cli_warn(args, "pose %zu is left out: %s", i, r->errors[i].text), r->reports[i].reached = 0;
        else if (r->reports[i].reached < 1)
            cli_warn(args,
                     "pose %zu is left out: the flesh follows for %.0f%% of the way, then joint \"%s\" is out of reach",
                     i, 100 * r->reports[i].reached,
                     s->names[r->order->volume->bones.list[r->reports[i].worst_bone].joint]);
    }
}

/* A clip of the poses that were reached, added to the bundle; their number. False after a message. */
static bool add_clip(const running *r, pelt_arena *arena, const flesh_clip *wanted, uint32_t *count) {
    const flesh_order *o = r->order;
    pelt_error error;
    size_t joints = o->bundle->skeleton.joint_count;
    pelt_transform *poses = PELT_NEW(arena, wanted->count * joints, pelt_transform);
    float *shapes = PELT_NEW(arena, wanted->count * r->row, float);
    if (pelt_arena_failed(arena)) return cli_fail("not enough memory"), false;
    *count = 0;
    for (size_t i = wanted->first; i < wanted->first + wanted->count; i++) {
        if (r->reports[i].reached < 1) continue;
        memcpy(poses + *count * joints, o->poses + i * joints, joints * sizeof *poses);
        memcpy(shapes + *count * r->row, r->shapes + i * r->row, r->row * sizeof *shapes);
        ++*count;
    }
    if (!*count) return cli_fail("%s: no pose of clip \"%s\" could be reached", o->bundle->path, wanted->name), false;
    pelt_clip_input input = {.name = wanted->name, .frame_count = *count, .poses = poses, .positions = shapes};
    return pelt_bundle_add_clip(o->bundle, &input, &error) || (cli_error(&error), false);
}

/* What poses cost, how many have skin that touches skin, and how deep it is left in it. */
static json_t *sum_up(const running *r, const cli_args *args) {
    double seconds = 0;
    uint32_t solved = 0, steps = 0, touching = 0;
    size_t worst = 0;
    for (size_t i = 0; i < r->order->frame_count; i++) {
        const pelt_solid_report *report = &r->reports[i];
        solved += r->seconds[i] > 0, seconds += r->seconds[i], steps += report->newton_steps;
        touching += report->touching > 0;
        if (report->penetration > r->reports[worst].penetration) worst = i;
    }
    double deepest = r->reports[worst].penetration;
    if (solved)
        cli_say(args, "  %.2f CPU seconds and %.0f Newton steps per pose\n", seconds / solved, (double)steps / solved);
    if (deepest > 0)
        cli_say(args, "  skin touches skin in %u poses; at worst it stays %.3g deep, in pose %zu\n", touching, deepest,
                worst);
    else if (touching)
        cli_say(args, "  skin touches skin in %u poses and is separated everywhere, except perhaps in creases\n",
                touching);
    return pelt_json_pack("{solved:u, core_seconds:f, newton_steps:u, touching:u, penetration:f}", solved, seconds,
                          steps, touching, deepest);
}

static void clear_kept(const running *r) {
    for (size_t i = 0; i < r->order->frame_count; i++) {
        char path[4200];
        pelt_error error;
        pose_path(r, i, path, sizeof path);
        pelt_file_remove(path, &error);
    }
    if (pelt_rank_writes()) rmdir(r->folder); /* poses of other work stay */
}

/* The bundle's own clips are not written, so these may have their names. */
static int write_all(running *r, const cli_args *args, pelt_arena *arena, double seconds, json_t *figures) {
    const flesh_order *o = r->order;
    pelt_error error;
    json_t *clips = json_array();
    uint32_t all = 0, count = 0;
    name_failures(r, args);
    bool *reached = PELT_NEW(arena, o->frame_count, bool);
    for (size_t i = 0; reached && i < o->frame_count; i++) reached[i] = r->reports[i].reached == 1;
    json_t *against = o->truth.count && reached ? flesh_compare(args, o, r->shapes, reached) : json_null();
    o->bundle->clip_count = 0;
    for (size_t c = 0; c < o->clip_count; c++, all += count) {
        if (!add_clip(r, arena, &o->clips[c], &count)) return json_decref(clips), json_decref(against), CLI_FAILED;
        clips = pelt_json_append(
            clips, pelt_json_pack("{clip:s, poses:u, asked:z}", o->clips[c].name, count, o->clips[c].count));
        cli_say(args, "%s: clip \"%s\", %u of %zu poses\n", o->output, o->clips[c].name, count, o->clips[c].count);
    }
    if (pelt_export_only_clips(o->bundle, o->bundle->clips, o->bundle->clip_count, o->output, &error))
        return json_decref(clips), json_decref(against), cli_error(&error);
    clear_kept(r);
    cli_say(args, "  %.1f s\n", seconds);
    json_t *work = sum_up(r, args);
    cli_say_next(args, "fit %s --train %s -o %.*s.pelt", o->output, o->clips[0].name, pelt_stem_length(o->output),
                 o->output);
    return cli_print_json(
        args, pelt_json_pack("{output:s, clip:s, poses:u, asked:z, clips:o, seconds:f, work:o, against:o, flesh:o}",
                             o->output, o->clips[0].name, all, o->frame_count, clips, seconds, work, against,
                             json_incref(figures)));
}

/* What the poses that are solved side by side will take. False after a message. */
static bool enough_memory(const cli_args *args, const flesh_order *order) {
    const pelt_volume *v = order->volume;
    size_t one = pelt_solid_memory(v->node_count, v->element_count, PELT_LINEAR_NODES, v->skin_count,
                                   order->skin_depth > 0 ? v->triangle_count : 0);
    size_t beside = args->threads ? args->threads : (size_t)sysconf(_SC_NPROCESSORS_ONLN), mega = 1000000;
    if (beside > (order->frame_count + STRETCH - 1) / STRETCH) beside = (order->frame_count + STRETCH - 1) / STRETCH;
    cli_say(args, "  about %zu MB for each of %zu poses solved at a time\n", one / mega + 1, beside);
    if (pelt_memory_is_there(one * beside)) return true;
    return cli_fail("%s: solving %zu poses at a time needs about %zu MB; use fewer --threads or a lower --resolution",
                    order->bundle->path, beside, one * beside / mega + 1),
           false;
}

int flesh_run(const cli_args *args, const flesh_order *order, json_t *figures) {
    pelt_error error;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    size_t n = order->frame_count;
    running r = {.order = order,
                 .row = 3 * (size_t)order->bundle->mesh.vertex_count,
                 .options = {.threads = 1, .no_contact = order->no_contact}};
    r.shapes = PELT_NEW(arena, n * r.row, float);
    r.errors = PELT_NEW(arena, n, pelt_error), r.reports = PELT_NEW(arena, n, pelt_solid_report);
    r.seconds = PELT_NEW(arena, n, double);
    if (pelt_arena_failed(arena)) return cli_fail("not enough memory");
    snprintf(r.folder, sizeof r.folder, "%s.poses", order->output);
    if (!enough_memory(args, order)) return CLI_FAILED;
    if (open_solid(&r, arena, &error) || pelt_folder_make(r.folder, &error)) return cli_error(&error);
    pelt_progress progress = cli_progress(args);
    pelt_watch watch = {.progress = &progress};
    double start = pelt_wall_seconds();
    pelt_arena_watch(arena, &watch);
    pelt_next_task(arena, "flesh", 0, 1, 1);
    pelt_rank_keeps(true);
    bool solved = PELT_SPREAD(arena, args->threads, (n + STRETCH - 1) / STRETCH, solve_stretch, &r,
                              {r.shapes, STRETCH * r.row * sizeof *r.shapes, n * r.row * sizeof *r.shapes},
                              {r.errors, STRETCH * sizeof *r.errors, n * sizeof *r.errors},
                              {r.reports, STRETCH * sizeof *r.reports, n * sizeof *r.reports});
    pelt_rank_keeps(false);
    if (!solved)
        return cli_fail("%s: stopped, or not enough memory; --resume continues from the finished poses", order->output);
    return write_all(&r, args, arena, pelt_wall_seconds() - start, figures);
}
