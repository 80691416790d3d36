/* bind.c: access to the run time's structs, for languages that do not know their layout. */

#include <pelt/error.h>
#include <pelt/keys.h>

size_t pelt_sizeof_skin(void) { return sizeof(pelt_skin); }
uint32_t pelt_skin_vertex_count(const pelt_skin *skin) { return skin->vertex_count; }
uint32_t pelt_skin_block_count(const pelt_skin *skin) { return skin->block_count; }
const uint32_t *pelt_skin_vertex_slots(const pelt_skin *skin) { return skin->vertex_slots; }
uint32_t pelt_skin_joint_count(const pelt_skin *skin) { return skin->joint_count; }
uint32_t pelt_skin_control_count(const pelt_skin *skin) { return skin->control_count; }
int pelt_skin_has_corrective(const pelt_skin *skin) { return pelt_has_corrective(skin); }
int pelt_skin_has_tangents(const pelt_skin *skin) { return skin->rest_tangents != NULL; }
const char *pelt_skin_about(const pelt_skin *skin) { return skin->about; }

const char *pelt_skin_joint_name(const pelt_skin *skin, uint32_t joint) {
    return joint < skin->joint_count ? skin->names + skin->joints[joint].name : NULL;
}

int32_t pelt_skin_joint_parent(const pelt_skin *skin, uint32_t joint) {
    return joint < skin->joint_count ? skin->joints[joint].parent : -1;
}

const pelt_transform *pelt_skin_joint_rest(const pelt_skin *skin, uint32_t joint) {
    return joint < skin->joint_count ? &skin->joints[joint].rest : NULL;
}

const char *pelt_skin_control_name(const pelt_skin *skin, uint32_t control) {
    return control < skin->control_count ? skin->names + skin->controls[control].name : NULL;
}

float pelt_skin_control_rest(const pelt_skin *skin, uint32_t control) {
    return control < skin->control_count ? skin->controls[control].rest : 0;
}

size_t pelt_sizeof_keys(void) { return sizeof(pelt_keys); }
uint32_t pelt_keys_point_count(const pelt_keys *keys) { return keys->point_count; }
uint32_t pelt_keys_component_count(const pelt_keys *keys) { return keys->component_count; }
uint32_t pelt_keys_block_count(const pelt_keys *keys) { return keys->block_count; }
uint32_t pelt_keys_key_count(const pelt_keys *keys) { return keys->key_count; }
const uint32_t *pelt_keys_key_points(const pelt_keys *keys) { return keys->key_points; }
const char *pelt_keys_control_name(const pelt_keys *keys, uint32_t control) {
    const char *name = keys->control_names;
    if (!name || control >= keys->control_count) return NULL;
    while (control--)
        while (*name++) {
        }
    return name;
}

size_t pelt_sizeof_error(void) { return sizeof(pelt_error); }
const char *pelt_error_text(const pelt_error *error) { return error->text; }
const char *pelt_error_option(const pelt_error *error) { return error->option; }
uint32_t pelt_keys_basis_count(const pelt_keys *keys) { return keys->basis_count; }
uint32_t pelt_keys_region_count(const pelt_keys *keys) { return keys->region_count; }
uint32_t pelt_keys_engine_point_count(const pelt_keys *keys) { return keys->engine_point_count; }
uint32_t pelt_keys_control_count(const pelt_keys *keys) { return keys->control_count; }
float pelt_keys_diagonal(const pelt_keys *keys) { return keys->diagonal; }
const char *pelt_keys_about(const pelt_keys *keys) { return keys->about; }
