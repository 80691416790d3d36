// skin.wgsl: pelt's equation as a compute shader for WebGPU,
//
//     v = (sum_j w_j T_j) (v0 + D),   n = normalize((sum_j w_j T_j^-T) (n0 + N))
//
// or, for skins with rings, the n of the deformed surface,
// on the words that gpu/skin.glsl reads (docs/howto-gpu.md says what they are), one thread for each slot and character.
// Unlike there the output is in the order of the file. These constants are prepended, as numbers or booleans:
//
//     FORM       D: 0 none, 1 rows of floats, 2 rows in 16 bits, 3 weighted in floats, 4 weighted in 16 bits
//     TILTS      N: 0 none, 1 in floats, 2 in 16 bits (forms 3 and 4: like the rows)
//     NORMALS    with normals of the blend;  SCALED  joints may scale, normals have separate matrices
//     PHI        forms 3 and 4: 0 exponential, 1 Gaussian, 2 mixed;  PARTS  3, or 4 with a norm
//     RINGS      normals of the surface, by `shade` after `main`: 1 triangles count by area, 2 by angle;  BENDS  bent ones
//     THREADS    per work group

struct Numbers {
    block_count: u32, character_count: u32, pose_stride: u32, distance_stride: u32,
    heads: u32, joints: u32, weights: u32, rest: u32,
    rest_normals: u32, row_sources: u32, rows: u32, tilt_sources: u32,
    tilts: u32, axes: u32, axis_weights: u32, steps: u32,
    row_factors: u32, tilt_factors: u32, normal_matrices: u32, factor_scales: u32,
    ring_first: u32, rings: u32, ring_scale: f32, bends: u32,
    level: u32, ends: u32, zero: u32, zero_too: u32,
}

@group(0) @binding(0) var<uniform> places: Numbers;
@group(0) @binding(1) var<storage, read> skin: array<u32>;
@group(0) @binding(2) var<storage, read> poses: array<vec4f>;
@group(0) @binding(3) var<storage, read> slot_vertices: array<u32>; // 0xffffffff: none
@group(0) @binding(4) var<storage, read_write> positions: array<f32>;
@group(0) @binding(5) var<storage, read_write> normals: array<f32>;

// -- Where numbers come from ------------------------------------------------------------------------------------------

fn number(at: u32) -> f32 { return bitcast<f32>(skin[at]); }
fn three_words(at: u32) -> vec3u { return vec3u(skin[at], skin[at + 16u], skin[at + 32u]); }
fn three(at: u32) -> vec3f { return bitcast<vec3f>(three_words(at)); }
fn four_words(at: u32) -> vec4u { return vec4u(skin[at], skin[at + 1u], skin[at + 2u], skin[at + 3u]); }
fn pose_number(pose: u32, at: u32) -> f32 { return poses[pose + (at >> 2u)][at & 3u]; }

// -- The corrective: rows ---------------------------------------------------------------------------------------------

fn add_floats(start: vec3f, pose: u32, first: u32, end: u32, sources: u32, rows: u32, factors: u32) -> vec3f {
    var sum = start;
    for (var r = first; r < end; r++) {
        sum += pose_number(pose, factors + skin[sources + r]) * three(rows + 48u * r);
    }
    return sum;
}

// Words have two numbers of 16 bits, the first is the lower half; their factors follow each other.
fn add_shorts(start: vec3f, pose: u32, first: u32, end: u32, sources: u32, rows: u32, factors: u32) -> vec3f {
    var sum = start;
    for (var r = first; r < end; r++) {
        let source = factors + skin[sources + r];
        let words = bitcast<vec3i>(three_words(rows + 48u * r));
        let lower = vec3f((words << vec3u(16u)) >> vec3u(16u));
        let upper = vec3f(words >> vec3u(16u));
        sum += pose_number(pose, source) * lower + pose_number(pose, source + 1u) * upper;
    }
    return sum;
}

fn add_rows(kind: u32, start: vec3f, pose: u32, first: u32, end: u32, sources: u32, rows: u32, factors: u32) -> vec3f {
    if (kind == 1u) { return add_floats(start, pose, first, end, sources, rows, factors); }
    if (kind == 2u) { return add_shorts(start, pose, first, end, sources, rows, factors); }
    return start;
}

// -- The corrective: a pose distance at every vertex ------------------------------------------------------------------

struct Moved { point: vec3f, normal: vec3f }

fn phi(q: vec4f) -> vec4f {
    if (PHI == 1u) { return exp2(q); }
    let root = sqrt(max(-q, vec4f(0.0)));
    if (PHI == 0u) { return exp2(-root); }
    return 0.97 * exp2(q) + 0.03 * exp2(-1.6986436 * root);
}

// One number of a centre. In 16 bits the second of two numbers is read from all 32 bits of both.
fn center_number(at: u32, k: u32, stride: u32) -> f32 {
    if (FORM == 3u) { return number(at + k * stride); }
    let words = bitcast<i32>(skin[at + (k >> 1u) * stride]);
    return f32(select(words, words << 16u, (k & 1u) == 0u));
}

fn center_sum(p: vec4f, at: u32, stride: u32) -> f32 {
    return p.x * center_number(at, 0u, stride) + p.y * center_number(at, 1u, stride) +
           p.z * center_number(at, 2u, stride) + p.w * center_number(at, 3u, stride);
}

fn guard_of(s: f32) -> f32 { return min(max(s, 0.0), 0.25) * 4.0 / max(s, 0.25); }

fn add_weighted(start: Moved, pose: u32, block: u32, lane: u32, head: vec4u, next: vec4u) -> Moved {
    var sum = vec4f(0.0);
    var tilt = vec3f(0.0);
    let four = select(32u, 64u, FORM == 3u); // words of four centres, for each part
    for (var g = head.y; g < next.y; g++) {
        let centers = four_words(places.row_sources + 4u * g);
        var q = vec4f(0.0);
        for (var e = head.w; e < next.w; e++) {
            let axis = skin[places.axes + e];
            let at = vec4u(axis) + centers;
            q += number(places.axis_weights + 16u * e + lane) *
                 vec4f(pose_number(pose, at.x), pose_number(pose, at.y), pose_number(pose, at.z), pose_number(pose, at.w));
        }
        let p = phi(q);
        let rows = places.rows + g * four * PARTS + lane;
        sum.x += center_sum(p, rows, 16u * PARTS);
        sum.y += center_sum(p, rows + 16u, 16u * PARTS);
        sum.z += center_sum(p, rows + 32u, 16u * PARTS);
        if (PARTS == 4u) { sum.w += center_sum(p, rows + 48u, 16u * PARTS); }
        if (NORMALS && TILTS > 0u) {
            let tilts = places.tilts + g * four * 3u + lane;
            tilt += vec3f(center_sum(p, tilts, 48u), center_sum(p, tilts + 16u, 48u), center_sum(p, tilts + 32u, 48u));
        }
    }
    var steps = vec4f(1.0);
    if (FORM == 4u) { steps = bitcast<vec4f>(four_words(places.steps + 4u * block)); }
    var guard = 1.0;
    if (PARTS == 4u) { guard = guard_of(sum.w * steps.y); }
    if (places.level > 0u) { guard *= pose_number(pose, places.level + 1u); }
    return Moved(start.point + sum.xyz * (guard * steps.x), start.normal + tilt * (guard * steps.z));
}

// -- The blend --------------------------------------------------------------------------------------------------------

fn moved_by(matrix: u32, p: vec4f) -> vec3f {
    return vec3f(dot(poses[matrix], p), dot(poses[matrix + 1u], p), dot(poses[matrix + 2u], p));
}

fn deform(pose: u32, block: u32, lane: u32) -> Moved {
    let head = four_words(places.heads + 4u * block);
    var next = four_words(places.heads + 4u * block + 4u);
    if (places.level > 0u) {
        let level = u32(pose_number(pose, places.level));
        if (level > 0u) {
            let ends = places.ends + 2u * ((level - 1u) * places.block_count + block);
            next = vec4u(next.x, skin[ends], skin[ends + 1u], next.w);
        }
    }
    var rest = Moved(three(places.rest + 48u * block + lane), vec3f(0.0));
    if (NORMALS) { rest.normal = three(places.rest_normals + 48u * block + lane); }
    if (FORM >= 3u) {
        rest = add_weighted(rest, pose, block, lane, head, next);
    } else {
        rest.point = add_rows(FORM, rest.point, pose, head.y, next.y, places.row_sources, places.rows + lane,
                              places.row_factors);
        if (NORMALS) {
            rest.normal = add_rows(TILTS, rest.normal, pose, head.z, next.z, places.tilt_sources, places.tilts + lane,
                                   places.tilt_factors);
        }
    }
    var out = Moved(vec3f(0.0), vec3f(0.0));
    for (var e = head.x; e < next.x; e++) {
        let matrix = pose + skin[places.joints + e];
        let w = number(places.weights + 16u * e + lane);
        out.point += w * moved_by(matrix, vec4f(rest.point, 1.0));
        if (NORMALS) {
            out.normal += w * moved_by(select(matrix, matrix + places.normal_matrices, SCALED), vec4f(rest.normal, 0.0));
        }
    }
    if (NORMALS) { out.normal *= inverseSqrt(dot(out.normal, out.normal) + 1e-30); } // a vanished normal stays 0
    return out;
}

// -- Shaders ----------------------------------------------------------------------------------------------------------

// Where the output of a vertex is.
fn place_of(character: u32, vertex: u32) -> u32 {
    return character * (arrayLength(&positions) / places.character_count) + 3u * vertex;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let slot = id.x + id.y * groups.x * THREADS;
    if ((slot >> 4u) >= places.block_count) { return; }
    let vertex = slot_vertices[slot];
    if (vertex == 0xffffffffu) { return; }
    let moved = deform(id.z * places.pose_stride, slot >> 4u, slot & 15u);
    let at = place_of(id.z, vertex);
    positions[at] = moved.point.x;
    positions[at + 1u] = moved.point.y;
    positions[at + 2u] = moved.point.z;
    if (NORMALS) {
        normals[at] = moved.normal.x;
        normals[at + 1u] = moved.normal.y;
        normals[at + 2u] = moved.normal.z;
    }
}

// -- Normals of the deformed surface ----------------------------------------------------------------------------------

fn point_of(character: u32, slot: u32) -> vec3f {
    let at = place_of(character, slot_vertices[slot]);
    return vec3f(positions[at], positions[at + 1u], positions[at + 2u]);
}

// A vector that vanishes stays 0.
fn unit(a: vec3f) -> vec3f { return a * inverseSqrt(dot(a, a) + 1e-30); }

// acos(c) / sqrt(1 - c^2), from acos(c) = sqrt(1 - c) p(c) for c >= 0, to 7e-5.
fn angle_over_sine(c: f32) -> f32 {
    let q = abs(c);
    let f = (1.5707288 + q * (-0.2121144 + q * (0.0742610 + q * -0.0187293))) * inverseSqrt(1.0 + q);
    return select(f, 3.14159265 * inverseSqrt(max(1.0 - q * q, 1e-8)) - f, c < 0.0);
}

fn surface_normal(character: u32, slot: u32) -> vec3f {
    let own = point_of(character, slot);
    var sum = vec3f(0.0);
    var before = vec3f(0.0);
    for (var at = skin[places.ring_first + slot]; at < skin[places.ring_first + slot + 1u]; at++) {
        var edge = point_of(character, skin[places.rings + at]) - own;
        if (RINGS == 2u) {
            edge = unit(edge);
            before *= angle_over_sine(dot(before, edge));
        }
        sum += cross(before, edge);
        before = edge;
    }
    let normal = unit(sum * places.ring_scale);
    if (!BENDS) { return normal; }
    let bend = places.bends + 64u * (slot >> 4u) + (slot & 15u);
    let edge = point_of(character, skin[bend + 48u]) - own;
    let across = unit(edge - normal * dot(normal, edge));
    let bent = three(bend);
    return unit(bent.x * across + (bent.y * cross(normal, across) + bent.z * normal));
}

@compute @workgroup_size(THREADS)
fn shade(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let slot = id.x + id.y * groups.x * THREADS;
    if ((slot >> 4u) >= places.block_count) { return; }
    let vertex = slot_vertices[slot];
    if (vertex == 0xffffffffu) { return; }
    let normal = surface_normal(id.z, slot);
    let at = place_of(id.z, vertex);
    normals[at] = normal.x;
    normals[at + 1u] = normal.y;
    normals[at + 2u] = normal.z;
}
