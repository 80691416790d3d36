#!/bin/sh
# cycles.sh: pelt's light in the Cornell box against Blender's Cycles. Skips with a message if there is no Blender.
#   bench/cycles.sh [PELT] [SIZE] [SAMPLES]
set -eu
here=$(dirname "$0")
pelt=${1:-$here/../build/pelt} size=${2:-100} samples=${3:-1024}
if ! command -v blender >/dev/null; then
  echo "skipped: blender is not here"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
light=0.2,0.46648,0.3
"$pelt" relight run cornell --full --indirect --size "${size}x$size" --samples "$samples" --light $light -o "$folder/indirect.pfm"
"$pelt" relight run cornell --full --direct --size "${size}x$size" --samples 16 --light $light -o "$folder/direct.pfm"
blender --background --factory-startup --threads 2 --python "$here/cycles.py" -- "$folder/direct.pfm" "$folder/indirect.pfm" "$size" "$samples" | grep -A1 '^cycles'
