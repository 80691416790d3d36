/* solve.c: a pose, by continuation and projected Newton steps.

   The bones go part of the way; nodes are carried along as their nearest bones move, which may leave elements inside out; then steps
       H d = -g,    x <- x + a d,    a = 1, 1/2, 1/4, ... until the energy falls and no element is inside out
   bring the forces into balance. Where they do not, the part of the way is halved. */

#include "flesh/inside.h"
#include "flesh/screw.h"
#include "rig/maths.h"
#include <string.h>

enum {
    MOST_HALVINGS = 10,
    LOOPS_AN_INCREMENT = 500,
    MOST_LOOKS = 16,
    MOST_LEAPS = 6,
    MOST_TROUBLE = 20,
    A_FAILURE = 5
};
/* Blocks of a matrix that one thread multiplies faster than several are woken. */
enum { SMALL = 100000 };

typedef struct solving {
    const pelt_solid *solid;
    const pelt_affine *target;
    pelt_solid_options options;
    pelt_solid_state *state;
    pelt_solid_report *report;
    pelt_arena *arena;
    pelt_elastic elastic;
    pelt_contact contact;
    pelt_conjugate conjugate;
    double *nodes, *trial, *gradient; /* in balance; being moved; its gradient */
    double *tried;                    /* a point of a line search */
    pelt_affine *now, *next;          /* bones in balance, and of the increment */
    double *kept_skin, *kept_depths;  /* of contact, in balance */
    double energy;                    /* of trial */
    double stored, kept;              /* without contact: of the last point, and of trial */
    bool upright;                     /* no element is inside out */
} solving;

static pelt_solid_options with_defaults(const pelt_solid *solid, const pelt_solid_options *options) {
    pelt_solid_options o = *options;
    if (o.tolerance == 0) o.tolerance = 1e-3;
    if (o.most_newton == 0) o.most_newton = 30;
    if (o.least_step == 0) o.least_step = 1.0 / 256;
    if (o.turn == 0) o.turn = 60;
    if (o.threads == 0 && solid->row_starts[solid->free_count] < SMALL) o.threads = 1;
    return o;
}

static pelt_affine motion_between(const pelt_affine *from, const pelt_affine *to) {
    pelt_affine back;
    pelt_affine_invert(from, &back);
    return pelt_affine_multiply(to, &back);
}

/* -- The path ------------------------------------------------------------------------------------------------------ */

static void bones_at(const solving *s, double part, pelt_affine *bones) {
    if (s->options.path && part < 1) {
        s->options.path(s->options.path_user, part, bones);
        return;
    }
    for (uint32_t b = 0; b < s->solid->shape.bone_count; b++) {
        pelt_affine motion = motion_between(&s->state->bones[b], &s->target[b]), screw = pelt_screw(&motion, part);
        bones[b] = part < 1 ? pelt_affine_multiply(&screw, &s->state->bones[b]) : s->target[b];
    }
}

/* The largest angle between the bones and the target, in degrees. */
static double largest_turn(const solving *s, const pelt_affine *bones, uint32_t *bone) {
    double largest = 0;
    for (uint32_t b = 0; b < s->solid->shape.bone_count; b++) {
        pelt_affine motion = motion_between(&bones[b], &s->target[b]);
        double angle = pelt_rigid_angle(&motion) * 180 / M_PI;
        if (angle > largest) largest = angle, *bone = b;
    }
    return largest;
}

/* Fixed nodes go with their bones, free ones as their nearest bones do. */
static void carry_along(const solving *s) {
    const pelt_solid *solid = s->solid;
    pelt_affine *motions = PELT_NEW(s->arena, solid->shape.bone_count, pelt_affine);
    for (uint32_t b = 0; b < solid->shape.bone_count; b++) motions[b] = motion_between(&s->now[b], &s->next[b]);
    for (size_t i = 0; i < solid->shape.node_count; i++) {
        uint32_t row = solid->unknowns[i];
        if (row == PELT_NOWHERE) {
            pelt_affine_point(&s->next[solid->shape.node_bones[i]], solid->shape.nodes + 3 * i, s->trial + 3 * i);
            continue;
        }
        double *out = s->trial + 3 * i, moved[3];
        out[0] = out[1] = out[2] = 0;
        for (size_t k = 0; k < PELT_CARRIERS; k++) {
            size_t at = PELT_CARRIERS * (size_t)row + k;
            pelt_affine_point(&motions[solid->carriers[at]], s->nodes + 3 * i, moved);
            for (int c = 0; c < 3; c++) out[c] += solid->carrier_weights[at] * moved[c];
        }
    }
}

/* -- Newton -------------------------------------------------------------------------------------------------------- */

static double norm(const double *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static double energy_of(solving *s, const double *nodes) {
    s->stored = pelt_elastic_energy(&s->elastic, nodes);
    return s->options.no_contact ? s->stored : s->stored + pelt_contact_energy(&s->contact, nodes);
}

/* The place that is this part of the step away from trial. */
static void try_part(solving *s, double part) {
    for (size_t row = 0; row < s->solid->free_count; row++)
        for (size_t c = 0; c < 3; c++) {
            size_t at = 3 * (size_t)s->solid->free_nodes[row] + c;
            s->tried[at] = s->trial[at] + part * s->conjugate.x[3 * row + c];
        }
}

/* Twice as far, and again, while that lowers the energy: flesh that buckles leaves a saddle along steps that are far too short,
   as a filtered matrix takes for stiff what is not. The energies are those of trial and of the whole step. */
static double stretch_step(solving *s, double slope, double before, double energy, double longest) {
    const double straight = 0.75, far = 0.5 * s->solid->edge; /* where the best is at twice the step, by a parabola */
    double alpha = 1;
    if (!s->upright || before - energy < -straight * slope) return 1;
    while (2 * alpha * longest < far) {
        try_part(s, 2 * alpha);
        double further = energy_of(s, s->tried);
        if (!(further < energy) || pelt_elastic_least(&s->elastic) <= 0) break;
        alpha *= 2, energy = further;
    }
    return alpha;
}

/* Moves trial by a part of the step that lowers the energy enough; returns that part, or 0. */
static double search_line(solving *s, double longest) {
    const pelt_solid *solid = s->solid;
    size_t size = 3 * (size_t)solid->free_count;
    double slope = 0, alpha = 1;
    for (size_t i = 0; i < size; i++) slope += s->conjugate.x[i] * s->gradient[i];
    const double enough = 1e-4, rounding = 1e-12 * fabs(s->energy);
    for (int k = 0; k < MOST_HALVINGS; k++, alpha /= 2) {
        try_part(s, alpha);
        double energy = energy_of(s, s->tried);
        if (!(energy <= s->energy + enough * alpha * slope + rounding)) continue;
        double least = pelt_elastic_least(&s->elastic);
        if (s->upright && least <= 0) continue;
        s->upright = least > 0;
        if (k == 0) {
            alpha = stretch_step(s, slope, s->energy, energy, longest);
            try_part(s, alpha);
            energy = energy_of(s, s->tried);
        }
        memcpy(s->trial, s->tried, 3 * (size_t)solid->shape.node_count * sizeof *s->trial);
        s->energy = energy, s->kept = s->stored;
        return alpha;
    }
    return 0;
}

static double longest_move(const solving *s) {
    double longest = 0;
    for (size_t row = 0; row < s->solid->free_count; row++)
        longest = fmax(longest, pelt_length(s->conjugate.x + 3 * row));
    return longest;
}

/* The gradient and the matrix of trial, and its energy as contact sees it now; the gradient's norm. */
static double derive(solving *s) {
    size_t size = 3 * (size_t)s->solid->free_count;
    memset(s->gradient, 0, size * sizeof *s->gradient);
    pelt_elastic_derivatives(&s->elastic, s->trial, s->gradient);
    if (!s->options.no_contact) s->energy = s->kept + pelt_contact_derivatives(&s->contact, s->trial, s->gradient);
    return norm(s->gradient, size);
}

/* A Newton step into conjugate.x. Near balance the matrix is exact, since filtered ones crawl there; where it turns out
   to be indefinite, the step goes on along what it curves down along. */
static void find_step(solving *s, double tolerance) {
    s->report->cg_iterations += pelt_conjugate_solve(&s->conjugate, s->gradient, tolerance);
    s->report->newton_steps++;
}

/* Where a vertex goes over from triangle to triangle, contact has kinks that no step leads down from: a short one is taken
   all the same, and what touches what is looked up again. False: it would turn something inside out. */
static bool leap(solving *s) {
    const double part = 0.25;
    try_part(s, part);
    double energy = pelt_elastic_energy(&s->elastic, s->tried);
    if (!(energy < INFINITY) || (s->upright && pelt_elastic_least(&s->elastic) <= 0)) return false;
    memcpy(s->trial, s->tried, 3 * (size_t)s->solid->shape.node_count * sizeof *s->trial);
    s->kept = energy;
    return true;
}

/* Brings trial into balance. False: it could not. */
static bool balance(solving *s, double tolerance) {
    s->energy = s->kept = pelt_elastic_energy(&s->elastic, s->trial);
    if (!(s->energy < INFINITY)) return false;
    s->upright = pelt_elastic_least(&s->elastic) > 0;
    s->elastic.exact = false;
    memcpy(s->tried, s->trial, 3 * (size_t)s->solid->shape.node_count * sizeof *s->tried);
    double first = 0;
    uint32_t leaps = 0;
    bool flat = false;
    const double hardly = 1e-5; /* energy that soft modes may be short of their least */
    uint32_t most = s->options.most_newton;
    for (uint32_t k = 0; k <= most; k++) {
        double left = derive(s);
        if (k == 0) first = left;
        s->report->residual = first > 0 ? left / first : 0;
        if (left == 0) return s->upright;
        const double loosest = 0.1; /* the closer, the more exact, so that the last steps converge fast */
        find_step(s, fmin(loosest, sqrt(left / first)));
        const double near = 0.05, kink = 0.1; /* edges: for an exact matrix; of a step that contact may refuse */
        double longest = longest_move(s) / s->solid->edge;
        bool saddle = s->conjugate.indefinite, close = longest < tolerance && !saddle;
        double before = s->energy, part = search_line(s, longest_move(s));
        if (part == 0 && saddle && s->elastic.exact) {
            s->elastic.exact = false;
            continue;
        }
        const double stuck = 50; /* what is near enough on the way is not where no step leads down */
        if (part == 0) close = close && longest < stuck * s->options.tolerance;
        if (part == 0 && !close) {
            bool touches = !s->options.no_contact && s->contact.ties.count > 0;
            if (touches && leaps++ < MOST_LEAPS && leap(s)) continue;
            return touches && s->upright && longest < kink;
        }
        if (close && (part == 1 || part == 0)) return s->upright;
        s->elastic.exact = longest < near && (saddle ? part > 1 : part >= 1);
        flat = part > 0 && before - s->energy < hardly * fabs(s->energy);
        /* Flesh that buckles leaves a balance slowly before it finds another: beginning again would take longer. */
        const double far = 0.25; /* edges */
        if (k == s->options.most_newton && s->upright && part >= 1 && longest < far) most = 2 * s->options.most_newton;
    }
    return flat && s->upright;
}

/* -- Continuation -------------------------------------------------------------------------------------------------- */

/* What contact saw in balance: kept, or taken back. */
static void remember(solving *s, bool back) {
    size_t skin = 3 * (size_t)s->contact.vertex_count * sizeof *s->kept_skin, depths = skin / 3;
    if (!skin) return;
    memcpy(back ? s->contact.held_skin : s->kept_skin, back ? s->kept_skin : s->contact.held_skin, skin);
    memcpy(back ? s->contact.depths : s->kept_depths, back ? s->kept_depths : s->contact.depths, depths);
}

static void keep(solving *s, double reached) {
    pelt_contact_look(&s->contact, s->trial);
    remember(s, false);
    memcpy(s->nodes, s->trial, 3 * (size_t)s->solid->shape.node_count * sizeof *s->nodes);
    memcpy(s->now, s->next, s->solid->shape.bone_count * sizeof *s->now);
    s->report->reached = reached;
    s->report->increments++;
    s->report->energy = s->energy;
    s->report->least_det = pelt_elastic_least(&s->elastic);
}

/* Whether the way to the first guess leads so deep into other skin that it might come out on the other side. */
static bool goes_deep(solving *s) {
    const pelt_solid *solid = s->solid;
    size_t size = 3 * (size_t)solid->shape.node_count;
    const double most = 0.5 * solid->contact_reach;
    double longest = 0;
    uint32_t touching;
    if (s->options.no_contact || !s->contact.vertex_count) return false;
    for (size_t i = 0; i < solid->shape.node_count; i++)
        longest = fmax(longest, pelt_distance(s->trial + 3 * i, s->nodes + 3 * i));
    uint32_t looks = (uint32_t)fmin(ceil(longest / solid->contact_reach), MOST_LOOKS);
    for (uint32_t k = 1; k <= looks; k++) {
        double part = (double)k / looks;
        for (size_t i = 0; i < size; i++) s->tried[i] = (1 - part) * s->nodes[i] + part * s->trial[i];
        pelt_contact_look(&s->contact, s->tried);
        if (pelt_contact_depth(&s->contact, &touching) > most) return true;
    }
    return false;
}

/* Goes on without contact: skin that cannot get out of the other's way must not cost the pose. */
static void give_contact_up(solving *s) {
    s->options.no_contact = true;
    s->contact.ties.count = 0;
}

/* Once more with contact, from where the way without it ended: kept if that is a balance. */
static void push_apart(solving *s) {
    s->options.no_contact = false;
    memcpy(s->trial, s->nodes, 3 * (size_t)s->solid->shape.node_count * sizeof *s->trial);
    if (balance(s, s->options.tolerance)) keep(s, 1);
    give_contact_up(s);
}

static void follow_path(solving *s) {
    uint32_t bone = 0, trouble = 0;
    double whole = 1 / fmax(1, ceil(largest_turn(s, s->state->bones, &bone) / s->options.turn - 1e-9)), step = whole;
    const double looser = 200; /* on the way */
    bool contact = !s->options.no_contact;
    while (s->report->reached < 1) {
        double reached = s->report->reached, part = reached + step > 1 - 1e-9 ? 1 : reached + step;
        pelt_next_task(s->arena, "flesh", reached, part, LOOPS_AN_INCREMENT);
        bones_at(s, part, s->next);
        carry_along(s);
        remember(s, true);
        bool deep = step / 2 >= s->options.least_step && goes_deep(s);
        if (!deep && balance(s, s->options.tolerance * (part < 1 ? looser : 1))) {
            keep(s, part);
            step = fmin(2 * step, whole);
            continue;
        }
        step /= 2;
        trouble += deep ? 1 : A_FAILURE;
        if (!s->options.no_contact && (trouble > MOST_TROUBLE || step < s->options.least_step))
            give_contact_up(s), step = whole;
        if (step < s->options.least_step) break;
    }
    if (contact && s->options.no_contact && s->report->reached == 1) push_apart(s);
    largest_turn(s, s->now, &s->report->worst_bone);
}

static pelt_result solve(void *user, pelt_error *error) {
    (void)error;
    solving *s = user;
    const pelt_solid_shape *shape = &s->solid->shape;
    size_t size = 3 * (size_t)shape->node_count;
    s->nodes = PELT_NEW(s->arena, size, double);
    s->trial = PELT_NEW(s->arena, size, double);
    s->tried = PELT_NEW(s->arena, size, double);
    s->gradient = PELT_NEW(s->arena, size, double);
    s->now = PELT_NEW(s->arena, shape->bone_count, pelt_affine);
    s->next = PELT_NEW(s->arena, shape->bone_count, pelt_affine);
    memcpy(s->nodes, s->state->nodes, size * sizeof *s->nodes);
    memcpy(s->now, s->state->bones, shape->bone_count * sizeof *s->now);
    pelt_elastic_begin(&s->elastic, s->solid, s->arena, s->options.threads);
    pelt_contact_begin(&s->contact, s->solid, s->arena, s->options.threads);
    pelt_conjugate_begin(&s->conjugate, &s->elastic, &s->contact.ties);
    s->kept_skin = PELT_NEW(s->arena, 3 * (size_t)s->contact.vertex_count + 1, double);
    s->kept_depths = PELT_NEW(s->arena, (size_t)s->contact.vertex_count + 1, double);
    pelt_contact_start(&s->contact, s->nodes);
    remember(s, false);
    follow_path(s);
    pelt_contact_look(&s->contact, s->nodes);
    s->report->penetration = pelt_contact_depth(&s->contact, &s->report->touching);
    memcpy(s->state->nodes, s->nodes, size * sizeof *s->nodes);
    memcpy(s->state->bones, s->now, shape->bone_count * sizeof *s->now);
    return PELT_OK;
}

pelt_result pelt_solid_solve(const pelt_solid *solid, const pelt_affine *bones, const pelt_solid_options *options,
                             pelt_solid_state *state, pelt_solid_report *report, pelt_error *error) {
    for (uint32_t b = 0; b < solid->shape.bone_count; b++)
        if (!pelt_is_rigid(&bones[b]))
            return pelt_fail(error, PELT_ERROR_DATA,
                             "bone %u: its matrix is not a rotation and a translation; bones must keep their size", b);
    PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
    if (!arena) return pelt_no_memory(error);
    pelt_solid_options resolved = with_defaults(solid, options);
    pelt_watch watch = {.progress = &resolved.progress};
    pelt_arena_watch(arena, &watch);
    *report = (pelt_solid_report){0};
    solving s = {solid, bones, .options = resolved, .state = state, .report = report, .arena = arena};
    return pelt_stage(arena, solve, &s, error);
}
