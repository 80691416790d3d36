// plays.mjs DUMP.bin FILE.glb [DUMP.bin FILE.glb ...]: does three.js in a browser, by WebGL2, put the vertices where pelt
// puts them? Exit 1 when one is off by more than 1e-4 of the diagonal of the rest pose, or normals of a file with morph
// targets by more than 0.1 degrees RMS. (three.js moves normals by the matrices of positions, which is not right where a
// driven joint bulges, and there are no targets to mend it.) CHROMIUM is the browser.
//
// The files and three.js are served to a page on this machine, plays_page.mjs, which plays them and compares.

import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join, normalize } from "node:path";
import { chromium } from "playwright-core";

const TOLERANCE = 1e-4;
const NORMAL_TOLERANCE = 0.1; // degrees
const HERE = fileURLToPath(new URL(".", import.meta.url));
const PAGE = `<!doctype html><title>plays</title><script type="importmap">{"imports": {
  "three": "/code/node_modules/three/build/three.module.js", "three/addons/": "/code/node_modules/three/examples/jsm/"}}
</script><script type="module" src="/code/plays_page.mjs"></script>`;

// /file/N is argument N, /code/PATH is a script beside this one.
function serve(files) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const [, kind, ...rest] = path.split("/");
    const file = kind === "file" ? files[Number(rest[0])] : kind === "code" ? join(HERE, ...rest) : null;
    if (path === "/favicon.ico") return response.writeHead(204).end();
    if (path === "/") return response.writeHead(200, { "Content-Type": "text/html" }).end(PAGE);
    if (!file || !existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": /\.m?js$/.test(file) ? "text/javascript" : "application/octet-stream" });
    return response.end(readFileSync(file));
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

async function openPage(address) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader", "--ignore-gpu-blocklist"],
  });
  const page = await browser.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address);
  await page.waitForFunction(() => globalThis.ready, null, { timeout: 60000 });
  return { browser, page, complaints };
}

const files = process.argv.slice(2);
const server = await serve(files);
const { browser, page, complaints } = await openPage(`http://127.0.0.1:${server.address().port}/`);
let agreed = true;
for (let i = 0; i + 1 < files.length; i += 2) {
  const result = await page.evaluate(([dump, file]) => globalThis.compare(dump, file), [`/file/${i}`, `/file/${i + 1}`]).catch(
    (error) => ({ problem: error.message }));
  const problem = result.problem ?? complaints.splice(0)[0];
  if (problem) console.log(`${files[i + 1]}: ${problem}`);
  else {
    const { vertices, targets, joints, frames, off, degrees } = result;
    console.log(`${files[i + 1]}: ${vertices} vertices, ${joints} joints, ${targets} targets, ${frames} frames: ` +
      `off by at most ${off.toExponential(2)} of the diagonal, normals by ${degrees.toFixed(3)} degrees RMS`);
  }
  agreed &&= !problem && result.off <= TOLERANCE && (!result.targets || result.degrees <= NORMAL_TOLERANCE);
}
await browser.close();
server.close();
process.exit(agreed ? 0 : 1);
