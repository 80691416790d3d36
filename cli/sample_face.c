/* sample_face.c: pelt sample face: the face rig's mesh, and clips of it with their controls. */

#include "cli/cli.h"
#include "io/io.h"
#include "samples/face.h"
#include <string.h>

typedef struct face_sample {
    const cli_args *args;
    const char *folder;
    pelt_arena *arena;
    pelt_face *face;
    pelt_face_curves curves;
    bool held_out[FACE_CONTROLS];
    json_t *clips;
} face_sample;

static pelt_result read_curves(face_sample *s, const char *path, pelt_error *error) {
    pelt_table table;
    pelt_result result = pelt_table_read(s->arena, path, &table, error);
    if (result) return result;
    float *shapes = PELT_NEW(s->arena, (size_t)table.row_count * FACE_SHAPES, float);
    if (!shapes) return pelt_no_memory(error);
    uint32_t found = 0;
    for (uint32_t k = 0; k < table.column_count; k++)
        for (uint32_t c = 0; c < FACE_SHAPES; c++) {
            if (strcmp(table.names[k], pelt_face_control_name(c))) continue;
            found++;
            for (size_t r = 0; r < table.row_count; r++)
                shapes[r * FACE_SHAPES + c] = table.values[r * table.column_count + k];
        }
    if (!found) return pelt_fail(error, PELT_ERROR_DATA, "%s: no column is named after a shape such as jawOpen", path);
    s->curves = (pelt_face_curves){table.row_count, shapes};
    return PELT_OK;
}

static bool find_held_out(face_sample *s, const char *names) {
    size_t count;
    char **list = cli_list(names, &count);
    bool all = list != NULL;
    for (size_t i = 0; all && i < count; i++) {
        bool known = false;
        for (uint32_t c = 0; c < FACE_CONTROLS; c++)
            if (!strcmp(list[i], pelt_face_control_name(c))) s->held_out[c] = known = true;
        if (!known) cli_misuse(s->args, "--hold-out %s: the face has no control of that name", list[i]), all = false;
    }
    cli_list_free(list);
    return all;
}

static pelt_result write_controls(const char *path, const float *controls, const uint32_t *shots, uint32_t frames,
                                  pelt_arena *arena, pelt_error *error) {
    const char *names[FACE_CONTROLS + 1] = {"shot"};
    float *values = PELT_NEW(arena, (size_t)frames * (FACE_CONTROLS + 1), float);
    if (!values) return pelt_no_memory(error);
    for (uint32_t c = 0; c < FACE_CONTROLS; c++) names[c + 1] = pelt_face_control_name(c);
    for (size_t f = 0; f < frames; f++) {
        values[f * (FACE_CONTROLS + 1)] = (float)shots[f];
        memcpy(values + f * (FACE_CONTROLS + 1) + 1, controls + f * FACE_CONTROLS, FACE_CONTROLS * sizeof *values);
    }
    return pelt_table_write(path, &(pelt_table){frames, FACE_CONTROLS + 1, names, values}, error);
}

static pelt_result write_frames(const face_sample *s, const char *path, const float *controls, uint32_t frames,
                                pelt_error *error) {
    const pelt_mesh *mesh = pelt_face_mesh(s->face);
    float *positions = PELT_NEW(s->arena, 3 * (size_t)mesh->vertex_count, float);
    if (!positions) return pelt_no_memory(error);
    pelt_cache_writer *writer = pelt_cache_writer_open(path, frames, mesh, 30, error);
    pelt_progress progress = cli_progress(s->args);
    for (uint32_t f = 0; writer && f < frames; f++) {
        pelt_should_stop(&progress, "evaluating", (double)f / frames);
        pelt_face_evaluate(s->face, controls + (size_t)f * FACE_CONTROLS, NULL, mesh->vertex_count, positions);
        pelt_cache_writer_frame(writer, positions);
    }
    return writer ? pelt_cache_writer_commit(writer, error) : error->code;
}

/* One clip: FOLDER/face.NAME.csv, and FOLDER/face.NAME.npy unless --controls-only. */
static pelt_result write_clip(face_sample *s, const char *name, pelt_face_kind kind, uint32_t frames, bool without_held,
                              pelt_error *error) {
    float *controls = PELT_NEW(s->arena, (size_t)frames * FACE_CONTROLS, float);
    uint32_t *shots = PELT_NEW(s->arena, frames, uint32_t);
    char path[4096];
    if (pelt_arena_failed(s->arena)) return pelt_no_memory(error);
    pelt_face_motion_options options = {kind, frames, s->args->seed, s->curves.frame_count ? &s->curves : NULL};
    pelt_result result = pelt_face_motion(s->face, &options, controls, shots, error);
    for (size_t i = 0; without_held && i < (size_t)frames * FACE_CONTROLS; i++)
        if (s->held_out[i % FACE_CONTROLS]) controls[i] = 0;
    snprintf(path, sizeof path, "%s/face.%s.csv", s->folder, name);
    if (!result) result = write_controls(path, controls, shots, frames, s->arena, error);
    snprintf(path, sizeof path, "%s/face.%s.npy", s->folder, name);
    if (!result && !cli_value(s->args, "controls-only")) result = write_frames(s, path, controls, frames, error);
    if (!result) {
        cli_say(s->args, "%s/face.%s: %u frames, %u shots\n", s->folder, name, frames, shots[frames - 1] + 1);
        json_array_append_new(s->clips, pelt_json_pack("{clip:s, frames:u}", name, frames));
    }
    return result;
}

static pelt_result write_all(face_sample *s, uint32_t train, uint32_t test, uint32_t range, pelt_error *error) {
    char path[4096];
    snprintf(path, sizeof path, "%s/face.glb", s->folder);
    pelt_result result =
        pelt_gltf_write(path, &(pelt_gltf_content){.mesh = pelt_face_mesh(s->face), .name = "face"}, error);
    if (!result) result = write_clip(s, "train", FACE_TRAIN, train, false, error);
    if (!result) result = write_clip(s, "range", FACE_RANGE, range, false, error);
    if (!result) result = write_clip(s, "test", FACE_TEST, test, false, error);
    if (result || !cli_value(s->args, "hold-out")) return result;
    result = write_clip(s, "train-without", FACE_TRAIN, train, true, error);
    return result ? result : write_clip(s, "range-without", FACE_RANGE, range, true, error);
}

static int make_and_write(face_sample *s, uint32_t points) {
    pelt_error error;
    uint32_t train = 600, test = 0, range = 0;
    const char *face = cli_value(s->args, "face"), *curves = cli_value(s->args, "curves");
    char output[4096];
    snprintf(output, sizeof output, "%s/face.glb", s->folder);
    if (!cli_may_write(s->args, output, face)) return CLI_MISUSE;
    if (!cli_count(s->args, "frames", &train)) return CLI_MISUSE;
    test = train, range = train / 4 > 0 ? train / 4 : 1;
    if (!cli_count(s->args, "test-frames", &test) || !cli_count(s->args, "range-frames", &range)) return CLI_MISUSE;
    if (cli_value(s->args, "hold-out") && !find_held_out(s, cli_value(s->args, "hold-out"))) return CLI_MISUSE;
    pelt_bundle *bundle = face ? pelt_bundle_read(face, &error) : NULL;
    if (face && !bundle) return cli_error(&error);
    s->face = pelt_face_new(&(pelt_face_options){bundle ? &bundle->mesh : NULL, points, 0}, &error);
    pelt_bundle_free(bundle);
    if (!s->face || (curves && read_curves(s, curves, &error)) || write_all(s, train, test, range, &error))
        return cli_error(&error);
    return CLI_DONE;
}

int sample_face(const cli_args *args, const char *folder, uint32_t points) {
    face_sample s = {.args = args, .folder = folder, .arena = pelt_arena_new(0), .clips = json_array()};
    int code = s.arena && s.clips ? make_and_write(&s, points) : cli_fail("not enough memory");
    if (code == CLI_DONE)
        code = cli_print_json(args, pelt_json_pack("{sample:s, folder:s, points:u, controls:i, clips:o}", "face",
                                                   folder, pelt_face_mesh(s.face)->vertex_count, FACE_CONTROLS,
                                                   json_incref(s.clips)));
    json_decref(s.clips);
    pelt_face_free(s.face);
    pelt_arena_free(s.arena);
    return code;
}
