// page_panel_units.mjs: what the panels compute without a browser: skeletons and their mirror images, ranges, poses as text,
// colours, the light's camera; and how the page reads resources and hands poses to the run time. Part of page_units.mjs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, near, random, turned } from "./units.mjs";

const triple = (size = 1) => [size * random(), size * random(), size * random()];
const quaternion = () => {
  const q = [random(), random(), random(), random()], length = Math.hypot(...q);
  return q.map((x) => x / length);
};
const turn = ([x, y, z, w], v) => turned([x, y, z], 2 * Math.atan2(Math.hypot(x, y, z), w), v);
const inverse = ([x, y, z, w]) => [-x, -y, -z, w];
// The rotation of two after another, from what it does to the axes.
const times = (a, b) => {
  const [ax, ay, az, aw] = a, [bx, by, bz, bw] = b;
  return [aw * bx + bw * ax + ay * bz - az * by, aw * by + bw * ay + az * bx - ax * bz, aw * bz + bw * az + ax * by - ay * bx, aw * bw - ax * bx - ay * by - az * bz];
};
const plus = (a, b) => a.map((x, i) => x + b[i]);
const joint = (name, parent, rotation, translation, scale = [1, 1, 1]) => ({ name, parent, rest: { rotation, translation, scale } });

// -- Skeletons -------------------------------------------------------------------------------------------------------------

// Where a point of a joint's space is: up the chain, without matrices.
function placed(joints, locals, j, point) {
  for (let p = point; ; j = joints[j].parent) {
    if (j < 0) return p;
    const at = 10 * j;
    p = plus(turn(locals.slice(at, at + 4), p.map((x, c) => x * locals[at + 7 + c])), locals.slice(at + 4, at + 7));
  }
}

test("the matrices of a chain move points as its links do one after another", async () => {
  const { chain, placeOf, restPose, rotationOf, sinceRest, setSinceRest } = await load("panels/pose");
  const joints = [-1, 0, 1, 1, -1].map((parent, j) => joint(`j${j}`, parent, quaternion(), triple(3), triple().map((x) => 1.2 + x)));
  const rest = restPose(joints), locals = Float32Array.from(rest, (x, i) => (i % 10 < 4 ? random() : x));
  near(rest.slice(20, 30), [...joints[2].rest.rotation, ...joints[2].rest.translation, ...joints[2].rest.scale]);
  for (let j = 0; j < 5; j++) {
    const q = [...locals.slice(10 * j, 10 * j + 4)], length = Math.hypot(...q);
    near(rotationOf(locals, j), q.map((x) => x / length));
    locals.set(rotationOf(locals, j), 10 * j);
    const since = sinceRest(joints, locals, j), v = triple();
    near(turn(joints[j].rest.rotation, turn(since, v)), turn(rotationOf(locals, j), v), 1e-5);
    const again = locals.slice();
    again.set([0, 0, 0, 1], 10 * j);
    setSinceRest(joints, again, j, since);
    near(again, locals, 1e-5);
  }
  const out = chain(joints, locals), own = new Float32Array(80).fill(7);
  assert.equal(chain(joints, locals, own), own);
  near(own, out, 0);
  for (let j = 0; j < 5; j++) {
    const zero = placed(joints, locals, j, [0, 0, 0]);
    near(placeOf(out, j), zero, 1e-5);
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, c) => near(out.slice(16 * j + 4 * c, 16 * j + 4 * c + 3), placed(joints, locals, j, axis).map((x, i) => x - zero[i]), 1e-5));
    near([3, 7, 11, 15].map((i) => out[16 * j + i]), [0, 0, 0, 1]);
  }
});

test("a joint's bone is the axis towards its children, or from its parent", async () => {
  const { boneAxes } = await load("panels/pose");
  const none = [0, 0, 0, 1], h = Math.SQRT1_2;
  const joints = [joint("root", -1, none, [5, 0, 0]), joint("along y", 0, none, [1, -1, 2.5]), joint("two children", 1, none, [0.1, -2, 0.1]),
    joint("leaf turned", 2, [0, 0, h, h], [0, 0.2, 3]), joint("leaf", 2, [0, 0, h, h], [0, 3, -3]), joint("at its parent", 4, none, [0, 0, 0]),
    joint("lone", -1, none, [0, 0, 0])];
  // The root's only child is mostly along z; that of joint 1 along -y; joint 2's two sum up to (0, 3.2, 0).
  assert.deepEqual([...boneAxes(joints)], [2, 1, 1, 2, 0, 1, 1]);
});

test("ranges are the least and most of every example, and rest", async () => {
  const { beyond, nearest, shownOf } = await load("panels/pose");
  const { fromTurns } = await load("panels/rotation");
  const joints = [joint("a", -1, quaternion(), triple()), joint("b", 0, quaternion(), triple())];
  const posed = (degrees) => Float32Array.from([...quaternion(), 0, 0, 0, 1, 1, 1, ...times(joints[1].rest.rotation, fromTurns(degrees, 1)), 0, 0, 0, 1, 1, 1]);
  const clips = [[[10, -20, 5], [30, -4, 50]], [[-7, -9, 2]]].map((frames) => Float32Array.from(frames.flatMap((degrees) => [...posed(degrees)])));
  const shown = shownOf(joints, 1, 1, clips);
  near(shown.least, [-7, -20, 0], 1e-3);
  near(shown.most, [30, 0, 50], 1e-3);
  near(shown.rotations, [[10, -20, 5], [30, -4, 50], [-7, -9, 2]].flatMap((degrees) => fromTurns(degrees, 1)), 1e-5);
  near([beyond([29, -19, 49], shown), beyond([-10, 4, 50], shown), beyond([30.05, 0, 0], shown), beyond([30, 0, 50.2], shown)], [0, 5, 0, 0.2], 1e-2);
  for (const sign of [1, -1]) { // rest counts where all examples are on one side of it
    const one = shownOf(joints, 1, 1, [posed([20, 30, 40].map((x) => sign * x))]);
    near([...one.least, ...one.most].sort((a, b) => sign * (a - b)), [0, 0, 0, ...[20, 30, 40].map((x) => sign * x)], 1e-3);
  }
  const best = nearest(fromTurns([-7, -9, 12], 1), shown);
  assert.equal(best.example, 2);
  near([best.degrees], [10], 0.2);
  assert.equal(nearest(fromTurns([11, -20, 5], 1), shown).example, 0);
  assert.equal(nearest([0, 0, 0, 1], shownOf(joints, 1, 1, [])).example, -1);
});

test("names have another side as `pelt fit --mirror` understands them", async () => {
  const { otherSide } = await load("panels/pose");
  const pairs = { hand_l: "hand_r", LeftArm: "RightArm", rightLeg: "leftLeg", "eye.L": "eye.R", UPPER_LEFT: "UPPER_RIGHT", "r-toe": "l-toe" };
  for (const [one, other] of Object.entries(pairs)) assert.deepEqual([otherSide(one), otherSide(other)], [other, one]);
  assert.deepEqual(["spine", "pelvis", "ball", "tail_lr"].map(otherSide), [null, null, null, null]);
});

// Joints with symmetric places but axes of any direction: x = 1 is the plane of symmetry.
function symmetric(names) {
  const places = [[1, 0, 0], [1, 2, 0], [2, 2.1, 0.3], [0, 2.1, 0.3], [3, 1, -0.4], [-1, 1, -0.4]], parents = [-1, 0, 1, 1, 2, 3];
  const turns = places.map(quaternion);
  return places.map((place, j) => {
    const p = parents[j], from = p < 0 ? [0, 0, 0, 1] : inverse(turns[p]);
    return joint(names[j], p, times(from, turns[j]), p < 0 ? place : turn(from, place.map((x, c) => x - places[p][c])));
  });
}

test("a mirror image has every joint where its partner was, on the other side", async () => {
  const { chain, findMirror, mirrored, placeOf, restPose } = await load("panels/pose");
  const joints = symmetric(["root", "neck", "arm_l", "arm_r", "hand_l", "hand_r"]), mirror = findMirror(joints);
  assert.deepEqual([mirror.axis, ...mirror.partners], [0, 0, 1, 3, 2, 5, 4]);
  joints[4].rest.scale = [2, 1, 4];
  joints[5].rest.scale = [3, 1, 0];
  const locals = restPose(joints);
  joints.forEach((_, j) => {
    locals.set(times(quaternion(), locals.slice(10 * j, 10 * j + 4)), 10 * j);
    for (let c = 4; c < 7; c++) locals[10 * j + c] += 0.3 * random();
  });
  locals[47] = 1; // half of what it is at rest
  const image = mirrored(joints, locals, mirror), [before, after] = [chain(joints, locals), chain(joints, image)];
  // Motions are mirrored relative to the root's place at rest.
  joints.forEach((_, j) => {
    const [x, y, z] = placeOf(before, j);
    near(placeOf(after, mirror.partners[j]), [2 - x, y, z], 1e-5);
  });
  near([image[57], image[58], image[59]], [1.5, 1, 0]);
  near([image[47], image[48], image[49]], [2, 1, 0]); // where the rest has no scale, the other's is taken
  joints[5].rest.scale = [3, 1, 5];
  locals[59] = 5;
  const twice = mirrored(joints, mirrored(joints, locals, mirror), mirror);
  joints.forEach((_, j) => near(turn([...twice.slice(10 * j, 10 * j + 4)], [1, 2, 3]), turn([...locals.slice(10 * j, 10 * j + 4)], [1, 2, 3]), 1e-5));
  near(twice.filter((_, i) => i % 10 > 3), locals.filter((_, i) => i % 10 > 3), 1e-5);
});

test("partners are found by name, else by place, or not at all", async () => {
  const { findMirror } = await load("panels/pose");
  const unnamed = symmetric(["a", "b", "c", "d", "e", "f"]);
  assert.deepEqual([findMirror(unnamed).axis, ...findMirror(unnamed).partners], [0, 0, 1, 3, 2, 5, 4]);
  const shifted = (by) => symmetric(["a", "b", "c", "d", "e", "f"]).map((one, j) => (j === 5 ? { ...one, rest: { ...one.rest, translation: plus(one.rest.translation, [by, 0, 0]) } } : one));
  assert.ok(findMirror(shifted(0.05))); // the size is 4
  assert.equal(findMirror(shifted(0.12)), null);
  assert.equal(findMirror([joint("a", -1, [0, 0, 0, 1], [0, 0, 0]), joint("b", 0, [0, 0, 0, 1], [0, 0, 0])]), null); // nothing to swap
  const sideways = [[0, 0, 0], [0, 0.1, 2], [0, 0, -2]].map((t, j) => joint(["a", "tip.R", "tip.L"][j], j ? 0 : -1, [0, 0, 0, 1], t));
  assert.deepEqual([findMirror(sideways).axis, ...findMirror(sideways).partners], [2, 0, 2, 1]);
});

test("poses are text and back, and what is no pose is refused in words", async () => {
  const { poseText, readPose, restPose } = await load("panels/pose");
  const joints = [joint("hip", -1, quaternion(), triple()), joint("knee", 0, quaternion(), triple()), joint("toe", 1, quaternion(), triple())];
  const controls = [{ name: "flex", rest: 0.5 }, { name: "smile", rest: -1 }], locals = restPose(joints);
  locals.set(quaternion(), 10);
  locals[25] += 1e-5;
  locals[8] += 1;
  locals[1] += 4e-7; // rounding
  const text = poseText(joints, locals, controls, [0.25, 2]), told = JSON.parse(text);
  assert.deepEqual(Object.entries(told.joints).map(([name, parts]) => [name, ...Object.keys(parts)]), [["hip", "scale"], ["knee", "rotation"], ["toe", "translation"]]);
  near(told.joints.knee.rotation, locals.slice(10, 14), 1e-8);
  assert.deepEqual(told.controls, { flex: 0.25, smile: 2 });
  assert.ok(!("controls" in JSON.parse(poseText(joints, locals, [], []))));
  const back = readPose(text, joints, controls);
  near(back.locals, locals, 1e-6);
  assert.deepEqual([[...back.values], back.unknown], [[0.25, 2], []]);
  const partial = readPose('{"joints": {"tail": {}, "toe": {"scale": [1, 2, 3]}}, "controls": {"frown": 1, "flex": "much", "smile": 3}}', joints, controls);
  const wanted = restPose(joints);
  wanted.set([1, 2, 3], 27);
  near(partial.locals, wanted, 0);
  assert.deepEqual([[...partial.values], partial.unknown], [[0.5, 3], ["tail", "frown"]]);
  for (const [bad, words] of [["{", /it is not JSON/], ["3", /it has no "joints"/], ["null", /it has no "joints"/], ['{"joints": 1}', /it has no "joints"/], ['{"joints": null}', /it has no "joints"/],
    ['{"joints": {"hip": {"rotation": [0, 0, 1]}}}', /the rotation of hip is not 4 numbers/], ['{"joints": {"hip": {"translation": [0, 0, "1"]}}}', /the translation of hip is not 3 numbers/],
    ['{"joints": {"hip": {"scale": [0, 0, 1e999]}}}', /the scale of hip is not 3 numbers/], ['{"joints": {"hip": {"scale": {"length": 3}}}}', /the scale of hip is not 3 numbers/]])
    assert.throws(() => readPose(bad, joints, controls), words);
});

// -- The skeleton in the scene ---------------------------------------------------------------------------------------------

const NONE = [0, 0, 0, 1];
const LIMB = [joint("root", -1, NONE, [0, 0, 0]), joint("upper", 0, NONE, [0, 2, 0]), joint("lower", 1, NONE, [1, 0, 0]), joint("same place", 2, NONE, [0, 0, 0]),
  joint("other", 0, NONE, [0, -1, 0])];

test("bones reach from joint to joint and have the colour of their state", async () => {
  const { Skeleton } = await load("panels/skeleton");
  const { chain, restPose } = await load("panels/pose");
  const skeleton = new Skeleton(LIMB, 5), [mesh] = skeleton.group.children, globals = chain(LIMB, restPose(LIMB));
  skeleton.beyond = (j) => j === 2;
  skeleton.picked = 0;
  skeleton.hovered = 1;
  skeleton.update(globals);
  // Bones: root to upper, upper to lower, root to other; and small ones for those that carry nothing.
  const bones = Array.from({ length: mesh.count }, (_, i) => {
    const m = mesh.instanceMatrix.array.slice(16 * i, 16 * i + 16), colour = mesh.instanceColor.array.slice(3 * i, 3 * i + 3);
    return { from: [...m.slice(12, 15)], along: [...m.slice(4, 7)], width: Math.hypot(...m.slice(0, 3)), depth: Math.hypot(...m.slice(8, 11)), red: colour[0], blue: colour[2] };
  });
  assert.equal(bones.length, 6);
  near(bones.flatMap(({ from }) => from), [0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 1, 2, 0, 0, -1, 0]);
  near(bones.flatMap(({ along }) => along), [0, 2, 0, 1, 0, 0, 0, -1, 0, 0, 0.06, 0, 0, 0.06, 0, 0, 0.06, 0], 1e-6);
  near(bones.map(({ width }) => width), [0.055, 0.055, 0.055, 0.0054, 0.0054, 0.0054], 1e-6); // a share of the length, up to one of the size
  near(bones.map(({ depth }) => depth), bones.map(({ width }) => width), 1e-7);
  const [picked, hovered, alsoPicked, beyond, plain] = bones;
  assert.ok(hovered.red === 1 && hovered.blue === 1 && picked.red === alsoPicked.red && picked.red > 3 * picked.blue && beyond.red > 5 * beyond.blue && plain.blue > plain.red);
  assert.notEqual(beyond.blue, picked.blue);
  // A joint that lies on its parent by its pose leaves a bone too small to see, but not a broken one.
  const folded = restPose(LIMB);
  folded.set([0, 0, 0], 24);
  skeleton.update(chain(LIMB, folded));
  const tiny = mesh.instanceMatrix.array.slice(16, 32);
  near(tiny.slice(12, 15), [0, 2, 0]);
  near([0, 4, 8].map((c) => Math.hypot(...tiny.slice(c, c + 3))), [0.45e-6, 5e-6, 0.45e-6], 1e-9);
  const opacity = () => mesh.material.opacity, before = opacity();
  skeleton.dim(true);
  assert.ok(opacity() < before / 2);
  skeleton.dim(false);
  assert.equal(opacity(), before);
  // Its shape: an octahedron about the y axis, whose sides face outwards and have several shades of grey.
  const { position, color } = mesh.geometry.attributes, point = (i) => [...position.array.slice(3 * i, 3 * i + 3)];
  assert.equal(position.count, 24);
  for (let i = 0; i < 24; i += 3) {
    const [a, b, c] = [point(i), point(i + 1), point(i + 2)], u = b.map((x, k) => x - a[k]), v = c.map((x, k) => x - a[k]);
    const normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], out = plus(plus(a, b), c);
    assert.ok(normal[0] * out[0] + normal[1] * (out[1] - 0.6) + normal[2] * out[2] > 0.1);
    near([c[0], c[2], c[1] * (1 - c[1])], [0, 0, 0]);
    near([Math.hypot(a[0], a[2]), Math.hypot(b[0], b[2]), a[1] - b[1]], [1, 1, 0]);
    assert.ok(a[1] > 0.05 && a[1] < 0.3);
  }
  const shades = [...color.array], sides = new Set(shades.map((x) => x.toFixed(3)));
  assert.ok(shades.every((x, i) => x > 0.4 && x <= 1 && x === shades[i - (i % 9)]) && sides.size === 8);
  const holder = { remove(child) { this.gone = child; } };
  skeleton.group.parent = holder;
  skeleton.dispose();
  assert.equal(holder.gone, skeleton.group);
});

test("the nearest bone on the screen is picked, within a finger's width", async () => {
  const { Skeleton } = await load("panels/skeleton");
  const { chain, restPose } = await load("panels/pose");
  const skeleton = new Skeleton(LIMB, 5);
  // A camera along -z from (0, 0, 10), whose picture is 8 wide and 4 high at the origin; three.js' project() in our numbers.
  const camera = (far = 20) => ({ matrixWorldInverse: { elements: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, -10, 1] },
    projectionMatrix: { elements: [2.5, 0, 0, 0, 0, 5, 0, 0, 0, 0, -(far + 1) / (far - 1), -1, 0, 0, (-2 * far) / (far - 1), 0] } });
  const at = (x, y, view = camera()) => skeleton.pick(view, 800, 400, 400 + 100 * x, 200 - 100 * y);
  assert.equal(at(0, 1), -1); // not placed yet
  skeleton.update(chain(LIMB, restPose(LIMB)));
  assert.deepEqual([at(0.1, 0.5), at(-0.1, -0.5), at(0.5, 2), at(0.5, 1.9), at(0.5, 2.1)], [0, 0, 1, 1, 1]);
  assert.deepEqual([at(1.02, 2), at(0, -1.05), at(-0.2, 0.5), at(0.2, 1), at(0, -1.2), at(1.2, 2)], [2, 4, -1, -1, -1, -1]);
  assert.deepEqual([at(0.12, 2.05), at(-0.02, 1.9)], [1, 0]);
  assert.equal(at(0, 1, camera(9)), -1); // behind the far plane
  const behind = LIMB.map((one) => (one.name === "lower" ? { ...one, rest: { ...one.rest, translation: [1, 0, 20] } } : one));
  skeleton.update(chain(behind, restPose(behind)));
  assert.deepEqual([at(-0.5, 0), at(0.5, 2)], [-1, -1]); // a bone that ends behind the camera is none
});

test("driven joints are drawn as their frames, and a line to the driver", async () => {
  const { DrivenFrames } = await load("panels/driven");
  const driven = [{ driver: 1, origin: [1, 2, 3] }, { driver: 0, origin: [0, 0, 0] }, { driver: 9, origin: [4, 5, 6] }];
  const matrices = Float32Array.from({ length: 60 }, random), globals = new Float32Array(48), dimmed = [], added = [];
  const skin = { driven, jointCount: 2, joints: [{ name: "a" }, { name: "b" }] };
  const picking = { globals, skeleton: { dim: (on) => dimmed.push(on) }, joints: () => [{ name: "c" }, { name: "b" }, { name: "a" }] };
  const app = { skin: () => skin, posed: () => ({ matrices }), subject: () => ({ kind: "character", character: { diagonal: 10 } }), stage: { redraw() {}, overlay: { add: (lines) => added.push(lines) } } };
  const of = (i, v, w) => [0, 1, 2].map((r) => [0, 1, 2].reduce((sum, c) => sum + matrices[12 * (2 + i) + 4 * r + c] * v[c], w * matrices[12 * (2 + i) + 4 * r + 3]));
  globals.set([5, 6, 7], 16 + 12);
  globals.set(of(1, [0, 0, 0], 1), 32 + 12); // the second lies on its driver
  const frames = new DrivenFrames(app, picking);
  frames.set(true);
  const [lines] = added, read = (name) => [...lines.geometry.getAttribute(name).array];
  const wanted = (picked) => driven.flatMap(({ origin }, i) => {
    const from = of(i, origin, 1), long = i === picked ? 0.8 : 0.4;
    return [...[[1, 0, 0], [0, 1, 0], [0, 0, 1]].flatMap((axis) => [...from, ...plus(from, of(i, axis, 0).map((x) => long * x))]), ...(i === 0 ? [...from, 5, 6, 7] : [])];
  });
  near(read("position"), wanted(-1), 1e-5);
  const plain = read("color");
  assert.deepEqual([0, 1, 2].map((c) => plain.slice(6 * c, 6 * c + 3).indexOf(Math.max(...plain.slice(6 * c, 6 * c + 3)))), [0, 1, 2]); // red, green, blue
  near(plain.slice(0, 3), plain.slice(3, 6), 0);
  near(plain.slice(18, 24), [1, 0.85, 0.4, 1, 0.85, 0.4]);
  frames.picked = 0;
  frames.follow();
  near(read("position"), wanted(0), 1e-5);
  near(read("color").slice(0, 24), plain.slice(0, 24), 0);
  near(read("color").slice(24), plain.slice(24).map((x) => 0.45 * x));
  skin.driven = driven.slice(0, 1);
  frames.picked = -1;
  frames.follow();
  near(read("position"), wanted(-1).slice(0, 24), 1e-5);
  frames.set(false);
  assert.deepEqual([lines.visible, dimmed.at(-1), dimmed[0]], [false, false, true]);
  skin.driven = [];
  frames.set(true);
  assert.equal(lines.visible, false);
});

// -- Colours ---------------------------------------------------------------------------------------------------------------

test("weights, displacements and supports have their colours", async () => {
  const { displacementColours, hueColour, mix, rampColour, supportColours, weightColours } = await load("panels/colours");
  const hex = (text) => [0, 2, 4].map((at) => parseInt(text.slice(at, at + 2), 16) / 255), ground = hex("566074");
  const stops = ["566074", "2f6ba0", "2b9a91", "9cc544", "ffe14a"].map(hex);
  stops.forEach((stop, i) => near(rampColour(i / 4), stop));
  near(rampColour(0.375), stops[1].map((x, c) => (x + stops[2][c]) / 2));
  near(rampColour(7), stops[4]);
  near(rampColour(-1), hex("e0367a"));
  near(rampColour(-9), hex("e0367a"));
  near(rampColour(-0.25), mix(ground, hex("e0367a"), 0.25));
  near(mix([0, 1, 2], [4, 4, 4], 0.25), [1, 1.75, 2.5]);
  near(weightColours(Float32Array.of(0.5, -1, 0)), [...stops[2], ...hex("e0367a"), ...ground]);
  near(displacementColours(Float32Array.of(1, -2, 0, 0.5, 0, 1.5)), [0.74, 0.02, 0.5, 0.62, 0.5, 0.86]);
  near(displacementColours(new Float32Array(3)), [0.5, 0.5, 0.5]);
  near(hueColour(0), [0.94, 0.4, 0.4], 1e-3);
  near(hueColour(1), [0.3145, 0.5021, 0.9233], 1e-3);
  near(supportColours([Float32Array.of(0.5, 0, 0.9, 0), Float32Array.of(0, 0, 0.3, -1)], 4), [...mix(ground, hueColour(0), 0.75), ...ground,
    ...hueColour(0).map((x, c) => (0.9 * x + 0.3 * hueColour(1)[c]) / 1.2), ...ground]);
});

// -- Light -----------------------------------------------------------------------------------------------------------------

test("a light beyond the training grid", async () => {
  const { beyondGrid } = await load("panels/light");
  const [least, most] = [[1, 5, -1], [3, 5, -4]]; // corners in any order
  near([[2, 5, -2], [1, 5, -4], [3.0001, 5, -1], [0.95, 4.88, -2], [2, 5, 0]].map((at) => beyondGrid(at, least, most)), [0, 0, 0, 0.13, 1]);
});

test("the light's picture and its camera", async () => {
  const { project, unproject } = await load("panels/lamp_camera");
  const { readAnswer } = await load("panels/lamp_picture");
  const bytes = new ArrayBuffer(24 + 3 * 6), view = new DataView(bytes);
  [3, 2, 1].forEach((word, i) => view.setUint32(4 * i, word, true));
  [0.5, 12.25, 0.75].forEach((number, i) => view.setFloat32(12 + 4 * i, number, true));
  new Uint8Array(bytes, 24).set([7, 8, 9]);
  const { pixels, ...rest } = readAnswer(bytes);
  assert.deepEqual(rest, { width: 3, height: 2, verdict: "blend", misfit: 0.5, milliseconds: 12.25, share: 0.75 });
  assert.deepEqual([pixels.length, ...pixels.slice(0, 4)], [18, 7, 8, 9, 0]);
  for (const bad of [bytes.slice(0, 41), bytes.slice(0, 23), new ArrayBuffer(24), new ArrayBuffer(0)]) assert.throws(() => readAnswer(bad), /incomplete/);
  const q = quaternion(), axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => turn(q, axis)), eye = triple(4), camera = { eye, axes, field_of_view: 0.8 };
  const point = eye.map((x, c) => x + 0.7 * axes[0][c] - 0.4 * axes[1][c] - 3 * axes[2][c]), tall = 3 * Math.tan(0.4);
  near(project(camera, 1.5, point), [0.5 + 0.35 / (1.5 * tall), 0.5 + 0.2 / tall]);
  assert.equal(project(camera, 1.5, eye.map((x, c) => x + axes[2][c])), null);
  assert.equal(project(camera, 1.5, eye), null);
  near(project(camera, 1, eye.map((x, c) => x - 0.1 * axes[2][c])), [0.5, 0.5]);
  for (const axis of [0, 1, 2]) {
    const found = unproject(camera, 1.5, project(camera, 1.5, point), axis, point[axis]);
    near(found, point, 1e-6);
    assert.equal(unproject(camera, 1.5, [0.3, 0.6], axis, eye[axis] - (found[axis] - eye[axis]) * 0.01) === null, unproject(camera, 1.5, [0.3, 0.6], axis, eye[axis] + (found[axis] - eye[axis]) * 0.01) !== null);
  }
  assert.equal(unproject({ eye: [0, 0, 0], axes: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], field_of_view: 1 }, 1, [0.5, 0.5], 1, 2), null); // along the plane
});

// -- From resources to the run time ------------------------------------------------------------------------------------------

test("the pose is the clip's, with what was pulled on top", async () => {
  const { Pose } = await load("pose");
  const character = { joints: [joint("a", -1, [1, 2, 3, 4], [5, 6, 7], [8, 9, 10]), joint("b", 0, [0, 0, 0, 1], [0, 0, 0])], controls: [{ rest: 0.5 }, { rest: 2 }] };
  let changes = 0;
  const pose = new Pose(() => changes++), numbers = (from) => Float32Array.from({ length: 20 }, (_, i) => from + i);
  pose.start(character);
  assert.deepEqual([[...pose.locals], [...pose.controls], pose.pulled, changes], [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1], [0.5, 2], false, 0]);
  pose.setClip(numbers(0), null);
  assert.deepEqual([[...pose.locals], [...pose.controls], changes], [[...numbers(0)], [0.5, 2], 1]);
  pose.setLocal(1, [9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
  pose.setControl(0, 7);
  assert.ok(pose.pulled);
  pose.setClip(numbers(50), Float32Array.of(3, 4));
  assert.deepEqual([[...pose.locals], [...pose.controls], [...pose.clip], changes], [[...numbers(50).slice(0, 10), ...Array(10).fill(9)], [7, 4], [...numbers(50)], 4]);
  pose.reset(1);
  assert.deepEqual([[...pose.locals], [...pose.controls], pose.pulled], [[...numbers(50)], [7, 4], true]);
  pose.reset();
  assert.deepEqual([[...pose.controls], pose.pulled, changes], [[3, 4], false, 6]);
  pose.setLocal(0, numbers(0).slice(0, 10));
  pose.setControl(1, 1);
  pose.start(character);
  assert.deepEqual([pose.pulled, pose.locals[0], pose.controls[1]], [false, 1, 2]);
});

test("joints and controls reach the skin by name, and the device's results are compared", async () => {
  const { Engine, largestDistance } = await load("engine");
  const pose = { locals: Float32Array.from({ length: 30 }, (_, i) => i), controls: Float32Array.of(5, 6) }, freed = [];
  const names = (...list) => list.map((name) => ({ name }));
  const made = { locals: new Float32Array(40).fill(-1), controls: new Float32Array(2).fill(-1), update() { this.updates = (this.updates ?? 0) + 1; },
    deform: (positions, normals) => (positions.fill(2), normals.fill(3)), free: () => freed.push("pose") };
  const skin = { joints: names("c", "b", "none", "b"), controls: names("y", "x"), levelCount: 3, createPose: () => made, free: () => freed.push("skin") };
  const engine = new Engine(() => null), positions = new Float32Array(6), normals = new Float32Array(6);
  await engine.deform(pose, 0, positions, normals); // nothing is open
  assert.equal(positions[0], 0);
  engine.open({ open: () => skin }, new ArrayBuffer(0), names("a", "b", "c"), names("x", "y"));
  await engine.deform(pose, 0, positions, normals);
  assert.equal(made.level, 0);
  for (const [asked, given] of [[1.5, 1.5], [7, 2]]) { // a skin with fewer levels has its last
    await engine.deform(pose, asked, positions, normals);
    assert.equal(made.level, given);
  }
  made.updates = 1;
  const ten = (from) => Array.from({ length: 10 }, (_, i) => from + i);
  assert.deepEqual([...made.locals], [...ten(20), ...ten(10), ...Array(10).fill(-1), ...ten(10)]);
  assert.deepEqual([[...made.controls], made.updates, positions[0], normals[5], engine.milliseconds >= 0], [[6, 5], 1, 2, 3, true]);
  const there = { positions: Float32Array.of(2, 2, 2, 2.5, 2, 2), normals: new Float32Array(6).fill(9) };
  engine.device = { deform: () => there, free: () => freed.push("device") };
  engine.path = "webgl2";
  await engine.deform(pose, 0, positions, normals);
  assert.deepEqual([engine.agreement, positions[3], normals[0]], [{ path: "webgl2", distance: 0.5 }, 2.5, 9]);
  there.positions[3] = 2.25;
  there.normals = null;
  await engine.deform(pose, 0, positions, normals);
  assert.deepEqual([engine.agreement.distance, positions[3], normals[0]], [0.5, 2.25, 3]); // the largest so far
  engine.agreement.path = "webgpu";
  await engine.deform(pose, 0, positions, normals);
  assert.equal(engine.agreement.distance, 0.25); // of another path
  engine.adjust = (p) => p.fill(8);
  await engine.deform(pose, 0, positions, normals);
  assert.equal(positions[3], 8);
  engine.adjust = null;
  engine.device.deform = () => Promise.reject(new Error("lost"));
  await assert.rejects(engine.deform(pose, 0, positions, normals), /lost/);
  const old = engine.device;
  old.deform = async () => { engine.device = null; throw new Error("gone"); };
  await engine.deform(pose, 0, positions, normals); // another was chosen meanwhile
  engine.device = old;
  old.deform = async () => { engine.device = null; return { positions: new Float32Array(6).fill(99), normals: null }; };
  await engine.deform(pose, 0, positions, normals);
  assert.equal(positions[0], 2);
  engine.device = old;
  await engine.choose("wasm");
  assert.deepEqual([freed, engine.device, engine.agreement], [["device"], null, null]);
  await engine.choose("wasm"); // nothing changes
  Object.assign(engine, { device: old, path: "webgl2", agreement: { path: "webgl2", distance: 1 } });
  engine.close();
  assert.deepEqual([freed, engine.skin, engine.posed, engine.device, engine.path, engine.agreement], [["device", "device", "pose", "skin"], null, null, null, "wasm", null]);
  near([largestDistance(Float32Array.of(0, 0, 0, 1, 2, 3), Float32Array.of(0, 0, 0, 3, 5, 9)), largestDistance(Float32Array.of(1, 1, 1), Float32Array.of(1, 1, 1))], [7, 0]);
  assert.ok(Number.isNaN(largestDistance(Float32Array.of(NaN, 0, 0, 0, 0, 0), new Float32Array(6))));
});

test("resources are asked for with the key, kept, and checked", async () => {
  const kept = new Map(), asked = [], replaced = [];
  let answers = {};
  Object.assign(globalThis, { location: { hash: "#a%20key", pathname: "/p", search: "?q" }, history: { replaceState: (...list) => replaced.push(list[2]) },
    sessionStorage: { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) },
    fetch: async (name, options) => {
      asked.push({ name, ...options });
      const answer = answers[name];
      if (answer instanceof Error) throw answer;
      return answer ?? new Response("{}", { status: 404, statusText: "Not Found" });
    } });
  const { Data, Problem, numbered } = await load("data");
  assert.equal(numbered("f%d/%d", 7), "f7/%d");
  const data = new Data();
  assert.deepEqual([replaced, [...kept.values()]], [["/p?q"], ["a key"]]);
  location.hash = "";
  answers = { "data/show.json": new Response('{"pelt": 1, "boxes": []}'), broken: new Response("<p>"), refused: new Response('{"error": {"text": "No such skin."}}', { status: 400 }), away: new TypeError("no"),
    old: new Response("no", { status: 401 }), forbidden: new Response("no", { status: 403 }) };
  assert.deepEqual(await new Data().show(), { pelt: 1, boxes: [] }); // the key is known from before
  assert.deepEqual([asked[0].name, asked[0].headers.get("X-Pelt-Key"), replaced.length], ["data/show.json", "a key", 1]);
  kept.clear();
  const other = new Data();
  await assert.rejects(other.json("missing"), (thrown) => thrown instanceof Problem && thrown.message === "missing could not be read (404 Not Found).");
  assert.equal(asked.at(-1).headers.get("X-Pelt-Key"), null);
  await assert.rejects(data.json("broken"), /broken has an unexpected format/);
  await assert.rejects(data.json("refused"), /^Error: No such skin\.$/);
  await assert.rejects(data.json("away"), /The server does not answer/);
  await assert.rejects(data.json("old"), /has no key, or an outdated one/);
  await assert.rejects(data.json("forbidden"), /has no key, or an outdated one/);
  const ends = new AbortController();
  ends.abort();
  await assert.rejects(data.ask("away", { signal: ends.signal }), /^TypeError: no$/);

  // Numbers and meshes.
  const floats = Float32Array.of(1, 2, 3), mesh = new ArrayBuffer(8 + 24 * 2 + 12);
  new Uint32Array(mesh).set([2, 1]);
  new Float32Array(mesh).set([1, 2, 3, 4, 5, 6, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 2);
  new Uint32Array(mesh).set([0, 1, 0], 14);
  answers = { floats: new Response(floats), odd: new Response(new Uint8Array(6)), mesh: new Response(mesh), short: new Response(mesh.slice(0, 64)), tiny: new Response(new Uint8Array(4)) };
  assert.deepEqual([...await data.floats("floats", 3)], [1, 2, 3]);
  const count = asked.length;
  assert.deepEqual([...await data.floats("floats")], [1, 2, 3]);
  assert.equal(asked.length, count); // kept
  await assert.rejects(data.floats("floats", 4), /floats has 12 bytes where 16 were expected/);
  await assert.rejects(data.floats("odd"), /odd has 6 bytes where whole numbers were expected/);
  const { vertices, triangles, positions, normals, indices } = await data.mesh("mesh");
  assert.deepEqual([vertices, triangles, [...positions], [...indices]], [2, 1, [1, 2, 3, 4, 5, 6], [0, 1, 0]]);
  near(normals, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
  await assert.rejects(data.mesh("short"), /short ends early/);
  await assert.rejects(data.mesh("tiny"), /tiny ends early/);
  await assert.rejects(data.bytes("nowhere"));
  answers = { nowhere: new Response(floats), post: new Response('{"job": 4}') };
  assert.equal((await data.bytes("nowhere")).byteLength, 12); // failures are not kept

  // What was used longest ago makes room: 512 MB are kept.
  const large = (bytes) => ({ ok: true, arrayBuffer: async () => ({ byteLength: bytes }) }), before = asked.length;
  answers = { a: large(2e8), b: large(2e8), c: large(2e8), d: large(1e8), floats: new Response(floats) };
  for (const name of ["a", "b", "a", "c"]) await data.bytes(name);
  await new Promise((done) => setTimeout(done, 0));
  for (const name of ["a", "c", "d", "b"]) await data.bytes(name);
  await new Promise((done) => setTimeout(done, 0));
  assert.deepEqual(asked.slice(before).map(({ name }) => name), ["a", "b", "c", "d", "b"]);

  answers = Object.fromEntries(["json", "raw", "words", "view"].map((name) => [name, new Response('{"job": 4}')]));
  assert.deepEqual(await data.post("json", { a: 1 }, ends.signal), { job: 4 });
  const { method, body, headers, signal } = asked.at(-1);
  assert.deepEqual([method, body, headers.get("Content-Type"), headers.get("X-Pelt-Key"), signal], ["POST", '{"a":1}', "application/json", "a key", ends.signal]);
  for (const [name, sent] of [["raw", new Blob(["x"])], ["words", "text"], ["view", new Uint8Array(3)]]) {
    await data.post(name, sent);
    assert.deepEqual([asked.at(-1).body, asked.at(-1).headers.get("Content-Type")], [sent, "application/octet-stream"]);
  }
});

test("who listens to an event hears it until he stops", async () => {
  const { Emitter } = await load("events");
  const emitter = new Emitter(), heard = [];
  const stop = emitter.on("a", (x) => heard.push(x));
  emitter.on("a", (x) => heard.push(-x));
  emitter.emit("b", 9);
  emitter.emit("a", 1);
  stop();
  emitter.emit("a", 2);
  assert.deepEqual(heard, [1, -1, -2]);
});

test("expected errors have the colours of the heat map, region by region", async () => {
  const { heatColour, regionColours } = await load("panels/confidence");
  const { HEAT_STOPS } = await load("surface");
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
  HEAT_STOPS.forEach((hex, i) => near(heatColour(i / (HEAT_STOPS.length - 1)), rgb(hex)));
  near(heatColour(7), rgb(HEAT_STOPS.at(-1)));
  near(heatColour(NaN), rgb(HEAT_STOPS.at(-1)));
  near(heatColour(-1), rgb(HEAT_STOPS[0]));
  near(regionColours(Uint8Array.of(1, 0, 1), [0, 4], 2), [...rgb(HEAT_STOPS.at(-1)), ...rgb(HEAT_STOPS[0]), ...rgb(HEAT_STOPS.at(-1))]);
});
