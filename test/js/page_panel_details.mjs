// page_panel_details.mjs: the panels in numbers and words: lists, sliders, bars, strips and forms, each against a formula of its
// own or the program's files. Called by page_panels.mjs, whose context and helpers these share.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const close = (a, b, most = 1e-6) => a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) <= most);
const text = (page, selector) => page.locator(selector).first().textContent();
const settled = (page) => page.evaluate(async () => {
  const app = globalThis.peltApp;
  for (let i = 0; i < 400 && (i < 2 || app.busy || app.deforming); i++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 10)));
});
const store = (page) => page.evaluate(() => ({ ...globalThis.peltApp.store.get() }));
const set = async (page, change) => {
  await page.evaluate((values) => globalThis.peltApp.store.set(values), change);
  await settled(page);
};

// -- Pulling ----------------------------------------------------------------------------------------------------------

export async function pullDetails({ page, check, openSubject }) {
  await openSubject(page, "character arm");
  await set(page, { layout: "side", panel: "numbers" });
  await set(page, { panel: "pull" });
  const layouts = [(await store(page)).layout];
  await set(page, { panel: "numbers" });
  layouts.push((await store(page)).layout);
  check("pulling shows the model alone, as long as it is open", same(layouts, ["model", "side"]), layouts.join());
  await set(page, { panel: "pull" });

  const joints = await page.evaluate(() => globalThis.peltApp.character().joints.map(({ name, parent, rest }) => ({ name, parent, along: rest.translation })));
  const list = page.locator("#panel-pull .joint-list"), picked = () => page.evaluate(() => {
    const chosen = [...document.querySelectorAll("#panel-pull .joint-list li")].map((one, i) => (one.getAttribute("aria-selected") === "true" ? i : -1)).filter((i) => i >= 0);
    const active = document.getElementById(document.querySelector("#panel-pull .joint-list").getAttribute("aria-activedescendant"));
    return [...chosen, active ? [...active.parentElement.children].indexOf(active) : "none"].join();
  });
  check("joints are indented by their depth", same(await page.locator("#panel-pull .joint-list li").evaluateAll((items) => items.map((item) => `${item.textContent} ${item.style.getPropertyValue("--depth")}`)),
    joints.map(({ name }, j) => { let depth = 0; for (let p = joints[j].parent; p >= 0; p = joints[p].parent) depth++; return `${name} ${depth}`; })));
  await page.locator("#panel-pull .joint-search").fill("");
  await list.focus();
  const went = [], last = joints.length - 1;
  for (const key of ["Home", "ArrowUp", "ArrowDown", "End", "ArrowDown", "ArrowUp"]) {
    await page.keyboard.press(key);
    went.push(await picked());
  }
  check("keys go through the list", same(went, [0, 0, 1, last, last, last - 1].map((j) => `${j},${j}`)), went.join(" "));
  const elbow = joints.findIndex(({ name }) => name === "elbow");
  await page.keyboard.press("Home");
  check("the first joint has angles too", await page.locator("#panel-pull .turning").isVisible() && await text(page, "#panel-pull .picked-joint") === joints[0].name);
  await page.locator("#panel-pull .joint-search").fill(" elb");
  check("a search narrows the list", await page.locator("#panel-pull .joints.narrowed").count() === 1 && await page.locator("#panel-pull .joint-list li:visible").count() === 1);
  await page.locator("#panel-pull .joint-search").press("Enter");
  check("and Enter takes what is found", await picked() === `${elbow},${elbow}` && await text(page, "#panel-pull .picked-joint") === "elbow", await picked());
  await page.locator("#panel-pull .joint-search").fill("");
  check("which ends with the search", await page.locator("#panel-pull .joints.narrowed").count() === 0);
  const white = () => page.evaluate(() => {
    const colours = globalThis.peltApp.stage.overlay.getObjectByName("skeleton").children[0].instanceColor.array;
    return Array.from({ length: colours.length / 3 }, (_, i) => colours.slice(3 * i, 3 * i + 3).every((x) => x === 1)).filter(Boolean).length;
  });
  await page.locator("#panel-pull .joint-list li").nth(elbow - 1).hover();
  const hovered = [await white()];
  await page.mouse.move(5, 5);
  hovered.push(await white());
  check("the joint under the pointer is white in the scene", hovered[0] > 0 && hovered[1] === 0, hovered.join());

  // The elbow's range in training, from its poses: q = rest^-1 local is a rotation about z.
  await page.getByRole("button", { name: "Rest", exact: true }).click();
  await settled(page);
  const seen = await page.evaluate(async () => {
    const { test, peltApp: app } = globalThis, { clips, joints, skins } = app.character(), at = 10 * test.jointNumber("elbow"), [x, y, z, w] = joints[test.jointNumber("elbow")].rest.rotation;
    const examples = [];
    for (const clip of clips.filter(({ name }) => skins[0].facts.clips.includes(name))) {
      const poses = await app.data.floats(clip.poses);
      for (let f = 0; f < clip.frames; f++) {
        const [a, b, c, d] = poses.slice(10 * joints.length * f + at, 10 * joints.length * f + at + 4);
        const q = [w * a - x * d - y * c + z * b, w * b + x * c - y * d - z * a, w * c - x * b + y * a - z * d, w * d + x * a + y * b + z * c];
        examples.push({ clip: clips.indexOf(clip), frame: f, degrees: (2 * Math.atan2(q[2], q[3]) * 180) / Math.PI, off: Math.hypot(q[0], q[1]) });
      }
    }
    return examples;
  });
  const least = Math.min(0, ...seen.map(({ degrees }) => degrees)), most = Math.max(0, ...seen.map(({ degrees }) => degrees)), more = Math.max(30, (most - least) / 2);
  const sliders = await page.locator("#panel-pull .turning .range-row").evaluateAll((rows) => rows.map((row) => ({ name: row.querySelector(".range-name").textContent, title: row.querySelector("input").title, least: Number(row.querySelector("input").min), most: Number(row.querySelector("input").max),
    from: parseFloat(row.style.getPropertyValue("--seen-from")), to: parseFloat(row.style.getPropertyValue("--seen-to")) })));
  const child = joints.find(({ parent }) => parent === elbow), bone = child.along.map(Math.abs).indexOf(Math.max(...child.along.map(Math.abs)));
  check("angles are called twist and swing", same(sliders.map(({ name }) => name), ["x", "y", "z"].map((axis, i) => `${i === bone ? "twist" : "swing"} ${axis}`)), JSON.stringify(sliders));
  const [low, high] = [Math.max(-180, least - more), Math.min(180, most + more)];
  check("a slider shows what was seen, and as much again", close([sliders[2].least, sliders[2].most, sliders[2].from, sliders[2].to], [low, high, (100 * (least - low)) / (high - low) - 0.5, (100 * (most - low)) / (high - low) + 0.5], 0.05) && close([sliders[0].least, sliders[0].most], [-30, 30], 0.5)
    && sliders[2].title === `seen: ${least.toFixed(0)} to ${most.toFixed(0)} °`, JSON.stringify([sliders, least, most]));
  const field = page.locator("#panel-pull .exact").nth(2), row = page.locator("#panel-pull .turning .range-row").nth(2);
  await set(page, { playing: true });
  await field.fill("500");
  await settled(page);
  const turnedTo = () => page.evaluate(() => {
    const { test, peltApp: app } = globalThis, at = 10 * test.jointNumber("elbow"), rest = test.rest().slice(at, at + 4), now = app.pose.locals.slice(at, at + 4);
    return (2 * Math.acos(Math.min(1, Math.abs(rest.reduce((sum, x, i) => sum + x * now[i], 0)))) * 180) / Math.PI;
  });
  const half = [await turnedTo(), await row.getAttribute("class"), (await store(page)).playing];
  check("half a turn is the most, far beyond, and stops the clip", close([half[0]], [180], 0.1) && half[1].includes("beyond") && !half[2], half.join());
  await field.fill("");
  await settled(page);
  check("an empty field changes nothing", close([await turnedTo()], [180], 0.1));
  await page.locator("#panel-pull .turning input[type=range]").nth(2).fill("12.5");
  await settled(page);
  check("a drag of the slider turns the joint", close([await turnedTo()], [12.5], 0.05) && await field.inputValue() === "12.5", await field.inputValue());
  const target = Math.round(most / 2);
  await field.fill(String(target));
  await page.locator("#panel-pull .turning input[type=range]").nth(2).focus();
  await page.keyboard.press("PageUp");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("ArrowDown");
  await settled(page);
  check("pages are ten degrees", close([await turnedTo()], [target - 1], 0.05) && !(await row.getAttribute("class")).includes("beyond") && await field.inputValue() === String(target - 1), `${await turnedTo()} ${target}`);
  check("a changed pose has no truth, and the picture says so", (await text(page, ".pane-title")).includes("pose changed, no truth"));
  await set(page, { panel: "numbers" });
  check("as do the numbers", await text(page, "#panel-numbers .hint") === "The pose was changed, so there is no truth for it.");
  await set(page, { panel: "pull" });
  const nearest = seen.reduce((best, one) => (Math.abs(one.degrees - target + 1) < Math.abs(best.degrees - target + 1) ? one : best));
  const words = await text(page, "#panel-pull .quiet-link");
  check("the nearest example is told", words === `nearest example: ${Math.abs(nearest.degrees - target + 1).toFixed(1)}° away` || seen.some(({ off }) => off > 1e-3), `${words} ${JSON.stringify(nearest)}`);
  await page.locator("#panel-pull .quiet-link").click();
  await settled(page);
  const { clip, frame } = await store(page);
  check("and shown at a press", clip === nearest.clip && Math.abs(seen.find((one) => one.clip === clip && one.frame === frame).degrees - nearest.degrees) < 1e-3 && await page.evaluate(() => !globalThis.peltApp.pose.pulled), `${clip} ${frame}`);
  const handles = () => page.evaluate(() => globalThis.peltApp.stage.overlay.children.some((one) => one.isTransformControlsRoot && one.visible));
  const shown = [await handles()];
  await page.getByRole("radio", { name: "None" }).click();
  shown.push(await handles());
  await page.getByRole("radio", { name: "Rings" }).click();
  shown.push(await handles());
  check("handles can be taken away", same(shown, [true, false, true]), shown.join());

  // The clipboard, and a field where the browser blocks it.
  const message = async () => (await page.locator(".message p").allTextContents()).at(-1);
  const half90 = [0, 0, Math.SQRT1_2, Math.SQRT1_2];
  await page.evaluate((q) => navigator.clipboard.writeText(JSON.stringify({ joints: { nose: {}, elbow: { rotation: q } }, controls: { x: 1 } })), half90);
  await page.getByRole("button", { name: "Paste", exact: true }).click();
  await page.getByText("Left out, because this character does not have them: nose, x").waitFor({ timeout: 5000 });
  const elbowNow = () => page.evaluate(() => [...globalThis.peltApp.pose.locals.slice(10 * globalThis.test.jointNumber("elbow"), 10 * globalThis.test.jointNumber("elbow") + 4)]);
  check("a pose of another character is taken as far as it goes", close(await elbowNow(), half90, 1e-6));
  await page.evaluate(() => ["readText", "writeText"].forEach((name) => Object.defineProperty(navigator.clipboard, name, { value: () => Promise.reject(new Error("no")), configurable: true })));
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.locator(".pose-text").waitFor();
  const kept = await page.locator(".pose-text").inputValue();
  check("without a clipboard the text is there to copy", JSON.parse(kept).joints.elbow.rotation.length === 4 && /Copy the pose from the field/.test(await message()), kept);
  await page.getByRole("button", { name: "Reset all" }).click();
  check("and goes away again", await page.locator(".pose-text").isHidden());
  await page.getByRole("button", { name: "Paste", exact: true }).click();
  await page.locator(".pose-text").waitFor();
  await page.keyboard.type("j");
  check("or a field to paste into", await page.locator(".pose-text").inputValue() === "j" && /Paste the pose into the field/.test(await message()));
  await page.locator(".pose-text").fill(kept);
  await page.locator(".pose-text").blur();
  await settled(page);
  check("which takes the pose", close(await elbowNow(), half90, 1e-6) && await page.locator(".pose-text").isHidden());
  await page.evaluate(() => ["readText", "writeText"].forEach((name) => delete navigator.clipboard[name]));
  await page.getByRole("button", { name: "Reset joint" }).click();
  check("one joint goes back to the clip", await page.evaluate(() => { const { locals, clip } = globalThis.peltApp.pose, at = 10 * globalThis.test.jointNumber("elbow"); return locals.slice(at, at + 4).every((x, i) => x === clip[at + i]); }));
  await page.getByRole("button", { name: "Reset all" }).click();
  await page.evaluate(() => document.querySelectorAll(".message .plain").forEach((button) => button.click())); // those that have not gone by themselves
  await openSubject(page, "character biceps");
  const turning = page.locator("#panel-pull .turning");
  check("angles wait for a joint", await turning.isHidden());
  const fromClip = await page.evaluate(async () => {
    const app = globalThis.peltApp, clip = app.character().clips.findIndex(({ controls }) => controls), wrong = [];
    for (const frame of [0, 3, 9]) {
      app.store.set({ clip, frame });
      while (app.busy || app.deforming) await new Promise((done) => setTimeout(done, 10));
      wrong.push(app.pose.controls[0] - (await app.data.floats(app.character().clips[clip].controls))[frame]);
    }
    return { wrong, values: app.pose.controls[0] };
  });
  check("the controls are those of the frame", fromClip.wrong.every((x) => x === 0), JSON.stringify(fromClip));
  const control = await page.evaluate(() => { const { least: l, most: m } = globalThis.peltApp.character().controls[0], input = document.querySelector("#panel-pull .controls input[type=range]"); return [(Number(input.min) - l) / (m - l), (Number(input.max) - m) / (m - l)]; });
  check("a control goes a quarter beyond its range", close(control, [-0.25, 0.25], 1e-6), control.join());
  const wide = page.locator("#panel-pull .controls .exact");
  await wide.fill("1000");
  await settled(page);
  check("and at most as far again by its field", await page.evaluate(() => { const { least: l, most: m } = globalThis.peltApp.character().controls[0]; return Math.abs(globalThis.peltApp.pose.controls[0] - (2 * m - l)) < 1e-5; }));
  const pulled = () => page.evaluate(() => globalThis.peltApp.pose.pulled), before = [await pulled()];
  await openSubject(page, "^face");
  check("what was pulled is forgotten with its character", same([...before, await pulled()], [true, false]));
}

// -- Inside -----------------------------------------------------------------------------------------------------------

export async function insideDetails({ page, check, openSubject, useSkin }) {
  const words = () => text(page, "#panel-inside .painted-words"), paint = async (value) => {
    await page.locator(`#panel-inside .segment[data-value=${value}]`).click();
    await page.waitForTimeout(60);
    await settled(page);
    return words();
  };
  const painted = () => page.evaluate(() => globalThis.peltApp.stage.painted);
  await set(page, { panel: "inside" });
  await openSubject(page, "character humanoid");
  await page.getByText("This skin is a plain blend: it has no corrective").waitFor({ timeout: 5000 });
  check("a plain blend says that it has nothing inside", await page.getByText("This skin has no coefficients that depend on the pose.").isVisible() && (await page.locator("#panel-inside").textContent()).includes("This skin has none: --blend joints adds them.") && await page.locator("#panel-inside canvas.bars").isHidden());
  const said = [await paint("nothing"), await painted(), await paint("weights"), await painted(), await paint("support"), await paint("supports")];
  check("and what to do", same(said, ["", false, "Select a joint in the scene or in the list.", false, "This skin has no supports.", "This skin has no supports."]), said.join("; "));
  await page.locator("#panel-inside .joint-list").focus();
  for (const key of ["End", "Home"]) {
    await page.keyboard.press(key);
    const [item, list] = await page.evaluate(() => [".joint-list [aria-selected=true]", ".joint-list"].map((name) => { const { top, bottom } = document.querySelector(`#panel-inside ${name}`).getBoundingClientRect(); return [top, bottom]; }));
    check("the list scrolls to the picked joint, and no farther", item[0] >= list[0] - 1 && item[1] <= list[1] + 1 && (key === "Home" ? item[0] - list[0] : list[1] - item[1]) < 12, `${key} ${item} in ${list}`);
  }
  await openSubject(page, "character arm");
  await useSkin(page, "eigen");
  await paint("nothing");
  await page.waitForFunction(() => document.querySelectorAll("#panel-inside .shape-row").length > 0);
  const told = await page.evaluate(async () => {
    const { test, peltApp: app } = globalThis, character = app.character(), skin = app.skin(), pose = skin.createPose(), { facts, inside } = character.skins[app.store.get().skin];
    const least = new Float32Array(skin.coefficientCount), most = new Float32Array(skin.coefficientCount);
    for (const clip of character.clips.filter(({ name }) => facts.clips.includes(name))) {
      const poses = await app.data.floats(clip.poses);
      for (let f = 0; f < clip.frames; f++) {
        skin.joints.forEach(({ name }, j) => { for (let i = 0; i < 10; i++) pose.locals[10 * j + i] = poses[10 * (f * character.joints.length + test.jointNumber(name)) + i]; });
        pose.update();
        pose.coefficients.forEach((x, i) => { least[i] = Math.min(least[i], x); most[i] = Math.max(most[i], x); });
      }
    }
    pose.free();
    return { least: [...least], most: [...most], supports: (await app.data.json(inside)).supports, now: [...app.posed().coefficients] };
  });
  const count = told.now.length, { supports } = told;
  check("supports are listed with their points", same(await page.locator("#panel-inside select option").allTextContents(), supports.map(({ name, points }) => `${name} (${points} points)`)));
  check("all supports can be painted", await paint("supports") === `${supports.length} supports, each in its own colour` && await painted());
  await page.locator("#panel-inside select").selectOption("0");
  await page.waitForTimeout(60);
  check("or one, which picks its joint", await words() === `${supports[0].name} displaces ${supports[0].points} points; 1 is its largest displacement` && await text(page, "#panel-inside .joint-list [aria-selected=true]") === supports[0].name, await words());
  await page.waitForFunction(() => Number(document.querySelector("#panel-inside .shape-row input").max) !== 1);
  const rows = await page.locator("#panel-inside .shape-row").evaluateAll((list) => list.map((row) => ({ least: Number(row.querySelector("input").min), most: Number(row.querySelector("input").max), share: parseFloat(row.querySelector(".sigma").style.getPropertyValue("--share")),
    name: row.querySelector(".range-name").textContent, label: row.querySelector("input").getAttribute("aria-label"), field: Number(row.querySelector(".exact").max) })));
  const wanted = supports[0].coefficients.slice(0, 24).map((c, k) => ({ reach: 1.5 * Math.max(Math.abs(told.least[c]), Math.abs(told.most[c])), share: (100 * supports[0].singular_values[k]) / supports[0].singular_values[0], k }));
  check("sliders reach half as far again as training", rows.length === wanted.length && rows.every((row, k) => close([row.least, row.most, row.field / 4], [-wanted[k].reach, wanted[k].reach, wanted[k].reach], 1e-4 * wanted[k].reach) && Math.abs(row.share - wanted[k].share) < 0.01
    && row.name === String(k + 1) && row.label === `displacement ${k + 1} of ${supports[0].name}`), JSON.stringify([rows[0], wanted[0]]));
  const more = supports[0].coefficients.length - rows.length;
  check("what is too many is counted", (await page.locator("#panel-inside .shapes").textContent()).includes("more") === more > 0);

  // Bars: how the canvas is filled, and what is said of one.
  const bars = page.locator("#panel-inside canvas.bars");
  await page.mouse.move(5, 5);
  const over = told.now.filter((x, i) => { const slack = 1e-3 * (told.most[i] - told.least[i]) + 1e-9; return x > told.most[i] + slack || x < told.least[i] - slack; }).length;
  await page.waitForFunction(() => document.querySelector("#panel-inside .readout").textContent.includes("coefficients"), null, { timeout: 3000 }).catch(() => {});
  check("coefficients are counted", await text(page, "#panel-inside .readout") === `${count} coefficients${over ? `, ${over} beyond what training reached` : ""}`, await text(page, "#panel-inside .readout"));
  const names = [];
  for (const { name, coefficients } of supports) coefficients.forEach((c, k) => { names[c] ??= `${name} ${k + 1}`; });
  const sentence = (i) => `${i}${names[i] ? `, ${names[i]}` : ""}: ${told.now[i].toPrecision(4)} (training: ${told.least[i].toPrecision(3)} to ${told.most[i].toPrecision(3)})`;
  await bars.scrollIntoViewIfNeeded();
  const box = await bars.boundingBox(), far = Math.floor(count / 2);
  await page.mouse.move(box.x + (box.width * (far + 0.5)) / count, box.y + 5);
  check("and each is told with its range", await text(page, "#panel-inside .readout") === sentence(far), `${await text(page, "#panel-inside .readout")} / ${sentence(far)}`);
  await page.mouse.move(5, 5);
  await bars.focus();
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
  check("keys stay within the bars", await text(page, "#panel-inside .readout") === sentence(0), await text(page, "#panel-inside .readout"));
  await bars.hover({ position: { x: 2, y: 2 } });
  await page.mouse.move(5, 5);
  const drawn = await page.evaluate(() => {
    const canvas = document.querySelector("#panel-inside canvas.bars"), copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
    copy.drawImage(canvas, 0, 0);
    return { width: canvas.width, height: canvas.height, data: [...copy.getImageData(0, 0, canvas.width, canvas.height).data] };
  });
  const tall = (i) => { // rows of the strong colour, and of any, in the middle of a bar
    const x = Math.floor(((i + 0.4) * drawn.width) / count), column = Array.from({ length: drawn.height }, (_, y) => drawn.data[4 * (y * drawn.width + x) + 3]);
    return [column.filter((a) => a > 200).length, column.filter((a) => a > 20).length];
  };
  const wrong = told.now.map((x, i) => {
    const top = Math.max(Math.abs(told.least[i]), Math.abs(told.most[i])), share = (value) => (top > 0 ? Math.max(-1, Math.min(1, value / (1.5 * top))) : 0) * (drawn.height / 2), [strong, all] = tall(i);
    return Math.abs(strong - Math.max(1, Math.abs(share(x)))) > 2 || Math.abs(all - Math.max(1, share(Math.max(told.most[i], x)) - share(Math.min(told.least[i], x)))) > 2.5;
  }).filter(Boolean).length;
  check("bars are as long as they should be", wrong <= 0.05 * count && drawn.width > 3 * count, `${wrong} of ${count}, ${drawn.width} x ${drawn.height}`);

  // What a slider added goes when the panel is left.
  const before = await page.evaluate(() => [...globalThis.peltApp.stage.positions]), away = () => page.evaluate((from) => globalThis.test.largest(globalThis.peltApp.stage.positions, from), before);
  await page.locator("#panel-inside .shape-row .exact").first().fill(String(rows[0].most));
  await page.waitForTimeout(80);
  await settled(page);
  const moved = [await away()];
  await page.locator("#panel-inside .shape-row .chip").first().click();
  await page.waitForTimeout(60);
  check("a displacement says which it is", await words() === `displacement 1 of ${supports[0].name}: x y z as red green blue; grey is none` && same(await page.locator("#panel-inside .chip").evaluateAll((list) => list.map((one) => one.getAttribute("aria-pressed"))), rows.map((_, k) => String(k === 0))), await words());
  if (supports.length > 1) {
    await page.locator("#panel-inside select").selectOption("1");
    await page.waitForTimeout(60);
    check("another support shows its first displacement", await words() === `displacement 1 of ${supports[1].name}: x y z as red green blue; grey is none`, await words());
  }
  await set(page, { panel: "numbers" });
  moved.push(await away());
  check("what was added stays inside", moved[0] > 1e-4 && moved[1] === 0 && !(await painted()), moved.join());
  await set(page, { panel: "inside" });

  await openSubject(page, "character biceps");
  await useSkin(page, "joints");
  await page.waitForFunction(() => document.querySelectorAll("#panel-inside .driven").length > 0);
  const driven = await page.evaluate(() => globalThis.peltApp.skin().driven.map(({ name, kind, amount, driver }) => ({ name, words: `${kind} ${Number(amount.toPrecision(3))} of ${globalThis.peltApp.skin().joints[driver].name}`, driver: globalThis.peltApp.skin().joints[driver].name })));
  check("driven joints say by whom", same(await page.locator("#panel-inside .driven").evaluateAll((list) => list.map((one) => ({ name: one.children[0].textContent, words: one.children[1].textContent }))), driven.map(({ name, words: w }) => ({ name, words: w })))
    && (await page.locator("#panel-inside").textContent()).includes(`${driven.length} joints computed from others`) && (await page.locator("#panel-inside").textContent()).includes("No corrective: the shape follows the joints above."));
  await page.locator("#panel-inside .driven").last().click();
  await settled(page);
  check("picking one picks its driver", await text(page, "#panel-inside .joint-list [aria-selected=true]") === driven.at(-1).driver && same(await page.locator("#panel-inside .driven").evaluateAll((list) => list.map((one) => one.getAttribute("aria-pressed"))), driven.map((_, i) => String(i === driven.length - 1))));
  const lines = () => page.evaluate(() => globalThis.peltApp.stage.overlay.getObjectByName("driven joints").visible), seen = [await lines()];
  await page.locator("#panel-inside label.toggle").click();
  seen.push(await lines());
  await page.locator("#panel-inside label.toggle").click();
  seen.push(await lines());
  check("their frames can be taken away", same(seen, [true, false, true]), seen.join());
  await paint("nothing");
}

// -- Key points -------------------------------------------------------------------------------------------------------

export async function faceDetails({ page, check, folder, openSubject }) {
  await openSubject(page, "^face");
  await page.locator("#panel-face .verdict-count").first().waitFor();
  const { box, verdicts } = await page.evaluate(async () => {
    const app = globalThis.peltApp, { box: one } = app.subject();
    return { box: { keys: one.keys.length, points: one.points, diagonal: one.diagonal }, verdicts: await app.data.json(one.clips[0].verdicts) };
  });
  const { verdict, e: misfit, cached: { max: error, rms }, keyed } = verdicts, count = verdict.length;
  check("a face says what it has", await text(page, ".subject-detail") === `${box.points.toLocaleString("en")} points, ${box.keys} key points, 1 clip` && (await page.locator("#panel-face .quiet").first().textContent()) === `${box.keys} key points replace ${box.points} points.`
    && await page.locator(".paths").isHidden() && await page.locator(".skins-holder").isHidden(), await text(page, ".subject-detail"));
  const go = async (frame) => { await set(page, { frame }); };
  const missed = verdict.map((one, i) => (one === "miss" ? i : -1)).filter((i) => i >= 0), from = missed[0];
  await go(from);
  const jumps = [];
  for (const name of ["Next miss", "Miss before", "Miss before"]) {
    await page.getByRole("button", { name }).click();
    jumps.push((await store(page)).frame);
  }
  check("misses are jumped between, round and round", same(jumps, [missed[1 % missed.length], missed[0], missed.at(-1)]), `${jumps} of ${missed}`);
  await page.locator("canvas.strip").focus();
  await go(0);
  const went = [];
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowRight", "ArrowLeft"]) {
    await page.keyboard.press(key);
    went.push((await store(page)).frame);
  }
  await go(count - 1);
  await page.locator("canvas.strip").focus();
  await page.keyboard.press("ArrowRight");
  check("keys go along the strip, and stop at its ends", same([...went, (await store(page)).frame], [0, 1, 2, 1, count - 1]), went.join());
  const along = await page.locator("canvas.strip").boundingBox(), to = (f) => page.mouse.move(along.x + (f / (count - 1)) * along.width, along.y + 3), dragged = [];
  await to(3);
  await page.mouse.down();
  for (const f of [3, 7.4, -2, count + 3]) {
    await to(f);
    dragged.push((await store(page)).frame);
  }
  await page.mouse.up();
  await to(5);
  check("a drag goes along the strip", same([...dragged, (await store(page)).frame], [3, 7, 0, count - 1, count - 1]), dragged.join());
  for (const kind of ["blend", "miss"]) {
    const frame = verdict.indexOf(kind);
    await go(frame);
    const now = await page.evaluate(() => {
      const app = globalThis.peltApp, { positions, truth, normals } = app.stage, points = app.stage.overlay.getObjectByName("key points"), strip = document.querySelector("canvas.strip"), copy = new OffscreenCanvas(strip.width, strip.height).getContext("2d");
      let most = 0, off = 0;
      for (let v = 0; v < truth.length / 3; v++) most = Math.max(most, Math.hypot(...[0, 1, 2].map((c) => positions[3 * v + c] - truth[3 * v + c])));
      const { keys, diagonal } = app.subject().box, at = points.geometry.getAttribute("position").array;
      keys.forEach((v, k) => { for (let c = 0; c < 3; c++) off = Math.max(off, Math.abs(at[3 * k + c] - positions[3 * v + c] - 0.002 * diagonal * normals[3 * v + c])); });
      copy.drawImage(strip, 0, 0);
      return { text: document.querySelector(".verdict-now").textContent, badge: document.querySelector(".verdict-now .badge").className, pairs: [...document.querySelectorAll("#panel-face .pairs dd")].map((one) => one.textContent), most, off,
        aria: ["valuenow", "valuemax", "valuetext"].map((name) => strip.getAttribute(`aria-${name}`)), figures: document.querySelector(".frame-figures").textContent, place: document.querySelector(".place").textContent, strip: [...copy.getImageData(0, 0, strip.width, strip.height).data], size: [strip.width, strip.height, devicePixelRatio, strip.clientWidth, strip.clientHeight],
        inks: Object.fromEntries(["hit", "part", "blend", "miss"].map((name) => [name, getComputedStyle(strip).getPropertyValue(`--${name}`).trim()])), truth: [...truth.slice(0, 30)], ink: getComputedStyle(strip).color };
    });
    const meaning = { blend: "In between: the rig computes all points, blended with the key points.", miss: "Unlike anything in training: the rig computes all points." }[kind];
    check("the verdict of a frame is told", now.text === `${kind} ${meaning}` && now.badge === `badge ${kind}` && now.pairs[0] === `${misfit[frame].toPrecision(3)} (trusted up to 1)` && now.pairs[1] === `${verdicts.evaluated[frame]} of ${box.points}`, `${now.text} ${now.pairs}`);
    const about = (text, value) => Math.abs(Number(text.replace("−", "-")) - value) <= 6e-3 * value + 1e-9;
    check("with errors", about(now.pairs[2], error[frame]) && about(now.pairs[3], keyed.max[frame]), now.pairs.join());
    check("which are the distance from what is drawn", Math.abs(now.most - error[frame]) < 1e-4 * error[frame] + 1e-6 && now.figures.includes("max ") && now.figures.includes("rms ") && about(now.figures.match(/rms (\S+)/)[1], rms[frame]) && now.place === `${frame} / ${count - 1}`, JSON.stringify([now.most, error[frame], now.figures]));
    check("key points lie just above the face", now.off < 1e-6, String(now.off));
    check("the strip says where it is", same(now.aria, [String(frame), String(count - 1), `frame ${frame}: ${kind}`]), now.aria.join());
    // Every pixel: the colour of the nearest frame, under a head two pixels of the page wide.
    const [width, height, ratio, wide, tall] = now.size, ink = now.ink.match(/\d+/g).slice(0, 3).map(Number), at = Math.round((frame * width) / (count - 1));
    const hex = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)), x = (f) => Math.round((f * width) / (count - 1));
    const wrong = [...Array(width * height).keys()].filter((i) => {
      const column = i % width, under = hex(now.inks[verdict.find((_, f) => column >= x(f - 0.5) && column < x(f + 0.5))]);
      const share = Math.max(0, Math.min(column + 1, at + ratio) - Math.max(column, at - ratio));
      return !close(now.strip.slice(4 * i, 4 * i + 4), [...under.map((c, k) => c + share * (ink[k] - c)), 255], 4);
    });
    check("and shows it, to the pixel", wrong.length === 0 && width === Math.round(wide * ratio) && height === Math.round(tall * ratio), `${wrong.slice(0, 9)} of ${width} x ${height}, head ${at}: ${now.strip.slice(4 * wrong[0], 4 * wrong[0] + 4)}`);
    const file = readFileSync(join(folder, "face.test.npy")), size = file.readUInt16LE(8), first = 10 + size + 12 * box.points * frame;
    check("the truth is the frame of the file", close(now.truth, Array.from({ length: 30 }, (_, i) => file.readFloatLE(first + 4 * i)), 1e-6));
  }
  const dots = () => page.evaluate(() => globalThis.peltApp.stage.overlay.getObjectByName("key points").visible), seen = [await dots()];
  await page.locator("#panel-face label.toggle", { hasText: "Draw the key points" }).click();
  seen.push(await dots());
  await page.locator("#panel-face label.toggle", { hasText: "Draw the key points" }).click();
  seen.push(await dots());
  await set(page, { panel: "numbers" });
  seen.push(await dots());
  await set(page, { panel: "face" });
  check("key points can be taken away", same([...seen, await dots()], [true, false, true, false, true]), seen.join());
  const shading = await page.evaluate(() => {
    const { mesh, positions, normals } = globalThis.peltApp.stage;
    let [bad, all] = [0, 0];
    for (let t = 0; t < mesh.indices.length; t += 3) {
      const [a, b, c] = [...mesh.indices.slice(t, t + 3)], at = (v) => [...positions.slice(3 * v, 3 * v + 3)], u = at(b).map((x, i) => x - at(a)[i]), w = at(c).map((x, i) => x - at(a)[i]);
      const n = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]], length = Math.hypot(...n);
      all++;
      bad += Number(n.reduce((sum, x, i) => sum + x * normals[3 * a + i], 0) < 0.5 * length);
    }
    return bad / all;
  });
  check("a face from key points is shaded by its surface", shading < 0.1, shading);
}

// -- Light ------------------------------------------------------------------------------------------------------------

export async function lightDetails({ page, check, openSubject }) {
  await openSubject(page, "^light");
  await page.waitForFunction(() => document.querySelector("canvas.relit")?.width === globalThis.peltApp.subject().box.width);
  const box = await page.evaluate(() => { const { width, height, keys, light, extent, camera } = globalThis.peltApp.subject().box; return { width, height, keys, light, extent, camera }; });
  check("a scene says what it has", await text(page, ".subject-detail") === `${box.width} × ${box.height} pixels, ${box.keys.length} key points` && await text(page, "#panel-light .quiet") === `${box.keys.length} key points light ${box.width * box.height} pixels.` && await page.locator(".timeline").isHidden(), await text(page, ".subject-detail"));
  const { low, high } = box.extent, least = low.map((x, i) => x + 0.02 * (high[i] - x)), most = high.map((x, i) => x - 0.02 * (x - low[i]));
  const rows = await page.locator("#panel-light .range-row").evaluateAll((list) => list.map((row) => ({ least: Number(row.querySelector("input").min), most: Number(row.querySelector("input").max), title: row.querySelector("input").title })));
  check("the light goes through the scene", close(rows.flatMap((row) => [row.least, row.most]), least.flatMap((x, i) => [x, most[i]]), 1e-6) && rows.every(({ title }, i) => title.startsWith(`seen: ${box.light.least[i].toFixed(2)} to ${box.light.most[i].toFixed(2)}`)), JSON.stringify(rows));
  const place = () => page.locator("#panel-light .exact").evaluateAll((fields) => fields.map((field) => Number(field.value)));
  const spot = () => page.evaluate(() => { const { left, top } = document.querySelector(".light-handle").style; return [parseFloat(left), parseFloat(top)]; });
  const fill = async (...values) => { for (const [i, value] of values.entries()) await page.locator("#panel-light .exact").nth(i).fill(String(value)); };
  const middle = low.map((x, i) => Number(((x + high[i]) / 2).toFixed(3))), sizes = box.light.most.map((x, i) => x - box.light.least[i]), across = sizes.indexOf(Math.min(...sizes)), [side, deep] = [0, 1, 2].filter((i) => i !== across);
  await fill(...middle);
  await page.evaluate(() => document.activeElement.blur());
  // By the camera's own formula.
  const { eye, axes, field_of_view: field } = box.camera, dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0), d = middle.map((x, i) => x - eye[i]), tall = -dot(d, axes[2]) * Math.tan(field / 2);
  check("the handle is where the camera sees the light", close(await spot(), [50 * (1 + dot(d, axes[0]) / (tall * box.width / box.height)), 50 * (1 - dot(d, axes[1]) / tall)], 0.01), (await spot()).join());
  for (const [key, axis, sign, left] of [["ArrowLeft", side, 0, -1], ["ArrowRight", side, 0, 1], ["ArrowUp", deep, 1, 0], ["ArrowDown", deep, -1, 0], ["PageUp", across, 1, 0], ["PageDown", across, -1, 0]]) {
    await fill(...middle);
    await page.locator(".light-handle").focus();
    const [before, at] = [await place(), await spot()];
    await page.keyboard.press(key);
    const moved = (await place()).map((x, i) => x - before[i]), step = 0.03 * (most[axis] - least[axis]);
    check("keys move the light by three hundredths", Math.abs(Math.abs(moved[axis]) - step) < 0.0011 && moved.every((x, i) => i === axis || x === 0) && (!sign || Math.sign(moved[axis]) === sign) && (!left || Math.sign((await spot())[0] - at[0]) === left), `${key} ${moved} ${step}`);
  }
  const warning = "#panel-light .verdict.beyond", answered = () => page.waitForFunction(() => !globalThis.peltApp.busy);
  for (const [at, out] of [[box.light.at, 0], [box.light.at.map((x, i) => (i === across ? x - 0.1 : x)), 0.1]]) {
    await fill(...at);
    await page.evaluate(() => document.activeElement.blur());
    await answered();
    await page.waitForFunction(([selector, shown]) => document.querySelector(selector).checkVisibility() === shown, [warning, out > 0], { timeout: 5000 }).catch(() => {});
    check("a light beyond the training grid is flagged", await page.locator(warning).isVisible() === out > 0 && (!out || (await text(page, warning)).includes("is 0.10 outside the grid of training lights")), await text(page, warning));
  }
  await fill(99, -99, 99);
  await page.evaluate(() => document.activeElement.blur());
  await page.locator(".light-handle").focus();
  await page.keyboard.press("ArrowUp");
  check("and not beyond the scene", close(await place(), [most[0], least[1], most[2]], 0.0011), (await place()).join());
  await fill(...middle);
  await page.evaluate(() => document.activeElement.blur());
  const frame = await page.locator(".relit-frame").first().boundingBox(), [x0, y0] = await spot();
  await page.mouse.move(frame.x + (frame.width * x0) / 100, frame.y + (frame.height * y0) / 100);
  await page.keyboard.down("Shift");
  await page.mouse.down();
  await page.mouse.move(frame.x + (frame.width * x0) / 100 + 20, frame.y + (frame.height * (y0 - 8)) / 100);
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const lifted = await place(), [, y1] = await spot();
  check("Shift moves it up and down alone", lifted[across] !== middle[across] && [side, deep].every((i) => Math.abs(lifted[i] - middle[i]) < 0.0011) && Math.abs(y1 - y0 + 8) < 1.5, JSON.stringify([lifted, middle, y0, y1]));
  // Key points as white dots in the middle of their pixels.
  const dots = () => page.evaluate(() => {
    const marks = document.querySelector(".marks"), copy = new OffscreenCanvas(marks.width, marks.height).getContext("2d"), { box: one } = globalThis.peltApp.subject();
    copy.drawImage(marks, 0, 0);
    const { data } = copy.getImageData(0, 0, marks.width, marks.height), at = (x, y) => data[4 * (Math.min(marks.height - 1, Math.floor(y)) * marks.width + Math.min(marks.width - 1, Math.floor(x))) + 3];
    return { there: one.keys.filter((key) => at((((key % one.width) + 0.5) / one.width) * marks.width, ((Math.floor(key / one.width) + 0.5) / one.height) * marks.height) > 100).length, all: data.filter((a, i) => i % 4 === 3 && a > 20).length / (marks.width * marks.height), ratio: marks.width / document.querySelector("canvas.relit").clientWidth };
  });
  const on = await dots();
  check("key points are marked where they are", on.there === box.keys.length && on.all < 0.2 && Math.abs(on.ratio - (await page.evaluate(() => devicePixelRatio))) < 0.01, JSON.stringify(on));
  await page.locator("#panel-light label.toggle", { hasText: "Show the key points" }).click();
  check("and can be taken away", (await dots()).all === 0);
  await page.locator("#panel-light label.toggle", { hasText: "Show the key points" }).click();
  await fill(...box.light.at);
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForTimeout(400);
  await page.waitForFunction(() => !globalThis.peltApp.busy && document.querySelector(".relit-figure .badge").textContent === "hit");
  const panel = await page.locator("#panel-light").textContent(), badge = await text(page, ".relit-figure .badge");
  check("the verdict is explained", /misfit [\d.e-]+ \(trusted up to 1\)/.test(panel) && panel.includes({ hit: "The key points explain this light.", blend: "In between: key points and a full gather are blended.", miss: "" }[badge]) && await page.locator(`.relit-figure .badge.${badge}`).count() === 1, `${badge} ${panel}`);
  check("with its time", /^\d+\.\d ms$/.test(await text(page, ".relit-figure .speed")), await text(page, ".relit-figure .speed"));
  check("the full gather waits until it is wanted", await page.locator(".relit-figure").nth(1).isHidden());
  await lightAnswers({ page, check, box, fill });
}

// Answers of a server of our own: what is asked, and how every answer is shown.
async function lightAnswers({ page, check, box, fill }) {
  const asked = [], pixels = Buffer.alloc(3 * box.width * box.height).map((_, i) => (97 * i) % 251);
  let answer = null;
  const reply = (verdict, misfit, milliseconds, bytes) => {
    const head = Buffer.alloc(24);
    [box.width, box.height, verdict].forEach((word, i) => head.writeUInt32LE(word, 4 * i));
    [misfit, milliseconds, 1].forEach((number, i) => head.writeFloatLE(number, 12 + 4 * i));
    return { body: Buffer.concat([head, bytes]) };
  };
  const said = { status: 422, contentType: "application/json", body: JSON.stringify({ error: { text: "No light today." } }) };
  await page.route("**/api/light", (route) => {
    asked.push(route.request().postDataJSON());
    return route.fulfill(answer);
  });
  const shown = () => page.evaluate(() => {
    const canvas = document.querySelector("canvas.relit"), copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d"), badge = document.querySelector(".relit-figure .badge");
    copy.drawImage(canvas, 0, 0);
    return { pixels: [...copy.getImageData(0, 0, canvas.width, canvas.height).data], badge: `${badge.textContent} ${badge.className}`, words: document.querySelector("#panel-light").textContent, speed: document.querySelector(".relit-figure .speed").textContent };
  });
  const middle = box.light.at.map((x) => Number(x.toFixed(3)));
  // Fields are filled in one after another: on a busy machine the light may rest between two of them.
  const move = async (by) => {
    asked.length = 0;
    const place = [middle[0] + by, middle[1], middle[2]], rested = () => asked.some(({ samples, at }) => samples === 256 && close(at, place, 1e-6));
    await fill(...place);
    await page.waitForTimeout(50);
    for (let i = 0; i < 250 && !rested(); i++) await page.waitForTimeout(20);
    for (let count = -1; count !== asked.length;) {
      count = asked.length;
      await page.waitForTimeout(100);
    }
    await page.waitForFunction(() => !document.querySelector("#panel-light").textContent.includes("are being gathered"), null, { timeout: 20000 }).catch(() => {});
  };
  const words = ["The key points explain this light.", "In between: the key points are blended with all points, which were gathered.", "Unlike any training light: all points were gathered."];
  for (const [verdict, name] of ["hit", "blend", "miss"].entries()) {
    answer = reply(verdict, 0.25 * verdict + 0.5, 12.34, pixels);
    await move(0.001 * verdict);
    const now = await shown();
    check("an answer is shown as it is", now.badge === `${name} badge ${name}` && now.words.includes(`misfit ${(0.25 * verdict + 0.5).toPrecision(3)} (trusted up to 1)${words[verdict]}`) && (verdict ? now.speed === "0.01 s" : now.speed.startsWith("12.3 ms")), JSON.stringify([now.badge, now.words, now.speed]));
    check("with its pixels", now.pixels.every((x, i) => x === (i % 4 === 3 ? 255 : pixels[3 * Math.floor(i / 4) + (i % 4)])), now.pixels.slice(0, 8).join());
    const all = asked.filter(({ full }) => full), keyed = asked.filter(({ full }) => !full), last = keyed.at(-1), index = await page.evaluate(() => globalThis.peltApp.subject().index);
    check("few paths are asked for while it moves, more at rest", keyed.length > 1 && keyed[0].samples === 64 && keyed.every(({ samples }) => samples === 64 || samples === 256) && last.samples === 256 && asked.every((one) => one.box === index) && close(last.at, [middle[0] + 0.001 * verdict, middle[1], middle[2]], 1e-6), JSON.stringify(asked));
    check("all points are asked for where the key points are not trusted", (verdict ? all.length >= 1 && close(all.at(-1).at, last.at, 1e-9) : all.length === 0) && all.every(({ samples, paths }) => samples === 128 && paths === 32768), JSON.stringify(all));
  }
  answer = reply(0, 0.5, 1, Buffer.from(pixels.map((x) => x % 2)));
  await move(0.004);
  check("darkness is explained", (await shown()).words.includes("No light reaches anything that the camera sees."));
  answer = said;
  const messages = () => page.locator(".message p", { hasText: "No light today." }).count();
  await move(0.005);
  const told = [await messages()];
  await page.locator(".message .plain").first().click();
  await move(0.006);
  check("what goes wrong is said once", same([...told, await messages()], [1, 0]), told.join());
  await page.locator("label.toggle", { hasText: "Full gather next to it" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".relit-figure figcaption")[1].textContent === "All points gatheredNo light today.");
  check("also of a full gather", asked.at(-1).full === true && asked.at(-1).samples === 128 && await page.locator(".relit-figure.old").count() === 1);
  answer = reply(0, 0.5, 2340, pixels);
  await move(0.007);
  await page.waitForFunction(() => document.querySelectorAll(".relit-figure figcaption")[1].textContent === "All points gathered2.34 s");
  check("which follows at rest", asked.at(-1).full === true && await page.locator(".relit-figure.old").count() === 0);
  await page.locator("label.toggle", { hasText: "Full gather next to it" }).click();
  await page.unroute("**/api/light");
  await fill(...middle);
  await page.evaluate(() => document.activeElement.blur());
}

// -- Fitting ----------------------------------------------------------------------------------------------------------

export async function fitDetails({ page, check, openSubject }) {
  await openSubject(page, "character arm");
  await set(page, { panel: "fit" });
  const panel = page.locator("#panel-fit"), command = () => text(page, "#panel-fit .command");
  const clips = await page.evaluate(() => globalThis.peltApp.clips().map(({ name, frames, truth }) => ({ name, frames, truth: Boolean(truth) })));
  const rows = await page.locator("#panel-fit .clip-row:not(.clip-head)").evaluateAll((list) => list.map((row) => [row.children[0].textContent, row.children[1].textContent, ...[...row.querySelectorAll("input")].map((one) => `${one.getAttribute("aria-label")} ${one.checked}`)].join("; ")));
  const known = clips.filter(({ truth }) => truth).map(({ name }) => name), trains = known.filter((name) => /train/.test(name)), tests = known.filter((name) => !trains.includes(name));
  check("clips are for training by their names, the others for tests", same(rows, clips.map(({ name, frames, truth }) => [name, truth ? `${frames}` : `${frames}, no truth`, ...(truth ? [`train on ${name} ${trains.includes(name)}`, `test on ${name} ${tests.includes(name)}`] : [])].join("; "))), rows.join(" | "));
  const glb = await page.evaluate(() => globalThis.peltApp.character().file);
  const lines = (words, skin, tested = tests) => [`pelt fit ${glb} ${words} -o ${skin}.pelt`, ...tested.map((name) => `pelt measure ${skin}.pelt ${glb} --clip ${name}`)].join("\n");
  check("the form begins with the best method", await command() === lines("--train train --method kernel", "kernel") && same(await page.locator("#panel-fit .methods b").allTextContents(), ["kernel", "eigen", "joints", "wpsd", "psd", "ssd", "best"]) && await page.locator("#panel-fit input[name=method]:checked").inputValue() === "kernel", await command());
  await panel.getByLabel(`train on ${tests[0]}`).click();
  await panel.getByLabel(`test on ${tests[0]}`).click();
  check("clips are ticked, in their order", await command() === lines(`--train ${clips.map(({ name }) => name).filter((name) => [...trains, tests[0]].includes(name)).join()} --method kernel`, "kernel", tests.slice(1)), await command());
  await panel.getByLabel(`train on ${tests[0]}`).click();
  await panel.getByLabel(`test on ${tests[0]}`).click();
  await page.locator("#panel-fit details summary").click();
  const fields = () => page.locator("#panel-fit .fit-options .field span").allTextContents();
  const kernel = await fields();
  await page.locator("#panel-fit input[value=psd]").check();
  const psd = await fields();
  check("only options that matter are there", kernel.includes("--family") && !kernel.includes("--rbf") && psd.includes("--rbf") && !psd.includes("--family") && psd.includes("--blend") && same(await page.locator("#panel-fit .fit-options select").first().locator("option").allTextContents(), ["file (psd)", "file", "distance", "fit", "joints"]), psd.join());
  const row = (name) => page.locator("#panel-fit .field", { hasText: name });
  await row("--rbf").locator("select").selectOption("gaussian");
  await row("--no-norm").locator("input").check();
  await row("--poses").locator("input").fill("5");
  await row("--blend").locator("select").selectOption("fit");
  await row("--prune").locator("input").fill("0.1");
  await row("--corrective").locator("select").selectOption("wpsd");
  await row("further options").locator("input").fill("--seed 3");
  check("what is chosen is said on the command line", await command() === lines("--train train --method psd --blend fit --corrective wpsd --prune 0.1 --poses 5 --rbf gaussian --no-norm --seed 3", "psd") && await row("--poses").locator("input").inputValue() === "5" && await row("--no-norm").locator("input").isChecked(), await command());
  await row("--no-norm").locator("input").uncheck();
  await row("name of the skin").locator("input").fill(" my skin ");
  check("and a name of its own", (await command()).split("\n")[0].endsWith(" --seed 3 -o 'my skin.pelt'") && !(await command()).includes("no-norm") && await row("name of the skin").locator("input").getAttribute("placeholder") === "psd", await command());
  await panel.getByRole("button", { name: "Copy", exact: true }).click();
  await page.waitForTimeout(50);
  check("which is copied", await page.evaluate(() => navigator.clipboard.readText()) === await command());
  for (const [name, value] of [["name of the skin", ""], ["further options", ""], ["--poses", ""], ["--prune", ""]]) await row(name).locator("input").fill(value);
  await row("--rbf").locator("select").selectOption("");
  await row("--corrective").locator("select").selectOption("");
  await row("--blend").locator("select").selectOption("");
  await page.locator("#panel-fit details summary").click();

  // A file that is dropped anywhere.
  await set(page, { panel: "numbers" });
  const dropping = await page.evaluate(() => {
    const files = new DataTransfer(), seen = [], fire = (type, more) => dispatchEvent(new DragEvent(type, { cancelable: true, dataTransfer: files, ...more }));
    files.setData("text/plain", "words");
    fire("dragover");
    seen.push(document.body.classList.contains("dropping"));
    files.items.add(new File(["no scene"], "thing.glb"));
    const taken = !fire("dragover");
    seen.push(document.body.classList.contains("dropping") && taken);
    fire("dragleave", { relatedTarget: document.body });
    seen.push(document.body.classList.contains("dropping"));
    fire("dragleave");
    seen.push(document.body.classList.contains("dropping"));
    fire("dragover");
    fire("drop");
    return [...seen, document.body.classList.contains("dropping"), globalThis.peltApp.store.get().panel];
  });
  check("files may be dropped anywhere", same(dropping, [false, true, true, false, false, "fit"]), dropping.join());
  await page.locator("#panel-fit [role=alert]:visible").waitFor();
  const sentence = await text(page, "#panel-fit [role=alert]");
  check("and what is no scene is refused in words", /thing\.glb/.test(sentence) && await page.locator("#panel-fit progress").isHidden() && await text(page, "#panel-fit .doing") === "", sentence);
}
