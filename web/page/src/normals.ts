// normals.ts: smooth normals of a true surface, which has only positions.
//
// Vertices with the same position and normal in the rest mesh shade as one, so their triangles are summed together here
// too. Where the file's normals differ, the edge is hard and stays so.

import type { MeshData } from './data';

// Any function of the three words would do; this one spreads them.
function spread(x: number, y: number, z: number): number {
  const mixed = Math.imul(x, 0x9e3779b1) ^ Math.imul(y, 0x85ebca6b) ^ Math.imul(z, 0xc2b2ae35);
  return mixed ^ (mixed >>> 15);
}

// The first vertex that each one shades as one with. Hashed by hand: a Map of strings would dominate start-up time.
export function shadedAsOne({ vertices, positions, normals }: MeshData): Uint32Array {
  const first = new Uint32Array(vertices);
  let size = 16;
  while (size < 2 * vertices) size *= 2;
  const table = new Int32Array(size).fill(-1);
  const places = new Int32Array(positions.buffer, positions.byteOffset, positions.length);
  const NEAR = 0.002; // of normals, about a tenth of a degree
  const same = (a: number, b: number) => {
    for (let i = 0; i < 3; i++) {
      if (positions[3 * a + i] !== positions[3 * b + i] || Math.abs(normals[3 * a + i]! - normals[3 * b + i]!) > NEAR) return false;
    }
    return true;
  };
  for (let v = 0; v < vertices; v++) {
    let at = spread(places[3 * v]!, places[3 * v + 1]!, places[3 * v + 2]!) & (size - 1);
    while (table[at]! >= 0 && !same(table[at]!, v)) at = (at + 1) & (size - 1);
    if (table[at]! < 0) table[at] = v;
    first[v] = table[at]!;
  }
  return first;
}

export function smoothNormals(indices: Uint32Array, first: Uint32Array, positions: Float32Array, normals: Float32Array) {
  normals.fill(0);
  for (let t = 0; t < indices.length; t += 3) {
    const ia = indices[t]!, ib = indices[t + 1]!, ic = indices[t + 2]!;
    const a = 3 * ia, b = 3 * ib, c = 3 * ic;
    const ax = positions[a]!, ay = positions[a + 1]!, az = positions[a + 2]!;
    const ux = positions[b]! - ax, uy = positions[b + 1]! - ay, uz = positions[b + 2]! - az;
    const vx = positions[c]! - ax, vy = positions[c + 1]! - ay, vz = positions[c + 2]! - az;
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    const fa = 3 * first[ia]!, fb = 3 * first[ib]!, fc = 3 * first[ic]!;
    normals[fa]! += nx; normals[fa + 1]! += ny; normals[fa + 2]! += nz;
    normals[fb]! += nx; normals[fb + 1]! += ny; normals[fb + 2]! += nz;
    normals[fc]! += nx; normals[fc + 1]! += ny; normals[fc + 2]! += nz;
  }
  for (let v = 0; v < first.length; v++) {
    const i = 3 * v, f = 3 * first[v]!;
    if (f !== i) { // the first precedes its twins and is already normalised
      normals[i] = normals[f]!; normals[i + 1] = normals[f + 1]!; normals[i + 2] = normals[f + 2]!;
      continue;
    }
    const x = normals[i]!, y = normals[i + 1]!, z = normals[i + 2]!;
    const length = Math.sqrt(x * x + y * y + z * z) || 1;
    normals[i] = x / length; normals[i + 1] = y / length; normals[i + 2] = z / length;
  }
}
