/* gltf_buffer.c: the container of a glTF file.

   A .glb is a header (magic, version, length) and chunks (length, type, bytes): first the JSON text, then the bytes of
   buffer 0. A .gltf is just the JSON text. Other buffers are base64 in a "data:" URI, or side files. */

#include "io/gltf.h"
#include "rig/text.h"
#include <string.h>

enum { HEADER = 12, CHUNK_HEADER = 8, CHUNK_JSON = 0x4E4F534A, CHUNK_BIN = 0x004E4942 };

static uint32_t read_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* -- Container --------------------------------------------------------------------------------------------------- */

static bool parse_json(gltf *g, const uint8_t *text, size_t size) {
    json_error_t problem;
    while (size && text[size - 1] == 0) size--; /* some writers pad with zeros instead of spaces */
    g->json = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &problem);
    if (!g->json && (!*problem.text || json_error_code(&problem) == json_error_out_of_memory))
        return pelt_gltf_fail(g, PELT_ERROR_MEMORY, g->root, "not enough memory for its JSON text");
    if (!g->json)
        return pelt_gltf_fail(g, PELT_ERROR_FORMAT, g->root, "its JSON is invalid at line %d, column %d: %s",
                              problem.line, problem.column, problem.text);
    if (!json_is_object(g->json)) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, g->root, "its JSON must be an object");
    g->root.json = g->json;
    return true;
}

static bool parse_chunks(gltf *g, const pelt_file *file, gltf_buffer *binary) {
    if (file->size < HEADER) return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, g->root, "ends within its header");
    uint32_t version = read_u32(file->bytes + 4), length = read_u32(file->bytes + 8);
    if (version != 2)
        return pelt_gltf_fail(g, PELT_ERROR_UNSUPPORTED, g->root, "is glTF version %u; export it as glTF 2.0", version);
    if (length > file->size)
        return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, g->root, "has %zu bytes, but claims to have %u", file->size,
                              length);
    for (size_t at = HEADER, chunk = 0; at + CHUNK_HEADER <= length; chunk++) {
        uint32_t size = read_u32(file->bytes + at), type = read_u32(file->bytes + at + 4);
        at += CHUNK_HEADER;
        if (size > length - at)
            return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, g->root,
                                  "chunk %zu claims to have %u bytes, but only %zu follow", chunk, size, length - at);
        if (chunk == 0 && type != CHUNK_JSON)
            return pelt_gltf_fail(g, PELT_ERROR_FORMAT, g->root, "its first chunk is not JSON");
        if (chunk == 0 && !parse_json(g, file->bytes + at, size)) return false;
        if (type == CHUNK_BIN && !binary->bytes) *binary = (gltf_buffer){.bytes = file->bytes + at, .size = size};
        at += size;
    }
    return g->json ? true : pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, g->root, "has no JSON chunk");
}

/* -- Base64 ------------------------------------------------------------------------------------------------------ */

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool decode_base64(gltf *g, gltf_item uri, const char *text, gltf_buffer *buffer) {
    size_t length = strlen(text), filled = 0;
    while (length && text[length - 1] == '=') length--;
    uint8_t *bytes = GLTF_NEW(g, g->scratch, uint8_t, length / 4 * 3 + 3);
    if (!bytes) return false;
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0) return pelt_gltf_fail(g, PELT_ERROR_FORMAT, uri, "character %zu is not base64", i);
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4) bytes[filled++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *buffer = (gltf_buffer){.bytes = bytes, .size = filled};
    return true;
}

/* -- Side files --------------------------------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes %20 and the like; NULL if malformed. */
static char *decode_percents(gltf *g, gltf_item uri, const char *text) {
    char *out = GLTF_NEW(g, g->scratch, char, strlen(text) + 1), *end = out;
    if (!out) return NULL;
    for (; *text; text++) {
        char c = *text;
        if (c == '%') {
            int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
            c = (char)(high * 16 + low);
            if (low < 0 || !c) {
                pelt_gltf_fail(g, PELT_ERROR_FORMAT, uri,
                               "'%s' has a %% that is not followed by two hexadecimal digits", out);
                return NULL;
            }
            text += 2;
        }
        *end++ = c;
    }
    return out;
}

/* Opens only files in or below the folder of the glTF file: names in a downloaded file are not trusted. Empty and "."
   components are removed, so that each file has one name. */
static bool keep_inside_folder(gltf *g, gltf_item uri, char *name) {
    if (*name == '/' || *name == '\\' || strchr(name, ':'))
        return pelt_gltf_fail(
            g, PELT_ERROR_UNSUPPORTED, uri,
            "'%.200s' is remote or absolute; put the file next to the glTF file and use a relative name", name);
    char *out = name;
    for (char *step = name, *next; step; step = next) {
        size_t length = strcspn(step, "/");
        next = step[length] ? step + length + 1 : NULL;
        if (length == 2 && step[0] == '.' && step[1] == '.')
            return pelt_gltf_fail(g, PELT_ERROR_UNSUPPORTED, uri,
                                  "leads out of the folder; put the file next to the glTF file");
        if (length == 0 || (length == 1 && *step == '.')) continue;
        if (out != name) *out++ = '/';
        memmove(out, step, length);
        out += length;
    }
    *out = 0;
    return *name ? true : pelt_gltf_fail(g, PELT_ERROR_FORMAT, uri, "names no file");
}

/* A name in the folder of the glTF file or below it, in scratch; NULL after pelt_gltf_fail. */
static char *side_name(gltf *g, gltf_item uri, const char *text) {
    char *name = decode_percents(g, uri, text);
    if (!name || !keep_inside_folder(g, uri, name)) return NULL;
    if (g->path) return name;
    pelt_gltf_fail(g, PELT_ERROR_FILE, uri,
                   "is a separate file, which cannot be reached from here; embed the buffers in the file");
    return NULL;
}

static bool read_beside(gltf *g, const char *name, pelt_file *file) {
    int folder = (int)(pelt_base_name(g->path) - g->path);
    const char *path = pelt_arena_format(g->scratch, "%.*s%s", folder, g->path, name);
    if (!path) return pelt_gltf_out_of_memory(g);
    return pelt_file_read(g->files, path, file, &g->error) == PELT_OK;
}

static bool read_side_file(gltf *g, gltf_item uri, const char *text, gltf_buffer *buffer) {
    char *name = side_name(g, uri, text);
    if (!name) return false;
    for (uint32_t i = 0; g->buffers + i < buffer; i++)
        if (g->buffers[i].side_file && !strcmp(g->buffers[i].side_file, name)) {
            *buffer = g->buffers[i];
            return true;
        }
    pelt_file file;
    if (!read_beside(g, name, &file)) return false;
    size_t more = file.size < SIZE_MAX / 64 ? 32 * file.size : SIZE_MAX / 2;
    pelt_arena_raise_limit(g->arena, more);
    pelt_arena_raise_limit(g->scratch, more);
    g->work_left += more;
    *buffer = (gltf_buffer){.bytes = file.bytes, .size = file.size, .side_file = name};
    return true;
}

/* -- Buffers ------------------------------------------------------------------------------------------------------ */

/* The bytes of a data: URI; *is_data is false if it is not one. */
static bool read_data(gltf *g, gltf_item uri, const char *text, gltf_buffer *buffer, bool *is_data) {
    *is_data = !strncmp(text, "data:", 5);
    if (!*is_data) return true;
    const char *comma = strchr(text, ',');
    if (!comma || comma - text < 12 || strncmp(comma - 7, ";base64", 7) != 0)
        return pelt_gltf_fail(g, PELT_ERROR_UNSUPPORTED, uri, "is a data: URI that is not base64");
    return decode_base64(g, uri, comma + 1, buffer);
}

bool pelt_gltf_image_bytes(gltf *g, gltf_item image, gltf_buffer *buffer) {
    gltf_item uri = pelt_gltf_member(image, "uri"), view;
    const char *text = pelt_gltf_text(uri, NULL);
    pelt_file file;
    bool is_data;
    if (!text) return pelt_gltf_view(g, image, &view, buffer);
    if (!read_data(g, uri, text, buffer, &is_data)) return false;
    if (is_data) return true;
    const char *name = side_name(g, uri, text);
    if (!name || !read_beside(g, name, &file)) return false;
    *buffer = (gltf_buffer){.bytes = file.bytes, .size = file.size};
    return true;
}

const char *pelt_gltf_picture_type(const gltf_buffer *file) {
    static const struct {
        const char *begin, *type;
        size_t at, size;
    } known[] = {{"\x89PNG\r\n\x1a\n", "image/png", 0, 8},
                 {"\xff\xd8\xff", "image/jpeg", 0, 3},
                 {"WEBP", "image/webp", 8, 4},
                 {"\xabKTX 20\xbb", "image/ktx2", 0, 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (file->size >= known[i].at + known[i].size &&
            !memcmp(file->bytes + known[i].at, known[i].begin, known[i].size))
            return known[i].type;
    return NULL;
}

static bool find_bytes(gltf *g, gltf_item item, const gltf_buffer *binary, gltf_buffer *buffer) {
    gltf_item uri = pelt_gltf_member(item, "uri");
    const char *text = pelt_gltf_text(uri, NULL);
    if (!text) {
        if (buffer == g->buffers) *buffer = *binary;
        return true;
    }
    bool is_data;
    if (!read_data(g, uri, text, buffer, &is_data)) return false;
    return is_data || read_side_file(g, uri, text, buffer);
}

static bool find_buffers(gltf *g, const gltf_buffer *binary) {
    gltf_item list = pelt_gltf_member(g->root, "buffers");
    if (!pelt_gltf_length(g, list, &g->buffer_count)) return false;
    if (!(g->buffers = GLTF_NEW(g, g->scratch, gltf_buffer, g->buffer_count))) return false;
    for (uint32_t i = 0; i < g->buffer_count; i++) {
        gltf_item item = pelt_gltf_element(list, i), length = pelt_gltf_member(item, "byteLength");
        gltf_buffer *buffer = &g->buffers[i];
        uint64_t size;
        if (!pelt_gltf_natural(g, length, 0, &size) || !find_bytes(g, item, binary, buffer)) return false;
        if (buffer->bytes && size > buffer->size) /* missing bytes are an error only if something needs them */
            return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, length, "%llu, but the buffer has only %zu bytes",
                                  (unsigned long long)size, buffer->size);
    }
    return true;
}

bool pelt_gltf_open(gltf *g, const pelt_file *file) {
    gltf_buffer binary = {0};
    const uint8_t *text = file->bytes;
    size_t size = file->size;
    if (size >= 4 && !memcmp(text, "glTF", 4)) {
        if (!parse_chunks(g, file, &binary)) return false;
    } else {
        size_t mark = size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
        if (size == mark) return pelt_gltf_fail(g, PELT_ERROR_TRUNCATED, g->root, "is empty");
        if (text[mark] != '{' && !strchr(" \t\r\n", text[mark]))
            return pelt_gltf_fail(g, PELT_ERROR_FORMAT, g->root, "%s",
                                  pelt_foreign_format(g->path) ? pelt_foreign_format(g->path)
                                                               : "is neither a .glb nor a .gltf file");
        if (!parse_json(g, text + mark, size - mark)) return false;
    }
    return find_buffers(g, &binary);
}
