# wasm.sh FORMS.bin PELT: the run time as WebAssembly gives what it gives natively, and its package can be installed.

. "$(dirname "$0")/web.sh"
PELT=$2 exec node --no-warnings "$HERE/wasm.mjs" "$FORMS"
