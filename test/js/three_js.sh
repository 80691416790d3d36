# three_js.sh DUMP_BLEND: three.js must put the vertices of every character where pelt puts them, both in the file itself
# and in pelt's copy of it.

. "$(dirname "$0")/common.sh"

for file in "$SMALL"/*.gl* "$DATA"/chars/*.glb "$DATA"/webxr_hand/*.glb "$DATA"/mhr_hand/*.glb; do
  test -f "$file" || continue
  copy=$FOLDER/$(basename "$file").copy.glb
  "$DUMP" "$file" "$FOLDER/dump.bin" "$copy" || STATUS=1
  node "$HERE/blend.mjs" "$FOLDER/dump.bin" "$file" "$copy" || STATUS=1
done
exit $STATUS
