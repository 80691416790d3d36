#!/bin/sh
# spirv.sh SOURCE: gpu/skin.glsl compiles to SPIR-V for Vulkan in every form, both ways. Exit 77: glslang is missing.
set -eu
source=$1
command -v glslangValidator > /dev/null || { echo "skipped: glslangValidator is not here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=0

try() { # STAGE DEFINES...
    stage=$1
    shift
    { echo "#version 450"; for define in "$@"; do echo "#define $define" | tr = ' '; done; cat "$source/gpu/skin.glsl"
      [ "$stage" = comp ] || echo "void main() { vec3 p, n; pelt_vertex(uint(gl_VertexIndex), uint(gl_InstanceIndex), p, n); gl_Position = vec4(p + n, 1.0); }"
    } > "$folder/skin.$stage"
    glslangValidator -V --target-env vulkan1.0 -o "$folder/skin.spv" "$folder/skin.$stage" > "$folder/log" 2>&1 || { echo "$*:" >&2; cat "$folder/log" >&2; exit 1; }
    # The magic number of SPIR-V, and something after it.
    [ "$(od -An -tx4 -N4 "$folder/skin.spv" | tr -d ' ')" = 07230203 ] && [ "$(wc -c < "$folder/skin.spv")" -gt 1000 ] || { echo "$*: no SPIR-V came out" >&2; exit 1; }
    count=$((count + 1))
}

both() { # DEFINES...
    try vert PELT_VERTEX "$@"
    try comp PELT_COMPUTE PELT_THREADS=128 PELT_LANES=1 PELT_CHARACTERS=1 PELT_SHARED=0 PELT_SHARED_STRIDE=1 PELT_PASSES=1 "$@"
    try comp PELT_COMPUTE PELT_THREADS=64 PELT_LANES=4 PELT_CHARACTERS=2 PELT_SHARED=4 PELT_SHARED_STRIDE=100 PELT_PASSES=2 "$@"
}

for normals in 0 1; do
    for form in 0 1 2 3 4; do
        both PELT_FORM=$form PELT_TILTS=$((form % 2 ? 1 : form ? 2 : 0)) PELT_NORMALS=$normals PELT_SCALED=0 PELT_PHI=1 PELT_PARTS=3
    done
    both PELT_FORM=2 PELT_TILTS=1 PELT_NORMALS=$normals PELT_SCALED=$normals PELT_PHI=0 PELT_PARTS=3
    both PELT_FORM=1 PELT_TILTS=2 PELT_NORMALS=$normals PELT_SCALED=$normals PELT_PHI=0 PELT_PARTS=3
    both PELT_FORM=3 PELT_TILTS=1 PELT_NORMALS=$normals PELT_SCALED=$normals PELT_PHI=0 PELT_PARTS=4
    both PELT_FORM=4 PELT_TILTS=0 PELT_NORMALS=$normals PELT_SCALED=$normals PELT_PHI=2 PELT_PARTS=4
    try comp PELT_COMPUTE PELT_THREADS=64 PELT_LANES=1 PELT_CHARACTERS=1 PELT_SHARED=1 PELT_SHARED_STRIDE=100 PELT_PASSES=1 \
        PELT_SPLIT=2 PELT_FORM=4 PELT_TILTS=2 PELT_NORMALS=$normals PELT_SCALED=0 PELT_PHI=1 PELT_PARTS=4
done
for rings in 1 2; do
    for form in 0 2 4; do
        set -- PELT_FORM=$form PELT_TILTS=0 PELT_NORMALS=0 PELT_SCALED=0 PELT_PHI=1 PELT_PARTS=3 PELT_RINGS=$rings PELT_BENDS=$((rings - 1))
        try vert PELT_VERTEX "$@"
        try comp PELT_COMPUTE PELT_SHADE PELT_THREADS=64 PELT_LANES=1 PELT_CHARACTERS=1 PELT_SHARED=0 PELT_SHARED_STRIDE=1 PELT_PASSES=1 "$@"
    done
done
echo "$count shaders became SPIR-V"
