/* scene.h: the nouns of light: triangles with diffuse materials, lights, a camera. Lengths are in scene units, colours
   are linear RGB. Who reads a scene from a file fills this in (io/gltf_light.c); who traces rays in it reads it
   (light/). */

#ifndef PELT_SCENE_H
#define PELT_SCENE_H

#include "rig/rig.h"

typedef struct pelt_material {
    float albedo[3];   /* share of the light that is reflected, equally in all directions */
    float emission[3]; /* radiance given off, on both sides */
} pelt_material;

typedef enum pelt_light_kind {
    PELT_LIGHT_POINT, /* equally in all directions */
    PELT_LIGHT_SPOT,  /* a cone around `direction` */
    PELT_LIGHT_AREA,  /* a parallelogram that shines to the side of its normal, edges[0] x edges[1] */
    PELT_LIGHT_FAR,   /* so far away that its rays are parallel: a sun */
} pelt_light_kind;

typedef struct pelt_light {
    pelt_light_kind kind;
    float position[3];  /* of an area: its corner */
    float direction[3]; /* in which a spot or a far light shines, of unit length */
    float edges[2][3];  /* of an area */
    /* Radiant intensity (power per solid angle) of a point or spot; radiance of an area; irradiance of a far light. */
    float intensity, color[3];
    float inner_cone, outer_cone; /* half angles of a spot in radians: full light inside, none outside */
    /* A point or spot fades with distance^-falloff instead of the true ^-2, and is as bright as a true one at
       falloff_distance. falloff 0 means 2; a light that does not fade at all has a negative number. */
    float falloff, falloff_distance;
} pelt_light;

/* Looks along -z of its own axes, as in glTF; `axes` are columns x, y, z in the scene. */
typedef struct pelt_camera {
    double eye[3], axes[3][3];
    double field_of_view; /* vertical, in radians */
} pelt_camera;

typedef struct pelt_scene {
    const char *name;
    uint32_t vertex_count, triangle_count, material_count, light_count;
    float *positions;             /* [vertex_count][3] */
    uint32_t *triangles;          /* [triangle_count][3] */
    uint32_t *triangle_materials; /* [triangle_count] */
    pelt_material *materials;
    pelt_light *lights;
    /* What can be moved by name, each with all that hangs on it. NULL: the scene is one thing without a name. */
    uint32_t object_count;
    const char **object_names;
    int32_t *object_parents;  /* -1: none */
    uint32_t *vertex_objects; /* [vertex_count] */
    bool has_camera;
    pelt_camera camera;
    struct pelt_arena *arena; /* owns all of it */
} pelt_scene;

static inline void pelt_scene_free(pelt_scene *scene) {
    if (scene) pelt_arena_free(scene->arena);
}

#endif
