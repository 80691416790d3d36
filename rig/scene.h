/* scene.h: a scene to light: triangles with diffuse materials, lights, a camera. Lengths are in scene units, colours
   are linear RGB. io/gltf_light.c reads one from a file; light/ traces rays in it. */

#ifndef PELT_SCENE_H
#define PELT_SCENE_H

#include "rig/rig.h"

typedef struct pelt_material {
    float albedo[3];   /* diffuse reflectance */
    float emission[3]; /* emitted radiance, on both sides */
} pelt_material;

typedef enum pelt_light_kind {
    PELT_LIGHT_POINT, /* equally in all directions */
    PELT_LIGHT_SPOT,  /* a cone around `direction` */
    PELT_LIGHT_AREA,  /* a parallelogram that emits on the side of its normal, edges[0] x edges[1] */
    PELT_LIGHT_FAR,   /* a directional light: a sun */
} pelt_light_kind;

typedef struct pelt_light {
    pelt_light_kind kind;
    float position[3];  /* of an area: its corner */
    float direction[3]; /* of a spot or far light, unit length */
    float edges[2][3];  /* of an area */
    /* Radiant intensity (power per solid angle) of a point or spot; radiance of an area; irradiance of a far light. */
    float intensity, color[3];
    float inner_cone, outer_cone; /* half angles of a spot in radians: full light inside, none outside */
    /* A point or spot fades with distance^-falloff instead of the physical ^-2, and matches a physical one at
       falloff_distance. falloff 0 means 2; a negative falloff means none. */
    float falloff, falloff_distance;
} pelt_light;

/* Looks along its local -z, as in glTF; `axes` are columns x, y, z in the scene. */
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
    /* Objects that can be moved by name, each along with its children. NULL: the scene is one unnamed object. */
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
