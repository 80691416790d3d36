# gltf_validator.sh DUMP_BLEND: the Khronos validator must find no errors or warnings in files written by pelt.

. "$(dirname "$0")/common.sh"

for file in "$SMALL"/*.gl* "$DATA"/*/*.glb; do
  test -f "$file" || continue
  "$DUMP" "$file" "$FOLDER/dump.bin" "$FOLDER/$(basename "$file").copy.glb" || STATUS=1
done
node "$HERE/validate.mjs" "$FOLDER"/*.glb || STATUS=1
exit $STATUS
