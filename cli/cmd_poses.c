/* cmd_poses.c: pelt poses: which poses to make examples of: a range of motion, or frames of one's own clips. */

#include "cli/cli.h"
#include "io/io.h"
#include "report/report.h"
#include <math.h>
#include <pelt/poses.h>
#include <string.h>

enum { USUAL_COUNT = 240, SHEET_COLUMNS = 8, SHEET_POSES = 48, SHEET_HEIGHT = 220 };

typedef struct posing {
    const cli_args *args;
    pelt_bundle *bundle;
    uint32_t count;
    double azimuth;
    const char *name; /* of the new clip */
    const pelt_clip *clip;
} posing;

/* -- A range of motion ---------------------------------------------------------------------------------------------- */

/* --limits: a word, or a file. */
static bool read_limits(const posing *p, pelt_motion_options *options) {
    pelt_error error;
    const char *limits = cli_value(p->args, "limits");
    if (!limits) return true;
    bool clips = !strcmp(limits, "clips"), names = !strcmp(limits, "names");
    if (clips || names) {
        options->from = clips ? PELT_LIMITS_CLIPS : PELT_LIMITS_NAMES;
        return true;
    }
    return !pelt_limits_read(p->bundle, limits, &options->limits, &options->limit_count, &error) ||
           (cli_error(&error), false);
}

static json_t *range_json(const posing *p, const pelt_motion_range *range) {
    static const char *const from[] = {"", "clips", "names", "given"};
    json_t *list = json_array();
    for (size_t i = 0; i < range->count; i++) {
        const pelt_joint_range *r = &range->list[i];
        const char *const *names = p->bundle->skeleton.names;
        double d = 180 / M_PI;
        list = pelt_json_append(
            list, pelt_json_pack("{joint:s, part:s, from:s, bend:[f f], side:[f f], twist:[f f], follows:s}",
                                 names[r->joint], r->part, from[r->from], d * r->low[0], d * r->high[0], d * r->low[1],
                                 d * r->high[1], d * r->low[2], d * r->high[2],
                                 r->leader == UINT32_MAX ? NULL : names[range->list[r->leader].joint]));
    }
    return list;
}

static void say_range(const posing *p, const pelt_motion_range *range) {
    size_t from[PELT_LIMITS_GIVEN + 1] = {0}, follow = 0;
    for (size_t i = 0; i < range->count; i++) {
        from[range->list[i].from]++;
        follow += range->list[i].leader != UINT32_MAX;
    }
    cli_say(p->args, "  %zu joints move, by %zu angles; limits of %zu from the clips, of %zu by name, of %zu given",
            range->count, range->angle_count, from[PELT_LIMITS_CLIPS], from[PELT_LIMITS_NAMES],
            from[PELT_LIMITS_GIVEN]);
    if (follow) cli_say(p->args, "; %zu follow other joints, as in the clips", follow);
    cli_say(p->args, "\n");
    if (from[PELT_LIMITS_NAMES])
        for (size_t i = 0, shown = 0; i < range->count; i++)
            if (!strcmp(range->list[i].part, "joint") && range->list[i].from == PELT_LIMITS_NAMES && !shown++)
                cli_say(p->args,
                        "  the names of some joints, such as \"%s\", do not tell how they bend: write the assumed "
                        "limits with --write-limits FILE.json, correct them, and pass the file to --limits\n",
                        p->bundle->skeleton.names[range->list[i].joint]);
}

/* Fills in p->clip; the ranges as JSON, or NULL after a message. */
static json_t *make_range(posing *p) {
    pelt_error error;
    pelt_motion_options options = {0};
    const char *written = cli_value(p->args, "write-limits");
    if (!read_limits(p, &options)) return NULL;
    pelt_motion_range *range = pelt_motion_range_of(p->bundle, &options, &error);
    pelt_result result = range ? PELT_OK : error.code;
    if (!result && written) result = pelt_limits_write(p->bundle, range, written, &error);
    if (!result) p->clip = pelt_bundle_add_poses(p->bundle, range, p->count, p->args->seed, p->name, &error);
    json_t *json = p->clip ? range_json(p, range) : NULL;
    if (p->clip)
        say_range(p, range);
    else
        cli_error(&error);
    pelt_motion_range_free(range);
    return json;
}

/* -- Frames of clips ------------------------------------------------------------------------------------------------ */

static bool find_frames(posing *p, pelt_examples *all) {
    const pelt_clip **clips;
    size_t clip_count;
    if (!cli_clips(p->bundle, cli_value(p->args, "from"), PELT_NEED_POSE, &clips, &clip_count)) return false;
    for (size_t c = 0; c < clip_count; c++) {
        pelt_error error;
        if (!clips[c]->frame_count)
            return cli_fail("%s: clip \"%s\" has no frames to choose from", p->bundle->path, clips[c]->name), false;
        if (!pelt_bundle_has_positions(p->bundle, clips[c])) continue;
        clips[c] = pelt_bundle_clip(p->bundle, clips[c]->name, PELT_NEED_POSITIONS, &error);
        if (!clips[c]) return cli_error(&error), false;
    }
    return cli_examples(p->args, p->bundle, clips, clip_count, all);
}

static json_t *list_frames(const posing *p, pelt_examples frames, double left) {
    json_t *list = json_array();
    for (size_t i = 0; i < frames.count; i++) {
        const pelt_example *e = &frames.list[i];
        cli_say(p->args, "  %3zu  %s, frame %u, at %.3f s\n", i, e->clip->name, e->frame,
                (double)e->clip->times[e->frame]);
        list = pelt_json_append(list, pelt_json_pack("{clip:s, frame:u, seconds:f}", e->clip->name, e->frame,
                                                     (double)e->clip->times[e->frame]));
    }
    cli_say(p->args, "  %.1f%% of what the other frames could show is not covered\n", 100 * left);
    return list;
}

static json_t *choose_frames(posing *p, double *left) {
    static const char *const ways[] = {"telling", "even", "random"};
    pelt_error error;
    pelt_examples all;
    const char *way = cli_value(p->args, "choice");
    uint32_t how = 0;
    while (way && how < 3 && strcmp(way, ways[how]) != 0) how++;
    if (how == 3) return cli_misuse(p->args, "--choice %s: expected telling, even or random", way), NULL;
    if (!find_frames(p, &all)) return NULL;
    size_t *chosen = PELT_NEW(p->bundle->arena, p->count, size_t);
    pelt_examples frames = {p->count, PELT_NEW(p->bundle->arena, p->count, pelt_example)};
    if (!chosen || !frames.list) return cli_fail("not enough memory"), NULL;
    if (pelt_choose_examples(p->bundle, all, p->count, (pelt_frame_choice)how, p->args->seed, chosen, left, &error))
        return cli_error(&error), NULL;
    for (size_t i = 0; i < p->count; i++) frames.list[i] = all.list[chosen[i]];
    p->clip = pelt_bundle_pick_frames(p->bundle, frames, p->name, &error);
    return p->clip ? list_frames(p, frames, *left) : (cli_error(&error), NULL);
}

/* -- The sheet ------------------------------------------------------------------------------------------------------ */

/* Up to 48 of the poses, evenly spaced, as the weights of the file pose the mesh. */
static pelt_result draw_sheet(const posing *p, const char *path, pelt_error *error) {
    size_t n = 3 * (size_t)p->bundle->mesh.vertex_count, all = p->clip->frame_count;
    size_t count = all < SHEET_POSES ? all : SHEET_POSES;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    const float **shapes = PELT_NEW(arena, count, const float *);
    for (size_t i = 0; i < count && shapes; i++) {
        PELT_SCOPED pelt_arena *brief = pelt_arena_new(0);
        const double *at = pelt_blend_frame(brief, p->bundle, p->clip, (uint32_t)(i * all / count));
        float *shape = PELT_NEW(arena, n, float);
        if (!at || !shape) return pelt_no_memory(error);
        for (size_t k = 0; k < n; k++) shape[k] = (float)at[k];
        shapes[i] = shape;
    }
    if (!shapes) return pelt_no_memory(error);
    pelt_bytes png;
    uint32_t columns = count < SHEET_COLUMNS ? (uint32_t)count : SHEET_COLUMNS;
    pelt_result result = pelt_contact_sheet(&p->bundle->mesh, shapes, count, columns, SHEET_HEIGHT, p->azimuth,
                                            p->args->threads, &png, error);
    return result ? result : cli_write_made(result, &png, path, error);
}

/* -- The command ---------------------------------------------------------------------------------------------------- */

/* A name that no clip of the file has. */
static const char *free_name(const pelt_bundle *bundle) {
    const char *name = "poses";
    for (uint32_t tried = 2;; tried++) {
        uint32_t c = 0;
        while (name && c < bundle->clip_count && strcmp(bundle->clips[c]->name, name) != 0) c++;
        if (!name || c == bundle->clip_count) return name;
        name = pelt_arena_format(bundle->arena, "poses_%u", tried);
    }
}

static int make_poses(posing *p) {
    const cli_args *args = p->args;
    const char *output = cli_value(args, "output"), *sheet = cli_value(args, "sheet");
    pelt_error error;
    double left = 0;
    p->name = free_name(p->bundle);
    bool choose = cli_value(args, "from") != NULL;
    json_t *found = choose ? choose_frames(p, &left) : make_range(p);
    if (!found) return p->clip ? cli_fail("not enough memory") : CLI_FAILED;
    if ((output && pelt_export_poses(p->bundle, p->clip, output, &error)) || (sheet && draw_sheet(p, sheet, &error))) {
        json_decref(found);
        return cli_error(&error);
    }
    if (output) cli_say(args, "%s: clip \"%s\", %u poses\n", output, p->clip->name, p->clip->frame_count);
    json_t *object = choose ? pelt_json_pack("{output:s, clip:s, poses:u, unknown:f, frames:o}", output, p->clip->name,
                                             p->clip->frame_count, left, found)
                            : pelt_json_pack("{output:s, clip:s, poses:u, joints:o}", output, p->clip->name,
                                             p->clip->frame_count, found);
    return cli_print_json(args, object);
}

static int run(const cli_args *args) {
    posing p = {.args = args, .count = USUAL_COUNT, .azimuth = 25};
    pelt_error error;
    const char *sheet = cli_value(args, "sheet");
    if (!cli_value(args, "output") && !sheet && !cli_value(args, "from") && !cli_value(args, "write-limits"))
        return cli_misuse(args, "-o POSES.glb is missing: name the file to write");
    if (cli_value(args, "from") && (cli_value(args, "limits") || cli_value(args, "write-limits")))
        return cli_misuse(args,
                          "--from chooses among existing frames, and limits are for new poses: use one or the other");
    if (!cli_value(args, "from") && (cli_value(args, "choice") || cli_value(args, "every")))
        return cli_misuse(args, "--choice and --every apply to frames of clips: name the clips with --from CLIP,...");
    if (sheet && !pelt_ends_with(sheet, ".png")) return cli_misuse(args, "--sheet writes a .png, not %s", sheet);
    if (!cli_count(args, "count", &p.count) || !cli_number(args, "azimuth", &p.azimuth)) return CLI_MISUSE;
    if (pelt_check_range("count", p.count, 1, PELT_MOST_POSES, &error)) return cli_error(&error);
    p.bundle = cli_bundle(args, args->inputs[0], &error);
    int code = p.bundle ? make_poses(&p) : cli_error(&error);
    pelt_bundle_free(p.bundle);
    return code;
}

const cli_command cli_poses = {
    "poses",
    "BUNDLE --count N -o POSES.glb",
    "Picks poses to make examples of: a range of motion, or frames of your own clips.",
    "Without --from, you get the rest pose, every joint at its limits, then whole-body poses in which joints move "
    "together as in the file's clips. A joint that the clips rotate by 10 degrees or more has its limits from them; "
    "any other joint has those of the body part that its name suggests: knees and elbows bend one way, fingers curl, "
    "helpers stay.\n\nWith --from, you get the frames that reveal most about all the others.\n\nPOSES.glb is the "
    "character's own file with a single clip, one key per pose; every pose can be reached from the rest pose on a "
    "straight path.",
    run,
    1,
    1,
    {{"count", "N", "How many poses; default 240."},
     {"from", "CLIP,...", "Choose frames of these clips."},
     {"output", "POSES.glb",
      "The file to write; if the chosen frames have true positions, these go into POSES.CLIP.pc2 next to it."},
     {"limits", "FILE.json|clips|names",
      "Limits of joints in degrees, {\"knee\": {\"bend\": [0, 140]}}, or the source of all limits."},
     {"write-limits", "FILE.json", "Write the limits of all joints, to edit and pass back with --limits.", CLI_OUTPUT},
     {"choice", "telling|even|random",
      "--from: the most telling frames (default, never worse than even), evenly spaced ones, or random ones."},
     {"every", "N", "--from: consider every N-th frame."},
     {"sheet", "FILE.png", "Draw up to 48 of the poses.", CLI_OUTPUT},
     {"azimuth", "DEG", "--sheet: camera angle around the character; 0 is its front, default 25."}},
    .example = "pelt poses arm.glb --count 60 -o poses.glb --sheet poses.png",
};
