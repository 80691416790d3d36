/* no_boxes.c: in place of what view/ has for key points of faces and live poses, which need the program. A file of them is
   refused with a sentence, so there is never one that the others could be asked about. */

#include "view/show.h"
#include "rig/text.h"

pelt_result view_face_open(view_box *box, const char *path, pelt_error *error) {
    (void)box;
    return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: key points of faces need the program: pelt view %s", path,
                     pelt_base_name(path));
}

pelt_result pelt_input_open(pelt_input *input, const char *const *paths, uint32_t count, pelt_engine *engine,
                            const pelt_keys *keys, const char *with, pelt_error *error) {
    (void)input, (void)count, (void)engine, (void)keys, (void)with;
    return pelt_fail(error, PELT_ERROR_UNSUPPORTED, "%s: clips of key points need the program", paths[0]);
}

pelt_result view_face_take_controls(const view_box *box, view_face_clip *clip, pelt_error *error) {
    (void)box, (void)clip;
    return view_absent(error);
}

pelt_result view_rig_join(const pelt_view *view, view_box *box, pelt_error *error) {
    (void)view, (void)box;
    return view_absent(error);
}

#define ABSENT(name)                                                                                                   \
    pelt_result name(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {                       \
        (void)view, (void)place, (void)out;                                                                            \
        return view_absent(error);                                                                                     \
    }
ABSENT(view_make_live)
ABSENT(view_make_box_mesh)
ABSENT(view_make_face_truth)
ABSENT(view_make_regions)
ABSENT(view_make_face_keyed)
ABSENT(view_make_face_cached)
ABSENT(view_make_face_controls)
ABSENT(view_make_face_verdicts)
ABSENT(view_make_face_trust)

json_t *view_face_json(const pelt_view *view, view_box *box, uint32_t index) {
    return (void)view, (void)box, (void)index, json_null();
}
json_t *view_live_json(const struct view_live *live) { return (void)live, json_null(); }

const float *view_face_controls(const view_box *box, const view_face_clip *clip, uint32_t frame) {
    return (void)box, (void)clip, (void)frame, NULL;
}
uint32_t view_face_frames(const view_box *box, const view_face_clip *clip) { return (void)box, (void)clip, 0; }

void view_live_end(struct view_live *live) { (void)live; }
void view_player_free(view_player *player) { (void)player; }
void view_rig_free(view_rig *rig) { (void)rig; }
void pelt_input_close(pelt_input *input) { (void)input; }
uint32_t pelt_engine_points(const pelt_engine *engine) { return (void)engine, 0; }
bool pelt_engine_suits(const pelt_engine *engine, const pelt_keys *keys) { return (void)engine, (void)keys, false; }
uint32_t pelt_engine_components(const pelt_engine *engine) { return (void)engine, 0; }
uint32_t pelt_engine_controls(const pelt_engine *engine) { return (void)engine, 0; }
