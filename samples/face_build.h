/* face_build.h: internals of the face rig: built by face.c, evaluated by face_rig.c. */

#ifndef PELT_FACE_BUILD_H
#define PELT_FACE_BUILD_H

#include "samples/build.h"
#include "samples/face.h"

enum {
    FACE_PAIRS = 70,
    FACE_TRIPLES = 20,
    /* What drives the sparse shapes of a vertex: the controls, products of two and of three, and the part of jawOpen
       that its hinge does not explain. */
    FACE_PAIR_FEATURE = FACE_SHAPES,
    FACE_TRIPLE_FEATURE = FACE_PAIR_FEATURE + FACE_PAIRS,
    FACE_JAW_FEATURE = FACE_TRIPLE_FEATURE + FACE_TRIPLES,
    FACE_FEATURES
};

typedef struct face_entry {
    uint32_t feature;
    float delta[3];
} face_entry;

typedef struct face_vertex {
    float position[3], normal[3];
    float jaw;              /* how much of the jaw's angle it turns by */
    float lid[2];           /* how much it belongs to the left and right eyelids */
    float blink[2][3];      /* its path when that eye blinks */
    float lip, lip_corner;  /* how much it sticks to its partner, and how far towards the corner it is (0 to 1) */
    int lip_side;           /* 1 upper, -1 lower, 0 none */
    uint32_t partner;       /* the vertex of the other lip */
    float neck;             /* how much it stays behind when the head turns */
    float wrinkle[2];       /* depth of folds when compressed along and across the face */
    float volume;           /* how much it swells when compressed */
    uint32_t stretch[2][2]; /* the ends of two lines across it whose length is tracked */
    float stretch_rest[2];
} face_vertex;

typedef struct face_tweaker {
    float center[3], normal[3], slide[3];
    float pivot_shift[3]; /* of the pivot, by the slide of another tweaker */
    uint32_t other;       /* that tweaker, which also changes how sensitive the turn is */
} face_tweaker;

typedef struct face_pull {
    uint32_t tweaker;
    float weight;
} face_pull;

typedef struct face_eye {
    float center[3], radius;
} face_eye;

struct pelt_face {
    pelt_arena *arena;
    pelt_mesh mesh;   /* the requested points */
    uint32_t *source; /* [points] the vertex of each */
    double cost;

    uint32_t vertex_count; /* of the whole face */
    face_vertex *vertices;
    uint32_t *first_entry; /* [vertex_count + 1] */
    face_entry *entries;
    uint32_t *first_pull; /* [vertex_count + 1] */
    face_pull *pulls;

    float unit; /* a centimetre of a life-size head */
    float jaw_pivot[3], jaw_angle;
    float mouth[3], neck_pivot[3];
    face_eye eyes[2];
    face_tweaker tweakers[FACE_TWEAKERS];
    uint32_t pairs[FACE_PAIRS][2], triples[FACE_TRIPLES][3];
};

/* The procedural face (face_shape.c): mesh and targets. */
void face_shape_make(pelt_arena *arena, pelt_mesh *mesh);

/* Rotates a point about an axis through a pivot; the length of `turn` is the angle. */
void face_turn(const float pivot[3], const float turn[3], float point[3]);

static inline float face_ramp(float x) {
    x = x < 0 ? 0 : x > 1 ? 1 : x;
    return x * x * (3 - 2 * x);
}
static inline float face_clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

#endif
