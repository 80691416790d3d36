/* cmd_completion.c: pelt completion: shell scripts, and the words they request. The scripts know nothing about pelt:
   they send the words of the line, the last one unfinished, and get its possible completions. So completions come from
   the commands' own tables, and clips from the file on the line. Names come from untrusted files: scripts must show
   them, and never run them. */

#include "cli/cli.h"
#include "io/io.h"
#include <string.h>

/* -- Scripts -------------------------------------------------------------------------------------------------------- */

/* Bash breaks words at =, and so must the answers; compgen -W would run code in them. */
static const char bash_script[] =
    "# bash completion for pelt; `pelt completion bash` prints it\n"
    "_pelt() {\n"
    "  local -a words=()\n"
    "  local i line word files=\n"
    "  for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "    if [[ ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]] && ((${#words[@]})); then\n"
    "      words[-1]+=${COMP_WORDS[i]}\n"
    "    else\n"
    "      words+=(\"${COMP_WORDS[i]}\")\n"
    "    fi\n"
    "  done\n"
    "  word=${words[-1]}\n"
    "  COMPREPLY=()\n"
    "  while IFS= read -r line; do\n"
    "    if [[ $line == $'\\t'* ]]; then files=yes; continue; fi\n"
    "    line=${line%%$'\\t'*}\n"
    "    [[ $word == *=* ]] && line=${line#\"${word%\"${word##*=}\"}\"}\n"
    "    if [[ $line == *[^a-zA-Z0-9_.,/=-]* ]]; then printf -v line %q \"$line\"; fi\n"
    "    COMPREPLY+=(\"$line\")\n"
    "  done < <(\"${COMP_WORDS[0]}\" completion words -- \"${words[@]}\" 2>/dev/null)\n"
    "  if [[ $files ]]; then\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- \"${word##*=}\")\n"
    "  elif [[ ${COMPREPLY[0]-} == *[,=] ]]; then\n"
    "    compopt -o nospace 2>/dev/null\n"
    "  fi\n"
    "}\n"
    "complete -F _pelt pelt\n";

static const char zsh_script[] =
    "#compdef pelt\n"
    "# zsh completion for pelt; `pelt completion zsh` prints it\n"
    "_pelt() {\n"
    "  local -a found texts\n"
    "  local line files=\n"
    "  while IFS= read -r line; do\n"
    "    if [[ $line == $'\\t'* ]]; then files=yes; continue; fi\n"
    "    found+=(\"${line%%$'\\t'*}\")\n"
    "    texts+=(\"${line/$'\\t'/  -- }\")\n"
    "  done < <(\"${words[1]}\" completion words -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)\n"
    "  (( ${#found} )) && compadd -l -d texts -a found\n"
    "  [[ -n $files ]] && _files\n"
    "}\n"
    "if [[ $funcstack[1] == _pelt ]]; then _pelt \"$@\"; else compdef _pelt pelt; fi\n";

static const char fish_script[] = "# fish completion for pelt; `pelt completion fish` prints it\n"
                                  "function __pelt_words\n"
                                  "    set -l words (commandline -opc) (commandline -ct)\n"
                                  "    for line in ($words[1] completion words -- $words[2..-1] 2>/dev/null)\n"
                                  "        if string match -q \\t'*' -- $line\n"
                                  "            __fish_complete_path (commandline -ct)\n"
                                  "        else\n"
                                  "            echo $line\n"
                                  "        end\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c pelt -f -a '(__pelt_words)'\n";

/* -- Words ---------------------------------------------------------------------------------------------------------- */

/* What is typed so far: "kernel,ps" has the prefix "kernel," before the word to complete. */
typedef struct typed {
    const char *before; /* printed before every answer */
    size_t before_length;
    const char *word;
} typed;

/* "answer<TAB>what it is", if it starts with the word. Names that would break a line are left out. */
static void offer(const typed *t, const char *answer, const char *help) {
    if (strncmp(answer, t->word, strlen(t->word)) || strpbrk(answer, "\n\r\t") || !pelt_is_utf8(answer)) return;
    printf("%.*s%s%s%s\n", (int)t->before_length, t->before, answer, help ? "\t" : "", help ? help : "");
}

/* A line that begins with a tab requests files. */
static void offer_files(void) { printf("\tfiles\n"); }

static void offer_choices(const typed *t, const char *choices) {
    char list[300];
    snprintf(list, sizeof list, "%s", choices);
    for (char *word = strtok(list, "|"); word; word = strtok(NULL, "|")) offer(t, word, NULL);
}

#define NAME(value, name, ...) name,
static const char *const methods[] = {PELT_METHODS(NAME) NULL};
#undef NAME

static void offer_methods(const typed *t) {
    for (int i = 0; methods[i]; i++)
        if (*methods[i]) offer(t, methods[i], NULL);
}

/* Clips of the first glTF file on the line; commas in their names are escaped. */
static void offer_clips(const typed *t, const cli_args *args) {
    pelt_error error;
    int i = 0;
    while (i < args->input_count && !pelt_is_gltf(args->inputs[i])) i++;
    pelt_bundle *bundle = i < args->input_count ? pelt_bundle_read(args->inputs[i], &error) : NULL;
    for (uint32_t c = 0; bundle && c < bundle->clip_count; c++) {
        char name[400];
        size_t length = 0;
        for (const char *at = bundle->clips[c]->name; *at && length + 2 < sizeof name; at++) {
            if (*at == ',' || *at == '\\') name[length++] = '\\';
            name[length++] = *at;
        }
        name[length] = 0;
        offer(t, name, NULL);
    }
    pelt_bundle_free(bundle);
}

static void offer_options(const typed *t, const cli_option *options) {
    for (int i = 0; options[i].name; i++) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s", options[i].name);
        offer(t, flag, options[i].help);
    }
}

static const cli_option *option_named(const cli_command *command, const char *name, size_t length) {
    if (length == 2 && !strncmp(name, "-o", 2)) name = "--output", length = 8;
    const cli_option *lists[] = {command->options, cli_common_options};
    for (int k = 0; k < 2; k++)
        for (int i = 0; lists[k][i].name; i++)
            if (length > 2 && strlen(lists[k][i].name) == length - 2 &&
                !strncmp(lists[k][i].name, name + 2, length - 2))
                return &lists[k][i];
    return NULL;
}

/* Completes `word`, the value of an option; `before` is kept. */
static void offer_value(const cli_option *option, const cli_args *line, const char *before, const char *word) {
    cli_kind kind = cli_kind_of(option);
    typed t = {before, (size_t)(word - before), word};
    const char *last = NULL;
    for (const char *at = word; strstr(option->value, ",...") && *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == ',')
            last = at;
    }
    if (last) t.before_length += (size_t)(last + 1 - word), t.word = last + 1;
    if (kind == CLI_CLIPS && strchr(t.word, '=')) return offer_files(); /* CLIP=FILE */
    if (kind == CLI_CLIPS) return offer_clips(&t, line);
    if (kind == CLI_METHODS) return offer_methods(&t);
    if (strchr(option->value, '|')) return offer_choices(&t, option->value);
    if (kind != CLI_WORD || strchr(option->value, '.')) offer_files();
}

static void offer_verb_words(const typed *t, const cli_command *command, const cli_args *line) {
    if (t->word[0] == '-') {
        offer_options(t, command->options), offer_options(t, cli_common_options);
        return;
    }
    if (!line->input_count && command->first_words) offer_choices(t, command->first_words);
    if (command->most_inputs && command != &cli_completion) offer_files();
}

/* words: the verb, its arguments, and finally the word to complete. */
static void offer_words(int count, const char *const *words) {
    const char *word = count ? words[count - 1] : "";
    typed t = {"", 0, word};
    const cli_command *command = count > 1 ? cli_find_command(words[0]) : NULL;
    if (count <= 1 || (count == 2 && !strcmp(words[0], "help"))) {
        for (int i = 0; cli_commands[i]; i++) offer(&t, cli_commands[i]->name, cli_commands[i]->summary);
        if (count <= 1) offer(&t, "help", "What the commands do.");
    }
    if (!command) return;
    cli_args line = {.command = command};
    const cli_option *before = NULL; /* waits for its value */
    for (int i = 1; i + 1 < count; i++) {
        bool value = before != NULL;
        before = value || words[i][0] != '-' ? NULL : option_named(command, words[i], strlen(words[i]));
        if (before && !before->value) before = NULL;
        if (!value && words[i][0] != '-' && line.input_count < CLI_MAX_INPUTS)
            line.inputs[line.input_count++] = words[i];
    }
    const char *equals = !strncmp(word, "--", 2) ? strchr(word, '=') : NULL;
    const cli_option *here = equals ? option_named(command, word, (size_t)(equals - word)) : NULL;
    if (before)
        offer_value(before, &line, word, word);
    else if (here && here->value)
        offer_value(here, &line, word, equals + 1);
    else
        offer_verb_words(&t, command, &line);
}

/* -- The command ----------------------------------------------------------------------------------------------------- */

static int run(const cli_args *args) {
    const char *shell = args->inputs[0];
    if (!strcmp(shell, "words")) return offer_words(args->input_count - 1, args->inputs + 1), CLI_DONE;
    if (args->input_count > 1) return cli_misuse(args, "\"%s\" is one input too many", args->inputs[1]);
    const char *script = !strcmp(shell, "bash") ? bash_script : !strcmp(shell, "zsh") ? zsh_script : fish_script;
    if (script == fish_script && strcmp(shell, "fish"))
        return cli_misuse(args, "\"%s\": expected bash, zsh or fish", shell);
    return fputs(script, stdout) < 0 ? CLI_FAILED : CLI_DONE;
}

const cli_command cli_completion = {
    "completion",
    "bash|zsh|fish",
    "Prints a shell script that completes verbs, methods, options and clips.",
    "`cmake --install` puts the scripts where the shells look for them. Otherwise, use `source <(pelt completion "
    "bash)` in ~/.bashrc, `source <(pelt completion zsh)` after compinit in ~/.zshrc, or `pelt completion fish > "
    "~/.config/fish/completions/pelt.fish`.",
    run,
    1,
    CLI_MAX_INPUTS,
    {{0}},
    .example = "pelt completion bash > pelt.bash",
    .first_words = "bash|zsh|fish",
};
