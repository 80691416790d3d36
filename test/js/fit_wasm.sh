# fit_wasm.sh PELT: the fitter as WebAssembly makes the skins that the program makes, and its package can be built.

HERE=$(dirname "$0")
skip() { echo "skipped: $1"; exit 77; }
command -v node >/dev/null || skip "node is not here"
test -d "$HERE/../../web/node_modules/typescript" || skip "run 'npm ci' in web first"
node "$HERE/../../web/pelt-fit-wasm/scripts/build.mjs"
case $? in 0) ;; 2) skip "the module cannot be built here" ;; *) exit 1 ;; esac
PELT=$1 exec node --no-warnings "$HERE/fit_wasm.mjs"
