// plays.mjs DUMP.bin FILE.glb [DUMP.bin FILE.glb ...]: does three.js in a browser, by WebGL2, put the vertices where pelt
// puts them? Exit 1 when one is off by more than 1e-4 of the diagonal of the rest pose, or normals by more than 0.1 degrees
// RMS, in files of driven joints (*joints.glb) 1 degree: there targets make up for three.js, which moves normals by the
// matrices of positions, and half a degree is what they leave. CHROMIUM is the browser.
// The page is plays_page.mjs.

import { openBrowser } from "./browser.mjs";

const TOLERANCE = 1e-4;
const NORMAL_TOLERANCE = 0.1, SCALED_NORMAL_TOLERANCE = 1; // degrees

const files = process.argv.slice(2);
const { call, close } = await openBrowser("plays_page.mjs", files);
let agreed = true;
for (let i = 0; i + 1 < files.length; i += 2) {
  const result = await call("compare", `/file/${i}`, `/file/${i + 1}`);
  const { problem, vertices, targets, joints, frames, off, degrees } = result;
  console.log(problem ? `${files[i + 1]}: ${problem}` :
    `${files[i + 1]}: ${vertices} vertices, ${joints} joints, ${targets} targets, ${frames} frames: ` +
    `off by at most ${off.toExponential(2)} of the diagonal, normals by ${degrees.toFixed(3)} degrees RMS`);
  const most = /(joints|both)\.glb$/.test(files[i + 1]) ? SCALED_NORMAL_TOLERANCE : NORMAL_TOLERANCE;
  agreed &&= !problem && off <= TOLERANCE && degrees <= most;
}
await close();
process.exit(agreed ? 0 : 1);
