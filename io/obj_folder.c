/* obj_folder.c: a point cache as a folder of .obj files.

   Read in natural order of their names: pose2.obj before pose10.obj. Written as frame_000000.obj, ... to a temporary
   folder, which then takes the target's name. */

#include "io/cache.h"
#include "io/temporary.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- Order ------------------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Runs of digits compare as numbers of any length, everything else as characters. */
static int compare_naturally(const char *a, const char *b) {
    const char *x = a, *y = b;
    while (*x && *y) {
        if (!is_digit(*x) || !is_digit(*y)) {
            if (*x != *y) return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
            x++, y++;
            continue;
        }
        while (*x == '0') x++;
        while (*y == '0') y++;
        size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
        int order = m != n ? (m < n ? -1 : 1) : memcmp(x, y, m);
        if (order) return order;
        x += m, y += n;
    }
    return *x || *y ? (*x ? 1 : -1) : strcmp(a, b);
}

static int compare_entries(const struct dirent **a, const struct dirent **b) {
    return compare_naturally((*a)->d_name, (*b)->d_name);
}

static int is_obj_name(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 4 && strcasecmp(entry->d_name + length - 4, ".obj") == 0;
}

/* -- Reading ----------------------------------------------------------------------------------------------------- */

typedef struct listing {
    struct dirent **entries;
    int count;
} listing;

static void free_listing(listing *list) {
    for (int i = 0; i < list->count; i++) free(list->entries[i]);
    free(list->entries);
}

static pelt_result list_folder(const char *path, listing *list, pelt_error *error) {
    list->count = scandir(path, &list->entries, is_obj_name, compare_entries);
    if (list->count > 0) return PELT_OK;
    int reason = list->count < 0 ? errno : 0;
    if (!reason) free(list->entries);
    *list = (listing){0};
    if (reason) return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be listed: %s", path, strerror(reason));
    return pelt_fail(error, PELT_ERROR_FORMAT, "%s: has no .obj files; name a folder that does", path);
}

/* Joined without doubling a slash that the user wrote. */
static const char *join(pelt_arena *arena, const char *folder, const char *name) {
    size_t length = strlen(folder);
    return pelt_arena_format(arena, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name);
}

/* The text of one frame is large and short-lived: it gets its own arena. */
static pelt_result read_frame(pelt_arena *arena, const char *folder, const listing *list, uint32_t frame,
                              pelt_cache *cache, float **positions, float **normals, pelt_error *error) {
    PELT_SCOPED pelt_arena *brief = pelt_arena_new(PELT_READ_LIMIT);
    const char *path = join(brief, folder, list->entries[frame]->d_name);
    pelt_file file;
    uint32_t points;
    float *read, *read_normals;
    pelt_result result = path ? pelt_file_read(brief, path, &file, error) : pelt_file_no_memory(folder, error);
    if (!result) result = pelt_obj_parse(brief, &file, path, &points, &read, &read_normals, NULL, NULL, error);
    if (!result && frame == 0) {
        cache->point_count = points;
        *positions = pelt_cache_positions(arena, folder, cache->frame_count, points, error);
        if (!*positions) result = PELT_ERROR_MEMORY;
        if (!result && read_normals) {
            *normals = pelt_cache_positions(arena, folder, cache->frame_count, points, error);
            if (!*normals) result = PELT_ERROR_MEMORY;
        }
    }
    if (!result && points != cache->point_count)
        result = pelt_fail(error, PELT_ERROR_DATA, "%s: %u points, but %s has %u; all frames must be of the same mesh",
                           path, points, list->entries[0]->d_name, cache->point_count);
    size_t row = 3 * (size_t)cache->point_count;
    if (!result) memcpy(*positions + frame * row, read, row * sizeof *read);
    if (!result && !read_normals != !*normals)
        result = pelt_fail(error, PELT_ERROR_DATA, "%s: has %s, but %s has %s; write all frames with normals, or none",
                           path, read_normals ? "normals" : "no normals", list->entries[0]->d_name,
                           read_normals ? "none" : "some");
    if (!result && *normals) memcpy(*normals + frame * row, read_normals, row * sizeof *read);
    return result;
}

/* Counts the files' sizes towards the limit of the arena, which holds only what is made from them. */
static void allow_for_files(pelt_arena *arena, const char *folder, const listing *list) {
    for (int i = 0; i < list->count; i++) {
        char path[PATH_MAX];
        struct stat status;
        int length = snprintf(path, sizeof path, "%s/%s", folder, list->entries[i]->d_name);
        if (length > 0 && length < PATH_MAX && stat(path, &status) == 0 && S_ISREG(status.st_mode))
            pelt_arena_raise_limit(arena, PELT_READ_FACTOR * (size_t)status.st_size);
    }
}

pelt_result pelt_obj_folder_read(pelt_arena *arena, const char *path, pelt_cache *cache, pelt_error *error) {
    listing list;
    pelt_result result = list_folder(path, &list, error);
    if (result) return result;
    float *positions = NULL, *normals = NULL;
    allow_for_files(arena, path, &list);
    *cache = (pelt_cache){.frame_count = (uint32_t)list.count, .format = "obj"};
    for (uint32_t i = 0; !result && i < cache->frame_count; i++)
        result = read_frame(arena, path, &list, i, cache, &positions, &normals, error);
    cache->positions = positions, cache->normals = normals;
    free_listing(&list);
    return result;
}

/* -- Writing ----------------------------------------------------------------------------------------------------- */

struct pelt_obj_folder {
    char *target; /* without slashes at the end */
    pelt_temporary *temporary;
    uint32_t frame_count;
};

static bool is_dots(const char *name) { return !strcmp(name, ".") || !strcmp(name, ".."); }

/* Only folders written by a cache writer may be replaced: a user's own sculpts are not overwritten. */
static pelt_result check_replaceable(const char *target, pelt_error *error) {
    DIR *folder = opendir(target);
    if (!folder && errno == ENOENT) return PELT_OK;
    if (!folder)
        return pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be written as a folder: %s", target, strerror(errno));
    pelt_result result = PELT_OK;
    for (struct dirent *entry; !result && (entry = readdir(folder));)
        if (!is_dots(entry->d_name) && !pelt_is_frame_name(entry->d_name))
            result = pelt_fail(error, PELT_ERROR_FILE,
                               "%s: is a folder with other files in it (%s); name a new or empty one", target,
                               entry->d_name);
    closedir(folder);
    return result;
}

static char *clean_target(const char *path) {
    char *target = realpath(path, NULL); /* follows a symbolic link, unless it dangles */
    if (!target) target = strdup(path);
    for (size_t n = target ? strlen(target) : 0; n > 1 && target[n - 1] == '/'; n--) target[n - 1] = 0;
    return target;
}

pelt_obj_folder *pelt_obj_folder_open(const char *path, pelt_error *error) {
    pelt_obj_folder *folder = calloc(1, sizeof *folder);
    if (folder) folder->target = clean_target(path);
    if (!folder || !folder->target) {
        pelt_no_memory(error);
    } else if (check_replaceable(folder->target, error) == PELT_OK) {
        folder->temporary = pelt_temporary_folder(folder->target);
        if (folder->temporary) return folder;
        pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be written: %s", path, strerror(errno));
    }
    pelt_obj_folder_drop(folder);
    return NULL;
}

pelt_result pelt_obj_folder_frame(pelt_obj_folder *folder, const float *positions, const pelt_mesh *mesh,
                                  pelt_error *error) {
    char name[PELT_FRAME_NAME_SIZE], path[PATH_MAX + PELT_FRAME_NAME_SIZE];
    pelt_frame_name(folder->frame_count++, name);
    pelt_temporary_set_frames(folder->temporary, folder->frame_count);
    snprintf(path, sizeof path, "%s/%s", pelt_temporary_path(folder->temporary), name);
    pelt_writer *writer = pelt_writer_open(path, error);
    if (!writer) return PELT_ERROR_FILE;
    pelt_obj_put(writer, positions, mesh);
    return pelt_writer_commit(writer, error);
}

pelt_result pelt_obj_folder_commit(pelt_obj_folder *folder, pelt_error *error) {
    pelt_result result = check_replaceable(folder->target, error);
    if (!result) {
        bool exists = access(folder->target, F_OK) == 0;
        int renamed = exists ? pelt_temporary_replace_folder(folder->temporary, folder->target)
                             : pelt_temporary_rename(folder->temporary, folder->target);
        folder->temporary = NULL;
        if (renamed != 0)
            result = pelt_fail(error, PELT_ERROR_FILE, "%s: cannot be written: %s", folder->target, strerror(errno));
    }
    pelt_obj_folder_drop(folder);
    return result;
}

void pelt_obj_folder_drop(pelt_obj_folder *folder) {
    if (!folder) return;
    if (folder->temporary) pelt_temporary_remove(folder->temporary);
    free(folder->target);
    free(folder);
}
