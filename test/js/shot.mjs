// shot.mjs FOLDER PAGE.html OUT.png [WIDTHxHEIGHT [SECONDS]]: serves a folder, opens one of its pages, waits, and takes a picture. Fails
// where the page complains, or where its canvas has one colour only. For the pages of docs/ (test/docs.py).

import { createServer } from "node:http";
import { existsSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { launch } from "./page_harness.mjs";

const [folder, name, out, size = "960x540", seconds = "2"] = process.argv.slice(2);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
const server = createServer((request, response) => {
  const file = join(folder, decodeURIComponent(new URL(request.url, "http://host").pathname));
  if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
  return response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await launch();
const [width, height] = size.split("x").map(Number);
const page = await browser.newPage({ viewport: { width, height } });
const complaints = [];
page.on("console", (message) => message.type() === "error" && !/favicon/.test(message.location().url) && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
await page.goto(`http://127.0.0.1:${server.address().port}/${name}`);
await page.waitForSelector("canvas", { timeout: 30000 }).catch(() => complaints.push("no canvas"));
await page.waitForTimeout(1000 * Number(seconds));
const bytes = await page.screenshot({ path: out });
// What is one colour compresses to nothing.
if (bytes.length < 3000) complaints.push(`nothing is drawn: a picture of ${bytes.length} bytes`);
await browser.close();
server.close();
for (const complaint of complaints) console.error(`${name}: ${complaint}`);
process.exit(complaints.length ? 1 : 0);
