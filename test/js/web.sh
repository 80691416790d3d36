# Shared by tests of web/pelt-wasm: FORMS is the output of dump_forms, dist/ is built from this tree.

skip() { echo "skipped: $1"; exit 77; }

FORMS=$1
HERE=$(dirname "$0")
PACKAGE=$HERE/../../web/pelt-wasm
command -v node >/dev/null || skip "node is not here"
test -d "$PACKAGE/../node_modules/typescript" || skip "run 'npm ci' in web first"
node "$PACKAGE/scripts/build.mjs" || { test $? = 2 && skip "WebAssembly cannot be built here"; exit 1; }
