#!/bin/sh
# fit_growth.sh [PELT]: how the time of a fit grows with vertices and with examples, on one thread, at four sizes each.
# CPU seconds of the fit alone (reading excluded), the best of three. The built-in humanoid has 53 joints.
PELT=${1:-build/pelt}
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT

fit_seconds() { # NAME OPTIONS...
  name=$1; shift
  for turn in 1 2 3; do
    "$PELT" fit "$FOLDER/$name.glb" --train train --holdout 0 --threads 1 --json "$@" -o "$FOLDER/skin.pelt" 2>/dev/null |
      sed -n 's/.*"cpu_seconds": \([0-9.]*\).*/\1/p'
  done | sort -g | head -1
}

row() { # VERTICES EXAMPLES
  "$PELT" sample humanoid --vertices "$1" --frames "$2" -o "$FOLDER" --quiet || exit 1
  printf '%8s %8s   %8.3f   %8.3f\n' "$1" "$2" "$(fit_seconds humanoid --blend fit --influences 4)" \
    "$(fit_seconds humanoid --method joints --influences 5)"
}

echo "vertices examples  fit (4), s  joints (5), s"
for vertices in 3000 6000 12000 24000; do row $vertices 50; done
for examples in 25 100 200; do row 6000 $examples; done
