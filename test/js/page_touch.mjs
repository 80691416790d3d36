// page_touch.mjs: fingers on the page, as the browser's own touch events.

import { check, settled } from "./page_harness.mjs";
import { openSubject } from "./page_states.mjs";

// Fingers that go along lines together; each is [[x, y] from, [x, y] to].
async function touch(session, ...lines) {
  const STEPS = 6;
  const at = (share) => lines.map(([from, to], id) => ({ id, x: from[0] + share * (to[0] - from[0]), y: from[1] + share * (to[1] - from[1]) }));
  await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
  for (let i = 1; i <= STEPS; i++) await session.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(i / STEPS) });
  await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

const look = (page) => page.evaluate(() => {
  const { camera, controls } = globalThis.peltApp.stage;
  const away = camera.position.clone().sub(controls.target);
  return { eye: camera.position.toArray(), target: controls.target.toArray(), distance: away.length(), along: away.normalize().toArray(), scrolled: scrollY };
});
const apart = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));

// Where joints are drawn, from the matrices of the run time, and how large the handles are: TransformControls' outer ring has a
// radius of 1.9 tan(fov / 2) d * size / 4 * 0.75 in the scene, at distance d, which is 0.178 of the pane's height times its size.
const joints = (page) => page.evaluate(() => {
  const { stage, skin, posed } = { stage: globalThis.peltApp.stage, skin: globalThis.peltApp.skin(), posed: globalThis.peltApp.posed() };
  const box = stage.pane("model").getBoundingClientRect();
  const gizmo = stage.overlay.children.find((child) => child.isTransformControlsRoot)?.controls;
  const globals = globalThis.jointPlaces(posed, skin);
  const places = Object.fromEntries(skin.joints.map(({ name }, j) => {
    const v = stage.camera.position.clone().set(...globals[j]).project(stage.camera);
    return [name, [box.left + ((v.x + 1) / 2) * box.width, box.top + ((1 - v.y) / 2) * box.height]];
  }));
  return { places, ring: 0.178125 * box.height * (gizmo?.size ?? 1), box: { x: box.left, y: box.top, width: box.width, height: box.height } };
});

// The product of the joints' own transforms, column by column; all scales of these characters are 1.
function places() {
  globalThis.jointPlaces = (posed, skin) => {
    const turn = ([x, y, z, w], [a, b, c]) => {
      const [s, t, u] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
      return [a + w * s + y * u - z * t, b + w * t + z * s - x * u, c + w * u + x * t - y * s];
    };
    const times = ([a, b, c, d], [x, y, z, w]) => [d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x, d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z];
    const turns = [], out = [];
    skin.joints.forEach(({ parent }, j) => {
      const local = posed.locals.subarray(10 * j, 10 * j + 10), rotation = [...local.subarray(0, 4)], moved = [...local.subarray(4, 7)];
      turns[j] = parent < 0 ? rotation : times(turns[parent], rotation);
      out[j] = parent < 0 ? moved : turn(turns[parent], moved).map((x, i) => x + out[parent][i]);
    });
    return out;
  };
}

export async function fingers(page) {
  const session = await page.context().newCDPSession(page);
  await openSubject(page, "character", "arm");
  await page.evaluate(() => { globalThis.peltApp.store.set({ panel: "pull", frame: 0 }); scrollTo(0, 0); });
  await page.evaluate(places);
  await page.evaluate(() => globalThis.peltApp.stage.reframe());
  await settled(page);
  const { box } = await joints(page);
  const corner = [box.x + 30, box.y + box.height - 30]; // nothing is drawn here

  const first = await look(page);
  await touch(session, [corner, [corner[0] + 120, corner[1] - 20]]);
  await settled(page);
  const turned = await look(page);
  check("one finger turns", apart(turned.along, first.along) > 0.2 && Math.abs(turned.distance / first.distance - 1) < 1e-3 && apart(turned.target, first.target) < 1e-6, JSON.stringify([first, turned]));
  check("and does not scroll", turned.scrolled === first.scrolled);

  const middle = [box.x + box.width / 2, box.y + box.height / 2], beside = (dx) => [middle[0] + dx, middle[1] + 90];
  await touch(session, [beside(-40), beside(-100)], [beside(40), beside(100)]);
  await settled(page);
  const pinched = await look(page);
  check("two fingers that part come closer", pinched.distance < 0.7 * turned.distance && apart(pinched.along, turned.along) < 0.05, JSON.stringify([turned.distance, pinched.distance]));
  await touch(session, [beside(-40), [beside(-40)[0], middle[1] - 30]], [beside(40), [beside(40)[0], middle[1] - 30]]);
  await settled(page);
  const panned = await look(page);
  check("two fingers together move", apart(panned.target, pinched.target) > 0.05 * pinched.distance && Math.abs(panned.distance / pinched.distance - 1) < 0.05, JSON.stringify([pinched, panned]));
  check("and do not scroll", panned.scrolled === first.scrolled);

  await page.evaluate(() => globalThis.peltApp.stage.reframe());
  await settled(page);
  await handles(page, session);
  await scrolling(page, session);
}

const picked = (page) => page.locator("#panel-pull .joint-list [aria-selected=true]").allTextContents().then((names) => names.join());
const elbow = (page) => page.evaluate(() => {
  const app = globalThis.peltApp, joint = app.subject().character.joints.findIndex(({ name }) => name === "elbow");
  const [now, clip] = [app.pose.locals, app.pose.clip].map((all) => all.slice(10 * joint, 10 * joint + 4));
  return (2 * Math.acos(Math.min(1, Math.abs(now.reduce((sum, x, i) => sum + x * clip[i], 0)))) * 180) / Math.PI;
});

async function handles(page, session) {
  const { places: at } = await joints(page);
  const bone = [0, 1].map((i) => 0.6 * at.elbow[i] + 0.4 * at.wrist[i]);
  await touch(session, [bone, [bone[0] + 6, bone[1] + 4]]); // fingers are never still
  await settled(page);
  check("a tap picks a joint", await picked(page) === "elbow", await picked(page));
  const before = await look(page), { ring, places: held } = await joints(page), [x, y] = held.elbow;
  // On the right of the ring, upwards: about the line of sight, by about half a radian.
  await touch(session, [[x + ring, y], [x + 0.85 * ring, y - 0.52 * ring]]);
  await settled(page);
  const degrees = await elbow(page), after = await look(page);
  check("a finger on a handle turns the joint", degrees > 15 && degrees < 50, degrees);
  check("and nothing else: no orbit, no scrolling", apart(before.eye, after.eye) === 0 && before.scrolled === after.scrolled, JSON.stringify([before, after]));
  await page.evaluate(() => globalThis.peltApp.pose.reset());
  await settled(page);
  // A second finger comes down on the handle while the first is beside it: that is a pinch.
  await touch(session, [[x + ring, y + 3 * ring], [x + ring, y + 3.4 * ring]], [[x + ring, y], [x + ring, y - 0.4 * ring]]);
  await settled(page);
  check("two fingers are the camera's, also on a handle", await elbow(page) < 0.01 && (await look(page)).distance < 0.95 * after.distance, `${await elbow(page)} ${(await look(page)).distance} ${after.distance}`);
  await page.evaluate(() => globalThis.peltApp.stage.reframe());
  await settled(page);
}

// Far down at the sliders, the character is still there.
async function scrolling(page, session) {
  await page.locator("#panel-pull .range-row input[type=range]").last().evaluate((input) => input.scrollIntoView({ block: "end" }));
  await settled(page);
  const slider = await page.locator("#panel-pull .range-row input[type=range]").nth(2).boundingBox();
  const stage = await page.locator(".stage").boundingBox(), before = await look(page);
  check("the character is seen while a slider is moved", before.scrolled > 100 && stage.y >= 0 && stage.y + stage.height <= slider.y && stage.height > 250, JSON.stringify([stage, slider, before.scrolled]));
  const y = slider.y + slider.height / 2, knob = slider.x + slider.width / 2;
  await touch(session, [[knob, y], [knob + 50, y + 4]]);
  await settled(page);
  const after = await look(page);
  check("a finger moves a slider, not the page", after.scrolled === before.scrolled && await elbow(page) > 5, `${after.scrolled} ${before.scrolled} ${await elbow(page)}`);
  await page.evaluate(() => globalThis.peltApp.pose.reset());
}
