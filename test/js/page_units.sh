# page_units.sh: what the page of `pelt view` computes without a browser.

skip() { echo "skipped: $1"; exit 77; }

HERE=$(dirname "$0")
command -v node >/dev/null || skip "node is not here"
test -d "$HERE/../../web/node_modules/esbuild" || skip "run 'npm ci' in web first"
test -f "$HERE/../../web/pelt-wasm/src/layout.ts" || skip "run 'node scripts/build.mjs' in web/pelt-wasm first"
exec node --no-warnings "$HERE/page_units.mjs"
