// browser.mjs: a script in a browser, with three.js and files at hand.

import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join, normalize } from "node:path";
import { chromium } from "playwright-core";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const page = (script) => `<!doctype html><title>${script}</title><script type="importmap">{"imports": {
  "three": "/code/node_modules/three/build/three.module.js", "three/addons/": "/code/node_modules/three/examples/jsm/",
  "pelt-wasm": "/web/pelt-wasm/dist/index.js"}}
</script><script type="module" src="/code/${script}"></script>`;

// /file/N is one of the files, /code/PATH is a script next to this one, /web/PATH is in the folder web.
function serve(script, files) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const [, kind, ...rest] = path.split("/");
    const folder = { code: HERE, web: join(HERE, "../../web") }[kind];
    const file = kind === "file" ? files[Number(rest[0])] : folder ? join(folder, ...rest) : null;
    if (path === "/favicon.ico") return response.writeHead(204).end();
    if (path === "/") return response.writeHead(200, { "Content-Type": "text/html" }).end(page(script));
    if (!file || !existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": /\.m?js$/.test(file) ? "text/javascript" : "application/octet-stream" });
    return response.end(readFileSync(file));
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

// Runs a script of this folder, which sets globalThis.ready when it can be called. Returns call(name, ...arguments),
// which calls globalThis[name] there, or { problem } when it fails or the page complains; and close(). CHROMIUM is the
// browser, `flags` are additional arguments for it.
export async function openBrowser(script, files, flags = []) {
  const server = await serve(script, files);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader", "--ignore-gpu-blocklist", ...flags],
  });
  const tab = await browser.newPage();
  const complaints = [];
  tab.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  tab.on("pageerror", (error) => complaints.push(String(error)));
  await tab.goto(`http://127.0.0.1:${server.address().port}/`);
  await tab.waitForFunction(() => globalThis.ready, null, { timeout: 60000 });
  return {
    async call(name, ...values) {
      const result = await tab.evaluate(([f, list]) => globalThis[f](...list), [name, values]).catch(
        (error) => ({ problem: error.message }));
      const complaint = complaints.splice(0)[0];
      return complaint ? { problem: complaint } : result;
    },
    async close() {
      await browser.close();
      server.close();
    },
  };
}
