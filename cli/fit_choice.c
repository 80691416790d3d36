/* fit_choice.c: what `pelt fit` chose from, as a table and as JSON. */

#include "cli/fit_options.h"
#include <math.h>

bool cli_chooses(const cli_args *args) {
    return !cli_value(args, "method") && !cli_value(args, "blend") && !cli_value(args, "corrective") &&
           !cli_value(args, "preset");
}

bool cli_budget(const cli_args *args, pelt_budget *budget) {
    pelt_error error;
    const char *text = cli_value(args, "budget");
    *budget = (pelt_budget){0};
    if (!text) return true;
    if (!cli_chooses(args))
        return cli_misuse(args, "--budget chooses the method: leave out --method, --blend, --corrective and --preset, "
                                "or the budget"),
               false;
    return !pelt_budget_parse(text, budget, &error) || (cli_error(&error), false);
}

static void say_candidate(const cli_args *args, const pelt_front *front, const pelt_candidate *c, double vertices) {
    bool chosen = c == front->list + front->chosen;
    char relative[16] = "-";
    if (c->rel_err > 0) snprintf(relative, sizeof relative, "%.3f", c->rel_err);
    cli_say(args, "  %c %-48s %7s %9.4g %9.1f %8.2f  %s\n",
            chosen        ? '>'
            : c->is_front ? '*'
                          : ' ',
            c->name + 9, relative, c->rms, c->bytes / vertices, 1e9 * c->seconds / vertices,
            c->remark ? c->remark : "");
}

void cli_say_front(const cli_args *args, const pelt_front *front, uint32_t vertex_count) {
    if (!front->count) return;
    cli_say(args,
            "  candidates (error on held-out examples; > chosen, * nothing else is both smaller and more accurate):\n");
    cli_say(args, "    %-48s %7s %9s %9s %8s\n", "method", "rel_err", "rms", "bytes/v", "ns/v");
    for (size_t i = 0; i < front->count; i++)
        if (front->list[i].fold_count) say_candidate(args, front, &front->list[i], vertex_count);
    for (size_t i = 0; i < front->count; i++)
        if (!front->list[i].fold_count && front->list[i].remark)
            cli_say(args, "    %-48s %s\n", front->list[i].name + 9, front->list[i].remark);
    cli_say(args, "  chosen: pelt fit %s: %s\n", front->list[front->chosen].name, front->why);
}

static json_t *candidate_json(const pelt_candidate *c, double vertices) {
    bool tried = c->fold_count > 0;
    return pelt_json_pack(
        "{options:s, method:s, blend:s, corrective:s, folds:u, rms:o, rel_err:o, bytes:o, "
        "bytes_per_vertex:o, ns_per_vertex:o, front:b, within:b, remark:o}",
        c->name, pelt_method_name(c->options.method), pelt_blend_name(c->options.blend),
        pelt_corrective_name(c->options.corrective), c->fold_count, tried ? pelt_json_number(c->rms) : json_null(),
        tried && c->rel_err > 0 ? pelt_json_number(c->rel_err) : json_null(),
        tried ? pelt_json_number(c->bytes) : json_null(), tried ? pelt_json_number(c->bytes / vertices) : json_null(),
        tried ? pelt_json_number(1e9 * c->seconds / vertices) : json_null(), c->is_front, c->is_within,
        c->remark ? pelt_json_text(c->remark) : json_null());
}

json_t *cli_front_json(const pelt_front *front, uint32_t vertex_count) {
    json_t *list = json_array();
    if (!front->count) return json_decref(list), json_null();
    for (size_t i = 0; i < front->count; i++)
        list = pelt_json_append(list, candidate_json(&front->list[i], vertex_count));
    return pelt_json_pack(
        "{chosen:z, why:s, mirror:o, candidates:o}", front->chosen, front->why,
        front->mirror ? pelt_json_text((const char *const[]){"x", "y", "z"}[front->mirror - 1]) : json_null(), list);
}
