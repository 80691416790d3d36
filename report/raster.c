/* raster.c: which triangle is visible where.

   With z the depth of a point in front of the eye, 1/z is affine over a projected triangle, so the depth buffer stores
   1/z, and an attribute a of the corners is sum(b a / z) / sum(b / z), with b the screen-space barycentric coordinates.

   A pixel has 16 samples, on a rotated grid in which no two share a row or a column: an edge of any slope gets 16
   steps. Samples of a pixel that see the same triangle are shaded once, at their mean. The picture is rendered in bands
   of rows to save memory. */

#include "report/raster.h"
#include "rig/maths.h"
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 16, BAND = 16, PROBE = 128, DIRECTIONS = 8, LARGEST_SIDE = 16384 };

static const float clay[3] = {0.44f, 0.345f, 0.29f};

/* -- Vertices in the picture --------------------------------------------------------------------------------------- */

static void scene_project(pelt_arena *arena, scene *s) {
    s->screen = PELT_NEW(arena, 3 * (size_t)s->mesh->vertex_count, float);
    for (size_t v = 0; v < s->mesh->vertex_count; v++) {
        double at[3];
        float *out = s->screen + 3 * v;
        if (!camera_project(&s->camera, s->look.positions + 3 * v, at)) continue;
        out[0] = (float)at[0], out[1] = (float)at[1], out[2] = (float)(1 / at[2]);
        if (!finite3(out)) out[0] = out[1] = out[2] = 0;
    }
}

/* -- Triangles in the picture -------------------------------------------------------------------------------------- */

/* Edge functions: weight[k] = at[k] + x dx[k] + y dy[k] is the barycentric coordinate of corner k. */
typedef struct outline {
    double at[3], dx[3], dy[3];
    double low[2], high[2]; /* bounds */
    float inverse_z[3];
    bool front;
} outline;

/* False when there is nothing to draw. */
static bool outline_make(const scene *s, uint32_t triangle, outline *out) {
    const uint32_t *corner = s->mesh->triangles + 3 * (size_t)triangle;
    const float *p[3];
    for (int k = 0; k < 3; k++) {
        p[k] = s->screen + 3 * (size_t)corner[k];
        out->inverse_z[k] = p[k][2];
        if (p[k][2] == 0) return false;
    }
    double area = ((double)p[1][0] - p[0][0]) * ((double)p[2][1] - p[0][1]) -
                  ((double)p[1][1] - p[0][1]) * ((double)p[2][0] - p[0][0]);
    if (area == 0 || !isfinite(1 / area)) return false;
    out->front = area < 0; /* y points down in the picture, which turns counter-clockwise into clockwise */
    for (int k = 0; k < 3; k++) {
        const float *a = p[(k + 1) % 3], *b = p[(k + 2) % 3];
        out->dx[k] = -((double)b[1] - a[1]) / area;
        out->dy[k] = ((double)b[0] - a[0]) / area;
        out->at[k] = -(out->dx[k] * a[0] + out->dy[k] * a[1]);
    }
    for (int i = 0; i < 2; i++) {
        out->low[i] = fmin(p[0][i], fmin(p[1][i], p[2][i]));
        out->high[i] = fmax(p[0][i], fmax(p[1][i], p[2][i]));
    }
    return true;
}

surface scene_surface(const scene *s, uint32_t triangle, double x, double y) {
    const camera *c = &s->camera;
    const uint32_t *corner = s->mesh->triangles + 3 * (size_t)triangle;
    outline o;
    surface out = {.normal = {0, 0, 1}};
    if (!outline_make(s, triangle, &o)) return out;
    double share[3], flat = 0, sum = 0, normal[3] = {0, 0, 0}, heat = 0;
    for (int k = 0; k < 3; k++) {
        double weight = fmax(0, o.at[k] + x * o.dx[k] + y * o.dy[k]);
        share[k] = weight * o.inverse_z[k];
        flat += weight, sum += share[k];
    }
    for (int k = 0; k < 3; k++) {
        const float *n = s->look.normals + 3 * (size_t)corner[k];
        for (int i = 0; i < 3 && finite3(n); i++) normal[i] += share[k] * n[i];
        if (s->look.heat) heat += share[k] / sum * s->look.heat[corner[k]];
        for (int i = 0; i < 3; i++)
            out.color[i] +=
                (float)(share[k] / sum) * (s->look.colors ? s->look.colors[3 * (size_t)corner[k] + i] : clay[i]);
    }
    double z = flat / sum;
    double turned[3] = {pelt_dot(normal, c->right), pelt_dot(normal, c->up), pelt_dot(normal, c->back)};
    double length = sqrt(pelt_dot(turned, turned)), side = o.front ? 1 : -1;
    for (int i = 0; i < 3 && length > 0; i++) out.normal[i] = (float)(side * turned[i] / length);
    out.position[0] = (float)((x - c->half_width) * z / c->focal);
    out.position[1] = (float)((c->half_height - y) * z / c->focal);
    out.position[2] = (float)-z;
    out.heat = (float)heat;
    out.front = o.front;
    return out;
}

/* -- Depth buffer ---------------------------------------------------------------------------------------------------*/

/* Some rows of the picture; the samples of a pixel are contiguous. */
typedef struct band {
    uint32_t width, first_row, row_count, sample_count;
    double x[SAMPLES], y[SAMPLES]; /* positions of the samples within their pixel */
    float *inverse_z;              /* [row_count][width][sample_count]; 0: nothing seen */
    uint32_t *seen;                /* the triangle plus 1, or 0 */
} band;

static band band_new(pelt_arena *arena, uint32_t width, uint32_t row_count, uint32_t sample_count) {
    band b = {.width = width, .row_count = row_count, .sample_count = sample_count};
    size_t count = (size_t)width * row_count * sample_count;
    b.inverse_z = PELT_NEW(arena, count, float);
    b.seen = PELT_NEW(arena, count, uint32_t);
    for (int i = 0; i < SAMPLES; i++) { /* a 4x4 grid, rotated by atan(1/4) */
        b.x[i] = sample_count == 1 ? 0.5 : (i % 4 + (i / 4 + 0.5) / 4) / 4;
        b.y[i] = sample_count == 1 ? 0.5 : (i / 4 + (3 - i % 4 + 0.5) / 4) / 4;
    }
    return b;
}

static void draw_pixel(band *b, const outline *o, uint32_t triangle, const double offset[3][SAMPLES], uint32_t x,
                       uint32_t y) {
    double base[3];
    for (int k = 0; k < 3; k++) base[k] = o->at[k] + x * o->dx[k] + y * o->dy[k];
    size_t first = ((size_t)(y - b->first_row) * b->width + x) * b->sample_count;
    for (uint32_t i = 0; i < b->sample_count; i++) {
        double u = base[0] + offset[0][i], v = base[1] + offset[1][i], w = base[2] + offset[2][i];
        if (!(u >= 0 && v >= 0 && w >= 0)) continue;
        float inverse_z = (float)(u * o->inverse_z[0] + v * o->inverse_z[1] + w * o->inverse_z[2]);
        if (!(inverse_z > b->inverse_z[first + i])) continue;
        b->inverse_z[first + i] = inverse_z;
        b->seen[first + i] = triangle + 1;
    }
}

static void draw_triangle(band *b, const outline *o, uint32_t triangle) {
    double last_row = (double)b->first_row + b->row_count - 1;
    double left = fmax(0, floor(o->low[0])), right = fmin((double)b->width - 1, floor(o->high[0]));
    double top = fmax(b->first_row, floor(o->low[1])), bottom = fmin(last_row, floor(o->high[1]));
    if (!(left <= right && top <= bottom)) return;
    double offset[3][SAMPLES];
    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0; i < b->sample_count; i++) offset[k][i] = b->x[i] * o->dx[k] + b->y[i] * o->dy[k];
    for (uint32_t y = (uint32_t)top; y <= (uint32_t)bottom; y++)
        for (uint32_t x = (uint32_t)left; x <= (uint32_t)right; x++)
            draw_pixel(b, o, triangle, (const double(*)[SAMPLES])offset, x, y);
}

static void band_draw(band *b, const scene *s, uint32_t first_row) {
    size_t count = (size_t)b->width * b->row_count * b->sample_count;
    b->first_row = first_row;
    memset(b->inverse_z, 0, count * sizeof *b->inverse_z);
    memset(b->seen, 0, count * sizeof *b->seen);
    for (uint32_t t = 0; t < s->mesh->triangle_count; t++) {
        const uint32_t *corner = s->mesh->triangles + 3 * (size_t)t;
        float low = INFINITY, high = -INFINITY;
        for (int k = 0; k < 3; k++) {
            float y = s->screen[3 * (size_t)corner[k] + 1];
            low = fminf(low, y), high = fmaxf(high, y);
        }
        outline o;
        if (high >= (float)first_row && low <= (float)(first_row + b->row_count) && outline_make(s, t, &o))
            draw_triangle(b, &o, t);
    }
}

/* -- Pixels -------------------------------------------------------------------------------------------------------- */

/* The colour of a pixel is the mean over its covered samples, its alpha their fraction: not premultiplied, as PNG
   requires. */
static void resolve_pixel(const band *b, const scene *s, uint32_t x, uint32_t y, float openness, uint8_t rgba[4]) {
    const uint32_t *seen = b->seen + ((size_t)(y - b->first_row) * b->width + x) * b->sample_count;
    float sum[3] = {0, 0, 0};
    uint32_t covered = 0;
    bool done[SAMPLES] = {false};
    for (uint32_t i = 0; i < b->sample_count; i++) {
        if (!seen[i] || done[i]) continue;
        double at[2] = {0, 0};
        uint32_t same = 0;
        for (uint32_t j = i; j < b->sample_count; j++)
            if (seen[j] == seen[i]) done[j] = true, same++, at[0] += b->x[j], at[1] += b->y[j];
        surface point = scene_surface(s, seen[i] - 1, x + at[0] / same, y + at[1] / same);
        float rgb[3];
        shade_surface(&point, s->look.heat != NULL, openness, rgb);
        for (int c = 0; c < 3; c++) sum[c] += (float)same * rgb[c];
        covered += same;
    }
    for (int c = 0; c < 3; c++) rgba[c] = covered ? shade_encode(sum[c] / (float)covered) : 0;
    rgba[3] = (uint8_t)((covered * 255 + b->sample_count / 2) / b->sample_count);
}

static void draw_pixels(pelt_arena *arena, const scene *s, pelt_image *image) {
    band whole = band_new(arena, image->width, image->height, 1), fine = band_new(arena, image->width, BAND, SAMPLES);
    band_draw(&whole, s, 0);
    const float *openness = shade_openness(arena, s, whole.seen, image->width, image->height);
    for (uint32_t row = 0; row < image->height; row++) {
        if (row % BAND == 0) band_draw(&fine, s, row);
        for (uint32_t x = 0; x < image->width; x++) {
            size_t at = (size_t)row * image->width + x;
            resolve_pixel(&fine, s, x, row, openness[at], image->rgba + 4 * at);
        }
    }
}

/* -- Meshes -------------------------------------------------------------------------------------------------------- */

static bool indices_inside(const pelt_mesh *mesh) {
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        if (mesh->triangles[i] >= mesh->vertex_count) return false;
    return true;
}

/* Draws a picture, or sums up some visible values: stages that take all memory from the arena. */
typedef struct drawing {
    pelt_arena *arena;
    scene *scene;
    pelt_image *image;
    const float *values;
    double seen; /* sum of the visible values */
} drawing;

static pelt_result draw_image(void *user, pelt_error *error) {
    (void)error;
    const drawing *d = user;
    scene *s = d->scene;
    if (!s->look.normals) {
        float *own = PELT_NEW(d->arena, 3 * (size_t)s->mesh->vertex_count, float);
        if (s->mesh->normals)
            pelt_surface_normals(pelt_smoothing_of(d->arena, s->mesh, (pelt_examples){0}), s->look.positions, own);
        else
            pelt_mesh_normals(s->look.positions, s->mesh->vertex_count, s->mesh->triangles, s->mesh->triangle_count,
                              own);
        s->look.normals = own;
    }
    scene_project(d->arena, s);
    draw_pixels(d->arena, s, d->image);
    return PELT_OK;
}

pelt_result pelt_draw_mesh(pelt_image *image, const pelt_view *view, const pelt_mesh *mesh, const pelt_look *look) {
    scene s = {.mesh = mesh, .look = *look};
    if (!look->positions) s.look.positions = mesh->positions;
    if (!look->normals && s.look.positions == mesh->positions) s.look.normals = mesh->normals;
    memset(image->rgba, 0, 4 * (size_t)image->width * image->height);
    if (!camera_make(view, image->width, image->height, &s.camera)) return PELT_ERROR_ARGUMENT;
    if (!indices_inside(mesh)) return PELT_ERROR_INDEX;
    drawing d = {.arena = pelt_arena_new(0), .scene = &s, .image = image};
    pelt_result result = pelt_stage(d.arena, draw_image, &d, NULL);
    pelt_arena_free(d.arena);
    return result;
}

static pelt_result sum_visible(void *user, pelt_error *error) {
    (void)error;
    drawing *d = user;
    band b = band_new(d->arena, PROBE, PROBE, 1);
    scene_project(d->arena, d->scene);
    band_draw(&b, d->scene, 0);
    for (size_t i = 0; i < PROBE * PROBE; i++) {
        const uint32_t *corner = b.seen[i] ? d->scene->mesh->triangles + 3 * (size_t)(b.seen[i] - 1) : NULL;
        for (int k = 0; corner && k < 3; k++)
            if (isfinite(d->values[corner[k]])) d->seen += d->values[corner[k]] / 3;
    }
    return PELT_OK;
}

double pelt_view_visible(const pelt_view *view, const pelt_mesh *mesh, const float *positions, const float *values) {
    scene s = {.mesh = mesh, .look = {.positions = positions}};
    if (!camera_make(view, PROBE, PROBE, &s.camera) || !indices_inside(mesh)) return 0;
    drawing d = {.arena = pelt_arena_new(0), .scene = &s, .values = values};
    pelt_result result = pelt_stage(d.arena, sum_visible, &d, NULL);
    pelt_arena_free(d.arena);
    return result ? NAN : d.seen;
}

bool pelt_view_turn(pelt_view *view, const pelt_mesh *mesh, const float *positions, const float *values) {
    pelt_view turned = *view;
    double best = -1;
    for (int k = 0; k < DIRECTIONS; k++) {
        turned.azimuth = 22.5 + 360.0 / DIRECTIONS * k; /* never straight on: slightly rotated shows more of the
                                                           shape */
        double front = 0.5 + 0.5 * cos(turned.azimuth * M_PI / 180);
        double shown = (0.8 + 0.2 * front) * pelt_view_visible(&turned, mesh, positions, values);
        if (isnan(shown)) return false;
        if (shown > best * (1 + 1e-9)) best = shown, view->azimuth = turned.azimuth;
    }
    return true;
}

/* -- Images -------------------------------------------------------------------------------------------------------- */

pelt_result pelt_check_picture_size(const char *option, uint32_t pixels, pelt_error *error) {
    enum { LEAST = 32, MOST = 4096 };
    if (pixels >= LEAST && pixels <= MOST) return PELT_OK;
    return pelt_fail_option(error, option, " must be between %d and %d pixels, not %u", LEAST, MOST, pixels);
}

pelt_image *pelt_image_new(uint32_t width, uint32_t height) {
    if (width == 0 || height == 0 || width > LARGEST_SIDE || height > LARGEST_SIDE) return NULL;
    pelt_image *image = calloc(1, sizeof *image + 4 * (size_t)width * height);
    if (image) *image = (pelt_image){width, height, (uint8_t *)(image + 1)};
    return image;
}

void pelt_image_free(pelt_image *image) { free(image); }

void pelt_image_paste(pelt_image *to, const pelt_image *from, uint32_t left, uint32_t top) {
    for (uint32_t y = 0; y < from->height; y++)
        for (uint32_t x = 0; x < from->width; x++) {
            const uint8_t *source = from->rgba + 4 * ((size_t)y * from->width + x);
            uint8_t *target = to->rgba + 4 * ((size_t)(top + y) * to->width + left + x);
            double alpha = source[3] / 255.0;
            for (int i = 0; i < 3; i++) {
                double under = target[3] ? target[i] : 255;
                target[i] = (uint8_t)(alpha * source[i] + (1 - alpha) * under + 0.5);
            }
            target[3] = 255;
        }
}
