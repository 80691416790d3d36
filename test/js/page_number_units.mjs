// page_number_units.mjs: which errors the page compares, which vertex a ray meets, and what a region is; without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, near, random } from "./units.mjs";

const measure = (rms, frames = 10) => ({ rel_err: rms, rms, max: 2 * rms, roughness: rms, normals: 1, frames });
const skin = (clips, train, holdout, bundle = "a.glb") => ({ facts: { bundle, clips, examples: train ? 10 : 0, method: "psd", blend: "file", train, holdout } });
const old = { facts: null };

test("only errors of the same examples are compared", async () => {
  const { bestOf, errorsOf, firstKind, trainedOn } = await load("measured");
  const skins = [skin(["train"], measure(1), measure(2)), skin(["train"], measure(3), measure(4)), skin(["train"], measure(5), null), old];
  const said = (kind, list = skins) => errorsOf(list, kind, "test", () => undefined).map(({ measure: m, comparable }) => [m?.rms, comparable]);
  assert.deepEqual(said("holdout"), [[2, true], [4, true], [undefined, false], [undefined, false]]);
  assert.deepEqual(said("train"), [[1, true], [3, true], [5, true], [undefined, false]]);
  for (const other of [skin(["train"], measure(1), measure(2, 11)), skin(["train", "more"], measure(1), measure(2)), skin(["train"], measure(1), measure(2), "b.glb")])
    assert.deepEqual(said("holdout", [skins[0], other]), [[2, false], [2, false]]);
  const measured = new Map([[skins[0], measure(7)], [skins[1], null]]);
  assert.deepEqual(errorsOf(skins, "clip", "test", (one) => measured.get(one)).map(({ measure: m, comparable }) => [m?.rms ?? m, comparable]), [[7, true], [null, true], [undefined, true], [undefined, false]]);
  assert.deepEqual(errorsOf(skins, "clip", "train", () => measure(1)).map(({ comparable }) => comparable), [false, false, false, false]);
  assert.deepEqual([trainedOn(skins[0], "train"), trainedOn(skins[0], "test"), trainedOn(old, "test")], [true, false, null]);
  assert.deepEqual([firstKind(skins), firstKind([skins[2], old]), firstKind([old]), firstKind([])], ["holdout", "train", "clip", "clip"]);
  assert.deepEqual([bestOf([3, 2, null]), bestOf([3]), bestOf([null, null]), bestOf([3, NaN])], [2, NaN, NaN, NaN]);
});

// A soup of triangles: which one a ray meets is found by many points of each.
test("a ray meets the nearest triangle, at its nearest corner", async () => {
  const { pointAlong, vertexAlong } = await load("vertices");
  for (let i = 0; i < 200; i++) {
    const count = 6;
    const positions = Float32Array.from({ length: 9 * count }, () => 2 * random());
    const indices = Uint32Array.from({ length: 3 * count }, (_, k) => k);
    const origin = [0, 0, 4], target = [0.4 * random(), 0.4 * random(), 0], direction = target.map((x, c) => 3 * (x - origin[c]));
    let wanted = -1, nearest = Infinity;
    for (let t = 0; t < count; t++) { // by solving origin + s direction = corner combination
      const [a, b, c] = [0, 1, 2].map((k) => Array.from(positions.subarray(9 * t + 3 * k, 9 * t + 3 * k + 3)));
      const minus = (p, q) => p.map((x, k) => x - q[k]);
      const det = (p, q, r) => p[0] * (q[1] * r[2] - q[2] * r[1]) - p[1] * (q[0] * r[2] - q[2] * r[0]) + p[2] * (q[0] * r[1] - q[1] * r[0]);
      const [e, f, d, s] = [minus(b, a), minus(c, a), direction.map((x) => -x), minus(origin, a)];
      const whole = det(e, f, d);
      const [u, v, w] = [det(s, f, d) / whole, det(e, s, d) / whole, det(e, f, s) / whole];
      if (u < 0 || v < 0 || u + v > 1 || w <= 0 || w >= nearest) continue;
      nearest = w;
      wanted = 3 * t + [1 - u - v, u, v].reduce((best, x, k, all) => (x > all[best] ? k : best), 0);
    }
    assert.equal(vertexAlong(origin, direction, positions, indices), wanted);
  }
  const points = [0, 0, 0, 0.5, 0, 0, 0.5, 0.05, -3];
  assert.equal(pointAlong([0, 0, 4], [0.5, 0.001, -4], points, 0.02), 1);
  assert.equal(pointAlong([0, 0, 4], [0.25, 0, -4], points, 0.005), -1);
  assert.equal(pointAlong([0, 0, 4], [0, 0, 4], points, 0.02), -1);
});

test("regions are sums over the vertices of a joint", async () => {
  const { dominantJoints, joinedTo, regionErrors } = await load("vertices");
  const weights = [[{ joint: 1, weight: 0.6 }, { joint: 0, weight: 0.4 }], [{ joint: 2, weight: 1 }], [], [{ joint: 0, weight: 1 }]];
  const one = { jointCount: 2, vertexCount: 4, driven: [{ driver: 1 }], weightsAt: (v) => weights[v] };
  assert.deepEqual([...dominantJoints(one)], [1, 1, -1, 0]);
  assert.deepEqual([joinedTo(one, 0), joinedTo(one, 2)], [0, 1]);
  const found = regionErrors([1, 1, -1, 0], [3, 4, 2, 5], [1, 7, 6, 8]);
  assert.deepEqual(found.map(({ joint, vertices }) => [joint, vertices]), [[1, [0, 1]], [-1, [2]], [0, [3]]]);
  near(found.map(({ rms }) => rms), [Math.sqrt(12.5), 2, 5]);
  near(found.map(({ max }) => max), [4, 2, 5]);
  near(found.map(({ clip }) => clip), [5, 6, 8]);
  assert.deepEqual(regionErrors([0], null, null), [{ joint: 0, vertices: [0], rms: null, max: null, clip: null }]);
});

test("a skin is told in words", async () => {
  const { errorText, methodText, timeText, trainedText } = await load("panels/about_skin");
  assert.equal(errorText(measure(0.1234)), "12.3 % of the plain blend's (0.123 rms)");
  assert.equal(errorText(measure(1)), "100 % of the plain blend's (1 rms)");
  assert.equal(errorText({ ...measure(0.5), rel_err: null }), "0.5 rms");
  assert.equal(trainedText(skin(["a", "b"], measure(1), null).facts), "10 examples of a, b");
  assert.equal(trainedText(skin([], null, null).facts), "No examples: nothing was learned");
  assert.equal(trainedText({ ...skin([], null, null).facts, examples: 1 }), "1 example of the caller");
  assert.equal(methodText({ method: "ssd", blend: "fit" }), "Linear blend of the joints, fitted weights");
  assert.equal(methodText({ method: "new", blend: "kind" }), "new, kind");
  const figures = { nanoseconds: 2, nanoseconds_low: 1.5, nanoseconds_high: 3, timed_frames: 200 };
  assert.equal(timeText(figures, 1000), "2 µs per frame; half of 200 took 1.5 to 3");
  assert.equal(timeText(figures, 1000000), "2 ms per frame; half of 200 took 1.5 to 3");
  assert.equal(timeText({ ...figures, nanoseconds_low: 2, nanoseconds_high: 2 }, 1000), "2 µs per frame");
  assert.equal(timeText(undefined, 1), "measuring …");
  assert.equal(timeText(null, 1), "unknown");
});
