// page_boxes.mjs PELT FOLDER: the page of `pelt view` with key points: a face in every state, its rig pulled; and a lamp, where
// its key points are trusted and where they are not. What is right comes from `pelt keys` and `pelt relight`.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, drawn, failed, get, helpers, launch, npy, off, openPage, pelt, press, serve, set, settled, shoot } from "./page_harness.mjs";
import { apart, around, pixelsOf, placeOf, readPfm, toLinear } from "./relit.mjs";

const folder = process.argv[3];
const run = (...words) => execFileSync(pelt, [...words, "--quiet"], { cwd: folder });
const tell = (...words) => JSON.parse(execFileSync(pelt, [...words, "--json"], { cwd: folder }));
const SIZE = { width: 1440, height: 900 };

function makeFiles() {
  run("sample", "face", "-o", ".", "--frames", "60", "--test-frames", "40");
  run("keys", "train", "face.train.npy", "face.range.npy", "--mesh", "face.glb", "--keys", "60", "-o", "face.keys");
  run("relight", "train", "cornell", "--size", "48x48", "--lights", "4x3", "--samples", "32", "--keys", "60", "--basis", "12", "-o", "box.keys");
}

async function visit(browser, words) {
  const { url, server } = await serve(words.map((word) => (word.startsWith("-") ? word : join(folder, word))));
  const { page, complaints } = await openPage(browser, url, SIZE);
  await page.goto(url);
  await page.waitForFunction(() => globalThis.peltApp?.subject());
  await page.evaluate(helpers);
  return { page, complaints, leave: async () => { check("nothing was complained about", complaints.length === 0, complaints.join("; ")); await page.context().close(); server.kill(); } };
}

function table(file) {
  const [head, ...rows] = readFileSync(join(folder, file), "utf8").trim().split("\n").map((line) => line.split(","));
  return { names: head.filter((name) => name !== "shot"), rows: rows.map((row) => row.filter((_, i) => head[i] !== "shot").map(Number)) };
}

const frameOf = ({ shape, floats }, frame) => floats.subarray(frame * shape[1] * 3, (frame + 1) * shape[1] * 3);
const furthest = (a, b) => {
  let most = 0;
  for (let i = 0; i < a.length; i += 3) most = Math.max(most, Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]));
  return most;
};
const text = (page, what) => page.locator(what).first().textContent();
const pairs = (page) => page.locator("#panel-face .pairs").evaluate((list) => Object.fromEntries([...list.querySelectorAll("dt")].map((name) => [name.textContent, name.nextElementSibling.textContent])));

// -- A face along its clips -------------------------------------------------------------------------------------------------

async function opens(page) {
  const kind = await page.evaluate(() => globalThis.peltApp.subject().kind);
  await page.locator("#panel-face .verdict-count").first().waitFor();
  await settled(page);
  check("a page with key points opens the face", kind === "face" && await page.locator("#tab-face[aria-selected=true]").count() === 1 && await page.locator(".skins-holder").isHidden(), kind);
}

async function judged(page) {
  const clips = await page.evaluate(() => globalThis.peltApp.clips().map(({ name }) => name));
  for (const [i, name] of clips.entries()) {
    await set(page, { clip: i, frame: 0 });
    const counted = tell("keys", "measure", "face.keys", `${name}.npy`);
    const wanted = { hit: counted.hits, part: counted.parts, blend: counted.blends, miss: counted.misses };
    await page.waitForFunction((frames) => [...document.querySelectorAll("#panel-face .verdict-count b")].reduce((sum, one) => sum + Number(one.textContent), 0) === frames, counted.frames);
    const told = Object.fromEntries((await page.locator("#panel-face .verdict-count").allTextContents()).map((one) => one.trim().split(" ").reverse()));
    check("verdicts are those of pelt keys measure", Object.entries(wanted).every(([kind, count]) => Number(told[kind] ?? 0) === count), JSON.stringify([name, told, wanted]));
  }
  await set(page, { clip: clips.indexOf("face.train"), frame: 20 });
  check("a trusted frame is a hit", await text(page, ".verdict-now .badge") === "hit" && (await pairs(page)).misfit.endsWith("(trusted up to 1)"), await text(page, ".verdict-now"));
  await shoot(page, "face-hit");
  await set(page, { clip: clips.indexOf("face.test"), frame: 25 });
}

async function results(page) {
  run("keys", "run", "face.keys", "face.test.csv", "--engine", "face", "-o", "fast.npy", "--overwrite");
  const fast = npy(join(folder, "fast.npy")), truth = npy(join(folder, "face.test.npy")), size = 1e-5 * await page.evaluate(() => globalThis.peltApp.subject().box.diagonal);
  const errors = {};
  for (const frame of [25, 12]) {
    await set(page, { frame });
    await press(page, "1");
    const cached = await drawn(page, "positions");
    check("with the cache on, the face is that of pelt keys run", furthest(cached, frameOf(fast, frame)) < size, `${frame}: ${furthest(cached, frameOf(fast, frame))}`);
    errors.cache = furthest(cached, frameOf(truth, frame));
    await press(page, "2");
    const keyed = await drawn(page, "positions");
    errors.keys = furthest(keyed, frameOf(truth, frame));
    check("key points alone are worse here", errors.keys > 1.5 * errors.cache && await page.getByRole("radio", { name: "Key points alone" }).getAttribute("aria-checked") === "true", JSON.stringify(errors));
    const told = await pairs(page);
    check("errors are told", Math.abs(Number(told["largest error, cache"]) - errors.cache) < 0.006 * errors.cache && Math.abs(Number(told["largest error, key points"]) - errors.keys) < 0.006 * errors.keys, JSON.stringify([told, errors]));
    await page.getByRole("radio", { name: "Cache off" }).click();
    await settled(page);
    check("with the cache off, it is the rig's", furthest(await drawn(page, "positions"), frameOf(truth, frame)) === 0);
    await press(page, "1");
  }
  const curves = await page.locator(".chart .curve").evaluateAll((list) => list.map((one) => one.dataset.skin));
  check("errors of both are drawn along the clip", curves.sort().join() === "0,1", curves.join());
}

async function misfits(page) {
  const { e } = await page.evaluate(async () => globalThis.peltApp.data.json(globalThis.peltApp.clips()[globalThis.peltApp.store.get().clip].verdicts));
  const places = await page.locator(".misfit-curve").evaluate((path) => path.getAttribute("d").slice(1).split("L").map((one) => one.split(" ").map(Number)));
  const [limit, end] = await page.locator(".misfit .limit").evaluateAll((lines) => lines.map((line) => Number(line.getAttribute("y1"))));
  const each = (limit - end) / 0.5, wanted = e.map((value) => limit - each * (Math.min(value, 6) - 1)); // from the two lines
  check("the misfit is drawn along the clip, over its limit", places.length === 40 && off(places.map(([, y]) => y), wanted) < 0.3, off(places.map(([, y]) => y), wanted));
  const box = await page.locator(".misfit").boundingBox();
  await page.mouse.click(box.x + (box.width * 30) / 39, box.y + 20);
  await settled(page);
  check("a press on it goes there", (await get(page)).frame === 30);
}

// -- Trust ------------------------------------------------------------------------------------------------------------------

async function trust(page) {
  const { e: misfit } = await page.evaluate(async () => globalThis.peltApp.data.json(globalThis.peltApp.clips()[globalThis.peltApp.store.get().clip].verdicts));
  await set(page, { frame: misfit.indexOf(Math.min(...misfit)) }); // where not everything is doubted
  await page.locator("label.toggle", { hasText: "Draw the key points" }).click();
  await page.locator("label.toggle", { hasText: "Colour the face by trust" }).click();
  await settled(page);
  const seen = await page.evaluate(async () => {
    const app = globalThis.peltApp, { box } = app.subject(), { clip, frame } = app.store.get();
    const trusts = await app.data.floats(box.clips[clip].trust), regions = await app.data.bytes(box.regions.file);
    const each = box.regions.count + box.keys.length, row = [...trusts.slice(frame * each, (frame + 1) * each)];
    const of = new Uint32Array(regions, 0, 4 * box.points), weights = new Float32Array(regions, 16 * box.points, 4 * box.points);
    const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(name).trim();
    const spots = [];
    const { positions, normals, camera } = app.stage;
    for (let v = 0; v < box.points; v += 11) {
      const toEye = camera.position.clone().set(...positions.slice(3 * v, 3 * v + 3)).sub(camera.position).negate().normalize();
      if (toEye.x * normals[3 * v] + toEye.y * normals[3 * v + 1] + toEye.z * normals[3 * v + 2] < 0.9) continue;
      const [x, y] = globalThis.look.place("model", [...positions.slice(3 * v, 3 * v + 3)]);
      spots.push({ e: [0, 1, 2, 3].reduce((sum, k) => sum + weights[4 * v + k] * Math.min(row[of[4 * v + k]], 1.5), 0), pixel: globalThis.look.pixels(x, y, 1, 1).slice(0, 3) });
    }
    return { row, count: box.regions.count, spots, inks: ["--trust-full", "--hit", "--blend", "--miss"].map(ink), told: document.querySelector("#panel-face .trust-legend + .quiet").textContent };
  });
  const hex = (ink) => [1, 3, 5].map((i) => parseInt(ink.slice(i, i + 2), 16)), stops = [0, 1, 1.25, 1.5], inks = seen.inks.map(hex);
  const colour = (e) => {
    const at = Math.min(e, 1.5), i = Math.max(1, stops.findIndex((stop) => stop >= at)), share = (at - stops[i - 1]) / (stops[i] - stops[i - 1]);
    return inks[i - 1].map((c, k) => c + share * (inks[i][k] - c));
  };
  const wrong = seen.spots.filter(({ e, pixel }) => off(pixel, colour(e).map((c) => 0.99 * c)) > 14); // shaded by at most a fiftieth where it faces the camera
  check("regions have the colour of their misfit", seen.spots.length > 20 && wrong.length <= 0.1 * seen.spots.length && new Set(seen.spots.map(({ pixel }) => pixel.join())).size > 3, JSON.stringify(seen.spots.map(({ e, pixel }) => [e, pixel, colour(e)])));
  const [regions, keys] = [seen.row.slice(0, seen.count), seen.row.slice(seen.count)].map((list) => list.filter((e) => !(e <= 1)).length);
  check("and are counted", seen.told === `${regions} of ${seen.count} regions and ${keys} of ${seen.row.length - seen.count} key points are not trusted.`, seen.told);
  await page.locator("label.toggle", { hasText: "Draw the key points" }).click();
  const points = await page.evaluate(() => [...globalThis.peltApp.stage.overlay.getObjectByName("key points").geometry.getAttribute("color").array]);
  const linear = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4), wanted = seen.row.slice(seen.count).flatMap((e) => colour(e).map(linear));
  check("key points have theirs", off(points, wanted) < 0.02 && new Set(wanted).size > 6, off(points, wanted));
  await shoot(page, "face-trust");
  await page.locator("label.toggle", { hasText: "Colour the face by trust" }).click();
}

// -- Controls ---------------------------------------------------------------------------------------------------------------

async function pulled(page) {
  const { names, rows } = table("face.test.csv"), jaw = names.indexOf("jawOpen");
  await set(page, { frame: 8 });
  const values = await page.locator("#panel-face .control-list .exact").evaluateAll((fields) => fields.map((field) => Number(field.value)));
  check("controls are those of the frame", values.length === names.length && off(values, rows[8]) < 6e-4, off(values, rows[8]));
  await page.getByLabel("Find a control").fill("JAW");
  const listed = await page.locator("#panel-face .control-list .range-row:visible .range-name").allTextContents();
  check("controls are found by their names", listed.join() === names.filter((name) => /jaw/i.test(name)).join(), listed.join());
  const before = await drawn(page, "positions");
  for (const [value, kind] of [[0.5, null], [2.4, "miss or part"]]) {
    await page.getByLabel("jawOpen, exact").fill(String(value));
    await page.waitForTimeout(350); // until it rests
    await page.waitForFunction(() => document.querySelector("#panel-face .pairs").textContent.includes("the rig alone"));
    await settled(page);
    const row = [...rows[8]];
    row[jaw] = value;
    writeFileSync(join(folder, "one.csv"), `${names.join()}\n${row.join()}\n`);
    run("keys", "run", "face.keys", "one.csv", "--engine", "face", "-o", "one.npy", "--overwrite");
    const now = await drawn(page, "positions"), size = await page.evaluate(() => globalThis.peltApp.subject().box.diagonal);
    check("what is pulled is computed as pelt keys run does", furthest(now, frameOf(npy(join(folder, "one.npy")), 0)) < 1e-5 * size && furthest(now, before) > 0.01 * size, furthest(now, frameOf(npy(join(folder, "one.npy")), 0)));
    const truth = await drawn(page, "truth"), badge = await text(page, ".verdict-now .badge");
    if (kind) check("beyond training it is not trusted", badge !== "hit" && Number((await pairs(page)).misfit.split(" ")[0]) > 1 && await page.locator(".control-list .beyond").count() >= 1, `${badge} ${JSON.stringify(await pairs(page))}`);
    await page.evaluate(() => document.activeElement.blur());
    await press(page, "3");
    check("and the rig itself is beside it", furthest(await drawn(page, "positions"), truth) === 0 && (await text(page, "[data-pane=truth] .pane-title")).includes("the rig"));
    await press(page, "1");
  }
  await shoot(page, "face-pulled");
  await page.getByRole("button", { name: "Reset" }).click();
  await settled(page);
  check("Reset goes back to the clip", furthest(await drawn(page, "positions"), before) === 0 && await page.getByRole("button", { name: "Reset" }).isDisabled());
  await page.getByLabel("jawOpen, exact").fill("0.9");
  await page.waitForTimeout(100);
  await set(page, { frame: 9 });
  await set(page, { frame: 8 });
  await page.waitForTimeout(400);
  await settled(page);
  check("and so does another frame", furthest(await drawn(page, "positions"), before) === 0);
}

async function recorded(browser) {
  const { page, complaints, leave } = await visit(browser, ["face.keys", "face.test.npy"]);
  await page.locator("#panel-face .verdict-count").first().waitFor();
  check("without a rig controls are shown and cannot be pulled", await page.locator("#panel-face .control-list input:enabled").count() === 0 && (await text(page, "#panel-face")).includes("name the rig: pelt view … --engine") && await page.getByRole("button", { name: "Reset" }).isHidden());
  const answer = await page.evaluate(() => globalThis.peltApp.data.ask("api/face", { method: "POST", body: JSON.stringify({ box: 0, controls: [1] }), headers: { "Content-Type": "application/json" } }).then(() => "answered", (problem) => problem.message));
  check("nor by a request", answer !== "answered" && complaints.splice(0).every((one) => one.includes("404")), answer); // as the browser says
  await leave();
}

// -- A lamp -----------------------------------------------------------------------------------------------------------------

const program = (at, ...more) => {
  run("relight", "run", "box.keys", "--light", at.join(), "-o", "box.pfm", "--overwrite", ...more);
  return readPfm(join(folder, "box.pfm"));
};
const caption = (page) => text(page, ".relit-figure figcaption");

async function lampOpens(page) {
  await page.locator(".relit-figure .badge.hit").waitFor();
  const before = await placeOf(page);
  await page.keyboard.press("ArrowLeft");
  const after = await placeOf(page);
  check("arrow keys move the lamp right after opening", after[0] !== before[0] && after[1] === before[1], `${before} ${after}`);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("ArrowRight");
  check("also without the focus", Math.abs((await placeOf(page))[0] - before[0]) < 2e-3, String(await placeOf(page)));
  check("tools that mean nothing here are gone", await page.locator(".toolbar").isHidden() && await page.locator(".skins-holder").isHidden() && await page.locator(".legend").isHidden() && await page.locator(".timeline").isHidden() && await page.locator("#tab-numbers").isHidden());
  const state = await get(page);
  for (const key of ["v", "x", "h", "c", " "]) await page.keyboard.press(key);
  const now = await get(page);
  check("and so are their keys", ["layout", "wireframe", "difference", "shading", "playing"].every((one) => now[one] === state[one]));
}

async function edges(page) {
  await page.waitForFunction(() => /ms$/.test(document.querySelector(".relit-figure .speed").textContent));
  await page.waitForTimeout(400);
  const at = await placeOf(page), picture = program(at), pixels = await pixelsOf(page), { white, far } = apart(pixels, picture);
  check("the picture is that of pelt relight run", far < 0.05, far);
  let uneven = 0, changed = 0, between = 0;
  for (let i = 0; i < pixels.length; i++) {
    const near = around(picture, Math.floor(i / 3), i % 3), [low, high] = [Math.min(...near), Math.max(...near)], light = white * toLinear(pixels[i]);
    if (pixels[i] >= 250 || high < 1.8 * low) continue;
    uneven++;
    if (Math.abs(light - picture[i]) < 0.15 * picture[i]) continue;
    changed++;
    between += Number(light > 0.9 * low && light < 1.1 * high);
  }
  check("edges are smooth: between what is on either side", uneven > 200 && changed > 0.12 * uneven && between > 0.95 * changed, JSON.stringify({ uneven, changed, between }));
}

async function gathers(page) {
  const shares = [];
  page.on("response", async (answer) => {
    if (!answer.url().endsWith("/api/light") || !answer.request().postDataJSON().full || !answer.ok()) return;
    shares.push((await answer.body().catch(() => Buffer.alloc(24))).readFloatLE(20));
  });
  for (const [i, value] of [[0, 0.42], [2, 0.1], [1, 0.12]]) await page.locator("#panel-light .exact").nth(i).fill(String(value));
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForFunction(() => document.querySelector("#panel-light").textContent.includes("all points were gathered"), null, { timeout: 60000 });
  const at = await placeOf(page), pixels = await pixelsOf(page), all = apart(pixels, program(at, "--full", "--samples", "128")).far, keyed = apart(pixels, program(at, "--no-fallback")).far;
  check("a low lamp is gathered, as the page says", await text(page, ".relit-figure .badge") === "miss" && all < 0.15 && keyed > 2 * all && (await caption(page)).startsWith("Gathered"), JSON.stringify({ all, keyed }));
  check("in steps", shares.length > 2 && shares.at(-1) === 1 && shares.every((share, i) => i === 0 || share > shares[i - 1]) && shares[0] < 0.3, shares.join());
  await shoot(page, "lamp-low");
}

async function stops(page) {
  let asked = 0, hold = true;
  await page.route("**/api/light", async (route) => {
    const { full } = route.request().postDataJSON();
    if (full && ++asked > 2) while (hold) await new Promise((go) => setTimeout(go, 20));
    await route.continue().catch(() => {}); // whoever asked may be gone
  });
  const wait = (words) => page.waitForFunction((all) => document.querySelector(".gathering").textContent.includes(all) && !document.querySelector(".gathering").hidden, words, { timeout: 20000 });
  const begin = async (value) => {
    [asked, hold] = [0, true];
    await page.locator("#panel-light .exact").nth(1).fill(String(value));
    await page.evaluate(() => document.activeElement.blur());
    await wait("gathering");
    for (let i = 0; i < 300 && asked < 3; i++) await page.waitForTimeout(20);
  };
  await begin(0.13);
  const share = await page.locator(".gathering progress").evaluate((bar) => bar.value);
  check("the progress of a gather is shown", share > 0 && share < 1 && (await text(page, ".gathering")).includes(`gathering ${Math.floor(100 * share)} %`), `${share} ${await text(page, ".gathering")}`);
  await shoot(page, "lamp-gathering");
  await page.keyboard.press("Escape");
  await wait("stopped at");
  hold = false;
  await page.waitForTimeout(200);
  check("Escape stops it", asked === 3 && (await text(page, "#panel-light")).includes("not all points were gathered: the picture is unfinished"), `${asked} ${await text(page, "#panel-light")}`);
  await shoot(page, "lamp-stopped");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForFunction(() => document.querySelector(".gathering").hidden, null, { timeout: 60000 });
  check("and it can go on to the end", asked > 3 && (await text(page, "#panel-light")).includes("all points were gathered"));
  await begin(0.14);
  await page.getByRole("button", { name: "Stop" }).click();
  await wait("stopped at");
  check("a button stops it too", asked === 3);
  await begin(0.12);
  await page.keyboard.press("PageUp");
  await page.waitForFunction(() => document.querySelector(".gathering").hidden);
  check("and moving the lamp does", (await text(page, "#panel-light")).includes("will be gathered once it stops moving") && asked === 3, await text(page, "#panel-light"));
  hold = false;
  await page.unroute("**/api/light");
}

// -- All of it --------------------------------------------------------------------------------------------------------------

makeFiles();
const browser = await launch();
try {
  const { page, leave } = await visit(browser, ["face.keys", "face.glb", "face.test.npy", "face.train.npy"]);
  for (const part of [opens, judged, results, misfits, trust, pulled]) await part(page);
  await leave();
  await recorded(browser);
  const lamp = await visit(browser, ["box.keys"]);
  for (const part of [lampOpens, edges, gathers, stops]) await part(lamp.page);
  await lamp.leave();
} finally {
  await browser.close();
}
if (failed) console.log(`${failed} failed`);
process.exit(failed ? 1 : 0);
