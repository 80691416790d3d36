/* plain.c: a skin as plain nodes, weights and tracks.

   A driven joint becomes a node whose motion is baked frame by frame. Nodes can rotate, translate, and scale along
   their own axes, so a node gets a frame F in which its motion is just that: for rotations, the model's axes at the
   joint's position; for bulges, an axis along the bulge's direction, where scaling across the bone is exact. With F^-1
   as its inverse bind matrix, the node is at T F; its parent is the joint relative to which it moves least.

   Weights of any sign become weights from 0 to 1 on nodes that extrapolate joints (extrapolate.c). Such a node shears, so it
   takes two: with A = U S V^T the linear part of its transform under its parent, the first rotates by U and scales by
   S, and the second rotates by V^T. */

#include "plain/plain.h"
#include "plain/extrapolate.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

static const double orthogonal = 1e-10; /* columns, of the sum of their squares: Jacobi's turns end here */
static const double collapsed = 1e-12;  /* a column, of the longest one: its direction means nothing */
static const float constant = 1e-7f;    /* of a track, or of the diagonal: such a track needs no keys */

typedef struct making {
    pelt_arena *arena;
    const pelt_model *model;
    const pelt_bundle *bundle;
    pelt_plain *plain;
    pelt_extrapolation pairs;
    uint32_t node_count;         /* baked nodes: driven joints, then two per pair */
    pelt_affine *frames;         /* [driven, pair] F */
    double (*axes)[2][9];        /* [pair] U and V of the previous frame, row-major */
    pelt_transform *baked;       /* [node] a pose */
    pelt_transform *locals;      /* [bundle joint] a pose */
    pelt_transform *skin_locals; /* [joint] the same for the skin's joints */
    pelt_affine *globals, *matrices;
    uint32_t *joint_of; /* [bundle joint] joint of the skin, UINT32_MAX: none */
} making;

/* -- Nodes --------------------------------------------------------------------------------------------------------- */

static void make_unit(double v[3]) {
    double length = pelt_length(v);
    for (int r = 0; r < 3; r++) v[r] /= length;
}

/* Any direction perpendicular to a unit vector. */
static void across(const double unit[3], double out[3]) {
    int least = fabs(unit[1]) < fabs(unit[0]) ? 1 : 0;
    if (fabs(unit[2]) < fabs(unit[least])) least = 2;
    for (int r = 0; r < 3; r++) out[r] = (r == least) - unit[least] * unit[r];
    make_unit(out);
}

static pelt_affine frame_of(const pelt_driven *d) {
    pelt_affine f = pelt_identity;
    for (int i = 0; i < 3; i++) f.m[4 * i + 3] = d->origin[i];
    if (d->kind != PELT_DRIVEN_BULGE && d->kind != PELT_DRIVEN_DENT) return f;
    double a[3] = {d->axis[0], d->axis[1], d->axis[2]}, b[3], c[3];
    across(a, b), pelt_cross(a, b, c);
    for (int i = 0; i < 3; i++) f.m[4 * i] = a[i], f.m[4 * i + 1] = b[i], f.m[4 * i + 2] = c[i];
    return f;
}

/* -- Any affine map as two nodes ----------------------------------------------------------------------------------- */

/* Rotates the axes V (Jacobi) until A^T A is diagonal in them. They start from the previous frame's and rotate no
   further than necessary, so that tracks are smooth; off-diagonal rounding errors are ignored. */
static void turn_axes(const double a[9], double v[9]) {
    for (int sweep = 0; sweep < 30; sweep++) {
        bool turned = false;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                double x[3], y[3];
                for (int r = 0; r < 3; r++) {
                    x[r] = a[3 * r] * v[p] + a[3 * r + 1] * v[3 + p] + a[3 * r + 2] * v[6 + p];
                    y[r] = a[3 * r] * v[q] + a[3 * r + 1] * v[3 + q] + a[3 * r + 2] * v[6 + q];
                }
                double xx = pelt_dot(x, x), yy = pelt_dot(y, y), xy = pelt_dot(x, y);
                if (!(fabs(xy) > orthogonal * (xx + yy))) continue;
                double tau = (yy - xx) / (2 * xy), t = copysign(1, tau) / (fabs(tau) + sqrt(1 + tau * tau));
                double c = 1 / sqrt(1 + t * t), s = c * t;
                for (int r = 0; r < 3; r++) {
                    double vp = v[3 * r + p], vq = v[3 * r + q];
                    v[3 * r + p] = c * vp - s * vq, v[3 * r + q] = s * vp + c * vq;
                }
                turned = true;
            }
        if (!turned) return;
    }
}

/* A V = U S: the columns of U are those of A V, orthonormalised longest first, and right-handed. They keep the signs of
   the previous frame in `u` (zero: none), so a scale may pass through 0 and become negative. */
static void stretch_of(const double a[9], const double v[9], double u[9], double scale[3]) {
    double column[3][3], unit[3][3], length[3];
    for (int k = 0; k < 3; k++) {
        for (int r = 0; r < 3; r++) column[k][r] = a[3 * r] * v[k] + a[3 * r + 1] * v[3 + k] + a[3 * r + 2] * v[6 + k];
        length[k] = pelt_length(column[k]);
    }
    int i = length[1] > length[0] ? 1 : 0;
    if (length[2] > length[i]) i = 2;
    int j = (i + 1) % 3, k = (i + 2) % 3;
    bool swapped = length[k] > length[j];
    if (swapped) j = (i + 2) % 3, k = (i + 1) % 3;
    for (int r = 0; r < 3; r++) unit[i][r] = length[i] > 0 ? column[i][r] / length[i] : r == i;
    double along = pelt_dot(unit[i], column[j]);
    for (int r = 0; r < 3; r++) unit[j][r] = column[j][r] - along * unit[i][r];
    if (pelt_length(unit[j]) > collapsed * length[i])
        make_unit(unit[j]);
    else
        across(unit[i], unit[j]);
    for (int c = i, round = 0; round < 2; c = j, round++)
        if (unit[c][0] * u[c] + unit[c][1] * u[3 + c] + unit[c][2] * u[6 + c] < 0)
            for (int r = 0; r < 3; r++) unit[c][r] = -unit[c][r];
    pelt_cross(unit[i], unit[j], unit[k]);
    for (int r = 0; r < 3 && swapped; r++) unit[k][r] = -unit[k][r];
    for (int c = 0; c < 3; c++) {
        scale[c] = pelt_dot(unit[c], column[c]);
        for (int r = 0; r < 3; r++) u[3 * r + c] = unit[c][r];
    }
}

static pelt_transform turned(const double rotation[9]) {
    pelt_affine a = pelt_identity;
    pelt_transform out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) a.m[4 * r + c] = rotation[3 * r + c];
    pelt_affine_split(&a, &out);
    for (int i = 0; i < 3; i++) out.scale[i] = 1;
    return out;
}

/* out[0] rotates and scales, its child out[1] rotates; `u` and `v` hold those of the previous frame and are updated.
   Returns the largest error of any matrix element. */
static double split_in_two(const pelt_affine *map, double u[9], double v[9], pelt_transform out[2]) {
    double a[9], back[9], scale[3], worst = 0;
    for (int i = 0; i < 9; i++) a[i] = map->m[4 * (i / 3) + i % 3];
    turn_axes(a, v);
    stretch_of(a, v, u, scale);
    for (int i = 0; i < 9; i++) back[i] = v[3 * (i % 3) + i / 3];
    out[0] = turned(u), out[1] = turned(back);
    for (int i = 0; i < 3; i++) out[0].scale[i] = (float)scale[i], out[0].translation[i] = (float)map->m[4 * i + 3];
    pelt_affine first = pelt_affine_of(&out[0]), second = pelt_affine_of(&out[1]);
    first = pelt_affine_multiply(&first, &second);
    for (int i = 0; i < 12; i++) worst = fmax(worst, fabs(first.m[i] - map->m[i]));
    return worst;
}

/* -- Baked nodes --------------------------------------------------------------------------------------------------- */

/* The transform of a node under its parent, in the pose given by `globals` and `matrices`. */
static pelt_affine under_parent(const making *m, uint32_t node, const pelt_affine *matrix, const pelt_affine *frame) {
    int32_t parent = m->plain->skeleton.parents[m->model->skeleton->joint_count + node];
    pelt_affine out = pelt_affine_multiply(matrix, frame), inverse;
    if (parent >= 0 && pelt_affine_invert(&m->globals[parent], &inverse)) out = pelt_affine_multiply(&inverse, &out);
    return out;
}

static pelt_affine pair_matrix(const making *m, const pelt_extrapolated *pair) {
    const double *ahead = m->matrices[pair->ahead].m, *behind = m->matrices[pair->behind].m;
    pelt_affine out;
    for (int i = 0; i < 12; i++) out.m[i] = ahead[i] + pair->reach * (ahead[i] - behind[i]);
    return out;
}

/* Sets `baked` for a pose of the skin's joints. */
static void pose(making *m, const pelt_transform *locals) {
    uint32_t joints = m->model->skeleton->joint_count, driven = m->model->driven_count;
    pelt_joint_matrices(m->model->skeleton, locals, m->globals, m->matrices);
    pelt_driven_matrices(m->model, m->matrices);
    for (uint32_t i = 0; i < driven; i++) {
        pelt_affine node = under_parent(m, i, &m->matrices[joints + i], &m->frames[i]);
        m->plain->worst = fmax(m->plain->worst, pelt_affine_split(&node, &m->baked[i]));
    }
    for (uint32_t i = 0; i < m->pairs.count; i++) {
        uint32_t node = driven + 2 * i;
        pelt_affine matrix = pair_matrix(m, &m->pairs.list[i]);
        pelt_affine local = under_parent(m, node, &matrix, &m->frames[driven + i]);
        m->plain->worst = fmax(m->plain->worst, split_in_two(&local, m->axes[i][0], m->axes[i][1], &m->baked[node]));
    }
}

static void reset_axes(making *m) {
    for (uint32_t i = 0; i < m->pairs.count; i++)
        for (int k = 0; k < 9; k++) m->axes[i][0][k] = 0, m->axes[i][1][k] = k % 4 == 0;
}

static int32_t parent_of_driven(const pelt_driven *d) {
    bool bulges = d->kind == PELT_DRIVEN_BULGE || d->kind == PELT_DRIVEN_DENT;
    return bulges ? (int32_t)d->host : d->parent;
}

static void add_driven_node(making *m, uint32_t i) {
    const pelt_driven *d = &m->model->driven[i];
    pelt_skeleton *to = &m->plain->skeleton;
    uint32_t node = m->model->skeleton->joint_count + i;
    pelt_affine inverse;
    m->frames[i] = frame_of(d);
    pelt_affine_invert(&m->frames[i], &inverse);
    memcpy(to->inverse_bind[node], inverse.m, sizeof inverse.m);
    to->names[node] = m->model->driven_names[i];
    to->parents[node] = parent_of_driven(d);
}

/* The two nodes of a pair are children of its joint ahead, at its rest position. */
static void add_pair_nodes(making *m, uint32_t i) {
    const pelt_extrapolated *pair = &m->pairs.list[i];
    const pelt_skeleton *from = m->model->skeleton;
    pelt_skeleton *to = &m->plain->skeleton;
    uint32_t joints = from->joint_count, node = joints + m->model->driven_count + 2 * i;
    pelt_affine *frame = &m->frames[m->model->driven_count + i], inverse;
    *frame = pelt_identity;
    if (pair->ahead < joints) {
        memcpy(inverse.m, from->inverse_bind[pair->ahead], sizeof inverse.m);
        pelt_affine bind;
        pelt_affine_invert(&inverse, &bind);
        for (int r = 0; r < 3; r++) frame->m[4 * r + 3] = bind.m[4 * r + 3];
        to->parents[node] = (int32_t)pair->ahead;
    } else {
        const pelt_driven *d = &m->model->driven[pair->ahead - joints];
        for (int r = 0; r < 3; r++) frame->m[4 * r + 3] = d->origin[r];
        to->parents[node] = parent_of_driven(d);
    }
    to->parents[node + 1] = (int32_t)node;
    pelt_affine_invert(frame, &inverse);
    for (uint32_t k = node; k < node + 2; k++) memcpy(to->inverse_bind[k], inverse.m, sizeof inverse.m);
    to->names[node] =
        pelt_arena_format(m->arena, "%s beyond %s %g", to->names[pair->ahead], to->names[pair->behind], pair->reach);
    to->names[node + 1] = pelt_arena_format(m->arena, "%s beyond %s %g, turned", to->names[pair->ahead],
                                            to->names[pair->behind], pair->reach);
}

static pelt_result make_skeleton(making *m, pelt_error *error) {
    const pelt_skeleton *from = m->model->skeleton;
    pelt_skeleton *to = &m->plain->skeleton;
    uint32_t joints = from->joint_count, driven = m->model->driven_count, n = joints + m->node_count;
    *to = (pelt_skeleton){.joint_count = n,
                          .names = PELT_NEW(m->arena, n, const char *),
                          .parents = PELT_NEW(m->arena, n, int32_t),
                          .rest = PELT_NEW(m->arena, n, pelt_transform),
                          .inverse_bind = pelt_alloc(m->arena, n, sizeof *to->inverse_bind)};
    m->frames = PELT_NEW(m->arena, (size_t)driven + m->pairs.count, pelt_affine);
    m->axes = pelt_alloc(m->arena, m->pairs.count, sizeof *m->axes);
    m->baked = PELT_NEW(m->arena, m->node_count, pelt_transform);
    m->globals = PELT_NEW(m->arena, joints, pelt_affine);
    m->matrices = PELT_NEW(m->arena, (size_t)joints + driven, pelt_affine);
    if (pelt_arena_failed(m->arena)) return pelt_no_memory(error);
    memcpy(to->names, from->names, joints * sizeof *to->names);
    memcpy(to->parents, from->parents, joints * sizeof *to->parents);
    memcpy(to->rest, from->rest, joints * sizeof *to->rest);
    memcpy(to->inverse_bind, from->inverse_bind, joints * sizeof *to->inverse_bind);
    for (uint32_t i = 0; i < driven; i++) add_driven_node(m, i);
    for (uint32_t i = 0; i < m->pairs.count; i++) add_pair_nodes(m, i);
    if (pelt_arena_failed(m->arena)) return pelt_no_memory(error);
    reset_axes(m);
    pose(m, from->rest);
    memcpy(to->rest + joints, m->baked, m->node_count * sizeof *to->rest);
    return PELT_OK;
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

/* Nodes may share a name, such as a bone and the mesh on it: those of the same number are the same. */
static void match_joints(making *m) {
    const pelt_skeleton *skin = m->model->skeleton, *bundle = &m->bundle->skeleton;
    for (uint32_t j = 0; j < bundle->joint_count; j++) {
        m->joint_of[j] = pelt_joint_named(skin, bundle->names[j], j);
        if (m->joint_of[j] == skin->joint_count) m->joint_of[j] = UINT32_MAX;
    }
}

/* The nodes in a clip, sampled at its frames, and twice in between if tracks of pairs are cubic. */
typedef struct baking {
    const pelt_clip *clip;
    uint32_t steps; /* samples per frame, 1 or THIRDS */
    uint32_t sample_count;
    pelt_interpolation plain; /* of driven joints */
    float *samples[3];        /* [path] [node][sample][size] */
} baking;

enum { THIRDS = 3 };

static size_t path_size(int path) { return path == PELT_ROTATION ? 4 : 3; }

static float *samples_of(const baking *b, int path, uint32_t node) {
    return b->samples[path] + (size_t)node * b->sample_count * path_size(path);
}

static float sample_time(const baking *b, uint32_t sample) {
    uint32_t f = sample / b->steps, part = sample % b->steps;
    const float *times = b->clip->times + f;
    return part ? times[0] + (times[1] - times[0]) * (float)part / (float)b->steps : times[0];
}

/* Of q and -q, keeps the quaternion closer to the previous one. */
static void keep_sample(const baking *b, uint32_t node, uint32_t sample, const pelt_transform *t) {
    float *q = samples_of(b, PELT_ROTATION, node) + 4 * (size_t)sample, turn = 0;
    for (int c = 0; c < 4; c++) turn += sample ? t->rotation[c] * q[c - 4] : 0;
    for (int c = 0; c < 4; c++) q[c] = turn < 0 ? -t->rotation[c] : t->rotation[c];
    memcpy(samples_of(b, PELT_TRANSLATION, node) + 3 * (size_t)sample, t->translation, sizeof t->translation);
    memcpy(samples_of(b, PELT_SCALE, node) + 3 * (size_t)sample, t->scale, sizeof t->scale);
}

static void bake(making *m, const baking *b) {
    const pelt_skeleton *bundle = &m->bundle->skeleton;
    reset_axes(m);
    for (uint32_t s = 0; s < b->sample_count; s++) {
        pelt_clip moment = *b->clip;
        float time = sample_time(b, s);
        moment.times = &time;
        pelt_clip_pose(&moment, bundle, 0, m->locals);
        for (uint32_t j = 0; j < bundle->joint_count; j++)
            if (m->joint_of[j] != UINT32_MAX) m->skin_locals[m->joint_of[j]] = m->locals[j];
        pose(m, m->skin_locals);
        for (uint32_t i = 0; i < m->node_count; i++) keep_sample(b, i, s, &m->baked[i]);
    }
}

/* True when all samples equal the node's rest value. */
static bool is_still(const float *samples, const float *rest, uint32_t count, size_t size, float tolerance) {
    for (size_t i = 0; i < count * size; i++)
        if (!(fabsf(samples[i] - rest[i % size]) <= tolerance)) return false;
    return true;
}

/* One key for each frame. */
static void plain_keys(const baking *b, const float *samples, size_t size, float *keys) {
    for (size_t f = 0; f < b->clip->frame_count; f++)
        memcpy(keys + f * size, samples + f * b->steps * size, size * sizeof *keys);
}

/* glTF's cubic splines: tangent before, value, tangent after. Between two frames the curve passes through both samples
   there: a cubic x(u), u from 0 to 1, has the slopes

       x'(0) = (-11 x(0) + 18 x(1/3) - 9 x(2/3) + 2 x(1)) / 2,    x'(1) = (-2 x(0) + 9 x(1/3) - 18 x(2/3) + 11 x(1)) / 2 */
static void cubic_keys(const baking *b, const float *samples, size_t size, float *keys) {
    for (size_t f = 0; f < b->clip->frame_count; f++)
        for (size_t c = 0; c < size; c++) {
            const float *x = samples + f * THIRDS * size + c;
            float *key = keys + f * 3 * size + c, *next = key + 3 * size;
            key[size] = x[0];
            if (f + 1 == b->clip->frame_count) continue;
            double time = (double)b->clip->times[f + 1] - b->clip->times[f];
            double from = -11.0 * x[0] + 18.0 * x[size] - 9.0 * x[2 * size] + 2.0 * x[3 * size];
            double to = -2.0 * x[0] + 9.0 * x[size] - 18.0 * x[2 * size] + 11.0 * x[3 * size];
            key[2 * size] = (float)(from / (2 * time)), next[0] = (float)(to / (2 * time));
        }
}

/* The track of one property of a node; without keys if it is constant, or if the arena has failed. */
static pelt_channel track_of(making *m, const baking *b, uint32_t node, int path) {
    uint32_t joint = m->model->skeleton->joint_count + node;
    const pelt_transform *rest = &m->plain->skeleton.rest[joint];
    const float *still[] = {rest->translation, rest->rotation, rest->scale}, *samples = samples_of(b, path, node);
    float tolerance = path == PELT_TRANSLATION ? constant * m->bundle->mesh.diagonal : constant;
    bool cubic = b->steps == THIRDS && node >= m->model->driven_count;
    size_t size = path_size(path);
    pelt_channel out = {.joint = joint,
                        .path = (pelt_path)path,
                        .interpolation = cubic ? PELT_CUBIC : b->plain,
                        .times = b->clip->times};
    if (is_still(samples, still[path], b->sample_count, size, tolerance)) return out;
    float *keys = PELT_NEW(m->arena, (cubic ? 3 : 1) * b->clip->frame_count * size, float);
    if (!keys) return out;
    if (cubic)
        cubic_keys(b, samples, size, keys);
    else
        plain_keys(b, samples, size, keys);
    out.values = keys, out.key_count = b->clip->frame_count;
    return out;
}

static pelt_result make_clip(making *m, const pelt_clip *from, pelt_clip *to, pelt_error *error) {
    uint32_t nodes = m->node_count;
    pelt_channel *channels = PELT_NEW(m->arena, (size_t)from->channel_count + 3 * (size_t)nodes, pelt_channel);
    if (pelt_arena_failed(m->arena)) return pelt_no_memory(error);
    *to = *from;
    to->channels = channels, to->channel_count = 0;
    bool jumps = from->channel_count > 0;
    for (uint32_t c = 0; c < from->channel_count; c++) {
        pelt_channel channel = from->channels[c];
        jumps &= channel.interpolation == PELT_STEP;
        channel.joint = m->joint_of[channel.joint];
        if (channel.joint != UINT32_MAX) channels[to->channel_count++] = channel;
    }
    baking b = {.clip = from,
                .steps = m->pairs.count && !jumps ? THIRDS : 1,
                .sample_count = from->frame_count,
                .plain = jumps ? PELT_STEP : PELT_LINEAR};
    if (from->frame_count) b.sample_count = (from->frame_count - 1) * b.steps + 1;
    for (int path = 0; path < 3; path++)
        b.samples[path] = PELT_NEW(m->arena, nodes * path_size(path) * b.sample_count, float);
    if (pelt_arena_failed(m->arena)) return pelt_no_memory(error);
    bake(m, &b);
    for (uint32_t i = 0; i < nodes; i++)
        for (int path = 0; path < 3; path++) {
            pelt_channel track = track_of(m, &b, i, path);
            if (track.key_count) channels[to->channel_count++] = track;
        }
    return pelt_arena_failed(m->arena) ? pelt_no_memory(error) : PELT_OK;
}

/* -- Everything ---------------------------------------------------------------------------------------------------- */

pelt_result pelt_plain_make(pelt_arena *arena, const pelt_model *model, const pelt_bundle *bundle,
                            const pelt_clip *const *clips, size_t clip_count, pelt_plain *plain, pelt_error *error) {
    making m = {.arena = arena, .model = model, .bundle = bundle, .plain = plain};
    *plain = (pelt_plain){.mesh = bundle->mesh};
    if (model->vertex_count != bundle->mesh.vertex_count)
        return pelt_fail(error, PELT_ERROR_DATA, "the skin has %u vertices, but the mesh in %s has %u",
                         model->vertex_count, bundle->path, bundle->mesh.vertex_count);
    pelt_result result = pelt_check_mesh(model->mesh_hash, bundle, error);
    if (!result)
        result = pelt_extrapolate_weights(arena, &model->influences, model->vertex_count,
                                          model->skeleton->joint_count + model->driven_count, &m.pairs, error);
    if (result) return result;
    /* Pairs are numbered by one but have two nodes: weights belong to the second. */
    uint32_t joints = model->skeleton->joint_count + model->driven_count;
    for (uint32_t i = 0; m.pairs.count && i < m.pairs.influences.first[model->vertex_count]; i++)
        if (m.pairs.influences.joints[i] >= joints)
            m.pairs.influences.joints[i] += m.pairs.influences.joints[i] - joints + 1;
    m.node_count = model->driven_count + 2 * m.pairs.count;
    plain->pair_count = m.pairs.count;
    plain->mesh.influences = m.pairs.influences;
    plain->mesh.target_count = 0;
    plain->mesh.positions = PELT_NEW(arena, 3 * (size_t)model->vertex_count, float);
    plain->mesh.normals = PELT_NEW(arena, 3 * (size_t)model->vertex_count, float);
    plain->clips = PELT_NEW(arena, clip_count, const pelt_clip *);
    m.locals = PELT_NEW(arena, bundle->skeleton.joint_count, pelt_transform);
    m.skin_locals = PELT_NEW(arena, model->skeleton->joint_count, pelt_transform);
    m.joint_of = PELT_NEW(arena, bundle->skeleton.joint_count, uint32_t);
    result = pelt_arena_failed(arena) ? pelt_no_memory(error) : make_skeleton(&m, error);
    if (result) return result;
    memcpy(plain->mesh.positions, model->positions, 3 * (size_t)model->vertex_count * sizeof(float));
    memcpy(plain->mesh.normals, model->normals, 3 * (size_t)model->vertex_count * sizeof(float));
    memcpy(m.skin_locals, model->skeleton->rest, model->skeleton->joint_count * sizeof *m.skin_locals);
    match_joints(&m);
    for (size_t c = 0; c < clip_count && !result; c++) {
        pelt_clip *clip = PELT_NEW(arena, 1, pelt_clip);
        result = clip ? make_clip(&m, clips[c], clip, error) : pelt_no_memory(error);
        plain->clips[plain->clip_count++] = clip;
    }
    return result;
}
