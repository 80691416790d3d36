/* gallery.c: the contents and cameras of a report's pictures.

   Each chosen frame is a strip: the truth, then every method's model and its errors, all with one camera and one colour
   scale. Full colour is the error that 99% of the vertices of the median method stay under, so that one bad method does
   not leave the others without colour. The camera is the one of eight around the character that shows most squared
   error, slightly above the horizon. If the error is concentrated on few vertices, a close-up of the worst one follows,
   with a separate camera. More strips show how far methods are apart, poses side by side, and the error and roughness
   of each vertex over all frames, on the rest pose, from the front and from behind; there each method has its own
   scale, because the question is where and not how much.

   Everything is planned first, then all pictures are drawn in parallel. */

#include "report/page.h"
#include "rig/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SIZE = 480, SMALLEST_COLUMN = 224, SMALLEST_SIZE = 32, MOST_PAIRED = 4, PAGE_WIDTH = 1304, GAP = 12 };

static const double ELEVATION = 12;

typedef struct plan {
    const pelt_report_page *page;
    gallery *gallery;
    bool alone; /* for one picture without a scale next to it: full colour is the largest error */
    uint32_t size, close_size, pose_size; /* longer sides: of frames and the rest pose, of close-ups, of poses */
} plan;

/* -- Errors -------------------------------------------------------------------------------------------------------- */

/* Distance of each vertex of a model from the truth; NULL without a model. */
static float *vertex_errors(plan *p, const float *model, const float *truth) {
    uint32_t n = p->page->mesh->vertex_count;
    float *errors = model && truth ? pelt_alloc(p->gallery->arena, n, sizeof *errors) : NULL;
    for (size_t v = 0; errors && v < n; v++) {
        const float *a = model + 3 * v, *b = truth + 3 * v;
        float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2], e = sqrtf(x * x + y * y + z * z);
        errors[v] = isfinite(e) ? e : 0;
    }
    return errors;
}

static double largest(const float *errors, uint32_t count, uint32_t *where) {
    double most = 0;
    for (uint32_t v = 0; errors && v < count; v++)
        if (errors[v] > most) most = errors[v], *where = v;
    return most;
}

/* Scales errors to heat, 0 to 1, in place. */
static void errors_to_heat(float *errors, uint32_t count, double full_heat) {
    for (size_t v = 0; errors && v < count; v++) errors[v] = full_heat > 0 ? (float)(errors[v] / full_heat) : 0;
}

/* The error that 99% of the vertices stay under; or the largest, if so few are wrong that it is 0. */
static double usual_largest(plan *p, const float *errors, uint32_t count) {
    uint32_t where = 0;
    float *sorted = errors ? pelt_alloc(p->gallery->arena, count, sizeof *sorted) : NULL;
    if (!sorted || !count) return 0;
    memcpy(sorted, errors, count * sizeof *sorted);
    double usual = pelt_quantile_floats(sorted, count, 0.99);
    return usual > 0 ? usual : largest(errors, count, &where);
}

/* The median over the methods with any error; between two, their geometric mean. */
static double middle_scale(plan *p, float *const *errors, uint32_t count) {
    double *scales = pelt_alloc(p->gallery->arena, p->page->row_count + 1, sizeof *scales);
    size_t found = 0;
    for (size_t r = 0; r < p->page->row_count; r++) {
        double scale = usual_largest(p, errors[r], count);
        if (scale > 0) scales[found++] = scale;
    }
    qsort(scales, found, sizeof *scales, pelt_rising_doubles);
    return found ? sqrt(scales[(found - 1) / 2] * scales[found / 2]) : 0;
}

/* The sum over the methods of each vertex's squared heat: what a camera should show. */
static float *interest(plan *p, float *const *heats) {
    uint32_t n = p->page->mesh->vertex_count;
    float *sum = pelt_alloc(p->gallery->arena, n, sizeof *sum);
    for (size_t r = 0; r < p->page->row_count; r++)
        for (size_t v = 0; heats[r] && v < n; v++) sum[v] += heats[r][v] * heats[r][v];
    return sum;
}

/* -- Cameras ------------------------------------------------------------------------------------------------------- */

static void turn_view(const plan *p, pelt_view *view, const float *positions, const float *values) {
    if (!pelt_view_turn(view, p->page->mesh, positions, values))
        pelt_arena_fail(p->gallery->arena); /* ends the stage */
}

/* A square around the worst vertex, wide enough for the errors near it; not used if the error is everywhere. */
static bool closeup_view(const plan *p, const float *truth, const float *heat, uint32_t worst, const pelt_view *wide,
                         pelt_view *view) {
    uint32_t n = p->page->mesh->vertex_count, strong = 0;
    double weight = 0, spread = 0;
    const float *middle = truth + 3 * (size_t)worst;
    for (size_t v = 0; v < n; v++) {
        const float *q = truth + 3 * v;
        double x = q[0] - middle[0], y = q[1] - middle[1], z = q[2] - middle[2], square = x * x + y * y + z * z;
        if (heat[v] >= 0.5) strong++;
        if (!(square < 0.16 * wide->radius * wide->radius)) continue;
        weight += heat[v] * heat[v];
        spread += heat[v] * heat[v] * square;
    }
    *view = (pelt_view){.elevation = ELEVATION, .distance = pelt_view_distance(wide)};
    for (int i = 0; i < 3; i++) view->center[i] = middle[i];
    view->radius = fmin(fmax(2.5 * sqrt(spread / weight), 0.14 * wide->radius), 0.34 * wide->radius);
    return isfinite(view->radius) && isfinite(view->center[0] + view->center[1] + view->center[2]) && strong < 0.25 * n;
}

/* -- Planning ------------------------------------------------------------------------------------------------------ */

static void plan_picture(plan *p, picture *out, const strip *like, pelt_look look) {
    *out = (picture){like->truth.width, like->truth.height, like->truth.view, look, {0}};
    if (look.positions) p->gallery->pictures[p->gallery->picture_count++] = out;
}

static void strip_size(strip *s, double size, double aspect) {
    s->truth.width = (uint32_t)fmax(SMALLEST_SIZE, aspect < 1 ? size * aspect : size);
    s->truth.height = (uint32_t)fmax(SMALLEST_SIZE, aspect < 1 ? size : size / aspect);
}

static void strip_alloc(plan *p, strip *s) {
    s->used = true;
    s->models = pelt_alloc(p->gallery->arena, p->page->row_count, sizeof *s->models);
    s->heats = pelt_alloc(p->gallery->arena, p->page->row_count, sizeof *s->heats);
}

static void plan_closeup(plan *p, strip *out, const strip *wide, const pelt_view *around, float *const *heats,
                         size_t worst_row) {
    const float *truth = wide->truth.look.positions;
    if (wide->full_heat <= 0 || !heats[worst_row]) return;
    *out = *wide;
    if (!closeup_view(p, truth, heats[worst_row], wide->worst_vertex, around, &out->truth.view)) {
        out->used = false;
        return;
    }
    turn_view(p, &out->truth.view, truth, heats[worst_row]);
    out->truth.width = out->truth.height = p->close_size;
    strip_alloc(p, out);
    plan_picture(p, &out->truth, out, wide->truth.look);
    for (size_t r = 0; r < p->page->row_count; r++) {
        plan_picture(p, &out->models[r], out, wide->models[r].look);
        plan_picture(p, &out->heats[r], out, wide->heats[r].look);
    }
}

static void plan_frame(plan *p, size_t index) {
    const pelt_report_page *page = p->page;
    const float *truth = page->pictures[index].truth;
    uint32_t n = page->mesh->vertex_count;
    strip *s = &p->gallery->frames[index];
    float **heats = pelt_alloc(p->gallery->arena, page->row_count, sizeof *heats);
    size_t worst_row = 0;
    if (!truth) return;
    strip_alloc(p, s);
    for (size_t r = 0; r < page->row_count; r++) {
        uint32_t where = 0;
        heats[r] = vertex_errors(p, page->rows[r].frame_positions ? page->rows[r].frame_positions[index] : NULL, truth);
        double most = largest(heats[r], n, &where);
        if (most > s->full_heat) s->full_heat = most, s->worst_vertex = where, worst_row = r;
    }
    double worst = s->full_heat, shown = p->alone ? worst : middle_scale(p, heats, n);
    for (size_t r = 0; r < page->row_count; r++) errors_to_heat(heats[r], n, worst); /* so cameras are chosen */
    const float *values = interest(p, heats);
    pelt_view around = pelt_view_fit(truth, n, 0, ELEVATION), view = around;
    double aspect;
    turn_view(p, &view, truth, values);
    pelt_view_tighten(&view, truth, n, &aspect);
    s->truth.view = view;
    strip_size(s, p->size, aspect);
    plan_picture(p, &s->truth, s, (pelt_look){truth});
    for (size_t r = 0; r < page->row_count; r++) {
        const float *model = heats[r] ? page->rows[r].frame_positions[index] : NULL;
        plan_picture(p, &s->models[r], s, (pelt_look){model});
        plan_picture(p, &s->heats[r], s, (pelt_look){model, .heat = heats[r]});
    }
    plan_closeup(p, &p->gallery->closeups[index], s, &around, heats, worst_row);
    for (size_t r = 0; r < page->row_count; r++) errors_to_heat(heats[r], n, worst > 0 ? shown / worst : 0);
    s->full_heat = p->gallery->closeups[index].full_heat = shown;
}

size_t gallery_pair_count(const pelt_report_page *page) {
    return page->row_count > MOST_PAIRED ? 0 : page->row_count * (page->row_count - 1) / 2;
}

/* On the second mesh of each pair, with the frame's camera. Each has its own scale: pairs that hardly differ appear
   next to pairs that do. */
static void plan_differences(plan *p, size_t index) {
    const pelt_report_page *page = p->page;
    const strip *frame = &p->gallery->frames[index];
    strip *s = &p->gallery->differences[index];
    size_t pairs = gallery_pair_count(page), k = 0;
    uint32_t n = page->mesh->vertex_count;
    if (!frame->used || !pairs) return;
    *s = (strip){.used = true, .truth = {.width = frame->truth.width, frame->truth.height, frame->truth.view}};
    s->heats = pelt_alloc(p->gallery->arena, pairs, sizeof *s->heats);
    double *scales = pelt_alloc(p->gallery->arena, pairs, sizeof *scales);
    s->full_heats = scales;
    for (size_t a = 0; a < page->row_count; a++)
        for (size_t b = a + 1; b < page->row_count; b++, k++) {
            const float *model = frame->models[b].look.positions;
            float *heat = vertex_errors(p, model, frame->models[a].look.positions);
            scales[k] = usual_largest(p, heat, n);
            errors_to_heat(heat, n, scales[k]);
            if (heat) plan_picture(p, &s->heats[k], s, (pelt_look){model, .heat = heat});
        }
}

/* Views of the poses from one side and at one scale, so that they can be compared; just large enough for all. */
static void pose_views(const plan *p, pelt_view *views, double *aspect) {
    const pelt_report_page *page = p->page;
    double azimuth =
        page->picture_count && p->gallery->frames[0].used ? p->gallery->frames[0].truth.view.azimuth : 22.5;
    double width = 0, height = 0, distance = 0;
    for (size_t i = 0; i < page->pose_count; i++) {
        const float *truth = page->poses[i].truth;
        views[i] = pelt_view_fit(truth, page->mesh->vertex_count, azimuth, ELEVATION);
        distance = fmax(distance, pelt_view_distance(&views[i]));
        pelt_view_tighten(&views[i], truth, page->mesh->vertex_count, aspect);
        width = fmax(width, views[i].radius * fmax(*aspect, 1));
        height = fmax(height, views[i].radius * fmax(1 / *aspect, 1));
    }
    *aspect = width / height;
    for (size_t i = 0; i < page->pose_count; i++)
        views[i].radius = 1.05 * fmin(width, height), views[i].distance = distance;
}

static void plan_poses(plan *p) {
    const pelt_report_page *page = p->page;
    pelt_view *views = pelt_alloc(p->gallery->arena, page->pose_count, sizeof *views);
    double aspect = 1;
    pose_views(p, views, &aspect);
    for (size_t i = 0; i < page->pose_count; i++) {
        strip *s = &p->gallery->poses[i];
        const float *truth = page->poses[i].truth;
        strip_alloc(p, s);
        strip_size(s, p->pose_size, aspect);
        s->truth.view = views[i];
        plan_picture(p, &s->truth, s, (pelt_look){truth});
        for (size_t r = 0; r < page->row_count; r++) {
            const float *model = page->rows[r].pose_positions ? page->rows[r].pose_positions[i] : NULL;
            plan_picture(p, &s->models[r], s, (pelt_look){model});
        }
    }
}

static void plan_rest_side(plan *p, strip *s, float *const *heats, double azimuth) {
    const pelt_mesh *mesh = p->page->mesh;
    double aspect;
    strip_alloc(p, s);
    s->truth.view = pelt_view_fit(mesh->positions, mesh->vertex_count, azimuth, ELEVATION);
    pelt_view_tighten(&s->truth.view, mesh->positions, mesh->vertex_count, &aspect);
    strip_size(s, p->size, aspect);
    for (size_t r = 0; r < p->page->row_count; r++)
        plan_picture(p, &s->heats[r], s, (pelt_look){heats[r] ? mesh->positions : NULL, .heat = heats[r]});
}

static const float *rest_values(const pelt_measure *measure, int kind) {
    return !measure ? NULL : kind == REST_ROUGHNESS ? measure->vertex_rough : measure->vertex_rms;
}

static void plan_rest(plan *p, int kind) {
    const pelt_report_page *page = p->page;
    uint32_t n = page->mesh->vertex_count;
    float **heats = pelt_alloc(p->gallery->arena, page->row_count, sizeof *heats);
    double *scales = pelt_alloc(p->gallery->arena, page->row_count, sizeof *scales);
    for (size_t r = 0; r < page->row_count; r++) {
        const pelt_measure *measure = row_measure(page, r);
        const float *values = rest_values(measure, kind);
        if (!values || measure->vertex_count != n) continue;
        heats[r] = pelt_alloc(p->gallery->arena, n, sizeof *heats[r]);
        for (size_t v = 0; v < n; v++) heats[r][v] = isfinite(values[v]) ? values[v] : 0;
        scales[r] = usual_largest(p, heats[r], n);
        errors_to_heat(heats[r], n, scales[r]);
    }
    for (int side = 0; side < REST_SIDES; side++) {
        strip *s = &p->gallery->rest[kind][side];
        s->full_heats = scales;
        plan_rest_side(p, s, heats, side == REST_FRONT ? 22.5 : 202.5);
    }
}

/* A stage, in the arena of the gallery. */
static pelt_result plan_all(void *user, pelt_error *error) {
    (void)error;
    plan *p = user;
    size_t count = p->page->picture_count;
    p->gallery->frames = PELT_NEW(p->gallery->arena, count, strip);
    p->gallery->closeups = PELT_NEW(p->gallery->arena, count, strip);
    p->gallery->differences = PELT_NEW(p->gallery->arena, count, strip);
    p->gallery->poses = PELT_NEW(p->gallery->arena, p->page->pose_count, strip);
    size_t each = 4 * p->page->row_count + 2 + gallery_pair_count(p->page);
    p->gallery->pictures = PELT_NEW(p->gallery->arena, (count + 1 + p->page->pose_count) * each, picture *);
    for (size_t i = 0; i < count; i++) plan_frame(p, i), plan_differences(p, i);
    plan_poses(p);
    for (int kind = 0; kind < REST_KINDS; kind++) plan_rest(p, kind);
    return PELT_OK;
}

/* -- Drawing ------------------------------------------------------------------------------------------------------- */

pelt_image *picture_draw(const picture *pic, const pelt_mesh *mesh) {
    pelt_image *image = pelt_image_new(pic->width, pic->height);
    pelt_result result = image ? pelt_draw_mesh(image, &pic->view, mesh, &pic->look) : PELT_ERROR_MEMORY;
    if (result == PELT_OK || result == PELT_ERROR_ARGUMENT) return image; /* a view of nothing is an empty picture */
    pelt_image_free(image);
    return NULL;
}

typedef struct batch {
    const plan *plan;
    picture **pictures;
} batch;

/* A picture that cannot be drawn has no PNG; draw_all checks that. */
static void draw_one(void *user, size_t i, pelt_arena *scratch) {
    (void)scratch;
    const batch *b = user;
    pelt_image *image = picture_draw(b->pictures[i], b->plan->page->mesh);
    if (image) pelt_image_small_png(image, &b->pictures[i]->png, NULL);
    pelt_image_free(image);
}

static pelt_result draw_all(const plan *p, pelt_error *error) {
    enum { BATCH = 16 }; /* progress is reported between batches, by one thread */
    size_t total = p->gallery->picture_count;
    for (size_t first = 0; first < total; first += BATCH) {
        if (pelt_should_stop(&p->page->progress, "pictures", (double)first / (double)total))
            return pelt_fail(error, PELT_ERROR_CANCELLED, "the report was stopped on request");
        batch b = {p, p->gallery->pictures + first};
        size_t count = total - first < BATCH ? total - first : BATCH;
        pelt_parallel(NULL, p->page->threads, count, draw_one, &b);
        for (size_t i = 0; i < count; i++)
            if (!b.pictures[i]->png.bytes) return pelt_no_memory(error);
    }
    return PELT_OK;
}

/* Twice as wide as a column of so many, for sharp screens; more would be thrown away by the browser. */
static uint32_t column_size(size_t columns) {
    double width = ((double)PAGE_WIDTH - GAP * (double)(columns - 1)) / (double)columns;
    return (uint32_t)fmin(fmax(2 * width, SMALLEST_COLUMN), DEFAULT_SIZE);
}

static void choose_sizes(plan *p) {
    const pelt_report_page *page = p->page;
    uint32_t given = page->picture_size ? page->picture_size : p->alone ? DEFAULT_SIZE : 0;
    p->size = given ? given : column_size(page->row_count + 1);
    p->close_size = given ? given * 2 / 3 : (uint32_t)fmax(p->size * 2 / 3.0, SMALLEST_COLUMN);
    p->pose_size = p->close_size;
}

static pelt_result check_mesh(const pelt_report_page *page, pelt_error *error) {
    const pelt_mesh *mesh = page->mesh;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        if (mesh->triangles[i] >= mesh->vertex_count)
            return pelt_fail(error, PELT_ERROR_INDEX, "%s: triangle %zu names vertex %u, but the mesh has only %u",
                             page->bundle ? page->bundle : "report", i / 3, mesh->triangles[i], mesh->vertex_count);
    return PELT_OK;
}

pelt_result gallery_make(const pelt_report_page *page, bool alone, gallery *out, pelt_error *error) {
    pelt_result result = check_mesh(page, error);
    *out = (gallery){0};
    if (!result && page->picture_size) result = pelt_check_picture_size("picture_size", page->picture_size, error);
    if (result != PELT_OK) return result;
    out->arena = pelt_arena_new(0);
    plan p = {.page = page, .gallery = out, .alone = alone};
    choose_sizes(&p);
    result = pelt_stage(out->arena, plan_all, &p, error);
    if (!result && !alone) result = draw_all(&p, error);
    if (result != PELT_OK) gallery_free(out);
    return result;
}

void gallery_free(gallery *g) {
    for (size_t i = 0; i < g->picture_count; i++) free(g->pictures[i]->png.bytes);
    pelt_arena_free(g->arena);
    *g = (gallery){0};
}
