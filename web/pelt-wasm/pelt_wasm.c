/* pelt_wasm.c: the run time as a WebAssembly module without imports: the functions JavaScript calls.

   JavaScript sees memory as arrays of numbers, so what it reads is laid out accordingly: an opened skin, a pose and
   opened keys consist of 32-bit words. Pointers are such words. The module tells where each word is (`layout`), and
   scripts/build.mjs generates src/layout.ts from that. Memory for files comes from pelt_wasm_allocate and belongs to the
   object from then on, even if opening fails. */

#include "gpu/pack.h"
#include "runtime/loops.h"
#include <pelt/keys.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name), visibility("default")))

/* Sizes near the end of the address space are refused. */
EXPORT(allocate) void *pelt_wasm_allocate(size_t size) {
    if (size > SIZE_MAX - 2 * PELT_ALIGN) return NULL;
    return aligned_alloc(PELT_ALIGN, (size + PELT_ALIGN) / PELT_ALIGN * PELT_ALIGN);
}

EXPORT(release) void pelt_wasm_release(void *memory) { free(memory); }

EXPORT(result_text) const char *pelt_wasm_result_text(int result) { return pelt_result_text((pelt_result)result); }

EXPORT(version) const char *pelt_wasm_version(void) { return pelt_version(); }

EXPORT(mesh_hash)
uint64_t pelt_wasm_mesh_hash(const float *positions, uint32_t vertices, const uint32_t *triangles, uint32_t count) {
    return pelt_mesh_hash(positions, vertices, triangles, count);
}

/* -- Skins --------------------------------------------------------------------------------------------------------- */

typedef struct opened_skin {
    uint32_t result; /* of pelt_open; what follows is 0 unless it is PELT_OK */
    uint32_t vertex_count, block_count, joint_count, driven_count, control_count;
    const pelt_joint *joints;
    const char *names;
    const uint32_t *vertex_slots, *block_first;
    const uint16_t *entry_joints;
    const float *entry_weights, *rest_positions, *rest_normals, *rest_tangents;
    const pelt_driven *driven;
    const pelt_control *controls;
    const char *about;
    uint32_t about_size;
    const uint64_t *mesh_hash;
    uint32_t has_corrective, coefficient_count, level_count;
    uint32_t region_count;         /* of pelt_confidence; 0: the skin does not know its errors */
    const uint8_t *vertex_regions; /* [vertex_count] */
    uint32_t *slot_vertices;       /* [16 block_count] */
    /* For graphics hardware; words is NULL until pelt_wasm_skin_pack. */
    uint32_t *words;
    uint32_t word_count, form, phi, parts, tilts, rings, bends, own_vec4s;
    const pelt_gpu_numbers *numbers;
    /* Private to C from here on. */
    void *bytes;
    pelt_skin skin;
    pelt_gpu_skin packed;
} opened_skin;

static void describe(opened_skin *s) {
    const pelt_skin *k = &s->skin;
    const pelt_file_corrective *head = pelt_skin_corrective(k);
    s->vertex_count = k->vertex_count, s->block_count = k->block_count, s->joint_count = k->joint_count;
    s->driven_count = k->driven_count, s->control_count = k->control_count;
    s->joints = k->joints, s->names = k->names, s->driven = k->driven, s->controls = k->controls;
    s->vertex_slots = k->vertex_slots, s->block_first = k->block_first;
    s->entry_joints = k->entry_joints, s->entry_weights = k->entry_weights;
    s->rest_positions = k->rest_positions, s->rest_normals = k->rest_normals, s->rest_tangents = k->rest_tangents;
    s->about = k->about, s->about_size = k->about_size, s->mesh_hash = k->mesh_hash;
    s->has_corrective = head != NULL, s->level_count = pelt_level_count(k);
    s->coefficient_count = head && !head->weighted ? head->coefficient_count : 0;
    s->region_count = pelt_confidence_region_count(k), s->vertex_regions = pelt_confidence_vertex_regions(k);
}

EXPORT(skin_free) void pelt_wasm_skin_free(opened_skin *s) {
    if (!s) return;
    free(s->words), free(s->slot_vertices), free(s->bytes), free(s);
}

/* NULL when out of memory. */
EXPORT(skin_open) opened_skin *pelt_wasm_skin_open(void *bytes, size_t size) {
    opened_skin *s = calloc(1, sizeof *s);
    if (!s) return free(bytes), NULL;
    s->bytes = bytes;
    s->result = pelt_open(bytes, size, &s->skin);
    if (s->result) return s;
    describe(s);
    uint64_t slots = (uint64_t)s->block_count * PELT_BLOCK;
    s->slot_vertices = slots < SIZE_MAX / 4 ? malloc((size_t)slots * sizeof *s->slot_vertices) : NULL;
    if (!s->slot_vertices)
        s->result = PELT_ERROR_MEMORY;
    else
        pelt_slot_vertices(&s->skin, s->slot_vertices);
    return s;
}

/* The level of detail for a view of pelt.h. */
EXPORT(skin_level)
float pelt_wasm_skin_level(const opened_skin *s, float distance, float field_of_view, float height, float pixels,
                           float zone) {
    pelt_level_view view = {distance, field_of_view, height, pixels, zone};
    return pelt_level(&s->skin, &view);
}

EXPORT(region_name) const char *pelt_wasm_region_name(const opened_skin *s, uint32_t region) {
    return pelt_confidence_region_name(&s->skin, region);
}

/* The skin as words for graphics hardware (gpu/pack.h): 0 when out of memory. */
EXPORT(skin_pack) int pelt_wasm_skin_pack(opened_skin *s) {
    if (s->words) return 1;
    if (!pelt_gpu_pack(&s->skin, &s->packed)) return 0;
    s->words = s->packed.words, s->word_count = (uint32_t)s->packed.word_count;
    s->form = s->packed.form, s->phi = s->packed.phi, s->parts = s->packed.parts, s->tilts = s->packed.tilts;
    s->rings = s->packed.rings, s->bends = s->packed.bends;
    s->own_vec4s = s->packed.own_vec4s, s->numbers = &s->packed.numbers;
    return 1;
}

/* Called once the words are on the device; poses still need the rest. */
EXPORT(skin_drop_words) void pelt_wasm_skin_drop_words(opened_skin *s) {
    free(s->words);
    s->words = NULL;
}

/* -- Poses --------------------------------------------------------------------------------------------------------- */

enum { MATRIX = 12 };

typedef struct pose {
    pelt_transform *locals;                /* [joint_count] */
    float *controls;                       /* [control_count] */
    float *coefficients;                   /* [coefficient_count], or NULL */
    float *matrices;                       /* [joint_count + driven_count][12], after pelt_wasm_matrices */
    float *positions, *normals, *tangents; /* allocated on demand: in slot or vertex order, as last written */
    pelt_box box;                          /* of the last deformation */
    float *packed;                         /* for graphics hardware, after pelt_wasm_pose_pack */
    float level;                           /* of detail */
    float *expected;                       /* [1 + region_count] errors, after pelt_wasm_pose_confidence */
    /* Private to C from here on. */
    const opened_skin *skin;
    void *scratch;
} pose;

EXPORT(pose_free) void pelt_wasm_pose_free(pose *p) {
    if (!p) return;
    free(p->locals), free(p->controls), free(p->matrices), free(p->packed), free(p->scratch);
    free(p->expected), free(p->positions), free(p->normals), free(p->tangents), free(p);
}

/* NULL when out of memory. Starts at rest, already posed. */
EXPORT(pose_new) pose *pelt_wasm_pose_new(const opened_skin *s) {
    const pelt_skin *skin = &s->skin;
    pose *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->skin = s;
    p->locals = malloc(skin->joint_count * sizeof *p->locals);
    p->controls = malloc((skin->control_count + 1) * sizeof *p->controls);
    p->scratch = pelt_wasm_allocate(pelt_scratch_size(skin));
    if (!p->locals || !p->controls || !p->scratch) return pelt_wasm_pose_free(p), NULL;
    for (uint32_t j = 0; j < skin->joint_count; j++) p->locals[j] = skin->joints[j].rest;
    for (uint32_t c = 0; c < skin->control_count; c++) p->controls[c] = skin->controls[c].rest;
    if (s->coefficient_count)
        p->coefficients =
            (float *)((char *)p->scratch + pelt_pose_layout(skin).size + pelt_corrective_outputs(skin).coefficients);
    return p;
}

EXPORT(pose_update) void pelt_wasm_pose_update(pose *p) {
    pelt_pose_input input = {.locals = p->locals, .controls = p->controls, .level = p->level};
    pelt_pose_from(&p->skin->skin, &input, p->scratch);
}

/* The same from known globals [joint_count][12]. */
EXPORT(pose_update_matrices) void pelt_wasm_pose_update_matrices(pose *p, const float *globals) {
    pelt_pose_input input = {.globals = (const float(*)[MATRIX])globals, .controls = p->controls, .level = p->level};
    pelt_pose_from(&p->skin->skin, &input, p->scratch);
}

/* Fills in p->matrices: 0 when out of memory. */
EXPORT(pose_matrices) int pelt_wasm_pose_matrices(pose *p) {
    const pelt_skin *skin = &p->skin->skin;
    uint32_t count = pelt_matrix_count(skin);
    if (!p->matrices && !(p->matrices = malloc(count * MATRIX * sizeof *p->matrices))) return 0;
    const float *palette = (const float *)((const char *)p->scratch + pelt_pose_layout(skin).palette);
    for (uint32_t j = 0; j < count; j++)
        memcpy(p->matrices + MATRIX * j, palette + PALETTE_STRIDE * j, MATRIX * sizeof *palette);
    return 1;
}

/* Fills in p->expected: the frame as a whole, then its regions. 0 when out of memory. */
EXPORT(pose_confidence) int pelt_wasm_pose_confidence(pose *p) {
    size_t count = 1 + (size_t)p->skin->region_count;
    if (!p->expected && !(p->expected = malloc(count * sizeof *p->expected))) return 0;
    p->expected[0] = pelt_confidence(&p->skin->skin, p->scratch, p->expected + 1);
    return 1;
}

static int room(float **buffer, int wanted, size_t bytes) {
    return !wanted || *buffer || (*buffer = pelt_wasm_allocate(bytes)) != NULL;
}

/* Writes p->positions and so on. in_slots 0: in the file's order. Returns 0 when out of memory. */
EXPORT(pose_deform) int pelt_wasm_pose_deform(pose *p, int in_slots, int normals, int tangents) {
    const pelt_skin *skin = &p->skin->skin;
    tangents = tangents && skin->rest_tangents;
    if (!room(&p->positions, 1, pelt_output_size(skin)) ||
        !room(&p->normals, normals || tangents, pelt_output_size(skin)) ||
        !room(&p->tangents, tangents, pelt_tangents_size(skin)))
        return 0;
    pelt_output output = {.positions.data = p->positions,
                          .normals.data = normals || tangents ? p->normals : NULL,
                          .tangents.data = tangents ? p->tangents : NULL,
                          .vertices = in_slots ? NULL : p->skin->slot_vertices,
                          .box = &p->box};
    pelt_deform_to(skin, p->scratch, pelt_all_blocks(skin), &output);
    return 1;
}

/* Fills in p->packed: 2 if normals need separate matrices, 1 if not, 0 when out of memory. */
EXPORT(pose_pack) int pelt_wasm_pose_pack(pose *p) {
    const pelt_gpu_skin *packed = &p->skin->packed;
    if (!p->packed && !(p->packed = malloc(16 * (size_t)packed->numbers.pose_stride))) return 0;
    return 1 + pelt_gpu_pose(&p->skin->skin, packed, p->scratch, p->packed);
}

/* -- Key points ---------------------------------------------------------------------------------------------------- */

typedef struct opened_keys {
    uint32_t result;
    uint32_t point_count, component_count, key_count, basis_count, region_count, engine_point_count, frame_count;
    float diagonal;
    const uint32_t *key_points;
    const char *about;
    uint32_t about_size;
    float *key_values;  /* [key_count][component_count], for the caller to fill in */
    float *values;      /* [point_count][component_count] */
    pelt_misfit misfit; /* three floats */
    /* Private to C from here on. */
    void *bytes, *scratch;
    pelt_keys keys;
} opened_keys;

EXPORT(keys_free) void pelt_wasm_keys_free(opened_keys *k) {
    if (!k) return;
    free(k->key_values), free(k->values), free(k->scratch), free(k->bytes), free(k);
}

static void *array(uint64_t count) { return count < SIZE_MAX / 8 ? malloc((size_t)count * sizeof(float)) : NULL; }

/* NULL when out of memory. */
EXPORT(keys_open) opened_keys *pelt_wasm_keys_open(void *bytes, size_t size) {
    opened_keys *k = calloc(1, sizeof *k);
    if (!k) return free(bytes), NULL;
    const pelt_keys *keys = &k->keys;
    k->bytes = bytes;
    k->result = pelt_keys_open(bytes, size, &k->keys);
    if (k->result) return k;
    k->point_count = keys->point_count, k->component_count = keys->component_count, k->key_count = keys->key_count;
    k->basis_count = keys->basis_count, k->region_count = keys->region_count, k->frame_count = keys->frame_count;
    k->engine_point_count = keys->engine_point_count, k->diagonal = keys->diagonal, k->key_points = keys->key_points;
    k->about = keys->about, k->about_size = keys->about_size;
    k->key_values = array((uint64_t)keys->key_count * keys->component_count);
    k->values = array((uint64_t)keys->point_count * keys->component_count);
    size_t scratch = pelt_keys_scratch_size(keys, 1);
    k->scratch = scratch < SIZE_MAX ? pelt_wasm_allocate(scratch) : NULL;
    if (!k->key_values || !k->values || !k->scratch) k->result = PELT_ERROR_MEMORY;
    return k;
}

/* From key_values to values. */
EXPORT(keys_solve) void pelt_wasm_keys_solve(opened_keys *k) {
    pelt_keys_solve(&k->keys, k->key_values, 1, k->scratch, &k->misfit);
    pelt_keys_fill(&k->keys, k->scratch, 1, pelt_keys_all_blocks(&k->keys), k->values);
}

/* -- Layout -------------------------------------------------------------------------------------------------------- */

/* A member of an object in src/layout.ts: the offset of a word in its struct, or the value of an enumerator. */
typedef struct known {
    const char *object, *name;
    uint32_t value;
} known;

/* clang-format off */
#define WORD(object, type, field) {object, #field, offsetof(type, field) / 4}
#define SKIN(field) WORD("SKIN", opened_skin, field)
#define POSE(field) WORD("POSE", pose, field)
#define KEYS(field) WORD("KEYS", opened_keys, field)
#define JOINT(field) WORD("JOINT", pelt_joint, field)
#define TRANSFORM(field) WORD("TRANSFORM", pelt_transform, field)
#define DRIVEN(field) WORD("DRIVEN", pelt_driven, field)
#define CONTROL(field) WORD("CONTROL", pelt_control, field)
#define NUMBER(field) WORD("NUMBERS", pelt_gpu_numbers, field)
#define SIZE(name, type) {"WORDS", name, sizeof(type) / 4}
#define KIND(value, text) {"DRIVEN_KINDS", text, value},
#define RESULT(value, text) {"RESULTS", #value, value},

EXPORT(layout) const known *pelt_wasm_layout(void) {
    static const known all[] = {
        SKIN(result), SKIN(vertex_count), SKIN(block_count), SKIN(joint_count), SKIN(driven_count), SKIN(control_count),
        SKIN(joints), SKIN(names), SKIN(vertex_slots), SKIN(block_first), SKIN(entry_joints), SKIN(entry_weights),
        SKIN(rest_positions), SKIN(rest_normals), SKIN(rest_tangents), SKIN(driven), SKIN(controls), SKIN(about),
        SKIN(about_size), SKIN(mesh_hash), SKIN(has_corrective), SKIN(coefficient_count), SKIN(level_count), SKIN(region_count), SKIN(vertex_regions),
        SKIN(words), SKIN(word_count),
        SKIN(form), SKIN(phi), SKIN(parts), SKIN(tilts), SKIN(rings), SKIN(bends), SKIN(own_vec4s), SKIN(numbers),
        POSE(locals), POSE(controls), POSE(coefficients), POSE(matrices), POSE(positions), POSE(normals), POSE(tangents),
        POSE(box), POSE(packed), POSE(level), POSE(expected),
        KEYS(result), KEYS(point_count), KEYS(component_count), KEYS(key_count), KEYS(basis_count), KEYS(region_count),
        KEYS(engine_point_count), KEYS(frame_count), KEYS(diagonal), KEYS(key_points), KEYS(about), KEYS(about_size),
        KEYS(key_values), KEYS(values), KEYS(misfit),
        JOINT(parent), JOINT(rest), JOINT(inverse_bind), JOINT(name),
        TRANSFORM(rotation), TRANSFORM(translation), TRANSFORM(scale),
        DRIVEN(kind), DRIVEN(parent), DRIVEN(driver), DRIVEN(host), DRIVEN(amount), DRIVEN(name), DRIVEN(origin),
        DRIVEN(axis), DRIVEN(upstream), DRIVEN(downstream),
        CONTROL(name), CONTROL(rest), CONTROL(least), CONTROL(most),
        NUMBER(block_count), NUMBER(character_count), NUMBER(pose_stride), NUMBER(distance_stride), NUMBER(at_heads),
        NUMBER(at_joints), NUMBER(at_weights), NUMBER(at_rest), NUMBER(at_rest_normals), NUMBER(at_row_sources),
        NUMBER(at_rows), NUMBER(at_tilt_sources), NUMBER(at_tilts), NUMBER(at_axes), NUMBER(at_axis_weights),
        NUMBER(at_steps), NUMBER(at_row_factors), NUMBER(at_tilt_factors), NUMBER(at_normal_matrices),
        NUMBER(at_factor_scales), NUMBER(at_ring_first), NUMBER(at_rings), NUMBER(ring_scale), NUMBER(at_bends),
        NUMBER(at_level), NUMBER(at_ends),
        SIZE("joint", pelt_joint), SIZE("transform", pelt_transform), SIZE("driven", pelt_driven),
        SIZE("control", pelt_control), SIZE("numbers", pelt_gpu_numbers), SIZE("matrix", float[MATRIX]),
        SIZE("block", float[PELT_BLOCK]),
        PELT_DRIVEN_KINDS(KIND)
        PELT_RESULTS(RESULT)
        {NULL, NULL, 0},
    };
    return all;
}
/* clang-format on */
