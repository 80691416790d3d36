/* options.c: words to options, and the help that says what they are. The tables of the commands are the only place
   where options are written down: parsing, `--help`, the man page and shell completion all come from them. */

#include "cli/cli.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_common_options[] = {
    {"json", NULL, "Print one JSON object on standard output instead of text."},
    {"quiet", NULL, "Print nothing but errors."},
    {"threads", "N", "Use N threads; default: as many as the machine has. The result is the same for any N."},
    {"seed", "N", "Seed of everything random; default 1."},
    {"help", NULL, "Say what the command does and which options it has."},
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

/* One "--name", "--name=value" or "-o"; returns how many words it took, 0 after a message. */
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
        cli_misuse(args, "there is no option --%s%s%s%s", plain, near ? "; is --" : "", near ? near : "",
                   near ? " meant?" : "");
        return 0;
    }
    if (!option_at(args->command, index)->value) {
        if (equals) cli_misuse(args, "--%s takes no value", plain);
        args->values[index] = "";
        return equals ? 0 : 1;
    }
    if (!equals && left < 2) {
        cli_misuse(args, "--%s needs a value: %s", plain, option_at(args->command, index)->value);
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

const char *cli_value(const cli_args *args, const char *name) {
    int index = find_option(args->command, name, strlen(name));
    return index < 0 ? NULL : args->values[index];
}

bool cli_number(const cli_args *args, const char *name, double low, double high, double *value) {
    const char *text = cli_value(args, name);
    if (!text) return true;
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (*text && !*end && !errno && number >= low && number <= high) {
        *value = number;
        return true;
    }
    cli_misuse(args, "--%s %s: a number from %g to %g is meant", name, text, low, high);
    return false;
}

bool cli_count(const cli_args *args, const char *name, uint32_t low, uint32_t high, uint32_t *value) {
    double number = *value;
    if (!cli_number(args, name, low, high, &number)) return false;
    if (number != floor(number)) {
        cli_misuse(args, "--%s %s: a whole number is meant", name, cli_value(args, name));
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

char **cli_list(const char *text, size_t *count) {
    size_t length = strlen(text), words = 1;
    for (size_t i = 0; i < length; i++) words += text[i] == ',';
    /* One block: the pointers, then a copy of the text. */
    char **list = calloc(1, (words + 1) * sizeof *list + length + 1), *copy;
    *count = 0;
    if (!list) return NULL;
    copy = memcpy(list + words + 1, text, length + 1);
    for (char *next = copy; next; copy = next) {
        next = strchr(copy, ',');
        if (next) *next++ = 0;
        if (*copy) list[(*count)++] = copy;
    }
    return list;
}

void cli_list_free(char **list) { free(list); }

/* -- Help --------------------------------------------------------------------------------------------------------- */

static void print_options(const cli_option *options) {
    for (int i = 0; options[i].name; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s--%s%s%s", strcmp(options[i].name, "output") ? "" : "-o, ", options[i].name,
                 options[i].value ? " " : "", options[i].value ? options[i].value : "");
        printf("  %-26s %s%s\n", left, strlen(left) > 26 ? "\n                             " : "", options[i].help);
    }
}

static void print_help(const cli_command *command) {
    printf("pelt %s %s\n\n%s\n", command->name, command->arguments, command->summary);
    if (command->details) printf("\n%s\n", command->details);
    printf("\nOptions:\n");
    print_options(command->options);
    printf("\nEverywhere:\n");
    print_options(cli_common_options);
}

static void print_overview(FILE *out) {
    fprintf(out, "pelt turns examples of how a character's skin should look into a skin that runs in real time.\n\n"
                 "usage: pelt VERB INPUT... [-o OUTPUT] [options]\n\n");
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "  %-9s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    fprintf(out, "\n`pelt VERB --help` says more; `pelt demo` shows it all on a built-in character.\n");
}

/* Roff wants backslashes and leading dots escaped; the texts have neither, but hyphens of options must stay hyphens. */
static void print_roff(const char *text) {
    for (; *text; text++) {
        if (*text == '-')
            printf("\\-");
        else if (*text == '\\')
            printf("\\e");
        else
            putchar(*text);
    }
}

static void print_man_options(const cli_option *options) {
    for (int i = 0; options[i].name; i++) {
        printf(".TP\n.B %s\\-\\-%s", strcmp(options[i].name, "output") ? "" : "\\-o, ", options[i].name);
        if (options[i].value) printf(" \\fI"), print_roff(options[i].value), printf("\\fR");
        printf("\n"), print_roff(options[i].help), printf("\n");
    }
}

static void print_man_page(void) {
    printf(".TH PELT 1 \"\" \"pelt " PELT_VERSION
           "\" \"User commands\"\n.SH NAME\npelt \\- skins for real-time characters, "
           "made from examples\n.SH SYNOPSIS\n.B pelt\n.I verb input...\n[\\-o \\fIoutput\\fR] [\\fIoptions\\fR]\n"
           ".SH DESCRIPTION\npelt turns examples of how a character's skin should look into a skin that runs in real "
           "time, and says how wrong it is on poses it has not seen.\n.SH OPTIONS\n");
    print_man_options(cli_common_options);
    for (size_t i = 0; cli_commands[i]; i++) {
        printf(".SH PELT %s\n.B pelt %s\n", cli_commands[i]->name, cli_commands[i]->name);
        print_roff(cli_commands[i]->arguments), printf("\n.PP\n");
        print_roff(cli_commands[i]->summary), printf("\n");
        if (cli_commands[i]->details) printf(".PP\n"), print_roff(cli_commands[i]->details), printf("\n");
        print_man_options(cli_commands[i]->options);
    }
    printf(".SH EXIT STATUS\n0 done, 1 the job failed, 2 misuse.\n");
}

static void print_bash_completion(void) {
    printf("_pelt() {\n  local word=${COMP_WORDS[COMP_CWORD]} verbs=\"help");
    for (size_t i = 0; cli_commands[i]; i++) printf(" %s", cli_commands[i]->name);
    printf("\" options=\"\"\n  COMPREPLY=()\n  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"$verbs\" -- "
           "\"$word\")); return; fi\n  case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        printf("    %s) options=\"", cli_commands[i]->name);
        for (int k = 0; cli_commands[i]->options[k].name; k++) printf("--%s ", cli_commands[i]->options[k].name);
        printf("\" ;;\n");
    }
    printf("  esac\n  options=\"$options");
    for (int k = 0; cli_common_options[k].name; k++) printf(" --%s", cli_common_options[k].name);
    printf("\"\n  case $word in -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;; esac\n}\n"
           "complete -o default -F _pelt pelt\n");
}

/* -- The program -------------------------------------------------------------------------------------------------- */

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; cli_commands[i]; i++)
        if (!strcmp(cli_commands[i]->name, name)) return cli_commands[i];
    return NULL;
}

static int run_command(const cli_command *command, int count, const char *const *words) {
    cli_args args = {.program = words[0], .command = command, .threads = 0, .seed = 1};
    if (!parse_words(&args, count - 2, words + 2)) return CLI_MISUSE;
    if (cli_value(&args, "help")) {
        print_help(command);
        return CLI_DONE;
    }
    args.json = cli_value(&args, "json") != NULL;
    args.quiet = cli_value(&args, "quiet") != NULL;
    if (!cli_count(&args, "threads", 1, 1024, &args.threads) || !cli_count(&args, "seed", 0, UINT32_MAX, &args.seed))
        return CLI_MISUSE;
    if (args.input_count < command->least_inputs)
        return cli_misuse(&args, "something is missing: pelt %s %s", command->name, command->arguments);
    if (args.input_count > command->most_inputs)
        return cli_misuse(&args, "\"%s\" is one input too many: pelt %s %s", args.inputs[command->most_inputs],
                          command->name, command->arguments);
    return command->run(&args);
}

int cli_main(int count, const char *const *words) {
    const char *verb = count > 1 ? words[1] : NULL;
    if (!verb) {
        print_overview(stderr);
        return CLI_MISUSE;
    }
    if (!strcmp(verb, "--version")) {
        printf("pelt %s\n", PELT_VERSION);
        return CLI_DONE;
    }
    if (!strcmp(verb, "help") || !strcmp(verb, "--help") || !strcmp(verb, "-h")) {
        const char *topic = count > 2 ? words[2] : "";
        const cli_command *about = find_command(topic);
        if (about)
            print_help(about);
        else if (!strcmp(topic, "--man"))
            print_man_page();
        else if (!strcmp(topic, "--bash"))
            print_bash_completion();
        else if (*topic)
            return cli_fail("there is no command \"%s\"; `pelt help` lists them", topic), CLI_MISUSE;
        else
            print_overview(stdout);
        return CLI_DONE;
    }
    const cli_command *command = find_command(verb);
    if (command) return run_command(command, count, words);
    cli_fail("there is no command \"%s\"; `pelt help` lists them", verb);
    return CLI_MISUSE;
}
