# three_js.sh DUMP_BLEND: three.js must put the vertices of every character where pelt puts them, both in the file itself
# and in pelt's copy of it.

. "$(dirname "$0")/common.sh"

for file in "$DATA"/chars/*.glb "$DATA"/webxr_hand/*.glb "$DATA"/mhr_hand/*.glb; do
  "$DUMP" "$file" "$FOLDER/dump.bin" "$FOLDER/copy.glb" || STATUS=1
  node "$HERE/blend.mjs" "$file" "$FOLDER/dump.bin" || STATUS=1
  node "$HERE/blend.mjs" "$FOLDER/copy.glb" "$FOLDER/dump.bin" || STATUS=1
done
exit $STATUS
