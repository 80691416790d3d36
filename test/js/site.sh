# site.sh PELT: the docs as a site (scripts/site), in a browser: from a folder of a web server, and as files.

skip() { echo "skipped: $1"; exit 77; }

HERE=$(dirname "$0")
PELT=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
command -v node >/dev/null || skip "node is not here"
test -d "$HERE/../../site/node_modules/vitepress" || skip "run 'npm install --no-save' in site first"
test -d "$HERE/node_modules/playwright-core" || skip "run 'npm ci' in test/js first"
test -x "${CHROMIUM:-/usr/bin/chromium}" || skip "there is no ${CHROMIUM:-/usr/bin/chromium}"
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
PELT_PROGRAM=$PELT PELT_DATA= "$HERE/../../scripts/site" "$FOLDER/site" || exit 1
node --no-warnings "$HERE/site.mjs" "$PELT" "$FOLDER/site"
