#!/bin/sh
# settings.sh make|run|table|check FOLDER: chooses the fits' constants by cross-validation on training examples; docs/accuracy.md,
# "Constants", has the tables. No test clip is read.
#   make    compiles each file with a constant once per value to try, into FOLDER: a shared library that is loaded before the
#           others, so that the sources stay unchanged and nothing else is rebuilt
#   run     fits to four folds of the examples and measures on the fifth, five times (bench/settings/blind.c); JOBS (2) at once
#   check   a test: whether make finds all constants, and blind.c compiles
#   table   the errors by setting: rel_err over all folds, and the distance from the best, as mean +- standard error over folds
# PELT_DATA is the folder of the real characters, BUILD that of pelt's libraries (build, made with the release preset).
FOLDER=${2:?usage: settings.sh make|run|table|check FOLDER}
BUILD=${BUILD:-build}
BODY=mhr_more/mhr_more.glb

# trial NAME FILE CONSTANT 'VALUES' 'BUNDLE CLIPS FOLDS OPTIONS'...; plain NAME VALUE 'BUNDLE ...'...: nothing is compiled
settings() {
  trial rounds fit/corrective/features_choose.c MANY_ROUNDS '28 42 56 84 112' "$BODY train,more1 01234"
  trial rows fit/corrective/features_learn.c MOST_ROWS '128 256 512' "$BODY train,more1 01234"
  trial price fit/blend/sharing.c price '0 0.02 0.05 0.1 0.2' \
    "$BODY train 01234 method=joints influences=4 ridge=1e-7" "$BODY train 01234 method=joints influences=8 ridge=1e-7" \
    "$BODY train 01234 method=ssd blend=fit" "mhr_hand/mhr_hand.glb train 01234 method=joints influences=4 ridge=1e-7" \
    "mhr_hand/mhr_hand.glb train 01234 method=ssd blend=fit" "limbs_S/limbs_S.glb train 01234 method=ssd blend=fit" \
    "fem_hand/fem_hand.glb train 01234 method=ssd blend=fit" "fem_hand/fem_hand.glb train 01234 method=joints influences=4 ridge=1e-7"
  trial spanned fit/corrective/kernel.c SPANNED_NEAR '0.1 0.3 1 3 20' "$BODY train 01234 family=arc" \
    "mhr_hand/mhr_hand.glb train 01234 family=arc" "limbs_S/limbs_S.glb train 01234 family=arc" "arm/arm.glb train 01234 family=arc"
  trial clusters fit/corrective/kernel.c COEFFICIENTS '480 640 800 1200 1600' \
    "arm/arm.glb train 01234 family=kernel per-vertex=5" "limbs_M/limbs_M.glb train 01234 family=kernel per-vertex=5"
  trial features fit/corrective/kernel.c MANY_FEATURES '64 96 128 160' "$BODY train 01234 family=features" \
    "mhr_hand/mhr_hand.glb train 01234 family=features"
  for family in kernel arc features; do
    for coupled in 0 1 2 5 10 20 40; do
      folds=01234
      [ $coupled = 0 ] && folds=0
      plain coupled $coupled:$family "$BODY train $folds family=$family sweeps=181 coupled=$coupled" \
        "mhr_hand/mhr_hand.glb train $folds family=$family sweeps=175 coupled=$coupled"
    done
  done
  for family in kernel arc features; do
    plain family $family "limbs_M/limbs_M.glb train 01234 family=$family" "limbs_S/limbs_S.glb train 01234 family=$family" \
      "arm/arm.glb train 01234 family=$family"
  done
  trial rounds fit/corrective/features_choose.c MANY_ROUNDS '28 56 84 112' "$BODY train,more1,more2 024"
  trial rows fit/corrective/features_learn.c MOST_ROWS '128 256' "$BODY train,more1,more2 024"
  trial features fit/corrective/kernel.c FEATURES '32 48 64 96' "$BODY train,more1 024"
}

# One line per fit: where its result goes, and its arguments.
job() { # SETTING VALUE LIBRARY BUNDLE CLIPS FOLDS OPTIONS
  [ "$step" = check ] && return
  setting=$1 value=$2 library=$3 bundle=$4 clips=$5 folds=$6; shift 6
  name=$(echo "$setting/$value/$(basename "$bundle" .glb),$clips${*:+,}$*" | tr ' ' ',')
  case $setting in coupled | family) name=$(echo "$name" | sed 's/,family=[a-z]*//; s/,coupled=[0-9]*//') ;; esac
  for fold in $(echo "$folds" | sed 's/./& /g'); do echo "$name/$fold $library $bundle $clips $fold $*"; done
}

trial() {
  setting=$1 file=$2 constant=$3 values=$4; shift 4
  [ "$(grep -c "\b$constant = [0-9]" "$file")" = 1 ] || { echo "settings.sh: $file has no \"$constant = NUMBER\"" >&2; exit 1; }
  for value in $values; do
    library=$setting.$value.so
    [ "$step" = make ] && compile "$file" "$constant" "$value" "$library"
    for runs; do job "$setting" "$value" "$library" $runs; done
  done
}

plain() { # SETTING VALUE RUNS...
  setting=$1 value=$2; shift 2
  for runs; do job "$setting" "$value" - $runs; done
}

compile() { # FILE CONSTANT VALUE LIBRARY
  sed "s/\b$2 = [0-9][0-9.e-]*/$2 = $3/" "$1" > "$FOLDER/variant.c"
  cc -O3 -DNDEBUG -std=gnu17 -fPIC -shared -Iinclude -I. "$FOLDER/variant.c" -o "$FOLDER/$4" || exit 1
}

make_all() {
  mkdir -p "$FOLDER" || exit 1
  cc -shared -Wl,--whole-archive "$BUILD/libpelt-fit.a" "$BUILD/libpelt.a" -Wl,--no-whole-archive \
    $(pkg-config --libs jansson lapacke openblas) -fopenmp -lm -Wl,-soname,libfit.so -o "$FOLDER/libfit.so" &&
    cc -O2 -std=gnu17 -Wall -Wextra -Iinclude -I. bench/settings/blind.c "$FOLDER/libfit.so" -Wl,-rpath,'$ORIGIN' -o "$FOLDER/blind" || exit 1
  settings > "$FOLDER/jobs"
}

run_one() { # NAME LIBRARY BUNDLE CLIPS FOLD OPTIONS
  name=$1 library=$2 bundle=$3; shift 3
  out=$FOLDER/results/$name
  [ -s "$out" ] && return
  mkdir -p "$(dirname "$out")"
  [ -r "$PELT_DATA/$bundle" ] && bundle=$PELT_DATA/$bundle || bundle=$FOLDER/$bundle
  preload=$FOLDER/$library
  [ "$library" = - ] && preload=
  LD_PRELOAD=$preload OMP_NUM_THREADS=1 "$FOLDER/blind" "$bundle" "$@" > "$out.part" 2> "$out.log" && mv "$out.part" "$out"
}

run_all() {
  [ -r "$FOLDER/arm/arm.glb" ] || "$BUILD/pelt" sample arm --vertices 11574 -o "$FOLDER/arm" --quiet || exit 1
  sed 's/ *$//' "$FOLDER/jobs" | tr '\n' '\0' | xargs -0 -P "${JOBS:-2}" -I JOB sh -c "\"$0\" one \"$FOLDER\" JOB"
}

# Results of a setting and a run are in FOLDER/results/SETTING/VALUE/RUN/FOLD.
table() {
  (cd "$FOLDER/results" && find . -type f ! -name '*.*' | sed 's,^\./,,' | sort -V | while IFS= read -r f; do
    echo "$f $(cat "$f")" | tr '/' ' '
  done) | awk '
    # Values of one run side by side; over all runs of a setting, error ratios to the best value.
    function compare(title, list, whole,    n, values, v, best, f, m, sum, squares, d, key) {
      n = split(list, values, " "); best = ""
      printf "\n%s\n  %-14s %8s %20s %8s %8s %8s %8s\n", title, "value", "rel_err", "over the best", "jump", "joints", "bytes", "CPU s"
      for (v = 1; v <= n; v++)
        if (best == "" || whole[title, values[v]] < whole[title, best]) best = values[v]
      for (v = 1; v <= n; v++) {
        key = title SUBSEP values[v]; sum = squares = m = 0
        for (f = 1; f <= fits[title]; f++) {
          if (!((key, fit[title, f]) in fold) || !((title, best, fit[title, f]) in fold)) continue
          d = log(fold[key, fit[title, f]] / fold[title, best, fit[title, f]]); sum += d; squares += d * d; m++
        }
        d = m > 1 ? (squares - sum * sum / m) / (m - 1) / m : 0
        printf "  %-14s %8.4f %8.2f%% +- %5.2f%% %8s %8.2f %8.0f %8.2f %s\n", values[v], whole[key], m ? 100 * sum / m : 0,
               100 * sqrt(d > 0 ? d : 0), key in jump ? sprintf("%.2f", jump[key]) : "-", blocks[key] / count[key],
               bytes[key] / count[key], cpu[key] / count[key], families[key]
      }
    }
    function add(title, value, number,    key) {
      key = title SUBSEP value
      if (!(title in lists)) order[++titles] = title
      if (!(key in count)) lists[title] = lists[title] " " value
      if (!((title, number) in numbers)) { numbers[title, number] = 1; fit[title, ++fits[title]] = number }
      error[key] += $6; blend[key] += $7; blocks[key] += $9; bytes[key] += $10; cpu[key] += $11; count[key]++
      fold[key, number] = sqrt($6 / $7); logs[key] += log(fold[key, number])
      if ($8 != "-" && $8 > jump[key] + 0) jump[key] = $8
    }
    { add($1 " " $3, $2, $4); add($1 ", all", $2, $3 "/" $4)
      if ($12 != "-") families[$1 " " $3, $2] = families[$1 " " $3, $2] " " $12 ($13 ? $13 : "") "(" $14 ")" }
    END {
      for (key in error) { pooled[key] = sqrt(error[key] / blend[key]); means[key] = exp(logs[key] / count[key]) }
      for (t = 1; t <= titles; t++)
        if (order[t] ~ /, all$/) compare(order[t], lists[order[t]], means)
        else compare(order[t], lists[order[t]], pooled)
    }'
}

step=$1
case $step in
  make) make_all ;;
  check) settings > /dev/null && cc -fsyntax-only -std=gnu17 -Wall -Wextra -Werror -Iinclude -I. bench/settings/blind.c ;;
  run) run_all ;;
  one) shift 2; run_one "$@" ;;
  table) table ;;
  *) echo "usage: settings.sh make|run|table|check FOLDER" >&2; exit 2 ;;
esac
