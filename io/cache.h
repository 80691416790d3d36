/* cache.h: what cache.c asks of the formats, and gives them. */

#ifndef PELT_CACHE_H
#define PELT_CACHE_H

#include "io/io.h"

/* Checks that a header's counts are sensible and that exactly that many values of value_size bytes follow. */
pelt_result pelt_cache_check(const char *path, int64_t frame_count, int64_t point_count, size_t value_size,
                             size_t bytes_left, pelt_error *error);

/* An array for the positions of a cache, or NULL with the error set. */
float *pelt_cache_positions(pelt_arena *arena, const char *path, uint32_t frame_count, uint32_t point_count,
                            pelt_error *error);

/* Headers of the formats that keep all frames in one file; the frames follow as floats. */
void pelt_pc2_begin(pelt_writer *writer, uint32_t frame_count, uint32_t point_count, double frames_per_second);
void pelt_mdd_begin(pelt_writer *writer, uint32_t frame_count, uint32_t point_count, double frames_per_second);
void pelt_npy_begin(pelt_writer *writer, uint32_t frame_count, uint32_t point_count, double frames_per_second);
/* The header again, now that the number of frames is known. */
void pelt_npy_complete(pelt_writer *writer, uint32_t frame_count, uint32_t point_count);
void pelt_put_floats_big(pelt_writer *writer, const float *values, size_t count);

/* Where a NumPy array of frames stores its values; head holds at least its header. */
typedef struct pelt_npy_layout {
    int64_t frames, points, components;
    size_t offset;
    bool plain; /* little-endian single precision in C order: usable in place */
} pelt_npy_layout;
pelt_result pelt_npy_locate(const pelt_file *head, const char *path, pelt_npy_layout *layout, pelt_error *error);

/* One frame as .obj text, with the mesh's texture coordinates, objects and material names. */
void pelt_obj_put(pelt_writer *writer, const float *positions, const pelt_mesh *mesh);

/* A folder of .obj files, one per frame. Writing only replaces a folder that holds nothing but such frames. */
pelt_result pelt_obj_folder_read(pelt_arena *arena, const char *path, pelt_cache *cache, pelt_error *error);

typedef struct pelt_obj_folder pelt_obj_folder;
pelt_obj_folder *pelt_obj_folder_open(const char *path, pelt_error *error);
pelt_result pelt_obj_folder_frame(pelt_obj_folder *folder, const float *positions, const pelt_mesh *mesh,
                                  pelt_error *error);
pelt_result pelt_obj_folder_commit(pelt_obj_folder *folder, pelt_error *error);
void pelt_obj_folder_drop(pelt_obj_folder *folder);

#endif
