#!/bin/sh
# fit_growth.sh [PELT [METHOD...]]: how fit time grows with vertices and examples, on one thread, at four sizes each.
# CPU seconds of the fit alone (reading excluded), the best of three. Blends on the built-in humanoid with 53 joints,
# correctives on the built-in arm and, if PELT_DATA is the folder of the real characters, on a real body with 240, 480
# and 960 examples: there also with peak memory (by GNU time, or $TIME) and the error on unseen motion. If methods are
# given, only these, only on the real body, the best of TURNS.
PELT=${1:-build/pelt}
[ $# -gt 0 ] && shift
TIME=${TIME:-/usr/bin/time}
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

if [ $# -eq 0 ]; then
  echo "vertices examples  fit (4), s  joints (5), s"
  for vertices in 3000 6000 12000 24000; do blend_row $vertices 50; done
  for examples in 25 100 200; do blend_row 6000 $examples; done

  echo "vertices examples     psd, s    wpsd, s   eigen, s  kernel, s"
  for vertices in 6000 12000 24000 46036; do corrective_row $vertices 100; done
  for examples in 50 200 400; do corrective_row 6000 $examples; done
  set -- psd wpsd eigen "kernel --family kernel" kernel
fi

body=$PELT_DATA/mhr_more/mhr_more.glb
[ -n "$PELT_DATA" ] && [ -r "$body" ] || exit 0
echo "method                  clips                 CPU s  peak MB  rel_err on walk, punch, jump"
for method in "$@"; do
  for clips in train train,more1 train,more1,more2; do
    seconds=$(for turn in $(seq "${TURNS:-3}"); do
      "$TIME" -f %M -o "$FOLDER/peak" \
        "$PELT" fit "$body" --train $clips --method $method --holdout 0 --threads 1 --json -o "$FOLDER/skin.pelt" 2>/dev/null |
        sed -n 's/.*"cpu_seconds": \([0-9.]*\).*/\1/p'
    done | sort -g | head -1)
    error=$("$PELT" measure "$FOLDER/skin.pelt" "$body" --clip walk,punch,jump --json | sed -n 's/.*"rel_err": \([0-9.]*\).*/\1/p')
    printf '%-23s %-20s %6.2f %8.0f  %.3f\n' "$method" $clips "$seconds" $(($(cat "$FOLDER/peak") / 1000)) "$error"
  done
done
