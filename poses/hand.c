/* hand.c: which side of a hand is its palm.

   Fingers point along f and stand in a row r from the one next to the thumb to the last; f x r leaves the palm of a right
   hand, and the back of a left one. Where the side is not known, the thumb hangs on the palm's side; and where it does not,
   fingers that are curled at rest curl towards the palm. */

#include "poses/poses.h"
#include <string.h>

static const double beside = 0.3; /* of the row of knuckles: thumbs farther from the plane of the fingers tell */

static uint32_t wrist_of(const body *b, uint32_t joint) {
    int32_t j = (int32_t)joint;
    while (j >= 0 && b->parts[j] != PART_WRIST) j = b->bundle->skeleton.parents[j];
    return (uint32_t)j;
}

static bool in_hand(const body *b, uint32_t joint, uint32_t wrist, part p) {
    return b->parts[joint] == p && wrist_of(b, joint) == wrist;
}

/* The mean of the heads, or bones, of the hand's joints of a part; false if there are none. */
static bool mean_of(const body *b, uint32_t wrist, part p, bool bones, double out[3]) {
    uint32_t count = 0;
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t j = 0; j < b->bundle->skeleton.joint_count; j++) {
        double at[3];
        if (!in_hand(b, j, wrist, p)) continue;
        pelt_head_of(b, j, at);
        for (int i = 0; i < 3; i++) out[i] += bones ? b->bones[j][i] : at[i];
        count++;
    }
    for (int i = 0; i < 3 && count; i++) out[i] /= count;
    return count > 0;
}

/* From the knuckle nearest to the thumb to the farthest. */
static bool find_row(const body *b, uint32_t wrist, const double thumb[3], double row[3]) {
    double ends[2][3] = {{0}}, apart[2] = {INFINITY, -INFINITY}, at[3];
    for (uint32_t j = 0; j < b->bundle->skeleton.joint_count; j++) {
        if (!in_hand(b, j, wrist, PART_KNUCKLE)) continue;
        pelt_head_of(b, j, at);
        double distance = pelt_distance(at, thumb);
        if (distance < apart[0]) apart[0] = distance, memcpy(ends[0], at, sizeof at);
        if (distance > apart[1]) apart[1] = distance, memcpy(ends[1], at, sizeof at);
    }
    for (int i = 0; i < 3; i++) row[i] = ends[1][i] - ends[0][i];
    return pelt_length(row) > 0;
}

/* The mean angle by which finger bones turn from the one above towards `palm`. */
static double curl(const body *b, uint32_t wrist, const double fingers[3], const double palm[3]) {
    double axis[3], sum = 0;
    uint32_t count = 0;
    pelt_cross(fingers, palm, axis);
    for (uint32_t j = 0; j < b->bundle->skeleton.joint_count; j++) {
        double turn[3];
        if (!in_hand(b, j, wrist, PART_FINGER)) continue;
        pelt_cross(b->bones[b->bundle->skeleton.parents[j]], b->bones[j], turn);
        sum += asin(fmax(-1, fmin(1, pelt_dot(turn, axis))));
        count++;
    }
    return count ? sum / count : 0;
}

/* The root of a thumb may be as near to the last finger as to the first; its other joints are not. */
static bool find_thumb(const body *b, uint32_t wrist, double out[3]) {
    return mean_of(b, wrist, PART_THUMB, false, out) || mean_of(b, wrist, PART_THUMB_ROOT, false, out);
}

bool pelt_hand_of(const body *b, uint32_t joint, hand *h) {
    uint32_t wrist = wrist_of(b, joint);
    double thumb[3], row[3], offset[3];
    if (wrist == UINT32_MAX || !mean_of(b, wrist, PART_KNUCKLE, true, h->fingers) || !pelt_unit(h->fingers) ||
        !find_thumb(b, wrist, thumb) || !find_row(b, wrist, thumb, row) || !pelt_across(row, h->fingers, h->row))
        return false;
    pelt_cross(h->fingers, h->row, h->palm);
    double bent = curl(b, wrist, h->fingers, h->palm), sign = -b->sides[wrist];
    mean_of(b, wrist, PART_KNUCKLE, false, offset);
    for (int i = 0; i < 3; i++) offset[i] = thumb[i] - offset[i];
    double off = pelt_dot(offset, h->palm);
    if (sign == 0) sign = fabs(off) > beside * pelt_length(row) ? off : bent;
    for (int i = 0; i < 3 && sign < 0; i++) h->palm[i] = -h->palm[i];
    return true;
}
