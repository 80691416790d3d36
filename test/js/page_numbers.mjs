// page_numbers.mjs: what the page of `pelt view` says in numbers: errors of each kind, vertices, regions, two skins. Each
// against the command line or against positions and caches read here.
//
//     node page_numbers.mjs PELT FOLDER

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { check, drawn, failed, helpers, launch, npy, off, openPage, openSubject, pelt, press, serve, set, settled } from "./page_harness.mjs";

const folder = process.argv[3];
const file = (name) => join(folder, name);
const run = (...words) => execFileSync(pelt, [...words], { cwd: folder, encoding: "utf8" });
const SIZE = { width: 1440, height: 900 };

// The page's own way to write a length, written again.
function short(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return size >= 1e5 || size < 1e-4 ? value.toExponential(1).replace("e-", "e−").replace("e+", "e") : String(Number(value.toPrecision(3)));
}

// -- Files --------------------------------------------------------------------------------------------------------------

// Skins that held out examples, that did not, that were trained on the clip they are shown on; and a character without truth.
const SKINS = ["held", "other", "none", "cheat"];

function makeFiles() {
  const fit = (name, clip, ...words) => run("fit", "arm/arm.glb", "--train", clip, ...words, "-o", `arm/${name}.pelt`, "--quiet");
  run("sample", "arm", "-o", "arm", "--vertices", "700", "--frames", "16", "--quiet");
  fit("held", "train", "--method", "psd", "--holdout", "0.25");
  fit("other", "train", "--method", "ssd", "--blend", "fit", "--holdout", "0.25");
  fit("none", "train", "--method", "eigen", "--holdout", "0", "--levels");
  fit("cheat", "test", "--method", "psd", "--holdout", "0");
  mkdirSync(file("bare"));
  copyFileSync(file("arm/arm.glb"), file("bare/bare.glb"));
  run("fit", "bare/bare.glb", "--method", "ssd", "-o", "bare/plain.pelt", "--quiet");
  return ["arm/arm.glb", ...SKINS.map((name) => `arm/${name}.pelt`), "bare/bare.glb", "bare/plain.pelt"].map(file);
}

const measured = (name) => JSON.parse(run("measure", `arm/${name}.pelt`, "arm/arm.glb", "--clip", "test", "--json"));
const told = (name) => JSON.parse(run("info", `arm/${name}.pelt`, "--json")).files[0].about;

// Positions of a skin along the test clip, by the native run time, and the true ones.
function positionsOf(name) {
  run("eval", `arm/${name}.pelt`, "arm/arm.glb", "--clip", "test", "-o", `${name}.npy`, "--quiet");
  const { shape: [frames, vertices], floats } = npy(file(`${name}.npy`));
  const cache = readFileSync(file("arm/arm.test.pc2"));
  return { frames, vertices, floats, truth: new Float32Array(cache.buffer.slice(cache.byteOffset + 32, cache.byteOffset + cache.length)) };
}

// [vertex] distances in one frame.
function distances({ vertices, floats, truth }, frame) {
  return Array.from({ length: vertices }, (_, v) => Math.hypot(...[0, 1, 2].map((i) => floats[3 * (vertices * frame + v) + i] - truth[3 * (vertices * frame + v) + i])));
}

// -- The table ----------------------------------------------------------------------------------------------------------

const table = (page) => page.evaluate(() => ({
  kind: document.querySelector(".skins-head [aria-checked=true]")?.dataset.value,
  note: document.querySelector(".table-note").textContent,
  rows: Object.fromEntries([...document.querySelectorAll(".skins tbody tr")].map((row) => [row.querySelector("th span").textContent, {
    cells: [...row.querySelectorAll("td")].map((cell) => cell.textContent), best: [...row.querySelectorAll("td")].map((cell) => cell.classList.contains("best")), marked: row.querySelector("sup") !== null,
  }])),
}));

const errorCells = ({ rel_err, rms, roughness }) => [rel_err.toFixed(3).replace(/^0/, ""), short(rms), roughness.toFixed(2)];

async function honestTable(page) {
  await page.waitForFunction(() => [...document.querySelectorAll(".skins td:last-child")].every((cell) => /\d ±\d/.test(cell.textContent)));
  let now = await table(page);
  check("it begins with held-out errors", now.kind === "holdout" && now.note.startsWith("On examples that the fit did not see"), JSON.stringify(now));
  for (const name of ["held", "other"]) check(`held-out errors are those of the fit: ${name}`, JSON.stringify(now.rows[name].cells.slice(0, 3)) === JSON.stringify(errorCells(told(name).holdout)), now.rows[name].cells);
  check("of skins that held out the same, the better is bold", now.rows.held.best[0] && !now.rows.other.best[0], JSON.stringify(now.rows));
  for (const name of ["none", "cheat"]) check(`a skin without a held-out error has no number there, but a way to one: ${name}`, now.rows[name].cells[0] === "measure on test" && now.rows[name].cells.length === 3, now.rows[name].cells);
  const fits = await page.evaluate(() => { const [holder, grid] = [".skins-holder", ".skins"].map((name) => document.querySelector(name)); return [grid.scrollWidth, holder.clientWidth, ...[...grid.querySelectorAll("tbody td")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent)]; });
  check("all columns fit at 1440 pixels", fits[0] <= fits[1] && fits.length === 2, fits);

  await page.click('.skins-head [data-value="train"]');
  now = await table(page);
  for (const name of SKINS) check(`training errors are those of the fit: ${name}`, JSON.stringify(now.rows[name].cells.slice(0, 3)) === JSON.stringify(errorCells(told(name).train)), now.rows[name].cells);
  check("errors on different examples are not compared", SKINS.every((name) => !now.rows[name].best.slice(0, 3).some(Boolean)) && now.note.includes("not compared") && now.note.includes("flatters"), JSON.stringify(now));
  check("sizes are", SKINS.filter((name) => now.rows[name].best[3]).length === 1);

  await page.click('.skins-head [data-value="holdout"]');
  await page.click('tr[data-skin="2"] td .tiny');
  await page.waitForFunction(() => document.querySelectorAll(".skins td.waiting").length === 0 && document.querySelector(".skins-head [data-value=clip]").ariaChecked === "true" && !document.querySelector(".skins td .tiny"));
  now = await table(page);
  const all = Object.fromEntries(SKINS.map((name) => [name, measured(name)]));
  for (const name of SKINS) check(`one press measures on the clip, as \`pelt measure\` does: ${name}`, JSON.stringify(now.rows[name].cells.slice(0, 3)) === JSON.stringify(errorCells(all[name])), `${now.rows[name].cells} ${errorCells(all[name])}`);
  const fair = SKINS.filter((name) => name !== "cheat").sort((a, b) => all[a].rms - all[b].rms)[0];
  check("the skin that was trained on the clip is marked and not compared", now.rows.cheat.marked && !now.rows.cheat.best[1] && all.cheat.rms < all[fair].rms && now.rows[fair].best[1], JSON.stringify(now.rows));
  check("and the note says so", now.note === "Measured on test, all frames. † was trained on test: not compared.", now.note);
}

async function speed(page) {
  const { figures, cell, title } = await page.evaluate(async () => {
    const app = globalThis.peltApp;
    return { figures: await app.data.json(app.skinNow().figures), cell: document.querySelector("tr[aria-selected=true] td:last-child").textContent, title: document.querySelector(".skins thead th:last-child button").title };
  });
  const digits = (value) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
  check("speed is a median of many frames with its spread", figures.timed_frames >= 25 && cell === `${digits(figures.nanoseconds)} ±${digits((figures.nanoseconds_high - figures.nanoseconds_low) / 2)}` && /median of many frames/.test(title), JSON.stringify([figures, cell]));
}

// -- One vertex ---------------------------------------------------------------------------------------------------------

// Where the marks are, in pixels of their panes, and where their vertex is drawn.
const marks = (page) => page.evaluate(() => {
  const app = globalThis.peltApp;
  const { vertex } = app.store.get();
  return [...document.querySelectorAll(".vertex-mark")].map((mark) => {
    const pane = mark.closest(".pane");
    const box = mark.getBoundingClientRect(), stage = app.stage.element.getBoundingClientRect();
    const positions = pane.dataset.pane === "truth" ? app.stage.truth : app.stage.positionsIn(pane.dataset.pane);
    const at = vertex < 0 ? [0, 0] : globalThis.look.place(pane.dataset.pane, Array.from(positions.slice(3 * vertex, 3 * vertex + 3)));
    return { pane: pane.dataset.pane, text: mark.textContent, apart: Math.hypot(box.left - stage.left - at[0], box.top - stage.top - at[1]), ring: mark.querySelector("i").getBoundingClientRect().width };
  });
});

async function worstVertices(page, clip) {
  const { worst_frame: frame, worst_vertex: vertex, max, frames } = measured("held");
  await page.click('.timeline [data-value="max"]');
  await press(page, "w");
  const place = await page.locator(".place").textContent();
  check("frames have the numbers of the command line", place === `${frame} / ${frames - 1}` && (await page.evaluate(() => document.querySelector(".chart").ariaValueNow)) === String(frame), place);
  let seen = await marks(page);
  check("W marks the worst vertex of the worst frame, in every pane", seen.map(({ pane }) => pane).join() === "truth,model,difference" && seen.every(({ apart, ring }) => apart < 1.5 && ring === 16), JSON.stringify(seen));
  check("with the number and the error of the command line", seen[1].text === `vertex ${vertex} · ${short(max)} off` && seen[0].text === `vertex ${vertex}`, JSON.stringify([seen, vertex, max]));
  const elsewhere = (frame + 5) % frames;
  await set(page, { frame: elsewhere });
  await press(page, "e");
  const errors = distances(clip, elsewhere), worst = errors.indexOf(Math.max(...errors));
  seen = await marks(page);
  check("E marks mark the worst vertex of the frame and looks at it", seen[1].text === `vertex ${worst} · ${short(errors[worst])} off` && seen[1].apart < 1.5, JSON.stringify([seen, worst]));
  const box = await page.evaluate(() => globalThis.look.pane("model"));
  const at = await page.evaluate((v) => globalThis.look.place("model", Array.from(globalThis.peltApp.stage.positions.slice(3 * v, 3 * v + 3))), worst);
  check("it is in the middle", Math.hypot(at[0] - box[0] - box[2] / 2, at[1] - box[1] - box[3] / 2) < 3, `${at} ${box}`);
  await press(page, "Escape");
  check("Escape removes the marks", (await marks(page)).length === 0);
  await press(page, "f");
}

// The four largest weights of a vertex, from the columns of all joints.
const weightsOf = (page, vertex) => page.evaluate((v) => {
  const skin = globalThis.peltApp.skin();
  return Array.from({ length: skin.jointCount }, (_, j) => ({ name: skin.joints[j].name, weight: skin.weightsOf(j)[v] })).filter(({ weight }) => weight >= 0.005).sort((a, b) => b.weight - a.weight).slice(0, 4);
}, vertex);

async function probe(page) {
  await set(page, { panel: "numbers", layout: "side" });
  const { vertex, error, at } = await page.evaluate(() => {
    const found = globalThis.look.frontVertex();
    const stage = globalThis.peltApp.stage.element.getBoundingClientRect();
    const at = globalThis.look.place("model", found.position);
    return { ...found, at: [at[0] + stage.left, at[1] + stage.top] };
  });
  await page.mouse.move(at[0] + 2, at[1] + 2);
  await page.mouse.move(...at);
  await page.waitForSelector(".probe-tip:not([hidden])");
  const tip = await page.evaluate(() => [...document.querySelectorAll(".probe-tip > div")].map((row) => [...row.children].map((child) => child.textContent).join("|") || row.textContent));
  const weights = await weightsOf(page, vertex);
  check("the probe tells the vertex under the pointer, its error and its joints", JSON.stringify(tip) === JSON.stringify([`vertex ${vertex}`, `from the truth|${short(error)}`, ...weights.map(({ name, weight }) => `${name}|${(100 * weight).toFixed(0)} %`)]), JSON.stringify([tip, vertex, error, weights]));
  await page.mouse.down();
  await page.mouse.up();
  await settled(page);
  check("a press marks it", (await page.evaluate(() => globalThis.peltApp.store.get().vertex)) === vertex && await page.locator(".vertex-field").inputValue() === String(vertex));
  await page.mouse.move(3, 3);
  await page.fill(".vertex-field", "37");
  await page.keyboard.press("Enter");
  await settled(page);
  const [own, pairs] = [await weightsOf(page, 37), await page.evaluate(() => [...document.querySelectorAll(".vertex-row + div dd")].map((value) => value.textContent))];
  const errorNow = await page.evaluate(() => globalThis.peltApp.stage.errors[37]);
  check("a vertex can be chosen by its number", (await marks(page))[1]?.text === `vertex 37 · ${short(errorNow)} off` && JSON.stringify(pairs) === JSON.stringify([short(errorNow), ...own.map(({ weight }) => `${(100 * weight).toFixed(1)} %`)]), JSON.stringify(pairs));
  await page.fill(".vertex-field", "700000");
  await page.keyboard.press("Enter");
  check("a number that is none is told", /Vertices are numbered 0 to \d+\./.test(await page.locator(".message.problem").last().textContent()));
  await page.evaluate(() => document.activeElement.blur());
  await press(page, "Escape");
}

// -- Regions ------------------------------------------------------------------------------------------------------------

async function regions(page, clip) {
  await press(page, "r");
  await page.waitForFunction(() => [...document.querySelectorAll(".regions tbody td:last-child")].length > 1 && [...document.querySelectorAll(".regions tbody td:last-child")].every((cell) => cell.textContent !== "–"));
  const frame = await page.evaluate(() => globalThis.peltApp.store.get().frame);
  const shares = await page.evaluate(() => { const skin = globalThis.peltApp.skin(); return { names: skin.joints.map(({ name }) => name), columns: Array.from({ length: skin.jointCount }, (_, j) => Array.from(skin.weightsOf(j))) }; });
  const region = Array.from({ length: clip.vertices }, (_, v) => shares.names[shares.columns.map((column) => column[v]).reduce((best, weight, j, all) => (weight > all[best] ? j : best), 0)]);
  const every = Array.from({ length: clip.frames }, (_, f) => distances(clip, f));
  const root = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
  const two = (value) => short(Number(value.toPrecision(2)));
  const wanted = [...new Set(region)].map((name) => {
    const own = region.flatMap((one, v) => (one === name ? [v] : []));
    return { name, clip: root(every.flatMap((errors) => own.map((v) => errors[v]))), cells: [two(root(own.map((v) => every[frame][v]))), two(Math.max(...own.map((v) => every[frame][v]))), two(root(every.flatMap((errors) => own.map((v) => errors[v]))))], vertices: own };
  });
  const rows = () => page.evaluate(() => [...document.querySelectorAll(".regions tbody tr")].map((row) => [row.querySelector("button").textContent, ...[...row.querySelectorAll("td")].map((cell) => cell.textContent)]));
  const byClip = [...wanted].sort((a, b) => b.clip - a.clip);
  check("regions have the errors of the vertices that their joint moves most, the worst first", JSON.stringify(await rows()) === JSON.stringify(byClip.map(({ name, cells }) => [name, ...cells])), JSON.stringify([await rows(), byClip.map(({ name, cells }) => [name, ...cells])]));
  await page.click(".regions thead th:first-child button");
  check("a head sorts", JSON.stringify((await rows()).map(([name]) => name)) === JSON.stringify(wanted.map(({ name }) => name).sort((a, b) => a.localeCompare(b))));
  const last = byClip[byClip.length - 1];
  await page.locator(".regions tbody button", { hasText: new RegExp(`^${last.name}$`) }).click();
  await settled(page);
  const inView = await page.evaluate((vertices) => {
    const [left, top, width, height] = globalThis.look.pane("model");
    const at = vertices.map((v) => globalThis.look.place("model", Array.from(globalThis.peltApp.stage.positions.slice(3 * v, 3 * v + 3))));
    const wide = Math.max(...at.map(([x]) => x)) - Math.min(...at.map(([x]) => x)), tall = Math.max(...at.map(([, y]) => y)) - Math.min(...at.map(([, y]) => y));
    return { inside: at.every(([x, y]) => x >= left && x <= left + width && y >= top && y <= top + height), fills: Math.max(wide / width, tall / height) };
  }, last.vertices);
  check("a press frames the region", inView.inside && inView.fills > 0.35, JSON.stringify(inView));
  await press(page, "f");
}

// -- Two skins ----------------------------------------------------------------------------------------------------------

async function twoSkins(page) {
  const [frame, other] = [3, positionsOf("none")];
  await page.click('.toolbar [data-value="skins"]');
  await set(page, { frame });
  await page.selectOption('select[aria-label="The second skin"]', { label: "none" });
  await page.waitForFunction(() => globalThis.peltApp.stage.arrangement === "skins");
  await settled(page);
  const panes = () => page.evaluate(() => [...document.querySelectorAll(".pane")].map((pane) => `${pane.dataset.pane}: ${pane.querySelector(".pane-title").textContent.trim()}`));
  check("truth and two skins stand side by side, with their names", JSON.stringify(await panes()) === JSON.stringify(["truth: Truth test", "model: A held", "other: B none"]), await panes());
  const second = Float32Array.from(await page.evaluate(() => Array.from(globalThis.peltApp.stage.positionsIn("other"))));
  check("the second is deformed as by the native run time", off(second, other.floats.subarray(3 * other.vertices * frame, 3 * other.vertices * (frame + 1))) < 1e-6);
  const letters = await page.evaluate(() => [...document.querySelectorAll(".swatch.letter")].map((mark) => mark.textContent + mark.closest("tr").dataset.skin));
  check("the table says which they are", letters.join() === "A0,B2", letters);
  await page.click('tr[data-skin="2"] th');
  await settled(page);
  check("the two trade places", (await panes())[1] === "model: A none" && (await panes())[2] === "other: B held", await panes());
  await page.evaluate(() => { const app = globalThis.peltApp; const local = Array.from(app.pose.locals.slice(20, 30)); local.splice(0, 4, 0, 0, Math.SQRT1_2, Math.SQRT1_2); app.pose.setLocal(2, local); });
  await settled(page);
  check("a pulled pose has both skins and no truth", JSON.stringify(await panes()) === JSON.stringify(["model: A none", "other: B held"]), await panes());
  const apart = off(await drawn(page, "positions"), Float32Array.from(await page.evaluate(() => Array.from(globalThis.peltApp.stage.positionsIn("other")))));
  check("both follow it", apart > 0 && off(second, Float32Array.from(await page.evaluate(() => Array.from(globalThis.peltApp.stage.positionsIn("model"))))) > 0.05);
  check("the timeline says that there is no truth", (await page.locator(".frame-figures").textContent()) === "pose changed: no truth, so no error" && await page.evaluate(() => document.querySelector(".timeline").classList.contains("untrue")));
  await page.evaluate(() => globalThis.peltApp.pose.reset());
  await settled(page);
  check("and takes it back", /^rms /.test(await page.locator(".frame-figures").textContent()));
  await set(page, { layout: "side", skin: 0 });
}

// -- The card, the list, the legend --------------------------------------------------------------------------------------

async function cardAndList(page) {
  await set(page, { panel: "numbers" });
  const card = () => page.evaluate(() => ({ head: document.querySelector(".card-method").textContent, ...Object.fromEntries([...document.querySelectorAll(".card > .pairs dt")].map((name) => [name.textContent, name.nextElementSibling.textContent])), open: document.querySelector(".card details").open }));
  const { holdout, examples } = told("held");
  const now = await card();
  check("a skin is told in words", now.head === "Pose space deformation: examples interpolated by their poses, weights of the file" && now["Trained on"] === `${examples} examples of train`
    && now["Held out"] === `${Number((100 * holdout.rel_err).toPrecision(3))} % of the plain blend's (${short(holdout.rms)} rms)` && /kB$/.test(now.Size) && /per frame/.test(now.Time) && !now.open, JSON.stringify(now));
  await page.click(".card summary");
  check("the rest is behind *more*", (await page.locator(".card details dt").allTextContents()).includes("held out: frames"));
  await set(page, { skin: 2 });
  check("a skin that held nothing out says so", (await card())["Held out"] === "Nothing was held out");
  await press(page, "j");
  const sizes = await page.evaluate(() => ["joint-list", "panel-body"].map((name) => document.querySelector(`.${name}`).clientHeight));
  check("the list of joints has the panel's height", sizes[0] > 0.55 * sizes[1], sizes);
  await set(page, { panel: "numbers", skin: 0, layout: "side" });
  await press(page, "t");
  const bar = await page.evaluate(() => { const style = getComputedStyle(document.querySelector(".legend-bar")); return [style.outlineStyle, style.outlineWidth, style.outlineColor, document.documentElement.dataset.theme]; });
  const [r, g, b] = bar[2].match(/\d+/g).map(Number);
  check("the white end of the legend has an outline on white", bar[0] === "solid" && bar[1] === "1px" && r + g + b < 3 * 170 && bar[3] === "light", bar);
  await press(page, "t");
}

// -- Without truth ------------------------------------------------------------------------------------------------------

async function withoutTruth(page) {
  await openSubject(page, 1);
  const shown = await page.evaluate(() => ({
    layouts: [...document.querySelectorAll(".toolbar [role=radiogroup]:first-child .segment")].filter((button) => button.offsetParent).map((button) => button.textContent),
    heat: [...document.querySelectorAll(".toolbar .toggle")].filter((row) => row.offsetParent).map((row) => row.textContent),
    worst: document.querySelector(".go-worst").offsetParent !== null, legend: document.querySelector(".legend").offsetParent !== null,
    columns: [...document.querySelectorAll(".skins thead th")].filter((head) => head.offsetParent).map((head) => head.textContent),
  }));
  check("a character without truth offers only what works", shown.layouts.length === 0 && JSON.stringify(shown.heat) === JSON.stringify(["Wires"]) && !shown.worst && !shown.legend && shown.columns.join() === "skin,size,ns/v", JSON.stringify(shown));
  const before = await page.evaluate(() => JSON.stringify(globalThis.peltApp.store.get()));
  for (const key of ["h", "w", "e"]) await press(page, key);
  check("keys that need a truth do nothing", (await page.evaluate(() => JSON.stringify(globalThis.peltApp.store.get()))) === before);
  await press(page, "v");
  check("and there is one arrangement", (await page.evaluate(() => globalThis.peltApp.stage.arrangement)) === "model");
  check("a skin without examples says that nothing was learned", (await page.locator(".card dd").first().textContent()) === "No examples: nothing was learned");
  check("the table says why it has no errors", (await page.locator(".table-note").textContent()) === "No clip has a truth, so there are no errors to show.");
}

// -- Another tab, and files ----------------------------------------------------------------------------------------------

async function secondTab(page, browser, url) {
  const { page: other } = await openPage(browser, url, SIZE);
  await other.goto(url);
  await other.waitForFunction(() => globalThis.peltApp?.skin());
  const job = await other.evaluate(() => globalThis.peltApp.data.post("api/fit", { character: 1, words: ["--method", "ssd", "--blend", "file"], name: "arrived" }));
  check("a fit was begun in another tab", job.job > 0, JSON.stringify(job));
  await other.close();
  await page.bringToFront();
  const came = await page.waitForFunction(() => [...document.querySelectorAll(".skins th span")].some((name) => name.textContent === "arrived"), null, { timeout: 20000 }).then(() => true, () => false);
  check("a second tab learns of a new skin", came);
  check("and says so", (await page.locator(".messages").textContent()).includes("A new skin: arrived."));
  check("which can be compared now", await page.locator('.toolbar [data-value="skins"]').isVisible());
}

// The slider, on a skin with levels of detail, against the native run time.
async function levels(page) {
  const [frame, value] = [5, 1.5];
  await set(page, { skin: 0, frame, layout: "side" });
  check("a skin without levels has no slider", !(await page.getByLabel("Level of detail").isVisible()));
  await set(page, { skin: SKINS.indexOf("none") });
  const slider = page.getByLabel("Level of detail");
  check("the slider ends at the last level", Number(await slider.getAttribute("max")) >= 2, await slider.getAttribute("max"));
  const whole = await drawn(page, "positions");
  await slider.fill(String(value));
  await settled(page);
  run("eval", "arm/none.pelt", "arm/arm.glb", "--clip", "test", "--level", String(value), "-o", "level.npy", "--quiet");
  const { shape: [, vertices], floats } = npy(file("level.npy"));
  const wanted = floats.subarray(3 * vertices * frame, 3 * vertices * (frame + 1)), got = await drawn(page, "positions");
  check("the level is drawn", off(got, wanted) < 1e-5 && off(got, whole) > 1e-4, `${off(got, wanted)}, ${off(got, whole)}`);
  await slider.fill("0");
  await settled(page);
  check("and the whole skin again", off(await drawn(page, "positions"), whole) === 0);
  await set(page, { skin: 0 });
}

async function exported(browser) {
  run("view", "arm/arm.glb", "arm/none.pelt", "--export", "site", "--quiet");
  const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml" };
  const asked = [];
  const site = createServer((request, answer) => {
    const name = request.url === "/" ? "index.html" : decodeURIComponent(request.url.slice(1).split("?")[0]);
    asked.push(name);
    try {
      answer.setHeader("Content-Type", TYPES[extname(name)] ?? "application/octet-stream");
      answer.end(readFileSync(file(`site/${name}`)));
    } catch { answer.statusCode = 404; answer.end(); }
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  const { page, complaints } = await openPage(browser, `http://127.0.0.1:${site.address().port}/`, SIZE);
  await page.goto(`http://127.0.0.1:${site.address().port}/`);
  await page.waitForFunction(() => globalThis.peltApp?.skin() && globalThis.peltApp.stage.truth);
  await page.evaluate(helpers);
  await page.click('.skins-head [data-value="clip"]');
  await page.waitForFunction(() => /\d/.test(document.querySelector(".skins tbody td").textContent));
  const cells = (await table(page)).rows.none.cells.slice(0, 3);
  check("an exported page has what was measured", JSON.stringify(cells) === JSON.stringify(errorCells(measured("none"))), cells);
  await press(page, "r");
  await page.waitForFunction(() => [...document.querySelectorAll(".regions tbody td:last-child")].some((cell) => /\d/.test(cell.textContent)));
  await page.waitForTimeout(3300);
  check("it asks for nothing that is not there", !asked.includes("data/counts.json") && complaints.length === 0, complaints.join("; "));
  site.close();
}

// -- All of it ----------------------------------------------------------------------------------------------------------

const browser = await launch();
const { url, server } = await serve(makeFiles());
try {
  const { page, complaints } = await openPage(browser, url, SIZE);
  await page.goto(url);
  await page.waitForFunction(() => globalThis.peltApp?.skin() && globalThis.peltApp.stage.truth);
  await page.evaluate(helpers);
  await settled(page);
  const clip = positionsOf("held");
  await honestTable(page);
  await speed(page);
  await worstVertices(page, clip);
  await probe(page);
  await regions(page, clip);
  await twoSkins(page);
  await levels(page);
  await cardAndList(page);
  await withoutTruth(page);
  await secondTab(page, browser, url);
  check("the browser had nothing to complain of", complaints.length === 0, complaints.join("; "));
  await exported(browser);
} finally {
  await browser.close();
  server.removeAllListeners("exit");
  server.kill("SIGINT");
}
console.log(failed ? `${failed} checks failed` : "all checks passed");
process.exitCode = failed ? 1 : 0;
