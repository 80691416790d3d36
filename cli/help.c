/* help.c: the text of `--help` and the man page, from the commands' tables. Lines fit 100 columns. */

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

void cli_print_overview(FILE *out) {
    fprintf(out, "pelt turns examples of how a character's skin should look into a skin that runs in real time.\n\n"
                 "usage: pelt VERB INPUT... [-o OUTPUT] [options]\n\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(out, "  %-11s", cli_commands[i]->name);
        print_wrapped(out, cli_commands[i]->summary, 13, 13);
    }
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
    printf(".SH EXIT STATUS\n0 done, 1 the job failed, 2 misuse.\n");
}
