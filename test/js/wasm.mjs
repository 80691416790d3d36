// wasm.mjs FORMS.bin: the run time as WebAssembly matches the native one, and its package can be installed. PELT is the
// program, for key points.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { difference, largestGap, posed, readForms } from "./forms.mjs";
import { loadPelt, PeltError } from "../../web/pelt-wasm/dist/index.js";

const PACKAGE = fileURLToPath(new URL("../../web/pelt-wasm/", import.meta.url));
const bytes = readFileSync(process.argv[2]);
const forms = readForms(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const pelt = await loadPelt();
const folder = mkdtempSync(join(tmpdir(), "pelt-wasm-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const formOf = (name) => forms.find((form) => form.name === name) ?? assert.fail(`there is no form ${name}`);
const floats = (count) => new Float32Array(count);

function deformed(pose) {
  const count = 3 * pose.skin.vertexCount, out = { positions: floats(count), normals: floats(count) };
  pose.deform(out.positions, out.normals);
  return out;
}

test("every form gives native positions and normals, within 1e-6 of the diagonal", () => {
  const wrong = [];
  let same = 0, all = 0;
  for (const form of forms) {
    const skin = pelt.open(form.file);
    for (const truth of form.poses) {
      const pose = posed(skin, truth), out = deformed(pose), alone = floats(3 * form.vertices);
      wrong.push(difference(form, truth, out, 1e-6));
      pose.deform(alone);
      if (largestGap(alone, out.positions) > 1e-6 * form.diagonal) wrong.push(`${form.name}: positions without normals differ`);
      all++;
      same += Number(largestGap(out.positions, truth.positions) === 0 && largestGap(out.normals, truth.normals) === 0);
    }
    skin.free();
  }
  assert.deepEqual(wrong.filter(Boolean), []);
  console.log(`# ${same} of ${all} poses are the same bit for bit`);
});

test("output in slot order is the same without a copy", () => {
  const form = formOf("blend"), skin = pelt.open(form.file), pose = posed(skin, form.poses[0]);
  const { positions, normals } = pose.deformSlots({ normals: true });
  const indices = skin.renumberIndices(Uint32Array.from({ length: form.vertices }, (_, v) => v));
  assert.equal(positions.length, 3 * skin.slotCount);
  const gather = (from) =>
    Float32Array.from({ length: 3 * form.vertices }, (_, i) => from[3 * indices[Math.floor(i / 3)] + (i % 3)]);
  const { positions: p, normals: n } = deformed(pose); // overwrites what the views show
  assert.notEqual(largestGap(gather(positions), p), 0);
  pose.deformSlots({ normals: true });
  assert.equal(largestGap(gather(positions), p), 0);
  assert.equal(largestGap(gather(normals), n), 0);
  const uvs = Float32Array.from({ length: 2 * form.vertices }, (_, i) => i), moved = skin.reorderAttribute(uvs, 2);
  assert.equal(moved[2 * indices[17] + 1], 35);
  assert.throws(() => skin.renumberIndices(Uint32Array.of(form.vertices)), /index 3001 is not a vertex of this skin/);
  assert.throws(() => skin.reorderAttribute(uvs, 3), RangeError);
  skin.free();
});

test("a pose is what its joints and controls say, and the box is around it", () => {
  const form = formOf("basis"), skin = pelt.open(form.file), pose = posed(skin, form.poses[1]);
  const out = deformed(pose), { low, high } = pose.box;
  for (let i = 0; i < 3; i++) {
    const along = out.positions.filter((_, at) => at % 3 === i);
    assert.equal(low[i], along.reduce((a, b) => Math.min(a, b)));
    assert.equal(high[i], along.reduce((a, b) => Math.max(a, b)));
  }
  assert.equal(pose.coefficients.length, skin.coefficientCount);
  assert.ok(pose.coefficients.some((a) => a !== 0));
  assert.deepEqual(skin.controls.map(({ name, rest, least, most }) => [name, rest, least, most]),
    [["flex", 0.25, -1, 2], ["smile", -3, -4, -2]]);

  // The chain of matrices, in double: matrices are global times inverse bind.
  const globals = [];
  skin.joints.forEach(({ parent }, j) => {
    const t = [...pose.locals.subarray(10 * j, 10 * j + 10)];
    const local = matrixOf(t.slice(0, 4), t.slice(4, 7), t.slice(7));
    globals.push(parent < 0 ? local : product(globals[parent], local));
  });
  const expected = skin.joints.flatMap(({ inverseBind }, j) => product(globals[j], [...inverseBind]));
  assert.ok(largestGap(pose.matrices, expected) < 1e-5);
  pose.updateMatrices(Float32Array.from(globals.flat()));
  assert.ok(largestGap(deformed(pose).positions, out.positions) < 2e-5 * form.diagonal);
  pose.controls[0] += 1; // controls count there too
  pose.updateMatrices(Float32Array.from(globals.flat()));
  const byMatrices = deformed(pose).positions;
  pose.update();
  assert.ok(largestGap(byMatrices, out.positions) > 1e-3 * form.diagonal);
  assert.ok(largestGap(byMatrices, deformed(pose).positions) < 2e-5 * form.diagonal);
  pose.reset();
  pose.update();
  const rest = deformed(pose).positions;
  pose.free();
  assert.equal(largestGap(deformed(skin.createPose()).positions, rest), 0);
  assert.throws(() => pose.update(), /this pose was freed/);
  skin.free();
});

function matrixOf([x, y, z, w], t, s) {
  const n = 2 / (x * x + y * y + z * z + w * w);
  const r = [[1 - n * (y * y + z * z), n * (x * y - z * w), n * (x * z + y * w)],
    [n * (x * y + z * w), 1 - n * (x * x + z * z), n * (y * z - x * w)],
    [n * (x * z - y * w), n * (y * z + x * w), 1 - n * (x * x + y * y)]];
  return r.flatMap((row, i) => [...row.map((v, c) => v * s[c]), t[i]]);
}

function product(a, b) {
  return Array.from({ length: 12 }, (_, i) => {
    const r = 4 * Math.floor(i / 4), c = i % 4;
    return a[r] * b[c] + a[r + 1] * b[4 + c] + a[r + 2] * b[8 + c] + (c === 3 ? a[r + 3] : 0);
  });
}

test("joints have names, parents and weights that sum to 1, also driven ones", () => {
  const form = formOf("arm with a seam, joints"), skin = pelt.open(form.file);
  assert.equal(skin.findJoint("elbow"), 2);
  assert.equal(skin.joints[2].parent, skin.findJoint("shoulder"));
  assert.equal(skin.findJoint("tail"), -1);
  assert.ok(skin.driven.length > 0 && skin.driven.every(({ name, kind, driver }) => name && kind && driver < skin.jointCount));
  const sum = floats(form.vertices);
  for (let j = 0; j < skin.jointCount + skin.driven.length; j++) skin.weightsOf(j).forEach((w, v) => (sum[v] += w));
  assert.ok(sum.every((w) => Math.abs(w - 1) < 1e-5));
  // The weights of a vertex are its row of the columns above, the strongest first.
  const columns = Array.from({ length: skin.jointCount + skin.driven.length }, (_, j) => skin.weightsOf(j));
  for (let v = 0; v < form.vertices; v += 37) {
    const row = columns.flatMap((column, joint) => (column[v] ? [{ joint, weight: column[v] }] : [])).sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    assert.deepEqual(skin.weightsAt(v), row);
  }
  assert.throws(() => skin.weightsAt(form.vertices), /vertex \d+ does not exist: there are/);
  // The first of two joints of the same name is found.
  const file = Buffer.from(form.file);
  file.write("elbow", file.indexOf("wrist\0"));
  const twice = pelt.open(file);
  assert.deepEqual(twice.joints.map(({ name }) => name).filter((name) => name === "elbow").length, 2);
  assert.equal(twice.findJoint("elbow"), 2);
  twice.free();
  assert.throws(() => skin.weightsOf(1000), /joint 1000 does not exist: there are/);
  assert.equal(JSON.parse(skin.aboutText).method, skin.about.method);
  const broken = Buffer.from(form.file), none = Buffer.from(form.file), entry = none.indexOf("INFO"), at = Number(none.readBigUInt64LE(entry + 8));
  broken.write("}", at); // where its first brace was
  none.writeBigUInt64LE(1n, entry + 16); // an empty text and its zero
  none[at] = 0;
  for (const [bytes, words] of [[broken, /not JSON/], [none, /no description/]]) {
    const other = pelt.open(bytes);
    assert.throws(() => other.about, (thrown) => thrown instanceof PeltError && thrown.code > 0 && words.test(thrown.message));
    other.free();
  }
  // At rest nothing moves.
  assert.ok(largestGap(deformed(skin.createPose()).positions, skin.restPositions()) < 1e-6 * form.diagonal);
  skin.free();
});

// Where a file has a record of pelt.h of which all but the offset of its name is known: the offsets there.
function nameOffsets(file, before, after) {
  const found = [], key = after.length ? after : before;
  for (let at = file.indexOf(key); at >= 0; at = file.indexOf(key, at + 1)) {
    const name = after.length ? at - 4 : at + before.length;
    if (file.subarray(name - before.length, name).equals(before)) found.push(file.readUInt32LE(name));
  }
  return found;
}

test("joints, driven joints and controls are the records of the file", () => {
  const bytes = (numbers, Type = Float32Array) => Buffer.from(Type.from(numbers).buffer);
  for (const form of ["arm with a seam, joints", "basis"].map(formOf)) {
    const skin = pelt.open(form.file), file = Buffer.from(form.file), kinds = ["turn", "twist", "bend", "bulge", "dent"];
    const offsets = [
      ...skin.joints.map(({ parent, rest: { rotation, translation, scale }, inverseBind }) =>
        nameOffsets(file, Buffer.concat([bytes([parent], Int32Array), bytes([...rotation, ...translation, ...scale, ...inverseBind])]), Buffer.alloc(0))),
      ...skin.driven.map(({ kind, parent, driver, host, amount, origin, axis, upstream, downstream }) =>
        nameOffsets(file, Buffer.concat([bytes([kinds.indexOf(kind), parent, driver, host], Int32Array), bytes([amount])]), bytes([...origin, ...axis, ...upstream, ...downstream]))),
      ...skin.controls.map(({ rest, least, most }) => nameOffsets(file, Buffer.alloc(0), bytes([rest, least, most]))),
    ];
    const all = [...skin.joints, ...skin.driven, ...skin.controls], start = file.indexOf(`${all[0].name}\0`) - offsets[0][0];
    assert.ok(all.length > skin.jointCount);
    all.forEach(({ name }, i) => assert.ok(offsets[i].some((offset) => file.toString("utf8", start + offset, file.indexOf(0, start + offset)) === name), name));
    skin.free();
  }
});

test("rest shapes and forms are those of the file", () => {
  const form = formOf("arm with a seam, joints"), skin = pelt.open(form.file);
  const pose = skin.createPose(), { normals, positions } = deformed(pose);
  assert.ok(largestGap(normals, skin.restNormals()) < 1e-5 && largestGap(positions, skin.restPositions()) < 1e-5);
  assert.deepEqual([pose.deformSlots().normals, pose.deformSlots().tangents, pose.deformSlots({ normals: true }).normals.length], [null, null, 3 * skin.slotCount]);
  assert.ok(skin.slotCount % 16 === 0 && skin.slotCount >= form.vertices && skin.slotCount < form.vertices + 16 * 200);
  const before = pose.locals.slice();
  pose.setRotation(1, [1, 2, 3, 4]);
  assert.deepEqual([...pose.locals.subarray(10, 14)], [1, 2, 3, 4]);
  pose.locals.set(before.subarray(10, 14), 10);
  assert.equal(largestGap(pose.locals, before), 0);
  pose.free();
  pose.free();
  skin.free();
  skin.free();
  const kinds = [["blend", false, 0], ["basis", true, 1], ["weighted, mixed", true, 0]];
  for (const [name, corrective, some] of kinds) {
    const one = pelt.open(formOf(name).file), posed = one.createPose();
    assert.deepEqual([one.hasCorrective, Math.min(1, one.coefficientCount), posed.coefficients.length], [corrective, some, one.coefficientCount]);
    assert.equal(posed.controls.length, one.controls.length);
    one.free();
  }
});

test("the module is loaded from wherever it is", async () => {
  const bytes = readFileSync(join(PACKAGE, "dist/pelt.wasm")), exact = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const versions = [];
  for (const source of [bytes, exact, new WebAssembly.Module(bytes), new URL("../../web/pelt-wasm/dist/pelt.wasm", import.meta.url).href, new Response(bytes)]) versions.push((await loadPelt(source)).version);
  assert.deepEqual(new Set(versions).size, 1);
  if (process.env.PELT) assert.ok(execFileSync(process.env.PELT, ["--version"], { encoding: "utf8" }).includes(versions[0]));
  await assert.rejects(loadPelt(new Response("", { status: 404 })), /cannot be loaded: status 404/);
});

test("tangents are the native ones, and only of skins that have some", () => {
  const form = formOf("basis with tangents"), skin = pelt.open(form.file), truth = form.poses[1], pose = posed(skin, truth);
  const p = floats(3 * form.vertices), n = floats(3 * form.vertices), t = floats(4 * form.vertices);
  assert.ok(skin.hasTangents);
  pose.deform(p, n, t);
  assert.equal(difference(form, truth, { positions: p, normals: n }, 1e-6), null);
  assert.ok(largestGap(t, truth.tangents) < 2e-6);
  assert.equal(pose.deformSlots({ tangents: true }).tangents.length, 4 * skin.slotCount);
  skin.free();
  const plain = pelt.open(formOf("blend").file);
  assert.throws(() => plain.createPose().deform(floats(9003), floats(9003), floats(12004)), /this skin has no tangents/);
  assert.equal(plain.createPose().deformSlots({ tangents: true }).tangents, null);
  plain.free();
});

test("many skins and poses live at once while memory grows", () => {
  const skins = [], poses = [];
  const before = pelt.memoryBytes, form = formOf("basis in 16 bits");
  for (let i = 0; i < 40; i++) {
    skins.push(pelt.open(form.file));
    for (const truth of form.poses) {
      const pose = posed(skins[i], truth);
      poses.push([pose, truth, pose.locals]);
    }
  }
  const large = pelt.open(formOf("300 joints").file); // growing memory must not corrupt what is there
  assert.ok(pelt.memoryBytes > before);
  for (const [pose, truth, locals] of poses) {
    assert.equal(locals, pose.locals);
    locals.set(truth.locals);
    pose.update();
    assert.equal(difference(form, truth, deformed(pose), 1e-6), null);
  }
  skins.forEach((skin) => skin.free());
  large.free();
  assert.throws(() => poses[0][0].update(), /freed/);
  assert.throws(() => skins[0].createPose(), /this skin was freed/);
});

test("what is freed is used again", () => {
  const form = formOf("weighted, mixed");
  const once = () => {
    const skin = pelt.open(form.file);
    for (const truth of form.poses) deformed(posed(skin, truth));
    skin.free();
    assert.throws(() => pelt.open(form.file.subarray(0, 1000)), PeltError);
  };
  once();
  const before = pelt.memoryBytes;
  for (let i = 0; i < 300; i++) once();
  assert.equal(pelt.memoryBytes, before);
});

test("bad files are refused in the library's words", () => {
  const { file } = formOf("basis");
  const spoiled = (at, value) => {
    const copy = file.slice();
    copy[at] = value;
    return copy;
  };
  const cases = [
    [new Uint8Array(), /a file is damaged or breaks its format/], [new ArrayBuffer(4096), /a file is damaged/],
    [file.subarray(0, 60), /shorter than it claims to be/], [file.subarray(0, file.length - 64), /shorter than it claims to be/],
    [spoiled(8, 99), /another version than this library/],
  ];
  for (const [bad, words] of cases)
    assert.throws(() => pelt.open(bad), (error) => error instanceof PeltError && error.code > 0 && words.test(error.message));
  for (let at = 0; at < 2000; at += 7) { // whatever the file contains, it is refused or can be run
    try {
      const skin = pelt.open(spoiled(at, 0xff));
      deformed(skin.createPose());
      skin.free();
    } catch (error) {
      assert.ok(error instanceof PeltError, String(error));
    }
  }
  assert.throws(() => pelt.openKeys(file), PeltError);
  const skin = pelt.open(file), pose = skin.createPose();
  assert.throws(() => pose.deform(floats(3)), /positions have 3 numbers, but 2100 were expected/);
  assert.throws(() => pose.updateMatrices(floats(3)), RangeError);
  assert.throws(() => pose.setRotation(skin.findJoint("tail"), [0, 0, 0, 1]), /joint -1 does not exist: there are 6/);
  skin.free();
});

test("the hash of a mesh follows its formula", () => {
  const positions = Float32Array.of(0, 0, 0, 1, -0, 0, 0, 1.5, 0), triangles = [0, 1, 2];
  const words = [3, 1, ...new Uint32Array(positions.map((x) => x + 0).buffer), ...triangles];
  const hash = words.reduce((h, word) => {
    const mixed = BigInt.asUintN(64, (h ^ BigInt(word)) * 0x9e3779b97f4a7c15n);
    return mixed ^ (mixed >> 32n);
  }, 0n);
  assert.equal(pelt.meshHash(positions, Uint16Array.from(triangles)), hash);
  assert.notEqual(pelt.meshHash(positions, Uint32Array.of(0, 2, 1)), hash);
  assert.equal(typeof pelt.open(formOf("arm with a seam, ssd").file).meshHash, "bigint");
  const many = floats(300000), corners = new Uint32Array(300000);
  pelt.meshHash(many, corners);
  const before = pelt.memoryBytes;
  for (let i = 0; i < 20; i++) pelt.meshHash(many, corners);
  assert.equal(pelt.memoryBytes, before);
});

// Points that depend linearly on three numbers: key points reproduce all of them, also in frames that were not trained
// on.
test("key points reconstruct what is linear", { skip: !process.env.PELT && "no program" }, () => {
  const POINTS = 60, FRAMES = 24;
  const value = (frame, p, i) => Math.sin(p + 2 * i) + [0.7, 1.3, 2.1].reduce(
    (sum, speed, k) => sum + Math.sin(speed * (frame + 1)) * Math.cos(p * (k + 1) + i), 0);
  const frameOf = (frame) => Float32Array.from({ length: 3 * POINTS }, (_, at) => value(frame, Math.floor(at / 3), at % 3));
  const train = Array.from({ length: FRAMES }, (_, f) => frameOf(f));
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${FRAMES}, ${POINTS}, 3), }`.padEnd(117) + "\n";
  writeFileSync(join(folder, "clip.npy"), Buffer.concat([Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, 118, 0]),
    Buffer.from(header), ...train.map((frame) => Buffer.from(frame.buffer))]));
  const words = "keys train clip.npy --keys 8 --basis 3 --regions 1 --exact -o clip.keys --quiet".split(" ");
  execFileSync(process.env.PELT, words, { cwd: folder, stdio: "inherit" });
  const keys = pelt.openKeys(readFileSync(join(folder, "clip.keys")));
  assert.deepEqual([keys.pointCount, keys.componentCount, keys.keyCount, keys.basisCount, keys.regionCount, keys.frameCount], [POINTS, 3, 8, 3, 1, FRAMES]);
  assert.ok(new Set(keys.keyPoints).size === 8 && keys.keyPoints.every((p) => p < POINTS));
  assert.deepEqual(keys.about, JSON.parse(keys.aboutText));
  const spans = [0, 1, 2].map((i) => train.flatMap((frame) => [...frame].filter((_, at) => at % 3 === i))).map((list) => Math.max(...list) - Math.min(...list));
  assert.ok(keys.diagonal > 0.3 * Math.hypot(...spans) && keys.diagonal <= 1.001 * Math.hypot(...spans), `${keys.diagonal} of ${spans}`);
  const truth = frameOf(1000.5), out = floats(3 * POINTS);
  const values = Float32Array.from({ length: 24 }, (_, at) => truth[3 * keys.keyPoints[Math.floor(at / 3)] + (at % 3)]);
  const { e, rms } = keys.reconstruct(values, out);
  assert.ok(largestGap(out, truth) < 1e-3, `off by ${largestGap(out, truth)}`);
  assert.ok(rms < 1e-3 && e >= 0);
  values[0] += 1; // no frame is like that
  const { rms: off, largest, e: mistrust } = keys.reconstruct(values, out);
  const squares = [...keys.keyPoints].map((p, k) =>
    [0, 1, 2].reduce((sum, i) => sum + (out[3 * p + i] - values[3 * k + i]) ** 2, 0));
  assert.ok(Math.abs(off - Math.sqrt(squares.reduce((a, b) => a + b) / squares.length)) < 1e-4 * off && off > 0.05);
  assert.ok(Math.abs(largest - Math.sqrt(Math.max(...squares))) < 1e-4 * largest && largest > 1.1 * off);
  assert.ok(mistrust > 2 * largest);
  assert.throws(() => keys.reconstruct(floats(1), out), RangeError);
  keys.free();
  assert.throws(() => keys.reconstruct(values, out), /freed/);
});

test("a skin expects the errors that the program says", { skip: !process.env.PELT && "no program" }, () => {
  const run = (...words) => execFileSync(process.env.PELT, [...words, "--quiet"], { cwd: folder });
  run("sample", "arm", "-o", ".", "--vertices", "300", "--frames", "60");
  run("fit", "arm.glb", "--train", "train", "--method", "ssd", "--holdout", "0", "-o", "arm.pelt");
  run("eval", "arm.pelt", "arm.glb", "--clip", "test", "-o", "arm.poses", "--confidence", "arm.json");
  const { errors, regions } = JSON.parse(readFileSync(join(folder, "arm.json"), "utf8"));
  const lines = readFileSync(join(folder, "arm.poses"), "utf8").trim().split("\n").slice(1);
  const skin = pelt.open(readFileSync(join(folder, "arm.pelt"))), pose = skin.createPose();
  assert.deepEqual(skin.regions, regions.map(({ name }) => name));
  assert.ok(regions.length > 1 && errors.length === lines.length);
  lines.forEach((line, frame) => {
    const numbers = line.trim().split(/\s+/).map(Number);
    skin.joints.forEach((_, j) => pose.setRotation(j, numbers.slice(4 * j, 4 * j + 4)));
    pose.update();
    const said = pose.confidence();
    assert.ok(Math.abs(said.frame - errors[frame]) < 1e-4 * errors[frame]);
    regions.forEach((region, r) => assert.ok(Math.abs(said.regions[r] - region.errors[frame]) < 1e-4 * errors[frame]));
  });
  const of = skin.vertexRegions();
  assert.equal(of.length, skin.vertexCount);
  assert.ok(of.every((region) => region < regions.length));
  const none = pelt.open(formOf("blend").file);
  assert.equal(none.createPose().confidence(), null);
  assert.equal(none.vertexRegions().length, 0);
  skin.free(), none.free();
});

test("the package can be packed, installed elsewhere, imported and run", () => {
  const npm = (cwd, ...words) => execFileSync("npm", [...words, "--loglevel=error"], { cwd, encoding: "utf8" });
  npm(PACKAGE, "pack", "--ignore-scripts", "--pack-destination", folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  const list = execFileSync("tar", ["tzf", join(folder, tarball)], { encoding: "utf8" }).trim().split("\n");
  for (const name of ["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts", "dist/pelt.wasm"])
    assert.ok(list.includes(`package/${name}`), `${name} is not in the package`);
  assert.ok(list.every((name) => /^package\/(dist\/|package\.json$|README\.md$|LICENSE$)/.test(name)), list.join(" "));
  writeFileSync(join(folder, "package.json"), '{"name": "elsewhere", "type": "module", "private": true}');
  npm(folder, "install", `./${tarball}`, "--offline", "--no-audit", "--no-fund");
  writeFileSync(join(folder, "skin.pelt"), formOf("blend").file);
  writeFileSync(join(folder, "try.mjs"), `import { readFileSync } from "node:fs"; import { loadPelt } from "pelt-wasm";
    const skin = (await loadPelt()).open(readFileSync("skin.pelt")), positions = new Float32Array(3 * skin.vertexCount);
    skin.createPose().deform(positions); console.log(skin.vertexCount, positions.every(Number.isFinite));`);
  assert.equal(execFileSync(process.execPath, ["try.mjs"], { cwd: folder, encoding: "utf8" }).trim(), "3001 true");
});
