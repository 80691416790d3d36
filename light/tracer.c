/* tracer.c: prepares a scene for ray tracing: checks it, builds its BVH, lists its lights as emitters; and traces what
   a camera sees in it. */

#include "light/tracer.h"
#include <float.h>
#include <string.h>

/* A light is "far" at this many diagonals: its rays differ by 1/1000 in direction across the scene. */
static const float FAR_DIAGONALS = 1000;

/* -- Checks ------------------------------------------------------------------------------------------------------- */

static bool all_finite(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static pelt_result check_materials(const pelt_scene *scene, pelt_error *error) {
    bool reflects = false;
    for (uint32_t m = 0; m < scene->material_count; m++) {
        const pelt_material *material = &scene->materials[m];
        for (int c = 0; c < 3; c++) {
            if (!(material->albedo[c] >= 0 && material->albedo[c] <= 1))
                return pelt_fail(error, PELT_ERROR_DATA, "%s: material %u has albedo %g; it must be between 0 and 1",
                                 scene->name, m, (double)material->albedo[c]);
            if (!(material->emission[c] >= 0 && material->emission[c] < FLT_MAX))
                return pelt_fail(error, PELT_ERROR_DATA, "%s: material %u emits %g; it must be 0 or more", scene->name,
                                 m, (double)material->emission[c]);
            reflects |= material->albedo[c] > 0;
        }
    }
    if (reflects) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: no material reflects any light, so there is no indirect light; give one a diffuse colour",
                     scene->name);
}

static pelt_result check_geometry(const pelt_scene *scene, pelt_error *error) {
    for (uint32_t v = 0; v < scene->vertex_count; v++)
        if (!all_finite(scene->positions + 3 * (size_t)v, 3))
            return pelt_fail(error, PELT_ERROR_NUMBER, "%s: vertex %u is not finite; export the scene again",
                             scene->name, v);
    for (uint32_t t = 0; t < scene->triangle_count; t++) {
        for (int c = 0; c < 3; c++)
            if (scene->triangles[3 * (size_t)t + c] >= scene->vertex_count)
                return pelt_fail(error, PELT_ERROR_INDEX, "%s: triangle %u has a vertex that does not exist",
                                 scene->name, t);
        if (scene->triangle_materials[t] >= scene->material_count)
            return pelt_fail(error, PELT_ERROR_INDEX, "%s: triangle %u has a material that does not exist", scene->name,
                             t);
    }
    return PELT_OK;
}

static const float steepest_falloff = 4;

static pelt_result check_light(const pelt_scene *scene, const pelt_light *light, pelt_error *error) {
    bool finite = all_finite(light->position, 3) && all_finite(light->color, 3) && isfinite(light->intensity) &&
                  all_finite(light->direction, 3) && all_finite(light->edges[0], 6) && isfinite(light->falloff) &&
                  isfinite(light->inner_cone) && isfinite(light->outer_cone) && isfinite(light->falloff_distance);
    if (!finite) return pelt_fail(error, PELT_ERROR_NUMBER, "%s: a light has a value that is not finite", scene->name);
    if (light->intensity < 0 || light->color[0] < 0 || light->color[1] < 0 || light->color[2] < 0)
        return pelt_fail(error, PELT_ERROR_DATA, "%s: a light has a negative intensity or colour", scene->name);
    if (light->falloff > steepest_falloff)
        return pelt_fail_option(error, "falloff", " must be at most %g, not %g", (double)steepest_falloff,
                                (double)light->falloff);
    bool directed = light->kind == PELT_LIGHT_SPOT || light->kind == PELT_LIGHT_FAR;
    if (directed && !(v3_length(v3_of(light->direction)) > 0))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: a light has no direction", scene->name);
    v3 normal = v3_cross(v3_of(light->edges[0]), v3_of(light->edges[1]));
    if (light->kind == PELT_LIGHT_AREA && !(v3_length(normal) > 0))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: an area light has no area", scene->name);
    if (light->kind == PELT_LIGHT_SPOT && !(light->outer_cone > 0 && light->outer_cone <= LIGHT_PI))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: a spot has a cone of %g radians; expected 0 to pi", scene->name,
                         (double)light->outer_cone);
    return PELT_OK;
}

/* -- Emitters ----------------------------------------------------------------------------------------------------- */

static emitter patch_emitter(v3 corner, v3 u, v3 v, v3 radiance, bool triangle) {
    v3 normal = v3_cross(u, v);
    float length = v3_length(normal);
    return (emitter){.kind = EMITTER_PATCH,
                     .triangle = triangle,
                     .two_sided = triangle,
                     .hittable = triangle,
                     .position = corner,
                     .edges = {u, v},
                     .normal = v3_scale(normal, 1 / length),
                     .power = radiance,
                     .area = triangle ? length / 2 : length,
                     .falloff = 2,
                     .falloff_scale = 1,
                     .cos_inner = -1,
                     .cos_outer = -1};
}

/* A far light is a point at a great distance whose cone just covers the scene. */
static emitter far_emitter(const pelt_tracer *t, const pelt_light *light, v3 power) {
    const pelt_extent *e = &t->extent;
    float distance = FAR_DIAGONALS * e->diagonal;
    v3 axis = v3_unit(v3_of(light->direction));
    v3 centre = v3_scale(v3_add(v3_of(e->low), v3_of(e->high)), 0.5f);
    return (emitter){.kind = EMITTER_POINT,
                     .position = v3_along(centre, axis, -distance),
                     .normal = axis,
                     .power = v3_scale(power, distance * distance),
                     .falloff = 2,
                     .falloff_scale = 1,
                     .cos_inner = -1,
                     .cos_outer = -1,
                     .cap = 0.125f / (FAR_DIAGONALS * FAR_DIAGONALS)}; /* half the square of the angle */
}

static emitter light_emitter(const pelt_tracer *t, const pelt_light *light) {
    v3 power = v3_scale(v3_of(light->color), light->intensity);
    if (light->kind == PELT_LIGHT_FAR) return far_emitter(t, light, power);
    if (light->kind == PELT_LIGHT_AREA)
        return patch_emitter(v3_of(light->position), v3_of(light->edges[0]), v3_of(light->edges[1]), power, false);
    emitter e = {.kind = EMITTER_POINT,
                 .position = v3_of(light->position),
                 .normal = {0, 0, 1},
                 .power = power,
                 .falloff = light->falloff == 0 ? 2 : fmaxf(light->falloff, 0),
                 .falloff_scale = 1,
                 .cos_inner = -1,
                 .cos_outer = -1,
                 .cap = 2};
    float reference = light->falloff_distance > 0 ? light->falloff_distance : 0.25f * t->extent.diagonal;
    if (e.falloff != 2) e.falloff_scale = powf(reference, e.falloff - 2);
    if (light->kind == PELT_LIGHT_SPOT) {
        e.normal = v3_unit(v3_of(light->direction));
        e.cos_outer = cosf(light->outer_cone);
        e.cos_inner = cosf(fminf(fmaxf(light->inner_cone, 0), light->outer_cone));
        e.cap = 2 * powf(sinf(light->outer_cone / 2), 2);
    }
    return e;
}

/* The rough power of an emitter, in one unit for all kinds: its intensity integrated over directions. */
static float strength(const emitter *e) {
    float power = (e->power.x + e->power.y + e->power.z) * LIGHT_PI;
    return e->kind == EMITTER_PATCH ? power * e->area * (e->two_sided ? 2 : 1) : power * 2 * e->cap;
}

/* Emitters are sampled in proportion to their power. */
static void share_chances(pelt_tracer *t) {
    double total = 0, below = 0;
    for (uint32_t i = 0; i < t->emitter_count; i++) total += strength(&t->emitters[i]);
    for (uint32_t i = 0; i < t->emitter_count; i++) {
        emitter *e = &t->emitters[i];
        e->chance = total > 0 ? (float)(strength(e) / total) : 0;
        e->chance_below = (float)below;
        below += e->chance;
    }
}

pelt_result pelt_tracer_set_light(pelt_tracer *t, const pelt_light *light, pelt_error *error) {
    t->emitter_count = t->own_count;
    if (light && check_light(t->scene, light, error)) return error ? error->code : PELT_ERROR_DATA;
    if (light) t->emitters[t->emitter_count++] = light_emitter(t, light);
    share_chances(t);
    return PELT_OK;
}

/* -- Building ----------------------------------------------------------------------------------------------------- */

static v3 corner(const pelt_scene *scene, uint32_t triangle, int c) {
    return v3_of(scene->positions + 3 * (size_t)scene->triangles[3 * (size_t)triangle + c]);
}

static bool has_area(const pelt_scene *scene, uint32_t t) {
    v3 a = corner(scene, t, 0), u = v3_sub(corner(scene, t, 1), a), v = v3_sub(corner(scene, t, 2), a);
    float area = v3_length(v3_cross(u, v));
    return area > 0 && isfinite(area);
}

static bool emits(const pelt_material *m) { return m->emission[0] > 0 || m->emission[1] > 0 || m->emission[2] > 0; }

static void find_extent(pelt_tracer *t, const uint32_t *triangles) {
    pelt_extent *e = &t->extent;
    for (int c = 0; c < 3; c++) e->low[c] = FLT_MAX, e->high[c] = -FLT_MAX;
    for (size_t i = 0; i < 3 * (size_t)t->triangle_count; i++)
        for (int c = 0; c < 3; c++) {
            float x = t->scene->positions[3 * (size_t)triangles[i] + c];
            e->low[c] = fminf(e->low[c], x), e->high[c] = fmaxf(e->high[c], x);
        }
    e->diagonal = v3_length(v3_sub(v3_of(e->high), v3_of(e->low)));
    t->offset = 1e-5f * e->diagonal;
}

/* Drops degenerate triangles, and lists those that emit. */
static void take_triangles(pelt_tracer *t, uint32_t *triangles) {
    const pelt_scene *scene = t->scene;
    for (uint32_t i = 0; i < scene->triangle_count; i++) {
        const pelt_material *material = &scene->materials[scene->triangle_materials[i]];
        if (!has_area(scene, i)) continue;
        uint32_t kept = t->triangle_count++;
        memcpy(triangles + 3 * (size_t)kept, scene->triangles + 3 * (size_t)i, 3 * sizeof *triangles);
        t->materials[kept] = scene->triangle_materials[i];
        t->scene_triangles[kept] = i;
        t->emitters_of[kept] = NO_EMITTER;
        if (!emits(material)) continue;
        v3 a = corner(scene, i, 0);
        t->emitters_of[kept] = t->own_count;
        t->emitters[t->own_count++] = patch_emitter(a, v3_sub(corner(scene, i, 1), a), v3_sub(corner(scene, i, 2), a),
                                                    v3_of(material->emission), true);
    }
}

static pelt_result build(pelt_tracer *t, pelt_error *error) {
    const pelt_scene *scene = t->scene;
    size_t n = scene->triangle_count;
    uint32_t *triangles = PELT_NEW(t->arena, 3 * n, uint32_t);
    t->materials = PELT_NEW(t->arena, n, uint32_t);
    t->scene_triangles = PELT_NEW(t->arena, n, uint32_t);
    t->emitters_of = PELT_NEW(t->arena, n, uint32_t);
    t->emitters = PELT_NEW(t->arena, n + scene->light_count + 1, emitter);
    if (pelt_arena_failed(t->arena)) return pelt_no_memory(error);
    take_triangles(t, triangles);
    if (!t->triangle_count) return pelt_fail(error, PELT_ERROR_DATA, "%s: no triangle has an area", scene->name);
    find_extent(t, triangles);
    if (!isfinite(t->extent.diagonal))
        return pelt_fail(error, PELT_ERROR_NUMBER, "%s: the scene is too large for floats", scene->name);
    for (uint32_t i = 0; i < scene->light_count; i++) {
        if (check_light(scene, &scene->lights[i], error)) return PELT_ERROR_DATA;
        t->emitters[t->own_count++] = light_emitter(t, &scene->lights[i]);
    }
    t->rays = rays_new(scene->positions, scene->vertex_count, triangles, t->triangle_count);
    if (!t->rays) return pelt_fail(error, PELT_ERROR_MEMORY, "%s: Embree cannot build its tree", scene->name);
    return pelt_tracer_set_light(t, NULL, error);
}

pelt_tracer *pelt_tracer_new(const pelt_scene *scene, pelt_error *error) {
    if (check_materials(scene, error) || check_geometry(scene, error)) return NULL;
    pelt_arena *arena = pelt_arena_new(0);
    pelt_tracer *t = PELT_NEW(arena, 1, pelt_tracer);
    if (!t) return pelt_arena_free(arena), pelt_no_memory(error), NULL;
    t->scene = scene;
    t->arena = arena;
    if (build(t, error) == PELT_OK) return t;
    pelt_tracer_free(t);
    return NULL;
}

void pelt_tracer_free(pelt_tracer *t) {
    if (!t) return;
    rays_free(t->rays);
    pelt_arena_free(t->arena);
}

pelt_extent pelt_tracer_extent(const pelt_tracer *t) { return t->extent; }

/* -- The camera --------------------------------------------------------------------------------------------------- */

pelt_camera pelt_tracer_camera(const pelt_tracer *t) {
    const pelt_extent *e = &t->extent;
    pelt_camera camera = {.axes = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .field_of_view = 0.7};
    double half = fmax(e->high[0] - e->low[0], e->high[1] - e->low[1]) / 2;
    for (int c = 0; c < 3; c++) camera.eye[c] = (e->low[c] + e->high[c]) / 2;
    camera.eye[2] = e->high[2] + half / tan(camera.field_of_view / 2);
    return camera;
}

void pelt_camera_direction(const pelt_camera *camera, uint32_t width, uint32_t height, size_t pixel, float out[3]) {
    double scale = tan(camera->field_of_view / 2) * 2 / height;
    double x = ((double)(pixel % width) + 0.5 - 0.5 * width) * scale;
    double y = (0.5 * height - (double)(pixel / width) - 0.5) * scale;
    for (int c = 0; c < 3; c++) out[c] = (float)(x * camera->axes[0][c] + y * camera->axes[1][c] - camera->axes[2][c]);
}

static void camera_ray(const pelt_camera *camera, uint32_t width, uint32_t height, size_t pixel, packet *p, int lane) {
    float direction[3];
    pelt_camera_direction(camera, width, height, pixel, direction);
    for (int c = 0; c < 3; c++) p->origin[c][lane] = (float)camera->eye[c], p->direction[c][lane] = direction[c];
    p->length[lane] = FLT_MAX;
    p->active[lane] = 1;
}

static void take_hit(const pelt_tracer *t, const packet *p, const hits *h, int lane, pelt_light_point *point) {
    if (h->triangle[lane] == RAYS_MISS) return;
    v3 normal = v3_unit((v3){h->normal[0][lane], h->normal[1][lane], h->normal[2][lane]});
    v3 direction = {p->direction[0][lane], p->direction[1][lane], p->direction[2][lane]};
    v3 origin = {p->origin[0][lane], p->origin[1][lane], p->origin[2][lane]};
    point->back = v3_dot(normal, direction) > 0;
    if (point->back) normal = v3_scale(normal, -1);
    v3 position = v3_along(v3_along(origin, direction, h->distance[lane]), normal, t->offset);
    const pelt_material *material = &t->scene->materials[t->materials[h->triangle[lane]]];
    point->hit = true;
    point->triangle = t->scene_triangles[h->triangle[lane]];
    memcpy(point->position, &position, sizeof point->position);
    memcpy(point->normal, &normal, sizeof point->normal);
    memcpy(point->albedo, material->albedo, sizeof point->albedo);
    memcpy(point->emission, material->emission, sizeof point->emission);
}

void pelt_tracer_look(const pelt_tracer *t, const pelt_camera *camera, uint32_t width, uint32_t height,
                      const size_t *pixels, int count, pelt_light_point *points) {
    packet p = {0};
    hits h;
    for (int i = 0; i < count; i++) camera_ray(camera, width, height, pixels[i], &p, i);
    rays_first_hits(t->rays, &p, &h);
    for (int i = 0; i < count; i++) {
        points[i] = (pelt_light_point){.id = (uint32_t)pixels[i]};
        take_hit(t, &p, &h, i, &points[i]);
    }
}

void pelt_tracer_view(const pelt_tracer *t, const pelt_camera *camera, uint32_t width, uint32_t height,
                      pelt_light_point *points) {
    size_t count = (size_t)width * height;
    for (size_t first = 0; first < count; first += LANES) {
        size_t pixels[LANES], now = count - first < LANES ? count - first : LANES;
        for (size_t i = 0; i < now; i++) pixels[i] = first + i;
        pelt_tracer_look(t, camera, width, height, pixels, (int)now, points + first);
    }
}
