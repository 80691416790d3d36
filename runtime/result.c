/* result.c: the messages of pelt_result, and the version. */

#include <pelt/pelt.h>

const char *pelt_result_text(pelt_result result) {
    static const char *const texts[] = {
#define TEXT(name, text) text,
        PELT_RESULTS(TEXT)
#undef TEXT
    };
    return (unsigned)result < PELT_RESULT_COUNT ? texts[result] : "unknown result";
}

const char *pelt_version(void) { return PELT_VERSION; }
