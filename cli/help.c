/* help.c: the text of `--help`, the man page and docs/reference.md, from the commands' tables. Lines fit 100 columns. */

#include "cli/cli.h"
#include <string.h>

enum { COLUMNS = 100, INDENT = 29 };

/* -- Help ---------------------------------------------------------------------------------------------------------- */

/* Prints words starting at `column`, and further lines at `indent`. Two newlines end a paragraph. */
static void print_wrapped(FILE *out, const char *text, size_t column, size_t indent) {
    bool first = true;
    while (*text) {
        size_t space = strspn(text, " \n"), length = strcspn(text + space, " \n");
        bool paragraph = space > 1 && text[0] == '\n' && text[1] == '\n';
        if (!length) break;
        if (paragraph) {
            fprintf(out, "\n\n%*s", (int)indent, ""), column = indent;
        } else if (!first && column + 1 + length > COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, ""), column = indent;
        } else if (!first) {
            fputc(' ', out), column++;
        }
        fprintf(out, "%.*s", (int)length, text + space);
        column += length, text += space + length, first = false;
    }
    fputc('\n', out);
}

static void print_options(const cli_option *options) {
    for (int i = 0; options[i].name; i++) {
        char left[96];
        if (options[i].group) printf("%s%s:\n", i ? "\n" : "", options[i].group);
        int length = snprintf(left, sizeof left, "%s--%s%s%s", strcmp(options[i].name, "output") ? "" : "-o, ",
                              options[i].name, options[i].value ? " " : "", options[i].value ? options[i].value : "");
        printf("  %-*s", INDENT - 2, left);
        if (length >= INDENT - 2) printf("\n%*s", INDENT, "");
        print_wrapped(stdout, options[i].help, INDENT, INDENT);
    }
}

void cli_print_help(const cli_command *command) {
    size_t indent = 6 + strlen(command->name);
    printf("pelt %s ", command->name);
    print_wrapped(stdout, command->arguments, indent, indent);
    printf("\n"), print_wrapped(stdout, command->summary, 0, 0);
    if (command->details) printf("\n"), print_wrapped(stdout, command->details, 0, 0);
    if (command->example) printf("\nExample:\n  "), print_wrapped(stdout, command->example, 2, 6);
    if (command->options[0].name) printf(command->options[0].group ? "\n" : "\nOptions:\n");
    print_options(command->options);
    printf("\nEverywhere:\n");
    print_options(cli_common_options);
}

/* What people want, and the verbs for it. */
static const struct {
    const char *want, *verbs[7];
} wants[] = {
    {"Get examples", {"sample", "poses", "flesh", "info"}},
    {"Make a skin", {"fit", "compare", "levels", "carry"}},
    {"See how good it is", {"measure", "view", "render", "bench"}},
    {"Use it", {"eval", "export"}},
    {"Slow rigs and light", {"keys", "relight"}},
    {"The program itself", {"demo", "completion"}},
};
enum { WANTS = sizeof wants / sizeof *wants };

static bool is_wanted(const char *verb) {
    for (size_t i = 0; i < WANTS; i++)
        for (size_t k = 0; wants[i].verbs[k]; k++)
            if (!strcmp(wants[i].verbs[k], verb)) return true;
    return false;
}

static void print_summary(FILE *out, const cli_command *command) {
    fprintf(out, "  %-11s", command->name);
    print_wrapped(out, command->summary, 13, 13);
}

void cli_print_overview(FILE *out) {
    fprintf(out, "pelt turns examples of how a character's skin should look into a skin that runs in real time.\n\n"
                 "usage: pelt VERB INPUT... [-o OUTPUT] [options]\n");
    for (size_t i = 0; i < WANTS; i++) {
        fprintf(out, "\n%s:\n", wants[i].want);
        for (size_t k = 0; wants[i].verbs[k]; k++) print_summary(out, cli_find_command(wants[i].verbs[k]));
    }
    for (size_t i = 0; cli_commands[i]; i++) /* a new verb that nobody has put in its place yet */
        if (!is_wanted(cli_commands[i]->name)) print_summary(out, cli_commands[i]);
    fprintf(out, "\nSee `pelt VERB --help` for details; `pelt demo` shows everything on a built-in character.\n");
}

/* -- The man page -------------------------------------------------------------------------------------------------- */

/* Roff needs backslashes and leading dots escaped; the texts have neither, but hyphens of options must stay hyphens. */
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
        if (options[i].group) printf(".SS "), print_roff(options[i].group), printf("\n");
        printf(".TP\n.B %s\\-\\-%s", strcmp(options[i].name, "output") ? "" : "\\-o, ", options[i].name);
        if (options[i].value) printf(" \\fI"), print_roff(options[i].value), printf("\\fR");
        printf("\n"), print_roff(options[i].help), printf("\n");
    }
}

void cli_print_man_page(void) {
    printf(".TH PELT 1 \"\" \"pelt " PELT_VERSION
           "\" \"User commands\"\n.SH NAME\npelt \\- skins for real-time characters, "
           "made from examples\n.SH SYNOPSIS\n.B pelt\n.I verb input...\n[\\-o \\fIoutput\\fR] [\\fIoptions\\fR]\n"
           ".SH DESCRIPTION\npelt turns examples of how a character's skin should look into a skin that runs in real "
           "time, and measures its error on poses it has not seen.\n.SH OPTIONS\n");
    print_man_options(cli_common_options);
    for (size_t i = 0; cli_commands[i]; i++) {
        printf(".SH PELT %s\n.B pelt %s\n", cli_commands[i]->name, cli_commands[i]->name);
        print_roff(cli_commands[i]->arguments), printf("\n.PP\n");
        print_roff(cli_commands[i]->summary), printf("\n");
        if (cli_commands[i]->details) printf(".PP\n"), print_roff(cli_commands[i]->details), printf("\n");
        print_man_options(cli_commands[i]->options);
        if (cli_commands[i]->example) printf(".PP\nExample: "), print_roff(cli_commands[i]->example), printf("\n");
    }
    printf(".SH EXIT STATUS\n0 success, 1 the job failed, 2 the command line was wrong.\n");
}

/* -- docs/reference.md --------------------------------------------------------------------------------------------- */

/* Words outside of backticks must not become Markdown or HTML, and a bar must not end a cell of a table. */
static void print_markdown(const char *text, bool cell) {
    bool code = false;
    for (; *text; text++) {
        code ^= *text == '`';
        if ((*text == '|' && cell) || (!code && strchr("*_[]{}", *text)))
            printf("\\%c", *text);
        else if (*text == '<' && !code)
            printf("&lt;");
        else
            putchar(*text);
    }
}

static void print_markdown_options(const cli_option *options, const char *group) {
    for (int i = 0; options[i].name; i++) {
        if (options[i].group) group = options[i].group;
        if (!i || options[i].group) printf("\n| %s | |\n|---|---|\n", group);
        printf("| `%s--%s", strcmp(options[i].name, "output") ? "" : "-o, ", options[i].name);
        if (options[i].value) putchar(' '), print_markdown(options[i].value, true);
        printf("` | "), print_markdown(options[i].help, true), printf(" |\n");
    }
}

static void print_markdown_command(const cli_command *command) {
    printf("\n### pelt %s\n\n", command->name);
    print_markdown(command->summary, false);
    printf("\n\n    pelt %s %s\n", command->name, command->arguments);
    if (command->details) printf("\n"), print_markdown(command->details, false), printf("\n");
    if (command->example) printf("\nExample:\n\n    %s\n", command->example);
    print_markdown_options(command->options, "Option");
}

void cli_print_reference(void) {
    printf("# Reference\n\nEvery command and option of pelt " PELT_VERSION
           ". `pelt help --markdown` writes this page from the tables that the program itself uses; `pelt VERB --help` "
           "prints the part about VERB.\n\n| you want to | |\n|---|---|\n");
    for (size_t i = 0; i < WANTS; i++) {
        printf("| %s |", wants[i].want);
        for (size_t k = 0; wants[i].verbs[k]; k++) printf(" [%s](#pelt-%s)", wants[i].verbs[k], wants[i].verbs[k]);
        printf(" |\n");
    }
    printf("\nExit status: 0 success, 1 the job failed, 2 the command line was wrong.\n\n## Everywhere\n");
    print_markdown_options(cli_common_options, "Option");
    for (size_t i = 0; i < WANTS; i++) {
        printf("\n## %s\n", wants[i].want);
        for (size_t k = 0; wants[i].verbs[k]; k++) print_markdown_command(cli_find_command(wants[i].verbs[k]));
    }
    for (size_t k = 0; cli_commands[k]; k++) /* a new verb that nobody has put in its place yet */
        if (!is_wanted(cli_commands[k]->name)) print_markdown_command(cli_commands[k]);
}
