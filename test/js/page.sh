# page.sh PELT [SCRIPT]: `pelt view` in a browser, driven by a script of this folder, else page.mjs: every view and control of its
# page. PICTURES=DIR writes the pictures of the docs. A browser on a busy machine may be too slow for a step: what fails is said and
# tried once more, and what is broken fails twice.

skip() { echo "skipped: $1"; exit 77; }

HERE=$(dirname "$0")
PELT=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
command -v node >/dev/null || skip "node is not here"
test -d "$HERE/node_modules/playwright-core" || skip "run 'npm ci' in test/js first"
test -x "${CHROMIUM:-/usr/bin/chromium}" || skip "there is no ${CHROMIUM:-/usr/bin/chromium}"
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
# A pelt without its page, or with a placeholder, cannot be tested.
"$PELT" sample box -o "$FOLDER/box" --quiet || exit 1
"$PELT" view "$FOLDER/box/box.glb" --export "$FOLDER/site" --quiet 2>/dev/null && test -d "$FOLDER/site/assets" || skip "this pelt was built without its page"
for turn in first second; do
  mkdir "$FOLDER/$turn"
  node --no-warnings "$HERE/${2:-page.mjs}" "$PELT" "$FOLDER/$turn" && exit
  echo "the $turn time, ${2:-page.mjs} failed"
done
exit 1
