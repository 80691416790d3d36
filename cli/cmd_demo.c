/* cmd_demo.c: pelt demo: the whole tour on the built-in arm, by the commands a user would type. */

#include "cli/cli.h"
#include <string.h>

enum { MOST_WORDS = 24 };

/* Shows a command, with the program as called, so that it can be repeated, and runs it. Words are separated by single
   spaces; DIR stands for the folder. */
static int step(const cli_args *args, const char *folder, const char *why, const char *command) {
    char line[4096] = "";
    for (const char *at = command; *at && strlen(line) + strlen(folder) + 2 < sizeof line;) {
        if (!strncmp(at, "DIR", 3))
            strcat(line, folder), at += 3;
        else
            strncat(line, at++, 1);
    }
    cli_say(args, "\n# %s\n$ %s %s\n", why, args->program, line);
    fflush(stdout);
    const char *words[MOST_WORDS] = {args->program};
    int count = 1;
    for (char *word = strtok(line, " "); word && count < MOST_WORDS - 1; word = strtok(NULL, " "))
        words[count++] = word;
    if (args->json || args->quiet) words[count++] = "--quiet";
    return cli_main(count, words);
}

static int run(const cli_args *args) {
    const char *folder = cli_value(args, "output");
    if (!folder) folder = "demo-out";
    if (strchr(folder, ' '))
        return cli_misuse(args, "the name of the demo's folder must not contain a space: \"%s\"", folder);
    static const struct {
        const char *why, *command;
    } tour[] = {
        {"A built-in arm: examples to learn from (train) and a motion to be judged on (test).", "sample arm -o DIR"},
        {"What the files contain, and whether they match.", "info DIR/arm.glb"},
        {"Fit a skin.", "fit DIR/arm.glb --train train --method kernel -o DIR/arm.pelt"},
        {"Deform the test motion with it, as a point cache that any animation program reads.",
         "eval DIR/arm.pelt DIR/arm.glb --clip test -o DIR/arm.deformed.pc2"},
        {"Compare all methods, with pictures of where they fail.",
         "compare DIR/arm.glb --train train --test test --report DIR/report.html"},
        {"Draw the simplest method and the best one in one picture.",
         "compare DIR/arm.glb --train train --test test --methods ssd,kernel --show test:48 --picture "
         "DIR/arm.png --quiet"},
        {"How fast does the skin run here?", "bench DIR/arm.pelt --turns 15"},
        {"How accurate is it on motion that it has not seen?", "measure DIR/arm.pelt DIR/arm.glb --clip test"},
    };
    int code = CLI_DONE;
    cli_in_tour = true;
    for (size_t i = 0; i < sizeof tour / sizeof *tour && !code; i++)
        code = step(args, folder, tour[i].why, tour[i].command);
    cli_in_tour = false;
    if (code) return code;
    cli_say(args,
            "\nDone. %s/arm.pelt is the skin; rel_err above is how much of plain blending's error it leaves.\n"
            "%s/report.html compares all methods; open it in a browser.\n"
            "\nNext, pose the skin by hand beside the truth:\n  %s view %s/arm.glb %s/arm.pelt\n"
            "or start with your own character:\n  %s info CHARACTER.glb\n",
            folder, folder, args->program, folder, folder, args->program);
    return cli_print_json(args, pelt_json_pack("{folder:s, report:s}", folder, "report.html"));
}

const cli_command cli_demo = {
    "demo",
    "[-o DIR]",
    "Runs the whole tour on a built-in character.",
    NULL,
    run,
    0,
    0,
    {{"output", "DIR", "Where to put its files; default demo-out."}},
    .example = "pelt demo -o demo-out",
};
