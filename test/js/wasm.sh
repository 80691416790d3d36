# wasm.sh FORMS.bin PELT: the run time as WebAssembly matches the native one, and its package can be installed.

. "$(dirname "$0")/web.sh"
PELT=$2 exec node --no-warnings "$HERE/wasm.mjs" "$FORMS"
