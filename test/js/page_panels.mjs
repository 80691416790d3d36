// page_panels.mjs: the panels of the page, driven as a person does, and checked by values: against the run time asked
// directly, against the program's own commands, and against small formulas.
//
// makeFiles(pelt, folder) makes what is looked at, unless it is there, and returns the words for `pelt view`; panels(context) drives a page that
// shows them. context: page (playwright), pelt (the program), folder, check(name, good, detail), shoot(name).

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { faceDetails, fitDetails, insideDetails, lightDetails, pullDetails } from "./page_panel_details.mjs";

// Of the relit box: small, but large enough to look at when pictures are requested.
const BOX = process.env.PICTURES ? ["--size", "160x160", "--lights", "6x5", "--keys", "120", "--basis", "16"] : ["--size", "32x32", "--lights", "4x3", "--keys", "40", "--basis", "8"];

export function makeFiles(pelt, folder) {
  const files = ["arm.glb", "eigen.pelt", "biceps.glb", "biceps.pelt", "joints.pelt", "humanoid.glb", "humanoid.pelt",
    "face.keys", "face.glb", "face.test.npy", "box.keys"].map((name) => join(folder, name));
  if (files.every(existsSync)) return files;
  const run = (...words) => execFileSync(pelt, [...words, "--quiet"], { cwd: folder });
  run("sample", "arm", "-o", ".", "--vertices", "2972", "--frames", process.env.PICTURES ? "160" : "24");
  run("sample", "biceps", "-o", ".", "--vertices", "1000", "--frames", "16");
  run("sample", "humanoid", "-o", ".", "--vertices", "1000", "--frames", "6");
  run("sample", "face", "-o", ".", "--frames", "100", "--test-frames", "60");
  run("fit", "arm.glb", "--train", "train", "--method", "eigen", "--holdout", "0", "-o", "eigen.pelt");
  run("fit", "biceps.glb", "--train", "train", "--method", "psd", "--holdout", "0", "-o", "biceps.pelt");
  run("fit", "biceps.glb", "--train", "train", "--method", "joints", "--holdout", "0", "-o", "joints.pelt");
  run("fit", "humanoid.glb", "--method", "ssd", "-o", "humanoid.pelt");
  run("keys", "train", "face.train.npy", "face.range.npy", "--mesh", "face.glb", "--keys", "80", "--regions", "1", "--bar", "0.03", "-o", "face.keys"); // all verdicts occur
  run("relight", "train", "cornell", "--samples", "32", ...BOX, "-o", "box.keys");
  return files;
}

// -- In the page ------------------------------------------------------------------------------------------------------

// Helpers installed in the browser once: they query the run time and the resources directly, bypassing the panels.
export function helpers() {
  const app = globalThis.peltApp;
  const largest = (a, b) => {
    let most = a.length === b.length ? 0 : Infinity;
    for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
    return most;
  };
  // Positions of a separate skin for ten numbers per joint.
  const deform = async (locals, controls = []) => {
    const { character } = app.subject();
    const bytes = await app.data.bytes(character.skins[app.store.get().skin].file);
    const skin = (await app.pelt).open(new Uint8Array(bytes));
    const pose = skin.createPose();
    skin.joints.forEach(({ name }, j) => {
      const from = character.joints.findIndex((joint) => joint.name === name);
      for (let i = 0; i < 10; i++) pose.locals[10 * j + i] = locals[10 * from + i];
    });
    skin.controls.forEach(({ name }, c) => { pose.controls[c] = controls[character.controls.findIndex((one) => one.name === name)]; });
    pose.update();
    const positions = new Float32Array(3 * skin.vertexCount);
    pose.deform(positions);
    skin.free();
    return positions;
  };
  const rest = () => Float32Array.from(app.subject().character.joints.flatMap(({ rest: r }) => [...r.rotation, ...r.translation, ...r.scale]));
  const jointNumber = (name) => app.subject().character.joints.findIndex((joint) => joint.name === name);
  globalThis.test = { largest, deform, rest, jointNumber };
}

// Waits until what was requested is drawn.
const settled = (page) => page.evaluate(async () => {
  const app = globalThis.peltApp;
  for (let i = 0; i < 400 && (i < 2 || app.busy || app.deforming); i++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 10)));
});

async function openSubject(page, pattern) {
  const index = await page.evaluate((text) => globalThis.peltApp.subjects().findIndex(({ name, kind }) => new RegExp(text).test(`${kind} ${name}`)), pattern);
  if (index < 0) throw new Error(`nothing that is shown is called ${pattern}`);
  await page.evaluate((subject) => globalThis.peltApp.store.set({ subject }), index);
  await page.waitForFunction((subject) => {
    const app = globalThis.peltApp;
    return app.store.get().subject === subject && (app.subject().kind === "light" || app.stage.positions) && (app.subject().kind !== "character" || app.skin());
  }, index);
  await settled(page);
}

const openPanel = async (page, id) => {
  await page.locator(`#tab-${id}`).click();
  await settled(page);
};

// -- Pulling ----------------------------------------------------------------------------------------------------------

export async function pulling({ page, check, shoot }) {
  await openSubject(page, "character arm");
  await page.keyboard.press("j");
  await settled(page);
  check("a key opens the panel", await page.locator("#panel-pull").isVisible());
  await page.locator(".joint-search").fill("ELB");
  const found = await page.locator(".joint-list li:visible").allTextContents();
  check("joints are found by name", found.join() === "elbow", found.join());
  await page.locator("#panel-pull .joint-list li:visible").click();
  await page.getByRole("button", { name: "Rest", exact: true }).click();

  // 35 degrees about z, by formula: the rest rotation times (0, 0, sin 17.5, cos 17.5).
  await page.locator("#panel-pull .exact").nth(2).fill("35");
  await settled(page);
  const turned = await page.evaluate(async () => {
    const { test, peltApp: app } = globalThis;
    const locals = test.rest();
    const at = 10 * test.jointNumber("elbow");
    const [x, y, z, w] = locals.slice(at, at + 4);
    const [s, c] = [Math.sin((17.5 * Math.PI) / 180), Math.cos((17.5 * Math.PI) / 180)];
    locals.set([x * c + y * s, y * c - x * s, z * c + w * s, w * c - z * s], at);
    return { apart: test.largest(await test.deform(locals), app.stage.positions), moved: test.largest(await test.deform(test.rest()), app.stage.positions), size: app.subject().character.diagonal };
  });
  check("a slider turns the joint as the run time does", turned.apart < 1e-6 * turned.size && turned.moved > 0.01 * turned.size, JSON.stringify(turned));

  // The training range, from its poses: all of these joints rotate about z.
  const most = await page.evaluate(async () => {
    const { test, peltApp: app } = globalThis;
    const { clips, joints } = app.subject().character;
    const poses = await app.data.floats(clips.find(({ name }) => name === "train").poses);
    const at = 10 * test.jointNumber("elbow");
    let best = 0;
    for (let frame = 0; frame < poses.length; frame += 10 * joints.length) best = Math.max(best, (2 * Math.atan2(poses[frame + at + 2], poses[frame + at + 3]) * 180) / Math.PI);
    return best;
  });
  await page.locator("#panel-pull .exact").nth(2).fill(String(Math.round(most) + 23));
  await settled(page);
  const words = await page.locator("#panel-pull .verdict").textContent();
  const said = Number(/beyond the range seen: ([\d.]+) degrees/.exec(words)?.[1]);
  check("what training never showed is called so", Math.abs(said - (Math.round(most) + 23 - most)) < 0.6, `${words}, most ${most}`);
  check("and marked in the list", await page.locator("#panel-pull li.beyond .joint-name").textContent() === "elbow");
  await shoot("pull");
  await page.locator("#panel-pull .exact").nth(2).fill(String(Math.floor(most) - 5));
  await settled(page);
  check("what it showed is called so too", /within the range seen in training/.test(await page.locator("#panel-pull .verdict").textContent()));

  // Arrow keys on the slider: one degree each.
  const before = Number(await page.locator("#panel-pull .exact").nth(2).inputValue());
  await page.locator("#panel-pull .range-row input[type=range]").nth(2).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  check("arrow keys turn by a degree", Number(await page.locator("#panel-pull .exact").nth(2).inputValue()) === before + 2);
  await page.getByRole("button", { name: "Reset joint" }).click();
  await settled(page);
  await dragging({ page, check });
  await copying({ page, check });
}

// The outer ring of the handles rotates about the line of sight. Its radius follows from TransformControls' formula:
// 1.9 tan(fov / 2) d * size / 4 * 0.75 in the scene, at distance d, is 0.1425 of the pane's height with size 0.8.
async function dragging({ page, check }) {
  await page.getByRole("button", { name: "Rest", exact: true }).click();
  await settled(page);
  const at = await page.evaluate(() => {
    const { test, peltApp: app } = globalThis;
    const place = app.stage.overlay.getObjectByName("skeleton");
    const box = app.stage.pane("model").getBoundingClientRect();
    const camera = app.stage.camera;
    // The elbow at rest: the mean of nothing, but the joint's own place by its inverse bind.
    const { inverse_bind: b } = app.subject().character.joints[test.jointNumber("elbow")];
    const p = [0, 1, 2].map((c) => -(b[c] * b[3] + b[4 + c] * b[7] + b[8 + c] * b[11]));
    const v = camera.position.clone().set(...p).project(camera);
    return { x: box.left + ((v.x + 1) / 2) * box.width, y: box.top + ((1 - v.y) / 2) * box.height, r: 0.1425 * box.height, there: !!place?.visible };
  });
  check("the skeleton is drawn", at.there);
  await page.mouse.move(at.x + at.r, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x + at.r, at.y - 30, { steps: 3 });
  await page.mouse.move(at.x + at.r * 0.7, at.y - at.r * 0.7, { steps: 3 });
  await page.mouse.up();
  await settled(page);
  const dragged = await page.evaluate(async () => {
    const { test, peltApp: app } = globalThis;
    const rest = test.rest();
    const now = Float32Array.from(app.pose.locals);
    const joint = test.jointNumber("elbow");
    const others = now.map((x, i) => (Math.floor(i / 10) === joint ? rest[i] : x));
    const dot = [0, 1, 2, 3].reduce((sum, i) => sum + now[10 * joint + i] * rest[10 * joint + i], 0);
    return { degrees: (2 * Math.acos(Math.min(1, Math.abs(dot))) * 180) / Math.PI, others: test.largest(others, rest), apart: test.largest(await test.deform(now), app.stage.positions) };
  });
  check("handles in the scene turn the picked joint alone", dragged.degrees > 20 && dragged.degrees < 80 && dragged.others === 0 && dragged.apart < 1e-5, JSON.stringify(dragged));
  // Clicking a bone picks its joint: the upper arm belongs to the shoulder.
  const bone = await page.evaluate(() => {
    const { test, peltApp: app } = globalThis;
    const box = app.stage.pane("model").getBoundingClientRect();
    const place = (name) => {
      const { inverse_bind: b } = app.subject().character.joints[test.jointNumber(name)];
      return [0, 1, 2].map((c) => -(b[c] * b[3] + b[4 + c] * b[7] + b[8 + c] * b[11]));
    };
    const [a, b] = [place("shoulder"), place("elbow")];
    const v = app.stage.camera.position.clone().set(...a.map((x, i) => 0.95 * x + 0.05 * b[i])).project(app.stage.camera);
    return { x: box.left + ((v.x + 1) / 2) * box.width, y: box.top + ((1 - v.y) / 2) * box.height };
  });
  await page.mouse.click(bone.x, bone.y);
  await settled(page);
  check("a press on a bone picks its joint", (await page.locator("#panel-pull .picked-joint").textContent()) === "shoulder", await page.locator("#panel-pull .picked-joint").textContent());
}

async function copying({ page, check }) {
  const kept = await page.evaluate(() => [...globalThis.peltApp.pose.locals]);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  check("a pose is copied as JSON", Object.keys(JSON.parse(text).joints).join() === "elbow", text.slice(0, 80));
  await page.getByRole("button", { name: "Reset all" }).click();
  await settled(page);
  check("reset is the clip again", await page.evaluate(() => !globalThis.peltApp.pose.pulled));
  await page.getByRole("button", { name: "Paste", exact: true }).click();
  await settled(page);
  const apart = await page.evaluate((before) => globalThis.test.largest(before, globalThis.peltApp.pose.locals), kept);
  check("and pasted as it was", apart < 1e-6, String(apart));
  await page.evaluate(() => navigator.clipboard.writeText('{"joints": {"elbow": {"rotation": [0, "x", 0, 1]}}}'));
  await page.getByRole("button", { name: "Paste", exact: true }).click();
  await page.getByText("the rotation of elbow is not 4 numbers").waitFor({ timeout: 5000 });
  await page.locator(".message .plain").last().click();
  check("a broken pose is refused in words, and nothing moves", (await page.evaluate((before) => globalThis.test.largest(before, globalThis.peltApp.pose.locals), kept)) < 1e-6);
  await page.getByRole("button", { name: "Reset all" }).click();
}

export async function mirroring({ page, check, shoot }) {
  await openSubject(page, "character humanoid");
  await openPanel(page, "pull");
  await page.getByRole("button", { name: "Rest", exact: true }).click();
  await page.locator("#panel-pull .joint-search").fill("upperarm_l");
  await page.locator("#panel-pull .joint-list li:visible").click();
  for (const [i, degrees] of [[0, 20], [1, -35], [2, 30]]) await page.locator("#panel-pull .exact").nth(i).fill(String(degrees));
  await settled(page);
  const posed = await page.evaluate(() => [...globalThis.peltApp.pose.locals]);
  await page.getByRole("button", { name: "Mirror" }).click();
  await settled(page);
  await shoot("mirror");
  // The positions of the hands: G_j = product of locals down the chain, with separate matrix code.
  const hands = await page.evaluate(({ before }) => {
    const { test, peltApp: app } = globalThis;
    const { joints } = app.subject().character;
    const turn = ([x, y, z, w], v) => {
      const t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
      return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2], v[2] + w * t[2] + x * t[1] - y * t[0]];
    };
    const place = (locals, joint) => {
      let p = [0, 0, 0];
      for (let j = joint; j >= 0; j = joints[j].parent) {
        const at = 10 * j;
        p = turn(locals.slice(at, at + 4), p.map((x, i) => x * locals[at + 7 + i])).map((x, i) => x + locals[at + 4 + i]);
      }
      return p;
    };
    const now = [...app.pose.locals];
    const rest = [...test.rest()];
    const hand = (side) => test.jointNumber(`hand_${side}`);
    return { left: place(before, hand("l")), right: place(now, hand("r")), still: test.largest(place(now, hand("l")), place(rest, hand("l"))), moved: test.largest(place(before, hand("l")), place(rest, hand("l"))) };
  }, { before: posed });
  const [l, r] = [hands.left, hands.right];
  const apart = Math.hypot(l[0] + r[0], l[1] - r[1], l[2] - r[2]);
  check("the mirror image has the other hand where this one was", apart < 1e-3 && hands.still < 1e-5 && hands.moved > 0.05, JSON.stringify(hands));
  await page.getByRole("button", { name: "Mirror" }).click();
  await settled(page);
  const twice = await page.evaluate((before) => {
    const now = globalThis.peltApp.pose.locals;
    let most = 0; // q and -q are the same rotation
    for (let j = 0; j < now.length; j += 10) {
      const sign = Math.sign([0, 1, 2, 3].reduce((sum, i) => sum + now[j + i] * before[j + i], 0)) || 1;
      for (let i = 0; i < 10; i++) most = Math.max(most, Math.abs(now[j + i] - (i < 4 ? sign : 1) * before[j + i]));
    }
    return most;
  }, posed);
  check("mirrored twice is where it began", twice < 1e-6, String(twice));
  await page.getByRole("button", { name: "Reset all" }).click();
}

export async function controls({ page, check, shoot }) {
  await openSubject(page, "character biceps");
  await openPanel(page, "pull");
  const row = page.locator("#panel-pull .controls .range-row");
  check("controls are named", (await row.locator(".range-name").textContent()) === "tension");
  await row.locator(".exact").fill("0.8");
  await settled(page);
  const moved = await page.evaluate(async () => {
    const { test, peltApp: app } = globalThis;
    const there = await test.deform(app.pose.locals, [0.8]);
    return { apart: test.largest(there, app.stage.positions), value: app.pose.controls[0], size: app.subject().character.diagonal };
  });
  check("and move the skin as the run time does", moved.apart < 1e-6 * moved.size && Math.abs(moved.value - 0.8) < 1e-6, JSON.stringify(moved));
  await shoot("control");
  await page.getByRole("button", { name: "Reset all" }).click();
}

// -- Inside -----------------------------------------------------------------------------------------------------------

const useSkin = async (page, name) => {
  await page.evaluate((wanted) => {
    const app = globalThis.peltApp;
    app.store.set({ skin: app.subject().character.skins.findIndex((skin) => skin.name.startsWith(wanted)) });
  }, name);
  await page.waitForFunction((wanted) => {
    const app = globalThis.peltApp;
    return app.skin() && app.subject().character.skins[app.store.get().skin].name.startsWith(wanted);
  }, name);
  await settled(page);
};

export async function inside({ page, check, shoot }) {
  await openSubject(page, "character arm");
  await useSkin(page, "eigen");
  await openPanel(page, "pull");
  await page.getByRole("button", { name: "Rest", exact: true }).click();
  await openPanel(page, "inside");
  await page.locator("#panel-inside .joint-list li", { hasText: "elbow" }).click();
  await page.locator("#panel-inside .segment[data-value=weights]").click();
  await settled(page);
  const weights = await page.evaluate(() => {
    const app = globalThis.peltApp;
    const skin = app.skin();
    const all = skin.weightsOf(skin.findJoint("elbow"));
    const paint = app.stage.model.geometry.getAttribute("paint").array;
    const light = (v) => 0.3 * paint[3 * v] + 0.59 * paint[3 * v + 1] + 0.11 * paint[3 * v + 2];
    const order = [...all.keys()].sort((a, b) => all[a] - all[b]);
    let rising = true;
    for (let i = 50; i < order.length; i += 50) rising &&= light(order[i]) >= light(order[i - 50]) - 0.02;
    return { most: light(order.at(-1)), least: light(order[0]), rising, count: all.filter((w) => w !== 0).length };
  });
  const words = await page.locator("#panel-inside .painted-words").textContent();
  check("weights are painted, more is lighter", weights.rising && weights.most > weights.least + 0.2, JSON.stringify(weights));
  check("and counted", words.includes(`moves ${weights.count} of`), words);
  await shoot("weights");

  const shown = await page.evaluate(async () => {
    const app = globalThis.peltApp;
    const { inside: file } = app.subject().character.skins[app.store.get().skin];
    return { data: await app.data.json(file), about: app.skin().about };
  });
  const names = await page.locator("#panel-inside select option").allTextContents();
  check("every joint with displacements has a support", names.length === shown.data.supports.length && names.length > 0, names.join());
  const elbow = shown.data.supports.findIndex(({ name }) => name === "elbow");
  await page.locator("#panel-inside select").selectOption(String(elbow));
  await settled(page);
  await page.locator("#panel-inside .painted-words", { hasText: "elbow displaces" }).waitFor(); // its weights were read
  const sigmas = await page.locator("#panel-inside .sigma-value").allTextContents();
  const told = shown.about.details.joints.find(({ joint }) => joint === "elbow").singular_values;
  check("singular values are those of the fit", sigmas.length > 0 && sigmas.every((text, k) => text === `σ ${told[k]?.toPrecision(3)}`), `${sigmas.join()} / ${told.join()}`);
  const support = await page.evaluate(async ({ file }) => {
    const app = globalThis.peltApp;
    const amounts = await app.data.floats(file);
    const paint = app.stage.model.geometry.getAttribute("paint").array;
    const zero = amounts.findIndex((x) => x === 0);
    const same = (v) => [0, 1, 2].every((c) => Math.abs(paint[3 * v + c] - paint[3 * zero + c]) < 1e-6);
    return amounts.every((x, v) => (x > 0.02 ? !same(v) : x === 0 ? same(v) : true));
  }, { file: shown.data.supports[elbow].weights });
  check("the support is painted where the joint displaces, and nowhere else", support);
  await shoot("support");

  // At rest the blend is the identity: a slider adds its displacement unchanged.
  const first = shown.data.supports[elbow].coefficients[0];
  const before = await page.evaluate(() => [...globalThis.peltApp.stage.positions]);
  await page.locator("#panel-inside .shape-row .exact").first().fill("0.02");
  await page.waitForTimeout(120);
  await settled(page);
  const added = await page.evaluate(async ({ before: from, file }) => {
    const { test, peltApp: app } = globalThis;
    const shape = await app.data.floats(file);
    const field = Number(document.querySelector("#panel-inside .shape-row .exact").value);
    return { apart: test.largest(app.stage.positions, from.map((x, i) => x + field * shape[i])), moved: test.largest(app.stage.positions, from), field };
  }, { before, file: shown.data.displacements.replace("%d", String(first)) });
  check("a slider adds its eigendisplacement", added.moved > 1e-6 && added.apart < 2e-6, JSON.stringify(added));
  await page.locator("#panel-inside .shape-row .chip").first().click();
  await settled(page);
  const rgb = await page.evaluate(async ({ file }) => {
    const app = globalThis.peltApp;
    const shape = await app.data.floats(file);
    const paint = app.stage.model.geometry.getAttribute("paint").array;
    const at = shape.reduce((best, x, i) => (Math.abs(x) > Math.abs(shape[best]) ? i : best), 0);
    return { most: paint[at], sign: Math.sign(shape[at]), zero: shape.every((x, i) => x !== 0 || Math.abs(paint[i] - 0.5) < 1e-6) };
  }, { file: shown.data.displacements.replace("%d", String(first)) });
  check("painted as RGB: grey is none, the largest is at the end of its channel", rgb.zero && Math.abs(rgb.most - (0.5 + 0.48 * rgb.sign)) < 1e-5, JSON.stringify(rgb));
  await shoot("displacement");
  await page.getByRole("button", { name: "Add nothing" }).click();
  await settled(page);
  check("and adding nothing takes it away", (await page.evaluate((from) => globalThis.test.largest(globalThis.peltApp.stage.positions, from), before)) === 0);

  // With the elbow rotated by 60 degrees about its z, which is -z of the scene, what follows it alone is displaced
  // along rotated axes.
  await openPanel(page, "pull");
  await page.locator("#panel-pull .exact").nth(2).fill("60");
  await openPanel(page, "inside");
  await page.locator("#panel-inside select").selectOption(String(elbow));
  const posed = await page.evaluate(() => [...globalThis.peltApp.stage.positions]);
  await page.locator("#panel-inside .shape-row .exact").first().fill("0.02");
  await page.waitForTimeout(120);
  await settled(page);
  const turned = await page.evaluate(async ({ before: from, file }) => {
    const app = globalThis.peltApp;
    const shape = await app.data.floats(file);
    const weights = app.skin().weightsOf(app.skin().findJoint("elbow"));
    const amount = Number(document.querySelector("#panel-inside .shape-row .exact").value);
    const [cos, sin] = [Math.cos(Math.PI / 3), Math.sin(Math.PI / 3)];
    let [apart, moved, count] = [0, 0, 0];
    weights.forEach((weight, v) => {
      const [x, y, z] = [0, 1, 2].map((c) => amount * shape[3 * v + c]);
      if (weight < 0.999 || Math.hypot(x, y) < 1e-7) return;
      const wanted = [cos * x + sin * y, cos * y - sin * x, z];
      count++;
      wanted.forEach((value, c) => {
        apart = Math.max(apart, Math.abs(app.stage.positions[3 * v + c] - from[3 * v + c] - value));
        moved = Math.max(moved, Math.abs(value));
      });
    });
    return { apart, moved, count };
  }, { before: posed, file: shown.data.displacements.replace("%d", String(first)) });
  check("in a pose it is added through the blend", turned.count > 0 && turned.moved > 2e-5 && turned.apart < 1e-6 + 0.002 * turned.moved, JSON.stringify(turned));
  await page.getByRole("button", { name: "Add nothing" }).click();

  await page.locator("#panel-inside canvas.bars").focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
  const bar = await page.evaluate(() => ({ text: document.querySelector("#panel-inside .readout").textContent, value: globalThis.peltApp.posed().coefficients[2] }));
  check("bars say what the coefficients are", bar.text.startsWith("2") && bar.text.includes(bar.value.toPrecision(4)), JSON.stringify(bar));

  await openSubject(page, "character biceps");
  await useSkin(page, "joints");
  await page.locator("#panel-inside .segment[data-value=nothing]").click();
  const driven = await page.evaluate(() => {
    const app = globalThis.peltApp;
    const lines = app.stage.overlay.getObjectByName("driven joints");
    return { count: app.skin().driven.length, visible: lines?.visible, points: lines?.geometry.getAttribute("position").count };
  });
  const rows = await page.locator("#panel-inside .driven").count();
  check("driven joints are listed and drawn", rows === driven.count && rows > 0 && driven.visible && driven.points >= 6 * rows, JSON.stringify(driven));
  await page.locator("#panel-inside .driven").first().click();
  await settled(page);
  const name = await page.locator("#panel-inside .driven-name").first().textContent();
  check("a driven joint's weights are painted", (await page.locator("#panel-inside .painted-words").textContent()).startsWith(`${name} moves`));
  await shoot("driven");
  await openPanel(page, "numbers");
  check("nothing stays painted when the panel is left", await page.evaluate(() => !globalThis.peltApp.stage.painted));
}

// -- Key points -------------------------------------------------------------------------------------------------------

export async function face({ page, check, shoot }) {
  await openSubject(page, "^face");
  await page.locator("#panel-face .verdict-count").first().waitFor();
  const box = await page.evaluate(async () => {
    const { box: one } = globalThis.peltApp.subject();
    return { keys: one.keys.length, verdicts: await globalThis.peltApp.data.json(one.clips[globalThis.peltApp.store.get().clip].verdicts) };
  });
  const counted = (await page.locator("#panel-face .verdict-count").allTextContents()).map((text) => text.trim());
  const wanted = ["hit", "blend", "miss"].map((kind) => `${box.verdicts.verdict.filter((one) => one === kind).length} ${kind}`);
  check("hits, blends and misses are counted", wanted.every((text) => counted.includes(text)), `${counted} / ${wanted}`);
  await page.waitForTimeout(150);
  const points = await page.evaluate(() => {
    const app = globalThis.peltApp;
    const object = app.stage.overlay.getObjectByName("key points");
    const { keys } = app.subject().box;
    const places = object?.geometry.getAttribute("position").array ?? [];
    let far = 0;
    keys.forEach((vertex, k) => { for (let c = 0; c < 3; c++) far = Math.max(far, Math.abs(places[3 * k + c] - app.stage.positions[3 * vertex + c])); });
    return { visible: object?.visible, count: places.length / 3, far: far / app.subject().box.diagonal };
  });
  check("key points are drawn on the face", points.visible && points.count === box.keys && points.far < 0.01, JSON.stringify(points));
  const strip = await page.locator("canvas.strip").boundingBox();
  const frames = box.verdicts.verdict.length;
  await page.mouse.click(strip.x + (strip.width * (frames - 3)) / (frames - 1), strip.y + strip.height / 2);
  await settled(page);
  check("a press on the strip goes there", (await page.evaluate(() => globalThis.peltApp.store.get().frame)) === frames - 3);
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector("canvas.strip");
    const row = canvas.getContext("2d").getImageData(0, canvas.height >> 1, canvas.width, 1).data;
    const count = globalThis.peltApp.subject().box.clips[globalThis.peltApp.store.get().clip].frames;
    return Array.from({ length: count - 5 }, (_, frame) => [...row.slice(4 * Math.round((frame * (canvas.width - 1)) / (count - 1))).slice(0, 3)].join());
  });
  const kinds = box.verdicts.verdict.slice(0, colours.length); // up to where the strip shows which frame is drawn
  const agree = kinds.every((kind, i) => kinds.every((other, k) => (kind === other) === (colours[i] === colours[k])));
  check("the strip has a colour for each verdict", agree && new Set(kinds).size > 1, JSON.stringify({ kinds, colours }));
  await shoot("face");
}

// -- Fitting ----------------------------------------------------------------------------------------------------------

export async function fitting({ page, check, shoot, pelt, folder }) {
  await openSubject(page, "character arm");
  await openPanel(page, "fit");
  const skins = () => page.evaluate(() => globalThis.peltApp.subject().character.skins.length);
  const count = await skins();
  await page.locator("#panel-fit input[value=eigen]").check();
  await page.locator("#panel-fit details summary").click();
  await page.locator("#panel-fit .field", { hasText: "--per-joint" }).locator("input").fill("3");
  await page.locator("#panel-fit .field", { hasText: "--holdout" }).locator("input").fill("0");
  await page.locator("#panel-fit .field", { hasText: "name of the skin" }).locator("input").fill("three");
  const command = await page.locator("#panel-fit .command").textContent();
  check("the command line says the same", /pelt fit \S*arm\.glb --train train --method eigen --per-joint 3 --holdout 0 -o three\.pelt/.test(command), command);
  await page.locator("#panel-fit details summary").click();
  await page.locator(".panel-body").evaluate((body) => { body.scrollTop = 0; });
  await shoot("fit");
  await page.getByRole("button", { name: "Fit", exact: true }).click();
  await page.waitForFunction((before) => globalThis.peltApp.subject().character.skins.length === before + 1, count, { timeout: 60000 });
  execFileSync(pelt, ["fit", join(folder, "arm.glb"), "--train", "train", "--method", "eigen", "--per-joint", "3", "--holdout", "0", "-o", "three.pelt", "--quiet"], { cwd: folder });
  const bytes = await page.evaluate(async (index) => {
    const app = globalThis.peltApp;
    const skin = app.subject().character.skins[index];
    const all = new Uint8Array(await app.data.bytes(skin.file));
    let text = "";
    for (let i = 0; i < all.length; i += 8192) text += String.fromCharCode(...all.subarray(i, i + 8192));
    return { name: skin.name, base64: btoa(text), open: app.store.get().skin };
  }, count);
  check("a fit from the page gives the bytes of `pelt fit`", Buffer.from(bytes.base64, "base64").equals(readFileSync(join(folder, "three.pelt"))), bytes.name);
  check("its tab is open", bytes.open === count && bytes.name === "three", JSON.stringify({ open: bytes.open, name: bytes.name }));
  await page.locator("#panel-fit .measured .clip-name").waitFor({ timeout: 30000 });
  const told = await page.locator("#panel-fit .measured").textContent();
  const measured = JSON.parse(execFileSync(pelt, ["measure", "three.pelt", "arm.glb", "--clip", "test", "--json"], { cwd: folder }));
  check("and its error on the test clip is that of `pelt measure`", told.includes(`rms ${measured.rms.toPrecision(3)}`), `${told} / ${measured.rms}`);
  await page.waitForFunction(() => !document.querySelector(".skins td.waiting"), null, { timeout: 30000 });
  const row = await page.locator(".skins tbody tr").last().textContent();
  check("and its row has its figures", row.startsWith("three") && /\d\.\d/.test(row), row);
  await shoot("fitted");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save three.pelt" }).click();
  const saved = await download;
  check("and it can be saved", saved.suggestedFilename() === "three.pelt" && readFileSync(await saved.path()).equals(readFileSync(join(folder, "three.pelt"))));

  await page.locator("#panel-fit details summary").click();
  await page.locator("#panel-fit .field", { hasText: "--per-joint" }).locator("input").fill("900");
  await page.getByRole("button", { name: "Fit", exact: true }).click();
  await page.locator("#panel-fit [role=alert]:visible").waitFor();
  const sentence = await page.locator("#panel-fit [role=alert]").textContent();
  const own = spawnSync(pelt, ["fit", "arm.glb", "--train", "train", "--method", "eigen", "--per-joint", "900", "-o", "no.pelt"], { cwd: folder, encoding: "utf8" }).stderr;
  check("errors are the library's own words", sentence.length > 10 && own.includes(sentence.replace(/^[^:]*: /, "").slice(0, 40)), `${sentence} / ${own}`);

  // Long enough to be cancelled.
  await page.locator("#panel-fit input[value=kernel]").check();
  await page.getByRole("button", { name: "Fit", exact: true }).click();
  await page.locator("#panel-fit progress:visible").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("The fit was cancelled.").first().waitFor({ timeout: 30000 });
  check("a fit can be cancelled", (await skins()) === count + 1 && (await page.getByRole("button", { name: "Fit", exact: true }).isEnabled()));

  const subjects = await page.evaluate(() => globalThis.peltApp.subjects().length);
  await page.locator("#panel-fit input[type=file]").setInputFiles(["biceps.glb", "biceps.train.pc2", "biceps.train.csv"].map((name) => join(folder, name)));
  await page.waitForFunction((before) => globalThis.peltApp.subjects().length === before + 1, subjects, { timeout: 30000 });
  await settled(page);
  const dropped = await page.evaluate(() => {
    const { character } = globalThis.peltApp.subject();
    return { clips: character.clips.map(({ name, truth }) => `${name}${truth ? "" : "-"}`).join(), controls: character.controls.map(({ name }) => name).join() };
  });
  check("a bundle that is dropped is opened with its caches and tables", dropped.clips.startsWith("train,") && dropped.controls === "tension", JSON.stringify(dropped));
  check("and has no skin yet", await page.locator(".table-note").textContent() === "No skin yet. Fit one in the Fit panel." && await page.locator("table.skins").isHidden());
}

// -- Light ------------------------------------------------------------------------------------------------------------

// Pixels of the page (sRGB, one white for all lights) against the program's picture in linear light: how far they are apart
// when the page's white is taken as it comes, where neither is clipped.
function apart(pixels, linear) {
  const light = pixels.map((x) => (x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
  const side = Math.sqrt(pixels.length / 3); // the page smooths edges, the program does not
  const bright = (x, y) => [0, 1, 2].reduce((sum, c) => sum + linear[3 * (Math.min(Math.max(y, 0), side - 1) * side + Math.min(Math.max(x, 0), side - 1)) + c], 0);
  const even = Array.from({ length: side * side }, (_, i) => {
    const around = Array.from({ length: 9 }, (__, k) => bright((i % side) + (k % 3) - 1, Math.floor(i / side) + Math.floor(k / 3) - 1));
    return Math.max(...around) < 1.6 * Math.min(...around);
  });
  const inside = [...pixels.keys()].filter((i) => pixels[i] < 250 && even[Math.floor(i / 3)]);
  const sum = (f) => inside.reduce((all, i) => all + f(i), 0);
  const white = sum((i) => light[i] * linear[i]) / sum((i) => light[i] * light[i]);
  return Math.sqrt(sum((i) => (white * light[i] - linear[i]) ** 2) / sum((i) => linear[i] ** 2));
}

// A .pfm file: rows from the bottom.
function readPfm(file) {
  const bytes = readFileSync(file);
  const head = /^PF\s(\d+)\s(\d+)\s(\S+)\s/.exec(bytes.toString("latin1", 0, 100));
  const [width, height] = [Number(head[1]), Number(head[2])];
  const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset + head[0].length, bytes.byteOffset + bytes.length));
  return Array.from({ length: 3 * width * height }, (_, i) => numbers[(height - 1 - Math.floor(i / (3 * width))) * 3 * width + (i % (3 * width))]);
}

export async function light({ page, check, shoot, pelt, folder }) {
  await openSubject(page, "^light");
  await page.waitForFunction(() => document.querySelector("canvas.relit")?.width === globalThis.peltApp.subject().box.width);
  await settled(page);
  const pixels = (index) => page.evaluate((n) => {
    const canvas = document.querySelectorAll("canvas.relit")[n];
    const copy = new OffscreenCanvas(canvas.width, canvas.height); // reading back slows down the page's canvas
    copy.getContext("2d").drawImage(canvas, 0, 0);
    return [...copy.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 !== 3);
  }, index);
  const program = (at, ...more) => {
    execFileSync(pelt, ["relight", "run", "box.keys", "--light", at.join(), "-o", "box.pfm", "--quiet", "--overwrite", ...more], { cwd: folder });
    return readPfm(join(folder, "box.pfm"));
  };
  const first = await pixels(0);
  const frame = await page.locator(".relit-frame").first().boundingBox();
  const handle = await page.locator(".light-handle").boundingBox();
  const middle = handle.y + handle.height / 2;
  await page.mouse.move(handle.x + handle.width / 2, middle);
  await page.mouse.down();
  const counted = /^\d+\.\d ms, [1-9]\d{0,2} a second$/;
  let speed = "";
  for (let i = 1; i <= 30 || (i <= 1000 && !counted.test(speed)); i++) {
    await page.mouse.move(frame.x + frame.width * (0.5 + 0.15 * Math.sin(i / 5)), middle + 2 * Math.sin(i / 4));
    speed = await page.locator(".relit-figure .speed").first().textContent();
  }
  await page.mouse.move(frame.x + frame.width * 0.36, middle + 2);
  await page.mouse.up();
  console.log(`  light: ${speed}`);
  check("while it moves, answers are counted", counted.test(speed), speed);
  await page.waitForTimeout(600);
  const at = await page.locator("#panel-light .exact").evaluateAll((fields) => fields.map((field) => Number(field.value)));
  const now = await pixels(0);
  const own = program(at);
  const [near, far] = [apart(now, own), apart(first, own)];
  check("the picture follows the light to what `pelt relight run` makes, within noise", near < 0.05 && far > 4 * near, JSON.stringify({ near, far, at }));
  const place = await page.evaluate(() => {
    const box = document.querySelector(".relit-frame").getBoundingClientRect();
    const dot = document.querySelector(".light-handle").getBoundingClientRect();
    return [(dot.left + dot.width / 2 - box.left) / box.width, (dot.top + dot.height / 2 - box.top) / box.height];
  });
  check("and the handle is under the hand", Math.abs(place[0] - 0.36) < 0.01, place.join());
  const verdict = await page.locator(".relit-figure .badge").first().textContent();
  check("a light of the training plane is a hit", verdict === "hit", verdict);
  await shoot("relight");
  await page.locator("label.toggle", { hasText: "Full gather next to it" }).click();
  await page.waitForFunction(() => / s$/.test(document.querySelectorAll(".relit-figure figcaption")[1].textContent), null, { timeout: 30000 });
  const full = apart(await pixels(1), program(at, "--full", "--samples", "128"));
  check("the full gather beside it is that of the program, within the noise of both", full < 0.1, String(full));
  await shoot("relight-full");
  for (const [i, value] of [[0, 0.45], [2, 0.1], [1, 0.16]]) await page.locator("#panel-light .exact").nth(i).fill(String(value));
  await page.locator(".light-handle").focus();
  await page.keyboard.press("PageDown");
  check("keys move the light", Number(await page.locator("#panel-light .exact").nth(1).inputValue()) < 0.155);
  await page.waitForFunction(() => document.querySelector(".relit-figure .badge").textContent !== "hit", null, { timeout: 15000 });
  check("far from the training plane key points say that they do not know", true);
  await page.locator("label.toggle", { hasText: "Full gather next to it" }).click();
}

// -- All of it --------------------------------------------------------------------------------------------------------

export async function panels(context) {
  const { page } = context;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.waitForFunction(() => globalThis.peltApp?.subjects().length > 0);
  await page.evaluate(helpers);
  for (const part of [pulling, pullDetails, mirroring, controls, inside, insideDetails, face, faceDetails, light, lightDetails, fitDetails, fitting])
    await part({ ...context, openSubject, useSkin });
}
