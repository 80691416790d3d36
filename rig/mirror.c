/* mirror.c: examples of one side used for the other.

   With M the reflection in the plane of symmetry, u the vertex at the mirrored position of v, and m(j) the joint of the
   other side, skinning moves v to the mirror image of where it moves u if

       T'_j = M T_m(j) M,   T_j = G_j (G_j at rest)^-1

   whatever axes the joints have. The poses follow from these, parents first. */

#include "rig/align.h"
#include "rig/maths.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

static const double as_near =
    1e-6; /* of the diagonal: vertices this much farther are candidates too, by their normals */

/* Vertices and joints closer than this fraction of the bounding-box diagonal are partners. */
static const double near_vertex = 1e-3, near_joint = 0.02;

static const char *const MIRRORED = ", mirrored"; /* after the names of clips */

typedef struct mirroring {
    pelt_bundle *bundle;
    const pelt_clip *clip;
    int axis;
    double plane;
    pelt_arena *arena;
    uint32_t *vertices, *joints, *controls; /* partners */
    pelt_affine *rest;                      /* globals of joints at rest */
    double *positions;                      /* rest positions of vertices, posed by the skeleton */
    pelt_clip_input made;
} mirroring;

/* -- Names --------------------------------------------------------------------------------------------------------- */

static bool is_letter(char c) { return isalpha((unsigned char)c) != 0; }

/* Matches "left" at this position of a name, ignoring case, alone or inside a longer word; returns its length. */
static size_t word_at(const char *at, const char *word) {
    size_t i = 0;
    while (word[i] && tolower((unsigned char)at[i]) == word[i]) i++;
    return word[i] ? 0 : i;
}

/* Writes one side's word over the other's, keeping its case: LEFT, Left, left. */
static size_t put_word(const char *like, const char *word, char *out) {
    size_t n = strlen(word);
    bool all = isupper((unsigned char)like[1]) != 0;
    for (size_t i = 0; i < n; i++)
        out[i] = isupper((unsigned char)like[0]) && (all || !i) ? (char)toupper((unsigned char)word[i]) : word[i];
    return n;
}

/* The name on the other side: Left and Right anywhere, L and R only if separate: .L _l L_ . False: there is none. */
static bool other_side(const char *name, char *out, size_t size) {
    bool changed = false;
    size_t n = 0;
    for (const char *at = name; *at && n + 8 < size;) {
        size_t left = word_at(at, "left"), right = word_at(at, "right");
        bool alone = (at == name || !is_letter(at[-1])) && !is_letter(at[1]);
        if (left || right) {
            n += put_word(at, left ? "right" : "left", out + n);
            at += left + right, changed = true;
        } else if (alone && strchr("lLrR", *at)) {
            out[n++] = "rRlL"[strchr("lLrR", *at++) - "lLrR"];
            changed = true;
        } else {
            out[n++] = *at++;
        }
    }
    out[n] = 0;
    return changed;
}

/* Indices of the names' partners; a name without a side, or whose partner is missing, is its own. */
static void pair_names(const char *const *names, uint32_t count, uint32_t *partners) {
    for (uint32_t i = 0; i < count; i++) {
        char other[300];
        partners[i] = i;
        if (!other_side(names[i], other, sizeof other)) continue;
        for (uint32_t k = 0; k < count; k++)
            if (!strcmp(names[k], other)) partners[i] = k;
    }
}

/* -- Partners ------------------------------------------------------------------------------------------------------ */

static void reflect(const mirroring *m, const double from[3], double to[3]) {
    memcpy(to, from, 3 * sizeof *to);
    to[m->axis] = 2 * m->plane - from[m->axis];
}

static pelt_affine reflection(const mirroring *m) {
    pelt_affine r = pelt_identity;
    r.m[5 * m->axis] = -1;
    r.m[4 * m->axis + 3] = 2 * m->plane;
    return r;
}

/* If several vertices are at the mirrored position, picks the one with the mirrored normal. Returns how many have no
   partner. */
static uint32_t pair_vertices(mirroring *m, const pelt_neighbours *tree, uint32_t *partners, uint32_t *lonely) {
    enum { MOST = 8 };
    const pelt_mesh *mesh = &m->bundle->mesh;
    double near = near_vertex * mesh->diagonal, squares[MOST], at[3];
    uint32_t list[MOST], missing = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        reflect(m, m->positions + 3 * (size_t)v, at);
        uint32_t found = pelt_nearest(tree, at, MOST, list, squares);
        double best = -INFINITY;
        for (uint32_t i = 0; i < found && sqrt(squares[i]) <= sqrt(squares[0]) + as_near * mesh->diagonal; i++) {
            const float *a = mesh->normals + 3 * (size_t)v, *b = mesh->normals + 3 * (size_t)list[i];
            double dot = 0;
            for (int k = 0; k < 3; k++) dot += (k == m->axis ? -1.0 : 1.0) * a[k] * b[k];
            if (dot > best) best = dot, partners[v] = list[i];
        }
        if (found && sqrt(squares[0]) <= near) continue;
        if (!missing++) *lonely = v;
    }
    return missing;
}

/* The plane through the origin or through the character's centre, whichever it is symmetric about. */
static pelt_result find_vertices(mirroring *m, pelt_error *error) {
    uint32_t n = m->bundle->mesh.vertex_count, lonely = 0, other = 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t v = 0; v < n; v++) {
        low = fmin(low, m->positions[3 * v + (size_t)m->axis]);
        high = fmax(high, m->positions[3 * v + (size_t)m->axis]);
    }
    const pelt_neighbours *tree = pelt_neighbours_of(m->arena, m->positions, n);
    uint32_t *partners = PELT_NEW(m->arena, n, uint32_t);
    m->vertices = PELT_NEW(m->arena, n, uint32_t);
    uint32_t missing = pair_vertices(m, tree, m->vertices, &lonely);
    m->plane = (low + high) / 2;
    uint32_t beside = missing ? pair_vertices(m, tree, partners, &other) : missing;
    if (beside < missing)
        missing = beside, lonely = other, m->vertices = partners;
    else
        m->plane = 0;
    if (!missing) return PELT_OK;
    return pelt_fail(
        error, PELT_ERROR_DATA,
        "%s: %u of the %u vertices have no partner on the other side of %c (the first is vertex %u), so examples "
        "cannot be mirrored; make the mesh symmetric in its rest pose, or do not mirror",
        m->bundle->path, missing, n, "xyz"[m->axis], lonely);
}

static pelt_result find_joints(mirroring *m, pelt_error *error) {
    const pelt_skeleton *s = &m->bundle->skeleton;
    m->joints = PELT_NEW(m->arena, s->joint_count, uint32_t);
    pair_names(s->names, s->joint_count, m->joints);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        const double *a = m->rest[j].m, *b = m->rest[m->joints[j]].m;
        double at[3];
        reflect(m, (double[3]){b[3], b[7], b[11]}, at);
        if (pelt_distance(at, (double[3]){a[3], a[7], a[11]}) <= near_joint * m->bundle->mesh.diagonal) continue;
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: joint \"%s\" is not at the mirror image of \"%s\", so examples cannot be mirrored; sides "
                         "are taken from the joints' names (Left and Right, .L and .R, _l and _r, L_ and R_)",
                         m->bundle->path, s->names[j], s->names[m->joints[j]]);
    }
    m->controls = PELT_NEW(m->arena, m->bundle->controls.count, uint32_t);
    pair_names(m->bundle->controls.names, m->bundle->controls.count, m->controls);
    return PELT_OK;
}

/* -- Poses and shapes ---------------------------------------------------------------------------------------------- */

static void mirror_pose(const mirroring *m, uint32_t frame, pelt_transform *out) {
    const pelt_skeleton *s = &m->bundle->skeleton;
    uint32_t n = s->joint_count;
    PELT_SCOPED pelt_arena *brief = pelt_arena_inside(m->arena);
    pelt_affine *globals = PELT_NEW(brief, n, pelt_affine), *unused = PELT_NEW(brief, n, pelt_affine);
    pelt_affine *mirrored = PELT_NEW(brief, n, pelt_affine), across = reflection(m), inverse;
    pelt_clip_pose(m->clip, s, frame, out);
    pelt_joint_matrices(s, out, globals, unused);
    for (uint32_t j = 0; j < n; j++) {
        uint32_t from = m->joints[j];
        pelt_affine_invert(&m->rest[from], &inverse);
        pelt_affine t = pelt_affine_multiply(&globals[from], &inverse);
        t = pelt_affine_multiply(&across, &t);
        t = pelt_affine_multiply(&t, &across);
        mirrored[j] = pelt_affine_multiply(&t, &m->rest[j]);
        pelt_affine local = mirrored[j];
        if (s->parents[j] >= 0) {
            pelt_affine_invert(&mirrored[s->parents[j]], &inverse);
            local = pelt_affine_multiply(&inverse, &mirrored[j]);
        }
        pelt_affine_split(&local, &out[j]);
    }
}

static void mirror_vectors(const mirroring *m, const float *from, double plane, float *to) {
    for (size_t v = 0; v < m->bundle->mesh.vertex_count; v++)
        for (size_t i = 0; i < 3; i++) {
            float x = from[3 * (size_t)m->vertices[v] + i];
            to[3 * v + i] = (int)i == m->axis ? (float)(2 * plane - x) : x;
        }
}

/* A stage. */
static pelt_result find_partners(void *user, pelt_error *error) {
    mirroring *m = user;
    const pelt_bundle *b = m->bundle;
    pelt_affine *matrices = PELT_NEW(m->arena, b->skeleton.joint_count, pelt_affine);
    m->rest = PELT_NEW(m->arena, b->skeleton.joint_count, pelt_affine);
    m->positions = pelt_blend_frame(m->arena, b, NULL, 0);
    pelt_joint_matrices(&b->skeleton, b->skeleton.rest, m->rest, matrices);
    pelt_result result = find_vertices(m, error);
    return result ? result : find_joints(m, error);
}

/* A stage. */
static pelt_result mirror(void *user, pelt_error *error) {
    mirroring *m = user;
    const pelt_bundle *b = m->bundle;
    const pelt_clip *clip = m->clip;
    size_t joints = b->skeleton.joint_count, row = 3 * (size_t)b->mesh.vertex_count, controls = b->controls.count;
    pelt_result result = find_partners(m, error);
    if (result) return result;
    pelt_transform *poses = PELT_NEW(m->arena, clip->frame_count * joints, pelt_transform);
    float *positions = clip->positions ? PELT_NEW(m->arena, clip->frame_count * row, float) : NULL;
    float *normals = clip->normals ? PELT_NEW(m->arena, clip->frame_count * row, float) : NULL;
    float *values = clip->controls ? PELT_NEW(m->arena, clip->frame_count * controls, float) : NULL;
    for (uint32_t f = 0; f < clip->frame_count; f++) {
        mirror_pose(m, f, poses + f * joints);
        if (positions) mirror_vectors(m, clip->positions + f * row, m->plane, positions + f * row);
        if (normals) mirror_vectors(m, clip->normals + f * row, 0, normals + f * row);
        for (size_t c = 0; values && c < controls; c++)
            values[f * controls + c] = clip->controls[f * controls + m->controls[c]];
    }
    m->made = (pelt_clip_input){.name = pelt_arena_format(m->arena, "%s%s", clip->name, MIRRORED),
                                .frame_count = clip->frame_count,
                                .poses = poses,
                                .positions = positions,
                                .controls = values,
                                .normals = normals};
    return PELT_OK;
}

pelt_result pelt_bundle_symmetry(pelt_bundle *bundle, int *axis, pelt_error *error) {
    const pelt_skeleton *s = &bundle->skeleton;
    bool has_sides = false;
    char other[300];
    *axis = -1;
    for (uint32_t j = 0; j < s->joint_count && !has_sides; j++)
        has_sides = other_side(s->names[j], other, sizeof other);
    for (int a = 0; a < 3 && has_sides && *axis < 0; a++) {
        PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
        mirroring m = {.bundle = bundle, .axis = a, .arena = arena};
        pelt_error why = {0};
        pelt_result result = pelt_stage(arena, find_partners, &m, &why);
        if (result == PELT_ERROR_MEMORY) return *error = why, result;
        for (uint32_t j = 0; j < s->joint_count && !result; j++)
            if (m.joints[j] != j) *axis = a;
    }
    return PELT_OK;
}

bool pelt_is_image(const pelt_clip *clip, const pelt_clip *of) {
    size_t length = strlen(clip->name), end = strlen(MIRRORED);
    if (length < end || strcmp(clip->name + length - end, MIRRORED)) return false;
    return !of || (strlen(of->name) == length - end && !strncmp(clip->name, of->name, length - end));
}

const pelt_clip *pelt_bundle_mirror(pelt_bundle *bundle, const pelt_clip *clip, int axis, pelt_error *error) {
    pelt_error unwanted;
    if (!error) error = &unwanted;
    if (PELT_MISSING(bundle, error)) return NULL;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    mirroring m = {.bundle = bundle, .clip = clip, .axis = axis, .arena = arena};
    const pelt_clip *made = NULL;
    if (!pelt_is_own_clip(bundle, clip))
        pelt_fail_option(error, "clip", "%s has no such clip to mirror", bundle->path);
    else if (axis < 0 || axis > 2)
        pelt_fail(error, PELT_ERROR_ARGUMENT, "examples are mirrored along axis 0, 1 or 2, not %d", axis);
    else if (!pelt_stage(m.arena, mirror, &m, error))
        made = pelt_bundle_add_clip(bundle, &m.made, error);
    if (made) ((pelt_clip *)made)->example_weights = clip->example_weights; /* the bundle's own */
    return made;
}
