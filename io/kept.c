/* kept.c: kept examples (rig/kept.h) as a file, all little-endian:

       "PELTSEEN", u32 version = 1, u32 vertices, u32 joints, u32 controls, u32 clips, u32 blocks,
       u64 hash of the mesh, u64 hash of the names of the joints, f32 bound
       for each control: u32 length, its name
       for each clip: u32 length, its name, u32 frames, u32 1 if weighted,
                      f32 poses [frames][joints][10]: rotation, translation, scale; f32 controls, f32 weights
       for each block: u32 shapes, f32 shapes [shapes][3 * vertices of the block],
                       for each clip: u32 used, u32 1 if something is left, f32 amounts [used][frames],
                                      i8 left [frames][3 * vertices of the block]

   Which vertices a block has follows from the mesh. What is read takes no more memory than the file; true positions of
   all frames, which are made from it, take what they take in a cache. */

#include "io/bytes.h"
#include "io/io.h"
#include "io/kept.h"
#include <math.h>
#include <string.h>

enum { MOST_NAME = 250, MOST_CLIPS = 1 << 20, VERSION = 1 };
static const char magic[8] = "PELTSEEN";

_Static_assert(sizeof(pelt_transform) == 10 * sizeof(float), "poses are read as floats");

static uint64_t hash_names(const pelt_skeleton *skeleton) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t j = 0; j < skeleton->joint_count; j++)
        for (const char *c = skeleton->names[j];; c++) {
            hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
            if (!*c) break;
        }
    return hash;
}

static uint64_t hash_mesh(const pelt_mesh *mesh) {
    return pelt_mesh_hash(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count);
}

/* -- Reading ------------------------------------------------------------------------------------------------------- */

typedef struct reading {
    pelt_arena *arena;
    const uint8_t *at, *end;
    const char *path, *problem; /* the first one; from then on everything is empty */
} reading;

static const uint8_t *next(reading *r, size_t count, size_t size) {
    size_t bytes;
    if (!r->problem && (__builtin_mul_overflow(count, size, &bytes) || bytes > (size_t)(r->end - r->at)))
        r->problem = "ends too early; its disk was full, or it was not copied whole";
    if (r->problem) return NULL;
    r->at += bytes;
    return r->at - bytes;
}

static uint32_t next_u32(reading *r) {
    const uint8_t *bytes = next(r, 1, 4);
    return bytes ? pelt_u32_little(bytes) : 0;
}

static uint64_t next_u64(reading *r) {
    uint64_t low = next_u32(r);
    return low | (uint64_t)next_u32(r) << 32;
}

static const float *next_floats(reading *r, size_t count, size_t each) {
    const uint8_t *bytes = next(r, count, 4 * each);
    float *values = bytes ? PELT_NEW(r->arena, count * each, float) : NULL;
    for (size_t i = 0; values && i < count * each; i++) {
        values[i] = pelt_float_of_bits(pelt_u32_little(bytes + 4 * i));
        if (!isfinite(values[i])) r->problem = "has a number that is not finite";
    }
    return values;
}

static const float **next_rows(reading *r, uint32_t count, size_t each) {
    const float *all = next_floats(r, count, each), **rows = all ? PELT_NEW(r->arena, count, const float *) : NULL;
    for (uint32_t k = 0; rows && k < count; k++) rows[k] = all + k * each;
    return rows;
}

static const char *next_name(reading *r) {
    uint32_t length = next_u32(r);
    if (!r->problem && (!length || length > MOST_NAME)) r->problem = "has a name that is empty or too long";
    const uint8_t *bytes = next(r, length, 1);
    if (bytes && memchr(bytes, 0, length)) r->problem = "has a name with a zero byte inside";
    return bytes ? pelt_arena_format(r->arena, "%.*s", (int)length, (const char *)bytes) : NULL;
}

static void read_clip(reading *r, const pelt_kept *kept, pelt_kept_clip *clip) {
    clip->name = next_name(r);
    clip->frame_count = next_u32(r);
    bool weighted = next_u32(r) != 0;
    clip->poses =
        (const pelt_transform *)(const void *)next_floats(r, clip->frame_count, 10 * (size_t)kept->joint_count);
    clip->controls = next_floats(r, clip->frame_count, kept->control_count);
    clip->example_weights = weighted ? next_floats(r, clip->frame_count, 1) : NULL;
    if (!r->problem && !clip->frame_count) r->problem = "has a clip without frames";
    for (uint32_t f = 0; clip->example_weights && f < clip->frame_count; f++)
        if (!(clip->example_weights[f] > 0)) r->problem = "has an example whose weight is not above 0";
}

static void read_block(reading *r, const pelt_kept *kept, pelt_kept_block *block) {
    size_t width = 3 * (size_t)block->count;
    block->shape_count = next_u32(r);
    block->shapes = next_rows(r, block->shape_count, width);
    block->parts = r->problem ? NULL : PELT_NEW(r->arena, kept->clip_count, pelt_kept_part);
    for (uint32_t c = 0; block->parts && c < kept->clip_count && !r->problem; c++) {
        pelt_kept_part *part = &block->parts[c];
        size_t frames = kept->clips[c].frame_count;
        part->used = next_u32(r);
        bool left = next_u32(r) != 0;
        if (!r->problem && part->used > block->shape_count) r->problem = "uses more shapes than it has";
        part->amounts = next_rows(r, part->used, frames);
        part->left = left ? (const int8_t *)next(r, frames, width) : NULL;
    }
}

/* False: it was made for another character, or it is no such file. */
static bool read_head(reading *r, const pelt_bundle *bundle, pelt_kept *kept, pelt_error *error) {
    const uint8_t *start = next(r, 1, sizeof magic);
    if (!start || memcmp(start, magic, sizeof magic))
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: is not a file of kept examples", r->path), false;
    uint32_t version = next_u32(r);
    if (!r->problem && version != VERSION)
        return pelt_fail(error, PELT_ERROR_UNSUPPORTED,
                         "%s: its format is version %u; this version of pelt reads version %d", r->path, version,
                         VERSION),
               false;
    uint32_t vertices = next_u32(r), joints = next_u32(r);
    kept->control_count = next_u32(r), kept->clip_count = next_u32(r);
    uint32_t blocks = next_u32(r);
    uint64_t mesh = next_u64(r), names = next_u64(r);
    const float *bound = next_floats(r, 1, 1);
    if (r->problem || pelt_arena_failed(r->arena)) return true;
    if (vertices != kept->vertex_count || mesh != hash_mesh(&bundle->mesh) || blocks != kept->block_count)
        return pelt_fail(
                   error, PELT_ERROR_DATA,
                   "%s: its examples were kept for a mesh whose rest positions or triangles differ from those of %s",
                   r->path, bundle->path),
               false;
    if (joints != kept->joint_count || names != hash_names(&bundle->skeleton))
        return pelt_fail(error, PELT_ERROR_DATA, "%s: its examples were kept for joints that differ from those of %s",
                         r->path, bundle->path),
               false;
    if (!(*bound > 0)) r->problem = "has no bound";
    if (kept->control_count > PELT_MOST_CONTROLS || kept->clip_count > MOST_CLIPS)
        r->problem = "has too many clips or controls";
    kept->bound = *bound;
    return true;
}

pelt_result pelt_kept_parse(pelt_arena *arena, const pelt_file *file, const char *path, const pelt_bundle *bundle,
                            pelt_kept *kept, pelt_error *error) {
    reading r = {arena, file->bytes, file->bytes + file->size, path, NULL};
    pelt_result result = pelt_kept_begin(arena, bundle, kept, error);
    if (result) return result;
    if (!read_head(&r, bundle, kept, error)) return error ? error->code : PELT_ERROR_DATA;
    size_t controls = r.problem ? 0 : kept->control_count, clips = r.problem ? 0 : kept->clip_count;
    kept->control_names = PELT_NEW(arena, controls, const char *);
    kept->clips = PELT_NEW(arena, clips, pelt_kept_clip);
    kept->source = pelt_arena_format(arena, "%s", path);
    for (uint32_t i = 0; i < controls && !r.problem && !pelt_arena_failed(arena); i++)
        kept->control_names[i] = next_name(&r);
    for (uint32_t c = 0; c < clips && !r.problem && !pelt_arena_failed(arena); c++)
        read_clip(&r, kept, &kept->clips[c]);
    for (uint32_t b = 0; b < kept->block_count && !r.problem && !pelt_arena_failed(arena); b++)
        read_block(&r, kept, &kept->blocks[b]);
    if (!r.problem && !pelt_arena_failed(arena) && r.at != r.end) r.problem = "has bytes after its end";
    if (r.problem)
        return pelt_fail(error, PELT_ERROR_FORMAT, "%s: %s; keep the examples again from their caches", path,
                         r.problem);
    return pelt_arena_failed(arena) ? pelt_file_no_memory(path, error) : PELT_OK;
}

pelt_result pelt_kept_read(pelt_arena *arena, const char *path, const pelt_bundle *bundle, pelt_kept *kept,
                           pelt_error *error) {
    pelt_file file;
    pelt_result result = pelt_file_view(arena, path, &file, error);
    return result ? result : pelt_kept_parse(arena, &file, path, bundle, kept, error);
}

/* -- Writing ------------------------------------------------------------------------------------------------------- */

static void put_u32(pelt_writer *writer, uint32_t value) {
    uint8_t bytes[4];
    pelt_put_u32_little(bytes, value);
    pelt_writer_put(writer, bytes, sizeof bytes);
}

static void put_u64(pelt_writer *writer, uint64_t value) {
    put_u32(writer, (uint32_t)value), put_u32(writer, (uint32_t)(value >> 32));
}

static void put_name(pelt_writer *writer, const char *name) {
    size_t length = strnlen(name, MOST_NAME);
    put_u32(writer, (uint32_t)length);
    pelt_writer_put(writer, name, length);
}

static void put_clip(pelt_writer *writer, const pelt_kept *kept, const pelt_kept_clip *clip) {
    size_t frames = clip->frame_count;
    put_name(writer, clip->name);
    put_u32(writer, clip->frame_count), put_u32(writer, clip->example_weights != NULL);
    pelt_put_floats_little(writer, (const float *)(const void *)clip->poses, 10 * frames * kept->joint_count);
    if (kept->control_count) pelt_put_floats_little(writer, clip->controls, frames * kept->control_count);
    if (clip->example_weights) pelt_put_floats_little(writer, clip->example_weights, frames);
}

static void put_block(pelt_writer *writer, const pelt_kept *kept, const pelt_kept_block *block) {
    size_t width = 3 * (size_t)block->count;
    put_u32(writer, block->shape_count);
    for (uint32_t k = 0; k < block->shape_count; k++) pelt_put_floats_little(writer, block->shapes[k], width);
    for (uint32_t c = 0; c < kept->clip_count; c++) {
        const pelt_kept_part *part = &block->parts[c];
        size_t frames = kept->clips[c].frame_count;
        put_u32(writer, part->used), put_u32(writer, part->left != NULL);
        for (uint32_t k = 0; k < part->used; k++) pelt_put_floats_little(writer, part->amounts[k], frames);
        if (part->left) pelt_writer_put(writer, part->left, frames * width);
    }
}

pelt_result pelt_kept_write(const char *path, const pelt_bundle *bundle, const pelt_kept *kept, pelt_error *error) {
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return error ? error->code : PELT_ERROR_FILE;
    pelt_writer_put(writer, magic, sizeof magic);
    const uint32_t head[] = {VERSION,          kept->vertex_count, kept->joint_count, kept->control_count,
                             kept->clip_count, kept->block_count};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) put_u32(writer, head[i]);
    put_u64(writer, hash_mesh(&bundle->mesh)), put_u64(writer, hash_names(&bundle->skeleton));
    put_u32(writer, pelt_bits_of_float((float)kept->bound));
    for (uint32_t i = 0; i < kept->control_count; i++) put_name(writer, kept->control_names[i]);
    for (uint32_t c = 0; c < kept->clip_count; c++) put_clip(writer, kept, &kept->clips[c]);
    for (uint32_t b = 0; b < kept->block_count; b++) put_block(writer, kept, &kept->blocks[b]);
    return pelt_writer_commit(writer, error);
}
