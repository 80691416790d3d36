#!/usr/bin/env bash
# embed.sh SOURCE BUILD COMPILER: pelt as a part of other projects. add_subdirectory needs no other library; FetchContent makes
# shared libraries that show the public functions and nothing else; the static ones of BUILD have no global without pelt_.
set -euo pipefail
source=$1 build=$2 compiler=$3 folder=$(mktemp -d) here=$(cd "$(dirname "$0")" && pwd)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$build/pelt" sample box --frames 3 -o . --quiet
"$build/pelt" fit box.glb --train train --method ssd -o box.pelt --quiet --holdout 0
cp "$here"/outside/*.c .
make_project() { # make_project NAME OPTIONS...: configures and builds it
  {
    cmake -G Ninja -S "$1" -B "$1/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 "${@:2}" &&
      cmake --build "$1/build"
  } > "$1.log" 2>&1 || { tail -n 30 "$1.log"; exit 1; }
}

mkdir subdirectory
cat > subdirectory/CMakeLists.txt << END
cmake_minimum_required(VERSION 3.22)
project(outside C)
add_subdirectory("$source" pelt)
add_executable(outside ../outside.c)
target_link_libraries(outside PRIVATE pelt::pelt)
if(TARGET pelt::fit OR TARGET pelt-program OR CMAKE_RUNTIME_OUTPUT_DIRECTORY)
  message(FATAL_ERROR "there is more of pelt than was asked for")
endif()
END
make_project subdirectory -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
subdirectory/build/outside

mkdir fetched
cat > fetched/CMakeLists.txt << END
cmake_minimum_required(VERSION 3.22)
project(outside C)
include(FetchContent)
FetchContent_Declare(pelt URL https://example.com/pelt.tar.gz)
FetchContent_MakeAvailable(pelt)
foreach(name outside making)
  add_executable(\${name} ../\${name}.c)
endforeach()
target_link_libraries(outside PRIVATE pelt::pelt)
target_link_libraries(making PRIVATE pelt::fit)
END
make_project fetched -DFETCHCONTENT_SOURCE_DIR_PELT="$source" -DBUILD_SHARED_LIBS=ON
fetched/build/outside
fetched/build/making
if command -v python3 > /dev/null; then python3 "$here/bind.py" "$PWD/fetched/build/_deps/pelt-build/libpelt-fit.so"; fi

shown() { nm -D --defined-only "fetched/build/_deps/pelt-build/lib$1.so" | awk '{ print $3 }' | sort; }
promised() { # promised HEADER...: the functions that are declared in them
  cd "$source/include/pelt"
  sed -E 's/^(#define|#elif|#if).*//' "${@/%/.h}" | tr '\n;' ' \n' | sed -nE 's/.*PELT_API [^(]*[ *](pelt_[a-z0-9_]+)\(.*/\1/p' | sort
}
compare() { # compare LIBRARY HEADER...
  diff <(shown "$1") <(promised "${@:2}") || { echo "lib$1.so shows something else than its headers promise" >&2; exit 1; }
  echo "lib$1.so: $(shown "$1" | wc -l) functions, and nothing else"
}
compare pelt error keys pelt
compare pelt-gl gl
compare pelt-fit bind export fit keys_fit poses

strangers=$(nm -g --defined-only "$build"/libpelt{,-fit,-gl}.a | awk 'NF == 3 && $3 !~ /^pelt_/ && $2 !~ /[VW]/ { print $3 }')
[ -z "$strangers" ] || { echo "globals without pelt_: $strangers" >&2; exit 1; }
