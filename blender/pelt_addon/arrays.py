"""Between Blender's matrices and vertices and pelt's arrays.

Blender's z is up, pelt's y as in glTF: a point (x, y, z) becomes (x, z, -y) = UP point. What that does to a matrix depends on
what it maps from. A bone maps from its own axes, which stay as they are, so its place in the scene is UP (armature bone). An
object maps from a space with z up, so it is UP object UP^-1. Blender's glTF exporter does the same."""

import numpy as np

UP = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], np.float64)
DOWN = UP.T


def matrix(value):
    return np.array(value, np.float64)


def joint_matrices(armature, bones):
    """[1 + bones, 4, 4] for pelt: the armature object, which is the root of all, and its bones, as matrices in the scene."""
    root = UP @ armature
    return np.concatenate([(root @ DOWN)[None], root @ bones]) if len(bones) else (root @ DOWN)[None]


def moved(points, by):
    """Points [n, 3] by a matrix, in double precision."""
    return points @ by[:3, :3].T + by[:3, 3]


def vertices_of(mesh):
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def corners_of(mesh):
    """The vertex of each corner of each face: two meshes of one topology have the same."""
    flat = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", flat)
    return flat


def set_vertices(mesh, points):
    mesh.vertices.foreach_set("co", np.ascontiguousarray(points, np.float32).ravel())
    mesh.update()


def triangles_of(mesh):
    """[triangles, 3] corners, and [triangles] the material of each."""
    mesh.calc_loop_triangles()
    corners = np.empty(3 * len(mesh.loop_triangles), np.int32)
    materials = np.empty(len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("loops", corners)
    mesh.loop_triangles.foreach_get("material_index", materials)
    return corners.reshape(-1, 3), materials
