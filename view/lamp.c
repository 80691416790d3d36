/* lamp.c: a box of light, relit from its key points wherever the light is dragged to. */

#include "view/show.h"

pelt_result view_lamp_open(const char *path, struct view_lamp **lamp, pelt_error *error) {
    (void)path, (void)error;
    *lamp = NULL;
    return PELT_OK;
}
void view_lamp_close(struct view_lamp *lamp) { (void)lamp; }
json_t *view_lamp_json(view_box *box, uint32_t index) { (void)box, (void)index; return json_null(); }
pelt_result view_make_picture(pelt_view *view, view_place place, pelt_resource *out, pelt_error *error) {
    (void)view, (void)place, (void)out;
    return view_absent(error);
}
pelt_result pelt_view_light(pelt_view *view, const pelt_view_lamp *lamp, pelt_resource *resource, pelt_error *error) {
    (void)view, (void)lamp, (void)resource;
    return view_absent(error);
}
