/* doubt_regions.c: the regions of a confidence: the vertices that follow a joint that the examples move, small ones
   joined with those above them; and the joints that matter to each, by blend weights and by the skeleton. */

#include "fit/confidence/confidence.h"
#include "fit/examples/poses.h"
#include "rig/regions.h"
#include <math.h>

enum { MOST_REGIONS = 24, MOST_JOINTS = 8, MOST_CONTROLS = 4 };

static const double LEAST_WEIGHT = 0.01; /* of a region's blend weight, for a joint to matter by it */
static const double BESIDE = 1e-3;       /* what a neighbour in the skeleton counts */

typedef struct grouping {
    const pelt_fitting *f;
    const pelt_skeleton *skeleton;
    pelt_poses poses;
    bool *drives;        /* [joint] the examples move it, and it follows no other */
    uint32_t *owner;     /* [joint] the joint whose region its vertices are in */
    uint32_t *sizes;     /* [joint] vertices of the region of this joint */
    uint32_t *region;    /* [joint] index of its region */
    uint32_t *of_vertex; /* [vertex] the joint it follows */
} grouping;

/* The joint itself, or the nearest above, that drives; UINT32_MAX if there is none. */
static uint32_t driver_above(const grouping *g, uint32_t joint) {
    int32_t j = (int32_t)joint;
    while (j >= 0 && !g->drives[j]) j = g->skeleton->parents[j];
    return j >= 0 ? (uint32_t)j : UINT32_MAX;
}

/* By the file's weights, like the regions of a measure; by the model's where the file has none. */
static uint32_t joint_of_vertex(const pelt_fitting *f, uint32_t v) {
    uint32_t joint = pelt_dominant_joint(&f->bundle->mesh.influences, v);
    if (joint == PELT_NO_REGION) joint = pelt_dominant_joint(&f->model.influences, v);
    if (joint == PELT_NO_REGION) return 0;
    uint32_t joints = f->bundle->skeleton.joint_count;
    return joint < joints ? joint : f->model.driven[joint - joints].host;
}

/* The region that a small one is joined with: the nearest above it, or the largest of all. */
static uint32_t region_above(const grouping *g, uint32_t joint) {
    for (int32_t j = g->skeleton->parents[joint]; j >= 0; j = g->skeleton->parents[j])
        if (g->sizes[j]) return (uint32_t)j;
    uint32_t best = joint;
    for (uint32_t j = 0; j < g->skeleton->joint_count; j++)
        if (j != joint && g->sizes[j] && (best == joint || g->sizes[j] > g->sizes[best])) best = j;
    return best;
}

static void join_small(grouping *g) {
    uint32_t joints = g->skeleton->joint_count, count = 0;
    for (uint32_t j = 0; j < joints; j++) count += g->sizes[j] > 0;
    for (; count > MOST_REGIONS; count--) {
        uint32_t least = UINT32_MAX;
        for (uint32_t j = 0; j < joints; j++)
            if (g->sizes[j] && (least == UINT32_MAX || g->sizes[j] < g->sizes[least])) least = j;
        uint32_t above = region_above(g, least);
        g->sizes[above] += g->sizes[least], g->sizes[least] = 0;
        for (uint32_t j = 0; j < joints; j++)
            if (g->owner[j] == least) g->owner[j] = above;
    }
}

static void find_regions(grouping *g, pelt_arena *arena, pelt_doubt_model *model) {
    uint32_t joints = g->skeleton->joint_count;
    for (uint32_t j = 0; j < joints; j++) g->owner[j] = j;
    for (uint32_t v = 0; v < model->vertex_count; v++) {
        uint32_t joint = joint_of_vertex(g->f, v), above = driver_above(g, joint);
        g->of_vertex[v] = above == UINT32_MAX ? joint : above;
        g->sizes[g->of_vertex[v]]++;
    }
    join_small(g);
    model->regions = PELT_NEW(arena, MOST_REGIONS, pelt_doubt_region);
    for (uint32_t j = 0; j < joints; j++) {
        if (!g->sizes[j]) continue;
        g->region[j] = model->region_count;
        model->regions[model->region_count++] = (pelt_doubt_region){.joint = j, .vertex_count = g->sizes[j]};
    }
    for (uint32_t v = 0; v < model->vertex_count; v++)
        model->vertices[v] = (uint8_t)g->region[g->owner[g->of_vertex[v]]];
}

/* -- What drives them ---------------------------------------------------------------------------------------------- */

/* By the blend: scores[region][joint] of the joints that drive. */
static void score_weights(const grouping *g, const pelt_doubt_model *model, double *scores) {
    const pelt_influences *in = &g->f->model.influences;
    uint32_t joints = g->skeleton->joint_count;
    for (uint32_t v = 0; v < model->vertex_count; v++)
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            uint32_t joint = in->joints[i] < joints ? in->joints[i] : g->f->model.driven[in->joints[i] - joints].driver;
            uint32_t driver = driver_above(g, joint);
            if (driver != UINT32_MAX)
                scores[(size_t)model->vertices[v] * joints + driver] +=
                    fabs(in->weights[i]) / model->regions[model->vertices[v]].vertex_count;
        }
    for (size_t i = 0; i < (size_t)model->region_count * joints; i++)
        if (scores[i] < LEAST_WEIGHT) scores[i] = 0;
}

/* Joints that drive next to those of a region. */
static void score_neighbors(const grouping *g, double *scores) {
    uint32_t joints = g->skeleton->joint_count;
    for (uint32_t j = 0; j < joints; j++) {
        int32_t parent = g->skeleton->parents[j];
        uint32_t above = parent >= 0 ? driver_above(g, (uint32_t)parent) : UINT32_MAX;
        if (!g->drives[j]) continue;
        if (g->sizes[g->owner[j]]) scores[(size_t)g->region[g->owner[j]] * joints + j] += BESIDE;
        if (above == UINT32_MAX) continue;
        if (g->sizes[g->owner[j]]) scores[(size_t)g->region[g->owner[j]] * joints + above] += BESIDE;
        if (g->sizes[g->owner[above]]) scores[(size_t)g->region[g->owner[above]] * joints + j] += BESIDE;
    }
}

/* The index of an input, which is added if it is new; PELT_DOUBT_INPUTS: there is no room. */
static uint32_t input_of(pelt_doubt_model *model, uint32_t source, float scale) {
    for (uint32_t i = 0; i < model->input_count; i++)
        if (model->inputs[i].source == source) return i;
    if (model->input_count == PELT_DOUBT_INPUTS) return PELT_DOUBT_INPUTS;
    model->inputs[model->input_count] = (pelt_file_doubt_input){source, scale};
    return model->input_count++;
}

static void add_input(pelt_doubt_model *model, pelt_doubt_region *region, uint32_t source, float scale) {
    uint32_t input = input_of(model, source, scale);
    if (input < PELT_DOUBT_INPUTS) region->inputs[region->input_count++] = input;
}

static void choose_inputs(const grouping *g, pelt_arena *arena, double *scores, pelt_doubt_model *model) {
    uint32_t joints = g->skeleton->joint_count;
    bool has_controls = g->f->model.corrective && g->f->model.control_count;
    for (uint32_t r = 0; r < model->region_count; r++) {
        pelt_doubt_region *region = &model->regions[r];
        double *own = scores + (size_t)r * joints;
        region->inputs = PELT_NEW(arena, MOST_JOINTS + MOST_CONTROLS, uint32_t);
        while (region->input_count < MOST_JOINTS) {
            uint32_t best = 0;
            for (uint32_t j = 1; j < joints; j++)
                if (own[j] > own[best]) best = j;
            if (own[best] <= 0) break;
            own[best] = 0;
            add_input(model, region, best, 1);
        }
        for (uint32_t c = 0; has_controls && c < g->f->model.control_count && c < MOST_CONTROLS; c++)
            add_input(model, region, joints + c, g->f->model.controls[c].scale);
    }
}

void pelt_doubt_regions(const pelt_fitting *f, pelt_arena *arena, pelt_doubt_model *model) {
    PELT_SCOPED pelt_arena *work = pelt_arena_inside(arena);
    uint32_t joints = f->bundle->skeleton.joint_count;
    *model = (pelt_doubt_model){.vertex_count = f->model.vertex_count,
                                .vertices = PELT_NEW(arena, f->model.vertex_count, uint8_t),
                                .inputs = PELT_NEW(arena, PELT_DOUBT_INPUTS, pelt_file_doubt_input)};
    grouping g = {.f = f,
                  .skeleton = &f->bundle->skeleton,
                  .drives = PELT_NEW(work, joints, bool),
                  .owner = PELT_NEW(work, joints, uint32_t),
                  .sizes = PELT_NEW(work, joints, uint32_t),
                  .region = PELT_NEW(work, joints, uint32_t),
                  .of_vertex = PELT_NEW(work, f->model.vertex_count, uint32_t)};
    pelt_poses_of(work, f->bundle, f->examples, &f->options, &g.poses);
    for (uint32_t m = 0; m < g.poses.mover_count; m++)
        for (uint32_t i = 0; i < g.poses.movers[m].count; i++)
            g.drives[g.poses.members[g.poses.movers[m].first + i]] = true;
    find_regions(&g, arena, model);
    double *scores = PELT_NEW(work, (size_t)model->region_count * joints, double);
    score_weights(&g, model, scores);
    score_neighbors(&g, scores);
    choose_inputs(&g, arena, scores, model);
}
