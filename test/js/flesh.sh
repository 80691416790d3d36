# flesh.sh DUMP_SKIN PELT: the way of docs/howto-flesh.md from a plain character to glTF, with few poses and a coarse lattice: the
# Khronos validator must find no error in the file, and three.js must move it like `pelt eval` does.

. "$(dirname "$0")/common.sh"
PELT=$2
MAN=$DATA/chars/CesiumMan.glb
test -r "$MAN" || skip "CesiumMan.glb is not here"
"$PELT" poses "$MAN" --count 4 --quiet -o "$FOLDER/poses.glb" &&
"$PELT" flesh "$MAN" --poses "$FOLDER/poses.glb" --resolution 1500 --quiet -o "$FOLDER/flesh.glb" &&
"$PELT" fit "$FOLDER/flesh.glb" --train flesh --method psd --holdout 0 --quiet -o "$FOLDER/man.pelt" &&
"$PELT" export "$FOLDER/man.pelt" "$MAN" --clip clip0 --quiet -o "$FOLDER/man.glb" &&
"$DUMP" "$FOLDER/man.pelt" "$MAN" clip0 "$FOLDER/dump.bin" &&
ERRORS_ONLY=1 node "$HERE/validate.mjs" "$FOLDER/man.glb" &&
MORPHS=1 node "$HERE/blend.mjs" "$FOLDER/dump.bin" "$FOLDER/man.glb" || STATUS=1
exit $STATUS
