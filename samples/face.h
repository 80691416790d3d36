/* face.h: a face rig like those in studios: slow, nonlinear, and computed point by point.

   It is a test bed for key points: 51 shapes with corrective shapes for pairs and triples, a hinge jaw with soft
   weights, eyelids that slide on the eyeball, lips that roll and stick, skin that wrinkles where it is compressed, a
   neck that turns below the head, and soft tweakers, some of which move the pivot of others. Any subset of the points
   can be evaluated, at proportional cost. */

#ifndef PELT_FACE_H
#define PELT_FACE_H

#include "rig/rig.h"

/* The shapes, by their ARKit names. */
/* clang-format off */
#define FACE_SHAPE_NAMES(X) \
    X(browDownLeft) X(browDownRight) X(browInnerUp) X(browOuterUpLeft) X(browOuterUpRight) X(cheekPuff) \
    X(cheekSquintLeft) X(cheekSquintRight) X(eyeBlinkLeft) X(eyeBlinkRight) X(eyeLookDownLeft) \
    X(eyeLookDownRight) X(eyeLookInLeft) X(eyeLookInRight) X(eyeLookOutLeft) X(eyeLookOutRight) X(eyeLookUpLeft) \
    X(eyeLookUpRight) X(eyeSquintLeft) X(eyeSquintRight) X(eyeWideLeft) X(eyeWideRight) X(jawForward) X(jawLeft) \
    X(jawOpen) X(jawRight) X(mouthClose) X(mouthDimpleLeft) X(mouthDimpleRight) X(mouthFrownLeft) \
    X(mouthFrownRight) X(mouthFunnel) X(mouthLeft) X(mouthLowerDownLeft) X(mouthLowerDownRight) \
    X(mouthPressLeft) X(mouthPressRight) X(mouthPucker) X(mouthRight) X(mouthRollLower) X(mouthRollUpper) \
    X(mouthShrugLower) X(mouthShrugUpper) X(mouthSmileLeft) X(mouthSmileRight) X(mouthStretchLeft) \
    X(mouthStretchRight) X(mouthUpperUpLeft) X(mouthUpperUpRight) X(noseSneerLeft) X(noseSneerRight)
/* clang-format on */

enum {
#define FACE_SHAPE(name) FACE_##name,
    FACE_SHAPE_NAMES(FACE_SHAPE)
#undef FACE_SHAPE
        FACE_SHAPES,
    FACE_TWEAKERS = 24,
    FACE_HEAD = FACE_SHAPES,                       /* three: a rotation vector, radians */
    FACE_TWEAK = FACE_HEAD + 3,                    /* two per tweaker: slide and turn, about -1 to 1 */
    FACE_CONTROLS = FACE_TWEAK + 2 * FACE_TWEAKERS /* in all */
};

/* The name of a control: a shape's, "headX" to "headZ", "slide0", "turn0", ... */
const char *pelt_face_control_name(uint32_t control);

typedef struct pelt_face pelt_face;

typedef struct pelt_face_options {
    const pelt_mesh *mesh; /* a face with the shapes as targets (copied); NULL: a face made by formula */
    uint32_t points;       /* number of vertices to use, evenly spaced by index; 0: all */
    double cost;           /* microseconds of extra work per point, to imitate a slower rig */
} pelt_face_options;

pelt_face *pelt_face_new(const pelt_face_options *options, pelt_error *error);
void pelt_face_free(pelt_face *face);

/* The points at rest and triangles between them. Owned by the face. */
const pelt_mesh *pelt_face_mesh(const pelt_face *face);

/* True positions [count][3] of some points (NULL: points 0 to count - 1) for controls [FACE_CONTROLS], in the space of
   the head. May be called by several threads at once. */
void pelt_face_evaluate(const pelt_face *face, const float *controls, const uint32_t *points, uint32_t count,
                        float *positions);

/* -- Motion (face_motion.c) ---------------------------------------------------------------------------------------- */

/* Captured or painted curves, by control name; rows are frames. */
typedef struct pelt_face_curves {
    uint32_t frame_count;
    const float *shapes; /* [frame_count][FACE_SHAPES], 0 where there is no curve */
} pelt_face_curves;

typedef enum pelt_face_kind { FACE_TRAIN, FACE_TEST, FACE_RANGE } pelt_face_kind;

typedef struct pelt_face_motion_options {
    pelt_face_kind kind;
    uint32_t frames;
    uint32_t seed;
    const pelt_face_curves *curves; /* a third go to training shots, the rest to test shots; NULL: none */
} pelt_face_motion_options;

/* Controls [frames][FACE_CONTROLS] and the shot of each frame: shots of speech, moods, blinks and glances with head and
   tweaker motion on top (train, test), or poses that exercise each control, each pair and triple of correctives, each
   tweaker with the one that moves its pivot, and random mixtures (range). The same options give the same motion; train
   and test never share a shot. */
pelt_result pelt_face_motion(const pelt_face *face, const pelt_face_motion_options *options, float *controls,
                             uint32_t *shots, pelt_error *error);

#endif
