// look_alike.mjs BEFORE AFTER [BEFORE AFTER ...]: do two glTF files look alike in three.js, in a browser, by WebGL2? Each
// pair is drawn at moments of their clips, textured and lit, and pixels are compared. Exit 1 when any of them differ, when
// a picture is empty, or when moments of a clip cannot be told apart. CHROMIUM is the browser; PICTURES a folder for the
// pictures, if they are wanted.

import { createServer } from "node:http";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PAGE = `<!doctype html><title>look alike</title><script type="importmap">{"imports": {
  "three": "/code/node_modules/three/build/three.module.js", "three/addons/": "/code/node_modules/three/examples/jsm/"}}
</script><script type="module" src="/code/look_alike_page.mjs"></script>`;
const MOST_OFF = 2; // of 255: the same numbers, stored otherwise, may round otherwise

const files = process.argv.slice(2);
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
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader", "--ignore-gpu-blocklist"],
});
const page = await browser.newPage();
const complaints = [];
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
await page.goto(`http://127.0.0.1:${server.address().port}/`);
await page.waitForFunction(() => globalThis.ready, null, { timeout: 60000 });

let agreed = true;
for (let i = 0; i + 1 < files.length; i += 2) {
  const name = files[i + 1];
  const result = await page.evaluate(([a, b]) => globalThis.compare(a, b), [`/file/${i}`, `/file/${i + 1}`]).catch(
    (error) => ({ problem: error.message }));
  const problem = result.problem ?? complaints.splice(0)[0];
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
server.close();
process.exit(agreed ? 0 : 1);
