# neon.sh FORMS.bin: the run time on a 64-bit ARM processor gives what it gives here; FORMS.bin is what dump_forms wrote.
# Needs a cross compiler and an emulator, Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user. NEON_CC is
# the compiler.

skip() { echo "skipped: $1"; exit 77; }

ROOT=$(dirname "$0")/..
CC=${NEON_CC:-aarch64-linux-gnu-gcc}
test -f "$1" || { echo "usage: neon.sh FORMS.bin"; exit 2; }
command -v "$CC" >/dev/null || skip "there is no $CC"
command -v qemu-aarch64 >/dev/null || skip "there is no qemu-aarch64"
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
"$CC" -std=gnu17 -O3 -DNDEBUG -Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-missing-field-initializers \
    -fno-math-errno -ffp-contract=fast -I"$ROOT" -I"$ROOT/include" "$ROOT"/test/neon_forms.c "$ROOT"/runtime/*.c \
    -static -lm -o "$FOLDER/neon_forms" || exit 1
qemu-aarch64 "$FOLDER/neon_forms" "$1"
