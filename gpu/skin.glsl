// skin.glsl: pelt's equation for graphics hardware,
//
//     v = (sum_j w_j T_j) (v0 + D),   n = normalize((sum_j w_j T_j^-T) (n0 + N))
//
// or, for skins with rings, the n of the deformed surface.
//
// written once and used in two ways: as a compute shader that fills vertex buffers (OpenGL 4.3, OpenGL ES 3.1, Vulkan),
// and as a function for a vertex shader that reads textures (OpenGL ES 3.0, WebGL 2). Prepend a #version line and
// these:
//
//     PELT_COMPUTE or PELT_VERTEX   which of the two
//     PELT_FORM       D: 0 none, 1 rows of floats, 2 rows in 16 bits, 3 weighted in floats, 4 weighted in 16 bits
//     PELT_TILTS      N: 0 none, 1 in floats, 2 in 16 bits (forms 3 and 4: like the rows)
//     PELT_NORMALS    1: with normals of the blend
//     PELT_SCALED     1: joints may scale, normals have separate matrices
//     PELT_PHI        forms 3 and 4: 0 exponential, 1 Gaussian, 2 mixed;  PELT_PARTS  3, or 4 with a norm
//     PELT_RINGS      normals of the surface instead: 1 triangles count by area, 2 by angle;  PELT_BENDS  1: bent ones.
//                     A vertex shader deforms the neighbours of each vertex too. For compute they take a second dispatch:
//                     PELT_SHADE, with PELT_LANES and PELT_CHARACTERS 1, after one without normals and a barrier
//     PELT_CONSTANTS  the numbers of the uniform block are prepended as defines, by name, instead of the block
// and for compute
//     PELT_THREADS    per work group
//     PELT_LANES      vertices per thread, 1 or 4;  PELT_CHARACTERS  characters per thread
//     PELT_SHARED     characters whose poses are in shared memory, a multiple of PELT_CHARACTERS, or 0
//     PELT_SHARED_STRIDE, PELT_PASSES   vec4s of a pose that go there; passes of a work group over blocks
//     PELT_SPLIT      forms 3 and 4 with 1 lane and 1 character: threads that share a vertex, each with separate centres
//
// Work group x handles blocks, y characters. docs/howto-gpu.md documents the buffers.

#ifndef PELT_LANES
#define PELT_LANES 1
#define PELT_CHARACTERS 1
#define PELT_SHARED 0
#endif
#ifndef PELT_SPLIT
#define PELT_SPLIT 1
#endif
#ifndef PELT_RINGS
#define PELT_RINGS 0
#define PELT_BENDS 0
#endif
#pragma optionNV(unroll all)

#ifdef GL_ES
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
#endif

#ifndef PELT_CONSTANTS
#if defined(PELT_COMPUTE)
layout(std140, binding = 0) uniform PeltNumbers {
#elif defined(VULKAN)
layout(std140, set = 0, binding = 0) uniform PeltNumbers {
#else
layout(std140) uniform PeltNumbers {
#endif
    uint pelt_block_count, pelt_character_count, pelt_pose_stride, pelt_distance_stride;
    uint pelt_at_heads, pelt_at_joints, pelt_at_weights, pelt_at_rest;
    uint pelt_at_rest_normals, pelt_at_row_sources, pelt_at_rows, pelt_at_tilt_sources;
    uint pelt_at_tilts, pelt_at_axes, pelt_at_axis_weights, pelt_at_steps;
    uint pelt_at_row_factors, pelt_at_tilt_factors, pelt_at_normal_matrices, pelt_at_factor_scales;
    uint pelt_at_ring_first, pelt_at_rings, pelt_ring_scale, pelt_at_bends;
    uint pelt_at_level, pelt_at_ends;
};
#endif

// -- Reading skins and poses ------------------------------------------------------------------------------------------

// A row is a number for each vertex of the thread: one of the block's 16 lanes, or four of them.
#if PELT_LANES == 4
#define pelt_row vec4
#define pelt_urow uvec4
#define pelt_irow ivec4
#else
#define pelt_row float
#define pelt_urow uint
#define pelt_irow int
#endif

#ifdef PELT_COMPUTE

layout(local_size_x = PELT_THREADS) in;
layout(std430, binding = 1) readonly buffer PeltSkin { pelt_urow pelt_skin[]; };
layout(std430, binding = 2) readonly buffer PeltPoses { vec4 pelt_poses[]; };
#ifdef PELT_SHADE
layout(std430, binding = 3) readonly buffer PeltPositions { float pelt_positions[]; };
#else
layout(std430, binding = 3) writeonly buffer PeltPositions { pelt_row pelt_positions[]; };
#endif
#if PELT_NORMALS || defined(PELT_SHADE)
layout(std430, binding = 4) writeonly buffer PeltNormals { pelt_row pelt_normals[]; };
#endif

#if PELT_LANES == 4
uint pelt_word(uint at) { return pelt_skin[at >> 2u][at & 3u]; }
uvec4 pelt_four(uint at) { return pelt_skin[at >> 2u]; }
pelt_urow pelt_words(uint at) { return pelt_skin[at >> 2u]; }
#else
uint pelt_word(uint at) { return pelt_skin[at]; }
uvec4 pelt_four(uint at) { return uvec4(pelt_skin[at], pelt_skin[at + 1u], pelt_skin[at + 2u], pelt_skin[at + 3u]); }
pelt_urow pelt_words(uint at) { return pelt_skin[at]; }
#endif

#if PELT_SHARED > 0
shared vec4 pelt_shared[PELT_SHARED * PELT_SHARED_STRIDE];
#define PELT_POSES pelt_shared
#define PELT_STRIDE uint(PELT_SHARED_STRIDE)
#else
#define PELT_POSES pelt_poses
#define PELT_STRIDE pelt_pose_stride
#endif
vec4 pelt_pose(uint at) { return PELT_POSES[at]; }
float pelt_pose_float(uint pose, uint at) { return PELT_POSES[pose + (at >> 2u)][at & 3u]; }

// Threads that share a vertex are PELT_VERTICES apart; the first of them gets the sum of all.
#define PELT_VERTICES uint(PELT_THREADS / PELT_SPLIT)
#if PELT_SPLIT > 1
shared vec4 pelt_others[2 * (PELT_THREADS - PELT_THREADS / PELT_SPLIT)];
#define PELT_PART (gl_LocalInvocationID.x / PELT_VERTICES)
#else
#define PELT_PART 0u
#endif

#else // textures with 2048 texels per row

#ifdef VULKAN
layout(set = 0, binding = 1) uniform usampler2D pelt_skin;
layout(set = 0, binding = 2) uniform sampler2D pelt_poses;
#else
uniform usampler2D pelt_skin;
uniform sampler2D pelt_poses;
#endif
#define PELT_STRIDE pelt_pose_stride
#define PELT_PART 0u
uvec4 pelt_four(uint at) { return texelFetch(pelt_skin, ivec2(int(at >> 2u & 2047u), int(at >> 13u)), 0); }
uint pelt_word(uint at) {
    uvec4 four = pelt_four(at);
    return four[at & 3u];
}
pelt_urow pelt_words(uint at) { return pelt_word(at); }
vec4 pelt_pose(uint at) { return texelFetch(pelt_poses, ivec2(int(at & 2047u), int(at >> 11u)), 0); }
float pelt_pose_float(uint pose, uint at) {
    vec4 four = pelt_pose(pose + (at >> 2u));
    return four[at & 3u];
}

#endif

pelt_row pelt_floats(uint at) { return uintBitsToFloat(pelt_words(at)); }

// Two consecutive factors, the first at an even offset.
vec2 pelt_pose_pair(uint pose, uint at) {
    vec4 four = pelt_pose(pose + (at >> 2u));
    return (at & 2u) == 0u ? four.xy : four.zw;
}

// -- The corrective ---------------------------------------------------------------------------------------------------
// x, y and z of the vertices, for each character of the thread: sum[3 c], sum[3 c + 1], sum[3 c + 2].

#define PELT_SUMS (3 * PELT_CHARACTERS)
#define PELT_EACH_CHARACTER(c) for (int c = 0; c < PELT_CHARACTERS; c++)

void pelt_add_floats(inout pelt_row sum[PELT_SUMS], uint pose, uint first, uint end, uint sources, uint rows, uint factors) {
    for (uint r = first; r < end; r++) {
        uint source = factors + pelt_word(sources + r), at = rows + 48u * r;
        pelt_row x = pelt_floats(at), y = pelt_floats(at + 16u), z = pelt_floats(at + 32u);
        PELT_EACH_CHARACTER(c) {
            float a = pelt_pose_float(pose + uint(c) * PELT_STRIDE, source);
            sum[3 * c] += a * x;
            sum[3 * c + 1] += a * y;
            sum[3 * c + 2] += a * z;
        }
    }
}

// Words with two numbers of 16 bits: the first is the lower half.
pelt_row pelt_lower(pelt_urow words) { return pelt_row(pelt_irow(words << 16u) >> 16); }
pelt_row pelt_upper(pelt_urow words) { return pelt_row(pelt_irow(words) >> 16); }

void pelt_add_shorts(inout pelt_row sum[PELT_SUMS], uint pose, uint first, uint end, uint sources, uint rows, uint factors) {
    for (uint r = first; r < end; r++) {
        uint source = factors + pelt_word(sources + r), at = rows + 48u * r;
        pelt_urow x = pelt_words(at), y = pelt_words(at + 16u), z = pelt_words(at + 32u);
        pelt_row x0 = pelt_lower(x), y0 = pelt_lower(y), z0 = pelt_lower(z);
        pelt_row x1 = pelt_upper(x), y1 = pelt_upper(y), z1 = pelt_upper(z);
        PELT_EACH_CHARACTER(c) {
            vec2 a = pelt_pose_pair(pose + uint(c) * PELT_STRIDE, source);
            sum[3 * c] += a.x * x0 + a.y * x1;
            sum[3 * c + 1] += a.x * y0 + a.y * y1;
            sum[3 * c + 2] += a.x * z0 + a.y * z1;
        }
    }
}

#if PELT_FORM >= 3

pelt_row pelt_phi(pelt_row q) {
#if PELT_PHI == 1
    return exp2(q);
#else
    pelt_row root = sqrt(max(-q, pelt_row(0.0)));
#if PELT_PHI == 0
    return exp2(-root);
#else
    return 0.97 * exp2(q) + 0.03 * exp2(-1.6986436 * root);
#endif
#endif
}

// Along one axis, minus the squared distances of four centres, scaled so that phi is a power of two.
vec4 pelt_distances(uint pose, uint axis, uvec4 centers, bool together) {
    if (together) return pelt_pose(pose + (axis + centers.x >> 2u));
    return vec4(pelt_pose_float(pose, axis + centers.x), pelt_pose_float(pose, axis + centers.y),
                pelt_pose_float(pose, axis + centers.z), pelt_pose_float(pose, axis + centers.w));
}

// sum += phi times the rows of four centres. In 16 bits the second of two numbers is read from all 32 bits of both.
#define PELT_ADD_CENTERS(sum, parts, rows)                                                                             \
    for (int part = 0; part < parts; part++) {                                                                         \
        pelt_row u[4];                                                                                                 \
        for (int k = 0; k < 4; k++) u[k] = pelt_center_row(rows + 16u * uint(part), k, uint(16 * parts));              \
        PELT_EACH_CHARACTER(c) for (int k = 0; k < 4; k++) sum[parts * c + part] += q[4 * c + k] * u[k];               \
    }

pelt_row pelt_center_row(uint at, int k, uint stride) {
#if PELT_FORM == 3
    return pelt_floats(at + uint(k) * stride);
#else
    pelt_urow words = pelt_words(at + uint(k >> 1) * stride);
    return (k & 1) == 0 ? pelt_row(pelt_irow(words << 16u)) : pelt_row(pelt_irow(words));
#endif
}

pelt_row pelt_guard(pelt_row s) { return min(max(s, pelt_row(0.0)), pelt_row(0.25)) * 4.0 / max(s, pelt_row(0.25)); }

void pelt_add_weighted(inout pelt_row point[PELT_SUMS], inout pelt_row normal[PELT_SUMS], uint pose, uint block, uint lane,
                       uvec4 head, uvec4 next) {
    pelt_row sum[PELT_PARTS * PELT_CHARACTERS], tilt[PELT_SUMS], q[4 * PELT_CHARACTERS];
    for (int i = 0; i < PELT_PARTS * PELT_CHARACTERS; i++) sum[i] = pelt_row(0.0);
    for (int i = 0; i < PELT_SUMS; i++) tilt[i] = pelt_row(0.0);
    const uint rows_of_four = PELT_FORM == 3 ? 64u : 32u;
    for (uint g = head.y + PELT_PART; g < next.y; g += uint(PELT_SPLIT)) {
        uvec4 centers = pelt_four(pelt_at_row_sources + 4u * g);
        bool together = (centers.x & 3u) == 0u && centers.y == centers.x + 1u && centers.z == centers.x + 2u &&
                        centers.w == centers.x + 3u;
        for (int i = 0; i < 4 * PELT_CHARACTERS; i++) q[i] = pelt_row(0.0);
        for (uint e = head.w; e < next.w; e++) {
            uint axis = pelt_word(pelt_at_axes + e);
            pelt_row w = pelt_floats(pelt_at_axis_weights + 16u * e + lane);
            PELT_EACH_CHARACTER(c) {
                vec4 d = pelt_distances(pose + uint(c) * PELT_STRIDE, axis, centers, together);
                q[4 * c] += w * d.x;
                q[4 * c + 1] += w * d.y;
                q[4 * c + 2] += w * d.z;
                q[4 * c + 3] += w * d.w;
            }
        }
        for (int i = 0; i < 4 * PELT_CHARACTERS; i++) q[i] = pelt_phi(q[i]);
        uint rows = pelt_at_rows + g * rows_of_four * uint(PELT_PARTS) + lane;
        PELT_ADD_CENTERS(sum, PELT_PARTS, rows)
#if PELT_NORMALS && PELT_TILTS > 0
        uint tilts = pelt_at_tilts + g * rows_of_four * 3u + lane;
        PELT_ADD_CENTERS(tilt, 3, tilts)
#endif
    }
#if PELT_SPLIT > 1
    if (PELT_PART > 0u) {
        uint at = 2u * (gl_LocalInvocationID.x - PELT_VERTICES);
        pelt_others[at] = vec4(sum[0], sum[1], sum[2], sum[PELT_PARTS - 1]);
        pelt_others[at + 1u] = vec4(tilt[0], tilt[1], tilt[2], 0.0);
    }
    barrier();
    if (PELT_PART > 0u) return;
    for (uint other = 0u; other < uint(PELT_SPLIT - 1); other++) {
        vec4 of_rows = pelt_others[2u * (gl_LocalInvocationID.x + PELT_VERTICES * other)],
             of_tilts = pelt_others[2u * (gl_LocalInvocationID.x + PELT_VERTICES * other) + 1u];
        for (int i = 0; i < PELT_PARTS; i++) sum[i] += of_rows[i];
        for (int i = 0; i < 3; i++) tilt[i] += of_tilts[i];
    }
#endif
#if PELT_FORM == 3
    vec4 steps = vec4(1.0);
#else
    vec4 steps = uintBitsToFloat(pelt_four(pelt_at_steps + 4u * block));
#endif
    PELT_EACH_CHARACTER(c) {
#if PELT_PARTS == 4
        pelt_row guard = pelt_guard(sum[4 * c + 3] * steps.y);
#else
        pelt_row guard = pelt_row(1.0);
#endif
        if (pelt_at_level > 0u) guard *= pelt_pose_float(pose + uint(c) * PELT_STRIDE, pelt_at_level + 1u);
        for (int i = 0; i < 3; i++) {
            point[3 * c + i] += sum[PELT_PARTS * c + i] * (guard * steps.x);
#if PELT_NORMALS && PELT_TILTS > 0
            normal[3 * c + i] += tilt[3 * c + i] * (guard * steps.z);
#endif
        }
    }
}

#endif

// -- The blend --------------------------------------------------------------------------------------------------------

// Points moved by a joint's matrix, and blended.
void pelt_move(inout pelt_row sum[PELT_SUMS], pelt_row p[PELT_SUMS], uint matrix, pelt_row w, float place) {
    PELT_EACH_CHARACTER(c) for (int i = 0; i < 3; i++) {
        vec4 m = pelt_pose(matrix + uint(c) * PELT_STRIDE + uint(i));
        sum[3 * c + i] += w * (m.x * p[3 * c] + (m.y * p[3 * c + 1] + (m.z * p[3 * c + 2] + m.w * place)));
    }
}

// Vertices of a block from `lane` on, for characters whose poses begin at `pose`.
void pelt_deform(uint pose, uint block, uint lane, out pelt_row position[PELT_SUMS], out pelt_row normal[PELT_SUMS]) {
    uvec4 head = pelt_four(pelt_at_heads + 4u * block), next = pelt_four(pelt_at_heads + 4u * block + 4u);
    if (pelt_at_level > 0u) { // as far as the finest of the characters needs; factors of the others are 0 there
        float level = pelt_pose_float(pose, pelt_at_level);
        for (int c = 1; c < PELT_CHARACTERS; c++)
            level = min(level, pelt_pose_float(pose + uint(c) * PELT_STRIDE, pelt_at_level));
        if (level >= 1.0) {
            uint ends = pelt_at_ends + 2u * ((uint(level) - 1u) * pelt_block_count + block);
            next.y = pelt_word(ends);
            next.z = pelt_word(ends + 1u);
        }
    }
    uint rest = 48u * block + lane;
    pelt_row p[PELT_SUMS], n[PELT_SUMS];
    PELT_EACH_CHARACTER(c) for (int i = 0; i < 3; i++) {
        p[3 * c + i] = pelt_floats(pelt_at_rest + rest + 16u * uint(i));
        position[3 * c + i] = pelt_row(0.0);
        normal[3 * c + i] = pelt_row(0.0);
        n[3 * c + i] = pelt_row(0.0);
#if PELT_NORMALS
        n[3 * c + i] = pelt_floats(pelt_at_rest_normals + rest + 16u * uint(i));
#endif
    }

#if PELT_FORM == 1
    pelt_add_floats(p, pose, head.y, next.y, pelt_at_row_sources, pelt_at_rows + lane, pelt_at_row_factors);
#elif PELT_FORM == 2
    pelt_add_shorts(p, pose, head.y, next.y, pelt_at_row_sources, pelt_at_rows + lane, pelt_at_row_factors);
#elif PELT_FORM >= 3
    pelt_add_weighted(p, n, pose, block, lane, head, next);
#if PELT_SPLIT > 1
    if (PELT_PART > 0u) return;
#endif
#endif
#if PELT_NORMALS && PELT_FORM < 3 && PELT_TILTS == 1
    pelt_add_floats(n, pose, head.z, next.z, pelt_at_tilt_sources, pelt_at_tilts + lane, pelt_at_tilt_factors);
#elif PELT_NORMALS && PELT_FORM < 3 && PELT_TILTS == 2
    pelt_add_shorts(n, pose, head.z, next.z, pelt_at_tilt_sources, pelt_at_tilts + lane, pelt_at_tilt_factors);
#endif

#if PELT_NORMALS && !PELT_SCALED
    // Both need the blended matrix, so forming it pays off.
    pelt_row m[4 * PELT_SUMS];
    for (int i = 0; i < 4 * PELT_SUMS; i++) m[i] = pelt_row(0.0);
    for (uint e = head.x; e < next.x; e++) {
        uint matrix = pose + pelt_word(pelt_at_joints + e);
        pelt_row w = pelt_floats(pelt_at_weights + 16u * e + lane);
        PELT_EACH_CHARACTER(c) for (int i = 0; i < 3; i++) {
            vec4 t = pelt_pose(matrix + uint(c) * PELT_STRIDE + uint(i));
            m[12 * c + 4 * i] += w * t.x;
            m[12 * c + 4 * i + 1] += w * t.y;
            m[12 * c + 4 * i + 2] += w * t.z;
            m[12 * c + 4 * i + 3] += w * t.w;
        }
    }
    PELT_EACH_CHARACTER(c) for (int i = 0; i < 3; i++) {
        int r = 12 * c + 4 * i;
        position[3 * c + i] = m[r] * p[3 * c] + (m[r + 1] * p[3 * c + 1] + (m[r + 2] * p[3 * c + 2] + m[r + 3]));
        normal[3 * c + i] = m[r] * n[3 * c] + (m[r + 1] * n[3 * c + 1] + m[r + 2] * n[3 * c + 2]);
    }
#else
    for (uint e = head.x; e < next.x; e++) {
        uint matrix = pose + pelt_word(pelt_at_joints + e);
        pelt_row w = pelt_floats(pelt_at_weights + 16u * e + lane);
        pelt_move(position, p, matrix, w, 1.0);
#if PELT_NORMALS
        pelt_move(normal, n, matrix + pelt_at_normal_matrices, w, 0.0);
#endif
    }
#endif
#if PELT_NORMALS
    PELT_EACH_CHARACTER(c) {
        pelt_row x = normal[3 * c], y = normal[3 * c + 1], z = normal[3 * c + 2];
        pelt_row scale = inversesqrt(x * x + (y * y + (z * z + 1e-30))); // a vanished normal stays 0
        normal[3 * c] = x * scale;
        normal[3 * c + 1] = y * scale;
        normal[3 * c + 2] = z * scale;
    }
#endif
}

// -- Normals of the deformed surface ----------------------------------------------------------------------------------

#if PELT_RINGS > 0

#ifdef PELT_VERTEX
vec3 pelt_point(uint character, uint slot) {
    float p[3], n[3];
    pelt_deform(character * pelt_pose_stride, slot >> 4u, slot & 15u, p, n);
    return vec3(p[0], p[1], p[2]);
}
#else
vec3 pelt_point(uint character, uint slot) {
    uint at = 3u * (16u * character * pelt_block_count + slot);
    return vec3(pelt_positions[at], pelt_positions[at + 1u], pelt_positions[at + 2u]);
}
#endif

// A vector that vanishes stays 0.
vec3 pelt_unit(vec3 a) { return a * inversesqrt(dot(a, a) + 1e-30); }

// acos(c) / sqrt(1 - c^2), from acos(c) = sqrt(1 - c) p(c) for c >= 0, to 7e-5.
float pelt_angle_over_sine(float c) {
    float q = abs(c), p = 1.5707288 + q * (-0.2121144 + q * (0.0742610 + q * -0.0187293));
    float f = p * inversesqrt(1.0 + q);
    return c < 0.0 ? 3.14159265 * inversesqrt(max(1.0 - q * q, 1e-8)) - f : f;
}

vec3 pelt_surface_normal(uint character, uint slot, vec3 own) {
    uint at = pelt_word(pelt_at_ring_first + slot), end = pelt_word(pelt_at_ring_first + slot + 1u);
    vec3 sum = vec3(0.0), before = vec3(0.0);
    for (; at < end; at++) {
        vec3 edge = pelt_point(character, pelt_word(pelt_at_rings + at)) - own;
#if PELT_RINGS == 2
        edge = pelt_unit(edge);
        before *= pelt_angle_over_sine(dot(before, edge));
#endif
        sum += cross(before, edge);
        before = edge;
    }
    vec3 normal = pelt_unit(sum * uintBitsToFloat(pelt_ring_scale));
#if PELT_BENDS
    uint bend = pelt_at_bends + 64u * (slot >> 4u) + (slot & 15u);
    vec3 to = pelt_point(character, pelt_word(bend + 48u)) - own, across = pelt_unit(to - normal * dot(normal, to));
    normal = pelt_unit(pelt_floats(bend) * across +
                       (pelt_floats(bend + 16u) * cross(normal, across) + pelt_floats(bend + 32u) * normal));
#endif
    return normal;
}

#endif

#ifdef PELT_VERTEX

// -- For vertex shaders: slot gl_VertexID of character gl_InstanceID, for instance --------------------------------------

void pelt_vertex(uint slot, uint character, out vec3 position, out vec3 normal) {
#if PELT_RINGS > 0
    position = pelt_point(character, slot);
    normal = pelt_surface_normal(character, slot, position);
#else
    float p[3], n[3];
    pelt_deform(character * pelt_pose_stride, slot >> 4u, slot & 15u, p, n);
    position = vec3(p[0], p[1], p[2]);
    normal = vec3(n[0], n[1], n[2]);
#endif
}

#elif defined(PELT_SHADE)

// -- The second compute shader ----------------------------------------------------------------------------------------

void main() {
    uint slot = gl_GlobalInvocationID.x, character = gl_WorkGroupID.y;
    if (slot >= 16u * pelt_block_count) return;
    vec3 normal = pelt_surface_normal(character, slot, pelt_point(character, slot));
    uint at = 3u * (16u * character * pelt_block_count + slot);
    pelt_normals[at] = normal.x;
    pelt_normals[at + 1u] = normal.y;
    pelt_normals[at + 2u] = normal.z;
}

#else

// -- The compute shader -----------------------------------------------------------------------------------------------

#if PELT_LANES == 4
#define PELT_STORE(to, at, p)                                                                                          \
    to[at] = vec4(p[0].x, p[1].x, p[2].x, p[0].y);                                                                     \
    to[at + 1u] = vec4(p[1].y, p[2].y, p[0].z, p[1].z);                                                                \
    to[at + 2u] = vec4(p[2].z, p[0].w, p[1].w, p[2].w);
#else
#define PELT_STORE(to, at, p)                                                                                          \
    to[at] = p[0];                                                                                                     \
    to[at + 1u] = p[1];                                                                                                \
    to[at + 2u] = p[2];
#endif

// thread: among all of the blocks, PELT_LANES vertices each.
void pelt_run(uint thread, uint pose, uint first, uint count) {
    uint slot = thread * uint(PELT_LANES), block = slot >> 4u;
    pelt_row position[PELT_SUMS], normal[PELT_SUMS];
#if PELT_SPLIT > 1
    pelt_deform(pose, min(block, pelt_block_count - 1u), slot & 15u, position, normal); // all threads meet in there
    if (block >= pelt_block_count || PELT_PART > 0u) return;
#else
    if (block >= pelt_block_count) return;
    pelt_deform(pose, block, slot & 15u, position, normal);
#endif
    PELT_EACH_CHARACTER(c) {
        if (uint(c) >= count) continue;
        uint at = ((first + uint(c)) * pelt_block_count * uint(16 / PELT_LANES) + thread) * 3u;
        pelt_row p[3], n[3];
        for (int i = 0; i < 3; i++) {
            p[i] = position[3 * c + i];
            n[i] = normal[3 * c + i];
        }
        PELT_STORE(pelt_positions, at, p)
#if PELT_NORMALS
        PELT_STORE(pelt_normals, at, n)
#endif
    }
}

void main() {
    uint local = gl_LocalInvocationID.x;
#if PELT_SHARED > 0
    uint first = gl_WorkGroupID.y * uint(PELT_SHARED), count = min(pelt_character_count - first, uint(PELT_SHARED));
    for (uint c = 0u; c < count; c++)
        for (uint i = local; i < uint(PELT_SHARED_STRIDE); i += uint(PELT_THREADS))
            pelt_shared[c * uint(PELT_SHARED_STRIDE) + i] = pelt_poses[(first + c) * pelt_pose_stride + i];
    barrier();
    for (uint pass = 0u; pass < uint(PELT_PASSES); pass++) {
        uint thread = (gl_WorkGroupID.x * uint(PELT_PASSES) + pass) * PELT_VERTICES + local % PELT_VERTICES;
        for (uint c = 0u; c < count; c += uint(PELT_CHARACTERS)) {
            pelt_run(thread, c * uint(PELT_SHARED_STRIDE), first + c, count - c);
#if PELT_SPLIT > 1
            barrier(); // before the next exchange
#endif
        }
    }
#else
    uint first = gl_WorkGroupID.y * uint(PELT_CHARACTERS);
    pelt_run(gl_WorkGroupID.x * PELT_VERTICES + local % PELT_VERTICES, first * pelt_pose_stride, first,
             pelt_character_count - first);
#endif
}

#endif
