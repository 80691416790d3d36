// page_hands.mjs: the first screen of `pelt view`, undoing, reaching, the camera, and what is taken elsewhere: pictures,
// movies, links. Driven as a person does, checked by values and pixels.
//
//     node page_hands.mjs PELT FOLDER

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { deflateSync, crc32 as nodeCrc } from "node:zlib";
import { check, failed, get, helpers, launch, openPage, pelt, press, serve, set, settled } from "./page_harness.mjs";

const folder = process.argv[3];
const SIZE = { width: 1100, height: 700 };
const close = (a, b, most = 1e-4) => a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) <= most);
const evaluate = (page, call, value) => page.evaluate(call, value);
const said = (page, words) => page.locator(".message p", { hasText: words });

const opened = async (page, url) => {
  await page.goto(url);
  await page.waitForFunction(() => globalThis.peltApp?.show);
  await page.evaluate(helpers);
};

const posed = (page) => evaluate(page, () => ({ locals: [...globalThis.peltApp.pose.locals], clip: [...globalThis.peltApp.pose.clip], pulled: globalThis.peltApp.pose.pulled }));
const placeOf = (page, name) => evaluate(page, async (wanted) => {
  const app = globalThis.peltApp, { joints } = app.subject().character, { locals } = app.pose;
  // Independent of the page's own matrices: quaternions, from the joint up.
  const turn = ([x, y, z, w], v) => {
    const t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
    return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2], v[2] + w * t[2] + x * t[1] - y * t[0]];
  };
  let j = joints.findIndex(({ name }) => name === wanted), at = [0, 0, 0];
  for (; j >= 0; j = joints[j].parent) at = turn(locals.slice(10 * j, 10 * j + 4), at).map((x, c) => x + locals[10 * j + 4 + c]);
  return at;
}, name);
const camera = (page) => evaluate(page, () => {
  const { camera: eye, target } = globalThis.peltApp.stage, along = eye.position.clone().sub(target);
  return { along: along.clone().normalize().toArray(), distance: along.length(), position: eye.position.toArray(), target: target.toArray(), flat: eye.isOrthographicCamera === true };
});
const skins = (page) => evaluate(page, () => globalThis.peltApp.subject().character.skins.map(({ name }) => name).join());

// -- The first screen ---------------------------------------------------------------------------------------------------

async function firstScreen(page) {
  check("without files the page invites", await page.locator(".welcome h2").isVisible() && await page.locator(".toolbar").isHidden() && await page.locator(".side").isHidden() && await page.locator(".timeline").isHidden());
  const ground = () => evaluate(page, () => getComputedStyle(document.querySelector(".welcome-drop")).backgroundColor);
  const dark = await ground();
  await page.keyboard.press("t");
  check("in both themes", dark === "rgb(22, 25, 30)" && await ground() === "rgb(251, 251, 249)", `${dark} ${await ground()}`);
  await page.keyboard.press("t");
  const commands = await page.locator(".commands code").allTextContents();
  check("three commands are there", commands.join("|") === "pelt sample arm -o .|pelt fit arm.glb --train train -o arm.pelt|pelt view arm.pelt arm.glb", commands.join("|"));
  await page.getByRole("button", { name: "Copy: pelt fit" }).click();
  check("and can be copied", await evaluate(page, () => navigator.clipboard.readText()) === commands[1]);
  const mine = join(folder, "commands");
  mkdirSync(mine, { recursive: true });
  const smaller = [["--vertices", "600", "--frames", "12"], ["--method", "kernel", "--holdout", "0"]]; // as written they take longer
  for (const [i, more] of smaller.entries()) execFileSync(pelt, [...commands[i].split(" ").slice(1), ...more, "--quiet"], { cwd: mine });
  execFileSync(pelt, [...commands[2].split(" ").slice(1), "--export", "site", "--quiet"], { cwd: mine });
  check("and do what they say", readFileSync(join(mine, "site/data/show.json"), "utf8").includes('"arm"'));
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).press("Enter");
  writeFileSync(join(folder, "notes.txt"), "not a character");
  await (await chooser).setFiles([join(folder, "notes.txt")]);
  await page.locator(".welcome .problem:visible").waitFor();
  check("what is no character is refused in a sentence", /none of these files is a bundle/.test(await page.locator(".welcome .problem").textContent()));
  const refused = await evaluate(page, () => globalThis.peltApp.data.post("api/sample", { sample: "dragon" }).then(() => "", (thrown) => thrown.message));
  check("samples that there are not are refused in a sentence", /dragon/.test(refused), refused);
  await page.locator("[data-sample=arm]").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => globalThis.peltApp.skin() && globalThis.peltApp.stage.truth && globalThis.peltApp.store.get().skin === 1, null, { timeout: 30000 });
  await settled(page);
  check("one press shows a character with skins", await skins(page) === "linear,kernel" && await page.locator(".welcome").isHidden() && await page.locator(".side").isVisible(), await skins(page));
  const pixels = await evaluate(page, () => globalThis.look.covered(globalThis.look.picture(...globalThis.look.pane("model"))));
  check("and draws it", pixels > 2000, pixels);
  const again = await evaluate(page, () => globalThis.peltApp.data.post("api/sample", { sample: "arm" }));
  check("each is made once", again.character === 0);
}

// -- Hands --------------------------------------------------------------------------------------------------------------

const value = (page, field) => page.locator("#panel-pull .range-row .exact").nth(field).inputValue().then(Number);

async function finding(page) {
  await press(page, "j");
  const search = page.locator("#panel-pull .joint-search"), picked = () => page.locator(".picked-joint").textContent();
  for (const [text, expected] of [["hand", "hand"], ["SHOULD", "shoulder"], ["wrist", "wrist"], ["e", "elbow"], ["collar", "collar"]]) { // up and down the list
    await search.fill(text);
    await search.press("Enter");
    check(`find ${text} and Enter pick ${expected}`, await picked() === expected, await picked());
  }
  await search.fill("tail");
  check("what is not there is said", await page.locator(".joints .quiet").textContent() === "No joint has “tail” in its name.");
  await search.press("Enter");
  check("and picks nothing", await picked() === "collar");
  await search.fill("");
}

// The middle of a bone, on the screen.
const middle = (page, from, to) => Promise.all([placeOf(page, from), placeOf(page, to)]).then(([a, b]) => evaluate(page, (at) => {
  const stage = globalThis.peltApp.stage.element.getBoundingClientRect(), [x, y] = globalThis.look.place("model", at);
  return [stage.left + x, stage.top + y];
}, a.map((x, i) => x + 0.45 * (b[i] - x))));

async function hovering(page) {
  await page.getByRole("radio", { name: "None" }).click();
  const [x, y] = await middle(page, "elbow", "wrist");
  const box = await evaluate(page, () => globalThis.look.pane("model"));
  await page.mouse.move(5, 5);
  const before = await evaluate(page, (at) => globalThis.look.picture(...at), box);
  await page.mouse.move(x, y);
  const after = await evaluate(page, (at) => globalThis.look.picture(...at), box);
  check("the bone under the pointer has its name beside it", await page.locator(".bone-name").textContent() === "elbow" && await page.locator(".bone-name").isVisible());
  const changed = await evaluate(page, ([a, b]) => globalThis.look.different(a, b, 1, 1), [before, after]);
  check("and another colour, before it is pressed", changed > 20 && await page.locator(".picked-joint").textContent() === "collar", changed);
  await page.mouse.click(x, y);
  check("a press picks it", await page.locator(".picked-joint").textContent() === "elbow");
  await page.getByRole("radio", { name: "Rings" }).click();
}

async function undoing(page) {
  const start = await posed(page), title = () => page.getByRole("button", { name: "Undo" }).getAttribute("title");
  check("nothing to undo yet", await page.getByRole("button", { name: "Undo" }).isDisabled() && await page.getByRole("button", { name: "Redo" }).isDisabled());
  await page.locator("#panel-pull .range-row input[type=range]").nth(2).focus();
  const first = await value(page, 2);
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
  await settled(page);
  const turned = await posed(page);
  check("five steps of a slider", Math.abs(await value(page, 2) - first - 5) < 0.11 && turned.pulled && /^Undo: turn elbow/.test(await title()), `${first} ${await value(page, 2)} ${await title()}`);
  await press(page, "Control+z");
  check("are undone at once", close((await posed(page)).locals, start.locals, 0) && !(await posed(page)).pulled && Math.abs(await value(page, 2) - first) < 0.11);
  await press(page, "Control+Shift+z");
  check("and done again", close((await posed(page)).locals, turned.locals, 0));
  await page.getByRole("button", { name: "Reset joint" }).click();
  check("a reset", close((await posed(page)).locals, start.locals, 0));
  await page.getByRole("button", { name: "Undo" }).click();
  await settled(page);
  check("is undone by the button", close((await posed(page)).locals, turned.locals, 0));
  await page.getByRole("button", { name: "Rest", exact: true }).click();
  await settled(page);
  const rest = await posed(page);
  await page.getByRole("button", { name: "Copy" }).first().click();
  await press(page, "Control+z");
  check("the rest pose is undone", close((await posed(page)).locals, turned.locals, 0) && !close(rest.locals, turned.locals, 1e-3));
  await page.getByRole("button", { name: "Paste" }).click();
  await settled(page);
  check("a pose is pasted", close((await posed(page)).locals, rest.locals, 1e-6));
  await press(page, "Control+z");
  check("and that is undone", close((await posed(page)).locals, turned.locals, 0));
  await evaluate(page, () => navigator.clipboard.writeText('{"joints": {"tail": {"rotation": [0, 0, 0, 1]}}}'));
  await page.getByRole("button", { name: "Paste" }).click();
  await said(page, "This character has none of the joints in that pose: tail.").waitFor();
  check("a pose without known joints is refused", close((await posed(page)).locals, turned.locals, 0));
  const { clip, frame } = await get(page);
  await page.locator("#panel-pull .quiet-link").click();
  await settled(page);
  const there = await get(page);
  await press(page, "Control+z");
  const back = await get(page);
  check("the nearest example is left again", (there.clip !== clip || there.frame !== frame) && back.clip === clip && back.frame === frame && close((await posed(page)).locals, turned.locals, 0), JSON.stringify([clip, frame, there.clip, there.frame, back.clip, back.frame]));
  await page.locator("#panel-pull .joint-search").fill("x");
  await page.keyboard.press("Control+z");
  check("a field of text undoes by itself", close((await posed(page)).locals, turned.locals, 0));
  await page.locator("#panel-pull .joint-search").fill("");
  await page.getByRole("button", { name: "Reset all" }).click();
  await settled(page);
}

const away = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

async function reaching(page) {
  await page.locator("#panel-pull .joint-search").fill("shoulder");
  await page.locator("#panel-pull .joint-search").press("Enter");
  await page.getByRole("radio", { name: "Reach" }).click();
  check("where nothing above bends, it is said", /^Reaching needs two bones/.test(await page.locator(".reach .reach-says").textContent()));
  await page.locator("#panel-pull .joint-search").fill("wrist");
  await page.locator("#panel-pull .joint-search").press("Enter");
  await settled(page);
  const start = await posed(page), wrist = await placeOf(page, "wrist"), shoulder = await placeOf(page, "shoulder"), elbow = await placeOf(page, "elbow");
  const bones = [away(shoulder, elbow), away(elbow, wrist)];
  // The arrow along y begins at the joint; its length is TransformControls' formula: 1.9 tan(fov / 2) d * size / 4.
  const grab = await evaluate(page, (at) => {
    const { stage } = globalThis.peltApp, eye = stage.camera, box = stage.element.getBoundingClientRect();
    const long = (1.9 * Math.tan((eye.fov * Math.PI) / 360) * Math.hypot(...at.map((x, i) => x - eye.position.toArray()[i])) * 0.8) / 4;
    return [0.4, 0.2].map((share) => globalThis.look.place("model", [at[0], at[1] + share * long, at[2]])).map(([x, y]) => [box.left + x, box.top + y]);
  }, wrist);
  await page.mouse.move(...grab[0]);
  await page.mouse.down();
  for (let i = 1; i <= 4; i++) await page.mouse.move(grab[0][0] + ((grab[1][0] - grab[0][0]) * i) / 4, grab[0][1] + ((grab[1][1] - grab[0][1]) * i) / 4);
  await page.mouse.up();
  await settled(page);
  const now = await placeOf(page, "wrist"), joint = await placeOf(page, "elbow");
  check("the end of a limb follows the hand along an arrow", now[1] < wrist[1] - 0.005 && Math.abs(now[0] - wrist[0]) < 1e-3 && Math.abs(now[2] - wrist[2]) < 1e-3, JSON.stringify([wrist, now]));
  check("and its bones keep their lengths", close([away(shoulder, joint), away(joint, now)], bones, 1e-4) && close(await placeOf(page, "shoulder"), shoulder, 1e-6));
  check("which is said", await page.locator(".reach .reach-says").textContent() === "reached");
  await press(page, "Control+z");
  check("one drag is one change", close((await posed(page)).locals, start.locals, 0));
  const fields = page.locator(".reach .reach-at"), place = [shoulder[0] - 2, shoulder[1] + 1, shoulder[2]];
  for (let i = 0; i < 3; i++) await fields.nth(i).fill(place[i].toFixed(3));
  await settled(page);
  const missing = away(place, shoulder) - bones[0] - bones[1], words = await page.locator(".reach .reach-says").textContent();
  check("what is out of reach is said, and by how much", Math.abs(Number(/^cannot reach: stays ([\d.]+) away$/.exec(words)?.[1]) - missing) < 0.002, `${words}, ${missing}`);
  const straight = [await placeOf(page, "elbow"), await placeOf(page, "wrist")];
  check("and the limb is straight towards it", Math.abs(away(straight[1], shoulder) - bones[0] - bones[1]) < 1e-4 && Math.abs(away(straight[1], place) - missing) < 0.002);
  await fields.nth(1).press("ArrowDown");
  await settled(page);
  check("arrow keys move it", away(await placeOf(page, "wrist"), straight[1]) > 1e-4);
  await press(page, "Control+z");
  check("typing is undone", close((await posed(page)).locals, start.locals, 0) && !/cannot/.test(await page.locator(".reach .reach-says").textContent()));
  await page.getByRole("radio", { name: "Rings" }).click();
  await page.getByRole("button", { name: "Reset all" }).click();
  await evaluate(page, () => globalThis.peltApp.store.set({ panel: "numbers" }));
}

// A displacement that is added to the shape, of the skin with eigendisplacements.
async function addingByHand(page) {
  const largest = () => evaluate(page, () => { const { positions } = globalThis.peltApp.stage; globalThis.rest ??= positions.slice(); return positions.reduce((most, x, i) => Math.max(most, Math.abs(x - globalThis.rest[i])), 0); });
  await set(page, { skin: 2, panel: "inside" });
  await evaluate(page, () => globalThis.peltApp.settled());
  const slider = page.locator(".shape-row input[type=range]").first();
  await slider.waitFor();
  await largest();
  await slider.focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("PageUp");
  await page.waitForTimeout(200);
  await settled(page);
  const added = await largest();
  await press(page, "Control+z");
  await page.waitForTimeout(100);
  await settled(page);
  check("a displacement is added, and that is undone", added > 1e-4 && await largest() === 0 && Number(await page.locator(".shape-row input[type=range]").first().inputValue()) === 0, `${added} ${await largest()}`);
  await set(page, { skin: 1, panel: "numbers" });
  await evaluate(page, () => globalThis.peltApp.settled());
}

async function skinsComeAndGo(page) {
  await evaluate(page, () => globalThis.peltApp.store.set({ panel: "fit" }));
  await page.locator("#panel-fit input[value=eigen]").check();
  await page.locator("#panel-fit .field", { hasText: "name of the skin" }).locator("input").fill("quick");
  await page.getByRole("button", { name: "Fit", exact: true }).click();
  await page.waitForFunction(() => globalThis.peltApp.subject().character.skins.length === 3 && globalThis.peltApp.store.get().skin === 2, null, { timeout: 30000 });
  await evaluate(page, () => globalThis.peltApp.settled());
  await page.locator("#panel-fit .measured .clip-name").waitFor({ timeout: 30000 });
  await evaluate(page, () => document.activeElement?.blur());
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => globalThis.peltApp.subject().character.skins.length === 2);
  await evaluate(page, () => globalThis.peltApp.settled());
  check("a fit is undone", await skins(page) === "linear,kernel" && (await get(page)).skin === 1 && await evaluate(page, () => globalThis.peltApp.openFile === globalThis.peltApp.skinNow().file));
  await page.keyboard.press("Control+Shift+z");
  await page.waitForFunction(() => globalThis.peltApp.subject().character.skins.length === 3);
  check("and done again", await skins(page) === "linear,kernel,quick" && await evaluate(page, () => globalThis.peltApp.skinNow().name) === "kernel");
  await addingByHand(page);
  await page.locator(".skins tbody tr").first().click();
  await evaluate(page, () => globalThis.peltApp.settled());
  await page.locator(".skins tbody tr").first().focus();
  await page.keyboard.press("Delete");
  await said(page, "linear was removed from the page").waitFor();
  await evaluate(page, () => globalThis.peltApp.settled());
  const now = await evaluate(page, () => [globalThis.peltApp.skinNow().name, globalThis.peltApp.openFile === globalThis.peltApp.skinNow().file, document.querySelector(".skins tbody tr[aria-selected=true]").textContent.startsWith("kernel")]);
  check("a skin is removed, and its neighbour is shown", await skins(page) === "kernel,quick" && now.join() === "kernel,true,true", now.join());
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => globalThis.peltApp.subject().character.skins.length === 3);
  check("and comes back to its place", await skins(page) === "linear,kernel,quick");
  await page.getByRole("button", { name: "Remove" }).waitFor();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save file of kernel" }).click();
  const bytes = await evaluate(page, async () => (await globalThis.peltApp.data.bytes(globalThis.peltApp.skinNow().file)).byteLength);
  check("its file can be saved", readFileSync(await (await saving).path()).length === bytes);
}

// -- The camera ---------------------------------------------------------------------------------------------------------

async function cameras(page) {
  await set(page, { layout: "model", panel: "numbers" });
  const from = await camera(page);
  await press(page, "a");
  const front = await camera(page);
  check("a key looks from the front", close(front.along, [0, 0, 1], 1e-4) && Math.abs(front.distance - from.distance) < 1e-4 * from.distance, JSON.stringify(front));
  check("and the corner says so", await page.getByRole("button", { name: "From the front" }).getAttribute("aria-pressed") === "true");
  await press(page, "a");
  check("then from the side", close((await camera(page)).along, [1, 0, 0], 1e-4));
  await press(page, "Numpad7");
  check("a numeric key looks from above", close((await camera(page)).along, [0, 1, 0], 1e-4));
  await page.getByRole("button", { name: "From the back" }).click();
  await settled(page);
  check("the corner takes presses", close((await camera(page)).along, [0, 0, -1], 1e-4));
  await page.getByRole("button", { name: "From the front" }).focus();
  await page.keyboard.press("ArrowRight");
  await press(page, "Enter");
  check("and keys", close((await camera(page)).along, [1, 0, 0], 1e-4));
  // Without perspective depth does not matter; with it, it does.
  const depth = () => evaluate(page, () => { const { target } = globalThis.peltApp.stage, [x, y, z] = target.toArray(); return [-0.2, 0, 0.2].map((d) => globalThis.look.place("model", [x + d, y + 0.3, z])[1]); });
  const deep = await depth();
  await press(page, "o");
  const flat = await depth();
  check("without perspective near and far are as large", (await camera(page)).flat && Math.abs(flat[0] - flat[2]) < 1e-3 && Math.abs(deep[0] - deep[2]) > 3 && Math.abs(flat[1] - deep[1]) < 0.5, JSON.stringify({ deep, flat }));
  const size = (await camera(page)).distance;
  await page.mouse.move(...await evaluate(page, () => { const box = globalThis.peltApp.stage.element.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; }));
  await page.mouse.wheel(0, -400);
  await page.waitForTimeout(100);
  await settled(page);
  const wheeled = await depth();
  check("the wheel makes it larger", (await camera(page)).distance < 0.9 * size && wheeled[1] < flat[1] - 3, JSON.stringify([size, await camera(page), wheeled]));
  await press(page, "o");
  const again = await depth();
  check("and perspective is back at the same size", Math.abs(again[1] - wheeled[1]) < 0.5 && !(await camera(page)).flat, JSON.stringify([again, wheeled]));
  await press(page, "f");
  // Under the character nothing is drawn unless there is a ground.
  const box = await evaluate(page, () => globalThis.look.pane("model")), low = [box[0], box[1] + box[3] * 0.8, box[2], box[3] * 0.2];
  const pixels = () => evaluate(page, (at) => globalThis.look.covered(globalThis.look.picture(...at)), low);
  const without = await pixels();
  await press(page, "g");
  const withGround = await pixels();
  check("a key shows the ground", withGround > without + 100, `${without} ${withGround}`);
  check("and it is remembered", await evaluate(page, () => localStorage.getItem("pelt-ground")) === null && await page.getByRole("button", { name: "Ground" }).getAttribute("aria-pressed") === "true");
  await page.getByRole("button", { name: "Ground" }).click();
  check("a button hides it", await pixels() === without && await evaluate(page, () => localStorage.getItem("pelt-ground")) === "off");
}

async function splitting(page, url) {
  const wide = () => evaluate(page, () => Math.round(document.querySelector(".side").getBoundingClientRect().width));
  const line = page.getByRole("separator", { name: "Width of the panels" }), box = await line.boundingBox(), usual = await wide();
  await page.mouse.move(box.x + box.width / 2, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x - 60, box.y + 210, { steps: 3 });
  await page.mouse.up();
  check("the panels are dragged wider", Math.abs(await wide() - (SIZE.width - box.x + 60)) <= 1 && await wide() > usual + 50, `${usual} ${await wide()}`);
  await line.press("ArrowLeft");
  const chosen = await wide();
  check("keys do the same", chosen === Math.round(SIZE.width - box.x + 60) + 16 && Number(await line.getAttribute("aria-valuenow")) === chosen, chosen);
  await line.press("End");
  check("to the narrowest", await wide() === 280);
  await line.press("PageUp");
  const kept = await wide();
  await opened(page, url);
  await page.waitForFunction(() => globalThis.peltApp.skin());
  check("and it is remembered", await wide() === kept && kept === 360, kept);
  await line.dblclick();
  check("a double click takes it back", await wide() === usual);
}

// -- Elsewhere ----------------------------------------------------------------------------------------------------------

async function pictures(page) {
  await set(page, { layout: "side", skin: 0 });
  await page.keyboard.press("s");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save a picture, 2× the size" }).click();
  const file = await saving, png = readFileSync(await file.path());
  const stage = await evaluate(page, () => [globalThis.peltApp.stage.element.clientWidth, globalThis.peltApp.stage.element.clientHeight]);
  check("a picture has twice the size", png.toString("latin1", 1, 4) === "PNG" && png.readUInt32BE(16) === 2 * stage[0] && png.readUInt32BE(20) === 2 * stage[1] && /^arm-linear-test-\d+\.png$/.test(file.suggestedFilename()), `${file.suggestedFilename()} ${png.readUInt32BE(16)} ${stage}`);
  const seen = await evaluate(page, async (base64) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type: "image/png" }));
    const pen = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d", { willReadFrequently: true });
    pen.drawImage(bitmap, 0, 0);
    const at = (x, y) => [...pen.getImageData(x, y, 1, 1).data];
    const { vertex, position } = globalThis.look.frontVertex();
    const [x, y] = globalThis.look.place("model", position);
    const one = globalThis.look.pixels(Math.floor(x), Math.floor(y), 1, 1);
    const area = pen.getImageData(0, 0, 400, 60).data;
    let words = 0;
    for (let i = 0; i < area.length; i += 4) if (area[i] + area[i + 1] + area[i + 2] > 250) words++;
    return { corner: at(4, bitmap.height - 4), there: at(Math.floor(2 * x), Math.floor(2 * y)), one, vertex, words };
  }, png.toString("base64"));
  check("on the ground of the page", close(seen.corner, [20, 23, 27, 255], 1), seen.corner.join());
  check("with what is drawn", close(seen.there, seen.one, 24) && seen.there[0] > 60, JSON.stringify(seen));
  check("and the titles of its panes", seen.words > 60, seen.words);
}

async function movies(page) {
  await set(page, { speed: 2, frame: 3, layout: "model" });
  const saving = page.waitForEvent("download", { timeout: 60000 });
  await page.getByRole("button", { name: "Record" }).click();
  const file = await saving, movie = readFileSync(await file.path());
  check("a movie is WebM", file.suggestedFilename().endsWith(".webm") && movie.readUInt32BE(0) === 0x1a45dfa3 && movie.length > 5000, `${file.suggestedFilename()} ${movie.length}`);
  check("and the frame of before is back", (await get(page)).frame === 3);
  await page.keyboard.press("Escape");
}

async function links(page, url, browser) {
  await set(page, { layout: "model", skin: 1, frame: 10, shading: "normals", speed: 1 });
  await press(page, "j");
  await page.locator("#panel-pull .joint-search").fill("elbow");
  await page.locator("#panel-pull .joint-search").press("Enter");
  await page.locator("#panel-pull .exact").nth(2).fill("33");
  await settled(page);
  await press(page, "Escape");
  await evaluate(page, () => { document.activeElement?.blur(); globalThis.peltApp.stage.turn(0.4, 0.2); });
  await page.getByRole("button", { name: "Picture, movie, link" }).click();
  await page.locator(".share").getByRole("button", { name: "Copy" }).click();
  const link = await evaluate(page, () => navigator.clipboard.readText());
  const key = new URL(url).hash.slice(1);
  check("a link says what is seen, and not the key", link.startsWith(`${new URL(url).origin}/#subject=arm&skin=kernel&clip=test&frame=11&layout=model`) && !link.includes(key) && key.length === 32, link);
  const before = { state: await get(page), pose: await posed(page), camera: await camera(page) };
  const same = async (other) => {
    const state = await get(other), now = await camera(other), pose = await posed(other);
    return ["subject", "skin", "clip", "frame", "layout", "shading"].every((name) => state[name] === before.state[name]) && close(now.position, before.camera.position, 1e-4)
      && close(now.target, before.camera.target, 1e-4) && pose.pulled && close(pose.locals, before.pose.locals, 1e-5);
  };
  const other = await page.context().newPage();
  await opened(other, link);
  await other.waitForFunction(() => globalThis.peltApp.pose.pulled, null, { timeout: 20000 });
  await evaluate(other, () => globalThis.peltApp.settled());
  check("another tab shows the same, and has the key from the first", await same(other) && !other.url().includes("#"), JSON.stringify([await get(other), await camera(other), before.camera]));
  await set(other, { frame: 2, layout: "side" });
  await evaluate(other, (address) => { location.hash = new URL(address).hash; }, link);
  await other.waitForFunction(() => globalThis.peltApp.store.get().frame === 10 && globalThis.peltApp.pose.pulled);
  await evaluate(other, () => globalThis.peltApp.settled());
  await other.waitForTimeout(100);
  check("a link opened in a tab changes what it shows", await same(other));
  await other.close();
  const { page: stranger } = await openPage(browser, url, SIZE);
  await stranger.goto(link);
  await said(stranger, "the key is missing or wrong").waitFor();
  check("who has no tab with the key gets a sentence", await evaluate(stranger, () => globalThis.peltApp.show === null));
  await evaluate(stranger, (hash) => { location.hash = hash; }, `${key}&${link.split("#")[1]}`);
  await stranger.waitForFunction(() => globalThis.peltApp?.pose.pulled && globalThis.peltApp.store.get().frame === 10);
  check("an address with the key and a link opens both", !stranger.url().includes("#"), stranger.url());
  await stranger.context().close();
}

// -- Browsers that lack something ---------------------------------------------------------------------------------------

async function lacking(browser, url) {
  const context = await browser.newContext({ viewport: SIZE });
  await context.addInitScript(() => {
    const { getContext } = HTMLCanvasElement.prototype;
    HTMLCanvasElement.prototype.getContext = function (kind, ...more) { return kind.startsWith("webgl") ? null : getContext.call(this, kind, ...more); };
    delete globalThis.MediaRecorder;
  });
  const page = await context.newPage();
  await opened(page, url);
  await page.waitForFunction(() => globalThis.peltApp.skin());
  await page.waitForFunction(() => !document.querySelector(".skins td.waiting") && document.querySelectorAll(".curve").length > 1, null, { timeout: 20000 });
  const rows = await page.locator(".skins tbody tr").allTextContents();
  check("without WebGL a sentence says so", /WebGL 2 is missing/.test(await page.locator(".no-picture").textContent()) && await page.locator(".no-picture").isVisible());
  check("and the table and curves are there", rows.length === 3 && rows[0].startsWith("linear") && /\d\.\d/.test(rows[1]), rows.join("|"));
  await page.keyboard.press("j");
  await page.locator("#panel-pull .joint-search").fill("elbow");
  await page.locator("#panel-pull .joint-search").press("Enter");
  await page.locator("#panel-pull .exact").nth(2).fill("20");
  await evaluate(page, () => globalThis.peltApp.settled());
  check("and joints can be pulled", (await posed(page)).pulled);
  await evaluate(page, () => document.activeElement.blur());
  await page.keyboard.press("s");
  check("there is nothing to save, and no recorder", await page.getByRole("button", { name: "Save a picture, 1×" }).isDisabled() && /cannot record movies/.test(await page.locator(".share").textContent()));
  await page.keyboard.press("Escape");
  await page.getByRole("radio", { name: "WebGL 2" }).click();
  await said(page, "WebGL 2 cannot be used here").waitFor();
  await context.close();
}

// -- Normal maps --------------------------------------------------------------------------------------------------------

function crc(bytes) {
  if (nodeCrc) return nodeCrc(bytes);
  let sum = 0xffffffff;
  for (const byte of bytes) for (let k = 0, c = (sum = sum ^ byte); k < 8; k++) sum = c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return (sum ^ 0xffffffff) >>> 0;
}

// A PNG of one colour.
function png([r, g, b]) {
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name, "latin1"), data]), out = Buffer.alloc(8 + body.length);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc(body), 4 + body.length);
    return out;
  };
  const head = Buffer.from([0, 0, 0, 4, 0, 0, 0, 4, 8, 2, 0, 0, 0]), row = Buffer.concat([Buffer.of(0), Buffer.concat(Array(4).fill(Buffer.of(r, g, b)))]);
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.concat(Array(4).fill(row)))), chunk("IEND", Buffer.alloc(0))]);
}

// A square that faces +z, u along x and v along -y, with a normal map of one colour.
function square(file, colour) {
  const floats = Float32Array.of(-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0, ...[0, 1, 2, 3].flatMap(() => [0, 0, 1]), 0, 1, 1, 1, 1, 0, 0, 0);
  const image = png(colour), pad = Buffer.alloc((4 - (image.length % 4)) % 4);
  const bin = Buffer.concat([Buffer.from(floats.buffer), Buffer.from(Uint16Array.of(0, 1, 2, 0, 2, 3).buffer), image, pad]);
  const json = { asset: { version: "2.0" }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0, name: "square" }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0, NORMAL: 1, TEXCOORD_0: 2 }, indices: 3, material: 0 }] }],
    materials: [{ pbrMetallicRoughness: { baseColorFactor: [0.5, 0.5, 0.5, 1] }, normalTexture: { index: 0 } }], textures: [{ source: 0 }], images: [{ bufferView: 4, mimeType: "image/png" }],
    accessors: [{ bufferView: 0, componentType: 5126, count: 4, type: "VEC3", min: [-1, -1, 0], max: [1, 1, 0] }, { bufferView: 1, componentType: 5126, count: 4, type: "VEC3" },
      { bufferView: 2, componentType: 5126, count: 4, type: "VEC2" }, { bufferView: 3, componentType: 5123, count: 6, type: "SCALAR" }],
    bufferViews: [[0, 48], [48, 48], [96, 32], [128, 12], [140, image.length]].map(([byteOffset, byteLength]) => ({ buffer: 0, byteOffset, byteLength })), buffers: [{ byteLength: bin.length }] };
  const text = Buffer.from(JSON.stringify(json).padEnd(Math.ceil(JSON.stringify(json).length / 4) * 4)), head = Buffer.alloc(12), parts = [];
  for (const [kind, body] of [[0x4e4f534a, text], [0x004e4942, bin]]) {
    const top = Buffer.alloc(8);
    top.writeUInt32LE(body.length, 0);
    top.writeUInt32LE(kind, 4);
    parts.push(top, body);
  }
  head.write("glTF", 0, "latin1");
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(12 + parts.reduce((sum, part) => sum + part.length, 0), 8);
  writeFileSync(file, Buffer.concat([head, ...parts]));
}

// The light of surface.ts on a normal n, seen along +z without perspective, of a grey of 0.5.
function shade(n) {
  const unit = (v) => v.map((x) => x / Math.hypot(...v)), dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0), lamp = unit([0.45, 0.65, 0.75]);
  const key = Math.max(0, dot(n, lamp)), fill = Math.max(0, dot(n, unit([-0.8, -0.1, 0.5]))), sky = 0.5 + 0.5 * n[1], rim = (1 - Math.max(n[2], 0)) ** 4;
  const mirrored = n.map((x, i) => 2 * dot(n, lamp) * x - lamp[i]), glint = Math.max(0, mirrored[2]) ** 24 * 0.05;
  return [[1, 0.72], [0.97, 0.82], [0.93, 1]].map(([warm, cool]) => {
    const x = 0.5 * (warm * key * 0.72 + cool * (fill * 0.2 + 0.08 + 0.2 * sky)) + glint + rim * 0.06;
    return 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
  });
}

async function bumps(browser) {
  const normals = [[0, 0, 1], [0.6, 0, 0.8], [0, 0.6, 0.8], [-0.6, 0, 0.8]], files = normals.map((_, i) => join(folder, `square${i}.glb`));
  normals.forEach((n, i) => square(files[i], n.map((x) => Math.round(127.5 + 127.5 * x))));
  const made = normals.map((n) => n.map((x) => (2 * Math.round(127.5 + 127.5 * x)) / 255 - 1)).map((n) => n.map((x) => x / Math.hypot(...n)));
  const { url, server } = await serve(files);
  const { page, complaints } = await openPage(browser, url, SIZE);
  await opened(page, url);
  for (const [i, n] of made.entries()) {
    await evaluate(page, (at) => globalThis.peltApp.openWhole(at), i);
    await set(page, { shading: "textures", flat: true });
    await page.waitForFunction(() => globalThis.peltApp.stage.dressed);
    // A character without clips has no truth and no skin: it is drawn as the model once there is one; here its rest stands for it.
    await evaluate(page, () => { globalThis.peltApp.stage.setTruth(globalThis.peltApp.stage.mesh.positions.slice()); globalThis.peltApp.stage.viewFrom([0, 0, 1]); });
    await settled(page);
    const seen = await evaluate(page, () => { const [x, y] = globalThis.look.place("truth", [0.3, 0.2, 0]); return globalThis.look.pixels(Math.round(x), Math.round(y), 1, 1); });
    const expected = shade(n);
    check(`a normal map turns the normal to ${n.map((x) => x.toFixed(2))}`, close(seen.slice(0, 3), expected, 4), `${seen} ${expected.map(Math.round)}`);
  }
  check("nothing to complain of normal maps", complaints.length === 0, complaints.join("; "));
  await page.context().close();
  server.removeAllListeners("exit");
  server.kill("SIGINT");
}

// -- The static page ----------------------------------------------------------------------------------------------------

async function exported(browser) {
  const site = join(folder, "commands/site"), types = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm", json: "application/json", svg: "image/svg+xml" };
  const server = createServer((request, answer) => {
    const path = request.url === "/" ? "/index.html" : request.url.split("?")[0];
    try {
      const bytes = readFileSync(join(site, path));
      answer.writeHead(200, { "Content-Type": types[path.split(".").pop()] ?? "application/octet-stream" }).end(bytes);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/#subject=arm&clip=train&frame=5&layout=model`;
  const { page, complaints } = await openPage(browser, url, SIZE);
  await opened(page, url);
  await page.waitForFunction(() => globalThis.peltApp.skin() && globalThis.peltApp.store.get().frame === 4);
  check("an export opens links without a key", (await get(page)).clip === 0 && (await get(page)).layout === "model");
  check("and does not offer what needs the server", await page.getByRole("button", { name: "Remove" }).isHidden() && await page.locator(".welcome").isHidden() && await page.getByRole("button", { name: "Save file" }).isVisible());
  check("nothing to complain of the export", complaints.length === 0, complaints.join("; "));
  await page.context().close();
  server.close();
}

// -- All of it ----------------------------------------------------------------------------------------------------------

const browser = await launch();
const { url, server } = await serve([]);
try {
  const { page, complaints } = await openPage(browser, url, SIZE);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await opened(page, url);
  await firstScreen(page);
  await finding(page);
  await hovering(page);
  await undoing(page);
  await reaching(page);
  await skinsComeAndGo(page);
  await cameras(page);
  await splitting(page, url);
  await pictures(page);
  await movies(page);
  await links(page, url, browser);
  check("the browser had nothing to complain of", complaints.every((text) => /422|404/.test(text)), complaints.join("; ")); // what was refused
  await lacking(browser, url);
  await bumps(browser);
  await exported(browser);
} finally {
  server.removeAllListeners("exit");
  server.kill("SIGINT");
  await browser.close();
}
console.log(failed ? `${failed} checks failed` : "all checks passed");
process.exitCode = failed ? 1 : 0;
