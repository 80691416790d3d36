/* body.c: the body at rest: where its bones point, and where its front is.

   glTF has y up. Left is where the joints named left are, and the front is left x up; toes, which point to the front,
   correct files whose names are those of the viewer. */

#include "poses/poses.h"
#include "rig/maths.h"
#include <string.h>

static const double short_bone = 1e-4;    /* of the diagonal: such bones have no direction */
static const double bends_skin = 0.01;    /* differences of weight over triangles, summed */
static const double on_the_ground = 0.25; /* of a neck's height: hands this low are paws */

void pelt_head_of(const body *b, uint32_t joint, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = b->globals[joint].m[4 * i + 3];
}

/* -- Bones ---------------------------------------------------------------------------------------------------------- */

/* Sums of weights, and of posed positions by weight, of every joint. */
static void weigh(pelt_arena *arena, body *b, double (*centers)[3]) {
    const pelt_mesh *mesh = &b->bundle->mesh;
    const pelt_skeleton *s = &b->bundle->skeleton;
    const double *at = pelt_blend_frame(arena, b->bundle, NULL, 0);
    const pelt_influences *in = &mesh->influences;
    double *own = PELT_NEW(arena, s->joint_count, double);
    for (size_t v = 0; v < mesh->vertex_count; v++)
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            uint32_t j = in->joints[i];
            own[j] += in->weights[i];
            for (size_t k = 0; k < 3; k++) centers[j][k] += in->weights[i] * at[3 * v + k];
        }
    for (uint32_t j = 0; j < s->joint_count; j++) {
        for (int k = 0; k < 3 && own[j] > 0; k++) centers[j][k] /= own[j];
        if (!(own[j] > 0)) pelt_head_of(b, j, centers[j]);
        b->carried[j] = own[j];
    }
    for (uint32_t j = s->joint_count; j-- > 0;)
        if (s->parents[j] >= 0) b->carried[s->parents[j]] += b->carried[j];
}

/* A joint bends skin where triangles follow it, and the joints below it, with one corner more than with another. One
   that carries all of a surface, or a rigid part of it, shows nothing new in any pose. */
static void find_bending(pelt_arena *arena, body *b) {
    const pelt_mesh *mesh = &b->bundle->mesh;
    const pelt_skeleton *s = &b->bundle->skeleton;
    const pelt_influences *in = &mesh->influences;
    PELT_SCOPED pelt_arena *brief = pelt_arena_inside(arena);
    float *below = PELT_NEW(brief, (size_t)mesh->vertex_count * s->joint_count, float);
    double *bends = PELT_NEW(brief, s->joint_count, double);
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        float *row = below + v * s->joint_count;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) row[in->joints[i]] += in->weights[i];
        for (uint32_t j = s->joint_count; j-- > 0;)
            if (s->parents[j] >= 0) row[s->parents[j]] += row[j];
    }
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->triangles + 3 * t;
        const float *rows[3];
        for (int i = 0; i < 3; i++) rows[i] = below + (size_t)corner[i] * s->joint_count;
        for (uint32_t j = 0; j < s->joint_count; j++)
            bends[j] +=
                fmaxf(rows[0][j], fmaxf(rows[1][j], rows[2][j])) - fminf(rows[0][j], fminf(rows[1][j], rows[2][j]));
    }
    for (uint32_t j = 0; j < s->joint_count; j++) b->moves[j] = bends[j] > bends_skin;
}

/* How likely a child continues the limb of its parent: spines go on to necks rather than to collarbones. */
static int continues(part above, part below) {
    if (below == PART_STILL) return 1; /* the end of a finger, if nothing else is there */
    bool trunk = above == PART_SPINE || above == PART_HIPS || above == PART_NECK;
    if (trunk && (below == PART_SPINE || below == PART_NECK || below == PART_HEAD)) return 4;
    if (!trunk && below != PART_UNKNOWN && below != PART_SOFT) return 4;
    return below == PART_UNKNOWN || below == PART_SOFT ? 3 : 2;
}

/* From the head of a joint to the mean of those that continue it; for the last of a limb, to its skin. */
static void find_bone(const body *b, double (*centers)[3], uint32_t j) {
    const pelt_skeleton *s = &b->bundle->skeleton;
    double tail[3] = {0}, head[3], *bone = b->bones[j], least = short_bone * b->bundle->mesh.diagonal;
    uint32_t count = 0;
    int best = 0;
    pelt_head_of(b, j, head);
    for (uint32_t k = j + 1; k < s->joint_count; k++) {
        double at[3];
        pelt_head_of(b, k, at);
        if (s->parents[k] != (int32_t)j || pelt_distance(at, head) <= least) continue;
        int rank = continues(b->parts[j], b->parts[k]);
        if (rank > best) best = rank, count = 0, memset(tail, 0, sizeof tail);
        if (rank < best) continue;
        for (int i = 0; i < 3; i++) tail[i] += at[i];
        count++;
    }
    for (int i = 0; i < 3; i++) bone[i] = (count ? tail[i] / count : centers[j][i]) - head[i];
    if (pelt_length(bone) > least && pelt_unit(bone)) return;
    memcpy(bone, s->parents[j] >= 0 ? b->bones[s->parents[j]] : (double[3]){0, 1, 0}, 3 * sizeof *bone);
}

/* -- Front and left ------------------------------------------------------------------------------------------------- */

static void find_directions(body *b) {
    const pelt_skeleton *s = &b->bundle->skeleton;
    double sides[2][3] = {{0}}, count[2] = {0}, at[3], toes = 0, flat[3];
    memcpy(b->up, (double[3]){0, 1, 0}, sizeof b->up);
    memcpy(b->left, (double[3]){1, 0, 0}, sizeof b->left);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        if (!b->sides[j]) continue;
        int k = b->sides[j] < 0;
        pelt_head_of(b, j, at);
        for (int i = 0; i < 3; i++) sides[k][i] += at[i];
        count[k]++;
    }
    if (count[0] > 0 && count[1] > 0) {
        for (int i = 0; i < 3; i++) flat[i] = sides[0][i] / count[0] - sides[1][i] / count[1];
        if (pelt_length(flat) > short_bone * b->bundle->mesh.diagonal) pelt_across(flat, b->up, b->left);
    }
    pelt_cross(b->left, b->up, b->front);
    for (uint32_t j = 0; j < s->joint_count; j++)
        if (b->parts[j] == PART_TOE || b->parts[j] == PART_ANKLE) toes += pelt_dot(b->bones[j], b->front);
    if (toes < 0)
        for (int i = 0; i < 3; i++) b->front[i] = -b->front[i], b->left[i] = -b->left[i];
}

/* NAN: there is none. */
static double mean_height(const body *b, part p) {
    double sum = 0, count = 0;
    for (uint32_t j = 0; j < b->bundle->skeleton.joint_count; j++)
        if (b->parts[j] == p) sum += b->globals[j].m[7], count++;
    return sum / count;
}

void pelt_body_of(pelt_arena *arena, const pelt_bundle *bundle, body *out) {
    const pelt_skeleton *s = &bundle->skeleton;
    uint32_t n = s->joint_count;
    *out = (body){.bundle = bundle,
                  .parts = PELT_NEW(arena, n, part),
                  .sides = PELT_NEW(arena, n, int),
                  .globals = PELT_NEW(arena, n, pelt_affine),
                  .bones = pelt_alloc(arena, n, sizeof *out->bones),
                  .carried = PELT_NEW(arena, n, double),
                  .moves = PELT_NEW(arena, n, bool)};
    double(*centers)[3] = pelt_alloc(arena, n, sizeof *centers);
    pelt_affine *matrices = PELT_NEW(arena, n, pelt_affine);
    pelt_name_parts(arena, s, out->parts, out->sides);
    pelt_joint_matrices(s, s->rest, out->globals, matrices);
    weigh(arena, out, centers);
    find_bending(arena, out);
    for (uint32_t j = 0; j < n; j++) find_bone(out, centers, j);
    find_directions(out);
    double feet = mean_height(out, PART_ANKLE), neck = mean_height(out, PART_NECK);
    out->four_legged = mean_height(out, PART_WRIST) - feet < on_the_ground * (neck - feet);
}
