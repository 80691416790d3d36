# What both tests begin with: DUMP is dump_blend, FOLDER a folder for files, DATA the real characters.

skip() { echo "skipped: $1"; exit 77; }

DUMP=$1
HERE=$(dirname "$0")
DATA=${PELT_DATA:-$HERE/../../../shared/data}
command -v node >/dev/null || skip "node is not here"
test -d "$HERE/node_modules" || skip "run 'npm ci' in test/js first"
test -d "$DATA/chars" || skip "the real characters are not here"
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
STATUS=0
