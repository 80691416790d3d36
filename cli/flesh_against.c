/* flesh_against.c: pelt flesh --against: what was simulated beside the positions that the clips have of their own.

   rel_err = ||flesh - truth|| / ||linear blend - truth||. */

#include "cli/flesh.h"
#include <math.h>

typedef struct sums {
    uint32_t frames;
    double flesh, blend, most;
} sums;

static void add_frame(const flesh_order *o, size_t frame, const float *shape, const double *blend, sums *s) {
    const pelt_mesh *mesh = &o->bundle->mesh;
    const pelt_example *example = &o->truth.list[frame];
    const float *truth = example->clip->positions + 3 * (size_t)example->frame * mesh->vertex_count;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        double error = 0, before = 0;
        for (size_t k = 3 * v; k < 3 * v + 3; k++) {
            error += ((double)shape[k] - truth[k]) * ((double)shape[k] - truth[k]);
            before += (blend[k] - truth[k]) * (blend[k] - truth[k]);
        }
        s->flesh += error, s->blend += before, s->most = fmax(s->most, sqrt(error));
    }
    s->frames++;
}

static json_t *say(const cli_args *args, const flesh_order *o, const char *name, const sums *s) {
    double numbers = fmax(1, (double)s->frames * o->bundle->mesh.vertex_count), rms = sqrt(s->flesh / numbers);
    double rel_err = s->blend > 0 ? sqrt(s->flesh / s->blend) : 0, diagonal = pelt_scene_diagonal(&o->bundle->mesh);
    cli_say(args, "  against clip \"%s\": rms %.4g (%.3f%%)  max %.4g  rel_err %.3f, %u frames\n", name, rms,
            100 * rms / diagonal, s->most, rel_err, s->frames);
    return pelt_json_pack("{clip:s, frames:u, rms:f, max:f, rms_fraction:f, rel_err:f}", name, s->frames, rms, s->most,
                          rms / diagonal, rel_err);
}

json_t *flesh_compare(const cli_args *args, const flesh_order *o, const float *shapes, const bool *reached) {
    json_t *list = json_array();
    for (size_t i = 0; i < o->truth.count;) {
        const pelt_clip *clip = o->truth.list[i].clip;
        sums s = {0};
        for (; i < o->truth.count && o->truth.list[i].clip == clip; i++) {
            PELT_SCOPED pelt_arena *arena = pelt_arena_new(0);
            double *blend = pelt_blend_frame(arena, o->bundle, clip, o->truth.list[i].frame);
            if (reached[i] && blend) add_frame(o, i, shapes + 3 * i * o->bundle->mesh.vertex_count, blend, &s);
        }
        list = pelt_json_append(list, say(args, o, clip->name, &s));
    }
    return list;
}
