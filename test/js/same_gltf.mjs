// same_gltf.mjs [--MADE...] BEFORE AFTER: what differs between two glTF files, whatever the order of their arrays and the way
// their bytes are stored. References to accessors and pictures are replaced by what they refer to, bytes and all; then the
// trees are compared. Exit 1 when something differs that was not made anew as the words say, or when nothing was.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const SIZES = { 5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4 };
const PARTS = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT2: 4, MAT3: 9, MAT4: 16 };
const hash = (bytes) => createHash("sha1").update(bytes).digest("hex").slice(0, 12);

function load(path) {
  const file = readFileSync(path);
  if (file.toString("latin1", 0, 4) !== "glTF") return { json: JSON.parse(file), chunk: null, path, buffers: [] };
  const length = file.readUInt32LE(12);
  return { json: JSON.parse(file.toString("utf8", 20, 20 + length)), chunk: file.subarray(28 + length), path, buffers: [] };
}

const fromUri = (uri, path) =>
  uri.startsWith("data:") ? Buffer.from(uri.slice(uri.indexOf(",") + 1), "base64") : readFileSync(join(dirname(path), decodeURIComponent(uri)));

// Cached, because every accessor asks.
function bufferBytes({ json, chunk, path, buffers }, index) {
  const { uri, byteLength } = json.buffers[index];
  buffers[index] ??= (uri ? fromUri(uri, path) : chunk).subarray(0, byteLength);
  return buffers[index];
}

function viewBytes(file, index) {
  const { buffer, byteOffset = 0, byteLength } = file.json.bufferViews[index];
  return bufferBytes(file, buffer).subarray(byteOffset, byteOffset + byteLength);
}

// The elements of an accessor one after the other, sparse ones in their places.
function elements(file, accessor) {
  const { bufferView, byteOffset = 0, componentType, type, count, sparse } = accessor;
  const size = SIZES[componentType] * PARTS[type];
  const out = Buffer.alloc(size * count);
  if (bufferView !== undefined) {
    const bytes = viewBytes(file, bufferView);
    const stride = file.json.bufferViews[bufferView].byteStride ?? size;
    for (let i = 0; i < count; i++) bytes.copy(out, i * size, byteOffset + i * stride, byteOffset + i * stride + size);
  }
  if (sparse) {
    const { indices, values } = sparse;
    const where = elements(file, { ...indices, type: "SCALAR", count: sparse.count });
    const what = elements(file, { ...values, componentType, type, count: sparse.count });
    const width = SIZES[indices.componentType];
    for (let i = 0; i < sparse.count; i++) what.copy(out, where.readUIntLE(i * width, width) * size, i * size, (i + 1) * size);
  }
  return out;
}

// The tree with everything that it refers to by number, apart from what is looked up by its place (nodes, meshes, ...).
function resolve(file) {
  const { json } = file;
  const known = new Map();
  const accessor = (index) => {
    if (index === undefined) return undefined;
    if (!known.has(index)) {
      const { bufferView, byteOffset, sparse, ...rest } = json.accessors[index];
      known.set(index, { ...rest, bytes: hash(elements(file, json.accessors[index])) });
    }
    return known.get(index);
  };
  const all = (object) => Object.fromEntries(Object.entries(object).map(([key, index]) => [key, accessor(index)]));
  const { accessors, bufferViews, buffers, ...tree } = structuredClone(json);
  for (const primitive of (tree.meshes ?? []).flatMap(({ primitives }) => primitives)) {
    primitive.attributes = all(primitive.attributes);
    if (primitive.indices !== undefined) primitive.indices = accessor(primitive.indices);
    if (primitive.targets) primitive.targets = primitive.targets.map(all);
  }
  for (const skin of tree.skins ?? []) skin.inverseBindMatrices = accessor(skin.inverseBindMatrices);
  for (const { channels, samplers } of tree.animations ?? []) {
    for (const channel of channels) {
      const { input, output, ...rest } = samplers[channel.sampler];
      channel.sampler = { ...rest, input: accessor(input), output: accessor(output) };
    }
    samplers.length = 0;
  }
  for (const image of tree.images ?? []) {
    const bytes = image.uri ? fromUri(image.uri, file.path) : viewBytes(file, image.bufferView);
    for (const key of ["uri", "bufferView", "mimeType"]) delete image[key];
    image.bytes = hash(bytes);
  }
  const embedded = tree.extensions?.PELT_skin;
  if (embedded) embedded.bufferView = hash(viewBytes(file, embedded.bufferView));
  return tree;
}

function* differences(a, b, path = "") {
  if (a === b) return;
  const both = [a, b];
  if (both.some((x) => typeof x !== "object" || x === null) || Array.isArray(a) !== Array.isArray(b)) yield path;
  else for (const key of new Set(both.flatMap(Object.keys))) yield* differences(a[key], b[key], `${path}/${key}`);
}

// Bytes of the buffers outside any view, beyond padding.
function unseen(file) {
  let total = 0;
  (file.json.buffers ?? []).forEach((buffer, index) => {
    const seen = Buffer.alloc(buffer.byteLength);
    for (const { buffer: of, byteOffset = 0, byteLength } of file.json.bufferViews) {
      if (of === index) seen.fill(1, byteOffset, byteOffset + byteLength);
    }
    total += seen.reduce((sum, byte) => sum + (byte ? 0 : 1), 0);
  });
  return total - 3 * (file.json.bufferViews?.length ?? 0);
}

// -- What may differ ----------------------------------------------------------------------------------------------------

const at = (tree, path) => path.split("/").slice(1).reduce((value, key) => value?.[key], tree);
const begins = (path, depth) => path.split("/").slice(0, depth + 1).join("/");
const isNew = (path, [before]) => at(before, path) === undefined;

const MADE = {
  "--embed": (path, trees) => /^\/extensions(Used(\/\d+)?)?(\/PELT_skin.*)?$/.test(path) && isNew(path, trees),
  "--weights": (path, trees) =>
    /^\/meshes\/\d+\/primitives\/\d+\/attributes\/(JOINTS|WEIGHTS)_\d/.test(path) ||
    /^\/skins\/\d+\/inverseBindMatrices\//.test(path) ||
    (/^\/(nodes\/\d+\/skin|skins\/\d+(\/joints\/\d+)?)$/.test(path) && isNew(path, trees)),
  "--targets": (path, trees) =>
    (/^\/(meshes\/\d+\/(primitives\/\d+\/targets|extras|weights)|nodes\/\d+\/weights)/.test(path) && isNew(path, trees)) ||
    (/^\/animations\/\d+\/channels\//.test(path) && /^(weights|undefined)$/.test(at(trees[0], `${begins(path, 4)}/target/path`))),
  // A mesh whose node is a joint moves to a new child of it.
  "--leaves": (path, trees) => {
    if (/^\/nodes\/\d+$/.test(path)) return isNew(path, trees);
    if (/^\/nodes\/\d+\/(mesh|skin|weights)$/.test(path)) return at(trees[1], path) === undefined;
    const [before, after] = trees.map((tree) => at(tree, `${begins(path, 2)}/children`));
    return /^\/nodes\/\d+\/children/.test(path) && `${after.slice(1)}` === `${before ?? ""}`;
  },
  "--rest": (path) => /^\/meshes\/\d+\/primitives\/\d+\/attributes\/(POSITION|NORMAL)\//.test(path),
  // Nodes for new joints, under those of the file.
  "--joints": (path, trees) =>
    /^\/skins\/\d+\/skeleton$/.test(path) || (/^\/nodes\/\d+(\/children(\/\d+)?)?$/.test(path) || /^\/animations\/\d+\/channels\/\d+$/.test(path)) && isNew(path, trees),
  // The only animation whose joints rest: targets show its frames.
  "--played": (path, trees) => /^\/animations\/\d+\/channels\//.test(path) && at(trees[0], begins(path, 2)).name === process.env.PLAYED,
};

const flags = process.argv.slice(2).filter((word) => word.startsWith("--"));
const [before, after] = process.argv.slice(2 + flags.length).map(load);
const trees = [before, after].map(resolve);
const found = [...differences(...trees)];
const strange = found.filter((path) => !flags.some((flag) => MADE[flag](path, trees)));
const missing = flags.filter((flag) => !found.some((path) => MADE[flag](path, trees)));
const waste = unseen(after) - Math.max(unseen(before), 0);
console.log(`${after.path}: ${found.length} differences, ${strange.length} that should not be` +
  `${missing.length ? `; nothing of ${missing} was made` : ""}${waste > 0 ? `; ${waste} bytes that nothing uses` : ""}`);
for (const path of strange.slice(0, 5)) console.log(`  ${path}`);
process.exit(strange.length || missing.length || waste > 0 ? 1 : 0);
