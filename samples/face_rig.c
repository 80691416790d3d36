/* face_rig.c: one frame of the face rig, for any points.

       shapes and correctives -> lip rolls -> jaw hinge -> eyelids -> tweakers -> sticky lips -> wrinkles -> neck

   Each step is a function of the point and of a few others (the ends of two tracked lines, a partner on the other lip),
   so the cost is proportional to the number of points. */

#include "rig/clock.h"
#include "samples/face_build.h"
#include <math.h>
#include <string.h>

/* Shared by all points of a frame. */
typedef struct moment {
    const pelt_face *face;
    float features[FACE_FEATURES];
    float shapes[FACE_SHAPES];
    float roll_pivot[3], roll[2]; /* angle of the upper and the lower lip */
    struct {
        bool on;
        float pivot[3], turn[3], slide[3];
    } tweakers[FACE_TWEAKERS];
    float jaw_pivot[3], jaw_turn[3];
    float gaze[2][3], gaze_up[2];
    float neck_turn[3];
} moment;

static float dot(const float a[3], const float b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

void face_turn(const float pivot[3], const float turn[3], float point[3]) {
    float angle = sqrtf(dot(turn, turn));
    if (angle < 1e-9f) return;
    float axis[3], d[3], c = cosf(angle), s = sinf(angle);
    for (int i = 0; i < 3; i++) axis[i] = turn[i] / angle, d[i] = point[i] - pivot[i];
    float along = dot(axis, d) * (1 - c);
    float across[3] = {axis[1] * d[2] - axis[2] * d[1], axis[2] * d[0] - axis[0] * d[2],
                       axis[0] * d[1] - axis[1] * d[0]};
    for (int i = 0; i < 3; i++) point[i] = pivot[i] + d[i] * c + across[i] * s + axis[i] * along;
}

static void turn_by(const float pivot[3], const float turn[3], float weight, float point[3]) {
    float part[3] = {turn[0] * weight, turn[1] * weight, turn[2] * weight};
    face_turn(pivot, part, point);
}

/* -- Once per frame ------------------------------------------------------------------------------------------------ */

/* Controls that scale the effect of others. */
static void set_sensitivities(float *x) {
    float open = x[FACE_jawOpen], squint = 0.5f * (x[FACE_eyeSquintLeft] + x[FACE_eyeSquintRight]);
    static const struct {
        int shape;
        float gain;
    } by_jaw[] = {{FACE_mouthSmileLeft, -0.35f}, {FACE_mouthSmileRight, -0.35f},  {FACE_mouthFunnel, 0.5f},
                  {FACE_mouthPucker, -0.3f},     {FACE_mouthLowerDownLeft, 0.4f}, {FACE_mouthLowerDownRight, 0.4f}};
    static const int by_squint[] = {FACE_browInnerUp, FACE_browOuterUpLeft, FACE_browOuterUpRight};
    for (size_t i = 0; i < sizeof by_jaw / sizeof *by_jaw; i++) x[by_jaw[i].shape] *= 1 + by_jaw[i].gain * open;
    for (size_t i = 0; i < sizeof by_squint / sizeof *by_squint; i++) x[by_squint[i]] *= 1 - 0.4f * squint;
}

static void set_features(moment *m) {
    const pelt_face *face = m->face;
    const float *x = m->shapes;
    memcpy(m->features, x, sizeof m->shapes);
    for (int i = 0; i < FACE_PAIRS; i++)
        m->features[FACE_PAIR_FEATURE + i] = x[face->pairs[i][0]] * x[face->pairs[i][1]];
    for (int i = 0; i < FACE_TRIPLES; i++)
        m->features[FACE_TRIPLE_FEATURE + i] = x[face->triples[i][0]] * x[face->triples[i][1]] * x[face->triples[i][2]];
    m->features[FACE_JAW_FEATURE] = x[FACE_jawOpen];
}

static void set_tweakers(moment *m, const float *tweaks) {
    for (int k = 0; k < FACE_TWEAKERS; k++) {
        const face_tweaker *t = &m->face->tweakers[k];
        float slide = tweaks[2 * k], other = tweaks[2 * t->other], turn = tweaks[2 * k + 1] * (1 + 0.6f * other);
        m->tweakers[k].on = slide != 0 || turn != 0;
        for (int i = 0; i < 3; i++) {
            m->tweakers[k].pivot[i] = t->center[i] + other * t->pivot_shift[i];
            m->tweakers[k].turn[i] = 0.5f * turn * t->normal[i];
            m->tweakers[k].slide[i] = slide * t->slide[i];
        }
    }
}

static void set_jaw(moment *m) {
    const float *x = m->shapes, unit = m->face->unit;
    float open = x[FACE_jawOpen], side = x[FACE_jawLeft] - x[FACE_jawRight];
    float shift[3] = {0.3f * side, -0.25f * open, 0.5f * x[FACE_jawForward] + 0.4f * open * open};
    for (int i = 0; i < 3; i++) m->jaw_pivot[i] = m->face->jaw_pivot[i] + unit * shift[i];
    m->jaw_turn[0] = open * m->face->jaw_angle;
    m->jaw_turn[1] = 0.10f * side * open;
    m->jaw_turn[2] = 0.15f * side;
}

static void set_gaze(moment *m) {
    const float *x = m->shapes;
    for (int e = 0; e < 2; e++) {
        float up = x[FACE_eyeLookUpLeft + e] - x[FACE_eyeLookDownLeft + e];
        float out = (x[FACE_eyeLookOutLeft + e] - x[FACE_eyeLookInLeft + e]) * (e ? -1 : 1);
        float g[3] = {sinf(0.6f * out), sinf(0.5f * up), cosf(0.6f * out) * cosf(0.5f * up)};
        float length = sqrtf(dot(g, g));
        for (int i = 0; i < 3; i++) m->gaze[e][i] = g[i] / length;
        m->gaze_up[e] = up;
    }
}

static void set_moment(moment *m, const pelt_face *face, const float *controls) {
    m->face = face;
    memcpy(m->shapes, controls, sizeof m->shapes);
    set_sensitivities(m->shapes);
    set_features(m);
    for (int i = 0; i < 3; i++) {
        float forward = i == 2 ? -0.35f + 0.5f * m->shapes[FACE_mouthFunnel] : 0;
        m->roll_pivot[i] = face->mouth[i] + face->unit * forward;
        m->neck_turn[i] = -controls[FACE_HEAD + i];
    }
    m->roll[0] = -m->shapes[FACE_mouthRollUpper];
    m->roll[1] = m->shapes[FACE_mouthRollLower];
    set_tweakers(m, controls + FACE_TWEAK);
    set_jaw(m);
    set_gaze(m);
}

/* -- Points -------------------------------------------------------------------------------------------------------- */

static void add_shapes(const moment *m, uint32_t vertex, float p[3]) {
    const pelt_face *face = m->face;
    memcpy(p, face->vertices[vertex].position, 3 * sizeof(float));
    for (uint32_t e = face->first_entry[vertex]; e < face->first_entry[vertex + 1]; e++) {
        const face_entry *entry = &face->entries[e];
        float x = m->features[entry->feature];
        for (int i = 0; i < 3; i++) p[i] += x * entry->delta[i];
    }
}

/* Bends the lid's path onto the eyeball; the cornea pushes it out where the eye looks. */
static void slide_lid(const moment *m, const face_vertex *v, int e, float p[3]) {
    const face_eye *eye = &m->face->eyes[e];
    float x = m->shapes[FACE_eyeBlinkLeft + e], lid = v->lid[e], unit = m->face->unit;
    float closed =
        face_clamp(x * (1 + 0.3f * m->shapes[FACE_eyeSquintLeft + e]) - 0.175f * m->gaze_up[e], -0.3f, 1.05f);
    float amount = x + lid * (closed - x), from[3], along[3], to[3];
    for (int i = 0; i < 3; i++) {
        from[i] = p[i] - eye->center[i];
        to[i] = from[i] + v->blink[e][i];
        along[i] = from[i] + amount * v->blink[e][i];
    }
    float length = sqrtf(dot(along, along)) + 1e-6f * unit;
    float wanted = (1 - amount) * sqrtf(dot(from, from)) + amount * sqrtf(dot(to, to));
    float bulge = 0.09f * unit * expf((dot(along, m->gaze[e]) / length - 1) / 0.06f);
    float floor_radius = eye->radius + 0.03f * unit;
    float radius = length + lid * (fmaxf(wanted, floor_radius) + bulge - length);
    for (int i = 0; i < 3; i++) p[i] = eye->center[i] + along[i] * radius / length;
}

/* All steps that need no other point's result. */
static void move_point(const moment *m, uint32_t vertex, float p[3]) {
    const pelt_face *face = m->face;
    const face_vertex *v = &face->vertices[vertex];
    add_shapes(m, vertex, p);
    if (v->lip_side) turn_by(m->roll_pivot, (float[3]){m->roll[v->lip_side < 0], 0, 0}, v->lip, p);
    if (v->jaw > 0) turn_by(m->jaw_pivot, m->jaw_turn, v->jaw, p);
    for (int e = 0; e < 2; e++) {
        if (v->lid[e] > 0)
            slide_lid(m, v, e, p);
        else
            for (int i = 0; i < 3; i++) p[i] += m->shapes[FACE_eyeBlinkLeft + e] * v->blink[e][i];
    }
    for (uint32_t k = face->first_pull[vertex]; k < face->first_pull[vertex + 1]; k++) {
        const face_pull *pull = &face->pulls[k];
        if (!m->tweakers[pull->tweaker].on) continue;
        turn_by(m->tweakers[pull->tweaker].pivot, m->tweakers[pull->tweaker].turn, pull->weight, p);
        for (int i = 0; i < 3; i++) p[i] += pull->weight * m->tweakers[pull->tweaker].slide[i];
    }
}

/* Parting lips stick together a little, most at the corners. */
static void stick_lips(const moment *m, const face_vertex *v, float p[3]) {
    const face_vertex *other = &m->face->vertices[v->partner];
    float q[3], gap[3], rest[3];
    move_point(m, v->partner, q);
    for (int i = 0; i < 3; i++) gap[i] = q[i] - p[i], rest[i] = other->position[i] - v->position[i];
    float length = sqrtf(dot(gap, gap)), base = sqrtf(dot(rest, rest));
    float reach = 0.45f * m->face->unit * (1 + m->shapes[FACE_mouthClose]);
    float apart = fmaxf(length - base, 0) / reach;
    float pull = v->lip * (0.25f + 0.75f * v->lip_corner) * expf(-apart * apart);
    float share = 0.5f * pull * (1 - base / fmaxf(length, base + 1e-6f * m->face->unit));
    for (int i = 0; i < 3; i++) p[i] += share * gap[i];
}

static float line_ratio(const moment *m, const face_vertex *v, int line) {
    float a[3], b[3];
    if (!(v->stretch_rest[line] > 0)) return 1;
    add_shapes(m, v->stretch[line][0], a);
    add_shapes(m, v->stretch[line][1], b);
    float d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrtf(dot(d, d)) / v->stretch_rest[line];
}

/* A soft threshold: 0 below, the excess above. */
static float excess(float x) { return 0.03f * log1pf(expf(face_clamp(x / 0.03f, -20, 20))); }

static void wrinkle(const moment *m, const face_vertex *v, float p[3]) {
    float along = line_ratio(m, v, 0), across = line_ratio(m, v, 1);
    float depth = 4 * (v->wrinkle[0] * excess(0.94f - along) + v->wrinkle[1] * excess(0.94f - across));
    depth += v->volume * (1 - face_clamp(along * across, 0.4f, 1.6f));
    for (int i = 0; i < 3; i++) p[i] += depth * v->normal[i];
}

static void point_of(const moment *m, uint32_t vertex, float p[3]) {
    const face_vertex *v = &m->face->vertices[vertex];
    move_point(m, vertex, p);
    if (v->lip_side && v->lip > 0.02f) stick_lips(m, v, p);
    if (v->volume > 0) wrinkle(m, v, p);
    if (v->neck > 0) turn_by(m->face->neck_pivot, m->neck_turn, v->neck, p);
}

void pelt_face_evaluate(const pelt_face *face, const float *controls, const uint32_t *points, uint32_t count,
                        float *positions) {
    moment m;
    double end = face->cost > 0 ? pelt_wall_seconds() + 1e-6 * face->cost * count : 0;
    set_moment(&m, face, controls);
    for (uint32_t i = 0; i < count; i++) point_of(&m, face->source[points ? points[i] : i], positions + 3 * (size_t)i);
    while (face->cost > 0 && pelt_wall_seconds() < end) continue;
}
