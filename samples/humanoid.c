/* humanoid.c: the speed workload. 53 joints (spine, head, arms, five fingers per hand, legs), skinned tubes around the
   bones, and weights of the four nearest bones: w = 1 / (d^4 + e), d the distance to the bone. Its truth is its own
   linear blend: it is for timing, not fitting. */

#include "samples/build.h"
#include <math.h>
#include <stdio.h>

/* A chain of bones with one tube around it. `across` is perpendicular to the chain. */
typedef struct limb {
    int32_t parent;
    uint32_t first_joint, joint_count;
    double points[9][3], radii[9];
    double across[3];
} limb;

enum { LIMBS = 15, FINGERS = 5, JOINTS = 53 };

typedef struct body {
    limb limbs[LIMBS];
    uint32_t limb_count, joint_count;
    sample_joint *joints;
} body;

/* -- Bones --------------------------------------------------------------------------------------------------------- */

static limb *begin_limb(body *b, int32_t parent, const double across[3]) {
    limb *l = &b->limbs[b->limb_count++];
    *l = (limb){parent, b->joint_count, 0, {{0}}, {0}, {across[0], across[1], across[2]}};
    return l;
}

/* The start of the bone `name` of the limb, with the tube's radius there; name NULL: the end of the last bone. */
static void add_point(body *b, limb *l, const char *name, double x, double y, double z, double radius) {
    uint32_t k = l->joint_count;
    l->points[k][0] = x, l->points[k][1] = y, l->points[k][2] = z;
    l->radii[k] = radius;
    if (k > 0)
        for (int i = 0; i < 3; i++) b->joints[b->joint_count - 1].tail[i] = l->points[k][i];
    if (!name) return;
    sample_joint *joint = &b->joints[b->joint_count];
    snprintf(joint->name, sizeof joint->name, "%s", name);
    joint->parent = k > 0 ? (int32_t)b->joint_count - 1 : l->parent;
    for (int i = 0; i < 3; i++) joint->head[i] = l->points[k][i];
    l->joint_count++;
    b->joint_count++;
}

static void add_trunk(body *b) {
    static const char *const names[] = {"hips", "spine1", "spine2", "spine3", "chest"};
    static const double radii[] = {0.155, 0.150, 0.140, 0.150, 0.160};
    limb *l = begin_limb(b, -1, (double[3]){0, 0, 1});
    for (int i = 0; i < 5; i++) add_point(b, l, names[i], 0, 0.95 + 0.11 * i, 0, radii[i]);
    add_point(b, l, "neck", 0, 1.50, 0, 0.075);
    add_point(b, l, "head", 0, 1.58, 0, 0.075);
    add_point(b, l, NULL, 0, 1.80, 0, 0.100);
}

static const char *side_name(char *name, size_t size, const char *word, int number, double side) {
    if (number)
        snprintf(name, size, "%s%d_%c", word, number, side < 0 ? 'r' : 'l');
    else
        snprintf(name, size, "%s_%c", word, side < 0 ? 'r' : 'l');
    return name;
}

static void add_arm(body *b, double side) {
    static const char *const words[] = {"clavicle", "upperarm", "forearm", "hand"};
    static const char *const finger_words[FINGERS] = {"pinky", "ring", "middle", "index", "thumb"};
    static const double places[] = {0.03, 0.18, 0.45, 0.70, 0.79}, radii[] = {0.07, 0.06, 0.045, 0.032, 0.030};
    char name[24];
    limb *l = begin_limb(b, 4, (double[3]){0, 0, 1});
    for (int i = 0; i < 4; i++)
        add_point(b, l, side_name(name, sizeof name, words[i], 0, side), side * places[i], 1.43, 0, radii[i]);
    add_point(b, l, NULL, side * places[4], 1.43, 0, radii[4]);
    int32_t hand = (int32_t)b->joint_count - 1;
    for (int f = 0; f < FINGERS; f++) {
        double z = 0.021 * (f - 1.5), start = f == 4 ? 0.735 : 0.79; /* the thumb sits lower and leans out */
        l = begin_limb(b, hand, (double[3]){0, 1, 0});
        for (int g = 0; g < 3; g++)
            add_point(b, l, side_name(name, sizeof name, finger_words[f], g + 1, side), side * (start + 0.03 * g), 1.43,
                      f == 4 ? z + 0.008 * g - 0.012 : z, 0.0095);
        add_point(b, l, NULL, side * (start + 0.085), 1.43, f == 4 ? z + 0.010 : z, 0.0075);
    }
}

static void add_leg(body *b, double side) {
    static const char *const words[] = {"thigh", "shin", "foot", "toes"};
    static const double points[][3] = {
        {0.10, 0.93, 0}, {0.10, 0.52, 0.01}, {0.10, 0.10, -0.01}, {0.10, 0.035, 0.11}, {0.10, 0.03, 0.19}};
    static const double radii[] = {0.095, 0.062, 0.045, 0.038, 0.025};
    char name[24];
    limb *l = begin_limb(b, 0, (double[3]){1, 0, 0});
    for (int i = 0; i < 5; i++)
        add_point(b, l, i < 4 ? side_name(name, sizeof name, words[i], 0, side) : NULL, side * points[i][0],
                  points[i][1], points[i][2], radii[i]);
}

static void make_body(body *b, sample_joint joints[SAMPLE_JOINTS]) {
    *b = (body){.joints = joints};
    add_trunk(b);
    for (int side = -1; side <= 1; side += 2) add_arm(b, side);
    for (int side = -1; side <= 1; side += 2) add_leg(b, side);
}

static uint32_t skeleton(sample_joint joints[SAMPLE_JOINTS]) {
    body b;
    make_body(&b, joints);
    return b.joint_count;
}

/* -- Skin ---------------------------------------------------------------------------------------------------------- */

/* A round tube along the points of the limb, with round ends. */
static void limb_point(const void *user, double t, double turn, double out[3]) {
    const limb *l = user;
    const double cap = 0.06, right = 90 * DEGREE;
    double end = fmin(t, 1 - t), rise = end < cap ? right * end / cap : right;
    double along = fmin(1, fmax(0, (t - cap) / (1 - 2 * cap))) * l->joint_count;
    uint32_t k = (uint32_t)fmin(along, l->joint_count - 1);
    double part = along - k, radius = l->radii[k] + part * (l->radii[k + 1] - l->radii[k]);
    /* The direction changes gradually from bone to bone, so that sections do not cross at the ankle. */
    double axis[3], length = 0, lean = 0, across[3], over[3];
    for (int i = 0; i < 3; i++) {
        double here = l->points[k + 1][i] - l->points[k][i];
        double last = k > 0 ? l->points[k][i] - l->points[k - 1][i] : here;
        double next = k + 1 < l->joint_count ? l->points[k + 2][i] - l->points[k + 1][i] : here;
        axis[i] = part < 0.5 ? (0.5 - part) * last + (0.5 + part) * here : (1.5 - part) * here + (part - 0.5) * next;
        length += axis[i] * axis[i];
    }
    for (int i = 0; i < 3; i++) axis[i] /= sqrt(length), lean += axis[i] * l->across[i];
    for (int i = 0; i < 3; i++) across[i] = l->across[i] - lean * axis[i];
    length = sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]);
    for (int i = 0; i < 3; i++) across[i] /= length;
    for (int i = 0; i < 3; i++)
        over[i] = axis[(i + 1) % 3] * across[(i + 2) % 3] - axis[(i + 2) % 3] * across[(i + 1) % 3];
    double dome = end < cap ? (t < 0.5 ? -1 : 1) * radius * cos(rise) : 0;
    double c = radius * sin(rise) * cos(4 * right * turn), s = radius * sin(rise) * sin(4 * right * turn);
    for (int i = 0; i < 3; i++)
        out[i] = l->points[k][i] + part * (l->points[k + 1][i] - l->points[k][i]) + dome * axis[i] + c * across[i] +
                 s * over[i];
}

static double limb_area(const limb *l) {
    double area = 0;
    for (uint32_t k = 0; k < l->joint_count; k++) {
        const double *a = l->points[k], *b = l->points[k + 1];
        area += sqrt(pow(b[0] - a[0], 2) + pow(b[1] - a[1], 2) + pow(b[2] - a[2], 2)) * (l->radii[k] + l->radii[k + 1]);
    }
    return area;
}

/* Distributes all vertices among the limbs by area. */
static void mesh(pelt_arena *arena, pelt_mesh *out) {
    sample_joint joints[SAMPLE_JOINTS] = {0};
    body b;
    make_body(&b, joints);
    double area = 0, done = 0;
    for (uint32_t i = 0; i < b.limb_count; i++) area += limb_area(&b.limbs[i]);
    uint32_t vertex = 0, spare = out->vertex_count - TUBE_LEAST * b.limb_count;
    uint32_t *triangles = out->triangles;
    for (uint32_t i = 0; i < b.limb_count; i++) {
        done += limb_area(&b.limbs[i]);
        uint32_t end =
            i + 1 == b.limb_count ? out->vertex_count : TUBE_LEAST * (i + 1) + (uint32_t)(spare * fmin(1, done / area));
        tube_shape shape = {limb_point, &b.limbs[i], {0.06, 0.94}};
        tube_mesh(arena, &shape, end - vertex, vertex, out->positions + 3 * (size_t)vertex, triangles);
        triangles += 3 * (2 * (size_t)(end - vertex) - 4);
        vertex = end;
    }
    out->triangle_count = (uint32_t)((triangles - out->triangles) / 3);
}

static void weights(const sample_joint *joints, uint32_t joint_count, const double place[3], double *out) {
    for (uint32_t j = 0; j < joint_count; j++) {
        double t;
        out[j] = 1 / (pow(sample_segment_distance(joints[j].head, joints[j].tail, place, &t), 4) + 1e-8);
    }
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

static void pose(const sample_moment *moment, sample_random *random, double (*rotations)[4]) {
    for (int j = 0; j < JOINTS; j++) {
        double turn[3];
        for (int i = 0; i < 3; i++) turn[i] = sample_uniform(random, -0.3, 0.3);
        if (moment->training && moment->frame == 0) continue; /* the rest pose */
        if (j == 0) turn[0] = turn[2] = 0;                    /* upright */
        sample_swing_twist(turn[1], turn[2], turn[0], rotations[j]);
    }
}

const sample_recipe sample_humanoid = {"humanoid", 11574,   8,    8,    {0, 0, 0, 1}, skeleton,
                                       mesh,       weights, pose, NULL, NULL,         NULL};
