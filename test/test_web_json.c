/* test_web_json.c: the stand-in for jansson of the WebAssembly build (web/pelt-fit-wasm/shim) against jansson itself: the same
   texts are refused, and the others come out as the same bytes. */

#include "test/test.h"
#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of the stand-in, which this program knows nothing of. */
static void *(*web_loadb)(const char *text, size_t size, size_t flags, void *error);
static char *(*web_dumps)(const void *value, size_t flags);
static void (*web_decref)(void *value);
static int (*web_equal)(const void *a, const void *b);

static void compare(const char *text, size_t size, size_t flags) {
    static const size_t forms[] = {JSON_COMPACT | JSON_REAL_PRECISION(9), JSON_COMPACT, JSON_INDENT(2), 0};
    json_error_t error;
    json_t *value = json_loadb(text, size, flags, &error);
    void *web = web_loadb(text, size, flags, NULL);
    if (!!value != !!web) print_error("%.*s: %s\n", (int)size, text, value ? "refused" : error.text);
    assert_int_equal(!!value, !!web);
    for (size_t i = 0; value && i < sizeof forms / sizeof *forms; i++) {
        char *wanted = json_dumps(value, forms[i]), *found = web_dumps(web, forms[i]);
        assert_string_equal(wanted, found);
        void *again = web_loadb(found, strlen(found), flags, NULL);
        assert_true(again && (web_equal(again, web) || forms[i] & JSON_REAL_PRECISION(9)));
        web_decref(again);
        free(wanted), free(found);
    }
    json_decref(value);
    web_decref(web);
}

static const char sample[] =
    "{\"asset\": {\"version\": \"2.0\"}, \"nodes\": [{\"name\": \"a\\u00e9\\ud83d\\ude00\\n\\t\\\"\", \"mesh\": 0, "
    "\"matrix\": [1, 0.5, -1e-7, 1.25E+10, 123456789012, 0.1, -0.0, 1e300]}, {}, []], \"t\": true, \"f\": false, "
    "\"n\": null, \"text\": \"\xc3\xa9 \\\\ \\/ \\b\\f\\r\", \"last\": [[[]], {\"k\": {}}]}";

static void texts_are_alike(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        sample,
        "",
        " ",
        "{}",
        "[]",
        "[1,]",
        "{\"a\":1,}",
        "[01]",
        "[-]",
        "[1.]",
        "[.5]",
        "[1e]",
        "[1e+]",
        "[+1]",
        "[1 2]",
        "{\"a\" 1}",
        "{a:1}",
        "[\"\\x\"]",
        "[\"\\u12\"]",
        "[\"\\ud800\"]",
        "[\"\\udc00\"]",
        "[\"\\u0000\"]",
        "[\"a\nb\"]",
        "[\"\xff\"]",
        "[\"\xc0\x80\"]",
        "[\"\xed\xa0\x80\"]",
        "[tru]",
        "[nul]",
        "[true]x",
        "1",
        "\"a\"",
        "[9223372036854775807]",
        "[9223372036854775808]",
        "[-9223372036854775808]",
        "[1e400]",
        "[1e-400]",
        "{\"a\":1,\"a\":2}",
        "[\"unfinished",
        "{\"a\":[1,2,{\"b\":",
        "[\"\\u001f\x7f\"]",
        "[1E5, 1e05, 1.0e-05, 100000.0]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        compare(texts[i], strlen(texts[i]), JSON_REJECT_DUPLICATES);
        compare(texts[i], strlen(texts[i]), 0);
    }
}

static void spoiled_texts_are_alike(void **unused) {
    (void)unused;
    static const char bytes[] = "{}[]\",:\\u0123eE+-.tfn \n\x80\xc3\xe9";
    uint32_t state = 7;
    char text[sizeof sample];
    for (int round = 0; round < 20000; round++) {
        memcpy(text, sample, sizeof sample);
        for (int i = 0; i < 1 + round % 3; i++) {
            state = state * 1664525u + 1013904223u;
            text[(state >> 8) % (sizeof sample - 1)] = bytes[(state >> 3) % (sizeof bytes - 1)];
        }
        size_t size = round % 5 ? sizeof sample - 1 : (state >> 9) % sizeof sample;
        compare(text, size, round % 2 ? JSON_REJECT_DUPLICATES : 0);
    }
}

/* Larger objects have an index, and deep texts a limit. */
static void large_and_deep_texts_are_alike(void **unused) {
    (void)unused;
    enum { KEYS = 3000 };
    char *text = malloc(40 * KEYS), *at = text;
    at += sprintf(at, "{");
    for (int i = 0; i < KEYS; i++) at += sprintf(at, "%s\"key%d\": %d", i ? "," : "", i, 7 * i);
    sprintf(at, "}");
    compare(text, strlen(text), JSON_REJECT_DUPLICATES);
    sprintf(at, ",\"key17\": 1}");
    compare(text, strlen(text), JSON_REJECT_DUPLICATES);
    compare(text, strlen(text), 0);
    for (size_t depth = 2040; depth < 2056; depth++) {
        memset(text, '[', depth), memset(text + depth, ']', depth);
        compare(text, 2 * depth, 0);
    }
    free(text);
}

int main(void) {
    void *web = dlopen(PELT_WEB_JSON, RTLD_NOW | RTLD_LOCAL);
    if (!web) return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void **)&web_loadb = dlsym(web, "json_loadb"), *(void **)&web_dumps = dlsym(web, "json_dumps");
    *(void **)&web_decref = dlsym(web, "json_decref"), *(void **)&web_equal = dlsym(web, "json_equal");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_alike),
        cmocka_unit_test(spoiled_texts_are_alike),
        cmocka_unit_test(large_and_deep_texts_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
