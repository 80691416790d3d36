/* face.c: makes a face rig from a mesh and its 51 shapes. The rig finds the anatomy it needs from the shapes
   themselves: the jaw hinge from what jawOpen does to the chin, the eyeballs from the path of the lids, the lips from
   the points that roll. */

#include "samples/face_build.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only needed while the face is built. */
typedef struct making {
    pelt_face *face;
    pelt_arena *scratch;
    const pelt_mesh *mesh;
    uint32_t n, points;
    float *shapes[FACE_SHAPES]; /* [n][3] each */
    float *sizes[FACE_SHAPES];  /* [n] their lengths */
    float largest[FACE_SHAPES];
    float *pairs[FACE_PAIRS], *triples[FACE_TRIPLES], *jaw_rest; /* [n][3] corrective shapes */
    uint32_t *first_neighbour, *neighbours;
    sample_random random;
} making;

static const char *const shape_names[FACE_SHAPES] = {
#define NAME(name) #name,
    FACE_SHAPE_NAMES(NAME)
#undef NAME
};

const char *pelt_face_control_name(uint32_t control) {
    static const char *const head[] = {"headX", "headY", "headZ"};
#define PAIR(k) "slide" #k, "turn" #k
    static const char *const tweaks[] = {PAIR(0),  PAIR(1),  PAIR(2),  PAIR(3),  PAIR(4),  PAIR(5),
                                         PAIR(6),  PAIR(7),  PAIR(8),  PAIR(9),  PAIR(10), PAIR(11),
                                         PAIR(12), PAIR(13), PAIR(14), PAIR(15), PAIR(16), PAIR(17),
                                         PAIR(18), PAIR(19), PAIR(20), PAIR(21), PAIR(22), PAIR(23)};
#undef PAIR
    if (control < FACE_SHAPES) return shape_names[control];
    if (control < FACE_TWEAK) return head[control - FACE_HEAD];
    return control < FACE_CONTROLS ? tweaks[control - FACE_TWEAK] : "";
}

static float length3(const float *v) { return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }
static float distance3(const float *a, const float *b) {
    return length3((float[3]){a[0] - b[0], a[1] - b[1], a[2] - b[2]});
}
static const float *rest_of(const making *m, uint32_t v) { return m->mesh->positions + 3 * (size_t)v; }
/* Approximately standard normal: a sum of twelve. */
static double random_normal(sample_random *random) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += sample_uniform(random, 0, 1);
    return sum;
}

/* -- Shapes -------------------------------------------------------------------------------------------------------- */

static pelt_result read_shapes(making *m, pelt_error *error) {
    for (int s = 0; s < FACE_SHAPES; s++) {
        const pelt_target *found = NULL;
        for (uint32_t t = 0; t < m->mesh->target_count; t++)
            if (m->mesh->targets[t].name && !strcmp(m->mesh->targets[t].name, shape_names[s]))
                found = &m->mesh->targets[t];
        if (!found)
            return pelt_fail(error, PELT_ERROR_DATA,
                             "the face has no shape \"%s\"; the face rig needs ARKit's 51 shapes (all but tongueOut)",
                             shape_names[s]);
        m->shapes[s] = PELT_NEW(m->scratch, 3 * (size_t)m->n, float);
        m->sizes[s] = PELT_NEW(m->scratch, m->n, float);
        for (uint32_t k = 0; k < found->count; k++) {
            uint32_t v = found->vertices[k];
            memcpy(m->shapes[s] + 3 * (size_t)v, found->deltas + 3 * (size_t)k, 3 * sizeof(float));
            m->sizes[s][v] = length3(found->deltas + 3 * (size_t)k);
            m->largest[s] = fmaxf(m->largest[s], m->sizes[s][v]);
        }
        if (!(m->largest[s] > 0))
            return pelt_fail(error, PELT_ERROR_DATA, "the face's shape \"%s\" moves nothing", shape_names[s]);
    }
    return PELT_OK;
}

/* -- Anatomy ------------------------------------------------------------------------------------------------------- */

/* The rotation about x, in the yz plane, that moves the chin from closed to open, and its centre. */
static void find_jaw(making *m) {
    pelt_face *face = m->face;
    const float *shape = m->shapes[FACE_jawOpen];
    double from[2] = {0}, to[2] = {0}, count = 0, sine = 0, cosine = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t v = 0; v < m->n; v++) {
            if (m->sizes[FACE_jawOpen][v] < 0.5f * m->largest[FACE_jawOpen]) continue;
            const float *p = rest_of(m, v), *d = shape + 3 * (size_t)v;
            double a[2] = {p[1], p[2]}, b[2] = {p[1] + d[1], p[2] + d[2]};
            for (int i = 0; i < 2 && pass == 0; i++) from[i] += a[i], to[i] += b[i];
            if (pass == 0) {
                count++;
                continue;
            }
            double x = a[0] - from[0] / count, y = a[1] - from[1] / count, u = b[0] - to[0] / count,
                   w = b[1] - to[1] / count;
            cosine += x * u + y * w, sine += x * w - y * u;
        }
    double angle = atan2(sine, cosine), c = cos(angle), s = sin(angle);
    double ca[2] = {from[0] / count, from[1] / count}, cb[2] = {to[0] / count, to[1] / count};
    double t[2] = {cb[0] - c * ca[0] + s * ca[1], cb[1] - s * ca[0] - c * ca[1]}, det = fmax(2 - 2 * c, 1e-6);
    face->jaw_angle = (float)angle;
    face->jaw_pivot[1] = (float)(((1 - c) * t[0] - s * t[1]) / det);
    face->jaw_pivot[2] = (float)((s * t[0] + (1 - c) * t[1]) / det);
}

/* How much a vertex follows the hinge's path; the rest of the shape is kept as a corrective. */
static void weigh_jaw(making *m) {
    pelt_face *face = m->face;
    float turn[3] = {face->jaw_angle, 0, 0};
    for (uint32_t v = 0; v < m->n; v++) {
        const float *p = rest_of(m, v), *d = m->shapes[FACE_jawOpen] + 3 * (size_t)v;
        float path[3] = {p[0], p[1], p[2]}, along = 0, square = 0;
        face_turn(face->jaw_pivot, turn, path);
        for (int i = 0; i < 3; i++) along += (path[i] - p[i]) * d[i], square += (path[i] - p[i]) * (path[i] - p[i]);
        float weight = face_clamp(along / fmaxf(square, 1e-6f * face->unit * face->unit), 0, 1);
        float part[3] = {weight * turn[0], 0, 0}, moved[3] = {p[0], p[1], p[2]};
        face->vertices[v].jaw = weight;
        face_turn(face->jaw_pivot, part, moved);
        for (int i = 0; i < 3; i++) m->jaw_rest[3 * (size_t)v + (size_t)i] = d[i] - (moved[i] - p[i]);
    }
}

/* Solves a small symmetric system by elimination with pivoting; false if singular. */
static bool solve4(double a[4][5]) {
    for (int c = 0; c < 4; c++) {
        int best = c;
        for (int r = c + 1; r < 4; r++)
            if (fabs(a[r][c]) > fabs(a[best][c])) best = r;
        if (!(fabs(a[best][c]) > 1e-30)) return false;
        for (int k = 0; k < 5; k++) {
            double swap = a[c][k];
            a[c][k] = a[best][k], a[best][k] = swap;
        }
        for (int r = 0; r < 4; r++) {
            double f = r == c ? 0 : a[r][c] / a[c][c];
            for (int k = c; k < 5; k++) a[r][k] -= f * a[c][k];
        }
    }
    for (int r = 0; r < 4; r++) a[r][4] /= a[r][r];
    return true;
}

/* The least-squares sphere through the lid's points, open and closed: |p|^2 = 2 p.c + (r^2 - |c|^2). */
static void find_eye(making *m, int e) {
    face_eye *eye = &m->face->eyes[e];
    int shape = FACE_eyeBlinkLeft + e;
    double a[4][5] = {{0}}, middle[3] = {0}, weight = 0;
    for (uint32_t v = 0; v < m->n; v++) {
        if (m->sizes[shape][v] < 0.3f * m->largest[shape]) continue;
        for (int closed = 0; closed < 2; closed++) {
            double row[5] = {0, 0, 0, 1, 0};
            for (int i = 0; i < 3; i++) {
                double x = rest_of(m, v)[i] + (closed ? m->shapes[shape][3 * (size_t)v + (size_t)i] : 0);
                row[i] = 2 * x, row[4] += x * x, middle[i] += x;
            }
            weight++;
            for (int i = 0; i < 4; i++)
                for (int k = 0; k < 5; k++) a[i][k] += row[i] * row[k];
        }
    }
    double unit = m->face->unit, radius = 0;
    if (solve4(a)) radius = sqrt(fmax(0, a[3][4] + a[0][4] * a[0][4] + a[1][4] * a[1][4] + a[2][4] * a[2][4]));
    bool found = radius > 0.8 * unit && radius < 2.2 * unit;
    for (int i = 0; i < 3; i++)
        eye->center[i] = (float)(found ? a[i][4] : middle[i] / weight - (i == 2 ? 1.4 * unit : 0));
    eye->radius = (float)(found ? radius : 1.4 * unit);
    /* Most lid points should be outside. */
    eye->radius *= 0.97f;
}

static void weigh_lids(making *m, int e) {
    const face_eye *eye = &m->face->eyes[e];
    float unit = m->face->unit;
    for (uint32_t v = 0; v < m->n; v++) {
        const float *p = rest_of(m, v);
        face_vertex *out = &m->face->vertices[v];
        float d = distance3(p, eye->center), beyond = fmaxf(d - eye->radius - 0.15f * unit, 0) / (0.5f * unit);
        float lid = face_clamp(m->sizes[FACE_eyeBlinkLeft + e][v] / (0.3f * unit), 0, 1) * expf(-beyond * beyond) *
                    face_ramp((d / eye->radius - 0.85f) / 0.1f) * face_ramp((p[2] - eye->center[2]) / (0.8f * unit));
        out->lid[e] = lid > 0.01f ? lid : 0;
        memcpy(out->blink[e], m->shapes[FACE_eyeBlinkLeft + e] + 3 * (size_t)v, 3 * sizeof(float));
    }
}

static void find_mouth(making *m) {
    double sum[3] = {0}, total = 0;
    for (uint32_t v = 0; v < m->n; v++)
        for (int s = FACE_mouthRollLower; s <= FACE_mouthRollUpper; s++) {
            double w = pow(m->sizes[s][v] / m->largest[s], 2);
            total += w;
            for (int i = 0; i < 3; i++) sum[i] += w * rest_of(m, v)[i];
        }
    for (int i = 0; i < 3; i++) m->face->mouth[i] = (float)(sum[i] / total);
}

/* The lips: points near the mouth that the jaw leaves in place (upper) or moves (lower), each with the nearest one on
   the other lip. */
static void pair_lips(making *m) {
    pelt_face *face = m->face;
    float unit = face->unit;
    uint32_t *lips = PELT_NEW(m->scratch, m->n, uint32_t), count = 0;
    if (!lips) return;
    for (uint32_t v = 0; v < m->n; v++) {
        const float *p = rest_of(m, v);
        face_vertex *out = &face->vertices[v];
        float d[3] = {0.6f * (p[0] - face->mouth[0]), p[1] - face->mouth[1], p[2] - face->mouth[2]};
        if (length3(d) > 2.2f * unit || d[2] < -1.2f * unit) continue;
        out->lip_side = out->jaw < 0.25f ? 1 : out->jaw > 0.5f ? -1 : 0;
        if (out->lip_side) lips[count++] = v;
    }
    for (uint32_t i = 0; i < count; i++) {
        face_vertex *out = &face->vertices[lips[i]];
        float nearest = INFINITY;
        for (uint32_t k = 0; k < count; k++) {
            float d = distance3(rest_of(m, lips[i]), rest_of(m, lips[k]));
            if (face->vertices[lips[k]].lip_side == -out->lip_side && d < nearest) nearest = d, out->partner = lips[k];
        }
        out->lip = isfinite(nearest) ? expf(-powf(nearest / (0.6f * unit), 2)) : 0;
        out->lip_corner = face_ramp((fabsf(rest_of(m, lips[i])[0] - face->mouth[0]) / unit - 0.6f) / 1.8f);
    }
}

static void weigh_neck(making *m) {
    pelt_face *face = m->face;
    float unit = face->unit, low = INFINITY, chin = INFINITY;
    for (uint32_t v = 0; v < m->n; v++) {
        low = fminf(low, rest_of(m, v)[1]);
        if (face->vertices[v].jaw > 0.9f) chin = fminf(chin, rest_of(m, v)[1]);
    }
    if (!(chin > low + unit)) chin = low + 5 * unit;
    for (uint32_t v = 0; v < m->n; v++) {
        const float *p = rest_of(m, v);
        float forward = face_clamp((p[2] - face->jaw_pivot[2]) / (6 * unit), -1, 1);
        float weight = 1 - face_ramp((p[1] - low) / (chin - low + unit) + 0.12f * forward);
        face->vertices[v].neck = weight > 1e-4f ? weight : 0;
    }
    face->neck_pivot[1] = chin + unit;
    face->neck_pivot[2] = face->jaw_pivot[2] - unit;
}

/* -- Neighbourhood ------------------------------------------------------------------------------------------------- */

static void find_neighbours(making *m) {
    const pelt_mesh *mesh = m->mesh;
    m->first_neighbour = PELT_NEW(m->scratch, (size_t)m->n + 2, uint32_t);
    m->neighbours = PELT_NEW(m->scratch, 6 * (size_t)mesh->triangle_count + 1, uint32_t);
    uint32_t *fill = m->first_neighbour + 1; /* counts, then starts, then ends */
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) fill[mesh->triangles[i] + 1] += 2;
    for (uint32_t v = 0; v < m->n; v++) fill[v + 1] += fill[v];
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (int i = 0; i < 3; i++) {
            uint32_t v = mesh->triangles[3 * t + (size_t)i];
            for (size_t k = 1; k < 3; k++) m->neighbours[fill[v]++] = mesh->triangles[3 * t + ((size_t)i + k) % 3];
        }
}

/* Walks along edges from a vertex to the one nearest to a position. */
static uint32_t walk_to(const making *m, uint32_t v, const float place[3]) {
    for (;;) {
        uint32_t best = v;
        for (uint32_t k = m->first_neighbour[v]; k < m->first_neighbour[v + 1]; k++)
            if (distance3(rest_of(m, m->neighbours[k]), place) < distance3(rest_of(m, best), place))
                best = m->neighbours[k];
        if (best == v) return v;
        v = best;
    }
}

/* Two lines through each vertex, up and across, whose length tells how much the skin is compressed. */
static void set_stretch(making *m) {
    float unit = m->face->unit;
    for (uint32_t v = 0; v < m->n; v++) {
        face_vertex *out = &m->face->vertices[v];
        const float *p = rest_of(m, v), *n = out->normal;
        float up[3] = {-n[1] * n[0], 1 - n[1] * n[1], -n[1] * n[2]}, size = length3(up) + 1e-6f;
        for (int i = 0; i < 3; i++) up[i] /= size;
        float across[3] = {n[1] * up[2] - n[2] * up[1], n[2] * up[0] - n[0] * up[2], n[0] * up[1] - n[1] * up[0]};
        for (int line = 0; line < 2; line++) {
            for (int end = 0; end < 2; end++) {
                float place[3];
                for (int i = 0; i < 3; i++) place[i] = p[i] + (end ? -0.7f : 0.7f) * unit * (line ? across[i] : up[i]);
                out->stretch[line][end] = walk_to(m, v, place);
            }
            out->stretch_rest[line] = distance3(rest_of(m, out->stretch[line][0]), rest_of(m, out->stretch[line][1]));
        }
    }
}

/* How much a vertex is outer skin: not the mouth bag, an eye socket, the lips or the neck. */
static float outer_skin(const making *m, uint32_t v) {
    const pelt_face *face = m->face;
    const float *p = rest_of(m, v);
    float unit = face->unit, skin = face_clamp(distance3(p, face->mouth) / (3 * unit) - 0.6f, 0, 1);
    for (int e = 0; e < 2; e++)
        skin *= face_ramp((distance3(p, face->eyes[e].center) / face->eyes[e].radius - 1.3f) / 0.5f);
    float aside = fmaxf(fabsf(p[0] - face->mouth[0]), fabsf(p[1] - face->mouth[1])) / unit;
    float inside = (1 - face_ramp(aside - 4)) * face_ramp((face->mouth[2] - p[2]) / unit - 2);
    return skin * (1 - inside) * face_ramp(2 * face->vertices[v].normal[2]) * (1 - face->vertices[v].neck);
}

/* Folds in the skin, along and across. */
static void set_wrinkles(making *m) {
    const pelt_face *face = m->face;
    float unit = face->unit;
    for (uint32_t v = 0; v < m->n; v++) {
        face_vertex *out = &face->vertices[v];
        float x = rest_of(m, v)[0] / unit, y = rest_of(m, v)[1] / unit, skin = outer_skin(m, v);
        if (skin < 0.01f) continue;
        out->wrinkle[0] = 0.10f * unit * skin * face_ramp((sinf(5 * y + 0.6f * sinf(1.3f * x)) + 1) / 2);
        out->wrinkle[1] = 0.10f * unit * skin * face_ramp((sinf(5 * x + 0.6f * sinf(1.7f * y)) + 1) / 2);
        out->volume = 0.35f * unit * skin;
    }
}

/* -- Correctives and tweakers -------------------------------------------------------------------------------------- */

static bool is_look(uint32_t shape) { return shape >= FACE_eyeLookDownLeft && shape <= FACE_eyeLookUpRight; }

typedef struct overlap {
    double amount;
    uint32_t a, b;
} overlap;

static int by_amount(const void *left, const void *right) {
    const overlap *a = left, *b = right;
    if (a->amount != b->amount) return a->amount < b->amount ? 1 : -1;
    return a->a != b->a ? (a->a < b->a ? -1 : 1) : a->b < b->b ? -1 : 1;
}

/* Pairs of shapes that move the same regions need a corrective most. */
static void choose_pairs(making *m) {
    overlap list[FACE_SHAPES * FACE_SHAPES / 2];
    size_t count = 0;
    double square[FACE_SHAPES] = {0};
    for (uint32_t s = 0; s < FACE_SHAPES; s++)
        for (uint32_t v = 0; v < m->n; v++) square[s] += (double)m->sizes[s][v] * m->sizes[s][v];
    for (uint32_t a = 0; a < FACE_SHAPES; a++)
        for (uint32_t b = a + 1; b < FACE_SHAPES; b++) {
            if (is_look(a) || is_look(b)) continue;
            double sum = 0;
            for (uint32_t v = 0; v < m->n; v++) sum += (double)m->sizes[a][v] * m->sizes[b][v];
            list[count++] = (overlap){sum / sqrt(square[a] * square[b]), a, b};
        }
    qsort(list, count, sizeof *list, by_amount);
    for (int i = 0; i < FACE_PAIRS; i++) m->face->pairs[i][0] = list[i].a, m->face->pairs[i][1] = list[i].b;
    for (int i = 0; i < FACE_TRIPLES; i++) {
        uint32_t *t = m->face->triples[i], a = list[2 * i].a, b = list[2 * i].b, c;
        do c = (uint32_t)sample_uniform(&m->random, 0, FACE_SHAPES);
        while (c == a || c == b || is_look(c));
        t[0] = a, t[1] = b, t[2] = c;
    }
}

/* What a sculptor would do about a clash: where all the shapes move, push across, outwards and back. */
static float *make_corrective(making *m, const uint32_t *shapes, int count, float gain) {
    float *out = PELT_NEW(m->scratch, 3 * (size_t)m->n, float), largest = 0;
    float mix[3];
    mix[0] = (float)sample_uniform(&m->random, -1, 1);
    mix[1] = (float)sample_uniform(&m->random, -1, 1);
    mix[2] = (float)sample_uniform(&m->random, -1, 0.3);
    for (uint32_t v = 0; v < m->n; v++) {
        const float *n = m->face->vertices[v].normal;
        float d[3] = {0}, *o = out + 3 * (size_t)v;
        for (int k = 0; k < count; k++)
            for (int i = 0; i < 3; i++) d[i] += m->shapes[shapes[k]][3 * (size_t)v + (size_t)i] / m->largest[shapes[k]];
        float cross[3] = {d[1] * n[2] - d[2] * n[1], d[2] * n[0] - d[0] * n[2], d[0] * n[1] - d[1] * n[0]};
        for (int i = 0; i < 3; i++) o[i] = mix[0] * cross[i] + mix[1] * length3(d) * n[i] + mix[2] * d[i];
        largest = fmaxf(largest, length3(o));
    }
    for (uint32_t v = 0; v < m->n; v++) {
        float least = INFINITY;
        for (int k = 0; k < count; k++) least = fminf(least, m->sizes[shapes[k]][v]);
        for (int i = 0; i < 3; i++) out[3 * (size_t)v + (size_t)i] *= gain * least / fmaxf(largest, 1e-6f);
    }
    return out;
}

static void make_tweakers(making *m, float *weights) {
    pelt_face *face = m->face;
    float unit = face->unit;
    for (int k = 0; k < FACE_TWEAKERS; k++) {
        face_tweaker *t = &face->tweakers[k];
        uint32_t v;
        do v = (uint32_t)sample_uniform(&m->random, 0, m->n); /* somewhere on the front */
        while (face->vertices[v].neck > 0.1f || face->vertices[v].normal[2] < 0.2f);
        float radius = unit * (float)exp(sample_uniform(&m->random, log(0.8), log(3.5))), direction[3];
        memcpy(t->center, rest_of(m, v), sizeof t->center);
        memcpy(t->normal, face->vertices[v].normal, sizeof t->normal);
        for (int i = 0; i < 3; i++) direction[i] = (float)random_normal(&m->random);
        for (int i = 0; i < 3; i++) {
            t->slide[i] = 0.25f * radius * direction[i] / fmaxf(length3(direction), 1e-3f);
            t->pivot_shift[i] = 0.4f * radius * (float)random_normal(&m->random);
        }
        t->other = (uint32_t)sample_uniform(&m->random, 0, FACE_TWEAKERS);
        for (uint32_t w = 0; w < m->n; w++) {
            float d = distance3(rest_of(m, w), t->center) / radius, weight = expf(-d * d);
            weights[(size_t)w * FACE_TWEAKERS + (size_t)k] = weight < 0.01f ? 0 : weight;
        }
    }
}

/* -- Tables -------------------------------------------------------------------------------------------------------- */

/* Shapes that the rig handles specially have no entries. */
static bool has_own_way(uint32_t shape) {
    return shape == FACE_jawOpen || shape == FACE_eyeBlinkLeft || shape == FACE_eyeBlinkRight ||
           shape == FACE_mouthRollLower || shape == FACE_mouthRollUpper || is_look(shape);
}

static const float *feature_shape(const making *m, uint32_t feature) {
    if (feature < FACE_SHAPES) return has_own_way(feature) ? NULL : m->shapes[feature];
    if (feature < FACE_TRIPLE_FEATURE) return m->pairs[feature - FACE_PAIR_FEATURE];
    if (feature < FACE_JAW_FEATURE) return m->triples[feature - FACE_TRIPLE_FEATURE];
    return m->jaw_rest;
}

static void make_entries(making *m) {
    pelt_face *face = m->face;
    float least = 1e-4f * face->unit;
    face->first_entry = PELT_NEW(face->arena, (size_t)m->n + 1, uint32_t);
    for (int fill = 0; fill < 2; fill++) {
        uint32_t count = 0;
        for (uint32_t v = 0; v < m->n; v++) {
            for (uint32_t f = 0; f < FACE_FEATURES; f++) {
                const float *shape = feature_shape(m, f);
                if (!shape || length3(shape + 3 * (size_t)v) < least) continue;
                if (fill) {
                    face->entries[count].feature = f;
                    memcpy(face->entries[count].delta, shape + 3 * (size_t)v, 3 * sizeof(float));
                }
                count++;
            }
            face->first_entry[v + 1] = count;
        }
        if (!fill) face->entries = PELT_NEW(face->arena, count, face_entry);
    }
}

static void make_pulls(making *m) {
    pelt_face *face = m->face;
    float *weights = PELT_NEW(m->scratch, (size_t)m->n * FACE_TWEAKERS, float);
    face->first_pull = PELT_NEW(face->arena, (size_t)m->n + 1, uint32_t);
    make_tweakers(m, weights);
    uint32_t count = 0;
    for (size_t i = 0; i < (size_t)m->n * FACE_TWEAKERS; i++) count += weights[i] > 0;
    face->pulls = PELT_NEW(face->arena, count, face_pull);
    count = 0;
    for (uint32_t v = 0; v < m->n; v++) {
        for (uint32_t k = 0; k < FACE_TWEAKERS; k++) {
            float weight = weights[(size_t)v * FACE_TWEAKERS + k];
            if (weight > 0) face->pulls[count++] = (face_pull){k, weight};
        }
        face->first_pull[v + 1] = count;
    }
}

/* The requested points and triangles between them: each vertex of the face maps to the chosen point fewest edges away,
   and triangles whose corners coincide are dropped. */
static void choose_points(making *m, uint32_t count) {
    pelt_face *face = m->face;
    pelt_mesh *mesh = &face->mesh;
    uint32_t *owner = PELT_NEW(m->scratch, m->n, uint32_t), *queue = PELT_NEW(m->scratch, m->n, uint32_t), tail = 0;
    face->source = PELT_NEW(face->arena, count, uint32_t);
    mesh->positions = PELT_NEW(face->arena, 3 * (size_t)count, float);
    mesh->normals = PELT_NEW(face->arena, 3 * (size_t)count, float);
    mesh->triangles = PELT_NEW(face->arena, 3 * (size_t)m->mesh->triangle_count + 1, uint32_t);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = face->source[i] = (uint32_t)((uint64_t)i * m->n / count);
        memcpy(mesh->positions + 3 * (size_t)i, rest_of(m, v), 3 * sizeof(float));
        owner[v] = i + 1;
        queue[tail++] = v;
    }
    for (uint32_t head = 0; head < tail; head++)
        for (uint32_t k = m->first_neighbour[queue[head]]; k < m->first_neighbour[queue[head] + 1]; k++) {
            uint32_t v = m->neighbours[k];
            if (!owner[v]) owner[v] = owner[queue[head]], queue[tail++] = v;
        }
    mesh->vertex_count = count;
    for (size_t t = 0; t < m->mesh->triangle_count; t++) {
        uint32_t c[3];
        for (int i = 0; i < 3; i++) c[i] = owner[m->mesh->triangles[3 * t + (size_t)i]];
        if (!c[0] || !c[1] || !c[2] || c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
        for (int i = 0; i < 3; i++) mesh->triangles[3 * (size_t)mesh->triangle_count + (size_t)i] = c[i] - 1;
        mesh->triangle_count++;
    }
    pelt_mesh_normals(mesh->positions, count, mesh->triangles, mesh->triangle_count, mesh->normals);
    mesh->diagonal = (float)pelt_diagonal(mesh->positions, count);
}

/* -- The face ------------------------------------------------------------------------------------------------------ */

static void find_anatomy(making *m) {
    for (uint32_t v = 0; v < m->n; v++) {
        memcpy(m->face->vertices[v].position, rest_of(m, v), 3 * sizeof(float));
        memcpy(m->face->vertices[v].normal, m->mesh->normals + 3 * (size_t)v, 3 * sizeof(float));
    }
    find_jaw(m);
    weigh_jaw(m);
    for (int e = 0; e < 2; e++) find_eye(m, e), weigh_lids(m, e);
    find_mouth(m);
    pair_lips(m);
    weigh_neck(m);
    set_stretch(m);
    set_wrinkles(m);
}

/* A stage: all memory comes from the face's arena and the scratch inside it. */
static pelt_result make_face(void *user, pelt_error *error) {
    making *m = user;
    pelt_face *face = m->face;
    pelt_mesh formula = {0};
    m->scratch = pelt_arena_inside(face->arena);
    if (!m->mesh) face_shape_make(m->scratch, &formula), m->mesh = &formula;
    m->n = face->vertex_count = m->mesh->vertex_count;
    face->unit = m->mesh->diagonal / 47.5f; /* the diagonal of a life-size head and neck, in centimetres */
    face->vertices = PELT_NEW(face->arena, m->n, face_vertex);
    m->jaw_rest = PELT_NEW(m->scratch, 3 * (size_t)m->n, float);
    pelt_result result = read_shapes(m, error);
    if (result) return result;
    if (m->points > m->n)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "%u points were requested, but the face has %u vertices",
                         m->points, m->n);
    find_neighbours(m);
    find_anatomy(m);
    choose_pairs(m);
    for (int i = 0; i < FACE_PAIRS; i++) m->pairs[i] = make_corrective(m, face->pairs[i], 2, 0.5f);
    for (int i = 0; i < FACE_TRIPLES; i++) m->triples[i] = make_corrective(m, face->triples[i], 3, 0.8f);
    make_entries(m);
    make_pulls(m);
    choose_points(m, m->points ? m->points : m->n);
    pelt_arena_free(m->scratch);
    return PELT_OK;
}

pelt_face *pelt_face_new(const pelt_face_options *options, pelt_error *error) {
    pelt_arena *arena = pelt_arena_new(0);
    pelt_face *face = PELT_NEW(arena, 1, pelt_face);
    making m = {.face = face, .mesh = options->mesh, .points = options->points, .random = {20}};
    if (face) *face = (pelt_face){.arena = arena, .cost = options->cost};
    if (pelt_stage(arena, make_face, &m, error) == PELT_OK) return face;
    pelt_arena_free(arena);
    return NULL;
}

void pelt_face_free(pelt_face *face) {
    if (face) pelt_arena_free(face->arena);
}

const pelt_mesh *pelt_face_mesh(const pelt_face *face) { return &face->mesh; }
