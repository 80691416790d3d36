// tangents.mjs DUMP...: compares tangents that pelt has made (test/dump_tangents.c) with those of MikkTSpace, which is
// given every corner of every triangle. Exit 1 when a vertex has a tangent that none of its corners has.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const mikktspace = createRequire(import.meta.url)("mikktspace");

function read(file) {
  const bytes = readFileSync(file), [vertices, triangles] = new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 8));
  let at = bytes.byteOffset + 8;
  const take = (type, count) => new type(bytes.buffer.slice(at, (at += 4 * count)));
  if (bytes.length === 8) return { vertices, triangles: 0 };
  return {
    vertices, triangles, positions: take(Float32Array, 3 * vertices), normals: take(Float32Array, 3 * vertices),
    uvs: take(Float32Array, 2 * vertices), tangents: take(Float32Array, 4 * vertices), corners: take(Uint32Array, 3 * triangles),
  };
}

function unroll(corners, values, size) {
  const out = new Float32Array(corners.length * size);
  corners.forEach((v, c) => out.set(values.subarray(size * v, size * v + size), size * c));
  return out;
}

let bad = 0;
for (const file of process.argv.slice(2)) {
  const mesh = read(file);
  if (!mesh.triangles) { console.log(`${file}: no texture`); continue; }
  const { corners } = mesh;
  const theirs = mikktspace.generateTangents(unroll(corners, mesh.positions, 3), unroll(corners, mesh.normals, 3), unroll(corners, mesh.uvs, 2));
  const nearest = new Float64Array(mesh.vertices).fill(Infinity), seen = new Set();
  let square = 0, several = 0;
  corners.forEach((v, c) => {
    const a = mesh.tangents.subarray(4 * v, 4 * v + 4), b = theirs.subarray(4 * c, 4 * c + 4);
    const [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]]; // v points down in glTF, so w is negated
    const gap = a[3] === -b[3] ? 2 * Math.asin(Math.min(Math.hypot(x, y, z) / 2, 1)) * 180 / Math.PI : 180;
    if (gap > 1) several++;
    nearest[v] = Math.min(nearest[v], gap);
    seen.add(v);
  });
  // Triangles whose texture has no area leave MikkTSpace at (1, 0, 0); those vertices are ignored.
  const flat = new Set();
  corners.forEach((v, c) => { if (theirs[4 * c] === 1 && theirs[4 * c + 1] === 0 && theirs[4 * c + 2] === 0) flat.add(v); });
  let worst = 0, count = 0, off = 0;
  for (const v of seen) {
    if (flat.has(v)) continue;
    square += nearest[v] ** 2, count++;
    worst = Math.max(worst, nearest[v]);
    if (nearest[v] > 0.1) off++;
  }
  console.log(`${file}: ${count} vertices, ${Math.sqrt(square / count).toExponential(2)} degrees RMS, worst ${worst.toExponential(2)}, ` +
    `${off} off by more than 0.1; ${several} of ${corners.length} corners have another tangent than their vertex; ${flat.size} without texture`);
  if (off || !count) bad = 1;
}
process.exit(bad);
