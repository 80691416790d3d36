// page_box_units.mjs: what the panels of faces and lamps compute without a browser. Part of page_units.mjs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, near, random } from "./units.mjs";

test("a page opens what was asked for", async () => {
  const { firstSubject } = await load("first");
  const character = (skins) => ({ kind: "character", character: { skins: Array(skins) } }), face = { kind: "face" }, lamp = { kind: "light" };
  for (const [subjects, first] of [[[character(0), face], 1], [[character(0), lamp, face], 1], [[character(0), character(2), face], 1], [[character(1), face], 0], [[character(0)], 0], [[lamp], 0]])
    assert.equal(firstSubject(subjects), first);
});

// -- Lamps -----------------------------------------------------------------------------------------------------------------

test("pictures are blended in linear light", async () => {
  const { blend, trust } = await load("panels/lamp_picture");
  const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4), coded = (x) => (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
  const a = { width: 16, height: 16, pixels: Uint8Array.from({ length: 768 }, (_, i) => i % 256) }, b = { width: 16, height: 16, pixels: Uint8Array.from({ length: 768 }, (_, i) => (97 * i) % 256) };
  for (const share of [0, 0.25, 0.8, 1]) {
    const { width, height, pixels } = blend(a, b, share);
    assert.deepEqual([width, height, pixels.length], [16, 16, 768]);
    near([...pixels], [...a.pixels].map((x, i) => 255 * coded(share * linear(x / 255) + (1 - share) * linear(b.pixels[i] / 255))), 1.01);
  }
  near([0, 1, 1.1, 1.25, 1.4999, 1.5, 9, Infinity].map(trust), [1, 1, 0.8, 0.5, 0.0002, 0, 0, 0], 1e-6);
});

test("a gather goes on until all is done, stops, and goes on where it was", async () => {
  const { Gathering, nextPaths } = await load("panels/gathering");
  assert.deepEqual([nextPaths(1 << 16, 350), nextPaths(1 << 16, 10), nextPaths(1 << 16, 1e5), nextPaths(1 << 14, 1e5), nextPaths(1 << 21, 1)], [1 << 16, 1 << 17, 1 << 15, 1 << 14, 1 << 21]);
  const asked = [], told = [];
  let share = 0, release = null;
  const gathering = new Gathering(async (body, signal) => {
    asked.push(body);
    if (release) await new Promise((go) => { release = go; });
    if (signal.aborted) throw new Error("aborted");
    return { share: (share += 0.25), milliseconds: 350 };
  }, (answer) => told.push([gathering.state, answer?.share ?? null]));
  await gathering.begin([1, 2, 3]);
  assert.deepEqual(told, [["running", null], ["running", 0.25], ["running", 0.5], ["running", 0.75], ["done", 1]]);
  assert.ok(asked.every(({ at, full, samples, paths }) => at.join() === "1,2,3" && full === true && samples === 128 && paths > 0));
  near([gathering.seconds], [1.4]);
  told.length = asked.length = share = 0;
  release = () => {};
  const running = gathering.begin([4, 5, 6]);
  await new Promise((go) => setTimeout(go, 5));
  gathering.stop();
  release();
  release = null;
  await running;
  assert.deepEqual([gathering.state, gathering.share, asked.length], ["stopped", 0, 1]);
  gathering.stop(); // again: nothing
  await gathering.go([4, 5, 6]);
  assert.equal(gathering.state, "done");
  gathering.forget();
  assert.deepEqual([gathering.state, gathering.share], ["idle", 0]);
  const failing = new Gathering(async () => { throw new Error("No light today."); }, () => {});
  await failing.begin([0, 0, 0]);
  assert.deepEqual([failing.state, failing.problem], ["failed", "No light today."]);
});

// -- Faces -----------------------------------------------------------------------------------------------------------------

test("the answer of a rig is read as it is laid out", async () => {
  const { readPulled } = await load("panels/face_live");
  const counts = { points: 2, regions: 3, keys: 1 };
  for (const all of [0, 1]) {
    const numbers = Float32Array.from({ length: 4 + 6 * (2 + all) }, random), bytes = new ArrayBuffer(32 + 4 * numbers.length), view = new DataView(bytes);
    [2, 77, 3, all].forEach((word, i) => view.setUint32(4 * i, word, true));
    [1.25, 0.5, 4.5, 60].forEach((number, i) => view.setFloat32(16 + 4 * i, number, true));
    new Float32Array(bytes, 32).set(numbers);
    const { verdict, evaluated, e, cacheMilliseconds, rigMilliseconds, regions, keys, cached, keyed, truth } = readPulled(bytes, counts);
    assert.deepEqual([verdict, evaluated, e, cacheMilliseconds, rigMilliseconds], ["blend", 77, 1.25, 4.5, all ? 60 : null]);
    assert.deepEqual([...regions, ...keys, ...cached, ...keyed, ...(truth ?? [])], [...numbers]);
    assert.equal(truth === null, !all);
    for (const bad of [bytes.slice(0, -4), bytes.slice(0, 20), new ArrayBuffer(0)]) assert.throws(() => readPulled(bad, counts), /incomplete/);
  }
});

test("trust of points is that of their regions", async () => {
  const { colours, doubted, pointMisfits, shareOf } = await load("panels/face_trust");
  const regions = Uint32Array.from([0, 1, 0, 0, 2, 1, 0, 0]), weights = Float32Array.from([0.25, 0.75, 0, 0, 1, 0, 0, 0]);
  near([...pointMisfits(regions, weights, [0.4, 1.2, 9])], [0.25 * 0.4 + 0.75 * 1.2, 1.5], 1e-6); // 9 is as bad as 1.5
  near([...pointMisfits(regions, weights, [0.4, Infinity, 0])], [0.1 + 0.75 * 1.5, 0], 1e-6);
  assert.deepEqual([-1, 0, 0.75, 1.5, 7, NaN, Infinity].map(shareOf), [0, 0, 128, 256, 256, 256, 256]);
  const table = Float32Array.from({ length: 3 * 257 }, (_, i) => i);
  assert.deepEqual([...colours([0, 1.5, 0.75], table)], [0, 1, 2, 768, 769, 770, 384, 385, 386]);
  assert.equal(doubted([0, 1, 1.01, NaN, 3]), 3);
});

test("the curve of misfits keeps the limit in sight", async () => {
  const { topOf } = await load("panels/face_trust");
  assert.deepEqual([[], [0.2], [1.9], [2.5], [40, Infinity]].map(topOf), [2, 2, 2, 3, 6]);
});
