/* carry.c: the skin of another mesh of the same character, such as a simplified one.

       u_v = sum over corners i of the nearest triangle: b_i u_i

   for displacements, changes of normals and weights alike, with b the barycentric coordinates of the point of the rest
   surface that is nearest to vertex v. What turns poses into coefficients is copied as it is. */

#include "fit/measure/measure.h"
#include "pack/pack.h"
#include "pack/sections.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- The nearest point of a surface --------------------------------------------------------------------------------- */

/* A vertex in terms of another mesh: corners of a triangle, and its barycentric coordinates. */
typedef struct place {
    uint32_t corners[3];
    double shares[3];
} place;

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void subtract(const float *a, const float *b, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = (double)a[i] - b[i];
}

/* The nearest point of the edge from a to b to p: its share of b. */
static double along(const float *a, const float *b, const float *p) {
    double edge[3], to[3];
    subtract(b, a, edge), subtract(p, a, to);
    double square = dot(edge, edge);
    return square > 0 ? fmin(fmax(dot(to, edge) / square, 0), 1) : 0;
}

static double square_from(const float *const corner[3], const double shares[3], const float *p) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double x = shares[0] * corner[0][i] + shares[1] * corner[1][i] + shares[2] * corner[2][i] - p[i];
        sum += x * x;
    }
    return sum;
}

/* The nearest point of a triangle: inside where the foot of the perpendicular is, otherwise on one of its edges. Returns
   the squared distance. */
static double nearest_of_triangle(const float *const corner[3], const float *p, double shares[3]) {
    double a[3], b[3], to[3];
    subtract(corner[1], corner[0], a), subtract(corner[2], corner[0], b), subtract(p, corner[0], to);
    double aa = dot(a, a), ab = dot(a, b), bb = dot(b, b), ta = dot(to, a), tb = dot(to, b), area = aa * bb - ab * ab;
    if (area > 1e-12 * aa * bb) {
        double second = (bb * ta - ab * tb) / area, third = (aa * tb - ab * ta) / area;
        if (second >= 0 && third >= 0 && second + third <= 1) {
            shares[0] = 1 - second - third, shares[1] = second, shares[2] = third;
            return square_from(corner, shares, p);
        }
    }
    double best = INFINITY;
    for (int i = 0; i < 3; i++) {
        double trial[3] = {0}, share = along(corner[i], corner[(i + 1) % 3], p);
        trial[i] = 1 - share, trial[(i + 1) % 3] = share;
        double square = square_from(corner, trial, p);
        if (square < best) best = square, memcpy(shares, trial, sizeof trial);
    }
    return best;
}

/* A sphere around a triangle. */
typedef struct sphere {
    float middle[3], radius;
} sphere;

static sphere *make_spheres(pelt_arena *arena, const pelt_mesh *mesh) {
    sphere *spheres = PELT_NEW(arena, mesh->triangle_count, sphere);
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->triangles + 3 * t;
        float *m = spheres[t].middle;
        for (int i = 0; i < 3; i++)
            for (int c = 0; c < 3; c++) m[i] += mesh->positions[3 * (size_t)corner[c] + (size_t)i] / 3;
        for (int c = 0; c < 3; c++) {
            double to[3];
            subtract(mesh->positions + 3 * (size_t)corner[c], m, to);
            spheres[t].radius = fmaxf(spheres[t].radius, (float)(sqrt(dot(to, to)) * 1.0001));
        }
    }
    return spheres;
}

/* Triangles whose sphere is further away than the best so far are skipped; the first guess is that of the vertex
   before, since neighbours in a file are mostly neighbours on the mesh. */
static place place_vertex(const pelt_mesh *mesh, const sphere *spheres, const float *p, size_t *guess) {
    place best = {0};
    double least = INFINITY;
    for (size_t i = 0; i <= mesh->triangle_count; i++) {
        size_t t = i ? i - 1 : *guess;
        double to[3], reach = sqrt(least) + spheres[t].radius;
        subtract(p, spheres[t].middle, to);
        if (dot(to, to) > reach * reach) continue;
        const uint32_t *corner = mesh->triangles + 3 * t;
        const float *points[3];
        double shares[3];
        for (int c = 0; c < 3; c++) points[c] = mesh->positions + 3 * (size_t)corner[c];
        double square = nearest_of_triangle(points, p, shares);
        if (square >= least) continue;
        least = square, *guess = t;
        memcpy(best.corners, corner, sizeof best.corners), memcpy(best.shares, shares, sizeof shares);
    }
    return best;
}

/* -- Mixing --------------------------------------------------------------------------------------------------------- */

typedef struct carrying {
    pelt_arena *arena;
    const pelt_bytes *file;
    const pelt_bundle *from, *to;
    pelt_skin skin;
    place *places; /* [vertex of `to`] */
    pelt_model model;
    pelt_packed_section changes[3];
} carrying;

/* Things with numbers, of vertices: their weights of joints, or vectors of coefficients. */
typedef struct listing {
    uint32_t *first, *keys;
    float *values; /* [entry][size] */
} listing;

/* The entries of each vertex of `to`: those of the corners, times their shares. */
static listing mix(const carrying *c, const listing *from, uint32_t key_count, size_t size) {
    uint32_t n = c->to->mesh.vertex_count, *keys = PELT_NEW(c->arena, key_count, uint32_t);
    double *sums = PELT_NEW(c->arena, key_count * size, double);
    uint8_t *seen = PELT_NEW(c->arena, key_count, uint8_t);
    listing out = {.first = PELT_NEW(c->arena, (size_t)n + 1, uint32_t)};
    for (int fill = 0; fill < 2; fill++) {
        uint32_t end = 0;
        for (uint32_t v = 0; v < n; v++) {
            uint32_t count = 0;
            for (int k = 0; k < 3; k++) {
                uint32_t corner = c->places[v].corners[k];
                double share = c->places[v].shares[k];
                for (uint32_t i = from->first[corner]; share > 0 && i < from->first[corner + 1]; i++) {
                    uint32_t key = from->keys[i];
                    if (!seen[key]) keys[count++] = key, seen[key] = 1;
                    for (size_t s = 0; s < size; s++) sums[key * size + s] += share * from->values[i * size + s];
                }
            }
            for (uint32_t i = 0; i < count; i++, end++) {
                if (fill) out.keys[end] = keys[i];
                for (size_t s = 0; s < size; s++) {
                    if (fill) out.values[end * size + s] = (float)sums[keys[i] * size + s];
                    sums[keys[i] * size + s] = 0;
                }
                seen[keys[i]] = 0;
            }
            out.first[v + 1] = end;
        }
        if (!fill) out.keys = PELT_NEW(c->arena, end, uint32_t), out.values = PELT_NEW(c->arena, end * size, float);
    }
    return out;
}

/* Vectors of a packed skin, vertex by vertex. */
static listing list_vectors(const carrying *c, const pelt_rows *rows) {
    const pelt_skin *skin = &c->skin;
    uint32_t n = skin->vertex_count;
    listing out = {.first = PELT_NEW(c->arena, (size_t)n + 1, uint32_t)};
    for (int fill = 0; fill < 2; fill++) {
        uint32_t end = 0;
        for (uint32_t v = 0; v < n; v++) {
            uint32_t slot = skin->vertex_slots[v], block = slot / PELT_BLOCK, lane = slot % PELT_BLOCK;
            for (uint32_t r = rows->first[block]; r < rows->first[block + 1]; r++) {
                float u[3];
                for (uint32_t i = 0; i < 3; i++) {
                    size_t at = (size_t)i * PELT_BLOCK + lane;
                    u[i] = rows->shorts ? rows->factors[rows->sources[r]].step *
                                              rows->shorts[((size_t)(r / 2) * 3 * PELT_BLOCK + at) * 2 + r % 2]
                                        : rows->floats[(size_t)r * 3 * PELT_BLOCK + at];
                }
                if (u[0] == 0 && u[1] == 0 && u[2] == 0) continue;
                if (fill) {
                    out.keys[end] = rows->shorts ? rows->factors[rows->sources[r]].coefficient : rows->sources[r];
                    memcpy(out.values + 3 * (size_t)end, u, sizeof u);
                }
                end++;
            }
            out.first[v + 1] = end;
        }
        if (!fill)
            out.keys = PELT_NEW(c->arena, end, uint32_t), out.values = PELT_NEW(c->arena, 3 * (size_t)end, float);
    }
    return out;
}

static pelt_displacements *mix_vectors(const carrying *c, pelt_rows rows, uint32_t coefficients) {
    pelt_displacements *out = PELT_NEW(c->arena, 1, pelt_displacements);
    listing from = list_vectors(c, &rows), mixed = mix(c, &from, coefficients, 3);
    *out = (pelt_displacements){mixed.first, mixed.keys, mixed.values};
    return out;
}

/* -- The model ------------------------------------------------------------------------------------------------------ */

/* A stand-in with as many coefficients, so that rows are packed; the sections that compute them are replaced. */
static void carry_corrective(carrying *c) {
    uint32_t count = pelt_skin_corrective(&c->skin)->coefficient_count;
    pelt_corrective *corrective = PELT_NEW(c->arena, 1, pelt_corrective);
    pelt_rbf *rbf = PELT_NEW(c->arena, 1, pelt_rbf);
    *rbf = (pelt_rbf){.center_count = 1,
                      .coefficient_count = count,
                      .width = 1,
                      .matrix = PELT_NEW(c->arena, count, float),
                      .centers = PELT_NEW(c->arena, 1, float),
                      .axes = PELT_NEW(c->arena, 1, pelt_axis)};
    corrective->rbf_count = 1, corrective->rbfs = rbf;
    corrective->displacements = mix_vectors(c, pelt_skin_rows(&c->skin), count);
    if (pelt_skin_tilts(&c->skin).first) corrective->tilts = mix_vectors(c, pelt_skin_tilts(&c->skin), count);
    c->model.corrective = corrective;
    c->model.in_16_bits = pelt_skin_rows(&c->skin).shorts != NULL;
}

/* A fit may have moved rest positions; vertices of the other mesh move along. */
static void carry_positions(carrying *c, const float *rest) {
    const pelt_mesh *mesh = &c->to->mesh;
    float *positions = PELT_NEW(c->arena, 3 * (size_t)mesh->vertex_count, float);
    for (size_t v = 0; v < mesh->vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            double x = mesh->positions[3 * v + i];
            for (int k = 0; k < 3; k++) {
                size_t at = 3 * (size_t)c->places[v].corners[k] + i;
                x += c->places[v].shares[k] * ((double)rest[at] - c->from->mesh.positions[at]);
            }
            positions[3 * v + i] = (float)x;
        }
    c->model.positions = positions;
}

static void carry_controls(carrying *c) {
    pelt_model_control *controls = PELT_NEW(c->arena, c->skin.control_count, pelt_model_control);
    for (uint32_t i = 0; i < c->skin.control_count; i++) {
        const pelt_control *own = &c->skin.controls[i];
        controls[i] = (pelt_model_control){
            .name = c->skin.names + own->name, .rest = own->rest, .least = own->least, .most = own->most};
    }
    c->model.control_count = c->skin.control_count, c->model.controls = controls;
}

static pelt_result carry_rings(carrying *c, pelt_error *error) {
    const pelt_mesh *mesh = &c->to->mesh;
    uint32_t *alone = PELT_NEW(c->arena, mesh->vertex_count, uint32_t);
    for (uint32_t v = 0; v < mesh->vertex_count; v++) alone[v] = v;
    const pelt_smoothing *smoothing = pelt_smoothing_of(c->arena, mesh, (pelt_examples){0});
    c->model.rings = smoothing ? pelt_rings_of(c->arena, smoothing, alone) : NULL;
    if (!c->model.rings) return pelt_no_memory(error);
    if (!c->model.rings->bare) return PELT_OK;
    return pelt_fail(error, PELT_ERROR_DATA,
                     "%s: some vertices belong to no triangle with an area, but the skin takes its normals from the "
                     "surface; remove these vertices, or fit with normals rows",
                     c->to->path);
}

static pelt_result carry(void *user, pelt_error *error) {
    carrying *c = user;
    const pelt_mesh *mesh = &c->to->mesh;
    const sphere *spheres = make_spheres(c->arena, &c->from->mesh);
    size_t guess = 0;
    c->places = PELT_NEW(c->arena, mesh->vertex_count, place);
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        c->places[v] = place_vertex(&c->from->mesh, spheres, mesh->positions + 3 * v, &guess);
        if (v % 256 == 0) pelt_poll();
    }
    pelt_result result = pelt_model_unpack(c->arena, &c->skin, &c->model, error);
    if (result) return result;
    const pelt_influences *in = &c->model.influences;
    listing weights =
        mix(c, &(listing){in->first, in->joints, in->weights}, c->skin.joint_count + c->skin.driven_count, 1);
    carry_positions(c, c->model.positions);
    carry_controls(c);
    if (pelt_has_corrective(&c->skin)) carry_corrective(c);
    c->model.influences = (pelt_influences){weights.first, weights.keys, weights.values};
    c->model.vertex_count = mesh->vertex_count;
    c->model.normals = mesh->normals, c->model.tangents = c->skin.rest_tangents ? mesh->tangents : NULL;
    c->model.mesh_hash = pelt_mesh_hash(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count);
    return c->skin.rings ? carry_rings(c, error) : PELT_OK;
}

/* -- The file ------------------------------------------------------------------------------------------------------- */

/* The sections of the file that turn poses into coefficients. */
static uint32_t list_sections(carrying *c) {
    const pelt_container *header = c->file->bytes;
    const pelt_file_section *table = (const pelt_file_section *)((const char *)c->file->bytes + PELT_HEADER_SIZE);
    uint32_t count = 0;
    for (uint32_t i = 0; i < header->section_count; i++) {
        const char *data = (const char *)c->file->bytes + table[i].offset;
        if (data == (const char *)pelt_skin_corrective(&c->skin) ||
            data == (const char *)pelt_skin_features(&c->skin) || data == (const char *)pelt_skin_neighbors(&c->skin))
            c->changes[count++] = (pelt_packed_section){table[i].kind, table[i].flags, table[i].size, data};
    }
    return count;
}

static pelt_bytes *carry_levels(carrying *c, pelt_bytes *bytes, pelt_error *error) {
    pelt_skin skin;
    pelt_level_plan plan = {.level_count = pelt_level_count(&c->skin)};
    if (!bytes || plan.level_count < 2) return bytes;
    plan.displaced_count = c->skin.levels->displaced_count, plan.last = pelt_last_levels(&c->skin);
    for (uint32_t l = 0; l < plan.level_count; l++) {
        pelt_level_facts facts;
        pelt_get_level(&c->skin, l, &facts);
        plan.rms[l] = facts.rms, plan.p95[l] = facts.p95;
        bool all = pelt_level_entries(&c->skin, l).first == c->skin.block_first;
        plan.influences[l] = all ? 0 : facts.influences;
    }
    pelt_result result = pelt_open(bytes->bytes, bytes->size, &skin);
    if (result) pelt_fail(error, result, "the skin cannot be opened: %s", pelt_result_text(result));
    pelt_bytes *out = result ? NULL : pelt_pack_levels(bytes->bytes, &skin, &plan, error);
    pelt_bytes_free(bytes);
    return out;
}

static pelt_result check(const carrying *c, pelt_error *error) {
    const pelt_mesh *from = &c->from->mesh;
    if (c->skin.vertex_count != from->vertex_count)
        return pelt_fail(error, PELT_ERROR_DATA,
                         "the skin has %u vertices, but the mesh in %s has %u: it was made for another mesh",
                         c->skin.vertex_count, c->from->path, from->vertex_count);
    if (!from->triangle_count)
        return pelt_fail(error, PELT_ERROR_DATA, "%s has no triangles, so it has no surface to carry from",
                         c->from->path);
    if (!c->to->mesh.vertex_count) return pelt_fail(error, PELT_ERROR_DATA, "%s has no vertices", c->to->path);
    if (pelt_has_corrective(&c->skin) && pelt_skin_corrective(&c->skin)->weighted)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "wpsd gives every vertex its own pose distance, which cannot be carried; fit the other mesh "
                         "itself, or use another method");
    return pelt_check_mesh(c->skin.mesh_hash ? *c->skin.mesh_hash : 0, c->from, error);
}

pelt_bytes *pelt_carry_skin(const pelt_bytes *skin, const pelt_bundle *from, const pelt_bundle *to, pelt_error *error) {
    if (PELT_MISSING(skin, error) || PELT_MISSING(from, error) || PELT_MISSING(to, error)) return NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    carrying c = {.arena = arena, .file = skin, .from = from, .to = to};
    char about[100];
    pelt_result result = pelt_open(skin->bytes, skin->size, &c.skin);
    if (result) return pelt_fail(error, result, "the skin cannot be opened: %s", pelt_result_text(result)), NULL;
    if (check(&c, error) || pelt_stage(arena, carry, &c, error)) return NULL;
    snprintf(about, sizeof about, "{\"method\":\"%s\",\"carried\":true}",
             c.skin.facts ? pelt_method_name((pelt_method)c.skin.facts->method) : "unknown");
    pelt_bytes *bytes = pelt_model_pack(&c.model, about, error);
    if (!bytes || !c.model.corrective) return carry_levels(&c, bytes, error);
    pelt_bytes *changed = pelt_change_sections(arena, bytes->bytes, c.changes, list_sections(&c), error);
    pelt_bytes_free(bytes);
    return carry_levels(&c, changed, error);
}
