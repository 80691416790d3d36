// page.mjs: `pelt view` in a browser, driven as a person does: every view and control of the page, checked by the pixels
// that are drawn and by values that are read back.
//
//     node page.mjs PELT FOLDER [files | view | panels]
//
// FOLDER is empty, or has the files that `files` leaves there; `view` and `panels` are the tests in two parts. page_harness.mjs
// has what can be set by the environment.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { COLOURS, LARGE, MARKUP, makeFiles } from "./page_files.mjs";
import { check, covered, different, drawn, failed, get, helpers, inks, launch, npy, off, openPage, openSubject, paneBox, pelt, picture, pictures, pixels, press, serve, set, settled, shoot } from "./page_harness.mjs";
import { makeFiles as makePanelFiles, panels } from "./page_panels.mjs";
import { viewDetails } from "./page_view.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const [folder, part = "all"] = process.argv.slice(3);

// -- The tests ----------------------------------------------------------------------------------------------------------

async function firstPicture(page, url) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = Date.now();
  await page.goto(url);
  await page.waitForFunction(() => globalThis.peltApp?.stage.drawnFrames > 0 && globalThis.peltApp.stage.mesh, null, { polling: 20, timeout: 60000 });
  const picture = Date.now() - before;
  await page.waitForFunction(() => globalThis.peltApp.skin() && globalThis.peltApp.stage.truth, null, { polling: 20, timeout: 60000 });
  const whole = Date.now() - before;
  const busyFor = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ThreadTime").value;
  const busy = await busyFor();
  console.log(`first picture of ${LARGE} vertices after ${picture} ms, with skin and truth after ${whole} ms; the page was busy for ${Math.round(1000 * busy)} ms of that (software rendering)`);
  check("the first picture needs less than 2 s", busy < 2, busy);
  const { layout, clip, frame, panel } = await page.evaluate(() => globalThis.peltApp.store.get());
  const clips = await page.evaluate(() => globalThis.peltApp.clips().map(({ name, frames }) => ({ name, frames })));
  check("it begins in the middle of the clip that was not trained on, side by side", layout === "side" && panel === "numbers" && clips[clip].name === "test" && frame === Math.floor(clips[clip].frames / 2), JSON.stringify([layout, panel, clip, frame, clips]));
  check("the key has left the address bar", !page.url().includes("#"), page.url());
  await page.evaluate(helpers);
  await settled(page);
  return busyFor;
}

// CPU time of the page's thread: wall time means nothing on a busy machine, and rendering is in software here.
async function frameTimes(page, busy) {
  const FRAMES = 16;
  await set(page, { layout: "model" });
  const before = await busy();
  const deform = await page.evaluate(async (count) => {
    const app = globalThis.peltApp;
    const { frames } = app.clips()[app.store.get().clip];
    const times = [];
    const end = app.on("deformed", ({ milliseconds }) => times.push(milliseconds));
    for (let i = 0; i < count; i++) {
      app.store.set({ frame: i % frames });
      while (app.busy) await new Promise((done) => setTimeout(done, 0));
      await new Promise((done) => requestAnimationFrame(done));
    }
    end();
    return times.sort((a, b) => a - b)[times.length >> 1];
  }, FRAMES);
  const frame = (1000 * (await busy() - before)) / FRAMES;
  console.log(`${LARGE} vertices with normals: wasm deforms in ${deform.toFixed(2)} ms; the page is busy for ${frame.toFixed(1)} ms a frame`);
  check("a display's rate can be kept", deform < 16 && frame < 50, `${deform} ${frame}`);
}

// Positions in the page are those of the native run time, and the truth is the bundle's.
async function positions(page, bundle, skin, subject, row) {
  await openSubject(page, subject);
  await set(page, { skin: row });
  await page.waitForFunction((name) => globalThis.peltApp.skinNow().name === name && globalThis.peltApp.skin(), skin.replace(/.*\/|\.pelt$/g, ""));
  await settled(page);
  const clip = await page.evaluate(() => globalThis.peltApp.clips().findIndex(({ name }) => name === "test"));
  execFileSync(pelt, ["eval", skin, bundle, "--clip", "test", "-o", join(folder, "eval.npy"), "--quiet"]);
  const { shape: [frames, vertices], floats } = npy(join(folder, "eval.npy"));
  const cache = readFileSync(bundle.replace(".glb", ".test.pc2"));
  const truth = new Float32Array(cache.buffer.slice(cache.byteOffset + 32, cache.byteOffset + cache.length));
  let worst = 0, wrong = 0;
  for (const frame of [0, Math.floor(frames / 2), frames - 1]) {
    await set(page, { clip, frame });
    worst = Math.max(worst, off(await drawn(page, "positions"), floats.subarray(3 * vertices * frame, 3 * vertices * (frame + 1))));
    wrong = Math.max(wrong, off(await drawn(page, "truth"), truth.subarray(3 * vertices * frame, 3 * vertices * (frame + 1))));
  }
  console.log(`wasm is at most ${worst.toExponential(1)} from the native run time`);
  check("wasm deforms as the native run time", worst <= 1e-6, worst);
  check("the truth is the bundle's", wrong === 0, wrong);
}

// What the page draws matches what it says: each view by its pixels.
async function views(page) {
  await set(page, { skin: 0, layout: "side" });
  await press(page, "w");
  const side = [];
  for (const name of ["truth", "model", "difference"]) side.push(await picture(page, await paneBox(page, name)));
  for (const pane of side) check("three panes are drawn", await covered(page, pane) > 120);
  check("truth and model are not one picture at the worst frame", await different(page, side[0], side[1]) > 25);
  await shoot(page, "side");

  await heatMap(page);
  await cameras(page);

  await set(page, { layout: "model" });
  const box = await paneBox(page, "model");
  const model = await picture(page, box);
  await set(page, { layout: "wipe", wipe: 0 });
  check("a wipe to the left is the model", await different(page, await picture(page, box), model) === 0);
  await set(page, { wipe: 1 });
  const truth = await picture(page, box);
  check("a wipe to the right is something else", await different(page, truth, model) > 25);
  const divider = await page.locator(".divider").boundingBox();
  const stage = await page.locator(".stage").boundingBox();
  await page.mouse.move(divider.x + 6, divider.y + 40);
  await page.mouse.down();
  await page.mouse.move(stage.x + stage.width / 2, divider.y + 60);
  await page.mouse.up();
  await settled(page);
  check("the wipe is dragged", Math.abs((await get(page)).wipe - 0.5) < 0.02, (await get(page)).wipe);
  const wiped = await picture(page, box);
  const half = Math.floor(box[2] / 2) - 4;
  check("left of the line is the truth", await different(page, wiped, truth, box[2], half) === 0 && await different(page, wiped, truth) > 25);
  await set(page, { wipe: 0.68 });
  await shoot(page, "wipe");

  await set(page, { layout: "overlay", blend: 0.5 });
  const overlaid = await inks(page, await picture(page, box));
  check("an overlay leaves blue where truth is alone", overlaid.blue > 12, overlaid.blue);
  await shoot(page, "overlay");
  await set(page, { blend: 1 });
  const all = await inks(page, await picture(page, box));
  check("the slider of the overlay goes to the model", all.orange > 120, all.orange);
  const { clip, frame } = await get(page);
  await set(page, { clip: 0, frame: 0, blend: 0.5 });
  const rest = await inks(page, await picture(page, box));
  check("an overlay is grey where both agree", rest.blue + rest.orange < 20, JSON.stringify(rest));
  await set(page, { clip, frame });

  await shadings(page, box);
}

// A pixel of the difference has the legend's colour for the distance there.
async function heatMap(page) {
  const ramp = (share) => {
    const stops = ["#4d535d", "#715f92", "#b3619b", "#f16683", "#ff8464", "#ffb455", "#ffea7a"].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    const at = Math.min(1, share) * 6, low = Math.min(5, Math.floor(at));
    return stops[low].map((value, i) => value + (stops[low + 1][i] - value) * (at - low));
  };
  const hue = ([r, g, b]) => { const most = Math.max(r, g, b); return [r / most, g / most, b / most]; };
  const measure = async (scale) => {
    await set(page, { scale });
    const front = await page.evaluate((wanted) => globalThis.look.frontVertex(wanted), scale * 0.55);
    const [x, y] = await page.evaluate((point) => globalThis.look.place("difference", point), front.position);
    const pixel = await pixels(page, [Math.floor(x), Math.floor(y), 1, 1]);
    return { share: front.error / scale, pixel };
  };
  const scale = await page.evaluate(() => globalThis.peltApp.autoScale());
  for (const factor of [1, 0.5]) {
    const { share, pixel } = await measure(scale * factor);
    const distance = Math.hypot(...hue(pixel).map((value, i) => value - hue(ramp(share))[i]));
    check("a pixel of the difference is the legend's colour", share < 1 && distance < 0.12, `${share} ${pixel} ${ramp(share)}`);
  }
  const top = page.locator(".legend-top");
  await top.fill("0.02");
  await top.press("Enter");
  check("the scale is typed", (await get(page)).scale === 0.02);
  await top.fill("nonsense");
  await top.press("Enter");
  check("a scale that is none is refused with a sentence", (await page.locator(".message.problem p").last().textContent()).includes("above 0") && (await get(page)).scale === 0.02);
  await page.locator(".message .plain").first().click();
  await page.locator(".legend .tiny").click();
  check("the scale goes back to automatic", (await get(page)).scale === null);
  // The median of the skins' errors decides: one that is a thousand times worse changes nothing.
  const robust = await page.evaluate(async () => {
    const app = globalThis.peltApp;
    const { skins } = app.character();
    const rms = [];
    for (const skin of skins) rms.push(skin.facts.train.rms);
    return { rms, scale: app.scale(), top: document.querySelector(".legend-top").value };
  });
  const middle = [...robust.rms].sort((a, b) => a - b)[1];
  check("the scale suits the middle one of three skins", robust.scale >= 4 * middle && robust.scale <= 20 * middle, JSON.stringify(robust));
  check("the legend says the scale", Math.abs(Number(robust.top) - robust.scale) <= 1e-6 * robust.scale, robust.top);
}

// All panes share one camera: in the rest pose, where truth and model agree, they stay one picture in any orientation.
async function cameras(page) {
  const before = await get(page);
  await set(page, { clip: 0, frame: 0 });
  await press(page, "f");
  const pane = async (name) => picture(page, await paneBox(page, name));
  const still = await pane("truth");
  const stage = await page.locator(".pane[data-pane=difference]").boundingBox();
  await page.mouse.move(stage.x + stage.width / 2, stage.y + stage.height / 2);
  await page.mouse.down();
  await page.mouse.move(stage.x + stage.width / 2 + 60, stage.y + stage.height / 2 + 25, { steps: 3 });
  await page.mouse.up();
  await settled(page);
  const [turned, model] = [await pane("truth"), await pane("model")];
  check("dragging one pane turns the others", await different(page, still, turned) > 25);
  const apart = await different(page, turned, model);
  check("the panes have one camera", apart < 0.05 * await covered(page, turned), apart);
  await page.mouse.wheel(0, -300);
  await settled(page);
  check("the wheel comes closer", await covered(page, await pane("model")) > await covered(page, model));
  await press(page, "Alt+ArrowLeft");
  await press(page, "f");
  check("F shows the whole character again", await different(page, await pane("truth"), still) < 0.2 * await covered(page, still));
  await set(page, { clip: before.clip, frame: before.frame });
}

async function shadings(page, box) {
  await set(page, { layout: "model", frame: 0 });
  const clay = await picture(page, box);
  await press(page, "x");
  const edges = await different(page, clay, await picture(page, box));
  check("wireframe draws edges", edges > 75, edges);
  await shoot(page, "wireframe");
  await press(page, "x");
  check("and takes them away", await different(page, await picture(page, box), clay) === 0);

  await page.getByRole("radio", { name: "Normals" }).click();
  await settled(page);
  const front = await page.evaluate(() => globalThis.look.frontVertex());
  const [x, y] = await page.evaluate((point) => globalThis.look.place("model", point), front.position);
  const pixel = await pixels(page, [Math.floor(x), Math.floor(y), 1, 1]);
  const seen = await page.evaluate((normal) => {
    const { camera } = globalThis.peltApp.stage;
    return camera.position.clone().set(...normal).transformDirection(camera.matrixWorldInverse).toArray();
  }, front.normal);
  check("normals are colours", off(seen.map((n) => 127.5 * (1 + n)), pixel.slice(0, 3)) < 8, `${seen} ${pixel}`);
  await shoot(page, "normals");
  await page.getByRole("radio", { name: "Clay" }).click();

  await press(page, "w");
  await press(page, "h");
  const heated = await picture(page, box);
  await press(page, "h");
  check("the heat map is put on the model", await different(page, await picture(page, box), heated) > 120);
}

async function skinsTable(page) {
  await set(page, { layout: "side" });
  await page.waitForFunction(() => !document.querySelector(".skins td.waiting"));
  const rows = await page.locator(".skins tbody tr").allTextContents();
  check("every skin has a row", rows.length === 3, rows.join(" | "));
  const asked = await page.evaluate(async () => {
    const app = globalThis.peltApp;
    return Promise.all(app.character().skins.map(async (skin) => ({ ...skin.facts.train, ...await app.data.json(skin.figures), bytes: skin.bytes, name: skin.name })));
  });
  const cells = await page.locator(".skins tbody tr").evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
  asked.forEach((skin, i) => {
    const [name, error, rms, , size, nanoseconds] = cells[i];
    check("the row names its skin", name === skin.name, `${name} ${skin.name}`);
    check("the row has its error", Math.abs(Number(error) - skin.rel_err) <= 5.01e-4, `${error} ${skin.rel_err}`);
    check("the row has its rms", Math.abs(Number(rms.replace("−", "-")) - skin.rms) <= 0.01 * skin.rms, `${rms} ${skin.rms}`);
    check("the row has its size", Math.abs(parseFloat(size) * { B: 1, k: 1e3, M: 1e6 }[size.split(" ")[1][0]] - skin.bytes) <= 0.01 * skin.bytes, `${size} ${skin.bytes}`);
    check("the row has its time", Math.abs(parseFloat(nanoseconds) - skin.nanoseconds) <= 0.06, `${nanoseconds} ${skin.nanoseconds}`);
  });
  const lowest = asked.reduce((best, skin, i) => (skin.bytes < asked[best].bytes ? i : best), 0);
  await page.locator(".skins thead button", { hasText: "size" }).click();
  const order = await page.locator(".skins tbody tr").evaluateAll((list) => list.map((row) => Number(row.dataset.skin)));
  check("rows are sorted by size", order.every((skin, i) => i === 0 || asked[order[i - 1]].bytes <= asked[skin].bytes) && order[0] === lowest, order.join());
  await page.locator(".skins thead button", { hasText: "skin" }).click();
  await page.locator(".skins tbody tr").nth(2).click();
  await settled(page);
  check("a click opens a skin", (await get(page)).skin === 2 && (await page.locator(".pane[data-pane=model] .pane-title").textContent()).includes(asked[2].name));
  await press(page, "ArrowUp");
  check("arrows in the table open the one above", (await get(page)).skin === 1);
  await press(page, "1");
  check("a number opens a skin", (await get(page)).skin === 0);
}

async function timelineTests(page) {
  const clip = (await get(page)).clip;
  await page.waitForFunction(() => document.querySelectorAll(".curve").length === 3);
  const curve = await page.evaluate(async (n) => {
    const app = globalThis.peltApp;
    return app.data.json(app.character().skins[0].errors.replace("%d", n));
  }, clip);
  const worst = curve.rms.indexOf(Math.max(...curve.rms));
  await page.locator("path.worst").click();
  await settled(page);
  check("the mark goes to the worst frame", (await get(page)).frame === worst, `${(await get(page)).frame} ${worst}`);
  const here = await page.evaluate(() => {
    const { positions, truth } = globalThis.peltApp.stage;
    let sum = 0;
    for (let i = 0; i < truth.length; i++) sum += (positions[i] - truth[i]) ** 2;
    return Math.sqrt(sum / (truth.length / 3));
  });
  check("the curve is the error of what is drawn", Math.abs(here - curve.rms[worst]) < 1e-4 * curve.rms[worst], `${here} ${curve.rms[worst]}`);
  const chart = await page.locator(".chart").boundingBox();
  const frames = curve.rms.length;
  const wanted = Math.floor(frames / 3);
  const at = 46 + (wanted / (frames - 1)) * (chart.width - 56);
  await page.mouse.click(chart.x + at, chart.y + chart.height * 0.7);
  await settled(page);
  check("a click goes to its frame", (await get(page)).frame === wanted, (await get(page)).frame);
  check("the frame's figures are said", (await page.locator(".frame-figures").textContent()).includes("rms"));
  await press(page, "ArrowRight");
  check("an arrow goes on a frame", (await get(page)).frame === wanted + 1);
  await press(page, "End");
  check("End goes to the last", (await get(page)).frame === frames - 1);
  await press(page, "Home");
  await page.mouse.move(5, 5);
  await page.keyboard.press("Space");
  await page.waitForFunction(() => globalThis.peltApp.store.get().frame >= 3, null, { timeout: 15000 });
  await page.keyboard.press("Space");
  await settled(page);
  const stopped = (await get(page)).frame;
  await page.waitForTimeout(150);
  check("space plays and stops", !(await get(page)).playing && (await get(page)).frame === stopped);
  await page.locator(".timeline .segment", { hasText: "max" }).click();
  await press(page, "w");
  check("the worst by the largest distance", (await get(page)).frame === curve.max.indexOf(Math.max(...curve.max)));
  await page.locator(".timeline .segment", { hasText: "rms" }).click();
  await press(page, "]");
  check("] goes to the next clip", (await get(page)).clip !== clip);
  await press(page, "[");
}

// WebGPU and WebGL 2 against wasm, by the page's texts and by what is drawn.
async function paths(page) {
  await set(page, { skin: 1 });
  await press(page, "w");
  const wasm = await drawn(page, "positions");
  const diagonal = await page.evaluate(() => globalThis.peltApp.character().diagonal);
  for (const [path, label] of [["webgpu", "WebGPU"], ["webgl2", "WebGL 2"]]) {
    await page.getByRole("radio", { name: label }).click();
    await page.waitForFunction((wanted) => globalThis.peltApp.engine.agreement?.path === wanted || globalThis.peltApp.store.get().path === "wasm", path, { timeout: 30000 });
    await settled(page);
    const { agreement } = await page.evaluate(() => ({ agreement: globalThis.peltApp.engine.agreement }));
    check(`${label} can be chosen`, agreement?.path === path);
    if (!agreement) continue;
    check(`${label} agrees with wasm`, agreement.distance > 0 && agreement.distance <= 2e-6 * diagonal && off(await drawn(page, "positions"), wasm) <= agreement.distance + 1e-9, `${agreement.distance / diagonal} of the diagonal`);
    check("and the page says so", (await page.locator(".agreement").textContent()).startsWith("agrees with wasm"));
    console.log(`${label} is ${(agreement.distance / diagonal).toExponential(1)} of the diagonal from wasm`);
    if (path === "webgpu") await shoot(page, "webgpu");
  }
  await page.getByRole("radio", { name: "wasm" }).click();
  await settled(page);
  check("back to wasm", (await page.locator(".agreement").textContent()) === "" && off(await drawn(page, "positions"), wasm) === 0);
}

async function texturesAndNames(page, subject) {
  await page.locator("button.subject").click();
  await page.getByRole("option", { name: "quad" }).click();
  await page.waitForFunction((wanted) => globalThis.peltApp.store.get().subject === wanted && globalThis.peltApp.skin(), subject);
  await set(page, { frame: 0 });
  check("changing the subject is no problem, whatever skin was open", (await page.locator(".message.problem").count()) === 0);
  check("names of files are text", (await page.locator("img").count()) === 0 && (await page.locator(".skins tbody th").textContent()) === "<b>ssd"
    && (await page.locator("select.clip option").textContent()).startsWith(MARKUP));
  check("without truth the model is alone", await page.evaluate(() => globalThis.peltApp.stage.arrangement) === "model");
  const alone = await page.evaluate(() => {
    const lines = [...document.querySelectorAll(".chart .grid")].map((one) => ["x1", "x2", "y1", "y2"].map((name) => Number(one.getAttribute(name)))), { clientWidth: wide, clientHeight: tall } = document.querySelector(".track");
    return { lines: JSON.stringify(lines) === JSON.stringify([[46, wide - 10, tall - 16, tall - 16]]), off: [...document.querySelectorAll(".toolbar .segment")].filter((one) => one.disabled).map((one) => one.dataset.value).join(),
      heat: document.querySelectorAll(".toolbar input[type=checkbox]")[1].disabled, best: document.querySelectorAll(".skins .best").length, worst: document.querySelector(".go-worst").hidden, title: document.querySelector(".pane-title").textContent };
  });
  check("nothing is offered that needs a truth or a choice", JSON.stringify(alone) === JSON.stringify({ lines: true, off: "side,overlay,wipe,skins", heat: true, best: 0, worst: true, title: "Model <b>ssd · no truth" }), JSON.stringify(alone));
  await page.getByRole("radio", { name: "Textures" }).click();
  await page.waitForFunction(() => globalThis.peltApp.stage.dressed);
  await settled(page);
  const corners = [[-0.5, 0.5, 0, 0], [0.5, 0.5, 0, 1], [-0.5, -0.5, 1, 0], [0.5, -0.5, 1, 1]];
  for (const [x, y, row, column] of corners) {
    const at = await page.evaluate((point) => globalThis.look.place("model", point), [x, y, 0]);
    const pixel = (await pixels(page, [Math.floor(at[0]), Math.floor(at[1]), 1, 1])).slice(0, 3);
    const order = (list) => list.map((value, i) => [value, i]).sort((a, b) => b[0] - a[0]).map(([, i]) => i);
    const wanted = COLOURS[row][column];
    check("the texture is where it belongs", order(pixel)[0] === order(wanted)[0] && (row !== 1 || column !== 1 || pixel[2] < pixel[0] / 2), `${pixel} for ${wanted}`);
  }
  await page.getByRole("radio", { name: "Clay" }).click();
}

async function brokenFiles(page, subject) {
  await page.route("**/data/c1/skin2.pelt", (route) => route.fulfill({ body: Buffer.from("this is no skin at all, but long enough for a header of one") }));
  await page.reload();
  await page.waitForFunction(() => globalThis.peltApp?.skin());
  await page.evaluate(helpers);
  await openSubject(page, subject);
  await page.evaluate(() => globalThis.peltApp.store.set({ skin: 2 }));
  await page.locator(".message.problem").first().waitFor();
  const sentence = await page.locator(".message.problem p").first().textContent();
  check("a broken skin is refused in the library's words", /psd: .*(skin|pelt|file)/i.test(sentence), sentence);
  await settled(page);
  check("and the truth is still shown", await page.evaluate(() => globalThis.peltApp.stage.arrangement) === "truth");
  await shoot(page, "problem");
  await page.locator(".message .plain").first().click();
  await page.unroute("**/data/c1/skin2.pelt");
  await set(page, { skin: 0 });
  check("another skin works", await page.evaluate(() => globalThis.peltApp.stage.arrangement) === "side");
  const problem = async () => {
    await page.locator(".message.problem").first().waitFor();
    const words = await page.locator(".message.problem p").last().textContent();
    for (let i = await page.locator(".message .plain").count(); i > 0; i--) await page.locator(".message .plain").first().click();
    return words;
  };
  await page.route("**/data/c1/skin1.pelt", (route) => route.fulfill({ path: join(folder, "quad/<b>ssd.pelt") }));
  await page.evaluate(() => globalThis.peltApp.store.set({ skin: 1 }));
  const counts = await problem();
  check("a skin of another mesh is refused", counts === "eigen: eigen has 4 vertices, but arm has 2972." && await page.evaluate(() => globalThis.peltApp.skin()) === null, counts);
  await page.unroute("**/data/c1/skin1.pelt");
  await set(page, { skin: 0 });
  await page.route("**/truth/*.bin", (route) => route.fulfill({ status: 404 }));
  const { frame } = await get(page);
  await set(page, { frame: frame + 1 });
  const lost = await problem();
  check("without its truth the model is shown alone", /truth.* could not be read \(404/.test(lost) && await page.evaluate(() => globalThis.peltApp.stage.arrangement) === "model", lost);
  await page.unroute("**/truth/*.bin");
  await set(page, { frame });
  await page.evaluate(() => Object.defineProperty(navigator, "gpu", { value: undefined, configurable: true }));
  await page.evaluate(() => globalThis.peltApp.store.set({ path: "webgpu" }));
  const device = await problem();
  check("a device that is not there is told, and wasm goes on", /^WebGPU cannot be used here: ./.test(device) && (await get(page)).path === "wasm" && await page.locator(".paths [aria-checked=true]").textContent() === "wasm", device);
  await page.evaluate(() => delete navigator.gpu);
}

async function keysAndLooks(page) {
  await page.keyboard.press("?");
  check("? opens the list of keys", await page.locator("dialog.help").isVisible());
  await shoot(page, "keys");
  await page.keyboard.press("Escape");
  check("Escape closes it", !(await page.locator("dialog.help").isVisible()));
  await press(page, "v");
  check("V changes the arrangement", (await get(page)).layout === "overlay");
  await set(page, { layout: "side" });
  const ringless = [];
  await page.evaluate(() => { document.activeElement?.blur(); });
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const shown = element.matches(".toggle input") ? element.nextElementSibling : element;
      const { outlineStyle, outlineWidth } = getComputedStyle(shown);
      const name = element.getAttribute("aria-label") || element.textContent.trim() || element.labels?.[0]?.textContent || element.title;
      return { ring: outlineStyle !== "none" && parseFloat(outlineWidth) >= 1, name, tag: `${element.tagName}.${element.className?.baseVal ?? element.className}` };
    });
    if (focused.tag !== "BODY." && (!focused.ring || !focused.name)) ringless.push(focused.tag);
  }
  check("what has the focus has a ring and a name", ringless.length === 0, ringless.join());
  await page.evaluate(() => document.activeElement?.blur());
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const themed = (wanted) => page.waitForFunction((name) => document.documentElement.dataset.theme === name, wanted, { timeout: 3000 }).catch(() => {});
  const dark = await ground();
  await page.emulateMedia({ colorScheme: "light" });
  await themed("light");
  check("light follows the system", dark !== await ground());
  await shoot(page, "light");
  await press(page, "t");
  check("and the switch wins", await ground() === dark);
  await press(page, "t");
  await page.emulateMedia({ colorScheme: "dark" });
  await themed("dark");
  check("until it is put back", await ground() === dark);
}

async function sizes(page) {
  for (const [name, size] of [["laptop", { width: 1180, height: 720 }], ["phone", { width: 390, height: 844 }]]) {
    await page.setViewportSize(size);
    await page.waitForTimeout(150);
    await settled(page);
    const { across, stage } = await page.evaluate(() => {
      const box = globalThis.peltApp.stage.element.getBoundingClientRect();
      return { across: document.scrollingElement.scrollWidth - innerWidth, stage: [box.width, box.height] };
    });
    check(`nothing sticks out on a ${name}`, across <= 0, across);
    check(`the picture is large on a ${name}`, stage[0] * stage[1] > 0.3 * size.width * size.height, stage.join());
    if (name === "phone") {
      await set(page, { layout: "wipe" });
      await shoot(page, "phone");
    }
  }
}

// CPU seconds used by this program and everything it started.
function used() {
  const rows = execFileSync("ps", ["-eo", "pid=,ppid=,cputimes="], { encoding: "utf8" }).trim().split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const mine = new Set([process.pid]);
  for (let grown = true; grown;) {
    grown = false;
    for (const [pid, parent] of rows) if (mine.has(parent) && !mine.has(pid)) grown = Boolean(mine.add(pid));
  }
  return rows.reduce((sum, [pid, , seconds]) => sum + (mine.has(pid) ? seconds : 0), 0);
}

// The panels, on files of their own.
// The same page as files, from a server that knows nothing: no key, and no fitting. A skin without its bundle is points.
async function staticSite(browser) {
  const site = join(folder, "site");
  execFileSync(pelt, ["view", join(folder, "quad/quad.glb"), join(folder, "quad/<b>ssd.pelt"), join(folder, "look/eigen.pelt"), "--export", site, "--quiet"]);
  const types = { js: "text/javascript", css: "text/css", html: "text/html", wasm: "application/wasm", svg: "image/svg+xml" };
  const server = createServer((request, response) => {
    const file = join(site, "x", "..", decodeURIComponent(new URL(request.url, "http://localhost").pathname.replace(/\/$/, "/index.html")));
    if (!existsSync(file)) return response.writeHead(404).end();
    return response.writeHead(200, { "Content-Type": types[file.split(".").pop()] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    const { page, complaints } = await openPage(browser, `http://127.0.0.1:${server.address().port}/`, { width: 980, height: 600 });
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => globalThis.peltApp?.skin());
    await page.evaluate(helpers);
    await settled(page);
    check("an exported page shows its character", await covered(page, await picture(page, await paneBox(page, "model"))) > 500);
    const points = await page.evaluate(() => globalThis.peltApp.subjects().findIndex(({ character }) => character.file === null));
    await openSubject(page, points);
    const dots = await covered(page, await picture(page, await paneBox(page, "model")));
    check("a skin without its bundle is points", dots > 100 && await page.evaluate(() => globalThis.peltApp.stage.mesh.triangles) === 0, dots);
    check("an exported page has nothing to complain of", complaints.length === 0, complaints.join("; "));
  } finally {
    server.close();
  }
}

// Pictures of real characters, if available.
async function realCharacters(browser) {
  const data = process.env.PELT_DATA || join(HERE, "../../../shared/data");
  const body = join(data, "mhr_body/mhr_body.glb");
  const man = join(data, "chars/CesiumMan.glb");
  if (!pictures || !existsSync(body)) return;
  const skins = ["ssd", "eigen", "kernel"].map((method) => {
    const skin = join(folder, `${method}.pelt`);
    execFileSync(pelt, ["fit", body, "--train", "train", "--method", method, "-o", skin, "--quiet"]);
    return skin;
  });
  execFileSync(pelt, ["fit", man, "--method", "ssd", "-o", join(folder, "man.pelt"), "--quiet"]);
  const { url, server } = await serve([body, ...skins, man, join(folder, "man.pelt")]);
  try {
    const { page } = await openPage(browser, url, { width: 1280, height: 760 });
    await page.goto(url);
    await page.waitForFunction(() => globalThis.peltApp?.skin() && document.querySelectorAll(".curve").length === 3 && !document.querySelector(".skins td.waiting"));
    await page.evaluate(helpers);
    await page.evaluate(() => globalThis.peltApp.store.set({ clip: globalThis.peltApp.clips().findIndex(({ name }) => name === "punch"), skin: 1 }));
    await page.waitForFunction(() => document.querySelectorAll(".curve").length === 3);
    await press(page, "w");
    await press(page, "f");
    await shoot(page, "body");
    await openSubject(page, 1);
    await set(page, { shading: "textures" });
    await page.waitForFunction(() => globalThis.peltApp.stage.dressed);
    await shoot(page, "textures");
  } finally {
    server.removeAllListeners("exit");
    server.kill("SIGINT");
  }
}

async function panelTests(browser) {
  const { url, server } = await serve(makePanelFiles(pelt, panelFolder));
  try {
    const { page, complaints } = await openPage(browser, url, { width: 1280, height: 760 });
    await page.goto(url);
    await page.waitForFunction(() => globalThis.peltApp?.skin());
    await page.evaluate(helpers);
    await panels({ page, check, pelt, folder: panelFolder, shoot: (name) => shoot(page, name) });
    check("the browser had nothing to complain of the panels", complaints.every((text) => text.includes("422")), // a file that was refused
      complaints.join("; "));
  } finally {
    server.removeAllListeners("exit");
    server.kill("SIGINT");
  }
}

async function main() {
  const browser = await launch();
  try {
    if (part !== "panels") await viewTests(browser);
    if (part !== "view") await panelTests(browser);
    console.log(`${used()} s of processor time in all`);
  } finally {
    await browser.close();
  }
  console.log(failed ? `${failed} checks failed` : "all checks passed");
  process.exitCode = failed ? 1 : 0;
}

async function viewTests(browser) {
  const { url, server } = await serve(makeFiles(pelt, folder));
  try {
    const { page, complaints } = await openPage(browser, url, pictures ? { width: 1280, height: 760 } : { width: 980, height: 636 });
    const busy = await firstPicture(page, url);
    await frameTimes(page, busy);
    await positions(page, join(folder, "large/arm.glb"), join(folder, "large/large.pelt"), 0, 0);
    await set(page, { layout: "side" });
    await positions(page, join(folder, "look/arm.glb"), join(folder, "look/eigen.pelt"), 1, 1);
    await views(page);
    await skinsTable(page);
    await timelineTests(page);
    await paths(page);
    await viewDetails({ page, check, set: (change) => set(page, change), get: () => get(page) });
    await texturesAndNames(page, 2);
    check("the browser had nothing to complain of", complaints.length === 0, complaints.join("; "));
    await brokenFiles(page, 1);
    await keysAndLooks(page);
    await sizes(page);
    await staticSite(browser);
    await realCharacters(browser);
  } finally {
    server.removeAllListeners("exit");
    server.kill("SIGINT");
  }
}

const panelFolder = join(folder, "panels");
mkdirSync(panelFolder, { recursive: true });
if (part === "files") {
  makeFiles(pelt, folder);
  makePanelFiles(pelt, panelFolder);
} else await main();
