/* clouds.c: why a joint is a good influence, as in figure 7 of Mohr & Gleicher: three examples with one of their points
   marked; below them the same examples in the frame of each of two joints, with the cloud that the point forms there
   over all examples. The smaller the cloud, the more rigidly the point follows the joint. */

#include "report/page.h"
#include "rig/maths.h"
#include <math.h>
#include <string.h>

enum { SHOWN = 3, FRAMES = 2, MOST_TRIED = 64, GAP = 12, USUAL_SIZE = 480 };
static const double OWN_WEIGHT = 0.9;                            /* of the first joint, on the marked point */
static const double NEAR_POINT = 0.1, BALL = 0.011, DOT = 0.006; /* of the diagonal */
static const double FAINT = 0.5;
static const float red[3] = {0.75f, 0.02f, 0.02f};

typedef struct drawing {
    const pelt_report_page *page;
    const pelt_clouds *clouds;
    pelt_arena *arena;
    pelt_affine *inverses[FRAMES]; /* [example] from the scene to the joint's rest pose */
    float *points[FRAMES];         /* [example][3] the cloud */
    uint32_t vertex;
    size_t shown[SHOWN]; /* examples */
    pelt_image *image;
    uint32_t width, height; /* of a panel */
    double azimuth;
} drawing;

/* -- The point and the examples ------------------------------------------------------------------------------------ */

static const float *positions_of(const drawing *d, size_t e) {
    const pelt_example *example = &d->clouds->examples.list[e];
    return example->clip->positions + 3 * (size_t)d->page->mesh->vertex_count * example->frame;
}

static void move(const pelt_affine *by, const float *from, float *to) {
    double out[3];
    pelt_affine_point(by, (double[3]){from[0], from[1], from[2]}, out);
    for (int i = 0; i < 3; i++) to[i] = (float)out[i];
}

static double gap2(const float *a, const float *b) {
    return pow((double)a[0] - b[0], 2) + pow((double)a[1] - b[1], 2) + pow((double)a[2] - b[2], 2);
}

static bool invert_frames(drawing *d) {
    const pelt_examples *all = &d->clouds->examples;
    for (int f = 0; f < FRAMES; f++) d->inverses[f] = PELT_NEW(d->arena, all->count, pelt_affine);
    if (pelt_arena_failed(d->arena)) return false;
    for (size_t e = 0; e < all->count; e++) {
        const pelt_affine *matrices =
            pelt_frame_matrices(d->arena, d->clouds->skeleton, all->list[e].clip, all->list[e].frame);
        for (int f = 0; matrices && f < FRAMES; f++)
            pelt_affine_invert(&matrices[d->clouds->joints[f]], &d->inverses[f][e]);
        if (!matrices) return false;
    }
    return true;
}

/* The squared diameter of a vertex's cloud in the frame of the first joint, over examples that are spread over all. */
static double diameter2(const drawing *d, uint32_t v) {
    size_t all = d->clouds->examples.count, count = all < MOST_TRIED ? all : MOST_TRIED;
    float at[MOST_TRIED][3];
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t e = i * all / count;
        move(&d->inverses[0][e], positions_of(d, e) + 3 * (size_t)v, at[i]);
        for (size_t k = 0; k < i; k++) most = fmax(most, gap2(at[i], at[k]));
    }
    return most;
}

/* Of the vertices that the first joint moves nearly alone, the one that moves most in its frame: its cloud is small for
   the joint, not because nothing happens there. */
static bool choose_vertex(drawing *d) {
    const pelt_influences *in = &d->page->mesh->influences;
    double most = -1;
    for (uint32_t v = 0; v < d->page->mesh->vertex_count; v++) {
        double own = 0, all = 0;
        for (uint32_t i = in->first[v]; i < in->first[v + 1]; i++) {
            all += in->weights[i];
            if (in->joints[i] == d->clouds->joints[0]) own += in->weights[i];
        }
        if (!(all > 0) || own < OWN_WEIGHT * all) continue;
        double size = diameter2(d, v);
        if (size > most) most = size, d->vertex = v;
    }
    return most >= 0;
}

static void find_clouds(drawing *d) {
    size_t count = d->clouds->examples.count;
    for (int f = 0; f < FRAMES; f++) d->points[f] = PELT_NEW(d->arena, 3 * count, float);
    for (int f = 0; f < FRAMES && !pelt_arena_failed(d->arena); f++)
        for (size_t e = 0; e < count; e++)
            move(&d->inverses[f][e], positions_of(d, e) + 3 * (size_t)d->vertex, d->points[f] + 3 * e);
}

/* The two examples that are the diameter of the second joint's cloud, and between them the one farthest from both. */
static void choose_examples(drawing *d) {
    const float *at = d->points[1];
    size_t count = d->clouds->examples.count;
    double most = -1;
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++)
            if (gap2(at + 3 * a, at + 3 * b) > most)
                most = gap2(at + 3 * a, at + 3 * b), d->shown[0] = a, d->shown[2] = b;
    most = -1;
    for (size_t e = 0; e < count; e++) {
        double least = fmin(gap2(at + 3 * e, at + 3 * d->shown[0]), gap2(at + 3 * e, at + 3 * d->shown[2]));
        if (least > most) most = least, d->shown[1] = e;
    }
}

/* -- Pictures ------------------------------------------------------------------------------------------------------ */

enum { RINGS = 10, SPOKES = 16, BALL_VERTICES = (RINGS + 1) * SPOKES, BALL_TRIANGLES = 2 * RINGS * SPOKES };

static void add_ball(const float *center, double radius, uint32_t first, float *positions, uint32_t *triangles) {
    const double pi = 3.14159265358979323846;
    for (uint32_t r = 0; r <= RINGS; r++)
        for (uint32_t s = 0; s < SPOKES; s++, positions += 3) {
            double down = pi * r / RINGS, around = 2 * pi * s / SPOKES;
            positions[0] = (float)(center[0] + radius * sin(down) * sin(around));
            positions[1] = (float)(center[1] + radius * cos(down));
            positions[2] = (float)(center[2] + radius * sin(down) * cos(around));
            if (r == RINGS) continue;
            uint32_t a = first + r * SPOKES + s, b = first + r * SPOKES + (s + 1) % SPOKES;
            uint32_t corners[6] = {a, a + SPOKES, b, b, a + SPOKES, b + SPOKES};
            memcpy(triangles, corners, sizeof corners);
            triangles += 6;
        }
}

/* Balls of one size as a mesh. */
static pelt_mesh balls(pelt_arena *arena, size_t count, const float *centers, double radius) {
    pelt_mesh mesh = {.vertex_count = (uint32_t)count * BALL_VERTICES,
                      .triangle_count = (uint32_t)count * BALL_TRIANGLES,
                      .positions = PELT_NEW(arena, 3 * count * BALL_VERTICES, float),
                      .triangles = PELT_NEW(arena, 3 * count * BALL_TRIANGLES, uint32_t),
                      .colors = PELT_NEW(arena, 3 * count * BALL_VERTICES, float)};
    for (size_t i = 0; i < count && !pelt_arena_failed(arena); i++)
        add_ball(centers + 3 * i, radius, (uint32_t)i * BALL_VERTICES, mesh.positions + 3 * i * BALL_VERTICES,
                 mesh.triangles + 3 * i * BALL_TRIANGLES);
    for (size_t i = 0; i < 3 * count * BALL_VERTICES && !pelt_arena_failed(arena); i++) mesh.colors[i] = red[i % 3];
    return mesh;
}

/* Draws over what is there; fainter than it is by a factor. */
static pelt_result draw_over(const drawing *d, const pelt_view *view, const pelt_mesh *mesh, const float *positions,
                             double strength, uint32_t left, uint32_t top) {
    picture panel = {.width = d->width, .height = d->height, .view = *view};
    panel.look = (pelt_look){.positions = positions, .colors = positions ? NULL : mesh->colors};
    pelt_image *image = picture_draw(&panel, mesh);
    if (!image) return PELT_ERROR_MEMORY;
    for (size_t i = 0; i < (size_t)image->width * image->height; i++)
        image->rgba[4 * i + 3] = (uint8_t)(strength * image->rgba[4 * i + 3] + 0.5);
    pelt_image_paste(d->image, image, left, top);
    pelt_image_free(image);
    return PELT_OK;
}

/* The shown examples side by side in one array: as they are, or in the frame of a joint. */
static float *gather(const drawing *d, int frame) {
    size_t n = d->page->mesh->vertex_count;
    float *out = PELT_NEW(d->arena, SHOWN * 3 * n, float);
    for (size_t i = 0; out && i < SHOWN; i++)
        for (size_t v = 0; v < n; v++) {
            const float *from = positions_of(d, d->shown[i]) + 3 * v;
            float *to = out + 3 * (i * n + v);
            memcpy(to, from, 3 * sizeof *to);
            if (frame >= 0) move(&d->inverses[frame][d->shown[i]], from, to);
        }
    return out;
}

/* Frames all shown examples; *aspect becomes the widest. */
static pelt_view frame_all(const drawing *d, const float *all, double *aspect) {
    uint32_t count = SHOWN * d->page->mesh->vertex_count;
    double own;
    pelt_view view = pelt_view_fit(all, count, d->azimuth, 12);
    pelt_view_tighten(&view, all, count, &own);
    if (own < 1) view.radius /= own; /* a panel is at least as wide as it is high */
    *aspect = fmax(*aspect, own);
    return view;
}

/* From where the marked point is seen best in the first example. */
static bool face_point(drawing *d) {
    const pelt_mesh *mesh = d->page->mesh;
    const float *positions = positions_of(d, d->shown[0]), *point = positions + 3 * (size_t)d->vertex;
    float *close = PELT_NEW(d->arena, mesh->vertex_count, float);
    for (uint32_t v = 0; close && v < mesh->vertex_count; v++)
        close[v] = gap2(positions + 3 * (size_t)v, point) < pow(NEAR_POINT * mesh->diagonal, 2);
    pelt_view view = pelt_view_fit(positions, mesh->vertex_count, 0, 12);
    if (!close || !pelt_view_turn(&view, mesh, positions, close)) return false;
    d->azimuth = view.azimuth;
    return true;
}

static pelt_result draw_examples(const drawing *d, const pelt_view *view, const float *all) {
    const pelt_mesh *mesh = d->page->mesh;
    pelt_result result = PELT_OK;
    for (size_t i = 0; i < SHOWN && !result; i++) {
        const float *own = all + 3 * i * mesh->vertex_count;
        pelt_mesh mark = balls(d->arena, 1, own + 3 * (size_t)d->vertex, BALL * mesh->diagonal);
        if (pelt_arena_failed(d->arena)) return PELT_ERROR_MEMORY;
        uint32_t left = (uint32_t)i * (d->width + GAP);
        result = draw_over(d, view, mesh, own, 1, left, 0);
        if (!result) result = draw_over(d, view, &mark, NULL, 1, left, 0);
    }
    return result;
}

static pelt_result draw_cloud(const drawing *d, int frame, const pelt_view *view, const float *all) {
    const pelt_mesh *mesh = d->page->mesh;
    uint32_t left = (uint32_t)(2 * frame + 1) * (d->width + GAP) / 2, top = d->height + GAP;
    float centers[3 * SHOWN];
    for (size_t i = 0; i < SHOWN; i++) memcpy(centers + 3 * i, d->points[frame] + 3 * d->shown[i], 3 * sizeof *centers);
    pelt_mesh marks = balls(d->arena, SHOWN, centers, BALL * mesh->diagonal);
    pelt_mesh cloud = balls(d->arena, d->clouds->examples.count, d->points[frame], DOT * mesh->diagonal);
    if (pelt_arena_failed(d->arena)) return PELT_ERROR_MEMORY;
    pelt_result result = PELT_OK;
    for (size_t i = 0; i < SHOWN && !result; i++)
        result = draw_over(d, view, mesh, all + 3 * i * mesh->vertex_count, FAINT, left, top);
    if (!result) result = draw_over(d, view, &cloud, NULL, 1, left, top);
    return result ? result : draw_over(d, view, &marks, NULL, 1, left, top);
}

static pelt_result draw_panels(drawing *d) {
    double aspect = 1;
    float *all[1 + FRAMES];
    pelt_view views[1 + FRAMES];
    if (!face_point(d)) return PELT_ERROR_MEMORY;
    for (int i = 0; i <= FRAMES; i++) {
        all[i] = gather(d, i - 1);
        if (!all[i]) return PELT_ERROR_MEMORY;
        views[i] = frame_all(d, all[i], &aspect);
    }
    d->width = d->page->picture_size ? d->page->picture_size : USUAL_SIZE;
    d->height = (uint32_t)(d->width / aspect + 0.5);
    d->image = pelt_image_new(SHOWN * (d->width + GAP) - GAP, 2 * d->height + GAP);
    if (!d->image) return PELT_ERROR_MEMORY;
    memset(d->image->rgba, 255, 4 * (size_t)d->image->width * d->image->height);
    pelt_result result = draw_examples(d, &views[0], all[0]);
    for (int f = 0; f < FRAMES && !result; f++) result = draw_cloud(d, f, &views[1 + f], all[1 + f]);
    return result;
}

pelt_result draw_clouds(const pelt_report_page *page, pelt_bytes *png, pelt_error *error) {
    drawing d = {.page = page, .clouds = page->clouds};
    if (!d.clouds || d.clouds->examples.count < SHOWN)
        return pelt_fail(error, PELT_ERROR_ARGUMENT, "clouds need two joints and at least %d examples", SHOWN);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    d.arena = arena;
    if (!arena || !invert_frames(&d)) return pelt_no_memory(error);
    if (!choose_vertex(&d))
        return pelt_fail(error, PELT_ERROR_DATA, "joint \"%s\" moves no vertex alone; name another one first",
                         d.clouds->skeleton->names[d.clouds->joints[0]]);
    find_clouds(&d);
    if (pelt_arena_failed(arena)) return pelt_no_memory(error);
    choose_examples(&d);
    pelt_result result = draw_panels(&d) ? pelt_no_memory(error) : pelt_image_png(d.image, png, error);
    pelt_image_free(d.image);
    return result;
}
