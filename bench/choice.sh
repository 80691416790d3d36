#!/bin/sh
# choice.sh PELT CHARACTER: how good the method is that `pelt fit` chooses, docs/accuracy.md: a row of its table. Every
# method is fitted at every size to all training examples and measured on motion that none has seen; then, without a
# budget and with 800, 400, 200 and 100 bytes a vertex, the error of the chosen skin is divided by that of the best skin
# within the same budget. CHARACTER: arm, biceps, elbow, box; with PELT_DATA, the folder of the real characters, CesiumMan,
# mhr_body, mhr_hand, fem_hand, limbs_M (which has one clip: it trains on every second frame, and the others are unseen);
# CesiumMan:dual and mhr_body:mush have the truth of `pelt sample FILE.glb --truth dual` (or mush).
# The second line is the forecast of each choice, its error on held-out examples, over the error on unseen motion.
# THREADS: threads of every fit; default 1. Characters can run side by side. `choice.sh PELT head` prints the head.
PELT=${1:-build/pelt}
NAME=$2
THREADS=${THREADS:-1}
if [ "$NAME" = head ]; then
  echo "| chosen / best | no budget | 800 bytes a vertex | 400 | 200 | 100 |"
  echo "|---|---|---|---|---|---|"
  exit
fi
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
TEST=test
EVERY=
case $NAME in
  arm | biceps | elbow | box)
    BUNDLE=$FOLDER/$NAME.glb
    "$PELT" sample "$NAME" -o "$FOLDER" --quiet $([ "$NAME" = arm ] && echo --vertices 2972) || exit 1 ;;
  CesiumMan)
    BUNDLE=$FOLDER/$NAME.glb
    "$PELT" sample "$PELT_DATA/chars/$NAME.glb" -o "$FOLDER" --quiet || exit 1 ;;
  *:*)
    FILE=$(ls "$PELT_DATA"/*/"${NAME%:*}.glb") BUNDLE=$FOLDER/${NAME%:*}.glb
    "$PELT" sample "$FILE" --truth "${NAME#*:}" -o "$FOLDER" --quiet || exit 1 ;;
  mhr_body) BUNDLE=$PELT_DATA/mhr_body/mhr_body.glb TEST=walk,punch,jump ;;
  limbs_M) BUNDLE=$PELT_DATA/limbs_M/limbs_M.glb TEST=train EVERY="--every 2" ;;
  *) BUNDLE=$PELT_DATA/$NAME/$NAME.glb ;;
esac
[ -r "$BUNDLE" ] || { echo "choice.sh: there is no $BUNDLE: set PELT_DATA" >&2; exit 1; }

# The error on unseen frames: of a clip that trains on every second one, the odd ones.
error_of() { # SKIN
  "$PELT" measure "$1" "$BUNDLE" --clip $TEST --json 2>/dev/null | tr -d '\n ' | awk -v odd="$EVERY" '
    { if (odd != "" && match($0, /"frame_rms":\[[^]]*/)) {
        count = split(substr($0, RSTART + 13, RLENGTH - 13), rms, ",")
        for (i = 2; i <= count; i += 2) sum += rms[i] ^ 2
        print sqrt(sum / int(count / 2))
      } else if (match($0, /"rms":[^,]*/)) print substr($0, RSTART + 6, RLENGTH - 6) }'
}
grid() {
  echo "--method ssd"
  echo "--method ssd --blend fit"
  echo "--method joints"
  for size in "" "--poses 64" "--poses 32" "--poses 16" "--poses 8"; do
    echo "--method psd $size"
    echo "--method wpsd $size"
  done
  for size in 1 2 3 5; do echo "--method eigen --per-joint $size"; done
  for family in kernel arc features; do
    for size in "" "--per-vertex 7" "--per-vertex 5" "--per-vertex 3" "--per-vertex 2" "--per-vertex 1"; do
      echo "--method kernel --family $family $size"
    done
  done
}
grid | while read -r options; do
  "$PELT" fit "$BUNDLE" --train train $EVERY $options --holdout 0 --threads "$THREADS" --quiet -o "$FOLDER/one.pelt" 2>/dev/null ||
    continue
  vertices=$("$PELT" info "$FOLDER/one.pelt" | sed -n 's/^ *\([0-9]*\) vertices.*/\1/p')
  echo "$(error_of "$FOLDER/one.pelt") $(($(wc -c < "$FOLDER/one.pelt") / vertices)) $options"
done > "$FOLDER/all"
[ -z "$VERBOSE" ] || sort -n "$FOLDER/all" >&2

row="| \`$NAME\` |"
forecasts="$NAME: forecast / unseen:"
for budget in 1000000 800 400 200 100; do
  limit="--budget"; [ $budget = 1000000 ] && limit=
  if "$PELT" fit "$BUNDLE" --train train $EVERY ${limit:+"$limit" "$budget bytes/vertex"} --threads "$THREADS" --json \
    -o "$FOLDER/chosen.pelt" > "$FOLDER/json" 2>/dev/null; then
    error=$(error_of "$FOLDER/chosen.pelt")
    expected=$(tr -d '\n ' < "$FOLDER/json" | sed -n 's/.*"holdout":{[^}]*"rms":\([^,]*\),.*/\1/p')
    taken=$(tr -d '\n' < "$FOLDER/json" | sed -n 's/.*"why": *"\([^"]*\)".*/\1/p')
    row="$row $(awk -v budget=$budget -v error="$error" '
      $2 <= budget && (best == "" || $1 < best) { best = $1 }
      END { if (best == "") printf "–"; else printf "%.2f", (best > 0 ? error / best : 1) }' "$FOLDER/all") |"
    forecasts="$forecasts $(awk -v a="$expected" -v b="$error" 'BEGIN { printf "%.2f", (b > 0 ? a / b : 1) }')"
    [ -z "$VERBOSE" ] || echo "$budget: $taken" >&2
  else
    row="$row – |"
    forecasts="$forecasts –"
  fi
done
echo "$row"
echo "$forecasts" >&2
