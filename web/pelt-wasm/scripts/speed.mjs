// speed.mjs SKIN.pelt...: the time of a frame in WebAssembly, for comparison with `pelt bench SKIN.pelt...`.
//
// "pose" is pose.update(), "slots" pose.deformSlots() of positions and normals, "file" pose.deform() of both into
// arrays of the page. All joints rotate. Prints the best of several runs, in microseconds, and ns per vertex for pose
// and slots.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { loadPelt } from "../dist/index.js";

const ROUNDS = 41, ROUND_MS = 20;
const pelt = await loadPelt();

// In CPU time of the process: other programs may be running.
function best(call) {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now(), used = process.cpuUsage();
    let count = 0;
    for (; performance.now() - start < ROUND_MS; count++) call();
    const { user, system } = process.cpuUsage(used);
    least = Math.min(least, (user + system) / count);
  }
  return least;
}

function measure(path) {
  const skin = pelt.open(readFileSync(path)), pose = skin.createPose(), vertices = skin.vertexCount;
  const positions = new Float32Array(3 * vertices), normals = new Float32Array(3 * vertices);
  for (let j = 0; j < skin.jointCount; j++) pose.locals[10 * j + (j % 3)] += 0.2;
  const frame = {
    pose: best(() => pose.update()), slots: best(() => pose.deformSlots({ normals: true })),
    file: best(() => pose.deform(positions, normals)),
  };
  skin.free();
  const times = Object.values(frame).map((time) => time.toFixed(2).padStart(9)).join(" ");
  const each = (((frame.pose + frame.slots) / vertices) * 1000).toFixed(2).padStart(10);
  console.log(`${basename(path).padEnd(16)} ${String(vertices).padStart(8)} ${times} ${each}`);
}

console.log("frame            vertices   pose us  slots us   file us  ns/vertex");
process.argv.slice(2).forEach(measure);
