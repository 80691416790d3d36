/* info_keys.c: pelt info of a .keys file. */

#include "cli/cli.h"
#include "cli/info_keys.h"
#include <pelt/keys_fit.h>

json_t *info_keys(const cli_args *args, const char *path, pelt_error *error) {
    pelt_keys keys;
    pelt_bytes *bytes = pelt_keys_read(path, &keys, error);
    if (!bytes) return NULL;
    json_t *about = json_loads(keys.about, 0, NULL);
    if (!about) about = json_object();
    double per_point = (double)bytes->size / keys.point_count;
    cli_say(args, "%s: key points: %u keys give %u points of %u values, by %u vectors of %s%s\n", path, keys.key_count,
            keys.point_count, keys.component_count, keys.basis_count, keys.half ? "half floats" : "floats",
            keys.shared ? " that the components share" : "");
    cli_say(args, "  trained on %u frames; judged in %u part%s; diagonal %.4g; %zu bytes (%.1f per point)\n",
            keys.frame_count, keys.region_count, keys.region_count == 1 ? "" : "s", (double)keys.diagonal, bytes->size,
            per_point);
    if (keys.witness_count)
        cli_say(args, "  %u witnesses, %u of them in a frame%s\n", keys.witness_count, keys.witness_rule->each_frame,
                keys.control_count ? ", a third if a control leaves its range" : "");
    if (keys.engine_point_count < keys.point_count)
        cli_say(args, "  keys are among the first %u points, which drive the others\n", keys.engine_point_count);
    json_t *object = cli_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:b, s:i, s:f, s:I, s:o}",
                              "file", path, "kind", "keys", "points", (int)keys.point_count, "engine_points",
                              (int)keys.engine_point_count, "components", (int)keys.component_count, "keys",
                              (int)keys.key_count, "basis", (int)keys.basis_count, "regions", (int)keys.region_count,
                              "witnesses", (int)keys.witness_count, "controls", (int)keys.control_count, "half",
                              (int)keys.half, "shared", (int)keys.shared, "frames", (int)keys.frame_count, "diagonal",
                              (double)keys.diagonal, "bytes", (json_int_t)bytes->size, "about", about);
    pelt_bytes_free(bytes);
    return object;
}
