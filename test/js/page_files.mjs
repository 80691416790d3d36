// page_files.mjs: files for the page's tests: the built-in arm, small and large, and a quad of two triangles with a texture
// of four colours, whose names are as hostile as names can be.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

export const MARKUP = "<img src=x onerror=alert(1)>";
export const LARGE = 46036;

function chunk(type, body) {
  const head = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const out = Buffer.alloc(head.length + 8);
  out.writeUInt32BE(body.length, 0);
  head.copy(out, 4);
  out.writeUInt32BE(checksum(head), head.length + 4);
  return out;
}

// zlib.crc32 came with node 20; 18 has none.
function checksum(bytes) {
  if (crc32) return crc32(bytes);
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let i = 0; i < 8; i++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

// rows: of [r, g, b].
function png(rows) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(rows[0].length, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, 2], 8);
  const body = Buffer.concat(rows.map((row) => Buffer.from([0, ...row.flat()])));
  return Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", header), chunk("IDAT", deflateSync(body)), chunk("IEND", Buffer.alloc(0))]);
}

export const COLOURS = [[[220, 30, 30], [30, 200, 40]], [[40, 60, 230], [230, 220, 40]]]; // of the texture, from the top

// A quad from (-1, -1) to (1, 1), facing +z, bound to one joint. Its texture's upper left is at (-1, 1).
function quad() {
  const parts = [];
  const views = [];
  const add = (bytes) => {
    const buffer = Buffer.from(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength ?? bytes.length);
    views.push({ buffer: 0, byteOffset: parts.reduce((sum, part) => sum + part.length, 0), byteLength: buffer.length });
    parts.push(buffer, Buffer.alloc((4 - (buffer.length % 4)) % 4));
    return views.length - 1;
  };
  const floats = (list, type, more = {}) => ({ bufferView: add(Float32Array.from(list)), componentType: 5126, count: list.length / { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 }[type], type, ...more });
  const accessors = [
    floats([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0], "VEC3", { min: [-1, -1, 0], max: [1, 1, 0] }),
    floats([0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1], "VEC3"),
    floats([0, 1, 1, 1, 1, 0, 0, 0], "VEC2"),
    { bufferView: add(Uint8Array.from({ length: 16 }, () => 0)), componentType: 5121, count: 4, type: "VEC4" },
    floats([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], "VEC4"),
    { bufferView: add(Uint16Array.from([0, 1, 2, 0, 2, 3])), componentType: 5123, count: 6, type: "SCALAR" },
    floats([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], "MAT4"),
    floats([0, 1], "SCALAR", { min: [0], max: [1] }),
    floats([0, 0, 0, 1, 0, 0, 0.1, 0.995], "VEC4"),
  ];
  const image = add(png(COLOURS));
  const json = {
    asset: { version: "2.0" }, scene: 0, scenes: [{ nodes: [0, 1] }],
    nodes: [{ name: MARKUP }, { name: "quad", mesh: 0, skin: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0, NORMAL: 1, TEXCOORD_0: 2, JOINTS_0: 3, WEIGHTS_0: 4 }, indices: 5, material: 0 }] }],
    skins: [{ joints: [0], inverseBindMatrices: 6 }],
    materials: [{ name: MARKUP, pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }],
    samplers: [{ magFilter: 9728, minFilter: 9728 }],
    textures: [{ source: 0, sampler: 0 }], images: [{ bufferView: image, mimeType: "image/png" }],
    animations: [{ name: MARKUP, samplers: [{ input: 7, output: 8 }], channels: [{ sampler: 0, target: { node: 0, path: "rotation" } }] }],
    accessors, bufferViews: views, buffers: [{ byteLength: parts.reduce((sum, part) => sum + part.length, 0) }],
  };
  return glb(json, Buffer.concat(parts));
}

function glb(json, binary) {
  const text = Buffer.from(JSON.stringify(json));
  const padded = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, 0x20)]);
  const word = (...numbers) => Buffer.from(Uint32Array.from(numbers).buffer);
  return Buffer.concat([word(0x46546c67, 2, 28 + padded.length + binary.length), word(padded.length, 0x4e4f534a), padded, word(binary.length, 0x004e4942), binary]);
}

// Writes them, unless they are there; returns the arguments for `pelt view`.
export function makeFiles(pelt, folder) {
  const files = ["large/arm.glb", "large/large.pelt", "look/arm.glb", "look/ssd.pelt", "look/eigen.pelt", "look/psd.pelt", "quad/quad.glb", "quad/<b>ssd.pelt"].map((name) => join(folder, name));
  if (files.every(existsSync)) return files;
  const run = (...words) => execFileSync(pelt, [...words, "--quiet"], { cwd: folder });
  run("sample", "arm", "-o", "look", "--vertices", "2972", "--frames", "24");
  for (const method of ["ssd", "eigen", "psd"]) run("fit", "look/arm.glb", "--train", "train", "--method", method, "--holdout", "0", "-o", `look/${method}.pelt`);
  run("sample", "arm", "-o", "large", "--vertices", String(LARGE), "--frames", "8");
  run("fit", "large/arm.glb", "--train", "train", "--method", "psd", "--holdout", "0", "-o", "large/large.pelt");
  mkdirSync(join(folder, "quad"));
  writeFileSync(join(folder, "quad/quad.glb"), quad());
  run("fit", "quad/quad.glb", "--method", "ssd", "-o", "quad/<b>ssd.pelt");
  return files;
}
