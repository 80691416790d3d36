# plays.sh DUMP_SKIN PELT: what `pelt export` writes of every method plays as the skin does, within 1e-4 of the diagonal, in
# three.js with WebGL2 in a browser (test/js/plays.mjs) and in Blender (test/blender_plays.py). Players that are not here are
# left out with a word; ./check installs neither, since they are large.

DUMP=$1 PELT=$2
HERE=$(dirname "$0")
DATA=${PELT_DATA:-$HERE/../../shared/data}
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
STATUS=0

BROWSER=
for program in "$CHROMIUM" chromium chromium-browser google-chrome; do
  [ -n "$BROWSER" ] || BROWSER=$(command -v "$program" 2>/dev/null)
done
export CHROMIUM="$BROWSER"
if ! command -v node >/dev/null || [ ! -d "$HERE/js/node_modules/playwright-core" ]; then
  echo "not tried in three.js: node is not here, or 'npm ci' was not run in test/js"; BROWSER=
elif [ -z "$BROWSER" ]; then
  echo "not tried in three.js: no chromium is here"
fi
BLENDER=$(command -v blender) || echo "not tried in Blender: it is not here"
[ -n "$BROWSER$BLENDER" ] || { echo "skipped: no player is here"; exit 77; }

# export_as NAME BUNDLE CLIP FIT-OPTIONS...: fits, exports, and dumps the skin's vertices.
PLAYED=
export_as() {
  name=$1 bundle=$2 clip=$3; shift 3
  "$PELT" fit "$bundle" --train train --holdout 0 --quiet "$@" -o "$FOLDER/$name.pelt" &&
  "$PELT" export "$FOLDER/$name.pelt" "$bundle" --clip "$clip" -o "$FOLDER/$name.glb" --quiet &&
  "$DUMP" "$FOLDER/$name.pelt" "$bundle" "$clip" "$FOLDER/$name.bin" || STATUS=1
  PLAYED="$PLAYED $FOLDER/$name.bin $FOLDER/$name.glb"
}

ARM=$FOLDER/arm.glb
"$PELT" sample arm --vertices 400 -o "$FOLDER" --quiet || exit 1
for method in ssd joints psd wpsd eigen; do export_as $method "$ARM" test --method $method; done
# To players learned features are the same as kernels: one family is enough, without a choice.
export_as kernel "$ARM" test --method kernel --family kernel
export_as both "$ARM" test --blend joints --corrective kernel --family kernel
HAND=$DATA/mhr_hand/mhr_hand.glb
if [ -f "$HAND" ]; then
  export_as hand_joints "$HAND" test --method joints
  export_as hand_kernel "$HAND" test --method kernel --family kernel
else
  echo "the real characters are not here: only the sample is tried"
fi

# No name has a space: mktemp's have none.
if [ -n "$BROWSER" ]; then node "$HERE/js/plays.mjs" $PLAYED || STATUS=1; fi
if [ -n "$BLENDER" ]; then
  "$BLENDER" -b --factory-startup --python-exit-code 1 -P "$HERE/blender_plays.py" -- $PLAYED >"$FOLDER/log" 2>&1 || STATUS=1
  grep "diagonal\|vertices\|Error" "$FOLDER/log" || tail -n 5 "$FOLDER/log"
fi
exit $STATUS
