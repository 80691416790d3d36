#!/bin/sh
# accuracy.sh [PELT]: the tables of all methods on all characters in docs/accuracy.md: error, look and size, as
# Markdown. PELT_DATA is the folder of the real characters; if it is not set, or lacks one, that column is omitted.
# limbs_M has one clip: its column is the hold-out error of `pelt fit`.
PELT=${1:-build/pelt}
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
METHODS="ssd ssd/distance ssd/fit joints psd wpsd eigen kernel"

# A character's file has a line for each method: its name, rel_err, roughness, normals, jump, largest error, bytes per vertex.

compare() { # NAME BUNDLE TEST
  [ -r "$2" ] || return 0
  "$PELT" compare "$2" --train train --test "$3" | tee "$FOLDER/$1.log" | awk '
    table && NF > 12 { print $1 ($1 == "ssd" && $2 != "file" ? "/" $2 : ""), $10, $12, $11, $13, $9, $14 }
    $1 == "method" { table = 1 }' > "$FOLDER/$1"
  sed -n 's/^rough .* on \([0-9]*\) points.*/\1/p' "$FOLDER/$1.log" > "$FOLDER/$1.points"
}

hold_out() { # NAME BUNDLE
  [ -r "$2" ] || return 0
  for method in $METHODS; do
    blend=
    case $method in */*) blend="--blend ${method#*/}" ;; esac
    "$PELT" fit "$2" --train train --method "${method%/*}" $blend -o "$FOLDER/skin.pelt" > "$FOLDER/log" 2>/dev/null || continue
    awk -v method="$method" '
      function after(word) { for (i = 1; i < NF; i++) if ($i == word) return $(i + 1); return "-" }
      function inside(word) { match($0, word " [^(]*\\("); return substr($0, RSTART + RLENGTH) + 0 }
      NR == 1 { bytes = inside("bytes") }
      /held out/ { print method, after("rel_err"), after("roughness"), after("normals"), after("jump"), inside("max"), bytes }' \
      "$FOLDER/log" >> "$FOLDER/$1"
    sed -n 's/.*held out .*roughness [^(]*(\([0-9]*\) points.*/\1/p' "$FOLDER/log" > "$FOLDER/$1.points"
  done
}

thousands() { echo "$1" | sed 's/\([0-9]\)\([0-9]\{3\}\)$/\1,\2/'; }

label() { # NAME[_VERTICES|_CLIP]
  case $1 in
    arm_*) echo "\`arm\` $(thousands "${1#arm_}")" ;;
    mhr_body_*) echo "\`mhr_body\` ${1#mhr_body_}" ;;
    *) echo "\`$1\`" ;;
  esac
}

table() { # TITLE COLUMN DIGITS NAME...
  title=$1; column=$2; digits=$3; shift 3
  head="| $title |"; line="|---|"; points="| points of the mesh |"; files=
  for name; do
    [ -s "$FOLDER/$name" ] || continue
    head="$head $(label "$name") |"; line="$line---|"; files="$files $FOLDER/$name"
    points="$points $(thousands "$(cat "$FOLDER/$name.points")") |"
  done
  printf '\n%s\n%s\n' "$head" "$line"
  [ "$column" = 3 ] && echo "$points"
  # The best of a column is bold, except for bytes.
  awk -v methods="$METHODS" -v column="$column" -v digits="$digits" '
    FNR == 1 { files++ }
    { value[files, $1] = $column
      if ($column != "-" && (!(files in best) || $column + 0 < best[files])) best[files] = $column + 0 }
    END {
      count = split(methods, name, " ")
      for (m = 1; m <= count; m++) {
        row = "| `" name[m] "` |"
        for (f = 1; f <= files; f++) {
          v = value[f, name[m]]
          if (v == "" || v == "-") { row = row " – |"; continue }
          text = sprintf("%." digits "f", v); sub(/^0\./, ".", text)
          if (v + 0 == best[f] && column != 7) text = "**" text "**"
          row = row " " text " |"
        }
        print row
      }
    }' $files
}

for sample in biceps elbow box; do
  "$PELT" sample $sample -o "$FOLDER/made" --quiet || exit 1
  compare $sample "$FOLDER/made/$sample.glb" test
done
for vertices in 2972 11574; do
  "$PELT" sample arm --vertices $vertices -o "$FOLDER/made" --quiet || exit 1
  compare arm_$vertices "$FOLDER/made/arm.glb" test
done
if [ -n "$PELT_DATA" ]; then
  body=$PELT_DATA/mhr_body/mhr_body.glb
  compare mhr_body "$body" walk,punch,jump
  for clip in walk punch jump; do compare "mhr_body_$clip" "$body" $clip; done
  compare mhr_hand "$PELT_DATA/mhr_hand/mhr_hand.glb" test
  compare fem_hand "$PELT_DATA/fem_hand/fem_hand.glb" test
  hold_out limbs_M "$PELT_DATA/limbs_M/limbs_M.glb"
fi
ALL="arm_2972 arm_11574 biceps elbow box mhr_body mhr_hand fem_hand limbs_M"
table rel_err 2 3 $ALL
table roughness 3 2 $ALL
table "normals, degrees" 4 1 $ALL
table jump 5 2 arm_2972 arm_11574 biceps elbow box mhr_body_walk mhr_body_punch mhr_body_jump limbs_M
table "largest, % of the diagonal" 6 2 $ALL
table "bytes per vertex" 7 0 $ALL
