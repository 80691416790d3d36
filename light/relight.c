/* relight.c: files of key points of light, and evaluating them.

   Light is proportional to the light's intensity, so misfits are judged relative to the brightness of the keys. Keys
   are gathered in two halves a, b with independent noise; with (a + b) / 2 and (a - b) / 2 the misfits m of both give
   |m(a + b)|^2 - |m(a - b)|^2 over 4 = m(a) m(b): the squared misfit without the noise. */

#include "light/facts.h"
#include "io/io.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Files -------------------------------------------------------------------------------------------------------- */

/* Machines round differently: a camera counts as moved only if the difference is visible. */
static bool same_camera(const pelt_camera *a, const pelt_camera *b, double size) {
    double worst = fabs(a->field_of_view - b->field_of_view);
    for (int i = 0; i < 3; i++) {
        worst = fmax(worst, fabs(a->eye[i] - b->eye[i]) / size);
        for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(a->axes[i][k] - b->axes[i][k]));
    }
    return worst < 1e-5;
}

static bool same_scene(const pelt_light_view *view, const pelt_relight_facts *facts) {
    double marks[PELT_LIGHT_MARKS], slack[PELT_LIGHT_MARKS];
    pelt_light_marks(view, marks, slack);
    for (int i = 0; i < PELT_LIGHT_MARKS; i++)
        if (fabs(marks[i] - facts->marks[i]) > slack[i]) return false;
    return true;
}

/* Finds the scene that a .keys file names: in the current folder, or next to the file. */
static pelt_result find_scene(pelt_relight_file *file, const char *path, pelt_error *error) {
    char *scene = file->facts.scene, beside[sizeof file->facts.scene];
    if (!strcmp(scene, "cornell")) return PELT_OK;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0, length = strlen(scene);
    bool safe = pelt_light_stays_below(scene);
    if (safe && pelt_file_exists(scene)) return PELT_OK;
    if (safe && folder < sizeof beside - length) {
        memcpy(beside, path, folder);
        memcpy(beside + folder, scene, length + 1);
        if (pelt_file_exists(beside)) return memcpy(scene, beside, folder + length + 1), PELT_OK;
    }
    return pelt_fail(
        error, PELT_ERROR_FILE,
        "%s: its scene, %s, was not found, neither in this folder nor next to it; name the scene as the second input",
        path, scene);
}

pelt_result pelt_relight_open(pelt_relight_file *file, const char *path, const char *scene, pelt_error *error) {
    pelt_error own;
    if (!error) error = &own;
    *file = (pelt_relight_file){0};
    file->bytes = pelt_keys_read(path, &file->keys, error);
    if (!file->bytes) return error->code;
    const pelt_relight_facts *facts = &file->facts;
    if (!pelt_relight_read_facts(&file->keys, &file->facts))
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: these key points are not for light, or were trained by another version of pelt; train "
                         "again with `pelt relight train`",
                         path);
    pelt_result result = scene ? PELT_OK : find_scene(file, path, error);
    if (!result)
        result = pelt_light_view_open(&file->view, scene ? scene : facts->scene, facts->width, facts->height,
                                      facts->bounces, error);
    if (result) return result;
    double size = pelt_tracer_extent(file->view.tracer).diagonal;
    if (!same_camera(&facts->camera, &file->view.own_camera, size))
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: the camera of %s has moved since training; train again, or name the original scene", path,
                         file->view.name);
    result = pelt_light_view_arrange(&file->view, &facts->arrangement, error);
    if (result) return result;
    if (file->view.point_count != file->keys.point_count || !same_scene(&file->view, facts))
        return pelt_fail(error, PELT_ERROR_DATA,
                         "%s: it has %u points, but %s has %zu; the scene has changed since training: train again, or "
                         "name the original scene",
                         path, file->keys.point_count, file->view.name, file->view.point_count);
    return PELT_OK;
}

void pelt_relight_close(pelt_relight_file *file) {
    pelt_light_view_close(&file->view);
    pelt_bytes_free(file->bytes);
}

/* -- Gathering ---------------------------------------------------------------------------------------------------- */

pelt_result pelt_relight_keys_open(pelt_relight_keys *g, pelt_light_view *view, const pelt_keys *keys,
                                   pelt_error *error) {
    *g = (pelt_relight_keys){.view = view, .keys = keys};
    g->points = PELT_NEW(view->arena, keys->key_count, pelt_light_point);
    g->scratch = pelt_alloc(view->arena, pelt_keys_scratch_size(keys, 1), 1);
    g->between = PELT_NEW(view->arena, 3 * (size_t)keys->key_count, float);
    for (int h = 0; h < 2; h++) g->values[h] = PELT_NEW(view->arena, 3 * (size_t)keys->key_count, float);
    if (pelt_arena_failed(view->arena)) return pelt_no_memory(error);
    return PELT_OK;
}

pelt_result pelt_relight_solve(pelt_relight_keys *g, pelt_relight_frame *frame, pelt_error *error) {
    pelt_misfit noisy, noise;
    size_t count = g->keys->key_count;
    double square = 0;
    pelt_result result = pelt_tracer_set_light(g->view->tracer, &frame->light, error);
    if (result) return result;
    for (uint32_t k = 0; k < count; k++) g->points[k] = g->view->points[g->keys->key_points[k]]; /* they move */
    for (uint32_t h = 0; h < 2; h++) {
        pelt_gather_options options = {.samples = (frame->samples + 1) / 2,
                                       .bounces = g->view->bounces,
                                       .seed = 2 * frame->seed + h,
                                       .threads = frame->threads};
        result = pelt_gather(g->view->tracer, g->points, count, &options, NULL, g->values[h], NULL, error);
        if (result) return result;
    }
    for (size_t i = 0; i < 3 * count; i++) {
        float a = g->values[0][i], b = g->values[1][i];
        g->values[0][i] = (a + b) / 2;
        g->between[i] = (a - b) / 2;
        square += (double)g->values[0][i] * g->values[0][i];
    }
    pelt_keys_solve(g->keys, g->between, 1, g->scratch, &noise);
    pelt_keys_solve(g->keys, g->values[0], 1, g->scratch, &noisy);
    double clean = (double)noisy.rms * noisy.rms - (double)noise.rms * noise.rms;
    frame->misfit = square > 0 ? sqrt(fmax(clean, 0) / (square / (double)count)) : 0;
    return PELT_OK;
}

enum { FILL_BLOCKS = 256 };

typedef struct filling {
    const pelt_relight_keys *g;
    float *values;
} filling;

static void fill_part(void *user, size_t part, pelt_arena *scratch) {
    (void)scratch;
    const filling *f = user;
    uint32_t first = (uint32_t)part * FILL_BLOCKS, left = f->g->keys->block_count - first;
    pelt_keys_fill(f->g->keys, f->g->scratch, 1, (pelt_range){first, left < FILL_BLOCKS ? left : FILL_BLOCKS},
                   f->values);
}

/* Light is never negative, though A b may be, due to rounding or near black. */
pelt_result pelt_relight_fill(const pelt_relight_keys *g, uint32_t threads, float *values, pelt_error *error) {
    filling f = {g, values};
    if (!pelt_parallel(NULL, threads, (g->keys->block_count + FILL_BLOCKS - 1) / FILL_BLOCKS, fill_part, &f))
        return pelt_no_memory(error);
    for (size_t i = 0; i < 3 * (size_t)g->keys->point_count; i++) values[i] = values[i] > 0 ? values[i] : 0;
    return PELT_OK;
}

/* Multiples of the powers of the inverse plastic number, the 2D counterpart of the golden ratio; then of roots of
   primes, for what moves. */
double pelt_relight_random(uint32_t i, int coordinate) {
    static const double steps[] = {0.7548776662466927, 0.5698402909980532,  0.41421356237309505,
                                   0.7320508075688772, 0.23606797749978969, 0.6457513110645906};
    double x = 0.5 + (i + 1.0) * steps[coordinate];
    return x - floor(x);
}

pelt_light_place pelt_relight_random_place(const pelt_light_view *view, uint32_t i) {
    double fractions[PELT_LIGHT_MOVES];
    for (int k = 0; k < PELT_LIGHT_MOVES; k++) fractions[k] = pelt_relight_random(i, 2 + k);
    return pelt_light_place_at(view, fractions);
}
