// plays.mjs DUMP.bin FILE.glb [DUMP.bin FILE.glb ...]: does three.js in a browser, by WebGL2, put the vertices where pelt
// puts them? Exit 1 when one is off by more than 1e-4 of the diagonal of the rest pose, or normals of a file with morph
// targets by more than 0.1 degrees RMS. (three.js moves normals by the matrices of positions, which is not right where a
// driven joint bulges, and there are no targets to mend it.) CHROMIUM is the browser.
// The page is plays_page.mjs.

import { openBrowser } from "./browser.mjs";

const TOLERANCE = 1e-4;
const NORMAL_TOLERANCE = 0.1; // degrees

const files = process.argv.slice(2);
const { call, close } = await openBrowser("plays_page.mjs", files);
let agreed = true;
for (let i = 0; i + 1 < files.length; i += 2) {
  const result = await call("compare", `/file/${i}`, `/file/${i + 1}`);
  const { problem, vertices, targets, joints, frames, off, degrees } = result;
  console.log(problem ? `${files[i + 1]}: ${problem}` :
    `${files[i + 1]}: ${vertices} vertices, ${joints} joints, ${targets} targets, ${frames} frames: ` +
    `off by at most ${off.toExponential(2)} of the diagonal, normals by ${degrees.toFixed(3)} degrees RMS`);
  agreed &&= !problem && off <= TOLERANCE && (!targets || degrees <= NORMAL_TOLERANCE);
}
await close();
process.exit(agreed ? 0 : 1);
