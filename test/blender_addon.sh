#!/bin/sh
# blender_addon.sh PELT LIBRARY: the add-on, as its zip installs it, in a Blender without a window; what it writes is measured by
# pelt, checked by the Khronos validator and played by three.js where these are here. Skips where Blender is not installed.
pelt=$1 library=$2
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v blender >/dev/null; then
  echo "skipped: blender is not here"
  exit 77
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
python3 "$here/../blender/make_zip.py" -o "$folder/pelt_addon.zip" --library "$library" >/dev/null || exit 1
# Settings, add-ons and caches of the user stay out of it.
export BLENDER_USER_CONFIG="$folder/config" BLENDER_USER_SCRIPTS="$folder/scripts" BLENDER_USER_DATAFILES="$folder/data"
export PELT_PROGRAM="$pelt" PYTHONDONTWRITEBYTECODE=1
unset PELT_LIBRARY
status=0
for test in test_install run; do
  blender -b --factory-startup --python-exit-code 1 -P "$here/blender/$test.py" -- "$folder" >"$folder/$test.txt" 2>&1 ||
    { echo "$test:"; grep -v "^Info:\|^$" "$folder/$test.txt" | tail -n 40; status=1; }
  grep "^measured:\|^Ran " "$folder/$test.txt"
done

# The command for farms, and one sentence where something is wrong.
cli=$folder/scripts/addons/pelt_addon/pelt_cli.py
if ! blender -b "$folder/body.blend" --python-exit-code 1 -P "$cli" -- --object limb --method ssd --frames 1:9 \
  --skin "$folder/farm.pelt" --examples "$folder/farm.glb" >"$folder/farm.txt" 2>&1; then
  tail -n 5 "$folder/farm.txt"; status=1
fi
"$pelt" measure "$folder/farm.pelt" "$folder/farm.glb" --clip frames --json >/dev/null || status=1
if blender -b "$folder/body.blend" --python-exit-code 1 -P "$cli" -- --object nobody >"$folder/farm.txt" 2>&1; then
  echo "an object that is not there is no error"; status=1
fi
grep -q "pelt: there is no object 'nobody'" "$folder/farm.txt" || { echo "no sentence:"; tail -n 3 "$folder/farm.txt"; status=1; }

# Without a library for this platform it says what to do.
PELT_LIBRARY=/nowhere/libpelt-fit.so blender -b --factory-startup --addons pelt_addon --python-exit-code 1 \
  --python-expr "import bpy; bpy.ops.pelt.fit()" >"$folder/none.txt" 2>&1 && { echo "a library that is missing is no error"; status=1; }
grep -q "pelt's library for .* is not in this add-on: build the zip on such a machine" "$folder/none.txt" ||
  { echo "no sentence about the library:"; tail -n 3 "$folder/none.txt"; status=1; }

if command -v node >/dev/null && [ -d "$here/js/node_modules/gltf-validator" ]; then
  (cd "$here/js" && node validate.mjs "$folder/textured.glb" "$folder/plays.glb") || status=1
else
  echo "not validated: node is not here, or 'npm ci' was not run in test/js"
fi
browser=
for program in "$CHROMIUM" chromium chromium-browser google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$program" 2>/dev/null)
done
if [ -n "$browser" ] && [ -d "$here/js/node_modules/playwright-core" ]; then
  CHROMIUM=$browser node "$here/js/plays.mjs" "$folder/plays.bin" "$folder/plays.glb" || status=1
else
  echo "not tried in three.js: no chromium is here, or 'npm ci' was not run in test/js"
fi
blender -b --factory-startup --python-exit-code 1 -P "$here/blender_plays.py" -- "$folder/plays.bin" "$folder/plays.glb" \
  >"$folder/plays.txt" 2>&1 || status=1
grep "diagonal" "$folder/plays.txt" || { tail -n 5 "$folder/plays.txt"; status=1; }
exit $status
