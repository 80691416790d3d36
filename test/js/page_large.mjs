// page_large.mjs: a character of 46,036 vertices with four skins: what is asked for before the first picture, and what a frame costs.
// Times are the page's own thread's by its clock: a busy machine does not change them much, and software draws elsewhere.

import { join } from "node:path";
import { check, openPage } from "./page_harness.mjs";

const VERTICES = 46036;
const SKINS = [["ssd"], ["psd"], ["eigen"], ["ssd", "--blend", "distance"]];

export async function largeCharacter({ browser, folder, run, served }) {
  run("sample", "arm", "-o", "large", "--vertices", String(VERTICES), "--frames", "24");
  const skins = SKINS.map((words, i) => {
    run("fit", "large/arm.glb", "--train", "train", "--method", ...words, "--holdout", "0", "-o", `large/${i}.pelt`);
    return join(folder, `large/${i}.pelt`);
  });
  await served([join(folder, "large/arm.glb"), ...skins], async (url) => {
    const { page, complaints } = await openPage(browser, url, { width: 1280, height: 720 }, { deviceScaleFactor: 1 });
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const busy = async () => 1000 * (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ThreadTime").value;
    await opening(page, url, busy);
    await frames(page, busy);
    check("the browser had nothing to complain of a large character", complaints.length === 0, complaints.join("; "));
    await page.context().close();
  });
}

async function opening(page, url, busy) {
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname.slice(1)));
  const before = Date.now();
  await page.goto(url);
  await page.waitForFunction(() => globalThis.peltApp?.skin() && globalThis.peltApp.stage.truth && !globalThis.peltApp.busy, null, { polling: 20, timeout: 60000 });
  const after = Date.now() - before, own = await busy();
  console.log(`${VERTICES} vertices with four skins are open after ${after} ms; the page was busy for ${Math.round(own)} ms of that`);
  check("a large character keeps the page busy for less than 1 s", own < 1000, own);
  await page.waitForFunction(() => document.querySelectorAll(".curve").length === 4 && !document.querySelector(".skins td.waiting"), null, { timeout: 60000 });
  const data = asked.filter((name) => name.startsWith("data/"));
  const first = data.slice(1, 5).sort().map((name) => name.replace(/\d+(?=\.bin$)/, "N"));
  check("the first picture is asked for first, and at once", first.join() === "data/c0/clip1/poses.bin,data/c0/clip1/truth/N.bin,data/c0/mesh.bin,data/c0/skin0.pelt", data.join());
  check("other skins are not read until they are chosen", data.filter((name) => name.endsWith(".pelt")).length === 1, data.join());
  check("nothing is asked for twice", new Set(data).size === data.length, data.join());
  const drawn = () => page.evaluate(() => globalThis.peltApp.stage.drawnFrames);
  await page.waitForTimeout(400); // edges are smoothed once, where a processor draws
  const pictures = await drawn();
  check("few pictures are drawn on the way", pictures <= 5, pictures);
  await page.waitForTimeout(300);
  check("and none while nothing changes", await drawn() === pictures, `${pictures} ${await drawn()}`);
}

async function frames(page, busy) {
  await page.evaluate(() => { globalThis.peltApp.stage.smoothAfter = Infinity; });
  const FRAMES = 16;
  for (const [layout, most] of [["side", 40], ["model", 25]]) {
    const play = (count) => page.evaluate(async (length) => {
      const app = globalThis.peltApp;
      for (let i = 0; i < length; i++) {
        app.store.set({ frame: i });
        while (app.busy) await new Promise((done) => setTimeout(done, 0));
        await new Promise((done) => requestAnimationFrame(done));
      }
    }, count);
    await page.evaluate((name) => globalThis.peltApp.store.set({ layout: name }), layout);
    await play(FRAMES); // reads what is drawn
    const before = await busy();
    await play(FRAMES);
    const each = (await busy() - before) / FRAMES;
    console.log(`${layout}: the page is busy for ${each.toFixed(1)} ms a frame`);
    check(`a frame is computed in time (${layout})`, each < most, each);
  }
}
