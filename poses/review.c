/* review.c: examples that contradict each other, and examples that say nothing new.

   Each example is compared with the one before it that is nearest in pose: the joints' angles between them, squared and
   summed, with translations and controls in their units. Where the two are nearly one pose, what a skin would have to
   add is compared, r = truth - blend: a small difference of pose moves a hand by centimetres, but changes r by little. */

#include "fit/examples/poses.h"
#include "poses/poses.h"
#include "rig/sort.h"
#include <stdlib.h>
#include <string.h>

static const double same_pose = 0.02;  /* radians, all joints together */
static const double same_skin = 1e-4;  /* of the diagonal: such skins are one */
static const double other_skin = 2e-3; /* and these contradict each other */
enum { MOST_EXAMPLES = 5000, MOST_SHOWN = 5 };

/* An example and the one that it nearly repeats. */
typedef struct twin {
    uint32_t of;  /* UINT32_MAX: none */
    double apart; /* of their skins, at the vertex where that is most */
} twin;

typedef struct review {
    pelt_bundle *bundle;
    pelt_examples examples;
    pelt_findings *findings;
    pelt_arena *arena;
    pelt_poses poses;
    twin *twins; /* [example] */
} review;

/* -- Nearly the same ------------------------------------------------------------------------------------------------ */

static double pose_distance2(const pelt_poses *p, uint32_t a, uint32_t b, double limit) {
    double sum = 0;
    for (size_t c = 0; c < p->control_count; c++) {
        double gap = p->controls[a * (size_t)p->control_count + c] - p->controls[b * (size_t)p->control_count + c];
        gap *= p->control_list[c].scale;
        sum += gap * gap;
    }
    for (size_t j = 0; j < p->joint_count && sum <= limit; j++) {
        size_t at = (size_t)a * p->joint_count + j, other = (size_t)b * p->joint_count + j;
        if (p->moves[j]) {
            double angle = pelt_rotation_angle(p->rotations + 4 * at, p->rotations + 4 * other);
            sum += angle * angle;
        }
        for (size_t i = 0; i < 3 && p->slides[j]; i++) {
            double gap = ((double)p->translations[3 * at + i] - p->translations[3 * other + i]) / p->size;
            sum += gap * gap;
        }
    }
    return sum;
}

/* What the skin adds to the blend: [vertex][3]. */
static double *residual(const review *r, pelt_arena *arena, uint32_t example) {
    const pelt_example *e = &r->examples.list[example];
    size_t n = 3 * (size_t)r->bundle->mesh.vertex_count;
    double *out = pelt_blend_frame(arena, r->bundle, e->clip, e->frame);
    for (size_t i = 0; i < n; i++) out[i] = e->clip->positions[e->frame * n + i] - out[i];
    return out;
}

static void find_twin(void *user, size_t example, pelt_arena *scratch) {
    review *r = user;
    double nearest = same_pose * same_pose;
    twin *t = &r->twins[example];
    t->of = UINT32_MAX;
    for (uint32_t k = 0; k < example; k++) {
        double distance = pose_distance2(&r->poses, (uint32_t)example, k, nearest);
        if (distance < nearest || (t->of == UINT32_MAX && distance <= nearest)) nearest = distance, t->of = k;
    }
    if (t->of == UINT32_MAX) return;
    const double *a = residual(r, scratch, (uint32_t)example), *b = residual(r, scratch, t->of);
    for (size_t v = 0; v < r->bundle->mesh.vertex_count; v++)
        t->apart = fmax(t->apart, pelt_distance(a + 3 * v, b + 3 * v));
}

/* -- Words ---------------------------------------------------------------------------------------------------------- */

/* Examples whose skin is this far from their twin's, the farthest first. */
static size_t rank(const review *r, double low, double high, pelt_ranked *out) {
    size_t count = 0;
    for (uint32_t i = 0; i < r->examples.count; i++) {
        const twin *t = &r->twins[i];
        if (t->of != UINT32_MAX && t->apart >= low && t->apart <= high) out[count++] = (pelt_ranked){t->apart, i};
    }
    qsort(out, count, sizeof *out, pelt_falling_ranks);
    return count;
}

/* "frame 3 of "train" and frame 7 of "train" by 0.012 (0.5% of the size), ..." */
static const char *list_pairs(const review *r, const pelt_ranked *list, size_t count, bool amounts) {
    const char *text = "";
    for (size_t i = 0; i < count && i < MOST_SHOWN; i++) {
        const pelt_example *a = &r->examples.list[r->twins[list[i].index].of], *b = &r->examples.list[list[i].index];
        const char *by = !amounts ? ""
                                  : pelt_arena_format(r->arena, " by %.3g (%.2g%% of the size)", list[i].value,
                                                      100 * list[i].value / r->bundle->mesh.diagonal);
        text = pelt_arena_format(r->arena, "%s%sframe %u of \"%s\" and frame %u of \"%s\"%s", text, i ? ", " : "",
                                 a->frame, a->clip->name, b->frame, b->clip->name, by);
    }
    return count > MOST_SHOWN ? pelt_arena_format(r->arena, "%s, ...", text) : text;
}

/* Takes out what the diagnosis says of exact repetitions: it is said again here, in full. */
static void drop_duplicates(review *r) {
    size_t kept = 0;
    pelt_finding *list = PELT_NEW(r->bundle->arena, r->findings->count, pelt_finding);
    for (size_t i = 0; i < r->findings->count && list; i++)
        if (strncmp(r->findings->list[i].what, "duplicate-pose", 14) != 0) list[kept++] = r->findings->list[i];
    if (list) *r->findings = (pelt_findings){kept, list};
}

/* A stage. */
static pelt_result look(void *user, pelt_error *error) {
    review *r = user;
    size_t n = r->examples.count;
    double size = r->bundle->mesh.diagonal;
    pelt_ranked *list = PELT_NEW(r->arena, n, pelt_ranked);
    r->twins = PELT_NEW(r->arena, n, twin);
    pelt_poses_of(r->arena, r->bundle, r->examples, &(pelt_fit_options){0}, &r->poses);
    pelt_parallel(r->arena, 0, n, find_twin, r);
    drop_duplicates(r);
    size_t count = rank(r, other_skin * size, INFINITY, list);
    if (count)
        pelt_find(r->findings, r->bundle->arena, PELT_WARNING, "contradiction",
                  "%s: %zu of %zu examples contradict another in nearly the same pose: the skins of %s differ; they "
                  "depend on something outside the skeleton, such as time or muscle tension, or one of them is wrong; "
                  "a skin can only give their mean, unless a named control distinguishes them: a column of a table "
                  "BUNDLE.CLIP.csv, one row per frame",
                  r->bundle->path, count, n, list_pairs(r, list, count, true));
    count = rank(r, 0, same_skin * size, list);
    if (count)
        pelt_find(r->findings, r->bundle->arena, PELT_NOTE, "redundant",
                  "%s: %zu of %zu examples add nothing: they nearly repeat the pose and the skin of another, such as "
                  "%s; without them, fits are faster and no worse",
                  r->bundle->path, count, n, list_pairs(r, list, count, false));
    return pelt_arena_failed(r->bundle->arena) ? pelt_no_memory(error) : PELT_OK;
}

pelt_result pelt_review_examples(pelt_bundle *bundle, pelt_examples examples, pelt_findings *findings,
                                 pelt_error *error) {
    if (PELT_MISSING(bundle, error) || PELT_MISSING(findings, error)) return PELT_ERROR_ARGUMENT;
    pelt_result result = pelt_check_examples(bundle, examples, true, error);
    if (result || examples.count < 2 || examples.count > MOST_EXAMPLES) return result;
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    review r = {.bundle = bundle, .examples = examples, .findings = findings, .arena = arena};
    return pelt_stage(arena, look, &r, error);
}
