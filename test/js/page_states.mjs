// page_states.mjs: the states in which the page can be seen, for tests of what must hold in all of them. A new view or panel is a
// row here. Each is reached from the one before, so that the order matters only where a row says so.

import { settled } from "./page_harness.mjs";

export async function openSubject(page, kind, name) {
  const index = await page.evaluate(([wanted, called]) => globalThis.peltApp.subjects().findIndex((one) => one.kind === wanted && one.name.includes(called)), [kind, name]);
  if (index < 0) throw new Error(`nothing that is shown is called ${kind} ${name}`);
  await page.evaluate((subject) => globalThis.peltApp.store.set({ subject }), index);
  await page.waitForFunction(() => {
    const app = globalThis.peltApp;
    const subject = app.subject();
    return subject.kind === "light" ? document.querySelector(".relit-figure") : subject.kind === "character" ? app.skin() : app.stage.positions;
  });
  await settled(page);
}

const panel = (id) => async (page) => {
  await page.evaluate((wanted) => globalThis.peltApp.store.set({ panel: wanted }), id);
  await settled(page);
};
const layout = (name) => (page) => page.evaluate((wanted) => globalThis.peltApp.store.set({ layout: wanted }), name).then(() => settled(page));

export const STATES = [
  { name: "a character", go: (page) => openSubject(page, "character", "arm") },
  { name: "numbers", go: panel("numbers") },
  { name: "overlay", go: layout("overlay") },
  { name: "wipe", go: layout("wipe") },
  { name: "model alone", go: layout("model") },
  { name: "heat on the model", go: (page) => page.keyboard.press("h"), leave: (page) => page.keyboard.press("h") },
  { name: "side by side", go: layout("side") },
  { name: "the list of subjects", go: (page) => page.locator("button.subject").click(), leave: (page) => page.keyboard.press("Escape") },
  { name: "help", go: (page) => page.keyboard.press("?"), leave: (page) => page.keyboard.press("Escape") },
  { name: "a message", go: (page) => page.evaluate(() => { globalThis.peltApp.say("A note."); globalThis.peltApp.say("A problem.", "problem"); }),
    leave: (page) => page.evaluate(() => document.querySelectorAll(".message .plain").forEach((button) => button.click())) },
  { name: "pulling, nothing picked", go: panel("pull") },
  { name: "pulling beyond what was seen", go: async (page) => {
    await page.locator("#panel-pull .joint-list li").nth(1).click();
    await page.locator("#panel-pull .exact").nth(2).fill("179");
    await settled(page);
  }, leave: (page) => page.evaluate(() => globalThis.peltApp.pose.reset()) },
  { name: "inside", go: panel("inside") },
  { name: "support painted", go: (page) => page.getByRole("radio", { name: "Support" }).click() },
  { name: "controls", go: async (page) => { await openSubject(page, "character", "biceps"); await panel("pull")(page); } },
  { name: "driven joints", go: async (page) => {
    await page.evaluate(() => globalThis.peltApp.store.set({ skin: globalThis.peltApp.subject().character.skins.findIndex(({ name }) => name === "joints") }));
    await page.waitForFunction(() => globalThis.peltApp.skin()?.driven.length);
    await panel("inside")(page);
    await page.locator(".driven").first().click();
  } },
  { name: "fitting", go: panel("fit") },
  { name: "options of a fit", go: (page) => page.locator("#panel-fit .more-options summary").click() },
  { name: "a face of key points", go: (page) => openSubject(page, "face", "") },
  { name: "a lamp", go: (page) => openSubject(page, "light", "") },
];
