// vertices.ts: which vertex is under the pointer, and which joint moves each most.

import type { Skin } from 'pelt-wasm';

// The nearest triangle that a ray meets, from either side (Möller & Trumbore 1997), and of its corners the one closest to
// where it is met; -1: none. Vectors are x y z.
export function vertexAlong(origin: ArrayLike<number>, direction: ArrayLike<number>, positions: ArrayLike<number>, indices: ArrayLike<number>): number {
  const [ox, oy, oz] = [origin[0]!, origin[1]!, origin[2]!];
  const [dx, dy, dz] = [direction[0]!, direction[1]!, direction[2]!];
  let nearest = Infinity, vertex = -1;
  for (let t = 0; t < indices.length; t += 3) {
    const a = 3 * indices[t]!, b = 3 * indices[t + 1]!, c = 3 * indices[t + 2]!;
    const ax = positions[a]!, ay = positions[a + 1]!, az = positions[a + 2]!;
    const ex = positions[b]! - ax, ey = positions[b + 1]! - ay, ez = positions[b + 2]! - az;
    const fx = positions[c]! - ax, fy = positions[c + 1]! - ay, fz = positions[c + 2]! - az;
    const px = dy * fz - dz * fy, py = dz * fx - dx * fz, pz = dx * fy - dy * fx;
    const area = ex * px + ey * py + ez * pz;
    if (area === 0) continue;
    const sx = ox - ax, sy = oy - ay, sz = oz - az;
    const u = (sx * px + sy * py + sz * pz) / area;
    if (!(u >= 0 && u <= 1)) continue;
    const qx = sy * ez - sz * ey, qy = sz * ex - sx * ez, qz = sx * ey - sy * ex;
    const v = (dx * qx + dy * qy + dz * qz) / area;
    if (!(v >= 0 && u + v <= 1)) continue;
    const distance = (fx * qx + fy * qy + fz * qz) / area;
    if (!(distance > 0 && distance < nearest)) continue;
    nearest = distance;
    const shares = [1 - u - v, u, v];
    vertex = indices[t + shares.indexOf(Math.max(...shares))]!;
  }
  return vertex;
}

// Without triangles: the point closest to the ray.
export function pointAlong(origin: ArrayLike<number>, direction: ArrayLike<number>, positions: ArrayLike<number>, within: number): number {
  const length = Math.hypot(direction[0]!, direction[1]!, direction[2]!);
  let nearest = within, vertex = -1;
  for (let i = 0; i < positions.length; i += 3) {
    const x = positions[i]! - origin[0]!, y = positions[i + 1]! - origin[1]!, z = positions[i + 2]! - origin[2]!;
    const along = (x * direction[0]! + y * direction[1]! + z * direction[2]!) / length;
    const apart = Math.sqrt(Math.max(0, x * x + y * y + z * z - along * along)) / Math.max(along, 1e-9);
    if (along > 0 && apart < nearest) [nearest, vertex] = [apart, i / 3];
  }
  return vertex;
}

// The joint of the skeleton that a number of the weights stands for: a driven joint counts as the one that drives it.
export const joinedTo = (skin: Skin, joint: number) => (joint < skin.jointCount ? joint : skin.driven[joint - skin.jointCount]!.driver);

// The joint that moves each vertex most; -1: none.
export function dominantJoints(skin: Skin): Int32Array {
  return Int32Array.from({ length: skin.vertexCount }, (_, vertex) => {
    const strongest = skin.weightsAt(vertex)[0];
    return strongest ? joinedTo(skin, strongest.joint) : -1;
  });
}

export interface Region {
  joint: number;
  vertices: number[];
  rms: number | null; // in the frame that is shown
  max: number | null;
  clip: number | null; // rms over all frames of the clip
}

// Root mean squares of distances, joint by joint. `overClip` has one for each vertex; null: unknown.
export function regionErrors(joints: ArrayLike<number>, now: ArrayLike<number> | null, overClip: ArrayLike<number> | null): Region[] {
  const regions = new Map<number, Region>();
  const squares = new Map<Region, { now: number; clip: number }>();
  for (let v = 0; v < joints.length; v++) {
    const joint = joints[v]!;
    const region = regions.get(joint) ?? { joint, vertices: [], rms: null, max: null, clip: null };
    const sums = squares.get(region) ?? { now: 0, clip: 0 };
    regions.set(joint, region);
    squares.set(region, sums);
    region.vertices.push(v);
    if (now) {
      sums.now += now[v]! ** 2;
      region.max = Math.max(region.max ?? 0, now[v]!);
    }
    if (overClip) sums.clip += overClip[v]! ** 2;
  }
  for (const [region, sums] of squares) {
    if (now) region.rms = Math.sqrt(sums.now / region.vertices.length);
    if (overClip) region.clip = Math.sqrt(sums.clip / region.vertices.length);
  }
  return [...regions.values()];
}
