#!/bin/sh
# fit_growth.sh [PELT]: how the time of a fit grows with vertices and with examples, on one thread, at four sizes each.
# CPU seconds of the fit alone (reading excluded), the best of three. Blends on the built-in humanoid with 53 joints,
# correctives on the built-in arm and, where PELT_DATA is the folder of the real characters, on a real body with 240, 480 and
# 960 examples: one fit each, and the error on motion that it has not seen.
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

blend_row() { # VERTICES EXAMPLES
  "$PELT" sample humanoid --vertices "$1" --frames "$2" -o "$FOLDER" --quiet || exit 1
  printf '%8s %8s   %8.3f   %8.3f\n' "$1" "$2" "$(fit_seconds humanoid --blend fit --influences 4)" \
    "$(fit_seconds humanoid --method joints --influences 5)"
}

corrective_row() { # VERTICES EXAMPLES
  "$PELT" sample arm --vertices "$1" --frames "$2" -o "$FOLDER" --quiet || exit 1
  printf '%8s %8s' "$1" "$2"
  for method in psd wpsd eigen kernel; do printf '   %8.3f' "$(fit_seconds arm --method $method)"; done
  echo
}

echo "vertices examples  fit (4), s  joints (5), s"
for vertices in 3000 6000 12000 24000; do blend_row $vertices 50; done
for examples in 25 100 200; do blend_row 6000 $examples; done

echo "vertices examples     psd, s    wpsd, s   eigen, s  kernel, s"
for vertices in 6000 12000 24000 46036; do corrective_row $vertices 100; done
for examples in 50 200 400; do corrective_row 6000 $examples; done

body=$PELT_DATA/mhr_more/mhr_more.glb
[ -n "$PELT_DATA" ] && [ -r "$body" ] || exit 0
echo "method    clips                 CPU s    rel_err on walk, punch, jump"
for method in psd wpsd eigen kernel; do
  for clips in train train,more1 train,more1,more2; do
    seconds=$("$PELT" fit "$body" --train $clips --method $method --holdout 0 --threads 1 --json -o "$FOLDER/skin.pelt" 2>/dev/null |
      sed -n 's/.*"cpu_seconds": \([0-9.]*\).*/\1/p')
    error=$("$PELT" measure "$FOLDER/skin.pelt" "$body" --clip walk,punch,jump --json | sed -n 's/.*"rel_err": \([0-9.]*\).*/\1/p')
    printf '%-9s %-20s %6.2f    %.3f\n' $method $clips "$seconds" "$error"
  done
done
