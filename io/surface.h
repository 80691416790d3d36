/* surface.h: the look of a character in a glTF file: colours, images and texture coordinates of its parts. */

#ifndef PELT_SURFACE_H
#define PELT_SURFACE_H

#include "io/io.h"

typedef enum pelt_wrap { PELT_WRAP_REPEAT, PELT_WRAP_MIRROR, PELT_WRAP_CLAMP } pelt_wrap;

/* A part of the mesh with one material; its triangles are contiguous. */
typedef struct pelt_surface_part {
    const char *name, *material; /* material NULL: none */
    uint32_t first_triangle, triangle_count;
    float color[4]; /* linear */
    float metallic, roughness, cutoff;
    int32_t image, normal; /* colour and normal images; -1: none */
    const char *alpha;     /* "OPAQUE", "MASK" or "BLEND" */
    bool two_sided;
    pelt_wrap wrap[2];
} pelt_surface_part;

typedef struct pelt_surface_image {
    const uint8_t *bytes;
    size_t size;
    const char *type; /* "image/png", "image/jpeg" or "image/webp", by its bytes */
} pelt_surface_image;

typedef struct pelt_surface {
    uint32_t part_count, image_count;
    pelt_surface_part *parts;
    pelt_surface_image *images;
    float *uvs; /* [vertex_count][2] for the colour images, v downwards; NULL: no part has any */
    pelt_arena *arena;
} pelt_surface;

/* Reads the surface from the file of a bundle. Images of unknown types, or missing ones, are left out. */
pelt_surface *pelt_surface_read(const char *path, pelt_error *error);
/* The same for bytes in memory; path NULL: no side files (fuzzing). */
pelt_surface *pelt_surface_parse(const pelt_file *file, const char *path, pelt_error *error);
void pelt_surface_free(pelt_surface *surface); /* NULL is fine */

#endif
