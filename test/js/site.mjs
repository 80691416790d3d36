// site.mjs PELT SITE: what scripts/site has built, as a reader uses it: links, search, live skins, the page that fits; from a folder of a
// plain web server, and as files, without one.

import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, extname, join, normalize } from "node:path";
import { check, failed, launch, openPage, pelt, pictures } from "./page_harness.mjs";
import { apart, pixelsOf, placeOf, readPfm } from "./relit.mjs";

const site = process.argv[3], BASE = "/some/where/";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png" };

// -- Every address in every page leads somewhere --------------------------------------------------------------------------

function checkLinks() {
  const names = readdirSync(site).filter((name) => name.endsWith(".html") && name !== "404.html"), ids = {};
  const text = Object.fromEntries(names.map((name) => [name, readFileSync(join(site, name), "utf8")]));
  for (const name of names) ids[name] = new Set([...text[name].matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  let count = 0;
  for (const name of names) {
    for (const [, address] of text[name].matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^(https?|mailto|data):/.test(address)) continue;
      const [path, anchor] = address.replace(/&amp;/g, "&").split("#");
      const file = path ? normalize(join(dirname(name), decodeURIComponent(path))) : name;
      const found = join(site, file.endsWith("/") || file === "." ? `${file}/index.html` : file);
      count++;
      if (!existsSync(found)) check(`${name} leads to ${address}`, false);
      else if (anchor && ids[file === "." ? "index.html" : file] && !ids[file === "." ? "index.html" : file].has(decodeURIComponent(anchor))) check(`${name}: there is a place ${address}`, false);
      if (address.startsWith("/")) check(`${name}: ${address} is right in any folder`, false);
    }
  }
  check("there are links", count > 1000, count);
  for (const name of names) check(`${name} calls pages by their titles`, !/>[\w-]+\.md<\/a>/.test(text[name]), />([\w-]+\.md)<\/a>/.exec(text[name])?.[1]);
}

// -- From a web server ------------------------------------------------------------------------------------------------------

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://host").pathname);
  const file = join(site, path.startsWith(BASE) ? path.slice(BASE.length) : "nothing");
  const whole = path.endsWith("/") ? join(file, "index.html") : file;
  if (!existsSync(whole) || statSync(whole).isDirectory()) return response.writeHead(404).end();
  return response.writeHead(200, { "Content-Type": TYPES[extname(whole)] ?? "application/octet-stream" }).end(readFileSync(whole));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${server.address().port}${BASE}`;

async function read(browser) {
  const { page, complaints } = await openPage(browser, url, { width: 1280, height: 800 });
  await page.goto(url);
  await page.waitForSelector("h1");
  check("the start", /Where to begin/.test(await page.textContent("h1")));
  await page.click(".VPSidebar a:has-text('Your first character')");
  await page.waitForSelector("h1:has-text('ten minutes')");
  check("a page by its link", page.url() === `${url}tutorial-first.html`, page.url());
  check("its pictures", await page.evaluate(async () => {
    const all = [...document.querySelectorAll(".vp-doc img")];
    await Promise.all(all.map((image) => image.complete || new Promise((done) => { image.onload = image.onerror = done; })));
    return all.length > 3 && all.every((image) => image.naturalWidth > 100);
  }));
  await page.click("a[href*='glossary.html#slot']");
  await page.waitForSelector("h1:has-text('Glossary')");
  check("a word in the glossary", page.url().endsWith("glossary.html#slot"), page.url());

  await page.click(".DocSearch-Button, .VPNavBarSearch button");
  await page.fill(".VPLocalSearchBox input", "crumpled");
  await page.waitForSelector(".VPLocalSearchBox .result", { timeout: 15000 });
  const results = await page.locator(".VPLocalSearchBox .result").count();
  check("search finds", results > 0, results);
  await page.click(".VPLocalSearchBox .result >> nth=0");
  await page.waitForSelector(".VPLocalSearchBox", { state: "detached" });

  await page.goto(`${url}tutorial-first.html`);
  await page.waitForSelector(".live-skin button");
  await page.waitForTimeout(500); // the page comes to life
  await page.click(".live-skin button");
  const frame = await (await page.waitForSelector(".live-skin iframe")).contentFrame();
  await frame.waitForFunction(() => globalThis.peltApp?.stage.mesh && globalThis.peltApp.subject(), null, { timeout: 60000 });
  check("a live skin", await frame.evaluate(() => globalThis.peltApp.character().skins.length) === 2);
  check("nothing complains", !complaints.length, complaints.join("; "));
  await page.context().close();
}

async function fitsScreens(browser) {
  for (const width of [390, 1280]) {
    const page = await (await browser.newContext({ viewport: { width, height: 800 } })).newPage();
    for (const name of readdirSync(site).filter((file) => file.endsWith(".html"))) {
      await page.goto(`${url}${name}`, { waitUntil: "domcontentloaded" });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(`${name} is no wider than a screen of ${width} pixels`, wide <= 0, wide);
    }
    await page.context().close();
  }
}

async function fits(browser) {
  const { page, complaints } = await openPage(browser, url, { width: 1280, height: 800 });
  await page.goto(`${url}try/index.html`);
  await page.waitForSelector("text=/drop/i", { timeout: 30000 });
  check("the page that fits", !complaints.length, complaints.join("; "));
  await page.goto(`${url}live/face/index.html`);
  await page.waitForFunction(() => globalThis.peltApp?.stage.mesh, null, { timeout: 60000 });
  check("the face", !complaints.length, complaints.join("; "));
  await page.context().close();
}

// The box in a page of the docs: its lamp dragged, it looks as `pelt relight run` draws it.
async function relights(browser) {
  const { page, complaints } = await openPage(browser, url, { width: 1280, height: 900 }), out = mkdtempSync(join(tmpdir(), "pelt-site-"));
  await page.goto(`${url}tutorial-film.html`);
  const box = page.locator(".live-skin", { has: page.locator("a[href*='live/box']") });
  await box.locator("button").waitFor();
  await page.waitForTimeout(500);
  await box.locator("button").click();
  const frame = await (await box.locator("iframe").elementHandle()).contentFrame();
  await frame.waitForFunction(() => globalThis.peltApp?.subject() && document.querySelector("canvas.relit")?.width === 160, null, { timeout: 60000 });
  await frame.evaluate(() => {
    const { data } = globalThis.peltApp, ask = data.ask.bind(data);
    globalThis.rested = 0; // answers with as many paths as a light at rest has
    data.ask = async (name, options) => { const answer = await ask(name, options); if (name === "api/light" && JSON.parse(options.body).samples === 256) globalThis.rested++; return answer; };
  });
  const settled = async () => { await frame.waitForFunction(() => globalThis.rested > 0, null, { timeout: 60000 }); await page.waitForTimeout(500); };
  const program = async () => {
    execFileSync(pelt, ["relight", "run", join(site, "live/box/data/b0/light.keys"), "--light", (await placeOf(frame)).join(), "-o", join(out, "box.pfm"), "--overwrite", "--quiet"]);
    return readPfm(join(out, "box.pfm"));
  };
  const first = await pixelsOf(frame), before = apart(first, await program()), place = await placeOf(frame);
  check("the box, as it comes", before.far < 0.03 && before.share > 0.5, JSON.stringify(before));
  const picture = await frame.locator("canvas.relit").first().boundingBox(), handle = await frame.locator(".light-handle").boundingBox();
  await page.mouse.move(handle.x + handle.width / 2, handle.y + handle.height / 2);
  await page.mouse.down();
  await page.mouse.move(picture.x + 0.66 * picture.width, picture.y + 0.22 * picture.height, { steps: 5 });
  await page.mouse.up();
  await settled();
  const moved = await placeOf(frame), second = await pixelsOf(frame), after = apart(second, await program());
  check("the lamp is where it was dragged", Math.abs(moved[0] - place[0]) > 0.05 && moved[1] === place[1], `${place} ${moved}`);
  check("the picture follows", second.reduce((sum, x, i) => sum + Math.abs(x - first[i]), 0) / first.length > 5);
  check("as the program draws it", after.far < 0.03 && Math.abs(after.white / before.white - 1) < 0.01, JSON.stringify({ before, after }));
  if (pictures) await box.screenshot({ path: join(pictures, "site-box.png") });
  for (const [i, value] of [[0, 0.42], [2, 0.1], [1, 0.12]]) await frame.locator("#panel-light .exact").nth(i).fill(String(value)); // unlike the training
  await frame.evaluate(() => document.activeElement.blur());
  await frame.waitForFunction(() => document.querySelector("#panel-light").textContent.includes("all points were gathered"), null, { timeout: 240000 });
  check("nothing complains of light", !complaints.length, complaints.join("; "));
  rmSync(out, { recursive: true });
  await page.context().close();
}

// -- As files -----------------------------------------------------------------------------------------------------------------

async function readFiles(browser) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.goto(`file://${site}/index.html`);
  check("styles, as files", await page.evaluate(() => getComputedStyle(document.querySelector(".VPSidebar")).position) === "fixed");
  await page.click(".vp-doc a[href*='tutorial-first.html'] >> nth=0");
  check("links, as files", /ten minutes/.test(await page.textContent("h1")), page.url());
  check("pictures, as files", await page.evaluate(() => [...document.querySelectorAll(".vp-doc img")].some((image) => image.naturalWidth > 100)));
  await page.context().close();
}

checkLinks();
const browser = await launch();
try {
  await read(browser);
  await fitsScreens(browser);
  await fits(browser);
  if (existsSync(join(site, "live/box"))) await relights(browser); // a pelt without Embree has none
  await readFiles(browser);
} finally {
  await browser.close();
  server.close();
}
process.exit(failed ? 1 : 0);
