# Shared by both tests: DUMP is dump_blend, FOLDER a folder for files, SMALL the seeds of the fuzzer, which are valid
# files with something odd in each, DATA the real characters (may be absent).

skip() { echo "skipped: $1"; exit 77; }

DUMP=$1
HERE=$(dirname "$0")
SMALL=$HERE/../../fuzz/corpus/gltf
DATA=${PELT_DATA:-$HERE/../../../shared/data}
command -v node >/dev/null || skip "node is not here"
test -d "$HERE/node_modules" || skip "run 'npm ci' in test/js first"
test -d "$DATA" || echo "the real characters are not here: only small files are tried"
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
STATUS=0
