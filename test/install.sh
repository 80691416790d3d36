#!/usr/bin/env bash
# install.sh BUILD COMPILER: installs the build, and builds an external program with it both ways: find_package and
# pkg-config. The program runs a skin that the installed `pelt` made.
set -euo pipefail
build=$1 compiler=$2 folder=$(mktemp -d) here=$(cd "$(dirname "$0")" && pwd)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/usr" >/dev/null
cd "$folder"
usr/bin/pelt sample box --frames 3 -o . --quiet
usr/bin/pelt fit box.glb --train train --method ssd -o box.pelt --quiet --holdout 0

cp "$here"/outside/*.c .

mkdir project
cat > project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(outside C)
find_package(pelt REQUIRED)
add_executable(outside ../outside.c)
target_link_libraries(outside PRIVATE pelt::pelt)
add_executable(making ../making.c)
target_link_libraries(making PRIVATE pelt::fit)
END
cmake -G Ninja -S project -B project/build -DCMAKE_PREFIX_PATH="$folder/usr" -DCMAKE_C_COMPILER="$compiler" >/dev/null
cmake --build project/build >/dev/null
project/build/outside
project/build/making

export PKG_CONFIG_PATH=$(dirname "$(find "$folder/usr" -name pelt.pc)")
"$compiler" outside.c -o outside $(pkg-config --cflags --libs pelt)
./outside
"$compiler" making.c -o making $(pkg-config --cflags --libs pelt-fit)
./making

# The programs of docs/howto-library.md, as they are printed there.
awk '/^```c$/ {on = 1; program++; next} /^```$/ {on = 0} on {print > ("howto" program ".c")}' "$here/../docs/howto-library.md"
mv howto1.c bar.c && mv howto2.c tangents.c && mv howto3.c buffers.c
"$compiler" -std=c17 -Wall -Wextra -Werror tangents.c -o tangents $(pkg-config --cflags --libs pelt-fit)
./tangents "$here/../fuzz/corpus/gltf/textured.gltf" | grep -q "^vertex 0: right is 0.983 -0.182 0.000, up is -0.182 -0.983 0.000"
usr/bin/pelt sample elbow --vertices 500 --frames 3 -o . --quiet
usr/bin/pelt fit elbow.glb --train train --method ssd -o elbow.pelt --quiet --holdout 0
"$compiler" -std=c17 -Wall -Wextra -Werror buffers.c -o buffers $(pkg-config --cflags --libs pelt-fit)
./buffers elbow.pelt > buffers.txt
grep -q '500 vertices, joint "lower" is joint 1' buffers.txt
grep -q 'the character from -3.250 to 3.250 along x' buffers.txt
"$compiler" -std=c17 -Wall -Wextra -Werror bar.c -o bar $(pkg-config --cflags --libs pelt-fit)
./bar > bar.txt
awk '/training/ {if ($5 + 0 > 0.1 || $10 + 0 > 0.2) bad = 1} /has not seen/ {if ($1 + 0 > 0.1) bad = 1; seen = 1}
     END {exit bad || !seen}' bar.txt || { cat bar.txt; exit 1; }

# The run time is standalone: nothing but the C library and libm.
if nm -u "$(find "$folder/usr" -name libpelt.a)" | grep -E ' (malloc|calloc|realloc|free|printf|fprintf|fopen)$'; then
  echo "libpelt uses memory or files" >&2
  exit 1
fi
# Headers also compile as C++.
for header in pelt fit; do echo "#include <pelt/$header.h>" > "$header.cpp"; done
if command -v c++ >/dev/null; then c++ -fsyntax-only -I"$folder/usr/include" pelt.cpp fit.cpp; fi
man -l "$folder"/usr/share/man/man1/pelt.1 >/dev/null 2>&1 || true
bash -n "$folder/usr/share/bash-completion/completions/pelt"
test -s "$folder/usr/share/zsh/site-functions/_pelt" && test -s "$folder/usr/share/fish/vendor_completions.d/pelt.fish"
echo "installed, found and used"
