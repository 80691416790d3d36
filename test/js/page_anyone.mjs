// page_anyone.mjs: the page for anyone: what axe-core finds in every state, in both themes and on a phone; fingers; a fit that is
// cancelled; what a large character costs.
//
//     node page_anyone.mjs PELT FOLDER

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { accessible, largeEnough } from "./page_access.mjs";
import { check, failed, helpers, launch, openPage, pelt, serve, settled } from "./page_harness.mjs";
import { largeCharacter } from "./page_large.mjs";
import { STATES } from "./page_states.mjs";
import { fingers } from "./page_touch.mjs";

const folder = process.argv[3];
const run = (...words) => execFileSync(pelt, [...words, "--quiet"], { cwd: folder });

function makeFiles() {
  run("sample", "arm", "-o", ".", "--vertices", "400", "--frames", "24");
  run("fit", "arm.glb", "--train", "train", "--method", "eigen", "--holdout", "0", "-o", "eigen.pelt");
  run("sample", "biceps", "-o", ".", "--vertices", "300", "--frames", "12");
  run("fit", "biceps.glb", "--train", "train", "--method", "joints", "--holdout", "0", "-o", "joints.pelt");
  run("sample", "face", "-o", ".", "--frames", "30", "--test-frames", "12");
  run("keys", "train", "face.train.npy", "face.range.npy", "--mesh", "face.glb", "--keys", "40", "--regions", "1", "-o", "face.keys");
  run("relight", "train", "cornell", "--samples", "32", "--size", "16x16", "--lights", "3x3", "--keys", "20", "--basis", "4", "-o", "box.keys");
  return ["arm.glb", "eigen.pelt", "biceps.glb", "joints.pelt", "face.keys", "face.glb", "face.test.npy", "box.keys"].map((name) => join(folder, name));
}

async function served(words, call) {
  const { url, server } = await serve(words);
  try {
    await call(url);
  } finally {
    server.removeAllListeners("exit");
    server.kill("SIGINT");
  }
}

async function open(browser, url, size, more) {
  const opened = await openPage(browser, url, size, more);
  await opened.page.goto(url);
  await opened.page.waitForFunction(() => globalThis.peltApp?.show && (!globalThis.peltApp.subjects().length || globalThis.peltApp.skin()));
  await opened.page.evaluate(helpers);
  await settled(opened.page);
  return opened;
}

// A laptop, so that panels have to scroll. Light has the same elements as dark: its colours alone are looked at.
async function desktop(browser, url) {
  for (const colorScheme of ["dark", "light"]) {
    const { page, complaints } = await open(browser, url, { width: 1180, height: 640 }, { colorScheme });
    for (const { name, go, leave } of STATES) {
      await go(page);
      await settled(page);
      await accessible(page, `${name}, ${colorScheme}`, colorScheme === "light" ? ["color-contrast"] : undefined);
      await leave?.(page);
    }
    check("the browser had nothing to complain of", complaints.length === 0, complaints.join("; "));
    await page.context().close();
  }
}

// Headless browsers claim to have a mouse, whatever they imitate.
const COARSE = "--blink-settings=primaryHoverType=1,availableHoverTypes=1,primaryPointerType=2,availablePointerTypes=2";

async function phone(url) {
  const browser = await launch(COARSE);
  try {
    const { page, complaints } = await open(browser, url, { width: 390, height: 844 }, { hasTouch: true, isMobile: true });
    for (const { name, go, leave } of STATES) {
      await go(page);
      await settled(page);
      await accessible(page, `${name}, phone`);
      await largeEnough(page, name);
      await leave?.(page);
    }
    await fingers(page);
    check("the phone had nothing to complain of", complaints.length === 0, complaints.join("; "));
  } finally {
    await browser.close();
  }
}

async function empty(browser) {
  await served([], async (url) => {
    for (const colorScheme of ["dark", "light"]) {
      const { page } = await open(browser, url, { width: 980, height: 600 }, { colorScheme });
      await accessible(page, `an empty page, ${colorScheme}`);
      await page.context().close();
    }
  });
}

// What the panel says from the press of a button until its progress is gone, and how long that took.
const watched = (page) => page.evaluate(() => new Promise((done) => {
  const panel = document.querySelector("#panel-fit"), seen = [];
  let pressed = 0;
  const watch = new MutationObserver(() => {
    const words = panel.querySelector(".doing").textContent;
    if (pressed && words && words !== seen.at(-1)) seen.push(words);
    if (!pressed || !panel.querySelector("progress").hidden) return;
    watch.disconnect();
    done({ seen, after: performance.now() - pressed });
  });
  watch.observe(panel, { subtree: true, childList: true, characterData: true, attributes: true });
  panel.querySelector(".fit-foot").addEventListener("click", () => { pressed = performance.now(); }, { capture: true, once: true });
}));

// The default method on an arm that takes it many seconds, stopped while examples are checked and while it learns.
async function cancelling(browser) {
  run("sample", "arm", "-o", "long", "--vertices", "12000", "--frames", "120");
  await served([join(folder, "long/arm.glb")], async (url) => {
    const { page } = await openPage(browser, url, { width: 980, height: 600 });
    await page.goto(url);
    await page.locator("#tab-fit").click();
    const cancel = page.getByRole("button", { name: "Cancel" });
    for (const stage of ["checking examples", "^(?!checking).*[1-9]%"]) {
      await page.getByRole("button", { name: "Fit", exact: true }).click();
      await page.waitForFunction((text) => new RegExp(text).test(document.querySelector("#panel-fit .doing").textContent), stage, { timeout: 60000, polling: 20 });
      const said = watched(page);
      await cancel.click();
      const { seen, after } = await said;
      console.log(`a fit of 12000 vertices by kernel is cancelled ${Math.round(after)} ms after the press (${stage})`);
      check("a fit that is being cancelled says so until it is", seen.join() === "Cancelling…", seen.join());
      check("which is soon", after < 3000, after);
      check("and then that it was", await page.getByText("The fit was cancelled.").isVisible() && (await page.locator("#panel-fit .doing").textContent()) === "" && await cancel.isHidden());
      check("another can follow at once, by the same key", await page.evaluate(() => document.activeElement.textContent) === "Fit");
    }
    check("nothing is left of it", await page.evaluate(async () => (await globalThis.peltApp.data.show()).characters[0].skins.length) === 0);
    await page.context().close();
  });
}

const browser = await launch();
try {
  await served(makeFiles(), async (url) => {
    await desktop(browser, url);
    await phone(url);
  });
  await empty(browser);
  await cancelling(browser);
  await largeCharacter({ browser, folder, run, served });
} finally {
  await browser.close();
}
console.log(failed ? `${failed} checks failed` : "all checks passed");
process.exitCode = failed ? 1 : 0;
