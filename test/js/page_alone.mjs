// page_alone.mjs PELT FOLDER: the page that `pelt view --export --with-fit` writes, from a plain file server, as a person uses it:
// files dropped, the diagnosis, fits with progress and cancel, downloads, a reload, no network. DUMP_SKIN, where set, is the tool
// that says where vertices belong, and three.js must play the downloaded file like that. PICTURES is a folder for screenshots.

import { execFileSync, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { check, failed, launch, openPage, pelt, pictures } from "./page_harness.mjs";

const HERE = dirname(fileURLToPath(import.meta.url)), folder = process.argv[3], site = join(folder, "site");
const run = (...words) => execFileSync(pelt, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml" };

// Like any static host: compressed files, nothing else.
function host(root) {
  const sent = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://host").pathname);
    const file = join(root, path.endsWith("/") ? `${path}index.html` : path);
    if (!existsSync(file) || request.method !== "GET") return response.writeHead(404).end();
    const bytes = gzipSync(readFileSync(file));
    sent.push({ path, bytes: bytes.length });
    return response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream", "Content-Encoding": "gzip", "Cache-Control": "no-cache" }).end(bytes);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ server, sent, url: `http://127.0.0.1:${server.address().port}/` })));
}

// -- What is dropped ----------------------------------------------------------------------------------------------------

function makeFiles() {
  run("sample", "arm", "-o", "arm", "--vertices", "800", "--frames", "30", "--quiet");
  run("view", "--export", site, "--with-fit", "--quiet");
  // Caches with z up, as other programs write them.
  mkdirSync(join(folder, "turned"));
  writeFileSync(join(folder, "turned/arm.glb"), readFileSync(join(folder, "arm/arm.glb")));
  for (const clip of ["train", "test"]) {
    const bytes = readFileSync(join(folder, `arm/arm.${clip}.pc2`)), out = Buffer.from(bytes);
    for (let at = 32; at + 12 <= bytes.length; at += 12) {
      const [x, y, z] = [0, 4, 8].map((i) => bytes.readFloatLE(at + i));
      [x, -z, y].forEach((value, i) => out.writeFloatLE(value, at + 4 * i));
    }
    writeFileSync(join(folder, `turned/arm.${clip}.pc2`), out);
  }
}

async function drop(page, files) {
  const list = files.map((file) => ({ name: file.name ?? file.split("/").at(-1), text: (file.bytes ?? readFileSync(join(folder, file))).toString("base64") }));
  const transfer = await page.evaluateHandle((all) => {
    const made = new DataTransfer();
    for (const { name, text } of all) made.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
    return made;
  }, list);
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

const ARM = ["arm/arm.glb", "arm/arm.train.pc2", "arm/arm.test.pc2"];

// -- What is looked at ----------------------------------------------------------------------------------------------------

const opened = (page) => page.waitForFunction(() => globalThis.peltApp?.stage.mesh && globalThis.peltApp.subject(), null, { timeout: 60000 });
const skins = (page) => page.evaluate(() => (globalThis.peltApp.character()?.skins ?? []).map(({ name }) => name));
const fitted = (page, name) => page.waitForFunction((wanted) => globalThis.peltApp.character()?.skins.some((skin) => skin.name === wanted), name, { timeout: 240000 });
const picture = async (page, name) => {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(pictures, `alone-${name}.png`) });
};

async function openFit(page, method) {
  await page.click("#tab-fit");
  await page.check(`input[name=method][value='${method}']`);
}

async function saved(page, press, name) {
  const [download] = await Promise.all([page.waitForEvent("download", { timeout: 120000 }), press()]);
  const path = join(folder, name);
  await download.saveAs(path);
  return path;
}

async function theFirstScreenIsSmall(browser, { url, sent }) {
  const { page, complaints } = await openPage(browser, url, { width: 1280, height: 800 }, { acceptDownloads: true });
  await page.goto(url);
  await page.waitForSelector(".welcome h2");
  const paint = await page.evaluate(() => new Promise((done) => {
    new PerformanceObserver((list) => { for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") done(startTime); }).observe({ type: "paint", buffered: true });
  }));
  const before = sent.filter(({ path }) => !/offline\.js/.test(path));
  const first = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname));
  const bytes = before.filter(({ path }) => path === "/" || first.includes(path)).reduce((sum, each) => sum + each.bytes, 0);
  console.log(`first paint after ${paint.toFixed(0)} ms; ${(bytes / 1000).toFixed(0)} kB until then: ${first.length + 1} files`);
  check("at most 150 kB before anything is wanted", bytes > 0 && bytes <= 150000, bytes);
  check("first paint within a second", paint < 1000, paint);
  check("the page itself has asked for no fitter", !first.some((path) => /^\/fit\//.test(path)), first.join(" "));
  check("it says that nothing leaves the machine", /your data never leaves this machine/.test(await page.textContent(".welcome")));
  check("it is dark or light as the system is", await page.evaluate(() => document.documentElement.dataset.theme === (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark")));
  await picture(page, "first");
  return { page, complaints };
}

async function droppedFilesAreDiagnosedAndFitted(page) {
  await drop(page, ARM);
  await opened(page);
  await openFit(page, "psd");
  await page.waitForFunction(() => /never move|Everything looks right/.test(document.querySelector(".findings")?.textContent ?? ""), null, { timeout: 60000 });
  await picture(page, "diagnosis");
  await page.click(".fit-foot .primary");
  await fitted(page, "psd");
  await page.evaluate(() => globalThis.peltApp.settled());
  const skin = await saved(page, () => page.click(".skin-actions button:has-text('Save file')"), "page.pelt");
  const plain = await saved(page, () => page.click(".skin-actions button:has-text('Save .glb')"), "page.glb");
  const told = JSON.parse(run("measure", skin, "arm/arm.glb", "--clip", "test", "--json"));
  run("fit", "arm/arm.glb", "--train", "train", "--method", "psd", "--quiet", "-o", "native.pelt");
  const native = JSON.parse(run("measure", "native.pelt", "arm/arm.glb", "--clip", "test", "--json"));
  check("the skin is as good as the program's", Math.abs(told.rel_err - native.rel_err) < 1e-5, `${told.rel_err} ${native.rel_err}`);
  const shown = await page.evaluate(async () => {
    const app = globalThis.peltApp, skin = app.skinNow(), clip = app.clips().findIndex(({ name }) => name === "test");
    await app.measure(skin, clip);
    return app.measureOf(skin, clip).rel_err;
  });
  check("and the page says the same error", Math.abs(shown - told.rel_err) < 1e-5, `${shown} ${told.rel_err}`);
  if (process.env.DUMP_SKIN) {
    execFileSync(process.env.DUMP_SKIN, [skin, "arm/arm.glb", "test", "dump.bin"], { cwd: folder });
    const played = spawnSync(process.execPath, ["--no-warnings", join(HERE, "plays.mjs"), join(folder, "dump.bin"), plain], { encoding: "utf8" });
    console.log(played.stdout.trim());
    check("three.js plays the downloaded file like pelt", played.status === 0, played.stdout + played.stderr);
  }
}

async function aFitIsCancelledAtOnce(page) {
  await openFit(page, "kernel");
  await page.click(".fit-foot .primary");
  await page.waitForFunction(() => /[1-9]\d?%/.test(document.querySelector(".doing")?.textContent ?? ""), null, { timeout: 60000 });
  await picture(page, "fitting");
  const took = await page.evaluate(() => new Promise((done) => {
    const began = performance.now();
    const look = () => (/cancelled/.test(document.querySelector(".fit-foot .quiet:not(.doing)")?.textContent ?? "") ? done(performance.now() - began) : setTimeout(look, 10));
    [...document.querySelectorAll(".fit-foot button")].find((button) => button.textContent === "Cancel").click();
    look();
  }));
  console.log(`a fit ends ${took.toFixed(0)} ms after it is cancelled`);
  check("a fit ends within half a second", took < 500, took);
  check("and leaves no skin", !(await skins(page)).includes("kernel"));
}

async function methodsAreCompared(page) {
  await openFit(page, "eigen");
  await page.click(".fit-foot .primary");
  await fitted(page, "eigen");
  await page.waitForFunction(() => document.querySelectorAll(".skins tbody tr").length >= 2);
  const rows = await page.$$eval(".skins tbody tr", (all) => all.map((row) => row.textContent));
  check("the table compares both", rows.length === 2 && rows.every((row) => /\.\d/.test(row)), rows.join(" | "));
  await page.evaluate(() => globalThis.peltApp.settled());
  await picture(page, "result");
}

async function jointsArePulled(page) {
  const moved = await page.evaluate(async () => {
    const app = globalThis.peltApp, before = app.stage.positions.slice();
    app.pose.setLocal(2, [0, 0, 0.3, 0.954, ...app.pose.locals.slice(24, 30)]);
    await app.settled();
    const far = app.stage.positions.reduce((most, value, i) => Math.max(most, Math.abs(value - before[i])), 0);
    app.pose.reset();
    return far;
  });
  check("joints can be pulled", moved > 1e-3, moved);
}

async function turnedCachesAreMended(page) {
  await drop(page, ["turned/arm.glb", "turned/arm.train.pc2", "turned/arm.test.pc2"]);
  await page.waitForFunction(() => globalThis.peltApp.subjects().length === 2, null, { timeout: 60000 });
  await page.click("#tab-fit");
  await page.waitForSelector(".findings .fatal, .findings .warning", { timeout: 60000 });
  check("the diagnosis says what is wrong", /axes/.test(await page.textContent(".findings")), await page.textContent(".findings"));
  await picture(page, "wrong");
  await page.click("button:has-text('Fix it')");
  await page.waitForFunction(() => globalThis.peltApp.subjects().length === 3 && globalThis.peltApp.character()?.fix, null, { timeout: 60000 });
  await page.waitForFunction(() => !document.querySelector(".findings .fatal") && !/Checking/.test(document.querySelector(".findings").textContent), null, { timeout: 60000 });
  check("the command line has --fix", /--fix/.test(await page.textContent(".command")));
  await page.check("input[name=method][value='ssd']");
  await page.click(".fit-foot .primary");
  await fitted(page, "ssd");
  await page.evaluate(() => globalThis.peltApp.settled());
  const rms = await page.evaluate(() => globalThis.peltApp.character().skins.at(-1).facts.train.rms / globalThis.peltApp.character().diagonal);
  check("and the fit is to mended examples", rms < 0.05, rms);
}

async function brokenFilesAreRefused(page) {
  for (const [bytes, what] of [[Buffer.from("glTF but not really"), "broken"], [readFileSync(join(folder, "arm/arm.glb")).subarray(0, 5000), "cut"]]) {
    await page.evaluate(() => globalThis.peltApp.store.set({ panel: "fit" }));
    await drop(page, [{ name: `${what}.glb`, bytes }]);
    await page.waitForFunction((name) => new RegExp(`${name}\\.glb`).test(document.querySelector(".fit-foot .problem")?.textContent ?? ""), what, { timeout: 30000 });
    const said = await page.textContent(".fit-foot .problem");
    check(`a ${what} file is refused with a sentence`, !/drop\d|stopped unexpectedly/.test(said), said);
  }
  check("what was open stays", (await skins(page)).length > 0);
}

async function aReloadLosesNothingFinished(page, url) {
  await openFit(page, "kernel");
  await page.click(".fit-foot .primary");
  page.once("dialog", (dialog) => void dialog.accept());
  await page.goto(url);
  await page.waitForSelector(".kept li");
  const kept = await page.$$eval(".kept li", (all) => all.map((line) => line.textContent));
  check("finished skins are there after a reload", ["psd", "eigen", "ssd"].every((name) => kept.some((line) => line.startsWith(name))), kept.join(" | "));
  await picture(page, "reload");
  await drop(page, ARM);
  await opened(page);
  const again = await skins(page);
  check("and join their character again", again.includes("psd") && again.includes("eigen"), again.join());
}

async function itWorksOffline(page, { url, server }) {
  await page.goto(url);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(async () => (await Promise.all((await caches.keys()).map(async (name) => (await (await caches.open(name)).keys()).length))).some((count) => count >= 10));
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  await page.reload();
  await page.click("[data-sample=arm]");
  await opened(page);
  await fitted(page, "kernel");
  await page.evaluate(() => globalThis.peltApp.settled());
  check("without a network, a sample is made, fitted and shown", (await skins(page)).join() === "linear,kernel", await skins(page));
  await picture(page, "offline");
}

// What was exported with the page stands beside what is dropped on it.
async function exportedCharactersComeFirst(browser) {
  run("fit", "arm/arm.glb", "--train", "train", "--method", "ssd", "--quiet", "-o", "ssd.pelt");
  run("view", "arm/arm.glb", "ssd.pelt", "--export", join(folder, "both"), "--with-fit", "--quiet");
  const { server, url } = await host(join(folder, "both"));
  const { page, complaints } = await openPage(browser, url, { width: 1280, height: 800 });
  await page.goto(url);
  await opened(page);
  check("what was exported is shown at once", (await skins(page)).join() === "ssd");
  await page.click("#tab-fit");
  check("and cannot be fitted without its files", /Drop the files of this character/.test(await page.textContent(".fit-foot")));
  await drop(page, ARM);
  await page.waitForFunction(() => globalThis.peltApp.subjects().length === 2 && globalThis.peltApp.character()?.file, null, { timeout: 60000 });
  await openFit(page, "");
  check("the best method can be asked for within a budget", await page.isVisible("input[aria-label=budget]"));
  await page.fill("input[aria-label=budget]", "40 kB");
  check("as on the command line", /--budget '40 kB'/.test(await page.textContent(".command")), await page.textContent(".command"));
  await page.check("input[name=method][value='ssd']");
  await page.click(".fit-foot .primary");
  await fitted(page, "ssd");
  await page.evaluate(() => globalThis.peltApp.settled());
  check("both stand", await page.evaluate(() => globalThis.peltApp.show.characters.map(({ skins }) => skins.length).join()) === "1,1");
  check("without complaints", complaints.length === 0, complaints.join(" | "));
  await page.context().close();
  server.closeAllConnections();
  server.close();
}

async function noSimdIsASentence(browser, url) {
  const { page } = await openPage(browser, url, { width: 900, height: 700 });
  await page.addInitScript(() => { WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError("no SIMD")); });
  await page.goto(url);
  await page.click("[data-sample=arm]");
  await page.waitForSelector(".welcome .problem:not([hidden])", { timeout: 60000 });
  check("a browser without SIMD is told so", /lacks WebAssembly with SIMD/.test(await page.textContent(".welcome .problem")), await page.textContent(".welcome .problem"));
  await page.context().close();
}

makeFiles();
check("the export has the fitter", existsSync(join(site, "fit")) && existsSync(join(site, "offline.js")) && statSync(join(site, "index.html")).size > 0);
const hosted = await host(site), browser = await launch();
try {
  await noSimdIsASentence(browser, hosted.url);
  await exportedCharactersComeFirst(browser);
  hosted.sent.length = 0;
  const { page, complaints } = await theFirstScreenIsSmall(browser, hosted);
  await droppedFilesAreDiagnosedAndFitted(page);
  await aFitIsCancelledAtOnce(page);
  await methodsAreCompared(page);
  await jointsArePulled(page);
  await turnedCachesAreMended(page);
  await brokenFilesAreRefused(page);
  await aReloadLosesNothingFinished(page, hosted.url);
  await itWorksOffline(page, hosted);
  check("nothing was sent anywhere, and the page does not complain", complaints.length === 0, complaints.slice(0, 5).join(" | "));
} finally {
  await browser.close();
  hosted.server.close();
}
if (!failed) console.log("the page fits without a server");
process.exit(failed ? 1 : 0);
