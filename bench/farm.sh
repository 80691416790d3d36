#!/bin/sh
# farm.sh [PELT [PELT_MPI]]: what fits take on a farm, the best of TURNS (2).
#   cost: CPU seconds of the fit on one thread, on the built-in arm at four sizes and a fifth (docs/howto-farm.md)
#   ranks: wall seconds of the program on more and more ranks, one thread each; wants a machine with as many idle cores
#   work: CPU seconds of the rank that works most, without what it exchanges or waits, which busy machines tell too
#   memory: peak memory and CPU seconds with much and with the least --memory
# MPIRUN is how ranks are started. PARTS: which of these, all unless set.
PELT=${1:-build/pelt}
PELT_MPI=${2:-build/pelt-mpi}
MPIRUN=${MPIRUN:-mpirun --bind-to none -n}
TIME=${TIME:-/usr/bin/time}
TURNS=${TURNS:-2}
PARTS=${PARTS:-cost ranks work memory}
METHODS=${METHODS:-"ssd joints psd wpsd eigen kernel"}
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT

words() { # METHOD: the convex fit stands for ssd, which fits nothing by itself
  if [ "$1" = ssd ]; then echo "--method ssd --blend fit"; else echo "--method $1"; fi
}

seconds() { # COMMAND...
  for turn in $(seq "$TURNS"); do
    begin=$(date +%s.%N)
    "$@" >/dev/null 2>&1 || { echo failed; return; }
    end=$(date +%s.%N)
    awk "BEGIN {printf \"%.2f\n\", $end - $begin}"
  done | sort -g | head -1
}

cpu_seconds() { # COMMAND...
  for turn in $(seq "$TURNS"); do
    "$@" --json 2>/dev/null | sed -n 's/.*"cpu_seconds": \([0-9.]*\).*/\1/p'
  done | sort -g | head -1
}

arm() { "$PELT" sample arm --vertices "$1" --frames "$2" -o "$FOLDER" --quiet || exit 1; }
fit="fit $FOLDER/arm.glb --train train --holdout 0 --quiet -o $FOLDER/x.pelt"

case $PARTS in *cost*)
  echo "vertices examples" $METHODS
  for size in "4000 100" "8000 100" "8000 200" "16000 200" "16000 400"; do
    arm $size
    printf '%8s %8s' $size
    for method in $METHODS; do printf ' %7.2f' "$(cpu_seconds "$PELT" $fit $(words $method) --threads 1)"; done
    echo
  done ;;
esac

case $PARTS in *ranks*)
  arm ${SIZE:-16000 200}
  echo "ranks" $METHODS
  for ranks in ${RANKS:-1 2 4 8}; do
    printf '%5s' "$ranks"
    for method in $METHODS; do
      printf ' %7s' "$(seconds $MPIRUN $ranks "$PELT_MPI" $fit $(words $method) --threads 1)"
    done
    echo
  done ;;
esac

worked() { # RANKS WORDS...
  ranks=$1; shift
  for turn in $(seq "$TURNS"); do
    PELT_RANK_TIMES=1 OPENBLAS_NUM_THREADS=1 $MPIRUN "$ranks" "$PELT_MPI" "$@" 2>&1 >/dev/null |
      awk '/CPU seconds/ && $5 > most {most = $5} END {print most}'
  done | sort -g | head -1
}

case $PARTS in *work*)
  arm ${SIZE:-8000 150}
  echo "ranks" $METHODS
  for ranks in ${RANKS:-1 2}; do
    printf '%5s' "$ranks"
    for method in $METHODS; do
      printf ' %7.2f' "$(worked $ranks $fit $(words $method) --no-confidence --threads 1)"
    done
    echo
  done ;;
esac

case $PARTS in *memory*)
  arm 12000 300
  echo "method  memory  peak MB, CPU seconds"
  for method in psd joints kernel; do
    for memory in 8G 320M; do
      "$TIME" -f "$method $memory %M %U %S" "$PELT" $fit --method $method --threads 2 --memory $memory 2>&1 |
        awk '{printf "%6s %6s %8.0f %7.1f\n", $1, $2, $3 / 1000, $4 + $5}'
    done
  done ;;
esac
