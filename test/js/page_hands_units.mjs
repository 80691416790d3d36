// page_hands_units.mjs: undoing, reaching, links, and the ground, without a browser. Imported by page_units.mjs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, near, random, turned } from "./units.mjs";

// -- Undo -------------------------------------------------------------------------------------------------------------------

test("changes are undone and done again in order; a gesture is one, a pause ends it", async () => {
  const { History, PAUSE } = await load("history");
  let time = 0, value = 0;
  const history = new History(() => time), seen = [];
  const change = (to, gesture, pause) => {
    const from = value;
    value = to;
    history.add({ says: `to ${to}`, undo: async () => { await null; value = from; }, redo: () => { value = to; } }, gesture, pause);
  };
  history.onMove(() => seen.push(value));
  assert.deepEqual([await history.undo(), await history.redo(), history.last, history.next], [null, null, null, null]);
  change(1);
  change(2, "slider");
  time += PAUSE;
  change(3, "slider"); // just in time
  time += PAUSE + 1;
  change(4, "slider"); // after a pause
  change(5, "other");
  assert.equal(history.last, "to 5");
  const both = [history.undo(), history.undo()]; // asked for at once
  assert.deepEqual(await Promise.all(both), ["to 5", "to 4"]);
  assert.deepEqual([value, history.last, history.next], [3, "to 2", "to 4"]);
  await history.undo();
  assert.equal(value, 1); // 2 and 3 were one
  await history.redo();
  assert.equal(value, 3);
  change(6, "slider"); // what was done again is not continued, and what was undone is gone
  assert.deepEqual([history.next, await history.redo()], [null, null]);
  await history.undo();
  assert.equal(value, 3);
  assert.deepEqual(seen, [4, 3, 1, 3, 3]);
  change(7, "long", Infinity);
  time += 1e9;
  change(8, "long", Infinity);
  await history.undo();
  assert.equal(value, 3);
  for (let i = 0; i < 300; i++) change(1000 + i);
  let count = 0;
  while (await history.undo()) count++;
  assert.equal(count, 200); // the oldest are forgotten
});

test("a change that fails does not stop others", async () => {
  const { History } = await load("history");
  const history = new History();
  let value = 1;
  history.add({ says: "a", undo: () => { value = 0; }, redo() {} });
  history.add({ says: "b", undo: async () => { throw new Error("no server"); }, redo() {} });
  await assert.rejects(history.undo(), /no server/);
  assert.equal(await history.undo(), "a");
  assert.equal(value, 0);
});

test("what is added by hand goes back to what it was", async () => {
  const { Adding } = await load("panels/adding");
  const adding = new Adding({ jointCount: 0, driven: [], vertexCount: 1, weightsOf: () => [] }), shape = new Float32Array(3);
  const nothing = adding.kept();
  adding.set(4, 2, shape);
  const one = adding.kept();
  adding.set(4, 3, shape);
  adding.set(7, 1, shape);
  one();
  assert.deepEqual([adding.amount(4), adding.amount(7), adding.empty], [2, 0, false]);
  adding.clear();
  one();
  assert.equal(adding.amount(4), 2);
  nothing();
  assert.ok(adding.empty);
});

// -- Reach ------------------------------------------------------------------------------------------------------------------

const joint = (name, parent, translation, rotation = [0, 0, 0, 1]) => ({ name, parent, rest: { rotation, translation, scale: [1, 1, 1] }, inverse_bind: [] });

// Places by Rodrigues' formula, apart from the page's own matrices: every joint's rotation vector is given.
function places(joints, turns) {
  const made = [];
  joints.forEach(({ parent, rest }, j) => {
    const chain = [];
    for (let p = parent; p >= 0; p = joints[p].parent) chain.push(p);
    let at = rest.translation;
    for (const p of chain) {
      at = turned(turns[p], Math.hypot(...turns[p]), at);
      at = at.map((x, i) => x + joints[p].rest.translation[i]);
    }
    made[j] = at;
  });
  return made;
}

test("two bones reach exactly what they can, keep their lengths, and say what they cannot", async () => {
  const { limbOf, reach } = await load("panels/reach");
  const { chain, placeOf, restPose, STRIDE } = await load("panels/pose");
  const { fromVector, toVector } = await load("panels/rotation");
  const joints = [joint("root", -1, [1, 2, 3]), joint("shoulder", 0, [0.5, 0, 0]), joint("twist", 1, [0, 0, 0]), joint("elbow", 2, [2, 0, 0]),
    joint("wrist", 3, [1.5, 0.2, 0]), joint("tip", 4, [0.3, 0, 0])];
  const away = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  for (let i = 0; i < 40; i++) {
    const locals = restPose(joints), turns = joints.map(() => [2 * random(), 2 * random(), 2 * random()]);
    turns.forEach((v, j) => locals.set(fromVector(v), STRIDE * j));
    const globals = chain(joints, locals), before = places(joints, turns);
    near(placeOf(globals, 4), before[4], 1e-5);
    const limb = limbOf(joints, globals, 4, 2);
    assert.deepEqual(limb, [2, 3]); // the joint that turns at the same place stands for both
    const [upper, lower] = [2, Math.hypot(1.5, 0.2)], far = i % 4 === 3;
    const distance = far ? upper + lower + 2 + random() : Math.abs(upper - lower) + 0.05 + (0.5 + random()) * (upper + lower - 0.1 - Math.abs(upper - lower));
    const way = [random(), random(), random()], size = Math.hypot(...way);
    const place = before[1].map((x, c) => x + (way[c] / size) * distance);
    const { locals: made, missing } = reach(joints, locals, limb, 4, place);
    const now = places(joints, joints.map((_, j) => toVector(made.subarray(STRIDE * j, STRIDE * j + 4))));
    near([away(now[4], place)], [far ? distance - upper - lower : 0], 2e-4);
    near([missing], [away(now[4], place)], 2e-4);
    near([away(now[3], now[2]), away(now[4], now[3]), away(now[5], now[4])], [upper, lower, 0.3], 1e-4);
    near(now[1], before[1], 1e-5); // above the limb nothing moves
    for (const j of [0, 1, 4, 5]) assert.deepEqual(made.slice(STRIDE * j, STRIDE * j + 10), locals.slice(STRIDE * j, STRIDE * j + 10));
  }
  const globals = chain(joints, restPose(joints));
  assert.deepEqual(limbOf(joints, globals, 5, 9), [0, 2, 3, 4]);
  assert.deepEqual(limbOf(joints, globals, 0, 9), []);
  const near0 = reach(joints, restPose(joints), [2, 3], 4, [1.5, 2, 3]); // the shoulder itself: folded as far as it goes
  near([near0.missing], [2 - Math.hypot(1.5, 0.2)], 1e-4);
});

test("longer limbs get there too, and a straight one bends", async () => {
  const { limbOf, reach } = await load("panels/reach");
  const { chain, placeOf, restPose } = await load("panels/pose");
  const joints = Array.from({ length: 7 }, (_, j) => joint(`j${j}`, j - 1, [0, j ? 1 : 0, 0]));
  const straight = restPose(joints), limb = limbOf(joints, chain(joints, straight), 6, 5);
  assert.deepEqual(limb, [1, 2, 3, 4, 5]);
  for (const place of [[2, 3, 1], [0.5, 2, -0.5], [-3, 2, 0], [0, 4, 0]]) {
    const { locals, missing } = reach(joints, straight, limb, 6, place);
    const at = placeOf(chain(joints, locals), 6);
    assert.ok(Math.hypot(...at.map((x, c) => x - place[c])) < 0.02 && missing < 0.02, `${place}: ${at}`);
  }
  const two = reach(joints, straight, [4, 5], 6, [0, 5, 0.5]);
  near(placeOf(chain(joints, two.locals), 6), [0, 5, 0.5], 1e-4);
  near([reach(joints, straight, [4, 5], 6, [0, 9, 0]).missing], [3], 1e-4);
});

test("helpers are joints that carry nothing and lie on a bone that goes on", async () => {
  const { helpersOf } = await load("panels/skeleton");
  const joints = [joint("root", -1, [0, 0, 0]), joint("arm", 0, [1, 0, 0]), joint("forearm", 1, [2, 0, 0]), joint("twist", 1, [1, 0.02, 0]),
    joint("at once", 1, [0, 0, 0]), joint("hand", 2, [1, 0, 0]), joint("muscle", 1, [1, 0.5, 0]), joint("finger", 5, [0.2, 0, 0]), joint("behind", 1, [-1, 0, 0]), joint("end", 1, [3, 0, 0])];
  assert.deepEqual(helpersOf(joints).map((is, j) => (is ? joints[j].name : "")).filter(Boolean), ["twist", "at once"]);
});

// -- Poses from elsewhere, links, the ground --------------------------------------------------------------------------------

test("a pose of another character says so", async () => {
  const { readPose } = await load("panels/pose");
  const joints = [joint("elbow", -1, [0, 0, 0])];
  assert.throws(() => readPose('{"joints": {"tail": {"rotation": [0, 0, 0, 1]}, "ear": {}}}', joints, []), /^Error: This character has none of the joints in that pose: tail, ear\.$/);
  assert.deepEqual(readPose('{"joints": {"tail": {}, "elbow": {}}}', joints, []).unknown, ["tail"]);
  assert.deepEqual(readPose('{"joints": {}}', joints, []).unknown, []);
  const many = JSON.stringify({ joints: Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [name, {}])) });
  assert.throws(() => readPose(many, joints, []), /: a, b, c, d, e and others\.$/);
  const control = [{ name: "tension", rest: 0, least: 0, most: 1 }];
  assert.equal(readPose('{"joints": {"tail": {}}, "controls": {"tension": 0.5}}', joints, control).values[0], 0.5);
});

test("a fragment is a key, a link, or both", async () => {
  const { readFragment } = await load("data");
  assert.deepEqual(readFragment("#abc%20d"), { key: "abc d", link: "" });
  assert.deepEqual(readFragment("#subject=arm&frame=3"), { key: "", link: "subject=arm&frame=3" });
  assert.deepEqual(readFragment("#abc&subject=arm&frame=3"), { key: "abc", link: "subject=arm&frame=3" });
  assert.deepEqual(readFragment(""), { key: "", link: "" });
});

test("names of files are made of letters that every system takes", async () => {
  const { fileName } = await load("download");
  assert.equal(fileName("arm", "", "a/b:<c>*", "3"), "arm-abc-3");
  assert.equal(fileName("<>", "//"), "pelt");
});
