/* mutate: plants small bugs in a C file, to see whether the tests notice.

     mutate list FILE...        all mutants of the files, one per line (fields below, separated by tabs)
     mutate apply FILE LINE K   prints the file with the K-th mutant of a line; lines keep their numbers
     mutate shuffle SEED        reads a list and prints it in random order, with one mutant of each site

   A site is anything that can go wrong: a sign, a comparison, a bound, a constant, a statement. It may have several
   mutants (n becomes n + 1 or n - 1); since shuffle takes one of each, a file is weighted by its number of sites.

   Fields of a list: file, line, K, site, first line of the statement, first line of the function (both 0 outside
   functions), kind, "before -> after", the line itself.

   The file is tokenised, not parsed, relying on the code's formatting: a `*` with spaces around it multiplies, two
   adjacent names are a declaration. Misreadings do not compile, and the driver takes another mutant. */

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { NAME, NUMBER, TEXT, SIGN } token_type;
typedef enum { FILE_LEVEL, BLOCK, RECORD, VALUES } scope; /* of a token: what kind of brace encloses it */

typedef struct token {
    token_type type;
    size_t start, end;
    int line;
    scope scope;
    int match;              /* of a bracket: its counterpart */
    int statement;          /* its first token */
    int function;           /* first token of the function's braces, -1 outside */
    bool declares, skipped; /* the statement is a declaration; nothing here may be changed */
} token;

static char *text;
static size_t size;
static token *tokens;
static int count;

static void die(const char *what) {
    fprintf(stderr, "mutate: %s\n", what);
    exit(2);
}

/* -- Tokens -------------------------------------------------------------------------------------------------------- */

static void read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die(path);
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    text = calloc(size + 8, 1);
    tokens = calloc(size + 8, sizeof *tokens);
    if (!text || !tokens || fread(text, 1, size, file) != size) die(path);
    fclose(file);
}

static bool script; /* TypeScript: # is part of a name, ` ends a text, / may begin an expression */

static bool begins_name(char c) { return isalpha((unsigned char)c) || c == '_' || (script && (c == '#' || c == '$')); }

/* A regular expression, where no value stands before that could be divided. */
static bool begins_expression(size_t i) {
    if (!script || text[i] != '/' || (count && tokens[count - 1].type != SIGN)) return false;
    return count == 0 || !strchr(")]}", text[tokens[count - 1].start]);
}

static size_t token_end(size_t i) {
    enum { OF_SCRIPTS = 7 }; /* the first are TypeScript's alone */
    static const char *const longer[] = {"===", "!==", ">>>", "=>", "??", "?.", "**", "<<=", ">>=", "...",
                                         "->",  "++",  "--",  "<<", ">>", "<=", ">=", "==",  "!=",  "&&",
                                         "||",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=",  "^="};
    if (begins_name(text[i])) {
        i++;
        while (isalnum((unsigned char)text[i]) || text[i] == '_') i++;
        return i;
    }
    if (isdigit((unsigned char)text[i]) || (text[i] == '.' && isdigit((unsigned char)text[i + 1]))) {
        bool hex = text[i] == '0' && (text[i + 1] | 32) == 'x';
        while (isalnum((unsigned char)text[i]) || text[i] == '.' ||
               (!hex && (text[i] == '+' || text[i] == '-') && (text[i - 1] | 32) == 'e'))
            i++;
        return i;
    }
    if (text[i] == '"' || text[i] == '\'' || (script && text[i] == '`') || begins_expression(i)) {
        char quote = text[i++];
        while (i < size && text[i] != quote) i += text[i] == '\\' ? 2 : 1;
        return i + 1;
    }
    for (size_t k = script ? 0 : OF_SCRIPTS; k < sizeof longer / sizeof *longer; k++)
        if (!strncmp(text + i, longer[k], strlen(longer[k]))) return i + strlen(longer[k]);
    return i + 1;
}

static void tokenize(void) {
    int line = 1;
    bool fresh = true; /* only spaces on this line so far */
    count = 0;
    for (size_t i = 0; i < size;) {
        char c = text[i];
        if (c == '\n') {
            line++, i++, fresh = true;
        } else if (isspace((unsigned char)c)) {
            i++;
        } else if (c == '#' && fresh && !script) {
            for (; i < size && !(text[i] == '\n' && text[i - 1] != '\\'); i++) line += text[i] == '\n';
        } else if (c == '/' && text[i + 1] == '/') {
            while (i < size && text[i] != '\n') i++;
        } else if (c == '/' && text[i + 1] == '*') {
            for (i += 2; i < size && !(text[i] == '*' && text[i + 1] == '/'); i++) line += text[i] == '\n';
            i += 2;
        } else {
            size_t end = token_end(i);
            token_type type =
                begins_name(c)                                                               ? NAME
                : c == '"' || c == '\'' || (script && c == '`') || (c == '/' && end > i + 2) ? TEXT
                : end > i + 1 || !ispunct((unsigned char)c)
                    ? isdigit((unsigned char)c) || (c == '.' && end > i + 1 && c != text[i + 1]) ? NUMBER : SIGN
                    : SIGN;
            tokens[count++] = (token){.type = type, .start = i, .end = end, .line = line, .match = -1};
            i = end, fresh = false;
        }
    }
}

static bool is(int i, const char *word) {
    return i >= 0 && i < count && strlen(word) == tokens[i].end - tokens[i].start &&
           !strncmp(text + tokens[i].start, word, strlen(word));
}

static bool is_one_of(int i, const char *words) {
    char list[400];
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, " "); word; word = strtok(NULL, " "))
        if (is(i, word)) return true;
    return false;
}

static bool name_at(int i) { return i >= 0 && i < count && tokens[i].type == NAME; }

static bool space_before(int i) { return tokens[i].start == 0 || isspace((unsigned char)text[tokens[i].start - 1]); }
static bool space_after(int i) { return isspace((unsigned char)text[tokens[i].end]); }

static bool ends_value(int i) {
    return i >= 0 && (tokens[i].type == NUMBER || is(i, ")") || is(i, "]") ||
                      (tokens[i].type == NAME && !is_one_of(i, "return case else do sizeof")));
}

/* -- Scopes and statements ----------------------------------------------------------------------------------------- */

static void match_brackets(void) {
    int *open = calloc((size_t)count + 1, sizeof *open), depth = 0;
    for (int i = 0; i < count; i++) {
        if (is_one_of(i, "( [ {")) open[depth++] = i;
        if (is_one_of(i, ") ] }") && depth > 0) {
            tokens[i].match = open[--depth];
            tokens[tokens[i].match].match = i;
        }
    }
    free(open);
}

static scope scope_of_brace(int brace, scope around) {
    int before = brace - 1;
    if (around == VALUES || is_one_of(before, "= ,") || is(before, "(")) return VALUES;
    if (is_one_of(before, "enum struct union") || (name_at(before) && is_one_of(before - 1, "enum struct union")))
        return is(before, "enum") || is(before - 1, "enum") ? VALUES : RECORD;
    if (!is(before, ")")) return BLOCK;
    if (around == FILE_LEVEL) return BLOCK;
    int opener = tokens[before].match; /* of `if (..) {`, or of `(type){..}` */
    return name_at(opener - 1) && !is_one_of(opener - 1, "return sizeof") ? BLOCK : VALUES;
}

/* True if token i starts a statement of a block. */
static bool begins_statement(int i) {
    int before = i - 1;
    if (is(before, ";") || is(before, "else") || is(before, "do")) return true;
    if (is(before, "{")) return tokens[i].scope == BLOCK;
    if (is(before, "}")) return tokens[before].match < 0 || tokens[tokens[before].match + 1].scope != VALUES;
    if (is(before, ":")) return is_one_of(before - 2, "case { } ;") || is(before - 1, "default");
    if (!is(before, ")")) return false;
    int opener = tokens[before].match;
    return is_one_of(opener - 1, "if for while switch") ||
           (name_at(opener - 1) && strstr(text, "foreach") && tokens[opener - 1].end - tokens[opener - 1].start > 7 &&
            !strncmp(text + tokens[opener - 1].end - 7, "foreach", 7));
}

/* A statement is a declaration if it starts with two names, or with a name and a star that touches the next. */
static bool declares(int i) {
    if (!name_at(i) || is_one_of(i, "return goto if for while switch else do break continue case default"))
        return false;
    if (is_one_of(i, "const static struct enum union unsigned typedef _Thread_local")) return true;
    return name_at(i + 1) || (is(i + 1, "*") && space_before(i + 1) && !space_after(i + 1));
}

static void find_scopes(void) {
    int *around = calloc((size_t)count + 1, sizeof *around), depth = 0, function = -1, parentheses = 0;
    int statement = 0;
    for (int i = 0; i < count; i++) {
        scope here = depth ? (scope)around[depth - 1] : FILE_LEVEL;
        if (is(i, "}") && depth > 0) depth--;
        tokens[i].scope = here;
        tokens[i].function = function;
        if (is(i, "}") && depth == 0) function = -1;
        if (parentheses == 0 && here != VALUES &&
            (here == FILE_LEVEL ? i == 0 || is_one_of(i - 1, "; }") : begins_statement(i)))
            statement = i;
        tokens[i].statement = statement;
        tokens[i].declares = declares(statement);
        if (is_one_of(i, "( [")) parentheses++;
        if (is_one_of(i, ") ]")) parentheses--;
        if (is(i, "{")) {
            scope inside = scope_of_brace(i, here);
            around[depth++] = (int)inside;
            if (inside == BLOCK && depth == 1) function = i;
        }
    }
    for (int i = 0; i < count; i++)
        if (is_one_of(i, "static_assert _Static_assert __attribute__ _Alignas") && is(i + 1, "("))
            for (int k = i; k <= tokens[i + 1].match; k++) tokens[k].skipped = true;
    free(around);
}

/* -- Mutants ------------------------------------------------------------------------------------------------------- */

static const char *path;
static int sites, lines_seen, numbers_on_line, apply_line, apply_number;

/* Text from a to b on one line, without double spaces. */
static void print_flat(size_t a, size_t b, size_t most) {
    size_t printed = 0;
    for (size_t i = a; i < b; i++) {
        char c = isspace((unsigned char)text[i]) ? ' ' : text[i];
        if (c == ' ' && i > a && isspace((unsigned char)text[i - 1])) continue;
        if (printed++ == most) {
            printf("..");
            return;
        }
        putchar(c);
    }
}

static size_t line_start(size_t i) {
    while (i > 0 && text[i - 1] != '\n') i--;
    while (text[i] == ' ') i++;
    return i;
}

static size_t line_end(size_t i) {
    while (i < size && text[i] != '\n') i++;
    return i;
}

/* Some context before and after on the line, at token boundaries. */
static size_t back_from(size_t i) {
    size_t a = line_start(i), far = i > a + 24 ? i - 24 : a;
    while (far > a && far < i && text[far - 1] != ' ') far++;
    return far < a ? i : far;
}

static size_t on_from(size_t i) {
    size_t b = line_end(i), far = b > i + 24 ? i + 24 : b;
    while (far < b && text[far] != ' ') far++;
    return far;
}

/* One mutant: replaces the text from `start` to `end` by the format. `first` marks the first of a site. */
static void mutant(int at, bool first, const char *kind, size_t start, size_t end, const char *format, ...) {
    char *replacement = NULL;
    size_t length = 0;
    FILE *writer = open_memstream(&replacement, &length);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(writer, format, arguments);
    va_end(arguments);
    fclose(writer);
    const token *t = &tokens[at];
    if (t->line != lines_seen) lines_seen = t->line, numbers_on_line = 0;
    numbers_on_line++;
    sites += first;
    if (apply_line == t->line && apply_number == numbers_on_line) {
        fwrite(text, 1, start, stdout);
        fputs(replacement, stdout);
        bool keeps = strchr(replacement, '\n') != NULL;
        for (size_t i = start; i < end && !keeps; i++)
            if (text[i] == '\n') putchar('\n');
        fwrite(text + end, 1, size - end, stdout);
        exit(0);
    }
    if (!apply_line) {
        bool inside = t->function >= 0;
        printf("%s\t%d\t%d\t%d\t%d\t%d\t%s\t", path, t->line, numbers_on_line, sites,
               inside ? tokens[t->statement].line : 0, inside ? tokens[tokens[t->function].statement].line : 0, kind);
        size_t a = back_from(start), b = end - start > 24 ? end : on_from(end);
        print_flat(a, b, 90);
        printf(" -> ");
        if (!strcmp(kind, "dropped"))
            printf("nothing");
        else {
            print_flat(a, start, 90);
            for (size_t i = 0; i < length && i < 90; i++)
                if (i == 0 || !isspace((unsigned char)replacement[i]) || !isspace((unsigned char)replacement[i - 1]))
                    putchar(replacement[i] == '\n' ? ' ' : replacement[i]);
            if (length >= 90) printf("..");
            print_flat(end, b, 90);
        }
        putchar('\t');
        print_flat(line_start(t->start), line_end(t->start), 400);
        putchar('\n');
    }
    free(replacement);
}

/* -- Kinds --------------------------------------------------------------------------------------------------------- */

/* Signs, comparisons and logic that are replaced; and the second mutant, if any. */
static void swap_sign(int i) {
    static const struct {
        const char *from, *to, * or, *kind;
    } swaps[] = {
        {"+", "-", NULL, "sign"},         {"-", "+", NULL, "sign"},           {"*", "/", NULL, "sign"},
        {"/", "*", NULL, "sign"},         {"+=", "-=", NULL, "sign"},         {"-=", "+=", NULL, "sign"},
        {"*=", "/=", NULL, "sign"},       {"/=", "*=", NULL, "sign"},         {"<<", ">>", NULL, "sign"},
        {">>", "<<", NULL, "sign"},       {"<", "<=", ">", "comparison"},     {"<=", "<", ">=", "comparison"},
        {">", ">=", "<", "comparison"},   {">=", ">", "<=", "comparison"},    {"==", "!=", NULL, "comparison"},
        {"!=", "==", NULL, "comparison"}, {"===", "!==", NULL, "comparison"}, {"!==", "===", NULL, "comparison"},
        {"&&", "||", NULL, "logic"},      {"||", "&&", NULL, "logic"},        {"|", "&", NULL, "logic"},
        {"|=", "&=", NULL, "logic"},      {"&=", "|=", NULL, "logic"},
    };
    bool unary = is(i, "-") && !ends_value(i - 1);
    if (!unary && !(space_before(i) && space_after(i))) return;
    for (size_t k = 0; k < sizeof swaps / sizeof *swaps; k++) {
        if (!is(i, swaps[k].from)) continue;
        mutant(i, true, swaps[k].kind, tokens[i].start, tokens[i].end, "%s", swaps[k].to);
        if (swaps[k].or) mutant(i, false, swaps[k].kind, tokens[i].start, tokens[i].end, "%s", swaps[k].or);
    }
}

static void swap_smallest_and_largest(int i) {
    static const char *const names[][2] = {{"fmin", "fmax"}, {"fminf", "fmaxf"}, {"MIN", "MAX"}, {"min", "max"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int side = 0; side < 2; side++)
            if (is(i, names[k][side]) && is(i + 1, "("))
                mutant(i, true, "minmax", tokens[i].start, tokens[i].end, "%s", names[k][1 - side]);
}

/* The bracket that encloses token i, -1 for none within its statement. */
static int bracket_around(int i) {
    for (int k = i - 1; k >= 0 && k >= tokens[i].statement; k--) {
        if (is_one_of(k, ") ] }") && tokens[k].match >= 0)
            k = tokens[k].match;
        else if (is_one_of(k, "( [ {"))
            return k;
    }
    return -1;
}

/* `[` of a declaration: double a[3]. */
static bool declares_array(int bracket) {
    if (tokens[bracket].scope == FILE_LEVEL) return !is(bracket - 1, "]") || declares_array(tokens[bracket - 1].match);
    if (!tokens[bracket].declares || bracket_around(bracket) > 0) return false;
    if (is(bracket - 1, "]")) return declares_array(tokens[bracket - 1].match);
    return is(bracket - 2, ",") || (name_at(bracket - 2) && !is(bracket - 2, "return")) ||
           (is(bracket - 2, "*") && !space_after(bracket - 2));
}

/* True inside the arguments of an allocation: allocating too much is not an observable bug. */
static bool is_amount(int i) {
    for (int around = bracket_around(i); around > 0; around = bracket_around(around))
        if (is_one_of(around - 1, "PELT_NEW pelt_alloc malloc calloc realloc aligned_alloc")) return true;
    return false;
}

static void change_number(int i) {
    const char *number = text + tokens[i].start;
    int length = (int)(tokens[i].end - tokens[i].start), around = bracket_around(i);
    size_t a = tokens[i].start, b = tokens[i].end;
    bool index = around >= 0 && is(around, "["), amount = is_amount(i);
    if (is(i - 1, "case") || (is(i - 1, "{") && is(i + 1, "}")) || (index && declares_array(around))) return;
    double value = strtod(number, NULL);
    if (value == 0 || value == 1) {
        if (amount) return;
        const char *suffix = text[b - 1] == 'u' ? "u" : "";
        mutant(i, true, "constant", a, b, "%d%s", value == 0, suffix);
        if (value == 1) mutant(i, false, "constant", a, b, "2%s", suffix);
        return;
    }
    bool whole =
        !strncmp(number, "0x", 2) || (!memchr(number, '.', (size_t)length) && !memchr(number, 'e', (size_t)length));
    bool bound = index || amount || is_one_of(i - 1, "< > <= >= == != + -") || is_one_of(i + 1, "< > <= >=");
    if (whole && bound) mutant(i, true, "bound", a, b, "(%.*s - 1)", length, number);
    if (whole && bound && !amount) mutant(i, false, "bound", a, b, "(%.*s + 1)", length, number);
    if (index || amount) return;
    mutant(i, !(whole && bound), "constant", a, b, "(2 * %.*s)", length, number);
    mutant(i, false, "constant", a, b, "(-%.*s)", length, number);
    mutant(i, false, "constant", a, b, "(1000 * %.*s)", length, number);
}

/* for (..; i < n; ..): one iteration more or fewer, for each comparison of the condition. */
static void change_loop(int i) {
    if (!is(i, "for") || !is(i + 1, "(")) return;
    int end = tokens[i + 1].match, semicolons = 0;
    bool compares = false;
    for (int k = i + 2; k < end; k++) {
        if (is_one_of(k, "( [ {") && tokens[k].match > 0) k = tokens[k].match;
        if (is_one_of(k, "< > <= >=") && semicolons == 1) compares = true;
        if (is_one_of(k, "; && ||") && compares) {
            size_t at = tokens[k - 1].end;
            mutant(i, true, "bound", at, at, " + 1");
            mutant(i, false, "bound", at, at, " - 1");
            compares = false;
        }
        semicolons += is(k, ";");
    }
}

static void negate_condition(int i) {
    if (!is_one_of(i, "if while") || !is(i + 1, "(") || tokens[i + 1].match < 0) return;
    size_t a = tokens[i + 1].end, b = tokens[tokens[i + 1].match].start;
    mutant(i, true, "negated", a, b, "!(%.*s)", (int)(b - a), text + a);
}

/* A statement that computes, stores or calls. Leaks are left to the sanitizers. */
static void drop_statement(int i) {
    if (tokens[i].statement != i || tokens[i].declares || tokens[i].scope != BLOCK ||
        !(name_at(i) || is(i, "*") || is(i, "(")))
        return;
    if (is_one_of(
            i, "return goto if for while switch else do break continue case default free fclose json_decref assert") ||
        is(i + 1, ":"))
        return;
    if (is(i, "(") && is(i + 1, "void")) return;
    if (is(i + 1, "(") && tokens[i].end - tokens[i].start > 5 && !strncmp(text + tokens[i].end - 5, "_free", 5)) return;
    int end = i;
    while (end < count && !is(end, ";"))
        end = is_one_of(end, "( [ {") && tokens[end].match > 0 ? tokens[end].match + 1 : end + 1;
    if (end < count && end > i + 1) mutant(i, true, "dropped", tokens[i].start, tokens[end].end, ";");
}

static void mutants_of(const char *file) {
    path = file;
    script = strlen(file) > 3 && !strcmp(file + strlen(file) - 3, ".ts");
    sites = lines_seen = 0;
    read_file(file);
    tokenize();
    match_brackets();
    find_scopes();
    for (int i = 0; i < count; i++) {
        const token *t = &tokens[i];
        bool values = t->function < 0 && t->scope == VALUES; /* tables and enums outside functions */
        bool constant = t->function < 0 && t->scope == FILE_LEVEL && is(i - 1, "=");
        if (t->skipped || t->scope == RECORD || (t->function < 0 && !values && !constant)) continue;
        if (t->type == NUMBER) change_number(i);
        if (t->function < 0) continue;
        drop_statement(i);
        if (t->type == SIGN) swap_sign(i);
        if (t->type != NAME) continue;
        swap_smallest_and_largest(i);
        change_loop(i);
        negate_condition(i);
    }
    free(text);
    free(tokens);
}

/* -- Random order -------------------------------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t random_below(uint64_t n) { /* splitmix64 */
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % n;
}

static void shuffle(void) {
    char **chosen = NULL, *line = NULL, last[4200] = "";
    size_t room = 0, n = 0, of_site = 0;
    while (getline(&line, &room, stdin) > 0) {
        char file[4096] = "", site[4200];
        int number = 0;
        sscanf(line, "%4095[^\t]\t%*d\t%*d\t%d", file, &number);
        snprintf(site, sizeof site, "%s %d", file, number);
        if (strcmp(site, last)) {
            if ((n & (n - 1)) == 0) chosen = realloc(chosen, (n ? 2 * n : 1) * sizeof *chosen);
            if (!chosen) die("not enough memory");
            chosen[n++] = strdup(line);
            of_site = 1;
            strcpy(last, site);
        } else if (random_below(++of_site) == 0) {
            free(chosen[n - 1]);
            chosen[n - 1] = strdup(line);
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = i + random_below(n - i);
        char *other = chosen[i];
        fputs(chosen[k], stdout);
        chosen[k] = other;
    }
}

int main(int argc, char **argv) {
    if (argc >= 3 && !strcmp(argv[1], "list")) {
        for (int i = 2; i < argc; i++) mutants_of(argv[i]);
    } else if (argc == 5 && !strcmp(argv[1], "apply")) {
        apply_line = atoi(argv[3]), apply_number = atoi(argv[4]);
        mutants_of(argv[2]);
        die("no such mutant");
    } else if (argc == 3 && !strcmp(argv[1], "shuffle")) {
        state = strtoull(argv[2], NULL, 10);
        shuffle();
    } else {
        die("usage: mutate list FILE... | apply FILE LINE K | shuffle SEED");
    }
}
