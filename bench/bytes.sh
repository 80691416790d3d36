#!/bin/sh
# bytes.sh [PELT]: error against size of eigen and kernel on the real body, docs/accuracy.md. PELT_DATA is the folder of the
# real characters.
PELT=${1:-build/pelt}
BODY=$PELT_DATA/mhr_body/mhr_body.glb
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
[ -r "$BODY" ] || { echo "PELT_DATA has no mhr_body"; exit 0; }
row() { # LABEL OPTION...
  label=$1; shift
  "$PELT" fit "$BODY" --train train --holdout 0 --quiet "$@" -o "$FOLDER/skin.pelt" || exit 1
  "$PELT" measure "$FOLDER/skin.pelt" "$BODY" --clip walk,punch,jump > "$FOLDER/log" || exit 1
  awk -v label="$label" -v bytes="$(wc -c < "$FOLDER/skin.pelt")" '
    { for (i = 1; i < NF; i++) if ($i == "rel_err") error = $(i + 1) }
    END { printf "| `%s` | %d | %s |\n", label, bytes / 2461, error }' "$FOLDER/log"
}
echo "| | bytes per vertex | rel_err |"
echo "|---|---|---|"
for n in 1 2 3 5 10; do row "eigen --per-joint $n" --method eigen --per-joint $n; done
for n in 1 2 3 5 10 20; do row "kernel --per-vertex $n" --method kernel --per-vertex $n; done
for n in 5 10; do row "kernel --family kernel --per-vertex $n" --method kernel --family kernel --per-vertex $n; done
for n in 3 5 7 10 16; do row "kernel --family arc --per-vertex $n" --method kernel --family arc --per-vertex $n; done
