/* options.c: parses the command line. Options are defined only in the commands' tables: parsing, `--help`, the man page
   (help.c) and shell completion (cmd_completion.c) all use them. */

#include "cli/cli.h"
#include "rig/ranks.h"
#include "rig/spill.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cli_option cli_common_options[] = {
    {"json", NULL, "Print one JSON object on standard output instead of text."},
    {"quiet", NULL, "Print only errors."},
    {"threads", "N", "Number of threads; default: one per core. The result is the same for any N."},
    {"memory", "BYTES",
     "Most memory to use, such as 500M or 8G; what does not fit goes to disk, with the same result. Default: three "
     "quarters of the machine's memory."},
    {"scratch", "DIR", "Folder for data that does not fit into --memory; default: TMPDIR, or /var/tmp."},
    {"seed", "N", "Seed of the random numbers in learned features, key points, light and samples; default 1."},
    {"overwrite", NULL, "Allow the output to overwrite an input."},
    {"help", NULL, "Show what the command does and its options."},
    {0},
};

/* -- Parsing ------------------------------------------------------------------------------------------------------ */

static const cli_option *option_at(const cli_command *command, int index) {
    if (index < CLI_MAX_OPTIONS) return &command->options[index];
    return &cli_common_options[index - CLI_MAX_OPTIONS];
}

static int find_option(const cli_command *command, const char *name, size_t length) {
    for (int part = 0; part < 2; part++)
        for (int i = part * CLI_MAX_OPTIONS; option_at(command, i)->name; i++) {
            const char *known = option_at(command, i)->name;
            if (strlen(known) == length && !strncmp(known, name, length)) return i;
        }
    return -1;
}

/* Edits that turn one short word into another. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[64], n = strlen(b);
    if (n >= 63) return 63;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t swap = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < swap) swap = row[j] + 1;
            if (row[j - 1] + 1 < swap) swap = row[j - 1] + 1;
            row[j] = swap;
        }
    }
    return row[n];
}

static const char *nearest_option(const cli_command *command, const char *name) {
    const char *best = NULL;
    size_t least = 3;
    for (int part = 0; part < 2; part++)
        for (int i = part * CLI_MAX_OPTIONS; option_at(command, i)->name; i++) {
            size_t distance = edit_distance(name, option_at(command, i)->name);
            if (distance < least) least = distance, best = option_at(command, i)->name;
        }
    return best;
}

/* Parses one "--name", "--name=value" or "-o"; returns how many words it took, 0 after a message. */
static int parse_option(cli_args *args, const char *const *words, int left) {
    const char *word = words[0], *name = word + 2, *equals = strchr(word, '=');
    char plain[64];
    if (!strcmp(word, "-o")) name = "output", equals = NULL;
    if (!strcmp(word, "-h")) name = "help", equals = NULL;
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    snprintf(plain, sizeof plain, "%.*s", (int)(length < 60 ? length : 60), name);
    int index = find_option(args->command, name, length);
    if (index < 0) {
        const char *near = nearest_option(args->command, plain);
        cli_misuse(args, "there is no option --%s%s%s%s", plain, near ? "; did you mean --" : "", near ? near : "",
                   near ? "?" : "");
        return 0;
    }
    if (!option_at(args->command, index)->value) {
        if (equals) cli_misuse(args, "--%s takes no value", plain);
        args->values[index] = "";
        return equals ? 0 : 1;
    }
    const char *value = option_at(args->command, index)->value;
    if (!equals && left < 2) {
        cli_misuse(args, "--%s needs a value: %s", plain, value);
        return 0;
    }
    /* A repeated number overrides the first, as usual; with clips that would silently drop some. */
    bool list = strstr(value, ",...") != NULL, clips = cli_kind_of(option_at(args->command, index)) == CLI_CLIPS;
    if (args->values[index] && (list || clips)) {
        cli_misuse(args, "--%s was given twice; %s", plain,
                   list ? "separate several with commas" : "it takes one clip");
        return 0;
    }
    args->values[index] = equals ? equals + 1 : words[1];
    return equals ? 1 : 2;
}

static bool parse_words(cli_args *args, int count, const char *const *words) {
    bool only_inputs = false;
    for (int i = 0; i < count;) {
        const char *word = words[i];
        if (!only_inputs && !strcmp(word, "--")) {
            only_inputs = true, i++;
        } else if (!only_inputs && (!strncmp(word, "--", 2) || !strcmp(word, "-o") || !strcmp(word, "-h"))) {
            int taken = parse_option(args, words + i, count - i);
            if (!taken) return false;
            i += taken;
        } else if (!only_inputs && word[0] == '-' && word[1]) {
            cli_misuse(args, "there is no option %s", word);
            return false;
        } else if (args->input_count == CLI_MAX_INPUTS) {
            cli_misuse(args, "more than %d inputs", CLI_MAX_INPUTS);
            return false;
        } else {
            args->inputs[args->input_count++] = words[i++];
        }
    }
    return true;
}

cli_kind cli_kind_of(const cli_option *option) {
    if (option->kind != CLI_WORD || !option->value) return option->kind;
    if (!strcmp(option->name, "output")) return CLI_OUTPUT;
    return !strcmp(option->value, "CLIP") || !strcmp(option->value, "CLIP,...") ? CLI_CLIPS : CLI_WORD;
}

const char *cli_value(const cli_args *args, const char *name) {
    int index = find_option(args->command, name, strlen(name));
    return index < 0 ? NULL : args->values[index];
}

bool cli_number(const cli_args *args, const char *name, double *value) {
    const char *text = cli_value(args, name);
    if (!text) return true;
    char *end;
    double number = strtod(text, &end);
    if (*text && !*end && isfinite(number)) return *value = number, true;
    return cli_misuse(args, "--%s %s: expected a number", name, text), false;
}

bool cli_amount(const cli_args *args, const char *name, double *value) {
    if (!cli_number(args, name, value)) return false;
    if (!cli_value(args, name) || *value != 0) return true;
    return cli_misuse(args, "--%s: expected a number other than 0; leave it out for the default", name), false;
}

bool cli_index(const cli_args *args, const char *name, uint32_t *value) {
    double number = *value;
    if (!cli_number(args, name, &number)) return false;
    if (number == floor(number) && number >= 0 && number <= UINT32_MAX) return *value = (uint32_t)number, true;
    return cli_misuse(args, "--%s %s: expected an integer", name, cli_value(args, name)), false;
}

bool cli_count(const cli_args *args, const char *name, uint32_t *value) {
    if (!cli_index(args, name, value)) return false;
    if (!cli_value(args, name) || *value) return true;
    return cli_misuse(args, "--%s: expected a positive integer", name), false;
}

char **cli_list(const char *text, size_t *count) {
    size_t length = strlen(text), words = 1;
    for (size_t i = 0; i < length; i++) words += text[i] == ',';
    /* One block: the pointers, then a copy of the text. */
    char **list = calloc(1, (words + 1) * sizeof *list + length + 1);
    *count = 0;
    if (!list) return NULL;
    char *out = (char *)(list + words + 1), *word = out;
    for (const char *at = text;; at++) {
        bool escape = *at == '\\' && (at[1] == ',' || at[1] == '\\');
        if (escape) *out++ = *++at;
        if (escape || (*at && *at != ',')) {
            if (!escape) *out++ = *at;
            continue;
        }
        *out++ = 0;
        if (*word) list[(*count)++] = word;
        word = out;
        if (!*at) return list;
    }
}

void cli_list_free(char **list) { free(list); }

/* -- The program -------------------------------------------------------------------------------------------------- */

/* What a word in the place of a command was probably meant to be. */
static int no_such_command(const char *word) {
    const char *near = NULL;
    size_t least = 3, length = strlen(word);
    for (size_t i = 0; cli_commands[i]; i++) {
        size_t distance = length < 60 ? edit_distance(word, cli_commands[i]->name) : least;
        if (distance < least && distance < length) least = distance, near = cli_commands[i]->name;
    }
    if (near)
        cli_fail("there is no command \"%s\"; did you mean `pelt %s`?", word, near);
    else if (!access(word, F_OK))
        cli_fail("\"%s\" is a file, and a command must come first; try `pelt info %s`", word, word);
    else if (strpbrk(word, "./"))
        cli_fail("\"%s\" is neither a command nor an existing file; `pelt help` lists the commands", word);
    else
        cli_fail("there is no command \"%s\"; `pelt help` lists them", word);
    return CLI_MISUSE;
}

const cli_command *cli_find_command(const char *name) {
    for (size_t i = 0; cli_commands[i]; i++)
        if (!strcmp(cli_commands[i]->name, name)) return cli_commands[i];
    return NULL;
}

bool cli_parse(cli_args *args, int count, const char *const *words) {
    args->seed = 1;
    if (!parse_words(args, count, words)) return false;
    args->json = cli_value(args, "json") != NULL;
    args->quiet = cli_value(args, "quiet") != NULL;
    return cli_count(args, "threads", &args->threads) && cli_index(args, "seed", &args->seed);
}

/* "500M", "1.5G"; powers of 1024. */
static bool parse_bytes(const char *text, double *bytes) {
    static const char units[] = "kMGT";
    char *end;
    *bytes = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++) *bytes *= 1024;
    if (unit) end++;
    if (end > text && (*end == 'B' || *end == 'b')) end++;
    return end > text && !*end && *bytes > 0 && *bytes < 0x1p62;
}

/* --memory and --scratch. Without them a folder that is of no use is no reason to fail. */
static bool limit_memory(const cli_args *args) {
    const char *memory = cli_value(args, "memory"), *scratch = cli_value(args, "scratch");
    const char *folder = scratch ? scratch : getenv("TMPDIR");
    double bytes = 0.75 * (double)pelt_machine_memory();
    pelt_error error;
    if (memory && !parse_bytes(memory, &bytes))
        return cli_misuse(args, "--memory %s: expected a number of bytes, such as 500M or 8G", memory), false;
    if (!pelt_limit_memory((size_t)bytes, folder && *folder ? folder : "/var/tmp", &error)) return true;
    if (!memory && !scratch) return true;
    return cli_error(&error), false;
}

extern char *openblas_get_corename(void) __attribute__((weak));

/* What all ranks, and runs that go on with each other's work, must have in common: linear algebra rounds as the processor
   does. */
static void note_words(const cli_args *args) {
    static const char *const free_ones[] = {"json", "quiet", "threads", "memory", "scratch", "overwrite", "resume"};
    const char *core = openblas_get_corename ? openblas_get_corename() : "";
    char text[4400];
    snprintf(text, sizeof text, "%s %s %s", PELT_VERSION, args->command->name, core);
    pelt_rank_note(text, strlen(text));
    for (int i = 0; i < args->input_count; i++) {
        snprintf(text, sizeof text, "%d %s", i, args->inputs[i]);
        pelt_rank_note(text, strlen(text));
    }
    for (int part = 0; part < 2; part++)
        for (int i = part * CLI_MAX_OPTIONS; option_at(args->command, i)->name; i++) {
            const char *name = option_at(args->command, i)->name;
            size_t k = 0, count = sizeof free_ones / sizeof *free_ones;
            while (k < count && strcmp(name, free_ones[k])) k++;
            if (k < count || !args->values[i]) continue;
            snprintf(text, sizeof text, "--%s %s", name, args->values[i]);
            pelt_rank_note(text, strlen(text));
        }
}

/* Whether several ranks may run it: not what answers frame by frame, or writes folders and logs. */
static bool is_divided(const cli_args *args) {
    static const char *const divided[] = {"fit", "compare", "measure", "keys", "relight", "flesh"};
    size_t i = 0, count = sizeof divided / sizeof *divided;
    while (i < count && strcmp(args->command->name, divided[i])) i++;
    bool runs = args->command->first_words && args->input_count && !strcmp(args->inputs[0], "run");
    return i < count && !runs;
}

static int run_command(const cli_command *command, int count, const char *const *words) {
    cli_args args = {.program = words[0], .command = command};
    bool parsed = cli_parse(&args, count - 2, words + 2);
    if (parsed && cli_value(&args, "help")) {
        cli_print_help(command);
        return CLI_DONE;
    }
    if (!parsed) return CLI_MISUSE;
    if (args.input_count < command->least_inputs)
        return cli_misuse(&args, "an input is missing; usage: pelt %s %s", command->name, command->arguments);
    if (args.input_count > command->most_inputs && cli_caches_as_inputs(&args)) return CLI_MISUSE;
    if (args.input_count > command->most_inputs)
        return cli_misuse(&args, "\"%s\" is one input too many; usage: pelt %s %s", args.inputs[command->most_inputs],
                          command->name, command->arguments);
    if (pelt_rank_count() > 1 && !is_divided(&args))
        return cli_misuse(&args, "pelt %s%s cannot run on several ranks; run it without mpirun", command->name,
                          command->first_words ? " run" : "");
    note_words(&args);
    return cli_check_files(&args) && limit_memory(&args) ? command->run(&args) : CLI_MISUSE;
}

int cli_main(int count, const char *const *words) {
    const char *verb = count > 1 ? words[1] : NULL;
    if (!verb) {
        cli_print_overview(stderr);
        return CLI_MISUSE;
    }
    if (!strcmp(verb, "--version")) {
        printf("pelt %s\n", PELT_VERSION);
        return CLI_DONE;
    }
    if (!strcmp(verb, "help") || !strcmp(verb, "--help") || !strcmp(verb, "-h")) {
        const char *topic = count > 2 ? words[2] : "";
        const cli_command *about = cli_find_command(topic);
        if (about)
            cli_print_help(about);
        else if (!strcmp(topic, "--man"))
            cli_print_man_page();
        else if (!strcmp(topic, "--markdown"))
            cli_print_reference();
        else if (*topic)
            return no_such_command(topic);
        else
            cli_print_overview(stdout);
        return CLI_DONE;
    }
    const cli_command *command = cli_find_command(verb);
    return command ? run_command(command, count, words) : no_such_command(verb);
}
