// page_units.mjs: what the page computes without a browser: normals, rotations, colours, scales, words, choices. Each against a
// formula of its own.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, near, random, turned } from "./units.mjs";
import "./page_alone_units.mjs";
import "./page_number_units.mjs";
import "./page_hands_units.mjs";
import "./page_panel_units.mjs";
import "./page_box_units.mjs";

// -- Rotations, as matrices ------------------------------------------------------------------------------------------------

test("rotations turn vectors as Rodrigues says", async () => {
  const { between, conjugate, fromTurns, fromVector, multiply, rotate, toTurns, toVector, unit } = await load("panels/rotation");
  for (let i = 0; i < 20; i++) {
    const a = [random(), random(), random()], b = [random(), random(), random()], v = [random(), random(), random()];
    const angle = Math.hypot(...a), other = Math.hypot(...b), p = fromVector(a), q = fromVector(b);
    near(rotate(p, v), turned(a, angle, v));
    near(rotate(multiply(p, q), v), turned(a, angle, turned(b, other, v)));
    near(rotate(conjugate(p), v), turned(a, -angle, v));
    near(toVector(p), a);
    near(toVector(p.map((x) => -x)), a); // the same rotation, the shorter way
    near(unit(p.map((x) => 3 * x)), p);
    near([between(p, multiply(p, q))], [other * 180 / Math.PI], 1e-4);
    near([between(p, multiply(p, q).map((x) => -x))], [other * 180 / Math.PI], 1e-4);
    for (let bone = 0; bone < 3; bone++) {
      const degrees = [100 * random(), 100 * random(), 100 * random()];
      near(toTurns(fromTurns(degrees, bone), bone), degrees, 1e-4);
      const twist = [0, 0, 0], swing = degrees.map((d) => d * Math.PI / 180); // first the twist about the bone, then the swing
      twist[bone] = 1;
      swing[bone] = 0;
      near(rotate(fromTurns(degrees, bone), v), turned(swing, Math.hypot(...swing), turned(twist, degrees[bone] * Math.PI / 180, v)));
    }
  }
  near(fromVector([0, 0, 0]), [0, 0, 0, 1]);
  near(unit([0, 0, 0, 0]), [0, 0, 0, 1]);
  near(toVector([0, 0, 0, 1]), [0, 0, 0]);
  near(toVector([1e-13, 0, 0, 1]), [2e-13, 0, 0], 1e-16);
  near(toTurns([1, 0, 0, 0], 2), [180, 0, 0], 1e-6); // half a turn across the bone
});

// -- Normals ---------------------------------------------------------------------------------------------------------------

test("vertices of one place and normal shade as one, and hard edges stay hard", async () => {
  const { shadedAsOne, smoothNormals } = await load("normals");
  // A roof of two quads; vertices 4 and 5 are twins of 1 and 2, vertex 6 has the place of 1 but another normal.
  const positions = Float32Array.of(0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 2, 0, 0, 2, 0, 1);
  const normals = new Float32Array(27).map((_, i) => Number(i % 3 === 1));
  normals.set([1, 0, 0], 18);
  normals[13] = 0.999; // nearly the same
  const first = shadedAsOne({ vertices: 9, positions, normals });
  assert.deepEqual([...first], [0, 1, 2, 3, 1, 2, 6, 7, 8]);
  const indices = Uint32Array.of(0, 3, 1, 1, 3, 2, 4, 5, 7, 7, 5, 8), out = new Float32Array(27).fill(5);
  smoothNormals(indices, first, positions, out);
  const h = Math.SQRT1_2, left = [-h, h, 0], right = [h, h, 0];
  near(out.subarray(0, 3), left);
  near(out.subarray(9, 12), left);
  near(out.subarray(21, 24), right);
  near(out.subarray(24, 27), right);
  // At the ridge triangles are summed by area: two and one of the left, one and two of the right.
  const sum = (a, b) => [0, 1, 2].map((i) => a * left[i] + b * right[i]), normal = (v) => v.map((x) => x / Math.hypot(...v));
  near(out.subarray(3, 6), normal(sum(2, 1)));
  near(out.subarray(6, 9), normal(sum(1, 2)));
  near(out.subarray(12, 18), out.slice(3, 9), 0);
  near(out.subarray(18, 21), [0, 0, 0]); // no triangle has it
  // Many vertices, none of which is another's twin, in any order of their hashes.
  const many = Float32Array.from({ length: 3000 }, (_, i) => (i % 3 ? i % 7 : Math.floor(i / 3)));
  const alone = shadedAsOne({ vertices: 1000, positions: many, normals: new Float32Array(3000) });
  assert.ok(alone.every((f, v) => f === v));
});

// -- Scales and colours ----------------------------------------------------------------------------------------------------

test("ranks are found without sorting", async () => {
  const { ranked } = await load("heat");
  for (const length of [1, 2, 3, 50, 1001]) {
    const values = Float32Array.from({ length }, () => Math.round(20 * random())), sorted = [...values].sort((a, b) => a - b);
    for (const rank of new Set([0, Math.floor(length / 3), Math.floor(0.95 * (length - 1)), length - 1])) assert.equal(ranked(values.slice(), rank), sorted[rank]);
  }
  ranked(Float32Array.of(1, NaN, 3, NaN, 2), 2); // ends
});

test("scales are round, and errors have a common one", async () => {
  const { bytesText, commonScale, nice, quantile, short } = await load("heat");
  assert.equal(quantile([3, NaN, 1, 2, 10], 0.5), 2.5);
  assert.equal(quantile([3, 1, 2], 0), 1);
  assert.equal(quantile([3, 1, 2], 1), 3);
  assert.equal(quantile([4, 8], 0.25), 5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
  near([0.9, 1, 1.1, 2, 2.1, 5, 5.1, 10, 0.03].map(nice), [1, 1, 2, 2, 5, 5, 10, 10, 0.05], 1e-12);
  near([commonScale([0, 0.1, 0.2, 0.4], 7)], [1], 1e-12); // 4 x 0.2, rounded up
  near([commonScale([], 7), commonScale([0], 0)], [0.1, 0.01], 1e-12);
  assert.deepEqual([0, 0.12345, 12345, 99999, 100000, 0.0001, 0.00001, -0.00002, NaN, Infinity].map(short),
    ["0", "0.123", "12300", "100000", "1.0e5", "0.0001", "1.0e−5", "-2.0e−5", "–", "–"]);
  assert.deepEqual([999, 1000, 999999, 1e6, 12345678].map(bytesText), ["999 B", "1.00 kB", "1.00e+3 kB", "1.00 MB", "12.3 MB"]);
});

test("the heat map is that of the reports, and beyond its scale is another colour", async () => {
  const { HEAT_BEYOND, HEAT_STOPS } = await load("surface");
  assert.equal(HEAT_STOPS.length, 13);
  assert.deepEqual([HEAT_STOPS[0], HEAT_STOPS[1], HEAT_STOPS.at(-1)], ["#4d535d", "#5f5977", "#ffea7a"]);
  assert.ok(!HEAT_STOPS.includes(HEAT_BEYOND));
});

// -- Displacements by hand -------------------------------------------------------------------------------------------------

test("displacements are added through the blended matrix", async () => {
  const { Adding } = await load("panels/adding");
  const weights = [[1, 0.25, 0], [0, 0.75, 0.5], [0, 0, 0.5]];
  const skin = { jointCount: 2, driven: [{}], vertexCount: 3, weightsOf: (j) => Float32Array.from(weights[j]) };
  const matrices = Float32Array.from({ length: 36 }, random), shapes = [0, 1].map(() => Float32Array.from({ length: 9 }, random));
  shapes[0].fill(0, 0, 3);
  shapes[1].fill(0, 0, 3); // the first vertex stays
  const adding = new Adding(skin), positions = Float32Array.from({ length: 9 }, random), before = positions.slice();
  assert.ok(adding.empty);
  adding.set(4, 2, shapes[0]);
  adding.set(7, -0.5, shapes[1]);
  assert.deepEqual([adding.empty, adding.amount(4), adding.amount(7), adding.amount(1)], [false, 2, -0.5, 0]);
  adding.apply({ matrices }, positions);
  near(positions, before.map((x, i) => {
    const v = Math.floor(i / 3), d = [0, 1, 2].map((c) => 2 * shapes[0][3 * v + c] - 0.5 * shapes[1][3 * v + c]);
    return x + weights.reduce((sum, w, j) => sum + w[v] * d.reduce((s, u, c) => s + matrices[12 * j + 4 * (i % 3) + c] * u, 0), 0);
  }));
  adding.set(4, 0, shapes[0]);
  assert.deepEqual([adding.empty, adding.amount(4)], [false, 0]);
  adding.clear();
  assert.ok(adding.empty);
});

// -- Words and choices -----------------------------------------------------------------------------------------------------

test("a form becomes the words of pelt fit, without options that cannot matter", async () => {
  const { commandLine, isUsed, OPTIONS, splitWords, wordsOf } = await load("panels/fit_words");
  const form = { train: ["a", "b"], method: "kernel", blend: "", corrective: "", more: "--seed 3 --name 'two words'",
    values: { "per-vertex": " 5 ", ridge: "1", normals: "rows", every: "2", "no-norm": "on", influences: "" } };
  assert.deepEqual(wordsOf(form), ["--train", "a,b", "--method", "kernel", "--per-vertex", "5", "--normals", "rows", "--every", "2",
    "--seed", "3", "--name", "two words"]);
  assert.deepEqual(wordsOf({ ...form, train: [], method: "", blend: "joints", corrective: "psd", more: "" }),
    ["--blend", "joints", "--corrective", "psd", "--ridge", "1", "--no-norm", "--normals", "rows", "--every", "2"]);
  const option = (flag) => OPTIONS.find((o) => o.flag === flag);
  assert.ok(isUsed(option("mirror"), form) && !isUsed(option("rest"), form) && isUsed(option("rest"), { ...form, blend: "fit" }));
  assert.ok(isUsed(option("poses"), { ...form, corrective: "wpsd" }) && !isUsed(option("poses"), form));
  assert.deepEqual(splitWords(`a "b c"d  'e "f'`), ["a", "b cd", `e "f`]);
  assert.equal(commandLine(["pelt", "it's", "a b", "x=1"]), `pelt 'it'\\''s' 'a b' x=1`);
});

test("who watches a choice hears of its changes alone, until he stops", async () => {
  const { FIRST, Store } = await load("store");
  const store = new Store(), heard = [];
  const stop = store.watch(["frame", "clip"], ({ frame }) => heard.push(frame));
  store.watch(["skin"], ({ skin }) => heard.push(`skin ${skin}`));
  store.set({ frame: 3 });
  store.set({ frame: 3, speed: 2 });
  store.set({ skin: 1 });
  stop();
  store.set({ frame: 4 });
  store.set({ skin: 2 });
  assert.deepEqual(heard, [3, "skin 1", "skin 2"]);
  assert.deepEqual([store.get().frame, store.get().speed, store.get().wipe], [4, 2, FIRST.wipe]);
});

test("frames are played at the clip's rate, and wait for what is on its way", async () => {
  const { playback } = await load("playback");
  const { Store } = await load("store");
  const store = new Store(), waiting = [], session = { store, busy: false, clips: () => [{ frames: 3, seconds: [0, 0.5, 0.6] }] };
  globalThis.requestAnimationFrame = (call) => waiting.push(call);
  const now = performance.now;
  let time = 1000;
  Object.defineProperty(performance, "now", { value: () => time, configurable: true }); // read-only in some versions of node
  const pass = (milliseconds) => {
    time += milliseconds;
    waiting.splice(0).forEach((call) => call(time));
    return store.get().frame;
  };
  playback(session);
  store.set({ playing: true });
  assert.deepEqual([pass(400), pass(97), pass(2), pass(50), pass(50)], [0, 0, 1, 1, 2]); // half a second, then a tenth
  assert.deepEqual([pass(20), pass(15)], [2, 0]); // the last for a thirtieth, then from the beginning
  session.busy = true;
  assert.equal(pass(5000), 0);
  session.busy = false;
  assert.deepEqual([pass(1), pass(1), pass(449), pass(60)], [1, 1, 2, 0]); // late ones are not caught up
  store.set({ speed: 2, frame: 0 });
  assert.deepEqual([pass(1), pass(190), pass(10)], [0, 0, 1]);
  store.set({ playing: false });
  assert.deepEqual([pass(1000), waiting.length], [1, 0]);
  Object.defineProperty(performance, "now", { value: now, configurable: true });
});
