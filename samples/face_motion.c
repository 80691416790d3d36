/* face_motion.c: motion of the face: shots that look like an animator's work, and range-of-motion poses.

   A shot has a mood, perhaps speech, blinks, glances, a few independent controls, head motion, and some tweakers. The
   character determines the moods and mouth shapes, which never change; the seed determines when, how much and in what
   mixture. Some shots use captured curves for the face instead. */

#include "samples/face_build.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOODS = 12, MOUTHS = 14, LEAST_SHOT = 40, MOST_SHOT = 84, LONGEST = MOST_SHOT };

typedef float pose[FACE_SHAPES];

/* -- The character's habits ---------------------------------------------------------------------------------------- */

typedef struct habits {
    pose moods[MOODS], mouths[MOUTHS];
} habits;

static void mirror_pose(pose p, sample_random *random) {
    /* Left and right are adjacent in the list and nearly equal in a face; jaw and mouth sides exclude each other. */
    for (uint32_t s = 0; s + 1 < FACE_SHAPES; s++) {
        const char *name = pelt_face_control_name(s);
        size_t n = strlen(name);
        if (n > 4 && !strcmp(name + n - 4, "Left") && s != FACE_jawLeft && s != FACE_mouthLeft)
            p[s + 1] = p[s] * (float)sample_uniform(random, 0.75, 1.25);
    }
    if (p[FACE_jawLeft] > 0) p[FACE_jawRight] = 0;
    if (p[FACE_mouthLeft] > 0) p[FACE_mouthRight] = 0;
    p[FACE_mouthClose] = fminf(p[FACE_mouthClose], 0.8f * p[FACE_jawOpen]);
}

static void make_habits(habits *h) {
    sample_random random = {7};
    for (int m = 0; m < MOODS + MOUTHS; m++) {
        bool speech = m >= MOODS;
        float *p = speech ? h->mouths[m - MOODS] : h->moods[m];
        uint32_t from = speech ? FACE_jawForward : 0, to = speech ? FACE_mouthStretchRight : FACE_noseSneerRight;
        int count = speech ? 4 : 7;
        for (int k = 0; k < count; k++) {
            uint32_t s = (uint32_t)sample_uniform(&random, from, to + 1);
            if (s >= FACE_eyeLookDownLeft && s <= FACE_eyeLookUpRight) continue;
            p[s] = (float)sample_uniform(&random, 0.3, 1);
        }
        if (speech && m % 2) p[FACE_jawOpen] = (float)sample_uniform(&random, 0.2, 0.8);
        p[FACE_eyeBlinkLeft] = 0;
        mirror_pose(p, &random);
    }
}

/* -- Smooth curves ------------------------------------------------------------------------------------------------- */

/* Band-limited noise with a standard deviation of about 1: a cubic B-spline with a random value every `spacing` frames.
 */
typedef struct noise {
    double values[LONGEST / 4 + 8];
    double spacing;
} noise;

static double random_normal(sample_random *random) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += sample_uniform(random, 0, 1);
    return sum;
}

static noise make_noise(sample_random *random, double spacing) {
    noise n = {.spacing = spacing};
    for (size_t i = 0; i < sizeof n.values / sizeof *n.values; i++) n.values[i] = 1.4 * random_normal(random);
    return n;
}

static double noise_at(const noise *n, uint32_t frame) {
    double t = frame / n->spacing, u = t - floor(t);
    const double *v = n->values + (size_t)t;
    return ((1 - u) * (1 - u) * (1 - u) * v[0] + (3 * u * u * u - 6 * u * u + 4) * v[1] +
            (-3 * u * u * u + 3 * u * u + 3 * u + 1) * v[2] + u * u * u * v[3]) /
           6;
}

static double swell(uint32_t frame, uint32_t count) { return pow(sin(M_PI * (frame + 0.5) / count), 0.7); }

/* -- One shot ------------------------------------------------------------------------------------------------------ */

typedef struct shot {
    uint32_t frames;
    float (*controls)[FACE_CONTROLS];
    sample_random random;
} shot;

static void add_pose(float *controls, const pose p, double amount) {
    for (int s = 0; s < FACE_SHAPES; s++) controls[s] += (float)amount * p[s];
}

static void act_mood(shot *s, const habits *h) {
    for (int layer = 0; layer < 2; layer++) {
        const float *mood = h->moods[(size_t)sample_uniform(&s->random, 0, MOODS)];
        double level = sample_uniform(&s->random, 0.1, layer ? 0.5 : 0.9);
        noise drift = make_noise(&s->random, 24);
        for (uint32_t f = 0; f < s->frames; f++)
            add_pose(s->controls[f], mood, fmax(0, level * (0.6 + 0.35 * noise_at(&drift, f))));
    }
}

/* Mouth shapes alternate every few frames, each rising and falling over two intervals. */
static void act_speech(shot *s, const habits *h) {
    double level = sample_uniform(&s->random, 0.5, 1);
    for (double at = 0; at < s->frames;) {
        const float *mouth = h->mouths[(size_t)sample_uniform(&s->random, 0, MOUTHS)];
        double half = sample_uniform(&s->random, 3, 7), amount = level * sample_uniform(&s->random, 0.4, 1);
        for (uint32_t f = 0; f < s->frames; f++) {
            double x = (f - at) / half;
            if (x > -1 && x < 1) add_pose(s->controls[f], mouth, amount * pow(cos(M_PI / 2 * x), 2));
        }
        at += half;
    }
}

static void act_blinks(shot *s) {
    for (double at = sample_uniform(&s->random, 0, 60); at < s->frames; at += sample_uniform(&s->random, 20, 90)) {
        double strength = sample_uniform(&s->random, 0.8, 1), both[2];
        for (int e = 0; e < 2; e++) both[e] = strength * sample_uniform(&s->random, 0.92, 1);
        for (uint32_t f = 0; f < s->frames; f++) {
            double x = (f - at) / 4.5;
            if (x <= -1 || x >= 1) continue;
            for (int e = 0; e < 2; e++) {
                float *lid = &s->controls[f][FACE_eyeBlinkLeft + e];
                *lid = fmaxf(*lid, (float)(both[e] * pow(cos(M_PI / 2 * x), 2)));
            }
        }
    }
}

static void act_gaze(shot *s) {
    noise up = make_noise(&s->random, 15), side = make_noise(&s->random, 15);
    for (uint32_t f = 0; f < s->frames; f++) {
        float *x = s->controls[f], u = (float)(0.35 * noise_at(&up, f)), r = (float)(0.45 * noise_at(&side, f));
        for (int e = 0; e < 2; e++) {
            x[FACE_eyeLookUpLeft + e] = fmaxf(u, 0);
            x[FACE_eyeLookDownLeft + e] = fmaxf(-u, 0);
            x[FACE_eyeLookOutLeft + e] = fmaxf(e ? -r : r, 0);
            x[FACE_eyeLookInLeft + e] = fmaxf(e ? r : -r, 0);
        }
    }
}

/* A few controls that belong to no habit, as an animator adds by hand. */
static void act_details(shot *s) {
    for (int k = 0; k < 5; k++) {
        uint32_t c = (uint32_t)sample_uniform(&s->random, 0, FACE_SHAPES);
        if (c >= FACE_eyeLookDownLeft && c <= FACE_eyeLookUpRight) continue;
        double amount = sample_uniform(&s->random, 0.1, 0.8);
        if (c == FACE_mouthClose) amount *= 0.2;
        noise wobble = make_noise(&s->random, 14);
        for (uint32_t f = 0; f < s->frames; f++)
            s->controls[f][c] += (float)fmax(0, amount * swell(f, s->frames) * (1 + 0.4 * noise_at(&wobble, f)));
    }
}

static void act_head_and_tweakers(shot *s) {
    static const double reach[3] = {0.12, 0.2, 0.08};
    for (int i = 0; i < 3; i++) {
        noise turn = make_noise(&s->random, 45);
        for (uint32_t f = 0; f < s->frames; f++) s->controls[f][FACE_HEAD + i] = (float)(reach[i] * noise_at(&turn, f));
    }
    for (int t = 0; t < FACE_TWEAKERS; t++) {
        bool active = sample_uniform(&s->random, 0, 1) < 0.2;
        noise wobble = make_noise(&s->random, 20);
        for (int k = 0; k < 2; k++) {
            double tail = sqrt(2.0 / (0.5 + sample_uniform(&s->random, 0, 1.5))); /* sometimes a strong one */
            double amount = 0.45 * tail * random_normal(&s->random);
            for (uint32_t f = 0; f < s->frames && active; f++) {
                double x = amount * swell(f, s->frames) * (1 + 0.3 * noise_at(&wobble, f));
                s->controls[f][FACE_TWEAK + 2 * t + k] = (float)fmin(fmax(x, -1.6), 1.6);
            }
        }
    }
}

/* Controls saturate softly at their limits. */
static void limit_shapes(shot *s) {
    for (uint32_t f = 0; f < s->frames; f++) {
        float *x = s->controls[f];
        for (int c = 0; c < FACE_SHAPES; c++) {
            x[c] = fmaxf(x[c], 0);
            if (x[c] > 0.85f) x[c] = 0.85f + 0.35f * tanhf((x[c] - 0.85f) / 0.35f);
        }
        x[FACE_mouthClose] = fminf(x[FACE_mouthClose], 0.8f * x[FACE_jawOpen] + 0.03f);
    }
}

/* -- Captured curves ----------------------------------------------------------------------------------------------- */

/* Captured motion is subtle: each curve is scaled so that its largest value is near 0.9, at most fourfold. */
static void find_gains(const pelt_face_curves *curves, float gains[FACE_SHAPES]) {
    for (int c = 0; c < FACE_SHAPES; c++) {
        float most = 1e-3f;
        for (size_t f = 0; f < curves->frame_count; f++)
            most = fmaxf(most, curves->shapes[f * FACE_SHAPES + (size_t)c]);
        gains[c] = fminf(fmaxf(0.9f / most, 1), 4);
    }
}

static void act_curves(shot *s, const pelt_face_curves *curves, const float gains[FACE_SHAPES], uint32_t first) {
    for (uint32_t f = 0; f < s->frames; f++)
        for (int c = 0; c < FACE_SHAPES; c++)
            s->controls[f][c] = gains[c] * curves->shapes[(size_t)(first + f) * FACE_SHAPES + (size_t)c];
}

/* -- Clips --------------------------------------------------------------------------------------------------------- */

static uint64_t stream_of(uint32_t seed, uint32_t kind, uint32_t shot_number) {
    return ((uint64_t)seed << 32 ^ (uint64_t)kind << 24) * 0x9e3779b97f4a7c15u + shot_number * (uint64_t)0x1234567;
}

static void act_shot(shot *s, const habits *h) {
    act_mood(s, h);
    if (sample_uniform(&s->random, 0, 1) < 0.65) act_speech(s, h);
    act_blinks(s);
    act_details(s);
}

static void make_shots(const pelt_face_motion_options *o, const habits *h, float (*controls)[FACE_CONTROLS],
                       uint32_t *shots) {
    enum { CURVE_SHOT = 60 };
    uint32_t pieces = o->curves ? o->curves->frame_count / CURVE_SHOT : 0;
    float gains[FACE_SHAPES];
    if (o->curves) find_gains(o->curves, gains);
    uint32_t piece = 0;
    for (uint32_t done = 0, number = 0; done < o->frames; number++) {
        shot s = {.controls = controls + done, .random = {stream_of(o->seed, o->kind, number)}};
        s.frames = (uint32_t)sample_uniform(&s.random, LEAST_SHOT, MOST_SHOT + 1);
        /* Every third piece is for training. */
        while (piece < pieces && (piece % 3 == 0) != (o->kind == FACE_TRAIN)) piece++;
        bool captured = piece < pieces;
        if (captured) s.frames = CURVE_SHOT;
        if (s.frames > o->frames - done) s.frames = o->frames - done;
        if (captured)
            act_curves(&s, o->curves, gains, CURVE_SHOT * piece++);
        else
            act_shot(&s, h);
        act_gaze(&s);
        act_head_and_tweakers(&s);
        limit_shapes(&s);
        for (uint32_t f = 0; f < s.frames; f++) shots[done + f] = number;
        done += s.frames;
    }
}

/* Pose i of the range of motion: each control alone, both ways if it has two; each corrective's pair and triple; each
   tweaker with the one that moves its pivot, both ways; then mixtures. */
static void range_pose(const pelt_face *face, uint32_t i, sample_random *random, float *x) {
    static const float stops[] = {1.1f, 0.5f}, turns[] = {0.3f, 0.5f, 0.25f}; /* the limits of the clips' motion */
    uint32_t alone = 2 * FACE_CONTROLS;
    if (i < alone) {
        uint32_t c = i / 2;
        if (c < FACE_SHAPES)
            x[c] = stops[i % 2];
        else
            x[c] = (i % 2 ? -1 : 1) * (c < FACE_TWEAK ? turns[c - FACE_HEAD] : 1.5f);
        if (c == FACE_mouthClose) x[FACE_jawOpen] = x[c], x[c] *= 0.8f;
    } else if (i < alone + FACE_PAIRS) {
        for (int k = 0; k < 2; k++) x[face->pairs[i - alone][k]] = 0.9f;
    } else if (i < alone + FACE_PAIRS + FACE_TRIPLES) {
        for (int k = 0; k < 3; k++) x[face->triples[i - alone - FACE_PAIRS][k]] = 0.9f;
    } else if (i < alone + FACE_PAIRS + FACE_TRIPLES + 4 * FACE_TWEAKERS) {
        uint32_t k = i - alone - FACE_PAIRS - FACE_TRIPLES, tweaker = k / 4;
        x[FACE_TWEAK + 2 * face->tweakers[tweaker].other] = k & 1 ? 1.5f : -1.5f;
        x[FACE_TWEAK + 2 * tweaker + 1] = k & 2 ? 1.5f : -1.5f;
    } else {
        for (int k = 0; k < 8; k++) {
            uint32_t c = (uint32_t)sample_uniform(random, 0, FACE_CONTROLS);
            bool shape = c < FACE_SHAPES, tweak = c >= FACE_TWEAK;
            x[c] = (float)sample_uniform(random, shape ? 0.2 : -1, 1) * (shape ? 1.1f : tweak ? 1.5f : 0.4f);
        }
    }
    if (i >= alone) x[FACE_mouthClose] = fminf(x[FACE_mouthClose], 0.8f * x[FACE_jawOpen]);
}

enum { MOST_FRAMES = 1000000 };

pelt_result pelt_face_motion(const pelt_face *face, const pelt_face_motion_options *options, float *controls,
                             uint32_t *shots, pelt_error *error) {
    if (options->frames > MOST_FRAMES)
        return pelt_fail_option(error, "frames", " must be at most %d, not %u", MOST_FRAMES, options->frames);
    memset(controls, 0, (size_t)options->frames * FACE_CONTROLS * sizeof *controls);
    if (options->kind == FACE_RANGE) {
        sample_random random = {stream_of(options->seed, FACE_RANGE, 0)};
        for (uint32_t f = 0; f < options->frames; f++) {
            range_pose(face, f, &random, controls + (size_t)f * FACE_CONTROLS);
            shots[f] = f;
        }
        return PELT_OK;
    }
    habits *h = calloc(1, sizeof *h);
    if (!h) return pelt_no_memory(error);
    make_habits(h);
    make_shots(options, h, (float(*)[FACE_CONTROLS])controls, shots);
    free(h);
    return PELT_OK;
}
