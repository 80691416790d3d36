/* making.c: an external program that makes a skin from box.glb, and asks for poses worth more examples. */

#include <pelt/fit.h>
#include <pelt/poses.h>
#include <stdio.h>

static int ask_for_poses(pelt_bundle *bundle, pelt_examples examples, pelt_error *error) {
    const pelt_joint_limit *limits;
    size_t limit_count, chosen[2];
    double left;
    pelt_findings findings = {0};
    pelt_motion_range *range = pelt_motion_range_of(bundle, NULL, error);
    if (!range || pelt_limits_write(bundle, range, "limits.json", error) ||
        pelt_limits_read(bundle, "limits.json", &limits, &limit_count, error))
        return 1;
    const pelt_clip *poses = pelt_bundle_add_poses(bundle, range, 12, 1, "poses", error);
    pelt_motion_range_free(range);
    if (!poses || pelt_export_poses(bundle, poses, "poses.glb", error) ||
        pelt_choose_examples(bundle, examples, 2, PELT_CHOOSE_TELLING, 1, chosen, &left, error) ||
        pelt_review_examples(bundle, examples, &findings, error))
        return 1;
    pelt_example picked[2] = {examples.list[chosen[0]], examples.list[chosen[1]]};
    return !pelt_bundle_pick_frames(bundle, (pelt_examples){2, picked}, "picked", error) || left > 1;
}

int main(void) {
    pelt_error error;
    pelt_bundle *bundle = pelt_bundle_read("box.glb", &error);
    const pelt_clip *clip = bundle ? pelt_bundle_clip(bundle, "train", PELT_NEED_POSITIONS, &error) : NULL;
    if (!clip) return puts(error.text), 1;
    pelt_examples examples = pelt_bundle_examples(bundle, &clip, 1);
    pelt_bytes *skin = pelt_fit(bundle, examples, &(pelt_fit_options){.method = PELT_METHOD_SSD}, NULL, &error);
    if (!skin || pelt_bytes_write(skin, "again.pelt", &error)) return puts(error.text), 1;
    return ask_for_poses(bundle, examples, &error) ? puts(error.text), 1 : 0;
}
