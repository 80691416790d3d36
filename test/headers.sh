#!/bin/sh
# headers.sh SOURCE COMPILER: the public headers compile on their own, without warnings, as C and C++, on 64 and 32
# bits; the example of the README compiles; and the run time cross-compiles for other machines: SSE on 32 bits, NEON, WebAssembly.
set -eu
source=$1 compiler=$2 folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
strict="-Wall -Wextra -Werror -pedantic -fsyntax-only -I$source/include"
used=

try() { # HEADER FLAGS...: a file that includes nothing but the header, twice
    header=$1
    shift
    "$@" $strict "$folder/$header.$suffix" || { echo "$header.h does not compile with: $*" >&2; exit 1; }
}

for path in "$source"/include/pelt/*.h; do
    header=$(basename "$path" .h)
    for suffix in c cpp; do printf '#include <pelt/%s.h>\n#include <pelt/%s.h>\nint main(void);\n' "$header" "$header" > "$folder/$header.$suffix"; done
    suffix=c
    try "$header" "$compiler" -std=c17
    case $header in pelt | keys) try "$header" "$compiler" -std=c99 ;; esac
    suffix=cpp
    if command -v c++ > /dev/null; then try "$header" c++ -std=c++17; fi
done

# The README's example, as the body of a function.
{
    printf '#include <pelt/pelt.h>\n#include <stdlib.h>\nvoid example(const void *bytes, size_t size);\nvoid example(const void *bytes, size_t size) {\n'
    awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside && !/^#include/' "$source/README.md"
    printf '}\n'
} > "$folder/readme.c"
grep -q pelt_deform "$folder/readme.c"
"$compiler" -std=c17 $strict "$folder/readme.c" || { echo "the example of README.md does not compile" >&2; exit 1; }

# Other machines, by clang, which targets them all. Their C libraries are missing; the run time needs next to nothing.
if ! command -v clang > /dev/null; then
    echo "headers compile; other machines skipped: clang is not here"
    exit 0
fi
mkdir "$folder/libc"
cat > "$folder/libc/string.h" << 'END'
#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
int strcmp(const char *, const char *);
END
cat > "$folder/libc/math.h" << 'END'
#define INFINITY __builtin_inff()
#define isfinite(x) __builtin_isfinite(x)
float sqrtf(float), fabsf(float), floorf(float), fminf(float, float), fmaxf(float, float), sinf(float), cosf(float);
float atan2f(float, float), copysignf(float, float);
double fabs(double), fmax(double, double);
END
for machine in "i386-linux -msse2" "aarch64-linux" "armv7-linux -mfloat-abi=hard -mfpu=neon" "wasm32 -msimd128"; do
    set -- $machine
    target=$1
    shift
    clang --target="$target" -fsyntax-only -x c - < /dev/null 2> /dev/null || continue
    foreign="clang --target=$target $* -ffreestanding -nostdlibinc -isystem $folder/libc"
    suffix=c
    for path in "$source"/include/pelt/*.h; do try "$(basename "$path" .h)" $foreign -std=c17; done
    for file in "$source"/runtime/*.c; do
        $foreign -std=gnu17 -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-missing-field-initializers -fsyntax-only \
            -I"$source" -I"$source/include" "$file" || { echo "$file does not compile for $target" >&2; exit 1; }
    done
    used="$used $target"
done
echo "headers and run time compile, also for:$used"
