# gpu.sh FORMS.bin: skins in WebGPU and WebGL 2, in a browser, match the run time.

. "$(dirname "$0")/web.sh"
test -d "$HERE/node_modules/playwright-core" || skip "run 'npm ci' in test/js first"
test -x "${CHROMIUM:-/usr/bin/chromium}" || skip "there is no ${CHROMIUM:-/usr/bin/chromium}"
exec node --no-warnings "$HERE/gpu.mjs" "$FORMS"
