/* blend.c: the blend S of a skin: which joints move a vertex, and how much. */

#include "fit/blend/ahead.h"
#include "fit/blend/blend.h"
#include <string.h>

static pelt_result file_weights(pelt_fitting *f) {
    f->model.influences = f->bundle->mesh.influences;
    if (f->options.influences)
        pelt_limit_influences(f->arena, &f->bundle->mesh.influences, f->model.vertex_count, f->options.influences,
                              &f->model.influences);
    return PELT_OK;
}

/* Weights that a corrective follows start from the file's, unless an option rules these out, and look ahead. */
static pelt_result fit_weights(pelt_fitting *f, pelt_error *error) {
    const pelt_fitted_options *o = &f->options.fitted;
    bool ahead = f->options.corrective != PELT_CORRECTIVE_NONE && !f->options.convex.weights_first,
         has_weights = f->bundle->mesh.influences.first[f->model.vertex_count] > 0;
    bool own = ahead && has_weights && !(o->smooth > 0) && o->rest == PELT_REST_KEEP && !o->drop_joints.count;
    pelt_result result = own ? file_weights(f) : pelt_fit_weights(f, error);
    return result || !ahead ? result : pelt_fit_weights_ahead(f, error);
}

static pelt_result find_weights(pelt_fitting *f, pelt_error *error) {
    if (f->options.blend == PELT_BLEND_DISTANCE)
        return pelt_distance_weights(f->arena, &f->bundle->mesh, &f->bundle->skeleton, f->options.influences,
                                     f->options.threads, &f->model.influences, error);
    bool fit = f->options.blend == PELT_BLEND_FIT, joints = f->options.blend == PELT_BLEND_JOINTS;
    if (!fit && !joints) return file_weights(f);
    return fit ? fit_weights(f, error) : pelt_fit_joints(f, error);
}

pelt_result pelt_fit_blend(pelt_fitting *f, pelt_error *error) {
    const pelt_mesh *mesh = &f->bundle->mesh;
    f->model.skeleton = &f->bundle->skeleton;
    f->model.vertex_count = mesh->vertex_count;
    f->model.positions = mesh->positions;
    f->model.normals = pelt_shading_normals(f->arena, pelt_smoothing_of(f->arena, mesh, f->examples));
    f->model.tangents = mesh->tangents;
    f->model.mesh_hash = pelt_mesh_hash(mesh->positions, mesh->vertex_count, mesh->triangles, mesh->triangle_count);
    f->points = pelt_find_points(f->arena, mesh, f->examples);
    pelt_result result = find_weights(f, error);
    if (!result) pelt_part_points(f->arena, &f->model.influences, f->model.positions, mesh->vertex_count, &f->points);
    return result;
}
