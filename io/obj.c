/* obj.c: Wavefront OBJ geometry: `v` lines are points, `f` lines are polygons, which are split into triangle fans. `vn`
   lines are normals, referenced by face corners ("7//9"): a point gets the mean of its corners'. Everything else is
   skipped. */

#include "io/cache.h"
#include "rig/text.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The text is followed by a zero byte (pelt_file); no function here steps over one, so none leaves the text. */
typedef struct parser {
    const char *at, *end, *path;
    pelt_error *error;
    size_t line;
    size_t point_count, triangle_count, normal_count; /* seen so far */
    size_t point_total, normal_total;                 /* after the counting pass */
    float *positions;                                 /* NULL while counting */
    uint32_t *triangles;                              /* NULL while counting, or if not requested */
    float *listed;                                    /* [normal_total][3] NULL while counting, or if not requested */
    float *normals;                                   /* [point_total][3] sums over corners; NULL: not in this pass */
    bool with_faces;
} parser;

/* -- Tokens ------------------------------------------------------------------------------------------------------ */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static bool ends_token(char c) { return is_blank(c) || c == '\n' || c == 0 || c == '\\' || c == '#'; }

/* A backslash at the end of a line continues it on the next one. */
static void skip_blanks(parser *p) {
    for (;;) {
        while (is_blank(*p->at)) p->at++;
        size_t size = p->at[0] != '\\' ? 0 : p->at[1] == '\n' ? 2 : p->at[1] == '\r' && p->at[2] == '\n' ? 3 : 0;
        if (!size) return;
        p->at += size;
        p->line++;
    }
}

static void next_line(parser *p) {
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    p->at = newline ? newline + 1 : p->end;
    p->line++;
}

static bool accept_word(const char **at, const char *word) {
    const char *c = *at;
    for (; *word; word++, c++)
        if ((*c | 32) != *word) return false;
    *at = c;
    return true;
}

static bool read_float(parser *p, float *value) {
    skip_blanks(p);
    const char *at = p->at;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    double magnitude;
    if (accept_word(&at, "nan")) {
        magnitude = NAN;
        if (*at == '(') /* some printf functions say nan(ind) */
            while (!ends_token(*at)) at++;
    } else if (accept_word(&at, "inf")) {
        magnitude = INFINITY;
        accept_word(&at, "inity");
    } else {
        at = pelt_read_decimal(at, &magnitude);
    }
    if (!at || !ends_token(*at)) return false;
    p->at = at;
    *value = (float)(negative ? -magnitude : magnitude);
    return true;
}

static int64_t read_index(const char **at) {
    bool negative = **at == '-';
    *at += negative;
    int64_t index = 0;
    for (; is_digit(**at); ++*at)
        if (index <= UINT32_MAX) index = 10 * index + (**at - '0');
    return negative ? -index : index;
}

/* The vertex of a face corner "v", "v/vt", "v//vn" or "v/vt/vn", 0 if malformed; and its normal, 0 if it has none. */
static int64_t read_corner(parser *p, int64_t *normal) {
    const char *at = p->at;
    int64_t index = read_index(&at), slashes = 0;
    *normal = 0;
    while (*at == '/' || *at == '-' || is_digit(*at)) {
        if (*at == '/') {
            at++, slashes++;
        } else {
            const char *before = at;
            *normal = read_index(&at);
            if (at == before) return 0;
        }
    }
    if (slashes != 2) *normal = 0; /* that was the texture coordinate */
    if (!ends_token(*at)) return 0;
    p->at = at;
    return index;
}

/* -- Lines ------------------------------------------------------------------------------------------------------- */

static pelt_result read_three(parser *p, const char *what, float *list, size_t *count) {
    float *three = list && !p->normals ? list + 3 * *count : NULL;
    ++*count;
    for (int i = 0; three && i < 3; i++)
        if (!read_float(p, &three[i]))
            return pelt_fail(p->error, PELT_ERROR_FORMAT, "%s: line %zu: a %s needs three numbers", p->path, p->line,
                             what);
    return PELT_OK;
}

/* Adds the normal of a corner to its vertex. */
static pelt_result add_normal(const parser *p, int64_t index, uint32_t vertex) {
    int64_t n = index > 0 ? index - 1 : (int64_t)p->normal_count + index;
    if (index == 0) return PELT_OK;
    if (n < 0 || n >= (int64_t)p->normal_total)
        return pelt_fail(p->error, PELT_ERROR_INDEX, "%s: line %zu: a face names normal %lld, but there are %zu",
                         p->path, p->line, (long long)index, p->normal_total);
    float unit[3] = {0};
    pelt_unit_normal(p->listed + 3 * n, unit);
    for (size_t i = 0; i < 3; i++) p->normals[3 * (size_t)vertex + i] += unit[i];
    return PELT_OK;
}

static pelt_result resolve(const parser *p, int64_t index, uint32_t *vertex) {
    int64_t v = index > 0 ? index - 1 : (int64_t)p->point_count + index;
    if (index == 0)
        return pelt_fail(p->error, PELT_ERROR_FORMAT, "%s: line %zu: a corner of a face is not a vertex number",
                         p->path, p->line);
    if (v < 0 || v >= (int64_t)p->point_total)
        return pelt_fail(p->error, PELT_ERROR_INDEX, "%s: line %zu: a face names vertex %lld, but there are %zu",
                         p->path, p->line, (long long)index, p->point_total);
    *vertex = (uint32_t)v;
    return PELT_OK;
}

static bool at_line_end(parser *p) {
    skip_blanks(p);
    return *p->at == '\n' || *p->at == '#' || *p->at == 0;
}

static pelt_result read_face(parser *p) {
    uint32_t first = 0, previous = 0, current = 0;
    size_t corners = 0;
    for (; !at_line_end(p); corners++) {
        int64_t normal, index = read_corner(p, &normal);
        if (index == 0 && !p->triangles && !p->normals) return PELT_OK; /* the second pass reports it */
        pelt_result result = p->triangles || p->normals ? resolve(p, index, &current) : PELT_OK;
        if (!result && p->normals) result = add_normal(p, normal, current);
        if (result) return result;
        if (corners == 0) first = current;
        if (corners >= 2) {
            if (p->triangles && !p->normals)
                memcpy(p->triangles + 3 * p->triangle_count, (uint32_t[]){first, previous, current}, 12);
            p->triangle_count++;
        }
        previous = current;
    }
    if (corners < 3 && p->triangles)
        return pelt_fail(p->error, PELT_ERROR_FORMAT, "%s: line %zu: a face needs three corners or more", p->path,
                         p->line);
    return PELT_OK;
}

static pelt_result read_lines(parser *p) {
    p->line = 1;
    p->point_count = p->triangle_count = p->normal_count = 0;
    while (p->at < p->end) {
        pelt_result result = PELT_OK;
        while (is_blank(*p->at)) p->at++;
        char keyword = *p->at;
        if (keyword == 'v' && p->at[1] == 'n' && is_blank(p->at[2])) {
            p->at += 2;
            result = read_three(p, "normal", p->listed, &p->normal_count);
        } else if ((keyword == 'v' || keyword == 'f') && is_blank(p->at[1])) {
            p->at++;
            if (keyword == 'v')
                result = read_three(p, "vertex", p->positions, &p->point_count);
            else if (p->with_faces || p->normals)
                result = read_face(p);
        }
        if (result) return result;
        next_line(p);
    }
    return PELT_OK;
}

/* -- Files ------------------------------------------------------------------------------------------------------- */

/* A second pass over the faces, once all normals are known: they may come after the faces that name them. Points
   without a corner normal get none; if no point has one, the file has no normals. */
static pelt_result read_normals(parser *p, pelt_arena *arena, const char *text, float **normals) {
    bool any = false;
    p->at = text;
    p->normals = PELT_NEW(arena, 3 * p->point_total, float);
    if (pelt_arena_failed(arena)) return pelt_file_no_memory(p->path, p->error);
    pelt_result result = read_lines(p);
    for (size_t v = 0; v < p->point_total && !result; v++) {
        float *n = p->normals + 3 * v, unit[3] = {0};
        pelt_unit_normal(n, unit);
        memcpy(n, unit, sizeof unit);
        any |= unit[0] != 0 || unit[1] != 0 || unit[2] != 0;
    }
    if (any) *normals = p->normals;
    return result;
}

pelt_result pelt_obj_parse(pelt_arena *arena, const pelt_file *file, const char *path, uint32_t *point_count,
                           float **positions, float **normals, uint32_t *triangle_count, uint32_t **triangles,
                           pelt_error *error) {
    const char *text = (const char *)file->bytes;
    parser p = {.at = text, .end = text + file->size, .path = path, .error = error, .with_faces = triangles != NULL};
    read_lines(&p); /* counts; reports no errors */
    if (p.point_count == 0)
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: has no vertices (lines like \"v x y z\")", path);
    if (p.point_count > INT32_MAX || p.triangle_count > INT32_MAX)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: has more than %d vertices or triangles", path, INT32_MAX);
    p.at = text;
    p.point_total = p.point_count;
    p.positions = PELT_NEW(arena, 3 * p.point_count, float);
    p.triangles = triangles ? PELT_NEW(arena, 3 * p.triangle_count, uint32_t) : NULL;
    p.normal_total = normals ? p.normal_count : 0;
    p.listed = p.normal_total ? PELT_NEW(arena, 3 * p.normal_total, float) : NULL;
    if (normals) *normals = NULL;
    if (pelt_arena_failed(arena)) return pelt_file_no_memory(path, error);
    pelt_result result = read_lines(&p);
    if (result) return result;
    *point_count = (uint32_t)p.point_count;
    *positions = p.positions;
    if (triangle_count) *triangle_count = (uint32_t)p.triangle_count;
    if (triangles) *triangles = p.triangles;
    return p.normal_total ? read_normals(&p, arena, text, normals) : PELT_OK;
}

/* A name at the end of a line: characters that would end the line or hide the name become _. */
static void put_name(pelt_writer *writer, const char *keyword, const char *name) {
    pelt_writer_put(writer, keyword, strlen(keyword));
    for (; *name; name++) {
        char c = (unsigned char)*name < ' ' || *name == 127 || *name == '#' || *name == '\\' ? '_' : *name;
        pelt_writer_put(writer, &c, 1);
    }
    pelt_writer_put(writer, "\n", 1);
}

/* Every object names its materials; faces without one say so too, or they would inherit the previous one. */
static void put_part(pelt_writer *writer, const pelt_part *part, const pelt_part *before) {
    bool begins = !before || strcmp(part->name, before->name) != 0;
    const char *material = part->material ? part->material : "none";
    const char *last = before && before->material ? before->material : "none";
    if (begins) put_name(writer, "o ", part->name);
    if ((begins && part->material) || (before && strcmp(material, last) != 0)) put_name(writer, "usemtl ", material);
}

static void put_faces(pelt_writer *writer, const pelt_mesh *mesh) {
    char line[128];
    uint32_t part = 0;
    size_t next = 0; /* first triangle of the next part */
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        for (; t == next && part < mesh->part_count; part++) {
            next += mesh->parts[part].triangle_count;
            if (mesh->parts[part].triangle_count)
                put_part(writer, &mesh->parts[part], part ? &mesh->parts[part - 1] : NULL);
        }
        uint32_t a = mesh->triangles[3 * t] + 1, b = mesh->triangles[3 * t + 1] + 1, c = mesh->triangles[3 * t + 2] + 1;
        int length = mesh->uvs ? snprintf(line, sizeof line, "f %u/%u %u/%u %u/%u\n", a, a, b, b, c, c)
                               : snprintf(line, sizeof line, "f %u %u %u\n", a, b, c);
        pelt_writer_put(writer, line, (size_t)length);
    }
}

void pelt_obj_put(pelt_writer *writer, const float *positions, const pelt_mesh *mesh) {
    /* printf writes a decimal comma if the host program's locale asks for it. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    char line[128];
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        const float *p = positions + 3 * v;
        int length = snprintf(line, sizeof line, "v %.9g %.9g %.9g\n", p[0], p[1], p[2]);
        pelt_writer_put(writer, line, (size_t)length);
    }
    for (size_t v = 0; mesh->uvs && v < mesh->vertex_count; v++) { /* glTF counts v downwards, .obj upwards */
        int length = snprintf(line, sizeof line, "vt %.9g %.9g\n", mesh->uvs[2 * v], 1 - mesh->uvs[2 * v + 1]);
        pelt_writer_put(writer, line, (size_t)length);
    }
    put_faces(writer, mesh);
    if (!plain) return;
    uselocale(before);
    freelocale(plain);
}
