# gltf_validator.sh DUMP_BLEND: the Khronos validator must find no error and no warning in what pelt writes.

. "$(dirname "$0")/common.sh"

for file in "$DATA"/*/*.glb; do
  "$DUMP" "$file" "$FOLDER/dump.bin" "$FOLDER/$(basename "$file")" || STATUS=1
done
node "$HERE/validate.mjs" "$FOLDER"/*.glb || STATUS=1
exit $STATUS
