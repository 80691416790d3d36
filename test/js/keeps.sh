# keeps.sh DUMP_SKIN PELT PLAIN_SKIN: what pelt writes is the character's own file, with nothing lost. The file's own skin
# gives the file again, by a structural diff, for the Khronos validator and, where there is a browser, pixel by pixel;
# other skins change what they must, and three.js moves the result as pelt does.

. "$(dirname "$0")/common.sh"
PELT=$2
PLAIN=$3
test -d "$DATA/chars" || skip "the real characters are not here"

same() { node "$HERE/same_gltf.mjs" "$@" || STATUS=1; }
valid() { ERRORS_ONLY=1 node "$HERE/validate.mjs" "$@" || STATUS=1; }
run() { "$PELT" "$@" --quiet || { echo "failed: pelt $*"; STATUS=1; }; }

# The file's own skin.
set --
for file in "$DATA"/chars/*.glb; do
  name=$(basename "$file" .glb)
  "$PLAIN" "$file" "$FOLDER/$name.pelt" || STATUS=1
  run export "$FOLDER/$name.pelt" "$file" -o "$FOLDER/$name.glb"
  run export "$FOLDER/$name.pelt" "$file" --embed -o "$FOLDER/$name.gltf"
  run export "$FOLDER/$name.pelt" "$FOLDER/$name.gltf" -o "$FOLDER/$name.again.glb"
  same "$file" "$FOLDER/$name.glb"
  same --embed "$file" "$FOLDER/$name.gltf"
  same "$FOLDER/$name.gltf" "$FOLDER/$name.again.glb"
  valid "$FOLDER/$name.glb" "$FOLDER/$name.gltf"
  set -- "$@" "$file" "$FOLDER/$name.glb"
done

# Other weights, also on meshes that had none; new joints; targets, beside those of the file.
robot=$DATA/chars/RobotExpressive.glb man=$DATA/chars/CesiumMan.glb
run eval "$FOLDER/RobotExpressive.pelt" "$robot" --clip Yes -o "$FOLDER/yes.pc2"
run eval "$FOLDER/RobotExpressive.pelt" "$robot" --clip Yes -o "$FOLDER/played.glb"
run fit "$robot" --train "Yes=$FOLDER/yes.pc2" --blend distance --holdout 0 -o "$FOLDER/distance.pelt"
run export "$FOLDER/distance.pelt" "$robot" -o "$FOLDER/distance.glb"
run fit "$robot" --train "Yes=$FOLDER/yes.pc2" --blend distance --corrective kernel --family kernel --holdout 0 -o "$FOLDER/kernel.pelt"
run export "$FOLDER/kernel.pelt" "$robot" --clip Yes --embed -o "$FOLDER/kernel.glb"
run eval "$FOLDER/CesiumMan.pelt" "$man" --clip clip0 -o "$FOLDER/man.pc2"
run fit "$man" --train "clip0=$FOLDER/man.pc2" --method joints --holdout 0 -o "$FOLDER/joints.pelt"
run export "$FOLDER/joints.pelt" "$man" --clip clip0 --convex --train "clip0=$FOLDER/man.pc2" \
  --refitted "$FOLDER/convex.pelt" -o "$FOLDER/joints.glb"
PLAYED=Yes; export PLAYED
same --played --targets "$robot" "$FOLDER/played.glb"
same --weights "$robot" "$FOLDER/distance.glb"
same --weights --targets --leaves --embed "$robot" "$FOLDER/kernel.glb"
same --weights --joints --rest --targets "$man" "$FOLDER/joints.glb"
valid "$FOLDER/played.glb" "$FOLDER/distance.glb" "$FOLDER/kernel.glb" "$FOLDER/joints.glb"

plays() { "$DUMP" "$FOLDER/$1" "$2" "$3" "$FOLDER/dump.bin" && node "$HERE/blend.mjs" "$FOLDER/dump.bin" "$FOLDER/$4" || STATUS=1; }
plays distance.pelt "$robot" Yes distance.glb
plays distance.pelt "$robot" Dance distance.glb
plays convex.pelt "$man" clip0 joints.glb

# The embedded skin is the skin, also for the file that it is in.
run eval "$FOLDER/kernel.glb" "$FOLDER/kernel.glb" --clip Yes -o "$FOLDER/inside.pc2"
run eval "$FOLDER/kernel.pelt" "$robot" --clip Yes -o "$FOLDER/outside.pc2"
cmp "$FOLDER/inside.pc2" "$FOLDER/outside.pc2" || STATUS=1

if test -d "$HERE/node_modules/playwright-core" && test -x "${CHROMIUM:-/usr/bin/chromium}"; then
  node "$HERE/look_alike.mjs" "$@" || STATUS=1
else
  echo "not looked at: playwright-core or chromium is not here"
fi
exit $STATUS
