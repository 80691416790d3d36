# export.sh DUMP_SKIN PELT: the Khronos validator must find nothing wrong with the output of `pelt export`, and three.js
# must move it like `pelt eval` does, including driven joints.

. "$(dirname "$0")/common.sh"
PELT=$2

# try NAME FIT-OPTIONS...: fits, exports with convex weights, validates, plays.
try() {
  name=$1; shift
  "$PELT" fit "$FOLDER/$name.glb" --train train --holdout 0 --quiet "$@" -o "$FOLDER/skin.pelt" &&
  "$PELT" export "$FOLDER/skin.pelt" "$FOLDER/$name.glb" --clip test --convex --train train --refitted "$FOLDER/convex.pelt" \
    -o "$FOLDER/$name.plain.glb" --quiet &&
  "$DUMP" "$FOLDER/convex.pelt" "$FOLDER/$name.glb" test "$FOLDER/dump.bin" &&
  node "$HERE/validate.mjs" "$FOLDER/$name.plain.glb" &&
  node "$HERE/blend.mjs" "$FOLDER/dump.bin" "$FOLDER/$name.plain.glb" || STATUS=1
}

# try_targets NAME FIT-OPTIONS...: a corrective as morph targets, with and without normals; its weights are convex already.
try_targets() {
  name=$1; shift
  "$PELT" fit "$FOLDER/$name.glb" --train train --holdout 0 --quiet "$@" -o "$FOLDER/skin.pelt" &&
  "$PELT" export "$FOLDER/skin.pelt" "$FOLDER/$name.glb" --clip test -o "$FOLDER/$name.plain.glb" --quiet &&
  "$DUMP" "$FOLDER/skin.pelt" "$FOLDER/$name.glb" test "$FOLDER/dump.bin" &&
  "$PELT" export "$FOLDER/skin.pelt" "$FOLDER/$name.glb" --clip test --no-normals -o "$FOLDER/$name.smaller.glb" --quiet &&
  node "$HERE/validate.mjs" "$FOLDER/$name.plain.glb" "$FOLDER/$name.smaller.glb" &&
  MORPHS=1 node "$HERE/blend.mjs" "$FOLDER/dump.bin" "$FOLDER/$name.plain.glb" || STATUS=1
}

# try_four NAME FIT-OPTIONS...: three.js reads four influences; what a skin with more becomes plays there as pelt reads it.
try_four() {
  name=$1; shift
  "$PELT" fit "$FOLDER/$name.glb" --train train --holdout 0 --quiet --influences 8 "$@" -o "$FOLDER/skin.pelt" &&
  "$PELT" export "$FOLDER/skin.pelt" "$FOLDER/$name.glb" --clip test --no-normals -o "$FOLDER/$name.four.glb" --json > "$FOLDER/four.json" &&
  grep -q '"refitted"' "$FOLDER/four.json" && grep -q '"beyond_four": 0' "$FOLDER/four.json" &&
  "$PELT" fit "$FOLDER/$name.four.glb" --method ssd --holdout 0 --quiet -o "$FOLDER/four.pelt" &&
  "$DUMP" "$FOLDER/four.pelt" "$FOLDER/$name.four.glb" test "$FOLDER/dump.bin" &&
  node "$HERE/validate.mjs" "$FOLDER/$name.four.glb" &&
  node "$HERE/blend.mjs" "$FOLDER/dump.bin" "$FOLDER/$name.four.glb" || STATUS=1
}

echo '[{"joints": "*", "turn": 1, "twist": 2, "bend": 1, "bulge": 2}]' > "$FOLDER/drive.json"
for name in arm elbow box; do
  "$PELT" sample $name --vertices 900 -o "$FOLDER" --quiet || STATUS=1
  try $name --blend fit
  try $name --method joints
  try $name --method joints --drive "$FOLDER/drive.json"
done
try_four arm --blend fit
try_four arm --method joints --drive "$FOLDER/drive.json"
for method in psd eigen; do try_targets arm --method $method; done
try_targets arm --method kernel --family kernel
try_targets elbow --method eigen --per-vertex 4
try_targets arm --method kernel --family kernel --blend fit
exit $STATUS
