/* gltf_light.h: scenes to light from glTF files. */

#ifndef PELT_GLTF_LIGHT_H
#define PELT_GLTF_LIGHT_H

#include "io/io.h"
#include "rig/scene.h"

/* Reads geometry (at rest), diffuse and emissive colours, lights and the first camera of a .glb or .gltf file. */
pelt_scene *pelt_light_scene_read(const char *path, pelt_error *error);
/* The same for a file in memory, into a scene that has its arena; path NULL: no side files (fuzzing). */
pelt_result pelt_light_scene_parse(pelt_scene *scene, const pelt_file *file, const char *path, pelt_error *error);

#endif
