#!/bin/sh
# blender_caches.sh PELT: caches written by Blender's own exporters are read by one command. Skips if there is none.
pelt=$1
here=$(dirname "$0")
if ! command -v blender >/dev/null; then
    echo "skipped: blender is not here"
    exit 77
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
blender --background --factory-startup --python-exit-code 1 --python "$here/blender_caches.py" -- "$folder" \
    >"$folder/blender.txt" 2>&1 || { cat "$folder/blender.txt"; exit 1; }
cd "$folder" || exit 1

# The plain blend is as far from the truth as Blender says, except for vertices at the seam, which count twice here.
check() {
    "$pelt" fit limb.glb --train "$1" --fix --method ssd --holdout 0 -o limb.pelt --json >fit.json 2>err.txt ||
        { echo "$1: $(cat err.txt)"; exit 1; }
    grep -q "740 points were matched to the 777 vertices" err.txt || { echo "$1: $(cat err.txt)"; exit 1; }
    awk -v blender="$(cat rms.txt)" -v what="$1" '
        match($0, /"rms": *[0-9.e-]+/) { split(substr($0, RSTART, RLENGTH), part, ":"); rms = part[2]; exit }
        END { off = rms / blender - 1; print what ": rms " rms ", Blender says " blender
              exit !(off > -0.03 && off < 0.03) }' fit.json || exit 1
}
check bend
check bend=object.pc2
check bend=world.pc2
check bend=late.pc2
if "$pelt" fit limb.glb --train bend -o limb.pelt 2>err.txt || ! grep -q "add --fix to apply this" err.txt; then
    echo "z-up without --fix: $(cat err.txt)"
    exit 1
fi
