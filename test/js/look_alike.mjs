// look_alike.mjs BEFORE AFTER [BEFORE AFTER ...]: do two glTF files look alike in three.js, in a browser, by WebGL2? Each
// pair is drawn at moments of their clips, textured and lit, and pixels are compared. Exit 1 when any of them differ, when
// a picture is empty, or when moments of a clip cannot be told apart. CHROMIUM is the browser; PICTURES a folder for the
// pictures, if they are wanted.

import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { openBrowser } from "./browser.mjs";

const MOST_OFF = 2; // of 255: the same numbers, stored differently, may round differently

const files = process.argv.slice(2);
const browser = await openBrowser("look_alike_page.mjs", files);
let agreed = true;
for (let i = 0; i + 1 < files.length; i += 2) {
  const name = files[i + 1];
  const result = await browser.call("compare", `/file/${i}`, `/file/${i + 1}`);
  const { problem } = result;
  if (problem) console.log(`${name}: ${problem}`);
  else {
    const { pictures, filled, off, moved } = result;
    console.log(`${name}: ${pictures} pictures, ${(100 * filled).toFixed(1)}% of them filled, off by at most ${off} of 255; ` +
      `moments of a clip differ by ${moved}`);
  }
  agreed &&= !problem && result.filled > 0.02 && result.off <= MOST_OFF && result.moved > 20;
  if (process.env.PICTURES && !problem) {
    writeFileSync(join(process.env.PICTURES, `${basename(name)}.png`), Buffer.from(result.picture.split(",")[1], "base64"));
  }
}
await browser.close();
process.exit(agreed ? 0 : 1);
