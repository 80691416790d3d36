/* flesh_show.c: pelt flesh --show: the body cut open: bones before the far side of the skin, and the lattice,
   each limb of it cut along its own bones. */

#include "cli/flesh.h"
#include "flesh/motion.h"
#include "report/report.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

enum { PANEL_HEIGHT = 900 };

/* Linear colours. */
static const float ivory[3] = {0.78f, 0.72f, 0.55f}, muscle[3] = {0.5f, 0.09f, 0.07f}, fat[3] = {0.72f, 0.5f, 0.16f},
                   skin[3] = {0.5f, 0.3f, 0.22f};

typedef struct drawing {
    pelt_arena *arena;
    const pelt_mesh *mesh;
    const pelt_volume *volume;
    pelt_view view;
    double to_eye[3], eye[3]; /* the direction, and the place */
    double aspect;
} drawing;

/* A mesh in the making: every triangle on its own, so that facets show. */
typedef struct pieces {
    pelt_mesh mesh;
    float *colors;
} pieces;

static bool begin(const drawing *d, pieces *p, size_t triangles) {
    *p = (pieces){.colors = PELT_NEW(d->arena, 9 * triangles, float)};
    p->mesh.positions = PELT_NEW(d->arena, 9 * triangles, float);
    p->mesh.normals = PELT_NEW(d->arena, 9 * triangles, float);
    p->mesh.triangles = PELT_NEW(d->arena, 3 * triangles, uint32_t);
    return !pelt_arena_failed(d->arena);
}

static void add(pieces *p, const double a[3], const double b[3], const double c[3], const float color[3]) {
    const double *corners[3] = {a, b, c};
    double u[3], v[3], n[3];
    for (int k = 0; k < 3; k++) u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    pelt_cross(u, v, n);
    double length = pelt_length(n);
    for (int i = 0; i < 3; i++) {
        size_t at = p->mesh.vertex_count++;
        for (int k = 0; k < 3; k++) {
            p->mesh.positions[3 * at + (size_t)k] = (float)corners[i][k];
            p->mesh.normals[3 * at + (size_t)k] = length > 0 ? (float)(n[k] / length) : k == 2;
        }
        memcpy(p->colors + 3 * at, color, 3 * sizeof *color);
        p->mesh.triangles[3 * (size_t)p->mesh.triangle_count + (size_t)i] = (uint32_t)at;
    }
    p->mesh.triangle_count++;
}

/* -- What there is ------------------------------------------------------------------------------------------------- */

/* The far side of the skin: what faces away from the eye. */
static void add_skin(const drawing *d, pieces *p) {
    bool inside_out = false;
    for (int pass = 0; pass < 2; pass++) { /* a mesh that is inside out shows its near side: once more, turned */
        double volume = 0;
        for (uint32_t t = 0; t < d->mesh->triangle_count; t++) {
            double x[3][3], n[3], u[3], v[3], view[3];
            for (size_t c = 0; c < 3; c++)
                for (size_t k = 0; k < 3; k++)
                    x[c][k] = d->mesh->positions[3 * (size_t)d->mesh->triangles[3 * (size_t)t + c] + k];
            for (int k = 0; k < 3; k++)
                u[k] = x[1][k] - x[0][k], v[k] = x[2][k] - x[0][k], view[k] = d->eye[k] - x[0][k];
            pelt_cross(u, v, n);
            volume += pelt_dot(x[0], n);
            if (pass && (pelt_dot(n, view) < 0) != inside_out) add(p, x[0], x[1], x[2], skin);
        }
        inside_out = volume < 0;
    }
}

static void add_mesh(pieces *p, const pelt_mesh *mesh, const float color[3]) {
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        double x[3][3];
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 3; k++)
                x[c][k] = mesh->positions[3 * (size_t)mesh->triangles[3 * (size_t)t + c] + k];
        add(p, x[0], x[1], x[2], color);
    }
}

/* Whether a place is nearer to the eye than the bone next to it: limbs are cut along their own bones, wherever they lead. */
static bool before_bone(const drawing *d, const double x[3]) {
    const pelt_flesh_bones *bones = &d->volume->bones;
    double best = INFINITY, side = 0;
    for (uint32_t b = 0; b < bones->count; b++) {
        const double *from = bones->list[b].ends[0], *to = bones->list[b].ends[1];
        double along[3], off[3];
        for (int k = 0; k < 3; k++) along[k] = to[k] - from[k], off[k] = x[k] - from[k];
        double length = pelt_dot(along, along);
        double t = length > 0 ? fmin(fmax(pelt_dot(off, along) / length, 0), 1) : 0;
        for (int k = 0; k < 3; k++) off[k] -= t * along[k];
        double far = pelt_length(off) - bones->list[b].radius;
        if (far < best) best = far, side = pelt_dot(off, d->to_eye);
    }
    return side > 0.3 * d->volume->cell;
}

/* Elements behind the cut, a little apart. */
static void add_lattice(const drawing *d, pieces *p) {
    static const int faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    const pelt_volume *v = d->volume;
    for (uint32_t e = 0; e < v->element_count; e++) {
        double x[4][3], middle[3] = {0};
        int held = 0;
        for (int c = 0; c < 4; c++) {
            uint32_t node = v->elements[4 * (size_t)e + (size_t)c];
            memcpy(x[c], v->nodes + 3 * (size_t)node, sizeof x[c]);
            held += v->node_bones[node] >= 0;
            for (int k = 0; k < 3; k++) middle[k] += x[c][k] / 4;
        }
        if (before_bone(d, middle)) continue;
        float color[3];
        for (int k = 0; k < 3; k++)
            color[k] = held > 1 ? ivory[k] : (float)(v->fat[e] * fat[k] + (1 - v->fat[e]) * muscle[k]);
        for (int c = 0; c < 4; c++)
            for (int k = 0; k < 3; k++) x[c][k] = middle[k] + 0.92 * (x[c][k] - middle[k]);
        for (int f = 0; f < 4; f++) add(p, x[faces[f][0]], x[faces[f][1]], x[faces[f][2]], color);
    }
}

/* -- The picture --------------------------------------------------------------------------------------------------- */

/* Looks across the axis along which the body is thinnest. */
static void aim(drawing *d) {
    static const double azimuths[3] = {70, 20, 20}, elevations[3] = {15, 65, 15}, degree = M_PI / 180;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    int axis = 0;
    for (size_t i = 0; i < 3 * (size_t)d->mesh->vertex_count; i++)
        low[i % 3] = fmin(low[i % 3], d->mesh->positions[i]), high[i % 3] = fmax(high[i % 3], d->mesh->positions[i]);
    for (int k = 1; k < 3; k++)
        if (high[k] - low[k] < high[axis] - low[axis]) axis = k;
    d->view = pelt_view_fit(d->mesh->positions, d->mesh->vertex_count, azimuths[axis], elevations[axis]);
    pelt_view_tighten(&d->view, d->mesh->positions, d->mesh->vertex_count, &d->aspect);
    double up = d->view.elevation * degree, around = d->view.azimuth * degree;
    d->to_eye[0] = sin(around) * cos(up), d->to_eye[1] = sin(up), d->to_eye[2] = cos(around) * cos(up);
    for (int k = 0; k < 3; k++) d->eye[k] = d->view.center[k] + pelt_view_distance(&d->view) * d->to_eye[k];
}

static pelt_result draw(const drawing *d, const pieces *p, pelt_image *sheet, uint32_t left) {
    pelt_image *image = pelt_image_new(sheet->width / 2, sheet->height);
    pelt_look look = {.normals = p->mesh.normals, .colors = p->colors};
    pelt_result result = image ? pelt_draw_mesh(image, &d->view, &p->mesh, &look) : PELT_ERROR_MEMORY;
    if (!result) pelt_image_paste(sheet, image, left, 0);
    pelt_image_free(image);
    return result;
}

/* What is drawn stands as the character does, which its mesh may not: copies, moved by the skeleton at rest. */
static bool stand_up(pelt_arena *arena, const pelt_bundle *bundle, pelt_mesh *mesh, pelt_volume *v) {
    pelt_flesh_motion rest;
    pelt_error error;
    double scale;
    if (pelt_flesh_motion_to(arena, &bundle->skeleton, &v->bones, NULL, bundle->skeleton.rest, &rest, &error))
        return !pelt_arena_failed(arena); /* joints that stretch at rest: as it lies */
    scale = cbrt(pelt_affine_determinant(rest.whole.m));
    float *positions = PELT_NEW(arena, 3 * (size_t)mesh->vertex_count, float);
    double *nodes = PELT_NEW(arena, 3 * (size_t)v->node_count, double);
    pelt_flesh_bone *list = PELT_NEW(arena, v->bones.count, pelt_flesh_bone);
    if (pelt_arena_failed(arena)) return false;
    for (size_t i = 0; i < mesh->vertex_count; i++) {
        double out[3], in[3] = {mesh->positions[3 * i], mesh->positions[3 * i + 1], mesh->positions[3 * i + 2]};
        pelt_affine_point(&rest.whole, in, out);
        for (size_t k = 0; k < 3; k++) positions[3 * i + k] = (float)out[k];
    }
    for (size_t i = 0; i < v->node_count; i++) pelt_affine_point(&rest.whole, v->nodes + 3 * i, nodes + 3 * i);
    for (uint32_t b = 0; b < v->bones.count; b++) {
        list[b] = v->bones.list[b], list[b].radius *= scale;
        for (int e = 0; e < 2; e++) pelt_affine_point(&rest.whole, v->bones.list[b].ends[e], list[b].ends[e]);
    }
    mesh->positions = positions, v->nodes = nodes, v->bones.list = list, v->cell *= scale;
    return true;
}

pelt_result flesh_show(const pelt_bundle *bundle, const pelt_volume *built, const char *path, pelt_error *error) {
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    pelt_mesh mesh = bundle->mesh;
    pelt_volume standing = *built, *volume = &standing;
    drawing d = {.arena = arena, .mesh = &mesh, .volume = volume};
    pieces inner, lattice;
    if (!stand_up(arena, bundle, &mesh, volume)) return pelt_no_memory(error);
    aim(&d);
    uint32_t width = (uint32_t)fmin(fmax(PANEL_HEIGHT * d.aspect, 200), 2400);
    pelt_mesh bones;
    if (!flesh_bone_mesh(arena, &volume->bones, &bones) ||
        !begin(&d, &inner, (size_t)d.mesh->triangle_count + bones.triangle_count) ||
        !begin(&d, &lattice, 4 * (size_t)volume->element_count))
        return pelt_no_memory(error);
    add_skin(&d, &inner), add_mesh(&inner, &bones, ivory), add_lattice(&d, &lattice);
    pelt_image *sheet = pelt_image_new(2 * width, PANEL_HEIGHT);
    if (sheet) memset(sheet->rgba, 255, 4 * (size_t)sheet->width * sheet->height);
    pelt_bytes png;
    bool drawn = sheet && !draw(&d, &inner, sheet, 0) && !draw(&d, &lattice, sheet, width);
    pelt_result result = drawn ? pelt_image_png(sheet, &png, error) : pelt_no_memory(error);
    pelt_image_free(sheet);
    return result ? result : cli_write_made(result, &png, path, error);
}
