// page_alone_units.mjs: what the page computes when it fits without a server, without a browser.

import assert from "node:assert/strict";
import { File } from "node:buffer";
import test from "node:test";
import { load } from "./units.mjs";

globalThis.File ??= File;

const named = (path) => Object.assign(new File([], path.split("/").at(-1)), { webkitRelativePath: path.includes("/") ? path : "" });

test("paths of dropped files begin where the scene is", async () => {
  const { pathsOf } = await load("gather");
  assert.deepEqual(pathsOf(["arm.glb", "arm.train.pc2"].map(named)), ["arm.glb", "arm.train.pc2"]);
  assert.deepEqual(pathsOf(["work/arm.glb", "work/arm.train/1.obj", "work/arm.train/2.obj"].map(named)), ["arm.glb", "arm.train/1.obj", "arm.train/2.obj"]);
  assert.deepEqual(pathsOf(["arm.glb", "arm.train/1.obj"].map(named)), ["arm.glb", "arm.train/1.obj"]);
  assert.deepEqual(pathsOf(["a.pelt", "more/b.pelt"].map(named)), ["a.pelt", "more/b.pelt"]);
});

test("files that are too large for a page are refused before they are read", async () => {
  const { tooLarge } = await load("local/limits");
  tooLarge(2 ** 31);
  assert.throws(() => tooLarge(2 ** 31 + 1), /2048 MB.*the program pelt/);
});

test("as many fits run as there are places, and the others wait in line", async () => {
  const { Line } = await load("local/limits");
  const line = new Line(2), log = [], ends = [];
  const work = (name) => () => new Promise((done, failed) => { log.push(name); ends.push(name === "b" ? failed : done); });
  const all = ["a", "b", "c", "d"].map((name) => line.add(work(name)).catch(() => log.push(`${name} failed`)));
  const turn = () => new Promise((done) => { setTimeout(done, 0); });
  await turn();
  assert.deepEqual(log, ["a", "b"]);
  ends[1](new Error());
  await turn();
  assert.deepEqual([...log].sort(), ["a", "b", "b failed", "c"]);
  ends[0]();
  ends[2]();
  await turn();
  assert.deepEqual(log.at(-1), "d");
  ends[3]();
  await Promise.all(all);
});
