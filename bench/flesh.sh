#!/bin/sh
# flesh.sh [PELT] [NAME...]: the table "Flesh" of docs/accuracy.md: what each method leaves of the linear blend's error on motion
# that it has not seen, where the truth is simulated flesh. Names are hand, figure7, CesiumMan and body; all unless given. The
# last two are of PELT_DATA, the folder of the real characters. KEEP is a folder to work in and to go on from; its flesh is not
# simulated again. For its time, CesiumMan and body have coarse lattices, no contact and few poses: RESOLUTION=40000 CONTACT=1
# POSES=80 change that. Take another KEEP for each choice.
PELT=${1:-build/pelt}
[ $# -gt 0 ] && shift
FOLDER=${KEEP:-$(mktemp -d)}
mkdir -p "$FOLDER"
[ -n "$KEEP" ] || trap 'rm -rf "$FOLDER"' EXIT
RESOLUTION=${RESOLUTION:-8000}
POSES=${POSES:-40}
APART=--no-contact
[ -n "$CONTACT" ] && APART=
METHODS="ssd joints psd wpsd eigen kernel"

number() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p" | head -1; }

# row NAME TRAIN TEST-BUNDLE TEST-CLIP BUNDLE FIT-OPTIONS...: a fit and both errors.
row() {
  name=$1 train=$2 tested=$3 clip=$4 bundle=$5; shift 5
  "$PELT" fit "$bundle" --train "$train" --holdout 0 --quiet "$@" -o "$FOLDER/skin.pelt" || return
  seen=$("$PELT" measure "$FOLDER/skin.pelt" "$bundle" --clip "$train" --json | number rel_err)
  unseen=$("$PELT" measure "$FOLDER/skin.pelt" "$tested" --clip "$clip" --json | number rel_err)
  printf '%-12s %-8s trained on %.3f, not seen %.3f\n' "$name" "$*" "$seen" "$unseen" | sed 's/--method //'
}

flesh() { # FILE OPTIONS...: simulates what is not there yet
  [ -r "$FOLDER/$1" ] || "$PELT" flesh "$2" -o "$FOLDER/$1" $APART --resolution "$RESOLUTION" --resume --quiet $3
}

hand() {
  [ -r "$FOLDER/hand.glb" ] || "$PELT" sample hand -o "$FOLDER" --resume --quiet || exit 1
  for method in $METHODS; do row hand train "$FOLDER/hand.glb" test "$FOLDER/hand.glb" --method $method; done
}

figure7() {
  [ -r "$FOLDER/hand.glb" ] || "$PELT" sample hand -o "$FOLDER" --resume --quiet || exit 1
  row figure7 train "$FOLDER/hand.glb" test "$FOLDER/hand.glb" --method ssd
  for n in 1 2 3 4 5; do
    row figure7 train "$FOLDER/hand.glb" test "$FOLDER/hand.glb" --method eigen --sweeps-only --per-joint $n
  done
}

CesiumMan() {
  man=$PELT_DATA/chars/CesiumMan.glb
  [ -r "$man" ] || return
  "$PELT" poses "$man" --count "$POSES" --quiet -o "$FOLDER/poses.glb" || exit 1
  flesh man.glb "$man" "--poses $FOLDER/poses.glb" && flesh walk.glb "$man" "--every 4" || exit 1
  for method in $METHODS; do row CesiumMan flesh "$FOLDER/walk.glb" flesh "$FOLDER/man.glb" --method $method; done
}

body() {
  mhr=$PELT_DATA/mhr_body/mhr_body.glb
  [ -r "$mhr" ] || return
  "$PELT" poses "$mhr" --count "$POSES" --quiet -o "$FOLDER/body_poses.glb" || exit 1
  flesh body.glb "$mhr" "--poses $FOLDER/body_poses.glb" && flesh moves.glb "$mhr" "--clip walk,punch,jump --every 27" || exit 1
  for method in $METHODS; do row body flesh "$FOLDER/moves.glb" flesh "$FOLDER/body.glb" --method $method; done
}

for name in ${*:-hand figure7 CesiumMan body}; do $name; done
