# tangents.sh DUMP_TANGENTS: pelt's tangents for a mesh must be those of MikkTSpace itself.

. "$(dirname "$0")/common.sh"
test -d "$HERE/node_modules/mikktspace" || skip "run 'npm ci' in test/js again: mikktspace is not here"

"$DUMP" "$HERE/../../fuzz/corpus/gltf/textured.gltf" "$FOLDER/small.bin" && set -- "$FOLDER/small.bin" || STATUS=1
for file in "$DATA"/chars/*.glb "$DATA"/webxr_hand/*.glb; do
  test -f "$file" || continue
  dump=$FOLDER/$(basename "$file").bin
  "$DUMP" "$file" "$dump" && set -- "$@" "$dump" || STATUS=1
done
node "$HERE/tangents.mjs" "$@" || STATUS=1
exit $STATUS
