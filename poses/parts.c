/* parts.c: which part of the body a joint is, by its name and those above it.

   A name is cut into words where letters end, or a capital follows a small letter: "mixamorig:LeftForeArm" is left fore
   arm, "DEF-upper_arm.L.001" is def upper arm l 001. Words without meaning are passed over. "Leg" and "arm" mean
   different joints in different conventions: they are the next part after that of the joint above. */

#include "poses/poses.h"
#include <ctype.h>
#include <string.h>

#define PART_NAME(part, name) name,
const char *const pelt_part_names[PART_COUNT] = {PARTS(PART_NAME)};

enum { MOST_LETTERS = 200 };

/* -- Words ---------------------------------------------------------------------------------------------------------- */

/* The words of a name in small letters, each between spaces: " left fore arm ". Numbers stay, apart from letters. */
static void cut_words(const char *name, char words[2 * MOST_LETTERS + 4]) {
    const char *space = strrchr(name, ':');
    size_t n = 0;
    words[n++] = ' ';
    if (space) name = space + 1;
    for (size_t i = 0; name[i] && i < MOST_LETTERS / 2; i++) {
        unsigned char c = (unsigned char)name[i], before = i ? (unsigned char)name[i - 1] : ' ';
        bool letter = isalpha(c) != 0, digit = isdigit(c) != 0;
        bool cut = (isupper(c) && islower(before)) || (letter && isdigit(before)) || (digit && isalpha(before)) ||
                   (isupper(c) && isupper(before) && islower((unsigned char)name[i + 1]));
        if ((cut || !(letter || digit)) && words[n - 1] != ' ') words[n++] = ' ';
        if (letter || digit) words[n++] = (char)tolower(c);
    }
    if (words[n - 1] != ' ') words[n++] = ' ';
    words[n] = 0;
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if (at[-1] == ' ' && at[length] == ' ') return true;
    return false;
}

/* Whether one of a list of words, "hips|pelvis", is there; "up leg" is two in a row. */
static bool has_any(const char *words, const char *list) {
    while (*list) {
        char word[32];
        size_t n = strcspn(list, "|");
        if (n < sizeof word) {
            memcpy(word, list, n), word[n] = 0;
            if (has_word(words, word)) return true;
        }
        list += n + (list[n] == '|');
    }
    return false;
}

static int side_of(const char *words) {
    bool left = has_any(words, "left|l|lt|lf"), right = has_any(words, "right|r|rt|rf");
    return left == right ? 0 : left ? 1 : -1;
}

/* -- Parts ---------------------------------------------------------------------------------------------------------- */

typedef struct rule {
    part is;
    const char *words;
} rule;

/* The first that matches counts. */
static const rule RULES[] = {
    {PART_STILL,
     "ik|fk|pole|target|ctrl|control|mch|org|nub|end|null|tip|socket|slot|handslot|attach|weapon|prop|marker"
     "|effector|locator|teeth"},
    {PART_SOFT, "hair|skirt|cloth|cape|tongue|breast|bust|belly|sec|bang|ponytail|sleeve|muscle|cheek|lip|brow|lid"},
    {PART_EYE, "eye|eyeball"},
    {PART_JAW, "jaw|chin"},
    {PART_TAIL, "tail|ear|wing|antenna|trunk"},
    {PART_PALM, "metacarpal|palm"},
    {PART_THUMB, "thumb"},
    {PART_FINGER, "finger|index|middle|ring|pinky|little|fingers"},
    {PART_TOE, "toe|toes|toebase|ball"},
    {PART_ANKLE, "foot|ankle|talocrural|subtalar|tarsal|transversetarsal|heel|hock"},
    {PART_KNEE, "calf|shin|knee|lowleg|lowerleg|lower leg|low leg|crus"},
    {PART_HIP, "thigh|upleg|upperleg|up leg|upper leg|femur"},
    {PART_ELBOW, "forearm|fore arm|lowerarm|lower arm|lowarm|low arm|elbow"},
    {PART_SHOULDER, "upperarm|upper arm|uparm|up arm|humerus"},
    {PART_WRIST, "hand|wrist"},
    {PART_CLAVICLE, "clavicle|shoulder|collar|scapula"},
    {PART_HEAD, "head|skull"},
    {PART_NECK, "neck"},
    {PART_HIPS, "hips|hip|pelvis|root|cog|armature"},
    {PART_SPINE, "spine|chest|torso|abdomen|waist|back|body|upperchest|breastbone|thorax|stomach"},
};

static part by_words(const char *words) {
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++)
        if (has_any(words, RULES[i].words)) return RULES[i].is;
    return PART_UNKNOWN;
}

/* What comes after a part, down a leg or an arm. */
static part next_of_leg(part above) {
    return above == PART_HIP ? PART_KNEE : above == PART_KNEE ? PART_ANKLE : above == PART_ANKLE ? PART_TOE : PART_HIP;
}

static part next_of_arm(part above) {
    return above == PART_SHOULDER ? PART_ELBOW : above == PART_ELBOW ? PART_WRIST : PART_SHOULDER;
}

/* Which phalanx, by the one above: only the first spreads. */
static part phalanx(const char *words, part is, part above) {
    bool first = above != PART_KNUCKLE && above != PART_FINGER && above != PART_THUMB_ROOT && above != PART_THUMB;
    if (is == PART_THUMB) return first || has_any(words, "metacarpal|0|00") ? PART_THUMB_ROOT : PART_THUMB;
    if (has_any(words, "0|00")) return PART_PALM;
    return first ? PART_KNUCKLE : PART_FINGER;
}

static bool is_helper(const char *words) {
    return has_any(words, "twist|roll|proc|helper|corrective|half|bendy|jiggle|pushup|ribbon|tweak");
}

/* A second joint of one name is a segment of a bent bone, as in Rigify's DEF-upper_arm.L.001. */
static bool is_segment(const char *words, part is, part above) {
    bool single = is == PART_SHOULDER || is == PART_ELBOW || is == PART_HIP || is == PART_KNEE;
    return single && is == above && has_any(words, "def");
}

static part part_of(const char *words, part above) {
    part is = by_words(words);
    if (has_word(words, "thumb") && is != PART_STILL && is != PART_SOFT) is = PART_THUMB;
    if (is == PART_THUMB || is == PART_FINGER) return phalanx(words, is, above);
    if (is == PART_UNKNOWN && has_any(words, "leg|legs")) return next_of_leg(above);
    if (is == PART_UNKNOWN && has_any(words, "arm")) return next_of_arm(above);
    if (is == PART_ANKLE && above == PART_ANKLE && has_word(words, "foot")) return PART_TOE;
    if (is == PART_CLAVICLE && above == PART_CLAVICLE) return PART_SHOULDER;
    if (is == PART_HIPS && side_of(words) && has_word(words, "hip")) return PART_HIP;
    return is_segment(words, is, above) ? PART_STILL : is;
}

/* Helpers hang beside a limb; with a joint below that is none, a twist is a joint of the limb itself. */
static void sort_out_helpers(const pelt_skeleton *s, const bool *helper, part *parts) {
    for (uint32_t j = s->joint_count; j-- > 0;) {
        bool carries = false;
        for (uint32_t k = j + 1; k < s->joint_count; k++)
            carries |= s->parents[k] == (int32_t)j && parts[k] != PART_STILL;
        if (helper[j]) parts[j] = carries ? PART_TWIST : PART_STILL;
    }
}

void pelt_name_parts(pelt_arena *arena, const pelt_skeleton *s, part *parts, int *sides) {
    bool *helper = PELT_NEW(arena, s->joint_count, bool);
    for (uint32_t j = 0; j < s->joint_count; j++) {
        char words[2 * MOST_LETTERS + 4];
        int32_t above = s->parents[j];
        while (above >= 0 && helper[above]) above = s->parents[above];
        cut_words(s->names[j], words);
        parts[j] = part_of(words, above < 0 ? PART_UNKNOWN : parts[above]);
        helper[j] = is_helper(words) && parts[j] != PART_STILL;
        sides[j] = side_of(words);
        if (!sides[j] && above >= 0) sides[j] = sides[above];
    }
    sort_out_helpers(s, helper, parts);
}
