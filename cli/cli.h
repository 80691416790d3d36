/* cli.h: shared by the commands of the program `pelt`. Only this room prints. */

#ifndef PELT_CLI_H
#define PELT_CLI_H

#include "rig/json.h"
#include "rig/rig.h"
#include "rig/text.h"
#include <stdarg.h>
#include <stdio.h>

/* Exit codes. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_MISUSE = 2 };

/* What an option names, for completion, and to keep outputs from overwriting inputs. */
typedef enum cli_kind {
    CLI_WORD, /* told by its value: "keep|refit" is a choice, "CLIP" and "CLIP,..." are clips; -o is an output */
    CLI_INPUT,
    CLI_OUTPUT,
    CLI_CLIPS,
    CLI_METHODS,
} cli_kind;

typedef struct cli_option {
    const char *name;  /* "train"; also "-o" for "output" */
    const char *value; /* what it takes, "CLIP,..."; NULL for a switch */
    const char *help;  /* one sentence */
    cli_kind kind;
    const char *group; /* what this option and those after it are about: a heading of --help; NULL: as before */
} cli_option;

enum { CLI_MAX_OPTIONS = 64, CLI_MAX_INPUTS = 256 };

/* The words of one call, parsed against a command's options. */
typedef struct cli_args {
    const char *program; /* as called: "build/pelt" */
    const struct cli_command *command;
    const char *inputs[CLI_MAX_INPUTS];
    int input_count;
    const char *values[2 * CLI_MAX_OPTIONS]; /* of the command's options, then of the common ones; NULL if not given */
    bool json, quiet;
    uint32_t threads, seed;
} cli_args;

typedef struct cli_command {
    const char *name;      /* "fit" */
    const char *arguments; /* "BUNDLE --train CLIP,... -o SKIN.pelt" */
    const char *summary;   /* one line */
    const char *details;   /* a paragraph or two */
    int (*run)(const cli_args *args);
    int least_inputs, most_inputs;
    cli_option options[CLI_MAX_OPTIONS]; /* fewer than that: a NULL name ends it */
    const char *example;                 /* a call, for the built-in arm */
    const char *first_words;             /* "train|run": what the first input can be besides a file; NULL: a file */
} cli_command;

extern const cli_command cli_info, cli_fit, cli_eval, cli_measure, cli_compare, cli_export, cli_levels, cli_carry,
    cli_poses, cli_flesh, cli_keys, cli_relight, cli_render, cli_bench, cli_sample, cli_demo, cli_view, cli_completion;

/* All commands, NULL-terminated. */
extern const cli_command *const cli_commands[];
/* --json, --quiet, --threads, --memory, --scratch, --seed, --overwrite; a NULL name ends it. */
extern const cli_option cli_common_options[];

/* Runs the program with these words (words[0] is "pelt"); returns the exit code. */
int cli_main(int count, const char *const *words);

/* Parses the words of a command, without its name. False after a message. */
bool cli_parse(cli_args *args, int count, const char *const *words);

/* -- Options ------------------------------------------------------------------------------------------------------ */

/* The value of an option, or NULL if not given. Switches give "". */
const char *cli_value(const cli_args *args, const char *name);
/* Numbers. Ranges are the library's: it checks values and names the option. Here words are only parsed. False after a
   message; `value` keeps its default if the option was not given. In the library's structs 0 stands for the default, so
   amounts may not be 0, and counts start at 1; indices start at 0. */
bool cli_number(const cli_args *args, const char *name, double *value);
bool cli_amount(const cli_args *args, const char *name, double *value);
bool cli_index(const cli_args *args, const char *name, uint32_t *value);
bool cli_count(const cli_args *args, const char *name, uint32_t *value);
cli_kind cli_kind_of(const cli_option *option);
const cli_command *cli_find_command(const char *name);
/* Splits "a,b,c"; "\\," is a comma within a word, "\\\\" a backslash. The caller frees the list and its words with
   cli_list_free. */
char **cli_list(const char *text, size_t *count);
void cli_list_free(char **list);

/* -- Messages ----------------------------------------------------------------------------------------------------- */

/* "pelt: sentence" on standard error; returns the exit code, so that `return cli_fail(...)` reads well. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_misuse(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_error(const pelt_error *error);
/* "pelt: warning: sentence", unless --quiet. */
void cli_warn(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints to standard output unless --json or --quiet. */
void cli_say(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The command to type next, without the program's name; nothing inside `pelt demo`, which has its own order. */
void cli_say_next(const cli_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern bool cli_in_tour;
/* From now on, the first message that this thread would print on standard error goes here, and later ones nowhere;
   NULL: back to normal. The caller owns the error, with code 0. */
void cli_listen(pelt_error *error);
/* Prints a text verbatim. */
void cli_put(const char *text);

/* -- JSON (json.c) -------------------------------------------------------------------------------------------------- */

/* Prints one JSON object if --json was given; takes the reference. Fails if any part of it is missing. */
int cli_print_json(const cli_args *args, json_t *object);
/* At the end of a program that was called with --json and failed: prints the messages as one object, {"error": {...}},
   unless an object has been printed. */
void cli_print_json_error(int code);
/* Keeps a message for that; notes are not failures. */
void cli_note_error(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
/* Called before any JSON is made: detects when it runs out of memory. */
void cli_watch_json(void);
/* A progress bar on standard error, if that is a terminal: the task, how much is done, and the time left. */
pelt_progress cli_progress(const cli_args *args);
/* A prefix for the bar from now on, "2 of 8, kernel: "; "": none. */
void cli_progress_about(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* -- Help (help.c) --------------------------------------------------------------------------------------------------- */

void cli_print_help(const cli_command *command);
void cli_print_overview(FILE *out);
void cli_print_man_page(void);
void cli_print_reference(void);

/* -- Parts of commands, which return the exit code ------------------------------------------------------------------ */

/* `pelt sample face`: writes the face rig's mesh and clips to an existing folder (sample_face.c). */
int sample_face(const cli_args *args, const char *folder, uint32_t points);
/* `pelt sample hand`: solves the poses of the hand's clips by finite elements, to an existing folder (sample_hand.c). */
int sample_simulated_hand(const cli_args *args, pelt_bundle *bundle, const char *folder);
/* A built-in character of a few thousand vertices, for `pelt view`: writes it to a new folder without printing, and says
   where its scene is. Any thread (cmd_sample.c). */
pelt_result cli_sample_files(const char *name, const char *folder, char *scene, size_t size, pelt_error *error);
/* The verbs of `pelt relight` (relight_verbs.c). */
int relight_train(const cli_args *args);
int relight_run(const cli_args *args);
int relight_measure(const cli_args *args);

/* -- Files (files.c) ------------------------------------------------------------------------------------------------- */

/* Checks that no output is one of the inputs, under any name, unless --overwrite is given, and that skin and bundle are
   not swapped. False after a message. */
bool cli_check_files(const cli_args *args);

/* Whether a cache was given as an input next to its character; says how caches are given. */
bool cli_caches_as_inputs(const cli_args *args);
/* Reads a bundle; NULL with an error, also if an output is the truth or the table of one of its clips, or would be
   taken for it. */
pelt_bundle *cli_bundle(const cli_args *args, const char *path, pelt_error *error);
/* The same for a file that a command writes into a folder, FOLDER/NAME. False after a message. */
bool cli_may_write(const cli_args *args, const char *path, const char *input);

/* Writes what a function made, which returned `made`, and frees it. */
pelt_result cli_write_made(pelt_result made, pelt_bytes *bytes, const char *path, pelt_error *error);

/* -- Shared by several commands ------------------------------------------------------------------------------------ */

/* Clips by name, "a,b=FILE,c", with their positions. False after a message. */
bool cli_clips(pelt_bundle *bundle, const char *names, pelt_need need, const pelt_clip ***clips, size_t *count);

/* All frames of some clips, or every n-th with --every. False after a message. */
bool cli_examples(const cli_args *args, pelt_bundle *bundle, const pelt_clip *const *clips, size_t clip_count,
                  pelt_examples *examples);

/* What the fit of a corrective found, in words: an object from pelt_corrective_json or from a skin's text. */
void cli_say_corrective(const cli_args *args, const json_t *figures);

extern const char *const cli_severities[]; /* by pelt_severity */
/* Prints the findings (warnings and worse on standard error); false if one is fatal and --force was not given. */
bool cli_check_findings(const cli_args *args, pelt_findings findings);
json_t *cli_findings_json(pelt_findings findings);

/* --level: the skin's level of detail. False after a message. */
bool cli_level(const cli_args *args, pelt_skin *skin);
#define CLI_LEVEL_OPTION                                                                                               \
    { "level", "X", "Level of detail; default 0, the whole skin; 1.5 is halfway between 1 and 2." }
/* What a skin's levels are like, in words. */
json_t *cli_say_levels(const cli_args *args, const pelt_skin *skin);

/* Warns of controls of a skin that the bundle's clips lack: they stay at rest. */
void cli_note_controls(const cli_args *args, const pelt_skin *skin, const pelt_bundle *bundle);

/* "rms 0.00336 (0.153%)  max 0.0587 (2.67%)  rel_err 1.000  roughness 1.00 (2461 points)  normals 9.41 deg  jump 1.00";
   without the jump if no frames are consecutive. */
void cli_measure_text(const pelt_measure *measure, char *text, size_t size);

/* Errors of every frame, as "frame_rms" and "frame_max". */
void cli_add_frames(json_t *object, const pelt_measure *measure);
/* A table of the worst regions. */
void cli_say_regions(const cli_args *args, const pelt_measure *measure);

/* --frame-errors and --vertex-errors: writes [frames][rms, max] and [vertices] of some measures of the same examples as
   .npy, stacked if there are several. False after a message. */
bool cli_write_errors(const cli_args *args, const pelt_measure *const *measures, size_t count, bool several);
#define CLI_ERROR_FILES                                                                                                \
    {"frame-errors", "FILE.npy", "Write the rms and maximum error of every frame.", CLI_OUTPUT}, {                     \
        "vertex-errors", "FILE.npy", "Write the rms error of every vertex over all frames.", CLI_OUTPUT                \
    }

/* Whether a skin is worse than the plain blend with the file's weights. */
bool cli_is_worse(const pelt_measure *measure);

#endif
