/* cmd_flesh.c: pelt flesh: examples of a character in poses, by the flesh within its skin. */

#include "cli/flesh.h"
#include "io/io.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- What is no flesh ---------------------------------------------------------------------------------------------- */

static bool named(char *const *names, size_t count, const char *name, bool *used) {
    for (size_t i = 0; name && i < count; i++)
        if (!strcmp(names[i], name)) return used[i] = true;
    return false;
}

/* Triangles of parts and materials by name. False after a message. */
static bool leave_out(const cli_args *args, const pelt_bundle *bundle, const bool **left_out) {
    const char *list = cli_value(args, "leave-out");
    const pelt_mesh *mesh = &bundle->mesh;
    size_t count = 0, at = 0;
    *left_out = NULL;
    if (!list) return true;
    char **names = cli_list(list, &count);
    bool *out = PELT_NEW(bundle->arena, mesh->triangle_count, bool), *used = PELT_NEW(bundle->arena, count, bool);
    if (!names || !out || !used) return cli_list_free(names), cli_fail("not enough memory"), false;
    for (uint32_t p = 0; p < mesh->part_count; p++) {
        const pelt_part *part = &mesh->parts[p];
        bool in_list = named(names, count, part->name, used);
        in_list = named(names, count, part->material, used) || in_list;
        for (uint32_t t = 0; t < part->triangle_count; t++) out[at++] = in_list;
    }
    size_t unused = 0;
    while (unused < count && used[unused]) unused++;
    if (unused < count) cli_fail("%s: no part or material is called \"%s\"", bundle->path, names[unused]);
    cli_list_free(names);
    *left_out = out;
    return unused == count;
}

/* -- Stiffness by region ------------------------------------------------------------------------------------------- */

/* Vertices of parts and materials of this name, or of joints as far as they weigh; whether there are any. */
static bool stiffen_region(const pelt_bundle *bundle, const char *name, double times, float *stiffness) {
    const pelt_mesh *mesh = &bundle->mesh;
    const pelt_influences *in = &mesh->influences;
    uint32_t joint = pelt_joint_named(&bundle->skeleton, name, 0);
    bool found = joint < bundle->skeleton.joint_count && in->first;
    for (uint32_t v = 0; v < mesh->vertex_count && found; v++)
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++)
            if (in->joints[i] == joint) stiffness[v] *= (float)pow(times, in->weights[i]);
    for (uint32_t p = 0, t = 0; p < mesh->part_count; t += mesh->parts[p++].triangle_count) {
        const pelt_part *part = &mesh->parts[p];
        if ((!part->name || strcmp(part->name, name)) && (!part->material || strcmp(part->material, name))) continue;
        found = true;
        for (size_t k = 3 * (size_t)t; k < 3 * ((size_t)t + part->triangle_count); k++)
            stiffness[mesh->triangles[k]] = (float)times;
    }
    return found;
}

/* Red of 0 is a tenth as stiff, of one half 1, of 1 ten times. */
static bool stiffen_by_color(const pelt_bundle *bundle, float *stiffness) {
    const float *colors = bundle->mesh.colors;
    for (size_t v = 0; colors && v < bundle->mesh.vertex_count; v++)
        stiffness[v] = (float)pow(10, 2 * (double)colors[3 * v] - 1);
    return colors || (cli_fail("%s: has no vertex colours for --stiffness colors", bundle->path), false);
}

/* --stiffness: "colors", or NAME=X,... False after a message. */
static bool find_stiffness(const cli_args *args, const pelt_bundle *bundle, const float **out) {
    const char *text = cli_value(args, "stiffness");
    if (!text) return true;
    size_t count = 0;
    char **list = cli_list(text, &count);
    float *stiffness = PELT_NEW(bundle->arena, bundle->mesh.vertex_count, float);
    bool good = list && stiffness;
    if (!good) cli_fail("not enough memory");
    for (uint32_t v = 0; good && v < bundle->mesh.vertex_count; v++) stiffness[v] = 1;
    for (size_t i = 0; good && i < count; i++) {
        char *equals = strrchr(list[i], '='), *end = equals;
        double times = equals ? strtod(equals + 1, &end) : 0;
        if (!strcmp(list[i], "colors")) {
            good = stiffen_by_color(bundle, stiffness);
            continue;
        }
        good = equals && end > equals + 1 && !*end && times > 0 && isfinite(times);
        if (!good) {
            cli_misuse(args, "--stiffness %s: expected NAME=X with X above 0, or colors", list[i]);
            break;
        }
        *equals = 0;
        good = stiffen_region(bundle, list[i], times, stiffness);
        if (!good) cli_fail("%s: no joint, part or material is called \"%s\"", bundle->path, list[i]);
    }
    cli_list_free(list);
    *out = stiffness;
    return good;
}

/* -- Figures --------------------------------------------------------------------------------------------------------- */

static json_t *figures(const cli_args *args, const pelt_bundle *bundle, const pelt_volume *v) {
    uint32_t carried = 0;
    for (uint32_t i = 0; i < v->node_count; i++) carried += v->node_bones[i] >= 0;
    cli_say(args,
            "%s: %u tetrahedra (%u cut by the skin, %u duplicated where parts lie side by side), %u nodes, %u of them "
            "on %u bones; cubes of %.4g\n",
            bundle->path, v->element_count, v->cut, v->copies, v->node_count, carried, v->bones.count, v->cell);
    cli_say(args, "  volume %.4g, that of the mesh %.4g (%+.1f%%); %u vertices embedded, %u left out\n", v->volume,
            v->mesh_volume, v->mesh_volume > 0 ? 100 * (v->volume / v->mesh_volume - 1) : 0, v->skin_count,
            bundle->mesh.vertex_count - v->skin_count);
    if (v->thin) cli_say(args, "  %u bones are thinner than the lattice, which makes them too thick\n", v->thin);
    if (v->loose) cli_say(args, "  %u pieces contain no bone and follow the nearest one\n", v->loose);
    if (v->bones.outside)
        cli_warn(args, "%s: %u bones lie outside the mesh and are left out, one of them at joint \"%s\"", bundle->path,
                 v->bones.outside, bundle->skeleton.names[v->bones.missed]);
    if (v->bare)
        cli_warn(args, "%s: %u bones contain no node of the lattice; use a finer one (--resolution)", bundle->path,
                 v->bare);
    return pelt_json_pack(
        "{tetrahedra:u, cut:u, doubled:u, nodes:u, carried:u, bones:u, bones_outside:u, bones_thin:u, "
        "bones_bare:u, pieces_loose:u, cell:f, volume:f, mesh_volume:f, embedded:u}",
        v->element_count, v->cut, v->copies, v->node_count, carried, v->bones.count, v->bones.outside, v->thin, v->bare,
        v->loose, v->cell, v->volume, v->mesh_volume, v->skin_count);
}

/* -- The command ----------------------------------------------------------------------------------------------------- */

/* The clips to make: as many as are named, each of one clip that poses come from; otherwise one of all. */
static bool name_clips(const cli_args *args, flesh_order *o, pelt_examples frames, size_t clip_count) {
    size_t count = 0;
    const char *names = cli_value(args, "as");
    char **list = cli_list(names ? names : "flesh", &count);
    flesh_clip *clips = PELT_NEW(o->bundle->arena, count, flesh_clip);
    if (!list || !clips) return cli_list_free(list), cli_fail("not enough memory"), false;
    if (count != 1 && count != clip_count)
        return cli_list_free(list),
               cli_misuse(args, "--as has %zu names, but there are %zu clips of poses", count, clip_count), false;
    size_t at = 0;
    for (size_t c = 0; c < count; c++) {
        clips[c] = (flesh_clip){pelt_arena_format(o->bundle->arena, "%s", list[c]), at, 0};
        const pelt_clip *clip = frames.list[at].clip;
        while (at < frames.count && (count == 1 || frames.list[at].clip == clip)) at++, clips[c].count++;
    }
    cli_list_free(list);
    o->clips = clips, o->clip_count = count;
    return true;
}

/* Frames of the file's clips, or of those of --poses. False after a message. */
static bool find_poses(const cli_args *args, flesh_order *o, pelt_bundle *from) {
    const pelt_clip **clips;
    size_t clip_count, joints = o->bundle->skeleton.joint_count;
    pelt_examples frames;
    const char *names = cli_value(args, "clip");
    bool against = cli_value(args, "against");
    if (from->skeleton.joint_count != joints)
        return cli_fail("%s: has %u joints, but %s has %zu; take poses from the same skeleton", from->path,
                        from->skeleton.joint_count, o->bundle->path, joints),
               false;
    if (against && from->mesh.vertex_count != o->bundle->mesh.vertex_count)
        return cli_fail("%s: has %u vertices, but %s has %u; --against needs the same mesh", from->path,
                        from->mesh.vertex_count, o->bundle->path, o->bundle->mesh.vertex_count),
               false;
    if (!names && !from->clip_count) return cli_fail("%s: has no clip; `pelt poses` makes one", from->path), false;
    if (!cli_clips(from, names ? names : from->clips[0]->name, against ? PELT_NEED_POSITIONS : PELT_NEED_POSE, &clips,
                   &clip_count) ||
        !cli_examples(args, from, clips, clip_count, &frames))
        return false;
    pelt_transform *poses = PELT_NEW(o->bundle->arena, frames.count * joints, pelt_transform);
    if (!poses) return cli_fail("not enough memory"), false;
    for (size_t i = 0; i < frames.count; i++)
        pelt_clip_pose(frames.list[i].clip, &from->skeleton, frames.list[i].frame, poses + i * joints);
    o->frame_count = frames.count, o->poses = poses;
    if (against) o->truth = frames;
    return name_clips(args, o, frames, clip_count);
}

static int solve(const cli_args *args, flesh_order *o, json_t *object) {
    pelt_error error;
    const char *path = cli_value(args, "poses");
    o->output = cli_value(args, "output"), o->fat = 0.3, o->resume = cli_value(args, "resume") != NULL;
    o->poisson = 0.45, o->no_contact = cli_value(args, "no-contact") != NULL;
    if (!cli_amount(args, "fat", &o->fat) || !cli_amount(args, "poisson", &o->poisson)) return CLI_MISUSE;
    o->skin = 10;
    if (!cli_amount(args, "skin", &o->skin) || !cli_amount(args, "skin-depth", &o->skin_depth)) return CLI_MISUSE;
    if (cli_value(args, "skin") && !o->skin_depth)
        return cli_misuse(args, "--skin sets the stiffness of a skin: give its thickness too, with --skin-depth");
    if (o->poisson > 0.49) return cli_misuse(args, "--poisson must be at most 0.49, not %g", o->poisson);
    pelt_bundle *from = path ? pelt_bundle_read(path, &error) : o->bundle;
    if (!from) return cli_error(&error);
    int code = find_poses(args, o, from) ? flesh_run(args, o, object) : CLI_FAILED;
    if (path) pelt_bundle_free(from);
    return code;
}

static int build(const cli_args *args, pelt_bundle *bundle, pelt_volume_options *options) {
    pelt_error error;
    pelt_volume volume;
    const char *picture = cli_value(args, "show"), *saved = cli_value(args, "save-bones");
    if (!cli_amount(args, "fat-depth", &options->fat_depth)) return CLI_MISUSE;
    if (!leave_out(args, bundle, &options->left_out) || !find_stiffness(args, bundle, &options->stiffness))
        return CLI_FAILED;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    if (pelt_volume_build(arena, bundle, options, &volume, &error)) return cli_error(&error);
    json_t *object = figures(args, bundle, &volume);
    if ((picture && flesh_show(bundle, &volume, picture, &error)) ||
        (saved && flesh_save_bones(bundle, &volume.bones, saved, &error)))
        return json_decref(object), cli_error(&error);
    if (picture) cli_say(args, "%s: the body cut open, with its bones and its lattice\n", picture);
    if (saved) cli_say(args, "%s: %u bones, to edit and pass to --bones\n", saved, volume.bones.count);
    if (!cli_value(args, "output")) return cli_print_json(args, object);
    int code = solve(args, &(flesh_order){.bundle = bundle, .volume = &volume}, object);
    json_decref(object);
    return code;
}

/* With the bones of a file, if there is one. */
static int build_on_bones(const cli_args *args, pelt_bundle *bundle, uint32_t tetrahedra) {
    pelt_error error;
    pelt_bone_surfaces surfaces;
    pelt_volume_options options = {.threads = args->threads};
    const char *path = cli_value(args, "bones");
    if (tetrahedra && bundle->mesh.triangle_count) options.cell = pelt_volume_cell(&bundle->mesh, tetrahedra);
    if (!path) return build(args, bundle, &options);
    pelt_bundle *bones = pelt_bundle_read(path, &error);
    if (!bones) return cli_error(&error);
    options.bones = &surfaces;
    int code = flesh_read_bones(bundle, bones, &surfaces) ? build(args, bundle, &options) : CLI_FAILED;
    pelt_bundle_free(bones);
    return code;
}

static int run(const cli_args *args) {
    pelt_error error;
    uint32_t tetrahedra = 0;
    const char *picture = cli_value(args, "show"), *output = cli_value(args, "output");
    const char *saved = cli_value(args, "save-bones");
    if (!picture && !output && !saved) return cli_misuse(args, "-o BUNDLE.glb is missing: name the file to write");
    if (saved && !pelt_is_gltf(saved)) return cli_misuse(args, "--save-bones writes a .glb or .gltf, not %s", saved);
    if (picture && !pelt_ends_with(picture, ".png")) return cli_misuse(args, "--show writes a .png, not %s", picture);
    if (output && !pelt_is_gltf(output)) return cli_misuse(args, "-o writes a .glb or .gltf, not %s", output);
    if (!cli_count(args, "resolution", &tetrahedra)) return CLI_MISUSE;
    pelt_bundle *bundle = cli_bundle(args, args->inputs[0], &error);
    int code = bundle ? build_on_bones(args, bundle, tetrahedra) : cli_error(&error);
    pelt_bundle_free(bundle);
    return code;
}

const cli_command cli_flesh = {
    "flesh",
    "CHARACTER.glb [--poses POSES.glb] -o BUNDLE.glb",
    "Makes examples of a character by simulating flesh with finite elements, on rigid bones inside its skin.",
    "Bones are capsules from joint to joint, as thick as the skin around them allows. The skin may be open, intersect "
    "itself and have many parts: winding numbers decide what is inside. Fingers side by side do not stick together. "
    "Every pose is solved on its own and kept in BUNDLE.glb.poses/ until all are done. Poses that the flesh cannot "
    "reach are left out and reported. Vertices outside the flesh follow the linear blend.",
    run,
    1,
    1,
    {{"output", "BUNDLE.glb",
      "The character with a single clip, \"flesh\"; its shapes go into BUNDLE.flesh.pc2 next to it."},
     {"poses", "POSES.glb", "Take poses from the clips of this file, such as one that `pelt poses` wrote.", CLI_INPUT},
     {"clip", "CLIP,...", "Clips to take poses from; default the first."},
     {"every", "N", "Take every N-th frame."},
     {"as", "NAME,...",
      "Names of the clips to make, one per clip of poses; default: all poses in one clip, \"flesh\"."},
     {"against", NULL,
      "Compare with the true positions in the clips of poses: rms, and rel_err (1 is the linear blend)."},
     {"resume", NULL, "Continue an interrupted run."},
     {"show", "FILE.png", "Draw the body cut open, with its bones and the lattice.", CLI_OUTPUT},
     {"bones", "BONES.glb",
      "Meshes of bones, each bound or parented to a joint; default: capsules from joint to joint.", CLI_INPUT},
     {"save-bones", "BONES.glb", "Write the bones as meshes, to edit in a modeller and pass back with --bones.",
      CLI_OUTPUT},
     {"resolution", "N", "Approximate number of tetrahedra; default 30000."},
     {"fat", "X", "Stiffness of fat, where muscle is 1; default 0.3."},
     {"poisson", "X", "Poisson's ratio, how well flesh keeps its volume; at most 0.49, default 0.45."},
     {"no-contact", NULL, "Let limbs that touch pass through each other."},
     {"fat-depth", "LENGTH", "Depth of fat below the skin; default 0, no fat."},
     {"skin-depth", "LENGTH", "Thickness of a skin over the flesh that stretches and bends; default: no such skin."},
     {"skin", "X", "--skin-depth: stiffness of that skin, where muscle is 1; default 10."},
     {"stiffness", "NAME=X,...",
      "Make flesh X times as stiff below a part or material, or around a joint; \"colors\" takes the factor from the "
      "red of vertex colours, from 0 (a tenth) to 1 (ten times)."},
     {"leave-out", "NAME,...", "Parts or materials that are not flesh, such as clothes and eyes."}},
    .example = "pelt flesh arm.glb --clip test --every 20 -o flesh.glb",
};
